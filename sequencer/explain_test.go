package sequencer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestExplainLimited: who sees some queues only does not learn from what waits there which
// senders there are, nor what the attempts of others have left at them.
func TestExplainLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(1, devworker.Options{})
		desk := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		const why = "it has 2 MINA, and the claim of another asks for 3"
		w.OK(w.Pool.Rest(w.Ctx, account, time.Hour, tx.LowBalance, why))
		w.Post("shop-1", "a")
		w.Post("shop-1", "b")
		for _, uid := range []string{"a", "b"} {
			all, err := desk.Explain(w.Ctx, uid, false)
			w.OK(err)
			if !strings.Contains(all.Summary, account+" is LOW_BALANCE: "+why) {
				t.Errorf("who sees all is told of %s: %+v", uid, all)
			}
			some, err := desk.Explain(w.Ctx, uid, true)
			w.OK(err)
			if !strings.HasSuffix(some.Summary, "o sender is free: 0 bound to other queues, 1 out of use.") ||
				some.Wait.Code != all.Wait.Code || some.Wait.Detail != all.Wait.Detail || !some.Wait.Until.IsZero() {
				t.Errorf("who sees some is told of %s: %+v", uid, some)
			}
		}
	})
}

// TestExplainTurn: a queue that is ready is told how many are bound before it, by the turn that goes
// round those who post.
func TestExplainTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		desk := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		for n := range 20 {
			w.OK(w.Store.Enqueue(w.Ctx, queues.Item{UID: fmt.Sprint("many-", n), Queue: fmt.Sprint("many-", n), Type: "MINT",
				Data: []byte(`{}`), By: "many"}).Err)
			harness.Until(w.Ctx, time.Second)
		}
		single := queues.Item{UID: "one", Queue: "one", Type: "MINT", Data: []byte(`{}`), By: "single"}
		w.OK(w.Store.Enqueue(w.Ctx, single).Err)
		const turn = "In the turn "
		for uid, stand := range map[string]string{"one": "one other stands", "many-19": "20 others stand"} {
			told, err := desk.Explain(w.Ctx, uid, false)
			w.OK(err)
			first := uid == "one" && !strings.Contains(told.Summary, turn) // by where the names sit
			if !first && !strings.Contains(told.Summary, turn+stand+" before its queue.") {
				t.Errorf("%s: %s", uid, told.Summary)
			}
		}
	})
}

// TestExplainUnclaimed: a queue for which a sender is free, and that nobody binds, is told for a
// cycle to be bound now, and then what may lack: a process that has room, or nodes that answer.
func TestExplainUnclaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		desk := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		_, err := w.Store.Heartbeat(w.Ctx, "hangs", time.Hour, "") // and says nothing of itself
		w.OK(err)
		w.Post("q", "a")
		summary := func() string {
			told, err := desk.Explain(w.Ctx, "a", false)
			w.OK(err)
			return told.Summary
		}
		if got := summary(); !strings.Contains(got, "is bound to it now") {
			t.Error(got)
		}
		harness.Until(w.Ctx, 2*time.Minute)
		if got := summary(); !strings.Contains(got, "why the Mina nodes do not answer") {
			t.Error(got)
		}
		desk.Chain.Poll(w.Ctx)
		if got := summary(); !strings.Contains(got, "a process runs that dispatches MINT") {
			t.Error(got)
		}
		w.Start()
		w.Await("a", tx.Done, time.Hour)
	})
}
