package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// The waits are short, so that they can run on a real Redis as well, and long
// enough for what must come before their end.
const (
	short = 60 * time.Millisecond
	long  = time.Hour
)

// testGravestReason: of several reasons the gravest is shown, whichever came first.
func testGravestReason(f *fixture) {
	ranked := []tx.SenderReason{tx.OutcomeUnknown, tx.StoppedNonce, tx.WrongNetwork,
		tx.WrongAccount, tx.LowBalance, tx.Draining, tx.Rested}
	for i, graver := range ranked {
		for _, other := range ranked[i+1:] {
			for _, order := range [][]tx.SenderReason{{graver, other}, {other, graver}} {
				sender := fmt.Sprint(order[0], "-", order[1])
				f.register(sender)
				for _, why := range order {
					f.ok(f.pool.Rest(f.ctx, sender, -1, why, "as "+string(why)))
				}
				s := f.sender(sender)
				equal(f.T, sender, []string{string(s.Reason), s.Detail}, []string{string(graver), "as " + string(graver)})
			}
		}
	}
}

// testStoppedNonce: where a sender has stopped at its nonce, whoever resumes it or registers it
// anew has the chain asked for the next one.
func testStoppedNonce(f *fixture) {
	f.register("S")
	for n, again := range []func(){
		func() { f.ok(f.pool.Resume(f.ctx, "S")) },
		func() { f.ok(f.pool.Remove(f.ctx, "S")); f.register("S") },
	} {
		uid := fmt.Sprint("t", n)
		f.post("q", uid)
		f.bound(uid + " S")
		f.to(uid, tx.PhaseFailed, nextNonce(7), rest(queues.Never, tx.StoppedNonce))
		if s := f.sender("S"); s.Nonce == nil || *s.Nonce != 7 {
			f.Errorf("stopped: %+v", s)
		}
		again()
		if s := f.sender("S"); s.Nonce != nil || !s.Available() {
			f.Errorf("again in use: %+v", s)
		}
		f.inspect()
	}
}

// testDrainTells: what runs on a sender is told where that comes out of use, or back, until somebody
// says otherwise, and not for a rest.
func testDrainTells(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	look := func(what string, want ...string) {
		f.Helper()
		k, err := f.store.Tick(f.ctx, queues.TickRequest{Process: me, Most: 9, Grace: queues.Never})
		f.ok(err)
		equal(f.T, "to look at: "+what, k.Due, want)
	}
	f.to("a", tx.PhaseWatching, due(long), nextNonce(7))
	look("nothing")
	f.ok(f.pool.Rest(f.ctx, "S", long, tx.Rested, ""))
	look("a rest")
	f.ok(f.pool.Drain(f.ctx, "S"))
	look("a drain", "a")
	f.ok(f.pool.Rest(f.ctx, "S", -1, tx.LowBalance, ""))
	look("out of use already")
	f.ok(f.pool.Resume(f.ctx, "S"))
	look("back in use", "a")
}

// testRestOfNobody: a sender that was removed meanwhile is not made again by a rest.
func testRestOfNobody(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseDone, keep, due(long))
	f.ok(f.pool.Remove(f.ctx, "S"))
	f.to("a", tx.PhaseWaiting, rest(long, tx.Rested), nextNonce(9),
		func(c *queues.Change) { c.Least = map[string]uint32{"S": 4} },
		record(reopened))
	f.to("a", tx.PhaseFailed, person)
	f.post("p", "b")
	f.register("S")
	f.bound("b S")
	f.to("b", tx.PhaseUnresolved)
	f.ok(f.pool.Remove(f.ctx, "S"))
	events := len(f.dump().events)
	f.to("b", tx.PhaseFailed, person)
	d := f.dump()
	if s := d.hashes["s:S"]; s != nil {
		f.Errorf("it is there again: %v", s)
	}
	equal(f.T, "events", len(d.events), events+1)
}

