package sequencer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestWrongWorker: a worker of another account or network makes nothing. Its
// sender rests, and is back in use soon after somebody has put it right.
func TestWrongWorker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wrong, right devworker.Options
		why          tx.SenderReason
		said         string
	}{
		"account": {devworker.Options{Account: devnet.Key(2)}, devworker.Options{Account: devnet.Key(1)},
			tx.WrongAccount, devnet.Key(2)},
		"network": {devworker.Options{Account: devnet.Key(1), Network: "mainnet"},
			devworker.Options{Account: devnet.Key(1), Network: "devnet"},
			tx.WrongNetwork, `signs for the network "mainnet"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				account, wrong := devnet.Key(1), devworker.New(tc.wrong)
				w.Web.Serve(t, "worker1", wrong)
				w.OK(w.Pool.Register(w.Ctx, account, "http://worker1"))
				w.Start()
				w.Post("q", "a")
				rests, longest := map[time.Time]bool{}, time.Duration(0)
				for range 60 * 12 {
					<-time.After(5 * time.Second)
					s, err := w.Pool.Get(w.Ctx, account)
					w.OK(err)
					if s.Reason == "" {
						continue
					}
					if s.Reason != tc.why || s.Until.IsZero() || !strings.Contains(s.Detail, tc.said) {
						t.Fatalf("the sender: %+v", s)
					}
					rests[s.Until] = true
					longest = max(longest, time.Until(s.Until))
				}
				a := w.Get("a")
				if a.State() != tx.Waiting || a.Retries != 0 || a.Error == nil || a.Error.Code != string(tc.why) {
					t.Errorf("meanwhile the transaction is %s with %d retries, error %+v", a.State(), a.Retries, a.Error)
				}
				if calls := wrong.Calls(); calls[devworker.Prove]+calls[devworker.Dispatch] > 0 {
					t.Errorf("the wrong worker was asked: %v", calls)
				}
				if len(rests) < 7 || len(rests) > 12 || longest < 9*time.Minute || longest > 11*time.Minute {
					t.Errorf("%d rests in an hour, the longest %v", len(rests), longest)
				}
				w.Web.Serve(t, "worker1", devworker.New(tc.right))
				w.Await("a", tx.Done, time.Hour)
				if s, err := w.Pool.Get(w.Ctx, account); err != nil || s.Reason != "" || s.Detail != "" {
					t.Errorf("put right, the sender is %+v, %v", s, err)
				}
			})
		})
	}
}

// localWorker adds a sender whose worker runs with a process, and returns how
// such a process reaches it.
func localWorker(w *harness.World, n uint64, o devworker.Options) (*devworker.Worker, map[string]string) {
	w.Helper()
	o.Account = devnet.Key(n)
	worker := devworker.New(o)
	w.Web.Serve(w, "local", worker)
	w.OK(w.Pool.Configure(w.Ctx, map[string]string{o.Account: senders.Local}))
	return worker, map[string]string{o.Account: "http://local"}
}

// startLocal starts a process with workers of its own.
func startLocal(w *harness.World, local map[string]string) *harness.Process {
	w.Helper()
	return w.Launch(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient(), Local: local, Ended: func(error) {}})
}

// TestCallbackElsewhere: a callback that a local worker does not answer at first is told again soon,
// whichever process looks for it meanwhile: its queue does not go on before it was told.
func TestCallbackElsewhere(t *testing.T) {
	t.Parallel()
	for seed := range 5 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1, Seed: uint64(seed)})
				worker, local := localWorker(w, 1, devworker.Options{})
				worker.Fail(devworker.Fault{On: devworker.OnSuccess, Kind: devworker.Busy, Times: 2})
				startLocal(w, local)
				for range 7 {
					w.Start()
				}
				startLocal(w, local) // either may tell, and one of the two does
				w.Post("q", "a")
				w.Post("q", "b")
				w.Await("b", tx.Done, time.Hour)
				// It was refused twice, one and two seconds apart.
				if d := w.Get("b").Attempts[0].StartedAt.Sub(w.Get("a").DoneAt); d < 3*time.Second || d > 4*time.Second {
					t.Errorf("the next one was begun %v after it was done; told: %+v", d, worker.Told())
				}
				if n := worker.Calls()[devworker.OnSuccess]; n < 3 || n > 4 { // and perhaps that of the next one
					t.Errorf("told %d times", n)
				}
			})
		})
	}
}

// TestWeighedElsewhere: whether a local worker would have its transaction tried again is asked by a
// process that has the worker, not settled by one that has not, and before another try is made.
func TestWeighedElsewhere(t *testing.T) {
	t.Parallel()
	for wants, ends := range map[int]tx.State{0: tx.Failed, 1: tx.Done} {
		t.Run(fmt.Sprint(wants), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				w.Policy.MaxRetries = 1 - wants
				worker, local := localWorker(w, 1, devworker.Options{MaxRetries: &wants})
				worker.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Error, Code: "20202"},
					devworker.Fault{On: devworker.MaxRetries, Kind: devworker.Hang})
				first := startLocal(w, local)
				w.Post("q", "a")
				w.AwaitTxn("a", "weighed", time.Minute, func(t *tx.Transaction) bool {
					return t.Phase == tx.PhaseFailing && worker.Calls()[devworker.MaxRetries] > 0
				})
				w.Start()
				first.Kill()
				w.Await("a", tx.Waiting, time.Minute)
				startLocal(w, local)
				w.AwaitTxn("a", "final", time.Hour, func(t *tx.Transaction) bool { return t.Phase.Final() })
				a := w.Get("a")
				if proved := worker.Calls()[devworker.Prove]; a.State() != ends || proved != 1+wants || a.Retries != wants {
					t.Errorf("%s, proved %d times, %d retries", a.State(), proved, a.Retries)
				}
			})
		})
	}
}

// TestLocalWorkerTakenOver: what a process with a local worker leaves behind is
// watched and sent again by any other, and made by none that has no such worker.
func TestLocalWorkerTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		worker, local := localWorker(w, 1, devworker.Options{ProveTime: 2 * time.Minute})
		w.Start()
		w.Post("q", "a")
		w.Post("q", "b")
		<-time.After(time.Hour)
		if a := w.Get("a"); a.Phase != tx.PhaseWaiting || worker.Calls()[devworker.Prove] > 0 {
			t.Fatalf("bound by a process without the worker: %s, calls %v", a.Phase, worker.Calls())
		}

		first := startLocal(w, local)
		w.AwaitTxn("a", "proving", time.Minute,
			func(t *tx.Transaction) bool { return worker.Calls()[devworker.Prove] == 1 })
		first.Kill()
		worker.Restart() // it died with its parent
		a := w.Await("a", tx.Waiting, time.Minute)
		if len(a.Attempts) != 1 || a.Open() || a.Retries != 0 {
			t.Errorf("settled, it has %d retries, open %v, attempts %+v", a.Retries, a.Open(), a.Attempts)
		}
		<-time.After(time.Hour)
		if a := w.Get("a"); a.Phase != tx.PhaseWaiting || worker.Calls()[devworker.Prove] != 1 {
			t.Fatalf("bound by a process without the worker: %s, calls %v", a.Phase, worker.Calls())
		}

		second := startLocal(w, local)
		w.AwaitTxn("a", "sent", time.Hour, func(t *tx.Transaction) bool { return t.Phase == tx.PhaseWatching })
		second.Kill()
		w.Await("a", tx.Done, time.Hour)
		if b := w.Get("b"); b.Phase != tx.PhaseWaiting {
			t.Errorf("the next one: %s", b.Phase)
		}
		startLocal(w, local)
		w.Await("b", tx.Done, time.Hour)
		if got := w.Effects("a", "b"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
			t.Errorf("effects: %v", got)
		}
	})
}
