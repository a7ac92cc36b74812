package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// points are where in the life of a transaction the replica stands still that is
// promoted later: before the phase, or the outcome of an attempt, that is named.
var points = []struct {
	before  string
	reached func(*tx.Transaction) bool
}{
	{"bound", func(t *tx.Transaction) bool { return t.Phase != tx.PhaseWaiting }},
	{"planned", func(t *tx.Transaction) bool { return len(t.Attempts) > 0 }},
	{"signed", func(t *tx.Transaction) bool { return t.Open() }},
	{"sent", func(t *tx.Transaction) bool { return t.State() == tx.Revision }},
	{"done", func(t *tx.Transaction) bool { return t.State() == tx.Done }},
	{"final", func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() }},
}

// watchFor takes snapshots, the first of which is s, until a transaction has
// reached a point, and returns the last one before it.
func watchFor(w *harness.World, uid string, s redistest.Snapshot,
	reached func(*tx.Transaction) bool) redistest.Snapshot {
	w.Helper()
	last := int64(0)
	for n := 1; ; n++ {
		t := w.Get(uid)
		if reached(t) {
			return s
		}
		if t.Revision != last || n%20 == 0 {
			last, s = t.Revision, w.Redis.Snapshot()
		}
		<-time.After(time.Second)
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
			if cases++; lane.Raced && cases%6 != 0 {
				continue
			}
			t.Run("before "+point.before+", "+how.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 2})
					for n := range uint64(3) {
						w.Worker(n, devworker.Options{ProveTime: time.Minute})
					}
					w.Post("claim", "a")
					w.Post("claim", "b")
					replica := w.Redis.Snapshot()
					var processes []*harness.Process
					for range how.processes {
						processes = append(processes, w.Start())
					}
					replica = watchFor(w, "a", replica, point.reached)
					<-time.After(how.later)
					for _, p := range processes[:how.dying] {
						p.Kill()
					}
					w.Redis.FailOver(replica)
					<-time.After(time.Second)
					if how.dying == how.processes {
						w.Start()
					}
					w.Post("other", "c")
					w.Once("a", "b", "c")
				})
			})
		}
	}
}

// TestTurnPassesOn: a process that cannot compare the senders with the chain, for it reaches
// no node any more, leaves that to another one, whichever of them has the turn first.
func TestTurnPassesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 2})
		w.Worker(1, devworker.Options{})
		var blind atomic.Bool
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if blind.Load() && strings.HasPrefix(addr, "node") {
				return nil, errors.New("no route to the node")
			}
			return w.Web.Dial(ctx, network, addr)
		}
		w.Launch(harness.Links{Dial: dial, Redis: w.Redis.NewClient(), Ended: func(error) {}})
		<-time.After(time.Minute)
		p := w.Start()
		<-time.After(time.Minute)
		blind.Store(true)
		for i := range 4 {
			w.Redis.Restart()
			uid := fmt.Sprint("t", i)
			w.Post("q", uid)
			w.Await(uid, tx.Done, 15*time.Minute)
			if i == 1 { // who sees the chain began later, and now earlier
				p.Stop()
				blind.Store(false)
				w.Redis.Restart()
				<-time.After(5 * time.Minute)
				p = w.Start()
				<-time.After(time.Minute)
				blind.Store(true)
			}
		}
	})
}

// TestDamaged: what is bound and cannot be read keeps its sender and holds its queue, and
// nothing else: neither a process that starts nor one whose Redis was restarted waits for it.
func TestDamaged(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for _, how := range []struct{ name, key, text string }{
		{"all of it", "x:a2", "damaged"}, {"its record", "x:a2", "\n{"}, {"its queue's", "q:q", "damaged"},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				w.Worker(1, devworker.Options{ProveTime: 2 * time.Minute})
				p := w.Start()
				w.Post("q", "a1")
				w.Await("a1", tx.Done, time.Hour)
				w.Post("q", "a2")
				w.Await("a2", tx.Dispatching, time.Hour)
				w.Worker(2, devworker.Options{})
				p.Kill()

				client := w.Redis.NewClient()
				key := "{test}:" + how.key
				words, _, _ := strings.Cut(client.Get(w.Ctx, key).Val(), "\n")
				if words == "" {
					t.Fatal("there is no such key")
				}
				text := how.text
				if strings.HasPrefix(text, "\n") {
					text = words + text
				}
				w.OK(client.Set(w.Ctx, key, text, 0).Err())
				w.Start()
				w.Post("other", "b1")
				w.Await("b1", tx.Done, time.Hour)
				w.Redis.Restart()
				w.Post("other", "b2")
				w.Await("b2", tx.Done, time.Hour)
			})
		})
	}
}

