package queues_test

import (
	"fmt"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// testMarket: one process at a time looks at the pool, and all know what the last ones have
// seen, and what types weigh.
func testMarket(f *fixture) {
	market := func(news queues.MarketNews) (queues.Market, bool) {
		f.Helper()
		m, mine, err := f.store.Market(f.ctx, news)
		f.ok(err)
		return m, mine
	}
	if m, mine := market(queues.MarketNews{}); mine || len(m.Looks) > 0 || len(m.Weights) > 0 {
		f.Errorf("nobody has told anything: %+v %t", m, mine)
	}
	turn := queues.MarketNews{Turn: time.Minute}
	_, first := market(turn)
	_, second := market(turn)
	equal(f.T, "whose turn it is", fmt.Sprint(first, second), "true false")

	began := f.now()
	for n := range fees.Looks + 3 {
		l := &fees.Look{Size: n, Ranks: []uint64{1<<64 - 1, uint64(n)}[:n%3]}
		market(queues.MarketNews{Look: l})
	}
	m, mine := market(queues.MarketNews{Weights: map[string]int{"A": 9, "B": 2}})
	equal(f.T, "the turn", mine, false)
	equal(f.T, "looks", len(m.Looks), fees.Looks)
	for i, l := range m.Looks {
		n := fees.Looks + 2 - i
		equal(f.T, "the latest first", fmt.Sprint(l.Size, l.Ranks), fmt.Sprint(n, []uint64{1<<64 - 1, uint64(n)}[:n%3]))
		if l.At.Before(began.Truncate(time.Millisecond)) || l.At.After(f.now()) {
			f.Errorf("looked at %v, and it is %v", l.At, f.now())
		}
	}
	m, _ = market(queues.MarketNews{Weights: map[string]int{"B": 17}})
	equal(f.T, "what types weigh", fmt.Sprint(m.Weights), "map[A:9 B:17]")
}

// testSpentOfMany: of a day the hundred queues that cost most are told.
func testSpentOfMany(f *fixture) {
	day := f.key(fmt.Sprint("spent:", f.now().Unix()/86400))
	for i, queue := range numbered("q", 1, 101) {
		f.ok(f.client.ZAdd(f.ctx, day, z(float64(i+1), queue)).Err())
	}
	f.ok(f.client.ExpireAt(f.ctx, day, f.now().Add(8*24*time.Hour)).Err())
	of, err := f.store.Spent(f.ctx)
	f.ok(err)
	equal(f.T, "queues", len(of), 100)
	equal(f.T, "the one that cost most", of[0].Queue, "q0101")
}

// testSpent: what a day has cost is told by sender and by queue.
func testSpent(f *fixture) {
	f.register("S1", "S2")
	for _, uid := range []string{"a", "b"} {
		f.post("q"+uid, uid)
	}
	f.bound("a S1", "b S2")
	spent := func() (all string) {
		f.Helper()
		of, err := f.store.Spent(f.ctx)
		f.ok(err)
		today := f.now().UTC().Truncate(24 * time.Hour)
		for _, s := range of {
			equal(f.T, "the day", s.Day, today)
			all += fmt.Sprintf("%s%s %d; ", s.Sender, s.Queue, s.Fee)
		}
		return all
	}
	equal(f.T, "nothing", spent(), "")
	f.ok(f.planFor("a", 100, queues.FeeLimits{}))
	f.ok(f.planFor("b", 1_234_567_890_123_457, queues.FeeLimits{}))
	equal(f.T, "planned", spent(), "S1 100; S2 1234567890123457; qb 1234567890123457; qa 100; ")
	f.ok(f.planFor("a", 150, queues.FeeLimits{}))
	f.to("b", tx.PhaseDelayed, fated(1, tx.Refused))
	equal(f.T, "raised, and given back", spent(), "S1 150; qa 150; ")
	f.ok(f.planFor("b", 1, queues.FeeLimits{}))
	equal(f.T, "the least there is", spent(), "S1 150; S2 1; qa 150; qb 1; ")
}
