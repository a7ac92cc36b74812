package queues

import (
	"context"
	"fmt"
	"time"
)

// A Standing is a transaction's place in its queue.
type Standing struct {
	Ahead int    // waiting transactions before it
	First string // of the queue: the running one or, without one, the next; "" if there is none
	// Holder is the transaction whose callback the queue waits for, until Hold;
	// "" if it waits for none.
	Holder string
	Hold   time.Time
}

// Standing returns where a transaction stands. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Standing(ctx context.Context, uid string) (Standing, error) {
	v, err := s.Run(ctx, standingScript, uid)
	if err != nil {
		return Standing{}, err
	}
	r := reply{name: "standing"}
	l := r.list(v)
	if len(l) == 0 && r.err == nil {
		return Standing{}, fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	}
	return Standing{
		Ahead: int(r.int(r.at(l, 0))), First: r.string(r.at(l, 1)), Holder: r.string(r.at(l, 2)), Hold: fromMillis(r.int(r.at(l, 3))),
	}, r.err
}
