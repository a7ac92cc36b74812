package mina_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/fees"
)

// A mart is a simulated node with a number of commands in its pool, which is asked under
// several names, and what it was asked.
type mart struct {
	net     *devnet.Network
	tracker *mina.Tracker
	plans   []devnet.Plan
	sizes   atomic.Int64 // questions for the size of a pool
	pools   atomic.Int64 // and for all of it
	fails   atomic.Pointer[string]
	// said has the whole pool told once, and then again as it was: what a look costs the
	// node is not measured.
	said *[]byte
}

func newMart(tb testing.TB, nodes int, commands float64) *mart {
	tb.Helper()
	n, err := devnet.New(devnet.Config{FundAll: true, SlotTime: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	market := &devnet.Market{
		Seed: 3, Arrivals: func(uint32) float64 { return commands },
		Pays: func(r *rand.Rand, _ uint32) float64 { return 0.03e9 * (1 + r.Float64()) },
	}
	m := &mart{net: n, plans: market.Plans(n.Slot())}
	if err := n.Trade(market); err != nil {
		tb.Fatal(err)
	}
	var all []*mina.Node
	server := httptest.NewServer(m.counted(n.Node(0)))
	tb.Cleanup(server.Close)
	for range nodes {
		all = append(all, mina.NewNode(server.URL+"/graphql", mina.NodeOptions{}))
	}
	m.tracker = mina.NewTracker(mina.TrackerOptions{Nodes: all, Quorum: 1, MaxTipAge: 24 * time.Hour})
	return m
}

// counted counts what a node is asked of its pool. fails is what a question that it does not
// answer has in it.
func (m *mart) counted(node http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		switch fails := m.fails.Load(); {
		case fails != nil && strings.Contains(text, *fails):
			m.fails.Store(nil) // but the next one does
			http.Error(w, "gone", http.StatusBadGateway)
			return
		case strings.Contains(text, "transactionPoolSize"):
			m.sizes.Add(1)
		case strings.Contains(text, "callDepth"):
			m.pools.Add(1)
		}
		r.Body = io.NopCloser(strings.NewReader(text))
		if m.said == nil || !strings.Contains(text, "callDepth") {
			node.ServeHTTP(w, r)
			return
		}
		if len(*m.said) == 0 {
			record := httptest.NewRecorder()
			node.ServeHTTP(record, r)
			*m.said = record.Body.Bytes()
		}
		_, _ = w.Write(*m.said)
	})
}

// TestOffers: the pool is asked for only where more waits than a block takes, of any node
// that has a vote, and ours are none of the offers.
func TestOffers(t *testing.T) {
	t.Parallel()
	none := func(string) bool { return false }
	quiet := newMart(t, 1, 6)
	if _, _, err := quiet.tracker.Offers(t.Context(), fees.BlockTakes, none); err == nil {
		t.Error("a node that nobody has asked has a vote")
	}
	quiet.tracker.Poll(t.Context())
	size, offers, err := quiet.tracker.Offers(t.Context(), fees.BlockTakes, none)
	if err != nil || size != len(quiet.plans) || size > fees.BlockTakes || offers != nil || quiet.pools.Load() != 0 {
		t.Errorf("quiet: %d, %v, %v; the pool was asked for %d times", size, offers, err, quiet.pools.Load())
	}

	busy := newMart(t, 2, 50)
	busy.tracker.Poll(t.Context())
	ours := busy.plans[3].Payer
	look := func() {
		t.Helper()
		size, offers, err := busy.tracker.Offers(t.Context(), fees.BlockTakes, func(payer string) bool { return payer == ours })
		if err != nil || size != len(busy.plans) || size <= fees.BlockTakes {
			t.Fatalf("busy: %d, %v", size, err)
		}
		var want []fees.Offer
		for _, p := range busy.plans {
			if p.Payer != ours {
				want = append(want, fees.Offer{Fee: p.Fee, Weight: 1 + len(p.Updates)})
			}
		}
		sorted := func(all []fees.Offer) []fees.Offer {
			slices.SortFunc(all, func(a, b fees.Offer) int { return int(a.Fee) - int(b.Fee) })
			return all
		}
		if !slices.Equal(sorted(offers), sorted(want)) {
			t.Errorf("offers %v, want %v", offers, want)
		}
	}
	look()
	for _, fails := range []string{"transactionPoolSize", "callDepth"} {
		busy.fails.Store(&fails)
		look() // another one answers
	}
}

// BenchmarkOffers is a look at a pool that is full: 3,000 commands.
func BenchmarkOffers(b *testing.B) {
	m := newMart(b, 1, 3000)
	m.tracker.Poll(b.Context())
	m.said = new([]byte)
	look := func() {
		size, offers, err := m.tracker.Offers(b.Context(), fees.BlockTakes, func(string) bool { return false })
		if err != nil || len(offers) < 2800 {
			b.Fatal(size, len(offers), err)
		}
	}
	look()
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
	b.ReportMetric(float64(len(*m.said)), "answer-bytes")
}
