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
