package api

import (
	"fmt"
	"strings"
	"testing"

	"mina-sequencer/queues"
)

// as sends the cookies that an answer has set.
func as(r reply) []string {
	var header []string
	for _, c := range r.Result().Cookies() {
		header = append(header, "Cookie", c.Name+"="+c.Value)
	}
	return header
}

// A browser logs in with a key, does what the key's scope allows, and logs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	keys := []Key{{"eye", Read, "reader-secret", nil}, {"ops", Admin, "admin-secret", nil}, {"shop", Submit, "shop-secret", queues.Prefixes{"a-", "b-"}}}
	s := setup(t, func(o *Options) { o.Keys = NewKeyring(keys) })
	who := func(header ...string) string {
		t.Helper()
		v := s.ask("GET", "/session", "", header...).want(200).read()
		return strings.TrimSpace(strings.Join([]string{text(v["name"]), text(v["scope"])}, " "))
	}
	if got := who(); got != "" {
		t.Errorf("a stranger is %q", got)
	}
	login := s.ask("POST", "/session", `{"key":"reader-secret"}`).want(200)
	if got := who(as(login)...); got != "eye read" {
		t.Errorf("the reader is %q", got)
	}
	for _, r := range []reply{login, s.ask("GET", "/session", "", as(login)...)} {
		if v := r.read(); v["queues"] != nil {
			t.Errorf("the reader is limited to %v", v["queues"])
		}
	}
	tenant := s.ask("POST", "/session", `{"key":"shop-secret"}`).want(200)
	for _, r := range []reply{tenant, s.ask("GET", "/session", "", as(tenant)...)} {
		if v := r.read(); fmt.Sprint(v["queues"]) != "[a- b-]" {
			t.Errorf("a tenant is limited to %v", v["queues"])
		}
	}
	cookie := login.Header().Get("Set-Cookie")
	for _, part := range []string{SessionCookie + "=", "Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=43200"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie has no %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie+login.Body.String()+s.log.String(), "reader-secret") || strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie tells too much, or is for https: %s", cookie)
	}
	s.ask("GET", "/overview", "", as(login)...).want(200)
	s.ask("GET", "/overview", "").wantProblem(401, codeUnauthorized)
	s.ask("POST", "/queues/q/pause", "", as(login)...).wantProblem(403, codeForbidden)
	s.ask("POST", "/queues/q/pause", "", as(s.ask("POST", "/session", `{"key":"admin-secret"}`))...).wantProblem(404, codeNotFound)

	out := s.ask("DELETE", "/session", "", as(login)...).want(204)
	if got := out.Header().Get("Set-Cookie"); !strings.Contains(got, SessionCookie+"=;") || !strings.Contains(got, "Max-Age=0") {
		t.Errorf("logging out sets %q", got)
	}
	behind := s.ask("POST", "/session", `{"key":"admin-secret"}`, "X-Forwarded-Proto", "https")
	if got := behind.Header().Get("Set-Cookie"); !strings.Contains(got, "; Secure") {
		t.Errorf("behind TLS the cookie is %q", got)
	}
	s.ask("POST", "/session", `{"key":"wrong"}`).wantProblem(401, codeUnauthorized)
	for _, bad := range []string{`{}`, `{"key":null}`, `{"key":1}`, `{"key":"a","name":"b"}`} {
		s.ask("POST", "/session", bad).wantProblem(422, codeInvalidData)
	}
	s.ask("POST", "/session", `{"key":"reader-secret"}`, "Sec-Fetch-Site", "cross-site").wantProblem(403, codeForbidden)
	s.ask("GET", "/session?x=1", "").wantProblem(400, codeBadRequest)

	open := setup(t)
	for _, r := range []reply{open.ask("GET", "/session", ""), open.ask("POST", "/session", `{"key":"any"}`)} {
		if v := r.want(200).read(); v["required"] != false || v["scope"] != "admin" || r.Header().Get("Set-Cookie") != "" {
			t.Errorf("without keys a session is %v", v)
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
