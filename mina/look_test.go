package mina

import (
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowly runs a test over three nodes in simulated time, and lets end what still goes on.
func slowly(t *testing.T, test func(n *net)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 3, chainOf(10))
		n.least = leastGrace
		test(n)
		<-time.After(5 * time.Minute)
	})
}

// takes fails unless something takes exactly so long.
func (n *net) takes(want time.Duration, what string, do func()) {
	n.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took != want {
		n.Errorf("%s takes %v, want %v", what, took, want)
	}
}

// poll ends when all that this instant allows has been done: a look that was not waited
// for would otherwise meet what the test does to its node next.
func (n *net) poll() {
	n.Poll(n.Context())
	synctest.Wait()
}

// TestHangingNode: it is waited for once. What goes on goes on without it; what would
// allow another attempt waits until it has lost its vote.
func TestHangingNode(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
		n.nodes[2].do(func() { n.nodes[2].hang = true })
		for _, d := range n.nodes[:2] {
			d.set(grow(chainOf(10), "", commandA(t)))
		}
		n.takes(leastGrace, "the first poll", n.poll)
		n.takes(0, "the second", n.poll)
		in := tx.Sighting{
			Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011,
		}
		n.see("a", in)
		c := n.Chain()
		if c.Synced != 2 || !c.Quorum || c.TipSlot != 1011 || len(c.Lost) != 1 || !errors.Is(c.Lost[0], ErrLate) {
			n.Errorf("chain %+v", c)
		} else if want := "node-2:3085: has not answered for 250ms"; c.Lost[0].Error() != want {
			n.Errorf("%q, want %q", c.Lost[0], want)
		}
		for _, d := range n.nodes[:2] {
			d.set(extend(grow(chainOf(10), "r", Command{Hash: hashOf("x"), Payer: keyA, Nonce: 7, Payment: true}), 2, "r"))
		}
		n.takes(0, "a poll after a reorg", n.poll)
		n.see("a", tx.Sighting{Fate: tx.FateUnknown})
		<-time.After(defaultTimeout)
		n.takes(0, "a poll after its vote is lost", n.poll)
		n.see("a", tx.Sighting{
			Fate: tx.FateDisplaced, Agreed: true, Depth: 3, Hash: hashOf("x"), Nonce: 7, Height: 111, StateHash: "3N-111r", TipSlot: 1013,
		})
		// It is no quorum's part by its last word.
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		n.takes(leastGrace, "a poll without a quorum", n.poll)
		if c := n.Chain(); c.Quorum || n.Sighting("a").Agreed {
			n.Errorf("chain %+v", c)
		}
	})
}

// TestSlowNode: its last word is what it says, and no poll is kept waiting. One that is
// to be sure of all waits for a new word.
func TestSlowNode(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = 2 * time.Second })
		n.poll()
		failed := commandA(t)
		failed.Failed, failed.Failures = true, []Failure{{1, []string{"Predicate"}}}
		<-time.After(time.Minute)
		for _, d := range n.nodes {
			d.set(extend(grow(chainOf(10), "", failed), 1, ""))
		}
		n.takes(0, "a poll", n.poll)
		if s := n.Sighting("a"); s.Fate != tx.FateFailed || s.Agreed {
			n.Errorf("before its look has ended: %+v", s)
		}
		<-time.After(time.Minute)
		for _, d := range n.nodes[:2] {
			d.set(extend(grow(chainOf(10), "", failed), 2, ""))
		}
		n.takes(0, "a poll", n.poll)
		if s := n.Sighting("a"); !s.Agreed || s.Depth != 2 {
			n.Errorf("by its last word: %+v", s)
		}
		n.nodes[2].do(func() { n.nodes[2].blocks = n.nodes[1].blocks })
		n.Forget("a")
		// The look under way may have begun too early: it is waited for (4 s), and another one (2 s).
		n.takes(6*time.Second, "a poll of all", func() { n.PollAll(n.Context()) })
		if c := n.Chain(); c.Synced != 3 || c.TipSlot != 1013 {
			n.Errorf("chain %+v", c)
		}
		n.nodes[2].do(func() { n.nodes[2].delay = 0 })
		<-time.After(time.Minute)
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = leastGrace / 2 })
		n.takes(leastGrace/2, "a poll when it is quick again", n.poll)
	})
}

