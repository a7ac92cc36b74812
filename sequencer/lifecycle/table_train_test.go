package lifecycle

import (
	"math"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// ahead puts members before the transaction of a view, behind puts them after it.
func ahead(all ...Member) change {
	return func(v *View) { v.Train.Ahead = append(v.Train.Ahead, all...) }
}

func behindIt(all ...Member) change {
	return func(v *View) { v.Train.Behind = append(v.Train.Behind, all...) }
}

// member is one at a nonce, as all nodes show it; it was sent half a minute ago.
func member(n uint32, f tx.Fate, parts ...part) Member {
	t := txn(tx.PhaseWatching, append([]part{try(tx.Sent, at(n))}, parts...)...)
	return Member{Txn: t, Sighting: tx.Sighting{Fate: f, Agreed: true, Depth: 1}, SentAt: clock.Add(-30 * time.Second)}
}

// lonely is an answer with what may not go along with others.
func lonely(a Answer) Answer {
	a.Alone = "creates the account B"
	return a
}

func alone(a *tx.Attempt) { a.Alone = true }

// unmade is one that its worker has.
func unmade(n uint32) Member {
	return Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(n)))}
}

// ofTrains are the reasons that only those in a train have.
var ofTrains = map[Reason]bool{ReasonBehind: true, ReasonBroken: true, ReasonHeld: true}

// trainRows are of what has others of its queue in flight around it.
func trainRows() []row {
	return []row{
		trainPlans(), trainHeld(), trainAnswers(), trainStays(), trainSends(), trainSettles(), trainLands(), trainRaises(), trainCommutes(),
		madeAtOnce(), answeredAtOnce(), leftAtOnce(), builtRows(),
		{"a person, while others are behind", []sample{
			{"cancels what waits for its next try: remembered", txn(tx.PhaseDelayed, try(tx.Expired, over)),
				orders(tx.Order{What: tx.OrderCancel}, behindIt(member(8, tx.FatePooled))),
				"ordered; RETRY, DELAY; 1 expired 7@100; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"says that it is dead, which ends it: refused", txn(tx.PhaseWatching, try(tx.Sent), ending(tx.PhaseFailed)),
				orders(tx.Order{What: tx.OrderDead}, behindIt(member(8, tx.FatePooled))),
				"transaction u is REVISION: others of its queue were made on it and are in flight"},
		}},
	}
}

