// Package harness is what the tests of the whole service share: Redis, the chain and the
// workers in one bubble of simulated time, and processes that run there and can be
// stopped, killed or cut off. The program contains none of it.
package harness

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// go-redis would write of each connection that a test breaks.
func init() { redis.SetLogger(quiet{}) }

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// A World is everything around the sequencers: Redis, a Mina node, workers.
type World struct {
	testing.TB
	Web      *Web
	Redis    *redistest.Embedded
	Net      *devnet.Network
	Workers  map[string]*devworker.Worker
	Store    *queues.Store
	Pool     *senders.Pool
	Policy   lifecycle.Policy
	Patience time.Duration // of a call to a node; 0 is the client's own
	Logger   *slog.Logger
	Ctx      context.Context
	Archive  bool // processes have one to ask
	Overlap  map[string]dispatcher.Mode
	// SimulateFirst are the types that are simulated before they are proved.
	SimulateFirst []string
	Again         int // the depth at which MINT is tried again, 0 for SETTLE_DEPTH
	Observe       func(before, after *tx.Transaction, s *lifecycle.Step)
	Meter         sequencer.Meter
}

// Slot is how long one is, as on Mina before the Mesa fork.
const Slot = 3 * time.Minute

// Policy is what tests run with that say nothing else.
func Policy() lifecycle.Policy {
	return lifecycle.Policy{
		CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Second, DispatchTimeout: 10 * time.Minute,
		CallbackWait: 2 * time.Minute, MaxRetries: 3, RetryDelay: time.Minute, RetryDelayMax: 10 * time.Minute,
		Confirmations: 1, SettleDepth: 5, Finality: 8, Fee: 100_000_000, FeeMax: 5_000_000_000, FeeBump: 1.5,
		BumpAfter: 5, ValidSlots: 40, UnresolvedLimit: 3, ClaimTTL: 15 * time.Second, Retention: 168 * time.Hour,
		ShutdownTimeout: 30 * time.Second, LedgerRetries: 3, LedgerDelay: 15 * time.Second,
	}
}

// PatientPolicy looks at everything less often, for tests of many hours.
func PatientPolicy() lifecycle.Policy {
	p := Policy()
	p.CycleInterval, p.InclusionInterval, p.ClaimTTL = 30*time.Second, 30*time.Second, 5*time.Minute
	return p
}

// New builds a world with its chain running, and Policy.
func New(tb testing.TB, c devnet.Config) *World {
	tb.Helper()
	return NewWith(tb, c, Policy())
}

// NewWith is New with another policy.
func NewWith(tb testing.TB, c devnet.Config, policy lifecycle.Policy) *World {
	tb.Helper()
	w := &World{
		TB: tb, Web: newWeb(), Redis: redistest.Mini(tb), Workers: map[string]*devworker.Worker{},
		Policy: policy, Logger: slog.New(slog.DiscardHandler), Ctx: tb.Context(),
	}
	if os.Getenv("VERBOSE") != "" {
		w.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if c.SlotTime == 0 {
		c.SlotTime = Slot
	}
	if c.K == 0 {
		c.K = 289 // not Mina's: so nobody can tell its era, and workers may be of any
	}
	c.FundAll = true
	network, err := devnet.New(c)
	w.OK(err)
	w.Net = network
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = network.Run(ctx) }()
	tb.Cleanup(func() { stop(); <-done })
	for i := range network.Nodes() {
		w.Web.Serve(tb, fmt.Sprintf("node%d", i), network.Node(i))
	}
	w.Store, w.Pool = w.Open(w.Redis.Client)
	return w
}

// OK ends the test at an error.
func (w *World) OK(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Open opens the store and the senders over a client of Redis.
func (w *World) Open(client *redis.Client) (*queues.Store, *senders.Pool) {
	store, err := queues.Open(client, queues.Options{
		Namespace: "test", Retention: w.Policy.Retention, UnresolvedLimit: w.Policy.UnresolvedLimit, Log: w.Logger})
	w.OK(err)
	return store, senders.New(store, client)
}

// Node is a client of the ith node.
func (w *World) Node(i int) *mina.Node { return w.NodeBy(i, w.Web.Dial) }

// NodeBy is a client of the ith node over a network of its own.
func (w *World) NodeBy(i int, dial func(context.Context, string, string) (net.Conn, error)) *mina.Node {
	return mina.NewNode(fmt.Sprintf("http://node%d/graphql", i), mina.NodeOptions{
		Timeout: w.Patience,
		Client:  &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}})
}

// Worker adds a sender with a simulated worker and returns both.
func (w *World) Worker(n uint64, o devworker.Options) (string, *devworker.Worker) {
	w.Helper()
	o.Account = devnet.Key(n)
	if o.Legacy && o.Send == nil {
		o.Send = w.Node(0).Send
	}
	if o.State == nil && w.Overlap["MINT"] == dispatcher.Chained {
		o.State = w.State
	}
	worker := devworker.New(o)
	host := fmt.Sprintf("worker%d", n)
	w.Web.Serve(w, host, worker)
	w.Workers[o.Account] = worker
	w.OK(w.Pool.Register(w.Ctx, o.Account, "http://"+host))
	return o.Account, worker
}

// State is the app state of an account, which workers of what is chained build upon.
func (w *World) State(_ context.Context, account string) ([]string, error) {
	a, _ := w.Net.Account(account)
	return a.State, nil
}

// Trains runs a test in a world where so many MINT of a queue may be in flight.
func Trains(t *testing.T, width int, c devnet.Config, test func(w *World)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := Policy()
		policy.Width = width
		w := NewWith(t, c, policy)
		w.Overlap = map[string]dispatcher.Mode{"MINT": dispatcher.Chained}
		test(w)
	})
}
