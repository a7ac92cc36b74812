package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// rareWaitsTold is of what seldom keeps a transaction from its worker.
func rareWaitsTold() []telling {
	waits := func() *Transaction { return txn(PhaseWaiting) }
	ago := func(d time.Duration) func(*Scene) {
		return func(s *Scene) { fewNodes(s); s.Tip.At = s.Now.Add(-d) }
	}
	never := func(s *Scene) { fewNodes(s); s.Tip.At = time.Time{} }
	elsewhere := func(s *Scene) { s.Dispatched = false; s.First.Type = "BURN" }
	rests := func(id string, d time.Duration) Candidate {
		return Candidate{AccountID: id, Reason: Rested, Until: now.Add(d)}
	}
	planned := txn(PhaseDispatching, try(Prepared))
	return []telling{
		{"the first is of another type", scene(waits(), behind(1, waits()), elsewhere),
			"Second in its queue; the one before (one) is not bound yet: no sender is registered.\n" +
				"QUEUE_HEAD, then BIND"},
		{"looked at in time", scene(waits(), head, ago(20*time.Second)),
			"First in its queue; too few Mina nodes are synced to start anything.\nNODES, then BIND"},
		{"looked at too long ago", scene(waits(), head, ago(21*time.Second)),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"never looked at", scene(waits(), head, never),
			"First in its queue; no sender is registered.\nFREE_SENDER, then BIND"},
		{"the first that comes back", scene(waits(), head, pool(rests("B62r", minutes(4)), rests("B62s", minutes(2)), rests("B62t", minutes(3)))),
			"First in its queue; no sender is free: 0 bound to other queues, 3 out of use. B62r is RESTED.\n" +
				"FREE_SENDER 10:02, then BIND"},
		{"planned, and never looked at", scene(txn(PhaseDispatching), never),
			"Its sender is bound; attempt 1 is being planned.\nNOTHING, then ASK_WORKER 10:00"},
		{"proving, with few nodes", scene(planned, fewNodes),
			"The worker of B62a is proving and signing attempt 1.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"asked for the first time", scene(planned),
			"The worker of B62a is proving and signing attempt 1.\nWORKER 10:04, then SEND\nprepared, nowhere: its worker has it"},
		{"planned anew", scene(txn(PhaseDispatching, try(Expired, over), retried(1))),
			"Its sender is bound; attempt 2 is being planned.\nNOTHING, then ASK_WORKER 10:00\nexpired, nowhere: expired unspent"},
	}
}

