package queues_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

func vote1(uid, queue, data string) queues.Item {
	return queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(data)}
}

// testEnqueueTraced: the trace that a post came with stays with its transaction, however
// long the names in front of it are, and is no part of what was posted.
func testEnqueueTraced(f *fixture) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	const other = "00-00000000000000000000000000000001-0000000000000001-01"
	queue := strings.Repeat("q", 128)
	item := vote1("k", queue, `{"a":1}`)
	item.Trace = trace
	first := f.store.Enqueue(f.ctx, item)
	f.ok(first.Err)
	equal(f.T, "as it was accepted", first.Transaction, f.get("k"))
	item.Trace = other
	again := f.store.Enqueue(f.ctx, item)
	if again.Err != nil || !again.Existed || again.Transaction.Trace != trace {
		f.Errorf("again, in another trace: %+v", again)
	}
	f.register("S")
	f.bound("k S")
	f.to("k", tx.PhaseSent)
	equal(f.T, "under way", f.get("k").Trace, trace)
	f.post(queue, "plain")
	equal(f.T, "not traced", f.get("plain").Trace, "")
	list, _, err := f.store.List(f.ctx, queues.Filter{Queue: queue}, 9, "")
	f.ok(err)
	if len(list) != 2 || list[0].Trace != trace {
		f.Errorf("listed: %+v", list)
	}
	long := queues.Item{UID: "long", Queue: queue, Type: strings.Repeat("T", 64), Data: json.RawMessage(`1`), Trace: trace}
	f.ok(f.store.Enqueue(f.ctx, long).Err)
	p, err := f.store.ReadLog(f.ctx, 0, 99)
	f.ok(err)
	last := p.Entries[len(p.Entries)-1]
	equal(f.T, "the longest names in the log", last.Type+" "+last.Queue, long.Type+" "+queue)
}

// testEnqueueDry: what is dry is answered as if it were posted, alone and together with what is,
// and leaves nothing, the next sequence included.
func testEnqueueDry(f *fixture) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 2})
	f.post("q", "a", "b")
	f.post("r", "gone")
	f.to("gone", tx.PhaseFailed)
	f.ok(f.store.Remove(f.ctx, "gone"))
	var before []string
	kept := func() (keys []string) {
		it := f.client.Scan(f.ctx, 0, f.key("*"), 0).Iterator()
		for it.Next(f.ctx) {
			keys = append(keys, it.Val())
		}
		f.ok(it.Err())
		slices.Sort(keys)
		return keys
	}
	before = kept()
	for _, tc := range []struct {
		uid, queue, data string
		existed          bool
		want             error
	}{
		{"c", "r", `{}`, false, nil},
		{"", "r", `{}`, false, nil},
		{"c", "q", `{}`, false, queues.ErrTooManyWaiting},
		{"a", "q", `{"n":1}`, true, nil},
		{"a", "q", `{"n":2}`, false, queues.ErrKeyReused},
		{"gone", "r", `{"n":1}`, false, queues.ErrKeyGone},
	} {
		item := vote1(tc.uid, tc.queue, tc.data)
		item.Dry = true
		got := f.store.Enqueue(f.ctx, item)
		if !errors.Is(got.Err, tc.want) || got.Existed != tc.existed {
			f.Errorf("%s to %s: %v, existed %v", tc.uid, tc.queue, got.Err, got.Existed)
		}
		if got.Err == nil && !tc.existed {
			equal(f.T, "the sequence that it would have", got.Transaction.Sequence, int64(4))
			equal(f.T, "its state", got.Transaction.State(), tx.Waiting)
		}
	}
	equal(f.T, "what is stored", kept(), before)
	dry := vote1("d", "r", `{}`)
	dry.Dry = true
	together := f.store.EnqueueBatch(f.ctx, []queues.Item{vote1("x", "r", `1`), dry, vote1("y", "r", `1`)})
	for i, want := range []int64{4, 5, 5} {
		f.ok(together[i].Err)
		equal(f.T, "among others", together[i].Transaction.Sequence, want)
	}
	if _, err := f.store.Get(f.ctx, "d"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("what was dry: %v", err)
	}
	before = kept()
	for name, c := range map[string]struct {
		inAll int
		want  []error
	}{
		"room in the queue": {want: []error{nil, nil, queues.ErrKeyReused, nil, nil, queues.ErrTooManyWaiting,
			queues.ErrTooManyWaiting}},
		"room in all": {inAll: 6, want: []error{nil, nil, queues.ErrKeyReused, nil, queues.ErrTooManyInAll,
			queues.ErrTooManyInAll, queues.ErrTooManyInAll}},
	} {
		store := f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 2, MaxWaitingInAll: c.inAll})
		batch := queues.NewBatch(store)
		var told []queues.Accepted
		for _, part := range [][][3]string{
			{{"u", "s", `1`}, {"u", "s", `1`}, {"u", "s", `2`}}, {{"", "t", `1`}, {"", "t", `1`}, {"", "t", `1`}, {"v", "t",
				`1`}},
		} {
			var items []queues.Item
			for _, p := range part {
				item := vote1(p[0], p[1], p[2])
				item.Dry = true
				items = append(items, item)
			}
			told = append(told, batch.Enqueue(f.ctx, items)...)
		}
		next := int64(6)
		for i, a := range told {
			if !errors.Is(a.Err, c.want[i]) || a.Existed != (i == 1) {
				f.Errorf("%s, %d of a batch: %v, existed %v", name, i, a.Err, a.Existed)
			}
			if a.Err == nil && !a.Existed {
				equal(f.T, "its sequence in the batch", a.Transaction.Sequence, next)
				next++
			}
		}
	}
	equal(f.T, "what is stored after a batch", kept(), before)
}

