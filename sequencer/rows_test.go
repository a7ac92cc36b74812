package sequencer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

type (
	situation = sequencer.Situation
	event     = sequencer.Event
	decision  = sequencer.Decision
)

// A row is one line of the state table, or one case of a line.
type row struct {
	name string
	hit  func(s situation, e event, d decision, ok bool) bool
}

// leads matches an event that leads from a phase to another.
func leads(from lifecycle.Phase, e event, to lifecycle.Phase) func(situation, event, decision, bool) bool {
	return func(s situation, is event, d decision, ok bool) bool {
		return ok && s.Phase == from && is == e && d.To == to
	}
}

// rows are the state table of the contract.
func rows() []row {
	type S = situation
	and := func(f func(situation, event, decision, bool) bool, also func(S, decision) bool) func(situation, event, decision, bool) bool {
		return func(s situation, e event, d decision, ok bool) bool { return f(s, e, d, ok) && also(s, d) }
	}
	do := func(a sequencer.Action) func(S, decision) bool {
		return func(_ S, d decision) bool { return d.Do == a }
	}
	open := func(s S, _ decision) bool { return s.Open }
	closed := func(s S, _ decision) bool { return !s.Open }
	const (
		waiting, dispatching, sent, watching = lifecycle.PhaseWaiting, lifecycle.PhaseDispatching, lifecycle.PhaseSent, lifecycle.PhaseWatching
		failing, delayed, done, failed       = lifecycle.PhaseFailing, lifecycle.PhaseDelayed, lifecycle.PhaseDone, lifecycle.PhaseFailed
		unresolved                           = lifecycle.PhaseUnresolved
	)
	return []row{
		{"bound", leads(waiting, sequencer.Bound, dispatching)},
		{"landed", leads(watching, sequencer.Landed, done)},
		{"accepted", leads(dispatching, sequencer.Accepted, sent)},
		{"finished without a block", leads(dispatching, sequencer.Finished, done)},
		{"error a retry may mend", and(leads(dispatching, sequencer.Erred, failing), closed)},
		{"error a retry may mend, open", and(leads(dispatching, sequencer.Erred, failing), open)},
		{"unreached or busy", and(leads(dispatching, sequencer.Unreached, waiting), closed)},
		{"unreached or busy, open", and(leads(dispatching, sequencer.Unreached, delayed), open)},
		{"lost, asked again", and(leads(dispatching, sequencer.Lost, dispatching), do(sequencer.AskAgain))},
		{"lost for the third time", and(leads(dispatching, sequencer.Lost, failing), func(s S, _ decision) bool { return s.Losses == 2 })},
		{"lost, legacy", leads(dispatching, sequencer.Lost, sent)},
		{"unresolvable", and(leads(dispatching, sequencer.Hopeless, unresolved), closed)},
		{"unresolvable, open", and(leads(dispatching, sequencer.Hopeless, watching), open)},
		{"unresolved once dead", leads(watching, sequencer.Died, unresolved)},
		{"wait begun", leads(sent, sequencer.WaitBegun, watching)},
		{"vanished, sent again", and(leads(watching, sequencer.Vanished, watching), do(sequencer.SendAgain))},
		{"lingering, fee raised", and(leads(watching, sequencer.Lingering, watching), do(sequencer.RaiseFee))},
		{"lingering at the cap, sent again", and(leads(watching, sequencer.Lingering, watching), do(sequencer.SendAgain))},
		{"failed in a block, mendable", leads(watching, sequencer.FailedIn, failing)},
		{"failed in a block, permanent", leads(watching, sequencer.Rejected, unresolved)},
		{"expired or displaced", leads(watching, sequencer.Died, failing)},
		{"retries used up", and(leads(failing, sequencer.Weighed, failed), closed)},
		{"retries used up, open", and(leads(failing, sequencer.Weighed, watching), open)},
		{"retries left", leads(failing, sequencer.Weighed, delayed)},
		{"sender gone", and(leads(failing, sequencer.Weighed, waiting), func(s S, _ decision) bool { return s.Unusable })},
		{"sender gone in the delay", and(leads(delayed, sequencer.DelayOver, waiting), func(s S, _ decision) bool { return s.Unusable })},
		{"overtaken by a reopened one", func(s situation, _ event, d decision, ok bool) bool {
			return ok && s.Overtaken && d.To == waiting
		}},
		{"delay over", and(leads(delayed, sequencer.DelayOver, dispatching), do(sequencer.CountRetry))},
		{"delay over, no retry used", and(leads(delayed, sequencer.DelayOver, dispatching), do(sequencer.TryNew))},
		{"cancelled while waiting", leads(waiting, sequencer.Cancelled, failed)},
		{"cancelled in the delay", leads(delayed, sequencer.Cancelled, failed)},
		{"cancel asked for, open", and(leads(watching, sequencer.Cancelled, watching), do(sequencer.FlagCancel))},
		{"retried by a person", leads(failed, sequencer.RetryAsked, waiting)},
		{"retried by a person, unresolved", leads(unresolved, sequencer.RetryAsked, waiting)},
		{"outcome unknown", leads(watching, sequencer.Ambiguous, unresolved)},
		{"said to be dead", leads(unresolved, sequencer.DeadSaid, unresolved)},
		{"landed late", leads(unresolved, sequencer.Landed, done)},
		{"orphaned", and(leads(done, sequencer.Orphaned, done), do(sequencer.SendAgain))},
		{"landed again", leads(done, sequencer.Landed, done)},
		{"cannot land any more", leads(done, sequencer.Unlandable, waiting)},
		{"final", leads(done, sequencer.Finalised, done)},
	}
}