// testRestsAtOnce: of several reasons each ends at its own time, and none of those that a person is
// to end ends by the clock.
func testRestsAtOnce(f *fixture) {
	f.register("S")
	for _, order := range [][]time.Duration{{long, 2 * long}, {2 * long, long}} {
		f.ok(f.pool.Rest(f.ctx, "S", order[0], tx.Rested, ""))
		f.ok(f.pool.Rest(f.ctx, "S", order[1], tx.LowBalance, ""))
		d := f.dump()
		if at := d.sets["due"]["s:S"]; at < d.now || at > d.now+float64(long.Milliseconds()) {
			f.Errorf("the first of %v ends in %v ms", order, at-d.now)
		}
		f.ok(f.pool.Resume(f.ctx, "S"))
		if at, is := f.dump().sets["due"]["s:S"]; is {
			f.Errorf("resumed, and yet something of it is due at %v", at)
		}
	}
	// One reason, given by two: what no clock ends is what is shown.
	for i, d := range []time.Duration{queues.Never, long} {
		sender, uid := fmt.Sprint("both", i), fmt.Sprint("t", i)
		f.ok(f.pool.Drain(f.ctx, "S"))
		f.register(sender)
		f.post("q"+uid, uid)
		f.bound(uid + " " + sender)
		f.to(uid, tx.PhaseFailed, func(c *queues.Change) {
			c.Rest = &lifecycle.Rest{For: d, Why: tx.Rested, By: "fees"}
		})
		f.ok(f.pool.Rest(f.ctx, sender, []time.Duration{long, queues.Never}[i], tx.Rested, ""))
		if s := f.sender(sender); s.Reason != tx.Rested || !s.Until.IsZero() {
			f.Errorf("%d: %+v", i, s)
		}
	}
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.ok(f.pool.Rest(f.ctx, "S", -1, tx.Rested, "by a test"))
	f.ok(f.pool.Rest(f.ctx, "S", time.Millisecond, tx.Rested, ""))
	if s := f.sender("S"); !s.Until.IsZero() || s.Detail != "by a test" {
		f.Errorf("it is to be resumed: %+v", s)
	}
}

func testRest(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseWaiting, rest(short, tx.Rested))
	if s := f.sender("S"); s.Available() || s.Reason != tx.Rested || s.Until.IsZero() || s.Queue != "" {
		f.Errorf("rested: %+v", s)
	}
	f.bound()
	var next time.Duration
	f.eventually("the rest is over", func() bool {
		if f.sender("S").Available() {
			return true
		}
		f.bound()
		next = f.tick().Next
		return false
	})
	if next > short {
		f.Errorf("the tick before said %v", next)
	}
	f.bound("a S")
	f.ok(f.pool.Rest(f.ctx, "S", 0, tx.Rested, ""))
	f.tick()
	equal(f.T, "a rest of no time", f.sender("S").Reason, "")
	// A rest by the clock does not end a drain, before or after it.
	f.ok(f.pool.Drain(f.ctx, "S"))
	f.to("a", tx.PhaseWaiting, rest(time.Millisecond, tx.Rested))
	if s := f.sender("S"); s.Reason != tx.Draining || !s.Until.IsZero() {
		f.Errorf("drained, then rested: %+v", s)
	}
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.ok(f.pool.Rest(f.ctx, "S", time.Millisecond, tx.Rested, ""))
	f.ok(f.pool.Drain(f.ctx, "S"))
	f.post("p", "b")
	f.eventually("what is due is done", func() bool { f.tick(); return f.tick().Next == queues.Never })
	if s := f.sender("S"); s.Reason != tx.Draining {
		f.Errorf("rested, then drained: %+v", s)
	}
	f.bound()
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.bound("a S")
	f.to("a", tx.PhaseUnresolved, rest(queues.Never, tx.OutcomeUnknown))
	f.bound()
	if s := f.sender("S"); s.Reason != tx.OutcomeUnknown || !s.Until.IsZero() {
		f.Errorf("rested until resumed: %+v", s)
	}
}

