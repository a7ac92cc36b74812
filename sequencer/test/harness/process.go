package harness

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
)

// ErrDead is what a process meets that was killed.
var ErrDead = errors.New("this process is dead")

// A Process is one running sequencer.
type Process struct {
	*sequencer.Sequencer
	Store *queues.Store
	Pool  *senders.Pool
	// Provers are the pool that it has proofs made by where a sender's worker only signs.
	Provers *provers.Pool
	Types   *dispatcher.Registry
	Stop    func()
	Kill    func()
	done    chan struct{}
	hooks   provers.Hooks
	Cut     atomic.Bool // its network is gone
}

// Links are how a process reaches the world, and what is told of its end.
type Links struct {
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Redis *redis.Client
	Ended func(error)
	Local map[string]string // where workers listen that run with the process, by account
}

// Start runs a sequencer until the test ends, Stop or Kill.
func (w *World) Start() *Process {
	w.Helper()
	return w.Launch(Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient(), Ended: func(err error) {
		if err != nil {
			w.Errorf("run: %v", err)
		}
	}})
}

// Launch starts a sequencer that reaches the world over the links given.
func (w *World) Launch(l Links) *Process {
	w.Helper()
	p := w.Process(l)
	ctx, cancel := context.WithCancel(context.Background())
	p.Stop = func() {
		cancel()
		select {
		case <-p.done:
		case <-time.After(time.Hour): // nothing would end: the chain goes on for ever
			panic(w.Name() + ": a process was told to end an hour ago, and has not")
		}
	}
	p.Kill = func() {
		p.Cut.Store(true)
		_ = l.Redis.Close()
		cancel()
	}
	go func() {
		defer close(p.done)
		pooled := make(chan struct{})
		pool, end := context.WithCancel(ctx)
		go func() { defer close(pooled); p.Provers.Run(pool, p.hooks) }()
		err := p.Run(ctx)
		end()
		<-pooled
		l.Ended(err)
	}()
	w.Cleanup(p.Stop)
	return p
}

// Process builds one that is not running.
func (w *World) Process(l Links) *Process {
	w.Helper()
	p := &Process{done: make(chan struct{}), Types: new(dispatcher.Registry)}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if p.Cut.Load() {
			return nil, ErrDead
		}
		return l.Dial(ctx, network, addr)
	}
	p.Store, p.Pool = w.Open(l.Redis)
	p.Provers = provers.New(provers.Options{Store: p.Store, Pause: w.Policy.Pause, Log: w.Logger})
	p.Store.Pooled = p.Provers.Changed
	client := dispatcher.NewClient(
		dispatcher.ClientOptions{Dial: dial, Timeout: w.Policy.DispatchTimeout, Local: dispatcher.LocalWorkers{
			Find: func(account string) (string, time.Duration, bool) { url, ok := l.Local[account]; return url, 0, ok },
		}, Provers: p.Provers, DecodeMemo: mina.DecodeMemo},
	)
	p.hooks.Ask = client.Word
	w.OK(p.Types.Register(dispatcher.NewRemote(client, "MINT", nil).SettledAt(w.Again),
		dispatcher.NewRemote(client, "BURN", nil),
		dispatcher.NewRemote(client, "ONCE", nil).SettledAt(2)))
	w.OK(p.Types.SetOverlap(w.Overlap))
	var nodes []*mina.Node
	for i := range w.Net.Nodes() {
		nodes = append(nodes, w.NodeBy(i, dial))
	}
	var archive *mina.Archive
	if w.Archive {
		archive = mina.NewArchive("http://node0/archive", mina.NodeOptions{
			Client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}})
	}
	p.Sequencer = sequencer.New(sequencer.Options{
		Store: p.Store, Senders: p.Pool, Types: p.Types, Namespace: "test", Policy: w.Policy,
		Log: w.Logger, Observe: w.Observe, Meter: w.Meter,
		Chain: mina.NewTracker(
			mina.TrackerOptions{Nodes: nodes, Archive: archive, Depth: max(w.Policy.SettleDepth, w.Policy.Finality)},
		),
		Health: client.Health, Waits: p.Provers.Waits, Reaches: client.Reaches, SimulateFirst: w.SimulateFirst,
		Local: func() []string { return slices.Sorted(maps.Keys(l.Local)) },
	})
	p.hooks.Wrong = p.WrongProver
	p.Pool.SetHost(senders.Host{Process: p.Process()})
	return p
}

// Until waits so long, or until a context is done.
func Until(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
