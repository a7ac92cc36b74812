package mina

import (
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPollCost(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(400))
	d := n.nodes[0]
	poll := func(name string, want map[string]int) {
		t.Helper()
		clear(d.calls)
		n.Poll(t.Context())
		if diff := cmp.Diff(want, d.calls); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	poll("nothing watched", map[string]int{"daemonStatus": 1, "bestChain": 1})
	poll("no new block", map[string]int{"daemonStatus": 1, "bestChain": 1})
	for i := range 500 {
		w := watchA()
		w.Hashes, w.Nonce, w.Since, w.ValidUntil = []string{hashOf(fmt.Sprint(i))}, uint32(7+i), 1381, 0
		n.Watch(fmt.Sprint(i), w)
	}
	poll("history for new watches", map[string]int{"daemonStatus": 2, "bestChain": 2, "block": 2, "blocks": 20, "pooledZkappCommands": 3, "account": 1})
	poll("the same again", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	d.set(extend(d.blocks, 3, ""))
	poll("three blocks", map[string]int{"daemonStatus": 1, "bestChain": 1, "block": 1, "blocks": 3, "pooledZkappCommands": 3})
	d.set(extend(d.blocks, 20, ""))
	poll("many blocks", map[string]int{"daemonStatus": 1, "bestChain": 2, "block": 2, "blocks": 20, "pooledZkappCommands": 3})
	// The status tells of 11 new blocks, and then there are more: a gap.
	d.set(extend(d.blocks, window+1, ""))
	d.during = func(field string) {
		if field == "bestChain" && d.calls[field] == 2 {
			d.blocks, d.during = extend(d.blocks, window+1, ""), nil
		}
	}
	poll("more than the window", map[string]int{"daemonStatus": 1, "bestChain": 3, "block": 3, "blocks": 22, "pooledZkappCommands": 3})
	n.Watch("old", lifecycle.Watch{Payer: keyB, Since: 1})
	poll("beyond the node's memory", map[string]int{"daemonStatus": 2, "bestChain": 2, "block": 23, "blocks": 291 - 65, "pooledZkappCommands": 3, "account": 1})
	if s := n.Sighting("old"); s.Fate != lifecycle.FateAbsent || !s.Agreed {
		t.Errorf("without history, its nonce unspent: %+v", s)
	}
	poll("which is not asked again", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	n.Forget("old")
	poll("a payer let go", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	n.Watch("old", lifecycle.Watch{Payer: keyB, Since: 1381})
	poll("its nonce is still known", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	for i := range 500 {
		n.Forget(fmt.Sprint(i))
	}
	n.Forget("old")
	if n.Watching() != 0 {
		t.Errorf("%d watched", n.Watching())
	}
	d.set(extend(d.blocks, 2, ""))
	poll("nothing watched any more", map[string]int{"daemonStatus": 1, "bestChain": 1})
	if v := n.views[0]; len(v.links) > v.keep || len(v.read) > v.keep || len(v.ledger) > 0 {
		t.Errorf("%d links, %d blocks, %d accounts are kept", len(v.links), len(v.read), len(v.ledger))
	}
}

// TestSharedSlots: a simulated network may put many blocks into one slot.
func TestSharedSlots(t *testing.T) {
	t.Parallel()
	blocks := []Block{{Header: Header{StateHash: "3N-1", Height: 1}}}
	for len(blocks) < 40 {
		blocks = grow(blocks, "")
		blocks[len(blocks)-1].Slot /= 20
	}
	blocks[1].Commands = []Command{{Hash: hashOf("s"), Payer: keyA, Nonce: 7, Payment: true}}
	n := newNet(t, 1, blocks)
	w := watchA()
	w.Since, w.ValidUntil = 0, 0
	n.Watch("a", w)
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateDisplaced, Agreed: true, Depth: 39, Hash: hashOf("s"), Nonce: 7, Height: 2, StateHash: "3N-2"})
}

// TestBoundedMemory: a watch that is older than any history keeps no more than
// twice what a node remembers.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(10))
	n.nodes[0].k = 30
	n.Watch("a", lifecycle.Watch{Payer: keyA, Since: 1})
	for range 100 {
		n.nodes[0].set(extend(n.nodes[0].blocks, 3, ""))
		n.Poll(t.Context())
	}
	if v := n.views[0]; len(v.links) != 62 || len(v.read) != 62 {
		t.Errorf("%d links, %d blocks", len(v.links), len(v.read))
	}
}

// TestFrontier: a node holds k blocks and the one they stand on, if it says a sane k.
func TestFrontier(t *testing.T) {
	t.Parallel()
	for k, want := range map[uint32]int{0: 291, 1: window, 30: 31, 290: 291, 1 << 31: maxFrontier + 1} {
		v := &view{status: Status{K: k}}
		if got := v.frontier(); got != want {
			t.Errorf("k %d: %d blocks, want %d", k, got, want)
		}
	}
	v := &view{status: Status{K: 30}, links: []*link{{Header: Header{Height: 1000}}}}
	for height, want := range map[uint32]bool{1000: true, 970: true, 969: false, 1: false} {
		if got := v.holds(&link{Header: Header{Height: height}}); got != want {
			t.Errorf("block %d below 1000: %v", height, got)
		}
	}
}

// TestLetGo: a node that lets go of a block before it is asked for it, one at each question,
// has its vote back a few looks later: none is asked for again of which that is known.
func TestLetGo(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(40))
	d := n.nodes[0]
	d.k = 30
	d.during = func(field string) {
		if field == "block" {
			d.blocks = extend(d.blocks, 1, "")
		}
	}
	n.Watch("old", lifecycle.Watch{Payer: keyB, Since: 1})
	looks := 1
	for ; !n.Poll(t.Context()).Quorum && looks < 10; looks++ {
	}
	if looks < 2 || looks > 3 {
		t.Errorf("it took %d looks", looks)
	}
	if s := n.Sighting("old"); s.Fate == lifecycle.FateUnknown {
		t.Errorf("%+v", s)
	}
}

// TestFalseBlock: a block that is not the one of the chain costs the vote.
func TestFalseBlock(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(10))
	d := n.nodes[0]
	d.during = func(field string) {
		if d.raw = ""; field == "block" {
			d.raw = `{"data":{"k0":{"stateHash":"3N-110","transactions":{"zkappCommands":[],"userCommands":[]}}}}`
		}
	}
	w := watchA()
	w.Since = 1010 // the last of them
	n.Watch("a", w)
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateUnknown})
	if c := n.Chain(); c.Quorum || !strings.Contains(c.Err.Error(), "not the one of the best chain") {
		t.Errorf("chain %+v", c)
	}
}

