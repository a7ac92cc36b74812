package sequencer_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"mina-sequencer/sequencer/test/harness"
)

// A fuse sees every call that a process makes over a connection, and ends the
// process at one of them: before any of it has left, or when it was done and its
// answer is on the way back. The process's other connections end with it.
type fuse struct {
	target string // a call by its name and how often it was made; "": none
	after  bool
	burnt  chan struct{} // closed when the process is dead
	book   *scriptBook
	kill   func()

	mu    sync.Mutex
	count map[string]int
	calls []string
	conns map[*fusedConn]bool // nil once burnt
}

// fused starts a process whose calls a fuse sees.
func fused(w *harness.World, scripts *scriptBook, target string, after bool) *fuse {
	w.Helper()
	f := &fuse{
		target: target,
		after:  after,
		burnt:  make(chan struct{}),
		book:   scripts,
		count:  map[string]int{},
		conns:  map[*fusedConn]bool{},
	}
	w.OK(w.Redis.Client.ScriptFlush(w.Ctx).Err())
	for _, body := range scripts.bodies() {
		w.OK(w.Redis.Client.ScriptLoad(w.Ctx, body).Err())
	}
	connect := w.Redis.Client.Options().Dialer
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", DisableIdentity: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return f.dial(scripts.name, func() (net.Conn, error) { return connect(ctx, network, addr) })
		},
	})
	w.Cleanup(func() { _ = client.Close() })
	ready := make(chan struct{})
	var p *harness.Process
	f.kill = func() { <-ready; p.Kill() }
	p = w.Launch(harness.Links{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return f.dial(requestName, func() (net.Conn, error) { return w.Web.Dial(ctx, network, addr) })
		},
		Redis: client,
		Ended: func(error) {}, // dead or not
	})
	close(ready)
	return f
}

func (f *fuse) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fuse) dial(name func([]byte) (names []string, ok bool), dial func() (net.Conn, error)) (net.Conn, error) {
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	c := &fusedConn{Conn: conn, fuse: f, name: name}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		_ = conn.Close()
		return nil, harness.ErrDead
	}
	f.conns[c] = true
	return c, nil
}

// meets counts calls and reports whether they are what the fuse burns at.
func (f *fuse) meets(names []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	met := false
	for _, name := range names {
		f.count[name]++
		call := fmt.Sprintf("%s %d", name, f.count[name])
		f.calls = append(f.calls, call)
		met = met || call == f.target
	}
	return met && f.conns != nil
}

func (f *fuse) burn() error {
	f.mu.Lock()
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
	if conns != nil {
		go func() { f.kill(); close(f.burnt) }()
	}
	return harness.ErrDead
}

// fusedConn is a connection on which a call is written and then its answer read.
type fusedConn struct {
	net.Conn
	fuse *fuse
	name func([]byte) (names []string, ok bool)

	mu     sync.Mutex
	held   []byte // of a call whose name is not clear yet
	under  bool   // a call is under way
	doomed bool   // its answer is not to arrive
}

func (c *fusedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if !c.under {
		c.held = append(c.held, p...)
		names, ok := c.name(c.held)
		if !ok {
			c.mu.Unlock()
			return len(p), nil
		}
		met := c.fuse.meets(names)
		if met && !c.fuse.after {
			c.mu.Unlock()
			return 0, c.fuse.burn()
		}
		c.under, c.doomed = true, met
		call := c.held
		c.held = nil
		c.mu.Unlock()
		if _, err := c.Conn.Write(call); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *fusedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	doomed := c.doomed
	if n > 0 {
		c.under = false
	}
	c.mu.Unlock()
	if doomed {
		return 0, c.fuse.burn()
	}
	return n, err
}

func (c *fusedConn) Close() error {
	c.fuse.mu.Lock()
	delete(c.fuse.conns, c)
	c.fuse.mu.Unlock()
	return c.Conn.Close()
}

var (
	requestLine = regexp.MustCompile(`^(?:POST|GET) (\S+) HTTP/1.1\r\nHost: ([a-z]+)`)
	question    = regexp.MustCompile(`\b(sendZkapp|bestChain|daemonStatus|pooledZkappCommands|account|block)\b`)
)

// requestName tells requests apart by their path or, for nodes, by what is asked.
// It is not ok before enough of it is there.
func requestName(call []byte) ([]string, bool) {
	head, body, ok := bytes.Cut(call, []byte("\r\n\r\n"))
	if !ok {
		return nil, false
	}
	found := requestLine.FindSubmatch(head)
	if found == nil {
		return nil, true
	}
	name := string(found[2]) + " " + string(found[1])
	if string(found[2]) == "node" {
		asked := question.Find(body)
		if asked == nil && len(body) == 0 {
			return nil, false
		}
		name = "node " + string(asked)
	}
	return []string{name}, true
}

// A scriptBook learns how Redis scripts are called, from the process that loads
// them first, and has later worlds know them from the start.
type scriptBook struct {
	mu    sync.Mutex
	names map[string]string // by digest
	texts []string
}

func (b *scriptBook) bodies() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.texts
}

var (
	byDigest = regexp.MustCompile(`\r\nevalsha\r\n\$40\r\n([0-9a-f]{40})\r\n`)
	byText   = regexp.MustCompile(`^\*\d+\r\n\$4\r\neval\r\n\$(\d+)\r\n`)
)

// name tells what is in one write to Redis: scripts, or another command. What
// makes up a connection or keeps it alive has no name, nor has a script that is
// sent as text: it was asked for by its digest just before.
func (b *scriptBook) name(call []byte) ([]string, bool) {
	if text := byText.FindSubmatch(call); text != nil {
		length, err := strconv.Atoi(string(text[1]))
		if rest := call[len(text[0]):]; err == nil && len(rest) >= length {
			b.learn(rest[:length])
			return nil, true
		}
		return nil, false
	}
	parts := bytes.SplitN(call, []byte("\r\n"), 4)
	if len(parts) < 4 {
		return nil, false
	}
	switch command := string(parts[2]); command {
	case "hello", "client", "ping":
		return nil, true
	case "evalsha":
		b.mu.Lock()
		defer b.mu.Unlock()
		var names []string
		for _, found := range byDigest.FindAllSubmatch(call, -1) {
			names = append(names, "redis "+b.names[string(found[1])])
		}
		return names, true
	default:
		return []string{"redis " + command}, true
	}
}

// learn names a script as its first line does.
func (b *scriptBook) learn(text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line, _, _ := strings.Cut(string(text), "\n")
	if b.names == nil {
		b.names = map[string]string{}
	}
	sum := sha1.Sum(text)
	b.names[hex.EncodeToString(sum[:])] = strings.TrimPrefix(line, "-- ")
	b.texts = append(b.texts, string(text))
}
