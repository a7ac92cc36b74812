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
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
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
				w.AwaitTxn("a", "bound", time.Minute, func(t *tx.Transaction) bool { return t.Phase.Bound() })
				<-time.After(time.Minute)
				before := tried.Load()
				<-time.After(2 * time.Minute)
				if n := tried.Load() - before; n < 2 || n > 60 {
					t.Errorf("tried %d times in two minutes", n)
				}
				hook.on.Store(false)
				w.Await("a", tx.Done, time.Hour)
				stop()
				w.OK(<-ended)
			})
		})
	}
}

// TestRetriesAsked: a worker that does not say for now how often it would have its transaction
// tried is asked again, for as long as a call of it may take; what it says then counts.
func TestRetriesAsked(t *testing.T) {
	t.Parallel()
	opinion := func(n int) devworker.Options { return devworker.Options{MaxRetries: &n} }
	away := func(kind string, times int) devworker.Fault {
		return devworker.Fault{On: devworker.MaxRetries, Kind: kind, Times: times}
	}
	gateway, without, left, never := away(devworker.Answer, 3), away(devworker.Error, 1), away(devworker.Busy, 2), -1
	gateway.Status, without.Status, left.Wait = 502, 500, 4*time.Minute
	long := away(devworker.Busy, 1)
	long.Wait = 9 * time.Minute
	for name, tc := range map[string]struct {
		fault devworker.Fault
		most  int // calls
		ends  tx.State
		do    func(w *harness.World, p *harness.Process)
	}{
		"busy":                        {away(devworker.Busy, 5), 7, tx.Done, nil},
		"broken off":                  {away(devworker.Cut, 5), 7, tx.Done, nil},
		"hanging":                     {away(devworker.Hang, 2), 4, tx.Done, nil},
		"a gateway":                   {gateway, 5, tx.Done, nil},
		"never again":                 {away(devworker.Cut, never), 300, tx.Failed, nil},
		"without one":                 {without, 1, tx.Failed, nil},
		"left alone":                  {left, 4, tx.Done, nil},
		"cancelled then":              {away(devworker.Hang, never), 2, tx.Failed, cancelled},
		"moved":                       {away(devworker.Cut, never), 40, tx.Done, moves},
		"handed over":                 {away(devworker.Cut, 20), 30, tx.Done, handedOver},
		"left alone by one that ends": {long, 4, tx.Done, handedOver},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				w.Policy.MaxRetries = 0
				_, worker := w.Worker(1, opinion(1))
				worker.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Error, Code: "20202"}, tc.fault)
				p := w.Start()
				w.Post("q", "a")
				if tc.do != nil {
					w.AwaitTxn("a", "weighed", time.Minute, func(t *tx.Transaction) bool {
						return t.Phase == tx.PhaseFailing && worker.Calls()[devworker.MaxRetries] > 0
					})
					tc.do(w, p)
				}
				a := w.AwaitTxn("a", "final", time.Hour, func(t *tx.Transaction) bool { return t.Phase.Final() })
				if n := worker.Calls()[devworker.MaxRetries]; a.State() != tc.ends || n == 0 || n > tc.most {
					t.Errorf("%s (%+v), asked %d times", a.State(), a.Error, n)
				}
			})
		})
	}
}

// cancelled takes back what its worker is asked about: no answer is waited for.
func cancelled(w *harness.World, p *harness.Process) {
	_, _, err := p.Cancel(w.Ctx, "a")
	w.OK(err)
	w.Await("a", tx.Failed, 5*time.Second)
}

// moves has the worker be somewhere else, where it answers.
func moves(w *harness.World, _ *harness.Process) {
	w.Web.Serve(w, "moved", devworker.New(devworker.Options{Account: devnet.Key(1), MaxRetries: new(1)}))
	w.OK(w.Pool.Configure(w.Ctx, map[string]string{devnet.Key(1): "http://moved"}))
}

// handedOver ends a process while the worker is asked: it does not wait for the answer.
func handedOver(w *harness.World, p *harness.Process) {
	began := time.Now()
	p.Stop()
	if d := time.Since(began); d > time.Second {
		w.Errorf("ended after %v", d)
	}
	w.Start()
}
