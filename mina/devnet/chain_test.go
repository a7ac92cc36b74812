package devnet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

func TestExecution(t *testing.T) {
	t.Parallel()
	app, fresh := devnet.Key(1), devnet.Key(50)
	cancelled := func(index string) devnet.Failure {
		return devnet.Failure{Index: index, Failures: []string{"Cancelled"}}
	}
	failed := func(index string, reasons ...string) devnet.Failure {
		return devnet.Failure{Index: index, Failures: reasons}
	}
	tests := []struct {
		name    string
		updates []devnet.Update
		want    []devnet.Failure
		state0  string // of app afterwards
	}{
		{"sets state", []devnet.Update{{Account: app, Set: map[int]string{0: "7"}}}, nil, "7"},
		{"precondition holds", []devnet.Update{{Account: app, Expect: map[int]string{0: "3", 7: "0"}, Set: map[int]string{0: "4"}}}, nil, "4"},
		{"precondition of a later update sees the earlier one", []devnet.Update{
			{Account: app, Set: map[int]string{0: "8"}}, {Account: app, Expect: map[int]string{0: "8"}},
		}, nil, "8"},
		{"stale state discards everything", []devnet.Update{
			{Account: app, Expect: map[int]string{0: "2"}, Set: map[int]string{0: "9"}}, {Account: app, Set: map[int]string{1: "1"}},
		}, []devnet.Failure{cancelled("2"), failed("1", "Account_app_state_0_precondition_unsatisfied")}, "3"},
		{"several reasons", []devnet.Update{
			{Account: app}, {Account: app, Expect: map[int]string{0: "1", 5: "1"}},
		}, []devnet.Failure{
			failed("2", "Account_app_state_0_precondition_unsatisfied", "Account_app_state_5_precondition_unsatisfied"), cancelled("1"),
		}, "3"},
		{"balance below zero", []devnet.Update{
			{Account: app, BalanceChange: -200e9}, {Account: devnet.Key(2), BalanceChange: 200e9},
		}, []devnet.Failure{cancelled("2"), failed("1", "Overflow")}, "3"},
		{"changes that do not sum to nothing", []devnet.Update{
			{Account: app, BalanceChange: 5},
		}, []devnet.Failure{failed("1", "Invalid_fee_excess")}, "3"},
		{"new account without its fee", []devnet.Update{
			{Account: fresh, Set: map[int]string{0: "1"}},
		}, []devnet.Failure{failed("1", "Invalid_fee_excess")}, "3"},
		{"new account with its fee", []devnet.Update{
			{Account: devnet.Key(0), BalanceChange: -1e9}, {Account: fresh, Set: map[int]string{0: "1"}},
		}, nil, "3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := network(t, func(c *devnet.Config) {
				c.Accounts[app] = devnet.Account{Balance: 100e9, State: []string{"3"}}
			})
			mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) { p.Updates = tt.updates }))
			n.MakeBlock()
			effects := n.Effects()
			if len(effects) != 1 || effects[0].OK != (tt.want == nil) {
				t.Fatalf("effects = %+v", effects)
			}
			if diff := cmp.Diff(tt.want, effects[0].Failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			payer, _ := n.Account(devnet.Key(0))
			spent := uint64(fee)
			if tt.want == nil {
				for _, u := range tt.updates {
					if u.Account == devnet.Key(0) {
						spent += uint64(-u.BalanceChange)
					}
				}
			}
			if payer.Nonce != 6 || payer.Balance != 100e9-spent {
				t.Errorf("payer %+v: fee and nonce are spent whatever happens, nothing else on failure", payer)
			}
			if a, _ := n.Account(app); a.State[0] != tt.state0 {
				t.Errorf("state %q, want %q", a.State[0], tt.state0)
			}
			if a, exists := n.Account(fresh); exists != (tt.name == "new account with its fee") || a.Balance != 0 {
				t.Errorf("new account exists: %v, %+v", exists, a)
			}
		})
	}
}

func TestIncrementNonceOfFeePayer(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.MaxZkapps = 1 })
	mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) {
		p.Updates = []devnet.Update{{Account: p.Payer, IncrementNonce: true}}
	}))
	// The pool expects one more, the ledger will say two more: the rest of the queue goes.
	mustSend(t, n.Node(0), plan(0, 6))
	n.MakeBlock()
	if a, _ := n.Account(devnet.Key(0)); a.Nonce != 7 {
		t.Errorf("nonce %d, want 7", a.Nonce)
	}
	if got := n.Node(0).Pooled(); len(got) != 0 {
		t.Errorf("pool %v, want none", got)
	}
}

// A block holds what one of mainnet does, unless it is said otherwise.
func TestBlockLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set  int
		want []int // effects after each block
	}{
		{0, []int{12, 24, 30}},
		{24, []int{24, 30, 30}},
		{-1, []int{30, 30, 30}},
	} {
		n := network(t, func(c *devnet.Config) { c.FundAll, c.MaxZkapps = true, tt.set })
		for i := range uint64(30) {
			mustSend(t, n.Node(0), plan(100+i, 0))
		}
		var got []int
		for range tt.want {
			n.MakeBlock()
			got = append(got, len(n.Effects()))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("MaxZkapps %d (-want +got):\n%s", tt.set, diff)
		}
	}
}

