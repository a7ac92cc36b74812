package sequencer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A rowWorld is a service for one scenario: it counts the rows of the state table that
// its transactions go through.
type rowWorld struct {
	*harness.World
	p       *harness.Process
	one     string // a sender with a two-phase worker
	worker1 *devworker.Worker
	mu      sync.Mutex
	hits    map[string]int
	failing map[string][]string // by memo, one for each inclusion to fail
	faults  map[string][]devworker.Fault
	posted  map[string][]string // by queue
}

func newRowWorld(t *testing.T) *rowWorld {
	r := &rowWorld{
		hits:    map[string]int{},
		failing: map[string][]string{},
		faults:  map[string][]devworker.Fault{},
		posted:  map[string][]string{},
	}
	r.World = harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 2, Nodes: 1, FailWhen: r.failWhen},
		harness.PatientPolicy())
	table := harness.Rows()
	r.Observe = func(before, after *tx.Transaction, s *lifecycle.Step) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, row := range table {
			if row.Hit(before, after, s) {
				r.hits[row.Name]++
			}
		}
	}
	r.one, r.worker1 = r.add(1, devworker.Options{ProveTime: 20 * time.Second})
	return r
}

func (r *rowWorld) failWhen(c devnet.Command) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.failing[c.Memo]
	if len(list) == 0 {
		return nil
	}
	r.failing[c.Memo] = list[1:]
	return list[:1]
}

// add registers a sender whose worker fails as trouble has it.
func (r *rowWorld) add(n uint64, o devworker.Options) (string, *devworker.Worker) {
	account, worker := r.Worker(n, o)
	worker.Script(func(c devworker.Call) *devworker.Fault {
		r.mu.Lock()
		defer r.mu.Unlock()
		list := r.faults[c.UID]
		if len(list) == 0 || c.Kind != devworker.Prove {
			return nil
		}
		r.faults[c.UID] = list[1:]
		return &list[0]
	})
	return account, worker
}

func (r *rowWorld) trouble(uid string, times int, f devworker.Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range times {
		r.faults[uid] = append(r.faults[uid], f)
	}
}

func (r *rowWorld) begin() { r.p = r.Start() }

func (r *rowWorld) put(queue string, uids ...string) {
	for _, uid := range uids {
		r.Post(queue, uid)
		r.posted[queue] = append(r.posted[queue], uid)
	}
}

func (r *rowWorld) done(uids ...string) {
	r.Helper()
	for _, uid := range uids {
		r.Await(uid, tx.Done, 48*time.Hour)
	}
}

func (r *rowWorld) phase(uid string, p tx.Phase) *tx.Transaction {
	r.Helper()
	return r.AwaitTxn(uid, string(p), 24*time.Hour, func(t *tx.Transaction) bool { return t.Phase == p })
}

func (r *rowWorld) retry(uid string) {
	r.Helper()
	_, err := r.p.Retry(r.Ctx, uid)
	r.OK(err)
}

func (r *rowWorld) refuse(text string) { r.OK(r.Net.Node(0).SetFaults(devnet.Faults{Refuse: text})) }

var memoryLoss = devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"}

// A scenario takes transactions through some rows of the state table.
type scenario struct {
	name string
	rows []string
	run  func(r *rowWorld)
}

// TestEveryRow takes the service through every row of the state table, each scenario
// with a world of its own, and shows that what ends DONE took effect once and in the
// order of its queue, and that no sender stays bound.
func TestEveryRow(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for i, sc := range scenarios() {
		for _, name := range sc.rows {
			met[name] = true
		}
		if lane.Raced && i%4 != 0 {
			continue // what runs beside what is the same in all
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRowWorld(t)
				sc.run(r)
				r.check(sc)
			})
		})
	}
	for _, row := range harness.Rows() {
		if !met[row.Name] {
			t.Errorf("no scenario for: %s", row.Name)
		}
		delete(met, row.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(met)) {
		t.Errorf("no such row: %s", name)
	}
}

func (r *rowWorld) check(sc scenario) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range sc.rows {
		if r.hits[name] == 0 {
			r.Errorf("no transaction went through: %s (but %v)", name, r.hits)
		}
	}
	for queue, uids := range r.posted {
		r.done(uids...)
		if got := r.Effects(uids...); !slices.Equal(got, uids) && !viaLegacy(r.World, uids) {
			r.Errorf("queue %s took effect as %v, posted %v", queue, got, uids)
		}
	}
	page, _, err := r.Pool.List(context.Background(), 10, "")
	r.OK(err)
	for _, s := range page {
		if s.Queue != "" {
			r.Errorf("sender %s is bound to %s", s.AccountID, s.Queue)
		}
	}
}

