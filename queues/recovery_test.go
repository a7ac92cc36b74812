package queues_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

func TestRecovery(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){
		"NothingBeforeSettled":  testNothingBeforeSettled,
		"RestartForgetsNothing": testRestartForgetsNothing,
		"OneTurnAtATime":        testOneTurnAtATime,
		"TokensAnew":            testTokensAnew,
		"MissedByWhoSawIt":      testMissedByWhoSawIt,
		"MissedBehindLater":     testMissedBehindLater,
		"FreshTokens":           testFreshTokens,
		"FormerServer":          testFormerServer,
		"Adopt":                 testAdopt,
		"AdoptTaken":            testAdoptTaken,
		"AdoptTrain":            testAdoptTrain,
		"AdoptTrainAtTen":       atTen(testAdoptTrain),
		"AdoptByForgotten":      testAdoptByForgotten,
		"AdoptOfTwo":            testAdoptOfTwo,
		"AdoptStale":            testAdoptStale,
		"AdoptFinal":            testAdoptFinal,
		"AdoptWithoutBytes":     testAdoptWithoutBytes,
		"NoEndBeforeSettled":    testNoEndBeforeSettled,
		"AdoptElsewhere":        testAdoptElsewhere,
		"Repost":                testRepost,
		"RepostOnAPage":         testRepostOnAPage,
		"RepostBatch":           testRepostBatch,
		"RepostStopped":         testRepostStopped,
		"AdoptForgottenSender":  testAdoptForgottenSender,
		"AdoptFamiliar":         testAdoptFamiliar,
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
	p, err := f.store.Heartbeat(f.ctx, process, ttl, back)
	f.ok(err)
	return p
}

func (f *fixture) recovery() queues.Recovery { return f.store.Recovery() }

func (f *fixture) epoch() string {
	f.Helper()
	log, err := f.store.ReadLog(f.ctx, 0, 1)
	f.ok(err)
	return log.Epoch
}

// settle plays the part of the process that reconciles.
func (f *fixture) settle(process string) {
	f.Helper()
	f.eventually("it is the process's turn", func() bool {
		p := f.pulse(process, short, f.pulse(process, short, "").Server)
		if !p.Turn {
			return false
		}
		done, err := f.recovery().Settle(f.ctx, process, p.Server)
		f.ok(err)
		return done
	})
	f.heartbeat(process, long)
}

// misses is what a process says of the last that it accepted and showed.
func (f *fixture) misses(want bool) {
	f.Helper()
	server := f.pulse(me, long, "").Server
	missing, err := f.recovery().Misses(f.ctx, server)
	f.ok(err)
	equal(f.T, "something was missing", missing, want)
	if missing {
		f.ok(f.recovery().Missed(f.ctx, server))
	}
}

// plan stores a first attempt of a transaction.
func (f *fixture) plan(uid string, a tx.Attempt) {
	f.Helper()
	t := f.get(uid)
	a.Number, a.Sender, a.State, a.StartedAt = len(t.Attempts)+1, t.Sender, tx.Planned,
		time.UnixMilli(5000).UTC()
	f.ok(f.advance(t, tx.PhaseDispatching, made(a), nextNonce(a.Nonce)))
}

// sign stores the bytes of the last attempt.
func (f *fixture) sign(uid, hash string) {
	f.Helper()
	t := f.get(uid)
	f.ok(f.advance(t, tx.PhaseDispatching, signed(len(t.Attempts), []byte("signed "+hash)),
		last(func(a *tx.Attempt) { a.State, a.Hash = tx.Signed, hash }),
		func(c *queues.Change) { c.Confirm = true }))
}

