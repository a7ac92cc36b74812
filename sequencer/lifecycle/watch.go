package lifecycle

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// ResendEvery is how often what waits in a pool is sent again: a Mina node stops
// telling its peers of a transaction 50 minutes after it was submitted.
const ResendEvery = 30 * time.Minute

// Memo marks our commands on the chain: 22 characters that name a transaction of a
// namespace and tell nothing else.
func Memo(namespace, uid string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + uid))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:22]
}

// WatchOf is what the chain is to be asked about t: the attempts that share the nonce
// still in question, those that are open or, once one has landed, that one, or else what is
// shallow. What was given up as refused because an open one keeps its nonce is among them:
// should a node have it all the same, it may land for longer than that one. It reports false
// if there is nothing.
func WatchOf(t *tx.Transaction, memo string) (w tx.Watch, found bool) {
	w.Memo = memo
	unseen, forever := false, false
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if !inQuestion(t, a) {
			continue
		}
		if !found {
			w.Payer, w.Nonce, w.Since = a.Sender, a.Nonce, a.Slot
			found = true
		}
		watchFor(&w, a)
		forever, unseen = forever || a.ValidUntil == 0, unseen || a.Legacy && a.StateHash == ""
	}
	if w.Legacy || forever { // who signed by itself may have ignored that
		w.ValidUntil = 0
	}
	// It has been in a block, if only in one that is gone.
	w.Found = w.Legacy && (t.Landed > 0 || !unseen)
	return w, found && (t.Phase != tx.PhaseDone || t.FinalAt.IsZero())
}

// watchFor has the chain asked about a, too.
func watchFor(w *tx.Watch, a *tx.Attempt) {
	w.Since, w.ValidUntil, w.Legacy = min(w.Since, a.Slot), max(w.ValidUntil, a.ValidUntil), w.Legacy || a.Legacy
	for _, hash := range []string{a.Hash, a.NodeHash} {
		if hash != "" && !slices.Contains(w.Hashes, hash) {
			w.Hashes = append(w.Hashes, hash)
		}
	}
}

// inQuestion reports whether the chain has a word to say on a: see WatchOf.
func inQuestion(t *tx.Transaction, a *tx.Attempt) bool {
	landed := t.Attempt(t.Landed)
	if a.Open() || a == landed || sharesNonce(a, landed) || keepsBytesOf(t, a) {
		return true
	}
	return a.Shallow() && landed == nil && !t.Open() // nothing else is
}

// keepsBytesOf reports whether a was refused, and something open has its nonce.
func keepsBytesOf(t *tx.Transaction, a *tx.Attempt) bool {
	return a.State == tx.Refused && t.Find(func(o *tx.Attempt) bool { return o.Open() && o.SameNonce(a) }) != nil
}

func sharesNonce(a, b *tx.Attempt) bool {
	return b != nil && a.SameNonce(b) && a.State != tx.Refused && !a.State.Unmade()
}

// attemptOf finds the attempt that a sighting is of: by its hash, or, where the hash
// is news, the latest one that could have it.
func attemptOf(t *tx.Transaction, g *tx.Sighting) *tx.Attempt {
	return cmp.Or(t.FindLast(func(a *tx.Attempt) bool { return a.Is(g.Hash) }), t.FindLast(t.LandsBy))
}

// settled reports whether what ended the attempts stands so deep, by the word of all,
// that no other end is possible.
func (v *View) settled() bool {
	g := &v.Sighting
	return g.Fate.Ends() && g.Agreed && g.Depth >= v.Policy.SettleDepth
}

// awaiting is why nothing is done while the chain says so: it is not deep enough.
var awaiting = map[tx.Fate]Reason{
	tx.FateIncluded: ReasonBlock, tx.FateFailed: ReasonFailedIn, tx.FateDisplaced: ReasonDisplaced,
	tx.FateExpired: ReasonExpired,
}

