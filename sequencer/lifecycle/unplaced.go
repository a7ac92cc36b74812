package lifecycle

import (
	"slices"

	"mina-sequencer/sequencer/tx"
)

// Commuting ones may be proved at the same time, for none is made on what another leaves. Which
// nonce one gets is known when the one ahead of it is out. Until then it is unplaced: it is
// proved at the nonce that the first of those that are made has, what is signed of it is kept
// and never leaves, and when its turn comes it is signed again, at a nonce of its own, with
// the proof that it has. So the rule that no nonce below an open one is free applies to them
// as for all, and one that fails before it is out costs those behind it nothing.

// making reports whether m is with its worker, or waits for its turn with a proof.
func (m *Member) making() bool {
	last := m.Txn.Last()
	return m.Txn.Phase == tx.PhaseDispatching && !m.Txn.Open() && last != nil && (last.Pending() || last.ProvedAhead())
}

// takesNone reports whether m takes no nonce as long as another is ahead of it that is not out:
// it is unplaced, waits for its turn with a proof, or waits to be the first.
func (m *Member) takesNone() bool {
	t, last := m.Txn, m.Txn.Last()
	if t.Phase != tx.PhaseDispatching || t.Open() {
		return false
	}
	if last != nil && last.Pending() {
		return last.State == tx.Early
	}
	return last.ProvedAhead() || t.Deferred > 0
}

// makes reports whether m, of those that may be made at the same time, is being made.
func (t *Train) makes(m *Member) bool { return t.Commuting && m.making() }

// leaving reports whether the bytes of m are being given to the nodes, and none has them yet.
func (m *Member) leaving() bool { return m.Txn.Phase == tx.PhaseSent && m.Txn.Open() && !m.taken() }

// supposed is the nonce that what is unplaced is proved at: the one that follows what is out.
func (t *Train) supposed() uint32 {
	if a := t.walk().open; a != nil {
		return following(a.Nonce)
	}
	return t.Ahead[0].Txn.Last().Nonce // which is made, for none ahead is lost
}

// proving reports whether something unplaced is with its worker: what it makes is of use
// whatever becomes of those ahead.
func (v *View) proving() bool {
	last := v.Txn.Last()
	return last != nil && last.State == tx.Early && v.Local.Taken == last.Number
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
	if t := &v.Train; !t.Commuting || !t.Unseen && t.walk().last.Failed() {
		return true // of what failed its nonce is used, and so are those of what has landed since
	}
	next, inOrder := v.nextNonce()
	return inOrder && next == nonce
}

// provedAhead keeps the proof until its turn.
func (v *View) provedAhead(r Answer) Step {
	return v.kept(r, ReasonAnswered, tx.CauseEarly, &tx.Error{Code: tx.CodeProvedAhead,
		Message: "proved while another ahead of it was; it is signed again with this proof when its nonce is known"})
}

// slips reports whether what s lets leave may do so from the middle of its train: no node has
// taken any of it, so those behind it are unplaced, and take its nonce. What has just joined
// need not be known here.
func (v *View) slips(s *Step) bool {
	return v.Train.Commuting && (v.Txn.Phase == tx.PhaseDispatching || v.Txn.Phase == tx.PhaseSent) && !s.Txn.Open() &&
		!v.Train.walk().successorOpen
}

// slipping notes of what leaves a train that it slips.
func (v *View) slipping(s Step) Step {
	s.Aside.Slips = s.Txn != nil && !s.Txn.Phase.Bound() && v.slips(&s)
	return s
}
