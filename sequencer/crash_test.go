package sequencer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

var crashEvery = flag.Int("crash.every", 6, "kill at one of so many calls of a train's life; 1 for all")

// TestCrashPoints takes whole lives, of one at a time with workers of both kinds and of trains
// in which each member fails in turn, and kills the process before and after each of its calls
// to Redis, to the worker and to the node. Another process goes on with what is left. In the end
// all transactions have taken effect once and, but for those that commute, in order, and
// nothing is bound.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for _, l := range crashLives() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			scripts := new(scriptBook)
			l.lived(t, scripts) // once, for the names of the scripts
			points := l.lived(t, scripts)
			for _, step := range l.steps {
				if !slices.Contains(points, step) {
					t.Errorf("no call %q in %q", step, points)
				}
			}
			var sum crashSum
			t.Cleanup(func() {
				t.Logf("%s: %d calls, %d kills before and after them, %d points not met again, %d times OUTCOME_UNKNOWN",
					l.name, len(points), sum.kills.Load(), sum.missed.Load(), sum.unknown.Load())
			})
			for i, p := range points {
				if every := l.every(); i%every != 0 {
					continue
				}
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s,after=%v", p, after), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) { l.crash(t, scripts, p, after, &sum) })
					})
				}
			}
		})
	}
}

// A crashLife is what happens in a world until all is over, if no process dies.
type crashLife struct {
	name  string
	open  func(*testing.T) *harness.World // all is posted
	uids  []string
	steps []string             // calls that there is no such life without
	mixed bool                 // they take effect in any order
	check func(*harness.World) // that it was this life
}

// every is of how many points one is taken.
func (l *crashLife) every() int {
	n := 1
	if len(l.uids) > 2 {
		n = *crashEvery
	}
	switch {
	case lane.Raced:
		n *= 12
	case lane.Sampled():
		n *= 3
	}
	return n
}

func crashLives() []*crashLife {
	steps := []string{
		"redis bind 1",
		"redis advance 1",
		"redis advance 2",
		"redis advance 3",
		"redis called 1",
		"redis called 2",
		"worker /prove/MINT 1",
		"worker /prove/MINT 4",
		"worker /on-success/MINT 1",
		"worker /on-success/MINT 2",
	}
	legacy := append(slices.Clone(steps), "worker /dispatch/MINT 1", "worker /dispatch/MINT 2", "worker /dispatch/MINT 3",
		"worker /dispatch/MINT 4")
	steps = append(steps, "node sendZkapp 1", "node sendZkapp 2", "node sendZkapp 3")
	ab := []string{"a", "b"}
	lives := []*crashLife{
		{name: "two-phase", uids: ab, steps: steps, check: crashFees,
			open: func(t *testing.T) *harness.World { return crashWorld(t, false) }},
		{name: "legacy", uids: ab, steps: legacy, check: crashFees,
			open: func(t *testing.T) *harness.World { return crashWorld(t, true) }},
	}
	train := append(slices.Clone(steps), "redis join 1", "redis join 2", "redis join 3", "worker /prove/MINT 5",
		"node sendZkapp 5", "worker /on-success/MINT 4")
	for k := range 3 {
		lives = append(lives, crashTrain(fmt.Sprintf("train, %d fails", k), dispatcher.Chained, k, 0, train))
	}
	resigned := slices.Concat(train, []string{"worker /resign/MINT 1", "worker /resign/MINT 2"})
	return append(lives, crashTrain("at once, 1 fails", dispatcher.Commuting, 1, 0, resigned),
		crashTrain("tried early, 1 fails", dispatcher.Chained, 1, 1, train))
}

// crashTrain has four transactions in a queue, three of which may be in flight: the worker fails
// to prove the third, and one of them fails in its block, those behind it along with it unless
// they commute. early is the depth at which they are tried again, 0 for SETTLE_DEPTH.
func crashTrain(name string, mode dispatcher.Mode, fails int, early uint32, steps []string) *crashLife {
	l := &crashLife{name: name, steps: steps, mixed: mode == dispatcher.Commuting}
	for i := range 4 {
		l.uids = append(l.uids, fmt.Sprintf("claim-%02d", i))
	}
	l.open = func(t *testing.T) *harness.World {
		policy := crashPolicy()
		policy.Width = 3
		w := newCrashWorld(t, failingOnce("claim", fails, "Account_app_state_1_precondition_unsatisfied"), policy)
		w.Overlap, w.Again = map[string]dispatcher.Mode{"MINT": mode}, int(early)
		_, worker := w.Worker(1, devworker.Options{ProveTime: 20 * time.Second, SignTime: time.Second, Several: true,
			Capacity: 3})
		worker.Fail(devworker.Fault{UID: l.uids[2], Kind: devworker.Error, Code: "20202", Message: "proof failed",
			After: true})
		w.PostAll("claim", len(l.uids))
		return w
	}
	l.check = func(w *harness.World) {
		lost := 0
		for _, uid := range l.uids {
			for _, a := range w.Get(uid).Attempts {
				if a.Failed() {
					lost++
				}
			}
		}
		if lost == 0 || l.mixed && lost > 1 {
			w.Errorf("%d fees were lost", lost)
		}
	}
	return l
}

