package sequencer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
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

// said is what is said of one phase.
type said struct {
	summary string
	wait    lifecycle.Wait
	next    lifecycle.Next
}

// Explain says where a transaction stands and what happens next. It is a pure
// function: it asks nobody and decides nothing.
func Explain(s Scene) lifecycle.Explanation {
	var d said
	switch s.Txn.Phase {
	case lifecycle.PhaseWaiting:
		d = s.waiting()
	case lifecycle.PhaseDispatching:
		d = s.dispatching()
	case lifecycle.PhaseSent, lifecycle.PhaseWatching:
		d = s.watching()
	case lifecycle.PhaseFailing:
		d = said{"Its last try failed" + because(s.Txn.Error) + "; whether there is another one is being decided.",
			lifecycle.Wait{Code: lifecycle.WaitNothing}, lifecycle.Next{Action: StepWeigh, At: s.Now}}
	case lifecycle.PhaseDelayed:
		d = s.delayed()
	case lifecycle.PhaseDone:
		d = s.done()
	default:
		d = s.ended()
	}
	return lifecycle.Explanation{
		State: s.Txn.State(), Since: s.Txn.ChangedAt, Summary: d.summary, Wait: d.wait, Next: d.next, Attempts: s.attempts(),
	}
}

func (s *Scene) waiting() said {
	bound := s.First != nil && s.First.Phase.Bound()
	place := s.Standing.Ahead + 1
	if bound {
		place++
	}
	if place == 1 || s.First == nil {
		return s.head("First in its queue")
	}
	first := "waits for its next try"
	switch s.First.Phase {
	case lifecycle.PhaseWaiting:
		first = "is not bound yet: " + lower(s.head("").summary)
	case lifecycle.PhaseDispatching:
		first = "is with its worker."
	case lifecycle.PhaseSent, lifecycle.PhaseWatching:
		first = "waits for a block."
	default:
		first += "."
	}
	code := lifecycle.Wait{Code: lifecycle.WaitQueueHead, Detail: fmt.Sprintf("%d before it", place-1)}
	who := "the first"
	if place == 2 {
		who = "the one before"
	}
	return said{fmt.Sprintf("%s in its queue; %s (%s) %s", ordinal(place), who, s.First.UID, first), code, lifecycle.Next{Action: StepBind}}
}

