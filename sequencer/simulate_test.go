package sequencer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// A trial worker simulates, or not, and does nothing else.
type trialWorker struct {
	health string
	mu     sync.Mutex
	status int
	answer string
	asked  []string
}

func (w *trialWorker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r.URL.Path)
	switch r.URL.Path {
	case "/health":
		_, _ = io.WriteString(rw, w.health)
	case "/simulate/MINT":
		if w.status == http.StatusServiceUnavailable {
			rw.Header().Set("Retry-After", "7")
		}
		rw.WriteHeader(w.status)
		_, _ = io.WriteString(rw, w.answer)
	default:
		rw.WriteHeader(http.StatusNotFound)
	}
}

// TestSimulate: a worker that simulates the type is found and asked, a free one before one that
// carries something, without a sender being bound; who does not simulate is not asked again for a while.
func TestSimulate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		p := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient(), Ended: func(error) {}})
		const able = `{"capabilities":["prove","simulate"],"types":["MINT"]}`
		const good = `{"ok":true,"weight":3,"touched":[],"seconds":4}`
		workers := map[string]*trialWorker{
			"old":     {health: `{"capabilities":["prove"]}`},
			"other":   {health: `{"capabilities":["simulate"],"types":["BURN"]}`},
			"carries": {health: able, status: 200, answer: strings.Replace(good, "3", "9", 1)},
			"free":    {health: able, status: 200, answer: good},
			"wrong":   {health: able, status: 200, answer: good},
		}
		for i, name := range []string{"carries", "old", "other", "free", "wrong"} {
			w.Web.Serve(t, name, workers[name])
			w.OK(w.Pool.Register(w.Ctx, devnet.Key(uint64(i)+1), "http://"+name))
			if name == "carries" {
				_, err := w.Store.Heartbeat(w.Ctx, "p", time.Hour, "")
				w.OK(err)
				w.Post("busy", "b")
				bound, err := w.Store.Bind(w.Ctx, queues.BindRequest{
					Process: "p", Types: []string{"MINT"}, Groups: []string{"shared"}, Most: 1, Grace: time.Hour,
				})
				if err != nil || len(bound) != 1 {
					t.Fatalf("bound %v: %v", bound, err)
				}
			}
		}
		w.OK(w.Pool.Drain(w.Ctx, devnet.Key(4)))
		w.OK(w.Pool.Rest(w.Ctx, devnet.Key(5), time.Hour, tx.WrongNetwork, ""))
		posted := &tx.Transaction{UID: "u", Queue: "q", Type: "MINT", Data: json.RawMessage(`{}`)}
		posted.MaxFee = 50_000_000
		simulate := func() string {
			got, fee, err := p.Simulate(w.Ctx, posted)
			if busy, ok := errors.AsType[*dispatcher.BusyError](err); ok {
				return fmt.Sprintf("busy %v", busy.RetryAfter)
			}
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("ok %v, weight %d, fee %d", got.OK, got.Weight, fee)
		}
		want := func(what, said string) {
			t.Helper()
			if got := simulate(); got != said {
				t.Errorf("%s: %s, want %s", what, got, said)
			}
		}
		set := func(name string, status int, answer string) {
			workers[name].mu.Lock()
			defer workers[name].mu.Unlock()
			workers[name].status, workers[name].answer = status, answer
		}
		want("by the free one", "ok true, weight 3, fee 50000000")
		set("free", 503, "")
		want("by the one that carries something", "ok true, weight 9, fee 50000000")
		set("carries", 200, `{}`)
		want("one is busy and one is broken", "busy 7s")
		set("free", 404, "")
		set("carries", 503, "")
		want("one has changed", "busy 7s")
		set("carries", 404, "")
		want("all have", dispatcher.ErrNoSimulator.Error())
		if got := fmt.Sprint(workers["old"].asked, workers["other"].asked); got != "[/health] [/health]" {
			t.Errorf("of those that do not simulate it was asked %s", got)
		}
		time.Sleep(2 * time.Minute)
		want("later", dispatcher.ErrNoSimulator.Error())
		if got := fmt.Sprint(workers["old"].asked); got != "[/health /health]" {
			t.Errorf("later %s", got)
		}
		if len(workers["wrong"].asked) > 0 {
			t.Errorf("of the wrong network it was asked %v", workers["wrong"].asked)
		}
		if s, err := w.Pool.Get(w.Ctx, devnet.Key(4)); err != nil || s.Queue != "" {
			t.Errorf("the sender is %+v, %v", s, err)
		}
		posted.Type = "NONE"
		want("of a type that is none", dispatcher.ErrNoSimulator.Error())
	})
}

// TestSimulateAhead: what is not posted is simulated as what is in flight of its queue leaves the accounts, by the
// worker that carries that; where that one has no time, by another as they are, and the answer says so.
func TestSimulateAhead(t *testing.T) {
	harness.Trains(t, 3, devnet.Config{FillRate: 1, SlotTime: time.Hour}, func(w *harness.World) {
		var asked []string // one at a time
		worker := func(n uint64) *devworker.Worker {
			_, worker := w.Worker(n, devworker.Options{ProveTime: 20 * time.Second, Simulate: func(c devworker.Call) string {
				asked = append(asked, fmt.Sprintf("%s by %d on %d", c.UID, n, c.Ahead))
				return ""
			}})
			return worker
		}
		carrier := worker(1)
		p := w.Start()
		uids := w.PostAll("q", 2)
		sent := func(t *tx.Transaction) bool { return t.Open() && t.Last().State != tx.Signed }
		w.AwaitTxn(uids[1], "out", time.Hour, sent)
		worker(2)
		simulate := func(queue string) int {
			x := &tx.Transaction{UID: "x", Queue: queue, Type: "MINT", Data: json.RawMessage(`{}`)}
			got, _, err := p.Simulate(w.Ctx, x)
			w.OK(err)
			return got.Ahead
		}
		ahead := []int{simulate("q"), simulate("other")}
		carrier.Fail(devworker.Fault{On: devworker.Simulate, UID: "x", Kind: devworker.Busy})
		ahead = append(ahead, simulate("q"))
		if got := fmt.Sprint(ahead, asked); got != "[2 0 0] [x by 1 on 2 x by 2 on 0 x by 2 on 0]" {
			t.Errorf("simulated: %s", got)
		}
	})
}
