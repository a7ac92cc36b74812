package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Redis may forget its last writes. What a transaction has in flight is known from two sides
// then: the processes remember it, and the nodes show it. Both say it as Known, and the record
// gets back what it lacks. All else that was forgotten is decided anew.

// Known is what is known of the attempts of a transaction, whatever is stored.
type Known struct {
	Attempts []tx.Attempt // in order
	Bytes    *BytesRead
	// Process is the one that remembers a record of this Revision; "" of what was found.
	Process  string
	Revision int64
	// Failed: it was found, and has failed in a block; Later are the hashes of what was found of its
	// transaction and made after it.
	Failed bool
	Later  []string
}

// Remember is what a process remembers of a transaction once it has read or stored t, nil for
// nothing. It keeps the latest record that has an attempt in flight, or that says what no chain
// shows: that an attempt came to nothing, or what a legacy worker or a ledger has answered.
func Remember(process string, known, t *tx.Transaction) *tx.Transaction {
	switch {
	case Lacks(process, t, known):
		return known
	case !Reposts(t) && t.Find(wasUnspent) == nil:
		return nil
	}
	return t
}

// Reposts reports whether a record that is remembered is put back even where Redis has none at all:
// it has an attempt in flight, or only the process that was answered knows what became of it. Any
// other transaction that is gone may have been removed after its end.
func Reposts(t *tx.Transaction) bool {
	return t.Out() || t.Ledger != "" && t.Landed > 0 ||
		t.Find(func(a *tx.Attempt) bool { return a.Legacy }) != nil
}

// Lacks reports whether t, as read, lacks something that the process remembers: Redis has forgotten
// a change of it.
func Lacks(process string, t, known *tx.Transaction) bool {
	return known != nil && known.Find(func(k *tx.Attempt) bool {
		if wasUnspent(k) && believes(t, process, known.Revision) &&
			t.Find(func(a *tx.Attempt) bool { return a.Open() && sameAsMade(t, a, k) }) != nil {
			return true
		}
		out := known.HasOut(k) || k.Legacy || known.Ledger != "" && k.Number == known.Landed
		return out && !hasMade(t, k) && !leavesOut(t, k, known.Attempts)
	}) != nil
}

// believes reports whether an attempt that a process knows, as of a revision, to have come to nothing
// has done so for good. It has if no other process has driven t since: that one may have given the
// same bytes to the nodes once more.
func believes(t *tx.Transaction, process string, revision int64) bool {
	return t.Revision < revision && t.Owner() == process
}

// hasMade reports whether t has an attempt, and as far as k: not as a plan alone, nor without
// its worker's answer.
func hasMade(t *tx.Transaction, k *tx.Attempt) bool {
	return madeAnew(t, k) ||
		t.Find(func(a *tx.Attempt) bool { return sameAsMade(t, a, k) && !precedes(a, k) }) != nil
}

// sameAsMade reports whether an attempt of t is what is known as k. Those of a batch are all alike, and
// told apart by when they were made.
func sameAsMade(t *tx.Transaction, a, k *tx.Attempt) bool {
	if t.Ledger != "" {
		return a.StartedAt.UnixMilli() == k.StartedAt.UnixMilli()
	}
	return isCommand(a, k)
}

// madeAnew reports whether the number of k, of a batch, was given anew since: nothing came of k.
func madeAnew(t *tx.Transaction, k *tx.Attempt) bool {
	a := t.Attempt(k.Number)
	return t.Ledger != "" && a != nil && a.StartedAt.UnixMilli() > k.StartedAt.UnixMilli()
}

// leavesOut reports whether t has gone on without k, so that k is left out for good: given to the nodes
// now, k and what was made since could both take effect. t has gone on
//
//   - if it has another attempt, at another nonce, that may land or has landed, was made by who could
//     not know k, and is not known to who knows k; or
//   - if an end was told since that no block brought.
//
// What was in a block, or was found, is never left out: the nodes have it. A legacy worker's call
// sends whatever is stored, so it is left out only where the nodes have the other attempt, too.
func leavesOut(t *tx.Transaction, k *tx.Attempt, known []tx.Attempt) bool {
	switch {
	case t.Ledger != "", k.Number == 0, k.StateHash != "":
		return false
	case !k.Legacy && endedByNoBlock(t) && t.DoneAt.After(k.StartedAt) && !hasMade(t, k):
		return true
	}
	return t.Find(func(a *tx.Attempt) bool {
		lands := a.Number == t.Landed || t.HasOut(a) && (!k.Legacy || a.Accepted())
		return lands && !a.SameNonce(k) && (a.StartedAt.After(k.StartedAt) || !k.Unspent()) && !isAmong(known, t, a)
	}) != nil
}

