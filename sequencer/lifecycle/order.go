package lifecycle

import (
	"fmt"
	"slices"
)

// Ask says what a person's order makes of a transaction as it is stored. Errors:
// ErrNotCancellable, ErrNotRetryable, ErrMightStillLand, ErrFollowed, ErrNotExpired.
func Ask(v *View, o Order) (Step, error) {
	t := v.Txn
	s, err := v.order(o)
	leaves := s.Txn != nil && t.Phase.Bound() && !s.Txn.Phase.Bound() && s.Txn.Landed == 0
	if err == nil && leaves && len(v.Train.Behind) > 0 {
		err = ErrFollowed
	}
	if err != nil {
		return Step{}, fmt.Errorf("transaction %s is %s: %w", t.UID, t.State(), err)
	}
	if s.Aside.Person = true; s.Txn != nil && s.Txn.Phase == t.Phase && s.Aside.Code == "" { // else its states say it
		s.Aside.Code = map[OrderKind]string{OrderCancel: CodeToCancel, OrderDead: CodeResolved}[o.What]
	}
	return s, nil
}

func (v *View) order(o Order) (Step, error) {
	switch o.What {
	case OrderCancel:
		if v.Txn.Phase.Final() {
			return Step{}, v.mayLandOr(ErrNotCancellable)
		}
		return v.cancel(), nil
	case OrderRetry:
		return v.again()
	case OrderExpire:
		if t := v.Txn; t.Phase != PhaseWaiting || t.Open() || !v.expired() || t.Ending == PhaseDone {
			return Step{}, ErrNotExpired
		}
		return v.overdue(), nil
	case OrderLanded, OrderDead:
		return v.resolve(o)
	}
	return Step{}, nil
}

// mayLandOr is ErrMightStillLand where that is why an order about what has ended is refused, else why.
func (v *View) mayLandOr(why error) error {
	if v.Txn.Phase.Final() && v.Txn.Open() {
		return ErrMightStillLand
	}
	return why
}

// again: a person has it tried anew.
func (v *View) again() (Step, error) {
	t := v.Txn
	same := t.Ledger != "" && v.Batch.Known && v.Batch.Idempotent // which takes it as the same
	if t.Phase != PhaseFailed && t.Phase != PhaseUnresolved || t.Open() && !same || v.expired() {
		return Step{}, v.mayLandOr(ErrNotRetryable)
	}
	return v.with(func(t *Transaction) {
		if a := t.FirstOpen(); a != nil {
			a.letGo(v.Now)
		}
		clearEnd(t)
		t.Retries = 0
	}).back(ReasonOrdered), nil
}

// resolve: a person says what became of an attempt of which nobody knows.
func (v *View) resolve(o Order) (s Step, err error) {
	t := v.Txn
	if !t.Open() || t.Phase != PhaseUnresolved && t.Phase != PhaseWatching {
		return s, fmt.Errorf("no attempt of it has an unknown outcome: %w", ErrNotRetryable)
	}
	if t.Ledger != "" && o.What == OrderLanded {
		s = v.committed(ReasonOrdered)
		if t.Phase == PhaseUnresolved {
			s.Aside.Code = CodeLate
		}
		return s, nil
	}
	if s = v.lookBack(v.dead()); o.What == OrderLanded {
		s = v.ordered(o.Hash)
	}
	s.Aside.ForgetNonce, s.Aside.DropBytes = t.Ledger == "", t.Ledger == ""
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
	u := v.with(func(t *Transaction) { t.close(v.Now, func(a *Attempt) { a.become(Expired, v.Now) }) })
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
