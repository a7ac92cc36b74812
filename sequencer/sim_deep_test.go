package sequencer_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// costs are what a reorganisation deeper than the depths that are set may do to
// the promises. Nothing else may break.
var costs = map[string]string{
	"took effect 2 times": "an effect doubled",
	"took effect before":  "a queue out of order",
	"and its effects are": "DONE, and its block gone for good",
	"and took effect":     "ended badly, and took effect after all",
	"may still land":      "let go, and comes back to the pools",
}

// TestDeepReorganisations runs the simulation with reorganisations of up to twice
// FINALITY, and shows what that costs: effects and order, which the depths are
// for, and a person's look at a sender whose nonces no longer add up; nothing
// else. All is final in the end, and no sender is lost.
func TestDeepReorganisations(t *testing.T) {
	t.Parallel()
	sum, lost := newTally("deep reorganisations"), map[string]int{}
	last := uint64(20)
	if raced {
		last = 6
	}
	for seed := uint64(1); seed <= last; seed++ {
		var s *sim
		synctest.Test(t, func(t *testing.T) { s = simulate(t, seed, true, sum) })
		sum.seed(s)
		for _, problem := range s.check.problems {
			cost := ""
			for words, name := range costs {
				if strings.Contains(problem, words) {
					cost = name
				}
			}
			if lost[cost]++; cost == "" {
				t.Errorf("seed %d: %s\n%s", seed, problem, strings.Join(s.story.lines, "\n"))
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%d seeds with deep reorganisations, %d of them at a cost\n", sum.done, sum.failed)
	for _, cost := range slices.Sorted(maps.Keys(lost)) {
		fmt.Fprintf(os.Stderr, "%9d  %s\n", lost[cost], cost)
	}
}
