package lifecycle

import (
	"cmp"
	"math"
	"time"

	"mina-sequencer/sequencer/fees"
)

// Policy is what an operator decides. Fees are in nanomina, depths in blocks.
type Policy struct {
	CycleInterval     time.Duration // the longest the cycle sleeps
	InclusionInterval time.Duration // between two looks at the chain
	DispatchTimeout   time.Duration // for one worker call
	CallbackWait      time.Duration // that a queue waits for a callback's answer
	MaxRetries        int           // after the first try, where the worker says no other
	RetryDelay        time.Duration // before the first retry; doubled for each further one
	RetryDelayMax     time.Duration
	Confirmations     int
	SettleDepth       int
	RetryDepth        int // of the type: how deep a failure in a block is tried again, 0 for SettleDepth
	Finality          int
	Fee, FeeMax       uint64
	// FeeAuto has fees go by the market: so that a command is in one of FeeTarget blocks,
	// for FeeMin at least. Fee is then what is paid where nobody knows the market.
	FeeAuto         bool
	FeeMin          uint64
	FeeTarget       int
	BlockZkapps     int // zkApp commands that a block takes; 0 for fees.BlockTakes
	FeeBump         float64
	BumpOnPrice     bool   // else each counted retry raises a constant fee
	BumpAfter       uint32 // slots in the pool
	ValidSlots      uint32
	Width           int           // the most of one queue in flight and in no block; 1 for one at a time
	SendGap         time.Duration // between what is sent of one sender, so that peers get it in order
	UnresolvedLimit int
	ClaimTTL        time.Duration
	ClaimLimit      int // bound queues, 0 for no limit
	Retention       time.Duration
	RetentionFailed time.Duration // of FAILED and UNRESOLVED; 0 is for ever
	BalanceInterval time.Duration // between two looks at the senders' accounts; 0 looks at none
	MinBalance      uint64        // what a sender must have to spend to be used, nanomina; Fee at least
	// The most that attempts may cost in a day (UTC), by sender and for all
	// together, in nanomina; 0 for no limit.
	FeeLimitSender, FeeLimit uint64
	// The same for what each queue, and each API key's name, may cost.
	FeeLimitQueue, FeeLimitKey uint64
	ShutdownTimeout            time.Duration
	// LedgerPatience is how long a ledger may leave a batch without a verdict.
	LedgerPatience time.Duration
	// LedgerRetries is how often a post that a ledger was too busy for is repeated before the batch is put
	// off, and LedgerDelay for how long at least it is put off then.
	LedgerRetries int
	LedgerDelay   time.Duration
}

// BlockLimit is how many zkApp commands a block takes.
func (p *Policy) BlockLimit() int { return cmp.Or(p.BlockZkapps, fees.BlockTakes) }

// Fees is what it says of fees.
func (p *Policy) Fees() *fees.Policy {
	return &fees.Policy{Auto: p.FeeAuto, Target: p.FeeTarget, Usual: p.Fee, Least: p.FeeMin, Most: p.FeeMax,
		Bump: p.FeeBump}
}

// retryDelay is exponential, capped, with jitter (0 to 1) of a tenth.
func (p *Policy) retryDelay(retries int, jitter float64) time.Duration {
	d := min(p.grown(p.RetryDelay, retries), p.RetryDelayMax)
	return time.Duration(float64(d) * (0.9 + 0.2*jitter))
}

// Pause is how long something is left alone after it was not there n times in a row
// before, from half a minute on, or what retries are put off for where that is shorter, but
// no less than a second.
func (p *Policy) Pause(n int) time.Duration {
	return p.grown(max(min(p.RetryDelay, 30*time.Second), time.Second), n)
}

// grown doubles d n times, up to the longest delay between retries.
func (p *Policy) grown(d time.Duration, n int) time.Duration {
	most := max(p.RetryDelay, p.RetryDelayMax, d)
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	return min(d, most)
}

// LastSlot is the validUntil of an attempt that is planned now: time for the proof, and
// ValidSlots after it.
func (p *Policy) LastSlot(tip Tip) uint32 {
	proving := uint32(0)
	if tip.SlotTime > 0 && p.DispatchTimeout > 0 {
		proving = uint32(min((p.DispatchTimeout-1)/tip.SlotTime+1, math.MaxUint32))
	}
	return upTo(upTo(max(tip.TipSlot, tip.Slot), p.ValidSlots), proving)
}

// upTo is n and more, or the highest there is: slots and nonces come from nodes, and
// must not wrap round.
func upTo(n, more uint32) uint32 { return n + min(more, math.MaxUint32-n) }

// following is the next nonce, or slot, after n.
func following(n uint32) uint32 { return upTo(n, 1) }

// slots is how long n of them take, or as many as there is time for.
func slots(n int64, each time.Duration) time.Duration {
	most := math.MaxInt64 / max(int64(each), 1)
	return time.Duration(max(-most, min(n, most))) * each
}
