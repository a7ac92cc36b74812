package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Step is what a decision, or a result, comes to.
type Step struct {
	// Txn is the record as it is to be stored; nil if it stays.
	Txn   *tx.Transaction
	Aside Aside // goes with Txn
	// Local is what the process knows from now on or, with Txn, once that is stored.
	Local Local
	Do    Effect    // what is to be done; with Txn nothing, for it is decided on anew
	Look  time.Time // by Clock: when to look again at the latest; zero if no clock says
	// Reason says why.
	Reason Reason
}

// Kind is what an Effect does.
type Kind string

// All kinds of effects. Those from Prove on leave the process: they need a claim that
// is surely still its own.
const (
	Nothing    Kind = "" // something has to happen first
	AskSender  Kind = "ask-sender"
	AskHealth  Kind = "ask-health"  // of the worker: whom does it sign for, on what network
	AskRetries Kind = "ask-retries" // of the worker: how many
	AskChain   Kind = "ask-chain"   // a new look at it
	AskAccount Kind = "ask-account" // of the nodes: nonce and balance
	AskLanded  Kind = "ask-landed"  // of the store: the highest nonce that may be orphaned
	AskBytes   Kind = "ask-bytes"   // of the store: what was signed
	AskRecord  Kind = "ask-record"  // of the store: whether somebody else has changed it
	Confirm    Kind = "confirm"     // have the replicas confirm what is stored
	Build      Kind = "build"       // what it does, before it is proved: see unplaced.go
	Prove      Kind = "prove"
	Resign     Kind = "resign"
	Dispatch   Kind = "dispatch" // of a legacy worker, which sends
	Send       Kind = "send"
	Submit     Kind = "submit" // a batch, to its ledger
)

// An Effect is one thing to be done outside, for one attempt.
type Effect struct {
	Kind   Kind
	Number int // of the attempt
	// Fresh: its bytes have surely been given to nobody before.
	Fresh bool
	// Among: others of its queue are in flight as it is begun, and may use nonces meanwhile.
	Among bool
	// Claim is the one under which it was begun, and Begun tells it from others that ask for the
	// same; Drive sets both.
	Claim string
	Begun int
}

// Failures are the classes that [Step.Failure] knows.
var Failures = []string{"error", "hopeless", "lost", "deferred", "settled", "unknown", "nonce-ignored"}

// failures are the classes that a reason alone tells.
var failures = map[Reason]string{
	ReasonDeferred: "deferred", ReasonLost: "lost", ReasonAmbiguous: "unknown", ReasonNonceIgnored: "nonce-ignored",
}

// Failure is how what s stores ends an attempt or a call without success, or puts it
// off; "" where it does not.
func (s *Step) Failure(before *tx.Transaction) string {
	switch s.Reason {
	case ReasonSettled:
		if before.Open() || s.Txn.Phase != before.Phase { // else it had failed before
			return "settled"
		}
	case ReasonAnswered:
		switch {
		case s.Txn.Phase == tx.PhaseFailing:
			return "error"
		case s.Txn.Phase == tx.PhaseUnresolved, s.Txn.Ending == tx.PhaseUnresolved && before.Ending == "":
			return "hopeless"
		}
	}
	return failures[s.Reason]
}

// Leaves reports whether e lets something leave the process.
func (e Effect) Leaves() bool {
	switch e.Kind {
	case Build, Prove, Resign, Dispatch, Send, Submit:
		return true
	}
	return false
}

// Aside is what goes with a change of a record and is not shown by it.
type Aside struct {
	Code string // of the event
	Rest *Rest
	// Absolved is a sender at rest ByDoubt: what it was doubted for was not its worker's fault,
	// nor that of the one that now says the same.
	Absolved string
	// Hold keeps the queue from being bound for so long.
	Hold time.Duration
	// NextNonce is the next one of the sender; ForgetNonce has the chain asked for it.
	NextNonce   *uint32
	ForgetNonce bool
	// Follows is the nonce that is taken behind others. The change is refused where the next of
	// the sender is above it: one that has left the train from behind them has used it.
	Follows *uint32
	// Least are the least that the next nonces of accounts are from now on.
	Least map[string]uint32
	// LandedWith is the nonce that what landed has used.
	LandedWith *uint32
	// Bytes are what was signed, to be kept instead of what is; DropBytes forgets that.
	Bytes     *BytesRead
	DropBytes bool
	// Broke: those behind it were made on what failed; Clean: it landed as it was to. Its
	// queue has fewer in flight for now, or one more again.
	Broke, Clean bool
	// Slips: nothing of it has left, so it may leave a train from the middle.
	Slips bool
	// Person: the change is made for a person, who holds no claim.
	Person bool
	// Process goes on with it if nobody has the claim: an incarnation.
	Process string
}

