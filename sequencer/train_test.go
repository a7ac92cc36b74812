package sequencer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// TestTrainSeen: of a train under way an audit finds nothing wrong, and every member of it
// tells what is ahead.
func TestTrainSeen(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	harness.Trains(t, 3, devnet.Config{}, func(w *harness.World) {
		w.Worker(1, devworker.Options{ProveTime: 20 * time.Second})
		w.Policy.Confirmations = 6 // so that several stand in blocks that are not deep enough
		p := w.Start()
		uids := w.PostAll("q", 9)
		told := map[explain.WaitCode]bool{}
		most, trains := 0, 0
		for w.Get(uids[8]).State() != tx.Done {
			if got := audited(w, false); len(got) > 0 {
				t.Fatalf("a live train: %q", got)
			}
			run := w.InFlight("q")
			most = max(most, len(run))
			if x := p.Standing(); x.Bound < x.Longest || x.Trains > 1 || x.Trains == 1 && x.Longest < 2 {
				t.Errorf("%d in flight, and the process stands so: %+v", len(run), x)
			}
			trains = max(trains, p.Standing().Trains)
			for i, uid := range uids {
				e, err := p.Explain(w.Ctx, uid, false)
				w.OK(err)
				if at := slices.Index(run, uid); at > 0 || at < 0 && i > 0 && slices.Index(run, uids[i-1]) == 2 {
					told[e.Wait.Code] = true
				}
			}
			<-time.After(31 * time.Second)
		}
		if trains != 1 {
			t.Errorf("%d queues with several in flight", trains)
		}
		for _, code := range []explain.WaitCode{explain.WaitBehind, explain.WaitWorker, explain.WaitBlock} {
			if !told[code] {
				t.Errorf("of up to %d in flight, nothing waits for %s, but for %v", most, code, told)
			}
		}
	})
}

// TestTrainHeld: where nothing may join, what is behind others and not out goes back with no try
// counted, and what is out finishes. Then all go on.
func TestTrainHeld(t *testing.T) {
	const account = 1
	for how, hold := range map[string]func(w *harness.World, p *harness.Process, sender string) (resume func()){
		"paused": func(w *harness.World, _ *harness.Process, _ string) func() {
			w.OK(w.Store.Pause(w.Ctx, "q", "to see"))
			return func() { w.OK(w.Store.Resume(w.Ctx, "q")) }
		},
		"drained": func(w *harness.World, _ *harness.Process, sender string) func() {
			w.OK(w.Pool.Drain(w.Ctx, sender))
			return func() { w.OK(w.Pool.Resume(w.Ctx, sender)) }
		},
		"told to end": func(w *harness.World, p *harness.Process, _ string) func() {
			p.Stop()
			return func() { w.Start() }
		},
	} {
		for _, mode := range []dispatcher.Mode{dispatcher.Chained, dispatcher.Commuting} {
			t.Run(how+", "+mode.String(), func(t *testing.T) {
				harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
					w.Overlap["MINT"] = mode
					sender, _ := w.Worker(account, devworker.Options{ProveTime: 50 * time.Second})
					p := w.Start()
					uids := w.PostAll("q", 7)
					made := func() string { // behind what is out
						run := w.InFlight("q")
						last := w.Get(run[max(0, len(run)-1)])
						if len(run) < 3 || last.Open() || last.Phase != tx.PhaseDispatching {
							return ""
						}
						return last.UID
					}
					for len(w.InFlight("q")) == 0 || made() == "" {
						<-time.After(time.Second)
					}
					back, out := made(), w.InFlight("q")
					out = out[:len(out)-1]
					resume := hold(w, p, sender)
					<-time.After(2 * time.Second)
					x := w.Get(back)
					if x.State() != tx.Waiting || x.Retries+x.Deferred > 0 || x.Error != nil {
						t.Errorf("%s, which its worker had, is %s, %d tries, deferred %d, %v", back, x.State(), x.Retries,
							x.Deferred, x.Error)
					}
					if how != "told to end" {
						for range 3600 {
							for _, uid := range w.InFlight("q") {
								if !slices.Contains(out, uid) {
									t.Fatalf("%s joins what is held", uid)
								}
							}
							<-time.After(time.Second)
						}
						for _, uid := range out {
							w.Await(uid, tx.Done, time.Hour)
						}
					}
					resume()
					var nonces []uint32
					for _, uid := range uids {
						x := w.Await(uid, tx.Done, 6*time.Hour)
						nonces = append(nonces, x.Attempt(x.Landed).Nonce)
					}
					if !slices.IsSorted(nonces) || len(w.Net.Effects()) != len(uids) {
						t.Errorf("landed with %v", nonces)
					}
				})
			})
		}
	}
}

