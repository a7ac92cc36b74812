package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"mina-sequencer/sequencer/tx"
)

// landed is the attempt that succeeded in a block, Confirmations deep; nil if there is none, or if
// that is recorded already.
func (v *View) landed() *tx.Attempt {
	t, g := v.Txn, &v.Sighting
	if g.Fate != tx.FateIncluded || !g.Agreed || g.Depth < v.Policy.Confirmations {
		return nil
	}
	switch {
	case t.Phase == tx.PhaseWaiting, t.Phase == tx.PhaseDone && !t.Reopened, v.strayed(),
		t.Phase != tx.PhaseDone && !t.Open() && t.Shallow() == nil:
		return nil
	case v.dispatchUnderWay():
		return nil // its worker's answer is waited for: it is part of the result
	}
	return attemptOf(t, g)
}

// land makes the transaction DONE by the attempt in, and closes all others.
func (v *View) land(in *tx.Attempt) Step {
	t, g := v.Txn, &v.Sighting
	u := v.with(func(t *tx.Transaction) {
		closeAll(t, v.Now, func(a *tx.Attempt) { a.Become(tx.Replaced, v.Now) })
		for i := range t.Attempts {
			a := &t.Attempts[i]
			if a.State == tx.Included { // and was orphaned
				a.Become(tx.Replaced, v.Now)
			}
			if a.SameNonce(in) {
				a.State = a.State.Deep()
			}
		}
		v.includedIn(t.Attempt(in.Number))
		t.Landed, t.Reopened, t.Done = in.Number, false, doneIn(g)
	})
	s := Step{}
	switch {
	case t.Phase == tx.PhaseDone && in.StateHash != "":
		s = u.to(tx.PhaseDone, ReasonLanded)
		s.Aside.Code = tx.CodeRelanded
	case t.Phase == tx.PhaseFailed, t.Phase == tx.PhaseUnresolved:
		s = u.end(tx.PhaseDone, ReasonLanded)
		s.Aside.Code = tx.CodeLate
	default:
		s = u.end(tx.PhaseDone, ReasonLanded)
	}
	switch {
	case awaited(t), t.Phase.Bound() && g.Archived: // that was long ago: the sender's nonce is asked anew
		s.Aside.ForgetNonce = true
	case t.Phase.Bound():
		s.Aside.Least = map[string]uint32{t.Sender: following(g.Nonce)}
	}
	s.Aside.LandedWith, s.Aside.Clean = new(g.Nonce), t.Phase.Bound()
	s.Local.SentAt, s.Local.Resent, s.Local.Asked = time.Time{}, 0, Asked{}
	return s
}

// includedIn notes the block that a succeeded in.
func (v *View) includedIn(a *tx.Attempt) {
	g := &v.Sighting
	a.Become(tx.Included, v.Now)
	a.Blame(tx.NoCause, nil)
	a.Height, a.StateHash, a.Confirmations = g.Height, g.StateHash, g.Depth
	if a.Legacy && g.Nonce != a.Nonce {
		a.Blame(tx.CauseNonce, ignored(a, g))
	}
	if a.NodeHash == "" || !a.Is(g.Hash) {
		a.NodeHash = g.Hash
	}
}

func doneIn(g *tx.Sighting) []byte {
	return fmt.Appendf(nil, `{"blockHeight":%d,"stateHash":%q}`, g.Height, g.StateHash)
}

// settle acts on what has become of all open attempts: it stands deep enough, and none has landed.
func (v *View) settle() Step {
	t, g, w := v.Txn, &v.Sighting, v.Train.Walk()
	if v.Train.Unseen || len(v.Train.Ahead) > 0 && !w.unready() && g.Fate != tx.FateExpired {
		return v.wait(ReasonBehind) // the predecessors' nonces come first
	}
	nonce := t.FirstOpen().Nonce
	if g.Fate == tx.FateFailed {
		nonce = g.Nonce // a legacy worker's may be another than planned
	}
	s := v.afterClosed(v.allClosed())
	s.Aside.Broke = len(v.Train.Behind) > 0 && !v.hasPredecessor() && !v.Train.Commuting
	v.moveNonce(&s, nonce)
	s.Local.SentAt, s.Local.Resent, s.Local.Asked = time.Time{}, 0, Asked{}
	s.Local.FirstSent, s.Local.FirstHeight = time.Time{}, 0
	return s
}

