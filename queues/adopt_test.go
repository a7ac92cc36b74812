package queues_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

func (f *fixture) adopt(uid, sender string, nonce uint32) error {
	f.Helper()
	t := f.get(uid)
	t.Attempts = append(t.Attempts, lifecycle.Attempt{
		Number: len(t.Attempts) + 1, Sender: sender, Nonce: nonce, NodeHash: "5J" + uid, Outcome: lifecycle.Signed, StartedAt: time.UnixMilli(5000).UTC()})
	return f.store.Adopt(f.ctx, me, t, nil)
}

// stray adopts what has no place yet, for by is there.
func (f *fixture) stray(uid, sender, by string) {
	f.Helper()
	err := f.adopt(uid, sender, 3)
	if e, ok := errors.AsType[*queues.AstrayError](err); !ok || e.By != by {
		f.Errorf("adopting %s: %v", uid, err)
	}
	if t := f.get(uid); t.Phase != lifecycle.PhaseWaiting || !t.Open() {
		f.Errorf("%s: %+v", uid, t)
	}
}

// testAdoptByForgotten: what a process adopts that Redis has forgotten passes to
// others if that process is gone.
func testAdoptByForgotten(f *fixture) {
	f.register("S")
	f.post("q", "a")
	t := f.get("a")
	t.Attempts = []lifecycle.Attempt{{Number: 1, Sender: "S", NodeHash: "5J", Outcome: lifecycle.Signed, StartedAt: time.UnixMilli(5000).UTC()}}
	f.ok(f.store.Adopt(f.ctx, "forgotten", t, nil))
	f.eventually("it is dead", func() bool { return slices.Equal(f.beat(me, long), []string{"forgotten"}) })
	taken, err := f.store.TakeOver(f.ctx, me, "forgotten", 9)
	f.ok(err)
	equal(f.T, "taken", taken, []string{"a"})
}

// testAdoptAstray: what was found has no place yet, and keeps it free of others.
func testAdoptAstray(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a", "b")
	f.post("q2", "c")
	f.post("q3", "d")
	f.bound("a S1", "c S2")
	f.stray("b", "S2", "a") // its queue runs a
	uids, err := f.store.Astray(f.ctx)
	f.ok(err)
	equal(f.T, "astray", uids, []string{"b"})
	equal(f.T, "told by the beat", f.pulse(me, long, "").Astray, 1)
	f.inspect()
	f.audited()
	f.to("a", lifecycle.PhaseDone, final)
	f.to("c", lifecycle.PhaseDone, final)
	f.bound("d S1") // neither b with S1, nor d with S2
	f.ok(f.store.Adopt(f.ctx, me, f.get("b"), nil))
	if b := f.get("b"); b.Phase != lifecycle.PhaseDispatching || b.Sender != "S2" || len(b.Attempts) != 1 {
		f.Errorf("b: %+v", b)
	}
	equal(f.T, "astray", f.pulse(me, long, "").Astray, 0)
	if err := f.store.Adopt(f.ctx, me, f.get("b"), nil); !errors.Is(err, queues.ErrStale) {
		f.Errorf("adopted twice: %v", err)
	}
	f.post("q4", "e")
	f.stray("e", "S2", "b") // its sender carries b
	f.post("q5", "g")
	f.to("b", lifecycle.PhaseDone, final)
	f.bound()
	f.ok(f.store.Adopt(f.ctx, me, f.get("e"), nil))
	f.to("e", lifecycle.PhaseDone, final)
	f.bound("g S2")
}

// testAdoptCrowd: of two that wait for the same queue and sender, the second keeps
// them when the first has its place.
func testAdoptCrowd(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a", "b", "c")
	f.post("q2", "d")
	f.post("q3", "e")
	f.bound("a S1", "d S2")
	f.stray("b", "S2", "a")
	f.stray("c", "S2", "a")
	f.to("a", lifecycle.PhaseDone, final)
	f.to("d", lifecycle.PhaseDone, final)
	f.bound("e S1")
	f.ok(f.store.Adopt(f.ctx, me, f.get("b"), nil))
	f.inspect()
	f.to("b", lifecycle.PhaseDone, final)
	f.post("q4", "g")
	f.bound() // not g with S2
	f.to("e", lifecycle.PhaseDone, final)
	f.bound("g S1") // and not c, which S2 has sent
	f.inspect()
	f.audited()
	f.ok(f.store.Adopt(f.ctx, me, f.get("c"), nil))
	f.to("c", lifecycle.PhaseDone, final)
	f.post("q5", "h")
	f.bound("h S2")
}

func testAdoptFinal(f *fixture) {
	f.register("S1")
	f.post("q", "a", "b")
	f.to("a", lifecycle.PhaseFailed, person)
	f.ok(f.adopt("a", "S1", 3))
	if a := f.get("a"); a.Phase != lifecycle.PhaseDispatching || a.Sender != "S1" || !a.Open() {
		f.Errorf("a: %+v", a)
	}
	f.to("a", lifecycle.PhaseDone, final)
	f.bound("b S1")
}

