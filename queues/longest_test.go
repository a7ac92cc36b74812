package queues_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

var (
	longBodies = flag.Int("longest.bodies", 20_000, "transactions of BenchmarkLongest with 64 KiB each")
	longLine   = flag.Int("longest.line", 1_000_000, "length of its longest line")
)

// BenchmarkLongest reports the longest time that Redis spends on one command, by what
// was asked for, beside many that wait with bodies of 64 KiB, one line that is very long,
// and many senders that have cost something today.
func BenchmarkLongest(b *testing.B) {
	const over, spenders, few, many = 200, 2000, 5, 100
	for b.Loop() {
		s, client := benched(b)
		ctx := b.Context()
		ok := func(err error) {
			b.Helper()
			if err != nil {
				b.Fatal(err)
			}
		}
		ok(client.ConfigSet(ctx, "slowlog-max-len", "100000").Err())
		ok(client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err())
		// Of several tries the least counts: the others had the core in the rest.
		longest := func(what string, tries int, ask func(try int)) {
			b.Helper()
			least := time.Hour
			for try := range tries {
				ok(client.Do(ctx, "SLOWLOG", "RESET").Err())
				ask(try)
				slow, err := client.SlowLogGet(ctx, -1).Result()
				ok(err)
				var most time.Duration
				for _, l := range slow {
					if l.Args[0] != "SLOWLOG" {
						most = max(most, l.Duration)
					}
				}
				least = min(least, most)
			}
			b.ReportMetric(float64(least.Microseconds())/1000, what+"-ms")
		}
		data := payload(64 << 10)
		longest("post", many, func(int) { fillBench(b, s, *longBodies/many, over, data) })
		longest("list", few, func(int) {
			_, _, err := s.List(ctx, queues.Filter{}, 500, "")
			ok(err)
		})
		longest("audit", few, func(int) {
			_, err := s.Audit(ctx, nil)
			ok(err)
		})
		pool := senders.New(s, client)
		var bound []queues.Bound
		longest("bind", few, func(try int) {
			for i := range over / few {
				ok(pool.Register(ctx, fmt.Sprint("S", try, "-", i), "http://S"))
			}
			bound = bindAll(b, s, over/few)
		})
		plan(b, s, bound[0].Transaction) // the day is begun
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range spenders {
				p.HSet(ctx, fmt.Sprint("{seq}:fees:", time.Now().Unix()/86400), fmt.Sprint("B62", i), 100)
			}
			return nil
		})
		ok(err)
		longest("plan", few, func(try int) { plan(b, s, bound[1+try].Transaction) })

		lineOf(b, s, *longLine)
		middle := func(try int) string { return fmt.Sprint("u", *longLine/2+try) }
		longest("cancel", few, func(try int) {
			t, err := s.Get(ctx, middle(try))
			ok(err)
			_, err = s.Advance(ctx, change(t, lifecycle.PhaseFailed, person))
			ok(err)
		})
		longest("place", few, func(int) {
			_, err := s.Place(ctx, fmt.Sprint("u", *longLine-1))
			ok(err)
		})
		longest("delete", few, func(try int) { ok(s.Remove(ctx, middle(try))) })
		longest("list-line", few, func(int) {
			_, _, err := s.List(ctx, queues.Filter{Queue: "long", Newest: true}, 500, "")
			ok(err)
		})
	}
}

// bindAll binds most queues.
func bindAll(b *testing.B, s *queues.Store, most int) []queues.Bound {
	b.Helper()
	bound, err := s.Bind(b.Context(), queues.BindRequest{
		Process: me, Types: []string{vote}, Groups: []string{senders.Shared}, Most: most, Grace: time.Minute,
	})
	if err != nil || len(bound) < most {
		b.Fatal(len(bound), err)
	}
	return bound
}

// plan plans an attempt of a transaction within the limits of the day.
func plan(b *testing.B, s *queues.Store, t *lifecycle.Transaction) {
	b.Helper()
	c := change(t, t.Phase, made(planned(t, 100)))
	c.Limits = queues.FeeLimits{Sender: 1 << 40, All: 1 << 50}
	if _, err := s.Advance(b.Context(), c); err != nil {
		b.Fatal(err)
	}
}

// lineOf posts n to one queue, with the smallest of bodies.
func lineOf(tb testing.TB, s *queues.Store, n int) {
	tb.Helper()
	for from := 0; from < n; from += queues.MaxBatch {
		items := make([]queues.Item, 0, queues.MaxBatch)
		for i := from; i < min(n, from+queues.MaxBatch); i++ {
			items = append(items, queues.Item{UID: fmt.Sprint("u", i), Queue: "long", Type: vote, Data: json.RawMessage(`{}`)})
		}
		for _, a := range s.EnqueueBatch(tb.Context(), items) {
			if a.Err != nil {
				tb.Fatal(a.Err)
			}
		}
	}
}
