package explain

import (
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// batchesTold is what is said of batches.
func batchesTold() []telling {
	unknown := stands(lifecycle.BatchUnknown)
	lost := failedBy(tx.CodeLost)
	return []telling{
		{"held", scene(batch(tx.PhaseWaiting, wrong(tx.CodeNoLedger), deferrals(1)), sawtooth,
			func(s *Scene) { s.Place = tx.Place{First: "u", Hold: now.Add(minutes(2))} }),
			"First in its queue; ledger saw was away or busy (because); the queue is tried again later.\n" +
				"LEDGER 10:02, then BIND 10:02"},
		{"no Mina node", scene(batch(tx.PhaseWaiting), sawtooth, head, fewNodes, pool(Candidate{AccountID: "saw/1"})),
			"First in its queue; a sender is free and is bound to it now.\nNOTHING, then BIND 10:00"},
		{"behind", scene(batch(tx.PhaseWaiting), sawtooth, behind(0, batch(tx.PhaseWatching, post(tx.Sent)))),
			"Second in its queue; the one before (one) waits for its ledger's verdict.\nQUEUE_HEAD, then BIND"},
		{"behind one that is posted", scene(batch(tx.PhaseWaiting), sawtooth, behind(0, batch(tx.PhaseDispatching, post(tx.Signed)))),
			"Second in its queue; the one before (one) is with its ledger.\nQUEUE_HEAD, then BIND"},
		{"bound", scene(batch(tx.PhaseDispatching), sawtooth),
			"Its slot is bound; it is being prepared for ledger saw.\nNOTHING, then SUBMIT 10:00"},
		{"bound, and cancelled", scene(batch(tx.PhaseDispatching, cancelling), sawtooth),
			"A cancel was asked for, and nothing of it has been posted: it ends now.\nNOTHING, then END 10:00"},
		{"bound, in recovery", scene(batch(tx.PhaseDispatching), sawtooth, func(s *Scene) { s.Shut = "Redis has forgotten" }),
			"Its slot is bound, and nothing is posted now: Redis has forgotten.\nRECOVERY, then SUBMIT"},
		{"bound, another's ledger", scene(batch(tx.PhaseDispatching)),
			"This process does not know ledger saw; one that does has to run.\nPROCESS, then SUBMIT"},
		{"asked first", scene(batch(tx.PhaseDispatching), scabbard),
			"Ledger saw is asked whether it has it already, for it takes no batch twice.\nLEDGER, then SUBMIT 10:00"},
		{"posted", scene(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth),
			"It is being posted to ledger saw.\nSENDING, then SUBMIT 10:00\nsigned, unknown: posted, or being posted"},
		{"another's ledger", scene(batch(tx.PhaseWatching, post(tx.Sent))),
			"It was posted, and this process does not know ledger saw.\nPROCESS, then WATCH\n" +
				"sent, unknown: posted, or being posted"},
		{"not asked", scene(batch(tx.PhaseWatching, post(tx.Sent)), sawtooth),
			"It was posted; the process that follows it knows more.\nLEDGER 10:59, then WATCH 10:00\n" +
				"sent, unknown: posted, or being posted"},
		{"asked in vain", scene(batch(tx.PhaseWatching, post(tx.Sent)), sawtooth, inVain),
			"It was posted, and ledger saw does not say what became of it.\nLEDGER 10:59, then WATCH 10:00\n" +
				"sent, unknown: posted, or being posted"},
		{"pending", scene(batch(tx.PhaseWatching, post(tx.Pooled)), sawtooth, stands(lifecycle.BatchPending)),
			"Ledger saw says PENDING.\nLEDGER 10:59, then WATCH 10:00\npooled, pool: the ledger says PENDING"},
		{"unknown to Sawtooth", scene(batch(tx.PhaseWatching, post(tx.Sent)), sawtooth, unknown),
			"It was posted, and ledger saw does not know it; if that stays so it is posted again, a few times.\n" +
				"LEDGER 10:59, then SEND_AGAIN 10:00\nsent, nowhere: not known to the ledger, and may still be"},
		{"unknown to Sawtooth, and cancelled", scene(batch(tx.PhaseWatching, post(tx.Sent), cancelling), sawtooth, unknown),
			"It may have been posted, and ledger saw does not know it. It is not posted again. " +
				"No further attempt is made: a cancel was asked for.\n" +
				"LEDGER 10:59, then WATCH 10:00\nsent, nowhere: not known to the ledger, and may still be"},
		{"unknown to Scabbard, its answer lost", scene(batch(tx.PhaseWatching, post(tx.Unknown, lost)), scabbard, unknown),
			"It may have been posted, and ledger saw does not know it. It is not posted again.\n" +
				"LEDGER 10:59, then WATCH 10:00\nunknown, nowhere: not known to the ledger, and may still be: LOST: because"},
		{"unknown to Scabbard", scene(batch(tx.PhaseWatching, post(tx.Unknown), cancelling), scabbard, unknown),
			"It may have been posted, and ledger saw does not know it. It is not posted again. " +
				"No further attempt is made: a cancel was asked for.\n" +
				"LEDGER 10:59, then WATCH 10:00\nunknown, nowhere: not known to the ledger, and may still be"},
		{"given up by a person", scene(batch(tx.PhaseFailing, post(tx.Expired, over)), sawtooth),
			"It is not in its ledger, as a person said; whether there is another try is being decided.\n" +
				"NOTHING, then WEIGH 10:00\nexpired, unknown: given up, as a person said"},
		{"to be tried again", scene(batch(tx.PhaseDelayed, post(tx.Expired, over)), sawtooth),
			"Its last try failed. No retry used.\nRETRY_DELAY, then RETRY\n" +
				"expired, unknown: given up, as a person said"},
		{"failed", scene(batch(tx.PhaseFailed, wrong(tx.CodeOutcomeUnknown)), sawtooth),
			"It ended (because).\nNOTHING, then NONE"},
		{"committed", scene(batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final), sawtooth),
			"Ledger saw has committed it.\nNOTHING, then REMOVE 09:59\nincluded, block: committed"},
		{"invalid", scene(batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid)), sawtooth),
			"Ledger saw refuses it (because); should it be committed after all, it is DONE.\nPERSON, then DECIDE\n" +
				"failed, nowhere: executed and refused"},
		{"outcome unknown", scene(batch(tx.PhaseUnresolved, post(tx.Unknown), wrong(tx.CodeOutcomeUnknown)), sawtooth),
			"Nobody knows what became of it (because). Look for it in ledger saw, and say by resolve whether it is there.\n" +
				"PERSON, then RESOLVE\nunknown, unknown: posted, or being posted"},
		{"rejected", scene(batch(tx.PhaseUnresolved, post(tx.Refused, over), wrong("30")), sawtooth),
			"Ledger saw refuses it (because).\nPERSON, then DECIDE\nrefused, nowhere: not taken"},
		{"cancelled", scene(batch(tx.PhaseFailed, wrong(tx.CodeCancelled)), sawtooth),
			"It was cancelled before it took effect.\nNOTHING, then NONE"},
	}
}
