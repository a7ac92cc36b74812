package explorer

import (
	"slices"
	"strconv"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

var orders = []tx.OrderKind{tx.OrderCancel, tx.OrderRetry, tx.OrderLanded,
	tx.OrderDead, tx.OrderExpire}

// extend adds a block to the chain, or has a rival of its last blocks win, which is
// longer by one. The block, or the rival's first, holds what the move says: one command, or two.
func (s *State) extend(m Move) bool {
	c, fork := s.chain[0], s.forks
	if s.world.Nodes > 1 && c.tip() > s.chain[1].tip() {
		return false // the other node is as far behind as it may be
	}
	if m.kind == mReorg {
		if c.tip() < start+int(m.c) || !s.spend(Reorg) {
			return false
		}
		c, fork = c.upTo(c.tip()-int(m.c)), fork+1
	}
	if s.world.Height > 0 && !s.fair && c.tip() >= start+s.world.Height {
		return false
	}
	b, taken := block{fork: fork}, true
	switch {
	case m.a >= 100:
		sender := m.a - 100
		b.full, b.cmd = true, command{txn: stranger, sender: sender, nonce: c.next(sender)}
		taken = s.spend(Outsider)
	case m.a > 0:
		b, taken = s.included(c, int(m.a-1), fork, m.b&fateBits, c.tip()+1)
	}
	what := b.what()
	c = c.with(b)
	if second := m.b >> secondAt; taken && second > 0 {
		b, taken = s.included(c, int(second-1), fork, m.b>>fateAt&fateBits, c.tip())
		c, what = c.beside(b), what+", and "+b.what()
	}
	if !taken {
		return false
	}
	if m.kind == mReorg {
		s.tell("the chain reorganises, %d deep: block %d holds %s; as many that are empty follow", m.c, c.tip(), what)
		for range m.c {
			c = c.with(block{fork: fork})
		}
	} else {
		s.tell("block %d: %s", c.tip(), what)
	}
	s.chain[0], s.forks = c, fork
	s.remember()
	return true
}

// What a block holds besides its first command is in a move's b: from the lowest bit the fate
// of the first, that of the second, and the second, counted from 1.
const (
	fateBits = 3
	fateAt   = 2
	secondAt = 4
)

// included is a command on a wire as a block on c, or the last one of it, holds it; false if
// it cannot.
func (s *State) included(c chain, i int, fork, fate uint8, slot int) (block, bool) {
	w := s.net[i]
	if !w.known || !c.takes(w.cmd, slot) || fate != succeeded && !s.spend(FailIn) {
		return block{}, false
	}
	if s.world.Early > 0 && fate == succeeded && c.effect(w.cmd.txn) {
		fate = failedMendable // what it requires never comes back
	}
	return block{height: uint8(slot), fork: fork, full: true, fate: fate, cmd: w.cmd}, true
}

// what tells what a block holds.
func (b block) what() string {
	if !b.full {
		return "nothing of ours"
	}
	return b.cmd.String() + []string{"", ", which fails there", ", which fails there for good"}[b.fate]
}

// sync has the second node catch up.
func (s *State) sync() bool {
	if s.world.Nodes < 2 || s.chain[1].tip() == s.chain[0].tip() {
		return false
	}
	s.tell("the second node catches up")
	s.chain[1] = s.chain[0]
	return true
}

// arrive: bytes that were under way reach the network.
func (s *State) arrive(i int) bool {
	if s.net[i].known {
		return false
	}
	s.tell("the nodes get %s at last", s.net[i].cmd)
	s.onWire(s.net[i].cmd, true)
	return true
}

// trouble is what processes, nodes and persons do by themselves.
func (s *State) trouble(m Move, p int) bool {
	switch m.kind {
	case mStart:
		return s.start(p)
	case mRenew:
		return s.renew(p)
	case mCrash:
		return s.crash(p)
	case mLapse:
		return s.lapse(p)
	case mStop:
		if s.procs[p].draining || !s.spend(Stop) {
			return false
		}
		s.tell("%s is told to end", s.procs[p].id)
		s.procs[p].draining = true
		return true
	case mLag:
		return s.lag()
	case mForget:
		return s.failOver()
	case mRestart:
		return s.restart()
	case mRecover:
		return s.recover(p)
	case mVanish:
		if w := &s.net[p]; w.pool != 0 && s.spend(Vanish) {
			s.tell("the pools drop %s", w.cmd)
			w.pool = 0
			return true
		}
	case mOrder:
		return s.order(p, orders[m.b])
	case mDrain:
		if s.spend(Drain) {
			s.tell("a person drains %s", account(p))
			s.store.Rest(account(p), lifecycle.Rest{For: lifecycle.Never, Why: tx.Draining})
			return true
		}
	case mPause:
		if s.spend(Pause) {
			s.tell("a person pauses %s", s.store.Queues[p].Name)
			return s.store.Pause(s.store.Queues[p].Name, "a person said so", time.Time{})
		}
	case mUnpause:
		if s.store.Queues[p].Paused != "" {
			s.tell("a person has %s go on", s.store.Queues[p].Name)
			return s.store.Pause(s.store.Queues[p].Name, "", time.Time{})
		}
	case mResume:
		if a := s.store.Sender(account(p)); slices.ContainsFunc(a.Reasons,
			func(r Reason) bool { return r.Until.IsZero() && r.Why == tx.Draining }) {
			s.tell("a person resumes %s", a.Account)
			s.store.Resume(a.Account)
			return true
		}
	case mAway:
		if s.world.Nodes > 1 && (s.away || s.spend(Away)) {
			s.away = !s.away
			s.tell("the first node is away: %v", s.away)
			return true
		}
	case mBroke:
		if s.broke || s.spend(Broke) {
			s.broke = !s.broke
			s.tell("the accounts hold nothing: %v", s.broke)
			return true
		}
	}
	return false
}

func (s *State) start(p int) bool {
	old := &s.procs[p]
	fresh := process{id: "p" + digit(p) + "." + strconv.Itoa(old.run+1), run: old.run + 1, alive: true, live: true,
		seen: make([]int16, len(old.seen)), held: make([]*held, len(old.held)), runs: make([][]string, len(old.runs)),
		recovery: s.newRecovery()}
	for i := range fresh.seen {
		fresh.seen[i] = -1
	}
	s.procs[p] = fresh
	s.store.Renew(fresh.id)
	s.tell("%s starts", fresh.id)
	return true
}

func (s *State) renew(p int) bool {
	proc := &s.procs[p]
	if proc.live {
		return false
	}
	s.tell("%s wakes, and renews its claims", proc.id)
	proc.live = true
	s.store.Renew(proc.id)
	proc.shut = proc.shut || !proc.back
	for t, h := range proc.held {
		if h != nil { // the claim may be another's
			h = s.hold(p, t)
			h.drive.Stale()
			h.stale = true
		}
	}
	return true
}

func (s *State) lapse(p int) bool {
	proc := &s.procs[p]
	if !proc.live || !s.spend(Lapse) {
		return false
	}
	s.tell("%s sleeps past its claims", proc.id)
	proc.live = false
	s.store.Lapse(proc.id)
	return true
}

// crash: a process dies, with all that it knows.
func (s *State) crash(p int) bool {
	proc := &s.procs[p]
	if !proc.draining && !s.spend(Crash) {
		return false
	}
	s.tell("%s dies", proc.id)
	for t, h := range proc.held {
		if h != nil {
			s.abandon(t, h)
		}
	}
	if s.store.proc(proc.id) != nil {
		s.store.Lapse(proc.id)
	}
	s.procs[p] = process{id: proc.id, run: proc.run, seen: make([]int16, len(proc.seen)),
		held: make([]*held, len(proc.held)), runs: make([][]string, len(proc.runs)), recovery: s.newRecovery()}
	return true
}

var budgetOfOrder = map[tx.OrderKind]Fault{tx.OrderCancel: Cancel, tx.OrderRetry: Retry,
	tx.OrderLanded: Resolve, tx.OrderDead: Resolve}

// order is a person's word. Of what nobody knows a person says what is true.
func (s *State) order(t int, kind tx.OrderKind) bool {
	if kind != tx.OrderExpire && !s.spend(budgetOfOrder[kind]) {
		return false
	}
	o := tx.Order{What: kind}
	if s.world.Ledger != noLedger && !s.saysOf(t, kind) {
		return false
	}
	switch effect := s.effectOf(int8(t)); kind {
	case tx.OrderLanded:
		_, settle, _ := s.world.depths()
		if s.world.Ledger != noLedger {
			break
		}
		if effect == nil || int(s.past[t].deep) < settle {
			return false
		}
		o.Hash = effect.cmd.hash()
	case tx.OrderDead:
		if effect != nil || s.mayLand(int8(t), false) {
			return false
		}
	}
	before := s.store.Read(uid(t))
	v := s.view(0, t)
	v.Txn, v.Local, v.Tip = before, lifecycle.Local{}, lifecycle.Tip{}
	if kind == tx.OrderExpire {
		v.Tip = s.procs[0].tip
	}
	step, err := lifecycle.Ask(&v, o)
	if err != nil {
		return false
	}
	step.Aside.Process = s.procs[s.anyone()].id
	txn, denied, err := s.store.Advance(&Change{Before: before, After: step.Txn, Aside: step.Aside,
		Moves: lifecycle.Effects(before, step.Txn, &step.Aside, s.policy)})
	if err != nil || denied != nil {
		return false
	}
	if kind == tx.OrderCancel {
		s.past[t].cancelled = true
	}
	if s.met != nil {
		s.met.Orders[kind]++
	}
	s.stored(before, txn, &step)
	s.tell("a person says %s: %s", kind, changeOf(before, txn, &step))
	return true
}

// anyone is a process that a person can reach.
func (s *State) anyone() int {
	return max(0, slices.IndexFunc(s.procs, func(p process) bool { return p.alive && p.live }))
}

// effectOf is the block in which a transaction has taken effect, nil if there is none.
func (s *State) effectOf(t int8) *block {
	for i := range s.chain[0].blocks {
		if b := &s.chain[0].blocks[i]; b.full && b.cmd.txn == t && b.fate == succeeded {
			return b
		}
	}
	return nil
}

// mayLand reports whether something of a transaction may still take effect, in the best
// chain or in a rival that may yet win. left: of what has left the processes alone.
func (s *State) mayLand(t int8, left bool) bool {
	_, settle, _ := s.world.depths()
	c := s.chain[0].upTo(s.chain[0].tip() - settle + 1)
	for i := range s.net {
		w := &s.net[i]
		if w.cmd.txn == t && w.cmd.nonce >= c.next(w.cmd.sender) && (w.cmd.until == 0 || c.tip() < int(w.cmd.until)) {
			return true
		}
	}
	for _, e := range s.errand {
		if e.cmd.txn == t {
			return true
		}
	}
	for p := range s.procs {
		h := s.procs[p].held[t]
		if h != nil && !left && (h.call.Kind == lifecycle.Send || h.call.Kind == lifecycle.Dispatch) {
			return true
		}
	}
	return false
}
