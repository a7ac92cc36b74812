package queues_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

var (
	modelSeeds = flag.Int("model.seeds", 25, "how many seeds the model test runs on each backend")
	modelSeed  = flag.Int("model.seed", 0, "the only seed to run, 0 for all")
	modelSteps = flag.Int("model.steps", 50, "how many operations it makes for a seed")
)

// TestModel makes random operations on the store and on a plain picture of it
// in memory, and compares the two after each of them.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds := make([]int, *modelSeeds)
	for i := range seeds {
		seeds[i] = i + 1
	}
	if *modelSeed != 0 {
		seeds = []int{*modelSeed}
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		for _, seed := range seeds {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playModel(newFixture(t, redistest.Mini(t).Client, "seq"), seed) })
			})
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		for _, seed := range seeds {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				playModel(newFixture(t, server.Client, fmt.Sprint("model", seed)), seed)
			})
		}
	})
}

// model is what the store is meant to do, without any of its structures.
type model struct {
	*fixture
	rand    *rand.Rand
	txns    map[string]*modelTxn
	gone    map[string]bool
	queues  map[string]*modelQueue
	senders map[string]*modelSender
	seq     int
	events  int
	clock   int // counts releases of senders
}

type modelTxn struct {
	uid, queue, typ, sender, owner string
	seq                            int
	phase                          lifecycle.Phase
	callback                       bool
}

type modelQueue struct {
	since  int // when it became ready, 0 while it is not
	run    string
	holder string
	paused bool
}

type modelSender struct {
	queue   string
	out     bool
	freedAt int
}

func playModel(f *fixture, seed int) {
	m := &model{
		fixture: f, rand: rand.New(rand.NewPCG(uint64(seed), 1)),
		txns: map[string]*modelTxn{}, gone: map[string]bool{}, queues: map[string]*modelQueue{}, senders: map[string]*modelSender{},
	}
	f.beat(other, time.Hour)
	operations := []struct {
		weight int
		name   string
		run    func() bool // false if there was nothing to do it on
	}{
		{12, "post", m.post}, {12, "bind", m.bindSome}, {24, "advance", m.advanceOne}, {3, "intrude", m.intrude},
		{4, "cancel", m.cancel}, {4, "retry", m.retry}, {2, "late", m.late}, {2, "reopen", m.reopen},
		{3, "pause", m.pause}, {3, "register", m.register}, {3, "drain", m.drain}, {4, "resume", m.resume},
		{1, "unregister", m.unregister}, {4, "remove", m.remove}, {5, "answer", m.answer}, {2, "takeover", m.takeOver},
	}
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	var done []string
	for len(done) < *modelSteps {
		n := m.rand.IntN(total)
		i := 0
		for ; n >= operations[i].weight; i++ {
			n -= operations[i].weight
		}
		<-time.After(time.Microsecond) // releases are told apart by the clock
		if !operations[i].run() {
			continue
		}
		done = append(done, operations[i].name)
		f.inspect()
		m.compare()
		if f.Failed() {
			f.Fatalf("seed %d, after %d operations: %v", seed, len(done), done)
		}
	}
}

// waiting are the waiting transactions of a queue in the order of acceptance.
func (m *model) waiting(queue string) []*modelTxn {
	var ts []*modelTxn
	for _, t := range m.txns {
		if t.queue == queue && t.phase == lifecycle.PhaseWaiting {
			ts = append(ts, t)
		}
	}
	slices.SortFunc(ts, func(a, b *modelTxn) int { return cmp.Compare(a.seq, b.seq) })
	return ts
}

// head is the transaction that a queue could bind now.
func (m *model) head(queue string) *modelTxn {
	q := m.queues[queue]
	if ts := m.waiting(queue); len(ts) > 0 && q.run == "" && q.holder == "" && !q.paused {
		return ts[0]
	}
	return nil
}

// free are the free senders, the one that has rested longest first.
func (m *model) free() []string {
	var free []string
	for a, s := range m.senders {
		if s.queue == "" && !s.out {
			free = append(free, a)
		}
	}
	slices.SortFunc(free, func(a, b string) int { return cmp.Compare(m.senders[a].freedAt, m.senders[b].freedAt) })
	return free
}

// becomeReady notes which queues can be bound since now.
func (m *model) becomeReady() {
	for name, q := range m.queues {
		switch {
		case m.head(name) == nil:
			q.since = 0
		case q.since == 0:
			m.clock++
			q.since = m.clock
		}
	}
}

func (m *model) release(account string) {
	m.clock++
	m.senders[account].freedAt = m.clock
}

func (m *model) compare() {
	m.Helper()
	d := m.dump()
	phases, wantPhases := map[string]string{}, map[string]string{}
	for uid, t := range d.transactions() {
		owner, _, _ := strings.Cut(t.claim, ":")
		phases[uid] = fmt.Sprint(t.seq, t.phase, " ", owner)
	}
	ready, since := map[string]string{}, map[string]float64{}
	m.becomeReady()
	for uid, t := range m.txns {
		wantPhases[uid] = fmt.Sprint(t.seq, string(t.phase), " ", t.owner)
		if m.head(t.queue) == t {
			ready[t.queue] = t.typ
		}
	}
	equal(m.T, "transactions", phases, wantPhases)
	gotReady := map[string]string{}
	for name, set := range d.sets {
		if typ, ok := strings.CutPrefix(name, "ready:"); ok {
			for queue, at := range set {
				gotReady[queue], since[queue] = typ, at
			}
		}
	}
	equal(m.T, "ready queues", gotReady, ready)
	turns := slices.SortedFunc(maps.Keys(since), func(a, b string) int { return cmp.Compare(since[a], since[b]) })
	if !slices.IsSortedFunc(turns, func(a, b string) int { return cmp.Compare(m.queues[a].since, m.queues[b].since) }) {
		m.Fatalf("the turns are %v", turns)
	}
	free := d.sets["free:"+senders.Shared]
	order := slices.SortedFunc(maps.Keys(free), func(a, b string) int { return cmp.Compare(free[a], free[b]) })
	equal(m.T, "free senders", order, m.free())
	for name, q := range m.queues {
		got := d.hashes["q:"+name]
		if got["run"] != q.run || (got["paused"] != "") != q.paused || got["holder"] != q.holder {
			m.Fatalf("queue %s is %v, want %+v", name, got, *q)
		}
	}
	equal(m.T, "queues", len(d.sets["queues"]), len(m.queues))
	if len(d.events) != m.events {
		m.Fatalf("%d events, want %d; the last is %+v", len(d.events), m.events, d.events[max(0, len(d.events)-1)])
	}
	if n := m.rand.IntN(8); n == 0 { // the lists agree too
		for name := range m.queues {
			var want []string
			for _, t := range m.waiting(name) {
				want = append(want, t.uid)
			}
			equal(m.T, "list of "+name, m.list(queues.Filter{Queue: name, State: lifecycle.Waiting}, 1+m.rand.IntN(4)), want)
		}
		equal(m.T, "list of all", len(m.list(queues.Filter{}, 1+m.rand.IntN(9))), len(m.txns))
	}
}

// pick chooses one that fits, in an order that only the seed decides.
func pick[T any](r *rand.Rand, all map[string]T, fits func(T) bool) (string, bool) {
	var names []string
	for name, v := range all {
		if fits(v) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	return names[r.IntN(len(names))], true
}

func (m *model) pickTxn(fits func(*modelTxn) bool) *modelTxn {
	uid, _ := pick(m.rand, m.txns, fits)
	return m.txns[uid]
}
