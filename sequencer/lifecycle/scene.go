package lifecycle

import "time"

// A Scene is all that an explanation is made of. The View's Txn and Policy are needed;
// what is not known of the rest is zero.
type Scene struct {
	View
	Paused string // why the queue is, "" if it is not
	// PausedUntil is when that ends by itself; zero if it does not.
	PausedUntil time.Time
	// Ready is since when the queue waits for nothing but a sender; zero if it does not.
	Ready time.Time
	Place Place        // in the queue, of what waits
	First *Transaction // the one that Place names, where it is another
	Pool  []Candidate  // senders that could be bound, or some of them
	// Width is how many of its queue may be in flight now, and in no block; Barrier: it, or
	// the last of those that are, goes alone. Of what waits, View.Train is all that is in
	// flight, as Ahead.
	Width   int
	Barrier bool
	// Dispatched: this process dispatches its type.
	Dispatched bool
	// Asked: Sighting is what the chain says; else only what is stored is known.
	Asked bool
	Shut  string // why the process asked binds, asks and sends nothing; "" if it does
	// Limited: whoever asks sees some queues only, and of senders is told how many they are.
	Limited bool
}

// A Place is a transaction's place in its queue.
type Place struct {
	Ahead int    // waiting transactions before it
	First string // of the queue: the running one or, without one, the next; "" if there is none
	// Holder is the transaction whose callback the queue waits for, until Hold; "" with
	// a Hold: its worker was away or busy.
	Holder string
	Hold   time.Time
}

// A Candidate is a sender that may be bound.
type Candidate struct {
	AccountID string
	Queue     string // that it is bound to, "" if none
	Reason    SenderReason
	Detail    string
	Until     time.Time
}
