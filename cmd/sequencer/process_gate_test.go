//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mina-sequencer/sequencer/lifecycle"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A gate stands between one process and Redis. At the write that a test asks
// for it shuts: nothing more gets to Redis, and nothing of that write's answer
// gets back. So a process can be killed with exactly that write on disk, or
// with all but that write.
type gate struct {
	addr, redis string

	mu    sync.Mutex
	match func(write) bool // nil: let all pass
	after bool
	shut  bool
	hit   chan write
	conns map[net.Conn]bool
}

// A write is one guarded change of a transaction on its way to Redis.
type write struct {
	uid    string
	to     lifecycle.Phase
	via    lifecycle.Phase // passed on the way
	fields [][]string      // part, name, value
}

// sets reports whether the write has a value for a field of the given part.
func (w write) sets(part, name string) bool {
	for _, f := range w.fields {
		if f[0] == part && strings.HasSuffix(f[1], name) && f[2] != "" {
			return true
		}
	}
	return false
}

// throughGate is the setting of a process that talks to Redis through the gate.
func (r *rig) throughGate() map[string]string {
	return map[string]string{"SEQUENCER_REDIS_URL": "redis://" + r.gate.addr}
}

func newGate(t *testing.T, redis string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{addr: l.Addr().String(), redis: redis, hit: make(chan write, 1), conns: map[net.Conn]bool{}}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	})
	t.Cleanup(func() { _ = l.Close(); accepting.Wait(); g.open() })
	return g
}

// shutAt has the gate shut at the next write that matches: behind it (after),
// or before it. The channel tells which write that was, once Redis has it.
func (g *gate) shutAt(match func(write) bool, after bool) <-chan write {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.match, g.after = match, after
	g.hit = make(chan write, 1)
	return g.hit
}

// open lets everything pass that connects from now on. Connections so far,
// which are those of a dead process, end.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.match, g.shut = nil, false
	for c := range g.conns {
		_ = c.Close()
	}
	clear(g.conns)
}

func (g *gate) serve(near net.Conn) {
	defer near.Close()
	far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", g.redis)
	if err != nil {
		return
	}
	defer far.Close()
	g.mu.Lock()
	g.conns[near], g.conns[far] = true, true
	g.mu.Unlock()
	awaited := make(chan write, 1)
	go func() {
		defer near.Close()
		answers := make([]byte, 64<<10)
		for {
			n, err := far.Read(answers)
			if err != nil {
				return
			}
			select {
			case w := <-awaited:
				// Its answer stays here, and so do those that came before it.
				for seen := answers[:n]; ; {
					if bytes.Contains(seen, []byte(sentinel)) {
						g.hit <- w
						return
					}
					if n, err = far.Read(answers); err != nil {
						return
					}
					seen = append(bytes.Clone(seen), answers[:n]...)
				}
			default:
			}
			if _, err := near.Write(answers[:n]); err != nil {
				return
			}
		}
	}()
	in := bufio.NewReader(near)
	for {
		raw, args, err := readCommand(in)
		if err != nil {
			return
		}
		writes := parseWrites(args)
		g.mu.Lock()
		w, matched := write{}, false
		for _, w = range writes {
			if matched = !g.shut && g.match != nil && g.match(w); matched {
				break
			}
		}
		hold := g.shut || matched && !g.after
		if matched {
			g.shut = true
			if g.after {
				awaited <- w
			} else {
				g.hit <- w
			}
		}
		g.mu.Unlock()
		if hold {
			_, _ = io.Copy(io.Discard, near) // until the process dies
			return
		}
		if matched {
			// Answered in order: when this is, the write is on disk.
			raw = fmt.Appendf(raw, "*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n", len(sentinel), sentinel)
		}
		if _, err := far.Write(raw); err != nil {
			return
		}
	}
}

const sentinel = "all-before-this-is-answered"

// readCommand reads one command, an array of bulk strings.
func readCommand(in *bufio.Reader) (raw []byte, args []string, err error) {
	line := func() (int, error) {
		s, err := in.ReadString('\n')
		raw = append(raw, s...)
		if err != nil {
			return 0, err
		}
		if len(s) < 4 {
			return 0, fmt.Errorf("no command: %q", s)
		}
		return strconv.Atoi(s[1 : len(s)-2])
	}
	count, err := line()
	for ; err == nil && count > 0; count-- {
		var n int
		if n, err = line(); err != nil {
			break
		}
		b := make([]byte, n+2)
		if _, err = io.ReadFull(in, b); err == nil {
			raw, args = append(raw, b...), append(args, string(bytes.TrimSuffix(b, []byte("\r\n"))))
		}
	}
	return raw, args, err
}

// parseWrites recognises the script that changes transactions by its form: for
// each change how many words follow, then uid, revision, claim, operation, phase,
// three more, and parts, each with its name and its number of words.
func parseWrites(args []string) (all []write) {
	const head, plain = 4, 8 // EVALSHA, digest, number of keys, key
	if len(args) < head+plain || !strings.HasPrefix(strings.ToUpper(args[0]), "EVAL") {
		return nil
	}
	for argv := args[head:]; len(argv) > 0; {
		n, err := strconv.Atoi(argv[0])
		if err != nil || n < plain || n >= len(argv) {
			return nil
		}
		words := argv[1 : n+1]
		argv = argv[n+1:]
		w := write{uid: words[0], to: lifecycle.Phase(words[4])}
		if w.to.Queue() == "" || !strings.Contains(words[2], ":") {
			return nil
		}
		for parts := words[plain:]; len(parts) > 1; {
			count, err := strconv.Atoi(parts[1])
			if err != nil || count+2 > len(parts) {
				return nil
			}
			name, fields := parts[0], parts[2:count+2]
			switch name {
			case "t": // of the transaction, which become now
				for _, f := range fields {
					w.fields = append(w.fields, []string{"x", f, "now"})
				}
			case "b":
				w.fields = append(w.fields, []string{name, "", fields[0]})
			case "v":
				w.via = lifecycle.Phase(fields[0])
			case "d": // removed
			default:
				for ; len(fields) >= 2; fields = fields[2:] {
					w.fields = append(w.fields, []string{name, fields[0], fields[1]})
				}
			}
			parts = parts[count+2:]
		}
		all = append(all, w)
	}
	return all
}
