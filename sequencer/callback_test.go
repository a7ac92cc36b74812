package sequencer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// An ear hears what is said to a worker, and may answer in its place.
type ear struct {
	next   http.Handler
	answer func(path, uid string, nth int) string // "" leaves it to the worker

	mu    sync.Mutex
	heard []string // "path uid data"
}

func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var said struct {
		TxData struct {
			UID  string          `json:"uid"`
			Data json.RawMessage `json:"data"`
		} `json:"txData"`
	}
	if json.Unmarshal(body, &said) == nil && said.TxData.UID != "" {
		call := r.URL.Path + " " + said.TxData.UID + " "
		e.mu.Lock()
		e.heard = append(e.heard, call+string(said.TxData.Data))
		nth := len(slices.DeleteFunc(slices.Clone(e.heard), func(s string) bool { return !strings.HasPrefix(s, call) }))
		e.mu.Unlock()
		if text := e.answer(r.URL.Path, said.TxData.UID, nth); text != "" {
			_, _ = io.WriteString(w, text)
			return
		}
	}
	e.next.ServeHTTP(w, r)
}

// TestCallbackData: handlers of a callback read in the data what the dispatch of
// the attempt that landed returned; a dispatch reads what was posted, always.
func TestCallbackData(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Policy.MaxRetries = 1
		_, worker := w.Worker(1, devworker.Options{})
		e := &ear{next: worker, answer: func(path, uid string, nth int) string {
			if path == "/prove/MINT" && (uid == "fails" || nth == 1) {
				return `{"error":{"code":"20202","message":"not this time"},"data":{"n":2}}`
			}
			return ""
		}}
		w.Web.Serve(w, "worker1", e)
		w.Start()
		w.Post("claim", "lands")
		w.Await("lands", tx.Done, time.Hour)
		w.Post("claim", "fails")
		w.Await("fails", tx.Failed, time.Hour)
		for _, uid := range []string{"lands", "fails"} {
			w.AwaitTxn(uid, "told", time.Minute, func(t *tx.Transaction) bool { return t.Callback == "" })
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if diff := cmp.Diff([]string{
			`/prove/MINT lands {"n":1}`, `/prove/MINT lands {"n":1}`,
			`/on-success/MINT lands {"zkApp":"` + devworker.ZkApp("claim") + `"}`,
			`/prove/MINT fails {"n":1}`, `/prove/MINT fails {"n":1}`, `/on-failure/MINT fails {"n":1}`,
		}, e.heard); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCallbackAnswers: what a worker says to a callback is kept with the transaction, told by an event,
// and given to the next callback of it, also where that is tried twice; what is too long is not.
func TestCallbackAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Policy.MaxRetries = 0
		_, worker := w.Worker(1, devworker.Options{})
		var mu sync.Mutex
		var said []string // of each callback, what it was given
		hear := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var in struct{ Answered json.RawMessage }
			_ = json.Unmarshal(body, &in)
			mu.Lock()
			defer mu.Unlock()
			said = append(said, string(in.Answered))
			_, _ = io.WriteString(rw, []string{
				`{"success":true,"ticket":17}`, `{"success":false}`, `{"hash":"5J","long":"` + strings.Repeat("x", 5000) + `"}`,
			}[len(said)-1])
		})
		fails := &ear{next: worker, answer: func(path, _ string, nth int) string {
			if path == "/prove/MINT" && nth == 1 {
				return `{"error":{"code":"500","message":"never"}}`
			}
			return ""
		}}
		w.Web.Serve(w, "worker1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/on-") {
				hear(rw, r)
				return
			}
			fails.ServeHTTP(rw, r)
		}))
		p := w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Unresolved, time.Hour)
		told := func(want tx.Told) {
			t.Helper()
			got := w.AwaitTxn("a", "told", time.Hour, func(t *tx.Transaction) bool { return t.Callback == "" }).Told
			if got.At.IsZero() {
				t.Error("nobody knows when it was told")
			}
			got.At = time.Time{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		told(tx.Told{Callback: tx.OnFailure, Done: true, Tries: 1, Answer: json.RawMessage(`{"ticket":17}`)})
		_, err := p.Retry(w.Ctx, "a")
		w.OK(err)
		w.Await("a", tx.Done, time.Hour)
		told(tx.Told{Callback: tx.OnSuccess, Done: true, Tries: 2,
			Error: "its answer has 5023 bytes, more than 4096, and is not kept"})
		if diff := cmp.Diff([]string{"", `{"ticket":17}`, `{"ticket":17}`}, said); diff != "" {
			t.Error(diff)
		}
		events, err := p.Store.Events(w.Ctx, 0, 100)
		w.OK(err)
		var answered []string
		for _, e := range events {
			if e.Code == tx.CodeAnswered {
				answered = append(answered, fmt.Sprint(e.ID, " ", e.From, " ", e.To, " ", e.QueueFrom, " ", e.QueueTo))
			}
		}
		if diff := cmp.Diff([]string{"a unresolved unresolved FREE FREE"}, answered); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCallbackForHours: a callback that nobody answers is told again and again, however
// often that was, until somebody does.
func TestCallbackForHours(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const inVain = 50
		w := harness.New(t, devnet.Config{FillRate: 1})
		_, worker := w.Worker(1, devworker.Options{})
		told := 0
		e := &ear{next: worker, answer: func(path, _ string, nth int) string {
			if path != "/on-success/MINT" {
				return ""
			}
			if told = nth; nth <= inVain {
				return `{"success":false}`
			}
			return `{"success":true}`
		}}
		w.Web.Serve(w, "worker1", e)
		w.Start()
		w.Post("claim", "a")
		w.AwaitTxn("a", "told", 6*time.Hour,
			func(t *tx.Transaction) bool { return t.State() == tx.Done && t.Callback == "" })
		if told != inVain+1 {
			t.Errorf("told %d times, want %d", told, inVain+1)
		}
	})
}

