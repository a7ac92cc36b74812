//go:build unix

package grid

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/queues/redistest"
)

// schema is what Grid's own page on claims writes down.
const schema = `CREATE TABLE batches (
    header_signature TEXT PRIMARY KEY,
    data_change_id TEXT,
    signer_public_key TEXT NOT NULL,
    trace BOOLEAN NOT NULL,
    serialized_batch TEXT NOT NULL,
    submitted BOOLEAN NOT NULL,
    submission_error VARCHAR(16),
    submission_error_message TEXT,
    dlt_status VARCHAR(16),
    claim_expires TIMESTAMP,
    created TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    service_id TEXT
);

CREATE TABLE transactions (
    header_signature TEXT PRIMARY KEY,
    batch_id TEXT NOT NULL,
    family_name TEXT NOT NULL,
    family_version TEXT NOT NULL,
    signer_public_key TEXT NOT NULL,
    FOREIGN KEY (batch_id) REFERENCES batches(header_signature) ON DELETE CASCADE
);

CREATE TABLE transaction_receipts (
    id BIGSERIAL PRIMARY KEY,
    transaction_id TEXT UNIQUE,
    result_valid BOOLEAN NOT NULL,
    error_message TEXT,
    error_data TEXT,
    serialized_receipt TEXT NOT NULL,
    external_status VARCHAR(16),
    external_error_message TEXT
)`

// Every word that is written is noted by the database itself.
const (
	words     = `CREATE TABLE words (id TEXT, submitted BOOLEAN, dlt_status TEXT)`
	sqliteLog = `CREATE TRIGGER note AFTER UPDATE ON batches BEGIN
		INSERT INTO words VALUES (NEW.header_signature, NEW.submitted, NEW.dlt_status); END`
	postgresLog = `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $note$ BEGIN
		INSERT INTO words VALUES (NEW.header_signature, NEW.submitted, NEW.dlt_status); RETURN NEW; END $note$;
		CREATE TRIGGER note AFTER UPDATE ON batches FOR EACH ROW EXECUTE FUNCTION note()`
)

// databases runs a test on an empty SQLite and an empty PostgreSQL.
func databases(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "grid.sqlite"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, startPostgres(t))
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

// A world is a Grid service's database, a sequencer of two processes, and simulated ledgers.
type world struct {
	*testing.T
	ok       func(error)
	place    string
	db       *table
	signer   *devledger.Signer
	sawtooth *devledger.Sawtooth
	splinter *devledger.Splinter
	urls     []string // of the sequencer
	serves   []*exec.Cmd
	log      *lines
	ids      map[string]string   // of batches, by name
	made     map[string][]string // names, by service, as they were inserted

	mu       sync.Mutex
	posted   []string       // ids of batches as they came to a ledger for the first time
	receipts map[string]int // how often those of a transaction were asked for
}

// services are those of a world, with the ledger of each.
var services = map[string]string{"": "saw", devledger.DefaultService: "scab"}

func newWorld(t *testing.T, place string, blockTime, proposalTime time.Duration) *world {
	t.Helper()
	w := &world{T: t, ok: must(t), place: place, signer: devledger.NewSigner(3), ids: map[string]string{},
		made: map[string][]string{}, receipts: map[string]int{}, log: &lines{}}
	w.db = w.open(place)
	log := sqliteLog
	if strings.Contains(place, "://") {
		log = postgresLog
	}
	for _, sql := range []string{schema, words, log} {
		w.ok(w.db.exec(t.Context(), sql))
	}
	var err error
	w.sawtooth, err = devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: blockTime})
	w.ok(err)
	w.splinter, err = devledger.NewSplinter(devledger.SplinterConfig{
		Services: []string{devledger.DefaultService}, ProposalTime: proposalTime})
	w.ok(err)
	one, two := w.serveLedger(w.sawtooth), w.serveLedger(w.splinter)
	binary := sequencer(t)
	redis := redistest.Start(t)
	for range 2 {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SEQUENCER_ADDR=127.0.0.1:0",
			"SEQUENCER_REDIS_URL=redis://" + redis.Addr, "SEQUENCER_TYPES=SUBMIT_BATCH", "SEQUENCER_LOG_FORMAT=text",
			"SEQUENCER_INCLUSION_INTERVAL=50ms", "SEQUENCER_RETRY_DELAY=1s", "SEQUENCER_LEDGER_DELAY=1s",
			"SEQUENCER_LEDGER_RETRIES=0", "SEQUENCER_LEDGER_PATIENCE=1h", "SEQUENCER_CLAIM_TTL=1s",
			"SEQUENCER_LEDGERS=saw=sawtooth+" + one + ",scab=splinter+" + two + "/scabbard/" +
				strings.Replace(devledger.DefaultService, "::", "/", 1)}
		log := &lines{}
		cmd.Stdout, cmd.Stderr = log, log
		w.ok(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("a sequencer said\n%s", log)
			}
		})
		w.urls, w.serves = append(w.urls, serving(t, log)), append(w.serves, cmd)
	}
	return w
}

