package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// again is one that failed in a block and is to be tried again in its place.
func again(p tx.Phase, n uint32) Member {
	return Member{Txn: txn(p, try(tx.FailedIn, at(n), shallow))}
}

// shallowRows are of types whose second landing has no effect: what failed in a block is
// tried again long before that has settled. SETTLE_DEPTH is 5, the type's depth 1.
func shallowRows() []row {
	early := func(v *View) {
		p := *v.Policy
		p.RetryDepth = 1
		v.Policy = &p
	}
	hard := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "F", Permanent: true} }
	of := func(hash string) func(*tx.Sighting) { return func(g *tx.Sighting) { g.Hash = hash } }
	watched := func(parts ...part) *tx.Transaction {
		return txn(tx.PhaseWatching, append([]part{try(tx.Sent)}, parts...)...)
	}
	failed := func(p tx.Phase, parts ...part) *tx.Transaction {
		return txn(p, append([]part{try(tx.FailedIn, shallow)}, parts...)...)
	}
	second := func(p tx.Phase, parts ...part) *tx.Transaction {
		return failed(p, append([]part{try(tx.Sent, at(8))}, parts...)...)
	}
	used := func(v *View) { v.Local.Asked.Retries = new(0) }
	next := func(a Answer) Answer { a.Nonce = 8; return a }
	const opened = "REVISION, WAITING_INCLUSION; 1 resurfaced 7@100"
	return []row{
		{"failed in a block, of a type that is tried again early", []sample{
			{"tried again, and its bytes are kept", watched(), decides(early, sees(tx.FateFailed, 1)),
				"settled; RETRY, RETRY; 1 failed-shallow 7@100; error ; B62a from nonce 8"},
			{"raised before: both", watched(try(tx.Sent, fee(150))), decides(early, sees(tx.FateFailed, 1)),
				"settled; RETRY, RETRY; 1 replaced-shallow 7@100; 2 failed-shallow 7@150; error ; B62a from nonce 8"},
			{"not by one node's word", watched(), decides(early, sees(tx.FateFailed, 4, func(g *tx.Sighting) { g.Agreed = false })),
				"failed-in"},
			{"nor by an archive's", watched(), decides(early, sees(tx.FateFailed, 4, func(g *tx.Sighting) { g.Archived = true })),
				"failed-in"},
			{"for good: not before it has settled", watched(), decides(early, sees(tx.FateFailed, 4, hard)), "failed-in"},
			{"cancelled: nor", watched(cancelling), decides(early, sees(tx.FateFailed, 4)), "failed-in"},
			{"no try left: nor", watched(ending(tx.PhaseFailed)), decides(early, sees(tx.FateFailed, 4)), "failed-in"},
			{"a second time: nor", second(tx.PhaseWatching), decides(early, sees(tx.FateFailed, 4)), "failed-in"},
			{"watched again: nor", txn(tx.PhaseWatching, try(tx.Resurfaced)),
				decides(early, sees(tx.FateFailed, 4)), "failed-in"},
			{"of a worker that sends by itself: nor", txn(tx.PhaseWatching, try(tx.Sent, legacy)), decides(early, sees(tx.FateFailed, 4)),
				"failed-in"},
			{"expired: nor", watched(), decides(early, sees(tx.FateExpired, 4)), "expired"},
			{"settled at once", watched(), decides(early, sees(tx.FateFailed, 5)),
				"settled; RETRY, RETRY; 1 failed 7@100; error ; drop bytes; B62a from nonce 8"},
			{"of another type", watched(), decides(sees(tx.FateFailed, 4)), "failed-in"},
		}},
		{"a shallow attempt, and no other is to be made", []sample{
			{"no try left: watched again", failed(tx.PhaseFailing), decides(early, asked(good()), used), "used-up; " + opened +
				"; to end FAILED; confirm"},
			{"unusable sender", failed(tx.PhaseFailing), decides(early, asked(&Sender{Unusable: true})), "back; " + opened + "; to end WAITING; confirm"},
			{"cancelled", failed(tx.PhaseFailing), orders(tx.Order{What: tx.OrderCancel}, early),
				"ordered; RETRY, RETRY; 1 failed-shallow 7@100; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"and so watched", failed(tx.PhaseDelayed, cancelling), decides(early), "cancelled; " + opened + "; cancel asked; error CANCELLED; confirm"},
			{"the worker errs for good", failed(tx.PhaseDispatching, try(tx.Planned, at(8))),
				learns(fault(next(answer(Prove, 2)), FaultHopeless, "500"), early),
				"answered; " + opened + "; 2 dropped 8@100; to end UNRESOLVED; error 500; confirm"},
			{"the worker has finished it", failed(tx.PhaseDispatching, try(tx.Planned, at(8))), learns(next(finished(2)), early),
				"answered; " + opened + "; 2 dropped 8@100; to end DONE; confirm"},
			{"the worker is away", failed(tx.PhaseDispatching, try(tx.Planned, at(8))),
				learns(fault(next(answer(Prove, 2)), FaultUnreached, tx.CodeUnavailable), early),
				"deferred; RETRY, DELAY; 1 failed-shallow 7@100; deferred 1; error WORKER_UNAVAILABLE; due in 30s; rest RESTED 30s"},
			{"failed, and settled: its end", txn(tx.PhaseWatching, try(tx.Resurfaced), ending(tx.PhaseFailed)),
				decides(early, sees(tx.FateFailed, 5)),
				"settled; FAILED, FREE; 1 failed 7@100; error ; drop bytes; B62a from nonce 8; trusts; tell on-failure"},
			{"settled, and it was to go back: back, not counted", txn(tx.PhaseWatching, try(tx.Resurfaced), ending(tx.PhaseWaiting)),
				decides(early, sees(tx.FateFailed, 5, hard)),
				"settled; WAITING, FREE; 1 failed 7@100; error F; drop bytes; B62a from nonce 8"},
			{"unless it was cancelled", txn(tx.PhaseWatching, try(tx.Resurfaced), ending(tx.PhaseWaiting), cancelling),
				decides(early, sees(tx.FateFailed, 5)),
				"cancelled; FAILED, FREE; 1 failed 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
					"B62a from nonce 8; trusts; tell on-failure"},
			{"finished, and cancelled meanwhile: finished", failed(tx.PhaseDispatching, try(tx.Planned, at(8)), cancelling),
				learns(next(finished(2)), early),
				"answered; " + opened + "; 2 dropped 8@100; to end DONE; cancel asked; confirm"},
			{"a person says that the other will not land", second(tx.PhaseWatching), orders(tx.Order{What: tx.OrderDead}, early),
				"ordered; RETRY, RETRY; 1 failed-shallow 7@100; 2 expired 8@100; drop bytes; ask nonce; trusts"},
			{"and it was to end: not before the first has settled", second(tx.PhaseWatching, ending(tx.PhaseFailed)),
				orders(tx.Order{What: tx.OrderDead}, early),
				"ordered; " + opened + "; 2 expired 8@100; to end FAILED; event RESOLVED; drop bytes; ask nonce; confirm; trusts"},
			{"landed after all", txn(tx.PhaseWatching, try(tx.Resurfaced), ending(tx.PhaseFailed)),
				decides(early, sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
		}},
		{"a shallow attempt, and another", []sample{
			{"planned at the next nonce", failed(tx.PhaseDispatching), decides(early, asked(&Sender{Account: payer, Next: new(uint32(8)),
				Greeted: true}), holds(8, 100)), "planning; DISPATCHING, BLOCKED; 1 failed-shallow 7@100; 2 planned 8@100"},
			{"not if the chain has unspent what failed", failed(tx.PhaseDispatching),
				decides(early, asked(&Sender{Account: payer, Next: new(uint32(8)), Greeted: true}), holds(7, 100), landedAt(3)),
				"deferred; RETRY, DELAY; 1 failed-shallow 7@100; deferred 1; error NONCE_BEHIND; due in 10s; rest RESTED 10s"},
			{"nor what failed behind it", txn(tx.PhaseDispatching),
				decides(early, asked(&Sender{Account: payer, Next: new(uint32(8)), Greeted: true}), holds(7, 100), landedAt(3),
					behindIt(again(tx.PhaseDispatching, 7))),
				"broken"},
			{"its first sending refused, for the payer is broke: it waits with its sender",
				failed(tx.PhaseSent, try(tx.Signed, at(8))),
				learns(SendTold{Call: freshly(Send, 2),
					Refusal: refused("Insufficient_funds", Refusal{Payers: true, Broke: true})}, early, unseen),
				"deferred; RETRY, DELAY; 1 failed-shallow 7@100; 2 refused 8@100; deferred 1; error Insufficient_funds; " +
					"due in 10m0s; rest LOW_BALANCE 10m0s"},
			{"landed: final when that is", second(tx.PhaseWatching), decides(early, sees(tx.FateIncluded, 2, of("5J2"))),
				"landed; DONE, FREE; 1 failed-shallow 7@100; 2 included 8@100; landed 2; B62a from nonce 8; " +
					"tell on-success"},
			{"settled meanwhile", failed(tx.PhaseDelayed), decides(early, sees(tx.FateFailed, 5)),
				"settled; RETRY, DELAY; 1 failed 7@100; drop bytes"},
			{"landed meanwhile", failed(tx.PhaseDispatching, try(tx.Planned, at(8))), decides(early, sees(tx.FateIncluded, 2, of("5J1"))),
				"landed; DONE, FREE; 1 included 7@100; 2 dropped 8@100; landed 1; B62a from nonce 8; tell on-success"},
			{"its block gone: open again", failed(tx.PhaseDispatching, try(tx.Planned, at(8))), decides(early, sees(tx.FateAbsent, 0)),
				"orphaned; " + opened + "; 2 dropped 8@100; confirm"},
			{"its time over, and its nonce unspent: open again", failed(tx.PhaseDelayed), decides(early, sees(tx.FateExpired, 5)),
				"orphaned; " + opened + "; confirm"},
			{"not by one node's word", failed(tx.PhaseDelayed, due(time.Hour)),
				decides(early, sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.Agreed = false })), "delay; look in 1h0m0s"},
			{"nor while the nodes do not say", failed(tx.PhaseDelayed, due(time.Hour)), decides(early), "delay; look in 1h0m0s"},
			{"nor while it is as it was", failed(tx.PhaseDelayed, due(time.Hour)), decides(early, sees(tx.FateFailed, 4)), "delay; look in 1h0m0s"},
			{"nor when another has spent its nonce", failed(tx.PhaseDelayed, due(time.Hour)), decides(early, sees(tx.FateDisplaced, 5)),
				"delay; look in 1h0m0s"},
			{"not while another is open", second(tx.PhaseWatching), decides(early, sees(tx.FatePooled, 0)), "pool; look in 3m0s"},
			{"final", second(tx.PhaseDone, landedBy(2)), decides(early, sees(tx.FateIncluded, 8, of("5J2"))),
				"final; DONE, FREE; 1 failed 7@100; 2 sent 8@100; landed 2; event FINAL; drop bytes"},
			{"failed, too, and settled: the first goes on being watched", second(tx.PhaseWatching), decides(early, sees(tx.FateFailed, 5, of("5J2"))),
				"settled; RETRY, RETRY; 1 failed-shallow 7@100; 2 failed 8@100; error ; drop bytes; B62a from nonce 8"},
			{"orphaned, and gone for good: the first may have landed", second(tx.PhaseDone, landedBy(2), func(t *tx.Transaction) { t.Reopened = true }),
				decides(early, sees(tx.FateFailed, 5, of("5J2"))), "orphaned; DONE, FREE; 1 included 7@100; 2 failed 8@100; " +
					"landed 1; reopened"},
		}},
		{"in a train, and one failed early", []sample{
			{"the first waits for those behind it", failed(tx.PhaseDispatching), decides(early, asked(good()), behindIt(member(8, tx.FateFailed))),
				"broken"},
			{"and for one that was planned behind it", failed(tx.PhaseDispatching), decides(early, asked(good()), behindIt(unmade(8))),
				"broken"},
			{"until they are to be tried again, too", failed(tx.PhaseDispatching),
				decides(early, asked(&Sender{Account: payer, Next: new(uint32(9)), Greeted: true}), holds(9, 100),
					behindIt(again(tx.PhaseDispatching, 8))),
				"planning; DISPATCHING, BLOCKED; 1 failed-shallow 7@100; 2 planned 9@100"},
			{"and asks for its sender anew then", failed(tx.PhaseDispatching), decides(early, asked(good()),
				knows(func(l *Local) { l.Asked.Among = true }), behindIt(again(tx.PhaseDispatching, 8))), "planning; ask-sender"},
			{"behind one that is tried again: in its place, not counted", watched(),
				decides(early, sees(tx.FateFailed, 1, hard), ahead(again(tx.PhaseFailing, 6))),
				"settled; RETRY, DELAY; 1 failed-shallow 7@100; deferred 1; error F; due in 0s; B62a from nonce 8"},
			{"behind one that has failed, and is not: waits", watched(), decides(early, sees(tx.FateFailed, 1), ahead(member(6, tx.FateFailed))),
				"failed-in"},
			{"behind one that may land: waits", watched(), decides(early, sees(tx.FateFailed, 1), ahead(member(6, tx.FatePooled))), "failed-in"},
			{"alone of a commuting type", watched(), decides(early, sees(tx.FateFailed, 1), func(v *View) { v.Train.Commuting = true }),
				"settled; RETRY, RETRY; 1 failed-shallow 7@100; error ; B62a from nonce 8"},
			{"one ahead is not seen yet: waits", watched(), decides(early, sees(tx.FateFailed, 1), ahead(again(tx.PhaseFailing, 6)),
				func(v *View) { v.Train.Unseen = true }), "failed-in"},
			{"commuting: waits", watched(), decides(early, sees(tx.FateFailed, 1), ahead(member(6, tx.FatePooled)),
				func(v *View) { v.Train.Commuting = true }), "failed-in"},
			{"waits in its place for those ahead", failed(tx.PhaseDispatching), decides(early, asked(good()), ahead(again(tx.PhaseDelayed, 6))),
				"behind"},
			{"however few of a longer train that is", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(again(tx.PhaseDelayed, 6)), behindIt(again(tx.PhaseDispatching, 8), again(tx.PhaseDispatching, 9))),
				"behind"},
			{"planned when they are in flight, and half of them in a block", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FateIncluded), member(10, tx.FatePooled)), behindIt(again(tx.PhaseDispatching, 8))),
				"planning; DISPATCHING, BLOCKED; 1 failed-shallow 7@100; 2 planned 11@100; unless 11 is used"},
			{"of three, when the first is in a block", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FatePooled)), behindIt(again(tx.PhaseDispatching, 8))), "behind"},
			{"of four, when one is in none", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FatePooled)), behindIt(again(tx.PhaseDispatching, 8), again(tx.PhaseDispatching, 8))),
				"planning; DISPATCHING, BLOCKED; 1 failed-shallow 7@100; 2 planned 10@100; unless 10 is used"},
			{"of two, when the other is in a block", failed(tx.PhaseDispatching), decides(early, asked(good()), ahead(member(9, tx.FatePooled))),
				"behind"},
			{"not when one behind has not ended", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FateIncluded)), behindIt(member(8, tx.FateFailed))), "broken"},
			{"nor when one behind is not seen yet", failed(tx.PhaseDispatching),
				decides(early, asked(good()), behindIt(again(tx.PhaseDispatching, 8)), func(v *View) { v.Train.Unseen = true }), "behind"},
			{"not before", failed(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FatePooled), member(10, tx.FatePooled)), behindIt(again(tx.PhaseDispatching, 8))),
				"behind"},
			{"not behind one that is watched again below another", txn(tx.PhaseDispatching),
				decides(early, asked(good()), ahead(member(9, tx.FatePooled), member(8, tx.FatePooled))), "broken; WAITING, FREE; deferred 1"},
			{"the worker errs: once more, later, in its place", failed(tx.PhaseDispatching, try(tx.Planned, at(10))),
				learns(func() Answer { a := fault(answer(Prove, 2), FaultError, "400"); a.Nonce = 10; return a }(), early,
					ahead(member(9, tx.FatePooled))),
				"settled; RETRY, DELAY; 1 failed-shallow 7@100; 2 dropped 10@100; deferred 1; error 400; due in 1m0s"},
			{"landed behind one that was seen to fail, and may have landed: waits for that", watched(),
				decides(sees(tx.FateIncluded, 2), ahead(again(tx.PhaseDelayed, 6))), "behind"},
			{"watched again where one ahead will not be", failed(tx.PhaseDispatching), decides(early, asked(good()), ahead(member(6, tx.FateFailed))),
				"broken; " + opened + "; deferred 1; to end WAITING; confirm"},
		}},
	}
}

