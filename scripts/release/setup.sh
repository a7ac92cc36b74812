#!/usr/bin/env bash
# Installs what the tests of a release need on Debian, where it is missing.
set -euo pipefail

packages=()
command -v systemd-analyze >/dev/null || packages+=(systemd)
command -v rpm >/dev/null || packages+=(rpm)
command -v gpg >/dev/null || packages+=(gpg)
command -v unshare >/dev/null || packages+=(util-linux)
command -v ip >/dev/null || packages+=(iproute2)
[ ${#packages[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || { echo "setup: install ${packages[*]}, or run this as root" >&2; exit 1; }

echo "setup: installing ${packages[*]}" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
