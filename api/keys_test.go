package api

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestKeyring(t *testing.T) {
	t.Parallel()
	ring := NewKeyring([]Key{{"ci", Submit, "old"}, {"ci", Submit, "new"}, {"ops", Admin, "ops"}})
	for secret, want := range map[string]string{"old": "ci submit", "new": "ci submit", "ops": "ops admin", "": " none", "ol": " none", "old ": " none"} {
		name, scope := ring.Find(secret)
		if got := name + " " + scope.String(); got != want {
			t.Errorf("%q is %q, want %q", secret, got, want)
		}
	}
}

// A session does what its key does, for as long as it was given and no longer.
func TestSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := NewKeyring([]Key{{"old", Read, "old"}, {"ops", Admin, "hush"}})
		end := time.Now().Add(time.Hour)
		session := ring.Session("hush", end)
		who := func(ring Keyring, cookie, header string) string {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Cookie", SessionCookie+"="+cookie)
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			name, scope := ring.Identify(r)
			return name + " " + scope.String()
		}
		later := strconv.FormatInt(end.Unix()+1, 10)
		_, mark, _ := strings.Cut(session, ".")
		other := NewKeyring([]Key{{"ops", Admin, "changed"}})
		for _, test := range []struct{ got, want string }{
			{who(ring, session, ""), "ops admin"},
			{who(NewKeyring([]Key{{"renamed", Read, "hush"}}), session, ""), "renamed read"},
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
