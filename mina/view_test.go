package mina

import (
	"fmt"
	"mina-sequencer/sequencer/tx"
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
	for i := range 2*chunk + 1 {
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
	n.Watch("old", tx.Watch{Payer: keyB, Since: 1})
	poll("beyond the node's memory", map[string]int{"daemonStatus": 2, "bestChain": 2, "block": 23, "blocks": 291 - 65, "pooledZkappCommands": 3, "account": 1})
	if s := n.Sighting("old"); s.Fate != tx.FateAbsent || !s.Agreed {
		t.Errorf("without history, its nonce unspent: %+v", s)
	}
	poll("which is not asked again", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	n.Forget("old")
	poll("a payer let go", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	n.Watch("old", tx.Watch{Payer: keyB, Since: 1381})
	poll("its nonce is still known", map[string]int{"daemonStatus": 1, "bestChain": 1, "pooledZkappCommands": 3})
	for i := range 2*chunk + 1 {
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
	n.see("a", tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 39, Hash: hashOf("s"), Nonce: 7, Height: 2, StateHash: "3N-2"})
}

// TestBoundedMemory: a watch that is older than any history keeps no more than
// twice what a node remembers.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(10))
	n.nodes[0].k = 30
	n.Watch("a", tx.Watch{Payer: keyA, Since: 1})
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
	n.Watch("old", tx.Watch{Payer: keyB, Since: 1})
	looks := 1
	for ; !n.Poll(t.Context()).Quorum && looks < 10; looks++ {
	}
	if looks < 2 || looks > 3 {
		t.Errorf("it took %d looks", looks)
	}
	if s := n.Sighting("old"); s.Fate == tx.FateUnknown {
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
	n.see("a", tx.Sighting{Fate: tx.FateUnknown})
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
	n.see("a", tx.Sighting{Fate: tx.FateUnknown})
	w.Since = 1008
	n.Watch("a", w)
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
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
		n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: tip, AccountNext: 7})
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
	in := tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 3, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1013}
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
	n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1014, AccountNext: 7})
	n.nodes[0].do(func() { n.nodes[0].pool, n.nodes[0].during = nil, nil })
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1014, AccountNext: 7})
	n.nodes[0].set(extend(rival, 2, "r"))
	n.see("a", tx.Sighting{Fate: tx.FateExpired, Agreed: true, Depth: 2, Height: 115, StateHash: "3N-115r", TipSlot: 1016, AccountNext: 7})

	// Back again, deeper than a short best chain shows.
	n.nodes[0].set(extend(included, 9, ""))
	in.Depth, in.TipSlot = 12, 1022
	n.see("a", in)
	if got := n.nodes[0].calls["blocks"]; got != 6+3+6+9 {
		t.Errorf("%d blocks were read; each is read once", got)
	}
	// The whole chain replaced, from below what is known.
	n.nodes[0].set(extend(chainOf(1), 25, "q"))
	n.see("a", tx.Sighting{Fate: tx.FateExpired, Agreed: true, Depth: 12, Height: 115, StateHash: "3N-115q", TipSlot: 1026, AccountNext: 7})
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
		if s := n.Sighting("a"); s.Fate != tx.FatePooled {
			t.Errorf("at a race: %+v", s)
		}
	}
	w := watchA()
	w.ValidUntil = 0
	n.Watch("a", w)
	race()
	// That block is orphaned, and the command waits again, for long.
	d.do(func() { d.blocks, d.accounts[keyA], d.pool = extend(base, 20, "r"), 7, []Command{commandA(t)} })
	n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1030, AccountNext: 7})
	race()
	n.see("a", tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 131, StateHash: "3N-131", TipSlot: 1031})
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
	displaced := tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 1, Height: 111, StateHash: "3N-111", TipSlot: 1011}
	d.do(func() { d.blocks = extend(base, 1, "") })
	n.see("a", displaced)
	// The block that spent it goes, with all that is above the one where it was noticed.
	d.do(func() { d.blocks, d.accounts[keyA] = extend(base, 9, "r"), 6 })
	n.Tracker.views[0].ledger = nil // its minute is over
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1019, AccountNext: 6})
	d.do(func() { d.blocks, d.accounts[keyA] = extend(d.blocks, 10, "r"), 7 })
	n.Tracker.views[0].ledger = nil
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1029, AccountNext: 7})
	d.do(func() { d.blocks = extend(d.blocks, 2, "r") })
	displaced.Depth, displaced.Height, displaced.StateHash, displaced.TipSlot = 2, 130, "3N-130r", 1031
	n.see("a", displaced)
}

