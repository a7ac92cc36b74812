package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/tx"
)

// retryRows are of what failed and may be tried again.
func retryRows() []row {
	tried := func(parts ...part) *tx.Transaction {
		return txn(tx.PhaseFailing, append([]part{try(tx.Planned, over), wrong("400")}, parts...)...)
	}
	limit := func(n int) change { return func(v *View) { v.Local.Asked.Retries = &n } }
	drained := asked(&Sender{Unusable: true})
	draining := func(v *View) { v.Draining = true }
	overtaken := func(v *View) { v.Local.Asked.Overtaken = true }
	wanted := func(v *View) { v.Wanted = true }
	return []row{
		{"RETRY, RETRY: retries used up", []sample{
			{"its sender and worker are asked first", tried(retried(3)), decides(), "weighing; ask-sender"},
			{"how many retries", tried(retried(3)), decides(asked(good())), "weighing; ask-retries"},
			{"its worker runs with another process: weighed where it is bound next", tried(retried(3)),
				learns(RetriesTold{Elsewhere: true}), "back; WAITING, FREE; 1 dropped 7@100; retries 3; to end RETRY; error 400"},
			{"the same, something open: as configured", txn(tx.PhaseFailing, try(tx.Unknown)),
				learns(RetriesTold{Elsewhere: true}), "unchanged"},
			{"not by one that ends", tried(retried(3)), decides(asked(good()), draining), "draining"},
			{"nor of what a person has taken back", tried(cancelling), decides(asked(good())),
				"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"nothing open", tried(retried(3)), decides(asked(good()), limit(3)),
				"used-up; FAILED, FREE; 1 dropped 7@100; retries 3; error 400; drop bytes; trusts; tell on-failure"},
			{"something open", txn(tx.PhaseFailing, try(tx.Unknown), retried(3), wrong("400")),
				decides(asked(good()), limit(3)),
				"used-up; REVISION, WAITING_INCLUSION; 1 unknown 7@100; retries 3; to end FAILED; error 400"},
			{"cancelled, something open", txn(tx.PhaseFailing, try(tx.Unknown), cancelling), decides(asked(good()), limit(3)),
				"used-up; REVISION, WAITING_INCLUSION; 1 unknown 7@100; to end FAILED; cancel asked"},
			{"a worker that wants none", tried(), decides(asked(good()), limit(0)),
				"used-up; FAILED, FREE; 1 dropped 7@100; error 400; drop bytes; trusts; tell on-failure"},
		}},
		{"RETRY, RETRY: retries left", []sample{
			{"first", tried(), decides(asked(good()), limit(3)),
				"delay; RETRY, DELAY; 1 dropped 7@100; error 400; due in 1m0s"},
			{"third", tried(retried(2)), decides(asked(good()), limit(3)),
				"delay; RETRY, DELAY; 1 dropped 7@100; retries 2; error 400; due in 4m0s"},
			{"something open: with the sender that it has", txn(tx.PhaseFailing, try(tx.Unknown)), decides(drained),
				"delay; RETRY, DELAY; 1 unknown 7@100; due in 1m0s"},
		}},
		{"RETRY, RETRY or DELAY: nothing open, the sender out of use or the queue overtaken", []sample{
			{"drained", tried(retried(1)), decides(drained),
				"back; WAITING, FREE; 1 dropped 7@100; retries 1; error 400"},
			{"gone", tried(retried(1)), decides(asked(&Sender{Gone: true})),
				"back; WAITING, FREE; 1 dropped 7@100; retries 1; error 400"},
			{"overtaken", tried(retried(1)), decides(asked(good()), limit(3), overtaken),
				"back; WAITING, FREE; 1 dropped 7@100; retries 1; error 400"},
			{"drained, in DELAY", txn(tx.PhaseDelayed, try(tx.Planned, over), retried(1)), decides(drained),
				"back; WAITING, FREE; 1 dropped 7@100; retries 1"},
			{"overtaken, as the store says of a plan", txn(tx.PhaseDispatching, try(tx.Planned), retried(1)),
				learns(Denied{Why: Overtaken}),
				"back; WAITING, FREE; 1 dropped 7@100; retries 1; error OVERTAKEN"},
			{"used up comes first", tried(retried(3)), decides(drained),
				"used-up; FAILED, FREE; 1 dropped 7@100; retries 3; error 400; drop bytes; trusts; tell on-failure"},
		}},
		{"RETRY, DELAY: nothing open, and other queues are ready while no sender is free", []sample{
			{"the queue is held for the rest of the delay", txn(tx.PhaseDelayed, try(tx.Planned, over), wrong("400"), retried(1),
				due(time.Minute)), decides(wanted),
				"yield; WAITING, FREE; 1 dropped 7@100; retries 2; error 400; hold queue 1m0s"},
			{"what is kept for another sending keeps it", txn(tx.PhaseDelayed, try(tx.Planned, over), deferrals(2),
				due(time.Minute)), decides(wanted), "delay; look in 1m0s"},
			{"something open keeps it", txn(tx.PhaseDelayed, try(tx.Unknown), due(time.Minute)), decides(wanted),
				"delay; look in 1m0s"},
			{"so does one in flight beside it", txn(tx.PhaseDelayed, try(tx.Planned, over), due(time.Minute)),
				decides(wanted, behindIt(Member{Txn: txn(tx.PhaseDispatching)})), "delay; look in 1m0s"},
			{"and a delay that is over", txn(tx.PhaseDelayed, try(tx.Planned, over)), decides(wanted, asked(good())),
				"retry; DISPATCHING, BLOCKED; 1 dropped 7@100; retries 1"},
		}},
		{"RETRY, DELAY: delay over", []sample{
			{"not yet", txn(tx.PhaseDelayed, try(tx.Planned, over), due(time.Minute)), decides(), "delay; look in 1m0s"},
			{"counted", txn(tx.PhaseDelayed, try(tx.Planned, over), retried(1)), decides(asked(good())),
				"retry; DISPATCHING, BLOCKED; 1 dropped 7@100; retries 2"},
			{"deferred before: not counted", txn(tx.PhaseDelayed, try(tx.Unknown), deferrals(2), retried(1)),
				decides(asked(good())),
				"retry; DISPATCHING, BLOCKED; 1 unknown 7@100; retries 1; deferred 2"},
			{"what is open keeps sender and nonce, dearer", txn(tx.PhaseDispatching, try(tx.Unknown), retried(2)),
				decides(asked(good())),
				"planning; DISPATCHING, BLOCKED; 1 unknown 7@100; 2 planned 7@150; retries 2"},
			{"what has expired keeps the nonce, dearer", txn(tx.PhaseDispatching, try(tx.Expired, over), retried(1)),
				decides(asked(good()), holds(7, 200)),
				"planning; DISPATCHING, BLOCKED; 1 expired 7@100; 2 planned 7@150; retries 1"},
			{"what is open has settled, however long its worker is away", txn(tx.PhaseDelayed, try(tx.Unknown), deferrals(9), due(time.Minute)),
				decides(sees(tx.FateExpired, 5)),
				"settled; REVISION, WAITING_INCLUSION; 1 unknown 7@100; deferred 9"},
			{"not before that", txn(tx.PhaseDelayed, try(tx.Unknown), due(time.Minute)), decides(sees(tx.FateExpired, 4)),
				"delay; look in 1m0s"},
			{"cancelled, something open", txn(tx.PhaseDelayed, try(tx.Unknown), cancelling), decides(asked(good())),
				"used-up; REVISION, WAITING_INCLUSION; 1 unknown 7@100; to end FAILED; cancel asked"},
		}},
	}
}

