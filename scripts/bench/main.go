// Bench measures what the service costs, each figure against a limit that is
// measured beside it in the same run: how fast a bare HTTP handler or a plain
// Redis write is on this machine, now. It prints one table.
//
// What runs where: redis-server, the service (cmd/sequencer, built and started
// as users run it), the bare handler, and the chain with the workers are each a
// process of their own; this process generates the load of figures 1 to 3 and 7. The
// service and its limit take turns, so that what else the machine does falls on
// both alike, and medians are compared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
)

// A row is one line of the table.
type row struct {
	name        string
	ours, limit string
	ratio, want string
	reached     bool
}

// A figure is measured on a fresh Redis.
type figure struct {
	name    string // what -run is matched with, and profiles are called
	measure func(b *bench, ctx context.Context) ([]row, error)
}

func figures() []figure {
	return []figure{
		{"1-post", (*bench).posts},
		{"2-batch", (*bench).batches},
		{"3-cycle", (*bench).cycles},
		{"4-turn", (*bench).turns},
		{"5-memory", (*bench).memory},
		{"6-size", (*bench).sizes},
		{"7-events", (*bench).followed},
		{"8-cost", (*bench).cost},
		{"9-webhooks", (*bench).webhooks},
		{"10-traces", (*bench).traced},
		{"11-provers", (*bench).provers},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if role := os.Getenv(roleVariable); role != "" {
		err = play(ctx, role)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "small sizes: about twenty seconds, for a look and for CI")
	only := flags.String("run", "", "measure only the figures whose name matches this `expression`")
	profiles := flags.String("cpuprofile", "", "write CPU profiles and the statistics of Redis to this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if *profiles != "" {
		if err := os.MkdirAll(*profiles, 0o750); err != nil {
			return fmt.Errorf("-cpuprofile: %w", err)
		}
	}
	b := &bench{scale: full, profiles: *profiles, progress: stderr}
	if *quick {
		b.scale = small
	}
	b.dir, err = os.MkdirTemp("", "sequencer-bench-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(b.dir) }()

	var rows []row
	for _, f := range figures() {
		if !chosen.MatchString(f.name) {
			continue
		}
		more, err := b.figure(ctx, f)
		if err != nil {
			return fmt.Errorf("figure %s: %w", f.name, err)
		}
		rows = append(rows, more...)
	}
	fmt.Fprintf(stdout, "%d CPUs, %s, Redis %s, payload %d bytes\n\n", runtime.NumCPU(), runtime.Version(), b.version, payloadSize)
	return table(stdout, rows)
}

func table(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tours\tlimit\tratio\tto reach\treached")
	for _, r := range rows {
		reached := "no"
		if r.reached {
			reached = "yes"
		}
		fmt.Fprintln(w, strings.Join([]string{r.name, r.ours, r.limit, r.ratio, r.want, reached}, "\t"))
	}
	return w.Flush()
}

// figure measures f on a Redis of its own, for what one leaves behind would
// weigh on the next.
func (b *bench) figure(ctx context.Context, f figure) (rows []row, err error) {
	fmt.Fprintf(b.progress, "%s…\n", f.name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.current = f.name
	if err := b.startRedis(ctx); err != nil {
		return nil, err
	}
	defer func() {
		cancel()
		err = errors.Join(err, b.endAll())
	}()
	return f.measure(b, ctx)
}
