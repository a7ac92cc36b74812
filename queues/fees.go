package queues

import "time"

// FeeLimits are the most that attempts may cost in one day, by UTC and the clock of
// Redis, in nanomina; 0 is no limit.
type FeeLimits struct {
	Sender uint64 // each sender
	All    uint64 // all senders of the namespace together
}

// A FeeLimitError refuses an attempt that would pass one of the FeeLimits. Nothing
// was stored.
type FeeLimitError struct {
	All   bool          // the limit of all senders together, not of this one
	Spent uint64        // what the day has cost so far, in nanomina
	Left  time.Duration // until the day is over
}

func (e *FeeLimitError) Error() string { return "the fees of the day have reached their limit" }
