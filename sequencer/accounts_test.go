package sequencer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// carefulPolicy watches balances.
func carefulPolicy() lifecycle.Policy {
	p := harness.Policy()
	p.BalanceInterval, p.MinBalance = time.Minute, 1_000_000_000
	return p
}

func sender(w *harness.World, account string) *senders.Sender {
	w.Helper()
	s, err := w.Pool.Get(w.Ctx, account)
	w.OK(err)
	return s
}

// awaitSender waits until a sender is out of use for a reason, "" for in use.
func awaitSender(w *harness.World, account string, why tx.SenderReason, limit time.Duration) *senders.Sender {
	w.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(time.Second) {
		if s := sender(w, account); s.Reason == why {
			return s
		}
	}
	w.Fatalf("after %v the sender is %+v, not %q", limit, sender(w, account), why)
	return nil
}

// fund has a rich account pay another one.
func fund(w *harness.World, account string, nanomina int64) {
	w.Helper()
	const rich = 99
	payer := devnet.Key(rich)
	before, _ := w.Net.Account(payer)
	command, err := devnet.Build(
		devnet.Plan{Payer: payer, Nonce: before.Nonce, Fee: 1_000_000_000, Updates: []devnet.Update{
			{Account: payer, BalanceChange: -nanomina}, {Account: account, BalanceChange: nanomina},
		}},
	)
	w.OK(err)
	_, err = w.Node(0).Send(w.Ctx, command)
	w.OK(err)
}

// TestLowBalance: a sender that cannot pay for long is given nothing, whether it
// holds too little or nothing at all, or may spend too little of what it holds, and is back soon
// after it was funded.
func TestLowBalance(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	const million = 1_000_000_000_000_000
	for name, a := range map[string]devnet.Account{
		"too little": {Balance: 999_999_999}, "nothing": {}, "locked": {Balance: million, Locked: million - 50_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.NewWith(t,
					devnet.Config{FillRate: 1, Nodes: 2, Accounts: map[string]devnet.Account{devnet.Key(1): a}},
					carefulPolicy())
				account, worker := w.Worker(1, devworker.Options{})
				w.Start()
				w.Start() // two share the watch
				s := awaitSender(w, account, tx.LowBalance, time.Minute)
				if !s.Until.IsZero() || !strings.Contains(s.Detail, "less than 1: fund it") || s.Balance == nil ||
					*s.Balance != a.Balance-a.Locked ||
					strings.Contains(s.Detail, "999999.95 that its timing still locks") != (a.Locked > 0) {
					t.Errorf("the sender: %+v", s)
				}
				w.Post("q", "a")
				<-time.After(time.Hour)
				if a := w.Get("a"); a.State() != tx.Waiting || len(a.Attempts) > 0 || worker.Calls()[devworker.Prove] > 0 {
					t.Fatalf("it is %s with %d attempts, calls %v", a.State(), len(a.Attempts), worker.Calls())
				}
				fund(w, account, 5_000_000_000)
				a := w.Await("a", tx.Done, 30*time.Minute)
				if a.Retries != 0 || len(a.Attempts) != 1 {
					t.Errorf("%d retries, %d attempts", a.Retries, len(a.Attempts))
				}
				if s := awaitSender(w, account, "", time.Minute); s.Detail != "" {
					t.Errorf("the sender: %+v", s)
				}
			})
		})
	}
}

// TestFundedInTime: who was found short only when its transaction was planned is
// back when it is funded, and not ten minutes later.
func TestFundedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := carefulPolicy()
		policy.MinBalance, policy.Fee, policy.BalanceInterval = 0, 2_000_000_000, 7*time.Minute
		w := harness.NewWith(t,
			devnet.Config{FillRate: 1, Accounts: map[string]devnet.Account{devnet.Key(1): {Balance: 3_000_000_000}}}, policy)
		account, _ := w.Worker(1, devworker.Options{})
		w.Start()
		w.Post("q", "a")
		w.Await("a", tx.Done, 10*time.Minute)
		<-time.After(time.Minute) // until the chain is asked for the balance
		w.Post("q", "b")
		s := awaitSender(w, account, tx.LowBalance, 2*time.Minute)
		if s.Until.IsZero() || !strings.Contains(s.Detail, "has 1 MINA to spend, the fee is 2") {
			t.Errorf("the sender: %+v", s)
		}
		fund(w, account, 5_000_000_000)
		w.Await("b", tx.Done, time.Hour)
	})
}

