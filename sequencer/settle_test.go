package sequencer_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// TestSettleDepthOfType: a type whose second landing cannot take effect is tried
// again sooner, and no other is.
func TestSettleDepthOfType(t *testing.T) {
	t.Parallel()
	for typ, depth := range map[string]int{"ONCE": 2, "MINT": 5} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
				w.Worker(1, devworker.Options{})
				p := w.Start()
				w.Net.FailNext("", 1, "Account_nonce_precondition_unsatisfied")
				w.PostType(typ, "q", "a")
				failed := w.AwaitTxn("a", "failed once", 3*time.Hour,
					func(t *tx.Transaction) bool { return t.Phase == tx.PhaseDelayed })
				if a := failed.Attempts[0]; !a.Failed() || a.Confirmations != depth {
					t.Errorf("settled %+v, want %d blocks deep", a, depth)
				}
				w.Await("a", tx.Done, 3*time.Hour)
				w.Net.FailNext("", 1, "Account_nonce_precondition_unsatisfied")
				w.PostType(typ, "q", "b")
				w.AwaitTxn("b", "in a block", time.Hour, func(*tx.Transaction) bool { return len(w.Net.Effects()) == 3 })
				<-time.After(time.Minute)
				x, err := p.Explain(w.Ctx, "b", false)
				if err != nil || !strings.Contains(x.Summary, map[int]string{2: "2 blocks deep", 5: "5 blocks deep"}[depth]) {
					t.Errorf("%+v, %v", x, err)
				}
			})
		})
	}
}

// TestTriedEarlyAndBack: what failed is tried again at once, and then a reorganisation lets
// the first attempt land after all. It is DONE by that one, and the second, which cannot take
// effect any more, is no failure of its own.
func TestTriedEarlyAndBack(t *testing.T) {
	t.Parallel()
	for name, landed := range map[string]bool{"before the second landed": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
				w.Worker(1, devworker.Options{Once: true})
				w.Start()
				w.Net.FailNext("", 1, "Account_app_state_0_precondition_unsatisfied")
				w.PostType("ONCE", "q", "a")
				w.AwaitTxn("a", "tried again", 3*time.Hour, func(t *tx.Transaction) bool {
					return len(t.Attempts) == 2 && (landed && t.Landed == 2 || !landed && t.Attempts[1].Open())
				})
				first := w.Get("a").Attempts[0]
				w.OK(w.Net.Reorg(devnet.Reorg{Depth: int(w.Net.Node(0).State().Height-first.Height) + 1}))
				done := w.AwaitTxn("a", "DONE for good", 12*time.Hour, func(t *tx.Transaction) bool {
					return !t.FinalAt.IsZero()
				})
				if done.Landed != 1 || len(w.Effects("a")) != 1 {
					t.Errorf("%+v, effects %v", done, w.Effects("a"))
				}
				w.PostType("ONCE", "q", "b")
				w.Await("b", tx.Done, 3*time.Hour)
			})
		})
	}
}

