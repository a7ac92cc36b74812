package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Learn says what a result makes of what is stored, and of what this process knows. It
// is a pure function. A result that is learnt twice, or that comes too late, changes
// nothing.
func Learn(v *View, r Result) Step { return v.keepInTrain(v.slipping(v.lookBack(r.learn(v)))) }

// noted notes the answer to a question.
func (v *View) noted(note func(asked *Asked)) Step {
	s := v.wait(ReasonUnchanged)
	note(&s.Local.Asked)
	return s
}

func (r SenderTold) learn(v *View) Step {
	return v.noted(func(asked *Asked) {
		asked.Sender, asked.Overtaken, asked.Among = &r.Sender, r.Overtaken, r.Call.Among || v.Train.moves()
	})
}

func (r RetriesTold) learn(v *View) Step {
	if r.Elsewhere && v.unwatched() && !v.Stops() {
		s := v.back(ReasonBack)
		s.Txn.Ending = tx.PhaseFailing // it is weighed where it is bound next
		return s
	}
	limit := v.Policy.MaxRetries
	if r.Known {
		limit = r.Limit
	}
	return v.noted(func(asked *Asked) { asked.Retries = &limit })
}

func (r AccountTold) learn(v *View) Step { return v.noted(func(asked *Asked) { asked.Account = &r }) }
func (r LandedTold) learn(v *View) Step  { return v.noted(func(asked *Asked) { asked.Landed = &r }) }
func (r BytesRead) learn(v *View) Step   { return v.noted(func(asked *Asked) { asked.Bytes = &r }) }
func (r ChainTold) learn(v *View) Step   { return v.wait(ReasonUnchanged) }

func (r ConfirmTold) learn(v *View) Step {
	s := v.wait(ReasonUnchanged)
	s.Local.Confirmed = r.Number
	return s
}

// unwatched reports whether it is weighed, and the chain and its train have nothing to say of it.
func (v *View) unwatched() bool {
	t := v.Txn
	return t.Phase == tx.PhaseFailing && !t.MayLand() && v.Train.alone()
}

// learn: the sender of a wrong worker rests, the longer the more often it is found
// so: who puts it right need not tell anybody.
func (h HealthTold) learn(v *View) Step {
	s := v.wait(ReasonPlanning)
	if v.Local.Asked.Sender == nil || v.Txn.Phase != tx.PhaseDispatching {
		return s
	}
	if h.Why == "" {
		sender := *v.Local.Asked.Sender
		sender.Greeted = true
		s.Local.Asked.Sender = &sender
		return s
	}
	rest := max(v.Policy.retryDelay(h.Wrong, v.Jitter), time.Second)
	return v.deferred(deferral{Error: tx.Error{Code: string(h.Why), Message: h.Detail}, Why: h.Why, Rest: rest})
}

// learn: a worker's call has ended.
func (r Answer) learn(v *View) Step {
	a := v.Txn.Last()
	if !r.answers(a) || a.Legacy && v.Txn.Phase == tx.PhaseWatching { // put back while it went on, and only watched
		return v.late(r)
	}
	switch v.Txn.Phase {
	case tx.PhaseDispatching:
	case tx.PhaseWatching:
		return v.raiseAnswered(r)
	default:
		return v.wait(ReasonUnchanged)
	}
	if spoken[r.Fault] && r.Call.Kind != Build { // what is built says nothing of its proof
		v = v.with(func(t *tx.Transaction) { t.Losses = 0 })
		if r.Call.Kind == Resign && r.Fault != NoFault {
			r.Fault = FaultNoCall // it is proved anew
		}
	}
	return v.heard(r)
}

// answers reports whether r is of a call of a, which nothing has answered yet.
func (r *Answer) answers(a *tx.Attempt) bool {
	if a == nil || a.Number != r.Call.Number || a.Sender != r.Sender || a.Nonce != r.Nonce {
		return false
	}
	if r.Call.Kind == Dispatch {
		return a.State == tx.Called
	}
	return a.Pending()
}

// spoken are the faults that a worker answers with: busy and not reached are no answers.
var spoken = map[Fault]bool{NoFault: true, FaultError: true, FaultHopeless: true}

// heard is what a worker's answer, or that there is none, comes to.
func (v *View) heard(r Answer) Step {
	switch r.Fault {
	case NoFault:
		return v.made(r)
	case FaultGone:
		return v.unbuilt(r)
	case FaultNoCall:
		return v.noCall(r)
	case FaultWorking:
		if v.Now.Before(v.Txn.Last().StartedAt.Add(v.Policy.DispatchTimeout)) {
			return v.wait(ReasonProving)
		}
	case FaultBusy:
		return v.away(r, max(r.RetryAfter, time.Second))
	case FaultUnreached, FaultOutOfOrder:
		return v.away(r, 0)
	case FaultSpent:
		return v.deferred(deferral{Error: *r.Error, Why: tx.Rested, Rest: max(r.RetryAfter, time.Second)})
	case FaultHopeless:
		return v.hopeless(r)
	case FaultError:
		if !r.Refused {
			return v.failed(r.Error, false)
		}
		if v.unspent(v.Txn.Last()) {
			s := v.failed(r.Error, false)
			s.Txn.Last().Become(tx.Refused, v.Now)
			s.Txn.Last().Cause = tx.CauseOf(r.Error)
			return s
		}
	}
	return v.lose(r.Error, r.Hash)
}