// TestShortHistory: a node that cannot know is not taken for one that denies.
func TestShortHistory(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(10))
	n.nodes[2].blocks = chainOf(10)[6:]
	w := watchA()
	w.Nonce = 6 // spent, and one node cannot say by what
	n.Watch("a", w)
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateUnknown})
	w.Since = 1008
	n.Watch("a", w)
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
}

// TestLedgerAhead: what the ledger says when the chain has gone on meanwhile is not
// carried along, for that block may be orphaned before it is seen.
func TestLedgerAhead(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, base)
	d := n.nodes[0]
	d.pool, d.accounts[keyA] = []Command{commandA(t)}, 7
	d.during = func(field string) {
		if field == "account" {
			d.blocks, d.accounts[keyA], d.pool, d.during = grow(base, "", commandA(t)), 8, nil, nil
		}
	}
	n.Watch("a", watchA())
	n.Poll(t.Context())
	d.do(func() { d.blocks, d.accounts[keyA], d.pool = grow(base, "r"), 7, []Command{commandA(t)} })
	for range 2 {
		tip := d.blocks[len(d.blocks)-1].Slot
		n.see("a", lifecycle.Sighting{Fate: lifecycle.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: tip, AccountNext: 7})
		d.do(func() { d.blocks = extend(d.blocks, 2, "r") })
	}
}

