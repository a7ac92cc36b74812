package sequencer_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// A page takes lines of a log.
type page struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.Write(b)
}

func (p *page) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.lines.String(), what)
}

// TestRaces: two queues whose commands in flight require what the other changes are noticed, and told of in the
// log, the events and explain, once; all others are not. Nothing is kept from being sent.
func TestRaces(t *testing.T) {
	t.Parallel()
	shared := func(string) string { return devworker.ZkApp("shared") }
	for name, c := range map[string]struct {
		on      func(queue string) string
		free    bool // they require nothing
		senders uint64
		slow    time.Duration // the proofs of the second sender
		want    int
	}{
		"on one zkApp":                {on: shared, senders: 2, want: 1},
		"on one, proved as one lands": {on: shared, senders: 2, slow: 9 * time.Minute, want: 1},
		"on one, one after the other": {on: shared, senders: 1},
		"on one, and require nothing": {on: shared, free: true, senders: 2},
		"each on its own":             {on: devworker.ZkApp, senders: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				log := new(page)
				w.Logger = slog.New(slog.NewTextHandler(log, nil))
				for n := range c.senders {
					o := devworker.Options{State: w.State, ZkApp: c.on, ProveTime: 20 * time.Second}
					if n == 1 {
						o.ProveTime = max(c.slow, o.ProveTime)
					}
					if c.free {
						o.State = nil
					}
					w.Worker(n+1, o)
				}
				p := w.Start()
				w.Post("q1", "a")
				w.Post("q2", "b")
				signed := func(t *tx.Transaction) bool { return len(t.Attempts) > 0 && t.Attempts[0].Weight > 0 }
				a, b := w.AwaitTxn("a", "signed", time.Hour, signed), w.AwaitTxn("b", "signed", time.Hour, signed)
				synctest.Wait()
				touched := []tx.Account{{Key: c.on("q1"), Token: tx.MinaToken}}
				if got := a.Attempts[0].Touched; !slices.Equal(got, touched) {
					t.Errorf("it touches %v, want %v", got, touched)
				}
				races := p.Races()
				if len(races) != c.want || log.count("two queues race") != c.want {
					t.Fatalf("%+v, and the log tells of %d", races, log.count("two queues race"))
				}
				events, err := w.Store.Events(w.Ctx, 0, 1000)
				w.OK(err)
				var told []string
				for _, e := range events {
					if e.Code == "RACES" {
						told = append(told, string(e.Kind)+" "+e.ID)
					}
				}
				if len(told) != 2*c.want {
					t.Errorf("events: %q", told)
				}
				for _, limited := range []bool{false, true} {
					for _, x := range []*tx.Transaction{a, b} {
						e, err := p.Explain(w.Ctx, x.UID, limited)
						w.OK(err)
						with := map[string]string{"q1": "q2", "q2": "q1"}[x.Queue]
						if limited {
							with = "another one"
						}
						want := c.want > 0 && w.Get(x.UID).Phase != tx.PhaseDone // which has won
						if strings.Contains(e.Summary, "Its queue has raced with "+with+" since ") != want {
							t.Errorf("%s explained: %q", x.UID, e.Summary)
						}
					}
				}
				if c.want > 0 && (races[0].Queues != [2]string{"q1", "q2"} || races[0].What != "state 0" ||
					races[0].Account.Key != c.on("") || !slices.Equal(told, []string{"q q1", "q q2"})) {
					t.Errorf("%+v, events %q", races[0], told)
				}
				w.Await("a", tx.Done, 10*time.Hour)
				w.Await("b", tx.Done, 10*time.Hour)
			})
		})
	}
}
