package devworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// A bench is a worker, the client that the sequencer uses with it, and a
// network to send to.
type bench struct {
	*devworker.Worker
	remote *dispatcher.Remote
	client *dispatcher.Client
	at     dispatcher.Worker
	chain  *devnet.Network
	node   *mina.Node
}

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// setup is also fit for a synctest bubble. legacy workers send to the network.
func setup(t *testing.T, o devworker.Options) *bench {
	t.Helper()
	chain, err := devnet.New(devnet.Config{FundAll: true, BlockOnSend: true})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(h http.Handler) func(context.Context, string, string) (net.Conn, error) {
		p := newPipes()
		server := &http.Server{Handler: h}
		var wg sync.WaitGroup
		wg.Go(func() { _ = server.Serve(p) })
		t.Cleanup(func() { _ = server.Close(); wg.Wait() })
		return p.dial
	}
	nodes := &http.Client{Transport: &http.Transport{DialContext: serve(chain), DisableKeepAlives: true}}
	b := &bench{chain: chain, node: mina.NewNode("http://127.0.0.1:1/graphql", mina.NodeOptions{Client: nodes})}
	o.Account = devnet.Key(1)
	if o.Legacy && o.Send == nil {
		o.Send = b.node.Send
	}
	b.Worker = devworker.New(o)
	b.client = dispatcher.NewClient(dispatcher.ClientOptions{
		Token: o.Token, Timeout: time.Minute, AnswerLimit: 1 << 20, Dial: serve(b.Worker),
	})
	b.remote = dispatcher.NewRemote(b.client, "MINT", nil)
	b.at = dispatcher.Worker{AccountID: o.Account, URL: "http://127.0.0.1:2"}
	t.Cleanup(b.Die)
	return b
}

func call(number int, nonce uint32, fee uint64) dispatcher.Call {
	return dispatcher.Call{
		Txn: dispatcher.Txn{UID: "u1", Type: "MINT", Data: json.RawMessage(`{}`), Queue: "q"},
		Attempt: dispatcher.Attempt{
			Number: number, Nonce: nonce, Fee: fee, ValidUntil: 1000, Memo: "memo of u1",
			Previous: []dispatcher.Previous{{Number: 0, Hash: "5Jx", Fee: 1}},
		},
	}
}

func (b *bench) prove(t *testing.T, c dispatcher.Call) dispatcher.Result {
	t.Helper()
	r, err := b.remote.Prove(t.Context(), b.at, c)
	if err != nil {
		t.Fatal(err)
	}
	b.checkSigned(t, r, c)
	return r
}

func (b *bench) checkSigned(t *testing.T, r dispatcher.Result, c dispatcher.Call) {
	t.Helper()
	if err := dispatcher.CheckSigned(r.Signed, b.at.AccountID, c.Attempt, mina.DecodeMemo); err != nil {
		t.Error(err)
	}
	if hash, err := devnet.Hash(r.Signed); err != nil || hash != r.Hash || !mina.ValidHash(hash) {
		t.Errorf("hash %q, devnet's is %q, %v", r.Hash, hash, err)
	}
}

func updatesOf(t *testing.T, signed json.RawMessage) string {
	t.Helper()
	var c struct{ AccountUpdates json.RawMessage }
	if err := json.Unmarshal(signed, &c); err != nil || len(c.AccountUpdates) < 10 {
		t.Fatalf("no updates in %s, %v", signed, err)
	}
	return string(c.AccountUpdates)
}

// summary is what a call came to, as the sequencer sees it.
func summary(r dispatcher.Result, err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, dispatcher.ErrLegacy):
		return "legacy"
	}
	if e, ok := errors.AsType[*dispatcher.BusyError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*dispatcher.WorkerError](err); ok {
		s := e.Kind.String() + " " + e.Code
		if e.NothingSent {
			s += ", nothing sent"
		}
		return s
	}
	if _, ok := errors.AsType[*dispatcher.LostError](err); ok {
		return "lost"
	}
	return "other: " + err.Error()
}

func post(t *testing.T, h http.Handler, path, body string) int {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code
}
