package queues_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// TestReadLog: the log is read with what its events are about, whether or not
// that is still there.
func TestReadLog(t *testing.T) {
	t.Parallel()
	onBackends(t, map[string]func(*fixture){
		"empty": func(f *fixture) {
			p, err := f.store.ReadLog(f.ctx, 0, 10)
			f.ok(err)
			if p.Epoch == "" || p.First != 1 || p.Last != 0 || p.Newest.Number != 0 || len(p.Entries) != 0 {
				f.Errorf("an empty log: %+v", p)
			}
			if again, err := f.store.ReadLog(f.ctx, 7, 10); err != nil || again.Epoch != p.Epoch {
				f.Errorf("once more: %+v, %v", again, err)
			}
		},
		"dash": func(f *fixture) {
			f.register("B62a")
			f.post("-", "-", "u")
			f.bound("- B62a")
			f.ok(f.store.Pause(f.ctx, "-", "why"))
			p, err := f.store.ReadLog(f.ctx, 0, 10)
			f.ok(err)
			var got []string
			for _, e := range p.Entries {
				got = append(got, string(e.Kind)+" "+e.ID+" "+e.Queue+" "+string(e.To))
			}
			want := []string{"s B62a  ", "t - - waiting", "t u - waiting", "t - - dispatching", "q -  "}
			if diff := cmp.Diff(want, got); diff != "" {
				f.Error(diff)
			}
		},
		"parts": func(f *fixture) {
			f.register("B62a")
			f.post("q", "t", "u")
			f.ok(f.store.Pause(f.ctx, "q", "why"))
			all, err := f.store.ReadLog(f.ctx, 0, 10)
			f.ok(err)
			want := []string{"s B62a  ", "t t " + vote + " q", "t u " + vote + " q", "q q  "}
			var got []string
			for i, e := range all.Entries {
				got = append(got, string(e.Kind)+" "+e.ID+" "+e.Type+" "+e.Queue)
				if e.Number != int64(i+1) {
					f.Errorf("event %d has number %d", i+1, e.Number)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				f.Error(diff)
			}
			events, err := f.store.Events(f.ctx, 0, 10)
			f.ok(err)
			for after := range int64(6) {
				p, err := f.store.ReadLog(f.ctx, after, 2)
				f.ok(err)
				if p.First != 1 || p.Last != 4 || p.Newest != events[3] {
					f.Errorf("behind %d: %+v", after, p)
				}
				var before queues.Event
				if after >= 1 && after <= 4 {
					before = events[after-1]
				}
				rest := all.Entries[min(after, 4):]
				if p.Before != before || !slices.Equal(p.Entries, rest[:min(2, len(rest))]) {
					f.Errorf("behind %d: %+v", after, p)
				}
			}
			if p, err := f.store.ReadLog(f.ctx, 2, 0); err != nil || len(p.Entries) != 0 || p.Before != events[1] {
				f.Errorf("nothing asked for: %+v, %v", p, err)
			}
		},
		"removed": func(f *fixture) {
			f.post("q", "u")
			f.to("u", tx.PhaseFailed, person)
			f.ok(f.store.Remove(f.ctx, "u"))
			f.ok(f.client.XTrimMinID(f.ctx, f.key("events"), "0-2").Err())
			p, err := f.store.ReadLog(f.ctx, 0, 10)
			f.ok(err)
			if p.First != 2 || p.Last != 3 || len(p.Entries) != 2 || p.Entries[1].Code != "REMOVED" {
				f.Fatalf("%+v", p)
			}
			for _, e := range p.Entries {
				if e.Type != vote || e.Queue != "q" {
					f.Errorf("%+v", e)
				}
			}
			f.ok(f.client.Del(f.ctx, f.key("gone:u")).Err())
			if p, err = f.store.ReadLog(f.ctx, 2, 10); err != nil || p.Entries[0].Type != "" || p.Entries[0].Queue != "" {
				f.Errorf("when its key is forgotten: %+v, %v", p, err)
			}
		},
	}, false) // one of them trims the log
}

// TestEventsKeep: whatever came in while nobody looked, a few ticks later the log holds
// nothing that is too old but its last event.
func TestEventsKeep(t *testing.T) {
	t.Parallel()
	onBackends(t, map[string]func(*fixture){"old": func(f *fixture) {
		const events = 25_000
		_, err := f.client.Pipelined(f.ctx, func(p redis.Pipeliner) error {
			for i := range events {
				p.XAdd(f.ctx, &redis.XAddArgs{Stream: f.key("events"), ID: fmt.Sprint("0-", i+1),
					Values: []any{"e", "1000 s S S - - - RESTED"}})
			}
			return nil
		})
		f.ok(err)
		log := func() queues.LogPart {
			p, err := f.store.ReadLog(f.ctx, 0, 1)
			f.ok(err)
			return p
		}
		for range 2 {
			if next := f.tick().Next; next != 0 {
				f.Errorf("the next tick is in %v, and %d events are too old", next, log().Last-log().First)
			}
		}
		f.tick()
		if p := log(); p.First != events || p.Last != events {
			f.Errorf("events %d to %d are kept", p.First, p.Last)
		}
		if next := f.tick().Next; next == 0 { // the last one stays
			f.Error("the next tick is at once, and nothing is to be dropped")
		}
		if p := log(); p.First != events || p.Last != events {
			f.Errorf("events %d to %d are kept", p.First, p.Last)
		}
		f.ok(f.client.ZAdd(f.ctx, f.key("hooks"), z(events+1, "last"), z(events-1, "first")).Err())
		f.post("p", "c", "d")
		f.tick()
		if p := log(); p.First != events || p.Last != events+2 {
			f.Errorf("events %d to %d are kept, and an endpoint has come to %d", p.First, p.Last, events-1)
		}
		f.ok(f.client.Del(f.ctx, f.key("hooks")).Err())
		f.to("c", tx.PhaseFailed, person)
		<-time.After(2 * time.Millisecond)
		f.tick()
		if p := log(); p.First != events+1 || p.Last != events+3 {
			f.Errorf("events %d to %d are kept, and nobody waits for them", p.First, p.Last)
		}
		f.store = f.open(queues.Options{Namespace: f.store.Namespace, EventsKeep: time.Hour})
		f.post("q", "a", "b")
		f.tick()
		if p := log(); p.First != events+1 || p.Last != events+5 {
			f.Errorf("events %d to %d are kept, two are new", p.First, p.Last)
		}
	}}, false) // the log does not begin with what it holds
}

// TestAwaitEvent: it returns with the next event, or with its patience.
func TestAwaitEvent(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){
		"one": func(f *fixture) {
			got := make(chan error, 1)
			go func() { got <- f.store.AwaitEvent(f.ctx, 0, time.Hour) }()
			f.post("q", "u")
			f.ok(<-got)
			f.ok(f.store.AwaitEvent(f.ctx, 0, time.Hour)) // it is there
		},
		"none": func(f *fixture) {
			f.post("q", "u")
			f.ok(f.store.AwaitEvent(f.ctx, 1, time.Millisecond))
			f.ok(f.store.AwaitEvent(f.ctx, 1, 0))
		},
	})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){"flow": testFlow, "oldest": testOldest})
}

