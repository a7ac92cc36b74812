package explorer

import (
	"fmt"
	"slices"

	"mina-sequencer/sequencer/tx"
)

// A command is what was signed for (sender, nonce). Its memo tells whose it is.
type command struct {
	txn, number   int8 // txn -1: a stranger's
	sender, nonce uint8
	fee           uint8
	until         uint16 // last slot; 0 if nothing limits it
}

const stranger = -1

// hash is the command in eight bytes, and so are its signed bytes.
func (c command) hash() string {
	return string([]byte{byte(c.txn), byte(c.number), c.sender, c.nonce, c.fee, byte(c.until), byte(c.until >> 8), '#'})
}

// commandOf reads what hash has written.
func commandOf(h string) command {
	return command{int8(h[0]), int8(h[1]), h[2], h[3], h[4], uint16(h[5]) | uint16(h[6])<<8}
}

// isOf reports whether a command is that of an attempt. One that was forgotten may have
// got another number since.
func (c command) isOf(a *tx.Attempt) bool {
	return senderOf(a.Sender) == int(c.sender) && a.Nonce == uint32(c.nonce) && a.Fee == uint64(c.fee)
}

func (c command) String() string {
	if c.txn == stranger {
		return fmt.Sprintf("a stranger's command (%s, nonce %d)", account(int(c.sender)), c.nonce)
	}
	return fmt.Sprintf("%s/%d (%s, nonce %d, fee %d, until slot %d)", uid(int(c.txn)), c.number, account(int(c.sender)),
		c.nonce, c.fee, c.until)
}

// The fates of a command in a block.
const (
	succeeded = iota
	failedMendable
	failedForGood
)

// A block is an empty one, or a command in one: those of a height make the block of it. Its
// slot is its height.
type block struct {
	height uint8
	fork   uint8 // counts the reorganisations before it: with the height its state hash
	full   bool
	fate   uint8
	cmd    command
}

// A chain is the best chain of a node, in order; blocks are never altered in place.
type chain struct{ blocks []block }

func (c chain) tip() int {
	if len(c.blocks) == 0 {
		return 0
	}
	return int(c.blocks[len(c.blocks)-1].height)
}

// with is c with one more block.
func (c chain) with(b block) chain {
	b.height = uint8(c.tip() + 1)
	return c.beside(b)
}

// beside is c with one more command in its last block.
func (c chain) beside(b block) chain { return chain{append(slices.Clip(c.blocks), b)} }

// upTo is c without the blocks above a height.
func (c chain) upTo(height int) chain {
	n := len(c.blocks)
	for n > 0 && int(c.blocks[n-1].height) > height {
		n--
	}
	return chain{c.blocks[:n]}
}

// next is the nonce of an account by the ledger of the tip.
func (c chain) next(sender uint8) uint8 {
	for i := len(c.blocks) - 1; i >= 0; i-- {
		if b := &c.blocks[i]; b.full && b.cmd.sender == sender {
			return b.cmd.nonce + 1
		}
	}
	return 0
}

// takes reports whether a block on c, or the last one of it, may hold a command; slot is
// that of the block.
func (c chain) takes(cmd command, slot int) bool {
	return cmd.nonce == c.next(cmd.sender) && (cmd.until == 0 || slot <= int(cmd.until))
}

// effect reports whether a transaction has taken effect in c.
func (c chain) effect(txn int8) bool {
	return slices.ContainsFunc(c.blocks, func(b block) bool { return b.full && b.cmd.txn == txn && b.fate == succeeded })
}

func (c chain) stateHash(height int) string {
	up := c.upTo(height).blocks
	return fmt.Sprintf("%d.%d", height, up[len(up)-1].fork)
}

// A wire is bytes that have left a process or a worker: known to block producers, and
// shown by the pools of some nodes.
type wire struct {
	cmd   command
	known bool  // or still under way, and may arrive yet
	pool  uint8 // a bit for each node
}

// A verdict is one node's word on a watch; compare package mina.
type verdict struct {
	fate   tx.Fate
	cmd    command
	full   bool
	failed uint8
	height int // of the deciding block
	in     string
	tip    int
	next   uint8
}

// judge is what one node makes of a watch. What carries its memo is ours.
func (s *State) judge(node int, w *tx.Watch) verdict {
	c := s.chain[node]
	payer := uint8(senderOf(w.Payer))
	d := verdict{fate: tx.FateAbsent, tip: c.tip(), next: c.next(payer)}
	if at := c.find(payer, w); at >= 0 {
		b := &c.blocks[at]
		d.cmd, d.full, d.failed, d.height, d.in = b.cmd, true, b.fate, int(b.height), c.stateHash(int(b.height))
		switch {
		case !w.Legacy && !slices.Contains(w.Hashes, b.cmd.hash()) && (b.cmd.txn == stranger ||
			w.Memo != uid(int(b.cmd.txn))):
			d.fate = tx.FateDisplaced
		case b.fate == succeeded:
			d.fate = tx.FateIncluded
		default:
			d.fate = tx.FateFailed
		}
		return d
	}
	if until := int(w.ValidUntil); until > 0 && !w.Legacy && uint32(d.next) <= w.Nonce && d.tip > until {
		d.fate, d.height, d.in = tx.FateExpired, until+1, c.stateHash(until+1)
		return d
	}
	for i := range s.net {
		if s.pooled(node, i) && s.shows(&s.net[i].cmd, payer, w) {
			d.fate, d.cmd, d.full = tx.FatePooled, s.net[i].cmd, true
			break
		}
	}
	return d
}

