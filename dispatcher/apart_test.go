package dispatcher_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders/provers"
)

// TestHungUp: a call that this process ends itself says nothing of the prover that it was on its way to, which is
// kept for the transaction: what may have begun there is asked for again.
func TestHungUp(t *testing.T) {
	t.Parallel()
	signer := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		answer := `{}`
		if r.URL.Path == "/health" {
			answer = `{"capabilities":["signs"]}`
		}
		_, _ = rw.Write([]byte(answer)) // a client that is gone is told nothing
	}))
	t.Cleanup(signer.Close)
	store, err := queues.Open(redistest.Mini(t).Client, queues.Options{Namespace: "seq"})
	if err != nil {
		t.Fatal(err)
	}
	pool := provers.New(provers.Options{Store: store})
	call, hangUp := context.WithCancel(t.Context())
	client := dispatcher.NewClient(dispatcher.ClientOptions{Provers: pool, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "prover") {
			hangUp()
			return nil, errors.New("not connected")
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	worker := dispatcher.Worker{URL: signer.URL}
	if _, err := client.Health(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	hooks := provers.Hooks{Ask: func(context.Context, string) (provers.Word, error) {
		return provers.Word{Types: []string{"MINT"}, AtOnce: 1}, nil
	}}
	var runs sync.WaitGroup
	runs.Go(func() { pool.Run(t.Context(), hooks) })
	t.Cleanup(runs.Wait)
	for _, id := range []string{"prover1", "prover2"} {
		if err := pool.Register(t.Context(), id, "http://"+id); err != nil {
			t.Fatal(err)
		}
	}
	for again := time.NewTicker(time.Millisecond); pool.Together().AtOnce < 2; {
		<-again.C
	}
	_, err = dispatcher.NewRemote(client, "MINT", nil).Prove(call, worker, newCall())
	if _, unreached := errors.AsType[*dispatcher.UnreachedError](err); !unreached || call.Err() == nil {
		t.Fatalf("proved with %v, hung up: %v", err, call.Err())
	}
	kept := 0
	for _, p := range pool.Shown() {
		kept += p.Load
		if !p.Available() {
			t.Errorf("%s is out of use: %s", p.ID, p.Detail)
		}
	}
	if kept != 1 {
		t.Errorf("%d provers are kept for it", kept)
	}
}
