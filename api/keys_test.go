package api

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
)

func TestKeyring(t *testing.T) {
	t.Parallel()
	ring := NewKeyring([]Key{{"ci", Submit, "old", nil}, {"ci", Submit, "new", nil}, {"ops", Admin, "ops", nil}})
	for secret, want := range map[string]string{"old": "ci submit", "new": "ci submit", "ops": "ops admin", "": " none", "ol": " none", "old\x20": " none"} {
		who := ring.find(secret)
		if got := who.name + " " + who.scope.String(); got != want {
			t.Errorf("%q is %q, want %q", secret, got, want)
		}
	}
}

// TestBeginning: a queue is told by the longest beginning that any key is limited to.
func TestBeginning(t *testing.T) {
	t.Parallel()
	ring := NewKeyring([]Key{
		{"one", Submit, "one", queues.Prefixes{"a-", "a-b-"}}, {"two", Submit, "two", queues.Prefixes{"c-", "a-b"}}, {"ops", Admin, "ops", nil},
	})
	for queue, want := range map[string]string{"a-1": "a-", "a-b-1": "a-b-", "a-b": "a-b", "c-": "c-", "c": "", "": ""} {
		if got := ring.Beginning(queue); got != want {
			t.Errorf("%s is told by %q, want %q", queue, got, want)
		}
	}
}

// A session does what its key does, for as long as it was given and no longer.
func TestSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := NewKeyring([]Key{{"old", Read, "old", nil}, {"ops", Admin, "hush", nil}})
		end := time.Now().Add(time.Hour)
		session := ring.Session("hush", end)
		who := func(ring *Keyring, cookie, header string) string {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Cookie", SessionCookie+"="+cookie)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			found := ring.identify(r)
			return found.name + " " + found.scope.String()
		}
		later := strconv.FormatInt(end.Unix()+1, 10)
		_, mark, _ := strings.Cut(session, ".")
		other := NewKeyring([]Key{{"ops", Admin, "changed", nil}})
		for _, test := range []struct{ got, want string }{
			{who(ring, session, ""), "ops admin"},
			{who(NewKeyring([]Key{{"renamed", Read, "hush", nil}}), session, ""), "renamed read"},
			{who(other, session, ""), " none"},
			{who(ring, later+"."+mark, ""), " none"},
			{who(ring, session[:len(session)-1], ""), " none"},
			{who(ring, "hush", ""), " none"},
			{who(ring, "", ""), " none"},
			{who(ring, session, "Bearer old"), "old read"}, // what is said is meant
			{who(ring, session, "Bearer wrong"), " none"},
			{who(ring, session, "Basic hush"), " none"},
			{ring.Session("wrong", end), ""},
		} {
			if test.got != test.want {
				t.Errorf("%q, want %q", test.got, test.want)
			}
		}
		if strings.Contains(session, "hush") {
			t.Errorf("the session is %s", session)
		}
		<-time.After(time.Hour)
		if got := who(ring, session, ""); got != " none" {
			t.Errorf("after its end it is %q", got)
		}
	})
}

// Every route with every scope, and with what is no key. What each route takes
// is what the document says.
func TestEveryRouteAndScope(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) {
		o.Keys = NewKeyring([]Key{{"r", Read, "read", nil}, {"s", Submit, "submit", nil}, {"a", Admin, "admin", nil}, {"a", Admin, "admin-new", nil}})
	})
	ring := NewKeyring([]Key{{"r", Read, "read", nil}, {"s", Submit, "submit", nil}, {"a", Admin, "admin", nil}})
	session := func(secret string) string {
		return SessionCookie + "=" + ring.Session(secret, time.Now().Add(time.Hour))
	}
	callers := []struct {
		name   string
		header [2]string
		scope  Scope
	}{
		{"nobody", [2]string{}, 0},
		{"a wrong key", [2]string{"Authorization", "Bearer wrong"}, 0},
		{"an empty key", [2]string{"Authorization", "Bearer "}, 0},
		{"no Bearer", [2]string{"Authorization", "Basic admin"}, 0},
		{"a bare key", [2]string{"Authorization", "admin"}, 0},
		{"a forged session", [2]string{"Cookie", SessionCookie + "=9999999999.admin"}, 0},
		{"read", [2]string{"Authorization", "bearer read"}, Read},
		{"submit", [2]string{"Authorization", "Bearer submit"}, Submit},
		{"admin", [2]string{"Authorization", "Bearer admin"}, Admin},
		{"admin's next key", [2]string{"Authorization", "Bearer admin-new"}, Admin},
		{"a reader's session", [2]string{"Cookie", session("read")}, Read},
		{"an admin's session", [2]string{"Cookie", session("admin")}, Admin},
	}
	scopes := map[string]Scope{"read": Read, "submit": Submit, "admin": Admin}
	asked := 0
	for _, op := range openDocument(t).operations {
		needs := scopes[op.scope]
		if want := map[string]bool{"/healthz": true, "/readyz": true, "/docs/codes": true, base + "/session": true}[op.path]; want != (needs == 0) {
			t.Errorf("%s takes the scope %q", op.path, op.scope)
		}
		method, body := op.method, map[bool]string{true: "{}"}[op.method == "POST"]
		if op.path == base+"/events" {
			method = "HEAD" // it has no end otherwise
		}
		path := strings.NewReplacer("{uid}", "u", "{name}", "q", "{accountId}", "B62x", "{id}", "e").Replace(op.path)
		for _, c := range callers {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set(cmp.Or(c.header[0], "X-None"), c.header[1])
			asked++
			answer := s.serve(r)
			switch what := fmt.Sprintf("%s %s by %s", method, path, c.name); {
			case c.scope >= needs:
				if answer.Code == 401 || answer.Code == 403 {
					t.Errorf("%s: %d", what, answer.Code)
				}
			case c.scope == 0 && answer.Code != 401, c.scope > 0 && answer.Code != 403:
				t.Errorf("%s: %d", what, answer.Code)
			default:
				answer.wantProblem(answer.Code, map[int]string{401: "UNAUTHORIZED", 403: "FORBIDDEN"}[answer.Code])
				if strings.Contains(answer.Body.String(), "wrong") || strings.Contains(s.log.String(), "wrong") {
					t.Errorf("%s: what was sent is told: %s", what, answer.Body)
				}
			}
		}
	}
	if asked < 250 {
		t.Errorf("only %d requests", asked)
	}
	for _, secret := range []string{"bearer", "submit ", "admin-new", session("admin")} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}
