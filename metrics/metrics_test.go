package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/metrics"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

var update = flag.Bool("update", false, "rewrite generated documentation")

// A bench is figures over a store that nothing drives.
type bench struct {
	*testing.T
	metrics *metrics.Metrics
	client  *redis.Client
	store   *queues.Store
	pool    *senders.Pool
}

func newBench(t *testing.T, client *redis.Client) *bench {
	t.Helper()
	return newBenchWith(t, client, nil, mina.NewNode("http://127.0.0.1:1/graphql", mina.NodeOptions{}))
}

func newBenchWith(t *testing.T, client *redis.Client, ledgers map[string]ledger.Ledger, nodes ...*mina.Node) *bench {
	t.Helper()
	o := metrics.Options{Version: "v1", MinBalance: 1_000_000_000, FeeLimit: 2_500_000_000}
	o.Beginning = regexp.MustCompile(`^q-\d+-`).FindString
	b := &bench{T: t, client: client, metrics: metrics.New(o)}
	var err error
	b.store, err = queues.Open(client, queues.Options{Namespace: "test", Observe: b.metrics.Script})
	b.ok(err)
	b.pool = senders.New(b.store, client)
	chain := mina.NewTracker(mina.TrackerOptions{Nodes: nodes})
	b.metrics.Watch(metrics.Sources{
		Store: b.store, Senders: b.pool, Provers: b.provers(), Chain: chain, Webhooks: webhooks.New(webhooks.Options{Store: b.store}), Types: []string{"MINT"}, Log: slog.New(slog.DiscardHandler),
		Sequencer: sequencer.New(sequencer.Options{Store: b.store, Senders: b.pool, Chain: chain, Types: new(dispatcher.Registry), Ledgers: ledgers}),
	})
	return b
}

// provers are a pool of one that has not said anything yet.
func (b *bench) provers() *provers.Pool {
	p := provers.New(provers.Options{Store: b.store})
	b.ok(p.Register(b.Context(), "p", "http://p"))
	return p
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) post(queue, uid string) {
	b.Helper()
	b.ok(b.store.Enqueue(b.Context(), queues.Item{UID: uid, Queue: queue, Type: "MINT", Data: json.RawMessage(`{}`)}).Err)
}

func (b *bench) scrape() string {
	b.Helper()
	w := httptest.NewRecorder()
	b.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// want wants these lines in a scrape.
func (b *bench) want(text string, lines ...string) {
	b.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			b.Errorf("no %s in\n%s", line, ours(text))
		}
	}
}

func ours(text string) string {
	return strings.Join(regexp.MustCompile(`(?m)^sequencer_.*$`).FindAllString(text, -1), "\n")
}

// TestShared: what all processes share is read from the store.
func TestShared(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.Mini(t).Client)
	_, err := b.store.Heartbeat(t.Context(), "me", time.Minute, "")
	b.ok(err)
	b.ok(b.pool.Register(t.Context(), "B62a", "http://a"))
	b.ok(b.pool.Register(t.Context(), "B62b", "http://b"))
	b.ok(b.pool.Watch(t.Context(), "B62a", 12_500_000_000, ""))
	b.ok(b.pool.Watch(t.Context(), "B62b", 1, "too little"))
	b.post("q1", "a")
	b.post("q1", "b")
	b.post("q2", "c")
	bound, err := b.store.Bind(t.Context(), queues.BindRequest{Process: "me", Types: []string{"MINT"}, Groups: []string{senders.Shared}, Most: 9, Grace: time.Minute})
	b.ok(err)
	x := bound[0].Transaction
	planned := x.Clone()
	planned.Attempts = []tx.Attempt{{Number: 1, Sender: x.Sender, Nonce: 7, Fee: 300_000_000, State: tx.Planned}}
	c := &queues.Change{Before: x, After: planned, Now: time.Now()}
	c.Remove, c.NextNonce = queues.Never, new(uint32(7))
	_, err = b.store.Advance(t.Context(), c)
	b.ok(err)
	b.want(b.scrape(),
		`sequencer_store_up 1`, `sequencer_transactions{state="WAITING"} 2`, `sequencer_transactions{state="DISPATCHING"} 1`,
		`sequencer_transactions{state="UNRESOLVED"} 0`, `sequencer_waiting{type="MINT"} 2`, `sequencer_bound{type="MINT"} 1`,
		`sequencer_ready_queues{type="MINT"} 1`, `sequencer_queues 2`, `sequencer_processes 1`,
		`sequencer_senders{reason="",state="BLOCKED"} 1`, `sequencer_senders{reason="LOW_BALANCE",state="FREE"} 1`,
		`sequencer_sender_available{sender="B62a"} 1`, `sequencer_sender_available{sender="B62b"} 0`,
		`sequencer_sender_balance_mina{sender="B62a"} 12.5`, `sequencer_sender_balance_mina{sender="B62b"} 1e-09`,
		`sequencer_sender_nonce{sender="B62a"} 7`, `sequencer_sender_fees_today_mina{sender="B62a"} 0.3`,
		`sequencer_min_balance_mina 1`, `sequencer_fee_limit_mina{of="all"} 2.5`, `sequencer_fee_limit_mina{of="sender"} 0`,
		`sequencer_build_info{commit="",go="`+goVersion(t)+`",version="v1"} 1`,
		`sequencer_provers{reason=""} 0`, `sequencer_provers{reason="RESTED"} 1`, `sequencer_provers_load 0`,
		`sequencer_live 0`, `sequencer_claims 0`, `sequencer_chain_quorum 0`,
		`sequencer_stalled{cause="network"} 0`, `sequencer_stalled{cause="gateway"} 0`, `sequencer_stalled_seconds{cause="nodes"} 0`,
		`sequencer_errors_total{class="settled",type="MINT"} 0`, `sequencer_script_calls_total{script="enqueue"} 3`,
	)
}

