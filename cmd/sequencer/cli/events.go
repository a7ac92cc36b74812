package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

func newEventsCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	var filter client.EventFilter
	cmd := clientCommand(a, &cobra.Command{
		Use: "events", Short: "Show what has happened, and who did it",
		Long: `One line for each event that is kept (SEQUENCER_EVENTS_KEEP), the oldest first; with
--json the event itself. With --actor what the keys of a name have done: paused,
resumed, cancelled, retried, resolved, removed, drained. "watch" shows what happens
from now on.`,
		Example: command.Examples("events --actor ops", "events --queue claim-1 --json | tail -n 20"),
		Args:    cobra.NoArgs,
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		for e, err := range s.Past(cmd.Context(), filter) {
			if errors.Is(err, client.EventsGone) {
				return fmt.Errorf("the log moved on faster than it was read: ask again: %w", err)
			}
			if err == nil && s.asJSON {
				err = s.raw(e.Raw)
			} else if err == nil {
				err = s.print(eventLine(e))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&filter.Actor, "actor", "", "only what was done by the keys of this name")
	flags.StringVar(&filter.Queue, "queue", "", "only events of this queue")
	flags.StringVar(&filter.UID, "uid", "", "only events of this transaction")
	flags.StringVar(&filter.Type, "type", "", "only events of transactions of this type")
	completeFlag(cmd, "queue", completeQueues(a))
	completeFlag(cmd, "type", types)
	return cmd
}

// eventLine says when, what it is about, what happened, and whose word it was.
func eventLine(e *client.Event) terminal.Line {
	words := []string{e.At.UTC().Format(time.RFC3339)}
	switch e.Of {
	case "sender":
		words = append(words, "sender "+e.Sender)
	case "queue":
		words = append(words, "queue "+e.Queue)
	default:
		words = append(words, e.UID, "of "+e.Queue, string(cmp.Or(e.From, "new"))+" → "+string(cmp.Or(e.To, "removed")))
	}
	if e.QueueFrom != e.QueueTo {
		words = append(words, "queue "+e.QueueFrom+" → "+e.QueueTo)
	}
	if e.Code != "" {
		words = append(words, e.Code)
	}
	if e.Actor != "" {
		words = append(words, "by "+e.Actor)
	}
	return terminal.Line{terminal.Plain.Of(strings.Join(words, "  "))}
}
