package provers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/tx"
)

// world is a pool whose provers say what it is told that they say.
type world struct {
	testing.TB
	*provers.Pool
	store *queues.Store
	ctx   context.Context

	mu    sync.Mutex
	words map[string]provers.Word // by URL
	down  map[string]bool
	dumb  map[string]bool
	asked map[string]int
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	store, err := queues.Open(redistest.Mini(tb).Client, queues.Options{Namespace: "seq"})
	w := &world{TB: tb, store: store, words: map[string]provers.Word{}, down: map[string]bool{}, dumb: map[string]bool{}, asked: map[string]int{}}
	w.ok(err)
	w.Pool = w.another()
	return w
}

// another is the pool of another process.
func (w *world) another() *provers.Pool {
	ctx, stop := context.WithCancel(context.Background())
	w.ctx = ctx
	p := provers.New(provers.Options{Store: w.store, Pause: func(n int) time.Duration { return time.Second << n }})
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx, provers.Hooks{Ask: w.ask}) }()
	w.Cleanup(func() { stop(); <-ended })
	return p
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) ask(_ context.Context, url string) (provers.Word, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[url]++
	if w.down[url] {
		return provers.Word{}, errors.New("connection refused")
	}
	if w.dumb[url] {
		return provers.Word{}, fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	}
	return w.words[url], nil
}

// add registers a prover of some types.
func (w *world) add(id string, types ...string) {
	w.Helper()
	w.mu.Lock()
	w.words["http://"+id] = provers.Word{Types: types, AtOnce: 1, Hour: -1}
	w.mu.Unlock()
	w.ok(w.Register(context.Background(), id, "http://"+id))
}

func (w *world) take(typ, uid string, but ...string) *provers.Lease {
	w.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	l, err := w.Take(ctx, typ, uid, but...)
	w.ok(err)
	return l
}

func (w *world) reason(id string) tx.SenderReason {
	w.Helper()
	p, err := w.Get(id)
	w.ok(err)
	return p.Reason
}

func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t)) })
}

