package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

func webhookState(w *client.Webhook) terminal.Span {
	switch w.Health {
	case "DISABLED":
		return terminal.Red.Of(w.Reason)
	case "REFUSED_ADDRESS":
		return terminal.Red.Of("address refused")
	case "IN_TROUBLE":
		return terminal.Red.Of("in trouble")
	case "RETRYING":
		return terminal.Magenta.Of("tries again")
	}
	return terminal.Plain.Of("well")
}

func newWebhookCommand(a *command.App) *cobra.Command {
	all := clientCommand(a, &cobra.Command{
		Use: "list", Short: "List the endpoints that are told every event", Args: cobra.NoArgs,
	},
		func(cmd *cobra.Command, s *session, _ []string) error {
			return list(s, new(listing), heads("ID", "STATE", "BEHIND", "PARKED", "WAITING", "DROPPED", "URL"),
				func(client.Cut) (*client.Page[client.Webhook], error) { return s.Webhooks(cmd.Context()) },
				func(w *client.Webhook) terminal.Line {
					return terminal.Line{
						terminal.Plain.Of(w.ID), webhookState(w), terminal.Plain.Of(fmt.Sprint(w.Behind)), terminal.Plain.Of(fmt.Sprint(w.Parked)),
						terminal.Plain.Of(fmt.Sprint(w.Waiting)), terminal.Plain.Of(fmt.Sprint(w.Dropped)), terminal.Plain.Of(w.URL),
					}
				})
		})
	group := command.Group("webhook", "Tell others what happens", all, newWebhookAddCommand(a))
	named := []*cobra.Command{
		webhookShow(a), webhookDeliveries(a), webhookParked(a),
		webhookPing(a), webhookEdit(a), webhookRotate(a), webhookReplay(a), webhookDiscard(a),
		webhookAct(a, "enable", "Tell an endpoint again, from where it was", "is told again",
			func(ctx context.Context, s *session, id string) (*client.Webhook, error) {
				return s.EnableWebhook(ctx, id)
			}),
		webhookAct(a, "disable", "Send nothing to an endpoint; its events are kept for a while", "is told nothing",
			func(ctx context.Context, s *session, id string) (*client.Webhook, error) {
				return s.DisableWebhook(ctx, id)
			}),
		clientCommand(a, &cobra.Command{
			Use: "remove ID", Short: "Remove an endpoint and the events that wait for it", Args: cobra.ExactArgs(1),
		},
			func(cmd *cobra.Command, s *session, args []string) error {
				if err := s.RemoveWebhook(cmd.Context(), args[0]); err != nil {
					return err
				}
				return s.answer(nil, terminal.Clean(args[0])+" is removed")
			}),
	}
	for _, cmd := range named {
		cmd.ValidArgsFunction = completeFirst(completeWebhooks(a))
	}
	group.AddCommand(named...)
	return group
}

func newWebhookAddCommand(a *command.App) *cobra.Command {
	var n client.NewWebhook
	var states []string
	add := clientCommand(a, &cobra.Command{
		Use: "add ID URL", Short: "Add an endpoint; its secret is shown once", Args: cobra.ExactArgs(2),
		Example: command.Examples("webhook add billing https://example.org/hooks/mina --queue 'plan-*' --state DONE --state FAILED"),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		n.ID, n.URL = args[0], args[1]
		for _, x := range states {
			n.States = append(n.States, client.State(strings.ToUpper(x)))
		}
		w, err := s.AddWebhook(cmd.Context(), n)
		if err != nil {
			return err
		}
		return s.answer(w.Raw, terminal.Clean(n.ID)+" is told what happens from now on; its secret, shown only here:\n"+w.Secret)
	})
	flags := add.Flags()
	flags.StringVar(&n.Secret, "secret", "", "whsec_… to sign with, instead of a new one")
	flags.StringArrayVar(&n.Types, "type", nil, "only events of this type")
	flags.StringArrayVar(&n.Queues, "queue", nil, "only events of this queue; with a * behind it, of those that begin so")
	flags.StringArrayVar(&states, "state", nil, "only what came to this state")
	return add
}

