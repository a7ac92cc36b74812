package fees

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

var now = time.Unix(1_800_000_000, 0)

// offers are so many, which pay from most down to 1 for each unit of a weight.
func offers(most uint64, weight int) (all []Offer) {
	for pays := uint64(1); pays <= most; pays++ { // in no order that helps
		all = append(all, Offer{Fee: pays * uint64(weight), Weight: weight})
	}
	return all
}

// TestNewLook: offers are ranked by what they pay for each unit of weight, at the end of
// each half block.
func TestNewLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offers []Offer
		want   []uint64
	}{
		"nobody":           {nil, nil},
		"less than half":   {offers(5, 3), nil},
		"half a block":     {offers(6, 3), []uint64{1}},
		"more":             {offers(17, 3), []uint64{12, 6}},
		"by weight":        {append(offers(11, 1), Offer{Fee: 50, Weight: 100}), []uint64{6, 0}},
		"weighing nothing": {append(offers(5, 1), Offer{Fee: 9}), []uint64{1}},
	} {
		l := NewLook(now, 99, c.offers, BlockTakes)
		if fmt.Sprint(l.Ranks) != fmt.Sprint(c.want) || l.At != now || l.Size != 99 {
			t.Errorf("%s: %+v, want %v", name, l, c.want)
		}
	}
	for takes, want := range map[int]string{24: "[29 17 5]", 1: fmt.Sprint(NewLook(now, 40, offers(40, 2), 2).Ranks)} {
		if l := NewLook(now, 40, offers(40, 2), takes); fmt.Sprint(l.Ranks) != want {
			t.Errorf("blocks of %d: %v, want %s", takes, l.Ranks, want)
		}
	}
	l := NewLook(now, 3000, offers(3000, 2), BlockTakes)
	if len(l.Ranks) != MaxTarget || l.Ranks[MaxTarget-1] != 2881 {
		t.Errorf("of 3,000: %v", l.Ranks)
	}
}

// others is a market with looks of so many minutes ago, each with these ranks.
func others(ranks ...uint64) func(ago ...int) *Market {
	return func(ago ...int) *Market {
		m := &Market{}
		for _, n := range ago {
			m.Looks = append(m.Looks, Look{At: now.Add(-time.Duration(n) * time.Minute), Size: 40, Ranks: ranks})
		}
		return m
	}
}

// TestPrice: whoever stood at half of the blocks aimed at is outbid by a hundredth, in any of
// the last twelve looks that is not too old.
func TestPrice(t *testing.T) {
	t.Parallel()
	var many []uint64 // 30 and downward, of which the twentieth is 11
	for n := range uint64(30) {
		many = append(many, 30-n)
	}
	rising := &Market{}
	for n := range 14 {
		rising.Looks = append(rising.Looks, Look{At: now.Add(-time.Duration(n) * time.Minute), Ranks: []uint64{0,
			uint64(1000 * n)}})
	}
	for name, c := range map[string]struct {
		market *Market
		slot   time.Duration
		blocks int
		want   uint64
		known  bool
	}{
		"nobody looked": {&Market{}, time.Minute, 2, 0, false},
		"in a block":    {others(900, 800, 700)(0), time.Minute, 1, 910, true},
		"in two":        {others(900, 800, 700)(0), time.Minute, 2, 809, true},
		"in three":      {others(900, 800, 700)(0), time.Minute, 3, 708, true},
		"fewer wait":    {others(900, 800, 700)(0), time.Minute, 4, 0, true},
		"in none":       {others(900, 800)(0), time.Minute, 0, 910, true},
		"in many":       {others(many...)(0), time.Minute, 30, 12, true},
		"the dearest of all": {&Market{Looks: append(others(0, 10)(0).Looks, others(0, 500)(3).Looks...)}, time.Minute, 2,
			506, true},
		"as old as may be":    {others(0, 800)(13), time.Minute, 2, 809, true},
		"too old":             {others(0, 800)(14), time.Minute, 2, 0, false},
		"of slots of minutes": {others(0, 800)(39), 3 * time.Minute, 2, 809, true},
		"of shorter slots":    {others(0, 800)(13), time.Second, 2, 809, true},
		"the twelve last":     {rising, 3 * time.Minute, 2, 11111, true},
		"as dear as can be":   {others(0, math.MaxUint64)(0), time.Minute, 2, math.MaxUint64, true},
	} {
		if got, known := c.market.Price(now, c.slot, c.blocks); got != c.want || known != c.known {
			t.Errorf("%s: %d %t, want %d %t", name, got, known, c.want, c.known)
		}
	}
}