// viewOf is a view of one chain, all of whose blocks are read.
func viewOf(blocks []Block) *view {
	v := &view{node: &Node{name: "node"}, read: map[string]*link{}, landed: map[string][]landed{}, status: Status{K: 290}}
	v.adopt(headersOf(blocks))
	for i, l := range v.links {
		if err := v.learn(l, blocks[i]); err != nil {
			panic(err)
		}
	}
	return v
}

func headersOf(blocks []Block) []Header {
	headers := make([]Header, len(blocks))
	for i, b := range blocks {
		headers[i] = b.Header
	}
	return headers
}

// TestAdopt: what a node answers continues the chain known, or replaces its upper end, or
// all of it; of that nothing is lost that is still so, and nothing kept that is not.
func TestAdopt(t *testing.T) {
	t.Parallel()
	chain := chainOf(30)                 // 101 to 130
	rival := extend(chain[:15], 20, "r") // 101 to 115, 116r to 135r
	deep := extend(chain[:5], 30, "q")   // 101 to 105, 106q to 135q
	for _, tt := range []struct {
		name        string
		known, told []Block
		joins       bool
		first       string
		length      int
		orphaned    uint64
	}{
		{"the first", nil, chain[10:20], true, "3N-111", 10, 0},
		{"continued", chain[:10], chain[10:20], true, "3N-101", 20, 0},
		{"continued from one block", chain[9:10], chain[10:20], true, "3N-110", 11, 0},
		{"overlapping", chain[:10], chain[5:12], true, "3N-101", 12, 0},
		{"the same", chain[5:10], chain[5:10], true, "3N-106", 5, 0},
		{"a gap", chain[:10], chain[11:20], false, "3N-112", 9, 0},
		{"another chain above", chain[:16], rival[16:20], false, "3N-117r", 4, 0},
		{"another upper end", chain[:20], rival[15:22], true, "3N-101", 22, 5},
		{"another upper end, overlapping", chain[:20], rival[12:22], true, "3N-101", 22, 5},
		{"from below", chain[10:20], chain[5:22], true, "3N-106", 17, 0},
		{"from below, as far as the first that is known", chain[10:20], chain[5:11], true, "3N-106", 6, 9},
		{"from below, not so far", chain[10:20], chain[5:10], false, "3N-106", 5, 10},
		{"another one from below", chain[10:20], deep[8:25], false, "3N-109q", 17, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := viewOf(tt.known)
			if got := v.joins(headersOf(tt.told)); got != tt.joins {
				t.Errorf("joins: %v", got)
			}
			v.moved = false
			reorged := v.adopt(headersOf(tt.told))
			if v.links[0].StateHash != tt.first || len(v.links) != tt.length || v.tip() != tt.told[len(tt.told)-1].Header {
				t.Errorf("%s to %s, %d blocks", v.links[0].StateHash, v.tip().StateHash, len(v.links))
			}
			if !v.moved || reorged != (tt.orphaned > 0) || v.orphaned != tt.orphaned || (v.reorgs == 1) != reorged {
				t.Errorf("moved %v, reorganised %v %d, %d orphaned", v.moved, reorged, v.reorgs, v.orphaned)
			}
			for i, l := range v.links {
				if i > 0 && !v.links[i-1].leadsTo(l.Header) {
					t.Errorf("%s does not lead to %s", v.links[i-1].StateHash, l.StateHash)
				}
				if known := v.read[l.StateHash] != nil; l.known != known {
					t.Errorf("%s: read %v, known %v", l.StateHash, known, l.known)
				}
			}
		})
	}
}

