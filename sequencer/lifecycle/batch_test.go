package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

func justOver(a *tx.Attempt) { over(a); a.EndedAt = now }

func begun(ago time.Duration) func(*tx.Attempt) {
	return func(a *tx.Attempt) { a.StartedAt = now.Add(-ago) }
}

// sawtooth takes the same batch again, scabbard executes it once more; stands is what the
// ledger says of it, asked a second ago.
func sawtooth(v *View) {
	v.Batch.Known, v.Batch.Idempotent = true, true
	v.Policy.LedgerPatience, v.Policy.LedgerRetries, v.Policy.LedgerDelay = time.Hour, 3, 15*time.Second
}
func scabbard(v *View) { sawtooth(v); v.Batch.Idempotent = false }

func stands(s BatchState) change {
	return func(v *View) {
		at := v.Clock.Add(-time.Second)
		v.Batch.Seen = BatchSeen{At: at, Since: at, Asked: at, State: s}
		if s == BatchInvalid {
			v.Batch.Seen.Refused = tx.Error{Code: tx.CodeInvalid, Message: "no apples", Exception: "[]"}
		}
	}
}

// inVain is asked, so long ago by the process's clock, and nothing was said.
func inVain(ago time.Duration) change {
	return func(v *View) {
		v.Batch.Seen.Asked = v.Clock.Add(-ago)
		v.Batch.Seen.Since = v.Batch.Seen.Asked.Add(-v.Policy.LedgerPatience)
	}
}

func unsent(v *View) { v.Local.Unsent, v.Local.Confirmed = v.Txn.Last().Number, v.Txn.Last().Number }

func submitTold(o SubmitOutcome, fresh bool) SubmitTold {
	r := SubmitTold{Call: Effect{Kind: Submit, Number: 1, Fresh: fresh}, Outcome: o}
	if o != SubmitAccepted {
		r.Error = *oops("E")
	}
	return r
}

