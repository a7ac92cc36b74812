package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Redis may forget its last writes. What a transaction has out is known from two sides
// then: the processes remember it, and the nodes show it. Both say it as Known, and what
// is stored gets back what it lacks. All else that was forgotten is decided anew.

// Known is what is known of the attempts of a transaction, whatever is stored.
type Known struct {
	Attempts []Attempt // in order
	Bytes    *BytesRead
	// Process is the one that remembers a record of this Revision; "" of what was found.
	Process  string
	Revision int64
	// Failed: it was found, and has failed in a block; Later are the hashes of what was found of its
	// transaction and made after it.
	Failed bool
	Later  []string
}

// out reports whether an attempt of t may be on the chain, or is and may be orphaned.
func (t *Transaction) out(a *Attempt) bool { return a.Open() || a.Shallow() || a == t.Standing() }

// Out reports whether something of t may be on the chain, or is and may be orphaned.
func (t *Transaction) Out() bool { return t.Open() || t.shallow() != nil || t.Standing() != nil }

// Remember is what a process remembers of a transaction once it has read or stored t:
// the latest record with something out, or that says what no chain shows: that nothing came of
// what was out, or what a worker that sends by itself, or a ledger, has answered. It is nil if
// there is none.
func Remember(process string, known, t *Transaction) *Transaction {
	switch {
	case Lacks(process, t, known):
		return known
	case !Reposts(t) &&
		!slices.ContainsFunc(t.Attempts, func(a Attempt) bool { return a.cameToNothing() && !a.planned() }):
		return nil
	}
	return t
}

// Reposts reports whether a record that is remembered is put back even where the store has none:
// it has something out, or nobody but who was answered knows what became of it. Whatever else was
// accepted and is forgotten may have ended, too.
func Reposts(t *Transaction) bool {
	return t.Out() || t.Ledger != "" && t.Landed > 0 ||
		slices.ContainsFunc(t.Attempts, func(a Attempt) bool { return a.Legacy })
}

// Lacks reports whether t lacks something of what Remember has a process remember: Redis has
// forgotten to have changed it.
func Lacks(process string, t, known *Transaction) bool {
	if known == nil {
		return false
	}
	for i := range known.Attempts {
		k := &known.Attempts[i]
		if k.cameToNothing() && !k.planned() && t.believes(process, known.Revision) &&
			slices.ContainsFunc(t.Attempts, func(a Attempt) bool { return a.Open() && t.same(&a, k) }) {
			return true
		}
		if (known.out(k) || k.Legacy || known.Ledger != "" && k.Number == known.Landed) && !t.has(k) &&
			!t.goneOn(k, known.Attempts) {
			return true
		}
	}
	return false
}

// believes reports whether what a process knows to have come to nothing, as of a revision, is so:
// nobody has had t since, and given that to the nodes once more.
func (t *Transaction) believes(process string, revision int64) bool {
	return t.Revision < revision && t.Owner() == process
}

// has reports whether t has an attempt, and as far as k: not as a plan alone, nor without
// its worker's answer.
func (t *Transaction) has(k *Attempt) bool {
	return t.anew(k) ||
		slices.ContainsFunc(t.Attempts, func(a Attempt) bool { return t.same(&a, k) && !a.precedes(k) })
}

// same reports whether an attempt of t is what is known as k. Those of a batch are all alike, and
// told apart by when they were made.
func (t *Transaction) same(a, k *Attempt) bool {
	if t.Ledger != "" {
		return a.StartedAt.UnixMilli() == k.StartedAt.UnixMilli()
	}
	return a.is(k)
}

// anew reports whether the number of k, of a batch, was given anew since: nothing came of k.
func (t *Transaction) anew(k *Attempt) bool {
	a := t.Attempt(k.Number)
	return t.Ledger != "" && a != nil && a.StartedAt.UnixMilli() > k.StartedAt.UnixMilli()
}

