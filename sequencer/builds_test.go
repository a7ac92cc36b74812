package sequencer_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// builder is a worker that builds before it proves.
func builder(provers int, proof time.Duration) devworker.Options {
	return devworker.Options{
		ProveTime: proof, BuildTime: time.Second, Builds: true, Several: true, Capacity: provers,
	}
}

// perBlock is how many of ours each block holds, but for those before the first.
func perBlock(w *harness.World) (counts []int) {
	last := uint32(0)
	for _, e := range w.Net.Effects() {
		if e.Height != last {
			counts, last = append(counts, 0), e.Height
		}
		counts[len(counts)-1]++
	}
	return counts
}

// inOrder checks that all took effect once, in the order of their queue.
func inOrder(t *testing.T, w *harness.World, uids []string) {
	t.Helper()
	for _, uid := range uids {
		w.Await(uid, tx.Done, 12*time.Hour)
	}
	if got := w.Effects(uids...); !slices.Equal(got, uids) {
		t.Errorf("took effect: %v", got)
	}
}

// TestBuilt: chained ones are proved side by side where their worker builds, or the pool does, so a queue gets
// on by what all its provers make in a slot, up to the width: a block takes three proofs of half a minute for
// each prover, or one of a minute and a half.
func TestBuilt(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	const slot = 90 * time.Second
	for _, row := range []struct {
		provers int
		proof   time.Duration
		pool    bool
		nightly bool // the others show as much
	}{
		{1, slot / 3, false, false}, {2, slot / 3, false, false}, {4, slot / 3, false, false}, {8, slot / 3, false, false},
		{1, slot / 3, true, true}, {2, slot / 3, true, true}, {4, slot / 3, true, false}, {8, slot / 3, true, true},
		{1, slot, false, true}, {12, slot, false, true}, {1, slot, true, true}, {12, slot, true, false},
	} {
		t.Run(fmt.Sprintf("provers=%d,proof=%v,pool=%v", row.provers, row.proof, row.pool), func(t *testing.T) {
			if row.nightly {
				lane.Nightly(t, "others show as much")
			}
			net := devnet.Config{SlotTime: slot, FillRate: 1, MaxZkapps: 12}
			harness.Trains(t, 12, net, func(w *harness.World) {
				w.Policy.ValidSlots = 120
				var made func() int
				if row.pool {
					a := &apartWorld{World: w}
					a.signer(1)
					for i := range row.provers {
						a.prover(i, builder(1, row.proof))
					}
					made = a.proofs
				} else {
					_, worker := w.Worker(1, builder(row.provers, row.proof))
					made = func() int { return worker.Calls()[devworker.Prove] }
				}
				w.Start()
				began := time.Now()
				uids := w.PostAll("q", 48)
				inOrder(t, w, uids)
				counts := perBlock(w)
				t.Logf("%v: %v", time.Since(began), counts)
				full := counts[1 : len(counts)-1]
				sum := 0
				for _, n := range full {
					sum += n
				}
				want := 0.9 * float64(min(12, int(slot/row.proof)*row.provers)) * float64(len(full))
				if float64(sum) < want {
					t.Errorf("blocks take %d in %d, want %.1f: %v", sum, len(full), want, counts)
				}
				if n := made(); n != len(uids) {
					t.Errorf("%d proofs took %d calls", len(uids), n)
				}
			})
		})
	}
}
