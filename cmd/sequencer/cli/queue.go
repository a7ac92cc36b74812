package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// countText names the states that occur, in the order of a transaction's life.
func countText(counts map[client.State]int) string {
	var parts []string
	for _, look := range slices.Backward(board.Looks()) {
		if n := counts[client.State(look.State)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, look.Word))
		}
	}
	return strings.Join(parts, ", ")
}

func queueState(q *client.Queue) terminal.Span {
	if q.Paused {
		return terminal.Magenta.Of(q.State + " (paused)")
	}
	return board.StyleOf(q.State).Of(q.State)
}

// runningText is the first of what is in flight, and how many are behind it.
func runningText(q *client.Queue) string {
	if n := len(q.InFlight) - 1; n > 0 {
		return fmt.Sprintf("%s +%d", terminal.Shorten(q.Running, 28), n)
	}
	return terminal.Shorten(q.Running, 28)
}

func newQueueCommand(a *command.App) *cobra.Command {
	var l listing
	var chosen client.QueueChoice
	all := clientCommand(a, &cobra.Command{Use: "list", Short: "List queues", Args: cobra.NoArgs},
		func(cmd *cobra.Command, s *session, _ []string) error {
			return list(s, &l, heads("QUEUE", "STATE", "TRANSACTIONS", "RUNNING", "SENDER", "RETRIES", "NEXT AT"),
				func(cut client.Cut) (*client.Page[client.Queue], error) {
					return s.ChosenQueues(cmd.Context(), chosen, cut)
				},
				func(q *client.Queue) terminal.Line {
					return terminal.Line{
						terminal.Plain.Of(q.Name), queueState(q), terminal.Plain.Of(countText(q.Counts)), terminal.Plain.Of(runningText(q)),
						terminal.Plain.Of(terminal.Shorten(q.Sender, 12)), terminal.Plain.Of(fmt.Sprint(q.Retries)), terminal.Dim.Of(timeText(q.NextAt)),
					}
				})
		})
	l.flags(all)
	all.Flags().StringVar(&chosen.Prefix, "prefix", "", "only those whose names begin so")
	all.Flags().StringVar(&chosen.State, "state", "", "only those in a state: "+strings.Join(queueStates, ", "))
	all.Flags().BoolVar(&chosen.Active, "active", false, "only those in which something waits or is under way, in the order in which they are taken")
	all.Flags().BoolVar(&chosen.Paused, "paused", false, "only those that are paused")
	all.Flags().BoolVar(&chosen.Oldest, "oldest", false, "those first in which the oldest waits or is under way")
	completeFlag(all, "state", cobra.FixedCompletions(queueStates, cobra.ShellCompDirectiveNoFileComp))
	show := clientCommand(a, &cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			q, err := s.Queue(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return s.raw(q.Raw)
			}
			return s.print(facts("queue", q.Name, "state", queueState(q).Text, "transactions", countText(q.Counts), "running", strings.Join(q.InFlight, " "),
				"width", fmt.Sprint(q.Width), "sender", q.Sender, "retries", fmt.Sprint(q.Retries), "reason", q.Reason, "paused until", timeText(q.PausedUntil),
				"next at", timeText(q.NextAt))...)
		})
	reason, until := "", ""
	pauses := &bulkCommand{verb: "pause", what: "queue", more: later}
	pauses.all = func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error] {
		at, err := momentOf("until", until)
		if err != nil {
			return func(yield func(*client.Bulk, error) bool) { yield(nil, err) }
		}
		return s.PauseAll(ctx, f.QueueFilter, reason, at, dry)
	}
	halt := newQueueActCommand(a, pauses, "Pause a queue: what runs is finished, nothing more is started", "is paused",
		func(s *session, ctx context.Context, name string) (*client.Queue, error) {
			at, err := momentOf("until", until)
			if err != nil {
				return nil, err
			}
			return s.PauseQueueUntil(ctx, name, reason, at)
		})
	halt.Example = command.Examples(`queue pause claim-1 --reason "the contract is being replaced"`,
		`queue pause --tenant shop --reason "its key has leaked" --yes`, "queue pause --prefix shop- --dry-run")
	halt.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	halt.Flags().StringVar(&until, "until", "", "when it goes on by itself: "+momentText)
	resume := newQueueActCommand(a, &bulkCommand{
		verb: "resume", what: "queue", more: later,
		all: func(s *session, ctx context.Context, f client.Filter, dry bool) iter.Seq2[*client.Bulk, error] {
			return s.ResumeAll(ctx, f.QueueFilter, dry)
		},
	}, "Resume a paused queue", "goes on",
		func(s *session, ctx context.Context, name string) (*client.Queue, error) {
			return s.ResumeQueue(ctx, name)
		})
	for _, cmd := range []*cobra.Command{show, halt, resume} {
		cmd.ValidArgsFunction = completeFirst(completeQueues(a))
	}
	return command.Group("queue", "Look at queues, pause, resume and widen them", all, show, halt, resume, newQueueWidthCommand(a))
}

