package board

import (
	"context"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/amounts"
)

// Limit is how much of a list is read at most, so that a look at a large service stays
// cheap.
const Limit = 500

// Read reads queues and senders once, of each as many as one page has.
func Read(ctx context.Context, c *client.Client) (Board, error) {
	var b Board
	queues, err := c.Queues(ctx, client.Cut{Limit: Limit})
	if err != nil {
		return b, err
	}
	senders, err := c.Senders(ctx, client.Cut{Limit: Limit})
	if err != nil {
		return b, err
	}
	for _, q := range queues.Items {
		counts := map[string]int{}
		for state, n := range q.Counts {
			counts[string(state)] = n
		}
		b.Queues = append(b.Queues, Queue{
			Name: q.Name, State: q.State, Sender: q.Sender, Running: q.Running, Retries: q.Retries,
			Paused: q.Paused, Reason: q.Reason, Counts: counts,
		})
	}
	for _, x := range senders.Items {
		b.Senders = append(b.Senders, Sender{
			AccountID: x.AccountID, State: x.State, Queue: x.Queue, Nonce: amounts.Nonce(x.Nonce),
			Balance: amounts.Known(x.Balance), Available: x.Available, Reason: x.Reason,
		})
	}
	return b, nil
}