// goneOn reports whether t has gone on without k: another attempt of it, at another nonce, that
// may land or has landed, was made by somebody who could not know k, and is not known to who knows
// k; or an end was told since. Should k be given to the nodes now, or that one be left, both may
// take effect: k is forgotten for good. Not so what has been in a block, or is found, which the nodes have. A
// call of a legacy worker sends whatever is stored: it is forgotten only where the nodes have the other one, too.
func (t *Transaction) goneOn(k *Attempt, known []Attempt) bool {
	if t.Ledger != "" || k.Number == 0 || k.StateHash != "" {
		return false
	}
	if !k.Legacy && t.endedByNoBlock() && t.DoneAt.After(k.StartedAt) && !t.has(k) {
		return true
	}
	return slices.ContainsFunc(t.Attempts, func(a Attempt) bool {
		lands := a.Number == t.Landed || t.out(&a) && (!k.Legacy || a.taken())
		return lands && (a.Sender != k.Sender || a.Nonce != k.Nonce) &&
			(a.StartedAt.After(k.StartedAt) || !k.cameToNothing()) &&
			!slices.ContainsFunc(known, func(k Attempt) bool { return t.same(&a, &k) })
	})
}

// BytesOf is what stays of the bytes of what was remembered as known, now that it is t: under their
// number another process may have made another attempt.
func BytesOf(known, t *Transaction, bytes *BytesRead) *BytesRead {
	if bytes == nil || t == nil {
		return nil
	}
	if a := t.Attempt(bytes.Number); a == nil || !t.same(a, known.Attempt(bytes.Number)) {
		return nil
	}
	return bytes
}

// precedes reports whether a is k as it was before its worker answered: none goes back to that.
func (a *Attempt) precedes(k *Attempt) bool {
	return !a.wasOut() && (k.wasOut() || k.Legacy && (!a.Legacy || a.State == Called && k.Over()))
}

// planned reports whether a is, or was, no more than a plan.
func (a *Attempt) planned() bool { return a.State.Unmade() && !a.Legacy }

// KnownOf is what a remembered record knows. What it landed by, final or not, is open
// again, and so is what is shallow where nothing else is: the chain tells once more what
// became of it.
func KnownOf(process string, t *Transaction, bytes *BytesRead) Known {
	k := Known{Attempts: slices.Clone(t.Attempts), Bytes: bytes, Process: process, Revision: t.Revision}
	for i := range k.Attempts {
		switch a := &k.Attempts[i]; {
		case a.Number == t.Landed:
			a.become(Sent, time.Time{})
		case a.Shallow() && t.Landed == 0 && !t.Open():
			a.become(Resurfaced, time.Time{})
		}
	}
	return k
}

// cameToNothing reports whether a has ended with its nonce unspent, by what is known or a person said:
// the next attempt takes the same one, and may be like it in all else, too.
func (a *Attempt) cameToNothing() bool {
	switch a.State {
	case Dropped, Proved, Refused, Expired:
		return true
	}
	return false
}

// is reports whether a, as it is stored, is what is known as k: a command that was found
// has no number, and a legacy worker may take another nonce than was planned. One of which
// nothing came is told from others by when it was planned, and from what is found by its hash.
func (a *Attempt) is(k *Attempt) bool {
	if k.Number == 0 {
		switch {
		case a.Legacy && a.Is(k.NodeHash):
			return true // its worker may have taken another fee, too
		case a.cameToNothing() && !a.Legacy:
			return a.Is(k.NodeHash)
		}
	} else if (a.cameToNothing() || k.cameToNothing()) && a.StartedAt.UnixMilli() != k.StartedAt.UnixMilli() {
		return false
	}
	return a.sameCommand(k) && (a.NodeHash == "" || k.NodeHash == "" || k.Is(a.NodeHash) || a.Is(k.NodeHash))
}

