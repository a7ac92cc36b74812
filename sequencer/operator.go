package sequencer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// order applies what a person asks for to what is stored now, and anew if that has
// changed meanwhile. What lacks something that this process knows to be out is left as it is
// until that is written back: ErrUnsettled.
func (s *Sequencer) order(ctx context.Context, uid string, order tx.Order) (*tx.Transaction, error) {
	for {
		t, err := s.Store.Get(ctx, uid)
		if err != nil {
			return nil, err
		}
		if s.recovery.Lacks(t) {
			return nil, fmt.Errorf("what is out of %s was forgotten: %w", uid, queues.ErrUnsettled)
		}
		v := s.view(t, tx.Sighting{})
		if v.Train, err = s.followers(ctx, t); err != nil {
			return nil, err
		}
		step, err := lifecycle.Ask(&v, order)
		if err != nil {
			return nil, err
		}
		step.Aside.Process = s.process // what is watched on has somebody who does
		_, err = s.Store.Advance(ctx, &queues.Change{
			Before: t, After: step.Txn, Aside: step.Aside, Now: v.Now, Wait: s.Policy.CallbackWait, Lease: callbackLease,
			Moves: lifecycle.Effects(t, step.Txn, &step.Aside, &s.Policy), Budgets: s.budgets(t, step.Txn),
			By: queues.Actor(ctx),
		})
		if errors.Is(err, queues.ErrStale) || errors.Is(err, queues.ErrFollowed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.moved(t, step.Txn, &step)
		s.writes(t, step.Txn, &step)
		s.changed(uid)
		stored, err := s.Store.Get(ctx, uid)
		if err == nil && stored.Callback != "" && stored.Phase.Final() && t.Phase != stored.Phase {
			s.tellSoon(stored, dispatcher.Worker{})
		}
		return stored, err
	}
}

// followers are those that run behind t, whoever drives them.
func (s *Sequencer) followers(ctx context.Context, t *tx.Transaction) (train lifecycle.Train, err error) {
	if !t.Phase.Bound() || t.Ledger != "" {
		return train, nil
	}
	run, err := s.Store.InFlight(ctx, t.Queue)
	for _, uid := range run.UIDs[min(len(run.UIDs), slices.Index(run.UIDs, t.UID)+1):] {
		other, err := s.Store.Get(ctx, uid)
		if err != nil {
			return train, err
		}
		train.Behind = append(train.Behind, lifecycle.Member{Txn: other})
	}
	return train, err
}

// Retry puts a FAILED or UNRESOLVED transaction back to its old place in the
// queue, with fresh retries. Errors: lifecycle.ErrNotRetryable,
// lifecycle.ErrMightStillLand, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Retry(ctx context.Context, uid string) (*tx.Transaction, error) {
	return s.order(ctx, uid, tx.Order{What: tx.OrderRetry})
}

// Cancel takes a transaction back. If an attempt might still land, or its worker has it,
// pending is true: no further attempt is made, and what becomes of this one decides.
// Errors: lifecycle.ErrNotCancellable, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Cancel(ctx context.Context, uid string) (t *tx.Transaction, pending bool, err error) {
	t, err = s.order(ctx, uid, tx.Order{What: tx.OrderCancel})
	return t, err == nil && !t.Phase.Final(), err
}

// expire ends what waits and whose deadline has come: nobody drives it.
func (s *Sequencer) expire(ctx context.Context, uid string) {
	_, err := s.order(ctx, uid, tx.Order{What: tx.OrderExpire})
	if err != nil && !errors.Is(err, tx.ErrNotExpired) && !errors.Is(err, queues.ErrNotFound) && ctx.Err() == nil {
		s.Log.Warn("a deadline is looked at again later", "err", err)
	}
}

