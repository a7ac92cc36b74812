package lifecycle

import (
	"encoding/json"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Result is what came of an effect, or what the store refused. It is kept until it is
// stored, and learnt again from the fresh record if that was stale; so each of them may be
// learnt twice, and the second time changes nothing.
type Result interface {
	// learn says what it makes of what is stored, and of what this process knows.
	learn(v *View) Step
}

// SenderTold answers AskSender.
type SenderTold struct {
	Call      Effect
	Sender    Sender
	Overtaken bool // an earlier transaction of the queue waits again
}

// HealthTold answers AskHealth: why the worker is not the one to ask, "" if it is.
type HealthTold struct {
	Why    tx.SenderReason
	Detail string
	Wrong  int // times in a row that it was found wrong before
}

// RetriesTold answers AskRetries.
type RetriesTold struct {
	Limit     int
	Known     bool // false: the worker has no opinion, is gone, or has not answered in time
	Elsewhere bool // it runs with another process: whoever binds it next asks its own
}

// AccountTold answers AskAccount, by all nodes that have a vote. Lost says why they
// could not be asked, "" if they could.
type AccountTold struct {
	Account string
	Exists  bool
	Nonce   uint32
	Balance uint64 // what it may spend
	Lost    string
}

// LandedTold answers AskLanded.
type LandedTold struct {
	Nonce uint32
	Any   bool
}

// BytesRead answers AskBytes: what was signed for the attempt, nil if nothing is kept.
type BytesRead struct {
	Number  int
	Command []byte
}

// ChainTold answers AskChain: the View tells what it shows.
type ChainTold struct{}

// ConfirmTold answers Confirm.
type ConfirmTold struct{ Number int }

// An Answer is what became of a worker's call.
type Answer struct {
	Call   Effect
	Sender string // of the attempt, and its nonce: numbers may be given anew
	Nonce  uint32
	Fault  Fault
	Hash   string          // as the worker computed it, if it is one; "" if there is none
	Done   json.RawMessage // it ended without a block
	Data   json.RawMessage
	Signed []byte // checked to be what was asked for
	Weight int    // of Signed: 1 + account updates
	// Effects is the digest of what Signed does or, of an answer to Build, what it would; "" where
	// nobody asks.
	Effects string
	// Touched are the accounts of Signed, see Attempt.
	Touched []tx.Account
	Alone   string // why Signed, or what was built, may not be in flight beside others of its queue, "" if it may
	Error   *tx.Error
	// Pool: the fault is that of provers of the pool, and says nothing of the sender's own worker.
	Pool bool
	// RetryAfter is when a busy worker is to be asked again, or a signer that has spent its day.
	RetryAfter time.Duration
	// Proves goes with FaultNoCall: this worker has shown before that it makes proofs, so it is
	// no legacy worker, and lacks this type.
	Proves bool
	// Ill goes with FaultHopeless: how many that Sender carried ended UNRESOLVED in a row before.
	// Others: other senders are in use, and may be bound here.
	Ill    int
	Others bool
	// Refused goes with FaultError of a legacy worker: that it has sent nothing is
	// concluded from a node's refusal, which a node also gives to what it has already.
	Refused bool
}

// Fault is how a worker's call failed.
type Fault string

// All faults. With those from FaultBusy on a worker did not take the request on, or
// could do nothing with it for now; what was asked of a legacy worker was not sent.
const (
	NoFault         Fault = ""
	FaultError      Fault = "error"      // a retry may mend it
	FaultHopeless   Fault = "hopeless"   // no retry can mend it
	FaultLost       Fault = "lost"       // it may have done the work
	FaultWorking    Fault = "working"    // it is at work on that very attempt, which is asked for again
	FaultSent       Fault = "sent"       // an error of a legacy worker that may have sent
	FaultGone       Fault = "gone"       // it does not have what it built any more, and proved nothing
	FaultNoCall     Fault = "no-call"    // it has no such call: a legacy worker, unless it Proves
	FaultBusy       Fault = "busy"       // it did not take it on
	FaultSpent      Fault = "spent"      // its signer signs nothing before RetryAfter: a limit of the sender's alone
	FaultUnreached  Fault = "unreached"  // not a byte of the request was written
	FaultOutOfOrder Fault = "outoforder" // it, or its network, is out of order
)

// SendTold is what the nodes answered to the bytes of an attempt.
type SendTold struct {
	Call     Effect
	Accepted bool
	Hash     string // as a node computed it
	Slot     uint32 // the current one
	// Refusal is why no node took them, nil if one did or nobody knows. Every node said
	// so in Mina's own words.
	Refusal *Refusal
	Error   *tx.Error // what else was said
	Lost    bool      // there was no answer: nobody knows
}

// A Refusal is a class of what nodes say when they turn bytes down; package mina
// classes it, once.
type Refusal struct {
	tx.Error
	Permanent bool // no retry can mend it
	// Seen: said also of bytes that are in a block or in the pool already, or whose turn
	// has not come, or of all bytes while the network takes nothing: it ends nothing.
	Seen bool
	// Cheap: a higher fee would do.
	Cheap bool
	// Payers: it concerns its sender, and what no payload can make proves it. The sender rests, and
	// another one may do the same transaction. Broke: its account holds too little.
	Payers, Broke bool
}

// Denied is what the store says of a change that it did not take or, where it is
// Unconfirmed, of one that it took.
type Denied struct {
	Why       Denial
	Everybody bool          // Costly: the limit of all senders together, not of this one
	Budget    string        // Costly: that of a queue or a key, in words, "" for none
	Spent     uint64        // Costly: what the day has cost so far, in nanomina
	Left      time.Duration // Costly: until the day is over
}

// Denial is why, other than that the record has changed or the claim is gone.
type Denial string

// All denials.
const (
	Overtaken   Denial = "overtaken"   // an earlier one of the queue waits again
	Costly      Denial = "costly"      // a fee limit would be passed
	Used        Denial = "used"        // the next nonce of the sender is above the one that follows
	Unconfirmed Denial = "unconfirmed" // stored, and not confirmed by the replicas
)