// spentOn is what a sender has paid on the chain, by days since the first one.
func spentOn(w *harness.World, day int, txns ...string) (nanomina uint64) {
	w.Helper()
	for _, uid := range txns {
		t := w.Get(uid)
		if a := t.Attempt(t.Landed); a != nil && int(t.SubmittedAt.Sub(midnight).Hours()/24) == day {
			nanomina += a.Fee
		}
	}
	return nanomina
}

// midnight is when the clock of a bubble begins, which is that of a day.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestFeeLimits: what a day may cost is kept, by sender and in all, over restarts
// and processes; what has to wait begins when the next day does.
func TestFeeLimits(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for name, tc := range map[string]struct {
		sender, all uint64
		senders     int
		perDay      int
		detail      string
	}{
		"of a sender": {250_000_000, 0, 1, 2,
			"the sender may spend 0.25 MINA on fees in a day (UTC), and has spent 0.2 of it"},
		"of all": {0, 350_000_000, 2, 3,
			"all senders together may spend 0.35 MINA on fees in a day (UTC), and has spent 0.3 of it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := harness.PatientPolicy()
				policy.FeeLimitSender, policy.FeeLimit = tc.sender, tc.all
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
				var accounts, uids []string
				for i := range tc.senders {
					account, _ := w.Worker(uint64(i+1), devworker.Options{})
					accounts = append(accounts, account)
				}
				p := w.Start()
				w.Start()
				for i := range 3 * tc.perDay {
					uids = append(uids, fmt.Sprint("t", i))
					w.Post(fmt.Sprint("q", i%4), uids[i])
				}
				done := func() (n int) {
					for _, uid := range uids {
						if x := w.Get(uid); x.State() == tx.Done {
							n++
						} else if x.Retries > 0 {
							t.Errorf("%s has used a retry", uid)
						}
					}
					return n
				}
				for day := range 3 {
					<-time.After(time.Until(midnight.Add(time.Duration(24*day+12) * time.Hour)))
					if n := done(); n != tc.perDay*(day+1) {
						t.Fatalf("%d done on day %d, want %d a day", n, day, tc.perDay)
					}
					if day == 2 {
						break
					}
					for _, account := range accounts {
						s := sender(w, account)
						if s.Reason != tx.Rested || !s.Until.Equal(midnight.AddDate(0, 0, day+1)) || s.Detail != tc.detail {
							t.Errorf("the sender on day %d: %+v", day, s)
						}
					}
					p.Stop()
					p = w.Start()
				}
				for day := range 3 {
					if spent := spentOn(w, day, uids...); spent != uint64(tc.perDay)*policy.Fee {
						t.Errorf("day %d cost %d", day, spent)
					}
				}
			})
		})
	}
}

// TestBudgets: a queue, or a key, that has used up its budget waits for the next day, and
// its sender serves others.
func TestBudgets(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.PatientPolicy()
		policy.FeeLimitQueue, policy.FeeLimitKey = 150_000_000, 150_000_000 // one a day
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
		w.Worker(1, devworker.Options{})
		p := w.Start()
		for _, uid := range []string{"a1", "a2", "b1", "c1", "d1"} {
			item := queues.Item{UID: uid, Queue: uid[:1], Type: "MINT", Data: json.RawMessage(`{"n":1}`)}
			if uid > "c" {
				item.By = "two-queues"
			}
			w.OK(w.Store.Enqueue(w.Ctx, item).Err)
		}
		first := []string{"a1", "b1", "c1"}
		for _, uid := range first {
			w.Await(uid, tx.Done, 6*time.Hour)
		}
		<-time.After(time.Until(midnight.Add(23 * time.Hour)))
		for uid, words := range map[string]string{
			"a2": "queue a may spend 0.15 MINA", "d1": "what is posted with key two-queues may spend 0.15 MINA",
		} {
			x := w.Get(uid)
			e, err := p.Explain(w.Ctx, uid, false)
			if x.Phase != tx.PhaseWaiting || x.Retries > 0 || err != nil || e.Wait.Code != explain.WaitBudget ||
				!strings.Contains(e.Summary, words) || !e.Wait.Until.Equal(midnight.AddDate(0, 0, 1)) {
				t.Errorf("%s is %s, and waits for %+v: %s", uid, x.Phase, e.Wait, e.Summary)
			}
		}
		if s := sender(w, devnet.Key(1)); !s.Available() {
			t.Errorf("the sender: %+v", s)
		}
		for _, uid := range []string{"a2", "d1"} {
			if x := w.Await(uid, tx.Done, 12*time.Hour); x.DoneAt.Before(midnight.AddDate(0, 0, 1)) {
				t.Errorf("%s was done at %v", uid, x.DoneAt)
			}
		}
		p.Stop()
	})
}

