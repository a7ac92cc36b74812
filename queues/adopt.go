package queues

import (
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
)

// An AstrayError: the sender, or the queue, of a transaction carries another one,
// which has to end first.
type AstrayError struct {
	By string // uid of that one
}

func (e *AstrayError) Error() string { return "its place is taken by transaction " + e.By }

// Adopt binds a transaction that has an open attempt, or is driven by this
// process, to the sender of that attempt, for process to go on with, and stores
// its attempts as t has them; facts that are known are kept. A final one goes back
// to its queue first, and one that is bound to another sender is taken from that if
// it has not changed since t was read. signed are the packed bytes, nil if they are
// not known. Errors: *AstrayError (attempts are stored, and the place is kept for
// it), ErrStale (it is bound already, or has changed), ErrUnavailable.
func (s *Store) Adopt(ctx context.Context, process string, t *lifecycle.Transaction, signed []byte) error {
	for {
		again, err := s.adopt(ctx, process, t, signed)
		if !again || err != nil {
			return err
		}
	}
}

// adopt tries it once; again, if what is stored has changed meanwhile.
func (s *Store) adopt(ctx context.Context, process string, t *lifecycle.Transaction, signed []byte) (again bool, err error) {
	stored, err := s.Get(ctx, t.UID)
	if errors.Is(err, ErrNotFound) {
		stored, err = &lifecycle.Transaction{}, nil
	}
	if err == nil && stored.Phase.Final() {
		stored, err = s.unend(ctx, stored)
	}
	if err != nil {
		return false, err
	}
	after := adopted(stored, t)
	sender, next, open := t.Sender, "", 0
	var least []any
	for i := range after.Attempts {
		a := &after.Attempts[i]
		if a.Open() {
			sender, next = a.Sender, fmt.Sprint(a.Nonce)
			open++
		}
		// What has ended by what Redis has was told to its sender then.
		if a.Spent() && (i >= len(stored.Attempts) || stored.Attempts[i].EndedAt.IsZero()) {
			least = append(least, a.Sender, a.Nonce+1)
		}
	}
	posted := fmt.Sprintf("%d %d %s %s\n%s", t.Sequence, millis(t.ReceivedAt), t.Type, t.Queue, t.Data)
	v, err := s.Run(ctx, adoptScript, append([]any{
		t.UID, sender, process, next, posted, open, signed, stored.Revision, t.Revision, encodeRecord(after),
	}, least...)...)
	if err != nil {
		return false, err
	}
	r := reply{name: "adopt"}
	if l, ok := v.([]any); ok {
		by := r.string(r.at(l, 1))
		if r.err != nil {
			return false, r.err
		}
		s.signal(1) // whoever it was taken from may be free
		return false, &AstrayError{By: by}
	}
	switch verdict := r.string(v); verdict {
	case "ok":
		s.signal(1)
	case "stale":
		return true, nil
	case "moved":
		return false, fmt.Errorf("%s: %w", t.UID, ErrStale)
	default:
		r.fail("a verdict", verdict)
	}
	return false, r.err
}

// adopted is the record of a transaction with the attempts as t has them; what is
// stored of them and t does not know is kept.
func adopted(stored, t *lifecycle.Transaction) *lifecycle.Transaction {
	after := stored.Clone()
	for i := range t.Attempts {
		a := t.Attempts[i]
		if i >= len(after.Attempts) {
			after.Attempts = append(after.Attempts, a)
			continue
		}
		known := &after.Attempts[i]
		if known.Sender != a.Sender || known.Nonce != a.Nonce {
			continue // another one has its number
		}
		if known.Hash != "" {
			a.Hash = known.Hash
		}
		if known.NodeHash != "" {
			a.NodeHash = known.NodeHash
		}
		if len(known.Data) > 0 {
			a.Data = known.Data
		}
		*known = a
	}
	return after
}

// unend has a final transaction wait again: what it ended by is forgotten.
func (s *Store) unend(ctx context.Context, t *lifecycle.Transaction) (*lifecycle.Transaction, error) {
	c := &Change{Before: t, After: lifecycle.Unended(t)}
	c.Person, c.Code, c.Remove = true, lifecycle.CodeRestored, Never
	if a := t.Attempt(t.Landed); a != nil {
		c.Falls = a.Sender
	}
	return s.Advance(ctx, c)
}

// Astray returns transactions that wait for their sender or queue, oldest first.
// Error: ErrUnavailable.
func (s *Store) Astray(ctx context.Context) ([]string, error) {
	uids, err := s.client.ZRange(ctx, s.key("astray"), 0, MaxBatch-1).Result()
	if err != nil {
		return nil, storeError("reading who is astray", err)
	}
	return uids, nil
}

// candidateDepth is how far into a queue a forgotten dispatch is looked for. Each
// block time brings a queue one further.
const candidateDepth = 64

// Candidates hands over the uids of transactions of which attempts may have been
// forgotten: those that run, the first of each queue, and those that ended badly.
// It stops when see wants no more. Error: ErrUnavailable.
func (s *Store) Candidates(ctx context.Context, see func(uids []string) (more bool)) error {
	bound, err := s.client.ZRange(ctx, s.key("bound"), 0, -1).Result()
	if err != nil {
		return storeError("reading what runs", err)
	}
	if !see(bound) {
		return nil
	}
	for cursor := ""; ; {
		qs, next, err := s.Queues(ctx, 100, cursor)
		if err != nil {
			return err
		}
		uids, err := s.heads(ctx, qs)
		if err != nil {
			return err
		}
		if !see(uids) {
			return nil
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for _, state := range []lifecycle.State{lifecycle.Failed, lifecycle.Unresolved} {
		uids, err := s.client.ZRevRange(ctx, s.key("st:"+string(state)), 0, 9999).Result()
		if err != nil {
			return storeError("reading what ended", err)
		}
		if !see(uids) {
			return nil
		}
	}
	return nil
}

// heads returns the first of each queue.
func (s *Store) heads(ctx context.Context, qs []*Queue) ([]string, error) {
	pipe := s.client.Pipeline()
	type list interface{ Val() []string }
	var lists []list
	for _, q := range qs {
		lists = append(lists, pipe.ZRange(ctx, s.key("back:"+q.Name), 0, candidateDepth-1),
			pipe.LRange(ctx, s.key("line:"+q.Name), 0, candidateDepth-1))
	}
	if len(lists) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, storeError("reading queues", err)
	}
	var uids []string
	for _, l := range lists {
		uids = append(uids, l.Val()...)
	}
	return uids, nil
}