// testLongestHead: what stands in front of a payload is read whole where each part of it is as
// long as it may be.
func testLongestHead(f *fixture) {
	queue := strings.Repeat("q", 128)
	item := func(uid string) queues.Item {
		return queues.Item{
			UID: uid, Queue: queue, Type: "SUBMIT_BATCH", Ledger: strings.Repeat("l", 64),
			BatchID: uid + strings.Repeat("b", 127), Data: json.RawMessage(`{}`), By: strings.Repeat("k", 64),
			Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Terms: tx.Terms{
				NotBefore: f.now(), ExpiresAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), MaxFee: math.MaxUint64,
			},
		}
	}
	var want []string
	for _, uid := range []string{"a", "b", "c"} {
		f.ok(f.store.Enqueue(f.ctx, item(uid)).Err)
		want = append(want, uid)
	}
	equal(f.T, "what waits", f.list(queues.Filter{Queue: queue}, 9), want)
	for i, uid := range want[1:] {
		p, err := f.store.Place(f.ctx, uid)
		f.ok(err)
		equal(f.T, "place of "+uid, p, tx.Place{Ahead: i + 1, First: "a"})
	}
	f.inspect()
}

func testEnqueueTwice(f *fixture) {
	first := f.store.Enqueue(f.ctx, vote1("k", "q", `{"a":1,"b":[1.0,"x"]}`))
	f.ok(first.Err)
	if first.Existed || first.Transaction.Sequence != 1 || first.Transaction.State() != tx.Waiting {
		f.Errorf("accepted as %+v", first)
	}
	for _, tc := range []struct {
		name string
		item queues.Item
		want error
	}{
		{"the same", vote1("k", "q", `{"a":1,"b":[1.0,"x"]}`), nil},
		{"fields in another order", vote1("k", "q", "{\"b\" : [1.0, \"\\u0078\"],\n\"a\":1}"), nil},
		{"another number", vote1("k", "q", `{"a":2,"b":[1.0,"x"]}`), queues.ErrKeyReused},
		{"the number in other digits", vote1("k", "q", `{"a":1,"b":[1,"x"]}`), queues.ErrKeyReused},
		{"another queue", vote1("k", "p", `{"a":1,"b":[1.0,"x"]}`), queues.ErrKeyReused},
		{"another type", queues.Item{UID: "k", Queue: "q", Type: batch, Data: json.RawMessage(`{"a":1,"b":[1.0,"x"]}`)},
			queues.ErrKeyReused},
	} {
		got := f.store.Enqueue(f.ctx, tc.item)
		if !errors.Is(got.Err, tc.want) || (tc.want == nil && (got.Err != nil || !got.Existed)) {
			f.Errorf("%s: %v, existed %v; want %v", tc.name, got.Err, got.Existed, tc.want)
		}
		if got.Err == nil {
			equal(f.T, tc.name, string(got.Transaction.Data), `{"a":1,"b":[1.0,"x"]}`)
		}
	}
	twice := f.store.EnqueueBatch(f.ctx, []queues.Item{vote1("m", "q", `1`), vote1("m", "q", `1`), vote1("m", "q", `2`)})
	if twice[0].Err != nil || twice[0].Existed || !twice[1].Existed || !errors.Is(twice[2].Err, queues.ErrKeyReused) {
		f.Errorf("three of one key in a batch: %+v", twice)
	}
	equal(f.T, "waiting", f.list(queues.Filter{Queue: "q"}, 10), []string{"k", "m"})
}