// A Rest takes a sender out of use.
type Rest struct {
	For    time.Duration // Never until a person resumes it
	Why    tx.SenderReason
	By     string // a rest by somebody does not end what another gives; "" for nobody
	Detail string // in words
	// Above is of a nonce that another command has spent: where the next one of the sender was above
	// that before, it was one of ours, and the sender does not rest.
	Above *uint32
}

// ByDoubt gives the rest of a sender of which a second opinion is asked for. Each counts as one
// more of its row.
const ByDoubt = "doubt"

// Never is a time that no clock brings.
const Never time.Duration = -1

// A Reason is why a Step is what it is. Package explain has words for them.
type Reason string

// All reasons.
const (
	ReasonWaiting      Reason = "waiting"    // in its queue
	ReasonBound        Reason = "bound"      // a free sender was bound to its queue
	ReasonPlanning     Reason = "planning"   // an attempt is being planned
	ReasonDraining     Reason = "draining"   // the process ends, the next one goes on
	ReasonDeferred     Reason = "deferred"   // goes back before a worker took it on
	ReasonProving      Reason = "proving"    // with its worker
	ReasonRepricing    Reason = "repricing"  // it weighs other than supposed, and is signed again
	ReasonLost         Reason = "lost"       // the answer got lost
	ReasonAnswered     Reason = "answered"   // what its worker answered is stored
	ReasonConfirming   Reason = "confirming" // the replicas have to confirm what is stored
	ReasonLooking      Reason = "looking"    // its ledger is asked whether it has it already
	ReasonSubmitting   Reason = "submitting" // it is being posted to its ledger
	ReasonInvalid      Reason = "invalid"    // its ledger has executed it, and refuses it
	ReasonSending      Reason = "sending"    // its bytes are being given to the nodes
	ReasonSent         Reason = "sent"       // the first look at the chain is waited for
	ReasonPool         Reason = "pool"       // seen in a pool
	ReasonAbsent       Reason = "absent"     // in no pool and no block
	ReasonResending    Reason = "resending"  // the same bytes are sent again
	ReasonRaising      Reason = "raising"    // its fee is being raised
	ReasonBlock        Reason = "block"      // in a block that is not deep enough
	ReasonFailedIn     Reason = "failed-in"  // failed in a block that is not deep enough
	ReasonDisplaced    Reason = "displaced"  // its nonce was spent by a stranger, not deep enough
	ReasonExpired      Reason = "expired"    // its last slot has passed, not deep enough
	ReasonPruned       Reason = "passed"     // its nonce was spent in a block that the nodes no longer have
	ReasonUnclear      Reason = "unclear"    // the nodes do not agree, or too few answer
	ReasonLanded       Reason = "landed"     // DONE
	ReasonSettled      Reason = "settled"    // nothing of it can land any more
	ReasonAmbiguous    Reason = "ambiguous"  // nobody knows what its worker sent
	ReasonNonceIgnored Reason = "ignored"    // its worker used another nonce
	ReasonWeighing     Reason = "weighing"   // is there to be another try?
	ReasonDelay        Reason = "delay"      // the time before its next try
	ReasonRetry        Reason = "retry"      // another try begins
	ReasonBack         Reason = "back"       // goes back to its queue
	ReasonYield        Reason = "yield"      // waits for its next try in its queue, for others want its sender
	ReasonBehind       Reason = "behind"     // those ahead of it in flight come first
	ReasonBroken       Reason = "broken"     // what it, or those behind it, were made on will not come
	ReasonHeld         Reason = "held"       // nothing may join those ahead of it now
	ReasonCancelled    Reason = "cancelled"  // ends because a person took it back
	ReasonOverdue      Reason = "overdue"    // ends because its deadline has come
	ReasonUsedUp       Reason = "used-up"    // ends because no try is left
	ReasonFinality     Reason = "finality"   // DONE, and watched until its block is deep enough
	ReasonFinal        Reason = "final"      // watched no longer
	ReasonOrphaned     Reason = "orphaned"   // DONE, and its block is gone
	ReasonEnded        Reason = "ended"      // FAILED or UNRESOLVED
	ReasonOrdered      Reason = "ordered"    // a person said so
	ReasonUnchanged    Reason = "unchanged"  // a result that says nothing new
)
