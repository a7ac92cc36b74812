package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/tx"
)

// awayRows are of what is put off: who rests, and whether the queue is held.
func awayRows() []row {
	planned := func() *tx.Transaction { return txn(tx.PhaseDispatching, try(tx.Planned)) }
	unplanned := func() *tx.Transaction { return txn(tx.PhaseDispatching) }
	behind := func() *tx.Transaction {
		return txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, fee(150)), retried(1))
	}
	away := fault(answer(Prove, 1), FaultUnreached, tx.CodeUnavailable)
	busy := fault(answer(Prove, 1), FaultBusy, tx.CodeUnavailable)
	busy.RetryAfter = 20 * time.Second
	spent := fault(answer(Prove, 1), FaultSpent, "POLICY")
	spent.RetryAfter = 7 * time.Hour
	strange := fault(answer(Prove, 1), FaultNoCall, "404")
	strange.Proves = true
	account := func(a AccountTold) change { return func(v *View) { v.Local.Asked.Account = &a } }
	return []row{
		{"DISPATCHING: deferred, the worker was away or busy", []sample{
			{"away: back, the attempt taken back, sender and queue rest", planned(), learns(away),
				"deferred; WAITING, FREE; deferred 1; error WORKER_UNAVAILABLE; rest RESTED 30s; hold queue 30s"},
			{"away once more: longer", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)),
				learns(away, asked(&Sender{Away: 3})),
				"deferred; WAITING, FREE; deferred 3; error WORKER_UNAVAILABLE; rest RESTED 4m0s; hold queue 2m0s"},
			{"busy: as long as it says", planned(), learns(busy),
				"deferred; WAITING, FREE; deferred 1; error WORKER_UNAVAILABLE; rest RESTED 20s; hold queue 20s"},
			{"out of order", planned(), learns(fault(answer(Prove, 1), FaultOutOfOrder, "502")),
				"deferred; WAITING, FREE; deferred 1; error 502; rest RESTED 30s; hold queue 30s"},
			{"it proves other types, and not this one: counted", planned(), learns(strange),
				"answered; RETRY, RETRY; 1 dropped 7@100; error TYPE_NOT_SERVED"},
			{"something open: waits with the same sender", behind(),
				learns(func() Answer { a := away; a.Call.Number = 2; return a }()),
				"deferred; RETRY, DELAY; 1 unknown 7@100; retries 1; deferred 1; error WORKER_UNAVAILABLE; " +
					"due in 30s; rest RESTED 30s"},
			{"known to the worker by an earlier loss: the attempt stays, over", txn(tx.PhaseDispatching, try(tx.Planned), losses(1)),
				learns(away),
				"deferred; WAITING, FREE; 1 dropped 7@100; losses 1; deferred 1; error WORKER_UNAVAILABLE; " +
					"rest RESTED 30s; hold queue 30s"},
			{"a legacy worker was not reached: not sent", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				learns(fault(answer(Dispatch, 1), FaultUnreached, tx.CodeUnavailable)),
				"deferred; WAITING, FREE; 1 legacy dropped 7@100; deferred 1; error WORKER_UNAVAILABLE; " +
					"rest RESTED 30s; hold queue 30s"},
			{"cancelled meanwhile: ends", txn(tx.PhaseDispatching, try(tx.Planned), cancelling), learns(away),
				"cancelled; FAILED, FREE; cancel asked; error CANCELLED; event CANCELLED; rest RESTED 30s; drop bytes; trusts"},
		}},
		{"DISPATCHING: deferred, for the sender or the chain alone", []sample{
			{"its signer has spent its day: it rests, and the queue is not held", planned(), learns(spent),
				"deferred; WAITING, FREE; deferred 1; error POLICY; rest RESTED 7h0m0s"},
			{"no quorum", unplanned(), decides(asked(good()), func(v *View) { v.Tip.Quorum = false }),
				"deferred; WAITING, FREE; deferred 1; error CHAIN_UNAVAILABLE; rest RESTED 10s"},
			{"the same, planned by a process that is gone: its worker may know it", txn(tx.PhaseDispatching, try(tx.Planned)),
				decides(asked(good()), knows(func(l *Local) { l.Own = 0 }), func(v *View) { v.Tip.Quorum = false }),
				"deferred; WAITING, FREE; 1 dropped 7@100; deferred 1; error CHAIN_UNAVAILABLE; rest RESTED 10s"},
			{"the account cannot be asked for", unplanned(),
				decides(asked(good()), account(AccountTold{Lost: "timeout"})),
				"deferred; WAITING, FREE; deferred 1; error CHAIN_UNAVAILABLE; rest RESTED 10s"},
			{"no account", unplanned(), decides(asked(good()), account(AccountTold{})),
				"deferred; WAITING, FREE; deferred 1; error Fee_payer_account_not_found; rest LOW_BALANCE 10m0s"},
			{"less than the fee", unplanned(),
				decides(asked(good()), holds(7, 99)),
				"deferred; WAITING, FREE; deferred 1; error Insufficient_funds; rest LOW_BALANCE 10m0s"},
			{"the account was used by somebody else", unplanned(),
				decides(asked(good()), holds(8, 100)),
				"deferred; WAITING, FREE; deferred 1; error STOPPED_NONCE; stop sender STOPPED_NONCE 7; confirm"},
			{"the chain is behind one of ours that landed", unplanned(),
				decides(asked(good()), holds(6, 100), landedAt(6)),
				"deferred; WAITING, FREE; deferred 1; error NONCE_BEHIND; rest RESTED 10s"},
			{"a fee limit", planned(), learns(Denied{Why: Costly, Left: time.Hour}),
				"deferred; WAITING, FREE; deferred 1; error FEE_LIMIT; rest RESTED 1h0m0s fees"},
			{"a fee limit, something open", txn(tx.PhaseDispatching, try(tx.Unknown), retried(1)),
				learns(Denied{Why: Costly, Left: time.Hour}),
				"deferred; RETRY, DELAY; 1 unknown 7@100; retries 1; deferred 1; error FEE_LIMIT; " +
					"due in 1h0m0s; rest RESTED 1h0m0s fees"},
			{"its worker signs for another account", unplanned(),
				learns(HealthTold{Why: tx.WrongAccount, Wrong: 1}, asked(good())),
				"deferred; WAITING, FREE; deferred 1; error WRONG_ACCOUNT; rest WRONG_ACCOUNT 2m0s"},
			{"its sender is gone", unplanned(), decides(asked(&Sender{Gone: true})),
				"deferred; WAITING, FREE; deferred 1; error WORKER_UNAVAILABLE; rest RESTED 1m0s"},
			{"its type is not known here", unplanned(), decides(func(v *View) { v.Known = false }),
				"deferred; WAITING, FREE; deferred 1; error UNKNOWN_TYPE; rest RESTED 1s"},
			{"nor the next time, later", txn(tx.PhaseDispatching, try(tx.Unknown), deferrals(3)), decides(func(v *View) { v.Known = false }),
				"deferred; RETRY, DELAY; 1 unknown 7@100; deferred 4; error UNKNOWN_TYPE; due in 8s; rest RESTED 8s"},
			{"its fee is not raised for what no worker took on",
				txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150)), retried(1), deferrals(1)),
				decides(asked(good()), holds(7, 150)),
				"planning; DISPATCHING, BLOCKED; 1 dropped 7@150; 2 planned 7@150; retries 1; " +
					"deferred 1"},
		}},
	}
}

