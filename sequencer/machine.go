package sequencer

import "mina-sequencer/queues"

// An Event is something that happened to a transaction.
type Event string

const (
	Bound      Event = "bound"      // a free sender was bound to its queue
	Accepted   Event = "accepted"   // a node took it, or it was sent and the answer is unknown
	Finished   Event = "finished"   // its worker finished it without a block
	Erred      Event = "erred"      // an error that a retry may mend
	Hopeless   Event = "hopeless"   // an error that no retry can mend
	Unreached  Event = "unreached"  // the worker was not reached, or is busy
	Lost       Event = "lost"       // the process, the worker or its answer got lost with the request in hand
	WaitBegun  Event = "wait-begun" // the chain is being watched for it
	Vanished   Event = "vanished"   // in no pool and no block, and not expired
	Lingering  Event = "lingering"  // pooled for longer than a fee is given
	Landed     Event = "landed"     // succeeded in a block deep enough
	FailedIn   Event = "failed-in"  // failed in a settled block; a retry may mend it
	Rejected   Event = "rejected"   // failed in a settled block; no retry can mend it
	Died       Event = "died"       // expired, or its nonce settled on a stranger's command
	Ambiguous  Event = "ambiguous"  // a legacy worker's: nowhere to be seen for too long
	Weighed    Event = "weighed"    // after an error: is there to be another try?
	DelayOver  Event = "delay-over" // the delay before the next try is over
	Cancelled  Event = "cancelled"  // a person takes it back
	RetryAsked Event = "retry-asked"
	DeadSaid   Event = "dead-said" // a person says that nothing of it will land
	Orphaned   Event = "orphaned"  // its block left the best chain
	Unlandable Event = "unlandable"
	Finalised  Event = "finalised" // its block stands deep enough to forget it
	Astray     Event = "astray"    // a legacy worker used another nonce than it was given
)

// Events are all events.
var Events = []Event{
	Bound, Accepted, Finished, Erred, Hopeless, Unreached, Lost, WaitBegun, Vanished, Lingering, Landed,
	FailedIn, Rejected, Died, Ambiguous, Weighed, DelayOver, Cancelled, RetryAsked, DeadSaid, Orphaned,
	Unlandable, Finalised, Astray,
}

// A Situation is all that a decision depends on besides the event.
type Situation struct {
	Phase       lifecycle.Phase
	Open        bool            // an attempt might still land
	Legacy      bool            // the latest attempt is one of a worker that sends by itself
	Losses      int             // of the dispatch under way, before this event
	RetriesLeft bool            // the policy allows another try
	FeeAtCap    bool            // the fee cannot be raised any more
	Unusable    bool            // the bound sender is drained, stopped or gone
	Overtaken   bool            // an earlier transaction of the queue waits again
	Cancelled   bool            // a cancel was asked for while an attempt was open
	Ending      lifecycle.Phase // final phase to take once nothing is open, "" if it may be tried again
	Reopened    bool            // it was DONE and its block is gone
	Pending     bool            // the last dispatch never got to the worker: the next one is no retry
}

// An Action is what the process does after the change is stored.
type Action string

const (
	Nothing     Action = ""
	TryNew      Action = "try"         // dispatch an attempt
	AskAgain    Action = "ask-again"   // ask for the same attempt again
	SendAgain   Action = "send-again"  // send the same bytes again
	RaiseFee    Action = "raise-fee"   // same nonce, higher fee
	RestSender  Action = "rest-sender" // its worker needs time
	StopSender  Action = "stop-sender" // until a person settles what it sent
	CountRetry  Action = "retry"       // TryNew, and it counts as a retry
	FlagCancel  Action = "flag-cancel"
	DropWatched Action = "drop" // forget signed bytes and watch
)

// A Decision is where an event leads.
type Decision struct {
	To     lifecycle.Phase
	Via    lifecycle.Phase // passed on the way, see Sequencer.waiting
	Do     Action
	Ending lifecycle.Phase // to remember; Situation.Ending if unchanged
	Code   string          // of the event in the log, for what its phases do not tell
}

