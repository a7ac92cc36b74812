package sequencer

import (
	"time"

	"mina-sequencer/queues"
)

// A Meter is told what happens, for figures. Its functions are called concurrently,
// after what they tell of is stored, and must not wait; one that is nil is not
// called.
type Meter struct {
	Moved    func(Move)
	Settled  func(Settlement)
	Called   func(WorkerCall)
	Raised   func(typ string) // the fee of an open attempt
	TookOver func(transactions int)
}

// A Move is one decision about a transaction.
type Move struct {
	Type     string
	Event    Event
	From, To lifecycle.Phase
	Retry    bool // the try that begins counts as a retry
	// Lasted is how long the transaction was in From, Age how long ago it was
	// accepted; negative where that is not known.
	Lasted, Age time.Duration
}

// A Settlement is an attempt that was included in a block, and has cost its fee.
type Settlement struct {
	Type, Sender string
	Fee          uint64 // nanomina
	Failed       bool   // in that block
	// Waited is the time since this process first sent what might have landed, Blocks
	// how many blocks came since, its own included; 0 if another process did.
	Waited time.Duration
	Blocks int
}

// A WorkerCall is a call of a worker: "prove", "resign", "dispatch" or "report".
type WorkerCall struct {
	Type, Call string
	Took       time.Duration
	Failed     bool
}

func tell[T any](to func(T), what T) {
	if to != nil {
		to(what)
	}
}

// timed tells how long a call of a worker took that began at a time.
func (s *Sequencer) timed(typ, call string, began time.Time, err error) {
	tell(s.Meter.Called, WorkerCall{Type: typ, Call: call, Took: time.Since(began), Failed: err != nil})
}

// moved tells of a stored decision.
func (s *Sequencer) moved(t *lifecycle.Transaction, e Event, from lifecycle.Phase, since time.Time, retry bool) {
	m := Move{Type: t.Type, Event: e, From: from, To: t.Phase, Retry: retry, Lasted: -1, Age: -1}
	if !since.IsZero() && t.Phase != from {
		m.Lasted = t.ChangedAt.Sub(since)
	}
	if !t.ReceivedAt.IsZero() {
		m.Age = s.now().Sub(t.ReceivedAt)
	}
	tell(s.Meter.Moved, m)
}

// settled tells that an attempt of h is in a block.
func (s *Sequencer) settled(h *held, a *lifecycle.Attempt) {
	x := Settlement{Type: h.t.Type, Sender: a.Sender, Fee: a.Fee, Failed: a.Outcome == lifecycle.FailedIn}
	if !h.sentFirst.IsZero() {
		x.Waited = time.Since(h.sentFirst)
	}
	if h.sentHeight > 0 && a.Height > h.sentHeight {
		x.Blocks = int(a.Height - h.sentHeight)
	}
	tell(s.Meter.Settled, x)
}

// A Standing is how a process stands to the others, and to Redis.
type Standing struct {
	Claims     int  // transactions that it drives or watches
	Bound      int  // those of them that have a sender
	Live       bool // it may call workers and send
	Recovering string
}

// Standing says how this process stands.
func (s *Sequencer) Standing() Standing {
	x := Standing{Bound: s.boundQueues(), Live: s.live(), Recovering: s.Recovering()}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Claims = len(s.held)
	return x
}