// sameCommand reports whether a and k are one command, by all that it says but its hash.
func (a *Attempt) sameCommand(k *Attempt) bool {
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
func Restored(t *Transaction, k Known, now time.Time) (*Transaction, *BytesRead) {
	if k.Failed && t.goesOn(k) {
		return nil, nil
	}
	u, lacks, at := t.Clone(), false, 0
	bytes := k.Bytes
	for i := range k.Attempts {
		var news bool
		was := at
		if !t.goneOn(&k.Attempts[i], k.Attempts) {
			at, news = u.restore(k.Attempts[i], at, t.believes(k.Process, k.Revision), now)
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
	if u.DueAt = (time.Time{}); u.Ending == PhaseFailing && u.Open() {
		u.Ending = ""
	}
	if t.Phase.Final() && opens(t, u) {
		u.unend(t.told(k, u.FirstOpen()))
	}
	return u, bytes
}

// told reports whether t ended since a, which is put back, was made, or by what is not known to who
// knows a: then it is not forgotten that its end was another's.
func (t *Transaction) told(k Known, a *Attempt) bool {
	in, found := t.Attempt(t.Landed), k.Process == ""
	if in == nil {
		return found || t.DoneAt.After(a.StartedAt)
	}
	return !t.Reopened && (found || !slices.ContainsFunc(k.Attempts, func(k Attempt) bool { return t.same(in, &k) }))
}

// unend has t go on, which is final and has something out. told: it comes to its end once more if
// nothing lands, and is not tried anew.
func (t *Transaction) unend(told bool) {
	end, done, err := t.Phase, t.Done, t.Error
	if in := t.Attempt(t.Landed); in != nil && !told {
		in.State = Replaced
	}
	clearEnd(t)
	if told {
		t.Ending, t.Done, t.Error = end, done, err
	}
}

// AdoptedAs is the phase of what is bound again with something out. What has an end to come to is only
// watched: no further attempt of it is made.
func AdoptedAs(t *Transaction) Phase {
	if t.Ending.Final() {
		return PhaseWatching
	}
	return PhaseDispatching
}

// goesOn reports whether t has landed by what was made after k, which was found, or has that out.
func (t *Transaction) goesOn(k Known) bool {
	c := &k.Attempts[0]
	return slices.ContainsFunc(t.Attempts, func(a Attempt) bool {
		return (a.Number == t.Landed || a.Open()) && (a.Sender != c.Sender || a.Nonce != c.Nonce) &&
			slices.ContainsFunc(k.Later, a.Is)
	})
}

// restore gives t an attempt, behind the one with a number, and reports the number that
// it has, and whether that, or what is known of it, is news. believed: that it came to nothing is
// so; what has run out the chain tells once more.
func (t *Transaction) restore(c Attempt, behind int, believed bool, now time.Time) (number int, news bool) {
	if c.planned() && !c.Pending() || t.anew(&c) {
		return behind, false // it came to nothing, and is not the one that was made after it
	}
	if a := t.stored(&c, behind); a != nil {
		return a.Number, t.learns(a, c, believed, now)
	}
	if c.planned() {
		return behind, false // nothing of it has left
	}
	if in := t.Attempt(t.Landed); in != nil && in.Sender == c.Sender && in.Nonce == c.Nonce && !c.Over() {
		c.become(Replaced, now) // and followed with that
	}
	c.Number = len(t.Attempts) + 1
	t.Attempts = append(t.Attempts, c)
	t.givesWay(t.Last(), now)
	return c.Number, true
}

// stored is what t has of c, behind the attempt with a number, nil if it has nothing. Of what may be
// what was found the one that has its hash is it, and any that is alike where none has.
func (t *Transaction) stored(c *Attempt, behind int) *Attempt {
	its := func(a Attempt) bool { return c.Number == 0 && a.Is(c.NodeHash) }
	later := t.Attempts[behind:]
	alike := !slices.ContainsFunc(later, its)
	i := slices.IndexFunc(later, func(a Attempt) bool {
		return t.same(&a, c) && (!a.planned() || a.Pending()) && (alike || its(a))
	})
	if i < 0 {
		return nil
	}
	return &later[i]
}

// learns puts into a, an attempt of t, what is known of it as c, and reports whether that is news.
func (t *Transaction) learns(a *Attempt, c Attempt, believed bool, now time.Time) bool {
	was, found := *a, c.Number == 0
	c.Number, c.Hash, c.NodeHash = a.Number, cmp.Or(a.Hash, c.Hash), cmp.Or(a.NodeHash, c.NodeHash)
	switch {
	case a.precedes(&c), a.Open() && c.Over() && (believed || !c.cameToNothing()):
		*a = c
	case found && a.cameToNothing() && !t.Open() && c.comes(): // it is out all the same
		a.become(c.State, now)
		a.blame(NoCause, nil)
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	case was.KnownHash() != "" || c.KnownHash() == "":
		return false
	default:
		a.Hash, a.NodeHash = c.Hash, c.NodeHash
	}
	if a.Open() && (!was.Open() || a.Sender != was.Sender || a.Nonce != was.Nonce) {
		t.givesWay(a, now)
	}
	return true
}

// givesWay ends what is open at another nonce than c, which is put back, and what is planned beside it.
func (t *Transaction) givesWay(c *Attempt, now time.Time) {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if !c.cameToNothing() && a.Open() && (a.Sender != c.Sender || a.Nonce != c.Nonce) {
			a.become(Replaced, now)
			if a.Sender == c.Sender && t.Phase.Bound() {
				a.State = ReplacedShallow
			}
		}
		if a.Pending() && a != c {
			a.become(Dropped, now)
		}
	}
}

// Least are the least that the next nonces of accounts are, by the attempts of after that
// before did not have as they are.
func Least(before, after *Transaction) map[string]uint32 {
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
func Stays(before, after *Transaction) bool {
	return !opens(before, after) || before.Phase.Bound() && before.Sender == after.FirstOpen().Sender
}

// MakesRoom is a transaction that goes back to its queue, for another one has its sender
// or its queue by what has been found; nil if something of it is open. Then it was there
// first, and its end is waited for. An end that it was to come to it comes to when it is bound;
// whether it is tried again otherwise is weighed then.
func MakesRoom(t *Transaction, now time.Time) *Transaction {
	if !t.Phase.Bound() || t.Open() {
		return nil
	}
	u := t.Clone()
	u.Phase, u.DueAt = PhaseWaiting, time.Time{}
	u.deepen()
	switch {
	case t.Ending == PhaseWaiting:
		u.Ending = ""
	case t.Ending == "" && t.Phase != PhaseDispatching && t.Phase != PhaseDelayed:
		u.Ending = PhaseFailing
	}
	dropPlan(now)(u)
	return u
}

// Kept is before, which is DONE by another attempt than what is put back in after: where that has no
// place it is not followed, and nothing else is tried. It is nil if before is not DONE so.
func Kept(before, after *Transaction, now time.Time) *Transaction {
	if after.Ending != PhaseDone || before.Attempt(before.Landed) == nil {
		return nil
	}
	u := before.Clone()
	u.Attempts = slices.Clone(after.Attempts)
	for i := range u.Attempts {
		if a := &u.Attempts[i]; a.Open() {
			a.become(Replaced, now)
		}
	}
	return u
}

// Passed is before with what was found of it, if other, which has its sender or its queue
// and something out itself, came after it: nothing is begun there before what went before
// was DONE. So it is DONE by what was found, and looked for on the chain like all that has
// been orphaned. It is nil if other came first: then the end of that is waited for; and if known is
// only remembered, and was in no block: its nonce may have been another's.
func Passed(after, other *Transaction, known Known, now time.Time) *Transaction {
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
	u.Phase, u.DoneAt, u.Landed, u.Reopened = PhaseDone, now, a.Number, true
	u.close(now, func(a *Attempt) { a.become(Replaced, now) })
	in := u.Attempt(a.Number)
	in.become(Included, now)
	in.Height, in.StateHash, in.Confirmations = 0, "", 0
	return u
}