// TestTrainHeldAsOneLeaves: what runs hears of a pause also where the one that was told leaves.
func TestTrainHeldAsOneLeaves(t *testing.T) {
	harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
		w.Overlap["MINT"] = dispatcher.Commuting
		_, worker := w.Worker(1, devworker.Options{ProveTime: 50 * time.Second, Several: true, Capacity: 3})
		worker.Script(func(c devworker.Call) *devworker.Fault {
			if c.UID != "q-02" || c.Attempt != 1 {
				return nil
			}
			w.OK(w.Store.Pause(w.Ctx, "q", "to see"))
			return &devworker.Fault{Kind: devworker.Error, Code: "E"}
		})
		w.Start()
		uids := w.PostAll("q", 3)
		w.Await(uids[0], tx.Done, time.Hour)
		for _, uid := range uids[1:] {
			if x := w.Get(uid); x.State() != tx.Waiting || x.SubmittedAt != (time.Time{}) {
				t.Errorf("%s is %s, and was sent at %v", uid, x.State(), x.SubmittedAt)
			}
		}
		if proofs := worker.Calls()[devworker.Prove]; proofs != 3 {
			t.Errorf("%d proofs were asked for", proofs)
		}
		w.OK(w.Store.Resume(w.Ctx, "q"))
		for _, uid := range uids {
			w.Await(uid, tx.Done, 6*time.Hour)
		}
		if calls := worker.Calls(); calls[devworker.Prove] != 4 {
			t.Errorf("all took the calls %v", calls)
		}
	})
}

// TestTrainWidened: what a person says of a queue's width holds for the train that is under
// way, also where no other may have one.
func TestTrainWidened(t *testing.T) {
	harness.Trains(t, 1, devnet.Config{}, func(w *harness.World) {
		w.Worker(1, devworker.Options{ProveTime: 20 * time.Second})
		w.Start()
		uids := w.PostAll("q", 12)
		most := func() (n int) {
			for range 360 {
				<-time.After(time.Second)
				n = max(n, len(w.InFlight("q")))
			}
			return n
		}
		alone := most()
		w.OK(w.Store.SetWidth(w.Ctx, "q", 2))
		some := most()
		w.OK(w.Store.SetWidth(w.Ctx, "q", 4))
		if many := most(); alone != 1 || some < 2 || many <= some {
			t.Errorf("in flight at most %d, %d and %d", alone, some, many)
		}
		for _, uid := range uids {
			w.Await(uid, tx.Done, 3*time.Hour)
		}
	})
}

// TestTrain: with width, the transactions of a queue share blocks, in their order; with
// none each has its own.
func TestTrain(t *testing.T) {
	for _, width := range []int{1, 4} {
		t.Run(fmt.Sprint("width=", width), func(t *testing.T) {
			harness.Trains(t, width, devnet.Config{}, func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: 20 * time.Second})
				beside := 0
				w.Meter.Included = func(x sequencer.Inclusion) { // of one process, one at a time
					if x.Beside {
						beside++
					}
				}
				w.Start()
				uids := w.PostAll("q", 8)
				var heights []uint32
				for _, uid := range uids {
					landed := w.Await(uid, tx.Done, 3*time.Hour)
					heights = append(heights, landed.Attempt(landed.Landed).Height)
				}
				blocks := heights[7] - heights[0] + 1
				if most := uint32(3); width > 1 && blocks > most || width == 1 && blocks < 8 {
					t.Errorf("they landed in blocks %v", heights)
				}
				if got := w.Effects(uids...); fmt.Sprint(got) != fmt.Sprint(uids) {
					t.Errorf("took effect in the order %v", got)
				}
				if want := len(uids) - len(slices.Compact(heights)); beside != want {
					t.Errorf("%d landed beside another, want %d", beside, want)
				}
			})
		})
	}
}

