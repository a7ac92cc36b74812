package command

import (
	"context"
	"errors"
	"fmt"

	"mina-sequencer/api/client"
)

// The exit codes, as `sequencer help` lists them.
const (
	ExitOK = iota
	ExitFailure
	ExitUsage
	exitNotFound
	ExitConflict
	ExitRefused
	ExitUnavailable
	ExitNotFinal
	ExitInterrupted = 130
)

// ExitHelp explains the exit codes in the help of the program.
const ExitHelp = `Exit codes:
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

// A usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef is a mistake on the command line, in the words of [fmt.Errorf].
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Usage makes err a mistake on the command line.
func Usage(err error) error { return usageError{err} }

// exitCode turns the error of a command into the process's exit code.
func exitCode(ctx context.Context, err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return ExitUsage
	}
	if e, ok := errors.AsType[coded](err); ok {
		return e.ExitCode()
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return clientExit(e)
	}
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		return ExitUnavailable
	}
	return ExitFailure
}

// coded is an error that says its exit code itself.
type coded interface {
	error
	ExitCode() int
}

// ExitWith is the error of a command that worked and found what its exit code says.
func ExitWith(code int, text string) error { return outcomeError{code, text} }

type outcomeError struct {
	code int
	text string
}

func (e outcomeError) Error() string { return e.text }

// ExitCode is the code that it was made with.
func (e outcomeError) ExitCode() int { return e.code }

// clientExit is the exit code for an error of the client.
func clientExit(e *client.Error) int {
	switch s := e.Status; {
	case e.Temporary():
		return ExitUnavailable
	case s == 404:
		return exitNotFound
	case s == 409, s == 410:
		return ExitConflict
	case s >= 400 && s < 500:
		return ExitRefused
	default:
		return ExitFailure
	}
}