func trainPlans() row {
	fresh := txn(tx.PhaseDispatching)
	return row{"planned behind others", []sample{
		{"at the nonce that follows, whatever the sender's next is", fresh,
			decides(asked(good()), ahead(member(11, tx.FatePooled), member(12, tx.FateAbsent))),
			"planning; DISPATCHING, BLOCKED; 1 planned 13@100; unless 13 is used"},
		{"which one has used that has landed behind those ahead, and is gone", fresh,
			decides(asked(&Sender{Account: payer, Next: new(uint32(13)), Greeted: true}), ahead(member(11, tx.FatePooled))),
			"behind"},
		{"and which is free all the same", fresh,
			decides(asked(&Sender{Account: payer, Next: new(uint32(12)), Greeted: true}), ahead(member(11, tx.FatePooled))),
			"planning; DISPATCHING, BLOCKED; 1 planned 12@100; unless 12 is used"},
		{"as the store says: the sender is asked anew", fresh, learns(Denied{Why: Used}, knows(func(l *Local) {
			l.Asked = Asked{Sender: good()}
		}), ahead(member(11, tx.FatePooled))), "planning"},
		{"after the last nonce that there is", fresh, decides(asked(good()), ahead(member(math.MaxUint32, tx.FatePooled))),
			"broken; WAITING, FREE; deferred 1"},
		{"behind what is on its way to a node", fresh,
			decides(asked(good()), ahead(Member{Txn: txn(tx.PhaseSent, try(tx.Signed, at(20)))})), "broken; WAITING, FREE; deferred 1"},
		{"what went back already, and nothing comes of what is ahead", txn(tx.PhaseDispatching, deferrals(1)),
			decides(asked(good()), knows(func(l *Local) { l.Own = ownByBind }), ahead(member(6, tx.FateExpired))),
			"broken; WAITING, FREE; deferred 2"},
		{"what went back already waits to be the first", txn(tx.PhaseDispatching, deferrals(1)),
			decides(asked(good()), ahead(member(11, tx.FatePooled))), "behind"},
		{"one ahead failed: back, not counted", fresh, decides(asked(good()), ahead(member(11, tx.FateFailed))),
			"broken; WAITING, FREE; deferred 1"},
		{"one ahead is to be made anew", fresh, decides(asked(good()), ahead(unmade(11))), "broken; WAITING, FREE; deferred 1"},
		{"and so while its worker has it", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(asked(good()), ahead(member(6, tx.FateExpired))),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1"},
		{"where something of it may be out: watched, and then back", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			decides(asked(good()), ahead(member(6, tx.FateExpired))),
			"broken; REVISION, WAITING_INCLUSION; 1 unknown 7@100; 2 dropped 7@100; to end WAITING"},
		{"which is not where all ahead are in order", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			decides(asked(good()), ahead(member(6, tx.FatePooled))), "proving; prove 2"},
		{"nor of the first", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			decides(asked(good()), behindIt(member(8, tx.FatePooled))), "proving; prove 2"},
		{"a worker that sends by itself is not asked behind others", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(knows(func(l *Local) { l.Legacy = true }), ahead(member(6, tx.FatePooled))),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error WORKER_UNAVAILABLE"},
		{"those ahead are not known yet", fresh, decides(asked(good()), func(v *View) { v.Train.Unseen = true }), "behind"},
		{"nor asked for while they are not", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(func(v *View) { v.Train.Unseen = true }), "behind"},
		{"asked while others were in flight: asked anew", fresh,
			decides(asked(good()), holds(9, 100), knows(func(l *Local) { l.Asked.Among = true })), "planning; ask-sender"},
		{"planned at what one behind has by now: a failover forgot that it slipped", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(asked(good()), behindIt(member(nonce, tx.FatePooled))), "planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
		{"planned below what one behind has", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(asked(good()), behindIt(member(8, tx.FatePooled))), "proving; prove 1"},
		{"nothing anew while one is behind", txn(tx.PhaseDispatching, try(tx.FailedIn, over)),
			decides(asked(good()), holds(8, 100), behindIt(member(8, tx.FatePooled))), "broken"},
		{"nor while one behind is with its worker", txn(tx.PhaseDispatching, try(tx.FailedIn, over)),
			decides(asked(good()), holds(8, 100), behindIt(unmade(8))), "broken"},
	}}
}

func trainHeld() row {
	held := func(v *View) { v.Train.Held = true }
	fresh, made := txn(tx.PhaseDispatching), txn(tx.PhaseDispatching, try(tx.Planned))
	first := ahead(member(6, tx.FatePooled))
	early := txn(tx.PhaseDispatching, early(11))
	return row{"nothing may join: paused, drained, or told to end", []sample{
		{"what is not planned: back, as if it had not joined", fresh, decides(asked(good()), held, first), "held; WAITING, FREE"},
		{"what its worker has", made, decides(held, first), "held; WAITING, FREE; 1 dropped 7@100"},
		{"which would leave anyway", made, decides(held, ahead(member(6, tx.FateExpired))),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1"},
		{"what is cancelled ends", txn(tx.PhaseDispatching, try(tx.Planned), cancelling), decides(held, first),
			"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
		{"what is signed goes on", txn(tx.PhaseSent, try(tx.Signed)), decides(held, first, knows(func(l *Local) { l.Unsent = 1 })), "sending; send 1"},
		{"and what was signed just now", made, learns(signed(Prove, 1), held, first),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"what may be out goes on", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)), decides(asked(good()), held, first), "proving; prove 2"},
		{"the first goes on", made, decides(held), "proving; prove 1"},
		{"also with others behind it", made, decides(held, behindIt(member(8, tx.FatePooled))), "proving; prove 1"},
		{"what waits for its turn with a proof", early, decides(asked(good()), held, atOnce, ahead(unmade(11))),
			"held; WAITING, FREE; 1 proved 11@100; slips"},
		{"what is unplaced, when its worker has made it", txn(tx.PhaseDispatching, try(tx.Planned, unplaced)),
			decides(held, atOnce, ahead(unmade(11))), "proving; prove 1"},
		{"what is to be tried again in its place: there, until what it failed by has settled",
			txn(tx.PhaseDispatching, try(tx.FailedIn, over, shallow), try(tx.Planned, at(9))),
			decides(held, first), "held; DISPATCHING, BLOCKED; 1 failed-shallow 7@100; 2 dropped 9@100"},
		{"where it waits", txn(tx.PhaseDispatching, try(tx.FailedIn, over, shallow), deferrals(1)),
			decides(asked(good()), held, ahead(member(11, tx.FateIncluded))), "held"},
		{"and goes back if those ahead do not come", txn(tx.PhaseDispatching, try(tx.FailedIn, over), deferrals(1)),
			decides(asked(good()), held, ahead(member(11, tx.FateIncluded))), "held; WAITING, FREE; 1 failed 7@100; deferred 1"},
	}}
}

func trainAnswers() row {
	proving := txn(tx.PhaseDispatching, try(tx.Planned))
	first := ahead(member(6, tx.FatePooled))
	return row{"the worker of one behind others answers", []sample{
		{"signed, and those ahead are in order", proving, learns(signed(Prove, 1), first),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"signed, and one ahead has failed", proving, learns(signed(Prove, 1), ahead(member(6, tx.FateFailed))),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1"},
		{"signed, one ahead has failed, and something of it may be out", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			learns(signed(Prove, 2), ahead(member(6, tx.FateFailed))),
			"answered; REVISION, INCLUSION; 1 unknown 7@100; 2 signed 7@100; keep bytes of 2; confirm"},
		{"signed, and not fit to go along with them", proving, learns(lonely(signed(Prove, 1)), first),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error NOT_TOGETHER"},
		{"which does not matter if it is the first", proving, learns(lonely(signed(Prove, 1))),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"nor of a raise: its proof is the same", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)),
			learns(lonely(signed(Resign, 2)), first, sees(tx.FatePooled, 0)),
			"answered; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 signed 7@100; keep bytes of 2; confirm"},
		{"an error is not its own", proving, learns(fault(answer(Prove, 1), FaultError, "E"), first),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error E"},
		{"nor is one that no retry can mend", proving, learns(fault(answer(Prove, 1), FaultHopeless, "E"), first),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error E"},
		{"nothing to send: as far as those ahead land", proving, learns(finished(1), first),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1"},
		{"busy: it alone waits", proving, learns(fault(answer(Prove, 1), FaultBusy, "B"), first),
			"broken; WAITING, FREE; deferred 1; error B"},
		{"its worker signs for another: its sender is stopped, and those ahead go on", txn(tx.PhaseDispatching, try(tx.Planned)),
			learns(HealthTold{Why: tx.WrongAccount, Detail: "D"}, asked(good()), first),
			"broken; WAITING, FREE; deferred 1; error WRONG_ACCOUNT; rest WRONG_ACCOUNT 1m0s"},
		{"its queue has used its budget: its sender goes on", txn(tx.PhaseDispatching),
			learns(Denied{Why: Costly, Budget: "queue q", Left: time.Hour}, asked(good()), first),
			"broken; WAITING, FREE; deferred 1; error FEE_LIMIT"},
		{"busy, and cancelled: it ends", txn(tx.PhaseDispatching, try(tx.Planned), cancelling),
			learns(fault(answer(Prove, 1), FaultBusy, "B"), first),
			"cancelled; FAILED, FREE; deferred 1; cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts"},
		{"lost for the last time", txn(tx.PhaseDispatching, try(tx.Planned), losses(2)),
			learns(fault(answer(Prove, 1), FaultLost, "L"), first),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error L"},
		{"refused by every node", txn(tx.PhaseSent, try(tx.Signed)),
			learns(SendTold{Call: freshly(Send, 1), Slot: 301, Refusal: refused("R", Refusal{})}, first, unseen),
			"broken; WAITING, FREE; 1 refused 7@100; deferred 1; error R"},
	}}
}

func trainStays() row {
	made := txn(tx.PhaseDispatching, try(tx.Planned))
	follows := behindIt(again(tx.PhaseDispatching, 5))
	return row{"the first would leave, and another waits in its place behind it", []sample{
		{"its worker ends it for good: when none is behind", made, learns(fault(answer(Prove, 1), FaultHopeless, "E"), follows),
			"answered; REVISION, WAITING_INCLUSION; 1 dropped 7@100; to end UNRESOLVED; error E; drop bytes"},
		{"as it does then", txn(tx.PhaseWatching, try(tx.Planned, over), ending(tx.PhaseUnresolved)), decides(),
			"settled; UNRESOLVED, FREE; 1 dropped 7@100; drop bytes; trusts; tell on-failure"},
		{"and not before", txn(tx.PhaseWatching, try(tx.Planned, over), ending(tx.PhaseUnresolved)), decides(follows), "broken"},
		{"its worker has nothing to send", made, learns(finished(1), follows),
			"answered; REVISION, WAITING_INCLUSION; 1 dropped 7@100; to end DONE; drop bytes"},
		{"its worker is busy: back, when none is behind", made, learns(fault(answer(Prove, 1), FaultBusy, "B"), follows),
			"deferred; REVISION, WAITING_INCLUSION; deferred 1; to end WAITING; error B; rest RESTED 1s"},
		{"it is cancelled meanwhile", txn(tx.PhaseWatching, try(tx.Planned, over), ending(tx.PhaseWaiting), cancelling), decides(),
			"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
		{"which is when it goes back", txn(tx.PhaseWatching, ending(tx.PhaseWaiting), deferrals(1)), decides(), "settled; WAITING, FREE; deferred 1"},
		{"and not before", txn(tx.PhaseWatching, ending(tx.PhaseWaiting), deferrals(1)), decides(follows), "broken"},
		{"those behind it are not known yet: the same", made, learns(fault(answer(Prove, 1), FaultHopeless, "E"),
			func(v *View) { v.Train.Unseen = true }),
			"broken; REVISION, WAITING_INCLUSION; 1 dropped 7@100; deferred 1; to end WAITING; error E"},
		{"a retry may mend it: it stays as it does alone", made, learns(fault(answer(Prove, 1), FaultError, "E"), follows),
			"answered; RETRY, RETRY; 1 dropped 7@100; error E"},
	}}
}

func trainSends() row {
	bytes := knows(func(l *Local) {
		l.SentAt, l.Asked.Bytes = time.Time{}, &BytesRead{Number: 1, Command: []byte("bytes")}
	})
	unsent := knows(func(l *Local) { l.SentAt, l.Unsent = time.Time{}, 1 })
	gap := func(v *View) { v.Policy.SendGap = time.Minute }
	sent := txn(tx.PhaseSent, try(tx.Signed))
	dropped := knows(func(l *Local) {
		l.SentAt = clock.Add(-time.Hour)
		l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")}
	})
	some := func(v *View) {
		knows(func(l *Local) {
			l.SentAt, l.Asked.Bytes = clock.Add(-TrainResend), &BytesRead{Number: 1, Command: []byte("bytes")}
		})(v)
		sees(tx.FatePooled, 0, func(g *tx.Sighting) { g.Agreed = false })(v)
	}
	return row{"sent in the order of nonces", []sample{
		{"after the one before", sent, decides(unsent, ahead(member(6, tx.FateAbsent))), "sending; send 1"},
		{"and not at once", sent, decides(unsent, gap, ahead(member(6, tx.FatePooled))), "behind; look in 30s"},
		{"at once if that is in a block", sent, decides(unsent, gap, ahead(member(6, tx.FateIncluded))), "sending; send 1"},
		{"not at all if that has failed", sent, decides(unsent, ahead(member(6, tx.FateFailed))), "behind"},
		{"nor while it is not known", sent, decides(unsent, func(v *View) { v.Train.Unseen = true }), "behind"},
		{"after a take-over not before that is seen, or sent again", sent,
			decides(bytes, ahead(Member{Txn: txn(tx.PhaseSent, try(tx.Sent, at(6)))})), "behind"},
		{"dropped: after the one before, which was sent again", txn(tx.PhaseWatching, try(tx.Sent)),
			decides(dropped, sees(tx.FateAbsent, 0), ahead(member(6, tx.FateAbsent))), "resending; send 1"},
		{"dropped, and that is not sent again yet", txn(tx.PhaseWatching, try(tx.Sent)),
			decides(dropped, sees(tx.FateAbsent, 0), ahead(Member{Txn: txn(tx.PhaseWatching, try(tx.Sent, at(6))),
				Sighting: tx.Sighting{Fate: tx.FateAbsent}, SentAt: clock.Add(-2 * time.Hour)})), "behind"},
		{"cancelled, and one behind needs its nonce", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(dropped, sees(tx.FateAbsent, 0), behindIt(member(8, tx.FateAbsent))), "resending; send 1"},
		{"cancelled, and none does", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(dropped, sees(tx.FateAbsent, 0), behindIt(unmade(8))), "absent"},
		{"in some pools: sent again", txn(tx.PhaseWatching, try(tx.Sent)),
			decides(some, behindIt(member(8, tx.FatePooled))), "resending; send 1"},
		{"in some pools, cancelled, and one behind needs its nonce", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(some, behindIt(member(8, tx.FatePooled))), "resending; send 1"},
		{"in some pools, cancelled, and none does", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(some, behindIt(unmade(8))), "pool"},
	}}
}

func trainSettles() row {
	watched := txn(tx.PhaseWatching, try(tx.Sent))
	hard := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "F", Permanent: true} }
	return row{"failed, displaced or expired, SETTLE_DEPTH deep", []sample{
		{"the first: as always, and the queue is narrower", watched,
			decides(sees(tx.FateFailed, 5), behindIt(member(8, tx.FateFailed))),
			"settled; RETRY, RETRY; 1 failed 7@100; error ; drop bytes; B62a from nonce 8; narrower"},
		{"the first, for good: when none is behind any more", watched,
			decides(sees(tx.FateFailed, 5, hard), behindIt(member(8, tx.FateFailed))), "broken"},
		{"behind one that failed: back, not counted", watched,
			decides(sees(tx.FateFailed, 5), ahead(member(6, tx.FateFailed))),
			"settled; WAITING, FREE; 1 failed 7@100; error ; drop bytes; B62a from nonce 8"},
		{"so also where no retry could mend it", watched,
			decides(sees(tx.FateFailed, 5, hard), ahead(member(6, tx.FateFailed))),
			"settled; WAITING, FREE; 1 failed 7@100; error F; drop bytes; B62a from nonce 8"},
		{"when none is behind it", watched,
			decides(sees(tx.FateFailed, 5), ahead(member(6, tx.FateFailed)), behindIt(member(8, tx.FateFailed))), "broken"},
		{"behind one that landed: when that is DONE", watched,
			decides(sees(tx.FateFailed, 5), ahead(member(6, tx.FateIncluded))), "behind"},
		{"expired, and those ahead may still land: back", watched,
			decides(sees(tx.FateExpired, 5), ahead(member(6, tx.FatePooled))),
			"settled; WAITING, FREE; 1 expired 7@100; error EXPIRED; drop bytes; B62a from nonce 7"},
		{"what its worker said upon those ahead goes with them", txn(tx.PhaseWatching, try(tx.Unknown), ending(tx.PhaseDone)),
			decides(sees(tx.FateExpired, 5), ahead(member(6, tx.FateExpired))),
			"settled; WAITING, FREE; 1 expired 7@100; error EXPIRED; drop bytes; B62a from nonce 7"},
		{"and with what it called wrong there", txn(tx.PhaseWatching, try(tx.Unknown), ending(tx.PhaseUnresolved), wrong("500")),
			decides(sees(tx.FateExpired, 5), ahead(member(6, tx.FateExpired))),
			"settled; WAITING, FREE; 1 expired 7@100; error EXPIRED; drop bytes; B62a from nonce 7"},
		{"also that no retry would mend it", txn(tx.PhaseWatching, try(tx.Unknown), ending(tx.PhaseUnresolved)),
			decides(sees(tx.FateFailed, 5), ahead(member(6, tx.FateFailed))),
			"settled; WAITING, FREE; 1 failed 7@100; error ; drop bytes; B62a from nonce 8"},
		{"and of what is cancelled", txn(tx.PhaseWatching, try(tx.Unknown), ending(tx.PhaseDone), cancelling),
			decides(sees(tx.FateExpired, 5), ahead(member(6, tx.FateExpired))),
			"cancelled; FAILED, FREE; 1 expired 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
				"B62a from nonce 7; trusts; tell on-failure"},
		{"cancelled: it ends", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(sees(tx.FateExpired, 5), ahead(member(6, tx.FatePooled))),
			"cancelled; FAILED, FREE; 1 expired 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
				"B62a from nonce 7; trusts; tell on-failure"},
	}}
}

func trainLands() row {
	watched := txn(tx.PhaseWatching, try(tx.Sent))
	return row{"landed among others", []sample{
		{"the first", watched, decides(sees(tx.FateIncluded, 2), behindIt(member(8, tx.FateIncluded))),
			"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
		{"while those around it are not known", watched,
			decides(sees(tx.FateIncluded, 2), func(v *View) { v.Train.Unseen = true }), "behind"},
		{"it needs no block after all, and others may be in one", txn(tx.PhaseWatching, try(tx.Sent), ending(tx.PhaseDone)),
			decides(sees(tx.FateFailed, 5), behindIt(member(8, tx.FatePooled))), "broken"},
		{"when those ahead are DONE", watched, decides(sees(tx.FateIncluded, 2), ahead(member(6, tx.FateIncluded))), "behind"},
		{"nor before one ahead that landed while it was to be tried again", watched,
			decides(sees(tx.FateIncluded, 2), ahead(Member{Txn: txn(tx.PhaseFailing, try(tx.Unknown, at(6))),
				Sighting: tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 2}})), "behind"},
		{"nor while nobody has looked for that one", watched,
			decides(sees(tx.FateIncluded, 2), ahead(Member{Txn: txn(tx.PhaseFailing, try(tx.Unknown, at(6)))})), "behind"},
		{"one ahead failed: out of order", watched, decides(sees(tx.FateIncluded, 2), ahead(member(6, tx.FateFailed))),
			"landed; DONE, FREE; 1 included 7@100; landed 1; event OUT_OF_ORDER; B62a from nonce 8; narrower; " +
				"tell on-success"},
		{"what became of one ahead nobody can tell: it is not waited for", watched,
			decides(sees(tx.FateIncluded, 2), ahead(func() Member {
				m := member(6, tx.FateUnknown)
				m.Sighting.Pruned = true
				return m
			}())),
			"landed; DONE, FREE; 1 included 7@100; landed 1; event OUT_OF_ORDER; B62a from nonce 8; narrower; " +
				"tell on-success"},
	}}
}

func trainRaises() row {
	old := func(v *View) {
		v.Local.SentAt = clock.Add(-time.Hour)
		v.Tip.TipSlot, v.Tip.Slot = 320, 320
	}
	watched := txn(tx.PhaseWatching, try(tx.Sent))
	raised := func(n uint32, to uint64) Member { return member(n, tx.FatePooled, try(tx.Sent, at(n), fee(to))) }
	dear, dearer := raised(6, 140), raised(5, 145)
	heavy := member(6, tx.FatePooled, try(tx.Sent, at(6), fee(160), weighing(50))) // from 100 on, 3 for each unit
	heavy.Txn.Attempts[0].Weight = 50
	lighter := member(6, tx.FatePooled, try(tx.Sent, at(6), fee(160), weighing(40))) // 4 for each
	lighter.Txn.Attempts[0].Weight = 50
	foundHeavy := member(6, tx.FatePooled, try(tx.Sent, at(6), fee(160)))
	foundHeavy.Txn.Attempts[0].Weight = 50
	light := member(7, tx.FatePooled)
	light.Txn.Attempts[0].Weight = 2 // 50 for each
	asHigh := member(7, tx.FatePooled)
	asHigh.Txn.Attempts[0].Weight = 33 // 3 for each
	began := member(6, tx.FatePooled)
	began.Txn.Attempts[0].Fee = 140
	raising := txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150)))
	left := txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(140)))
	left.Attempts[1].Drop(tx.CauseError, &tx.Error{Code: tx.CodeNotRaised}, clock)
	turned := txn(tx.PhaseWatching, try(tx.Sent), try(tx.Refused, over, fee(140)))
	mute := knows(func(l *Local) { l.Asked.Bytes, l.NoResign = &BytesRead{Number: 1, Command: []byte("b")}, true })
	return row{"lingering in the pool among others", []sample{
		{"the first in no block", watched, decides(sees(tx.FatePooled, 0), old, ahead(member(6, tx.FateIncluded))),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"one ahead lingers, too", watched, decides(sees(tx.FatePooled, 0), old, ahead(member(6, tx.FatePooled))),
			"resending; ask-bytes"},
		{"one ahead was raised: to its fee, at once", watched, decides(sees(tx.FatePooled, 0), ahead(dear)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@140"},
		{"not where it pays that already", txn(tx.PhaseWatching, try(tx.Sent, fee(140))), decides(sees(tx.FatePooled, 0), ahead(dear)),
			"pool; look in 29m0s"},
		{"not what pays nothing, by what was dear from the start", txn(tx.PhaseWatching, try(tx.Sent, fee(0))),
			decides(sees(tx.FatePooled, 0), ahead(began)), "pool; look in 29m0s"},
		{"not by what was dear from the start", watched, decides(sees(tx.FatePooled, 0), ahead(began)), "pool; look in 29m0s"},
		{"nor by that behind one that was raised", watched, decides(sees(tx.FatePooled, 0), ahead(dearer, began)),
			"pool; look in 29m0s"},
		{"not before all ahead are", watched, decides(sees(tx.FatePooled, 0), ahead(dear, member(6, tx.FatePooled))),
			"pool; look in 29m0s"},
		{"to what the lowest pays", watched, decides(sees(tx.FatePooled, 0), ahead(dearer, dear)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@140"},
		{"those in a block do not count", watched, decides(sees(tx.FatePooled, 0), ahead(member(5, tx.FateIncluded), dear)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@140"},
		{"by its weight: a light one ranks above a heavy one that was raised", txn(tx.PhaseWatching, try(tx.Sent, weighing(2))),
			decides(sees(tx.FatePooled, 0), ahead(heavy)), "pool; look in 29m0s"},
		{"and goes along to as much for its weight", txn(tx.PhaseWatching, try(tx.Sent, weighing(50))),
			decides(sees(tx.FatePooled, 0), ahead(heavy)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"what was found on the chain weighs as much as what was made", txn(tx.PhaseWatching, try(tx.Sent, weighing(50))),
			decides(sees(tx.FatePooled, 0), ahead(foundHeavy)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"and where that was made anew, as it weighs now", txn(tx.PhaseWatching, try(tx.Sent, weighing(50))),
			decides(sees(tx.FatePooled, 0), ahead(lighter)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@200"},
		{"and for a hundredth more at least", txn(tx.PhaseWatching, try(tx.Sent, fee(200), weighing(67))),
			decides(sees(tx.FatePooled, 0), ahead(heavy)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@200; 2 planned 7@203"},
		{"and for no more than it may pay", txn(tx.PhaseWatching, try(tx.Sent, weighing(150))),
			decides(sees(tx.FatePooled, 0), ahead(heavy)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@300"},
		{"as heavy as what was made last", txn(tx.PhaseWatching, try(tx.Sent, weighing(50)), try(tx.Sent, fee(150), weighing(60))),
			decides(sees(tx.FatePooled, 0), ahead(heavy)), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; " +
				"2 sent 7@150; 3 planned 7@180"},
		{"behind one that ranks above the raised one from the start", txn(tx.PhaseWatching, try(tx.Sent, weighing(50))),
			decides(sees(tx.FatePooled, 0), ahead(heavy, light)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"or as high", txn(tx.PhaseWatching, try(tx.Sent, weighing(50))),
			decides(sees(tx.FatePooled, 0), ahead(heavy, asHigh)),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"and above that what no node takes there", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Refused, over, fee(140), failedBy(fees.CodeEvicted))),
			learns(SendTold{Call: calling(Send, 1), Refusal: &Refusal{Cheap: true}}, ahead(dear)), "raising; REVISION, WAITING_INCLUSION; " +
				"1 sent 7@100; 2 refused 7@140; 3 planned 7@210"},
		{"where it was not, once in a while", left, decides(sees(tx.FatePooled, 0), ahead(dear)),
			"pool; look in 3m0s"},
		{"nor at once where every node refused it", turned, decides(sees(tx.FatePooled, 0), ahead(dear)), "pool; look in 3m0s"},
		{"not while those ahead are not known", raising, decides(sees(tx.FatePooled, 0), func(v *View) { v.Train.Unseen = true }), "behind"},
		{"and then again", left, decides(sees(tx.FatePooled, 0), old, ahead(dear)), "raising; REVISION, WAITING_INCLUSION; " +
			"1 sent 7@100; 2 dropped 7@140; 3 planned 7@140"},
		{"not proved again under those behind", raising,
			decides(sees(tx.FatePooled, 0), mute, behindIt(member(8, tx.FatePooled))),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 dropped 7@150"},
		{"nor without bytes to sign again", raising,
			decides(sees(tx.FatePooled, 0), knows(func(l *Local) { l.Asked.Bytes = &BytesRead{} }), behindIt(member(8, tx.FatePooled))),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 dropped 7@150"},
		{"but signed again", raising,
			decides(sees(tx.FatePooled, 0), knows(func(l *Local) { l.Asked.Bytes = &BytesRead{1, []byte("b")} }),
				behindIt(member(8, tx.FatePooled))),
			"raising; resign 2"},
		{"but where none is behind", raising, decides(sees(tx.FatePooled, 0), mute), "raising; prove 2"},
	}}
}

// trainCommutes: what failed in a block has used a nonce, and nothing else. The same rows of what
// is chained stand above.
func trainCommutes() row {
	together := func(v *View) { v.Train.Commuting = true }
	hard := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "F", Permanent: true} }
	watched, sent := txn(tx.PhaseWatching, try(tx.Sent)), txn(tx.PhaseSent, try(tx.Signed))
	unsent := knows(func(l *Local) { l.SentAt, l.Unsent = time.Time{}, 1 })
	old := func(v *View) {
		v.Local.SentAt = clock.Add(-time.Hour)
		v.Tip.TipSlot, v.Tip.Slot = 320, 320
	}
	return row{"commuting, and one failed in a block", []sample{
		{"planned behind another behind it", txn(tx.PhaseDispatching),
			decides(asked(good()), together, ahead(member(11, tx.FateFailed), member(12, tx.FatePooled))),
			"planning; DISPATCHING, BLOCKED; 1 planned 13@100; unless 13 is used"},
		{"not right behind it: another may have landed in between", txn(tx.PhaseDispatching), decides(asked(good()), together, ahead(member(11, tx.FateFailed))),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"not if what is ahead has no nonce in any block", txn(tx.PhaseDispatching),
			decides(asked(good()), together, ahead(member(11, tx.FateExpired))), "broken; WAITING, FREE; deferred 1; slips"},
		{"nor once it is to be tried again", txn(tx.PhaseDispatching),
			decides(asked(good()), together, ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.FailedIn, at(11), over))})),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"made behind it", txn(tx.PhaseDispatching, try(tx.Planned)), learns(signed(Prove, 1), together, ahead(member(6, tx.FateFailed))),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"sent behind it, at once", sent, decides(unsent, together, ahead(member(6, tx.FateFailed))), "sending; send 1"},
		{"raised as the first in no block", watched, decides(sees(tx.FatePooled, 0), old, together, ahead(member(6, tx.FateFailed))),
			"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
		{"landed behind it: in its order", watched, decides(sees(tx.FateIncluded, 2), together, ahead(member(6, tx.FateFailed))),
			"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
		{"it is tried again, and the queue is as wide", watched, decides(sees(tx.FateFailed, 5), together, behindIt(member(8, tx.FateIncluded))),
			"settled; RETRY, RETRY; 1 failed 7@100; error ; drop bytes; B62a from nonce 8"},
		{"when none is behind it", txn(tx.PhaseDispatching, try(tx.FailedIn, over)),
			decides(asked(good()), holds(8, 100), together, behindIt(member(8, tx.FatePooled))), "broken"},
		{"it ends when none is behind it", watched, decides(sees(tx.FateFailed, 5, hard), together, behindIt(member(8, tx.FateFailed))),
			"broken"},
		{"another that failed behind it is tried again, too", watched,
			decides(sees(tx.FateFailed, 5), together, ahead(member(6, tx.FateFailed))),
			"settled; RETRY, RETRY; 1 failed 7@100; error ; drop bytes; B62a from nonce 8"},
		{"not with its sender, which waits for it to go: a retry all the same", txn(tx.PhaseFailing, try(tx.FailedIn, over)),
			decides(asked(good()), together, ahead(member(6, tx.FateFailed)), func(v *View) { v.Local.Asked.Retries = new(3) }),
			"retry; WAITING, FREE; 1 failed 7@100; retries 1"},
		{"or ends, if none is left", txn(tx.PhaseFailing, try(tx.FailedIn, over), retried(3)),
			decides(asked(good()), together, ahead(member(6, tx.FateFailed)), func(v *View) { v.Local.Asked.Retries = new(3) }),
			"used-up; FAILED, FREE; 1 failed 7@100; retries 3; drop bytes; trusts; tell on-failure"},
		{"nor does what was to be made as the first", txn(tx.PhaseDispatching, deferrals(1)),
			decides(asked(good()), together, ahead(member(6, tx.FateFailed))), "broken; WAITING, FREE; deferred 2; slips"},
		{"also not behind another behind it", txn(tx.PhaseDispatching, deferrals(1)),
			decides(asked(good()), together, ahead(member(5, tx.FateFailed), member(6, tx.FatePooled))), "broken; WAITING, FREE; deferred 2; slips"},
		{"or ends itself", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(sees(tx.FateFailed, 5), together, ahead(member(6, tx.FateFailed))),
			"cancelled; FAILED, FREE; 1 failed 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
				"B62a from nonce 8; trusts; tell on-failure"},
	}}
}

// TestJoins: what may be put behind a train, and when.
func TestJoins(t *testing.T) {
	t.Parallel()
	p, tip := testPolicy(), view(txn(tx.PhaseWatching)).Tip
	accepted := Member{Txn: txn(tx.PhaseSent, try(tx.Signed)), JustAccepted: true}
	for name, c := range map[string]struct {
		members []Member
		width   int
		tip     func(*Tip)
		want    bool
	}{
		"behind one in a pool":              {[]Member{member(7, tx.FatePooled)}, 2, nil, true},
		"behind one that a node took":       {[]Member{accepted}, 2, nil, true},
		"nobody knows whether it was taken": {[]Member{{Txn: txn(tx.PhaseSent, try(tx.Signed))}}, 2, nil, false},
		"nothing is in flight":              {nil, 2, nil, false},
		"as many as may be":                 {[]Member{member(7, tx.FatePooled), member(8, tx.FatePooled)}, 2, nil, false},
		"those in a block do not count":     {[]Member{member(7, tx.FateIncluded), member(8, tx.FatePooled)}, 2, nil, true},
		"one has failed":                    {[]Member{member(7, tx.FateFailed), member(8, tx.FatePooled)}, 9, nil, false},
		"one is to be made anew":            {[]Member{unmade(7)}, 9, nil, false},
		"one may have none beside it":       {[]Member{{Txn: txn(tx.PhaseWatching, try(tx.Sent, alone))}}, 9, nil, false},
		"the last makes no other try":       {[]Member{member(7, tx.FatePooled, ending(tx.PhaseFailed))}, 9, nil, false},
		"two have one nonce":                {[]Member{member(7, tx.FatePooled), member(7, tx.FatePooled)}, 9, nil, false},
		"the last was not taken yet":        {[]Member{member(7, tx.FatePooled), {Txn: txn(tx.PhaseSent, try(tx.Signed, at(8)))}}, 9, nil, false},
		"one is watched below another":      {[]Member{member(8, tx.FatePooled), member(7, tx.FatePooled)}, 9, nil, false},
		"a legacy worker's":                 {[]Member{{Txn: txn(tx.PhaseWatching, try(tx.Sent, legacy))}}, 9, nil, false},
		"the chain was looked at long ago":  {[]Member{member(7, tx.FatePooled)}, 2, func(t *Tip) { t.Fresh = false }, false},
		"too few nodes answer":              {[]Member{member(7, tx.FatePooled)}, 2, func(t *Tip) { t.Quorum = false }, false},
		"half of its time is left":          {[]Member{member(7, tx.FatePooled)}, 2, func(t *Tip) { t.Slot = 324 }, true},
		"less than half of its time is left": {
			[]Member{member(7, tx.FatePooled)}, 2, func(t *Tip) { t.Slot = 325 }, false},
	} {
		now := tip
		if c.tip != nil {
			c.tip(&now)
		}
		if got := p.Joins(c.members, c.width, 1, false, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNoneOutlivesTheOneAhead: whatever is planned in a train ends, and no later than what it
// comes after, also where nobody knows whether a node has that.
func TestNoneOutlivesTheOneAhead(t *testing.T) {
	t.Parallel()
	lingers := func(v *View) {
		v.Local.SentAt = clock.Add(-time.Hour)
		v.Tip.TipSlot, v.Tip.Slot = 320, 320
	}
	raised := Member{Txn: txn(tx.PhaseSent, try(tx.Signed, at(6), until(330)), try(tx.Signed, at(6), fee(150),
		until(332)))}
	failed := Member{Txn: txn(tx.PhaseDelayed, try(tx.FailedIn, at(6), over))}
	for name, c := range map[string]struct {
		v    *View
		most uint32
	}{
		"planned": {view(txn(tx.PhaseDispatching), asked(good()), ahead(member(6, tx.FatePooled))), 344},
		"planned again at its nonce": {view(txn(tx.PhaseDispatching, try(tx.Unknown, until(299))), asked(good()), sees(tx.FateAbsent, 0),
			ahead(Member{Txn: txn(tx.PhaseSent, try(tx.Sent, at(6), until(330)))})), 330},
		"raised along with one that nobody may have": {view(txn(tx.PhaseWatching, try(tx.Sent)), sees(tx.FatePooled, 0), ahead(raised)), 332},
		"planned behind one in a block": {view(txn(tx.PhaseDispatching), asked(good()),
			ahead(Member{Txn: txn(tx.PhaseWatching, try(tx.Sent, at(6), until(330))), Sighting: tx.Sighting{Fate: tx.FateIncluded, Agreed: true, Depth: 1}})), 330},
		"raised as the first in no block": {view(txn(tx.PhaseWatching, try(tx.Sent)), sees(tx.FatePooled, 0), lingers,
			ahead(member(6, tx.FateIncluded))), 1 << 30},
		"behind one that has failed": {view(txn(tx.PhaseWatching, try(tx.Sent)), sees(tx.FatePooled, 0), lingers, ahead(failed)), 1 << 30},
	} {
		s := Decide(c.v)
		if s.Txn == nil || len(s.Txn.Attempts) == len(c.v.Txn.Attempts) {
			if name != "behind one that has failed" {
				t.Errorf("%s: nothing is planned: %s", name, s.Reason)
			}
			continue
		}
		if last := s.Txn.Last().ValidUntil; last == 0 || last > c.most {
			t.Errorf("%s: until %d, at most %d", name, last, c.most)
		}
	}
}

// TestAskedAmong: what is known of a sender among others in flight is not what it is after
// them.
func TestAskedAmong(t *testing.T) {
	t.Parallel()
	told := SenderTold{Sender: *good()}
	for name, c := range map[string]struct {
		around change
		want   bool
	}{
		"alone":           {func(*View) {}, false},
		"others ahead":    {ahead(member(6, tx.FatePooled)), true},
		"others behind":   {behindIt(member(8, tx.FatePooled)), true},
		"some are unseen": {func(v *View) { v.Train.Unseen = true }, true},
	} {
		if s := Learn(view(txn(tx.PhaseDispatching), c.around), told); s.Local.Asked.Among != c.want {
			t.Errorf("%s: %v", name, s.Local.Asked.Among)
		}
	}
	var asks Step
	for name, of := range map[string]*tx.Transaction{
		"failed": txn(tx.PhaseFailing, try(tx.FailedIn, over)), "tried again": txn(tx.PhaseDelayed, try(tx.FailedIn, over)),
		"planned": txn(tx.PhaseDispatching),
	} {
		asks = Decide(view(of, behindIt(member(8, tx.FatePooled)), knows(func(l *Local) { l.Own = ownByBind })))
		if asks.Do.Kind != AskSender || !asks.Do.Among {
			t.Errorf("%s, asked among others: %+v", name, asks)
		}
	}
	// They have gone since, and the answer is of then; whatever else was forgotten meanwhile.
	told.Call = asks.Do
	if s := Learn(view(txn(tx.PhaseDispatching)), told); !s.Local.Asked.Among {
		t.Error("what was asked among others is believed after them")
	}
	v := view(txn(tx.PhaseDispatching), asked(good()), holds(9, 100), landedAt(3))
	v.Local.Asked.Among = true
	if s := Decide(v); s.Local.Asked != (Asked{}) {
		t.Errorf("asked anew, and it keeps %+v", s.Local.Asked)
	}
}

// TestTrainOf: those around one of a train, in order; and that some are not known.
func TestTrainOf(t *testing.T) {
	t.Parallel()
	known := func(uid string) (Member, bool) { return Member{Txn: &tx.Transaction{UID: uid}}, uid != "?" }
	uids := func(all []Member) (names string) {
		for _, m := range all {
			names += m.Txn.UID
		}
		return names
	}
	for _, c := range []struct {
		run, uid, ahead, behind string
		unseen                  bool
	}{
		{"abcd", "c", "ab", "d", false}, {"abcd", "a", "", "bcd", false}, {"abcd", "d", "abc", "", false},
		{"a?c", "c", "a", "", true}, {"ab?", "a", "", "b", true}, {"a", "a", "", "", false}, {"ab", "x", "", "", false},
		{"a?", "x", "", "", false},
	} {
		got := TrainOf(strings.Split(c.run, ""), c.uid, known)
		if uids(got.Ahead) != c.ahead || uids(got.Behind) != c.behind || got.Unseen != c.unseen {
			t.Errorf("%s of %s: ahead %q, behind %q, unseen %v", c.uid, c.run, uids(got.Ahead), uids(got.Behind), got.Unseen)
		}
	}
}
