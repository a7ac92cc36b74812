// Package dispatcher knows the types of transactions: which payload each of
// them takes, and how its transaction is made.
//
// A type is a [Dispatcher]. Most are a [Remote]: a check of the payload here,
// everything else in a worker that speaks HTTP to a [Client]. A [Func] does
// the work in this process instead. The [Registry] finds a type by its name.
package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"
)

// A Dispatcher is one type of transaction.
//
// Prove, Dispatch and Resign make a transaction. What their error is says what
// may have happened, and is one of these, wrapped or not:
//
//   - [ErrLegacy]: the worker has no such call (Prove and Resign only);
//   - *[UnreachedError]: the worker has seen nothing of the request;
//   - *[BusyError]: the worker took nothing on, and says when to come back;
//   - *[SpentError]: the sender's signer signs nothing for a while (Prove and Resign only);
//   - *[WorkerError]: the worker answered with an error;
//   - *[LostError]: anything else, so the worker may have done the work.
//
// The [Result] beside an error carries the hash if the answer held one.
//
// All methods may be called concurrently. They honour their context; a context
// that ends is an UnreachedError or a LostError like any other broken call.
type Dispatcher interface {
	// Type is the name of the type, see [ValidType]. It never changes.
	Type() string

	// Check says what is wrong with a payload, which is valid JSON: every bad
	// field at once, nothing if it may be queued. Fields it does not know are
	// none of its business.
	Check(data json.RawMessage) []FieldError

	// Prove makes the transaction, proved and signed, and sends nothing. The
	// result has Signed, or Done if there is nothing to send.
	Prove(ctx context.Context, worker Worker, call Call) (Result, error)

	// Dispatch is for workers without Prove: it makes the transaction and may
	// have sent it, however the call ends. The result has Hash or Done.
	Dispatch(ctx context.Context, worker Worker, call Call) (Result, error)

	// Resign signs again what Prove returned as Signed for an earlier attempt,
	// with the fee, nonce and validUntil of the attempt in call, on the same
	// proof, and sends nothing. The result has Signed.
	Resign(ctx context.Context, worker Worker, call Call, signed []byte) (Result, error)

	// Report tells a worker how a transaction ended. It is repeated until the error is
	// nil, so the receiver must bear to hear it twice. Then answer is what it said, a JSON object, or
	// nil: it is shown with the transaction and given to its next callback.
	Report(ctx context.Context, worker Worker, success bool, outcome Outcome) (answer json.RawMessage, err error)

	// MaxRetries asks how many retries follow the first try; ok is false if
	// there is no opinion on that. An error says that nobody has answered: it is
	// asked again for a while.
	MaxRetries(ctx context.Context, worker Worker) (n int, ok bool, err error)
}

// A Builder is a [Dispatcher] whose workers may tell what a transaction does before they prove it: its
// method is run, which takes about a second, and says all that the next one needs. They do where
// their health [Health.Builds].
type Builder interface {
	// Build answers what Prove would prove of a call, of which fee, nonce and validUntil are not known
	// yet: a Result with Built and Token, or with Done. Prove with the token makes just that, at the
	// worker that gave it, as long as it has it; then the error is [ErrTokenGone], and nothing was
	// proved. All other errors are those of Prove.
	Build(ctx context.Context, worker Worker, call Call) (Result, error)
}

// A Settler is a [Dispatcher] whose transactions cannot take effect twice even
// if two of them land, because what they require of the chain never comes back
// once one has: a nullifier, an account that is new. What failed in a block is
// tried again sooner than SEQUENCER_SETTLE_DEPTH says. It ends no sooner.
type Settler interface {
	// SettleDepth is how many blocks deep a failure in a block must stand before
	// another attempt may use a new nonce, at least 1. The configured depth or more,
	// or 0, means that depth. It never changes.
	SettleDepth() int
}

// A Renamed is a [Dispatcher] whose type clients may also post by other names.
// What is posted so is of the type as [Dispatcher.Type] has it from then on.
type Renamed interface {
	// PostedAs returns the other names, see [ValidType]. They never change.
	PostedAs() []string
}

// A Worker is where a call goes and for whom.
type Worker struct {
	AccountID string // public key of the sender whose key the worker holds
	URL       string // http or https, the calls' paths are appended to it; or senders.Local
}

// A Txn is what calls say of the transaction.
type Txn struct {
	UID     string
	Type    string
	Data    json.RawMessage // as posted
	Queue   string
	Retries int // retry dispatches begun
	// ExpiresAt is its deadline, zero if it has none; what keeps it is validUntil.
	ExpiresAt time.Time
}