func testNothingBeforeSettled(f *fixture) {
	doubted := func(want bool) {
		f.Helper()
		p, err := f.store.ReadLog(f.ctx, 0, 1)
		f.ok(err)
		equal(f.T, "the log is doubted", p.Doubted, want)
	}
	doubted(false)
	f.register("S1", "S2")
	f.post("q1", "a")
	f.bound("a S1")
	f.post("q2", "b")
	f.plan("a", tx.Attempt{Nonce: 7})
	f.failOver(f.snapshot())
	doubted(true)
	f.bound()
	err := f.advance(f.get("a"), tx.PhaseDispatching,
		last(func(a *tx.Attempt) { a.State = tx.Signed }), effects)
	if !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("confirmed: %v", err)
	}
	equal(f.T, "nothing was stored", f.get("a").Last().State, tx.Planned)
	if p := f.pulse(me, long, ""); p.Settled || p.Turn || p.Server == "" || p.Server == "another" {
		f.Errorf("pulse: %+v", p)
	}
	f.bound()
	f.settle(me)
	doubted(false)
	if p := f.pulse(me, long, ""); !p.Settled {
		f.Errorf("pulse: %+v", p)
	}
	f.bound("b S2")
	f.sign("a", "5Ja")
}

func testNoEndBeforeSettled(f *fixture) {
	f.post("q1", "a")
	f.post("q2", "b")
	f.post("q3", "c")
	cancelled := func(uid string) error { return f.advance(f.get(uid), tx.PhaseFailed, person, effects) }
	f.ok(f.client.Del(f.ctx, f.key("is:server")).Err())
	f.ok(cancelled("a")) // where nothing was ever bound nothing can be forgotten
	f.to("c", tx.PhaseFailed, person, removed(time.Millisecond))
	<-time.After(5 * time.Millisecond)
	f.failOver(f.snapshot())
	if err := cancelled("b"); !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("ended: %v", err)
	}
	if err := f.store.Remove(f.ctx, "a"); !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("removed: %v", err)
	}
	f.tick()
	equal(f.T, "what is there", f.list(queues.Filter{}, 10), []string{"a", "b", "c"})
	f.settle(me)
	f.ok(cancelled("b"))
	f.ok(f.store.Remove(f.ctx, "a"))
	k, err := f.store.Tick(f.ctx, queues.TickRequest{Process: me, Most: 100, Lease: time.Minute})
	f.ok(err)
	if k.Next < 0 || k.Next > time.Minute {
		f.Errorf("c is looked at again after %s", k.Next)
	}
}

func testRestartForgetsNothing(f *fixture) {
	f.register("S")
	f.post("q", "a")
	before := f.epoch()
	f.bound("a S")
	f.plan("a", tx.Attempt{Nonce: 7})
	_, err := f.store.Events(f.ctx, 0, 100)
	f.ok(err)
	was := f.get("a")
	f.failOver(f.snapshot())
	f.misses(false)
	// Which server it is tells the id that its replicas know it by.
	_, id, _ := strings.Cut(f.client.Info(f.ctx, "replication").Val(), "master_replid:")
	id, _, _ = strings.Cut(id, "\r\n")
	equal(f.T, "the server", f.pulse(me, long, "").Server, cmp.Or(id, "none"))
	f.settle(me)
	equal(f.T, "the transaction", f.get("a"), was)
	equal(f.T, "the epoch", f.epoch(), before)
}

// testTokensAnew: what a failover forgets of the counter is given no second time, also where
// the recovery before is forgotten with it.
func testTokensAnew(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.failOver(f.snapshot())
	f.settle(me)
	was, given := f.snapshot(), map[string]bool{}
	for range 2 {
		f.failOver(was)
		f.settle(me)
		claim := f.bound("a S")[0].Transaction.Claim
		if given[claim] {
			f.Errorf("%s is given twice", claim)
		}
		given[claim] = true
	}
}

