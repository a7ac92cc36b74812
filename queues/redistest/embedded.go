package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// An Embedded is a Redis inside the test's process. Its clock, and with it the
// life of its keys, is that of the test: inside a testing/synctest bubble it is
// the bubble's.
type Embedded struct {
	// Server gives direct access to what is stored.
	Server *miniredis.Miniredis
	// Client talks to the server; it is closed with the test.
	Client *redis.Client

	tb      testing.TB
	scripts *scripts

	mu    sync.Mutex
	run   int // which server this is, counted from 1
	error string
	conns map[net.Conn]bool
}

// Mini starts an embedded Redis that uses no socket.
func Mini(tb testing.TB) *Embedded {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	e := &Embedded{Server: m, tb: tb, scripts: newScripts(m), run: 1, conns: map[net.Conn]bool{}}
	// A client leaves a connection whose first words failed to the garbage collector, which
	// a bubble does not wait for.
	tb.Cleanup(e.hangUp)
	tb.Cleanup(m.Close)
	e.Client = e.NewClient()
	if err := e.Client.Ping(context.Background()).Err(); err != nil { // the server begins with its first connection
		tb.Fatalf("starting an embedded Redis: %v", err)
	}
	m.Server().SetPreHook(func(c *server.Peer, command string, args ...string) bool {
		return e.answer(c, command, args...) || e.scripts.hook(c, command, args...)
	})
	if err := e.Client.Eval(context.Background(), probe, nil).Err(); err != nil {
		tb.Fatalf("starting an embedded Redis: %v", err)
	}
	return e
}

// NewClient returns a further client, with connections of its own, that is
// closed with the test.
func (e *Embedded) NewClient() *redis.Client {
	client := redis.NewClient(&redis.Options{
		// With a host name go-redis would ask the DNS, outside of the bubble.
		Addr: "127.0.0.1:6379", ReadBufferSize: 4096, WriteBufferSize: 4096,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			conn, err := e.Server.Dial()
			if err != nil {
				return nil, err
			}
			return e.keep(newBuffered(conn)), nil
		},
	})
	e.tb.Cleanup(func() { _ = client.Close() })
	return client
}

// buffered is a connection that takes what is written at once, as a socket does
// and a net.Pipe does not: a client that writes a long pipeline before it reads
// would wait for ever for a server that answers the beginning of it.
type buffered struct {
	net.Conn
	ended   func() // tells that it was closed; nil tells nobody
	mu      sync.Mutex
	pending []byte
	closed  bool
	more    chan struct{} // there is something pending, or the end
}

func newBuffered(conn net.Conn) *buffered {
	b := &buffered{Conn: conn, more: make(chan struct{}, 1)}
	go b.pass()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	b.pending = append(b.pending, p...)
	b.signal()
	return len(p), nil
}

// A write never waits here, so it needs no deadline.

func (b *buffered) SetWriteDeadline(time.Time) error { return nil }
func (b *buffered) SetDeadline(t time.Time) error    { return b.SetReadDeadline(t) }

func (b *buffered) Close() error {
	b.mu.Lock()
	b.closed = true
	ended := b.ended
	b.signal()
	b.mu.Unlock()
	if ended != nil {
		ended()
	}
	return b.Conn.Close()
}

func (b *buffered) signal() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *buffered) pass() {
	for range b.more {
		b.mu.Lock()
		p, closed := b.pending, b.closed
		b.pending = nil
		b.mu.Unlock()
		if closed {
			return
		}
		if _, err := b.Conn.Write(p); err != nil {
			_ = b.Close()
		}
	}
}