// allClosed is v with all that was open closed by what the chain shows.
func (v *View) allClosed() *View {
	cause, settled, failed := fateError(&v.Sighting), v.settled(), attemptOf(v.Txn, &v.Sighting).Number
	return v.with(func(t *tx.Transaction) {
		closeAll(t, v.Now, func(a *tx.Attempt) {
			v.closeAttempt(a, a.Number == failed, cause)
			if !settled {
				a.State = a.State.Shallow()
			}
		})
		told := t.Ending == tx.PhaseDone && hasStood(t) == nil || t.Ending == tx.PhaseUnresolved
		if told && v.hasPredecessor() && !v.Train.Commuting {
			t.Ending, t.Done = "", nil // its worker's verdict was on a state that never came
		}
		if t.Error == nil || !t.Ending.Final() || v.Sighting.Fate != tx.FateExpired { // else what ended it is known
			t.Error = cause
		}
	})
}

// afterClosed is how v goes on as u, in which nothing is open any more.
func (v *View) afterClosed(u *View) (s Step) {
	g, settled := &v.Sighting, v.settled()
	switch {
	case !v.Txn.Phase.Bound():
		s = u.to(v.Txn.Phase, ReasonSettled)
	case !settled && v.hasPredecessor():
		s = u.retryInPlace(0)
	case v.hasPredecessor() && !v.Stops() && !v.Train.Commuting:
		s = u.back(ReasonSettled)
	case v.rejected():
		// What the archive alone shows is not safe to retry: a person has to.
		s = u.end(tx.PhaseUnresolved, ReasonSettled)
	case g.Fate == tx.FateExpired && u.keptByGateway():
		s = u.end(tx.PhaseFailed, ReasonSettled)
		e := *lastOut(u.Txn).Error
		e.Message = "no node was seen to take it, while they took others: " + e.Message
		s.Txn.Error = &e
	case g.Fate == tx.FateExpired && u.stalled():
		s = u.to(tx.PhaseDelayed, ReasonSettled)
		s.Txn.DueAt = v.Now.Add(v.Policy.Pause(v.Txn.Deferred))
		s.Txn.Deferred++ // it is signed again, and that is no try
		return s
	default:
		s = u.closed(ReasonSettled)
	}
	s.Aside.DropBytes = settled
	return s
}

// rejected reports whether it failed in a block for what no retry can mend, or where no retry is known
// to be safe.
func (v *View) rejected() bool {
	t, g := v.Txn, &v.Sighting
	return g.Fate == tx.FateFailed && (g.Failure.Permanent || g.Archived) && t.Ending != tx.PhaseDone &&
		t.Ending != tx.PhaseWaiting
}

// closeAll calls end on each open attempt of t, and drops each planned one.
func closeAll(t *tx.Transaction, now time.Time, end func(a *tx.Attempt)) {
	for i := range t.Attempts {
		switch a := &t.Attempts[i]; {
		case a.Open():
			end(a)
		case a.Pending():
			a.Become(tx.Dropped, now)
		}
	}
}

// closeDone calls end on the attempt by which t was DONE, and on each that is not over.
func closeDone(t *tx.Transaction, end func(a *tx.Attempt)) {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; !a.Over() || a.Number == t.Landed {
			end(a)
		}
	}
}

// keptByGateway reports whether something in front of the nodes kept from them what has expired, and
// let others pass meanwhile: then the transaction is the cause, and no second attempt would pass.
func (v *View) keptByGateway() bool {
	a, sent := lastOut(v.Txn), v.Local.FirstSent
	return v.stalled() && a.Cause == tx.CauseGateway && sent.Before(v.LastAccepted) && !sent.IsZero()
}

// stalled reports whether it expired because no node took it, through no fault of its own, and it is
// to be signed again.
func (v *View) stalled() bool {
	t := v.Txn
	return lastOut(t).Stalled() && t.Ending == "" && !v.Stops() && !v.Expired() && v.Train.alone()
}

// closeAttempt ends an attempt by what the chain shows; failed: it is the one in the block.
func (v *View) closeAttempt(a *tx.Attempt, failed bool, cause *tx.Error) {
	g := &v.Sighting
	a.Become(settledAs(g, failed), v.Now)
	if a.State != tx.FailedIn {
		return
	}
	a.Height, a.StateHash, a.Confirmations = g.Height, g.StateHash, g.Depth
	a.NodeHash = cmp.Or(a.NodeHash, g.Hash)
	if a.Cause != tx.CauseNonce {
		a.Blame(tx.NoCause, cause)
	}
}

