package lifecycle

// sendTold: the nodes have answered. A refusal counts only if every node refused, in
// Mina's own words, bytes that had not been sent before, and none shows them since: then
// they are nowhere, and another sender or nonce may follow. Of bytes that may have been
// sent earlier it is no proof, for a node also refuses what is in a block already.
func (v *View) sendTold(r SendTold) Step {
	t := v.Txn
	// Whoever has had the claim meanwhile may have sent them, too.
	r.Call.Fresh = r.Call.Fresh && v.Local.Unsent == r.Call.Number
	s := v.wait(ReasonSent)
	s.Local.SentAt = v.Clock
	before := s.Local.Asked.Bytes
	s.Local.Asked.Bytes = nil
	if r.Call.Fresh {
		s.Local.Unsent = 0
		if s.Local.FirstHeight == 0 {
			s.Local.FirstSent, s.Local.FirstHeight = v.Clock, v.Tip.Height
		}
	} else {
		s.Local.Resent++
	}
	a := t.Attempt(r.Call.Number)
	if a == nil || !a.Open() && a.Number != t.Landed {
		return s
	}
	u := *v
	u.Local = s.Local
	if r.Refusal != nil && !r.Refusal.Seen {
		return u.refused(a, r, before)
	}
	said := Said{Number: a.Number, Slot: r.Slot, State: a.State, Error: r.Error}
	switch {
	case r.Accepted:
		said.State, said.NodeHash = Sent, r.Hash
	case r.Lost:
		said.State = Unknown // only the chain can tell
	}
	news := r.Hash != "" && a.NodeHash == "" && r.Hash != a.Hash
	if t.Phase == PhaseSent && !news {
		if known := s.Local.Said; known.Number != a.Number || known.State != Sent {
			s.Local.Said = said // else a node has it, whatever another sending was answered
		}
		return s
	}
	stops := causeOf(r.Error) == CauseNetwork && !a.stalled()
	heard := r.Accepted && a.State == Unknown
	if !r.Call.Fresh && !news && !stops && !heard {
		return s
	}
	w := u.to(t.Phase, ReasonSent)
	w.Local.Said = said
	w.noteSaid()
	return w
}

// refused: every node turned the bytes down. before are those that were kept until
// then.
func (v *View) refused(a *Attempt, r SendTold, before *BytesRead) Step {
	t, e := v.Txn, &r.Refusal.Error
	if t.Phase != PhaseSent {
		if r.Call.Fresh && t.Phase == PhaseWatching && v.nowhere(a) {
			return v.raiseRefused(a, e, before)
		}
		climbs := v.mayRaise() && t.tried() < v.feeMax() && !v.Local.Costly.After(v.Clock)
		if r.Refusal.Cheap && climbs && !t.Last().Pending() {
			return v.raise(true) // it will not do at this fee: the next rung of the ladder
		}
		return v.wait(ReasonSent)
	}
	u := v.with(func(t *Transaction) {
		a := t.Attempt(a.Number)
		a.blame(causeOf(e), e)
		t.Error = e
		a.SentSlot = max(a.SentSlot, r.Slot)
		if r.Call.Fresh && v.nowhere(a) {
			a.become(Refused, v.Now)
		} else {
			a.become(Unknown, v.Now) // it stays open, and whatever follows takes the same nonce
		}
	})
	u.Local.Asked, u.Local.Said = Asked{}, Said{}
	rest := r.Refusal.rest()
	if rest != nil && !u.Txn.Open() {
		return u.deferred(deferral{Error: *e, Why: rest.Why, Rest: rest.For}) // no fault of its own
	}
	s := u.erred(r.Refusal.Permanent)
	if s.Txn.Phase == PhaseFailing && e.Code == codeLeastFee && a.Fee >= u.feeMax() {
		s = u.usedUp() // no try pays more, and no node takes less
	}
	s.Aside.Rest = rest
	return s
}

// rest is that of the sender, nil if nothing is proved against it.
func (r *Refusal) rest() *Rest {
	switch {
	case !r.Payers:
		return nil
	case r.Broke:
		return &Rest{For: stopRest, Why: LowBalance, Detail: r.Message}
	}
	return &Rest{For: stopRest, Why: Rested, Detail: r.Message}
}

// nowhere reports whether a, which every node has refused, may be given up: no node shows
// it while one that had taken it would, or another one that is open keeps its nonce.
func (v *View) nowhere(a *Attempt) bool {
	for i := range v.Txn.Attempts {
		if o := &v.Txn.Attempts[i]; o.Open() && o.Number != a.Number {
			return true
		}
	}
	return v.unspent(a) && v.Sighting.TipSlot < a.ValidUntil
}
