package senders_test

import (
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// testReasonsApart wants every reason to end by itself, and the gravest shown.
func testReasonsApart(f *fixture) {
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://s"}))
	f.post("t", "q")
	t := f.bind(1)[0].Transaction
	shown := func(what string, want tx.SenderReason) {
		f.Helper()
		f.want(what, map[string]tx.SenderReason{"S": want})
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{}))
	shown("no longer named", tx.Draining)
	// Its transaction ends with an outcome that nobody knows.
	f.to(t, tx.PhaseUnresolved, unknown, keep, rest(queues.Never, tx.OutcomeUnknown))
	shown("drained, and an outcome unknown", tx.OutcomeUnknown)
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, tx.LowBalance, ""))
	f.ok(f.pool.Resume(f.Context(), "S"))
	shown("a person cannot make the outcome known by resuming", tx.OutcomeUnknown)
	f.ok(f.pool.Configure(f.Context(), map[string]string{}))
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, tx.LowBalance, ""))
	f.woken()
	f.to(t, tx.PhaseUnresolved, known)
	if s := f.get("S"); s.Reason != tx.LowBalance || s.Until.IsZero() || f.woken() {
		f.Errorf("the outcome is known, the rest stays: %+v", s)
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://s"}))
	shown("named again", tx.LowBalance)
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
	var ts []*tx.Transaction
	for _, uid := range []string{"t", "t2"} { // one is the beginning of the other
		f.post(uid, "q-"+uid)
		t := f.bind(1)[0].Transaction
		f.to(t, tx.PhaseDone, unknown, keep)
		ts = append(ts, t)
	}
	for _, t := range ts {
		f.to(t, tx.PhaseUnresolved, keep, rest(queues.Never, tx.OutcomeUnknown))
	}
	f.post("t3", "q3")
	for i, t := range ts {
		if s := f.get("S"); s.Reason != tx.OutcomeUnknown || len(f.bind(1)) != 0 {
			f.Fatalf("%d of 2 known: %+v", i, s)
		}
		f.woken()
		f.to(t, tx.PhaseDone, known)
	}
	if !f.woken() || len(f.bind(1)) != 1 {
		f.Errorf("both are known: %+v", f.get("S"))
	}
}

// testWatch wants a sender out of use for as long as its account holds too little,
// and what it could not pay tried again when it is funded.
func testWatch(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	watch := func(balance uint64, low string, want tx.SenderReason, detail string) {
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
	watch(9, "too little", tx.LowBalance, "too little")
	if s := f.get("S"); !s.Until.IsZero() {
		f.Errorf("it ends by the clock: %+v", s)
	}
	watch(8, "still too little", tx.LowBalance, "still too little")
	woken("too little", false)
	watch(1<<63, "", "", "")
	woken("funded", true)

	// Balances are numbers: who has ten has more than who had nine.
	for _, b := range [][2]uint64{{9, 10}, {99, 100}, {2, 11}} {
		watch(b[0], "", "", "")
		f.ok(f.pool.Rest(f.Context(), "S", time.Hour, tx.LowBalance, "the fee is more"))
		watch(b[0], "", tx.LowBalance, "the fee is more")
		f.woken()
		watch(b[1], "", "", "")
		woken("funded from less digits", true)
	}
	watch(1<<63, "", "", "")
	f.woken()

	// A fee that was too high for it is no reason to watch, but to try again later.
	f.ok(f.pool.Rest(f.Context(), "S", time.Hour, tx.LowBalance, "the fee is more"))
	watch(1<<63, "", tx.LowBalance, "the fee is more")
	watch(1<<62, "", tx.LowBalance, "the fee is more")
	woken("no more than before", false)
	watch(1<<63+1, "", "", "")
	woken("funded again", true)
	f.ok(f.pool.Drain(f.Context(), "S"))
	watch(1, "too little", tx.LowBalance, "too little")
	watch(2, "", tx.Draining, "")
	woken("drained", false)
}
