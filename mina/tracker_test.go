package mina

import (
	"errors"
	"fmt"
	"mina-sequencer/sequencer/tx"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A net is a tracker over scripted nodes that share a first chain of ten blocks,
// up to height 110 in slot 1010.
type net struct {
	*testing.T
	*Tracker
	nodes []*daemon
}

func newNet(t *testing.T, nodes int, chain []Block) *net {
	t.Helper()
	n := &net{T: t}
	var o TrackerOptions
	for i := range nodes {
		d := newDaemon(chain...)
		d.accounts[keyA], d.accounts[keyB] = 7, 0
		n.nodes = append(n.nodes, d)
		o.Nodes = append(o.Nodes, d.node(t, i))
	}
	o.Depth = 15
	n.Tracker = NewTracker(o)
	n.least = 2 * time.Second // the machine may be slow
	return n
}

// see polls and compares the sighting of id.
func (n *net) see(id string, want tx.Sighting) {
	n.Helper()
	n.Poll(n.Context())
	if diff := cmp.Diff(want, n.Sighting(id)); diff != "" {
		n.Errorf("sighting of %s (-want +got):\n%s", id, diff)
	}
}

// watchA is a watch of keyA at nonce 7 with the hash labelled a.
func watchA() tx.Watch {
	return tx.Watch{Payer: keyA, Nonce: 7, Hashes: []string{hashOf("a")}, Memo: "ours", ValidUntil: 1014, Since: 1005}
}

func commandA(t *testing.T) Command {
	return Command{Hash: hashOf("a"), Payer: keyA, Nonce: 7, Memo: memoOf(t, "ours")}
}

func extend(blocks []Block, n int, fork string) []Block {
	for range n {
		blocks = grow(blocks, fork)
	}
	return blocks
}

func TestNodesDiffer(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	with := grow(base, "", commandA(t))
	failed := commandA(t)
	failed.Failed, failed.Failures = true, []Failure{{1, []string{"Predicate"}}}
	one := tx.Sighting{Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111"}
	for _, tt := range []struct {
		name   string
		chains [3][]Block
		synced int
		want   func(s *tx.Sighting)
	}{
		{"one behind", [3][]Block{with, with, base}, 3, func(s *tx.Sighting) { s.Fate, s.TipSlot = tx.FateIncluded, 1011 }},
		{"only one ahead", [3][]Block{with, base, base}, 3, func(s *tx.Sighting) { s.Fate, s.TipSlot = tx.FateIncluded, 1011 }},
		{"different tips", [3][]Block{extend(with, 3, ""), with, extend(with, 1, "")}, 3, func(s *tx.Sighting) {
			s.Fate, s.Agreed, s.Depth, s.TipSlot = tx.FateIncluded, true, 1, 1011
		}},
		{"far behind", [3][]Block{extend(with, 3, ""), extend(with, 3, ""), base}, 2, func(s *tx.Sighting) {
			s.Fate, s.Agreed, s.Depth, s.TipSlot = tx.FateIncluded, true, 4, 1014
		}},
		{"minority fork without it", [3][]Block{extend(with, 3, ""), extend(with, 3, ""), extend(base, 4, "f")}, 3, func(s *tx.Sighting) {
			s.Fate, s.TipSlot = tx.FateIncluded, 1014
		}},
		{"included in rival blocks", [3][]Block{with, with, grow(base, "f", commandA(t))}, 3, func(s *tx.Sighting) { s.Fate, s.TipSlot = tx.FateIncluded, 1011 }},
		{"failed in a rival block", [3][]Block{base, base, grow(base, "f", failed)}, 3, func(s *tx.Sighting) {
			s.Fate, s.TipSlot, s.StateHash, s.Failure = tx.FateFailed, 1011, "3N-111f", failed.failure()
		}},
		{"expired on one fork", [3][]Block{extend(base, 4, ""), extend(base, 4, ""), extend(base, 5, "f")}, 3, func(s *tx.Sighting) {
			*s = tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1014, AccountNext: 7}
		}},
		{"displaced on one fork", [3][]Block{base, base, grow(base, "f", Command{Hash: hashOf("x"), Payer: keyA, Nonce: 7, Payment: true})}, 3, func(s *tx.Sighting) {
			*s = tx.Sighting{Fate: tx.FateUnknown}
		}},
		{"expired everywhere", [3][]Block{extend(base, 6, ""), extend(base, 7, ""), extend(base, 5, "f")}, 3, func(s *tx.Sighting) {
			*s = tx.Sighting{Fate: tx.FateExpired, Agreed: true, Depth: 1, Height: 115, StateHash: "3N-115f", TipSlot: 1015, AccountNext: 7}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNet(t, 3, base)
			n.Watch("a", watchA())
			n.Poll(t.Context())
			for i, d := range n.nodes {
				d.set(tt.chains[i])
			}
			want := one
			tt.want(&want)
			n.see("a", want)
			if c := n.Chain(); c.Synced != tt.synced || !c.Quorum || c.Err != nil || len(c.Lost) != 3-tt.synced {
				t.Errorf("chain %+v", c)
			}
		})
	}
}

func TestNewTracker(t *testing.T) {
	t.Parallel()
	nodes := []*Node{{}, {}, {}, {}}
	for _, tt := range []struct{ quorum, depth, wantQuorum, wantKeep int }{
		{0, 15, 3, 15 + window}, {-1, 0, 3, window}, {1, -1, 1, window}, {4, 1, 4, 1 + window},
	} {
		tr := NewTracker(TrackerOptions{Nodes: nodes, Quorum: tt.quorum, Depth: tt.depth})
		if tr.quorum != tt.wantQuorum || tr.views[3].keep != tt.wantKeep || tr.patience != mostGrace || tr.least != leastGrace {
			t.Errorf("%+v: %d of them, %d blocks, %v, %v", tt, tr.quorum, tr.views[3].keep, tr.patience, tr.least)
		}
		if c := tr.Chain(); c.Quorum || !errors.Is(c.Err, ErrNoQuorum) {
			t.Errorf("before it has asked: %+v", c)
		}
	}
}

func TestVotes(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	for _, tt := range []struct {
		name   string
		change func(d *daemon)
		reason string
	}{
		{"bootstrapping", func(d *daemon) { d.sync = "BOOTSTRAP" }, ":3085: BOOTSTRAP: node is not synced"},
		{"catching up", func(d *daemon) { d.sync = "CATCHUP" }, "CATCHUP"},
		{"gateway error", func(d *daemon) { d.status = 503 }, "503"},
		{"nonsense", func(d *daemon) { d.raw = "<html>" }, "reading the answer"},
		{"other network", func(d *daemon) { d.network = "mina:mainnet" }, "mina:mainnet"},
		{"hanging", func(d *daemon) { d.hang = true }, "deadline"},
		{"old tip", func(d *daemon) {
			d.genesis = time.Now().Add(-(10 + 21) * 90 * time.Second).Format(time.RFC3339)
		}, "old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNet(t, 3, base)
				n.Belong("mina:testnet")
				n.Watch("a", watchA())
				n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
				for _, d := range n.nodes {
					d.set(grow(base, "", commandA(t)))
				}
				n.nodes[2].do(func() { tt.change(n.nodes[2]) })
				// Two of three are the quorum.
				n.see("a", tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011})
				c := n.Chain()
				reason := tt.reason
				if tt.name == "hanging" {
					reason = "has not answered" // the two others are not kept waiting for more
				}
				if c.Synced != 2 || !c.Quorum || c.Err != nil || len(c.Lost) != 1 || !strings.Contains(c.Lost[0].Error(), reason) {
					t.Errorf("chain %+v", c)
				}
				// One of three is none.
				n.nodes[1].do(func() { tt.change(n.nodes[1]) })
				n.see("a", tx.Sighting{Fate: tx.FateIncluded, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011})
				c = n.Chain()
				if c.Synced != 1 || c.Quorum || !errors.Is(c.Err, ErrNoQuorum) || !strings.Contains(c.Err.Error(), tt.reason) ||
					!strings.Contains(c.Err.Error(), "1 of 3, want 2") {
					t.Errorf("chain %+v", c)
				}
				// None at all: what was known of the network stays.
				n.nodes[0].do(func() { n.nodes[0].status = 500 })
				n.see("a", tx.Sighting{Fate: tx.FateUnknown})
				if c = n.Chain(); c.Synced != 0 || c.Quorum || c.TipSlot != 1011 || c.K != 290 {
					t.Errorf("chain %+v", c)
				}
				// And back, once a question that hangs has ended.
				<-time.After(time.Minute)
				for _, d := range n.nodes {
					d.do(func() {
						d.sync, d.status, d.raw, d.hang, d.network, d.genesis, d.during = "SYNCED", 0, "", false, "mina:testnet", "", nil
					})
				}
				n.see("a", tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011})
			})
		})
	}
}

