package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// A bulkCommand does something to transactions: to those named, or to all that a
// filter chooses.
type bulkCommand struct {
	verb string
	what string                             // that it is for; "" is transactions
	more string                             // what it is for besides, of which none may be there yet
	done func(t *client.Transaction) string // what became of one
	goes bool                               // it is to be tried: a queue that is paused is named
	one  func(s *session, ctx context.Context, uid string) (*client.Transaction, error)
	all  func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error]

	filter   client.Filter
	yes, dry bool
}

func newTxnRetryCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	return newBulkCommand(a, types, &bulkCommand{
		verb: "retry", goes: true,
		done: func(*client.Transaction) string { return "will be tried again" },
		one: func(s *session, ctx context.Context, uid string) (*client.Transaction, error) {
			return s.Retry(ctx, uid)
		},
		all: func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error] {
			return s.RetryAll(ctx, f, dry)
		},
	}, &cobra.Command{
		Short: "Try FAILED or UNRESOLVED transactions again",
		Long: `Tries FAILED or UNRESOLVED transactions again, with fresh retries and at their
old places in their queues: the one you name, or all that the flags choose. You are
told how many these are, and asked. A transaction is not retried while one of its
attempts might still land.`,
		Example: command.Examples("txn retry vote-7", "txn retry --state FAILED --type SEND_CLAIM_VOTE", "txn retry --queue claim-1 --yes"),
	})
}

func newTxnCancelCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	return newBulkCommand(a, types, &bulkCommand{
		verb: "cancel",
		done: func(t *client.Transaction) string {
			if t.State == client.Failed {
				return "is cancelled"
			}
			return "will not be tried again; what was sent already may still land"
		},
		one: func(s *session, ctx context.Context, uid string) (*client.Transaction, error) {
			return s.Cancel(ctx, uid)
		},
		all: func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error] {
			return s.CancelAll(ctx, f, dry)
		},
	}, &cobra.Command{
		Short: "Cancel transactions",
		Long: `Stops trying the transaction you name, or all that the flags choose and that are
not over. You are told how many these are, and asked. What was sent already may still
land; then its transaction is DONE. The next of the queue may start meanwhile: pause
the queue first if it must not.`,
		Example: command.Examples("txn cancel vote-7", "txn cancel --queue claim-1 --state WAITING", "txn cancel --type SEND_CLAIM_VOTE --yes --json"),
	})
}

func newTxnDeleteCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	return newBulkCommand(a, types, &bulkCommand{
		verb: "delete",
		done: func(*client.Transaction) string { return "is deleted" },
		one: func(s *session, ctx context.Context, uid string) (*client.Transaction, error) {
			return new(client.Transaction), s.Delete(ctx, uid)
		},
		all: func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error] {
			return s.DeleteAll(ctx, f, dry)
		},
	}, &cobra.Command{
		Short: "Forget transactions that are final",
		Long: `Forgets the transaction named, or all that the flags choose and that are FAILED,
UNRESOLVED, or DONE past finality. These are counted first, and deleted only after
a yes. A uid stays taken for SEQUENCER_RETENTION.`,
		Example: command.Examples("txn delete vote-7", "txn delete --state FAILED --error EXPIRED", "txn delete --queue claim-1 --state UNRESOLVED --yes"),
	})
}

