package api

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
)

// TestActor: the events of what a person did name the key, and one filter shows all that a name
// has done, from the oldest event on. What happened by itself, and a post, names nobody.
func TestActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(o *Options) {
			o.Keys = NewKeyring([]Key{
				{"shop", Submit, "shop", nil}, {"ops", Admin, "ops-old", nil}, {"ops", Admin, "ops", nil}, {"night", Admin, "night", nil}})
		})
		do := func(key, method, path, body string) {
			t.Helper()
			if r := s.ask(method, path, body, "Authorization", "Bearer "+key); r.Code >= 300 {
				t.Fatalf("%s %s: %d %s", method, path, r.Code, r.Body)
			}
		}
		do("shop", "POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`)
		do("ops", "POST", "/queues/q/pause", `{"reason":"look"}`)
		do("night", "POST", "/queues/q/resume", "")
		do("ops-old", "POST", "/queues/q/width", `{"width":2}`)
		do("ops", "POST", "/senders", `{"accountId":"B62x","workerUrl":"http://w"}`)
		do("night", "POST", "/senders/B62x/drain", "")
		do("ops", "POST", "/senders/B62x/resume", "")
		do("ops", "DELETE", "/senders/B62x", "")
		if err := s.store.Pause(t.Context(), "q", "by itself"); err != nil {
			t.Fatal(err)
		}
		for path, body := range map[string]string{
			"u/retry": "", "u/cancel": "", "u/resolve": `{"outcome":"dead"}`,
		} {
			if do("night", "POST", "/transactions/"+path, body); s.control.by != "night" {
				t.Errorf("%s is by %q", path, s.control.by)
			}
		}
		do("ops", "POST", "/transactions/cancel", `{"filter":{"queue":"q"}}`)
		if s.control.by != "ops" {
			t.Errorf("many are cancelled by %q", s.control.by)
		}
		web := overPipes(t, s)
		web.key = "shop"
		history := func(query string) (out []string) {
			t.Helper()
			f := web.follow(query, "")
			for {
				got, err := f.frame()
				if err != nil {
					t.Fatal(err)
				}
				if got.Event == "" {
					if got.Comment != "level" {
						t.Errorf("it ends with %+v", got)
					}
					return out
				}
				e := got.told(t)
				by := "nobody"
				if e.Actor != nil {
					by = *e.Actor
				}
				what := "posted"
				if e.Code != nil {
					what = *e.Code
				}
				out = append(out, strings.TrimSpace(got.Event+" "+what+" by "+by))
			}
		}
		for query, want := range map[string][]string{
			"?from=oldest": {
				"transaction posted by nobody", "queue PAUSED by ops", "queue RESUMED by night", "queue WIDTH by ops", "sender REGISTERED by ops",
				"sender DRAINING by night", "sender RESUMED by ops", "sender REMOVED by ops", "queue PAUSED by nobody",
			},
			"?from=oldest&actor=night":        {"queue RESUMED by night", "sender DRAINING by night"},
			"?from=oldest&actor=ops&queue=q":  {"queue PAUSED by ops", "queue WIDTH by ops"},
			"?from=oldest&actor=shop":         nil,
			"?from=oldest&actor=ops&uid=none": nil,
		} {
			if diff := cmp.Diff(want, history(query)); diff != "" {
				t.Errorf("%s: %s", query, diff)
			}
		}
		for _, bad := range []string{"actor=", "actor=a%20b", "from=newest"} {
			s.ask("GET", "/events?"+bad, "", "Authorization", "Bearer ops").wantProblem(400, codeBadRequest)
		}
	})
}

// TestActorOfNobody: where nobody needs a key nobody is named, and the events are as short as
// they were.
func TestActorOfNobody(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
	s.ask("POST", "/queues/q/pause", "").want(200)
	p, err := s.store.ReadLog(t.Context(), 0, 10)
	if err != nil || len(p.Entries) != 2 || p.Entries[1].Code != "PAUSED" || p.Entries[1].Actor != "" {
		t.Errorf("%+v, %v", p.Entries, err)
	}
	if queues.Actor(t.Context()) != "" {
		t.Error("nobody is somebody")
	}
}