// TestLedgersShown: batches are shown by their ledger; and where no Mina node is configured,
// there is no chain that could be out of order.
func TestLedgersShown(t *testing.T) {
	t.Parallel()
	saw, err := ledger.New(ledger.Target{Name: "saw", Protocol: ledger.Sawtooth, URL: "http://127.0.0.1:1"}, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchWith(t, redistest.Mini(t).Client, map[string]ledger.Ledger{"saw": saw})
	_, err = b.store.Heartbeat(t.Context(), "me", time.Minute, "")
	b.ok(err)
	b.ok(b.pool.Configure(t.Context(), map[string]string{"saw/1": "http://s"}))
	for _, uid := range []string{"a", "b", "c"} {
		b.ok(b.store.Enqueue(t.Context(), queues.Item{
			UID: uid, Queue: uid, Type: "SUBMIT_BATCH", Ledger: "saw", BatchID: uid, Data: json.RawMessage(`{}`)}).Err)
	}
	_, err = b.store.Bind(t.Context(), queues.BindRequest{Process: "me", Types: []string{"SUBMIT_BATCH"}, Ledger: "saw",
		Groups: []string{senders.LedgerGroup("saw")}, Most: 9, Grace: time.Minute})
	b.ok(err)
	meter := b.metrics.Sequencer()
	meter.Posted(sequencer.Post{Ledger: "saw", Answer: "busy", Took: 2 * time.Second})
	meter.Moved(sequencer.Move{Type: "SUBMIT_BATCH", Ledger: "saw", From: tx.PhaseWatching, To: tx.PhaseDone, Lasted: -1, Age: -1})
	meter.Moved(sequencer.Move{Type: "SUBMIT_BATCH", Ledger: "saw", From: tx.PhaseWaiting, To: tx.PhaseDispatching, Lasted: -1, Age: -1})
	text := b.scrape()
	b.want(text,
		`sequencer_ledger_waiting{ledger="saw"} 2`, `sequencer_ledger_in_flight{ledger="saw"} 1`, `sequencer_ledger_followed{ledger="saw"} 0`,
		`sequencer_ledger_status_seconds{ledger="saw"} 0`, `sequencer_ledger_post_seconds_sum{answer="busy",ledger="saw"} 2`,
		`sequencer_ledger_post_seconds_count{answer="accepted",ledger="saw"} 0`, `sequencer_ledger_verdicts_total{ledger="saw",verdict="committed"} 1`,
		`sequencer_ledger_verdicts_total{ledger="saw",verdict="invalid"} 0`, `sequencer_waiting{type="SUBMIT_BATCH"} 2`,
	)
	for _, absent := range []string{"sequencer_chain_", "sequencer_node_", "sequencer_ledger_up"} {
		if strings.Contains(text, "\n"+absent) {
			t.Errorf("%s… is shown, and nothing is known of it", absent)
		}
	}
}

func goVersion(t *testing.T) string {
	t.Helper()
	info := regexp.MustCompile(`go_info\{version="([^"]+)"\}`).FindStringSubmatch(newBench(t, redistest.Mini(t).Client).scrape())
	if info == nil {
		t.Fatal("nothing of the Go runtime")
	}
	return info[1]
}

// TestStoreDown: without Redis what the process knows by itself is still shown.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	mini := redistest.Mini(t)
	b := newBench(t, mini.Client)
	b.want(b.scrape(), `sequencer_store_up 1`, `sequencer_queues 0`)
	b.ok(b.client.Close())
	text := b.scrape()
	b.want(text, `sequencer_store_up 0`, `sequencer_live 0`, `sequencer_takeovers_total 0`)
	if strings.Contains(text, "sequencer_queues") || strings.Contains(text, "sequencer_transactions") {
		t.Errorf("figures of a store that does not answer:\n%s", ours(text))
	}
}