func newBulkCommand(a *command.App, types cobra.CompletionFunc, b *bulkCommand, cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Args = b.verb+" [UID]", cobra.MaximumNArgs(1)
	clientCommand(a, cmd, func(cmd *cobra.Command, s *session, args []string) error {
		switch chosen := b.filter != (client.Filter{}); {
		case len(args) == 1 && (chosen || b.yes || b.dry):
			return command.Usagef("name one UID, or choose with --queue, --prefix, --tenant, --state, --type, --sender and --error, not both")
		case len(args) == 1:
			t, err := b.one(s, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.answer(t.Raw, terminal.Clean(args[0])+" "+b.done(t)+b.besides(cmd.Context(), s, t.Queue))
		case !chosen:
			return command.Usagef("name one UID, or choose with --queue, --prefix, --tenant, --state, --type, --sender or --error")
		}
		return b.run(cmd.Context(), s)
	})
	filterFlags(a, cmd, &b.filter, types)
	tenantFlags(cmd, &b.filter.QueueFilter)
	cmd.Flags().BoolVar(&b.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&b.dry, "dry-run", false, "count only")
	return cmd
}

// tenantFlags choose the queues of somebody.
func tenantFlags(cmd *cobra.Command, f *client.QueueFilter) {
	cmd.Flags().StringVar(&f.Prefix, "prefix", "", "all of queues whose names begin so")
	cmd.Flags().StringVar(&f.Key, "tenant", "", "all of the queues that the API keys of this name are limited to")
}

// A bulkSum is what came of all steps, as --json prints it.
type bulkSum struct {
	DryRun   bool                `json:"dryRun"`
	Matched  int                 `json:"matched"`
	Done     int                 `json:"done"`
	Refused  int                 `json:"refused"`
	Refusals map[client.Code]int `json:"refusals"`
}

// run counts, asks, and does it.
func (b *bulkCommand) run(ctx context.Context, s *session) error {
	if b.filter.Prefix != "" && b.filter.Key != "" {
		return command.Usagef("choose by --prefix or by --tenant, not by both")
	}
	if !b.yes || b.dry {
		sum, err := b.steps(ctx, s, true)
		if err != nil || b.dry || sum.Matched == 0 && b.more == "" {
			return b.report(s, sum, err)
		}
		if !confirm(s.app, fmt.Sprintf("%s %d %s(s)%s?", b.verb, sum.Matched, cmp.Or(b.what, "transaction"), b.more)) {
			return command.ExitWith(command.ExitFailure, "nothing was done: answer with yes, or give --yes")
		}
	}
	sum, err := b.steps(ctx, s, false)
	if more := b.besides(ctx, s, b.filter.Queue); more != "" && sum.Done > 0 {
		fmt.Fprintln(s.app.Stderr, strings.TrimPrefix(more, ". "))
	}
	return b.report(s, sum, err)
}

func (b *bulkCommand) steps(ctx context.Context, s *session, dry bool) (bulkSum, error) {
	sum := bulkSum{DryRun: dry, Refusals: map[client.Code]int{}}
	for step, err := range b.all(s, ctx, b.filter, dry) {
		if err != nil {
			return sum, err
		}
		sum.Matched += step.Matched
		sum.Done += step.Done
		sum.Refused += step.Refused
		for code, n := range step.Refusals {
			sum.Refusals[code] += n
		}
	}
	return sum, nil
}

// besides says what else is needed before what was done of a queue has an effect, "" for nothing.
func (b *bulkCommand) besides(ctx context.Context, s *session, queue string) string {
	if !b.goes || queue == "" {
		return ""
	}
	q, err := s.Queue(ctx, queue)
	if err != nil || !q.Paused {
		return ""
	}
	until := ""
	if !q.PausedUntil.IsZero() {
		until = ", until " + timeText(q.PausedUntil)
	}
	return fmt.Sprintf(". Not yet: its queue is paused%s (%s). To do: sequencer queue resume %s", until, terminal.Clean(q.Reason), terminal.Clean(queue))
}

// report says what was done, also where not all of it was: a failure on the way
// takes nothing back.
func (b *bulkCommand) report(s *session, sum bulkSum, failure error) error {
	if failure != nil && sum.Done+sum.Refused == 0 {
		return failure
	}
	if s.asJSON {
		doc, err := json.Marshal(sum)
		if err != nil {
			return fmt.Errorf("writing the sum: %w", err)
		}
		if err := s.raw(doc); err != nil {
			return err
		}
	} else {
		l := terminal.Line{terminal.Bold.Of(fmt.Sprintf("%d match", sum.Matched))}
		if !sum.DryRun {
			l = append(l, terminal.Green.Of(fmt.Sprintf("  %d done", sum.Done)), terminal.Plain.Of(fmt.Sprintf("  %d refused", sum.Refused)))
		}
		for _, code := range slices.Sorted(maps.Keys(sum.Refusals)) {
			l = append(l, terminal.Red.Of(fmt.Sprintf("  %s %d", code, sum.Refusals[code])))
		}
		if err := s.print(l); err != nil {
			return err
		}
	}
	switch {
	case failure != nil:
		return failure
	case sum.Refused > 0:
		return command.ExitWith(command.ExitConflict, fmt.Sprintf("%d of %d were refused", sum.Refused, sum.Matched))
	}
	return nil
}

// confirm asks a person, or whatever is at the other end of the standard input.
func confirm(a *command.App, question string) bool {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(io.LimitReader(a.Stdin, 100)).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