// TestSilentQuestion: a node that leaves one question of a poll without an answer has no
// vote: it is not taken for one that has nothing.
func TestSilentQuestion(t *testing.T) {
	t.Parallel()
	for field, w := range map[string]tx.Watch{
		"pooledZkappCommands": watchA(), "block": watchA(), "account": watchA(), "pooledZkappCommands of a payer": {Payer: keyB, Since: 1005, Legacy: true},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			asked, _, _ := strings.Cut(field, " ")
			n := newNet(t, 2, chainOf(10))
			d := n.nodes[1]
			d.do(func() {
				d.during = func(field string) {
					if field == asked {
						d.status = 503
					} else if asked != "account" { // which is asked for last, with something else
						d.status = 0
					}
				}
			})
			n.Watch("x", w)
			n.see("x", tx.Sighting{Fate: tx.FateUnknown})
			if c := n.Chain(); c.Synced != 1 || len(c.Lost) != 1 || !strings.Contains(c.Lost[0].Error(), "503") {
				t.Errorf("chain %+v", c)
			}
		})
	}
}

// TestSlowPoll: blocks made while the nodes were asked are no lag.
func TestSlowPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 2, chainOf(10))
		for _, d := range n.nodes {
			d.slotTime = time.Second
		}
		n.nodes[1].set(chainOf(18))
		n.nodes[1].during = func(field string) {
			if field == "bestChain" {
				<-time.After(5 * time.Second)
			}
		}
		if c := n.Poll(t.Context()); c.Synced != 2 {
			t.Errorf("chain %+v", c)
		}
		n.nodes[1].set(chainOf(20))
		n.nodes[1].during = nil
		if c := n.Poll(t.Context()); c.Synced != 1 || !strings.Contains(c.Lost[0].Error(), "behind") {
			t.Errorf("chain %+v", c)
		}
	})
}

func TestChainSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Slots are counted since the first genesis, the genesis time is the last
		// hard fork's: slot 1001 was slot 0 of the fork.
		n := newNet(t, 1, chainOf(10))
		n.nodes[0].genesis = time.Now().Add(-15 * 90 * time.Second).UTC().Format("2006-01-02 15:04:05.000000Z")
		c := n.Poll(t.Context())
		want := Chain{
			Synced: 1, Quorum: true, Height: 110, TipSlot: 1010, Slot: 1016, SlotTime: 90 * time.Second, K: 290,
			Era: Mesa, First: 1001, NetworkID: "mina:testnet", At: time.Now(), Zero: time.Now().Add(-(15 + 1001) * 90 * time.Second),
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Error(diff)
		}
	})
}

// TestChainZero: the latest beginning of slot 0 counts, which makes the lowest of last
// slots, and none where a node that has a vote does not tell.
func TestChainZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 2, chainOf(10))
		genesis := func(ago time.Duration) string {
			return time.Now().Add(-ago).UTC().Format("2006-01-02 15:04:05.000000Z")
		}
		n.nodes[0].genesis, n.nodes[1].genesis = genesis(15*90*time.Second), genesis(13*90*time.Second)
		want := time.Now().Add(-(13 + 1001) * 90 * time.Second)
		if c := n.Poll(t.Context()); !c.Zero.Equal(want) || c.Synced != 2 {
			t.Errorf("%d nodes, slot 0 began at %v, want %v", c.Synced, c.Zero, want)
		}
		n.nodes[1].genesis = ""
		if c := n.Poll(t.Context()); !c.Zero.IsZero() || c.Synced != 2 {
			t.Errorf("%d nodes, slot 0 began at %v although one does not tell", c.Synced, c.Zero)
		}
	})
}

