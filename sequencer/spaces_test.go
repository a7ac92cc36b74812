package sequencer_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/api"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestSpaces: two tenants whose uids are the same have each its own done, in trains and over
// a proof that failed. Workers, the memos on the chain and who sees all have name~uid; the tenants have uid,
// also in what is explained to them.
func TestSpaces(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{}, func(w *harness.World) {
		var mu sync.Mutex
		proved := map[string]bool{}
		for n := range uint64(2) {
			_, worker := w.Worker(n+1, devworker.Options{ProveTime: 20 * time.Second})
			worker.Script(func(c devworker.Call) *devworker.Fault {
				mu.Lock()
				defer mu.Unlock()
				first := c.Kind == devworker.Prove && !proved[c.UID]
				if c.Kind == devworker.Prove {
					proved[c.UID] = true
				}
				if first && strings.HasSuffix(c.UID, "order-2") {
					return &memoryLoss // tried again
				}
				return nil
			})
		}
		p := w.Start()
		service := api.New(api.Options{
			Store: w.Store, Senders: w.Pool, Types: p.Types, Control: p.Sequencer,
			ValidKey: func(string) error { return errors.New("none") },
			Keys: api.NewKeyring([]api.Key{
				{Name: "A", Scope: api.Submit, Secret: "A", Within: queues.Prefixes{"a-"}},
				{Name: "B", Scope: api.Submit, Secret: "B", Within: queues.Prefixes{"b-"}},
				{Name: "ops", Scope: api.Admin, Secret: "ops"},
			}),
		})
		ask := func(key, method, path, body string) string {
			t.Helper()
			r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			got := httptest.NewRecorder()
			if service.ServeHTTP(got, r); got.Code >= 300 {
				t.Fatalf("%s %s by %s: %d %s", method, path, key, got.Code, got.Body)
			}
			return got.Body.String()
		}
		uids, stored := []string{"order-1", "order-2", "order-3", "order-4"}, map[string][]string{}
		for _, key := range []string{"A", "B"} {
			for _, uid := range uids {
				ask(key, "POST", "/transactions", `{"queue":"`+strings.ToLower(key)+`-1","type":"MINT","data":{},"uid":"`+uid+`"}`)
				stored[key] = append(stored[key], key+"~"+uid)
			}
		}
		named := 0
		for w.Get("A~order-4").State() != tx.Done || w.Get("B~order-4").State() != tx.Done {
			for _, key := range []string{"A", "B"} {
				queue := ask(key, "GET", "/queues/"+strings.ToLower(key)+"-1", "")
				for _, uid := range uids {
					said := ask(key, "GET", "/transactions/"+uid+"/explain", "")
					if strings.Contains(queue+said, "~") {
						t.Fatalf("%s is told %s of %s", key, said, queue)
					}
					if strings.Contains(ask("ops", "GET", "/transactions/"+key+"~"+uid+"/explain", ""), key+"~order-") {
						named++
						if !strings.Contains(said, "order-") {
							t.Fatalf("%s is told %s", key, said)
						}
					}
				}
			}
			<-time.After(29 * time.Second)
		}
		if named == 0 {
			t.Error("no explanation named a uid")
		}
		for key, want := range stored {
			w.Once(want...)
			if diff := cmp.Diff(want, w.Effects(want...)); diff != "" {
				t.Errorf("by their memos they took effect so: %s", diff)
			}
			for _, uid := range uids {
				var got struct {
					UID, State string
					Attempts   []json.RawMessage
				}
				w.OK(json.Unmarshal([]byte(ask(key, "GET", "/transactions/"+uid, "")), &got))
				if got.UID != uid || got.State != "DONE" || uid == "order-2" && len(got.Attempts) < 2 {
					t.Errorf("%s has %s", key, got)
				}
				if !proved[key+"~"+uid] || proved[uid] {
					t.Errorf("workers were asked for %v", proved)
				}
			}
		}
		longest := strings.Repeat("n", 64) + "~" + strings.Repeat("u", 128)
		if _, err := mina.EncodeMemo(lifecycle.Memo("test", longest)); err != nil {
			t.Error(err)
		}
		if found := audited(w, false); len(found) > 0 {
			t.Errorf("audit: %q", found)
		}
	})
}
