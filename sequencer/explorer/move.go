package explorer

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
)

// A Move is one thing that happens.
type Move struct{ kind, a, b, c uint8 }

// All kinds of moves.
const (
	mRun uint8 = iota
	mEnd
	mLate
	mHear // a process is told that a record has changed
	mPoll
	mBind
	mPickUp
	mTakeOver
	mCallback
	mBlock
	mArrive
	mErrand
	mTick
	mSync
	mStart
	mRenew
	mCrash
	mLapse
	mReorg
	mVanish
	mOrder
	mDrain
	mResume
	mStop
	mAway
	mBroke
	mLag
	mForget
	mRecover
	mLedger
	mJoin
	mPause
	mUnpause
)

// Moves are all that may happen, and some that cannot: Apply tells.
func (s *State) Moves(visit func(Move)) {
	if s.world.Prompt {
		if m, due := s.prompt(); due {
			visit(m)
			return
		}
	}
	for p := range s.procs {
		s.movesOf(uint8(p), visit)
	}
	if s.movesOfLedger(visit); s.world.Ledger == noLedger {
		s.movesOfChain(visit)
	}
	visit(Move{kind: mTick})
	for t := range s.past {
		if s.store.Records[t].Txn.Callback != "" {
			visit(Move{kind: mCallback, a: uint8(t)})
		}
		for o, kind := range orders {
			if f, costs := budgetOfOrder[kind]; costs && s.budget[f] > 0 || !costs && s.world.Deadline > 0 {
				visit(Move{kind: mOrder, a: uint8(t), b: uint8(o)})
			}
		}
	}
	for i := range s.store.Senders {
		if s.budget[Drain] > 0 {
			visit(Move{kind: mDrain, a: uint8(i)})
		}
		if len(s.store.Senders[i].Reasons) > 0 {
			visit(Move{kind: mResume, a: uint8(i)})
		}
	}
	for q := range s.store.Queues {
		switch {
		case s.store.Queues[q].Paused != "":
			visit(Move{kind: mUnpause, a: uint8(q)})
		case s.budget[Pause] > 0:
			visit(Move{kind: mPause, a: uint8(q)})
		}
	}
	if s.away || s.budget[Away] > 0 {
		visit(Move{kind: mAway})
	}
	if s.budget[Forget] > 0 {
		visit(Move{kind: mLag})
	}
	if s.replica != nil {
		visit(Move{kind: mForget})
	}
	if s.broke || s.budget[Broke] > 0 {
		visit(Move{kind: mBroke})
	}
}

// prompt is what a process has to do; false if none has anything.
func (s *State) prompt() (Move, bool) {
	asked := *s
	asked.met, asked.story = nil, nil // it is not what happens
	for p := range s.procs {
		for t := range s.past {
			m := Move{kind: mRun, a: uint8(p), b: uint8(t)}
			if s.procs[p].alive && asked.Apply(m, nil) != nil {
				return m, true
			}
		}
	}
	return Move{}, false
}

func (s *State) movesOf(p uint8, visit func(Move)) {
	proc := &s.procs[p]
	if !proc.alive {
		visit(Move{kind: mStart, a: p})
		return
	}
	for t := range s.past {
		s.movesOfHeld(p, uint8(t), visit)
	}
	visit(Move{kind: mPoll, a: p})
	if s.world.Forgets > 0 {
		visit(Move{kind: mRecover, a: p})
	}
	if !proc.live {
		visit(Move{kind: mRenew, a: p})
	}
	if s.budget[Crash] > 0 || proc.draining {
		visit(Move{kind: mCrash, a: p})
	}
	if s.budget[Lapse] > 0 && proc.live {
		visit(Move{kind: mLapse, a: p})
	}
	if s.budget[Stop] > 0 && !proc.draining {
		visit(Move{kind: mStop, a: p})
	}
	if slices.ContainsFunc(s.store.Procs, func(o Proc) bool { return o.Lapsed }) {
		visit(Move{kind: mTakeOver, a: p})
	}
	if s.world.Width > 1 {
		for q := range s.store.Queues {
			visit(Move{kind: mJoin, a: p, b: uint8(q)})
		}
	}
	if slices.ContainsFunc(s.store.Records, func(r Record) bool { return r.Txn.Phase == lifecycle.PhaseWaiting }) {
		visit(Move{kind: mBind, a: p})
		if s.budget[LostReply] > 0 {
			visit(Move{kind: mBind, a: p, b: 1})
		}
	}
}

