package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// Two tenants with queues of their own, a third who sees those of the first, and who sees all.
func spaces() *Keyring {
	return NewKeyring([]Key{
		{"A", Submit, "A", queues.Prefixes{"a-"}}, {"B", Submit, "B", queues.Prefixes{"b-"}},
		{"C", Submit, "C", queues.Prefixes{"a-", "c-"}}, {"A", Read, "A-reads", queues.Prefixes{"a-"}},
		{"ops", Admin, "ops", nil},
	})
}

// as asks with a key.
func (s *service) as(key, method, path, body string) reply {
	s.Helper()
	name, value := bearerOf(key)
	return s.ask(method, path, body, name, value)
}

// order is what is posted; of says by whom.
func order(uid, queue, of string) string {
	return `{"uid":"` + uid + `","queue":"` + queue + `","type":"ANY","data":{"of":"` + of + `"}}`
}

// setupSpaces is a service in which A and B have posted order-1 each, which is in flight.
func setupSpaces(t testing.TB) *service {
	t.Helper()
	s := setup(t, func(o *Options) { o.Keys = spaces() })
	s.control.says = "It waits behind A~order-1, B~order-1 and BA~order-1"
	for _, account := range []string{"B62a", "B62b"} {
		if err := s.senders.Register(t.Context(), account, "http://w"); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"A", "B"} {
		s.as(key, "POST", "/transactions", order("order-1", strings.ToLower(key)+"-1", key)).want(202)
		s.bind()
	}
	return s
}

// names reports whether a node of the description leads to one of some schemas.
func (d *document) names(v any, seen map[string]bool, schemas ...string) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if d.names(e, seen, schemas...) {
				return true
			}
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			for _, name := range schemas {
				if ref == "#/components/schemas/"+name {
					return true
				}
			}
			node, _ := d.at(strings.TrimPrefix(ref, "#"))
			if d.names(node, seen, schemas...) {
				return true
			}
		}
		for _, e := range v {
			if d.names(e, seen, schemas...) {
				return true
			}
		}
	}
	return false
}

// uses says whether an operation takes a uid, and whether its success gives one.
func (d *document) uses(op *operation) (takes, gives bool) {
	item, _ := d.at("/paths/" + escape(op.path))
	node := item[strings.ToLower(op.method)].(map[string]any)
	takes = d.names([]any{item["parameters"], node["parameters"], node["requestBody"]}, map[string]bool{}, "Uid", "ChosenUid")
	for status, answer := range node["responses"].(map[string]any) {
		if status < "300" {
			gives = gives || d.names(answer, map[string]bool{}, "Uid")
		}
	}
	return takes, gives
}

