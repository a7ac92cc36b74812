package sequencer_test

import (
	"context"
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
	"mina-sequencer/sequencer/lifecycle"
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
func (w *world) startSevered() (cut func(off bool)) {
	w.Helper()
	p, redis := w.launchSevered()
	return func(off bool) {
		p.cut.Store(off)
		redis.off.Store(off)
	}
}

// launchSevered starts a process, and says what severs it from Redis.
func (w *world) launchSevered() (p *process, redis *severed) {
	w.Helper()
	client, redis := w.redis.NewClient(), &severed{}
	client.AddHook(redis)
	return w.launch(links{dial: w.web.dial, redis: client, ended: func(error) {}}), redis
}

// effective is how many commands took effect, whosoever they are.
func (w *world) effective() (n int) {
	for _, e := range w.net.Effects() {
		if e.OK {
			n++
		}
	}
	return n
}

// signedAndForgotten has a process sign a by worker 1 and be cut off with that, before a node has it:
// Redis has forgotten it, and the worker is away. cut joins the process to the others again.
func (w *world) signedAndForgotten() (cut func(off bool)) {
	w.Helper()
	w.worker(1, devworker.Options{ProveTime: proving})
	cut = w.startSevered()
	<-time.After(cutSlot)
	w.post("q", "a")
	w.soon("a", func(x *lifecycle.Transaction) bool { return len(x.Attempts) > 0 })
	before := w.redis.Snapshot()
	w.forgetSigned(cut, before)
	w.web.unplug("worker1", true)
	return cut
}

// forgetSigned has a signed, a process cut off with that before a node has it, and Redis forget it.
func (w *world) forgetSigned(cut func(off bool), before redistest.Snapshot) {
	w.Helper()
	w.faulty(devnet.Faults{LoseRequests: 1000})
	w.soon("a", isOut)
	cut(true)
	w.redis.FailOver(before)
	w.faulty(devnet.Faults{})
}

// refuseNext has both nodes refuse the next command for good.
func (w *world) refuseNext() {
	w.Helper()
	w.faulty(devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1})
}

const (
	cutSlot = slot + 5*time.Second // the chain is known by then
	proving = 2 * time.Second
)

// TestGoneOn: a process is cut off with what it signed, and Redis forgets that. Another one makes it
// with another sender. What the first still knows is not given to the nodes beside that.
func TestGoneOn(t *testing.T) {
	for name, until := range map[string]func(*lifecycle.Transaction) bool{
		"out": isOut, "done": func(x *lifecycle.Transaction) bool { return x.State() == lifecycle.Done },
		"final": func(x *lifecycle.Transaction) bool { return !x.FinalAt.IsZero() },
	} {
		if raced && name == "final" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
				cut := w.signedAndForgotten()
				w.worker(2, devworker.Options{ProveTime: proving})
				w.start()
				w.soon("a", until)
				w.web.unplug("worker1", false)
				cut(false)
				w.once("a")
				if n := w.effective(); n != 1 {
					t.Errorf("%d effects, by %+v", n, w.get("a").Attempts)
				}
			})
		})
	}
}

// TestGoneOnBeside: the first attempt was refused, the second is what the process was cut off with.
// The refusal is put back, and the bytes of the second are not taken for those of another one.
func TestGoneOnBeside(t *testing.T) {
	trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
		w.policy.RetryDelay, w.policy.RetryDelayMax = 5*time.Second, 5*time.Second
		w.worker(1, devworker.Options{ProveTime: proving})
		cut := w.startSevered()
		<-time.After(cutSlot)
		w.refuseNext()
		w.post("q", "a")
		before := w.redis.Snapshot()
		w.soon("a", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseDelayed })
		w.web.unplug("worker1", true)
		w.worker(2, devworker.Options{ProveTime: proving})
		w.faulty(devnet.Faults{LoseRequests: 1000})
		w.soon("a", isOut)
		cut(true)
		w.redis.FailOver(before)
		w.web.unplug("worker1", false)
		w.start()
		w.soon("a", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		<-time.After(20 * time.Second)
		w.faulty(devnet.Faults{})
		<-time.After(6 * time.Hour)
		if n := w.effective(); n != 1 || w.get("a").State() != lifecycle.Done {
			t.Errorf("%d effects, by %+v", n, w.get("a").Attempts)
		}
	})
}

// TestGoneOnBesideLegacy: what the process was cut off with is a call of a worker that sends by itself,
// and does, whoever drives.
func TestGoneOnBesideLegacy(t *testing.T) {
	trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
		w.worker(1, devworker.Options{ProveTime: 150 * time.Second, Legacy: true})
		cut := w.startSevered()
		<-time.After(cutSlot)
		w.post("q", "a")
		before := w.redis.Snapshot()
		w.soon("a", func(x *lifecycle.Transaction) bool { return x.Open() })
		<-time.After(3 * time.Second)
		cut(true)
		w.redis.FailOver(before)
		w.faulty(devnet.Faults{LoseRequests: 1000})
		w.web.unplug("worker1", true)
		w.worker(2, devworker.Options{ProveTime: 5 * time.Second})
		w.start()
		w.soon("a", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		w.web.unplug("worker1", false)
		<-time.After(10 * time.Second)
		w.faulty(devnet.Faults{})
		<-time.After(3 * time.Hour)
		if n := w.effective(); n != 1 {
			t.Errorf("%d effects, by %+v", n, w.get("a").Attempts)
		}
	})
}

