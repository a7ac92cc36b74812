package lifecycle

import (
	"strings"
	"testing"

	"mina-sequencer/sequencer/tx"
)

// TestStrangerIsNamed: whose nonce was spent by somebody else's command is told by which, wherever
// that is said; and where no node holds it any more, that.
func TestStrangerIsNamed(t *testing.T) {
	t.Parallel()
	for hash, want := range map[string]string{
		"5Jstranger": "its nonce was spent by 5Jstranger, which is not ours",
		"":           "its nonce was spent by a command that is not ours, in no block that the nodes still hold",
	} {
		_, step := decides(sees(tx.FateDisplaced, 5, func(g *tx.Sighting) { g.Hash = hash }))(txn(tx.PhaseWatching,
			try(tx.Sent)))
		var all []string
		if e := step.Txn.Attempts[0].Error; e != nil {
			all = append(all, e.Message)
		}
		if step.Txn.Error != nil {
			all = append(all, step.Txn.Error.Message)
		}
		if step.Aside.Rest != nil {
			all = append(all, step.Aside.Rest.Detail)
		}
		if len(all) < 2 {
			t.Fatalf("said of the stranger %q: %q", hash, all)
		}
		for _, said := range all {
			if !strings.Contains(said, want) {
				t.Errorf("of the stranger %q it is said: %q", hash, said)
			}
		}
	}
}
