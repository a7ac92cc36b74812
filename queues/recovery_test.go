package queues_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/lifecycle"
)

func TestRecovery(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){
		"NothingBeforeSettled":  testNothingBeforeSettled,
		"RestartForgetsNothing": testRestartForgetsNothing,
		"OneTurnAtATime":        testOneTurnAtATime,
		"WriteBack":             testWriteBack,
		"WriteBackAccepted":     testWriteBackAccepted,
		"WriteBackFacts":        testWriteBackFacts,
		"WriteBackEnded":        testWriteBackEnded,
		"WriteBackOlder":        testWriteBackOlder,
		"WriteBackOtherSender":  testWriteBackOtherSender,
		"WriteBackAstray":       testWriteBackAstray,
		"WriteBackElsewhere":    testWriteBackElsewhere,
		"MissedByWhoSawIt":      testMissedByWhoSawIt,
		"FreshTokens":           testFreshTokens,
		"FormerServer":          testFormerServer,
		"WriteBackWatched":      testWriteBackWatched,
		"AdoptAstray":           testAdoptAstray,
		"AdoptByForgotten":      testAdoptByForgotten,
		"AdoptCrowd":            testAdoptCrowd,
		"AdoptFinal":            testAdoptFinal,
		"AdoptForgottenSender":  testAdoptForgottenSender,
		"Candidates":            testCandidates,
	})
}

func (f *fixture) snapshot() redistest.Snapshot {
	f.Helper()
	return redistest.TakeSnapshot(f.T, f.client, f.key("*"))
}

// failOver is what the namespace sees of a failover to a server that has not got
// further than the snapshot.
func (f *fixture) failOver(s redistest.Snapshot) {
	f.Helper()
	s.Load(f.T, f.client)
	f.ok(f.client.Set(f.ctx, f.key("is:server"), "another", 0).Err())
}

func (f *fixture) pulse(process string, ttl time.Duration, back string) queues.Pulse {
	f.Helper()
	p, err := f.store.Beat(f.ctx, process, ttl, back)
	f.ok(err)
	return p
}

func (f *fixture) epoch() string {
	f.Helper()
	e, err := f.store.Epoch(f.ctx)
	f.ok(err)
	return e
}

// settle plays the part of the process that reconciles.
func (f *fixture) settle(process string) {
	f.Helper()
	f.eventually("it is the process's turn", func() bool {
		p := f.pulse(process, short, f.pulse(process, short, "").Server)
		if !p.Turn {
			return false
		}
		done, err := f.store.Settle(f.ctx, process, p.Server)
		f.ok(err)
		return done
	})
	f.beat(process, long)
}

func (f *fixture) writeBack(want bool) {
	f.Helper()
	missing, err := f.store.WriteBack(f.ctx, me, f.pulse(me, long, "").Server)
	f.ok(err)
	equal(f.T, "something was missing", missing, want)
}

// plan stores a first attempt of a transaction.
func (f *fixture) plan(uid string, a lifecycle.Attempt) {
	f.Helper()
	t := f.get(uid)
	a.Number, a.Sender, a.Outcome, a.StartedAt = len(t.Attempts)+1, t.Sender, lifecycle.Prepared, time.UnixMilli(5000).UTC()
	f.ok(f.advance(t, lifecycle.PhaseDispatching, made(a), nextNonce(a.Nonce)))
}

// sign stores the bytes of the last attempt.
func (f *fixture) sign(uid, hash string) {
	f.Helper()
	t := f.get(uid)
	f.ok(f.advance(t, lifecycle.PhaseDispatching, signed(len(t.Attempts), []byte("signed "+hash)), last(func(a *lifecycle.Attempt) {
		a.Outcome, a.Hash = lifecycle.Signed, hash
	}), func(c *queues.Change) { c.Confirm = true }))
}

