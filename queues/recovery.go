package queues

import (
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
	"slices"
	"strings"
	"time"
)

// After a restart or a failover Redis may have forgotten its last writes. It has
// another run id then, and the scripts refuse to bind and to confirm what may
// leave a process. Each process that lives writes back what it knows
// ([Store.WriteBack]); the one that has the turn looks for the rest on the chain
// ([Store.Candidates], [Store.Adopt]) and ends it ([Store.Settle]).

// Epoch names the event log. It changes when Redis has forgotten events, or may
// have: then numbers are used again. Error: ErrUnavailable.
func (s *Store) Epoch(ctx context.Context) (string, error) {
	return s.Remember(ctx, "epoch", "0")
}

// Settle ends a recovery on the Redis named. It reports false if the turn has
// passed on, or Redis changed once more. Error: ErrUnavailable.
func (s *Store) Settle(ctx context.Context, process, server string) (bool, error) {
	v, err := s.Run(ctx, settleScript, process, server)
	if err != nil {
		return false, err
	}
	r := reply{name: "settle"}
	return r.int(v) == 1, r.err
}

// WriteBack stores again what this process knows and Redis has forgotten of the
// transactions that it drives or drove a moment ago, and reports whether anything
// was missing, of those or of what it was told last. What Redis knows is never
// overwritten by something older. Calling it again is harmless.
// Error: ErrUnavailable.
func (s *Store) WriteBack(ctx context.Context, process, server string) (missing bool, err error) {
	if missing, err = s.misses(ctx); err != nil {
		return false, err
	}
	known := s.memory.all()
	for some := range slices.Chunk(known, 100) {
		uids := make([]string, len(some))
		for i, m := range some {
			uids[i] = m.UID
		}
		stored := map[string]*lifecycle.Transaction{}
		ts, err := s.GetMany(ctx, uids)
		if err != nil {
			return false, err
		}
		for _, t := range ts {
			stored[t.UID] = t
		}
		for _, m := range some {
			if !m.ahead(stored[m.UID]) {
				continue
			}
			missing = true
			if err := s.restore(ctx, process, m, stored[m.UID]); err != nil {
				return false, fmt.Errorf("writing back %s: %w", m.UID, err)
			}
			s.memory.told(m)
		}
	}
	if missing {
		if _, err := s.Run(ctx, missScript, server); err != nil {
			return false, err
		}
		s.memory.restart()
	}
	s.memory.writtenBack(server)
	return missing, nil
}

// misses looks for the last of what this process was told.
func (s *Store) misses(ctx context.Context) (bool, error) {
	accepted, shown := s.memory.marks()
	if accepted.uid != "" {
		t, err := s.Get(ctx, accepted.uid)
		switch {
		case errors.Is(err, ErrNotFound):
			// It may have been removed in order; then its key is known.
			n, err := s.client.Exists(ctx, s.key("gone:"+accepted.uid)).Result()
			if err != nil {
				return false, storeError("looking for a key", err)
			}
			if n == 0 {
				return true, nil
			}
		case err != nil:
			return false, err
		case t.Sequence != accepted.sequence:
			return true, nil
		}
	}
	if shown.Number == 0 {
		return false, nil
	}
	es, err := s.Events(ctx, shown.Number-1, 1)
	if err != nil {
		return false, err
	}
	return len(es) == 0 || es[0].Number == shown.Number && es[0] != shown, nil
}

// ahead reports whether m knows something that t, as Redis has it, does not.
func (m *remembered) ahead(t *lifecycle.Transaction) bool {
	if t == nil {
		// Removed in order, or forgotten: only of the first kind nothing is under way.
		return !m.Phase.Final() || m.Open() || m.Claim != ""
	}
	if t.Revision < m.Revision || len(t.Attempts) < len(m.Attempts) {
		return true
	}
	for i := range m.Attempts {
		a, b := &m.Attempts[i], &t.Attempts[i]
		if plannedAs(a, b) && (a.Open() && !b.Open() && b.EndedAt.IsZero() || len(Facts{a.Hash, a.NodeHash, a.Data}.news(b)) > 0) {
			return true
		}
	}
	return false
}

// forgotten says why t, read before a change, is not to be decided on: this process
// has stored a later revision. Either t is old, or Redis has forgotten it, and is
// to be told first. Errors: ErrStale, ErrUnsettled, ErrUnavailable.
func (s *Store) forgotten(ctx context.Context, t *lifecycle.Transaction) error {
	newer := s.memory.newer(t)
	if newer == 0 {
		return nil
	}
	stored, err := s.Get(ctx, t.UID)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && stored.Revision < newer:
		return fmt.Errorf("%s: Redis has forgotten it: %w", t.UID, ErrUnsettled)
	case err != nil:
		return err
	}
	return fmt.Errorf("%s: %w", t.UID, ErrStale)
}

