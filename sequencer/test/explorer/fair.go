package explorer

import (
	"cmp"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

const (
	fairRounds = 60 // that all must end in once nothing goes wrong any more
	fairSteps  = 80 // of one drive, with nothing else happening
)

// Fair goes on from a state with nothing going wrong any more, everybody taking turns,
// until all has ended; it says what has not. known tells of a state that ends.
func (s *State) Fair(known func(*State) bool) string {
	c := s.clone(nil)
	c.story, c.met = s.story, nil
	c.budget = [faults]int8{}
	c.away, c.broke, c.fair, c.replica = false, false, true, nil
	for range fairRounds {
		if why := c.Check(); why != "" {
			return why + ", with nothing going wrong any more"
		}
		if c.ended() {
			return c.checkEnd()
		}
		if known != nil && known(c) {
			return ""
		}
		if !c.round() {
			return cmp.Or(c.refuse, "a process goes round in circles")
		}
	}
	return "it does not end"
}

// try has a move happen if it can.
func (s *State) try(m Move) bool {
	c := s.Apply(m, nil)
	if c == nil {
		return false
	}
	story := s.story
	*s = *c
	s.story = story
	return true
}

// round gives everybody a turn; false if a drive does not come to rest.
func (s *State) round() bool {
	s.net = slices.DeleteFunc(s.net, func(w wire) bool {
		// What is under way has got lost. What a legacy worker sent, and no pool shows or
		// can use, is never heard of again.
		next := s.chain[0].next(w.cmd.sender)
		return !w.known || w.cmd.until == 0 && (w.pool == 0 && w.cmd.nonce >= next || w.cmd.nonce > next)
	})
	for p := range s.procs {
		if s.procs[p].draining {
			s.crash(p)
		}
		if !s.procs[p].alive {
			s.start(p)
		}
	}
	for p := range s.procs {
		at := uint8(p)
		s.try(Move{kind: mRenew, a: at})
		for range 3 {
			s.try(Move{kind: mRecover, a: at})
		}
		s.try(Move{kind: mTakeOver, a: at})
		s.try(Move{kind: mPoll, a: at}) // as before a bind
		s.try(Move{kind: mBind, a: at})
		for t := range s.past {
			s.try(Move{kind: mPickUp, a: at, b: uint8(t)})
			s.try(Move{kind: mHear, a: at, b: uint8(t)})
			if !s.rest(at, uint8(t)) {
				return false
			}
		}
		for q := range s.store.Queues {
			if s.world.Width > 1 {
				s.try(Move{kind: mJoin, a: at, b: uint8(q)})
			}
		}
	}
	for t := range s.past {
		s.try(Move{kind: mCallback, a: uint8(t)})
	}
	for t := range s.past {
		if s.world.Deadline > 0 {
			s.try(Move{kind: mOrder, a: uint8(t), b: uint8(slices.Index(orders, tx.OrderExpire))})
		}
	}
	if s.refuse = cmp.Or(s.refuse, s.checkStops()); s.refuse != "" {
		return false
	}
	s.persons()
	if s.ledgerGoesOn(); s.world.Ledger == noLedger {
		s.build()
	}
	s.try(Move{kind: mSync})
	s.try(Move{kind: mTick})
	return true
}

// rest runs a drive, and answers what it asks for, until it waits for something else.
func (s *State) rest(p, t uint8) bool {
	for range fairSteps {
		h := s.procs[p].held[t]
		if h == nil {
			return true
		}
		if h.stopped.Kind != "" {
			if h.stopped.Kind == lifecycle.Submit {
				s.onItsWay(int(t))
			}
			s.hold(int(p), int(t)).stopped = lifecycle.Effect{}
		}
		if s.try(Move{kind: mRun, a: p, b: t}) || h.call.Kind != "" && s.try(Move{kind: mEnd, a: p, b: t}) {
			continue
		}
		return true
	}
	return false
}

// build makes a block of the first command that fits.
func (s *State) build() {
	for i := range s.net {
		if s.pooled(0, i) && s.try(Move{kind: mBlock, a: uint8(i) + 1}) {
			return
		}
	}
	s.try(Move{kind: mBlock})
}

// persons put right what only they can.
func (s *State) persons() {
	for i := range s.store.Senders {
		a := &s.store.Senders[i]
		for _, r := range a.Reasons {
			if r.Until.IsZero() && r.Why != tx.OutcomeUnknown {
				s.tell("a person resumes %s", a.Account)
				s.store.Resume(a.Account)
				break
			}
		}
	}
	for q := range s.store.Queues {
		s.try(Move{kind: mUnpause, a: uint8(q)})
	}
	for t := range s.past {
		txn := s.store.Records[t].Txn
		if txn.Phase == tx.PhaseUnresolved && txn.Open() {
			for o, kind := range orders {
				if kind == tx.OrderLanded || kind == tx.OrderDead {
					s.budget[Resolve] = 1
					s.try(Move{kind: mOrder, a: uint8(t), b: uint8(o)})
					s.budget[Resolve] = 0
				}
			}
		}
	}
}

// ended reports whether nothing is left to be done.
func (s *State) ended() bool {
	for i := range s.store.Records {
		t := s.store.Records[i].Txn
		if !t.Phase.Final() || t.Claim != "" || t.Callback != "" {
			return false
		}
	}
	return true
}

// checkEnd: what is DONE by a block has its effect, and nobody holds anything.
func (s *State) checkEnd() string {
	for i := range s.store.Records {
		t := s.store.Records[i].Txn
		if s.world.Ledger == noLedger && t.Phase == tx.PhaseDone && t.Landed > 0 && s.effectOf(int8(i)) == nil {
			return t.UID + " ends DONE, and no effect"
		}
	}
	for i := range s.store.Senders {
		if a := &s.store.Senders[i]; a.Queue != "" {
			return a.Account + " stays bound when all is over"
		}
	}
	if len(s.store.Landed) > 0 {
		return s.store.Landed[0].UID + " still stands as what may be orphaned when all is over"
	}
	return ""
}
