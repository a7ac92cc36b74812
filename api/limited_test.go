package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
)

// Two tenants, of whom one has two prefixes, and who may see all.
func tenants() *Keyring {
	return NewKeyring([]Key{
		{"one", Submit, "one", queues.Prefixes{"b-", "a-"}}, {"two", Submit, "two", queues.Prefixes{"c-"}},
		{"ops", Admin, "ops", nil}, {"wall", Read, "wall", queues.Prefixes{"c-"}},
	})
}

func bearerOf(key string) (name, value string) { return "Authorization", "Bearer " + key }

func sorted(names []string) []string { slices.Sort(names); return names }

// names are the values of a field in a list.
func (r reply) names(field string) []string {
	r.t.Helper()
	var page struct{ Items []map[string]any }
	if err := json.Unmarshal(r.Body.Bytes(), &page); err != nil {
		r.t.Fatal(err)
	}
	out := []string{}
	for _, item := range page.Items {
		out = append(out, item[field].(string))
	}
	return out
}

// TestLimitedKeys: a key of some queues posts to, sees and cancels nothing else, and does
// not learn what else there is.
func TestLimitedKeys(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = tenants() })
	ask := func(key, method, path, body string) reply {
		name, value := bearerOf(key)
		return s.ask(method, path, body, name, value)
	}
	post := func(queue string) string {
		return `{"queue":"` + queue + `","type":"ANY","data":{},"uid":"u-` + queue + `"}`
	}
	for queue, key := range map[string]string{"a-1": "one", "a-2": "one", "b-1": "one", "c-1": "two"} {
		ask(key, "POST", "/transactions", post(queue)).want(202)
	}
	for _, queue := range []string{"c-1", "c-2", "a", "A-1", "xa-1"} {
		ask("one", "POST", "/transactions", post(queue)).wantProblem(403, "FORBIDDEN")
	}
	batch := ask("two", "POST", "/transactions/batch", "["+post("c-2")+","+post("a-3")+","+post("c-3")+"]").want(200)
	lines := strings.Split(strings.TrimSpace(batch.Body.String()), "\n")
	for i, want := range []string{`"status":202`, `"status":403`, `"status":202`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("item %d: %s", i, lines[i])
		}
	}
	for _, test := range []struct {
		key, path, field string
		want             []string
	}{
		{"one", "/transactions?state=WAITING", "queue", []string{"a-1", "a-2", "b-1"}},
		{"two", "/transactions", "queue", []string{"c-1", "c-2", "c-3"}},
		{"wall", "/transactions?order=newest&limit=2", "queue", []string{"c-3", "c-2"}},
		{"ops", "/transactions?queue=a-1", "uid", []string{"one~u-a-1"}},
		{"one", "/transactions?queue=a-1", "uid", []string{"u-a-1"}},
		{"two", "/transactions?queue=a-1", "uid", []string{}},
		{"one", "/queues", "name", []string{"a-1", "a-2", "b-1"}},
		{"one", "/queues?limit=2", "name", []string{"a-1", "a-2"}},
		{"one", "/queues?cursor=queues~a-2", "name", []string{"b-1"}},
		{"one", "/queues?cursor=queues~b-1", "name", []string{}},
		{"one", "/queues?prefix=a-2", "name", []string{"a-2"}},
		{"one", "/queues?prefix=c", "name", []string{}},
		{"two", "/queues?prefix=c", "name", []string{"c-1", "c-2", "c-3"}},
		{"ops", "/queues", "name", []string{"a-1", "a-2", "b-1", "c-1", "c-2", "c-3"}},
	} {
		got := ask(test.key, "GET", test.path, "").want(200).names(test.field)
		if test.field == "queue" && !strings.Contains(test.path, "order") {
			got = sorted(got) // they were posted in no order
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s by %s: %s", test.path, test.key, diff)
		}
	}
	for _, path := range []string{"/transactions/%", "/transactions/%?wait=1s", "/transactions/%/explain", "/transactions/%/cancel"} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.HasSuffix(path, "cancel")]
		hidden := ask("two", method, strings.Replace(path, "%", "u-a-1", 1), "").wantProblem(404, "NOT_FOUND")
		absent := ask("two", method, strings.Replace(path, "%", "u-none", 1), "").wantProblem(404, "NOT_FOUND")
		hidden["detail"] = strings.Replace(text(hidden["detail"]), "u-a-1", "u-none", 1)
		if diff := cmp.Diff(absent, hidden); diff != "" {
			t.Errorf("%s %s tells: %s", method, path, diff)
		}
		if got := ask("one", method, strings.Replace(path, "%", "u-a-1", 1), ""); got.Code >= 300 {
			t.Errorf("%s %s: %d", method, path, got.Code)
		}
	}
	for key, want := range map[string]string{"one": "explain, limited true: one~u-a-1", "ops": "explain, limited false: one~u-a-1"} {
		uid := map[string]string{"one": "u-a-1", "ops": "one~u-a-1"}[key]
		if ask(key, "GET", "/transactions/"+uid+"/explain", "").want(200); s.control.asked != want {
			t.Errorf("for %s it is %q, want %q", key, s.control.asked, want)
		}
	}
	ask("two", "GET", "/queues/a-1", "").wantProblem(404, "NOT_FOUND")
	ask("one", "GET", "/queues/a-1", "").want(200)
	for _, path := range []string{"/senders", "/senders/B62x", "/overview", "/fees", "/webhooks", "/webhooks/e", "/webhooks/e/parked", "/webhooks/e/deliveries"} {
		ask("wall", "GET", path, "").wantProblem(403, "FORBIDDEN")
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set(bearerOf("wall"))
	s.serve(r).wantProblem(403, "FORBIDDEN")
}

// TestLimitedEvents: of what happens, too, a key sees only what is in its queues; and a
// stream ends with the key that it was opened by, or when that is for other queues.
func TestLimitedEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := tenants()
		s := setup(t, func(o *Options) { o.Keys = keys })
		web := overPipes(t, s)
		follow := func(key string) *follower {
			web.key = key
			return web.follow("", "")
		}
		one, two, all, wall := follow("one"), follow("two"), follow("ops"), follow("wall")
		for _, queue := range []string{"a-1", "c-1", "b-1"} {
			name, value := bearerOf("ops")
			s.ask("POST", "/transactions", `{"queue":"`+queue+`","type":"ANY","data":{}}`, name, value).want(202)
		}
		if err := s.store.Pause(t.Context(), "c-1", "x"); err != nil { // an event of a queue
			t.Fatal(err)
		}
		for f, want := range map[*follower][]string{one: {"a-1", "b-1"}, two: {"c-1", "c-1"}, wall: {"c-1", "c-1"}, all: {"a-1", "c-1", "b-1", "c-1"}} {
			for i, e := range f.events(len(want)) {
				if !strings.Contains(e.Data, `"queue":"`+want[i]+`"`) {
					t.Errorf("event %d is %s, want one of %s", i, e.Data, want[i])
				}
			}
		}
		keys.Replace([]Key{{"one", Submit, "one", queues.Prefixes{"a-"}}, {"wall", Submit, "wall", queues.Prefixes{"c-"}}})
		began := time.Now()
		for _, f := range []*follower{one, two, all} {
			if last := f.end(); last.Retry == "" || time.Since(began) > 2*heartbeat {
				t.Errorf("after %s it ends with %+v", time.Since(began), last)
			}
		}
		for range 2 { // what sees what it saw goes on
			if beat, err := wall.frame(); err != nil || beat.Retry != "" {
				t.Errorf("the one that may stay hears %+v, %v", beat, err)
			}
		}
	})
}
