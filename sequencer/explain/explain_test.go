package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/txtest"
	"mina-sequencer/sequencer/tx"
)

// A telling is a scene and what is said of it.
type telling struct {
	name string
	in   *Scene
	want string
}

// TestExplain holds what is said of the main scenes against what a person should read.
func TestExplain(t *testing.T) {
	t.Parallel()
	codes := map[WaitCode]bool{}
	for _, all := range [][]telling{
		waitingTold(), dispatchingTold(), pooledTold(), deepTold(), passedTold(), retryTold(), endTold(),
		rareWaitsTold(), rareSentTold(), rareEndsTold(), deadlineTold(), batchesTold(), trainTold(),
	} {
		for _, c := range all {
			e := Explain(c.in)
			codes[e.Wait.Code] = true
			if got := brief(e); got != c.want {
				t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, c.want)
			}
			if e.State != c.in.Txn.State() || !e.Since.Equal(c.in.Txn.ChangedAt) {
				t.Errorf("%s: state %s since %v", c.name, e.State, e.Since)
			}
			if fault := badWords(&e); fault != "" {
				t.Errorf("%s: %s", c.name, fault)
			}
		}
	}
	for _, code := range txtest.Declared(t, "explanation.go", "WaitCode") {
		if !codes[WaitCode(code)] {
			t.Errorf("nothing waits for %s", code)
		}
	}
}