// TestTrainBarrier: what turns out to require nothing of the one before it, although its type says
// so, is not sent along with it: it goes back, no try counted, and is made as the first.
func TestTrainBarrier(t *testing.T) {
	harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
		w.Overlap = nil
		w.Worker(1, devworker.Options{ProveTime: 20 * time.Second}) // which reads no state
		w.Overlap = map[string]dispatcher.Mode{"MINT": dispatcher.Chained}
		w.Start()
		uids := w.PostAll("q", 4)
		var heights []uint32
		told := 0
		for _, uid := range uids {
			x := w.Await(uid, tx.Done, 3*time.Hour)
			heights = append(heights, x.Attempt(x.Landed).Height)
			for i, a := range x.Attempts {
				if a.Error != nil && a.Error.Code == tx.CodeAlone {
					told++
				}
				if i < len(x.Attempts)-1 && !a.State.Unmade() || x.Retries > 0 {
					t.Errorf("%s: %d retries of %+v", uid, x.Retries, x.Attempts)
				}
			}
		}
		if !slices.IsSorted(heights) || len(slices.Compact(heights)) != len(uids) || told == 0 {
			t.Errorf("landed in blocks %v, and %d were told why", heights, told)
		}
	})
}

// TestTrainApart: a type whose transactions are made behind others in vain three times goes alone in
// that queue, and explain says so; in another queue it is tried.
func TestTrainApart(t *testing.T) {
	harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
		w.Overlap = nil
		w.Worker(1, devworker.Options{ProveTime: 20 * time.Second}) // which reads no state
		w.Overlap = map[string]dispatcher.Mode{"MINT": dispatcher.Chained}
		p := w.Start()
		vain := func(uids []string) (n int) {
			for _, uid := range uids {
				for _, a := range w.Get(uid).Attempts {
					if a.Error != nil && a.Error.Code == tx.CodeAlone {
						n++
					}
				}
			}
			return n
		}
		uids := w.PostAll("q", 8)
		w.Await(uids[5], tx.Done, 6*time.Hour)
		w.AwaitTxn(uids[6], "in flight", time.Hour, func(t *tx.Transaction) bool { return t.Open() })
		said, err := p.Explain(w.Ctx, uids[7], false)
		w.OK(err)
		if want := "MINT goes alone in this queue"; !strings.Contains(said.Summary, want) {
			t.Errorf("%q, want %q in it", said.Summary, want)
		}
		w.Await(uids[7], tx.Done, time.Hour)
		if n := vain(uids); n != 3 {
			t.Errorf("%d made in vain, want 3", n)
		}
		others := w.PostAll("other", 2)
		w.Await(others[1], tx.Done, 6*time.Hour)
		if n := vain(others); n != 1 {
			t.Errorf("%d made in vain in another queue, want 1", n)
		}
	})
}

// TestTrainAbsent: of what is made behind others a node is asked, in one question, which accounts it has. What
// touches one that is nowhere and pays for none does not go along. Without a width nothing is asked.
func TestTrainAbsent(t *testing.T) {
	for _, width := range []int{1, 4} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("width=%d there=%v", width, there), func(t *testing.T) {
				harness.Trains(t, width, devnet.Config{}, func(w *harness.World) {
					var asked atomic.Int32
					node := w.Net.Node(0)
					w.Web.Serve(w, "node0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						body, err := io.ReadAll(r.Body)
						if err != nil {
							t.Error(err)
						}
						if bytes.Contains(body, []byte("token: ")) {
							if asked.Add(1); !there {
								_, _ = io.WriteString(rw, `{"data":{"syncStatus":"SYNCED","k0":null}}`)
								return
							}
						}
						r.Body = io.NopCloser(bytes.NewReader(body))
						node.ServeHTTP(rw, r)
					}))
					w.Overlap["MINT"] = dispatcher.Commuting
					w.Worker(1, devworker.Options{ProveTime: 20 * time.Second, ZkApp: devworker.ZkApp})
					w.Start()
					uids := w.PostAll("q", 6)
					behind := int32(0)
					for _, uid := range uids {
						x := w.Await(uid, tx.Done, 3*time.Hour)
						for _, a := range x.Attempts {
							if a.Error != nil && a.Error.Code == tx.CodeAlone {
								behind++
							}
						}
						if x.Retries > 0 || behind > 0 && there {
							t.Errorf("%s: %d retries of %+v", uid, x.Retries, x.Attempts)
						}
					}
					switch n := asked.Load(); {
					case width == 1 && n != 0, width > 1 && there && (n == 0 || n >= int32(len(uids))):
						t.Errorf("a node was asked %d times", n)
					case width > 1 && !there && (behind == 0 || n != behind):
						t.Errorf("a node was asked %d times, and %d did not go along", n, behind)
					}
				})
			})
		}
	}
}

