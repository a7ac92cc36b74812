package lifecycle

import (
	"fmt"
	"slices"
)

// Ask says what a person's order makes of a transaction as it is stored. Errors:
// ErrNotCancellable, ErrNotRetryable, ErrMightStillLand, ErrFollowed, ErrNotExpired.
func Ask(v *View, o Order) (Step, error) {
	t := v.Txn
	refuse := func(why error) (Step, error) {
		if t.Phase.Final() && t.Open() {
			why = ErrMightStillLand
		}
		return Step{}, fmt.Errorf("transaction %s is %s: %w", t.UID, t.State(), why)
	}
	var s Step
	switch o.What {
	case OrderCancel:
		if t.Phase.Final() {
			return refuse(ErrNotCancellable)
		}
		s = v.cancel()
	case OrderRetry:
		again := t.Ledger != "" && v.Batch.Known && v.Batch.Idempotent // which takes it as the same
		if t.Phase != PhaseFailed && t.Phase != PhaseUnresolved || t.Open() && !again || v.expired() {
			return refuse(ErrNotRetryable)
		}
		s = v.with(func(t *Transaction) {
			if a := t.FirstOpen(); a != nil {
				a.letGo(v.Now)
			}
			clearEnd(t)
			t.Retries = 0
		}).back(ReasonOrdered)
	case OrderExpire:
		if t.Phase != PhaseWaiting || t.Open() || !v.expired() || t.Ending == PhaseDone {
			return Step{}, fmt.Errorf("transaction %s is %s: %w", t.UID, t.State(), ErrNotExpired)
		}
		s = v.overdue()
	case OrderLanded, OrderDead:
		if !t.Open() || t.Phase != PhaseUnresolved && t.Phase != PhaseWatching {
			return Step{}, fmt.Errorf("transaction %s is %s and has no attempt of unknown outcome: %w",
				t.UID, t.State(), ErrNotRetryable)
		}
		s = v.lookBack(v.dead())
		switch {
		case o.What == OrderLanded && t.Ledger != "":
			s = v.committed(ReasonOrdered)
			if t.Phase == PhaseUnresolved {
				s.Aside.Code = CodeLate
			}
		case o.What == OrderLanded:
			s = v.ordered(o.Hash)
		}
		s.Aside.ForgetNonce, s.Aside.DropBytes = t.Ledger == "", t.Ledger == ""
	}
	if s.Txn != nil && t.Phase.Bound() && !s.Txn.Phase.Bound() && s.Txn.Landed == 0 && len(v.Train.Behind) > 0 {
		return refuse(ErrFollowed)
	}
	if s.Aside.Person = true; s.Txn != nil && s.Txn.Phase == t.Phase && s.Aside.Code == "" { // else its states say it
		s.Aside.Code = map[OrderKind]string{OrderCancel: CodeToCancel, OrderDead: CodeResolved}[o.What]
	}
	return s, nil
}

// cancel ends what has nothing open and is in no worker's hands; else it is remembered,
// and no further attempt is made.
func (v *View) cancel() Step {
	switch v.Txn.Phase {
	case PhaseWaiting, PhaseFailing, PhaseDelayed:
		if !v.Txn.Open() && v.Txn.shallow() == nil && len(v.Train.Behind) == 0 && v.Txn.Ending != PhaseDone {
			return v.cancelled()
		}
	}
	return v.with(func(t *Transaction) { t.CancelRequested = true }).to(v.Txn.Phase, ReasonOrdered)
}

// ordered: a person says that it landed.
func (v *View) ordered(hash string) Step {
	g := Sighting{Hash: hash}
	a := attemptOf(v.Txn, &g)
	late := v.Txn.Phase == PhaseUnresolved
	s := v.with(func(t *Transaction) {
		for i := range t.Attempts {
			switch b := &t.Attempts[i]; {
			case b.Number == a.Number:
				b.become(Included, v.Now)
				if b.Hash != hash {
					b.NodeHash = hash
				}
			case b.Open():
				b.become(Replaced, v.Now)
			}
		}
		t.deepen()
		t.Landed = a.Number
		t.Done = fmt.Appendf(nil, `{"blockHeight":null,"stateHash":null,"hash":%q}`, hash)
	}).end(PhaseDone, ReasonOrdered)
	s.Txn.FinalAt = v.Now // a person has the last word
	if late {
		s.Aside.Code = CodeLate
	}
	return s
}

// dead: a person says that nothing of it will land.
func (v *View) dead() Step {
	u := v.with(func(t *Transaction) {
		for i := range t.Attempts {
			switch a := &t.Attempts[i]; {
			case a.Open():
				a.become(Expired, v.Now)
			case a.Pending():
				a.become(Dropped, v.Now)
			}
		}
	})
	if u.Txn.Phase == PhaseUnresolved {
		return u.to(PhaseUnresolved, ReasonOrdered)
	}
	return u.closed(ReasonOrdered)
}

// stood is what t was DONE by before another command of it was found, nil if it was not.
func (t *Transaction) stood() *Attempt {
	return t.Attempt(1 + slices.IndexFunc(t.Attempts, func(a Attempt) bool { return a.State == Included }))
}

// closed goes on where nothing is open any more, and nothing has landed.
func (v *View) closed(why Reason) Step {
	switch {
	case v.Txn.Ending != PhaseDone && v.Txn.Ending != PhaseUnresolved && !v.Txn.CancelRequested && v.expired():
		return v.overdue()
	case v.Txn.Ending == PhaseDone && v.Txn.stood() != nil:
		a := v.Txn.stood()
		s := v.with(func(t *Transaction) { t.Landed, t.Reopened = a.Number, true }).end(PhaseDone, why)
		s.Aside.LandedWith = &a.Nonce
		return s
	case v.Txn.Ending != "" && v.Txn.Ending != PhaseWaiting:
		return v.end(v.Txn.Ending, why)
	case v.Txn.CancelRequested:
		return v.cancelled()
	case v.Txn.Ending != "":
		s := v.back(why)
		s.Txn.Ending = ""
		return s
	}
	return v.to(PhaseFailing, why)
}