// TestBudgetOver: a queue that waits for the next day goes on at once when what it waits for is
// taken back, and when a person resumes it.
func TestBudgetOver(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.PatientPolicy()
		policy.FeeLimitKey = 150_000_000 // one a day
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
		w.Worker(1, devworker.Options{})
		p := w.Start()
		post := func(uid, by string) {
			item := queues.Item{UID: uid, Queue: uid[:1], Type: "MINT", Data: json.RawMessage(`{}`), By: by}
			w.OK(w.Store.Enqueue(w.Ctx, item).Err)
		}
		post("a1", "poor")
		w.Await("a1", tx.Done, 6*time.Hour)
		post("b1", "poor")
		post("b2", "rich")
		post("c1", "poor")
		<-time.After(time.Hour)
		for uid, code := range map[string]explain.WaitCode{
			"b1": explain.WaitBudget, "b2": explain.WaitQueueHead, "c1": explain.WaitBudget,
		} {
			if e, err := p.Explain(w.Ctx, uid, false); err != nil || e.Wait.Code != code {
				t.Errorf("%s waits for %+v %v", uid, e.Wait, err)
			}
		}
		_, _, err := p.Cancel(w.Ctx, "b1")
		w.OK(err)
		today := func(uid string) {
			if x := w.Await(uid, tx.Done, 6*time.Hour); !x.DoneAt.Before(midnight.AddDate(0, 0, 1)) {
				t.Errorf("%s was done at %v", uid, x.DoneAt)
			}
		}
		today("b2")
		p.Stop()
		w.Policy.FeeLimitKey = 0
		w.Start()
		<-time.After(time.Hour)
		if x := w.Get("c1"); x.Phase != tx.PhaseWaiting {
			t.Errorf("c1 is %s", x.Phase)
		}
		w.OK(w.Store.Resume(w.Ctx, "c"))
		today("c1")
	})
}

// TestFeeLimitOfRaises: a raise counts with the fees of the day. Where it would pass
// the limit what is open goes on as it is, and is not abandoned.
func TestFeeLimitOfRaises(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.FeeLimitSender = 160_000_000 // 0.1, raised once to 0.15
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
		account, _ := w.Worker(1, devworker.Options{})
		<-time.After(2 * harness.Slot)
		w.Flood(1000, 24*14, 10_000_000_000) // 14 blocks
		w.Start()
		w.Post("q", "a")
		a := w.Await("a", tx.Done, 5*time.Hour)
		if len(a.Attempts) != 2 || a.Landed != 2 || a.Last().Fee != 150_000_000 || a.Retries != 0 {
			t.Fatalf("attempts %+v", a.Attempts)
		}
		o, err := w.Store.Overview(w.Ctx)
		w.OK(err)
		if o.Fees[account] != 150_000_000 {
			t.Errorf("counted: %v", o.Fees)
		}
	})
}

// TestWorkerDown: the sender of a worker that is not there rests the longer the
// more often it was asked in vain, and is back by itself.
func TestWorkerDown(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, _ := w.Worker(1, devworker.Options{})
		w.Web.Unplug("worker1", true)
		w.Start()
		w.Post("q", "a")
		rests, longest := map[time.Time]bool{}, time.Duration(0)
		for range 60 * 60 {
			<-time.After(time.Second)
			if s := sender(w, account); s.Reason == tx.Rested {
				if s.Detail == "" {
					t.Fatalf("it rests and nobody says why: %+v", s)
				}
				rests[s.Until] = true
				longest = max(longest, time.Until(s.Until))
			}
		}
		if len(rests) < 8 || len(rests) > 12 || longest < 9*time.Minute || longest > 10*time.Minute {
			t.Errorf("%d rests in an hour, the longest %v", len(rests), longest)
		}
		w.Web.Unplug("worker1", false)
		if a := w.Await("a", tx.Done, 30*time.Minute); a.Retries != 0 {
			t.Errorf("%d retries", a.Retries)
		}
		w.Web.Unplug("worker1", true)
		<-time.After(10 * time.Minute) // until no connection to it is left
		w.Post("q", "b")
		if s := awaitSender(w, account, tx.Rested, time.Minute); time.Until(s.Until) > 30*time.Second {
			t.Errorf("it was there in between, and rests until %v", s.Until)
		}
	})
}

