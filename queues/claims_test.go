package queues_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// testOwnerIsToLook: what was changed for a person, or had a fact recorded, is due at
// once for the process that holds it, which is told so.
func testOwnerIsToLook(f *fixture) {
	changed := make(chan string, 1000)
	heeded := make(chan string, 1000)
	s := f.open(queues.Options{Namespace: f.store.Namespace, Changed: func(uid string) { changed <- uid },
		Heed: func(queue string) { heeded <- queue }})
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() { s.Listen(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	told := func(uid string) bool {
		select {
		case heard := <-changed:
			return heard == uid
		default:
			return false
		}
	}
	grace := queues.TickRequest{Process: me, Most: 9, Grace: queues.Never}
	looked := func(what string, want ...string) {
		f.Helper()
		k, err := f.store.Tick(f.ctx, grace)
		f.ok(err)
		equal(f.T, "to look at: "+what, k.Due, want)
	}
	f.register("S1", "S2", "S3")
	f.post("q", "a")
	f.post("p", "b")
	f.post("r", "c")
	f.bound("a S1", "b S2", "c S3")
	f.to("a", tx.PhaseDelayed, due(long))
	looked("nothing")
	cancels := record(func(t *tx.Transaction) { t.CancelRequested = true })
	f.eventually("it is heard", func() bool {
		f.to("a", tx.PhaseDelayed, person, cancels, due(long))
		return told("a")
	})
	if a := f.get("a"); a.DueAt.IsZero() {
		f.Errorf("what is planned is forgotten: %+v", a)
	}
	looked("changed for a person", "a")
	looked("once")
	f.ok(f.store.SetWidth(f.ctx, "q", 2))
	f.eventually("it is heard what is said of the queue", func() bool {
		select {
		case queue := <-heeded:
			return queue == "q" // "" comes when the channel does
		default:
			return false
		}
	})
	looked("said of the queue", "a")
	looked("once")
	f.to("b", tx.PhaseDispatching, made(tx.Attempt{Number: 1, Sender: "S2", State: tx.Planned}))
	f.ok(f.store.Record(f.ctx, "b", &tx.Attempt{Number: 1, Sender: "S2"}, queues.Facts{Hash: "late"}))
	f.eventually("it is heard", func() bool { return told("b") })
	looked("a fact", "b")
	f.ok(f.store.Record(f.ctx, "b", &tx.Attempt{Number: 1, Sender: "S2"}, queues.Facts{Hash: "later"}))
	looked("no news")
	// A claim that a person ends is no more, and its owner is told so once.
	f.to("b", tx.PhaseFailed, person)
	f.to("c", tx.PhaseFailed, person)
	equal(f.T, "its claim", f.get("b").Claim, "")
	f.eventually("it is heard", func() bool { return told("b") })
	looked("taken away", "b", "c")
	looked("once")
	f.to("a", tx.PhaseFailed, person)
	f.ok(f.store.Leave(f.ctx, me))
	f.heartbeat(other, long)
	taken, err := f.store.TakeOver(f.ctx, other, me, 9)
	f.ok(err)
	equal(f.T, "nobody takes over what nobody has", taken, nil)
	f.heartbeat(me, long)
}

// testGrace: what a tick has returned it returns again when its grace is over, unless
// a change plans another time.
func testGrace(f *fixture) {
	tick := func(grace time.Duration, want ...string) {
		f.Helper()
		k, err := f.store.Tick(f.ctx, queues.TickRequest{Process: me, Most: 9, Grace: grace})
		f.ok(err)
		equal(f.T, "due", k.Due, want)
	}
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseWatching, due(0))
	tick(0, "a")
	tick(short, "a")
	tick(short)
	f.eventually("the grace is over", func() bool { return slices.Equal(f.tick().Due, []string{"a"}) })
	tick(queues.Never, "a")
	tick(queues.Never)
	f.to("a", tx.PhaseWatching, due(0))
	tick(queues.Never, "a")
	f.to("a", tx.PhaseWatching, due(long))
	tick(queues.Never)
}

// testTakeOverOfTrain: what runs of a queue is taken over together, however few are to be taken, and
// nothing else of that queue.
func testTakeOverOfTrain(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "ended", "a", "b", "c")
	f.heartbeat(other, long)
	equal(f.T, "bound", len(f.bindAs(other, 1)), 1)
	f.to("ended", tx.PhaseDone, keep)
	equal(f.T, "bound", len(f.bindAs(other, 1)), 1)
	for n, uid := range []string{"a", "b", "c"} {
		f.to(uid, tx.PhaseWatching, made(tx.Attempt{
			Number: 1, Sender: f.get(uid).Sender, Nonce: uint32(n), State: tx.Sent}))
		_, err := f.store.Join(f.ctx, queues.JoinRequest{Process: other, Queue: "q", Behind: uid, Width: 9,
			Types: []string{vote}})
		f.ok(err)
	}
	f.to("ended", tx.PhaseDone, keep, due(-1)) // is looked at last
	f.ok(f.store.Postpone(f.ctx, other, "c", 0))
	f.ok(f.store.Leave(f.ctx, other))
	first, err := f.store.TakeOver(f.ctx, me, other, 1)
	f.ok(err)
	second, err := f.store.TakeOver(f.ctx, me, other, 1)
	f.ok(err)
	if len(first) == 1 { // that with the earlier moment comes first
		first, second = second, first
	}
	slices.Sort(first)
	equal(f.T, "together", first, []string{"a", "b", "c"})
	equal(f.T, "by itself", second, []string{"ended"})
	f.to("ended", tx.PhaseDone, final)
}

