package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/fees"
)

// rareDispatchRows are of what seldom happens before a worker answers.
func rareDispatchRows() []row {
	replicas := func(v *View) { v.Replicas = true }
	draining := func(v *View) { v.Draining = true }
	marked := knows(func(l *Local) { l.Marked = 1 })
	ahead := good()
	ahead.Next = new(uint32(9))
	return []row{
		{"DISPATCHING: a plan that is not made any more", []sample{
			{"its nonce was given to another: planned anew", txn(PhaseDispatching, try(Planned)), decides(asked(ahead)),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"its sender is another now", txn(PhaseDispatching, try(Planned, func(a *Attempt) { a.Sender = "B62b" })),
				decides(),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"not while something is open: it shares that nonce", txn(PhaseDispatching, try(Unknown), try(Planned)),
				decides(asked(ahead)),
				"proving; prove 2"},
			{"at the next nonce it is", txn(PhaseDispatching, try(Planned)), decides(asked(good())),
				"proving; prove 1"},
		}},
		{"DISPATCHING: taken over", []sample{
			{"a process that ends takes nothing over", txn(PhaseDispatching, try(Planned)),
				decides(draining, knows(func(l *Local) { l.Taken = 0 })),
				"draining"},
			{"a loss before, though planned with its bind", txn(PhaseDispatching, try(Planned), losses(1)),
				decides(asked(good()), knows(func(l *Local) { l.Taken = takenWithBind })),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 2; error LOST"},
			{"planned up to a slot that has passed: planned anew, and nothing is lost", txn(PhaseDispatching, try(Planned, until(301))),
				decides(asked(good()), knows(func(l *Local) { l.Taken = 0 })),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"also with its bind", txn(PhaseDispatching, try(Planned, until(300))),
				decides(asked(good()), knows(func(l *Local) { l.Taken = takenWithBind })),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"at the fee that it had", txn(PhaseDispatching, try(Planned, over, fee(150), failedBy(CodeExpired)), retried(1)),
				decides(asked(good()), holds(7, 150)),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@150; 2 planned 7@150; retries 1"},
			{"not before it has", txn(PhaseDispatching, try(Planned, until(302))),
				decides(asked(good()), knows(func(l *Local) { l.Taken = takenWithBind })), "proving; prove 1"},
			{"no loss, and planned elsewhere", txn(PhaseDispatching, try(Planned)),
				decides(asked(good()), knows(func(l *Local) { l.Taken = 0 })),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 1; error LOST"},
		}},
		{"DISPATCHING: a legacy worker is called", []sample{
			{"once it is marked", txn(PhaseDispatching, try(Planned, legacy)), decides(marked),
				"proving; dispatch 1"},
			{"and replicas have confirmed that", txn(PhaseDispatching, try(Planned, legacy)), decides(marked, replicas),
				"confirming; confirm 1"},
			{"which they have", txn(PhaseDispatching, try(Planned, legacy)),
				decides(marked, replicas, knows(func(l *Local) { l.Confirmed = 1 })),
				"proving; dispatch 1"},
		}},
		{"the store refuses a change", []sample{
			{"overtaken, cancelled meanwhile: ends", txn(PhaseDispatching, try(Planned), cancelling),
				learns(Denied{Why: Overtaken}),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"overtaken, something open: goes on", txn(PhaseDispatching, try(Unknown), try(Planned)),
				learns(Denied{Why: Overtaken}),
				"unchanged"},
			{"overtaken, and sent: goes on", txn(PhaseWatching, try(Sent)), learns(Denied{Why: Overtaken}),
				"unchanged"},
			{"for another reason: nothing", txn(PhaseDispatching, try(Planned)), learns(Denied{Why: "other"}),
				"unchanged"},
			{"for another reason, without a plan: nothing", txn(PhaseFailing, try(Planned, over)), learns(Denied{Why: "other"}),
				"unchanged"},
		}},
	}
}

// rareAnswerRows are of answers that seldom come, or come too late.
func rareAnswerRows() []row {
	legacyPlan := func() *Transaction { return txn(PhaseDispatching, try(Planned, legacy)) }
	nameless := func(a *Attempt) { legacy(a); a.Hash = "" }
	mute := answer(Dispatch, 1)
	odd := dispatched(1)
	odd.Call.Kind = Prove
	next := func(n uint32) func(*Sighting) { return func(g *Sighting) { g.AccountNext = n } }
	return []row{
		{"an answer that nobody waits for", []sample{
			{"it waits again", txn(PhaseWaiting, try(Planned)), learns(signed(Prove, 1)),
				"unchanged"},
			{"a legacy worker's, without a hash", txn(PhaseWatching, try(Unknown, nameless)), learns(mute),
				"unchanged"},
			{"a proof's, with a hash", txn(PhaseWatching, try(Unknown, nameless)), learns(odd),
				"unchanged"},
			{"its hash is known", txn(PhaseWatching, try(Unknown, legacy)), learns(dispatched(1)),
				"unchanged"},
			{"of another nonce", txn(PhaseWatching, try(Unknown, nameless, at(8))), learns(dispatched(1)),
				"unchanged"},
			{"it is over", txn(PhaseFailing, try(Unknown, nameless, over)), learns(dispatched(1)),
				"unchanged"},
		}},
		{"a legacy worker's refusal that may be of what is out", []sample{
			{"not all nodes say that nothing is", legacyPlan(),
				learns(refusedBy(answer(Dispatch, 1)), sees(FateAbsent, 0, next(7), disagreed)),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 20203"},
			{"it is in a pool", legacyPlan(), learns(refusedBy(answer(Dispatch, 1)), sees(FatePooled, 0, next(7))),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 20203"},
			{"its nonce is not the next yet", legacyPlan(), learns(refusedBy(answer(Dispatch, 1)), sees(FateAbsent, 0, next(6))),
				"answered; RETRY, RETRY; 1 legacy refused 7@100; error 20203"},
		}},
		{"a worker took it on: it was not put off again and again", []sample{
			{"signed", txn(PhaseDispatching, try(Planned), deferrals(2)), learns(signed(Prove, 1)),
				"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
			{"sent", txn(PhaseDispatching, try(Planned, legacy), deferrals(2)), learns(dispatched(1)),
				"answered; REVISION, INCLUSION; 1 legacy sent 7@100"},
			{"finished", txn(PhaseDispatching, try(Planned), deferrals(2)), learns(finished(1)),
				"answered; DONE, FREE; 1 dropped 7@100; drop bytes; trusts; tell on-success"},
			{"an error", txn(PhaseDispatching, try(Planned), deferrals(2)), learns(fault(answer(Prove, 1), FaultError, "400")),
				"answered; RETRY, RETRY; 1 dropped 7@100; error 400"},
		}},
		{"what made room for another after a failover, and is bound again", []sample{
			{"it was to be weighed", txn(PhaseDispatching, try(Expired, over), try(Planned), ending(PhaseFailing)), decides(),
				"back; RETRY, RETRY; 1 expired 7@100; 2 dropped 7@100"},
			{"it was to be DONE", txn(PhaseDispatching, try(Expired, over), try(Planned), ending(PhaseDone)), decides(),
				"back; DONE, FREE; 1 expired 7@100; 2 dropped 7@100; drop bytes; trusts; tell on-success"},
			{"it was to be UNRESOLVED, whatever a person said since",
				txn(PhaseDispatching, try(Expired, over), ending(PhaseUnresolved), cancelling), decides(),
				"back; UNRESOLVED, FREE; 1 expired 7@100; cancel asked; drop bytes; trusts; tell on-failure"},
			{"it was found to be out", txn(PhaseDispatching, try(Sent), ending(PhaseUnresolved)), decides(),
				"sent; REVISION, INCLUSION; 1 sent 7@100; to end UNRESOLVED"},
		}},
		{"away and busy", []sample{
			{"busy, and asks for no time: a second", txn(PhaseDispatching, try(Planned)),
				learns(fault(answer(Prove, 1), FaultBusy, "503")),
				"deferred; WAITING, FREE; deferred 1; error 503; rest RESTED 1s; hold queue 1s"},
			{"busy once more: the queue is held longer", txn(PhaseDispatching, try(Planned), deferrals(2)),
				learns(fault(answer(Prove, 1), FaultBusy, "503")),
				"deferred; WAITING, FREE; deferred 3; error 503; rest RESTED 1s; hold queue 4s"},
			{"what it made is of another era: another sender may make it at once", txn(PhaseDispatching, try(Planned)),
				learns(fault(answer(Prove, 1), FaultOutOfOrder, string(WrongNetwork))),
				"deferred; WAITING, FREE; 1 dropped 7@100; deferred 1; error WRONG_NETWORK; rest WRONG_NETWORK 30s"},
			{"its worker signs for another network, something open", txn(PhaseDispatching, try(Unknown)),
				learns(HealthTold{Why: WrongNetwork}, asked(good())),
				"deferred; RETRY, DELAY; 1 unknown 7@100; " +
					"deferred 1; error WRONG_NETWORK; due in 1m0s; rest WRONG_NETWORK 1m0s"},
		}},
	}
}

// rareSentRows are of sendings that seldom go so.
func rareSentRows() []row {
	says := func(e Effect, r Refusal) SendTold { return SendTold{Call: e, Refusal: refused("Cheap", r)} }
	again := says(calling(Send, 1), Refusal{})
	cheap := says(calling(Send, 1), Refusal{Cheap: true})
	waits := func(p ...part) *Transaction { return txn(PhaseWatching, append([]part{try(Sent)}, p...)...) }
	raise := says(freshly(Send, 2), Refusal{})
	nothing := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{} })
	other := func(g *Sighting) { g.Nonce = 9 }
	return []row{
		{"REVISION: refused when it was sent again", []sample{
			{"nothing follows", waits(), learns(again),
				"sent"},
			{"too cheap: raised at once", waits(), learns(cheap),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
			{"too cheap, and dearer would pass a limit: sent as ever", waits(), learns(cheap,
				knows(func(l *Local) { l.Costly = clock.Add(time.Minute) })), "sent"},
			{"too cheap, and a raise is under way", waits(try(Planned, fee(150))), learns(cheap),
				"sent"},
			{"too cheap, as one was that paid more: the next rung", waits(try(Refused, over, fee(150), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150; 3 planned 7@225"},
			{"which another nonce does not tell", waits(try(Refused, over, at(6), fee(250), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 6@250; 3 planned 7@150"},
			{"nor another sender", waits(try(Refused, over, by("B62b"), fee(250), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@250; 3 planned 7@150"},
			{"nor what was refused for something else", waits(try(Refused, over, fee(250), failedBy("E"))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@250; 3 planned 7@150"},
			{"nor what was tried before it", txn(PhaseWatching, try(Refused, over, fee(250), failedBy(fees.CodeEvicted)), try(Expired, over, fee(300)), try(Sent)),
				learns(says(calling(Send, 3), Refusal{Cheap: true})), "raising; REVISION, WAITING_INCLUSION; 1 refused 7@250; 2 expired 7@300; " +
					"3 sent 7@100; 4 planned 7@150"},
			{"nor what ran out", waits(try(Expired, over, fee(250))), learns(cheap),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 expired 7@250; 3 planned 7@150"},
			{"too cheap, as one was at the cap", waits(try(Refused, over, fee(300), failedBy(fees.CodeEvicted))), learns(cheap), "sent"},
			{"too cheap, at the cap", txn(PhaseWatching, try(Sent, fee(300))), learns(cheap),
				"sent"},
			{"too cheap, and DONE once: nothing is raised", txn(PhaseDone, try(Included, block), landedBy(1), orphan),
				learns(cheap),
				"sent"},
		}},
		{"REVISION: a raise is refused", []sample{
			{"and what was kept is not known", waits(try(Signed, fee(150))), learns(raise),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150"},
			{"and nothing was kept", waits(try(Signed, fee(150))), learns(raise, nothing),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150"},
		}},
		{"REVISION, INCLUSION: the first look", []sample{
			{"its worker used another nonce", txn(PhaseSent, try(Sent, legacy)), decides(sees(FateIncluded, 1, other)),
				"ignored; REVISION, INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"in a block that is not deep enough", txn(PhaseSent, try(Signed)), decides(sees(FateIncluded, 1)),
				"sent; REVISION, WAITING_INCLUSION; 1 signed 7@100"},
			{"in a pool, of which another is known", txn(PhaseSent, try(Signed)),
				decides(sees(FatePooled, 0, func(g *Sighting) { g.Hash = "5Jnews" })),
				"sent; REVISION, WAITING_INCLUSION; 1 signed 7@100"},
			{"its legacy worker's is in a block", txn(PhaseSent, try(Sent, legacy)),
				decides(sees(FateIncluded, 2), knows(func(l *Local) { l.Marked = 1 })),
				"landed; DONE, FREE; 1 legacy included 7@100; landed 1; B62a from nonce 8; tell on-success"},
		}},
	}
}

// strayRows are of a legacy worker that does not use the nonce that it was given.
func strayRows() []row {
	other := func(g *Sighting) { g.Nonce = 9 }
	waits := txn(PhaseWatching, try(Sent))
	return []row{
		{"another nonce than its legacy worker was given", []sample{
			{"in a pool", bySelf(), decides(sees(FatePooled, 0, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"in a block", bySelf(), decides(sees(FateIncluded, 1, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"not its own", waits, decides(sees(FateIncluded, 1, other)),
				"block"},
			{"noted once", txn(PhaseWatching, try(Sent, legacy, failedBy(CodeNonceIgnored))),
				decides(sees(FateIncluded, 1, other)),
				"block"},
			{"after another error", txn(PhaseWatching, try(Sent, legacy, failedBy("E"))), decides(sees(FateIncluded, 1, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"nobody has seen it", bySelf(), decides(sees(FateAbsent, 0, func(g *Sighting) { g.Nonce = 0 })),
				"absent; look in 14m0s"},
			{"the last of them is over", txn(PhaseWatching, try(Unknown, legacy), try(Planned, legacy, over)),
				decides(sees(FateIncluded, 1, other)),
				"block"},
			{"while it waits for another try", txn(PhaseDelayed, try(Unknown, legacy), due(time.Minute)),
				decides(sees(FateIncluded, 1, other)),
				"delay; look in 1m0s"},
			{"failed, and noted before", txn(PhaseWatching, try(Sent, legacy, failedBy(CodeNonceIgnored))),
				decides(sees(FateFailed, 5, other)),
				"settled; RETRY, RETRY; 1 legacy failed 7@100; error ; drop bytes; B62a from nonce 10"},
		}},
	}
}

func bySelf() *Transaction { return txn(PhaseWatching, try(Sent, legacy)) }

// rareChainRows are of what seldom happens while it waits for a block.
func rareChainRows() []row {
	kept := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} })
	long := knows(func(l *Local) { l.SentAt = clock.Add(-20 * time.Minute) })
	slot := func(n uint32) func(*Attempt) { return func(a *Attempt) { a.Slot = n } }
	waits := func(a ...func(*Attempt)) *Transaction { return txn(PhaseWatching, try(Sent, a...)) }
	raising := func(p ...part) *Transaction {
		return txn(PhaseWatching, append([]part{try(Sent), try(Planned, fee(150))}, p...)...)
	}
	pooled := sees(FatePooled, 0)
	late := func(v *View) { v.Policy.BumpAfter = 200 }
	return []row{
		{"REVISION, WAITING_INCLUSION: how long it is left alone", []sample{
			{"the longest pause", waits(), decides(sees(FateAbsent, 0), knows(func(l *Local) { l.Resent = 9 })),
				"absent; look in 4m20s"},
			{"at the cap, in a pool", waits(fee(300)), decides(pooled),
				"pool; look in 29m0s"},
			{"at the cap, in a pool for longer than a node tells of it", waits(fee(300)),
				decides(pooled, knows(func(l *Local) { l.SentAt = clock.Add(-40 * time.Minute) })), "resending; ask-bytes"},
			{"a limit keeps it from being raised", waits(slot(290)),
				decides(pooled, long, knows(func(l *Local) { l.Costly = clock.Add(time.Minute) })),
				"pool; look in 1m0s"},
			{"nobody knows since when", waits(slot(0)), decides(pooled, long),
				"pool; look in 3m0s"},
			{"sent again before it is raised", waits(slot(1)), decides(pooled, long, late),
				"pool; look in 10m0s"},
			{"once replicas have what is sent again", waits(),
				decides(sees(FateAbsent, 0), kept, func(v *View) { v.Replicas = true }),
				"confirming; confirm 1"},
			{"nothing is open", txn(PhaseWatching, try(Expired, over)), decides(sees(FateExpired, 5)),
				"settled; RETRY, RETRY; 1 expired 7@100"},
		}},
		{"REVISION, WAITING_INCLUSION: a raise", []sample{
			{"above the highest that is open",
				txn(PhaseWatching, try(Sent, fee(120), slot(290)), try(Sent, fee(110), slot(290))), decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@120; 2 sent 7@110; 3 planned 7@180"},
			{"above the latest, too", txn(PhaseWatching, try(Sent, fee(110), slot(290)), try(Sent, fee(120), slot(290))),
				decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@110; 2 sent 7@120; 3 planned 7@180"},
			{"not above what is over", txn(PhaseWatching, try(Refused, over, fee(200), slot(290)), try(Sent, slot(290))),
				decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 refused 7@200; 2 sent 7@100; 3 planned 7@150"},
			{"its bytes are looked for", raising(), decides(pooled),
				"raising; ask-bytes"},
			{"not made, for it was cancelled", raising(cancelling), decides(pooled),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 dropped 7@150; cancel asked"},
			{"sent as new, once it is signed", txn(PhaseWatching, try(Sent), try(Signed, fee(150))),
				decides(pooled, knows(func(l *Local) { l.Unsent = 2 })),
				"sending; send 2"},
			{"refused before: not sent as new", txn(PhaseWatching, try(Sent), try(Refused, over)),
				decides(sees(FateAbsent, 0), knows(func(l *Local) { l.Unsent = 2 })),
				"resending; ask-bytes"},
		}},
	}
}

// rareRetryRows are of what seldom happens between two tries, or by a person.
func rareRetryRows() []row {
	limit := func(n int) change { return func(v *View) { v.Local.Asked.Retries = &n } }
	tried := func(p Phase, parts ...part) *Transaction {
		return txn(p, append([]part{try(Planned, over)}, parts...)...)
	}
	draining := func(v *View) { v.Draining = true }
	dead, landed := orders(Order{What: OrderDead}), orders(Order{What: OrderLanded, Hash: "5J1"})
	return []row{
		{"RETRY: cancelled, nothing open", []sample{
			{"before it is weighed", tried(PhaseFailing, cancelling), decides(asked(good()), limit(3)),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"while it waits", tried(PhaseDelayed, cancelling, due(time.Hour)), decides(),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
		}},
		{"RETRY: time", []sample{
			{"it was put off before", tried(PhaseFailing, deferrals(2)), decides(asked(good()), limit(3)),
				"delay; RETRY, DELAY; 1 dropped 7@100; due in 1m0s"},
			{"its time has come now", tried(PhaseDelayed, due(0)), decides(asked(good())),
				"retry; DISPATCHING, BLOCKED; 1 dropped 7@100; retries 1"},
			{"its time is about to come", tried(PhaseDelayed, due(1)), decides(asked(good())),
				"delay; look in 1ns"},
			{"a process that ends begins no retry", tried(PhaseDelayed), decides(draining),
				"draining"},
		}},
		{"resolve: several attempts", []sample{
			{"landed, one of two", txn(PhaseUnresolved, try(Unknown, legacy), try(Unknown, legacy)), landed,
				"ordered; DONE, FREE; 1 legacy included 7@100; " +
					"2 legacy replaced 7@100; landed 1; event LATE; drop bytes; ask nonce; trusts; tell on-success"},
			{"landed, and one was over", txn(PhaseUnresolved, try(Expired, over), try(Unknown)),
				orders(Order{What: OrderLanded, Hash: "5J2"}),
				"ordered; DONE, FREE; 1 expired 7@100; " +
					"2 included 7@100; landed 2; event LATE; drop bytes; ask nonce; trusts; tell on-success"},
			{"dead, and a raise was planned", txn(PhaseWatching, try(Sent), try(Planned)), dead,
				"ordered; RETRY, RETRY; 1 expired 7@100; 2 dropped 7@100; drop bytes; ask nonce; trusts"},
			{"dead, and one was over", txn(PhaseWatching, try(Refused, over), try(Sent)), dead,
				"ordered; RETRY, RETRY; 1 refused 7@100; 2 expired 7@100; drop bytes; ask nonce; trusts"},
		}},
	}
}

// rareDoneRows are of what seldom happens to what is DONE.
func rareDoneRows() []row {
	done := func(p ...part) *Transaction {
		return txn(PhaseDone, append([]part{try(Included, block), landedBy(1)}, p...)...)
	}
	of := func(n int) change {
		return knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: n, Command: []byte("bytes")} })
	}
	long := knows(func(l *Local) { l.SentAt = clock.Add(-time.Hour) })
	return []row{
		{"DONE: what the other branch shows", []sample{
			{"its nonce taken, agreed", done(), decides(sees(FateDisplaced, 1)),
				"orphaned; DONE, FREE; 1 included 7@100; landed 1; reopened; event ORPHANED"},
			{"its nonce taken, by one node's word", done(), decides(sees(FateDisplaced, 1, disagreed)),
				"finality"},
			{"expired, agreed", done(), decides(sees(FateExpired, 1)),
				"orphaned; DONE, FREE; 1 included 7@100; landed 1; reopened; event ORPHANED"},
			{"expired, by one node's word", done(), decides(sees(FateExpired, 1, disagreed)),
				"finality"},
		}},
		{"DONE, reopened: sent again", []sample{
			{"not while it was sent a moment ago", done(orphan), decides(sees(FatePooled, 0)),
				"orphaned; look in 29m0s"},
			{"after long, from a pool", done(orphan), decides(sees(FatePooled, 0), long),
				"resending; ask-bytes"},
			{"another at its nonce, which the nodes had refused", done(orphan, try(Refused, over, fee(150))),
				decides(sees(FateAbsent, 0), of(2)),
				"resending; DONE, FREE; 1 included 7@100; 2 signed 7@150; landed 1; reopened; confirm"},
		}},
		{"DONE, reopened: it cannot land", []sample{
			{"nor what was sent again beside it", done(orphan, try(Signed)), decides(sees(FateExpired, 5)),
				"settled; WAITING, FREE; 1 expired 7@100; 2 expired 7@100; event REOPENED; drop bytes"},
			{"what had failed before stays so",
				txn(PhaseDone, try(FailedIn, block, at(6)), try(Included, block), landedBy(2), orphan),
				decides(sees(FateDisplaced, 5)),
				"settled; WAITING, FREE; 1 failed 6@100; 2 replaced 7@100; event REOPENED; drop bytes"},
		}},
	}
}
