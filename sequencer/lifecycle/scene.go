package lifecycle

import (
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Scene is all that an explanation is made of. The View's Txn and Policy are needed;
// what is not known of the rest is zero.
type Scene struct {
	View
	Paused string // why the queue is, "" if it is not
	// PausedUntil is when that ends by itself; zero if it does not.
	PausedUntil time.Time
	// Ready is since when the queue waits for nothing but a sender; zero if it does not.
	Ready  time.Time
	Before int             // ready queues that are bound before its own, as the turn stands
	Place  Place           // in the queue, of what waits
	First  *tx.Transaction // the one that Place names, where it is another
	Pool   []Candidate     // senders that could be bound, or some of them
	// Living are the processes that live.
	Living []Binder
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
	Shut     string // why the process asked binds, asks and sends nothing; "" if it does
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

// A Binder is a process that lives, as it tells of itself when it renews its claims.
type Binder struct {
	Process string   `json:"-"`
	Mute    bool     `json:"-"`               // it says nothing of itself, as one of an older version
	Types   []string `json:"types,omitempty"` // to Mina, that it dispatches
	Local   []string `json:"local,omitempty"` // senders whose workers it runs, and that take calls
	// Why it binds no sender of Mina now, as a clause, and since when; "" if it does.
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Shut is why it asks and sends nothing of what it drives either; "" if it does.
	Shut string `json:"shut,omitempty"`
	// Unconfirmed is since when too few replicas of Redis confirm what it stores, so that it sends
	// nothing; zero if they do.
	Unconfirmed time.Time `json:"unconfirmed,omitzero"`
}

// Idle says why none of those that live binds a free sender, as clauses with what to do, and "" if
// one does. local: its worker runs with a process.
func Idle(living []Binder, account string, local bool) string {
	why := ""
	for i := range living {
		b := &living[i]
		switch {
		case b.Mute, len(b.Types) > 0 && b.Why == "" && (!local || slices.Contains(b.Local, account)):
			return ""
		case len(b.Types) == 0, local && !slices.Contains(b.Local, account):
		case why == "":
			why = "no process binds it: " + b.Why + " (process " + b.Process + ", since " + stamp(b.Since) + ")"
		}
	}
	runs := slices.ContainsFunc(living, func(b Binder) bool { return len(b.Types) > 0 })
	switch {
	case why != "":
		return why
	case !runs:
		return "no process binds it, for none runs that dispatches to Mina: start one"
	}
	return "its worker belongs to a process that is gone, or does not take calls: start that process again, see its " +
		"log, or register the sender with another worker"
}

// A Candidate is a sender that may be bound.
type Candidate struct {
	AccountID string
	Queue     string // that it is bound to, "" if none
	Reason    tx.SenderReason
	Detail    string
	Until     time.Time
}
