package lifecycle

import (
	"fmt"
	"time"
)

// What happens next to a transaction, as an Explanation names it.
const (
	StepBind      = "BIND"       // a free sender is bound to its queue
	StepAskWorker = "ASK_WORKER" // an attempt is planned, and its worker asked to prove and sign
	StepSend      = "SEND"       // the signed bytes are given to the nodes
	StepWatch     = "WATCH"      // the chain is asked again
	StepSendAgain = "SEND_AGAIN" // the same bytes are sent again
	StepRaiseFee  = "RAISE_FEE"  // another attempt at the same nonce that pays more
	StepWeigh     = "WEIGH"      // it is decided whether there is another try
	StepRetry     = "RETRY"      // another try
	StepFinish    = "FINISH"     // it becomes DONE
	StepEnd       = "END"        // it becomes FAILED or UNRESOLVED
	StepFinal     = "FINAL"      // it is watched no longer
	StepRemove    = "REMOVE"     // its record is removed
	StepTell      = "TELL"       // its worker is told how it ended
	StepResume    = "RESUME"     // for a person: resume the queue
	StepDecide    = "DECIDE"     // for a person: retry or delete it
	StepResolve   = "RESOLVE"    // for a person: say what became of its attempt
	StepNone      = "NONE"
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
	d := s.say()
	return Explanation{
		State: s.Txn.State(), Since: s.Txn.ChangedAt, Summary: d.summary, Wait: d.wait, Next: d.next, Attempts: s.attempts(),
	}
}

func (s *Scene) say() said {
	t := s.Txn
	if t.Phase == PhaseWaiting {
		return s.waiting()
	}
	switch t.Phase {
	case PhaseDispatching:
		return s.dispatching()
	case PhaseSent, PhaseWatching:
		return s.watching()
	case PhaseFailing:
		return said{"Its last try failed" + because(t.Error) + "; whether there is another one is being decided.",
			Wait{Code: WaitNothing}, Next{Action: StepWeigh, At: s.Now}}
	case PhaseDelayed:
		return s.delayed()
	case PhaseDone:
		return s.told(s.doneBy())
	}
	return s.endedBy()
}

func (s *Scene) waiting() said {
	bound := s.First != nil && s.First.Phase.Bound()
	place := s.Place.Ahead + 1
	if bound {
		place++
	}
	if s.First == nil {
		return s.head("First in its queue")
	}
	first := "waits for its next try"
	switch s.First.Phase {
	case PhaseWaiting:
		first = "is not bound yet: " + lower(s.head("").summary)
	case PhaseDispatching:
		first = "is with its worker."
	case PhaseSent, PhaseWatching:
		first = "waits for a block."
	default:
		first += "."
	}
	code := Wait{Code: WaitQueueHead, Detail: fmt.Sprintf("%d before it", place-1)}
	who := "the first"
	if place == 2 {
		who = "the one before"
	}
	return said{
		fmt.Sprintf("%s in its queue; %s (%s) %s", ordinal(place), who, s.First.UID, first),
		code,
		Next{Action: StepBind},
	}
}