// queueStates are what a queue, and the sender bound to it, may do.
var queueStates = []string{"FREE", "BLOCKED", "INCLUSION", "WAITING_INCLUSION", "RETRY", "DELAY"}

// later are the queues that pause and resume are for besides those that there are.
const later = ", and those that come to be later"

// asConfigured is the width of a queue that is none of its own.
const asConfigured = "default"

func newQueueWidthCommand(a *command.App) *cobra.Command {
	cmd := clientCommand(a, &cobra.Command{
		Use: "width QUEUE N|" + asConfigured, Short: "Set how many transactions of a queue may be pending at once", Args: cobra.ExactArgs(2),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		width, err := strconv.Atoi(args[1])
		switch {
		case args[1] == asConfigured:
			width = 0
		case err != nil || width < 1:
			return command.Usagef("the width of a queue is a number from 1 to 24, or %s", asConfigured)
		}
		q, err := s.WidenQueue(cmd.Context(), args[0], width)
		if err != nil {
			return err
		}
		return s.answer(q.Raw, fmt.Sprintf("up to %d of %s may be pending at once", q.Width, terminal.Clean(args[0])))
	})
	cmd.Example = command.Examples("queue width claim-1 6", "queue width claim-1 "+asConfigured)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return []cobra.Completion{asConfigured}, cobra.ShellCompDirectiveNoFileComp
		}
		return completeFirst(completeQueues(a))(cmd, args, typed)
	}
	return cmd
}

func newQueueActCommand(a *command.App, b *bulkCommand, short, done string,
	act func(*session, context.Context, string) (*client.Queue, error)) *cobra.Command {
	cmd := clientCommand(a, &cobra.Command{
		Use: b.verb + " [QUEUE]", Short: short, Args: cobra.MaximumNArgs(1),
		Long: short + `: the queue named, or with --prefix or --tenant all of
a tenant. Those that there are are counted first, and it is done only after a
yes; it holds for those that come to be later, too.`,
	}, func(cmd *cobra.Command, s *session, args []string) error {
		switch chosen := b.filter != (client.Filter{}); {
		case len(args) == 1 && (chosen || b.yes || b.dry):
			return command.Usagef("name one QUEUE, or choose with --prefix or --tenant, not both")
		case len(args) == 0 && !chosen:
			return command.Usagef("name one QUEUE, or choose with --prefix or --tenant")
		case chosen:
			return b.run(cmd.Context(), s)
		}
		q, err := act(s, cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return s.answer(q.Raw, terminal.Clean(args[0])+" "+done)
	})
	tenantFlags(cmd, &b.filter.QueueFilter)
	cmd.Flags().BoolVar(&b.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&b.dry, "dry-run", false, "count only")
	return cmd
}