func testOneTurnAtATime(f *fixture) {
	f.heartbeat(other, short)
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
	if f.pulse(me, short, back); f.pulse(other, short, back).Turn {
		f.Error("two processes have the turn")
	}
	if done, err := f.recovery().Settle(f.ctx, other, back); done || err != nil {
		f.Errorf("settled by who has not the turn: %v", err)
	}
	if !f.pulse(me, short, back).Turn {
		f.Error("the turn was lost")
	}
	f.ok(f.recovery().Yield(f.ctx, other)) // who does not have it passes nothing on
	if !f.pulse(me, short, back).Turn {
		f.Error("another one passed the turn on")
	}
	f.ok(f.recovery().Yield(f.ctx, me))
	if f.pulse(me, short, back).Turn || !f.pulse(other, short, back).Turn || f.pulse(me, short, back).Turn {
		f.Error("what was passed on is not another's")
	}
	f.ok(f.recovery().Yield(f.ctx, other))
	if f.pulse(other, short, back).Turn || !f.pulse(me, short, back).Turn {
		f.Error("the turn does not come back")
	}
	f.eventually("the turn passes on", func() bool { return f.pulse(other, short, back).Turn })
	if done, err := f.recovery().Settle(f.ctx, other, "another"); done || err != nil {
		f.Errorf("settled on another server: %v", err)
	}
	done, err := f.recovery().Settle(f.ctx, other, back)
	f.ok(err)
	equal(f.T, "settled", done, true)
	equal(f.T, "both said that nothing is missing", f.epoch(), epoch)
	// A process that is gone cannot say so.
	f.failOver(f.snapshot())
	f.settle(me)
	if f.epoch() == epoch {
		f.Error("the epoch is the same, although a process is gone")
	}
	// Those that wait for it hear that it is settled.
	told := f.client.Subscribe(f.ctx, f.key("wake"))
	defer told.Close()
	_, err = told.Receive(f.ctx)
	f.ok(err)
	f.failOver(f.snapshot())
	f.settle(me)
	f.eventually("it is told", func() bool {
		m, err := told.ReceiveMessage(f.ctx)
		f.ok(err)
		return m.Payload == ""
	})
}

// testMissedByWhoSawIt: who has seen an event, or a 202, knows that it is gone.
func testMissedByWhoSawIt(f *fixture) {
	f.post("q", "a")
	before := f.snapshot()
	f.post("q", "b")
	f.failOver(before)
	epoch := f.epoch()
	f.misses(true)
	f.misses(false)
	f.settle(me)
	if f.epoch() == epoch {
		f.Error("the epoch is the same, although something is missing")
	}
	epoch = f.epoch()
	<-time.After(2 * time.Millisecond)
	f.ok(f.recovery().Missed(f.ctx, f.pulse(me, long, "").Server))
	if f.epoch() == epoch {
		f.Error("the epoch is the same, although somebody misses something after all")
	}
	f.ok(f.store.Pause(f.ctx, "q", "a break"))
	_, err := f.store.Events(f.ctx, 0, 100)
	f.ok(err)
	f.failOver(before)
	f.post("q", "c") // has the number of the event that is gone
	f.misses(true)
	f.settle(me)
	// One that was removed in order is not missed.
	f.post("p", "d")
	f.to("d", tx.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "d"))
	f.failOver(f.snapshot())
	f.misses(false)
	f.settle(me)
}

// testMissedBehindLater: what is gone is missed also where more was accepted and shown before
// the process knew that its Redis is another one.
func testMissedBehindLater(f *fixture) {
	f.heartbeat(me, long)
	show := func() {
		_, err := f.store.ReadLog(f.ctx, 0, 100)
		f.ok(err)
	}
	f.post("q", "a")
	before := f.snapshot()
	f.post("q", "b")
	f.failOver(before)
	f.post("q", "c", "d")
	f.misses(true)
	f.settle(me)

	f.post("q", "e")
	show()
	before = f.snapshot()
	f.ok(f.store.Pause(f.ctx, "q", "a break"))
	show()
	f.failOver(before)
	f.post("p", "f", "g") // which have the numbers of events that are gone
	show()
	f.misses(true)
	f.settle(me)

	// Of what was marked before a heartbeat the last is enough.
	f.post("q", "h", "i")
	f.heartbeat(me, long)
	f.post("q", "j")
	f.failOver(f.snapshot())
	f.post("q", "k", "l")
	f.misses(false)
	f.settle(me)

	// What was accepted long ago may have been removed in order, and its key be forgotten, too.
	before = f.snapshot()
	f.post("q", "m")
	f.failOver(before)
	<-time.After(2 * time.Millisecond)
	f.store.Retention, f.store.EventsKeep = time.Millisecond, time.Millisecond
	f.misses(false)
	f.store.EventsKeep = time.Hour
	f.misses(true)
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
		if err := f.advance(first[i].Transaction, tx.PhaseWatching); !errors.Is(err, queues.ErrFenced) {
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
		if done, err := f.recovery().Settle(f.ctx, me, "former"); done || err != nil {
			f.Errorf("%s: settled, %v", name, err)
		}
	}
	f.ok(f.client.Del(f.ctx, recovery).Err())
	f.ok(f.client.HSet(f.ctx, recovery, "run", "former", "since", 1, "back:"+me, 1).Err())
	f.pulse(me, short, "former")
	<-time.After(2 * short)
	if p := f.pulse(me, short, "former"); p.Turn {
		f.Errorf("written back to another Redis, long ago: %+v", p)
	}
	f.ok(f.client.HSet(f.ctx, recovery, "run", run, "since", 1).Err())
	if p := f.pulse(me, long, run); !p.Turn {
		f.Errorf("written back to this one: %+v", p)
	}
	if done, err := f.recovery().Settle(f.ctx, me, "former"); done || err != nil {
		f.Errorf("another Redis was reconciled: settled, %v", err)
	}
	if done, err := f.recovery().Settle(f.ctx, me, run); !done || err != nil {
		f.Errorf("reconciled, and not settled: %v", err)
	}
}

