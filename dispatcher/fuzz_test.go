package dispatcher_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mina-sequencer/dispatcher"
)

// FuzzWorkerAnswers gives any answer to every call: it ends, with a result in
// one of the forms that there are or with an error of a kind that there is, and
// of a legacy worker's error nothing was sent only where the protocol says so.
func FuzzWorkerAnswers(f *testing.F) {
	for _, body := range []string{
		``, `null`, `7`, `{}`, `{"success":false}`, `{"hash":"5J","done":{},"error":null,"data":null}`,
		`{"hash":"","done":{"n":1},"error":null,"data":{"a":1}}`, `{"hash":null,"done":null,"error":{"code":404,"message":"no","exception":null}}`,
		`{"hash":"","error":{"code":20202,"message":"proof failed","exception":{}}}`, `{"code":500,"message":"m"}`,
		`{"error":{"code":20203,"message":"m","exception":"Couldn't send zkApp command: [\"Invalid_nonce\"]"}}`,
		`{"error":{"code":"20203","message":"m","exception":"{\"statusCode\":502} Couldn't send zkApp command: [\"Duplicate\"]"}}`,
		`{"accountId":"` + key + `","types":["MINT"],"capabilities":["prove"],"network":"mina:testnet","o1js":"2.15.0"}`,
		`{"signed":"{\"feePayer\":{}}"}`,
	} {
		for _, status := range []uint16{200, 404, 503, 502} {
			f.Add(status, "7", body)
		}
	}
	f.Add(uint16(429), "Wed, 21 Oct 2015 07:28:00 GMT", ``)
	f.Add(uint16(429), "18446744073709551616", ``)
	answers := new(scripted)
	server := httptest.NewServer(answers)
	f.Cleanup(server.Close)
	worker := dispatcher.Worker{AccountID: key, URL: server.URL}
	client := dispatcher.NewClient(dispatcher.ClientOptions{})
	kind := dispatcher.NewRemote(client, "MINT", nil)
	f.Fuzz(func(t *testing.T, status uint16, after, body string) {
		answer := workerAnswer{int(200 + status%400), after, body}
		answers.set(answer)
		for name, call := range map[string]func() (dispatcher.Result, error){
			"prove":    func() (dispatcher.Result, error) { return kind.Prove(t.Context(), worker, newCall()) },
			"resign":   func() (dispatcher.Result, error) { return kind.Resign(t.Context(), worker, newCall(), []byte(`{}`)) },
			"dispatch": func() (dispatcher.Result, error) { return kind.Dispatch(t.Context(), worker, newCall()) },
		} {
			r, err := call()
			answer.check(t, name, r, err)
		}
		if n, ok, err := kind.MaxRetries(t.Context(), worker); n < 0 || ok && (answer.status != http.StatusOK || err != nil) {
			t.Errorf("%+v: %d retries, %v, %v", answer, n, ok, err)
		}
		if h, err := client.Health(t.Context(), worker); err == nil && h.AccountID != "" && h.AccountID != key {
			t.Errorf("%+v: health %+v", answer, h)
		}
		if _, err := kind.Report(t.Context(), worker, true, dispatcher.Outcome{Txn: newCall().Txn, AccountID: key}); err == nil && answer.status/100 != 2 {
			t.Errorf("%+v: taken for an answer to a callback", answer)
		}
	})
}

type workerAnswer struct {
	status      int
	after, body string
}

func (w workerAnswer) check(t *testing.T, call string, r dispatcher.Result, err error) {
	t.Helper()
	var busy *dispatcher.BusyError
	var failed *dispatcher.WorkerError
	var lost *dispatcher.LostError
	switch {
	case err == nil:
		if w.status != http.StatusOK || r.Signed != nil && !json.Valid(r.Signed) || r.Done != nil && (r.Signed != nil || r.Hash != "") ||
			call != "dispatch" && r.Signed == nil && r.Done == nil {
			t.Errorf("%s, %+v: %+v", call, w, r)
		}
	case errors.As(err, &busy):
		if w.status != 503 && w.status != 429 || busy.RetryAfter < 0 || busy.RetryAfter > dispatcher.MaxRetryAfter {
			t.Errorf("%s, %+v: %v", call, w, busy)
		}
	case errors.Is(err, dispatcher.ErrLegacy):
		if w.status != 404 && w.status != 501 || call == "dispatch" {
			t.Errorf("%s, %+v: legacy", call, w)
		}
	case errors.As(err, &failed):
		if failed.Code == "" || call != "dispatch" && !failed.NothingSent {
			t.Errorf("%s, %+v: %+v", call, w, failed)
		}
		surely := slices.Contains([]string{"404", "500", "502", "20202"}, failed.Code) ||
			failed.Code == "20203" && strings.Contains(failed.Exception, "Couldn't send zkApp command")
		if call == "dispatch" && failed.NothingSent && (w.status != http.StatusOK || !surely) {
			t.Errorf("%+v: said to have sent nothing: %+v", w, failed)
		}
	case !errors.As(err, &lost):
		t.Errorf("%s, %+v: an error of no kind: %v", call, w, err)
	}
}

// scripted answers every request with what is set.
type scripted struct {
	mu     sync.Mutex
	answer workerAnswer
}

func (s *scripted) set(a workerAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = a
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	a := s.answer
	s.mu.Unlock()
	w.Header().Set("Retry-After", a.after)
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(a.body))
}
