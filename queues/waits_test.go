package queues_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// A stuck hook has replicas be waited for until it is closed.
type stuck struct {
	end     chan struct{}
	waiting atomic.Int64
}

func (*stuck) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*stuck) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *stuck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		if all[len(all)-1].Name() == "wait" {
			h.waiting.Add(1)
			defer h.waiting.Add(-1)
			<-h.end
		}
		return next(ctx, all)
	}
}

// TestFewWait: few wait for replicas at a time, so that they leave connections to all others, and
// who gives up meanwhile waits for nobody.
func TestFewWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		f.register("S")
		f.post("q", "a")
		bound := f.bound("a S")[0].Transaction
		hook := &stuck{end: make(chan struct{})}
		f.client.AddHook(hook)
		store := f.open(queues.Options{Namespace: "seq", Replicas: 1})
		advance := func(ctx context.Context) error {
			_, err := store.Advance(ctx,
				change(bound, tx.PhaseDispatching, func(c *queues.Change) { c.Confirm = true }))
			return err
		}
		var all sync.WaitGroup
		var confirmed atomic.Int64
		for range 30 {
			all.Go(func() {
				// The first is stored, and the others are behind it.
				if err := advance(f.ctx); errors.Is(err, queues.ErrUnconfirmed) || errors.Is(err, queues.ErrStale) {
					confirmed.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := hook.waiting.Load(); n < 1 || n > 4 {
			t.Errorf("%d wait at a time", n)
		}
		ctx, cancel := context.WithCancel(f.ctx)
		given := make(chan error, 1)
		go func() { given <- advance(ctx) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-given:
			if !errors.Is(err, queues.ErrUnavailable) {
				t.Errorf("given up: %v", err)
			}
		default:
			t.Error("who gives up waits on")
		}
		close(hook.end)
		all.Wait()
		if n := confirmed.Load(); n != 30 {
			t.Errorf("%d of 30 were answered", n)
		}
	})
}
