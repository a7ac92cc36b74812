package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
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
	if a := f.store.Enqueue(f.ctx, queues.Item{Queue: "fill", Type: "FILL", Data: json.RawMessage(`{}`)}); !errors.Is(a.Err, queues.ErrFull) {
		f.Errorf("a post to a full store: %v", a.Err)
	}
	if err := f.store.Ping(f.ctx); !errors.Is(err, queues.ErrFull) {
		f.Errorf("ping of a full store: %v", err)
	}
	f.ok(f.advance(bound, lifecycle.PhaseDispatching, firstPlan))
	f.ok(f.store.Record(f.ctx, "a", &lifecycle.Attempt{Number: 1, Sender: "S"}, queues.Facts{Hash: "h"}))
	f.ok(f.advance(bound, lifecycle.PhaseSent, signed(1, big)))
	f.ok(f.advance(bound, lifecycle.PhaseDone, tell(lifecycle.OnSuccess, 0, time.Hour)))
	f.beat(me, time.Hour)
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
