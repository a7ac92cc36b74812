package sequencer

import (
	"context"
	"errors"
	"fmt"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
)

// person applies a change that a person asked for: the machine decides on what
// is stored now, and decides anew if it has changed meanwhile.
func (s *Sequencer) person(ctx context.Context, uid string, e Event, refuse error, more func(*queues.Change, *lifecycle.Transaction)) (*lifecycle.Transaction, Decision, error) {
	for {
		t, err := s.Store.Get(ctx, uid)
		if err != nil {
			return nil, Decision{}, err
		}
		h := &held{t: t}
		sit, err := s.situation(ctx, h, e)
		if err != nil {
			return nil, Decision{}, err
		}
		d, ok := s.next(sit, e)
		if !ok {
			if t.Phase.Final() && t.Open() {
				refuse = queues.ErrMightStillLand
			}
			return nil, Decision{}, fmt.Errorf("transaction %s is %s: %w", uid, t.State(), refuse)
		}
		err = s.advance(ctx, h, e, d, func(c *queues.Change) {
			c.Person = true
			if d.To.Bound() && c.Due == queues.Never {
				// Whoever holds it is to look: it may have taken it over a moment ago,
				// and not have looked yet.
				c.Due = 0
			}
			if more != nil {
				more(c, t)
			}
		})
		if errors.Is(err, queues.ErrStale) {
			continue
		}
		if err != nil {
			return nil, Decision{}, err
		}
		s.refresh(uid)
		t, err = s.Store.Get(ctx, uid)
		return t, d, err
	}
}

// refresh makes the step of a held transaction read what a person has changed.
func (s *Sequencer) refresh(uid string) {
	s.mu.Lock()
	h, work := s.held[uid], s.work
	if h != nil {
		h.stale = true
	}
	s.mu.Unlock()
	if h != nil && work != nil {
		s.kick(work, h)
	}
}

// Retry puts a FAILED or UNRESOLVED transaction back to its old place in the
// queue, with fresh retries. Errors: queues.ErrNotRetryable,
// queues.ErrMightStillLand, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Retry(ctx context.Context, uid string) (*lifecycle.Transaction, error) {
	t, _, err := s.person(ctx, uid, RetryAsked, queues.ErrNotRetryable, func(c *queues.Change, _ *lifecycle.Transaction) {
		c.ClearEnd()
		c.SetRetries(0)
	})
	return t, err
}

// Cancel takes a transaction back. If an attempt might still land, pending is
// true: no further attempt is made, and what becomes of this one decides.
// Errors: queues.ErrNotCancellable, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Cancel(ctx context.Context, uid string) (t *lifecycle.Transaction, pending bool, err error) {
	t, d, err := s.person(ctx, uid, Cancelled, queues.ErrNotCancellable, nil)
	return t, d.Do == FlagCancel, err
}

// Resolve settles an attempt whose outcome nobody could find out: it landed,
// with this hash, or nothing of it will ever land. What the chain contradicts
// is refused. Errors: queues.ErrContradicted, queues.ErrNotRetryable if nothing
// is open, queues.ErrNotFound, queues.ErrUnavailable.
func (s *Sequencer) Resolve(ctx context.Context, uid string, landed bool, hash string) (*lifecycle.Transaction, error) {
	t, err := s.Store.Get(ctx, uid)
	if err != nil {
		return nil, err
	}
	if !t.Open() || t.Phase != lifecycle.PhaseUnresolved && t.Phase != lifecycle.PhaseWatching {
		return nil, fmt.Errorf("transaction %s is %s and has no attempt of unknown outcome: %w", uid, t.State(), queues.ErrNotRetryable)
	}
	if err := s.contradicted(ctx, t, landed, hash); err != nil {
		return nil, err
	}
	if landed {
		t, _, err = s.person(ctx, uid, Landed, queues.ErrNotRetryable, func(c *queues.Change, t *lifecycle.Transaction) {
			a := s.attemptOf(t, lifecycle.Sighting{Hash: hash})
			if a == nil {
				return
			}
			a.Outcome, a.EndedAt = lifecycle.Included, s.now()
			if a.Hash != hash {
				a.NodeHash = hash
			}
			c.SetAttempt(a)
			c.SetLanded(a.Number)
			c.SetDone([]byte(fmt.Sprintf(`{"blockHeight":null,"stateHash":null,"hash":%q}`, hash)))
			c.ForgetNonce()
			c.DropSigned()
		})
	} else {
		event := DeadSaid
		if t.Phase == lifecycle.PhaseWatching {
			event = Died
		}
		t, _, err = s.person(ctx, uid, event, queues.ErrNotRetryable, func(c *queues.Change, t *lifecycle.Transaction) {
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Open() {
					a.Outcome, a.EndedAt = lifecycle.Expired, s.now()
					c.SetAttempt(a)
				}
			}
			c.ForgetNonce()
			c.DropSigned()
		})
	}
	return t, err
}

// contradicted asks the chain about what a person says. It does so under a name
// of its own, and no longer than that: another process may be the one that
// follows t, and this one would go on asking.
func (s *Sequencer) contradicted(ctx context.Context, t *lifecycle.Transaction, landed bool, hash string) error {
	w, _ := s.watchOf(t)
	if landed {
		// Look for that hash, without believing that all of the account is ours.
		a := firstOpen(t)
		w = lifecycle.Watch{Payer: a.Sender, Nonce: a.Nonce, Hashes: []string{hash}, Memo: Memo(s.Namespace, t.UID), Since: a.Slot}
	}
	id := s.nameFor("resolve")
	s.Chain.Watch(id, w)
	defer s.Chain.Forget(id)
	s.pollThrough(ctx, id)
	switch g := s.Chain.Sighting(id); {
	case !landed && (g.Fate == lifecycle.FateIncluded || g.Fate == lifecycle.FatePooled):
		return fmt.Errorf("%s is %s: %w", g.Hash, g.Fate, queues.ErrContradicted)
	case !landed:
	case g.Fate == lifecycle.FateFailed:
		return fmt.Errorf("%s failed in block %d: %w", hash, g.Height, queues.ErrContradicted)
	case g.Fate == lifecycle.FateIncluded && g.Hash != hash:
		return fmt.Errorf("%s is in block %d instead: %w", g.Hash, g.Height, queues.ErrContradicted)
	case g.Agreed && (g.Fate == lifecycle.FateAbsent || g.Fate == lifecycle.FatePooled || g.Fate == lifecycle.FateDisplaced || g.Fate == lifecycle.FateExpired):
		return fmt.Errorf("no block holds %s: %w", hash, queues.ErrContradicted)
	}
	return nil
}

// nameFor returns a name to watch something under, which nothing else has: no
// uid holds a space.
func (s *Sequencer) nameFor(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return fmt.Sprintf("%s %d", what, s.asked)
}

// pollThrough polls until there is no more to learn of id for now: a search of
// the archive takes several polls.
func (s *Sequencer) pollThrough(ctx context.Context, id string) {
	const most = 20
	for range most {
		c := s.Chain.Poll(ctx)
		if g := s.Chain.Sighting(id); ctx.Err() != nil || !g.Passed || !c.Searching {
			return
		}
	}
}