func testAdoptForgottenSender(f *fixture) {
	f.post("q", "a")
	f.ok(f.adopt("a", "S1", 3))
	s := f.sender("S1")
	if s.Queue != "q" || s.Available() || s.Nonce == nil || *s.Nonce != 3 {
		f.Errorf("sender: %+v", s)
	}
	f.register("S1") // a person says what it is
	f.to("a", lifecycle.PhaseDone, final)
	f.post("q", "b")
	f.bound("b S1")
}

func testCandidates(f *fixture) {
	f.register("S1")
	f.post("q1", "a", "b")
	f.post("q2", "c", "d", "e")
	f.bound("a S1")
	f.to("c", lifecycle.PhaseFailed, person)
	f.to("d", lifecycle.PhaseFailed, person)
	f.to("d", lifecycle.PhaseWaiting, person)
	var all []string
	seen := func(most int) (uids []string) {
		f.ok(f.store.Candidates(f.ctx, func(some []string) bool {
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
}

// testWriteBackOtherSender forgets that a transaction was let go of by one sender
// and bound to another, whose attempt is open: that one serves nobody else.
func testWriteBackOtherSender(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.beat(other, long)
	equal(f.T, "bound by another process", f.bindAs(other, 1)[0].Sender, "S1")
	p := f.snapshot()
	f.plan("a", lifecycle.Attempt{Nonce: 4})
	f.to("a", lifecycle.PhaseWaiting, rest(time.Hour, lifecycle.Rested), fated(1, lifecycle.FailedIn), nextNonce(5))
	f.bound("a S2")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.sign("a", "5Ja")
	f.failOver(p)
	f.writeBack(true)
	f.writeBack(false)
	now := f.get("a")
	if now.Sender != "S2" || now.Phase != lifecycle.PhaseDispatching || !strings.HasPrefix(now.Claim, me+":") || now.Last().Hash != "5Ja" {
		f.Errorf("written back: %+v", now)
	}
	if s := f.sender("S1"); s.Nonce == nil || *s.Nonce != 5 {
		f.Errorf("the nonce that the first attempt used up is forgotten: %+v", s)
	}
	f.inspect()
	f.pulse(other, long, f.pulse(other, long, "").Server) // which has nothing to write back
	f.settle(me)
	f.post("q2", "b")
	f.bound("b S1")
	f.to("a", lifecycle.PhaseWatching)
	f.to("a", lifecycle.PhaseDone, final)
	f.post("q3", "c")
	f.bound("c S2")
}

// testWriteBackElsewhere: the same where that one has landed; the chain is asked
// once more, and until then its sender serves nobody else.
func testWriteBackElsewhere(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.bound("a S1")
	p := f.snapshot()
	f.to("a", lifecycle.PhaseWaiting, rest(time.Hour, lifecycle.Rested))
	f.bound("a S2")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.sign("a", "5Ja")
	seven := uint32(7)
	f.to("a", lifecycle.PhaseDone, nextNonce(8), last(func(a *lifecycle.Attempt) {
		a.Outcome, a.Height, a.StateHash, a.EndedAt = lifecycle.Included, 9, "3N", time.UnixMilli(6000).UTC()
	}), record(func(t *lifecycle.Transaction) { t.Landed = 1 }), func(c *queues.Change) { c.LandedWith = &seven }, effects)
	f.failOver(p)
	f.writeBack(true)
	if now := f.get("a"); now.Sender != "S2" || now.Phase != lifecycle.PhaseWatching || !now.Open() {
		f.Errorf("written back: %+v", now)
	}
	f.inspect()
	f.settle(me)
	f.post("q2", "b", "c")
	f.bound("b S1")
}

// testWriteBackAstray: and if that one carries another transaction by what
// Redis has, it is kept.
func testWriteBackAstray(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	f.post("q2", "b")
	f.bound("a S1", "b S2")
	p := f.snapshot()
	f.to("b", lifecycle.PhaseDone, final)
	f.to("a", lifecycle.PhaseWaiting, rest(time.Hour, lifecycle.Rested))
	f.bound("a S2")
	f.plan("a", lifecycle.Attempt{Nonce: 7})
	f.to("a", lifecycle.PhaseDispatching, record(func(t *lifecycle.Transaction) { t.Retries, t.CancelRequested = 2, true }))
	f.sign("a", "5Ja")
	f.failOver(p)
	f.writeBack(true)
	if now := f.get("a"); now.Phase != lifecycle.PhaseWaiting || !now.Open() || now.Retries != 2 || !now.CancelRequested || f.sender("S1").Queue != "" || f.sender("S2").Queue != "q2" {
		f.Errorf("written back: %+v", now)
	}
	f.inspect()
	f.settle(me)
	f.post("q3", "c")
	f.bound("c S1")
	f.to("b", lifecycle.PhaseDone, final)
	f.bound() // both are kept
	f.ok(f.store.Adopt(f.ctx, me, f.get("a"), nil))
	if now := f.get("a"); now.Sender != "S2" || now.Phase != lifecycle.PhaseDispatching {
		f.Errorf("bound again: %+v", now)
	}
}
