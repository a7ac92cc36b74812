package sequencer

import (
	"testing"
	"time"

	"mina-sequencer/sequencer/lifecycle"
)

// TestStallOf: what keeps a transaction from the nodes is what its last attempts met in a row, since
// the first of these was sent; and nothing does once a node has taken it.
func TestStallOf(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Unix(int64(n)*3600, 0) }
	try := func(o lifecycle.AttemptState, code string, begun int) lifecycle.Attempt {
		a := lifecycle.Attempt{State: o, StartedAt: hour(begun)}
		if code != "" {
			a.Cause = map[string]lifecycle.Cause{"After_slot_tx_end": lifecycle.CauseNetwork,
				lifecycle.CodeGateway: lifecycle.CauseGateway, lifecycle.CodeNoAnswer: lifecycle.CauseNodes}[code]
			a.Error = &lifecycle.Error{Code: code, Message: "because of " + code}
		}
		return a
	}
	const stop = "After_slot_tx_end"
	for name, test := range map[string]struct {
		phase    lifecycle.Phase
		attempts []lifecycle.Attempt
		cause    string
		since    int // in hours; it was changed last in the tenth
	}{
		"never sent": {lifecycle.PhaseDispatching, nil, "", 0},
		"sent, and refused of everybody": {lifecycle.PhaseSent,
			[]lifecycle.Attempt{try(lifecycle.Signed, stop, 2)}, CauseNetwork, 10},
		"proved for eight hours before": {lifecycle.PhaseWatching,
			[]lifecycle.Attempt{try(lifecycle.Unknown, lifecycle.CodeGateway, 2)}, CauseGateway, 10},
		"signed again, with other words": {lifecycle.PhaseWatching, []lifecycle.Attempt{
			try(lifecycle.FailedIn, "X", 1), try(lifecycle.Expired, stop, 2), try(lifecycle.Expired, lifecycle.CodeGateway, 4),
			try(lifecycle.Unknown, lifecycle.CodeNoAnswer, 6)}, CauseNodes, 2},
		"to be signed again": {lifecycle.PhaseDelayed, []lifecycle.Attempt{try(lifecycle.Expired, stop, 2)}, CauseNetwork, 2},
		"being signed again": {lifecycle.PhaseDispatching, []lifecycle.Attempt{
			try(lifecycle.Expired, stop, 2), try(lifecycle.Planned, "", 4)}, CauseNetwork, 2},
		"a node took it": {lifecycle.PhaseWatching,
			[]lifecycle.Attempt{try(lifecycle.Expired, stop, 2), try(lifecycle.Sent, "", 4)}, "", 0},
		"a pool has it":        {lifecycle.PhaseWatching, []lifecycle.Attempt{try(lifecycle.Pooled, stop, 2)}, "", 0},
		"expired as others do": {lifecycle.PhaseDelayed, []lifecycle.Attempt{try(lifecycle.Expired, "EXPIRED", 2)}, "", 0},
		"it is over":           {lifecycle.PhaseFailed, []lifecycle.Attempt{try(lifecycle.Expired, stop, 2)}, "", 0},
	} {
		x := stallOf(&lifecycle.Transaction{Phase: test.phase, Attempts: test.attempts, ChangedAt: hour(10)})
		switch {
		case x == nil && test.cause == "":
		case x == nil || x.cause != test.cause || !x.since.Equal(hour(test.since)):
			t.Errorf("%s: %+v", name, x)
		}
	}
	if stallOf(&lifecycle.Transaction{Phase: lifecycle.PhaseSent, Ledger: "saw",
		Attempts: []lifecycle.Attempt{try(lifecycle.Unknown, lifecycle.CodeNoAnswer, 2)}}) != nil {
		t.Error("a batch waits for no node of Mina")
	}
}
