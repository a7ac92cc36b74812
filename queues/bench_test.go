package queues_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// benched is a store on a real Redis of its own, which writes no file: what is
// measured is the work, not the disk.
func benched(b *testing.B) (*queues.Store, *redis.Client) {
	b.Helper()
	client := redistest.Start(b, "appendonly no").Client
	s, err := queues.Open(client, queues.Options{Namespace: "seq", Retention: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Heartbeat(b.Context(), me, time.Hour, ""); err != nil {
		b.Fatal(err)
	}
	return s, client
}

func payload(size int) json.RawMessage {
	return json.RawMessage(`{"x":"` + strings.Repeat("p", size-8) + `"}`)
}

// claim names a queue as a zkApp's queues are named.
func claim(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	return fmt.Sprintf("claim-%016x%016x", r.Uint64(), r.Uint64())
}

// fillBench posts n transactions over that many queues.
func fillBench(b *testing.B, s *queues.Store, n, over int, data json.RawMessage) {
	b.Helper()
	fillBenchBy(b, s, n, over, 1, data)
}

// fillBenchBy does so for that many posters, who take turns; a single one has no name.
func fillBenchBy(b *testing.B, s *queues.Store, n, over, posters int, data json.RawMessage) {
	b.Helper()
	names := make([]string, over)
	for i := range names {
		names[i] = claim(i)
	}
	items := make([]queues.Item, 0, queues.MaxBatch)
	for i := range n {
		item := queues.Item{Queue: names[i%over], Type: vote, Data: data}
		if posters > 1 {
			item.By = fmt.Sprint("poster-", i%posters)
		}
		items = append(items, item)
		if len(items) < cap(items) && i < n-1 {
			continue
		}
		for _, a := range s.EnqueueBatch(b.Context(), items) {
			if a.Err != nil {
				b.Fatal(a.Err)
			}
		}
		items = items[:0]
	}
}

func usedMemory(b *testing.B, client *redis.Client) int {
	b.Helper()
	info, err := client.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	text, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkMemory reports what Redis spends on a waiting transaction beside its
// payload: in all, and by structure.
func BenchmarkMemory(b *testing.B) {
	const n, over, size = 100_000, 1000, 512
	for b.Loop() {
		s, client := benched(b)
		fillBench(b, s, over, over, payload(size)) // the queues are there
		before := usedMemory(b, client)
		fillBench(b, s, n, over, payload(size))
		b.ReportMetric(float64(usedMemory(b, client)-before)/n-size, "B/txn")
		byKind := map[string]int{}
		var cursor uint64
		for {
			keys, next, err := client.Scan(b.Context(), cursor, "*", 1000).Result()
			if err != nil {
				b.Fatal(err)
			}
			sizes := make([]*redis.IntCmd, len(keys))
			if _, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
				for i, k := range keys {
					sizes[i] = p.MemoryUsage(b.Context(), k, 0)
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			for i, k := range keys {
				kind, _, _ := strings.Cut(strings.TrimPrefix(k, "{seq}:"), ":")
				byKind[kind] += int(sizes[i].Val())
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		for _, kind := range []string{"t", "line", "page", "events", "q"} {
			each := float64(byKind[kind]) / (n + over)
			if kind == "t" {
				each -= size
			}
			b.ReportMetric(each, kind+"-B/txn")
		}
	}
}

func BenchmarkEnqueue(b *testing.B) {
	data := payload(512)
	post := func(b *testing.B, s *queues.Store, i int64) {
		if a := s.Enqueue(b.Context(), queues.Item{Queue: claim(int(i % 1000)), Type: vote, Data: data}); a.Err != nil {
			b.Error(a.Err)
		}
	}
	b.Run("single", func(b *testing.B) {
		s, _ := benched(b)
		for i := int64(0); b.Loop(); i++ {
			post(b, s, i)
		}
	})
	b.Run("concurrent=64", func(b *testing.B) {
		s, _ := benched(b)
		var i atomic.Int64
		calls := s.Calls()
		b.SetParallelism(32) // times GOMAXPROCS
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				post(b, s, i.Add(1))
			}
		})
		b.ReportMetric(float64(s.Calls()-calls)/float64(b.N), "calls/op")
	})
	b.Run("batch=500", func(b *testing.B) {
		s, _ := benched(b)
		items := make([]queues.Item, 500)
		for i := range items {
			items[i] = queues.Item{Queue: claim(i), Type: vote, Data: data}
		}
		for b.Loop() {
			for _, a := range s.EnqueueBatch(b.Context(), items) {
				if a.Err != nil {
					b.Fatal(a.Err)
				}
			}
		}
		b.ReportMetric(float64(b.N)*500/b.Elapsed().Seconds(), "txn/s")
	})
}

// BenchmarkCycle measures what a cycle does to Redis beside ready queues in
// their thousands and millions, of one poster and of a thousand: it must not cost more.
func BenchmarkCycle(b *testing.B) {
	for _, of := range []struct{ ready, posters int }{
		{1000, 1}, {1000, 10}, {1000, 1000}, {1_000_000, 1}, {1_000_000, 1000},
	} {
		if of.ready > 1000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("queues=%d/posters=%d", of.ready, of.posters), func(b *testing.B) {
			s, client := benched(b)
			fillBenchBy(b, s, of.ready, of.ready, of.posters, json.RawMessage(`{}`))
			request := queues.BindRequest{Process: me, Types: []string{vote, batch}, Groups: []string{senders.Shared}, Most: 1,
				Grace: time.Minute}
			b.Run("bind-nothing", func(b *testing.B) { // no sender is free
				for b.Loop() {
					if got, err := s.Bind(b.Context(), request); err != nil || len(got) > 0 {
						b.Fatal(got, err)
					}
				}
			})
			if err := senders.New(s, client).Register(b.Context(), "S", "http://S"); err != nil {
				b.Fatal(err)
			}
			b.Run("bind-and-release", func(b *testing.B) {
				client.ConfigResetStat(b.Context())
				spent := redisTime(b, client)
				defer func() {
					_, all := commandsRun(b, client)
					b.ReportMetric(float64(all)/float64(b.N), "commands/op")
					b.ReportMetric((redisTime(b, client)-spent)*1e6/float64(b.N), "redis-µs/op")
				}()
				for b.Loop() {
					got, err := s.Bind(b.Context(), request)
					if err != nil || len(got) != 1 {
						b.Fatal(got, err)
					}
					if _, err := s.Advance(context.WithoutCancel(b.Context()),
						change(got[0].Transaction, tx.PhaseWaiting)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("tick-idle", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Tick(b.Context(), queues.TickRequest{Process: me, Most: 100, Lease: time.Minute}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkLife takes transactions from their post past finality, 64 at a time, with the
// store's calls that the sequencer makes for a two-phase worker, and reports what a life
// costs Redis: its calls of scripts, the commands in them, and the time it spends on them.
func BenchmarkLife(b *testing.B) {
	s, client := benched(b)
	const lanes = 64 // lives at a time
	pool := senders.New(s, client)
	known := map[string]uint32{} // as the sequencer knows what it has just released
	for i := range lanes {
		known[fmt.Sprint("S", i)] = 8
		if err := pool.Register(b.Context(), fmt.Sprint("S", i), "http://S"); err != nil {
			b.Fatal(err)
		}
	}
	data, command := payload(512), bytes.Repeat([]byte(`{"update":"of an account"}`), 200)
	live(b, s, claim(0), data, command, nil) // loads the scripts
	client.ConfigResetStat(b.Context())
	spent := redisTime(b, client)
	var turn atomic.Int64
	b.SetParallelism((lanes + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			live(b, s, claim(int(turn.Add(1))), data, command, known)
		}
	})
	n := turn.Load()
	spent = redisTime(b, client) - spent
	scripts, all := commandsRun(b, client)
	b.ReportMetric(float64(scripts)/float64(n), "scripts/op")
	b.ReportMetric(float64(all)/float64(n), "commands/op")
	b.ReportMetric(spent*1e6/float64(n), "redis-µs/op")
}

// commandsRun are the scripts that were run, and all other commands, most of them in these.
func commandsRun(b *testing.B, client *redis.Client) (scripts, all int) {
	b.Helper()
	stats := client.Info(b.Context(), "commandstats").Val()
	for _, m := range regexp.MustCompile(`cmdstat_(\S+):calls=(\d+),`).FindAllStringSubmatch(stats, -1) {
		calls, _ := strconv.Atoi(m[2])
		if m[1] == "evalsha" {
			scripts = calls
		} else {
			all += calls
		}
	}
	return scripts, all
}

// redisTime is the CPU time that Redis has used, in seconds: unlike what it says
// of its commands, it does not count the time in which others had the core.
func redisTime(b *testing.B, client *redis.Client) float64 {
	b.Helper()
	sum := 0.0
	info := client.Info(b.Context(), "cpu").Val()
	for _, m := range regexp.MustCompile(`used_cpu_(?:user|sys)_main_thread:(\S+)`).FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds
	}
	return sum
}

// live is a life without trouble.
func live(b *testing.B, s *queues.Store, queue string, data json.RawMessage, command []byte, known map[string]uint32) {
	b.Helper()
	ctx := b.Context()
	ok := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ok(s.Enqueue(ctx, queues.Item{Queue: queue, Type: vote, Data: data}).Err)
	bound, err := s.Bind(ctx, queues.BindRequest{Process: me, Types: []string{vote}, Groups: []string{senders.Shared},
		Most: 1, Grace: 5 * time.Second, Known: known,
		Plan: tx.Attempt{Fee: 100_000_000, ValidUntil: 5000, Slot: 4000}})
	ok(err)
	if len(bound) != 1 {
		b.Error("nothing was bound")
		return
	}
	// It may be that of another lane, which then gets this one's.
	t, sender := bound[0].Transaction, bound[0].Sender
	change := func(to tx.Phase, edit func(*queues.Change, *tx.Transaction)) {
		b.Helper()
		c := change(t, to)
		if edit(c, c.After); c.After.Done != nil {
			c.Wait, c.Lease = 2*time.Minute, time.Minute
		}
		effects(c)
		var err error
		t, err = s.Advance(ctx, c)
		ok(err)
	}
	if len(t.Attempts) == 0 { // the first of its sender
		change(tx.PhaseDispatching, func(c *queues.Change, t *tx.Transaction) {
			t.Attempts = []tx.Attempt{{Number: 1, Sender: sender, Nonce: 7, Fee: 100_000_000, ValidUntil: 5000,
				Slot: 4000, StartedAt: c.Now, State: tx.Planned}}
			nextNonce(7)(c)
		})
	}
	change(tx.PhaseSent, func(c *queues.Change, t *tx.Transaction) {
		a := t.Last()
		a.State, a.Hash, t.SubmittedAt = tx.Signed, "5JhashOfTheWorker", c.Now
		signed(1, command)(c)
	})
	change(tx.PhaseDone, func(c *queues.Change, t *tx.Transaction) {
		a := t.Last()
		a.NodeHash, a.SentSlot = "5JhashOfTheNode", 4001
		a.State, a.Height, a.StateHash, a.Confirmations, a.EndedAt = tx.Included, 100, "3NstateHash", 1, c.Now
		t.Landed, t.Done, t.DoneAt = 1, json.RawMessage(`{"blockHeight":100,"stateHash":"3NstateHash"}`), c.Now
		t.Callback = tx.OnSuccess
		c.LandedWith = &a.Nonce
		nextNonce(8)(c)
	})
	_, err = s.Called(ctx, t, tx.Told{Callback: tx.OnSuccess}, queues.Never)
	ok(err)
	t.Callback = ""
	change(tx.PhaseDone, func(c *queues.Change, t *tx.Transaction) {
		t.Last().Confirmations, t.FinalAt, c.DropBytes = 15, c.Now, true
	})
}

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
			_, err = s.Advance(ctx, change(t, tx.PhaseFailed, person))
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
func plan(b *testing.B, s *queues.Store, t *tx.Transaction) {
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
