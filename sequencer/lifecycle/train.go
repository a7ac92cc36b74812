package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// A Train is what of one queue is in flight on one sender, at successive nonces, around
// one transaction: each member is made on the state that those ahead of it leave, and
// Mina includes them in that order. Alone, both are empty.
//
// Three rules keep the promises. Nothing joins but behind members that a node has taken
// and that are still in order, or that are made beside it (unplaced.go), so that no nonce below
// an open one is free. Whose attempts have come to nothing begins nothing, and leaves to no end
// but DONE by a block, while any is behind it: those were made on a state that never came. And
// what has another ahead of it has no failure of its own: it goes back to its place.
type Train struct {
	Ahead, Behind []Member // in the order of the queue
	// Unseen: there are members that this process does not drive yet.
	Unseen bool
	// Held: nothing joins, for the queue is paused, the sender out of use, or the process to end.
	Held bool
	// Commuting: none of them requires what another makes. A failure in a block then uses a
	// nonce and breaks nothing, and they may take effect in any order.
	Commuting bool
}

// A Member is another transaction of a train, as the same process knows it.
type Member struct {
	Txn      *Transaction
	Sighting Sighting
	SentAt   time.Time // when its bytes were last given to the nodes, by Clock; zero if not here
	Accepted bool      // a node has taken them, which may not be stored yet
}

// MostWidth is the widest that a queue may be.
const MostWidth = 24

// MemberOf is a transaction as those around it see it.
func MemberOf(t *Transaction, g Sighting, l *Local) Member {
	a := t.Attempt(l.Said.Number)
	return Member{Txn: t, Sighting: g, SentAt: l.SentAt, Accepted: a != nil && a.Open() && l.Said.State == Sent}
}

// TrainOf is the train around the transaction uid of those that run of its queue, in order;
// member tells what is known of one, and false where that is nothing or out of date. So it is
// where one that runs is over by what is known: the list is the one of before, or the end is
// forgotten.
func TrainOf(run []string, uid string, member func(uid string) (Member, bool)) (t Train) {
	at := slices.Index(run, uid)
	if at < 0 {
		return t
	}
	see := func(uids []string) (all []Member) {
		for _, other := range uids {
			if m, seen := member(other); seen && m.Txn.Phase.Bound() {
				all = append(all, m)
			} else {
				t.Unseen = true
			}
		}
		return all
	}
	t.Ahead, t.Behind = see(run[:at]), see(run[at+1:])
	return t
}

// mayLand reports whether m has landed, or may, and nothing says that it has not and will not.
func (m *Member) mayLand() bool {
	switch m.Sighting.Fate {
	case FateFailed, FateDisplaced, FateExpired:
		return false
	}
	return m.Txn.Open() || m.Txn.shallow() != nil
}

// inOrder reports whether m may land at its nonce, and no other attempt is to be made. What a
// failover forgot is put back as dispatching, and sent by its last attempt.
func (m *Member) inOrder() bool {
	if !m.mayLand() || m.Txn.Legacy() {
		return false
	}
	switch last := m.Txn.Last(); m.Txn.Phase {
	case PhaseSent, PhaseWatching:
		return true
	case PhaseDispatching:
		return last.Open() && last.State != Called && last.State != Unknown
	}
	return false
}

// taken reports whether a node has, or had, the bytes of m.
func (m *Member) taken() bool {
	switch m.Sighting.Fate {
	case FatePooled, FateIncluded, FateFailed:
		return true
	}
	return m.Accepted || slices.ContainsFunc(m.Txn.Attempts, func(a Attempt) bool {
		return a.taken()
	})
}

// landed reports whether m succeeded in a block, if not deep enough to be DONE.
func (m *Member) landed() bool { return m.Sighting.Fate == FateIncluded }

// goesAlone reports whether what was signed of m may have nothing of its queue beside it.
func (m *Member) goesAlone() bool {
	return slices.ContainsFunc(m.Txn.Attempts, func(a Attempt) bool { return a.Open() && a.Alone })
}

// Failed reports whether m failed in a block, which is not settled yet.
func (m *Member) Failed() bool { return m.Sighting.Fate == FateFailed && m.Txn.Open() }

// rank is the most that m pays for each unit of its weight. What was found on the chain tells none,
// and weighs as much as the heaviest other attempt.
func (m *Member) rank() (most uint64) {
	heaviest := 1
	for i := range m.Txn.Attempts {
		heaviest = max(heaviest, m.Txn.Attempts[i].Weight)
	}
	for i := range m.Txn.Attempts {
		if a := &m.Txn.Attempts[i]; a.Open() {
			most = max(most, a.Fee/uint64(cmp.Or(a.Weight, heaviest)))
		}
	}
	return most
}

