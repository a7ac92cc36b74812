#!/usr/bin/env bash
# go-redis 9.23.0 makes every package that mentions its client compile the client's methods
# once more.
#
# Seen with: github.com/redis/go-redis/v9 v9.22.0 and v9.23.0, Go 1.26.8.
# What happens: since 9.23.0 baseClient has a field of type weak.Pointer[Client]. A package
# of three lines that only takes a redis.UniversalClient then holds hundreds of compiled
# functions of go-redis; with 9.22.0 it holds next to none. Each package that sees
# a client pays for it at every build, in seconds.
# Output seen:
#   v9.22.0: 25 of go-redis' functions are compiled into a package that names its client
#   v9.23.0: 1552 of go-redis' functions are compiled into a package that names its client
set -euo pipefail
at=$(mktemp -d)
trap 'chmod -R u+w "$at"; rm -rf "$at"' EXIT
cd "$at"
cat >p.go <<'GO'
package p

import "github.com/redis/go-redis/v9"

func Same(a, b redis.UniversalClient) bool { return a == b }

type Holder struct{ Client *redis.Client }

func (h Holder) Name() string { return h.Client.String() }
GO
go mod init example.com/p >/dev/null 2>&1

# compiled prints how many functions of go-redis the archive of p itself defines.
compiled() {
	go get "github.com/redis/go-redis/v9@$1" >/dev/null 2>&1
	go build -o p.a .
	go tool nm p.a | awk '($2 == "T" || $2 == "t") && /go-redis/ {n++} END {print n + 0}'
}

few=$(compiled v9.22.0)
many=$(compiled v9.23.0)
echo "v9.22.0: $few of go-redis' functions are compiled into a package that names its client"
echo "v9.23.0: $many of go-redis' functions are compiled into a package that names its client"
[ "$many" -gt $((10 * (few + 1))) ] || { echo "this has changed" >&2; exit 1; }
