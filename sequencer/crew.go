package sequencer

import (
	"context"
	"sync"
)

// A crew is the goroutines of a process that outlive its order to end: each may begin
// others as long as it runs itself.
type crew struct {
	mu      sync.Mutex
	ctx     context.Context // nil before there is work
	running int
	closing bool
	idle    chan struct{}
}

// open lets work begin, under ctx.
func (c *crew) open(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.idle = ctx, make(chan struct{})
}

// Go runs f in a goroutine of its own. It reports false, and does not, where the crew
// has not begun, or has ended.
func (c *crew) Go(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.Err() != nil || c.closing && c.running == 0 {
		return false
	}
	c.running++
	go func() {
		defer c.done()
		f(c.ctx)
	}()
	return true
}

func (c *crew) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closing {
		close(c.idle)
	}
}

// close lets nothing begin any more but by those that run, and returns a channel that
// is closed when all have ended.
func (c *crew) close() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing = true; c.running == 0 {
		close(c.idle)
	}
	return c.idle
}

// begun reports whether there is work at all.
func (c *crew) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx != nil
}
