package sequencer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
)

// twoNodes runs a test in a world of which nothing is tried twice.
func twoNodes(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		policy := testPolicy()
		policy.MaxRetries = 0
		test(newWorldWith(t, devnet.Config{FillRate: 1, Nodes: 2}, policy))
	})
}

func isDone(x *lifecycle.Transaction) bool  { return x.State() == lifecycle.Done }
func isFinal(x *lifecycle.Transaction) bool { return x.Phase.Final() }

// shut is for how long one of them binds and sends nothing, half a day at most.
func shut(all ...*process) time.Duration {
	begun := time.Now()
	for time.Since(begun) < 12*time.Hour &&
		slices.ContainsFunc(all, func(p *process) bool { return p.Recovering() != "" }) {
		<-time.After(10 * time.Second)
	}
	return time.Since(begun)
}

// TestDoneWithoutBlock: a process is cut off with what it signed. The worker of another tells that there is
// nothing to send, and DONE is told. What the first still knows has no effect after that.
func TestDoneWithoutBlock(t *testing.T) {
	t.Parallel()
	twoNodes(t, func(w *world) {
		cut := w.signedAndForgotten()
		_, second := w.worker(2, devworker.Options{ProveTime: proving})
		second.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Answer, Body: `{"done":{"voted":"already"}}`})
		w.start()
		w.soon("a", isDone)
		w.web.unplug("worker1", false)
		<-time.After(20 * time.Second)
		cut(false)
		<-time.After(2 * time.Hour)
		if n := w.effective(); n > 0 || !isDone(w.get("a")) {
			t.Errorf("DONE was told without a block, and it is %s with %d effects", w.get("a").State(), n)
		}
	})
}

// TestGoneOnPlannedLater: two processes are cut off, each with an attempt that Redis has forgotten. The one
// that planned first comes back first, and its attempt goes on. That of the other, planned later, does not.
func TestGoneOnPlannedLater(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]func(*lifecycle.Transaction) bool{
		"out": func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseWatching }, "done": isDone,
	} {
		t.Run(name, func(t *testing.T) {
			trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *world) {
				w.worker(1, devworker.Options{ProveTime: proving})
				cutFirst := w.startSevered()
				<-time.After(cutSlot)
				w.post("q", "a")
				before := w.redis.Snapshot()
				w.faulty(devnet.Faults{LoseRequests: 1000})
				w.soon("a", isOut)
				one := w.get("a").Sender
				cutFirst(true)
				w.redis.FailOver(before)
				w.ok(w.pool.Drain(w.ctx, one))
				w.worker(2, devworker.Options{ProveTime: proving})
				w.soon("a", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseWaiting })
				before = w.redis.Snapshot()
				cutSecond := w.startSevered()
				w.soon("a", isOut)
				cutSecond(true)
				w.redis.FailOver(before)
				w.faulty(devnet.Faults{})
				w.ok(w.pool.Resume(w.ctx, one))
				cutFirst(false)
				w.soon("a", until)
				<-time.After(time.Second)
				cutSecond(false)
				<-time.After(3 * time.Hour)
				if n := w.effective(); n != 1 {
					t.Errorf("%d effects, by %+v", n, w.get("a").Attempts)
				}
			})
		})
	}
}

// TestDeadAndSentAgain: a person says that b is dead, and Redis forgets that while the process is cut off.
// Another one gives b to the nodes once more. The first is back at Redis before it reaches a node: that b is
// dead is not so any more.
func TestDeadAndSentAgain(t *testing.T) {
	t.Parallel()
	for name, retried := range map[string]bool{"told": false, "told, and tried again": true} {
		t.Run(name, func(t *testing.T) {
			twoNodes(t, func(w *world) {
				w.worker(1, devworker.Options{ProveTime: time.Second})
				p, redis := w.launchSevered()
				<-time.After(cutSlot)
				w.faulty(devnet.Faults{LoseRequests: 1000})
				w.post("q1", "b")
				w.soon("b", func(x *lifecycle.Transaction) bool { return x.Phase == lifecycle.PhaseWatching })
				<-time.After(time.Second)
				before := w.redis.Snapshot()
				_, err := p.Resolve(w.ctx, "b", false, "")
				w.ok(err)
				w.soon("b", isFinal)
				<-time.After(time.Second)
				p.cut.Store(true)
				redis.off.Store(true)
				w.redis.FailOver(before)
				w.faulty(devnet.Faults{})
				q := w.start()
				<-time.After(40 * time.Second) // it has given b to the nodes
				w.worker(2, devworker.Options{ProveTime: time.Second})
				redis.off.Store(false)
				<-time.After(20 * time.Second)
				if retried && w.get("b").Phase.Final() {
					_, err := q.Retry(w.ctx, "b")
					w.ok(err)
				}
				<-time.After(time.Hour)
				if n := len(w.effects("b")); n > 0 && w.get("b").State() == lifecycle.Failed {
					t.Errorf("FAILED is told, and it took effect %d times", n)
				}
				p.cut.Store(false)
				w.once("b")
			})
		})
	}
}

