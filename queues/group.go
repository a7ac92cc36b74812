package queues

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A group lets what arrives while calls are under way share the next call, so
// that many concurrent callers cost few round trips, and a single one waits for
// nobody. It has no goroutine of its own: whoever finds a call free makes it.
type group[T any] struct {
	calls int         // under way at a time
	most  int         // members of one call
	bytes int         // of the members of one call, by size; 0 is no limit
	size  func(T) int // nil where bytes is 0
	send  func(context.Context, []T)

	mu      sync.Mutex
	waiting []T
	running int
}

// sendTimeout bounds a shared call. It does not end with the context of the one
// who happens to make it: others wait for it too.
const sendTimeout = 15 * time.Second

// add has item sent, by this call or the next. It returns as soon as somebody
// is to send it.
func (g *group[T]) add(ctx context.Context, item T) {
	g.mu.Lock()
	g.waiting = append(g.waiting, item)
	free := g.running < g.calls
	if free {
		g.running++
	}
	g.mu.Unlock()
	if free && g.flush(ctx) {
		// Whoever makes a call for all does not make the others' for ever.
		go func() {
			for g.flush(ctx) {
			}
		}()
	}
}

// drop takes back what no call has taken along yet, and reports whether there was any.
func (g *group[T]) drop(is func(T) bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.waiting)
	g.waiting = slices.DeleteFunc(g.waiting, is)
	return len(g.waiting) < before
}

// flush makes one call for what has gathered, and reports whether more has
// gathered meanwhile; if not, its turn is over.
func (g *group[T]) flush(ctx context.Context) (more bool) {
	if members := g.take(); len(members) > 0 { // another call may have taken them along
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
		g.send(ctx, members)
		cancel()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.waiting = nil
		g.running--
		return false
	}
	return true
}

func (g *group[T]) take() []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(g.waiting), g.most) {
		if g.bytes > 0 {
			if bytes += g.size(g.waiting[n]); n > 0 && bytes > g.bytes {
				break
			}
		}
		n++
	}
	members := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return members
}
