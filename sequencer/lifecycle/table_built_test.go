package lifecycle

import (
	"strings"
	"testing"

	"mina-sequencer/sequencer/tx"
)

// building is what a chained transaction and a worker that builds see.
func building(v *View) { v.Train.Builds, v.Train.Width = true, 2 }

// builds says what is known to be built of its latest attempt.
func builds(effects string) change {
	return knows(func(l *Local) { l.Built = Built{Number: max(1, l.Own), Effects: effects} })
}

func upon(base string) func(*tx.Attempt)     { return func(a *tx.Attempt) { a.Base = base } }
func doing(effects string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Effects = effects } }
func causedBy(c tx.Cause) func(*tx.Attempt)  { return func(a *tx.Attempt) { a.Cause = c } }
func builtOf(m Member, what string) Member   { m.Built = Built{Number: 1, Effects: what}; return m }

// tooFull: as many as may have a nonce.
func tooFull(v *View) { v.Train.Width = 1 }

func builtRows() row {
	made := builtOf(unmade(6), "e6")
	base := made.Leaves()
	out := member(6, tx.FatePooled)
	out.Txn.Attempts[0].Effects = "e6"
	fresh, plan := txn(tx.PhaseDispatching), txn(tx.PhaseDispatching, try(tx.Planned))
	behind := txn(tx.PhaseDispatching, try(tx.Planned, unplaced, upon(base)))
	kept := txn(tx.PhaseDispatching, early(7))
	kept.Attempts[0].Base, kept.Attempts[0].Effects = base, "e7"
	gone := kept.Clone()
	gone.Attempts[0].Cause = tx.CauseBase
	again := gone.Clone()
	again.Attempts = append(again.Attempts, tx.Attempt{Number: 2, Sender: payer, Nonce: nonce, Fee: 100,
		State: tx.Planned})
	two := knows(func(l *Local) { l.Own = 2 })
	bytes := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} })
	last := Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, unplaced, upon("another")))}
	const back = "broken; WAITING, FREE; 1 dropped 7@100"
	gone1 := answer(Prove, 1)
	gone1.Fault = FaultGone
	lost2 := plan.Clone()
	lost2.Losses = 2
	pools := func(r Answer) Answer { r.Pool = true; return r }
	whole := func(r Answer, effects string) Answer { r.Effects = effects; return r }
	return row{"chained, and built before it is proved", []sample{
		{"the first: it is built", plan, decides(building), "proving; build 1"},
		{"and proved", plan, decides(building, builds("e")), "proving; prove 1"},
		{"not where its worker does not build", plan, decides(), "proving; prove 1"},
		{"nor where it has no such call", plan, decides(building, knows(func(l *Local) { l.NoBuild = true })), "proving; prove 1"},
		{"behind one that is built, at a nonce that is supposed", fresh, decides(asked(good()), building, ahead(made)),
			"planning; DISPATCHING, BLOCKED; 1 early 6@100"},
		{"not behind one that is not built yet", fresh, decides(asked(good()), building, ahead(unmade(6))), "behind"},
		{"behind what is out, at its nonce", fresh, decides(asked(good()), building, ahead(out)),
			"planning; DISPATCHING, BLOCKED; 1 planned 7@100; unless 7 is used"},
		{"or beside it, where as many have a nonce as may", fresh, decides(asked(good()), building, tooFull, ahead(out)),
			"planning; DISPATCHING, BLOCKED; 1 early 7@100"},
		{"it is built, too", behind, decides(building, ahead(made)), "proving; build 1"},
		{"and proved beside it", behind, decides(building, builds("e"), ahead(made)), "proving; prove 1"},
		{"not while that is built again", behind, decides(building, ahead(unmade(6))), "behind"},
		{"back, where that does otherwise now", behind, decides(building, builds("e"), ahead(builtOf(unmade(6), "other"))), back},
		{"and where it is to end", behind, decides(building, builds("e"),
			ahead(builtOf(Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(6)), cancelling)}, "e6"))), back},
		{"and where its worker failed", behind, decides(building, builds("e"),
			ahead(Member{Txn: txn(tx.PhaseFailing, try(tx.Planned, at(6), over))})), back},
		{"proved: it waits for its turn", kept, decides(building, asked(good()), ahead(made)), "behind"},
		{"which has not come where as many have a nonce as may", kept, decides(building, tooFull, asked(good()), ahead(out)),
			"behind"},
		{"which has come: signed with its proof", kept, decides(building, asked(good()), ahead(out)),
			"planning; DISPATCHING, BLOCKED; 1 proved 7@100; 2 planned 7@100; unless 7 is used"},
		{"proved for a state that does not come: back, with its proof", kept,
			decides(building, asked(good()), ahead(builtOf(unmade(6), "other"))), "broken; WAITING, FREE; 1 proved 7@100"},
		{"which it keeps where it is built again", again, decides(building, two), "proving; build 2"},
		{"and does the same", again, decides(building, two, bytes, builds("e7")), "proving; resign 2"},
		{"not where it does something else", again, decides(building, two, bytes, builds("other")), "proving; prove 2"},
		{"not sent while the next is made upon what it does not leave", txn(tx.PhaseSent, try(tx.Signed, doing("e"))),
			decides(building, knows(func(l *Local) { l.Unsent = 1 }), behindIt(last)), "behind"},
		{"built: known here alone", plan, learns(whole(answer(Build, 1), "e"), building), "proving"},
		{"there is nothing to send", behind, learns(func() Answer { a := finished(1); a.Call.Kind = Build; return a }(), building, ahead(made)), back},
		{"building fails", plan, learns(fault(answer(Build, 1), FaultError, "E"), building),
			"answered; RETRY, RETRY; 1 dropped 7@100; error E"},
		{"behind another: back", behind, learns(fault(answer(Build, 1), FaultError, "E"), building, ahead(made)),
			back + "; deferred 1; error E"},
		{"with others behind it: when those have left", behind, learns(fault(answer(Build, 1), FaultError, "E"), building,
			ahead(made), behindIt(last)), "broken; REVISION, WAITING_INCLUSION; 1 dropped 7@100; deferred 1; to end WAITING; error E"},
		{"what was built is not there any more: built again", plan, learns(gone1, building, builds("e")), "proving"},
		{"the third time: put off, and nothing is held against it", plan, learns(gone1, building,
			knows(func(l *Local) { l.Built.Gone = 2 })),
			"deferred; WAITING, FREE; deferred 1; error WORKER_UNAVAILABLE; rest RESTED 30s; hold queue 30s"},
		{"something else was proved: a loss, and it is built again", plan,
			learns(fault(answer(Prove, 1), FaultGone, "G"), building, builds("e")),
			"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 1; error G"},
		{"the third time in a row, built anew in between: it counts", lost2,
			learns(fault(answer(Prove, 1), FaultGone, "G"), building, builds("e")), "lost; RETRY, RETRY; 1 dropped 7@100; error G"},
		{"what is built takes back no loss", lost2, learns(whole(answer(Build, 1), "e"), building), "proving"},
		{"the provers that it wants are away: its sender does not rest", plan,
			learns(pools(fault(answer(Build, 1), FaultUnreached, "P")), building), "deferred; WAITING, FREE; deferred 1; error P; hold queue 30s"},
		{"nor where they are busy", plan, learns(pools(fault(answer(Prove, 1), FaultBusy, "P")), building),
			"deferred; WAITING, FREE; deferred 1; error P; hold queue 1s"},
		{"not fit to go along with others, before it is proved", behind,
			learns(lonely(whole(answer(Build, 1), "e")), building, ahead(made)), back + "; deferred 1; error NOT_TOGETHER"},
	}}
}

