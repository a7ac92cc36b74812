package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Queues lists the queues that have transactions, or are paused. Code: BadCursor.
func (c *Client) Queues(ctx context.Context, cut Cut) (*Page[Queue], error) {
	return ask[Page[Queue]](ctx, c, request{method: http.MethodGet, query: cut.query(url.Values{})}, "queues")
}

// A QueueChoice chooses queues of a list, and their order; its zero value is all, by name.
type QueueChoice struct {
	Prefix string // of their names
	State  string // FREE, BLOCKED, INCLUSION, WAITING_INCLUSION, RETRY or DELAY
	Paused bool   // those that are paused
	Active bool   // those in which something waits or is under way, in the order in which they are taken
	Oldest bool   // the same, the one first that has what was posted first; not beside Paused
}

// ChosenQueues lists the queues that f chooses. A page may be short and still have a NextCursor.
// Codes: BadRequest, BadCursor.
func (c *Client) ChosenQueues(ctx context.Context, f QueueChoice, cut Cut) (*Page[Queue], error) {
	q := url.Values{}
	for name, chosen := range map[string]bool{"paused": f.Paused, "active": f.Active} {
		if chosen {
			q.Set(name, "true")
		}
	}
	if f.Oldest {
		q.Set("order", "oldest")
	}
	for name, value := range map[string]string{"prefix": f.Prefix, "state": f.State} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return ask[Page[Queue]](ctx, c, request{method: http.MethodGet, query: cut.query(q)}, "queues")
}

// EachQueue goes over all queues. It ends with the first error.
func (c *Client) EachQueue(ctx context.Context) iter.Seq2[*Queue, error] {
	return each(func(cursor string) (*Page[Queue], error) { return c.Queues(ctx, Cut{500, cursor}) })
}

// Queue returns a queue. Code: NotFound.
func (c *Client) Queue(ctx context.Context, name string) (*Queue, error) {
	return ask[Queue](ctx, c, request{method: http.MethodGet}, "queues", name)
}

// PauseQueue starts nothing more of a queue; what runs is finished. The reason is
// shown; it may be "".
func (c *Client) PauseQueue(ctx context.Context, name, reason string) (*Queue, error) {
	return c.PauseQueueUntil(ctx, name, reason, time.Time{})
}

// PauseQueueUntil is PauseQueue that ends by itself at a time, if that is not zero.
func (c *Client) PauseQueueUntil(ctx context.Context, name, reason string, until time.Time) (*Queue, error) {
	r := request{method: http.MethodPost}
	if reason != "" || !until.IsZero() {
		pause := struct {
			Reason string    `json:"reason,omitempty"`
			Until  time.Time `json:"until,omitzero"`
		}{reason, until}
		body, err := json.Marshal(pause)
		if err != nil {
			return nil, fmt.Errorf("writing the reason: %w", err)
		}
		r.body = body
	}
	return ask[Queue](ctx, c, r, "queues", name, "pause")
}

// ResumeQueue lets a paused queue go on.
func (c *Client) ResumeQueue(ctx context.Context, name string) (*Queue, error) {
	return ask[Queue](ctx, c, request{method: http.MethodPost}, "queues", name, "resume")
}

// PauseAll pauses all queues that f chooses, in steps, as CancelAll does, and those that come to be
// later, until ResumeAll; with dry those that there are are only counted.
func (c *Client) PauseAll(ctx context.Context, f QueueFilter, reason string, until time.Time, dry bool) iter.Seq2[*Bulk, error] {
	return bulk(ctx, c, f, func(cursor string) any {
		return struct {
			Filter QueueFilter `json:"filter"`
			Reason string      `json:"reason,omitempty"`
			Until  time.Time   `json:"until,omitzero"`
			DryRun bool        `json:"dryRun"`
			Cursor string      `json:"cursor,omitempty"`
		}{f, reason, until, dry, cursor}
	}, "queues", "pause")
}

// ResumeAll is PauseAll for resuming those that are paused.
func (c *Client) ResumeAll(ctx context.Context, f QueueFilter, dry bool) iter.Seq2[*Bulk, error] {
	return bulk(ctx, c, f, func(cursor string) any {
		return struct {
			Filter QueueFilter `json:"filter"`
			DryRun bool        `json:"dryRun"`
			Cursor string      `json:"cursor,omitempty"`
		}{f, dry, cursor}
	}, "queues", "resume")
}

