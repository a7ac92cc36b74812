package sequencer

import (
	"errors"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A Meter is told what happens, for figures. Its functions are called concurrently,
// after what they tell of is stored, and must not wait; one that is nil is not
// called.
type Meter struct {
	Moved    func(Move)
	Included func(Inclusion)
	Called   func(WorkerCall)
	Posted   func(Post)       // a batch, to a ledger; Called is told of it too
	Raised   func(typ string) // the fee of an open attempt
	Apart    func(typ string) // what was made behind others in flight may not be there beside them
	TookOver func(transactions int)
	Looked   func(offers bool) // at the pool of a node: at its size and, with offers, at all of it
}

// A Move is one stored change of a transaction.
type Move struct {
	Type     string
	Ledger   string           // that a batch is for, else ""
	Queue    string           // that it stands in
	Key      string           // name of the API key that it was posted with, "" for none
	Reason   lifecycle.Reason // of the decision, or of what was learnt
	From, To tx.Phase
	Failure  string // its class, see [lifecycle.Step.Failure]; "" if it is none
	Retry    bool   // the try that begins counts as a retry
	Orphaned bool   // what was DONE is in no block any more
	// Lasted is how long the transaction was in From, Age how long ago it was
	// accepted; negative where that is not known.
	Lasted, Age time.Duration
}

// An Inclusion is an attempt that was included in a block, and has cost its fee.
type Inclusion struct {
	Type, Sender string
	Fee          uint64     // nanomina
	Quote        fees.Quote // that it was estimated from
	Failed       bool       // in that block
	Beside       bool       // the one before it of its queue is in that block, too
	Touched      []tx.Account
	// Waited is the time since this process first sent what might have landed, Blocks
	// how many blocks came since, its own included; 0 if another process did.
	Waited time.Duration
	Blocks int
}

// A Post is a batch that was posted to its ledger, and the answer, one of [Answers].
type Post struct {
	Ledger, Answer string
	Took           time.Duration
}

// A WorkerCall is a call of a worker: "prove", "resign", "dispatch", "simulate" or
// "report"; or "submit", of a ledger.
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

// moved tells of a stored change.
func (s *Sequencer) moved(before, t *tx.Transaction, step *lifecycle.Step) {
	if s.Observe != nil {
		s.Observe(before, t, step)
	}
	m := Move{
		Type: t.Type, Ledger: t.Ledger, Queue: t.Queue, Key: t.PostedBy, Reason: step.Reason,
		From: before.Phase, To: t.Phase, Lasted: -1, Age: -1,
		Retry: t.Retries > before.Retries, Failure: step.Failure(before), Orphaned: t.Reopened && !before.Reopened,
	}
	if !before.ChangedAt.IsZero() && t.Phase != before.Phase {
		m.Lasted = t.ChangedAt.Sub(before.ChangedAt)
	}
	if !t.ReceivedAt.IsZero() {
		m.Age = s.Now().Sub(t.ReceivedAt)
	}
	tell(s.Meter.Moved, m)
	s.ways(before, t)
	if len(t.Attempts) > len(before.Attempts) && before.Phase == tx.PhaseWatching {
		tell(s.Meter.Raised, t.Type)
	}
}

// boundHere tells of a transaction that was bound just now.
func (s *Sequencer) boundHere(t *tx.Transaction) {
	before := *t
	before.Phase, before.ChangedAt = tx.PhaseWaiting, time.Time{}
	if t.Revision == 1 {
		before.ChangedAt = t.ReceivedAt
	}
	s.moved(&before, t, &lifecycle.Step{Txn: t, Reason: lifecycle.ReasonBound})
}

// included tells of the attempts that are in a block now.
func (o *owner) included(before, t *tx.Transaction) {
	local := o.drive.Local()
	if t.Ledger != "" {
		return // it costs nothing, and is in no block of Mina
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		was := i < len(before.Attempts) && before.Attempts[i].Spent()
		if !a.Spent() || was || before.Reopened {
			continue
		}
		x := Inclusion{Type: t.Type, Sender: a.Sender, Fee: a.Fee, Quote: a.Quote, Failed: a.Failed(),
			Touched: a.Touched}
		if !x.Failed {
			x.Beside, o.train.height = o.train.height == a.Height, a.Height
		}
		if !local.FirstSent.IsZero() {
			x.Waited = time.Since(local.FirstSent)
		}
		if local.FirstHeight > 0 && a.Height > local.FirstHeight {
			x.Blocks = int(a.Height - local.FirstHeight)
		}
		tell(o.s.Meter.Included, x)
		var err error
		if x.Failed && a.Error != nil {
			err = errors.New(a.Error.Code)
		}
		o.s.passed(t, "included", a.Number, time.Now().Add(-x.Waited), err)
	}
}

// A Standing is how a process stands to the others, and to Redis.
type Standing struct {
	Claims     int  // transactions that it drives or watches
	Bound      int  // those of them that have a sender
	Trains     int  // queues of which it has several in flight
	Longest    int  // the most that it has in flight of one queue
	Live       bool // it may call workers and send
	Recovering string
	// Ahead is how far this process's clock is ahead of that of Redis, as its last cycle saw it.
	Ahead time.Duration
}

// ClockSlack is how far two clocks may be apart before anything suffers.
const ClockSlack = 5 * time.Second

// Standing says how this process stands.
func (s *Sequencer) Standing() Standing {
	x := Standing{Live: s.live(), Recovering: s.Recovering(), Ahead: -time.Duration(s.skew.Load())}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Claims = len(s.owners)
	for _, o := range s.owners {
		if o.bound.Load() {
			x.Bound++
		}
	}
	for _, t := range s.trains {
		n := int(t.size.Load())
		if n > 1 {
			x.Trains++
		}
		x.Longest = max(x.Longest, n)
	}
	return x
}
