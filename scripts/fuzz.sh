#!/usr/bin/env bash
# Runs every fuzz target of the module, each for the time given (default 30s) or
# for so many inputs (2000x). Each package is built once. With 0, 1 or 2 behind it, one third
# of the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

much=${1:-30s}
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
known=$(go env GOCACHE)/fuzz # where go test keeps what it has come upon

packages=$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u)
if [ -n "${2:-}" ]; then packages=$(awk -v part="$2" 'NR % 3 == part' <<<"$packages"); fi
for package in $packages; do
	go test -c -fuzz=. -o "$binary" "$package"
	for target in $("$binary" -test.list '^Fuzz'); do
		echo "== $package $target"
		(cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$much" \
			-test.fuzzminimizetime 100x -test.fuzzcachedir "$known/$(go list)")
	done
done
