package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Redis may forget its last writes. What a transaction has out is known from two sides
// then: the processes remember it, and the nodes show it. Both say it as Known, and what
// is stored gets back what it lacks. All else that was forgotten is decided anew.

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

// Remember is what a process remembers of a transaction once it has read or stored t:
// the latest record with something out, or that says what no chain shows: that nothing came of
// what was out, or what a worker that sends by itself, or a ledger, has answered. It is nil if
// there is none.
func Remember(process string, known, t *tx.Transaction) *tx.Transaction {
	switch {
	case Lacks(process, t, known):
		return known
	case !Reposts(t) &&
		!slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return cameToNothing(&a) && !wasPlanned(&a) }):
		return nil
	}
	return t
}

// Reposts reports whether a record that is remembered is put back even where the store has none:
// it has something out, or nobody but who was answered knows what became of it. Whatever else was
// accepted and is forgotten may have ended, too.
func Reposts(t *tx.Transaction) bool {
	return t.Out() || t.Ledger != "" && t.Landed > 0 ||
		slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return a.Legacy })
}

// Lacks reports whether t lacks something of what Remember has a process remember: Redis has
// forgotten to have changed it.
func Lacks(process string, t, known *tx.Transaction) bool {
	if known == nil {
		return false
	}
	for i := range known.Attempts {
		k := &known.Attempts[i]
		if cameToNothing(k) && !wasPlanned(k) && believes(t, process, known.Revision) &&
			slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return a.Open() && sameAsMade(t, &a, k) }) {
			return true
		}
		if (known.HasOut(k) || k.Legacy || known.Ledger != "" && k.Number == known.Landed) && !hasMade(t, k) &&
			!goneOn(t, k, known.Attempts) {
			return true
		}
	}
	return false
}

// believes reports whether what a process knows to have come to nothing, as of a revision, is so:
// nobody has had t since, and given that to the nodes once more.
func believes(t *tx.Transaction, process string, revision int64) bool {
	return t.Revision < revision && t.Owner() == process
}

// hasMade reports whether t has an attempt, and as far as k: not as a plan alone, nor without
// its worker's answer.
func hasMade(t *tx.Transaction, k *tx.Attempt) bool {
	return madeAnew(t, k) ||
		slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return sameAsMade(t, &a, k) && !precedes(&a, k) })
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

// goneOn reports whether t has gone on without k: another attempt of it, at another nonce, that
// may land or has landed, was made by somebody who could not know k, and is not known to who knows
// k; or an end was told since. Should k be given to the nodes now, or that one be left, both may
// take effect: k is forgotten for good. Not so what has been in a block, or is found, which the nodes have. A
// call of a legacy worker sends whatever is stored: it is forgotten only where the nodes have the other one, too.
func goneOn(t *tx.Transaction, k *tx.Attempt, known []tx.Attempt) bool {
	if t.Ledger != "" || k.Number == 0 || k.StateHash != "" {
		return false
	}
	if !k.Legacy && endedByNoBlock(t) && t.DoneAt.After(k.StartedAt) && !hasMade(t, k) {
		return true
	}
	return slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool {
		lands := a.Number == t.Landed || t.HasOut(&a) && (!k.Legacy || a.Taken())
		return lands && (a.Sender != k.Sender || a.Nonce != k.Nonce) &&
			(a.StartedAt.After(k.StartedAt) || !cameToNothing(k)) &&
			!slices.ContainsFunc(known, func(k tx.Attempt) bool { return sameAsMade(t, &a, &k) })
	})
}

// BytesOf is what stays of the bytes of what was remembered as known, now that it is t: under their
// number another process may have made another attempt.
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

// KnownOf is what a remembered record knows. What it landed by, final or not, is open
// again, and so is what is shallow where nothing else is: the chain tells once more what
// became of it.
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

// cameToNothing reports whether a has ended with its nonce unspent, by what is known or a person said:
// the next attempt takes the same one, and may be like it in all else, too.
func cameToNothing(a *tx.Attempt) bool {
	switch a.State {
	case tx.Dropped, tx.Proved, tx.Refused, tx.Expired:
		return true
	}
	return false
}

