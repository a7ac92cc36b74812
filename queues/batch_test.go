package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

func batchItem(uid, queue, ledger, id string) queues.Item {
	return queues.Item{UID: uid, Queue: queue, Type: "SUBMIT_BATCH", Ledger: ledger, BatchID: id,
		Data: json.RawMessage(`{"ledger":"` + ledger + `"}`)}
}

// TestBatches: a batch is known by its ledger and id, stands ready for that ledger, and is
// taken over by who has it.
func TestBatches(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){
		"Key": testBatchKey, "Bind": testBatchBind, "TakeOverBehindBatches": testTakeOverBehindBatches,
		"DeadAreAllNamed": testDeadAreAllNamed,
	})
}

func testBatchKey(f *fixture) {
	first := f.store.Enqueue(f.ctx, batchItem("one", "q", "saw", "b1"))
	f.ok(first.Err)
	for _, c := range []struct {
		name string
		item queues.Item
		uid  string
		err  error
	}{
		{"under another key", batchItem("two", "q", "saw", "b1"), "one", nil},
		{"without a key", batchItem("", "q", "saw", "b1"), "one", nil},
		{"in another queue", batchItem("three", "r", "saw", "b1"), "", queues.ErrKeyReused},
		{"for another ledger", batchItem("four", "r", "scab", "b1"), "four", nil},
	} {
		a := f.store.Enqueue(f.ctx, c.item)
		if !errors.Is(a.Err, c.err) || a.Err == nil && (a.Transaction.UID != c.uid || a.Existed != (c.uid == "one")) {
			f.Errorf("%s: %+v", c.name, a)
		}
	}
	together := f.store.EnqueueBatch(f.ctx, []queues.Item{batchItem("five", "q", "saw", "b5"),
		batchItem("six", "q", "saw", "b5")})
	if together[0].Err != nil || together[1].Err != nil || together[1].Transaction.UID != "five" {
		f.Errorf("twice at once: %+v", together)
	}
	got := f.get("one")
	if got.Type != "SUBMIT_BATCH" || got.Ledger != "saw" || got.BatchID != "b1" {
		f.Errorf("stored: %+v", got)
	}
	// Once it is removed the batch is known for as long as its key.
	now := f.get("one")
	ended := now.Clone()
	ended.Phase = tx.PhaseFailed
	c := queues.Change{Before: now, After: ended}
	c.Person, c.Remove = true, queues.Never
	_, err := f.store.Advance(f.ctx, &c)
	f.ok(err)
	f.ok(f.store.Remove(f.ctx, "one"))
	<-time.After(5 * time.Millisecond)
	if a := f.store.Enqueue(f.ctx, batchItem("seven", "q", "saw", "b1")); !errors.Is(a.Err, queues.ErrKeyGone) {
		f.Errorf("after its removal: %+v", a)
	}
}

func testBatchBind(f *fixture) {
	f.ok(f.pool.Configure(f.ctx, map[string]string{"saw/1": "http://s", "scab/1": "http://c"}))
	f.ok(f.store.Enqueue(f.ctx, batchItem("one", "q", "saw", "b1")).Err)
	f.ok(f.store.Enqueue(f.ctx, batchItem("four", "r", "scab", "b1")).Err)
	o, err := f.store.Overview(f.ctx)
	f.ok(err)
	if load := o.Types["SUBMIT_BATCH"]; load.Waiting != 2 || load.Ready != 2 {
		f.Errorf("the overview has %+v", o.Types)
	}
	for _, name := range []string{"saw", "scab"} {
		if load := o.Ledgers[name]; load.Waiting != 1 || load.Ready != 1 || load.Bound != 0 || load.Oldest.IsZero() {
			f.Errorf("ledger %s has %+v", name, load)
		}
	}
	f.heartbeat(other, short)
	for _, ledger := range []string{"saw", "scab"} {
		bound, err := f.store.Bind(f.ctx, queues.BindRequest{Process: other, Types: []string{"SUBMIT_BATCH"}, Ledger: ledger,
			Groups: []string{"ledger:" + ledger}, Most: 5})
		f.ok(err)
		if len(bound) != 1 || bound[0].Transaction.Ledger != ledger || bound[0].Sender != ledger+"/1" {
			f.Fatalf("bound for %s: %+v", ledger, bound)
		}
	}
	f.eventually("it is dead", func() bool { return slices.Equal(f.heartbeat(me, long), []string{other}) })
	for _, c := range []struct {
		ledgers []string
		want    []string
	}{{nil, nil}, {[]string{"scab"}, []string{"four"}}, {[]string{"scab", "saw"}, []string{"one"}}} {
		taken, err := f.store.TakeOver(f.ctx, me, other, 5, c.ledgers...)
		f.ok(err)
		equal(f.T, "taken", taken, c.want)
	}
}

// testTakeOverBehindBatches: batches for ledgers that a process does not have hide nothing
// that it may take over, however many they are.
func testTakeOverBehindBatches(f *fixture) {
	slots := map[string]string{}
	for i := range 25 {
		slots[fmt.Sprint("saw/", i)] = "http://s"
		f.ok(f.store.Enqueue(f.ctx, batchItem(fmt.Sprint("b", i), fmt.Sprint("q", i), "saw", fmt.Sprint("b", i))).Err)
	}
	f.ok(f.pool.Configure(f.ctx, slots))
	f.register("S")
	f.post("q", "a")
	f.heartbeat(other, long)
	bound, err := f.store.Bind(f.ctx, queues.BindRequest{Process: other, Types: []string{"SUBMIT_BATCH"}, Ledger: "saw",
		Groups: []string{"ledger:saw"}, Most: 25})
	f.ok(err)
	equal(f.T, "bound", len(bound)+len(f.bindAs(other, 1)), 26)
	f.heartbeat(other, short)
	f.eventually("it is dead", func() bool { return slices.Equal(f.heartbeat(me, long), []string{other}) })
	taken, err := f.store.TakeOver(f.ctx, me, other, 1)
	f.ok(err)
	equal(f.T, "taken", taken, []string{"a"})
	taken, err = f.store.TakeOver(f.ctx, me, other, 30, "saw")
	f.ok(err)
	equal(f.T, "batches taken", len(taken), 25)
}

// testDeadAreAllNamed: those who died with what nobody else can take over hide no other who
// died, however many they are.
func testDeadAreAllNamed(f *fixture) {
	f.ok(f.store.Enqueue(f.ctx, batchItem("b", "q", "saw", "b")).Err)
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("dead-%02d", i))
		f.heartbeat(all[i], time.Millisecond)
		f.ok(f.client.ZAdd(f.ctx, f.key("own:"+all[i]), redis.Z{Member: "b"}).Err())
	}
	named := map[string]bool{}
	f.eventually("all have been named", func() bool {
		for _, dead := range f.heartbeat(me, long) {
			named[dead] = true
			taken, err := f.store.TakeOver(f.ctx, me, dead, 5)
			f.ok(err)
			equal(f.T, "taken", len(taken), 0)
		}
		return slices.Equal(slices.Sorted(maps.Keys(named)), all)
	})
	for _, dead := range all {
		f.ok(f.client.Del(f.ctx, f.key("own:"+dead)).Err())
	}
}
