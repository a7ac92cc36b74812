package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Train is a pipeline: the transactions of one queue that are in flight on one sender, at
// successive nonces, around one of them. Each is proved on the state that its predecessors leave,
// and Mina includes them in that order. With no other in flight, Ahead and Behind are empty.
//
// Three rules keep the promises:
//   - A transaction joins only behind members that are in order and that a node has accepted, or
//     that are being proved beside it (unplaced.go). So there is never a nonce gap.
//   - A member that failed begins no new attempt, and ends by nothing but a block, while others are
//     behind it: they were proved on a state that never came.
//   - A member with others ahead of it never counts a failure as its own. It goes back to its
//     position in the queue.
type Train struct {
	Ahead, Behind []Member // in the order of the queue
	// Unseen: there are members that this process does not drive yet.
	Unseen bool
	// Held: nothing joins, for the queue is paused, the sender out of use, or the process to end.
	Held bool
	// Commuting: none of them requires what another makes. A failure in a block then uses a
	// nonce and breaks nothing, and they may take effect in any order.
	Commuting bool
	// Builds: they are chained, and their worker proves several at a time and tells before what each
	// does, so that they may be proved side by side, too.
	Builds bool
	// Width is the most that may have a nonce and be in no block, where members are made side by side.
	Width int
}

// A Member is another transaction of a train, as the same process knows it.
type Member struct {
	Txn          *tx.Transaction
	Sighting     tx.Sighting
	SentAt       time.Time // when its bytes were last given to the nodes, by Clock; zero if not here
	JustAccepted bool      // a node has accepted them, which may not be stored yet
	Built        Built     // what its worker has said that its attempt does
}

// MostWidth is the widest that a queue may be.
const MostWidth = 24

// MemberOf is a transaction as those around it see it.
func MemberOf(t *tx.Transaction, g tx.Sighting, l *Local) Member {
	a := t.Attempt(l.Said.Number)
	return Member{Txn: t, Sighting: g, SentAt: l.SentAt, Built: l.Built, JustAccepted: a != nil && a.Open() &&
		l.Said.State == tx.Sent}
}

// TrainOf is the train around the transaction uid, of those of its queue that are in flight, in
// order. member tells what is known of one, and false if that is nothing or out of date. A member
// that has ended is Unseen, too: either the list is stale, or Redis has forgotten the end.
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

// mayLand reports whether m has landed or can still land.
func (m *Member) mayLand() bool {
	return !m.Sighting.Fate.Ends() && m.Txn.MayLand()
}

// InOrder reports whether m may land at its nonce, and needs no other attempt. What Redis forgot
// and got back is dispatching, and is sent by its last attempt.
func (m *Member) InOrder() bool {
	if !m.mayLand() || m.Txn.Legacy() {
		return false
	}
	switch last := m.Txn.Last(); m.Txn.Phase {
	case tx.PhaseSent, tx.PhaseWatching:
		return true
	case tx.PhaseDispatching:
		return last.Open() && last.State != tx.Called && last.State != tx.Unknown
	}
	return false
}

// accepted reports whether a node has accepted the bytes of m.
func (m *Member) accepted() bool {
	return m.Sighting.Fate.Shown() || m.JustAccepted || m.Txn.Find((*tx.Attempt).Accepted) != nil
}

// goesAlone reports whether what was signed of m may have nothing of its queue beside it.
func (m *Member) goesAlone() bool {
	last := m.Txn.Last()
	return last != nil && m.Built.Alone && m.Built.Number == last.Number ||
		m.Txn.Find(func(a *tx.Attempt) bool { return a.Open() && a.Alone }) != nil
}

// Failed reports whether m failed in a block that is not deep enough to count yet.
func (m *Member) Failed() bool { return m.Sighting.Fate == tx.FateFailed && m.Txn.Open() }

