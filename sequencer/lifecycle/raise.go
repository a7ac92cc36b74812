package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// A raise is another attempt at the nonce of what is open, which pays more. Only one of them can
// land. The one that was open goes on waiting whatever becomes of the raise.

// mayRaise reports whether another attempt at the same nonce may be made.
func (v *View) mayRaise() bool {
	t := v.Txn
	if t.Phase != tx.PhaseWatching || v.Stops() || t.Ending != "" || !v.Known || t.Legacy() ||
		!v.oldestPending() && !v.outranked() {
		return false
	}
	return !v.AtCap()
}

// AtCap reports whether what is open pays all that it may.
func (v *View) AtCap() bool { return feeHighest(v.Txn) >= v.feeMax() }

// lingersAt is when the last raise of the fee, or the first sending, is long enough ago
// to raise it. It counts the slots of the chain, which stand still when the chain does;
// the answer is then a time that has not come, to be asked again. What this process has
// sent just now has waited for nothing yet, however old its plan is.
func (v *View) lingersAt() time.Time {
	wait := v.Local.SentAt.Add(slots(int64(v.Policy.BumpAfter), v.Tip.SlotTime))
	if v.Local.Costly.After(wait) {
		wait = v.Local.Costly
	}
	if slot, known := v.RaiseSlot(); !known || v.Tip.TipSlot < slot {
		return v.Clock.Add(max(v.Tip.SlotTime, time.Second))
	}
	return wait
}

// RaiseSlot is the slot in which the latest attempt has waited long enough for a raise. False: it is
// not known since when it waits.
func (v *View) RaiseSlot() (slot uint32, known bool) {
	var since uint32
	for i := range v.Txn.Attempts {
		since = max(since, v.Txn.Attempts[i].SentSlot, v.Txn.Attempts[i].Slot)
	}
	return upTo(since, v.Policy.BumpAfter), since > 0
}

// raise plans another attempt at the same nonce that pays more. Only one of them can
// land. refused: no node takes it at what it pays, whatever the market says.
func (v *View) raise(refused bool) Step {
	best := v.Txn.FirstOpen()
	quote := v.quote(v.weight())
	fee := v.Policy.Fees().Outbid(&quote, feeHighest(v.Txn), v.feeMax())
	if v.outranked() { // it goes along
		fee = v.along()
	}
	last, known := v.lastSlot()
	if !known {
		return v.pool(v.wait(ReasonPool))
	}
	s := v.to(v.Txn.Phase, ReasonRaising)
	s.Txn.Attempts = append(s.Txn.Attempts, tx.Attempt{
		Number: len(s.Txn.Attempts) + 1, Sender: best.Sender, Nonce: best.Nonce,
		Fee: v.beyond(fee, refused), Quote: quote, ValidUntil: last, Slot: v.Tip.TipSlot,
		Base: best.Base, Effects: best.Effects, State: tx.Planned, StartedAt: v.Now,
	})
	s.Local.Asked = Asked{}
	return s
}

// raising: it is signed again, with the proof that there is, or proved afresh.
func (v *View) raising(a *tx.Attempt) Step {
	if v.Draining {
		return v.wait(ReasonDraining)
	}
	if v.Train.Unseen {
		return v.wait(ReasonBehind)
	}
	if !v.mayRaise() || a.Fee > v.feeMax() {
		return v.notRaised(&tx.Error{Code: tx.CodeNotRaised, Message: "no further attempt is made"})
	}
	bytes := v.Local.Asked.Bytes
	switch {
	case bytes == nil:
		return v.ask(AskBytes, ReasonRaising)
	case (bytes.Command == nil || v.Local.NoResign) && v.Train.Walk().SuccessorOpen:
		return v.notRaised(&tx.Error{Code: tx.CodeNotRaised, Message: "others were made on it: it is not proved again"})
	case bytes.Command == nil || v.Local.NoResign:
		return v.do(Effect{Kind: Prove, Number: a.Number}, ReasonRaising)
	}
	return v.do(Effect{Kind: Resign, Number: a.Number}, ReasonRaising)
}

