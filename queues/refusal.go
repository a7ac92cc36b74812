package queues

import "errors"

// What a person asks for is refused with one of these, wrapped or not.
var (
	// ErrNotCancellable: the transaction is final, so nothing is left to cancel.
	ErrNotCancellable = errors.New("the transaction cannot be cancelled in its state")
	// ErrNotRetryable: the transaction is neither FAILED nor UNRESOLVED.
	ErrNotRetryable = errors.New("the transaction cannot be retried in its state")
	// ErrMightStillLand: an attempt is open, so a new nonce could let the
	// transaction take effect twice.
	ErrMightStillLand = errors.New("an attempt might still land")
	// ErrContradicted: the chain says otherwise than the person.
	ErrContradicted = errors.New("the chain contradicts it")
)
