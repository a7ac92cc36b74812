package lifecycle

import (
	"math"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// tells has the nodes say when slots begin: slot 301 by now.
func tells(v *View) { v.Tip.Zero = now.Add(-301 * v.Tip.SlotTime) }

// inTime: what is planned can land before the deadline only, and once the last slot has
// come nothing leaves.
func (c *checker) inTime(v *View, s *Step) {
	c.Helper()
	if v.Txn.ExpiresAt.IsZero() {
		return
	}
	if s.Do.Leaves() && v.Expired() && !v.dispatchUnderWay() {
		c.wrong(v, s, "%s after its deadline", s.Do.Kind)
	}
	if s.Do.Kind == Dispatch {
		c.wrong(v, s, "a worker that sends by itself is asked for what has a deadline")
	}
	if s.Txn == nil || len(s.Txn.Attempts) <= len(v.Txn.Attempts) {
		return
	}
	last, known := v.Tip.LastBefore(v.Txn.ExpiresAt)
	if a := s.Txn.Last(); !known || a.ValidUntil > last || v.Expired() {
		c.wrong(v, s, "valid until slot %d, and its deadline is %d", a.ValidUntil, last)
	}
}

// deadlineRows are of what has a deadline.
func deadlineRows() []row {
	rich := holds(nonce, 200)
	const expired = "; error EXPIRED; event EXPIRED; drop bytes"
	const ends = expired + "; trusts"
	return []row{
		{"not planned once the last slot has come", []sample{
			{"planned while there is time", txn(tx.PhaseDispatching, expires(minutes(30))), decides(asked(good()), rich, tells),
				"planning; DISPATCHING, BLOCKED; 1 planned 7@100"},
			{"in the last slot", txn(tx.PhaseDispatching, expires(minutes(3))), decides(asked(good()), rich, tells),
				"overdue; FAILED, FREE" + ends},
			{"by the clock, whatever the chain says", txn(tx.PhaseDispatching, expires(-time.Second)),
				decides(asked(good()), rich), "overdue; FAILED, FREE" + ends},
			{"no node says when slots begin", txn(tx.PhaseDispatching, expires(minutes(30))), decides(asked(good()), rich),
				"deferred; WAITING, FREE; deferred 1; error CHAIN_UNAVAILABLE; rest RESTED 10s"},
			{"before its next try", txn(tx.PhaseDelayed, try(tx.Planned, over), due(time.Hour), expires(minutes(3))),
				decides(tells), "overdue; FAILED, FREE; 1 dropped 7@100" + ends + "; tell on-failure"},
			{"when it is weighed", txn(tx.PhaseFailing, try(tx.Planned, over), expires(minutes(3))),
				decides(asked(good()), knows(func(l *Local) { l.Asked.Retries = new(3) }), tells),
				"overdue; FAILED, FREE; 1 dropped 7@100" + ends + "; tell on-failure"},
		}},
		{"a worker's call ends when the last slot comes", []sample{
			{"looked at in time", txn(tx.PhaseDispatching, try(tx.Planned), expires(minutes(30))), decides(tells),
				"proving; prove 1; look in 26m59s"},
			{"between two tries, when the next is due", txn(tx.PhaseDelayed, try(tx.Planned, over), due(minutes(5)), expires(minutes(30))),
				decides(tells), "delay; look in 5m0s"},
			{"between two tries, when it ends before", txn(tx.PhaseDelayed, try(tx.Planned, over), due(minutes(29)), expires(minutes(30))),
				decides(tells), "delay; look in 26m59s"},
			{"between two tries, at once", txn(tx.PhaseDelayed, try(tx.Unknown), due(minutes(5)), expires(minutes(3))), decides(tells),
				"used-up; REVISION, WAITING_INCLUSION; 1 unknown 7@100; to end FAILED"},
			{"by the clock of Redis, if that comes first", txn(tx.PhaseDispatching, try(tx.Planned), expires(time.Second)),
				decides(), "proving; prove 1; look in 1s"},
			{"nothing open", txn(tx.PhaseDispatching, try(tx.Planned), expires(minutes(3))), decides(tells),
				"overdue; FAILED, FREE; 1 dropped 7@100" + ends + "; tell on-failure"},
			{"something open", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned), expires(minutes(3))), decides(tells),
				"used-up; REVISION, WAITING_INCLUSION; 1 unknown 7@100; 2 dropped 7@100; to end FAILED"},
			{"what it still answers is not kept", txn(tx.PhaseDispatching, try(tx.Planned), expires(minutes(3))),
				learns(signed(Prove, 1), tells),
				"overdue; FAILED, FREE; 1 dropped 7@100" + ends + "; tell on-failure"},
			{"one that sends by itself is not asked", txn(tx.PhaseDispatching, try(tx.Planned), expires(minutes(30))),
				decides(tells, knows(func(l *Local) { l.Legacy = true })),
				"answered; UNRESOLVED, FREE; 1 dropped 7@100; error DEADLINE_UNKEPT; drop bytes; trusts; tell on-failure"},
		}},
		{"not released once the last slot has come", []sample{
			{"signed, and given to nobody", txn(tx.PhaseSent, try(tx.Signed), expires(minutes(3))),
				decides(tells, knows(func(l *Local) { l.Unsent = 1 })),
				"overdue; REVISION, WAITING_INCLUSION; 1 signed 7@100"},
			{"dearer, and given to nobody", txn(tx.PhaseWatching, try(tx.Signed), try(tx.Signed, fee(150)), expires(minutes(3))),
				decides(tells, sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Unsent = 2 })), "absent"},
			{"one that some node has answered: that is kept", txn(tx.PhaseSent, try(tx.Signed), expires(minutes(3))),
				decides(tells, knows(func(l *Local) { l.Said = Said{Number: 1, State: tx.Sent} })),
				"overdue; REVISION, WAITING_INCLUSION; 1 sent 7@100"},
			{"not sent again", txn(tx.PhaseWatching, try(tx.Sent), expires(minutes(3))), decides(tells, sees(tx.FateAbsent, 0)),
				"absent"},
			{"not raised", txn(tx.PhaseWatching, try(tx.Pooled, func(a *tx.Attempt) { a.SentSlot = 280 }), expires(minutes(3))),
				decides(tells, sees(tx.FatePooled, 0)), "pool"},
			{"nor is what was DONE", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), orphan, expires(minutes(3))),
				decides(tells, sees(tx.FateAbsent, 0)), "orphaned"},
		}},
		{"FAILED once nothing is open", []sample{
			{"expired on the chain", txn(tx.PhaseWatching, try(tx.Sent), expires(minutes(3))),
				decides(tells, sees(tx.FateExpired, 5)),
				"overdue; FAILED, FREE; 1 expired 7@100" + expired + "; B62a from nonce 7; trusts; tell on-failure"},
			{"failed in a block", txn(tx.PhaseWatching, try(tx.Sent), expires(minutes(3))),
				decides(tells, sees(tx.FateFailed, 5)),
				"overdue; FAILED, FREE; 1 failed 7@100" + expired + "; B62a from nonce 8; trusts; tell on-failure"},
			{"landed, whatever the clock says", txn(tx.PhaseWatching, try(tx.Sent), expires(-time.Hour)),
				decides(tells, sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
			{"while it waits", txn(tx.PhaseWaiting, expires(-time.Second)), orders(tx.Order{What: tx.OrderExpire}),
				"overdue; FAILED, FREE" + ends},
			{"not before", txn(tx.PhaseWaiting, expires(minutes(30))), orders(tx.Order{What: tx.OrderExpire}),
				"transaction u is WAITING: its deadline has not come while it waits"},
			{"not while an attempt of it may land", txn(tx.PhaseWaiting, try(tx.Unknown), expires(-time.Second)),
				orders(tx.Order{What: tx.OrderExpire}), "transaction u is WAITING: its deadline has not come while it waits"},
			{"not where its worker was done", txn(tx.PhaseWaiting, expires(-time.Second), ending(tx.PhaseDone)),
				orders(tx.Order{What: tx.OrderExpire}), "transaction u is WAITING: its deadline has not come while it waits"},
			{"not once it is bound", txn(tx.PhaseDispatching, expires(-time.Second)), orders(tx.Order{What: tx.OrderExpire}),
				"transaction u is DISPATCHING: its deadline has not come while it waits"},
			{"not tried again", txn(tx.PhaseFailed, try(tx.Expired, over), expires(-time.Second)), orders(tx.Order{What: tx.OrderRetry}),
				"transaction u is FAILED: the transaction cannot be retried in its state"},
		}},
	}
}

