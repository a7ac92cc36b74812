package recovery_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// twoNodes runs a test in a world of which nothing is tried twice.
func twoNodes(t *testing.T, test func(w *harness.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.MaxRetries = 0
		test(harness.NewWith(t, devnet.Config{FillRate: 1, Nodes: 2}, policy))
	})
}

func isDone(x *tx.Transaction) bool  { return x.State() == tx.Done }
func isFinal(x *tx.Transaction) bool { return x.Phase.Final() }

// shut is for how long one of them binds and sends nothing, half a day at most.
func shut(all ...*harness.Process) time.Duration {
	begun := time.Now()
	for time.Since(begun) < 12*time.Hour &&
		slices.ContainsFunc(all, func(p *harness.Process) bool { return p.Recovering() != "" }) {
		<-time.After(10 * time.Second)
	}
	return time.Since(begun)
}

// TestDoneWithoutBlock: a process is cut off with what it signed. The worker of another tells that there is
// nothing to send, and DONE is told. What the first still knows has no effect after that.
func TestDoneWithoutBlock(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	twoNodes(t, func(w *harness.World) {
		cut := signedAndForgotten(w)
		_, second := w.Worker(2, devworker.Options{ProveTime: proving})
		second.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Answer, Body: `{"done":{"voted":"already"}}`})
		w.Start()
		soon(w, "a", isDone)
		w.Web.Unplug("worker1", false)
		<-time.After(20 * time.Second)
		cut(false)
		<-time.After(2 * time.Hour)
		if n := effective(w); n > 0 || !isDone(w.Get("a")) {
			t.Errorf("DONE was told without a block, and it is %s with %d effects", w.Get("a").State(), n)
		}
	})
}

// TestGoneOnPlannedLater: two processes are cut off, each with an attempt that Redis has forgotten. The one
// that planned first comes back first, and its attempt goes on. That of the other, planned later, does not.
func TestGoneOnPlannedLater(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for name, until := range map[string]func(*tx.Transaction) bool{
		"out": func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching }, "done": isDone,
	} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: proving})
				cutFirst := startSevered(w)
				<-time.After(cutSlot)
				w.Post("q", "a")
				before := w.Redis.Snapshot()
				faulty(w, devnet.Faults{LoseRequests: 1000})
				soon(w, "a", isOut)
				one := w.Get("a").Sender
				cutFirst(true)
				w.Redis.FailOver(before)
				w.OK(w.Pool.Drain(w.Ctx, one))
				w.Worker(2, devworker.Options{ProveTime: proving})
				soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWaiting })
				before = w.Redis.Snapshot()
				cutSecond := startSevered(w)
				soon(w, "a", isOut)
				cutSecond(true)
				w.Redis.FailOver(before)
				faulty(w, devnet.Faults{})
				w.OK(w.Pool.Resume(w.Ctx, one))
				cutFirst(false)
				soon(w, "a", until)
				<-time.After(time.Second)
				cutSecond(false)
				<-time.After(3 * time.Hour)
				if n := effective(w); n != 1 {
					t.Errorf("%d effects, by %+v", n, w.Get("a").Attempts)
				}
			})
		})
	}
}

// TestDeadAndSentAgain: a person says that b is dead, and Redis forgets that while the process is cut off.
// Another one gives b to the nodes once more. The first is back at Redis before it reaches a node: that b is
// dead is not so any more.
func TestDeadAndSentAgain(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for name, retried := range map[string]bool{"told": false, "told, and tried again": true} {
		t.Run(name, func(t *testing.T) {
			twoNodes(t, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: time.Second})
				p, redis := launchSevered(w)
				<-time.After(cutSlot)
				faulty(w, devnet.Faults{LoseRequests: 1000})
				w.Post("q1", "b")
				soon(w, "b", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching })
				<-time.After(time.Second)
				before := w.Redis.Snapshot()
				_, err := p.Resolve(w.Ctx, "b", false, "")
				w.OK(err)
				soon(w, "b", isFinal)
				<-time.After(time.Second)
				p.Cut.Store(true)
				redis.off.Store(true)
				w.Redis.FailOver(before)
				faulty(w, devnet.Faults{})
				q := w.Start()
				<-time.After(40 * time.Second) // it has given b to the nodes
				w.Worker(2, devworker.Options{ProveTime: time.Second})
				redis.off.Store(false)
				<-time.After(20 * time.Second)
				if retried && w.Get("b").Phase.Final() {
					_, err := q.Retry(w.Ctx, "b")
					w.OK(err)
				}
				<-time.After(time.Hour)
				if n := len(w.Effects("b")); n > 0 && w.Get("b").State() == tx.Failed {
					t.Errorf("FAILED is told, and it took effect %d times", n)
				}
				p.Cut.Store(false)
				w.Once("b")
			})
		})
	}
}