// TestGoneOnToAnEnd: the transaction is cancelled for good while the process is cut off. What that had
// signed is not sent when it is back.
func TestGoneOnToAnEnd(t *testing.T) {
	trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
		cut := w.signedAndForgotten()
		q := w.start()
		w.soon("a", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseWaiting })
		<-time.After(30 * time.Second)
		_, _, err := q.Cancel(w.ctx, "a")
		w.ok(err)
		w.web.unplug("worker1", false)
		<-time.After(30 * time.Second)
		cut(false)
		<-time.After(2 * time.Hour)
		if n := w.effective(); n > 0 || w.get("a").State() != lifecycle.Failed {
			t.Errorf("CANCELLED was told, and it is %s with %d effects", w.get("a").State(), n)
		}
	})
}

// untried is a world in which nothing is tried twice.
func untried(t *testing.T, test func(w *world, p *process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := testPolicy()
		policy.MaxRetries = 0
		w := newWorldWith(t, devnet.Config{FillRate: 1, Nodes: 2}, policy)
		w.worker(1, devworker.Options{ProveTime: time.Second, MaxRetries: new(int)})
		p := w.start()
		<-time.After(cutSlot)
		test(w, p)
	})
}

// TestUsedUpMakesRoom: Redis forgets that a transaction had failed with no try left, and another one has
// its sender. It makes room, and is not tried again for that.
func TestUsedUpMakesRoom(t *testing.T) {
	untried(t, func(w *world, _ *process) {
		w.net.FailNext("", 1, "Account_nonce_precondition_unsatisfied")
		w.post("q1", "b")
		w.soon("b", isOut)
		w.post("q2", "a")
		var before redistest.Snapshot
		for s := w.redis.Snapshot(); !w.get("b").Phase.Final(); s = w.redis.Snapshot() {
			before = s
			<-time.After(time.Second)
		}
		w.soon("a", isOut)
		<-time.After(time.Second)
		w.redis.FailOver(before)
		<-time.After(5 * time.Hour)
		if n := len(w.effects("b")); n > 0 || w.get("b").State() != lifecycle.Failed {
			t.Errorf("FAILED was told, and it is %s with %d effects", w.get("b").State(), n)
		}
		w.once("a")
	})
}

// TestDeadMakesRoom: a person said that a cancelled one is dead, and its nonce was given on. Redis forgets
// both, and nobody waits for it, nor is its sender stopped.
func TestDeadMakesRoom(t *testing.T) {
	untried(t, func(w *world, p *process) {
		w.faulty(devnet.Faults{LoseRequests: 1000})
		w.post("q1", "b")
		w.soon("b", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseWatching })
		_, _, err := p.Cancel(w.ctx, "b")
		w.ok(err)
		<-time.After(time.Second)
		before := w.redis.Snapshot()
		_, err = p.Resolve(w.ctx, "b", false, "")
		w.ok(err)
		w.soon("b", func(x *lifecycle.Transaction) bool { return x.Phase.Final() })
		w.faulty(devnet.Faults{})
		w.post("q2", "a")
		w.soon("a", isOut)
		<-time.After(5 * time.Second)
		w.redis.FailOver(before)
		<-time.After(2 * time.Minute)
		if why := p.Recovering(); why != "" {
			t.Errorf("two minutes later it waits still: %s", why)
		}
		w.once("a")
	})
}

// TestRefusedMakesRoom: the same of one that all nodes had refused, with no try left; and persons cancel it
// through another process, again and again, before the namespace is settled.
func TestRefusedMakesRoom(t *testing.T) {
	untried(t, func(w *world, p *process) {
		w.faulty(devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1, DelayMs: 300})
		w.post("q1", "b")
		w.soon("b", isOut)
		before := w.redis.Snapshot()
		w.soon("b", func(x *lifecycle.Transaction) bool { return x.Phase.Final() })
		w.faulty(devnet.Faults{})
		w.post("q2", "a")
		w.soon("a", isOut)
		q := w.start()
		<-time.After(5 * time.Second)
		w.redis.FailOver(before)
		for range 5 {
			if _, _, err := q.Cancel(w.ctx, "b"); !errors.Is(err, queues.ErrUnsettled) {
				t.Errorf("cancelled before the namespace is settled: %v", err)
			}
		}
		<-time.After(2 * time.Minute)
		if why := p.Recovering(); why != "" {
			t.Errorf("two minutes later it waits still: %s", why)
		}
		w.once("a")
		if n := len(w.effects("b")); n > 0 {
			t.Errorf("FAILED was told, and it took effect %d times", n)
		}
	})
}

// TestRefusedAndForgotten: what all nodes had refused, and was cancelled and perhaps removed, is not posted
// again by who remembers the refusal, where Redis has forgotten all of it.
func TestRefusedAndForgotten(t *testing.T) {
	for name, remove := range map[string]bool{"cancelled": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
				w.worker(1, devworker.Options{ProveTime: proving})
				p := w.start()
				<-time.After(cutSlot)
				before := w.redis.Snapshot()
				w.refuseNext()
				w.post("q", "a")
				w.soon("a", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseDelayed })
				_, _, err := p.Cancel(w.ctx, "a")
				w.ok(err)
				<-time.After(time.Second)
				if remove {
					w.ok(w.store.Remove(w.ctx, "a"))
				}
				w.redis.FailOver(before)
				<-time.After(2 * time.Hour)
				if n := w.effective(); n > 0 {
					t.Errorf("CANCELLED was told, and it took effect %d times", n)
				}
			})
		})
	}
}
