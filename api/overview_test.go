package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chain := Chain{OK: true, Synced: 2, Nodes: 3, Height: 7, TipSlot: 70, Slot: 71, SlotTime: 180 * time.Second, Network: "mina:testnet", Detail: "one lags"}
		s := setup(t, func(o *Options) {
			o.Chain = func(context.Context) *Chain { return &chain }
			o.Troubles = func() []Trouble { return []Trouble{{Code: "CLOCK", Detail: "It is off"}} }
		})
		for _, account := range []string{"B62a", "B62b", "B62c"} {
			if err := s.senders.Register(t.Context(), account, "http://w"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.senders.Drain(t.Context(), "B62c"); err != nil {
			t.Fatal(err)
		}
		drained := time.Now()
		for i := range 5 {
			post(s, fmt.Sprint("q", i%4), fmt.Sprint("u", i))
			<-time.After(time.Second)
		}
		oldest, err := s.store.Get(t.Context(), "u1")
		if err != nil {
			t.Fatal(err)
		}
		s.finish(tx.PhaseDone)
		s.bind()
		<-time.After(time.Minute)
		v := s.ask("GET", "/overview", "").want(200).read()
		want := fmt.Sprintf(`{"counts":{"WAITING":3,"DISPATCHING":1,"REVISION":0,"RETRY":0,"DONE":1,"FAILED":0,"UNRESOLVED":0},"queues":4,`+
			`"oldestAt":%q,"rates":{"seconds":65,"accepted":5,"done":1,"retried":0,"failed":0},`+
			`"senders":{"free":1,"bound":1,"out":1,"reasons":{"DRAINING":1}},"stops":[],"recovering":null,`+
			`"troubles":[{"code":"SENDER_OUT","detail":%q,"queue":null,"sender":"B62c","command":"sequencer sender resume B62c"},`+
			`{"code":"CLOCK","detail":"It is off","queue":null,"sender":null,"command":null}],`+
			`"chain":{"ok":true,"synced":2,"nodes":3,"height":7,"tipSlot":70,"slot":71,"slotMillis":180000,"network":"mina:testnet","at":null,"detail":"one lags"},"ledgers":[]}`,
			oldest.ReceivedAt.Format("2006-01-02T15:04:05.000Z07:00"), "Sender B62c is out of use since "+drained.UTC().Format("2006-01-02 15:04Z")+
				": it was taken out of use. To do: resume it when it is to go on")
		delete(v, "at")
		recent, _ := v["recent"].([]any)
		delete(v, "recent")
		if newest, _ := recent[0].(map[string]any); len(recent) != 12 || newest["to"] != "DISPATCHING" || newest["uid"] == nil {
			t.Errorf("what happened last is %v", recent)
		}
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

// TestForPerson: what waits for a person is named up to a number, and counted beyond; what ends by itself
// is not named.
func TestForPerson(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	v := queues.Overview{LimitedInAll: 12, MaxWaiting: 7, States: map[tx.State]int64{tx.Waiting: 7}}
	var pool []*senders.Sender
	for i := range 12 {
		v.Limited = append(v.Limited, queues.Limited{Queue: fmt.Sprint("q", i), Since: at})
		pool = append(pool, &senders.Sender{AccountID: fmt.Sprint("B", i), Reason: tx.StoppedNonce, Detail: "nonce 12 is used by 5J", Since: at})
	}
	pool = append(pool, &senders.Sender{AccountID: "rests", Reason: tx.Rested, Until: at}, &senders.Sender{AccountID: "works"},
		&senders.Sender{AccountID: "idle", Reason: tx.Idled})
	all := forPerson(&v, pool)
	if first := all[0]; first.Code != "TOO_MANY_WAITING" || !strings.HasPrefix(first.Detail, "Every post is refused, for 7") {
		t.Errorf("first %+v", first)
	}
	all = all[1:]
	if len(all) != 22 {
		t.Fatalf("%d: %+v", len(all), all)
	}
	for i, want := range map[int]Trouble{
		0: {"QUEUE_PAUSED", "Queue q0 is paused since 2026-03-01 12:00Z: too many of its transactions in a row ended UNRESOLVED. " +
			"To do: see what became of them (sequencer txn list --state UNRESOLVED --queue q0), mend that, have them tried again if they shall be (sequencer txn retry --state UNRESOLVED --queue q0), and resume the queue", "q0", "", "sequencer queue resume q0"},
		10: {Code: "QUEUE_PAUSED", Detail: "2 more queues are paused so"},
		11: {"SENDER_OUT", "Sender B0 is out of use since 2026-03-01 12:00Z: somebody else used its account, nonce 12 is used by 5J. " +
			"To do: see what has, for it must not go on, and resume the sender", "", "B0", "sequencer sender resume B0"},
		21: {Code: "SENDER_OUT", Detail: "2 more senders are out of use until a person sees to it"},
	} {
		if all[i] != want {
			t.Errorf("%d is %+v, want %+v", i, all[i], want)
		}
	}
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
