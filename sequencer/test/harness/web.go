package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A Web is a network of HTTP servers without sockets, so that the whole service
// runs in one synctest bubble: a host name leads to a handler.
type Web struct {
	mu    sync.Mutex
	hosts map[string]*pipeListener
	down  map[string]bool
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func newWeb() *Web { return &Web{hosts: map[string]*pipeListener{}, down: map[string]bool{}} }

// Serve serves a handler at http://host until the test ends.
func (w *Web) Serve(tb testing.TB, host string, handler http.Handler) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	w.mu.Lock()
	w.hosts[host+":80"] = l
	w.mu.Unlock()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	tb.Cleanup(func() { _ = server.Close(); <-ended })
}

// Unplug makes a host unreachable, or reachable again.
func (w *Web) Unplug(host string, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[host+":80"] = down
}

// Dial reaches a host that is served, as net.Dialer.DialContext does.
func (w *Web) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	l, down := w.hosts[addr], w.down[addr]
	w.mu.Unlock()
	if l == nil || down {
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
