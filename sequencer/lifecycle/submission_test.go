package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestSubmission: what a batch is to Grid, at every place that it can have. The pairs are those of Grid's
// strategy.
func TestSubmission(t *testing.T) {
	t.Parallel()
	because := func(code string) part { return func(t *tx.Transaction) { t.Error = oops(code) } }
	deferred := func(t *tx.Transaction) { t.Deferred = 1 }
	met := map[tx.DLTStatus]bool{}
	for _, c := range []struct {
		name string
		t    *tx.Transaction
		says string
		want string
	}{
		{"new", batch(tx.PhaseWaiting), "", "false none"},
		{"put off before it was tried", batch(tx.PhaseWaiting, deferred, because(tx.CodeNoLedger)), "", "false none"},
		{"put off", batch(tx.PhaseWaiting, post(tx.Refused, over), deferred, because(tx.CodeNoLedger)), "", "false Delayed, tried"},
		{"retried by a person", batch(tx.PhaseWaiting, post(tx.FailedIn, over)), "", "false Delayed, tried"},
		{"bound", batch(tx.PhaseDispatching), "", "true none"},
		{"being posted", batch(tx.PhaseDispatching, post(tx.Signed)), "", "true none, tried"},
		{"bound again", batch(tx.PhaseDispatching, post(tx.Refused, over), deferred), "", "true Delayed, tried"},
		{"being posted again", batch(tx.PhaseDispatching, post(tx.Signed), deferred), "", "true Delayed, tried"},
		{"being posted after a verdict", batch(tx.PhaseDispatching, post(tx.FailedIn, over), post(tx.Signed)), "", "true Delayed, tried"},
		{"taken", batch(tx.PhaseSent, post(tx.Sent)), "", "true Pending, tried"},
		{"perhaps taken", batch(tx.PhaseSent, post(tx.Unknown)), "", "true Delayed, tried"},
		{"there", batch(tx.PhaseWatching, post(tx.Pooled)), "", "true Pending, tried"},
		{"not there", batch(tx.PhaseWatching, post(tx.Sent)), "", "false Unknown, tried"},
		{"not there, perhaps taken", batch(tx.PhaseWatching, post(tx.Unknown)), "", "false Unknown, tried"},
		{"said to be there", batch(tx.PhaseSent, post(tx.Unknown)), "PENDING", "true Pending, tried"},
		{"said to be executed", batch(tx.PhaseWatching, post(tx.Pooled)), "VALID", "true Valid, tried"},
		{"said not to be there", batch(tx.PhaseSent, post(tx.Sent)), "UNKNOWN", "false Unknown, tried"},
		{"committed, and not stored yet", batch(tx.PhaseWatching, post(tx.Pooled)), "COMMITTED", "true Pending, tried"},
		{"refused, and not stored yet", batch(tx.PhaseWatching, post(tx.Pooled)), "INVALID", "true Pending, tried"},
		{"weighed", batch(tx.PhaseFailing, post(tx.Replaced, over)), "", "false Delayed, tried"},
		{"waits for its retry", batch(tx.PhaseDelayed, post(tx.Replaced, over)), "", "false Delayed, tried"},
		{"committed", batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final), "", "true Committed, tried, settled"},
		{"refused when executed", batch(tx.PhaseUnresolved, post(tx.Invalid), because(tx.CodeInvalid)), "INVALID", "true Invalid, tried"},
		{"the same for good", batch(tx.PhaseUnresolved, post(tx.FailedIn, over), because(tx.CodeInvalid)), "", "true Invalid, tried, settled"},
		{"not taken", batch(tx.PhaseUnresolved, post(tx.Refused, over), because("30")), "", "true none, tried, settled, error 30"},
		{"a person is asked", batch(tx.PhaseUnresolved, post(tx.Unknown), because(tx.CodeOutcomeUnknown)), "", "true Unknown, tried, error OUTCOME_UNKNOWN"},
		{"a person is asked, it is there", batch(tx.PhaseUnresolved, post(tx.Pooled), because(tx.CodeOutcomeUnknown)), "", "true Pending, tried, error OUTCOME_UNKNOWN"},
		{"a person is asked, executed", batch(tx.PhaseUnresolved, post(tx.Unknown), because(tx.CodeOutcomeUnknown)), "VALID", "true Valid, tried, error OUTCOME_UNKNOWN"},
		{"ended without a word", batch(tx.PhaseUnresolved), "", "true none, settled"},
		{"at its ledger by no attempt", batch(tx.PhaseWatching), "", "true Delayed"},
		{"cancelled", batch(tx.PhaseFailed, because(tx.CodeCancelled)), "", "true none, settled, error CANCELLED"},
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
	for _, status := range []tx.DLTStatus{"", tx.DLTUnknown, tx.DLTDelayed, tx.DLTPending, tx.DLTValid, tx.DLTInvalid,
		tx.DLTCommitted} {
		if !met[status] {
			t.Errorf("no row has %q", status)
		}
	}
}

// TestAtLedger: what its ledger says now tells of what may be there, and has no verdict yet.
func TestAtLedger(t *testing.T) {
	t.Parallel()
	invalid := func(t *tx.Transaction) { t.Error = oops(tx.CodeInvalid) }
	for name, c := range map[string]struct {
		t    *tx.Transaction
		want bool
	}{
		"waiting":               {batch(tx.PhaseWaiting, post(tx.Refused, over)), false},
		"being posted":          {batch(tx.PhaseDispatching, post(tx.Signed)), false},
		"posted":                {batch(tx.PhaseSent, post(tx.Sent)), true},
		"there":                 {batch(tx.PhaseWatching, post(tx.Pooled)), true},
		"by no attempt":         {batch(tx.PhaseWatching), false},
		"a person is asked":     {batch(tx.PhaseUnresolved, post(tx.Unknown)), true},
		"refused when executed": {batch(tx.PhaseUnresolved, post(tx.FailedIn), invalid), false},
		"not taken":             {batch(tx.PhaseUnresolved, post(tx.Refused, over)), false},
		"committed":             {batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final), false},
		"for Mina":              {txn(tx.PhaseWatching, try(tx.Sent)), false},
	} {
		if got := c.t.AtLedger(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
