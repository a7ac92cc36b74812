package sequencer_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// apartWorld is a world whose senders' workers only sign, and in which provers prove.
type apartWorld struct {
	*harness.World
	signers []*devworker.Signer
	provers []*devworker.Worker
}

// parted runs a test with so many signers and provers, before any process runs.
func parted(t *testing.T, signers, proving int, o devworker.Options, test func(w *apartWorld)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &apartWorld{World: harness.New(t, devnet.Config{FillRate: 1})}
		for i := range signers {
			w.signer(i + 1)
		}
		for i := range proving {
			w.prover(i, o)
		}
		test(w)
	})
}

func (w *apartWorld) signer(n int) *devworker.Signer {
	s := &devworker.Signer{Account: devnet.Key(uint64(n))}
	host := fmt.Sprintf("signer%d", n)
	w.Web.Serve(w, host, s)
	w.OK(w.Pool.Register(w.Ctx, s.Account, "http://"+host))
	w.signers = append(w.signers, s)
	return s
}

func (w *apartWorld) prover(i int, o devworker.Options) *devworker.Worker {
	o.Prover, o.Seed = true, uint64(i)
	if o.Types == nil {
		o.Types = []string{"MINT", "BURN"}
	}
	if o.Capacity == 0 {
		o.Capacity = 1
	}
	if o.State == nil && w.Overlap["MINT"] == dispatcher.Chained {
		o.State = w.State
	}
	p := devworker.New(o)
	host := fmt.Sprintf("prover%d", i)
	w.Web.Serve(w, host, p)
	pool := provers.New(provers.Options{Store: w.Store})
	w.OK(pool.Register(w.Ctx, host, "http://"+host))
	w.provers = append(w.provers, p)
	return p
}

// proofs are how many were asked for of all provers.
func (w *apartWorld) proofs() (n int) {
	for _, p := range w.provers {
		n += p.Calls()[devworker.Prove]
	}
	return n
}

// TestApart: what a prover without a key has proved, a worker that only signs signs, and it takes effect
// once. Callbacks go to a prover, for it has the program. A full worker beside them is asked for all.
func TestApart(t *testing.T) {
	parted(t, 2, 2, devworker.Options{ProveTime: 10 * time.Second}, func(w *apartWorld) {
		_, full := w.Worker(9, devworker.Options{})
		w.Start()
		var uids []string
		for i := range 4 {
			uids = append(uids, w.PostAll(fmt.Sprint("q", i), 2)...)
		}
		w.Once(uids...)
		signed := 0
		for _, s := range w.signers {
			signed += s.Count(devworker.Sign)
		}
		made := full.Calls()
		if made[devworker.Prove] == 0 || signed == 0 || w.proofs() != signed || signed+made[devworker.Prove] != len(uids) {
			w.Errorf("%d proofs of the pool, %d signed, %d by the full worker", w.proofs(), signed, made[devworker.Prove])
		}
		told := len(full.Told())
		for _, p := range w.provers {
			told += len(p.Told())
		}
		if told != len(uids) {
			w.Errorf("%d callbacks of %d were told", told, len(uids))
		}
	})
}

// TestApartRaise: a fee is raised by the signer alone.
func TestApartRaise(t *testing.T) {
	parted(t, 1, 1, devworker.Options{}, func(w *apartWorld) {
		<-time.After(2 * harness.Slot)
		w.Flood(1000, 24*14, 10_000_000_000)
		w.Start()
		w.Post("q", "a")
		a := w.Await("a", tx.Done, 5*time.Hour)
		if len(a.Attempts) < 2 || a.Last().Fee <= a.Attempts[0].Fee || a.Retries != 0 {
			w.Fatalf("attempts %+v", a.Attempts)
		}
		calls := w.provers[0].Calls()
		signed := w.signers[0].Count(devworker.Sign)
		if calls[devworker.Prove] != 1 || calls[devworker.Resign] != 0 || signed != len(a.Attempts) {
			w.Errorf("the prover was asked %v, the signer for %d signatures", calls, signed)
		}
	})
}