// rank is the most that m pays for each unit of its weight. An attempt that was restored from the
// chain has no weight: the heaviest known of m stands for it.
func (m *Member) rank() (most uint64) {
	heaviest := 1
	for i := range m.Txn.Attempts {
		heaviest = max(heaviest, m.Txn.Attempts[i].Weight)
	}
	for a := range m.Txn.AllOpen() {
		most = max(most, a.Fee/uint64(cmp.Or(a.Weight, heaviest)))
	}
	return most
}

// until is the last slot in which m can be included.
func (m *Member) until() (last uint32) {
	for a := range m.Txn.AllOpen() {
		last = max(last, a.ValidUntil)
	}
	return last
}

// Surroundings are what one walk along a train, from the front, tells of those around a transaction.
type Surroundings struct {
	// Of those ahead.
	// foremost are the first that stand so, nil where none does; Broken is the first that is out of
	// order: what was built on it stands on nothing.
	foremost [standings]*Member
	Broken   *Member
	ready    *Member     // the last that is
	Last     *Member     // the direct predecessor, nil if there is none
	open     *tx.Attempt // of the last that has something open, nil if none has
	Waiting  int         // how many are in no block that counts for their successors
	placed   int         // how many of these have a nonce
	First    *Member     // the foremost of these
	lowest   *Member     // the first of these that ranks lowest
	barred   bool        // one may have nothing beside it
	comes    bool        // one is still being proved or sent
	rises    bool        // their nonces rise
	ending   bool        // one has an end to come to
	proving  int         // how many are planned, and being made
	unbuilt  bool        // one is being made, and nobody knows yet what it does
	mayLand  bool        // one may land, or has landed and is not DONE yet
	mends    bool        // all may land, or are to be tried again in their positions
	// Of those behind.
	SuccessorOpen bool // one may still land, so its predecessor's bytes have to
	trails        bool // one is not over, nor to be tried again there: nothing begins ahead of it
}

// Walk goes along the train once.
func (t *Train) Walk() Surroundings {
	w := Surroundings{rises: true, mends: !t.Unseen}
	for i := range t.Ahead {
		w.countAhead(t, &t.Ahead[i])
	}
	for i := range t.Behind {
		m := &t.Behind[i]
		w.SuccessorOpen = w.SuccessorOpen || m.Txn.Open()
		w.trails = w.trails || !m.retries() && (!t.SideBySide() || !m.takesNone())
	}
	w.comes = w.comes && !w.barred
	return w
}

// A standing is where a member stands to those behind it.
type standing int

// All standings.
const (
	ready  standing = iota // it may land at its nonce, and needs no other attempt
	spent                  // it failed in a block, and those behind it do not need it
	made                   // it is being made
	fallen                 // it needs another attempt, and nobody makes one
	standings
)

// standing is how m stands to those behind it.
func (t *Train) standing(m *Member) standing {
	switch {
	case m.InOrder():
		return ready
	case t.Commuting && m.Failed():
		return spent
	case t.makes(m):
		return made
	}
	return fallen
}

// Lost is the first ahead that is out of order, and that nobody is making anew.
func (w *Surroundings) Lost() *Member { return w.foremost[fallen] }

// unready is lost, and what failed without breaking anything counts as well.
func (w *Surroundings) unready() bool { return w.Lost() != nil || w.foremost[spent] != nil }

func (w *Surroundings) countAhead(t *Train, m *Member) {
	as := t.standing(m)
	w.foremost[as] = cmp.Or(w.foremost[as], m)
	w.Broken = cmp.Or(w.Broken, w.foremost[made], w.foremost[fallen])
	w.mends = w.mends && (as == ready || m.retries())
	w.mayLand = w.mayLand || m.mayLand() && !m.Sighting.Pruned
	w.barred = w.barred || m.goesAlone()
	w.ending = w.ending || m.Txn.Ending != ""
	w.comes = w.comes || as == made || t.SideBySide() && m.leaving()
	switch w.Last = m; as {
	case ready:
		w.ready = m
	case made:
		w.countMade(m)
	}
	if a := m.Txn.FirstOpen(); a != nil {
		w.countOpen(a)
	}
	if t.waits(m) {
		w.waitFor(m)
	}
}

