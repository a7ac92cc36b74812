package queues

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Together makes calls that each run one script of s, so that they share a round trip, in
// their order.
func (s *Store) Together(calls ...func()) {
	g := s.scripts
	waiting := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting)
	}
	hold := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running += n
	}
	hold(g.calls)
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(call)
		for waiting() <= i {
			runtime.Gosched()
		}
	}
	hold(1 - g.calls)
	for g.flush(context.Background()) {
	}
	all.Wait()
}

// Rate runs the script of the rates.
func (s *Store) Rate(ctx context.Context, args ...any) (out []int64, err error) {
	v, err := s.Run(ctx, rateScript, args...)
	r := reply{name: "rate", err: err}
	for _, n := range r.list(v) {
		out = append(out, r.int(n))
	}
	return out, r.err
}

// ReplicaSeen moves the time at which a replica was seen last.
func (s *Store) ReplicaSeen(by time.Duration) {
	s.confirmer.mu.Lock()
	defer s.confirmer.mu.Unlock()
	s.confirmer.seen = s.confirmer.seen.Add(by)
}

// Wanted is how many replicas have to confirm a write, where the server has said last that so many are online.
func (s *Store) Wanted() int { return s.wanted() }

// ReplicasOnline has a store know of some.
func (s *Store) ReplicasOnline(n int) { s.confirmer.noted(n, time.Now()) }