// testTakeOverOfDamagedQueue: a queue whose record cannot be read holds up no other claim.
func testTakeOverOfDamagedQueue(f *fixture) {
	f.register("S1", "S2")
	f.post("odd", "a")
	f.post("even", "b")
	f.heartbeat(other, long)
	equal(f.T, "bound", len(f.bindAs(other, 2)), 2)
	record := f.client.Get(f.ctx, f.key("q:odd")).Val()
	f.ok(f.client.Set(f.ctx, f.key("q:odd"), "damaged", 0).Err())
	f.ok(f.store.Leave(f.ctx, other))
	taken, err := f.store.TakeOver(f.ctx, me, other, 9)
	f.ok(err)
	slices.Sort(taken)
	equal(f.T, "taken", taken, []string{"a", "b"})
	f.ok(f.client.Set(f.ctx, f.key("q:odd"), record, 0).Err())
}

// testTurn: what has a name is one caller's to do until its time is over, whoever does what has
// another one.
func testTurn(f *fixture) {
	turn := func(name string, d time.Duration) bool {
		mine, err := f.store.Turn(f.ctx, name, d)
		f.ok(err)
		return mine
	}
	equal(f.T, "turns", []bool{turn("one", long), turn("one", long), turn("two", short), turn("one", short)},
		[]bool{true, false, true, false})
	f.eventually("the turn is over", func() bool { return turn("two", long) })
	equal(f.T, "the other one's", turn("one", long), false)
}

