package api

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
)

// stopping is a service with two tenants, what each has in its queues, and who may stop them.
func stopping(t *testing.T) (*service, *doer, func(method, path, body string) reply) {
	t.Helper()
	s, d := setupBulk(t, func(o *Options) { o.Keys = tenants() })
	for _, queue := range []string{"a-1", "a-2", "b-1", "c-1", "c-2", "a"} {
		key := authorized("ops")
		s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":%q,"type":"ANY","data":{},"uid":%q}`, queue, "u-"+queue), key...).want(202)
	}
	return s, d, func(method, path, body string) reply { return s.ask(method, path, body, authorized("ops")...) }
}

func authorized(key string) []string { return []string{"Authorization", "Bearer " + key} }

// TestStopTenant: an operator pauses, resumes and cancels all of a tenant at once, by the
// beginning of its queues' names or by its key's name, and nothing else; a dry run only counts.
func TestStopTenant(t *testing.T) {
	t.Parallel()
	s, d, ask := stopping(t)
	paused := func() (names []string) {
		t.Helper()
		qs, _, err := s.store.Queues(t.Context(), 100, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range qs {
			if q.Paused != "" {
				names = append(names, q.Name+" "+q.Paused)
			}
		}
		return names
	}
	for _, step := range []struct {
		command, body string
		matched, done int
		paused        []string
	}{
		{"pause", `{"filter":{"prefix":"a-"},"dryRun":true}`, 2, 0, nil},
		{"pause", `{"filter":{"prefix":"a-"},"reason":"leaked"}`, 2, 2, []string{"a-1 leaked", "a-2 leaked"}},
		{"resume", `{"filter":{"key":"one"},"dryRun":true}`, 2, 0, []string{"a-1 leaked", "a-2 leaked"}},
		{"resume", `{"filter":{"prefix":"a-1"}}`, 1, 1, []string{"a-2 leaked"}},
		{"pause", `{"filter":{"key":"one"},"reason":"all","until":"2999-01-01T00:00:00Z"}`, 3, 3, []string{"a-1 all", "a-2 all", "b-1 all"}},
		{"pause", `{"filter":{"prefix":"none"}}`, 0, 0, []string{"a-1 all", "a-2 all", "b-1 all"}},
		{"resume", `{"filter":{"key":"two"}}`, 0, 0, []string{"a-1 all", "a-2 all", "b-1 all"}},
		{"resume", `{"filter":{"key":"one"}}`, 3, 3, nil},
	} {
		got := ask("POST", "/queues/"+step.command, step.body).want(200).read()
		want := fmt.Sprintf("map[done:%d matched:%d nextCursor:<nil> refusals:map[] refused:0]", step.done, step.matched)
		if fmt.Sprint(got) != want {
			t.Errorf("%s %s: %v, want %s", step.command, step.body, got, want)
		}
		if diff := cmp.Diff(step.paused, paused()); diff != "" {
			t.Errorf("%s %s: %s", step.command, step.body, diff)
		}
	}
	stops, _ := ask("GET", "/overview", "").want(200).read()["stops"].([]any)
	if len(stops) != 1 || stops[0].(map[string]any)["prefix"] != "none" { // which nobody has resumed
		t.Errorf("when the tenant is resumed there are stops: %v", stops)
	}
	for filter, want := range map[string][]string{
		`{"prefix":"a-"}`: {"u-a-1", "u-a-2"}, `{"key":"one"}`: {"u-a-1", "u-a-2", "u-b-1"},
		`{"key":"one","state":"FAILED"}`: nil, `{"key":"two","queue":"a-1"}`: nil, `{"key":"one","queue":"a-1"}`: {"u-a-1"},
	} {
		if got := ask("POST", "/transactions/cancel", `{"filter":`+filter+`,"dryRun":true}`).want(200).read(); fmt.Sprint(got["matched"]) != fmt.Sprint(len(want)) || d.take() != nil {
			t.Errorf("%s counts %v", filter, got)
		}
		ask("POST", "/transactions/cancel", `{"filter":`+filter+`}`).want(200)
		if diff := cmp.Diff(want, d.take()); diff != "" {
			t.Errorf("%s: %s", filter, diff)
		}
	}
}

// TestStopsWhatComes: a tenant that is stopped stays so with queues that come to be later, and who
// looks sees it; one who is resumed is so with all. A dry run says nothing of them.
func TestStopsWhatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, ask := stopping(t)
		n := 3
		comes := func(want string) {
			t.Helper()
			for _, prefix := range []string{"a-", "b-"} {
				n++
				queue := fmt.Sprint(prefix, n)
				s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":%q,"type":"ANY","data":{}}`, queue), authorized("one")...).want(202)
				q := ask("GET", "/queues/"+queue, "").want(200).read()
				if fmt.Sprint(q["reason"]) != want {
					t.Errorf("queue %s is paused for %v, want %s", queue, q["reason"], want)
				}
			}
		}
		ask("POST", "/queues/pause", `{"filter":{"key":"one"},"dryRun":true}`).want(200)
		comes("<nil>")
		ask("POST", "/queues/pause", `{"filter":{"key":"one"},"reason":"leaked","until":"2999-01-01T00:00:00Z"}`).want(200)
		comes("leaked")
		stop := "map[by:ops prefix:%s reason:leaked since:" + time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00") +
			" until:2999-01-01T00:00:00.000Z]"
		got := fmt.Sprint(ask("GET", "/overview", "").want(200).read()["stops"])
		if want := "[" + fmt.Sprintf(stop, "b-") + " " + fmt.Sprintf(stop, "a-") + "]"; got != want {
			t.Errorf("GET /overview tells of %s, want %s", got, want)
		}
		s.ask("POST", "/transactions", `{"queue":"c-3","type":"ANY","data":{}}`, authorized("two")...).want(202)
		if q := ask("GET", "/queues/c-3", "").want(200).read(); q["paused"] != false {
			t.Errorf("another tenant's is paused: %v", q)
		}
		ask("POST", "/queues/resume", `{"filter":{"key":"one"}}`).want(200)
		comes("<nil>")
	})
}