func testFlow(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c")
	f.bound("a S")
	f.to("a", tx.PhaseFailing)
	f.to("a", tx.PhaseDelayed)
	f.to("a", tx.PhaseDispatching)
	f.to("a", tx.PhaseDone)
	f.to("b", tx.PhaseFailed, person)
	f.to("b", tx.PhaseWaiting, person)
	f.ok(f.store.Pause(f.ctx, "q", "x"))
	flow, err := f.store.Flow(f.ctx, time.Minute)
	f.ok(err)
	if last := f.dump().events; flow.Last != int64(last[len(last)-1].Number) {
		f.Errorf("the newest event is %d", flow.Last)
	}
	flow.Last = 0
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
	f.to("b", tx.PhaseFailed, person)
	see("behind a cancelled one", map[string]string{"p": "c", "q": "d"})
	f.to("a", tx.PhaseWaiting)
	see("come back", map[string]string{"p": "a", "q": "d"})
	f.to("d", tx.PhaseFailed, person)
	see("none", map[string]string{"p": "a"})
}

// TestActorOfOne: of changes that share a run of the script only that of a person names it.
func TestActorOfOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Mini(t).Client, "seq")
	f.post("q", "a", "b", "c")
	end := func(uid, by string) func() {
		before, err := f.store.Get(f.ctx, uid)
		f.ok(err)
		after := *before
		after.Phase = tx.PhaseFailed
		return func() {
			_, err := f.store.Advance(f.ctx, &queues.Change{
				Before: before, After: &after, By: by, Now: time.Now(),
				Aside: lifecycle.Aside{Person: true, Code: "CANCELLED"}, Moves: lifecycle.Moves{Remove: -1},
			})
			if err != nil {
				f.Error(err)
			}
		}
	}
	f.store.Together(end("a", "one"), end("b", ""), end("c", "two"))
	p, err := f.store.ReadLog(f.ctx, 3, 10)
	f.ok(err)
	got := map[string]string{}
	for _, e := range p.Entries {
		got[e.ID] = e.Actor
	}
	if diff := cmp.Diff(map[string]string{"a": "one", "b": "", "c": "two"}, got); diff != "" {
		t.Error(diff)
	}
}