// TestPolicy: what a signer's policy does not allow of a command ends that transaction; what its day does
// not allow is the sender's, who rests until that is over, and another one does it.
func TestPolicy(t *testing.T) {
	t.Run("command", func(t *testing.T) {
		parted(t, 1, 1, devworker.Options{}, func(w *apartWorld) {
			w.signers[0].Refuse = func(c devworker.Call, proved string) *devworker.Refusal {
				if c.UID == "a" && proved != "" || c.UID == "b" {
					return &devworker.Refusal{Message: "it pays out 5 MINA, and the most is 0"}
				}
				return nil
			}
			w.Start()
			w.Post("q", "a")
			w.Post("r", "b")
			for _, uid := range []string{"a", "b"} {
				if x := w.Await(uid, tx.Unresolved, time.Hour); x.Error.Code != "POLICY" ||
					!strings.Contains(x.Error.Message, "it pays out 5 MINA") || x.Open() {
					w.Errorf("%s: %+v", uid, x.Error)
				}
			}
			if n := w.proofs(); n != 1 {
				w.Errorf("%d proofs: what is known before is to be asked before", n)
			}
			w.Post("s", "c")
			w.Once("c")
		})
	})
	t.Run("day", func(t *testing.T) {
		parted(t, 2, 1, devworker.Options{}, func(w *apartWorld) {
			until := time.Now().Add(3 * time.Hour)
			spent := func(devworker.Call, string) *devworker.Refusal {
				if time.Now().Before(until) {
					return &devworker.Refusal{Message: "20 MINA of fees were signed today", Until: until}
				}
				return nil
			}
			w.signers[0].Refuse = spent
			w.Start()
			for i := range 3 {
				w.Post(fmt.Sprint("q", i), fmt.Sprint("t", i))
			}
			w.Once("t0", "t1", "t2")
			s, err := w.Pool.Get(w.Ctx, w.signers[0].Account)
			w.OK(err)
			if s.Reason != tx.Rested || s.Until.Sub(until).Abs() > time.Minute || !strings.Contains(s.Detail, "20 MINA") {
				w.Errorf("the sender that has spent its day: %+v, want it to rest until %v", s, until)
			}
			w.signers[1].Refuse = spent
			began := time.Now()
			w.Post("q0", "u")
			u := w.Await("u", tx.Done, 4*time.Hour)
			if u.DoneAt.Before(until) || u.Retries != 0 || time.Since(began) > 4*time.Hour {
				w.Errorf("done at %v with %d retries; the day is over at %v", u.DoneAt, u.Retries, until)
			}
		})
	})
}

// TestSignerBelieved: what a signer answers is what was proved, or nothing leaves.
func TestSignerBelieved(t *testing.T) {
	parted(t, 1, 1, devworker.Options{}, func(w *apartWorld) {
		w.signers[0].Spoil = func(signed string) string {
			return strings.Replace(signed, `"callDepth":0`, `"callDepth":1`, 1)
		}
		w.Policy.MaxRetries = 1
		w.Start()
		w.Post("q", "a")
		a := w.Await("a", tx.Failed, 3*time.Hour)
		if a.Error.Code != "WORKER_MISMATCH" || !strings.Contains(a.Error.Message, "accountUpdates[0] differs") {
			w.Errorf("error %+v", a.Error)
		}
		if got := w.Effects("a"); len(got) != 0 {
			w.Errorf("it took effect")
		}
	})
}

// TestProverBelieved: what a prover answers fits what was asked for, or it is not signed; the prover rests.
func TestProverBelieved(t *testing.T) {
	parted(t, 1, 1, devworker.Options{}, func(w *apartWorld) {
		p := w.Start()
		w.provers[0].Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Wrong, Field: devworker.WrongFee})
		w.Post("q", "a")
		a := w.AwaitTxn("a", "refused", time.Hour, func(x *tx.Transaction) bool { return x.Error != nil })
		if a.Error.Code != "WORKER_MISMATCH" || w.signers[0].Count(devworker.Sign) != 0 {
			w.Errorf("error %+v, and the signer was asked %d times", a.Error, w.signers[0].Count(devworker.Sign))
		}
		if one, err := p.Provers.Get("prover0"); err != nil || one.Reason != tx.Rested {
			w.Errorf("the prover is %+v, %v", one, err)
		}
		w.Once("a")
	})
}

