package sequencer_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/lifecycle"
)

// points are where in the life of a transaction the replica stands still that is
// promoted later: before the phase, or the outcome of an attempt, that is named.
var points = []struct {
	before  string
	reached func(*lifecycle.Transaction) bool
}{
	{"bound", func(t *lifecycle.Transaction) bool { return t.Phase != lifecycle.PhaseWaiting }},
	{"planned", func(t *lifecycle.Transaction) bool { return len(t.Attempts) > 0 }},
	{"signed", func(t *lifecycle.Transaction) bool { return t.Open() }},
	{"sent", func(t *lifecycle.Transaction) bool { return t.State() == lifecycle.Revision }},
	{"done", func(t *lifecycle.Transaction) bool { return t.State() == lifecycle.Done }},
	{"final", func(t *lifecycle.Transaction) bool { return !t.FinalAt.IsZero() }},
}

// watchFor takes snapshots, the first of which is s, until a transaction has
// reached a point, and returns the last one before it.
func (w *world) watchFor(uid string, s redistest.Snapshot,
	reached func(*lifecycle.Transaction) bool) redistest.Snapshot {
	w.Helper()
	last := int64(0)
	for n := 1; ; n++ {
		t := w.get(uid)
		if reached(t) {
			return s
		}
		if t.Revision != last || n%20 == 0 {
			last, s = t.Revision, w.redis.Snapshot()
		}
		<-time.After(time.Second)
	}
}

// once checks that each transaction took effect once, and is DONE with that.
func (w *world) once(uids ...string) {
	w.Helper()
	for _, uid := range uids {
		w.await(uid, lifecycle.Done, 6*time.Hour)
		w.awaitTxn(uid, "final", 6*time.Hour, func(t *lifecycle.Transaction) bool { return !t.FinalAt.IsZero() })
	}
	for _, uid := range uids {
		if got := w.effects(uid); len(got) != 1 {
			w.Errorf("%s took effect %d times", uid, len(got))
		}
	}
	all, _, err := w.pool.List(w.ctx, 100, "")
	w.ok(err)
	for _, s := range all {
		if s.Reason != "" && s.Reason != lifecycle.Rested {
			w.Errorf("sender %.8s is out of use: %s, %s", s.AccountID, s.Reason, s.Detail)
		}
	}
}

// TestFailOver: Redis fails over to a replica that lacks the last writes, with
// none, one or all of the processes dying along, at once or later.
func TestFailOver(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, point := range points {
		for _, how := range []struct {
			name             string
			processes, dying int
			later            time.Duration // after the point, for more to be forgotten
		}{
			{"one lives", 1, 0, 0}, {"one lives, later", 1, 0, 90 * time.Second},
			{"two live", 2, 0, 0}, {"one of two dies", 2, 1, 0}, {"one of two dies, later", 2, 1, 90 * time.Second},
			{"one dies", 1, 1, 0}, {"one dies, later", 1, 1, 90 * time.Second}, {"two die, later", 2, 2, 4 * time.Minute},
		} {
			if cases++; raced && cases%3 != 0 {
				continue
			}
			t.Run("before "+point.before+", "+how.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, devnet.Config{FillRate: 1, Nodes: 2})
					for n := range uint64(3) {
						w.worker(n, devworker.Options{ProveTime: time.Minute})
					}
					w.post("claim", "a")
					w.post("claim", "b")
					replica := w.redis.Snapshot()
					var processes []*process
					for range how.processes {
						processes = append(processes, w.start())
					}
					replica = w.watchFor("a", replica, point.reached)
					<-time.After(how.later)
					for _, p := range processes[:how.dying] {
						p.kill()
					}
					w.redis.FailOver(replica)
					<-time.After(time.Second)
					if how.dying == how.processes {
						w.start()
					}
					w.post("other", "c")
					w.once("a", "b", "c")
				})
			})
		}
	}
}

// TestFinalForgotten: what a process was done with, and remembers no more, is its own
// again after a failover, and ends once more.
func TestFinalForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		w.worker(1, devworker.Options{})
		w.start()
		w.post("q", "a")
		replica := w.watchFor("a", w.redis.Snapshot(), func(t *lifecycle.Transaction) bool { return !t.FinalAt.IsZero() })
		<-time.After(10 * time.Minute)
		w.redis.FailOver(replica)
		w.once("a")
	})
}

// TestFailOverFarBack: Redis comes back as it was when nothing had happened yet:
// all that has landed since, and what lies in the pool, is found by its memo.
func TestFailOverFarBack(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{8 * time.Minute, 20 * time.Minute, time.Hour} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, devnet.Config{FillRate: 0.7, Nodes: 2, Seed: 4})
				w.worker(1, devworker.Options{ProveTime: time.Minute})
				w.worker(2, devworker.Options{ProveTime: 2 * time.Minute})
				p := w.start()
				var uids []string
				for i := range 10 {
					uids = append(uids, fmt.Sprintf("t%d", i))
					w.post(fmt.Sprintf("q%d", i%3), uids[i])
				}
				replica := w.redis.Snapshot()
				<-time.After(late)
				p.kill()
				w.redis.FailOver(replica)
				w.start()
				w.once(uids...)
			})
		})
	}
}

