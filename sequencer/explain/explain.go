// Package explain says in words where a transaction stands, what it waits for, and what happens next.
// It asks nobody and decides nothing: what happens next it asks package lifecycle, which knows nothing
// of it.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// said is what is said of one reason.
type said struct {
	summary string
	wait    Wait
	next    Next
}

// Explain puts the reason of the next step into words. It is a pure function: it asks
// nobody, and decides nothing.
func Explain(s *Scene) Explanation {
	d := s.takenOver()
	if !s.Txn.Phase.Bound() || !s.abandoned() {
		d = s.inTime(s.amongOthers(s.say()))
	}
	if s.Race != "" {
		d.summary += " " + s.Race + "."
	}
	return Explanation{
		State: s.Txn.State(), Since: s.Txn.ChangedAt, Summary: d.summary, Wait: d.wait, Next: d.next, Attempts: s.attempts(),
	}
}

// phases is what is said in each phase: of what is for Mina, and of what is for a ledger.
var phases = map[tx.Phase]struct{ mina, ledger func(*Scene) said }{
	tx.PhaseWaiting:     {(*Scene).waiting, (*Scene).waiting},
	tx.PhaseDispatching: {(*Scene).dispatching, (*Scene).submittingTo},
	tx.PhaseSent:        {(*Scene).watching, (*Scene).standsThere},
	tx.PhaseWatching:    {(*Scene).watching, (*Scene).standsThere},
	tx.PhaseFailing:     {(*Scene).failing, (*Scene).notThere},
	tx.PhaseDelayed:     {(*Scene).delayed, (*Scene).delayed},
	tx.PhaseDone:        {(*Scene).done, (*Scene).committed},
	tx.PhaseFailed:      {(*Scene).endedBy, (*Scene).endedThere},
	tx.PhaseUnresolved:  {(*Scene).endedBy, (*Scene).endedThere},
}

func (s *Scene) say() said {
	if s.Txn.Ledger != "" {
		return phases[s.Txn.Phase].ledger(s)
	}
	return phases[s.Txn.Phase].mina(s)
}

// inTime adds what is certain of a deadline, and when.
func (s *Scene) inTime(d said) said {
	t := s.Txn
	if t.ExpiresAt.IsZero() || t.Phase.Final() {
		return d
	}
	slot := ""
	if last, known := s.Tip.LastBefore(t.ExpiresAt); known {
		slot = fmt.Sprintf(", which is slot %d", last)
	}
	switch {
	case !s.Expired():
		d.summary += fmt.Sprintf(" It lands before its deadline, %s%s, or never.", stamp(t.ExpiresAt), slot)
	case t.Open():
		d.summary += fmt.Sprintf(" Its deadline, %s%s, has come: nothing more is sent, and it ends when what was sent "+
			"has landed or cannot any more.", stamp(t.ExpiresAt), slot)
	case d.next.Action != StepEnd:
		d.summary += fmt.Sprintf(" Its deadline, %s, has come: it ends now.", stamp(t.ExpiresAt))
		d.next = Next{Action: StepEnd, At: s.Now}
	}
	return d
}

// abandoned reports whether the process that drives it does not live: nothing goes on until another one
// has taken it over.
func (s *Scene) abandoned() bool { return s.Txn.Claim != "" && s.driver() < 0 }

// driver is which of the living drives it, -1 for none.
func (s *Scene) driver() int {
	return slices.IndexFunc(s.Living, func(b tx.Binder) bool { return strings.HasPrefix(s.Txn.Claim, b.Process+":") })
}

// shut is why nothing of it is asked or sent now, by the process that drives it or the one that is asked.
func (s *Scene) shut() string {
	if i := s.driver(); i >= 0 && s.Living[i].Shut != "" {
		return s.Living[i].Shut
	}
	return s.Shut
}

func (s *Scene) takenOver() said {
	text := "The process that drives it is gone, or hangs; another one takes it over."
	if len(s.Living) == 0 {
		text = "The process that drives it is gone, or hangs, and none runs that could take it over: start one."
	}
	return said{text, Wait{Code: WaitProcess, Detail: "a process that takes it over"}, Next{Action: StepWatch}}
}

// endsNow is what is said of what ends a dispatch at once.
var endsNow = map[lifecycle.Reason]said{
	lifecycle.ReasonCancelled: {"A cancel was asked for, and nothing of it has been sent: it ends now.",
		Wait{Code: WaitNothing}, Next{Action: StepEnd}},
	lifecycle.ReasonOverdue: {"Its deadline has come, and nothing of it has been sent: it ends now.",
		Wait{Code: WaitNothing}, Next{Action: StepEnd}},
	lifecycle.ReasonLanded: {"An earlier attempt is in a block.", Wait{Code: WaitNothing}, Next{Action: StepFinish}},
}

