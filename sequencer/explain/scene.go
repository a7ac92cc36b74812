package explain

import (
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A Scene is all that an explanation is made of. The View's Txn and Policy are needed;
// what is not known of the rest is zero.
type Scene struct {
	lifecycle.View
	Paused string // why the queue is, "" if it is not
	// PausedUntil is when that ends by itself; zero if it does not.
	PausedUntil time.Time
	// Ready is since when the queue waits for nothing but a sender; zero if it does not.
	Ready  time.Time
	Before int             // ready queues that are bound before its own, as the turn stands
	Place  tx.Place        // in the queue, of what waits
	First  *tx.Transaction // the one that Place names, where it is another
	Pool   []Candidate     // senders that could be bound, or some of them
	// Living are the processes that live.
	Living []tx.Binder
	// Width is how many of its queue may be in flight now, and in no block; Barrier says why it
	// may not be in flight beside the last of those that are, "" if it may. Of what waits,
	// View.Train is all that is in flight, as Ahead.
	Width   int
	Barrier string
	// Race says that its queue races with another, as a sentence without its full stop; "" if nobody has seen that.
	Race string
	// Dispatched: this process dispatches its type.
	Dispatched bool
	// Asked: Sighting is what the chain says; else only what is stored is known.
	Asked bool
	// Unproved is since when it waits for one of so many provers of a pool; zero if it does not.
	Unproved time.Time
	Provers  int
	// Unstored is since when Redis takes no writes, zero if it does; Refusal is what it says.
	Unstored time.Time
	Refusal  string
	Shut     string // why the process asked binds, asks and sends nothing; "" if it does
	// Limited: whoever asks sees some queues only, and of senders is told how many they are.
	Limited bool
}

// A Candidate is a sender that may be bound.
type Candidate struct {
	AccountID string
	Queue     string // that it is bound to, "" if none
	Reason    tx.SenderReason
	Detail    string
	Until     time.Time
}