func TestBlockOrderAndLimit(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.MaxZkapps = 3 })
	priced := func(i uint64, nonce uint32, fee uint64) string {
		return mustSend(t, n.Node(0), with(plan(i, nonce), func(p *devnet.Plan) { p.Fee = fee }))
	}
	poor := priced(0, 5, 1e9)
	rich := priced(0, 6, 9e9) // waits for the one before
	middle := priced(1, 5, 5e9)
	last := priced(2, 5, 0.5e9)
	n.MakeBlock()
	var got []string
	for _, e := range n.Effects() {
		got = append(got, e.Hash)
	}
	if diff := cmp.Diff([]string{middle, poor, rich}, got); diff != "" {
		t.Errorf("block (-want +got):\n%s", diff)
	}
	n.MakeBlock()
	if e := n.Effects(); len(e) != 4 || e[3].Hash != last || e[3].Height != 3 {
		t.Errorf("effects %+v, want %s in the next block", e, last)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) {
		c.FailWhen = func(c devnet.Command) []string {
			if c.Memo == "hook" {
				return []string{"Source_not_present"}
			}
			return nil
		}
	})
	n.FailNext(devnet.Key(1), 1, "Account_nonce_precondition_unsatisfied")
	mustSend(t, n.Node(0), with(plan(0, 5), func(p *devnet.Plan) { p.Memo = "hook"; p.Fee *= 3 }))
	mustSend(t, n.Node(0), with(plan(1, 5), func(p *devnet.Plan) {
		p.Fee *= 2
		p.Updates = []devnet.Update{{Account: p.Payer}, {Account: p.Payer}}
	}))
	mustSend(t, n.Node(0), plan(1, 6))
	n.MakeBlock()
	var got [][]devnet.Failure
	for _, e := range n.Effects() {
		got = append(got, e.Failures)
	}
	want := [][]devnet.Failure{
		{{Index: "1", Failures: []string{"Source_not_present"}}},
		{{Index: "2", Failures: []string{"Cancelled"}}, {Index: "1", Failures: []string{"Account_nonce_precondition_unsatisfied"}}},
		nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestRunFollowsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := network(t, func(c *devnet.Config) { c.SlotTime = 90 * time.Second; c.FillRate = 0 })
		hash := mustSend(t, n.Node(0), plan(0, 5))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		<-time.After(1000*90*time.Second + time.Second)
		synctest.Wait()
		s := n.Node(0).State()
		if s.Slot != 1000 {
			t.Errorf("slot %d, want 1000", s.Slot)
		}
		// The default fill rate is three quarters.
		if s.Height < 700 || s.Height > 800 {
			t.Errorf("height %d after 1000 slots, want about 750", s.Height)
		}
		if e := n.Effects(); len(e) != 1 || e[0].Hash != hash {
			t.Errorf("effects %+v", e)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestSameSeedSameChain(t *testing.T) {
	t.Parallel()
	heights := func(seed uint64) (out []uint32) {
		n := network(t, func(c *devnet.Config) {
			c.FillRate, c.Seed, c.Genesis = 0.5, seed, time.Now().Add(time.Hour)
		})
		for range 50 {
			n.Step()
			out = append(out, n.Node(0).State().Height)
		}
		return out
	}
	if diff := cmp.Diff(heights(1), heights(1)); diff != "" {
		t.Errorf("one seed, two chains:\n%s", diff)
	}
	if cmp.Equal(heights(1), heights(2)) {
		t.Error("two seeds, one chain")
	}
}

func TestBlockOnSend(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.BlockOnSend = true; c.SlotTime = time.Hour })
	for i := range uint32(20) {
		mustSend(t, n.Node(0), with(plan(0, 5+i), func(p *devnet.Plan) { p.ValidUntil = 1 }))
	}
	if s := n.Node(0).State(); s.Height != 21 || s.Slot > 1 || s.Pool != 0 {
		t.Errorf("state %+v, want 20 blocks within a slot", s)
	}
}

func TestFundAll(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.FundAll = true })
	mustSend(t, n.Node(0), with(plan(77, 0), func(p *devnet.Plan) {
		p.Updates = []devnet.Update{{Account: devnet.Key(78), Set: map[int]string{2: "5"}}}
	}))
	n.MakeBlock()
	if e := n.Effects(); len(e) != 1 || !e[0].OK {
		t.Fatalf("effects %+v", e)
	}
	if a, ok := n.Account(devnet.Key(77)); !ok || a.Balance != devnet.DefaultFunds-fee || a.Nonce != 1 {
		t.Errorf("payer %+v", a)
	}
	if _, ok := n.Account("B62nonsense"); ok {
		t.Error("a text that is no key has no account")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]devnet.Config{
		"bad key":     {Accounts: map[string]devnet.Account{"B62": {}}},
		"fill rate":   {FillRate: 2},
		"slot time":   {SlotTime: time.Microsecond},
		"nodes":       {Nodes: -1},
		"era":         {Era: "vesta"},
		"long state":  {Accounts: map[string]devnet.Account{devnet.Key(0): {State: make([]string, 33)}}},
		"in Berkeley": {Era: devnet.Berkeley, Accounts: map[string]devnet.Account{devnet.Key(0): {State: make([]string, 9)}}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := devnet.New(c); err == nil {
				t.Error("no error")
			}
		})
	}
}
