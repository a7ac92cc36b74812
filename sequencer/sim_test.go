package sequencer_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
)

var (
	simSeeds = flag.Int("sim.seeds", 30, "how many seeds the simulation runs")
	simSeed  = flag.Uint64("sim.seed", 0, "the only seed to simulate, with a trace; 0 for all")
)

// TestMain keeps go-redis from writing of each connection that a test breaks.
func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	m.Run()
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// healing is the time within which everything must be final once all faults are over.
const healing = 6 * time.Hour

// stride is how often something new can go wrong.
const stride = 20 * time.Second

// TestSimulation runs the whole service against everything that can go wrong
// around it, once for every seed, and checks the promises: nothing accepted is
// lost, everything takes effect at most once and in order, no sender leaks, and
// the log tells all of it.
func TestSimulation(t *testing.T) {
	t.Parallel()
	sum := &tally{began: time.Now(), rows: rows(), hits: map[boundary]map[string]int{}, ends: map[queues.State]int{}}
	sum.reached = make([]int, len(sum.rows))
	t.Cleanup(func() { fmt.Fprintln(os.Stderr, sum) })
	first, last := uint64(1), uint64(*simSeeds)
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			var broken []string
			synctest.Test(t, func(t *testing.T) { broken = simulate(t, seed, sum) })
			sum.seed(len(broken) > 0)
			if len(broken) > 0 {
				t.Errorf("go test ./sequencer -run TestSimulation -sim.seed=%d\n%s", seed, strings.Join(broken, "\n"))
			}
		})
	}
}

// simulate returns which promises were broken.
func simulate(t *testing.T, seed uint64, sum *tally) []string {
	trace := func(string, ...any) {}
	if *simSeed != 0 {
		trace = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	}
	s := newSim(t, seed, trace, sum.observe)
	s.in.trace("%+v, CONFIRMATIONS %d, SETTLE_DEPTH %d", s.shape, s.policy.Confirmations, s.policy.SettleDepth)
	for i := range 3 {
		s.clients.Go(func() { s.post(i) })
	}
	s.disturb()
	s.heal()
	s.check.atTheEnd(s.ctx)
	sum.add(s)
	return s.check.problems
}

// post is a client: it posts its share, posts again where it got no answer, and
// sometimes where it got one.
func (s *sim) post(client int) {
	h := newHost(fmt.Sprintf("client%d", client), s.in, nil)
	store, _ := s.open(s.client(h, clientToRedis))
	for i := client; i < s.txns; i += 3 {
		n := uint64(i)
		queue := s.queued[s.pick(len(s.queued), "queue", n)]
		uid := fmt.Sprintf("%s.%d", queue, i)
		item := queues.Item{UID: uid, Queue: queue, Type: "MINT", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}
		until(s.ctx, s.between(0, s.trouble/4, "pause", n))
		for tries := 0; ; tries++ {
			ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
			got := store.Enqueue(ctx, item)
			cancel()
			if got.Err == nil {
				s.check.promised(uid, queue, got.Transaction.Sequence)
				if tries > 2 || !s.chance(300, "post again", n+uint64(tries)) {
					break
				}
			} else if !errors.Is(got.Err, queues.ErrUnavailable) {
				s.check.fail("posting %s: %v", uid, got.Err)
				break
			}
			until(s.ctx, 10*time.Second)
			if s.ctx.Err() != nil {
				return
			}
		}
		if s.chance(200, "other body", n) {
			item.Data = json.RawMessage(`{"n":-1}`)
			if got := store.Enqueue(s.ctx, item); got.Err == nil {
				s.check.fail("%s was accepted with two bodies", uid)
			}
		}
	}
}

func until(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