// chainRows are of what waits for a block.
func chainRows() []row {
	waited := func(since uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Slot, a.SentSlot = since, since } }
	lingering := func() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent, waited(295))) }
	longAgo := knows(func(l *Local) { l.SentAt = clock.Add(-20 * time.Minute) })
	aWhile := knows(func(l *Local) { l.SentAt = clock.Add(-time.Hour) })
	kept := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} })
	worked := func(a *tx.Attempt) { a.StartedAt = now.Add(-20 * time.Minute) }
	return []row{
		{"REVISION, INCLUSION: the first look finds it waiting", []sample{
			{"not looked yet", txn(tx.PhaseSent, try(tx.Signed)), decides(knows(func(l *Local) { l.SentAt = clock })),
				"sent"},
			{"in a pool", txn(tx.PhaseSent, try(tx.Signed)), decides(sees(tx.FatePooled, 0)),
				"sent; REVISION, WAITING_INCLUSION; 1 pooled 7@100"},
			{"what the nodes said is noted with it", txn(tx.PhaseSent, try(tx.Signed)),
				decides(knows(func(l *Local) { l.Said = Said{Number: 1, State: tx.Sent} })),
				"sent; REVISION, WAITING_INCLUSION; 1 sent 7@100"},
			{"after a crash the same bytes are sent first", txn(tx.PhaseSent, try(tx.Signed)),
				decides(knows(func(l *Local) { l.SentAt = time.Time{} })),
				"resending; ask-bytes"},
			{"found again after a failover: sent on", txn(tx.PhaseDispatching, try(tx.Signed)), decides(),
				"sent; REVISION, INCLUSION; 1 signed 7@100"},
		}},
		{"REVISION: Redis had forgotten that the nodes refused it, and its process knows", []sample{
			{"nothing is sent, nothing looked for", txn(tx.PhaseSent, try(tx.Refused, over)), decides(),
				"settled; RETRY, RETRY; 1 refused 7@100"},
			{"cancelled: ends", txn(tx.PhaseSent, try(tx.Refused, over), cancelling), decides(),
				"cancelled; FAILED, FREE; 1 refused 7@100; cancel asked; error CANCELLED; " +
					"event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"it was to be UNRESOLVED: is", txn(tx.PhaseSent, try(tx.Refused, over), ending(tx.PhaseUnresolved)), decides(),
				"settled; UNRESOLVED, FREE; 1 refused 7@100; drop bytes; trusts; tell on-failure"},
		}},
		{"REVISION, WAITING_INCLUSION: in no pool and no block", []sample{
			{"the same bytes again, no retry", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateAbsent, 0), kept),
				"resending; send 1"},
			{"which are read first", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateAbsent, 0)),
				"resending; ask-bytes"},
			{"with time for the nodes to show it", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Resent = 3 })),
				"absent; look in 20s"},
			{"however often it was sent, at most 32 intervals apart", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Resent = 1 << 40 })),
				"absent; look in 4m20s"},
			{"of another nonce: not sent", txn(tx.PhaseWatching, try(tx.FailedIn, block, at(6)), try(tx.Sent)),
				decides(sees(tx.FateAbsent, 0), kept),
				"absent; look in 10s"},
			{"cancelled: not helped along", txn(tx.PhaseWatching, try(tx.Sent), cancelling), decides(sees(tx.FateAbsent, 0)),
				"absent"},
			{"legacy: nobody here has the bytes", txn(tx.PhaseWatching, try(tx.Sent, legacy)), decides(sees(tx.FateAbsent, 0)),
				"absent; look in 14m0s"},
			{"legacy, for long: a person", txn(tx.PhaseWatching, try(tx.Unknown, legacy, worked)),
				decides(sees(tx.FateAbsent, 0)),
				"ambiguous; UNRESOLVED, FREE; 1 legacy unknown 7@100; error OUTCOME_UNKNOWN; " +
					"event OUTCOME_UNKNOWN; stop sender OUTCOME_UNKNOWN; tell on-failure"},
			{"legacy, for long, by one node's word: waits", txn(tx.PhaseWatching, try(tx.Unknown, legacy, worked)),
				decides(sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.Agreed = false })), "absent; look in 0s"},
		}},
		{"REVISION, WAITING_INCLUSION: BUMP_AFTER slots in the pool", []sample{
			{"a new attempt, same nonce, higher fee, no retry", lingering(), decides(sees(tx.FatePooled, 0), longAgo),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 planned 7@150"},
			{"once more: above the dearest", txn(tx.PhaseWatching, try(tx.Sent, waited(250)), try(tx.Sent, fee(150), waited(295))),
				decides(sees(tx.FatePooled, 0), longAgo),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 sent 7@150; 3 planned 7@225"},
			{"not before the latest has waited so long",
				txn(tx.PhaseWatching, try(tx.Sent, waited(250)), try(tx.Sent, fee(150), waited(299))),
				decides(sees(tx.FatePooled, 0), longAgo),
				"pool; look in 3m0s"},
			{"signed again", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))), decides(sees(tx.FatePooled, 0), kept),
				"raising; resign 2"},
			{"or proved afresh", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))),
				decides(sees(tx.FatePooled, 0), kept, knows(func(l *Local) { l.NoResign = true })),
				"raising; prove 2"},
			{"stored", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))),
				learns(signed(Resign, 2), sees(tx.FatePooled, 0)),
				"answered; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 signed 7@150; " +
					"keep bytes of 2; confirm"},
			{"not made: the earlier one goes on waiting", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))),
				learns(fault(answer(Resign, 2), FaultError, "400")),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 dropped 7@150"},
			{"refused by every node", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Signed, fee(150))),
				learns(SendTold{Call: freshly(Send, 2), Refusal: refused("Insufficient_replace_fee", Refusal{})}, kept),
				"raising; REVISION, WAITING_INCLUSION; 1 sent 7@100; 2 refused 7@150; keep bytes of 1"},
			{"too young", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FatePooled, 0), longAgo), "pool; look in 3m0s"},
			{"at the cap: the same bytes", txn(tx.PhaseWatching, try(tx.Sent, fee(300))),
				decides(sees(tx.FatePooled, 0), aWhile, kept),
				"resending; send 1"},
			{"legacy: never", txn(tx.PhaseWatching, try(tx.Sent, legacy)), decides(sees(tx.FatePooled, 0), aWhile), "pool"},
			{"cancelled, or to end: never", txn(tx.PhaseWatching, try(tx.Sent), ending(tx.PhaseFailed)),
				decides(sees(tx.FatePooled, 0), longAgo),
				"pool; look in 10m0s"},
			{"a fee limit: waits at the fee it has", lingering(), learns(Denied{Why: Costly, Left: time.Hour}), "pool"},
		}},
	}
}

