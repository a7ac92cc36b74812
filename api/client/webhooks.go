package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// A Webhook is an endpoint that is told every event it wants.
type Webhook struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"` // without its query
	Types       []string  `json:"types"`
	Queues      []string  `json:"queues"`
	States      []State   `json:"states"`
	Source      string    `json:"source"` // api or file
	Enabled     bool      `json:"enabled"`
	Reason      string    `json:"reason"` // why it is not: GONE, DISABLED or UNCONFIGURED
	DisabledAt  time.Time `json:"disabledAt"`
	CreatedAt   time.Time `json:"createdAt"`
	Behind      int64     `json:"behind"` // events that it has not come to
	BehindSince time.Time `json:"behindSince"`
	Parked      int64     `json:"parked"` // events that are tried again later, and those behind them
	ParkedBytes int64     `json:"parkedBytes"`
	Waiting     int64     `json:"waiting"` // lanes that wait for a replay
	Dropped     int64     `json:"dropped"` // events that were lost
	RestsUntil  time.Time `json:"restsUntil"`
	// Health is how it is, in one word: DISABLED, REFUSED_ADDRESS, IN_TROUBLE, RETRYING or WELL.
	Health string `json:"health"`
	// Secret is there where it was made or given just now, and never again.
	Secret string `json:"secret,omitempty"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (w *Webhook) UnmarshalJSON(doc []byte) error {
	type plain Webhook
	w.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(w))
}

// NewWebhook defines an endpoint. What is empty chooses everything, and an empty secret
// has one made.
type NewWebhook struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Secret string   `json:"secret,omitempty"`
	Types  []string `json:"types,omitempty"`
	Queues []string `json:"queues,omitempty"` // names, or with a * behind it how they begin
	States []State  `json:"states,omitempty"`
}

// A Delivery is one try to deliver an event.
type Delivery struct {
	Event     string    `json:"event"`
	At        time.Time `json:"at"`
	Try       int       `json:"try"`
	Delivered bool      `json:"delivered"`
	Status    int       `json:"status"`  // that was answered, 0 if none was
	Failure   string    `json:"failure"` // why: TIMEOUT, REFUSED_ADDRESS or UNREACHABLE
	TookMs    int64     `json:"tookMs"`
}

// A Parked is a transaction, a queue or a sender with events that wait for another try.
type Parked struct {
	Lane   string    `json:"lane"` // its name for DiscardParked
	Of     string    `json:"of"`   // transaction, queue or sender
	Name   string    `json:"name"`
	Events int       `json:"events"`
	First  string    `json:"first"` // id of the event that the others wait for
	At     time.Time `json:"at"`    // when that happened
	Tries  int       `json:"tries"`
	NextAt time.Time `json:"nextAt"` // zero: when a person asks for a replay
}

// Webhooks lists all endpoints.
func (c *Client) Webhooks(ctx context.Context) (*Page[Webhook], error) {
	return ask[Page[Webhook]](ctx, c, request{method: http.MethodGet}, "webhooks")
}

// Webhook returns an endpoint. Code: NotFound.
func (c *Client) Webhook(ctx context.Context, id string) (*Webhook, error) {
	return ask[Webhook](ctx, c, request{method: http.MethodGet}, "webhooks", id)
}

// AddWebhook adds an endpoint, and returns it with its secret. Codes: WebhookExists,
// TooManyWebhooks, InvalidData.
func (c *Client) AddWebhook(ctx context.Context, w NewWebhook) (*Webhook, error) {
	return c.askWebhook(ctx, w, "webhooks")
}

// A WebhookEdit is what of an endpoint is to be otherwise; what is nil stays as it is, and an empty list
// chooses everything.
type WebhookEdit struct {
	URL    string    `json:"url,omitempty"`
	Types  *[]string `json:"types,omitempty"`
	Queues *[]string `json:"queues,omitempty"`
	States *[]State  `json:"states,omitempty"`
}

// EditWebhook changes where an endpoint is and what it is told; its secret stays. Codes: WebhookConfigured,
// InvalidData, NotFound.
func (c *Client) EditWebhook(ctx context.Context, id string, edit WebhookEdit) (*Webhook, error) {
	doc, err := json.Marshal(edit)
	if err != nil {
		return nil, fmt.Errorf("writing what is to be otherwise: %w", err)
	}
	return ask[Webhook](ctx, c, request{method: http.MethodPatch, body: doc}, "webhooks", id)
}

// RemoveWebhook forgets an endpoint. Codes: WebhookConfigured, NotFound.
func (c *Client) RemoveWebhook(ctx context.Context, id string) error {
	return c.tell(ctx, request{method: http.MethodDelete, once: true}, "webhooks", id)
}

// EnableWebhook has an endpoint told again, from where it was. Code: NotFound.
func (c *Client) EnableWebhook(ctx context.Context, id string) (*Webhook, error) {
	return ask[Webhook](ctx, c, request{method: http.MethodPost}, "webhooks", id, "enable")
}

// DisableWebhook sends nothing to an endpoint. Code: NotFound.
func (c *Client) DisableWebhook(ctx context.Context, id string) (*Webhook, error) {
	return ask[Webhook](ctx, c, request{method: http.MethodPost}, "webhooks", id, "disable")
}

// PingWebhook sends a test event, and returns what came of it. Code: NotFound.
func (c *Client) PingWebhook(ctx context.Context, id string) (*Delivery, error) {
	return ask[Delivery](ctx, c, request{method: http.MethodPost, once: true}, "webhooks", id, "ping")
}

// RotateWebhook gives an endpoint another secret, a new one if it is "", and returns it
// with that. The one before signs beside it for a day. Codes: WebhookConfigured,
// InvalidData, NotFound.
func (c *Client) RotateWebhook(ctx context.Context, id, secret string) (*Webhook, error) {
	return c.askWebhook(ctx, omitEmpty{"secret", secret}, "webhooks", id, "secret")
}

// ReplayWebhook tries what is parked at once; with the id of an event it delivers all
// events behind it once more. Codes: NotFound, EventsGone.
func (c *Client) ReplayWebhook(ctx context.Context, id, after string) (*Webhook, error) {
	return c.askWebhook(ctx, omitEmpty{"after", after}, "webhooks", id, "replay")
}

// Deliveries lists the last tries, the latest first, 200 at most. Code: NotFound.
func (c *Client) Deliveries(ctx context.Context, id string, limit int) (*Page[Delivery], error) {
	return ask[Page[Delivery]](ctx, c, request{method: http.MethodGet, query: Cut{Limit: limit}.query(url.Values{})}, "webhooks", id, "deliveries")
}

// Parked lists what is parked, by when it is tried. Codes: NotFound, BadCursor.
func (c *Client) Parked(ctx context.Context, id string, cut Cut) (*Page[Parked], error) {
	return ask[Page[Parked]](ctx, c, request{method: http.MethodGet, query: cut.query(url.Values{})}, "webhooks", id, "parked")
}

// DiscardParked forgets what is parked in a lane, "" in all of them. Code: NotFound.
func (c *Client) DiscardParked(ctx context.Context, id, lane string) error {
	r := request{method: http.MethodDelete, once: true}
	if lane != "" {
		r.query = url.Values{"lane": {lane}}
	}
	return c.tell(ctx, r, "webhooks", id, "parked")
}

// omitEmpty is an object of one field, or of none.
type omitEmpty [2]string

// MarshalJSON writes the field if it has a value.
func (o omitEmpty) MarshalJSON() ([]byte, error) {
	if o[1] == "" {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string{o[0]: o[1]})
}

// askWebhook posts a document. It does so once: an answer may hold a secret that is not
// told again.
func (c *Client) askWebhook(ctx context.Context, body any, segments ...string) (*Webhook, error) {
	doc, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("writing what is asked of a webhook: %w", err)
	}
	return ask[Webhook](ctx, c, request{method: http.MethodPost, body: doc, once: true}, segments...)
}