// TestRestart: a Redis that restarts and forgets nothing stops the work for as
// long as the others need to say so, and nothing is done twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		_, worker := w.worker(1, devworker.Options{ProveTime: time.Minute})
		p := w.start()
		w.start()
		w.post("claim", "a")
		w.awaitTxn("a", "planned", time.Hour, func(t *lifecycle.Transaction) bool { return len(t.Attempts) > 0 })
		epoch, err := w.epoch()
		w.ok(err)
		w.redis.Restart()
		<-time.After(w.policy.ClaimTTL / 2)
		if p.Recovering() == "" {
			t.Error("it goes on before the others were heard")
		}
		w.post("other", "b")
		x, err := p.Explain(w.ctx, "b")
		w.ok(err)
		if x.Wait.Code != lifecycle.WaitRecovery {
			t.Errorf("explained: %+v", x)
		}
		w.once("a", "b")
		if p.Recovering() != "" {
			t.Errorf("recovering: %s", p.Recovering())
		}
		after, err := w.epoch()
		w.ok(err)
		if after != epoch {
			t.Errorf("epoch %s, was %s: nothing was forgotten", after, epoch)
		}
		if got := len(w.get("a").Attempts); got != 1 {
			t.Errorf("%d attempts of a", got)
		}
		if told := worker.Told(); len(told) != 2 {
			t.Errorf("told: %+v", told)
		}
	})
}

func (w *world) epoch() (string, error) {
	log, err := w.store.ReadLog(w.ctx, 0, 1)
	return log.Epoch, err
}

// TestEpoch: it changes when something was forgotten.
func TestEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		w.worker(1, devworker.Options{ProveTime: time.Minute})
		w.start()
		w.post("claim", "a")
		replica := w.watchFor("a", redistest.Snapshot{}, points[2].reached)
		epoch, err := w.epoch()
		w.ok(err)
		<-time.After(time.Second) // it has been told that this is stored
		w.redis.FailOver(replica)
		w.once("a")
		after, err := w.epoch()
		w.ok(err)
		if after == epoch {
			t.Errorf("epoch %s, as before", after)
		}
	})
}

// strange signs a command of an account that no transaction of ours has made.
func (w *world) strange(account string, nonce uint32) {
	w.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: account, Nonce: nonce, Fee: 200_000_000, Memo: "hello"})
	w.ok(err)
	_, err = w.node(0).Send(w.ctx, command)
	w.ok(err)
}

// TestStrangeNonce: the sender whose account somebody else has used stops, with a
// reason that names it; the others go on, and a person puts it back.
func TestStrangeNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		used, _ := w.worker(1, devworker.Options{ProveTime: time.Minute})
		w.worker(2, devworker.Options{ProveTime: time.Minute})
		first := w.start()
		w.post("q1", "a")
		w.post("q2", "b")
		w.once("a", "b")
		first.stop()
		w.strange(used, 1)
		<-time.After(2 * slot)
		w.start()
		w.post("q1", "c")
		w.post("q2", "d")
		w.await("c", lifecycle.Done, 2*time.Hour)
		w.await("d", lifecycle.Done, 2*time.Hour)
		s, err := w.pool.Get(w.ctx, used)
		w.ok(err)
		if s.Reason != lifecycle.StoppedNonce || s.Detail == "" {
			t.Errorf("the sender: %+v", s)
		}
		if got := w.get("d").Sender; got == used || w.get("c").Sender == used {
			t.Errorf("it was bound all the same")
		}
		w.ok(w.pool.Resume(w.ctx, used))
		for i := range 4 {
			w.post(fmt.Sprintf("r%d", i), fmt.Sprintf("e%d", i))
		}
		w.once("e0", "e1", "e2", "e3")
		if !slices.ContainsFunc([]string{"e0", "e1", "e2", "e3"},
			func(uid string) bool { return w.get(uid).Sender == used }) {
			t.Error("it was not bound again")
		}
	})
}

// TestFailoverForgetsAnEnd: one that is out waits for the place of the one before it, of which
// Redis has forgotten that it is DONE. Its process has that read again, and nothing else waits
// for longer than for a failover.
func TestFailoverForgetsAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1, Nodes: 2})
		for n := range uint64(3) {
			w.worker(n, devworker.Options{ProveTime: time.Minute})
		}
		w.post("claim", "a")
		w.post("claim", "b")
		p := w.start()
		replica := w.watchFor("a", w.redis.Snapshot(), func(t *lifecycle.Transaction) bool { return t.State() == lifecycle.Done })
		w.awaitTxn("b", "open", time.Hour, func(t *lifecycle.Transaction) bool { return t.Open() })
		at := time.Now()
		w.redis.FailOver(replica)
		for p.Recovering() == "" {
			if <-time.After(100 * time.Millisecond); time.Since(at) > time.Minute {
				t.Fatal("the failover is not noticed")
			}
		}
		for p.Recovering() != "" && time.Since(at) < time.Hour {
			<-time.After(time.Second)
		}
		if shut := time.Since(at); shut > 2*time.Minute {
			t.Errorf("nothing is bound or sent for %v", shut)
		}
		for _, uid := range []string{"a", "b"} {
			w.awaitTxn(uid, "done", time.Hour, func(t *lifecycle.Transaction) bool { return t.State() == lifecycle.Done })
		}
	})
}