// head says why the first of a queue is not bound. who begins the sentence.
func (s *Scene) head(who string) said {
	say := func(text string, code lifecycle.WaitCode, detail string, until time.Time, next lifecycle.Next) said {
		if who != "" {
			text = who + "; " + lower(text)
		}
		return said{text, lifecycle.Wait{Code: code, Until: until, Detail: detail}, next}
	}
	bind := lifecycle.Next{Action: StepBind}
	typ := s.Txn.Type
	if s.Txn.UID != s.Standing.First && s.First != nil {
		typ = s.First.Type
	}
	fresh := !s.Chain.At.IsZero() && s.Now.Sub(s.Chain.At) <= 2*s.Policy.InclusionInterval
	switch {
	case s.Queue != nil && s.Queue.Paused != "":
		return say("The queue is paused: "+short(s.Queue.Paused)+".", lifecycle.WaitPaused, short(s.Queue.Paused), time.Time{}, lifecycle.Next{Action: StepResume})
	case s.Standing.Holder != "":
		return say("The worker has not yet answered the callback of the one before ("+s.Standing.Holder+").", lifecycle.WaitCallback,
			"callback of "+s.Standing.Holder, s.Standing.Hold, lifecycle.Next{Action: StepBind, At: s.Standing.Hold})
	case !s.Dispatched && s.Txn.Type == typ:
		return say("This process does not dispatch "+typ+"; one that does has to run.", lifecycle.WaitProcess, "type "+typ, time.Time{}, bind)
	case s.Shut != "":
		return say("Nothing is bound now: "+s.Shut+".", lifecycle.WaitRecovery, s.Shut, time.Time{}, bind)
	case s.Txn.Open():
		return say("An attempt of it was found on the chain or in a pool; it waits for the sender of that one.", lifecycle.WaitFreeSender,
			"sender "+firstOpen(s.Txn).Sender, time.Time{}, bind)
	case fresh && !s.Chain.Quorum:
		return say("Too few Mina nodes are synced to start anything.", lifecycle.WaitNodes, fmt.Sprintf("%d synced", s.Chain.Synced), time.Time{}, bind)
	}
	var busy, out int
	why := ""
	var back time.Time
	for _, p := range s.Pool {
		switch {
		case p.Available() && p.Queue == "":
			return say("A sender is free and is bound to it now.", lifecycle.WaitNothing, "", time.Time{}, lifecycle.Next{Action: StepBind, At: s.Now})
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
	return say(text, lifecycle.WaitFreeSender, detail, back, bind)
}

func (s *Scene) dispatching() said {
	t, a := s.Txn, s.Txn.Last()
	switch {
	case s.Shut != "":
		return said{"Its sender is bound, and nothing is asked or sent now: " + s.Shut + ".",
			lifecycle.Wait{Code: lifecycle.WaitRecovery, Detail: s.Shut}, lifecycle.Next{Action: StepAskWorker}}
	case a == nil || !a.EndedAt.IsZero() || a.Outcome == lifecycle.Unknown:
		if !s.Chain.At.IsZero() && !s.Chain.Quorum {
			return said{"Its sender is bound; the attempt is planned when enough Mina nodes are synced.",
				lifecycle.Wait{Code: lifecycle.WaitNodes, Detail: fmt.Sprintf("%d synced", s.Chain.Synced)}, lifecycle.Next{Action: StepAskWorker}}
		}
		return said{"Its sender is bound; attempt " + fmt.Sprint(len(t.Attempts)+1) + " is being planned.",
			lifecycle.Wait{Code: lifecycle.WaitNothing}, lifecycle.Next{Action: StepAskWorker, At: s.Now}}
	case a.Outcome == lifecycle.Prepared:
		does, next := "is proving and signing", StepSend
		if a.Legacy {
			does, next = "proves and sends by itself", StepWatch
		}
		detail := ""
		if t.Losses > 0 {
			detail = fmt.Sprintf("asked %s in vain", times(t.Losses))
		}
		return said{fmt.Sprintf("The worker of %s %s attempt %d.", a.Sender, does, a.Number),
			lifecycle.Wait{Code: lifecycle.WaitWorker, Until: a.StartedAt.Add(time.Duration(t.Losses+1) * s.Policy.DispatchTimeout), Detail: detail},
			lifecycle.Next{Action: next}}
	}
	return said{fmt.Sprintf("Attempt %d is signed and being sent to the Mina nodes.", a.Number),
		lifecycle.Wait{Code: lifecycle.WaitSending}, lifecycle.Next{Action: StepSend, At: s.Now}}
}

func (s *Scene) watching() said {
	t, g, p := s.Txn, s.Sighting, s.Policy
	tail := ""
	last := t.CancelRequested || t.Ending != ""
	again := StepRetry
	if last {
		again = StepEnd
		tail = " No further attempt is made" + map[bool]string{true: ": a cancel was asked for.", false: "."}[t.CancelRequested]
	}
	soon := s.Now.Add(p.InclusionInterval)
	settle := func(what string) said {
		return said{fmt.Sprintf("%s; that counts when it stands %d blocks deep, now %d.%s", what, p.SettleDepth, g.Depth, tail),
			lifecycle.Wait{Code: lifecycle.WaitSettlement, Detail: depth(g, p.SettleDepth)}, lifecycle.Next{Action: again}}
	}
	switch g.Fate {
	case lifecycle.FateIncluded:
		return said{fmt.Sprintf("In block %d, %s.", g.Height, depth(g, p.Confirmations)),
			lifecycle.Wait{Code: lifecycle.WaitConfirmations, Detail: depth(g, p.Confirmations)}, lifecycle.Next{Action: StepFinish}}
	case lifecycle.FateFailed:
		class, code := mina.ClassifyFailures(g.Failures)
		if class == mina.Permanent {
			again = StepEnd
		}
		return settle(fmt.Sprintf("It failed in block %d (%s)", g.Height, short(code)))
	case lifecycle.FateDisplaced:
		return settle("Its nonce was spent by a command that is not ours")
	case lifecycle.FateExpired:
		return settle("Its attempt has expired")
	}
	until, wait := s.lastSlot(), lifecycle.WaitBlock
	if last {
		wait = lifecycle.WaitExpiry
	}
	say := func(text, detail, next string, at time.Time) said {
		return said{text + tail, lifecycle.Wait{Code: wait, Until: until, Detail: detail}, lifecycle.Next{Action: next, At: at}}
	}
	legacy := isLegacy(t)
	switch {
	case g.Passed:
		return s.passed()
	case g.Fate == lifecycle.FatePooled && legacy && !g.Agreed && s.Now.Sub(t.Last().StartedAt) > toldFor:
		return s.stuck()
	case g.Fate == lifecycle.FatePooled && (legacy || last):
		return say("In "+pools(g)+", waiting for a block.", pools(g), StepWatch, soon)
	case g.Fate == lifecycle.FatePooled:
		next, at := StepRaiseFee, s.slot(firstSlot(t)+p.BumpAfter)
		if atCap(t, p) {
			next, at = StepSendAgain, time.Time{}
		}
		return say("In "+pools(g)+", waiting for a block.", pools(g), next, at)
	case g.Fate == lifecycle.FateAbsent && legacy:
		return say("Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.",
			"in no pool and no block", StepResolve, t.Last().StartedAt.Add(2*p.DispatchTimeout))
	case g.Fate == lifecycle.FateAbsent && last:
		return say("It was sent, and no node shows it; it may still land.", "in no pool and no block", StepEnd, until)
	case g.Fate == lifecycle.FateAbsent:
		return say("It was sent, and no node shows it; the same bytes are sent again.", "in no pool and no block", StepSendAgain, time.Time{})
	case !s.Asked:
		return say("It was sent and waits for a block. The process that watches it knows more.", "as last stored", StepWatch, time.Time{})
	case !s.Chain.Quorum:
		wait, until = lifecycle.WaitNodes, time.Time{}
		return say("It was sent; too few Mina nodes are synced to say what became of it.", fmt.Sprintf("%d synced", s.Chain.Synced), StepWatch, soon)
	}
	return say("It was sent; the nodes do not agree yet on what became of it.", "no agreement yet", StepWatch, soon)
}

func (s *Scene) delayed() said {
	t := s.Txn
	text := "Its last try failed" + because(t.Error) + "."
	if t.Uncounted {
		text = "Its worker could not be reached" + because(t.Error) + "."
	}
	if t.Open() {
		text += " An earlier attempt may still land."
	}
	return said{text + " " + upper(retries(t.Retries)) + " used.",
		lifecycle.Wait{Code: lifecycle.WaitRetryDelay, Until: t.DueAt}, lifecycle.Next{Action: StepRetry, At: t.DueAt}}
}

func (s *Scene) done() said {
	t, a := s.Txn, s.Txn.Attempt(s.Txn.Landed)
	told := func(d said) said {
		if t.Callback != "" {
			d.summary += fmt.Sprintf(" Its worker has not yet answered the callback, told %s.", times(t.CallbackTries))
			if d.wait.Code == lifecycle.WaitNothing {
				d.wait, d.next = lifecycle.Wait{Code: lifecycle.WaitCallback}, lifecycle.Next{Action: StepTell}
			}
		}
		return d
	}
	in := ", as a person said"
	if a != nil && a.Height > 0 {
		in = fmt.Sprintf(" in block %d", a.Height)
	}
	remove := lifecycle.Next{Action: StepRemove, At: t.FinalAt.Add(s.Policy.Retention)}
	switch {
	case t.Reopened:
		return told(s.orphaned(a))
	case a == nil && t.FinalAt.IsZero():
		return told(said{"It is DONE.", lifecycle.Wait{Code: lifecycle.WaitNothing}, lifecycle.Next{Action: StepNone}})
	case a == nil:
		return told(said{"Its worker finished it without a block.", lifecycle.Wait{Code: lifecycle.WaitNothing}, remove})
	case t.FinalAt.IsZero() && s.Sighting.Passed:
		d := s.passed()
		d.summary = "It took effect" + in + ", when that was last seen. " + d.summary
		d.wait.Code = lifecycle.WaitFinality
		return told(d)
	case t.FinalAt.IsZero():
		return told(said{fmt.Sprintf("It took effect%s, and is watched until that is %d blocks deep.", in, s.Policy.Finality),
			lifecycle.Wait{Code: lifecycle.WaitFinality, Detail: depth(s.Sighting, s.Policy.Finality)}, lifecycle.Next{Action: StepFinal}})
	}
	return told(said{"It took effect" + in + ", for good.", lifecycle.Wait{Code: lifecycle.WaitNothing}, remove})
}

// ended speaks of FAILED and UNRESOLVED.
func (s *Scene) ended() said {
	t := s.Txn
	code := ""
	if t.Error != nil {
		code = t.Error.Code
	}
	d := said{"All tries are used up" + because(t.Error) + ".", lifecycle.Wait{Code: lifecycle.WaitNothing, Detail: "a person may retry it"}, lifecycle.Next{Action: StepNone}}
	switch {
	case code == CodeCancelled:
		d.summary = "It was cancelled before it took effect."
	case t.Phase == lifecycle.PhaseUnresolved && t.Open():
		return said{"Nobody knows what became of its attempt" + because(t.Error) + ". Look for it, and say by resolve whether it landed.",
			lifecycle.Wait{Code: lifecycle.WaitPerson, Detail: "what became of attempt " + fmt.Sprint(firstOpen(t).Number)}, lifecycle.Next{Action: StepResolve}}
	case t.Phase == lifecycle.PhaseUnresolved:
		d = said{"No retry can mend it" + because(t.Error) + ".", lifecycle.Wait{Code: lifecycle.WaitPerson, Detail: "mend the cause and retry it, or delete it"}, lifecycle.Next{Action: StepDecide}}
	}
	if t.Open() {
		d.wait = lifecycle.Wait{Code: lifecycle.WaitExpiry, Until: s.lastSlot()}
		d.summary += " An attempt may still land."
		d.next = lifecycle.Next{Action: StepWatch}
	}
	if t.Callback != "" {
		d.summary += fmt.Sprintf(" Its worker has not yet answered the callback, told %s.", times(t.CallbackTries))
	}
	return d
}

// attempts joins what is stored of each attempt with what the chain says now.
func (s *Scene) attempts() []lifecycle.Seen {
	out := make([]lifecycle.Seen, len(s.Txn.Attempts))
	for i, a := range s.Txn.Attempts {
		v := lifecycle.Seen{Attempt: a, Open: a.Open(), Place: "unknown"}
		g := s.Sighting
		its := g.Hash != "" && (a.Hash == g.Hash || a.NodeHash == g.Hash)
		switch {
		case its && (g.Fate == lifecycle.FateIncluded || g.Fate == lifecycle.FateFailed):
			v.Place, v.Agreed, v.Depth, v.Height, v.StateHash = "block", g.Agreed, g.Depth, g.Height, g.StateHash
			v.Detail = fmt.Sprintf("%s in block %d, %d deep", map[lifecycle.Fate]string{lifecycle.FateIncluded: "succeeded", lifecycle.FateFailed: "failed"}[g.Fate], g.Height, g.Depth)
		case its && g.Fate == lifecycle.FatePooled && v.Open:
			v.Place, v.Agreed, v.Detail = "pool", g.Agreed, "in "+pools(g)
		case a.Outcome == lifecycle.Included && a.Height == 0:
			v.Place, v.Detail = "block", "succeeded, as a person said"
		case a.Outcome == lifecycle.Included, a.Outcome == lifecycle.FailedIn:
			v.Place, v.Depth = "block", a.Confirmations
			v.Detail = fmt.Sprintf("%s in block %d, %d deep when last stored", map[bool]string{true: "succeeded", false: "failed"}[a.Outcome == lifecycle.Included], a.Height, a.Confirmations)
		case a.Outcome == lifecycle.Prepared && v.Open:
			v.Detail = "its worker proves and sends by itself"
		case a.Outcome == lifecycle.Prepared && a.EndedAt.IsZero():
			v.Place, v.Detail = "nowhere", "its worker has it"
		case !v.Open:
			v.Place = "nowhere"
			v.Detail = map[lifecycle.Outcome]string{
				lifecycle.Prepared: "never sent", lifecycle.Refused: "refused by every node", lifecycle.Expired: "expired unspent",
				lifecycle.Replaced: "its nonce was spent by another command",
			}[a.Outcome]
		case g.Fate == lifecycle.FateAbsent && s.Asked:
			v.Place, v.Agreed, v.Detail = "nowhere", g.Agreed, "in no pool and no block, and may still land"
		default:
			v.Detail = "sent, and may land"
		}
		if a.Error != nil {
			v.Detail = strings.TrimPrefix(v.Detail+": "+short(a.Error.Error()), ": ")
		}
		out[i] = v
	}
	return out
}

func firstSlot(t *lifecycle.Transaction) uint32 {
	var since uint32
	for i := range t.Attempts {
		since = max(since, t.Attempts[i].SentSlot, t.Attempts[i].Slot)
	}
	return since
}

func atCap(t *lifecycle.Transaction, p Policy) bool {
	return slices.ContainsFunc(t.Attempts, func(a lifecycle.Attempt) bool { return a.Open() && a.Fee >= p.FeeMax })
}
