//go:build unix

package processes

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A ledgerRig is a rig without a Mina node: a Redis, and two simulated ledgers in this
// process, whose own count of what took effect is what the tests believe.
type ledgerRig struct {
	*rig
	sawtooth *devledger.Sawtooth
	splinter *devledger.Splinter
	signer   *devledger.Signer
	ids      map[string]string // batch ids, by uid
	asked    []*atomic.Int64   // how often each ledger was asked for statuses
	refused  map[string]bool   // uids of batches that their ledger refuses when it executes them
}

func newLedgerRig(t *testing.T, bin binaries, namespace string, env map[string]string) *ledgerRig {
	t.Helper()
	return newLedgerRigOf(t, bin, namespace, 50*time.Millisecond, env)
}

func newLedgerRigOf(t *testing.T, bin binaries, namespace string, blockTime time.Duration,
	env map[string]string) *ledgerRig {
	t.Helper()
	r := &ledgerRig{
		rig: &rig{T: t, bin: bin, namespace: namespace, redis: redistest.Start(t)}, signer: devledger.NewSigner(1),
		ids: map[string]string{}, refused: map[string]bool{},
	}
	t.Cleanup(r.tellFailure)
	var err error
	r.sawtooth, err = devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: blockTime})
	r.ok(err)
	t.Cleanup(r.sawtooth.Close)
	r.splinter, err = devledger.NewSplinter(devledger.SplinterConfig{
		Services: []string{devledger.DefaultService}, ProposalTime: 10 * time.Millisecond,
	})
	r.ok(err)
	t.Cleanup(r.splinter.Close)
	at := func(h http.Handler) string {
		asked := new(atomic.Int64)
		r.asked = append(r.asked, asked)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/batch_statuses") {
				asked.Add(1)
			}
			h.ServeHTTP(w, req)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	circuit := regexp.MustCompile(`::`).ReplaceAllString(devledger.DefaultService, "/")
	r.env = map[string]string{
		"SEQUENCER_REDIS_URL": "redis://" + r.redis.Addr, "SEQUENCER_NAMESPACE": namespace,
		"SEQUENCER_TYPES": "SUBMIT_BATCH", "SEQUENCER_LOG_FORMAT": "text",
		"SEQUENCER_LEDGERS":        "saw=sawtooth+" + at(r.sawtooth) + ",scab=splinter+" + at(r.splinter) + "/scabbard/" + circuit,
		"SEQUENCER_CYCLE_INTERVAL": "10m", "SEQUENCER_INCLUSION_INTERVAL": "100ms", "SEQUENCER_RETRY_DELAY": "300ms",
		"SEQUENCER_RETRY_DELAY_MAX": "500ms", "SEQUENCER_CLAIM_TTL": "1s", "SEQUENCER_LEDGER_TIMEOUT": "1s",
		"SEQUENCER_LEDGER_PATIENCE": "10s", "SEQUENCER_LEDGER_DELAY": "300ms", "SEQUENCER_UNRESOLVED_LIMIT": "1000", "SEQUENCER_SHUTDOWN_TIMEOUT": "10s",
	}
	for k, v := range env {
		r.env[k] = v
	}
	r.store, err = queues.Open(r.redis.Client, queues.Options{Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
	r.ok(err)
	r.pool = senders.New(r.store, r.redis.Client)
	return r
}

// body is what is posted for a batch of one transaction.
func (r *ledgerRig) body(ledger, queue, uid, payload string) string {
	made := r.signer.Batch(uid, payload)
	r.ids[uid] = made.ID
	data, err := json.Marshal(map[string]string{
		"ledger": ledger, "batchId": made.ID, "batchList": base64.StdEncoding.EncodeToString(made.List)})
	r.ok(err)
	return fmt.Sprintf(`{"queue":%q,"type":"SUBMIT_BATCH","uid":%q,"data":%s}`, queue, uid, data)
}

func (r *ledgerRig) post(s *serving, ledger, queue, uid, payload string) {
	r.Helper()
	if status := r.call(http.MethodPost, s.api+"/transactions", r.body(ledger, queue, uid, payload), nil); status != http.StatusAccepted {
		r.Fatalf("posting %s: status %d", uid, status)
	}
	r.posted = append(r.posted, posting{queue, uid})
}

// shownBatch is what the API shows of a batch.
type shownBatch struct {
	UID, State, Sender string
	Done               json.RawMessage
	Error              *struct{ Code, Message, Exception string }
}

func (r *ledgerRig) ended(s *serving, uid string) shownBatch {
	r.Helper()
	var shown shownBatch
	r.eventually(patience, uid+" ends", func() bool {
		shown = shownBatch{}
		return r.call(http.MethodGet, s.api+"/transactions/"+uid+"?wait=5s", "", &shown) == http.StatusOK &&
			(shown.State == "DONE" || shown.State == "FAILED" || shown.State == "UNRESOLVED")
	})
	return shown
}

// once: a ledger is asked once per interval, however many batches are in flight.
func (r *ledgerRig) once(began time.Time) {
	r.Helper()
	const interval = 100 * time.Millisecond // see newLedgerRig
	for i, asked := range r.asked {
		if most := int64(time.Since(began)/interval) + 1; asked.Load() > most {
			r.Errorf("ledger %d was asked for statuses %d times in %d intervals", i, asked.Load(), most)
		}
	}
}

// batches: a batch goes through both ledgers, with no Mina node in sight; one that is
// refused shows the ledger's words, and a ledger that is away uses nothing up.
func batches(t *testing.T, bin binaries) {
	r := newLedgerRig(t, bin, "batches", nil)
	began := time.Now()
	s := r.serve("serve", nil)
	for _, ledger := range []string{"saw", "scab"} {
		for i := range 20 { // many queues at once
			r.post(s, ledger, fmt.Sprintf("%d-%s", i, ledger), fmt.Sprintf("%s-many-%d", ledger, i), "set")
		}
		for i := range 3 {
			r.post(s, ledger, "q-"+ledger, fmt.Sprintf("%s-%d", ledger, i), "set")
		}
		r.post(s, ledger, "q-"+ledger, ledger+"-bad", "INVALID")
		r.post(s, ledger, "q-"+ledger, ledger+"-after", "set")
	}
	for _, p := range r.posted {
		shown := r.ended(s, p.uid)
		bad := regexp.MustCompile(`-bad$`).MatchString(p.uid)
		switch {
		case !bad && (shown.State != "DONE" || string(shown.Done) != fmt.Sprintf(`{"status":"COMMITTED","ledger":%q}`, p.queue[strings.Index(p.queue, "-")+1:])):
			t.Errorf("%s is %s: %s", p.uid, shown.State, shown.Done)
		case bad && (shown.State != "UNRESOLVED" || shown.Error == nil || shown.Error.Code != "INVALID" ||
			shown.Error.Message != "the payload says that it is invalid" || shown.Error.Exception == ""):
			t.Errorf("%s is %s: %+v", p.uid, shown.State, shown.Error)
		}
	}
	r.once(began)
	var slot struct{ AccountID, WorkerURL, State string }
	if status := r.call(http.MethodGet, s.api+"/senders/saw%2F8", "", &slot); status != http.StatusOK ||
		slot.AccountID != "saw/8" || !strings.Contains(r.env["SEQUENCER_LEDGERS"], "saw=sawtooth+"+slot.WorkerURL+",") {
		t.Errorf("a slot: %d, %+v", status, slot)
	}
	r.audit()
	// The same batch is the same transaction, whatever key is given; in another queue it is refused.
	var again shownBatch
	body := r.body("saw", "q-saw", "saw-0", "set")
	body = regexp.MustCompile(`"uid":"[^"]*",`).ReplaceAllString(body, "")
	if status := r.call(http.MethodPost, s.api+"/transactions", body, &again); status != http.StatusOK || again.UID != "saw-0" {
		t.Errorf("posted again: %d, %s", status, again.UID)
	}
	other := regexp.MustCompile(`"queue":"q-saw"`).ReplaceAllString(body, `"queue":"other"`)
	if status := r.call(http.MethodPost, s.api+"/transactions", other, nil); status != http.StatusConflict {
		t.Errorf("posted again to another queue: %d", status)
	}
}

// batchRetriedAndCancelled: a batch that its ledger has had since before a person's retry is not
// forgotten when a person cancels it.
func batchRetriedAndCancelled(t *testing.T, bin binaries) {
	r := newLedgerRigOf(t, bin, "retried", time.Hour, map[string]string{"SEQUENCER_LEDGER_PATIENCE": "1s"})
	s := r.serve("serve", nil)
	r.post(s, "saw", "q", "a", "set")
	if shown := r.ended(s, "a"); shown.State != "UNRESOLVED" || shown.Error.Code != "OUTCOME_UNKNOWN" {
		t.Fatalf("while it is PENDING: %+v", shown)
	}
	var shown shownBatch
	for _, step := range []struct{ method, path, state string }{
		{http.MethodPost, "/queues/q/pause", ""},
		{http.MethodPost, "/transactions/a/retry", "WAITING"},
		{http.MethodPost, "/transactions/a/cancel", "UNRESOLVED"},
	} {
		shown = shownBatch{}
		if status := r.call(step.method, s.api+step.path, "{}", &shown); status/100 != 2 ||
			step.state != "" && shown.State != step.state {
			t.Fatalf("%s: %d, %+v", step.path, status, shown)
		}
	}
	r.sawtooth.MakeBlock()
	r.eventually(patience, "it is DONE", func() bool {
		return r.call(http.MethodGet, s.api+"/transactions/a", "", &shown) == http.StatusOK && shown.State == "DONE"
	})
	r.audit()
}

// batchesDrained: a process is told to end while its ledgers are slow, busy, or never
// answer. It ends in its time and gives its claims up; the next one brings each batch to its
// end, once and in order.
func batchesDrained(t *testing.T, bin binaries) {
	lane.All(t, `Batches, and Drained`)
	for _, tc := range []struct {
		name, timeout string
		slow          devledger.Fault
	}{
		{"answered-in-time", "30s", devledger.Fault{Wait: time.Second}},
		{"never-answered", "1s", devledger.Fault{Answer: devledger.Hang}},
	} {
		// Claims outlive the test: only what was given up is taken over.
		r := newLedgerRig(t, bin, tc.name, map[string]string{"SEQUENCER_CLAIM_TTL": "5m", "SEQUENCER_LEDGER_TIMEOUT": "1m"})
		var mu sync.Mutex
		hanging, busy := 0, map[string]bool{}
		plan := func(c devledger.Call) *devledger.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.On != devledger.Post {
				return nil
			}
			h := fnv.New64a()
			fmt.Fprint(h, c.Batches)
			switch dice := h.Sum64() % 4; {
			case dice < 2:
				hanging++
				return &tc.slow
			case dice == 2 && !busy[c.Batches[0]]:
				busy[c.Batches[0]] = true
				return &devledger.Fault{Drop: true, Status: http.StatusTooManyRequests}
			}
			return nil
		}
		ledgers := []devledger.Ledger{r.sawtooth, r.splinter}
		for _, l := range ledgers {
			l.SetPlan(plan)
		}
		s := r.serve(tc.name, map[string]string{"SEQUENCER_SHUTDOWN_TIMEOUT": tc.timeout})
		r.ok(r.postAll([]string{"saw", "scab"}, 16, 4, func() string { return s.api }))
		r.eventually(patience, "posts are under way", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return hanging >= 4
		})
		s.signal(syscall.SIGTERM)
		if code := r.exitCodeOf(s.program); code != command.ExitOK {
			t.Errorf("%s: drained with exit code %d", tc.name, code)
		}
		for _, l := range ledgers {
			l.SetPlan(nil)
			l.Heal()
		}
		left := 0
		for _, p := range r.posted {
			if r.get(p.uid).State() == tx.Waiting {
				left++
			}
		}
		next := r.serve("after "+tc.name, nil)
		for _, p := range r.posted {
			shown := r.ended(next, p.uid)
			if want := map[bool]string{true: "UNRESOLVED", false: "DONE"}[r.refused[p.uid]]; shown.State != want {
				t.Errorf("%s: %s is %s: %+v", tc.name, p.uid, shown.State, shown.Error)
			}
		}
		r.onceInOrder(nil)
		r.audit()
		t.Logf("%s: %d posts without an answer yet when the signal came; %d of %d batches left to the next process",
			tc.name, hanging, left, len(r.posted))
	}
}

// settled waits for the end of a batch. Where nobody knows what became of it a person looks
// into the ledger, says what is there, and has posted again what is not.
func (r *ledgerRig) settled(s *serving, uid string, strayed map[string]bool) shownBatch {
	r.Helper()
	for {
		shown := r.ended(s, uid)
		if shown.State != "UNRESOLVED" || shown.Error == nil || shown.Error.Code == "INVALID" {
			return shown
		}
		order := `{"outcome":"dead"}`
		if _, there := r.effects()[r.ids[uid]]; there {
			order = fmt.Sprintf(`{"outcome":"landed","hash":%q}`, r.ids[uid])
		}
		status, text, err := exchange(http.MethodPost, s.api+"/transactions/"+uid+"/resolve", order)
		if err == nil && status == http.StatusOK && strings.Contains(order, "dead") {
			strayed[uid] = true
			status, text, err = exchange(http.MethodPost, s.api+"/transactions/"+uid+"/retry", "")
		}
		if err != nil || status != http.StatusOK && status != http.StatusConflict {
			r.Fatalf("%s of %s: %d %s %v", order, uid, status, text, err)
		}
	}
}
