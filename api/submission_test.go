package api

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// TestLedgerBatch: what a batch is in Grid's words, also among the fields of the transaction; of what is
// none these are null, and there is no batch.
func TestLedgerBatch(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	says := tx.Submission{
		Submitted: true, Status: tx.DLTInvalid, TriedAt: time.Unix(7, 0), Settled: true,
		Error: &tx.Error{Code: "30", Message: "http://10.1.2.3:8008 does not permit it"},
	}
	s := setup(t, func(o *Options) {
		o.Keys = tenants()
		o.Batch = func(_ context.Context, x *tx.Transaction) (tx.Submission, []tx.BatchTransaction) {
			if x.BatchID != "b1" {
				t.Errorf("asked for %+v", x)
			}
			return says, []tx.BatchTransaction{
				{ID: "t1", Family: "intkey", FamilyVersion: "1.0", Signer: "02", Valid: &yes, Receipt: json.RawMessage(`{"id":"t1","n":1e400}`)},
				{ID: "t2", Valid: &no, Message: "no, says 10.1.2.3:8008", Data: []byte{0, 255}}, {ID: "t3"},
			}
		}
	})
	accepted := s.store.Enqueue(t.Context(), queues.Item{
		UID: "b", Queue: "a-1", Type: "SUBMIT_BATCH", Ledger: "saw", BatchID: "b1", Data: json.RawMessage(`{}`)})
	if accepted.Err != nil {
		t.Fatal(accepted.Err)
	}
	ask := func(key, path string) reply {
		r := httptest.NewRequest("GET", base+path, nil)
		r.Header.Set(bearerOf(key))
		return s.serve(r)
	}
	got := ask("ops", "/transactions/b/batch").want(200)
	if diff := cmp.Diff(map[string]any{
		"uid": "b", "ledger": "saw", "batchId": "b1", "state": "WAITING", "submitted": true, "submissionError": "30",
		"submissionErrorMessage": "http://10.1.2.3:8008 does not permit it", "status": "Invalid", "triedAt": "1970-01-01T00:00:07.000Z",
		"settled": true, "transactions": []any{
			map[string]any{"id": "t1", "familyName": "intkey", "familyVersion": "1.0", "signerPublicKey": "02", "valid": true,
				"errorMessage": nil, "errorData": nil, "receipt": map[string]any{"id": "t1", "n": json.Number("1e400")}},
			map[string]any{"id": "t2", "familyName": "", "familyVersion": "", "signerPublicKey": "", "valid": false,
				"errorMessage": "no, says 10.1.2.3:8008", "errorData": "AP8=", "receipt": nil},
			map[string]any{"id": "t3", "familyName": "", "familyVersion": "", "signerPublicKey": "", "valid": nil,
				"errorMessage": nil, "errorData": nil, "receipt": nil},
		}}, got.read()); diff != "" {
		t.Error(diff)
	}
	if body := ask("one", "/transactions/b/batch").want(200).Body.String(); strings.Contains(body, "10.1.2.3") {
		t.Errorf("a tenant is told an address: %s", body)
	}
	ask("two", "/transactions/b/batch").wantProblem(404, codeNotFound)
	ask("ops", "/transactions/none/batch").wantProblem(404, codeNotFound)
	if got := ask("ops", "/transactions/b").want(200).read(); got["submitted"] != false || got["submissionError"] != nil {
		t.Errorf("%v", got)
	}
	s.ask("POST", "/transactions", `{"queue":"a-1","type":"ANY","data":{},"uid":"u"}`, authorized("ops")...).want(202)
	p := ask("ops", "/transactions/u/batch").wantProblem(404, codeNotFound)
	if p["title"] != "It is no batch" {
		t.Errorf("%v", p)
	}
}
