package explain

import (
	"testing"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// trainTold is said of what has others of its queue in flight with it, or before it.
func trainTold() []telling {
	named := func(uid string, m lifecycle.Member) lifecycle.Member {
		m.Txn.UID = uid
		return m
	}
	next := func(width int, last lifecycle.Member, more ...func(*Scene)) *Scene {
		first := named("one", member(7, tx.FateIncluded))
		all := append([]func(*Scene){behind(0, first.Txn), ahead(first, named("two", last))}, more...)
		s := scene(txn(tx.PhaseWaiting), all...)
		s.Width = width
		return s
	}
	after := ahead(named("one", member(5, tx.FateIncluded)), named("two", member(6, tx.FatePooled)))
	failed := ahead(named("one", member(5, tx.FateFailed)), named("two", member(6, tx.FatePooled)))
	const joins = "Next of its queue; it joins those in flight when a node has taken the last of them (two), " +
		"unless another queue waits for a sender.\nBEHIND, then BIND"
	made, ready := ahead(named("one", unmade(6))), ahead(named("one", lifecycle.Member{Txn: txn(tx.PhaseDispatching, early(6))}))
	const aheadOfIt = " 2 of its queue are in flight ahead of it; "
	return []telling{
		{"joins", next(2, member(8, tx.FatePooled)), joins},
		{"joins what is made", next(2, unmade(8)), joins},
		{"the second that waits", next(2, member(8, tx.FatePooled), func(s *Scene) { s.Place.Ahead = 1 }),
			"Fourth in its queue; the first (one) waits for a block.\nQUEUE_HEAD, then BIND"},
		{"joins what has not begun", next(2, lifecycle.Member{Txn: txn(tx.PhaseDispatching)}), joins},
		{"nothing joins what came back from its worker", next(2, lifecycle.Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, over))}),
			"Next of its queue; one in flight (two) will not come as it was to, and nothing joins.\nBROKEN, then BIND"},
		{"it failed itself, and those behind it do not need it", scene(txn(tx.PhaseFailing, try(tx.FailedIn, over)), atOnce,
			behindIt(member(8, tx.FatePooled))),
			"Its last try failed; its worker is asked whether there is another one. It is tried again when the 1 behind it, which " +
				"do not need it, have landed or cannot land.\n" +
				"BROKEN, then WEIGH 10:00\nfailed, block: failed in block 0, 0 deep when last stored"},
		{"asked again behind one", scene(txn(tx.PhaseDispatching, deferrals(1)), ahead(named("one", member(6, tx.FatePooled)))),
			"It went back to its place once; it is made again when the 1 ahead of it are in a block.\nHELD, then ASK_WORKER"},
		{"joins what waits for its turn", next(2, lifecycle.Member{Txn: txn(tx.PhaseDispatching, early(8))}), joins},
		{"joins where nothing has an order", next(2, unmade(8), atOnce),
			"Next of its queue; it joins those in flight when a node has taken the last of them (two), or their worker, " +
				"if it makes several at a time, has room for one more, unless another queue waits for a sender.\nBEHIND, then BIND"},
		{"with its worker along with another", scene(txn(tx.PhaseDispatching, try(tx.Planned, unplaced)), atOnce, made),
			"The worker of B62a is proving and signing attempt 1. 1 of its queue are in flight ahead of it; " +
				"the first in no block is one.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"proved before its turn", scene(txn(tx.PhaseDispatching, early(6)), atOnce, ready),
			"It was proved while one ahead of it was: it is signed at its nonce, and sent, when a node has taken that.\n" +
				"BEHIND, then ASK_WORKER\nprepared, nowhere: never sent: PROVED_AHEAD: because"},
		{"proved before its turn, and the first by now", scene(txn(tx.PhaseDispatching, early(6)), atOnce),
			"Its sender is bound; attempt 2 is being planned.\nNOTHING, then ASK_WORKER 10:00\n" +
				"prepared, nowhere: never sent: PROVED_AHEAD: because"},
		{"proved, and one ahead is lost", scene(txn(tx.PhaseDispatching, early(6)), atOnce, ready,
			ahead(named("two", lifecycle.Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))}))),
			"What is ahead of it (two) will not come as it was to: it goes back to its place, with its proof when it has one.\n" +
				"BROKEN, then BIND\nprepared, nowhere: never sent: PROVED_AHEAD: because"},
		{"over, and others are behind it", scene(txn(tx.PhaseWatching, try(tx.Planned, over, failedBy("E")), ending(tx.PhaseUnresolved)),
			behindIt(again(tx.PhaseDispatching, 5))),
			"Nothing of it is out, and it leaves its sender when the 1 behind it have gone back.\nBROKEN, then WATCH\n" +
				"prepared, nowhere: never sent: E: because"},
		{"one at a time", next(1, member(8, tx.FatePooled)),
			"Third in its queue; the first (one) waits for a block.\nQUEUE_HEAD, then BIND"},
		{"as many as may be", next(2, member(8, tx.FatePooled), ahead(named("three", member(9, tx.FatePooled)))),
			"Next of its queue; 2 of it are pending, and no more may be at once.\nBEHIND, then BIND"},
		{"alone", next(2, member(8, tx.FatePooled), func(s *Scene) { s.Barrier = "it or the one before it (two) goes alone" }),
			"Next of its queue; it waits for all in flight, because it or the one before it (two) goes alone.\nBARRIER, then BIND"},
		{"nothing joins what broke", next(2, member(8, tx.FateFailed)),
			"Next of its queue; one in flight (two) will not come as it was to, and nothing joins.\nBROKEN, then BIND"},
		{"paused amid", next(2, member(8, tx.FatePooled), func(s *Scene) { s.Paused = "maintenance" }),
			"Next of its queue; the queue is paused (maintenance), and nothing joins those in flight.\nHELD, then BIND"},
		{"on a sender that is drained", next(2, member(8, tx.FatePooled), pool(Candidate{AccountID: payer, Queue: "q", Reason: tx.Draining})),
			"Next of its queue; the sender of those in flight is out of use, and nothing joins them. B62a is DRAINING.\nHELD, then BIND"},
		{"on a sender that is drained, for who is limited", next(2, member(8, tx.FatePooled), limited,
			pool(Candidate{AccountID: payer, Queue: "q", Reason: tx.Draining})),
			"Next of its queue; the sender of those in flight is out of use, and nothing joins them.\nHELD, then BIND"},
		{"held amid", next(2, member(8, tx.FatePooled), func(s *Scene) { s.Place.Hold = now.Add(minutes(2)) }),
			"Next of its queue; the queue is tried again later, and until then nothing joins those in flight.\nHELD 10:02, then BIND"},
		{"not yet, amid", next(2, member(8, tx.FatePooled), func(s *Scene) { s.Txn.NotBefore = now.Add(minutes(2)) }),
			"It was posted to start no earlier than 2026-11-20T10:02:00Z.\nNOT_BEFORE 10:02, then BIND 10:02"},
		{"with its worker", scene(txn(tx.PhaseDispatching, try(tx.Planned)), after),
			"The worker of B62a is proving and signing attempt 1." + aheadOfIt +
				"the first in no block is two.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"with its worker once more", scene(txn(tx.PhaseDispatching, try(tx.Planned), deferrals(1)), after),
			"The worker of B62a is proving and signing attempt 1." + aheadOfIt +
				"the first in no block is two.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"with its worker, behind one in no block", scene(txn(tx.PhaseDispatching, try(tx.Planned)), ahead(named("one", member(6, tx.FatePooled)))),
			"The worker of B62a is proving and signing attempt 1. 1 of its queue are in flight ahead of it; " +
				"the first in no block is one.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"with its worker, while something is open, and one behind it", scene(txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			behindIt(member(8, tx.FatePooled))),
			"The worker of B62a is proving and signing attempt 2.\nWORKER 10:04, then SEND\nunknown, unknown: sent, and may land\n" +
				"prepared, nowhere: its worker has it"},
		{"to be sent", scene(txn(tx.PhaseSent, try(tx.Signed)), after),
			"Attempt 1 is signed and being sent to the Mina nodes." + aheadOfIt +
				"the first in no block is two.\nBEHIND, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"in a block", scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FateIncluded, 1), after),
			"In block 199, 1 of 2 blocks deep." + aheadOfIt + "the first in no block is two.\n" +
				"CONFIRMATIONS, then FINISH\nsent, block: succeeded in block 199, 1 deep"},
		{"deep enough, and those ahead are not", scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FateIncluded, 2), after),
			"In block 199, 2 of 2 blocks deep." + aheadOfIt + "the first in no block is two.\n" +
				"BEHIND, then FINISH\nsent, block: succeeded in block 199, 2 deep"},
		{"what it was made on failed", scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FatePooled, 0), failed),
			"In the pool of every synced node, waiting for a block. What is ahead of it (one) will not come as it was to: " +
				"the chain settles what becomes of it.\nBROKEN 12:15, then WATCH\nsent, pool: in the pool of every synced node"},
		{"what it was made on failed, and the one between is made anew", scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FatePooled, 0),
			ahead(named("one", member(5, tx.FateFailed)), named("two", unmade(6))), func(s *Scene) { s.Train.Builds = true }),
			"In the pool of every synced node, waiting for a block. What is ahead of it (one) will not come as it was to: " +
				"the chain settles what becomes of it.\nBROKEN 12:15, then WATCH\nsent, pool: in the pool of every synced node"},
		{"and the try that it made is over", scene(txn(tx.PhaseDispatching, try(tx.Dropped, over)), failed),
			"What is ahead of it (one) will not come as it was to: it goes back to its place, and is made anew.\n" +
				"BROKEN, then BIND\nprepared, nowhere: never sent"},
		{"and it is not made yet", scene(txn(tx.PhaseDispatching), failed),
			"What is ahead of it (one) will not come as it was to: it goes back to its place, and is made anew.\n" +
				"BROKEN, then BIND"},
		{"it failed itself", scene(txn(tx.PhaseFailing, try(tx.FailedIn, over)), behindIt(member(8, tx.FatePooled))),
			"Its last try failed; its worker is asked whether there is another one. Made on it were the 1 behind it: " +
				"nothing is tried before none of them can land.\n" +
				"BROKEN, then WEIGH 10:00\nfailed, block: failed in block 0, 0 deep when last stored"},
		{"it failed with one ahead, and keeps its place", scene(txn(tx.PhaseDispatching, try(tx.FailedIn, shallow), deferrals(1)),
			ahead(again(tx.PhaseDelayed, 6))),
			"It failed because one ahead of it had. It keeps its place, and is made anew when those ahead are in flight again " +
				"and half of them in a block.\nBROKEN, then ASK_WORKER\nfailed, block: failed in block 0, 0 deep when last stored"},
		{"asked again", scene(txn(tx.PhaseDispatching, deferrals(1)), after),
			"It went back to its place once; it is made again when the 2 ahead of it are in a block.\nHELD, then ASK_WORKER"},
		{"the first again, and one behind goes back", scene(txn(tx.PhaseDispatching, deferrals(1)), behindIt(unmade(8))),
			"Its sender is bound; attempt 1 is being planned.\nNOTHING, then ASK_WORKER 10:00"},
		{"the head", scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FatePooled, 0), behindIt(member(8, tx.FatePooled))),
			"In the pool of every synced node, waiting for a block.\nBLOCK 12:15, then RAISE_FEE 10:09\n" +
				"sent, pool: in the pool of every synced node"},
	}
}

// TestTrainDetail: what waits to join is told how many are in flight, and how many of them in no block.
func TestTrainDetail(t *testing.T) {
	t.Parallel()
	s := scene(txn(tx.PhaseWaiting), head, ahead(member(5, tx.FateIncluded), member(6, tx.FatePooled)))
	s.Width = 9
	if got := Explain(s).Wait.Detail; got != "2 in flight ahead, 1 of them in no block" {
		t.Error(got)
	}
}