// TestTrainModes: what goes together in one way waits for all that goes in another, and those of
// one way are in flight together.
func TestTrainModes(t *testing.T) {
	harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
		w.Overlap["ONCE"] = dispatcher.Commuting
		w.Worker(1, devworker.Options{ProveTime: 20 * time.Second})
		w.Start()
		var uids []string
		for i, typ := range []string{"MINT", "MINT", "ONCE", "ONCE", "MINT", "ONCE"} {
			uids = append(uids, fmt.Sprintf("%s-%d", typ, i))
			w.PostType(typ, "q", uids[i])
		}
		most := 0
		for range 3600 {
			run := w.InFlight("q")
			most = max(most, len(run))
			for _, uid := range run {
				if uid[:4] != run[0][:4] {
					w.Fatalf("in flight together: %v", run)
				}
			}
			<-time.After(time.Second)
		}
		for _, uid := range uids {
			w.Await(uid, tx.Done, 3*time.Hour)
		}
		if most < 2 {
			t.Errorf("at most %d in flight", most)
		}
	})
}

// failingOnce is a chain with a full block a minute, in which the first command of the kth of a
// queue fails.
func failingOnce(queue string, k int, reason string) devnet.Config {
	hash, memo := "", lifecycle.Memo("test", fmt.Sprintf("%s-%02d", queue, k))
	return devnet.Config{SlotTime: time.Minute, FillRate: 1, FailWhen: func(c devnet.Command) []string {
		if c.Memo != memo || hash != "" && hash != c.Hash {
			return nil
		}
		hash = c.Hash
		return []string{reason}
	}}
}

// TestTrainCommutes: where one of four fails that require nothing of each other, its fee is the
// only one lost, those behind it are as they would have been, and nobody says otherwise.
func TestTrainCommutes(t *testing.T) {
	for k := range 4 {
		t.Run(fmt.Sprint("member=", k), func(t *testing.T) {
			harness.Trains(t, 4, failingOnce("q", k, "Overflow"), func(w *harness.World) {
				w.Overlap["MINT"] = dispatcher.Commuting
				w.Worker(1, devworker.Options{ProveTime: 2 * time.Second})
				w.Start()
				uids := w.PostAll("q", 7)
				for i, uid := range uids {
					x := w.Await(uid, tx.Done, 6*time.Hour)
					retries := 0
					if i == k {
						retries = 1
					}
					if x.Retries != retries || len(x.Attempts) != 1+retries {
						t.Errorf("%s: %d retries of %+v", uid, x.Retries, x.Attempts)
					}
				}
				if got := w.Effects(uids...); len(got) != len(uids) || k < 3 && slices.Equal(got, uids) {
					t.Errorf("took effect in the order %v", got)
				}
				es, err := w.Store.Events(w.Ctx, 0, 10_000)
				w.OK(err)
				if slices.ContainsFunc(es, func(e queues.Event) bool { return e.Code == tx.CodeOutOfOrder }) {
					t.Error("told to be out of order")
				}
				if found := audited(w, false); len(found) > 0 {
					t.Errorf("an audit says %q", found)
				}
			})
		})
	}
}

// TestTrainBroken: where one of four in flight fails in its block, those behind it, which are
// made on what it was to leave, fail too, and each pays its fee once. Then all take effect,
// once and in their order.
func TestTrainBroken(t *testing.T) {
	for k := range 4 {
		t.Run(fmt.Sprint("member=", k), func(t *testing.T) {
			harness.Trains(t, 4, failingOnce("q", k, "Account_app_state_1_precondition_unsatisfied"), func(w *harness.World) {
				w.Worker(1, devworker.Options{ProveTime: 2 * time.Second})
				w.Start()
				uids := w.PostAll("q", 7)
				fees := 0
				for _, uid := range uids {
					x := w.Await(uid, tx.Done, 6*time.Hour)
					for i := range x.Attempts {
						if x.Attempts[i].Failed() {
							fees++
						}
					}
				}
				if want := 4 - k; fees != want {
					t.Errorf("%d fees are lost, want %d", fees, want)
				}
				if got := w.Effects(uids...); !slices.Equal(got, uids) {
					t.Errorf("took effect in the order %v", got)
				}
			})
		})
	}
}

