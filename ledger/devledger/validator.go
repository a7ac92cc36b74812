package devledger

import (
	"slices"
	"time"
)

// What a validator keeps in memory, and for how long.
const (
	keepInvalid = 600 * time.Second  // a verdict, since the last look at it
	keepSeen    = 1200 * time.Second // that a batch was seen, since the last look, and a batch that waits for a dependency
	maxSeen     = 1 << 17            // batches of which so much is known
)

// The queue limit is ten times a mean over the last blocks of the batches in
// them.
const (
	queueFactor = 10
	firstMean   = 30
	meanOver    = 5
)

// A job is a batch on its way, with its fate.
type job struct {
	*Batch
	fault Fault
}

type block struct {
	batches []*Batch
	at      time.Time
}

// validator is what stands behind a Sawtooth REST API.
type validator struct {
	*core
	config SawtoothConfig

	blocks []block
	chain  map[string]int  // number of its block, from 1, by batch id
	landed map[string]bool // transaction ids in the chain
	known  *cache[*Batch]  // what its peers have heard of too

	// What follows is gone when it restarts.
	pool    []job           // what can be put into a block, in order of arrival
	pending map[string]bool // the statuses PENDING
	invalid *cache[refusal]
	seen    *cache[bool] // batches
	passed  *cache[bool] // transactions of batches that waited for nothing
	held    []job        // what waits for a dependency
	planned bool         // there will be a block
	means   []int
	up      time.Time // it is down until then
}

func newValidator(c *core, config SawtoothConfig) *validator {
	v := &validator{
		core: c, config: config, chain: map[string]int{}, landed: map[string]bool{},
		known: newCache[*Batch](0, maxSeen), up: c.at,
	}
	v.forget()
	return v
}

// forget is what a restart does to it.
func (v *validator) forget() {
	v.pool, v.held, v.planned, v.pending, v.means = nil, nil, false, map[string]bool{}, []int{firstMean}
	v.invalid = newCache[refusal](keepInvalid, maxSeen)
	v.seen = newCache[bool](keepSeen, maxSeen)
	v.passed = newCache[bool](keepSeen, maxSeen)
}

// after plans what a restart prevents.
func (v *validator) after(d time.Duration, do func()) {
	life := v.life
	v.in(d, func() {
		if v.life == life {
			do()
		}
	})
}

// down says whether nobody answers behind the REST API.
func (v *validator) down() bool { return v.at.Before(v.up) }

// limit is how many pending batches make it refuse more.
func (v *validator) limit() int {
	if v.config.QueueLimit > 0 {
		return v.config.QueueLimit
	}
	return queueFactor * v.mean()
}

func (v *validator) mean() int {
	sum := 0
	for _, n := range v.means {
		sum += n
	}
	return sum / len(v.means)
}

// take hands a batch that was checked to the completer.
func (v *validator) take(b *Batch, f Fault) {
	v.seen.purge(v.at)
	v.passed.purge(v.at)
	if _, seen := v.seen.look(b.ID, v.at); seen || v.chain[b.ID] > 0 || v.pending[b.ID] {
		return
	}
	v.seen.put(b.ID, true, v.at)
	v.known.put(b.ID, b, v.at)
	if f.Fate == Lost {
		return
	}
	j := job{b, f}
	if !v.complete(b) {
		v.held = append(v.held, j)
		v.after(keepSeen, func() {
			v.held = slices.DeleteFunc(v.held, func(h job) bool { return h.Batch == b })
		})
		return
	}
	v.pass(j)
}

// complete says whether all dependencies of a batch were seen, or are in it.
func (v *validator) complete(b *Batch) bool {
	for _, t := range b.Transactions {
		for _, d := range t.Dependencies {
			_, passed := v.passed.byID[d]
			if !passed && !v.landed[d] && !slices.Contains(b.TransactionIDs, d) {
				return false
			}
		}
	}
	return true
}

// pass brings a batch, and what waited for it, to the publisher, which takes it
// out of its queue a moment later.
func (v *validator) pass(j job) {
	for _, id := range j.TransactionIDs {
		v.passed.put(id, true, v.at)
	}
	v.after(v.config.HandOver, func() {
		v.pending[j.ID] = true
		v.pool = append(v.pool, j)
		v.schedule()
	})
	if i := slices.IndexFunc(v.held, func(h job) bool { return v.complete(h.Batch) }); i >= 0 {
		next := v.held[i]
		v.held = slices.Delete(v.held, i, i+1)
		v.pass(next) // and what waits for that, and the others
	}
}

