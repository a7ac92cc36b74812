package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A strictLedger executes a batch as often as it gets it, and tells nothing of a post but what
// answer says; where that is MayBeProcessed it may have it a minute later.
type strictLedger struct {
	ledger.Ledger // of which it has the rest
	mu            sync.Mutex
	// posts counts those that were made, executed those that took effect.
	posts, executed int
	answer          func(post int) (o ledger.Outcome, arrives bool)
}

func (l *strictLedger) Idempotent() bool { return false }

func (l *strictLedger) Submit(context.Context, []byte, string) ledger.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posts++
	o, arrives := l.answer(l.posts)
	if arrives {
		time.AfterFunc(time.Minute, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.executed++
		})
	}
	return ledger.Answer{Outcome: o, Message: "as the test has it"}
}

func (l *strictLedger) Statuses(_ context.Context, ids []string) (map[string]ledger.Status, error) {
	<-time.After(200 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]ledger.Status{}
	for _, id := range ids {
		if all[id] = (ledger.Status{State: ledger.Unknown}); l.executed > 0 {
			all[id] = ledger.Status{State: ledger.Committed}
		}
	}
	return all, nil
}

// batches is a world with one ledger, and one slot on it.
func batches(t *testing.T, test func(w *harness.World)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := harness.Policy()
		policy.LedgerPatience = 10 * time.Minute
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
		w.OK(w.Pool.Configure(w.Ctx, map[string]string{senders.SlotName("sc", 1): "http://sc"}))
		test(w)
	})
}

// ledgerProcess is one that sees a ledger as l.
func ledgerProcess(w *harness.World, client *redis.Client, l ledger.Ledger) *sequencer.Sequencer {
	types := new(dispatcher.Registry)
	w.OK(types.Register(dispatcher.SubmitBatch([]string{"sc"})))
	store, pool := w.Open(client)
	s := sequencer.New(sequencer.Options{
		Store: store, Senders: pool, Types: types, Namespace: "test", Policy: w.Policy, Log: w.Logger,
		Ledgers: map[string]ledger.Ledger{"sc": l},
		Chain:   mina.NewTracker(mina.TrackerOptions{Nodes: []*mina.Node{w.Node(0)}, Depth: 8}),
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	w.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

func postBatch(w *harness.World, uid string) {
	w.Helper()
	w.OK(w.Store.Enqueue(w.Ctx, queues.Item{UID: uid, Queue: "q", Type: dispatcher.SubmitBatchType, Ledger: "sc",
		BatchID: "b-" + uid, Data: json.RawMessage(`{"ledger":"sc","batchList":"AAAA"}`)}).Err)
}

// doneOnce: a is DONE, was posted twice, and is executed once.
func doneOnce(w *harness.World, l *strictLedger) {
	w.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := w.Get("a").State(); l.executed != 1 || l.posts != 2 || got != tx.Done {
		w.Errorf("posted %d times, executed %d times, %s", l.posts, l.executed, got)
	}
}

// TestBatchForgotten: Redis forgets that a batch was posted for the second time, on the slot on
// which it was not reached at first. The process that knows has it put back, and not posted again.
func TestBatchForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	batches(t, func(w *harness.World) {
		l := &strictLedger{answer: func(post int) (ledger.Outcome, bool) {
			if post == 1 {
				return ledger.NotWritten, false
			}
			return ledger.MayBeProcessed, true
		}}
		ledgerProcess(w, w.Redis.NewClient(), l)
		postBatch(w, "a")
		soon(w, "a", func(x *tx.Transaction) bool { return len(x.Attempts) == 1 && x.Phase == tx.PhaseWaiting })
		before := w.Redis.Snapshot()
		soon(w, "a", func(x *tx.Transaction) bool {
			return x.Phase == tx.PhaseWatching || x.Phase == tx.PhaseSent
		})
		w.Redis.FailOver(before)
		<-time.After(10 * time.Minute)
		doneOnce(w, l)
	})
}

// TestBatchRetriedForgotten: the same of one that a person has declared dead, and had tried again.
func TestBatchRetriedForgotten(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	t.Parallel()
	for at := 2 * time.Second; at <= 8*time.Second; at += 2 * time.Second {
		t.Run(at.String(), func(t *testing.T) {
			batches(t, func(w *harness.World) {
				l := &strictLedger{answer: func(post int) (ledger.Outcome, bool) { return ledger.MayBeProcessed, post > 1 }}
				s := ledgerProcess(w, w.Redis.NewClient(), l)
				postBatch(w, "a")
				w.Await("a", tx.Unresolved, time.Hour)
				_, err := s.Resolve(w.Ctx, "a", false, "")
				w.OK(err)
				w.OK(w.Store.Pause(w.Ctx, "q", "until its state is kept"))
				_, err = s.Retry(w.Ctx, "a")
				w.OK(err)
				before := w.Redis.Snapshot()
				w.OK(w.Store.Resume(w.Ctx, "q"))
				// Mostly it is seen bound, too; not where the ledger has answered already.
				soon(w, "a", func(x *tx.Transaction) bool {
					if x.Phase == tx.PhaseDispatching && len(x.Attempts) == 1 {
						before = w.Redis.Snapshot()
					}
					return len(x.Attempts) == 2 && (x.Phase == tx.PhaseSent || x.Phase == tx.PhaseWatching)
				})
				<-time.After(at)
				w.Redis.FailOver(before)
				w.OK(w.Store.Resume(w.Ctx, "q"))
				<-time.After(15 * time.Minute)
				doneOnce(w, l)
			})
		})
	}
}

// A frail hook loses the replies of Redis, or has nothing reach it.
type frail struct{ lose, down atomic.Bool }

func (f *frail) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *frail) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := errors.New("i/o timeout")
		if !f.down.Load() {
			if e := next(ctx, cmd); !f.lose.Load() {
				return e
			}
		}
		cmd.SetErr(err)
		return err
	}
}

