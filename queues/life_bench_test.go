package queues_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

// BenchmarkLife takes transactions from their post past finality, 64 at a time, with the store's calls that the sequencer makes for a two-phase
// worker, and reports what a life costs Redis: its calls of scripts, the
// commands in them, and the time it spends on them.
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
	stats := client.Info(b.Context(), "commandstats").Val()
	scripts, all := 0, 0
	for _, m := range regexp.MustCompile(`cmdstat_(\S+):calls=(\d+),`).FindAllStringSubmatch(stats, -1) {
		calls, _ := strconv.Atoi(m[2])
		if m[1] == "evalsha" {
			scripts = calls
		} else {
			all += calls
		}
	}
	b.ReportMetric(float64(scripts)/float64(n), "scripts/op")
	b.ReportMetric(float64(all)/float64(n), "commands/op")
	b.ReportMetric(spent*1e6/float64(n), "redis-µs/op")
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
	bound, err := s.Bind(ctx, queues.BindRequest{Process: me, Types: []string{vote}, Groups: []string{senders.Shared}, Most: 1, Grace: 5 * time.Second,
		Plan: lifecycle.Attempt{Fee: 100_000_000, ValidUntil: 5000, Slot: 4000}, Known: known})
	ok(err)
	if len(bound) != 1 {
		b.Error("nothing was bound")
		return
	}
	// It may be that of another lane, which then gets this one's.
	t, sender := bound[0].Transaction, bound[0].Sender
	change := func(to lifecycle.Phase, edit func(*queues.Change, *lifecycle.Transaction)) {
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
		change(lifecycle.PhaseDispatching, func(c *queues.Change, t *lifecycle.Transaction) {
			t.Attempts = []lifecycle.Attempt{{
				Number: 1, Sender: sender, Nonce: 7, Fee: 100_000_000, ValidUntil: 5000, Slot: 4000, StartedAt: c.Now, Outcome: lifecycle.Prepared,
			}}
			nextNonce(7)(c)
		})
	}
	change(lifecycle.PhaseSent, func(c *queues.Change, t *lifecycle.Transaction) {
		a := t.Last()
		a.Outcome, a.Hash, t.SubmittedAt = lifecycle.Signed, "5JhashOfTheWorker", c.Now
		signed(1, command)(c)
	})
	change(lifecycle.PhaseDone, func(c *queues.Change, t *lifecycle.Transaction) {
		a := t.Last()
		a.NodeHash, a.SentSlot = "5JhashOfTheNode", 4001
		a.Outcome, a.Height, a.StateHash, a.Confirmations, a.EndedAt = lifecycle.Included, 100, "3NstateHash", 1, c.Now
		t.Landed, t.Done, t.DoneAt = 1, json.RawMessage(`{"blockHeight":100,"stateHash":"3NstateHash"}`), c.Now
		t.Callback = lifecycle.OnSuccess
		c.LandedWith = &a.Nonce
		nextNonce(8)(c)
	})
	_, err = s.Called(ctx, t, lifecycle.OnSuccess, queues.Never)
	ok(err)
	t.Callback = ""
	change(lifecycle.PhaseDone, func(c *queues.Change, t *lifecycle.Transaction) {
		t.Last().Confirmations, t.FinalAt, c.DropBytes = 15, c.Now, true
	})
}
