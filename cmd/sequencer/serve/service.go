package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/dispatcher"
	"mina-sequencer/metrics"
	"mina-sequencer/metrics/traces"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/local"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/webhooks"
)

// A Service is everything that one process runs, wired together. It is started once, then run
// once.
type Service struct {
	cfg        settings.Config
	log        *slog.Logger
	store      *queues.Store
	storeWatch *storeWatch
	history    *metrics.Recorder
	senders    *senders.Pool
	provers    *provers.Pool
	chain      *mina.Tracker
	sequencer  *sequencer.Sequencer
	local      *local.Workers
	webhooks   *webhooks.Service
	workers    *dispatcher.Client
	// showLedgers replaces what the ledgers are shown of us.
	showLedgers func(auth string) error
	keys        *api.Keyring
	handler     http.Handler
	// certificate is nil where HTTP is served without TLS.
	certificate *certificate
}

// Options are what a service is made of.
type Options struct {
	Settings        settings.Config
	Redis           redis.UniversalClient
	Traces          *traces.Traces // is told what becomes of transactions; may be nil
	Version, Commit string         // of the program, for the metrics
	Log             *slog.Logger
}

// New wires a service; nothing runs before run.
func New(p Options) (*Service, error) {
	cfg, client, followed, log := p.Settings, p.Redis, p.Traces, p.Log
	keys := api.NewKeyring(cfg.HTTP.APIKeys.Keys())
	figures := metrics.New(metrics.Options{
		Beginning: keys.Beginning,
		Version:   p.Version, Commit: p.Commit, MinBalance: cfg.LeastBalance(),
		FeeLimitSender: uint64(cfg.Fee.LimitSender), FeeLimit: uint64(cfg.Fee.Limit),
		FeeLimitQueue: uint64(cfg.Fee.LimitQueue), FeeLimitKey: uint64(cfg.Fee.LimitKey),
	})
	store, err := queues.Open(client, queues.Options{
		Observe:   figures.Script,
		Namespace: cfg.Redis.Namespace, Retention: cfg.Keep.Retention, EventsKeep: cfg.Keep.Events,
		MaxWaiting: cfg.Keep.MaxWaiting, MaxWaitingInAll: cfg.Keep.MaxWaitingInAll, Replicas: int(cfg.Redis.Wait), UnresolvedLimit: cfg.Retry.UnresolvedLimit, Log: log,
	})
	if err != nil {
		return nil, err
	}
	children := local.New(local.Options{
		Commands: cfg.Senders.File.Commands, Token: cfg.Senders.WorkerToken, Patience: cfg.Cycle.DispatchTimeout,
		Dir: cfg.Senders.Records(cfg.Redis.Namespace), Changed: store.Signal, Log: log,
	})
	policy := cfg.Policy()
	pool := provers.New(provers.Options{Store: store, Pause: policy.Pause, Log: log})
	store.Pooled = pool.Changed
	workers := dispatcher.NewClient(dispatcher.ClientOptions{
		Token: cfg.Senders.WorkerToken, Timeout: cfg.Cycle.DispatchTimeout,
		Trace: traces.Parent, Provers: pool, DecodeMemo: mina.DecodeMemo,
		Local: dispatcher.LocalWorkers{Find: children.Find, Hung: children.Hung, Token: cfg.Senders.WorkerToken},
	})
	types, err := cfg.Registry(workers)
	if err != nil {
		return nil, err
	}
	ledgers, showLedgers, err := cfg.Ledgers.Open()
	if err != nil {
		return nil, err
	}
	var nodes []*mina.Node
	for _, u := range cfg.Mina.URLs {
		nodes = append(nodes, mina.NewNode(u, mina.NodeOptions{Timeout: cfg.Mina.Timeout}))
	}
	var archive *mina.Archive
	if len(cfg.Mina.ArchiveURL) > 0 {
		archive = mina.NewArchive(cfg.Mina.ArchiveURL[0], mina.NodeOptions{Timeout: cfg.Mina.Timeout})
	}
	cert, err := newCertificate(cfg.HTTP.TLSCert, cfg.HTTP.TLSKey, log)
	if err != nil {
		return nil, fmt.Errorf("SEQUENCER_TLS_CERT: %w", err)
	}
	s := &Service{cfg: cfg, log: log, certificate: cert, store: store, senders: senders.New(store, client), provers: pool, local: children, workers: workers, showLedgers: showLedgers}
	s.storeWatch, s.history = &storeWatch{log: log}, metrics.NewRecorder(store, log)
	if cfg.Redis.URL.Options() != nil {
		s.storeWatch.store = store
	}
	s.chain = mina.NewTracker(mina.TrackerOptions{
		Nodes: nodes, Quorum: cfg.Mina.Quorum, Archive: archive,
		Depth: max(cfg.Depth.Confirmations, cfg.Depth.Settle, cfg.Depth.Finality),
	})
	s.sequencer = sequencer.New(sequencer.Options{
		Store: store, Senders: s.senders, Chain: s.chain, Types: types, Ledgers: ledgers, Dispatch: []string(cfg.Types.Types), SimulateFirst: cfg.Types.Simulate, Local: children.Ready,
		Health: workers.Health, Waits: pool.Waits, Reaches: workers.Reaches, Namespace: cfg.Redis.Namespace, Policy: policy, Meter: s.history.Sequencer(figures.Sequencer()), Tracer: followed.Sequencer(), Log: log,
	})
	s.senders.SetHost(senders.Host{
		Process: s.sequencer.Process(), Down: children.Down, SlotsOnly: cfg.Types.OnlyBatches(),
	})
	s.webhooks = webhooks.New(webhooks.Options{
		Store: store, Process: s.sequencer.Process(), Render: api.Webhook(hosts(cfg)...), Now: s.sequencer.Now, Private: cfg.Webhook.Private, Lease: cfg.Claim.TTL,
		Keep: cfg.Keep.Events, Meter: figures.Webhook, Log: log,
	})
	s.webhooks.Define(cfg.Webhook.File.Entries)
	s.keys = keys
	figures.Watch(metrics.Sources{Store: store, Senders: s.senders, Provers: pool, Chain: s.chain, Sequencer: s.sequencer, Webhooks: s.webhooks, Types: types.Types(), StoreFaults: s.storeWatch.faults, Log: log})
	s.handler = api.New(api.Options{
		Store: store, Senders: s.senders, Provers: pool, Types: types, Control: s.sequencer, Webhooks: s.webhooks,
		ValidKey: func(key string) error { _, err := mina.ParsePublicKey(key); return err }, Ready: s.ready, Keys: s.keys, Meter: s.history.API(figures.API()), Tracer: followed.API(), Metrics: figures.Handler(),
		Rate: rate(cfg), Origins: cfg.HTTP.CORSOrigins, Loopback: !cfg.HTTP.Insecure,
		Recovering: s.sequencer.Recovering, Troubles: s.troubles, Chain: s.chainShown, Ledgers: s.ledgersShown, Batch: s.sequencer.Batch, Fees: s.sequencer.Fees, Explorer: string(cfg.HTTP.Explorer),
		BodyLimit: int64(cfg.HTTP.BodyLimit), BatchLimit: int64(cfg.HTTP.BatchLimit), Log: log,
		Width: cfg.Types.Width, Hosts: hosts(cfg), BlockZkapps: cfg.Fee.BlockZkapps, Simulate: s.sequencer.Simulate,
	})
	return s, nil
}