func testNothingBeforeSettled(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a")
	f.bound("a S1")
	f.post("q2", "b")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.failOver(f.snapshot())
	f.bound()
	err := f.advance(f.get("a"), lifecycle.PhaseDispatching, last(func(a *lifecycle.Attempt) { a.Outcome = lifecycle.Signed }), effects)
	if !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("confirmed: %v", err)
	}
	equal(f.T, "nothing was stored", f.get("a").Last().Outcome, lifecycle.Prepared)
	if p := f.pulse(me, long, ""); p.Settled || p.Turn || p.Server == "" || p.Server == "another" {
		f.Errorf("pulse: %+v", p)
	}
	f.bound()
	f.settle(me)
	if p := f.pulse(me, long, ""); !p.Settled {
		f.Errorf("pulse: %+v", p)
	}
	f.bound("b S2")
	f.sign("a", "5Ja")
}

func testRestartForgetsNothing(f *fixture) {
	f.register("S")
	f.post("q", "a")
	before := f.epoch()
	f.bound("a S")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	_, err := f.store.Events(f.ctx, 0, 100)
	f.ok(err)
	was := f.get("a")
	f.failOver(f.snapshot())
	f.writeBack(false)
	f.settle(me)
	equal(f.T, "the transaction", f.get("a"), was)
	equal(f.T, "the epoch", f.epoch(), before)
}

func testOneTurnAtATime(f *fixture) {
	f.beat(other, short)
	epoch := f.epoch()
	f.failOver(f.snapshot())
	back := f.pulse(me, long, "").Server
	if p := f.pulse(me, long, back); p.Turn {
		f.Error("its turn before the others had one life of a claim")
	}
	f.pulse(me, short, back)
	f.eventually("the time is over", func() bool { return f.pulse(me, short, back).Turn })
	// One that lives and has not written back is waited for, and so is who has the turn.
	if f.pulse(other, long, ""); f.pulse(me, short, back).Turn {
		f.Error("the other process lives and has not written back")
	}
	if p := f.pulse(other, long, back); p.Turn {
		f.Error("two processes have the turn")
	}
	if done, err := f.store.Settle(f.ctx, other, back); done || err != nil {
		f.Errorf("settled by who has not the turn: %v", err)
	}
	if !f.pulse(me, short, back).Turn {
		f.Error("the turn was lost")
	}
	f.eventually("the turn passes on", func() bool { return f.pulse(other, short, back).Turn })
	if done, err := f.store.Settle(f.ctx, other, "another"); done || err != nil {
		f.Errorf("settled on another server: %v", err)
	}
	done, err := f.store.Settle(f.ctx, other, back)
	f.ok(err)
	equal(f.T, "settled", done, true)
	equal(f.T, "both said that nothing is missing", f.epoch(), epoch)
	// A process that is gone cannot say so.
	f.failOver(f.snapshot())
	f.settle(me)
	if f.epoch() == epoch {
		f.Error("the epoch is the same, although a process is gone")
	}
}

// testWriteBack forgets what came after each step of a life.
func testWriteBack(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a", "b")
	epoch := f.epoch()
	var points []redistest.Snapshot
	step := func(do func()) { points = append(points, f.snapshot()); do() }
	f.beat(me, long)
	step(func() { f.bound("a S1") })
	step(func() { f.plan("a", lifecycle.Attempt{Nonce: 7, Fee: 1, ValidUntil: 9}) })
	step(func() { f.sign("a", "5Ja") })
	step(func() { f.to("a", lifecycle.PhaseSent) })
	step(func() {
		f.to("a", lifecycle.PhaseWatching, record(func(t *lifecycle.Transaction) { t.Retries, t.CancelRequested = 2, true }))
	})
	was := f.get("a")
	for i, p := range points {
		f.failOver(p)
		f.writeBack(true)
		f.writeBack(false)
		now := f.get("a")
		if !strings.HasPrefix(now.Claim, me+":") || now.Phase != lifecycle.PhaseWatching || now.Sender != "S1" ||
			now.Retries != 2 || !now.CancelRequested || now.Revision <= was.Revision {
			f.Errorf("after step %d: %+v", i, now)
		}
		equal(f.T, "attempts", now.Attempts, was.Attempts)
		number, signed, err := f.store.Signed(f.ctx, "a")
		f.ok(err)
		equal(f.T, "signed bytes", string(signed), "signed 5Ja")
		equal(f.T, "of attempt", number, 1)
		f.inspect()
		f.settle(me)
		if f.epoch() == epoch {
			f.Errorf("after step %d: the epoch is the same", i)
		}
		f.bound() // the queue runs a
		was = f.get("a")
	}
	if s := f.sender("S1"); s.Nonce == nil || *s.Nonce != 7 {
		f.Errorf("sender: %+v", s)
	}
	f.to("a", lifecycle.PhaseDone, final, tell(lifecycle.OnSuccess, 0, long))
	equal(f.T, "then b", len(f.bind(1)), 1)
}