// TestEveryRow takes one service through every row of the state table, with
// simulated workers, chain and hours, and shows that each transaction took
// effect once and in the order of its queue.
func TestEveryRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testEveryRow)
}

func testEveryRow(t *testing.T) {
	table := rows()
	hits := make([]int, len(table))
	var mu sync.Mutex
	reasons := map[string][]string{} // by memo, one for each inclusion to fail
	troubles := map[string][]devworker.Fault{}
	began := time.Now()
	w := newWorldWith(t, devnet.Config{FillRate: 1, MaxZkapps: 2, Nodes: 1, FailWhen: func(c devnet.Command) []string {
		mu.Lock()
		defer mu.Unlock()
		list := reasons[c.Memo]
		if len(list) == 0 {
			return nil
		}
		reasons[c.Memo] = list[1:]
		return list[:1]
	}}, patientPolicy())
	w.observe = func(s sequencer.Situation, e sequencer.Event, d sequencer.Decision, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		for i, r := range table {
			if r.hit(s, e, d, ok) {
				hits[i]++
			}
		}
	}
	var all []string // uids that are to end DONE
	order := map[string][]string{}
	post := func(queue string, uids ...string) {
		for _, uid := range uids {
			w.post(queue, uid)
			all = append(all, uid)
			order[queue] = append(order[queue], uid)
		}
	}
	done := func(uids ...string) {
		t.Helper()
		for _, uid := range uids {
			w.await(uid, lifecycle.Done, 48*time.Hour)
		}
	}
	fail := func(uid string, why ...string) {
		mu.Lock()
		defer mu.Unlock()
		reasons[lifecycle.Memo("test", uid)] = why
	}
	one, oneWorker := w.worker(1, devworker.Options{ProveTime: 20 * time.Second})
	two, twoWorker := w.worker(2, devworker.Options{ProveTime: 30 * time.Second})
	legacy, legacyWorker := w.worker(3, devworker.Options{ProveTime: 30 * time.Second, Legacy: true})
	workers := map[string]*devworker.Worker{one: oneWorker, two: twoWorker, legacy: legacyWorker}
	// only leaves just one sender in use, for the cases that depend on it.
	only := func(keep ...string) {
		t.Helper()
		for account := range workers {
			if slices.Contains(keep, account) {
				w.ok(w.pool.Resume(w.ctx, account))
			} else {
				w.ok(w.pool.Drain(w.ctx, account))
			}
		}
	}
	p := w.start()

	t.Log("a crowd: more queues than senders")
	for i := range 40 {
		post(fmt.Sprintf("crowd%d", i%8), fmt.Sprintf("c%02d", i))
	}
	done(all...)

	t.Log("answers of workers")
	only(one, two)
	trouble := func(uid string, times int, f devworker.Fault) {
		mu.Lock()
		defer mu.Unlock()
		for range times {
			troubles[uid] = append(troubles[uid], f)
		}
	}
	for _, worker := range workers {
		worker.Script(func(c devworker.Call) *devworker.Fault {
			mu.Lock()
			defer mu.Unlock()
			list := troubles[c.UID]
			if len(list) == 0 || c.Kind != devworker.Prove {
				return nil
			}
			troubles[c.UID] = list[1:]
			return &list[0]
		})
	}
	trouble("finished", 1, devworker.Fault{Kind: devworker.Answer, Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
	trouble("erred", 1, devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	trouble("exhausted", 2, devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	trouble("hopeless", 1, devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"})
	trouble("busy", 1, devworker.Fault{Kind: devworker.Busy, Wait: time.Minute})
	trouble("lost", 1, devworker.Fault{Kind: devworker.Cut})
	trouble("lost3", 3, devworker.Fault{Kind: devworker.Cut})
	post("answers1", "erred", "busy")
	post("answers2", "lost", "lost3")
	post("answers3", "hopeless")
	w.post("answers4", "finished")
	w.await("hopeless", lifecycle.Unresolved, time.Hour)
	if _, err := p.Retry(w.ctx, "hopeless"); err != nil {
		t.Fatal(err)
	}
	done("erred", "busy", "lost", "lost3", "hopeless", "finished")
	p.stop()
	w.policy.MaxRetries = 1
	p = w.start()
	only(one)
	post("answers5", "exhausted")
	if _, err := p.Retry(w.ctx, w.await("exhausted", lifecycle.Failed, 2*time.Hour).UID); err != nil {
		t.Fatal(err)
	}
	done("exhausted")

	t.Log("blocks: failed in one, dropped from the pool, a full chain")
	fail("stale", "Account_app_state_0_precondition_unsatisfied")
	fail("forbidden", "Update_not_permitted_balance")
	post("blocks1", "stale")
	post("blocks2", "forbidden")
	done("stale")
	w.await("forbidden", lifecycle.Unresolved, 5*time.Hour)
	if _, err := p.Retry(w.ctx, "forbidden"); err != nil {
		t.Fatal(err)
	}
	done("forbidden")
	post("blocks3", "dropped")
	w.net.Drop(w.await("dropped", lifecycle.Revision, time.Hour).Hash())
	done("dropped")
	only(one)
	post("blocks4", "lingers", "capped")
	flood(w, 1000, 50, 300_000_000)
	done("lingers")
	flood(w, 2000, 150, 10_000_000_000)
	done("capped")
	if a := w.get("lingers").Attempts; len(a) < 3 {
		t.Errorf("the fee was raised %d times", len(a)-1)
	}

	t.Log("a node that takes nothing: the attempt expires")
	node := w.net.Node(0)
	w.ok(node.SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
	post("refused1", "expires")
	w.awaitTxn("expires", "retried", 24*time.Hour, func(t *lifecycle.Transaction) bool { return len(t.Attempts) == 2 })
	w.ok(node.SetFaults(devnet.Faults{}))
	done("expires")
	if a := w.get("expires").Attempts; a[0].Outcome != lifecycle.Expired || a[0].Nonce != a[1].Nonce {
		t.Errorf("after expiry: %+v", a)
	}

	t.Log("cancelled: waiting, in the delay, and with an attempt on its way")
	w.ok(node.SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
	post("cancel1", "flagged")
	w.post("cancel1", "cancelled")
	w.awaitTxn("flagged", "watching", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWatching })
	if _, pending, err := p.Cancel(w.ctx, "flagged"); err != nil || !pending {
		t.Errorf("cancel with an attempt open: pending %v, %v", pending, err)
	}
	if got, pending, err := p.Cancel(w.ctx, "cancelled"); err != nil || pending || got.State() != lifecycle.Failed {
		t.Errorf("cancel while waiting: %v, pending %v, %v", got.State(), pending, err)
	}
	w.await("flagged", lifecycle.Failed, 24*time.Hour)
	w.ok(node.SetFaults(devnet.Faults{}))
	if _, err := p.Retry(w.ctx, "flagged"); err != nil {
		t.Fatal(err)
	}
	done("flagged")
	oneWorker.Fail(devworker.Fault{UID: "delayed", Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	w.post("cancel2", "delayed")
	w.awaitTxn("delayed", "delayed", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseDelayed })
	if _, pending, err := p.Cancel(w.ctx, "delayed"); err != nil || pending {
		t.Errorf("cancel in the delay: pending %v, %v", pending, err)
	}

	t.Log("senders that go")
	oneWorker.Fail(devworker.Fault{UID: "moves", Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	post("gone1", "moves")
	w.awaitTxn("moves", "delayed", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseDelayed })
	only(two)
	done("moves")
	if a := w.get("moves").Attempts; a[0].Sender != one || a[len(a)-1].Sender != two {
		t.Errorf("moves: %+v", a)
	}
	only(one)
	oneWorker.Fail(devworker.Fault{UID: "displaced", Kind: devworker.Hang, Wait: 5 * time.Minute})
	post("gone2", "displaced")
	next := w.awaitTxn("displaced", "prepared", time.Hour, func(t *lifecycle.Transaction) bool { return len(t.Attempts) == 1 }).Attempts[0].Nonce
	stranger(w, one, next, 200_000_000)
	w.awaitTxn("displaced", "back in its queue", 24*time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWaiting })
	if s, err := w.pool.Get(w.ctx, one); err != nil || s.Reason != lifecycle.StoppedNonce {
		t.Errorf("sender %+v, %v", s, err)
	}
	only(one, two)
	done("displaced")

	t.Log("legacy workers: a lost reply after the send, and before it")
	only(legacy)
	legacyWorker.Fail(
		devworker.Fault{UID: "after", Kind: devworker.Cut, After: true},
		devworker.Fault{UID: "before", Kind: devworker.Cut},
		devworker.Fault{UID: "late", Kind: devworker.Hang, Wait: 40 * time.Minute},
	)
	post("legacy1", "after")
	done("after")
	post("legacy2", "before")
	w.await("before", lifecycle.Unresolved, 5*time.Hour)
	if s, _ := w.pool.Get(w.ctx, legacy); s.Reason != lifecycle.OutcomeUnknown {
		t.Errorf("sender of an unknown outcome: %+v", s)
	}
	if _, err := p.Retry(w.ctx, "before"); err == nil {
		t.Error("retried although it might still land")
	}
	if _, err := p.Resolve(w.ctx, "before", false, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Retry(w.ctx, "before"); err != nil {
		t.Fatal(err)
	}
	done("before")
	post("legacy3", "late")
	// The worker gets its answer out long after everybody has given up.
	w.await("late", lifecycle.Unresolved, 5*time.Hour)
	stranger(w, legacy, w.get("late").Attempts[0].Nonce, 200_000_000)
	done("late")
	order["legacy3"] = nil // a legacy command carries no memo: it was taken for it by its payer
	order["legacy1"], order["legacy2"] = nil, nil

	t.Log("a process that dies after it stored what it signed, and a node that refuses the bytes then")
	only(two)
	for i, refusal := range []struct{ uid, text string }{
		{"refused-mendable", `Insufficient fee`}, {"refused-hopeless", `["Bad_token"]`}, {"refused-exhausted", `(invalid (Invalid_proof))`},
	} {
		uid := refusal.uid
		twoWorker.Fail(devworker.Fault{UID: uid, Kind: devworker.Hang, Wait: time.Minute})
		post(fmt.Sprintf("crash%d", i), uid)
		w.awaitTxn(uid, "prepared", time.Hour, func(t *lifecycle.Transaction) bool { return len(t.Attempts) == 1 })
		w.ok(node.SetFaults(devnet.Faults{Hang: true}))
		w.awaitTxn(uid, "signed", time.Hour, func(t *lifecycle.Transaction) bool {
			return len(t.Attempts) > 0 && t.Attempts[0].Outcome == lifecycle.Signed
		})
		p.kill()
		faults := devnet.Faults{Refuse: refusal.text}
		switch uid {
		case "refused-mendable":
			// The second attempt finds the worker busy, while the first is open.
			trouble(uid, 1, devworker.Fault{Kind: devworker.Busy, Wait: time.Minute})
		case "refused-exhausted":
			w.policy.MaxRetries = 0
		}
		w.ok(node.SetFaults(faults))
		p = w.start()
		switch uid {
		case "refused-mendable":
			w.awaitTxn(uid, "delayed", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseDelayed })
		case "refused-hopeless":
			w.await(uid, lifecycle.Unresolved, 24*time.Hour)
		case "refused-exhausted":
			w.await(uid, lifecycle.Failed, 24*time.Hour)
		}
		w.ok(node.SetFaults(devnet.Faults{}))
		if uid != "refused-mendable" {
			if _, err := p.Retry(w.ctx, uid); err != nil {
				t.Fatal(err)
			}
		}
		done(uid)
	}
	p.stop()
	w.policy.MaxRetries = 3
	w.policy.RetryDelay = 5 * time.Minute // some looks at the chain fit into one
	w.start()

	t.Log("reorganisations")
	post("reorg1", "orphan")
	done("orphan")
	w.ok(w.net.Reorg(devnet.Reorg{Depth: 1, Empty: true}))
	w.awaitTxn("orphan", "reopened", time.Hour, func(t *lifecycle.Transaction) bool { return t.Reopened })
	w.awaitTxn("orphan", "landed again", time.Hour, func(t *lifecycle.Transaction) bool { return !t.Reopened })
	only(one)
	post("reorg2", "unlandable")
	lost := w.await("unlandable", lifecycle.Done, time.Hour)
	// While it is DONE its successor fails and waits for its next try.
	only(two)
	trouble("successor", 1, devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	post("reorg2", "successor")
	w.awaitTxn("successor", "delayed", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseDelayed })
	w.ok(w.net.Reorg(devnet.Reorg{Depth: int(w.net.Node(0).State().Height-lost.Attempts[0].Height) + 1, Exclude: []string{lost.Hash()}, Empty: true}))
	w.net.Drop(lost.Hash())
	stranger(w, one, lost.Attempts[0].Nonce, 5_000_000_000)
	for range w.policy.SettleDepth + 1 {
		w.net.MakeBlock()
	}
	w.awaitTxn("unlandable", "reopened", time.Hour, func(t *lifecycle.Transaction) bool { return t.State() != lifecycle.Done })
	only(one, two)
	done("unlandable", "successor")

	// Everything ended well: once, in order, nothing left bound.
	mu.Lock()
	defer mu.Unlock()
	for i, r := range table {
		t.Logf("%4d  %s", hits[i], r.name)
		if hits[i] == 0 {
			t.Errorf("no transaction went through: %s", r.name)
		}
	}
	for queue, uids := range order {
		if got := w.effects(uids...); uids != nil && !slices.Equal(got, uids) && !viaLegacy(w, uids) {
			t.Errorf("queue %s took effect as %v, posted %v", queue, got, uids)
		}
	}
	for _, uid := range all {
		if txn := w.get(uid); txn.State() != lifecycle.Done {
			t.Errorf("%s is %s", uid, txn.Phase)
		}
	}
	page, _, err := w.pool.List(context.Background(), 10, "")
	w.ok(err)
	for _, s := range page {
		if s.Queue != "" {
			t.Errorf("sender %s is bound to %s", s.AccountID, s.Queue)
		}
	}
	t.Logf("%d transactions, %v of simulated time", len(all), time.Since(began).Round(time.Minute))
	if len(all) < 50 || time.Since(began) < time.Hour {
		t.Error("too little was simulated")
	}
}

// viaLegacy: some went out through a legacy worker, whose commands carry no memo.
func viaLegacy(w *world, uids []string) bool {
	return slices.ContainsFunc(uids, func(uid string) bool {
		t := w.get(uid)
		return t.Landed > 0 && t.Attempts[t.Landed-1].Legacy
	})
}

// stranger sends a command of an account that no transaction asked for.
func stranger(w *world, account string, nonce uint32, fee uint64) {
	w.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: account, Nonce: nonce, Fee: fee, Memo: "a stranger's"})
	w.ok(err)
	_, err = w.node(0).Send(w.ctx, command)
	w.ok(err)
}

// flood fills the pool with commands of many accounts that pay fee.
func flood(w *world, first uint64, count int, fee uint64) {
	w.Helper()
	for i := range uint64(count) {
		stranger(w, devnet.Key(first+i), 0, fee)
	}
}