// settledRows are of what stands so deep that no other end is possible.
func settledRows() []row {
	permanent := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "Update_not_permitted", Permanent: true} }
	mendable := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "Precondition"} }
	return []row{
		{"REVISION, WAITING_INCLUSION: failed in a block SETTLE_DEPTH deep", []sample{
			{"mendable", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateFailed, 5, mendable)),
				"settled; RETRY, RETRY; 1 failed 7@100; error Precondition; drop bytes; B62a from nonce 8"},
			{"permanent", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateFailed, 5, permanent)),
				"settled; UNRESOLVED, FREE; 1 failed 7@100; error Update_not_permitted; drop bytes; " +
					"B62a from nonce 8; trusts; tell on-failure"},
			{"not deep enough", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateFailed, 4, permanent)), "failed-in"},
			{"not agreed", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateFailed, 9, func(g *tx.Sighting) { g.Agreed = false })),
				"failed-in"},
			{"by the archive's word alone: a person", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateFailed, 9, func(g *tx.Sighting) { g.Archived = true })),
				"settled; UNRESOLVED, FREE; 1 failed 7@100; error ; drop bytes; ask nonce; trusts; tell on-failure"},
			{"finished before", txn(tx.PhaseWatching, try(tx.Unknown), try(tx.Planned, over), ending(tx.PhaseDone)),
				decides(sees(tx.FateFailed, 5, mendable, func(g *tx.Sighting) { g.Hash = "5J1" })),
				"settled; DONE, FREE; 1 failed 7@100; 2 dropped 7@100; drop bytes; " +
					"B62a from nonce 8; trusts; tell on-success"},
			{"cancelled", txn(tx.PhaseWatching, try(tx.Sent), cancelling), decides(sees(tx.FateFailed, 5, mendable)),
				"cancelled; FAILED, FREE; 1 failed 7@100; cancel asked; error CANCELLED; event CANCELLED; " +
					"drop bytes; B62a from nonce 8; trusts; tell on-failure"},
			{"with another nonce than its legacy worker was given", txn(tx.PhaseWatching, try(tx.Sent, legacy)),
				decides(sees(tx.FateFailed, 5, mendable, func(g *tx.Sighting) { g.Nonce = 9 })),
				"ignored; REVISION, WAITING_INCLUSION; 1 legacy sent 7@100; error NONCE_IGNORED; " +
					"event NONCE_IGNORED"},
			{"and when that is noted: its sender goes on from the nonce that was spent",
				txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy(tx.CodeNonceIgnored))),
				decides(sees(tx.FateFailed, 5, mendable, func(g *tx.Sighting) { g.Nonce = 9 })),
				"settled; RETRY, RETRY; 1 legacy failed 7@100; error Precondition; drop bytes; B62a from nonce 10"},
		}},
		{"REVISION, WAITING_INCLUSION: expired, or its nonce spent by another", []sample{
			{"expired: its nonce stays", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)), decides(sees(tx.FateExpired, 5)),
				"settled; RETRY, RETRY; 1 expired 7@100; 2 dropped 7@100; error EXPIRED; drop bytes; " +
					"B62a from nonce 7"},
			{"expired while the network took nothing: signed again, and that is no try",
				txn(tx.PhaseWatching, try(tx.Signed, stalled)), decides(sees(tx.FateExpired, 5)),
				"settled; RETRY, DELAY; 1 expired 7@100; deferred 1; error EXPIRED; due in 30s; B62a from nonce 7"},
			{"and no more after its last", txn(tx.PhaseWatching, try(tx.Signed, stalled), cancelling), decides(sees(tx.FateExpired, 5)),
				"cancelled; FAILED, FREE; 1 expired 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
					"B62a from nonce 7; trusts; tell on-failure"},
			{"turned away by a gateway, while others passed: it ends with its words",
				txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)), decides(sees(tx.FateExpired, 5), othersPass),
				"settled; FAILED, FREE; 1 expired 7@100; error Gateway; drop bytes; B62a from nonce 7; " +
					"trusts; tell on-failure"},
			{"and none passed: signed again", txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)), decides(sees(tx.FateExpired, 5)),
				"settled; RETRY, DELAY; 1 expired 7@100; deferred 1; error EXPIRED; due in 30s; B62a from nonce 7"},
			{"a node shows it all the same: that is noted", txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)),
				decides(sees(tx.FatePooled, 0)), "pool; REVISION, WAITING_INCLUSION; 1 pooled 7@100"},
			{"a node takes it at last: that is noted", txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)),
				learns(SendTold{Call: calling(Send, 1), Accepted: true, Hash: "5J1"}),
				"sent; REVISION, WAITING_INCLUSION; 1 sent 7@100"},
			{"the network takes nothing any more: that is noted", txn(tx.PhaseWatching, try(tx.Sent)),
				learns(SendTold{Call: calling(Send, 1), Error: oops("After_slot_tx_end"),
					Refusal: &Refusal{Error: *oops("After_slot_tx_end"), Seen: true}}),
				"sent; REVISION, WAITING_INCLUSION; 1 sent 7@100"},
			{"once", txn(tx.PhaseWatching, try(tx.Sent, stalled)),
				learns(SendTold{Call: calling(Send, 1), Error: oops("After_slot_tx_end"),
					Refusal: &Refusal{Error: *oops("After_slot_tx_end"), Seen: true}}), "sent"},
			{"expired, not deep enough", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateExpired, 4)), "expired"},
			{"spent by another: its sender is stopped", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateDisplaced, 5)),
				"settled; RETRY, RETRY; 1 replaced 7@100; error NONCE_TAKEN; stop sender STOPPED_NONCE; " +
					"unless its next nonce is above 7; drop bytes; B62a from nonce 8"},
			{"of a train: those behind it may have gone on from there", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateDisplaced, 5), behindIt(member(8, tx.FateFailed))),
				"settled; RETRY, RETRY; 1 replaced 7@100; error NONCE_TAKEN; stop sender STOPPED_NONCE; " +
					"drop bytes; B62a from nonce 8; narrower"},
			{"spent by another, not deep enough", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateDisplaced, 4)),
				"displaced"},
			{"spent in a block that no node holds", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(func(v *View) { v.Sighting.Pruned = true }),
				"passed"},
			{"the nodes do not agree", txn(tx.PhaseWatching, try(tx.Sent)), decides(), "unclear"},
		}},
	}
}
