package lifecycle

import (
	"fmt"
	"testing"
	"time"
)

// TestSubmission: what a batch is to Grid, at every place that it can have. The pairs are those of Grid's
// strategy.
func TestSubmission(t *testing.T) {
	t.Parallel()
	because := func(code string) part { return func(t *Transaction) { t.Error = oops(code) } }
	deferred := func(t *Transaction) { t.Deferred = 1 }
	met := map[DLTStatus]bool{}
	for _, c := range []struct {
		name string
		t    *Transaction
		says string
		want string
	}{
		{"new", batch(PhaseWaiting), "", "false none"},
		{"put off before it was tried", batch(PhaseWaiting, deferred, because(CodeNoLedger)), "", "false none"},
		{"put off", batch(PhaseWaiting, post(Refused, over), deferred, because(CodeNoLedger)), "", "false Delayed, tried"},
		{"retried by a person", batch(PhaseWaiting, post(FailedIn, over)), "", "false Delayed, tried"},
		{"bound", batch(PhaseDispatching), "", "true none"},
		{"being posted", batch(PhaseDispatching, post(Signed)), "", "true none, tried"},
		{"bound again", batch(PhaseDispatching, post(Refused, over), deferred), "", "true Delayed, tried"},
		{"being posted again", batch(PhaseDispatching, post(Signed), deferred), "", "true Delayed, tried"},
		{"being posted after a verdict", batch(PhaseDispatching, post(FailedIn, over), post(Signed)), "", "true Delayed, tried"},
		{"taken", batch(PhaseSent, post(Sent)), "", "true Pending, tried"},
		{"perhaps taken", batch(PhaseSent, post(Unknown)), "", "true Delayed, tried"},
		{"there", batch(PhaseWatching, post(Pooled)), "", "true Pending, tried"},
		{"not there", batch(PhaseWatching, post(Sent)), "", "false Unknown, tried"},
		{"not there, perhaps taken", batch(PhaseWatching, post(Unknown)), "", "false Unknown, tried"},
		{"said to be there", batch(PhaseSent, post(Unknown)), "PENDING", "true Pending, tried"},
		{"said to be executed", batch(PhaseWatching, post(Pooled)), "VALID", "true Valid, tried"},
		{"said not to be there", batch(PhaseSent, post(Sent)), "UNKNOWN", "false Unknown, tried"},
		{"committed, and not stored yet", batch(PhaseWatching, post(Pooled)), "COMMITTED", "true Pending, tried"},
		{"refused, and not stored yet", batch(PhaseWatching, post(Pooled)), "INVALID", "true Pending, tried"},
		{"weighed", batch(PhaseFailing, post(Replaced, over)), "", "false Delayed, tried"},
		{"waits for its retry", batch(PhaseDelayed, post(Replaced, over)), "", "false Delayed, tried"},
		{"committed", batch(PhaseDone, post(Included, over), landedBy(1), final), "", "true Committed, tried, settled"},
		{"refused when executed", batch(PhaseUnresolved, post(Invalid), because(CodeInvalid)), "INVALID", "true Invalid, tried"},
		{"the same for good", batch(PhaseUnresolved, post(FailedIn, over), because(CodeInvalid)), "", "true Invalid, tried, settled"},
		{"not taken", batch(PhaseUnresolved, post(Refused, over), because("30")), "", "true none, tried, settled, error 30"},
		{"a person is asked", batch(PhaseUnresolved, post(Unknown), because(CodeOutcomeUnknown)), "", "true Unknown, tried, error OUTCOME_UNKNOWN"},
		{"a person is asked, it is there", batch(PhaseUnresolved, post(Pooled), because(CodeOutcomeUnknown)), "", "true Pending, tried, error OUTCOME_UNKNOWN"},
		{"a person is asked, executed", batch(PhaseUnresolved, post(Unknown), because(CodeOutcomeUnknown)), "VALID", "true Valid, tried, error OUTCOME_UNKNOWN"},
		{"ended without a word", batch(PhaseUnresolved), "", "true none, settled"},
		{"at its ledger by no attempt", batch(PhaseWatching), "", "true Delayed"},
		{"cancelled", batch(PhaseFailed, because(CodeCancelled)), "", "true none, settled, error CANCELLED"},
	} {
		s := c.t.Submission(c.says)
		met[s.Status] = true
		status := string(s.Status)
		if status == "" {
			status = "none"
		}
		got := fmt.Sprint(s.Submitted, " ", status)
		if !s.TriedAt.IsZero() {
			got += ", tried"
			if !s.TriedAt.Equal(now.Add(-time.Minute)) {
				t.Errorf("%s: tried at %v", c.name, s.TriedAt)
			}
		}
		if s.Settled {
			got += ", settled"
		}
		if s.Error != nil {
			got += ", error " + s.Error.Code
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for _, status := range []DLTStatus{"", DLTUnknown, DLTDelayed, DLTPending, DLTValid, DLTInvalid, DLTCommitted} {
		if !met[status] {
			t.Errorf("no row has %q", status)
		}
	}
}

// TestAtLedger: what its ledger says now tells of what may be there, and has no verdict yet.
func TestAtLedger(t *testing.T) {
	t.Parallel()
	invalid := func(t *Transaction) { t.Error = oops(CodeInvalid) }
	for name, c := range map[string]struct {
		t    *Transaction
		want bool
	}{
		"waiting":               {batch(PhaseWaiting, post(Refused, over)), false},
		"being posted":          {batch(PhaseDispatching, post(Signed)), false},
		"posted":                {batch(PhaseSent, post(Sent)), true},
		"there":                 {batch(PhaseWatching, post(Pooled)), true},
		"by no attempt":         {batch(PhaseWatching), false},
		"a person is asked":     {batch(PhaseUnresolved, post(Unknown)), true},
		"refused when executed": {batch(PhaseUnresolved, post(FailedIn), invalid), false},
		"not taken":             {batch(PhaseUnresolved, post(Refused, over)), false},
		"committed":             {batch(PhaseDone, post(Included, over), landedBy(1), final), false},
		"for Mina":              {txn(PhaseWatching, try(Sent)), false},
	} {
		if got := c.t.AtLedger(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
