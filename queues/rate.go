package queues

import (
	"context"
	"math"
	"time"
)

// A Rate is how many requests a name may make, over all processes together.
type Rate struct {
	PerSecond float64
	// Burst is how many may come at once after a while without any, at least 1.
	Burst int
}

// A Spender counts requests by name and holds them to a rate. Requests that come
// together share one call of Redis. It may be used concurrently.
type Spender struct {
	store *Store
	asks  *group[ask]
}

type ask struct {
	name  string
	count int
	force bool
	done  chan spent
}

type spent struct {
	wait time.Duration
	err  error
}

// NewSpender returns a spender of a store; r must be above 0.
func NewSpender(s *Store, r Rate) *Spender {
	between := math.Ceil(1e6 / r.PerSecond)
	ahead := between * float64(max(r.Burst, 1))
	return &Spender{store: s, asks: &group[ask]{calls: 1, most: MaxBatch, send: func(ctx context.Context, asks []ask) {
		args := make([]any, 2, 2+3*len(asks))
		args[0], args[1] = int64(between), int64(ahead)
		for _, a := range asks {
			force := ""
			if a.force {
				force = "1"
			}
			args = append(args, a.name, a.count, force)
		}
		v, err := s.Run(ctx, rateScript, args...)
		r := reply{name: "rate", err: err}
		waits := r.list(v)
		if r.err == nil && len(waits) != len(asks) {
			r.fail("one answer for each request", v)
		}
		for i, a := range asks {
			var out spent
			if r.err == nil {
				out.wait = time.Duration(r.int(waits[i])) * time.Microsecond
			}
			out.err = r.err
			a.done <- out
		}
	}}}
}

// Spend counts a request of name, which may be "". The answer is 0 if it may go
// on, else after how long it may come again. Error: ErrUnavailable.
func (s *Spender) Spend(ctx context.Context, name string) (time.Duration, error) {
	return s.ask(ctx, ask{name: name, count: 1})
}

// Charge counts n more for name whatever the rate says, so that the requests that
// follow wait the longer. Error: ErrUnavailable.
func (s *Spender) Charge(ctx context.Context, name string, n int) error {
	_, err := s.ask(ctx, ask{name: name, count: n, force: true})
	return err
}

func (s *Spender) ask(ctx context.Context, a ask) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, storeError("rate", err)
	}
	a.done = make(chan spent, 1)
	s.asks.add(ctx, a)
	select {
	case got := <-a.done:
		return got.wait, got.err
	case <-ctx.Done():
		return 0, storeError("rate", ctx.Err())
	}
}
