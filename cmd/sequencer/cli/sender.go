package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/amounts"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// outOfUse says why a sender takes nothing, and what ends that.
func outOfUse(x *client.Sender) []terminal.Line {
	if x.Remedy == "" {
		return nil
	}
	return []terminal.Line{
		{terminal.Yellow.Of("! " + terminal.Shorten(x.AccountID, 20)), terminal.Plain.Of(" is out of use since " + timeText(x.Since) +
			": " + cmp.Or(x.Detail, x.Reason))},
		{terminal.Plain.Of("  → " + x.Remedy + terminal.Prefixed(": ", x.Command))},
	}
}

func newSenderCommand(a *command.App) *cobra.Command {
	var l listing
	state := ""
	all := clientCommand(a, &cobra.Command{Use: "list", Short: "List senders", Args: cobra.NoArgs},
		func(cmd *cobra.Command, s *session, _ []string) error {
			return list(s, &l, heads("ACCOUNT", "STATE", "QUEUE", "NONCE", "BALANCE", "REASON", "UNTIL", "WORKER"),
				func(cut client.Cut) (*client.Page[client.Sender], error) {
					return s.SendersIn(cmd.Context(), state, cut)
				},
				func(x *client.Sender) terminal.Line {
					l.notes = append(l.notes, outOfUse(x)...)
					return terminal.Line{
						terminal.Plain.Of(x.AccountID), board.StyleOf(x.State).Of(x.State), terminal.Plain.Of(terminal.Shorten(x.Queue, 40)), terminal.Plain.Of(amounts.Nonce(x.Nonce)),
						terminal.Plain.Of(amounts.Known(x.Balance)), terminal.Red.Of(x.Reason), terminal.Dim.Of(timeText(x.Until)), terminal.Plain.Of(x.WorkerURL),
					}
				})
		})
	l.flags(all)
	all.Flags().StringVar(&state, "state", "", "only those whose queue is in a state: "+strings.Join(queueStates, ", "))
	completeFlag(all, "state", cobra.FixedCompletions(queueStates, cobra.ShellCompDirectiveNoFileComp))
	show := clientCommand(a, &cobra.Command{Use: "show ACCOUNT", Short: "Show one sender", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			x, err := s.Sender(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return s.raw(x.Raw)
			}
			balance := amounts.Known(x.Balance)
			if balance != "" {
				balance += " MINA"
			}
			return s.print(facts("account", x.AccountID, "worker", x.WorkerURL, "state", x.State, "queue", x.Queue,
				"retries", fmt.Sprint(x.Retries), "nonce", amounts.Nonce(x.Nonce), "balance", balance,
				"available", fmt.Sprint(x.Available), "reason", x.Reason, "detail", x.Detail, "since", timeText(x.Since), "until", timeText(x.Until),
				"to do", x.Remedy, "command", x.Command, "claimed by", x.Claim.String())...)
		})
	add := clientCommand(a, &cobra.Command{
		Use: "add ACCOUNT WORKER-URL", Short: "Register a sender and its worker", Args: cobra.ExactArgs(2),
		Example: command.Examples("sender add B62q… http://127.0.0.1:3101"),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		x, err := s.AddSender(cmd.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		return s.answer(x.Raw, terminal.Clean(args[0])+" is registered")
	})
	remove := clientCommand(a, &cobra.Command{Use: "remove ACCOUNT", Short: "Remove a sender that is bound to no queue", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			if err := s.RemoveSender(cmd.Context(), args[0]); err != nil {
				return err
			}
			return s.answer(nil, terminal.Clean(args[0])+" is removed")
		})
	drain := newSenderActCommand(a, "drain", "Take a sender out of use once its transaction is over",
		func(*client.Sender) string { return "gets no new work" },
		func(s *session, ctx context.Context, account string) (*client.Sender, error) {
			return s.DrainSender(ctx, account)
		})
	resume := newSenderActCommand(a, "resume", "Take a sender back into use",
		func(x *client.Sender) string {
			if x.Reason == "" {
				return "is back in use"
			}
			return "stays out of use: " + terminal.Clean(cmp.Or(x.Detail, x.Reason)) // what only resolve settles, say
		},
		func(s *session, ctx context.Context, account string) (*client.Sender, error) {
			return s.ResumeSender(ctx, account)
		})
	for _, cmd := range []*cobra.Command{show, remove, drain, resume} {
		cmd.ValidArgsFunction = completeFirst(completeSenders(a))
	}
	return command.Group("sender", "Look at senders, add and remove them", all, show, add, remove, drain, resume)
}

func newSenderActCommand(a *command.App, verb, short string, done func(*client.Sender) string, act func(*session, context.Context, string) (*client.Sender, error)) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: verb + " ACCOUNT", Short: short, Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			x, err := act(s, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.answer(x.Raw, terminal.Clean(args[0])+" "+done(x))
		})
}