// TestHooks: what the other packages tell is counted.
func TestHooks(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.Mini(t).Client)
	meter, api := b.metrics.Sequencer(), b.metrics.API()
	move := func(failure string, from, to tx.Phase, retry bool, lasted, age time.Duration) {
		meter.Moved(sequencer.Move{Type: "MINT", Failure: failure, From: from, To: to, Retry: retry, Lasted: lasted, Age: age})
	}
	move("", tx.PhaseWaiting, tx.PhaseDispatching, false, 3*time.Second, 3*time.Second)
	move("error", tx.PhaseDispatching, tx.PhaseFailing, false, 2*time.Second, 5*time.Second)
	move("", tx.PhaseFailing, tx.PhaseDelayed, false, 0, 5*time.Second)
	move("", tx.PhaseDelayed, tx.PhaseDispatching, true, 60*time.Second, 65*time.Second)
	move("", tx.PhaseWaiting, tx.PhaseDispatching, false, -1, time.Second)
	move("", tx.PhaseWatching, tx.PhaseDone, false, 20*time.Second, 90*time.Second)
	meter.Moved(sequencer.Move{Type: "MINT", Orphaned: true, From: tx.PhaseDone, To: tx.PhaseDone, Lasted: -1, Age: time.Hour})
	meter.Included(sequencer.Inclusion{Type: "MINT", Sender: "B62a", Fee: 150_000_000, Waited: 40 * time.Second, Blocks: 2})
	meter.Included(sequencer.Inclusion{Type: "MINT", Sender: "B62a", Fee: 100_000_000, Waited: time.Hour, Failed: true, Touched: []tx.Account{{Key: "B62z"}}})
	meter.Included(sequencer.Inclusion{Type: "VOTE", Sender: "B62b", Beside: true})
	meter.Called(sequencer.WorkerCall{Type: "MINT", Call: "prove", Took: 2 * time.Second})
	meter.Called(sequencer.WorkerCall{Type: "MINT", Call: "prove", Took: time.Second, Failed: true})
	meter.Raised("MINT")
	meter.TookOver(3)
	api.Request(http.MethodPost, "/api/v1/transactions", 202, time.Millisecond)
	api.Request("BREW", "", 405, time.Millisecond)
	api.Request(http.MethodGet, "/api/v1/events", 200, time.Hour)
	api.Following(1)
	api.Following(1)
	api.Following(-1)
	api.WrongKey("login")
	for i := range 200 {
		api.Posted(fmt.Sprint("shop-", i), fmt.Sprintf("q-%d-x", i), "accepted")
	}
	api.Posted("shop-0", "", "refused")
	api.Posted("", "elsewhere", "existed")
	meter.Moved(sequencer.Move{Type: "MINT", Queue: "q-1-x", Key: "shop-1", From: tx.PhaseFailing, To: tx.PhaseFailed,
		Lasted: -1, Age: -1})
	text := b.scrape()
	b.want(text,
		`sequencer_state_seconds_sum{state="WAITING",type="MINT"} 3`, `sequencer_state_seconds_count{state="WAITING",type="MINT"} 1`,
		`sequencer_state_seconds_sum{state="RETRY",type="MINT"} 60`, `sequencer_state_seconds_sum{state="REVISION",type="MINT"} 20`,
		`sequencer_transaction_seconds_sum{state="DONE",type="MINT"} 90`, `sequencer_transaction_seconds_count{state="FAILED",type="MINT"} 0`,
		`sequencer_retries_total{type="MINT"} 1`, `sequencer_errors_total{class="error",type="MINT"} 1`, `sequencer_reopened_total{type="MINT"} 1`,
		`sequencer_fees_paid_mina_total{outcome="landed",sender="B62a"} 0.15`, `sequencer_fees_paid_mina_total{outcome="failed",sender="B62a"} 0.1`,
		`sequencer_landed_total{beside="no",type="MINT"} 1`, `sequencer_landed_total{beside="yes",type="VOTE"} 1`,
		`sequencer_inclusion_seconds_sum{type="MINT"} 40`, `sequencer_inclusion_blocks_sum{type="MINT"} 2`,
		`sequencer_worker_call_seconds_sum{call="prove",outcome="ok",type="MINT"} 2`, `sequencer_worker_call_seconds_sum{call="prove",outcome="failed",type="MINT"} 1`,
		`sequencer_zkapp_commands_total{outcome="failed",zkapp="B62z"} 1`, `sequencer_fee_raises_total{type="MINT"} 1`, `sequencer_takeovers_total 3`, `sequencer_event_clients 1`,
		`sequencer_posted_total{key="shop-99",outcome="accepted",prefix="q-99-"} 1`,
		`sequencer_posted_total{key="shop-0",outcome="refused",prefix="none"} 1`,
		`sequencer_posted_total{key="other",outcome="accepted",prefix="other"} 100`,
		`sequencer_posted_total{key="none",outcome="existed",prefix="none"} 1`,
		`sequencer_ended_total{key="shop-1",prefix="q-1-",state="FAILED"} 1`, `sequencer_ended_total{key="none",prefix="none",state="DONE"} 1`,
		`sequencer_wrong_keys_total{way="login"} 1`, `sequencer_wrong_keys_total{way="program"} 0`,
		`sequencer_http_requests_total{method="POST",route="/api/v1/transactions",status="202"} 1`,
		`sequencer_http_requests_total{method="other",route="none",status="405"} 1`,
		`sequencer_http_requests_total{method="GET",route="/api/v1/events",status="200"} 1`,
	)
	if strings.Contains(text, `request_seconds_count{route="/api/v1/events"}`) {
		t.Error("a stream counts as a slow request")
	}
}

