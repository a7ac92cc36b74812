package sequencer

import (
	"context"
	"sync"
)

// A crew is the goroutines of a process that outlive its order to end: each may begin
// others as long as it runs itself. Some that have ended stay for what comes next, for it
// costs more to make a stack grow than most of what is done on it.
type crew struct {
	mu      sync.Mutex
	ctx     context.Context // nil before there is work
	running int
	closing bool
	idle    chan struct{}
	spare   []chan func(context.Context) // of goroutines that wait for work
}

// mostSpare is how many wait at most.
const mostSpare = 64

// open lets work begin, under ctx.
func (c *crew) open(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.idle = ctx, make(chan struct{})
}

// Go runs f in a goroutine that runs nothing else meanwhile. It reports false, and does
// not, where the crew has not begun, or has ended.
func (c *crew) Go(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.Err() != nil || c.closing && c.running == 0 {
		return false
	}
	c.running++
	if last := len(c.spare) - 1; last >= 0 {
		c.spare[last] <- f
		c.spare = c.spare[:last]
		return true
	}
	go func() {
		next := make(chan func(context.Context), 1) // whoever gives has not to wait
		for ; f != nil; f = <-next {
			f(c.ctx)
			c.done(next)
		}
	}()
	return true
}

// done has a goroutine wait for work at next, or end.
func (c *crew) done(next chan func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closing {
		close(c.idle)
	}
	if c.closing || len(c.spare) == mostSpare {
		close(next)
		return
	}
	c.spare = append(c.spare, next)
}

// close lets nothing begin any more but by those that run, and returns a channel that
// is closed when all have ended.
func (c *crew) close() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, next := range c.spare {
		close(next)
	}
	if c.closing, c.spare = true, nil; c.running == 0 {
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