// TestLookOfThePollBefore: where a slow node is needed for a quorum, what it was asked before
// the poll began is not enough.
func TestLookOfThePollBefore(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = 10 * time.Second })
		n.poll() // and its look goes on
		<-time.After(4 * time.Second)
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		time.AfterFunc(7*time.Second, func() { n.nodes[2].do(func() { n.nodes[2].sync = "BOOTSTRAP" }) })
		n.takes((10*time.Second-leastGrace-4*time.Second)+10*time.Second, "a poll", n.poll)
		if c := n.Chain(); c.Quorum || c.Synced != 1 {
			n.Errorf("a node that has no vote by now is one of a quorum: %+v", c)
		}
	})
}

// TestSendGoesOn: the first that takes it is enough, and the others get it; a refusal
// takes all of them.
func TestSendGoesOn(t *testing.T) {
	slowly(t, func(n *net) {
		slow := n.nodes[0]
		slow.delay = 5 * time.Second
		n.takes(0, "a sending", func() {
			ctx, cancel := context.WithCancel(n.Context())
			defer cancel()
			if r := n.Send(ctx, []byte("{}")); !r.Accepted || r.Hash != hashOf("{}") {
				n.Errorf("%+v", r)
			}
		})
		<-time.After(time.Minute)
		slow.do(func() {
			if len(slow.bodies) != 1 {
				n.Errorf("the slow node got it %d times", len(slow.bodies))
			}
		})
		const refusal = "Couldn't send zkApp command: Insufficient fee"
		for _, d := range n.nodes[1:] {
			d.do(func() { d.refusal = refusal })
		}
		n.takes(slow.delay, "a sending that only the slow one takes", func() {
			if r := n.Send(n.Context(), []byte("{}")); !r.Accepted {
				n.Errorf("%+v", r)
			}
		})
		slow.do(func() { slow.refusal = refusal })
		n.takes(slow.delay, "a sending that all refuse", func() {
			if r := n.Send(n.Context(), []byte("{}")); !r.Refused {
				n.Errorf("%+v", r)
			}
		})
		n.poll()
		n.takes(leastGrace, "a sending that is refused, with a late node", func() {
			if r := n.Send(n.Context(), []byte("{}")); r.Refused || r.Accepted || r.Err.Class != Transport {
				n.Errorf("%+v", r)
			}
		})
	})
}

// TestCutLook: that nobody waited for the nodes says nothing of them. The next look takes in what they said.
func TestCutLook(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		for _, d := range n.nodes {
			d.do(func() { d.delay = time.Second })
		}
		before := n.Chain()
		for _, look := range []func(context.Context) Chain{n.Poll, n.PollAll} {
			ctx, cancel := context.WithTimeout(n.Context(), 100*time.Millisecond)
			n.takes(100*time.Millisecond, "a look that is cut", func() {
				if got := look(ctx); !got.Quorum || !got.At.Equal(before.At) || len(got.Lost) != 0 {
					n.Errorf("%+v", got)
				}
			})
			cancel()
			if got := n.Chain(); !got.Quorum || !got.At.Equal(before.At) {
				n.Errorf("afterwards: %+v", got)
			}
		}
		if got := n.Poll(n.Context()); !got.Quorum || got.At.Equal(before.At) {
			n.Errorf("the next: %+v", got)
		}
	})
}

