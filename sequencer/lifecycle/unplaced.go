package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"mina-sequencer/sequencer/tx"
)

// Commuting ones may be proved at the same time, for none is made on what another leaves. Which
// nonce one gets is known when the one ahead of it is out. Until then it is unplaced: it is
// proved at the nonce that the first of those that are made has, what is signed of it is kept
// and never leaves, and when its turn comes it is signed again, at a nonce of its own, with
// the proof that it has. So the rule that no nonce below an open one is free applies to them
// as for all, and one that fails before it is out costs those behind it nothing.
//
// Chained ones may, too, where their worker builds: it tells what one does, in about the time of
// running a method, before it proves that. So the next is built on what those ahead will leave,
// signed or not, while they are being proved. Each attempt has the digest of the state that it is made upon, its
// base, and that of its effects; both together are the state that it leaves, and the base of the
// next. One whose base is not what the one ahead leaves goes back, with the proof that it has;
// where it is built again and does the same, that proof is still good. What was built is known
// to the process that asked for it, and stored nowhere: losing it costs a build.

// making reports whether m is with its worker, or waits for its turn with a proof.
func (m *Member) making() bool {
	last := m.Txn.Last()
	return m.Txn.Phase == tx.PhaseDispatching && !m.Txn.Open() && (last.Pending() || last.ProvedAhead())
}

// takesNone reports whether m takes no nonce as long as another is ahead of it that is not out:
// it is unplaced, waits for its turn with a proof, or waits to be the first.
func (m *Member) takesNone() bool {
	t, last := m.Txn, m.Txn.Last()
	if t.Phase != tx.PhaseDispatching || t.Open() {
		return false
	}
	if last.Pending() {
		return last.State == tx.Unplaced
	}
	return last.ProvedAhead() || t.Deferred > 0
}

// BeforeItsTurn reports whether m is made, or was, at a nonce that is only supposed, and is not out.
func (m *Member) BeforeItsTurn() bool {
	last := m.Txn.Last()
	return m.making() && (last.State == tx.Unplaced || last.ProvedAhead())
}

// SideBySide reports whether members may be made at the same time.
func (t *Train) SideBySide() bool { return t.Commuting || t.Builds }

// makes reports whether m, of those that may be made at the same time, is being made.
func (t *Train) makes(m *Member) bool { return m.making() && (t.Commuting || t.Builds && !m.ends()) }

// ends reports whether m is to end, and makes no further attempt.
func (m *Member) ends() bool { return m.Txn.Ending != "" || m.Txn.CancelRequested }

// StateAfter is the digest of the state that effects leave of the one with the digest base.
func StateAfter(base, effects string) string {
	sum := sha256.Sum256([]byte(base + "\n" + effects))
	return hex.EncodeToString(sum[:])
}

// Effects is the digest of what m does, and Leaves that of the state that it leaves; "" as long as
// nobody knows.
func (m *Member) Effects() string {
	_, effects := m.does()
	return effects
}

// Leaves is the digest of the state that m leaves, "" as long as nobody knows it.
func (m *Member) Leaves() string {
	a, effects := m.does()
	if effects == "" {
		return ""
	}
	return StateAfter(a.Base, effects)
}

// does is the attempt that others are made upon, and the digest of what that does.
func (m *Member) does() (a *tx.Attempt, effects string) {
	if a = m.Txn.FirstOpen(); a == nil {
		a = m.Txn.Last()
	}
	switch {
	case a == nil, a.Cause == tx.CauseBase:
		return a, ""
	case m.Built.Number == a.Number:
		return a, m.Built.Effects
	}
	return a, a.Effects
}

// lost reports whether what it is made upon will not come: one ahead is lost, or leaves another state
// by now.
func (v *View) lost() bool {
	w := v.Train.Walk()
	return w.Lost() != nil || w.Last != nil && !v.Train.Commuting && !v.Train.Unseen && w.Last.misleads(v.Txn)
}

// misleads reports whether what is not out yet of t, the next behind m, is made upon another state than
// m leaves.
func (m *Member) misleads(t *tx.Transaction) bool {
	a, leaves := t.Last(), m.Leaves()
	return (a.Pending() || a.KeptProof()) && a.Base != "" && leaves != "" && leaves != a.Base
}

// misled reports whether the next behind it is made upon another state than it leaves now, and is to
// leave before it is sent: once it has landed nobody could tell.
func (v *View) misled() bool {
	me := MemberOf(v.Txn, v.Sighting, &v.Local)
	return len(v.Train.Behind) > 0 && !v.Train.Commuting && me.misleads(v.Train.Behind[0].Txn)
}

// unbased has a chained one that leaves those ahead of it keep its proof for what does the same.
func unbased(t *tx.Transaction) {
	if a := proof(t, t.Last()); a.ProvedAhead() {
		a.Cause = tx.CauseBase
	}
}