// schedule makes sure that there will be a block, at a multiple of the block time.
func (v *validator) schedule() {
	if v.planned || v.config.BlockTime < 0 {
		return
	}
	v.planned = true
	v.after(v.config.BlockTime-v.at.Sub(v.config.start)%v.config.BlockTime, func() {
		v.planned = false
		v.build()
		if len(v.pool) > 0 {
			v.schedule()
		}
	})
}

// build makes a block of what is in the pool, and publishes it unless it is
// empty. What is neither valid nor invalid is dropped without a verdict.
func (v *validator) build() {
	queued, used := len(v.pool), 0
	b := block{at: v.at}
	for len(v.pool) > 0 && (v.config.MaxPerBlock == 0 || len(b.batches) < v.config.MaxPerBlock) {
		j := v.pool[0]
		v.pool = v.pool[1:]
		used++
		if j.fault.Fate == Stuck || !v.fits(j.Batch) {
			continue
		}
		if r := judge(j.Batch, j.fault, v.config.Refuse, func(string) int { return 0 }); r != nil {
			delete(v.pending, j.ID)
			v.invalid.purge(v.at)
			v.invalid.put(j.ID, *r, v.at)
			continue
		}
		v.commit(j.Batch)
		b.batches = append(b.batches, j.Batch)
	}
	if len(b.batches) > 0 {
		v.blocks = append(v.blocks, b)
	}
	// The mean moves only where it was too low, or a block left batches over.
	if mean := v.mean(); used > 0 && (queued-used > mean || used > mean) {
		v.means = append(v.means, used)
		v.means = v.means[max(0, len(v.means)-meanOver):]
	}
}

// fits says whether a batch may follow on the chain: neither it nor one of its
// transactions is there, and all dependencies are.
func (v *validator) fits(b *Batch) bool {
	if v.chain[b.ID] > 0 {
		return false
	}
	inside := map[string]bool{}
	for _, t := range b.Transactions {
		if v.landed[t.ID] {
			return false
		}
		for _, d := range t.Dependencies {
			if !v.landed[d] && !inside[d] {
				return false
			}
		}
		inside[t.ID] = true
	}
	return true
}

// commit puts a batch into the block that comes next.
func (v *validator) commit(b *Batch) {
	delete(v.pending, b.ID)
	v.chain[b.ID] = len(v.blocks) + 1
	for _, id := range b.TransactionIDs {
		v.landed[id] = true
	}
}

// find looks a batch up in the chain.
func (v *validator) find(id string) *Batch {
	if number := v.chain[id]; number > 0 {
		for _, b := range v.blocks[number-1].batches {
			if b.ID == id {
				return b
			}
		}
	}
	return nil
}

// fork takes the last blocks off the chain. Their batches are in the pool
// again, without a status.
func (v *validator) fork(depth int) {
	keep := max(0, len(v.blocks)-depth)
	var back []job
	for _, b := range v.blocks[keep:] {
		for _, batch := range b.batches {
			delete(v.chain, batch.ID)
			for _, id := range batch.TransactionIDs {
				delete(v.landed, id)
			}
			back = append(back, job{Batch: batch})
		}
	}
	v.blocks = v.blocks[:keep]
	v.pool = append(back, v.pool...)
	if len(v.pool) > 0 {
		v.schedule()
	}
}

// effects lists what is on the chain.
func (v *validator) effects() []Effect {
	out := []Effect{}
	for i, b := range v.blocks {
		for _, batch := range b.batches {
			out = append(out, Effect{Batch: batch.ID, Transactions: batch.TransactionIDs, Block: i + 1, Times: 1,
				At: b.at})
		}
	}
	return out
}

// status is looked up as a validator does: chain, verdicts, pending ones.
func (v *validator) status(id string) (status string, why *refusal) {
	if v.chain[id] > 0 {
		return "COMMITTED", nil
	}
	if r, ok := v.invalid.look(id, v.at); ok {
		return "INVALID", &r
	}
	if v.pending[id] {
		return "PENDING", nil
	}
	return "UNKNOWN", nil
}
