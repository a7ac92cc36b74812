package sequencer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// TestHappyWay: a posted transaction runs through queue, sender, worker and
// chain and ends DONE, once, with its callback told.
func TestHappyWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Start()
		w.Post("claim", "a")
		done := w.Await("a", tx.Done, time.Hour)
		if got := w.Effects("a"); len(got) != 1 {
			t.Fatalf("effects: %v", got)
		}
		a := done.Attempts[0]
		if len(done.Attempts) != 1 || a.State != tx.Included || a.Sender != account || a.Fee != w.Policy.Fee ||
			done.Hash() == "" {
			t.Errorf("attempt: %+v", a)
		}
		w.AwaitTxn("a", "told", time.Minute, func(t *tx.Transaction) bool { return t.Callback == "" })
		if told := worker.Told(); len(told) != 1 || told[0].Kind != devworker.OnSuccess {
			t.Errorf("told: %+v", told)
		}
		w.AwaitTxn("a", "final", 3*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
	})
}

// TestOrderOverSenders: more queues than senders, all in order, each once.
func TestOrderOverSenders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Worker(2, devworker.Options{ProveTime: 2 * time.Minute})
		w.Worker(3, devworker.Options{ProveTime: 30 * time.Second, Legacy: true})
		w.Start()
		var uids []string
		for i := range 20 {
			uid := fmt.Sprintf("t%02d", i)
			uids = append(uids, uid)
			w.Post(fmt.Sprintf("q%d", i%5), uid)
		}
		for _, uid := range uids {
			w.Await(uid, tx.Done, 10*time.Hour)
		}
	})
}

// TestLongProof: the time that a proof takes is no time in the pool.
func TestLongProof(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Policy.DispatchTimeout = time.Hour
		w.Worker(1, devworker.Options{ProveTime: 30 * time.Minute})
		w.Start()
		for _, uid := range []string{"first", "second"} {
			w.Post("claim", uid)
			// Final: then nothing is watched, and nobody asks the chain during the next proof.
			final := func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() }
			if a := w.AwaitTxn(uid, "final", 3*time.Hour, final).Attempts; len(a) != 1 {
				t.Errorf("%s: attempts %+v", uid, a)
			}
		}
	})
}

// TestStrangeAnswers: a worker that has made a proof, or says that it makes them, stays a
// two-phase one although something on the way says 404 for a while.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(w *harness.World, account string){
		"it has made one": func(w *harness.World, _ string) {
			w.Post("other", "first")
			w.Await("first", tx.Done, time.Hour)
		},
		"it says so": func(*harness.World, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				account, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
				var strange, asked, sends atomic.Int32
				w.Web.Serve(t, "worker1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					switch {
					case strings.Contains(r.URL.Path, "/dispatch/"):
						sends.Add(1)
					case strings.Contains(r.URL.Path, "/prove/") && strange.Load() > 0:
						strange.Add(-1)
						asked.Add(1)
						http.NotFound(rw, r)
						return
					}
					worker.ServeHTTP(rw, r)
				}))
				w.Start()
				before(w, account)
				strange.Store(2)
				w.Post("claim", "a")
				a := w.Await("a", tx.Done, 3*time.Hour)
				if len(a.Attempts) != 3 || a.Attempts[0].Legacy || asked.Load() != 2 || sends.Load() != 0 || a.Retries != 2 ||
					a.Attempts[0].Error.Code != tx.CodeNotServed {
					t.Errorf("asked %d times in vain, and %d times to send: %+v", asked.Load(), sends.Load(), a.Attempts)
				}
			})
		})
	}
}

// TestWorkerMoves: where a worker is, is asked again once it did not answer.
func TestWorkerMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		var asked atomic.Int32
		w.Web.Serve(t, "worker1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/prove/") {
				worker.ServeHTTP(rw, r)
				return
			}
			asked.Add(1)
			harness.Until(r.Context(), time.Minute)
			panic(http.ErrAbortHandler)
		}))
		w.Web.Serve(t, "moved", worker)
		w.Start()
		w.Post("claim", "a")
		harness.Until(t.Context(), 30*time.Second)
		w.OK(w.Pool.Configure(w.Ctx, map[string]string{account: "http://moved"}))
		w.Await("a", tx.Done, time.Hour)
		if n := asked.Load(); n != 1 {
			t.Errorf("where it was before, it was asked %d times", n)
		}
	})
}