// testUnknown: what became of one is known; of another, whose uid begins with the same, it is not.
func testUnknown(f *fixture) {
	f.together("a", "ab")
	ended := record(func(t *tx.Transaction) {
		for i := range t.Attempts {
			t.Attempts[i].State, t.Attempts[i].EndedAt = tx.Expired, time.Now()
		}
	})
	unknown := rest(queues.Never, tx.OutcomeUnknown)
	f.ok(f.pool.Rest(f.ctx, "S", -1, tx.LowBalance, "")) // which is another matter
	f.to("a", tx.PhaseUnresolved, unknown, ended)
	f.to("ab", tx.PhaseUnresolved, unknown)
	f.to("a", tx.PhaseFailed, person)
	equal(f.T, "after one", f.sender("S").Reason, tx.OutcomeUnknown)
	f.to("ab", tx.PhaseFailed, person)
	equal(f.T, "after both", f.sender("S").Reason, tx.LowBalance)
	of := func(code string) event { return event{Kind: "s", ID: "S", Sender: "S", Code: code} }
	equal(f.T, "events of senders", f.told("s")[2:], []event{ // the first are that it is registered, and stopped
		of("OUTCOME_UNKNOWN"), of("OUTCOME_UNKNOWN"), of("RESUMED"), of("RESUMED"),
	})
	// One that is under way again, with something open, is driven: what becomes of it is told.
	f.register("T")
	f.post("p", "x")
	f.bound("x T")
	sent := tx.Attempt{Number: 1, Sender: "T", State: tx.Sent}
	f.to("x", tx.PhaseUnresolved, unknown, keep, made(sent))
	equal(f.T, "while it is unresolved", f.sender("T").Reason, tx.OutcomeUnknown)
	f.to("x", tx.PhaseWaiting, person)
	equal(f.T, "when it waits again", f.sender("T").Reason, "")
}

func testHold(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a", "b")
	f.bound("a S1")
	f.to("a", tx.PhaseDone, tell(tx.OnSuccess, short, long))
	f.bound() // the sender is free, the queue is not
	if q := f.queue("q"); q.NextAt.IsZero() {
		f.Errorf("the queue is waiting for a callback: %+v", q)
	}
	f.post("p", "c")
	f.bound("c S2")
	f.eventually("the hold is over", func() bool { f.tick(); return len(f.bind(1)) == 1 })
	equal(f.T, "running", f.queue("q").Running, "b")
	equal(f.T, "the callback is still to be told", f.get("a").Callback, tx.OnSuccess)
}

// testHoldStays: a queue goes on when what it waits for is over, whatever else of it is removed.
func testHoldStays(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseFailed)
	f.bound("b S")
	f.to("b", tx.PhaseDone, tell(tx.OnSuccess, short, long))
	f.ok(f.store.Remove(f.ctx, "a"))
	f.bound()
	f.eventually("the hold is over", func() bool { f.tick(); return len(f.bind(1)) == 1 })
}

// testHoldAnew: what a queue has waited for in vain it does not wait for again along with another
// one.
func testHoldAnew(f *fixture) {
	f.together("a", "b")
	f.to("a", tx.PhaseDone, tell(tx.OnSuccess, time.Millisecond, long))
	<-time.After(5 * time.Millisecond)
	f.to("b", tx.PhaseDone, tell(tx.OnSuccess, long, long))
	awaited, err := f.store.Callbacks(f.ctx, "q", f.now())
	f.ok(err)
	equal(f.T, "waits for", awaited, []string{"b"})
	awaited, err = f.store.Callbacks(f.ctx, "q", f.now().Add(2*long))
	f.ok(err)
	equal(f.T, "waits for, once that has taken too long", len(awaited), 0)
}