// hosts are those that a process with these settings talks to.
func hosts(cfg settings.Config) (all []string) {
	if o := cfg.Redis.URL.Options(); o != nil {
		all = append(all, o.Addrs...)
	}
	urls := slices.Concat(cfg.Mina.URLs, cfg.Mina.ArchiveURL)
	for _, l := range cfg.Ledgers.Targets {
		urls = append(urls, l.URL)
	}
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			all = append(all, u.Host)
		}
	}
	return all
}

// rate lets what ten seconds allow come at once, so that a page can load and a
// job begin.
func rate(cfg settings.Config) queues.Rate {
	return queues.Rate{PerSecond: float64(cfg.HTTP.RateLimit), Burst: 10 * cfg.HTTP.RateLimit}
}

// chainShown is the chain as the overview shows it. While nothing is under way
// nobody else asks the nodes; then they are asked once a minute.
func (s *Service) chainShown(ctx context.Context) *api.Chain {
	if !s.chain.Any() {
		return nil
	}
	c := s.chain.Chain()
	if c.At.IsZero() || time.Since(c.At) > time.Minute {
		c = s.chain.Poll(ctx)
	}
	shown := api.Chain{
		OK: c.Quorum, Synced: c.Synced, Nodes: len(s.cfg.Mina.URLs), Height: c.Height, TipSlot: c.TipSlot, Slot: c.Slot,
		SlotTime: c.SlotTime, Network: c.NetworkID, At: c.At,
	}
	switch {
	case c.Err != nil:
		shown.Detail = c.Err.Error()
	case len(c.Lost) > 0:
		shown.Detail = errors.Join(c.Lost...).Error()
	}
	return &shown
}

