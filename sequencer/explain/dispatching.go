package explain

import (
	"fmt"
	"time"

	"mina-sequencer/sequencer/lifecycle"
)

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
