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
	if client == nil {
		client = &http.Client{}
	}
	return func(ctx context.Context, account string) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		query, err := json.Marshal(map[string]any{
			"query":     `query($key: PublicKey!) { account(publicKey: $key) { zkappState } }`,
			"variables": map[string]string{"key": account},
		})
		if err != nil {
			return nil, fmt.Errorf("encoding the query: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(query))
		if err != nil {
			return nil, fmt.Errorf("making the query: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("asking the node: %w", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("asking the node: HTTP status %s", resp.Status)
		}
		var out struct {
			Data struct {
				Account *struct {
					ZkappState []string `json:"zkappState"`
				} `json:"account"`
			} `json:"data"`
			Errors []struct {
				Message string `json:"message"`
			} `json:"errors"`
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out); err != nil {
			return nil, fmt.Errorf("reading the node's answer: %w", err)
		}
		switch {
		case len(out.Errors) > 0:
			return nil, fmt.Errorf("the node refused: %s", out.Errors[0].Message)
		case out.Data.Account == nil:
			return nil, errors.New("the node knows no such account")
		}
		return out.Data.Account.ZkappState, nil
	}
}
