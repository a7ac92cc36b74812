// Package serve is the service: it wires the parts together, serves the API, and stops all of
// it in order. It holds what a running process has of its own, too: its log, its certificate,
// secrets that change, the manager that has started it, the first process of a container.
// The demo runs a service in itself; for its log the simulated networks use it.
package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/metrics/traces"
)

// Command is `sequencer serve`.
func Command(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and run the queues",
		Long: `Serves the HTTP API and runs the queues until interrupted. It is configured by
environment variables only, see docs/configuration.md; SEQUENCER_MINA_URL is the
one that has no default.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), a) },
	}
}

func serve(ctx context.Context, a *command.App) error {
	cfg, warnings, err := settings.Load(ctx, a.Env)
	if err != nil {
		return err
	}
	log := NewLogger(a.Stderr, cfg.Log)
	LogRedis(log)
	if _, set := a.Env["GOGC"]; !set {
		// The heap of a sequencer is small: with the default it would be
		// collected many times a second under load.
		debug.SetGCPercent(800)
	}
	if _, set := a.Env["GOMAXPROCS"]; !set {
		// Redis beside it wants a core, and the scheduler would look for work on
		// that one, too, each time that it waits for Redis.
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)-1))
	}
	for _, w := range warnings {
		log.Warn(w) //nolint:sloglint // the warnings are sentences
	}
	client, disconnect, err := Connect(cfg)
	if err != nil {
		return err
	}
	defer disconnect()
	if cfg.Redis.URL.Options() == nil {
		log.Warn("no SEQUENCER_REDIS_URL: the store is embedded, and all of it is gone when this process ends")
	}
	followed, stop, err := follow(ctx, a, log)
	if err != nil {
		return err
	}
	defer stop()
	s, err := New(Options{Settings: cfg, Redis: client, Traces: followed, Version: a.Version, Commit: a.Commit, Log: log})
	if err != nil {
		return err
	}
	// Bound first, so that a port in use is an error of the start.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Addr)
	if err != nil {
		return fmt.Errorf("listening on SEQUENCER_ADDR: %w", err)
	}
	if err := s.Start(ctx); err != nil {
		_ = l.Close()
		return cfg.Redis.Blame(err)
	}
	log.Info("serving", "addr", l.Addr().String(), "config", cfg)
	err = s.Run(ctx, l)
	log.Info("stopped")
	return err
}

// Connect returns a client of the configured Redis, or of an embedded one that
// lives as long as the process.
func Connect(cfg settings.Config) (client redis.UniversalClient, disconnect func(), err error) {
	if client = cfg.Redis.Client(); client != nil {
		return client, func() { _ = client.Close() }, nil
	}
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, nil, fmt.Errorf("starting the embedded store: %w", err)
	}
	client = redis.NewClient(&redis.Options{Addr: mini.Addr()})
	return client, func() {
		_ = client.Close()
		mini.Close()
	}, nil
}

// follow begins to tell a collector of transactions, if the environment names one; stop
// tells it the rest.
func follow(ctx context.Context, a *command.App, log *slog.Logger) (followed *traces.Traces, stop func(), err error) {
	wanted, err := traces.Wanted(a.Env)
	if err != nil {
		return nil, nil, command.Usage(err)
	}
	if !wanted {
		return nil, func() {}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces were not told", "err", err) }))
	if followed, err = traces.New(ctx, a.Env, a.Version); err != nil {
		return nil, nil, command.Usage(err)
	}
	return followed, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := followed.Stop(ctx); err != nil {
			log.Warn("the last traces were not told", "err", err)
		}
	}, nil
}
