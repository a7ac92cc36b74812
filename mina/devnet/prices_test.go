package devnet_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mina-sequencer/mina/devnet"
)

// An offer waits for a block.
type offer struct {
	perWeight float64
	until     uint32
}

// A bidder is somebody of ours who wants a command in: what is offered for each unit of its
// weight, by what the pool showed, the best first, and after how many raises.
type bidder struct {
	name string
	bid  func(looks [][]offer, weight float64, raises int, last float64) float64
}

const (
	feeMin, feeMax = 0.01e9, 5e9
	blockTakes     = devnet.DefaultMaxZkapps
	target         = 2 // blocks
	raiseAfter     = 5 // slots
)

// constant is a fee that knows no weight, half as much again with each raise.
func constant(mina float64) bidder {
	return bidder{fmt.Sprint(mina), func(_ [][]offer, weight float64, raises int, last float64) float64 {
		if raises == 0 {
			return mina * 1e9 / weight
		}
		return min(1.5*last, feeMax/weight)
	}}
}

// byPool goes by the last looks at the pool, for each look at the place that the next block
// ends with: it outbids whoever stood there in any of them, within floor and cap. One look
// alone shows too little: what pays most is gone with each block.
func byPool(memory int) bidder {
	return bidder{"auto", func(looks [][]offer, weight float64, _ int, last float64) float64 {
		want := feeMin / weight
		for _, pool := range looks[max(0, len(looks)-memory):] {
			if len(pool) >= blockTakes {
				want = max(want, 1.01*pool[blockTakes-1].perWeight)
			}
		}
		return min(max(want, last), feeMax/weight)
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
		to        *result
		b         bidder
		weight    float64
		perWeight float64
		sent      uint32
		blocks    int
		raises    int
	}
	results := map[string]*result{}
	fill := rand.New(rand.NewPCG(m.Seed, 99))
	var pool, before []offer
	var looks [][]offer
	var waiting []*ours
	for slot := range uint32(960 + 200) {
		// A look in the middle of the slot shows half of what comes in it.
		var half []offer
		for i, p := range m.Plans(slot) {
			until := p.ValidUntil
			if until == 0 {
				until = 1 << 30
			}
			pool = append(pool, offer{float64(p.Fee) / float64(1+len(p.Updates)), until})
			if i%2 == 0 {
				half = append(half, pool[len(pool)-1])
			}
		}
		look := append(slices.Clone(before), half...)
		slices.SortFunc(look, func(a, b offer) int { return int(b.perWeight) - int(a.perWeight) })
		looks = append(looks[max(0, len(looks)-60):], look)
		for _, b := range bidders {
			for _, n := range updates {
				key := fmt.Sprint(b.name, " ", n)
				if results[key] == nil {
					results[key] = &result{}
				}
				if slot < 960 {
					weight := float64(1 + n)
					waiting = append(waiting, &ours{to: results[key], b: b, weight: weight, sent: slot,
						perWeight: b.bid(looks, weight, 0, 0)})
				}
			}
		}
		for _, o := range waiting {
			if since := slot - o.sent; since > 0 && since%raiseAfter == 0 {
				o.raises++
				o.perWeight = o.b.bid(looks, o.weight, o.raises, o.perWeight)
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
			if o.perWeight <= least {
				return false
			}
			o.to.blocks = append(o.to.blocks, o.blocks)
			o.to.spent += o.perWeight * o.weight / 1e9
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

// TestPrices shows what a fee by the pool buys beside constants, on markets that were fixed
// before. The rows that say so are those on which it is within its target for nine of ten,
// at less than the cheapest constant that does as well.
func TestPrices(t *testing.T) {
	t.Parallel()
	bidders := []bidder{byPool(12), constant(0.1), constant(0.5), constant(2)}
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
	// On a dear day it falls short of nine of ten, for 16 updates by the cap; where offers are
	// empty the pool says nothing, and it pays 13 times what the least constant does.
	want := map[string]int{"quiet": 3, "above and below capacity": 3, "bursts": 3}
	if !maps.Equal(better, want) {
		t.Errorf("by the pool is better for so many weights: %v, want %v", better, want)
	}
}
