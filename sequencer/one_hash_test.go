package sequencer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestOneHash: two attempts may have one hash, for that covers no proofs. Mina: with the same nonce,
// fee and last slot a command that was proved again is the same to all. What the chain then shows
// is the later one's, which alone was ever in a pool, through a reorganisation, too.
func TestOneHash(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]func(*lifecycle.Policy){
		"retries raise no fee":     func(p *lifecycle.Policy) { p.BumpOnPrice = true },
		"it may not become higher": func(p *lifecycle.Policy) { p.FeeMax = p.Fee },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1, SlotTime: 10 * time.Minute})
				policy(&w.Policy)
				_, worker := w.Worker(1, devworker.Options{})
				w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1}))
				w.Start()
				w.Post("q", "a")
				w.Post("q", "b")
				check := func(when string, a *tx.Transaction) {
					t.Helper()
					if len(a.Attempts) != 2 || a.Attempts[0].Hash != a.Attempts[1].Hash || a.Attempts[0].Hash == "" {
						t.Fatalf("%s: not two attempts of one hash: %+v", when, a.Attempts)
					}
					first, second := a.Attempts[0], a.Attempts[1]
					if a.Landed != 2 || first.State != tx.Refused || second.State != tx.Included || a.Open() {
						t.Errorf("%s: landed %d, %s and %s, open %v", when, a.Landed, first.State, second.State, a.Open())
					}
				}
				check("done", w.Await("a", tx.Done, 5*time.Hour))
				w.OK(w.Net.Reorg(devnet.Reorg{Depth: 1, Empty: true}))
				w.AwaitTxn("a", "orphaned", time.Hour, func(t *tx.Transaction) bool { return t.Reopened })
				check("final", w.AwaitTxn("a", "final", 5*time.Hour,
					func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() }))
				w.Await("b", tx.Done, 5*time.Hour)
				if got := w.Effects("a", "b"); len(got) != 2 {
					t.Errorf("effects %v", got)
				}
				if n := worker.Calls()[devworker.Prove]; n != 3 {
					t.Errorf("%d proofs", n)
				}
			})
		})
	}
}
