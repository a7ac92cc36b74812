package senders_test

import (
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

// testReasonsApart wants every reason to end by itself, and the gravest shown.
func testReasonsApart(f *fixture) {
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://s"}))
	f.post("t", "q")
	t := f.bind(1)[0].Transaction
	shown := func(what string, want lifecycle.SenderReason) {
		f.Helper()
		f.want(what, map[string]lifecycle.SenderReason{"S": want})
	}
	rest := func(d time.Duration, why lifecycle.SenderReason) func(*queues.Change) {
		return func(c *queues.Change) { c.Rest, c.Reason = d, string(why) }
	}
	advance := func(t *lifecycle.Transaction, to lifecycle.Phase, more ...func(*queues.Change)) {
		f.Helper()
		c := queues.NewChange(t, to)
		for _, m := range more {
			m(c)
		}
		f.ok(f.store.Advance(f.Context(), c))
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{}))
	shown("no longer named", lifecycle.Draining)
	// Its transaction ends with an outcome that nobody knows.
	t.Attempts = []lifecycle.Attempt{{Number: 1, Sender: "S", Legacy: true, Outcome: lifecycle.Unknown, StartedAt: time.UnixMilli(1)}}
	advance(t, lifecycle.PhaseUnresolved, rest(queues.Never, lifecycle.OutcomeUnknown), func(c *queues.Change) { c.SetAttempt(&t.Attempts[0]); c.Keep = true })
	shown("drained, and an outcome unknown", lifecycle.OutcomeUnknown)
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, lifecycle.LowBalance, ""))
	f.ok(f.pool.Resume(f.Context(), "S"))
	shown("a person cannot make the outcome known by resuming", lifecycle.OutcomeUnknown)
	f.ok(f.pool.Configure(f.Context(), map[string]string{}))
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, lifecycle.LowBalance, ""))
	f.woken()
	t.Attempts[0].EndedAt = time.UnixMilli(2)
	advance(t, lifecycle.PhaseUnresolved, func(c *queues.Change) { c.SetAttempt(&t.Attempts[0]) })
	if s := f.get("S"); s.Reason != lifecycle.LowBalance || s.Until.IsZero() || f.woken() {
		f.Errorf("the outcome is known, the rest stays: %+v", s)
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://s"}))
	shown("named again", lifecycle.LowBalance)
	f.ok(f.pool.Resume(f.Context(), "S"))
	shown("resumed", "")
	if !f.woken() {
		f.Error("nobody was told that the sender is free")
	}
}

// testUnknownOutcomes wants a sender out of use until the last of its unknown
// outcomes is known, by the same change that makes it known.
func testUnknownOutcomes(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	var ts []*lifecycle.Transaction
	for _, uid := range []string{"t1", "t2"} {
		f.post(uid, "q-"+uid)
		t := f.bind(1)[0].Transaction
		t.Attempts = []lifecycle.Attempt{{Number: 1, Sender: "S", Legacy: true, Outcome: lifecycle.Unknown, StartedAt: time.UnixMilli(1)}}
		c := queues.NewChange(t, lifecycle.PhaseDone)
		c.SetAttempt(&t.Attempts[0])
		c.Keep = true
		f.ok(f.store.Advance(f.Context(), c))
		ts = append(ts, t)
	}
	for _, t := range ts {
		c := queues.NewChange(t, lifecycle.PhaseUnresolved)
		c.Rest, c.Reason, c.Keep = queues.Never, string(lifecycle.OutcomeUnknown), true
		f.ok(f.store.Advance(f.Context(), c))
	}
	f.post("t3", "q3")
	for i, t := range ts {
		if s := f.get("S"); s.Reason != lifecycle.OutcomeUnknown || len(f.bind(1)) != 0 {
			f.Fatalf("%d of 2 known: %+v", i, s)
		}
		t.Attempts[0].EndedAt = time.UnixMilli(2)
		c := queues.NewChange(t, lifecycle.PhaseDone)
		c.SetAttempt(&t.Attempts[0])
		f.woken()
		f.ok(f.store.Advance(f.Context(), c))
	}
	if !f.woken() || len(f.bind(1)) != 1 {
		f.Errorf("both are known: %+v", f.get("S"))
	}
}