// testEnqueueAlso: what is there, or was, under another uid that stands for an item's is that
// item, where it is of one of the queues named; else it is another one.
func testEnqueueAlso(f *fixture) {
	f.post("qa", "x", "gone")
	f.post("p", "y", "lost")
	for _, uid := range []string{"gone", "lost"} {
		f.to(uid, tx.PhaseFailed, person)
		f.ok(f.store.Remove(f.ctx, uid))
	}
	also := func(uid, queue, data, other string, within ...string) queues.Item {
		item := vote1(uid, queue, data)
		item.Also = []queues.Alias{{UID: "none", Within: queues.Prefixes{"q"}}, {UID: other, Within: within}}
		return item
	}
	data := string(f.get("x").Data)
	known := also("b1", "q", `{"n":1}`, "old", "q")
	known.Ledger, known.BatchID = "l", "b"
	former := known
	former.UID, former.Also = "old", nil
	f.ok(f.store.Enqueue(f.ctx, former).Err)
	differs := known
	differs.Data = json.RawMessage(`{"n":2}`)
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 4})
	for _, tc := range []struct {
		name, uid string // that it is known by; "" if it is none
		item      queues.Item
		want      error
	}{
		{"known", "x", also("A~x", "qa", data, "x", "p", "q"), nil},
		{"with other data", "", also("A~x", "qa", `{"n":9}`, "x", "p", "q"), queues.ErrKeyReused},
		{"in another queue", "", also("A~x", "qb", data, "x", "p", "q"), queues.ErrKeyReused},
		{"of a queue that is not named", "A~y", also("A~y", "qa", data, "y", "q", "P", "py"), nil},
		{"of a queue that is", "", also("C~y", "qa", data, "y", "p"), queues.ErrKeyReused},
		{"its own before another", "A~y", also("A~y", "qa", data, "x", "q"), nil},
		{"removed", "", also("A~gone", "qa", data, "gone", "q"), queues.ErrKeyGone},
		{"removed of a queue that is not named", "A~lost", also("A~lost", "qa", data, "lost", "q"), nil},
		{"not there", "A~z", also("A~z", "qa", data, "z", "q"), nil},
		{"no room", "", also("A~v", "qa", data, "v", "q"), queues.ErrTooManyWaiting},
		{"known, and no room", "x", also("A~x", "qa", data, "x", "q"), nil},
		{"a batch", "old", known, nil},
		{"a batch with other data", "", differs, queues.ErrKeyReused},
	} {
		got := f.store.Enqueue(f.ctx, tc.item)
		existed := tc.uid == "x" || tc.uid == "old" || tc.name == "its own before another"
		if !errors.Is(got.Err, tc.want) || got.Err == nil && got.Existed != existed {
			f.Errorf("%s: %v, existed %v; want %v", tc.name, got.Err, got.Existed, tc.want)
		}
		if got.Err == nil {
			equal(f.T, tc.name, got.Transaction.UID, tc.uid)
		}
	}
	together := f.store.EnqueueBatch(f.ctx, []queues.Item{
		vote1("m", "r", `1`), also("A~m", "r", `1`, "m", "r"), also("A~m", "r", `2`, "m", "r"),
		also("A~n", "r", `1`, "n", "r"), vote1("o", "r", `1`),
	})
	if together[0].Existed || !together[1].Existed || together[1].Transaction.UID != "m" ||
		!errors.Is(together[2].Err, queues.ErrKeyReused) || together[3].Err != nil || together[3].Existed {
		f.Errorf("together: %+v", together)
	}
	equal(f.T, "waiting", f.list(queues.Filter{Queue: "r"}, 10), []string{"m", "A~n", "o"})
	equal(f.T, "waiting", f.list(queues.Filter{Queue: "qa"}, 10), []string{"x", "A~y", "A~lost", "A~z"})
	f.inspect()
}

