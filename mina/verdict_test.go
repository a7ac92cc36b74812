package mina

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/tx"
)

// TestMerge holds the word of up to three nodes, of every kind, late or not, against what the
// package promises of a sighting, told here anew.
func TestMerge(t *testing.T) {
	t.Parallel()
	inA, inB := Header{StateHash: "A", Height: 101}, Header{StateHash: "B", Height: 102}
	a, b := &Command{Hash: "a", Nonce: 7}, &Command{Hash: "b", Nonce: 7}
	failed := &Command{Hash: "f", Nonce: 7, Failed: true, Failures: []Failure{{1, []string{"Predicate"}}}}
	kinds := []verdict{
		{fate: tx.FateUnknown},
		{fate: tx.FateUnknown, passed: true},
		{fate: tx.FateIncluded, command: a, in: inA},
		{fate: tx.FateIncluded, command: a, in: inB},
		{fate: tx.FateIncluded, command: b, in: inA},
		{fate: tx.FateFailed, command: failed, in: inA},
		{fate: tx.FateDisplaced, command: b, in: inA},
		{fate: tx.FateDisplaced, in: inA},
		{fate: tx.FateDisplaced, in: inB},
		{fate: tx.FateExpired, in: inA},
		{fate: tx.FateExpired, in: inB},
		{fate: tx.FateAbsent},
		{fate: tx.FatePooled, command: a},
		{fate: tx.FatePooled, command: b},
	}
	var all []verdict
	for _, d := range kinds {
		late := d
		late.late = true
		all = append(all, d, late)
	}
	check := func(words ...verdict) {
		words = slices.Clone(words)
		for i := range words {
			// The first has the highest tip, the second the lowest, the third what is between.
			words[i].tip = Header{Height: 110 - []uint32{0, 2, 1}[i], Slot: 1010 - []uint32{0, 4, 2}[i]}
			words[i].next = []uint32{8, 7, 9}[i]
		}
		for _, quorum := range []bool{false, true} {
			if quorum && !slices.ContainsFunc(words, func(d verdict) bool { return !d.late }) {
				continue // those of a quorum are prompt
			}
			if diff := cmp.Diff(sighted(words, quorum), merge(slices.Clone(words), quorum)); diff != "" {
				t.Fatalf("quorum %v, %s (-want +got):\n%s", quorum, told(words), diff)
			}
		}
	}
	check()
	for _, x := range all {
		check(x)
		for _, y := range all {
			check(x, y)
			for _, z := range all {
				check(x, y, z)
			}
		}
	}
}

