package serve

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/sequencer/lifecycle"
)

// TestWiring: each setting reaches the part that it is for. All have values of their own,
// so that none can stand in another's place.
func TestWiring(t *testing.T) {
	t.Parallel()
	s := wired(t, map[string]string{
		"SEQUENCER_CYCLE_INTERVAL": "1s", "SEQUENCER_INCLUSION_INTERVAL": "2s", "SEQUENCER_DISPATCH_TIMEOUT": "3s",
		"SEQUENCER_CALLBACK_WAIT": "4s", "SEQUENCER_MAX_RETRIES": "5", "SEQUENCER_RETRY_DELAY": "6s",
		"SEQUENCER_RETRY_DELAY_MAX": "7s", "SEQUENCER_UNRESOLVED_LIMIT": "8", "SEQUENCER_CONFIRMATIONS": "9",
		"SEQUENCER_SETTLE_DEPTH": "10", "SEQUENCER_FINALITY": "11", "SEQUENCER_FEE": "0.012", "SEQUENCER_FEE_MAX": "0.013",
		"SEQUENCER_FEE_BUMP": "1.5", "SEQUENCER_BUMP_AFTER": "15", "SEQUENCER_VALID_SLOTS": "16", "SEQUENCER_CLAIM_TTL": "17s",
		"SEQUENCER_CLAIM_LIMIT": "18", "SEQUENCER_RETENTION": "19s", "SEQUENCER_EVENTS_KEEP": "20s",
		"SEQUENCER_MAX_WAITING": "21", "SEQUENCER_MAX_WAITING_TOTAL": "22", "SEQUENCER_BALANCE_INTERVAL": "23s",
		"SEQUENCER_MIN_BALANCE": "0.024", "SEQUENCER_FEE_LIMIT": "0.025", "SEQUENCER_FEE_LIMIT_SENDER": "0.026",
		"SEQUENCER_FEE_LIMIT_QUEUE": "0.027", "SEQUENCER_FEE_LIMIT_KEY": "0.028", "SEQUENCER_FEE_MIN": "0.011", "SEQUENCER_FEE_TARGET": "3",
		"SEQUENCER_BLOCK_ZKAPPS":     "25",
		"SEQUENCER_SHUTDOWN_TIMEOUT": "27s", "SEQUENCER_BODY_LIMIT": "28KiB", "SEQUENCER_BATCH_LIMIT": "30KiB",
		"SEQUENCER_RETENTION_FAILED": "31s", "SEQUENCER_LEDGER_PATIENCE": "32s", "SEQUENCER_LEDGER_RETRIES": "4", "SEQUENCER_LEDGER_DELAY": "33s",
		"SEQUENCER_WIDTH":       "24",
		"SEQUENCER_FEE_BUMP_ON": "price",
		"SEQUENCER_NAMESPACE":   "ns", "SEQUENCER_MINA_URL": "http://127.0.0.1:1/graphql", "SEQUENCER_STATE_DIR": t.TempDir(),
	})
	want := lifecycle.Policy{
		CycleInterval: time.Second, InclusionInterval: 2 * time.Second, DispatchTimeout: 3 * time.Second,
		CallbackWait: 4 * time.Second, MaxRetries: 5, RetryDelay: 6 * time.Second, RetryDelayMax: 7 * time.Second,
		Confirmations: 9, SettleDepth: 10, Finality: 11, Fee: 12_000_000, FeeMax: 13_000_000, FeeBump: 1.5, BumpAfter: 15,
		ValidSlots: 16, ClaimTTL: 17 * time.Second, ClaimLimit: 18, Retention: 19 * time.Second,
		BalanceInterval: 23 * time.Second, MinBalance: 24_000_000, FeeLimit: 25_000_000, FeeLimitSender: 26_000_000,
		FeeLimitQueue: 27_000_000, FeeLimitKey: 28_000_000, FeeMin: 11_000_000, FeeTarget: 3, BlockZkapps: 25,
		ShutdownTimeout: 27 * time.Second, RetentionFailed: 31 * time.Second, LedgerPatience: 32 * time.Second,
		LedgerRetries: 4, LedgerDelay: 33 * time.Second,
		Width: lifecycle.MostWidth, SendGap: 5 * time.Second, UnresolvedLimit: 8, BumpOnPrice: true,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[lifecycle.Policy]()) {
		if reflect.ValueOf(want).FieldByIndex(f.Index).IsZero() && f.Name != "RetryDepth" && f.Name != "FeeAuto" {
			t.Errorf("nothing sets %s", f.Name)
		}
	}
	if diff := cmp.Diff(want, s.sequencer.Policy); diff != "" {
		t.Errorf("the policy (-want +got):\n%s", diff)
	}
	stored := []any{s.store.Namespace, s.store.Retention, s.store.EventsKeep, s.store.MaxWaiting, s.store.MaxWaitingInAll, s.store.UnresolvedLimit}
	if diff := cmp.Diff([]any{"ns", 19 * time.Second, 20 * time.Second, 21, 22, 8}, stored); diff != "" {
		t.Errorf("the store (-want +got):\n%s", diff)
	}
	if s.sequencer.Namespace != "ns" {
		t.Errorf("memos are made for %q", s.sequencer.Namespace)
	}
	for path, most := range map[string]int{"/api/v1/transactions": 28 << 10, "/api/v1/transactions/batch": 30 << 10} {
		for more, want := range map[int]bool{-1: false, 1: true} {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+path, strings.NewReader("["+strings.Repeat(" ", most+more-2)+"]"))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			if got := w.Code == http.StatusRequestEntityTooLarge; got != want {
				t.Errorf("%d bytes to %s: %d %s", most+more, path, w.Code, w.Body)
			}
		}
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://evil.example/api/v1/queues", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("without keys another name is answered: %d %s", w.Code, w.Body)
	}
}

// TestHosts: whatever a process talks to by its settings is known to the API, which hides it.
func TestHosts(t *testing.T) {
	t.Parallel()
	cfg, _, err := settings.Load(t.Context(), map[string]string{
		"SEQUENCER_REDIS_URL": "redis://redis-1:6379,redis-2:6379", "SEQUENCER_MINA_URL": "http://mina-1:3085/graphql,http://mina-2:3085/graphql",
		"SEQUENCER_ARCHIVE_URL": "http://archive:8282", "SEQUENCER_LEDGERS": "saw=sawtooth+http://validator:8008",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"redis-1:6379", "redis-2:6379", "mina-1:3085", "mina-2:3085", "archive:8282", "validator:8008"}
	if diff := cmp.Diff(want, hosts(cfg)); diff != "" {
		t.Error(diff)
	}
}