// testExpiredAgain: whoever has been told that a deadline has come has a while to end what waits;
// then it is told to the next one that asks.
func testExpiredAgain(f *fixture) {
	item := vote1("a", "q", `{"n":1}`)
	item.ExpiresAt = f.now().Add(short)
	f.ok(f.store.Enqueue(f.ctx, item).Err)
	expired := func() []string {
		k, err := f.store.Tick(f.ctx, queues.TickRequest{Process: me, Most: 9, Lease: short})
		f.ok(err)
		return k.Expired
	}
	f.register("S")
	f.bound("a S")
	f.ok(f.client.ZRem(f.ctx, f.key("due"), "d:a").Err())
	f.to("a", tx.PhaseWaiting)
	equal(f.T, "its deadline", f.dump().sets["due"]["d:a"], float64(item.ExpiresAt.UnixMilli()))
	for range 2 {
		f.eventually("its deadline comes", func() bool { return slices.Equal(expired(), []string{"a"}) })
		equal(f.T, "told to one at a time", expired(), []string{})
	}
}

func testHoldAnswered(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseFailed, tell(tx.OnFailure, long, long))
	tries, err := f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	equal(f.T, "tries", tries, 0)
	f.bound() // another callback was answered
	_, err = f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnFailure}, queues.Never)
	f.ok(err)
	f.bound("b S")
	f.to("b", tx.PhaseDone, tell(tx.OnSuccess, 0, long)) // no hold
	f.bound("c S")
	none := &tx.Transaction{UID: "none", Queue: "q"}
	_, err = f.store.Called(f.ctx, none, tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
}

func testCallbackAgain(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseDone, tell(tx.OnSuccess, long, 0))
	equal(f.T, "to tell", f.tick().Callbacks, []string{"a"})
	equal(f.T, "leased to the one that was told", f.tick().Callbacks, nil)
	for want := 1; want <= 3; want++ {
		tries, err := f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnSuccess}, time.Millisecond)
		f.ok(err)
		if tries != want || f.get("a").CallbackTries != want {
			f.Errorf("told %d times, want %d", tries, want)
		}
		f.eventually("it is due again", func() bool { return slices.Equal(f.tick().Callbacks, []string{"a"}) })
	}
	last := f.get("a").Told
	if last.Done || last.Tries != 3 || last.At.IsZero() || last.Callback != tx.OnSuccess {
		f.Errorf("told in vain: %+v", last)
	}
	said := tx.Told{Callback: tx.OnSuccess, Answer: json.RawMessage(`{"n":1E400}`), Error: "why"}
	_, err := f.store.Called(f.ctx, f.get("a"), said, queues.Never)
	f.ok(err)
	got := f.get("a").Told
	said.Done, said.Tries, said.At = true, 4, got.At
	equal(f.T, "what it said", got, said)
	events := f.told("t")
	equal(f.T, "told last", events[len(events)-1],
		event{Kind: "t", ID: "a", Sender: "S", From: "done", To: "done", Code: "ANSWERED"})
	if k := f.tick(); len(k.Callbacks) > 0 || k.Next != queues.Never || f.get("a").Callback != "" {
		f.Errorf("answered, and yet %+v", k)
	}
	for _, retries := range []int{3, 0} { // what is stored behind it changes, to nothing at last
		f.to("a", tx.PhaseDone, record(func(t *tx.Transaction) { t.Retries = retries }))
		equal(f.T, "what it said, still", f.get("a").Told, said)
		equal(f.T, "retries", f.get("a").Retries, retries)
	}
}