// sighted is what the package comment promises of the words of nodes.
func sighted(words []verdict, quorum bool) (s tx.Sighting) {
	with := func(fates ...tx.Fate) func(verdict) bool {
		return func(d verdict) bool { return slices.Contains(fates, d.fate) }
	}
	every := func(words []verdict, f func(verdict) bool) bool {
		return !slices.ContainsFunc(words, func(d verdict) bool { return !f(d) })
	}
	some := func(f func(verdict) bool) *verdict {
		if i := slices.IndexFunc(words, f); i >= 0 {
			return &words[i]
		}
		return nil
	}
	s.Fate = tx.FateUnknown
	if len(words) == 0 {
		return s
	}
	if quorum && every(words, func(d verdict) bool { return d.passed }) {
		s.Pruned = true
		return s
	}
	prompt := slices.DeleteFunc(slices.Clone(words), func(d verdict) bool { return d.late })
	if quorum && every(prompt, with(tx.FateIncluded)) {
		quiet := with(tx.FateUnknown, tx.FateAbsent, tx.FatePooled)
		words = slices.DeleteFunc(slices.Clone(words), func(d verdict) bool { return d.late && quiet(d) })
	}
	agree := func(x verdict) func(verdict) bool {
		switch x.fate {
		case tx.FateAbsent, tx.FateExpired: // what has expired is absent
			return with(tx.FateAbsent, tx.FateExpired)
		case tx.FatePooled:
			return with(tx.FatePooled)
		default:
			return func(d verdict) bool {
				alike := d.fate == x.fate && (d.command == nil) == (x.command == nil)
				if alike && d.command == nil { // nobody knows the block that did it
					return d.fate == tx.FateDisplaced
				}
				return alike && d.in == x.in && d.command.Hash == x.command.Hash
			}
		}
	}
	var counted []verdict
	var lead verdict
	if quorum && every(words, agree(words[0])) {
		s.Agreed, lead, counted = true, words[0], words
		if !every(words, with(lead.fate)) {
			lead = verdict{fate: tx.FateAbsent}
		}
		if with(tx.FateIncluded, tx.FateFailed, tx.FateDisplaced, tx.FateExpired)(lead) {
			s.Depth = math.MaxInt
			for _, d := range words {
				if depth := int(d.tip.Height) - int(d.in.Height) + 1; depth < s.Depth {
					s.Depth, lead.in = depth, d.in
				}
			}
		} else {
			lead.in = Header{}
		}
	} else {
		var first *verdict
		for _, fate := range []tx.Fate{tx.FatePooled, tx.FateFailed, tx.FateIncluded} {
			if d := some(with(fate)); d != nil {
				first = d
			}
		}
		if first == nil {
			return s
		}
		lead = *first
		counted = slices.DeleteFunc(slices.Clone(words), func(d verdict) bool { return d.fate != lead.fate })
	}
	s.Fate, s.Height, s.StateHash, s.TipSlot = lead.fate, lead.in.Height, lead.in.StateHash, math.MaxUint32
	if lead.command != nil {
		s.Hash, s.Nonce, s.Failure = lead.command.Hash, lead.command.Nonce, lead.command.failure()
	}
	for _, d := range counted {
		s.TipSlot = min(s.TipSlot, d.tip.Slot)
		if s.Agreed && with(tx.FateAbsent, tx.FatePooled, tx.FateExpired)(lead) {
			s.AccountNext = max(s.AccountNext, d.next)
		}
	}
	return s
}

func told(words []verdict) (text string) {
	for _, d := range words {
		text += fmt.Sprintf("[%v command %v in %s late %v passed %v] ", d.fate, d.command, d.in.StateHash, d.late, d.passed)
	}
	return text
}

// TestFindPooled: by a hash that is known before any other, whatever its nonce; a legacy
// worker's first one from the nonce on, unless one is known to be it.
func TestFindPooled(t *testing.T) {
	t.Parallel()
	of := func(label string, nonce uint32) Command {
		return Command{Hash: hashOf(label), Payer: keyA, Nonce: nonce}
	}
	pool := []Command{of("five", 5), of("seven", 7), of("eight", 8)}
	for _, tt := range []struct {
		name  string
		watch tx.Watch
		want  string
	}{
		{"by the nonce", tx.Watch{Nonce: 7, Legacy: true}, "seven"},
		{"above the nonce", tx.Watch{Nonce: 6, Legacy: true}, "seven"},
		{"by a hash below the nonce", tx.Watch{Nonce: 7, Legacy: true, Hashes: []string{hashOf("five")}}, "five"},
		{"by a hash above it", tx.Watch{Nonce: 5, Legacy: true, Hashes: []string{hashOf("eight")}}, "eight"},
		{"none so high", tx.Watch{Nonce: 9, Legacy: true}, ""},
		{"found, and gone", tx.Watch{Nonce: 7, Legacy: true, Found: true, Hashes: []string{hashOf("x")}}, ""},
		{"found", tx.Watch{Nonce: 7, Legacy: true, Found: true, Hashes: []string{hashOf("x"), hashOf("five")}}, "five"},
		{"signed here", tx.Watch{Nonce: 7, Hashes: []string{hashOf("x"), hashOf("seven")}}, "seven"},
		{"signed here, at another nonce", tx.Watch{Nonce: 7, Hashes: []string{hashOf("eight")}}, ""},
	} {
		tt.watch.Payer = keyA
		v := &view{pooledBy: map[string][]Command{keyA: pool}, pooled: map[string]Command{}}
		for _, c := range pool {
			v.pooled[c.Hash] = c
		}
		got := ""
		if c := v.findPooled(newWatched(tt.watch)); c != nil {
			got = c.Hash
		}
		if want := tt.want; want != "" && got != hashOf(want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %s", tt.name, got, want)
		}
	}
	other := tx.Watch{Payer: keyB, Nonce: 7, Hashes: []string{hashOf("seven")}}
	if c := (&view{pooled: map[string]Command{hashOf("seven"): pool[1]}}).findPooled(newWatched(other)); c != nil {
		t.Errorf("of another payer: %+v", c)
	}
}

