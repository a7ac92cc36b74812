package lifecycle

import (
	"cmp"
	"fmt"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// weight is what the transaction weighs as it was signed last or, before that, its type.
func (v *View) weight() int {
	if a := v.Txn.FindLast(func(a *tx.Attempt) bool { return a.Weight > 0 }); a != nil {
		return a.Weight
	}
	return cmp.Or(v.Market.Weight, fees.SupposedWeight)
}

// quote is what the market asks for the next attempt; the zero one where fees go by none.
func (v *View) quote(weight int) fees.Quote {
	if !v.Policy.FeeAuto {
		return fees.Quote{}
	}
	return v.Market.Quote(v.Policy.Fees(), v.Now, v.Tip.SlotTime, weight, v.feeMax())
}

// bid is the fee of an attempt by the market. What replaces another pays more than that, and
// so does what follows one that paid too little, whatever the market says.
func (v *View) bid() (uint64, fees.Quote) {
	q := v.quote(v.weight())
	switch {
	case v.Txn.Open():
		return v.beyond(v.Policy.Fees().Outbid(&q, feeHighest(v.Txn), v.feeMax()), false), q
	case q.Why == fees.Unknown:
		return v.ladder(), q
	}
	return v.owed(&q), q
}

// owed is the fee that the market asks for, and more where what left last paid too little; a
// person's retry begins anew.
func (v *View) owed(q *fees.Quote) uint64 {
	if last := lastOut(v.Txn); last != nil && last.PaidTooLittle() && v.Txn.Retries > 0 {
		return min(max(q.Fee, v.Policy.Fees().Raised(last.Fee)), v.feeMax())
	}
	return q.Fee
}

// lastOut is the latest attempt that may have been out, nil if there is none.
func lastOut(t *tx.Transaction) *tx.Attempt { return t.FindLast((*tx.Attempt).WasOut) }

// reprice has what was signed just now signed again, for another fee, where it weighs
// other than it was supposed to and so would stand at a wrong place. Nothing of it has left
// this process, or may: it is over, and the next attempt takes its nonce and its proof.
func (v *View) reprice(r Answer) (Step, bool) {
	a := v.Txn.Last()
	q := v.quote(r.Weight)
	fee := v.owed(&q)
	last, told := v.lastSlot()
	switch {
	case v.Local.Costly.After(v.Clock):
		return Step{}, false // it was to be, and would pass a limit
	case r.Weight <= 0 || a.Quote.Weight <= 0 || r.Weight == a.Quote.Weight, q.Why == "" || q.Why == fees.Unknown,
		v.Txn.Open() || v.Draining || !told || v.unsent(a) != nil || !fees.Misplaced(a.Fee, fee):
		return Step{}, false
	}
	s := v.kept(r, ReasonRepricing, tx.CauseRepriced, &tx.Error{Code: tx.CodeRepriced, Message: fmt.Sprintf(
		"it weighs %d and was supposed to weigh %d: %s MINA would put it at a wrong place, so it is signed again for %s",
		r.Weight, a.Quote.Weight, fees.FormatMina(a.Fee), fees.FormatMina(fee))})
	was := s.Txn.Last()
	s.Txn.Attempts = append(s.Txn.Attempts, tx.Attempt{
		Number: was.Number + 1, Sender: was.Sender, Nonce: was.Nonce, Fee: fee, Quote: q, ValidUntil: last,
		Slot: v.Tip.TipSlot, Base: was.Base, Effects: was.Effects, State: tx.Planned, StartedAt: v.Now,
	})
	s.Local.Own, s.Local.NoResign = was.Number+1, false
	return s, true
}

// kept ends the attempt that was signed just now and never leaves, and keeps its bytes: the
// next one takes its proof.
func (v *View) kept(r Answer, why Reason, c tx.Cause, e *tx.Error) Step {
	s := v.to(tx.PhaseDispatching, why)
	s.Txn.Losses, s.Txn.Deferred = 0, 0
	was := s.Txn.Last()
	was.Weight, was.Data, was.Effects = r.Weight, r.Data, r.Effects
	was.Become(tx.Proved, v.Now)
	was.Blame(c, e)
	s.Aside.Bytes = &BytesRead{Number: was.Number, Command: r.Signed}
	s.Local.Asked = Asked{Sender: v.Local.Asked.Sender, Among: v.Local.Asked.Among, Bytes: s.Aside.Bytes}
	return s
}

// mayReprice reports whether an attempt is planned that may come to be signed again.
func (v *View) mayReprice() bool {
	return v.Policy.FeeAuto && v.Txn.Last().Pending()
}

// unsent is the attempt before a, where a is to be signed with the proof of that one.
func (v *View) unsent(a *tx.Attempt) *tx.Attempt {
	was := proof(v.Txn, v.Txn.Attempt(a.Number-1))
	switch {
	case was == nil || was.Sender != a.Sender:
	case was.ProvedAhead() && v.takes(a, was),
		was.Cause == tx.CauseRepriced && was.Nonce == a.Nonce && was.Base == a.Base,
		was.Stalled() && was.State == tx.Expired && was.Nonce == a.Nonce && was.Base == a.Base:
		return was // a proof is good for what it was made upon
	}
	return nil
}

// make has a planned attempt made: signed again where there is a proof for it, else proved.
func (v *View) make(a *tx.Attempt) Step {
	was, bytes := v.unsent(a), v.Local.Asked.Bytes
	switch {
	case was == nil || v.Local.NoResign:
	case bytes == nil:
		return v.ask(AskBytes, ReasonProving)
	case bytes.Command != nil && bytes.Number == was.Number:
		return v.do(Effect{Kind: Resign, Number: a.Number}, ReasonProving)
	}
	switch {
	case v.apart(), v.buildable(a) && v.Train.Walk().unbuilt:
		return v.wait(ReasonBehind)
	case v.buildable(a):
		return v.do(Effect{Kind: Build, Number: a.Number}, ReasonProving)
	}
	return v.do(Effect{Kind: Prove, Number: a.Number}, ReasonProving)
}
