package serve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/tx"
)

// TestReadyzBesideHangingNodes: whoever asks whether the process serves waits for no Mina
// node, and who asks for all is told that it is the chain which does not answer.
func TestReadyzBesideHangingNodes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	ended := make(chan struct{})
	node := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-ended
	}))
	t.Cleanup(node.Close)
	t.Cleanup(func() { close(ended) })
	s := wired(t, map[string]string{"SEQUENCER_MINA_URL": node.URL + "/graphql"})
	if err := s.senders.Register(t.Context(), devnet.Key(1), "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Heartbeat(t.Context(), "runs", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	answer := func(path string, status int) (r api.Readiness) {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &r); w.Code != status || err != nil {
			t.Fatalf("%s: %d %s, %v", path, w.Code, w.Body, err)
		}
		if !r.Store.OK || !r.Senders.OK || r.Chain.OK || !strings.Contains(r.Chain.Detail, "not answered") {
			t.Errorf("%s: %+v", path, r)
		}
		return r
	}
	answer("/readyz", http.StatusOK)
	if n := asked.Load(); n > 0 {
		t.Errorf("a node was asked %d time(s)", n)
	}
	answer("/readyz?full", http.StatusServiceUnavailable)
	if asked.Load() == 0 {
		t.Error("no node was asked for all")
	}
}

// TestReadyzOfFullStore: a Redis that is full is so for every process, and people have to come in to
// cancel and delete, which they can: no balancer is to take them all out.
func TestReadyzOfFullStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := wired(t, map[string]string{"SEQUENCER_REDIS_URL": "redis://" + server.Addr,
		"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql"})
	ask := func(method, path, body string, status int) {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, "http://127.0.0.1/api/v1/transactions"+path, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if s.handler.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	one := `{"uid": "a", "queue": "q", "type": "CREATE_CLAIM_VOTING_ACCOUNT",
		"data": {"claimUid": "0123456789abcdef0123456789abcdef", "strategy": {"requiredVotes": 3, "requiredPositives": 2}}}`
	ask("POST", "", one, http.StatusAccepted)
	if err := server.Client.ConfigSet(t.Context(), "maxmemory", "100kb").Err(); err != nil {
		t.Fatal(err)
	}
	ask("POST", "", one, http.StatusOK)
	ask("POST", "", strings.Replace(one, `"a"`, `"b"`, 1), http.StatusInsufficientStorage)
	ask("POST", "/a/cancel", "", http.StatusOK)
	ask("DELETE", "/a", "", http.StatusNoContent)
	if got := s.storeWatch.faults(); len(got) > 0 {
		t.Errorf("nobody has looked, and this is known: %v", got)
	}
	if r := s.ready(t.Context(), false); !r.Store.OK || !strings.Contains(r.Store.Detail, "full") {
		t.Errorf("a full store: %+v", r.Store)
	}
	told(t, s, "REDIS_FULL", "This Redis is full, and new transactions are refused with 507; ")
	server.Stop()
	if r := s.ready(t.Context(), false); r.Store.OK {
		t.Errorf("without a store: %+v", r.Store)
	}
}

// told wants a trouble in the overview, once, that begins so.
func told(t *testing.T, s *Service, code, begins string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/overview", nil))
	var overview struct{ Troubles []api.Trouble }
	if err := json.Unmarshal(w.Body.Bytes(), &overview); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	var told []string
	for _, x := range overview.Troubles {
		if x.Code == code {
			told = append(told, x.Detail)
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], begins) {
		t.Errorf("the overview tells of %+v", overview.Troubles)
	}
}

// TestReadyzAsksForAll: where nobody has asked the nodes, ?full does, and then all know.
func TestReadyzAsksForAll(t *testing.T) {
	t.Parallel()
	network, err := devnet.New(devnet.Config{FundAll: true})
	if err != nil {
		t.Fatal(err)
	}
	node := httptest.NewServer(network.Node(0))
	t.Cleanup(node.Close)
	s := wired(t, map[string]string{"SEQUENCER_MINA_URL": node.URL + "/graphql"})
	for _, ok := range []bool{false, true, true} {
		if r := s.ready(t.Context(), false); r.Chain.OK != ok || !r.Store.OK {
			t.Errorf("want the chain %v: %+v", ok, r)
		}
		if r := s.ready(t.Context(), true); !r.Chain.OK || r.Senders.OK {
			t.Errorf("all: %+v", r)
		}
	}
}

// wired returns a service on an embedded Redis that is not run.
func wired(t *testing.T, env map[string]string) *Service {
	t.Helper()
	return wiredTo(t, slog.DiscardHandler, env)
}

