// Package command holds what all commands of the program have: what they are given from the
// outside, how their errors are told, and the exit codes. All packages of commands may use
// it; it knows none of them.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/terminal"
)

// An App is what a command gets from the outside. It is not changed once a command runs.
type App struct {
	Env            map[string]string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Poll is the least time between two questions about the same thing, and the
	// first delay before what failed is tried again.
	Poll    time.Duration
	Retries int // of a client command that says nothing else
	// Version and Commit say what the program was built from.
	Version, Commit string
}

// Execute runs the command below root that args name, tells what it failed with, and
// returns the exit code. ctx ends with the first signal.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	started := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if !started {
		err = Usage(err)
	}
	code := exitCode(ctx, err)
	if shown, ok := errors.AsType[answered](err); ok && shown.Answer() != nil {
		_, _ = a.Stderr.Write(endLine(shown.Answer()))
		return code
	}
	fmt.Fprintf(a.Stderr, "sequencer: %s\n", terminal.CleanLines(err.Error()))
	if _, wrong := errors.AsType[usageError](err); wrong {
		fmt.Fprintf(a.Stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// answered is an error in whose place an answer of the service is printed, unless that is
// nil.
type answered interface {
	error
	Answer() []byte
}

// WriteDoc writes a document to stdout, such as JSON of the service, and ends its line.
func (a *App) WriteDoc(doc []byte) error {
	_, err := a.Stdout.Write(endLine(doc))
	return err
}

func endLine(b []byte) []byte {
	if bytes.HasSuffix(b, []byte("\n")) {
		return b
	}
	return append(bytes.Clone(b), '\n')
}

// Group is a command that only holds others: without one of them it shows
// its help, with an unknown one it fails.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(subs...)
	return group
}

// Examples is the text of a help's examples, each without the name of the program.
func Examples(commands ...string) string {
	return "  sequencer " + strings.Join(commands, "\n  sequencer ")
}
