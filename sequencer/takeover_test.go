package sequencer_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/harness"
)

// TestTakeOverOfMany: one process has all that another one leaves within seconds, however much
// that is.
func TestTakeOverOfMany(t *testing.T) {
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