// TestRefusedForGoodBeside: a process is cut off with a, which Redis has forgotten altogether, and another one
// gives its sender to b. The first is back, and waits for b to end, when all nodes refuse b for good: that
// it is over is stored, although the store is not settled.
func TestRefusedForGoodBeside(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	twoNodes(t, func(w *harness.World) {
		w.Worker(1, devworker.Options{ProveTime: proving})
		p, redis := launchSevered(w)
		<-time.After(cutSlot)
		before := w.Redis.Snapshot()
		faulty(w, devnet.Faults{LoseRequests: 1000})
		w.Post("q", "a")
		soon(w, "a", isOut)
		p.Cut.Store(true)
		redis.off.Store(true)
		w.Redis.FailOver(before)
		faulty(w, devnet.Faults{})
		q := w.Start()
		<-time.After(time.Minute)
		faulty(w, devnet.Faults{Refuse: `["Overflow"]`, DelayMs: 5000})
		w.Post("q2", "b")
		soon(w, "b", isOut)
		p.Cut.Store(false)
		redis.off.Store(false)
		<-time.After(time.Minute)
		faulty(w, devnet.Faults{})
		if d := shut(p, q); d > 10*time.Minute {
			t.Errorf("nothing is bound or sent for %v", d)
		}
		w.Once("a")
	})
}

// takenSince has a process cut off with a of queue q, signed at the first nonce of the only sender, while e of
// that queue waits. Redis has forgotten that, a person pauses the queue, and c takes effect at that nonce.
func takenSince(w *harness.World) (cut func(off bool), one string) {
	w.Helper()
	one, _ = w.Worker(1, devworker.Options{ProveTime: proving})
	cut = startSevered(w)
	<-time.After(cutSlot)
	w.Post("q", "a")
	w.Post("q", "e")
	before := w.Redis.Snapshot()
	forgetSigned(w, cut, before)
	w.OK(w.Store.Pause(w.Ctx, "q", "trouble"))
	return cut, one
}

// TestNonceTakenSince: the nonce of what is put back is one that another of ours has used since. Nobody else
// has used the account, so its sender is not stopped.
func TestNonceTakenSince(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{FillRate: 1, Nodes: 2}, harness.Policy())
		cut, one := takenSince(w)
		w.Start()
		w.Post("q2", "c")
		soon(w, "c", isDone)
		cut(false)
		<-time.After(time.Minute)
		w.OK(w.Store.Resume(w.Ctx, "q"))
		<-time.After(3 * time.Hour)
		s, err := w.Pool.Get(w.Ctx, one)
		w.OK(err)
		if s.Reason != "" {
			t.Errorf("the sender is %s: %s", s.Reason, s.Detail)
		}
		w.Once("a", "c", "e")
	})
}

// TestPassedOnATakenNonce: the same, while d has the sender, at the nonce that follows. Of a it is not told that it
// is DONE, for c has its nonce, and e does not go before it.
func TestPassedOnATakenNonce(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{FillRate: 1, Nodes: 2}, harness.Policy())
		cut, _ := takenSince(w)
		q := w.Start()
		w.Post("q2", "c")
		soon(w, "c", isDone)
		w.Post("q2", "d")
		soon(w, "d", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		<-time.After(30 * time.Second)
		if x := w.Get("a"); isDone(x) {
			t.Errorf("a is told to be DONE, by %+v", x.Attempts)
		}
		if d := shut(q); d > 20*time.Minute {
			t.Errorf("nothing is bound or sent for %v", d)
		}
		w.OK(w.Store.Resume(w.Ctx, "q"))
		<-time.After(3 * time.Hour)
		if got, want := w.Effects("a", "c", "d", "e"), []string{"c", "d", "a", "e"}; !slices.Equal(got, want) {
			t.Errorf("took effect in the order %v", got)
		}
	})
}
