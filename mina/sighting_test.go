package mina

import (
	"fmt"
	"mina-sequencer/sequencer/tx"
	"testing"
	"testing/synctest"
	"time"
)

// TestSighting puts one command, or none, in a block and tells what a single
// node makes of it.
func TestSighting(t *testing.T) {
	t.Parallel()
	memo := func(text string) func(*Command) {
		return func(c *Command) { c.Hash, c.Memo = hashOf("x"), memoOf(t, text) }
	}
	digest := make([]byte, 34)
	for _, tt := range []struct {
		name    string
		watch   func(*tx.Watch)
		command func(*Command) // nil: none
		more    int            // blocks on top
		want    tx.Sighting
	}{
		{"included", nil, func(*Command) {}, 2, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 3, Hash: hashOf("a"), Nonce: 7, TipSlot: 1013}},
		{"failed", nil, func(c *Command) { c.Failures = []Failure{{1, []string{"Predicate"}}} }, 0, tx.Sighting{
			Fate: tx.FateFailed, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, TipSlot: 1011, Failure: tx.Failure{Code: "Predicate", Reasons: "[{1 [Predicate]}]"},
		}},
		{"ours by memo", nil, memo("ours"), 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("x"), Nonce: 7, TipSlot: 1011}},
		{"a stranger's by memo", nil, memo("other"), 1, tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 2, Hash: hashOf("x"), Nonce: 7, TipSlot: 1012}},
		{"memo unclear", nil, func(c *Command) { c.Hash, c.Memo = hashOf("x"), EncodeCheck(VersionMemo, digest) }, 1, tx.Sighting{Fate: tx.FateUnknown}},
		{"no memo at all", nil, func(c *Command) { c.Hash, c.Memo = hashOf("x"), "" }, 1, tx.Sighting{Fate: tx.FateUnknown}},
		{"a payment", nil, func(c *Command) { c.Payment = true }, 1, tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 2, Hash: hashOf("a"), Nonce: 7, TipSlot: 1012}},
		{"nonce of before", nil, func(c *Command) { c.Nonce = 6 }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 7}},
		{"hash at another nonce", nil, func(c *Command) { c.Nonce = 8 }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 9}},
		{"another payer", nil, func(c *Command) { c.Payer = keyB }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 7}},
		{"last slot of validity", nil, nil, 4, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1014, AccountNext: 7}},
		{"expired", nil, nil, 7, tx.Sighting{Fate: tx.FateExpired, Agreed: true, Depth: 3, TipSlot: 1017, AccountNext: 7}},
		{"never expires", func(w *tx.Watch) { w.ValidUntil = 0 }, nil, 7, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1017, AccountNext: 7}},
		{"nonce spent unseen", func(w *tx.Watch) { w.Nonce = 6 }, nil, 7, tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 7, TipSlot: 1017}},
		{"nonce spent unseen, just noticed", func(w *tx.Watch) { w.Nonce = 6 }, nil, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7}},
		{"included and past validity", nil, func(*Command) {}, 9, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 10, Hash: hashOf("a"), Nonce: 7, TipSlot: 1020}},
		{"no history, unspent", func(w *tx.Watch) { w.Since = 1000 }, nil, 2, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1012, AccountNext: 7}},
		{"no history, expired", func(w *tx.Watch) { w.Since = 1000 }, nil, 7, tx.Sighting{Fate: tx.FateExpired, Agreed: true, Depth: 3, TipSlot: 1017, AccountNext: 7}},
		{"no history, spent", func(w *tx.Watch) { w.Since, w.Nonce = 1000, 6 }, nil, 7, tx.Sighting{Fate: tx.FateUnknown, Pruned: true}},
		{"no history, displaced", func(w *tx.Watch) { w.Since = 1000 }, memo("other"), 7, tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 8, Hash: hashOf("x"), Nonce: 7, TipSlot: 1018}},
		{"no history, legacy spent", func(w *tx.Watch) { w.Since, w.Nonce, w.Legacy = 1000, 6, true }, nil, 7, tx.Sighting{Fate: tx.FateUnknown, Pruned: true}},
		{"no history, legacy unspent", func(w *tx.Watch) { w.Since, w.Legacy = 1000, true }, nil, 7, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1017, AccountNext: 7}},
		{"no history, included", func(w *tx.Watch) { w.Since = 1000 }, func(*Command) {}, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, TipSlot: 1011}},
		{"not quite enough history, spent", func(w *tx.Watch) { w.Since, w.Nonce = 1001, 6 }, nil, 7, tx.Sighting{Fate: tx.FateUnknown, Pruned: true}},
		{"just enough history, spent", func(w *tx.Watch) { w.Since, w.Nonce = 1002, 6 }, nil, 7, tx.Sighting{Fate: tx.FateDisplaced, Agreed: true, Depth: 7, TipSlot: 1017}},
		{"no account key", func(w *tx.Watch) { w.Payer = "nobody" }, nil, 7, tx.Sighting{Fate: tx.FateUnknown}},
		{"no account", func(w *tx.Watch) { w.Payer = offX2 }, nil, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010}},
		{"legacy at the nonce", func(w *tx.Watch) { w.Legacy = true }, memo("other"), 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("x"), Nonce: 7, TipSlot: 1011}},
		{"legacy above the nonce", func(w *tx.Watch) { w.Legacy = true }, func(c *Command) { c.Hash, c.Nonce = hashOf("x"), 9 }, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("x"), Nonce: 9, TipSlot: 1011}},
		{"legacy below the nonce", func(w *tx.Watch) { w.Legacy = true }, func(c *Command) { c.Hash, c.Nonce = hashOf("x"), 6 }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 7}},
		{"legacy by hash", func(w *tx.Watch) { w.Legacy = true }, func(c *Command) { c.Nonce = 5 }, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 5, TipSlot: 1011}},
		{"legacy by an old hash", func(w *tx.Watch) { w.Legacy, w.Since = true, 1012 }, func(c *Command) { c.Nonce = 5 }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 7}},
		{"legacy by an old hash, of the tip", func(w *tx.Watch) { w.Legacy, w.Since = true, 1011 }, func(c *Command) { c.Nonce = 6 }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 7}},
		{"legacy by hash, in a rival of the tip", func(w *tx.Watch) { w.Legacy, w.Since = true, 1011 }, func(*Command) {}, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, TipSlot: 1011}},
		{"legacy, found, in a rival of the tip", func(w *tx.Watch) { w.Legacy, w.Found, w.Since = true, true, 1011 }, func(*Command) {}, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, TipSlot: 1011}},
		{"legacy, found, and gone", func(w *tx.Watch) { w.Legacy, w.Found = true, true }, memo("ours"), 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 8}},
		{"legacy, found by hash", func(w *tx.Watch) { w.Legacy, w.Found = true, true }, func(c *Command) { c.Nonce = 9 }, 0, tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 9, TipSlot: 1011}},
		{"legacy and a payment", func(w *tx.Watch) { w.Legacy = true }, func(c *Command) { c.Payment = true }, 0, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 8}},
		{"legacy never expires", func(w *tx.Watch) { w.Legacy = true }, nil, 7, tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1017, AccountNext: 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNet(t, 1, chainOf(10))
			w := watchA()
			if tt.watch != nil {
				tt.watch(&w)
			}
			n.Watch("a", w)
			n.Poll(t.Context())
			blocks := chainOf(10)
			if tt.command != nil {
				c := commandA(t)
				tt.command(&c)
				blocks = grow(blocks, "", c)
			}
			n.nodes[0].set(extend(blocks, tt.more, ""))
			if tt.want.Depth > 0 {
				tt.want.Height = 110 + uint32(tt.more+1)
				if tt.want.Height -= uint32(tt.want.Depth - 1); tt.command == nil && tt.want.Fate == tx.FateExpired {
					tt.want.Height = 115 // of the first slot past 1014
				}
				if tt.command == nil && tt.want.Fate == tx.FateDisplaced {
					tt.want.Height = 111 // behind the tip at which it was noticed
				}
				tt.want.StateHash = fmt.Sprintf("3N-%d", tt.want.Height)
			}
			n.see("a", tt.want)
		})
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(10))
	n.Watch("a", watchA())
	legacy := tx.Watch{Payer: keyB, Nonce: 0, Since: 1005, Legacy: true}
	n.Watch("l", legacy)
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
	n.see("l", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010})

	strange := Command{Hash: hashOf("s"), Payer: keyB, Nonce: 3}
	n.nodes[1].do(func() { n.nodes[1].pool = []Command{commandA(t), strange} })
	n.see("a", tx.Sighting{Fate: tx.FatePooled, Hash: hashOf("a"), Nonce: 7, TipSlot: 1010})
	n.see("l", tx.Sighting{Fate: tx.FatePooled, Hash: hashOf("s"), Nonce: 3, TipSlot: 1010})
	legacy.Hashes, legacy.Found = []string{hashOf("t")}, true
	n.Watch("l", legacy)
	n.see("l", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010})
	legacy.Hashes, legacy.Found = nil, false
	n.Watch("l", legacy)
	for _, d := range n.nodes {
		d.do(func() { d.pool = []Command{commandA(t)} })
	}
	n.see("a", tx.Sighting{Fate: tx.FatePooled, Agreed: true, Hash: hashOf("a"), Nonce: 7, TipSlot: 1010, AccountNext: 7})

	// From the pool into a block between two questions: never in neither.
	for _, d := range n.nodes {
		d.do(func() {
			d.during = func(field string) {
				if field == "daemonStatus" && len(d.pool) > 0 {
					d.pool, d.blocks = nil, grow(d.blocks, "", commandA(t))
				}
			}
		})
	}
	n.see("a", tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011})
}

