// Package demo runs the service with all that it needs inside: a store, Mina nodes, workers and
// ledgers, each simulated. It posts a voting round through the HTTP API, shows what becomes of
// it, and holds the ledger against what was posted.
package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/serve"
	"mina-sequencer/cmd/sequencer/settings"
)

// options say how the demo runs. Everything it waits for is measured in
// slots, so slot alone makes it slower or faster.
type options struct {
	addr string
	slot time.Duration
	log  string
	once bool
}

// longest is when a round that is still not DONE counts as failed.
const longest = 3 * time.Minute

// Command is `sequencer demo`.
func Command(a *command.App) *cobra.Command {
	f := options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything embedded, with a voting round to look at",
		Long: `Runs the service with all that it needs inside: a store, three simulated Mina
nodes and four simulated workers, one of them legacy. It posts a voting round
through the HTTP API: all five types, over more queues than senders, with a few
mishaps on the way. When all of it is DONE it checks the simulated ledger, sums
up, and keeps serving until interrupted.

Settings may be given as for 'serve', SEQUENCER_FEE for one; nodes, senders,
workers and keys are always the demo's own, and no webhook is sent. With
SEQUENCER_REDIS_URL the store is that Redis, under a namespace demo-… that no
other run uses and that stays.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.slot < 20*time.Millisecond || f.slot > 10*time.Second {
				return command.Usagef("--slot wants a duration from 20ms to 10s")
			}
			return run(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", cmp.Or(a.Env["SEQUENCER_ADDR"], "127.0.0.1:8080"), "listen address; if it is taken, a free port")
	flags.DurationVar(&f.slot, "slot", 400*time.Millisecond, "length of a slot of the simulated chain, the measure of all waits")
	flags.StringVar(&f.log, "log", "", "file to write the service's log to; without it only warnings are shown")
	flags.BoolVar(&f.once, "once", false, "end when all is DONE, with an error if that does not come about")
	return cmd
}

// run is the demo from its first port to its last.
func run(ctx context.Context, a *command.App, f options) (err error) {
	feed := &feed{}
	world, err := newWorld(ctx, f.slot, feed)
	if err != nil {
		return err
	}
	defer world.stop()
	cfg, warnings, err := settings.Load(ctx, world.environment(a.Env, f))
	if err != nil {
		return err
	}
	log := slog.New(feed)
	if f.log != "" {
		file, err := os.OpenFile(f.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return command.Usagef("--log: %w", err)
		}
		defer func() { _ = file.Close() }()
		log = slog.New(slog.NewMultiHandler(feed, serve.NewLogger(file, cfg.Log).Handler()))
	}
	for _, w := range warnings {
		log.Warn(w) //nolint:sloglint // the warnings are sentences
	}
	redis, disconnect, err := serve.Connect(cfg)
	if err != nil {
		return err
	}
	defer disconnect()
	s, err := serve.New(serve.Options{Settings: cfg, Redis: redis, Version: a.Version, Commit: a.Commit, Log: log})
	if err != nil {
		return err
	}
	l, err := listenNear(ctx, cfg.HTTP.Addr, feed)
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		_ = l.Close()
		if ctx.Err() != nil {
			return interrupted(f.once)
		}
		return err
	}
	api, err := newClient(a, l.Addr())
	if err != nil {
		_ = l.Close()
		return err
	}
	defer api.Close()

	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- s.Run(ctx, l)
	}()
	defer func() {
		cancel()
		err = errors.Join(err, <-served)
	}()
	return newRound(a, api, world, feed, cfg.Redis.Namespace).show(ctx, f.once)
}

// interrupted is how a demo ends that is stopped: as it should, unless the round
// was to come to its end.
func interrupted(once bool) error {
	if once {
		return command.ExitWith(command.ExitInterrupted, "stopped before the round was over")
	}
	return nil
}

// listenNear listens on addr or, where that cannot be had, on a free port of
// the same host.
func listenNear(ctx context.Context, addr string, feed *feed) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err == nil {
		return l, nil
	}
	host, _, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	l, again := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if again != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	feed.add(board.Event{Extra: fmt.Sprintf("%s cannot be had, so the API is at %s", addr, l.Addr())})
	return l, nil
}

// newClient asks the demo's own service. A key in the environment belongs to another one.
func newClient(a *command.App, at net.Addr) (*client.Client, error) {
	return client.New(client.Options{URL: "http://" + at.String(), Timeout: 10 * time.Second, Retries: -1, Backoff: a.Poll})
}

// environment puts the demo's defaults under env, and over it what must never
// reach beyond the demo: no setting can lead it to real nodes or real keys.
func (w *world) environment(env map[string]string, f options) map[string]string {
	all := map[string]string{
		"SEQUENCER_CYCLE_INTERVAL":     f.slot.String(),
		"SEQUENCER_INCLUSION_INTERVAL": (f.slot / 4).String(),
		"SEQUENCER_DISPATCH_TIMEOUT":   (40 * f.slot).String(),
		"SEQUENCER_CALLBACK_WAIT":      (10 * f.slot).String(),
		"SEQUENCER_RETRY_DELAY":        f.slot.String(),
		"SEQUENCER_SETTLE_DEPTH":       "3",
		"SEQUENCER_FINALITY":           "5",
		"SEQUENCER_SHUTDOWN_TIMEOUT":   "1s",
	}
	for name, value := range env {
		if value != "" {
			all[name] = value
		}
	}
	var senders []string
	for _, s := range w.senders {
		senders = append(senders, s.AccountID+"="+s.WorkerURL)
	}
	own := map[string]string{
		"SEQUENCER_ADDR":          f.addr,
		"SEQUENCER_MINA_URL":      strings.Join(w.nodes, ","),
		"SEQUENCER_MINA_QUORUM":   "",
		"SEQUENCER_ARCHIVE_URL":   "",
		"SEQUENCER_SENDERS":       strings.Join(senders, ","),
		"SEQUENCER_LEDGERS":       w.ledgersAt,
		"SEQUENCER_LEDGER_SLOTS":  strconv.Itoa(slotCount),
		"SEQUENCER_LEDGER_AUTH":   "",
		"SEQUENCER_WORKER_TOKEN":  w.token,
		"SEQUENCER_TYPES":         "",
		"SEQUENCER_API_KEYS":      "",
		"SEQUENCER_WEBHOOKS_FILE": "",
		"SEQUENCER_INSECURE":      "",
		"SEQUENCER_RATE_LIMIT":    "",
		"SEQUENCER_TLS_CERT":      "",
		"SEQUENCER_TLS_KEY":       "",
		"SEQUENCER_EXPLORER_URL":  "",
		"SEQUENCER_NAMESPACE":     "demo-" + strings.ToLower(rand.Text()[:10]),
	}
	for name, value := range own {
		all[name] = value
		delete(all, name+settings.FileSuffix)
	}
	return all
}