// TestSharedLook: those who are to be sure of all, and wait for a look to end, share the next one, also
// when the one who began it goes.
func TestSharedLook(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		for _, d := range n.nodes {
			d.do(func() { d.delay = time.Second })
		}
		n.takes(0, "a look", func() {
			ctx, cancel := context.WithCancel(n.Context())
			go n.Poll(n.Context())
			synctest.Wait()
			go n.PollAll(ctx) // who will go
			synctest.Wait()
			time.AfterFunc(500*time.Millisecond, cancel)
		})
		asked := n.Chain().At
		seen := make([]Chain, 20)
		began := time.Now()
		var all sync.WaitGroup
		for i := range seen {
			all.Go(func() { seen[i] = n.PollAll(n.Context()) })
		}
		synctest.Wait()
		n.nodes[0].do(func() { n.nodes[0].status = 500 }) // after all of them have asked
		all.Wait()
		for i, c := range seen {
			if c.Synced != 2 || !c.Quorum || !c.At.After(asked) || c.At != seen[0].At {
				n.Errorf("%d: %+v", i, c)
			}
		}
		// The look under way, and one more.
		if took := time.Since(began); took > 10*time.Second {
			n.Errorf("it took %v", took)
		}
		// What has begun may have asked too early.
		begun := make(chan Chain, 1)
		go func() { begun <- n.PollAll(n.Context()) }()
		synctest.Wait()
		if c, first := n.PollAll(n.Context()), <-begun; !c.At.After(first.At) {
			n.Errorf("called during another: %+v", c)
		}
	})
}

// TestAccountGoesOn: a quorum is enough for an account and for the network.
func TestAccountGoesOn(t *testing.T) {
	slowly(t, func(n *net) {
		n.nodes[0].do(func() { n.nodes[0].hang = true })
		ask := func() {
			if a, err := n.Account(n.Context(), keyA); err != nil || a.Nonce != 7 {
				n.Errorf("%+v, %v", a, err)
			}
			if id, err := n.Network(n.Context()); err != nil || id != "mina:testnet" {
				n.Errorf("%q, %v", id, err)
			}
			if all, err := n.Accounts(n.Context(), []string{keyA}); err != nil || all[keyA].Nonce != 7 {
				n.Errorf("%+v, %v", all, err)
			}
		}
		n.takes(leastGrace, "to ask for the first time", ask)
		n.takes(0, "to ask again", ask)
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		n.takes(defaultTimeout, "to ask where it is needed", func() {
			if _, err := n.Account(n.Context(), keyA); !errors.Is(err, ErrNoQuorum) {
				n.Error(err)
			}
		})
	})
}

// TestGrace: others are waited for three times as long again as enough have taken, within limits.
func TestGrace(t *testing.T) {
	t.Parallel()
	tr := NewTracker(TrackerOptions{})
	for took, want := range map[time.Duration]time.Duration{
		0: leastGrace, 50 * time.Millisecond: leastGrace, 100 * time.Millisecond: 300 * time.Millisecond,
		time.Second: mostGrace, time.Minute: mostGrace,
	} {
		if got := tr.grace(took); got != want {
			t.Errorf("%v after %v, want %v", got, took, want)
		}
	}
}

// TestGraceBeginsOnce: the moment for the others begins with the quorum, and not anew with
// each that answers in it.
func TestGraceBeginsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 5, chainOf(10))
		n.least = leastGrace
		n.nodes[3].delay, n.nodes[4].hang = 100*time.Millisecond, true // two questions: 200 ms
		n.takes(leastGrace, "a poll", n.poll)
		if c := n.Chain(); c.Synced != 4 {
			t.Errorf("%+v", c)
		}
		<-time.After(time.Minute)
	})
}

// TestLongLook: a look takes no longer than two calls may.
func TestLongLook(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		for _, d := range n.nodes {
			d.delay = defaultTimeout * 9 / 10
		}
		n.takes(2*defaultTimeout, "a poll", n.poll)
		if c := n.Chain(); c.Quorum {
			n.Errorf("%+v", c)
		}
	})
}

