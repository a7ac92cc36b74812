package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// load posts from several goroutines, each the same again until it is taken.
type load struct {
	*testing.T
	store *queues.Store

	quiet sync.RWMutex // held: no post is under way
	mu    sync.Mutex
	taken map[string]int64 // sequences
	more  chan struct{}    // closed at the next post that is taken
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func startLoad(t *testing.T, store *queues.Store) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{T: t, store: store, taken: map[string]int64{}, more: make(chan struct{}), stop: stop}
	for g := range 4 {
		l.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.post(ctx, fmt.Sprintf("g%d-%d", g, i), fmt.Sprintf("q%d", i%5))
			}
		})
	}
	t.Cleanup(func() { stop(); l.done.Wait() })
	return l
}

func (l *load) post(ctx context.Context, uid, queue string) {
	for ctx.Err() == nil {
		l.quiet.RLock()
		a := l.store.Enqueue(ctx, queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(`{"n":1}`)})
		if a.Err == nil {
			l.mu.Lock()
			l.taken[uid] = a.Transaction.Sequence
			close(l.more)
			l.more = make(chan struct{})
			l.mu.Unlock()
		}
		l.quiet.RUnlock()
		<-time.After(10 * time.Millisecond) // as fast as it can it would only measure the machine
		switch {
		case a.Err == nil:
			return
		case ctx.Err() == nil && !errors.Is(a.Err, queues.ErrUnavailable):
			l.Errorf("%s: %v", uid, a.Err)
			return
		}
	}
}

// takes waits until n more posts are taken.
func (l *load) takes(n int) {
	l.Helper()
	for range n {
		l.mu.Lock()
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-time.After(40 * time.Second): // far more than any of this takes
			l.Fatal("no post is taken any more")
		}
	}
}

// whole wants all that was taken there, once, and every sequence once.
func (l *load) whole() {
	l.Helper()
	l.stop()
	l.done.Wait()
	there := map[string]int64{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page, next, err := l.store.List(context.Background(), queues.Filter{}, 500, cursor)
		if err != nil {
			l.Fatal(err)
		}
		for _, t := range page {
			if _, twice := there[t.UID]; twice {
				l.Errorf("%s is there twice", t.UID)
			}
			there[t.UID] = t.Sequence
		}
		cursor = next
	}
	sequences := slices.Sorted(maps.Values(there))
	if unique := len(slices.Compact(sequences)); unique != len(there) {
		l.Errorf("%d transactions have %d sequences", len(there), unique)
	}
	for uid, sequence := range l.taken {
		if there[uid] != sequence {
			l.Errorf("%s was taken as %d, and is there as %d", uid, sequence, there[uid])
		}
	}
	found, err := l.store.Audit(context.Background(), func([]queues.Record) error { return nil })
	if err != nil || len(found) > 0 {
		l.Errorf("audit: %v, %v", found, err)
	}
	l.Logf("%d taken, %d there", len(l.taken), len(there))
}

// fails has a master fail that has told its replicas all that was answered, and prints
// how long after the others had a new one the next post was taken.
func (l *load) fails(replicated, fail, succeed func()) {
	l.Helper()
	l.takes(20)
	l.quiet.Lock()
	replicated()
	fail()
	began := time.Now()
	l.quiet.Unlock()
	succeed()
	over := time.Now()
	l.takes(1)
	l.Logf("a new master after %.2f s, a post %.2f s later", over.Sub(began).Seconds(), time.Since(over).Seconds())
	l.takes(20)
}

// bindOne asks to bind one transaction for process P.
var bindOne = queues.BindRequest{
	Process: "P", Types: []string{vote}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Second,
}

func clusterStore(t *testing.T, c *redistest.Cluster, o queues.Options) (*queues.Store, redis.UniversalClient) {
	t.Helper()
	client := queues.NewClient(&redis.UniversalOptions{Addrs: c.Addrs(), IsClusterMode: true})
	t.Cleanup(func() { _ = client.Close() })
	store, err := queues.Open(client, o)
	if err == nil {
		err = store.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, client
}

// TestCluster: nothing that a Cluster took is lost or there twice, whichever of its
// nodes fails and wherever the slot moves.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *redistest.Cluster)
	}{
		{"confirmed", clusterConfirms}, {"moved", clusterMoves}, {"killed", clusterKilled},
		{"paused", clusterPaused}, {"restarted", clusterRestarts},
	} {
		t.Run(part.name, func(t *testing.T) {
			if part.name != "killed" && part.name != "confirmed" {
				lane.All(t, "the client is told of another master, as where the master is killed")
			}
			part.run(t, c)
			c.Works()
			c.Replicated()
		})
	}
}

func clusterKilled(t *testing.T, c *redistest.Cluster) {
	store, _ := clusterStore(t, c, queues.Options{Namespace: "killed"})
	l, master := startLoad(t, store), c.Master("{killed}")
	l.fails(c.Replicated, master.Kill, func() { c.Succeed("{killed}", master) })
	master.Restart()
	l.whole()
}