// TestFinishedWhileOpen: a worker finishes a transaction without a block while
// an earlier attempt of it may land. It holds its sender until that is settled.
func TestFinishedWhileOpen(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for name, lands := range map[string]bool{"the earlier one lands": true, "the earlier one dies": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
				account, worker := w.Worker(1, devworker.Options{})
				node := w.Net.Node(0)
				p := w.Start()
				// The process dies with the first attempt signed, and the next one is
				// told by every node that it will not do.
				worker.Fail(devworker.Fault{Kind: devworker.Hang, Wait: time.Minute})
				w.Post("q", "a")
				w.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
				w.OK(node.SetFaults(devnet.Faults{Hang: true}))
				w.AwaitTxn("a", "signed", time.Hour, func(t *tx.Transaction) bool { return t.Open() })
				p.Kill()
				w.OK(node.SetFaults(devnet.Faults{Refuse: "Insufficient fee"}))
				worker.Fail(devworker.Fault{Kind: devworker.Answer, Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
				p = w.Start()
				got := w.AwaitTxn("a", "finished by its worker", 3*time.Hour, func(t *tx.Transaction) bool {
					return len(t.Attempts) == 2 && t.Phase == tx.PhaseWatching
				})
				if s, _ := w.Pool.Get(w.Ctx, account); s.Queue != "q" || got.Ending != tx.PhaseDone ||
					!got.Attempts[0].Open() {
					t.Errorf("%+v, sender %+v", got, s)
				}
				if x, err := p.Explain(w.Ctx, "a", false); err != nil || x.Next.Action == explain.StepRetry {
					t.Errorf("%+v, %v", x, err)
				}
				if lands {
					w.OK(node.SetFaults(devnet.Faults{}))
				}
				got = w.Await("a", tx.Done, 24*time.Hour)
				outcome, effects := tx.Expired, 0
				if lands {
					outcome, effects = tx.Included, 1
				}
				if a := got.Attempts[0]; a.State != outcome || got.Landed > 0 != lands || len(w.Effects("a")) != effects {
					t.Errorf("%+v", got)
				}
				if !lands && string(got.Done) != `{"account":"B62"}` {
					t.Errorf("done %s", got.Done)
				}
				w.OK(node.SetFaults(devnet.Faults{}))
				w.Post("q", "b")
				w.Await("b", tx.Done, time.Hour)
				if s, _ := w.Pool.Get(w.Ctx, account); !s.Available() {
					t.Errorf("sender %+v", s)
				}
			})
		})
	}
}

// TestNonceIgnored: a worker that sends by itself takes another nonce than it was
// given. That is said, and the nonce it used is what counts.
func TestNonceIgnored(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"landed": false, "failed in its block": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				coded := 0
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
				w.Observe = func(_, _ *tx.Transaction, s *lifecycle.Step) {
					mu.Lock()
					defer mu.Unlock()
					if s.Reason == lifecycle.ReasonNonceIgnored && s.Aside.Code == tx.CodeNonceIgnored {
						coded++
					}
				}
				account, worker := w.Worker(1, devworker.Options{Legacy: true, ProveTime: time.Minute})
				p := w.Start()
				worker.Fail(devworker.Fault{Kind: devworker.Wrong, Field: devworker.WrongNonce})
				w.Post("q", "a")
				w.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
				// Without this one no node takes a nonce that is one too high.
				w.Stranger(account, 0, 200_000_000)
				if fails {
					w.Net.FailNext("", 2, "Account_nonce_precondition_unsatisfied")
				}
				sent := w.Await("a", tx.Revision, time.Hour)
				said := w.AwaitTxn("a", "said", time.Hour, func(t *tx.Transaction) bool {
					return len(t.Attempts) > 0 && t.Attempts[0].Error != nil
				})
				if e := said.Attempts[0].Error; e.Code != "NONCE_IGNORED" ||
					!strings.Contains(e.Message, "was given nonce 0 and used 1") {
					t.Errorf("attempt: %+v", e)
				}
				if !fails {
					if said.State() == tx.Revision && (said.Error == nil || said.Error.Code != "NONCE_IGNORED") {
						t.Errorf("transaction: %+v", said.Error)
					}
					w.Await("a", tx.Done, time.Hour)
				} else {
					w.AwaitTxn("a", "tried again", 3*time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 2 })
				}
				if x, err := p.Explain(w.Ctx, "a", false); err != nil || !strings.Contains(x.Attempts[0].Detail, "NONCE_IGNORED") {
					t.Errorf("explained as %+v, %v", x, err)
				}
				got := w.Await("a", tx.Done, 3*time.Hour)
				if a := got.Attempts[0]; a.Hash != sent.Hash() || a.Error == nil || a.Error.Code != "NONCE_IGNORED" {
					t.Errorf("in the end: %+v", a)
				}
				if fails && got.Attempts[1].Nonce != 2 {
					t.Errorf("the next attempt has nonce %d, want 2", got.Attempts[1].Nonce)
				}
				w.Post("q", "b")
				if b := w.Await("b", tx.Done, time.Hour); b.Attempts[0].Nonce != uint32(2+len(got.Attempts)-1) {
					t.Errorf("the next transaction: %+v", b.Attempts)
				}
				mu.Lock()
				defer mu.Unlock()
				if coded != 1 {
					t.Errorf("said %d times", coded)
				}
			})
		})
	}
}

