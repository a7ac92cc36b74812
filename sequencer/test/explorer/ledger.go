package explorer

import (
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A ledgerKind says whether a world's transactions are batches, and for which ledger.
type ledgerKind int

const (
	noLedger ledgerKind = iota
	sawtooth            // the same batch posted again is the same batch
	scabbard            // it is executed once more
)

// An entry is what is true of a batch at its ledger.
type entryOf struct {
	stands lifecycle.BatchState
	times  uint8 // that it took effect
	place  uint8 // of the first among all effects
	late   uint8 // posts on their way
}

// enqueueBatches makes batches of what waits.
func (s *State) enqueueBatches() {
	if s.world.Ledger == noLedger {
		return
	}
	s.ledger = make([]entryOf, len(s.past))
	for i := range s.store.Records {
		t := *s.store.Records[i].Txn
		t.Ledger, t.BatchID = "L", t.UID
		s.store.Records[i].Txn = &t
		s.ledger[i].stands = lifecycle.BatchUnknown
	}
}

// batchOf is what a process knows of a batch beside its record.
func (s *State) batchOf(p, t int) lifecycle.Batch {
	if s.world.Ledger == noLedger {
		return lifecycle.Batch{}
	}
	b := lifecycle.Batch{Known: true, Idempotent: s.world.Ledger == sawtooth}
	if h := s.procs[p].held[t]; h != nil {
		b.Seen = h.seen
	}
	return b
}

// askLedger has a process look at what the ledger says of its batches.
func (s *State) askLedger(p int) {
	for t, h := range s.procs[p].held {
		if s.world.Ledger == noLedger || h == nil || !lifecycle.FollowsBatch(h.drive.Txn()) {
			continue
		}
		u := *h
		u.seen = lifecycle.BatchSeen{At: s.now, Since: s.now, Asked: s.now, State: s.ledger[t].stands}
		if u.seen.State == lifecycle.BatchInvalid {
			u.seen.Refused = tx.Error{Code: tx.CodeInvalid, Message: "refused"}
		}
		s.put(p, t, &u)
		if s.met != nil {
			s.met.Standings[u.seen.State]++
		}
	}
}

// inVain is the c of a look at a ledger that says nothing.
const inVain uint8 = 1

// askInVain has a process ask for its batches, and hear nothing of them; false if it has none.
func (s *State) askInVain(p int) (asked bool) {
	s.now = s.now.Add(time.Nanosecond)
	s.store.Now = s.now
	s.tell("the ledger says nothing to %s", s.procs[p].id)
	for t, h := range s.procs[p].held {
		if h == nil || !lifecycle.FollowsBatch(h.drive.Txn()) {
			continue
		}
		u := *h
		if u.seen.Asked.Equal(u.seen.At) {
			u.seen.Since = s.now
		}
		u.seen.Asked, asked = s.now, true
		s.put(p, t, &u)
	}
	return asked
}

// posted is that a batch gets to its ledger.
func (s *State) posted(t int) {
	s.ledger = slices.Clone(s.ledger)
	e := &s.ledger[t]
	if s.world.Ledger == sawtooth && e.stands != lifecycle.BatchUnknown {
		return
	}
	e.stands = lifecycle.BatchPending
}

// onItsWay is that a batch may get there later.
func (s *State) onItsWay(t int) {
	s.ledger = slices.Clone(s.ledger)
	s.ledger[t].late++
}

// endOfSubmit: the ledger takes it, or not, or nobody knows.
func (s *State) endOfSubmit(t int, h *held, w way) lifecycle.Result {
	r := lifecycle.SubmitTold{Call: h.call, Outcome: lifecycle.SubmitUnknown,
		Error: tx.Error{Code: "L", Message: "a ledger's error"}}
	switch w {
	case answered:
		s.posted(t)
		r.Outcome, r.Error = lifecycle.SubmitAccepted, tx.Error{}
	case lostOnTheWay:
		s.onItsWay(t)
	case lostBehind:
		s.posted(t)
	case busy:
		r.Outcome = lifecycle.SubmitBusy
	case unreached:
		r.Outcome = lifecycle.SubmitHeld
	case hopeless:
		r.Outcome = lifecycle.SubmitRejected
	}
	if s.met != nil {
		s.met.Submits[r.Outcome]++
	}
	return r
}

// What a ledger does by itself: the c of a move.
const (
	commits uint8 = iota
	refuses
	forgetsIt
	receives // what was on its way
	losesIt  // on its way
)

func (s *State) movesOfLedger(visit func(Move)) {
	for t := range s.ledger {
		e := &s.ledger[t]
		if e.stands == lifecycle.BatchPending {
			visit(Move{kind: mLedger, a: uint8(t), c: commits})
			if s.budget[FailIn] > 0 {
				visit(Move{kind: mLedger, a: uint8(t), c: refuses})
			}
		}
		if e.stands != lifecycle.BatchUnknown && s.budget[Vanish] > 0 {
			visit(Move{kind: mLedger, a: uint8(t), c: forgetsIt})
		}
		if e.late > 0 {
			visit(Move{kind: mLedger, a: uint8(t), c: receives})
			visit(Move{kind: mLedger, a: uint8(t), c: losesIt})
		}
	}
}

func (s *State) ledgerMoves(m Move) bool {
	t := int(m.a)
	s.ledger = slices.Clone(s.ledger)
	e := &s.ledger[t]
	pending := e.stands == lifecycle.BatchPending
	switch {
	case m.c == commits && pending:
		s.tell("the ledger commits %s", uid(t))
		e.stands = lifecycle.BatchCommitted
		if e.times++; e.times == 1 {
			for i := range s.ledger {
				if i != t && s.ledger[i].times > 0 {
					e.place = max(e.place, s.ledger[i].place+1)
				}
			}
		}
		return true
	case m.c == refuses && pending && s.spend(FailIn):
		s.tell("the ledger refuses %s", uid(t))
		e.stands = lifecycle.BatchInvalid
		return true
	case m.c == forgetsIt && e.stands != lifecycle.BatchUnknown && s.spend(Vanish):
		// Sawtooth never forgets what it has committed.
		if s.world.Ledger == sawtooth && e.stands == lifecycle.BatchCommitted {
			return false
		}
		s.tell("the ledger forgets %s, which was %s", uid(t), e.stands)
		e.stands = lifecycle.BatchUnknown
		return true
	case m.c == receives && e.late > 0:
		s.tell("the ledger gets %s at last", uid(t))
		e.late--
		s.posted(t)
		return true
	case m.c == losesIt && e.late > 0:
		s.tell("what was on its way of %s is lost", uid(t))
		e.late--
		return true
	}
	return false
}

// ledgerGoesOn is its part in the fair schedule.
func (s *State) ledgerGoesOn() {
	for t := range s.ledger {
		for s.ledger[t].late > 0 {
			s.try(Move{kind: mLedger, a: uint8(t), c: losesIt})
		}
		s.try(Move{kind: mLedger, a: uint8(t), c: commits})
	}
}

// mayPost checks what is about to be posted. By a process that does not know yet that the
// store has forgotten something, the replicas have it, where they are asked.
func (s *State) mayPost(proc *process, t int, h *held) {
	r := s.store.Record(uid(t))
	a := r.Txn.Attempt(h.call.Number)
	switch {
	case s.store.Unsettled && s.world.vouched() && (a == nil || !a.Open()):
		s.refuse = "a batch is posted that no replica has confirmed"
	case s.store.Unsettled:
	case !proc.live || Owner(r.Txn.Claim) != proc.id:
		s.refuse = "a batch is posted without a claim"
	case a == nil || !a.Open():
		s.refuse = "a batch is posted before that is stored"
	case s.world.Ledger == scabbard && !h.call.Fresh:
		s.refuse = "a batch is posted again that would be executed again"
	}
}

// saysOf reports whether what a person says of a batch is true.
func (s *State) saysOf(t int, kind tx.OrderKind) bool {
	e := &s.ledger[t]
	switch kind {
	case tx.OrderLanded:
		return e.times > 0
	case tx.OrderRetry: // which is refused where a ledger would take it for another one
		return s.world.Ledger == sawtooth || e.times == 0 && e.late == 0 && e.stands != lifecycle.BatchPending && !s.posts(t)
	case tx.OrderDead:
		return e.times == 0 && e.late == 0 && e.stands != lifecycle.BatchPending && !s.posts(t)
	}
	return true
}

// posts reports whether a process is posting a batch.
func (s *State) posts(t int) bool {
	return slices.ContainsFunc(s.procs, func(p process) bool {
		h := p.held[t]
		return h != nil && (h.call.Kind == lifecycle.Submit || h.stopped.Kind == lifecycle.Submit)
	})
}

// checkBatches: each takes effect once, in the order of its queue, and its end is true.
func (s *State) checkBatches() string {
	for i := range s.ledger {
		e, t := &s.ledger[i], s.store.Records[i].Txn
		switch {
		case s.past[i].unknown:
		case e.times > 1:
			return t.UID + " has taken effect twice"
		case t.Phase == tx.PhaseDone && e.times == 0:
			return t.UID + " is DONE, and no effect"
		case t.Phase.Final() && t.Phase != tx.PhaseDone && t.Claim == "" && e.times > 0 && !s.store.Unsettled:
			return t.UID + " is " + string(t.State()) + ", unwatched, and took effect"
		}
		for k := range i {
			f, u := &s.ledger[k], s.store.Records[k].Txn
			if u.Queue == t.Queue && e.times > 0 && f.times > 0 && e.place < f.place && !s.past[k].ended {
				return t.UID + " took effect before " + u.UID
			}
		}
	}
	return ""
}

// worldsOfLedgers have batches, and no chain.
func worldsOfLedgers() []*World {
	var all []*World
	for name, kind := range map[string]ledgerKind{"Sawtooth": sawtooth, "Scabbard": scabbard} {
		both := func(rest string, w World) {
			w.Name, w.Ledger = name+": "+rest, kind
			all = append(all, &w)
		}
		both("losses and crashes", World{Slow: true,
			Budget: Budget{Crash: 1, LostSend: 2, LostReply: 1, Vanish: 1, FailIn: 1}})
		both("answers", World{Retries: 1, Budget: Budget{LostSend: 1, Busy: 5, Hopeless: 1, FailIn: 1, Stop: 1, Crash: 1}})
		both("persons", World{Retries: 1, Budget: Budget{LostSend: 1, Cancel: 1, Retry: 1, Resolve: 1, FailIn: 1, Busy: 1}})
		both("a deadline", World{Deadline: 1, Retries: 1,
			Budget: Budget{LostSend: 1, Busy: 1, Cancel: 1, Retry: 1, Crash: 1}})
		both("two processes", World{Procs: 2, Budget: Budget{Lapse: 1, LostSend: 1}})
		both("two of a queue", World{Queues: []int{2}, Budget: Budget{LostSend: 1, FailIn: 1}})
		both("silence", World{Retries: 1, Budget: Budget{Silence: 3, LostSend: 1, Resolve: 1, Vanish: 1}})
		both("replicas", World{Replicas: true, Budget: Budget{Unheard: 1, Crash: 1, LostSend: 1}})
		both("forgets", World{Forgets: 2, Budget: Budget{Forget: 1, LostSend: 1}})
		if kind == sawtooth { // what a dead process has on its way to Scabbard, no look at that shows
			both("forgets and dies", World{Forgets: 2, Budget: Budget{Forget: 1, Crash: 1}})
		}
		both("forgets, and replicas confirm", World{Replicas: true, Forgets: 2,
			Budget: Budget{Forget: 1, Crash: 1, LostSend: 1}})
	}
	slices.SortFunc(all, func(a, b *World) int { return strings.Compare(a.Name, b.Name) })
	return all
}
