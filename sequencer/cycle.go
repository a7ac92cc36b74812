package sequencer

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
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
	// oddQueue is until a due transaction is looked at again whose queue cannot be read.
	oddQueue = time.Minute
)

// cycleLoop binds, and looks at what is due, until ctx ends. It sleeps until
// something is due, a bind may have become possible, or CycleInterval is over.
func (s *Sequencer) cycleLoop(ctx context.Context) {
	next := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			sleep := s.tick(ctx)
			next = time.Now().Add(sleep)
			timer.Reset(sleep)
		case at := <-s.Store.Planned():
			if at.Before(next) {
				next = at
				timer.Reset(time.Until(at))
			}
			continue
		case dead := <-s.dead:
			s.takeOver(ctx, dead)
		case <-s.Store.Wake():
		}
		s.bind(ctx)
	}
}

// tick does what is due and returns how long to sleep.
func (s *Sequencer) tick(ctx context.Context) time.Duration {
	// Jitter keeps processes from asking in step.
	sleep := time.Duration(float64(s.Policy.CycleInterval) * (0.9 + 0.1*rand.Float64()))
	t, err := s.Store.Tick(ctx, queues.TickRequest{Process: s.process, Most: most, Lease: callbackLease})
	if err != nil {
		s.Log.Warn("cycle failed", "err", err)
		return min(sleep, time.Second)
	}
	// Redis tells milliseconds that have passed: never behind it, for days begin by it.
	s.skew.Store(int64(time.Until(t.Now.Add(time.Millisecond))))
	s.look(ctx, t.Due)
	for _, uid := range t.Expired {
		s.work.Go(func(work context.Context) { s.expire(work, uid) })
	}
	for _, uid := range t.Callbacks {
		s.work.Go(func(work context.Context) { s.tellStored(work, uid) })
	}
	if t.Next >= 0 {
		// What is due and stays due is being worked on: do not spin on it.
		sleep = min(sleep, max(t.Next, 20*time.Millisecond))
	}
	return sleep
}

// look has claimed transactions that are due looked at: they were taken over, or a
// person has moved them on, or the answer to their bind was lost.
func (s *Sequencer) look(ctx context.Context, uids []string) {
	due := word{changed: true, due: true}
	var strange []string
	for _, uid := range uids {
		if !s.leave(uid, due) {
			strange = append(strange, uid)
		}
	}
	ts, err := s.Store.Claimed(ctx, s.process, strange)
	if err != nil {
		s.Log.Warn("reading due transactions failed", "err", err)
		return
	}
	for _, t := range ts {
		switch _, err := s.Store.InFlight(ctx, t.Queue); {
		case errors.Is(err, queues.ErrUnavailable):
			s.Log.Warn("reading due transactions failed", "err", err)
			return
		case err != nil: // what is wrong with one queue is to hold up no other
			s.Log.Error("the queue of a due transaction cannot be read", about(t, "err", err)...)
			if err := s.Store.Postpone(ctx, s.process, t.UID, oddQueue); err != nil {
				s.Log.Warn("a claim is still due", about(t, "err", err)...)
			}
		case s.owns(t):
			s.own(s.newOwner(t, lifecycle.Local{}), due)
		}
	}
}

// changed tells the owner of a transaction, if this process has it, that somebody else has
// changed its record.
func (s *Sequencer) changed(uid string) { s.leave(uid, word{changed: true}) }

// leave leaves word to the owner of a transaction, and reports whether this process has it.
func (s *Sequencer) leave(uid string, w word) bool {
	s.mu.Lock()
	o := s.owners[uid]
	s.mu.Unlock()
	if o != nil {
		o.leave(w)
	}
	return o != nil
}

// Now is the time by the clock of Redis, which due times are given in.
func (s *Sequencer) Now() time.Time {
	return time.Now().Add(time.Duration(s.skew.Load()))
}

// owns reports whether t's claim is this process's.
func (s *Sequencer) owns(t *tx.Transaction) bool {
	n := len(s.process)
	return len(t.Claim) > n && t.Claim[:n] == s.process && t.Claim[n] == ':'
}

// unhurried is how many words are heard at a time that nobody waits for, by all trains.
const unhurried = 8

// tellAll leaves word to all trains.
func (s *Sequencer) tellAll(w word) {
	for _, t := range s.trains {
		t.leave(w)
	}
}

// bind gives free senders to ready queues until one of the two runs out. No
// sender of Mina is bound while no quorum of synced nodes is there.
func (s *Sequencer) bind(ctx context.Context) {
	if len(s.proved) > 0 {
		s.bindWhile(ctx, func() bool { return s.chainReady(ctx) }, queues.BindRequest{Types: s.proved})
	}
	s.bindBatches(ctx)
}

// bindWhile binds as r says, as long as that is possible.
func (s *Sequencer) bindWhile(ctx context.Context, possible func() bool, r queues.BindRequest) {
	r.Process, r.Grace = s.process, claimGrace
	for ctx.Err() == nil && s.live() {
		n := mostBound
		if limit := s.Policy.ClaimLimit; limit > 0 {
			n = min(n, limit-s.boundQueues())
		}
		if n <= 0 || !possible() {
			return
		}
		if r.Most = n; r.Ledger == "" {
			r.Groups, r.Known = s.groups(), s.justReleased()
			r.Plan = tx.Attempt{
				Fee: s.Policy.Fee, ValidUntil: s.Policy.LastSlot(s.tip()), Slot: s.Chain.Chain().TipSlot}
		}
		bound, err := s.Store.Bind(ctx, r)
		if err != nil {
			s.Log.Warn("binding failed", "err", err)
			return
		}
		for _, b := range bound {
			var next *uint32
			if b.HasNext {
				next = &b.Next
			}
			sender := s.known(b.Sender, next)
			s.mu.Lock()
			delete(s.released, b.Sender)
			s.mu.Unlock()
			o := s.newOwner(b.Transaction, lifecycle.BoundHere(&sender))
			o.worker = dispatcher.Worker{AccountID: b.Sender, URL: b.URL}
			s.boundHere(b.Transaction)
			s.own(o, word{runs: true, width: b.Width})
		}
		if len(bound) < n {
			if r.Ledger == "" {
				s.lend(ctx)
			}
			return
		}
	}
}

