package devworker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// StateFrom returns an [Options.State] that asks the GraphQL endpoint of a
// node; an account without app state has none. A nil client means a new one.
func StateFrom(endpoint string, client *http.Client) func(ctx context.Context, account string) ([]string, error) {
	ask := asker(endpoint, client)
	return func(ctx context.Context, account string) ([]string, error) {
		var out struct {
			Account *struct {
				ZkappState []string `json:"zkappState"`
			} `json:"account"`
		}
		const query = `query($key: PublicKey!) { account(publicKey: $key) { zkappState } }`
		if err := ask(ctx, query, account, &out); err != nil {
			return nil, err
		}
		if out.Account == nil {
			return nil, errors.New("the node knows no such account")
		}
		return out.Account.ZkappState, nil
	}
}

// asker returns a function that asks a node about an account, $key in the query, and
// decodes the answer's data.
func asker(endpoint string, client *http.Client) func(ctx context.Context, query, account string, data any) error {
	if client == nil {
		client = &http.Client{}
	}
	return func(ctx context.Context, query, account string, data any) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]string{"key": account}})
		if err != nil {
			return fmt.Errorf("encoding the query: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("making the query: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("asking the node: %w", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("asking the node: HTTP status %s", resp.Status)
		}
		out := struct {
			Data   any `json:"data"`
			Errors []struct {
				Message string `json:"message"`
			} `json:"errors"`
		}{Data: data}
		if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&out); err != nil {
			return fmt.Errorf("reading the node's answer: %w", err)
		}
		if len(out.Errors) > 0 {
			return fmt.Errorf("the node refused: %s", out.Errors[0].Message)
		}
		return nil
	}
}