// personRows are of what a person, or a client, asks for.
func personRows() []row {
	stuck := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseUnresolved, append(p, try(tx.Unknown, legacy), wrong(tx.CodeOutcomeUnknown))...)
	}
	const (
		settled = "transaction u is DONE: the transaction cannot be cancelled in its state"
		noRetry = "transaction u is DONE: the transaction cannot be retried in its state"
		mayLand = "transaction u is UNRESOLVED: an attempt might still land"
		nothing = "transaction u is REVISION: no attempt of it has an unknown outcome: " +
			"the transaction cannot be retried in its state"
		untried  = "cancelled; FAILED, FREE; cancel asked; error CANCELLED; event CANCELLED; drop bytes; trusts"
		wasTried = "cancelled; FAILED, FREE; 1 dropped 7@100; error CANCELLED; event CANCELLED; " +
			"drop bytes; trusts; tell on-failure"
	)
	return []row{
		{"WAITING, or RETRY with nothing open: cancelled", []sample{
			{"before any attempt: no callback", txn(tx.PhaseWaiting, cancelling),
				orders(tx.Order{What: tx.OrderCancel}), untried},
			{"in RETRY", txn(tx.PhaseFailing, try(tx.Planned, over)), orders(tx.Order{What: tx.OrderCancel}), wasTried},
			{"in DELAY", txn(tx.PhaseDelayed, try(tx.Planned, over)), orders(tx.Order{What: tx.OrderCancel}), wasTried},
			{"something open: no further attempt", txn(tx.PhaseDelayed, try(tx.Unknown)), orders(tx.Order{What: tx.OrderCancel}),
				"ordered; RETRY, DELAY; 1 unknown 7@100; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"while watching: no further attempt", txn(tx.PhaseWatching, try(tx.Sent)), orders(tx.Order{What: tx.OrderCancel}),
				"ordered; REVISION, WAITING_INCLUSION; 1 sent 7@100; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"its worker was done: that is its end", txn(tx.PhaseWaiting, try(tx.Planned, over), ending(tx.PhaseDone)),
				orders(tx.Order{What: tx.OrderCancel}), "ordered; WAITING, FREE; 1 dropped 7@100; to end DONE; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"final: refused", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1)),
				orders(tx.Order{What: tx.OrderCancel}), settled},
		}},
		{"FAILED, UNRESOLVED: retried, or seen to have succeeded", []sample{
			{"retried: fresh retries", txn(tx.PhaseFailed, try(tx.Expired, over), retried(3), wrong("400"), cancelling),
				orders(tx.Order{What: tx.OrderRetry}),
				"ordered; WAITING, FREE; 1 expired 7@100; trusts"},
			{"from the first fee on", txn(tx.PhaseDispatching, try(tx.Expired, over, fee(300))),
				decides(asked(good()), holds(7, 100)),
				"planning; DISPATCHING, BLOCKED; 1 expired 7@300; 2 planned 7@100"},
			{"something open: refused", stuck(), orders(tx.Order{What: tx.OrderRetry}), mayLand},
			{"DONE: refused", txn(tx.PhaseDone), orders(tx.Order{What: tx.OrderRetry}), noRetry},
			{"it landed late", stuck(), decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 legacy included 7@100; landed 1; event LATE; ask nonce; tell on-success"},
			{"it settled late", stuck(), decides(sees(tx.FateExpired, 5)),
				"settled; UNRESOLVED, FREE; 1 legacy expired 7@100; error EXPIRED; drop bytes; B62a from nonce 7"},
			{"looked at now and then, for others settle it", stuck(),
				decides(knows(func(l *Local) { l.ReadAt = clock.Add(-recheck) })),
				"ended; ask-record"},
			{"else left alone", stuck(), decides(), "ended; look in 5m0s"},
		}},
		{"resolve: a person settles what is unknown", []sample{
			{"landed", stuck(), orders(tx.Order{What: tx.OrderLanded, Hash: "5Jby"}),
				"ordered; DONE, FREE; 1 legacy included 7@100; landed 1; event LATE; drop bytes; " +
					"ask nonce; trusts; tell on-success"},
			{"dead", stuck(), orders(tx.Order{What: tx.OrderDead}),
				"ordered; UNRESOLVED, FREE; 1 legacy expired 7@100; error OUTCOME_UNKNOWN; event RESOLVED; drop bytes; ask nonce; trusts"},
			{"dead while watching", txn(tx.PhaseWatching, try(tx.Sent)), orders(tx.Order{What: tx.OrderDead}),
				"ordered; RETRY, RETRY; 1 expired 7@100; drop bytes; ask nonce; trusts"},
			{"dead, and it was DONE by another before: that is looked for again",
				txn(tx.PhaseWatching, try(tx.Included, over), try(tx.Sent), ending(tx.PhaseDone)), orders(tx.Order{What: tx.OrderDead}),
				"ordered; DONE, FREE; 1 included 7@100; 2 expired 7@100; landed 1; reopened; drop bytes; ask nonce; " +
					"trusts; tell on-success"},
			{"dead, to end", txn(tx.PhaseWatching, try(tx.Sent), ending(tx.PhaseFailed)), orders(tx.Order{What: tx.OrderDead}),
				"ordered; FAILED, FREE; 1 expired 7@100; drop bytes; ask nonce; trusts; tell on-failure"},
			{"dead, cancelled", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned), cancelling),
				orders(tx.Order{What: tx.OrderDead}),
				"cancelled; FAILED, FREE; 1 expired 7@100; 2 dropped 7@100; cancel asked; " +
					"error CANCELLED; event CANCELLED; drop bytes; ask nonce; trusts; tell on-failure"},
			{"nothing unknown: refused", txn(tx.PhaseWatching, try(tx.Expired, over)),
				orders(tx.Order{What: tx.OrderDead}), nothing},
		}},
	}
}

