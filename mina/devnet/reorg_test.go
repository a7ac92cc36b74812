package devnet_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

func TestReorg(t *testing.T) {
	t.Parallel()
	t.Run("moves commands back and into later blocks", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		hash := mustSend(t, n.Node(0), plan(0, 5))
		n.MakeBlock()
		n.MakeBlock()
		before, slot := n.Effects()[0], n.Slot()
		if err := n.Reorg(devnet.Reorg{Depth: 2, Exclude: []string{hash}}); err != nil {
			t.Fatal(err)
		}
		if e := n.Effects(); len(e) != 0 {
			t.Fatalf("effects %+v after a rival without it", e)
		}
		if n.Slot() <= slot {
			t.Errorf("slot %d after slot %d: the rival is longer by a later block", n.Slot(), slot)
		}
		if a, _ := n.Account(devnet.Key(0)); a.Nonce != 5 || a.Balance != 100e9 {
			t.Errorf("account %+v, want it as before", a)
		}
		if diff := cmp.Diff([]string{hash}, n.Node(0).Pooled()); diff != "" {
			t.Errorf("pool (-want +got):\n%s", diff)
		}
		if s := n.Node(0).State(); s.Height != 4 {
			t.Errorf("height %d, want one more than the three before", s.Height)
		}
		r := ask(t, n.Node(0), `query($h: String) { block(stateHash: $h) { stateHash transactions { zkappCommands { hash } } } }`,
			map[string]any{"h": before.StateHash})
		if r.at("block", "transactions", "zkappCommands", 0, "hash") != hash {
			t.Errorf("the abandoned block has to be found by its hash: %s", r.raw)
		}
		n.MakeBlock()
		if e := n.Effects(); len(e) != 1 || e[0].Hash != hash || e[0].Height != 5 || e[0].StateHash == before.StateHash {
			t.Errorf("effects %+v, want it in the new block", e)
		}
	})
	t.Run("a replaced command wins", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		first := mustSend(t, n.Node(0), plan(0, 5))
		second := mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) { p.Fee *= 2 }))
		n.MakeBlock()
		if e := n.Effects(); len(e) != 1 || e[0].Hash != second {
			t.Fatalf("effects %+v", e)
		}
		if err := n.Reorg(devnet.Reorg{Depth: 1, Include: []string{first}}); err != nil {
			t.Fatal(err)
		}
		if e := n.Effects(); len(e) != 1 || e[0].Hash != first {
			t.Errorf("effects %+v, want %s", e, first)
		}
		if got := n.Node(0).Pooled(); len(got) != 0 {
			t.Errorf("pool %v, want none: the nonce is spent", got)
		}
	})
	t.Run("a failure may become a success", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		n.FailNext("", 1, "Predicate")
		mustSend(t, n.Node(0), plan(0, 5))
		n.MakeBlock()
		if n.Effects()[0].OK {
			t.Fatal("it has to fail first")
		}
		if err := n.Reorg(devnet.Reorg{Depth: 1}); err != nil {
			t.Fatal(err)
		}
		if e := n.Effects(); len(e) != 1 || !e[0].OK {
			t.Errorf("effects %+v, want one success", e)
		}
	})
	t.Run("never turns the clock back", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.FillRate = 1e-12 })
		n.MakeBlock()
		for range 5 {
			n.Step()
		}
		if err := n.Reorg(devnet.Reorg{Depth: 1}); err != nil {
			t.Fatal(err)
		}
		if n.Slot() != 6 {
			t.Errorf("slot %d, want still 6", n.Slot())
		}
	})
	t.Run("impossible", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		n.MakeBlock()
		for _, r := range []devnet.Reorg{{Depth: 0}, {Depth: 2}, {Depth: 1, Include: []string{"5J"}}} {
			if err := n.Reorg(r); err == nil {
				t.Errorf("reorg %+v has to fail", r)
			}
		}
	})
}