// TestTrainTriedEarly: of a type that is tried again one block deep, a train that broke is made
// anew in its places, long before the failures have settled: in order, once, and at one more
// fee for each that failed.
func TestTrainTriedEarly(t *testing.T) {
	for k := range 4 {
		t.Run(fmt.Sprint("member=", k), func(t *testing.T) {
			harness.Trains(t, 4, failingOnce("q", k, "Account_app_state_1_precondition_unsatisfied"), func(w *harness.World) {
				w.Again = 1
				w.Worker(1, devworker.Options{ProveTime: 2 * time.Second})
				w.Start()
				uids := w.PostAll("q", 7)
				fees, failed := 0, uint32(0)
				for _, uid := range uids {
					x := w.Await(uid, tx.Done, 6*time.Hour)
					for i := range x.Attempts {
						if a := &x.Attempts[i]; a.Failed() {
							fees++
							failed = max(failed, a.Height)
							if a.Confirmations >= w.Policy.SettleDepth {
								t.Errorf("%s was tried again %d blocks deep", uid, a.Confirmations)
							}
						}
					}
					if retries := len(x.Attempts) - 1; retries > 1 || x.Retries > 1 || x.Retries == 1 && uid != uids[k] {
						t.Errorf("%s: %d retries of %+v", uid, x.Retries, x.Attempts)
					}
				}
				if want := 4 - k; fees != want {
					t.Errorf("%d fees are lost, want %d", fees, want)
				}
				if first := w.Get(uids[k]); first.Attempt(first.Landed).Height > failed+uint32(w.Policy.SettleDepth) {
					t.Errorf("failed in block %d, landed in %d", failed, first.Attempt(first.Landed).Height)
				}
				if got := w.Effects(uids...); !slices.Equal(got, uids) {
					t.Errorf("took effect in the order %v", got)
				}
				if found := audited(w, false); len(found) > 0 {
					t.Errorf("an audit says %q", found)
				}
			})
		})
	}
}

// TestTrainAskedAnew: what no worker had time for is asked again under its number, made on what is
// ahead of it then.
func TestTrainAskedAnew(t *testing.T) {
	harness.Trains(t, 4, failingOnce("q", 0, "Account_app_state_1_precondition_unsatisfied"), func(w *harness.World) {
		w.Again, w.Policy.RetryDelay = 1, 10*time.Minute
		w.Policy.Confirmations, w.Policy.SettleDepth, w.Policy.Finality = 3, 40, 41
		_, worker := w.Worker(1, devworker.Options{ProveTime: 2 * time.Second})
		var ahead []int
		worker.Script(func(c devworker.Call) *devworker.Fault {
			if c.Kind != devworker.Prove || c.UID != "q-03" || c.Attempt != 2 {
				return nil
			}
			if ahead = append(ahead, c.Ahead); len(ahead) > 1 {
				return nil
			}
			return &devworker.Fault{Kind: devworker.Busy}
		})
		w.Start()
		for _, uid := range w.PostAll("q", 4) {
			w.Await(uid, tx.Done, 6*time.Hour)
		}
		if len(ahead) != 2 || ahead[0] == 0 || ahead[1] != 0 {
			t.Errorf("asked with %v ahead", ahead)
		}
	})
}