// TestSentAgainInTime: what waits in pools at the highest fee is sent again before
// the nodes stop telling their peers of it, also by another process.
func TestSentAgainInTime(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sent []time.Time
		policy := harness.PatientPolicy()
		policy.FeeMax, policy.ValidSlots = policy.Fee, 200
		w := harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 1, Nodes: 2}, policy)
		w.Observe = func(t, _ *tx.Transaction, s *lifecycle.Step) {
			mu.Lock()
			defer mu.Unlock()
			if s.Do.Kind == lifecycle.Send {
				sent = append(sent, time.Now())
			}
		}
		w.Worker(1, devworker.Options{})
		p := w.Start()
		// One command a block, and many that pay more.
		w.Flood(1000, 66, 1_000_000_000)
		// One node says that it has it, and has not.
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Duplicate"]`}))
		w.Post("q", "a")
		w.Await("a", tx.Revision, time.Hour)
		<-time.After(40 * time.Minute)
		if !slices.Contains(w.Net.Node(1).Pooled(), w.Get("a").Hash()) {
			t.Error("the other node was not given it")
		}
		p.Kill()
		w.Start()
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
		end := w.Await("a", tx.Done, 12*time.Hour)
		mu.Lock()
		defer mu.Unlock()
		last := sent[0]
		for _, at := range append(sent, end.DoneAt) {
			if at.Sub(last) > 50*time.Minute {
				t.Errorf("silent for %v", at.Sub(last))
			}
			last = at
		}
		if waited := end.DoneAt.Sub(sent[0]); waited < 3*time.Hour || len(end.Attempts) != 1 || len(w.Effects("a")) != 1 {
			t.Errorf("waited %v: %+v", waited, end.Attempts)
		}
	})
}

// TestStandingNonce: where a sender's next nonce is not known, and the chain has lost
// the block of its last one, that one's nonce is not given away.
func TestStandingNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(1, devworker.Options{})
		w.Start()
		w.Post("q1", "a")
		landed := w.Await("a", tx.Done, time.Hour)
		depth := int(w.Net.Node(0).State().Height-landed.Attempts[0].Height) + 1
		w.OK(w.Net.Reorg(devnet.Reorg{Depth: depth, Empty: true}))
		w.AwaitTxn("a", "orphaned", time.Hour, func(t *tx.Transaction) bool { return t.Reopened })
		w.OK(w.Redis.Client.HDel(t.Context(), "{test}:s:"+account, "next").Err()) // as after a person's resolve
		w.Post("q2", "b")
		if b := w.Await("b", tx.Done, time.Hour); b.Attempts[len(b.Attempts)-1].Nonce != 1 {
			t.Errorf("b: %+v", b.Attempts)
		}
		if es := w.Effects("a", "b"); !slices.Equal(es, []string{"a", "b"}) {
			t.Errorf("took effect: %v", es)
		}
	})
}

// TestRefusedRaise: where the nodes refuse what pays more, the bytes that they took
// go on being sent.
func TestRefusedRaise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.PatientPolicy()
		policy.ValidSlots = 200
		w := harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 1}, policy)
		w.Worker(1, devworker.Options{})
		w.Start()
		w.Flood(1000, 20, 1_000_000_000) // a block each, before it
		<-time.After(2 * harness.Slot)
		w.Post("q", "a")
		first := w.Await("a", tx.Revision, time.Hour).Attempts[0].KnownHash()
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `(invalid (Invalid_proof))`}))
		w.AwaitTxn("a", "a raise refused", 2*time.Hour, func(t *tx.Transaction) bool {
			return len(t.Attempts) == 2 && t.Attempts[1].State == tx.Refused
		})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
		if !w.Net.Drop(first) {
			t.Fatal("no node had it")
		}
		<-time.After(2 * harness.Slot)
		if !slices.Contains(w.Net.Node(0).Pooled(), first) {
			t.Error("what the node took was not sent again")
		}
		w.Await("a", tx.Done, 6*time.Hour)
		if len(w.Effects("a")) != 1 {
			t.Error("it took no effect, or several")
		}
	})
}