func testDue(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.post("p", "b")
	f.bound("a S1", "b S2")
	if k := f.tick(); len(k.Due) != 0 || k.Next > time.Minute || k.Next < 50*time.Second {
		f.Errorf("a claim that is not taken up is due after its grace: %+v", k)
	}
	f.to("a", tx.PhaseDelayed, due(short))
	f.to("b", tx.PhaseWatching, due(queues.Never))
	if k := f.tick(); len(k.Due) != 0 || k.Next > short {
		f.Errorf("delayed: %+v", k)
	}
	f.eventually("the delay is over", func() bool { return slices.Equal(f.tick().Due, []string{"a"}) })
	equal(f.T, "due until something is done", f.tick().Due, []string{"a"})
	f.ok(f.store.Postpone(f.ctx, me, "a", 0))
	equal(f.T, "due at once", f.tick().Due, []string{"a"})
	f.ok(f.store.Postpone(f.ctx, me, "a", long))
	f.ok(f.store.Postpone(f.ctx, other, "b", 0)) // not its own
	if k := f.tick(); len(k.Due) != 0 || k.Next < 59*time.Minute {
		f.Errorf("postponed: %+v", k)
	}
	f.ok(f.store.Postpone(f.ctx, me, "b", 0)) // not due: what is planned stays
	equal(f.T, "due", f.tick().Due, []string{})
	f.to("b", tx.PhaseWatching, due(0), withCode("SOON"))
	equal(f.T, "due", f.tick().Due, []string{"b"})
	f.ok(f.store.Postpone(f.ctx, me, "b", queues.Never))
	if k := f.tick(); len(k.Due) != 0 || k.Next < 59*time.Minute {
		f.Errorf("only the delayed one is due, and later: %+v", k)
	}
}

func testRetention(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseDone, removed(time.Millisecond))
	f.to("a", tx.PhaseWaiting) // reopened before: it stays
	f.bound("a S")
	f.to("a", tx.PhaseDone, final, removed(short))
	f.bound("b S")
	f.eventually("it is removed", func() bool {
		f.tick()
		_, err := f.store.Get(f.ctx, "a")
		return errors.Is(err, queues.ErrNotFound)
	})
	equal(f.T, "the queue stays", f.queue("q").Running, "b")
	f.to("b", tx.PhaseDone, final, removed(0))
	f.tick()
	if _, err := f.store.Queue(f.ctx, "q"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("the queue outlived its last transaction: %v", err)
	}
	equal(f.T, "tombstone", f.dump().strings["gone:a"], vote+" q")
	// Its key is known for as long as is wanted, and as the log has events of it.
	f.post("q", "c")
	f.to("c", tx.PhaseFailed, person)
	f.ok(f.open(queues.Options{Namespace: f.store.Namespace, Retention: 48 * time.Hour}).Remove(f.ctx, "c"))
	f.post("q", "d")
	f.to("d", tx.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "d"))
	for uid, want := range map[string]time.Duration{"a": 24 * time.Hour, "c": 48 * time.Hour, "d": 24 * time.Hour} {
		if left := f.client.PTTL(f.ctx, f.key("gone:"+uid)).Val(); left > want || left < want-10*time.Minute {
			f.Errorf("the key %s is known for %v, want %v", uid, left, want)
		}
	}
}

