package sequencer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

// TestCrashPoints takes one life cycle, with workers of both kinds, and kills
// the process before and after each of its calls to Redis, to the worker and to
// the node in turn. Another process goes on with what is left. In the end both
// transactions have taken effect once and in order, and nothing is bound.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for name, legacy := range map[string]bool{"two-phase": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scripts := new(scriptBook)
			lived(t, legacy, scripts) // once, for the names of the scripts
			points := lived(t, legacy, scripts)
			for _, step := range lifeSteps(legacy) {
				if !slices.Contains(points, step) {
					t.Errorf("no call %q in %q", step, points)
				}
			}
			var sum crashSum
			t.Cleanup(func() {
				t.Logf("%s: %d calls, %d kills before and after them, %d points not met again, %d times OUTCOME_UNKNOWN",
					name, len(points), sum.kills.Load(), sum.missed.Load(), sum.unknown.Load())
			})
			for i, p := range points {
				if raced && i%6 != 0 {
					continue
				}
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s,after=%v", p, after), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) { crash(t, legacy, scripts, p, after, &sum) })
					})
				}
			}
		})
	}
}

// lifeSteps are calls that there is no life without.
func lifeSteps(legacy bool) []string {
	s := []string{
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
	if legacy {
		return append(s, "worker /dispatch/MINT 1", "worker /dispatch/MINT 2", "worker /dispatch/MINT 3",
			"worker /dispatch/MINT 4")
	}
	return append(s, "node sendZkapp 1", "node sendZkapp 2", "node sendZkapp 3")
}

type crashSum struct{ kills, missed, unknown atomic.Int64 }

// crashWorld has two transactions in one queue: the first fails with the worker,
// then in a block, and then lands.
func crashWorld(t *testing.T, legacy bool) *world {
	t.Helper()
	// After all else is closed: go-redis looks for that ten times a second.
	t.Cleanup(func() { until(context.Background(), time.Minute) })
	policy := testPolicy()
	policy.CycleInterval, policy.InclusionInterval, policy.DispatchTimeout = 5*time.Minute, time.Minute, 2*time.Minute
	policy.RetryDelay, policy.RetryDelayMax, policy.CallbackWait = 30*time.Second, time.Minute, time.Minute
	policy.SettleDepth, policy.Finality, policy.ClaimTTL = 2, 3, 20*time.Minute
	var failed sync.Once
	w := newWorldWith(
		t,
		devnet.Config{SlotTime: time.Minute, FillRate: 1, FailWhen: func(devnet.Command) (reasons []string) {
			failed.Do(func() { reasons = []string{"Account_app_state_0_precondition_unsatisfied"} })
			return reasons
		}},
		policy,
	)
	_, worker := w.worker(1, devworker.Options{ProveTime: 20 * time.Second, SignTime: time.Second, Legacy: legacy})
	worker.Fail(devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed", After: !legacy})
	w.post("claim", "a")
	w.post("claim", "b")
	return w
}

// lived is the life cycle without a crash. It returns the calls in their order.
func lived(t *testing.T, legacy bool, scripts *scriptBook) (calls []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := crashWorld(t, legacy)
		first := len(scripts.bodies()) == 0
		f := w.fused(scripts, "", false)
		if first { // then nobody else may load scripts meanwhile
			<-time.After(time.Hour)
		}
		w.over("a")
		w.over("b")
		a := w.get("a")
		var fees []uint64
		for _, x := range a.Attempts {
			fees = append(fees, x.Fee)
		}
		if want := []uint64{100_000_000, 150_000_000, 225_000_000}; !slices.Equal(fees, want) ||
			a.Retries != 2 || a.Attempts[1].Outcome != lifecycle.FailedIn || a.Attempts[2].Outcome != lifecycle.Included {
			t.Fatalf("another life: fees %d, %+v", fees, a)
		}
		w.livedOnce()
		calls = f.seen()
	})
	return calls
}