// TestSpacesOfEveryRoute goes over all operations of the description, with the key of each of
// two tenants who have posted the same uid, and with one without a limit: what takes a uid takes
// the tenant's own word for it, and what gives one gives that; to who sees all it is name~uid.
// And no answer of any route says anything of a space to a tenant.
func TestSpacesOfEveryRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setupSpaces(t)
		p, err := s.store.ReadLog(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		d, used, scopes := openDocument(t), 0, map[string]Scope{"": 0, "read": Read, "submit": Submit, "admin": Admin}
		for _, op := range d.operations {
			takes, gives := d.uses(op)
			for key, of := range map[string]string{"A": "A", "B": "B", "ops": "A"} {
				uid, queue := "order-1", strings.ToLower(of)+"-1"
				if key == "ops" {
					uid = "A~order-1"
				}
				path := strings.NewReplacer("{uid}", uid, "{name}", queue, "{accountId}", "B62a", "{id}", "e").Replace(op.path)
				body := map[string]string{
					"/transactions":               order("order-1", queue, of),
					"/transactions/batch":         "[" + order("order-1", queue, of) + "]",
					"/transactions/{uid}/resolve": `{"outcome":"dead"}`,
					"/queues/{name}/width":        `{"width":2}`,
				}[strings.TrimPrefix(op.path, base)]
				if op.method == "GET" {
					body = ""
				}
				if op.path == base+"/events" {
					path += "?uid=" + uid
				}
				r := httptest.NewRequest(op.method, path, strings.NewReader(body))
				r.Header.Set(bearerOf(key))
				if op.path == base+"/events" {
					r.Header.Set("Last-Event-ID", string(appendID(nil, p.Epoch, 0)))
					ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second) // it has no end by itself
					defer cancel()
					r = r.WithContext(ctx)
				}
				got := s.serve(r)
				all := got.Body.String() + strings.Join(got.Header().Values("Location"), "")
				what := op.method + " " + path + " by " + key
				explained := map[string]string{"A": "order-1, B~order-1 and BA~order-1", "B": "A~order-1, order-1 and BA~order-1"}[key]
				about := op.path == "/openapi.json" || op.path == "/docs"
				if key != "ops" && !about && strings.Contains(strings.ReplaceAll(all, explained, ""), mark) {
					t.Errorf("%s tells of spaces: %d %s", what, got.Code, all)
				}
				if !takes && !gives {
					continue
				}
				used++
				switch allowed := key == "ops" || scopes[op.scope] < Admin; {
				case !allowed:
					got.wantProblem(403, "FORBIDDEN")
					continue
				case got.Code == 409 && op.method == "DELETE": // found, and not over yet
					continue
				case op.path == base+"/overview" && key != "ops": // it is of all, for whoever sees all
					got.wantProblem(403, "FORBIDDEN")
					continue
				case op.path == base+"/transactions/{uid}/batch": // found, and none
					if p := got.wantProblem(404, codeNotFound); !strings.HasPrefix(text(p["detail"]), "Transaction "+uid+" is for no ledger") {
						t.Errorf("%s: %s", what, all)
					}
					continue
				case got.Code >= 300:
					t.Errorf("%s: %d %s", what, got.Code, all)
				}
				if !gives {
					continue
				}
				told, other := `"`+uid+`"`, map[string]string{"A": "b-1", "B": "a-1"}[key]
				if !strings.Contains(all, told) || other != "" && strings.Contains(all, other) {
					t.Errorf("%s does not tell %s: %s", what, told, all)
				}
			}
		}
		if used < 3*10 {
			t.Errorf("only %d requests were about uids", used)
		}
	})
}

