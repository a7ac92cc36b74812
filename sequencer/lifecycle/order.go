package lifecycle

import (
	"fmt"

	"mina-sequencer/sequencer/tx"
)

// Ask says what a person's order makes of a transaction as it is stored. Errors:
// ErrNotCancellable, ErrNotRetryable, ErrMightStillLand, ErrFollowed, ErrNotExpired.
func Ask(v *View, o tx.Order) (Step, error) {
	t := v.Txn
	s, err := v.order(o)
	if err == nil && v.leaves(&s) && s.Txn.Landed == 0 && len(v.Train.Behind) > 0 {
		err = tx.ErrFollowed
	}
	if err != nil {
		return Step{}, fmt.Errorf("transaction %s is %s: %w", t.UID, t.State(), err)
	}
	if s.Aside.Person = true; s.Txn != nil && s.Txn.Phase == t.Phase && s.Aside.Code == "" { // else its states say it
		s.Aside.Code = map[tx.OrderKind]string{tx.OrderCancel: tx.CodeToCancel, tx.OrderDead: tx.CodeResolved}[o.What]
	}
	return s, nil
}

func (v *View) order(o tx.Order) (Step, error) {
	switch o.What {
	case tx.OrderCancel:
		if v.Txn.Phase.Final() {
			return Step{}, v.mayLandOr(tx.ErrNotCancellable)
		}
		return v.cancel(), nil
	case tx.OrderRetry:
		return v.again()
	case tx.OrderExpire:
		if t := v.Txn; t.Phase != tx.PhaseWaiting || t.Open() || !v.Expired() || t.Ending == tx.PhaseDone {
			return Step{}, tx.ErrNotExpired
		}
		return v.overdue(), nil
	case tx.OrderLanded, tx.OrderDead:
		return v.resolve(o)
	}
	return Step{}, nil
}

// mayLandOr is ErrMightStillLand where that is why an order about what has ended is refused, else why.
func (v *View) mayLandOr(why error) error {
	if v.Txn.Phase.Final() && v.Txn.Open() {
		return tx.ErrMightStillLand
	}
	return why
}

// again: a person has it tried anew.
func (v *View) again() (Step, error) {
	t := v.Txn
	same := t.Ledger != "" && v.Batch.Known && v.Batch.Idempotent // which takes it as the same
	if t.Phase != tx.PhaseFailed && t.Phase != tx.PhaseUnresolved || t.Open() && !same || v.Expired() {
		return Step{}, v.mayLandOr(tx.ErrNotRetryable)
	}
	return v.with(func(t *tx.Transaction) {
		if a := t.FirstOpen(); a != nil {
			a.LetGo(v.Now)
		}
		clearEnd(t)
		t.Retries = 0
	}).back(ReasonOrdered), nil
}

// resolve: a person says what became of an attempt of which nobody knows.
func (v *View) resolve(o tx.Order) (s Step, err error) {
	t := v.Txn
	if !t.Open() || t.Phase != tx.PhaseUnresolved && t.Phase != tx.PhaseWatching {
		return s, fmt.Errorf("no attempt of it has an unknown outcome: %w", tx.ErrNotRetryable)
	}
	if t.Ledger != "" && o.What == tx.OrderLanded {
		s = v.committed(ReasonOrdered)
		if t.Phase == tx.PhaseUnresolved {
			s.Aside.Code = tx.CodeLate
		}
		return s, nil
	}
	if s = v.lookBack(v.dead()); o.What == tx.OrderLanded {
		s = v.ordered(o.Hash)
	}
	s.Aside.ForgetNonce, s.Aside.DropBytes = t.Ledger == "", t.Ledger == ""
	return s, nil
}

// cancel ends what has nothing open and is in no worker's hands; else it is remembered,
// and no further attempt is made.
func (v *View) cancel() Step {
	switch v.Txn.Phase {
	case tx.PhaseWaiting, tx.PhaseFailing, tx.PhaseDelayed:
		if !v.Txn.MayLand() && len(v.Train.Behind) == 0 && v.Txn.Ending != tx.PhaseDone {
			return v.cancelled()
		}
	}
	return v.with(func(t *tx.Transaction) { t.CancelRequested = true }).to(v.Txn.Phase, ReasonOrdered)
}

// ordered: a person says that it landed.
func (v *View) ordered(hash string) Step {
	g := tx.Sighting{Hash: hash}
	a := attemptOf(v.Txn, &g)
	late := v.Txn.Phase == tx.PhaseUnresolved
	s := v.with(func(t *tx.Transaction) {
		for other := range t.AllOpen() {
			other.Become(tx.Replaced, v.Now)
		}
		in := t.Attempt(a.Number)
		if in.Become(tx.Included, v.Now); in.Hash != hash {
			in.NodeHash = hash
		}
		deepen(t)
		t.Landed = a.Number
		t.Done = fmt.Appendf(nil, `{"blockHeight":null,"stateHash":null,"hash":%q}`, hash)
	}).end(tx.PhaseDone, ReasonOrdered)
	s.Txn.FinalAt = v.Now // a person has the last word
	if late {
		s.Aside.Code = tx.CodeLate
	}
	return s
}

// dead: a person says that nothing of it will land.
func (v *View) dead() Step {
	u := v.with(func(t *tx.Transaction) { closeAll(t, v.Now, func(a *tx.Attempt) { a.Become(tx.Expired, v.Now) }) })
	if u.Txn.Phase == tx.PhaseUnresolved {
		return u.to(tx.PhaseUnresolved, ReasonOrdered)
	}
	return u.closed(ReasonOrdered)
}

// hasStood is what t was DONE by before another command of it was found, nil if it was not.
func hasStood(t *tx.Transaction) *tx.Attempt {
	return t.Find(func(a *tx.Attempt) bool { return a.State == tx.Included })
}

// closed goes on where nothing is open any more, and nothing has landed.
func (v *View) closed(why Reason) Step {
	switch {
	case v.Txn.Ending != tx.PhaseDone && v.Txn.Ending != tx.PhaseUnresolved && !v.Txn.CancelRequested && v.Expired():
		return v.overdue()
	case v.Txn.Ending == tx.PhaseDone && hasStood(v.Txn) != nil:
		a := hasStood(v.Txn)
		s := v.with(func(t *tx.Transaction) { t.Landed, t.Reopened = a.Number, true }).end(tx.PhaseDone, why)
		s.Aside.LandedWith = &a.Nonce
		return s
	case v.Txn.Ending != "" && v.Txn.Ending != tx.PhaseWaiting:
		return v.end(v.Txn.Ending, why)
	case v.Txn.CancelRequested:
		return v.cancelled()
	case v.Txn.Ending != "":
		s := v.back(why)
		s.Txn.Ending = ""
		return s
	}
	return v.to(tx.PhaseFailing, why)
}