// testUnresolvedInARow: what ends UNRESOLVED again and again pauses its queue or,
// over several queues, rests the sender.
func testUnresolvedInARow(f *fixture) {
	f.store.UnresolvedLimit = 2
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	end := func(uid, queue string, to lifecycle.Phase) {
		f.Helper()
		f.post(uid, queue)
		b := f.bind(1)
		if len(b) != 1 {
			f.Fatalf("%s is not bound: %+v", uid, f.get("S"))
		}
		f.ok(f.store.Advance(f.Context(), queues.NewChange(b[0].Transaction, to)))
	}
	end("a", "q1", lifecycle.PhaseUnresolved)
	end("b", "q2", lifecycle.PhaseDone) // the row is broken
	end("c", "q3", lifecycle.PhaseUnresolved)
	f.want("one in a row", map[string]lifecycle.SenderReason{"S": ""})
	end("d", "q4", lifecycle.PhaseUnresolved)
	f.want("two in a row, over two queues", map[string]lifecycle.SenderReason{"S": lifecycle.Rested})
	for _, q := range []string{"q3", "q4"} {
		if got, err := f.store.Queue(f.Context(), q); err != nil || got.Paused != "" {
			f.Errorf("queue %s: %+v, %v", q, got, err)
		}
	}
	f.post("e", "q5")
	if s := f.get("S"); !s.Until.IsZero() || len(f.bind(1)) != 0 {
		f.Errorf("rested until a person resumes it: %+v", s)
	}
	f.ok(f.pool.Resume(f.Context(), "S"))
	f.ok(f.store.Advance(f.Context(), queues.NewChange(f.bind(1)[0].Transaction, lifecycle.PhaseUnresolved)))
	f.want("the count began anew", map[string]lifecycle.SenderReason{"S": ""})
	end("f", "q5", lifecycle.PhaseUnresolved)
	if q, err := f.store.Queue(f.Context(), "q5"); err != nil || q.Paused == "" {
		f.Errorf("two of one queue pause it: %+v, %v", q, err)
	}
	f.want("two of one queue do not speak against the sender", map[string]lifecycle.SenderReason{"S": ""})
}

// testWatch wants a sender out of use for as long as its account holds too little,
// and what it could not pay tried again when it is funded.
func testWatch(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	watch := func(balance uint64, low string, want lifecycle.SenderReason, detail string) {
		f.Helper()
		f.ok(f.pool.Watch(f.Context(), "S", balance, low))
		if s := f.get("S"); s.Reason != want || s.Detail != detail || *s.Balance != balance {
			f.Fatalf("holding %d: %+v", balance, s)
		}
	}
	woken := func(what string, want bool) {
		f.Helper()
		if got := f.woken(); got != want {
			f.Errorf("%s: woken %v", what, got)
		}
	}
	f.woken()
	watch(10, "", "", "")
	watch(9, "too little", lifecycle.LowBalance, "too little")
	if s := f.get("S"); !s.Until.IsZero() {
		f.Errorf("it ends by the clock: %+v", s)
	}
	watch(8, "still too little", lifecycle.LowBalance, "still too little")
	woken("too little", false)
	watch(1<<63, "", "", "")
	woken("funded", true)

	// A fee that was too high for it is no reason to watch, but to try again later.
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, lifecycle.LowBalance, "the fee is more"))
	watch(1<<63, "", lifecycle.LowBalance, "the fee is more")
	watch(1<<62, "", lifecycle.LowBalance, "the fee is more")
	woken("no more than before", false)
	watch(1<<63+1, "", "", "")
	woken("funded again", true)
	f.ok(f.pool.Drain(f.Context(), "S"))
	watch(1, "too little", lifecycle.LowBalance, "too little")
	watch(2, "", lifecycle.Draining, "")
	woken("drained", false)
}
