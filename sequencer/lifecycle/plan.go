package lifecycle

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// accountRest is how long a sender rests before its account is looked at again.
const accountRest = 10 * time.Minute

// plan makes the next attempt. Nothing of it has left the process yet.
func (v *View) plan() Step {
	t := v.Txn
	if s, unfit := v.unfit(); unfit {
		return s
	}
	last, known := v.lastSlot()
	if !known {
		return v.noChain("no node says when its slots begin, and it has a deadline")
	}
	fee, quote := v.fee()
	a := tx.Attempt{
		Number: len(t.Attempts) + 1, Sender: t.Sender, Fee: fee, Quote: quote, State: tx.Planned,
		ValidUntil: last, Slot: v.Tip.TipSlot, StartedAt: v.Now,
	}
	s, placed := v.place(&a)
	if !placed {
		return s
	}
	aside, sender := s.Aside, *v.Local.Asked.Sender
	sender.Next = cmp.Or(aside.NextNonce, sender.Next)
	s = v.to(tx.PhaseDispatching, ReasonPlanning)
	s.Txn.Attempts, s.Aside = append(s.Txn.Attempts, a), aside
	s.Local.Own, s.Local.Marked, s.Local.Legacy, s.Local.NoResign = a.Number, 0, false, false
	s.Local.NoBuild, s.Local.Built = false, Built{}
	s.Local.Asked = Asked{Sender: &sender, Among: v.Local.Asked.Among}
	return s
}

// place gives an attempt its nonce, and has the sender know the next one; false if something has to
// happen first.
func (v *View) place(a *tx.Attempt) (s Step, placed bool) {
	if v.Txn.Open() {
		return v.placeBeside(a), true
	}
	if last := v.Txn.Last(); last.KeptProof() && !v.Train.Commuting {
		a.Base, a.Effects = last.Base, last.Effects // what it was made upon has come
	}
	if !v.Train.alone() {
		if s, turned := v.awaitsNonce(); turned {
			return s, false
		}
		if v.hasPredecessor() {
			return v.placeBehind(a)
		}
	}
	if a.Nonce, s, placed = v.nonce(a.Fee); placed && v.Local.Asked.Sender.next() != int64(a.Nonce) {
		s.Aside.NextNonce = &a.Nonce
	}
	return s, placed
}

// placeBeside gives a the nonce of what is open, so that only one of them can land. The sender's next
// nonce is not lowered for that: successors may hold higher ones.
func (v *View) placeBeside(a *tx.Attempt) (s Step) {
	a.Nonce = v.Txn.FirstOpen().Nonce
	if next := v.Local.Asked.Sender.Next; next == nil || *next < a.Nonce {
		s.Aside.NextNonce = &a.Nonce
	}
	return s
}

// unfit makes sure of this process, of the worker, and of what is known of the chain,
// before an attempt is made.
func (v *View) unfit() (Step, bool) {
	s := v.Local.Asked.Sender
	switch {
	case v.Draining:
		return v.wait(ReasonDraining), true
	case !v.Known:
		return v.unknownType(), true
	case s == nil:
		return v.ask(AskSender, ReasonPlanning), true
	case v.Local.Asked.Among && !v.Train.moves(): // what was told then may have changed, and does no more
		again := v.ask(AskSender, ReasonPlanning)
		again.Local.Asked = Asked{}
		return again, true
	case s.Gone:
		return v.deferred(deferral{Error: tx.Error{Code: tx.CodeUnavailable, Message: "the sender is no longer registered"},
			Why: tx.Rested, Rest: v.Policy.RetryDelay}), true
	case !s.Greeted:
		return v.ask(AskHealth, ReasonPlanning), true
	case !v.Tip.Fresh:
		return v.ask(AskChain, ReasonPlanning), true
	case !v.Tip.Quorum:
		return v.noChain("no quorum of synced Mina nodes has answered lately"), true
	case v.halted():
		return v.noChain("the network accepts no transactions: a node said so at " +
			v.Now.Add(v.Halted.Sub(v.Clock)).UTC().Format("15:04 UTC") + "; one is sent again and again to see when " +
			"that ends, and nothing else is proved before"), true
	}
	return Step{}, false
}

// halted reports whether nothing is begun, for the network takes nothing. What was signed before
// goes on being offered.
func (v *View) halted() bool {
	return !v.Halted.IsZero() && !v.Txn.MayLand() && !v.Txn.Halts()
}

