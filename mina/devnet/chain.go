package devnet

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// block is one block of the tree; it is never changed once it is made.
type block struct {
	parent   *block // nil for genesis
	hash     string
	height   uint32 // 1 for genesis
	slot     uint32 // since genesis
	at       time.Time
	commands []included
	changes  []change
}

// included is a command with what became of it in its block.
type included struct {
	*command
	failures []Failure // of a zkApp command
	reason   string    // of a payment
}

func (i included) failed() bool { return len(i.failures) > 0 || i.reason != "" }

// newBlock seals a block; salt tells apart rivals with equal content.
func newBlock(parent *block, slot uint32, at time.Time, salt uint64) *block {
	b := &block{parent: parent, height: 1, slot: slot, at: at}
	var seed []byte
	if parent != nil {
		b.height = parent.height + 1
		seed = append(seed, parent.hash...)
	}
	seed = binary.BigEndian.AppendUint64(seed, uint64(slot)<<32|uint64(b.height))
	seed = binary.BigEndian.AppendUint64(seed, salt)
	b.hash = digest58(versionStateHash, 1, seed)
	return b
}

// branch is one view of the network: a best path, the ledger at its tip, and a
// pool that fits that ledger.
type branch struct {
	chain   []*block            // from genesis to the best tip; the block of height h is at h-1
	ledger  map[string]*account // what the blocks changed
	genesis func(key string) *account
	known   map[string]*block // every block that was ever on the best path, by hash
	pool    pool
	heard   map[string]time.Time // when gossip of a command first came, by hash
}

func newBranch(first *block, genesis func(string) *account) branch {
	return branch{
		chain: []*block{first}, ledger: make(map[string]*account), genesis: genesis,
		known: map[string]*block{first.hash: first}, pool: newPool(), heard: make(map[string]time.Time),
	}
}

// fork is a branch of its own with the blocks and the ledger of b, and with nothing pooled.
func (b *branch) fork() branch {
	return branch{
		chain: slices.Clone(b.chain), ledger: maps.Clone(b.ledger), genesis: b.genesis, known: maps.Clone(b.known),
		pool: newPool(), heard: make(map[string]time.Time),
	}
}

func (b *branch) tip() *block { return b.chain[len(b.chain)-1] }

// holds reports whether a block lies on the best path.
func (b *branch) holds(x *block) bool {
	return int(x.height) <= len(b.chain) && b.chain[x.height-1] == x
}

func (b *branch) account(key string) *account {
	if a, ok := b.ledger[key]; ok {
		return a
	}
	return b.genesis(key)
}

// inferredNonce is the nonce after the last pooled command of an account.
func (b *branch) inferredNonce(key string, a *account) uint32 {
	return a.nonce + uint32(len(b.pool.queues[key]))
}

// move makes a block of the tree the best tip. Commands of abandoned blocks go
// back to the pool; then the pool is made to fit the new ledger and slot.
func (b *branch) move(to *block, slot uint32) {
	var fresh []*block
	ancestor := to
	for ; !b.holds(ancestor); ancestor = ancestor.parent {
		fresh = append(fresh, ancestor)
	}
	touched := make(map[string]bool)
	var removed []*command
	for _, gone := range slices.Backward(b.chain[ancestor.height:]) {
		for _, c := range gone.changes {
			touched[c.key] = true
			b.put(c.key, c.before)
		}
	}
	for _, gone := range b.chain[ancestor.height:] {
		for _, c := range gone.commands {
			removed = append(removed, c.command)
		}
	}
	b.chain = b.chain[:ancestor.height]
	for _, next := range slices.Backward(fresh) {
		for _, c := range next.changes {
			touched[c.key] = true
			b.put(c.key, c.after)
		}
		b.chain = append(b.chain, next)
		b.known[next.hash] = next
	}
	b.pool.restore(removed)
	for key := range touched {
		b.pool.revalidate(key, b.account(key))
	}
	b.pool.expire(slot)
}

func (b *branch) put(key string, a *account) {
	if a == nil {
		delete(b.ledger, key)
		return
	}
	b.ledger[key] = a
}

// rules are what decides about the content of a block.
type rules struct {
	creationFee uint64
	maxZkapps   int
	skip        func(hash string) bool
	failures    func(Command) []string // reasons to fail a command with, if any
}

// fill puts the pool's commands into a new block on the tip: descending fee
// per weight unit, each payer's in nonce order, so that a command ranks no higher
// than any that its payer has before it.
//
// As in Mina a block has two passes: all fee payers, and payments as a whole, then
// all account updates. Whether a command is included depends on the first alone:
// behind one whose updates fail, its payer's others are included, and pay.
func (b *branch) fill(next *block, r rules) {
	v := &view{below: b.account, changed: make(map[string]*account)}
	at := moment{slot: next.slot, height: next.height, creationFee: r.creationFee}
	// The best is last, to be popped.
	heads := make([]*command, 0, len(b.pool.queues))
	worstFirst := func(a, b *command) int { return byFee(b, a) }
	for _, queue := range b.pool.queues {
		heads = append(heads, queue[0])
	}
	slices.SortFunc(heads, worstFirst)
	zkapps := 0
	var planted [][]string // reasons to fail, of each command
	for len(heads) > 0 {
		c := heads[len(heads)-1]
		heads = heads[:len(heads)-1]
		if c.Kind == KindZkapp && (len(c.updates) == 0 || r.maxZkapps > 0 && zkapps == r.maxZkapps) ||
			r.skip != nil && r.skip(c.Hash) || !v.payFee(c, at) {
			continue
		}
		done := included{command: c}
		reasons := r.failures(c.Command)
		switch {
		case c.Kind == KindZkapp:
			zkapps++
		case len(reasons) > 0:
			done.reason = reasons[0]
		default:
			done.reason = v.pay(c, at)
		}
		next.commands, planted = append(next.commands, done), append(planted, reasons)
		queue := b.pool.queues[c.Payer]
		if i := int(c.Nonce-queue[0].Nonce) + 1; i < len(queue) {
			place, _ := slices.BinarySearchFunc(heads, queue[i], worstFirst)
			heads = slices.Insert(heads, place, queue[i])
		}
	}
	for i := range next.commands {
		if c := &next.commands[i]; c.Kind == KindZkapp {
			c.failures = v.second(c.command, planted[i], at)
		}
	}
	next.changes = v.changes()
}

// second executes a zkApp command's updates, unless it is to fail for the given reasons.
func (v *view) second(c *command, planted []string, at moment) []Failure {
	if len(planted) == 0 {
		return v.apply(c, at)
	}
	all := make([][]string, len(c.updates))
	all[0] = planted
	return display(all)
}