// head says why the first of a queue is not bound. who begins the sentence.
func (s *Scene) head(who string) said {
	say := func(text string, code WaitCode, detail string, until time.Time, next Next) said {
		if who != "" {
			text = who + "; " + lower(text)
		}
		return said{text, Wait{Code: code, Until: until, Detail: detail}, next}
	}
	bind := Next{Action: StepBind}
	typ := s.Txn.Type
	if s.Txn.UID != s.Place.First && s.First != nil {
		typ = s.First.Type
	}
	fresh := !s.Tip.At.IsZero() && s.Now.Sub(s.Tip.At) <= 2*s.Policy.InclusionInterval
	switch {
	case s.Paused != "":
		return say(
			"The queue is paused: "+short(s.Paused)+".",
			WaitPaused,
			short(s.Paused),
			time.Time{},
			Next{Action: StepResume},
		)
	case s.Place.Holder == "" && s.Place.Hold.After(s.Now):
		return say("Its worker was away or busy"+because(s.Txn.Error)+"; the queue is left alone for a while.", WaitWorker,
			"the queue is held", s.Place.Hold, Next{Action: StepBind, At: s.Place.Hold})
	case s.Place.Holder != "":
		return say("The worker has not yet answered the callback of the one before ("+s.Place.Holder+").", WaitCallback,
			"callback of "+s.Place.Holder, s.Place.Hold, Next{Action: StepBind, At: s.Place.Hold})
	case !s.Dispatched && s.Txn.Type == typ:
		return say(
			"This process does not dispatch "+typ+"; one that does has to run.",
			WaitProcess,
			"type "+typ,
			time.Time{},
			bind,
		)
	case s.Shut != "":
		return say("Nothing is bound now: "+s.Shut+".", WaitRecovery, s.Shut, time.Time{}, bind)
	case s.Txn.Open():
		return say(
			"An attempt of it was found on the chain or in a pool; it waits for the sender of that one.",
			WaitFreeSender,
			"sender "+s.Txn.FirstOpen().Sender,
			time.Time{},
			bind,
		)
	case fresh && !s.Tip.Quorum:
		return say(
			"Too few Mina nodes are synced to start anything.",
			WaitNodes,
			fmt.Sprintf("%d synced", s.Tip.Synced),
			time.Time{},
			bind,
		)
	}
	var busy, out int
	why := ""
	var back time.Time
	for i := range s.Pool {
		p := &s.Pool[i]
		switch {
		case p.Reason == "" && p.Queue == "":
			return say(
				"A sender is free and is bound to it now.",
				WaitNothing,
				"",
				time.Time{},
				Next{Action: StepBind, At: s.Now},
			)
		case p.Queue != "":
			busy++
		default:
			out++
			if why == "" {
				why = outOfUse(p)
			}
			if !p.Until.IsZero() && (back.IsZero() || p.Until.Before(back)) {
				back = p.Until
			}
		}
	}
	detail := fmt.Sprintf("%d bound to other queues, %d out of use", busy, out)
	if busy > 0 {
		back, why = time.Time{}, "" // one of those may come back sooner
	}
	text := "No sender is free: " + detail + "." + why
	if busy+out == 0 {
		detail = "none is registered"
		text = "No sender is registered."
	}
	return say(text, WaitFreeSender, detail, back, bind)
}

func (s *Scene) dispatching() said {
	t, a := s.Txn, s.Txn.Last()
	if a != nil { // what the process that drives it knows, and whoever asks need not
		s.Local.Taken, s.Local.Marked = a.Number, a.Number
	}
	why := Decide(&s.View).Reason
	soon := Next{Action: StepAskWorker, At: s.Now}
	switch {
	case s.Shut != "":
		return said{"Its sender is bound, and nothing is asked or sent now: " + s.Shut + ".",
			Wait{Code: WaitRecovery, Detail: s.Shut}, Next{Action: StepAskWorker}}
	case why == ReasonCancelled:
		return said{
			"A cancel was asked for, and nothing of it has been sent: it ends now.",
			Wait{Code: WaitNothing},
			Next{Action: StepEnd, At: s.Now},
		}
	case why == ReasonLanded:
		return said{"An earlier attempt is in a block.", Wait{Code: WaitNothing}, Next{Action: StepFinish, At: s.Now}}
	case why != ReasonProving && !s.Tip.At.IsZero() && !s.Tip.Quorum:
		return said{"Its sender is bound; the attempt is planned when enough Mina nodes are synced.",
			Wait{Code: WaitNodes, Detail: fmt.Sprintf("%d synced", s.Tip.Synced)}, Next{Action: StepAskWorker}}
	case why != ReasonProving:
		return said{
			"Its sender is bound; attempt " + fmt.Sprint(len(t.Attempts)+1) + " is being planned.",
			Wait{Code: WaitNothing},
			soon,
		}
	}
	does, next := "is proving and signing", StepSend
	if a.Legacy {
		does, next = "proves and sends by itself", StepWatch
	}
	detail := ""
	if t.Losses > 0 {
		detail = fmt.Sprintf("asked %s in vain", times(t.Losses))
	}
	return said{fmt.Sprintf("The worker of %s %s attempt %d.", a.Sender, does, a.Number),
		Wait{
			Code:   WaitWorker,
			Until:  a.StartedAt.Add(time.Duration(t.Losses+1) * s.Policy.DispatchTimeout),
			Detail: detail,
		}, Next{Action: next}}
}

