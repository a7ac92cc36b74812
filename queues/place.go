package queues

import (
	"context"
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
)

// Place returns where a transaction stands in its queue. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Place(ctx context.Context, uid string) (lifecycle.Place, error) {
	v, err := s.Run(ctx, standingScript, uid)
	if err != nil {
		return lifecycle.Place{}, err
	}
	r := reply{name: "standing"}
	l := r.list(v)
	if len(l) == 0 && r.err == nil {
		return lifecycle.Place{}, fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	}
	return lifecycle.Place{
		Ahead: int(r.int(r.at(l, 0))), First: r.string(r.at(l, 1)),
		Holder: r.string(r.at(l, 2)), Hold: fromMillis(r.int(r.at(l, 3))),
	}, r.err
}