// viaLegacy: some went out through a legacy worker, whose commands carry no memo, or were
// finished without a block.
func viaLegacy(w *harness.World, uids []string) bool {
	return slices.ContainsFunc(uids, func(uid string) bool {
		t := w.Get(uid)
		return t.Landed == 0 || t.Attempts[t.Landed-1].Legacy
	})
}

func scenarios() []scenario {
	return slices.Concat(workerScenarios(), blockScenarios(), personScenarios(), legacyScenarios(), reorgScenarios())
}

func workerScenarios() []scenario {
	return []scenario{
		{"a crowd", []string{"bound", "signed", "wait begun", "landed", "final"}, func(r *rowWorld) {
			r.add(2, devworker.Options{ProveTime: 30 * time.Second})
			r.begin()
			for i := range 24 {
				r.put(fmt.Sprintf("crowd%d", i%6), fmt.Sprintf("c%02d", i))
			}
			r.done("c23", "c22")
			<-time.After(2 * time.Hour)
		}},
		{"finished without a block", []string{"finished without a block"}, func(r *rowWorld) {
			r.trouble("a", 1, devworker.Fault{Kind: devworker.Answer, Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
			r.begin()
			r.put("q", "a")
			r.done("a")
		}},
		{"an error that a retry mends", []string{"error a retry may mend", "retries left", "delay over"}, func(r *rowWorld) {
			r.trouble("a", 1, memoryLoss)
			r.begin()
			r.put("q", "a")
			r.done("a")
		}},
		{"retries used up", []string{"retries used up", "retried by a person"}, func(r *rowWorld) {
			r.Policy.MaxRetries = 1
			r.trouble("a", 2, memoryLoss)
			r.begin()
			r.put("q", "a")
			r.Await("a", tx.Failed, 2*time.Hour)
			r.retry("a")
			r.done("a")
		}},
		{"an error that no retry mends", []string{"unresolvable", "retried by a person, unresolved"}, func(r *rowWorld) {
			r.trouble("a", 1, devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"})
			r.begin()
			r.put("q", "a")
			r.Await("a", tx.Unresolved, time.Hour)
			r.retry("a")
			r.done("a")
		}},
		{"a busy worker", []string{"deferred", "deferred, the queue held"}, func(r *rowWorld) {
			r.trouble("a", 1, devworker.Fault{Kind: devworker.Busy, Wait: time.Minute})
			r.begin()
			r.put("q", "a")
			r.done("a")
			if a := r.Get("a"); len(a.Attempts) != 1 || a.Retries != 0 {
				r.Errorf("what the worker did not take on is an attempt, or a retry: %+v", a)
			}
		}},
		{"a lost answer", []string{"lost, asked again"}, func(r *rowWorld) {
			r.trouble("a", 1, devworker.Fault{Kind: devworker.Cut})
			r.begin()
			r.put("q", "a")
			r.done("a")
		}},
		{"three lost answers", []string{"lost for the third time"}, func(r *rowWorld) {
			r.trouble("a", 3, devworker.Fault{Kind: devworker.Cut})
			r.begin()
			r.put("q", "a")
			r.done("a")
		}},
		{"a sender that goes", []string{"sender gone, or overtaken, in the delay"}, func(r *rowWorld) {
			r.trouble("a", 1, memoryLoss)
			r.begin()
			r.put("q", "a")
			r.phase("a", tx.PhaseDelayed)
			two, _ := r.add(2, devworker.Options{})
			r.OK(r.Pool.Drain(r.Ctx, r.one))
			r.done("a")
			if a := r.Get("a").Attempts; a[0].Sender != r.one || a[len(a)-1].Sender != two {
				r.Errorf("attempts %+v", a)
			}
		}},
		{"a sender that others want", []string{"its sender wanted by others, in the delay"}, func(r *rowWorld) {
			r.Policy.RetryDelay, r.Policy.RetryDelayMax = 2*time.Hour, 2*time.Hour
			r.trouble("a", 1, memoryLoss)
			r.begin()
			r.put("q", "a")
			r.phase("a", tx.PhaseDelayed)
			began := r.Get("a").ChangedAt
			r.put("other", "b")
			r.done("b")
			if a := r.Get("a"); a.Phase != tx.PhaseWaiting || a.Retries != 1 {
				r.Errorf("a is %s after %d retries, and b has its sender", a.Phase, a.Retries)
			}
			r.done("a")
			if a := r.Get("a").Attempts; a[1].StartedAt.Sub(began) < time.Hour {
				r.Errorf("tried again at %v, after it failed at %v", a[1].StartedAt, began)
			}
		}},
	}
}

func blockScenarios() []scenario {
	return []scenario{
		{"failed in a block, mendable", []string{"failed, expired or displaced"}, func(r *rowWorld) {
			r.failing[lifecycle.Memo("test", "a")] = []string{"Account_app_state_0_precondition_unsatisfied"}
			r.begin()
			r.put("q", "a")
			r.done("a")
		}},
		{"failed in a block, permanent", []string{"failed in a block, permanent"}, func(r *rowWorld) {
			r.failing[lifecycle.Memo("test", "a")] = []string{"Update_not_permitted_balance"}
			r.begin()
			r.put("q", "a")
			r.Await("a", tx.Unresolved, 5*time.Hour)
			r.retry("a")
			r.done("a")
		}},
		{"dropped from the pool", nil, func(r *rowWorld) {
			r.begin()
			r.put("q", "a")
			r.Net.Drop(r.Await("a", tx.Revision, time.Hour).Hash())
			r.done("a")
		}},
		{"a full chain", []string{"lingering, fee raised"}, func(r *rowWorld) {
			r.begin()
			<-time.After(10 * time.Minute) // slot 0 is none
			r.put("q", "lingers", "capped")
			r.Flood(1000, 50, 300_000_000)
			r.done("lingers")
			r.Flood(2000, 150, 10_000_000_000)
			r.done("capped")
			if a := r.Get("lingers").Attempts; len(a) < 3 {
				r.Errorf("the fee was raised %d times", len(a)-1)
			}
		}},
		{"an attempt expires", []string{"failed, expired or displaced"}, func(r *rowWorld) {
			r.refuse(`["Overloaded"]`)
			r.begin()
			r.put("q", "a")
			r.AwaitTxn("a", "retried", 24*time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 2 })
			r.refuse("")
			r.done("a")
			if a := r.Get("a").Attempts; a[0].State != tx.Expired || a[0].Nonce != a[1].Nonce {
				r.Errorf("after expiry: %+v", a)
			}
		}},
		{"a stranger takes the nonce", []string{"sender gone, or overtaken"}, func(r *rowWorld) {
			r.worker1.Fail(devworker.Fault{UID: "a", Kind: devworker.Hang, Wait: 5 * time.Minute})
			r.begin()
			r.put("q", "a")
			planned := r.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
			r.Stranger(r.one, planned.Attempts[0].Nonce, 200_000_000)
			r.phase("a", tx.PhaseWaiting)
			if s, err := r.Pool.Get(r.Ctx, r.one); err != nil || s.Reason != tx.StoppedNonce {
				r.Errorf("sender %+v, %v", s, err)
			}
			r.OK(r.Pool.Resume(r.Ctx, r.one))
			r.done("a")
		}},
		{"every node refuses", []string{"refused at its first sending"}, func(r *rowWorld) {
			r.refuse(`["Insufficient fee"]`)
			r.begin()
			r.put("q", "a")
			r.phase("a", tx.PhaseDelayed)
			r.refuse("")
			r.done("a")
		}},
		{"refused after a crash, then busy", []string{"deferred, open", "delay over, no retry used"}, func(r *rowWorld) {
			r.crashSigned("a", `Insufficient fee`,
				func() { r.trouble("a", 1, devworker.Fault{Kind: devworker.Busy, Wait: time.Minute}) })
			r.AwaitTxn("a", "deferred", 24*time.Hour, func(t *tx.Transaction) bool { return t.Deferred > 0 })
			r.refuse("")
			r.done("a")
		}},
		{"refused after a crash, then an error", []string{"error a retry may mend, open"}, func(r *rowWorld) {
			r.crashSigned("a", `Insufficient fee`, func() { r.trouble("a", 1, memoryLoss) })
			r.AwaitTxn("a", "tried again", 24*time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) > 1 })
			r.phase("a", tx.PhaseDelayed)
			r.refuse("")
			r.done("a")
		}},
		{"refused after a crash, then hopeless", []string{"unresolvable, open", "unresolved once dead"}, func(r *rowWorld) {
			r.crashSigned("a", `Insufficient fee`, func() {
				r.trouble("a", 1, devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"})
			})
			r.Await("a", tx.Unresolved, 24*time.Hour)
			r.refuse("")
			r.retry("a")
			r.done("a")
		}},
		{"refused after a crash, no try left", []string{"retries used up, open"}, func(r *rowWorld) {
			r.Policy.MaxRetries = 0
			r.crashSigned("a", `(invalid (Invalid_proof))`, func() {})
			r.Await("a", tx.Failed, 24*time.Hour)
			r.refuse("")
			r.retry("a")
			r.done("a")
		}},
	}
}

// crashSigned has a process die between storing what was signed and the nodes' answer,
// and the next one find that they refuse it.
func (r *rowWorld) crashSigned(uid, refusal string, meanwhile func()) {
	r.Helper()
	r.worker1.Fail(devworker.Fault{UID: uid, Kind: devworker.Hang, Wait: time.Minute})
	r.begin()
	r.put("q", uid)
	r.AwaitTxn(uid, "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
	r.OK(r.Net.Node(0).SetFaults(devnet.Faults{Hang: true}))
	r.AwaitTxn(uid, "signed", time.Hour, func(t *tx.Transaction) bool {
		return len(t.Attempts) > 0 && t.Attempts[0].State == tx.Signed
	})
	r.p.Kill()
	meanwhile()
	r.refuse(refusal)
	r.begin()
}

func personScenarios() []scenario {
	return []scenario{
		{"cancelled while waiting", []string{"cancelled while waiting"}, func(r *rowWorld) {
			r.begin()
			r.put("q", "a")
			r.Post("q", "b")
			if got, pending, err := r.p.Cancel(r.Ctx, "b"); err != nil || pending || got.State() != tx.Failed {
				r.Errorf("cancel while waiting: %v, pending %v, %v", got.State(), pending, err)
			}
			r.done("a")
		}},
		{"cancelled with its worker", []string{"cancelled with its worker"}, func(r *rowWorld) {
			r.worker1.Fail(devworker.Fault{UID: "a", Kind: devworker.Hang, Wait: 5 * time.Minute})
			r.begin()
			r.Post("q", "a")
			r.put("q", "b")
			r.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
			// Its owner may have ended it before the answer is made.
			if got, pending, err := r.p.Cancel(r.Ctx, "a"); err != nil || !pending && got.State() != tx.Failed {
				r.Errorf("cancel with its worker: pending %v, %v", pending, err)
			}
			r.Await("a", tx.Failed, time.Minute)
			r.done("b")
			if got := r.Effects("a"); len(got) > 0 {
				r.Error("it took effect although it was cancelled in time")
			}
		}},
		{"cancelled in the delay", []string{"cancelled in the delay"}, func(r *rowWorld) {
			r.trouble("a", 1, memoryLoss)
			r.begin()
			r.Post("q", "a")
			r.phase("a", tx.PhaseDelayed)
			if _, pending, err := r.p.Cancel(r.Ctx, "a"); err != nil || pending {
				r.Errorf("cancel in the delay: pending %v, %v", pending, err)
			}
		}},
		{"cancelled while open", []string{"cancel asked for, open"}, func(r *rowWorld) {
			r.refuse(`["Overloaded"]`)
			r.begin()
			r.put("q", "a")
			r.phase("a", tx.PhaseWatching)
			if _, pending, err := r.p.Cancel(r.Ctx, "a"); err != nil || !pending {
				r.Errorf("cancel with an attempt open: pending %v, %v", pending, err)
			}
			r.Await("a", tx.Failed, 24*time.Hour)
			r.refuse("")
			r.retry("a")
			r.done("a")
		}},
	}
}

func legacyScenarios() []scenario {
	legacy := func(run func(r *rowWorld, account string, worker *devworker.Worker)) func(*rowWorld) {
		return func(r *rowWorld) {
			account, worker := r.add(3, devworker.Options{ProveTime: 30 * time.Second, Legacy: true})
			r.OK(r.Pool.Drain(r.Ctx, r.one))
			r.begin()
			run(r, account, worker)
		}
	}
	return []scenario{
		{
			"a legacy worker's answer lost after it sent",
			[]string{"lost, legacy"},
			legacy(func(r *rowWorld, _ string, w *devworker.Worker) {
				w.Fail(devworker.Fault{UID: "a", Kind: devworker.Cut, After: true})
				r.put("q", "a")
				r.done("a")
			}),
		},
		{
			"a legacy worker's answer lost before it sent",
			[]string{"outcome unknown", "said to be dead"},
			legacy(func(r *rowWorld, account string, w *devworker.Worker) {
				w.Fail(devworker.Fault{UID: "a", Kind: devworker.Cut})
				r.put("q", "a")
				r.Await("a", tx.Unresolved, 5*time.Hour)
				if s, _ := r.Pool.Get(r.Ctx, account); s.Reason != tx.OutcomeUnknown {
					r.Errorf("sender of an unknown outcome: %+v", s)
				}
				if _, err := r.p.Retry(r.Ctx, "a"); err == nil {
					r.Error("retried although it might still land")
				}
				_, err := r.p.Resolve(r.Ctx, "a", false, "")
				r.OK(err)
				r.retry("a")
				r.done("a")
			}),
		},
		{
			"a legacy worker's command lands late",
			[]string{"landed late"},
			legacy(func(r *rowWorld, account string, w *devworker.Worker) {
				w.Fail(devworker.Fault{UID: "a", Kind: devworker.Hang, Wait: 40 * time.Minute})
				r.put("q", "a")
				r.Await("a", tx.Unresolved, 5*time.Hour)
				r.Stranger(account, r.Get("a").Attempts[0].Nonce, 200_000_000)
				r.done("a")
			}),
		},
	}
}

func reorgScenarios() []scenario {
	return []scenario{
		{"a block is orphaned", []string{"orphaned", "landed again"}, func(r *rowWorld) {
			r.begin()
			r.put("q", "a")
			r.done("a")
			r.OK(r.Net.Reorg(devnet.Reorg{Depth: 1, Empty: true}))
			r.AwaitTxn("a", "reopened", time.Hour, func(t *tx.Transaction) bool { return t.Reopened })
			r.AwaitTxn("a", "landed again", time.Hour, func(t *tx.Transaction) bool { return !t.Reopened })
		}},
		{"it cannot land any more", []string{"cannot land any more"}, func(r *rowWorld) {
			r.unlandable(nil)
		}},
		{"its successor is overtaken in the delay", []string{"sender gone, or overtaken, in the delay"}, func(r *rowWorld) {
			r.Policy.RetryDelay, r.Policy.RetryDelayMax = 2*time.Hour, 2*time.Hour
			r.unlandable(func() {
				r.trouble("b", 1, memoryLoss)
				r.put("q", "b")
				r.phase("b", tx.PhaseDelayed)
			})
			r.done("b")
		}},
		{"its successor is overtaken with its worker", []string{"overtaken by a reopened one"}, func(r *rowWorld) {
			r.unlandable(func() {
				r.trouble("b", 1, devworker.Fault{Kind: devworker.Hang, Wait: 9 * time.Minute})
				r.put("q", "b")
				r.phase("b", tx.PhaseDispatching)
			})
			r.done("b")
		}},
	}
}

// unlandable has the block of "a" leave the chain, and its nonce spent by somebody else;
// meanwhile is done once it is DONE, by another sender.
func (r *rowWorld) unlandable(meanwhile func()) {
	r.Helper()
	r.begin()
	r.put("q", "a")
	lost := r.Await("a", tx.Done, time.Hour)
	r.add(2, devworker.Options{ProveTime: 30 * time.Second})
	r.OK(r.Pool.Drain(r.Ctx, r.one))
	if meanwhile != nil {
		meanwhile()
	}
	r.OK(r.Net.Reorg(devnet.Reorg{
		Depth: int(r.Net.Node(0).State().Height-lost.Attempts[0].Height) + 1, Exclude: []string{lost.Hash()}, Empty: true}))
	r.Net.Drop(lost.Hash())
	r.Stranger(r.one, lost.Attempts[0].Nonce, 5_000_000_000)
	for range r.Policy.SettleDepth + 1 {
		r.Net.MakeBlock()
	}
	r.AwaitTxn("a", "reopened", time.Hour, func(t *tx.Transaction) bool { return t.State() != tx.Done })
	r.done("a")
}
