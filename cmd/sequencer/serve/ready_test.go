package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
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
// cancel and delete: no balancer is to take them all out.
func TestReadyzOfFullStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := wired(t, map[string]string{"SEQUENCER_REDIS_URL": "redis://" + server.Addr,
		"SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql"})
	if err := server.Client.ConfigSet(t.Context(), "maxmemory", "100kb").Err(); err != nil {
		t.Fatal(err)
	}
	if r := s.ready(t.Context(), false); !r.Store.OK || !strings.Contains(r.Store.Detail, "full") {
		t.Errorf("a full store: %+v", r.Store)
	}
	server.Stop()
	if r := s.ready(t.Context(), false); r.Store.OK {
		t.Errorf("without a store: %+v", r.Store)
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
	cfg, _, err := settings.Load(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	client, disconnect, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disconnect)
	s, err := New(Options{Settings: cfg, Redis: client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
