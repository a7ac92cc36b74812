package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

// TestFull fills a Redis up: nothing more is accepted, and what was accepted
// goes on to its end.
func TestFull(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Start(t).Client, "seq")
	f.register("S")
	f.post("q", "a", "b")
	bound := f.bound("a S")[0].Transaction
	f.ok(f.client.ConfigSet(f.ctx, "maxmemory", fmt.Sprint(4<<20)).Err())
	big := json.RawMessage(`"` + fmt.Sprintf("%0100000d", 0) + `"`)
	var accepted int
	f.eventually("the store is full", func() bool {
		a := f.store.Enqueue(f.ctx, queues.Item{Queue: "fill", Type: "FILL", Data: big})
		if a.Err != nil && !errors.Is(a.Err, queues.ErrFull) {
			f.Fatal(a.Err)
		}
		accepted++
		return a.Err != nil
	})
	// However full it is.
	f.ok(f.client.ConfigSet(f.ctx, "maxmemory", fmt.Sprint(1<<20)).Err())
	if a := f.store.Enqueue(f.ctx,
		queues.Item{Queue: "fill", Type: "FILL", Data: json.RawMessage(`{}`)}); !errors.Is(a.Err, queues.ErrFull) {
		f.Errorf("a post to a full store: %v", a.Err)
	}
	if err := f.store.Ping(f.ctx); !errors.Is(err, queues.ErrFull) {
		f.Errorf("ping of a full store: %v", err)
	}
	f.ok(f.advance(bound, lifecycle.PhaseDispatching, firstPlan))
	f.ok(f.store.Record(f.ctx, "a", &lifecycle.Attempt{Number: 1, Sender: "S"}, queues.Facts{Hash: "h"}))
	f.ok(f.advance(bound, lifecycle.PhaseSent, signed(1, big)))
	f.ok(f.advance(bound, lifecycle.PhaseDone, tell(lifecycle.OnSuccess, 0, time.Hour)))
	f.heartbeat(me, time.Hour)
	f.tick()
	_, err := f.store.Called(f.ctx, f.get("a"), lifecycle.OnSuccess, queues.Never)
	f.ok(err)
	f.ok(f.pool.Rest(f.ctx, "S", time.Hour, lifecycle.Rested, ""))
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.bound("b S")
	equal(f.T, "what was accepted is there", len(f.list(queues.Filter{}, 50)), accepted-1+2)
	f.to("b", lifecycle.PhaseFailed)
	f.inspect()
}

// TestUnconfirmed: where replicas have to confirm a write and none does, the
// change that lets something leave says so, although it is stored.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	server, ctx := redistest.Start(t), t.Context()
	store, err := queues.Open(server.Client, queues.Options{Namespace: "confirm", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(senders.New(store, server.Client).Register(ctx, "S", "http://worker"))
	_, err = store.Heartbeat(ctx, "P", time.Minute, "")
	ok(err)
	ok(store.Enqueue(ctx, queues.Item{UID: "a", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err)
	bound, err := store.Bind(ctx,
		queues.BindRequest{Process: "P", Types: []string{"T"}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Second})
	ok(err)
	stored, err := store.Advance(ctx,
		change(bound[0].Transaction, lifecycle.PhaseSent, func(c *queues.Change) { c.Confirm = true }))
	if !errors.Is(err, queues.ErrUnconfirmed) {
		t.Errorf("without a replica: %v", err)
	}
	txn, err := store.Get(ctx, "a")
	ok(err)
	if txn.Phase != lifecycle.PhaseSent {
		t.Errorf("stored: %s", txn.Phase)
	}
	equal(t, "told with the error", stored, txn)
}
