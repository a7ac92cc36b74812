package tx

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"mina-sequencer/sequencer/fees"
)

// An Attempt is one signed command, one call of a legacy worker, or one post of a batch, of a
// transaction. Numbers count from 1 and never restart.
type Attempt struct {
	Number int
	// State is where it stands, and Cause why, as far as a decision asks for that. What it is is
	// read from nothing else.
	State  AttemptState
	Cause  Cause
	Sender string
	Nonce  uint32
	Fee    uint64     // nanomina
	Quote  fees.Quote // that Fee was estimated from; zero where it goes by no market
	Weight int        // 1 + account updates, as it was signed; 0 if it was not
	Alone  bool       // it may not be in flight beside others of its queue, as it was signed
	// Touched are the accounts that it reads or changes, as it was signed, its payer's left out;
	// MostTouched of them at most.
	Touched    []Account
	ValidUntil uint32 // last slot since genesis in which it can be included
	Base       string // digest of what it is made upon, as its worker is told; "" where that is the chain
	// Effects is the digest of what it does, of one that may be in flight beside others; "" before
	// anybody knows.
	Effects   string
	Legacy    bool   // its worker sends by itself: nobody here has its bytes
	Hash      string // as the worker computed it
	NodeHash  string // as a node or the chain gave it
	Height    uint32 // of the block it is in
	StateHash string
	// Confirmations as of the last change of the transaction.
	Confirmations int
	Error         *Error // in words, for people
	Data          json.RawMessage
	// Beside are those ahead of it in its queue of which nothing was out when it was planned: its proof
	// knows nothing of them.
	Beside []string
	// Slot is that of the tip when it was prepared: it can be in no earlier block,
	// whatever the clock of this process says.
	Slot      uint32
	SentSlot  uint32 // current slot when it was first sent
	StartedAt time.Time
	EndedAt   time.Time // when it was over; zero before that
}

// MostTouched is how many accounts are kept of an attempt.
const MostTouched = 16

// An Account is one of Mina: its public key, and the id of its token.
type Account struct{ Key, Token string }

// MinaToken is the id of the token MINA.
const MinaToken = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf" //nolint:gosec // an id that all know

// AttemptState is where an attempt stands, in one word.
type AttemptState string

// All states of an attempt, in the order of its way.
const (
	Planned         AttemptState = "planned"          // stored; its worker is to make it, or is at it
	Unplaced        AttemptState = "early"            // the same, at a nonce that is supposed, see unplaced.go
	Proved          AttemptState = "proved"           // it never leaves; the next attempt takes its proof
	Dropped         AttemptState = "dropped"          // nothing of it has left, or will
	Called          AttemptState = "called"           // a worker was called that sends by itself
	Signed          AttemptState = "signed"           // its bytes are stored, and may have been sent
	Unknown         AttemptState = "unknown"          // it may have been sent; nobody knows
	Sent            AttemptState = "sent"             // a node took it
	Pooled          AttemptState = "pooled"           // seen in a pool
	Resurfaced      AttemptState = "resurfaced"       // the block in which it failed, or lost its nonce, is gone
	Invalid         AttemptState = "invalid"          // of a batch: its ledger refuses it, and may yet commit it
	Included        AttemptState = "included"         // in a block, and succeeded
	FailedShallow   AttemptState = "failed-shallow"   // in a block, and failed; a reorg may undo that, see shallow.go
	FailedIn        AttemptState = "failed"           // the same, for good
	ReplacedShallow AttemptState = "replaced-shallow" // its nonce was spent by another command; a reorg may undo that
	Replaced        AttemptState = "replaced"         // the same, for good
	Expired         AttemptState = "expired"          // a block lies past its validUntil
	Refused         AttemptState = "refused"          // every node refused it: it is nowhere
	Abandoned       AttemptState = "abandoned"        // it may have been sent, and is followed no longer
)

// Outcome is what a client is told of an attempt's state.
type Outcome string

