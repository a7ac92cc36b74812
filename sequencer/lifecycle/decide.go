package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// maxLosses is how often the same attempt is asked for when the answer got lost; the
// last loss is an error like any other.
const maxLosses = 3

// Decide says what is to be done next with a transaction that this process holds the
// claim of. It is a pure function. What comes of what was done, and what a person says, is
// decided on in Learn and Ask, and nowhere else.
func Decide(v *View) Step {
	if v.Txn.Ledger != "" {
		return v.batch()
	}
	if a := v.landed(); a != nil {
		return v.endInOrder(v.land(a))
	}
	if s, found := v.resurfaced(); found {
		return s
	}
	if v.strayed() {
		return v.noteStrayed()
	}
	s := v.endInOrder(v.slipping(v.lookBack(phases[v.Txn.Phase](v))))
	if s.Txn == nil && !v.Txn.ExpiresAt.IsZero() && !v.Expired() {
		if at := v.expiry(); s.Look.IsZero() || at.Before(s.Look) {
			s.Look = at
		}
	}
	return s
}

// phases is what each phase comes to.
var phases = map[tx.Phase]func(v *View) Step{
	tx.PhaseWaiting:     func(v *View) Step { return v.wait(ReasonWaiting) },
	tx.PhaseDispatching: (*View).dispatching,
	tx.PhaseSent:        (*View).sent,
	tx.PhaseWatching:    (*View).watching,
	tx.PhaseFailing:     (*View).failing,
	tx.PhaseDelayed:     (*View).delayed,
	tx.PhaseDone:        (*View).done,
	tx.PhaseFailed:      (*View).ended,
	tx.PhaseUnresolved:  (*View).ended,
}

// wait does nothing until something happens.
func (v *View) wait(why Reason) Step { return Step{Local: v.Local, Reason: why} }

// waitUntil does nothing until something happens, or a time by Clock.
func (v *View) waitUntil(at time.Time, why Reason) Step {
	return Step{Local: v.Local, Look: at, Reason: why}
}

// do has an effect done.
func (v *View) do(e Effect, why Reason) Step { return Step{Local: v.Local, Do: e, Reason: why} }

// ask begins a question. What is asked about a sender while others of its queue are in flight
// may be answered when they have used their nonces.
func (v *View) ask(k Kind, why Reason) Step {
	return v.do(Effect{Kind: k, Among: k == AskSender && v.Train.moves()}, why)
}

// with is v with its record changed, for what follows to be decided on.
func (v *View) with(change func(t *tx.Transaction)) *View {
	u := *v
	u.Txn = v.Txn.Clone()
	change(u.Txn)
	return &u
}

// to begins a change of the record to a phase.
func (v *View) to(p tx.Phase, why Reason) Step {
	t := v.Txn.Clone()
	if p != t.Phase {
		t.ChangedAt, t.DueAt = v.Now, time.Time{}
	}
	if p != tx.PhaseDispatching && p != tx.PhaseWaiting && p != tx.PhaseDelayed {
		t.Losses, t.Doubted = 0, "" // there was an answer, or so many losses that they are one
	}
	if t.Phase = p; p == tx.PhaseWaiting && !v.Train.Commuting {
		unbased(t)
	}
	return Step{Txn: t, Local: v.Local, Reason: why}
}

// awaitsEnd reports whether what was just bound made room for another when it was to end: the
// end that it was to come to it comes to now.
func (v *View) awaitsEnd() bool { return v.Txn.Ending.Final() && !v.Txn.Open() }

// dispatching: an attempt is to be planned, or is asked of the worker.
func (v *View) dispatching() Step {
	if s, ends := v.endsUndispatched(); ends {
		return s
	}
	if s, turned := v.heldBack(); turned {
		return s
	}
	switch last := v.Txn.Last(); {
	case last == nil, last.Over(), last.State == tx.Unknown:
		return v.plan()
	case last.State == tx.Called:
		return v.dispatchingLegacy(last)
	case !last.Pending(): // surely sent, and found again after Redis had forgotten it
		s := v.to(tx.PhaseSent, ReasonSent)
		s.Local.SentAt, s.Local.Resent = time.Time{}, 0
		return s
	case v.superseded(last): // in a recovery it went back to its queue, and then its nonce to another
		s := v.to(tx.PhaseDispatching, ReasonPlanning)
		s.Txn.Last().Become(tx.Dropped, v.Now)
		s.Local.Asked = Asked{}
		return s
	case v.Local.Own != last.Number:
		return v.own(last)
	case v.Local.Legacy:
		return v.mark()
	default:
		return v.make(last)
	}
}

// endsUndispatched ends, or weighs, what is not to be dispatched any more.
func (v *View) endsUndispatched() (s Step, ends bool) {
	open := v.Txn.Open()
	switch {
	case v.awaitsEnd():
		return v.with(dropPlan(v.Now)).closed(ReasonBack), true
	case v.Stops() && !open:
		return v.stopped(), true
	case v.Txn.Ending == tx.PhaseFailing && !open:
		s = v.with(dropPlan(v.Now)).to(tx.PhaseFailing, ReasonBack)
		s.Txn.Ending = ""
		return s, true
	case v.Expired() && !v.dispatchUnderWay():
		return v.outstays(), true
	}
	return s, false
}