// watching speaks of what may be on its way into a block.
func (s *Scene) watching() said {
	t, g, p := s.Txn, &s.Sighting, s.Policy
	tail := ""
	last := t.CancelRequested || t.Ending != ""
	again := StepRetry
	if last {
		again = StepEnd
		tail = " No further attempt is made."
		if t.CancelRequested {
			tail = " No further attempt is made: a cancel was asked for."
		}
	}
	settle := func(what string) said {
		return said{
			fmt.Sprintf("%s; that counts when it stands %d blocks deep, now %d.%s", what, p.SettleDepth, g.Depth, tail),
			Wait{Code: WaitSettlement, Detail: depth(g, p.SettleDepth)},
			Next{Action: again},
		}
	}
	until, wait := s.lastSlot(), WaitBlock
	if last {
		wait = WaitExpiry
	}
	say := func(text, detail, next string, at time.Time) said {
		return said{text + tail, Wait{Code: wait, Until: until, Detail: detail}, Next{Action: next, At: at}}
	}
	soon := s.Now.Add(p.InclusionInterval)
	legacy := t.Legacy()
	switch g.Fate {
	case FateIncluded:
		return said{fmt.Sprintf("In block %d, %s.", g.Height, depth(g, p.Confirmations)),
			Wait{Code: WaitConfirmations, Detail: depth(g, p.Confirmations)}, Next{Action: StepFinish}}
	case FateFailed:
		if g.Failure.Permanent {
			again = StepEnd
		}
		return settle(fmt.Sprintf("It failed in block %d (%s)", g.Height, short(g.Failure.Code)))
	case FateDisplaced:
		return settle("Its nonce was spent by a command that is not ours")
	case FateExpired:
		return settle("Its attempt has expired")
	}
	switch {
	case t.Phase == PhaseSent && !legacy && (g.Fate == "" || g.Fate == FateUnknown && !g.Passed):
		return said{fmt.Sprintf("Attempt %d is signed and being sent to the Mina nodes.%s", t.Last().Number, tail),
			Wait{Code: WaitSending}, Next{Action: StepSend, At: s.Now}}
	case g.Passed:
		return s.passed()
	case g.Fate == FatePooled && legacy && !g.Agreed && s.Now.Sub(t.Last().StartedAt) > toldFor:
		return s.stuck()
	case g.Fate == FatePooled && (legacy || last):
		return say("In "+pools(g)+", waiting for a block.", pools(g), StepWatch, soon)
	case g.Fate == FatePooled:
		next, at := StepRaiseFee, s.slot(upTo(FirstSlot(t), p.BumpAfter))
		if s.atCap() {
			next, at = StepSendAgain, time.Time{}
		}
		return say("In "+pools(g)+", waiting for a block.", pools(g), next, at)
	case g.Fate == FateAbsent && legacy:
		return say("Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.",
			"in no pool and no block", StepResolve, t.Last().StartedAt.Add(2*p.DispatchTimeout))
	case g.Fate == FateAbsent && last:
		return say("It was sent, and no node shows it; it may still land.", "in no pool and no block", StepEnd, until)
	case g.Fate == FateAbsent:
		return say(
			"It was sent, and no node shows it; the same bytes are sent again.",
			"in no pool and no block",
			StepSendAgain,
			time.Time{},
		)
	case !s.Asked:
		return say(
			"It was sent and waits for a block. The process that watches it knows more.",
			"as last stored",
			StepWatch,
			time.Time{},
		)
	case !s.Tip.Quorum:
		wait, until = WaitNodes, time.Time{}
		return say(
			"It was sent; too few Mina nodes are synced to say what became of it.",
			fmt.Sprintf("%d synced", s.Tip.Synced),
			StepWatch,
			soon,
		)
	}
	return say("It was sent; the nodes do not agree yet on what became of it.", "no agreement yet", StepWatch, soon)
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

// told adds that a callback is not answered.
func (s *Scene) told(d said) said {
	t := s.Txn
	if t.Callback == "" {
		return d
	}
	d.summary += fmt.Sprintf(" Its worker has not yet answered the callback, told %s.", times(t.CallbackTries))
	if d.wait.Code == WaitNothing && t.Phase == PhaseDone {
		d.wait, d.next = Wait{Code: WaitCallback}, Next{Action: StepTell}
	}
	return d
}

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
	code := ""
	if t.Error != nil {
		code = t.Error.Code
	}
	d := said{
		"All tries are used up" + because(t.Error) + ".",
		Wait{Code: WaitNothing, Detail: "a person may retry it"},
		Next{Action: StepNone},
	}
	switch {
	case code == CodeCancelled:
		d.summary = "It was cancelled before it took effect."
	case t.Phase == PhaseUnresolved && t.Open():
		return said{
			"Nobody knows what became of its attempt" + because(
				t.Error,
			) + ". Look for it, and say by resolve whether it landed.",
			Wait{
				Code:   WaitPerson,
				Detail: "what became of attempt " + fmt.Sprint(t.FirstOpen().Number),
			},
			Next{Action: StepResolve},
		}
	case t.Phase == PhaseUnresolved:
		d = said{
			"No retry can mend it" + because(t.Error) + ".",
			Wait{Code: WaitPerson, Detail: "mend the cause and retry it, or delete it"},
			Next{Action: StepDecide},
		}
	}
	if t.Open() {
		d.wait = Wait{Code: WaitExpiry, Until: s.lastSlot()}
		d.summary += " An attempt may still land."
		d.next = Next{Action: StepWatch}
	}
	return s.told(d)
}
