package queues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

func testStrictOrder(f *fixture) {
	f.register("S1", "S2", "S3", "S4")
	f.post("q", "a", "b", "c")
	f.bound("a S1")
	for _, phase := range []tx.Phase{tx.PhaseSent, tx.PhaseWatching, tx.PhaseFailing,
		tx.PhaseDelayed, tx.PhaseDispatching} {
		f.to("a", phase)
		f.bound()
		if q := f.queue("q"); q.State() != phase.Queue() || q.Sender != "S1" || q.Running != "a" ||
			q.Counts[phase.State()] != 1 {
			f.Errorf("in %s the queue is %+v", phase, q)
		}
		if s := f.sender("S1"); s.State() != phase.Queue() || s.Queue != "q" {
			f.Errorf("in %s the sender is %+v", phase, s)
		}
	}
	f.to("a", tx.PhaseDone)
	f.bound("b S2")
	f.to("b", tx.PhaseUnresolved)
	f.bound("c S3")
	f.to("c", tx.PhaseFailed)
	f.bound()
	if q := f.queue("q"); q.State() != tx.QueueFree || q.Counts[tx.Done] != 1 ||
		q.Counts[tx.Failed] != 1 || q.Counts[tx.Unresolved] != 1 {
		f.Errorf("at the end the queue is %+v", q)
	}
}

func testBackToWaiting(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a", "b", "c")
	f.post("p", "d")
	f.bound("a S1", "d S2")
	f.to("a", tx.PhaseWaiting)
	equal(f.T, "order", f.list(queues.Filter{Queue: "q"}, 2), []string{"a", "b", "c"})
	f.bound("a S1")
	f.to("a", tx.PhaseWaiting, rest(time.Hour, tx.Rested))
	f.to("d", tx.PhaseWaiting)
	if got := f.get("a"); got.Sequence != 1 || got.Claim != "" {
		f.Errorf("back in its line: %+v", got)
	}
	f.bound("a S2") // its queue has waited longer than that of d
	f.to("a", tx.PhaseDone)
	f.bound("d S2") // one round: that of b has just had its turn
	f.to("d", tx.PhaseDone)
	f.bound("b S2")
}

func testCancelInLine(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c", "d")
	f.to("a", tx.PhaseFailed, person, withCode("CANCELLED")) // the head: the queue moves up
	f.to("c", tx.PhaseFailed, person)                        // amid the line
	f.bound("b S")
	f.to("b", tx.PhaseDone)
	f.bound("d S")
	f.to("d", tx.PhaseDone)
	f.bound()
	equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, 3), []string{"a", "b", "c", "d"})
}

func testCancelAndRetryInLine(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.to("b", tx.PhaseFailed, person)
	f.to("b", tx.PhaseWaiting, person)
	f.bound("a S")
	f.to("a", tx.PhaseDone)
	f.bound("b S") // the line had not come to it
	f.to("b", tx.PhaseWaiting)
	f.bound("b S")
	f.to("b", tx.PhaseDone)
	f.bound("c S")
}

func testCancelAndRetryLate(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c", "d")
	f.to("b", tx.PhaseFailed, person)
	f.bound("a S")
	f.to("a", tx.PhaseFailed)
	f.bound("c S") // the line has passed b
	f.to("b", tx.PhaseWaiting, person)
	f.to("a", tx.PhaseWaiting, person)
	equal(f.T, "order", f.list(queues.Filter{Queue: "q", State: tx.Waiting}, 1), []string{"a", "b", "d"})
	f.to("c", tx.PhaseDone)
	for _, uid := range []string{"a", "b", "d"} {
		f.bound(uid + " S")
		f.to(uid, tx.PhaseDone)
	}
	f.bound()
}