func testEnqueueRemoved(f *fixture) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, Retention: 400 * time.Millisecond, EventsKeep: 1})
	f.post("q", "k")
	f.to("k", tx.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "k"))
	if _, err := f.store.Get(f.ctx, "k"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("get of a removed one: %v", err)
	}
	if a := f.store.Enqueue(f.ctx, vote1("k", "q", `{}`)); !errors.Is(a.Err, queues.ErrKeyGone) {
		f.Errorf("a removed key was taken: %+v", a)
	}
	f.eventually("the key is forgotten", func() bool {
		return f.store.Enqueue(f.ctx, vote1("k", "q", `{}`)).Err == nil
	})
	if got := f.get("k"); got.Sequence != 2 || got.State() != tx.Waiting {
		f.Errorf("accepted anew as %+v", got)
	}
}

func testEnqueueOrder(f *fixture) {
	var items []queues.Item
	for i := range 1200 {
		items = append(items, vote1("", fmt.Sprintf("q%d", i%3), `{}`))
	}
	uids := map[string]bool{}
	for i, a := range f.store.EnqueueBatch(f.ctx, items) {
		if a.Err != nil || a.Transaction.Sequence != int64(i+1) {
			f.Fatalf("item %d: %+v", i, a)
		}
		uids[a.Transaction.UID] = true
	}
	if len(uids) != len(items) {
		f.Errorf("%d uids for %d transactions", len(uids), len(items))
	}
	equal(f.T, "counts", f.queue("q1").Counts[tx.Waiting], 400)
}

func testEnqueueTogether(f *fixture) {
	const n = 64
	accepted := make([]queues.Accepted, 2*n)
	var all sync.WaitGroup
	for i := range accepted {
		all.Go(func() {
			uid := "same"
			if i >= n {
				uid = fmt.Sprint("own-", i)
			}
			accepted[i] = f.store.Enqueue(f.ctx, vote1(uid, "q", `{}`))
		})
	}
	all.Wait()
	news, sequences := 0, map[int64]bool{}
	for i, a := range accepted {
		f.ok(a.Err)
		if i < n && !a.Existed {
			news++
		}
		sequences[a.Transaction.Sequence] = true
	}
	if news != 1 || len(sequences) != n+1 {
		f.Errorf("%d posts of one key were accepted as new, %d sequences", news, len(sequences))
	}
	if calls := f.store.Calls(); calls > 4*n {
		f.Errorf("%d calls for %d posts", calls, 2*n)
	}
	cancelled, cancel := context.WithCancel(f.ctx)
	cancel()
	if a := f.store.Enqueue(cancelled, vote1("late", "q", `{}`)); a.Err != nil &&
		!errors.Is(a.Err, queues.ErrUnavailable) {
		f.Errorf("a post without time: %v", a.Err)
	}
}

