package tx

import (
	"errors"
)

// An Order is what a person, or a client, asks for.
type Order struct {
	What OrderKind
	Hash string // Landed: of the command
}

// OrderKind is what is asked for.
type OrderKind string

// All orders.
const (
	OrderCancel OrderKind = "cancel"
	OrderRetry  OrderKind = "retry"
	OrderLanded OrderKind = "landed" // what is open has landed
	OrderDead   OrderKind = "dead"   // nothing that is open will ever land
	OrderExpire OrderKind = "expire" // its deadline may have come while it waits; nobody drives it
)

// What an Order is refused with, wrapped or not.
var (
	// ErrNotCancellable: the transaction is final, so nothing is left to cancel.
	ErrNotCancellable = errors.New("the transaction cannot be cancelled in its state")
	// ErrNotRetryable: the transaction is neither FAILED nor UNRESOLVED, or its deadline has
	// come; or nothing of it is open that a person could resolve.
	ErrNotRetryable = errors.New("the transaction cannot be retried in its state")
	// ErrMightStillLand: an attempt is open, so a new nonce could let the
	// transaction take effect twice.
	ErrMightStillLand = errors.New("an attempt might still land")
	// ErrFollowed: others of its queue were made on what it leaves, and may still land.
	ErrFollowed = errors.New("others of its queue were made on it and are in flight")
	// ErrNotExpired: it does not wait, or its deadline has not come.
	ErrNotExpired = errors.New("its deadline has not come while it waits")
	// ErrContradicted: the chain says otherwise than the person.
	ErrContradicted = errors.New("the chain contradicts it")
)
