package queues_test

import (
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

func TestFlow(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){"flow": testFlow, "oldest": testOldest})
}

func testFlow(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", lifecycle.PhaseFailing)
	f.to("a", lifecycle.PhaseDelayed)
	f.to("a", lifecycle.PhaseDispatching)
	f.to("a", lifecycle.PhaseDone)
	f.to("b", lifecycle.PhaseFailed, person)
	f.to("b", lifecycle.PhaseWaiting, person)
	f.ok(f.store.Pause(f.ctx, "q", "x"))
	flow, err := f.store.Flow(f.ctx, time.Minute)
	f.ok(err)
	equal(f.T, "a minute", flow, queues.Flow{Over: time.Minute, Accepted: 3, Done: 1, Retried: 1, Failed: 1})
	f.fill("many", numbered("m", 1, 2500))
	flow, err = f.store.Flow(f.ctx, time.Hour)
	f.ok(err)
	if flow.Accepted != 2000 || flow.Done != 0 || flow.Over > 5*time.Minute {
		f.Errorf("of more than it looks at: %+v", flow)
	}
}

// now is the time of the Redis.
func (f *fixture) now() time.Time {
	f.Helper()
	clock, err := f.client.Time(f.ctx).Result()
	f.ok(err)
	return clock
}

// testOldest finds what has waited longest in each queue, wherever it stands.
func testOldest(f *fixture) {
	see := func(what string, want map[string]string) {
		f.Helper()
		got := map[string]string{}
		page, _, err := f.store.Queues(f.ctx, 9, "")
		f.ok(err)
		for _, q := range page {
			for _, uid := range []string{"a", "b", "c", "d"} {
				if f.get(uid).ReceivedAt.Equal(q.OldestWaiting) {
					got[q.Name] = uid
				}
			}
			if !q.OldestWaiting.IsZero() && got[q.Name] == "" {
				got[q.Name] = q.OldestWaiting.String()
			}
		}
		equal(f.T, what, got, want)
	}
	f.register("S")
	for _, uid := range []string{"a", "b", "c", "d"} {
		queue := "p"
		if uid == "d" {
			queue = "q"
		}
		f.post(queue, uid)
		f.eventually("the clock moves on", func() bool { return f.now().Sub(f.get(uid).ReceivedAt) > 2*time.Millisecond })
	}
	see("ready", map[string]string{"p": "a", "q": "d"})
	f.bound("a S")
	see("behind a bound one", map[string]string{"p": "b", "q": "d"})
	f.ok(f.store.Pause(f.ctx, "q", "x"))
	f.to("b", lifecycle.PhaseFailed, person)
	see("behind a cancelled one", map[string]string{"p": "c", "q": "d"})
	f.to("a", lifecycle.PhaseWaiting)
	see("come back", map[string]string{"p": "a", "q": "d"})
	f.to("d", lifecycle.PhaseFailed, person)
	see("none", map[string]string{"p": "a"})
}
