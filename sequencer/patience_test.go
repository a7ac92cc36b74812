package sequencer_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/harness"
	"mina-sequencer/sequencer/lifecycle"
)

// A readOnly hook has Redis answer all but changes of transactions as long as it is on, or, where
// replicas are waited for, take them too and have none confirm them.
type readOnly struct {
	on       atomic.Bool
	replicas bool
	sha      sync.Map // of the script that changes them
}

type misconf struct{}

func (misconf) Error() string { return "MISCONF it cannot write its append-only file" }
func (misconf) RedisError()   {}

func (h *readOnly) refuses(c redis.Cmder) bool {
	args := c.Args()
	if len(args) < 2 {
		return false
	}
	text, _ := args[1].(string)
	if c.Name() == "eval" && strings.HasPrefix(text, "-- advance\n") {
		sum := sha1.Sum([]byte(text))
		text = hex.EncodeToString(sum[:])
		h.sha.Store(text, true)
	}
	_, changes := h.sha.Load(text)
	return changes && h.on.Load() && !h.replicas
}

func (*readOnly) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *readOnly) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if h.refuses(c) {
			c.SetErr(misconf{})
			return misconf{}
		}
		return next(ctx, c)
	}
}

func (h *readOnly) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		err := next(ctx, all)
		for _, c := range all {
			if h.refuses(c) { // what has run is as good as an answer that was lost
				c.SetErr(misconf{})
			}
			if c, is := c.(*redis.Cmd); is && c.Name() == "wait" && !h.on.Load() {
				c.SetVal(int64(1))
			}
		}
		return err
	}
}

// TestPatience: an owner whose changes the store reads back, and does not take or does not have
// confirmed, tries again less and less often, and goes on when it does.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int{"no replica confirms": 1, "changes are refused": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				w.Worker(1, devworker.Options{})
				hook, client := &readOnly{replicas: replicas > 0}, w.Redis.NewClient()
				client.AddHook(hook)
				p := w.Process(harness.Links{Dial: w.Web.Dial, Redis: client})
				var tried atomic.Int64
				p.Store.Replicas = replicas
				p.Store.Observe = func(script string, calls int, _ time.Duration) {
					if script == "advance" {
						tried.Add(int64(calls))
					}
				}
				hook.on.Store(true)
				ctx, stop := context.WithCancel(w.Ctx)
				ended := make(chan error)
				go func() { ended <- p.Run(ctx) }()
				w.Post("q", "a")
				w.AwaitTxn("a", "bound", time.Minute, func(t *lifecycle.Transaction) bool { return t.Phase.Bound() })
				<-time.After(time.Minute)
				before := tried.Load()
				<-time.After(2 * time.Minute)
				if n := tried.Load() - before; n < 2 || n > 60 {
					t.Errorf("tried %d times in two minutes", n)
				}
				hook.on.Store(false)
				w.Await("a", lifecycle.Done, time.Hour)
				stop()
				w.OK(<-ended)
			})
		})
	}
}
