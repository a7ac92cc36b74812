package tx

// State is where a transaction stands, as its owner sees it.
type State string

const (
	Waiting     State = "WAITING"     // in its queue; a bind moves it on
	Dispatching State = "DISPATCHING" // the worker has it, or it is being sent; the claiming process moves it on
	Revision    State = "REVISION"    // it may be on its way into a block; the chain moves it on
	Retry       State = "RETRY"       // it failed and will be tried again; the clock moves it on
	Done        State = "DONE"        // final; only a reorganisation of the chain can reopen it
	Failed      State = "FAILED"      // final: retries used up, or cancelled; a person may retry it
	Unresolved  State = "UNRESOLVED"  // final: no retry can mend it, or only a person can resolve it
)

// States are all states a transaction can be in, in the order of its way.
var States = []State{Waiting, Dispatching, Revision, Retry, Done, Failed, Unresolved}

// Final reports whether s is left only by a person's hand or a reorganisation.
func (s State) Final() bool {
	return s == Done || s == Failed || s == Unresolved
}

// QueueState is what a queue, and the sender bound to it, are doing.
type QueueState string

const (
	QueueFree             QueueState = "FREE"              // no sender is bound
	QueueBlocked          QueueState = "BLOCKED"           // bound, dispatching
	QueueInclusion        QueueState = "INCLUSION"         // dispatched with success, the wait not yet started
	QueueWaitingInclusion QueueState = "WAITING_INCLUSION" // waiting for a block
	QueueRetry            QueueState = "RETRY"             // failed, the delay not yet started
	QueueDelay            QueueState = "DELAY"             // waiting for the next try
)

// QueueStates are all states that a queue can be in, in the order of a transaction's way.
var QueueStates = []QueueState{
	QueueFree, QueueBlocked, QueueInclusion, QueueWaitingInclusion, QueueRetry, QueueDelay,
}

// Phase is a transaction's state and its queue's state in one. It is the only
// one of them that is stored; the two views are derived from it, so that they
// can never contradict each other.
type Phase string

const (
	PhaseWaiting     Phase = "waiting"
	PhaseDispatching Phase = "dispatching"
	PhaseSent        Phase = "sent"
	PhaseWatching    Phase = "watching"
	PhaseFailing     Phase = "failing"
	PhaseDelayed     Phase = "delayed"
	PhaseDone        Phase = "done"
	PhaseFailed      Phase = "failed"
	PhaseUnresolved  Phase = "unresolved"
)

// Phases are all phases, in the order of a transaction's way.
var Phases = []Phase{
	PhaseWaiting, PhaseDispatching, PhaseSent, PhaseWatching, PhaseFailing,
	PhaseDelayed, PhaseDone, PhaseFailed, PhaseUnresolved,
}

var phaseViews = map[Phase]struct {
	state State
	queue QueueState
}{
	PhaseWaiting:     {Waiting, QueueFree},
	PhaseDispatching: {Dispatching, QueueBlocked},
	PhaseSent:        {Revision, QueueInclusion},
	PhaseWatching:    {Revision, QueueWaitingInclusion},
	PhaseFailing:     {Retry, QueueRetry},
	PhaseDelayed:     {Retry, QueueDelay},
	PhaseDone:        {Done, QueueFree},
	PhaseFailed:      {Failed, QueueFree},
	PhaseUnresolved:  {Unresolved, QueueFree},
}

// Valid reports whether p is a phase.
func (p Phase) Valid() bool { return phaseViews[p].state != "" }

// State is the transaction's view of p.
func (p Phase) State() State { return phaseViews[p].state }

// Queue is the view that the queue and its sender have of p.
func (p Phase) Queue() QueueState { return phaseViews[p].queue }

// Bound reports whether a sender is bound in p.
func (p Phase) Bound() bool { return p.Queue() != QueueFree }

// Final reports whether p ends a transaction.
func (p Phase) Final() bool { return p.State().Final() }