// adopt has a process adopt an attempt of a transaction that Redis knows nothing of.
func (f *fixture) adopt(process string, before *tx.Transaction, sender string, nonce uint32) error {
	f.Helper()
	c := lifecycle.Command{Payer: sender, Nonce: nonce, Hash: "5J" + before.UID}
	known := lifecycle.KnownBy(lifecycle.Use{Command: c}, time.UnixMilli(5000).UTC())
	after, _ := lifecycle.Restored(before, known, time.UnixMilli(6000).UTC())
	return f.recovery().Adopt(f.ctx, process, before, after,
		&lifecycle.BytesRead{Number: len(after.Attempts), Command: []byte("signed")})
}

func testAdopt(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	<-time.After(2 * time.Millisecond)
	f.ok(f.adopt(me, f.get("a"), "S", 3))
	a := f.get("a")
	if !a.ChangedAt.After(a.ReceivedAt) {
		f.Errorf("received at %v, changed at %v", a.ReceivedAt, a.ChangedAt)
	}
	if a.Phase != tx.PhaseDispatching || a.Sender != "S" || !strings.HasPrefix(a.Claim, me+":") ||
		a.Last().NodeHash != "5Ja" {
		f.Errorf("adopted: %+v", a)
	}
	if s := f.sender("S"); s.Queue != "q" || s.Nonce == nil || *s.Nonce != 3 {
		f.Errorf("sender: %+v", s)
	}
	number, signed, err := f.store.Signed(f.ctx, "a")
	f.ok(err)
	equal(f.T, "bytes", string(signed), "signed")
	equal(f.T, "of attempt", number, 1)
	told := f.told("t")
	equal(f.T, "event", told[len(told)-1], event{Kind: "t", ID: "a", Sender: "S", From: "waiting", To: "dispatching",
		Code: "ADOPTED"})
	f.inspect()
	f.bound() // the queue runs a
	f.to("a", tx.PhaseDone, final)
	f.bound("b S")
}

// testAdoptByForgotten: what a process adopts that Redis has forgotten passes to
// others if that process is gone.
func testAdoptByForgotten(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.ok(f.adopt("forgotten", f.get("a"), "S", 3))
	f.eventually("it is dead", func() bool { return slices.Equal(f.heartbeat(me, long), []string{"forgotten"}) })
	taken, err := f.store.TakeOver(f.ctx, me, "forgotten", 9)
	f.ok(err)
	equal(f.T, "taken", taken, []string{"a"})
}