// holds reports whether something of m is open at a nonce.
func (m *Member) holds(nonce uint32) bool {
	open := m.Txn.FirstOpen()
	return open != nil && open.Nonce == nonce
}

// until is the last slot in which m can be included.
func (m *Member) until() (last uint32) {
	for i := range m.Txn.Attempts {
		if a := &m.Txn.Attempts[i]; a.Open() {
			last = max(last, a.ValidUntil)
		}
	}
	return last
}

// Surroundings are what one walk along a train, from the front, tells of those around a transaction.
type surroundings struct {
	last    *Member  // the one directly ahead, nil if none is
	open    *Attempt // of the last ahead that has something open, nil if none has
	waiting int      // how many ahead are in no block that counts for those behind
	first   *Member  // of these, the foremost
	lowest  *Member  // of these, the first of those that rank lowest
	// Of those ahead: one may have nothing beside it; one is still to be out; their nonces rise.
	barred, comes, rises bool
	// One ahead is not, or will not be, what was built on: it may still land, as it was to (broken);
	// or is being made, too (lost); or is counted as failed only if it may not land (unready).
	broken, lost, unready bool
	// mends: all ahead may land, or are to be tried again in their places.
	mends bool
	// Of those behind: something may still land, so its own bytes have to; or one has not come to its
	// end yet, nor is it to be tried again in its place, so nothing is begun ahead of it.
	holds, trails bool
}

// walk walks along t.
func (t *Train) walk() surroundings {
	w := surroundings{rises: rise(t.Ahead), mends: !t.Unseen}
	for i := range t.Ahead {
		w.passAhead(t, &t.Ahead[i])
	}
	for i := range t.Behind {
		m := &t.Behind[i]
		w.holds = w.holds || m.Txn.Open()
		w.trails = w.trails || !m.retries() && (!t.Commuting || !m.takesNone())
	}
	w.comes = w.comes && !w.barred
	return w
}

// passAhead passes a member ahead.
func (w *surroundings) passAhead(t *Train, m *Member) {
	ready, made := m.inOrder(), t.makes(m)
	w.broken = w.broken || !t.stands(m)
	w.lost = w.lost || !t.stands(m) && !made
	w.unready = w.unready || !ready && !made
	w.mends = w.mends && (ready || m.retries())
	w.barred = w.barred || m.goesAlone()
	w.comes = w.comes || made || t.Commuting && m.leaving()
	w.last = m
	if a := m.Txn.FirstOpen(); a != nil {
		w.open = a
	}
	if t.waits(m) {
		w.waitFor(m)
	}
}

// waitFor counts a member ahead that is in no block.
func (w *surroundings) waitFor(m *Member) {
	if w.waiting++; w.first == nil {
		w.first = m
	}
	if w.lowest == nil || m.rank() < w.lowest.rank() {
		w.lowest = m
	}
}

// stands reports whether what is behind m may go on.
func (t *Train) stands(m *Member) bool { return m.inOrder() || t.Commuting && m.Failed() }

// waits reports whether m is in no block that counts for those behind it.
func (t *Train) waits(m *Member) bool { return !m.landed() && (!t.Commuting || !m.Failed()) }

// alone reports whether nothing else is in flight.
func (t *Train) alone() bool { return len(t.Ahead)+len(t.Behind) == 0 && !t.Unseen }

// moves reports whether others may use nonces before it does: not those that are tried again
// behind it, which wait until it is in flight.
func (t *Train) moves() bool { return len(t.Ahead) > 0 || t.Unseen || t.walk().trails }

// Joins reports whether one more may be put behind the members of a train, all of them:
// each is in order and may have others beside it, the last has been taken by a node, and
// fewer than width are in no block. What joins is valid no longer than the last, so that one
// must have half of its time left. Where atOnce, how many may be with their worker at a time,
// is more than 1, those that are made need not be taken.
func (p *Policy) Joins(members []Member, width, atOnce int, tip Tip) bool {
	waiting, proving := 0, 0
	var last *Member // that is out
	for i := range members {
		m := &members[i]
		if !m.followed(atOnce) {
			return false
		}
		if m.inOrder() {
			last = m
		} else if m.Txn.Last().Pending() {
			proving++
		}
		if !m.landed() {
			waiting++
		}
	}
	room := len(members) > 0 && waiting < width && proving < atOnce
	return room && rise(members) && tip.Fresh && tip.Quorum && (last == nil || p.leads(last, atOnce, tip))
}

