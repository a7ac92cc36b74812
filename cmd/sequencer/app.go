package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// An app is what a command gets from the outside.
type app struct {
	env            map[string]string
	stdin          io.Reader
	stdout, stderr io.Writer
	// poll is the least time between two questions about the same thing, and the
	// first delay before what failed is tried again.
	poll    time.Duration
	retries int // of a client command that says nothing else
	// version and commit say what the program was built from.
	version, commit string
}

// execute runs the command below root that args name, tells what it failed with, and
// returns the exit code. ctx ends with the first signal.
func (a *app) execute(ctx context.Context, root *cobra.Command, args []string) int {
	started := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !started {
		err = usage(err)
	}
	code := exitCode(ctx, err)
	if shown, ok := errors.AsType[answered](err); ok && shown.Answer() != nil {
		_, _ = a.stderr.Write(endLine(shown.Answer()))
		return code
	}
	fmt.Fprintf(a.stderr, "sequencer: %s\n", cleanLines(err.Error()))
	if _, wrong := errors.AsType[usageError](err); wrong {
		fmt.Fprintf(a.stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// answered is an error in whose place an answer of the service is printed, unless that is
// nil.
type answered interface {
	error
	Answer() []byte
}

// writeDoc writes a document to stdout, such as JSON of the service, and ends its line.
func (a *app) writeDoc(doc []byte) error {
	_, err := a.stdout.Write(endLine(doc))
	return err
}

func endLine(b []byte) []byte {
	if bytes.HasSuffix(b, []byte("\n")) {
		return b
	}
	return append(bytes.Clone(b), '\n')
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

// examples is the text of a help's examples.
func examples(commands ...string) string {
	return "  sequencer " + strings.Join(commands, "\n  sequencer ")
}
