package tx

import (
	"testing"
	"time"
)

// TestAttemptStates: the table has each state once, and no state is two things at a time.
func TestAttemptStates(t *testing.T) {
	t.Parallel()
	before := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	then := before.Add(time.Minute)
	if len(AttemptStates) != len(attemptStates) {
		t.Errorf("%d states are listed, and %d are in the table", len(AttemptStates), len(attemptStates))
	}
	for _, s := range AttemptStates {
		row, listed := attemptStates[s]
		a := Attempt{State: s}
		is := 0
		for _, yes := range []bool{a.Open(), a.Over(), a.Pending()} {
			if yes {
				is++
			}
		}
		switch {
		case !listed, !s.Valid():
			t.Errorf("%s is not in the table", s)
		case is != 1:
			t.Errorf("%s: open %t, over %t, pending %t", s, a.Open(), a.Over(), a.Pending())
		case row.accepted && !row.open, row.unmade != (row.outcome == "prepared" && s != Called):
			t.Errorf("%s: %+v", s, row)
		case s.Shallow().Deep() != s && s.Shallow() != s, s.Deep().Deep() != s.Deep():
			t.Errorf("%s: shallow %s, deep %s", s, s.Shallow(), s.Deep())
		case s.Deep().Outcome() != s.Outcome(): // a client does not see it
			t.Errorf("%s is told as %s, and deep as %s", s, s.Outcome(), s.Deep().Outcome())
		}
		a.EndedAt = before
		a.Become(s, then)
		if want := (map[bool]time.Time{true: then})[a.Over()]; a.EndedAt != want {
			t.Errorf("%s ended at %v", s, a.EndedAt)
		}
	}
	if AttemptState("").Valid() || AttemptState("prepared").Valid() {
		t.Error("what is no state is valid")
	}
}
