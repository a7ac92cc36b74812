package dispatcher_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		ok     bool
	}{
		{"empty", 200, ``, true},
		{"no content", 204, ``, true},
		{"text", 200, `OK`, true},
		{"success", 200, `{"success":true}`, true},
		{"object", 200, `{"hash":"","done":{}}`, true},
		{"not taken", 200, `{"success": false, "message":"later"}`, false},
		{"HTTP 400", 400, `{"success":true}`, false},
		{"HTTP 404", 404, ``, true},
		{"HTTP 501", 501, `no such route`, true},
		{"HTTP 500", 500, ``, false},
		{"HTTP 503", 503, ``, false},
		{"too long", 200, strings.Repeat("x", 65<<10), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &worker{status: tt.status, body: tt.body}
			at, remote := w.start(t, dispatcher.ClientOptions{})
			outcome := dispatcher.Outcome{Txn: newCall().Txn, AccountID: "B62other",
				Result: dispatcher.Result{Hash: "5J", Data: json.RawMessage(`{"n":1E400}`), Signed: json.RawMessage(`{}`)}}
			if _, err := remote.Report(t.Context(), at, true, outcome); (err == nil) != tt.ok {
				t.Errorf("on success: %v", err)
			}
			outcome.Error = &dispatcher.WorkerError{Code: "20206", Message: "failed", Exception: "why"}
			if _, err := remote.Report(t.Context(), at, false, outcome); (err == nil) != tt.ok {
				t.Errorf("on failure: %v", err)
			}
			const txn = `{"txData":{"uid":"u1","type":"MINT","data":{}},"result":{"hash":"5J","done":null,"error":`
			const end = `,"data":{"n":1E400}},"sender":{"accountId":"B62other","queue":"q","retries":1}}` + "\n"
			want := []string{
				"/base/on-success/MINT " + txn + `null` + end,
				"/base/on-failure/MINT " + txn + `{"code":"20206","message":"failed","exception":"why"}` + end,
			}
			var got []string
			for _, r := range w.requests {
				got = append(got, r.path+" "+r.body)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReportAnswers: what a worker says to a callback comes back as an object, without what it says by
// itself and what is never shown; and what was said to the callback before goes along.
func TestReportAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``: "", `OK`: "", `[1]`: "", `null`: "", `{"success":true}`: "", `{"hash":"","done":{},"data":null,"error":[]}`: "",
		`{"signed":"{}","success":true}`: "",
		//nolint:gocritic // the spaces are what is tried
		" { \"success\": true, \"n\" : 1E400, \"a\":\"<\\u00e4>\" } ": `{"a":"<\u00e4>","n":1E400}`,
		`{"hash":"5J","signed":{"x":1},"done":{}}`:                    `{"done":{},"hash":"5J"}`,
	} {
		w := &worker{status: 200, body: body}
		at, remote := w.start(t, dispatcher.ClientOptions{})
		outcome := dispatcher.Outcome{Txn: newCall().Txn, Answered: json.RawMessage(`{"ledger":7}`)}
		got, err := remote.Report(t.Context(), at, true, outcome)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
		if sent := w.requests[0].body; !strings.HasSuffix(sent, `,"answered":{"ledger":7}}`+"\n") {
			t.Errorf("sent %s", sent)
		}
	}
}

// TestNotReported: why a callback was not taken, in words and by its kind.
func TestNotReported(t *testing.T) {
	t.Parallel()
	w := &worker{status: 503, header: map[string]string{"Retry-After": "7"}}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	outcome := dispatcher.Outcome{Txn: newCall().Txn}
	_, err := remote.Report(t.Context(), at, true, outcome)
	if busy, is := errors.AsType[*dispatcher.BusyError](err); !is || busy.RetryAfter != 7*time.Second || err.Error() != "reporting on-success: worker busy for 7s" {
		t.Errorf("busy: %v", err)
	}
	w.status = 500
	if _, err := remote.Report(t.Context(), at, false, outcome); err == nil || err.Error() != "reporting on-failure: worker error 500: the worker answered HTTP 500 Internal Server Error" {
		t.Errorf("failed: %v", err)
	}
	w.status, w.body = 200, `{"success":false}`
	if _, err := remote.Report(t.Context(), at, false, outcome); err == nil || err.Error() != "reporting on-failure: the worker answered success: false" {
		t.Errorf("not taken: %v", err)
	}
	at.URL = "ftp://w"
	if _, err := remote.Report(t.Context(), at, true, outcome); err == nil || err.Error() != "reporting on-success: worker not reached: the worker's URL is not an http or https URL" {
		t.Errorf("not reached: %v", err)
	}
	outcome.Data = json.RawMessage(`{`)
	if _, err := remote.Report(t.Context(), at, true, outcome); err == nil || !strings.HasPrefix(err.Error(), "reporting on-success: json: ") || len(w.requests) != 3 {
		t.Errorf("not encoded: %v, %d requests", err, len(w.requests))
	}
}

// TestQuickAnswers: 64 KiB of a quick answer are taken, and not a byte more.
func TestQuickAnswers(t *testing.T) {
	t.Parallel()
	for more, want := range map[int]string{0: "answered", 1: "lost"} {
		w := &worker{status: 200, body: strings.Repeat("x", 64<<10+more)}
		at, remote := w.start(t, dispatcher.ClientOptions{})
		if _, err := remote.Report(t.Context(), at, true, dispatcher.Outcome{}); kind(err) != want {
			t.Errorf("%d bytes above 64 KiB: %s", more, kind(err))
		}
	}
}

func TestMaxRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		n      int
		ok     bool
		err    string
	}{
		{200, `3`, 3, true, "answered"}, {200, " 0\n", 0, true, "answered"}, {200, `1000000`, 1000000, true, "answered"},
		{200, `1000001`, 0, false, "answered"}, {200, `-1`, 0, false, "answered"}, {200, `1.5`, 0, false, "answered"},
		{200, `"3"`, 0, false, "answered"}, {200, `{"maxRetries":3}`, 0, false, "answered"}, {200, ``, 0, false, "answered"},
		{404, `3`, 0, false, "answered"}, {500, `3`, 0, false, "answered"}, {501, `3`, 0, false, "answered"}, {201, `3`, 0, false, "answered"},
		{503, `3`, 0, false, "worker busy"}, {429, `3`, 0, false, "worker busy"},
		{502, `3`, 0, false, "worker error 502: the worker answered HTTP 502 Bad Gateway: 3"},
		{504, `3`, 0, false, "worker error 504: the worker answered HTTP 504 Gateway Timeout: 3"},
	} {
		w := &worker{status: tt.status, body: tt.body}
		at, remote := w.start(t, dispatcher.ClientOptions{})
		n, ok, err := remote.MaxRetries(t.Context(), at)
		if n != tt.n || ok != tt.ok || strings.TrimPrefix(kind(err), "asking for retries: ") != tt.err {
			t.Errorf("%d %q: %d, %v, %v", tt.status, tt.body, n, ok, err)
		}
		if r := w.requests[0]; r.method != "GET" || r.path != "/base/max-retries/MINT" || r.body != "" {
			t.Errorf("request: %+v", r)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	full := `{"accountId":"` + key + `","types":["MINT"],"capabilities":["prove"],"network":"mina:testnet","o1js":"2.13.0","provers":3,"more":1}`
	tests := []struct {
		name   string
		status int
		body   string
		want   dispatcher.Health
		err    error // nil, or one to be found by errors.Is or of the same type
	}{
		{"full", 200, full, dispatcher.Health{AccountID: key, Types: []string{"MINT"}, Capabilities: []string{"prove"}, Network: "mina:testnet", O1js: "2.13.0", Provers: 3}, nil},
		{"none", 404, ``, dispatcher.Health{}, nil},
		{"text", 200, `OK`, dispatcher.Health{}, nil},
		{"cut short", 200, `{"accountId":"B62other","types":`, dispatcher.Health{}, nil},
		{"a part of a prover", 200, `{"provers":1.5}`, dispatcher.Health{}, nil},
		{"odd types", 200, `{"types":"MINT","capabilities":[1],"network":null,"provers":"3"}`, dispatcher.Health{}, nil},
		{"another account", 200, `{"accountId":"B62other"}`, dispatcher.Health{AccountID: "B62other"}, dispatcher.ErrWrongAccount},
		{"account is no text", 200, `{"accountId":5}`, dispatcher.Health{AccountID: "5"}, dispatcher.ErrWrongAccount},
		{"sick", 500, ``, dispatcher.Health{}, &dispatcher.WorkerError{}},
		{"locked out", 401, ``, dispatcher.Health{}, &dispatcher.WorkerError{}},
		{"busy", 503, ``, dispatcher.Health{}, &dispatcher.BusyError{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &worker{status: tt.status, body: tt.body}
			server := httptest.NewServer(w)
			t.Cleanup(server.Close)
			got, err := dispatcher.NewClient(dispatcher.ClientOptions{}).Health(t.Context(), dispatcher.Worker{AccountID: key, URL: server.URL})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var ok bool
			switch tt.err.(type) { //nolint:errorlint // the table wraps none
			case nil:
				ok = err == nil
			case *dispatcher.WorkerError:
				_, ok = errors.AsType[*dispatcher.WorkerError](err)
			case *dispatcher.BusyError:
				_, ok = errors.AsType[*dispatcher.BusyError](err)
			default:
				ok = errors.Is(err, tt.err)
			}
			if !ok {
				t.Errorf("error %v, want %T", err, tt.err)
			}
		})
	}
}
