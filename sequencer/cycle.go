package sequencer

import (
	"context"
	"math/rand/v2"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

const (
	// most is how much one tick handles; the next follows at once.
	most = 64
	// mostBound is how many pairs one bind makes: the first are at work while the
	// next are bound.
	mostBound = 16
	// claimGrace is when a bound transaction that its process does not know of,
	// because the answer to the bind was lost, is looked at.
	claimGrace = 5 * time.Second
)

// cycleLoop binds, and looks at what is due, until ctx ends. It sleeps until
// something is due, a bind may have become possible, or CycleInterval is over.
func (s *Sequencer) cycleLoop(ctx, work context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(s.tick(ctx, work))
		case <-s.due:
			timer.Reset(s.tick(ctx, work))
		case dead := <-s.dead:
			s.takeOver(ctx, dead)
		case <-s.Store.Wake():
		}
		s.bind(ctx, work)
	}
}

// tick does what is due and returns how long to sleep.
func (s *Sequencer) tick(ctx, work context.Context) time.Duration {
	// Jitter keeps processes from asking in step.
	sleep := time.Duration(float64(s.Policy.CycleInterval) * (0.9 + 0.1*rand.Float64()))
	t, err := s.Store.Tick(ctx, queues.TickRequest{Process: s.process, Most: most, Lease: callbackLease})
	if err != nil {
		s.Log.Warn("cycle failed", "err", err)
		return min(sleep, time.Second)
	}
	s.skew.Store(int64(time.Until(t.Now)))
	s.look(ctx, work, t.Due)
	for _, uid := range t.Callbacks {
		s.steps.Go(func() { s.tellStored(work, uid) })
	}
	if t.Next >= 0 {
		// What is due and stays due is being worked on: do not spin on it.
		sleep = min(sleep, max(t.Next, 20*time.Millisecond))
	}
	return sleep
}

// look steps claimed transactions that are due. It reads all of them: what is
// held may have been taken over, or moved on by a person, and have come back.
func (s *Sequencer) look(ctx, work context.Context, uids []string) {
	ts, err := s.Store.GetMany(ctx, uids)
	if err != nil {
		s.Log.Warn("reading due transactions failed", "err", err)
		return
	}
	for _, t := range ts {
		if !s.owns(t) {
			continue
		}
		h := s.hold(&held{t: t})
		// Once every poll looks at it, no clock has to. Anything else is looked at
		// again soon, in case the step stores nothing. If this fails, it is due
		// once more, which is harmless.
		d := claimGrace
		switch left := t.DueAt.Sub(s.now()); {
		case t.Phase == lifecycle.PhaseWatching || t.Phase.Final():
			d = queues.Never
		case t.Phase == lifecycle.PhaseDelayed && left > 0:
			d = left
		}
		if err := s.Store.Postpone(ctx, s.process, t.UID, d); err != nil {
			s.Log.Warn("claim still due", about(t, "err", err)...)
		}
		s.kick(work, h)
	}
}

// now is the time by the clock of Redis, which due times are told in.
func (s *Sequencer) now() time.Time {
	return time.Now().Add(time.Duration(s.skew.Load()))
}

// owns reports whether t's claim is this process's.
func (s *Sequencer) owns(t *lifecycle.Transaction) bool {
	n := len(s.process)
	return len(t.Claim) > n && t.Claim[:n] == s.process && t.Claim[n] == ':'
}

// hold keeps h from now on. If its transaction is held already, what was known
// of it is read anew: the claim may be another one.
func (s *Sequencer) hold(h *held) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.uid = h.t.UID
	if known := s.held[h.uid]; known != nil {
		known.stale = true
		return known
	}
	s.held[h.uid] = h
	return h
}

// drop lets go of what is not, or no longer, this process's.
func (s *Sequencer) drop(h *held) {
	s.Chain.Forget(h.uid)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(h)
}

// letGo is drop, unless h has come back since it was last read.
func (s *Sequencer) letGo(h *held) bool {
	s.Chain.Forget(h.uid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.stale {
		return false
	}
	s.remove(h)
	return true
}

// remove is under mu.
func (s *Sequencer) remove(h *held) {
	h.dropped = true
	if s.held[h.uid] == h {
		delete(s.held, h.uid)
	}
}

// kick steps h in a goroutine of its own; if a step is under way, it looks once
// more when it ends.
func (s *Sequencer) kick(work context.Context, h *held) { s.start(work, h, nil) }

// unhurried is how many steps are under way at a time that nobody waits for.
const unhurried = 8

// start is kick, in turn where there is a gate.
func (s *Sequencer) start(work context.Context, h *held, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.dropped {
		return
	}
	if h.busy {
		h.again = true
		return
	}
	h.busy = true
	s.steps.Go(func() {
		if gate != nil {
			gate <- struct{}{}
			defer func() { <-gate }()
		}
		for {
			s.step(work, h)
			s.mu.Lock()
			if h.again && !h.dropped && work.Err() == nil {
				h.again = false
				s.mu.Unlock()
				continue
			}
			h.busy = false
			s.mu.Unlock()
			return
		}
	})
}

// bind gives free senders to ready queues until one of the two runs out. No
// sender is bound while no quorum of synced nodes is there.
func (s *Sequencer) bind(ctx, work context.Context) {
	for ctx.Err() == nil && s.live() {
		n := mostBound
		if limit := s.Policy.ClaimLimit; limit > 0 {
			n = min(n, limit-s.boundQueues())
		}
		if n <= 0 || !s.chainReady(ctx) {
			return
		}
		c := s.Chain.Chain()
		bound, err := s.Store.Bind(ctx, queues.BindRequest{
			Process: s.process, Types: s.Dispatch, Groups: s.groups(), Most: n, Grace: claimGrace,
			Plan:  lifecycle.Attempt{Fee: s.Policy.Fee, ValidUntil: s.validUntil(c), Slot: c.TipSlot},
			Known: s.justReleased(),
		})
		if err != nil {
			s.Log.Warn("binding failed", "err", err)
			return
		}
		for _, b := range bound {
			h := &held{t: b.Transaction, bound: true, worker: dispatcher.Worker{AccountID: b.Sender, URL: b.URL}}
			if b.HasNext {
				h.next = &b.Next
			}
			s.mu.Lock()
			delete(s.released, b.Sender)
			s.mu.Unlock()
			s.next(Situation{Phase: lifecycle.PhaseWaiting}, Bound) // the store has done it
			waiting := time.Time{}
			if b.Transaction.Revision == 1 {
				waiting = b.Transaction.ReceivedAt
			}
			s.moved(b.Transaction, Bound, lifecycle.PhaseWaiting, waiting, false)
			s.kick(work, s.hold(h))
		}
		if len(bound) < n {
			return
		}
	}
}

// mostKnown bounds what a bind is told of senders.
const mostKnown = 64

// justReleased are senders whose next nonces the chain has just shown here: what is
// bound to them can be planned at once, in the same write.
func (s *Sequencer) justReleased() map[string]uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]uint32, min(mostKnown, len(s.released)))
	for sender, seen := range s.released {
		switch {
		case time.Since(seen.at) >= nonceSeen:
			delete(s.released, sender)
		case len(known) < mostKnown:
			known[sender] = seen.next
		}
	}
	return known
}

