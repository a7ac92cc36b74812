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

// TestBuilt: chained ones are proved side by side where their worker builds, so a queue gets on by
// what all its provers make in a slot, up to the width: a block takes three proofs of half a minute
// for each prover.
func TestBuilt(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	for _, provers := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint("provers=", provers), func(t *testing.T) {
			harness.Trains(t, 12, devnet.Config{SlotTime: 90 * time.Second, FillRate: 1, MaxZkapps: 12}, func(w *harness.World) {
				w.Policy.ValidSlots = 40
				_, worker := w.Worker(1, builder(provers, 30*time.Second))
				w.Start()
				uids := w.PostAll("q", 48)
				inOrder(t, w, uids)
				counts := perBlock(w)
				t.Logf("%d provers: %v", provers, counts)
				full := counts[1 : len(counts)-1]
				sum := 0
				for _, n := range full {
					sum += n
				}
				if want := 0.9 * float64(min(12, 3*provers)); float64(sum) < want*float64(len(full)) {
					t.Errorf("a block takes %.2f, want %.1f: %v", float64(sum)/float64(len(full)), want, counts)
				}
				if calls := worker.Calls(); calls[devworker.Prove] != len(uids) {
					t.Errorf("%d proofs took the calls %v", len(uids), calls)
				}
			})
		})
	}
}
