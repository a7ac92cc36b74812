package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProvers: the pool is registered, listed, drained and removed over HTTP.
func TestProvers(t *testing.T) {
	t.Parallel()
	s := setup(t)
	add := func(body string) reply { return s.ask("POST", "/provers", body) }
	r := add(`{"url":"http://10.0.1.1:3000/"}`).want(201)
	want := map[string]any{
		"id": "10.0.1.1:3000", "url": "http://10.0.1.1:3000", "source": "api", "state": "FREE", "types": []any{},
		"atOnce": json.Number("1"), "load": json.Number("0"), "memory": nil, "proofsLastHour": json.Number("0"),
		"available": false, "reason": "RESTED", "detail": "its /health has not been asked yet", "since": nil, "until": nil,
	}
	if diff := cmp.Diff(want, r.read()); diff != "" {
		t.Error(diff)
	}
	if got := r.Header().Get("Location"); got != "/api/v1/provers/10.0.1.1:3000" {
		t.Errorf("Location %q", got)
	}
	add(`{"url":"http://10.0.1.1:3000"}`).want(200)
	add(`{"url":"http://other","id":"10.0.1.1:3000"}`).wantProblem(409, "PROVER_EXISTS")
	for body, bad := range map[string][]string{
		`{}`: {"url"}, `{"url":"ftp://w"}`: {"url"}, `{"url":null}`: {"url"}, `{"url":"http://u:p@w"}`: {"url"},
		`{"url":"http://w","id":"a b"}`: {"id"}, `{"url":"http://w","key":"x"}`: {"key"},
	} {
		if diff := cmp.Diff(bad, fields(add(body).wantProblem(422, "INVALID_DATA"))); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	add(`{"url":"https://p","id":"rack-1"}`).want(201)
	page := s.ask("GET", "/provers?limit=1", "").want(200).read()
	if page["nextCursor"] != "provers~10.0.1.1:3000" {
		t.Errorf("page %v", page)
	}
	rest := s.ask("GET", "/provers?limit=1&cursor=provers~10.0.1.1:3000", "").want(200).read()
	if items, _ := rest["items"].([]any); len(items) != 1 || rest["nextCursor"] != nil {
		t.Errorf("the rest %v", rest)
	}
	s.ask("POST", "/provers/rack-1/drain", "").want(200)
	if x := s.ask("GET", "/provers/rack-1", "").want(200).read(); x["reason"] != "DRAINING" || x["since"] == nil {
		t.Errorf("drained %v", x)
	}
	s.ask("POST", "/provers/rack-1/resume", "").want(200)
	s.ask("DELETE", "/provers/rack-1", "").want(204)
	for method, path := range map[string]string{"GET": "/provers/rack-1", "DELETE": "/provers/rack-1", "POST": "/provers/rack-1/drain"} {
		s.ask(method, path, "").wantProblem(404, "NOT_FOUND")
	}
}
