package lifecycle

import (
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A type may say that what one of its transactions requires never comes back once that has
// taken effect (a nullifier, an account that is new). A second landing then has no effect, so
// what failed in a block may be tried again once that stands RetryDepth deep, long before
// SETTLE_DEPTH; EndDepth says when it waits all the same. Until it is that deep too the attempt is
// shallow: a reorganisation may let it land after all.
//
// Three rules keep the promises. One nonce of a transaction is shallow at a time, and watched
// while nothing else is open. While one is, the transaction leaves its sender by no end but a
// landing: before any other the shallow attempt is opened again until it has settled, or has
// landed. And no fresh attempt takes a nonce that is shallow, or one below.

// deepen notes that nothing of t is shallow any more.
func deepen(t *tx.Transaction) {
	for i := range t.Attempts {
		t.Attempts[i].State = t.Attempts[i].State.Deep()
	}
}

// ends reports whether what ended the attempts stands deep enough to be acted on.
func (v *View) ends() bool {
	g := &v.Sighting
	return v.settled() || g.Fate == tx.FateFailed && g.Agreed && !g.Archived && g.Depth >= v.EndDepth()
}

// EndDepth is how deep what ended the attempts has to stand for that.
func (v *View) EndDepth() int {
	t, g, early, w := v.Txn, &v.Sighting, v.Policy.RetryDepth, v.Train.Walk()
	open := t.FirstOpen()
	switch {
	case early <= 0, g.Fate != tx.FateFailed, open == nil, t.Legacy():
	case open.State == tx.Resurfaced, t.Shallow() != nil, !t.Phase.Bound(), t.Ending != "", v.Stops():
	case v.Train.Commuting && !v.Train.alone():
	case !v.hasPredecessor() && g.Failure.Permanent,
		v.hasPredecessor() && (!w.unready() || !w.mends):
	default:
		return min(early, v.Policy.SettleDepth)
	}
	return v.Policy.SettleDepth
}

// lookBack holds a transaction with a shallow attempt back from any end but a landing, and
// has that attempt watched instead; what it was to come to it comes to when that has settled.
func (v *View) lookBack(s Step) Step {
	t := s.Txn
	if t == nil || t.Phase.Bound() || t.Shallow() == nil || t.Open() || t.Attempt(t.Landed) != nil {
		return s
	}
	return v.opened(v.detained(s))
}

// detained has what would leave its sender be watched instead, with the end that it is to come to.
func (v *View) detained(s Step) Step {
	t, u := s.Txn, v.Txn.Clone()
	u.Attempts, u.Error, u.Deferred = t.Attempts, t.Error, t.Deferred
	switch {
	case t.Phase == tx.PhaseDone:
		u.Ending, u.Done = t.Phase, t.Done
	case !v.Stops():
		u.Ending = t.Phase
	}
	if u.Phase != tx.PhaseWatching {
		u.Phase, u.ChangedAt, u.DueAt, u.Losses = tx.PhaseWatching, v.Now, time.Time{}, 0
	}
	s.Txn, s.Aside.Code, s.Aside.Hold, s.Local.Asked = u, "", 0, Asked{}
	return s
}

// resurfaced follows what is shallow while nothing else is open: once it has settled it is
// shallow no longer, and where its block is gone it is open again.
func (v *View) resurfaced() (Step, bool) {
	t, g := v.Txn, &v.Sighting
	if t.Shallow() == nil || t.Open() || !t.Phase.Bound() || !g.Agreed {
		return Step{}, false
	}
	switch {
	case v.settled() && g.Fate == tx.FateFailed:
		s := v.with(deepen).to(t.Phase, ReasonSettled)
		s.Aside.DropBytes = t.Last().Shallow() // else they are, or will be, of another
		return s, true
	case g.Fate.Unspent():
		u := v.with(dropPlan(v.Now))
		return u.opened(u.to(tx.PhaseWatching, ReasonOrphaned)), true
	}
	return Step{}, false
}

// opened has what is shallow watched again.
func (v *View) opened(s Step) Step {
	at := *s.Txn.Shallow()
	for i := range s.Txn.Attempts {
		a := &s.Txn.Attempts[i]
		if a.Shallow() && a.SameNonce(&at) {
			a.Become(tx.Resurfaced, v.Now)
			a.Blame(tx.NoCause, nil)
			a.Height, a.StateHash, a.Confirmations = 0, "", 0
		}
	}
	s.Aside.DropBytes = false
	s.Local.Own, s.Local.Marked, s.Local.Unsent, s.Local.Said = 0, 0, 0, Said{}
	s.Local.SentAt, s.Local.Resent, s.Local.Asked = time.Time{}, 0, Asked{}
	return s
}

// unopened is what opened has made, with what is shallow as it was.
func (v *View) unopened(s Step) Step {
	s.Txn = s.Txn.Clone()
	for i := range v.Txn.Attempts {
		if a := &v.Txn.Attempts[i]; a.Shallow() {
			s.Txn.Attempts[i] = *a
		}
	}
	return s
}

// turnBack credits DONE to another attempt: the one that made it DONE can no longer land, and a shallow
// one may have landed in its place.
func (v *View) turnBack() Step {
	g := &v.Sighting
	failed := attemptOf(v.Txn, g).Number
	at := *v.Txn.Shallow()
	s := v.with(func(t *tx.Transaction) {
		closeDone(t, func(a *tx.Attempt) { a.Become(settledAs(g, a.Number == failed), v.Now) })
		deepen(t)
		t.Landed = at.Number
		t.Attempt(at.Number).Become(tx.Included, v.Now)
	}).to(tx.PhaseDone, ReasonOrphaned)
	s.Aside.LandedWith = &at.Nonce
	s.Local.SentAt, s.Local.Resent = time.Time{}, 0
	return s
}

// retries reports whether m failed, and is to be tried again in its place.
func (m *Member) retries() bool {
	return m.Txn.Shallow() != nil && !m.Txn.Open() && m.Txn.Phase.Bound()
}

// retryInPlace keeps what failed behind another in its place, to be tried again behind that.
func (v *View) retryInPlace(pause time.Duration) Step {
	s := v.to(tx.PhaseDelayed, ReasonSettled)
	if !v.Train.Commuting {
		unbased(s.Txn)
	}
	s.Txn.DueAt = v.Now.Add(pause)
	s.Txn.Deferred = max(s.Txn.Deferred, 1) // no failure of its own
	return s
}

// StaysBehind reports whether it waits in its place until those ahead are in flight again,
// and half of them in a block: what has broken once may break again.
func (v *View) StaysBehind() bool {
	t := v.Txn
	if len(v.Train.Ahead) == 0 || t.Shallow() == nil || t.Open() || t.Last().Pending() || !v.Train.Walk().mends {
		return false
	}
	if _, inOrder := v.nextNonce(); !inOrder {
		return true
	}
	return v.Train.Walk().Waiting >= max(1, (len(v.Train.Ahead)+len(v.Train.Behind)+1)/2)
}

// reappeared reports whether an account whose next nonce is this may have what is shallow
// land, of this transaction or of another in its train.
func (v *View) reappeared(next uint32) bool {
	below := func(m Member) bool {
		a := m.Txn.Shallow()
		return a != nil && a.Sender == v.Txn.Sender && next <= a.Nonce
	}
	return below(Member{Txn: v.Txn}) || slices.ContainsFunc(v.Train.Behind, below)
}
