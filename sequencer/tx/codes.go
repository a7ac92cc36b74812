package tx

// What is said of bytes that a node may have all the same: nothing usable, or words that are not
// Mina's, and may be a gateway's.
const (
	CodeNoAnswer = "No_answer"
	CodeGateway  = "Gateway"
)

// Stopped reports whether what a node refuses with this code is refused of everybody.
func Stopped(code string) bool {
	return code == "After_slot_tx_end" || code == "Transaction_type_disabled"
}

// Codes as they appear in the event log and as error codes.
const (
	CodeLate           = "LATE"
	CodeReopened       = "REOPENED"
	CodeCancelled      = "CANCELLED"
	CodeToCancel       = "CANCEL_REQUESTED" // no further attempt is made; what is out decides
	CodeResolved       = "RESOLVED"         // a person has said what became of it
	CodeOutcomeUnknown = "OUTCOME_UNKNOWN"
	CodeOrphaned       = "ORPHANED"
	CodeRelanded       = "RELANDED"
	CodeFinal          = "FINAL"
	CodeNonceIgnored   = "NONCE_IGNORED"
	CodeRestored       = "RESTORED" // written back after Redis had forgotten it; from any phase to any
	CodeAnswered       = "ANSWERED" // the worker has answered its callback with something
	CodeFeeLimit       = "FEE_LIMIT"
	CodeUnavailable    = "WORKER_UNAVAILABLE"
	CodeNotServed      = "TYPE_NOT_SERVED" // by a worker that proves other types
	CodeNoLedger       = "LEDGER_UNAVAILABLE"
	CodeInvalid        = "INVALID"
	CodeNoChain        = "CHAIN_UNAVAILABLE"
	CodeUnknownType    = "UNKNOWN_TYPE"
	CodeOvertaken      = "OVERTAKEN"
	CodeRepriced       = "REPRICED"     // of an attempt that was signed again before it left
	CodeProvedAhead    = "PROVED_AHEAD" // the same, for it was proved before its turn
	CodeHeld           = "HELD"         // of an attempt that was taken back, for nothing joined any more
	CodeLost           = "LOST"
	CodeMismatch       = "WORKER_MISMATCH"
	CodeAlone          = "NOT_TOGETHER"
	CodeNotRaised      = "NOT_RAISED"
	CodeExpired        = "EXPIRED"
	CodeNonceTaken     = "NONCE_TAKEN"
	CodeNonceBehind    = "NONCE_BEHIND"
	CodeNoDeadline     = "DEADLINE_UNKEPT"
	CodeOutOfOrder     = "OUT_OF_ORDER" // it landed although one before it had not
)
