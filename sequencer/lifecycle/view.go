package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// A View is everything that a decision may depend on, as one process knows it. What is
// not known yet is absent, and may be asked for: a question is an effect like any other.
type View struct {
	Txn      *tx.Transaction
	Policy   *Policy // RetryDepth is that of the type
	Tip      Tip
	Sighting tx.Sighting // of what WatchOf names, by the last look at the chain
	Local    Local
	Train    Train       // what else of its queue is in flight on its sender
	Batch    Batch       // of what is for a ledger
	Market   fees.Market // where fees go by it
	// LastAccepted is when a node last accepted what this process gave it, of any transaction, by its clock.
	// Halted is when one last said that the network takes nothing from anybody; zero if something
	// has passed since, the chain has begun anew, or this process has nothing signed to try it with.
	LastAccepted, Halted time.Time
	// Now is the time by the clock of Redis, which due times are given in; Clock that of
	// this process, which local facts and the looks at the chain are given in.
	Now, Clock time.Time
	Jitter     float64 // 0 to 1
	// Known: this process has a dispatcher for the type. Replicas: some have to confirm
	// a write before what it allows may leave.
	Known, Replicas bool
	// Draining: the process is to end, and begins nothing. Wanted: other queues are ready, and no sender
	// is free.
	Draining, Wanted bool
}

// Tip is what the last look at the chain showed of the network as a whole.
type Tip struct {
	At      time.Time // when, by the clock of the process; zero if never
	Quorum  bool      // enough synced nodes answered
	Fresh   bool      // not too old to plan on
	Height  uint32    // of the lowest tip that counts
	TipSlot uint32    // slotSinceGenesis of that tip
	Slot    uint32    // the current one: the larger of TipSlot and what the clock gives
	// SlotTime is how long a slot takes; 0 if it is not known.
	SlotTime time.Duration
	// Zero is when slot 0 began by the count of the chain, the latest that a voting node
	// gives; zero if they do not tell.
	Zero   time.Time
	Synced int // nodes that have a vote
	// For explanations: where what the nodes no longer have is looked for, and why it
	// cannot be.
	NoArchive   bool
	First       uint32 // the slot in which the running network began, by the last hard fork
	ArchiveLost string
}

// A Sender is what is stored, and what this process knows, of the bound sender.
type Sender struct {
	Account string
	Gone    bool // no longer registered
	// Unusable: drained, stopped, or out of use for another reason than a rest.
	Unusable bool
	Next     *uint32 // next nonce as stored; nil if it is not known
	// Seen is the next nonce as the chain has shown it a moment ago; nil if it has not.
	Seen *uint32
	// Greeted: its worker has said lately that it is the right one, or need not.
	Greeted bool
	Away    int // times in a row that its worker was not there
}

// Local is what one process knows of a transaction that it drives, and nobody stores.
// A process that has taken it over begins with the zero value.
type Local struct {
	// Own is the attempt that this process planned, or whose loss it has counted: it
	// may be asked for. Legacy: its worker has no prove call. Marked is an attempt
	// whose call of such a worker is stored, and not made.
	Own, Marked      int
	Legacy, NoResign bool // NoResign: nor one that signs again
	NoBuild          bool // nor one that builds
	// Built is what was built of an attempt.
	Built Built
	// Unsent is an attempt whose bytes this process has stored, and given to nobody.
	// Confirmed is the one of which the replicas have confirmed what is stored.
	Unsent, Confirmed int
	Said              Said      // what is known of the sending, and not stored yet
	SentAt            time.Time // when bytes were last given to the nodes
	Resent            int       // times since they were last seen in a pool
	LostAt            time.Time // since when no node has what was DONE and has no block
	Costly            time.Time // until when the fee is not raised, for a limit is reached
	// FirstSent and FirstHeight are when this process first sent what is open, and the
	// height of the chain then; zero if it did not.
	FirstSent   time.Time
	FirstHeight uint32
	ReadAt      time.Time // when the record was last read
	// Submits counts how often in a row a ledger was too busy for a batch; SubmitAt is
	// when it is asked again, Busy what it said.
	Submits  int
	SubmitAt time.Time
	Busy     tx.Error
	Asked    Asked
}

// Built is what the worker of an attempt has said that it will do, see unplaced.go.
type Built struct {
	Number  int    // of the attempt
	Effects string // the digest of what it does
	Alone   bool   // it may not be in flight beside others of its queue
	Gone    int    // how often its worker had it no more
}

// Said is what the nodes answered when an attempt was sent.
type Said struct {
	Number   int // of the attempt; 0 for nothing
	State    tx.AttemptState
	NodeHash string
	Error    *tx.Error
	Slot     uint32
}

// Asked are the answers to questions. They count for the step that asked.
type Asked struct {
	Sender    *Sender
	Overtaken bool // as of Sender: an earlier one of the queue waits again
	Among     bool // as Sender was asked about, or told, others of its queue were in flight, and may have used nonces
	Retries   *int // after the first try
	Account   *AccountTold
	Landed    *LandedTold
	Bytes     *BytesRead
}

// fresh reports whether this process is the one that gave the bytes of a to nobody yet.
func (l *Local) fresh(a *tx.Attempt) bool { return a.Open() && l.Unsent == a.Number }
