package sequencer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
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
	"mina-sequencer/sequencer/lifecycle"
)

// A web is a network of HTTP servers without sockets, so that the whole service
// runs in one synctest bubble: a host name leads to a handler.
type web struct {
	mu    sync.Mutex
	hosts map[string]*pipeListener
	down  map[string]bool
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func newWeb() *web { return &web{hosts: map[string]*pipeListener{}, down: map[string]bool{}} }

// serve serves a handler at http://host until the test ends.
func (w *web) serve(tb testing.TB, host string, handler http.Handler) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	w.mu.Lock()
	w.hosts[host+":80"] = l
	w.mu.Unlock()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	tb.Cleanup(func() { _ = server.Close(); <-ended })
}

// unplug makes a host unreachable, or reachable again.
func (w *web) unplug(host string, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[host+":80"] = down
}

func (w *web) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	l, down := w.hosts[addr], w.down[addr]
	w.mu.Unlock()
	if l == nil || down {
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A world is everything around the sequencers: Redis, a Mina node, workers.
type world struct {
	testing.TB
	web      *web
	redis    *redistest.Embedded
	net      *devnet.Network
	workers  map[string]*devworker.Worker
	store    *queues.Store
	pool     *senders.Pool
	policy   lifecycle.Policy
	patience time.Duration // of a call to a node; 0 is the client's own
	log      *slog.Logger
	ctx      context.Context
	archive  bool // processes have one to ask
	overlap  map[string]dispatcher.Mode
	again    int // the depth at which MINT is tried again, 0 for SETTLE_DEPTH
	observe  func(before, after *lifecycle.Transaction, s *lifecycle.Step)
	meter    sequencer.Meter
}

const slot = 3 * time.Minute // as on Mina before the Mesa fork

func testPolicy() lifecycle.Policy {
	return lifecycle.Policy{
		CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Second, DispatchTimeout: 10 * time.Minute,
		CallbackWait: 2 * time.Minute, MaxRetries: 3, RetryDelay: time.Minute, RetryDelayMax: 10 * time.Minute,
		Confirmations: 1, SettleDepth: 5, Finality: 8, Fee: 100_000_000, FeeMax: 5_000_000_000, FeeBump: 1.5,
		BumpAfter: 5, ValidSlots: 40, UnresolvedLimit: 3, ClaimTTL: 15 * time.Second, Retention: 168 * time.Hour,
		ShutdownTimeout: 30 * time.Second,
	}
}

// patientPolicy looks at everything less often, for tests of many hours.
func patientPolicy() lifecycle.Policy {
	p := testPolicy()
	p.CycleInterval, p.InclusionInterval, p.ClaimTTL = 30*time.Second, 30*time.Second, 5*time.Minute
	return p
}

// newWorld builds a world with its chain running.
func newWorld(tb testing.TB, c devnet.Config) *world {
	tb.Helper()
	return newWorldWith(tb, c, testPolicy())
}

func newWorldWith(tb testing.TB, c devnet.Config, policy lifecycle.Policy) *world {
	tb.Helper()
	w := &world{
		TB: tb, web: newWeb(), redis: redistest.Mini(tb), workers: map[string]*devworker.Worker{},
		policy: policy, log: slog.New(slog.DiscardHandler), ctx: tb.Context(),
	}
	if os.Getenv("VERBOSE") != "" {
		w.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if c.SlotTime == 0 {
		c.SlotTime = slot
	}
	c.FundAll = true
	network, err := devnet.New(c)
	w.ok(err)
	w.net = network
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = network.Run(ctx) }()
	tb.Cleanup(func() { stop(); <-done })
	for i := range network.Nodes() {
		w.web.serve(tb, fmt.Sprintf("node%d", i), network.Node(i))
	}
	w.store, w.pool = w.open(w.redis.Client)
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open(client *redis.Client) (*queues.Store, *senders.Pool) {
	store, err := queues.Open(client, queues.Options{
		Namespace: "test", Retention: w.policy.Retention, UnresolvedLimit: w.policy.UnresolvedLimit, Log: w.log})
	w.ok(err)
	return store, senders.New(store, client)
}

// node is a client of the ith node.
func (w *world) node(i int) *mina.Node { return w.nodeBy(i, w.web.dial) }

func (w *world) nodeBy(i int, dial func(context.Context, string, string) (net.Conn, error)) *mina.Node {
	return mina.NewNode(fmt.Sprintf("http://node%d/graphql", i), mina.NodeOptions{
		Timeout: w.patience,
		Client:  &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}})
}

// worker adds a sender with a simulated worker and returns both.
func (w *world) worker(n uint64, o devworker.Options) (string, *devworker.Worker) {
	w.Helper()
	o.Account = devnet.Key(n)
	if o.Legacy && o.Send == nil {
		o.Send = w.node(0).Send
	}
	if o.State == nil && w.overlap["MINT"] == dispatcher.Chained {
		o.State = w.state
	}
	worker := devworker.New(o)
	host := fmt.Sprintf("worker%d", n)
	w.web.serve(w, host, worker)
	w.workers[o.Account] = worker
	w.ok(w.pool.Register(w.ctx, o.Account, "http://"+host))
	return o.Account, worker
}

// state is the app state of an account, which workers of what is chained build upon.
func (w *world) state(_ context.Context, account string) ([]string, error) {
	a, _ := w.net.Account(account)
	return a.State, nil
}

// A process is one running sequencer.
type process struct {
	*sequencer.Sequencer
	store *queues.Store
	pool  *senders.Pool
	types *dispatcher.Registry
	stop  func()
	kill  func()
	done  chan struct{}
	cut   atomic.Bool // its network is gone
}

// Links are how a process reaches the world, and what is told of its end.
type links struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	redis *redis.Client
	ended func(error)
	local map[string]string // where workers listen that run with the process, by account
}

