package simulation

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/lane"
)

// simSlot is how long a slot lasts in a simulated world.
const simSlot = time.Minute

// A shape is what a seed makes of the world. Most mistakes need little to show:
// few transactions, processes and nodes. So most worlds are small, and there can
// be many; now and then there is a large one, for those that need a crowd.
type shape struct {
	processes, nodes, senders, queues, txns int
	legacy                                  bool // the first sender's worker sends by itself
	// deepest is how deep a reorganisation goes. Where CONFIRMATIONS is deeper,
	// the order of each queue is promised too.
	deepest int
	ordered bool
	beyond  bool          // reorganisations may be deeper than all depths that are set
	trouble time.Duration // how long things go wrong
	theme   string        // what goes wrong more often than all else
	forgets bool          // Redis fails over to a replica that lacks the last writes
	bad     bool          // some payloads fail with whatever worker has them
	auto    bool          // fees go by the market, in which others trade
	// commuting: what is in flight together requires nothing of each other, and has no order.
	commuting bool
	atOnce    int  // how many of those a worker makes at a time
	builds    bool // or of chained ones, which it builds before it proves them
	// early is how deep a failure in a block is tried again, 0 for SETTLE_DEPTH: of such a
	// type no second landing has an effect.
	early int
	// frontier is how many blocks a node holds below its tip, and an archive has the rest; 0 is Mina's k.
	frontier int
}

const balanceInterval = 5 * time.Minute

// themes bring about what takes several misfortunes of a kind.
var themes = []string{"", "", "", "sends", "sends", "sends", "chain: ", "chain: ", "pool: ", "person: ", "worker"}

func shapeOf(d dice) (shape, lifecycle.Policy) {
	p := lifecycle.Policy{
		CycleInterval: time.Minute, InclusionInterval: d.between(20*time.Second, 70*time.Second, "poll", 0),
		DispatchTimeout: 6 * time.Minute,
		CallbackWait:    2 * time.Minute, MaxRetries: 1 + d.pick(3, "retries", 0),
		RetryDelay: d.between(10*time.Second, time.Minute, "delay", 0), RetryDelayMax: 4 * time.Minute,
		SettleDepth: 3 + d.pick(2, "settle", 0), Confirmations: 1,
		Fee: 100_000_000, FeeMax: 300_000_000, FeeBump: 1.5,
		BumpAfter: uint32(2 + d.pick(4, "bump", 0)), ValidSlots: uint32(6 + d.pick(8, "valid", 0)), UnresolvedLimit: 3,
		ClaimTTL: 100 * time.Second, Retention: 168 * time.Hour, ShutdownTimeout: 30 * time.Second,
		BalanceInterval: balanceInterval, BumpOnPrice: d.pick(2, "bump on", 0) == 1,
	}
	p.Finality = p.SettleDepth + 2
	if p.Width = 1; *simWidth > 0 {
		p.Width = *simWidth
	} else if d.chance(350, "wide", 0) {
		p.Width = 2 + d.pick(3, "width", 0)
	}
	// few is a number up to small, in large worlds up to large.
	few := func(small, large int, name string) int {
		if d.chance(60, "large", 0) {
			return 1 + d.pick(large, name, 0)
		}
		return 1 + d.pick(small, name, 0)
	}
	s := shape{
		processes: few(2, 3, "processes"), nodes: few(2, 3, "nodes"), senders: few(2, 4, "senders"),
		queues: few(2, 5, "queues"), txns: few(4, 20, "txns"),
		legacy: d.chance(250, "legacy", 0), deepest: p.SettleDepth - 1,
		trouble: d.between(5*time.Minute, 25*time.Minute, "trouble", 0),
	}
	if d.chance(60, "large", 0) {
		s.trouble *= 2
	}
	s.theme = themes[d.pick(len(themes), "theme", 0)]
	if s.theme == "sends" {
		p.MaxRetries = d.pick(2, "retries", 0) // the last try ends while an earlier one is open
	}
	s.bad = d.chance(300, "bad payloads", 0)
	s.forgets = *simForget || d.chance(120, "forgets", 0)
	if s.auto = d.chance(150, "auto", 0); s.auto {
		p.FeeAuto, p.FeeMin, p.FeeTarget = true, 10_000_000, 1+d.pick(3, "target", 0)
	}
	if d.chance(200, "capped", 0) {
		p.FeeMax = p.Fee // so that one attempt may be like another
	}
	s.commuting = p.Width > 1 && d.chance(250, "commuting", 0)
	if s.commuting {
		s.atOnce = 1 + d.pick(4, "at once", 0)
	}
	if s.builds = p.Width > 1 && !s.commuting && d.chance(500, "builds", 0); s.builds {
		s.atOnce = 2 + d.pick(3, "at once", 0)
	}
	if !s.commuting && d.chance(300, "early", 0) {
		s.early = 1 + d.pick(2, "early", 0)
	}
	if d.chance(400, "short", 0) {
		s.frontier = 10 + d.pick(10, "frontier", 0)
	}
	if d.chance(500, "ordered", 0) {
		s.ordered = true
		p.Confirmations = 2 + d.pick(p.SettleDepth-1, "confirmations", 0)
		s.deepest = p.Confirmations - 1
	}
	return s, p
}

// costs are what a reorganisation deeper than the depths that are set may do to
// the promises. Nothing else may break.
var costs = map[string]string{
	"took effect 2 times": "an effect doubled",
	"took effect before":  "a queue out of order",
	"and its effects are": "DONE, and its block gone for good",
	"and took effect":     "ended badly, and took effect after all",
	"may still land":      "released, and comes back to the pools",
}

// TestDeepReorganisations runs the simulation with reorganisations of up to twice
// FINALITY, and shows what that costs: effects and order, which the depths are
// for, and a person's look at a sender whose nonces no longer add up; nothing
// else. All is final in the end, and no sender is lost.
func TestDeepReorganisations(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	sum, lost := newTally("deep reorganisations"), map[string]int{}
	last := uint64(20)
	if lane.Sampled() {
		last = 6
	}
	for seed := uint64(1); seed <= last; seed++ {
		var s *sim
		synctest.Test(t, func(t *testing.T) { s = simulate(t, seed, true, sum) })
		sum.seed(s)
		for _, problem := range s.check.problems {
			cost := ""
			for words, name := range costs {
				if strings.Contains(problem, words) {
					cost = name
				}
			}
			if lost[cost]++; cost == "" {
				t.Errorf("seed %d: %s\n%s", seed, problem, strings.Join(s.story.lines, "\n"))
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%d seeds with deep reorganisations, %d of them at a cost\n", sum.done, sum.failed)
	for _, cost := range slices.Sorted(maps.Keys(lost)) {
		fmt.Fprintf(os.Stderr, "%9d  %s\n", lost[cost], cost)
	}
}
