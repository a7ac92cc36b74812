package recovery_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// soon looks fifty times a second, for what passes quickly, and gives up after an hour.
func soon(w *harness.World, uid string, until func(*tx.Transaction) bool) *tx.Transaction {
	w.Helper()
	for range 180_000 {
		if t := w.Get(uid); until(t) {
			return t
		}
		<-time.After(20 * time.Millisecond)
	}
	w.Fatalf("%+v", w.Get(uid))
	return nil
}

// alike is a world in which the second attempt of a has the nonce, the fee and the last slot of
// the first, of which nothing came: the fee is at its most. A third one would have another sender.
func alike(t *testing.T, test func(w *harness.World, p *harness.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.FeeMax, policy.RetryDelay, policy.RetryDelayMax = policy.Fee, 10*time.Second, 10*time.Second
		w := harness.NewWith(t, devnet.Config{FillRate: 1, Nodes: 2}, policy)
		w.Worker(1, devworker.Options{ProveTime: 2 * time.Second})
		test(w, w.Start())
		<-time.After(time.Minute)
		w.Worker(2, devworker.Options{ProveTime: 2 * time.Second})
		<-time.After(4 * time.Hour)
		got := w.Get("a")
		if n := len(w.Net.Effects()); n != 1 || got.State() != tx.Done {
			t.Errorf("%s, %d effects, by %+v", got.State(), n, got.Attempts)
		}
	})
}

// faulty has both nodes behave so.
func faulty(w *harness.World, f devnet.Faults) {
	w.Helper()
	for i := range 2 {
		w.OK(w.Net.Node(i).SetFaults(f))
	}
}

// refusedAt posts a so long before a block, to nodes that refuse it once.
func refusedAt(w *harness.World, before time.Duration) {
	w.Helper()
	faulty(w, devnet.Faults{Refuse: `(invalid (Invalid_proof))`, RefuseNext: 1})
	<-time.After(2*harness.Slot - before)
	w.Post("q", "a")
	soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseDelayed })
}

// putBack has a go back to its queue, for its worker is away for a moment, and tells what Redis
// holds then.
func putBack(w *harness.World) (before redistest.Snapshot) {
	w.Helper()
	w.Web.Unplug("worker1", true)
	soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWaiting })
	w.Web.Unplug("worker1", false)
	return w.Redis.Snapshot()
}

// second waits until the second attempt of a is like the first, and as far as until says.
func second(w *harness.World, until func(*tx.Transaction) bool) {
	w.Helper()
	got := soon(w, "a", func(x *tx.Transaction) bool { return len(x.Attempts) == 2 && until(x) }).Attempts
	if x, y := got[0], got[1]; x.Sender != y.Sender || x.Nonce != y.Nonce || x.Fee != y.Fee ||
		x.ValidUntil != y.ValidUntil {
		w.Fatalf("they are not alike: %+v", got)
	}
}

func isOut(t *tx.Transaction) bool { return t.Open() && !t.Last().State.Unmade() }

// TestAlikeForgotten: Redis forgets an attempt that is like one which all nodes had refused, and the
// process that knew it dies. What the nodes show is not taken for the refused one.
func TestAlikeForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for at := time.Duration(0); at < 3*time.Second; at += 2 * time.Second {
		t.Run(at.String(), func(t *testing.T) {
			alike(t, func(w *harness.World, p *harness.Process) {
				refusedAt(w, 35*time.Second)
				before := putBack(w)
				second(w, isOut)
				<-time.After(at)
				p.Kill()
				w.Redis.FailOver(before)
				w.Start()
			})
		})
	}
}

// TestAlikeRemembered: the same of a process that lives. What it reads first, whenever that is,
// does not take the place of what it knows.
func TestAlikeRemembered(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for at := time.Duration(0); at < 2*time.Second; at += 500 * time.Millisecond {
		t.Run(at.String(), func(t *testing.T) {
			alike(t, func(w *harness.World, _ *harness.Process) {
				refusedAt(w, 30*time.Second)
				before := w.Redis.Snapshot()
				second(w, func(x *tx.Transaction) bool { return x.Phase == tx.PhaseDone })
				<-time.After(at)
				w.Redis.FailOver(before)
			})
		})
	}
}

// TestDeadAlike: a person said that the first attempt is dead, which no node had answered. The second
// is like it; Redis forgets that, and the process that knew it dies.
func TestDeadAlike(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for at := time.Duration(0); at < 4*time.Second; at += 2 * time.Second {
		t.Run(at.String(), func(t *testing.T) {
			alike(t, func(w *harness.World, p *harness.Process) {
				<-time.After(harness.Slot + 5*time.Second)
				faulty(w, devnet.Faults{LoseRequests: 1000})
				item := queues.Item{UID: "a", Queue: "q", Type: "MINT", Data: json.RawMessage(`{"n":1}`)}
				item.ExpiresAt = time.Now().Add(90 * time.Minute) // which both are bounded by
				w.OK(w.Store.Enqueue(w.Ctx, item).Err)
				soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching })
				_, err := p.Resolve(w.Ctx, "a", false, "")
				w.OK(err)
				faulty(w, devnet.Faults{})
				soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseDelayed })
				before := putBack(w)
				second(w, isOut)
				<-time.After(at)
				p.Kill()
				w.Redis.FailOver(before)
				w.Web.Unplug("worker1", true)
				w.Start()
			})
		})
	}
}