func webhookEdit(a *command.App) *cobra.Command {
	var url string
	var types, names, states []string
	cmd := clientCommand(a, &cobra.Command{
		Use: "edit ID", Short: "Change where an endpoint is, or what it is told; its secret stays", Args: cobra.ExactArgs(1),
		Example: command.Examples("webhook edit billing --address https://example.org/hooks/mina", "webhook edit billing --queue 'plan-*' --state DONE", "webhook edit billing --queue ''"),
		Long:    "Changes where an endpoint is, or what it is told. What no flag names stays as it is; '' for a list chooses everything.",
	}, func(cmd *cobra.Command, s *session, args []string) error {
		edit := client.WebhookEdit{URL: url}
		given := func(flag string, list []string) *[]string {
			if !cmd.Flags().Changed(flag) {
				return nil
			}
			list = slices.DeleteFunc(list, func(x string) bool { return x == "" })
			return &list
		}
		edit.Types, edit.Queues = given("type", types), given("queue", names)
		if list := given("state", states); list != nil {
			edit.States = &[]client.State{}
			for _, x := range *list {
				*edit.States = append(*edit.States, client.State(strings.ToUpper(x)))
			}
		}
		if edit == (client.WebhookEdit{}) {
			return command.Usagef("say what is to be otherwise: --address, --type, --queue or --state")
		}
		w, err := s.EditWebhook(cmd.Context(), args[0], edit)
		if err != nil {
			return err
		}
		return s.answer(w.Raw, terminal.Clean(args[0])+" is changed")
	})
	flags := cmd.Flags()
	flags.StringVar(&url, "address", "", "where it is")
	flags.StringArrayVar(&types, "type", nil, "only events of this type")
	flags.StringArrayVar(&names, "queue", nil, "only events of this queue; with a * behind it, of those that begin so")
	flags.StringArrayVar(&states, "state", nil, "only what came to this state")
	return cmd
}

func webhookShow(a *command.App) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: "show ID", Short: "Show one endpoint", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			w, err := s.Webhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				return s.raw(w.Raw)
			}
			var states []string
			for _, x := range w.States {
				states = append(states, string(x))
			}
			return s.print(facts("id", w.ID, "url", w.URL, "state", webhookState(w).Text,
				"since", timeText(w.DisabledAt), "source", w.Source,
				"types", strings.Join(w.Types, ", "), "queues", strings.Join(w.Queues, ", "),
				"states", strings.Join(states, ", "),
				"behind", fmt.Sprint(w.Behind), "behind since", timeText(w.BehindSince), "parked", fmt.Sprint(w.Parked),
				"waiting", fmt.Sprint(w.Waiting), "dropped", fmt.Sprint(w.Dropped),
				"rests until", timeText(w.RestsUntil))...)
		})
}

func deliveryText(d *client.Delivery) terminal.Span {
	if d.Delivered {
		return terminal.Plain.Of(fmt.Sprint(d.Status))
	}
	if d.Status == 0 {
		return terminal.Red.Of(d.Failure)
	}
	return terminal.Red.Of(fmt.Sprint(d.Status))
}

func webhookDeliveries(a *command.App) *cobra.Command {
	limit := 0
	cmd := clientCommand(a, &cobra.Command{
		Use: "deliveries ID", Short: "List the last tries, the latest first", Args: cobra.ExactArgs(1),
	},
		func(cmd *cobra.Command, s *session, args []string) error {
			return list(s, new(listing), heads("AT", "EVENT", "TRY", "ANSWER", "MS"),
				func(client.Cut) (*client.Page[client.Delivery], error) {
					return s.Deliveries(cmd.Context(), args[0], limit)
				},
				func(d *client.Delivery) terminal.Line {
					return terminal.Line{
						terminal.Dim.Of(timeText(d.At)), terminal.Plain.Of(d.Event), terminal.Plain.Of(fmt.Sprint(d.Try)), deliveryText(d),
						terminal.Plain.Of(fmt.Sprint(d.TookMs)),
					}
				})
		})
	cmd.Flags().IntVar(&limit, "limit", 0, "the most, up to 200")
	return cmd
}