// followed reports whether one more may be put behind m, as far as m is concerned.
func (m *Member) followed(atOnce int) bool {
	return m.Txn.Ending == "" && !m.goesAlone() && (m.inOrder() || atOnce > 1 && m.making())
}

// leads reports whether one more may be put behind m, the last that is out.
func (p *Policy) leads(m *Member, atOnce int, tip Tip) bool {
	return (m.taken() || atOnce > 1 && m.leaving()) && m.Txn.FirstOpen().ValidUntil >= p.halfway(tip)
}

// rise reports whether the nonces of what is out of members rise in the order of the queue: what is watched
// again may stand below those that were made anew ahead of it.
func rise(members []Member) bool {
	var below *Attempt
	for i := range members {
		a := members[i].Txn.FirstOpen()
		if a != nil && below != nil && a.Nonce <= below.Nonce {
			return false
		}
		if a != nil {
			below = a
		}
	}
	return true
}

// halfway is the slot in which what is sent now has half of its time left.
func (p *Policy) halfway(tip Tip) uint32 { return upTo(max(tip.TipSlot, tip.Slot), p.ValidSlots/2) }

// follows is the nonce of what is planned behind others; false if those are not known, or not in
// order any more, or the last has failed: one behind it may have landed and be gone.
func (v *View) follows() (nonce uint32, ok bool) {
	w := v.Train.walk()
	if v.Train.Unseen || w.broken || w.barred || w.last.Failed() || !w.last.taken() || !w.rises {
		return nonce, false
	}
	a := w.last.Txn.FirstOpen()
	return following(a.Nonce), a.Nonce < following(a.Nonce)
}

// used reports whether the nonce that follows has been used: one that had landed behind the last is
// gone, and a reorganisation had the last, which had failed, wait again.
func (v *View) used() bool {
	nonce, ok := v.follows()
	s := v.Local.Asked.Sender
	return ok && s.Next != nil && *s.Next > nonce
}

// turnedBack has what is being dispatched go back to its place, or wait there, for what those ahead
// of it have come to.
func (v *View) turnedBack() (s Step, turned bool) {
	open, lost := v.Txn.Open(), v.Train.walk().lost
	switch {
	case v.Train.Unseen && !open:
		return v.wait(ReasonBehind), true
	case !v.behind():
		return s, false
	case open && lost:
		return v.outlived(), true
	case open, v.staysBehind(), v.proving():
		return s, false
	case lost:
		return v.yields(nil), true
	case v.Train.Held:
		return v.withheld(), true
	}
	return s, false
}

// waitsItsTurn holds back a fresh attempt while it is not its turn for a nonce.
func (v *View) waitsItsTurn() (s Step, turned bool) {
	around := v.Train.walk()
	again := v.Txn.Deferred > 0 && v.Txn.shallow() == nil
	switch {
	case around.trails:
		return v.wait(ReasonBroken), true
	case v.staysBehind(), v.behind() && again && !around.unready: // it went back already, and is asked again as the first
		return v.wait(ReasonBehind), true
	case v.behind() && again: // one of those ahead has failed, and waits until nothing is behind it
		return v.yields(nil), true
	case v.behind() && v.used():
		return v.wait(ReasonBehind), true
	}
	return s, false
}

// placeBehind gives it the nonce that follows those ahead or, while that is not known, one that is
// supposed.
func (v *View) placeBehind(a *Attempt) (s Step, placed bool) {
	nonce, inOrder := v.follows()
	switch {
	case inOrder:
		a.Nonce = nonce
	case !v.Train.walk().comes:
		return v.yields(nil), false
	case v.Txn.Last().provedAhead():
		return v.wait(ReasonBehind), false
	default:
		a.Nonce, a.State = v.Train.supposed(), Early
	}
	return s, true
}

// yields lets what has nothing open go back to its place without a try counted, for it was
// made on what others were to leave. It is asked again as the first of those in flight.
func (v *View) yields(e *Error) Step {
	u := v.with(func(t *Transaction) {
		dropPlan(v.Now)(t)
		if a := t.Last(); a != nil && a.State == Dropped && a.Cause == NoCause && e != nil {
			a.blame(CauseError, e)
		}
		if e != nil {
			t.Error = e
		}
		if e != nil || !t.Last().provedAhead() {
			t.Deferred++
		}
	})
	switch {
	case u.stops():
		return u.stopped()
	case u.Txn.shallow() != nil && v.Train.walk().mends:
		return u.staying(v.Policy.RetryDelay)
	}
	return u.back(ReasonBroken)
}

