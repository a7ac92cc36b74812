package sequencer

import (
	"context"
	"errors"
	"slices"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// A Scene is all that an explanation is made of. Txn is needed; what is not
// known of the rest is zero.
type Scene struct {
	Txn      *lifecycle.Transaction
	Queue    *queues.Queue
	Standing queues.Standing
	First    *lifecycle.Transaction // the one that Standing names, where it is another
	Pool     []*senders.Sender      // those that could be bound, or some of them
	// Dispatched: this process dispatches its type.
	Dispatched bool
	// Asked: Sighting is what the chain says; else only what is stored is known.
	Asked    bool
	Shut     string // why the process asked binds, asks and sends nothing; "" if it does
	Sighting lifecycle.Sighting
	Chain    mina.Chain
	Policy   Policy
	Now      time.Time
}

// slot is when a slot begins, by the clock of the chain; zero if it is unknown.
func (s *Scene) slot(n uint32) time.Time {
	if s.Chain.SlotTime <= 0 || s.Chain.At.IsZero() {
		return time.Time{}
	}
	return s.Chain.At.Add(time.Duration(int64(n)-int64(s.Chain.Slot)) * s.Chain.SlotTime)
}

// lastSlot is when the last open attempt can no longer be included.
func (s *Scene) lastSlot() time.Time {
	var last uint32
	for i := range s.Txn.Attempts {
		if a := &s.Txn.Attempts[i]; a.Open() {
			if a.ValidUntil == 0 {
				return time.Time{}
			}
			last = max(last, a.ValidUntil)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return s.slot(last + 1)
}

// Explain says where a transaction stands and what happens next. Any process can
// answer: what this one does not watch itself it asks the chain for, at most
// once a second for all who ask, and answers from what is stored where the nodes
// are too slow. Errors: queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Explain(ctx context.Context, uid string) (lifecycle.Explanation, error) {
	t, err := s.Store.Get(ctx, uid)
	if err != nil {
		return lifecycle.Explanation{}, err
	}
	scene := Scene{Txn: t, Policy: s.Policy, Dispatched: slices.Contains(s.Dispatch, t.Type)}
	scene.Policy.SettleDepth = s.settleDepth(t)
	s.mu.Lock()
	if s.work != nil { // one that does not run dispatches nothing, and others may
		scene.Shut = s.recovery.shut
	}
	s.mu.Unlock()
	if t.Phase == lifecycle.PhaseWaiting {
		if err := s.lookAround(ctx, &scene); err != nil {
			return lifecycle.Explanation{}, err
		}
	}
	scene.Sighting, scene.Asked = s.sight(ctx, t)
	scene.Chain, scene.Now = s.Chain.Chain(), s.now()
	return Explain(scene), nil
}

// lookAround adds what a waiting transaction depends on.
func (s *Sequencer) lookAround(ctx context.Context, scene *Scene) (err error) {
	const most = 100 // senders to look at
	t := scene.Txn
	if scene.Standing, err = s.Store.Standing(ctx, t.UID); err != nil {
		return err
	}
	if scene.Queue, err = s.Store.Queue(ctx, t.Queue); err != nil && !errors.Is(err, queues.ErrNotFound) {
		return err
	}
	if first := scene.Standing.First; first != "" && first != t.UID {
		if scene.First, err = s.Store.Get(ctx, first); err != nil && !errors.Is(err, queues.ErrNotFound) {
			return err
		}
	}
	scene.Pool, _, err = s.Senders.List(ctx, most, "")
	return err
}

// askLimit is how long an explanation waits for the nodes.
const askLimit = 5 * time.Second

// sight is what the chain says of t's attempts, and whether it could be asked.
func (s *Sequencer) sight(ctx context.Context, t *lifecycle.Transaction) (lifecycle.Sighting, bool) {
	g := s.Chain.Sighting(t.UID)
	w, some := s.watchOf(t)
	if g.Fate != lifecycle.FateUnknown || !some || !t.Open() && !t.FinalAt.IsZero() {
		return g, g.Fate != lifecycle.FateUnknown
	}
	id := s.nameFor("explain")
	s.Chain.Watch(id, w)
	defer s.Chain.Forget(id)
	limit := time.NewTimer(askLimit)
	defer limit.Stop()
	select {
	case <-s.round(ctx):
		return s.Chain.Sighting(id), true
	case <-limit.C:
	case <-ctx.Done():
	}
	return lifecycle.Sighting{Fate: lifecycle.FateUnknown}, false
}

// round returns the end of the next poll made for those who ask. It begins a
// second after the last one at the earliest, and is shared by all who come until
// then. No one's impatience ends it: a poll that is cut off would cost the nodes
// their vote.
func (s *Sequencer) round(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking != nil {
		return s.asking
	}
	done := make(chan struct{})
	s.asking = done
	wait := time.NewTimer(time.Until(s.askedAt.Add(time.Second)))
	go func() {
		defer close(done)
		<-wait.C
		s.mu.Lock()
		s.asking, s.askedAt = nil, time.Now()
		s.mu.Unlock()
		s.Chain.Poll(context.WithoutCancel(ctx))
	}()
	return done
}