// raiseAnswered: the attempt that is to pay more was signed, or was not. Then the
// earlier one goes on waiting.
func (v *View) raiseAnswered(r Answer) Step {
	switch {
	case r.Fault == FaultNoCall && r.Call.Kind == Resign:
		s := v.wait(ReasonRaising)
		s.Local.NoResign = true
		return s
	case r.Fault != NoFault:
		message := string(r.Fault)
		if r.Error != nil {
			message = r.Error.Error()
		}
		return v.notRaised(&tx.Error{Code: tx.CodeNotRaised, Message: message})
	case r.Signed == nil:
		return v.notRaised(&tx.Error{Code: tx.CodeNotRaised, Message: "the worker signed nothing"})
	}
	if r.Call.Kind == Resign && r.Data == nil {
		r.Data = v.Txn.FirstOpen().Data // it is the same proof
	}
	s := v.to(tx.PhaseWatching, ReasonAnswered)
	sign(s.Txn.Last(), r)
	s.sign(r)
	return s
}

func (v *View) notRaised(e *tx.Error) Step {
	s := v.to(v.Txn.Phase, ReasonRaising)
	s.Txn.Last().Drop(tx.CauseError, e, v.Now)
	s.Local.Asked = Asked{}
	return s
}

// raiseRefused: what is open goes on being sent.
func (v *View) raiseRefused(a *tx.Attempt, e *tx.Error, before *BytesRead) Step {
	s := v.to(tx.PhaseWatching, ReasonRaising)
	raise := s.Txn.Attempt(a.Number)
	raise.Become(tx.Refused, v.Now)
	raise.Blame(tx.CauseOf(e), e)
	if before != nil && before.Command != nil {
		s.Aside.Bytes = before
	}
	return s
}

// beyond is a fee in the place of what is open, and the next rung at least of what was refused
// there as too little; refused: so was the dearest that is open.
func (v *View) beyond(fee uint64, refused bool) uint64 {
	if tried := feeTried(v.Txn); refused || tried > feeHighest(v.Txn) {
		fee = max(fee, v.Policy.Fees().Raised(tried))
	}
	return min(fee, v.feeMax())
}

// feeTried is the most that has been offered at the nonce that is open: by what is open, and by
// what followed the first of these and was refused as too little.
func feeTried(t *tx.Transaction) (fee uint64) {
	open := t.FirstOpen()
	if open == nil {
		return 0
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		refused := a.Number > open.Number && a.SameNonce(open) && a.State == tx.Refused
		if a.Open() || refused && a.PaidTooLittle() {
			fee = max(fee, a.Fee)
		}
	}
	return fee
}

// feeHighest is the most that an open attempt pays.
func feeHighest(t *tx.Transaction) (fee uint64) {
	for a := range t.AllOpen() {
		fee = max(fee, a.Fee)
	}
	return fee
}

// Pays reports whether what is open pays what the market asks for.
func (v *View) Pays() bool {
	q := v.quote(v.weight())
	return q.Pays(feeHighest(v.Txn))
}

// raised reports whether m pays more than it once did at its nonce.
func (m *Member) raised() bool {
	first := m.Txn.FirstOpen()
	return first != nil && first.Fee < feeHighest(m.Txn)
}

// outranked reports whether all ahead, in no block, rank higher, the lowest of them since it was
// raised: of a payer's commands each ranks by the lowest fee for its weight up to it (Mina), so
// this one goes along.
func (v *View) outranked() bool {
	mine := Member{Txn: v.Txn}
	return v.rankAhead() > mine.rank()
}

// along is the fee that has it rank as those ahead do, and replaces what it pays.
func (v *View) along() uint64 {
	weight, most, paid := uint64(1), v.feeMax(), feeHighest(v.Txn)
	for a := range v.Txn.AllOpen() {
		weight = max(weight, uint64(a.Weight)) // made anew it may weigh other than before
	}
	rank := min(v.rankAhead(), most/weight+1) // what is more than it may pay is cut anyway
	return min(max(rank*weight, fees.Replacing(paid)), most)
}

// rankAhead is the lowest rank of those ahead that are in no block, 0 if none is or that one has
// not been raised: what was dear from the start takes nobody along.
func (v *View) rankAhead() uint64 {
	if lowest := v.Train.Walk().lowest; lowest != nil && lowest.raised() {
		return lowest.rank()
	}
	return 0
}
