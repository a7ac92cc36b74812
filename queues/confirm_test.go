package queues_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

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
	_, err = store.Beat(ctx, "P", time.Minute, "")
	ok(err)
	ok(store.Enqueue(ctx, queues.Item{UID: "a", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err)
	bound, err := store.Bind(ctx, queues.BindRequest{Process: "P", Types: []string{"T"}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Second})
	ok(err)
	stored, err := store.Advance(ctx, change(bound[0].Transaction, lifecycle.PhaseSent, func(c *queues.Change) { c.Confirm = true }))
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