// TestOpened: what is watched again is as if it had been sent by somebody else, a while ago.
func TestOpened(t *testing.T) {
	t.Parallel()
	early := func(v *View) { v.Policy.RetryDepth = 1 }
	in := func(a *tx.Attempt) { a.Height, a.StateHash, a.Confirmations, a.Error = 190, "3N190", 1, oops("F") }
	worldly := knows(func(l *Local) {
		*l = Local{Own: 2, Marked: 2, Unsent: 2, SentAt: clock, Resent: 3, Said: Said{Number: 2},
			Asked: Asked{Overtaken: true}}
	})
	v := view(txn(tx.PhaseDelayed, try(tx.FailedIn, shallow, in), try(tx.Planned, over, at(8)), cancelling), early,
		worldly)
	s := Decide(v)
	if a := s.Txn.Attempts[0]; !a.Open() || a.Height != 0 || a.StateHash != "" || a.Confirmations != 0 || a.Error != nil {
		t.Errorf("%+v", a)
	}
	if !reflect.DeepEqual(s.Local, Local{}) {
		t.Errorf("known still: %+v", s.Local)
	}
	v = view(txn(tx.PhaseDone, try(tx.FailedIn, shallow, in), try(tx.Included, at(8), block), landedBy(2), try(tx.Signed,
		at(8)),
		func(t *tx.Transaction) { t.Reopened = true }), early, worldly, sees(tx.FateFailed, 5))
	s = Decide(v)
	want := []tx.AttemptState{tx.Included, tx.Replaced, tx.FailedIn} // the last is the one in the block
	for i := range want {
		if a := &s.Txn.Attempts[i]; a.State != want[i] || a.EndedAt.IsZero() {
			t.Errorf("%+v", a)
		}
	}
	if n := s.Aside.LandedWith; s.Txn.Landed != 1 || n == nil || *n != nonce || !s.Local.SentAt.IsZero() ||
		s.Local.Resent != 0 {
		t.Errorf("landed by %d, %+v", s.Txn.Landed, s)
	}
	for name, c := range map[string]struct {
		t    *tx.Transaction
		want string
	}{
		"failed":           {txn(tx.PhaseWatching, try(tx.Sent)), "settled"},
		"had failed early": {txn(tx.PhaseDelayed, try(tx.FailedIn, shallow)), ""},
	} {
		v := view(c.t, sees(tx.FateFailed, 5))
		s := Decide(v)
		if got := s.Failure(c.t); got != c.want {
			t.Errorf("%s: counted as %q, want %q", name, got, c.want)
		}
	}
}