// doneRows are of what is DONE and may be orphaned.
func doneRows() []row {
	done := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseDone, append([]part{try(tx.Included, block), landedBy(1)}, p...)...)
	}
	sent := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseDone, append([]part{try(tx.Included, block, legacy), landedBy(1)}, p...)...)
	}
	kept := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} })
	lost := func(ago time.Duration) change { return knows(func(l *Local) { l.LostAt = clock.Add(-ago) }) }
	passed := func(v *View) { v.Sighting, v.Tip.NoArchive = tx.Sighting{Fate: tx.FateUnknown, Pruned: true}, true }
	archive := func(v *View) { v.Tip.NoArchive = false }
	fork := func(slot uint32) change { return func(v *View) { v.Tip.First = slot } }
	tip := func(height uint32) change { return func(v *View) { v.Tip.Height = height } }
	orphaned := "orphaned; DONE, FREE; 1 included 7@100; landed 1; reopened; event ORPHANED"
	return []row{
		{"DONE: its block is orphaned, it can still land", []sample{
			{"watched until FINALITY", done(), decides(sees(tx.FateIncluded, 7)), "finality"},
			{"its block is no longer held, and not deep enough", done(), decides(passed, tip(196)), "finality; look in 3m0s"},
			{"by its height it is", done(), decides(passed, tip(197)),
				"final; DONE, FREE; 1 included 7@100; landed 1; event FINAL; drop bytes"},
			{"the archive may tell", done(), decides(passed, archive), "finality"},
			{"it was before the hard fork, whatever an archive tells", done(), decides(passed, archive, fork(345)),
				"final; DONE, FREE; 1 included 7@100; landed 1; event FINAL; drop bytes"},
			{"it may have been after that", done(), decides(passed, archive, fork(344)), "finality"},
			{"nobody knows which block", txn(tx.PhaseDone, try(tx.Included, over), landedBy(1)), decides(passed), "finality"},
			{"final", done(), decides(sees(tx.FateIncluded, 8)),
				"final; DONE, FREE; 1 included 7@100; landed 1; event FINAL; drop bytes"},
			{"final by another attempt, which a reorganisation had land instead",
				txn(tx.PhaseDone, try(tx.Included, block), try(tx.Replaced, over, fee(150)), landedBy(1)), decides(sees(tx.FateIncluded, 8)),
				"final; DONE, FREE; 1 replaced 7@100; 2 included 7@150; landed 2; event FINAL; drop bytes"},
			{"and watched no longer", done(final), decides(sees(tx.FateAbsent, 0)), "final"},
			{"orphaned", done(), decides(sees(tx.FateAbsent, 0)), orphaned},
			{"back in a pool", done(), decides(sees(tx.FatePooled, 0)), orphaned},
			{"failed in the other branch, settled", done(), decides(sees(tx.FateFailed, 5)), orphaned},
			{"the same, by the archive's word alone", done(),
				decides(sees(tx.FateFailed, 9, func(g *tx.Sighting) { g.Archived = true })), orphaned},
			{"failed in the other branch, not settled", done(), decides(sees(tx.FateFailed, 4)), "finality"},
			{"its bytes are sent again", done(orphan), decides(sees(tx.FateAbsent, 0), kept), "resending; send 1"},
			{"landed once more", done(orphan), decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; event RELANDED"},
			{"in no deep block yet", done(orphan), decides(sees(tx.FateIncluded, 1)), "orphaned"},
		}},
		{"DONE, reopened: it can no longer land", []sample{
			{"expired", done(orphan), decides(sees(tx.FateExpired, 5)),
				"settled; WAITING, FREE; 1 expired 7@100; event REOPENED; drop bytes"},
			{"failed", done(orphan), decides(sees(tx.FateFailed, 5)),
				"settled; WAITING, FREE; 1 failed 7@100; event REOPENED; drop bytes"},
			{"displaced", done(orphan), decides(sees(tx.FateDisplaced, 5)),
				"settled; WAITING, FREE; 1 replaced 7@100; event REOPENED; drop bytes"},
			{"not deep enough", done(orphan), decides(sees(tx.FateExpired, 4)), "orphaned"},
			{"by the archive's word alone: a person", done(orphan),
				decides(sees(tx.FateFailed, 9, func(g *tx.Sighting) { g.Archived = true })),
				"settled; UNRESOLVED, FREE; 1 failed 7@100; error ; drop bytes; trusts; tell on-failure"},
			{"what had ended before stays as it was",
				txn(tx.PhaseDone, try(tx.Expired, over), try(tx.Included, block), landedBy(2), orphan),
				decides(sees(tx.FateFailed, 9, func(g *tx.Sighting) { g.Archived = true })),
				"settled; UNRESOLVED, FREE; 1 expired 7@100; 2 failed 7@100; error ; drop bytes; trusts; tell on-failure"},
			{"legacy, lost for a while", sent(orphan), decides(sees(tx.FateAbsent, 0), lost(time.Minute)),
				"orphaned; look in 19m0s"},
			{"legacy, lost for long: a person", sent(orphan), decides(sees(tx.FateAbsent, 0), lost(time.Hour)),
				"ambiguous; UNRESOLVED, FREE; 1 legacy unknown 7@100; error OUTCOME_UNKNOWN; " +
					"event OUTCOME_UNKNOWN; stop sender OUTCOME_UNKNOWN; tell on-failure"},
		}},
	}
}
