package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A severed client reaches no Redis while it is cut off.
type severed struct{ off atomic.Bool }

func (s *severed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *severed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.off.Load() {
			return net.ErrClosed
		}
		return next(ctx, cmd)
	}
}

func (s *severed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if s.off.Load() {
			return net.ErrClosed
		}
		return next(ctx, cmds)
	}
}

// startSevered starts a process that cut severs from all others, and joins to them again.
func startSevered(w *harness.World) (cut func(off bool)) {
	w.Helper()
	p, redis := launchSevered(w)
	return func(off bool) {
		p.Cut.Store(off)
		redis.off.Store(off)
	}
}

// launchSevered starts a process, and says what severs it from Redis.
func launchSevered(w *harness.World) (p *harness.Process, redis *severed) {
	w.Helper()
	client, redis := w.Redis.NewClient(), &severed{}
	client.AddHook(redis)
	return w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}}), redis
}

// effective is how many commands took effect, whosoever they are.
func effective(w *harness.World) (n int) {
	for _, e := range w.Net.Effects() {
		if e.OK {
			n++
		}
	}
	return n
}

// signedAndForgotten has a process sign a by worker 1 and be cut off with that, before a node has it:
// Redis has forgotten it, and the worker is away. cut joins the process to the others again.
func signedAndForgotten(w *harness.World) (cut func(off bool)) {
	w.Helper()
	w.Worker(1, devworker.Options{ProveTime: proving})
	cut = startSevered(w)
	<-time.After(cutSlot)
	w.Post("q", "a")
	soon(w, "a", func(x *tx.Transaction) bool { return len(x.Attempts) > 0 })
	before := w.Redis.Snapshot()
	forgetSigned(w, cut, before)
	w.Web.Unplug("worker1", true)
	return cut
}

// forgetSigned has a signed, a process cut off with that before a node has it, and Redis forget it.
func forgetSigned(w *harness.World, cut func(off bool), before redistest.Snapshot) {
	w.Helper()
	faulty(w, devnet.Faults{LoseRequests: 1000})
	soon(w, "a", isOut)
	cut(true)
	w.Redis.FailOver(before)
	faulty(w, devnet.Faults{})
}

// refuseNext has both nodes refuse the next command for good.
func refuseNext(w *harness.World) {
	w.Helper()
	faulty(w, devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1})
}

const (
	cutSlot = harness.Slot + 5*time.Second // the chain is known by then
	proving = 2 * time.Second
)

// TestGoneOn: a process is cut off with what it signed, and Redis forgets that. Another one makes it
// with another sender. What the first still knows is not given to the nodes beside that.
func TestGoneOn(t *testing.T) {
	for name, until := range map[string]func(*tx.Transaction) bool{
		"out": isOut, "done": func(x *tx.Transaction) bool { return x.State() == tx.Done },
		"final": func(x *tx.Transaction) bool { return !x.FinalAt.IsZero() },
	} {
		if lane.Raced && name == "final" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				cut := signedAndForgotten(w)
				w.Worker(2, devworker.Options{ProveTime: proving})
				w.Start()
				soon(w, "a", until)
				w.Web.Unplug("worker1", false)
				cut(false)
				w.Once("a")
				if n := effective(w); n != 1 {
					t.Errorf("%d effects, by %+v", n, w.Get("a").Attempts)
				}
			})
		})
	}
}

// TestGoneOnBeside: the first attempt was refused, the second is what the process was cut off with.
// The refusal is put back, and the bytes of the second are not taken for those of another one.
func TestGoneOnBeside(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
		w.Policy.RetryDelay, w.Policy.RetryDelayMax = 5*time.Second, 5*time.Second
		w.Worker(1, devworker.Options{ProveTime: proving})
		cut := startSevered(w)
		<-time.After(cutSlot)
		refuseNext(w)
		w.Post("q", "a")
		before := w.Redis.Snapshot()
		soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseDelayed })
		w.Web.Unplug("worker1", true)
		w.Worker(2, devworker.Options{ProveTime: proving})
		faulty(w, devnet.Faults{LoseRequests: 1000})
		soon(w, "a", isOut)
		cut(true)
		w.Redis.FailOver(before)
		w.Web.Unplug("worker1", false)
		w.Start()
		soon(w, "a", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		<-time.After(20 * time.Second)
		faulty(w, devnet.Faults{})
		<-time.After(6 * time.Hour)
		if n := effective(w); n != 1 || w.Get("a").State() != tx.Done {
			t.Errorf("%d effects, by %+v", n, w.Get("a").Attempts)
		}
	})
}

// calledAndForgotten has a process call worker 1, which sends by itself, for a, and be cut off with that:
// Redis has forgotten it. cut joins the process to the others again.
func calledAndForgotten(w *harness.World,
	send func(context.Context, json.RawMessage) (string, error)) (cut func(off bool)) {
	w.Helper()
	w.Worker(1, devworker.Options{ProveTime: 150 * time.Second, Legacy: true, Send: send})
	cut = startSevered(w)
	<-time.After(cutSlot)
	w.Post("q", "a")
	before := w.Redis.Snapshot()
	soon(w, "a", func(x *tx.Transaction) bool { return x.Open() })
	<-time.After(3 * time.Second)
	cut(true)
	w.Redis.FailOver(before)
	return cut
}

