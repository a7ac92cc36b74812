package queues_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
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
	if _, err := s.Beat(b.Context(), me, time.Hour, ""); err != nil {
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
	names := make([]string, over)
	for i := range names {
		names[i] = claim(i)
	}
	items := make([]queues.Item, 0, queues.MaxBatch)
	for i := range n {
		items = append(items, queues.Item{Queue: names[i%over], Type: vote, Data: data})
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
// their thousands and millions: it must not cost more.
func BenchmarkCycle(b *testing.B) {
	for _, ready := range []int{1000, 1_000_000} {
		if ready > 1000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint("queues=", ready), func(b *testing.B) {
			s, client := benched(b)
			fillBench(b, s, ready, ready, json.RawMessage(`{}`))
			request := queues.BindRequest{Process: me, Types: []string{vote, batch}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Minute}
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
				for b.Loop() {
					got, err := s.Bind(b.Context(), request)
					if err != nil || len(got) != 1 {
						b.Fatal(got, err)
					}
					if _, err := s.Advance(context.WithoutCancel(b.Context()), change(got[0].Transaction, lifecycle.PhaseWaiting)); err != nil {
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
