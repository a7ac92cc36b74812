#!/usr/bin/env bash
# Installs what the tests of a release need on Debian, where it is missing; with
# arguments, only the commands that they name.
set -euo pipefail

declare -A package=([systemd-analyze]=systemd [rpm]=rpm [gpg]=gpg [unshare]=util-linux [ip]=iproute2 [curl]=curl)
[ $# -gt 0 ] || set -- "${!package[@]}"
packages=()
for name in "$@"; do
	command -v "$name" >/dev/null || packages+=("${package[$name]}")
done
[ ${#packages[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || { echo "setup: install ${packages[*]}, or run this as root" >&2; exit 1; }

echo "setup: installing ${packages[*]}" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
