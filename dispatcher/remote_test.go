package dispatcher_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

// worker answers every request in the same way and keeps them.
type worker struct {
	status int
	header map[string]string
	body   string

	mu       sync.Mutex
	requests []request
}

type request struct {
	method, path, body string
	header             http.Header
}

func (w *worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.requests = append(w.requests, request{r.Method, r.URL.Path, string(body), r.Header})
	w.mu.Unlock()
	for k, v := range w.header {
		rw.Header().Set(k, v)
	}
	rw.WriteHeader(w.status)
	_, _ = io.WriteString(rw, w.body)
}

// start returns the worker's address and a type that it serves.
func (w *worker) start(t *testing.T, o dispatcher.ClientOptions) (dispatcher.Worker, *dispatcher.Remote) {
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return dispatcher.Worker{AccountID: key, URL: server.URL + "/base/"},
		dispatcher.NewRemote(dispatcher.NewClient(o), "MINT", nil)
}

func newCall() dispatcher.Call {
	return dispatcher.Call{
		Txn: dispatcher.Txn{UID: "u1", Type: "MINT", Data: json.RawMessage(`{}`), Queue: "q", Retries: 1},
		Attempt: dispatcher.Attempt{
			Number: 2, Nonce: 12, Fee: 100000000, ValidUntil: 5123, Memo: "m",
			Previous: []dispatcher.Previous{{Number: 1, Hash: "5Jx", Nonce: 12, Fee: 18446744073709551615}},
		},
	}
}

// summary is an answer in one line.
func summary(r dispatcher.Result, err error) string {
	var s []string
	if r.Hash != "" {
		s = append(s, "hash="+r.Hash)
	}
	if r.Done != nil {
		s = append(s, "done="+string(r.Done))
	}
	if r.Data != nil {
		s = append(s, "data="+string(r.Data))
	}
	if r.Signed != nil {
		s = append(s, "signed="+string(r.Signed))
	}
	if errors.Is(err, dispatcher.ErrLegacy) {
		s = append(s, "legacy")
	} else if e, ok := errors.AsType[*dispatcher.BusyError](err); ok {
		s = append(s, "busy "+e.RetryAfter.String())
	} else if e, ok := errors.AsType[*dispatcher.WorkerError](err); ok {
		s = append(s, e.Kind.String()+" "+e.Code)
		if e.ByRefusal {
			s = append(s, "nothing sent by a refusal")
		} else if e.NothingSent {
			s = append(s, "nothing sent")
		}
	} else if _, ok := errors.AsType[*dispatcher.LostError](err); ok {
		s = append(s, "lost")
	} else if err != nil {
		s = append(s, "other: "+err.Error())
	}
	return strings.Join(s, ", ")
}

