package devnet

import (
	"maps"
	"slices"
	"time"
)

// Mina: a node tells its peers again of what clients sent to it, so often and
// for so long after the last time that a client sent it. It stays in the node's
// own pool after that.
const (
	rebroadcastEvery = 10 * time.Minute
	rebroadcastFor   = 50 * time.Minute
)

// An ownCommand is one that a client sent to this node, not a peer.
type ownCommand struct {
	*command
	sent time.Time // last, by a client
	next time.Time // when the peers are told again
}

// clock is the time that the network has reached: that of the clock, or the
// start of the slot that it was advanced to by hand.
func (n *Network) clock() time.Time {
	slot, now := n.config.Genesis.Add(time.Duration(n.now())*n.config.SlotTime), time.Now()
	if slot.After(now) {
		return slot
	}
	return now
}

// broadcast tells the peers of a command that a client sent, and begins anew
// to tell them again.
func (d *Node) broadcast(c *command) {
	if !slices.Contains(d.outbox, c) {
		d.outbox = append(d.outbox, c)
	}
	now := d.network.clock()
	o := &ownCommand{c, now, now.Add(rebroadcastEvery)}
	if d.own == nil {
		d.own = map[*command]*ownCommand{}
	}
	d.own[c] = o
	d.turns = append(d.turns, o)
}

// rebroadcast adds what is due to the outbox. A command in a block is not told
// of, but comes back with the time it has left if the block is abandoned.
func (d *Node) rebroadcast() {
	now := d.network.clock()
	for len(d.turns) > 0 && !d.turns[0].next.After(now) {
		o := d.turns[0]
		d.turns = d.turns[1:]
		switch {
		case d.own[o.command] != o: // sent anew, or forgotten
			continue
		case now.Sub(o.sent) > rebroadcastFor:
			delete(d.own, o.command)
			continue
		case d.pool.byHash[o.Hash] != nil && !slices.Contains(d.outbox, o.command):
			d.outbox = append(d.outbox, o.command)
		}
		o.next = now.Add(rebroadcastEvery)
		d.turns = append(d.turns, o)
	}
}

// disown forgets what is neither pooled nor in a block. Mina: what is dropped
// from the pool is not told of again.
func (d *Node) disown() {
	maps.DeleteFunc(d.own, func(c *command, _ *ownCommand) bool {
		return d.pool.byHash[c.Hash] == nil && !d.includes(c)
	})
}

// includes reports whether a command is in a block of the best path.
func (b *branch) includes(c *command) bool {
	for _, x := range slices.Backward(b.chain) {
		if slices.ContainsFunc(x.commands, func(i included) bool { return i.Hash == c.Hash }) {
			return true
		}
		if x.slot < c.first {
			break
		}
	}
	return false
}

// gossip brings what nodes have to tell to all others. What a node tells while
// it is cut off is lost.
func (n *Network) gossip() {
	for _, from := range n.nodes {
		from.rebroadcast()
		for _, c := range from.outbox {
			if !from.reachable() {
				break
			}
			n.core.receive(c, n.now(), n.config.PoolSize)
			for _, to := range n.nodes {
				if to != from && to.reachable() {
					to.receive(c, n.now(), n.config.PoolSize)
				}
			}
		}
		from.outbox = nil
	}
}

// receive admits a command of another node, or ignores it.
func (b *branch) receive(c *command, slot uint32, size int) {
	if b.pool.add(c, b.account(c.Payer), slot) == accepted {
		b.pool.shrink(size)
	}
}