// nonce is the one that a fresh attempt takes: the sender's next, if the account's nonce on the chain
// confirms it.
func (v *View) nonce(fee uint64) (uint32, Step, bool) {
	asked := &v.Local.Asked
	account, landed, next := asked.Account, asked.Landed, asked.Sender.next()
	if seen := asked.Sender.Seen; seen != nil && int64(*seen) == next {
		return *seen, Step{}, true
	}
	switch {
	case account == nil:
		return 0, v.ask(AskAccount, ReasonPlanning), false
	case account.Lost != "":
		return 0, v.noChain(account.Lost), false
	case !account.Exists:
		return 0, v.cannotPay("Fee_payer_account_not_found",
			"no node knows the account "+v.Txn.Sender+"; fund it"), false
	case account.Balance < fee:
		return 0, v.cannotPay("Insufficient_funds", fmt.Sprintf("%s has %s MINA to spend, the fee is %s",
			v.Txn.Sender, fees.FormatMina(account.Balance), fees.FormatMina(fee))), false
	case int64(account.Nonce) > next:
		return 0, v.deferred(deferral{Error: tx.Error{Code: string(tx.StoppedNonce), Message: fmt.Sprintf(
			"the account's nonce on the chain is %d, ours is %d: somebody else uses it", account.Nonce, next)},
			Why: tx.StoppedNonce, Rest: Never, By: fmt.Sprint(next)}), false
	case v.reappeared(account.Nonce):
		return 0, v.behindOurs(account.Nonce, "may land yet"), false
	case int64(account.Nonce) == next:
	// Ours is not known, or the chain is behind it: the nodes lag, or a reorg took a block with one of
	// ours. If one of ours landed at the chain's nonce or above, that is sent again first, and no nonce
	// below it is used anew. Otherwise nothing that was planned above has landed: the chain's counts.
	case landed == nil:
		return 0, v.ask(AskLanded, ReasonPlanning), false
	case landed.Any && landed.Nonce >= account.Nonce:
		return 0, v.behindOurs(account.Nonce, fmt.Sprintf("landed with %d", landed.Nonce)), false
	}
	return account.Nonce, Step{}, true
}

// next is the sender's next nonce, above any other where it is not known.
func (s *Sender) next() int64 {
	if s.Next == nil {
		return math.MaxInt64
	}
	return int64(*s.Next)
}

// behindOurs: the account's nonce lags behind one of ours (nodes that lag, or a reorg).
func (v *View) behindOurs(chain uint32, what string) Step {
	return v.deferred(deferral{Error: tx.Error{Code: tx.CodeNonceBehind,
		Message: fmt.Sprintf("the chain is at nonce %d, and one of ours %s", chain, what)},
		Why: tx.Rested, Rest: v.Policy.InclusionInterval})
}

// fee is that of the next attempt, and what it was estimated from.
func (v *View) fee() (uint64, fees.Quote) {
	if v.Policy.FeeAuto {
		return v.bid()
	}
	return v.ladder(), fees.Quote{}
}

// ladder raises the fee of the last attempt by the factor, up to the cap. A person's retry
// with nothing open begins anew.
func (v *View) ladder() uint64 {
	t, last := v.Txn, v.Txn.Last()
	switch {
	case last == nil, t.Retries == 0 && !t.Open():
		return min(v.Policy.Fee, v.feeMax())
	case last.ProvedAhead(), last.Cause == tx.CauseHeld, last.Cause == tx.CauseOutdated, last.Stalled(),
		t.Deferred > 0 && (last.State == tx.Dropped || last.State == tx.Proved || last.State == tx.Refused &&
			!last.PaidTooLittle()),
		v.Policy.BumpOnPrice && !t.Open() && !last.PaidTooLittle():
		return min(last.Fee, v.feeMax()) // that was no try, or its fee was not at fault
	}
	return min(v.Policy.Fees().Raised(last.Fee), v.feeMax())
}

// feeMax is the most that an attempt may pay, by the policy and by what was posted.
func (v *View) feeMax() uint64 {
	if most := v.Txn.MaxFee; most > 0 {
		return min(most, v.Policy.FeeMax)
	}
	return v.Policy.FeeMax
}

// A deferral is why an attempt cannot be made now.
type deferral struct {
	Error tx.Error
	Why   tx.SenderReason
	Rest  time.Duration // of the sender
	By    string
	Hold  time.Duration // of the queue; 0 where the cause concerns the sender alone
}