// TestLastBefore: the last slot that is over by a time, whatever the time.
func TestLastBefore(t *testing.T) {
	t.Parallel()
	tip := Tip{Zero: now, SlotTime: time.Minute}
	for _, c := range []struct {
		at   time.Duration
		want uint32
	}{
		{minutes(10), 9}, {minutes(10) - 1, 8}, {minutes(10) + 1, 9}, {minutes(2), 1}, {minutes(1), 0}, {0, 0},
		{-time.Hour, 0}, {math.MaxInt64, 153722866},
	} {
		if got, known := tip.LastBefore(now.Add(c.at)); got != c.want || !known {
			t.Errorf("%v after slot 0 began: slot %d, want %d", c.at, got, c.want)
		}
	}
	if slot, known := (&Tip{Zero: now, SlotTime: 1}).LastBefore(now.Add(9)); slot != 8 || !known {
		t.Errorf("of short slots it is %d, %t", slot, known)
	}
	for _, tip := range []Tip{{SlotTime: time.Minute}, {Zero: now}} {
		if slot, known := tip.LastBefore(now); known || slot != 0 {
			t.Errorf("%+v says when slots begin", tip)
		}
	}
}

// TestPlannedInTime: the lowest of what the policy and the deadline allow, and the least
// that either has a fee be.
func TestPlannedInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     time.Duration
		most   uint64
		until  uint32
		pays   uint64
		raised uint64
	}{
		{0, 0, 345, 100, 150}, {minutes(30), 0, 310, 100, 150}, {4 * time.Hour, 120, 345, 100, 120},
		{minutes(32), 90, 310, 90, 90},
	} {
		tr := txn(tx.PhaseDispatching, func(t *tx.Transaction) { t.MaxFee = c.most })
		if c.in > 0 {
			expires(c.in)(tr)
		}
		v := view(tr, asked(good()), holds(nonce, 200), tells)
		s := Decide(v)
		if a := s.Txn.Last(); a.ValidUntil != c.until || a.Fee != c.pays {
			t.Errorf("%+v: valid until slot %d, at %d", c, a.ValidUntil, a.Fee)
		}
		v.Txn = s.Txn.Clone()
		v.Txn.Attempts[0].State = tx.Unknown
		v.Local.Asked.Sender = good()
		if a := Decide(v).Txn.Last(); a.Number == 2 && a.Fee != c.raised {
			t.Errorf("%+v: raised to %d", c, a.Fee)
		}
	}
}

