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

// told is a command that a node tells its peers of.
type told struct {
	*command
	at time.Time
}

// tell puts a command into the outbox, unless the node's peers would take it for a
// repetition.
func (d *Node) tell(c *command, now time.Time) {
	if d.network.hears(&d.branch, c, now) {
		d.outbox = append(d.outbox, told{c, now})
	}
}

// broadcast tells the peers of a command that a client sent, and begins anew
// to tell them again.
func (d *Node) broadcast(c *command) {
	now := d.network.clock()
	d.tell(c, now)
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
		case d.pool.byHash[o.Hash] != nil:
			d.tell(o.command, now)
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
		if from.reachable() {
			n.deliver(&n.core, from.outbox)
			for _, to := range n.nodes {
				if to != from && to.reachable() {
					n.deliver(&to.branch, from.outbox)
				}
			}
		}
		from.outbox = nil
	}
}

// deliver brings what one node tells to another, in the order in which it gets through
// there. What does not fit the pool then is dropped, and no refusal goes back.
func (n *Network) deliver(to *branch, sent []told) {
	sent = slices.Clone(sent)
	if spread := int64(n.config.GossipSpread); spread > 0 && len(sent) > 1 {
		for i := range sent {
			sent[i].at = sent[i].at.Add(time.Duration(n.order.Int64N(spread)))
		}
		slices.SortStableFunc(sent, func(a, b told) int { return a.at.Compare(b.at) })
	}
	for _, c := range sent {
		if n.hears(to, c.command, c.at) && n.lacks(to, c.command) == "" &&
			to.pool.add(c.command, to.account(c.Payer), n.now()) == accepted {
			to.pool.shrink(n.config.PoolSize)
		}
	}
}

// hears says whether a command is news, and remembers it.
func (n *Network) hears(b *branch, c *command, at time.Time) bool {
	memory := n.config.GossipMemory
	if memory <= 0 {
		return true
	}
	if first, known := b.heard[c.Hash]; known && at.Sub(first) < memory {
		return false
	}
	if len(b.heard) > 2*n.config.PoolSize {
		maps.DeleteFunc(b.heard, func(_ string, first time.Time) bool { return at.Sub(first) >= memory })
	}
	b.heard[c.Hash] = at
	return true
}

// lacks returns the account of an update that is proved for a verification key which this
// view of the network does not have, "" if there is none. Accounts that no command ever
// gives a key need none: their proofs are never looked at.
func (n *Network) lacks(b *branch, c *command) string {
	for i := range c.updates {
		u := &c.updates[i]
		if !u.isProved || !n.keyed[u.key] {
			continue
		}
		a := b.account(u.key)
		has := a != nil && a.zkapp != nil && a.zkapp.keyHash != ""
		if !has && !givesKey(c.updates[:i], u.key) && !b.givesKey(u.key) {
			return u.key
		}
	}
	return ""
}

// givesKey says whether a pooled command will give the account a verification key.
func (b *branch) givesKey(key string) bool {
	for _, c := range b.pool.byHash {
		if givesKey(c.updates, key) {
			return true
		}
	}
	return false
}

func givesKey(updates []update, key string) bool {
	return slices.ContainsFunc(updates, func(u update) bool { return u.key == key && u.givesKey() })
}