// isCommand reports whether a, as it is stored, is what is known as k: a command that was found
// has no number, and a legacy worker may take another nonce than was planned. One of which
// nothing came is told from others by when it was planned, and from what is found by its hash.
func isCommand(a *tx.Attempt, k *tx.Attempt) bool {
	if k.Number == 0 {
		switch {
		case a.Legacy && a.Is(k.NodeHash):
			return true // its worker may have taken another fee, too
		case cameToNothing(a) && !a.Legacy:
			return a.Is(k.NodeHash)
		}
	} else if (cameToNothing(a) || cameToNothing(k)) && a.StartedAt.UnixMilli() != k.StartedAt.UnixMilli() {
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

// Restored is t with all that is known of its attempts, and the bytes that are to be
// stored with it; nil if it lacks nothing. A new nonce is only ever taken when all that
// came before is settled, so an attempt that t lacks settles those at other nonces.
func Restored(t *tx.Transaction, k Known, now time.Time) (*tx.Transaction, *BytesRead) {
	if k.Failed && goesOn(t, k) {
		return nil, nil
	}
	u, lacks, at := t.Clone(), false, 0
	bytes := k.Bytes
	for i := range k.Attempts {
		var news bool
		was := at
		if !goneOn(t, &k.Attempts[i], k.Attempts) {
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

// wasTold reports whether t ended since a, which is put back, was made, or by what is not known to who
// knows a: then it is not forgotten that its end was another's.
func wasTold(t *tx.Transaction, k Known, a *tx.Attempt) bool {
	in, found := t.Attempt(t.Landed), k.Process == ""
	if in == nil {
		return found || t.DoneAt.After(a.StartedAt)
	}
	return !t.Reopened && (found || !slices.ContainsFunc(k.Attempts, func(k tx.Attempt) bool {
		return sameAsMade(t, in,
			&k)
	}))
}

// unend has t go on, which is final and has something out. told: it comes to its end once more if
// nothing lands, and is not tried anew.
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

// AdoptedAs is the phase of what is bound again with something out. What has an end to come to is only
// watched: no further attempt of it is made.
func AdoptedAs(t *tx.Transaction) tx.Phase {
	if t.Ending.Final() {
		return tx.PhaseWatching
	}
	return tx.PhaseDispatching
}

// goesOn reports whether t has landed by what was made after k, which was found, or has that out.
func goesOn(t *tx.Transaction, k Known) bool {
	c := &k.Attempts[0]
	return slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool {
		return (a.Number == t.Landed || a.Open()) && (a.Sender != c.Sender || a.Nonce != c.Nonce) &&
			slices.ContainsFunc(k.Later, a.Is)
	})
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
	if in := t.Attempt(t.Landed); in != nil && in.Sender == c.Sender && in.Nonce == c.Nonce && !c.Over() {
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
	case precedes(a, &c), a.Open() && c.Over() && (believed || !cameToNothing(&c)):
		*a = c
	case found && cameToNothing(a) && !t.Open() && comes(&c): // it is out all the same
		a.Become(c.State, now)
		a.Blame(tx.NoCause, nil)
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	case was.KnownHash() != "" || c.KnownHash() == "":
		return false
	default:
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	}
	if a.Open() && (!was.Open() || a.Sender != was.Sender || a.Nonce != was.Nonce) {
		givesWay(t, a, now)
	}
	return true
}

// givesWay ends what is open at another nonce than c, which is put back, and what is planned beside it.
func givesWay(t *tx.Transaction, c *tx.Attempt, now time.Time) {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if !cameToNothing(c) && a.Open() && (a.Sender != c.Sender || a.Nonce != c.Nonce) {
			a.Become(tx.Replaced, now)
			if a.Sender == c.Sender && t.Phase.Bound() {
				a.State = tx.ReplacedShallow
			}
		}
		if a.Pending() && a != c {
			a.Become(tx.Dropped, now)
		}
	}
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

// Stays reports whether a record is restored where it is: it has nothing out that it had
// not, or is bound to the sender of that.
func Stays(before, after *tx.Transaction) bool {
	return !opens(before, after) || before.Phase.Bound() && before.Sender == after.FirstOpen().Sender
}

// MakesRoom is a transaction that goes back to its queue, for another one has its sender
// or its queue by what has been found; nil if something of it is open. Then it was there
// first, and its end is waited for. An end that it was to come to it comes to when it is bound;
// whether it is tried again otherwise is weighed then.
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
	for i := range u.Attempts {
		if a := &u.Attempts[i]; a.Open() {
			a.Become(tx.Replaced, now)
		}
	}
	return u
}

// Passed is before with what was found of it, if other, which has its sender or its queue
// and something out itself, came after it: nothing is begun there before what went before
// was DONE. So it is DONE by what was found, and looked for on the chain like all that has
// been orphaned. It is nil if other came first: then the end of that is waited for; and if known is
// only remembered, and was in no block: its nonce may have been another's.
func Passed(after, other *tx.Transaction, known Known, now time.Time) *tx.Transaction {
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