// An Attempt is what the signed transaction has to say.
type Attempt struct {
	Number     int
	Nonce      uint32
	Fee        uint64 // nanomina
	ValidUntil uint32 // slot since genesis; 0 means no limit, null on the wire
	Memo       string // plain text
	Previous   []Previous
	// Base is the digest of the state that the attempt is built upon, "" where that is the chain's
	// alone. What landed meanwhile counts: it stays as the attempt was planned.
	Base string
}

// A Previous is an earlier attempt of the same transaction.
type Previous struct {
	Number int
	Hash   string
	Nonce  uint32
	Fee    uint64 // nanomina
}

// A Call asks for one attempt of a transaction.
type Call struct {
	Txn
	Attempt Attempt
	// Ahead are the commands of this queue in flight before it, in order of their nonces,
	// [MaxAhead] at most. A worker gets any only if its health [Health.BuildsAhead].
	Ahead []Ahead
	// Token has Prove prove what a [Builder] has built, and Built is what that was built on, as its
	// [Result.On] told; Ahead is empty then.
	Token, Built string
}

// A Result is an answer in its normal form: what means nothing is absent.
type Result struct {
	// Hash of the transaction as the worker computed it, or empty.
	Hash string
	// Done is a non-empty JSON object if the work ended without a transaction
	// on the chain, else nil. It excludes Hash and Signed.
	Done json.RawMessage
	// Data is for the callbacks: nil if empty or beside an error.
	Data json.RawMessage
	// Signed is the zkappCommand as a JSON object, nil if there is none. It is
	// not yet checked: see [CheckSigned].
	Signed json.RawMessage
	// Proved is the zkappCommand without what the payer signs, of a prover that has no key; it excludes
	// Signed, and no [Dispatcher] returns it: it is signed before.
	Proved json.RawMessage
	// On is the digest of the last of [Call.Ahead], see [EffectsOf], which the answer was built upon;
	// "" if there was none. With Signed, Built or Done it is checked; an error may leave it out.
	On string
	// Built is of a [Builder] alone: what it would prove, a zkappCommand without authorizations, and
	// Token what it is to be asked to prove with.
	Built json.RawMessage
	Token string
}

// An Outcome is how a transaction ended.
type Outcome struct {
	Txn
	// AccountID is the sender of the attempt that decided. The worker told may
	// be another's, where that one's is gone.
	AccountID string
	Result    Result // Signed is not passed on
	// Answered is what the callback before this one, of the same transaction, was answered; nil for
	// nothing. There is one if the transaction had ended before, and was put back.
	Answered json.RawMessage
	Error    *WorkerError // nil on success
}

// A FieldError says what one field of a payload has to be.
type FieldError struct {
	Field   string `json:"field"`   // path from the payload's root: "data.strategy.requiredVotes"
	Message string `json:"message"` // what is wanted: "must be an integer, 1 or more"
}

// validType is what fits in a path, an event and an environment variable.
var validType = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// ValidType says whether name can be the name of a type: 1 to 64 of A-Z, 0-9
// and _, the first a letter.
func ValidType(name string) bool { return validType.MatchString(name) }

// A Registry finds a dispatcher by its type. The zero value is empty and ready
// to use; all methods may be called concurrently.
type Registry struct {
	mu    sync.RWMutex
	types map[string]Dispatcher
	also  map[string]Dispatcher // by the other names of [Renamed] ones

	overlap map[string]Mode // over what the types say, see SetOverlap
}

// Register adds types. At a name that is invalid or known already it stops
// with an error and adds none of them.
func (r *Registry) Register(ds ...Dispatcher) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, also := maps.Clone(r.types), maps.Clone(r.also)
	if all == nil {
		all, also = make(map[string]Dispatcher), make(map[string]Dispatcher)
	}
	for _, d := range ds {
		name := d.Type()
		if !ValidType(name) {
			return fmt.Errorf("type %q: want 1 to 64 of A-Z, 0-9 and _, the first a letter", name)
		}
		if all[name] != nil {
			return fmt.Errorf("type %s is registered twice", name)
		}
		all[name] = d
		if renamed, ok := d.(Renamed); ok {
			for _, other := range renamed.PostedAs() {
				also[other] = d
			}
		}
	}
	r.types, r.also = all, also
	return nil
}

// Lookup returns the dispatcher of a type, and whether there is one. By another
// name of [Renamed] it is found where no type has that name for its own.
func (r *Registry) Lookup(name string) (Dispatcher, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, ok := r.types[name]
	if !ok {
		d, ok = r.also[name]
	}
	return d, ok
}

// Types returns the names of all types in alphabetical order.
func (r *Registry) Types() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.types))
}