// testEnqueueLimitOfOne: a limit of one is one.
func testEnqueueLimitOfOne(f *fixture) {
	one := f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 1})
	f.ok(one.Enqueue(f.ctx, vote1("a", "q", `{}`)).Err)
	if a := one.Enqueue(f.ctx, vote1("b", "q", `{}`)); !errors.Is(a.Err, queues.ErrTooManyWaiting) {
		f.Errorf("the second: %+v", a)
	}
	var log bytes.Buffer
	for limit, want := range []string{1: "every post is refused, for 1 transactions wait and SEQUENCER_MAX_WAITING_TOTAL allows 1", 2: ""} {
		one = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaitingInAll: limit,
			Log: slog.New(slog.NewTextHandler(&log, nil))})
		v, err := one.Overview(f.ctx)
		f.ok(err)
		why, remedy := v.Crowded()
		equal(f.T, fmt.Sprintf("what is said of one with a limit of %d", limit), []any{why, remedy != ""}, []any{want, want != ""})
	}
	one = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaitingInAll: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if a := one.Enqueue(f.ctx, vote1("b", "p", `{}`)); !errors.Is(a.Err, queues.ErrTooManyInAll) {
			f.Errorf("the second in all: %+v", a)
		}
	}
	equal(f.T, "how often the log has it within a minute", strings.Count(log.String(), "posts are refused"), 1)
}

func testEnqueueLimit(f *fixture) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 2})
	f.register("S")
	f.post("q", "a", "b")
	f.post("p", "c")
	if a := f.store.Enqueue(f.ctx, vote1("d", "q", `{}`)); !errors.Is(a.Err, queues.ErrTooManyWaiting) {
		f.Errorf("the third: %+v", a)
	}
	if a := f.store.Enqueue(f.ctx, vote1("a", "q", `{"n":1}`)); a.Err != nil || !a.Existed {
		f.Errorf("the first once more: %+v", a)
	}
	f.bound("a S")
	f.post("q", "d")
	if a := f.store.Enqueue(f.ctx, vote1("e", "q", `{}`)); !errors.Is(a.Err, queues.ErrTooManyWaiting) {
		f.Errorf("one too many: %+v", a)
	}
}

// testEnqueueParts: behind what a queue could not take nothing of it is tried any more in that
// batch, though it has room by then; of others it is, unless nothing at all is taken.
func testEnqueueParts(f *fixture) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 2})
	f.register("S")
	enqueue := func(b *queues.Batch, uids string, want ...error) { // each by its queue and a letter
		f.Helper()
		var items []queues.Item
		for _, uid := range strings.Fields(uids) {
			items = append(items, vote1(uid, uid[:1], `{}`))
		}
		for i, a := range b.Enqueue(f.ctx, items) {
			if !errors.Is(a.Err, want[i]) || a.Err == nil != (a.Transaction != nil) {
				f.Errorf("%s: %v, want %v", items[i].UID, a.Err, want[i])
			}
		}
	}
	full, all := queues.ErrTooManyWaiting, queues.ErrTooManyInAll
	first := queues.NewBatch(f.store)
	enqueue(first, "qa qb qc pd", nil, nil, full, nil)
	f.bound("qa S")
	enqueue(first, "qe pf qg", full, nil, full)
	enqueue(queues.NewBatch(f.store), "qc", nil)
	f.store.MaxWaitingInAll = 4
	second := queues.NewBatch(f.store)
	enqueue(second, "rh", all)
	f.store.MaxWaitingInAll = 9
	enqueue(second, "rh si", all, all)
	enqueue(queues.NewBatch(f.store), "rh si", nil, nil)
	equal(f.T, "of q", f.list(queues.Filter{Queue: "q"}, 9), []string{"qa", "qb", "qc"})
}