// attemptStates is the one table of what a state means.
var attemptStates = map[AttemptState]struct {
	outcome  Outcome
	open     bool // it may still land, and holds its nonce: its bytes, or its call, may have left
	accepted bool // open, and a node has accepted it
	over     bool // its fate is told; a reorg may change that of what is shallow or included
	unmade   bool // nothing of it has left this process
	unspent  bool // over, and it has not used its nonce: the next attempt takes that
}{
	Planned:         {outcome: "prepared", unmade: true},
	Unplaced:        {outcome: "prepared", unmade: true},
	Proved:          {outcome: "prepared", unmade: true, over: true, unspent: true},
	Dropped:         {outcome: "prepared", unmade: true, over: true, unspent: true},
	Called:          {outcome: "prepared", open: true},
	Signed:          {outcome: "signed", open: true},
	Unknown:         {outcome: "unknown", open: true},
	Sent:            {outcome: "sent", open: true, accepted: true},
	Pooled:          {outcome: "pooled", open: true, accepted: true},
	Resurfaced:      {outcome: "sent", open: true, accepted: true},
	Invalid:         {outcome: "failed", open: true},
	Included:        {outcome: "included", over: true},
	FailedShallow:   {outcome: "failed", over: true},
	FailedIn:        {outcome: "failed", over: true},
	ReplacedShallow: {outcome: "replaced", over: true},
	Replaced:        {outcome: "replaced", over: true},
	Expired:         {outcome: "expired", over: true, unspent: true},
	Refused:         {outcome: "refused", over: true, unspent: true},
	Abandoned:       {outcome: "unknown", over: true},
}

// AttemptStates are all states, in the order of an attempt's way.
var AttemptStates = []AttemptState{
	Planned, Unplaced, Proved, Dropped, Called, Signed, Unknown, Sent, Pooled, Resurfaced, Invalid,
	Included, FailedShallow, FailedIn, ReplacedShallow, Replaced, Expired, Refused, Abandoned,
}

// Valid reports whether s is one of AttemptStates.
func (s AttemptState) Valid() bool { return attemptStates[s].outcome != "" }

// Outcome is s as a client is told.
func (s AttemptState) Outcome() Outcome { return attemptStates[s].outcome }

// Unmade reports whether nothing of an attempt has left this process in s, or will as it is.
func (s AttemptState) Unmade() bool { return attemptStates[s].unmade }

// Shallow is s where a reorg may yet undo it, deep the same where it may not any more.
func (s AttemptState) Shallow() AttemptState {
	switch s {
	case FailedIn:
		return FailedShallow
	case Replaced:
		return ReplacedShallow
	}
	return s
}

// Deep is what s is once it is SETTLE_DEPTH deep in the chain.
func (s AttemptState) Deep() AttemptState {
	switch s {
	case FailedShallow:
		return FailedIn
	case ReplacedShallow:
		return Replaced
	case Resurfaced:
		return Sent
	}
	return s
}

// Cause is why an attempt is in its state, where a decision asks for it. All other reasons are in
// its Error alone.
type Cause string

// All causes.
const (
	NoCause Cause = ""
	// Of Planned and Unplaced: it was asked for, and the answer got lost. Its worker may know it.
	CauseLost Cause = "lost"
	// Of Proved: before its turn; the same, and what it was made upon does not come; or at a fee
	// that its weight does not suit.
	CauseAhead    Cause = "early"
	CauseBase     Cause = "base"
	CauseRepriced Cause = "repriced"
	// Of Dropped: it went wrong; could land no more, or paid too much, before it was made; or was
	// taken back, for nothing joined any more. Without one it was not wanted any more.
	CauseError    Cause = "error"
	CauseOutdated Cause = "outdated"
	CauseHeld     Cause = "held"
	// Of Refused: it paid too little.
	CauseCheap Cause = "cheap"
	// Of what is open, or has expired since: the network took nothing from anybody; something in
	// front of the nodes kept it from them; no node answered.
	CauseNetwork Cause = "network"
	CauseGateway Cause = "gateway"
	CauseNodes   Cause = "nodes"
	// Of a legacy worker's: it used another nonce than it was given.
	CauseNonce Cause = "nonce"
)

// Causes are all causes, NoCause among them.
var Causes = []Cause{
	NoCause, CauseLost, CauseAhead, CauseBase, CauseRepriced, CauseError, CauseOutdated, CauseHeld, CauseCheap,
	CauseNetwork, CauseGateway, CauseNodes, CauseNonce,
}

// CauseOf is the cause by what a node said.
func CauseOf(e *Error) Cause {
	if e == nil {
		return NoCause
	}
	switch {
	case Stopped(e.Code):
		return CauseNetwork
	case e.Code == CodeGateway:
		return CauseGateway
	case e.Code == CodeNoAnswer:
		return CauseNodes
	case fees.TooCheap(e.Code):
		return CauseCheap
	}
	return NoCause
}