// batchRows are the table of ledgers that take batches.
func batchRows() []row {
	held := func(v *View) { v.Batch.Held, v.Batch.Why = v.Clock.Add(time.Minute), *oops("HELD") }
	posted := func(o SubmitOutcome) func(*tx.Transaction) (*View, Step) {
		return learns(submitTold(o, true), sawtooth, unsent)
	}
	marked := func(parts ...part) *tx.Transaction {
		return batch(tx.PhaseDispatching, append([]part{post(tx.Signed)}, parts...)...)
	}
	resent := func(n int, ago time.Duration) change {
		return knows(func(l *Local) { l.Resent, l.SentAt = n, clock.Add(-ago) })
	}
	asks := func(wait time.Duration) SubmitTold {
		busy := submitTold(SubmitBusy, true)
		busy.Wait = wait
		return busy
	}
	busy := asks(time.Minute)
	late := func(t *tx.Transaction) { t.ExpiresAt = now }
	second := func(told SubmitTold) SubmitTold { told.Call.Number = 2; return told }
	retried := batch(tx.PhaseDispatching, post(tx.Sent, over), post(tx.Signed))
	return []row{
		{"its ledger may have it from before a retry", []sample{
			{"cancelled", batch(tx.PhaseDispatching, post(tx.Unknown, over), cancelling), decides(sawtooth),
				"cancelled; UNRESOLVED, FREE; 1 unknown 0@0; cancel asked; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"though not from the last", batch(tx.PhaseDispatching, post(tx.Pooled, over), post(tx.Refused, over), cancelling),
				decides(sawtooth), "cancelled; UNRESOLVED, FREE; 1 unknown 0@0; 2 refused 0@0; cancel asked; " +
					"error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"not by what it refused", batch(tx.PhaseDispatching, post(tx.Refused, over), cancelling), decides(sawtooth),
				"cancelled; FAILED, FREE; 1 refused 0@0; cancel asked; error CANCELLED; event CANCELLED; trusts"},
			{"its deadline has come", batch(tx.PhaseDispatching, post(tx.Sent, over), late), decides(sawtooth),
				"overdue; UNRESOLVED, FREE; 1 unknown 0@0; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"cancelled while the ledger is busy", batch(tx.PhaseDispatching, post(tx.Sent, over), post(tx.Signed), cancelling),
				learns(second(asks(0)), sawtooth, unsent), "cancelled; UNRESOLVED, FREE; 1 unknown 0@0; 2 refused 0@0; " +
					"cancel asked; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"and refuses it now", retried, learns(second(submitTold(SubmitRejected, true)), sawtooth, unsent),
				"answered; UNRESOLVED, FREE; 1 unknown 0@0; 2 refused 0@0; error E"},
		}},
		{"its deadline has come", []sample{
			{"before the mark", batch(tx.PhaseDispatching, late), decides(sawtooth),
				"overdue; FAILED, FREE; error EXPIRED; event EXPIRED; trusts"},
			{"while it is being posted", marked(late), decides(sawtooth, unsent), "submitting; submit 1"},
			{"before it can be tried again", marked(late), learns(asks(0), sawtooth, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 15s; hold queue 15s"},
			{"just then", marked(func(t *tx.Transaction) { t.ExpiresAt = now.Add(time.Second) }), learns(asks(0), sawtooth, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 15s; hold queue 15s"},
			{"after that", marked(func(t *tx.Transaction) { t.ExpiresAt = now.Add(1001 * time.Millisecond) }),
				learns(asks(0), sawtooth, unsent), "submitting"},
			{"where another process may have posted it", marked(late), decides(sawtooth),
				"answered; REVISION, INCLUSION; 1 unknown 0@0; error LOST"},
			{"it is not posted again", batch(tx.PhaseWatching, post(tx.Sent), late),
				decides(sawtooth, stands(BatchUnknown), resent(0, time.Hour)), "absent; look in 59m0s"},
			{"as it is before that", batch(tx.PhaseWatching, post(tx.Sent), func(t *tx.Transaction) { t.ExpiresAt = now.Add(1) }),
				decides(sawtooth, stands(BatchUnknown), resent(0, time.Hour)), "resending; submit 1; look in 59m0s"},
		}},
		{"before a byte leaves", []sample{
			{"it waits in its queue", batch(tx.PhaseWaiting), decides(sawtooth), "waiting"},
			{"the mark is stored", batch(tx.PhaseDispatching), decides(sawtooth),
				"planning; DISPATCHING, BLOCKED; 1 signed 0@0; confirm"},
			{"then it is posted", marked(), decides(sawtooth, unsent), "submitting; submit 1"},
			{"after the replicas", marked(), decides(sawtooth, unsent, knows(func(l *Local) { l.Confirmed = 0 }),
				func(v *View) { v.Replicas = true }), "confirming; confirm 1"},
			{"a ledger that executes again is asked first", batch(tx.PhaseDispatching), decides(scabbard), "looking; look in 10s"},
			{"and where it does not say, others have their turn", batch(tx.PhaseDispatching), decides(scabbard, inVain(0)),
				"deferred; WAITING, FREE; deferred 1; error LEDGER_UNAVAILABLE; rest RESTED 10s; hold queue 10s"},
			{"one that takes the same again is not", batch(tx.PhaseDispatching), decides(sawtooth, inVain(0)),
				"planning; DISPATCHING, BLOCKED; 1 signed 0@0; confirm"},
			{"nor is it of what is there", marked(), decides(scabbard, inVain(0)),
				"answered; REVISION, INCLUSION; 1 unknown 0@0; error LOST"},
			{"it does not know it", batch(tx.PhaseDispatching), decides(scabbard, stands(BatchUnknown)),
				"planning; DISPATCHING, BLOCKED; 1 signed 0@0; confirm"},
			{"it did not know it while another attempt was made", batch(tx.PhaseDispatching, post(tx.Unknown, justOver)),
				decides(scabbard, stands(BatchUnknown)), "looking; look in 10s"},
			{"and has said nothing since", batch(tx.PhaseDispatching, post(tx.Unknown, over)),
				decides(scabbard, stands(BatchUnknown), inVain(0)), "deferred; WAITING, FREE; 1 abandoned 0@0; deferred 1; " +
					"error LEDGER_UNAVAILABLE; rest RESTED 10s; hold queue 10s"},
			{"nor does since that was over", batch(tx.PhaseDispatching, post(tx.Unknown, over)),
				decides(scabbard, stands(BatchUnknown)),
				"planning; DISPATCHING, BLOCKED; 1 abandoned 0@0; 2 signed 0@0; confirm"},
			{"it has it", batch(tx.PhaseDispatching), decides(scabbard, stands(BatchPending)),
				"answered; REVISION, INCLUSION; 1 sent 0@0; confirm"},
			{"it has executed it", batch(tx.PhaseDispatching), decides(scabbard, stands(BatchCommitted)),
				"landed; DONE, FREE; 1 included 0@0; landed 1"},
			{"cancelled", batch(tx.PhaseDispatching, cancelling), decides(sawtooth),
				"cancelled; FAILED, FREE; cancel asked; error CANCELLED; event CANCELLED; trusts"},
			{"it made room for another after a failover when it was to end", batch(tx.PhaseDispatching, post(tx.FailedIn, over),
				ending(tx.PhaseUnresolved)), decides(sawtooth), "back; UNRESOLVED, FREE; 1 failed 0@0; trusts"},
			{"the process ends", batch(tx.PhaseDispatching), decides(sawtooth, func(v *View) { v.Draining = true }), "draining"},
			{"another process's ledger", batch(tx.PhaseDispatching), decides(),
				"deferred; WAITING, FREE; deferred 1; error UNKNOWN_TYPE; rest RESTED 1s; hold queue 1s"},
			{"the ledger is held", batch(tx.PhaseDispatching), decides(sawtooth, held),
				"deferred; WAITING, FREE; deferred 1; error HELD; rest RESTED 1m0s; hold queue 1m0s"},
			{"its number is given anew", batch(tx.PhaseDispatching, post(tx.Refused, over), deferrals(2)), decides(sawtooth),
				"planning; DISPATCHING, BLOCKED; 1 signed 0@0; deferred 2; confirm"},
			{"not that of what was posted", batch(tx.PhaseDispatching, post(tx.Unknown, over)), decides(sawtooth),
				"planning; DISPATCHING, BLOCKED; 1 abandoned 0@0; 2 signed 0@0; confirm"},
			{"the process is another one", marked(), decides(sawtooth),
				"answered; REVISION, INCLUSION; 1 unknown 0@0; error LOST"},
		}},
		{"202", []sample{
			{"REVISION", marked(), posted(SubmitAccepted), "answered; REVISION, INCLUSION; 1 sent 0@0"},
			{"posted again", batch(tx.PhaseWatching, post(tx.Unknown), wrong("E")),
				learns(submitTold(SubmitAccepted, false), sawtooth), "answered; REVISION, WAITING_INCLUSION; 1 sent 0@0"},
			{"not of what another one posted", marked(), learns(submitTold(SubmitAccepted, true), sawtooth), "unchanged"},
			{"not of an attempt that is over", batch(tx.PhaseWatching, post(tx.Unknown, over), post(tx.Sent)),
				learns(submitTold(SubmitAccepted, false), sawtooth), "unchanged"},
			{"nor of none", batch(tx.PhaseDispatching), learns(submitTold(SubmitAccepted, true), sawtooth), "unchanged"},
		}},
		{"PENDING, Valid", []sample{
			{"not asked since", batch(tx.PhaseSent, post(tx.Sent)), decides(sawtooth), "sent; look in 59m0s"},
			{"asked before it was posted", batch(tx.PhaseSent, post(tx.Sent)), decides(sawtooth, stands(BatchPending), resent(0, 0)),
				"sent; look in 59m0s"},
			{"noted", batch(tx.PhaseSent, post(tx.Sent)), decides(sawtooth, stands(BatchPending)),
				"sent; REVISION, WAITING_INCLUSION; 1 pooled 0@0"},
			{"stays", batch(tx.PhaseWatching, post(tx.Pooled)), decides(sawtooth, stands(BatchPending)), "pool; look in 59m0s"},
			{"to the last moment of PATIENCE", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour-1))),
				decides(sawtooth, stands(BatchPending)), "pool; look in 1ns"},
			{"past PATIENCE", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour+2*time.Second))),
				decides(sawtooth, stands(BatchPending)),
				"ambiguous; UNRESOLVED, FREE; 1 unknown 0@0; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"past PATIENCE, and not asked since", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour))),
				decides(sawtooth, stands(BatchPending)), "sent; look in 10s"},
			{"past PATIENCE, and asked in vain since", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour))),
				decides(sawtooth, stands(BatchPending), inVain(-time.Nanosecond)),
				"ambiguous; UNRESOLVED, FREE; 1 unknown 0@0; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"but for a moment", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour))),
				decides(sawtooth, stands(BatchPending), inVain(-time.Nanosecond), func(v *View) {
					v.Batch.Seen.Since = v.Batch.Seen.Since.Add(1)
				}), "sent; look in 10s"},
			{"past PATIENCE, and asked in vain before", batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour))),
				decides(sawtooth, stands(BatchPending), inVain(0)), "sent; look in 10s"},
			{"nothing is said", batch(tx.PhaseSent, post(tx.Sent, begun(time.Hour-1))), decides(sawtooth, inVain(0)),
				"sent; look in 1ns"},
			{"nor past PATIENCE", batch(tx.PhaseSent, post(tx.Unknown, begun(time.Hour+time.Second))), decides(scabbard, inVain(0)),
				"ambiguous; UNRESOLVED, FREE; 1 unknown 0@0; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
			{"nor asked since it was posted again", batch(tx.PhaseSent, post(tx.Sent, begun(time.Hour+time.Second))),
				decides(sawtooth, inVain(0), resent(1, 0)), "sent; look in 10s"},
			{"watched on", batch(tx.PhaseUnresolved, post(tx.Unknown), wrong(tx.CodeOutcomeUnknown)),
				decides(sawtooth, stands(BatchPending)), "ended; look in 5m0s"},
		}},
		{"COMMITTED", []sample{
			{"DONE", batch(tx.PhaseWatching, post(tx.Pooled)), decides(sawtooth, stands(BatchCommitted)),
				"landed; DONE, FREE; 1 included 0@0; landed 1"},
			{"while it is posted", marked(), decides(sawtooth, unsent, stands(BatchCommitted)),
				"landed; DONE, FREE; 1 included 0@0; landed 1"},
			{"LATE", batch(tx.PhaseUnresolved, post(tx.Unknown), wrong(tx.CodeOutcomeUnknown)),
				decides(sawtooth, stands(BatchCommitted)),
				"landed; DONE, FREE; 1 included 0@0; landed 1; event LATE"},
			{"LATE, after INVALID", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid)),
				decides(sawtooth, stands(BatchCommitted)),
				"landed; DONE, FREE; 1 included 0@0; landed 1; event LATE"},
		}},
		{"INVALID", []sample{
			{"at once", batch(tx.PhaseSent, post(tx.Sent)), decides(sawtooth, stands(BatchInvalid)),
				"invalid; UNRESOLVED, FREE; 1 invalid 0@0; error INVALID"},
			{"after all", batch(tx.PhaseUnresolved, post(tx.Unknown), wrong(tx.CodeOutcomeUnknown)),
				decides(sawtooth, stands(BatchInvalid)), "invalid; UNRESOLVED, FREE; 1 invalid 0@0; error INVALID"},
			{"watched for PATIENCE", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(59*time.Minute)),
				decides(sawtooth, stands(BatchInvalid)), "ended; look in 1m0s"},
			{"to its last moment", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(time.Hour-1)),
				decides(sawtooth, stands(BatchInvalid)), "ended; look in 1ns"},
			{"asked once more", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(time.Hour)),
				decides(sawtooth, stands(BatchInvalid)), "sent; look in 5m0s"},
			{"it is there again", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(2*time.Hour)),
				decides(sawtooth, stands(BatchPending)), "sent; look in 5m0s"},
			{"and no longer", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(2*time.Hour)),
				decides(sawtooth, stands(BatchInvalid)), "settled; UNRESOLVED, FREE; 1 failed 0@0; error INVALID"},
			{"read anew now and then", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid), endedAgo(time.Minute)),
				decides(sawtooth, stands(BatchInvalid), knows(func(l *Local) { l.ReadAt = clock.Add(-recheck) })),
				"ended; ask-record"},
			{"nothing to watch", batch(tx.PhaseUnresolved, post(tx.FailedIn, over), wrong(tx.CodeInvalid)), decides(sawtooth), "ended"},
		}},
		{"UNKNOWN, Sawtooth", []sample{
			{"the first pause", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(sawtooth, stands(BatchUnknown), resent(0, 4*time.Second)), "absent; look in 6s"},
			{"the same bytes", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(sawtooth, stands(BatchUnknown), resent(0, 10*time.Second)), "resending; submit 1; look in 59m0s"},
			{"growing pauses", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(sawtooth, stands(BatchUnknown), resent(2, 10*time.Second)), "absent; look in 30s"},
			{"a bounded number of times", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(sawtooth, stands(BatchUnknown), resent(maxReposts, 20*time.Minute)), "absent; look in 59m0s"},
			{"not while it is held", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(sawtooth, held, stands(BatchUnknown), resent(0, time.Minute)), "absent; look in 1m0s"},
			{"not what was cancelled", batch(tx.PhaseWatching, post(tx.Sent), cancelling),
				decides(sawtooth, stands(BatchUnknown), resent(0, time.Minute)), "absent; look in 59m0s"},
			{"nor what has an end to come to", batch(tx.PhaseWatching, post(tx.Sent), ending(tx.PhaseFailed)),
				decides(sawtooth, stands(BatchUnknown), resent(0, time.Minute)), "absent; look in 59m0s"},
			{"PENDING no more", batch(tx.PhaseWatching, post(tx.Pooled)), decides(sawtooth, stands(BatchUnknown)),
				"sent; REVISION, WAITING_INCLUSION; 1 sent 0@0"},
			{"no retry is used", batch(tx.PhaseWatching, post(tx.Sent)), learns(submitTold(SubmitUnknown, false), sawtooth),
				"submitting"},
		}},
		{"UNKNOWN, Scabbard", []sample{
			{"never again", batch(tx.PhaseWatching, post(tx.Sent)),
				decides(scabbard, stands(BatchUnknown), resent(0, time.Minute)), "absent; look in 59m0s"},
			{"past PATIENCE", batch(tx.PhaseWatching, post(tx.Unknown, begun(2*time.Hour))), decides(scabbard, stands(BatchUnknown)),
				"ambiguous; UNRESOLVED, FREE; 1 unknown 0@0; error OUTCOME_UNKNOWN; event OUTCOME_UNKNOWN"},
		}},
		{"429, 408 with code 19", []sample{
			{"tried again inside", marked(), posted(SubmitBusy), "submitting"},
			{"after a pause", marked(), decides(sawtooth, unsent,
				knows(func(l *Local) { l.SubmitAt = clock.Add(time.Second) })), "submitting; look in 1s"},
			{"a bounded number of times", marked(), learns(submitTold(SubmitBusy, true), sawtooth, unsent,
				knows(func(l *Local) { l.Submits = 3 })),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 15s; hold queue 15s"},
			{"the longest wait", marked(), learns(asks(16*time.Second), sawtooth, unsent), "submitting"},
			{"a longer one", marked(), learns(asks(17*time.Second), sawtooth, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 17s; hold queue 17s"},
			{"a long wait", marked(), learns(busy, sawtooth, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 1m0s; hold queue 1m0s"},
			{"growing", marked(deferrals(2)), learns(busy, sawtooth, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 3; error E; rest RESTED 1m0s; hold queue 4m0s"},
			{"cancelled meanwhile", marked(cancelling), posted(SubmitBusy),
				"cancelled; FAILED, FREE; 1 refused 0@0; cancel asked; error CANCELLED; event CANCELLED; trusts"},
			{"the process ends meanwhile", marked(), decides(sawtooth, unsent, func(v *View) {
				v.Draining, v.Local.SubmitAt, v.Local.Busy = true, clock.Add(time.Second), *oops("E")
			}), "deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 1s; hold queue 1s"},
		}},
		{"may have been processed", []sample{
			{"the status first", marked(), posted(SubmitUnknown), "answered; REVISION, INCLUSION; 1 unknown 0@0; error E"},
		}},
		{"400 with 30, 34, 35; 413; Scabbard's 400", []sample{
			{"UNRESOLVED with its code", marked(), posted(SubmitRejected),
				"answered; UNRESOLVED, FREE; 1 refused 0@0; error E; trusts"},
			{"posted again: the first may be there", batch(tx.PhaseWatching, post(tx.Sent)),
				learns(submitTold(SubmitRejected, false), sawtooth), "answered; UNRESOLVED, FREE; 1 sent 0@0; error E"},
		}},
		{"the ledger is held", []sample{
			{"nothing of the batch is used up", marked(), learns(submitTold(SubmitHeld, true), sawtooth, held, unsent),
				"deferred; WAITING, FREE; 1 refused 0@0; deferred 1; error E; rest RESTED 1m0s; hold queue 1m0s"},
			{"nor of one posted again", batch(tx.PhaseWatching, post(tx.Sent)),
				learns(submitTold(SubmitHeld, false), sawtooth), "submitting"},
		}},
		{"a person", []sample{
			{"retries what Sawtooth may have", batch(tx.PhaseUnresolved, post(tx.Invalid), wrong(tx.CodeInvalid)),
				orders(tx.Order{What: tx.OrderRetry}, sawtooth), "ordered; WAITING, FREE; 1 failed 0@0; trusts"},
			{"not what Scabbard may have", batch(tx.PhaseUnresolved, post(tx.Unknown), wrong(tx.CodeOutcomeUnknown)),
				orders(tx.Order{What: tx.OrderRetry}, scabbard),
				"transaction u is UNRESOLVED: an attempt might still land"},
			{"says that it is there", batch(tx.PhaseUnresolved, post(tx.Unknown)),
				orders(tx.Order{What: tx.OrderLanded, Hash: "b1"}, scabbard),
				"ordered; DONE, FREE; 1 included 0@0; landed 1; event LATE; trusts"},
			{"says that it is not", batch(tx.PhaseUnresolved, post(tx.Unknown)), orders(tx.Order{What: tx.OrderDead}, scabbard),
				"ordered; UNRESOLVED, FREE; 1 expired 0@0; event RESOLVED; trusts"},
			{"has said that it is not: is there another try?", batch(tx.PhaseFailing, post(tx.Expired, over)), decides(sawtooth),
				"weighing; ask-sender"},
			{"says so while it is waited for", batch(tx.PhaseWatching, post(tx.Unknown)), orders(tx.Order{What: tx.OrderDead}, scabbard),
				"ordered; RETRY, RETRY; 1 expired 0@0; trusts"},
		}},
	}
}

func endedAgo(ago time.Duration) part { return func(t *tx.Transaction) { t.DoneAt = now.Add(-ago) } }

// A batchWalk is one life of a batch, with a ledger that loses requests and answers,
// delivers late, forgets, and gives no verdict; processes come and go.
type batchWalk struct {
	r      *rand.Rand
	c      *checker
	drive  *Drive
	stored *tx.Transaction
	view   View
	claims int

	at       BatchState // what is true of it at the ledger
	executed int        // times that it took effect
	written  int        // posts of which a byte may have left, since a person said to go on
	late     int        // posts on their way
	person   bool       // has settled it
}

func newBatchWalk(seed uint64, c *checker) *batchWalk {
	r := rand.New(rand.NewPCG(seed, 2))
	w := &batchWalk{r: r, c: c, view: *view(batch(tx.PhaseWaiting)), at: BatchUnknown}
	w.view.Policy.LedgerPatience, w.view.Local = 10*time.Minute, Local{}
	w.view.Batch = Batch{Known: true, Idempotent: r.IntN(2) == 0}
	w.view.Replicas = r.IntN(2) == 0
	w.stored = batch(tx.PhaseWaiting)
	w.stored.Claim = ""
	w.own()
	c.begins()
	return w
}

func (w *batchWalk) own() { w.drive = NewDrive(w.stored, Local{ReadAt: w.view.Clock}) }

func (w *batchWalk) one(n int) bool { return w.r.IntN(n) == 0 }

func (w *batchWalk) step() {
	v := w.view
	v.Txn, v.Local = w.drive.txn, w.drive.local
	for _, r := range w.drive.results {
		w.c.untouched(&v, func(v *View) Step { return Learn(v, r) })
	}
	if w.drive.txn.Claim != "" {
		w.c.untouched(&v, Decide)
	}
	switch a := w.drive.Next(w.view, !w.one(20)); a.Do {
	case ToStore:
		w.store(a)
	case ToCall:
		w.call(a.Call)
	case ToRead:
		w.drive.Read(w.stored, w.view.Clock)
	case ToLeave:
		w.bind()
	case ToSleep:
		w.happen()
	}
	if w.one(10) {
		w.happen()
	}
}

func (w *batchWalk) store(a Action) {
	switch {
	case w.stored.Revision != w.drive.txn.Revision, w.one(25):
		w.drive.Stale()
		return
	case a.Moves.InOrder && w.one(20):
		w.drive.Denied(Denied{Why: Overtaken})
		return
	}
	w.put(a.Step.Txn, &a.Step)
	if w.one(20) {
		w.drive.Stale() // the answer is lost
		return
	}
	w.drive.Stored(w.stored, a.Moves.Confirm && w.view.Replicas && w.one(4))
}

// put stores a record, and holds it against what is true.
func (w *batchWalk) put(t *tx.Transaction, s *Step) {
	v := View{Txn: w.stored, Policy: w.view.Policy, Now: w.view.Now, Clock: w.view.Clock}
	w.c.trail = append(w.c.trail, told(&v, *s))
	before := w.stored
	w.stored = t.Clone()
	w.stored.Revision = before.Revision + 1
	if !t.Phase.Bound() && !t.Watched() {
		w.stored.Claim = ""
	}
	switch {
	case t.Phase == tx.PhaseDone && w.at != BatchCommitted && !w.person:
		w.wrong("DONE, and the ledger has not committed it")
	case !t.Phase.Bound() && t.Phase != tx.PhaseUnresolved && t.Open():
		w.wrong("released with something open")
	case before.Phase.Bound() && t.Phase == tx.PhaseWaiting && w.written > 0 && !w.person && !w.view.Batch.Idempotent:
		w.wrong("goes back, and may be there")
	case t.Callback != "":
		w.wrong("somebody is to be told, and nobody made it")
	}
}

func (w *batchWalk) wrong(what string) {
	trail := w.c.trail[max(0, len(w.c.trail)-15):]
	w.c.Fatalf("%s, idempotent %t\n  %s", what, w.view.Batch.Idempotent, strings.Join(trail, "\n  "))
}

// arrive is a post that gets there.
func (w *batchWalk) arrive() {
	if w.view.Batch.Idempotent && w.at != BatchUnknown {
		return
	}
	w.at = BatchPending
}

func (w *batchWalk) call(e Effect) {
	if e.Kind != Submit {
		w.ask(e)
		return
	}
	if a := w.stored.Attempt(e.Number); a == nil || !a.Open() {
		w.wrong("posted without a mark")
	}
	all := []SubmitOutcome{SubmitAccepted, SubmitUnknown, SubmitBusy, SubmitHeld, SubmitRejected}
	told := submitTold(all[w.r.IntN(len(all))], e.Fresh)
	told.Call = e
	w.c.trail = append(w.c.trail, fmt.Sprint("posted: ", told.Outcome))
	if !w.view.Batch.Idempotent && w.written > 0 {
		w.wrong("posted once more")
	}
	switch told.Outcome {
	case SubmitAccepted:
		w.written++
		w.arrive()
	case SubmitUnknown:
		w.written++
		switch w.r.IntN(3) {
		case 0:
			w.arrive()
		case 1:
			w.late++
		}
	case SubmitHeld:
		w.view.Batch.Held, w.view.Batch.Why = w.view.Clock.Add(time.Minute), told.Error
	}
	if w.one(6) {
		w.crash()
		return
	}
	w.drive.Add(e, told)
}

// ask answers what is asked of the store and the slot.
func (w *batchWalk) ask(e Effect) {
	switch e.Kind {
	case AskSender:
		w.drive.Add(e, SenderTold{Sender: Sender{Account: "saw/1"}})
	case AskRetries:
		w.drive.Add(e, RetriesTold{})
	case Confirm:
		w.drive.Add(e, ConfirmTold{Number: e.Number})
	default:
		w.drive.Stale()
		w.drive.Add(e, nil)
	}
}

func (w *batchWalk) crash() {
	w.c.trail = append(w.c.trail, "crash")
	w.claims++
	if w.stored.Claim != "" {
		w.stored = w.stored.Clone()
		w.stored.Claim = fmt.Sprint("other:", w.claims)
		w.stored.Revision++
	}
	w.view.Batch.Seen, w.view.Batch.Held, w.view.Draining = BatchSeen{}, time.Time{}, false
	w.own()
}

func (w *batchWalk) bind() {
	switch w.stored.Phase {
	case tx.PhaseWaiting:
		w.claims++
		t := w.stored.Clone()
		t.Phase, t.Claim, t.Sender = tx.PhaseDispatching, fmt.Sprint("me:", w.claims), fmt.Sprintf("saw/%d", 1+w.r.IntN(2))
		t.Revision++
		w.stored = t
		w.view.Batch.Seen = BatchSeen{}
		w.own()
	case tx.PhaseFailed, tx.PhaseUnresolved:
		w.order(tx.OrderRetry)
		w.own()
	}
}

// order has a person say what is true.
func (w *batchWalk) order(what tx.OrderKind) {
	v := w.view
	v.Txn = w.stored
	s, err := Ask(&v, tx.Order{What: what, Hash: "b1"})
	if err != nil {
		return
	}
	w.person = w.person || what == tx.OrderLanded
	if what == tx.OrderDead || what == tx.OrderRetry {
		w.written = 0
	}
	w.put(s.Txn, &s)
}

func (w *batchWalk) happen() {
	pass := func(d time.Duration) { w.view.Now, w.view.Clock = w.view.Now.Add(d), w.view.Clock.Add(d) }
	switch w.r.IntN(9) {
	case 0:
		pass(time.Duration(1+w.r.IntN(90)) * time.Second)
	case 1:
		pass(time.Duration(w.r.IntN(8)) * time.Minute)
	case 2:
		if w.at == BatchPending {
			w.at = []BatchState{BatchPending, BatchCommitted, BatchInvalid, BatchUnknown}[w.r.IntN(4)]
			if w.at == BatchCommitted {
				w.executed++
			}
		}
	case 3:
		if w.late > 0 {
			w.late--
			w.arrive()
		}
	case 4:
		w.crash()
	case 5:
		w.drive.Stale()
		switch {
		case w.one(3):
			w.order(tx.OrderCancel)
		case w.at == BatchUnknown && w.late == 0:
			w.order(tx.OrderDead)
		case w.at == BatchCommitted:
			w.order(tx.OrderLanded)
		}
	default:
		pass(time.Second)
		stands(w.at)(&w.view)
		if w.view.Batch.Seen.State != BatchUnknown && w.at != BatchCommitted && w.one(6) {
			stands(BatchUnknown)(&w.view) // another validator's word
		}
		w.view.Batch.Seen.At = w.view.Clock
		pass(time.Second)
	}
}

// walkBatches follows many lives of batches, and then lets each come to its end.
func walkBatches(t *testing.T, c *checker) {
	ends := map[tx.Phase]int{}
	for seed := range *walks {
		w := newBatchWalk(seed, c)
		for range length {
			w.step()
		}
		if w.executed > 1 && !w.view.Batch.Idempotent && !w.person && w.stored.Phase != tx.PhaseUnresolved {
			w.wrong("executed more than once")
		}
		ends[w.stored.Phase]++
	}
	if *walks < manyWalks {
		return
	}
	for _, p := range tx.Phases {
		if p != tx.PhaseFailing && p != tx.PhaseDelayed && ends[p] == 0 {
			t.Errorf("no life of a batch is %s in the end: %v", p, ends)
		}
	}
}

// TestMark: what no ledger has taken on is no attempt, and its number is given anew; what
// a ledger has refused keeps its own.
func TestMark(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deferred, attempts int
	}{
		"refused":  {0, 2},
		"put off":  {1, 1},
		"and over": {2, 1},
	} {
		s := Decide(view(batch(tx.PhaseDispatching, post(tx.Refused, over), deferrals(c.deferred)), sawtooth,
			stands(BatchUnknown),
			knows(func(l *Local) { l.Submits, l.SubmitAt = 3, clock })))
		if s.Reason != ReasonPlanning || len(s.Txn.Attempts) != c.attempts || s.Txn.Last().Number != c.attempts ||
			s.Txn.Last().State != tx.Signed || s.Local.Unsent != c.attempts || s.Local.Confirmed != c.attempts ||
			s.Local.Submits != 0 || !s.Local.SubmitAt.IsZero() {
			t.Errorf("%s: %s, %+v, %+v", name, s.Reason, s.Txn, s.Local)
		}
	}
}

// TestMarkThere: what a ledger has that takes no batch twice is not posted, and needs no replica's
// word.
func TestMarkThere(t *testing.T) {
	t.Parallel()
	s := Decide(view(batch(tx.PhaseDispatching), scabbard, stands(BatchPending)))
	if s.Txn == nil || s.Txn.Phase != tx.PhaseSent || s.Local.Unsent != 0 || s.Local.Confirmed != 1 {
		t.Errorf("%+v, %+v", s.Txn, s.Local)
	}
}

// TestBusyLedger: one that is too busy is asked again after growing pauses, as often as is set, and then
// the batch is put off for as long as is set.
func TestBusyLedger(t *testing.T) {
	t.Parallel()
	v := view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, unsent)
	for _, retries := range []int{0, 1, 3, 6} {
		v.Policy.LedgerRetries, v.Local.Submits = retries, 0
		for n := range retries {
			s := Learn(v, submitTold(SubmitBusy, true))
			pause := s.Local.SubmitAt.Sub(v.Clock)
			if s.Txn != nil || pause != min(time.Second<<n, 16*time.Second) || s.Local.Busy.Code != "E" {
				t.Fatalf("of %d, after %d times: %s, asked again after %v", retries, n+1, s.Reason, pause)
			}
			v.Local = s.Local
		}
		if s := Learn(v, submitTold(SubmitBusy, true)); s.Reason != ReasonDeferred || s.Aside.Hold != 15*time.Second {
			t.Errorf("after %d times: %s, put off for %v", retries+1, s.Reason, s.Aside.Hold)
		}
	}
}

// TestSubmitted: once a ledger may have it, that is known in the record alone.
func TestSubmitted(t *testing.T) {
	t.Parallel()
	v := view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, stands(BatchUnknown), unsent)
	v.Local.SentAt, v.Local.Resent = clock, 3
	s := Learn(v, submitTold(SubmitAccepted, true))
	if s.Txn == nil || s.Txn.Phase != tx.PhaseSent || !s.Txn.SubmittedAt.Equal(now) || s.Local.Unsent != 0 ||
		s.Local.Resent != 0 {
		t.Errorf("%+v, %+v", s.Txn, s.Local)
	}
	v.Local.SentAt = time.Time{}
	if s = Learn(v, submitTold(SubmitUnknown, true)); s.Txn.Last().State != tx.Unknown || s.Local.SentAt != clock {
		t.Errorf("a status from before the post would count: %+v, %+v", s.Txn, s.Local)
	}
	v = view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, stands(BatchUnknown))
	v.Local.SentAt, v.Local.Resent = clock, 3
	if s = Decide(v); s.Txn == nil || s.Txn.Last().State != tx.Unknown || !s.Local.SentAt.IsZero() || s.Local.Resent != 0 {
		t.Errorf("another process was at it: %+v, %+v", s.Txn, s.Local)
	}
	v = view(batch(tx.PhaseDispatching, post(tx.Signed), func(t *tx.Transaction) { t.SubmittedAt = now.Add(-time.Hour) }),
		sawtooth, stands(BatchUnknown), unsent)
	if s = Learn(v, submitTold(SubmitAccepted, true)); !s.Txn.SubmittedAt.Equal(now.Add(-time.Hour)) {
		t.Errorf("submitted at %v for the second time", s.Txn.SubmittedAt)
	}
	v = view(batch(tx.PhaseWatching, post(tx.Sent)), sawtooth)
	v.Local.SentAt, v.Local.Resent = clock.Add(-time.Minute), 2
	if s = Learn(v, submitTold(SubmitUnknown, false)); s.Local.SentAt != clock || s.Local.Resent != 3 {
		t.Errorf("posted again, and the next pause is as of before: %+v", s.Local)
	}
	v = view(batch(tx.PhaseWatching, post(tx.Unknown)), sawtooth)
	v.Local.Resent = 2
	if s = Learn(v, submitTold(SubmitAccepted, false)); s.Txn.Last().State != tx.Sent || s.Local.SentAt != clock ||
		s.Local.Resent != 3 {
		t.Errorf("taken when posted again: %+v, %+v", s.Txn, s.Local)
	}
	if s = Learn(v, submitTold(SubmitUnknown, false)); s.Txn != nil {
		t.Errorf("nobody knows, posted again: %+v", s.Txn)
	}
	if s = Learn(view(batch(tx.PhaseWatching, post(tx.Pooled)), sawtooth), submitTold(SubmitAccepted,
		false)); s.Txn != nil {
		t.Errorf("taken, and known to be there: %+v", s.Txn)
	}
	v = view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, unsent)
	if s = Learn(v, submitTold(SubmitAccepted, true)); s.Local.SentAt != clock {
		t.Errorf("taken, and a status from before would count: %+v", s.Local)
	}
	v = view(batch(tx.PhaseWatching, post(tx.Pooled)), sawtooth, stands(BatchCommitted), unsent)
	if s = Decide(v); s.Txn.Phase != tx.PhaseDone || s.Local.Unsent != 0 {
		t.Errorf("committed, and still to be posted: %+v, %+v", s.Txn, s.Local)
	}
	done := view(batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final), sawtooth, stands(BatchPending))
	if s = Decide(done); s.Txn != nil || s.Reason != ReasonFinal || s.Do.Kind != "" {
		t.Errorf("what is DONE: %+v", s)
	}
}