// What comes back to wait counts, and is never refused.
func testEnqueueTotal(f *fixture) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaitingInAll: 3, MaxWaiting: 2})
	f.register("S")
	batch := f.store.EnqueueBatch(f.ctx, []queues.Item{
		vote1("a", "q", `{}`), vote1("b", "p", `{}`), vote1("c", "p", `{}`), vote1("d", "r", `{}`), vote1("a", "q", `{}`),
	})
	for i, want := range []error{nil, nil, nil, queues.ErrTooManyInAll, nil} {
		if !errors.Is(batch[i].Err, want) {
			f.Errorf("item %d: %v, want %v", i, batch[i].Err, want)
		}
	}
	full := func(want error) {
		f.Helper()
		if a := f.store.Enqueue(f.ctx, vote1("e", "r", `{}`)); !errors.Is(a.Err, want) {
			f.Errorf("one more: %v, want %v", a.Err, want)
		}
	}
	full(queues.ErrTooManyInAll)
	bound := f.bound("a S")[0]
	f.post("r", "f")
	full(queues.ErrTooManyInAll)
	f.ok(f.advance(bound.Transaction, tx.PhaseWaiting))
	full(queues.ErrTooManyInAll)
	f.bound("b S")
	full(queues.ErrTooManyInAll)
	f.store.MaxWaitingInAll = 4
	full(nil)
}

func testEnqueueCancelled(f *fixture) {
	// A post whose context ends while others share its call still gets its answer.
	slow, err := queues.Open(f.client, queues.Options{Namespace: f.store.Namespace})
	f.ok(err)
	ctx, cancel := context.WithCancel(f.ctx)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			who := f.ctx
			if i%2 == 0 {
				who = ctx
			}
			if a := slow.Enqueue(who, vote1(fmt.Sprint("u", i), "q", `{}`)); a.Err != nil && i%2 == 1 {
				f.Errorf("post %d: %v", i, a.Err)
			}
		})
	}
	cancel()
	all.Wait()
}

func testPayloadUnchanged(f *fixture) {
	for i, data := range []string{
		`{"field":28948022309329048855892746252171976963363056481941560715954676764349967630337,"x":1.10,"e":1E2}`,
		"{\"s\":\"\\u0041\\/\",\n \"t\":\"é\u2028\"}", `[]`, `"` + strings.Repeat("x", 100_000) + `"`,
	} {
		uid := fmt.Sprint("u:", i)
		f.ok(f.store.Enqueue(f.ctx, vote1(uid, "q.-_:"+fmt.Sprint(i), data)).Err)
		if got := f.get(uid); string(got.Data) != data || got.Type != vote || got.Queue != "q.-_:"+fmt.Sprint(i) {
			f.Errorf("%.60s came back as %.60s in %s", data, got.Data, got.Queue)
		}
	}
}

// gated stops the calls of scripts, each until its gate opens.
type gated struct {
	gates []chan struct{}
	calls atomic.Int32
}

func (g *gated) pass() {
	if n := int(g.calls.Add(1)); n <= len(g.gates) {
		<-g.gates[n-1]
	}
}

func (g *gated) DialHook(next redis.DialHook) redis.DialHook { return next }
func (g *gated) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (g *gated) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			g.pass()
		}
		return next(ctx, cmd)
	}
}

// TestEnqueueAbandoned: once nobody waits for a post any more, its bytes may be
// overwritten. What is on its way holds what was posted, and the rest is not sent.
func TestEnqueueAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		f.post("q", "known")
		o := *f.client.Options()
		client := redis.NewClient(&o)
		t.Cleanup(func() { _ = client.Close() })
		g := &gated{gates: []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}}
		client.AddHook(g)
		store, err := queues.Open(client, f.store.Options)
		f.ok(err)
		var done sync.WaitGroup
		for range 2 { // as many as are under way at a time
			done.Go(func() {
				_, err := store.Get(t.Context(), "known")
				f.ok(err)
			})
		}
		synctest.Wait()
		abandon := func(uid string, while func()) {
			ctx, cancel := context.WithCancel(t.Context())
			item := vote1(uid, "q", `{"n":1}`)
			done.Go(func() {
				if a := store.EnqueueBatch(ctx, []queues.Item{item})[0]; !errors.Is(a.Err, queues.ErrUnavailable) {
					f.Errorf("%s: %+v", uid, a)
				}
				copy(item.Data, `{"n":2}`)
			})
			synctest.Wait()
			while()
			cancel()
			synctest.Wait()
		}
		abandon("waits", func() {})
		abandon("sent", func() { close(g.gates[0]); synctest.Wait() })
		close(g.gates[1])
		close(g.gates[2])
		done.Wait()
		synctest.Wait() // for the call that nobody waits for
		equal(t, "what was sent", string(f.get("sent").Data), `{"n":1}`)
		if _, err := f.store.Get(f.ctx, "waits"); !errors.Is(err, queues.ErrNotFound) {
			t.Errorf("what nobody waited for: %v", err)
		}
	})
}