// Become puts a into a state.
func (a *Attempt) Become(s AttemptState, now time.Time) {
	if a.State, a.EndedAt = s, now; !attemptStates[s].over {
		a.EndedAt = time.Time{}
	}
}

// Blame says why a is where it is.
func (a *Attempt) Blame(c Cause, e *Error) { a.Cause, a.Error = c, e }

// Drop ends what nothing of has left; e is nil where it was not wanted any more.
func (a *Attempt) Drop(c Cause, e *Error, now time.Time) {
	a.Become(Dropped, now)
	a.Blame(c, e)
}

// LetGo ends what may have been sent, and is followed no longer.
func (a *Attempt) LetGo(now time.Time) {
	if a.State == Invalid {
		a.Become(FailedIn, now)
		return
	}
	a.Become(Abandoned, now)
}

// Outcome is what a client is told of a.
func (a *Attempt) Outcome() Outcome { return a.State.Outcome() }

// Open reports whether a may still land: its bytes, or the call of a legacy
// worker, may have left this process, and nothing has told since what became of it.
func (a *Attempt) Open() bool { return attemptStates[a.State].open }

// Over reports whether the fate of a is told.
func (a *Attempt) Over() bool { return attemptStates[a.State].over }

// Accepted reports whether a may still land, and a node has accepted it.
func (a *Attempt) Accepted() bool { return attemptStates[a.State].accepted }

// Spent reports whether a has used up its nonce.
func (a *Attempt) Spent() bool { return a.State == Included || a.Failed() }

// Unspent reports whether a is over and has not used its nonce, by the nodes' or a person's word. The
// next attempt takes that nonce, and may be like a in all else, too.
func (a *Attempt) Unspent() bool { return attemptStates[a.State].unspent }

// Failed reports whether a is in a block, and failed there.
func (a *Attempt) Failed() bool { return a.State == FailedIn || a.State == FailedShallow }

// Shallow reports whether a reorg may undo what became of a, see shallow.go.
func (a *Attempt) Shallow() bool { return a.State == FailedShallow || a.State == ReplacedShallow }

// Pending reports whether there is an a that is planned, and no answer has said what became of it.
func (a *Attempt) Pending() bool { return a != nil && (a.State == Planned || a.State == Unplaced) }

// Lost reports whether a was asked for, and the answer got lost: its worker may know it.
func (a *Attempt) Lost() bool { return a.Pending() && a.Cause == CauseLost }

// WasOut reports whether a is, or was, more than a plan and a call.
func (a *Attempt) WasOut() bool { return !a.State.Unmade() && a.State != Called }

// KeptProof reports whether there is an a that was proved before its turn, upon what is still to come.
func (a *Attempt) KeptProof() bool { return a.ProvedAhead() && a.Cause == CauseAhead }

// ProvedAhead reports whether a was proved before its turn, and the next attempt takes its proof or,
// where it was made upon what does not come, may take it.
func (a *Attempt) ProvedAhead() bool {
	return a != nil && a.State == Proved && (a.Cause == CauseAhead || a.Cause == CauseBase)
}

// Stalled reports whether a was kept from all nodes by what is no fault of its own: when it was sent
// the network took nothing from anybody, or no node was seen to take it.
func (a *Attempt) Stalled() bool {
	return a != nil && slices.Contains([]Cause{CauseNetwork, CauseGateway, CauseNodes}, a.Cause)
}

// PaidTooLittle reports whether a has shown that its fee is too low.
func (a *Attempt) PaidTooLittle() bool {
	return a.State == Expired && !a.Stalled() || a.State == Refused && a.Cause == CauseCheap
}

// costs reports whether a's fee is spent, or may yet be.
func (a *Attempt) costs() bool { return a.Pending() || a.Open() || a.Spent() }

// Is reports whether a command with this hash is a.
func (a *Attempt) Is(hash string) bool {
	return hash != "" && (a.Hash == hash || a.NodeHash == hash)
}

// KnownHash is the hash to show: the node's, or before any node gave one the
// worker's.
func (a *Attempt) KnownHash() string {
	return cmp.Or(a.NodeHash, a.Hash)
}

// SameNonce reports whether a and b have one nonce of one sender: at most one of them can land.
func (a *Attempt) SameNonce(b *Attempt) bool { return a.Sender == b.Sender && a.Nonce == b.Nonce }
