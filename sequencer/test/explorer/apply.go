package explorer

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

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
		if !s.polls(p) {
			return false
		}
		if m.c == inVain {
			return s.spend(Silence) && s.askInVain(p)
		}
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

func sameFacts(a, b *tx.Transaction) bool {
	return slices.EqualFunc(a.Attempts, b.Attempts, func(x, y tx.Attempt) bool {
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
			plans = append(plans, Plan{Sender: account(i), Nonce: uint32(seen), Fee: s.policyOf(p).Fee,
				ValidUntil: s.policyOf(p).LastSlot(proc.tip), Slot: proc.tip.TipSlot})
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
func (s *State) drives(p int, t *tx.Transaction, knows func(*lifecycle.Sender) lifecycle.Local) {
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
		h.stale = true
		s.elsewhere(p)
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
	s.store.Called(r.Txn.UID, tx.Told{Callback: r.Txn.Callback, Done: true})
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
