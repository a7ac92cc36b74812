package sequencer_test

import (
	"testing"

	. "mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

// TestReachable follows a transaction from its queue on, whatever happens to
// it, and looks at what the machine leaves remembered on the way.
func TestReachable(t *testing.T) {
	t.Parallel()
	type state struct {
		lifecycle.Phase
		Ending              lifecycle.Phase
		Cancelled, Reopened bool
	}
	next := map[state]map[state]bool{}
	for s := range steps() {
		if !s.ok || s.Phase == lifecycle.PhaseWaiting && s.Open {
			continue // nothing is open in a queue, see above
		}
		from := state{s.Phase, s.Situation.Ending, s.Cancelled, s.Reopened}
		to := state{s.To, s.Decision.Ending, s.Cancelled || s.Do == FlagCancel, s.Reopened}
		switch {
		case s.Code == lifecycle.CodeOrphaned:
			to.Reopened = true
		case s.Event == Landed, s.Event == Unlandable, s.Event == Ambiguous:
			to.Reopened = false
		}
		if s.Phase.Final() && !s.To.Final() {
			to.Cancelled = false
		}
		if next[from] == nil {
			next[from] = map[state]bool{}
		}
		next[from][to] = true
	}
	start := state{Phase: lifecycle.PhaseWaiting}
	reached := map[state]bool{start: true}
	for todo := []state{start}; len(todo) > 0; todo = todo[1:] {
		for to := range next[todo[0]] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	phases := map[lifecycle.Phase]bool{}
	for s := range reached {
		phases[s.Phase] = true
		if s.Ending != "" && s.Phase != lifecycle.PhaseWatching {
			t.Errorf("%s remembers to end %s", s.Phase, s.Ending)
		}
		if s.Cancelled && s.Phase == lifecycle.PhaseWaiting {
			t.Error("what is cancelled waits to be tried")
		}
		if s.Reopened && s.Phase != lifecycle.PhaseDone {
			t.Errorf("%s is marked as reopened", s.Phase)
		}
	}
	if len(phases) != len(lifecycle.Phases) {
		t.Errorf("only %v can be reached", phases)
	}
}