// refusal is what o1js throws when a node turns a command down.
func refusal(status, text string) string {
	inner, _ := json.Marshal(map[string]any{"statusCode": json.Number(status), "statusText": text})
	quoted, _ := json.Marshal("Transaction failed with errors:\n- " + string(inner))
	return string(quoted)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const both = "" // prove, resign and dispatch understand it alike
	nonce := refusal("200", `Couldn't send zkApp command: ["Invalid_nonce"]`)
	tests := []struct {
		name, call string
		status     int
		body, want string
	}{
		{"signed as text", "prove", 200, `{"hash":"5J","done":null,"error":null,"data":{"a":1},"signed":"{\"memo\":\"x\"}"}`, `hash=5J, data={"a":1}, signed={"memo":"x"}`},
		{"signed as object", "prove", 200, `{"hash":"5J","signed":{"n":1E400}}`, `hash=5J, signed={"n":1E400}`},
		{"signed again", "resign", 200, `{"hash":"5J","signed":"{}"}`, "hash=5J, signed={}"},
		{"signed is no command", "prove", 200, `{"hash":"5J","signed":"nonsense"}`, "hash=5J, retryable WORKER_MISMATCH, nothing sent"},
		{"only a hash", "prove", 200, `{"hash":"5J","done":{}}`, "hash=5J, retryable WORKER_MISMATCH, nothing sent"},
		{"nothing", "prove", 200, `{}`, "retryable WORKER_MISMATCH, nothing sent"},
		{"nothing signed again", "resign", 200, `{"done":{"x":1}}`, `done={"x":1}, retryable WORKER_MISMATCH, nothing sent`},
		{"done", "prove", 200, `{"hash":"","done":{"x":1},"data":{}}`, `done={"x":1}`},
		{"done beside signed", "prove", 200, `{"hash":"","done":{"x":1},"signed":"{}"}`, `signed={}`},

		{"sent, done empty", "dispatch", 200, `{"hash":"5J","done":{}}`, "hash=5J"},
		{"sent, done filled", "dispatch", 200, `{"hash":"5J","done":{"x":1},"data":[1]}`, "hash=5J, data=[1]"},
		{"sent, error empty", "dispatch", 200, `{"hash":"5J","error":{}}`, "hash=5J"},
		{"sent, code at top", "dispatch", 200, `{"hash":"5J","code":500,"message":"m"}`, "hash=5J"},
		{"done without sending", "dispatch", 200, `{"hash":"","done":{"x":1}}`, `done={"x":1}`},
		{"success of nothing", "dispatch", 200, `{"hash":"","done":{}}`, "lost"},
		{"done is a text", "dispatch", 200, `{"done":"yes"}`, "lost"},

		{"404", "dispatch", 200, `{"error":{"code":404,"message":"m","exception":{}}}`, "retryable 404, nothing sent"},
		{"500", "dispatch", 200, `{"hash":"","done":{},"error":{"code":500,"message":"m"}}`, "unresolvable 500, nothing sent"},
		{"502", "dispatch", 200, `{"error":{"code":"502","message":"m"}}`, "unavailable 502, nothing sent"},
		{"20202", "dispatch", 200, `{"error":{"code":20202,"message":"m"}}`, "retryable 20202, nothing sent"},
		{"500 at top", "dispatch", 200, `{"code":500,"message":"m"}`, "unresolvable 500, nothing sent"},
		{"20204", "dispatch", 200, `{"error":{"code":20204,"message":"m"}}`, "retryable 20204"},
		{"500 with a hash", "dispatch", 200, `{"hash":"5J","error":{"code":500,"message":"m"}}`, "hash=5J, unresolvable 500"},
		{"20203 unexplained", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":{}}}`, "retryable 20203"},
		{"20203 refused", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":` + nonce + `}}`, "retryable 20203, nothing sent by a refusal"},
		{"20203 refused, as object", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":{"message":` + nonce + `}}}`, "retryable 20203, nothing sent by a refusal"},
		{"20203 refused, at top", "dispatch", 200, `{"code":20203,"message":"m","exception":"Couldn't send zkApp command: Insufficient fee"}`, "retryable 20203, nothing sent by a refusal"},
		{"20203 pooled already", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":` + refusal("200", `Couldn't send zkApp command: ["Duplicate"]`) + `}}`, "retryable 20203"},
		{"20203 bad gateway", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":` + refusal("502", "Bad Gateway") + `}}`, "retryable 20203"},
		{"20203 refused by one, lost by another", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":[` + nonce + `,` + refusal("504", "Timeout") + `]}}`, "retryable 20203"},
		{"20203 in a gateway's words", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":` + refusal("200", "upstream timeout") + `}}`, "retryable 20203"},
		{"20203 refused by one, and a gateway's words", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":[` + nonce + `,` + refusal("200", "upstream timeout") + `]}}`, "retryable 20203"},
		{"20203 a refusal that is no answer of a node", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":` + refusal("502", `Couldn't send zkApp command: ["Invalid_nonce"]`) + `}}`, "retryable 20203"},
		{"20203 refused by two", "dispatch", 200, `{"error":{"code":20203,"message":"m","exception":[` + nonce + `,` + refusal("200", `Couldn't send zkApp command: Insufficient fee`) + `]}}`, "retryable 20203, nothing sent by a refusal"},
		{"20203 refused, in HTTP 500", "dispatch", 500, `{"error":{"code":20203,"message":"m","exception":` + nonce + `}}`, "retryable 20203"},
		{"500 in HTTP 500", "dispatch", 500, `{"error":{"code":500,"message":"m"}}`, "unresolvable 500"},
		{"no such route", "dispatch", 404, `{"message":"Route not found","error":"Not Found","statusCode":404}`, "retryable 404"},
		{"HTTP 409", "dispatch", 409, ``, "retryable 409"},
		{"HTTP 302", "dispatch", 302, ``, "unavailable 302"},
		{"HTTP 499", "dispatch", 499, ``, "retryable 499"},
		{"signed is no command beside a hash", "dispatch", 200, `{"hash":"5J","signed":"nonsense"}`, "hash=5J, retryable WORKER_MISMATCH"},
		{"data empty", "dispatch", 200, `{"hash":"5J","data":[]}`, "hash=5J"},
		{"data with a space", "dispatch", 200, `{"hash":"5J","data":{ }}`, "hash=5J"},
		{"data no text", "dispatch", 200, `{"hash":"5J","data":""}`, "hash=5J"},
		{"data a quote", "dispatch", 200, `{"hash":"5J","data":"x"}`, `hash=5J, data="x"`},
		{"data 0", "dispatch", 200, `{"hash":"5J","data":0}`, "hash=5J, data=0"},
		{"error no text", "dispatch", 200, `{"hash":"5J","error":""}`, "hash=5J"},

		{"legacy", "prove", 404, `not found`, "legacy"},
		{"legacy with an error", "prove", 404, `{"code":500,"message":"m"}`, "legacy"},
		{"legacy by another status", "prove", 501, ``, "legacy"},
		{"legacy resign", "resign", 404, ``, "legacy"},
		{"HTTP 500 with an error", "prove", 500, `{"error":{"code":20202,"message":"m"}}`, "retryable 20202, nothing sent"},
		{"HTTP 400 without", "prove", 400, `bad`, "retryable 400, nothing sent"},
		{"HTTP 302 of a worker that proves", "prove", 302, ``, "unavailable 302, nothing sent"},
		{"HTTP 403", "prove", 403, ``, "unavailable 403, nothing sent"},
		{"HTTP 402", "prove", 402, ``, "retryable 402, nothing sent"},
		{"conflict by its code alone", "prove", 200, `{"error":{"code":"ATTEMPT_CONFLICT","message":"m"}}`, "conflict ATTEMPT_CONFLICT, nothing sent"},
		{"HTTP 401", "prove", 401, ``, "unavailable 401, nothing sent"},
		{"conflict", "prove", 409, `{"error":{"code":"ATTEMPT_CONFLICT","message":"m"}}`, "conflict ATTEMPT_CONFLICT, nothing sent"},
		{"conflict, bare", "resign", 409, ``, "conflict ATTEMPT_CONFLICT, nothing sent"},

		{"error without a code", both, 200, `{"error":{"message":"m"}}`, "retryable WORKER_ERROR"},
		{"code of letters", both, 200, `{"error":{"code":"ECONNRESET","message":"m"}}`, "retryable ECONNRESET"},
		{"error's data", both, 200, `{"error":{"code":1,"message":"m"},"data":{"a":1},"done":{"a":1},"signed":"{}"}`, "retryable 1"},
		{"error is a text", both, 200, `{"error":"boom"}`, "lost"},
		{"hash is a number", both, 200, `{"hash":5}`, "lost"},
		{"hash is none", both, 200, `{"hash":"5J\n"}`, "lost"},
		{"null", both, 200, `null`, "lost"},
		{"list", both, 200, `[]`, "lost"},
		{"empty", both, 200, ``, "lost"},
		{"broken", both, 200, `{"hash":"5J"`, "lost"},
		{"two answers", both, 200, `{"hash":"5J"}{}`, "lost"},
		{"created", both, 201, `{"hash":"5J","signed":"{}"}`, "lost"},
		{"HTTP 500", both, 500, `oops`, "lost"},
		{"HTTP 500 of a framework", both, 500, `{"statusCode":500,"code":"E","error":"Internal Server Error","message":"m"}`, "lost"},
		{"HTTP 502", both, 502, `<html>`, "lost"},
		{"HTTP 504", both, 504, `{"hash":"5J"}`, "lost"},
		{"HTTP 503", both, 503, `{"error":{"code":500,"message":"m"}}`, "busy 0s"},
		{"HTTP 429", both, 429, ``, "busy 0s"},
	}
	for _, tt := range tests {
		calls := []string{tt.call}
		if tt.call == both {
			calls = []string{"prove", "resign", "dispatch"}
		}
		for _, path := range calls {
			t.Run(path+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				w := &worker{status: tt.status, body: tt.body}
				at, remote := w.start(t, dispatcher.ClientOptions{})
				var got string
				switch path {
				case "prove":
					got = summary(remote.Prove(t.Context(), at, newCall()))
				case "resign":
					got = summary(remote.Resign(t.Context(), at, newCall(), []byte(`{}`)))
				case "dispatch":
					got = summary(remote.Dispatch(t.Context(), at, newCall()))
				}
				want := tt.want
				if tt.call == both && path != "dispatch" && strings.HasPrefix(want, "retryable") {
					want += ", nothing sent"
				}
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if len(w.requests) != 1 || w.requests[0].path != "/base/"+path+"/MINT" {
					t.Errorf("requests: %+v", w.requests)
				}
			})
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	data := "{ \"e\" : \"\\u0041\\u2028<>&\u2028\\/\\ud800\",\"n\":[1E400,-0,1.0,28948022309329048855892746252171976963363056481941560715954676764349967630337]}"
	w := &worker{status: 200, body: `{"signed":"{}"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{Token: "secret\n"})
	call := newCall()
	call.Data = json.RawMessage(data)
	if _, err := remote.Resign(t.Context(), at, call, []byte(`{"x":"<"}`)); err != nil {
		t.Fatal(err)
	}
	call.Attempt.ValidUntil, call.Attempt.Previous = 0, nil
	call.ExpiresAt = time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600))
	if _, err := remote.Prove(t.Context(), at, call); err != nil {
		t.Fatal(err)
	}
	kept := strings.NewReplacer(" ", "").Replace(data)
	txn := `{"txData":{"uid":"u1","type":"MINT","data":` + kept + `},"sender":{"accountId":"` + key + `","queue":"q","retries":1},"attempt":{"number":2,"nonce":12,"fee":"100000000","validUntil":`
	want := []string{
		txn + `5123,"memo":"m","previous":[{"number":1,"hash":"5Jx","nonce":12,"fee":"18446744073709551615"}]},"signed":"{\"x\":\"<\"}"}` + "\n",
		strings.Replace(txn, kept+"}", kept+`,"expiresAt":"2026-03-01T12:00:00Z"}`, 1) + `null,"memo":"m","previous":[]}}` + "\n",
	}
	for i, r := range w.requests {
		if diff := cmp.Diff(want[i], r.body); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		if r.method != "POST" || r.header.Get("Authorization") != "Bearer secret" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.method, r.header)
		}
		if r.header.Get("Accept") != "application/json" || r.header.Get("Accept-Encoding") != "" {
			t.Errorf("asks for %q, encoded as %q", r.header.Get("Accept"), r.header.Get("Accept-Encoding"))
		}
		if r.header.Get("Idempotency-Key") != "" || r.header.Get("X-Idempotency-Key") != "" {
			t.Error("the request asks to be replayed")
		}
	}
}

func TestNoTLS(t *testing.T) {
	t.Parallel()
	w := &worker{status: 200, body: `{"hash":"5J"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	at.URL = strings.Replace(at.URL, "http:", "https:", 1)
	_, err := remote.Dispatch(t.Context(), at, newCall())
	if got := kind(err); got != "unreached" || len(w.requests) != 0 {
		t.Errorf("%s (%v), requests %v", got, err, w.requests)
	}
}

func TestUnencodableData(t *testing.T) {
	t.Parallel()
	w := &worker{status: 200}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	call := newCall()
	call.Data = json.RawMessage(`{`)
	if got := summary(remote.Dispatch(t.Context(), at, call)); got != "unresolvable INVALID_DATA, nothing sent" {
		t.Error(got)
	}
	if len(w.requests) != 0 {
		t.Error("the worker was called")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "10": 10 * time.Second, "0": time.Second, "-5": time.Second, "x": time.Second, "1.5": time.Second,
		"86400": dispatcher.MaxRetryAfter, "18446744073709551616": dispatcher.MaxRetryAfter,
		"Sun, 06 Nov 1994 08:49:37 GMT": time.Second, "Fri, 31 Dec 9999 23:59:59 GMT": dispatcher.MaxRetryAfter,
	} {
		w := &worker{status: 503, header: map[string]string{"Retry-After": after}}
		at, remote := w.start(t, dispatcher.ClientOptions{})
		_, err := remote.Prove(t.Context(), at, newCall())
		busy, ok := errors.AsType[*dispatcher.BusyError](err)
		if !ok || busy.RetryAfter != want {
			t.Errorf("Retry-After %q: %v, want %v", after, err, want)
		}
	}
}

// TestSwitchingProtocols: an answer whose body no time-out ends is none.
func TestSwitchingProtocols(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	}))
	t.Cleanup(server.Close)
	at := dispatcher.Worker{AccountID: key, URL: server.URL}
	remote := dispatcher.NewRemote(dispatcher.NewClient(dispatcher.ClientOptions{}), "MINT", nil)
	for name, call := range map[string]func(context.Context, dispatcher.Worker, dispatcher.Call) (dispatcher.Result, error){
		"prove": remote.Prove, "dispatch": remote.Dispatch,
	} {
		if _, err := call(t.Context(), at, newCall()); kind(err) != "lost" || !strings.Contains(err.Error(), "another protocol") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	target := &worker{status: 200, body: `{"hash":"5J"}`}
	to, _ := target.start(t, dispatcher.ClientOptions{})
	for _, status := range []int{301, 302, 307, 308} {
		w := &worker{status: status, header: map[string]string{"Location": to.URL}}
		at, remote := w.start(t, dispatcher.ClientOptions{Token: "secret"})
		if _, err := remote.Dispatch(t.Context(), at, newCall()); err == nil {
			t.Errorf("%d: no error", status)
		}
		if _, err := remote.Report(t.Context(), at, true, dispatcher.Outcome{}); err == nil {
			t.Errorf("%d: reported", status)
		}
	}
	if len(target.requests) != 0 {
		t.Errorf("followed: %v", target.requests)
	}
}

func TestLongAnswer(t *testing.T) {
	t.Parallel()
	body := `{"hash":"5J","data":{"x":"` + strings.Repeat("x", 100) + `"}}`
	for limit, want := range map[int64]bool{int64(len(body)): true, int64(len(body)) - 1: false} {
		w := &worker{status: 200, body: body}
		at, remote := w.start(t, dispatcher.ClientOptions{AnswerLimit: limit})
		_, err := remote.Dispatch(t.Context(), at, newCall())
		if _, lost := errors.AsType[*dispatcher.LostError](err); lost == want {
			t.Errorf("limit %d of %d: %v", limit, len(body), err)
		}
	}
}

func TestLongError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100<<10)
	w := &worker{status: 200, body: `{"error":{"code":"` + long + `","message":"` + long + `","exception":"` + long + `"}}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	_, err := remote.Prove(t.Context(), at, newCall())
	e, ok := errors.AsType[*dispatcher.WorkerError](err)
	if !ok {
		t.Fatal(err)
	}
	if len(e.Code) != 64 || len(e.Message) != 2<<10 || len(e.Exception) != 16<<10 {
		t.Errorf("kept %d, %d, %d bytes", len(e.Code), len(e.Message), len(e.Exception))
	}
	w.body = strings.ReplaceAll(w.body, "é", "ee")
	_, err = remote.Prove(t.Context(), at, newCall())
	if errors.As(err, &e); len(e.Code) != 64 || len(e.Message) != 2<<10 || len(e.Exception) != 16<<10 {
		t.Errorf("of ASCII kept %d, %d, %d bytes", len(e.Code), len(e.Message), len(e.Exception))
	}
	w.body = `{"error":"` + strings.Repeat("e", 3<<10) + `"}`
	_, err = remote.Prove(t.Context(), at, newCall())
	if n := strings.Count(err.Error(), "eee"); n != (2<<10)/3 {
		t.Errorf("of an error that is a text %d are kept: %v", 3*n, err)
	}
}

// TestLongestAnswer: 8 MiB are taken where nothing else is said, and not a byte more.
func TestLongestAnswer(t *testing.T) {
	t.Parallel()
	const frame = len(`{"hash":"5J","data":""}`)
	for more, want := range map[int]string{0: "answered", 1: "lost"} {
		w := &worker{status: 200, body: `{"hash":"5J","data":"` + strings.Repeat("x", 8<<20-frame+more) + `"}`}
		at, remote := w.start(t, dispatcher.ClientOptions{})
		if _, err := remote.Dispatch(t.Context(), at, newCall()); kind(err) != want {
			t.Errorf("%d bytes above 8 MiB: %s", more, kind(err))
		}
	}
}

// TestErrorTexts: what persons read of a call says what was asked, and what came of it.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		&dispatcher.BusyError{}:                               "worker busy",
		&dispatcher.BusyError{RetryAfter: time.Second}:        "worker busy for 1s",
		&dispatcher.WorkerError{Code: "7", Message: "sick"}:   "worker error 7: sick",
		&dispatcher.LostError{Err: errors.New("cut")}:         "worker's answer lost: cut",
		&dispatcher.UnreachedError{Err: errors.New("no URL")}: "worker not reached: no URL",
	} {
		if err.Error() != want {
			t.Errorf("%T says %q, want %q", err, err, want)
		}
	}
}

// TestTrace: a call carries the trace that it belongs to, if there is one.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""} {
		w := &worker{status: 200, body: `{"hash":"5J"}`}
		at, remote := w.start(t, dispatcher.ClientOptions{Trace: func(context.Context) string { return parent }})
		if _, err := remote.Dispatch(t.Context(), at, newCall()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.requests[0].header["Traceparent"], "|"); got != parent {
			t.Errorf("%q is told as %q", parent, got)
		}
		if _, has := w.requests[0].header["Traceparent"]; has != (parent != "") {
			t.Errorf("of %q there is a header: %t", parent, has)
		}
	}
}

func TestTokenIsNotInErrors(t *testing.T) {
	t.Parallel()
	client := dispatcher.NewClient(dispatcher.ClientOptions{Token: "s3cret"})
	remote := dispatcher.NewRemote(client, "MINT", nil)
	for _, url := range []string{"http://user:s3cret@127.0.0.1:1/", "http://user:s3cret@127.0.0.1:x/", "ftp://user:s3cret@h/", "s3cret", ""} {
		_, err := remote.Prove(t.Context(), dispatcher.Worker{URL: url}, newCall())
		if _, ok := errors.AsType[*dispatcher.UnreachedError](err); !ok {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("s3cret")) {
			t.Errorf("leaked: %v", err)
		}
	}
}