func testCancelledInNumbers(f *fixture) {
	f.register("S")
	uids := numbered("u", 0, 1300)
	var items []queues.Item
	for _, uid := range uids {
		items = append(items, vote1(uid, "q", `{"n":1}`))
	}
	for _, a := range f.store.EnqueueBatch(f.ctx, items) {
		f.ok(a.Err)
	}
	f.ok(f.store.Pause(f.ctx, "q", "meanwhile"))
	for i, uid := range uids[:1300] {
		f.to(uid, tx.PhaseFailed, person)
		if i > 300 && i < 700 {
			f.ok(f.store.Remove(f.ctx, uid)) // nothing of them is left in the line
		}
	}
	left := slices.Concat(uids[:301], uids[700:])
	equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, 100), left)
	equal(f.T, "waiting", f.list(queues.Filter{Queue: "q", State: tx.Waiting}, 100), uids[1300:])
	f.ok(f.store.Resume(f.ctx, "q"))
	f.eventually("the line comes to the one that waits", func() bool {
		f.tick()
		bound := f.bind(1)
		return len(bound) == 1 && bound[0].Transaction.UID == uids[1300]
	})
}

// testPlaceOfMany: of those cancelled in a long line the first 501 places are looked at.
func testPlaceOfMany(f *fixture) {
	uids := numbered("u", 0, 600)
	f.fill("q", uids)
	for _, i := range []int{3, 500, 501} {
		f.to(uids[i], tx.PhaseFailed, person)
	}
	for at, want := range map[int]int{2: 2, 4: 3, 499: 498, 502: 500, 600: 598} {
		got, err := f.store.Place(f.ctx, uids[at])
		f.ok(err)
		equal(f.T, "place of "+uids[at], got, tx.Place{Ahead: want, First: uids[0]})
	}
}

func testReopened(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseDone, keep, due(time.Hour))
	f.bound("b S")
	f.to("a", tx.PhaseWaiting,
		record(reopened), withCode("REOPENED"))
	f.bound() // its successor runs
	f.to("b", tx.PhaseWaiting)
	f.to("c", tx.PhaseDone, tell(tx.OnSuccess, long, long), person)
	f.to("c", tx.PhaseWaiting,
		record(reopened))
	if _, told := f.dump().sets["due"]["c:c"]; told {
		f.Error("it is no end, and yet to be told")
	}
	awaited, err := f.store.Callbacks(f.ctx, "q", f.now())
	f.ok(err)
	if len(awaited) > 0 || !f.queue("q").NextAt.IsZero() {
		f.Errorf("the queue waits for %v", awaited)
	}
	for _, uid := range []string{"a", "b", "c"} {
		f.bound(uid + " S")
		f.to(uid, tx.PhaseDone)
	}
	f.to("b", tx.PhaseFailed)
	f.to("b", tx.PhaseDone, withCode("LATE"))
	equal(f.T, "done", f.list(queues.Filter{State: tx.Done}, 2), []string{"a", "b", "c"})
}

// testReopenedBeforeDamaged: what comes back while what runs behind it cannot be read does so once.
func testReopenedBeforeDamaged(f *fixture) {
	f.veiled = true
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseDone, keep, due(time.Hour))
	f.bound("b S")
	back := record(reopened)
	for _, key := range []string{"x:b", "t:b"} {
		whole := f.client.Get(f.ctx, f.key(key)).Val()
		f.ok(f.client.Set(f.ctx, f.key(key), "damaged", 0).Err())
		f.to("a", tx.PhaseWaiting, back)
		equal(f.T, "waiting", f.overview().Types[vote].Waiting, 1)
		f.ok(f.client.Set(f.ctx, f.key(key), whole, 0).Err())
		f.to("a", tx.PhaseDone, person, keep, due(time.Hour))
	}
}

func testPause(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a", "b")
	f.ok(f.store.Pause(f.ctx, "q", "too many errors"))
	f.ok(f.store.Pause(f.ctx, "q", "another reason"))
	f.bound()
	f.post("q", "c")
	f.bound()
	equal(f.T, "why", f.queue("q").Paused, "another reason")
	f.ok(f.store.Resume(f.ctx, "q"))
	f.bound("a S1")
	f.ok(f.store.Pause(f.ctx, "q", "amid")) // what runs goes on
	f.to("a", tx.PhaseWatching)
	f.to("a", tx.PhaseDone)
	f.bound()
	f.ok(f.store.Resume(f.ctx, "q"))
	f.ok(f.store.Resume(f.ctx, "q"))
	f.bound("b S2")
	pause := func(ctx context.Context, q string) error { return f.store.Pause(ctx, q, "x") }
	for _, change := range []func(context.Context, string) error{f.store.Resume, pause} {
		if err := change(f.ctx, "none"); !errors.Is(err, queues.ErrNotFound) {
			f.Errorf("a queue that is not there: %v", err)
		}
	}
	var log []string
	for _, e := range f.dump().events {
		if e.Kind == "q" {
			log = append(log, e.ID+" "+e.Code)
		}
	}
	equal(f.T, "events", log, []string{"q PAUSED", "q RESUMED", "q PAUSED", "q RESUMED"})
}

