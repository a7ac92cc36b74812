package sequencer_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A waits hook counts how often replicas were waited for in vain.
type waits struct{ vain atomic.Int64 }

func (*waits) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*waits) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (w *waits) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, c := range cmds {
			if c, ok := c.(*redis.Cmd); ok && c.Name() == "wait" {
				if n, err := c.Int(); err == nil && n == 0 {
					w.vain.Add(1)
				}
			}
		}
		return err
	}
}

// TestUnconfirmedLeavesNothing runs the service on a real Redis whose replica is
// missing: no node sees a byte, and no worker that sends by itself is called. Then
// the replica comes, and everything takes effect once.
func TestUnconfirmedLeavesNothing(t *testing.T) {
	lane.All(t, `the world "replicas" of the explorer`)
	t.Parallel()
	server := redistest.Start(t)
	hook := &waits{}
	server.Client.AddHook(hook)
	network, err := devnet.New(devnet.Config{FundAll: true, SlotTime: 500 * time.Millisecond, FillRate: 1, K: 2000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := make(chan error, 2)
	go func() { running <- network.Run(ctx) }()
	node := httptest.NewServer(network)
	defer node.Close()
	store, err := queues.Open(server.Client, queues.Options{Namespace: "test", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	pool := senders.New(store, server.Client)
	client := mina.NewNode(node.URL+"/graphql", mina.NodeOptions{})
	var workers []*devworker.Worker
	for i, legacy := range []bool{false, true} {
		w := devworker.New(devworker.Options{Account: devnet.Key(uint64(i)), Legacy: legacy, Send: client.Send})
		workers = append(workers, w)
		at := httptest.NewServer(w)
		defer at.Close()
		if err := pool.Register(ctx, devnet.Key(uint64(i)), at.URL); err != nil {
			t.Fatal(err)
		}
	}
	types := new(dispatcher.Registry)
	calls := dispatcher.NewClient(dispatcher.ClientOptions{Dial: new(net.Dialer).DialContext, Timeout: time.Minute})
	if err := types.Register(dispatcher.NewRemote(calls, "MINT", nil)); err != nil {
		t.Fatal(err)
	}
	policy := harness.Policy()
	policy.InclusionInterval, policy.CycleInterval = 200*time.Millisecond, 200*time.Millisecond
	policy.DispatchTimeout, policy.ValidSlots = time.Minute, 100_000
	s := sequencer.New(sequencer.Options{
		Store: store, Senders: pool, Types: types, Namespace: "test", Policy: policy,
		Chain: mina.NewTracker(mina.TrackerOptions{Nodes: []*mina.Node{client}, Depth: 10}),
	})
	go func() { running <- s.Run(ctx) }()
	defer func() {
		cancel()
		for range 2 {
			if err := <-running; err != nil && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
	}()
	for _, uid := range []string{"a", "b"} {
		if e := store.Enqueue(ctx, queues.Item{UID: uid, Queue: "q-" + uid, Type: "MINT", Data: []byte(`{}`)}); e.Err != nil {
			t.Fatal(e.Err)
		}
	}
	until := func(what string, reached func() bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(2 * time.Minute); !reached(); <-tick.C {
			if time.Now().After(end) {
				t.Fatalf("did not happen: %s", what)
			}
		}
	}
	get := func(uid string) *tx.Transaction {
		t.Helper()
		txn, err := store.Get(ctx, uid)
		if err != nil {
			t.Fatal(err)
		}
		return txn
	}
	until("both attempts are stored, and neither is confirmed", func() bool {
		return get("a").Open() && get("b").Open() && hook.vain.Load() >= 6
	})
	uid := "a"
	if get("a").Legacy() {
		uid = "b"
	}
	until("explain says what it waits for", func() bool {
		e, err := s.Explain(ctx, uid, false)
		return err == nil && strings.Contains(e.Summary, "have confirmed that; too few do since 20")
	})
	if seen := network.Seen(); len(seen) > 0 {
		t.Errorf("nodes were sent %v", seen)
	}
	if n := workers[1].Calls()[devworker.Dispatch]; n > 0 {
		t.Errorf("the worker that sends by itself was called %d times", n)
	}
	for uid, state := range map[string]tx.State{"a": tx.Revision, "b": tx.Dispatching} {
		if txn := get(uid); txn.State() != state {
			t.Errorf("%s: %+v", uid, txn)
		}
	}
	_, port, _ := net.SplitHostPort(server.Addr)
	redistest.Start(t, "replicaof 127.0.0.1 "+port)
	until("both are DONE", func() bool { return get("a").State() == tx.Done && get("b").State() == tx.Done })
	if e := network.Effects(); len(e) != 2 {
		t.Errorf("effects %+v", e)
	}
	if n := workers[1].Calls()[devworker.Dispatch]; n != 1 {
		t.Errorf("the worker that sends by itself was called %d times", n)
	}
}

// A confirming hook answers for replicas that have everything at once.
type confirming struct{}

func (confirming) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (confirming) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (confirming) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		waits := func(c redis.Cmder) bool { return c.Name() == "wait" }
		err := next(ctx, slices.DeleteFunc(slices.Clone(cmds), waits))
		for _, c := range cmds {
			if c, is := c.(*redis.Cmd); is && waits(c) {
				c.SetVal(int64(1))
			}
		}
		return err
	}
}

// TestReopenedKeepsItsClaim: what is DONE, and sent again because its block is gone, is
// confirmed by the replicas first and watched on after that.
func TestReopenedKeepsItsClaim(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		first := w.Start()
		w.Post("q", "a")
		w.Await("a", tx.Done, time.Hour)
		first.Stop()
		client := w.Redis.NewClient()
		client.AddHook(confirming{})
		p := w.Process(harness.Links{Dial: w.Web.Dial, Redis: client})
		p.Store.Replicas = 1
		ctx, stop := context.WithCancel(w.Ctx)
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		w.OK(w.Net.Reorg(devnet.Reorg{Depth: 1, Empty: true}))
		w.AwaitTxn("a", "reopened", time.Hour, func(t *tx.Transaction) bool { return t.Reopened })
		w.AwaitTxn("a", "landed again", time.Hour,
			func(t *tx.Transaction) bool { return !t.Reopened && t.Claim != "" })
		w.AwaitTxn("a", "final", 5*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
		stop()
		w.OK(<-ended)
	})
}
