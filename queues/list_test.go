package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

func (f *fixture) fill(queue string, uids []string) {
	f.Helper()
	items := make([]queues.Item, len(uids))
	for i, uid := range uids {
		items[i] = queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(`{}`)}
	}
	for _, a := range f.store.EnqueueBatch(f.ctx, items) {
		f.ok(a.Err)
	}
}

func testListPages(f *fixture) {
	equal(f.T, "of nothing", f.list(queues.Filter{}, 10), nil)
	uids := numbered("u", 1, 1100) // sequences 1 to 511, 512 to 1023, 1024 to 1100 share a page each
	f.fill("q", uids)
	for _, limit := range []int{1, 2, 199, 200, 201, 511, 512, 513, 1100, 5000} {
		equal(f.T, fmt.Sprint("all, by ", limit), f.list(queues.Filter{}, limit), uids)
	}
	last := ""
	for _, cut := range []int{510, 511, 512, 513, 1023, 1024, 1100} {
		page, next, err := f.store.List(f.ctx, queues.Filter{}, cut, "")
		f.ok(err)
		rest, _, err := f.store.List(f.ctx, queues.Filter{}, 5, next)
		f.ok(err)
		if len(page) != cut || next == last {
			f.Errorf("a page of %d has %d and cursor %q", cut, len(page), next)
		}
		for i, t := range rest {
			equal(f.T, fmt.Sprint("behind ", cut), t.UID, uids[cut+i])
		}
		last = next
	}
}

func testListQueue(f *fixture) {
	f.register("S")
	// Two queues, their transactions mixed; of q some are past, back, cancelled.
	uids := numbered("u", 1, 900)
	var mine []string
	for i, uid := range uids {
		name := "p"
		if i%2 == 0 {
			name, mine = "q", append(mine, uid)
		}
		f.fill(name, []string{uid})
	}
	f.ok(f.store.Pause(f.ctx, "p", "x"))
	for _, uid := range mine[:250] {
		f.bound(uid + " S")
		f.to(uid, lifecycle.PhaseDone)
	}
	f.to(mine[3], lifecycle.PhaseWaiting)
	for _, uid := range mine[260:420] {
		f.to(uid, lifecycle.PhaseFailed, person)
	}
	f.bound(mine[3] + " S")
	for _, limit := range []int{7, 200, 250, 1000} {
		equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, limit), mine)
		equal(f.T, "failed", f.list(queues.Filter{Queue: "q", State: lifecycle.Failed}, limit), mine[260:420])
		equal(f.T, "waiting", f.list(queues.Filter{Queue: "q", State: lifecycle.Waiting}, limit),
			slices.Concat(mine[250:260], mine[420:]))
	}
	equal(f.T, "of no queue", f.list(queues.Filter{Queue: "none"}, 10), nil)
}

func testListDuringDeletions(f *fixture) {
	uids := numbered("u", 1, 1100)
	f.fill("q", uids)
	remove := func(uids []string) {
		for _, uid := range uids {
			f.to(uid, lifecycle.PhaseFailed, person)
			f.ok(f.store.Remove(f.ctx, uid))
		}
	}
	for _, filter := range []queues.Filter{{}, {Queue: "q"}} {
		page, next, err := f.store.List(f.ctx, filter, 50, "")
		f.ok(err)
		first := slices.Index(uids, page[0].UID)
		// What was shown, where the cursor stands, and what comes next goes.
		remove(uids[first+20 : first+70])
		rest, _, err := f.store.List(f.ctx, filter, 50, next)
		f.ok(err)
		if len(rest) != 50 || rest[0].UID != uids[first+70] || rest[49].UID != uids[first+119] {
			f.Errorf("%+v: after the deletions %d from %s", filter, len(rest), rest[0].UID)
		}
		uids = slices.Concat(uids[:first+20], uids[first+70:])
	}
	remove(uids[400:950]) // a whole page
	uids = slices.Concat(uids[:400], uids[950:])
	equal(f.T, "all", f.list(queues.Filter{}, 33), uids)
	equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, 33), uids)
}