func testPauseEmpty(f *fixture) {
	f.post("q", "a")
	f.to("a", tx.PhaseFailed, person)
	f.ok(f.store.Pause(f.ctx, "q", "why"))
	f.ok(f.store.Remove(f.ctx, "a"))
	equal(f.T, "a paused queue outlives its transactions", f.queue("q").Paused, "why")
	f.post("q", "b")
	f.register("S")
	f.bound()
	f.to("b", tx.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "b"))
	f.ok(f.store.Resume(f.ctx, "q"))
	if _, err := f.store.Queue(f.ctx, "q"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("a resumed queue without transactions: %v", err)
	}
}

// testStop: what is posted to a queue that comes to be is held while a person has its like stopped,
// and nobody else is: not before, not behind the end of the stop, and not what there was.
func testStop(f *fixture) {
	f.register("S1", "S2", "S3", "S4")
	ctx := queues.By(f.ctx, "ops")
	f.post("a-there", "a")
	f.ok(f.store.Stop(ctx, queues.Prefixes{"a-", "c-"}, "its key\nhas leaked", time.Time{}))
	f.post("a-new", "b")
	f.post("c-new", "c")
	f.post("b-new", "d")
	f.bound("a S1", "d S2")
	for _, queue := range []string{"a-new", "c-new"} {
		equal(f.T, queue, f.queue(queue).Paused, "its key has leaked")
	}
	since := f.overview().Stops[0].Since
	if since.IsZero() || since.After(f.now()) {
		f.Errorf("stopped since %v", since)
	}
	equal(f.T, "stops", f.overview().Stops, []queues.Stop{
		{Prefix: "a-", Reason: "its key has leaked", Since: since, By: "ops"},
		{Prefix: "c-", Reason: "its key has leaked", Since: since, By: "ops"},
	})
	all, err := f.store.Events(f.ctx, 0, 100)
	f.ok(err)
	var told []string
	for _, e := range all {
		if e.Kind == queues.OfQueue || e.Actor != "" {
			told = append(told, e.ID+" "+e.Code+" "+e.Actor)
		}
	}
	equal(f.T, "events", told, []string{"a-new PAUSED ops", "c-new PAUSED ops"})
	f.ok(f.store.Stop(ctx, queues.Prefixes{"a-"}, "", time.Time{}))
	f.post("a-newer", "e")
	f.post("c-newer", "g")
	f.bound("e S3")
	f.ok(f.store.Stop(ctx, queues.Prefixes{"c"}, "", time.Time{}))
	equal(f.T, "stops", len(f.overview().Stops), 0)
	f.post("c-newest", "h")
	f.bound("h S4")
	f.ok(f.store.Resume(f.ctx, "a-new")) // it alone
	f.to("h", tx.PhaseDone)
	f.bound("b S4")
}

// testStopOfAPart: of what was said of a queue's like the last holds, also where it lets some run.
func testStopOfAPart(f *fixture) {
	stop := func(why string, until time.Time, within ...string) {
		f.Helper()
		f.ok(f.store.Stop(f.ctx, within, why, until))
	}
	never := time.Time{}
	stop("all", never, "a")
	stop("", never, "a-1", "b")
	stop("some", f.now().Add(time.Hour), "a-1-x")
	for queue, want := range map[string]string{"a-0": "all", "a-1": "", "a-1-0": "", "a-1-x0": "some", "b": ""} {
		f.post(queue, "in-"+queue)
		equal(f.T, queue, f.queue(queue).Paused, want)
	}
	equal(f.T, "until", f.queue("a-1-x0").PausedUntil, f.overview().Stops[2].Until)
	stop("over", f.now().Add(-time.Hour), "a-1")
	equal(f.T, "stops", len(f.overview().Stops), 2)
	f.post("a-1-x1", "over")
	equal(f.T, "a pause that is over", f.queue("a-1-x1").Paused, "")
	stop("all again", never, "a")
	once := f.overview().Stops
	<-time.After(2 * time.Millisecond)
	stop("all again", never, "a")
	equal(f.T, "stops", once, []queues.Stop{{Prefix: "a", Reason: "all again", Since: once[0].Since}})
	equal(f.T, "said twice", f.overview().Stops, once)
	stop("all again", f.now().Add(time.Hour), "a")
	if since := f.overview().Stops[0].Since; !since.After(once[0].Since) {
		f.Errorf("said anew: since %v", since)
	}
}