// TestWrongCommand: what a worker has signed otherwise than it was asked for reaches no
// node, and is an error that a retry may mend.
func TestWrongCommand(t *testing.T) {
	t.Parallel()
	for _, field := range []string{devworker.WrongNonce, devworker.WrongFee, devworker.WrongValidUntil,
		devworker.WrongMemo, devworker.SecondNonce} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				_, worker := w.Worker(1, devworker.Options{})
				worker.Fail(devworker.Fault{Kind: devworker.Wrong, Field: field})
				w.Start()
				w.Post("q", "a")
				a := w.Await("a", tx.Done, time.Hour)
				if first := a.Attempts[0]; !first.State.Unmade() || first.Error == nil ||
					first.Error.Code != tx.CodeMismatch {
					t.Errorf("the first attempt: %+v", first)
				}
				if got := w.Effects("a"); len(got) != 1 || a.Landed != 2 || a.Retries != 1 {
					t.Errorf("took effect %q, landed by %d", got, a.Landed)
				}
			})
		})
	}
}

// TestIdleCosts: where there is nothing to do the nodes are not asked, and Redis only as
// often as claims are renewed and the cycle looks.
func TestIdleCosts(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		var asked atomic.Int64
		w.Web.Serve(w, "node0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Net.Node(0).ServeHTTP(rw, r)
		}))
		p := w.Start()
		w.Post("q", "a")
		w.AwaitTxn("a", "final", 3*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
		<-time.After(time.Minute) // what was asked for before is over
		before, scripts := asked.Load(), p.Store.Calls()
		<-time.After(time.Hour)
		if n := asked.Load() - before; n > 0 {
			t.Errorf("%d questions to a node in an idle hour", n)
		}
		// The cycle's sleep is up to a tenth shorter, and a heartbeat is a fifth of a claim's life.
		most := int64(time.Hour/(w.Policy.CycleInterval*9/10) + time.Hour/(w.Policy.ClaimTTL/5) + 10)
		if n := p.Store.Calls() - scripts; n > most {
			t.Errorf("%d scripts in an idle hour, %d are enough", n, most)
		}
	})
}

// TestNonceSeenOnce: what a sender's nonce is, and that it can pay, is asked once for what
// follows at once, in its queue or in others, and planned with its bind.
func TestNonceSeenOnce(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string][3]string{"one queue": {"q", "q", "q"}, "three": {"q", "r", "s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { nonceSeenOnce(t, queues) })
		})
	}
}

func nonceSeenOnce(t *testing.T, queues [3]string) {
	w := harness.New(t, devnet.Config{FillRate: 1})
	_, worker := w.Worker(1, devworker.Options{ProveTime: time.Second})
	worker.Fail(devworker.Fault{Kind: devworker.Answer, Times: 3, After: true, // when no bind is under way
		Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
	var asked atomic.Int64
	w.Web.Serve(w, "node0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("account(")) {
			asked.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Net.Node(0).ServeHTTP(rw, r)
	}))
	for i, uid := range []string{"a", "b", "c"} {
		w.Post(queues[i], uid)
	}
	w.Start()
	w.Await("c", tx.Done, time.Hour)
	if n := asked.Load(); n != 2 { // once for all balances
		t.Errorf("the node was asked %d times for accounts", n)
	}
	for uid, want := range map[string]int64{"a": 3, "b": 2, "c": 2} { // bound, planned, done
		if got := w.Get(uid); got.Revision != want || got.Attempts[0].Nonce != w.Get("a").Attempts[0].Nonce {
			t.Errorf("%s took %d writes, want %d: %+v", uid, got.Revision, want, got.Attempts)
		}
	}
}

// TestBoundBeforeTheAnswer: what is bound to a sender before this process hears that its release is
// stored is planned with its bind, too.
func TestBoundBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Second})
		worker.Fail(devworker.Fault{Kind: devworker.Answer, Times: 2, After: true,
			Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
		var answered atomic.Bool
		client := w.Redis.NewClient()
		client.AddHook(&slowOnce{word: string(tx.OnSuccess), by: time.Minute, after: func() { answered.Store(true) }})
		w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}})
		w.Post("q", "a")
		w.Await("a", tx.Done, time.Hour)
		w.Post("r", "b")
		if b := w.Await("b", tx.Done, time.Hour); b.Revision != 2 || answered.Load() {
			t.Errorf("%d writes, answered: %t", b.Revision, answered.Load())
		}
	})
}

