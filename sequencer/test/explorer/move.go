package explorer

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
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
	mRestart
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
	if s.budget[Restart] > 0 {
		visit(Move{kind: mRestart})
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
	if s.budget[Silence] > 0 {
		visit(Move{kind: mPoll, a: p, c: inVain})
	}
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
	if slices.ContainsFunc(s.store.Records, func(r Record) bool { return r.Txn.Phase == tx.PhaseWaiting }) {
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
