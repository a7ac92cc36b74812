package devnet

import (
	"cmp"
	"math/bits"
	"slices"
)

// pool is one node's transaction pool: per payer a queue without gaps, whose
// first nonce is the account's at the node's best tip, and whose costs together
// the account can pay. It knows the ledger only through what it is told.
type pool struct {
	queues map[string][]*command // by payer, in nonce order
	byHash map[string]*command
}

func newPool() pool {
	return pool{queues: make(map[string][]*command), byHash: make(map[string]*command)}
}

// refusal is the name of a pool error as the daemon prints it.
type refusal string

// Refusals of the pool, by Mina's names.
const (
	accepted          refusal = ""
	invalidNonce      refusal = "Invalid_nonce"
	insufficientFee   refusal = "Insufficient_replace_fee"
	insufficientFunds refusal = "Insufficient_funds"
	expired           refusal = "Expired"
	payerNotFound     refusal = "Fee_payer_account_not_found"
)

// replaceFeeStep is the least raise that replaces a command, in nanomina.
const replaceFeeStep = 1

// add admits a command, given the payer's account and the current slot. A
// command that is already there is accepted again.
func (p *pool) add(c *command, payer *account, slot uint32) refusal {
	if p.byHash[c.Hash] != nil {
		return accepted
	}
	if c.ValidUntil < slot {
		return expired
	}
	if payer == nil {
		return payerNotFound
	}
	queue := p.queues[c.Payer]
	next := payer.nonce + uint32(len(queue))
	if c.Nonce < payer.nonce || c.Nonce > next {
		return invalidNonce
	}
	if c.Nonce < next {
		return p.replace(c, queue, int(c.Nonce-payer.nonce), payer)
	}
	if cost, overflow := total(queue); overflow || !affordable(cost, c, payer.liquid()) {
		return insufficientFunds
	}
	p.queues[c.Payer] = append(queue, c)
	p.byHash[c.Hash] = c
	return accepted
}

// replace puts c at index i of its queue. Successors that the balance no
// longer covers are dropped, and the raise must pay for them too.
func (p *pool) replace(c *command, queue []*command, i int, payer *account) refusal {
	old := queue[i]
	if c.Fee < old.Fee || c.Fee-old.Fee < replaceFeeStep {
		return insufficientFee
	}
	raise := c.Fee - old.Fee
	next := slices.Clone(queue[:i])
	cost, overflow := total(next)
	if overflow || !affordable(cost, c, payer.liquid()) {
		return insufficientFunds
	}
	next = append(next, c)
	cost += c.cost()
	broken := false
	for _, later := range queue[i+1:] {
		if !broken && affordable(cost, later, payer.liquid()) {
			next = append(next, later)
			cost += later.cost()
			continue
		}
		broken = true
		if later.Fee >= raise || raise-later.Fee < replaceFeeStep {
			return insufficientFee
		}
		raise -= later.Fee
	}
	p.set(c.Payer, next)
	return accepted
}

func total(queue []*command) (cost uint64, overflow bool) {
	for _, c := range queue {
		var carry uint64
		if cost, carry = bits.Add64(cost, c.cost(), 0); carry != 0 {
			return 0, true
		}
	}
	return cost, false
}

func affordable(cost uint64, c *command, balance uint64) bool {
	sum, carry := bits.Add64(cost, c.cost(), 0)
	return carry == 0 && sum <= balance
}

// set replaces a payer's queue.
func (p *pool) set(payer string, queue []*command) {
	for _, c := range p.queues[payer] {
		delete(p.byHash, c.Hash)
	}
	for _, c := range queue {
		p.byHash[c.Hash] = c
	}
	if len(queue) == 0 {
		delete(p.queues, payer)
		return
	}
	p.queues[payer] = queue
}

// cut drops the command at index i of a payer's queue and all that depend on it.
func (p *pool) cut(payer string, i int) { p.set(payer, slices.Clone(p.queues[payer][:i])) }

// drop takes out one command and its dependents; false if it is not there.
func (p *pool) drop(hash string) bool {
	c := p.byHash[hash]
	if c == nil {
		return false
	}
	p.cut(c.Payer, slices.Index(p.queues[c.Payer], c))
	return true
}

// shrink evicts the lowest fee per weight unit, with its dependents, until at
// most limit commands are left.
func (p *pool) shrink(limit int) {
	for len(p.byHash) > limit {
		var worst *command
		for _, c := range p.byHash {
			if worst == nil || byFee(c, worst) > 0 {
				worst = c
			}
		}
		p.drop(worst.Hash)
	}
}

// byFee orders by fee per weight unit, best first, then by hash.
func byFee(a, b *command) int {
	ah, al := bits.Mul64(a.Fee, b.weight())
	bh, bl := bits.Mul64(b.Fee, a.weight())
	return cmp.Or(cmp.Compare(bh, ah), cmp.Compare(bl, al), cmp.Compare(a.Hash, b.Hash))
}

// revalidate makes a payer's queue fit its account again: what the nonce has
// passed goes; a queue that no longer starts at the nonce goes entirely; what
// cannot be paid goes from the tail.
func (p *pool) revalidate(payer string, a *account) {
	queue := p.queues[payer]
	if len(queue) == 0 {
		return
	}
	if a == nil {
		p.set(payer, nil)
		return
	}
	start := 0
	for start < len(queue) && queue[start].Nonce < a.nonce {
		start++
	}
	end := start
	var cost uint64
	for end < len(queue) && queue[end].Nonce-a.nonce == uint32(end-start) && affordable(cost, queue[end], a.liquid()) {
		cost += queue[end].cost()
		end++
	}
	if start > 0 || end < len(queue) {
		p.set(payer, slices.Clone(queue[start:end]))
	}
}

// restore puts commands of abandoned blocks, oldest first, back before what
// is pooled. The payers need revalidation afterwards.
func (p *pool) restore(removed []*command) {
	front := make(map[string][]*command)
	for _, c := range removed {
		front[c.Payer] = append(front[c.Payer], c)
	}
	for payer, queue := range front {
		last := queue[len(queue)-1].Nonce
		for _, c := range p.queues[payer] {
			if c.Nonce > last {
				queue = append(queue, c)
			}
		}
		p.set(payer, queue)
	}
}

// force puts a command at its nonce whatever is there, if the queue reaches so far.
func (p *pool) force(c *command, a *account) {
	if a == nil || c.Nonce < a.nonce {
		return
	}
	queue, i := p.queues[c.Payer], int(c.Nonce-a.nonce)
	if i > len(queue) {
		return
	}
	next := append(slices.Clone(queue[:i]), c)
	if i < len(queue) {
		next = append(next, queue[i+1:]...)
	}
	p.set(c.Payer, next)
}

// expire drops what can no longer be included after slot, with its dependents.
func (p *pool) expire(slot uint32) {
	for payer, queue := range p.queues {
		if i := slices.IndexFunc(queue, func(c *command) bool { return c.ValidUntil < slot }); i >= 0 {
			p.cut(payer, i)
		}
	}
}

// list returns commands of one payer, or of all if payer is "", in the order
// of payer and nonce.
func (p *pool) list(payer string) []*command {
	if payer != "" {
		return slices.Clone(p.queues[payer])
	}
	out := make([]*command, 0, len(p.byHash))
	for _, c := range p.byHash {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *command) int {
		return cmp.Or(cmp.Compare(a.Payer, b.Payer), cmp.Compare(a.Nonce, b.Nonce))
	})
	return out
}
