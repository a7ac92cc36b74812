package lifecycle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Transaction is one piece of work that a client posted, with everything that
// is known of what became of it.
type Transaction struct {
	UID      string
	Queue    string
	Sequence int64 // one counter per namespace, in order of acceptance
	Type     string
	Data     json.RawMessage // as posted, its tokens unchanged
	// Trace is the trace context (a traceparent) of the post, "" if it is not traced.
	Trace string
	Terms
	PostedBy string // name of the API key that it was posted with, "" without one
	Phase    Phase
	// Ledger is the name of the ledger that takes it, and BatchID its id there; both are ""
	// of what is for Mina. See batch.go.
	Ledger, BatchID string
	// Revision counts the changes of the transaction; a change names the one
	// that it was decided on and is refused if there is a newer one.
	Revision int64
	// Claim is the token of the process that drives the transaction, "" if none.
	Claim   string
	Sender  string // bound, or the last one that was
	Retries int    // retry dispatches begun
	// Deferred counts how often in a row it went back before a worker took it on; while
	// it is not 0 the next dispatch is no retry.
	Deferred int
	// Losses counts how often since the last answer a dispatch lost its process, its
	// worker or its answer.
	Losses int
	// Doubted is the sender whose worker calls it hopeless, while that of another one is asked
	// for its opinion; "" otherwise.
	Doubted string
	// Ending, FAILING: it is weighed, as soon as it is bound, whether it is tried again. Else
	// Ending is the phase that the transaction takes as soon as its last open attempt
	// is dead, final or WAITING, "" while it may be tried again where it is.
	Ending          Phase
	CancelRequested bool
	Reopened        bool
	Callback        Callback // still to be told to the worker, "" if none
	CallbackTries   int
	// Counted is what of its Cost has been counted with the fees of a day.
	Counted uint64
	Error   *Error
	// Done is {"blockHeight", "stateHash"}, or what the worker answered when it
	// finished the transaction without a block.
	Done        json.RawMessage
	Landed      int // number of the attempt in the block, 0 if none
	Attempts    []Attempt
	ReceivedAt  time.Time
	SubmittedAt time.Time // first time a node took it or may have taken it
	RetriedAt   time.Time
	DoneAt      time.Time // when it became final, whatever the final state
	FinalAt     time.Time
	ChangedAt   time.Time // of the phase
	DueAt       time.Time // when a waiting phase ends; zero if none
}

// TraceParent is the trace context of what is done for the try under way, "" if t is not
// traced: that of the post and, for each retry, one that every process makes of it.
func (t *Transaction) TraceParent() string {
	if t.Trace == "" || t.Retries == 0 {
		return t.Trace
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", t.Trace, t.Retries))
	return fmt.Sprintf("00-%x-%x-01", sum[:16], sum[16:24])
}

// TraceID is that of the try under way, "" if t is not traced.
func (t *Transaction) TraceID() string {
	_, rest, _ := strings.Cut(t.TraceParent(), "-")
	id, _, _ := strings.Cut(rest, "-")
	return id
}

// Clone copies t as far as a change of it reaches: stored records are never altered.
func (t *Transaction) Clone() *Transaction {
	c := *t
	c.Attempts = slices.Clone(t.Attempts)
	return &c
}

// FirstOpen is the first attempt that might still land, nil if there is none. All open
// ones share its sender and nonce.
func (t *Transaction) FirstOpen() *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].Open() {
			return &t.Attempts[i]
		}
	}
	return nil
}

// Legacy reports whether a worker that sends by itself made what may land or has
// landed: then nobody here has its bytes.
func (t *Transaction) Legacy() bool {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Legacy && (a.Open() || a.Number == t.Landed) {
			return true
		}
	}
	return false
}

// Watched reports whether t is followed on the chain although it is final: until its
// block stands FINALITY deep, or until what may land of it has settled.
func (t *Transaction) Watched() bool {
	switch t.Phase {
	case PhaseDone:
		return t.Landed > 0 && t.FinalAt.IsZero()
	case PhaseFailed, PhaseUnresolved:
		return t.Open()
	}
	return false
}

// Owner is the process that has claimed t, "" if none has.
func (t *Transaction) Owner() string { return t.Claim[:max(0, strings.LastIndexByte(t.Claim, ':'))] }

// State is t's state.
func (t *Transaction) State() State { return t.Phase.State() }

// Open reports whether an attempt of t might still land.
func (t *Transaction) Open() bool { return t.FirstOpen() != nil }

// Last is the latest attempt, nil if there was none.
func (t *Transaction) Last() *Attempt {
	if len(t.Attempts) == 0 {
		return nil
	}
	return &t.Attempts[len(t.Attempts)-1]
}

// Attempt returns the attempt with the number, nil if there is none.
func (t *Transaction) Attempt(number int) *Attempt {
	if number < 1 || number > len(t.Attempts) {
		return nil
	}
	return &t.Attempts[number-1]
}

// Hash is that of the attempt in the block, before that the latest known.
func (t *Transaction) Hash() string {
	if a := t.Attempt(t.Landed); a != nil {
		return a.KnownHash()
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if h := t.Attempts[i].KnownHash(); h != "" {
			return h
		}
	}
	return ""
}