// own makes a planned attempt this process's to ask for. One that was planned with its
// bind, and that nobody can have worked on, is no loss.
func (v *View) own(last *tx.Attempt) Step {
	if s, unfit := v.unfit(); unfit {
		return s
	}
	if e := v.outdated(last); e != nil {
		s := v.to(tx.PhaseDispatching, ReasonPlanning)
		s.Txn.Last().Drop(tx.CauseOutdated, e, v.Now)
		s.Local.Asked = Asked{}
		return s
	}
	if !last.Lost() && v.Local.Own == ownByBind {
		s := v.make(last)
		s.Local.Own = last.Number
		return s
	}
	return v.lose(&tx.Error{Code: tx.CodeLost, Message: "the process that waited for the worker is gone"}, "")
}

// outdated is why another attempt is planned in the place of one that nobody has made, nil if none
// is: it could land no more, or pays more than is allowed by now.
func (v *View) outdated(a *tx.Attempt) *tx.Error {
	switch most := v.feeMax(); {
	case v.lapsed(a):
		return &tx.Error{Code: tx.CodeExpired, Message: fmt.Sprintf("planned up to slot %d, and not made by then",
			a.ValidUntil)}
	case a.Fee > most:
		return &tx.Error{Code: tx.CodeExpired, Message: fmt.Sprintf("planned for %s MINA, and at most %s are allowed by now",
			fees.FormatMina(a.Fee), fees.FormatMina(most))}
	}
	return nil
}

// lapsed reports whether what was planned can land no more, whoever makes it.
func (v *View) lapsed(a *tx.Attempt) bool {
	return a.ValidUntil > 0 && max(v.Tip.TipSlot, v.Tip.Slot) >= a.ValidUntil
}

// ownByBind stands in Local.Own while what was just bound here was asked of
// nobody.
const ownByBind = -1

// BoundHere is what the process knows that has just bound a transaction.
func BoundHere(s *Sender) Local { return Local{Own: ownByBind, Asked: Asked{Sender: s}} }

// JoinedHere is the same of what was bound behind others.
func JoinedHere(s *Sender) Local {
	l := BoundHere(s)
	l.Asked.Among = true
	return l
}

// superseded reports whether a, planned and not made, is not to be made any more.
func (v *View) superseded(a *tx.Attempt) bool {
	s := v.Local.Asked.Sender
	used := s != nil && s.Next != nil && *s.Next > a.Nonce ||
		slices.ContainsFunc(v.Train.Behind, func(m Member) bool {
			open := m.Txn.FirstOpen()
			return open != nil && open.Nonce == a.Nonce
		})
	return !v.Txn.Open() && (a.Sender != v.Txn.Sender || used && a.State != tx.Unplaced)
}

// sent: the bytes may leave, or have left; nothing is known of the chain yet.
func (v *View) sent() Step {
	t, last := v.Txn, v.Txn.Last()
	if !t.Open() {
		return v.closed(ReasonSettled) // by what Redis had forgotten: nothing is to be sent
	}
	if v.Expired() && !t.Legacy() {
		s := v.unfresh().to(tx.PhaseWatching, ReasonOverdue) // and nothing leaves
		s.noteSaid()
		return s
	}
	switch {
	case v.settled():
		// There is nothing to be sent any more.
	case v.Local.fresh(last):
		return v.sendInOrder(func() Step { return v.sendFresh(last) })
	case !t.Legacy() && v.Local.SentAt.IsZero():
		return v.sendInOrder(v.resend)
	case !v.Tip.At.After(v.Local.SentAt):
		return v.wait(ReasonSent)
	}
	s := v.to(tx.PhaseWatching, ReasonSent)
	s.noteSaid()
	if a := s.Txn.Last(); a.Open() && v.Sighting.Fate == tx.FatePooled && a.Is(v.Sighting.Hash) {
		a.Become(tx.Pooled, v.Now)
	}
	return s
}

func (v *View) sendFresh(a *tx.Attempt) Step {
	return v.release(Effect{Kind: Send, Number: a.Number, Fresh: true}, ReasonSending)
}

// release has something leave, once the replicas have confirmed what is stored of it.
func (v *View) release(e Effect, why Reason) Step {
	if v.Replicas && v.Local.Confirmed != e.Number {
		return v.do(Effect{Kind: Confirm, Number: e.Number}, ReasonConfirming)
	}
	return v.do(e, why)
}

// noteSaid moves what is known of the sending into the record.
func (s *Step) noteSaid() {
	said := s.Local.Said
	s.Local.Said = Said{}
	a := s.Txn.Attempt(said.Number)
	if a == nil {
		return
	}
	a.SentSlot, a.NodeHash = cmp.Or(a.SentSlot, said.Slot), cmp.Or(a.NodeHash, said.NodeHash)
	if a.Open() {
		if a.State != tx.Resurfaced { // which has been with a node, whatever is said now
			a.State = said.State
		}
		a.Blame(tx.CauseOf(said.Error), said.Error)
	}
}

