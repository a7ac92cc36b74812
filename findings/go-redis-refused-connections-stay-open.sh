#!/usr/bin/env bash
# go-redis 9.22.0 leaves a connection open whose login Redis refuses, until the garbage
# collector comes by. 9.23.0 closes it at once.
#
# Seen with: github.com/redis/go-redis/v9 v9.22.0 and v9.23.0, Go 1.26.8, Linux.
# What happens: 200 calls are made with a password that the server refuses; both ends of
# each connection are in one process. With the
# collector off as many files stay open as connections were made; after one collection
# none is. A process that gives its collector little to do holds them for two minutes at
# most, for so often the runtime collects by itself.
# Output seen:
#   v9.22.0: 400 more files open after 200 refusals, 0 after a collection
#   v9.23.0: 0 more files open after 200 refusals, 0 after a collection
set -euo pipefail
at=$(mktemp -d)
trap 'chmod -R u+w "$at"; rm -rf "$at"' EXIT
cd "$at"
cat >main.go <<'GO'
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func open() int { e, _ := os.ReadDir("/proc/self/fd"); return len(e) }

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						c.Close()
						return
					}
					if strings.HasPrefix(line, "*") {
						fmt.Fprint(c, "-WRONGPASS invalid username-password pair\r\n")
					}
				}
			}()
		}
	}()
	client := redis.NewClient(&redis.Options{Addr: l.Addr().String(), MaxRetries: -1, Password: "x", DialerRetries: 1})
	debug.SetGCPercent(-1)
	before := open()
	for range 200 {
		_ = client.Ping(context.Background()).Err()
	}
	settle := func() int { // what is being closed is given a moment
		time.Sleep(time.Second)
		return open() - before
	}
	after := settle()
	runtime.GC()
	runtime.GC()
	fmt.Println(after, settle())
}
GO
go mod init example.com/refused >/dev/null 2>&1

# left prints how many files are open after the refusals, and after a collection.
left() {
	go get "github.com/redis/go-redis/v9@$1" >/dev/null 2>&1
	go run .
}

read -r old collected < <(left v9.22.0)
echo "v9.22.0: $old more files open after 200 refusals, $collected after a collection"
read -r new rest < <(left v9.23.0)
echo "v9.23.0: $new more files open after 200 refusals, $rest after a collection"
[ "$old" -ge 100 ] && [ "$collected" -le 5 ] && [ "$new" -le 5 ] && [ "$rest" -le 5 ] || { echo "this has changed" >&2; exit 1; }
