#!/usr/bin/env bash
# Installs what the tests need beside Go: a Redis server, SQLite, PostgreSQL, Prometheus with promtool,
# HAProxy, Python, the C compiler of the race detector, a browser, and what the tests in it need of npm. What
# is there already is left alone.
set -euo pipefail

command -v go >/dev/null || { echo "setup: go is not in PATH: install Go 1.26 or newer" >&2; exit 1; }

# npm writes the lock file of what it has installed; one that is older is of another set.
browser=$(dirname "$0")/../cmd/sequencer/test/browser
if ! [ "$browser/node_modules/.package-lock.json" -nt "$browser/package-lock.json" ]; then
	command -v npm >/dev/null || { echo "setup: npm is not in PATH: install Node 20 or newer" >&2; exit 1; }
	(cd "$browser" && npm ci --no-audit --no-fund) >&2
fi

packages=()
command -v redis-server >/dev/null || packages+=(redis-server)
command -v sqlite3 >/dev/null || packages+=(sqlite3)
if ! command -v psql >/dev/null || ! { command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb'; } >/dev/null; then packages+=(postgresql); fi
if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then packages+=(prometheus); fi
command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || packages+=(haproxy)
command -v python3 >/dev/null || packages+=(python3)
command -v "${CC:-gcc}" >/dev/null || packages+=(gcc libc6-dev)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || packages+=(chromium fonts-dejavu-core)
[ ${#packages[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "setup: install ${packages[*]}, or run this as root" >&2; exit 1; }
	as_root=(sudo)
fi
command -v apt-get >/dev/null || { echo "setup: install ${packages[*]}; this machine has no apt-get to do it with" >&2; exit 1; }

echo "setup: installing ${packages[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
