package lifecycle

import (
	"reflect"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Moves are what follows of a change of a record for all that stands beside it. The
// store applies them in the write that stores the record; it decides nothing itself.
type Moves struct {
	Attempt int // that the event names, 0 for none
	// Keep holds on to the claim although no sender is bound.
	Keep bool
	// Confirm: by this write something may leave the process, or a sender is stopped for its
	// next nonce, which is the store's word. It is refused while the namespace is not settled,
	// and waits for the replicas. What is open is judged by its own nonce, and the namespace
	// may wait for its end. InOrder refuses what leaves, too, if an earlier transaction of the
	// queue waits again.
	Confirm, InOrder bool
	// Trusts: a person says so, or t ends by no block. It is refused where the store may have
	// forgotten what is out.
	Trusts bool
	// Last: it is refused while others are in flight behind it.
	Last bool
	// Tell is a callback that became due; the queue waits CallbackWait for its answer.
	Tell tx.Callback
	// Stands, of an account: the nonce with which the transaction stands on the chain as
	// long as it can be orphaned. Falls is the account of which it stands no longer.
	Stands string
	Nonce  uint32
	Falls  string
	// Remove is when the record is removed; Never keeps it.
	Remove time.Duration
}

// sure reports whether who drives t waits until the store is surely the one that it knows.
func (m *Moves) sure() bool { return m.Confirm || m.Trusts }

// Effects says what else moves when before becomes after.
func Effects(before, after *tx.Transaction, aside *Aside, p *Policy) Moves {
	m := Moves{
		Attempt: touched(before, after), Keep: after.Watched(), Remove: removedAfter(after, before, p),
		Last:    before.Phase.Bound() && endedUnlanded(after) && !aside.Slips,
		Confirm: aside.Rest != nil && aside.Rest.Why == tx.StoppedNonce && !before.Open(),
		Trusts:  aside.Person || after.Phase != before.Phase && endedByNoBlock(after),
	}
	if opens(before, after) {
		m.Confirm = m.Confirm || after.Phase.Bound() || after.Phase == tx.PhaseDone
		m.InOrder = after.Phase.Bound() && !before.Open() && after.FirstOpen().State != tx.Resurfaced
	}
	if after.Phase != before.Phase || before.Callback == "" {
		m.Tell = after.Callback
	}
	m.stand(before.Standing(), after.Standing(), aside.LandedWith)
	return m
}

// stand notes that the nonce of now is taken on the chain, or that of was is not any more.
func (m *Moves) stand(was, now *tx.Attempt, nonce *uint32) {
	switch {
	case now == nil && was != nil:
		m.Falls = was.Sender
	case now != nil && nonce != nil:
		m.Stands, m.Nonce = now.Sender, *nonce
	}
}

// endedUnlanded reports whether t is bound no more, and no block is why.
func endedUnlanded(t *tx.Transaction) bool {
	return !t.Phase.Bound() && (t.Phase != tx.PhaseDone || t.Landed == 0)
}

// removedAfter is when the record of t, which before has become, is removed; Never if that does not
// follow of this change.
func removedAfter(t *tx.Transaction, before *tx.Transaction, p *Policy) time.Duration {
	switch {
	case p.RetentionFailed > 0 && endedInVain(t) && !endedInVain(before):
		return p.RetentionFailed
	case t.Phase == tx.PhaseDone && !t.FinalAt.IsZero() && before.FinalAt.IsZero():
		return p.Retention
	}
	return Never
}

// endedInVain reports whether t has ended without effect, and nothing of it can land any more.
func endedInVain(t *tx.Transaction) bool {
	return (t.Phase == tx.PhaseFailed || t.Phase == tx.PhaseUnresolved) && !t.Open()
}

// endedByNoBlock reports whether t has ended, and by nothing that a chain or a ledger shows.
func endedByNoBlock(t *tx.Transaction) bool {
	return endedInVain(t) || t.Phase == tx.PhaseDone && t.Landed == 0
}

// opens reports whether an attempt is open in after that was not in before.
func opens(before, after *tx.Transaction) bool {
	return after.Find(func(a *tx.Attempt) bool {
		was := before.Attempt(a.Number)
		return a.Open() && (was == nil || !was.Open())
	}) != nil
}

// touched is the latest attempt that a change is about, 0 if there is none.
func touched(before, after *tx.Transaction) int {
	for i := len(after.Attempts) - 1; i >= 0; i-- {
		if i >= len(before.Attempts) || !reflect.DeepEqual(before.Attempts[i], after.Attempts[i]) {
			return i + 1
		}
	}
	return 0
}
