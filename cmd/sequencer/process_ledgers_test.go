//go:build unix

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"mina-sequencer/ledger/devledger"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
)

// A ledgerRig is a rig without a Mina node: a Redis, and two simulated ledgers in this
// process, whose own count of what took effect is what the tests believe.
type ledgerRig struct {
	*rig
	sawtooth *devledger.Sawtooth
	splinter *devledger.Splinter
	signer   *devledger.Signer
	ids      map[string]string // batch ids, by uid
}

func newLedgerRig(t *testing.T, bin binaries, namespace string, env map[string]string) *ledgerRig {
	t.Helper()
	r := &ledgerRig{
		rig: &rig{T: t, bin: bin, namespace: namespace, redis: redistest.Start(t)}, signer: devledger.NewSigner(1),
		ids: map[string]string{},
	}
	t.Cleanup(r.tellFailure)
	var err error
	r.sawtooth, err = devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: 50 * time.Millisecond})
	r.ok(err)
	t.Cleanup(r.sawtooth.Close)
	r.splinter, err = devledger.NewSplinter(devledger.SplinterConfig{
		Services: []string{devledger.DefaultService}, ProposalTime: 10 * time.Millisecond,
	})
	r.ok(err)
	t.Cleanup(r.splinter.Close)
	at := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	circuit := regexp.MustCompile(`::`).ReplaceAllString(devledger.DefaultService, "/")
	r.env = map[string]string{
		"SEQUENCER_ADDR": "127.0.0.1:0", "SEQUENCER_REDIS_URL": "redis://" + r.redis.Addr, "SEQUENCER_NAMESPACE": namespace,
		"SEQUENCER_TYPES": "SUBMIT_BATCH", "SEQUENCER_LOG_FORMAT": "text",
		"SEQUENCER_LEDGERS":        "saw=sawtooth+" + at(r.sawtooth) + ",scab=splinter+" + at(r.splinter) + "/scabbard/" + circuit,
		"SEQUENCER_CYCLE_INTERVAL": "1s", "SEQUENCER_INCLUSION_INTERVAL": "100ms", "SEQUENCER_RETRY_DELAY": "300ms",
		"SEQUENCER_RETRY_DELAY_MAX": "500ms", "SEQUENCER_CLAIM_TTL": "1s", "SEQUENCER_LEDGER_TIMEOUT": "1s",
		"SEQUENCER_LEDGER_PATIENCE": "10s", "SEQUENCER_UNRESOLVED_LIMIT": "1000", "SEQUENCER_SHUTDOWN_TIMEOUT": "10s",
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

// batches: a batch goes through both ledgers, with no Mina node in sight; one that is
// refused shows the ledger's words, and a ledger that is away uses nothing up.
func batches(t *testing.T, bin binaries) {
	r := newLedgerRig(t, bin, "batches", nil)
	s := r.serve("serve", nil)
	for _, ledger := range []string{"saw", "scab"} {
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
		case !bad && (shown.State != "DONE" || string(shown.Done) != fmt.Sprintf(`{"status":"COMMITTED","ledger":%q}`, p.queue[2:])):
			t.Errorf("%s is %s: %s", p.uid, shown.State, shown.Done)
		case bad && (shown.State != "UNRESOLVED" || shown.Error == nil || shown.Error.Code != "INVALID" ||
			shown.Error.Message != "the payload says that it is invalid" || shown.Error.Exception == ""):
			t.Errorf("%s is %s: %+v", p.uid, shown.State, shown.Error)
		}
	}
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