// TestProverDies: a prover that dies takes one proof with it, which another one makes; the transaction
// counts the loss, and no retry.
func TestProverDies(t *testing.T) {
	parted(t, 2, 3, devworker.Options{ProveTime: time.Minute}, func(w *apartWorld) {
		w.Start()
		uids := append(w.PostAll("q", 2), w.PostAll("r", 2)...)
		<-time.After(30 * time.Second)
		for i, p := range w.provers {
			if p.Calls()[devworker.Prove] > 0 {
				w.Web.Unplug(fmt.Sprint("prover", i), true)
				p.Die()
				break
			}
		}
		w.Once(uids...)
		if n := w.proofs(); n != len(uids)+1 {
			w.Errorf("%d proofs were begun for %d transactions", n, len(uids))
		}
		for _, uid := range uids {
			if x := w.Get(uid); x.Retries != 0 {
				w.Errorf("%s: %d retries", uid, x.Retries)
			}
		}
	})
}

// TestSignerAway: a proof outlives a signer that is away for a while, and a process that is.
func TestSignerAway(t *testing.T) {
	parted(t, 1, 2, devworker.Options{ProveTime: 20 * time.Second}, func(w *apartWorld) {
		p := w.Start()
		w.Post("q", "a")
		<-time.After(10 * time.Second)
		w.signers[0].Away(true)
		<-time.After(time.Minute)
		w.signers[0].Away(false)
		w.Await("a", tx.Done, time.Hour)
		w.Post("q", "b")
		w.AwaitTxn("b", "being proved", time.Hour, func(x *tx.Transaction) bool { return w.proofs() == 2 })
		p.Kill()
		w.Start()
		w.Once("a", "b")
		made := 0
		for _, p := range w.provers {
			made += p.Made()
		}
		if made != 2 {
			w.Errorf("%d proofs were made of two transactions", made)
		}
	})
}

// TestKilledWhileBuilt: what is proved side by side for a process that is killed, or waits with its proof, is
// found again by the one that takes it over: nothing is proved twice.
func TestKilledWhileBuilt(t *testing.T) {
	harness.Trains(t, 4, devnet.Config{FillRate: 1}, func(world *harness.World) {
		w := &apartWorld{World: world}
		w.signer(1)
		var begun atomic.Int64
		o := builder(1, time.Minute)
		o.Began = func(string) { begun.Add(1) }
		for i := range 3 {
			w.prover(i, o)
		}
		p := w.Start()
		uids := w.PostAll("q", 8)
		for range 3 {
			before := w.proofs()
			w.AwaitTxn(uids[0], "three are at work", time.Hour, func(*tx.Transaction) bool { return w.proofs() >= before+3 })
			<-time.After(10 * time.Second)
			p.Kill()
			p = w.Start()
		}
		inOrder(t, world, uids)
		if n := begun.Load(); int(n) != len(uids) {
			w.Errorf("%d proofs were begun of %d transactions", n, len(uids))
		}
	})
}

// TestHopelessProver: a prover that calls all hopeless is found by another one's word, and rests.
func TestHopelessProver(t *testing.T) {
	parted(t, 1, 2, devworker.Options{}, func(w *apartWorld) {
		fault := hopeless
		fault.On, fault.Times = devworker.Prove, -1
		w.provers[1].Fail(fault) // the one that most of these are given to, by their uids
		w.Start()
		for i := range 40 {
			w.Post(fmt.Sprint("q", i), fmt.Sprint("t", i))
		}
		<-time.After(2 * time.Hour)
		lost := 0
		for i := range 40 {
			if x := w.Get(fmt.Sprint("t", i)); x.State() == tx.Unresolved {
				lost++
			}
		}
		if lost > 3 {
			w.Errorf("%d ended by the word of one prover", lost)
		}
	})
}