func clusterPaused(t *testing.T, c *redistest.Cluster) {
	store, _ := clusterStore(t, c, queues.Options{Namespace: "paused"})
	l, master := startLoad(t, store), c.Master("{paused}")
	l.fails(c.Replicated, master.Pause, func() { c.Succeed("{paused}", master) })
	master.Resume()
	l.takes(20)
	l.whole()
}

func clusterRestarts(t *testing.T, c *redistest.Cluster) {
	store, _ := clusterStore(t, c, queues.Options{Namespace: "rolling"})
	l := startLoad(t, store)
	for _, n := range c.Nodes {
		l.takes(20)
		n.Restart()
		c.Works()
		c.Replicated()
	}
	l.takes(20)
	l.whole()
}

// clusterConfirms: the replicas that confirm are those of the master that has written.
func clusterConfirms(t *testing.T, c *redistest.Cluster) {
	store, client := clusterStore(t, c, queues.Options{Namespace: "confirm", Replicas: 1})
	master, ctx := c.Master("{confirm}"), t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(senders.New(store, client).Register(ctx, "S", "http://worker"))
	_, err := store.Heartbeat(ctx, "P", time.Minute, "")
	ok(err)
	ok(store.Enqueue(ctx, queues.Item{UID: "a", Queue: "q", Type: vote, Data: json.RawMessage(`{}`)}).Err)
	bound, err := store.Bind(ctx, bindOne)
	ok(err)
	txn := bound[0].Transaction
	write := func() error {
		next := change(txn, tx.PhaseSent, func(c *queues.Change) { c.Confirm = true })
		stored, err := store.Advance(ctx, next)
		if stored != nil {
			txn = stored
		}
		return err
	}
	ok(write()) // the first one loads the script
	before := c.Waits()
	for range 10 {
		ok(write())
	}
	for _, n := range c.Nodes {
		if asked := c.Waits()[n.Addr] - before[n.Addr]; asked != map[bool]int{n == master: 10}[true] {
			t.Errorf("%s was asked %d times to wait; the master is %s", n.Addr, asked, master.Addr)
		}
	}
	for _, n := range c.Replicas(master) {
		n.Pause()
		defer n.Resume()
	}
	if err := write(); !errors.Is(err, queues.ErrUnconfirmed) {
		t.Errorf("no replica of the master answers: %v", err)
	}
}

// clusterMoves: while the slot moves posts are refused, and nothing begins anew.
func clusterMoves(t *testing.T, c *redistest.Cluster) {
	store, client := clusterStore(t, c, queues.Options{Namespace: "moved"})
	ctx := t.Context()
	if err := senders.New(store, client).Register(ctx, "S", "http://worker"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Heartbeat(ctx, "P", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, store)
	l.takes(50)
	bound, err := store.Bind(ctx, bindOne)
	if err != nil || len(bound) != 1 {
		t.Fatalf("bound %v, %v", bound, err)
	}
	claimed := bound[0].Transaction
	from, to := c.Master("{moved}"), c.Other("{moved}")
	refused := 0
	c.Move("{moved}", from, to, func() {
		a := store.Enqueue(ctx, queues.Item{
			UID: fmt.Sprint("during", refused), Queue: "q", Type: vote, Data: json.RawMessage(`{}`),
		})
		if !errors.Is(a.Err, queues.ErrUnavailable) {
			t.Errorf("while the slot moves: %+v", a)
		}
		refused++
	})
	l.takes(50)
	after, err := store.Get(ctx, claimed.UID)
	if err != nil || after.Claim != claimed.Claim || after.Sequence != claimed.Sequence || after.Sender != claimed.Sender {
		t.Errorf("claimed as %+v, and then %+v, %v", claimed, after, err)
	}
	l.whole()
}

// TestSentinel: nothing that was taken is lost or there twice when the master that
// Sentinels watch is killed, hangs, or all servers are restarted one after the other.
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t)
	client := queues.NewClient(&redis.UniversalOptions{Addrs: w.Sentinels(), MasterName: redistest.MasterName})
	t.Cleanup(func() { _ = client.Close() })
	part := func(name string, run func(*testing.T, *load, *redistest.Server)) {
		t.Run(name, func(t *testing.T) {
			if name != "killed" {
				lane.All(t, "the client is told of another master, as where the master is killed")
			}
			store, err := queues.Open(client, queues.Options{Namespace: name})
			if err == nil {
				err = store.Check(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			l := startLoad(t, store)
			run(t, l, w.Master())
			w.Replicated()
			l.takes(20)
			l.whole()
		})
	}
	part("killed", func(_ *testing.T, l *load, master *redistest.Server) {
		l.fails(w.Replicated, master.Kill, func() { w.Succeed(master) })
		master.Restart()
	})
	part("paused", func(_ *testing.T, l *load, master *redistest.Server) {
		l.fails(w.Replicated, master.Pause, func() { w.Succeed(master) })
		master.Resume()
	})
	part("restarted", func(_ *testing.T, l *load, _ *redistest.Server) {
		for _, n := range w.Nodes {
			l.takes(20)
			n.Restart()
			w.Replicated()
		}
	})
}
