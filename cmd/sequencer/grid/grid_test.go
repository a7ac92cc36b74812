//go:build unix

package grid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/sequencer/test/lane"
)

// note notes what comes to a ledger.
func (w *world) note(r *http.Request) {
	if r.Method != http.MethodPost {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/receipts"):
		var ids []string
		_ = json.Unmarshal(body, &ids)
		for _, id := range ids {
			w.receipts[id]++
		}
	case strings.HasSuffix(r.URL.Path, "/batches"):
		batches, _ := devledger.ParseBatchList(body)
		for _, b := range batches {
			if !slices.Contains(w.posted, b.ID) {
				w.posted = append(w.posted, b.ID)
			}
		}
	}
}

// queue is the one-round strategy of Grid's page, on rounds, which has a row for each batch: what is to be
// queued now.
const queue = `
	SELECT header_signature FROM rounds WHERE NOT submitted AND dlt_status = 'Unknown'
	UNION ALL SELECT header_signature FROM rounds WHERE NOT submitted AND dlt_status = 'Delayed'
	UNION ALL SELECT header_signature FROM (
		SELECT header_signature, row_number() OVER (
			PARTITION BY coalesce(service_id, '') ORDER BY created, header_signature) AS n
		FROM rounds b WHERE NOT submitted AND dlt_status IS NULL AND NOT EXISTS (
			SELECT 1 FROM rounds c WHERE coalesce(c.service_id, '') = coalesce(b.service_id, '')
			AND c.dlt_status IN ('Pending', 'Unknown', 'Delayed'))
	) q WHERE n = 1`

// byRounds is the order in which the strategy submits the batches of each service, round by round, each
// round's being committed before the next.
func (w *world) byRounds() map[string][]string {
	w.Helper()
	w.ok(w.db.exec(w.Context(), "CREATE TABLE rounds AS SELECT header_signature, service_id, created, submitted, dlt_status FROM batches"))
	all := map[string][]string{}
	for {
		rows, err := w.db.query(w.Context(), "SELECT header_signature, coalesce(service_id, '') AS service FROM rounds WHERE header_signature IN ("+queue+")")
		w.ok(err)
		if len(rows) == 0 {
			return all
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, r.text("header_signature"))
			all[r.text("service")] = append(all[r.text("service")], r.text("header_signature"))
		}
		w.ok(w.db.exec(w.Context(), "UPDATE rounds SET submitted = TRUE, dlt_status = 'Committed' WHERE header_signature IN "+list(ids)))
	}
}

// said are the pairs of submitted and dlt_status that were ever written, and fit Grid's strategy.
var fits = []string{"false none", "true none", "true Pending", "false Unknown", "true Unknown", "false Delayed", "true Delayed",
	"true Valid", "true Invalid", "true Committed"}

func (w *world) said() (pairs []string) {
	w.Helper()
	rows, err := w.db.query(w.Context(), "SELECT DISTINCT submitted, coalesce(dlt_status, 'none') AS status FROM words")
	w.ok(err)
	for _, r := range rows {
		pairs = append(pairs, fmt.Sprint(r.is("submitted"), " ", r.text("status")))
	}
	slices.Sort(pairs)
	return pairs
}

