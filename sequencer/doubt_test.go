package sequencer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// hopeless is what a worker says of what no retry can mend, in no time.
var hopeless = devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such vote"}

// TestBadPosts: one client's posts in queues of their own, which every worker calls hopeless, end
// UNRESOLVED, and take nobody's sender.
func TestBadPosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		accounts := []string{}
		for n := range uint64(3) {
			account, worker := w.Worker(n+1, devworker.Options{ProveTime: time.Minute})
			worker.Script(func(c devworker.Call) *devworker.Fault {
				if c.Kind == devworker.Prove && c.UID[0] == 'b' {
					return &hopeless
				}
				return nil
			})
			accounts = append(accounts, account)
		}
		w.Start()
		for n := range 12 {
			w.Post(fmt.Sprint("bad", n), fmt.Sprint("b", n))
		}
		for n := range 3 {
			w.Post(fmt.Sprint("good", n), fmt.Sprint("g", n))
		}
		for n := range 12 {
			w.Await(fmt.Sprint("b", n), tx.Unresolved, time.Hour)
		}
		for n := range 3 {
			w.Await(fmt.Sprint("g", n), tx.Done, time.Hour)
		}
		for _, account := range accounts {
			s, err := w.Pool.Get(w.Ctx, account)
			w.OK(err)
			if !s.Available() {
				t.Errorf("%s is out of use: %s until %v: %s", account, s.Reason, s.Until, s.Detail)
			}
		}
	})
}

// TestBadWorker: a worker that calls everything hopeless in no time, and so is free most often,
// ends no more than what pauses a queue; the others make the rest. When it is put right it is
// used again, with no word of a person.
func TestBadWorker(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		bad, worker := w.Worker(1, devworker.Options{})
		w.Worker(2, devworker.Options{ProveTime: time.Minute})
		worker.Script(func(c devworker.Call) *devworker.Fault {
			if c.Kind == devworker.Prove {
				return &hopeless
			}
			return nil
		})
		w.Start()
		const many = 20
		for n := range many {
			w.Post(fmt.Sprint("q", n), fmt.Sprint("t", n))
		}
		ended := map[tx.State]int{}
		for n := range many {
			ended[w.AwaitTxn(fmt.Sprint("t", n), "ended", 24*time.Hour, func(t *tx.Transaction) bool {
				return t.State() == tx.Done || t.State() == tx.Unresolved
			}).State()]++
		}
		if ended[tx.Unresolved] != w.Policy.UnresolvedLimit {
			t.Errorf("ended %v", ended)
		}
		s, err := w.Pool.Get(w.Ctx, bad)
		w.OK(err)
		if s.Unresolved <= w.Policy.UnresolvedLimit || s.Reason != "" && s.Until.IsZero() {
			t.Errorf("%s, until %v, after %d: %s", s.Reason, s.Until, s.Unresolved, s.Detail)
		}
		worker.Script(func(devworker.Call) *devworker.Fault { return nil })
		harness.Until(w.Ctx, time.Hour)
		w.Post("both", "u1")
		w.Post("work", "u2")
		u1, u2 := w.Await("u1", tx.Done, time.Hour), w.Await("u2", tx.Done, time.Hour)
		if u1.Sender != bad && u2.Sender != bad {
			t.Errorf("both made by %s", u1.Sender)
		}
	})
}