// failing: is there to be another try, and by whom?
func (v *View) failing() Step {
	asked := &v.Local.Asked
	if asked.Sender == nil {
		return v.ask(AskSender, ReasonWeighing)
	}
	unusable := asked.Sender.Gone || asked.Sender.Unusable
	if asked.Retries == nil && !unusable && v.Known && !v.Stops() {
		if v.Draining {
			return v.wait(ReasonDraining) // the worker may be away for longer than this process is there
		}
		return v.ask(AskRetries, ReasonWeighing)
	}
	return v.weighed(unusable || asked.Overtaken)
}

// weighed is what comes of an error; elsewhere: another try is not this sender's.
func (v *View) weighed(elsewhere bool) Step {
	t := v.Txn
	switch {
	case v.Stops() && !t.Open():
		return v.stopped()
	case v.Stops() || t.Retries >= v.retries():
		return v.usedUp()
	case !t.Open() && elsewhere:
		return v.back(ReasonBack)
	case v.unsentBehind(): // a commuting one, and those ahead wait until none is behind them
		s := v.back(ReasonRetry)
		s.countRetry(v.Now)
		return s
	}
	s := v.to(tx.PhaseDelayed, ReasonDelay)
	s.Txn.DueAt = v.Now.Add(v.Policy.retryDelay(t.Retries, v.Jitter))
	s.Txn.Deferred = 0
	s.Local.Asked = Asked{}
	return s
}

// retries is how many there are at most: as its worker said, or as the policy has it.
func (v *View) retries() int {
	if said := v.Local.Asked.Retries; said != nil {
		return *said
	}
	return v.Policy.MaxRetries
}

// usedUp: no further attempt is made.
func (v *View) usedUp() Step {
	if v.Txn.Open() {
		s := v.to(tx.PhaseWatching, ReasonUsedUp)
		s.Txn.Ending = tx.PhaseFailed
		return s
	}
	return v.end(tx.PhaseFailed, ReasonUsedUp)
}

// cancelled: a person took it back, and nothing is open.
func (v *View) cancelled() Step {
	if s, may := v.mayHaveIt(ReasonCancelled); may {
		return s
	}
	s := v.with(dropPlan(v.Now)).end(tx.PhaseFailed, ReasonCancelled)
	s.Aside.Code = tx.CodeCancelled
	s.Txn.Error = &tx.Error{Code: tx.CodeCancelled, Message: "cancelled before it took effect"}
	return s
}

// back returns it to its place in the queue; retries are kept.
func (v *View) back(why Reason) Step {
	s := v.to(tx.PhaseWaiting, why)
	s.Local = Local{}
	return s
}

// delayed: another try follows when its time has come.
func (v *View) delayed() Step {
	t := v.Txn
	switch {
	case v.Stops() && !t.Open():
		return v.stopped()
	case t.Open() && v.settled():
		return v.to(tx.PhaseWatching, ReasonSettled) // its worker may be away for longer than what is open can land
	case v.Expired():
		return v.outstays()
	}
	if left := t.DueAt.Sub(v.Now); left > 0 {
		return v.rests(left)
	}
	asked := &v.Local.Asked
	switch {
	case v.Draining:
		return v.wait(ReasonDraining)
	case asked.Sender == nil:
		return v.ask(AskSender, ReasonRetry)
	case t.CancelRequested:
		return v.usedUp()
	case !t.Open() && (asked.Sender.Gone || asked.Sender.Unusable || asked.Overtaken):
		return v.back(ReasonBack)
	}
	s := v.to(tx.PhaseDispatching, ReasonRetry)
	if t.Deferred == 0 {
		s.countRetry(v.Now)
	}
	s.Local.Own, s.Local.Marked = 0, 0
	return s
}

// rests waits for the next try. Where nothing is open any sender may make that, so this one goes to
// queues that want it, and its own is held until then.
func (v *View) rests(left time.Duration) Step {
	if !v.Wanted || !v.Txn.Idle() || !v.Train.alone() {
		return v.waitUntil(v.Clock.Add(left), ReasonDelay)
	}
	s := v.back(ReasonYield)
	s.Aside.Hold = left
	s.countRetry(v.Now)
	return s
}

func (s *Step) countRetry(now time.Time) {
	s.Txn.Retries++
	s.Txn.RetriedAt = now
}

// end makes it final: with what is to be told, and watched no longer unless something
// of it may still land or be orphaned.
func (v *View) end(p tx.Phase, why Reason) Step {
	s := v.to(p, why)
	t := s.Txn
	t.DoneAt, t.Ending, t.Callback, t.CallbackTries = v.Now, "", tx.OnFailure, 0
	switch {
	case p == tx.PhaseDone:
		t.Callback, t.Error = tx.OnSuccess, nil
		if t.Landed == 0 {
			t.FinalAt = v.Now
		}
	case len(t.Attempts) == 0:
		t.Callback = ""
	}
	s.Aside.DropBytes = !t.Watched()
	if t.Ledger != "" {
		t.Callback, s.Aside.DropBytes = "", false // nobody has made it, and it is as it was posted
	}
	s.Local.Said = Said{}
	return s
}
