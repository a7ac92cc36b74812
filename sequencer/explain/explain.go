// Package explain says in words where a transaction stands, what it waits for, and what happens next.
// It asks nobody and decides nothing: what happens next it asks package lifecycle, which knows nothing
// of it.
package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	if !s.Unstored.IsZero() && !s.Txn.Phase.Final() {
		d = s.unstored(d.next)
	}
	if s.Race != "" {
		d.summary += " " + s.Race + "."
	}
	return Explanation{
		State: s.Txn.State(), Since: s.Txn.ChangedAt, Summary: d.summary, Wait: d.wait, Next: d.next, Attempts: s.attempts(),
	}
}

// unstored says that nothing moves, whatever else is in the way.
func (s *Scene) unstored(next Next) said {
	why := ""
	if !s.Limited {
		why = " (" + tx.Short(s.Refusal) + ")"
	}
	next.At = time.Time{}
	return said{"Redis takes no writes since " + stamp(s.Unstored) + why + ", so nothing moves. It goes on by itself when Redis does.",
		Wait{Code: WaitStore, Detail: "Redis to take writes"}, next}
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
