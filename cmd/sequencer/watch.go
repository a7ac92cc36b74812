package main

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// Watching reads at most this many of a list, so that a look at a large service
// stays cheap.
const watchLimit = "500"

func newWatchCommand(a *app) *cobra.Command {
	count := 0
	cmd := clientCommand(a, &cobra.Command{
		Use: "watch", Short: "Watch queues and senders at work",
		Long: "On a terminal a live view, redrawn in place until interrupted; elsewhere one line per change.",
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, c *client, _ []string) error {
		return watch(cmd.Context(), c, count)
	})
	cmd.Flags().IntVar(&count, "count", 0, "end after so many looks (0: only when interrupted)")
	return cmd
}

// watch looks once per poll interval until ctx ends. A service that goes away
// while it is watched is waited for; one that was never there is an error.
func watch(ctx context.Context, c *client, count int) error {
	s := newScreen(c.app.stdout, c.app.env)
	defer s.Close()
	start := time.Now()
	var last board
	for looked := 1; ; looked++ {
		now, raw, err := c.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && looked == 1:
			return err
		case err != nil:
			now = last
			now.Note = "no answer, trying again"
		default:
			now.Events = last.changes(now, time.Now())
		}
		now.Title, now.Elapsed = "sequencer at "+c.base, time.Since(start)
		if err := c.drawWatch(s, last, now, raw); err != nil {
			return err
		}
		if looked == count {
			return nil
		}
		last = now
		pause(ctx, c.app.poll)
	}
}

func (c *client) drawWatch(s *screen, last, now board, raw [][]byte) error {
	switch {
	case c.asJSON:
		for _, answer := range raw {
			if err := c.raw(answer); err != nil {
				return err
			}
		}
		return nil
	case s.live:
		width, height := s.size()
		return s.Draw(now.lines(width, height))
	}
	if now.Note != "" && last.Note == "" {
		return s.Print(line{{now.Note, alarm}})
	}
	var lines []line
	for _, e := range now.Events[now.kept(last):] {
		lines = append(lines, e.line())
	}
	return s.Print(lines...)
}

// kept is how many of the events were there at the last look.
func (b board) kept(last board) int {
	kept := len(b.Events)
	for kept > 0 && (len(last.Events) == 0 || b.Events[kept-1].At.After(last.Events[len(last.Events)-1].At)) {
		kept--
	}
	return kept
}

// look reads queues and senders once.
func (c *client) look(ctx context.Context) (board, [][]byte, error) {
	var b board
	var queues struct {
		Items []queueInfo `json:"items"`
	}
	var senders struct {
		Items []senderInfo `json:"items"`
	}
	limit := url.Values{"limit": {watchLimit}}
	rawQueues, err := c.get(ctx, "/queues", limit, &queues)
	if err != nil {
		return b, nil, err
	}
	rawSenders, err := c.get(ctx, "/senders", limit, &senders)
	if err != nil {
		return b, nil, err
	}
	for _, q := range queues.Items {
		b.Queues = append(b.Queues, boardQueue{
			Name: q.Name, State: q.State, Sender: q.Sender, Running: q.Running, Retries: q.Retries,
			Paused: q.Paused, Reason: q.Reason, Counts: q.Counts,
		})
	}
	for _, s := range senders.Items {
		b.Senders = append(b.Senders, boardSender{
			AccountID: s.AccountID, State: s.State, Queue: s.Queue, Nonce: s.Nonce.String(),
			Balance: minaText(s.Balance.String()), Available: s.Available, Reason: s.Reason,
		})
	}
	return b, [][]byte{rawQueues, rawSenders}, nil
}

// changes are the events of b and what is different in next, the last 200.
func (b board) changes(next board, at time.Time) []boardEvent {
	events := b.Events
	before := map[string]boardQueue{}
	for _, q := range b.Queues {
		before[q.Name] = q
	}
	for _, q := range next.Queues {
		old, known := before[q.Name]
		if known && old.State == q.State && old.Running == q.Running && old.Paused == q.Paused && maps.Equal(old.Counts, q.Counts) {
			continue
		}
		info := queueInfo{Counts: q.Counts}
		e := boardEvent{At: at, Queue: q.Name, From: old.State, To: q.State, UID: cmp.Or(q.Running, old.Running), Extra: q.Reason, Detail: info.countText()}
		if old.State == q.State {
			e.From = ""
		}
		events = append(events, e)
	}
	return events[max(0, len(events)-200):]
}
