package devnet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

// step is one send of a pool test; at is the account's index, refusal the
// error without its prefix ("" for accepted).
type step struct {
	plan    devnet.Plan
	refusal string
}

func with(p devnet.Plan, change func(*devnet.Plan)) devnet.Plan {
	change(&p)
	return p
}

func TestPoolAdmission(t *testing.T) {
	t.Parallel()
	priced := func(nonce uint32, fee uint64) devnet.Plan {
		return with(plan(0, nonce), func(p *devnet.Plan) { p.Fee = fee })
	}
	until := func(slot uint32) devnet.Plan {
		return with(plan(0, 5), func(p *devnet.Plan) { p.ValidUntil = slot })
	}
	tests := []struct {
		name  string
		slots int // to pass beforehand
		steps []step
		left  []uint32 // nonces in the pool of account 0 in the end
	}{
		{"first nonce", 0, []step{{plan(0, 5), ""}}, []uint32{5}},
		{"next nonces queue", 0, []step{{plan(0, 5), ""}, {plan(0, 6), ""}, {plan(0, 7), ""}}, []uint32{5, 6, 7}},
		{"used nonce", 0, []step{{plan(0, 4), `["Invalid_nonce"]`}}, nil},
		{"gap before the first", 0, []step{{plan(0, 6), `["Invalid_nonce"]`}}, nil},
		{"gap in the queue", 0, []step{{plan(0, 5), ""}, {plan(0, 7), `["Invalid_nonce"]`}}, []uint32{5}},
		{"same bytes again", 0, []step{{plan(0, 5), ""}, {plan(0, 5), ""}}, []uint32{5}},
		{"replaced by one nanomina more", 0, []step{{plan(0, 5), ""}, {priced(5, fee+1), ""}}, []uint32{5}},
		{"not replaced by the same fee", 0, []step{
			{plan(0, 5), ""}, {with(plan(0, 5), func(p *devnet.Plan) { p.Memo = "other" }), `["Insufficient_replace_fee"]`},
		}, []uint32{5}},
		{"not replaced by less", 0, []step{{plan(0, 5), ""}, {priced(5, fee-1), `["Insufficient_replace_fee"]`}}, []uint32{5}},
		{"replacement keeps successors", 0, []step{
			{plan(0, 5), ""}, {plan(0, 6), ""}, {plan(0, 7), ""}, {priced(6, 2*fee), ""},
		}, []uint32{5, 6, 7}},
		{"replacement pays for the successors it pushes out", 0, []step{
			{priced(5, 1e9), ""}, {priced(6, 1e9), ""}, {priced(5, 99.5e9), ""},
		}, []uint32{5}},
		{"replacement does not pay for the successors it pushes out", 0, []step{
			{priced(5, 49e9), ""}, {priced(6, 50e9), ""}, {priced(5, 51e9), `["Insufficient_replace_fee"]`},
		}, []uint32{5, 6}},
		{"replacement does not pay for all that it pushes out", 0, []step{
			{priced(5, 30e9), ""}, {priced(6, 30e9), ""}, {priced(7, 30e9), ""}, {priced(5, 85e9), `["Insufficient_replace_fee"]`},
		}, []uint32{5, 6, 7}},
		{"replacement beyond the balance", 0, []step{{plan(0, 5), ""}, {priced(5, 101e9), `["Insufficient_funds"]`}}, []uint32{5}},
		{"below the minimum fee", 0, []step{{priced(5, devnet.DefaultMinFee-1), "Insufficient fee"}}, nil},
		{"the minimum fee", 0, []step{{priced(5, devnet.DefaultMinFee), ""}}, []uint32{5}},
		{"whole balance", 0, []step{{priced(5, 100e9), ""}}, []uint32{5}},
		{"beyond the balance", 0, []step{{priced(5, 100e9+1), `["Insufficient_funds"]`}}, nil},
		{"queue beyond the balance", 0, []step{{priced(5, 60e9), ""}, {priced(6, 60e9), `["Insufficient_funds"]`}}, []uint32{5}},
		{"last valid slot", 3, []step{{until(3), ""}}, []uint32{5}},
		{"expired", 3, []step{{until(2), `["Expired"]`}}, nil},
		{"no account", 0, []step{{plan(99, 0), `["Fee_payer_account_not_found"]`}}, nil},
		{"key off the curve", 0, []step{{
			with(plan(0, 0), func(p *devnet.Plan) { p.Payer = "B62qiXDJardLAHe28XWYigxKbRKzdNEY7kT7sbMuoxLyPeAECtziTcV" }),
			`(invalid "Invalid_keys: [B62qiXDJardLAHe28XWYigxKbRKzdNEY7kT7sbMuoxLyPeAECtziTcV]")`,
		}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := network(t, nil)
			for range tt.slots {
				n.Step()
			}
			for i, s := range tt.steps {
				hash, refusal := send(t, n.Node(0), build(t, s.plan))
				want := s.refusal
				if want != "" {
					want = "Couldn't send zkApp command: " + want
				}
				if refusal != want {
					t.Fatalf("send %d: error %q, want %q", i, refusal, want)
				}
				if (hash == "") != (want != "") {
					t.Fatalf("send %d: hash %q with error %q", i, hash, refusal)
				}
			}
			var left []uint32
			r := ask(t, n.Node(0), `query($k: PublicKey) { pooledZkappCommands(publicKey: $k) { zkappCommand { feePayer { body { nonce } } } } }`,
				map[string]any{"k": devnet.Key(0)})
			for i := range r.at("pooledZkappCommands").([]any) {
				var nonce uint32
				text := r.at("pooledZkappCommands", i, "zkappCommand", "feePayer", "body", "nonce").(string)
				if _, err := fmt.Sscan(text, &nonce); err != nil {
					t.Error(err)
				}
				left = append(left, nonce)
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Errorf("pool (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolRefusesUnsigned(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	var command map[string]any
	if err := json.Unmarshal(build(t, plan(0, 5)), &command); err != nil {
		t.Fatal(err)
	}
	command["feePayer"].(map[string]any)["authorization"] = ""
	raw, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	_, refusal := send(t, n.Node(0), raw)
	if want := `Couldn't send zkApp command: (invalid "Invalid_signature: [` + devnet.Key(0) + `]")`; refusal != want {
		t.Errorf("error %q, want %q", refusal, want)
	}
}

func TestPoolEmptyUpdatesNeverIncluded(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	var command map[string]any
	if err := json.Unmarshal(build(t, plan(0, 5)), &command); err != nil {
		t.Fatal(err)
	}
	command["accountUpdates"] = []any{}
	raw, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	hash, refusal := send(t, n.Node(0), raw)
	if refusal != "" {
		t.Fatalf("refused: %s", refusal)
	}
	n.MakeBlock()
	if len(n.Effects()) != 0 || !slices.Contains(n.Node(0).Pooled(), hash) {
		t.Errorf("a command without updates has to stay in the pool; effects %v", n.Effects())
	}
}

func TestPoolEviction(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.PoolSize = 3 })
	d := n.Node(0)
	priced := func(i uint64, nonce uint32, fee uint64) devnet.Plan {
		return with(plan(i, nonce), func(p *devnet.Plan) { p.Fee = fee })
	}
	low := mustSend(t, d, priced(0, 5, 2e9))
	dependent := mustSend(t, d, priced(0, 6, 9e9))
	// More fee than low, but less per weight unit: it has three updates.
	wide := priced(1, 5, 39e8)
	wide.Updates = []devnet.Update{{Account: devnet.Key(1)}, {Account: devnet.Key(1)}, {Account: devnet.Key(1)}}
	evicted := mustSend(t, d, wide)
	kept := mustSend(t, d, priced(2, 5, 5e9))
	if got := d.Pooled(); slices.Contains(got, evicted) || !slices.Contains(got, low) || len(got) != 3 {
		t.Fatalf("pool %v has to evict the lowest fee per weight %s", got, evicted)
	}
	mustSend(t, d, priced(3, 5, 6e9))
	if got := d.Pooled(); slices.Contains(got, low) || slices.Contains(got, dependent) || !slices.Contains(got, kept) || len(got) != 2 {
		t.Fatalf("pool %v has to evict %s and its dependent %s", got, low, dependent)
	}
	mustSend(t, d, priced(4, 5, 6e9))
	if _, refusal := send(t, d, build(t, priced(5, 5, 1e9))); refusal != "Couldn't send zkApp command: " {
		t.Errorf("a command evicted by its own arrival: error %q, want the prefix alone", refusal)
	}
}

func TestPoolRevalidation(t *testing.T) {
	t.Parallel()
	t.Run("expiry takes dependents", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		mustSend(t, n.Node(0), plan(0, 5))
		mustSend(t, n.Node(0), with(plan(0, 6), func(p *devnet.Plan) { p.ValidUntil = 2 }))
		mustSend(t, n.Node(0), plan(0, 7))
		// An empty rival chain moves the tip past slot 2 and takes nothing.
		for range 2 {
			n.Step()
		}
		if err := n.Reorg(devnet.Reorg{Depth: 2, Empty: true}); err != nil {
			t.Fatal(err)
		}
		if got := n.Node(0).Pooled(); len(got) != 1 {
			t.Errorf("pool %v, want only the first of three", got)
		}
	})
	t.Run("expiry between blocks", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.FillRate = 1e-12 })
		mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) { p.ValidUntil = 2 }))
		for range 5 {
			n.Step()
		}
		if got := n.Node(0).Pooled(); len(got) != 1 {
			t.Errorf("pool %v: without a new tip nothing is swept", got)
		}
		n.MakeBlock()
		if got := n.Node(0).Pooled(); len(got) != 0 || len(n.Effects()) != 0 {
			t.Errorf("pool %v, effects %+v, want neither", got, n.Effects())
		}
	})
	t.Run("nonce taken by a rival", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.Nodes = 2 })
		isolate(t, n.Node(1), true)
		mine := mustSend(t, n.Node(1), with(plan(0, 5), func(p *devnet.Plan) { p.Memo = "mine" }))
		theirs := mustSend(t, n.Node(0), plan(0, 5))
		n.MakeBlock()
		if got := n.Node(1).Pooled(); !slices.Contains(got, mine) {
			t.Fatalf("isolated node lost its command: %v", got)
		}
		isolate(t, n.Node(1), false)
		if got := n.Node(1).Pooled(); len(got) != 0 {
			t.Errorf("pool %v after the nonce was spent by %s", got, theirs)
		}
	})
	t.Run("gap after a reorg", func(t *testing.T) {
		t.Parallel()
		n := network(t, nil)
		first := mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) {
			p.Updates = []devnet.Update{{Account: p.Payer, IncrementNonce: true}}
		}))
		n.MakeBlock()
		mustSend(t, n.Node(0), plan(0, 7))
		if err := n.Reorg(devnet.Reorg{Depth: 1, Empty: true}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{first}, n.Node(0).Pooled()); diff != "" {
			t.Errorf("pool (-want +got):\n%s", diff)
		}
	})
	t.Run("what is locked pays for nothing", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) {
			c.Accounts[devnet.Key(0)] = devnet.Account{Balance: 1000e9, Locked: 950e9, Nonce: 5}
		})
		priced := func(nonce uint32, fee uint64) devnet.Plan {
			return with(plan(0, nonce), func(p *devnet.Plan) { p.Fee = fee })
		}
		if _, why := send(t, n.Node(0), build(t, priced(5, 50e9+1))); !strings.Contains(why, `["Insufficient_funds"]`) {
			t.Errorf("a fee beyond what is free: %q", why)
		}
		mustSend(t, n.Node(0), with(priced(5, 30e9), func(p *devnet.Plan) {
			p.Updates = []devnet.Update{{Account: devnet.Key(0), BalanceChange: -30e9}, {Account: devnet.Key(1), BalanceChange: 30e9}}
		}))
		n.MakeBlock()
		if a, _ := n.Account(devnet.Key(0)); a.Balance != 970e9 || a.Nonce != 6 {
			t.Errorf("of 50 it may spend 30 are gone for the fee, and 30 more were asked for: %+v", a)
		}
	})
	t.Run("falling balance cuts the tail", func(t *testing.T) {
		t.Parallel()
		n := network(t, func(c *devnet.Config) { c.MaxZkapps = 1 })
		taker := devnet.Update{Account: devnet.Key(0), BalanceChange: -50e9}
		giver := devnet.Update{Account: devnet.Key(1), BalanceChange: 50e9}
		first := with(plan(0, 5), func(p *devnet.Plan) { p.Updates = []devnet.Update{taker, giver}; p.Fee = 10e9 })
		mustSend(t, n.Node(0), first)
		kept := mustSend(t, n.Node(0), with(plan(0, 6), func(p *devnet.Plan) { p.Fee = 30e9 }))
		mustSend(t, n.Node(0), with(plan(0, 7), func(p *devnet.Plan) { p.Fee = 30e9 }))
		n.MakeBlock()
		if diff := cmp.Diff([]string{kept}, n.Node(0).Pooled()); diff != "" {
			t.Errorf("pool (-want +got):\n%s", diff)
		}
	})
}

