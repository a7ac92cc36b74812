package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
)

// countText names the states that occur, in the order of a transaction's life.
func countText(counts map[client.State]int) string {
	var parts []string
	for _, look := range slices.Backward(looks()) {
		if n := counts[client.State(look.state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, look.word))
		}
	}
	return strings.Join(parts, ", ")
}

func queueState(q *client.Queue) span {
	if q.Paused {
		return span{q.State + " (paused)", magenta}
	}
	return span{q.State, stateStyle(q.State)}
}

func newQueueCommand(a *app) *cobra.Command {
	var l listing
	all := clientCommand(a, &cobra.Command{Use: "list", Short: "List queues", Args: cobra.NoArgs},
		func(cmd *cobra.Command, s *session, _ []string) error {
			return list(s, &l, heads("QUEUE", "STATE", "TRANSACTIONS", "RUNNING", "SENDER", "RETRIES", "NEXT AT"),
				func(cut client.Cut) (*client.Page[client.Queue], error) { return s.Queues(cmd.Context(), cut) },
				func(q *client.Queue) line {
					return line{
						{q.Name, plain}, queueState(q), {countText(q.Counts), plain}, {shorten(q.Running, 28), plain},
						{shorten(q.Sender, 12), plain}, {fmt.Sprint(q.Retries), plain}, {timeText(q.NextAt), dim},
					}
				})
		})
	l.flags(all)
	show := clientCommand(a, &cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			q, err := s.Queue(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return s.raw(q.Raw)
			}
			return s.print(facts("queue", q.Name, "state", queueState(q).text, "transactions", countText(q.Counts), "running", q.Running,
				"sender", q.Sender, "retries", fmt.Sprint(q.Retries), "reason", q.Reason, "paused until", timeText(q.PausedUntil),
				"next at", timeText(q.NextAt))...)
		})
	reason, until := "", ""
	halt := newQueueActCommand(a, "pause", "Start nothing more of a queue; what runs is finished", "is paused",
		func(s *session, ctx context.Context, name string) (*client.Queue, error) {
			at, err := momentOf("until", until)
			if err != nil {
				return nil, err
			}
			return s.PauseQueueUntil(ctx, name, reason, at)
		})
	halt.Example = examples(`queue pause claim-1 --reason "the contract is being replaced"`)
	halt.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	halt.Flags().StringVar(&until, "until", "", "when it goes on by itself: "+momentText)
	resume := newQueueActCommand(a, "resume", "Let a paused queue go on", "goes on",
		func(s *session, ctx context.Context, name string) (*client.Queue, error) {
			return s.ResumeQueue(ctx, name)
		})
	for _, cmd := range []*cobra.Command{show, halt, resume} {
		cmd.ValidArgsFunction = completeFirst(completeQueues(a))
	}
	return newGroup("queue", "Look at queues, pause and resume them", all, show, halt, resume)
}

func newQueueActCommand(a *app, verb, short, done string, act func(*session, context.Context, string) (*client.Queue, error)) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: verb + " QUEUE", Short: short, Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			q, err := act(s, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.answer(q.Raw, clean(args[0])+" "+done)
		})
}
