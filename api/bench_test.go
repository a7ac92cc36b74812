package api

import (
	"encoding/json"
	"mina-sequencer/sequencer/tx"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
)

const voteBody = `{"queue":"claim-0123456789abcdef0123456789abcdef","type":"ANY","data":{"planUid":"p1","batchUid":"b1","claimUid":"0123456789abcdef0123456789abcdef","electorAccountId":"B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS","index":17,"vote":1}}`

// BenchmarkBare is the least that a router, a decoder and an encoder can do.
func BenchmarkBare(b *testing.B) {
	router := chi.NewRouter()
	router.Post(base+"/transactions", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Queue, Type string
			Data        json.RawMessage
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(400)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(body)
	})
	for b.Loop() {
		router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", base+"/transactions", strings.NewReader(voteBody)))
	}
}

// BenchmarkRefused is all that this package does for a post but the answer: a
// key that is none is refused last.
func BenchmarkRefused(b *testing.B) {
	s := setup(b, func(o *Options) { o.Log = nil })
	for b.Loop() {
		r := httptest.NewRequest("POST", base+"/transactions", strings.NewReader(voteBody))
		r.Header.Set("Idempotency-Key", "/")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// BenchmarkAnswer is the answer.
func BenchmarkAnswer(b *testing.B) {
	var body struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(voteBody), &body); err != nil {
		b.Fatal(err)
	}
	t := &tx.Transaction{
		UID: "mzxw6ytboi2gk3tpmfzgkyltmq", Queue: "claim-0123456789abcdef0123456789abcdef", Sequence: 123456, Type: "ANY", Data: body.Data,
		Phase: tx.PhaseWaiting, ReceivedAt: time.UnixMilli(1_800_000_000_123),
	}
	a := &api{Options: Options{Keys: NewKeyring(nil)}}
	for b.Loop() {
		if err := a.sendTransaction(httptest.NewRecorder(), http.StatusAccepted, t); err != nil {
			b.Fatal(err)
		}
	}
}
