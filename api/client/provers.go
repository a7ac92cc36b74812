package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Provers lists the provers that make a type, "" for all. Code: BadCursor.
func (c *Client) Provers(ctx context.Context, typ string, cut Cut) (*Page[Prover], error) {
	q := url.Values{}
	if typ != "" {
		q.Set("type", typ)
	}
	return ask[Page[Prover]](ctx, c, request{method: http.MethodGet, query: cut.query(q)}, "provers")
}

// Prover returns a prover. Code: NotFound.
func (c *Client) Prover(ctx context.Context, id string) (*Prover, error) {
	return ask[Prover](ctx, c, request{method: http.MethodGet}, "provers", id)
}

// AddProver registers a prover, under an id made of its address if id is "", or finds it registered.
// Codes: ProverExists if the id is that of another address, InvalidData.
func (c *Client) AddProver(ctx context.Context, address, id string) (*Prover, error) {
	fields := map[string]string{"url": address}
	if id != "" {
		fields["id"] = id
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("writing the prover: %w", err)
	}
	return ask[Prover](ctx, c, request{method: http.MethodPost, body: body}, "provers")
}

// RemoveProver forgets a prover. Code: NotFound.
func (c *Client) RemoveProver(ctx context.Context, id string) error {
	return c.tell(ctx, request{method: http.MethodDelete, once: true}, "provers", id)
}

// DrainProver takes a prover out of use; what it is at work on it ends. Code: NotFound.
func (c *Client) DrainProver(ctx context.Context, id string) (*Prover, error) {
	return ask[Prover](ctx, c, request{method: http.MethodPost}, "provers", id, "drain")
}

// ResumeProver takes a prover back into use. Code: NotFound.
func (c *Client) ResumeProver(ctx context.Context, id string) (*Prover, error) {
	return ask[Prover](ctx, c, request{method: http.MethodPost}, "provers", id, "resume")
}
