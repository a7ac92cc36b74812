package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/sequencer/test/lane"
)

var (
	simSeeds  = flag.Int("sim.seeds", 40, "how many seeds the simulation runs")
	simFirst  = flag.Uint64("sim.first", 1, "the first of them")
	simSeed   = flag.Uint64("sim.seed", 0, "the only seed to simulate, with its whole story; 0 for all")
	simStop   = flag.Bool("sim.stop", false, "stop at the first seed that breaks a promise")
	simForget = flag.Bool("sim.forgets", false, "let Redis fail over in every world")
	simWidth  = flag.Int("sim.width", 0, "how many of a queue may be in flight in every world; 0 leaves it to the seed")
	simLag    = flag.Int("sim.lag", 1, "how many strides of 20 seconds a replica lacks at most that is promoted")
	simRepeat = flag.Int("sim.repeat", 1, "how often each seed is simulated")
)

// TestSimulation runs the whole service against everything that can go wrong
// around it, once for every seed, and checks the promises: nothing accepted is
// lost, everything takes effect at most once and in order, no sender leaks, what
// there is not to do costs nothing, and the log tells all of it.
func TestSimulation(t *testing.T) {
	t.Parallel()
	sum := newTally("simulation")
	t.Cleanup(func() {
		fmt.Fprintln(os.Stderr, sum)
		for _, what := range sum.missing() {
			t.Errorf("%d seeds, and none came upon: %s", sum.done, what)
		}
	})
	simulateAll(t, sum)
}

func init() {
	if lane.Raced {
		*simSeeds, brokeOnce = 10, nil
	}
}

// brokeOnce are seeds that broke in most of their runs, in trains: callbacks of those that
// landed were not waited for; a fee was raised without a pause; nobody looked when those ahead
// expired; one stood twice in its train; a nonce of one that had gone was taken for a stranger's
// (three times); an attempt had no end; two that had failed waited for each other, and one that
// was to be the first for one that had failed (twice); one outlived the one before it; a store that had
// forgotten was believed about a nonce. And one without: what was out waited twenty minutes for the
// place of one that a store had forgotten to be DONE.
var brokeOnce = []uint64{60000112, 61002917, 62002374, 62007584, 62009497, 67002841, 68003397, 69001615, 70002351,
	73011239, 73013686, 75003110, 98632056, 400000176, 500012275}

// longest is how long a world may take, which takes a second: it has no end, or its time
// stands still, where something is done again and again with no pause. All stacks tell which.
const longest = 3 * time.Minute

// simulateAll runs the seeds that the flags name, as many at a time as there are
// processors.
func simulateAll(t *testing.T, sum *tally) {
	if *simSeeds > 1000 {
		// A world leaves much behind when it ends; there is memory enough.
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(3 << 30)
	}
	seeds := []uint64{*simSeed}
	if *simSeed == 0 {
		seeds = slices.Clone(brokeOnce)
		for i := range uint64(*simSeeds) {
			seeds = append(seeds, *simFirst+i)
		}
	}
	for _, seed := range seeds {
		for try := range *simRepeat {
			t.Run(fmt.Sprintf("seed=%d/%d", seed, try+1), func(t *testing.T) {
				t.Parallel()
				if *simStop && sum.stopped() {
					return
				}
				stuck := time.AfterFunc(longest, func() {
					debug.SetTraceback("all")
					panic(fmt.Sprintf("the world of seed %d has not ended after %v", seed, longest))
				})
				defer stuck.Stop()
				var s *sim
				synctest.Test(t, func(t *testing.T) { s = simulate(t, seed, false, sum) })
				broken := s.check.problems
				sum.seed(s)
				if *simSeed != 0 || len(broken) > 0 && sum.tellAll() {
					fmt.Fprintf(os.Stderr, "the story of seed %d\n%s\n", seed, strings.Join(s.story.lines, "\n"))
				}
				if len(broken) > 0 {
					// Repeated, for goroutines take turns as they like.
					t.Errorf("go test ./sequencer/test/simulation -run '^TestSimulation$' -sim.seed=%d -sim.repeat=20\n%s", seed,
						strings.Join(broken, "\n"))
				}
			})
		}
	}
}

// simulate runs one world from beginning to end.
func simulate(t *testing.T, seed uint64, deep bool, sum *tally) *sim {
	s := newSim(t, seed, deep, sum)
	for i := range clients {
		s.clients.Go(func() { s.client(i) })
	}
	s.disturb()
	s.heal()
	s.check.atTheEnd()
	if len(s.check.problems) == 0 && s.chance(100, "idle", 0) {
		s.idle()
	}
	s.lasted = time.Since(s.began)
	return s
}