// TestFinalForgotten: what a process was done with, and remembers no more, is its own
// again after a failover, and ends once more.
func TestFinalForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		w.Start()
		w.Post("q", "a")
		replica := watchFor(w, "a", w.Redis.Snapshot(), func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
		<-time.After(10 * time.Minute)
		w.Redis.FailOver(replica)
		w.Once("a")
	})
}

// TestFailOverFarBack: Redis comes back as it was when nothing had happened yet:
// all that has landed since, and what lies in the pool, is found by its memo.
func TestFailOverFarBack(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for _, late := range []time.Duration{8 * time.Minute, 20 * time.Minute, time.Hour} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 0.7, Nodes: 2, Seed: 4})
				w.Worker(1, devworker.Options{ProveTime: time.Minute})
				w.Worker(2, devworker.Options{ProveTime: 2 * time.Minute})
				p := w.Start()
				var uids []string
				for i := range 10 {
					uids = append(uids, fmt.Sprintf("t%d", i))
					w.Post(fmt.Sprintf("q%d", i%3), uids[i])
				}
				replica := w.Redis.Snapshot()
				<-time.After(late)
				p.Kill()
				w.Redis.FailOver(replica)
				w.Start()
				w.Once(uids...)
			})
		})
	}
}

// TestFoundOfTwo: what one sender sent of a transaction failed in its block, and what another one sent
// later took effect. Redis comes back as it was before both, and the later one is what counts.
func TestFoundOfTwo(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for first := range uint64(2) {
		t.Run(fmt.Sprint("sender ", first, " first"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 2})
				fails, _ := w.Worker(1+first, devworker.Options{ProveTime: time.Minute})
				lands, _ := w.Worker(2-first, devworker.Options{ProveTime: time.Minute})
				w.OK(w.Pool.Drain(w.Ctx, lands))
				w.Post("q", "a")
				before := w.Redis.Snapshot()
				w.Net.FailNext(fails, 1, "Account_app_state_0_precondition_unsatisfied")
				p := w.Start()
				soon(w, "a", isOut)
				w.OK(w.Pool.Drain(w.Ctx, fails))
				w.OK(w.Pool.Resume(w.Ctx, lands))
				if x := w.Await("a", tx.Done, 6*time.Hour); x.Sender != lands {
					t.Fatalf("landed by %s", x.Sender)
				}
				p.Kill()
				w.Redis.FailOver(before)
				w.Start()
				w.Await("a", tx.Done, 6*time.Hour)
				<-time.After(6 * time.Hour)
				if n := w.Effects("a"); len(n) != 1 {
					t.Errorf("%d effects, by %+v", len(n), w.Get("a").Attempts)
				}
			})
		})
	}
}

// TestFoundInAnother: what recovery has found in a block may stand in an earlier one of a fork
// that the chain goes over to: it is found there, too, and not made again.
func TestFoundInAnother(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 0.3, Seed: seed})
				w.Worker(1, devworker.Options{})
				replica := w.Redis.Snapshot()
				p := w.Start()
				w.Post("q", "a")
				w.Await("a", tx.Done, 2*time.Hour)
				p.Kill()
				w.Redis.FailOver(replica)
				w.Post("q", "a")
				w.Start()
				w.Await("a", tx.Done, 10*time.Minute)
				w.OK(w.Net.Reorg(devnet.Reorg{Depth: 1, Sooner: true}))
				<-time.After(6 * time.Hour)
				w.Once("a")
			})
		})
	}
}

// TestRestart: a Redis that restarts and forgets nothing stops the work for as
// long as the others need to say so, and nothing is done twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		p := w.Start()
		w.Start()
		w.Post("claim", "a")
		w.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) > 0 })
		epoch, err := epochOf(w)
		w.OK(err)
		w.Redis.Restart()
		<-time.After(w.Policy.ClaimTTL / 2)
		if p.Recovering() == "" {
			t.Error("it goes on before the others were heard")
		}
		w.Post("other", "b")
		x, err := p.Explain(w.Ctx, "b", false)
		w.OK(err)
		if x.Wait.Code != explain.WaitRecovery {
			t.Errorf("explained: %+v", x)
		}
		w.Once("a", "b")
		if p.Recovering() != "" {
			t.Errorf("recovering: %s", p.Recovering())
		}
		after, err := epochOf(w)
		w.OK(err)
		if after != epoch {
			t.Errorf("epoch %s, was %s: nothing was forgotten", after, epoch)
		}
		if got := len(w.Get("a").Attempts); got != 1 {
			t.Errorf("%d attempts of a", got)
		}
		if told := worker.Told(); len(told) != 2 {
			t.Errorf("told: %+v", told)
		}
	})
}