func waitingTold() []telling {
	waits := func() *tx.Transaction { return txn(tx.PhaseWaiting) }
	rested := Candidate{AccountID: "B62r", Reason: tx.Rested, Until: now.Add(minutes(4)), Detail: "its worker is down"}
	drained, busy := Candidate{AccountID: "B62d", Reason: tx.Draining}, Candidate{AccountID: "B62x", Queue: "x"}
	return []telling{
		{"third, running", scene(waits(), behind(1, txn(tx.PhaseWatching))),
			"Third in its queue; the first (one) waits for a block.\nQUEUE_HEAD, then BIND"},
		{"second, proving", scene(waits(), behind(0, txn(tx.PhaseDispatching))),
			"Second in its queue; the one before (one) is with its worker.\nQUEUE_HEAD, then BIND"},
		{"far, delayed", scene(waits(), behind(21, txn(tx.PhaseDelayed))),
			"23rd in its queue; the first (one) waits for its next try.\nQUEUE_HEAD, then BIND"},
		{"behind one that is not bound", scene(waits(), behind(1, waits()), pool(rested, drained)),
			"Second in its queue; the one before (one) is not bound yet: " +
				"no sender is free: 0 bound to other queues, 2 out of use. " +
				"B62r is RESTED: its worker is down.\nQUEUE_HEAD, then BIND"},
		{"paused", scene(waits(), head, func(s *Scene) { s.Paused = "maintenance" }),
			"First in its queue; the queue is paused: maintenance. 'sequencer queue resume q' ends that.\nPAUSED, then RESUME"},
		{"callback", scene(waits(), func(s *Scene) { s.Place = tx.Place{First: "u", Holder: "one", Hold: now.Add(minutes(2))} }),
			"First in its queue; the worker has not yet answered the callback of the one before (one).\n" +
				"CALLBACK 10:02, then BIND 10:02"},
		{"held for one before", scene(waits(), func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; the queue is tried again later, because one of it could not be dispatched; resume the " +
				"queue to try at once.\nHELD 10:02, then BIND 10:02"},
		{"held", scene(txn(tx.PhaseWaiting, wrong(tx.CodeUnavailable), deferrals(1)),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its worker was away or busy (because); the queue is tried again later.\n" +
				"WORKER 10:02, then BIND 10:02"},
		{"held for its next try", scene(txn(tx.PhaseWaiting, wrong("20202"), retried(1)),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its last try failed (because); retry 1 follows at 2026-11-20T10:02:00Z. Until then other " +
				"queues have its sender.\nRETRY_DELAY 10:02, then RETRY 10:02"},
		{"held for another, after an error and no retry", scene(txn(tx.PhaseWaiting, wrong("20202")),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; the queue is tried again later, because one of it could not be dispatched; resume the " +
				"queue to try at once.\nHELD 10:02, then BIND 10:02"},
		{"held, retried once and put off since", scene(txn(tx.PhaseWaiting, wrong(tx.CodeUnavailable), retried(1), deferrals(1)),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its worker was away or busy (because); the queue is tried again later.\n" +
				"WORKER 10:02, then BIND 10:02"},
		{"races", scene(waits(), head, pool(busy), func(s *Scene) { s.Race = "It races with p" }),
			"First in its queue; no sender is free: 1 bound to other queues, 0 out of use. It races with p.\nFREE_SENDER, then BIND"},
		{"held, beside others at work", scene(txn(tx.PhaseWaiting, wrong(tx.CodeUnavailable), deferrals(1)), pool(rested, busy, drained),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its worker was away or busy (because); the queue is tried again later. " +
				"2 of 3 senders are out of use; other queues go on with the rest.\nWORKER 10:02, then BIND 10:02"},
		{"held, and nobody is at work", scene(txn(tx.PhaseWaiting, wrong(tx.CodeUnavailable), deferrals(1)), pool(rested),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its worker was away or busy (because); the queue is tried again later. " +
				"All senders are out of use, so other queues wait, too.\nWORKER 10:02, then BIND 10:02"},
		{"held, told to a key with prefixes", scene(txn(tx.PhaseWaiting, wrong(tx.CodeUnavailable), deferrals(1)), pool(rested), limited,
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; its worker was away or busy (because); the queue is tried again later.\n" +
				"WORKER 10:02, then BIND 10:02"},
		{"free, and nobody binds it", scene(waits(), head, pool(Candidate{AccountID: "B62f"}), func(s *Scene) { s.Ready = now.Add(-time.Hour) }),
			"First in its queue; a sender is free, and no process has bound it since 2026-11-20T09:00:00Z; if that stays so, see that " +
				"a process runs that dispatches MINT, reaches the free sender's worker, and has room under SEQUENCER_CLAIM_LIMIT.\n" +
				"PROCESS, then BIND"},
		{"free, and the nodes hang", scene(waits(), head, pool(Candidate{AccountID: "B62f"}), func(s *Scene) {
			s.Ready, s.Tip.Fresh, s.Tip.At = now.Add(-time.Hour), false, now.Add(-time.Hour)
		}), "First in its queue; a sender is free, and no process has bound it since 2026-11-20T09:00:00Z; if that stays so, see " +
			"why the Mina nodes do not answer.\nNODES, then BIND"},
		{"doubted", scene(txn(tx.PhaseWaiting, wrong("500"), deferrals(1), doubts("B62a")), head, pool(rested)),
			"First in its queue; the worker of B62a calls it hopeless, as too many before it; that of another sender is asked (because). " +
				"No sender is free: 0 bound to other queues, 1 out of use. B62r is RESTED: its worker is down.\n" +
				"FREE_SENDER 10:04, then BIND"},
		{"another process dispatches it", scene(waits(), head, func(s *Scene) { s.Dispatched = false }),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"free, and its worker is gone", scene(waits(), head, pool(Candidate{AccountID: "B62f", Reason: tx.Idled,
			Detail: tx.Idle([]tx.Binder{{Process: "p", Types: []string{"MINT"}}}, "B62f", true)})),
			"First in its queue; sender B62f is free, but its worker belongs to a process that is gone, or does not take calls: " +
				"start that process again, see its log, or register the sender with another worker.\nPROCESS, then BIND"},
		{"free, and no process has room", scene(waits(), head, pool(Candidate{AccountID: "B62f", Reason: tx.Idled,
			Detail: tx.Idle([]tx.Binder{{Process: "p", Types: []string{"MINT"}, Why: "it drives 1 queues", Since: now}}, "", false)})),
			"First in its queue; sender B62f is free, but no process binds it: it drives 1 queues (process p, since " +
				"2026-11-20T10:00:00Z).\nPROCESS, then BIND"},
		{"the same, told to a key with prefixes", scene(waits(), head, pool(Candidate{AccountID: "B62f", Reason: tx.Idled}),
			func(s *Scene) { s.Limited = true }),
			"First in its queue; a sender is free, and no process can bind it now.\nPROCESS, then BIND"},
		{"no process", scene(waits(), head, func(s *Scene) { s.Dispatched, s.Living = false, nil }),
			"First in its queue; no process that runs dispatches MINT: start one that does.\nPROCESS, then BIND"},
		{"recovery", scene(waits(), head, func(s *Scene) { s.Shut = "Redis has forgotten" }),
			"First in its queue; nothing is bound now: Redis has forgotten.\nRECOVERY, then BIND"},
		{"no writes", scene(waits(), head, unstored),
			"Redis takes no writes since 2026-11-20T09:58:00Z (MISCONF), so nothing moves. It goes on by itself when Redis does.\n" +
				"STORE, then BIND"},
		{"no writes while its queue is held", scene(waits(), unstored, func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"Redis takes no writes since 2026-11-20T09:58:00Z (MISCONF), so nothing moves. It goes on by itself when Redis does.\n" +
				"STORE, then BIND"},
		{"no writes, told to a key with prefixes", scene(waits(), head, unstored, limited),
			"Redis takes no writes since 2026-11-20T09:58:00Z, so nothing moves. It goes on by itself when Redis does.\n" +
				"STORE, then BIND"},
		{"no writes, and it is over", scene(txn(tx.PhaseFailed, wrong("400")), unstored), "All tries are used up (because).\nNOTHING, then NONE"},
		{"no quorum", scene(waits(), head, fewNodes),
			"First in its queue; too few Mina nodes are synced to start anything: see why they are not.\nNODES, then BIND"},
		{"found", scene(txn(tx.PhaseWaiting, try(tx.Signed)), head),
			"First in its queue; an attempt of it was found on the chain or in a pool; it waits for the sender of that one.\n" +
				"FREE_SENDER, then BIND\nsigned, unknown: sent, and may land"},
		{"all busy", scene(waits(), head, pool(busy, rested, drained)),
			"First in its queue; no sender is free: 1 bound to other queues, 2 out of use. " +
				"B62r is RESTED: its worker is down.\nFREE_SENDER, then BIND"},
		{"all busy, and others before it", scene(waits(), head, pool(busy), func(s *Scene) { s.Before = 3 }),
			"First in its queue; no sender is free: 1 bound to other queues, 0 out of use. In the turn 3 others stand before its " +
				"queue.\nFREE_SENDER, then BIND"},
		{"all busy, and another before it", scene(waits(), head, pool(busy), func(s *Scene) { s.Before = 1 }),
			"First in its queue; no sender is free: 1 bound to other queues, 0 out of use. In the turn one other stands before " +
				"its queue.\nFREE_SENDER, then BIND"},
		{"free, and another before it", scene(waits(), head, pool(Candidate{AccountID: "B62f"}),
			func(s *Scene) { s.Before, s.Ready = 1, now.Add(-time.Hour) }),
			"First in its queue; a sender is free, and in the turn one other stands before its queue.\nFREE_SENDER, then BIND"},
		{"all rest", scene(waits(), head, pool(rested, drained)),
			"First in its queue; no sender is free: 0 bound to other queues, 2 out of use. " +
				"B62r is RESTED: its worker is down.\nFREE_SENDER 10:04, then BIND"},
		{"all rest, for who is limited", scene(waits(), head, pool(rested, drained), limited),
			"First in its queue; no sender is free: 0 bound to other queues, 2 out of use.\nFREE_SENDER, then BIND"},
		{"behind one that is not bound, for who is limited", scene(waits(), behind(1, waits()), pool(rested), limited),
			"Second in its queue; the one before (one) is not bound yet: " +
				"no sender is free: 0 bound to other queues, 1 out of use.\nQUEUE_HEAD, then BIND"},
		{"no sender", scene(waits(), head), "First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"about to, a cycle later", scene(waits(), head, pool(Candidate{}), func(s *Scene) {
			s.Policy.CycleInterval, s.Ready = minutes(1), now.Add(-minutes(1))
		}), "First in its queue; a sender is free and is bound to it now.\nNOTHING, then BIND 10:00"},
		{"about to for longer than a cycle", scene(waits(), head, pool(Candidate{}), func(s *Scene) {
			s.Policy.CycleInterval, s.Ready = minutes(1), now.Add(-minutes(1)-1)
		}), "First in its queue; a sender is free, and no process has bound it since 2026-11-20T09:58:59Z; if that stays so, see " +
			"that a process runs that dispatches MINT, reaches the free sender's worker, and has room under " +
			"SEQUENCER_CLAIM_LIMIT.\nPROCESS, then BIND"},
		{"about to", scene(waits(), head, pool(Candidate{})),
			"First in its queue; a sender is free and is bound to it now.\nNOTHING, then BIND 10:00"},
	}
}

func dispatchingTold() []telling {
	return []telling{
		{"planned", scene(txn(tx.PhaseDispatching)),
			"Its sender is bound; attempt 1 is being planned.\nNOTHING, then ASK_WORKER 10:00"},
		{"planned for longer than a cycle", scene(txn(tx.PhaseDispatching), func(s *Scene) { s.Txn.ChangedAt = now.Add(-minutes(1)) }),
			"Its sender is bound, and attempt 1 is not planned yet since 2026-11-20T09:59:00Z: its worker is asked who it is before, " +
				"and the Mina nodes for its account; if that stays so, see whether they answer.\nWORKER, then ASK_WORKER"},
		{"planned anew, just now", scene(txn(tx.PhaseDispatching, try(tx.Expired, func(a *tx.Attempt) { a.EndedAt = now })),
			func(s *Scene) { s.Txn.ChangedAt = now.Add(-minutes(1)) }),
			"Its sender is bound; attempt 2 is being planned.\nNOTHING, then ASK_WORKER 10:00\nexpired, nowhere: expired unspent"},
		{"its process is gone", scene(txn(tx.PhaseDispatching), func(s *Scene) { s.Living = []tx.Binder{{Process: "m"}} }),
			"The process that drives it is gone, or hangs; another one takes it over.\nPROCESS, then WATCH"},
		{"no process lives", scene(txn(tx.PhaseWatching, try(tx.Sent)), func(s *Scene) { s.Living = nil }),
			"The process that drives it is gone, or hangs, and none runs that could take it over: start one.\nPROCESS, then WATCH\n" +
				"sent, unknown: sent, and may land"},
		{"planned without nodes", scene(txn(tx.PhaseDispatching), fewNodes),
			"Its sender is bound; the attempt is planned when enough Mina nodes are synced.\nNODES, then ASK_WORKER"},
		{"proving", scene(txn(tx.PhaseDispatching, try(tx.Planned), losses(1))),
			"The worker of B62a is proving and signing attempt 1.\n" +
				"WORKER 10:14, then SEND\nprepared, nowhere: its worker has it: LOST: because"},
		{"waiting for a prover", scene(txn(tx.PhaseDispatching, try(tx.Planned)),
			func(s *Scene) { s.Unproved, s.Provers = now.Add(-minutes(3)), 2 }),
			"Attempt 1 waits for a prover since 2026-11-20T09:57:00Z: all 2 that make MINT are at work, and it takes the next " +
				"that is free. To wait less, add provers.\nWORKER, then ASK_WORKER\nprepared, nowhere: its worker has it"},
		{"legacy", scene(txn(tx.PhaseDispatching, try(tx.Planned, legacy))),
			"The worker of B62a proves and sends by itself attempt 1.\n" +
				"WORKER 10:04, then WATCH\nprepared, unknown: its worker proves and sends by itself"},
		{"cancelled", scene(txn(tx.PhaseDispatching, try(tx.Planned), cancelling)),
			"A cancel was asked for, and nothing of it has been sent: it ends now.\n" +
				"NOTHING, then END 10:00\nprepared, nowhere: its worker has it"},
		{"landed meanwhile", scene(txn(tx.PhaseDispatching, try(tx.Unknown)), shown(tx.FateIncluded, 2)),
			"An earlier attempt is in a block.\nNOTHING, then FINISH 10:00\nunknown, block: succeeded in block 199, 2 deep"},
		{"recovery", scene(txn(tx.PhaseDispatching), func(s *Scene) { s.Shut = "Redis has forgotten" }),
			"Its sender is bound, and nothing is asked or sent now: Redis has forgotten.\nRECOVERY, then ASK_WORKER"},
		{"recovery of the process that drives it", scene(txn(tx.PhaseDispatching, try(tx.Planned), cancelling),
			func(s *Scene) { s.Living[0].Shut = "it has just started" }),
			"Its sender is bound, and nothing is asked or sent now: it has just started.\nRECOVERY, then ASK_WORKER\n" +
				"prepared, nowhere: its worker has it"},
	}
}

func pooledTold() []telling {
	sent := func(p ...part) *tx.Transaction { return txn(tx.PhaseWatching, append([]part{try(tx.Sent)}, p...)...) }
	worked := func(a *tx.Attempt) { legacy(a); a.StartedAt = now.Add(-51 * time.Minute) }
	nowhere := "sent, nowhere: in no pool and no block, and may still land"
	return []telling{
		{"pooled", scene(sent(), shown(tx.FatePooled, 0)),
			"In the pool of every synced node, waiting for a block.\n" +
				"BLOCK 12:15, then RAISE_FEE 10:09\nsent, pool: in the pool of every synced node"},
		{"pooled at the cap", scene(txn(tx.PhaseWatching, try(tx.Sent, fee(300))), shown(tx.FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\n" +
				"BLOCK 12:15, then SEND_AGAIN\nsent, pool: in the pool of at least one node"},
		{"pooled, at what the market asks for", scene(sent(), shown(tx.FatePooled, 0), func(s *Scene) {
			s.Policy.FeeAuto, s.Policy.FeeTarget, s.Market.Weight = true, 2, 3
			s.Market.Looks = []fees.Look{{At: now.Add(-minutes(1)), Size: 40, Ranks: []uint64{0, 29}}}
		}), "In the pool of every synced node, waiting for a block. It pays what the market asks for.\n" +
			"BLOCK 12:15, then SEND_AGAIN\nsent, pool: in the pool of every synced node"},
		{"pooled, cancelled", scene(sent(cancelling), shown(tx.FatePooled, 0)),
			"In the pool of every synced node, waiting for a block. No further attempt is made: a cancel was asked for.\n" +
				"EXPIRY 12:15, then WATCH 10:00\nsent, pool: in the pool of every synced node"},
		{"absent", scene(sent(), shown(tx.FateAbsent, 0)),
			"It was sent, and no node shows it; the same bytes are sent again.\nBLOCK 12:15, then SEND_AGAIN\n" + nowhere},
		{"absent, the network takes nothing", scene(txn(tx.PhaseWatching, try(tx.Signed, stalled)), shown(tx.FateAbsent, 0)), "The network takes nothing from anybody (because); the same bytes are sent again, and signed " +
			"again when they have run out: see when the network goes on.\nBLOCK 12:15, then SEND_AGAIN\n" +
			"signed, nowhere: in no pool and no block, and may still land: After_slot_tx_end: because"},
		{"absent, turned away", scene(sent(func(t *tx.Transaction) {
			turnedAway(t.Last())
			t.ChangedAt = now.Add(-time.Hour)
		}), shown(tx.FateAbsent, 0)), "No node was seen to take it, though it is sent again and again since 2026-11-20T09:00:00Z (because): " +
			"see to the nodes, and to what stands in front of them.\nBLOCK 12:15, then SEND_AGAIN\n" + nowhere + ": Gateway: because"},
		{"absent, ending", scene(sent(ending(tx.PhaseFailed)), shown(tx.FateAbsent, 0)),
			"It was sent, and no node shows it; it may still land. No further attempt is made.\n" +
				"EXPIRY 12:15, then END 12:15\n" + nowhere},
		{"absent, legacy", scene(txn(tx.PhaseWatching, try(tx.Unknown, legacy)), shown(tx.FateAbsent, 0)),
			"Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.\n" +
				"BLOCK, then RESOLVE 10:14\nunknown, nowhere: in no pool and no block, and may still land"},
		{"legacy in some pools", scene(txn(tx.PhaseWatching, try(tx.Unknown, legacy)), shown(tx.FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\n" +
				"BLOCK, then WATCH 10:00\nunknown, pool: in the pool of at least one node"},
		{"legacy stuck in some pools", scene(txn(tx.PhaseWatching, try(tx.Unknown, worked)), shown(tx.FatePooled, 0, disagreed)),
			"In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: " +
				"have its worker send it again, or restart the nodes that show it and resolve it then.\n" +
				"PERSON, then WATCH 10:00\nunknown, pool: in the pool of at least one node"},
		{"unasked", scene(sent()), "It was sent and waits for a block. The process that watches it knows more.\n" +
			"BLOCK 12:15, then WATCH\nsent, unknown: sent, and may land"},
		{"no quorum, sent", scene(sent(), looked, fewNodes),
			"It was sent; too few Mina nodes are synced to say what became of it.\n" +
				"NODES, then WATCH 10:00\nsent, unknown: sent, and may land"},
		{"no agreement", scene(sent(), looked),
			"It was sent; the nodes do not agree yet on what became of it.\n" +
				"BLOCK 12:15, then WATCH 10:00\nsent, unknown: sent, and may land"},
	}
}

func deepTold() []telling {
	sent := func() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent)) }
	because := func(permanent bool) func(*tx.Sighting) {
		return func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "Precondition", Permanent: permanent} }
	}
	counts := "; that counts when it stands 5 blocks deep, now 2.\nSETTLEMENT, then "
	return []telling{
		{"confirming", scene(sent(), shown(tx.FateIncluded, 1)),
			"In block 199, 1 of 2 blocks deep.\nCONFIRMATIONS, then FINISH\nsent, block: succeeded in block 199, 1 deep"},
		{"in one node's block", scene(sent(), shown(tx.FateIncluded, 0, disagreed)),
			"In block 199, the nodes do not all say so yet.\n" +
				"CONFIRMATIONS, then FINISH\nsent, block: succeeded in block 199, 0 deep"},
		{"failed, unsettled", scene(sent(), shown(tx.FateFailed, 2, because(false))),
			"It failed in block 199 (Precondition)" + counts + "RETRY\nsent, block: failed in block 199, 2 deep"},
		{"failed for good", scene(sent(), shown(tx.FateFailed, 2, because(true))),
			"It failed in block 199 (Precondition)" + counts + "END\nsent, block: failed in block 199, 2 deep"},
		{"expired", scene(sent(), shown(tx.FateExpired, 2)),
			"Its attempt has expired" + counts + "RETRY\nsent, unknown: sent, and may land"},
		{"displaced", scene(sent(), shown(tx.FateDisplaced, 2)),
			"Its nonce was spent by a command that is not ours" + counts + "RETRY\nsent, unknown: sent, and may land"},
	}
}

func passedTold() []telling {
	const gone = "Its nonce was spent in a block that the nodes no longer hold"
	const look = " Look for it, and say by resolve whether it landed.\n" +
		"PERSON, then RESOLVE\nsent, unknown: sent, and may land"
	sent := func() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent)) }
	sought := func(s *Scene) { s.Sighting.Sought = true }
	down := func(s *Scene) { s.Tip.ArchiveLost = "timeout" }
	return []telling{
		{"no archive", scene(sent(), passedBlock, noArchive), gone + ", and there is no archive to ask." + look},
		{"archive in vain", scene(sent(), passedBlock, sought), gone + ", and the archive does not show it there." + look},
		{"archive down", scene(sent(), passedBlock, down),
			gone + ", and the archive cannot be asked.\nSETTLEMENT, then WATCH 10:00\nsent, unknown: sent, and may land"},
		{"searching", scene(sent(), passedBlock),
			gone + "; the archive is being searched.\nSETTLEMENT, then WATCH 10:00\nsent, unknown: sent, and may land"},
		{"done", scene(txn(tx.PhaseDone, try(tx.Included, block), landedBy(1)), passedBlock, noArchive),
			"It took effect in block 190, when that was last seen. " + gone + ", and there is no archive to ask.\n" +
				"FINALITY, then WATCH\nincluded, block: succeeded in block 190, 2 deep when last stored"},
	}
}

func retryTold() []telling {
	failure := func(t *tx.Transaction) { t.Error = &tx.Error{Code: "20202", Message: "proof\nfailed"} }
	return []telling{
		{"failing", scene(txn(tx.PhaseFailing, failure)),
			"Its last try failed (proof failed); its worker is asked whether there is another one.\nWORKER, then WEIGH 10:00"},
		{"delayed", scene(txn(tx.PhaseDelayed, failure, retried(1), due(minutes(3)), try(tx.Planned, over))),
			"Its last try failed (proof failed). One retry used.\n" +
				"RETRY_DELAY 10:03, then RETRY 10:03\nprepared, nowhere: never sent"},
		{"delayed, open", scene(txn(tx.PhaseDelayed, failure, deferrals(1), due(minutes(3)), try(tx.Unknown))),
			"It could not be tried (proof failed). An earlier attempt may still land. No retry used.\n" +
				"RETRY_DELAY 10:03, then RETRY 10:03\nunknown, unknown: sent, and may land"},
		{"used up", scene(txn(tx.PhaseFailed, failure, try(tx.Expired, over))),
			"All tries are used up (proof failed).\nNOTHING, then NONE\nexpired, nowhere: expired unspent"},
		{"cancelled", scene(txn(tx.PhaseFailed, wrong(tx.CodeCancelled))),
			"It was cancelled before it took effect.\nNOTHING, then NONE"},
		{"unresolved", scene(txn(tx.PhaseUnresolved, failure)), "No retry can mend it (proof failed).\nPERSON, then DECIDE"},
		{"outcome unknown", scene(txn(tx.PhaseUnresolved, try(tx.Unknown, legacy)), shown(tx.FateAbsent, 0)),
			"Nobody knows what became of its attempt. Look for it, and say by resolve whether it landed.\n" +
				"PERSON, then RESOLVE\nunknown, nowhere: in no pool and no block, and may still land"},
	}
}

func endTold() []telling {
	by := func(parts ...part) *tx.Transaction { return txn(tx.PhaseDone, append(parts, landedBy(1))...) }
	const was = "It was DONE, and block 190 is no longer on the chain"
	const stored = "\nincluded, block: succeeded in block 190, 2 deep when last stored"
	worked := func(a *tx.Attempt) { legacy(a); block(a); a.StartedAt = now.Add(-51 * time.Minute) }
	return []telling{
		{"done", scene(by(try(tx.Included, block)), shown(tx.FateIncluded, 6)),
			"It took effect in block 190, and is watched until that is 8 blocks deep.\n" +
				"FINALITY, then FINAL\nincluded, block: succeeded in block 199, 6 deep"},
		{"final", scene(by(try(tx.Included, block), final)),
			"It took effect in block 190, for good.\nNOTHING, then REMOVE 09:59" + stored},
		{"resolved", scene(by(try(tx.Included, over), final)),
			"It took effect, as a person said, for good.\n" +
				"NOTHING, then REMOVE 09:59\nincluded, block: succeeded, as a person said"},
		{"finished", scene(txn(tx.PhaseDone, final, func(t *tx.Transaction) { t.Callback, t.CallbackTries = tx.OnSuccess, 2 })),
			"Its worker finished it without a block. Its worker has not yet answered the callback, told twice.\n" +
				"CALLBACK, then TELL"},
		{"reopened", scene(by(try(tx.Included, block), orphan), shown(tx.FateAbsent, 0)),
			was + "; the same bytes are sent again until it lands or cannot.\nBLOCK, then SEND_AGAIN" + stored},
		{"reopened, legacy", scene(by(try(tx.Included, legacy, block), orphan), shown(tx.FateAbsent, 0)),
			was + ". Only its worker has its bytes: it lands if a node still has it or the worker sends it again. " +
				"If no node shows it for long, a person has to settle it.\nBLOCK, then WATCH 10:00" + stored},
		{"reopened, legacy in pools", scene(by(try(tx.Included, legacy, block), orphan), shown(tx.FatePooled, 0, disagreed)),
			was + ". In the pool of at least one node, waiting for another block.\nBLOCK, then WATCH 10:00" + stored},
		{"reopened, legacy stuck", scene(by(try(tx.Included, worked), orphan), shown(tx.FatePooled, 0, disagreed)),
			was + ". In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: " +
				"have its worker send it again, or restart the nodes that show it and resolve it then.\n" +
				"PERSON, then WATCH 10:00" + stored},
	}
}

// rareWaitsTold is of what seldom keeps a transaction from its worker.
func rareWaitsTold() []telling {
	waits := func() *tx.Transaction { return txn(tx.PhaseWaiting) }
	ago := func(d time.Duration) func(*Scene) {
		return func(s *Scene) { fewNodes(s); s.Tip.At = s.Now.Add(-d) }
	}
	never := func(s *Scene) { fewNodes(s); s.Tip.At = time.Time{} }
	elsewhere := func(s *Scene) { s.Dispatched = false; s.First.Type = "BURN" }
	rests := func(id string, d time.Duration) Candidate {
		return Candidate{AccountID: id, Reason: tx.Rested, Until: now.Add(d)}
	}
	planned := txn(tx.PhaseDispatching, try(tx.Planned))
	return []telling{
		{"of one that nobody dispatches", scene(waits(), behind(1, waits()), elsewhere, func(s *Scene) { s.Living[0].Types = nil }),
			"Second in its queue; the one before (one) is not bound yet: no process that runs dispatches BURN: start one that does.\n" +
				"QUEUE_HEAD, then BIND"},
		{"dispatched here, which is not told yet", scene(waits(), head, func(s *Scene) { s.Living = nil }),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"a batch, by who has its ledger alone", scene(waits(), head, func(s *Scene) { s.Txn.Ledger, s.Dispatched = "saw", false }),
			"First in its queue; no process that runs dispatches MINT: start one that does.\nPROCESS, then BIND"},
		{"the first is of another type", scene(waits(), behind(1, waits()), elsewhere),
			"Second in its queue; the one before (one) is not bound yet: no sender is registered.\n" +
				"QUEUE_HEAD, then BIND"},
		{"looked at in time", scene(waits(), head, ago(20*time.Second)),
			"First in its queue; too few Mina nodes are synced to start anything: see why they are not.\nNODES, then BIND"},
		{"looked at too long ago", scene(waits(), head, ago(21*time.Second)),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"never looked at", scene(waits(), head, never),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"the first that comes back",
			scene(waits(), head, pool(rests("B62r", minutes(4)), rests("B62s", minutes(2)), rests("B62t", minutes(3)))),
			"First in its queue; no sender is free: 0 bound to other queues, 3 out of use. B62r is RESTED.\n" +
				"FREE_SENDER 10:02, then BIND"},
		{"planned, and never looked at", scene(txn(tx.PhaseDispatching), never),
			"Its sender is bound; attempt 1 is being planned.\nNOTHING, then ASK_WORKER 10:00"},
		{"proving, with few nodes", scene(planned, fewNodes),
			"The worker of B62a is proving and signing attempt 1.\n" +
				"WORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"asked for the first time", scene(planned),
			"The worker of B62a is proving and signing attempt 1.\n" +
				"WORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"planned anew", scene(txn(tx.PhaseDispatching, try(tx.Expired, over), retried(1))),
			"Its sender is bound; attempt 2 is being planned.\n" +
				"NOTHING, then ASK_WORKER 10:00\nexpired, nowhere: expired unspent"},
	}
}

// rareSentTold is of what seldom becomes of what was sent.
func rareSentTold() []telling {
	sent := func(p ...part) *tx.Transaction { return txn(tx.PhaseSent, append([]part{try(tx.Signed)}, p...)...) }
	waits := func(p ...part) *tx.Transaction { return txn(tx.PhaseWatching, append([]part{try(tx.Sent)}, p...)...) }
	old := func(d time.Duration) func(*tx.Attempt) { return func(a *tx.Attempt) { a.StartedAt = now.Add(-d) } }
	by := func(d time.Duration, c ...func(*tx.Attempt)) *tx.Transaction {
		return txn(tx.PhaseWatching, try(tx.Sent, append(c, old(d))...))
	}
	unasked := func(s *Scene) { s.Sighting = tx.Sighting{} }
	timeless := func(s *Scene) { s.Tip.SlotTime = 0 }
	unlooked := func(s *Scene) { s.Tip.At = time.Time{} }
	ofFirst := func(g *tx.Sighting) { g.Hash = "5J1" }
	const pooled = "In the pool of every synced node, waiting for a block.\n"
	return []telling{
		{"being sent, and not asked", scene(sent(), unasked),
			"Attempt 1 is signed and being sent to the Mina nodes.\n" +
				"SENDING, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"stored, and no replica confirms it", scene(sent(), unasked, func(s *Scene) {
			s.Txn.Claim, s.Living = "p:7", []tx.Binder{{Process: "p", Unconfirmed: now.Add(-minutes(3))}}
		}), "Attempt 1 is signed and stored, and is sent when the replicas of Redis that SEQUENCER_REDIS_WAIT asks for have confirmed " +
			"that; too few do since 2026-11-20T09:57:00Z: see why they are away.\nSENDING, then SEND\nsigned, unknown: sent, and may land"},
		{"of another process: nor", scene(sent(), unasked, func(s *Scene) {
			s.Txn.Claim, s.Living = "p2:7", []tx.Binder{{Process: "p", Unconfirmed: now.Add(-minutes(3))}, {Process: "p2"}}
		}), "Attempt 1 is signed and being sent to the Mina nodes.\n" +
			"SENDING, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"being sent, cancelled", scene(sent(cancelling), looked),
			"Attempt 1 is signed and being sent to the Mina nodes. No further attempt is made: a cancel was asked for.\n" +
				"SENDING, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"being sent, and in a pool", scene(sent(), shown(tx.FatePooled, 0)),
			pooled + "BLOCK 12:15, then RAISE_FEE 10:09\nsigned, pool: in the pool of every synced node"},
		{"being sent, and its nonce was spent", scene(sent(), passedBlock, noArchive),
			"Its nonce was spent in a block that the nodes no longer hold, and there is no archive to ask. " +
				"Look for it, and say by resolve whether it landed.\n" +
				"PERSON, then RESOLVE\nsigned, unknown: sent, and may land"},
		{"sent by its worker", scene(txn(tx.PhaseSent, try(tx.Sent, legacy)), unasked),
			"It was sent and waits for a block. The process that watches it knows more.\n" +
				"BLOCK, then WATCH\nsent, unknown: sent, and may land"},
		{"long in all pools, legacy", scene(by(minutes(51), legacy), shown(tx.FatePooled, 0)),
			pooled + "BLOCK, then WATCH 10:00\nsent, pool: in the pool of every synced node"},
		{"long in some pools", scene(by(minutes(51)), shown(tx.FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\n" +
				"BLOCK 12:15, then RAISE_FEE 10:09\nsent, pool: in the pool of at least one node"},
		{"fifty minutes in some pools, legacy", scene(by(toldFor, legacy), shown(tx.FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\n" +
				"BLOCK, then WATCH 10:00\nsent, pool: in the pool of at least one node"},
		{"long in one block, legacy", scene(by(minutes(51), legacy), shown(tx.FateAbsent, 0, disagreed)),
			"Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.\n" +
				"BLOCK, then RESOLVE 09:29\nsent, nowhere: in no pool and no block, and may still land"},
		{"expired, to end", scene(waits(ending(tx.PhaseFailed)), shown(tx.FateExpired, 2)),
			"Its attempt has expired; that counts when it stands 5 blocks deep, now 2. No further attempt is made.\n" +
				"SETTLEMENT, then END\nsent, unknown: sent, and may land"},
		{"expired, cancelled", scene(waits(cancelling), shown(tx.FateExpired, 2)),
			"Its attempt has expired; that counts when it stands 5 blocks deep, now 2. " +
				"No further attempt is made: a cancel was asked for.\n" +
				"SETTLEMENT, then END\nsent, unknown: sent, and may land"},
		{"slots of unknown length", scene(waits(), shown(tx.FatePooled, 0), timeless),
			pooled + "BLOCK, then RAISE_FEE\nsent, pool: in the pool of every synced node"},
		{"never looked at the chain", scene(waits(), shown(tx.FatePooled, 0), unlooked),
			pooled + "BLOCK, then RAISE_FEE\nsent, pool: in the pool of every synced node"},
		{"one of two in a pool", scene(waits(try(tx.Sent)), shown(tx.FatePooled, 0, ofFirst)),
			pooled + "BLOCK 12:15, then RAISE_FEE 10:09\n" +
				"sent, pool: in the pool of every synced node\nsent, unknown: sent, and may land"},
		{"after an error", scene(txn(tx.PhaseWatching, try(tx.Unknown, failedBy("20203"))), shown(tx.FateAbsent, 0)),
			"It was sent, and no node shows it; the same bytes are sent again.\n" +
				"BLOCK 12:15, then SEND_AGAIN\nunknown, nowhere: in no pool and no block, and may still land: 20203: because"},
	}
}

// rareEndsTold is of rare ends.
func rareEndsTold() []telling {
	tell := func(t *tx.Transaction) { t.Callback, t.CallbackTries = tx.OnFailure, 1 }
	old := func(d time.Duration) func(*tx.Attempt) {
		return func(a *tx.Attempt) { legacy(a); block(a); a.StartedAt = now.Add(-d) }
	}
	low := func(a *tx.Attempt) { block(a); a.Height = 1 }
	lost := func(d time.Duration) *tx.Transaction {
		return txn(tx.PhaseDone, try(tx.Included, old(d)), landedBy(1), orphan)
	}
	return []telling{
		{"failed, and may land", scene(txn(tx.PhaseFailed, try(tx.Unknown), wrong("400")), shown(tx.FateAbsent, 0)),
			"All tries are used up (because). An attempt may still land.\n" +
				"EXPIRY 12:15, then WATCH\nunknown, nowhere: in no pool and no block, and may still land"},
		{"failed, and may land whenever its worker likes", scene(txn(tx.PhaseFailed, try(tx.Unknown, legacy), wrong("400"))),
			"All tries are used up (because). An attempt may still land.\n" +
				"EXPIRY, then WATCH\nunknown, unknown: sent, and may land"},
		{"failed, and its worker does not know", scene(txn(tx.PhaseFailed, try(tx.Expired, over), tell)),
			"All tries are used up. Its worker has not yet answered the callback, told once.\n" +
				"NOTHING, then NONE\nexpired, nowhere: expired unspent"},
		{"done, and its worker does not know", scene(txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), tell)),
			"It took effect in block 190, and is watched until that is 8 blocks deep. " +
				"Its worker has not yet answered the callback, told once.\n" +
				"FINALITY, then FINAL\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"done, and nothing more is known", scene(txn(tx.PhaseDone)),
			"It is DONE.\nNOTHING, then NONE"},
		{"done in the first block", scene(txn(tx.PhaseDone, try(tx.Included, low), landedBy(1))),
			"It took effect in block 1, and is watched until that is 8 blocks deep.\n" +
				"FINALITY, then FINAL\nincluded, block: succeeded in block 1, 2 deep when last stored"},
		{"deep enough, and not noted yet", scene(txn(tx.PhaseDone, try(tx.Included, block), landedBy(1)), shown(tx.FateIncluded, 8)),
			"It took effect in block 190, and is watched until that is 8 blocks deep.\n" +
				"FINALITY, then FINAL\nincluded, block: succeeded in block 199, 8 deep"},
		{"reopened, legacy, in no pool for long", scene(lost(minutes(51)), shown(tx.FateAbsent, 0, disagreed)),
			"It was DONE, and block 190 is no longer on the chain. Only its worker has its bytes: it lands " +
				"if a node still has it or the worker sends it again. If no node shows it for long, a person has to settle it.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"reopened, legacy, fifty minutes in some pools", scene(lost(toldFor), shown(tx.FatePooled, 0, disagreed)),
			"It was DONE, and block 190 is no longer on the chain. " +
				"In the pool of at least one node, waiting for another block.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"reopened, legacy, long in all pools", scene(lost(minutes(51)), shown(tx.FatePooled, 0)),
			"It was DONE, and block 190 is no longer on the chain. " +
				"In the pool of every synced node, waiting for another block.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
	}
}

// TestDetails: what a wait's detail says, and of which attempts all nodes say the same.
func TestDetails(t *testing.T) {
	t.Parallel()
	waits := txn(tx.PhaseWaiting)
	sent := func(a ...func(*tx.Attempt)) *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent, a...)) }
	done := txn(tx.PhaseDone, try(tx.Included, block), landedBy(1))
	down := func(s *Scene) { s.Tip.ArchiveLost = "timeout" }
	for name, c := range map[string]struct {
		in     *Scene
		want   string
		agreed bool
	}{
		"third":            {scene(waits, behind(1, txn(tx.PhaseWatching))), "2 before it", false},
		"no sender":        {scene(waits, head), "none is registered", false},
		"asked in vain":    {scene(txn(tx.PhaseDispatching, try(tx.Planned), losses(2))), "asked twice in vain", false},
		"asked once":       {scene(txn(tx.PhaseDispatching, try(tx.Planned), losses(1))), "asked once in vain", false},
		"not asked before": {scene(txn(tx.PhaseDispatching, try(tx.Planned))), "", false},
		"in a ledger":      {scene(batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final)), "", true},
		"in a block":       {scene(sent(), shown(tx.FateIncluded, 1)), "1 of 2 blocks deep", true},
		"in one's block":   {scene(sent(), shown(tx.FateIncluded, 1, disagreed)), "the nodes do not all say so yet", false},
		"in all pools":     {scene(sent(), shown(tx.FatePooled, 0)), "the pool of every synced node", true},
		"in a pool":        {scene(sent(), shown(tx.FatePooled, 0, disagreed)), "the pool of at least one node", false},
		"nowhere":          {scene(sent(), shown(tx.FateAbsent, 0)), "in no pool and no block", true},
		"not all say so":   {scene(sent(), shown(tx.FateAbsent, 0, disagreed)), "in no pool and no block", false},
		"the archive":      {scene(sent(), passedBlock), "the archive", false},
		"archive is down":  {scene(sent(), passedBlock, down), "timeout", false},
		"no archive":       {scene(sent(), passedBlock, noArchive), "what became of attempt 1", false},
		"watched":          {scene(done, shown(tx.FateIncluded, 6)), "6 of 8 blocks deep", true},
		"watched, unasked": {scene(done, func(s *Scene) { s.Sighting = tx.Sighting{} }), "", false},
		"watched, unknown": {scene(done, looked), "", false},
	} {
		e := Explain(c.in)
		agreed := len(e.Attempts) > 0 && e.Attempts[0].Agreed
		if e.Wait.Detail != c.want || agreed != c.agreed {
			t.Errorf("%s: %q, agreed %t; want %q", name, e.Wait.Detail, agreed, c.want)
		}
	}
}

