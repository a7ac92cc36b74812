package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/ledger/devledger"
)

// schema is that of Grid's table of batches.
const schema = `CREATE TABLE batches (
	header_signature TEXT PRIMARY KEY, data_change_id TEXT, signer_public_key TEXT NOT NULL, trace BOOLEAN NOT NULL,
	serialized_batch TEXT NOT NULL, submitted BOOLEAN NOT NULL, submission_error TEXT, submission_error_message TEXT,
	dlt_status TEXT, claim_expires TIMESTAMP, created TIMESTAMP DEFAULT CURRENT_TIMESTAMP, service_id TEXT)`

// TestRows moves the rows of a real database through a real sequencer to simulated ledgers,
// with the program stopped and started again on the way.
func TestRows(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Fatal("sqlite3 is needed: scripts/setup.sh installs it")
	}
	t.Run("SQLite", func(t *testing.T) { moves(t, filepath.Join(t.TempDir(), "grid.sqlite")) })
	t.Run("PostgreSQL", func(t *testing.T) {
		place := os.Getenv("GRID_TEST_POSTGRES")
		if place == "" {
			place = startPostgres(t)
		}
		moves(t, place)
	})
}

// must ends the test at an error.
func must(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func moves(t *testing.T, place string) {
	sawtooth, splinter, url, log := world(t)
	db := open(place)
	ok := must(t)
	ok(db.exec(t.Context(), schema))
	signer := devledger.NewSigner(3)
	want, ids := map[string]string{}, map[string][]string{}
	insert := func(service, name, payload, list, status string) {
		made := signer.Batch(name, payload)
		if list == "" {
			list = hex.EncodeToString(made.List)
		}
		ok(db.exec(t.Context(), fmt.Sprintf("INSERT INTO batches (header_signature, data_change_id, signer_public_key, "+
			"trace, serialized_batch, submitted, service_id) VALUES (%s, %s, %s, FALSE, %s, FALSE, %s)",
			quote(made.ID), quote("change "+name), quote(signer.PublicKey()), quote(list), quote(service))))
		want[made.ID] = status
		if status == "Committed" {
			ids[service] = append(ids[service], made.ID)
		}
	}
	for i := range 8 {
		for _, service := range []string{"", devledger.DefaultService} {
			insert(service, fmt.Sprint(service, i), "set", "", "Committed")
		}
	}
	insert("", "bad", "INVALID", "", "Invalid")
	insert("", "cut", "set", "0a05", "")
	args := []string{"--db", place, "--ledger", "saw", "--services", devledger.DefaultService + "=scab", "--once"}
	env := func(name string) string { return map[string]string{"SEQUENCER_URL": url}[name] }
	for round, end := 1, time.Now().Add(patience); ; round++ {
		// It is stopped in the middle of most rounds, later each time.
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(round)*20*time.Millisecond)
		_ = run(ctx, args, env)
		stop()
		rows, err := db.query(t.Context(), "SELECT header_signature, dlt_status, submission_error, "+
			"submission_error_message FROM batches")
		ok(err)
		wrong := ""
		for _, r := range rows {
			if status := want[r.text("header_signature")]; status != r.text("dlt_status") ||
				(status == "Committed") != (r.text("submission_error") == "") {
				wrong = fmt.Sprint(r)
			}
		}
		if wrong == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("in the end a row is %s; the sequencer has said\n%s", wrong, log)
		}
	}
	for service, effects := range map[string][]devledger.Effect{
		"": sawtooth.Effects(), devledger.DefaultService: splinter.Effects()} {
		var got []string
		for _, e := range effects {
			got = append(got, e.Batch)
		}
		if strings.Join(got, " ") != strings.Join(ids[service], " ") {
			t.Errorf("service %q: %d batches took effect, not the %d in their order", service, len(got), len(ids[service]))
		}
	}
}

// patience is far more than the rows take, also where the machine is busy: a ledger that was not reached
// is left alone for a while.
const patience = 3 * time.Minute

