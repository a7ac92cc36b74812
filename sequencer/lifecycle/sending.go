package lifecycle

import (
	"mina-sequencer/sequencer/fees"

	"mina-sequencer/sequencer/tx"
)

// learn: the nodes have answered. A refusal counts only if every node refused, in
// Mina's own words, bytes that had not been sent before, and none shows them since: then
// they are nowhere, and another sender or nonce may follow. Of bytes that may have been
// sent earlier it is no proof, for a node also refuses what is in a block already.
func (r SendTold) learn(v *View) Step {
	t := v.Txn
	// Whoever has had the claim meanwhile may have sent them, too.
	r.Call.Fresh = r.Call.Fresh && v.Local.Unsent == r.Call.Number
	s := v.hasSent(r.Call.Fresh)
	a := t.Attempt(r.Call.Number)
	if a == nil || !t.LandsBy(a) {
		return s
	}
	u := *v
	u.Local = s.Local
	switch {
	case r.Refusal != nil && !r.Refusal.Seen:
		return u.refused(a, r, v.Local.Asked.Bytes)
	case t.Phase == tx.PhaseSent && !r.names(a): // it is stored with the first look at the chain
		if known := s.Local.Said; known.Number != a.Number || known.State != tx.Sent {
			s.Local.Said = r.saidOf(a) // else a node has it, whatever another sending was answered
		}
		return s
	case !r.news(a):
		return s
	}
	w := u.to(t.Phase, ReasonSent)
	w.Local.Said = r.saidOf(a)
	w.noteSaid()
	return w
}

// news reports whether what was said of a is stored at once.
func (r *SendTold) news(a *tx.Attempt) bool {
	stopped := tx.CauseOf(r.Error) == tx.CauseNetwork && !a.Stalled()
	return r.Call.Fresh || r.names(a) || r.Accepted && a.State == tx.Unknown || stopped
}

// hasSent notes that bytes have been given to the nodes; fresh: for the first time.
func (v *View) hasSent(fresh bool) Step {
	s := v.wait(ReasonSent)
	l := &s.Local
	l.SentAt, l.Asked.Bytes = v.Clock, nil
	if !fresh {
		l.Resent++
		return s
	}
	l.Unsent = 0
	if l.FirstHeight == 0 {
		l.FirstSent, l.FirstHeight = v.Clock, v.Tip.Height
	}
	return s
}

// names reports whether the nodes call a by a hash that is news.
func (r *SendTold) names(a *tx.Attempt) bool {
	return r.Hash != "" && a.NodeHash == "" && r.Hash != a.Hash
}

// saidOf is what the nodes have said of a.
func (r *SendTold) saidOf(a *tx.Attempt) Said {
	said := Said{Number: a.Number, Slot: r.Slot, State: a.State, Error: r.Error}
	switch {
	case r.Accepted:
		said.State, said.NodeHash = tx.Sent, r.Hash
	case r.Lost:
		said.State = tx.Unknown // only the chain can tell
	}
	return said
}

// refused: every node turned the bytes down. before are those that were kept until
// then.
func (v *View) refused(a *tx.Attempt, r SendTold, before *BytesRead) Step {
	t, e := v.Txn, &r.Refusal.Error
	nowhere := r.Call.Fresh && v.nowhere(a)
	switch {
	case t.Phase == tx.PhaseSent:
	case t.Phase == tx.PhaseWatching && nowhere:
		return v.raiseRefused(a, e, before)
	case r.Refusal.Cheap && v.climbs():
		return v.raise(true) // it will not do at this fee: the next rung of the ladder
	default:
		return v.wait(ReasonSent)
	}
	as := tx.Unknown // it stays open, and whatever follows takes the same nonce
	if nowhere {
		as = tx.Refused
	}
	u := v.with(func(t *tx.Transaction) {
		a := t.Attempt(a.Number)
		a.Blame(tx.CauseOf(e), e)
		t.Error = e
		a.SentSlot = max(a.SentSlot, r.Slot)
		a.Become(as, v.Now)
	})
	u.Local.Asked, u.Local.Said = Asked{}, Said{}
	rest := r.Refusal.rest()
	if rest != nil && !u.Txn.Open() {
		return u.deferred(deferral{Error: *e, Why: rest.Why, Rest: rest.For}) // no fault of its own
	}
	s := u.erred(r.Refusal.Permanent)
	if s.Txn.Phase == tx.PhaseFailing && e.Code == fees.CodeTooLow && a.Fee >= u.feeMax() {
		s = u.usedUp() // no try pays more, and no node takes less
	}
	s.Aside.Rest = rest
	return s
}

// climbs reports whether what is open may be offered at a higher fee now.
func (v *View) climbs() bool {
	t := v.Txn
	return v.mayRaise() && feeTried(t) < v.feeMax() && !v.Local.Costly.After(v.Clock) && !t.Last().Pending()
}

// rest is that of the sender, nil if nothing is proved against it.
func (r *Refusal) rest() *Rest {
	switch {
	case !r.Payers:
		return nil
	case r.Broke:
		return &Rest{For: accountRest, Why: tx.LowBalance, Detail: r.Message}
	}
	return &Rest{For: accountRest, Why: tx.Rested, Detail: r.Message}
}

// nowhere reports whether a, which every node has refused, may be given up: no node shows
// it while one that had taken it would, or another one that is open keeps its nonce.
func (v *View) nowhere(a *tx.Attempt) bool {
	kept := v.Txn.Find(func(o *tx.Attempt) bool { return o.Open() && o.Number != a.Number }) != nil
	return kept || v.unspent(a) && v.Sighting.TipSlot < a.ValidUntil
}
