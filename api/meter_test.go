package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestMeter: every request is told by the pattern of its route, which holds nothing
// of the client's; and the figures are for whoever may read.
func TestMeter(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	clients := 0
	s := setup(t, func(o *Options) {
		o.Keys = NewKeyring([]Key{{Name: "r", Scope: Read, Secret: "read-key"}})
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("figures")) })
		o.Meter = Meter{
			Request: func(method, route string, status int, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if took < 0 {
					t.Errorf("%s took %v", route, took)
				}
				told = append(told, method+" "+route+" "+strconv.Itoa(status))
			},
			Following: func(change int) { clients += change },
		}
	})
	ask := func(method, path, key string) string {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return strconv.Itoa(w.Code) + " " + w.Body.String()
	}
	if got := ask("GET", "/metrics", "read-key"); got != "200 figures" {
		t.Errorf("figures: %s", got)
	}
	if got := ask("GET", "/metrics", ""); got[:3] != "401" {
		t.Errorf("figures without a key: %s", got)
	}
	ask("GET", "/api/v1/transactions/secret-uid", "read-key")
	ask("GET", "/secret-path", "")
	ask("POST", "/api/v1/queues/secret-queue/pause", "read-key")
	want := []string{
		"GET /metrics 200", "GET /metrics 401", "GET /api/v1/transactions/{uid} 404", "GET  404", "POST /api/v1/queues/{name}/pause 403",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}

	f := newFeed(&Options{Store: s.store, EventClients: 1, Meter: Meter{Following: func(change int) { clients += change }}})
	seat, _ := f.enter("")
	if none, _ := f.enter(""); seat == nil || none != nil || clients != 1 {
		t.Errorf("%d clients told, one came in", clients)
	}
	if f.leave(seat); clients != 0 {
		t.Errorf("%d clients told, all have left", clients)
	}
}
