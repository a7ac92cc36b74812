package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
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
			{"its nonce was given to another: planned anew", txn(tx.PhaseDispatching, try(tx.Planned)), decides(asked(ahead)),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"its sender is another now", txn(tx.PhaseDispatching, try(tx.Planned, func(a *tx.Attempt) { a.Sender = "B62b" })),
				decides(),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"not while something is open: it shares that nonce", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
				decides(asked(ahead)),
				"proving; prove 2"},
			{"at the next nonce it is", txn(tx.PhaseDispatching, try(tx.Planned)), decides(asked(good())),
				"proving; prove 1"},
		}},
		{"DISPATCHING: taken over", []sample{
			{"a process that ends takes nothing over", txn(tx.PhaseDispatching, try(tx.Planned)),
				decides(draining, knows(func(l *Local) { l.Own = 0 })),
				"draining"},
			{"a loss before, though planned with its bind", txn(tx.PhaseDispatching, try(tx.Planned), losses(1)),
				decides(asked(good()), knows(func(l *Local) { l.Own = ownByBind })),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 2; error LOST"},
			{"planned up to a slot that has passed: planned anew, and nothing is lost", txn(tx.PhaseDispatching, try(tx.Planned, until(301))),
				decides(asked(good()), knows(func(l *Local) { l.Own = 0 })),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"also with its bind", txn(tx.PhaseDispatching, try(tx.Planned, until(300))),
				decides(asked(good()), knows(func(l *Local) { l.Own = ownByBind })),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@100"},
			{"at the fee that it had", txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150), failedBy(tx.CodeExpired)), retried(1)),
				decides(asked(good()), holds(7, 150)),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@150; 2 planned 7@150; retries 1"},
			{"not before it has", txn(tx.PhaseDispatching, try(tx.Planned, until(302))),
				decides(asked(good()), knows(func(l *Local) { l.Own = ownByBind })), "proving; prove 1"},
			{"no loss, and planned elsewhere", txn(tx.PhaseDispatching, try(tx.Planned)),
				decides(asked(good()), knows(func(l *Local) { l.Own = 0 })),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 1; error LOST"},
		}},
		{"DISPATCHING: a legacy worker is called", []sample{
			{"once it is marked", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), decides(marked),
				"proving; dispatch 1"},
			{"and replicas have confirmed that", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), decides(marked, replicas),
				"confirming; confirm 1"},
			{"which they have", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				decides(marked, replicas, knows(func(l *Local) { l.Confirmed = 1 })),
				"proving; dispatch 1"},
		}},
		{"the store refuses a change", []sample{
			{"overtaken, cancelled meanwhile: ends", txn(tx.PhaseDispatching, try(tx.Planned), cancelling),
				learns(Denied{Why: Overtaken}),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"overtaken, something open: goes on", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
				learns(Denied{Why: Overtaken}),
				"unchanged"},
			{"overtaken, and sent: goes on", txn(tx.PhaseWatching, try(tx.Sent)), learns(Denied{Why: Overtaken}),
				"unchanged"},
			{"for another reason: nothing", txn(tx.PhaseDispatching, try(tx.Planned)), learns(Denied{Why: "other"}),
				"unchanged"},
			{"for another reason, without a plan: nothing", txn(tx.PhaseFailing, try(tx.Planned, over)), learns(Denied{Why: "other"}),
				"unchanged"},
		}},
	}
}

