package simulation

import (
	"cmp"
	"strings"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// draw moves what the events alone show of their queue, and wants none of its states left out: each goes on
// where the one before has ended.
func (c *checker) draw(e *queues.Event) {
	if e.Kind == queues.OfSender {
		return
	}
	queue, _, _ := strings.Cut(e.ID, ".")
	if was := cmp.Or(c.shown[queue], tx.QueueFree); e.QueueFrom != was {
		c.fail("event %d moves queue %s from %s, and the one before had left it in %s", e.Number, queue, e.QueueFrom, was)
	}
	if e.QueueFrom != e.QueueTo && (e.Kind == queues.OfQueue || e.From == e.To) {
		c.fail("event %d moves queue %s from %s to %s, and nothing of it moves", e.Number, queue, e.QueueFrom, e.QueueTo)
	}
	c.shown[queue] = e.QueueTo
}

// drawn wants the queues, where nothing has happened since the last event that was read, to be as the
// events have drawn them.
func (c *checker) drawn() {
	var page struct{ Items []queueDoc }
	if _, ok := c.s.ask("GET", "/queues", nil, &page); !ok {
		return
	}
	if more, err := c.s.desk.Store.Events(c.s.Ctx, c.last, 1); err != nil || len(more) > 0 {
		return // it may be of before or after
	}
	for _, q := range page.Items {
		state := tx.QueueState(q.State)
		if drawn := cmp.Or(c.shown[q.Name], tx.QueueFree); state != drawn {
			c.fail("queue %s is %s at event %d, and its events have drawn %s", q.Name, state, c.last, drawn)
		}
		c.polled[state]++
	}
}