// watching: it waits for a block.
func (v *View) watching() Step {
	t, g := v.Txn, &v.Sighting
	if !t.Open() {
		return v.closed(ReasonSettled) // whatever brought it here: there is nothing to wait for
	}
	if v.ends() {
		return v.settle()
	}
	last := t.Last()
	if v.Expired() {
		v = v.unfresh()
	}
	if v.Local.fresh(last) {
		return v.sendInOrder(func() Step { return v.sendFresh(last) }) // of a raise
	}
	if last.Pending() {
		return v.raising(last)
	}
	switch g.Fate {
	case tx.FateAbsent:
		return v.absent()
	case tx.FatePooled:
		return v.pooled()
	case tx.FateUnknown:
		if g.Pruned {
			return v.wait(ReasonPruned)
		}
	}
	return v.wait(cmp.Or(awaiting[g.Fate], ReasonUnclear))
}

// absent: no node shows it.
func (v *View) absent() Step {
	switch {
	case v.Txn.Legacy():
		return v.absentLegacy()
	case v.abandoned():
		return v.wait(ReasonAbsent)
	}
	return v.vanished()
}

// abandoned reports whether what is open is not helped along any more. What is cancelled is as
// long as others stand on it.
func (v *View) abandoned() bool {
	return v.Expired() || v.Txn.CancelRequested && !v.Train.Walk().SuccessorOpen
}

// vanished sends the same bytes again. The nodes get some time to show what they were
// given, the longer the more often they did not.
func (v *View) vanished() Step {
	next := v.Local.SentAt.Add(v.Policy.InclusionInterval << min(v.Local.Resent, 5))
	if v.Clock.Before(next) {
		return v.waitUntil(next, ReasonAbsent)
	}
	return v.sendInOrder(v.resend)
}

// pooled: at least one node has it and may put it into a block.
func (v *View) pooled() Step {
	t := v.Txn
	legacy := t.Legacy()
	if a := t.Shown(v.Sighting.Hash); a != nil {
		s := v.to(t.Phase, ReasonPool) // whatever became of the sending
		s.Txn.Attempt(a.Number).Become(tx.Pooled, v.Now)
		s.Txn.Attempt(a.Number).Blame(tx.NoCause, nil)
		return s
	}
	if legacy || v.abandoned() {
		return v.pool(v.wait(ReasonPool))
	}
	next := v.Local.SentAt.Add(v.resendEvery())
	if v.mayRaise() {
		lingers := v.lingersAt()
		switch {
		case v.outranked() && !t.Last().Open(): // a raise came to nothing, and is not tried again at once
		case v.outranked():
			lingers = v.Local.Costly
		case v.Pays(): // until the market asks for more
			lingers = v.Clock.Add(fees.LookEvery(v.Tip.SlotTime))
		}
		if !lingers.After(v.Clock) {
			return v.raise(false)
		}
		if lingers.Before(next) {
			next = lingers
		}
	}
	if !v.Clock.Before(v.Local.SentAt.Add(v.resendEvery())) {
		return v.pool(v.sendInOrder(v.resend))
	}
	return v.pool(v.waitUntil(next, ReasonPool))
}

// pool notes that the nodes show it.
func (v *View) pool(s Step) Step {
	s.Local.Resent = 0
	return s
}

// resend gives the stored bytes to the nodes once more, which is harmless. What they
// answer is no news: only the chain is believed.
func (v *View) resend() Step {
	t, bytes := v.Txn, v.Local.Asked.Bytes
	if bytes == nil {
		return v.ask(AskBytes, ReasonResending)
	}
	a, stands := t.Attempt(bytes.Number), stake(t)
	if bytes.Command == nil || a == nil || stands == nil || a.State.Unmade() || !a.SameNonce(stands) {
		return v.noBytes() // or left over from another nonce, or of what never left
	}
	if a.State == tx.Refused {
		// The nodes refused them once; others at its nonce are not there any more, and
		// they may land now: open before they leave.
		s := v.to(t.Phase, ReasonResending)
		a := s.Txn.Attempt(bytes.Number)
		a.Become(tx.Signed, v.Now)
		s.Local.Confirmed = a.Number
		return s
	}
	return v.release(Effect{Kind: Send, Number: a.Number}, ReasonResending)
}

