package audit

import (
	"cmp"
	"slices"

	"mina-sequencer/sequencer/tx"
)

// A landing is a transaction of a queue that took effect in the window.
type landing struct {
	uid      string
	sequence int64
	typ      string
	in       *effect
	attempts []tx.Attempt
}

// broke reports whether l landed behind an earlier one of its queue that was in flight and
// failed in a block.
func (l *landing) broke(earlier *landing) bool {
	began := l.attempts[0].StartedAt
	return slices.ContainsFunc(earlier.attempts, func(a tx.Attempt) bool {
		return a.Failed() && a.Sender == l.in.Payer && a.Nonce < l.in.Nonce &&
			a.StartedAt.Before(began) && began.Before(a.EndedAt)
	})
}

// mayOvertake: who had an attempt before its successor had one was first. It ended, or its
// block went, and a person or a reorganisation brought it back later; unless the successor
// was in flight behind it, and took effect although it failed.
func (l *landing) mayOvertake(earlier *landing) bool {
	return len(earlier.attempts) > 0 && len(l.attempts) > 0 &&
		earlier.attempts[0].StartedAt.Before(l.attempts[0].StartedAt) && !l.broke(earlier)
}

// order compares the order on the chain with that of acceptance: each against all before
// it that took effect after it. Commuting ones have no order among each other.
func (p *pass) order() {
	for queue, line := range p.landed {
		slices.SortFunc(line, func(x, y landing) int { return cmp.Compare(x.sequence, y.sequence) })
		before := map[bool][]landing{} // by whether they commute, each in the order of the chain
		for _, later := range line {
			commutes := p.Commutes != nil && p.Commutes(later.typ)
			p.overtaken(queue, before[false], &later)
			if !commutes {
				p.overtaken(queue, before[true], &later)
			}
			same := before[commutes]
			at, _ := slices.BinarySearchFunc(same, later, func(x, y landing) int { return x.in.compare(y.in) })
			before[commutes] = slices.Insert(same, at, later)
		}
	}
}

// overtaken finds the last of those before that later ought not to have overtaken.
func (p *pass) overtaken(queue string, before []landing, later *landing) {
	for _, earlier := range slices.Backward(before) {
		if earlier.in.compare(later.in) <= 0 {
			return
		}
		if !later.mayOvertake(&earlier) {
			p.bad("ORDER", earlier.uid, queue, "",
				"it was accepted before %s, and took effect after it: in block %d and block %d",
				later.uid, earlier.in.block.Height, later.in.block.Height)
			return
		}
	}
}
