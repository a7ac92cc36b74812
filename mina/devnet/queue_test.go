package devnet_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

// Queues of one payer: several commands of it in a pool, and in a block.

// edit changes the body of a built command's first account update.
func edit(t *testing.T, command json.RawMessage, change func(update map[string]any)) json.RawMessage {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(command, &c); err != nil {
		t.Fatal(err)
	}
	change(c["accountUpdates"].([]any)[0].(map[string]any))
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustSendRaw(t *testing.T, d *devnet.Node, command json.RawMessage) string {
	t.Helper()
	hash, refusal := send(t, d, command)
	if refusal != "" {
		t.Fatalf("send refused: %s", refusal)
	}
	return hash
}

// outcomes are the effects by nonce: ok, or the first reason of the last update that failed.
func outcomes(n *devnet.Network) (out []string) {
	for _, e := range n.Effects() {
		text := "ok"
		for _, f := range e.Failures {
			if f.Failures[0] != "Cancelled" {
				text = f.Failures[0]
			}
		}
		out = append(out, text)
	}
	return out
}

// TestTwoPasses: a block takes all fees and nonces before it applies the first account
// update, and looks at nothing else to include a command.
func TestTwoPasses(t *testing.T) {
	t.Parallel()
	payer, app := devnet.Key(0), devnet.Key(1)
	wants := func(nonce string) func(map[string]any) {
		return func(update map[string]any) {
			account := update["body"].(map[string]any)["preconditions"].(map[string]any)["account"].(map[string]any)
			account["nonce"] = map[string]any{"lower": nonce, "upper": nonce}
		}
	}
	moves := func(nonce uint32, amount int64) devnet.Plan {
		return with(plan(0, nonce), func(p *devnet.Plan) {
			p.Updates = []devnet.Update{{Account: payer, BalanceChange: -amount}, {Account: app, BalanceChange: amount}}
		})
	}
	chained := func(nonce uint32, from, to string) devnet.Plan {
		return with(plan(0, nonce), func(p *devnet.Plan) {
			p.Updates = []devnet.Update{{Account: app, Expect: map[int]string{0: from}, Set: map[int]string{0: to}}}
		})
	}
	const stale = "Account_app_state_0_precondition_unsatisfied"
	tests := []struct {
		name  string
		send  func(d *devnet.Node)
		want  []string
		nonce uint32
	}{
		{"a precondition on the payer's nonce, alone", func(d *devnet.Node) {
			mustSendRaw(t, d, edit(t, build(t, plan(0, 5)), wants("6")))
		}, []string{"ok"}, 6},
		{"a precondition on the payer's nonce, with a successor", func(d *devnet.Node) {
			mustSendRaw(t, d, edit(t, build(t, plan(0, 5)), wants("6")))
			mustSend(t, d, plan(0, 6))
		}, []string{"Account_nonce_precondition_unsatisfied", "ok"}, 7},
		{"what a successor pays is gone already", func(d *devnet.Node) {
			mustSend(t, d, moves(5, 99e9))
			mustSend(t, d, with(plan(0, 6), func(p *devnet.Plan) { p.Fee = 2e9 }))
		}, []string{"Overflow", "ok"}, 7},
		{"what a predecessor's updates spend of nonces is not", func(d *devnet.Node) {
			mustSend(t, d, with(plan(0, 5), func(p *devnet.Plan) {
				p.Updates = []devnet.Update{{Account: payer, IncrementNonce: true}}
			}))
			mustSend(t, d, plan(0, 6))
		}, []string{"ok", "ok"}, 8},
		{"each on what the one before it leaves", func(d *devnet.Node) {
			mustSend(t, d, chained(5, "3", "4"))
			mustSend(t, d, chained(6, "4", "5"))
			mustSend(t, d, chained(7, "5", "6"))
		}, []string{"ok", "ok", "ok"}, 8},
		{"behind one that fails all fail, and pay", func(d *devnet.Node) {
			mustSend(t, d, chained(5, "9", "4"))
			mustSend(t, d, chained(6, "4", "5"))
			mustSend(t, d, chained(7, "5", "6"))
		}, []string{stale, stale, stale}, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := network(t, func(c *devnet.Config) { c.Accounts[app] = devnet.Account{Balance: 100e9, State: []string{"3"}} })
			tt.send(n.Node(0))
			before := n.Seen()
			n.MakeBlock()
			if diff := cmp.Diff(tt.want, outcomes(n)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if a, _ := n.Account(payer); a.Nonce != tt.nonce || len(n.Effects()) != len(before) {
				t.Errorf("nonce %d, want %d; %d effects of %d commands", a.Nonce, tt.nonce, len(n.Effects()), len(before))
			}
		})
	}
}

// TestPlantedFailures: those that are to fail are asked about in the order of inclusion.
func TestPlantedFailures(t *testing.T) {
	t.Parallel()
	var asked []uint32
	n := network(t, func(c *devnet.Config) {
		c.FailWhen = func(c devnet.Command) []string {
			asked = append(asked, c.Nonce)
			if c.Nonce == 6 {
				return []string{"Update_not_permitted_nonce"}
			}
			return nil
		}
	})
	for nonce := range uint32(3) {
		mustSend(t, n.Node(0), plan(0, 5+nonce))
	}
	n.MakeBlock()
	if diff := cmp.Diff([]string{"ok", "Update_not_permitted_nonce", "ok"}, outcomes(n)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !slices.Equal(asked, []uint32{5, 6, 7}) {
		t.Errorf("asked about %v", asked)
	}
}

// TestRankAlongALine: a command ranks no higher than those that its payer has before it.
func TestRankAlongALine(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.MaxZkapps = 3 })
	priced := func(i uint64, nonce uint32, fee uint64) string {
		return mustSend(t, n.Node(0), with(plan(i, nonce), func(p *devnet.Plan) { p.Fee = fee }))
	}
	low, behind := priced(0, 5, 1e9), priced(0, 6, 9e9)
	b1, b2 := priced(1, 5, 5e9), priced(1, 6, 3e9)
	c1, d1 := priced(2, 5, 4e9), priced(3, 5, 5e8)
	var blocks [][]string
	for range 2 {
		before := len(n.Effects())
		n.MakeBlock()
		var block []string
		for _, e := range n.Effects()[before:] {
			block = append(block, e.Hash)
		}
		blocks = append(blocks, block)
	}
	if diff := cmp.Diff([][]string{{b1, c1, b2}, {low, behind, d1}}, blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestGossipOrder: what is told in a burst comes to a peer in any order, and what comes
// before its predecessor is dropped there, with all behind it; five seconds apart it comes
// in order.
func TestGossipOrder(t *testing.T) {
	t.Parallel()
	pooled := func(t *testing.T, seed uint64, apart time.Duration) (own, peer int) {
		synctest.Test(t, func(t *testing.T) {
			n := network(t, func(c *devnet.Config) {
				c.Nodes, c.FillRate, c.SlotTime, c.Seed, c.GossipSpread = 2, 1e-12, 10*time.Minute, seed, 5*time.Second
			})
			for nonce := range uint32(6) {
				mustSend(t, n.Node(0), plan(0, 5+nonce))
				<-time.After(apart)
			}
			n.Step()
			own, peer = len(n.Node(0).Pooled()), len(n.Node(1).Pooled())
		})
		return own, peer
	}
	short := 0
	for seed := range uint64(20) {
		if own, peer := pooled(t, seed, 5*time.Second); own != 6 || peer != 6 {
			t.Errorf("seed %d: %d and %d pooled of six that were sent apart", seed, own, peer)
		}
		own, peer := pooled(t, seed, 0)
		if own != 6 {
			t.Errorf("seed %d: %d pooled where they were sent", seed, own)
		}
		if peer < 6 {
			short++
		}
	}
	if short < 10 {
		t.Errorf("a burst came in order in %d of 20 worlds", 20-short)
	}
}

// TestGossipMemory: a peer that has dropped a command does not hear of the same bytes before
// it has forgotten them, whoever tells them.
func TestGossipMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration // until the same bytes are sent again
		node  int           // to this one
		cut   bool          // the third node was cut off, and has not heard of it
		want  bool          // it has them then
	}{
		{"at once", 0, 0, false, false},
		{"at once, to another node", 0, 1, false, false},
		{"too soon", 2*time.Minute - time.Second, 0, false, false},
		{"too soon, to one that has told it", 2*time.Minute - time.Second, 0, true, false},
		{"too soon, to one that has heard of it", 2*time.Minute - time.Second, 1, true, false},
		{"too soon, to another node", 2*time.Minute - time.Second, 1, false, false},
		{"late enough", 2 * time.Minute, 0, false, true},
		{"late enough, to another node", 2 * time.Minute, 1, false, true},
		{"late enough, to one that has told it", 2 * time.Minute, 0, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := network(t, func(c *devnet.Config) {
					c.Nodes, c.FillRate, c.SlotTime, c.GossipMemory = 3, 1e-12, time.Second, 2*time.Minute
				})
				isolate(t, n.Node(2), tt.cut)
				hash := mustSend(t, n.Node(0), plan(0, 5))
				n.Step()
				if slices.Contains(n.Node(2).Pooled(), hash) == tt.cut {
					t.Fatalf("heard: %v", !tt.cut)
				}
				n.Node(2).ClearPool()
				isolate(t, n.Node(2), false)
				<-time.After(tt.after)
				mustSend(t, n.Node(tt.node), plan(0, 5))
				n.Step()
				if got := slices.Contains(n.Node(2).Pooled(), hash); got != tt.want {
					t.Errorf("heard: %v", got)
				}
			})
		})
	}
}

