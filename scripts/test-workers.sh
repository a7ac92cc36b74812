#!/usr/bin/env bash
# Everything that must hold of the o1js side: types, format, lint, the tests of
# all packages, and the end-to-end tests with proofs off. Before it, what needs
# Node too: batches of Sawtooth's SDK on the simulated ledgers. Two things run at a
# time; what one of them has written is shown when it has ended.
set -euo pipefail
cd "$(dirname "$0")/.."
export TEST_LANE="${TEST_LANE:-all}"

command -v npm >/dev/null || { echo "test-workers: npm is not in PATH: install Node 20 or newer" >&2; exit 1; }
scripts/setup.sh
make --no-print-directory batches
cd workers
node check-lock.js
npm ci
npm run check

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# lane runs one npm script after the other, each given as its words.
lane() {
	local script begun
	for script in "$@"; do
		begun=$SECONDS
		# shellcheck disable=SC2086
		npm run $script || return 1
		echo "npm run $script: $((SECONDS - begun)) s"
	done
}

# The kit has a test with real proofs, the longest of all: so both lanes take about as long.
lane "test -w signer" "test -w kit" "test -w ledger-node" >"$logs/beside" 2>&1 &
beside=$!
failed=0
lane "test -w voting" "e2e -w voting" || failed=1
wait "$beside" || failed=1
cat "$logs/beside"
exit "$failed"
