package explain

import (
	"time"

	"mina-sequencer/sequencer/tx"
)

// An Explanation says where a transaction stands and what happens next: in
// words for a person, in codes for a program. The codes never change their
// meaning; docs/reference.md lists them.
type Explanation struct {
	State    tx.State
	Since    time.Time // when its phase began
	Summary  string
	Wait     Wait
	Attempts []Seen
	Next     Next
}

// A Wait is what a transaction cannot go on without.
type Wait struct {
	Code   WaitCode
	Until  time.Time // when the wait ends by itself, at the latest; zero if no clock ends it
	Detail string
}

// WaitCode names what a transaction waits for.
type WaitCode string

// All that a transaction can wait for.
const (
	WaitQueueHead     WaitCode = "QUEUE_HEAD"    // others of its queue stand before it
	WaitBehind        WaitCode = "BEHIND"        // those of its queue that are in flight ahead of it come first
	WaitBarrier       WaitCode = "BARRIER"       // it, or the one before it, goes alone
	WaitBroken        WaitCode = "BROKEN"        // what it, or those behind it, were made on will not come
	WaitHeld          WaitCode = "HELD"          // nothing joins those in flight: paused, left alone, or it went back once
	WaitPaused        WaitCode = "PAUSED"        // its queue is paused
	WaitNotBefore     WaitCode = "NOT_BEFORE"    // the first of its queue is not to be dispatched yet
	WaitBudget        WaitCode = "FEE_LIMIT"     // a budget of fees, of its queue or of who posted it
	WaitCallback      WaitCode = "CALLBACK"      // a worker has not answered a callback
	WaitProcess       WaitCode = "PROCESS"       // a process that dispatches its type
	WaitRecovery      WaitCode = "RECOVERY"      // what the process asked and Redis know to be compared with the chain
	WaitStore         WaitCode = "STORE"         // Redis takes no writes
	WaitNodes         WaitCode = "NODES"         // a quorum of synced Mina nodes
	WaitFreeSender    WaitCode = "FREE_SENDER"   // every sender is bound or out of use
	WaitWorker        WaitCode = "WORKER"        // its worker proves and signs
	WaitLedger        WaitCode = "LEDGER"        // a ledger's word on its batch
	WaitSending       WaitCode = "SENDING"       // its signed bytes are being given to the nodes
	WaitBlock         WaitCode = "BLOCK"         // nobody has put it into a block yet
	WaitConfirmations WaitCode = "CONFIRMATIONS" // its block is not deep enough to be DONE
	WaitSettlement    WaitCode = "SETTLEMENT"    // what ended its attempt is not deep enough to believe
	WaitExpiry        WaitCode = "EXPIRY"        // no further attempt is made, and the last may still land
	WaitRetryDelay    WaitCode = "RETRY_DELAY"   // the time before its next try
	WaitFinality      WaitCode = "FINALITY"      // DONE, and still watched for a reorganisation
	WaitPerson        WaitCode = "PERSON"        // only a person can move it on
	WaitNothing       WaitCode = "NOTHING"       // it is over, or goes on at once
)

// A Next is what happens next; At is when at the latest, zero if no clock says.
type Next struct {
	Action string
	At     time.Time
}

// What happens next to a transaction, as an Explanation names it.
const (
	StepBind      = "BIND"       // a free sender is bound to its queue
	StepAskWorker = "ASK_WORKER" // an attempt is planned, and its worker asked to prove and sign
	StepSubmit    = "SUBMIT"     // a batch is posted to its ledger
	StepSend      = "SEND"       // the signed bytes are given to the nodes
	StepWatch     = "WATCH"      // the chain is asked again
	StepSendAgain = "SEND_AGAIN" // the same bytes are sent again
	StepRaiseFee  = "RAISE_FEE"  // another attempt at the same nonce that pays more
	StepWeigh     = "WEIGH"      // it is decided whether there is another try
	StepRetry     = "RETRY"      // another try
	StepFinish    = "FINISH"     // it becomes DONE
	StepEnd       = "END"        // it becomes FAILED or UNRESOLVED
	StepFinal     = "FINAL"      // it is watched no longer
	StepRemove    = "REMOVE"     // its record is removed
	StepTell      = "TELL"       // its worker is told how it ended
	StepResume    = "RESUME"     // for a person: resume the queue
	StepDecide    = "DECIDE"     // for a person: retry or delete it
	StepResolve   = "RESOLVE"    // for a person: say what became of its attempt
	StepNone      = "NONE"
)

// Seen is an attempt with what the chain says of it now.
type Seen struct {
	tx.Attempt
	Open bool // it may still land
	// Place is where it was last seen: block, pool, nowhere, or unknown.
	Place  string
	Agreed bool   // every synced node says so
	Depth  int    // of the block, the tip being 1; 0 if none or not agreed on
	Detail string // the same and why it ended, in words
}
