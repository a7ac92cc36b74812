package devnet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina/devnet"
)

// TestFork: a fork goes on from the last block with commands, with the accounts and the slot that
// there are; its nodes show nothing from before.
func TestFork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before := network(t, func(c *devnet.Config) { c.SlotTime, c.Era = 3*time.Minute, devnet.Berkeley })
		berkeley := with(plan(0, 5), func(p *devnet.Plan) { p.Era = devnet.Berkeley })
		mustSend(t, before.Node(0), berkeley)
		before.MakeBlock()
		last := before.Node(0).State()
		for range 5 {
			before.MakeBlock() // empty
		}
		pooled := with(plan(1, 5), func(p *devnet.Plan) { p.Era = devnet.Berkeley })
		mustSend(t, before.Node(0), pooled)
		<-time.After(30 * time.Minute)
		n, err := before.Fork(devnet.Config{FillRate: 1, SlotTime: 90 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		at := n.Node(0).State()
		if at.Height != last.Height+1 || at.Slot != 10 || at.Pool != 0 {
			t.Errorf("it stands on %+v, and begins so: %+v", last, at)
		}
		answer := ask(t, n.Node(0), `{ bestChain { protocolState { previousStateHash consensusState { epoch slot slotSinceGenesis } } }
			account(publicKey: "`+devnet.Key(0)+`") { nonce } daemonStatus { consensusConfiguration { slotDuration } } }`, nil)
		state := answer.at("bestChain", 0, "protocolState")
		first, _ := state.(map[string]any)
		if chain, _ := answer.at("bestChain").([]any); len(chain) != 1 || first["previousStateHash"] != last.StateHash {
			t.Errorf("the chain is %s, and stood at %s", answer.raw, last.StateHash)
		}
		if c := first["consensusState"].(map[string]any); c["slotSinceGenesis"] != "10" || c["slot"] != "0" || c["epoch"] != "0" {
			t.Errorf("it begins with %v", c)
		}
		if nonce := answer.at("account", "nonce"); nonce != "6" {
			t.Errorf("the next nonce is %v", nonce)
		}
		if _, refusal := send(t, n.Node(0), build(t, pooled)); refusal == "" {
			t.Error("it takes what was made before")
		}
		<-time.After(3 * time.Minute)
		mustSend(t, n.Node(0), plan(0, 6))
		if !n.Step() || n.Slot() != 13 {
			t.Errorf("slot %d after two, and one", n.Slot())
		}
		if effects := n.Effects(); len(effects) != 2 || effects[1].Nonce != 6 || !effects[1].OK {
			t.Errorf("in all: %+v", effects)
		}
	})
}