// deferred puts a transaction off that cannot be tried now, through no fault of its own: it goes back
// to its queue, or waits for what is open, and the sender rests. No retry counts. A plan that no
// worker can have seen is deleted; any other is kept as Dropped.
func (v *View) deferred(d deferral) Step {
	u := v.with(func(t *tx.Transaction) {
		a := t.Last()
		switch {
		case a == nil || !a.Pending() && a.State != tx.Called:
		case a.State == tx.Called || a.Lost() || v.Local.Own == 0:
			a.Drop(tx.CauseError, &d.Error, v.Now)
		default:
			t.Attempts = t.Attempts[:len(t.Attempts)-1]
		}
	})
	var rest *Rest // nil if the sender is not the cause
	if d.Why != "" {
		rest = &Rest{For: d.Rest, Why: d.Why, By: d.By, Detail: d.Error.Message}
	}
	if v.unsentBehind() {
		s := u.yields(&d.Error) // those ahead go on
		if d.Why != tx.Rested {
			s.Aside.Rest = rest
		}
		return s
	}
	u.Local.Own, u.Local.Marked, u.Local.Asked = 0, 0, Asked{}
	if !u.Txn.Open() && u.Stops() {
		s := u.stopped() // back in its queue it would be tried anew
		s.Aside.Rest = rest
		return s
	}
	var s Step
	if u.Txn.MayLand() {
		s = u.to(tx.PhaseDelayed, ReasonDeferred)
		s.Txn.DueAt = v.Now.Add(max(d.Rest, d.Hold))
	} else {
		s = u.to(tx.PhaseWaiting, ReasonDeferred)
		s.Local = Local{}
		s.Aside.Hold = d.Hold
	}
	s.Txn.Error = &d.Error
	s.Txn.Deferred++
	s.Aside.Rest = rest
	return s
}

// away defers because the worker is not reached or has no time; least is how long it asks to be left
// alone. The queue is held, too, longer with each deferral.
func (v *View) away(r Answer, least time.Duration) Step {
	e := *r.Error
	n := 0
	if s := v.Local.Asked.Sender; s != nil {
		n = s.Away
	}
	rest, hold := v.Policy.Pause(n), v.Policy.Pause(v.Txn.Deferred)
	if least != 0 {
		rest, hold = least, v.Policy.grown(least, v.Txn.Deferred)
	}
	switch {
	case r.Pool:
		return v.deferred(deferral{Error: e, Hold: hold})
	case e.Code == string(tx.WrongNetwork): // it did sign, so that the attempt is kept; no retry counts
		u := v.with(func(t *tx.Transaction) { t.Last().Blame(tx.CauseLost, &e) })
		return u.deferred(deferral{Error: e, Why: tx.WrongNetwork, Rest: rest})
	}
	return v.deferred(deferral{Error: e, Why: tx.Rested, Rest: rest, Hold: hold})
}

func (v *View) noChain(why string) Step {
	e := tx.Error{Code: tx.CodeNoChain, Message: why}
	return v.deferred(deferral{Error: e, Why: tx.Rested, Rest: v.Policy.InclusionInterval})
}

func (v *View) cannotPay(code, why string) Step {
	return v.deferred(deferral{Error: tx.Error{Code: code, Message: why}, Why: tx.LowBalance, Rest: accountRest})
}

// unknownType: this process does not dispatch the type. It goes back, for one that does.
func (v *View) unknownType() Step {
	e := tx.Error{Code: tx.CodeUnknownType, Message: "this process does not dispatch " + v.Txn.Type}
	return v.deferred(deferral{Error: e, Why: tx.Rested, Rest: v.Policy.grown(time.Second, v.Txn.Deferred)})
}

// costly: the plan would pass a fee limit; its sender, or its queue where that or whoever
// posted it has a budget, rests until the day is over.
func (v *View) costly(d Denied) Step {
	e := costlyError(v.Policy, d)
	if d.Budget != "" {
		return v.deferred(deferral{Error: *e, Hold: max(d.Left, time.Second)})
	}
	// It ends with the day, whatever else the sender rests for.
	return v.deferred(deferral{Error: *e, Why: tx.Rested, Rest: d.Left, By: "fees"})
}

func costlyError(p *Policy, d Denied) *tx.Error {
	who, limit := "the sender", p.FeeLimitSender
	switch {
	case d.Everybody:
		who, limit = "all senders together", p.FeeLimit
	case strings.HasPrefix(d.Budget, "key "):
		who, limit = "what is posted with "+d.Budget, p.FeeLimitKey
	case d.Budget != "":
		who, limit = d.Budget, p.FeeLimitQueue
	}
	return &tx.Error{
		Code: tx.CodeFeeLimit,
		Message: fmt.Sprintf("%s may spend %s MINA on fees in a day (UTC), and has spent %s of it",
			who, fees.FormatMina(limit), fees.FormatMina(d.Spent)),
	}
}