// testStopMany: no more are kept than every post may read, and of those that are no word is lost.
func testStopMany(f *fixture) {
	many := make(queues.Prefixes, queues.MostStops)
	for i := range many {
		many[i] = fmt.Sprintf("a-%03d", i)
	}
	f.ok(f.store.Stop(f.ctx, many, "why", time.Time{}))
	before := f.overview().Stops
	if err := f.store.Stop(f.ctx, queues.Prefixes{"b"}, "why", time.Time{}); !errors.Is(err, queues.ErrTooManyStops) {
		f.Errorf("one more: %v", err)
	}
	equal(f.T, "stops", f.overview().Stops, before)
	f.ok(f.store.Stop(f.ctx, queues.Prefixes{"a"}, "why", time.Time{}))
	equal(f.T, "stops", len(f.overview().Stops), 1)
}

// testWidth: what a person has set decides how many may be in flight, and less after what
// broke, until as many have landed. The process that drives the queue hears of it.
func testWidth(f *fixture) {
	f.register("S")
	f.post("q", "t1", "t2", "t3", "t4", "t5")
	f.bound("t1 S")
	next := uint32(0)
	sent := func(c *queues.Change) {
		made(tx.Attempt{Number: 1, Sender: "S", Nonce: next, State: tx.Sent})(c)
		next++
	}
	f.to("t1", tx.PhaseWatching, sent)
	joins := func(out int, want string) {
		f.Helper()
		run := f.queue("q").InFlight
		b, err := f.store.Join(f.ctx, queues.JoinRequest{
			Process: me, Queue: "q", Behind: run[len(run)-1], Out: out, Width: 2, Types: []string{vote},
		})
		f.ok(err)
		got := ""
		if b != nil {
			got = b.Transaction.UID
			f.to(got, tx.PhaseWatching, sent)
		}
		equal(f.T, fmt.Sprint("joins with ", out, " in no block"), got, want)
	}
	width := func(n int) {
		f.Helper()
		f.ok(f.store.SetWidth(f.ctx, "q", n))
		equal(f.T, "to look at", f.tick().Due, f.queue("q").InFlight[len(f.queue("q").InFlight)-1:])
	}
	joins(1, "t2")
	joins(2, "")
	width(1)
	joins(1, "")
	width(2)
	joins(2, "")
	width(4)
	joins(3, "t3")
	joins(4, "")
	breaks := func(c *queues.Change) { c.Broke, c.Width = true, 2 }
	lands := func(c *queues.Change) { c.Clean, c.Width = true, 2 }
	f.to("t1", tx.PhaseFailing, breaks)
	equal(f.T, "after a break", f.queue("q").Narrow, 2)
	f.to("t1", tx.PhaseWatching)
	joins(2, "")
	f.to("t1", tx.PhaseDone, lands, final)
	equal(f.T, "after a landing", f.queue("q").Narrow, 3)
	joins(2, "t4")
	joins(3, "")
	f.to("t2", tx.PhaseDone, lands, final)
	equal(f.T, "after another one", f.queue("q").Narrow, 0)
	f.to("t3", tx.PhaseFailing, breaks)
	width(0)
	equal(f.T, "as configured", []int{f.queue("q").Width, f.queue("q").Narrow}, []int{0, 0})
	width(8)
	f.to("t3", tx.PhaseDone, final, func(c *queues.Change) {
		c.Broke, c.Width, c.Code = true, 2, tx.CodeOutOfOrder
	})
	equal(f.T, "out of order", f.queue("q").Narrow, 1)
	f.to("t4", tx.PhaseFailing, breaks)
	equal(f.T, "one stays", f.queue("q").Narrow, 1)
	if err := f.store.SetWidth(f.ctx, "none", 2); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("a queue that is not there: %v", err)
	}
	f.register("S2")
	f.post("unset", "v")
	f.bound("v S2")
	noted := f.get("v")
	f.ok(f.store.NoteRace(f.ctx, "unset"))
	events := f.told("q")
	equal(f.T, "told of the queue", events[len(events)-1].ID+" "+events[len(events)-1].Code, "unset RACES")
	equal(f.T, "and nothing else", f.get("v"), noted)
	if err := f.store.NoteRace(f.ctx, "none"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("noted of a queue that is not there: %v", err)
	}
	f.to("v", tx.PhaseFailing, func(c *queues.Change) { c.Broke, c.Width = true, 6 })
	equal(f.T, "of the configured width", f.queue("unset").Narrow, 3)
	f.post("p", "u")
	f.to("u", tx.PhaseFailed, person)
	f.ok(f.store.SetWidth(f.ctx, "p", 2))
	f.ok(f.store.Remove(f.ctx, "u"))
	equal(f.T, "it outlives its transactions", f.queue("p").Width, 2)
	f.ok(f.store.SetWidth(f.ctx, "p", 0))
	if _, err := f.store.Queue(f.ctx, "p"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("a queue without transactions, of which nothing is said: %v", err)
	}
}

