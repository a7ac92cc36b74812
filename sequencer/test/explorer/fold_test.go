package explorer

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"mina-sequencer/sequencer/test/lane"
)

// foldedTo is how many states of each world TestFold looks at.
var foldedTo = flag.Int("fold", 1500, "look at so many states of each world for those that are wrongly taken for one")

// notExact are the worlds in which states are taken for one that may differ in what comes:
// how long ago something was counts there by more than before and after now. Of such states
// the first alone is gone on from.
func notExact(w *World) bool {
	return w.Ledger > 0 || w.Forgets > 0 || w.Name == "legacy" || w.Name == "sendings"
}

// TestFold: states that are taken for one have the same to come.
func TestFold(t *testing.T) {
	worlds := Worlds()
	if lane.Raced {
		worlds = worlds[:1] // nothing of it is shared
	}
	for _, w := range worlds {
		if notExact(w) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			first := NewState(w)
			key, _ := first.Key(nil)
			known := map[Key]*State{key: first}
			for frontier := []*State{first}; len(frontier) > 0 && len(known) < *foldedTo; {
				var next []*State
				for _, s := range frontier {
					for _, c := range successors(s) {
						key, _ := c.Key(nil)
						if other := known[key]; other == nil {
							known[key] = c
							next = append(next, c)
						} else if !slices.Equal(keys(other), keys(c)) {
							t.Fatalf("what may come differs, and the fold does not:\n%s\n\n%s", other, c)
						}
					}
				}
				frontier = next
			}
		})
	}
}

// successors are the states that may come next.
func successors(s *State) []*State {
	var next []*State
	s.Moves(func(m Move) {
		s.met = NewCoverage()
		if c := s.Apply(m, nil); c != nil {
			next = append(next, c)
		}
	})
	return next
}

// keys are those of what may come next and is another state.
func keys(s *State) [][2]uint64 {
	own, _ := s.Key(nil)
	all := map[[2]uint64]bool{}
	for _, c := range successors(s) {
		if k, _ := c.Key(nil); k != own {
			all[k] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
}