// countOpen notes what is open of a member ahead. What a reorg has watched again may stand below those
// that were made anew ahead of it.
func (w *Surroundings) countOpen(a *tx.Attempt) {
	w.rises = w.rises && (w.open == nil || a.Nonce > w.open.Nonce)
	w.open = a
}

// countMade counts a member ahead that is being made.
func (w *Surroundings) countMade(m *Member) {
	if m.Txn.Last().Pending() {
		w.proving++
	}
	w.unbuilt = w.unbuilt || m.Leaves() == ""
}

// waitFor counts a member ahead that is in no block.
func (w *Surroundings) waitFor(m *Member) {
	if m.Txn.Open() {
		w.placed++
	}
	w.Waiting++
	w.First = cmp.Or(w.First, m)
	if w.lowest == nil || m.rank() < w.lowest.rank() {
		w.lowest = m
	}
}

// waits reports whether m is in no block that counts for those behind it.
func (t *Train) waits(m *Member) bool {
	return m.Sighting.Fate != tx.FateIncluded && (!t.Commuting || !m.Failed())
}

// alone reports whether nothing else is in flight.
func (t *Train) alone() bool { return len(t.Ahead)+len(t.Behind) == 0 && !t.Unseen }

// moves reports whether another member may take one of the sender's nonces first. Those that are
// tried again behind it do not: they wait until it is in flight.
func (t *Train) moves() bool { return len(t.Ahead) > 0 || t.Unseen || t.Walk().trails }

// Joins reports whether one more may be put behind the members of a train: each is in order and
// may have others beside it, a node has accepted the last, and fewer than width are in no block.
// The one that joins expires no later than its predecessor, so the predecessor must have half of
// its validity left. atOnce is how many their worker may prove at a time; above 1, members that are
// still being proved need not be accepted yet, if it is known what they do or, where none builds,
// nothing requires that. So many may be made beside the width, for what is made has no nonce yet.
func (p *Policy) Joins(members []Member, width, atOnce int, builds bool, tip Tip) bool {
	t := Train{Ahead: members, Commuting: !builds, Builds: builds}
	w := t.Walk()
	room := w.Last != nil && w.Waiting < width+Spare(width, atOnce) && w.proving < atOnce
	sound := !w.unready() && !w.ending && !w.barred && w.rises
	known := w.foremost[made] == nil || atOnce > 1 && (!builds || !w.unbuilt)
	return room && sound && known && tip.Fresh && tip.Quorum && (w.ready == nil || p.mayPrecede(w.ready, atOnce, tip))
}

// Spare is how many may be made beside a width, of which so many are made at a time.
func Spare(width, atOnce int) int {
	if atOnce < 2 {
		return 0
	}
	return max(0, min(atOnce, MostWidth-width))
}

// mayPrecede reports whether one more may join behind m, the last that is in flight.
func (p *Policy) mayPrecede(m *Member, atOnce int, tip Tip) bool {
	return (m.accepted() || atOnce > 1 && m.leaving()) && m.Txn.FirstOpen().ValidUntil >= p.halfway(tip)
}

// halfway is the slot in which a command that is sent now has half of its validity left.
func (p *Policy) halfway(tip Tip) uint32 { return upTo(max(tip.TipSlot, tip.Slot), p.ValidSlots/2) }

// nextNonce is the one behind the predecessors' nonces. False if they are not known or not in order,
// or if the last has failed: a successor of that may have landed and left.
func (v *View) nextNonce() (nonce uint32, ok bool) {
	w := v.Train.Walk()
	if v.Train.Unseen || w.Broken != nil || w.barred || w.Last.Failed() || !w.Last.accepted() || !w.rises {
		return nonce, false
	}
	a := w.Last.Txn.FirstOpen()
	return following(a.Nonce), a.Nonce < following(a.Nonce)
}

// nextNonceUsed reports whether the nonce behind the predecessors' is used already: a reorg put the
// last one, which had failed, back into the pool after its successor had landed.
func (v *View) nextNonceUsed() bool {
	nonce, ok := v.nextNonce()
	s := v.Local.Asked.Sender
	return ok && s.Next != nil && *s.Next > nonce
}