func (f *frail) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := errors.New("i/o timeout")
		if !f.down.Load() {
			if e := next(ctx, cmds); !f.lose.Load() {
				return e
			}
		}
		for _, c := range cmds {
			c.SetErr(err)
		}
		return err
	}
}

// TestBatchNumberAnew: the reply to the write that puts a batch off is lost, and another process has
// it next, whose attempt has the number of the first. That one is nothing that Redis has forgotten.
func TestBatchNumberAnew(t *testing.T) {
	lane.Nightly(t, "what a failover forgets is walked by the explorer, and met by seeds of the simulation")
	batches(t, func(w *harness.World) {
		f, up := new(frail), new(atomic.Bool)
		var once sync.Once
		answers := func(breaks func()) func(int) (ledger.Outcome, bool) {
			return func(int) (ledger.Outcome, bool) {
				if up.Load() {
					return ledger.Accepted, true
				}
				once.Do(breaks)
				return ledger.NotWritten, false
			}
		}
		first := &strictLedger{answer: answers(func() {
			f.lose.Store(true)
			time.AfterFunc(300*time.Millisecond, func() {
				f.down.Store(true)
				f.lose.Store(false)
			})
			time.AfterFunc(8*time.Second, func() { f.down.Store(false) })
		})}
		client := w.Redis.NewClient()
		client.AddHook(f)
		ledgerProcess(w, client, first)
		<-time.After(time.Second)
		postBatch(w, "a")
		soon(w, "a", func(x *tx.Transaction) bool { return len(x.Attempts) == 1 && x.Phase == tx.PhaseWaiting })
		second := &strictLedger{answer: answers(func() {})}
		ledgerProcess(w, w.Redis.NewClient(), second)
		<-time.After(3 * time.Minute)
		up.Store(true)
		<-time.After(20 * time.Minute)
		if got := w.Get("a"); got.State() != tx.Done || len(got.Attempts) != 1 {
			w.Errorf("%s, %v, by %+v", got.State(), got.Error, got.Attempts)
		}
	})
}