// TestLegacyRepeatsItself: a worker that sends by itself, loses the answer and
// tries again is refused for the nonce that it has spent. That is no failure.
func TestLegacyRepeatsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(
			1,
			devworker.Options{
				ProveTime: time.Minute,
				Legacy:    true,
				Send: func(ctx context.Context, command json.RawMessage) (string, error) {
					if _, err := w.Node(0).Send(ctx, command); err != nil {
						return "", err
					}
					harness.Until(ctx, 2*harness.Slot) // no answer comes, and a block takes it
					return w.Node(0).Send(ctx, command)
				},
			},
		)
		w.Start()
		for _, uid := range []string{"a", "b"} {
			w.Post("claim", uid)
			if got := w.Await(uid, tx.Done, time.Hour); len(got.Attempts) != 1 || got.Hash() == "" {
				t.Errorf("%s: %+v", uid, got.Attempts)
			}
		}
		if at, err := w.Pool.Get(w.Ctx, account); err != nil || at.Reason != "" {
			t.Errorf("sender: %+v, %v", at, err)
		}
	})
}

// TestLegacyRefused: a refusal of what no node has is one, and is mended.
func TestLegacyRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute, Legacy: true})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`, RefuseNext: 1}))
		w.Start()
		w.Post("claim", "a")
		if got := w.Await("a", tx.Done, time.Hour); len(got.Attempts) != 2 ||
			got.Attempts[0].State != tx.Refused {
			t.Errorf("attempts: %+v", got.Attempts)
		}
	})
}

// TestNoNewsWhileOpen: an attempt that may have been sent stays open, and keeps
// its sender, when a further one cannot even be planned.
func TestNoNewsWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Worker(2, devworker.Options{ProveTime: time.Minute})
		first := w.Start()
		w.Post("claim", "a")
		sender := w.Await("a", tx.Dispatching, time.Hour).Sender
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Hang: true}))
		w.AwaitTxn("a", "signed", time.Hour,
			func(t *tx.Transaction) bool { return t.Attempts[0].State == tx.Signed })
		first.Kill()
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: "Insufficient fee"}))
		w.Start()
		w.Await("a", tx.Retry, time.Hour)
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Sync: "BOOTSTRAP"}))
		for range 5 {
			harness.Until(w.Ctx, time.Minute)
			if got := w.Get("a"); !got.Open() || got.Sender != sender ||
				got.State() != tx.Retry && got.State() != tx.Dispatching {
				t.Fatalf("%s of %.8s, first of %.8s, attempts %+v", got.Phase, got.Sender, sender, got.Attempts)
			}
		}
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
		w.Await("a", tx.Done, time.Hour)
		if got := w.Effects("a"); len(got) != 1 {
			t.Errorf("effects: %v", got)
		}
	})
}

// TestLegacyAnswerForgotten: Redis forgets what a worker that sends by itself has
// answered; the process that heard it still knows.
func TestLegacyAnswerForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute, Legacy: true})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`, RefuseNext: 1}))
		w.Start()
		w.Post("claim", "a")
		w.AwaitTxn("a", "with its worker", time.Hour,
			func(t *tx.Transaction) bool { return len(t.Attempts) == 1 && t.Attempts[0].Legacy })
		before := w.Redis.Snapshot()
		w.Await("a", tx.Retry, time.Hour)
		w.Redis.FailOver(before)
		if got := w.Await("a", tx.Done, 2*time.Hour); len(got.Attempts) != 2 {
			t.Errorf("attempts: %+v", got.Attempts)
		}
	})
}

