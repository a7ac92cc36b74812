package harness

import (
	"encoding/json"
	"fmt"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Post posts a MINT.
func (w *World) Post(queue, uid string) { w.Helper(); w.PostType("MINT", queue, uid) }

// PostType posts a transaction of a type.
func (w *World) PostType(typ, queue, uid string) {
	w.Helper()
	w.OK(w.Store.Enqueue(w.Ctx, queues.Item{UID: uid, Queue: queue, Type: typ, Data: json.RawMessage(`{"n":1}`)}).Err)
}

// Get reads a transaction.
func (w *World) Get(uid string) *tx.Transaction {
	w.Helper()
	t, err := w.Store.Get(w.Ctx, uid)
	w.OK(err)
	return t
}

// Await waits until a transaction has a state, at most limit of simulated time.
func (w *World) Await(uid string, state tx.State, limit time.Duration) *tx.Transaction {
	w.Helper()
	return w.AwaitTxn(uid, string(state), limit, func(t *tx.Transaction) bool { return t.State() == state })
}

// AwaitTxn waits until a transaction is as wanted, at most limit of simulated time; what
// says how that is.
func (w *World) AwaitTxn(uid, what string, limit time.Duration,
	until func(*tx.Transaction) bool) *tx.Transaction {
	w.Helper()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if t := w.Get(uid); until(t) {
			return t
		}
	}
	t := w.Get(uid)
	b, _ := json.MarshalIndent(t, "", "  ")
	w.Fatalf("%s is %s after %v, not %s\n%s", uid, t.Phase, limit, what, b)
	return nil
}

// Effects lists the uids of what took effect on the chain, in order.
func (w *World) Effects(uids ...string) []string {
	names := map[string]string{}
	for _, uid := range uids {
		names[lifecycle.Memo("test", uid)] = uid
	}
	var out []string
	for _, e := range w.Net.Effects() {
		if uid := names[e.Memo]; uid != "" && e.OK {
			out = append(out, uid)
		}
	}
	return out
}

// Stranger sends a command of an account that no transaction asked for.
func (w *World) Stranger(account string, nonce uint32, fee uint64) {
	w.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: account, Nonce: nonce, Fee: fee, Memo: "a stranger's"})
	w.OK(err)
	_, err = w.Node(0).Send(w.Ctx, command)
	w.OK(err)
}

// Flood fills the pool with commands of many accounts that pay fee.
func (w *World) Flood(first uint64, count int, fee uint64) {
	w.Helper()
	for i := range uint64(count) {
		w.Stranger(devnet.Key(first+i), 0, fee)
	}
}

// PostAll posts so many to a queue.
func (w *World) PostAll(queue string, n int) (uids []string) {
	w.Helper()
	for i := range n {
		uids = append(uids, fmt.Sprintf("%s-%02d", queue, i))
		w.Post(queue, uids[i])
	}
	return uids
}

// InFlight is what runs of a queue, in order.
func (w *World) InFlight(queue string) []string {
	w.Helper()
	run, err := w.Store.InFlight(w.Ctx, queue)
	w.OK(err)
	return run.UIDs
}

// Once checks that each transaction took effect once, and is DONE with that.
func (w *World) Once(uids ...string) {
	w.Helper()
	for _, uid := range uids {
		w.Await(uid, tx.Done, 6*time.Hour)
		w.AwaitTxn(uid, "final", 6*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
	}
	for _, uid := range uids {
		if got := w.Effects(uid); len(got) != 1 {
			w.Errorf("%s took effect %d times", uid, len(got))
		}
	}
	all, _, err := w.Pool.List(w.Ctx, 100, "")
	w.OK(err)
	for _, s := range all {
		if s.Reason != "" && s.Reason != tx.Rested {
			w.Errorf("sender %.8s is out of use: %s, %s", s.AccountID, s.Reason, s.Detail)
		}
	}
}
