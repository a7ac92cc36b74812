package api

import (
	"strings"
	"testing"
)

// TestRequestID: every answer names its request, as its caller has named it if that can
// stand in a log.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = tenants() })
	name, value := bearerOf("ops")
	for path, status := range map[string]int{"/queues": 200, "/queues/none": 404, "/nowhere": 404, "/queues?x=1": 400} {
		r := s.ask("GET", path, "", name, value, requestID, "of-the/caller=1").want(status)
		if got := r.Header().Get(requestID); got != "of-the/caller=1" {
			t.Errorf("%s: taken over as %q", path, got)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", "a b", "a\tb", "ä", strings.Repeat("x", 129), `"`, ""} {
		got := s.ask("GET", "/queues", "", requestID, id).want(401).Header().Get(requestID)
		if got == id || !validRequestID(got) || seen[got] {
			t.Errorf("%q became %q", id, got)
		}
		seen[got] = true
	}
}