// TestAhead: a ledger of a later block says nothing where no block that is read has passed the nonce.
func TestAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		at     time.Time
		nonces []uint32
		want   bool
	}{
		{"of the tip", time.Unix(1, 0), nil, false},
		{"of a later block, and nothing is read", time.Time{}, nil, true},
		{"what is read is below", time.Time{}, []uint32{5, 6}, true},
		{"some of it is not", time.Time{}, []uint32{5, 9}, false},
		{"one at the nonce", time.Time{}, []uint32{7}, false},
	} {
		v := &view{ledger: map[string]accountReport{keyA: {next: 9, at: tt.at}}, landed: map[string][]landed{}}
		for _, nonce := range tt.nonces {
			v.landed[keyA] = append(v.landed[keyA], landed{&Command{Nonce: nonce}, &link{}})
		}
		if got := v.ahead(&watched{Watch: tx.Watch{Payer: keyA, Nonce: 7}}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestSpent: a nonce that no block read has is displaced from the block on behind the one at
// which that was noticed, where that is still on the chain; not by a ledger that runs ahead.
func TestSpent(t *testing.T) {
	t.Parallel()
	chain := chainOf(10)
	at := func(i int, fork string) Header {
		h := chain[i].Header
		h.StateHash += fork
		return h
	}
	above := Header{Height: 111, StateHash: "3N-111"}
	for _, tt := range []struct {
		name    string
		noticed Header
		ahead   bool
		from    string // the block that it is displaced from, "" for none
		then    Header // what is noted
	}{
		{"noticed now", Header{}, false, "", at(9, "")},
		{"noticed before", at(4, ""), false, "3N-106", at(4, "")},
		{"noticed at the oldest block", at(0, ""), false, "3N-102", at(0, "")},
		{"noticed at the tip", at(9, ""), false, "", at(9, "")},
		{"at one that is orphaned", at(4, "r"), false, "", at(9, "")},
		{"at one that is let go of", Header{Height: 100, StateHash: "3N-100"}, false, "", at(9, "")},
		{"at one above the tip", above, false, "", at(9, "")},
		{"of a ledger that is ahead", at(4, ""), true, "", Header{}},
	} {
		v := viewOf(chain)
		v.ledger = map[string]accountReport{keyA: {next: 8, in: v.tip(), at: time.Unix(1, 0)}}
		if tt.ahead {
			v.ledger[keyA] = accountReport{next: 8, in: v.tip()}
		}
		w := newWatched(tx.Watch{Payer: keyA, Nonce: 7})
		in, fate := v.spent(w, tt.noticed)
		if in.StateHash != tt.from || (fate == tx.FateDisplaced) != (tt.from != "") || w.noticed[v] != tt.then {
			t.Errorf("%s: %v from %q, noticed at %q", tt.name, fate, in.StateHash, w.noticed[v].StateHash)
		}
	}
}

// TestExpiredLongAgo: the first block behind the last slot is what decides, or the oldest that is known.
func TestExpiredLongAgo(t *testing.T) {
	t.Parallel()
	for until, want := range map[uint32]string{0: "", 1: "3N-101", 1000: "3N-101", 1001: "3N-102", 1009: "3N-110", 1010: ""} {
		v := viewOf(chainOf(10))
		d := v.judge(newWatched(tx.Watch{Payer: keyA, Nonce: 7, ValidUntil: until}))
		if (d.fate == tx.FateExpired) != (want != "") || d.in.StateHash != want {
			t.Errorf("until %d: %v from %q on, want %q", until, d.fate, d.in.StateHash, want)
		}
	}
}

// TestWatchIsCopied: who watches may use the list of hashes for something else.
func TestWatchIsCopied(t *testing.T) {
	t.Parallel()
	n := newNet(t, 1, grow(chainOf(10), "", commandA(t)))
	w := watchA()
	w.Memo = "not told"
	n.Watch("a", w)
	w.Hashes[0] = hashOf("x")
	if n.Poll(t.Context()); n.Sighting("a").Fate != tx.FateIncluded {
		t.Errorf("%+v", n.Sighting("a"))
	}
}
