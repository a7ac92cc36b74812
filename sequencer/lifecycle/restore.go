package lifecycle

import "time"

// A Command is one that was found on the chain or in a pool, and is of a transaction
// although its record does not say so.
type Command struct {
	Payer      string
	Nonce      uint32
	Fee        uint64
	ValidUntil uint32
	Hash       string
	Slot       uint32 // it can have been included in none before
}

// Found is t with a command among its attempts. As a new nonce is only ever taken when
// all earlier attempts are settled, those at other nonces are.
func Found(t *Transaction, c Command, now time.Time) *Transaction {
	u := t.Clone()
	u.DueAt = time.Time{}
	for i := range u.Attempts {
		a := &u.Attempts[i]
		switch {
		case a.Sender == c.Payer && a.Nonce == c.Nonce && a.Fee == c.Fee && a.Pending():
			a.Outcome, a.NodeHash = Signed, c.Hash
			return u
		case a.Sender == c.Payer && a.Nonce == c.Nonce:
		case a.Open():
			a.Outcome, a.EndedAt = Replaced, now
		}
		if a.Pending() {
			a.EndedAt = now
		}
	}
	u.Attempts = append(u.Attempts, Attempt{
		Number: len(u.Attempts) + 1, Sender: c.Payer, Nonce: c.Nonce, Fee: c.Fee, ValidUntil: c.ValidUntil, Slot: c.Slot,
		NodeHash: c.Hash, Outcome: Signed, StartedAt: now,
	})
	return u
}