// rareAnswerRows are of answers that seldom come, or come too late.
func rareAnswerRows() []row {
	legacyPlan := func() *tx.Transaction { return txn(tx.PhaseDispatching, try(tx.Planned, legacy)) }
	nameless := func(a *tx.Attempt) { legacy(a); a.Hash = "" }
	mute := answer(Dispatch, 1)
	odd := dispatched(1)
	odd.Call.Kind = Prove
	next := func(n uint32) func(*tx.Sighting) { return func(g *tx.Sighting) { g.AccountNext = n } }
	return []row{
		{"an answer that nobody waits for", []sample{
			{"it waits again", txn(tx.PhaseWaiting, try(tx.Planned)), learns(signed(Prove, 1)),
				"unchanged"},
			{"a legacy worker's, without a hash", txn(tx.PhaseWatching, try(tx.Unknown, nameless)), learns(mute),
				"unchanged"},
			{"a proof's, with a hash", txn(tx.PhaseWatching, try(tx.Unknown, nameless)), learns(odd),
				"unchanged"},
			{"its hash is known", txn(tx.PhaseWatching, try(tx.Unknown, legacy)), learns(dispatched(1)),
				"unchanged"},
			{"of another nonce", txn(tx.PhaseWatching, try(tx.Unknown, nameless, at(8))), learns(dispatched(1)),
				"unchanged"},
			{"it is over", txn(tx.PhaseFailing, try(tx.Unknown, nameless, over)), learns(dispatched(1)),
				"unchanged"},
		}},
		{"a legacy worker's refusal that may be of what is out", []sample{
			{"not all nodes say that nothing is", legacyPlan(),
				learns(refusedBy(answer(Dispatch, 1)), sees(tx.FateAbsent, 0, next(7), disagreed)),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 20203"},
			{"it is in a pool", legacyPlan(), learns(refusedBy(answer(Dispatch, 1)), sees(tx.FatePooled, 0, next(7))),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 20203"},
			{"its nonce is not the next yet", legacyPlan(), learns(refusedBy(answer(Dispatch, 1)), sees(tx.FateAbsent, 0, next(6))),
				"answered; RETRY, RETRY; 1 legacy refused 7@100; error 20203"},
		}},
		{"a worker took it on: it was not put off again and again", []sample{
			{"signed", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)), learns(signed(Prove, 1)),
				"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
			{"sent", txn(tx.PhaseDispatching, try(tx.Planned, legacy), deferrals(2)), learns(dispatched(1)),
				"answered; REVISION, INCLUSION; 1 legacy sent 7@100"},
			{"finished", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)), learns(finished(1)),
				"answered; DONE, FREE; 1 dropped 7@100; drop bytes; trusts; tell on-success"},
			{"an error", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)), learns(fault(answer(Prove, 1), FaultError, "400")),
				"answered; RETRY, RETRY; 1 dropped 7@100; error 400"},
		}},
		{"what made room for another after a failover, and is bound again", []sample{
			{"it was to be weighed", txn(tx.PhaseDispatching, try(tx.Expired, over), try(tx.Planned), ending(tx.PhaseFailing)), decides(),
				"back; RETRY, RETRY; 1 expired 7@100; 2 dropped 7@100"},
			{"it was to be DONE", txn(tx.PhaseDispatching, try(tx.Expired, over), try(tx.Planned), ending(tx.PhaseDone)), decides(),
				"back; DONE, FREE; 1 expired 7@100; 2 dropped 7@100; drop bytes; trusts; tell on-success"},
			{"it was to be UNRESOLVED, whatever a person said since",
				txn(tx.PhaseDispatching, try(tx.Expired, over), ending(tx.PhaseUnresolved), cancelling), decides(),
				"back; UNRESOLVED, FREE; 1 expired 7@100; cancel asked; drop bytes; trusts; tell on-failure"},
			{"it was found to be out", txn(tx.PhaseDispatching, try(tx.Sent), ending(tx.PhaseUnresolved)), decides(),
				"sent; REVISION, INCLUSION; 1 sent 7@100; to end UNRESOLVED"},
		}},
		{"away and busy", []sample{
			{"busy, and asks for no time: a second", txn(tx.PhaseDispatching, try(tx.Planned)),
				learns(fault(answer(Prove, 1), FaultBusy, "503")),
				"deferred; WAITING, FREE; deferred 1; error 503; rest RESTED 1s; hold queue 1s"},
			{"busy once more: the queue is held longer", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)),
				learns(fault(answer(Prove, 1), FaultBusy, "503")),
				"deferred; WAITING, FREE; deferred 3; error 503; rest RESTED 1s; hold queue 4s"},
			{"what it made is of another era: another sender may make it at once", txn(tx.PhaseDispatching, try(tx.Planned)),
				learns(fault(answer(Prove, 1), FaultOutOfOrder, string(tx.WrongNetwork))),
				"deferred; WAITING, FREE; 1 dropped 7@100; deferred 1; error WRONG_NETWORK; rest WRONG_NETWORK 30s"},
			{"its worker signs for another network, something open", txn(tx.PhaseDispatching, try(tx.Unknown)),
				learns(HealthTold{Why: tx.WrongNetwork}, asked(good())),
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
	waits := func(p ...part) *tx.Transaction { return txn(tx.PhaseWatching, append([]part{try(tx.Sent)}, p...)...) }
	raise := says(freshly(Send, 2), Refusal{})
	nothing := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{} })
	other := func(g *tx.Sighting) { g.Nonce = 9 }
	return []row{
		{"REVISION: refused when it was sent again", []sample{
			{"nothing follows", waits(), learns(again),
				"sent"},
			{"too cheap: raised at once", waits(), learns(cheap),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
			{"too cheap, and dearer would pass a limit: sent as ever", waits(), learns(cheap,
				knows(func(l *Local) { l.Costly = clock.Add(time.Minute) })), "sent"},
			{"too cheap, and a raise is under way", waits(try(tx.Planned, fee(150))), learns(cheap),
				"sent"},
			{"too cheap, as one was that paid more: the next rung", waits(try(tx.Refused, over, fee(150), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150; 3 planned 7@225"},
			{"which another nonce does not tell", waits(try(tx.Refused, over, at(6), fee(250), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 6@250; 3 planned 7@150"},
			{"nor another sender", waits(try(tx.Refused, over, by("B62b"), fee(250), failedBy(fees.CodeEvicted))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@250; 3 planned 7@150"},
			{"nor what was refused for something else", waits(try(tx.Refused, over, fee(250), failedBy("E"))),
				learns(cheap), "raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@250; 3 planned 7@150"},
			{"nor what was tried before it", txn(tx.PhaseWatching, try(tx.Refused, over, fee(250), failedBy(fees.CodeEvicted)), try(tx.Expired, over, fee(300)), try(tx.Sent)),
				learns(says(calling(Send, 3), Refusal{Cheap: true})), "raising; REVISION, WAITING_INCLUSION; 1 refused 7@250; 2 expired 7@300; " +
					"3 sent 7@100; 4 planned 7@150"},
			{"nor what ran out", waits(try(tx.Expired, over, fee(250))), learns(cheap),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 expired 7@250; 3 planned 7@150"},
			{"too cheap, as one was at the cap", waits(try(tx.Refused, over, fee(300), failedBy(fees.CodeEvicted))), learns(cheap), "sent"},
			{"too cheap, at the cap", txn(tx.PhaseWatching, try(tx.Sent, fee(300))), learns(cheap),
				"sent"},
			{"too cheap, and DONE once: nothing is raised", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), orphan),
				learns(cheap),
				"sent"},
		}},
		{"REVISION: a raise is refused", []sample{
			{"and what was kept is not known", waits(try(tx.Signed, fee(150))), learns(raise),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150"},
			{"and nothing was kept", waits(try(tx.Signed, fee(150))), learns(raise, nothing),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150"},
		}},
		{"REVISION, INCLUSION: the first look", []sample{
			{"its worker used another nonce", txn(tx.PhaseSent, try(tx.Sent, legacy)), decides(sees(tx.FateIncluded, 1, other)),
				"ignored; REVISION, INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"in a block that is not deep enough", txn(tx.PhaseSent, try(tx.Signed)), decides(sees(tx.FateIncluded, 1)),
				"sent; REVISION, WAITING_INCLUSION; 1 signed 7@100"},
			{"in a pool, of which another is known", txn(tx.PhaseSent, try(tx.Signed)),
				decides(sees(tx.FatePooled, 0, func(g *tx.Sighting) { g.Hash = "5Jnews" })),
				"sent; REVISION, WAITING_INCLUSION; 1 signed 7@100"},
			{"its legacy worker's is in a block", txn(tx.PhaseSent, try(tx.Sent, legacy)),
				decides(sees(tx.FateIncluded, 2), knows(func(l *Local) { l.Marked = 1 })),
				"landed; DONE, FREE; 1 legacy included 7@100; landed 1; B62a from nonce 8; tell on-success"},
		}},
	}
}

// strayRows are of a legacy worker that does not use the nonce that it was given.
func strayRows() []row {
	other := func(g *tx.Sighting) { g.Nonce = 9 }
	waits := txn(tx.PhaseWatching, try(tx.Sent))
	return []row{
		{"another nonce than its legacy worker was given", []sample{
			{"in a pool", bySelf(), decides(sees(tx.FatePooled, 0, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"in a block", bySelf(), decides(sees(tx.FateIncluded, 1, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"not its own", waits, decides(sees(tx.FateIncluded, 1, other)),
				"block"},
			{"noted once", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy(tx.CodeNonceIgnored))),
				decides(sees(tx.FateIncluded, 1, other)),
				"block"},
			{"after another error", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy("E"))), decides(sees(tx.FateIncluded, 1, other)),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; event NONCE_IGNORED"},
			{"nobody has seen it", bySelf(), decides(sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.Nonce = 0 })),
				"absent; look in 14m0s"},
			{"the last of them is over", txn(tx.PhaseWatching, try(tx.Unknown, legacy), try(tx.Planned, legacy, over)),
				decides(sees(tx.FateIncluded, 1, other)),
				"block"},
			{"while it waits for another try", txn(tx.PhaseDelayed, try(tx.Unknown, legacy), due(time.Minute)),
				decides(sees(tx.FateIncluded, 1, other)),
				"delay; look in 1m0s"},
			{"failed, and noted before", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy(tx.CodeNonceIgnored))),
				decides(sees(tx.FateFailed, 5, other)),
				"settled; RETRY, RETRY; 1 legacy failed 7@100; error ; drop bytes; B62a from nonce 10"},
		}},
	}
}

func bySelf() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent, legacy)) }

// rareChainRows are of what seldom happens while it waits for a block.
func rareChainRows() []row {
	kept := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} })
	long := knows(func(l *Local) { l.SentAt = clock.Add(-20 * time.Minute) })
	slot := func(n uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Slot = n } }
	waits := func(a ...func(*tx.Attempt)) *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent, a...)) }
	raising := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseWatching, append([]part{try(tx.Sent), try(tx.Planned, fee(150))}, p...)...)
	}
	pooled := sees(tx.FatePooled, 0)
	late := func(v *View) { v.Policy.BumpAfter = 200 }
	return []row{
		{"REVISION, WAITING_INCLUSION: how long it is left alone", []sample{
			{"the longest pause", waits(), decides(sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Resent = 9 })),
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
				decides(sees(tx.FateAbsent, 0), kept, func(v *View) { v.Replicas = true }),
				"confirming; confirm 1"},
			{"nothing is open", txn(tx.PhaseWatching, try(tx.Expired, over)), decides(sees(tx.FateExpired, 5)),
				"settled; RETRY, RETRY; 1 expired 7@100"},
		}},
		{"REVISION, WAITING_INCLUSION: a raise", []sample{
			{"above the highest that is open",
				txn(tx.PhaseWatching, try(tx.Sent, fee(120), slot(290)), try(tx.Sent, fee(110), slot(290))), decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@120; 2 sent 7@110; 3 planned 7@180"},
			{"above the latest, too", txn(tx.PhaseWatching, try(tx.Sent, fee(110), slot(290)), try(tx.Sent, fee(120), slot(290))),
				decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@110; 2 sent 7@120; 3 planned 7@180"},
			{"not above what is over", txn(tx.PhaseWatching, try(tx.Refused, over, fee(200), slot(290)), try(tx.Sent, slot(290))),
				decides(pooled, long),
				"raising; REVISION, WAITING_INCLUSION; 1 refused 7@200; 2 sent 7@100; 3 planned 7@150"},
			{"its bytes are looked for", raising(), decides(pooled),
				"raising; ask-bytes"},
			{"not made, for it was cancelled", raising(cancelling), decides(pooled),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 dropped 7@150; cancel asked"},
			{"sent as new, once it is signed", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Signed, fee(150))),
				decides(pooled, knows(func(l *Local) { l.Unsent = 2 })),
				"sending; send 2"},
			{"refused before: not sent as new", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Refused, over)),
				decides(sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Unsent = 2 })),
				"resending; ask-bytes"},
		}},
	}
}

