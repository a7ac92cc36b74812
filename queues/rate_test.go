package queues_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
)

func TestRate(t *testing.T) {
	t.Parallel()
	// So slow that no test can be slow enough.
	slow := queues.Rate{PerSecond: 0.001, Burst: 3}
	backends(t, map[string]func(*fixture){
		"Names": func(f *fixture) {
			spend := queues.NewSpender(f.store, slow)
			for _, name := range []string{"", "a", "a:b"} {
				for i := range 5 {
					wait, err := spend.Spend(f.ctx, name)
					f.ok(err)
					if (wait == 0) != (i < 3) || wait < 0 || wait > 1000*time.Second {
						f.Errorf("request %d of %q waits %s", i, name, wait)
					}
				}
			}
		},
		"Charge": func(f *fixture) {
			spend := queues.NewSpender(f.store, slow)
			f.ok(spend.Charge(f.ctx, "a", 100))
			if wait, err := spend.Spend(f.ctx, "a"); err != nil || wait < 97_000*time.Second || wait > 98_000*time.Second {
				f.Errorf("after a hundred it waits %s, %v", wait, err)
			}
		},
		// Several processes share what there is, however many ask at a time.
		"Together": func(f *fixture) {
			rate := queues.Rate{PerSecond: 0.001, Burst: 100}
			processes := []*queues.Spender{queues.NewSpender(f.store, rate),
				queues.NewSpender(f.open(queues.Options{Namespace: f.store.Namespace, Retention: time.Hour}), rate)}
			var through atomic.Int32
			var all sync.WaitGroup
			for i := range 400 {
				all.Go(func() {
					wait, err := processes[i%2].Spend(f.ctx, fmt.Sprint(i/2%2))
					if err != nil {
						f.Error(err)
					}
					if wait == 0 {
						through.Add(1)
					}
				})
			}
			all.Wait()
			equal(f.T, "let through", int(through.Load()), 200)
		},
	})
}

// What waits as long as it is told comes through, at the pace and no faster.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		spend := queues.NewSpender(f.store, queues.Rate{PerSecond: 4, Burst: 2})
		start, through := time.Now(), 0
		for time.Since(start) < 10*time.Second {
			wait, err := spend.Spend(f.ctx, "a")
			f.ok(err)
			if wait == 0 {
				through++
			}
			<-time.After(max(wait, time.Millisecond)) // so that it ends whatever is answered
		}
		if through < 41 || through > 42 {
			t.Errorf("%d came through in ten seconds", through)
		}
		<-time.After(time.Hour)
		if left := f.client.Exists(f.ctx, f.key("rate:a")).Val(); left != 0 {
			t.Error("a name that does nothing is kept")
		}
		equal(t, "at once", atOnce(f, spend, 5), 2)
	})
}

// TestSlowPace: what was let through is known until the next may come, to the millisecond.
func TestSlowPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		rate := queues.Rate{PerSecond: 0.1, Burst: 1}
		equal(t, "at once", atOnce(f, queues.NewSpender(f.store, rate), 3), 1)
		<-time.After(10*time.Second - 2*time.Millisecond)
		equal(t, "a moment before", atOnce(f, queues.NewSpender(f.store, rate), 3), 0)
		<-time.After(3 * time.Millisecond)
		equal(t, "in time", atOnce(f, queues.NewSpender(f.store, rate), 3), 1)
	})
}

// A name that makes many requests asks Redis for the fewer of them, gets most of
// that it may have, and never more, from several processes together.
func TestRateInAdvance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds, perSecond, burst = 20, 1000, 500
		f := newFixture(t, redistest.Mini(t).Client, "seq")
		var processes []*queues.Store
		var through atomic.Int32
		var all sync.WaitGroup
		start := time.Now()
		for range 3 {
			store := f.open(queues.Options{Namespace: f.store.Namespace, Retention: time.Hour})
			processes = append(processes, store)
			spend := queues.NewSpender(store, queues.Rate{PerSecond: perSecond, Burst: burst})
			for range 2 {
				all.Go(func() {
					for time.Since(start) < seconds*time.Second {
						wait, err := spend.Spend(f.ctx, "a")
						if err != nil {
							f.Error(err)
						}
						if wait == 0 {
							through.Add(1)
							wait = time.Millisecond
						}
						<-time.After(wait)
					}
				})
			}
		}
		all.Wait()
		if n := int(through.Load()); n > burst+seconds*perSecond || n < seconds*perSecond*9/10 {
			t.Errorf("%d came through", n)
		}
		calls := int64(0)
		for _, store := range processes {
			calls += store.Calls()
		}
		t.Logf("%d came through by %d calls", through.Load(), calls)
		if most := int64(through.Load()) / 3; calls > most {
			t.Errorf("%d calls of Redis, more than %d", calls, most)
		}
	})
}

// atOnce is how many of n requests come through at once.
func atOnce(f *fixture, spend *queues.Spender, n int) (through int) {
	for range n {
		wait, err := spend.Spend(f.ctx, "a")
		f.ok(err)
		if wait == 0 {
			through++
		}
	}
	return through
}