// TestStopRefused: what names nobody, or everybody, stops nothing, and says what is wrong.
func TestStopRefused(t *testing.T) {
	t.Parallel()
	s, d, ask := stopping(t)
	for _, path := range []string{"/queues/pause", "/queues/resume", "/transactions/cancel"} {
		for filter, field := range map[string]string{
			`{}`: "filter", `null`: "filter", `[]`: "filter", `{"prefix":""}`: "filter.prefix", `{"prefix":"a b"}`: "filter.prefix",
			`{"key":"ops"}`: "filter.key", `{"key":"nobody"}`: "filter.key", `{"key":"one","prefix":"a-"}`: "filter.key", `{"pre":"a"}`: "filter.pre",
		} {
			p := ask("POST", path, `{"filter":`+filter+`}`).wantProblem(422, codeInvalidData)
			if got := fields(p); !slices.Equal(got, []string{field}) {
				t.Errorf("%s %s names %v", path, filter, got)
			}
		}
		ask("POST", path+"?dryRun=maybe", `{"filter":{"prefix":"a-"}}`).wantProblem(400, codeBadRequest)
		s.ask("POST", path, `{"filter":{"prefix":"a-"}}`, authorized("one")...).wantProblem(403, codeForbidden)
	}
	ask("POST", "/queues/pause", `{"filter":{"prefix":"a-"},"until":"2001-01-01T00:00:00Z"}`).wantProblem(422, codeInvalidData)
	for i := range queues.MostStops {
		ask("POST", "/queues/pause", fmt.Sprintf(`{"filter":{"prefix":"x-%03d"}}`, i)).want(200)
	}
	p := ask("POST", "/queues/pause", `{"filter":{"prefix":"a-"}}`).wantProblem(422, codeInvalidData)
	if got := fields(p); !slices.Equal(got, []string{"filter"}) {
		t.Errorf("one beginning too many names %v", got)
	}
	qs, _, err := s.store.Queues(t.Context(), 100, "")
	if err != nil || slices.ContainsFunc(qs, func(q *queues.Queue) bool { return q.Paused != "" }) || d.take() != nil {
		t.Errorf("something was stopped, %v", err)
	}
}

// TestStopMany: more than one request looks at are stopped by going on.
func TestStopMany(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range mostPage + 3 {
		s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":"a-%04d","type":"ANY","data":{}}`, i)).want(202)
	}
	got := s.ask("POST", "/queues/pause", `{"filter":{"prefix":"a-"}}`).want(200).read()
	if fmt.Sprint(got["done"]) != fmt.Sprint(mostPage+3) || got["nextCursor"] != nil {
		t.Errorf("%v", got)
	}
}

// TestPosted: what each name posts is told, each of a batch by itself.
func TestPosted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := map[string]int{}
	s := setup(t, func(o *Options) {
		o.Keys = tenants()
		o.Meter.Posted = func(key, queue, outcome string) {
			mu.Lock()
			defer mu.Unlock()
			told[key+" "+queue+" "+outcome]++
		}
	})
	post := func(key, queue, uid string) string {
		doc := `{"queue":"` + queue + `","type":"ANY","data":{},"uid":"` + uid + `"}`
		s.ask("POST", "/transactions", doc, authorized(key)...)
		return doc
	}
	doc := post("one", "a-1", "u")
	post("one", "a-1", "u")
	post("one", "c-1", "v")
	post("two", "c-1", "w")
	s.ask("POST", "/transactions", `{`, authorized("two")...).want(400)
	s.ask("POST", "/transactions/batch", doc+"\n{}\n"+`{"queue":"b-1","type":"ANY","data":{}}`, authorized("one")...).want(200)
	want := map[string]int{
		"one a-1 accepted": 1, "one b-1 accepted": 1, "one a-1 existed": 2, "one  refused": 2, "two c-1 accepted": 1, "two  refused": 1,
	}
	if !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}
