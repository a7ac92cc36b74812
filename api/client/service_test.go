package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/api"
	"mina-sequencer/api/client"
	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// A service is the real API on a store of its own, without a sequencer behind it.
type service struct {
	testing.TB
	store   *queues.Store
	senders *senders.Pool
	handler http.Handler
	pipes   *pipes
	server  *api.Server
	served  chan struct{}
}

// control does what the sequencer would be asked for.
type control struct{ store *queues.Store }

func (c control) Retry(ctx context.Context, uid string) (*tx.Transaction, error) {
	return c.store.Get(ctx, uid)
}

func (c control) Cancel(ctx context.Context, uid string) (*tx.Transaction, bool, error) {
	t, err := c.store.Get(ctx, uid)
	return t, false, err
}

func (c control) Resolve(ctx context.Context, uid string, _ bool, _ string) (*tx.Transaction, error) {
	return c.store.Get(ctx, uid)
}

func (c control) Explain(ctx context.Context, uid string, _ bool) (explain.Explanation, error) {
	t, err := c.store.Get(ctx, uid)
	if err != nil {
		return explain.Explanation{}, err
	}
	return explain.Explanation{State: t.State(), Summary: "It waits.", Wait: explain.Wait{Code: explain.WaitFreeSender}}, nil
}

func newService(tb testing.TB) *service {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	r := redis.NewClient(&redis.Options{
		Addr:   "127.0.0.1:6379", // never dialled; a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() }, MaxRetries: -1,
	})
	tb.Cleanup(func() {
		_ = r.Close()
		m.Close()
	})
	store, err := queues.Open(r, queues.Options{Namespace: "client", Retention: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := store.Heartbeat(tb.Context(), "p", time.Hour, ""); err != nil {
		tb.Fatal(err)
	}
	types := new(dispatcher.Registry)
	if err := types.Register(dispatcher.Func{Name: "ANY"}); err != nil {
		tb.Fatal(err)
	}
	s := &service{TB: tb, store: store, senders: senders.New(store, r), pipes: &pipes{conns: make(chan net.Conn)}}
	s.handler = api.New(api.Options{
		Store: store, Senders: s.senders, Types: types, Control: control{store}, BatchItems: 1000,
		Webhooks: webhooks.New(webhooks.Options{Store: store, Process: "p", Render: api.Webhook()}),
		Batch: func(_ context.Context, t *tx.Transaction) (tx.Submission, []tx.BatchTransaction) {
			valid := true
			return t.Submission(""), []tx.BatchTransaction{{ID: "t1", Valid: &valid, Data: []byte{7}, Receipt: []byte(`{"n":1e400}`)}}
		},
		ValidKey: func(key string) error {
			if !strings.HasPrefix(key, "B62") {
				return errors.New("no key")
			}
			return nil
		},
	})
	return s
}

// start serves until stop; nobody answers before and behind.
func (s *service) start() {
	l := &listener{pipes: s.pipes, done: make(chan struct{})}
	s.server, s.served = api.NewServer("pipe", s.handler), make(chan struct{})
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // it ends by being shut down
	}()
}

func (s *service) stop() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.Error(err)
	}
	<-s.served
}

// client asks the service over pipes.
func (s *service) client(change ...func(*client.Options)) *client.Client {
	s.Helper()
	transport := &http.Transport{DialContext: s.pipes.dial}
	o := client.Options{URL: "http://sequencer.example", HTTP: &http.Client{Transport: transport}}
	for _, c := range change {
		c(&o)
	}
	c, err := client.New(o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(transport.CloseIdleConnections)
	return c
}

// pipes connects clients with whoever listens.
type pipes struct{ conns chan net.Conn }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	refused := time.NewTimer(time.Second)
	defer refused.Stop()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-refused.C:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	*pipes
	once sync.Once
	done chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
