package harness

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A Row is one line of the state table of the contract, or one case of a line, as it
// shows in a stored change.
type Row struct {
	Name string
	Hit  func(before, after *tx.Transaction, s *lifecycle.Step) bool
}

type hit = func(before, after *tx.Transaction, s *lifecycle.Step) bool

// leads matches a change from a phase to another for one of some reasons.
func leads(from, to tx.Phase, why ...lifecycle.Reason) hit {
	return func(b, a *tx.Transaction, s *lifecycle.Step) bool {
		return b.Phase == from && a.Phase == to && slices.Contains(why, s.Reason)
	}
}

func and(f hit, also func(before, after *tx.Transaction, s *lifecycle.Step) bool) hit {
	return func(b, a *tx.Transaction, s *lifecycle.Step) bool { return f(b, a, s) && also(b, a, s) }
}

func open(_, a *tx.Transaction, _ *lifecycle.Step) bool   { return a.Open() }
func closed(_, a *tx.Transaction, _ *lifecycle.Step) bool { return !a.Open() }

func legacy(_, a *tx.Transaction, _ *lifecycle.Step) bool {
	return a.Last() != nil && a.Last().Legacy
}

func raised(b, a *tx.Transaction, _ *lifecycle.Step) bool {
	return len(a.Attempts) > len(b.Attempts)
}

func code(want string) hit {
	return func(_, _ *tx.Transaction, s *lifecycle.Step) bool { return s.Aside.Code == want }
}

// Rows are the state table of the contract.
func Rows() []Row {
	const (
		waiting, dispatching = tx.PhaseWaiting, tx.PhaseDispatching
		sent, watching       = tx.PhaseSent, tx.PhaseWatching
		failing, delayed     = tx.PhaseFailing, tx.PhaseDelayed
		done, failed         = tx.PhaseDone, tx.PhaseFailed
		unresolved           = tx.PhaseUnresolved
	)
	held := func(_, _ *tx.Transaction, s *lifecycle.Step) bool { return s.Aside.Hold > 0 }
	permanent := func(_, a *tx.Transaction, _ *lifecycle.Step) bool { return a.Ending == "" }
	return []Row{
		{"bound", leads(waiting, dispatching, lifecycle.ReasonBound)},
		{"landed", func(b, a *tx.Transaction, s *lifecycle.Step) bool {
			return b.Phase.Bound() && a.Phase == done && s.Reason == lifecycle.ReasonLanded
		}},
		{"signed", leads(dispatching, sent, lifecycle.ReasonAnswered)},
		{"refused at its first sending", leads(sent, failing, lifecycle.ReasonAnswered)},
		{"finished without a block", leads(dispatching, done, lifecycle.ReasonAnswered)},
		{"error a retry may mend", and(leads(dispatching, failing, lifecycle.ReasonAnswered), closed)},
		{"error a retry may mend, open", and(leads(dispatching, failing, lifecycle.ReasonAnswered), open)},
		{"deferred", leads(dispatching, waiting, lifecycle.ReasonDeferred)},
		{"deferred, the queue held", and(leads(dispatching, waiting, lifecycle.ReasonDeferred), held)},
		{"deferred, open", and(leads(dispatching, delayed, lifecycle.ReasonDeferred), open)},
		{"cancelled with its worker", leads(dispatching, failed, lifecycle.ReasonCancelled)},
		{"lost, asked again", leads(dispatching, dispatching, lifecycle.ReasonLost)},
		{"lost for the third time", leads(dispatching, failing, lifecycle.ReasonLost)},
		{"lost, legacy", and(leads(dispatching, sent, lifecycle.ReasonLost), legacy)},
		{"unresolvable", and(leads(dispatching, unresolved, lifecycle.ReasonAnswered), closed)},
		{"unresolvable, open", and(leads(dispatching, watching, lifecycle.ReasonAnswered), open)},
		{
			"unresolved once dead",
			and(leads(watching, unresolved, lifecycle.ReasonSettled), func(b, _ *tx.Transaction, _ *lifecycle.Step) bool {
				return b.Ending == unresolved
			}),
		},
		{"wait begun", leads(sent, watching, lifecycle.ReasonSent)},
		{"lingering, fee raised", and(leads(watching, watching, lifecycle.ReasonRaising), raised)},
		{"failed in a block, permanent", and(leads(watching, unresolved, lifecycle.ReasonSettled), permanent)},
		{"failed, expired or displaced", leads(watching, failing, lifecycle.ReasonSettled)},
		{"retries used up", and(leads(failing, failed, lifecycle.ReasonUsedUp), closed)},
		{"retries used up, open", and(leads(failing, watching, lifecycle.ReasonUsedUp), open)},
		{"retries left", leads(failing, delayed, lifecycle.ReasonDelay)},
		{"sender gone, or overtaken", leads(failing, waiting, lifecycle.ReasonBack)},
		{"sender gone, or overtaken, in the delay", leads(delayed, waiting, lifecycle.ReasonBack)},
		{"its sender wanted by others, in the delay", and(leads(delayed, waiting, lifecycle.ReasonYield), held)},
		{"overtaken by a reopened one", leads(dispatching, waiting, lifecycle.ReasonBack)},
		{
			"delay over",
			and(leads(delayed, dispatching, lifecycle.ReasonRetry), func(b, a *tx.Transaction, _ *lifecycle.Step) bool {
				return a.Retries == b.Retries+1
			}),
		},
		{
			"delay over, no retry used",
			and(leads(delayed, dispatching, lifecycle.ReasonRetry), func(b, a *tx.Transaction, _ *lifecycle.Step) bool {
				return a.Retries == b.Retries
			}),
		},
		{"cancelled while waiting", leads(waiting, failed, lifecycle.ReasonCancelled)},
		{"cancelled in the delay", leads(delayed, failed, lifecycle.ReasonCancelled)},
		{"cancel asked for, open", and(func(b, a *tx.Transaction, s *lifecycle.Step) bool {
			return a.CancelRequested && !b.CancelRequested
		}, open)},
		{"retried by a person", leads(failed, waiting, lifecycle.ReasonOrdered)},
		{"retried by a person, unresolved", leads(unresolved, waiting, lifecycle.ReasonOrdered)},
		{"outcome unknown", leads(watching, unresolved, lifecycle.ReasonAmbiguous)},
		{"said to be dead", leads(unresolved, unresolved, lifecycle.ReasonOrdered)},
		{"landed late", leads(unresolved, done, lifecycle.ReasonLanded)},
		{"orphaned", and(leads(done, done, lifecycle.ReasonOrphaned), code(tx.CodeOrphaned))},
		{"landed again", and(leads(done, done, lifecycle.ReasonLanded), code(tx.CodeRelanded))},
		{"cannot land any more", leads(done, waiting, lifecycle.ReasonSettled)},
		{"final", leads(done, done, lifecycle.ReasonFinal)},
	}
}
