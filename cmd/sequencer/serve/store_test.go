package serve

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mina-sequencer/queues/redistest"
)

// TestStoreThatChanges: what would have stopped the start is told when it comes later, too, and
// once: to the log, to who asks for readiness, and to Prometheus. Then it is told that it is gone.
func TestStoreThatChanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var log bytes.Buffer
	s := wiredTo(t, slog.NewTextHandler(&log, nil), map[string]string{"SEQUENCER_REDIS_URL": "redis://" + server.Addr,
		"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql"})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	set := func(policy string) {
		t.Helper()
		if err := server.Client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
	}
	figure := func(line string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", nil))
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	logged := func(words string, times int) {
		t.Helper()
		if got := strings.Count(log.String(), words); got != times {
			t.Errorf("%q is logged %d time(s), not %d:\n%s", words, got, times, log.String())
		}
	}
	if r := s.ready(t.Context(), true); !r.Store.OK || strings.Contains(r.Store.Detail, "Redis") {
		t.Errorf("as it should be: %+v", r.Store)
	}
	figure(`sequencer_store_fault{fault="REDIS_EVICTS"} 0`)
	set("allkeys-lru")
	s.storeWatch.look(t.Context()) // as it does each minute
	logged("level=ERROR", 1)
	logged("maxmemory-policy is allkeys-lru", 1)
	figure(`sequencer_store_fault{fault="REDIS_EVICTS"} 1`)
	for _, full := range []bool{false, true} {
		r := s.ready(t.Context(), full)
		if !r.Store.OK || !strings.Contains(r.Store.Detail, "set maxmemory-policy to noeviction") {
			t.Errorf("of a store that evicts: %+v", r.Store)
		}
	}
	logged("maxmemory-policy is allkeys-lru", 1)
	set("noeviction")
	if r := s.ready(t.Context(), true); strings.Contains(r.Store.Detail, "Redis") {
		t.Errorf("who asks for all is told what was: %+v", r.Store)
	}
	figure(`sequencer_store_fault{fault="REDIS_EVICTS"} 0`)
	logged("as it should be again", 1)
	set("volatile-lru")
	server.Stop()
	s.storeWatch.look(t.Context())
	logged("not set up", 1)
}

// TestStoreWatched: it is looked at each time that a look is due, until the process ends.
func TestStoreWatched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := wired(t, map[string]string{"SEQUENCER_REDIS_URL": "redis://" + server.Addr,
		"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql"})
	if err := server.Client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	due, ended := make(chan time.Time), make(chan struct{})
	go func() { defer close(ended); s.storeWatch.run(ctx, due) }()
	due <- time.Time{}
	due <- time.Time{} // taken after the first look
	if got := s.storeWatch.faults(); len(got) != 1 || got[0] != "REDIS_EVICTS" {
		t.Errorf("found %v", got)
	}
	cancel()
	<-ended
}
