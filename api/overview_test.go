package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chain := Chain{OK: true, Synced: 2, Nodes: 3, Height: 7, TipSlot: 70, Slot: 71, SlotTime: 180 * time.Second, Network: "mina:testnet", Detail: "one lags"}
		s := setup(t, func(o *Options) {
			o.Chain = func(context.Context) *Chain { return &chain }
			o.Troubles = func() []Trouble { return []Trouble{{"CLOCK", "It is off"}} }
		})
		for _, account := range []string{"B62a", "B62b", "B62c"} {
			if err := s.senders.Register(t.Context(), account, "http://w"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.senders.Drain(t.Context(), "B62c"); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			post(s, fmt.Sprint("q", i%4), fmt.Sprint("u", i))
			<-time.After(time.Second)
		}
		oldest, err := s.store.Get(t.Context(), "u1")
		if err != nil {
			t.Fatal(err)
		}
		s.finish(lifecycle.PhaseDone)
		s.bind()
		<-time.After(time.Minute)
		v := s.ask("GET", "/overview", "").want(200).read()
		want := fmt.Sprintf(`{"counts":{"WAITING":3,"DISPATCHING":1,"REVISION":0,"RETRY":0,"DONE":1,"FAILED":0,"UNRESOLVED":0},"queues":4,`+
			`"oldestAt":%q,"rates":{"seconds":65,"accepted":5,"done":1,"retried":0,"failed":0},`+
			`"senders":{"free":1,"bound":1,"out":1,"reasons":{"DRAINING":1}},"stops":[],"recovering":null,"troubles":[{"code":"CLOCK","detail":"It is off"}],`+
			`"chain":{"ok":true,"synced":2,"nodes":3,"height":7,"tipSlot":70,"slot":71,"slotMillis":180000,"network":"mina:testnet","at":null,"detail":"one lags"},"ledgers":[]}`,
			oldest.ReceivedAt.Format("2006-01-02T15:04:05.000Z07:00"))
		delete(v, "at")
		if got, wanted := fmt.Sprint(v), fmt.Sprint(decodeNumbers(t, []byte(want))); got != wanted {
			t.Errorf("the overview is\n%s, want\n%s", got, wanted)
		}
		// Many who ask make the store work once.
		calls := s.store.Calls()
		for range 50 {
			s.ask("GET", "/overview", "").want(200)
		}
		if n := s.store.Calls() - calls; n != 0 {
			t.Errorf("%d scripts for 50 who ask at once", n)
		}
		<-time.After(time.Second)
		s.redis.SetError("LOADING")
		s.ask("GET", "/overview", "").wantProblem(503, codeUnavailable)
		s.redis.SetError("")
		s.ask("GET", "/overview", "").want(200)
		s.ask("GET", "/overview?a=b", "").wantProblem(400, codeBadRequest)
	})
}

// TestOverviewOfLedgers: of each ledger what this process knows, and what it has to do by the
// store, known here or not.
func TestOverviewOfLedgers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().UTC()
		s := setup(t, func(o *Options) {
			o.Chain = func(context.Context) *Chain { return nil }
			o.Recovering = func() string { return "it looks at its senders" }
			o.Ledgers = func() []Ledger {
				return []Ledger{{Name: "saw", Asked: at, OK: true}, {Name: "away", Asked: at, Detail: "it is away"}, {Name: "new"}}
			}
		})
		if err := s.senders.Configure(t.Context(), map[string]string{"saw/1": "http://s", "saw/2": "http://s"}); err != nil {
			t.Fatal(err)
		}
		if err := s.senders.Drain(t.Context(), "saw/2"); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"saw", "saw", "others"} {
			item := queues.Item{UID: fmt.Sprint("u", i), Queue: fmt.Sprint("q", i), Type: "SUBMIT_BATCH", Ledger: name, BatchID: fmt.Sprint(i), Data: json.RawMessage(`{}`)}
			if a := s.store.Enqueue(t.Context(), item); a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		if _, err := s.store.Bind(t.Context(), queues.BindRequest{
			Process: "p", Types: []string{"SUBMIT_BATCH"}, Ledger: "saw", Groups: []string{senders.LedgerGroup("saw")}, Most: 1}); err != nil {
			t.Fatal(err)
		}
		v := s.ask("GET", "/overview", "").want(200).read()
		stamp := at.Format("2006-01-02T15:04:05.000Z07:00")
		want := fmt.Sprintf(`{"all":[{"name":"away","ok":false,"waiting":0,"inFlight":0,"slots":0,"slotsOut":0,"oldestAt":null,"at":%[1]q,"detail":"it is away"},`+
			`{"name":"new","ok":null,"waiting":0,"inFlight":0,"slots":0,"slotsOut":0,"oldestAt":null,"at":null,"detail":null},`+
			`{"name":"others","ok":null,"waiting":1,"inFlight":0,"slots":0,"slotsOut":0,"oldestAt":%[1]q,"at":null,"detail":null},`+
			`{"name":"saw","ok":true,"waiting":1,"inFlight":1,"slots":2,"slotsOut":1,"oldestAt":%[1]q,"at":%[1]q,"detail":null}]}`, stamp)
		if got, wanted := fmt.Sprint(v["ledgers"]), fmt.Sprint(decodeNumbers(t, []byte(want))["all"]); got != wanted {
			t.Errorf("the ledgers are\n%s, want\n%s", got, wanted)
		}
		if v["chain"] != nil || v["recovering"] != "it looks at its senders" {
			t.Errorf("without a node there is a chain: %v; it is recovering: %v", v["chain"], v["recovering"])
		}
	})
}

func TestListsSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		var at []time.Time
		for _, uid := range []string{"a", "b", "c"} {
			post(s, "queue-"+uid, uid)
			at = append(at, time.Now())
			<-time.After(time.Hour)
		}
		uids := func(query string) string {
			t.Helper()
			var page struct{ Items []struct{ UID, Name string } }
			r := s.ask("GET", query, "").want(200)
			if err := json.Unmarshal(r.Body.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			all := ""
			for _, item := range page.Items {
				all += item.UID + item.Name + " "
			}
			return all
		}
		stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
		for query, want := range map[string]string{
			"/transactions?order=newest":                            "c b a ",
			"/transactions?order=oldest":                            "a b c ",
			"/transactions?since=" + stamp(at[1].Add(-time.Second)): "b c ",
			"/transactions?until=" + stamp(at[1].Add(-time.Second)): "a ",
			"/transactions?order=newest&queue=queue-b":              "b ",
			"/queues?prefix=queue-b":                                "queue-b ",
			"/queues?prefix=q":                                      "queue-a queue-b queue-c ",
			"/queues?prefix=x":                                      "",
		} {
			if got := uids(query); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		for _, bad := range []string{"/transactions?order=up", "/transactions?order=", "/transactions?since=yesterday", "/transactions?until=1", "/queues?prefix=a%20b"} {
			s.ask("GET", bad, "").wantProblem(400, codeBadRequest)
		}
		q := s.ask("GET", "/queues/queue-b", "").want(200).read()
		if got := q["oldestWaitingAt"]; got != at[1].UTC().Format("2006-01-02T15:04:05.000Z07:00") {
			t.Errorf("the oldest of queue-b is of %v", got)
		}
	})
}