// TestTrainAtOnce: of those that require nothing of each other a worker proves as many at a time
// as it says. They share blocks, at nonces in the order of the queue, with one proof each.
func TestTrainAtOnce(t *testing.T) {
	for _, provers := range []int{1, 3} {
		t.Run(fmt.Sprint("provers=", provers), func(t *testing.T) {
			harness.Trains(t, 6, devnet.Config{}, func(w *harness.World) {
				w.Overlap["MINT"] = dispatcher.Commuting
				_, worker := w.Worker(1, devworker.Options{ProveTime: 4 * time.Minute, Several: true, Capacity: provers})
				began := time.Now()
				w.Start()
				uids := w.PostAll("q", 6)
				var nonces []uint32
				for _, uid := range uids {
					x := w.Await(uid, tx.Done, 6*time.Hour)
					nonces = append(nonces, x.Attempt(x.Landed).Nonce)
					for _, a := range x.Attempts[:len(x.Attempts)-1] {
						if a.Error == nil || a.Error.Code != tx.CodeProvedAhead || a.Hash != "" || len(x.Attempts) > 2 {
							t.Errorf("%s: %+v", uid, x.Attempts)
						}
					}
				}
				took := time.Since(began)
				if want := time.Duration(6/provers) * 4 * time.Minute; took < want || took > want+15*time.Minute {
					t.Errorf("six proofs of four minutes took %v", took)
				}
				if !slices.IsSorted(nonces) || len(w.Net.Effects()) != 6 {
					t.Errorf("nonces %v, %d effects", nonces, len(w.Net.Effects()))
				}
				if calls := worker.Calls(); calls[devworker.Prove] != 6 {
					t.Errorf("six proofs took the calls %v", calls)
				}
			})
		})
	}
}

// TestTrainAheadOfFailed: one failed in a block, and what was behind it has landed and is gone: the
// next is made on what leads up to its nonce, with the proof that it has.
func TestTrainAheadOfFailed(t *testing.T) {
	harness.Trains(t, 6, failingOnce("q", 0, "Account_app_state_1_precondition_unsatisfied"), func(w *harness.World) {
		w.Overlap["MINT"] = dispatcher.Commuting
		w.Policy.Confirmations, w.Policy.SettleDepth, w.Policy.Finality = 1, 20, 21
		_, worker := w.Worker(1, devworker.Options{ProveTime: 4 * time.Minute, Several: true, Capacity: 6})
		var calls []string // one at a time: the last is with its worker only once
		worker.Script(func(c devworker.Call) *devworker.Fault {
			if c.UID == "last" && c.Kind != devworker.OnSuccess {
				calls = append(calls, fmt.Sprint(c.Kind, " on ", c.Ahead))
			}
			return nil
		})
		w.Start()
		uids := w.PostAll("q", 2)
		for _, more := range []struct {
			after time.Duration
			uid   string
		}{{58 * time.Second, "out"}, {24 * time.Second, "last"}} { // when those two are in a block
			<-time.After(more.after)
			w.Post("q", more.uid)
			uids = append(uids, more.uid)
		}
		for _, uid := range uids {
			w.Await(uid, tx.Done, 6*time.Hour)
		}
		// What landed behind the one that failed is gone, or about to.
		signed := len(calls) > 1 && (calls[1] == "resign on 1" || calls[1] == "resign on 2")
		if !signed || calls[0] != "prove on 0" || slices.Contains(calls[2:], "prove on 0") {
			t.Errorf("the last was asked for by %q", calls)
		}
	})
}

// TestTrainAtOnceLater: what is posted while another is proved, and nothing is watched, is proved
// beside it.
func TestTrainAtOnceLater(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{}, func(w *harness.World) {
		w.Overlap["MINT"] = dispatcher.Commuting
		w.Worker(1, devworker.Options{ProveTime: 9 * time.Minute, Several: true, Capacity: 3})
		w.Start()
		for i := range 3 {
			w.Post("q", fmt.Sprint("late-", i))
			<-time.After(2 * time.Minute)
			if run := w.InFlight("q"); len(run) != i+1 {
				t.Errorf("of %d posted so far %v are in flight", i+1, run)
			}
		}
		w.Await("late-2", tx.Done, 12*time.Hour)
	})
}

