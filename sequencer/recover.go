package sequencer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/queues"
)

// A recovery is how this process stands to the Redis that it talks to. Under the
// Sequencer's mu.
type recovery struct {
	// shut says why nothing is bound, asked of a worker or sent; "" if nothing
	// speaks against it.
	shut string
	home string // run id of the Redis with which this process is reconciled
	told string // of that to which it has written back what it knows
	// joined is the run id of the one that was not settled when it wrote back:
	// whoever settles it has waited for this process.
	joined  string
	pulse   queues.Pulse
	busy    bool
	writing chan struct{} // full while what this process knows is written back; not under mu
	// unchecked are senders of transactions that were taken over, which are looked
	// at before anything else leaves.
	unchecked map[string]bool
	strange   map[string]uint32 // nonces that nobody of ours used, seen once
	work      sync.WaitGroup
}

const (
	shutStarting  = "this process has just started and compares its senders with the chain"
	shutForgotten = "Redis was restarted or failed over: what it may have forgotten is being looked for"
	shutTakeOver  = "transactions of another process are being taken over, and their senders compared with the chain"
)

// Recovering says why this process binds, asks and sends nothing; "" if it does.
func (s *Sequencer) Recovering() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recovery.shut
}

// suspect closes the gate until the next beat knows better.
func (s *Sequencer) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recovery.shut = shutForgotten
}

// heed opens or closes the gate as a pulse says, and has what is to be done for it
// begun. The caller holds mu.
func (s *Sequencer) heed(ctx context.Context, p queues.Pulse) {
	r := &s.recovery
	r.pulse = p
	switch {
	case !p.Settled:
		r.shut = shutForgotten
	case r.home != p.Server && r.joined == p.Server:
		r.home = p.Server
		clear(r.unchecked)
		s.open()
	case r.home == p.Server && len(r.unchecked) == 0:
		s.open()
	case r.home == p.Server:
		r.shut = shutTakeOver
	case r.home == "":
		r.shut = shutStarting
	default:
		r.shut = shutForgotten
	}
	if r.shut == "" && p.Astray == 0 || r.busy || ctx.Err() != nil {
		return
	}
	r.busy = true
	r.work.Go(func() {
		for s.recover(ctx, p) && ctx.Err() == nil {
			again := time.NewTimer(s.Policy.InclusionInterval)
			select {
			case <-ctx.Done():
			case <-again.C:
			}
			again.Stop()
		}
		s.mu.Lock()
		r.busy = false
		s.mu.Unlock()
	})
}

// open lets work go on. The caller holds mu.
func (s *Sequencer) open() {
	if s.recovery.shut == "" {
		return
	}
	s.recovery.shut = ""
	s.tellAll(word{})
	s.Store.Signal()
	notify(s.due)
}

// recover does what stands between this process and its work. It reports true if
// the chain could not be asked, or is to be asked once more; all else is tried
// again after a later beat.
func (s *Sequencer) recover(ctx context.Context, p queues.Pulse) (again bool) {
	if !s.writtenBack(ctx, p) || !p.Settled && !p.Turn {
		return false
	}
	s.mu.Lock()
	r := &s.recovery
	if r.pulse.Server != p.Server {
		s.mu.Unlock()
		return false // yet another Redis
	}
	all, accounts := r.home != p.Server, slices.Collect(maps.Keys(r.unchecked))
	// Where Redis is the one it always was, it knows all that was ever sent.
	forgotten := p.Turn || r.home != "" && all
	s.mu.Unlock()
	if err := s.reconcile(ctx, all, accounts, forgotten); err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("nothing is bound or sent before the senders are compared with the chain", "err", err)
		}
		return true
	}
	if p.Turn {
		if done, err := s.Store.Settle(ctx, s.process, p.Server); err != nil || !done {
			return false // another process's turn, or yet another Redis
		}
		s.Log.Info("reconciled with the Redis that was restarted or took over", "server", p.Server)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.pulse.Server != p.Server {
		return false
	}
	r.home = p.Server
	for _, a := range accounts {
		delete(r.unchecked, a)
	}
	if len(r.unchecked) == 0 {
		s.open()
		return false
	}
	return true // taken over meanwhile
}

// writtenBack reports whether Redis has what this process knows; if it has not
// yet, it is written.
func (s *Sequencer) writtenBack(ctx context.Context, p queues.Pulse) bool {
	select {
	case s.recovery.writing <- struct{}{}:
		defer func() { <-s.recovery.writing }()
	case <-ctx.Done():
		return false
	}
	s.mu.Lock()
	told := s.recovery.told == p.Server
	first := s.recovery.home == ""
	s.mu.Unlock()
	if told {
		return true
	}
	missing, err := s.Store.WriteBack(ctx, s.process, p.Server)
	if err == nil {
		err = s.regain(ctx)
	}
	if err != nil {
		s.Log.Warn("what Redis may have forgotten is not written back yet", "err", err)
		return false
	}
	if !first {
		s.Log.Warn("Redis was restarted or failed over", "server", p.Server, "forgotten", missing)
	}
	s.mu.Lock()
	s.recovery.told = p.Server
	if !p.Settled {
		s.recovery.joined = p.Server
	}
	s.tellAll(word{changed: true})
	s.mu.Unlock()
	notify(s.due)
	if !p.Settled {
		s.beat(ctx) // the others wait for this
	}
	return true
}

// rewrite writes back what this process knows, if Redis is another one.
func (s *Sequencer) rewrite(ctx context.Context) {
	s.beat(ctx) // which tells what Redis this is
	s.mu.Lock()
	p := s.recovery.pulse
	s.mu.Unlock()
	s.writtenBack(ctx, p)
}

// regain has the transactions looked at that are this process's again, for Redis has
// forgotten that it was done with them.
func (s *Sequencer) regain(ctx context.Context) error {
	return s.Store.Regain(ctx, s.process, func(uids []string) []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.DeleteFunc(uids, func(uid string) bool { return s.owners[uid] != nil })
	})
}

// taken has the senders of transactions that were taken over looked at before
// anything leaves.
func (s *Sequencer) taken(ctx context.Context, uids []string) {
	ts, err := s.Store.GetMany(ctx, uids)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.recovery
	if err != nil {
		r.home = "" // all of them, then
	}
	for _, t := range ts {
		r.unchecked[t.Sender] = true
	}
	s.heed(ctx, r.pulse)
}