// TestLateStays: a node that takes longer than the others are waited for is late, and is not
// waited for again before it is quick.
func TestLateStays(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = 500 * time.Millisecond })
		n.takes(leastGrace, "the first poll", n.poll)
		<-time.After(time.Minute)
		asked := 0
		n.nodes[2].do(func() { asked = n.nodes[2].calls["daemonStatus"] })
		n.takes(0, "the second", n.poll)
		<-time.After(time.Minute)
		n.nodes[2].do(func() {
			if got := n.nodes[2].calls["daemonStatus"]; got != asked+1 {
				n.Errorf("it was asked %d times in the second, want once", got-asked)
			}
		})
		// What is watched only now it has not been asked for: it says nothing of it.
		n.nodes[2].do(func() { n.nodes[2].hang = true })
		n.poll()
		n.Watch("a", watchA())
		n.poll()
		if s := n.Sighting("a"); s.Agreed || s.Fate != tx.FateUnknown {
			n.Errorf("%+v", s)
		}
	})
}

// TestMomentWithoutQuorum: where too few have a vote the others get one moment, and not one more
// with each that answers in it.
func TestMomentWithoutQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 5, chainOf(10))
		n.least = leastGrace
		for _, d := range n.nodes {
			d.hang = true
		}
		n.poll()
		for i, delay := range []time.Duration{0, 200 * time.Millisecond} {
			n.nodes[i].do(func() { n.nodes[i].hang, n.nodes[i].delay = false, delay })
		}
		n.takes(leastGrace, "a poll", n.poll)
		if c := n.Chain(); c.Quorum || c.Synced != 2 {
			t.Errorf("%+v", c)
		}
		<-time.After(time.Minute)
	})
}

// TestChanged: one node that has moved is enough for settled sightings to be made anew.
func TestChanged(t *testing.T) {
	t.Parallel()
	for _, moved := range [][]bool{{false, false}, {true, false}, {false, true}, {false, true, false}, {true, false, false}} {
		tr, want := NewTracker(TrackerOptions{}), false
		for _, m := range moved {
			v := viewOf(chainOf(3))
			v.moved, want = m, want || m
			if tr.collect(v); v.moved {
				t.Error("it has been taken in")
			}
		}
		if tr.changed != want {
			t.Errorf("%v: %v", moved, tr.changed)
		}
	}
}

// TestPollerGoes: who polls may go, at once; a node that is being asked is asked to the end,
// and has told what it says then.
func TestPollerGoes(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		n.nodes[2].do(func() { n.nodes[2].delay = time.Second })
		ctx, cancel := context.WithTimeout(n.Context(), 100*time.Millisecond)
		defer cancel()
		n.takes(100*time.Millisecond, "a poll of all, of somebody who goes", func() { n.PollAll(ctx) })
		<-time.After(time.Minute)
		n.nodes[2].do(func() { n.nodes[2].hang = true })
		n.poll()
		c := n.Chain()
		if n.views[2].lost != nil || len(c.Lost) != 1 || !errors.Is(c.Lost[0], ErrLate) {
			n.Errorf("of the node that was slow: %v, %v", n.views[2].lost, c.Lost)
		}
	})
}

