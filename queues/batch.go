package queues

import (
	"context"
	"errors"
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
}

// batchRun is how many of a batch one script run takes: some two milliseconds in which nobody else's
// post is taken.
const batchRun = 100

// NewBatch begins a batch.
func NewBatch(s *Store) *Batch { return &Batch{store: s, full: map[string]error{}} }

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
		for i, a := range b.store.enqueue(ctx, some) {
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