func (s *Scene) dispatching() said {
	n := len(s.Txn.Attempts)
	s.Local.Own, s.Local.Marked = n, n // what the process that drives it knows, and whoever asks need not
	why := lifecycle.Decide(&s.View).Reason
	d, ends := endsNow[why]
	switch {
	case s.shut() != "":
		return said{"Its sender is bound, and nothing is asked or sent now: " + s.shut() + ".",
			Wait{Code: WaitRecovery, Detail: s.shut()}, Next{Action: StepAskWorker}}
	case why == lifecycle.ReasonProving && s.Unproved.IsZero():
		return s.proving()
	case why == lifecycle.ReasonProving:
		return s.inLine()
	case ends:
		d.next.At = s.Now
		return d
	}
	return s.planning()
}

// proving speaks of an attempt that its worker has.
func (s *Scene) proving() said {
	t, a := s.Txn, s.Txn.Last()
	does, next, detail := "is proving and signing", StepSend, ""
	if a.Legacy {
		does, next = "proves and sends by itself", StepWatch
	}
	if t.Losses > 0 {
		detail = fmt.Sprintf("asked %s in vain", times(t.Losses))
	}
	until := a.StartedAt.Add(time.Duration(t.Losses+1) * s.Policy.DispatchTimeout)
	return said{fmt.Sprintf("The worker of %s %s attempt %d.", a.Sender, does, a.Number),
		Wait{Code: WaitWorker, Until: until, Detail: detail}, Next{Action: next}}
}

// inLine speaks of an attempt that waits for a prover.
func (s *Scene) inLine() said {
	those := fmt.Sprintf("all %d that make %s are at work, and it takes the next that is free", s.Provers, s.Txn.Type)
	if s.Provers == 1 {
		those = "the only one that makes " + s.Txn.Type + " is at work, and it is next or waits in line"
	}
	return said{fmt.Sprintf("Attempt %d waits for a prover since %s: %s. To wait less, add provers.",
		s.Txn.Last().Number, stamp(s.Unproved), those),
		Wait{Code: WaitWorker, Detail: "a prover of the pool"}, Next{Action: StepAskWorker}}
}

// planning speaks of an attempt that is not planned yet.
func (s *Scene) planning() said {
	n, since := len(s.Txn.Attempts)+1, s.Txn.ChangedAt
	if a := s.Txn.Last(); a != nil && a.EndedAt.After(since) {
		since = a.EndedAt
	}
	switch {
	case !s.Tip.At.IsZero() && !s.Tip.Quorum:
		return said{"Its sender is bound; the attempt is planned when enough Mina nodes are synced.",
			s.forNodes(), Next{Action: StepAskWorker}}
	case s.Now.Sub(since) > s.Policy.CycleInterval:
		return said{fmt.Sprintf("Its sender is bound, and attempt %d is not planned yet since %s: its worker is asked who "+
			"it is before, and the Mina nodes for its account; if that stays so, see whether they answer.", n, stamp(since)),
			Wait{Code: WaitWorker, Detail: "its worker, or the Mina nodes"}, Next{Action: StepAskWorker}}
	}
	return said{fmt.Sprintf("Its sender is bound; attempt %d is being planned.", n),
		Wait{Code: WaitNothing}, Next{Action: StepAskWorker, At: s.Now}}
}

// watching speaks of what may be on its way into a block.
func (s *Scene) watching() said {
	g := &s.Sighting
	switch g.Fate {
	case tx.FateIncluded:
		deep := depth(g, s.Policy.Confirmations)
		return said{fmt.Sprintf("In block %d, %s.", g.Height, deep),
			Wait{Code: WaitConfirmations, Detail: deep}, Next{Action: StepFinish}}
	case tx.FateFailed:
		return s.settling(fmt.Sprintf("It failed in block %d (%s)", g.Height, tx.Short(g.Failure.Code)))
	case tx.FateDisplaced:
		return s.settling(strings.TrimSpace("Its nonce was spent by a command that is not ours " + g.Hash))
	case tx.FateExpired:
		return s.settling("Its attempt has expired")
	}
	d, leaves := s.leaving()
	switch {
	case leaves:
		return d
	case g.Passed:
		return s.passed()
	case g.Fate == tx.FatePooled:
		return s.pooled()
	case g.Fate == tx.FateAbsent:
		return s.absent()
	case !s.Asked:
		return s.landing("It was sent and waits for a block. The process that watches it knows more.",
			"as last stored", Next{Action: StepWatch})
	}
	soon := Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	if !s.Tip.Quorum {
		return said{"It was sent; too few Mina nodes are synced to say what became of it." + s.noMore(), s.forNodes(), soon}
	}
	return s.landing("It was sent; the nodes do not agree yet on what became of it.", "no agreement yet", soon)
}