// isAmong reports whether a, an attempt of t, is one of those that are known.
func isAmong(known []tx.Attempt, t *tx.Transaction, a *tx.Attempt) bool {
	return slices.ContainsFunc(known, func(k tx.Attempt) bool { return sameAsMade(t, a, &k) })
}

// BytesOf are the bytes that a process goes on remembering once it remembers t in place of known; nil
// where their attempt is not the same any more: another process may have made one of that number.
func BytesOf(known, t *tx.Transaction, bytes *BytesRead) *BytesRead {
	if bytes == nil || t == nil {
		return nil
	}
	if a := t.Attempt(bytes.Number); a == nil || !sameAsMade(t, a, known.Attempt(bytes.Number)) {
		return nil
	}
	return bytes
}

// precedes reports whether a is k as it was before its worker answered: none goes back to that.
func precedes(a *tx.Attempt, k *tx.Attempt) bool {
	return !a.WasOut() && (k.WasOut() || k.Legacy && (!a.Legacy || a.State == tx.Called && k.Over()))
}

// wasPlanned reports whether a is, or was, no more than a plan.
func wasPlanned(a *tx.Attempt) bool { return a.State.Unmade() && !a.Legacy }

// KnownOf is what a remembered record knows. The attempt that landed is open again, final or not, and
// so is one that has failed less deep than settles it, where no other is: the chain tells once more
// what became of it.
func KnownOf(process string, t *tx.Transaction, bytes *BytesRead) Known {
	k := Known{Attempts: slices.Clone(t.Attempts), Bytes: bytes, Process: process, Revision: t.Revision}
	for i := range k.Attempts {
		switch a := &k.Attempts[i]; {
		case a.Number == t.Landed:
			a.Become(tx.Sent, time.Time{})
		case a.Shallow() && t.Landed == 0 && !t.Open():
			a.Become(tx.Resurfaced, time.Time{})
		}
	}
	return k
}

// wasUnspent reports whether a was more than a plan, and has not used its nonce.
func wasUnspent(a *tx.Attempt) bool { return a.Unspent() && !wasPlanned(a) }

// isCommand reports whether a, as it is stored, is what is known as k. A command that was found has no number;
// a legacy worker may take another nonce than was planned. An attempt that came to nothing is told from
// others by when it was planned, and from what is found by its hash.
func isCommand(a *tx.Attempt, k *tx.Attempt) bool {
	if k.Number == 0 {
		switch {
		case a.Legacy && a.Is(k.NodeHash):
			return true // its worker may have taken another fee, too
		case a.Unspent() && !a.Legacy:
			return a.Is(k.NodeHash)
		}
	} else if (a.Unspent() || k.Unspent()) && a.StartedAt.UnixMilli() != k.StartedAt.UnixMilli() {
		return false
	}
	return sameCommand(a, k) && (a.NodeHash == "" || k.NodeHash == "" || k.Is(a.NodeHash) || a.Is(k.NodeHash))
}

// sameCommand reports whether a and k are one command, by all that it says but its hash.
func sameCommand(a *tx.Attempt, k *tx.Attempt) bool {
	if a.Sender != k.Sender || a.Fee != k.Fee || a.Legacy != k.Legacy && k.Number > 0 && !a.Pending() {
		return false
	}
	if a.Legacy && k.Legacy {
		return a.Nonce == k.Nonce || a.Number == k.Number
	}
	return a.Nonce == k.Nonce && (a.ValidUntil == k.ValidUntil || a.Legacy || k.Legacy)
}

// Restored is t with all that is known of its attempts, and the bytes that are to be stored with it;
// nil if it lacks nothing. An attempt takes a new nonce only once all before it have settled: so one
// that t lacks shows that those at other nonces are over.
func Restored(t *tx.Transaction, k Known, now time.Time) (*tx.Transaction, *BytesRead) {
	if k.Failed && triedLater(t, k) {
		return nil, nil
	}
	u, lacks, at := t.Clone(), false, 0
	bytes := k.Bytes
	for i := range k.Attempts {
		var news bool
		was := at
		if !leavesOut(t, &k.Attempts[i], k.Attempts) {
			at, news = restoreAttempt(u, k.Attempts[i], at, believes(t, k.Process, k.Revision), now)
		}
		lacks = lacks || news
		switch {
		case k.Bytes == nil || k.Bytes.Number != i+1:
		case at == was:
			bytes = nil // it has no place, and they are of no other
		default:
			bytes = &BytesRead{Number: at, Command: k.Bytes.Command}
		}
	}
	if !lacks {
		return nil, nil
	}
	if u.DueAt = (time.Time{}); u.Ending == tx.PhaseFailing && u.Open() {
		u.Ending = ""
	}
	if t.Phase.Final() && opens(t, u) {
		unend(u, wasTold(t, k, u.FirstOpen()))
	}
	return u, bytes
}

