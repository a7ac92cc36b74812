package sequencer_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// behindGateway has what a sender sends turned away before it comes to the node: of all, for "".
func behindGateway(w *harness.World, account string, status int) (shut *atomic.Bool) {
	shut = new(atomic.Bool)
	shut.Store(true)
	w.Web.Serve(w, "node0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if shut.Load() && bytes.Contains(body, []byte("sendZkapp(")) && strings.Contains(string(body), account) {
			http.Error(rw, http.StatusText(status), status)
			return
		}
		w.Net.Node(0).ServeHTTP(rw, r)
	}))
	return shut
}

// TestGatewayTurnsOneAway: what a gateway keeps from every node, while others pass, is the
// transaction's: it is proved once, stays open until it can land no more, and ends with the
// gateway's words. So is what a daemon breaks off at, as a command of another era may have it do.
func TestGatewayTurnsOneAway(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for _, status := range []int{http.StatusRequestEntityTooLarge, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) { turnsOneAway(t, status) })
	}
}

func turnsOneAway(t *testing.T, status int) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		_, other := w.Worker(2, devworker.Options{ProveTime: time.Minute})
		w.Start()
		w.Post("large", "large")
		bound := w.AwaitTxn("large", "bound", time.Minute, func(t *tx.Transaction) bool { return t.Sender != "" })
		behindGateway(w, bound.Sender, status) // for its worker proves for a minute
		for n := range 3 {
			w.Post(fmt.Sprint("q", n), fmt.Sprint("t", n))
		}
		for n := range 3 {
			w.Await(fmt.Sprint("t", n), tx.Done, 3*time.Hour)
		}
		large := w.Await("large", tx.Failed, 6*time.Hour)
		if len(large.Attempts) != 1 || large.Error.Code != tx.CodeGateway ||
			!strings.Contains(large.Error.Message, fmt.Sprint(status)) || !strings.Contains(large.Error.Message, "took others") {
			t.Errorf("%d attempts, %+v", len(large.Attempts), large.Error)
		}
		if n := worker.Calls()[devworker.Prove] + other.Calls()[devworker.Prove]; n != 4 {
			t.Errorf("%d proofs of four", n)
		}
	})
}

// TestGatewayTurnsAllAway: what keeps everything from the nodes is nobody's fault: no try is used,
// no fee raised, and all goes on with the proofs that there are when it is mended.
func TestGatewayTurnsAllAway(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		shut := behindGateway(w, "", http.StatusRequestEntityTooLarge)
		p := w.Start()
		w.Post("q", "u")
		harness.Until(w.Ctx, time.Hour)
		told, err := p.Explain(w.Ctx, "u", false)
		w.OK(err)
		if !strings.Contains(told.Summary, "No node was seen to take it") || !strings.Contains(told.Summary, "413") {
			t.Error(told.Summary)
		}
		harness.Until(w.Ctx, 8*time.Hour)
		kept := p.Stalled()
		x := kept[sequencer.CauseGateway]
		if len(kept) != 1 || x.N != 1 || x.For < 7*time.Hour || !strings.Contains(x.Words, "413") {
			t.Errorf("one waits for the gateway: %+v", kept)
		}
		shut.Store(false)
		u := w.Await("u", tx.Done, 3*time.Hour)
		if u.Retries != 0 || u.Last().Fee != w.Policy.Fee || worker.Calls()[devworker.Prove] != 1 {
			t.Errorf("%d retries, %d paid, %v", u.Retries, u.Last().Fee, worker.Calls())
		}
	})
}