// TestResignChecked: what a worker signs for a raise is looked at like its first: what is not
// what was asked for is not sent.
func TestResignChecked(t *testing.T) {
	t.Parallel()
	for _, field := range []string{devworker.WrongNonce, devworker.WrongFee, devworker.WrongPayer, devworker.WrongMemo} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := harness.PatientPolicy()
				policy.ValidSlots = 200
				w := harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 1}, policy)
				account, worker := w.Worker(1, devworker.Options{})
				w.Start()
				w.Flood(1000, 20, 1_000_000_000) // a block each, before it
				<-time.After(2 * harness.Slot)
				worker.Fail(devworker.Fault{On: devworker.Resign, Kind: devworker.Wrong, Field: field, Times: -1})
				w.Post("q", "a")
				raised := w.AwaitTxn("a", "a raise", 6*time.Hour, func(t *tx.Transaction) bool {
					return len(t.Attempts) == 2 && t.Attempts[1].Error != nil
				}).Attempts[1]
				if !raised.State.Unmade() || !strings.Contains(raised.Error.Message, "signed") {
					t.Errorf("the raise: %s, %+v", raised.State, raised.Error)
				}
				sent := w.Await("a", tx.Done, 12*time.Hour).Attempts[0]
				if sent.State != tx.Included || sent.Sender != account {
					t.Errorf("the first attempt: %+v", sent)
				}
				if got := w.Effects("a"); len(got) != 1 {
					t.Errorf("effects: %v", got)
				}
			})
		})
	}
}

// TestLeftOverBytes: bytes of an attempt of another sender, as a failover may leave
// behind, are not sent beside those that are open.
func TestLeftOverBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.PatientPolicy()
		policy.FeeMax, policy.ValidSlots = policy.Fee+1, 200 // no raise makes new bytes
		w := harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 1}, policy)
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		w.Worker(2, devworker.Options{ProveTime: time.Minute})
		w.Start()
		w.Flood(1000, 30, 1_000_000_000) // a block each, before it
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Insufficient_funds"]`, RefuseNext: 1}))
		w.Post("q", "a")
		first := w.AwaitTxn("a", "refused", time.Hour, func(t *tx.Transaction) bool {
			return len(t.Attempts) > 0 && t.Attempts[0].State == tx.Refused
		}).Attempts[0]
		left, err := w.Redis.Client.Get(t.Context(), "{test}:b:a").Bytes()
		w.OK(err)
		second := w.Await("a", tx.Revision, time.Hour).Attempts[1]
		if second.Sender == first.Sender {
			t.Fatal("the same sender")
		}
		w.OK(w.Redis.Client.Set(t.Context(), "{test}:b:a", left, 0).Err())
		w.Net.Drop(second.KnownHash())
		<-time.After(2 * harness.Slot)
		for _, x := range w.Net.Node(0).Waiting() {
			if x.Payer == first.Sender {
				t.Error("the left over bytes were sent")
			}
		}
		if got := w.Get("a").Attempts[0].State; got != tx.Refused {
			t.Errorf("the first attempt is %s", got)
		}
	})
}

// TestReopenedIsSentAgainInTime: so is what was DONE, has lost its block, and
// waits in the pools once more.
func TestReopenedIsSentAgainInTime(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		sent := 0
		policy := harness.PatientPolicy()
		policy.ValidSlots = 200
		w := harness.NewWith(t, devnet.Config{FillRate: 1, MaxZkapps: 1}, policy)
		w.Observe = func(t, _ *tx.Transaction, s *lifecycle.Step) {
			mu.Lock()
			defer mu.Unlock()
			if t.Phase == tx.PhaseDone && s.Do.Kind == lifecycle.Send {
				sent++
			}
		}
		w.Worker(1, devworker.Options{})
		w.Start()
		w.Post("q", "a")
		w.Await("a", tx.Done, time.Hour)
		w.Flood(1000, 40, 1_000_000_000)
		w.OK(w.Net.Reorg(devnet.Reorg{Depth: 1, Empty: true}))
		w.AwaitTxn("a", "reopened", time.Hour, func(t *tx.Transaction) bool { return t.Reopened })
		w.AwaitTxn("a", "landed again", 12*time.Hour, func(t *tx.Transaction) bool { return !t.Reopened })
		mu.Lock()
		defer mu.Unlock()
		// Two hours in the pool: once at first, and every half an hour.
		if sent < 4 {
			t.Errorf("sent again %d times", sent)
		}
	})
}

