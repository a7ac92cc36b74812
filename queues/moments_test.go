package queues_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// TestMoments: what is to be at a time is so from that millisecond on, and not before.
func TestMoments(t *testing.T) {
	t.Parallel()
	t.Run("miniredis", testMoments) // whose clock is the test's
}

func testMoments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// what is to happen an hour from now, and whether it has
		prepare func(*fixture)
		is      func(*fixture) bool
	}{
		"NotBefore": {
			func(f *fixture) {
				item := vote1("a", "q", `{}`)
				item.NotBefore = time.Now().Add(hour)
				f.ok(f.store.Enqueue(f.ctx, item).Err)
			},
			func(f *fixture) bool { f.tick(); return len(f.bind(1)) == 1 },
		},
		"NotBeforeBehindOthers": {
			func(f *fixture) {
				f.post("q", "first")
				f.bound("first S")
				item := vote1("a", "q", `{}`)
				item.NotBefore = time.Now().Add(hour)
				f.ok(f.store.Enqueue(f.ctx, item).Err)
				f.to("first", tx.PhaseDone)
			},
			func(f *fixture) bool { f.tick(); return len(f.bind(1)) == 1 },
		},
		"Expires": {
			func(f *fixture) {
				item := vote1("a", "q", `{}`)
				item.ExpiresAt = time.Now().Add(hour)
				f.ok(f.store.Enqueue(f.ctx, item).Err)
			},
			func(f *fixture) bool { return len(f.tick().Expired) == 1 },
		},
		"Hold": {
			func(f *fixture) {
				f.post("q", "first", "a")
				f.bound("first S")
				f.to("first", tx.PhaseDone, tell(tx.OnSuccess, hour, 9*hour))
			},
			func(f *fixture) bool { f.tick(); return len(f.bind(1)) == 1 },
		},
		"LeftAlone": {
			func(f *fixture) {
				f.post("q", "a")
				f.bound("a S")
				f.to("a", tx.PhaseWaiting, func(c *queues.Change) { c.Hold = hour })
			},
			func(f *fixture) bool { f.tick(); return len(f.bind(1)) == 1 },
		},
		"Pause": {
			func(f *fixture) {
				f.post("q", "a")
				f.ok(f.store.PauseUntil(f.ctx, "q", "for an hour", time.Now().Add(hour)))
			},
			func(f *fixture) bool { f.tick(); return len(f.bind(1)) == 1 },
		},
		"Rest": {
			func(f *fixture) { f.ok(f.pool.Rest(f.ctx, "S", hour, tx.Rested, "")) },
			func(f *fixture) bool { f.tick(); return f.sender("S").Available() },
		},
		"Callback": {
			func(f *fixture) {
				f.post("q", "a")
				f.bound("a S")
				f.to("a", tx.PhaseDone, tell(tx.OnSuccess, 0, hour))
			},
			func(f *fixture) bool { return len(f.tick().Callbacks) == 1 },
		},
		"Due": {
			func(f *fixture) {
				f.post("q", "a")
				f.bound("a S")
				f.to("a", tx.PhaseDelayed, due(hour))
			},
			func(f *fixture) bool { return len(f.tick().Due) == 1 },
		},
		"Removal": {
			func(f *fixture) {
				f.post("q", "a")
				f.to("a", tx.PhaseFailed, person, removed(hour))
			},
			func(f *fixture) bool { f.tick(); return len(f.list(queues.Filter{}, 9)) == 0 },
		},
		"Dead": {
			func(f *fixture) { f.heartbeat(other, hour) },
			func(f *fixture) bool { return len(f.heartbeat(me, 9*hour)) == 1 },
		},
		"DeadInRecovery": {
			func(f *fixture) { f.heartbeat(other, hour/2); f.forgets(); f.writtenBack() },
			func(f *fixture) bool { return len(f.writtenBack().Dead) == 1 },
		},
		"TurnInRecovery": {
			func(f *fixture) { f.forgets(); f.writtenBack() },
			func(f *fixture) bool { return f.writtenBack().Turn },
		},
		"DeadBindsNothing": {
			func(f *fixture) { f.post("q", "a"); f.heartbeat(other, hour) },
			func(f *fixture) bool {
				bound := f.bindAs(other, 1)
				if len(bound) == 1 {
					f.to("a", tx.PhaseWaiting)
				}
				return len(bound) == 0
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, redistest.Mini(t).Client, "seq")
				f.heartbeat(me, 9*hour)
				f.register("S")
				begun := time.Now().Truncate(time.Millisecond)
				c.prepare(f)
				if time.Since(begun) >= time.Millisecond {
					t.Fatal("it takes a while")
				}
				<-time.After(time.Until(begun.Add(hour - time.Millisecond)))
				equal(t, "a millisecond before", c.is(f), false)
				<-time.After(time.Until(begun.Add(hour)))
				equal(t, "in time", c.is(f), true)
			})
		})
	}
}

// forgets has the namespace be another Redis's, as after a failover.
func (f *fixture) forgets() {
	f.Helper()
	f.ok(f.client.Set(f.ctx, f.key("is:server"), "another", 0).Err())
}

// writtenBack is the heartbeat of a process that knows nothing that Redis has forgotten.
func (f *fixture) writtenBack() queues.Pulse {
	f.Helper()
	p, err := f.store.Heartbeat(f.ctx, me, hour, "")
	f.ok(err)
	p, err = f.store.Heartbeat(f.ctx, me, hour, p.Server)
	f.ok(err)
	return p
}
