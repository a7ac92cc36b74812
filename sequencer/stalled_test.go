package sequencer

import (
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestStallOf: what keeps a transaction from the nodes is what its last attempts met in a row, since
// the first of these was sent; and nothing does once a node has taken it.
func TestStallOf(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Unix(int64(n)*3600, 0) }
	try := func(o tx.AttemptState, code string, begun int) tx.Attempt {
		a := tx.Attempt{State: o, StartedAt: hour(begun)}
		if code != "" {
			a.Cause = map[string]tx.Cause{"After_slot_tx_end": tx.CauseNetwork,
				tx.CodeGateway: tx.CauseGateway, tx.CodeNoAnswer: tx.CauseNodes}[code]
			a.Error = &tx.Error{Code: code, Message: "because of " + code}
		}
		return a
	}
	const stop = "After_slot_tx_end"
	for name, test := range map[string]struct {
		phase    tx.Phase
		attempts []tx.Attempt
		cause    string
		since    int // in hours; it was changed last in the tenth
	}{
		"never sent": {tx.PhaseDispatching, nil, "", 0},
		"sent, and refused of everybody": {tx.PhaseSent,
			[]tx.Attempt{try(tx.Signed, stop, 2)}, CauseNetwork, 10},
		"proved for eight hours before": {tx.PhaseWatching,
			[]tx.Attempt{try(tx.Unknown, tx.CodeGateway, 2)}, CauseGateway, 10},
		"signed again, with other words": {tx.PhaseWatching, []tx.Attempt{
			try(tx.FailedIn, "X", 1), try(tx.Expired, stop, 2), try(tx.Expired, tx.CodeGateway, 4),
			try(tx.Unknown, tx.CodeNoAnswer, 6)}, CauseNodes, 2},
		"to be signed again": {tx.PhaseDelayed, []tx.Attempt{try(tx.Expired, stop, 2)}, CauseNetwork, 2},
		"being signed again": {tx.PhaseDispatching, []tx.Attempt{
			try(tx.Expired, stop, 2), try(tx.Planned, "", 4)}, CauseNetwork, 2},
		"a node took it": {tx.PhaseWatching,
			[]tx.Attempt{try(tx.Expired, stop, 2), try(tx.Sent, "", 4)}, "", 0},
		"a pool has it":        {tx.PhaseWatching, []tx.Attempt{try(tx.Pooled, stop, 2)}, "", 0},
		"expired as others do": {tx.PhaseDelayed, []tx.Attempt{try(tx.Expired, "EXPIRED", 2)}, "", 0},
		"it is over":           {tx.PhaseFailed, []tx.Attempt{try(tx.Expired, stop, 2)}, "", 0},
	} {
		x := stallOf(&tx.Transaction{Phase: test.phase, Attempts: test.attempts, ChangedAt: hour(10)})
		switch {
		case x == nil && test.cause == "":
		case x == nil || x.cause != test.cause || !x.since.Equal(hour(test.since)):
			t.Errorf("%s: %+v", name, x)
		}
	}
	if stallOf(&tx.Transaction{Phase: tx.PhaseSent, Ledger: "saw",
		Attempts: []tx.Attempt{try(tx.Unknown, tx.CodeNoAnswer, 2)}}) != nil {
		t.Error("a batch waits for no node of Mina")
	}
}