// crash kills a process at one call and has another go on.
func crash(t *testing.T, legacy bool, scripts *scriptBook, point string, after bool, sum *crashSum) {
	w := crashWorld(t, legacy)
	f := w.fused(scripts, point, after)
	inHand := "" // the transaction whose legacy worker is at work when the process dies
	for until := time.Now().Add(12 * time.Hour); ; {
		select {
		case <-f.burnt:
			sum.kills.Add(1)
			for _, uid := range []string{"a", "b"} {
				if x := w.get(uid); x.Phase == lifecycle.PhaseDispatching && x.Last() != nil && x.Last().Legacy &&
					x.Last().EndedAt.IsZero() {
					inHand = uid
				}
			}
		case <-time.After(5 * time.Minute):
			if w.unfinished("a", "b") != "" && time.Now().Before(until) {
				continue
			}
			// What comes with the clock may come once less, but no step of a life.
			if sum.missed.Add(1); slices.Contains(lifeSteps(legacy), point) {
				t.Errorf("%s has not been met", point)
			}
			return
		}
		break
	}
	next := w.start()
	for _, uid := range []string{"a", "b"} {
		if w.settled(uid).State() != lifecycle.Unresolved {
			continue
		}
		sum.unknown.Add(1)
		if uid != inHand {
			t.Errorf("%s: outcome unknown, and %q was in the hands of a worker", uid, inHand)
		}
		w.resolve(next.Sequencer, uid)
		w.over(uid)
	}
	w.livedOnce()
}

// over waits until nothing of a transaction is left to be done.
func (w *world) over(uid string) {
	w.Helper()
	if x := w.settled(uid); !over(x) {
		w.Fatalf("%s is %s: %+v", uid, x.Phase, x.Error)
	}
}

func over(t *lifecycle.Transaction) bool {
	return t.State() == lifecycle.Done && !t.FinalAt.IsZero() && t.Claim == "" && t.Callback == ""
}

// settled waits until a transaction is over, or for a person.
func (w *world) settled(uid string) *lifecycle.Transaction {
	w.Helper()
	look := time.NewTicker(5 * time.Minute)
	defer look.Stop()
	for range 12 * 12 {
		if t := w.get(uid); over(t) || t.State() == lifecycle.Unresolved && t.Callback == "" {
			return t
		}
		<-look.C
	}
	w.Fatalf("%s is not settled after 12 hours: %+v", uid, w.get(uid))
	return nil
}

func (w *world) unfinished(uids ...string) string {
	for _, uid := range uids {
		if !over(w.get(uid)) {
			return uid
		}
	}
	return ""
}

// resolve is what a person does of whom the outcome is asked: nothing on the
// chain tells of it, so the attempt is dead, and is to be made again in its turn.
func (w *world) resolve(s *sequencer.Sequencer, uid string) {
	w.Helper()
	x := w.get(uid)
	if x.Error == nil || x.Error.Code != lifecycle.CodeOutcomeUnknown {
		w.Fatalf("%s is unresolved: %+v", uid, x.Error)
	}
	for _, hash := range w.net.Seen() {
		known := func(a lifecycle.Attempt) bool { return a.Hash == hash || a.NodeHash == hash }
		if !slices.ContainsFunc(x.Attempts, known) && !slices.ContainsFunc(w.get("a").Attempts, known) {
			w.Errorf("%s: a node has seen %s, and its outcome is unknown", uid, hash)
		}
	}
	w.ok(w.store.Pause(w.ctx, x.Queue, "a person decides"))
	_, err := s.Resolve(w.ctx, uid, false, "")
	w.ok(err)
	_, err = s.Retry(w.ctx, uid)
	w.ok(err)
	w.ok(w.store.Resume(w.ctx, x.Queue))
}

// livedOnce: both are done once, in order, told of, and hold nothing any more.
func (w *world) livedOnce() {
	w.Helper()
	var effects []string
	for _, e := range w.net.Effects() {
		if e.OK {
			effects = append(effects, e.Hash)
		}
	}
	a, b := w.get("a"), w.get("b")
	if !slices.Equal(effects, []string{a.Hash(), b.Hash()}) {
		w.Errorf("effects %q of a %s and b %s", effects, a.Hash(), b.Hash())
	}
	var told []string
	for _, worker := range w.workers {
		for _, call := range worker.Told() {
			if call.Kind == devworker.OnSuccess && !slices.Contains(told, call.UID) {
				told = append(told, call.UID)
			}
		}
	}
	if !slices.Equal(told, []string{"a", "b"}) {
		w.Errorf("told of %q", told)
	}
	all, _, err := w.pool.List(w.ctx, 10, "")
	w.ok(err)
	for _, s := range all {
		if s.State() != lifecycle.QueueFree || s.Queue != "" || !s.Available() {
			w.Errorf("its sender: %+v", s)
		}
	}
	switch q, err := w.store.Queue(w.ctx, "claim"); {
	case errors.Is(err, queues.ErrNotFound): // its record has ended with its work
	case err != nil:
		w.Fatal(err)
	case q.State() != lifecycle.QueueFree || q.Running != "" || q.Sender != "":
		w.Errorf("its queue: %+v", q)
	}
	if found := w.audit(false); len(found) > 0 {
		w.Errorf("audit: %q", found)
	}
}