// TestRefusedForGoodBeside: a process is cut off with a, which Redis has forgotten altogether, and another one
// gives its sender to b. The first is back, and waits for b to end, when all nodes refuse b for good: that
// it is over is stored, although the store is not settled.
func TestRefusedForGoodBeside(t *testing.T) {
	t.Parallel()
	twoNodes(t, func(w *world) {
		w.worker(1, devworker.Options{ProveTime: proving})
		p, redis := w.launchSevered()
		<-time.After(cutSlot)
		before := w.redis.Snapshot()
		w.faulty(devnet.Faults{LoseRequests: 1000})
		w.post("q", "a")
		w.soon("a", isOut)
		p.cut.Store(true)
		redis.off.Store(true)
		w.redis.FailOver(before)
		w.faulty(devnet.Faults{})
		q := w.start()
		<-time.After(time.Minute)
		w.faulty(devnet.Faults{Refuse: `["Overflow"]`, DelayMs: 5000})
		w.post("q2", "b")
		w.soon("b", isOut)
		p.cut.Store(false)
		redis.off.Store(false)
		<-time.After(time.Minute)
		w.faulty(devnet.Faults{})
		if d := shut(p, q); d > 10*time.Minute {
			t.Errorf("nothing is bound or sent for %v", d)
		}
		w.once("a")
	})
}

// takenSince has a process cut off with a of queue q, signed at the first nonce of the only sender, while e of
// that queue waits. Redis has forgotten that, a person pauses the queue, and c takes effect at that nonce.
func (w *world) takenSince() (cut func(off bool), one string) {
	w.Helper()
	one, _ = w.worker(1, devworker.Options{ProveTime: proving})
	cut = w.startSevered()
	<-time.After(cutSlot)
	w.post("q", "a")
	w.post("q", "e")
	before := w.redis.Snapshot()
	w.forgetSigned(cut, before)
	w.ok(w.store.Pause(w.ctx, "q", "trouble"))
	return cut, one
}

// TestNonceTakenSince: the nonce of what is put back is one that another of ours has used since. Nobody else
// has used the account, so its sender is not stopped.
func TestNonceTakenSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, devnet.Config{FillRate: 1, Nodes: 2}, testPolicy())
		cut, one := w.takenSince()
		w.start()
		w.post("q2", "c")
		w.soon("c", isDone)
		cut(false)
		<-time.After(time.Minute)
		w.ok(w.store.Resume(w.ctx, "q"))
		<-time.After(3 * time.Hour)
		s, err := w.pool.Get(w.ctx, one)
		w.ok(err)
		if s.Reason != "" {
			t.Errorf("the sender is %s: %s", s.Reason, s.Detail)
		}
		w.once("a", "c", "e")
	})
}

// TestPassedOnATakenNonce: the same, while d has the sender, at the nonce that follows. Of a it is not told that it
// is DONE, for c has its nonce, and e does not go before it.
func TestPassedOnATakenNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, devnet.Config{FillRate: 1, Nodes: 2}, testPolicy())
		cut, _ := w.takenSince()
		q := w.start()
		w.post("q2", "c")
		w.soon("c", isDone)
		w.post("q2", "d")
		w.soon("d", isOut)
		<-time.After(5 * time.Second)
		cut(false)
		<-time.After(30 * time.Second)
		if x := w.get("a"); isDone(x) {
			t.Errorf("a is told to be DONE, by %+v", x.Attempts)
		}
		if d := shut(q); d > 20*time.Minute {
			t.Errorf("nothing is bound or sent for %v", d)
		}
		w.ok(w.store.Resume(w.ctx, "q"))
		<-time.After(3 * time.Hour)
		if got, want := w.effects("a", "c", "d", "e"), []string{"c", "d", "a", "e"}; !slices.Equal(got, want) {
			t.Errorf("took effect in the order %v", got)
		}
	})
}
