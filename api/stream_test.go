package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
)

// posts accepts n transactions of a queue without HTTP.
func posts(t testing.TB, store *queues.Store, queue string, n int) {
	t.Helper()
	items := make([]queues.Item, n)
	for i := range items {
		items[i] = queues.Item{Queue: queue, Type: "ANY", Data: []byte("{}")}
	}
	for _, a := range store.EnqueueBatch(context.Background(), items) {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// A client hears something every 15 seconds: that all is well, where it stands
// if a filter lets nothing through, or that the store does not answer.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		web := overPipes(t, s)
		all, none := web.follow("", ""), web.follow("?uid=none", "")
		beat := func(f *follower) frame {
			t.Helper()
			start := time.Now()
			got, err := f.frame()
			if err != nil || got.Comment == "" || got.Event != "" || time.Since(start) > heartbeat+time.Second {
				t.Fatalf("after %s %+v, %v", time.Since(start), got, err)
			}
			return got
		}
		if got := beat(all); got.ID != "" || got.Comment != "heartbeat" {
			t.Errorf("a heartbeat is %+v", got)
		}
		posts(t, s.store, "q", 3)
		all.events(3)
		for range 2 {
			beat(none)
		}
		if number(none.last) != 3 {
			t.Errorf("who is sent nothing stands at %s", none.last)
		}

		s.redis.SetError("LOADING")
		for beat(all).Comment != "the store does not answer" {
		}
		s.ask("GET", "/events", "").wantProblem(503, "STORE_UNAVAILABLE")
		s.redis.SetError("")
		posts(t, s.store, "q", 2)
		for i, e := range all.events(2) {
			if number(e.ID) != 4+i {
				t.Errorf("after the outage %s", e.ID)
			}
		}
		if got := beat(all); got.Comment != "heartbeat" {
			t.Errorf("after the outage a heartbeat is %+v", got)
		}
		if n := strings.Count(s.log.String(), "events are not passed on"); n != 1 {
			t.Errorf("the outage is logged %d times", n)
		}
	})
}

// A client that follows a history which the store has lost is sent away, whether
// the store says so or only has other events at the same numbers.
func TestLostHistory(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*service){
		"another epoch": func(s *service) {
			if err := s.redis.Set("{t}:is:epoch", "7"); err != nil {
				s.Fatal(err)
			}
		},
		"other events": func(s *service) {
			s.redis.Del("{t}:events")
			posts(s, s.store, "z", 9)
		},
		"fewer events": func(s *service) {
			s.redis.Del("{t}:events")
			posts(s, s.store, "z", 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := setup(t)
				web := overPipes(t, s)
				f := web.follow("", "")
				posts(t, s.store, "q", 5)
				f.events(5)
				<-time.After(time.Second) // another time for other events
				lose(s)
				if last := f.end(); last.Event != "" || last.Comment != "the store has lost events" {
					t.Errorf("it ends with %+v", last)
				}
				if name != "other events" { // which is why the namespace is doubted until it is settled
					s.ask("GET", "/events", "", "Last-Event-ID", f.last).wantProblem(410, "EVENTS_GONE")
				}
				again := web.follow("", "")
				posts(t, s.store, "q", 1)
				again.events(1)
			})
		})
	}
}

// While Redis may have given the numbers of lost events to others, nobody goes on behind one.
func TestDoubtedHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		web := overPipes(t, s)
		posts(t, s.store, "q", 1199)
		begin := web.follow("", "").begin()
		behind := web.follow("", begin)
		behind.events(100)
		set := func(name, value string) string {
			old, err := s.redis.Get("{t}:is:" + name)
			if err == nil {
				err = s.redis.Set("{t}:is:"+name, value)
			}
			if err != nil {
				t.Fatal(err)
			}
			return old
		}
		here := set("server", "another")
		last := behind.end()
		if at := number(behind.last); at < 100 || at >= 1199 || !strings.Contains(last.Comment, "come again from here") {
			t.Errorf("at %d, who was behind ends with %+v", at, last)
		}
		for _, id := range []string{begin, behind.last, "7-1", strings.TrimSuffix(begin, "0") + "1200"} {
			if r := s.ask("GET", "/events", "", "Last-Event-ID", id); r.Header().Get("Retry-After") == "" {
				t.Errorf("behind %s, it is not said when to come again", id)
			} else {
				r.wantProblem(503, "STORE_UNAVAILABLE")
			}
		}
		fresh := web.follow("", "")
		posts(t, s.store, "z", 1)
		fresh.events(1)

		set("server", here) // nothing was lost after all
		web.follow("", behind.last).events(1200 - number(behind.last))
		set("epoch", "7")
		s.ask("GET", "/events", "", "Last-Event-ID", behind.last).wantProblem(410, "EVENTS_GONE")
	})
}

