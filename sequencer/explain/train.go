package explain

import (
	"fmt"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// amongOthers speaks of those of its queue that are in flight along with it, or before it.
func (s *Scene) amongOthers(d said) said {
	switch t := s.Txn; {
	case t.Phase == tx.PhaseWaiting:
		return s.joining(d)
	case t.Phase.Bound():
		return s.member(d)
	}
	return d
}

// joining says why what is next of its queue is not in flight behind the others yet.
func (s *Scene) joining(d said) said {
	around := s.Train.Walk()
	last := around.Last
	if s.Width < 2 || s.Place.Ahead > 0 || last == nil {
		return d
	}
	wait := func(code WaitCode, format string, args ...any) said {
		detail := fmt.Sprintf("%d in flight ahead, %d of them in no block", len(s.Train.Ahead), around.Waiting)
		return said{"Next of its queue; " + fmt.Sprintf(format, args...), Wait{Code: code, Detail: detail}, d.next}
	}
	switch {
	case s.Paused != "":
		return wait(WaitHeld, "the queue is paused (%s), and nothing joins those in flight.", tx.Short(s.Paused))
	case s.outOfUse(last.Txn.Sender) != "":
		why := s.outOfUse(last.Txn.Sender)
		if s.Limited {
			why = ""
		}
		return wait(WaitHeld, "the sender of those in flight is out of use, and nothing joins them.%s", why)
	case s.Place.Holder == "" && s.Place.Hold.After(s.Now):
		held := wait(WaitHeld, "the queue is tried again later, and until then nothing joins those in flight.")
		held.wait.Until = s.Place.Hold
		return held
	case s.notBefore().After(s.Now):
		return s.unbound()
	case slices.ContainsFunc(s.Train.Ahead, lost):
		return wait(WaitBroken, "one in flight (%s) will not come as it was to, and nothing joins.",
			s.Train.Ahead[slices.IndexFunc(s.Train.Ahead, lost)].Txn.UID)
	case s.Barrier != "":
		return wait(WaitBarrier, "it waits for all in flight, because %s.", s.Barrier)
	case around.Waiting >= s.Width:
		return wait(WaitBehind, "%d of it are pending, and no more may be at once.", s.Width)
	}
	when := "a node has taken the last of them (%s)"
	if s.Train.SideBySide() {
		when += ", or their worker, if it makes several at a time, has room for one more"
	}
	return wait(WaitBehind, "it joins those in flight when "+when+", unless another queue waits for a sender.",
		last.Txn.UID)
}

// outOfUse says why a sender is, "" if it is in use.
func (s *Scene) outOfUse(account string) string {
	i := slices.IndexFunc(s.Pool, func(c Candidate) bool { return c.AccountID == account })
	if i < 0 || s.Pool[i].Reason == "" {
		return ""
	}
	return outOfUse(&s.Pool[i])
}

// member says what is ahead of, and behind, what is in flight itself.
func (s *Scene) member(d said) said {
	t, around := s.Txn, s.Train.Walk()
	ahead, behind := len(s.Train.Ahead), len(s.Train.Behind)
	switch {
	case s.StaysBehind():
		return said{"It failed because one ahead of it had. It keeps its place, and is made anew when those ahead are in " +
			"flight again and half of them in a block.",
			Wait{Code: WaitBroken, Detail: fmt.Sprintf("%d ahead", ahead)}, Next{Action: StepAskWorker}}
	case t.Phase == tx.PhaseWatching && !t.Open():
		return said{fmt.Sprintf("Nothing of it is out, and it leaves its sender when the %d behind it have gone back.",
			behind),
			Wait{Code: WaitBroken, Detail: fmt.Sprintf("%d behind", behind)}, Next{Action: StepWatch}}
	case around.Broken != nil && t.Open():
		d.summary += fmt.Sprintf(" What is ahead of it (%s) will not come as it was to: "+
			"the chain settles what becomes of it.", around.Broken.Txn.UID)
		d.wait.Code, d.next = WaitBroken, Next{Action: StepWatch}
	case around.Lost() != nil:
		then := "and is made anew"
		if last := t.Last(); last != nil && (last.State == tx.Unplaced || last.ProvedAhead()) {
			then = "with its proof when it has one"
		}
		return said{fmt.Sprintf("What is ahead of it (%s) will not come as it was to: "+
			"it goes back to its place, %s.", around.Lost().Txn.UID, then),
			Wait{Code: WaitBroken, Detail: fmt.Sprintf("%d ahead", ahead)}, Next{Action: StepBind}}
	case s.hasFailed() && around.SuccessorOpen:
		why := " Made on it were the %d behind it: nothing is tried before none of them can land."
		if s.Train.Commuting {
			why = " It is tried again when the %d behind it, which do not need it, have landed or cannot land."
		}
		d.summary += fmt.Sprintf(why, behind)
		d.wait = Wait{Code: WaitBroken, Detail: fmt.Sprintf("%d behind", behind)}
	case ahead > 0:
		return s.follower(d)
	}
	return d
}

// hasFailed reports whether its last try has come to nothing, and there may be another.
func (s *Scene) hasFailed() bool {
	t := s.Txn
	return t.Phase == tx.PhaseFailing || t.Phase == tx.PhaseDelayed || t.Phase == tx.PhaseDispatching && !t.Open()
}

// follower says what is ahead of what goes on in its order.
func (s *Scene) follower(d said) said {
	t, ahead, first := s.Txn, len(s.Train.Ahead), s.Train.Walk().First
	switch {
	case s.hasFailed() && t.Deferred > 0 && (t.Last() == nil || !t.Last().Pending()):
		again := "It went back to its place once; it is made again when the %d ahead of it are in a block."
		return said{fmt.Sprintf(again, ahead),
			Wait{Code: WaitHeld, Detail: fmt.Sprintf("%d ahead", ahead)}, Next{Action: StepAskWorker}}
	case t.Last().ProvedAhead():
		return said{"It was proved while one ahead of it was: it is signed at its nonce, and sent, " +
			"when a node has taken that.",
			Wait{Code: WaitBehind, Detail: fmt.Sprintf("%d ahead", ahead)}, Next{Action: StepAskWorker}}
	case first != nil:
		d.summary += fmt.Sprintf(" %d of its queue are in flight ahead of it; the first in no block is %s.",
			ahead, first.Txn.UID)
		g := &s.Sighting
		if d.wait.Code == WaitSending || g.Fate == tx.FateIncluded && g.Depth >= s.Policy.Confirmations {
			d.wait.Code = WaitBehind
		}
	}
	return d
}

// lost reports whether an attempt of m has come to nothing, so that there is to be another.
func lost(m lifecycle.Member) bool {
	return !m.InOrder() && m.Txn.Phase != tx.PhaseDispatching || m.Txn.Phase == tx.PhaseDispatching &&
		m.Txn.Last() != nil &&
		!m.Txn.Last().Pending() && !m.Txn.Last().ProvedAhead()
}