// lend has what only waits for its next try give its sender away, where queues are ready and no sender is
// free.
func (s *Sequencer) lend(ctx context.Context) {
	s.mu.Lock()
	delayed := slices.Collect(maps.Values(s.delayed))
	s.mu.Unlock()
	short := false
	if len(delayed) > 0 {
		ready, free, err := s.Store.Demand(ctx, s.proved, s.groups())
		short = err == nil && ready && !free
	}
	if s.short.Store(short); !short {
		return
	}
	for _, o := range delayed {
		o.leave(word{})
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
	for _, o := range s.owners {
		if o.bound.Load() {
			n++
		}
	}
	for _, t := range s.trains {
		n -= max(0, int(t.size.Load())-1)
	}
	return n
}

// chainReady reports whether what is known of the chain is fresh enough to plan
// an attempt on. After an idle time it is not, nor while no quorum answers: then the poll loop is asked,
// and wakes the cycle when it knows more.
func (s *Sequencer) chainReady(ctx context.Context) bool {
	if s.knowsChain(ctx) {
		return true
	}
	if ready, free, err := s.Store.Demand(ctx, s.proved, s.groups()); err == nil && ready && free {
		s.wanted.Store(true)
		notify(s.watching)
	}
	return false
}

func (s *Sequencer) knowsChain(ctx context.Context) bool {
	c := s.Chain.Chain()
	if s.outdated(c) || s.marketUnknown() {
		return false
	}
	if !c.Quorum {
		s.Log.Warn("nothing is dispatched: no quorum of synced Mina nodes", "err", c.Err)
		return false
	}
	if err := s.sameNetwork(ctx); err != nil {
		s.Log.Error("nothing is dispatched", "err", err)
	}
	return s.networkKnown()
}

// outdated reports whether c is too old to plan an attempt on: two looks at the
// chain, which take their time too, would have been made since.
func (s *Sequencer) outdated(c mina.Chain) bool {
	return c.At.IsZero() || time.Since(c.At) > 2*(s.Policy.InclusionInterval+time.Duration(s.looked.Load()))
}

// tip is what is known of the chain.
func (s *Sequencer) tip() lifecycle.Tip {
	c := s.Chain.Chain()
	tip := lifecycle.Tip{
		At: c.At, Quorum: c.Quorum, Fresh: !s.outdated(c), Height: c.Height, TipSlot: c.TipSlot, Slot: c.Slot,
		SlotTime: c.SlotTime, Zero: c.Zero, First: c.First, Synced: c.Synced,
		NoArchive: errors.Is(c.Archive, mina.ErrNoArchive),
	}
	if c.Archive != nil && !tip.NoArchive {
		tip.ArchiveLost = c.Archive.Error()
	}
	return tip
}

// slot is the current one by the clock: nobody may have asked the chain while a proof
// was made.
func (s *Sequencer) slot() uint32 {
	c := s.Chain.Chain()
	if c.SlotTime <= 0 {
		return c.Slot
	}
	return c.Slot + uint32(time.Since(c.At)/c.SlotTime)
}

// freshChain waits for the next poll where what is known is outdated, as in a process
// that has just begun.
func (s *Sequencer) freshChain(ctx context.Context) {
	if !s.outdated(s.Chain.Chain()) {
		return
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
}

// warnOfBlocks says in the log, once for each new number, that blocks show more zkApp commands than
// they are said to take.
func (s *Sequencer) warnOfBlocks() {
	if most := s.Chain.Chain().Zkapps; most > max(s.Policy.BlockLimit(), s.zkapps) {
		s.zkapps = most
		s.Log.Warn("blocks take more zkApp commands than SEQUENCER_BLOCK_ZKAPPS says: fees by the market are too high",
			"zkapps", most, "limit", s.Policy.BlockLimit())
	}
}

// pollLoop asks the chain once per interval while there is something to watch,
// and lets every owner see the answer.
func (s *Sequencer) pollLoop(ctx context.Context) {
	defer func() {
		s.draining.Store(true) // first, or who waits for a look asks for the next one without an end
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
		s.Chain.Poll(ctx)
		s.looked.Store(int64(time.Since(began)))
		s.lookAtPool(ctx)
		s.warnOfBlocks()
		s.mu.Lock()
		for _, o := range s.owners {
			o.look(s.Policy.Finality)
		}
		wanted := s.wanted.Swap(false) // before anybody hears of this look: it may ask for the next one
		close(s.polled)
		s.polled = make(chan struct{})
		for _, t := range s.trains {
			if t.wide.Load() && t.size.Load() > 0 {
				t.leave(word{look: true})
			}
		}
		s.mu.Unlock()
		if wanted {
			s.Store.Signal()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.Policy.InclusionInterval):
		}
	}
}
