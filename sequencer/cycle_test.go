package sequencer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// TestDamagedQueue: what is due of a queue whose record cannot be read holds up nothing else that
// is due, is looked at now and then, and goes on when the record is mended.
func TestDamagedQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{})
		p := w.Start()
		w.Post("odd", "a")
		w.Post("even", "b")
		<-time.After(time.Minute)
		// Both are bound to it, and it has not heard the answer: it has no such workers itself.
		var groups []string
		for i := range uint64(2) {
			groups = append(groups, senders.LocalGroup(devnet.Key(i)))
		}
		w.OK(w.Pool.Configure(w.Ctx, map[string]string{devnet.Key(0): senders.Local, devnet.Key(1): senders.Local}))
		bound, err := w.Store.Bind(w.Ctx, queues.BindRequest{Process: p.Process(), Types: []string{"MINT"},
			Groups: groups, Most: 2, Grace: time.Second})
		w.OK(err)
		if len(bound) != 2 {
			t.Fatalf("%d bound", len(bound))
		}
		const key = "{test}:q:odd"
		whole, err := w.Redis.Client.Get(w.Ctx, key).Result()
		w.OK(err)
		w.OK(w.Redis.Client.Set(w.Ctx, key, strings.Replace(whole, " ", "", 1), 0).Err())

		back := func(t *tx.Transaction) bool { return !t.Phase.Bound() }
		w.AwaitTxn("b", "back", 10*time.Minute, back)
		before := p.Store.Calls()
		<-time.After(10 * time.Minute)
		if n := p.Store.Calls() - before; n > 600 {
			t.Errorf("%d calls of the store in ten minutes", n)
		}
		if !w.Get("a").Phase.Bound() {
			t.Error("it is not the one that cannot be read")
		}
		w.OK(w.Redis.Client.Set(w.Ctx, key, whole, 0).Err())
		w.AwaitTxn("a", "back", 10*time.Minute, back)
	})
}

// TestTakeOverOfMany: one process has all that another one leaves within seconds, however much
// that is.
func TestTakeOverOfMany(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, alive = 320, 20 * time.Second
		w := harness.New(t, devnet.Config{})
		var taken atomic.Int64
		w.Meter = sequencer.Meter{TookOver: func(n int) { taken.Add(int64(n)) }}
		_, err := w.Store.Heartbeat(w.Ctx, "other", alive, "")
		w.OK(err)
		end := time.Now().Add(alive)
		for i := range many {
			w.OK(w.Pool.Register(w.Ctx, devnet.Key(uint64(i)), "http://nowhere"))
			w.OK(w.Store.Enqueue(w.Ctx,
				queues.Item{Queue: fmt.Sprint("q", i), Type: "MINT", Data: json.RawMessage(`{}`)}).Err)
		}
		bound, err := w.Store.Bind(w.Ctx, queues.BindRequest{
			Process: "other", Types: []string{"MINT"}, Groups: []string{senders.Shared}, Most: many, Grace: time.Hour})
		w.OK(err)
		if len(bound) != many {
			t.Fatalf("%d bound", len(bound))
		}
		w.Start()
		<-time.After(time.Until(end))
		if n := taken.Load(); n > 0 {
			t.Errorf("%d taken from one that lives", n)
		}
		<-time.After(w.Policy.ClaimTTL/5 + 3*time.Second) // until the next heartbeat, and what that has
		if n := taken.Load(); n != many {
			t.Errorf("%d of %d taken over", n, many)
		}
	})
}