// wasTold reports whether the end of t was told after a, which is put back, was made, or came by an attempt
// that who knows a does not know. Then t comes to that end once more if nothing lands.
func wasTold(t *tx.Transaction, k Known, a *tx.Attempt) bool {
	in, found := t.Attempt(t.Landed), k.Process == ""
	if in == nil {
		return found || t.DoneAt.After(a.StartedAt)
	}
	return !t.Reopened && (found || !isAmong(k.Attempts, t, in))
}

// unend has t go on, which is final and has an attempt in flight. told: if nothing lands it comes to its
// end once more, and is not tried anew.
func unend(t *tx.Transaction, told bool) {
	end, done, err := t.Phase, t.Done, t.Error
	if in := t.Attempt(t.Landed); in != nil && !told {
		in.State = tx.Replaced
	}
	clearEnd(t)
	if told {
		t.Ending, t.Done, t.Error = end, done, err
	}
}

// AdoptedAs is the phase of a transaction that is bound again with an attempt in flight. One that has an
// end to come to is only watched: no further attempt of it is made.
func AdoptedAs(t *tx.Transaction) tx.Phase {
	if t.Ending.Final() {
		return tx.PhaseWatching
	}
	return tx.PhaseDispatching
}

// triedLater reports whether an attempt of t that was made after k, which was found, has landed or is in
// flight.
func triedLater(t *tx.Transaction, k Known) bool {
	c := &k.Attempts[0]
	return t.Find(func(a *tx.Attempt) bool {
		return t.LandsBy(a) && !a.SameNonce(c) && slices.ContainsFunc(k.Later, a.Is)
	}) != nil
}

// restoreAttempt gives t an attempt, behind the one with a number, and reports the number that
// it has, and whether that, or what is known of it, is news. believed: that it came to nothing is
// so; what has run out the chain tells once more.
func restoreAttempt(t *tx.Transaction, c tx.Attempt, behind int, believed bool, now time.Time) (number int, news bool) {
	if wasPlanned(&c) && !c.Pending() || madeAnew(t, &c) {
		return behind, false // it came to nothing, and is not the one that was made after it
	}
	if a := storedAs(t, &c, behind); a != nil {
		return a.Number, learnsOf(t, a, c, believed, now)
	}
	if wasPlanned(&c) {
		return behind, false // nothing of it has left
	}
	if in := t.Attempt(t.Landed); in != nil && in.SameNonce(&c) && !c.Over() {
		c.Become(tx.Replaced, now) // and followed with that
	}
	c.Number = len(t.Attempts) + 1
	t.Attempts = append(t.Attempts, c)
	givesWay(t, t.Last(), now)
	return c.Number, true
}

// storedAs is what t has of c, behind the attempt with a number, nil if it has nothing. Of what may be
// what was found the one that has its hash is it, and any that is alike where none has.
func storedAs(t *tx.Transaction, c *tx.Attempt, behind int) *tx.Attempt {
	its := func(a tx.Attempt) bool { return c.Number == 0 && a.Is(c.NodeHash) }
	later := t.Attempts[behind:]
	alike := !slices.ContainsFunc(later, its)
	i := slices.IndexFunc(later, func(a tx.Attempt) bool {
		return sameAsMade(t, &a, c) && (!wasPlanned(&a) || a.Pending()) && (alike || its(a))
	})
	if i < 0 {
		return nil
	}
	return &later[i]
}

// learnsOf puts into a, an attempt of t, what is known of it as c, and reports whether that is news.
func learnsOf(t *tx.Transaction, a *tx.Attempt, c tx.Attempt, believed bool, now time.Time) bool {
	was, found := *a, c.Number == 0
	c.Number, c.Hash, c.NodeHash = a.Number, cmp.Or(a.Hash, c.Hash), cmp.Or(a.NodeHash, c.NodeHash)
	switch {
	case precedes(a, &c), a.Open() && c.Over() && (believed || !c.Unspent()):
		*a = c
	case found && a.Unspent() && !t.Open() && comes(&c): // it is out all the same
		a.Become(c.State, now)
		a.Blame(tx.NoCause, nil)
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	case was.KnownHash() != "" || c.KnownHash() == "":
		return false
	default:
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	}
	if a.Open() && (!was.Open() || !a.SameNonce(&was)) {
		givesWay(t, a, now)
	}
	return true
}

