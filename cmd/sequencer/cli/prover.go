package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// inGigabytes is a size for people, "" for none.
func inGigabytes(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/1e9, 'f', 1, 64) + " GB"
}

func newProverCommand(a *command.App) *cobra.Command {
	var l listing
	typ, id := "", ""
	all := clientCommand(a, &cobra.Command{Use: "list", Short: "List provers", Args: cobra.NoArgs},
		func(cmd *cobra.Command, s *session, _ []string) error {
			return list(s, &l, heads("PROVER", "STATE", "LOAD", "AN HOUR", "MEMORY", "REASON", "UNTIL", "TYPES"),
				func(cut client.Cut) (*client.Page[client.Prover], error) { return s.Provers(cmd.Context(), typ, cut) },
				func(x *client.Prover) terminal.Line {
					if x.Reason != "" {
						l.notes = append(l.notes, terminal.Line{terminal.Yellow.Of("! " + terminal.Shorten(x.ID, 40)),
							terminal.Plain.Of(" is out of use since " + timeText(x.Since) + ": " + cmp.Or(x.Detail, x.Reason))})
					}
					return terminal.Line{
						terminal.Plain.Of(x.ID), terminal.Plain.Of(x.State), terminal.Plain.Of(fmt.Sprintf("%d of %d", x.Load, x.AtOnce)),
						terminal.Plain.Of(strconv.Itoa(x.ProofsLastHour)), terminal.Plain.Of(inGigabytes(x.Memory)), terminal.Red.Of(x.Reason),
						terminal.Dim.Of(timeText(x.Until)), terminal.Plain.Of(terminal.Shorten(strings.Join(x.Types, ","), 60)),
					}
				})
		})
	l.flags(all)
	all.Flags().StringVar(&typ, "type", "", "only those that make a type")
	show := clientCommand(a, &cobra.Command{Use: "show PROVER", Short: "Show one prover", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			x, err := s.Prover(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return s.raw(x.Raw)
			}
			return s.print(facts("prover", x.ID, "address", x.URL, "named by", x.Source, "state", x.State, "types", strings.Join(x.Types, ", "),
				"at once", strconv.Itoa(x.AtOnce), "load", strconv.Itoa(x.Load), "memory", inGigabytes(x.Memory),
				"proofs in the last hour", strconv.Itoa(x.ProofsLastHour), "available", fmt.Sprint(x.Available), "reason", x.Reason,
				"detail", x.Detail, "since", timeText(x.Since), "until", timeText(x.Until))...)
		})
	add := clientCommand(a, &cobra.Command{
		Use: "add URL", Short: "Register a prover, which has no key", Args: cobra.ExactArgs(1),
		Example: command.Examples("prover add http://10.0.1.1:3000"),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		x, err := s.AddProver(cmd.Context(), args[0], id)
		if err != nil {
			return err
		}
		return s.answer(x.Raw, terminal.Clean(x.ID)+" is registered")
	})
	add.Flags().StringVar(&id, "id", "", "an id of your own; without it it is made of the address")
	remove := clientCommand(a, &cobra.Command{Use: "remove PROVER", Short: "Remove a prover", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			if err := s.RemoveProver(cmd.Context(), args[0]); err != nil {
				return err
			}
			return s.answer(nil, terminal.Clean(args[0])+" is removed")
		})
	act := func(verb, short, done string, do func(*session, context.Context, string) (*client.Prover, error)) *cobra.Command {
		return clientCommand(a, &cobra.Command{Use: verb + " PROVER", Short: short, Args: cobra.ExactArgs(1)},
			func(cmd *cobra.Command, s *session, args []string) error {
				x, err := do(s, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return s.answer(x.Raw, terminal.Clean(args[0])+" "+done)
			})
	}
	drain := act("drain", "Take a prover out of use once what it proves is over", "gets no new work",
		func(s *session, ctx context.Context, id string) (*client.Prover, error) {
			return s.DrainProver(ctx, id)
		})
	resume := act("resume", "Take a prover back into use", "is asked for its health, and is back in use if that is good",
		func(s *session, ctx context.Context, id string) (*client.Prover, error) {
			return s.ResumeProver(ctx, id)
		})
	for _, cmd := range []*cobra.Command{show, remove, drain, resume} {
		cmd.ValidArgsFunction = completeFirst(completeProvers(a))
	}
	return command.Group("prover", "Look at provers, add and remove them", all, show, add, remove, drain, resume)
}

func completeProvers(a *command.App) cobra.CompletionFunc {
	return completeNames(a, func(ctx context.Context, c *client.Client) (names []cobra.Completion) {
		if p, err := c.Provers(ctx, "", client.Cut{Limit: 500}); err == nil {
			for _, x := range p.Items {
				names = append(names, x.ID)
			}
		}
		return names
	})
}