// testLeftAlone: a queue is left alone for a while, and nobody's callback is waited for.
func testLeftAlone(f *fixture) {
	hold := func(d time.Duration) func(*queues.Change) { return func(c *queues.Change) { c.Hold = d } }
	f.register("S")
	f.post("q", "a", "b")
	f.post("p", "c")
	f.bound("a S")
	f.to("a", tx.PhaseWaiting, hold(short))
	f.bound("c S") // not a, whose queue holds
	f.to("c", tx.PhaseDone)
	f.bound()
	f.post("q", "d") // which changes nothing about it
	f.bound()
	f.eventually("the queue goes on", func() bool { f.tick(); return len(f.bind(1)) == 1 })
	equal(f.T, "its first one runs", f.queue("q").Running, "a")
	// It waits for no callback meanwhile, and a later one counts.
	f.to("a", tx.PhaseDone, tell(tx.OnSuccess, long, long))
	f.bound()
	a := f.get("a")
	_, err := f.store.Called(f.ctx, a, tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	f.bound("b S")
	f.to("b", tx.PhaseWaiting, hold(long))
	if v := f.queue("q"); v.NextAt.IsZero() {
		f.Errorf("held: %+v", v)
	}
	f.bound()
	f.to("b", tx.PhaseFailed, person)
	f.bound("d S") // the one that it was held for is gone
	f.to("d", tx.PhaseWaiting, hold(long))
	f.bound()
	f.ok(f.store.Resume(f.ctx, "q"))
	f.bound("d S") // a person has said so
}

// testToldAndLeftAlone: a queue of which one waits to be told of, and another is left alone,
// waits for both.
func testToldAndLeftAlone(f *fixture) {
	hold := func(c *queues.Change) { c.Hold = long }
	join := func(queue, behind string) *queues.Bound {
		f.Helper()
		b, err := f.store.Join(f.ctx, queues.JoinRequest{Process: me, Queue: queue, Behind: behind, Width: 3,
			Types: []string{vote}})
		f.ok(err)
		return b
	}
	waits := func(queue string, awaited ...string) {
		f.Helper()
		uids, err := f.store.Callbacks(f.ctx, queue, f.now())
		f.ok(err)
		if !slices.Equal(uids, awaited) || f.queue(queue).NextAt.IsZero() {
			f.Errorf("it waits for %q until %v, want %q", uids, f.queue(queue).NextAt, awaited)
		}
		place, err := f.store.Place(f.ctx, queue+".b")
		f.ok(err)
		equal(f.T, "for what it waits", place.Holder, strings.Join(awaited, ""))
		equal(f.T, "until when", place.Hold, f.queue(queue).NextAt)
		f.bound()
	}
	f.register("S1", "S2")
	for _, queue := range []string{"told-first", "left-first"} {
		a, b := queue+".a", queue+".b"
		f.post(queue, a, b)
		f.bind(1)
		sent := tx.Attempt{Number: 1, Sender: f.get(a).Sender, State: tx.Sent}
		f.to(a, tx.PhaseWatching, made(sent))
		if join(queue, a) == nil {
			f.Fatal("nothing joins")
		}
		if queue == "told-first" {
			f.to(a, tx.PhaseDone, tell(tx.OnSuccess, 2*long, long))
			f.to(b, tx.PhaseWaiting, hold)
		} else {
			f.to(b, tx.PhaseWaiting, hold)
			if join(queue, a) != nil {
				f.Error("it joins, and is to be left alone")
			}
			f.to(a, tx.PhaseDone, tell(tx.OnSuccess, long, long))
		}
		waits(queue, a)
		_, err := f.store.Called(f.ctx, f.get(a), tx.Told{Callback: tx.OnSuccess}, queues.Never)
		f.ok(err)
		waits(queue)
		d := f.dump()
		if at := d.sets["due"]["q:"+queue]; at < d.now || at > d.now+float64(long.Milliseconds()) {
			f.Errorf("%s goes on in %v ms, and is left alone for %v", queue, at-d.now, long)
		}
	}
	// Where a person says that it goes on, it waits for the callback alone.
	f.post("resumed", "c", "d")
	f.bind(1)
	sent := tx.Attempt{Number: 1, Sender: f.get("c").Sender, State: tx.Sent}
	f.to("c", tx.PhaseWatching, made(sent))
	if join("resumed", "c") == nil {
		f.Fatal("nothing joins")
	}
	f.to("d", tx.PhaseWaiting, hold)
	f.to("c", tx.PhaseDone, tell(tx.OnSuccess, long, long))
	f.ok(f.store.Resume(f.ctx, "resumed"))
	f.bound()
	_, err := f.store.Called(f.ctx, f.get("c"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	f.bind(1)
	equal(f.T, "what runs", f.queue("resumed").Running, "d")
}

// testRemovedAndExpired: what is removed in the run in which its deadline comes is not told to
// have expired.
func testRemovedAndExpired(f *fixture) {
	item := vote1("a", "q", `{"n":1}`)
	item.ExpiresAt = f.now().Add(short)
	f.ok(f.store.Enqueue(f.ctx, item).Err)
	f.to("a", tx.PhaseFailed, person, removed(time.Millisecond), tell(tx.OnFailure, short, short))
	<-time.After(2 * short)
	k := f.tick()
	equal(f.T, "expired", k.Expired, []string{})
	equal(f.T, "to be told", k.Callbacks, []string{})
	_, err := f.store.Get(f.ctx, "a")
	equal(f.T, "removed", errors.Is(err, queues.ErrNotFound), true)
	_, err = f.store.Queue(f.ctx, "q")
	equal(f.T, "and its queue", errors.Is(err, queues.ErrNotFound), true)
	f.post("p", "b")
	f.to("b", tx.PhaseFailed, person, tell(tx.OnFailure, long, long))
	f.ok(f.store.Remove(f.ctx, "b"))
	equal(f.T, "due", f.dump().sets["due"], nil)
}

// testSoonest: a tick says when the next thing is due, of its own and of all.
func testSoonest(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.bound("a S1")
	for own, others := range map[time.Duration]time.Duration{0: long, long: 2 * long, 3 * long: long} {
		f.to("a", tx.PhaseDelayed, due(own))
		f.ok(f.pool.Rest(f.ctx, "S2", others, tx.Rested, ""))
		if next := f.tick().Next; next > min(own, long) || next < min(own, long)/2 {
			f.Errorf("one is due in %v, the other in %v: the next tick is in %v", own, others, next)
		}
		f.ok(f.pool.Resume(f.ctx, "S2"))
	}
}

// testRemovedByNoClock: what is not at its end is not removed, whatever the clock was told.
func testRemovedByNoClock(f *fixture) {
	f.register("S")
	f.post("q", "a")
	stays := func(when string) {
		f.Helper()
		f.ok(f.client.ZAdd(f.ctx, f.key("due"), z(1, "x:a"), z(1, "x:gone"), z(1, "d:gone"), z(1, "c:gone")).Err())
		f.tick()
		equal(f.T, when, f.get("a").UID, "a")
	}
	stays("waiting")
	f.bound("a S")
	for _, phase := range []tx.Phase{tx.PhaseDispatching, tx.PhaseSent, tx.PhaseWatching,
		tx.PhaseFailing, tx.PhaseDelayed} {
		f.to("a", phase)
		stays(string(phase))
	}
	// And what has ended is by nothing but the end of its time.
	f.to("a", tx.PhaseDone, final)
	f.ok(f.client.ZAdd(f.ctx, f.key("due"), z(1, "c:a"), z(1, "d:a"), z(1, "s:a"), z(1, "q:a"), z(1, "p:a")).Err())
	f.tick()
	equal(f.T, "done", f.get("a").UID, "a")
}

// testRestAbove: where the next nonce of a sender was above that which another command has spent,
// that was one of ours, and the sender does not rest.
func testRestAbove(f *fixture) {
	for name, c := range map[string]struct {
		next  func(*queues.Change)
		spent uint32
		rests bool
	}{
		"unknown": {func(*queues.Change) {}, 0, true},
		"below":   {nextNonce(9), 10, true},
		"at-it":   {nextNonce(10), 10, true},
		"above":   {nextNonce(11), 10, false},
		"far":     {nextNonce(100), 11, false}, // and not as text
	} {
		sender := "S-" + name
		f.register(sender)
		f.post("q-"+name, name)
		f.bound(name + " " + sender)
		f.to(name, tx.PhaseDispatching, c.next)
		f.to(name, tx.PhaseFailed, func(change *queues.Change) {
			change.Rest = &lifecycle.Rest{For: queues.Never, Why: tx.StoppedNonce, Above: &c.spent}
		})
		equal(f.T, name, f.sender(sender).Reason == tx.StoppedNonce, c.rests)
		f.ok(f.pool.Drain(f.ctx, sender))
	}
}

// testLeast: the least that a next nonce is holds of accounts that are known, and makes none known.
func testLeast(f *fixture) {
	f.register("S", "T")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, func(c *queues.Change) {
		c.Least = map[string]uint32{"S": 3, "T": 5, "U": 7}
	})
	equal(f.T, "of the sender", *f.sender("S").Nonce, 3)
	equal(f.T, "of another one", *f.sender("T").Nonce, 5)
	if s := f.dump().hashes["s:U"]; s != nil {
		f.Errorf("of what is no sender: %v", s)
	}
}

func testRemoveGuards(f *fixture) {
	f.register("S")
	f.post("q", "a")
	refused := func(when string) {
		f.Helper()
		if err := f.store.Remove(f.ctx, "a"); !errors.Is(err, queues.ErrNotFinal) {
			f.Errorf("%s: %v", when, err)
		}
	}
	refused("waiting")
	f.bound("a S")
	refused("dispatching")
	f.to("a", tx.PhaseDone, keep)
	refused("done, its block may still go")
	attempt := tx.Attempt{Number: 1, Sender: "S", State: tx.Planned, StartedAt: time.UnixMilli(1)}
	f.to("a", tx.PhaseDone, made(attempt))
	f.to("a", tx.PhaseFailed, last(func(a *tx.Attempt) { a.State = tx.Signed }),
		signed(1, []byte("x")))
	refused("failed, an attempt is open")
	f.to("a", tx.PhaseFailed, last(func(a *tx.Attempt) {
		a.State, a.EndedAt = tx.Expired, time.UnixMilli(5)
	}))
	f.ok(f.store.Remove(f.ctx, "a"))
	if err := f.store.Remove(f.ctx, "a"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("twice: %v", err)
	}
}

// testNothingLeft takes transactions through everything there is and removes
// them: counters, events, tombstones and the process are all that may stay.
func testNothingLeft(f *fixture) {
	f.register("S1", "S2")
	for i := range 6 {
		item := vote1(fmt.Sprint("t", i), fmt.Sprint("q", i%2), `{"n":1}`)
		item.ExpiresAt = f.now().Add(2 * long)
		f.ok(f.store.Enqueue(f.ctx, item).Err)
	}
	f.to("t2", tx.PhaseFailed, person) // in the line
	f.ok(f.store.Pause(f.ctx, "q1", "x"))
	f.ok(f.store.Resume(f.ctx, "q1"))
	for range 5 {
		for _, b := range f.bind(9) {
			uid := b.Transaction.UID
			f.to(uid, tx.PhaseSent, signed(1, []byte("x")),
				made(tx.Attempt{Number: 1, State: tx.Planned, Sender: b.Sender}))
			f.to(uid, tx.PhaseWaiting)
		}
		for _, b := range f.bind(9) {
			f.to(b.Transaction.UID, tx.PhaseDone, keep, due(long), tell(tx.OnSuccess, 0, 0))
			f.to(b.Transaction.UID, tx.PhaseDone, final, removed(long))
		}
		f.tick()
	}
	for i := range 6 {
		f.ok(f.store.Remove(f.ctx, fmt.Sprint("t", i)))
	}
	f.inspect()
	f.ok(f.pool.Remove(f.ctx, "S1"))
	f.ok(f.pool.Remove(f.ctx, "S2"))
	f.tick()
	keys, err := f.client.Keys(f.ctx, f.key("*")).Result()
	f.ok(err)
	var left []string
	for _, k := range keys {
		name := strings.TrimPrefix(k, f.key(""))
		if round, is := strings.CutPrefix(name, "n:round:"); is && len(round) == 40 {
			name = "n:round" // one for what is bound together
		}
		if !strings.HasPrefix(name, "gone:") {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	equal(f.T, "keys left", left,
		[]string{"events", "is:epoch", "is:server", "n:claim", "n:round", "n:seq", "procs", "waiting"})
	equal(f.T, "tombstones", len(keys)-len(left), 6)
}
