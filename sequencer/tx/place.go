package tx

import "time"

// A Place is a transaction's place in its queue.
type Place struct {
	Ahead int    // waiting transactions before it
	First string // of the queue: the running one or, without one, the next; "" if there is none
	// Holder is the transaction whose callback the queue waits for, until Hold; "" with
	// a Hold: its worker was away or busy.
	Holder string
	Hold   time.Time
}