// testStreakTells: where a queue is paused by what ended UNRESOLVED, what still runs of it is told.
func testStreakTells(f *fixture) {
	s := f.open(queues.Options{Namespace: f.store.Namespace, UnresolvedLimit: 1})
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", State: tx.Sent}))
	b, err := s.Join(f.ctx, queues.JoinRequest{Process: me, Queue: "q", Behind: "a", Out: 1, Width: 2,
		Types: []string{vote}})
	f.ok(err)
	f.to("b", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", Nonce: 1, State: tx.Sent}))
	equal(f.T, "joined", b.Transaction.UID, "b")
	f.tick()
	equal(f.T, "to look at", f.tick().Due, nil)
	_, err = s.Advance(f.ctx, change(f.get("a"), tx.PhaseUnresolved))
	f.ok(err)
	equal(f.T, "to look at", f.tick().Due, []string{"b"})
}

// testPauseEnds: where a pause is over the log says so, and whoever drives what runs is told.
func testPauseEnds(f *fixture) {
	f.register("S")
	f.post("votes", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseWatching)
	told := func(code string) {
		f.Helper()
		told := f.told("q")
		equal(f.T, "event", told[len(told)-1], event{Kind: "q", ID: "votes", Code: code})
	}
	f.ok(f.store.Pause(f.ctx, "votes", "by a test"))
	told("PAUSED")
	f.ok(f.store.Resume(f.ctx, "votes"))
	told("RESUMED")
	f.ok(f.store.PauseUntil(f.ctx, "votes", "for a moment", f.now().Add(short)))
	equal(f.T, "to look at", f.tick().Due, []string{"a"})
	f.ok(f.store.Postpone(f.ctx, me, "a", queues.Never))
	f.eventually("the pause is over", func() bool { f.tick(); return f.queue("votes").Paused == "" })
	told("RESUMED")
	equal(f.T, "to look at", f.tick().Due, []string{"a"})
}

// testStreakOfWhom: as many in a row as the limit pause the queue where all are of one. What its
// sender has to do with it is told by the opinion of another one, so it goes on.
func testStreakOfWhom(f *fixture) {
	s := f.open(queues.Options{Namespace: f.store.Namespace, UnresolvedLimit: 3})
	f.register("S")
	after := func(queue, uid string, paused bool, row int) {
		f.Helper()
		f.post(queue, uid)
		f.bound(uid + " S")
		_, err := s.Advance(f.ctx, change(f.get(uid), tx.PhaseUnresolved))
		f.ok(err)
		equal(f.T, uid+": the queue is paused", f.queue(queue).Paused != "", paused)
		equal(f.T, uid+": the sender is out of use", string(f.sender("S").Reason), "")
		equal(f.T, uid+": of the sender in a row", f.sender("S").Unresolved, row)
	}
	after("votes", "a", false, 1)
	after("votes", "b", false, 2)
	limited := func(names ...string) {
		f.Helper()
		o, err := s.Overview(f.ctx)
		f.ok(err)
		var told []string
		for _, l := range o.Limited {
			told = append(told, l.Queue)
			if l.Since.IsZero() || l.Since.After(f.now()) {
				f.Errorf("%s is paused since %v", l.Queue, l.Since)
			}
		}
		equal(f.T, "paused by the limit", told, names)
		equal(f.T, "paused by the limit, in all", int(o.LimitedInAll), len(names))
	}
	limited()
	after("votes", "c", true, 3)
	limited("votes")
	equal(f.T, "events", f.told("q"), []event{{Kind: "q", ID: "votes", Sender: "S", Code: "PAUSED"}})
	f.ok(f.pool.Resume(f.ctx, "S"))
	after("r", "d", false, 1)
	f.post("p", "e")
	f.bound("e S")
	f.to("e", tx.PhaseDone) // neither is in a row any more
	after("r", "f", false, 1)
	after("p", "g", false, 2)
	after("p", "h", false, 3)
	after("x", "i", false, 4)
	f.post("x", "j")
	f.bound("j S")
	f.to("j", tx.PhaseDone)
	after("x", "k", false, 1)
	after("x", "l", false, 2)
	// A pause that ends by itself becomes one that does not.
	f.post("x", "m")
	f.bound("m S")
	f.ok(f.store.PauseUntil(f.ctx, "x", "for a while", f.now().Add(long)))
	_, err := s.Advance(f.ctx, change(f.get("m"), tx.PhaseUnresolved))
	f.ok(err)
	if q := f.queue("x"); !q.PausedUntil.IsZero() || q.Paused != "3 transactions in a row ended UNRESOLVED" {
		f.Errorf("paused until %v: %s", q.PausedUntil, q.Paused)
	}
	if _, planned := f.dump().sets["due"]["p:x"]; planned {
		f.Error("it is looked at when it would have ended")
	}
	limited("votes", "x")
	f.ok(f.store.Resume(f.ctx, "x"))
	limited("votes")
	// Whose word it is, a person's from now on, nobody has to hear of.
	f.ok(f.store.Pause(f.ctx, "votes", "seen"))
	limited()
	// Who resumes a queue has it begin anew.
	f.ok(f.store.Resume(f.ctx, "votes"))
	f.ok(f.pool.Resume(f.ctx, "S"))
	after("votes", "n", false, 1)
	after("votes", "o", false, 2)
	after("votes", "q", true, 3)
}

// testDoubt: a sender that is doubted rests, and each time counts. What another one says in the
// same words absolves both, and ends no rest for another reason.
func testDoubt(f *fixture) {
	s := f.open(queues.Options{Namespace: f.store.Namespace, UnresolvedLimit: 3})
	f.register("A", "B")
	f.post("q", "a")
	f.bound("a A")
	doubt := change(f.get("a"), tx.PhaseWaiting, func(c *queues.Change) { c.After.Doubted = "A" })
	doubt.Rest = &lifecycle.Rest{For: long, Why: tx.Rested, By: lifecycle.ByDoubt, Detail: "it is doubted"}
	_, err := s.Advance(f.ctx, doubt)
	f.ok(err)
	a := f.sender("A")
	equal(f.T, "the doubted one", []any{a.Reason, a.Detail, a.Unresolved, a.Until.IsZero()},
		[]any{tx.Rested, "it is doubted", 1, false})
	equal(f.T, "in the record", f.get("a").Doubted, "A")
	f.bound("a B")
	same := change(f.get("a"), tx.PhaseUnresolved)
	same.Absolved = "A"
	_, err = s.Advance(f.ctx, same)
	f.ok(err)
	for _, of := range []string{"A", "B"} {
		equal(f.T, of, []any{f.sender(of).Reason, f.sender(of).Unresolved}, []any{tx.SenderReason(""), 0})
	}
	f.post("r", "b")
	f.post("p", "c")
	f.bound("b B", "c A")
}

// testPauseWokenEarly: a pause that is looked at before its time goes on until then.
func testPauseWokenEarly(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.ok(f.store.PauseUntil(f.ctx, "q", "for a while", f.now().Add(long)))
	f.ok(f.client.ZAdd(f.ctx, f.key("due"), z(1, "p:q")).Err())
	f.tick()
	f.inspect()
	equal(f.T, "why", f.queue("q").Paused, "for a while")
	f.bound()
	f.ok(f.store.Resume(f.ctx, "q"))
	equal(f.T, "due", f.dump().sets["due"], nil)
}

// testJoinsBehindWhom: something joins only what is out, and what is with its worker where that is
// allowed; and only types that may.
func testJoinsBehindWhom(f *fixture) {
	attempt := func(o tx.AttemptState) func(*queues.Change) {
		return made(tx.Attempt{Number: 1, Sender: "S", Nonce: 3, State: o})
	}
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	join := func(atOnce bool, types ...string) bool {
		f.Helper()
		f.post("q", "b")
		b, err := f.store.Join(f.ctx, queues.JoinRequest{
			Process: me, Queue: "q", Behind: "a", Width: 2, AtOnce: atOnce, Types: types, All: []string{vote, batch},
		})
		f.ok(err)
		if b != nil {
			f.to("b", tx.PhaseWaiting)
		}
		f.to("b", tx.PhaseFailed, person)
		forgetful := f.open(queues.Options{Namespace: f.store.Namespace, EventsKeep: -1}) // its key is free at once
		f.ok(forgetful.Remove(f.ctx, "b"))
		return b != nil
	}
	f.to("a", tx.PhaseDispatching, attempt(tx.Signed))
	for _, phase := range []tx.Phase{tx.PhaseSent, tx.PhaseWatching, tx.PhaseFailing,
		tx.PhaseDelayed, tx.PhaseDispatching} {
		f.to("a", phase)
		out := phase == tx.PhaseSent || phase == tx.PhaseWatching
		made := phase == tx.PhaseDispatching
		equal(f.T, fmt.Sprintf("joins what is %s", phase), []bool{join(false, vote), join(true, vote)},
			[]bool{out, out || made})
		equal(f.T, fmt.Sprintf("of another type, behind what is %s", phase), join(true, batch), false)
	}
	f.to("a", tx.PhaseSent)
	f.to("a", tx.PhaseSent, fated(1, tx.Refused))
	equal(f.T, "joins what has nothing out", join(true, vote), false)
}

// testJoinsAgain: what was the last to be taken from the line and has come back joins from there, and
// nothing else leaves the line for it.
func testJoinsAgain(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", State: tx.Sent}))
	for retries := range 2 {
		b := f.join("q", "a")
		equal(f.T, "joined", []string{b.Transaction.UID, b.Sender, b.URL}, []string{"b", "S", "http://S"})
		f.inspect()
		behind, err := f.store.Join(f.ctx, queues.JoinRequest{Process: me, Queue: "q", Behind: "a", Width: 9,
			Types: []string{vote}})
		f.ok(err)
		if behind != nil {
			f.Errorf("joins behind the last but one: %+v", behind)
		}
		equal(f.T, "how often it was tried before", f.get("b").Retries, retries)
		f.to("b", tx.PhaseWaiting, record(func(t *tx.Transaction) { t.Retries++ }))
	}
	equal(f.T, "in line", f.client.LRange(f.ctx, f.key("line:q"), 0, -1).Val(), []string{"c"})
}

// testJoinsNot: while another queue waits for a sender and none is free nothing joins.
func testJoinsNot(f *fixture, types, groups []string) {
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", State: tx.Sent}))
	join := func() string {
		f.Helper()
		b, err := f.store.Join(f.ctx, queues.JoinRequest{Process: me, Queue: "q", Behind: "a", Width: 2,
			Types: []string{vote}, All: types, Groups: groups})
		f.ok(err)
		if b == nil {
			return ""
		}
		return b.Transaction.UID
	}
	f.post("p", "c")
	f.post("q", "d")
	f.to("b", tx.PhaseFailed, person) // which is passed on the way
	other, err := f.store.Join(f.ctx, queues.JoinRequest{Process: me, Queue: "q", Behind: "a", Width: 2,
		Types: []string{batch}})
	f.ok(err)
	if other != nil {
		f.Errorf("joins, and is of another type: %+v", other)
	}
	f.inspect()
	f.post("q", "e")
	f.to("d", tx.PhaseFailed, person)
	equal(f.T, "joins while p waits", join(), "")
	f.inspect()
	f.to("d", tx.PhaseWaiting, person) // behind which the line is by now
	f.register("S2")
	f.ok(f.pool.Drain(f.ctx, "S"))
	equal(f.T, "joins on a sender that is out of use", join(), "")
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.heartbeat(me, 0)
	equal(f.T, "joins for a process whose time is over", join(), "")
	f.heartbeat(me, long)
	settled := f.client.Get(f.ctx, f.key("is:server")).Val()
	f.ok(f.client.Set(f.ctx, f.key("is:server"), "another", 0).Err())
	equal(f.T, "joins on a server that is not settled", join(), "")
	f.ok(f.client.Set(f.ctx, f.key("is:server"), settled, 0).Err())
	f.ok(f.store.Pause(f.ctx, "q", "by a test"))
	equal(f.T, "joins while it is paused", join(), "")
	f.ok(f.store.Resume(f.ctx, "q"))
	equal(f.T, "joins where a sender is free", join(), "d")
}

// testJoinsDamaged: where the next of a queue cannot be read the queue is paused, and whoever
// drives what runs of it is told.
func testJoinsDamaged(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", State: tx.Sent}))
	f.ok(f.client.Set(f.ctx, f.key("x:b"), "damaged", 0).Err())
	b := f.join("q", "a")
	if b != nil || f.queue("q").Paused == "" {
		f.Errorf("joins: %+v, to %+v", b, f.queue("q"))
	}
	equal(f.T, "to look at", f.tick().Due, []string{"a"})
	f.ok(f.client.Del(f.ctx, f.key("x:b")).Err())
	f.ok(f.store.Resume(f.ctx, "q"))
}

// testFollowed: a train is left from its end.
func testFollowed(f *fixture) {
	f.together("a", "b")
	last := func(c *queues.Change) { c.Last = true }
	a := f.get("a")
	if err := f.advance(a, tx.PhaseWaiting, last); !errors.Is(err, queues.ErrFollowed) {
		f.Errorf("with another one behind it: %v", err)
	}
	f.to("b", tx.PhaseWaiting, last)
	f.to("a", tx.PhaseWaiting, last)
}

// testFollows wants nothing planned behind others at a nonce below the sender's next: one that is
// gone has used it.
func testFollows(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	planned := func(n uint32) func(*queues.Change) { return func(c *queues.Change) { c.Follows = &n } }
	f.to("a", tx.PhaseDispatching, planned(0)) // the sender's next is not known
	f.to("a", tx.PhaseDispatching, nextNonce(10))
	f.to("a", tx.PhaseDispatching, planned(10))
	t := f.get("a")
	for _, n := range []uint32{9, 0} {
		if err := f.advance(t, tx.PhaseSent, planned(n)); !errors.Is(err, queues.ErrUsed) {
			f.Errorf("at %d: %v", n, err)
		}
	}
	equal(f.T, "revision", f.get("a").Revision, t.Revision)
	f.to("a", tx.PhaseDispatching, planned(11))
	f.to("a", tx.PhaseDispatching, planned(100)) // and not as text
}

// testOvertaken wants nothing to leave of what was bound before an earlier one of
// its queue was reopened; a person's retry of an earlier one overtakes nothing.
func testOvertaken(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseDone, keep)
	f.bound("b S")
	f.to("b", tx.PhaseFailed)
	f.bound("c S")
	f.to("c", tx.PhaseDispatching, inOrder)
	f.to("b", tx.PhaseWaiting, person)
	f.to("c", tx.PhaseDispatching, inOrder)
	f.to("a", tx.PhaseWaiting)
	t := f.get("c")
	before := t.Revision
	if err := f.advance(t, tx.PhaseDispatching, inOrder); !errors.Is(err, queues.ErrOvertaken) {
		f.Errorf("in order: %v", err)
	}
	equal(f.T, "revision", f.get("c").Revision, before)
	f.ok(f.advance(t, tx.PhaseDispatching)) // what had left by then goes on
	f.to("c", tx.PhaseWaiting)
	for _, uid := range []string{"a", "b", "c"} {
		f.bound(uid + " S")
		f.to(uid, tx.PhaseDispatching, inOrder)
		f.to(uid, tx.PhaseDone)
	}
}

// atTen is a case whose second transaction has sequence 10, which as a text stands before
// the 9 of the first.
func atTen(run func(*fixture)) func(*fixture) {
	return func(f *fixture) {
		f.ok(f.client.Set(f.ctx, f.key("n:seq"), 8, 0).Err())
		run(f)
	}
}