type crashSum struct{ kills, missed, unknown atomic.Int64 }

func crashPolicy() lifecycle.Policy {
	policy := harness.Policy()
	policy.CycleInterval, policy.InclusionInterval, policy.DispatchTimeout = 5*time.Minute, time.Minute, 2*time.Minute
	policy.RetryDelay, policy.RetryDelayMax = 30*time.Second, time.Minute
	policy.SettleDepth, policy.Finality, policy.ClaimTTL = 2, 3, 20*time.Minute
	return policy
}

func newCrashWorld(t *testing.T, c devnet.Config, policy lifecycle.Policy) *harness.World {
	t.Helper()
	// After all else is closed: go-redis looks for that ten times a second.
	t.Cleanup(func() { harness.Until(context.Background(), time.Minute) })
	return harness.NewWith(t, c, policy)
}

// crashWorld has two transactions in one queue: the first fails with the worker,
// then in a block, and then lands.
func crashWorld(t *testing.T, legacy bool) *harness.World {
	t.Helper()
	var failed sync.Once
	w := newCrashWorld(
		t,
		devnet.Config{SlotTime: time.Minute, FillRate: 1, FailWhen: func(devnet.Command) (reasons []string) {
			failed.Do(func() { reasons = []string{"Account_app_state_0_precondition_unsatisfied"} })
			return reasons
		}},
		crashPolicy(),
	)
	_, worker := w.Worker(1, devworker.Options{ProveTime: 20 * time.Second, SignTime: time.Second, Legacy: legacy})
	worker.Fail(devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed", After: !legacy})
	w.Post("claim", "a")
	w.Post("claim", "b")
	return w
}

func crashFees(w *harness.World) {
	a := w.Get("a")
	var fees []uint64
	for _, x := range a.Attempts {
		fees = append(fees, x.Fee)
	}
	if want := []uint64{100_000_000, 150_000_000, 225_000_000}; !slices.Equal(fees, want) ||
		a.Retries != 2 || !a.Attempts[1].Failed() || a.Attempts[2].State != tx.Included {
		w.Fatalf("another life: fees %d, %+v", fees, a)
	}
}

// lived is the life without a crash. It returns the calls in their order.
func (l *crashLife) lived(t *testing.T, scripts *scriptBook) (calls []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := l.open(t)
		first := len(scripts.bodies()) == 0
		f := fused(w, scripts, "", false)
		if first { // then nobody else may load scripts meanwhile
			<-time.After(time.Hour)
		}
		for _, uid := range l.uids {
			awaitOver(w, uid)
		}
		l.check(w)
		l.livedOnce(w)
		calls = f.seen()
	})
	return calls
}

// crash kills a process at one call and has another go on.
func (l *crashLife) crash(t *testing.T, scripts *scriptBook, point string, after bool, sum *crashSum) {
	w := l.open(t)
	f := fused(w, scripts, point, after)
	inHand := "" // the transaction whose legacy worker is at work when the process dies
	for until := time.Now().Add(12 * time.Hour); ; {
		select {
		case <-f.burnt:
			sum.kills.Add(1)
			for _, uid := range l.uids {
				if x := w.Get(uid); x.Phase == tx.PhaseDispatching && x.Last() != nil && x.Last().State == tx.Called {
					inHand = uid
				}
			}
		case <-time.After(5 * time.Minute):
			if unfinished(w, l.uids...) != "" && time.Now().Before(until) {
				continue
			}
			// What comes with the clock may come once less, but no step of a life.
			if sum.missed.Add(1); slices.Contains(l.steps, point) {
				t.Errorf("%s has not been met", point)
			}
			return
		}
		break
	}
	next := w.Start()
	for _, uid := range l.uids {
		if settled(w, uid).State() != tx.Unresolved {
			continue
		}
		sum.unknown.Add(1)
		if uid != inHand {
			t.Errorf("%s: outcome unknown, and %q was in the hands of a worker", uid, inHand)
		}
		resolve(w, next.Sequencer, uid)
		awaitOver(w, uid)
	}
	l.livedOnce(w)
}