// TestQuote: a fee by the market is the price for each unit of weight, between the floor and
// the cap, and says which of them it is.
func TestQuote(t *testing.T) {
	t.Parallel()
	p := &Policy{Auto: true, Usual: 100, Least: 50, Most: 300, Target: 2}
	for name, c := range map[string]struct {
		market *Market
		weight int
		most   uint64
		want   Quote
	}{
		"others pay":           {others(0, 29)(0), 3, 300, Quote{90, 30, 3, Pool}},
		"as much as the floor": {others(0, 24)(0), 2, 300, Quote{50, 25, 2, Pool}},
		"less":                 {others(0, 23)(0), 2, 300, Quote{50, 24, 2, Floor}},
		"nobody waits":         {others()(0), 9, 300, Quote{50, 0, 9, Floor}},
		"as much as the cap":   {others(0, 29)(0), 10, 300, Quote{300, 30, 10, Pool}},
		"more":                 {others(0, 29)(0), 11, 300, Quote{300, 30, 11, Cap}},
		"more than it may":     {others(0, 29)(0), 3, 89, Quote{89, 30, 3, Cap}},
		"above any cap":        {others(0, 29)(0), 11, math.MaxUint64, Quote{300, 30, 11, Cap}},
		"below the floor":      {others()(0), 3, 40, Quote{40, 0, 3, Floor}},
		"nobody knows":         {&Market{}, 3, 300, Quote{100, 0, 3, Unknown}},
		"nor may it pay that":  {&Market{}, 3, 70, Quote{70, 0, 3, Unknown}},
		"weighs nothing":       {others(0, 59)(0), 0, 300, Quote{60, 60, 1, Pool}},
		"dear beyond numbers": {others(0, math.MaxUint64)(0), 1 << 40, math.MaxUint64, Quote{300, math.MaxUint64, 1 << 40,
			Cap}},
	} {
		if got := c.market.Quote(p, now, time.Minute, c.weight, c.most); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for fee, want := range map[uint64]string{0: "misplaced", 89: "misplaced", 90: "pays", 112: "pays",
		113: "misplaced pays"} {
		q, got := Quote{Fee: 90, Why: Pool}, ""
		if Misplaced(fee, q.Fee) {
			got = "misplaced"
		}
		if q.Pays(fee) {
			got = strings.TrimSpace(got + " pays")
		}
		if got != want {
			t.Errorf("%d where %d is asked for: %q, want %q", fee, q.Fee, got, want)
		}
	}
	if q := (Quote{Why: Unknown}); q.Pays(1000) || (&Quote{}).Pays(1000) {
		t.Error("pays what nobody knows")
	}
}

// TestTypeFee: a type that no worker has signed is supposed to weigh something, and a fee by
// no market knows no weight.
func TestTypeFee(t *testing.T) {
	t.Parallel()
	p := &Policy{Usual: 100, Most: 300}
	if f := others(0, 29)(0).TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 0, Quote{Fee: 100}}) {
		t.Errorf("by no market: %+v", f)
	}
	p.Auto, p.Least, p.Target = true, 50, 2
	m := others(0, 29)(0)
	if f := m.TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 0, Quote{240, 30, SupposedWeight, Pool}}) {
		t.Errorf("nobody has signed it: %+v", f)
	}
	m.Weight = 3
	if f := m.TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 3, Quote{90, 30, 3, Pool}}) {
		t.Errorf("it weighs 3: %+v", f)
	}
}

// TestRaised: each retry pays more by the factor, never above the cap, and always more than
// before below it.
func TestRaised(t *testing.T) {
	t.Parallel()
	p := &Policy{}
	for _, c := range []struct{ fee, bump, cap, want float64 }{
		{100, 1.5, 300, 150}, {150, 1.5, 300, 225}, {225, 1.5, 300, 300}, {300, 1.5, 300, 300}, {101, 1.5, 300, 152},
		{100, 1, 300, 101}, {1, 1.01, 300, 2}, {0, 1.5, 300, 1}, {299, 1, 300, 300},
	} {
		p.Bump, p.Most = c.bump, uint64(c.cap)
		if got := p.Raised(uint64(c.fee)); got != uint64(c.want) {
			t.Errorf("%v raised by %v, at most %v: %d, want %v", c.fee, c.bump, c.cap, got, c.want)
		}
	}
	for _, p.Bump = range []float64{1, 100} {
		for _, limit := range []uint64{1 << 53, math.MaxInt64, math.MaxUint64} {
			p.Most = limit
			if got := p.Raised(math.MaxUint64); got != limit {
				t.Errorf("the highest fee raised by %v, at most %d: %d", p.Bump, limit, got)
			}
		}
	}
}

// TestFormatMina: amounts are as short as they are exact.
func TestFormatMina(t *testing.T) {
	t.Parallel()
	for nano, want := range map[uint64]string{
		0: "0", 1: "0.000000001", 100_000_000: "0.1", NanoPerMina: "1", 10 * NanoPerMina: "10", 11 * NanoPerMina: "11",
		1_050_000_000: "1.05", 12_000_000_034: "12.000000034", 1<<64 - 1: "18446744073.709551615",
	} {
		if got := FormatMina(nano); got != want {
			t.Errorf("%d nanomina: %s, want %s", nano, got, want)
		}
	}
}
