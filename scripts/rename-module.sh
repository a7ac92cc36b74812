#!/usr/bin/env bash
# Gives the Go module another path, in go.mod and in every import. Others can get
# it by its path only when that begins with a host, where its repository is found:
#
#	scripts/rename-module.sh example.org/team/mina-sequencer
#
# Run it on a clean tree, and commit what it changes by itself.
set -euo pipefail
cd "$(dirname "$0")/.."

new=${1:?wants the new path of the module}
old=$(go list -m)
if [[ ! $new =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$ ]]; then
	echo "rename-module: $new: wants a host and a path, example.org/team/mina-sequencer" >&2
	exit 1
fi

go mod edit -module "$new"
# Our packages are named in quotes and by nothing else than their paths.
find . -name '*.go' -not -path '*/node_modules/*' -not -path './scripts/release/*' -print0 |
	OLD="$old/" NEW="$new/" xargs -0 perl -pi -e 's/"\Q$ENV{OLD}\E/"$ENV{NEW}/g'
gofmt -w $(find . -name '*.go' -not -path '*/node_modules/*' -not -path './scripts/release/*')
go vet ./api/client
echo "$old is $new now"