// What has left the log is never passed over in silence.
func TestLogTrimmed(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, client *redis.Client, serve listen) {
		s := setupOn(t, client, "t")
		web := serve(t, s)
		posts(t, s.store, "q", 1199)
		begin := web.follow("", "").begin()
		trim := func(first int) {
			if err := client.XTrimMinID(context.Background(), "{t}:events", fmt.Sprintf("0-%d", first)).Err(); err != nil {
				t.Fatal(err)
			}
		}
		at := func(n int) string { return strings.TrimSuffix(begin, "0") + fmt.Sprint(n) }
		behind := web.follow("", begin)
		behind.events(100)
		trim(1000)
		s.ask("GET", "/events", "", "Last-Event-ID", at(998)).wantProblem(410, "EVENTS_GONE")
		web.follow("", at(999)).events(200)
		// It is sent what was read before, without a gap, and then away or to the end.
		for next := 101; next <= 1199; next++ {
			e, err := behind.event()
			if errors.Is(err, io.EOF) {
				s.ask("GET", "/events", "", "Last-Event-ID", behind.last).wantProblem(410, "EVENTS_GONE")
				break
			}
			if err != nil || number(e.ID) != next {
				t.Fatalf("behind %d: %+v, %v", next-1, e, err)
			}
		}
	})
}

// A client that falls behind is told from where to come again; one that does not
// read at all is dropped. Nobody else notices.
func TestSlowFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(o *Options) { o.EventMemory, o.EventClients = 256<<10, 3 })
		web := overPipes(t, s)
		quick, slow, dead := web.follow("", ""), web.follow("", ""), web.follow("?queue=q", "")
		for i := range 15 {
			posts(t, s.store, "q", 100)
			for j, e := range quick.events(100) {
				if number(e.ID) != 100*i+j+1 {
					t.Fatalf("event %d is %s", 100*i+j+1, e.ID)
				}
			}
		}
		s.ask("GET", "/events", "").wantProblem(429, "RATE_LIMITED")
		last := slow.end()
		if last.Comment != "too slow: come again from here" || last.Retry == "" || last.ID != slow.last || number(last.ID) >= 1500 {
			t.Errorf("the slow one ends with %+v", last)
		}
		again := web.follow("", last.ID)
		for next := number(last.ID) + 1; next <= 1500; next++ {
			if e := again.events(1)[0]; number(e.ID) != next {
				t.Fatalf("it comes again from %s and gets %s", last.ID, e.ID)
			}
		}
		s.ask("GET", "/events", "").wantProblem(429, "RATE_LIMITED")
		<-time.After(eventsPatience + time.Second)
		web.follow("", "") // in the place of the dead one
		if _, err := io.ReadAll(dead.resp.Body); err == nil {
			t.Error("the dead one was not dropped")
		}
	})
}

// replicas are processes on one store; each may be replaced by another.
type replicas struct {
	tb     testing.TB
	client *redis.Client
	serve  listen
	sites  []atomic.Pointer[site]
}

func newReplicas(tb testing.TB, client *redis.Client, serve listen, n int) *replicas {
	r := &replicas{tb: tb, client: client, serve: serve, sites: make([]atomic.Pointer[site], n)}
	for i := range n {
		r.restart(i)
	}
	return r
}

// restart kills a replica; another one is there in its place before.
func (r *replicas) restart(i int) {
	s := setupOn(r.tb, r.client, "t", func(o *Options) { o.EventMemory = 48 << 10 })
	if old := r.sites[i].Swap(r.serve(r.tb, s)); old != nil {
		_ = old.server.Close()
	}
}