// world is two simulated ledgers, and a sequencer for them; its URL and its log are returned.
func world(t *testing.T) (*devledger.Sawtooth, *devledger.Splinter, string, *lines) {
	t.Helper()
	sawtooth, err := devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	splinter, err := devledger.NewSplinter(devledger.SplinterConfig{
		Services: []string{devledger.DefaultService}, ProposalTime: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	one, two := httptest.NewServer(sawtooth), httptest.NewServer(splinter)
	binary := filepath.Join(t.TempDir(), "sequencer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/sequencer").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary, "serve")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SEQUENCER_ADDR=127.0.0.1:0",
		"SEQUENCER_TYPES=SUBMIT_BATCH", "SEQUENCER_LOG_FORMAT=text", "SEQUENCER_INCLUSION_INTERVAL=50ms", "SEQUENCER_RETRY_DELAY=1s",
		"SEQUENCER_LEDGERS=saw=sawtooth+" + one.URL + ",scab=splinter+" + two.URL + "/scabbard/" +
			strings.Replace(devledger.DefaultService, "::", "/", 1)}
	log := &lines{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		one.Close()
		two.Close()
		sawtooth.Close()
		splinter.Close()
	})
	serving := regexp.MustCompile(`msg=serving addr=(\S+)`)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if m := serving.FindStringSubmatch(log.String()); m != nil {
			return sawtooth, splinter, "http://" + m[1], log
		}
	}
	t.Fatalf("it does not serve: %s", log.String())
	return nil, nil, "", nil
}

type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestStuck: what cannot be handed over, or of which nothing is news, keeps none of another service
// waiting; nor is what something on the way answers taken for the sequencer's verdict.
func TestStuck(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "grid.sqlite")
	db := open(place)
	ok := must(t)
	ok(db.exec(t.Context(), schema))
	// More than are read at a time, of each kind, and then one that matters.
	ok(db.exec(t.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO batches (header_signature, signer_public_key, trace, serialized_batch, submitted, dlt_status, service_id)
		SELECT 'a' || i, 'k', FALSE, 'aa', FALSE, NULL, CASE i %% 2 WHEN 0 THEN 'stuck' ELSE 'unnamed' END FROM n
		UNION ALL SELECT 'b' || i, 'k', FALSE, 'aa', TRUE, 'Unknown', 'gone' FROM n
		UNION ALL SELECT 'c' || i, 'k', FALSE, 'aa', TRUE, NULL, 'of another submitter' FROM n
		UNION ALL SELECT 'd1', 'k', FALSE, 'aa', TRUE, 'Unknown', 'done'
		UNION ALL SELECT 'e0', 'k', FALSE, 'aa', FALSE, NULL, NULL
		UNION ALL SELECT 'e1', 'k', FALSE, 'aa', FALSE, NULL, 'free'
		UNION ALL SELECT 'e2', 'k', FALSE, 'aa', FALSE, NULL, 'refused'`, 2*most)))
	var mu sync.Mutex
	posted := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var item struct{ UID, Queue string }
		uid := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if r.Method == http.MethodPost {
			_ = json.NewDecoder(r.Body).Decode(&item)
			posted[item.Queue]++
			uid = item.UID
		}
		w.Header().Set("Content-Type", "application/problem+json")
		switch {
		case item.Queue == "stuck":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, "<h1>no such host</h1>")
		case item.Queue == "refused":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprint(w, `{"status":422,"code":"INVALID_DATA","title":"no"}`)
		case uid[0] == 'c':
			t.Error("it asks for what another one submitted")
		case uid == "b7":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, `{"status":500,"code":"STORE_UNAVAILABLE","title":"no"}`)
		case uid[0] == 'b':
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"status":404,"code":"NOT_FOUND","title":"no"}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"uid":%q,"state":"DONE"}`, uid)
		}
	}))
	defer web.Close()
	args := []string{"--db", place, "--once", "--services", "stuck=saw,refused=saw,free=saw"}
	for range 2 {
		ok(run(t.Context(), args, func(name string) string { return map[string]string{"SEQUENCER_URL": web.URL}[name] }))
	}
	rows, err := db.query(t.Context(), `SELECT service_id, dlt_status, submission_error, count(*) || ' ' || sum(submitted) AS n
		FROM batches GROUP BY 1, 2, 3 ORDER BY 1`)
	ok(err)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.text("service_id"), " ", r.text("dlt_status"), " ", r.text("submission_error"), " ", r.text("n")))
	}
	want := []string{"   1 0", "done Committed  1 1", "free Committed  1 1", "gone Unknown  1000 1000", "of another submitter   1000 1000",
		"refused  INVALID_DATA 1 0", "stuck   500 0", "unnamed   500 0"}
	if !slices.Equal(got, want) {
		t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if posted["stuck"] != 2 || posted["unnamed"] != 0 || posted["free"] != 1 || posted["refused"] != 1 {
		t.Errorf("posted %v", posted)
	}
}