func webhookParked(a *command.App) *cobra.Command {
	var l listing
	cmd := clientCommand(a, &cobra.Command{
		Use: "parked ID", Short: "List the events that will be tried again", Args: cobra.ExactArgs(1),
	},
		func(cmd *cobra.Command, s *session, args []string) error {
			return list(s, &l, heads("LANE", "EVENTS", "FIRST", "AT", "TRIES", "NEXT AT"),
				func(cut client.Cut) (*client.Page[client.Parked], error) {
					return s.Parked(cmd.Context(), args[0], cut)
				},
				func(p *client.Parked) terminal.Line {
					return terminal.Line{
						terminal.Plain.Of(p.Lane), terminal.Plain.Of(fmt.Sprint(p.Events)), terminal.Plain.Of(p.First), terminal.Dim.Of(timeText(p.At)),
						terminal.Plain.Of(fmt.Sprint(p.Tries)),
						terminal.Dim.Of(cmp.Or(timeText(p.NextAt), "on replay")),
					}
				})
		})
	l.flags(cmd)
	return cmd
}

func webhookPing(a *command.App) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: "ping ID", Short: "Send a test event", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			d, err := s.PingWebhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !d.Delivered {
				return command.ExitWith(command.ExitFailure, terminal.Clean(args[0])+" did not take it: "+deliveryText(d).Text)
			}
			return s.answer(nil, fmt.Sprintf("%s took it, %d, in %d ms", terminal.Clean(args[0]), d.Status, d.TookMs))
		})
}

func webhookRotate(a *command.App) *cobra.Command {
	secret := ""
	cmd := clientCommand(a, &cobra.Command{
		Use: "rotate ID", Short: "Give an endpoint another secret; both sign for a day", Args: cobra.ExactArgs(1),
	},
		func(cmd *cobra.Command, s *session, args []string) error {
			w, err := s.RotateWebhook(cmd.Context(), args[0], secret)
			if err != nil {
				return err
			}
			return s.answer(w.Raw, "what "+terminal.Clean(args[0])+" gets is signed with both for a day; "+
				"the new secret, shown only here:\n"+w.Secret)
		})
	cmd.Flags().StringVar(&secret, "secret", "", "whsec_… to sign with, instead of a new one")
	return cmd
}

func webhookReplay(a *command.App) *cobra.Command {
	after := ""
	cmd := clientCommand(a, &cobra.Command{
		Use: "replay ID", Short: "Deliver now what waits for another try", Args: cobra.ExactArgs(1),
	},
		func(cmd *cobra.Command, s *session, args []string) error {
			w, err := s.ReplayWebhook(cmd.Context(), args[0], after)
			if err != nil {
				return err
			}
			return s.answer(w.Raw, terminal.Clean(args[0])+" is sent what waited for it")
		})
	cmd.Flags().StringVar(&after, "after", "", "id of an event: deliver all events behind it once more instead")
	return cmd
}

func webhookDiscard(a *command.App) *cobra.Command {
	everything := false
	cmd := clientCommand(a, &cobra.Command{
		Use: "discard ID [LANE]", Short: "Drop the events that wait in a lane", Args: cobra.RangeArgs(1, 2),
		Example: command.Examples("webhook discard billing t:vote-17"),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		lane := ""
		if len(args) == 2 {
			lane = args[1]
		}
		if (lane == "") != everything {
			return command.Usagef("name a lane as 'webhook parked' lists it, or give --all")
		}
		if err := s.DiscardParked(cmd.Context(), args[0], lane); err != nil {
			return err
		}
		return s.answer(nil, "the events that waited are dropped")
	})
	cmd.Flags().BoolVar(&everything, "all", false, "in all lanes")
	return cmd
}

func webhookAct(
	a *command.App, verb, short, done string, act func(context.Context, *session, string) (*client.Webhook, error),
) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			w, err := act(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return s.answer(w.Raw, terminal.Clean(args[0])+" "+done)
		})
}

func completeWebhooks(a *command.App) cobra.CompletionFunc {
	return completeNames(a, func(ctx context.Context, c *client.Client) (names []cobra.Completion) {
		if p, err := c.Webhooks(ctx); err == nil {
			for _, w := range p.Items {
				names = append(names, w.ID)
			}
		}
		return names
	})
}