// testAdoptTaken: while the queue or the sender of what was found carries another one,
// nothing is bound at all.
func testAdoptTaken(f *fixture) {
	f.register("S1", "S2", "S3")
	f.post("q1", "a", "b")
	f.post("q2", "c", "e")
	f.post("q3", "d")
	f.bound("a S1", "c S2", "d S3")
	taken := func(uid, sender, by string) {
		f.Helper()
		was := f.get(uid)
		err := f.adopt(me, was, sender, 3)
		if e, is := errors.AsType[*queues.TakenError](err); !is || e.By != by {
			f.Errorf("adopting %s: %v", uid, err)
		}
		equal(f.T, "nothing is stored", f.get(uid), was)
		f.inspect()
		f.audited()
	}
	taken("b", "S3", "a") // its queue runs a
	taken("b", "S1", "a") // which has nothing out: they were not in flight together
	f.to("a", tx.PhaseDone, final)
	taken("b", "S3", "d") // its sender carries d
	f.to("c", tx.PhaseDone, final)
	f.bound() // neither b with S1, nor e
	f.to("d", tx.PhaseDone, final)
	f.ok(f.adopt(me, f.get("b"), "S3", 3))
	f.bound()
	f.settle(me)
	f.bound("e S1")
}

// testAdoptTrain: what was in flight together is so again in the order in which it was
// accepted, whichever of it is found first.
func testAdoptTrain(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.heartbeat(other, long)
	nonces := map[string]uint32{"a": 3, "b": 4, "c": 5}
	for n, uid := range []string{"b", "c", "a"} {
		before := f.get("b")
		f.ok(f.adopt([]string{other, me, other}[n], f.get(uid), "S", nonces[uid]))
		// Whoever has read it before reads it anew.
		if b := f.get("b"); b.Revision != before.Revision+1 || b.Claim == before.Claim {
			f.Errorf("b was %+v, and is %+v", before, b)
		}
		f.inspect()
		equal(f.T, "in flight", f.queue("q").InFlight, [][]string{{"b"}, {"b", "c"}, {"a", "b", "c"}}[n])
	}
	f.audited()
}

// testAdoptOfTwo: what another sender has spent on it before is known of that one again.
func testAdoptOfTwo(f *fixture) {
	f.register("S", "S2")
	f.post("q", "a")
	before := f.get("a")
	after := before.Clone()
	after.Attempts = []tx.Attempt{
		{Number: 1, Sender: "S2", Nonce: 5, State: tx.FailedIn, EndedAt: time.UnixMilli(5000).UTC()},
		{Number: 2, Sender: "S", Nonce: 3, State: tx.Sent},
	}
	f.ok(f.recovery().Adopt(f.ctx, me, before, after, nil))
	equal(f.T, "next nonces", []uint32{*f.sender("S").Nonce, *f.sender("S2").Nonce}, []uint32{3, 6})
}

// testAdoptWithoutBytes: what of an attempt nobody has the bytes is adopted all the same.
func testAdoptWithoutBytes(f *fixture) {
	f.register("S")
	f.post("q", "a")
	before := f.get("a")
	c := lifecycle.Command{Payer: "S", Nonce: 3, Hash: "5Ja"}
	known := lifecycle.KnownBy(lifecycle.Use{Command: c}, time.UnixMilli(5000).UTC())
	after, _ := lifecycle.Restored(before, known, time.UnixMilli(6000).UTC())
	f.ok(f.recovery().Adopt(f.ctx, me, before, after, nil))
	_, there := f.dump().strings["b:a"]
	equal(f.T, "bytes are stored", there, false)
}

// testAdoptStale: what has changed, or is bound to that sender, is to be read again.
func testAdoptStale(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	was := f.get("a")
	f.bound("a S1")
	for _, before := range []*tx.Transaction{was, f.get("a")} {
		if err := f.adopt(me, before, "S1", 3); !errors.Is(err, queues.ErrStale) {
			f.Errorf("adopted: %v", err)
		}
	}
	for _, before := range []*tx.Transaction{was, {UID: "none", Queue: "q", Type: vote}} {
		if err := f.adopt(me, before, "S2", 3); !errors.Is(err, queues.ErrStale) {
			f.Errorf("adopted: %v", err)
		}
	}
	f.inspect()
}