// TestBuiltKnown: what an answer to Build says is known from then on, until the next attempt.
func TestBuiltKnown(t *testing.T) {
	t.Parallel()
	a := answer(Build, 1)
	a.Effects, a.Alone = "e", "creates an account"
	v := view(txn(tx.PhaseDispatching, try(tx.Planned)), building, knows(func(l *Local) { l.Built.Gone = 1 }))
	if got := Learn(v, a).Local.Built; got != (Built{Number: 1, Effects: "e", Alone: true, Gone: 1}) {
		t.Errorf("built: %+v", got)
	}
	gone := answer(Prove, 1)
	gone.Fault = FaultGone
	if got := Learn(v, gone).Local.Built; got != (Built{Gone: 2}) {
		t.Errorf("gone: %+v", got)
	}
	if got := Learn(v, fault(answer(Build, 1), FaultNoCall, "")).Local; !got.NoBuild || got.Legacy {
		t.Errorf("no such call: %+v", got)
	}
	one := MemberOf(v.Txn, tx.Sighting{}, &Local{Built: Built{Number: 1, Effects: "e", Alone: true}})
	if p := testPolicy(); p.Joins([]Member{one}, 2, 2, true, v.Tip) {
		t.Error("one joins what may have nothing beside it")
	}
	one.Built.Alone = false
	if p := testPolicy(); !p.Joins([]Member{one}, 2, 2, true, v.Tip) {
		t.Error("none joins what is built")
	}
	one.Built.Effects = ""
	if p := testPolicy(); p.Joins([]Member{one}, 2, 2, true, v.Tip) {
		t.Error("one joins what is not built")
	}
	fresh := view(txn(tx.PhaseDispatching), asked(good()), holds(7, 1000), building, builds("e"))
	if got := Decide(fresh).Local.Built; got != (Built{}) {
		t.Errorf("a new attempt: %+v", got)
	}
}

// TestStateAfter: the state that a member leaves goes by its base and its effects, whatever else of it changes.
func TestStateAfter(t *testing.T) {
	t.Parallel()
	leaves := func(parts ...part) string { m := Member{Txn: txn(tx.PhaseDispatching, parts...)}; return m.Leaves() }
	want := leaves(try(tx.Signed, upon("b"), doing("e")))
	if len(want) != 64 || strings.ToLower(want) != want {
		t.Errorf("leaves %q", want)
	}
	for name, got := range map[string]string{
		"raised":       leaves(try(tx.Sent, upon("b"), doing("e")), try(tx.Signed, upon("b"), doing("e"), fee(150))),
		"proved early": leaves(try(tx.Proved, causedBy(tx.CauseAhead), upon("b"), doing("e"))),
		"signed again": leaves(try(tx.Proved, causedBy(tx.CauseAhead)), try(tx.Planned, upon("b"), doing("e"))),
	} {
		if got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, other := range map[string]string{
		"another base": leaves(try(tx.Signed, upon("c"), doing("e"))), "other effects": leaves(try(tx.Signed, upon("b"), doing("f"))),
		"cut elsewhere": leaves(try(tx.Signed, upon("b\ne"), doing(""))),
		"not known":     leaves(try(tx.Planned, upon("b"))), "does not come": leaves(try(tx.Proved, causedBy(tx.CauseBase), upon("b"), doing("e"))),
	} {
		if other == want || strings.HasPrefix(name, "not") && other != "" {
			t.Errorf("%s: %q", name, other)
		}
	}
}
