package sequencer_test

import (
	"fmt"
	"strings"
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

// TestNetworkStops: while the network takes nothing from anybody, for half a day before a fork, what
// was proved is kept: it is sent again, and signed again as it runs out. No retry is used for it, no
// fee raised, no sender rests, and when the network goes on it is done, with one proof.
func TestNetworkStops(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		beside, other := w.Worker(2, devworker.Options{ProveTime: time.Minute})
		takes := func(words string) {
			for i := range w.Net.Nodes() {
				w.OK(w.Net.Node(i).SetFaults(devnet.Faults{Refuse: words}))
			}
		}
		takes(`["After_slot_tx_end"]`)
		p := w.Start()
		const many = 6
		for n := range many {
			w.Post(fmt.Sprint("q", n), fmt.Sprint("t", n))
			if n == 0 {
				harness.Until(w.Ctx, 10*time.Minute) // it is proved and offered: so the others need not be
			}
		}
		harness.Until(w.Ctx, 12*time.Hour)
		proofs := worker.Calls()[devworker.Prove] + other.Calls()[devworker.Prove]
		if proofs != 1 || worker.Calls()[devworker.Resign]+other.Calls()[devworker.Resign] == 0 {
			t.Errorf("%d proofs, %v", proofs, worker.Calls())
		}
		told := p.Stalled()
		if x := told[sequencer.CauseNetwork]; len(told) != 1 || x.N != 1 || x.For < 11*time.Hour || x.For > 13*time.Hour ||
			!strings.Contains(x.Words, "After_slot_tx_end") {
			t.Errorf("one waits for the network since it stopped: %+v", told)
		}
		first := w.Get("t0").Sender
		for _, of := range []string{account, beside} {
			s, err := w.Pool.Get(w.Ctx, of)
			w.OK(err)
			says, offers := strings.Contains(s.Detail, "accepts no transactions"), of == first
			if says == offers || (s.Reason == "") != offers {
				t.Errorf("a sender is %s: %s", s.Reason, s.Detail)
			}
		}
		takes("")
		for n := range many {
			done := w.Await(fmt.Sprint("t", n), tx.Done, 3*time.Hour)
			if last := done.Last(); done.Retries != 0 || last.Fee != w.Policy.Fee {
				t.Errorf("%s: %d retries, and %d paid", done.UID, done.Retries, last.Fee)
			}
		}
		if told := p.Stalled(); len(told) != 0 {
			t.Errorf("all is done: %+v", told)
		}
		if all := worker.Calls()[devworker.Prove] + other.Calls()[devworker.Prove]; all != many {
			t.Errorf("%d proofs for %d", all, many)
		}
	})
}
