package audit

import (
	"fmt"

	"mina-sequencer/ledger"
	"mina-sequencer/sequencer/tx"
)

// batches compares what is for a ledger with what that says. A ledger that is not known
// here is not asked. One that is not idempotent forgets what it has committed.
func (p *pass) batches(name string, ts []*tx.Transaction) error {
	l := p.Ledgers[name]
	if l == nil {
		return nil
	}
	ids := make([]string, len(ts))
	for i, t := range ts {
		ids[i] = t.BatchID
	}
	found, err := l.Statuses(p.ctx, ids)
	if err != nil {
		return fmt.Errorf("asking ledger %s: %w", name, err)
	}
	for _, t := range ts {
		state := found[t.BatchID].State
		done := t.State() == tx.Done
		gone := state == ledger.Invalid || state == ledger.Pending || state == ledger.Unknown && l.Idempotent()
		switch {
		case done && gone && t.Landed > 0:
			p.bad("NOT_COMMITTED", t.UID, t.Queue, t.Sender, "it is DONE, and ledger %s says %s", name, state)
		case !done && state == ledger.Committed && !t.Phase.Bound():
			p.bad("UNTOLD_EFFECT", t.UID, t.Queue, t.Sender, "it is %s, and ledger %s says %s", t.State(), name, state)
		}
	}
	return nil
}
