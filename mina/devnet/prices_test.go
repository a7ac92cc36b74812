package devnet_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/lane"
)

// An offer waits for a block.
type offer struct {
	fees.Offer
	perWeight float64
	until     uint32
}

// A bidder is somebody of ours who wants a command in: what is paid for one of a weight, by
// what the pool showed, and after how many raises; last is what it has paid until then.
type bidder struct {
	name string
	bid  func(looks []fees.Look, now time.Time, weight, raises int, last uint64) uint64
}

const (
	blockTakes = devnet.DefaultMaxZkapps
	target     = 2 // blocks
	raiseAfter = 5 // slots
	slotTime   = 90 * time.Second
)

// policy is that of a service as it is configured without a word on fees, but for auto.
func policy(first uint64) *lifecycle.Policy {
	return &lifecycle.Policy{Fee: first, FeeMin: 10_000_000, FeeMax: 5_000_000_000, FeeBump: 1.5, FeeTarget: target}
}

// constant is a fee that knows no weight, half as much again with each raise.
func constant(mina float64) bidder {
	p := policy(uint64(mina * 1e9))
	return bidder{fmt.Sprint(mina), func(_ []fees.Look, _ time.Time, _, raises int, last uint64) uint64 {
		if raises == 0 {
			return p.Fee
		}
		return p.Fees().Raised(last)
	}}
}

// byMarket pays what the service does with SEQUENCER_FEE=auto, by its own estimator.
func byMarket() bidder {
	p := policy(100_000_000)
	p.FeeAuto = true
	return bidder{"auto", func(looks []fees.Look, now time.Time, weight, raises int, last uint64) uint64 {
		m := fees.Market{Looks: looks, Weight: weight}
		q := m.Quote(p.Fees(), now, slotTime, weight, p.FeeMax)
		switch {
		case raises == 0:
			return q.Fee
		case q.Pays(last):
			return last
		}
		return p.Fees().Outbid(&q, last, p.FeeMax)
	}}
}

// A result is how the commands of one bidder and weight fared.
type result struct {
	blocks []int
	spent  float64 // MINA, of those included
}

func (r *result) within(n int) float64 {
	in := 0
	for _, b := range r.blocks {
		if b <= n {
			in++
		}
	}
	return float64(in) / float64(len(r.blocks))
}

// day has each bidder want one command of each weight in, every slot of a day. They take
// nobody's place: each is in a block that holds fewer than it takes of those who pay more.
func day(m *devnet.Market, bidders []bidder, updates []int) map[string]*result {
	type ours struct {
		to     *result
		b      bidder
		weight int
		fee    uint64
		sent   uint32
		blocks int
		raises int
	}
	results := map[string]*result{}
	fill := rand.New(rand.NewPCG(m.Seed, 99))
	var pool, before []offer
	var looks []fees.Look // the latest first
	var waiting []*ours
	for slot := range uint32(960 + 200) {
		// A look in the middle of the slot shows half of what comes in it.
		var half []offer
		for i, p := range m.Plans(slot) {
			until := p.ValidUntil
			if until == 0 {
				until = 1 << 30
			}
			weight := 1 + len(p.Updates)
			pool = append(pool, offer{fees.Offer{Fee: p.Fee, Weight: weight}, float64(p.Fee) / float64(weight), until})
			if i%2 == 0 {
				half = append(half, pool[len(pool)-1])
			}
		}
		now := time.Unix(0, 0).Add(time.Duration(slot) * slotTime)
		var offers []fees.Offer
		if waiting := append(slices.Clone(before), half...); len(waiting) > blockTakes {
			for _, o := range waiting {
				offers = append(offers, o.Offer)
			}
		}
		looks = slices.Insert(looks, 0, fees.NewLook(now, len(before)+len(half), offers, blockTakes))
		for _, b := range bidders {
			for _, n := range updates {
				key := fmt.Sprint(b.name, " ", n)
				if results[key] == nil {
					results[key] = &result{}
				}
				if slot < 960 {
					waiting = append(waiting, &ours{to: results[key], b: b, weight: 1 + n, sent: slot,
						fee: b.bid(looks, now, 1+n, 0, 0)})
				}
			}
		}
		for _, o := range waiting {
			if since := slot - o.sent; since > 0 && since%raiseAfter == 0 {
				o.raises++
				o.fee = o.b.bid(looks, now, o.weight, o.raises, o.fee)
			}
		}
		pool = slices.DeleteFunc(pool, func(x offer) bool { return x.until <= slot })
		slices.SortFunc(pool, func(a, b offer) int { return int(b.perWeight) - int(a.perWeight) })
		if fill.Float64() >= devnet.DefaultFillRate {
			before = slices.Clone(pool)
			continue
		}
		least := 0.0
		if len(pool) >= blockTakes {
			least = pool[blockTakes-1].perWeight
		}
		waiting = slices.DeleteFunc(waiting, func(o *ours) bool {
			o.blocks++
			if float64(o.fee)/float64(o.weight) <= least {
				return false
			}
			o.to.blocks = append(o.to.blocks, o.blocks)
			o.to.spent += float64(o.fee) / 1e9
			return true
		})
		pool = pool[min(blockTakes, len(pool)):]
		before = slices.Clone(pool)
	}
	for _, o := range waiting {
		o.to.blocks = append(o.to.blocks, 1<<20)
	}
	return results
}

// TestPrices shows what the service's fee by the market buys beside constants, on markets
// that were fixed before it was written. On those that are named it is within its target for
// nine of ten, at less than the cheapest constant that does as well.
func TestPrices(t *testing.T) {
	lane.NoRace(t, "days of a market, by one goroutine")
	t.Parallel()
	bidders := []bidder{byMarket(), constant(0.1), constant(0.5), constant(2)}
	updates := []int{2, 8, 16}
	better := map[string]int{}
	for _, m := range devnet.Markets() {
		results := day(&m, bidders, updates)
		for _, n := range updates {
			auto, cheapest := results[fmt.Sprint("auto ", n)], math.Inf(1)
			for _, b := range bidders {
				r := results[fmt.Sprint(b.name, " ", n)]
				slices.Sort(r.blocks)
				each := r.spent / float64(len(r.blocks))
				t.Logf("%-26s %2d updates  %-4s  median %2d blocks, within %d: %5.1f %%, %.3f MINA each",
					m.Name, n, b.name, r.blocks[len(r.blocks)/2], target, 100*r.within(target), each)
				if b.name != "auto" && r.within(target) >= min(0.9, auto.within(target)) {
					cheapest = min(cheapest, each)
				}
			}
			if auto.within(target) >= 0.9 && auto.spent/float64(len(auto.blocks)) < cheapest {
				better[m.Name]++
			}
		}
	}
	// Where prices rise it falls short of nine of ten, for 16 updates by the cap; where offers are
	// empty the pool says nothing, and it pays 13 times what the least constant does.
	want := map[string]int{"quiet": 3, "above and below capacity": 3, "bursts": 3}
	if !maps.Equal(better, want) {
		t.Errorf("by the pool is better for so many weights: %v, want %v", better, want)
	}
}
