package queues

import "time"

// Cost is what the attempts of t have cost, or may still cost, in nanomina. Of those
// with one nonce only one can land, so the dearest of them counts.
func (t *Transaction) Cost() uint64 {
	type place struct {
		sender string
		nonce  uint32
	}
	var sum uint64
	dearest := make(map[place]uint64, 1)
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if p := (place{a.Sender, a.Nonce}); a.costs() && a.Fee > dearest[p] {
			sum += a.Fee - dearest[p]
			dearest[p] = a.Fee
		}
	}
	return sum
}

// costs reports whether a's fee is spent, or may yet be.
func (a *Attempt) costs() bool {
	return a.EndedAt.IsZero() || a.Outcome == Included || a.Outcome == FailedIn
}

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
