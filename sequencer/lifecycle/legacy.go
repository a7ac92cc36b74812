package lifecycle

import (
	"fmt"
)

// A legacy worker proves, signs and sends by itself. What is different about it is decided here:
// the mark that its call may be made comes before the call, nobody here has the bytes, it may
// use another nonce than it was given, and what no node shows only a person can settle.

// Legacy reports whether a worker that sends by itself made what may land or has
// landed: then nobody here has its bytes.
func (t *Transaction) Legacy() bool {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Legacy && (a.Open() || a.Number == t.Landed) {
			return true
		}
	}
	return false
}

// mark opens the attempt for a call: from the moment that the mark is stored it may be made.
func (v *View) mark() Step {
	if v.hasPredecessor() {
		return v.yields(&Error{Code: CodeUnavailable, Message: "the worker makes no proofs, " +
			"so nothing may be in flight beside what it sends"})
	}
	if !v.Txn.ExpiresAt.IsZero() {
		return v.unkept()
	}
	s := v.to(PhaseDispatching, ReasonProving)
	a := s.Txn.Last()
	a.Legacy, a.ValidUntil = true, 0
	a.become(Called, v.Now)
	s.Local.Marked, s.Local.Confirmed = a.Number, a.Number
	return s
}

// dispatchingLegacy: the call is marked, and may have been made.
func (v *View) dispatchingLegacy(a *Attempt) Step {
	if v.Local.Marked != a.Number {
		return v.lose(&Error{Code: CodeOutcomeUnknown, Message: "the process that waited for the worker is gone"}, "")
	}
	if v.Replicas && v.Local.Confirmed != a.Number {
		return v.do(Effect{Kind: Confirm, Number: a.Number}, ReasonConfirming)
	}
	return v.do(Effect{Kind: Dispatch, Number: a.Number}, ReasonProving)
}

// dispatchUnderWay reports whether this process waits for a legacy worker's answer.
func (v *View) dispatchUnderWay() bool {
	a := v.Txn.Last()
	return v.Txn.Phase == PhaseDispatching && a != nil && a.State == Called && v.Local.Marked == a.Number
}

// strayed reports whether what the nodes show of t carries another nonce than its
// worker was given, and nobody has noted that yet.
func (v *View) strayed() bool {
	t, g, a := v.Txn, &v.Sighting, v.Txn.Last()
	if t.Phase != PhaseSent && t.Phase != PhaseWatching || a == nil || !a.Legacy || !a.Open() {
		return false
	}
	seen := g.Fate == FatePooled || g.Fate == FateIncluded || g.Fate == FateFailed
	return seen && g.Nonce != a.Nonce && a.Cause != CauseNonce
}

// ignored is an error of the operator's: that worker cannot be relied on. What counts
// is the nonce it used: the sender's next one follows that, as soon as it is spent; the
// given one stays unspent until then, and nothing else takes it.
func ignored(a *Attempt, g *Sighting) *Error {
	return &Error{Code: CodeNonceIgnored, Message: fmt.Sprintf(
		"the worker of %s was given nonce %d and used %d, in %s; have it use attempt.nonce",
		a.Sender, a.Nonce, g.Nonce, g.Hash)}
}

func (v *View) noteStrayed() Step {
	s := v.to(v.Txn.Phase, ReasonNonceIgnored)
	a := s.Txn.Last()
	a.blame(CauseNonce, ignored(a, &v.Sighting))
	s.Txn.Error = a.Error
	s.Aside.Code = CodeNonceIgnored
	return s
}

// ambiguous: only a person can find out what became of what a legacy worker sent.
func (v *View) ambiguous() Step {
	if v.Txn.Ending == PhaseDone && v.Txn.stood() != nil { // whatever that is, it has landed
		return v.with(func(t *Transaction) {
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Open() {
					a.become(Abandoned, v.Now)
				}
			}
		}).closed(ReasonAmbiguous)
	}
	u := v.with(func(t *Transaction) {
		if a := t.Attempt(t.Landed); a != nil {
			// Its block is gone: it may land once more, and nobody knows.
			a.become(Unknown, v.Now)
			t.Landed, t.Done, t.Reopened = 0, nil, false
		}
		t.Error = &Error{Code: CodeOutcomeUnknown,
			Message: "the worker may have sent it, and no node has seen it: settle it by resolve"}
	})
	s := u.end(PhaseUnresolved, ReasonAmbiguous)
	s.Aside.Code = CodeOutcomeUnknown
	s.Aside.Rest = &Rest{For: Never, Why: OutcomeUnknown}
	return s
}

// awaited reports whether the sender of t waits for what becomes of it, and has to be
// told then where its nonces are.
func awaited(t *Transaction) bool {
	return t.Phase == PhaseUnresolved && t.Legacy()
}

// dispatched: a legacy worker has sent it.
func (v *View) dispatched(r Answer) Step {
	u := v.with(func(t *Transaction) {
		a := t.Last()
		a.State, a.Data, a.Hash = Sent, r.Data, r.Hash
		t.Deferred = 0
		if t.SubmittedAt.IsZero() {
			t.SubmittedAt = v.Now
		}
	})
	s := u.to(PhaseSent, ReasonAnswered)
	s.Local.SentAt, s.Local.FirstSent, s.Local.FirstHeight, s.Local.Asked = v.Clock, v.Clock, v.Tip.Height, Asked{}
	return s
}

// late: the attempt has gone on without the answer. A hash may still settle what became
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

// absentLegacy: what every synced node has not seen for so long is for a person to settle.
func (v *View) absentLegacy() Step {
	at := v.Txn.Last().StartedAt.Add(2 * v.Policy.DispatchTimeout)
	if !v.Sighting.Agreed || v.Now.Before(at) {
		return v.waitUntil(v.Clock.Add(max(0, at.Sub(v.Now))), ReasonAbsent)
	}
	return v.ambiguous()
}

// reopenedLegacy: its block is gone, and it lands again from a pool or not at all.
func (v *View) reopenedLegacy() Step {
	if v.Sighting.Fate == FateAbsent {
		return v.lostForGood()
	}
	return v.found(v.wait(ReasonOrphaned))
}
