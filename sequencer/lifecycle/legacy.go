package lifecycle

import (
	"cmp"
	"fmt"

	"mina-sequencer/sequencer/tx"
)

// A legacy worker proves, signs and sends by itself. What is different about it is decided here:
// the mark that its call may be made comes before the call, nobody here has the bytes, it may
// use another nonce than it was given, and what no node shows only a person can resolve.

// mark opens the attempt for a call: from the moment that the mark is stored it may be made.
func (v *View) mark() Step {
	if v.hasPredecessor() {
		return v.yields(&tx.Error{Code: tx.CodeUnavailable, Message: "the worker makes no proofs, " +
			"so nothing may be in flight beside what it sends"})
	}
	if !v.Txn.ExpiresAt.IsZero() {
		return v.unkept()
	}
	s := v.to(tx.PhaseDispatching, ReasonProving)
	a := s.Txn.Last()
	a.Legacy, a.ValidUntil = true, 0
	a.Become(tx.Called, v.Now)
	s.Local.Marked, s.Local.Confirmed = a.Number, a.Number
	return s
}

// dispatchingLegacy: the call is marked, and may have been made.
func (v *View) dispatchingLegacy(a *tx.Attempt) Step {
	if v.Local.Marked != a.Number {
		return v.lose(&tx.Error{Code: tx.CodeOutcomeUnknown, Message: "the process that waited for the worker is gone"}, "")
	}
	return v.release(Effect{Kind: Dispatch, Number: a.Number}, ReasonProving)
}

// loseLegacy: nobody knows what became of the call, which may have sent.
func (v *View) loseLegacy(e *tx.Error, hash string) Step {
	u := v.with(func(t *tx.Transaction) {
		a := t.Last()
		a.Blame(tx.NoCause, e)
		a.State, a.Hash, t.Error = tx.Unknown, hash, e
		t.SubmittedAt = cmp.Or(t.SubmittedAt, v.Now)
	})
	s := u.to(tx.PhaseSent, ReasonLost)
	s.Local.SentAt, s.Local.Asked = v.Clock, Asked{}
	return s
}

// dispatchUnderWay reports whether this process waits for a legacy worker's answer.
func (v *View) dispatchUnderWay() bool {
	a := v.Txn.Last()
	return v.Txn.Phase == tx.PhaseDispatching && a != nil && a.State == tx.Called && v.Local.Marked == a.Number
}

// strayed reports whether what the nodes show of t carries another nonce than its
// worker was given, and nobody has noted that yet.
func (v *View) strayed() bool {
	t, g, a := v.Txn, &v.Sighting, v.Txn.Last()
	if t.Phase != tx.PhaseSent && t.Phase != tx.PhaseWatching || a == nil || !a.Legacy || !a.Open() {
		return false
	}
	return g.Fate.Shown() && g.Nonce != a.Nonce && a.Cause != tx.CauseNonce
}

// ignored is an error of the operator's: that worker cannot be relied on. What counts
// is the nonce it used: the sender's next one follows that, as soon as it is spent; the
// given one stays unspent until then, and nothing else takes it.
func ignored(a *tx.Attempt, g *tx.Sighting) *tx.Error {
	return &tx.Error{Code: tx.CodeNonceIgnored, Message: fmt.Sprintf(
		"the worker of %s was given nonce %d and used %d, in %s; have it use attempt.nonce",
		a.Sender, a.Nonce, g.Nonce, g.Hash)}
}

func (v *View) noteStrayed() Step {
	s := v.to(v.Txn.Phase, ReasonNonceIgnored)
	a := s.Txn.Last()
	a.Blame(tx.CauseNonce, ignored(a, &v.Sighting))
	s.Txn.Error = a.Error
	s.Aside.Code = tx.CodeNonceIgnored
	return s
}

// ambiguous: only a person can find out what became of what a legacy worker sent.
func (v *View) ambiguous() Step {
	if v.Txn.Ending == tx.PhaseDone && hasStood(v.Txn) != nil { // whatever that is, it has landed
		return v.with(func(t *tx.Transaction) {
			for a := range t.AllOpen() {
				a.Become(tx.Abandoned, v.Now)
			}
		}).closed(ReasonAmbiguous)
	}
	u := v.with(func(t *tx.Transaction) {
		if a := t.Attempt(t.Landed); a != nil {
			// Its block is gone: it may land once more, and nobody knows.
			a.Become(tx.Unknown, v.Now)
			t.Landed, t.Done, t.Reopened = 0, nil, false
		}
		t.Error = &tx.Error{Code: tx.CodeOutcomeUnknown,
			Message: "the worker may have sent it, and no node has seen it: settle it by resolve"}
	})
	s := u.end(tx.PhaseUnresolved, ReasonAmbiguous)
	s.Aside.Code = tx.CodeOutcomeUnknown
	s.Aside.Rest = &Rest{For: Never, Why: tx.OutcomeUnknown}
	return s
}

// awaited reports whether the sender of t waits for what becomes of it, and has to be
// told then where its nonces are.
func awaited(t *tx.Transaction) bool {
	return t.Phase == tx.PhaseUnresolved && t.Legacy()
}

// dispatched: a legacy worker has sent it.
func (v *View) dispatched(r Answer) Step {
	u := v.with(func(t *tx.Transaction) {
		a := t.Last()
		a.State, a.Data, a.Hash = tx.Sent, r.Data, r.Hash
		t.Deferred = 0
		t.SubmittedAt = cmp.Or(t.SubmittedAt, v.Now)
	})
	s := u.to(tx.PhaseSent, ReasonAnswered)
	s.Local.SentAt, s.Local.FirstSent, s.Local.FirstHeight, s.Local.Asked = v.Clock, v.Clock, v.Tip.Height, Asked{}
	return s
}

// late: the attempt has gone on without the answer. A hash may still tell what became
// of it.
func (v *View) late(r Answer) Step {
	a := v.Txn.Attempt(r.Call.Number)
	if r.Call.Kind != Dispatch || r.Hash == "" || a == nil || !a.Legacy || !a.Open() || a.Hash != "" ||
		a.Sender != r.Sender || a.Nonce != r.Nonce {
		return v.wait(ReasonUnchanged)
	}
	s := v.to(v.Txn.Phase, ReasonAnswered)
	a = s.Txn.Attempt(r.Call.Number)
	a.Hash, a.Data = r.Hash, r.Data
	return s
}

// lostForGood: nobody here can send it again.
func (v *View) lostForGood() Step {
	since := v.Local.LostAt
	if since.IsZero() || !v.Sighting.Agreed {
		since = v.Clock
	}
	at := since.Add(2 * v.Policy.DispatchTimeout)
	if v.Clock.Before(at) {
		s := v.waitUntil(at, ReasonOrphaned)
		s.Local.LostAt = since
		return s
	}
	return v.ambiguous()
}

// absentLegacy: what every synced node has not seen for so long is for a person to resolve.
func (v *View) absentLegacy() Step {
	at := v.Txn.Last().StartedAt.Add(2 * v.Policy.DispatchTimeout)
	if !v.Sighting.Agreed || v.Now.Before(at) {
		return v.waitUntil(v.Clock.Add(max(0, at.Sub(v.Now))), ReasonAbsent)
	}
	return v.ambiguous()
}

// reopenedLegacy: its block is gone, and it lands again from a pool or not at all.
func (v *View) reopenedLegacy() Step {
	if v.Sighting.Fate == tx.FateAbsent {
		return v.lostForGood()
	}
	return v.found(v.wait(ReasonOrphaned))
}