// TestDeathForgotten: Redis forgets that an attempt has failed in a block and its
// transaction gone back to its queue. There is nothing to wait for any more.
func TestDeathForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Net.FailNext(account, 1, "Account_app_state_0_precondition_unsatisfied")
		w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Revision, time.Hour)
		before := w.Redis.Snapshot()
		w.OK(w.Pool.Drain(w.Ctx, account))
		w.Await("a", tx.Waiting, 2*time.Hour)
		w.Redis.FailOver(before)
		if got := w.Await("a", tx.Done, 3*time.Hour); len(got.Attempts) != 2 {
			t.Errorf("attempts: %+v", got.Attempts)
		}
	})
}

// TestLandingForgotten: Redis forgets all from the sending on, also that it is
// final by now. The chain tells once more; nothing is done twice.
func TestLandingForgotten(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for _, state := range []tx.State{tx.Waiting, tx.Dispatching, tx.Revision} {
		synctest.Test(t, func(t *testing.T) {
			w := harness.New(t, devnet.Config{FillRate: 1})
			account, _ := w.Worker(1, devworker.Options{ProveTime: time.Minute})
			w.Start()
			w.OK(w.Pool.Drain(w.Ctx, account))
			w.Post("claim", "a")
			var before redistest.Snapshot
			if state == tx.Waiting {
				before = w.Redis.Snapshot()
			}
			w.OK(w.Pool.Resume(w.Ctx, account))
			if state != tx.Waiting {
				w.Await("a", state, time.Hour)
				before = w.Redis.Snapshot()
			}
			w.AwaitTxn("a", "final", 3*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
			w.Redis.FailOver(before)
			w.Await("a", tx.Done, 3*time.Hour)
			if n := len(w.Effects("a")); n != 1 {
				t.Errorf("%s before: %d effects", state, n)
			}
		})
	}
}

// TestTwoOfAQueueForgotten: Redis forgets that one transaction is DONE and the next
// of its queue sent, which finds its place taken by the first. Its worker is not
// asked again, which would make another.
func TestTwoOfAQueueForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Start()
		w.Post("claim", "a")
		w.Post("claim", "b")
		w.Await("a", tx.Revision, time.Hour)
		before := w.Redis.Snapshot()
		w.Await("b", tx.Revision, time.Hour)
		worker.Script(func(call devworker.Call) *devworker.Fault {
			if call.Kind != devworker.Prove || call.Attempt > 1 {
				return nil
			}
			return &devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"}
		})
		w.Redis.FailOver(before)
		got := w.Await("b", tx.Done, 3*time.Hour)
		if effects := w.Effects("a", "b"); !slices.Equal(effects, []string{"a", "b"}) || got.Retries > 0 {
			t.Errorf("effects %q, %d retries", effects, got.Retries)
		}
	})
}

// TestLateHeartbeat: a proof that ends while it is not sure whose the claim is waits until that is
// known, and no longer.
func TestLateHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.ClaimTTL = 61003 * time.Millisecond
		w := harness.NewWith(t, devnet.Config{}, policy)
		w.Worker(1, devworker.Options{ProveTime: 45 * time.Second})
		var posted atomic.Bool
		slow := &slowOnce{word: "61003", by: 50 * time.Second, armed: posted.Load}
		client := w.Redis.NewClient()
		client.AddHook(slow)
		w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}})
		w.Post("q", "first")
		w.Await("first", tx.Done, time.Hour)
		w.Post("q", "a")
		w.AwaitTxn("a", "with its worker", time.Minute,
			func(t *tx.Transaction) bool { return t.State() == tx.Dispatching })
		began := time.Now()
		posted.Store(true)
		w.AwaitTxn("a", "out", 2*time.Hour, (*tx.Transaction).Open)
		took := time.Since(began)
		if took < 49*time.Second || took > 64*time.Second {
			t.Errorf("out after %v", took)
		}
	})
}