// start runs a sequencer until the test ends, stop or kill.
func (w *world) start() *process {
	w.Helper()
	return w.launch(links{dial: w.web.dial, redis: w.redis.NewClient(), ended: func(err error) {
		if err != nil {
			w.Errorf("run: %v", err)
		}
	}})
}

// launch starts a sequencer that reaches the world over the links given.
func (w *world) launch(l links) *process {
	w.Helper()
	p := w.process(l)
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = func() { cancel(); <-p.done }
	p.kill = func() {
		p.cut.Store(true)
		_ = l.redis.Close()
		cancel()
	}
	go func() {
		defer close(p.done)
		l.ended(p.Run(ctx))
	}()
	w.Cleanup(p.stop)
	return p
}

// process builds one that is not running.
func (w *world) process(l links) *process {
	w.Helper()
	p := &process{done: make(chan struct{}), types: new(dispatcher.Registry)}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if p.cut.Load() {
			return nil, errors.New("this process is dead")
		}
		return l.dial(ctx, network, addr)
	}
	client := dispatcher.NewClient(
		dispatcher.ClientOptions{Dial: dial, Timeout: w.policy.DispatchTimeout, Local: dispatcher.LocalWorkers{
			Find: func(account string) (string, time.Duration, bool) { url, ok := l.local[account]; return url, 0, ok },
		}},
	)
	w.ok(p.types.Register(dispatcher.NewRemote(client, "MINT", nil).SettledAt(w.again), dispatcher.NewRemote(client, "BURN", nil),
		dispatcher.NewRemote(client, "ONCE", nil).SettledAt(2)))
	w.ok(p.types.SetOverlap(w.overlap))
	var nodes []*mina.Node
	for i := range w.net.Nodes() {
		nodes = append(nodes, w.nodeBy(i, dial))
	}
	var archive *mina.Archive
	if w.archive {
		archive = mina.NewArchive("http://node0/archive", mina.NodeOptions{
			Client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}})
	}
	p.store, p.pool = w.open(l.redis)
	p.Sequencer = sequencer.New(sequencer.Options{
		Store: p.store, Senders: p.pool, Types: p.types, Namespace: "test", Policy: w.policy, Log: w.log, Observe: w.observe,
		Meter: w.meter,
		Chain: mina.NewTracker(
			mina.TrackerOptions{Nodes: nodes, Archive: archive, Depth: max(w.policy.SettleDepth, w.policy.Finality)},
		),
		Health: client.Health, Local: func() []string { return slices.Sorted(maps.Keys(l.local)) },
	})
	return p
}

func (w *world) post(queue, uid string) { w.Helper(); w.postType("MINT", queue, uid) }

func (w *world) postType(typ, queue, uid string) {
	w.Helper()
	w.ok(w.store.Enqueue(w.ctx, queues.Item{UID: uid, Queue: queue, Type: typ, Data: json.RawMessage(`{"n":1}`)}).Err)
}

func (w *world) get(uid string) *lifecycle.Transaction {
	w.Helper()
	t, err := w.store.Get(w.ctx, uid)
	w.ok(err)
	return t
}

// await waits until a transaction has a state, at most limit of simulated time.
func (w *world) await(uid string, state lifecycle.State, limit time.Duration) *lifecycle.Transaction {
	w.Helper()
	return w.awaitTxn(uid, string(state), limit, func(t *lifecycle.Transaction) bool { return t.State() == state })
}

func (w *world) awaitTxn(uid, what string, limit time.Duration,
	until func(*lifecycle.Transaction) bool) *lifecycle.Transaction {
	w.Helper()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if t := w.get(uid); until(t) {
			return t
		}
	}
	t := w.get(uid)
	b, _ := json.MarshalIndent(t, "", "  ")
	w.Fatalf("%s is %s after %v, not %s\n%s", uid, t.Phase, limit, what, b)
	return nil
}

// effects lists the uids of what took effect on the chain, in order.
func (w *world) effects(uids ...string) []string {
	names := map[string]string{}
	for _, uid := range uids {
		names[lifecycle.Memo("test", uid)] = uid
	}
	var out []string
	for _, e := range w.net.Effects() {
		if uid := names[e.Memo]; uid != "" && e.OK {
			out = append(out, uid)
		}
	}
	return out
}

// stranger sends a command of an account that no transaction asked for.
func stranger(w *world, account string, nonce uint32, fee uint64) {
	w.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: account, Nonce: nonce, Fee: fee, Memo: "a stranger's"})
	w.ok(err)
	_, err = w.node(0).Send(w.ctx, command)
	w.ok(err)
}

// flood fills the pool with commands of many accounts that pay fee.
func flood(w *world, first uint64, count int, fee uint64) {
	w.Helper()
	for i := range uint64(count) {
		stranger(w, devnet.Key(first+i), 0, fee)
	}
}