// TestSpaces: two tenants' order-1 stand side by side, each sees its own alone, and everybody
// else sees both by the names of their keys.
func TestSpaces(t *testing.T) {
	t.Parallel()
	s := setupSpaces(t)
	uid := func(r reply) string { return text(r.read()["uid"]) }
	for _, key := range []string{"A", "B"} {
		queue := strings.ToLower(key) + "-1"
		got := s.as(key, "GET", "/transactions/order-1", "").want(200)
		if uid(got) != "order-1" || !strings.Contains(got.Body.String(), `{"of":"`+key+`"}`) {
			t.Errorf("%s sees %s", key, got.Body)
		}
		if got := s.as("ops", "GET", "/transactions/"+key+"~order-1", "").want(200); uid(got) != key+"~order-1" {
			t.Errorf("all see %s", got.Body)
		}
		again := s.as(key, "POST", "/transactions", order("order-1", queue, key)).want(200)
		if at := again.Header().Get("Location"); uid(again) != "order-1" || at != base+"/transactions/order-1" {
			t.Errorf("posted again it is %s, at %s", again.Body, at)
		}
		s.as(key, "POST", "/transactions", order("order-1", queue, "x")).wantProblem(409, "KEY_REUSED")
		for _, bad := range []string{"A~order-2", "B~order-2", "~order-2", "order-2~"} {
			for _, who := range []string{key, "ops"} {
				s.as(who, "POST", "/transactions", order(bad, queue, key)).wantProblem(422, "INVALID_DATA")
			}
		}
	}
	for key, other := range map[string]string{"A": "B~order-1", "B": "A~order-1", "ops": "order-1", "A-reads": "none"} {
		for _, path := range []string{"/transactions/" + other, "/transactions/" + other + "/explain"} {
			hidden := s.as(key, "GET", path, "").wantProblem(404, "NOT_FOUND")
			if want := "transaction " + other + ": not found"; !strings.HasPrefix(text(hidden["detail"]), want) {
				t.Errorf("%s of %s: %v", path, key, hidden)
			}
		}
	}
	for _, bad := range []string{"~order-1", "A~", "A~B~order-1", "a:b~order-1", strings.Repeat("n", 65) + "~order-1", "A~" + strings.Repeat("u", 129)} {
		s.as("ops", "GET", "/transactions/"+bad, "").wantProblem(400, "BAD_REQUEST")
		s.as("ops", "GET", "/events?uid="+bad, "").wantProblem(400, "BAD_REQUEST")
	}
	// Another key of the same name has the same space; one of another name that sees the queue
	// is told whose it is.
	for key, want := range map[string][]string{
		"A": {"order-1"}, "A-reads": {"order-1"}, "B": {"order-1"}, "C": {"A~order-1"}, "ops": {"A~order-1", "B~order-1"},
	} {
		if diff := cmp.Diff(want, s.as(key, "GET", "/transactions", "").want(200).names("uid")); diff != "" {
			t.Errorf("%s lists %s", key, diff)
		}
	}
	if got := uid(s.as("C", "GET", "/transactions/A~order-1", "").want(200)); got != "A~order-1" {
		t.Errorf("C sees %s", got)
	}
	// A key may say its own in full, too, and what has come between is told in its words.
	if got := uid(s.as("A", "GET", "/transactions/A~order-1", "").want(200)); got != "order-1" {
		t.Errorf("A sees %s", got)
	}
	s.control.err = fmt.Errorf("transaction A~order-1: %w", queues.ErrNotFound)
	if p := s.as("A", "POST", "/transactions/order-1/cancel", "").wantProblem(404, "NOT_FOUND"); strings.Contains(text(p["detail"]), mark) {
		t.Errorf("A is told %v", p)
	}
	s.control.err = nil
	name, key := bearerOf("A")
	headed := s.ask("POST", "/transactions", `{"queue":"a-1","type":"ANY","data":{"of":"A"}}`, name, key, "Idempotency-Key", "order-1").want(200)
	if uid(headed) != "order-1" {
		t.Errorf("with the key in a header it is %s", headed.Body)
	}
	s.as("C", "POST", "/transactions", order("order-1", "a-1", "C")).want(202)
	if diff := cmp.Diff([]string{"A~order-1", "order-1"}, s.as("C", "GET", "/transactions?queue=a-1", "").want(200).names("uid")); diff != "" {
		t.Errorf("C lists %s", diff)
	}
	// One that the service names is in the space, too.
	made := s.as("A", "POST", "/transactions", `{"queue":"a-1","type":"ANY","data":{}}`).want(202)
	if got := uid(s.as("ops", "GET", "/transactions/A~"+uid(made), "").want(200)); strings.Contains(uid(made), mark) || got != "A~"+uid(made) {
		t.Errorf("made as %s, and seen as %s", uid(made), got)
	}
	// The longest of names with the longest of uids.
	long := Key{strings.Repeat("n", 64), Submit, "long", queues.Prefixes{"l-"}}
	keys := NewKeyring([]Key{long, {"ops", Admin, "ops", nil}})
	s = setup(t, func(o *Options) { o.Keys = keys })
	s.as("long", "POST", "/transactions", order(strings.Repeat("u", 128), "l-1", "x")).want(202)
	s.as("ops", "GET", "/transactions/"+long.Name+mark+strings.Repeat("u", 128), "").want(200)
}

