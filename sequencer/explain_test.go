package sequencer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

// at is a moment of the scenes, in minutes.
func at(minutes int) time.Time {
	return time.Date(2026, 11, 20, 10, minutes, 0, 0, time.UTC)
}

// brief is an explanation on a few lines.
func brief(e lifecycle.Explanation) []string {
	clock := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " " + t.Format("15:04")
	}
	lines := []string{e.Summary, string(e.Wait.Code) + clock(e.Wait.Until), e.Next.Action + clock(e.Next.At)}
	for _, a := range e.Attempts {
		lines = append(lines, string(a.Outcome)+", "+a.Place+": "+a.Detail)
	}
	return lines
}

func TestExplain(t *testing.T) {
	t.Parallel()
	policy := testPolicy()
	policy.Confirmations = 2
	chain := mina.Chain{Synced: 2, Quorum: true, Height: 200, TipSlot: 300, Slot: 300, SlotTime: 3 * time.Minute, At: at(0)}
	type (
		txn = lifecycle.Transaction
		try = lifecycle.Attempt
	)
	open := func(o lifecycle.Outcome) try {
		return try{Number: 1, Sender: "B62a", Nonce: 7, Fee: policy.Fee, ValidUntil: 309, Hash: "5J1", Outcome: o, Slot: 298, SentSlot: 298, StartedAt: at(-6)}
	}
	ended := func(a try, o lifecycle.Outcome) try { a.Outcome, a.EndedAt = o, at(-1); return a }
	failure := &lifecycle.Error{Code: "20202", Message: "proof\nfailed"}
	legacy := open(lifecycle.Unknown)
	legacy.Legacy, legacy.ValidUntil = true, 0
	capped := open(lifecycle.Sent)
	capped.Fee = policy.FeeMax
	proving := open(lifecycle.Prepared)
	proving.Hash = ""
	landed := ended(open(lifecycle.Sent), lifecycle.Included)
	landed.Height, landed.Confirmations = 190, 2
	aged := func(a try) try { a.StartedAt = at(-51); return a }
	sentByWorker := func(a try) try { a.Legacy = true; return a }
	with := func(archive error) mina.Chain { c := chain; c.Archive = archive; return c }
	scene := func(s sequencer.Scene) sequencer.Scene {
		s.Policy, s.Now, s.Dispatched = policy, at(0), !s.Dispatched
		if s.Chain.At.IsZero() {
			s.Chain = chain
		}
		s.Asked = s.Asked || s.Sighting.Fate != ""
		return s
	}
	first := func(p lifecycle.Phase) *txn { return &txn{UID: "one", Type: "MINT", Phase: p} }
	waits := func() *txn { return &txn{UID: "me", Queue: "q", Type: "MINT", Phase: lifecycle.PhaseWaiting} }
	watched := func(a try, change ...func(*txn)) *txn {
		t := &txn{UID: "me", Phase: lifecycle.PhaseWatching, Attempts: []try{a}}
		for _, c := range change {
			c(t)
		}
		return t
	}
	head := queues.Standing{First: "me"}
	busy := []*senders.Sender{{Queue: "x"}, {AccountID: "B62r", Reason: lifecycle.Rested, Until: at(4), Detail: "its worker is down"}, {AccountID: "B62d", Reason: lifecycle.Draining}}
	for name, tc := range map[string]struct {
		scene sequencer.Scene
		want  []string
	}{
		"third, running": {sequencer.Scene{Txn: waits(), First: first(lifecycle.PhaseWatching), Standing: queues.Standing{Ahead: 1, First: "one"}},
			[]string{"Third in its queue; the first (one) waits for a block.", "QUEUE_HEAD", "BIND"}},
		"second, proving": {sequencer.Scene{Txn: waits(), First: first(lifecycle.PhaseDispatching), Standing: queues.Standing{First: "one"}},
			[]string{"Second in its queue; the one before (one) is with its worker.", "QUEUE_HEAD", "BIND"}},
		"far, delayed": {sequencer.Scene{Txn: waits(), First: first(lifecycle.PhaseDelayed), Standing: queues.Standing{Ahead: 21, First: "one"}},
			[]string{"23rd in its queue; the first (one) waits for its next try.", "QUEUE_HEAD", "BIND"}},
		"behind one that is not bound": {sequencer.Scene{Txn: waits(), First: first(lifecycle.PhaseWaiting), Standing: queues.Standing{Ahead: 1, First: "one"}, Pool: busy[1:]},
			[]string{"Second in its queue; the one before (one) is not bound yet: no sender is free: 0 bound to other queues, 2 out of use. B62r is RESTED: its worker is down.", "QUEUE_HEAD", "BIND"}},
		"paused": {sequencer.Scene{Txn: waits(), Standing: head, Queue: &queues.Queue{Paused: "maintenance"}},
			[]string{"First in its queue; the queue is paused: maintenance.", "PAUSED", "RESUME"}},
		"callback": {sequencer.Scene{Txn: waits(), Standing: queues.Standing{First: "me", Holder: "one", Hold: at(2)}},
			[]string{"First in its queue; the worker has not yet answered the callback of the one before (one).", "CALLBACK 10:02", "BIND 10:02"}},
		"no process": {sequencer.Scene{Txn: waits(), Standing: head, Dispatched: true},
			[]string{"First in its queue; this process does not dispatch MINT; one that does has to run.", "PROCESS", "BIND"}},
		"no quorum": {sequencer.Scene{Txn: waits(), Standing: head, Chain: mina.Chain{Synced: 1, At: at(0)}},
			[]string{"First in its queue; too few Mina nodes are synced to start anything.", "NODES", "BIND"}},
		"all busy": {sequencer.Scene{Txn: waits(), Standing: head, Pool: busy},
			[]string{"First in its queue; no sender is free: 1 bound to other queues, 2 out of use.", "FREE_SENDER", "BIND"}},
		"all rest": {sequencer.Scene{Txn: waits(), Standing: head, Pool: busy[1:]},
			[]string{"First in its queue; no sender is free: 0 bound to other queues, 2 out of use. B62r is RESTED: its worker is down.", "FREE_SENDER 10:04", "BIND"}},
		"no sender": {sequencer.Scene{Txn: waits(), Standing: head}, []string{"First in its queue; no sender is registered.", "FREE_SENDER", "BIND"}},
		"about to": {sequencer.Scene{Txn: waits(), Standing: head, Pool: []*senders.Sender{{}}},
			[]string{"First in its queue; a sender is free and is bound to it now.", "NOTHING", "BIND 10:00"}},

		"planned": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDispatching}},
			[]string{"Its sender is bound; attempt 1 is being planned.", "NOTHING", "ASK_WORKER 10:00"}},
		"planned without nodes": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDispatching}, Chain: mina.Chain{At: at(0)}},
			[]string{"Its sender is bound; the attempt is planned when enough Mina nodes are synced.", "NODES", "ASK_WORKER"}},
		"proving": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDispatching, Losses: 1, Attempts: []try{proving}}},
			[]string{"The worker of B62a is proving and signing attempt 1.", "WORKER 10:14", "SEND", "prepared, nowhere: its worker has it"}},
		"signed": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDispatching, Attempts: []try{open(lifecycle.Signed)}}},
			[]string{"Attempt 1 is signed and being sent to the Mina nodes.", "SENDING", "SEND 10:00", "signed, unknown: sent, and may land"}},

		"pooled": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Agreed: true, Hash: "5J1"}},
			[]string{"In the pool of every synced node, waiting for a block.", "BLOCK 10:30", "RAISE_FEE 10:09", "sent, pool: in the pool of every synced node"}},
		"pooled at the cap": {sequencer.Scene{Txn: watched(capped), Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Hash: "5J1"}},
			[]string{"In the pool of at least one node, waiting for a block.", "BLOCK 10:30", "SEND_AGAIN", "sent, pool: in the pool of at least one node"}},
		"pooled, cancelled": {sequencer.Scene{Txn: watched(open(lifecycle.Sent), func(t *txn) { t.CancelRequested = true }), Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Agreed: true, Hash: "5J1"}},
			[]string{"In the pool of every synced node, waiting for a block. No further attempt is made: a cancel was asked for.", "EXPIRY 10:30", "WATCH 10:00", "sent, pool: in the pool of every synced node"}},
		"absent": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"It was sent, and no node shows it; the same bytes are sent again.", "BLOCK 10:30", "SEND_AGAIN", "sent, nowhere: in no pool and no block, and may still land"}},
		"absent, ending": {sequencer.Scene{Txn: watched(open(lifecycle.Sent), func(t *txn) { t.Ending = lifecycle.PhaseFailed }), Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"It was sent, and no node shows it; it may still land. No further attempt is made.", "EXPIRY 10:30", "END 10:30", "sent, nowhere: in no pool and no block, and may still land"}},
		"absent, legacy": {sequencer.Scene{Txn: watched(legacy), Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.", "BLOCK", "RESOLVE 10:14", "unknown, nowhere: in no pool and no block, and may still land"}},
		"passed, no archive": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Asked: true, Sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown, Passed: true}, Chain: with(mina.ErrNoArchive)},
			[]string{"Its nonce was spent in a block that the nodes no longer hold, and there is no archive to ask. Look for it, and say by resolve whether it landed.",
				"PERSON", "RESOLVE", "sent, unknown: sent, and may land"}},
		"passed, archive in vain": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Asked: true, Sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown, Passed: true, Sought: true}},
			[]string{"Its nonce was spent in a block that the nodes no longer hold, and the archive does not show it there. Look for it, and say by resolve whether it landed.",
				"PERSON", "RESOLVE", "sent, unknown: sent, and may land"}},
		"passed, archive down": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Asked: true, Sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown, Passed: true}, Chain: with(mina.ErrNoDetails)},
			[]string{"Its nonce was spent in a block that the nodes no longer hold, and the archive cannot be asked.",
				"SETTLEMENT", "WATCH 10:00", "sent, unknown: sent, and may land"}},
		"passed, searching": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Asked: true, Sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown, Passed: true}},
			[]string{"Its nonce was spent in a block that the nodes no longer hold; the archive is being searched.",
				"SETTLEMENT", "WATCH 10:00", "sent, unknown: sent, and may land"}},
		"done, passed": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Landed: 1, Attempts: []try{landed}}, Asked: true, Sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown, Passed: true}, Chain: with(mina.ErrNoArchive)},
			[]string{"It took effect in block 190, when that was last seen. Its nonce was spent in a block that the nodes no longer hold, and there is no archive to ask.",
				"FINALITY", "WATCH", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"legacy in some pools": {sequencer.Scene{Txn: watched(legacy), Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Hash: "5J1"}},
			[]string{"In the pool of at least one node, waiting for a block.", "BLOCK", "WATCH 10:00", "unknown, pool: in the pool of at least one node"}},
		"legacy stuck in some pools": {sequencer.Scene{Txn: watched(aged(legacy)), Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Hash: "5J1"}},
			[]string{"In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: have its worker send it again, or restart the nodes that show it and resolve it then.",
				"PERSON", "WATCH 10:00", "unknown, pool: in the pool of at least one node"}},
		"unasked": {sequencer.Scene{Txn: watched(open(lifecycle.Sent))},
			[]string{"It was sent and waits for a block. The process that watches it knows more.", "BLOCK 10:30", "WATCH", "sent, unknown: sent, and may land"}},
		"no quorum, sent": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Asked: true, Chain: mina.Chain{Synced: 1, At: at(0)}},
			[]string{"It was sent; too few Mina nodes are synced to say what became of it.", "NODES", "WATCH 10:00", "sent, unknown: sent, and may land"}},
		"confirming": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateIncluded, Agreed: true, Hash: "5J1", Height: 200, Depth: 1}},
			[]string{"In block 200, 1 of 2 blocks deep.", "CONFIRMATIONS", "FINISH", "sent, block: succeeded in block 200, 1 deep"}},
		"in one node's block": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateIncluded, Hash: "5J1", Height: 200}},
			[]string{"In block 200, the nodes do not all say so yet.", "CONFIRMATIONS", "FINISH", "sent, block: succeeded in block 200, 0 deep"}},
		"failed, unsettled": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateFailed, Agreed: true, Hash: "5J1", Height: 199, Depth: 2,
			Failures: []mina.Failure{{Index: 1, Reasons: []string{"Account_app_state_0_precondition_unsatisfied"}}}}},
			[]string{"It failed in block 199 (Account_app_state_0_precondition_unsatisfied); that counts when it stands 5 blocks deep, now 2.", "SETTLEMENT", "RETRY", "sent, block: failed in block 199, 2 deep"}},
		"failed for good": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateFailed, Agreed: true, Hash: "5J1", Height: 199, Depth: 2,
			Failures: []mina.Failure{{Index: 1, Reasons: []string{"Update_not_permitted_balance"}}}}},
			[]string{"It failed in block 199 (Update_not_permitted_balance); that counts when it stands 5 blocks deep, now 2.", "SETTLEMENT", "END", "sent, block: failed in block 199, 2 deep"}},
		"expired": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateExpired, Agreed: true, Depth: 4}},
			[]string{"Its attempt has expired; that counts when it stands 5 blocks deep, now 4.", "SETTLEMENT", "RETRY", "sent, unknown: sent, and may land"}},
		"displaced": {sequencer.Scene{Txn: watched(open(lifecycle.Sent)), Sighting: lifecycle.Sighting{Fate: lifecycle.FateDisplaced, Agreed: true, Depth: 1}},
			[]string{"Its nonce was spent by a command that is not ours; that counts when it stands 5 blocks deep, now 1.", "SETTLEMENT", "RETRY", "sent, unknown: sent, and may land"}},

		"failing": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseFailing, Error: failure}},
			[]string{"Its last try failed (proof failed); whether there is another one is being decided.", "NOTHING", "WEIGH 10:00"}},
		"delayed": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDelayed, Error: failure, Retries: 1, DueAt: at(3), Attempts: []try{ended(proving, lifecycle.Prepared)}}},
			[]string{"Its last try failed (proof failed). One retry used.", "RETRY_DELAY 10:03", "RETRY 10:03", "prepared, nowhere: never sent"}},
		"delayed, open": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDelayed, Uncounted: true, DueAt: at(3), Attempts: []try{open(lifecycle.Unknown)}}},
			[]string{"Its worker could not be reached. An earlier attempt may still land. No retry used.", "RETRY_DELAY 10:03", "RETRY 10:03", "unknown, unknown: sent, and may land"}},

		"done": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Landed: 1, Attempts: []try{landed}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FateIncluded, Agreed: true, Hash: "5J1", Height: 190, Depth: 6}},
			[]string{"It took effect in block 190, and is watched until that is 8 blocks deep.", "FINALITY", "FINAL", "included, block: succeeded in block 190, 6 deep"}},
		"final": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Landed: 1, FinalAt: at(-5), Attempts: []try{landed}}},
			[]string{"It took effect in block 190, for good.", "NOTHING", "REMOVE 09:55", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"resolved": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Landed: 1, FinalAt: at(-5), Attempts: []try{ended(open(lifecycle.Unknown), lifecycle.Included)}}},
			[]string{"It took effect, as a person said, for good.", "NOTHING", "REMOVE 09:55", "included, block: succeeded, as a person said"}},
		"finished": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, FinalAt: at(-5), Callback: lifecycle.OnSuccess, CallbackTries: 2}},
			[]string{"Its worker finished it without a block. Its worker has not yet answered the callback, told twice.", "CALLBACK", "TELL"}},
		"reopened": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Reopened: true, Landed: 1, Attempts: []try{landed}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"It was DONE, and block 190 is no longer on the chain; the same bytes are sent again until it lands or cannot.", "BLOCK", "SEND_AGAIN", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"reopened, legacy": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Reopened: true, Landed: 1, Attempts: []try{sentByWorker(landed)}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"It was DONE, and block 190 is no longer on the chain. Only its worker has its bytes: it lands if a node still has it or the worker sends it again. If no node shows it for long, a person has to settle it.",
				"BLOCK", "WATCH 10:00", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"reopened, legacy in pools": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Reopened: true, Landed: 1, Attempts: []try{sentByWorker(landed)}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Hash: "5J1"}},
			[]string{"It was DONE, and block 190 is no longer on the chain. In the pool of at least one node, waiting for another block.",
				"BLOCK", "WATCH 10:00", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"reopened, legacy stuck": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseDone, Reopened: true, Landed: 1, Attempts: []try{sentByWorker(aged(landed))}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FatePooled, Hash: "5J1"}},
			[]string{"It was DONE, and block 190 is no longer on the chain. In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: have its worker send it again, or restart the nodes that show it and resolve it then.",
				"PERSON", "WATCH 10:00", "included, block: succeeded in block 190, 2 deep when last stored"}},
		"cancelled": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseFailed, Error: &lifecycle.Error{Code: lifecycle.CodeCancelled}}},
			[]string{"It was cancelled before it took effect.", "NOTHING", "NONE"}},
		"used up": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseFailed, Error: failure, Attempts: []try{ended(open(lifecycle.Sent), lifecycle.Expired)}}},
			[]string{"All tries are used up (proof failed).", "NOTHING", "NONE", "expired, nowhere: expired unspent"}},
		"unresolved": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseUnresolved, Error: failure}},
			[]string{"No retry can mend it (proof failed).", "PERSON", "DECIDE"}},
		"outcome unknown": {sequencer.Scene{Txn: &txn{Phase: lifecycle.PhaseUnresolved, Attempts: []try{legacy}}, Sighting: lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true}},
			[]string{"Nobody knows what became of its attempt. Look for it, and say by resolve whether it landed.", "PERSON", "RESOLVE", "unknown, nowhere: in no pool and no block, and may still land"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sequencer.Explain(scene(tc.scene))
			if d := cmp.Diff(tc.want, brief(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got.State != tc.scene.Txn.State() || !got.Since.Equal(tc.scene.Txn.ChangedAt) {
				t.Errorf("state %s since %v", got.State, got.Since)
			}
		})
	}
}