// leaving speaks of bytes that are stored, and are being given to the nodes.
func (s *Scene) leaving() (d said, leaves bool) {
	t, g := s.Txn, &s.Sighting
	switch {
	case t.Phase != tx.PhaseSent:
		return d, false
	case t.Last().State == tx.Signed && !s.unconfirmed().IsZero():
		return said{fmt.Sprintf("Attempt %d is signed and stored, and is sent when the replicas of Redis that "+
			"SEQUENCER_REDIS_WAIT asks for have confirmed that; too few do since %s: see why they are away.%s",
			t.Last().Number, stamp(s.unconfirmed()), s.noMore()),
			Wait{Code: WaitSending, Detail: "replicas of Redis to confirm it"}, Next{Action: StepSend}}, true
	case !t.Legacy() && (g.Fate == "" || g.Fate == tx.FateUnknown && !g.Passed):
		return said{fmt.Sprintf("Attempt %d is signed and being sent to the Mina nodes.%s", t.Last().Number, s.noMore()),
			Wait{Code: WaitSending}, Next{Action: StepSend, At: s.Now}}, true
	}
	return d, false
}

// unconfirmed is since when the process that drives it waits for replicas; zero if it does not.
func (s *Scene) unconfirmed() time.Time {
	if i := s.driver(); i >= 0 {
		return s.Living[i].Unconfirmed
	}
	return time.Time{}
}

// settling speaks of what counts once it is deep enough.
func (s *Scene) settling(what string) said {
	g, deep := &s.Sighting, s.EndDepth()
	next := Next{Action: StepRetry}
	if s.last() || g.Fate == tx.FateFailed && g.Failure.Permanent {
		next.Action = StepEnd
	}
	return said{fmt.Sprintf("%s; that counts when it stands %d blocks deep, now %d.%s", what, deep, g.Depth, s.noMore()),
		Wait{Code: WaitSettlement, Detail: depth(g, deep)}, next}
}

// pooled speaks of what stands in a pool.
func (s *Scene) pooled() said {
	t, g := s.Txn, &s.Sighting
	if t.Legacy() && !g.Agreed && s.Now.Sub(t.Last().StartedAt) > toldFor {
		return s.stuck()
	}
	text := "In " + pools(g) + ", waiting for a block."
	due, _ := s.RaiseSlot()
	next := Next{Action: StepRaiseFee, At: s.slot(int64(due))}
	switch {
	case t.Legacy() || s.last():
		next = Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	case s.AtCap():
		next = Next{Action: StepSendAgain}
	case s.Pays():
		next = Next{Action: StepSendAgain}
		text += " It pays what the market asks for."
	}
	return s.landing(text, pools(g), next)
}

// unheardFor is how long it may take until a node shows what it was given.
const unheardFor = 5 * time.Minute

// absent speaks of what no node shows.
func (s *Scene) absent() said {
	const nowhere = "in no pool and no block"
	switch t := s.Txn; {
	case t.Legacy():
		return s.landing("Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.",
			nowhere, Next{Action: StepResolve, At: t.Last().StartedAt.Add(2 * s.Policy.DispatchTimeout)})
	case s.last():
		return s.landing("It was sent, and no node shows it; it may still land.",
			nowhere, Next{Action: StepEnd, At: s.lastSlot()})
	}
	a := s.Txn.FindLast((*tx.Attempt).WasOut)
	switch {
	case a.Stalled() && a.Cause != tx.CauseNetwork && s.Now.Sub(s.Txn.ChangedAt) < unheardFor:
	case a.Stalled() && a.Cause != tx.CauseNetwork:
		return s.landing("No node was seen to take it, though it is sent again and again since "+stamp(s.Txn.ChangedAt)+
			because(a.Error)+": see to the nodes, and to what stands in front of them.", nowhere, Next{Action: StepSendAgain})
	case a.Stalled():
		return s.landing("The network takes nothing from anybody"+because(a.Error)+"; the same bytes are sent again, "+
			"and signed again when they have run out: see when the network goes on.", nowhere, Next{Action: StepSendAgain})
	}
	return s.landing("It was sent, and no node shows it; the same bytes are sent again.",
		nowhere, Next{Action: StepSendAgain})
}

// landing waits for a block, or for the last slot of what is not tried again.
func (s *Scene) landing(text, detail string, next Next) said {
	wait := Wait{Code: WaitBlock, Until: s.lastSlot(), Detail: detail}
	if s.last() {
		wait.Code = WaitExpiry
	}
	return said{text + s.noMore(), wait, next}
}