// Resolve says what became of an attempt whose outcome nobody could find out: it landed,
// with this hash, or nothing of it will ever land. What the chain contradicts
// is refused. Errors: lifecycle.ErrContradicted, ErrFollowed, or ErrNotRetryable if nothing
// is open, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Resolve(ctx context.Context, uid string, landed bool, hash string) (*tx.Transaction, error) {
	order := tx.Order{What: tx.OrderDead}
	if landed {
		order = tx.Order{What: tx.OrderLanded, Hash: hash}
	}
	t, err := s.Store.Get(ctx, uid)
	if err != nil {
		return nil, err
	}
	v := s.view(t, tx.Sighting{})
	if _, err := lifecycle.Ask(&v, order); err != nil {
		return nil, err
	}
	contradicted := s.contradicted
	if t.Ledger != "" {
		contradicted = s.ledgerContradicts
	}
	if err := contradicted(ctx, t, landed, hash); err != nil {
		return nil, err
	}
	return s.order(ctx, uid, order)
}

// notIncluded are the fates by which a command is in no block.
var notIncluded = []tx.Fate{
	tx.FateAbsent, tx.FatePooled, tx.FateDisplaced, tx.FateExpired,
}

// contradicted asks the chain about what a person says. It does so under a name
// of its own, and no longer than that: another process may be the one that
// follows t, and this one would go on asking.
func (s *Sequencer) contradicted(ctx context.Context, t *tx.Transaction, landed bool, hash string) error {
	w, _ := lifecycle.WatchOf(t, lifecycle.Memo(s.Namespace, t.UID))
	a := t.FirstOpen()
	if landed {
		// Look for that hash, without believing that all of the account is ours.
		w = tx.Watch{
			Payer:  a.Sender,
			Nonce:  a.Nonce,
			Hashes: []string{hash},
			Memo:   lifecycle.Memo(s.Namespace, t.UID),
			Since:  a.Slot,
		}
	}
	switch g := s.search(ctx, w); {
	case !landed && (g.Fate == tx.FateIncluded || g.Fate == tx.FatePooled):
		return fmt.Errorf("%s is %s: %w", g.Hash, g.Fate, tx.ErrContradicted)
	case !landed:
	case g.Fate == tx.FateFailed:
		return fmt.Errorf("%s failed in block %d: %w", hash, g.Height, tx.ErrContradicted)
	case g.Fate == tx.FateIncluded && g.Hash != hash:
		return fmt.Errorf("%s is in block %d instead: %w", g.Hash, g.Height, tx.ErrContradicted)
	case g.Agreed && slices.Contains(notIncluded, g.Fate):
		// It may have been sent at another nonce: by a worker that ignores what it is given, or in a
		// call that Redis has forgotten.
		w.Legacy, w.Found, w.Since = true, true, s.slotOf(t.ReceivedAt, a)
		if a.Legacy && s.search(ctx, w).Fate == tx.FateIncluded {
			return nil
		}
		return fmt.Errorf("no block holds %s: %w", hash, tx.ErrContradicted)
	}
	return nil
}

// slotOf is the slot of a time before an attempt was planned, or one before that; 0 if slots are not known.
func (s *Sequencer) slotOf(at time.Time, a *tx.Attempt) uint32 {
	slot := s.Chain.Chain().SlotTime
	if slot <= 0 {
		return 0
	}
	return uint32(max(0, int64(a.Slot)-int64(a.StartedAt.Sub(at)/slot)-2))
}

// search is what all nodes say of w now.
func (s *Sequencer) search(ctx context.Context, w tx.Watch) tx.Sighting {
	id := s.nameFor("resolve")
	s.Chain.Watch(id, w)
	defer s.Chain.Forget(id)
	s.pollThrough(ctx, id)
	return s.Chain.Sighting(id)
}

// nameFor returns a name to watch something under, which nothing else has: no
// uid has a space.
func (s *Sequencer) nameFor(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return fmt.Sprintf("%s %d", what, s.asked)
}

// pollThrough polls all nodes until there is no more to learn of id for now: a search of
// the archive takes several polls.
func (s *Sequencer) pollThrough(ctx context.Context, id string) {
	const most = 20
	for range most {
		c := s.Chain.PollAll(ctx)
		if g := s.Chain.Sighting(id); ctx.Err() != nil || !g.Pruned || !c.Searching {
			return
		}
	}
}