// noCall: the worker has no such call.
func (v *View) noCall(r Answer) Step {
	s := v.wait(ReasonProving)
	switch {
	case r.Call.Kind == Build:
		s.Local.NoBuild = true
	case r.Call.Kind == Resign:
		s.Local.NoResign = true
	case r.Proves:
		return v.failed(&tx.Error{Code: tx.CodeNotServed, Message: "the worker of sender " + r.Sender +
			" makes proofs, and none of type " + v.Txn.Type + ": add it, or have another sender's worker serve it"}, false)
	default:
		s.Local.Legacy = true
	}
	return s
}

// unspent reports whether every synced node has the nonce of a unspent and nothing of
// ours pooled at it.
func (v *View) unspent(a *tx.Attempt) bool {
	g := &v.Sighting
	return g.Agreed && (g.Fate == tx.FateAbsent || g.Fate == tx.FateExpired) && g.AccountNext <= a.Nonce
}

// made: the worker has done what it was asked for.
func (v *View) made(r Answer) Step {
	switch {
	case r.Call.Kind == Dispatch && r.Hash != "":
		return v.dispatched(r)
	case r.Done != nil:
		return v.finished(r)
	case r.Call.Kind == Build:
		return v.built(r)
	case r.Call.Kind != Dispatch && r.Signed != nil:
		return v.signed(r)
	}
	return v.failed(&tx.Error{Code: tx.CodeMismatch,
		Message: "the worker answered neither a transaction nor that it is done"}, false)
}

// signed: the bytes are stored before one of them leaves. From here on the attempt is
// open.
func (v *View) signed(r Answer) Step {
	if v.Stops() && !v.Txn.Open() {
		return v.stopped()
	}
	unplaced := v.Txn.Last().State == tx.Unplaced
	if v.unsentBehind() {
		if s, turned := v.signedBehind(r, unplaced); turned {
			return s
		}
	}
	if unplaced {
		return v.provedAhead(r)
	}
	if s, again := v.reprice(r); again {
		return s
	}
	if was := v.unsent(v.Txn.Last()); was != nil && r.Call.Kind == Resign && r.Data == nil {
		r.Data = was.Data // it is the same proof
	}
	u := v.with(func(t *tx.Transaction) {
		sign(t.Last(), r)
		t.Deferred = 0
		t.SubmittedAt = cmp.Or(t.SubmittedAt, v.Now)
	})
	s := u.to(tx.PhaseSent, ReasonAnswered)
	s.sign(r)
	s.Local.SentAt, s.Local.Resent, s.Local.Asked = time.Time{}, 0, Asked{}
	return s
}

// signedBehind has what was signed behind others of its queue go back, or keep its proof, where it
// cannot follow them as it is.
func (v *View) signedBehind(r Answer, unplaced bool) (s Step, turned bool) {
	switch {
	case v.lost() && !unplaced:
		return v.yields(nil), true // what it was made on will not come
	case r.Alone != "":
		return v.yields(&tx.Error{Code: tx.CodeAlone, Message: "made behind others of its queue in flight, it " + r.Alone +
			"; it is made anew when they have landed, and its type should go alone"}), true
	case !unplaced && !v.follow(v.Txn.Last().Nonce):
		return v.provedAhead(r), true
	}
	return s, false
}

func sign(a *tx.Attempt, r Answer) {
	a.State, a.Data, a.Hash, a.Weight, a.Alone = tx.Signed, r.Data, r.Hash, r.Weight, r.Alone != ""
	a.Touched, a.Effects = r.Touched, r.Effects
}

// sign keeps the bytes, of which this process knows that nobody has them.
func (s *Step) sign(r Answer) {
	s.Aside.Bytes = &BytesRead{Number: r.Call.Number, Command: r.Signed}
	s.Local.Unsent, s.Local.Confirmed = r.Call.Number, r.Call.Number
	s.Local.Said = Said{}
}

