package queues

import (
	"context"
	"errors"

	"mina-sequencer/sequencer/tx"
)

// EnqueueBatch accepts items as a [Batch] of its own.
func (s *Store) EnqueueBatch(ctx context.Context, items []Item) []Accepted {
	return NewBatch(s).Enqueue(ctx, items)
}

// A Batch accepts items that are to stay in order, in as many parts as they are given in. Behind
// what its queue could not take for now none of that queue is tried, and where the store failed
// or takes nothing at all, none: it would overtake that. One call at a time.
type Batch struct {
	store  *Store
	failed error            // why nothing is tried any more
	full   map[string]error // why nothing of a queue is

	// Of what is dry: what would have been accepted before, by its uid and by its batch for a ledger; how many
	// that were; and how many more each queue takes, and, under "", all together, as far as that was asked.
	dry      map[string]*tx.Transaction
	accepted int64
	room     map[string]int64
}

// batchRun is how many of a batch one script run takes: some two milliseconds in which nobody else's
// post is taken.
const batchRun = 100

// NewBatch begins a batch.
func NewBatch(s *Store) *Batch {
	return &Batch{
		store: s, full: map[string]error{}, dry: map[string]*tx.Transaction{}, room: map[string]int64{},
	}
}

// Enqueue accepts items in order, each for itself, and answers in the same order.
func (b *Batch) Enqueue(ctx context.Context, items []Item) []Accepted {
	out := make([]Accepted, len(items))
	for next := 0; next < len(items); {
		var some []Item
		var places []int
		for size := 0; next < len(items) && len(some) < batchRun; next++ {
			item := items[next]
			if out[next].Err = b.refusal(item.Queue); out[next].Err != nil {
				continue
			}
			if size += len(item.Data); len(some) > 0 && size > maxPosted {
				break
			}
			some, places = append(some, item), append(places, next)
		}
		if len(some) == 0 {
			break
		}
		for _, item := range some {
			if item.Dry && b.measure(ctx, item.Queue) != nil {
				break // so it is told below
			}
		}
		for i, a := range b.store.enqueue(ctx, some) {
			if some[i].Dry && a.Err == nil && !a.Existed {
				a = b.behind(ctx, some[i], a.Transaction)
			}
			out[places[i]] = a
			switch {
			case a.Err == nil, errors.Is(a.Err, ErrKeyReused), errors.Is(a.Err, ErrKeyGone): // it alone, for ever
			case errors.Is(a.Err, ErrTooManyWaiting), errors.Is(a.Err, ErrDamaged):
				b.full[some[i].Queue] = a.Err
			default:
				b.failed = a.Err
			}
		}
	}
	return out
}

// refusal is why nothing more of a queue is tried, nil if it is.
func (b *Batch) refusal(queue string) error {
	if b.failed != nil {
		return b.failed
	}
	return b.full[queue]
}

// behind is what a dry item would be answered behind those of its batch, of which nothing is stored.
func (b *Batch) behind(ctx context.Context, item Item, t *tx.Transaction) Accepted {
	if was := b.dry[item.UID]; was != nil {
		if !isOf(was, item) {
			return Accepted{Err: ErrKeyReused}
		}
		return Accepted{Transaction: was, Existed: true}
	}
	ledger := item.Ledger + " " + item.BatchID
	if was := b.dry[ledger]; was != nil && item.BatchID != "" {
		if was.Queue != item.Queue {
			return Accepted{Err: ErrKeyReused}
		}
		return Accepted{Transaction: was, Existed: true}
	}
	if err := b.measure(ctx, item.Queue); err != nil {
		return Accepted{Err: err}
	}
	switch {
	case b.store.MaxWaitingInAll > 0 && b.room[""] <= 0:
		return Accepted{Err: ErrTooManyInAll}
	case b.store.MaxWaiting > 0 && b.room[item.Queue] <= 0:
		return Accepted{Err: ErrTooManyWaiting}
	}
	b.room[""]--
	b.room[item.Queue]--
	t.Sequence += b.accepted
	b.accepted++
	if item.UID != "" {
		b.dry[item.UID] = t
	}
	if item.BatchID != "" {
		b.dry[ledger] = t
	}
	return Accepted{Transaction: t}
}

// measure reads how many more a queue takes, and all together, unless it is known.
func (b *Batch) measure(ctx context.Context, queue string) error {
	for name, most := range map[string]int{"": b.store.MaxWaitingInAll, queue: b.store.MaxWaiting} {
		if _, known := b.room[name]; known || most == 0 {
			continue
		}
		waiting, err := b.store.waiting(ctx, name)
		if err != nil {
			return err
		}
		b.room[name] = int64(most) - waiting
	}
	return nil
}

// waiting is how many of a queue wait, or, where it is "", of all.
func (s *Store) waiting(ctx context.Context, queue string) (n int64, err error) {
	if queue != "" {
		m, e, err := s.words(ctx, queue)
		if err != nil {
			return 0, err
		}
		n = e.int(m["waiting"])
		return n, e.err
	}
	all, err := s.client.HVals(ctx, s.key("waiting")).Result()
	if err != nil {
		return 0, storeError("reading how many wait", err)
	}
	var e numbers
	for _, text := range all {
		n += e.int(text)
	}
	return n, e.err
}
