package tx

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
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
	// Claim is the token of the process that drives the transaction, "" if none. Expires is when it
	// lapses unless the process renews it, zero if it was not looked for: see queues.Store.FindClaims.
	Claim   string
	Expires time.Time
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
	Told            Told // what became of the last callback that was tried; zero if none was
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
func (t *Transaction) FirstOpen() *Attempt { return t.Find((*Attempt).Open) }

// Find is the first attempt of t that is so, nil if none is.
func (t *Transaction) Find(is func(a *Attempt) bool) *Attempt {
	for i := range t.Attempts {
		if is(&t.Attempts[i]) {
			return &t.Attempts[i]
		}
	}
	return nil
}

// FindLast is the latest attempt of t that is so, nil if none is.
func (t *Transaction) FindLast(is func(a *Attempt) bool) *Attempt {
	for i := range slices.Backward(t.Attempts) {
		if is(&t.Attempts[i]) {
			return &t.Attempts[i]
		}
	}
	return nil
}

// AllOpen are the attempts that might still land.
func (t *Transaction) AllOpen() iter.Seq[*Attempt] {
	return func(yield func(a *Attempt) bool) {
		t.Find(func(a *Attempt) bool { return a.Open() && !yield(a) })
	}
}

// LandsBy reports whether t might land, or has landed, by its attempt a.
func (t *Transaction) LandsBy(a *Attempt) bool { return a.Open() || a.Number == t.Landed }

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

// A Claim is who has claimed a transaction.
type Claim struct {
	Process        string    // its incarnation, "" if none has
	Since, Expires time.Time // zero where it is not known
}

// Held is who has claimed t.
func (t *Transaction) Held() Claim {
	c := Claim{Process: t.Owner(), Expires: t.Expires}
	const least = 1e14 // microseconds; an earlier build counted from 1, or from 10 times the milliseconds
	_, text, _ := strings.Cut(t.Claim[len(c.Process):], ":")
	if number, err := strconv.ParseInt(text, 10, 64); err == nil && number >= least {
		c.Since = time.UnixMicro(number).UTC()
	}
	return c
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
	if a := t.FindLast(func(a *Attempt) bool { return a.KnownHash() != "" }); a != nil {
		return a.KnownHash()
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

// Shown is an attempt of that hash that a node has, and that nobody knew to be with one; nil for none.
func (t *Transaction) Shown(hash string) *Attempt {
	return t.Find(func(a *Attempt) bool { return !a.Legacy && a.State == Unknown && a.Stalled() && a.Is(hash) })
}

// Halts reports whether t has been offered while the network took nothing.
func (t *Transaction) Halts() bool {
	return t.Find(func(a *Attempt) bool { return a.Cause == CauseNetwork }) != nil
}

// Error is what went wrong, in the words of whoever said so.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Exception string `json:"exception,omitempty"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Told is what a worker has said to the last try of a callback.
type Told struct {
	Callback Callback
	Done     bool // it was answered; else it is told again
	Tries    int
	// Answer is what the worker answered with success, a JSON object of at most [MostAnswer] bytes; nil
	// for nothing. Before is the same of the callback before this one, as long as this one is not
	// answered.
	Answer, Before json.RawMessage
	Error          string // why it is told again, or its answer is not kept; "" otherwise
	At             time.Time
}

// MostAnswer is how many bytes of an answer to a callback are kept, as JSON.
const MostAnswer = 4096

// Baton is what the next callback is given of the one before.
func (t *Told) Baton() json.RawMessage {
	if t.Done {
		return t.Answer
	}
	return t.Before
}

// Callback is what a worker is still to be told.
type Callback string

const (
	OnSuccess Callback = "on-success"
	OnFailure Callback = "on-failure"
)

// Terms are what a client asks for along with a transaction. They never change.
type Terms struct {
	// NotBefore: it is not dispatched before, and what stands behind it in its queue waits,
	// too. Zero: at once.
	NotBefore time.Time
	// ExpiresAt: nothing of it lands after. Zero: it may land whenever.
	ExpiresAt time.Time
	// MaxFee is the most that an attempt may pay, nanomina; 0 leaves it to the policy.
	MaxFee uint64
}

// Standing is the attempt by which t is DONE and may yet be orphaned, or that was in a
// block and may land again, nil if there is none: no other may take its nonce.
func (t *Transaction) Standing() *Attempt {
	if t.Phase == PhaseDone && t.FinalAt.IsZero() {
		return t.Attempt(t.Landed)
	}
	if a := t.FirstOpen(); t.Phase == PhaseUnresolved && a != nil && a.StateHash != "" {
		return a
	}
	return nil
}

// Legacy reports whether a worker that sends by itself made what may land or has
// landed: then nobody here has its bytes.
func (t *Transaction) Legacy() bool {
	return t.Find(func(a *Attempt) bool { return a.Legacy && t.LandsBy(a) }) != nil
}

// HasOut reports whether an attempt of t is in flight, or in a block that a reorg may still take back.
func (t *Transaction) HasOut(a *Attempt) bool { return a.Open() || a.Shallow() || a == t.Standing() }

// MayLand reports whether an attempt of t is in flight, or over by what a reorg may yet undo.
func (t *Transaction) MayLand() bool { return t.Open() || t.Shallow() != nil }

// Idle reports whether nothing of t needs its sender: none of it may land, and nothing that was made is
// kept for another sending.
func (t *Transaction) Idle() bool { return !t.MayLand() && t.Deferred == 0 }

// Out reports whether any attempt of t is in flight, or in a block that a reorg may still take back.
func (t *Transaction) Out() bool { return t.MayLand() || t.Standing() != nil }

// Shallow is an attempt of t that is closed and shallow, nil if there is none. All share its
// sender and nonce.
func (t *Transaction) Shallow() *Attempt { return t.Find((*Attempt).Shallow) }

// Words are what went wrong, on one line of bounded length.
func (e *Error) Words() string { return Short(cmp.Or(e.Message, e.Code)) }

// Short bounds what workers and nodes have to say, on one line.
func Short(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