// withheld lets what is not out go back to its place, as if it had not joined. What is to be tried
// again in its place waits there.
func (v *View) withheld() Step {
	last := v.Txn.Last()
	planned := last != nil && last.Pending()
	u := v.with(func(t *Transaction) {
		if a := t.Last(); planned {
			a.drop(CauseHeld, &Error{Code: CodeHeld, Message: "taken back before it was out: nothing may be " +
				"in flight behind others now"}, v.Now)
		}
	})
	switch stays := v.Txn.shallow() != nil && v.Train.walk().mends; {
	case !stays:
		return u.back(ReasonHeld)
	case planned:
		return u.to(u.Txn.Phase, ReasonHeld)
	}
	return v.wait(ReasonHeld)
}

// outlived: what it was made on will not come, and something of it is out. That is watched until
// it has landed or cannot any more; then it goes back to its place.
func (v *View) outlived() Step {
	s := v.with(dropPlan(v.Now)).to(PhaseWatching, ReasonBroken)
	s.Txn.Ending = PhaseWaiting
	s.Local.Asked = Asked{}
	return s
}

// behind reports whether another is ahead, or may be.
func (v *View) behind() bool { return len(v.Train.Ahead) > 0 || v.Train.Unseen }

// inTurn holds back what leaves a train: for DONE until those ahead of it are, unless they
// will not land; for all else until none is behind.
func (v *View) inTurn(s Step) Step {
	if v.Train.alone() || s.Txn == nil || !v.Txn.Phase.Bound() || s.Txn.Phase.Bound() {
		return s
	}
	switch {
	case v.Train.Unseen:
		return v.wait(ReasonBehind)
	case s.Txn.Phase == PhaseDone && s.Txn.Landed > 0:
		if slices.ContainsFunc(v.Train.Ahead, func(m Member) bool { return m.mayLand() && !m.Sighting.Passed }) {
			return v.wait(ReasonBehind)
		}
		if len(v.Train.Ahead) > 0 && !v.Train.Commuting {
			s.Aside.Broke = true
			if s.Aside.Code == "" {
				s.Aside.Code = CodeOutOfOrder
			}
		}
	case len(v.Train.Behind) > 0 && !v.slips(&s):
		return v.wait(ReasonBroken)
	}
	return s
}

// stay keeps what a result would have leave a train while others are behind it: it leaves when
// none is.
func (v *View) stay(s Step) Step {
	followed := len(v.Train.Behind) > 0 || v.Train.Unseen
	if s.Txn == nil || !v.Txn.Phase.Bound() || s.Txn.Phase.Bound() || !followed || v.slips(&s) {
		return s
	}
	return v.detained(s)
}

// clear says when the bytes of v may be given to the nodes, by Clock, for those ahead:
// peers drop what comes before its predecessor. Zero: now. False: something has to happen
// first.
func (v *View) clear() (at time.Time, ok bool) {
	w := v.Train.walk()
	p := w.last
	switch {
	case v.Train.Unseen:
		return time.Time{}, false
	case p == nil, !v.Train.waits(p):
		return time.Time{}, true
	case w.broken:
		return time.Time{}, false
	case p.Sighting.Fate != FatePooled && !p.SentAt.After(v.Local.SentAt):
		return time.Time{}, false
	}
	return p.SentAt.Add(v.Policy.SendGap), true
}

// inTrain has bytes leave when it is their turn.
func (v *View) inTrain(send func() Step) Step {
	at, ok := v.clear()
	switch {
	case !ok:
		return v.wait(ReasonBehind)
	case at.After(v.Clock):
		return v.waitUntil(at, ReasonBehind)
	}
	return send()
}

// TrainResend is how often the members of a train are sent again that not every node shows:
// a peer that was given one before its predecessor has dropped it.
const TrainResend = 150 * time.Second

// resendEvery is how often what waits in a pool is sent again.
func (v *View) resendEvery() time.Duration {
	if !v.Train.alone() && !v.Sighting.Agreed {
		return TrainResend
	}
	return ResendEvery
}

// heads reports whether no other is ahead of it in no block: it is the first to linger.
func (v *View) heads() bool {
	return !v.Train.Unseen && v.Train.walk().waiting == 0
}