// TestCallbackWait: a queue waits CALLBACK_WAIT for an answer that does not come, and no
// longer, whoever ended its transaction.
func TestCallbackWait(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled %t", cancelled), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				w.Policy.CallbackWait = 20 * time.Second
				_, worker := w.Worker(1, devworker.Options{})
				w.Web.Serve(w, "worker1", &ear{next: worker, answer: func(path, uid string, _ int) string {
					switch {
					case cancelled && uid == "a" && path == "/prove/MINT":
						return `{"error":{"code":"20202","message":"not this time"}}`
					case uid == "a" && path != "/prove/MINT":
						return `{"success":false}`
					}
					return ""
				}})
				p := w.Start()
				w.Post("q", "a")
				w.Post("q", "b")
				if cancelled {
					w.Await("a", tx.Retry, time.Hour)
					_, _, err := p.Cancel(w.Ctx, "a")
					w.OK(err)
				}
				begun := w.AwaitTxn("b", "begun", time.Hour, func(t *tx.Transaction) bool { return len(t.Attempts) > 0 })
				waited := begun.Attempts[0].StartedAt.Sub(w.Get("a").DoneAt)
				if waited < w.Policy.CallbackWait || waited > w.Policy.CallbackWait+10*time.Second {
					t.Errorf("the next one waited for %v", waited)
				}
			})
		})
	}
}

// TestCallbackOfATrain: a callback that is never answered holds up those behind it for as long as
// it would hold up a queue of which one is in flight.
func TestCallbackOfATrain(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{FillRate: 1}, func(w *harness.World) {
		w.Policy.CallbackWait = 5 * time.Minute
		_, worker := w.Worker(1, devworker.Options{ProveTime: time.Second})
		var mu sync.Mutex
		told := map[string]time.Time{}
		w.Web.Serve(w, "worker1", &ear{next: worker, answer: func(path, uid string, _ int) string {
			if !strings.Contains(path, "on-success") {
				return ""
			}
			if uid == "q-00" {
				return `{"success":false}`
			}
			mu.Lock()
			defer mu.Unlock()
			if told[uid].IsZero() {
				told[uid] = time.Now()
			}
			return ""
		}})
		w.Start()
		uids := w.PostAll("q", 24)
		w.Await(uids[23], tx.Done, 24*time.Hour)
		<-time.After(w.Policy.CallbackWait + 2*time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for i, uid := range uids[1:] {
			late := told[uid].Sub(w.Get(uid).DoneAt)
			if told[uid].IsZero() || late > w.Policy.CallbackWait+2*time.Minute {
				t.Errorf("%s is told after %v", uid, late)
			}
			if i > 0 && told[uid].Before(told[uids[i]]) {
				t.Errorf("%s is told before %s", uid, uids[i])
			}
		}
	})
}