// ShownData is the data of the attempt that landed where its worker gave any,
// and what was posted otherwise.
func (t *Transaction) ShownData() json.RawMessage {
	if a := t.Attempt(t.Landed); a != nil && len(a.Data) > 0 {
		return a.Data
	}
	return t.Data
}

// Outcome is what is known of an attempt.
type Outcome string

const (
	Prepared Outcome = "prepared" // planned and stored; no worker has answered
	Signed   Outcome = "signed"   // its bytes are stored and may have been sent
	Sent     Outcome = "sent"     // a node took it
	Pooled   Outcome = "pooled"   // seen in a pool
	Included Outcome = "included" // in a block, and succeeded
	FailedIn Outcome = "failed"   // in a block, and failed there
	Expired  Outcome = "expired"  // a block lies past its validUntil
	Replaced Outcome = "replaced" // its nonce was spent by another command
	Refused  Outcome = "refused"  // every node refused it: it is nowhere
	Unknown  Outcome = "unknown"  // it may have been sent; nobody knows
)

// An Attempt is one signed command, or one call of a legacy worker, of a
// transaction. Numbers count from 1 and never restart.
type Attempt struct {
	Number     int
	Sender     string
	Nonce      uint32
	Fee        uint64 // nanomina
	Quote      Quote  // that Fee was estimated from; zero where it goes by no market
	Weight     int    // 1 + account updates, as it was signed; 0 if it was not
	Alone      bool   // it may not be in flight beside others of its queue, as it was signed
	Shallow    bool   // it failed in a block less than SETTLE_DEPTH deep, see shallow.go
	Unplaced   bool   // Nonce is not its own: what is signed of it never leaves, see unplaced.go
	ValidUntil uint32 // last slot since genesis in which it can be included
	Base       string // digest of what it is made upon, as its worker is told; "" where that is the chain
	Legacy     bool   // the worker sends by itself
	Hash       string // as the worker computed it
	NodeHash   string // as a node or the chain gave it
	Outcome    Outcome
	Height     uint32 // of the block it is in
	StateHash  string
	// Confirmations as of the last change of the transaction.
	Confirmations int
	Error         *Error
	Data          json.RawMessage // what the worker answered beside the command
	// Slot is that of the tip when it was prepared: it can be in no earlier block,
	// whatever the clock of this process says.
	Slot      uint32
	SentSlot  uint32 // current slot when it was first sent
	StartedAt time.Time
	EndedAt   time.Time // when its fate was settled; zero before that
}

// Spent reports whether a has used up its nonce.
func (a *Attempt) Spent() bool {
	return a.Outcome == Included || a.Outcome == FailedIn
}

// Open reports whether a may still land: its bytes, or the call of a legacy
// worker, may have left this process, and nothing has settled it since.
func (a *Attempt) Open() bool {
	if !a.EndedAt.IsZero() {
		return false
	}
	return a.Legacy || a.Outcome != Prepared
}

// Pending reports whether a is planned, and no answer has said what became of it.
func (a *Attempt) Pending() bool {
	return a.Outcome == Prepared && a.EndedAt.IsZero() && !a.Legacy
}

// Lost reports whether a was asked for, and the answer got lost: its worker may know it.
func (a *Attempt) Lost() bool { return a.Pending() && a.Error != nil }

// shown is the number of an attempt of that hash that a node has, and that nobody knew to be with
// one; 0 for none.
func (t *Transaction) shown(hash string) int {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; !a.Legacy && a.Outcome == Unknown && a.stalled() && a.Is(hash) {
			return a.Number
		}
	}
	return 0
}

// stalled reports whether a was kept from all nodes by what is no fault of its own: when it was sent
// the network took nothing from anybody, or no node was seen to take it.
func (a *Attempt) stalled() bool {
	return a != nil && a.Error != nil &&
		(Stopped(a.Error.Code) || a.Error.Code == CodeGateway || a.Error.Code == CodeNoAnswer)
}

// Halts reports whether t has been offered while the network took nothing.
func (t *Transaction) Halts() bool {
	return slices.ContainsFunc(t.Attempts, func(a Attempt) bool { return a.stalled() && Stopped(a.Error.Code) })
}

// lapsed reports whether a was planned, and given up before a worker made it: it could not land
// any more, or paid more than it might by then.
func (a *Attempt) lapsed() bool {
	return a.Outcome == Prepared && a.Error != nil && a.Error.Code == CodeExpired
}

// Is reports whether a command with this hash is a.
func (a *Attempt) Is(hash string) bool {
	return hash != "" && (a.Hash == hash || a.NodeHash == hash)
}

// KnownHash is the hash to show: the node's, or before any node gave one the
// worker's.
func (a *Attempt) KnownHash() string {
	if a.NodeHash != "" {
		return a.NodeHash
	}
	return a.Hash
}

// Error is what went wrong, in the words of whoever said so.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Exception string `json:"exception,omitempty"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Callback is what a worker is still to be told.
type Callback string

const (
	OnSuccess Callback = "on-success"
	OnFailure Callback = "on-failure"
)
