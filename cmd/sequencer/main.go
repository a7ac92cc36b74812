// Command sequencer queues zkApp transactions and brings each of them into a
// Mina block once, in order. It is the service, a simulated Mina node, simulated
// ledgers that take batches, and the client of the service's HTTP API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
)

// The exit codes, as `sequencer help` lists them.
const (
	exitOK = iota
	exitFailure
	exitUsage
	exitNotFound
	exitConflict
	exitRefused
	exitUnavailable
	exitNotFinal
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0  done
  1  failed; also a transaction waited for that ended FAILED or UNRESOLVED,
     an audit or a doctor that found something, and a question that was not
     answered with yes
  2  wrong usage, or a bad setting
  3  not found
  4  conflict: the state does not allow it, a key was used for something else, or
     some of many that were to be cancelled or retried were refused
  5  refused: invalid, too large, or not permitted; also some lines of a batch
  6  not reachable, or not able now: try again later
  7  still not final when the wait was over
  130  interrupted`

func main() {
	if firstProcess() {
		os.Exit(runBehind())
	}
	redis.SetLogger(redisLog{slog.New(slog.DiscardHandler)}) // a command has its own words; serve has a log
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		// The first signal drains, the second one does not wait.
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	os.Exit(run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr))
}

// An app is what a command gets from the outside.
type app struct {
	env            map[string]string
	stdin          io.Reader
	stdout, stderr io.Writer
	// poll is the least time between two questions about the same thing, and the
	// first delay before what failed is tried again.
	poll    time.Duration
	retries int // of a client command that says nothing else
}

// run is the whole program but for signals and the end of the process; ctx
// ends with the first signal. It returns the exit code.
func run(ctx context.Context, args []string, env map[string]string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr, poll: time.Second, retries: 4}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	started := false
	root := &cobra.Command{
		Use:              "sequencer",
		Short:            "Brings zkApp transactions into Mina blocks, once and in order",
		Long:             "sequencer queues zkApp transactions and brings each of them into a Mina block, once and in order.\n\n" + exitHelp,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             cobra.NoArgs,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) { started = true },
	}
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddGroup(&cobra.Group{ID: "service", Title: "Services:"}, &cobra.Group{ID: "client", Title: "Client of a running service:"})
	for _, cmd := range []*cobra.Command{newServeCommand(a), newDemoCommand(a), newDevnetCommand(a), newDevledgerCommand(a)} {
		cmd.GroupID = "service"
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{newPostCommand(a), newTxnCommand(a), newQueueCommand(a), newSenderCommand(a), newFeesCommand(a), newWebhookCommand(a), newWatchCommand(a)} {
		cmd.GroupID = "client"
		root.AddCommand(cmd)
	}
	root.AddCommand(newDoctorCommand(a), newAuditCommand(a), newVersionCommand(a))

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !started {
		err = usageError{err}
	}
	code := exitCode(ctx, err)
	if shown, ok := errors.AsType[*toldError](err); ok && shown.raw != nil {
		_, _ = a.stderr.Write(endLine(shown.raw))
		return code
	}
	fmt.Fprintf(a.stderr, "sequencer: %s\n", cleanLines(err.Error()))
	if code == exitUsage && !isConfigError(err) {
		fmt.Fprintf(a.stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// A usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isConfigError(err error) bool {
	_, ok := errors.AsType[*configError](err)
	return ok
}

// exitCode turns the error of a command into the process's exit code.
func exitCode(ctx context.Context, err error) int {
	if _, ok := errors.AsType[usageError](err); ok || isConfigError(err) {
		return exitUsage
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return clientExit(e)
	}
	if end, ok := errors.AsType[outcomeError](err); ok {
		return end.code
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		return exitUnavailable
	}
	return exitFailure
}

// An outcomeError is a command that worked and found what its exit code says.
type outcomeError struct {
	code int
	text string
}

func (e outcomeError) Error() string { return e.text }

// cleanLines makes text safe for a terminal line by line.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// newGroup is a command that only holds others: without one of them it shows
// its help, with an unknown one it fails.
func newGroup(use, short string, subs ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(subs...)
	return group
}
