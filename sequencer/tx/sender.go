package tx

// SenderReason is why a sender is not available. There may be several at a time, each
// with an end of its own; the gravest is shown.
type SenderReason string

// All reasons.
const (
	Rested         SenderReason = "RESTED"          // for a while: its worker is away or busy, a fee limit …
	Draining       SenderReason = "DRAINING"        // a person, or the configuration, took it out of use
	StoppedNonce   SenderReason = "STOPPED_NONCE"   // the account was used by somebody else
	LowBalance     SenderReason = "LOW_BALANCE"     // it cannot pay its fees
	WrongAccount   SenderReason = "WRONG_ACCOUNT"   // its worker signs for another account
	WrongNetwork   SenderReason = "WRONG_NETWORK"   // its worker signs for another network
	OutcomeUnknown SenderReason = "OUTCOME_UNKNOWN" // a person must resolve what its worker sent
	Idled          SenderReason = "NO_PROCESS"      // it is free, and no process could bind it now; never stored
)