// rareSentTold is of what seldom becomes of what was sent.
func rareSentTold() []telling {
	sent := func(p ...part) *Transaction { return txn(PhaseSent, append([]part{try(Signed)}, p...)...) }
	waits := func(p ...part) *Transaction { return txn(PhaseWatching, append([]part{try(Sent)}, p...)...) }
	old := func(d time.Duration) func(*Attempt) { return func(a *Attempt) { a.StartedAt = now.Add(-d) } }
	by := func(d time.Duration, c ...func(*Attempt)) *Transaction {
		return txn(PhaseWatching, try(Sent, append(c, old(d))...))
	}
	unasked := func(s *Scene) { s.Sighting = Sighting{} }
	timeless := func(s *Scene) { s.Tip.SlotTime = 0 }
	unlooked := func(s *Scene) { s.Tip.At = time.Time{} }
	ofFirst := func(g *Sighting) { g.Hash = "5J1" }
	return []telling{
		{"being sent, and not asked", scene(sent(), unasked),
			"Attempt 1 is signed and being sent to the Mina nodes.\nSENDING, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"being sent, cancelled", scene(sent(cancelling), looked),
			"Attempt 1 is signed and being sent to the Mina nodes. No further attempt is made: a cancel was asked for.\n" +
				"SENDING, then SEND 10:00\nsigned, unknown: sent, and may land"},
		{"being sent, and in a pool", scene(sent(), shown(FatePooled, 0)),
			"In the pool of every synced node, waiting for a block.\nBLOCK 12:15, then RAISE_FEE 10:09\nsigned, pool: in the pool of every synced node"},
		{"being sent, and its nonce was spent", scene(sent(), passedBlock, noArchive),
			"Its nonce was spent in a block that the nodes no longer hold, and there is no archive to ask. Look for it, and say by resolve whether it landed.\n" +
				"PERSON, then RESOLVE\nsigned, unknown: sent, and may land"},
		{"sent by its worker", scene(txn(PhaseSent, try(Sent, legacy)), unasked),
			"It was sent and waits for a block. The process that watches it knows more.\nBLOCK, then WATCH\nsent, unknown: sent, and may land"},
		{"long in all pools, legacy", scene(by(minutes(51), legacy), shown(FatePooled, 0)),
			"In the pool of every synced node, waiting for a block.\nBLOCK, then WATCH 10:00\nsent, pool: in the pool of every synced node"},
		{"long in some pools", scene(by(minutes(51)), shown(FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\nBLOCK 12:15, then RAISE_FEE 10:09\nsent, pool: in the pool of at least one node"},
		{"fifty minutes in some pools, legacy", scene(by(toldFor, legacy), shown(FatePooled, 0, disagreed)),
			"In the pool of at least one node, waiting for a block.\nBLOCK, then WATCH 10:00\nsent, pool: in the pool of at least one node"},
		{"long in one block, legacy", scene(by(minutes(51), legacy), shown(FateAbsent, 0, disagreed)),
			"Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.\n" +
				"BLOCK, then RESOLVE 09:29\nsent, nowhere: in no pool and no block, and may still land"},
		{"expired, to end", scene(waits(ending(PhaseFailed)), shown(FateExpired, 2)),
			"Its attempt has expired; that counts when it stands 5 blocks deep, now 2. No further attempt is made.\n" +
				"SETTLEMENT, then END\nsent, unknown: sent, and may land"},
		{"expired, cancelled", scene(waits(cancelling), shown(FateExpired, 2)),
			"Its attempt has expired; that counts when it stands 5 blocks deep, now 2. No further attempt is made: a cancel was asked for.\n" +
				"SETTLEMENT, then END\nsent, unknown: sent, and may land"},
		{"slots of unknown length", scene(waits(), shown(FatePooled, 0), timeless),
			"In the pool of every synced node, waiting for a block.\nBLOCK, then RAISE_FEE\nsent, pool: in the pool of every synced node"},
		{"never looked at the chain", scene(waits(), shown(FatePooled, 0), unlooked),
			"In the pool of every synced node, waiting for a block.\nBLOCK, then RAISE_FEE\nsent, pool: in the pool of every synced node"},
		{"one of two in a pool", scene(waits(try(Sent)), shown(FatePooled, 0, ofFirst)),
			"In the pool of every synced node, waiting for a block.\nBLOCK 12:15, then RAISE_FEE 10:09\nsent, pool: in the pool of every synced node\nsent, unknown: sent, and may land"},
		{"after an error", scene(txn(PhaseWatching, try(Unknown, failedBy("20203"))), shown(FateAbsent, 0)),
			"It was sent, and no node shows it; the same bytes are sent again.\nBLOCK 12:15, then SEND_AGAIN\nunknown, nowhere: in no pool and no block, and may still land: 20203: because"},
	}
}

// rareEndsTold is of rare ends.
func rareEndsTold() []telling {
	tell := func(t *Transaction) { t.Callback, t.CallbackTries = OnFailure, 1 }
	old := func(d time.Duration) func(*Attempt) {
		return func(a *Attempt) { legacy(a); block(a); a.StartedAt = now.Add(-d) }
	}
	low := func(a *Attempt) { block(a); a.Height = 1 }
	lost := func(d time.Duration) *Transaction {
		return txn(PhaseDone, try(Included, old(d)), landedBy(1), orphan)
	}
	return []telling{
		{"failed, and may land", scene(txn(PhaseFailed, try(Unknown), wrong("400")), shown(FateAbsent, 0)),
			"All tries are used up (because). An attempt may still land.\nEXPIRY 12:15, then WATCH\nunknown, nowhere: in no pool and no block, and may still land"},
		{"failed, and may land whenever its worker likes", scene(txn(PhaseFailed, try(Unknown, legacy), wrong("400"))),
			"All tries are used up (because). An attempt may still land.\nEXPIRY, then WATCH\nunknown, unknown: sent, and may land"},
		{"failed, and its worker does not know", scene(txn(PhaseFailed, try(Expired, over), tell)),
			"All tries are used up. Its worker has not yet answered the callback, told once.\nNOTHING, then NONE\nexpired, nowhere: expired unspent"},
		{"done, and its worker does not know", scene(txn(PhaseDone, try(Included, block), landedBy(1), tell)),
			"It took effect in block 190, and is watched until that is 8 blocks deep. Its worker has not yet answered the callback, told once.\n" +
				"FINALITY, then FINAL\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"done, and nothing more is known", scene(txn(PhaseDone)),
			"It is DONE.\nNOTHING, then NONE"},
		{"done in the first block", scene(txn(PhaseDone, try(Included, low), landedBy(1))),
			"It took effect in block 1, and is watched until that is 8 blocks deep.\nFINALITY, then FINAL\nincluded, block: succeeded in block 1, 2 deep when last stored"},
		{"deep enough, and not noted yet", scene(txn(PhaseDone, try(Included, block), landedBy(1)), shown(FateIncluded, 8)),
			"It took effect in block 190, and is watched until that is 8 blocks deep.\nFINALITY, then FINAL\nincluded, block: succeeded in block 199, 8 deep"},
		{"reopened, legacy, in no pool for long", scene(lost(minutes(51)), shown(FateAbsent, 0, disagreed)),
			"It was DONE, and block 190 is no longer on the chain. Only its worker has its bytes: it lands if a node still has it or the worker sends it again. If no node shows it for long, a person has to settle it.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"reopened, legacy, fifty minutes in some pools", scene(lost(toldFor), shown(FatePooled, 0, disagreed)),
			"It was DONE, and block 190 is no longer on the chain. In the pool of at least one node, waiting for another block.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
		{"reopened, legacy, long in all pools", scene(lost(minutes(51)), shown(FatePooled, 0)),
			"It was DONE, and block 190 is no longer on the chain. In the pool of every synced node, waiting for another block.\n" +
				"BLOCK, then WATCH 10:00\nincluded, block: succeeded in block 190, 2 deep when last stored"},
	}
}

// TestDetails: what a wait's detail says, and of which attempts all nodes say the same.
func TestDetails(t *testing.T) {
	t.Parallel()
	waits := txn(PhaseWaiting)
	sent := func(a ...func(*Attempt)) *Transaction { return txn(PhaseWatching, try(Sent, a...)) }
	done := txn(PhaseDone, try(Included, block), landedBy(1))
	down := func(s *Scene) { s.Tip.ArchiveLost = "timeout" }
	for name, c := range map[string]struct {
		in     *Scene
		want   string
		agreed bool
	}{
		"third":            {scene(waits, behind(1, txn(PhaseWatching))), "2 before it", false},
		"no sender":        {scene(waits, head), "none is registered", false},
		"asked in vain":    {scene(txn(PhaseDispatching, try(Prepared), losses(2))), "asked twice in vain", false},
		"asked once":       {scene(txn(PhaseDispatching, try(Prepared), losses(1))), "asked once in vain", false},
		"not asked before": {scene(txn(PhaseDispatching, try(Prepared))), "", false},
		"in a block":       {scene(sent(), shown(FateIncluded, 1)), "1 of 2 blocks deep", true},
		"in one's block":   {scene(sent(), shown(FateIncluded, 1, disagreed)), "the nodes do not all say so yet", false},
		"in all pools":     {scene(sent(), shown(FatePooled, 0)), "the pool of every synced node", true},
		"in a pool":        {scene(sent(), shown(FatePooled, 0, disagreed)), "the pool of at least one node", false},
		"nowhere":          {scene(sent(), shown(FateAbsent, 0)), "in no pool and no block", true},
		"not all say so":   {scene(sent(), shown(FateAbsent, 0, disagreed)), "in no pool and no block", false},
		"the archive":      {scene(sent(), passedBlock), "the archive", false},
		"archive is down":  {scene(sent(), passedBlock, down), "timeout", false},
		"no archive":       {scene(sent(), passedBlock, noArchive), "what became of attempt 1", false},
		"watched":          {scene(done, shown(FateIncluded, 6)), "6 of 8 blocks deep", true},
		"watched, unasked": {scene(done, func(s *Scene) { s.Sighting = Sighting{} }), "", false},
		"watched, unknown": {scene(done, looked), "", false},
	} {
		e := Explain(c.in)
		agreed := len(e.Attempts) > 0 && e.Attempts[0].Agreed
		if e.Wait.Detail != c.want || agreed != c.agreed {
			t.Errorf("%s: %q, agreed %t; want %q", name, e.Wait.Detail, agreed, c.want)
		}
	}
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
	ä := strings.Repeat("ä", 200)
	for text, want := range map[string]string{ä: ä, ä + "x": ä + "…", " a\n b ": "a b", "a\xffb": "a?b"} {
		if got := short(text); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
}
