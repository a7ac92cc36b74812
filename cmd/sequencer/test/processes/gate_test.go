//go:build unix

package processes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mina-sequencer/sequencer/tx"
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
	uid   string
	to    tx.Phase
	names []string // of what goes along
	// Of the record as it is to be stored.
	Retries, Landed int
	Final           int64
	Attempts        []struct {
		State     tx.AttemptState
		StateHash string
		Ended     int64
	}
}

// last is the state of the latest attempt, "" if there is none.
func (w write) last() tx.AttemptState {
	if len(w.Attempts) == 0 {
		return ""
	}
	return w.Attempts[len(w.Attempts)-1].State
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

// parseWrites recognises the script that changes transactions by its form: for each
// change how many words follow, then uid, queue, type, sequence, revision, claim,
// operation, phase, five more and the record, and names of what goes along.
func parseWrites(args []string) (all []write) {
	const head, plain = 5, 14 // EVALSHA, digest, number of keys, two keys
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
		w := write{uid: words[0], to: tx.Phase(words[7]), names: words[plain:]}
		if !w.to.Valid() || !strings.Contains(words[5], ":") || json.Unmarshal([]byte(words[13]), &w) != nil {
			return nil
		}
		all = append(all, w)
	}
	return all
}