// TestCostOfScrape: what a scrape asks of Redis, and how much it shows, does not
// grow with queues or transactions, and shows neither.
func TestCostOfScrape(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.Start(t).Client)
	cost := func() (commands, series int) {
		b.Helper()
		b.ok(b.client.ConfigResetStat(t.Context()).Err())
		text := b.scrape()
		stats := b.client.Info(t.Context(), "commandstats").Val()
		for _, m := range regexp.MustCompile(`cmdstat_[^i]\S*:calls=(\d+),`).FindAllStringSubmatch(stats, -1) {
			n, err := strconv.Atoi(m[1])
			b.ok(err)
			commands += n
		}
		if strings.Contains(text, "the-queue") || strings.Contains(text, "the-uid") {
			t.Error("a queue or a uid is shown")
		}
		return commands, strings.Count(ours(text), "\n")
	}
	grow := func(from, to int) {
		b.Helper()
		var items []queues.Item
		for i := from; i < to; i++ {
			items = append(items, queues.Item{UID: fmt.Sprint("the-uid-", i), Queue: fmt.Sprint("the-queue-", i/2), Type: "MINT", Data: json.RawMessage(`{}`)})
		}
		for _, a := range b.store.EnqueueBatch(t.Context(), items) {
			b.ok(a.Err)
		}
	}
	b.ok(b.pool.Register(t.Context(), "B62a", "http://a"))
	grow(0, 200) // of so many queues the first 64 are looked at
	cost()       // loads the scripts
	few, shown := cost()
	grow(200, 5000)
	many, shownOfMany := cost()
	if few == 0 || few > 200 || many != few || shown != shownOfMany {
		t.Errorf("%d commands and %d series for 100 queues, %d and %d for 2,500", few, shown, many, shownOfMany)
	}
}

// TestReference keeps the list of figures in the documentation.
func TestReference(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.Watch(metrics.Sources{})
	var want strings.Builder
	want.WriteString(`# Metrics

Written by ` + "`go test ./metrics -update`" + `. ` + "`GET /metrics`" + ` shows them, beside those of the Go runtime (` + "`go_…`) and of the process (`process_…`" + `). *Over processes* says what those of one namespace make together: the *sum*, where each shows its own part; the *max*, where all show the same; *max or min*, where it is a setting or what a process sees.

| metric | kind | labels | over processes | what it is |
|---|---|---|---|---|
`)
	for _, f := range m.Figures() {
		labels := strings.Join(f.Labels, ", ")
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Kind, labels, f.Over, f.Help)
	}
	file := filepath.Join(monitoring, "metrics.md")
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), want.String()); diff != "" {
		t.Errorf("docs/monitoring/metrics.md is stale: run go test ./metrics -update\n%s", diff)
	}
}