// testWriteBackFacts: a fact alone is written back, too.
func testWriteBackFacts(f *fixture) {
	f.register("S1")
	f.post("q", "a")
	f.bound("a S1")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.sign("a", "5Ja")
	record := f.client.Get(f.ctx, f.key("x:a")).Val()
	f.ok(f.client.Set(f.ctx, f.key("x:a"), strings.Replace(record, `"hash":"5Ja",`, "", 1), 0).Err())
	f.writeBack(true)
	equal(f.T, "hash", f.get("a").Attempts[0].Hash, "5Ja")
}

// testWriteBackAccepted forgets that there was such a transaction at all.
func testWriteBackAccepted(f *fixture) {
	f.register("S1", "S2")
	empty := f.snapshot()
	f.post("q", "a", "b")
	f.post("p", "c")
	f.bound("a S1", "c S2")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.sign("a", "5Ja")
	was := f.get("a")
	f.failOver(empty)
	// Redis gives the numbers of what it has forgotten to others.
	f.post("q", "x", "y")
	f.writeBack(true)
	now := f.get("a")
	equal(f.T, "attempts", now.Attempts, was.Attempts)
	if now.Sequence <= f.get("y").Sequence || now.Sender != "S1" || string(now.Data) != string(was.Data) {
		f.Errorf("written back: %+v", now)
	}
	equal(f.T, "c", f.get("c").Sender, "S2")
	if _, err := f.store.Get(f.ctx, "b"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("nobody knew of b: %v", err)
	}
	f.inspect()
	f.settle(me)
	equal(f.T, "all of them", f.list(queues.Filter{}, 1), []string{"x", "y", "a", "c"})
}

// testWriteBackEnded forgets how a transaction ended: it is found out again.
func testWriteBackEnded(f *fixture) {
	f.register("S1", "S2", "S3")
	f.post("q1", "done")
	f.post("q2", "failed")
	f.post("q3", "lost")
	before := f.snapshot()
	f.bound("done S1", "failed S2", "lost S3")
	bound := f.snapshot()
	for _, uid := range []string{"done", "failed", "lost"} {
		f.plan(uid, lifecycle.Attempt{Nonce: 7})
		f.sign(uid, "5J"+uid)
	}
	f.to("done", lifecycle.PhaseDone, keep, fated(1, lifecycle.Included), record(func(t *lifecycle.Transaction) { t.Landed = 1 }))
	f.to("failed", lifecycle.PhaseFailed, fated(1, lifecycle.Expired))
	f.to("lost", lifecycle.PhaseUnresolved, keep) // its attempt is open

	f.failOver(bound)
	f.writeBack(true)
	found := func(phases map[string]lifecycle.Phase) {
		f.Helper()
		for uid, want := range phases {
			t := f.get(uid)
			if t.Phase != want || (uid != "failed") != t.Open() || len(t.Attempts) != 1 {
				f.Errorf("%s is %s, open %v", uid, t.Phase, t.Open())
			}
		}
		f.inspect()
	}
	found(map[string]lifecycle.Phase{"done": lifecycle.PhaseWatching, "lost": lifecycle.PhaseWatching, "failed": lifecycle.PhaseFailing})
	f.to("failed", lifecycle.PhaseFailed)
	f.failOver(before)
	f.writeBack(true)
	found(map[string]lifecycle.Phase{"done": lifecycle.PhaseWatching, "lost": lifecycle.PhaseWatching, "failed": lifecycle.PhaseWaiting})
	f.settle(me)
}

// testWriteBackOlder: what Redis knows is never overwritten by what is older.
func testWriteBackOlder(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.bound("a S1")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	old := f.store
	// Another process knows better.
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, Retention: time.Hour})
	f.beat(me, long)
	f.sign("a", "5Ja")
	f.to("a", lifecycle.PhaseWatching)
	was := f.get("a")
	f.failOver(f.snapshot())
	missing, err := old.WriteBack(f.ctx, me, "")
	f.ok(err)
	equal(f.T, "missing", missing, false)
	equal(f.T, "the transaction", f.get("a"), was)
	f.settle(me)
}