// TestLongestPatience: nothing comes about before now, however long it is waited for.
func TestLongestPatience(t *testing.T) {
	t.Parallel()
	long := func(s *Scene) { s.Policy.BumpAfter = math.MaxUint32 }
	e := Explain(scene(txn(tx.PhaseWatching, try(tx.Sent)), shown(tx.FatePooled, 0), long))
	if e.Next.Action != StepRaiseFee || e.Next.At.Before(now) {
		t.Errorf("%+v", e.Next)
	}
	forever := func(a *tx.Attempt) { a.ValidUntil = math.MaxUint32 }
	if e := Explain(scene(txn(tx.PhaseWatching, try(tx.Sent, forever)), looked)); e.Wait.Until.Before(now) {
		t.Errorf("%+v", e.Wait)
	}
}

// TestScatter: there are words for a record put together from parts, whether a life leads to it or not,
// whatever is known around it.
func TestScatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		s := scattered(r)
		if e := Explain(s); badWords(&e) != "" {
			t.Fatalf("%s: %+v\nof %+v", badWords(&e), e, s.Txn)
		}
	}
}

// scattered is a scene of which anything may be known.
func scattered(r *rand.Rand) *Scene {
	s, yes := scene(txtest.Scattered(r)), func() bool { return r.IntN(3) == 0 }
	if w, some := lifecycle.WatchOf(s.Txn, "memo"); some {
		s.Sighting = txtest.Sighted(r, &w)
	}
	if yes() {
		s.Txn.Ledger, s.Batch.Known, s.Batch.Idempotent = "saw", yes(), yes()
		s.Batch.Seen.State = txtest.Pick(r, lifecycle.BatchUnknown, lifecycle.BatchPending)
		s.Batch.Seen.At, s.Batch.Seen.Asked = txtest.Pick(r, time.Time{}, now), txtest.Pick(r, time.Time{}, now)
	}
	for ; yes(); s.Train.Commuting = yes() {
		t := txtest.Scattered(r)
		m := lifecycle.Member{Txn: t, Sighting: txtest.Shown(t, txtest.Pick(r, tx.FatePooled, tx.FateFailed), 1)}
		txtest.Pick(r, ahead, behindIt)(m)(s)
		s.Width = 2
	}
	s.Txn.ExpiresAt = txtest.Pick(r, time.Time{}, now, now.Add(time.Hour))
	s.Place = tx.Place{Ahead: r.IntN(3), Hold: txtest.Pick(r, time.Time{}, now.Add(time.Hour))}
	s.First = txtest.Pick(r, nil, txtest.Scattered(r))
	s.Pool = txtest.Pick(r, nil, []Candidate{{AccountID: "B62f"}}, []Candidate{{AccountID: "B62r", Reason: tx.Rested}, {AccountID: "B62x", Queue: "x"}})
	s.Paused, s.Barrier = txtest.Pick(r, "", "a break"), txtest.Pick(r, "", "it goes alone")
	s.Shut, s.Tip.ArchiveLost = txtest.Pick(r, "", "it waits"), txtest.Pick(r, "", "timeout")
	s.Asked, s.Dispatched, s.Limited, s.Tip.Quorum, s.Tip.NoArchive = yes(), yes(), yes(), yes(), yes()
	s.Tip.At, s.Tip.SlotTime = txtest.Pick(r, time.Time{}, clock), txtest.Pick(r, 0, minutes(3))
	s.Unproved, s.Provers = txtest.Pick(r, time.Time{}, now), r.IntN(3)
	if yes() {
		s.Living = nil
	}
	return s
}