// TestLanded: the commands of the chain are known by payer and nonce, and no others: not
// those of blocks that are orphaned, or let go of; those of one that comes back are again.
func TestLanded(t *testing.T) {
	t.Parallel()
	of := func(payer string, nonce uint32) Command {
		return Command{Hash: hashOf(fmt.Sprint(payer, nonce)), Payer: payer, Nonce: nonce}
	}
	chain := grow(chainOf(10), "", of(keyA, 8), of(keyA, 7), of(keyB, 1))
	chain = extend(grow(chain, "", of(keyA, 9)), 2, "")
	check := func(v *view, what string, payer string, want ...uint32) {
		t.Helper()
		var got []uint32
		for _, x := range v.landed[payer] {
			got = append(got, x.Nonce)
			if v.at(x.in.Height) < 0 || v.links[v.at(x.in.Height)] != x.in {
				t.Errorf("%s: nonce %d is in %s", what, x.Nonce, x.in.StateHash)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	v := viewOf(chain)
	check(v, "all", keyA, 7, 8, 9)
	check(v, "all", keyB, 1)
	v.adopt(headersOf(extend(chain[:11], 4, "r")))
	check(v, "one block orphaned", keyA, 7, 8)
	v.adopt(headersOf(extend(chain[:10], 6, "q")))
	check(v, "both", keyA)
	if len(v.landed) != 0 {
		t.Errorf("of nobody: %v", v.landed)
	}
	v.adopt(headersOf(chain))
	check(v, "back again", keyA, 7, 8, 9)
	v = viewOf(extend(chain, 30, ""))
	v.keep = 5
	v.prune(chain[11].Slot + 1)
	check(v, "the first let go of", keyA, 9)
	if v.links[0].StateHash != chain[11].StateHash || v.whole || len(v.landed) != 1 {
		t.Errorf("from %s on: %v", v.links[0].StateHash, v.landed)
	}
	for hash, l := range v.read {
		if l.Height < v.links[0].Height {
			t.Errorf("%s is kept", hash)
		}
	}
}

// TestCover: from which slot on a view has read every block.
func TestCover(t *testing.T) {
	t.Parallel()
	genesis := chainOf(3)
	for i := range genesis {
		genesis[i].Height, genesis[i].Slot = uint32(1+i), uint32(i)
	}
	for _, tt := range []struct {
		name   string
		blocks []Block
		unread int // of them, -1 for none
		want   uint32
	}{
		{"all that are known", chainOf(10), -1, 1002},
		{"but for one", chainOf(10), 4, 1006},
		{"but for the last", chainOf(10), 9, 1011},
		{"from the genesis block on", genesis, -1, 0},
		{"from the one after it", genesis[1:], -1, 2},
		{"but for the genesis block", genesis, 0, 1},
	} {
		v := viewOf(tt.blocks)
		if tt.unread >= 0 {
			v.links[tt.unread].known = false
		}
		if got := v.coverFrom(); got != tt.want {
			t.Errorf("%s: from slot %d on, want %d", tt.name, got, tt.want)
		}
	}
}

// TestPoolAfterReorg: what fell out of a block may have gone back to the pool: a node that
// does not tell has no vote, and is not taken for one that has it nowhere.
func TestPoolAfterReorg(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, grow(base, "", commandA(t)))
	n.Watch("a", watchA())
	n.Poll(t.Context())
	d := n.nodes[0]
	d.do(func() {
		d.blocks, d.pool = extend(base, 2, "r"), []Command{commandA(t)}
		clear(d.calls)
		d.during = func(field string) {
			if d.status = 0; field == "pooledZkappCommands" && d.calls["bestChain"] > 0 {
				d.status = 503
			}
		}
	})
	n.see("a", tx.Sighting{Fate: tx.FateUnknown})
	d.do(func() { d.status, d.during = 0, nil })
	n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1012, AccountNext: 7})
}

// TestPoolAfterDeepReorg: the pool is asked for again after any reorganisation: one that is
// deeper than the first question shows, and one that is seen while older blocks are asked for.
func TestPoolAfterDeepReorg(t *testing.T) {
	t.Parallel()
	base := chainOf(30)
	for name, older := range map[string]bool{"deep": false, "beside older blocks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fork := 5
			if older {
				fork = 28
			}
			n := newNet(t, 1, extend(grow(base[:fork], "", commandA(t)), 29-fork, ""))
			d := n.nodes[0]
			w := watchA()
			if w.ValidUntil = 0; older {
				w.Since = 1027
			}
			n.Watch("a", w)
			n.Poll(t.Context())
			if s := n.Sighting("a"); s.Fate != tx.FateIncluded {
				t.Fatalf("%+v", s)
			}
			if older {
				n.Watch("old", tx.Watch{Payer: keyB, Since: 1003})
			}
			d.do(func() {
				d.blocks = extend(base[:fork], 30-fork+1, "r")
				d.during = func(field string) {
					if field == "bestChain" {
						d.pool = []Command{commandA(t)}
					}
				}
			})
			n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1031, AccountNext: 7})
		})
	}
}

