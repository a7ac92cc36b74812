package ledger_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/ledger"
	"mina-sequencer/ledger/devledger"
)

// TestReceipts: what is made of what a ledger says of receipts, by one question.
func TestReceipts(t *testing.T) {
	t.Parallel()
	sized := func(n int) string { // a receipt of so many bytes
		empty := fmt.Sprintf(`{"id":%q,"data":""}`, idOf(2))
		return empty[:len(empty)-2] + strings.Repeat("x", n-len(empty)) + `"}`
	}
	longest, long := sized(256<<10), sized(256<<10+1)
	for name, c := range map[string]struct {
		status int
		body   string
		want   map[string]string
		wrong  string
	}{
		"two": {200, `{"data":[{"id":"` + idOf(1) + `", "events":[]},` + "\n" + `{"id":"` + idOf(2) + `"}],"link":"x"}`,
			map[string]string{idOf(1): `{"id":"` + idOf(1) + `","events":[]}`, idOf(2): `{"id":"` + idOf(2) + `"}`}, ""},
		"none kept":      {404, `{"error":{"code":80,"title":"t","message":"m"}}`, nil, ""},
		"no such route":  {404, `<h1>no</h1>`, nil, "the ledger answered HTTP 404 Not Found"},
		"another's":      {200, `{"data":[{"id":"` + idOf(7) + `"}]}`, map[string]string{}, ""},
		"one too long":   {200, `{"data":[` + long + `,{"id":"` + idOf(1) + `"}]}`, map[string]string{idOf(1): `{"id":"` + idOf(1) + `"}`}, ""},
		"the longest":    {200, `{"data":[` + longest + `]}`, map[string]string{idOf(2): longest}, ""},
		"too much":       {200, `{"data":[]}` + strings.Repeat(" ", 8<<20+1-len(`{"data":[]}`)), nil, "too long"},
		"busy":           {503, `{"error":{"code":15,"title":"t","message":"m"}}`, nil, "HTTP 503 Service Unavailable, code 15"},
		"no JSON":        {200, `x`, nil, "no JSON object"},
		"no list":        {200, `{"data":{}}`, map[string]string{}, "form of receipts"},
		"one that is no": {200, `{"data":[{"id":"` + idOf(1) + `"},7]}`, map[string]string{idOf(1): `{"id":"` + idOf(1) + `"}`}, "form of receipts"},
	} {
		s, url := serve(t, func(w http.ResponseWriter, _ seen) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		})
		l := newLedger(t, ledger.Sawtooth, url, ledger.Options{})
		found, err := l.Receipts(t.Context(), []string{idOf(1), "no id", idOf(2)})
		var got map[string]string
		if found != nil {
			got = map[string]string{}
		}
		for id, doc := range found {
			got[id] = string(doc)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if asked := s.requests(); len(asked) != 1 || asked[0].method != "POST" || asked[0].uri != "/receipts" ||
			asked[0].body != `["`+idOf(1)+`","`+idOf(2)+`"]` || asked[0].header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: asked %+v", name, asked)
		}
	}
	if found, err := newLedger(t, ledger.Sawtooth, "http://127.0.0.1:1", ledger.Options{}).Receipts(t.Context(), []string{idOf(1)}); found != nil || err == nil {
		t.Errorf("nobody there: %v, %v", found, err)
	}
	none, url := serve(t, func(http.ResponseWriter, seen) {})
	if found, err := newLedger(t, ledger.Splinter, url, ledger.Options{}).Receipts(t.Context(), []string{idOf(1)}); found != nil || err != nil {
		t.Errorf("Scabbard: %v, %v", found, err)
	}
	if found, err := newLedger(t, ledger.Sawtooth, url, ledger.Options{}).Receipts(t.Context(), []string{"x"}); found != nil || err != nil {
		t.Errorf("of no transaction: %v, %v", found, err)
	}
	if asked := none.requests(); len(asked) != 0 {
		t.Errorf("asked %+v", asked)
	}
	many, url := serve(t, func(w http.ResponseWriter, _ seen) { _, _ = w.Write([]byte(`{"data":[]}`)) })
	if _, err := newLedger(t, ledger.Sawtooth, url, ledger.Options{}).Receipts(t.Context(), idsOf(0, 1500)); err != nil {
		t.Error(err)
	}
	if asked := questioned(t, many.requests()[0]); !slices.Equal(asked, idsOf(0, 1000)) {
		t.Errorf("asked for %d", len(asked))
	}
}

// TestReceiptsOfValidator: the client and the simulated validator, which were written apart, agree.
func TestReceiptsOfValidator(t *testing.T) {
	t.Parallel()
	validator, err := devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: time.Millisecond, HandOver: -1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(validator)
	t.Cleanup(func() {
		server.Close()
		validator.Close()
	})
	l := newLedger(t, ledger.Sawtooth, server.URL, ledger.Options{})
	made := devledger.NewSigner(1).Batch("n", "one", "two")
	if found, err := l.Receipts(t.Context(), made.Transactions); found != nil || err != nil {
		t.Errorf("of what it has never seen: %v, %v", found, err)
	}
	if a := l.Submit(t.Context(), made.List, made.ID); a.Outcome != ledger.Accepted {
		t.Fatalf("%+v", a)
	}
	for range 10_000 {
		if found, err := l.Statuses(t.Context(), []string{made.ID}); err != nil || found[made.ID].State == ledger.Committed {
			break
		}
	}
	found, err := l.Receipts(t.Context(), made.Transactions)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	var receipt struct {
		ID           string
		StateChanges []struct{ Value []byte } `json:"state_changes"`
	}
	if err := json.Unmarshal(found[made.Transactions[1]], &receipt); err != nil || receipt.ID != made.Transactions[1] ||
		string(receipt.StateChanges[0].Value) != "two" {
		t.Errorf("%+v, %v", receipt, err)
	}
}

// TestTransactions reads what Sawtooth's own SDK made, and what this signer does.
func TestTransactions(t *testing.T) {
	t.Parallel()
	signer := devledger.NewSigner(1)
	made := signer.Batch("n", "one", "two")
	want := []ledger.Transaction{
		{ID: made.Transactions[0], Family: "intkey", FamilyVersion: "1.0", Signer: signer.PublicKey()},
		{ID: made.Transactions[1], Family: "intkey", FamilyVersion: "1.0", Signer: signer.PublicKey()},
	}
	if diff := cmp.Diff(want, ledger.Transactions(made.List)); diff != "" {
		t.Error(diff)
	}
	for _, vector := range readVectors(t).Vectors {
		list, err := base64.StdEncoding.DecodeString(vector.BatchList)
		if err != nil {
			t.Fatal(err)
		}
		batches, err := devledger.ParseBatchList(list)
		if err != nil {
			t.Fatal(err)
		}
		var want []ledger.Transaction
		for _, b := range batches {
			for i := range b.Transactions {
				x := &b.Transactions[i]
				want = append(want, ledger.Transaction{ID: x.ID, Family: x.Family, FamilyVersion: x.FamilyVersion, Signer: x.Signer})
			}
		}
		if diff := cmp.Diff(want, ledger.Transactions(list)); diff != "" || len(want) == 0 {
			t.Errorf("%s: %s", vector.Name, diff)
		}
	}
	if all := ledger.Transactions([]byte{0x0a, 0x05}); all != nil {
		t.Errorf("of what is none: %v", all)
	}
}