// TestGoneOnBesideLegacy: what the process was cut off with is a call of a worker that sends by itself,
// and does, whoever drives.
func TestGoneOnBesideLegacy(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
		cut := calledAndForgotten(w, nil)
		faulty(w, devnet.Faults{LoseRequests: 1000})
		w.Web.Unplug("worker1", true)
		w.Worker(2, devworker.Options{ProveTime: 5 * time.Second})
		w.Start()
		soon(w, "a", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		w.Web.Unplug("worker1", false)
		<-time.After(10 * time.Second)
		faulty(w, devnet.Faults{})
		<-time.After(3 * time.Hour)
		if n := effective(w); n != 1 {
			t.Errorf("%d effects, by %+v", n, w.Get("a").Attempts)
		}
	})
}

// TestGoneOnBesideFailedCall: nothing came of that call, and the transaction has landed, or is in a pool, by another
// worker. It stays so, and is not made once more.
func TestGoneOnBesideFailedCall(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	for name, until := range map[string]func(*tx.Transaction) bool{
		"pooled": func(x *tx.Transaction) bool { return x.Open() && x.Last().State == tx.Pooled },
		"done":   func(x *tx.Transaction) bool { return x.State() == tx.Done },
	} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				cut := calledAndForgotten(w, func(context.Context, json.RawMessage) (string, error) {
					return "", errors.New("it has no node")
				})
				w.Web.Unplug("worker1", true)
				w.Worker(2, devworker.Options{ProveTime: 5 * time.Second})
				w.Start()
				soon(w, "a", until)
				cut(false)
				w.Web.Unplug("worker1", false)
				<-time.After(3 * time.Hour)
				if n := effective(w); n != 1 || w.Get("a").State() != tx.Done {
					t.Errorf("%s with %d effects, by %+v", w.Get("a").State(), n, w.Get("a").Attempts)
				}
			})
		})
	}
}

// TestFamiliarAgain: what a legacy worker has sent names nobody, and the process that knows whose it
// is was cut off: its sender is stopped for a stranger. When the process is back it is no more.
func TestFamiliarAgain(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
		account, _ := w.Worker(1, devworker.Options{ProveTime: 5 * time.Second, Legacy: true})
		cut := startSevered(w)
		<-time.After(cutSlot)
		w.Post("q", "x")
		w.Await("x", tx.Done, time.Hour)
		w.Post("q", "a")
		before := w.Redis.Snapshot()
		soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching })
		cut(true)
		w.Redis.FailOver(before)
		w.Start()
		stopped := func() bool {
			s, err := w.Pool.Get(w.Ctx, account)
			w.OK(err)
			return s.Reason == tx.StoppedNonce
		}
		for range 60 {
			if <-time.After(10 * time.Second); stopped() {
				break
			}
		}
		if !stopped() {
			t.Fatal("whoever sent that, it is not stopped")
		}
		cut(false)
		w.Await("a", tx.Done, time.Hour)
		if n := effective(w); n != 2 || stopped() {
			t.Errorf("%d effects, and the sender is stopped: %t", n, stopped())
		}
	})
}

// TestGoneOnToAnEnd: the transaction is cancelled for good while the process is cut off. What that had
// signed is not sent when it is back.
func TestGoneOnToAnEnd(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
		cut := signedAndForgotten(w)
		q := w.Start()
		soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWaiting })
		<-time.After(30 * time.Second)
		_, _, err := q.Cancel(w.Ctx, "a")
		w.OK(err)
		w.Web.Unplug("worker1", false)
		<-time.After(30 * time.Second)
		cut(false)
		<-time.After(2 * time.Hour)
		if n := effective(w); n > 0 || w.Get("a").State() != tx.Failed {
			t.Errorf("CANCELLED was told, and it is %s with %d effects", w.Get("a").State(), n)
		}
	})
}

// untried is a world in which nothing is tried twice.
func untried(t *testing.T, test func(w *harness.World, p *harness.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.MaxRetries = 0
		w := harness.NewWith(t, devnet.Config{FillRate: 1, Nodes: 2}, policy)
		w.Worker(1, devworker.Options{ProveTime: time.Second, MaxRetries: new(int)})
		p := w.Start()
		<-time.After(cutSlot)
		test(w, p)
	})
}