// TestSpacesBefore: what was posted before there were spaces keeps its uid for everybody, the key
// that sees its queue included, to whom that uid is that transaction: it is told and cancelled by
// it, and posted again it is no second one. For others that uid is free.
func TestSpacesBefore(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		s := setupSpaces(t)
		before := queues.Item{UID: "old", Queue: "a-1", Type: "ANY", Data: json.RawMessage(`{"of":"A"}`)}
		if err := s.store.Enqueue(t.Context(), before).Err; err != nil {
			t.Fatal(err)
		}
		if removed {
			s.remove("old")
			for _, key := range []string{"A", "C"} { // both see its queue
				s.as(key, "POST", "/transactions", order("old", "a-1", "A")).wantProblem(409, "KEY_REUSED")
			}
		} else {
			for _, key := range []string{"A", "C", "ops"} {
				got := s.as(key, "GET", "/transactions/old", "").want(200)
				again := s.as(key, "POST", "/transactions", order("old", "a-1", "A")).want(200)
				if text(got.read()["uid"]) != "old" || text(again.read()["uid"]) != "old" {
					t.Errorf("%s sees %s, and posts %s", key, got.Body, again.Body)
				}
				s.as(key, "POST", "/transactions", order("old", "a-1", "x")).wantProblem(409, "KEY_REUSED")
			}
			if s.as("A", "POST", "/transactions/old/cancel", "").want(200); s.control.asked != "cancel old" {
				t.Errorf("done is %s", s.control.asked)
			}
			s.as("A", "POST", "/transactions", order("old", "a-2", "A")).wantProblem(409, "KEY_REUSED")
			s.as("B", "GET", "/transactions/old", "").wantProblem(404, "NOT_FOUND")
			// What is over is not too late where it is only posted again.
			late := strings.Replace(order("old", "a-1", "A"), "}}", `},"expiresAt":"2020-01-01T00:00:00Z"}`, 1)
			s.as("A", "POST", "/transactions", late).wantProblem(409, "KEY_REUSED")
			s.as("B", "POST", "/transactions", strings.Replace(late, "a-1", "b-1", 1)).wantProblem(422, "INVALID_DATA")
		}
		s.as("B", "POST", "/transactions", order("old", "b-1", "B")).want(202)
		if diff := cmp.Diff([]string{"B~order-1", "B~old"}, s.as("ops", "GET", "/transactions?queue=b-1", "").want(200).names("uid")); diff != "" {
			t.Errorf("all see %s", diff)
		}
	}
}

// TestSpacesOfOthers: what a key without a limit posts has no space. In a queue that a tenant
// sees it is not posted by a uid of the tenant's, who would be told of two by one name.
func TestSpacesOfOthers(t *testing.T) {
	t.Parallel()
	s := setupSpaces(t)
	if got := s.as("ops", "POST", "/transactions", order("order-1", "a-1", "A")).want(200).read(); got["uid"] != "A~order-1" {
		t.Errorf("the tenant's, posted again, is %v", got["uid"])
	}
	s.as("ops", "POST", "/transactions", order("order-1", "a-2", "A")).wantProblem(409, "KEY_REUSED")
	s.as("ops", "POST", "/transactions", order("order-1", "z-1", "ops")).want(202)
	s.as("ops", "POST", "/transactions", order("mine", "a-1", "ops")).want(202)
	batch := s.as("A", "POST", "/transactions/batch", "["+order("mine", "a-1", "ops")+","+order("mine", "a-1", "A")+","+order("new", "a-1", "A")+"]").want(200)
	for i, line := range strings.Split(strings.TrimSpace(batch.Body.String()), "\n") {
		if want := []string{`"status":200,"transaction":{"uid":"mine"`, `"code":"KEY_REUSED"`, `"status":202,"transaction":{"uid":"new"`}[i]; !strings.Contains(line, want) {
			t.Errorf("item %d: %s", i, line)
		}
	}
	if got := s.as("A", "GET", "/transactions?queue=a-1", "").want(200).names("uid"); !cmp.Equal(got, []string{"order-1", "mine", "new"}) {
		t.Errorf("A lists %v", got)
	}
}

// TestSpacesWithoutKeys: where nobody needs a key, or a key has no limit, a uid is what it was.
func TestSpacesWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, ring := range []*Keyring{nil, NewKeyring([]Key{{"ops", Submit, "ops", nil}})} {
		s := setup(t, func(o *Options) { o.Keys = ring })
		s.as("ops", "POST", "/transactions", order("order-1", "q", "x")).want(202)
		if t1, err := s.store.Get(t.Context(), "order-1"); err != nil || t1.UID != "order-1" {
			t.Errorf("stored is %v, %v", t1, err)
		}
		if got := s.as("ops", "GET", "/transactions/order-1", "").want(200).read(); got["uid"] != "order-1" {
			t.Errorf("told is %v", got["uid"])
		}
	}
}

