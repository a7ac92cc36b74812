package sequencer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Explain says where a transaction stands and what happens next. Any process can
// answer: what this one does not watch itself it asks the chain for, at most
// once a second for all who ask, and answers from what is stored where the nodes
// are too slow. limited: whoever asks sees some queues only, and is not told which senders
// are out of use, and why. Errors: queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Explain(ctx context.Context, uid string, limited bool) (explain.Explanation, error) {
	t, err := s.Store.Get(ctx, uid)
	if err != nil {
		return explain.Explanation{}, err
	}
	scene := explain.Scene{
		View: s.view(t, tx.Sighting{}), Dispatched: s.dispatches(t), Limited: limited,
	}
	if s.work.begun() { // one that does not run dispatches nothing, and others may
		scene.Shut = s.Recovering()
	}
	if scene.Living, err = s.Store.Living(ctx); err != nil {
		return explain.Explanation{}, err
	}
	if t.Phase == tx.PhaseWaiting {
		if err := s.lookAround(ctx, &scene); err != nil {
			return explain.Explanation{}, err
		}
	}
	if t.Ledger == "" {
		scene.Sighting, scene.Asked = s.sight(ctx, t)
		if err := s.lookAlong(ctx, &scene); err != nil {
			return explain.Explanation{}, err
		}
	}
	if t.Phase != tx.PhaseDone {
		scene.Race = s.raceOf(t, limited)
	}
	if s.Waits != nil {
		scene.Unproved, scene.Provers = s.Waits(t.Type, uid)
	}
	if o := s.Outage(); o != nil {
		scene.Unstored, scene.Refusal = o.Since, o.Words
	}
	scene.Tip, scene.Now, scene.Clock = s.tip(), s.Now(), time.Now()
	return explain.Explain(&scene), nil
}

// dispatches reports whether this process moves on what is like t.
func (s *Sequencer) dispatches(t *tx.Transaction) bool {
	return slices.Contains(s.Dispatch, t.Type) && (t.Ledger == "" || s.books[t.Ledger] != nil)
}

// lookAround adds what a waiting transaction depends on.
func (s *Sequencer) lookAround(ctx context.Context, scene *explain.Scene) (err error) {
	t := scene.Txn
	if scene.Place, err = s.Store.Place(ctx, t.UID); err != nil {
		return err
	}
	q, err := s.Store.Queue(ctx, t.Queue)
	switch {
	case err == nil:
		scene.Paused, scene.PausedUntil, scene.Ready = q.Paused, q.PausedUntil, q.ReadySince
		width := cmp.Or(q.Width, s.Policy.Width)
		scene.Width = min(width, cmp.Or(q.Narrow, width))
	case !errors.Is(err, queues.ErrNotFound):
		return err
	}
	if t.Ledger == "" && !scene.Ready.IsZero() && len(s.proved) > 0 {
		before, err := s.Store.Ahead(ctx, t.Queue, s.proved, "")
		if err != nil {
			return err
		}
		if before != nil {
			scene.Before = before.Own + before.Others
		}
	}
	if first := scene.Place.First; first != "" && first != t.UID {
		if scene.First, err = s.Store.Get(ctx, first); err != nil && !errors.Is(err, queues.ErrNotFound) {
			return err
		}
	}
	for p, err := range s.Senders.All(ctx) {
		if err != nil {
			return err
		}
		if senders.LedgerOf(p.AccountID) == t.Ledger {
			scene.Pool = append(scene.Pool, explain.Candidate{
				AccountID: p.AccountID, Queue: p.Queue, Reason: p.Reason, Detail: p.Detail, Until: p.Until})
		}
	}
	return nil
}

// lookAlong adds what of its queue is in flight along with a transaction, or before it, as
// it is stored, and as this process sees it on the chain.
func (s *Sequencer) lookAlong(ctx context.Context, scene *explain.Scene) error {
	t := scene.Txn
	if t.Phase.Final() {
		return nil
	}
	run, err := s.Store.InFlight(ctx, t.Queue)
	if err != nil || len(run.UIDs) == 0 {
		return err
	}
	others, err := s.Store.GetMany(ctx, run.UIDs)
	train := &scene.Train
	for _, other := range others {
		m := lifecycle.Member{Txn: other, Sighting: s.Chain.Sighting(other.UID)}
		switch {
		case other.UID == t.UID || !other.Phase.Bound():
		case other.Sequence < t.Sequence:
			train.Ahead = append(train.Ahead, m)
		default:
			train.Behind = append(train.Behind, m)
		}
	}
	if n := len(train.Ahead); n > 0 {
		scene.Barrier = s.apartFrom(train.Ahead[n-1].Txn, t)
	}
	train.Commuting = s.all(dispatcher.Commuting, t, train)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.trains[t.Queue]
	train.Builds = known != nil && known.builds.Load() && s.all(dispatcher.Chained, t, train)
	return err
}

// apartFrom says why t may not be in flight behind another of its queue, "" if it may.
func (s *Sequencer) apartFrom(last, t *tx.Transaction) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.alongWith(t.Queue, last.Type), t.Type) {
		return ""
	}
	return cmp.Or(s.goesApart(t.Queue, t.Type), s.goesApart(t.Queue, last.Type),
		fmt.Sprintf("it or the one before it (%s) goes alone", last.UID))
}

// askLimit is how long an explanation waits for the nodes.
const askLimit = 5 * time.Second

// sight is what the chain says of t's attempts, and whether it could be asked.
func (s *Sequencer) sight(ctx context.Context, t *tx.Transaction) (tx.Sighting, bool) {
	g := s.Chain.Sighting(t.UID)
	w, some := lifecycle.WatchOf(t, lifecycle.Memo(s.Namespace, t.UID))
	if g.Fate != tx.FateUnknown || !some || !t.Open() && !t.FinalAt.IsZero() {
		return g, g.Fate != tx.FateUnknown
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
	return tx.Sighting{Fate: tx.FateUnknown}, false
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