// TestEnqueueGivenUp: who gives up a post that is on its way in no call waits no longer, and it is
// never sent. One that is on its way is answered by that call: until then its bytes are read.
func TestEnqueueGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		f.post("q", "known")
		o := *f.client.Options()
		client := redis.NewClient(&o)
		t.Cleanup(func() { _ = client.Close() })
		g := &gated{gates: []chan struct{}{make(chan struct{}), make(chan struct{})}}
		client.AddHook(g)
		store, err := queues.Open(client, f.store.Options)
		f.ok(err)
		var all sync.WaitGroup
		var over atomic.Int64
		post := func(ctx context.Context, uid string, want error) {
			all.Go(func() {
				item := vote1(uid, "q", `{"n":1}`)
				if a := store.Enqueue(ctx, item); !errors.Is(a.Err, want) || a.Err == nil && a.Transaction.UID != uid {
					f.Errorf("%s: %+v", uid, a)
				}
				copy(item.Data, `{"n":2}`)
				over.Add(1)
			})
			synctest.Wait()
		}
		post(f.ctx, "first", nil)
		ctx, cancel := context.WithCancel(f.ctx)
		for i := range 20 {
			post(ctx, fmt.Sprint("given-up-", i), queues.ErrUnavailable)
		}
		cancel()
		synctest.Wait()
		equal(t, "over", over.Load(), 20)

		ctx, cancel = context.WithCancel(f.ctx)
		post(ctx, "taken", nil)
		post(f.ctx, "last", nil)
		close(g.gates[0])
		synctest.Wait()
		cancel()
		synctest.Wait()
		equal(t, "over", over.Load(), 21)
		close(g.gates[1])
		all.Wait()
		equal(t, "accepted", f.list(queues.Filter{Queue: "q"}, 50), []string{"known", "first", "taken", "last"})
		equal(t, "what was taken", string(f.get("taken").Data), `{"n":1}`)
	})
}

// failing has the first scripts not reach Redis.
type failing struct{ left atomic.Int32 }

func (h *failing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && h.left.Add(-1) >= 0 {
			err := errors.New("READONLY: no more than a replica")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// TestEnqueueInOrder: what stands behind what was not taken overtakes nothing, however
// large a batch is; sent once more, all of it comes in order.
func TestEnqueueInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Mini(t).Client, "seq")
	o := *f.client.Options()
	client := redis.NewClient(&o)
	t.Cleanup(func() { _ = client.Close() })
	fails := new(failing)
	client.AddHook(fails)
	store, err := queues.Open(client, f.store.Options)
	f.ok(err)
	large := `{"d":"` + strings.Repeat("x", 600<<10) + `"}`
	items := []queues.Item{vote1("a", "q", large), vote1("b", "q", large), vote1("c", "q", large), vote1("d", "q", `{}`)}
	fails.left.Store(1)
	for i, a := range store.EnqueueBatch(f.ctx, items) {
		if !errors.Is(a.Err, queues.ErrUnavailable) {
			t.Errorf("%s: %+v", items[i].UID, a)
		}
	}
	for i, a := range store.EnqueueBatch(f.ctx, items) {
		if a.Err != nil || a.Existed || a.Transaction.Sequence != int64(i+1) {
			t.Errorf("%s: %+v", items[i].UID, a)
		}
	}
}

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
	again := queues.Item{UID: "A~b", Queue: "q", Type: vote, Data: f.get("b").Data,
		Also: []queues.Alias{{UID: "b", Within: queues.Prefixes{"q"}}}}
	if a := f.store.Enqueue(f.ctx, again); a.Err != nil || !a.Existed || a.Transaction.UID != "b" {
		f.Errorf("what is known by another uid: %+v", a)
	}
	if again.Data = json.RawMessage(`{"n":9}`); !errors.Is(f.store.Enqueue(f.ctx, again).Err, queues.ErrFull) {
		f.Error("what is not known finds room")
	}
	if err := f.store.Ping(f.ctx); !errors.Is(err, queues.ErrFull) {
		f.Errorf("ping of a full store: %v", err)
	}
	f.ok(f.advance(bound, tx.PhaseDispatching, firstPlan))
	f.ok(f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"}, queues.Facts{Hash: "h"}))
	f.ok(f.advance(bound, tx.PhaseSent, signed(1, big)))
	f.ok(f.advance(bound, tx.PhaseDone, tell(tx.OnSuccess, 0, time.Hour)))
	f.heartbeat(me, time.Hour)
	f.tick()
	_, err := f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	f.ok(f.pool.Rest(f.ctx, "S", time.Hour, tx.Rested, ""))
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.bound("b S")
	equal(f.T, "what was accepted is there", len(f.list(queues.Filter{}, 50)), accepted-1+2)
	f.to("b", tx.PhaseFailed)
	f.inspect()
}