// finished: the worker says that there is nothing to send. What is open may still land,
// and holds its sender's nonce.
func (v *View) finished(r Answer) Step {
	if v.unsentBehind() {
		return v.yields(nil) // those ahead may not come to what it was told of
	}
	u := v.with(func(t *tx.Transaction) {
		a := t.Last()
		a.Data = r.Data
		a.Become(tx.Dropped, v.Now)
		t.Done, t.Deferred = r.Done, 0
	})
	if u.Txn.Open() {
		s := u.to(tx.PhaseWatching, ReasonAnswered)
		s.Txn.Ending = tx.PhaseDone
		return s
	}
	return u.end(tx.PhaseDone, ReasonAnswered)
}

// hopeless: a worker says that no retry can mend it. Where as many of its sender ended UNRESOLVED
// in a row as pause a queue, the fault may be the worker's: another sender's worker is asked, and
// the first rests meanwhile, the longer the more often. If the other one says the same it is the
// transaction's fault, and nothing is held against either of them.
func (v *View) hopeless(r Answer) Step {
	t, limit := v.Txn, v.Policy.UnresolvedLimit
	s := v.failed(r.Error, true)
	switch {
	case s.Txn.Phase != tx.PhaseUnresolved:
	case t.Doubted != "" && t.Doubted != r.Sender:
		s.Aside.Absolved = t.Doubted
	case limit > 0 && r.Ill >= limit && r.Others:
		u := v.with(func(t *tx.Transaction) {
			t.Last().Drop(tx.CauseError, r.Error, v.Now)
			t.Doubted = r.Sender
		})
		s = u.deferred(deferral{Error: *r.Error, Why: tx.Rested, Rest: v.Policy.Pause(r.Ill - limit), By: ByDoubt})
		s.Aside.Rest.Detail = fmt.Sprintf("its worker calls %d transactions in a row hopeless; "+
			"another sender is asked about %s", r.Ill+1, t.UID)
	}
	return s
}

// failed ends the latest attempt, of which nothing is out, with an error.
func (v *View) failed(e *tx.Error, hopeless bool) Step {
	u := v.with(func(t *tx.Transaction) {
		t.Last().Drop(tx.CauseError, e, v.Now)
		t.Error, t.Deferred = e, 0
	})
	u.Local.Asked = Asked{}
	return u.erred(hopeless)
}

// erred goes on after an error, by what is open.
func (v *View) erred(hopeless bool) Step {
	switch {
	case v.unsentBehind():
		return v.yields(v.Txn.Error)
	case !hopeless:
		return v.to(tx.PhaseFailing, ReasonAnswered)
	case v.Txn.Open():
		s := v.to(tx.PhaseWatching, ReasonAnswered)
		s.Txn.Ending = tx.PhaseUnresolved
		return s
	}
	return v.end(tx.PhaseUnresolved, ReasonAnswered)
}

// lose notes that nobody knows what became of a call. A two-phase worker is asked
// again; a legacy one may have sent.
func (v *View) lose(e *tx.Error, hash string) Step {
	if v.Txn.Last().Legacy {
		return v.loseLegacy(e, hash)
	}
	if v.Txn.Losses+1 < maxLosses {
		s := v.to(tx.PhaseDispatching, ReasonLost)
		s.Txn.Last().Blame(tx.CauseLost, e)
		s.Txn.Error = e
		s.Txn.Losses++
		s.Local.Own = s.Txn.Last().Number
		return s
	}
	u := v.with(func(t *tx.Transaction) {
		t.Last().Drop(tx.CauseError, e, v.Now)
		t.Error, t.Losses = e, 0
	})
	if u.unsentBehind() {
		return u.yields(e)
	}
	u.Local.Asked = Asked{}
	return u.to(tx.PhaseFailing, ReasonLost)
}

// learn: the store did not take a change.
func (d Denied) learn(v *View) Step {
	t := v.Txn
	switch {
	case d.Why == Unconfirmed:
		s := v.wait(ReasonConfirming)
		s.Local.Confirmed = 0
		return s
	case d.Why == Costly && t.Phase == tx.PhaseDispatching && !v.mayReprice():
		return v.costly(d)
	case d.Why == Costly:
		// What is open goes on waiting at the fee that it has, and what was to be signed
		// again is sent at that.
		s := v.wait(ReasonPool)
		s.Local.Costly = v.Clock.Add(min(d.Left, accountRest))
		return s
	case d.Why == Used:
		s := v.wait(ReasonPlanning)
		s.Local.Asked = Asked{}
		return s
	case d.Why == Overtaken && t.Phase == tx.PhaseDispatching && !t.Open():
		// What it was built on is gone. Nothing of it has left.
		e := &tx.Error{Code: tx.CodeOvertaken, Message: "an earlier transaction of its queue waits again"}
		u := v.with(func(t *tx.Transaction) {
			if a := t.Last(); a.Pending() {
				a.Drop(tx.CauseError, e, v.Now)
			}
			t.Error = e
		})
		if v.Stops() {
			return u.stopped()
		}
		return u.back(ReasonBack)
	}
	return v.wait(ReasonUnchanged)
}