// read follows at replica i, from last on, until there are most events or the
// connection breaks, and appends their ids.
func (r *replicas) read(i int, query, last string, most int, ids []string) (string, []string, error) {
	resp, err := r.sites[i].Load().open(query, last)
	if err != nil {
		return last, ids, nil // it was killed just now
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return last, ids, fmt.Errorf("%s: %s", resp.Status, body)
	}
	f := newFollower(r.tb, resp, last)
	for range most {
		e, err := f.event()
		if err != nil {
			break
		}
		ids = append(ids, e.ID)
	}
	return f.last, ids, nil
}

// 1,000 clients of two replicas, half of which never read. Not one event is
// missing or doubled at the others, although a replica is killed.
func TestManyFollowers(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, client *redis.Client, serve listen) {
		const events = 600
		clients := 1000
		if strings.HasSuffix(t.Name(), "miniredis") {
			clients = 40 // unbuffered connections are slow
		}
		r := newReplicas(t, client, serve, 2)
		web := r.sites[0].Load()
		begin := web.follow("", "").begin()
		var readers sync.WaitGroup
		started := make(chan struct{}, clients)
		for i := range clients / 2 {
			never, err := r.sites[i%2].Load().dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = never.Close() })
			if _, err := io.WriteString(never, "GET "+base+"/events HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			readers.Go(func() {
				last, ids, first := begin, []string(nil), 1
				for n := i; len(ids) < events; n++ {
					var err error
					if last, ids, err = r.read(n%2, "", last, min(first, events-len(ids)), ids); err != nil {
						t.Error(err)
						return
					}
					if first == 1 {
						started <- struct{}{}
					}
					first = events
				}
				for n, id := range ids {
					if number(id) != n+1 {
						t.Errorf("client %d: event %d is %s", i, n+1, id)
						return
					}
				}
			})
		}
		store := setupOn(t, client, "t").store
		posts(t, store, "q", 1)
		for range clients / 2 {
			<-started
		}
		for n := 1; n < events; n += 7 {
			if n == 7*40+1 {
				r.restart(0)
			}
			posts(t, store, "q", min(7, events-n))
		}
		readers.Wait()
	})
}

// Whatever a client is shown, and wherever it breaks off and goes on, it is shown
// everything once and in order.
func TestResume(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, client *redis.Client, serve listen) {
		const events = 500
		seed := rand.Uint64()
		r := newReplicas(t, client, serve, 2)
		begin := r.sites[0].Load().follow("", "").begin()
		queries := []string{"", "", "?queue=q1", "?type=ANY", "?queue=q3&type=ANY", "?queue=none"}
		got := make([][]string, len(queries))
		var all sync.WaitGroup
		for i, query := range queries {
			all.Go(func() {
				dice := rand.New(rand.NewPCG(seed, uint64(i)))
				wanted := events
				switch {
				case strings.Contains(query, "none"):
					return
				case strings.Contains(query, "queue"):
					wanted = events / 5
				}
				last := begin
				for len(got[i]) < wanted {
					var err error
					most := min(wanted-len(got[i]), dice.IntN(1+dice.IntN(1+wanted)))
					if last, got[i], err = r.read(dice.IntN(2), query, last, most, got[i]); err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
				}
			})
		}
		store := setupOn(t, client, "t").store
		for i := range events / 10 { // ten of a queue, then ten of the next
			posts(t, store, fmt.Sprint("q", i%5), 10)
			if i%25 == 12 {
				r.restart(i / 25 % 2)
			}
		}
		all.Wait()
		epoch := strings.TrimSuffix(begin, "0")
		for i, query := range queries {
			var want []string
			for n := range events {
				if query == "" || query == "?type=ANY" || strings.Contains(query, fmt.Sprint("q", n/10%5)) {
					want = append(want, fmt.Sprint(epoch, n+1))
				}
			}
			if diff := cmp.Diff(want, got[i]); diff != "" {
				t.Errorf("seed %d: %s: %s", seed, query, diff)
			}
		}
	})
}
