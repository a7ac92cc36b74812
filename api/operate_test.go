package api

import (
	"context"
	"encoding/json"
	"mina-sequencer/sequencer/tx"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReady(t *testing.T) {
	t.Parallel()
	yes, no := Part{OK: true}, Part{Detail: "down"}
	for _, test := range []struct {
		path   string
		state  Readiness
		status int
	}{
		{"/readyz", Readiness{yes, yes, yes, yes, yes, yes}, 200},
		{"/readyz", Readiness{yes, no, no, no, yes, yes}, 200},
		{"/readyz?full=false", Readiness{yes, no, no, no, yes, yes}, 200},
		{"/readyz", Readiness{no, yes, yes, yes, yes, yes}, 503},
		{"/readyz?full", Readiness{yes, yes, yes, yes, yes, yes}, 200},
		{"/readyz?full", Readiness{yes, no, yes, yes, yes, yes}, 503},
		{"/readyz?full=true", Readiness{yes, yes, no, yes, yes, yes}, 503},
		{"/readyz?full=true", Readiness{yes, yes, yes, no, yes, yes}, 503},
		{"/readyz?full", Readiness{yes, yes, yes, yes, no, yes}, 503},
		{"/readyz?full", Readiness{yes, yes, yes, yes, yes, no}, 200}, // other queues go on
		{"/readyz", Readiness{yes, yes, yes, yes, no, yes}, 200},
		{"/readyz?ful", Readiness{yes, yes, no, yes, yes, yes}, 400},
	} {
		s := setup(t, func(o *Options) {
			o.Ready = func(_ context.Context, all bool) Readiness {
				if want := strings.Contains(test.path, "?full") && !strings.Contains(test.path, "false"); all != want {
					t.Errorf("%s: all is asked: %v", test.path, all)
				}
				return test.state
			}
		})
		r := s.serve(httptest.NewRequest("GET", test.path, nil)).want(test.status)
		if test.status == 400 {
			continue
		}
		if got, want := r.read()["ready"], test.status == 200; got != want {
			t.Errorf("%s: ready %v", test.path, got)
		}
	}
	s := setup(t)
	s.redis.SetError("LOADING")
	s.serve(httptest.NewRequest("GET", "/readyz", nil)).want(503)
}

func TestQueues(t *testing.T) {
	t.Parallel()
	s := setup(t)
	received := map[string]any{}
	for _, q := range []string{"a", "b:1", "c"} {
		received[q] = s.ask("POST", "/transactions", `{"queue":"`+q+`","type":"ANY","data":{}}`).want(202).read()["receivedAt"]
	}
	wantB := map[string]any{
		"name": "b:1", "state": "FREE", "sender": nil, "running": nil, "inFlight": []any{}, "width": json.Number("3"), "retries": json.Number("0"),
		"counts": map[string]any{
			"WAITING": json.Number("1"), "DISPATCHING": json.Number("0"), "REVISION": json.Number("0"), "RETRY": json.Number("0"),
			"DONE": json.Number("0"), "FAILED": json.Number("0"), "UNRESOLVED": json.Number("0"),
		},
		"paused": false, "reason": nil, "pausedUntil": nil, "nextAt": nil, "oldestWaitingAt": received["b:1"],
	}
	if diff := cmp.Diff(wantB, s.ask("GET", "/queues/b%3A1", "").want(200).read()); diff != "" {
		t.Error(diff)
	}
	paused := s.ask("POST", "/queues/b:1/pause", `{"reason":" maintenance "}`).want(200).read()
	if paused["paused"] != true || paused["reason"] != "maintenance" {
		t.Errorf("paused %v", paused)
	}
	until := s.ask("POST", "/queues/b:1/pause", `{"reason":"x","until":"2030-01-01T00:00:00+01:00"}`).want(200).read()
	if until["paused"] != true || until["pausedUntil"] != "2029-12-31T23:00:00.000Z" {
		t.Errorf("paused until %v", until)
	}
	if paused := s.ask("POST", "/queues/c/pause", "").want(200).read(); paused["paused"] != true || paused["reason"] == "" {
		t.Errorf("paused %v", paused)
	}
	if diff := cmp.Diff(wantB, s.ask("POST", "/queues/b:1/resume", "").want(200).read()); diff != "" {
		t.Error(diff)
	}
	first := s.ask("GET", "/queues?limit=2", "").want(200).read()
	second := s.ask("GET", "/queues?limit=2&cursor="+first["nextCursor"].(string), "").want(200).read()
	if len(first["items"].([]any)) != 2 || len(second["items"].([]any)) != 1 || second["nextCursor"] != nil {
		t.Errorf("pages %v and %v", first, second)
	}
	for path, want := range map[string]string{
		"GET /queues/..":                          "BAD_REQUEST",
		"GET /queues/%20":                         "BAD_REQUEST",
		"GET /queues/none":                        "NOT_FOUND",
		"POST /queues/none/pause":                 "NOT_FOUND",
		"POST /queues/none/resume":                "NOT_FOUND",
		"GET /queues?cursor=%20":                  "BAD_CURSOR",
		"GET /queues?limit=0":                     "BAD_REQUEST",
		"GET /queues?limit=501":                   "BAD_REQUEST",
		"GET /queues?limit=x":                     "BAD_REQUEST",
		"GET /queues?state=WAITING":               "BAD_REQUEST",
		"GET /queues?active=yes":                  "BAD_REQUEST",
		"GET /queues?paused=1":                    "BAD_REQUEST",
		"GET /queues?order=name":                  "BAD_REQUEST",
		"GET /queues?order=oldest&paused=true":    "BAD_REQUEST",
		"GET /queues?active=true&cursor=queues~c": "BAD_CURSOR",
		"GET /queues?cursor=queues~active:1:c!":   "BAD_CURSOR",
		"GET /queues?limit=1&limit=2":             "BAD_REQUEST",
		"GET /queues?limit=%zz":                   "BAD_REQUEST",
	} {
		method, path, _ := strings.Cut(path, " ")
		r := s.ask(method, path, "")
		r.wantProblem(map[string]int{"NOT_FOUND": 404}[want]+map[bool]int{true: 0, false: 400}[want == "NOT_FOUND"], want)
	}
	s.ask("POST", "/queues/b:1/pause", "").want(200)
	for query, want := range map[string][]string{
		"state=FREE": {"a", "b:1", "c"}, "state=BLOCKED": nil, "paused=true": {"b:1", "c"}, "active=true&state=": {"a", "c", "b:1"},
		"order=oldest": {"a", "b:1", "c"}, "order=oldest&prefix=b": {"b:1"}, "paused=false&active=false": {"a", "b:1", "c"},
	} {
		var got []string
		for cursor := ""; len(got) < 9; {
			page := s.ask("GET", "/queues?limit=1&"+query+"&cursor="+url.QueryEscape(cursor), "").want(200).read()
			for _, q := range page["items"].([]any) {
				got = append(got, q.(map[string]any)["name"].(string))
			}
			if cursor, _ = page["nextCursor"].(string); cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	for _, body := range []string{`{"reason":1}`, `{"why":"x"}`, `{"until":"tomorrow"}`, `{"until":"2020-01-01T00:00:00Z"}`, `{"reason":"` + strings.Repeat("x", 201) + `"}`} {
		s.ask("POST", "/queues/c/pause", body).wantProblem(422, "INVALID_DATA")
	}
	s.ask("POST", "/queues/c/pause", `[]`).wantProblem(400, "BAD_REQUEST")
}

// TestQueueWidth: a person's word comes before the service's, and takes it back with null.
func TestQueueWidth(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("POST", "/transactions", `{"queue":"a","type":"ANY","data":{}}`).want(202)
	width := func(r reply) any { return r.want(200).read()["width"] }
	got := []any{
		width(s.ask("GET", "/queues/a", "")), width(s.ask("POST", "/queues/a/width", `{"width":24}`)),
		s.ask("GET", "/queues", "").want(200).read()["items"].([]any)[0].(map[string]any)["width"],
		width(s.ask("POST", "/queues/a/width", `{"width":null}`)), width(s.ask("GET", "/queues/a", "")),
	}
	if diff := cmp.Diff([]any{json.Number("3"), json.Number("24"), json.Number("24"), json.Number("3"), json.Number("3")}, got); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{}`, `{"width":0}`, `{"width":25}`, `{"width":1.5}`, `{"width":"6"}`, `{"width":1,"x":1}`} {
		s.ask("POST", "/queues/a/width", body).wantProblem(422, "INVALID_DATA")
	}
	s.ask("POST", "/queues/a/width", "").wantProblem(400, "BAD_REQUEST")
	s.ask("POST", "/queues/none/width", `{"width":2}`).wantProblem(404, "NOT_FOUND")
}

// A queue ends with its last transaction, unless it is paused.
func TestQueueEnds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	s.ask("POST", "/transactions", `{"queue":"a","type":"ANY","data":{},"uid":"u"}`).want(202)
	s.finish(tx.PhaseFailed)
	s.ask("POST", "/queues/a/pause", "").want(200)
	s.ask("DELETE", "/transactions/u", "").want(204)
	s.ask("GET", "/queues/a", "").want(200)
	if r := s.ask("POST", "/queues/a/resume", "").want(200).read(); r["name"] != "a" || r["paused"] != false {
		t.Errorf("resumed %v", r)
	}
	s.ask("GET", "/queues/a", "").wantProblem(404, "NOT_FOUND")
}

func TestSenders(t *testing.T) {
	t.Parallel()
	s := setup(t)
	add := func(body string) reply { return s.ask("POST", "/senders", body) }
	r := add(`{"accountId":"B62x","workerUrl":"http://worker:3000/a"}`).want(201)
	want := map[string]any{
		"accountId": "B62x", "workerUrl": "http://worker:3000/a", "state": "FREE", "queue": nil, "retries": json.Number("0"),
		"nonce": nil, "balance": nil, "available": true, "reason": nil, "detail": nil, "since": nil, "until": nil,
		"remedy": nil, "command": nil, "claim": nil,
	}
	if diff := cmp.Diff(want, r.read()); diff != "" {
		t.Error(diff)
	}
	if got := r.Header().Get("Location"); got != "/api/v1/senders/B62x" {
		t.Errorf("Location %q", got)
	}
	add(`{"accountId":"B62x","workerUrl":"http://worker:3000/a"}`).want(200)
	add(`{"accountId":"B62x","workerUrl":"http://other"}`).wantProblem(409, "SENDER_EXISTS")
	for _, test := range []struct {
		body string
		bad  []string
	}{
		{`{}`, []string{"accountId", "workerUrl"}},
		{`{"accountId":"x","workerUrl":"ftp://w"}`, []string{"accountId", "workerUrl"}},
		{`{"accountId":1,"workerUrl":null}`, []string{"accountId", "workerUrl"}},
		{`{"accountId":"B62y","workerUrl":"http://u:p@w"}`, []string{"workerUrl"}},
		{`{"accountId":"B62y","workerUrl":"http://w?a"}`, []string{"workerUrl"}},
		{`{"accountId":"B62y","workerUrl":"/w"}`, []string{"workerUrl"}},
		{`{"accountId":"B62y","workerUrl":"http://w","command":["sh"]}`, []string{"command"}},
	} {
		if diff := cmp.Diff(test.bad, fields(add(test.body).wantProblem(422, "INVALID_DATA"))); diff != "" {
			t.Errorf("%s: %s", test.body, diff)
		}
	}
	if r := s.ask("POST", "/senders/B62x/drain", "").want(200).read(); r["available"] != false || r["reason"] != "DRAINING" {
		t.Errorf("drained %v", r)
	}
	if r := s.ask("POST", "/senders/B62x/resume", "").want(200).read(); r["available"] != true || r["reason"] != nil {
		t.Errorf("resumed %v", r)
	}
	if err := s.senders.SetBalance(t.Context(), "B62x", 18446744073709551615); err != nil {
		t.Fatal(err)
	}
	if got := s.ask("GET", "/senders/B62x", "").read()["balance"]; got != "18446744073709551615" {
		t.Errorf("balance %v", got)
	}
	if err := s.senders.Configure(t.Context(), map[string]string{"B62z": "http://user:hush@w/?t=hush"}); err != nil {
		t.Fatal(err)
	}
	if r := s.ask("GET", "/senders", "").want(200); strings.Contains(r.Body.String(), "hush") || len(r.read()["items"].([]any)) != 2 {
		t.Errorf("list %s", r.Body)
	}
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{}}`).want(202)
	s.bind()
	q := s.ask("GET", "/queues/q", "").want(200).read()
	for state, want := range map[string]int{"": 2, "FREE": 1, "BLOCKED": 1, "DELAY": 0} {
		if got := s.ask("GET", "/senders?state="+state, "").want(200).read()["items"].([]any); len(got) != want {
			t.Errorf("in state %q: %v", state, got)
		}
	}
	first := s.ask("GET", "/senders?state=FREE&limit=1", "").want(200).read()
	if next := s.ask("GET", "/senders?state=FREE&cursor="+first["nextCursor"].(string), "").want(200).read(); len(next["items"].([]any)) != 0 || next["nextCursor"] != nil {
		t.Errorf("behind the only one that is free: %v", next)
	}
	s.ask("GET", "/senders?state=IDLE", "").wantProblem(400, "BAD_REQUEST")
	s.ask("DELETE", "/senders/"+q["sender"].(string), "").wantProblem(409, "SENDER_BOUND")
	for path, code := range map[string]string{
		"GET /senders/B62none": "NOT_FOUND", "DELETE /senders/B62none": "NOT_FOUND", "POST /senders/B62none/drain": "NOT_FOUND",
		"POST /senders/B62none/resume": "NOT_FOUND",
	} {
		method, path, _ := strings.Cut(path, " ")
		s.ask(method, path, "").wantProblem(404, code)
	}
	s.ask("GET", "/senders/nobody", "").wantProblem(400, "BAD_REQUEST")
	s.ask("GET", "/senders?cursor=x", "").wantProblem(400, "BAD_CURSOR")
	add(`{"accountId":"B62r","workerUrl":"http://w"}`).want(201)
	s.ask("DELETE", "/senders/B62r", "").want(204)
	s.ask("GET", "/senders/B62r", "").wantProblem(404, "NOT_FOUND")
}
