package provers

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// A lane is of one type.
type lane struct {
	ring    []*prover // all that make it, by place
	free    int
	inUse   int
	waiting []*waiter
	turn    uint64 // when it was last given one that another lane wanted, too
}

type waiter struct {
	uid string
	at  time.Time
	but []string
	got chan *prover // nil where nobody is left who could
}

// serves reports whether one in use is not among some.
func (l *lane) serves(but []string) bool {
	if l.inUse > len(but) {
		return true
	}
	return slices.ContainsFunc(l.ring, func(p *prover) bool { return p.Reason == "" && !slices.Contains(but, p.ID) })
}

// from is where the order of a transaction begins.
func (l *lane) from(uid string) int {
	i, _ := slices.BinarySearchFunc(l.ring, placeOf(uid), func(p *prover, place uint64) int {
		return cmp.Compare(p.place, place)
	})
	return i
}

// choose is the first free one in the order of a transaction.
func (l *lane) choose(uid string, but []string) *prover {
	if l.free == 0 {
		return nil
	}
	for i, from := 0, l.from(uid); i < len(l.ring); i++ {
		if p := l.ring[(from+i)%len(l.ring)]; p.free() && !slices.Contains(but, p.ID) {
			return p
		}
	}
	return nil
}

func (l *lane) index(one *prover) int {
	i, _ := slices.BinarySearchFunc(l.ring, one, func(a, b *prover) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.ID, b.ID))
	})
	return i
}

func placeOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	// FNV leaves names that end alike side by side.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// change changes what decides whether a prover is free, and in use, and gives it to what waits.
func (p *Pool) change(one *prover, f func()) {
	free, used := one.free(), one.Reason == ""
	f()
	nowFree, nowUsed := one.free(), one.Reason == ""
	for _, typ := range one.Types {
		l := p.lanes[typ]
		l.free += one01(nowFree) - one01(free)
		l.inUse += one01(nowUsed) - one01(used)
	}
	if used && !nowUsed {
		p.dismiss(one.Types)
	}
	for one.free() && p.serve(one) {
		continue
	}
}

func one01(is bool) int {
	if is {
		return 1
	}
	return 0
}

// dismiss tells what waits for what nobody is left to make.
func (p *Pool) dismiss(types []string) {
	for _, typ := range types {
		l := p.lanes[typ]
		l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
			if l.serves(w.but) {
				return false
			}
			w.got <- nil
			return true
		})
	}
}

// serve gives a free one to the first that waits, of the type whose turn is the longest ago.
func (p *Pool) serve(one *prover) bool {
	var next *lane
	at := 0
	for _, typ := range one.Types {
		l := p.lanes[typ]
		if len(l.waiting) == 0 || next != nil && next.turn <= l.turn {
			continue
		}
		if i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return !slices.Contains(w.but, one.ID) }); i >= 0 {
			next, at = l, i
		}
	}
	if next == nil {
		return false
	}
	p.turn++
	next.turn = p.turn
	w := next.waiting[at]
	next.waiting = slices.Delete(next.waiting, at, at+1)
	p.give(one)
	w.got <- one
	return true
}

func (p *Pool) give(one *prover) { p.change(one, func() { one.Load++ }) }

func (p *Pool) back(one *prover) { p.change(one, func() { one.Load-- }) }

// list puts one into the lanes of its types, and unlist takes it out.
func (p *Pool) list(one *prover) {
	for _, typ := range one.Types {
		l := p.lanes[typ]
		if l == nil {
			l = &lane{}
			p.lanes[typ] = l
		}
		i := l.index(one)
		l.ring = slices.Insert(l.ring, i, one)
		l.free += one01(one.free())
		l.inUse += one01(one.Reason == "")
	}
	for one.free() && p.serve(one) {
		continue
	}
}

func (p *Pool) unlist(one *prover) {
	for _, typ := range one.Types {
		l := p.lanes[typ]
		l.ring = slices.DeleteFunc(l.ring, func(o *prover) bool { return o == one })
		l.free -= one01(one.free())
		l.inUse -= one01(one.Reason == "")
	}
}

// none says why nobody makes a type, under mu.
func (p *Pool) none(typ string, but []string) error {
	l := p.lanes[typ]
	switch {
	case len(p.all) == 0:
		return fmt.Errorf("no prover is registered: name some in SEQUENCER_PROVERS, or by 'sequencer prover add': %w", ErrNone)
	case l == nil || len(l.ring) == 0:
		return fmt.Errorf("none of %d provers names %s among the types of its /health: register one that does: %w",
			len(p.all), typ, ErrNone)
	case l.inUse > 0:
		return fmt.Errorf("no other prover makes %s than %s: %w", typ, strings.Join(but, ", "), ErrNone)
	}
	one := l.ring[0]
	return fmt.Errorf("all %d provers that make %s are out of use, such as %s since %s (%s): %w", len(l.ring), typ,
		one.ID, one.At.UTC().Format("15:04:05Z"), cmp.Or(one.Detail, string(one.Reason)), ErrNone)
}

// Waits says since when a transaction waits here for a prover of its type, and how many in use make that, all
// of which are at work; zero if it does not.
func (p *Pool) Waits(typ, uid string) (since time.Time, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lanes[typ]; l != nil {
		if i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return w.uid == uid }); i >= 0 {
			return l.waiting[i].at, l.inUse
		}
	}
	return since, 0
}

// Waiting is how many transactions wait for a prover here, by type.
func (p *Pool) Waiting() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for typ, l := range p.lanes {
		all[typ] = len(l.waiting)
	}
	return all
}
