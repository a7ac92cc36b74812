package devnet

import (
	"fmt"
	"slices"
)

// A Reorg describes a rival chain.
type Reorg struct {
	Depth int `json:"depth"` // how many blocks it abandons; at least 1
	// Exclude are hashes that no rival block takes. They return to the pools.
	Exclude []string `json:"exclude"`
	// Include are hashes of commands that were accepted once, and replaced or
	// dropped since: each takes its nonce before anything else can.
	Include []string `json:"include"`
	Empty   bool     `json:"empty"` // rival blocks take no commands
	// Sooner has each rival block stand a slot before the one that it takes the place of,
	// where that slot is free. Mina: rivals of neighbouring slots are ordinary, for a block
	// takes longer than a slot to be made and told of.
	Sooner bool `json:"sooner"`
}

// Reorg abandons the last blocks of the best chain for a rival chain that is
// one block longer. What was in them and is not in the rival returns to the
// pools. It fails if the chain is not that deep or an included hash unknown.
func (n *Network) Reorg(r Reorg) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gossip()
	old := slices.Clone(n.core.chain)
	if after := len(old) - int(n.first.height); r.Depth < 1 || r.Depth > after {
		return fmt.Errorf("reorg of depth %d with %d blocks after genesis", r.Depth, after)
	}
	var include []*command
	for _, hash := range r.Include {
		c := n.seen[hash]
		if c == nil {
			return fmt.Errorf("reorg with unknown command %.60q", hash)
		}
		include = append(include, c)
	}
	fork := len(old) - 1 - r.Depth
	n.core.move(old[fork], n.now())
	slices.SortFunc(include, func(a, b *command) int { return int(int64(a.Nonce) - int64(b.Nonce)) })
	for _, c := range include {
		n.core.pool.force(c, n.core.account(c.Payer))
	}
	skip := func(hash string) bool { return r.Empty || slices.Contains(r.Exclude, hash) }
	for _, abandoned := range old[fork+1:] {
		slot := abandoned.slot
		if r.Sooner && slot-1 > n.core.tip().slot {
			slot--
		}
		n.produce(&n.core, slot, func(hash string) bool {
			// A rival's producer knew what was there in its slot, and no more.
			return skip(hash) || n.seen[hash].first > slot && !slices.Contains(r.Include, hash)
		})
	}
	n.produce(&n.core, max(n.now(), n.core.tip().slot+1), skip)
	n.announce()
	n.config.Log.Info("reorg", "depth", r.Depth, "height", n.core.tip().height)
	return nil
}

// Drop takes a pooled command and all that depend on it out of every pool; it
// reports whether any had it.
func (n *Network) Drop(hash string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := n.core.pool.drop(hash)
	for _, node := range n.nodes {
		found = node.drop(hash) || found
	}
	return found
}

// ClearPools empties every pool, as if all had been evicted.
func (n *Network) ClearPools() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.core.pool = newPool()
	for _, node := range n.nodes {
		node.clear()
	}
}

// FailNext makes the next count commands of a payer, or of anyone if payer is
// "", fail in their blocks with the given reasons.
func (n *Network) FailNext(payer string, count int, reasons ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if count > 0 && len(reasons) > 0 {
		n.fail = append(n.fail, failOrder{payer, count, slices.Clone(reasons)})
	}
}

// failOrder is one call of FailNext.
type failOrder struct {
	payer   string
	left    int
	reasons []string
}

// failures asks FailWhen and the orders of FailNext.
func (n *Network) failures(c Command) []string {
	if n.config.FailWhen != nil {
		if reasons := n.config.FailWhen(c); len(reasons) > 0 {
			return reasons
		}
	}
	for i := range n.fail {
		if o := &n.fail[i]; o.left > 0 && (o.payer == "" || o.payer == c.Payer) {
			o.left--
			reasons := o.reasons
			if o.left == 0 {
				n.fail = slices.Delete(n.fail, i, i+1)
			}
			return reasons
		}
	}
	return nil
}