func TestWatchReplaced(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, grow(chainOf(10), "", commandA(t)))
	if s := n.Sighting("a"); s.Fate != tx.FateUnknown {
		t.Errorf("not watched: %+v", s)
	}
	n.Watch("a", watchA())
	if s := n.Sighting("a"); s.Fate != tx.FateUnknown {
		t.Errorf("before the poll: %+v", s)
	}
	n.Poll(t.Context())
	n.Watch("a", watchA())
	if s := n.Sighting("a"); s.Fate != tx.FateIncluded {
		t.Errorf("the same watch: %+v", s)
	}
	w := watchA()
	w.Nonce = 8
	n.Watch("a", w)
	if s := n.Sighting("a"); s.Fate != tx.FateUnknown {
		t.Errorf("another nonce has the old one's sighting: %+v", s)
	}
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 8})
}

// TestLedgerRead keeps an account's nonce right while it is not asked for at
// each block.
func TestLedgerRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 1, chainOf(10))
		d := n.nodes[0]
		w := watchA()
		w.Nonce, w.ValidUntil = 9, 0
		n.Watch("a", w)
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
		c := commandA(t)
		c.Hash = hashOf("b")
		d.accounts[keyA] = 20 // by somebody else's account update
		base := d.blocks
		d.set(grow(base, "", c))
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 8})
		next := c
		next.Hash, next.Nonce = hashOf("c"), 8
		d.set(grow(d.blocks, "", next)) // the latest of several
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1012, AccountNext: 9})
		d.set(extend(base, 3, "r"))
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1013, AccountNext: 7})
		<-time.After(ledgerLife)
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1013, AccountNext: 20})

		// Blocks that no watch needed were not read, and may hold a command.
		n.nodes[0].set(extend(grow(d.blocks, "", Command{Hash: hashOf("u"), Payer: keyA, Nonce: 20}), 3, ""))
		d.accounts[keyA] = 21
		w.Since = 1015 // all but the one right above the ledger that was asked
		n.Watch("a", w)
		n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1017, AccountNext: 21})
	})
}

// TestLedgerOfTip asks for the nonce anew where the chain it was read on is
// gone, and where giving up a nonce hangs on it.
func TestLedgerOfTip(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	n := newNet(t, 1, grow(base, ""))
	d := n.nodes[0]
	d.accounts[keyA] = 8
	n.Watch("a", watchA())
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1011, AccountNext: 8})
	d.accounts[keyA] = 7
	d.set(extend(base, 2, "r"))
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1012, AccountNext: 7})
	d.accounts[keyA] = 8
	d.set(extend(base, 6, "r"))
	n.see("a", tx.Sighting{Fate: tx.FateAbsent, Agreed: true, TipSlot: 1016, AccountNext: 8})
	d.accounts[keyA] = 7
	d.set(extend(base, 5, "r")) // its last block is gone, and none in its place yet
	n.see("a", tx.Sighting{
		Fate: tx.FateExpired, Agreed: true, Depth: 1, Height: 115, StateHash: "3N-115r", TipSlot: 1015, AccountNext: 7,
	})
}
