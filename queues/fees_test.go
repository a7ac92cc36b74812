package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// planned is an attempt as it is stored before a worker is asked.
func planned(t *tx.Transaction, fee uint64) tx.Attempt {
	return tx.Attempt{
		Number: len(t.Attempts) + 1, Sender: t.Sender, Nonce: 7, Fee: fee, StartedAt: time.UnixMilli(1),
		State: tx.Planned,
	}
}

// fated gives the attempt with a number an end.
func fated(number int, o tx.AttemptState) func(*queues.Change) {
	return func(c *queues.Change) {
		a := c.After.Attempt(number)
		a.State, a.EndedAt = o, time.UnixMilli(2)
	}
}

// planFor stores another attempt of a transaction, within limits.
func (f *fixture) planFor(uid string, fee uint64, limits queues.FeeLimits) error {
	f.Helper()
	t := f.get(uid)
	return f.advance(t, t.Phase, made(planned(t, fee)), func(c *queues.Change) { c.Limits = limits })
}

func (f *fixture) fees() map[string]uint64 {
	f.Helper()
	o, err := f.store.Overview(f.ctx)
	f.ok(err)
	return o.Fees
}

// testFees follows what attempts cost: planned, raised, refused, in a block.
func testFees(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.post("r", "b")
	f.bound("a S1", "b S2")
	f.ok(f.planFor("a", 100, queues.FeeLimits{}))
	f.ok(f.planFor("b", 10, queues.FeeLimits{}))
	equal(f.T, "planned", f.fees(), map[string]uint64{"S1": 100, "S2": 10})
	// Only one of two at a nonce can land: the dearer one.
	f.ok(f.planFor("a", 150, queues.FeeLimits{}))
	equal(f.T, "raised", f.fees(), map[string]uint64{"S1": 150, "S2": 10})
	f.to("b", tx.PhaseFailing)
	equal(f.T, "what changes nothing of it", f.fees(), map[string]uint64{"S1": 150, "S2": 10})

	f.to("b", tx.PhaseDelayed, fated(1, tx.Refused))
	equal(f.T, "refused by all nodes", f.fees(), map[string]uint64{"S1": 150, "S2": 0})

	f.to("a", tx.PhaseDone, final, fated(1, tx.Included), fated(2, tx.Replaced))
	equal(f.T, "the cheaper one landed", f.fees(), map[string]uint64{"S1": 100, "S2": 0})
	f.ok(f.store.Remove(f.ctx, "a"))
	equal(f.T, "removed", f.fees(), map[string]uint64{"S1": 100, "S2": 0})
}

// testFeesOfWhom: what was counted with a sender is taken back from no other, which would
// have spent less than nothing.
func testFeesOfWhom(f *fixture) {
	f.register("S1")
	f.post("q", "a")
	f.bound("a S1")
	f.ok(f.planFor("a", 100, queues.FeeLimits{}))
	f.to("a", tx.PhaseWaiting, fated(1, tx.FailedIn))
	f.ok(f.pool.Drain(f.ctx, "S1"))
	f.register("S2")
	f.bound("a S2")
	f.ok(f.planFor("a", 10, queues.FeeLimits{}))
	equal(f.T, "of both", f.fees(), map[string]uint64{"S1": 100, "S2": 10})
	// The block with the first is none any more, and it is over.
	f.to("a", tx.PhaseWatching, fated(1, tx.Expired))
	equal(f.T, "of the first sender", f.fees()["S1"], 100)
	f.to("a", tx.PhaseDone, final, fated(2, tx.Included))
	equal(f.T, "of the second", f.fees()["S2"], 0)
}

// testFeeLimits wants an attempt refused that would pass a limit, and nothing
// stored of it.
func testFeeLimits(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.post("r", "b")
	f.bound("a S1", "b S2")
	limits := queues.FeeLimits{Sender: 150, All: 200}
	refused := func(uid string, fee uint64, all bool, spent uint64) {
		f.Helper()
		before := f.get(uid)
		err := f.planFor(uid, fee, limits)
		limit, ok := errors.AsType[*queues.FeeLimitError](err)
		if !ok || limit.All != all || limit.Spent != spent || limit.Left <= 0 || limit.Left > 24*time.Hour {
			f.Fatalf("%s for %d: %v, %+v", uid, fee, err, limit)
		}
		equal(f.T, "what is stored of "+uid, f.get(uid), before)
	}
	refused("a", 151, false, 0)
	refused("a", 151, false, 0)
	limits = queues.FeeLimits{Sender: 1, All: 1}
	refused("a", 2, false, 0)
	limits.Sender = 0
	refused("a", 2, true, 0)
	limits = queues.FeeLimits{Sender: 150, All: 200}
	f.ok(f.planFor("a", 150, limits))
	refused("a", 151, false, 150)
	f.ok(f.planFor("a", 150, limits)) // at the same nonce for the same fee
	refused("b", 51, true, 150)
	f.ok(f.planFor("b", 50, limits))
	equal(f.T, "counted", f.fees(), map[string]uint64{"S1": 150, "S2": 50})
	limits = queues.FeeLimits{Sender: 1_234_567_890_123_459}
	f.ok(f.planFor("b", 1_234_567_890_123_457, limits))
	refused("b", 1_234_567_890_123_460, false, 1_234_567_890_123_457)
	f.to("a", tx.PhaseSent) // what is under way goes on
	f.to("a", tx.PhaseWatching)
}

