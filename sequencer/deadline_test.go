package sequencer_test

import (
	"encoding/json"
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

// postUntil posts with terms.
func postUntil(w *harness.World, queue, uid string, terms tx.Terms) {
	w.Helper()
	w.OK(w.Store.Enqueue(w.Ctx, queues.Item{
		UID: uid, Queue: queue, Type: "MINT", Data: json.RawMessage(`{"n":1}`), Terms: terms}).Err)
}

// within is a deadline so far from now.
func within(d time.Duration) tx.Terms { return tx.Terms{ExpiresAt: time.Now().Add(d)} }

// TestDeadlines: what has a deadline is FAILED once nothing of it can land any more, wherever
// it is by then, and takes effect in time or never.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	expired := func(w *harness.World, uid string, from, limit time.Duration) *tx.Transaction {
		w.Helper()
		began := time.Now()
		x := w.Await(uid, tx.Failed, limit)
		if x.Error.Code != tx.CodeExpired || x.DoneAt.Before(began.Add(from)) || len(w.Net.Effects()) > 0 {
			w.Errorf("%s ended %v after %v, its effects are %v", uid, x.Error, x.DoneAt.Sub(began), w.Net.Effects())
		}
		if s, err := w.Pool.Get(w.Ctx, devnet.Key(1)); err != nil || s.Queue != "" {
			w.Errorf("its sender is bound to %q, %v", s.Queue, err)
		}
		return x
	}
	for name, run := range map[string]func(*harness.World, *harness.Process, *devworker.Worker){
		"while it waits": func(w *harness.World, p *harness.Process, _ *devworker.Worker) {
			postUntil(w, "q", "before it", tx.Terms{NotBefore: time.Now().Add(24 * time.Hour)})
			postUntil(w, "q", "u", within(10*time.Minute))
			if e, err := p.Explain(w.Ctx, "u", false); err != nil || !strings.Contains(e.Summary, "before its deadline") {
				w.Errorf("explained as %q, %v", e.Summary, err)
			}
			expired(w, "u", 9*time.Minute, 11*time.Minute)
		},
		"with its worker": func(w *harness.World, p *harness.Process, worker *devworker.Worker) {
			postUntil(w, "q", "u", within(6*time.Minute))
			x := expired(w, "u", 3*time.Minute, 7*time.Minute) // in the last slot
			if len(x.Attempts) != 1 || !x.Attempts[0].State.Unmade() {
				w.Errorf("its attempts are %+v", x.Attempts)
			}
		},
		"in the pool": func(w *harness.World, p *harness.Process, worker *devworker.Worker) {
			postUntil(w, "q", "u", within(45*time.Minute))
			w.AwaitTxn("u", "pooled", 20*time.Minute, func(t *tx.Transaction) bool {
				return t.Last() != nil && t.Last().State == tx.Pooled
			})
			<-time.After(40 * time.Minute)
			if x := w.Get("u"); !x.Open() || x.Phase != tx.PhaseWatching {
				w.Errorf("no block lies past it, and it is %s", x.Phase)
			}
			for range w.Policy.SettleDepth + 1 {
				w.Net.MakeBlock()
			}
			expired(w, "u", 0, 2*time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1e-12}) // blocks are made by hand
				_, worker := w.Worker(1, devworker.Options{ProveTime: 9 * time.Minute})
				p := w.Start()
				run(w, p, worker)
				p.Stop()
				<-time.After(10 * time.Minute) // its worker goes on
			})
		})
	}
}

// TestNotBefore: nothing of a queue is dispatched before its first may be, nor while the
// queue is paused until a time; and then in order.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		p := w.Start()
		at, until := time.Now().Add(20*time.Minute), time.Now().Add(30*time.Minute)
		postUntil(w, "q", "a", tx.Terms{NotBefore: at})
		w.Post("q", "b")
		w.Post("r", "c")
		w.OK(w.Store.PauseUntil(w.Ctx, "r", "a test", until))
		began := func(uid string) time.Time {
			w.Helper()
			return w.Await(uid, tx.Done, time.Hour).Attempts[0].StartedAt
		}
		a, b, c := began("a"), began("b"), began("c")
		if a.Before(at) || a.After(at.Add(time.Minute)) || b.Before(a) || c.Before(until) ||
			c.After(until.Add(10*time.Minute)) {
			w.Errorf("a began %v after its time, b %v after a, c %v after its own", a.Sub(at), b.Sub(a), c.Sub(until))
		}
		if q, err := w.Store.Queue(w.Ctx, "r"); err != nil || q.Paused != "" || !q.PausedUntil.IsZero() {
			w.Errorf("the queue is %+v, %v", q, err)
		}
		p.Stop()
	})
}

// TestDeadlineOfLegacy: a worker that sends by itself is not asked for what has a deadline.
func TestDeadlineOfLegacy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{Legacy: true})
		p := w.Start()
		postUntil(w, "q", "u", within(2*time.Hour))
		x := w.Await("u", tx.Unresolved, 10*time.Minute)
		if x.Error.Code != tx.CodeNoDeadline || len(w.Net.Seen()) > 0 {
			w.Errorf("it ended %v, and %d commands were sent", x.Error, len(w.Net.Seen()))
		}
		for _, call := range worker.Told() {
			if call.Kind != "on-failure" {
				w.Errorf("its worker was told %+v", call)
			}
		}
		p.Stop()
	})
}
