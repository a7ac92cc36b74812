package devnet

import (
	"cmp"
	"errors"
	"slices"
)

// Fork returns the network that goes on from where n stands, as after a hard fork of Mina:
// its nodes hold nothing from before, and take the place of those of n, which is to be used no
// longer. The accounts carry over, with nonces and states, the network id, and the number of the
// slot by n's clock at c.Genesis (default: now); all else is as c says, pools are empty. Its
// first block stands on the last block of n that has commands: as in Mina what was added since,
// all of it empty, is not carried over. The archive has all of both. c may name no accounts.
func (n *Network) Fork(c Config) (*Network, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(c.Accounts) > 0 || c.FundAll {
		return nil, errors.New("devnet: a fork has the accounts that there are")
	}
	c.NetworkID = cmp.Or(c.NetworkID, n.config.NetworkID)
	if err := c.complete(); err != nil {
		return nil, err
	}
	if c.Era.Fields() < n.config.Era.Fields() {
		return nil, errors.New("devnet: accounts have more state fields than the era that is to come")
	}
	core := n.core.fork()
	core.move(core.lastFilled(), 0)
	slot := n.base + uint32(max(0, c.Genesis.Sub(n.config.Genesis)/n.config.SlotTime))
	core.move(newBlock(core.tip(), max(slot, core.tip().slot+1), c.Genesis, c.Seed), 0)
	return begin(c, core)
}

// lastFilled is the last block that has commands, the first one of all if none has.
func (b *branch) lastFilled() *block {
	for _, x := range slices.Backward(b.chain) {
		if len(x.commands) > 0 {
			return x
		}
	}
	return b.chain[0]
}