// TestPruneNothing: what has nothing to let go of still knows that there is nothing older.
func TestPruneNothing(t *testing.T) {
	t.Parallel()
	v := viewOf(chainOf(10))
	v.keep, v.whole = 10, true
	if v.prune(2000); len(v.links) != 10 || !v.whole {
		t.Errorf("%d links, whole %v", len(v.links), v.whole)
	}
	v.keep = 9
	if v.prune(2000); len(v.links) != 9 || v.whole {
		t.Errorf("%d links, whole %v", len(v.links), v.whole)
	}
}

// TestHistoryUnanswered: a node that does not tell its older blocks, or those since it was
// asked last, has no vote until it does.
func TestHistoryUnanswered(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(40))
	d := n.nodes[0]
	n.Watch("a", watchA())
	for _, what := range []string{"older ones", "newer ones"} {
		d.do(func() {
			clear(d.calls)
			d.during = func(field string) {
				if field == "bestChain" && d.calls[field] == 2 {
					d.status = 503
				}
			}
		})
		if c := n.Poll(t.Context()); c.Quorum {
			t.Errorf("%s: %+v", what, c)
		}
		d.do(func() { d.status, d.during = 0, nil })
		if c := n.Poll(t.Context()); !c.Quorum {
			t.Errorf("%s: %v", what, c.Err)
		}
		d.set(extend(d.blocks, 2*window, ""))
	}
}

// TestOneBlock: a network that has just begun has one.
func TestOneBlock(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(1))
	if c := n.Poll(t.Context()); !c.Quorum || c.Slot != 1001 {
		t.Errorf("%+v", c)
	}
}

// TestManyPayers: questions name each payer once, and no more of them than they may.
func TestManyPayers(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, chainOf(10))
	for i := range chunk + 1 {
		payer := EncodeCheck(VersionPublicKey, fmt.Appendf(nil, "%035d", i))
		for _, nonce := range []uint32{7, 8, 9, 10} {
			n.Watch(fmt.Sprint(i, nonce), tx.Watch{Payer: payer, Nonce: nonce, Since: 1005, Legacy: true})
		}
	}
	n.Poll(t.Context())
	if d := n.nodes[0]; d.calls["pooledZkappCommands"] != 2 || d.calls["account"] != 2 {
		t.Errorf("%v", d.calls)
	}
}

// TestBackAndForth: where a chain gives way to one that was read before, a settled sighting
// is made anew.
func TestBackAndForth(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	one := extend(grow(base, "", commandA(t)), 3, "")
	other := extend(grow(base, "r", commandA(t)), 3, "r")
	n := newNet(t, 1, one)
	n.Watch("a", watchA())
	for _, chain := range [][]Block{one, other, one, other} {
		n.nodes[0].set(chain)
		n.see("a", tx.Sighting{
			Fate: tx.FateIncluded, Agreed: true, Depth: 4, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: chain[10].StateHash, TipSlot: 1014,
		})
	}
}

// TestMovedUnheard: what moved in a look that failed has moved for the next one, too. Here a
// node leaves the chain of the others, for blocks that it has told before.
func TestMovedUnheard(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	one, other := extend(grow(base, "", commandA(t)), 3, ""), extend(grow(base, "r", commandA(t)), 3, "r")
	n := newNet(t, 3, base)
	n.Watch("a", watchA())
	n.Watch("b", tx.Watch{Payer: keyB, Hashes: []string{hashOf("b")}, Since: 1005}) // for which there is something to ask
	for _, chain := range [][]Block{other, one} {
		n.Poll(t.Context())
		for _, d := range n.nodes {
			d.set(chain)
		}
	}
	in := tx.Sighting{
		Fate: tx.FateIncluded, Agreed: true, Depth: 4, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1014,
	}
	n.see("a", in)
	d := n.nodes[2]
	d.set(other)
	d.do(func() {
		d.during = func(field string) {
			if field == "bestChain" { // and what comes behind it is not answered
				d.during = func(string) { d.status = 503 }
			}
		}
	})
	n.see("a", in) // by the two others
	d.do(func() { d.status, d.during = 0, nil })
	in.Agreed, in.Depth = false, 0
	n.see("a", in)
}