// groups are those of the senders that this process can use now.
func (s *Sequencer) groups() []string {
	groups := []string{senders.Shared}
	if s.Local != nil {
		for _, account := range s.Local() {
			groups = append(groups, senders.LocalGroup(account))
		}
	}
	return groups
}

func (s *Sequencer) boundQueues() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.held {
		if h.busy || h.t.Phase.Bound() {
			n++
		}
	}
	return n
}

// chainReady reports whether what is known of the chain is fresh enough to plan
// an attempt on. After an idle time it is not: then the poll loop is asked, and
// wakes the cycle when it knows more.
func (s *Sequencer) chainReady(ctx context.Context) bool {
	c := s.Chain.Chain()
	if s.outdated(c) {
		if possible, err := s.Store.Bindable(ctx, s.Dispatch, s.groups()); err == nil && possible {
			s.wanted.Store(true)
			notify(s.watching)
		}
		return false
	}
	if !c.Quorum {
		s.Log.Warn("nothing is dispatched: no quorum of synced Mina nodes", "err", c.Err)
		return false
	}
	if s.network == "" {
		if err := s.sameNetwork(ctx); err != nil || s.network == "" {
			s.Log.Error("nothing is dispatched", "err", err)
			return false
		}
	}
	return true
}

// outdated reports whether c is too old to plan an attempt on: two looks at the
// chain, which take their time too, would have been made since.
func (s *Sequencer) outdated(c mina.Chain) bool {
	return c.At.IsZero() || time.Since(c.At) > 2*(s.Policy.InclusionInterval+time.Duration(s.looked.Load()))
}

// news is what is known of the chain. Where that is outdated, as in a process
// that has just begun, it waits for the next poll; it stays outdated only if the
// process is ending.
func (s *Sequencer) news(ctx context.Context) mina.Chain {
	if c := s.Chain.Chain(); !s.outdated(c) {
		return c
	}
	s.mu.Lock()
	polled := s.polled
	s.mu.Unlock()
	s.wanted.Store(true)
	notify(s.watching)
	select {
	case <-ctx.Done():
	case <-polled:
	}
	return s.Chain.Chain()
}

// pollLoop asks the chain once per interval while there is something to watch,
// and lets every held transaction see the answer.
func (s *Sequencer) pollLoop(ctx, work context.Context) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.polled)
	}()
	for {
		if s.Chain.Watching() == 0 && !s.wanted.Load() {
			select {
			case <-ctx.Done():
				return
			case <-s.watching:
			}
			continue
		}
		began := time.Now()
		c := s.Chain.Poll(ctx)
		s.looked.Store(int64(time.Since(began)))
		s.observe(work, c)
		s.mu.Lock()
		close(s.polled)
		s.polled = make(chan struct{})
		s.mu.Unlock()
		if s.wanted.Swap(false) {
			s.Store.Signal()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.Policy.InclusionInterval):
		}
	}
}

// observe steps the transactions for which the last poll means something.
func (s *Sequencer) observe(work context.Context, c mina.Chain) {
	s.mu.Lock()
	var moved, over []*held
	for _, h := range s.held {
		if h.busy {
			if g := s.Chain.Sighting(h.uid); h.interrupt != nil && g.Fate == lifecycle.FateIncluded && g.Agreed && g.Depth >= s.Policy.Confirmations {
				h.interrupt()
			}
			continue
		}
		switch e, _ := s.judge(h, c); {
		case e == Finalised:
			over = append(over, h)
		case e != "" || h.doubtful():
			moved = append(moved, h)
		}
	}
	s.mu.Unlock()
	for _, h := range moved {
		s.kick(work, h)
	}
	// A sender or a queue waits for the others.
	for _, h := range over {
		s.start(work, h, s.unhurried)
	}
}

// recheck is how often what ended badly and may still land is read anew.
const recheck = 5 * time.Minute

// doubtful reports, once in a while, that a person may have settled h through
// another process. Nothing tells this one, and it would ask the chain for ever.
func (h *held) doubtful() bool {
	if h.t.Phase != lifecycle.PhaseFailed && h.t.Phase != lifecycle.PhaseUnresolved || time.Since(h.readAt) < recheck {
		return false
	}
	h.readAt, h.stale = time.Now(), true
	return true
}