func TestReorg(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, base)
	n.Watch("a", watchA())
	included := extend(grow(base, "", commandA(t)), 2, "")
	n.nodes[0].set(included)
	in := lifecycle.Sighting{Fate: lifecycle.FateIncluded, Agreed: true, Depth: 3, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1013}
	n.see("a", in)

	// A longer rival without the command, which went back to the pool while the
	// nodes were asked.
	rival := extend(base, 4, "r")
	n.nodes[0].set(rival)
	n.nodes[0].do(func() {
		n.nodes[0].during = func(field string) {
			if field == "bestChain" {
				n.nodes[0].pool = []Command{commandA(t)}
			}
		}
	})
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1014, AccountNext: 7})
	n.nodes[0].do(func() { n.nodes[0].pool, n.nodes[0].during = nil, nil })
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true, TipSlot: 1014, AccountNext: 7})
	n.nodes[0].set(extend(rival, 2, "r"))
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateExpired, Agreed: true, Depth: 2, Height: 115, StateHash: "3N-115r", TipSlot: 1016, AccountNext: 7})

	// Back again, deeper than a short best chain shows.
	n.nodes[0].set(extend(included, 9, ""))
	in.Depth, in.TipSlot = 12, 1022
	n.see("a", in)
	if got := n.nodes[0].calls["blocks"]; got != 6+3+6+9 {
		t.Errorf("%d blocks were read; each is read once", got)
	}
	// The whole chain replaced, from below what is known.
	n.nodes[0].set(extend(chainOf(1), 25, "q"))
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateExpired, Agreed: true, Depth: 12, Height: 115, StateHash: "3N-115q", TipSlot: 1026, AccountNext: 7})
}

// TestTwoRaces: twice, far apart, the ledger is read later than the blocks, and has the
// nonce spent by our own command in a block that is not read yet. That is no stranger,
// and least of all one who has been there since the first time.
func TestTwoRaces(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, base)
	d := n.nodes[0]
	race := func() { // the block comes between the question for the chain and that for the ledger
		d.do(func() {
			d.pool, d.accounts[keyA] = []Command{commandA(t)}, 7
			d.during = func(field string) {
				if field == "account" {
					d.blocks, d.accounts[keyA], d.pool, d.during = grow(d.blocks, "", commandA(t)), 8, nil, nil
				}
			}
		})
		n.Tracker.views[0].ledger = nil // its minute is over
		n.Poll(t.Context())
		if s := n.Sighting("a"); s.Fate != lifecycle.FatePooled {
			t.Errorf("at a race: %+v", s)
		}
	}
	w := watchA()
	w.ValidUntil = 0
	n.Watch("a", w)
	race()
	// That block is orphaned, and the command waits again, for long.
	d.do(func() { d.blocks, d.accounts[keyA], d.pool = extend(base, 20, "r"), 7, []Command{commandA(t)} })
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1030, AccountNext: 7})
	race()
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 131, StateHash: "3N-131", TipSlot: 1031})
}

// TestNoticedAnew: a nonce that was spent unseen, and is so no longer, is noticed anew
// when it is spent again: the depth counts from there.
func TestNoticedAnew(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, base)
	d := n.nodes[0]
	w := watchA()
	w.ValidUntil, w.Nonce = 0, 6
	n.Watch("a", w)
	n.Poll(t.Context())
	displaced := lifecycle.Sighting{Fate: lifecycle.FateDisplaced, Agreed: true, Depth: 1, Height: 111, StateHash: "3N-111", TipSlot: 1011}
	d.do(func() { d.blocks = extend(base, 1, "") })
	n.see("a", displaced)
	// The block that spent it goes, with all that is above the one where it was noticed.
	d.do(func() { d.blocks, d.accounts[keyA] = extend(base, 9, "r"), 6 })
	n.Tracker.views[0].ledger = nil // its minute is over
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true, TipSlot: 1019, AccountNext: 6})
	d.do(func() { d.blocks, d.accounts[keyA] = extend(d.blocks, 10, "r"), 7 })
	n.Tracker.views[0].ledger = nil
	n.see("a", lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true, TipSlot: 1029, AccountNext: 7})
	d.do(func() { d.blocks = extend(d.blocks, 2, "r") })
	displaced.Depth, displaced.Height, displaced.StateHash, displaced.TipSlot = 2, 130, "3N-130r", 1031
	n.see("a", displaced)
}