// TestWords: numbers in words, and texts that are cut.
func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "First", 2: "Second", 10: "Tenth", 11: "11th", 12: "12th", 13: "13th", 14: "14th", 20: "20th", 21: "21st",
		22: "22nd", 23: "23rd", 24: "24th", 101: "101st", 111: "111th", 112: "112th", 211: "211th", 1012: "1012th",
	} {
		if got := ordinal(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for n, want := range []string{"never", "once", "twice", "3 times"} {
		if got := times(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for n, want := range []string{"no retry", "one retry", "2 retries"} {
		if got := retries(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}

// deadlineTold are scenes of what has terms.
func deadlineTold() []telling {
	later := func(t *tx.Transaction) { t.NotBefore = now.Add(minutes(5)) }
	gone := sees(tx.FateExpired, 2)
	return []telling{
		{"not before", scene(txn(tx.PhaseWaiting, later), head),
			"First in its queue; it was posted to start no earlier than 2026-11-20T10:05:00Z.\nNOT_BEFORE 10:05, then BIND 10:05"},
		{"behind one that is not before", scene(txn(tx.PhaseWaiting), behind(1, txn(tx.PhaseWaiting, later))),
			"Second in its queue; the one before (one) is not bound yet: it was posted to start no earlier than " +
				"2026-11-20T10:05:00Z.\nQUEUE_HEAD, then BIND"},
		{"paused until", scene(txn(tx.PhaseWaiting), head,
			func(s *Scene) { s.Paused, s.PausedUntil = "a break", now.Add(minutes(3)) }),
			"First in its queue; the queue is paused: a break.\nPAUSED 10:03, then BIND 10:03"},
		{"a budget is used up", scene(txn(tx.PhaseWaiting, wrong(tx.CodeFeeLimit), deferrals(1)),
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; it would cost too much today (because); the queue waits for the next day.\n" +
				"FEE_LIMIT 10:02, then BIND 10:02"},
		{"a budget was used up, and is the next day's", scene(txn(tx.PhaseWaiting, wrong(tx.CodeFeeLimit)), head),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"waits, with a deadline", scene(txn(tx.PhaseWaiting, expires(minutes(30))), head, tells),
			"First in its queue; no sender is registered. It lands before its deadline, 2026-11-20T10:30:00Z, " +
				"which is slot 310, or never.\nFREE_SENDER, then BIND"},
		{"no node says when slots begin", scene(txn(tx.PhaseWaiting, expires(minutes(30))), head),
			"First in its queue; no sender is registered. It lands before its deadline, 2026-11-20T10:30:00Z, or never." +
				"\nFREE_SENDER, then BIND"},
		{"waits, and it has come", scene(txn(tx.PhaseWaiting, expires(-minutes(1))), head),
			"First in its queue; no sender is registered. Its deadline, 2026-11-20T09:59:00Z, has come: it ends now." +
				"\nFREE_SENDER, then END 10:00"},
		{"sent, and it has come", scene(txn(tx.PhaseWatching, try(tx.Sent), expires(minutes(2))), tells, gone),
			"Its attempt has expired; that counts when it stands 5 blocks deep, now 2. No further attempt is made. " +
				"Its deadline, 2026-11-20T10:02:00Z, which is slot 300, has come: nothing more is sent, and it ends when " +
				"what was sent has landed or cannot any more.\nSETTLEMENT, then END\nsent, unknown: sent, and may land"},
		{"with its worker, and it has come", scene(txn(tx.PhaseDispatching, try(tx.Planned), expires(minutes(2))), tells),
			"Its deadline has come, and nothing of it has been sent: it ends now." +
				"\nNOTHING, then END 10:00\nprepared, nowhere: its worker has it"},
		{"over, for another reason", scene(txn(tx.PhaseFailed, expires(-minutes(1)), wrong("E"))),
			"All tries are used up (because).\nNOTHING, then NONE"},
		{"over", scene(txn(tx.PhaseFailed, expires(-minutes(1)), func(t *tx.Transaction) {
			t.Error = &tx.Error{Code: tx.CodeExpired, Message: "its deadline, then, came before it took effect"}
		})), "Its deadline, then, came before it took effect.\nNOTHING, then NONE"},
	}
}

// TestQuoteInWords: an attempt says what its fee was estimated from.
func TestQuoteInWords(t *testing.T) {
	t.Parallel()
	for why, want := range map[fees.Reason]string{
		fees.Pool:  "sent, and may land; the market asked for 0.00000003 MINA for each unit of weight, 3 of them",
		fees.Floor: "sent, and may land; the market asked for less than the least fee",
		fees.Cap: "sent, and may land; the market asked for 0.00000003 MINA for each unit of weight, 3 of them, " +
			"which is more than it may pay",
		fees.Unknown: "sent, and may land; no node had told lately what others pay", "": "sent, and may land",
	} {
		quote := fees.Quote{Fee: 90, PerWeight: 30, Weight: 3, Why: why}
		in := txn(tx.PhaseWatching, try(tx.Sent, func(a *tx.Attempt) { a.Quote = quote }))
		if e := Explain(scene(in, looked)); e.Attempts[0].Detail != want {
			t.Errorf("%s: %s", why, e.Attempts[0].Detail)
		}
	}
}

// badWords says what is wrong with an explanation, "" for nothing.
func badWords(e *Explanation) string {
	all := []string{e.Summary, e.Wait.Detail}
	for i := range e.Attempts {
		all = append(all, e.Attempts[i].Detail)
		if e.Attempts[i].Detail == "" || e.Attempts[i].Place == "" {
			return "an attempt without words"
		}
	}
	for _, text := range all {
		for _, bad := range []string{"%!", "<nil>", "  ", "()", "..", " .", "{", "}", "0001-01"} {
			if strings.Contains(text, bad) {
				return fmt.Sprintf("%q in its words", bad)
			}
		}
	}
	switch {
	case e.Summary == "" || !strings.HasSuffix(e.Summary, "."):
		return "no sentence"
	case e.Wait.Code == "" || e.Next.Action == "" || e.State == "":
		return "no code"
	}
	return ""
}