// givesWay ends what is open at another nonce than c, which is put back, and what is planned beside it.
func givesWay(t *tx.Transaction, c *tx.Attempt, now time.Time) {
	closeAll(t, now, func(a *tx.Attempt) {
		if c.Unspent() || a.SameNonce(c) {
			return
		}
		a.Become(tx.Replaced, now)
		if a.Sender == c.Sender && t.Phase.Bound() {
			a.State = tx.ReplacedShallow
		}
	})
}

// Least are the least that the next nonces of accounts are, by the attempts of after that
// before did not have as they are.
func Least(before, after *tx.Transaction) map[string]uint32 {
	least := map[string]uint32{}
	for i := range after.Attempts {
		a := &after.Attempts[i]
		if a.Pending() {
			continue
		}
		if i < len(before.Attempts) {
			if b := &before.Attempts[i]; b.Over() || b.Open() && a.Open() {
				continue
			}
		}
		next := a.Nonce
		if a.Spent() {
			next = upTo(next, 1)
		}
		least[a.Sender] = max(least[a.Sender], next)
	}
	return least
}

// RestoresInPlace reports whether a record is restored where it is: no attempt of it is newly in flight, or it is
// bound to the sender of that one.
func RestoresInPlace(before, after *tx.Transaction) bool {
	return !opens(before, after) || before.Phase.Bound() && before.Sender == after.FirstOpen().Sender
}

// MakesRoom is t back in its queue: another transaction was found to have its sender or its queue. It is
// nil if an attempt of t is open, whose end is waited for instead. An end that t was about to come to,
// and whether it is tried again, follow when it is bound.
func MakesRoom(t *tx.Transaction, now time.Time) *tx.Transaction {
	if !t.Phase.Bound() || t.Open() {
		return nil
	}
	u := t.Clone()
	u.Phase, u.DueAt = tx.PhaseWaiting, time.Time{}
	deepen(u)
	switch {
	case t.Ending == tx.PhaseWaiting:
		u.Ending = ""
	case t.Ending == "" && t.Phase != tx.PhaseDispatching && t.Phase != tx.PhaseDelayed:
		u.Ending = tx.PhaseFailing
	}
	dropPlan(now)(u)
	return u
}

// Kept is before, which is DONE by another attempt than what is put back in after: where that has no
// place it is not followed, and nothing else is tried. It is nil if before is not DONE so.
func Kept(before, after *tx.Transaction, now time.Time) *tx.Transaction {
	if after.Ending != tx.PhaseDone || before.Attempt(before.Landed) == nil {
		return nil
	}
	u := before.Clone()
	u.Attempts = slices.Clone(after.Attempts)
	for a := range u.AllOpen() {
		a.Become(tx.Replaced, now)
	}
	return u
}

// DoneBefore is after, DONE by the attempt that is put back. It is used where other, which came later, has
// its sender or its queue and is in flight: other could not begin before that one was DONE. The chain is
// then asked for the block, as of a DONE that a reorg has taken back. It is nil
//
//   - if other came first, whose end is waited for instead; or
//   - if known is only remembered, and was in no block: its nonce may be another's by now.
func DoneBefore(after, other *tx.Transaction, known Known, now time.Time) *tx.Transaction {
	a := after.FirstOpen()
	if known.Process != "" && a.StateHash == "" {
		return nil
	}
	later := other.Queue == after.Queue && other.Sequence > after.Sequence
	if o := other.FirstOpen(); other.Queue != after.Queue {
		later = o != nil && o.Sender == a.Sender && o.Nonce > a.Nonce
	}
	if !later {
		return nil
	}
	u := after.Clone()
	clearEnd(u)
	u.Callback, u.CallbackTries = "", 0
	u.Phase, u.DoneAt, u.Landed, u.Reopened = tx.PhaseDone, now, a.Number, true
	closeAll(u, now, func(a *tx.Attempt) { a.Become(tx.Replaced, now) })
	in := u.Attempt(a.Number)
	in.Become(tx.Included, now)
	in.Height, in.StateHash, in.Confirmations = 0, "", 0
	return u
}