// TestRemovedStaysRemoved: what has ended, and was removed by a person, is not done again because
// Redis restarts, which forgets nothing.
func TestRemovedStaysRemoved(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for name, ends := range map[string]func(w *harness.World, p *harness.Process){
		"a call of a legacy worker failed": func(w *harness.World, _ *harness.Process) {
			w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`, RefuseNext: 1}))
			w.Post("q", "a")
			w.Await("a", tx.Failed, time.Hour)
		},
		"declared dead": func(w *harness.World, p *harness.Process) {
			w.Post("q", "a")
			soon(w, "a", func(x *tx.Transaction) bool { return x.Open() })
			w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Sync: "BOOTSTRAP"}))
			soon(w, "a", func(x *tx.Transaction) bool { return x.Phase == tx.PhaseWatching })
			_, _, err := p.Cancel(w.Ctx, "a")
			w.OK(err)
			_, err = p.Resolve(w.Ctx, "a", false, "")
			w.OK(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1}, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: 5 * time.Second, Legacy: name != "declared dead", MaxRetries: new(int)})
				ends(w, w.Start())
				<-time.After(5 * time.Second)
				w.OK(w.Store.Remove(w.Ctx, "a"))
				epoch, err := epochOf(w)
				w.OK(err)
				w.Redis.Restart()
				<-time.After(20 * time.Second)
				w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
				<-time.After(time.Hour)
				if x, err := w.Store.Get(w.Ctx, "a"); err == nil {
					t.Errorf("it is %s, by %+v", x.State(), x.Attempts)
				}
				if after, err := epochOf(w); err != nil || after != epoch {
					t.Errorf("nothing was forgotten, and the epoch is %s after %s, %v", after, epoch, err)
				}
			})
		})
	}
}

// TestCancelForgotten: what is out is not said to be cancelled for good though Redis has forgotten
// it, neither by the process that knows it nor by another one, and nor is it removed.
func TestCancelForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	for _, by := range []string{"who knows it", "another"} {
		t.Run(by, func(t *testing.T) {
			harness.Trains(t, 1, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: 5 * time.Second})
				p := w.Start()
				<-time.After(harness.Slot + 5*time.Second)
				w.Post("q", "a")
				before := w.Redis.Snapshot()
				w.Await("a", tx.Revision, time.Minute)
				if by == "another" {
					p = w.Start()
					<-time.After(5 * time.Second)
				}
				w.Redis.FailOver(before)
				if _, pending, err := p.Cancel(w.Ctx, "a"); !errors.Is(err, queues.ErrUnsettled) {
					w.Errorf("cancelled: %t, %v", pending, err)
				}
				w.Await("a", tx.Done, time.Hour)
			})
		})
	}
}

// TestTrainPutBack: a train of which all was forgotten is put back, and none of it breaks by that.
func TestTrainPutBack(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	harness.Trains(t, 4, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
		w.Worker(1, devworker.Options{ProveTime: 5 * time.Second})
		w.Start()
		<-time.After(harness.Slot + 5*time.Second)
		uids := w.PostAll("q", 4)
		before := w.Redis.Snapshot()
		for _, uid := range uids {
			soon(w, uid, func(x *tx.Transaction) bool { return x.State() == tx.Revision })
		}
		w.Redis.FailOver(before)
		<-time.After(25 * time.Second)
		for _, uid := range uids {
			if x := w.Get(uid); x.Ending != "" || !x.Open() || len(x.Attempts) != 1 {
				w.Errorf("%s: %s, to end as %q, by %+v", uid, x.State(), x.Ending, x.Attempts)
			}
		}
		w.Once(uids...)
	})
}

// TestEndOfFirstForgotten: Redis forgets that the first of a train is DONE. The proof of the one
// behind it is not thrown away.
func TestEndOfFirstForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for at := time.Duration(0); at < 3*time.Second; at += 2 * time.Second {
		t.Run(at.String(), func(t *testing.T) {
			harness.Trains(t, 4, devnet.Config{FillRate: 1, Nodes: 2}, func(w *harness.World) {
				_, worker := w.Worker(1, devworker.Options{ProveTime: 100 * time.Second})
				w.Start()
				uids := w.PostAll("q", 2)
				var before redistest.Snapshot
				soon(w, uids[0], func(x *tx.Transaction) bool {
					if x.State() == tx.Revision {
						before = w.Redis.Snapshot()
					}
					return x.State() == tx.Done
				})
				<-time.After(at)
				w.Redis.FailOver(before)
				w.Once(uids...)
				if n := worker.Calls()["prove"]; n != 2 {
					t.Errorf("%d proofs for two", n)
				}
			})
		})
	}
}