// TestFeesOfAnotherDay: what a day has cost is no limit to the next one, and what costs no more than
// it did before passes none, whatever the limit is by then.
func TestFeesOfAnotherDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		f.register("S1", "S2")
		f.post("q", "a")
		f.post("r", "b")
		f.bound("a S1", "b S2")
		f.ok(f.planFor("a", 100, queues.FeeLimits{Sender: 100, All: 100}))
		<-time.After(25 * time.Hour)
		f.heartbeat(me, time.Hour)
		f.ok(f.planFor("b", 90, queues.FeeLimits{Sender: 100, All: 100}))
		equal(t, "of today", f.fees(), map[string]uint64{"S2": 90})
		a := f.get("a")
		f.ok(f.advance(a, a.Phase, fated(1, tx.Refused), func(c *queues.Change) {
			c.Limits = queues.FeeLimits{Sender: 10, All: 10}
			c.Budgets = []queues.Budget{{Name: queues.QueueBudget("q"), Most: 1}}
		}))
		equal(t, "of today", f.fees(), map[string]uint64{"S2": 90})
		f.inspect()
		// For seven days it is known what the first of them has cost.
		spent := func() int {
			of, err := f.store.Spent(f.ctx)
			f.ok(err)
			return len(slices.DeleteFunc(of, func(s queues.Spent) bool { return s.Sender == "" }))
		}
		<-time.After(5 * 24 * time.Hour)
		equal(t, "known on the seventh day", spent(), 2) // what S1 has spent on the first, and S2 on the second
		<-time.After(24 * time.Hour)
		equal(t, "known on the eighth", spent(), 1)
	})
}

// testBudgets wants what an attempt costs counted with each of its budgets, and refused
// where it would pass one, with nothing stored of it.
func testBudgets(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.post("r", "b")
	f.bound("a S1", "b S2")
	plan := func(uid string, fee uint64, budgets ...queues.Budget) string {
		f.Helper()
		before := f.get(uid)
		err := f.advance(before, before.Phase, made(planned(before, fee)), func(c *queues.Change) { c.Budgets = budgets })
		if limit, is := errors.AsType[*queues.FeeLimitError](err); is {
			equal(f.T, "nothing stored", f.get(uid), before)
			return fmt.Sprint(limit.Budget, " ", limit.Spent)
		}
		f.ok(err)
		return ""
	}
	queue := queues.Budget{Name: queues.QueueBudget("q"), Most: 200}
	key := queues.Budget{Name: queues.KeyBudget("k"), Most: 250}
	equal(f.T, "within", plan("a", 200, queue, key), "")
	equal(f.T, "dearer", plan("a", 201, queue, key), "q:q 200")
	equal(f.T, "of the same key", plan("b", 51, key), "k:k 200")
	equal(f.T, "up to it", plan("b", 50, key), "")
	equal(f.T, "no limit, and counted", plan("b", 300, queues.Budget{Name: key.Name}), "")
	equal(f.T, "so it counts", plan("a", 201, key), "k:k 500")
}

// testRestInWords wants a rest told in words, and ended by its own clock however
// many others give the same reason.
func testRestInWords(f *fixture) {
	f.register("S1")
	f.post("q", "a")
	f.bound("a S1")
	rested := func(uid string, d time.Duration, giver, detail string) {
		f.Helper()
		f.to(uid, tx.PhaseWaiting, rest(d, tx.Rested),
			func(c *queues.Change) { c.Rest.By, c.Rest.Detail = giver, detail })
	}
	rested("a", time.Hour, "fees", "the day is over at midnight")
	until := f.sender("S1").Until
	f.ok(f.pool.Rest(f.ctx, "S1", time.Minute, tx.Rested, ""))
	if s := f.sender("S1"); s.Reason != tx.Rested || s.Detail != "the day is over at midnight" ||
		!s.Until.Equal(until) {
		f.Errorf("after a shorter rest: %+v", s)
	}
	f.ok(f.pool.Rest(f.ctx, "S1", 2*time.Hour, tx.Rested, ""))
	if s := f.sender("S1"); s.Detail != "" || !s.Until.After(until) {
		f.Errorf("after a longer rest: %+v", s)
	}
	f.ok(f.pool.Resume(f.ctx, "S1"))
	if s := f.sender("S1"); !s.Available() || s.Detail != "" {
		f.Errorf("resumed: %+v", s)
	}
}