// TestRows moves the rows of a real database through a sequencer of two processes to simulated ledgers, by two
// movers at once. The ledgers are busy, forget, refuse and take their time, each until the database has seen
// the word for it, and a process is killed with -9: every word of Grid's is met, in the order of its strategy, and the tables are filled.
func TestRows(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, place string) {
		w := newWorld(t, place, -1, 20*time.Millisecond)
		saw, scab := "", devledger.DefaultService
		want := map[string]string{}
		for i := range 6 { // what was created later, or comes later in the alphabet, may have been inserted first
			for _, service := range []string{saw, scab} {
				name := fmt.Sprint(services[service], i)
				w.insert(service, name, "set", 100-10*((5-i)/3))
				want[name] = "true Committed "
			}
		}
		w.insert(saw, "bad", "INVALID", 95)
		w.insert(scab, "bad too", "INVALID", 95)
		want["bad"], want["bad too"] = "true Invalid , taken", "true Invalid , taken" // either may be committed yet
		w.insert(scab, "stuck", "set", 80)
		want["stuck"] = "true Valid , taken"
		w.ids["cut"] = w.signer.Batch("cut", "set").ID
		w.insertList(saw, "cut", "0a05", 93)
		want["cut"] = "true none INVALID_DATA"
		w.ids["long"] = w.signer.Batch("long", "set").ID
		w.insertList(scab, "long", "0a0", 93)
		want["long"] = "true none NOT_HEX"
		// An update moves a row to another place; its turn is the same.
		w.ok(w.db.exec(t.Context(), "UPDATE batches SET trace = FALSE WHERE header_signature < '8'"))
		order := w.byRounds()
		first, second := order[saw][0], order[saw][1]
		w.sawtooth.Fail(devledger.Fault{Batch: first, Status: 503, Code: 15, Times: -1})
		w.splinter.Fail(devledger.Fault{Batch: w.ids["scab1"], Drop: true, Status: 429},
			devledger.Fault{Batch: w.ids["stuck"], Fate: devledger.Stuck})
		stages := []struct {
			word string
			then func()
		}{
			{"false Delayed", func() {
				w.sawtooth.Heal()
				w.sawtooth.Fail(devledger.Fault{On: devledger.Status, Batch: second, Answer: devledger.Unknown, Times: -1})
			}},
			{"true Pending", w.sawtooth.MakeBlock},
			{"false Unknown", func() {
				w.sawtooth.Heal()
				w.ok(w.serves[0].Process.Kill()) // the other one takes over
			}},
		}
		w.run("the rows", func(rows []row) string {
			for len(stages) > 0 {
				if !slices.Contains(w.said(), stages[0].word) {
					return fmt.Sprintf("%q was not written", stages[0].word)
				}
				stages[0].then()
				stages = stages[1:]
			}
			w.sawtooth.MakeBlock()
			for name, want := range want {
				for _, r := range rows {
					got := fmt.Sprint(r.is("submitted"), " ", orNone(r.text("dlt_status")), " ", r.text("submission_error"))
					if r.text("claim_expires") != "" {
						got += ", taken"
					}
					if r.text("header_signature") == w.ids[name] && got != want {
						return fmt.Sprintf("%s is %s, not %s", name, got, want)
					}
				}
			}
			return ""
		}, w.mover(place, w.urls[0]), w.mover(place, w.urls[1]))

		said := w.said()
		for _, pair := range said {
			if !slices.Contains(fits, pair) {
				t.Errorf("%q was written, which Grid does not know", pair)
			}
		}
		for _, pair := range []string{"true Pending", "false Unknown", "false Delayed", "true Valid", "true Invalid", "true Committed"} {
			if !slices.Contains(said, pair) {
				t.Errorf("%q was never written; %q were", pair, said)
			}
		}
		t.Logf("written: %q", said)
		w.inOrder(order, "cut", "long")
		w.filled()
	})
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// inOrder compares in which order the batches came to their ledgers with that of the strategy, without
// those that are refused before.
func (w *world) inOrder(order map[string][]string, refused ...string) {
	w.Helper()
	var names []string
	for _, name := range refused {
		names = append(names, w.ids[name])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for service, want := range order {
		want = slices.DeleteFunc(want, func(id string) bool { return slices.Contains(names, id) })
		got := slices.DeleteFunc(slices.Clone(w.posted), func(id string) bool { return !slices.Contains(want, id) })
		if !slices.Equal(got, want) {
			w.Errorf("service %q: in order came\n%.20q, and the strategy has\n%.20q", service, got, want)
		}
	}
}

// filled holds the tables of transactions and receipts against the batches.
func (w *world) filled() {
	w.Helper()
	rows, err := w.db.query(w.Context(), `SELECT b.dlt_status, coalesce(b.service_id, '') AS service, t.family_name, t.family_version, t.signer_public_key,
		r.id, r.result_valid, r.error_message, r.error_data, r.serialized_receipt, r.transaction_id, r.external_status
		FROM batches b LEFT JOIN transactions t ON t.batch_id = b.header_signature
		LEFT JOIN transaction_receipts r ON r.transaction_id = t.header_signature WHERE b.dlt_status IN ('Committed', 'Invalid')`)
	w.ok(err)
	seen := map[int]bool{}
	for _, r := range rows {
		id := r.number("id")
		if r.text("family_name") != "intkey" || r.text("family_version") != "1.0" || r.text("signer_public_key") != w.signer.PublicKey() ||
			id < 1 || seen[id] {
			w.Errorf("a transaction is kept as %v", r)
		}
		seen[id] = true
		var receipt struct{ ID string }
		kept := json.Unmarshal([]byte(r.text("serialized_receipt")), &receipt) == nil && receipt.ID == r.text("transaction_id")
		switch committed := r.text("dlt_status") == "Committed"; {
		case !committed && (r.is("result_valid") || r.text("error_message") != "the payload says that it is invalid" ||
			r.text("error_data") != "494e56414c4944"):
			w.Errorf("what was refused is kept as %v", r)
		case committed && (!r.is("result_valid") || r["error_message"] != nil || r["error_data"] != nil || r["external_status"] != nil ||
			kept != (r.text("service") == "")):
			w.Errorf("what was committed is kept as %v", r)
		}
	}
	if len(rows) != len(seen) || len(rows) == 0 {
		w.Errorf("%d rows, %d receipts", len(rows), len(seen))
	}
}

// TestReceiptsOnce: of one mover each receipt is asked for once; where the ledger does not answer then, the
// batch is Committed all the same.
func TestReceiptsOnce(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "grid.sqlite")
	w := newWorld(t, place, 5*time.Millisecond, 5*time.Millisecond)
	for _, name := range []string{"a", "b", "c"} {
		w.insert("", name, "set", 10)
	}
	w.sawtooth.Fail(devledger.Fault{On: devledger.Receipts, Answer: devledger.Cut})
	w.run("the rows", func(rows []row) string {
		for _, r := range rows {
			if r.text("dlt_status") != "Committed" {
				return fmt.Sprint(r)
			}
		}
		return ""
	}, w.mover(place, w.urls[0]))
	w.ok(w.mover(place, w.urls[1]).round(t.Context())) // in which nothing is left to do
	rows, err := w.db.query(t.Context(), "SELECT transaction_id, serialized_receipt FROM transaction_receipts WHERE result_valid")
	w.ok(err)
	empty := 0
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rows {
		if n := w.receipts[r.text("transaction_id")]; n != 1 {
			t.Errorf("a receipt was asked for %d times", n)
		}
		if r.text("serialized_receipt") == "" {
			empty++
		}
	}
	if len(rows) != 3 || empty != 1 {
		t.Errorf("%d receipts, %d of them empty", len(rows), empty)
	}
}

