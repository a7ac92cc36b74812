package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// webhooks is figure 9: POST /transactions with an endpoint that is told of each, against
// the same without. The endpoint is the bare handler, which answers at once. How many it
// was told while the last posts came stands beside it.
func (b *bench) webhooks(ctx context.Context) ([]row, error) {
	plain, err := b.startRole(ctx, roleBare)
	if err != nil {
		return nil, err
	}
	s, load, err := b.serve(ctx, queueCount, "SEQUENCER_WEBHOOKS_PRIVATE=127.0.0.1/32")
	if err != nil {
		return nil, err
	}
	endpoint := "http://" + s.addr + "/api/v1/webhooks"
	add := fmt.Sprintf(`{"id":"bench","url":"http://%s%s"}`, plain, path)
	told, behind := 0.0, int64(0)
	p, err := alternate(ctx, b.scale.rounds, func() (float64, error) {
		if err := ask(ctx, http.MethodPost, endpoint, add, nil); err != nil {
			return 0, err
		}
		began := time.Now()
		rate, err := load.rate(b.scale.window)
		if err != nil {
			return 0, err
		}
		took := time.Since(began).Seconds()
		var is struct{ Behind int64 }
		if err := ask(ctx, http.MethodGet, endpoint+"/bench", "", &is); err != nil {
			return 0, err
		}
		told, behind = rate-float64(is.Behind)/took, is.Behind
		return rate, ask(ctx, http.MethodDelete, endpoint+"/bench", "", nil)
	}, func() (float64, error) { return load.rate(b.scale.window) })
	if err != nil {
		return nil, err
	}
	r := p.row("9 POST/s, an endpoint is told", "without one", 0.5)
	r.name += fmt.Sprintf(" (%.0f/s told, %d behind)", told, behind)
	if err := ask(ctx, http.MethodPost, endpoint, add, nil); err != nil {
		return nil, err
	}
	return []row{r}, b.profile(ctx, s, func() error { _, err := load.rate(b.scale.window); return err })
}

// ask makes one request, and decodes the answer into v unless that is nil.
func ask(ctx context.Context, method, url, body string, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s answered %s", method, url, answer.Status)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(v)
}