// TestTurns: what comes free goes round the types that wait for it, and within a type in the order in
// which they came.
func TestTurns(t *testing.T) {
	bubble(t, func(w *world) {
		w.add("p", "A", "B")
		synctest.Wait()
		first := w.take("A", "first")
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for i := range 6 {
			typ, uid := "A", fmt.Sprint("a", i)
			if i > 3 {
				typ, uid = "B", fmt.Sprint("b", i)
			}
			all.Go(func() {
				l := w.take(typ, uid)
				mu.Lock()
				got = append(got, uid)
				mu.Unlock()
				l.Made()
			})
			synctest.Wait()
		}
		if n := w.Waiting(); n["A"] != 4 || n["B"] != 2 {
			t.Errorf("waiting: %v", n)
		}
		first.Made()
		all.Wait()
		if want := []string{"a0", "b4", "a1", "b5", "a2", "a3"}; !slices.Equal(got, want) {
			t.Errorf("in turn %v, want %v", got, want)
		}
		if p, err := w.Get("p"); err != nil || p.Load != 0 || p.Hour != 7 || p.State() != "FREE" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// TestRests: one that is not there rests, longer each time, and is asked for its health before it gets
// anything again; what waits for nobody who could is told so.
func TestRests(t *testing.T) {
	bubble(t, func(w *world) {
		w.add("p", "A")
		synctest.Wait()
		l := w.take("A", "t")
		waits := make(chan error)
		go func() {
			_, err := w.Take(context.Background(), "A", "u")
			waits <- err
		}()
		synctest.Wait()
		w.mu.Lock()
		w.down["http://p"] = true
		w.mu.Unlock()
		l.Rest("connection refused")
		if err := <-waits; !errors.Is(err, provers.ErrNone) || !strings.Contains(err.Error(), "p since") {
			t.Errorf("what waited was told %v", err)
		}
		for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			want := time.Duration(seconds) * time.Second
			p, err := w.Get("p")
			w.ok(err)
			time.Sleep(time.Until(p.Until) + time.Millisecond)
			synctest.Wait()
			p, err = w.Get("p")
			w.ok(err)
			if left := time.Until(p.Until).Round(time.Second); left != want || p.Reason != tx.Rested {
				t.Errorf("it rests %v more (%s), want %v", left, p.Reason, want)
			}
		}
		w.mu.Lock()
		w.down["http://p"] = false
		w.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.take("A", "t").Made()
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			w.take("A", "t").Rest("another command") // though its health is well
			p, err := w.Get("p")
			w.ok(err)
			if left := time.Until(p.Until).Round(time.Second); left != want {
				t.Errorf("it rests %v, want %v", left, want)
			}
			time.Sleep(want + time.Millisecond)
			synctest.Wait()
		}
	})
}

// TestDumb: one that says nothing while it proves, for this process or for another one, stays in use.
func TestDumb(t *testing.T) {
	bubble(t, func(w *world) {
		w.add("p", "A")
		synctest.Wait()
		l := w.take("A", "t")
		w.mu.Lock()
		w.down["http://p"] = true
		before := w.asked["http://p"]
		w.mu.Unlock()
		time.Sleep(10 * time.Minute)
		w.mu.Lock()
		w.down["http://p"], w.dumb["http://p"] = false, true
		if n := w.asked["http://p"] - before; n != 0 {
			t.Errorf("at work, it was asked for its health %d times", n)
		}
		w.mu.Unlock()
		l.Made()
		time.Sleep(10 * time.Minute)
		if why := w.reason("p"); why != "" {
			t.Errorf("it is out of use: %s", why)
		}
	})
}

// TestWrong: one that has a key, names no types, or is for another network gets nothing.
func TestWrong(t *testing.T) {
	bubble(t, func(w *world) {
		w.add("p")
		w.add("q", "A")
		w.mu.Lock()
		w.words["http://q"] = provers.Word{Types: []string{"A"}, AccountID: "B62q"}
		w.mu.Unlock()
		synctest.Wait()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if a, b := w.reason("p"), w.reason("q"); a != tx.Rested || b != tx.WrongAccount {
			t.Errorf("out of use: %q, %q", a, b)
		}
	})
}

// TestDrained: a person's word holds for all processes, and outlives them.
func TestDrained(t *testing.T) {
	bubble(t, func(w *world) {
		ctx := context.Background()
		w.ok(w.Configure(ctx, map[string]string{"c": "http://c", "d": "http://d"}))
		for _, id := range []string{"c", "d"} {
			w.mu.Lock()
			w.words["http://"+id] = provers.Word{Types: []string{"A"}}
			w.mu.Unlock()
		}
		w.add("p", "A")
		if err := w.Register(ctx, "p", "http://other"); !errors.Is(err, provers.ErrExists) {
			t.Errorf("the id of another: %v", err)
		}
		w.ok(w.Drain(ctx, "p"))
		w.ok(w.Configure(ctx, map[string]string{"c": "http://c"}))
		other := w.another()
		synctest.Wait()
		seen := map[string]tx.SenderReason{}
		for _, p := range other.Shown() {
			seen[p.ID] = p.Reason
		}
		if seen["p"] != tx.Draining || seen["d"] != tx.Draining || seen["c"] != "" || len(seen) != 3 {
			t.Errorf("another process sees %v", seen)
		}
		w.ok(w.Configure(ctx, map[string]string{"c": "http://c", "d": "http://d", "p": "http://p"}))
		w.ok(w.Resume(ctx, "p"))
		synctest.Wait()
		if w.reason("d") != "" || w.reason("p") != "" {
			t.Errorf("back in use: d %q, p %q", w.reason("d"), w.reason("p"))
		}
		w.ok(w.Remove(ctx, "p"))
		if err := w.Remove(ctx, "p"); !errors.Is(err, provers.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

// TestFoundAgain: another process comes to the prover that a transaction has, as long as those before it
// are not free, or to the one that it was with last; where it cannot learn that, to none. And one that
// is at work stays with what it is at work on.
func TestFoundAgain(t *testing.T) {
	bubble(t, func(w *world) {
		for i := range 20 {
			w.add(fmt.Sprint("p", i), "A")
		}
		other := w.another()
		synctest.Wait()
		for i := range 50 {
			uid := fmt.Sprint("t", i)
			l := w.take("A", uid)
			m, err := other.Take(context.Background(), "A", uid)
			w.ok(err)
			if l.ID != m.ID {
				t.Fatalf("%s: %s here, %s there", uid, l.ID, m.ID)
			}
			l.Made()
			m.Made()
		}
		l := w.take("A", "noted")
		gone, hangUp := context.WithCancel(context.Background())
		hangUp()
		if again, err := other.Again(gone, "A", "noted"); err == nil {
			t.Errorf("nobody could ask who has it, and %+v is said to", again)
		}
		if one, err := other.Take(gone, "A", "noted"); !errors.Is(err, context.Canceled) {
			t.Errorf("who has hung up takes %+v, %v", one, err)
		}
		again, err := other.Again(context.Background(), "A", "noted")
		w.ok(err)
		if again.ID != l.ID {
			t.Errorf("with %s here, %s there", l.ID, again.ID)
		}
		again.Made()
		l.Made()
		l = w.take("A", "long")
		l.Keep("")
		if again := w.take("A", "long"); again.ID != l.ID {
			t.Errorf("kept %s, taken %s", l.ID, again.ID)
		} else {
			again.Keep("")
		}
		time.Sleep(31 * time.Second)
		if p, err := w.Get(l.ID); err != nil || p.Load != 0 {
			t.Errorf("nobody asked again, and it has %d, %v", p.Load, err)
		}
	})
}

// TestBusy: one that is busy with another process's is left alone for a while.
func TestBusy(t *testing.T) {
	bubble(t, func(w *world) {
		w.add("p", "A")
		synctest.Wait()
		began := time.Now()
		w.take("A", "t").Busy(time.Minute)
		w.take("A", "t").Made()
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("it was asked again after %v", d)
		}
	})
}

// BenchmarkTake: a proof costs the same with a thousand provers as with ten, whether some are free or
// all but one are at work.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			for i := range n {
				w.add(fmt.Sprint("p", i), "A", "B")
			}
			for at := 0; at < n; at = w.Together().AtOnce {
				time.Sleep(time.Millisecond)
			}
			uids := make([]string, 64)
			for i := range uids {
				uids[i] = fmt.Sprint("t", i)
			}
			ctx := context.Background()
			b.ResetTimer()
			for i := range b.N {
				l, err := w.Take(ctx, "A", uids[i%len(uids)])
				if err != nil {
					b.Fatal(err)
				}
				l.Made()
			}
		})
	}
}

// TestOnRedis: what is stored is stored on a real server, too.
func TestOnRedis(t *testing.T) {
	t.Parallel()
	store, err := queues.Open(redistest.Start(t).Client, queues.Options{Namespace: "seq"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, p := t.Context(), provers.New(provers.Options{Store: store})
	many := map[string]string{}
	for i := range 450 {
		many[fmt.Sprint("p", i)] = fmt.Sprint("http://p", i)
	}
	for _, err := range []error{
		p.Configure(ctx, many), p.Register(ctx, "q", "http://q"), p.Drain(ctx, "p7"), p.Remove(ctx, "p8"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	other := provers.New(provers.Options{Store: store})
	if err := other.Register(ctx, "q", "http://q"); err != nil {
		t.Fatal(err)
	}
	one, err := other.Get("p7")
	if n := len(other.Shown()); n != 450 || err != nil || one.Reason != tx.Draining || one.Source != provers.ByConfiguration {
		t.Errorf("%d are stored; p7 is %+v, %v", n, one, err)
	}
}