// TestSpacesOfEvents: those who follow hear of a transaction by the uid by which they know it, at
// once and later; and a stream ends when its key is of another name, with which uids change.
func TestSpacesOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := spaces()
		s := setup(t, func(o *Options) { o.Keys = keys })
		web := overPipes(t, s)
		follow := func(key, query, last string) *follower {
			web.key = key
			return web.follow(query, last)
		}
		hear := func(f *follower, want ...string) {
			t.Helper()
			for i, e := range f.events(len(want)) {
				if got := e.told(t).UID; got == nil && want[i] != "" || got != nil && *got != want[i] {
					t.Errorf("event %d is %s, want one of %q", i, e.Data, want[i])
				}
			}
		}
		before := queues.Item{UID: "old", Queue: "a-0", Type: "ANY", Data: json.RawMessage(`{}`)}
		if err := s.store.Enqueue(t.Context(), before).Err; err != nil {
			t.Fatal(err)
		}
		a, named, b, c, ops := follow("A", "", ""), follow("A", "?uid=order-1", ""), follow("B", "?uid=order-1", ""), follow("C", "", ""), follow("ops", "", "")
		begin := ops.last
		hear(follow("A", "?uid=old", ops.begin()), "old")
		for _, key := range []string{"A", "B"} {
			s.as(key, "POST", "/transactions", order("order-1", strings.ToLower(key)+"-1", key)).want(202)
		}
		if err := s.store.Pause(t.Context(), "a-1", "x"); err != nil { // an event of no transaction
			t.Fatal(err)
		}
		hear(a, "order-1", "")
		hear(named, "order-1")
		hear(b, "order-1")
		hear(c, "A~order-1", "")
		hear(ops, "A~order-1", "B~order-1", "")
		hear(follow("A", "", begin), "order-1", "")
		hear(follow("B", "", begin), "order-1")
		hear(follow("C", "?uid=A~order-1", begin), "A~order-1")
		keys.Replace([]Key{{"A2", Submit, "A", queues.Prefixes{"a-"}}, {"B", Submit, "B", queues.Prefixes{"b-"}}, {"chief", Admin, "ops", nil}})
		began := time.Now()
		if last := a.end(); last.Retry == "" || time.Since(began) > 2*heartbeat {
			t.Errorf("after %s it ends with %+v", time.Since(began), last)
		}
		hear(follow("A", "", begin), "A~order-1", "")
		for _, f := range []*follower{b, ops} { // what sees what it saw goes on
			if beat, err := f.frame(); err != nil || beat.Retry != "" {
				t.Errorf("it hears %+v, %v", beat, err)
			}
		}
	})
}

// TestSpacesInWords: in what the service says itself a uid is as the caller knows it.
func TestSpacesInWords(t *testing.T) {
	t.Parallel()
	one, all := caller{name: "A", within: queues.Prefixes{"a-"}}, caller{name: "A"}
	for said, want := range map[string]string{
		"transaction A~order-1: not found":  "transaction order-1: not found",
		"A~1 (A~2), BA~3, B~A, .A~4, A~5A~": "1 (2), BA~3, B~A, .A~4, 5A~",
		"":                                  "",
		"it waits":                          "it waits",
	} {
		if got := one.words(said); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
		if got := all.words(said); got != said {
			t.Errorf("%q is told to all as %q", said, got)
		}
	}
}

// TestSpacesInTraces: what is for who operates the service has the uid that workers have.
func TestSpacesInTraces(t *testing.T) {
	t.Parallel()
	var traced []string
	s := setup(t, func(o *Options) {
		o.Keys = spaces()
		o.Tracer.Accepting = func(context.Context, string, string) (string, func(string, error)) {
			return "", func(uid string, _ error) { traced = append(traced, uid) }
		}
	})
	s.as("A", "POST", "/transactions", order("order-1", "a-1", "A")).want(202)
	s.as("A", "POST", "/transactions/batch", "["+order("order-2", "a-1", "A")+"]").want(200)
	if diff := cmp.Diff([]string{"A~order-1", "A~order-2"}, traced); diff != "" {
		t.Error(diff)
	}
}

// remove ends a transaction that waits, and forgets it.
func (s *service) remove(uid string) {
	s.Helper()
	ctx := context.Background()
	t, err := s.store.Get(ctx, uid)
	if err != nil {
		s.Fatal(err)
	}
	after, now := *t, time.Now()
	after.Phase, after.DoneAt = tx.PhaseFailed, now
	if _, err := s.store.Advance(ctx, &queues.Change{Before: t, After: &after, Now: now}); err != nil {
		s.Fatal(err)
	}
	if err := s.store.Remove(ctx, uid); err != nil {
		s.Fatal(err)
	}
}
