package mina

import (
	"cmp"
	"slices"
)

// A verdict is one node's word on a Watch.
type verdict struct {
	fate    Fate
	command *Command // pooled, included, or the stranger's
	in      Header   // the deciding block
	tip     Header
	next    uint32 // the payer's nonce by the ledger
	passed  bool   // Unknown: the nonce is spent, and not in a block that is read
}

// find returns the command that the watch is about, ours or not, where the best
// chain has it. Mina: a chain holds at most one command per payer and nonce.
func (v *view) find(w *Watch) (landed, bool) {
	list := v.landed[w.Payer]
	at, exact := slices.BinarySearchFunc(list, w.Nonce, byNonce)
	if !w.Legacy {
		if exact {
			return list[at], true
		}
		return landed{}, false
	}
	known := slices.IndexFunc(list, func(x landed) bool { return !x.Payment && slices.Contains(w.Hashes, x.Hash) })
	if known >= 0 {
		return list[known], true
	}
	if w.Found {
		return landed{}, false
	}
	for _, x := range list[at:] {
		if !x.Payment {
			return x, true
		}
	}
	return landed{}, false
}

// findPooled returns the watch's command if the node has it in its pool.
func (v *view) findPooled(w *watched) *Command {
	if w.Legacy {
		list := v.pooledBy[w.Payer]
		at := slices.IndexFunc(list, func(c Command) bool { return slices.Contains(w.Hashes, c.Hash) })
		if at < 0 && !w.Found {
			at = slices.IndexFunc(list, func(c Command) bool { return c.Nonce >= w.Nonce })
		}
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	for _, hash := range w.hashes {
		if c, found := v.pooled[hash]; found && c.Payer == w.Payer && c.Nonce == w.Nonce {
			return &c
		}
	}
	return nil
}

// judge says what the node's chain and pool make of a watch.
func (v *view) judge(w *watched) verdict {
	d := verdict{fate: Unknown, tip: v.tip(), next: v.next(w.Payer)}
	covered := w.Since >= v.cover
	// An unspent nonce is in no block at all, however far back the blocks are read.
	unspent := d.next <= w.Nonce
	if x, found := v.find(&w.Watch); found {
		d.command, d.in = x.Command, x.in.Header
		switch w.owns(x.Command) {
		case ours:
			d.fate = Included
			if x.Failed {
				d.fate = Failed
			}
		case theirs:
			d.fate = Displaced
		}
		return d
	}
	if unspent && w.ValidUntil > 0 && !w.Legacy && d.tip.Slot > w.ValidUntil {
		past, _ := slices.BinarySearchFunc(v.links, w.ValidUntil, func(l *link, slot uint32) int {
			if l.Slot <= slot {
				return -1
			}
			return 1
		})
		d.fate, d.in = Expired, v.links[past].Header
		return d
	}
	if covered && !w.Legacy && !unspent {
		if d.in, d.fate = v.spent(w); d.fate == Displaced {
			return d
		}
	}
	if d.command = v.findPooled(w); d.command != nil {
		d.fate = Pooled
	} else if covered || unspent {
		d.fate = Absent
	} else {
		d.passed = true
	}
	return d
}

// spent handles a nonce that the ledger has passed although no block read holds
// a command with it: it was spent before the watch began, or by an account
// update. The block that did it is not known, so depth is counted from the
// first block after the one at which it was noticed; until there is one, the
// ledger may just have been read later than the blocks.
func (v *view) spent(w *watched) (Header, Fate) {
	noticed, known := w.noticed[v]
	if i := v.at(noticed.Height); !known || i < 0 || i >= len(v.links) || v.links[i].StateHash != noticed.StateHash {
		if w.noticed == nil {
			w.noticed = make(map[*view]Header)
		}
		w.noticed[v] = v.tip()
		return Header{}, Unknown
	}
	if i := v.at(noticed.Height) + 1; i < len(v.links) {
		return v.links[i].Header, Displaced
	}
	return Header{}, Unknown
}

// depth is the number of blocks from the deciding one to the tip.
func (d verdict) depth() int { return int(d.tip.Height-d.in.Height) + 1 }

func (d verdict) commandHash() string {
	if d.command == nil {
		return ""
	}
	return d.command.Hash
}

type owner int

const (
	unclear owner = iota
	ours
	theirs
)

// owns says whose the command at the watch's place is.
func (w *Watch) owns(c *Command) owner {
	switch {
	case c.Payment:
		return theirs
	case w.Legacy || slices.Contains(w.Hashes, c.Hash):
		return ours
	}
	memo, err := DecodeMemo(c.Memo)
	switch {
	case err != nil:
		return unclear
	case memo == w.Memo:
		return ours
	default:
		return theirs
	}
}

// merge makes one sighting of the words of all nodes that have a vote.
func merge(words []verdict, quorum bool) Sighting {
	s := Sighting{Fate: Unknown}
	if len(words) == 0 {
		return s
	}
	if quorum && !slices.ContainsFunc(words, func(d verdict) bool { return !d.passed }) {
		s.Passed = true
		return s
	}
	// Expired implies absent: together they are no contradiction.
	lead := words[0]
	same := true
	for _, d := range words[1:] {
		switch {
		case d.fate == Unknown:
			same = false
		case d.fate == lead.fate && (d.fate == Absent || d.fate == Pooled || d.fate == Expired):
		case d.fate == Displaced && lead.fate == Displaced && d.command == nil && lead.command == nil:
		case d.fate == lead.fate && d.in.StateHash == lead.in.StateHash && d.commandHash() == lead.commandHash():
		case d.fate == Absent && lead.fate == Expired, d.fate == Expired && lead.fate == Absent:
			lead.fate, lead.in = Absent, Header{}
		default:
			same = false
		}
	}
	if same && quorum && lead.fate != Unknown {
		if lead.fate == Included || lead.fate == Failed || lead.fate == Displaced || lead.fate == Expired {
			least := slices.MinFunc(words, func(a, b verdict) int { return cmp.Compare(a.depth(), b.depth()) })
			lead.in, s.Depth = least.in, least.depth()
		}
		s.Agreed = true
	} else if lead = loudest(words); lead.fate == Unknown {
		return s
	}
	s.Fate, s.Height, s.StateHash = lead.fate, lead.in.Height, lead.in.StateHash
	if lead.command != nil {
		s.Hash, s.Nonce = lead.command.Hash, lead.command.Nonce
		s.Failures = slices.Clone(lead.command.Failures)
	}
	s.TipSlot = lead.tip.Slot
	for _, d := range words {
		if s.Agreed || d.fate == lead.fate {
			s.TipSlot = min(s.TipSlot, d.tip.Slot)
		}
		if s.Agreed && (s.Fate == Absent || s.Fate == Pooled || s.Fate == Expired) {
			s.AccountNext = max(s.AccountNext, d.next)
		}
	}
	return s
}

// loudest picks the word that is enough to wait by, where there is no
// agreement; it is Unknown if there is none.
func loudest(words []verdict) verdict {
	for _, fate := range []Fate{Included, Failed, Pooled} {
		if i := slices.IndexFunc(words, func(d verdict) bool { return d.fate == fate }); i >= 0 {
			return words[i]
		}
	}
	return verdict{fate: Unknown}
}