// moveNonce tells the sender its next nonce after the attempts at nonce have ended.
func (v *View) moveNonce(s *Step, nonce uint32) {
	t, g := v.Txn, &v.Sighting
	waited := awaited(t)
	switch {
	case !t.Phase.Bound() && !waited:
	case g.Archived, waited && g.Fate == tx.FateFailed: // that was long ago
		s.Aside.ForgetNonce = true
	case g.Fate == tx.FateDisplaced:
		// Somebody else signs for the account: no nonce of it can be trusted. Where Redis had forgotten
		// this one, its nonce may have gone to another of ours, which Above lets pass; not in a train,
		// whose successors have used higher nonces.
		s.Aside.Rest = &Rest{For: Never, Why: tx.StoppedNonce, Detail: "of " + t.UID + ": " + fateError(g).Message}
		if v.Train.alone() {
			s.Aside.Rest.Above = &nonce
		}
		s.Aside.Least = map[string]uint32{t.Sender: following(nonce)}
	case g.Fate == tx.FateFailed:
		s.Aside.Least = map[string]uint32{t.Sender: following(nonce)}
	default:
		s.Aside.Least = map[string]uint32{t.Sender: nonce}
	}
}

func fateError(g *tx.Sighting) *tx.Error {
	switch g.Fate {
	case tx.FateFailed:
		e := &tx.Error{Code: g.Failure.Code, Message: fmt.Sprintf("failed in block %d: %s", g.Height, g.Failure.Reasons)}
		if g.Archived {
			e.Message += ", as only the archive says: verify that, then retry it"
		}
		return e
	case tx.FateDisplaced:
		by := "a command that is not ours, in no block that the nodes still hold"
		if g.Hash != "" {
			by = g.Hash + ", which is not ours"
		}
		return &tx.Error{Code: tx.CodeNonceTaken, Message: "its nonce was spent by " + by}
	}
	return &tx.Error{Code: tx.CodeExpired, Message: fmt.Sprintf("not included up to slot %d, past its last", g.TipSlot)}
}

// settledAs is the state of an attempt that cannot land any more; failed says
// that it is the one in the block.
func settledAs(g *tx.Sighting, failed bool) tx.AttemptState {
	switch {
	case g.Fate == tx.FateFailed && failed:
		return tx.FailedIn
	case g.Fate == tx.FateExpired:
		return tx.Expired
	}
	return tx.Replaced
}

// requeue: another command took its nonce for good. It returns to its position in the queue.
func (v *View) requeue() Step {
	g := &v.Sighting
	failed := attemptOf(v.Txn, g).Number
	u := v.with(func(t *tx.Transaction) {
		closeDone(t, func(a *tx.Attempt) { a.Become(settledAs(g, a.Number == failed), v.Now) })
		clearEnd(t)
		t.Callback, t.CallbackTries = "", 0 // that end was wrong: the next one is told anew
	})
	s := u.back(ReasonSettled)
	s.Aside.Code, s.Aside.DropBytes = tx.CodeReopened, true
	return s
}

// revokeDone: only the archive says that what it was DONE by has failed. A person has to retry it.
func (v *View) revokeDone() Step {
	g := &v.Sighting
	failed, cause := attemptOf(v.Txn, g).Number, fateError(g)
	return v.with(func(t *tx.Transaction) {
		closeDone(t, func(a *tx.Attempt) { v.closeAttempt(a, a.Number == failed, cause) })
		clearEnd(t)
		t.Error = cause
	}).end(tx.PhaseUnresolved, ReasonSettled)
}

// clearEnd takes back that t had ended.
func clearEnd(t *tx.Transaction) {
	t.Landed, t.Ending, t.CancelRequested, t.Error, t.Reopened = 0, "", false, nil, false
	t.DoneAt, t.FinalAt, t.Done = time.Time{}, time.Time{}, nil
	t.Deferred = 0
}

// finalise: its block is final, and it is watched no longer. A reorg may have had another attempt at
// the nonce land in place of the one that did.
func (v *View) finalise() Step {
	g, in := &v.Sighting, attemptOf(v.Txn, &v.Sighting).Number
	u := v.with(func(t *tx.Transaction) {
		if in != t.Landed {
			t.Attempt(t.Landed).Become(tx.Replaced, v.Now)
			t.Attempt(in).Become(tx.Included, v.Now)
			t.Landed = in
		}
		a := t.Attempt(in)
		if a.StateHash != g.StateHash {
			a.Height, a.StateHash = g.Height, g.StateHash
			t.Done = doneIn(g)
		}
		a.Confirmations = g.Depth
		t.FinalAt = v.Now
		deepen(t)
	})
	s := u.to(tx.PhaseDone, ReasonFinal)
	s.Aside.Code, s.Aside.DropBytes = tx.CodeFinal, true
	return s
}