// heldBack has a transaction that is being dispatched wait, or go back to its position, for what has
// become of its predecessors.
func (v *View) heldBack() (s Step, turned bool) {
	open, lost := v.Txn.Open(), v.lost()
	switch {
	case v.Train.Unseen && !open:
		return v.wait(ReasonBehind), true
	case !v.hasPredecessor():
		return s, false
	case open && lost:
		return v.outlived(), true
	case open, v.StaysBehind(), v.proving() && (v.Train.Commuting || !lost):
		return s, false
	case lost:
		return v.yields(nil), true
	case v.Train.Held:
		return v.withheld(), true
	}
	return s, false
}

// awaitsNonce holds back a fresh attempt that may not take a nonce yet.
func (v *View) awaitsNonce() (s Step, turned bool) {
	around := v.Train.Walk()
	again := v.Txn.Deferred > 0 && v.Txn.Shallow() == nil
	switch {
	case around.trails:
		return v.wait(ReasonBroken), true
	case v.StaysBehind(), v.hasPredecessor() && again && !around.unready():
		// It went back already, and is dispatched again once nothing is ahead of it.
		return v.wait(ReasonBehind), true
	case v.hasPredecessor() && again: // a predecessor has failed, and waits until nothing is behind it
		return v.yields(nil), true
	case v.hasPredecessor() && v.nextNonceUsed():
		return v.wait(ReasonBehind), true
	}
	return s, false
}

// placeBehind gives a the nonce behind its predecessors' or, while one of these is being proved or as
// many have one as may, a supposed one.
func (v *View) placeBehind(a *tx.Attempt) (s Step, placed bool) {
	nonce, inOrder := v.nextNonce()
	w := v.Train.Walk()
	full := v.Train.SideBySide() && v.Train.Width > 0 && w.placed >= v.Train.Width
	switch {
	case inOrder && !full:
		a.Nonce, s.Aside.Follows = nonce, &a.Nonce
	case !inOrder && !w.comes:
		return v.yields(nil), false
	case v.Train.Builds && w.unbuilt:
		return v.wait(ReasonBehind), false
	case v.Txn.Last().KeptProof():
		return v.wait(ReasonBehind), false
	default:
		a.Nonce, a.State = v.Train.supposed(), tx.Unplaced
	}
	return s, true
}

// yields returns a transaction that has nothing open to its position in the queue. No retry counts:
// the state that it was proved on never came. It is dispatched again once nothing is ahead of it.
func (v *View) yields(e *tx.Error) Step {
	u := v.with(func(t *tx.Transaction) {
		dropPlan(v.Now)(t)
		if e != nil {
			t.Error = e
			if a := t.Last(); a != nil && a.State == tx.Dropped && a.Cause == tx.NoCause {
				a.Blame(tx.CauseError, e)
			}
		}
		if e != nil || !t.Last().ProvedAhead() && !v.Train.Builds {
			t.Deferred++
		}
	})
	switch {
	case u.Stops():
		return u.stopped()
	case u.Txn.Shallow() != nil && v.Train.Walk().mends:
		return u.retryInPlace(v.Policy.RetryDelay)
	}
	return u.back(ReasonBroken)
}

// withheld returns a transaction that has nothing out to its position, as if it had not joined. One
// that is to be tried again where it is waits there.
func (v *View) withheld() Step {
	planned := v.Txn.Last().Pending()
	u := v.with(func(t *tx.Transaction) {
		if a := t.Last(); planned {
			a.Drop(tx.CauseHeld, &tx.Error{Code: tx.CodeHeld, Message: "taken back before it was out: nothing may be " +
				"in flight behind others now"}, v.Now)
		}
	})
	switch stays := v.Txn.Shallow() != nil && v.Train.Walk().mends; {
	case !stays:
		return u.back(ReasonHeld)
	case planned:
		return u.to(u.Txn.Phase, ReasonHeld)
	}
	return v.wait(ReasonHeld)
}