// testMissedByWhoSawIt: who has seen an event, or a 202, knows that it is gone.
func testMissedByWhoSawIt(f *fixture) {
	f.post("q", "a")
	before := f.snapshot()
	f.post("q", "b")
	f.failOver(before)
	f.writeBack(true)
	f.writeBack(false)
	f.settle(me)
	f.ok(f.store.Pause(f.ctx, "q", "a break"))
	_, err := f.store.Events(f.ctx, 0, 100)
	f.ok(err)
	f.failOver(before)
	f.post("q", "c") // has the number of the event that is gone
	f.writeBack(true)
	f.settle(me)
	// One that was removed in order is not missed.
	f.post("p", "d")
	f.to("d", lifecycle.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "d"))
	f.failOver(f.snapshot())
	f.writeBack(false)
	f.settle(me)
}

// testFreshTokens: the counter of the claims may have gone back.
func testFreshTokens(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a")
	f.post("q2", "b")
	before := f.snapshot()
	first := f.bound("a S1", "b S2")
	f.failOver(before)
	f.settle(me)
	for i, b := range f.bound("a S1", "b S2") {
		if b.Transaction.Claim == first[i].Transaction.Claim {
			f.Errorf("%s is given out again", b.Transaction.Claim)
		}
		if err := f.advance(first[i].Transaction, lifecycle.PhaseWatching); !errors.Is(err, queues.ErrFenced) {
			f.Errorf("the claim of before still counts: %v", err)
		}
	}
}

// testFormerServer: who has written back to a former Redis, and who had the turn there,
// has neither on this one.
func testFormerServer(f *fixture) {
	f.failOver(f.snapshot())
	run := f.pulse(me, long, "").Server
	recovery := f.key("recovery")
	longAgo := map[string]any{"run": run, "since": 1}
	for name, was := range map[string]map[string]any{
		"written back to another Redis": longAgo,
		"the marks are of another run":  {"run": "former", "since": 1, "back:" + me: 1},
		"and so is the turn":            {"run": "former", "since": 1, "back:" + me: 1, "by": me, "till": 1},
	} {
		f.ok(f.client.Del(f.ctx, recovery).Err())
		f.ok(f.client.HSet(f.ctx, recovery, was).Err())
		if p := f.pulse(me, long, "former"); p.Turn || p.Settled {
			f.Errorf("%s: %+v", name, p)
		}
		if done, err := f.store.Settle(f.ctx, me, "former"); done || err != nil {
			f.Errorf("%s: settled, %v", name, err)
		}
	}
	f.ok(f.client.HSet(f.ctx, recovery, "run", run, "since", 1).Err())
	if p := f.pulse(me, long, run); !p.Turn {
		f.Errorf("written back to this one: %+v", p)
	}
	if done, err := f.store.Settle(f.ctx, me, "former"); done || err != nil {
		f.Errorf("another Redis was reconciled: settled, %v", err)
	}
	if done, err := f.store.Settle(f.ctx, me, run); !done || err != nil {
		f.Errorf("reconciled, and not settled: %v", err)
	}
}

// testWriteBackWatched: what is DONE and watched keeps its claim when something of it is
// written back.
func testWriteBackWatched(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.sign("a", "5Ja")
	f.to("a", lifecycle.PhaseDone, keep, fated(1, lifecycle.Included), record(func(t *lifecycle.Transaction) { t.Landed = 1 }))
	before := f.snapshot()
	claim := f.get("a").Claim
	f.to("a", lifecycle.PhaseDone, keep, last(func(a *lifecycle.Attempt) { a.Confirmations = 4 }))
	f.failOver(before)
	f.writeBack(true)
	if t := f.get("a"); t.Claim == "" || t.Claim != claim || t.Phase != lifecycle.PhaseDone {
		f.Errorf("it is %s, its claim %q, was %q", t.Phase, t.Claim, claim)
	}
	f.settle(me)
}