// TestKillsProvers: what kills whichever prover proves it counts a loss each time, built anew in between, and
// the third is its own. Those beside it pay nothing, and neither does the sender, whose worker only signs.
func TestKillsProvers(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{FillRate: 1}, func(world *harness.World) {
		w := &apartWorld{World: world}
		w.Policy.MaxRetries = 1
		w.signer(1)
		var begun, rested atomic.Int64
		for i := range 3 {
			p := w.prover(i, builder(1, 10*time.Second))
			p.Script(func(c devworker.Call) *devworker.Fault {
				if c.Kind != devworker.Prove || c.UID != "killer" {
					return nil
				}
				begun.Add(1)
				time.AfterFunc(time.Minute, p.Restart)
				return &devworker.Fault{Kind: devworker.Die}
			})
		}
		w.Observe = func(_, _ *tx.Transaction, _ *lifecycle.Step) {
			if p, err := w.Pool.Get(w.Ctx, w.signers[0].Account); err == nil && p.Reason != "" {
				rested.Add(1)
			}
		}
		w.Start()
		w.Post("q", "killer")
		w.Post("q", "behind")
		w.Post("q", "last")
		if x := w.Await("killer", tx.Failed, 12*time.Hour); x.Error.Code != tx.CodeLost || x.Retries != 1 {
			t.Errorf("it ended with %d retries, %+v", x.Retries, x.Error)
		}
		if n := begun.Load(); n != 6 {
			t.Errorf("it was begun %d times, want three times for each try", n)
		}
		for _, uid := range []string{"behind", "last"} {
			if x := w.Await(uid, tx.Done, 12*time.Hour); x.Retries != 0 {
				t.Errorf("%s used %d retries", uid, x.Retries)
			}
		}
		if n := rested.Load(); n > 0 {
			t.Errorf("its sender was out of use %d times", n)
		}
	})
}

// TestNoProver: without a prover for it a transaction waits, and says for what; its sender does not.
func TestNoProver(t *testing.T) {
	parted(t, 1, 1, devworker.Options{Types: []string{"BURN"}}, func(w *apartWorld) {
		w.Start()
		w.Post("q", "a")
		a := w.AwaitTxn("a", "put off", time.Hour, func(x *tx.Transaction) bool { return x.Error != nil })
		if a.State() != tx.Waiting || a.Retries != 0 ||
			!strings.Contains(a.Error.Message, "none of 1 provers names MINT among the types of its /health") {
			w.Errorf("%s, %+v", a.State(), a.Error)
		}
		if s, err := w.Pool.Get(w.Ctx, w.signers[0].Account); err != nil || s.Reason != "" {
			w.Errorf("its sender is %+v, %v", s, err)
		}
		w.prover(1, devworker.Options{})
		w.Once("a")
	})
}

// TestWaitsForProver: what waits for a prover says so, since when, and for how many; what has one does not.
func TestWaitsForProver(t *testing.T) {
	parted(t, 2, 1, devworker.Options{ProveTime: 3 * time.Minute}, func(w *apartWorld) {
		p := w.Start()
		w.Post("q", "first")
		<-time.After(30 * time.Second)
		began := time.Now()
		w.Post("r", "second")
		<-time.After(time.Minute)
		for uid, waits := range map[string]bool{"first": false, "second": true} {
			e, err := p.Explain(w.Ctx, uid, false)
			w.OK(err)
			said := "since " + began.UTC().Format("2006-01-02T15:04:") // within the minute in which it came
			if is := strings.Contains(e.Summary, "waits for a prover "+said) &&
				strings.Contains(e.Summary, "the only one that makes MINT"); is != waits {
				t.Errorf("%s: %s", uid, e.Summary)
			}
		}
		w.Once("first", "second")
	})
}

// TestProvesAnother: a prover that proves something else than it has built rests, another one builds that
// again, and neither the transaction nor its sender pays for it.
func TestProvesAnother(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{FillRate: 1}, func(world *harness.World) {
		w := &apartWorld{World: world}
		w.signer(1)
		for i := range 3 {
			w.prover(i, builder(1, 10*time.Second))
		}
		for _, p := range w.provers[:2] {
			p.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Wrong, Field: devworker.WrongEffects})
		}
		var rested atomic.Int64
		w.Observe = func(_, _ *tx.Transaction, _ *lifecycle.Step) {
			if p, err := w.Pool.Get(w.Ctx, w.signers[0].Account); err == nil && p.Reason != "" {
				rested.Add(1)
			}
		}
		w.Start()
		uids := w.PostAll("q", 6)
		inOrder(t, world, uids)
		if n := rested.Load(); n > 0 {
			t.Errorf("its sender was out of use %d times", n)
		}
		for _, uid := range uids {
			if x := w.Get(uid); x.Retries > 0 {
				t.Errorf("%s used %d retries", uid, x.Retries)
			}
		}
	})
}
