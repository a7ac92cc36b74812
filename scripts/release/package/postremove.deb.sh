#!/bin/sh
set -e
# The user stays: files of it may be left, and its number must not go to another.
if [ "$1" = purge ]; then
	rm -rf /var/lib/mina-sequencer /etc/mina-sequencer /etc/systemd/system/mina-sequencer.service.d
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
