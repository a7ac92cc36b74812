package queues_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

// adopt has a process adopt an attempt of a transaction that Redis knows nothing of.
func (f *fixture) adopt(process string, before *lifecycle.Transaction, sender string, nonce uint32) error {
	f.Helper()
	c := lifecycle.Command{Payer: sender, Nonce: nonce, Hash: "5J" + before.UID}
	after, _ := lifecycle.Restored(before, lifecycle.KnownBy(c, time.UnixMilli(5000).UTC()), time.UnixMilli(6000).UTC())
	return f.recovery().Adopt(f.ctx, process, before, after, &lifecycle.BytesRead{Number: len(after.Attempts), Command: []byte("signed")})
}

func testAdopt(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	f.ok(f.adopt(me, f.get("a"), "S", 3))
	a := f.get("a")
	if a.Phase != lifecycle.PhaseDispatching || a.Sender != "S" || !strings.HasPrefix(a.Claim, me+":") || a.Last().NodeHash != "5Ja" {
		f.Errorf("adopted: %+v", a)
	}
	if s := f.sender("S"); s.Queue != "q" || s.Nonce == nil || *s.Nonce != 3 {
		f.Errorf("sender: %+v", s)
	}
	number, signed, err := f.store.Signed(f.ctx, "a")
	f.ok(err)
	equal(f.T, "bytes", string(signed), "signed")
	equal(f.T, "of attempt", number, 1)
	f.inspect()
	f.bound() // the queue runs a
	f.to("a", lifecycle.PhaseDone, final)
	f.bound("b S")
}

// testAdoptByForgotten: what a process adopts that Redis has forgotten passes to
// others if that process is gone.
func testAdoptByForgotten(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.ok(f.adopt("forgotten", f.get("a"), "S", 3))
	f.eventually("it is dead", func() bool { return slices.Equal(f.beat(me, long), []string{"forgotten"}) })
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
	f.to("a", lifecycle.PhaseDone, final)
	taken("b", "S3", "d") // its sender carries d
	f.to("c", lifecycle.PhaseDone, final)
	f.bound() // neither b with S1, nor e
	f.to("d", lifecycle.PhaseDone, final)
	f.ok(f.adopt(me, f.get("b"), "S3", 3))
	f.bound()
	f.settle(me)
	f.bound("e S1")
}

// testAdoptStale: what is final, or has changed, is to be read again.
func testAdoptStale(f *fixture) {
	f.register("S1", "S2")
	f.post("q", "a")
	was := f.get("a")
	f.bound("a S1")
	for _, before := range []*lifecycle.Transaction{was, f.get("a")} {
		if err := f.adopt(me, before, "S1", 3); !errors.Is(err, queues.ErrStale) {
			f.Errorf("adopted: %v", err)
		}
	}
	f.to("a", lifecycle.PhaseFailed)
	if err := f.adopt(me, f.get("a"), "S1", 3); !errors.Is(err, queues.ErrStale) {
		f.Errorf("adopted: %v", err)
	}
	f.inspect()
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
	f.inspect()
	f.audited()
}

// testAdoptForgotten: Redis has forgotten that it was accepted.
func testAdoptForgotten(f *fixture) {
	f.register("S")
	empty := f.snapshot()
	f.post("q", "a")
	was := f.get("a")
	f.failOver(empty)
	f.post("q", "x", "y") // they have its number
	f.ok(f.adopt(me, lifecycle.Posted(was), "S", 3))
	a := f.get("a")
	if a.Sequence <= f.get("y").Sequence || a.Sender != "S" || string(a.Data) != string(was.Data) {
		f.Errorf("adopted: %+v", a)
	}
	f.inspect()
	f.settle(me)
	equal(f.T, "all of them", f.list(queues.Filter{}, 1), []string{"x", "y", "a"})
}

func testAdoptForgottenSender(f *fixture) {
	f.post("q", "a")
	f.ok(f.adopt(me, f.get("a"), "S1", 3))
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
}