// TestOutlastsNone: what is planned outlasts none that is in no block, and none in a block that has
// long to go.
func TestOutlastsNone(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseDispatching))
	own := v.Policy.LastSlot(v.Tip)
	half := v.Policy.halfway(v.Tip)
	for name, c := range map[string]struct {
		fate  tx.Fate
		until uint32
		want  uint32
	}{
		"in a pool, nearly over":  {tx.FatePooled, half - 1, half - 1},
		"in a pool":               {tx.FatePooled, half, half},
		"in a pool, for longer":   {tx.FatePooled, own + 9, own},
		"in a block":              {tx.FateIncluded, half, half},
		"in a block, nearly over": {tx.FateIncluded, half - 1, own},
	} {
		ahead := Member{Txn: txn(tx.PhaseWatching, try(tx.Sent, until(c.until)))}
		ahead.Sighting = tx.Sighting{Fate: c.fate, Depth: 1, Agreed: true}
		v.Train = Train{Ahead: []Member{ahead}}
		if got, known := v.lastSlot(); got != c.want || !known {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestBudget: a budget that is used up holds the queue, and rests nobody.
func TestBudget(t *testing.T) {
	t.Parallel()
	p := testPolicy()
	p.FeeLimitQueue, p.FeeLimitKey = 500, 700
	for budget, want := range map[string]string{
		"queue q": "queue q may spend 0.0000005 MINA on fees in a day (UTC), and has spent 0.00000045 of it",
		"key k": "what is posted with key k may spend 0.0000007 MINA on fees in a day (UTC), " +
			"and has spent 0.00000045 of it",
	} {
		v := view(txn(tx.PhaseDispatching, retried(1)), func(v *View) { v.Policy = p })
		s := Learn(v, Denied{Why: Costly, Budget: budget, Spent: 450, Left: time.Hour})
		if got := told(v, s); got != "deferred; WAITING, FREE; retries 1; deferred 1; error FEE_LIMIT; hold queue 1h0m0s" ||
			s.Txn.Error.Message != want {
			t.Errorf("%s: %s, %q", budget, got, s.Txn.Error.Message)
		}
	}
	v := view(txn(tx.PhaseDispatching, try(tx.Unknown)))
	s := Learn(v, Denied{Why: Costly, Budget: "queue q", Left: time.Hour})
	const want = "deferred; RETRY, DELAY; 1 unknown 7@100; deferred 1; error FEE_LIMIT; due in 1h0m0s"
	if got := told(v, s); got != want {
		t.Errorf("something open: %s", got)
	}
}

// TestSlotAt: slots go on by the clock when nobody asks the chain.
func TestSlotAt(t *testing.T) {
	t.Parallel()
	tip := Tip{At: clock, Slot: 300, SlotTime: time.Minute}
	never := tip
	never.At = time.Time{}
	for name, c := range map[string]struct {
		tip  Tip
		at   time.Time
		want uint32
	}{
		"just asked":     {tip, clock, 300},
		"a slot later":   {tip, clock.Add(time.Minute), 301},
		"not quite":      {tip, clock.Add(time.Minute - 1), 300},
		"before":         {tip, clock.Add(-time.Hour), 300},
		"never asked":    {never, clock.Add(time.Hour), 300},
		"shortest slots": {Tip{At: clock, Slot: 300, SlotTime: 1}, clock.Add(5), 305},
		"no slot's time": {Tip{At: clock, Slot: 300}, clock.Add(time.Hour), 300},
	} {
		if got := c.tip.slotAt(c.at); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestOverdue: the error tells what went wrong before the deadline, if anything did; and a
// deadline ends nothing that is to end otherwise.
func TestOverdue(t *testing.T) {
	t.Parallel()
	late := func(parts ...part) *View {
		return view(txn(tx.PhaseDispatching, append(parts, expires(-time.Minute))...), tells)
	}
	for code, because := range map[string]bool{"LEDGER": true, tx.CodeExpired: false} {
		s := late(wrong(code)).overdue()
		if got := strings.Contains(s.Txn.Error.Message, "because"); got != because || s.Txn.Error.Code != tx.CodeExpired {
			t.Errorf("after %s: %v", code, s.Txn.Error)
		}
	}
	for name, c := range map[string]struct {
		v    *View
		want Reason
	}{
		"its deadline":        {late(), ReasonOverdue},
		"cancelled":           {late(cancelling), ReasonCancelled},
		"it is to be DONE":    {late(ending(tx.PhaseDone)), ReasonSettled},
		"DONE, and cancelled": {late(ending(tx.PhaseDone), cancelling), ReasonSettled},
		"UNRESOLVED":          {late(ending(tx.PhaseUnresolved)), ReasonSettled},
	} {
		if s := c.v.closed(ReasonSettled); s.Reason != c.want {
			t.Errorf("%s: %s, want %s", name, s.Reason, c.want)
		}
	}
}

// TestRaisedInTime: no fee is raised while no node says when slots begin.
func TestRaisedInTime(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseWatching, try(tx.Sent), expires(time.Hour)), sees(tx.FatePooled, 0))
	v.Local.Resent = 2
	if s := v.raise(false); s.Txn != nil || s.Reason != ReasonPool || s.Local.Resent != 0 {
		t.Errorf("%s, %+v", s.Reason, s.Txn)
	}
	tells(v)
	if s := v.raise(false); s.Txn == nil || s.Reason != ReasonRaising {
		t.Errorf("%s, %+v", s.Reason, s.Txn)
	}
}

// TestLastSlotOfAll: what may land in this very slot is not given up, and what is signed
// ends by the chain, sent or not.
func TestLastSlotOfAll(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseSent, try(tx.Signed)), sees(tx.FateAbsent, 0))
	for slot, want := range map[uint32]bool{343: true, 344: false, 345: false} {
		v.Sighting.TipSlot = slot
		if got := v.nowhere(v.Txn.Last()); got != want {
			t.Errorf("nowhere in slot %d: %v", slot, got)
		}
	}
	v = view(txn(tx.PhaseSent, try(tx.Signed)), sees(tx.FateExpired, 9))
	v.Local.SentAt, v.Local.Unsent = time.Time{}, 1
	if s := Decide(v); s.Txn == nil || s.Txn.Phase != tx.PhaseWatching {
		t.Errorf("expired unsent: %s, %s", s.Reason, s.Do.Kind)
	}
}