// TestWrongEra: a worker whose o1js makes what the network refuses makes nothing.
func TestWrongEra(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		network, o1js string
		slot          time.Duration
		k             int
		wrong         bool
	}{
		"before Mesa":              {"mainnet", "2.15.0", 180 * time.Second, 290, false},
		"too new":                  {"mainnet", "3.0.0", 180 * time.Second, 290, true},
		"too old":                  {"mainnet", "2.15.0", 90 * time.Second, 290, true},
		"Mesa":                     {"mainnet", "3.1.0", 90 * time.Second, 290, false},
		"on devnet, too":           {"testnet", "2.15.0", 90 * time.Second, 290, true},
		"on devnet, before":        {"testnet", "2.15.0", 180 * time.Second, 290, false},
		"parameters of its own":    {"testnet", "2.15.0", 90 * time.Second, 30, false},
		"slots of its own":         {"mainnet", "2.15.0", 20 * time.Second, 290, false},
		"a version of its own":     {"mainnet", "main", 90 * time.Second, 290, false},
		"nobody says which o1js":   {"mainnet", "", 90 * time.Second, 290, false},
		"a version of a candidate": {"testnet", "3.0.0-rc.1", 90 * time.Second, 290, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				era := devnet.Mesa
				if tc.slot == harness.Slot {
					era = devnet.Berkeley
				}
				w := harness.New(t, devnet.Config{FillRate: 1, NetworkID: tc.network, SlotTime: tc.slot, K: tc.k, Era: era})
				account, worker := w.Worker(1, devworker.Options{O1js: tc.o1js, Era: era})
				w.Start()
				w.Post("q", "a")
				if !tc.wrong {
					w.Await("a", tx.Done, time.Hour)
					return
				}
				s := awaitSender(w, account, tx.WrongNetwork, time.Minute)
				if !strings.Contains(s.Detail, tc.o1js) || !strings.Contains(s.Detail, "will be refused") ||
					s.Until.IsZero() || worker.Calls()[devworker.Prove] > 0 {
					t.Errorf("the sender: %+v, calls %v", s, worker.Calls())
				}
			})
		})
	}
}

// TestWrongForm: a worker that does not say which o1js it has is found by what it makes. Nothing of it
// is sent, no retry is used, and another sender makes it at once.
func TestWrongForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1, SlotTime: 90 * time.Second, K: devnet.DefaultK})
		old, oldest := w.Worker(1, devworker.Options{Era: devnet.Berkeley})
		w.Start()
		w.Post("q", "a")
		s := awaitSender(w, old, tx.WrongNetwork, time.Minute)
		a := w.Get("a")
		if !strings.Contains(s.Detail, "will be refused") || s.Until.IsZero() ||
			a.State() != tx.Waiting || a.Retries != 0 ||
			len(a.Attempts) != 1 || a.Open() || len(w.Net.Seen()) != 0 {
			t.Errorf("the sender: %+v; the transaction %s, %d retries, %+v; sent %v",
				s, a.State(), a.Retries, a.Attempts, w.Net.Seen())
		}
		_, good := w.Worker(2, devworker.Options{})
		a = w.Await("a", tx.Done, 10*time.Minute)
		if a.Retries != 0 || a.Sender == old || oldest.Calls()[devworker.Prove] > 3 || good.Calls()[devworker.Prove] != 1 {
			t.Errorf("%d retries, by %s; %v and %v", a.Retries, a.Sender, oldest.Calls(), good.Calls())
		}
		<-time.After(2 * time.Hour)
		if n := oldest.Calls()[devworker.Prove]; n > 3 {
			t.Errorf("with nothing to do it was asked %d times", n)
		}
	})
}

// TestForeignNode: one node of another network among three keeps nobody from starting.
func TestForeignNode(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		synctest.Test(t, func(t *testing.T) {
			w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 3})
			w.OK(w.Net.Node(i).SetFaults(devnet.Faults{NetworkID: "mainnet"}))
			w.Worker(1, devworker.Options{})
			w.Start()
			w.Post("q", "a")
			w.Await("a", tx.Done, 20*time.Minute)
		})
	}
}