// TestLedgerUndo compares a ledger that went through reorgs with one that
// executed the same best chain from genesis.
func TestLedgerUndo(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.Nodes = 2 })
	for round := range uint32(8) {
		for i := range uint64(4) {
			app := devnet.Key(9)
			to := devnet.Key(20 + uint64(round%3))
			mustSend(t, n.Node(0), with(plan(i, 5+round), func(p *devnet.Plan) {
				p.Updates = []devnet.Update{
					{Account: app, Set: map[int]string{int(i): strconv.Itoa(int(round))}},
					{Account: p.Payer, BalanceChange: -2e9}, {Account: to, BalanceChange: 2e9},
				}
			}))
		}
		n.MakeBlock()
		if round%3 == 2 {
			if err := n.Reorg(devnet.Reorg{Depth: int(round)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	replay := network(t, nil)
	nonces := map[string]uint32{}
	for _, e := range n.Effects() {
		if nonces[e.Payer] != 0 && e.Nonce != nonces[e.Payer]+1 {
			t.Fatalf("nonce %d of %s after %d", e.Nonce, e.Payer, nonces[e.Payer])
		}
		nonces[e.Payer] = e.Nonce
	}
	for round := range uint32(8) {
		for i := range uint64(4) {
			app, to := devnet.Key(9), devnet.Key(20+uint64(round%3))
			mustSend(t, replay.Node(0), with(plan(i, 5+round), func(p *devnet.Plan) {
				p.Updates = []devnet.Update{
					{Account: app, Set: map[int]string{int(i): strconv.Itoa(int(round))}},
					{Account: p.Payer, BalanceChange: -2e9}, {Account: to, BalanceChange: 2e9},
				}
			}))
		}
		replay.MakeBlock()
	}
	if len(n.Effects()) != 32 {
		t.Fatalf("%d effects, want each command once", len(n.Effects()))
	}
	for i := range uint64(30) {
		want, wantOK := replay.Account(devnet.Key(i))
		got, ok := n.Account(devnet.Key(i))
		if diff := cmp.Diff(want, got); diff != "" || ok != wantOK {
			t.Errorf("account %d (-replayed +got):\n%s", i, diff)
		}
	}
}

func TestSeveralNodes(t *testing.T) {
	t.Parallel()
	t.Run("gossip at the next slot", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 3; c.MaxZkapps = 1 })
		mustSend(t, n.Node(0), with(plan(1, 5), func(p *devnet.Plan) { p.Fee *= 2 }))
		hash := mustSend(t, n.Node(0), plan(0, 5))
		if got := n.Node(1).Pooled(); len(got) != 0 {
			t.Fatalf("pool %v before the slot", got)
		}
		n.Step()
		if diff := cmp.Diff([]string{hash}, n.Node(1).Pooled()); diff != "" {
			t.Errorf("pool (-want +got):\n%s", diff)
		}
	})
	t.Run("minority fork", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 2; c.SlotTime = 5 * time.Minute })
		isolate(t, n.Node(1), true)
		hash := mustSend(t, n.Node(1), plan(0, 5))
		n.Node(1).MakeBlock()
		n.MakeBlock()
		n.MakeBlock()
		if len(n.Effects()) != 0 || len(n.Node(1).Effects()) != 1 {
			t.Fatal("only the isolated node has to see the block of its own")
		}
		isolate(t, n.Node(1), false)
		if len(n.Node(1).Effects()) != 0 || !slices.Contains(n.Node(1).Pooled(), hash) {
			t.Error("the healed node has to follow the longer chain and take its command back")
		}
		for range 2 {
			n.Step()
		}
		if e := n.Effects(); len(e) != 1 || e[0].Hash != hash {
			t.Errorf("effects %+v, want the command told again after healing", e)
		}
	})
	t.Run("fork of equal length stays", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 2 })
		isolate(t, n.Node(1), true)
		n.MakeBlock()
		n.Node(1).MakeBlock()
		own := n.Node(1).State().StateHash
		isolate(t, n.Node(1), false)
		if n.Node(1).State().StateHash != own || n.Node(0).State().StateHash == own {
			t.Error("a node has to keep its tip until a longer chain comes")
		}
		n.MakeBlock()
		if a, b := n.Node(0).State().StateHash, n.Node(1).State().StateHash; a != b {
			t.Errorf("tips %s and %s", a, b)
		}
	})
	t.Run("longer fork wins when healed", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 2 })
		isolate(t, n.Node(1), true)
		n.MakeBlock()
		n.Node(1).MakeBlock()
		n.Node(1).MakeBlock()
		isolate(t, n.Node(1), false)
		if a, b := n.Node(0).State().StateHash, n.Node(1).State().StateHash; a != b || n.Node(0).State().Height != 3 {
			t.Errorf("tips %s and %s at height %d", a, b, n.Node(0).State().Height)
		}
	})
	t.Run("lag", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 2 })
		height := func() uint32 { return n.Node(1).State().Height }
		if err := n.Node(1).SetFaults(devnet.Faults{Lag: 2}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			n.MakeBlock()
		}
		if height() != 4 {
			t.Errorf("height %d, want two behind 6", height())
		}
		r := ask(t, n.Node(1), `{ daemonStatus { blockchainLength highestBlockLengthReceived } }`, nil)
		if r.at("daemonStatus", "blockchainLength") != 4.0 || r.at("daemonStatus", "highestBlockLengthReceived") != 6.0 {
			t.Errorf("status %s", r.raw)
		}
		if err := n.Node(1).SetFaults(devnet.Faults{Lag: -1}); err != nil {
			t.Fatal(err)
		}
		n.MakeBlock()
		if height() != 4 {
			t.Errorf("height %d of a node that follows no longer, want 4", height())
		}
		if err := n.Node(1).SetFaults(devnet.Faults{}); err != nil {
			t.Fatal(err)
		}
		if height() != 7 {
			t.Errorf("height %d when healed, want 7", height())
		}
	})
}