// maxLosses is how often the same attempt is asked for when the answer got
// lost; the last loss is an error like any other.
const maxLosses = 3

// Codes of decisions, as they appear in the event log and as error codes.
const (
	CodeLate           = "LATE"
	CodeReopened       = "REOPENED"
	CodeCancelled      = "CANCELLED"
	CodeOutcomeUnknown = "OUTCOME_UNKNOWN"
	CodeOrphaned       = "ORPHANED"
	CodeRelanded       = "RELANDED"
	CodeFinal          = "FINAL"
	CodeNonceIgnored   = "NONCE_IGNORED"
)

// Next is the state machine: what an event means for a transaction. It reports
// false for an event that means nothing in the phase, and the transaction stays
// as it is. It is a pure function; nothing else decides about phases.
//
// Three rules stand above the table. A transaction that has landed is DONE,
// whatever was planned for it. While an attempt is open, the sender stays. What
// has an Ending takes it as soon as nothing is open.
func Next(s Situation, e Event) (Decision, bool) {
	stay := Decision{To: s.Phase, Ending: s.Ending}
	to := func(p lifecycle.Phase) Decision { return Decision{To: p, Ending: s.Ending} }

	if e == Landed {
		switch s.Phase {
		case lifecycle.PhaseDone:
			if !s.Reopened {
				return stay, false
			}
			return Decision{To: lifecycle.PhaseDone, Code: CodeRelanded}, true
		case lifecycle.PhaseFailed, lifecycle.PhaseUnresolved:
			return Decision{To: lifecycle.PhaseDone, Code: CodeLate}, true
		}
		return Decision{To: lifecycle.PhaseDone}, true
	}
	if e == Cancelled && !s.Phase.Final() {
		switch s.Phase {
		case lifecycle.PhaseWaiting, lifecycle.PhaseFailing, lifecycle.PhaseDelayed:
			if !s.Open {
				return Decision{To: lifecycle.PhaseFailed, Code: CodeCancelled}, true
			}
		}
		stay.Do = FlagCancel
		return stay, true
	}

	switch s.Phase {
	case lifecycle.PhaseWaiting:
		if e == Bound {
			return Decision{To: lifecycle.PhaseDispatching, Do: TryNew}, true
		}

	case lifecycle.PhaseDispatching:
		switch e {
		case Accepted:
			return to(lifecycle.PhaseSent), true
		case Finished:
			if s.Open {
				// An earlier attempt may still land, and holds its sender's nonce.
				return Decision{To: lifecycle.PhaseWatching, Ending: lifecycle.PhaseDone}, true
			}
			return Decision{To: lifecycle.PhaseDone}, true
		case Erred:
			return to(lifecycle.PhaseFailing), true
		case Hopeless:
			if s.Open {
				return Decision{To: lifecycle.PhaseWatching, Ending: lifecycle.PhaseUnresolved}, true
			}
			return Decision{To: lifecycle.PhaseUnresolved}, true
		case Unreached:
			d := to(lifecycle.PhaseWaiting)
			switch {
			case s.Open:
				d.To = lifecycle.PhaseDelayed
			case s.Cancelled:
				// Back in its queue it would be tried anew.
				d = Decision{To: lifecycle.PhaseFailed, Code: CodeCancelled}
			}
			d.Do = RestSender
			return d, true
		case Lost:
			if s.Legacy {
				return to(lifecycle.PhaseSent), true
			}
			if s.Losses+1 >= maxLosses {
				return to(lifecycle.PhaseFailing), true
			}
			stay.Do = AskAgain
			return stay, true
		}

	case lifecycle.PhaseSent:
		if e == WaitBegun {
			return to(lifecycle.PhaseWatching), true
		}

	case lifecycle.PhaseWatching:
		switch e {
		case Vanished:
			// Nobody but a legacy worker has its bytes; and what a person has
			// cancelled is not helped along.
			if !s.Legacy && !s.Cancelled {
				stay.Do = SendAgain
				return stay, true
			}
		case Lingering:
			switch {
			case s.Legacy, s.Cancelled:
			case s.FeeAtCap, s.Ending != "":
				stay.Do = SendAgain
				return stay, true
			default:
				stay.Do = RaiseFee
				return stay, true
			}
		case FailedIn, Died:
			return s.settled(lifecycle.PhaseFailing), true
		case Rejected:
			if s.Ending == lifecycle.PhaseDone {
				return Decision{To: lifecycle.PhaseDone}, true
			}
			return Decision{To: lifecycle.PhaseUnresolved}, true
		case Astray:
			if s.Legacy {
				stay.Code = CodeNonceIgnored
				return stay, true
			}
		case Ambiguous:
			return Decision{To: lifecycle.PhaseUnresolved, Do: StopSender, Code: CodeOutcomeUnknown}, true
		}

	case lifecycle.PhaseFailing:
		if e == Weighed {
			return s.weigh(), true
		}

	case lifecycle.PhaseDelayed:
		switch e {
		case Weighed:
			if d := s.weigh(); d.To != lifecycle.PhaseDelayed {
				return d, true
			}
		case DelayOver:
			if d := s.weigh(); d.To != lifecycle.PhaseDelayed {
				return d, true
			}
			d := to(lifecycle.PhaseDispatching)
			d.Do = CountRetry
			if s.Pending {
				d.Do = TryNew
			}
			return d, true
		}

	case lifecycle.PhaseDone:
		switch e {
		case Orphaned:
			if !s.Reopened {
				return Decision{To: lifecycle.PhaseDone, Do: SendAgain, Code: CodeOrphaned}, true
			}
		case Vanished, Lingering:
			if s.Reopened {
				return Decision{To: lifecycle.PhaseDone, Do: SendAgain}, true
			}
		case Unlandable:
			if s.Reopened {
				return Decision{To: lifecycle.PhaseWaiting, Code: CodeReopened}, true
			}
		case Ambiguous:
			if s.Reopened {
				return Decision{To: lifecycle.PhaseUnresolved, Do: StopSender, Code: CodeOutcomeUnknown}, true
			}
		case Finalised:
			if !s.Reopened {
				return Decision{To: lifecycle.PhaseDone, Do: DropWatched, Code: CodeFinal}, true
			}
		}

	case lifecycle.PhaseFailed, lifecycle.PhaseUnresolved:
		switch e {
		case RetryAsked:
			if !s.Open {
				return Decision{To: lifecycle.PhaseWaiting}, true
			}
		case DeadSaid:
			if s.Open {
				return Decision{To: s.Phase, Do: DropWatched}, true
			}
		case FailedIn, Died, Rejected:
			// What a person was asked to settle has settled itself.
			if s.Open {
				return Decision{To: s.Phase, Do: DropWatched}, true
			}
		}
	}
	return stay, false
}

// settled is the decision when the last open attempt is dead and there may be
// another try.
func (s Situation) settled(again lifecycle.Phase) Decision {
	switch {
	case s.Ending != "":
		return Decision{To: s.Ending}
	case s.Cancelled:
		return Decision{To: lifecycle.PhaseFailed, Code: CodeCancelled}
	}
	return Decision{To: again}
}

// weigh decides whether there is another try, and by whom.
func (s Situation) weigh() Decision {
	switch {
	case s.Phase == lifecycle.PhaseFailing && (!s.RetriesLeft || s.Cancelled), s.Phase == lifecycle.PhaseDelayed && s.Cancelled:
		if s.Open {
			return Decision{To: lifecycle.PhaseWatching, Ending: lifecycle.PhaseFailed}
		}
		if s.Cancelled {
			return Decision{To: lifecycle.PhaseFailed, Code: CodeCancelled}
		}
		return Decision{To: lifecycle.PhaseFailed}
	case !s.Open && (s.Unusable || s.Overtaken):
		return Decision{To: lifecycle.PhaseWaiting}
	}
	return Decision{To: lifecycle.PhaseDelayed, Ending: s.Ending}
}
