package lifecycle

import (
	"math"
	"time"

	"mina-sequencer/sequencer/tx"
)

// LastBefore is the last slot that is over by a time, as the chain counts its slots: what
// is valid until then lands by that time or never. False: no node says when slots begin.
func (t *Tip) LastBefore(at time.Time) (slot uint32, known bool) {
	if t.Zero.IsZero() || t.SlotTime <= 0 {
		return 0, false
	}
	n := int64(at.Sub(t.Zero)/t.SlotTime) - 1
	return uint32(max(0, min(n, math.MaxUint32))), true
}

// Begins is when a slot begins, by Clock; zero if that is unknown.
func (t *Tip) Begins(slot int64) time.Time {
	if t.SlotTime == 0 || t.At.IsZero() {
		return time.Time{}
	}
	return t.At.Add(slots(slot-int64(t.Slot), t.SlotTime))
}

// slotAt is the current slot at a time by Clock: nobody may have asked the chain for long.
func (t *Tip) slotAt(clock time.Time) uint32 {
	if t.SlotTime <= 0 || t.At.IsZero() || clock.Before(t.At) {
		return t.Slot
	}
	return upTo(t.Slot, uint32(min(int64(clock.Sub(t.At)/t.SlotTime), math.MaxUint32)))
}

// lastSlot is the validUntil of an attempt that is planned now: never zero, which is without an
// end, and none of a train stays in a pool for longer than what is before it, which waits for
// its end. What is in a block counts, too, unless its time is nearly over.
func (v *View) lastSlot() (slot uint32, known bool) {
	slot = v.Policy.LastSlot(v.Tip)
	if p := v.Train.Walk().Last; p != nil && p.Txn.Open() && (v.Train.waits(p) || p.until() >= v.Policy.halfway(v.Tip)) {
		slot = min(slot, p.until())
	}
	if v.Txn.ExpiresAt.IsZero() {
		return slot, true
	}
	last, known := v.Tip.LastBefore(v.Txn.ExpiresAt)
	return min(slot, last), known
}

// Expired reports whether the last slot before the deadline has come: what leaves now
// could not land any more, or only by luck. It is so by the clock of the chain or by that
// of Redis, whichever is ahead; what is out is judged by the chain alone.
func (v *View) Expired() bool {
	at := v.Txn.ExpiresAt
	if at.IsZero() {
		return false
	}
	last, known := v.Tip.LastBefore(at)
	return !v.Now.Before(at) || known && v.Tip.slotAt(v.Clock) >= last
}

// expiry is when expired becomes true, by Clock.
func (v *View) expiry() time.Time {
	at := v.Clock.Add(v.Txn.ExpiresAt.Sub(v.Now))
	last, known := v.Tip.LastBefore(v.Txn.ExpiresAt)
	if slot := v.Tip.Begins(int64(last)); known && !slot.IsZero() && slot.Before(at) {
		return slot
	}
	return at
}

// Stops reports whether no further attempt is made: a person took it back, or its deadline
// has come.
func (v *View) Stops() bool { return v.Txn.CancelRequested || v.Expired() }

// stopped ends what stops and has nothing open.
func (v *View) stopped() Step {
	if v.Txn.CancelRequested {
		return v.cancelled()
	}
	return v.overdue()
}

// overdue: its deadline has come, and nothing is open.
func (v *View) overdue() Step {
	if s, may := v.mayHaveIt(ReasonOverdue); may {
		return s
	}
	why := ""
	if e := v.Txn.Error; e != nil && e.Code != tx.CodeExpired {
		why = " (" + e.Words() + ")"
	}
	s := v.with(dropPlan(v.Now)).end(tx.PhaseFailed, ReasonOverdue)
	s.Aside.Code = tx.CodeExpired
	s.Txn.Error = &tx.Error{Code: tx.CodeExpired, Message: "its deadline, " +
		v.Txn.ExpiresAt.UTC().Format(time.RFC3339) + ", came before it took effect" + why}
	return s
}

// outstays: its deadline has come, and something of it may still land. What is planned
// does not leave.
func (v *View) outstays() Step {
	return v.with(dropPlan(v.Now)).usedUp()
}

// unfresh forgets that nobody has the bytes of an attempt: a sending that is stopped may
// have given them away, whatever its answer says.
func (v *View) unfresh() *View {
	u := *v
	u.Local.Unsent = 0
	return &u
}

// dropPlan ends a planned attempt that nobody has made.
func dropPlan(now time.Time) func(t *tx.Transaction) {
	return func(t *tx.Transaction) {
		if a := t.Last(); a.Pending() {
			a.Become(tx.Dropped, now)
		}
	}
}

// unkept: its worker sends by itself, so nothing makes the chain refuse it later.
func (v *View) unkept() Step {
	return v.failed(&tx.Error{Code: tx.CodeNoDeadline, Message: "it has a deadline, and the worker of " + v.Txn.Sender +
		" sends by itself: nothing would keep it; post it without expiresAt, or give its type a worker with /prove"}, true)
}
