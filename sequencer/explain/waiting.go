package explain

import (
	"fmt"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

func (s *Scene) waiting() said {
	bound := s.First != nil && s.First.Phase.Bound()
	place := s.Place.Ahead + 1
	if bound {
		place += max(1, len(s.Train.Ahead))
	}
	if s.First == nil {
		return s.head("First in its queue")
	}
	first := "waits for its next try"
	switch s.First.Phase {
	case tx.PhaseWaiting:
		first = "is not bound yet: " + lower(s.head("").summary)
	case tx.PhaseDispatching:
		first = "is with " + either(s.First, "its worker", "its ledger") + "."
	case tx.PhaseSent, tx.PhaseWatching:
		first = "waits for " + either(s.First, "a block", "its ledger's verdict") + "."
	default:
		first += "."
	}
	who := "the first"
	if place == 2 {
		who = "the one before"
	}
	return said{fmt.Sprintf("%s in its queue; %s (%s) %s", ordinal(place), who, s.First.UID, first),
		Wait{Code: WaitQueueHead, Detail: fmt.Sprintf("%d before it", place-1)}, Next{Action: StepBind}}
}

// head says why the first of a queue is not bound. who begins the sentence.
func (s *Scene) head(who string) said {
	d := s.unbound()
	if who != "" {
		d.summary = who + "; " + lower(d.summary)
	}
	return d
}

// unbound speaks of what keeps the first of a queue: the queue, this process, the nodes
// or, last of all, the senders.
func (s *Scene) unbound() said {
	bind := Next{Action: StepBind}
	typ := s.Txn.Type
	if s.First != nil {
		typ = s.First.Type
	}
	fresh := !s.Tip.At.IsZero() && s.Now.Sub(s.Tip.At) <= 2*s.Policy.InclusionInterval
	switch {
	case s.Paused != "":
		d := said{"The queue is paused: " + tx.Short(s.Paused) + ".",
			Wait{Code: WaitPaused, Until: s.PausedUntil, Detail: tx.Short(s.Paused)}, Next{Action: StepBind, At: s.PausedUntil}}
		if s.PausedUntil.IsZero() {
			d.summary += " 'sequencer queue resume " + s.Txn.Queue + "' ends that."
			d.next = Next{Action: StepResume}
		}
		return d
	case s.notBefore().After(s.Now):
		return said{"It was posted to start no earlier than " + stamp(s.notBefore()) + ".",
			Wait{Code: WaitNotBefore, Until: s.notBefore()}, Next{Action: StepBind, At: s.notBefore()}}
	case s.Place.Holder != "":
		return said{"The worker has not yet answered the callback of the one before (" + s.Place.Holder + ").",
			Wait{Code: WaitCallback, Until: s.Place.Hold, Detail: "callback of " + s.Place.Holder},
			Next{Action: StepBind, At: s.Place.Hold}}
	case s.Place.Hold.After(s.Now):
		return s.leftAlone()
	case s.undispatched(typ):
		return said{"No process that runs dispatches " + typ + ": start one that does.",
			Wait{Code: WaitProcess, Detail: "type " + typ}, bind}
	case s.Shut != "":
		return said{"Nothing is bound now: " + s.Shut + ".", Wait{Code: WaitRecovery, Detail: s.Shut}, bind}
	case s.Txn.Open():
		return said{"An attempt of it was found on the chain or in a pool; it waits for the sender of that one.",
			Wait{Code: WaitFreeSender, Detail: "sender " + s.Txn.FirstOpen().Sender}, bind}
	case s.Txn.Ledger == "" && fresh && !s.Tip.Quorum:
		return said{"Too few Mina nodes are synced to start anything: see why they are not.", s.forNodes(), bind}
	}
	d := s.senderless()
	if s.Txn.Doubted != "" {
		d.summary = "The worker of " + s.Txn.Doubted + " calls it hopeless, as too many before it; " +
			"that of another sender is asked" + because(s.Txn.Error) + ". " + d.summary
	}
	return d
}

// notBefore is when the first of the queue may be dispatched.
func (s *Scene) notBefore() time.Time {
	if s.First != nil && s.First.Phase == tx.PhaseWaiting {
		return s.First.NotBefore
	}
	return s.Txn.NotBefore
}

// leftAlone says why the queue is left alone for a while.
func (s *Scene) leftAlone() said {
	next := Next{Action: StepBind, At: s.Place.Hold}
	switch e := s.Txn.Error; {
	case s.Txn.Deferred == 0 && s.Txn.Retries > 0 && e != nil:
		return said{fmt.Sprintf("Its last try failed%s; retry %d follows at %s. Until then other queues have its sender.",
			because(e), s.Txn.Retries, stamp(s.Place.Hold)),
			Wait{Code: WaitRetryDelay, Until: s.Place.Hold}, Next{Action: StepRetry, At: s.Place.Hold}}
	case s.Txn.Deferred == 0:
		return said{"The queue is tried again later, because one of it could not be dispatched; resume the queue to try " +
			"at once.",
			Wait{Code: WaitHeld, Until: s.Place.Hold, Detail: "the end of the hold"}, next}
	case e != nil && e.Code == tx.CodeFeeLimit:
		return said{"It would cost too much today" + because(e) + "; the queue waits for the next day.",
			Wait{Code: WaitBudget, Until: s.Place.Hold, Detail: "a budget of fees"}, next}
	}
	who, code := s.whoWasAway()
	return said{who + " was away or busy" + because(s.Txn.Error) + "; the queue is tried again later." + s.besides(),
		Wait{Code: code, Until: s.Place.Hold, Detail: "the end of the hold"}, next}
}

// undispatched reports whether no process that lives dispatches a type, as far as is known.
func (s *Scene) undispatched(typ string) bool {
	if s.Txn.Ledger != "" || s.Txn.Type == typ && s.Dispatched {
		return s.Txn.Type == typ && !s.Dispatched
	}
	return !slices.ContainsFunc(s.Living, func(b tx.Binder) bool { return b.Mute || slices.Contains(b.Types, typ) })
}

// whoWasAway is for whom a queue is left alone.
func (s *Scene) whoWasAway() (string, WaitCode) {
	if s.Txn.Ledger != "" {
		return "Ledger " + s.Txn.Ledger, WaitLedger
	}
	return "Its worker", WaitWorker
}

// besides says whom else it concerns that senders are out of use.
func (s *Scene) besides() string {
	out := 0
	for i := range s.Pool {
		if s.Pool[i].Reason != "" && s.Pool[i].Reason != tx.Idled {
			out++
		}
	}
	switch {
	case s.Limited || out == 0:
		return ""
	case out == len(s.Pool):
		return " All senders are out of use, so other queues wait, too."
	}
	are := "are"
	if out == 1 {
		are = "is"
	}
	return fmt.Sprintf(" %d of %d senders %s out of use; other queues go on with the rest.", out, len(s.Pool), are)
}

// senderless speaks of the pool of senders: whether one is free, and when one may be.
func (s *Scene) senderless() said {
	var busy, out, idled []*Candidate
	for i := range s.Pool {
		switch p := &s.Pool[i]; {
		case p.Reason == "" && p.Queue == "":
			return s.unclaimed()
		case p.Reason == tx.Idled:
			idled = append(idled, p)
		case p.Queue != "":
			busy = append(busy, p)
		default:
			out = append(out, p)
		}
	}
	if len(idled) > 0 {
		return s.unbindable(idled[0])
	}
	detail := fmt.Sprintf("%d bound to other queues, %d out of use", len(busy), len(out))
	text := "No sender is free: " + detail + "."
	if len(s.Pool) == 0 {
		text, detail = "No sender is registered.", "none is registered"
	}
	wait := Wait{Code: WaitFreeSender, Detail: detail}
	if len(out) > 0 && !s.Limited {
		text += outOfUse(out[0])
		if len(busy) == 0 { // else one of those may come back sooner
			wait.Until = firstBack(out)
		}
	}
	if s.Before > 0 {
		text += fmt.Sprintf(" In the turn %s before its queue.", queuesStand(s.Before))
	}
	return said{text, wait, Next{Action: StepBind}}
}

// firstBack is when the first of them is in use again; zero if no clock says.
func firstBack(out []*Candidate) (at time.Time) {
	for _, p := range out {
		if !p.Until.IsZero() && (at.IsZero() || p.Until.Before(at)) {
			at = p.Until
		}
	}
	return at
}

// unbindable speaks of a sender that is free, and that no process can bind.
func (s *Scene) unbindable(p *Candidate) said {
	text := "A sender is free, and no process can bind it now."
	if !s.Limited {
		text = "Sender " + p.AccountID + " is free, but " + p.Detail + "."
	}
	return said{text, Wait{Code: WaitProcess, Detail: "a process that binds it"}, Next{Action: StepBind}}
}

func queuesStand(n int) string { return counted(n, " others stand", "", "one other stands") }

// unclaimed speaks of a queue for which a sender is free. What binds it is a process that lives,
// has room, and has seen the chain lately: where that takes longer than a cycle, one of these is
// lacking; unless others stand before it, of which that would have to be said.
func (s *Scene) unclaimed() said {
	late := !s.Ready.IsZero() && s.Now.Sub(s.Ready) > s.Policy.CycleInterval
	switch {
	case s.Before > 0:
		return said{fmt.Sprintf("A sender is free, and in the turn %s before its queue.", queuesStand(s.Before)),
			Wait{Code: WaitFreeSender, Detail: fmt.Sprintf("%d queues before it", s.Before)}, Next{Action: StepBind}}
	case !late:
		return said{"A sender is free and is bound to it now.", Wait{Code: WaitNothing}, Next{Action: StepBind, At: s.Now}}
	}
	since := "A sender is free, and no process has bound it since " + stamp(s.Ready) + "; if that stays so, see "
	if s.Txn.Ledger == "" && !s.Tip.Fresh {
		return said{since + "why the Mina nodes do not answer.", s.forNodes(), Next{Action: StepBind}}
	}
	return said{since + "that a process runs that dispatches " + s.Txn.Type + ", reaches the free sender's worker, " +
		"and has room under SEQUENCER_CLAIM_LIMIT.",
		Wait{Code: WaitProcess, Detail: "type " + s.Txn.Type}, Next{Action: StepBind}}
}

// forNodes waits for a quorum of the Mina nodes.
func (s *Scene) forNodes() Wait {
	return Wait{Code: WaitNodes, Detail: fmt.Sprintf("enough synced Mina nodes, now %d", s.Tip.Synced)}
}