func (w *world) open(place string) *table {
	w.Helper()
	db, err := open(place)
	w.ok(err)
	return db
}

// built is the program, built once.
var built struct {
	once    sync.Once
	dir     string
	problem error
}

func sequencer(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.problem = os.MkdirTemp("", "grid-test-"); built.problem != nil { //nolint:usetesting // for all tests
			return
		}
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-o", filepath.Join(built.dir, "sequencer"), "../")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.problem = fmt.Errorf("%w: %s", err, out)
		}
	})
	must(t)(built.problem)
	return filepath.Join(built.dir, "sequencer")
}

// serveLedger serves a ledger, and notes what comes.
func (w *world) serveLedger(l devledger.Ledger) string {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		l.ServeHTTP(rw, r)
	}))
	w.Cleanup(func() {
		server.Close()
		l.Close()
	})
	return server.URL
}

func serving(t *testing.T, log *lines) string {
	t.Helper()
	pattern := regexp.MustCompile(`msg=serving addr=(\S+)`)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if m := pattern.FindStringSubmatch(log.String()); m != nil {
			return "http://" + m[1]
		}
	}
	t.Fatalf("it does not serve: %s", log)
	return ""
}

// insert writes a batch of one transaction into the database as Grid does, created so many seconds before
// some time.
func (w *world) insert(service, name, payload string, ago int) {
	w.Helper()
	made := w.signer.Batch(name, payload)
	w.ids[name] = made.ID
	w.insertList(service, name, hex.EncodeToString(made.List), ago)
}

func (w *world) insertList(service, name, list string, ago int) {
	w.Helper()
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(ago) * time.Second).Format(time.DateTime)
	w.ok(w.db.exec(w.Context(), fmt.Sprintf("INSERT INTO batches (header_signature, data_change_id, signer_public_key, "+
		"trace, serialized_batch, submitted, created, service_id) VALUES (%s, %s, %s, FALSE, %s, FALSE, %s, %s)",
		quote(w.ids[name]), quote("change "+name), quote(w.signer.PublicKey()), quote(list), quote(created), quote(service))))
	w.made[service] = append(w.made[service], name)
}

// mover is one that works on the world's database.
func (w *world) mover(place, url string, changes ...func(*Options)) *mover {
	w.Helper()
	c, err := client.New(client.Options{URL: url, Retries: -1})
	w.ok(err)
	o := Options{Client: c, Database: place, Ledgers: services, Claim: time.Second, ClaimLimit: 5,
		Every: 100 * time.Millisecond, Err: w.log}
	for _, change := range changes {
		change(&o)
	}
	return newMover(o, w.open(place))
}

// run has movers work until met, at the latest for as long as patience lasts.
func (w *world) run(what string, met func(rows []row) string, movers ...*mover) {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	var all sync.WaitGroup
	for _, m := range movers {
		all.Go(func() {
			if err := m.run(ctx); err != nil {
				w.Errorf("it ended: %v", err)
			}
		})
	}
	defer all.Wait()
	defer stop()
	for end := time.Now().Add(patience); ; <-time.After(100 * time.Millisecond) {
		wrong := met(w.rows())
		if wrong == "" {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: in the end %s; it has said\n%s", what, wrong, w.log)
		}
	}
}

// patience is far more than the rows take, also where the machine is busy.
const patience = 3 * time.Minute

func (w *world) rows() []row {
	w.Helper()
	rows, err := w.db.query(w.Context(), "SELECT header_signature, coalesce(service_id, '') AS service, submitted, dlt_status, "+
		"submission_error, submission_error_message, claim_expires FROM batches")
	w.ok(err)
	return rows
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

// plainMover is one without a world.
func plainMover(place, url string, h *http.Client) *mover {
	c, err := client.New(client.Options{URL: url, HTTP: h})
	if err != nil {
		panic(err)
	}
	t, err := open(place)
	if err != nil {
		panic(err)
	}
	return newMover(Options{Client: c, Database: place, Ledgers: services, Claim: time.Second, ClaimLimit: 5,
		Every: 20 * time.Millisecond, Err: &lines{}}, t)
}