// WidenQueue says how many transactions of a queue may be in flight and in no block, from 1
// to 24; 0 for as many as the service is configured with.
func (c *Client) WidenQueue(ctx context.Context, name string, width int) (*Queue, error) {
	body := []byte(`{"width":null}`)
	if width != 0 {
		body = fmt.Appendf(nil, `{"width":%d}`, width)
	}
	return ask[Queue](ctx, c, request{method: http.MethodPost, body: body}, "queues", name, "width")
}

// Senders lists the senders. Code: BadCursor.
func (c *Client) Senders(ctx context.Context, cut Cut) (*Page[Sender], error) {
	return ask[Page[Sender]](ctx, c, request{method: http.MethodGet, query: cut.query(url.Values{})}, "senders")
}

// SendersIn lists the senders whose queue is in a state. A page may be short and still have a NextCursor.
// Codes: BadRequest, BadCursor.
func (c *Client) SendersIn(ctx context.Context, state string, cut Cut) (*Page[Sender], error) {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	return ask[Page[Sender]](ctx, c, request{method: http.MethodGet, query: cut.query(q)}, "senders")
}

// EachSender goes over all senders. It ends with the first error.
func (c *Client) EachSender(ctx context.Context) iter.Seq2[*Sender, error] {
	return each(func(cursor string) (*Page[Sender], error) { return c.Senders(ctx, Cut{500, cursor}) })
}

// Sender returns a sender. Code: NotFound.
func (c *Client) Sender(ctx context.Context, accountID string) (*Sender, error) {
	return ask[Sender](ctx, c, request{method: http.MethodGet}, "senders", accountID)
}

// AddSender registers a sender, or finds it registered. Codes: SenderExists if it
// has another worker, InvalidData.
func (c *Client) AddSender(ctx context.Context, accountID, workerURL string) (*Sender, error) {
	body, err := json.Marshal(map[string]string{"accountId": accountID, "workerUrl": workerURL})
	if err != nil {
		return nil, fmt.Errorf("writing the sender: %w", err)
	}
	return ask[Sender](ctx, c, request{method: http.MethodPost, body: body}, "senders")
}

// RemoveSender forgets a sender. Codes: SenderBound, NotFound.
func (c *Client) RemoveSender(ctx context.Context, accountID string) error {
	return c.tell(ctx, request{method: http.MethodDelete, once: true}, "senders", accountID)
}

// DrainSender takes a sender out of use; its transaction is finished. Code:
// NotFound.
func (c *Client) DrainSender(ctx context.Context, accountID string) (*Sender, error) {
	return ask[Sender](ctx, c, request{method: http.MethodPost}, "senders", accountID, "drain")
}

// ResumeSender takes a sender back into use. Code: NotFound.
func (c *Client) ResumeSender(ctx context.Context, accountID string) (*Sender, error) {
	return ask[Sender](ctx, c, request{method: http.MethodPost}, "senders", accountID, "resume")
}

// Health returns nil if the process answers.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/healthz"}, nil)
	return err
}

// Ready says what of the service works. With full, Ready also wants a chain and a
// sender; without, the store alone. An error means that there is no word on it.
func (c *Client) Ready(ctx context.Context, full bool) (Readiness, error) {
	r := request{method: http.MethodGet, path: "/readyz"}
	if full {
		r.query = url.Values{"full": {"true"}}
	}
	var state Readiness
	_, raw, err := c.try(ctx, r)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusServiceUnavailable && e.Code == "" {
		raw, err = e.Raw, nil
	}
	if err != nil {
		return state, err
	}
	return state, decode(raw, &state)
}

// Overview returns counts, rates, senders, chain and ledgers, as the service tells
// them; the description of the API names the fields.
func (c *Client) Overview(ctx context.Context) (json.RawMessage, error) {
	doc, err := ask[json.RawMessage](ctx, c, request{method: http.MethodGet}, "overview")
	if err != nil {
		return nil, err
	}
	return *doc, nil
}

// History returns how it went over the last hour, day or week, as the service tells it; the description of
// the API names the fields.
func (c *Client) History(ctx context.Context, over string) (json.RawMessage, error) {
	doc, err := ask[json.RawMessage](ctx, c, request{method: http.MethodGet, query: url.Values{"over": {over}}}, "history")
	if err != nil {
		return nil, err
	}
	return *doc, nil
}

// Fees returns what others pay for a place in a block, what each type of ours would pay
// now, and what was spent in the last days.
func (c *Client) Fees(ctx context.Context) (*Fees, error) {
	return ask[Fees](ctx, c, request{method: http.MethodGet}, "fees")
}