func (s *State) movesOfHeld(p, t uint8, visit func(Move)) {
	h := s.procs[p].held[t]
	if h == nil {
		if Owner(s.store.Records[t].Txn.Claim) == s.procs[p].id {
			visit(Move{kind: mPickUp, a: p, b: t})
		}
		return
	}
	visit(Move{kind: mRun, a: p, b: t})
	if s.budget[LostReply] > 0 {
		visit(Move{kind: mRun, a: p, b: t, c: replyLost})
		visit(Move{kind: mRun, a: p, b: t, c: requestLost})
	}
	if s.budget[Unheard] > 0 {
		visit(Move{kind: mRun, a: p, b: t, c: notConfirmed})
	}
	for _, w := range waysOf[h.call.Kind] {
		if f, costs := budgetOf[w]; !costs || s.budget[f] > 0 {
			visit(Move{kind: mEnd, a: p, b: t, c: uint8(w)})
		}
	}
	if h.stopped.Kind != "" {
		visit(Move{kind: mLate, a: p, b: t})
		lost := getsLost
		if h.stopped.Kind == lifecycle.Send || h.stopped.Kind == lifecycle.Submit {
			lost = lostOnTheWay
		}
		visit(Move{kind: mLate, a: p, b: t, c: uint8(lost)})
	}
	if !h.stale && s.store.Records[t].Txn != h.drive.Txn() {
		visit(Move{kind: mHear, a: p, b: t})
	}
}

func (s *State) movesOfChain(visit func(Move)) {
	s.movesOfBlock(mBlock, 0, visit)
	if _, settle, _ := s.world.depths(); s.budget[Reorg] > 0 {
		for depth := 1; depth < settle; depth++ {
			s.movesOfBlock(mReorg, uint8(depth), visit)
		}
	}
	for i := range s.net {
		if !s.net[i].known {
			visit(Move{kind: mArrive, a: uint8(i)})
		}
		if s.budget[Vanish] > 0 {
			visit(Move{kind: mVanish, a: uint8(i)})
		}
	}
	for i := range s.errand {
		visit(Move{kind: mErrand, a: uint8(i)})
	}
	if s.world.Nodes > 1 {
		visit(Move{kind: mSync})
	}
}

// movesOfBlock are what the next block, or the first of a rival, may hold.
func (s *State) movesOfBlock(k, depth uint8, visit func(Move)) {
	visit(Move{kind: k, c: depth})
	fates := []uint8{succeeded, failedMendable, failedForGood}
	if s.budget[FailIn] == 0 {
		fates = fates[:1]
	}
	for i := range uint8(len(s.net)) {
		for _, fate := range fates {
			visit(Move{kind: k, a: 1 + i, b: fate, c: depth})
			if s.world.PerBlock < 2 {
				continue
			}
			for j := range uint8(len(s.net)) {
				for _, second := range fates {
					visit(Move{kind: k, a: 1 + i, b: fate | second<<fateAt | (1+j)<<secondAt, c: depth})
				}
			}
		}
	}
	for i := range s.store.Senders {
		if s.budget[Outsider] > 0 {
			visit(Move{kind: k, a: 100 + uint8(i), c: depth})
		}
	}
}

// Apply has a move happen to a copy, in what another state has left or nil; nil if it
// cannot, or changes nothing.
func (s *State) Apply(m Move, left *State) *State {
	c := s.clone(left)
	if !c.apply(m) || c.tooFar() {
		return nil
	}
	return c
}

func (s *State) apply(m Move) bool {
	p := int(m.a)
	switch m.kind {
	case mRun:
		return s.run(p, int(m.b), int(m.c))
	case mEnd:
		return s.end(p, int(m.b), false, way(m.c))
	case mLate:
		return s.end(p, int(m.b), true, way(m.c))
	case mHear:
		return s.hear(p, int(m.b))
	case mPoll:
		s.tell("%s looks at the chain", s.procs[p].id)
		s.poll(p)
		return true
	case mBind:
		return s.bind(p, m.b == 1)
	case mJoin:
		return s.join(p, s.store.Queues[m.b].Name)
	case mPickUp:
		return s.pickUp(p, int(m.b))
	case mTakeOver:
		return s.takeOver(p)
	case mCallback:
		return s.callback(p)
	case mBlock, mReorg:
		return s.extend(m)
	case mArrive:
		return s.arrive(p)
	case mErrand:
		e := s.errand[p]
		s.errand = slices.Delete(slices.Clone(s.errand), p, p+1)
		s.tell("a worker that nobody waits for sends %s", e.cmd)
		s.onWire(e.cmd, true)
		return true
	case mTick:
		return s.tick()
	case mSync:
		return s.sync()
	case mLedger:
		return s.ledgerMoves(m)
	}
	return s.trouble(m, p)
}

// hear: a process is told that somebody else has changed what it drives.
func (s *State) hear(p, t int) bool {
	h := s.procs[p].held[t]
	now := s.store.Record(uid(t)).Txn
	if h == nil || h.stale || now.Revision == h.drive.Txn().Revision && merged(s.store.Record(uid(t))) == now {
		return false
	}
	if now.Revision == h.drive.Txn().Revision && sameFacts(s.store.Read(uid(t)), h.drive.Txn()) {
		return false
	}
	s.tell("%s hears that %s has changed", s.procs[p].id, uid(t))
	h = s.hold(p, t)
	h.drive.Stale()
	h.stale = true
	return true
}

