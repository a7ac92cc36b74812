package lifecycle

import (
	"cmp"
	"encoding/json"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Batches go to a ledger that takes them as they are: no worker, no nonce, no fee. What is
// different about them is decided here; queues, claims, senders (which are slots of the
// ledger) and a person's orders are the same.
//
// The mark comes before the call: an attempt is open from the write on after which a byte
// of its batch may leave. A ledger that is idempotent takes the same batch again as the
// same; any other executes it once more, so there nothing is posted twice, and before it is
// posted at all the ledger is asked whether it has it.

// A Batch is what a process knows of a batch and its ledger beside the record.
type Batch struct {
	Known      bool // the ledger is one of this process's
	Idempotent bool // the same batch posted again is the same batch
	// Held is until when, by Clock, the ledger is left alone, for it turned this process
	// away or was not there; Why says so in words.
	Held time.Time
	Why  tx.Error
	Seen BatchSeen
}

// A BatchSeen is what a ledger has last said of a batch.
type BatchSeen struct {
	At time.Time // when it was asked, by Clock; zero if it has never said anything
	// It was asked from Since to Asked in vain, if it has said nothing since then; else both are At.
	Since, Asked time.Time
	State        BatchState
	// Refused goes with BatchInvalid: why.
	Refused tx.Error
}

// BatchState is what a ledger says of a batch.
type BatchState string

// All states. None but BatchCommitted is a promise.
const (
	BatchUnknown   BatchState = "UNKNOWN" // not there, not there any more, or not yet
	BatchPending   BatchState = "PENDING" // there, without a verdict: it may never get one
	BatchCommitted BatchState = "COMMITTED"
	BatchInvalid   BatchState = "INVALID"
)

// SubmitTold is what a ledger answered to a batch.
type SubmitTold struct {
	Call    Effect
	Outcome SubmitOutcome
	Wait    time.Duration // SubmitBusy: how long it asked to be left alone; 0 for no word
	Error   tx.Error      // unless SubmitAccepted
}

// SubmitOutcome is what is known of a batch after it was posted.
type SubmitOutcome string

// All outcomes. By those from SubmitBusy on the ledger does not have it from this post.
const (
	SubmitUnknown  SubmitOutcome = "unknown"  // it may have it, now or later
	SubmitAccepted SubmitOutcome = "accepted" // it has it, whatever it comes to
	SubmitBusy     SubmitOutcome = "busy"     // it took it not, for now
	SubmitHeld     SubmitOutcome = "held"     // it turned this process away, or was not reached
	SubmitRejected SubmitOutcome = "rejected" // it refuses this batch for good
)

const (
	// submitPause is how long a busy ledger is left alone before it is asked again; then twice as
	// long each time, up to maxPause.
	submitPause = time.Second
	maxPause    = 16 * time.Second
	// maxReposts is how often a batch is posted again that an idempotent ledger does not
	// know.
	maxReposts = 6
)

// batch decides on what is for a ledger. WAITING, RETRY and DONE are as with Mina.
func (v *View) batch() Step { return batchPhases[v.Txn.Phase](v) }

// batchPhases is what each phase comes to.
var batchPhases = map[tx.Phase]func(v *View) Step{
	tx.PhaseWaiting:     func(v *View) Step { return v.wait(ReasonWaiting) },
	tx.PhaseDispatching: (*View).submitting,
	tx.PhaseSent:        (*View).following,
	tx.PhaseWatching:    (*View).following,
	tx.PhaseFailing:     (*View).failing,
	tx.PhaseDelayed:     (*View).delayed,
	tx.PhaseDone:        func(v *View) Step { return v.wait(ReasonFinal) },
	tx.PhaseFailed:      (*View).batchEnded,
	tx.PhaseUnresolved:  (*View).batchEnded,
}

// submitting: it is to be posted, or is being posted.
func (v *View) submitting() Step {
	last := v.Txn.Last()
	switch {
	case v.Batch.Seen.State == BatchCommitted:
		return v.committed(ReasonLanded)
	case v.awaitsEnd():
		return v.closed(ReasonBack)
	case !v.Txn.Open():
		return v.unposted()
	case last.State != tx.Signed || v.Local.Unsent != last.Number:
		// Another process was at it, or this one before Redis forgot: it may be there.
		return v.submitted(tx.Unknown, &tx.Error{Code: tx.CodeLost, Message: "the process that posted it is gone"})
	case v.Replicas && v.Local.Confirmed != last.Number:
		return v.do(Effect{Kind: Confirm, Number: last.Number}, ReasonConfirming)
	case v.Clock.Before(v.Local.SubmitAt) && v.Draining:
		return v.putOff(v.Local.Busy, time.Second) // it would be lost with this process
	case v.Clock.Before(v.Local.SubmitAt):
		return v.waitUntil(v.Local.SubmitAt, ReasonSubmitting)
	}
	return v.do(Effect{Kind: Submit, Number: last.Number, Fresh: true}, ReasonSubmitting)
}

// unposted: nothing of it is open, and it is to be.
func (v *View) unposted() Step {
	t, b := v.Txn, &v.Batch
	switch {
	case t.CancelRequested:
		return v.cancelled()
	case v.Expired():
		return v.overdue()
	case v.Draining:
		return v.wait(ReasonDraining)
	case !v.Known || !b.Known:
		return v.putOff(tx.Error{Code: tx.CodeUnknownType, Message: "this process has no ledger " + t.Ledger}, time.Second)
	case v.Clock.Before(b.Held):
		return v.putOff(b.Why, b.Held.Sub(v.Clock))
	case b.Idempotent:
	case b.Seen.Asked.After(b.Seen.At):
		e := tx.Error{Code: tx.CodeNoLedger, Message: "the ledger does not say whether it has it"}
		return v.putOff(e, v.Policy.InclusionInterval)
	case !v.saidSince(t.Last()):
		return v.waitUntil(v.Clock.Add(v.Policy.InclusionInterval), ReasonLooking)
	}
	return v.markPost()
}

// saidSince reports whether the ledger has said anything of it since its last attempt ended.
func (v *View) saidSince(last *tx.Attempt) bool {
	at := v.Batch.Seen.At
	return !at.IsZero() && (last == nil || at.After(v.Clock.Add(last.EndedAt.Sub(v.Now))))
}

// markPost makes the attempt open. What no ledger has taken on is no attempt, so that its
// number is given anew.
func (v *View) markPost() Step {
	u := v.with(func(t *tx.Transaction) {
		a := tx.Attempt{Number: len(t.Attempts) + 1}
		if last := t.Last(); last != nil && t.Deferred > 0 && last.State == tx.Refused {
			a.Number = last.Number
			t.Attempts = t.Attempts[:len(t.Attempts)-1]
		}
		a.Sender, a.Hash, a.State, a.StartedAt = t.Sender, t.BatchID, tx.Signed, v.Now
		t.Attempts = append(t.Attempts, a)
	})
	number := u.Txn.Last().Number
	if v.Batch.Seen.State != BatchUnknown && !v.Batch.Idempotent {
		s := u.submitted(tx.Sent, nil) // it has it, whoever has posted it
		s.Local.Confirmed = number
		return s
	}
	s := u.to(tx.PhaseDispatching, ReasonPlanning)
	s.Local.Unsent, s.Local.Confirmed, s.Local.Submits, s.Local.SubmitAt = number, number, 0, time.Time{}
	return s
}

// submitted: the ledger has it, or may have it.
func (v *View) submitted(to tx.AttemptState, e *tx.Error) Step {
	u := v.with(func(t *tx.Transaction) {
		t.Last().Become(to, v.Now)
		t.Last().Error = e
		t.Error, t.Deferred = e, 0
		t.SubmittedAt = cmp.Or(t.SubmittedAt, v.Now)
	})
	s := u.to(tx.PhaseSent, ReasonAnswered)
	s.Local.Unsent, s.Local.SentAt, s.Local.Resent = 0, time.Time{}, 0
	return s
}

// learn: the ledger has answered. That it took nothing counts only of what this
// process alone has posted, and for the first time.
func (r SubmitTold) learn(v *View) Step {
	t, a := v.Txn, v.Txn.Last()
	if a == nil || a.Number != r.Call.Number || !a.Open() {
		return v.wait(ReasonUnchanged)
	}
	if r.Call.Fresh {
		if t.Phase != tx.PhaseDispatching || v.Local.Unsent != a.Number {
			return v.wait(ReasonUnchanged)
		}
		return v.firstTold(r)
	}
	s := v.wait(ReasonSubmitting)
	s.Local.SentAt = v.Clock
	s.Local.Resent++
	switch {
	case r.Outcome == SubmitAccepted && a.State == tx.Unknown && t.Phase.Bound():
		w := v.to(t.Phase, ReasonAnswered)
		w.Txn.Last().State, w.Txn.Last().Error, w.Txn.Error = tx.Sent, nil, nil
		w.Local = s.Local
		return w
	case r.Outcome == SubmitRejected && t.Phase.Bound():
		// The first post may have it there all the same: it is watched on.
		return v.unresolved(a.State, r.Error, ReasonAnswered)
	}
	return s
}

func (v *View) firstTold(r SubmitTold) Step {
	switch r.Outcome {
	case SubmitAccepted:
		s := v.submitted(tx.Sent, nil)
		s.Local.SentAt = v.Clock
		return s
	case SubmitUnknown:
		s := v.submitted(tx.Unknown, &r.Error)
		s.Local.SentAt = v.Clock
		return s
	case SubmitRejected:
		u := v.with(func(t *tx.Transaction) {
			t.Last().Become(tx.Refused, v.Now)
			t.Last().Error = &r.Error
			t.Error, t.Deferred = &r.Error, 0
			reopen(t)
		})
		return u.end(tx.PhaseUnresolved, ReasonAnswered)
	case SubmitHeld:
		return v.putOff(r.Error, max(v.Batch.Held.Sub(v.Clock), v.Policy.LedgerDelay, time.Second))
	}
	pause := max(r.Wait, min(submitPause<<v.Local.Submits, maxPause))
	late := !v.Txn.ExpiresAt.IsZero() && !v.Now.Add(pause).Before(v.Txn.ExpiresAt)
	if v.Local.Submits >= v.Policy.LedgerRetries || pause > maxPause || v.Txn.CancelRequested || v.Draining || late {
		return v.putOff(r.Error, max(r.Wait, v.Policy.LedgerDelay, time.Second))
	}
	s := v.wait(ReasonSubmitting)
	s.Local.Busy = r.Error
	s.Local.Submits++
	s.Local.SubmitAt = v.Clock.Add(pause)
	return s
}

// putOff sends it back to its queue, and leaves queue and slot alone: the ledger does not
// have it, and nothing of it is used up.
func (v *View) putOff(e tx.Error, least time.Duration) Step {
	u := v.with(func(t *tx.Transaction) {
		if a := t.Last(); t.Open() {
			a.Become(tx.Refused, v.Now)
			a.Error = &e
		}
	})
	u.Local = Local{}
	if u.Txn.CancelRequested {
		return u.cancelled()
	}
	s := u.back(ReasonDeferred)
	s.Txn.Error = &e
	s.Txn.Deferred++
	s.Aside.Hold = v.Policy.grown(least, v.Txn.Deferred)
	s.Aside.Rest = &Rest{For: least, Why: tx.Rested, Detail: e.Message}
	return s
}

// mayHaveIt ends a batch that its ledger may have all the same: a person's retry ended the attempt by
// which it has it. It is watched on.
func (v *View) mayHaveIt(why Reason) (s Step, may bool) {
	u := v.with(func(t *tx.Transaction) { may = t.Ledger != "" && !t.Open() && reopen(t) })
	if !may {
		return s, false
	}
	return u.unresolved(u.Txn.FirstOpen().State, tx.Error{Code: tx.CodeOutcomeUnknown,
		Message: "it was posted before it " +
			"was retried, and the ledger may have it: look for it there, and settle it by resolve"}, why), true
}

// reopen opens the last attempt again that may have come to its ledger.
func reopen(t *tx.Transaction) bool {
	a := t.FindLast(func(a *tx.Attempt) bool { return a.State == tx.Abandoned })
	if a != nil {
		a.Become(tx.Unknown, a.StartedAt)
	}
	return a != nil
}

// following: the ledger has it, or may have it. What it says of it decides.
func (v *View) following() Step {
	t, a, seen := v.Txn, v.Txn.FirstOpen(), &v.Batch.Seen
	switch {
	case seen.State == BatchCommitted:
		return v.committed(ReasonLanded)
	case a == nil:
		return v.closed(ReasonSettled)
	}
	left := a.StartedAt.Add(v.Policy.LedgerPatience).Sub(v.Now)
	over, since := v.Clock.Add(left), v.Local.SentAt
	switch said := seen.At.After(since); {
	case said && seen.State == BatchInvalid:
		return v.unresolved(tx.Invalid, seen.Refused, ReasonInvalid)
	case left <= 0 && seen.Asked.After(over) && seen.Asked.After(since) && v.told(seen):
		return v.unresolved(tx.Unknown, tx.Error{Code: tx.CodeOutcomeUnknown, Message: "the ledger says " +
			cmp.Or(string(seen.State), "nothing") +
			" for so long that it may never end: look for it there, and settle it by resolve"}, ReasonAmbiguous)
	case left <= 0:
		return v.waitUntil(v.Clock.Add(v.Policy.InclusionInterval), ReasonSent) // it is asked once more
	case !said:
		return v.waitUntil(over, ReasonSent)
	}
	if as := seenAs(a, seen); t.Phase == tx.PhaseSent || a.State != as {
		s := v.to(tx.PhaseWatching, ReasonSent)
		s.Txn.FirstOpen().State = as
		return s
	}
	if seen.State == BatchUnknown {
		return v.unknownThere(left)
	}
	return v.waitUntil(v.Clock.Add(left), ReasonPool)
}

// told reports whether a ledger has said all that is to be waited for: it has answered, or has
// been silent for as long as it may leave a batch without a verdict.
func (v *View) told(seen *BatchSeen) bool {
	return seen.At.Equal(seen.Asked) || seen.Asked.Sub(seen.Since) >= v.Policy.LedgerPatience
}

// seenAs is the state of an attempt by what the ledger says.
func seenAs(a *tx.Attempt, seen *BatchSeen) tx.AttemptState {
	switch {
	case seen.State == BatchPending:
		return tx.Pooled
	case a.State == tx.Pooled:
		return tx.Sent // it is not there any more
	}
	return a.State
}

// unknownThere: the ledger does not know it, yet or any more.
func (v *View) unknownThere(left time.Duration) Step {
	b := &v.Batch
	if !b.Idempotent || v.Stops() || v.Txn.Ending != "" || v.Local.Resent >= maxReposts {
		return v.waitUntil(v.Clock.Add(left), ReasonAbsent)
	}
	next := v.Local.SentAt.Add(v.Policy.InclusionInterval << v.Local.Resent)
	if next.Before(b.Held) {
		next = b.Held
	}
	if v.Clock.Before(next) {
		return v.waitUntil(next, ReasonAbsent)
	}
	s := v.do(Effect{Kind: Submit, Number: v.Txn.FirstOpen().Number}, ReasonResending)
	s.Look = v.Clock.Add(left)
	return s
}

// unresolved ends it with the attempt open: should the ledger have it after all, it is DONE.
func (v *View) unresolved(to tx.AttemptState, e tx.Error, why Reason) Step {
	s := v.with(func(t *tx.Transaction) {
		a := t.FirstOpen()
		a.State, a.Error, t.Error = to, &e, &e
	}).end(tx.PhaseUnresolved, why)
	if e.Code == tx.CodeOutcomeUnknown {
		s.Aside.Code = tx.CodeOutcomeUnknown
	}
	return s
}

// batchEnded: FAILED or UNRESOLVED, and watched as long as something is open.
func (v *View) batchEnded() Step {
	t, a, seen := v.Txn, v.Txn.FirstOpen(), &v.Batch.Seen
	switch {
	case a == nil:
		return v.wait(ReasonEnded)
	case seen.State == BatchCommitted:
		s := v.committed(ReasonLanded)
		s.Aside.Code = tx.CodeLate
		return s
	case seen.State == BatchInvalid && a.State != tx.Invalid:
		s := v.to(t.Phase, ReasonInvalid)
		s.Txn.FirstOpen().State, s.Txn.FirstOpen().Error, s.Txn.Error = tx.Invalid, &seen.Refused, &seen.Refused
		return s
	}
	next := v.Local.ReadAt.Add(recheck)
	if !v.Clock.Before(next) {
		return v.ask(AskRecord, ReasonEnded)
	}
	if a.State != tx.Invalid {
		return v.waitUntil(next, ReasonEnded)
	}
	left := t.DoneAt.Add(v.Policy.LedgerPatience).Sub(v.Now)
	switch {
	case left > 0:
		return v.waitUntil(earlier(next, v.Clock.Add(left)), ReasonEnded)
	case !seen.At.After(v.Clock.Add(left)), seen.State == BatchPending:
		return v.waitUntil(next, ReasonSent) // it is asked once more
	}
	s := v.to(t.Phase, ReasonSettled)
	s.Txn.FirstOpen().Become(tx.FailedIn, v.Now)
	return s
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// committed: the ledger has it for good.
func (v *View) committed(why Reason) Step {
	u := v.with(func(t *tx.Transaction) {
		if !t.Open() { // somebody else has posted it
			t.Attempts = append(t.Attempts, tx.Attempt{
				Number: len(t.Attempts) + 1, Sender: t.Sender, Hash: t.BatchID, StartedAt: v.Now, State: tx.Sent,
			})
		}
		a := t.FirstOpen()
		a.Become(tx.Included, v.Now)
		a.Error = nil
		t.Landed, t.Done, t.Deferred = a.Number, doneAt(t.Ledger), 0
	})
	s := u.end(tx.PhaseDone, why)
	s.Txn.FinalAt = v.Now
	s.Local.Unsent = 0
	return s
}

// doneAt is the result of a batch that its ledger has committed.
func doneAt(ledger string) json.RawMessage {
	return json.RawMessage(`{"status":"COMMITTED","ledger":"` + ledger + `"}`)
}

// FollowsBatch reports whether the ledger is to be asked about t.
func FollowsBatch(t *tx.Transaction) bool { return t.Ledger != "" && (t.Phase.Bound() || t.Watched()) }