func isolate(t *testing.T, d *devnet.Node, on bool) {
	t.Helper()
	if err := d.SetFaults(devnet.Faults{Isolated: on}); err != nil {
		t.Fatal(err)
	}
}

func TestPoolQueries(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	d := n.Node(0)
	a := mustSend(t, d, plan(0, 5))
	b := mustSend(t, d, plan(0, 6))
	c := mustSend(t, d, plan(1, 5))
	hashes := func(r reply) string {
		var out []string
		for i := range r.at("pooledZkappCommands").([]any) {
			out = append(out, r.at("pooledZkappCommands", i, "hash").(string))
		}
		return strings.Join(out, " ")
	}
	const query = `query($k: PublicKey, $h: [String!]) { pooledZkappCommands(publicKey: $k, hashes: $h) { hash } }`
	tests := []struct {
		name string
		vars map[string]any
		want []string
	}{
		{"payer", map[string]any{"k": devnet.Key(0)}, []string{a, b}},
		{"hashes", map[string]any{"h": []string{c, "5Junknown", a}}, []string{c, a}},
		{"both", map[string]any{"k": devnet.Key(1), "h": []string{c, a}}, []string{c}},
		{"stranger", map[string]any{"k": devnet.Key(7)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := hashes(ask(t, d, query, tt.vars)); got != strings.Join(tt.want, " ") {
				t.Errorf("got %s, want %v", got, tt.want)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		if got := hashes(ask(t, d, `{ pooledZkappCommands { hash } }`, nil)); len(strings.Fields(got)) != 3 {
			t.Errorf("got %s, want all three", got)
		}
	})
	t.Run("ids need not be pooled", func(t *testing.T) {
		t.Parallel()
		other := network(t, nil)
		mustSend(t, other.Node(0), plan(4, 5))
		id := ask(t, other.Node(0), `{ pooledZkappCommands { id hash } }`, nil)
		r := ask(t, d, `query($i: [ID!]) { pooledZkappCommands(ids: $i) { hash } }`,
			map[string]any{"i": []any{id.at("pooledZkappCommands", 0, "id")}})
		if got := hashes(r); got != id.at("pooledZkappCommands", 0, "hash") {
			t.Errorf("got %q (%s), want the command of the id", got, r.Error)
		}
	})
}
