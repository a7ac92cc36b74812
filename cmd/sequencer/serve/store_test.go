package serve

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// TestStoreTakesNoWrites: from the first heartbeat that Redis refuses on, who asks is told so, and since when.
func TestStoreTakesNoWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	log := new(lines)
	s := wiredTo(t, slog.NewTextHandler(log, nil), map[string]string{"SEQUENCER_REDIS_URL": "redis://" + server.Addr,
		"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql", "SEQUENCER_CLAIM_TTL": "1s"})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) string {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, "http://127.0.0.1/api/v1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "u")
		s.handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	ask(http.MethodPost, "/transactions", `{"queue": "q", "type": "CREATE_CLAIM_VOTING_ACCOUNT", "data": {"claimUid":
		"0123456789abcdef0123456789abcdef", "strategy": {"requiredVotes": 3, "requiredPositives": 2}}}`)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.sequencer.Run(ctx) }()
	defer func() { end(); <-ended }()
	until := func(replicas string, what func() bool) {
		t.Helper()
		if err := server.Client.ConfigSet(t.Context(), "min-replicas-to-write", replicas).Err(); err != nil {
			t.Fatal(err)
		}
		for again := time.NewTicker(10 * time.Millisecond); !what(); {
			<-again.C
		}
	}
	until("0", func() bool { return s.sequencer.Standing().Live })
	if o := s.sequencer.Outage(); o != nil {
		t.Errorf("it takes writes: %+v", o)
	}
	until("1", func() bool { return s.sequencer.Outage() != nil })
	since := s.sequencer.Outage().Since.UTC().Format(time.RFC3339)
	if got := ask(http.MethodGet, "/transactions/u/explain", ""); !strings.Contains(got, `"STORE"`) ||
		!strings.Contains(got, "Redis takes no writes since "+since+" (heartbeat: ") || !strings.Contains(got, "NOREPLICAS") {
		t.Errorf("explained: %s", got)
	}
	if got := ask(http.MethodGet, "/overview", ""); !strings.Contains(got, `"REDIS_WRITES","detail":"Redis takes no writes since `) {
		t.Errorf("the overview: %s", got)
	}
	until("0", func() bool { return s.sequencer.Outage() == nil })
	for _, words := range []string{"Redis takes no writes, so nothing moves", "Redis takes writes again"} {
		if got := strings.Count(log.String(), words); got != 1 {
			t.Errorf("%q is logged %d times", words, got)
		}
	}
}

// lines are what was written, also while it is read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