// TestMain is a mover that is killed, where the environment asks for one.
func TestMain(m *testing.M) {
	// Debian's psql is a script that looks for this one.
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(found) > 0 {
		_ = os.Setenv("PATH", slices.Max(found)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if steps := os.Getenv("GRID_TEST_KILL_AT"); steps != "" {
		moveUntilKilled(steps)
		return
	}
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// steps counts each question to the database and to the sequencer, and kills this process before one.
type steps struct {
	left int
	http http.RoundTripper
}

func (s *steps) step() {
	if s.left--; s.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// RoundTrip implements http.RoundTripper.
func (s *steps) RoundTrip(r *http.Request) (*http.Response, error) {
	s.step()
	return s.http.RoundTrip(r)
}

// moveUntilKilled hands over all that is there, looks at it once on its way and once when the sequencer
// has done with it, and is killed before a step; where there are fewer steps, it ends.
func moveUntilKilled(at string) {
	n, err := strconv.Atoi(at)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(err)
	s := &steps{n, http.DefaultTransport}
	m := plainMover(os.Getenv("GRID_TEST_DB"), os.Getenv("GRID_TEST_URL"), &http.Client{Transport: s})
	asks := plainMover(os.Getenv("GRID_TEST_DB"), os.Getenv("GRID_TEST_URL"), nil) // whose questions are no steps
	run := m.table.run
	m.table.run = func(ctx context.Context, sql string) ([]byte, error) {
		s.step()
		return run(ctx, sql)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(m.round(ctx))
	must(m.round(ctx))
	rows, err := asks.table.query(ctx, "SELECT header_signature FROM batches WHERE claim_expires IS NOT NULL")
	must(err)
	for _, r := range rows {
		for {
			b, err := asks.Client.LedgerBatch(ctx, r.text("header_signature"))
			must(err)
			if b.Settled {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	must(m.round(ctx))
}

// TestKilled kills a mover with -9 before each of its steps in turn, until it has done all without having
// come to the next, beginning with rows that nobody has claimed. One that comes after it ends what it began,
// and each batch takes effect once, in its order.
func TestKilled(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { killed(t, filepath.Join(t.TempDir(), "grid.sqlite")) })
	t.Run("PostgreSQL", func(t *testing.T) {
		lane.All(t, "SQLite's half: what a killed mover leaves is the same for both")
		killed(t, startPostgres(t))
	})
}

func killed(t *testing.T, place string) {
	t.Helper()
	w := newWorld(t, place, 10*time.Millisecond, 5*time.Millisecond)
	open := func(rows []row) string {
		for _, r := range rows {
			if done := r.text("dlt_status") == "Committed" || r.text("submission_error") == "INVALID_DATA"; !done || r.text("claim_expires") != "" {
				return fmt.Sprint(r)
			}
		}
		return ""
	}
	var cuts []string
	for n, alive := 1, false; !alive; n++ {
		for i := range 2 {
			for _, service := range []string{"", devledger.DefaultService} {
				w.insert(service, fmt.Sprint(services[service], n, ".", i), "set", 10_000-100*n-i)
			}
		}
		cut := fmt.Sprint("cut", n)
		w.ids[cut], cuts = w.signer.Batch(cut, "set").ID, append(cuts, cut)
		w.insertList("", cut, "0a05", 10_000-100*n)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "GRID_TEST_KILL_AT="+strconv.Itoa(n), "GRID_TEST_DB="+place, "GRID_TEST_URL="+w.urls[n%2])
		said, err := cmd.CombinedOutput()
		status, is := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch alive = err == nil; {
		case alive: // it had fewer steps, and has left nothing to do
			if left := open(w.rows()); left != "" {
				t.Errorf("a mover that nobody has killed ends at %s", left)
			}
			t.Logf("killed before each of %d steps", n-1)
		case !is || status.Signal() != syscall.SIGKILL || n > 100:
			t.Fatalf("step %d: it was not killed, or has no end: %v\n%s", n, err, said)
		default:
			w.run(fmt.Sprint("killed at step ", n), open, w.mover(place, w.urls[0]))
		}
	}
	w.ok(w.db.exec(t.Context(), "UPDATE batches SET submitted = FALSE, dlt_status = NULL"))
	w.inOrder(w.byRounds(), cuts...)
	for _, effects := range [][]devledger.Effect{w.sawtooth.Effects(), w.splinter.Effects()} {
		if len(effects) != 2*len(cuts) {
			t.Errorf("%d batches took effect, not %d", len(effects), 2*len(cuts))
		}
		for _, e := range effects {
			if e.Times != 1 {
				t.Errorf("batch %.16s took effect %d times", e.Batch, e.Times)
			}
		}
	}
}

// TestClaims: who hands rows over are several, and none of another's; what they write fits the columns.
func TestClaims(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, place string) {
		ok := must(t)
		m := plainMover(place, "http://127.0.0.1:1", nil)
		m.Ledgers = map[string]string{"": "saw", "one": "saw", "two": "saw", "held": "saw"}
		m.Claim, m.ClaimLimit = time.Hour, 3
		ok(m.table.exec(t.Context(), schema))
		insert := func(id, service, created, columns, values string) {
			t.Helper()
			ok(m.table.exec(t.Context(), fmt.Sprintf("INSERT INTO batches (header_signature, signer_public_key, trace, serialized_batch, "+
				"created, service_id, submitted%s) VALUES (%s, 'k', FALSE, 'aa', %s, %s, %s)", columns, quote(id), quote(created), quote(service), values)))
		}
		old := "2020-01-01 00:00:0"
		insert("b2", "one", old+"1", "", "FALSE")
		insert("b1", "one", old+"1", "", "FALSE")
		insert("a3", "one", old+"2", ", claim_expires", "FALSE, '2020-01-01 00:00:00'") // of one that was killed
		insert("z9", "one", old+"8", "", "FALSE")                                       // behind more than are claimed at a time
		insert("b0", "one", old+"0", ", claim_expires", "FALSE, '"+taken+"'")           // the sequencer has it
		insert("d1", "two", old+"9", ", dlt_status", "FALSE, 'Delayed'")
		insert("u1", "two", old+"9", ", dlt_status", "FALSE, 'Unknown'")
		insert("n1", "two", old+"3", "", "FALSE")
		insert("e1", "two", old+"0", ", submission_error", "FALSE, 'INVALID_DATA'") // a person takes it out
		insert("h1", "held", old+"0", ", dlt_status", "TRUE, 'Pending'")            // another submitter's
		insert("h2", "held", old+"1", "", "FALSE")
		insert("x1", "unnamed", old+"0", "", "FALSE")
		insert("s1", "", old+"0", "", "TRUE") // another submitter's
		claim := func(behind ...string) string {
			t.Helper()
			rows, err := m.claim(t.Context(), behind)
			ok(err)
			var ids []string
			for _, r := range rows {
				ids = append(ids, r.text("header_signature"))
			}
			return strings.Join(ids, " ")
		}
		for _, step := range []struct{ behind, want string }{
			{"two", "b1 b2 a3"}, // by age, then by the alphabet
			{"", "u1 d1 n1"},    // service one is being handed over
			{"", ""},            // nor what is left of it
		} {
			if got := claim(step.behind); got != step.want {
				t.Errorf("claimed %q, want %q", got, step.want)
			}
		}
		// The claims of one that was killed run out.
		ok(m.table.exec(t.Context(), "UPDATE batches SET claim_expires = '2020-01-01 00:00:00' WHERE header_signature IN ('b1', 'b2', 'a3')"))
		if got := claim(); got != "b1 b2 a3" {
			t.Errorf("claimed %q once the claims had run out", got)
		}
		for range 2 {
			m.told = time.Time{}
			ok(m.sayUnserved(t.Context()))
		}
		want := "grid: 1 rows of service \"unnamed\" wait: no ledger is named for it, see --ledger and --services\n" +
			"grid: 1 rows of service \"held\" are Pending, and another submitter has them: the others wait until it is written down what became of those\n"
		if got := m.Err.(*lines).String(); got != want {
			t.Errorf("it said\n%s\nwant\n%s", got, want)
		}
		ok(m.table.exec(t.Context(), "UPDATE batches SET submission_error = "+quote(short("LEDGER_UNAVAILABLE"))))
		if rows, err := m.table.query(t.Context(), "SELECT DISTINCT submission_error FROM batches"); err != nil ||
			rows[0].text("submission_error") != "LEDGER_UNAVAILAB" {
			t.Errorf("a long code is %v, %v", rows, err)
		}
	})
}

// TestStuck: what cannot be handed over, or of which nothing is news, keeps none of another service
// waiting; nor is what something on the way answers taken for the sequencer's verdict.
func TestStuck(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "grid.sqlite")
	ok := must(t)
	db, err := open(place)
	ok(err)
	ok(db.exec(t.Context(), schema))
	// More than are claimed at a time, of each kind, and then one that matters.
	ok(db.exec(t.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
		INSERT INTO batches (header_signature, signer_public_key, trace, serialized_batch, submitted, dlt_status, service_id, claim_expires)
		SELECT 'a' || i, 'k', FALSE, 'aa', FALSE, NULL, CASE i %% 2 WHEN 0 THEN 'stuck' ELSE 'unnamed' END, NULL FROM n
		UNION ALL SELECT 'b' || i, 'k', FALSE, 'aa', TRUE, 'Pending', 'gone', '%[1]s' FROM n
		UNION ALL SELECT 'c' || i, 'k', FALSE, 'aa', TRUE, NULL, 'of another submitter', NULL FROM n
		UNION ALL SELECT 'w' || i, 'k', FALSE, 'aa', FALSE, NULL, 'waits', '%[1]s' FROM n
		UNION ALL SELECT 'd1', 'k', FALSE, 'aa', TRUE, 'Pending', 'done', '%[1]s'
		UNION ALL SELECT 'e0', 'k', FALSE, 'aa', FALSE, NULL, NULL, NULL
		UNION ALL SELECT 'e1', 'k', FALSE, 'aa', FALSE, NULL, 'free', NULL
		UNION ALL SELECT 'e2', 'k', FALSE, 'aa', FALSE, NULL, 'refused', NULL`, taken)))
	var mu sync.Mutex
	posted, asked := map[string]int{}, map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var item struct{ UID, Queue string }
		uid := ""
		if r.Method == http.MethodPost {
			_ = json.NewDecoder(r.Body).Decode(&item)
			posted[item.Queue]++
		} else {
			uid = strings.Split(r.URL.Path, "/")[4]
			asked[uid[:1]]++
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
		case item.UID != "":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"uid":%q,"state":"WAITING"}`, item.UID)
		case uid == "b7":
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"status":403,"code":"FORBIDDEN","title":"no"}`)
		case uid[0] == 'b':
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"status":404,"code":"NOT_FOUND","title":"no"}`)
		case uid[0] == 'w':
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"uid":%q,"state":"WAITING","submitted":false,"status":null}`, uid)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"uid":%q,"state":"DONE","submitted":true,"status":"Committed","settled":true}`, uid)
		}
	}))
	defer web.Close()
	m := plainMover(place, web.URL, nil)
	m.Ledgers = map[string]string{"stuck": "saw", "refused": "saw", "free": "saw"}
	m.Once, m.Client.Retries = true, -1
	for range 2 {
		ok(m.run(t.Context()))
	}
	rows, err := db.query(t.Context(), `SELECT coalesce(service_id, '') || ' ' || coalesce(dlt_status, '') || ' ' || coalesce(submission_error, '')
		|| ' ' || count(*) || ' ' || sum(submitted) || ' ' || sum(claim_expires IS NOT NULL) AS line FROM batches
		GROUP BY service_id, dlt_status, submission_error ORDER BY service_id`)
	ok(err)
	var got []string
	for _, r := range rows {
		got = append(got, r.text("line"))
	}
	want := []string{"   1 0 0", "done Committed  1 1 0", "free Committed  1 1 0", "gone Pending  250 250 250", "of another submitter   250 250 0",
		"refused  INVALID_DATA 1 1 0", "stuck   125 0 0", "unnamed   125 0 0", "waits   250 0 250"}
	if !slices.Equal(got, want) {
		t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if posted["stuck"] != 2 || posted["unnamed"] != 0 || posted["free"] != 1 || posted["refused"] != 1 {
		t.Errorf("posted %v", posted)
	}
	if asked["c"] != 0 || asked["w"] != 2 || asked["b"] != 500 {
		t.Errorf("asked %v: of what waits the first is asked for, of what another submitter has none", asked)
	}
}

