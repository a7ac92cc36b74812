package sequencer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// hardFork puts the network that follows on w's in its place, behind the same addresses.
func hardFork(w *harness.World, c devnet.Config) {
	w.Helper()
	c.Nodes = w.Net.Nodes()
	next, err := w.Net.Fork(c)
	w.OK(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = next.Run(ctx) }()
	w.Cleanup(func() { stop(); <-done })
	for i := range next.Nodes() {
		w.Web.Serve(w, fmt.Sprintf("node%d", i), next.Node(i))
	}
	w.Net = next
}

// TestHardFork rehearses docs/hard-forks.md: nodes that take nothing from the stop slot on, none for
// three hours, then at the same addresses those of a chain that begins anew, with other slots, other
// commands, and the accounts as they were. What was in flight is in no pool and in no block; what
// was done lies in a block that no node holds.
func TestHardFork(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for name, restarts := range map[string]bool{"the process lives on": false, "it is started anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { rehearse(t, restarts) })
		})
	}
}

func rehearse(t *testing.T, restarts bool) {
	w := harness.New(t, devnet.Config{FillRate: 1, Nodes: 2, Era: devnet.Berkeley, K: devnet.DefaultK})
	var old []*devworker.Worker
	for n := range uint64(3) {
		_, worker := w.Worker(n+1, devworker.Options{Era: devnet.Berkeley, O1js: "2.15.0", ProveTime: time.Minute})
		old = append(old, worker)
	}
	calls := func(workers []*devworker.Worker, of string) (n int) {
		for _, worker := range workers {
			n += worker.Calls()[of]
		}
		return n
	}
	p := w.Start()
	w.Post("q0", "done")
	w.Await("done", tx.Done, time.Hour)
	w.Post("q1", "sent")
	sent := w.AwaitTxn("sent", "sent", time.Hour, func(t *tx.Transaction) bool {
		return t.Phase == tx.PhaseWatching && t.Last().State == tx.Pooled
	})

	// The stop slot: the daemons refuse what comes, and what they have is in no block any more.
	for i := range w.Net.Nodes() {
		w.OK(w.Net.Node(i).SetFaults(devnet.Faults{Refuse: `["After_slot_tx_end"]`}))
	}
	w.Net.Drop(sent.Hash())
	w.Post("q2", "offered")
	<-time.After(5 * time.Minute)
	w.Post("q3", "waiting")
	<-time.After(4 * time.Minute)
	if n := calls(old, devworker.Prove); n != 3 {
		t.Errorf("%d proofs before the fork, want 3: nothing more is proved while the network takes nothing", n)
	}
	if d := w.Get("done"); !d.FinalAt.IsZero() {
		t.Fatal("what is done is final before the fork, so that this shows nothing of it")
	}

	// The halt.
	for i := range w.Net.Nodes() {
		w.Web.Unplug(fmt.Sprintf("node%d", i), true)
	}
	if restarts {
		p.Stop()
	}
	<-time.After(3 * time.Hour)
	hardFork(w, devnet.Config{FillRate: 1, SlotTime: 90 * time.Second})
	for i := range w.Net.Nodes() {
		w.Web.Unplug(fmt.Sprintf("node%d", i), false)
	}
	if restarts {
		p = w.Start()
	}

	// The nodes are new, the workers not yet: they make nothing.
	<-time.After(40 * time.Minute)
	wrong := 0
	for account := range w.Workers {
		if s := sender(w, account); s.Reason == tx.WrongNetwork && strings.Contains(s.Detail, "will be refused") {
			wrong++
		}
	}
	if n, signed := calls(old, devworker.Prove), calls(old, devworker.Resign); n != 3 || signed != 0 || wrong == 0 {
		t.Errorf("old workers have made %d proofs, signed %d times again, and %d senders rest for them", n, signed, wrong)
	}
	if d := w.Get("done"); d.FinalAt.IsZero() || d.State() != tx.Done {
		t.Errorf("what was done before is %s, final at %v", d.State(), d.FinalAt)
	}
	var fresh []*devworker.Worker
	for n := range uint64(3) {
		worker := devworker.New(devworker.Options{Account: devnet.Key(n + 1), O1js: "3.1.0", ProveTime: time.Minute})
		w.Web.Serve(t, fmt.Sprintf("worker%d", n+1), worker)
		fresh = append(fresh, worker)
	}
	all := []string{"done", "sent", "offered", "waiting"}
	for _, uid := range all {
		x := w.Await(uid, tx.Done, 2*time.Hour)
		if x.Retries != 0 || x.Last().Fee != w.Policy.Fee {
			t.Errorf("%s took %d retries, and pays %d", uid, x.Retries, x.Last().Fee)
		}
	}
	if proofs, signed := calls(fresh, devworker.Prove), calls(fresh, devworker.Resign); proofs != 3 || signed != 0 {
		t.Errorf("new workers have made %d proofs, and signed %d times with those from before", proofs, signed)
	}
	w.Post("q0", "after")
	w.Await("after", tx.Done, time.Hour)
	if got := w.Effects(append(all, "after")...); len(got) != 5 {
		t.Errorf("effects on both chains: %v", got)
	}
	if told, err := p.Explain(w.Ctx, "done", false); err != nil || !strings.Contains(told.Summary, "for good") {
		t.Errorf("%q, %v", told.Summary, err)
	}
}

// TestProofOfBefore: what was proved before a hard fork, and can land no more, is proved once more on the
// new chain, by the same worker at the same nonce: there the proof from before is none.
func TestProofOfBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["After_slot_tx_end"]`}))
		w.Start()
		w.Post("q", "a")
		<-time.After(5 * time.Minute)
		w.Web.Unplug("node0", true)
		<-time.After(3 * time.Hour)
		hardFork(w, devnet.Config{FillRate: 1, SlotTime: 90 * time.Second})
		w.Web.Unplug("node0", false)
		a := w.Await("a", tx.Done, 2*time.Hour)
		calls, first := worker.Calls(), a.Attempts[0]
		if calls[devworker.Prove] != 2 || calls[devworker.Resign] != 0 || a.Retries != 0 || a.Last().Nonce != first.Nonce {
			t.Errorf("%v, %d retries, attempts %+v", calls, a.Retries, a.Attempts)
		}
	})
}
