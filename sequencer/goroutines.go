package sequencer

import (
	"context"
	"sync"
)

// The goroutines are those of a process that outlive its order to end: each may begin
// others as long as it runs itself. Some that have ended stay for what comes next, for it
// costs more to make a stack grow than most of what is done on it: a new one for each, as by
// a sync.WaitGroup, takes several times as long (BenchmarkGoroutines).
type goroutines struct {
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
func (g *goroutines) open(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx, g.idle = ctx, make(chan struct{})
}

// Go runs f in a goroutine that runs nothing else meanwhile. It reports false, and does
// not, where none may begin yet, or all have ended.
func (g *goroutines) Go(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.ctx.Err() != nil || g.closing && g.running == 0 {
		return false
	}
	g.running++
	if last := len(g.spare) - 1; last >= 0 {
		g.spare[last] <- f
		g.spare = g.spare[:last]
		return true
	}
	go func() {
		next := make(chan func(context.Context), 1) // whoever gives has not to wait
		for ; f != nil; f = <-next {
			f(g.ctx)
			g.done(next)
		}
	}()
	return true
}

// done has a goroutine wait for work at next, or end.
func (g *goroutines) done(next chan func(context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.closing {
		close(g.idle)
	}
	if g.closing || len(g.spare) == mostSpare {
		close(next)
		return
	}
	g.spare = append(g.spare, next)
}

// close lets nothing begin any more but by those that run, and returns a channel that
// is closed when all have ended.
func (g *goroutines) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, next := range g.spare {
		close(next)
	}
	if g.closing, g.spare = true, nil; g.running == 0 {
		close(g.idle)
	}
	return g.idle
}

// begun reports whether there is work at all.
func (g *goroutines) begun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ctx != nil
}