func epochOf(w *harness.World) (string, error) {
	log, err := w.Store.ReadLog(w.Ctx, 0, 1)
	return log.Epoch, err
}

// TestEpoch: it changes when something was forgotten.
func TestEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Start()
		w.Post("claim", "a")
		replica := watchFor(w, "a", redistest.Snapshot{}, points[2].reached)
		epoch, err := epochOf(w)
		w.OK(err)
		<-time.After(time.Second) // it has been told that this is stored
		w.Redis.FailOver(replica)
		w.Once("a")
		after, err := epochOf(w)
		w.OK(err)
		if after == epoch {
			t.Errorf("epoch %s, as before", after)
		}
	})
}

// strange signs a command of an account that no transaction of ours has made.
func strange(w *harness.World, account string, nonce uint32) {
	w.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: account, Nonce: nonce, Fee: 200_000_000, Memo: "hello"})
	w.OK(err)
	_, err = w.Node(0).Send(w.Ctx, command)
	w.OK(err)
}

// TestStrangeNonce: the sender whose account somebody else has used stops, with a
// reason that names it; the others go on, and a person puts it back.
func TestStrangeNonce(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		used, _ := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Worker(2, devworker.Options{ProveTime: time.Minute})
		first := w.Start()
		w.Post("q1", "a")
		w.Post("q2", "b")
		w.Once("a", "b")
		first.Stop()
		strange(w, used, 1)
		<-time.After(2 * harness.Slot)
		w.Start()
		w.Post("q1", "c")
		w.Post("q2", "d")
		w.Await("c", tx.Done, 2*time.Hour)
		w.Await("d", tx.Done, 2*time.Hour)
		s, err := w.Pool.Get(w.Ctx, used)
		w.OK(err)
		if s.Reason != tx.StoppedNonce || s.Detail == "" {
			t.Errorf("the sender: %+v", s)
		}
		if got := w.Get("d").Sender; got == used || w.Get("c").Sender == used {
			t.Errorf("it was bound all the same")
		}
		w.OK(w.Pool.Resume(w.Ctx, used))
		for i := range 4 {
			w.Post(fmt.Sprintf("r%d", i), fmt.Sprintf("e%d", i))
		}
		w.Once("e0", "e1", "e2", "e3")
		if !slices.ContainsFunc([]string{"e0", "e1", "e2", "e3"},
			func(uid string) bool { return w.Get(uid).Sender == used }) {
			t.Error("it was not bound again")
		}
	})
}

// TestFailoverForgetsAnEnd: one that is out waits for the place of the one before it, of which
// Redis has forgotten that it is DONE. Its process has that read again, and nothing else waits
// for longer than for a failover.
func TestFailoverForgetsAnEnd(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 2})
		for n := range uint64(3) {
			w.Worker(n, devworker.Options{ProveTime: time.Minute})
		}
		w.Post("claim", "a")
		w.Post("claim", "b")
		p := w.Start()
		replica := watchFor(w, "a", w.Redis.Snapshot(),
			func(t *tx.Transaction) bool { return t.State() == tx.Done })
		w.AwaitTxn("b", "open", time.Hour, func(t *tx.Transaction) bool { return t.Open() })
		at := time.Now()
		w.Redis.FailOver(replica)
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
			w.AwaitTxn(uid, "done", time.Hour, func(t *tx.Transaction) bool { return t.State() == tx.Done })
		}
	})
}

// TestEndsWhileReconciling: a process is told to end while no node answers, and Redis is
// another one, as it has learnt by what a worker answered. It does not wait for the nodes.
func TestEndsWhileReconciling(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{})
		_, worker := w.Worker(1, devworker.Options{})
		worker.Fail(devworker.Fault{Kind: devworker.Hang, After: true})
		w.Post("q", "a")
		before := w.Redis.Snapshot()
		p := w.Start()
		<-time.After(10 * time.Second) // between two heartbeats
		if n := worker.Calls()[devworker.Prove]; n != 1 {
			t.Fatalf("its worker was asked %d times", n)
		}
		w.Web.Unplug("node0", true)
		w.Redis.FailOver(before)
		worker.Release()
		<-time.After(3 * time.Minute) // nothing else is under way
		if p.Recovering() == "" {
			t.Error("it has not met another Redis")
		}
		p.Stop()
	})
}
