package mina

import (
	"cmp"
	"mina-sequencer/sequencer/tx"
	"slices"
)

// A verdict is one node's word on a Watch.
type verdict struct {
	fate    tx.Fate
	command *Command // pooled, included, or the stranger's
	in      Header   // the deciding block
	tip     Header
	next    uint32 // the payer's nonce by the ledger
	passed  bool   // Unknown: the nonce is spent, and not in a block that is read
	late    bool   // it is the last word of a node that has been asked since, and not answered
}

// find returns the command that the watch is about, ours or not, where the best
// chain has it. Mina: a chain holds at most one command per payer and nonce.
func (v *view) find(w *tx.Watch) (landed, bool) {
	list := v.landed[w.Payer]
	at, exact := slices.BinarySearchFunc(list, w.Nonce, byNonce)
	if !w.Legacy {
		if exact {
			return list[at], true
		}
		return landed{}, false
	}
	known := slices.IndexFunc(list, func(x landed) bool {
		// What was in a block before the watch began is none of it, whatever its worker says.
		old := x.in.Slot < w.Since || x.in.Slot == w.Since && x.Nonce < w.Nonce
		return !x.Payment && !old && slices.Contains(w.Hashes, x.Hash)
	})
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
	d := verdict{fate: tx.FateUnknown, tip: v.tip(), next: v.next(w.Payer)}
	noticed := w.noticed[v]
	delete(w.noticed, v) // it is kept as long as each look says the same
	covered := w.Since >= v.cover
	// An unspent nonce is in no block at all, however far back the blocks are read.
	unspent := d.next <= w.Nonce
	if x, found := v.find(&w.Watch); found {
		d.command, d.in = x.Command, x.in.Header
		switch owns(&w.Watch, x.Command) {
		case ours:
			d.fate = tx.FateIncluded
			if x.Failed {
				d.fate = tx.FateFailed
			}
		case theirs:
			d.fate = tx.FateDisplaced
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
		d.fate, d.in = tx.FateExpired, v.links[past].Header
		return d
	}
	if covered && !w.Legacy && !unspent {
		if d.in, d.fate = v.spent(w, noticed); d.fate == tx.FateDisplaced {
			return d
		}
	}
	if d.command = v.findPooled(w); d.command != nil {
		d.fate = tx.FatePooled
	} else if covered || unspent {
		d.fate = tx.FateAbsent
	} else {
		d.passed = true
	}
	return d
}

// spent handles a nonce that the ledger has passed although no block read holds
// a command with it: it was spent before the watch began, or by an account
// update. The block that did it is not known, so depth is counted from the
// first block after the one at which it was noticed. A ledger that was read later
// than the blocks says nothing: the block that is not read yet may hold ours.
func (v *view) spent(w *watched, noticed Header) (Header, tx.Fate) {
	if v.ahead(w) {
		return Header{}, tx.FateUnknown
	}
	if i := v.at(noticed.Height); i < 0 || i >= len(v.links) || v.links[i].StateHash != noticed.StateHash {
		noticed = v.tip()
	}
	if w.noticed == nil {
		w.noticed = make(map[*view]Header)
	}
	w.noticed[v] = noticed
	if i := v.at(noticed.Height) + 1; i < len(v.links) {
		return v.links[i].Header, tx.FateDisplaced
	}
	return Header{}, tx.FateUnknown
}

// ahead reports whether it is only the ledger of a later block than those read that has
// the nonce of a watch spent.
func (v *view) ahead(w *watched) bool {
	list := v.landed[w.Payer]
	return v.ledger[w.Payer].at.IsZero() && (len(list) == 0 || list[len(list)-1].Nonce < w.Nonce)
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
func owns(w *tx.Watch, c *Command) owner {
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
func merge(words []verdict, quorum bool) tx.Sighting {
	s := tx.Sighting{Fate: tx.FateUnknown}
	if len(words) == 0 {
		return s
	}
	if quorum && !slices.ContainsFunc(words, func(d verdict) bool { return !d.passed }) {
		s.Pruned = true
		return s
	}
	words = included(words, quorum)
	// Expired implies absent: together they are no contradiction.
	lead := words[0]
	same := true
	for _, d := range words[1:] {
		switch {
		case d.fate == tx.FateUnknown:
			same = false
		case d.fate == lead.fate && (d.fate == tx.FateAbsent || d.fate == tx.FatePooled || d.fate == tx.FateExpired):
		case d.fate == tx.FateDisplaced && lead.fate == tx.FateDisplaced && d.command == nil && lead.command == nil:
		case d.fate == lead.fate && d.in.StateHash == lead.in.StateHash && d.commandHash() == lead.commandHash():
		case d.fate == tx.FateAbsent && lead.fate == tx.FateExpired, d.fate == tx.FateExpired && lead.fate == tx.FateAbsent:
			lead.fate, lead.in = tx.FateAbsent, Header{}
		default:
			same = false
		}
	}
	if same && quorum && lead.fate != tx.FateUnknown {
		if lead.fate == tx.FateIncluded || lead.fate == tx.FateFailed || lead.fate == tx.FateDisplaced || lead.fate == tx.FateExpired {
			least := slices.MinFunc(words, func(a, b verdict) int { return cmp.Compare(a.depth(), b.depth()) })
			lead.in, s.Depth = least.in, least.depth()
		}
		s.Agreed = true
	} else if lead = loudest(words); lead.fate == tx.FateUnknown {
		return s
	}
	s.Fate, s.Height, s.StateHash = lead.fate, lead.in.Height, lead.in.StateHash
	if lead.command != nil {
		s.Hash, s.Nonce = lead.command.Hash, lead.command.Nonce
		s.Failure = lead.command.failure()
	}
	s.TipSlot = lead.tip.Slot
	for _, d := range words {
		if s.Agreed || d.fate == lead.fate {
			s.TipSlot = min(s.TipSlot, d.tip.Slot)
		}
		if s.Agreed && (s.Fate == tx.FateAbsent || s.Fate == tx.FatePooled || s.Fate == tx.FateExpired) {
			s.AccountNext = max(s.AccountNext, d.next)
		}
	}
	return s
}

// included leaves out of the words of late nodes those that say nothing against an
// inclusion, where all others, a quorum of them, tell of one.
func included(words []verdict, quorum bool) []verdict {
	if !quorum || slices.ContainsFunc(words, func(d verdict) bool { return !d.late && d.fate != tx.FateIncluded }) {
		return words
	}
	return slices.DeleteFunc(words, func(d verdict) bool {
		return d.late && (d.fate == tx.FateUnknown || d.fate == tx.FateAbsent || d.fate == tx.FatePooled)
	})
}

// loudest picks the word that is enough to wait by, where there is no
// agreement; it is Unknown if there is none.
func loudest(words []verdict) verdict {
	for _, fate := range []tx.Fate{tx.FateIncluded, tx.FateFailed, tx.FatePooled} {
		if i := slices.IndexFunc(words, func(d verdict) bool { return d.fate == fate }); i >= 0 {
			return words[i]
		}
	}
	return verdict{fate: tx.FateUnknown}
}