// testAdoptFinal: how it ended is forgotten with what it has out, in one change: nobody is told that, it is
// not removed, and neither its place on the chain nor its sender's rest is left.
func testAdoptFinal(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a", "b", "c")
	f.bound("a S1")
	f.to("a", tx.PhaseDone, keep, due(time.Hour), record(func(t *tx.Transaction) {
		t.Attempts, t.Landed = []tx.Attempt{{Number: 1, Sender: "S1", Nonce: 2, State: tx.Included}}, 1
	}), tell(tx.OnSuccess, long, long), removed(long), func(c *queues.Change) { c.Stands, c.Nonce = "S1", 2 })
	f.ok(f.adopt(me, f.get("a"), "S2", 3))
	told := f.told("t")
	equal(f.T, "events", told[len(told)-2:], []event{
		{Kind: "t", ID: "a", Sender: "S1", From: "done", To: "waiting", Code: "RESTORED"},
		{Kind: "t", ID: "a", Sender: "S2", From: "waiting", To: "watching", Code: "ADOPTED"}, // for it was DONE
	})
	a, sets := f.get("a"), f.dump().sets
	if a.Phase != tx.PhaseWatching || a.Landed != 0 || a.Callback != "" || !a.DoneAt.IsZero() ||
		len(sets["landed:S1"])+len(sets["st:DONE"]) > 0 || sets["due"]["c:a"] != 0 || sets["due"]["x:a"] != 0 {
		f.Errorf("adopted: %+v, beside %v", a, sets)
	}
	f.inspect()
	f.audited()
	f.bound() // the queue runs a
	f.to("a", tx.PhaseUnresolved, rest(lifecycle.Never, tx.OutcomeUnknown), keep,
		record(func(t *tx.Transaction) { t.Attempts[len(t.Attempts)-1].State = tx.Unknown }))
	f.ok(f.adopt(me, f.get("a"), "S1", 4))
	equal(f.T, "the sender", []any{f.sender("S2").Reason, f.sender("S2").Queue, f.sender("S1").Queue},
		[]any{tx.SenderReason(""), "", "q"})
	f.inspect()
	f.to("b", tx.PhaseFailed, person) // while it stands in its line
	f.to("a", tx.PhaseDone, final)
	f.ok(f.adopt(me, f.get("b"), "S1", 5))
	f.inspect()
	f.audited()
	f.to("b", tx.PhaseDone, final)
	f.bound("c S2")
}

// testAdoptElsewhere: that it was released by one sender and bound to another is
// forgotten.
func testAdoptElsewhere(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.bound("a S1")
	f.ok(f.adopt(me, f.get("a"), "S2", 3))
	if a := f.get("a"); a.Sender != "S2" || f.sender("S1").Queue != "" || f.sender("S2").Queue != "q" {
		f.Errorf("adopted: %+v", a)
	}
	told := f.told("t")
	equal(f.T, "event", told[len(told)-2], event{Kind: "t", ID: "a", Sender: "S1", From: "dispatching", To: "waiting",
		Code: "RESTORED"})
	f.inspect()
	f.audited()
	f.post("r", "b")
	f.bound("b S1") // which it has left
	// Another process has it, by another sender.
	f.heartbeat(other, long)
	f.register("S3")
	f.post("p", "c")
	equal(f.T, "bound", f.bindAs(other, 1)[0].Transaction.UID, "c")
	f.register("S4")
	f.ok(f.adopt(me, f.get("c"), "S4", 9))
}

// testRepost: Redis has forgotten that it was accepted.
func testRepost(f *fixture) {
	empty := f.snapshot()
	item := vote1("a", "q", `{"n":1}`)
	item.ExpiresAt, item.MaxFee = time.Now().Add(long).Truncate(time.Millisecond), 5
	f.ok(f.store.Enqueue(f.ctx, item).Err)
	was := f.get("a")
	was.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	f.failOver(empty)
	f.post("q", "x", "y") // they have its number
	f.ok(f.recovery().Repost(f.ctx, was))
	f.ok(f.recovery().Repost(f.ctx, was))
	f.inspect()
	f.register("S")
	if p := f.pulse(me, long, ""); p.Settled {
		f.Errorf("settled, and what it has out is not stored: %+v", p)
	}
	f.ok(f.adopt(me, f.get("a"), "S", 3))
	a := f.get("a")
	if a.Sequence <= f.get("y").Sequence || a.Sender != "S" || string(a.Data) != string(was.Data) ||
		a.Terms != was.Terms || a.Trace != was.Trace {
		f.Errorf("adopted: %+v", a)
	}
	f.inspect()
	f.settle(me)
	equal(f.T, "all of them", f.list(queues.Filter{}, 1), []string{"x", "y", "a"})
	f.to("x", tx.PhaseFailed, person)
	x := f.get("x")
	f.ok(f.store.Remove(f.ctx, "x"))
	if err := f.recovery().Repost(f.ctx, x); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("what was removed: %v", err)
	}
	f.inspect()
	if p := f.pulse(me, long, ""); !p.Settled {
		f.Errorf("what was removed is missed: %+v", p)
	}
}

