package sequencer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
)

// TestSuccessors takes the block of a DONE transaction away by a reorg deeper
// than CONFIRMATIONS, and its nonce too, so that it can never land again, in each
// phase that the next one of its queue can be in. Both take effect once. The
// next one comes after it, unless something of it had left by then.
func TestSuccessors(t *testing.T) {
	t.Parallel()
	at := func(p lifecycle.Phase) func(*lifecycle.Transaction) bool {
		return func(t *lifecycle.Transaction) bool { return t.Phase == p }
	}
	for name, tt := range map[string]struct {
		trouble *devworker.Fault // of the next one's worker
		when    func(next *lifecycle.Transaction) bool
		drops   bool // what it sent is in no rival block either
		order   []string
	}{
		"waiting":           {nil, at(lifecycle.PhaseWaiting), false, []string{"first", "next"}},
		"with its worker":   {&devworker.Fault{Kind: devworker.Hang, Wait: 2 * time.Hour}, at(lifecycle.PhaseDispatching), false, []string{"first", "next"}},
		"before its retry":  {&devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"}, at(lifecycle.PhaseDelayed), false, []string{"first", "next"}},
		"in a pool":         {nil, at(lifecycle.PhaseWatching), true, []string{"next", "first"}},
		"DONE on top of it": {nil, at(lifecycle.PhaseDone), false, []string{"next", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := patientPolicy()
				policy.DispatchTimeout, policy.RetryDelay, policy.RetryDelayMax = 3*time.Hour, 2*time.Hour, 2*time.Hour
				policy.ValidSlots, policy.BumpAfter = 200, 100
				w := newWorldWith(t, devnet.Config{FillRate: 1}, policy)
				one, _ := w.worker(1, devworker.Options{})
				p := w.start()
				w.post("q", "first")
				landed := w.await("first", lifecycle.Done, time.Hour).Attempts[0]
				two, worker := w.worker(2, devworker.Options{})
				w.ok(w.pool.Drain(w.ctx, one))
				if tt.trouble != nil {
					worker.Fail(*tt.trouble)
				}
				if name == "waiting" {
					w.ok(w.store.Pause(w.ctx, "q", "for the reorg"))
				}
				w.post("q", "next")
				next := w.awaitTxn("next", name, time.Hour, tt.when)
				skip := []string{landed.KnownHash()}
				if tt.drops {
					skip = append(skip, next.Hash())
				}
				w.ok(w.net.Reorg(devnet.Reorg{Depth: int(w.net.Node(0).State().Height-landed.Height) + 1, Exclude: skip}))
				w.net.Drop(landed.KnownHash())
				stranger(w, one, landed.Nonce, 5_000_000_000)
				w.awaitTxn(
					"first",
					"back in its queue",
					12*time.Hour,
					func(t *lifecycle.Transaction) bool { return t.State() != lifecycle.Done },
				)
				if name == "waiting" {
					w.ok(w.store.Resume(w.ctx, "q"))
				}
				w.ok(w.pool.Resume(w.ctx, one))
				for _, uid := range []string{"first", "next"} {
					w.await(uid, lifecycle.Done, 24*time.Hour)
				}
				if got := w.effects("first", "next"); !slices.Equal(got, tt.order) {
					t.Errorf("took effect as %v, want %v", got, tt.order)
				}
				if got := w.get("next"); tt.order[0] == "first" &&
					(got.Retries > 1 || slices.ContainsFunc(got.Attempts[:len(got.Attempts)-1], func(a lifecycle.Attempt) bool { return a.Outcome != lifecycle.Prepared })) {
					t.Errorf("next: %d retries, %+v", got.Retries, got.Attempts)
				}
				for _, account := range []string{one, two} {
					if s, err := w.pool.Get(w.ctx, account); err != nil || s.Queue != "" ||
						s.Reason != "" && s.Reason != lifecycle.StoppedNonce {
						t.Errorf("sender %+v, %v", s, err)
					}
				}
				p.stop()
			})
		})
	}
}
