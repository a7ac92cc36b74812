#!/bin/sh
# $1 is how many versions are installed now.
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers mina-sequencer.conf
elif ! getent passwd mina-sequencer >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/mina-sequencer --no-create-home --shell /usr/sbin/nologin mina-sequencer
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	[ "$1" -lt 2 ] || systemctl try-restart mina-sequencer.service
fi
exit 0