// testRepostStopped: also a queue that Redis has forgotten comes to be as a person has said of its like.
func testRepostStopped(f *fixture) {
	f.ok(f.store.Stop(f.ctx, queues.Prefixes{"a-"}, "its key has leaked", time.Time{}))
	for _, queue := range []string{"a-1", "b-1"} {
		t := &tx.Transaction{
			UID: "in-" + queue, Queue: queue, Type: vote, Data: []byte(`{}`), Sequence: 1, ReceivedAt: f.now(),
		}
		f.ok(f.recovery().Repost(f.ctx, t))
		equal(f.T, queue, f.queue(queue).Paused, map[string]string{"a-1": "its key has leaked"}[queue])
	}
}

// testRepostOnAPage: it is listed on the page that its number says, the first of one too.
func testRepostOnAPage(f *fixture) {
	empty := f.snapshot()
	f.ok(f.client.Set(f.ctx, f.key("n:seq"), 511, 0).Err())
	f.post("q", "a")
	was := f.get("a")
	f.failOver(empty)
	f.ok(f.recovery().Repost(f.ctx, was))
	f.inspect()
	equal(f.T, "its number", f.get("a").Sequence, was.Sequence)
	equal(f.T, "what it is", []string{f.get("a").Type, f.get("a").Queue}, []string{vote, "q"})
	told := f.told("t")
	equal(f.T, "event", told[len(told)-1], event{Kind: "t", ID: "a", To: "waiting", Code: "RESTORED"})
	f.post("q", "b")
	equal(f.T, "the next number", f.get("b").Sequence, was.Sequence+1)
}

// testRepostBatch: the ledger's id of a batch is known again with it.
func testRepostBatch(f *fixture) {
	empty := f.snapshot()
	item := batchItem("one", "q", "saw", "b1")
	f.ok(f.store.Enqueue(f.ctx, item).Err)
	was := f.get("one")
	f.failOver(empty)
	f.settle(me)
	f.ok(f.recovery().Repost(f.ctx, was))
	f.inspect()
	equal(f.T, "settled, and what it has out is not stored", f.pulse(me, long, "").Settled, false)
	f.settle(me)
	item.UID = "two"
	a := f.store.Enqueue(f.ctx, item)
	f.ok(a.Err)
	equal(f.T, "known by", a.Transaction.UID, "one")
}

// testAdoptFamiliar: a sender that was stopped for a stranger's nonce is in use again when that turns out
// to be ours, and stays stopped for another one.
func testAdoptFamiliar(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a")
	f.post("q2", "b")
	for _, sender := range []string{"S1", "S2"} {
		f.ok(f.pool.Stop(f.ctx, sender, 3, "nonce 3 of the account was used"))
	}
	f.ok(f.pool.Rest(f.ctx, "S1", -1, tx.LowBalance, ""))
	f.ok(f.adopt(me, f.get("a"), "S1", 3))
	f.ok(f.adopt(me, f.get("b"), "S2", 4))
	equal(f.T, "out of use", []tx.SenderReason{f.sender("S1").Reason, f.sender("S2").Reason},
		[]tx.SenderReason{tx.LowBalance, tx.StoppedNonce})
	told := f.told("s")
	equal(f.T, "told", told[len(told)-1], event{Kind: "s", ID: "S1", Sender: "S1", Code: "RESUMED"})
	// What becomes of others says nothing of it.
	f.to("b", tx.PhaseSent, func(c *queues.Change) { c.Least = map[string]uint32{"S2": 3} })
	equal(f.T, "out of use", f.sender("S2").Reason, tx.StoppedNonce)
	f.ok(f.pool.Resume(f.ctx, "S2"))
	if s := f.sender("S2"); s.Reason != "" || s.Nonce != nil {
		f.Errorf("resumed: %+v", s)
	}
}