// TestTrainAtOnceUnheard: what is posted while a process cannot tell that it lives is proved beside
// others as soon as it can.
func TestTrainAtOnceUnheard(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{}, func(w *harness.World) {
		w.Overlap["MINT"] = dispatcher.Commuting
		w.Worker(1, devworker.Options{ProveTime: 9 * time.Minute, Several: true, Capacity: 2})
		client := w.Redis.NewClient()
		mute := &muted{ttl: fmt.Sprint(w.Policy.ClaimTTL.Milliseconds())}
		client.AddHook(mute)
		w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}})
		w.Post("q", "early")
		<-time.After(time.Minute)
		mute.on.Store(true)
		<-time.After(w.Policy.ClaimTTL)
		w.Post("q", "late")
		<-time.After(30 * time.Second)
		if run := w.InFlight("q"); len(run) != 1 {
			t.Errorf("bound by a process that may be taken for dead: %v", run)
		}
		mute.on.Store(false)
		<-time.After(90 * time.Second)
		if run := w.InFlight("q"); len(run) != 2 || mute.kept.Load() == 0 {
			t.Errorf("after %d heartbeats that were kept back %v are in flight", mute.kept.Load(), run)
		}
		w.Await("late", tx.Done, 12*time.Hour)
	})
}

// A muted client says, while it is on, of no process that it lives.
type muted struct {
	ttl  string // that of a heartbeat, in milliseconds
	on   atomic.Bool
	kept atomic.Int64
}

func (m *muted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *muted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (m *muted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if m.on.Load() && slices.ContainsFunc(cmd.Args(), func(a any) bool { return fmt.Sprint(a) == m.ttl }) {
			m.kept.Add(1)
			return io.ErrUnexpectedEOF
		}
		return next(ctx, cmd)
	}
}

// TestTrainNarrowedWhileUnderWay: a process that has one of a queue at a time drives a train that it
// takes over to its end, in its order.
func TestTrainNarrowedWhileUnderWay(t *testing.T) {
	for _, mode := range []dispatcher.Mode{dispatcher.Chained, dispatcher.Commuting} {
		t.Run(mode.String(), func(t *testing.T) {
			harness.Trains(t, 4, devnet.Config{}, func(w *harness.World) {
				w.Overlap["MINT"] = mode
				w.Worker(1, devworker.Options{ProveTime: 20 * time.Second, Several: true, Capacity: 3})
				p := w.Start()
				uids := w.PostAll("q", 6)
				for run := []string(nil); len(run) < 3; {
					<-time.After(time.Second)
					run = w.InFlight("q")
				}
				p.Kill()
				w.Policy.Width = 1
				w.Start()
				var nonces []uint32
				for _, uid := range uids {
					x := w.Await(uid, tx.Done, 6*time.Hour)
					nonces = append(nonces, x.Attempt(x.Landed).Nonce)
				}
				if !slices.IsSorted(nonces) || len(slices.Compact(nonces)) != len(uids) || len(w.Net.Effects()) != len(uids) {
					t.Errorf("landed with %v", nonces)
				}
			})
		})
	}
}

// TestTrainAskedAgain: what is being proved while those ahead of it land is the same question of
// its worker when the process dies or ends then, so nothing is proved twice and no retry counted.
func TestTrainAskedAgain(t *testing.T) {
	killed, told := func(p *harness.Process) { p.Kill() }, func(p *harness.Process) { p.Stop() }
	for name, c := range map[string]struct {
		inFlight int
		ends     func(*harness.Process)
	}{"killed": {2, killed}, "killed, others ahead of it": {3, killed}, "told to end": {2, told}} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, c.inFlight, devnet.Config{}, func(w *harness.World) {
				w.Policy.MaxRetries = 0
				_, worker := w.Worker(1, devworker.Options{ProveTime: 8 * time.Minute})
				w.Cleanup(func() { <-time.After(20 * time.Minute) }) // what is being proved goes on
				p := w.Start()
				uids := w.PostAll("q", c.inFlight)
				last := uids[c.inFlight-1]
				w.AwaitTxn(last, "being made upon another", 2*time.Hour, func(x *tx.Transaction) bool {
					return len(x.Attempts) == 1 && x.Attempts[0].Base != ""
				})
				w.Await(uids[0], tx.Done, time.Hour)
				if x := w.Get(last); x.Phase != tx.PhaseDispatching {
					t.Fatalf("it is %s already", x.Phase)
				}
				c.ends(p)
				w.Start()
				x := w.Await(last, tx.Done, 3*time.Hour)
				if x.Retries > 0 || len(x.Attempts) > 1 {
					t.Errorf("%d retries, %d attempts, %d calls for a proof: %v", x.Retries, len(x.Attempts),
						worker.Calls()[devworker.Prove], x.Attempts[0].Error)
				}
			})
		})
	}
}