// find is the index of the block that decides a watch, -1 if there is none.
func (c chain) find(payer uint8, w *tx.Watch) int {
	if w.Legacy {
		for i := range c.blocks {
			if b := &c.blocks[i]; b.full && b.cmd.sender == payer && slices.Contains(w.Hashes, b.cmd.hash()) {
				return i
			}
		}
		if w.Found {
			return -1
		}
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.full || b.cmd.sender != payer {
			continue
		}
		if uint32(b.cmd.nonce) == w.Nonce || w.Legacy && uint32(b.cmd.nonce) > w.Nonce {
			return i
		}
	}
	return -1
}

// pooled reports whether a node shows what is on a wire.
func (s *State) pooled(node, i int) bool {
	n := &s.net[i]
	c := s.chain[node]
	return n.known && n.pool&(1<<node) != 0 && n.cmd.nonce >= c.next(n.cmd.sender) &&
		(n.cmd.until == 0 || c.tip() < int(n.cmd.until)) && (s.world.Width < 2 || s.reaches(node, n.cmd))
}

// reaches reports whether a pool has no gap below the nonce of a command: what comes
// after one is dropped with it.
func (s *State) reaches(node int, cmd command) bool {
	if cmd.nonce <= s.chain[node].next(cmd.sender) {
		return true
	}
	for i := range s.net {
		if o := s.net[i].cmd; o.sender == cmd.sender && o.nonce == cmd.nonce-1 && s.pooled(node, i) {
			return true
		}
	}
	return false
}

func (s *State) shows(cmd *command, payer uint8, w *tx.Watch) bool {
	if cmd.sender != payer {
		return false
	}
	if slices.Contains(w.Hashes, cmd.hash()) {
		return true
	}
	return w.Legacy && !w.Found && uint32(cmd.nonce) >= w.Nonce
}

func (d *verdict) depth() int { return d.tip - d.height + 1 }

func (d *verdict) decided() bool {
	switch d.fate {
	case tx.FateIncluded, tx.FateFailed, tx.FateDisplaced, tx.FateExpired:
		return true
	}
	return false
}

// merge makes one sighting of the words of all nodes that have a vote: agreed only if
// all say the same, and as deep as the least of them has it.
func merge(words []verdict, quorum bool) tx.Sighting {
	if len(words) == 0 {
		return tx.Sighting{Fate: tx.FateUnknown}
	}
	lead, same := words[0], true
	for _, d := range words[1:] {
		switch {
		case d.fate == lead.fate && (!d.decided() || d.fate == tx.FateExpired):
		case d.fate == lead.fate && d.in == lead.in && d.cmd == lead.cmd:
		case d.fate == tx.FateAbsent && lead.fate == tx.FateExpired,
			d.fate == tx.FateExpired && lead.fate == tx.FateAbsent:
			lead.fate = tx.FateAbsent
		default:
			same = false
		}
	}
	g := tx.Sighting{}
	if same && quorum {
		g.Agreed = true
		if lead.decided() {
			least := slices.MinFunc(words, func(a, b verdict) int { return a.depth() - b.depth() })
			g.Depth, lead.in, lead.height = least.depth(), least.in, least.height
		}
	} else if lead = loudest(words); lead.fate == tx.FateUnknown {
		return tx.Sighting{Fate: tx.FateUnknown}
	}
	g.Fate, g.Height, g.StateHash, g.TipSlot = lead.fate, uint32(lead.height), lead.in, uint32(lead.tip)
	if lead.full {
		g.Hash, g.Nonce = lead.cmd.hash(), uint32(lead.cmd.nonce)
	}
	if g.Fate == tx.FateFailed {
		g.Failure = tx.Failure{Code: "failed", Reasons: "as the world has it",
			Permanent: lead.failed == failedForGood}
	}
	for _, d := range words {
		if g.Agreed || d.fate == lead.fate {
			g.TipSlot = min(g.TipSlot, uint32(d.tip))
		}
		if g.Agreed && (!lead.decided() || g.Fate == tx.FateExpired) {
			g.AccountNext = max(g.AccountNext, uint32(d.next))
		}
	}
	return g
}

// loudest is the word that is enough to wait by.
func loudest(words []verdict) verdict {
	for _, fate := range []tx.Fate{tx.FateIncluded, tx.FateFailed, tx.FatePooled} {
		if i := slices.IndexFunc(words, func(d verdict) bool { return d.fate == fate }); i >= 0 {
			return words[i]
		}
	}
	return verdict{fate: tx.FateUnknown}
}