func wiredTo(t *testing.T, log slog.Handler, env map[string]string) *Service {
	t.Helper()
	cfg, _, err := settings.Load(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	client, disconnect, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disconnect)
	s, err := New(Options{Settings: cfg, Redis: client, Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReadyzOfClock: a process whose clock is not that of Redis says so, and by how much, to who asks
// for all and to Prometheus.
func TestReadyzOfClock(t *testing.T) {
	t.Parallel()
	mini := redistest.Mini(t)
	mini.Server.SetTime(time.Now().Add(-10 * time.Minute))
	cfg, _, err := settings.Load(t.Context(), map[string]string{"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Settings: cfg, Redis: mini.Client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if r := s.ready(t.Context(), false); !r.Clock.OK {
		t.Errorf("before anything is known: %+v", r.Clock)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.sequencer.Run(ctx) }()
	for s.sequencer.Standing().Ahead == 0 {
		<-time.After(time.Millisecond)
	}
	r := s.ready(t.Context(), true)
	if r.Clock.OK || !regexp.MustCompile(`10m\d+s ahead of that of Redis: set both by NTP`).MatchString(r.Clock.Detail) {
		t.Errorf("ten minutes off: %+v", r.Clock)
	}
	told(t, s, "CLOCK", "The clock of this process is 10m")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", nil))
	if !regexp.MustCompile(`(?m)^sequencer_clock_ahead_seconds (599\.9|6\d\d)`).MatchString(w.Body.String()) {
		t.Error("Prometheus is not told")
	}
	cancel()
	<-ended
	for ahead, ok := range map[time.Duration]bool{0: true, sequencer.ClockSlack: true, -sequencer.ClockSlack: true,
		sequencer.ClockSlack + 1: false, -sequencer.ClockSlack - 1: false} {
		if clockReady(ahead).OK != ok {
			t.Errorf("%s ahead: %v", ahead, !ok)
		}
	}
}

// TestRaceWords: so many pairs of queues are named, with since when and what to do, and of more their number.
func TestRaceWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := sequencer.Race{
		Queues: [2]string{"a", "b"}, Account: tx.Account{Key: "B62q"}, What: "state 2", Since: at, Seen: at.Add(time.Hour), Times: 3,
	}
	want := "queues a and b race since 2026-03-01 12:00Z: of what both have in flight one requires and the other changes the " +
		"state 2 of B62q (3 times, the last at 2026-03-01 13:00Z), so what comes second may fail. Post to one queue what changes an account"
	if got := raceWords([]sequencer.Race{r}); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	got := raceWords(slices.Repeat([]sequencer.Race{r}, mostRaces+2))
	if len(got) != mostRaces+1 || got[mostRaces] != "2 more pairs of queues race, see 'two queues race' in the log" {
		t.Errorf("%q", got)
	}
}

// TestStalledWords: whoever asks whether all is ready is told what waits for the network or a gateway,
// since when, in whose words, and what to do.
func TestStalledWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
	got := stalledWords(map[string]sequencer.Stall{
		sequencer.CauseGateway: {N: 3, For: 90 * time.Minute, Words: "HTTP 413"},
		sequencer.CauseNetwork: {N: 1, For: 2 * time.Hour, Words: "After_slot_tx_end"},
	}, now)
	want := []string{"1 signed transaction(s) of this process get to no node, the first since 2026-09-03 10:00Z: the network takes nothing",
		"3 signed transaction(s) of this process get to no node, the first since 2026-09-03 10:30Z: something in front"}
	if len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) ||
		!strings.HasSuffix(got[0], "see when it goes on (After_slot_tx_end)") || !strings.HasSuffix(got[1], "see to that (HTTP 413)") {
		t.Errorf("%q", got)
	}
	if got := stalledWords(nil, now); got != nil {
		t.Errorf("of nothing: %q", got)
	}
	if len(sequencer.Causes) != len(stalledWords(map[string]sequencer.Stall{"network": {}, "gateway": {}, "nodes": {}}, now)) {
		t.Error("a cause without words")
	}
}

// TestReadyzOfLimitedQueue: who asks for all is told that a queue waits for a person, and not which; the process
// is ready none the less.
func TestReadyzOfLimitedQueue(t *testing.T) {
	t.Parallel()
	s := wired(t, map[string]string{"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql", "SEQUENCER_UNRESOLVED_LIMIT": "1"})
	if got := s.ready(t.Context(), true).Queues; !got.OK || got.Detail != "none waits for a person" {
		t.Errorf("while all is well: %+v", got)
	}
	_, err := s.store.Heartbeat(t.Context(), "p", time.Hour, "")
	item := queues.Item{UID: "u", Queue: "secret-name", Type: "T", Data: json.RawMessage(`{}`)}
	err = errors.Join(err, s.store.Enqueue(t.Context(), item).Err, s.senders.Register(t.Context(), devnet.Key(1), "http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := s.store.Bind(t.Context(), queues.BindRequest{Process: "p", Types: []string{"T"}, Groups: []string{senders.Shared}, Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	change := &queues.Change{Before: bound[0].Transaction, After: bound[0].Transaction.Clone(), Now: time.Now()}
	change.After.Phase, change.Remove = tx.PhaseUnresolved, queues.Never
	if _, err := s.store.Advance(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	got := s.ready(t.Context(), true).Queues
	if !got.OK || !strings.HasPrefix(got.Detail, "1 paused by SEQUENCER_UNRESOLVED_LIMIT, the first since 20") || strings.Contains(got.Detail, "secret") {
		t.Errorf("while a queue waits: %+v", got)
	}
}