// testOldestOfType: of those that can be bound the one that was received first is told, whichever
// queue has its turn first.
func testOldestOfType(f *fixture) {
	f.post("q", "a", "b")
	<-time.After(2 * time.Millisecond)
	f.post("r", "c")
	equal(f.T, "oldest", f.overview().Types[vote].Oldest, f.get("a").ReceivedAt)
	f.ok(f.store.Pause(f.ctx, "q", "x"))
	equal(f.T, "of what is not paused", f.overview().Types[vote].Oldest, f.get("c").ReceivedAt)
	f.ok(f.store.Resume(f.ctx, "q")) // its turn comes after that of r
	equal(f.T, "oldest", f.overview().Types[vote].Oldest, f.get("a").ReceivedAt)
}

func testOverview(f *fixture) {
	equal(f.T, "of nothing", f.overview().States[tx.Waiting], int64(0))
	f.register("S1", "S2", "S3")
	f.post("q", "a", "b", "c")
	f.post("r", "d")
	f.postBy("", batch, "e")
	f.post("t", "f", "g")
	f.bound("a S1", "d S2", "e S3")
	f.to("a", tx.PhaseSent)
	f.to("d", tx.PhaseDone, final)
	f.ok(f.store.Pause(f.ctx, "t", "for a test"))
	o := f.overview()
	equal(f.T, "states", o.States, map[tx.State]int64{
		tx.Waiting: 4, tx.Dispatching: 1, tx.Revision: 1, tx.Retry: 0, tx.Done: 1,
		tx.Failed: 0, tx.Unresolved: 0,
	})
	equal(f.T, "types", o.Types, map[string]queues.Load{
		vote:  {Waiting: 4, Bound: 1, Oldest: f.get("a").ReceivedAt},
		batch: {Bound: 1, Oldest: f.get("e").ReceivedAt},
	})
	if o.Queues != 4 || o.Processes != 1 || o.Events == 0 || o.At.IsZero() {
		f.Errorf("%+v", o)
	}
	f.to("a", tx.PhaseUnresolved)
	f.ok(f.store.Resume(f.ctx, "t"))
	o = f.overview()
	equal(f.T, "of votes", o.Types[vote], queues.Load{Waiting: 4, Ready: 2, Oldest: f.get("b").ReceivedAt})
}

// testOverviewOfMany reads more bound transactions than one script may. They are
// noted as bound by hand, which is much faster than binding them.
func testOverviewOfMany(f *fixture) {
	const many = queues.MaxBatch + 20
	uids := numbered("t", 1, many)
	items := make([]queues.Item, many)
	for i, uid := range uids {
		items[i] = queues.Item{UID: uid, Queue: "q", Type: vote, Data: json.RawMessage(`{}`)}
	}
	for _, a := range f.store.EnqueueBatch(f.ctx, items) {
		f.ok(a.Err)
	}
	note := func(bound bool) {
		f.Helper()
		_, err := f.client.Pipelined(f.ctx, func(p redis.Pipeliner) error {
			for i, uid := range uids {
				if bound {
					p.ZAdd(f.ctx, f.key("bound"), z(float64(i+1), uid))
					p.Set(f.ctx, f.key("x:"+uid), "1   watching    0     \n", 0)
				} else {
					p.Del(f.ctx, f.key("bound"), f.key("x:"+uid))
				}
			}
			return nil
		})
		f.ok(err)
	}
	note(true)
	if o := f.overview(); o.States[tx.Revision] != many || o.Types[vote].Bound != many {
		f.Errorf("%+v", o)
	}
	note(false)
}

func (f *fixture) overview() queues.Overview {
	f.Helper()
	o, err := f.store.Overview(f.ctx)
	f.ok(err)
	return o
}

func TestCost(t *testing.T) {
	t.Parallel()
	ended := time.UnixMilli(1)
	tests := map[string]struct {
		attempts []tx.Attempt
		want     uint64
	}{
		"none":       {nil, 0},
		"planned":    {[]tx.Attempt{{Fee: 10, State: tx.Planned}}, 10},
		"never made": {[]tx.Attempt{{Fee: 10, EndedAt: ended, State: tx.Dropped}}, 0},
		"raised":     {[]tx.Attempt{{Fee: 10, State: tx.Sent}, {Fee: 15, State: tx.Planned}}, 15},
		"another nonce": {[]tx.Attempt{{Fee: 10, EndedAt: ended, State: tx.FailedIn},
			{Fee: 15, Nonce: 1, State: tx.Planned}}, 25},
		"another sender": {[]tx.Attempt{{Fee: 10, EndedAt: ended, State: tx.FailedIn},
			{Fee: 15, Sender: "S2", State: tx.Planned}}, 25},
		"expired": {[]tx.Attempt{{Fee: 10, EndedAt: ended, State: tx.Expired},
			{Fee: 15, State: tx.Planned}}, 15},
		"the cheaper lands": {[]tx.Attempt{{Fee: 10, EndedAt: ended, State: tx.Included},
			{Fee: 15, EndedAt: ended, State: tx.Replaced}}, 10},
		"unknown": {[]tx.Attempt{{Fee: 10, State: tx.Unknown, Legacy: true}}, 10},
	}
	for name, tt := range tests {
		if got := (&tx.Transaction{Attempts: tt.attempts}).Cost(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