// TestClockFarAhead: a node that tells odd times has an old tip; nothing wraps round.
func TestClockFarAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 1, chainOf(10))
		n.nodes[0].slotTime = time.Millisecond
		n.nodes[0].genesis = time.Now().Add(-(1<<32 + 5) * time.Millisecond).UTC().Format("2006-01-02 15:04:05.000000Z")
		if c := n.Poll(t.Context()); c.Synced != 0 || !errors.Is(errors.Join(c.Lost...), ErrOldTip) {
			t.Errorf("chain %+v", c)
		}
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	const refuse = "Couldn't send zkApp command: "
	hash := hashOf("{}")
	for _, tt := range []struct {
		name      string
		refusals  []string
		want      SendResult
		wantClass Class
		wantCode  string
	}{
		{"all take it", []string{"", "", ""}, SendResult{Accepted: true, Hash: hash}, "", ""},
		{"one takes it", []string{refuse + `["Invalid_nonce"]`, "", "lost"}, SendResult{Accepted: true, Hash: hash}, "", ""},
		{"one has it", []string{refuse + `["Invalid_nonce"]`, refuse + `["Duplicate"]`, "lost"}, SendResult{Accepted: true}, "", ""},
		{"all refuse", []string{refuse + `["Overloaded"]`, refuse + `["Insufficient_funds"]`, refuse + `["Invalid_nonce"]`}, SendResult{Refused: true}, Operator, "Insufficient_funds"},
		{"one is silent", []string{refuse + `["Bad_token"]`, "lost", refuse + `["Bad_token"]`}, SendResult{}, Transport, CodeNoAnswer},
		{"no nodes", nil, SendResult{}, Transport, CodeNoAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNet(t, len(tt.refusals), chainOf(3))
			for i, r := range tt.refusals {
				n.nodes[i].refusal = r
			}
			got := n.Send(t.Context(), []byte("{}"))
			if (got.Err == nil) != (tt.wantClass == "") || got.Err != nil && (got.Err.Class != tt.wantClass || got.Err.Code != tt.wantCode) {
				t.Errorf("error %v, want %s %s", got.Err, tt.wantClass, tt.wantCode)
			}
			got.Err = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSendAgain: a node of before that has the command already does not tell its hash.
// Its pool does.
func TestSendAgain(t *testing.T) {
	t.Parallel()
	n := newNet(t, 2, chainOf(3))
	n.nodes[0].refusal = "lost"
	n.nodes[1].refusal = `Couldn't send zkApp command: ["Duplicate"]`
	n.nodes[1].pool = []Command{{Hash: hashOf("x"), Payer: keyA, Nonce: 6}, commandA(t), {Hash: hashOf("y"), Payer: keyA, Nonce: 8}}
	command := fmt.Sprintf(`{"feePayer":{"body":{"publicKey":%q,"nonce":"7"}}}`, keyA)
	if got := n.Send(t.Context(), []byte(command)); !got.Accepted || got.Hash != hashOf("a") || got.Err != nil {
		t.Errorf("%+v", got)
	}
	n.nodes[1].do(func() { n.nodes[1].pool = nil })
	if got := n.Send(t.Context(), []byte(command)); !got.Accepted || got.Hash != "" || got.Err != nil {
		t.Errorf("with nothing to be found: %+v", got)
	}
}

func TestAccountAndNetwork(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(3))
	ctx := t.Context()
	want := Account{PublicKey: keyA, Exists: true, Nonce: 7, InferredNonce: 7, Balance: 5_000_000_000}
	got, err := n.Account(ctx, keyA)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err := n.Account(ctx, offX2); err != nil || got.Exists {
		t.Errorf("no account: %+v, %v", got, err)
	}
	some := []tx.Account{{Key: keyA, Token: tx.MinaToken}, {Key: offX2, Token: tx.MinaToken}}
	n.nodes[1].do(func() { delete(n.nodes[1].accounts, keyA) }) // which is behind the others
	if got, err := n.Absent(ctx, some); err != nil || len(got) != 1 || got[0] != some[1] {
		t.Errorf("on no node are %v, %v", got, err)
	}
	n.nodes[1].do(func() { n.nodes[1].accounts[keyA] = 7 })
	if _, err := n.Account(ctx, "x"); !errors.Is(err, ErrBase58Check) {
		t.Errorf("no key: %v", err)
	}
	n.nodes[0].do(func() { n.nodes[0].liquid = "50000000" }) // the others do not say what is locked
	want.Balance, want.Locked = 50_000_000, 4_950_000_000
	if got, err := n.Account(ctx, keyA); got != want || err != nil {
		t.Errorf("the lowest of what the nodes say: %+v, %v", got, err)
	}
	if all, err := n.Accounts(ctx, []string{keyA}); all[keyA] != want || err != nil {
		t.Errorf("the lowest of what the nodes say: %+v, %v", all, err)
	}
	n.nodes[0].accounts[keyA] = 6
	if _, err := n.Account(ctx, keyA); !errors.Is(err, ErrDisagree) {
		t.Errorf("nonces differ: %v", err)
	}
	n.nodes[0].sync = "BOOTSTRAP"
	if got, err := n.Account(ctx, keyA); err != nil || got.Nonce != 7 {
		t.Errorf("one not synced: %+v, %v", got, err)
	}
	n.nodes[1].status = 500
	if _, err := n.Account(ctx, keyA); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("one left of three: %v", err)
	}
	if id, err := n.Network(ctx); id != "mina:testnet" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	n.nodes[2].network = "mina:mainnet"
	if id, err := n.Network(ctx); !errors.Is(err, ErrDisagree) {
		t.Errorf("%q, %v", id, err)
	}
	for _, d := range n.nodes {
		d.status = 500
	}
	if id, err := n.Network(ctx); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("%q, %v", id, err)
	}
}