// goal is the phase to bring t to, so that the machine finds its way on from there.
func (m *remembered) goal(t *lifecycle.Transaction) lifecycle.Phase {
	at := lifecycle.PhaseWaiting
	if t != nil {
		at = t.Phase
	}
	switch {
	case t != nil && t.Revision >= m.Revision && at.Bound(), at.Final() && m.Phase.Final():
		return at
	case m.Phase.Bound():
		return m.Phase
	case m.Open(), m.stands():
		return lifecycle.PhaseWatching // the chain tells once more what became of it
	case at == lifecycle.PhaseSent, at == lifecycle.PhaseWatching, at.Bound() && m.Phase == lifecycle.PhaseFailed:
		return lifecycle.PhaseFailing // there is nothing to wait for: it is weighed again
	}
	return at
}

// stands reports whether m is DONE by an attempt in a block.
func (m *remembered) stands() bool { return m.Phase == lifecycle.PhaseDone && m.Landed > 0 }

// restore brings a transaction to where m has it; t is what Redis has, nil if
// it has nothing.
func (s *Store) restore(ctx context.Context, process string, m *remembered, t *lifecycle.Transaction) error {
	goal, newer := m.goal(t), t == nil || t.Revision < m.Revision
	if t == nil && !goal.Bound() {
		a := s.Enqueue(ctx, Item{UID: m.UID, Queue: m.Queue, Type: m.Type, Data: m.Data})
		return a.Err
	}
	for i := range m.Attempts {
		if t != nil && i < len(t.Attempts) && !plannedAs(&m.Attempts[i], &t.Attempts[i]) {
			// Somebody has begun another one in its place. The chain tells of both.
			s.Log.Error("not written back: another attempt has its number", "txn", m.UID, "queue", m.Queue, "sender", m.Sender, "type", m.Type, "attempt", i+1, "hash", m.Hash(), "state", m.State())
			return nil
		}
	}
	again := m.Clone()
	if a := again.Attempt(again.Landed); a != nil && goal == lifecycle.PhaseWatching && m.stands() {
		a.Outcome, a.EndedAt = lifecycle.Sent, time.Time{}
		again.Landed = 0
	}
	if goal.Bound() && (t == nil || !t.Phase.Bound() || m.elsewhere(again, t)) {
		if t != nil {
			again.Revision = t.Revision // as Adopt takes it for read
		}
		for i := range again.Attempts {
			if t != nil && t.Phase.Bound() && i < len(t.Attempts) && !t.Attempts[i].EndedAt.IsZero() {
				again.Attempts[i] = t.Attempts[i]
			}
		}
		err := s.Adopt(ctx, process, again, m.signed)
		_, astray := errors.AsType[*AstrayError](err)
		if astray {
			goal = lifecycle.PhaseWaiting // who is in its place goes first
		} else if err != nil {
			return err
		}
		if t, err = s.Get(ctx, m.UID); err != nil {
			return err
		}
	}
	_, err := s.Advance(ctx, m.change(t, again, goal, newer))
	return err
}

// elsewhere reports whether t, as Redis has it, is bound to another sender than that
// of what is open in again: that it was let go of is forgotten, and the sender of
// the open attempt is to serve nobody else.
func (m *remembered) elsewhere(again, t *lifecycle.Transaction) bool {
	if !t.Phase.Bound() || len(t.Attempts) > len(again.Attempts) {
		return false
	}
	for i := len(again.Attempts) - 1; i >= 0; i-- {
		ended := i < len(t.Attempts) && !t.Attempts[i].EndedAt.IsZero()
		if a := &again.Attempts[i]; a.Open() && !ended {
			return a.Sender != t.Sender
		}
	}
	return m.Phase.Bound() && m.Revision > t.Revision && m.Sender != t.Sender
}

// change brings t to what again has: the attempts, and if that is newer the rest.
func (m *remembered) change(t, again *lifecycle.Transaction, goal lifecycle.Phase, newer bool) *Change {
	now := time.Now()
	c := &Change{Before: t, After: t.Clone(), Now: now, packed: m.signed}
	c.Person, c.Code, c.Remove = true, lifecycle.CodeRestored, Never
	c.Keep = !goal.Bound() && t.Claim != ""
	after := c.After
	after.Phase, after.DueAt = goal, time.Time{}
	if goal == lifecycle.PhaseDelayed {
		after.DueAt = later(now, again.DueAt)
	}
	if newer {
		c.revision = m.Revision
		after.Retries, after.Losses, after.Deferred, after.Ending = again.Retries, again.Losses, again.Deferred, again.Ending
		after.CancelRequested = again.CancelRequested || t.CancelRequested
		if goal.Bound() {
			after.Error = again.Error
		}
	}
	if t.SubmittedAt.IsZero() && (again.Open() || !again.SubmittedAt.IsZero()) {
		after.SubmittedAt = now
	}
	more := t.Attempts[min(len(again.Attempts), len(t.Attempts)):]
	after.Attempts = slices.Concat(again.Attempts, more)
	for i := range again.Attempts {
		a := &after.Attempts[i]
		if i < len(t.Attempts) && !t.Attempts[i].EndedAt.IsZero() {
			*a = t.Attempts[i]
			continue
		}
		c.Attempt = a.Number
		if a.Spent() { // that was forgotten with it
			if c.Least == nil {
				c.Least = map[string]uint32{}
			}
			c.Least[a.Sender] = max(c.Least[a.Sender], a.Nonce+1)
		}
	}
	return c
}

// owned reports whether a claim is held by a process.
func owned(claim, process string) bool { return strings.HasPrefix(claim, process+":") }