func testTakeOver(f *fixture) {
	f.register("S1", "S2", "S3")
	f.post("q1", "a")
	f.post("q2", "b")
	f.post("q3", "c")
	f.heartbeat(other, short)
	bound := f.bindAs(other, 3)
	equal(f.T, "bound", len(bound), 3)
	if taken, err := f.store.TakeOver(f.ctx, me, other, 9); len(taken) != 0 || err != nil {
		f.Errorf("took claims of a living process: %v, %v", taken, err)
	}
	f.eventually("it is dead", func() bool { return slices.Equal(f.heartbeat(me, long), []string{other}) })
	if taken, err := f.store.TakeOver(f.ctx, "forgotten", other, 9); len(taken) != 0 || err != nil {
		f.Errorf("claims went to a process from which nobody takes over: %v, %v", taken, err)
	}
	for _, want := range []int{2, 1, 0} {
		taken, err := f.store.TakeOver(f.ctx, me, other, 2)
		f.ok(err)
		equal(f.T, "taken", len(taken), want)
	}
	equal(f.T, "dead", f.heartbeat(me, long), nil)
	got := f.tick().Due
	slices.Sort(got)
	equal(f.T, "due at once", got, []string{"a", "b", "c"})
	for _, b := range bound {
		if err := f.advance(b.Transaction, tx.PhaseSent); !errors.Is(err, queues.ErrFenced) {
			f.Errorf("the dead one changed %s: %v", b.Transaction.UID, err)
		}
		now := f.get(b.Transaction.UID)
		if !strings.HasPrefix(now.Claim, me+":") || now.Phase != tx.PhaseDispatching || now.Sender != b.Sender {
			f.Errorf("taken over: %+v", now)
		}
		f.ok(f.store.Postpone(f.ctx, other, now.UID, 0))
	}
	f.to("a", tx.PhaseDone)
	if p, err := f.store.Heartbeat(f.ctx, other, long, ""); p.Renewed || err != nil {
		f.Errorf("the dead one is back and known: %+v, %v", p, err)
	}
	if p, err := f.store.Heartbeat(f.ctx, other, long, ""); !p.Renewed || err != nil {
		f.Errorf("the second heartbeat is not known: %+v, %v", p, err)
	}
}

func testLeave(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.heartbeat(other, long)
	told := f.client.Subscribe(f.ctx, f.key("wake"))
	_, err := told.Receive(f.ctx)
	f.ok(err)
	f.ok(f.store.Leave(f.ctx, me))
	m, err := told.ReceiveMessage(f.ctx)
	f.ok(err)
	equal(f.T, "the others are told", m.Payload, "")
	f.ok(told.Close())
	dead := f.heartbeat(other, long)
	equal(f.T, "left", dead, []string{me})
	taken, err := f.store.TakeOver(f.ctx, other, me, 9)
	f.ok(err)
	equal(f.T, "taken", taken, []string{"a"})
	f.to("a", tx.PhaseDone)
	f.ok(f.store.Leave(f.ctx, other))
	equal(f.T, "processes", len(f.dump().sets["procs"]), 0)
}

// testHeld tells who has claimed a transaction, since when, and until when that holds.
func testHeld(f *fixture) {
	f.register("S", "T")
	f.post("p", "a")
	f.post("q", "b")
	f.ok(f.client.Set(f.ctx, f.key("n:claim"), 41, 0).Err()) // as a build had it that counted from 1
	before := f.now()
	f.bound("a S", "b T")
	held := func(uid string) tx.Claim {
		t := f.get(uid)
		f.ok(f.store.FindClaims(f.ctx, t))
		return t.Held()
	}
	first, second := held("a"), held("b")
	if first.Process != me || first.Since.Before(before.Truncate(time.Millisecond)) || first.Since.After(f.now()) {
		f.Errorf("%+v, bound behind %v", first, before)
	}
	if !second.Since.After(first.Since) {
		f.Errorf("bound behind it since %v: %v", first.Since, second.Since)
	}
	if left := first.Expires.Sub(f.now()); left <= 0 || left > time.Hour {
		f.Errorf("it lapses in %v", left)
	}
	f.heartbeat(other, time.Hour)
	f.ok(f.client.ZAdd(f.ctx, f.key("procs"), z(1, me)).Err()) // it is gone
	if _, err := f.store.TakeOver(f.ctx, other, me, 9); err != nil {
		f.Fatal(err)
	}
	if taken := held("a"); taken.Process != other || !taken.Since.After(second.Since) {
		f.Errorf("taken over: %+v", taken)
	}
	f.heartbeat(me, time.Hour)
	f.to("a", tx.PhaseFailed)
	equal(f.T, "of nobody", held("a"), tx.Claim{})
	s, err := f.pool.Get(f.ctx, "T")
	f.ok(err)
	if s.Claim != held("b") || s.Claim.Process != other {
		f.Errorf("its sender has %+v, it %+v", s.Claim, held("b"))
	}
	if s, err := f.pool.Get(f.ctx, "S"); err != nil || s.Claim != (tx.Claim{}) {
		f.Errorf("one that carries nothing: %+v, %v", s.Claim, err)
	}
}
