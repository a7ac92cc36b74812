package queues

import (
	"context"
	"math"
	"sync"
	"time"
)

// A Rate is how many requests a name may make, over all processes together.
type Rate struct {
	PerSecond float64
	// Burst is how many may come at once after a while without any, at least 1.
	Burst int
}

// A Spender counts requests by name and limits them to a rate. Requests that come
// together share one call of Redis, and a name that makes many gets some in
// advance: never more than the rate, and no more than it has just used. It may be
// used concurrently.
type Spender struct {
	Rate
	store *Store
	asks  *group[ask]

	mu     sync.Mutex
	leases map[string]*lease
}

// A lease is what a name was told last. What is left of what it was given in
// advance is lost when the lease ends: it was counted, and another process may
// have been refused it.
type lease struct {
	left, size int
	until      time.Time
	refused    time.Time // until when nobody need ask
}

const (
	leaseLife = time.Second
	// leaseShare is how much of a second's requests may be given in advance.
	leaseShare = 0.1
	// refusalLife is how long a name that was refused is not asked for again, at
	// least. What it may have meanwhile adds up, and is not lost.
	refusalLife = 50 * time.Millisecond
)

type ask struct {
	name string
	more int // to charge in any case; 0 asks for one request
	done chan spent
}

type spent struct {
	wait time.Duration
	err  error
}

// NewSpender returns a spender of a store; r must be above 0.
func NewSpender(s *Store, r Rate) *Spender {
	r.Burst = max(r.Burst, 1)
	sp := &Spender{Rate: r, store: s, leases: make(map[string]*lease)}
	sp.asks = &group[ask]{calls: 1, most: MaxBatch, send: sp.send}
	return sp
}

// Spend counts a request of name, which may be "". The answer is 0 if it may go
// on, else after how long it may come again. Error: ErrUnavailable.
func (s *Spender) Spend(ctx context.Context, name string) (time.Duration, error) {
	if wait, told := s.byLease(name); told {
		return wait, nil
	}
	return s.ask(ctx, ask{name: name})
}

// Charge counts n more for name whatever the rate says, so that the requests that
// follow wait the longer. n is at least 1. Error: ErrUnavailable.
func (s *Spender) Charge(ctx context.Context, name string, n int) error {
	_, err := s.ask(ctx, ask{name: name, more: n})
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

// byLease answers without asking, where it can.
func (s *Spender) byLease(name string) (wait time.Duration, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[name]
	if l == nil {
		return 0, false
	}
	if now := time.Now(); now.Before(l.refused) {
		return l.refused.Sub(now), true
	} else if l.left == 0 || !now.Before(l.until) {
		return 0, false
	}
	l.left--
	return 0, true
}

// advance is how many requests more a name gets for later, where some ask now: a
// lease that was used up in time makes the next one larger.
func (s *Spender) advance(name string, asking int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[name]
	if l == nil || l.left > 0 || !time.Now().Before(l.until) {
		return 0
	}
	return min(2*l.size+asking, int(s.PerSecond*leaseShare))
}

// keep remembers what was answered last. refused is 0 if nobody was.
func (s *Spender) keep(name string, left, size int, refused time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	l := &lease{left: left, size: size, until: now.Add(leaseLife)}
	if refused > 0 {
		l.refused = now.Add(refused)
	}
	s.leases[name] = l
}

// send makes one call for many that ask.
func (s *Spender) send(ctx context.Context, asks []ask) {
	var names []string
	byName := make(map[string]*asking)
	for _, a := range asks {
		if a.more == 0 {
			// What was told since it asked may answer it.
			if wait, told := s.byLease(a.name); told {
				a.done <- spent{wait: wait}
				continue
			}
		}
		n := byName[a.name]
		if n == nil {
			n = new(asking)
			byName[a.name] = n
			names = append(names, a.name)
		}
		if a.more > 0 {
			n.charged += a.more
			n.charges = append(n.charges, a)
		} else {
			n.requests = append(n.requests, a)
		}
	}
	if len(names) == 0 {
		return
	}
	between := int64(math.Ceil(1e6 / s.PerSecond))
	args := []any{between, between * int64(s.Burst)}
	for _, name := range names {
		n := byName[name]
		n.advance = s.advance(name, len(n.requests))
		args = append(args, name, n.charged, len(n.requests)+n.advance)
	}
	v, err := s.store.Run(ctx, rateScript, args...)
	r := reply{name: "rate", err: err}
	got := r.list(v)
	if r.err == nil && len(got) != 2*len(names) {
		r.fail("two answers for each name", v)
	}
	for i, name := range names {
		through, wait := int(r.int(r.at(got, 2*i))), time.Duration(r.int(r.at(got, 2*i+1)))*time.Microsecond
		s.answer(name, byName[name], through, wait, r.err)
	}
}

// asking is all that one call asks for a name.
type asking struct {
	requests, charges []ask
	charged           int
	advance           int // more than the requests
}

// answer remembers what was told of a name before anybody hears of it.
func (s *Spender) answer(name string, n *asking, through int, wait time.Duration, err error) {
	let := min(through, len(n.requests))
	refused := time.Duration(0)
	if let < len(n.requests) {
		refused = max(wait, refusalLife)
	}
	if err == nil && len(n.requests) > 0 {
		s.keep(name, through-let, n.advance, refused)
	}
	for _, a := range n.charges {
		a.done <- spent{err: err}
	}
	for i, a := range n.requests {
		switch {
		case err != nil:
			a.done <- spent{err: err}
		case i < let:
			a.done <- spent{}
		default:
			a.done <- spent{wait: refused}
		}
	}
}