// noBytes: only the chain can tell.
func (v *View) noBytes() Step {
	s := v.waitUntil(v.Clock.Add(v.Policy.InclusionInterval), ReasonAbsent)
	s.Local.SentAt, s.Local.Asked.Bytes = v.Clock, nil
	s.Local.Resent++
	return s
}

// stake is an attempt whose sender and nonce are those that are in question next: the
// first open one or, of what is DONE, the one that landed.
func stake(t *tx.Transaction) *tx.Attempt {
	return cmp.Or(t.FirstOpen(), t.Attempt(t.Landed))
}

// done: it is watched until its block stands deep enough, and brought back if that
// leaves the chain.
func (v *View) done() Step {
	t, g := v.Txn, &v.Sighting
	if !t.Watched() {
		return v.wait(ReasonFinal)
	}
	if t.Reopened {
		return v.reopened()
	}
	if a := t.Attempt(t.Landed); g.Pruned && a.StateHash != "" && v.untold(a) {
		return v.cut(a)
	}
	gone := false
	switch g.Fate {
	case tx.FateIncluded:
		if g.Agreed && g.Depth >= v.Policy.Finality {
			return v.finalise()
		}
	case tx.FateFailed:
		gone = v.settled()
	case tx.FateDisplaced, tx.FateExpired:
		gone = g.Agreed
	case tx.FateAbsent, tx.FatePooled:
		gone = true
	}
	if !gone {
		return v.wait(ReasonFinality)
	}
	s := v.to(tx.PhaseDone, ReasonOrphaned)
	s.Txn.Reopened = true
	s.Aside.Code = tx.CodeOrphaned
	return s
}

// untold reports whether nobody will tell any more what became of a: there is no archive to ask, or
// it lies before the hard fork that the chain began with.
func (v *View) untold(a *tx.Attempt) bool {
	return v.Tip.NoArchive || a.ValidUntil > 0 && a.ValidUntil < v.Tip.First
}

// cut: the nodes have no blocks any more from where a took effect. How deep that is its height tells.
func (v *View) cut(a *tx.Attempt) Step {
	u := *v
	u.Sighting = tx.Sighting{
		Fate: tx.FateIncluded, Hash: a.KnownHash(), Nonce: a.Nonce, Height: a.Height, StateHash: a.StateHash,
	}
	if depth := int(v.Tip.Height) - int(a.Height) + 1; depth >= v.Policy.Finality {
		u.Sighting.Depth = depth
		return u.finalise()
	}
	return v.waitUntil(v.Clock.Add(max(v.Tip.SlotTime, time.Second)), ReasonFinality)
}

// reopened: DONE, and its block is gone.
func (v *View) reopened() Step {
	t, g := v.Txn, &v.Sighting
	if v.settled() {
		switch {
		case t.Shallow() != nil:
			return v.turnBack()
		case g.Archived:
			return v.revokeDone()
		}
		return v.requeue()
	}
	switch {
	case v.Expired():
		return v.found(v.wait(ReasonOrphaned)) // not helped along
	case t.Legacy():
		return v.reopenedLegacy()
	}
	switch g.Fate {
	case tx.FateAbsent:
		return v.found(v.vanished())
	case tx.FatePooled:
		next := v.Local.SentAt.Add(ResendEvery)
		if v.Clock.Before(next) {
			return v.found(v.pool(v.waitUntil(next, ReasonOrphaned)))
		}
		return v.found(v.pool(v.resend()))
	}
	return v.found(v.wait(ReasonOrphaned))
}

// found notes that it is not missing, or can be sent again.
func (v *View) found(s Step) Step {
	s.Local.LostAt = time.Time{}
	return s
}

// ended: FAILED or UNRESOLVED, and something of it may still land.
func (v *View) ended() Step {
	if v.Txn.Open() && v.settled() {
		return v.settle()
	}
	// A person may have resolved it through another process.
	next := v.Local.ReadAt.Add(recheck)
	if !v.Clock.Before(next) {
		return v.ask(AskRecord, ReasonEnded)
	}
	return v.waitUntil(next, ReasonEnded)
}

// recheck is how often what ended badly and may still land is read anew.
const recheck = 5 * time.Minute