// TestUsedUpMakesRoom: Redis forgets that a transaction had failed with no try left, and another one has
// its sender. It makes room, and is not tried again for that.
func TestUsedUpMakesRoom(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	untried(t, func(w *harness.World, _ *harness.Process) {
		w.Net.FailNext("", 1, "Account_nonce_precondition_unsatisfied")
		w.Post("q1", "b")
		soon(w, "b", isOut)
		w.Post("q2", "a")
		var before redistest.Snapshot
		for s := w.Redis.Snapshot(); !w.Get("b").Phase.Final(); s = w.Redis.Snapshot() {
			before = s
			<-time.After(time.Second)
		}
		soon(w, "a", isOut)
		<-time.After(time.Second)
		w.Redis.FailOver(before)
		<-time.After(5 * time.Hour)
		if n := len(w.Effects("b")); n > 0 || w.Get("b").State() != tx.Failed {
			t.Errorf("FAILED was told, and it is %s with %d effects", w.Get("b").State(), n)
		}
		w.Once("a")
	})
}

// TestDeadMakesRoom: a person said that a cancelled one is dead, and its nonce was given on. Redis forgets
// both, and nobody waits for it, nor is its sender stopped.
func TestDeadMakesRoom(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	untried(t, func(w *harness.World, p *harness.Process) {
		faulty(w, devnet.Faults{LoseRequests: 1000})
		w.Post("q1", "b")
		soon(w, "b", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching })
		_, _, err := p.Cancel(w.Ctx, "b")
		w.OK(err)
		<-time.After(time.Second)
		before := w.Redis.Snapshot()
		_, err = p.Resolve(w.Ctx, "b", false, "")
		w.OK(err)
		soon(w, "b", func(x *tx.Transaction) bool { return x.Phase.Final() })
		faulty(w, devnet.Faults{})
		w.Post("q2", "a")
		soon(w, "a", isOut)
		<-time.After(5 * time.Second)
		w.Redis.FailOver(before)
		<-time.After(2 * time.Minute)
		if why := p.Recovering(); why != "" {
			t.Errorf("two minutes later it waits still: %s", why)
		}
		w.Once("a")
	})
}

// TestRefusedMakesRoom: the same of one that all nodes had refused, with no try left; and persons cancel it
// through another process, again and again, before the namespace is settled.
func TestRefusedMakesRoom(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	untried(t, func(w *harness.World, p *harness.Process) {
		faulty(w, devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1, DelayMs: 300})
		w.Post("q1", "b")
		soon(w, "b", isOut)
		before := w.Redis.Snapshot()
		soon(w, "b", func(x *tx.Transaction) bool { return x.Phase.Final() })
		faulty(w, devnet.Faults{})
		w.Post("q2", "a")
		soon(w, "a", isOut)
		q := w.Start()
		<-time.After(5 * time.Second)
		w.Redis.FailOver(before)
		for range 5 {
			if _, _, err := q.Cancel(w.Ctx, "b"); !errors.Is(err, queues.ErrUnsettled) {
				t.Errorf("cancelled before the namespace is settled: %v", err)
			}
		}
		<-time.After(2 * time.Minute)
		if why := p.Recovering(); why != "" {
			t.Errorf("two minutes later it waits still: %s", why)
		}
		w.Once("a")
		if n := len(w.Effects("b")); n > 0 {
			t.Errorf("FAILED was told, and it took effect %d times", n)
		}
	})
}

// TestRefusedAndForgotten: what all nodes had refused, and was cancelled and perhaps removed, is not posted
// again by who remembers the refusal, where Redis has forgotten all of it.
func TestRefusedAndForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	for name, remove := range map[string]bool{"cancelled": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: proving})
				p := w.Start()
				<-time.After(cutSlot)
				before := w.Redis.Snapshot()
				refuseNext(w)
				w.Post("q", "a")
				soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseDelayed })
				_, _, err := p.Cancel(w.Ctx, "a")
				w.OK(err)
				<-time.After(time.Second)
				if remove {
					w.OK(w.Store.Remove(w.Ctx, "a"))
				}
				w.Redis.FailOver(before)
				<-time.After(2 * time.Hour)
				if n := effective(w); n > 0 {
					t.Errorf("CANCELLED was told, and it took effect %d times", n)
				}
			})
		})
	}
}

// TestLateAnswer: what a worker that sends by itself answers to a process that has lost its
// claim meanwhile is kept, data and all, whatever the process that drives it found by itself.
func TestLateAnswer(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for _, back := range []time.Duration{40 * time.Second, 90 * time.Second, 4 * time.Minute} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			twoNodes(t, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: 2 * time.Minute, Legacy: true})
				_, redis := launchSevered(w)
				w.Post("q", "a")
				w.Await("a", tx.Dispatching, time.Minute)
				w.Start()
				<-time.After(10 * time.Second)
				redis.off.Store(true)
				<-time.After(back)
				redis.off.Store(false)
				w.Await("a", tx.Done, time.Hour)
				a := w.AwaitTxn("a", "with what its worker answered", time.Hour,
					func(t *tx.Transaction) bool { return t.Attempts[0].Data != nil })
				if n := effective(w); a.Hash() == "" || len(a.Attempts) != 1 || n != 1 {
					t.Errorf("%d took effect: %+v", n, a.Attempts)
				}
			})
		})
	}
}