// ledgersShown are the ledgers as the overview shows them. None is waited for.
func (s *Service) ledgersShown() []api.Ledger {
	var shown []api.Ledger
	for _, x := range s.sequencer.Ledgers() {
		shown = append(shown, api.Ledger{Name: x.Name, Asked: x.Asked, OK: x.OK, Detail: x.Detail})
	}
	return shown
}

// Start checks the store and brings the configured senders into the pool.
func (s *Service) Start(ctx context.Context) error {
	// The embedded store never evicts, and cannot be asked.
	if s.cfg.Redis.URL.Options() != nil {
		if err := s.store.Check(ctx); err != nil {
			return err
		}
		if err := s.store.Relist(ctx); err != nil {
			return err
		}
		if err := s.storeWatch.start(ctx); err != nil {
			return err
		}
	}
	// Others must know this process before they see what it alone can call.
	if _, err := s.store.Heartbeat(ctx, s.sequencer.Process(), s.cfg.Claim.TTL, ""); err != nil {
		return err
	}
	workers := s.cfg.Ledgers.Senders()
	for _, e := range s.cfg.Senders.All() {
		workers[e.AccountID] = e.WorkerURL
	}
	if err := s.senders.Configure(ctx, workers); err != nil {
		return err
	}
	if s.cfg.Types.OnlyBatches() {
		return nil // it has no use for provers, and leaves those alone that others have named
	}
	return s.provers.Configure(ctx, s.cfg.Provers.All())
}

// Run serves and drives transactions until ctx ends, and then drains: nothing new is
// begun at once, what runs gets the shutdown timeout, and requests are served for the
// shutdown delay before they get it, too.
func (s *Service) Run(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := api.NewServer(l.Addr().String(), s.handler)
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug) // whatever strangers send
	var parts, children sync.WaitGroup
	errs := make(chan error, 3)
	broken, fail := context.WithCancel(context.WithoutCancel(ctx))
	defer fail()
	failed := func(err error) {
		errs <- err
		fail()
		cancel()
	}
	// What runs at the end needs its workers until it has ended.
	needed, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	files := s.secretFiles()
	children.Go(func() { watchSecrets(needed, files, s.log) })
	children.Go(func() {
		if err := s.local.Run(needed); err != nil {
			failed(err)
		}
	})
	parts.Go(func() {
		if err := s.sequencer.Run(ctx); err != nil {
			failed(err)
		}
	})
	children.Go(func() { s.provers.Run(needed, provers.Hooks{Ask: s.workers.Word, Wrong: s.sequencer.WrongProver}) })
	parts.Go(func() { s.webhooks.Run(ctx) })
	parts.Go(func() { s.storeWatch.run(ctx, time.Tick(storeLook)) })
	parts.Go(func() { s.history.Run(ctx, time.Tick(time.Minute)) })
	parts.Go(func() {
		if err := serveOn(server, l, s.certificate); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serving: %w", err))
		}
	})
	s.tellManager(daemon.SdNotifyReady)
	go s.beat(needed, s.soundAt(ctx, l.Addr())) // nobody waits for a manager that does not listen
	<-ctx.Done()
	s.tellEnding()
	s.sendAway(broken, server)
	parts.Wait()
	leave()
	children.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// sendAway ends the server: others are asked first, and then nobody is heard any more.
// What has failed is not waited for.
func (s *Service) sendAway(broken context.Context, server *api.Server) {
	server.Leave()
	if delay := s.cfg.HTTP.ShutdownDelay; delay > 0 {
		s.log.Info("ending", "served_for", delay)
		select {
		case <-time.After(delay):
		case <-broken.Done():
		}
	}
	stop, done := context.WithTimeout(context.Background(), max(s.cfg.HTTP.ShutdownTimeout, time.Second))
	defer done()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close()
	}
}