// rareRetryRows are of what seldom happens between two tries, or by a person.
func rareRetryRows() []row {
	limit := func(n int) change { return func(v *View) { v.Local.Asked.Retries = &n } }
	tried := func(p tx.Phase, parts ...part) *tx.Transaction {
		return txn(p, append([]part{try(tx.Planned, over)}, parts...)...)
	}
	draining := func(v *View) { v.Draining = true }
	dead, landed := orders(tx.Order{What: tx.OrderDead}), orders(tx.Order{What: tx.OrderLanded, Hash: "5J1"})
	return []row{
		{"RETRY: cancelled, nothing open", []sample{
			{"before it is weighed", tried(tx.PhaseFailing, cancelling), decides(asked(good()), limit(3)),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"while it waits", tried(tx.PhaseDelayed, cancelling, due(time.Hour)), decides(),
				"cancelled; FAILED, FREE; 1 dropped 7@100; " +
					"cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
		}},
		{"RETRY: time", []sample{
			{"it was put off before", tried(tx.PhaseFailing, deferrals(2)), decides(asked(good()), limit(3)),
				"delay; RETRY, DELAY; 1 dropped 7@100; due in 1m0s"},
			{"its time has come now", tried(tx.PhaseDelayed, due(0)), decides(asked(good())),
				"retry; DISPATCHING, BLOCKED; 1 dropped 7@100; retries 1"},
			{"its time is about to come", tried(tx.PhaseDelayed, due(1)), decides(asked(good())),
				"delay; look in 1ns"},
			{"a process that ends begins no retry", tried(tx.PhaseDelayed), decides(draining),
				"draining"},
		}},
		{"resolve: several attempts", []sample{
			{"landed, one of two", txn(tx.PhaseUnresolved, try(tx.Unknown, legacy), try(tx.Unknown, legacy)), landed,
				"ordered; DONE, FREE; 1 legacy included 7@100; " +
					"2 legacy replaced 7@100; landed 1; event LATE; drop bytes; ask nonce; trusts; tell on-success"},
			{"landed, and one was over", txn(tx.PhaseUnresolved, try(tx.Expired, over), try(tx.Unknown)),
				orders(tx.Order{What: tx.OrderLanded, Hash: "5J2"}),
				"ordered; DONE, FREE; 1 expired 7@100; " +
					"2 included 7@100; landed 2; event LATE; drop bytes; ask nonce; trusts; tell on-success"},
			{"dead, and a raise was planned", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)), dead,
				"ordered; RETRY, RETRY; 1 expired 7@100; 2 dropped 7@100; drop bytes; ask nonce; trusts"},
			{"dead, and one was over", txn(tx.PhaseWatching, try(tx.Refused, over), try(tx.Sent)), dead,
				"ordered; RETRY, RETRY; 1 refused 7@100; 2 expired 7@100; drop bytes; ask nonce; trusts"},
		}},
	}
}