// TestFullStart: a process begins on a Redis that is full, takes its turns, and regains what it
// has claimed: else what is there could not go on, and nothing would make room.
func TestFullStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Start(t).Client, "seq")
	f.ok(f.store.Check(f.ctx))
	_, err := f.store.Remember(f.ctx, "network", "mainnet")
	f.ok(err)
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.ok(f.client.ConfigSet(f.ctx, "maxmemory", "100kb").Err())
	f.store = f.open(f.store.Options)
	if err := f.store.Ping(f.ctx); !errors.Is(err, queues.ErrFull) {
		f.Fatalf("ping of a full store: %v", err)
	}
	// Only what is not there yet needs room: who asks again is answered as before.
	a := queues.Item{UID: "a", Queue: "q", Type: vote, Data: []byte(`{"n":1}`)}
	if again := f.store.Enqueue(f.ctx, a); !again.Existed || again.Err != nil {
		f.Errorf("the same again: %+v", again)
	}
	if a.Data = []byte(`{"other":1}`); !errors.Is(f.store.Enqueue(f.ctx, a).Err, queues.ErrKeyReused) {
		f.Error("another one under its key was not refused as that")
	}
	if a.UID = "b"; !errors.Is(f.store.Enqueue(f.ctx, a).Err, queues.ErrFull) {
		f.Error("a new one was not refused as too many")
	}
	if err := f.store.Check(f.ctx); err != nil {
		f.Errorf("check of a full store: %v", err)
	}
	if network, err := f.store.Remember(f.ctx, "network", "devnet"); err != nil || network != "mainnet" {
		f.Errorf("remembered: %q, %v", network, err)
	}
	for _, want := range []bool{true, false} {
		if mine, err := f.store.Turn(f.ctx, "work", time.Hour); err != nil || mine != want {
			f.Errorf("the turn: %v, %v, want %v", mine, err, want)
		}
	}
	if err := f.store.Recovery().Regain(f.ctx, me, func(string) bool { return false }); err != nil {
		f.Errorf("regain: %v", err)
	}
	equal(f.T, "due", f.tick().Due, []string{"a"})
	// What is kept for the first time needs room.
	if _, err := f.store.Remember(f.ctx, "another", "one"); !errors.Is(err, queues.ErrFull) {
		f.Errorf("remembered anew: %v", err)
	}
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
		change(bound[0].Transaction, tx.PhaseSent, func(c *queues.Change) { c.Confirm = true }))
	if !errors.Is(err, queues.ErrUnconfirmed) {
		t.Errorf("without a replica: %v", err)
	}
	txn, err := store.Get(ctx, "a")
	ok(err)
	if txn.Phase != tx.PhaseSent {
		t.Errorf("stored: %s", txn.Phase)
	}
	equal(t, "told with the error", stored, txn)
}