func testListFilters(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a", "b")
	f.post("q2", "c")
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "d", Queue: "q3", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	f.bound("a S1", "c S2")
	f.to("a", lifecycle.PhaseDelayed)
	for _, tc := range []struct {
		filter queues.Filter
		want   []string
	}{
		{queues.Filter{}, []string{"a", "b", "c", "d"}},
		{queues.Filter{Type: batch}, []string{"d"}},
		{queues.Filter{Sender: "S2"}, []string{"c"}},
		{queues.Filter{State: lifecycle.Waiting}, []string{"b", "d"}},
		{queues.Filter{State: lifecycle.Retry}, []string{"a"}},
		{queues.Filter{State: lifecycle.Dispatching, Queue: "q1"}, nil},
		{queues.Filter{State: lifecycle.Dispatching, Sender: "S2"}, []string{"c"}},
		{queues.Filter{State: lifecycle.Done}, nil},
		{queues.Filter{Queue: "q1", Type: vote}, []string{"a", "b"}},
	} {
		equal(f.T, fmt.Sprintf("%+v", tc.filter), f.list(tc.filter, 1), tc.want)
		equal(f.T, fmt.Sprintf("%+v", tc.filter), f.list(tc.filter, 9), tc.want)
	}
	_, next, err := f.store.List(f.ctx, queues.Filter{}, 2, "")
	f.ok(err)
	for _, cursor := range []string{"x", "!", "MSAy", next + "A", "LTEgMA"} {
		if _, _, err := f.store.List(f.ctx, queues.Filter{}, 2, cursor); !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("cursor %q: %v", cursor, err)
		}
	}
	for _, another := range []queues.Filter{{Queue: "q1"}, {Newest: true}, {Since: time.Unix(1, 0)}} {
		if _, _, err := f.store.List(f.ctx, another, 2, next); !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("the cursor of another list than %+v: %v", another, err)
		}
	}
}

// testListTimes lists what was received within a time.
func testListTimes(f *fixture) {
	var times []time.Time
	for _, uid := range []string{"a", "b", "c"} {
		f.post("q", uid)
		received := f.get(uid).ReceivedAt
		times = append(times, received)
		f.eventually("the clock moves on", func() bool { return f.now().Sub(received) > 2*time.Millisecond })
	}
	for _, tc := range []struct {
		since, until time.Time
		want         []string
	}{
		{times[1], time.Time{}, []string{"b", "c"}},
		{time.Time{}, times[1], []string{"a"}},
		{times[0], times[2], []string{"a", "b"}},
		{times[2].Add(time.Hour), time.Time{}, nil},
		{time.Time{}, times[0].Add(-time.Hour), nil},
	} {
		for _, queue := range []string{"", "q"} {
			equal(f.T, fmt.Sprint(tc.since, tc.until),
				f.list(queues.Filter{Queue: queue, Since: tc.since, Until: tc.until}, 2), tc.want)
		}
	}
}

// testListManyPassed wants short pages with a cursor where few of many match.
func testListManyPassed(f *fixture) {
	uids := numbered("u", 1, 12_000)
	f.fill("q", uids)
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "rare", Queue: "q", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	for _, filter := range []queues.Filter{{Type: batch}, {Type: batch, Queue: "q"}} {
		page, next, err := f.store.List(f.ctx, filter, 10, "")
		f.ok(err)
		if len(page) != 0 || next == "" {
			f.Errorf("%+v: the first look found %d, cursor %q", filter, len(page), next)
		}
		equal(f.T, "found", f.list(filter, 10), []string{"rare"})
	}
}

func testQueues(f *fixture) {
	equal(f.T, "none", len(first(f.store.Queues(f.ctx, 9, ""))), 0)
	names := numbered("q", 1, 25)
	for _, name := range names {
		f.post(name, "t-"+name)
	}
	f.register("S")
	f.bound("t-q0001 S")
	var got []string
	for cursor, next := "", "."; next != ""; cursor = next {
		page, n, err := f.store.Queues(f.ctx, 10, cursor)
		f.ok(err)
		for _, q := range page {
			got = append(got, q.Name)
			if (q.Name == names[0]) != (q.State() == lifecycle.QueueBlocked) {
				f.Errorf("%+v", q)
			}
		}
		next = n
	}
	equal(f.T, "names", got, names)
	f.post("r", "t-r")
	for prefix, want := range map[string]int{"q": 25, "q000": 9, "q0025": 1, "q00251": 0, "r": 1, "s": 0, "": 26} {
		page, _, err := f.store.QueuesNamed(f.ctx, prefix, 100, "")
		f.ok(err)
		equal(f.T, "named "+prefix, len(page), want)
	}
	if _, _, err := f.store.QueuesNamed(f.ctx, "r", 9, "q0001"); !errors.Is(err, queues.ErrBadCursor) {
		f.Errorf("the cursor of another search: %v", err)
	}
	if _, _, err := f.store.Queues(f.ctx, 9, "a b"); !errors.Is(err, queues.ErrBadCursor) {
		f.Errorf("a cursor that is no name: %v", err)
	}
	if _, err := f.store.Queue(f.ctx, "none"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("no queue: %v", err)
	}
}

func first[T any](v T, _ string, _ error) T { return v }