func testAdoptForgottenSender(f *fixture) {
	f.post("q", "a")
	f.ok(f.adopt(me, f.get("a"), "S1", 3))
	equal(f.T, "events of senders", f.told("s"), []event{{Kind: "s", ID: "S1", Sender: "S1", Code: "RESTORED"}})
	s := f.sender("S1")
	equal(f.T, "what is known of it", f.dump().hashes["s:S1"], map[string]string{
		"url": "", "source": "api", "group": "shared", "queue": "q", "next": "3", "streak": "",
		"reason": "DRAINING", "why:DRAINING:forgotten": "0",
	})
	if s.Queue != "q" || s.Available() || s.Nonce == nil || *s.Nonce != 3 {
		f.Errorf("sender: %+v", s)
	}
	f.ok(f.pool.Rest(f.ctx, "S1", time.Millisecond, tx.Rested, ""))
	f.eventually("the rest is over", func() bool {
		f.tick()
		return f.dump().hashes["s:S1"]["why:RESTED"] == ""
	})
	equal(f.T, "out of use until a person says what it is", f.sender("S1").Reason, tx.Draining)
	f.register("S1")
	f.to("a", tx.PhaseDone, final)
	f.post("q", "b")
	f.bound("b S1")
}

func testCandidates(f *fixture) {
	f.register("S1")
	f.post("q1", "a", "b")
	f.post("q2", "c", "d", "e")
	f.bound("a S1")
	f.to("c", tx.PhaseFailed, person)
	f.to("d", tx.PhaseFailed, person)
	f.to("d", tx.PhaseWaiting, person)
	var all []string
	seen := func(most int) (uids []string) {
		f.ok(f.recovery().Candidates(f.ctx, func(some []string) bool {
			uids = append(uids, some...)
			return len(uids) < most
		}))
		return uids
	}
	all = seen(100)
	equal(f.T, "the running one comes first", all[0], "a")
	for _, uid := range []string{"a", "b", "c", "d", "e"} {
		if !strings.Contains(strings.Join(all, " ")+" ", uid+" ") {
			f.Errorf("%s is not among %v", uid, all)
		}
	}
	equal(f.T, "one is enough", seen(1), []string{"a"})

	// What was cancelled or removed stands in the line until it comes to the front.
	for i := range 3 * 64 {
		uid := fmt.Sprint("x", i)
		f.post("q1", uid)
		f.to(uid, tx.PhaseFailed, person)
		if i%2 == 0 {
			f.ok(f.store.Remove(f.ctx, uid))
		}
	}
	var behind []string
	for i := range 70 {
		behind = append(behind, fmt.Sprint("y", i))
	}
	f.post("q1", behind...)
	f.to("y1", tx.PhaseFailed, person)
	f.to("y1", tx.PhaseWaiting, person)
	var parts [][]string
	f.ok(f.recovery().Candidates(f.ctx, func(some []string) bool {
		parts = append(parts, some)
		return len(parts) < 5 // behind what runs, has landed and ended in two ways
	}))
	equal(f.T, "the first 64 that wait", parts[4], append([]string{"b"}, behind[:63]...))

	// What has landed may be orphaned, and have been made again by now.
	f.to("a", tx.PhaseDone, keep, func(c *queues.Change) { c.Stands, c.Nonce = "S1", 3 })
	if all := seen(1000); !slices.Contains(all, "a") || slices.Index(all, "a") > slices.Index(all, "b") {
		f.Errorf("what may be orphaned is not among %v, or behind what waits, of which there may be a million", all)
	}
	// A queue whose record cannot be read holds up no recovery.
	whole := seen(100)
	record := f.client.SetArgs(f.ctx, f.key("q:q1"), "damaged", redis.SetArgs{Get: true}).Val()
	equal(f.T, "with a damaged queue", seen(100), whole)
	f.ok(f.client.Set(f.ctx, f.key("q:q1"), record, 0).Err())
}
