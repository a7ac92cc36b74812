#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers mina-sequencer.conf
elif ! getent passwd mina-sequencer >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/mina-sequencer --no-create-home --shell /usr/sbin/nologin mina-sequencer
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade: $2 is the version before. A first installation has no settings yet.
	[ -z "$2" ] || systemctl try-restart mina-sequencer.service
fi
