// Command sequencer queues zkApp transactions and brings each of them into a
// Mina block once, in order. It is the service, a simulated Mina node, simulated
// ledgers that take batches, and the client of the service's HTTP API.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/cli"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/demo"
	"mina-sequencer/cmd/sequencer/dev"
	"mina-sequencer/cmd/sequencer/doctor"
	"mina-sequencer/cmd/sequencer/serve"
	"mina-sequencer/cmd/sequencer/settings"
)

func main() {
	if serve.FirstProcess() {
		os.Exit(serve.RunBehind())
	}
	serve.LogRedis(slog.New(slog.DiscardHandler)) // a command has its own words; serve has a log
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		// The first signal drains, the second one does not wait.
		<-signals
		cancel()
		<-signals
		os.Exit(command.ExitInterrupted)
	}()
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	os.Exit(run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for signals and the end of the process; ctx
// ends with the first signal. It returns the exit code.
func run(ctx context.Context, args []string, env map[string]string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &command.App{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr, Poll: time.Second, Retries: 4}
	a.Version, a.Commit = buildVersion()
	return a.Execute(ctx, newRootCommand(a), args)
}

func newRootCommand(a *command.App) *cobra.Command {
	root := command.Group("sequencer", "Brings zkApp transactions into Mina blocks, once and in order")
	root.Long = "sequencer queues zkApp transactions and brings each of them into a Mina block, once and in order.\n\n" + command.ExitHelp
	root.AddGroup(&cobra.Group{ID: "service", Title: "Services:"}, &cobra.Group{ID: "client", Title: "Client of a running service:"})
	for _, cmd := range []*cobra.Command{serve.Command(a), demo.Command(a), dev.NodesCommand(a), dev.LedgersCommand(a)} {
		cmd.GroupID = "service"
		root.AddCommand(cmd)
	}
	for _, cmd := range cli.Commands(a, settings.BuiltinTypes()) {
		cmd.GroupID = "client"
		root.AddCommand(cmd)
	}
	root.AddCommand(doctor.Command(a), doctor.AuditCommand(a), newVersionCommand(a))
	return root
}