// proof is a, or the one before that whose proof it would take if nothing of that was made.
func proof(t *tx.Transaction, a *tx.Attempt) *tx.Attempt {
	for a != nil && a.State == tx.Dropped && (a.Cause == tx.NoCause || a.Cause == tx.CauseHeld) {
		a = t.Attempt(a.Number - 1)
	}
	return a
}

// takes reports whether a may be signed with the proof of was, which was made before its turn: none
// requires what another makes, it is made upon the same, or it was built again and does the same.
func (v *View) takes(a, was *tx.Attempt) bool {
	same := v.Local.Built.Number == a.Number && v.Local.Built.Effects == was.Effects && was.Effects != ""
	return v.Train.Commuting || was.Cause == tx.CauseAhead && was.Base != "" && was.Base == a.Base || same
}

// buildable reports whether a is to be built before it is proved.
func (v *View) buildable(a *tx.Attempt) bool {
	return v.Train.Builds && !v.Local.NoBuild && v.Local.Built.Number != a.Number && !v.Txn.Open()
}

// built notes what its worker has said that it will do.
func (v *View) built(r Answer) Step {
	if v.unsentBehind() {
		if s, turned := v.signedBehind(r, true); turned {
			return s
		}
	}
	s := v.wait(ReasonProving)
	s.Local.Built = Built{Number: r.Call.Number, Effects: r.Effects, Alone: r.Alone != "", Gone: v.Local.Built.Gone}
	return s
}

// unbuilt has it built again, for what was built is proved no more. Where that was proved as something
// else, it is a loss: nobody knows whose fault that is. Where it is not there any more, nothing speaks
// against the transaction, however often.
func (v *View) unbuilt(r Answer) Step {
	if r.Error != nil {
		s := v.lose(r.Error, "")
		s.Local.Built = Built{}
		return s
	}
	gone := v.Local.Built.Gone + 1
	if gone >= maxLosses {
		r.Error = &tx.Error{Code: tx.CodeUnavailable, Message: fmt.Sprintf("%d times in a row whoever had built it had that "+
			"no more when it was to be proved: see whether they are started anew all the time", gone)}
		return v.away(r, 0)
	}
	s := v.wait(ReasonProving)
	s.Local.Built = Built{Gone: gone}
	return s
}

// leaving reports whether the bytes of m are being given to the nodes, and none has them yet.
func (m *Member) leaving() bool { return m.Txn.Phase == tx.PhaseSent && m.Txn.Open() && !m.accepted() }

// supposed is the nonce that what is unplaced is proved at: the one that follows what is out.
func (t *Train) supposed() uint32 {
	if a := t.Walk().open; a != nil {
		return following(a.Nonce)
	}
	return t.Ahead[0].Txn.Last().Nonce // which is made, for none ahead is lost
}

// proving reports whether something unplaced is with its worker: what it makes is of use
// whatever becomes of those ahead.
func (v *View) proving() bool {
	last := v.Txn.Last()
	return last != nil && last.State == tx.Unplaced && v.Local.Own == last.Number
}

// apart reports whether a proof is asked for only when the one ahead has its own: what was lost
// with others in the same worker is made by itself, so that a loss tells which of them it was.
func (v *View) apart() bool {
	return slices.ContainsFunc(v.Train.Ahead, func(m Member) bool {
		return m.making() && m.Txn.Last().Pending() && v.Txn.Losses+m.Txn.Losses > 0
	})
}

// follow reports whether a nonce is the next of what is ahead: what was planned on that may be
// different by now.
func (v *View) follow(nonce uint32) bool {
	if t := &v.Train; !t.Commuting || !t.Unseen && t.Walk().Last.Failed() {
		return true // of what failed its nonce is used, and so are those of what has landed since
	}
	next, inOrder := v.nextNonce()
	return inOrder && next == nonce
}

// provedAhead keeps the proof until its turn.
func (v *View) provedAhead(r Answer) Step {
	return v.kept(r, ReasonAnswered, tx.CauseAhead, &tx.Error{Code: tx.CodeProvedAhead,
		Message: "proved while another ahead of it was; it is signed again with this proof when its nonce is known"})
}

// slipping notes whether what leaves a train may do so from its middle: no node has taken any of it,
// so those behind it are unplaced, and take its nonce. What has just joined need not be known here.
func (v *View) slipping(s Step) Step {
	early := v.Txn.Phase == tx.PhaseDispatching || v.Txn.Phase == tx.PhaseSent
	s.Aside.Slips = v.Train.Commuting && early && v.leaves(&s) && !s.Txn.Open() && !v.Train.Walk().SuccessorOpen
	return s
}