// TestShallowAndForgotten: what is shallow is put back after a failover as open, where
// nothing else is; and what makes room for another keeps nothing of it.
func TestShallowAndForgotten(t *testing.T) {
	t.Parallel()
	failed := txn(tx.PhaseDelayed, try(tx.FailedIn, shallow))
	if got, _ := Restored(txn(tx.PhaseWaiting), KnownOf("p", failed, nil), now); got == nil || !got.Open() ||
		RestoresInPlace(txn(tx.PhaseWaiting), got) {
		t.Errorf("put back as %+v", got)
	}
	if k := KnownOf("p", txn(tx.PhaseSent, try(tx.FailedIn, shallow), try(tx.Signed, at(8))), nil); k.Attempts[0].Open() ||
		!k.Attempts[1].Open() {
		t.Errorf("beside one that is open: %+v", k.Attempts)
	}
	done := txn(tx.PhaseDone, try(tx.FailedIn, shallow), try(tx.Included, at(8), block), landedBy(2))
	if k := KnownOf("p", done, nil); k.Attempts[0].Open() {
		t.Errorf("beside one that landed: %+v", k.Attempts)
	}
	if back := MakesRoom(failed, now); back == nil || back.Phase != tx.PhaseWaiting || back.Shallow() != nil {
		t.Errorf("made room as %+v", back)
	}
	if !failed.Out() || !Lacks("p", txn(tx.PhaseWaiting), failed) {
		t.Error("what is shallow is not taken for out")
	}
}
