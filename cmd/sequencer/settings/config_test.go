package settings

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
)

const (
	keyA = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	keyB = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
)

func known() needs { return needs{Types: []string{"SEND_CLAIM_VOTE", "RECEIVE_VOTES_BATCH"}} }

func TestLoadConfigDefaults(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := read(t.Context(), map[string]string{"SEQUENCER_FEE": "", "PATH": "/bin"}, known())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("loadConfig: %v, warnings %v", err, warnings)
	}
	want := `SEQUENCER_ADDR=127.0.0.1:8080
SEQUENCER_INSECURE=false
SEQUENCER_API_KEYS=
SEQUENCER_API_KEYS_FILE=
SEQUENCER_RATE_LIMIT=0
SEQUENCER_CORS_ORIGINS=
SEQUENCER_TLS_CERT=
SEQUENCER_TLS_KEY=
SEQUENCER_EXPLORER_URL=
SEQUENCER_BODY_LIMIT=1MiB
SEQUENCER_BATCH_LIMIT=32MiB
SEQUENCER_SHUTDOWN_DELAY=0s
SEQUENCER_SHUTDOWN_TIMEOUT=30s
SEQUENCER_REDIS_URL=
SEQUENCER_REDIS_URL_FILE=
SEQUENCER_REDIS_WAIT=auto
SEQUENCER_NAMESPACE=seq
SEQUENCER_MINA_URL=
SEQUENCER_MINA_QUORUM=0
SEQUENCER_MINA_TIMEOUT=30s
SEQUENCER_ARCHIVE_URL=
SEQUENCER_LEDGERS=
SEQUENCER_LEDGER_SLOTS=8
SEQUENCER_LEDGER_TIMEOUT=15s
SEQUENCER_LEDGER_PATIENCE=1h0m0s
SEQUENCER_LEDGER_RETRIES=3
SEQUENCER_LEDGER_DELAY=15s
SEQUENCER_LEDGER_AUTH=
SEQUENCER_LEDGER_AUTH_FILE=
SEQUENCER_SENDERS=
SEQUENCER_SENDERS_FILE=
SEQUENCER_WORKER_TOKEN=
SEQUENCER_WORKER_TOKEN_FILE=
SEQUENCER_MIN_BALANCE=1
SEQUENCER_BALANCE_INTERVAL=1m0s
SEQUENCER_STATE_DIR=
SEQUENCER_PROVERS=
SEQUENCER_PROVERS_FILE=
SEQUENCER_TYPES=
SEQUENCER_WORKER_TYPES=
SEQUENCER_OVERLAP=
SEQUENCER_SIMULATE=
SEQUENCER_WIDTH=1
SEQUENCER_CYCLE_INTERVAL=5s
SEQUENCER_INCLUSION_INTERVAL=10s
SEQUENCER_DISPATCH_TIMEOUT=10m0s
SEQUENCER_CALLBACK_WAIT=2m0s
SEQUENCER_MAX_RETRIES=3
SEQUENCER_RETRY_DELAY=1m0s
SEQUENCER_RETRY_DELAY_MAX=10m0s
SEQUENCER_UNRESOLVED_LIMIT=3
SEQUENCER_CONFIRMATIONS=1
SEQUENCER_SETTLE_DEPTH=15
SEQUENCER_FINALITY=15
SEQUENCER_FEE=0.1
SEQUENCER_FEE_MIN=0.01
SEQUENCER_FEE_TARGET=2
SEQUENCER_BLOCK_ZKAPPS=12
SEQUENCER_FEE_BUMP=1.5
SEQUENCER_FEE_BUMP_ON=retry
SEQUENCER_FEE_MAX=5
SEQUENCER_FEE_LIMIT_SENDER=0
SEQUENCER_FEE_LIMIT=0
SEQUENCER_FEE_LIMIT_QUEUE=0
SEQUENCER_FEE_LIMIT_KEY=0
SEQUENCER_BUMP_AFTER=5
SEQUENCER_VALID_SLOTS=40
SEQUENCER_CLAIM_TTL=15s
SEQUENCER_CLAIM_LIMIT=0
SEQUENCER_RETENTION=168h0m0s
SEQUENCER_RETENTION_FAILED=0s
SEQUENCER_EVENTS_KEEP=24h0m0s
SEQUENCER_MAX_WAITING=0
SEQUENCER_MAX_WAITING_TOTAL=0
SEQUENCER_WEBHOOKS_FILE=
SEQUENCER_WEBHOOKS_PRIVATE=
SEQUENCER_LOG_LEVEL=INFO
SEQUENCER_LOG_FORMAT=
`
	if diff := cmp.Diff(want, cfg.String()); diff != "" {
		t.Error(diff)
	}
	if cfg.Redis.URL.Options() != nil {
		t.Error("no URL must mean the embedded Redis")
	}
}

func TestLoadConfigValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "senders.json")
	if err := os.WriteFile(file, []byte(`[{"accountId":"`+keyB+`","workerUrl":"http://w:2/"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := read(t.Context(), map[string]string{
		"SEQUENCER_ADDR": ":8080", "SEQUENCER_API_KEYS": "ci:admin:a:b:c, ui:read:0123456789abcdef\none:submit@a-|b:0123456789abcde1,two:read@c:x:0123456789abcdef",
		"SEQUENCER_FEE": "0.000000001", "SEQUENCER_FEE_BUMP": "1.000000001", "SEQUENCER_BODY_LIMIT": "2048",
		"SEQUENCER_MINA_URL": "http://a:3085/graphql/,http://b:3085/graphql,https://c/graphql",
		"SEQUENCER_SENDERS":  keyA + "=http://w:1/x=y", "SEQUENCER_SENDERS_FILE": file,
		"SEQUENCER_TYPES": "MY_TYPE,SEND_CLAIM_VOTE", "SEQUENCER_WORKER_TYPES": "MY_TYPE",
		"SEQUENCER_OVERLAP":   "MY_TYPE=commuting,SEND_CLAIM_VOTE=alone",
		"SEQUENCER_RETENTION": "1h30m", "SEQUENCER_LOG_LEVEL": "debug",
	}, needs{Mina: true, Types: []string{"SEND_CLAIM_VOTE"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Sender{{keyA, "http://w:1/x=y"}, {keyB, "http://w:2"}}, cfg.Senders.All()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(apiKeys{
		{"ci", "admin", "a:b:c", nil}, {"ui", "read", "0123456789abcdef", nil},
		{"one", "submit", "0123456789abcde1", queues.Prefixes{"a-", "b"}}, {"two", "read", "x:0123456789abcdef", queues.Prefixes{"c"}},
	}, cfg.HTTP.APIKeys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(overlapModes{"MY_TYPE": dispatcher.Commuting, "SEND_CLAIM_VOTE": dispatcher.Alone}, cfg.Types.Overlap); diff != "" {
		t.Error(diff)
	}
	if cfg.Fee.First.minaFee != 1 || cfg.Fee.Max != 5_000_000_000 || cfg.HTTP.BodyLimit != 2048 || cfg.Keep.Retention != 90*time.Minute ||
		cfg.Mina.MustAgree() != 2 || cfg.Mina.URLs[0] != "http://a:3085/graphql" || cfg.Fee.Bump.String() != "1.000000001" || cfg.Log.Level != slog.LevelDebug {
		t.Errorf("got\n%s", cfg)
	}
}

// badPEM is a file that is there and holds no certificate.
func badPEM(dir string) string {
	name := filepath.Join(dir, "bad.pem")
	if err := os.WriteFile(name, []byte("hush"), 0o600); err != nil {
		panic(err)
	}
	return name
}

// badValues has for every variable what must stop the start. An entry may set
// further variables after a blank: " NAME=value".
func badValues(dir string) map[string][]string {
	durations := []string{"soon", "-1s", "5", "100000h"}
	counts := []string{"x", "-1", "1.5", "99999999999999999999"}
	return map[string][]string{
		"SEQUENCER_ADDR":             {"8080", "localhost", "127.0.0.1:http", "127.0.0.1:70000", "0.0.0.0:8080", ":8080", "[::]:1", "example.org:80"},
		"SEQUENCER_INSECURE":         {"yes please"},
		"SEQUENCER_API_KEYS":         {"x", "a:b", "a:root:k", ":read:k", "a:read:", "a:read:k,b:admin:k", "a:read:k\x01", "a:admin@q:k", "a:submit@:k", "a:submit@q|:k", "a:submit@q q:k", "a~b:submit@q:k", strings.Repeat("a", 65) + ":submit@q:k"},
		"SEQUENCER_API_KEYS_FILE":    append(secretFiles(dir, "SEQUENCER_API_KEYS=a:read:k"), "/none/secret SEQUENCER_ADDR=0.0.0.0:8080"),
		"SEQUENCER_RATE_LIMIT":       append(counts, "1000001"),
		"SEQUENCER_CORS_ORIGINS":     {"*", "app.example", "https://app.example/", "https://*.example", "ftp://app.example", "https://a.example,https://u:p@b.example", "null"},
		"SEQUENCER_TLS_CERT":         {"/none/cert.pem", "/none/cert.pem SEQUENCER_TLS_KEY=/none/key.pem", badPEM(dir) + " SEQUENCER_TLS_KEY=" + badPEM(dir)},
		"SEQUENCER_TLS_KEY":          {"/none/key.pem"},
		"SEQUENCER_EXPLORER_URL":     {"https://x/tx/", "ftp://x/{hash}", "javascript:alert({hash})", "https://u:p@x/{hash}", "{hash}"},
		"SEQUENCER_BODY_LIMIT":       {"1MB", "MiB", "0", "-1", "1.5MiB", "65MiB"},
		"SEQUENCER_BATCH_LIMIT":      {"big", "2GiB"},
		"SEQUENCER_SHUTDOWN_DELAY":   durations,
		"SEQUENCER_SHUTDOWN_TIMEOUT": durations,
		"SEQUENCER_REDIS_URL":        {"localhost:6379", "http://h", "redis://h:port", "redis://u:a#b@h:1", "redis://h#", "redis://h?nonsense=1", "unix:///s,h:1", "redis://a:1/2,b:1", "redis://a:1,b:1/3", "redis://a,redis://u:p@b", ","},
		"SEQUENCER_REDIS_URL_FILE":   append(secretFiles(dir, "SEQUENCER_REDIS_URL=redis://h"), "/none/secret SEQUENCER_REDIS_WAIT=1"),
		"SEQUENCER_REDIS_WAIT":       append(counts, "17", "1", "all"),
		"SEQUENCER_NAMESPACE":        {"a b", "a{b}", "a:b", strings.Repeat("x", 65)},
		"SEQUENCER_MINA_URL":         {"localhost:3085", "ftp://h", "http://", "http://a,http://a", "http://a#b"},
		"SEQUENCER_MINA_QUORUM":      append(counts, "2 SEQUENCER_MINA_URL=http://a"),
		"SEQUENCER_MINA_TIMEOUT":     append(durations, "0s"),
		"SEQUENCER_ARCHIVE_URL":      {"archive", "http://a,http://b"},
		"SEQUENCER_LEDGERS": {"x", "a=http://h:8008", "a=sawtooth+http://u:p@h", "a=splinter+http://h:8080/x",
			"a=sawtooth+http://h,a=sawtooth+http://i"},
		"SEQUENCER_LEDGER_SLOTS":       append(counts, "0", "1025"),
		"SEQUENCER_LEDGER_TIMEOUT":     append(durations, "0s"),
		"SEQUENCER_LEDGER_PATIENCE":    append(durations, "0s"),
		"SEQUENCER_LEDGER_RETRIES":     append(counts, "-1", "11"),
		"SEQUENCER_LEDGER_DELAY":       append(durations, "0s", "25h"),
		"SEQUENCER_LEDGER_AUTH":        {"x", "a=Bearer x", "b=Bearer x SEQUENCER_LEDGERS=a=sawtooth+http://h"},
		"SEQUENCER_LEDGER_AUTH_FILE":   secretFiles(dir, "")[:4],
		"SEQUENCER_SENDERS":            {"x", keyA, keyA + "=", keyA + "=worker:1", "B62qx=http://w", keyA + "=http://w," + keyA + "=http://v", keyA + "=http://u:p@w", keyA + "=http://w?token=1"},
		"SEQUENCER_SENDERS_FILE":       senderFiles(dir),
		"SEQUENCER_WORKER_TOKEN":       {"a b", "ä", "a\n"},
		"SEQUENCER_WORKER_TOKEN_FILE":  secretFiles(dir, "SEQUENCER_WORKER_TOKEN=hushed"),
		"SEQUENCER_STATE_DIR":          {"here", "./there"},
		"SEQUENCER_PROVERS":            {"x", "ftp://p:1", "http://p:1,http://p:1", "http://u:p@p", "http://p?token=1", "http://p/a,http://P:80/a"},
		"SEQUENCER_PROVERS_FILE":       proverFiles(dir),
		"SEQUENCER_TYPES":              {"send_claim_vote", "NO_SUCH", "SEND_CLAIM_VOTE,SEND_CLAIM_VOTE"},
		"SEQUENCER_WORKER_TYPES":       {"my-type", "A,A", "SEND_CLAIM_VOTE", strings.Repeat("A", 65)},
		"SEQUENCER_SIMULATE":           {"my-type", "NO_SUCH", "SEND_CLAIM_VOTE,SEND_CLAIM_VOTE"},
		"SEQUENCER_OVERLAP":            {"SEND_CLAIM_VOTE", "SEND_CLAIM_VOTE=width", "NO_SUCH=chained", "SEND_CLAIM_VOTE=alone,SEND_CLAIM_VOTE=alone"},
		"SEQUENCER_WIDTH":              append(counts, "0", "25"),
		"SEQUENCER_CYCLE_INTERVAL":     append(durations, "0s"),
		"SEQUENCER_INCLUSION_INTERVAL": append(durations, "0s"),
		"SEQUENCER_DISPATCH_TIMEOUT":   append(durations, "0s"),
		"SEQUENCER_CALLBACK_WAIT":      durations,
		"SEQUENCER_MAX_RETRIES":        append(counts, "1001"),
		"SEQUENCER_RETRY_DELAY":        append(durations, "11m", "2m SEQUENCER_RETRY_DELAY_MAX=1m"),
		"SEQUENCER_RETRY_DELAY_MAX":    append(durations, "25h"),
		"SEQUENCER_UNRESOLVED_LIMIT":   append(counts, "0"),
		"SEQUENCER_CONFIRMATIONS":      append(counts, "0"),
		"SEQUENCER_SETTLE_DEPTH":       append(counts, "0"),
		"SEQUENCER_FINALITY":           append(counts, "0", "4 SEQUENCER_CONFIRMATIONS=5"),
		"SEQUENCER_FEE":                {"much", "-1", "0", "1e3", "0.0000000001", "5.1", "99999999999999"},
		"SEQUENCER_FEE_BUMP":           {"1", "0.9", "-2", "101", "1e1", "1/2", ".", "NaN", strings.Repeat("9", 21)},
		"SEQUENCER_FEE_BUMP_ON":        {"never", "PRICE"},
		"SEQUENCER_FEE_MAX":            {"x", "0"},
		"SEQUENCER_FEE_MIN":            {"x", "-1", "0", "5.1 SEQUENCER_FEE=auto"},
		"SEQUENCER_FEE_TARGET":         {"x", "0", "21"},
		"SEQUENCER_BLOCK_ZKAPPS":       {"x", "0", "129"},
		"SEQUENCER_FEE_LIMIT_SENDER":   {"x", "-1", "4.9", "0.09 SEQUENCER_FEE_MAX=0.1"},
		"SEQUENCER_FEE_LIMIT":          {"x", "-1", "4.9"},
		"SEQUENCER_FEE_LIMIT_QUEUE":    {"x", "-1", "4.9"},
		"SEQUENCER_FEE_LIMIT_KEY":      {"x", "-1", "4.9"},
		"SEQUENCER_MIN_BALANCE":        {"x", "-1", "0.0000000001"},
		"SEQUENCER_BALANCE_INTERVAL":   append(durations, "0s", "2h"),
		"SEQUENCER_BUMP_AFTER":         append(counts, "0"),
		"SEQUENCER_VALID_SLOTS":        append(counts, "0"),
		"SEQUENCER_CLAIM_TTL":          append(durations, "1ms"),
		"SEQUENCER_CLAIM_LIMIT":        counts,
		"SEQUENCER_RETENTION":          append(durations, "0s"),
		"SEQUENCER_RETENTION_FAILED":   durations,
		"SEQUENCER_EVENTS_KEEP":        append(durations, "0s"),
		"SEQUENCER_MAX_WAITING":        counts,
		"SEQUENCER_MAX_WAITING_TOTAL":  counts,
		"SEQUENCER_WEBHOOKS_FILE":      webhookFiles(dir),
		"SEQUENCER_WEBHOOKS_PRIVATE":   {"10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "intern", "fe80::%1/64"},
		"SEQUENCER_LOG_LEVEL":          {"loud"},
		"SEQUENCER_LOG_FORMAT":         {"xml"},
	}
}

func TestLoadConfigBadValues(t *testing.T) {
	t.Parallel()
	table := badValues(t.TempDir())
	for _, v := range variables(&Config{}) {
		values := table[v.name]
		if len(values) == 0 || v.wants == "" || v.means == "" {
			t.Errorf("%s has no bad value, no wants or no means", v.name)
		}
		for _, value := range values {
			env := map[string]string{}
			value, more, _ := strings.Cut(value, " SEQUENCER_")
			env[v.name] = value
			if name, text, ok := strings.Cut(more, "="); ok {
				env["SEQUENCER_"+name] = text
			}
			_, _, err := read(t.Context(), env, known())
			bad, ok := errors.AsType[*Error](err)
			if !ok {
				t.Errorf("%v was accepted (%v)", env, err)
				continue
			}
			var names []string
			for _, p := range bad.Problems {
				names = append(names, p.Name)
			}
			if diff := cmp.Diff([]string{v.name}, names); diff != "" {
				t.Errorf("%v: %s", env, diff)
			}
			if text := err.Error(); !strings.Contains(text, v.wants) || strings.Contains(text, "hush") {
				t.Errorf("%v: error does not say what is wanted, or too much: %s", env, text)
			}
		}
		delete(table, v.name)
	}
	if len(table) > 0 {
		t.Errorf("bad values for variables that do not exist: %v", slices.Collect(maps.Keys(table)))
	}
}

func TestLoadConfigReportsAllAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := read(t.Context(), map[string]string{
		"SEQUENCER_FEE_BUMP": "0.9", "SEQUENCER_CLAIM_TTL": "now", "SEQUENCER_MAX_RETRIES": "many", "SEQUENCER_REDIS_URL": "redis://:hush@h:x",
	}, needs{Mina: true})
	if err == nil {
		t.Fatal("accepted")
	}
	want := `5 bad setting(s):
  SEQUENCER_REDIS_URL="***" is no redis://, rediss:// or unix:// address with known options; it wants redis://, rediss:// or unix://; host:port,… after it: Cluster; ?master_name=…: Sentinel
  SEQUENCER_MINA_URL is not set; it wants http:// or https:// GraphQL addresses, comma-separated
  SEQUENCER_MAX_RETRIES="many" cannot be read; it wants a number from 0 to 1000
  SEQUENCER_FEE_BUMP="0.9" is out of range: a fee that does not rise is never taken instead of the one before; it wants a decimal number above 1 and at most 100
  SEQUENCER_CLAIM_TTL="now" cannot be read; it wants a duration from 100ms to 10m`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestConfigWarnings(t *testing.T) {
	t.Parallel()
	_, warnings, err := read(t.Context(), map[string]string{
		"SEQUENCER_REDIS_ULR": "x", "SEQUENCER_URL": "http://x", "SEQUENCER_SOMETHING_ELSE": "1", "SEQUENCER_API_KEYS": "ci:read:short",
		"SEQUENCER_CONFIRMATIONS": "4", "SEQUENCER_SETTLE_DEPTH": "3", "SEQUENCER_BATCH_LIMIT": "512KiB",
		"SEQUENCER_MINA_URL": "http://a,http://b",
	}, known())
	want := []string{
		"the API key named ci is shorter than 16 characters, so it can be guessed: make one by 'openssl rand -base64 32'",
		"SEQUENCER_BODY_LIMIT is above SEQUENCER_BATCH_LIMIT: the largest transactions fit into no batch",
		"SEQUENCER_MINA_URL names two nodes, and by default both must agree: while one is away or not synced, " +
			"nothing is bound and nothing ends; name three, of which one may be away, or one, or set SEQUENCER_MINA_QUORUM",
		"SEQUENCER_SETTLE_DEPTH is less than SEQUENCER_CONFIRMATIONS: at most one effect is promised against shallower reorgs than order is",
		"SEQUENCER_REDIS_ULR is not a setting, did you mean SEQUENCER_REDIS_URL?",
		"SEQUENCER_SOMETHING_ELSE is not a setting",
	}
	if diff := cmp.Diff(want, warnings); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestNodesToSpare: one node, three, and two of which somebody has said how many must agree,
// are as they are meant.
func TestNodesToSpare(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{"SEQUENCER_MINA_URL": "http://a"}, {"SEQUENCER_MINA_URL": "http://a,http://b,http://c"},
		{"SEQUENCER_MINA_URL": "http://a,http://b", "SEQUENCER_MINA_QUORUM": "1"},
		{"SEQUENCER_MINA_URL": "http://a,http://b", "SEQUENCER_MINA_QUORUM": "2"},
	} {
		if _, warnings, err := read(t.Context(), env, known()); err != nil || len(warnings) > 0 {
			t.Errorf("%v: %v, warnings %q", env, err, warnings)
		}
	}
}

func TestAddrMayBePublic(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{"SEQUENCER_ADDR": "0.0.0.0:1", "SEQUENCER_INSECURE": "true"}, {"SEQUENCER_ADDR": ":1", "SEQUENCER_API_KEYS": "a:read:k"},
		{"SEQUENCER_ADDR": "localhost:0"}, {"SEQUENCER_ADDR": "[::1]:1"}, {"SEQUENCER_ADDR": "127.9.9.9:1"},
	} {
		if _, _, err := read(t.Context(), env, known()); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}

// The flag is only read here, so it may stay local to the package's tests.
var update = flag.Bool("update", false, "rewrite generated documentation")

const tableStart, tableEnd = "<!-- settings: written by go test ./cmd/sequencer/settings -update -->\n", "<!-- end of settings -->\n"

func TestConfigurationDocs(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "docs", "configuration.md")
	old, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(old), tableStart)
	_, tail, _ := strings.Cut(rest, tableEnd)
	if len(old) == 0 {
		head = "# Configuration\n\n"
	}
	want := head + tableStart + configTable() + tableEnd + tail
	if want == string(old) {
		return
	}
	if !*update {
		t.Fatalf("docs/configuration.md is stale: run go test ./cmd/sequencer/settings -update\n%s", cmp.Diff(string(old), want))
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// proverFiles are files that name no provers.
func proverFiles(dir string) (bad []string) {
	for i, text := range []string{"", "{}", "[1]", `[{"url":"p"}]`, `[{"url":"http://p","key":"x"}]`, `[{"id":"a b","url":"http://p"}]`,
		`[{"url":"http://p"},{"id":"p:80","url":"http://q"}]`} {
		name := filepath.Join(dir, fmt.Sprintf("provers%d.json", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			panic(err)
		}
		bad = append(bad, name)
	}
	return append(bad, filepath.Join(dir, "nowhere"))
}