// TestKeyThatAPeerLacks: a proof for an account whose key a command gives it is taken only
// where that key is known, from a block or from the pool.
func TestKeyThatAPeerLacks(t *testing.T) {
	t.Parallel()
	app := devnet.Key(1)
	gives := edit(t, build(t, with(plan(0, 5), func(p *devnet.Plan) { p.Updates = []devnet.Update{{Account: app}} })),
		func(update map[string]any) {
			key := map[string]any{"data": "AA", "hash": "7"}
			update["body"].(map[string]any)["update"].(map[string]any)["verificationKey"] = key
		})
	proved := func(i uint64, nonce uint32) json.RawMessage {
		p := with(plan(i, nonce), func(p *devnet.Plan) { p.Updates = []devnet.Update{{Account: app}} })
		return edit(t, build(t, p), func(update map[string]any) {
			update["authorization"] = map[string]any{"proof": "AA", "signature": nil}
		})
	}
	n := network(t, func(c *devnet.Config) { c.Nodes, c.FillRate, c.SlotTime = 3, 1e-12, time.Minute })
	mustSendRaw(t, n.Node(0), proved(3, 5)) // nobody has ever given it a key
	n.Step()
	isolate(t, n.Node(1), true)
	isolate(t, n.Node(2), true)
	mustSendRaw(t, n.Node(0), gives)
	behind := mustSendRaw(t, n.Node(0), proved(0, 6))
	n.Step()
	isolate(t, n.Node(1), false)

	const missing = `Couldn't send zkApp command: (invalid "No verification key found for proved account update" (account_id `
	if _, refusal := send(t, n.Node(1), proved(4, 5)); refusal != missing+app+"))" {
		t.Errorf("a node that lacks the key: %q", refusal)
	}
	other := mustSendRaw(t, n.Node(0), proved(4, 5))
	n.Step()
	if got := n.Node(1).Pooled(); len(got) != 1 {
		t.Errorf("a peer that lacks the key took more than the first: %v", got)
	}
	n.MakeBlock()
	isBehind := func(e devnet.Effect) bool { return e.Hash == behind && e.OK }
	if got := n.Effects(); len(got) != 4 || !slices.ContainsFunc(got, isBehind) {
		t.Errorf("effects %+v", got)
	}
	if !slices.ContainsFunc(n.Node(1).Effects(), func(e devnet.Effect) bool { return e.Hash == other }) {
		t.Error("the peer does not follow the chain")
	}
	mustSendRaw(t, n.Node(1), proved(5, 5))
}