// TestOpen: a password in an address is not on the command line, which others can read.
func TestOpen(t *testing.T) {
	t.Parallel()
	db, err := open("postgres://grid:hush@db:5432/grid?sslmode=require")
	must(t)(err)
	if line := strings.Join(db.command, " "); strings.Contains(line, "hush") || !strings.HasSuffix(line, " postgres://grid@db:5432/grid?sslmode=require") {
		t.Errorf("the command is %s", line)
	}
	if !slices.Equal(db.env, []string{"PGPASSWORD=hush"}) {
		t.Errorf("the environment is %q", db.env)
	}
	if _, err := open("postgres://grid:hush@db:x/grid"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("an address that is none: %v", err)
	}
}

// TestLate: what one of two writes back too late does not undo the end that the other has written.
func TestLate(t *testing.T) {
	t.Parallel()
	ok := must(t)
	m := plainMover(filepath.Join(t.TempDir(), "grid.sqlite"), "http://127.0.0.1:1", nil)
	ok(m.table.exec(t.Context(), schema, "INSERT INTO batches (header_signature, signer_public_key, trace, serialized_batch, submitted, "+
		"claim_expires) VALUES ('a', 'k', FALSE, 'aa', FALSE, '"+taken+"')"))
	read := row{"header_signature": "a"}
	ok(m.table.exec(t.Context(), m.writeBack(read, &client.LedgerBatch{Submitted: true, Status: "Committed", Settled: true})...))
	ok(m.table.exec(t.Context(), m.writeBack(read, &client.LedgerBatch{Submitted: true, Status: "Pending"})...))
	rows, err := m.table.query(t.Context(), "SELECT dlt_status, claim_expires FROM batches")
	ok(err)
	if rows[0].text("dlt_status") != "Committed" || rows[0].text("claim_expires") != "" {
		t.Errorf("the row is %v", rows[0])
	}
}