// outlived: a predecessor is lost, and something of its own is in flight. It is watched until that has
// landed or cannot land any more, and then goes back to its position.
func (v *View) outlived() Step {
	s := v.with(dropPlan(v.Now)).to(tx.PhaseWatching, ReasonBroken)
	s.Txn.Ending = tx.PhaseWaiting
	s.Local.Asked = Asked{}
	return s
}

// hasPredecessor reports whether another is, or may be, ahead of it.
func (v *View) hasPredecessor() bool { return len(v.Train.Ahead) > 0 || v.Train.Unseen }

// unsentBehind reports whether nothing of it is in flight, and another is ahead of it.
func (v *View) unsentBehind() bool { return v.hasPredecessor() && !v.Txn.Open() }

// endInOrder delays an end. DONE waits until the predecessors are DONE or cannot land; every other
// end waits until nobody is behind.
func (v *View) endInOrder(s Step) Step {
	if v.Train.alone() || !v.leaves(&s) {
		return s
	}
	switch me := (Member{Txn: v.Txn}); {
	case v.Train.Unseen:
		return v.wait(ReasonBehind)
	case s.Txn.Landed > 0:
		return v.landInOrder(s)
	case len(v.Train.Behind) == 0, s.Aside.Slips:
		return s
	case v.Train.Builds && me.making() && !v.lost() && !v.Train.Held:
		return v.detained(s) // else those behind it would go on waiting for it
	}
	return v.wait(ReasonBroken)
}

// landInOrder delays what has landed before one ahead of it, which may yet land.
func (v *View) landInOrder(s Step) Step {
	w := v.Train.Walk()
	switch {
	case w.mayLand:
		return v.wait(ReasonBehind)
	case w.Last != nil && !v.Train.Commuting:
		s.Aside.Broke, s.Aside.Code = true, cmp.Or(s.Aside.Code, tx.CodeOutOfOrder)
	}
	return s
}

// keepInTrain keeps a transaction that a result would end in its train until nobody is behind it.
func (v *View) keepInTrain(s Step) Step {
	if followed := len(v.Train.Behind) > 0 || v.Train.Unseen; followed && v.leaves(&s) && !s.Aside.Slips {
		return v.detained(s)
	}
	return s
}

// leaves reports whether s has a transaction leave its sender.
func (v *View) leaves(s *Step) bool {
	return s.Txn != nil && v.Txn.Phase.Bound() && !s.Txn.Phase.Bound()
}

// sendableAt says when its bytes may be given to the nodes, by Clock: peers drop a command that they
// get before its predecessor. Zero: now. False: something has to happen first.
func (v *View) sendableAt() (at time.Time, ok bool) {
	w := v.Train.Walk()
	p := w.Last
	switch {
	case v.Train.Unseen, v.misled():
		return time.Time{}, false
	case p == nil, !v.Train.waits(p):
		return time.Time{}, true
	case w.Broken != nil:
		return time.Time{}, false
	case p.Sighting.Fate != tx.FatePooled && !p.SentAt.After(v.Local.SentAt): // it is resent first
		return time.Time{}, false
	}
	return p.SentAt.Add(v.Policy.SendGap), true
}

// sendInOrder sends behind the predecessor.
func (v *View) sendInOrder(send func() Step) Step {
	at, ok := v.sendableAt()
	switch {
	case !ok:
		return v.wait(ReasonBehind)
	case at.After(v.Clock):
		return v.waitUntil(at, ReasonBehind)
	}
	return send()
}

// TrainResend is how often a member of a train is sent again that not every node shows: a peer that
// got it before its predecessor has dropped it.
const TrainResend = 150 * time.Second

// resendEvery is how often what waits in a pool is sent again.
func (v *View) resendEvery() time.Duration {
	if !v.Train.alone() && !v.Sighting.Agreed {
		return TrainResend
	}
	return ResendEvery
}

// oldestPending reports whether every predecessor is in a block: it is the first that lingers.
func (v *View) oldestPending() bool {
	return !v.Train.Unseen && v.Train.Walk().Waiting == 0
}