// TestOnePoll: one poll or survey is under way at a time; who waits for that may go.
func TestOnePoll(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(10))
	n.Poll(t.Context())
	known := n.Chain()
	n.polling <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c := n.Poll(ctx); c.At != known.At {
		t.Errorf("%+v", c)
	}
	if _, err := n.Survey(ctx, []Wanted{{Payer: keyA}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	brief, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if c := n.PollAll(brief); c.At != known.At || !n.views[0].fresh {
		t.Errorf("a poll of all, of somebody who goes while another is under way: %+v", c)
	}
	if len(n.polling) != 1 {
		t.Error("who went has ended the poll of somebody else")
	}
}

// TestElect: who has a vote, to the last block and second, and what an operator is told of
// the others.
func TestElect(t *testing.T) {
	t.Parallel()
	now := time.Now()
	told := func(height, slot uint32, behind time.Duration) said {
		return said{
			tip: Header{Height: height, Slot: slot}, slot: 1000, asOf: now.Add(-behind),
			status: Status{SlotTime: 90 * time.Second, NetworkID: "mina:testnet"},
		}
	}
	fast := func(slot uint32, length time.Duration) said {
		s := told(500, slot, 0)
		s.status.SlotTime = length
		return s
	}
	other := told(500, 1000, 0)
	other.status.NetworkID = "mina:other"
	for _, tt := range []struct {
		name   string
		maxAge time.Duration
		words  []said
		want   []string // "" for a vote
	}{
		{"as far behind as may be", 0, []said{told(500, 1000, 0), told(497, 997, 0), told(496, 996, 0)},
			[]string{"", "", "node: tip 496 is behind 500"}},
		{"told long before", 0, []said{told(500, 1000, 0), told(496, 996, 90*time.Second), told(495, 995, 90*time.Second)},
			[]string{"", "", "node: tip 495 is behind 500"}},
		{"as old as may be", 0, []said{told(500, 1000, 0), told(500, 980, 0), told(500, 979, 0)},
			[]string{"", "", "node: tip is 31m30s old"}},
		{"as old as is allowed", 3 * time.Minute, []said{told(500, 998, 0), told(500, 997, 0)}, []string{"", "node: tip is 4m30s old"}},
		{"short slots", 0, []said{fast(900, 100*time.Millisecond), fast(899, 100*time.Millisecond)},
			[]string{"", "node: tip is 10.1s old"}},
		{"slots of no length", 0, []said{fast(1000, 0), fast(1, 0)}, []string{"", ""}},
		{"another network", 0, []said{told(500, 1000, 0), other},
			[]string{"", `node: is of network "mina:other", not "mina:testnet"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := NewTracker(TrackerOptions{MaxTipAge: tt.maxAge})
			for _, s := range tt.words {
				tr.views = append(tr.views, &view{node: &Node{name: "node"}, said: s})
			}
			voters := tr.elect()
			for i, v := range tr.views {
				got := ""
				if v.lost != nil {
					got = v.lost.Error()
				}
				if got != tt.want[i] || slices.Contains(voters, v) != (got == "") {
					t.Errorf("node %d: %q, want %q", i, got, tt.want[i])
				}
			}
		})
	}
}

// TestStates: what an operator is shown of each node; those of one host are told apart.
func TestStates(t *testing.T) {
	t.Parallel()
	tr := NewTracker(TrackerOptions{})
	at := time.Now()
	for i, name := range []string{"a:1", "b:1", "a:1", "a:1"} {
		v := &view{node: &Node{name: name}}
		if i != 1 {
			v.said = said{
				tip: Header{Height: uint32(i + 1), Slot: 100}, slot: uint32(100 + i), asOf: at, reorgs: uint64(i), orphaned: uint64(2 * i),
				status: Status{SlotTime: time.Minute, Highest: 9},
			}
		}
		tr.views = append(tr.views, v)
	}
	want := []NodeState{
		{Name: "a:1", Voting: true, Height: 1, Lag: 8, At: at},
		{Name: "b:1"},
		{Name: "a:1#2", Height: 3, Lag: 6, TipAge: 2 * time.Minute, At: at, Reorgs: 2, Orphaned: 4},
		{Name: "a:1#3", Voting: true, Height: 4, Lag: 5, TipAge: 3 * time.Minute, At: at, Reorgs: 3, Orphaned: 6},
	}
	if diff := cmp.Diff(want, tr.states([]*view{tr.views[0], tr.views[3]})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if tr.Any() || !NewTracker(TrackerOptions{Nodes: []*Node{{}}}).Any() {
		t.Error("there are nodes, or none")
	}
}

// TestClockSlot: the slot by the clock, and when slot 0 would have begun, of what a node tells.
func TestClockSlot(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	tip := Header{Slot: 1010, Epoch: 2, EpochSlot: 10} // slot 0 of the fork is slot 800
	at := func(ago time.Duration) Status {
		return Status{Genesis: now.Add(-ago), SlotTime: time.Minute, SlotsPerEpoch: 100}
	}
	with := func(s Status, change func(s *Status)) Status {
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name   string
		status Status
		tip    Header
		slot   uint32
		zero   time.Time
	}{
		{"told", at(time.Hour), tip, 860, now.Add(-time.Hour - 800*time.Minute)},
		{"the fork begins now", at(0), tip, 800, now.Add(-800 * time.Minute)},
		{"it is still to come", at(-time.Minute), tip, 0, now.Add(time.Minute - 800*time.Minute)},
		{"the first fork", at(time.Hour), Header{Slot: 210, Epoch: 2, EpochSlot: 10}, 60, now.Add(-time.Hour)},
		{"the tip is below its place", at(time.Hour), Header{Slot: 209, Epoch: 2, EpochSlot: 10}, 60, time.Time{}},
		{"no genesis time", with(at(0), func(s *Status) { s.Genesis = time.Time{} }), tip, 0, time.Time{}},
		{"no slot length", with(at(time.Hour), func(s *Status) { s.SlotTime = 0 }), tip, 0, time.Time{}},
		{"no epochs", with(at(time.Hour), func(s *Status) { s.SlotsPerEpoch = 0 }), tip, 1060, time.Time{}},
		{"epochs of one slot", with(at(time.Hour), func(s *Status) { s.SlotsPerEpoch = 1 }), Header{Slot: 812, Epoch: 12}, 860, now.Add(-time.Hour - 800*time.Minute)},
	} {
		v := &view{status: tt.status, asOf: now, links: []*link{{Header: tt.tip}}}
		if got := v.clockSlot(); got != tt.slot {
			t.Errorf("%s: slot %d, want %d", tt.name, got, tt.slot)
		}
		if got := tt.status.Zero(tt.tip); !got.Equal(tt.zero) {
			t.Errorf("%s: slot 0 began at %v, want %v", tt.name, got, tt.zero)
		}
	}
}

// TestOffersTold: what a node does not tell is no size and no offer; nodes without a vote are
// not asked, and the pool only where more lies in it than a block takes.
func TestOffersTold(t *testing.T) {
	t.Parallel()
	const some = `{"data":{"daemonStatus":{"metrics":{"transactionPoolSize":"%d"}},"pooledZkappCommands":%s}}`
	for _, tt := range []struct {
		name, raw string
		size      int
		offers    bool
		fails     bool
	}{
		{"as many as a block takes", fmt.Sprintf(some, fees.BlockTakes, "null"), fees.BlockTakes, false, false},
		{"one more", fmt.Sprintf(some, fees.BlockTakes+1, "[]"), fees.BlockTakes + 1, true, false},
		{"one more, and no pool", fmt.Sprintf(some, fees.BlockTakes+1, "null"), 0, false, true},
		{"no status", `{"data":{"daemonStatus":null}}`, 0, false, true},
		{"no metrics", `{"data":{"daemonStatus":{"metrics":null}}}`, 0, false, true},
	} {
		n := newNet(t, 3, chainOf(10))
		n.nodes[0].sync = "BOOTSTRAP"
		n.Poll(t.Context())
		n.nodes[0].do(func() { n.nodes[0].raw = fmt.Sprintf(some, 1, "null") })
		for _, d := range n.nodes[1:] {
			d.do(func() { d.raw = tt.raw })
		}
		size, offers, err := n.Offers(t.Context(), fees.BlockTakes, func(string) bool { return false })
		if size != tt.size || (offers != nil) != tt.offers || (err != nil) != tt.fails {
			t.Errorf("%s: %d, %v, %v", tt.name, size, offers, err)
		}
		if size, err := n.Tracker.nodes[1].PoolSize(t.Context()); err != nil && size != 0 {
			t.Errorf("%s: %d beside %v", tt.name, size, err)
		}
		if tt.fails && (!errors.Is(err, ErrNoQuorum) || !strings.Contains(err.Error(), "not in the answer")) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