func sameFacts(a, b *lifecycle.Transaction) bool {
	return slices.EqualFunc(a.Attempts, b.Attempts, func(x, y lifecycle.Attempt) bool {
		return x.Hash == y.Hash && x.NodeHash == y.NodeHash
	})
}

// bind binds a queue to a sender; lost: the process does not learn of it.
func (s *State) bind(p int, lost bool) bool {
	proc := &s.procs[p]
	if !proc.sure() || proc.draining || lost && !s.spend(LostReply) {
		return false
	}
	var plans []Plan
	for i, seen := range proc.seen {
		weighed := s.world.Market || s.world.FeeLimit+s.world.Allowance > 0 // each plan by itself
		if seen >= 0 && proc.tip.Fresh && proc.tip.Quorum && !weighed {
			plans = append(plans, Plan{Sender: account(i), Nonce: uint32(seen), Fee: s.policy.Fee,
				ValidUntil: s.policy.LastSlot(proc.tip), Slot: proc.tip.TipSlot})
		}
	}
	t := s.store.Bind(proc.id, nil, nil, plans)
	if t == nil {
		return false
	}
	s.tell("%s binds %s to %s", proc.id, t.Sender, t.UID)
	for i := range s.past {
		if s.past[i].untold && s.store.Records[i].Txn.Queue == t.Queue {
			s.refuse = t.UID + " is bound before the worker was told of " + uid(i)
		}
	}
	if lost {
		s.tell("  and does not learn of it")
		return true
	}
	s.list(p, t.Queue, []string{t.UID})
	s.drives(p, t, lifecycle.BoundHere)
	return true
}

// drives has a process drive what it has just bound.
func (s *State) drives(p int, t *lifecycle.Transaction, knows func(*lifecycle.Sender) lifecycle.Local) {
	proc := &s.procs[p]
	if known := proc.held[txnOf(t.UID)]; known != nil {
		h := s.hold(p, txnOf(t.UID)) // under a claim that was lost: it reads anew
		h.drive.Stale()
		h.stale = true
		return
	}
	sender := s.senderAsKnown(p, t.Sender)
	h := &held{drive: lifecycle.NewDrive(t, knows(&sender))}
	s.put(p, txnOf(t.UID), h)
	s.rewatch(h)
}

// pickUp begins to drive what the process has a claim of, and does not hold.
func (s *State) pickUp(p, t int) bool {
	txn := s.store.Read(uid(t))
	if s.procs[p].held[t] != nil {
		return false
	}
	if txn.Claim == "" || Owner(txn.Claim) != s.procs[p].id {
		return false
	}
	s.tell("%s finds its claim of %s", s.procs[p].id, txn.UID)
	s.relist(p, txn)
	h := &held{drive: lifecycle.NewDrive(txn, lifecycle.Local{})}
	if s.lacks(p, t, txn) {
		h.drive.Stale()
		h.stale, s.procs[p].shut = true, true
	}
	s.put(p, t, h)
	s.rewatch(h)
	s.remembers(p, t, txn, nil)
	return true
}

// takeOver moves the claims of whoever has lapsed.
func (s *State) takeOver(p int) bool {
	proc := &s.procs[p]
	if !proc.live {
		return false
	}
	for _, other := range slices.Clone(s.store.Procs) {
		if other.Lapsed && other.ID != proc.id {
			s.tell("%s takes over from %s", proc.id, other.ID)
			s.store.TakeOver(proc.id, other.ID)
			return true
		}
	}
	return false
}

// callback: a worker answers the callback of a transaction.
func (s *State) callback(t int) bool {
	r := s.store.Record(uid(t))
	if r.Txn.Callback == "" {
		return false
	}
	s.tell("the worker answers %s of %s", r.Txn.Callback, r.Txn.UID)
	s.store.Called(r.Txn.UID, r.Txn.Callback, true)
	s.past[t].untold = false
	return true
}

// tick: so much time passes that all that waits for a clock is due.
func (s *State) tick() bool {
	for p := range s.procs {
		for _, h := range s.procs[p].held {
			if h != nil && (h.call.Kind == lifecycle.Dispatch || h.call.Kind == lifecycle.Submit ||
				h.stopped.Kind == lifecycle.Submit) {
				return false // it ends in time
			}
		}
	}
	if s.replica != nil || s.store.Unsettled && !s.fair {
		return false // no replica lags for so long
	}
	s.tell("time passes")
	s.forgets()
	s.now = s.now.Add(tick)
	s.store.Now = s.now
	s.store.Tick()
	s.errand = nil // their calls have timed out, too
	s.ledger = slices.Clone(s.ledger)
	for t := range s.ledger {
		s.ledger[t].late = 0
	}
	for t := range s.past {
		s.past[t].untold = false // it has waited long enough
	}
	for p := range s.procs {
		seen := make([]int16, len(s.procs[p].seen))
		for i := range seen {
			seen[i] = -1
		}
		s.procs[p].seen = seen
	}
	return true
}