// TestForeignNode: a node of another network has no vote and is not asked for accounts, also
// where it stands first; the network is the one that a quorum of the nodes are of.
func TestForeignNode(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(3))
	ctx := t.Context()
	n.nodes[0].network = "mina:mainnet"
	n.nodes[0].accounts[keyA] = 99
	if _, err := n.Account(ctx, keyA); !errors.Is(err, ErrDisagree) {
		t.Errorf("before it is known for what it is: %v", err)
	}
	c := n.Poll(ctx)
	if !c.Quorum || c.Synced != 2 || c.NetworkID != "mina:testnet" || len(c.Lost) != 1 || !errors.Is(c.Lost[0], ErrOtherNetwork) {
		t.Errorf("%+v", c)
	}
	if a, err := n.Account(ctx, keyA); err != nil || a.Nonce != 7 {
		t.Errorf("%+v, %v", a, err)
	}
	if id, err := n.Network(ctx); id != "mina:testnet" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	n.nodes[0].network = "mina:testnet"
	n.nodes[0].accounts[keyA] = 7
	if c := n.Poll(ctx); c.Synced != 3 {
		t.Errorf("when it has come back: %+v", c)
	}
}

// TestStuckNode: one that is synced and hangs on an old tip has no vote, and is not asked for
// accounts either.
func TestStuckNode(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(10))
	ctx := t.Context()
	n.nodes[2].do(func() { n.nodes[2].blocks = n.nodes[2].blocks[:6] })
	n.nodes[2].accounts[keyA] = 6
	if c := n.Poll(ctx); c.Synced != 2 || len(c.Lost) != 1 || !errors.Is(c.Lost[0], ErrBehind) {
		t.Errorf("%+v", c)
	}
	if a, err := n.Account(ctx, keyA); err != nil || a.Nonce != 7 {
		t.Errorf("%+v, %v", a, err)
	}
	n.nodes[1].accounts[keyA] = 6
	if _, err := n.Account(ctx, keyA); !errors.Is(err, ErrDisagree) {
		t.Errorf("with one that has a vote: %v", err)
	}
}

// TestNetworkOfOne: where one node is enough, two networks are none; and once it is said of
// which the nodes have to be, no other has a vote, whoever answers, and whatever was said before.
func TestNetworkOfOne(t *testing.T) {
	t.Parallel()
	n := newNet(t, 2, chainOf(3))
	ctx := t.Context()
	n.quorum = 1
	n.nodes[1].network = "mina:mainnet"
	if id, err := n.Network(ctx); id != "" || !errors.Is(err, ErrDisagree) ||
		!strings.Contains(err.Error(), `["mina:mainnet" "mina:testnet"]`) {
		t.Errorf("%q, %v", id, err)
	}
	n.nodes[0].status = 500
	if c := n.Poll(ctx); c.Synced != 1 || c.NetworkID != "mina:mainnet" {
		t.Errorf("before it is said: %+v", c)
	}
	if id, err := n.Network(ctx); id != "mina:mainnet" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	n.Belong("mina:testnet")
	if c := n.Poll(ctx); c.Quorum || c.Synced != 0 || c.NetworkID != "mina:testnet" {
		t.Errorf("of who has no vote: %+v", c)
	}
	n.nodes[0].status, n.nodes[1].network = 0, "mina:testnet"
	if c := n.Poll(ctx); c.Synced != 2 || c.NetworkID != "mina:testnet" {
		t.Errorf("when all are of it: %+v", c)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	n := newNet(t, 2, chainOf(10))
	done := make(chan struct{})
	for i := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for j := range 50 {
				id := fmt.Sprint(i, j%5)
				n.Watch(id, watchA())
				n.Poll(t.Context())
				n.Sighting(id)
				n.Chain()
				n.Watching()
				d := n.nodes[i%2]
				d.do(func() { d.blocks = grow(d.blocks, "") })
				n.Forget(id)
			}
		}()
	}
	for range 4 {
		<-done
	}
}