// last says whether no further attempt is made.
func (s *Scene) last() bool { return s.Stops() || s.Txn.Ending != "" }

// noMore is the sentence that says so, if it is so.
func (s *Scene) noMore() string {
	switch {
	case s.Txn.CancelRequested:
		return " No further attempt is made: a cancel was asked for."
	case s.last():
		return " No further attempt is made."
	}
	return ""
}

func (s *Scene) failing() said {
	return said{"Its last try failed" + because(s.Txn.Error) + "; its worker is asked whether there is another one.",
		Wait{Code: WaitWorker}, Next{Action: StepWeigh, At: s.Now}}
}

// delayed speaks of what waits for its next try.
func (s *Scene) delayed() said {
	t := s.Txn
	text := "Its last try failed" + because(t.Error) + "."
	if t.Deferred > 0 {
		text = "It could not be tried" + because(t.Error) + "."
	}
	if t.Open() {
		text += " An earlier attempt may still land."
	}
	return said{text + " " + upper(retries(t.Retries)) + " used.",
		Wait{Code: WaitRetryDelay, Until: t.DueAt}, Next{Action: StepRetry, At: t.DueAt}}
}

// unanswered adds that a callback is not answered.
func (s *Scene) unanswered(d said) said {
	t := s.Txn
	if t.Callback == "" {
		return d
	}
	d.summary += fmt.Sprintf(" Its worker has not yet answered the callback, told %s.", times(t.CallbackTries))
	if d.wait.Code == WaitNothing && t.Phase == tx.PhaseDone {
		d.wait, d.next = Wait{Code: WaitCallback}, Next{Action: StepTell}
	}
	return d
}

func (s *Scene) done() said { return s.unanswered(s.doneBy()) }

// doneBy speaks of DONE.
func (s *Scene) doneBy() said {
	t, a := s.Txn, s.Txn.Attempt(s.Txn.Landed)
	in := ", as a person said"
	if a != nil && a.Height > 0 {
		in = fmt.Sprintf(" in block %d", a.Height)
	}
	remove := Next{Action: StepRemove, At: t.FinalAt.Add(s.Policy.Retention)}
	switch {
	case t.Reopened:
		return s.orphaned(a)
	case a == nil && t.FinalAt.IsZero():
		return said{"It is DONE.", Wait{Code: WaitNothing}, Next{Action: StepNone}}
	case a == nil:
		return said{"Its worker finished it without a block.", Wait{Code: WaitNothing}, remove}
	case !t.FinalAt.IsZero():
		return said{"It took effect" + in + ", for good.", Wait{Code: WaitNothing}, remove}
	case s.Sighting.Passed:
		d := s.passed()
		d.summary = "It took effect" + in + ", when that was last seen. " + d.summary
		d.wait.Code = WaitFinality
		return d
	}
	return said{fmt.Sprintf("It took effect%s, and is watched until that is %d blocks deep.", in, s.Policy.Finality),
		Wait{Code: WaitFinality, Detail: depth(&s.Sighting, s.Policy.Finality)}, Next{Action: StepFinal}}
}

// endedBy speaks of FAILED and UNRESOLVED.
func (s *Scene) endedBy() said {
	t := s.Txn
	code := cmp.Or(t.Error, &tx.Error{}).Code
	d := said{"All tries are used up" + because(t.Error) + ".",
		Wait{Code: WaitNothing, Detail: "a person may retry it"}, Next{Action: StepNone}}
	switch {
	case code == tx.CodeCancelled:
		d.summary = "It was cancelled before it took effect."
	case code == tx.CodeExpired && s.Expired():
		d.summary, d.wait.Detail = upper(t.Error.Message)+".", ""
	case t.Phase == tx.PhaseUnresolved && t.Open():
		return said{
			"Nobody knows what became of its attempt" + because(t.Error) + ". " +
				"Look for it, and say by resolve whether it landed.",
			Wait{Code: WaitPerson, Detail: "what became of attempt " + fmt.Sprint(t.FirstOpen().Number)},
			Next{Action: StepResolve},
		}
	case t.Phase == tx.PhaseUnresolved:
		d = said{"No retry can mend it" + because(t.Error) + ".",
			Wait{Code: WaitPerson, Detail: "mend the cause and retry it, or delete it"}, Next{Action: StepDecide}}
	}
	if t.Open() {
		d.wait = Wait{Code: WaitExpiry, Until: s.lastSlot()}
		d.summary += " An attempt may still land."
		d.next = Next{Action: StepWatch}
	}
	return s.unanswered(d)
}