// rareDoneRows are of what seldom happens to what is DONE.
func rareDoneRows() []row {
	done := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseDone, append([]part{try(tx.Included, block), landedBy(1)}, p...)...)
	}
	of := func(n int) change {
		return knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: n, Command: []byte("bytes")} })
	}
	long := knows(func(l *Local) { l.SentAt = clock.Add(-time.Hour) })
	return []row{
		{"DONE: what the other branch shows", []sample{
			{"its nonce taken, agreed", done(), decides(sees(tx.FateDisplaced, 1)),
				"orphaned; DONE, FREE; 1 included 7@100; landed 1; reopened; event ORPHANED"},
			{"its nonce taken, by one node's word", done(), decides(sees(tx.FateDisplaced, 1, disagreed)),
				"finality"},
			{"expired, agreed", done(), decides(sees(tx.FateExpired, 1)),
				"orphaned; DONE, FREE; 1 included 7@100; landed 1; reopened; event ORPHANED"},
			{"expired, by one node's word", done(), decides(sees(tx.FateExpired, 1, disagreed)),
				"finality"},
		}},
		{"DONE, reopened: sent again", []sample{
			{"not while it was sent a moment ago", done(orphan), decides(sees(tx.FatePooled, 0)),
				"orphaned; look in 29m0s"},
			{"after long, from a pool", done(orphan), decides(sees(tx.FatePooled, 0), long),
				"resending; ask-bytes"},
			{"another at its nonce, which the nodes had refused", done(orphan, try(tx.Refused, over, fee(150))),
				decides(sees(tx.FateAbsent, 0), of(2)),
				"resending; DONE, FREE; 1 included 7@100; 2 signed 7@150; landed 1; reopened; confirm"},
		}},
		{"DONE, reopened: it cannot land", []sample{
			{"nor what was sent again beside it", done(orphan, try(tx.Signed)), decides(sees(tx.FateExpired, 5)),
				"settled; WAITING, FREE; 1 expired 7@100; 2 expired 7@100; event REOPENED; drop bytes"},
			{"what had failed before stays so",
				txn(tx.PhaseDone, try(tx.FailedIn, block, at(6)), try(tx.Included, block), landedBy(2), orphan),
				decides(sees(tx.FateDisplaced, 5)),
				"settled; WAITING, FREE; 1 failed 6@100; 2 replaced 7@100; event REOPENED; drop bytes"},
		}},
	}
}