// TestFollowsBatch: a ledger is asked about what is bound, and what may still be there.
func TestFollowsBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		t    *tx.Transaction
		want bool
	}{
		"bound":          {batch(tx.PhaseDispatching), true},
		"waiting":        {batch(tx.PhaseWaiting), false},
		"open":           {batch(tx.PhaseUnresolved, post(tx.Unknown)), true},
		"over":           {batch(tx.PhaseDone, post(tx.Included, over), landedBy(1), final), false},
		"for Mina":       {txn(tx.PhaseWatching, try(tx.Sent)), false},
		"for Mina, over": {txn(tx.PhaseDone, try(tx.Included, over), landedBy(1), final), false},
	} {
		if got := FollowsBatch(c.t); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBatchEdges: what no row of the table tells apart.
func TestBatchEdges(t *testing.T) {
	t.Parallel()
	v := view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, stands(BatchUnknown), unsent)
	v.Local.Confirmed = 0
	if s := Decide(v); s.Do.Kind != Submit {
		t.Errorf("no replicas, and %s is begun", s.Do.Kind)
	}
	v = view(batch(tx.PhaseDispatching, post(tx.Signed), cancelling), sawtooth, unsent)
	if s := v.putOff(*oops("E"), time.Second); s.Txn.Phase != tx.PhaseFailed || s.Local.Unsent+s.Local.Confirmed != 0 {
		t.Errorf("put off and cancelled: %+v, %+v", s.Txn.Phase, s.Local)
	}
	delayed := batch(tx.PhaseDelayed, post(tx.Expired, over))
	delayed.DueAt = now.Add(time.Minute)
	s := Decide(view(delayed, sawtooth))
	if s.Txn != nil || s.Reason != ReasonDelay || !s.Look.Equal(clock.Add(time.Minute)) {
		t.Errorf("to be tried again in a minute: %+v", s)
	}
	if earlier(now, clock) != now || earlier(clock, now) != now {
		t.Error("the later one is the earlier")
	}
	v = view(batch(tx.PhaseWatching, post(tx.Pooled)), sawtooth, stands(BatchCommitted))
	if s := Decide(v); s.Txn == nil || !s.Txn.FinalAt.Equal(now) {
		t.Errorf("committed, and not final: %+v", s.Txn)
	}
	for name, in := range map[string]*tx.Transaction{
		"no batch": txn(tx.PhaseDelayed, try(tx.Unknown, over)), "what is open": batch(tx.PhaseWatching, post(tx.Sent)),
	} {
		if s, may := view(in, sawtooth).mayHaveIt(ReasonCancelled); may {
			t.Errorf("%s may be there from before: %+v", name, s.Txn)
		}
	}
	v = view(batch(tx.PhaseUnresolved, post(tx.Unknown)))
	v.Batch.Idempotent = true
	if _, err := Ask(v, tx.Order{What: tx.OrderRetry}); err == nil {
		t.Error("tried again at a ledger that is not known")
	}
}

// TestBatchForSoLong: who has to settle a batch is told what its ledger says of it.
func TestBatchForSoLong(t *testing.T) {
	t.Parallel()
	old := batch(tx.PhaseWatching, post(tx.Pooled, begun(time.Hour+2*time.Second)))
	for want, seen := range map[string]change{"PENDING": stands(BatchPending), "nothing": inVain(0)} {
		s := Decide(view(old, sawtooth, seen))
		want = "the ledger says " + want + " for so long"
		if s.Txn == nil || s.Txn.Error == nil || !strings.HasPrefix(s.Txn.Error.Message, want) {
			t.Errorf("%s: %+v", want, s.Txn)
		}
	}
}

// TestRefusedBatchSays: the attempt that a ledger has refused shows with what.
func TestRefusedBatchSays(t *testing.T) {
	t.Parallel()
	v := view(batch(tx.PhaseDispatching, post(tx.Signed)), sawtooth, unsent)
	s := Learn(v, submitTold(SubmitRejected, true))
	if a := s.Txn.Last(); a.State != tx.Refused || a.Error == nil || a.Error.Code != "E" {
		t.Errorf("the attempt is %s, with %+v", a.State, a.Error)
	}
}
