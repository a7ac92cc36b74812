package sequencer_test

import (
	"context"
	"testing"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestTrainOutdated: a proof is kept while another is made beside it, and that has landed when its turn comes.
// If it goes against what has landed, or nobody knows what that was, it is made anew, at the price of a proof and
// of no fee; else it is signed with the proof that it has. Whoever has taken over meanwhile does the same.
func TestTrainOutdated(t *testing.T) {
	forget := func(w *harness.World, uid string) {
		w.OK(w.Redis.Client.Del(w.Ctx, "{test}:b:"+uid).Err())
	}
	for name, c := range map[string]struct {
		free   bool // they require nothing
		taken  bool // over by another process
		lost   bool // what landed is not stored any more
		proofs int
		vain   int
	}{
		"it goes against what landed":    {proofs: 3, vain: 1},
		"they require nothing":           {free: true, proofs: 2},
		"it goes against it, taken over": {taken: true, proofs: 3, vain: 1},
		"taken over":                     {free: true, taken: true, proofs: 2},
		"nobody knows what landed":       {free: true, lost: true, proofs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 3, devnet.Config{FillRate: 1}, func(w *harness.World) {
				w.Overlap["MINT"] = dispatcher.Commuting
				vain := 0
				w.Meter.Apart = func(string) { vain++ } // one at a time
				o := devworker.Options{ProveTime: 20 * time.Second, Several: true, Capacity: 2}
				if !c.free {
					o.State = func(ctx context.Context, account string) ([]string, error) { return w.State(ctx, account) }
				}
				_, worker := w.Worker(1, o)
				worker.Fail(devworker.Fault{On: devworker.Prove, UID: "q-01", Kind: devworker.Hang, Wait: 9 * time.Minute,
					After: true})
				p := w.Start()
				uids := w.PostAll("q", 2)
				w.Await(uids[0], tx.Done, time.Hour)
				if x := w.Get(uids[1]); len(x.Attempts) != 1 || x.Attempts[0].State != tx.Unplaced {
					t.Fatalf("it is %+v already", x.Attempts)
				}
				if c.taken {
					p.Kill()
					w.Start()
				}
				if c.lost {
					forget(w, uids[0])
				}
				x := w.Await(uids[1], tx.Done, 3*time.Hour)
				for _, a := range x.Attempts {
					if a.Failed() {
						t.Errorf("a fee is lost by %+v", a)
					}
				}
				proofs := worker.Calls()[devworker.Prove]
				if c.taken {
					proofs-- // it was asked for twice, and made once
				}
				if proofs != c.proofs || len(x.Attempts) != 2 || x.Retries > 0 || vain != c.vain {
					t.Errorf("%d proofs, %d attempts, %d retries, %d made in vain", proofs, len(x.Attempts), x.Retries, vain)
				}
			})
		})
	}
}