// TestExplainAnywhere: every process explains every transaction, whoever drives
// it, and who asks often does not make the nodes be asked often.
func TestExplainAnywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		w.worker(1, devworker.Options{ProveTime: time.Minute})
		p := w.start()
		w.post("q", "a")
		w.post("q", "b")
		w.awaitTxn("a", "watching", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWatching })
		other := w.start()
		<-time.After(2 * w.policy.InclusionInterval) // the nodes have been asked since it was sent
		for name, p := range map[string]*process{"its own": p, "another": other} {
			e, err := p.Explain(w.ctx, "a")
			w.ok(err)
			if e.State != lifecycle.Revision || e.Wait.Code != lifecycle.WaitBlock || e.Attempts[0].Place != "pool" || !e.Attempts[0].Agreed || !e.Wait.Until.After(time.Now()) {
				t.Errorf("%s process: %+v", name, e)
			}
			e, err = p.Explain(w.ctx, "b")
			w.ok(err)
			if e.Summary != "Second in its queue; the one before (a) waits for a block." || e.Wait.Code != lifecycle.WaitQueueHead {
				t.Errorf("%s process: %+v", name, e)
			}
		}
		began := time.Now()
		for range 5 {
			if _, err := other.Explain(w.ctx, "a"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("five questions one after the other took %v", took)
		}
		w.web.unplug("node0", true)
		e, err := other.Explain(w.ctx, "a")
		w.ok(err)
		if e.Wait.Code != lifecycle.WaitNodes {
			t.Errorf("without a node: %+v", e)
		}
		w.web.unplug("node0", false)
		if _, err := p.Explain(w.ctx, "none"); err == nil {
			t.Error("what is not there is explained")
		}
		w.await("b", lifecycle.Done, 3*time.Hour)
		if e, err := other.Explain(w.ctx, "b"); err != nil || e.Wait.Code != lifecycle.WaitFinality && e.Wait.Code != lifecycle.WaitNothing {
			t.Errorf("%+v, %v", e, err)
		}
	})
}