// TestOrphanOfLegacyWorker: what a worker has sent by itself is gone from the
// chain, and the next command of its account is another's. That is not taken for it.
func TestOrphanOfLegacyWorker(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(1, devworker.Options{Legacy: true})
		p := w.Start()
		w.Post("q", "a")
		landed := w.Await("a", tx.Done, time.Hour)
		depth := int(w.Net.Node(0).State().Height-landed.Attempts[0].Height) + 1
		w.OK(w.Net.Reorg(devnet.Reorg{Depth: depth, Exclude: []string{landed.Hash()}, Empty: true}))
		w.Net.ClearPools()
		w.Stranger(account, landed.Attempts[0].Nonce, 5_000_000_000)
		got := w.Await("a", tx.Unresolved, 3*time.Hour)
		if got.Error == nil || got.Error.Code != tx.CodeOutcomeUnknown || !got.FinalAt.IsZero() {
			t.Errorf("%+v, %v", got, got.Error)
		}
		// It may land again: nothing else may take its nonce before a person has said not.
		if nonce, any, err := w.Store.HighestLanded(t.Context(), account); !any ||
			nonce != landed.Attempts[0].Nonce || err != nil {
			t.Errorf("stands with nonce %d %v, %v", nonce, any, err)
		}
		<-time.After(time.Hour)
		if got := w.Get("a"); got.State() != tx.Unresolved {
			t.Errorf("later %s", got.State())
		}
		_, err := p.Resolve(t.Context(), "a", false, "")
		w.OK(err)
		if nonce, any, err := w.Store.HighestLanded(t.Context(), account); any || err != nil {
			t.Errorf("said to be dead, it stands with nonce %d, %v", nonce, err)
		}
	})
}

// TestFailedLate: what a worker sent long after everybody had given up fails in a
// block. Its sender goes on behind the nonce that this has used up.
func TestFailedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, worker := w.Worker(1, devworker.Options{Legacy: true})
		worker.Fail(devworker.Fault{UID: "a", Kind: devworker.Hang, Wait: 40 * time.Minute})
		w.Start()
		w.Post("q", "a")
		w.Await("a", tx.Unresolved, time.Hour)
		w.Net.FailNext(account, 1, "Invalid_fee_excess")
		w.Stranger(account, w.Get("a").Last().Nonce, 200_000_000) // in the worker's name
		got := w.AwaitTxn("a", "settled", 3*time.Hour, func(t *tx.Transaction) bool { return !t.Open() })
		if got.State() != tx.Unresolved || !got.Last().Failed() {
			t.Errorf("%+v", got)
		}
		s, err := w.Pool.Get(t.Context(), account)
		if err != nil || !s.Available() || s.Nonce != nil && *s.Nonce <= got.Last().Nonce {
			t.Errorf("sender %+v, %v", s, err)
		}
		w.Post("q", "b")
		w.Await("b", tx.Done, 3*time.Hour)
	})
}

// TestTakenOverAgain: a process loses a claim, and has it again before the worker
// that it waits for answers. What others sent meanwhile is watched.
func TestTakenOverAgain(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{})
		worker.Fail(devworker.Fault{UID: "a", Kind: devworker.Hang, Wait: 5 * time.Minute})
		w.Start()
		w.Post("q", "a")
		got := w.AwaitTxn("a", "planned", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) == 1 })
		process, _, _ := strings.Cut(got.Claim, ":")
		sent := got.Clone() // as another process would have it
		sent.Phase = tx.PhaseWatching
		sent.Last().State, sent.Last().SentSlot = tx.Sent, sent.Last().Slot
		c := &queues.Change{Before: got, After: sent, Now: time.Now()}
		c.Person, c.Remove = true, queues.Never
		_, err := w.Store.Advance(t.Context(), c)
		w.OK(err)
		client := w.Redis.NewClient()
		defer client.Close()
		record, err := client.Get(t.Context(), "{test}:x:a").Result()
		w.OK(err)
		words := strings.SplitN(record, " ", 4) // the third is the claim, see lib.lua
		words[2] = process + ":999"
		w.OK(client.Set(t.Context(), "{test}:x:a", strings.Join(words, " "), 0).Err())
		w.OK(client.ZAdd(t.Context(), "{test}:own:"+process, redis.Z{Score: 1, Member: "a"}).Err())
		w.Await("a", tx.Done, 24*time.Hour)
	})
}

