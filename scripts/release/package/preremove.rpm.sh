#!/bin/sh
# $1 is how many versions stay.
if [ "$1" -eq 0 ] && [ -d /run/systemd/system ]; then
	systemctl disable --now mina-sequencer.service
fi
exit 0
