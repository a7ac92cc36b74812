package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

const (
	// watchAnew is when the state is read again although nothing has happened.
	watchAnew = 15 * time.Second
	// watchEvents is how many changes are kept to be shown.
	watchEvents = 200
)

// A watchCommand is what `sequencer watch` is asked to show.
type watchCommand struct {
	filter client.EventFilter
	from   string
	count  int
}

func newWatchCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	w := &watchCommand{}
	cmd := clientCommand(a, &cobra.Command{
		Use: "watch", Short: "Watch queues and senders at work",
		Long: `On a terminal a live view, redrawn in place until interrupted; elsewhere one line
for each change, with --json the event itself. A service that goes away is waited
for, and no change is missed or shown twice.`,
		Example: command.Examples("watch", "watch --queue claim-1", "watch --json --from 1790000000000-4711 | tee -a events.ndjson"),
		Args:    cobra.NoArgs,
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		screen := terminal.NewScreen(a.Stdout, a.Env)
		defer func() { _ = screen.Close() }()
		if !screen.Live || s.asJSON || w.from != "" || w.count > 0 {
			return w.lines(cmd.Context(), s)
		}
		return w.live(cmd.Context(), s, screen)
	})
	flags := cmd.Flags()
	flags.StringVar(&w.filter.Queue, "queue", "", "only changes of this queue")
	flags.StringVar(&w.filter.UID, "uid", "", "only changes of this transaction")
	flags.StringVar(&w.filter.Type, "type", "", "only changes of transactions of this type")
	flags.StringVar(&w.filter.Actor, "actor", "", "only what is done by the keys of this name")
	flags.StringVar(&w.from, "from", "", "begin behind the event of this id; one line for each change")
	flags.IntVar(&w.count, "count", 0, "end after so many changes, one line for each (0: only when interrupted)")
	completeFlag(cmd, "queue", completeQueues(a))
	completeFlag(cmd, "type", types)
	return cmd
}

// lines prints a line for each change until ctx ends.
func (w *watchCommand) lines(ctx context.Context, s *session) error {
	away := false
	s.OnRetry = func(err error) {
		if !away {
			fmt.Fprintf(s.app.Stderr, "%s\n  trying again\n", terminal.CleanLines(err.Error()))
		}
		away = true
	}
	seen := 0
	for e, err := range s.Events(ctx, w.from, w.filter) {
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		away = false
		if s.asJSON {
			err = s.raw(e.Raw)
		} else {
			err = s.print(eventOf(e).Line())
		}
		if err != nil {
			return err
		}
		if seen++; seen == w.count {
			return nil
		}
	}
	return nil
}

// eventOf is a change as the board shows it.
func eventOf(e *client.Event) board.Event {
	b := board.Event{At: e.At, Queue: e.Queue, UID: e.UID, From: string(e.From), To: string(e.To), Detail: e.Type, Extra: e.Code}
	switch {
	case e.Of == "sender":
		b.Queue = "sender " + terminal.Shorten(e.Sender, 12)
	case e.From != "" && e.From == e.To:
		b.From = ""
	case e.To == client.Dispatching:
		b.Detail += " by " + terminal.Shorten(e.Sender, 12)
	case e.Of == "transaction" && e.To == "":
		b.To = "removed"
	}
	if e.QueueFrom != e.QueueTo {
		b.Detail += "  queue " + e.QueueFrom + " → " + e.QueueTo
	}
	if e.Actor != "" {
		b.Extra = strings.TrimSpace(b.Extra + " by " + e.Actor)
	}
	return b
}

// live draws the state of queues and senders, and the last changes. The state is
// read again when something has happened, at most once per poll interval.
func (w *watchCommand) live(ctx context.Context, s *session, screen *terminal.Screen) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now, err := board.Read(ctx, s.Client)
	if err != nil {
		return err
	}
	start, read := time.Now(), time.Now()
	events, failed := w.follow(ctx, s)
	tick := time.NewTicker(s.app.Poll)
	defer tick.Stop()
	for changed := false; ; {
		now.Title, now.Elapsed = "sequencer at "+s.URL, time.Since(start)
		width, height := screen.Size()
		if err := screen.Draw(now.Lines(width, height)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case e := <-events:
			now.Events = append(now.Events, e)
			now.Events = now.Events[max(0, len(now.Events)-watchEvents):]
			changed = true
			continue
		case <-tick.C:
		}
		if !changed && now.Note == "" && time.Since(read) < watchAnew {
			continue
		}
		next, err := board.Read(ctx, s.Client)
		if err != nil {
			now.Note = "no answer, trying again"
			continue
		}
		next.Events = now.Events
		now, changed, read = next, false, time.Now()
	}
}

// follow sends the changes from now on. Where some have left the log before they
// could be read, it says so and goes on.
func (w *watchCommand) follow(ctx context.Context, s *session) (<-chan board.Event, <-chan error) {
	events, failed := make(chan board.Event, watchEvents), make(chan error, 1)
	send := func(e board.Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	go func() {
		for ctx.Err() == nil {
			for e, err := range s.Events(ctx, "", w.filter) {
				switch {
				case err != nil && ctx.Err() != nil:
					return
				case errors.Is(err, client.EventsGone):
					send(board.Event{At: time.Now(), Extra: "some changes are missing here"})
				case err != nil:
					failed <- err
					return
				default:
					send(eventOf(e))
				}
			}
		}
	}()
	return events, failed
}