// TestSuccessors takes the block of a DONE transaction away by a reorg deeper
// than CONFIRMATIONS, and its nonce too, so that it can never land again, in each
// phase that the next one of its queue can be in. Both take effect once. The
// next one comes after it, unless something of it had left by then.
func TestSuccessors(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	at := func(p tx.Phase) func(*tx.Transaction) bool {
		return func(t *tx.Transaction) bool { return t.Phase == p }
	}
	for name, tt := range map[string]struct {
		trouble *devworker.Fault // of the next one's worker
		when    func(next *tx.Transaction) bool
		drops   bool // what it sent is in no rival block either
		order   []string
	}{
		"waiting": {nil, at(tx.PhaseWaiting), false, []string{"first", "next"}},
		"with its worker": {&devworker.Fault{Kind: devworker.Hang, Wait: 2 * time.Hour}, at(tx.PhaseDispatching),
			false, []string{"first", "next"}},
		"before its retry": {&devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"},
			at(tx.PhaseDelayed), false, []string{"first", "next"}},
		"in a pool":         {nil, at(tx.PhaseWatching), true, []string{"next", "first"}},
		"DONE on top of it": {nil, at(tx.PhaseDone), false, []string{"next", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := harness.PatientPolicy()
				policy.DispatchTimeout, policy.RetryDelay, policy.RetryDelayMax = 3*time.Hour, 2*time.Hour, 2*time.Hour
				policy.ValidSlots, policy.BumpAfter = 200, 100
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
				one, _ := w.Worker(1, devworker.Options{})
				p := w.Start()
				w.Post("q", "first")
				landed := w.Await("first", tx.Done, time.Hour).Attempts[0]
				two, worker := w.Worker(2, devworker.Options{})
				w.OK(w.Pool.Drain(w.Ctx, one))
				if tt.trouble != nil {
					worker.Fail(*tt.trouble)
				}
				if name == "waiting" {
					w.OK(w.Store.Pause(w.Ctx, "q", "for the reorg"))
				}
				w.Post("q", "next")
				next := w.AwaitTxn("next", name, time.Hour, tt.when)
				skip := []string{landed.KnownHash()}
				if tt.drops {
					skip = append(skip, next.Hash())
				}
				w.OK(w.Net.Reorg(devnet.Reorg{Depth: int(w.Net.Node(0).State().Height-landed.Height) + 1, Exclude: skip}))
				w.Net.Drop(landed.KnownHash())
				w.Stranger(one, landed.Nonce, 5_000_000_000)
				w.AwaitTxn("first", "back in its queue", 12*time.Hour,
					func(t *tx.Transaction) bool { return t.State() != tx.Done })
				if name == "waiting" {
					w.OK(w.Store.Resume(w.Ctx, "q"))
				}
				w.OK(w.Pool.Resume(w.Ctx, one))
				for _, uid := range []string{"first", "next"} {
					w.Await(uid, tx.Done, 24*time.Hour)
				}
				if got := w.Effects("first", "next"); !slices.Equal(got, tt.order) {
					t.Errorf("took effect as %v, want %v", got, tt.order)
				}
				if got := w.Get("next"); tt.order[0] == "first" &&
					(got.Retries > 1 || slices.ContainsFunc(got.Attempts[:len(got.Attempts)-1],
						func(a tx.Attempt) bool { return !a.State.Unmade() })) {
					t.Errorf("next: %d retries, %+v", got.Retries, got.Attempts)
				}
				for _, account := range []string{one, two} {
					if s, err := w.Pool.Get(w.Ctx, account); err != nil || s.Queue != "" ||
						s.Reason != "" && s.Reason != tx.StoppedNonce {
						t.Errorf("sender %+v, %v", s, err)
					}
				}
				p.Stop()
			})
		})
	}
}