// awaitOver waits until nothing of a transaction is left to be done.
func awaitOver(w *harness.World, uid string) {
	w.Helper()
	if x := settled(w, uid); !over(x) {
		w.Fatalf("%s is %s: %+v", uid, x.Phase, x.Error)
	}
}

func over(t *tx.Transaction) bool {
	return t.State() == tx.Done && !t.FinalAt.IsZero() && t.Claim == "" && t.Callback == ""
}

// settled waits until a transaction is over, or for a person.
func settled(w *harness.World, uid string) *tx.Transaction {
	w.Helper()
	look := time.NewTicker(5 * time.Minute)
	defer look.Stop()
	for range 12 * 12 {
		if t := w.Get(uid); over(t) || t.State() == tx.Unresolved && t.Callback == "" {
			return t
		}
		<-look.C
	}
	w.Fatalf("%s is not settled after 12 hours: %+v", uid, w.Get(uid))
	return nil
}

func unfinished(w *harness.World, uids ...string) string {
	for _, uid := range uids {
		if !over(w.Get(uid)) {
			return uid
		}
	}
	return ""
}

// resolve is what a person does of whom the outcome is asked: nothing on the
// chain tells of it, so the attempt is dead, and is to be made again in its turn.
func resolve(w *harness.World, s *sequencer.Sequencer, uid string) {
	w.Helper()
	x := w.Get(uid)
	if x.Error == nil || x.Error.Code != tx.CodeOutcomeUnknown {
		w.Fatalf("%s is unresolved: %+v", uid, x.Error)
	}
	for _, hash := range w.Net.Seen() {
		known := func(a tx.Attempt) bool { return a.Hash == hash || a.NodeHash == hash }
		if !slices.ContainsFunc(x.Attempts, known) && !slices.ContainsFunc(w.Get("a").Attempts, known) {
			w.Errorf("%s: a node has seen %s, and its outcome is unknown", uid, hash)
		}
	}
	w.OK(w.Store.Pause(w.Ctx, x.Queue, "a person decides"))
	_, err := s.Resolve(w.Ctx, uid, false, "")
	w.OK(err)
	_, err = s.Retry(w.Ctx, uid)
	w.OK(err)
	w.OK(w.Store.Resume(w.Ctx, x.Queue))
}

// livedOnce: all are done once, in order unless they commute, told of, and hold nothing any more.
func (l *crashLife) livedOnce(w *harness.World) {
	w.Helper()
	var effects, want []string
	for _, e := range w.Net.Effects() {
		if e.OK {
			effects = append(effects, e.Hash)
		}
	}
	for _, uid := range l.uids {
		want = append(want, w.Get(uid).Hash())
	}
	if l.mixed {
		slices.Sort(effects)
		slices.Sort(want)
	}
	if !slices.Equal(effects, want) {
		w.Errorf("effects %q, want %q", effects, want)
	}
	var told []string
	for _, worker := range w.Workers {
		for _, call := range worker.Told() {
			if call.Kind == devworker.OnSuccess && !slices.Contains(told, call.UID) {
				told = append(told, call.UID)
			}
		}
	}
	if l.mixed {
		slices.Sort(told)
	}
	if !slices.Equal(told, l.uids) {
		w.Errorf("told of %q", told)
	}
	all, _, err := w.Pool.List(w.Ctx, 10, "")
	w.OK(err)
	for _, s := range all {
		if s.State() != tx.QueueFree || s.Queue != "" || !s.Available() {
			w.Errorf("its sender: %+v", s)
		}
	}
	switch q, err := w.Store.Queue(w.Ctx, "claim"); {
	case errors.Is(err, queues.ErrNotFound): // its record has ended with its work
	case err != nil:
		w.Fatal(err)
	case q.State() != tx.QueueFree || q.Running != "" || q.Sender != "":
		w.Errorf("its queue: %+v", q)
	}
	if found := audited(w, false); len(found) > 0 {
		w.Errorf("audit: %q", found)
	}
}
