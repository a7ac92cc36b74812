package devnet

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A Market is other people's zkApp commands: how many come in a slot, what they weigh and
// pay, and for how long they stay. It is the same for the same seed.
type Market struct {
	Name string
	Seed uint64
	// Arrivals is how many come in a slot, on average.
	Arrivals func(slot uint32) float64
	// Pays is what one offers for each unit of its weight, nanomina.
	Pays func(r *rand.Rand, slot uint32) float64
	// Stays is for how many slots one may be included, 0 for as long as it takes.
	Stays uint32
}

// A day of Mina, in slots.
const marketDay = 960

// Markets are days that are known beforehand: what is to do well on them can be measured,
// and not be made to fit. A block takes twelve commands, and three slots of four have one:
// nine commands a slot are what the chain takes.
func Markets() []Market {
	busy := func(slot uint32) float64 { return 9 * (1 + 0.35*math.Sin(2*math.Pi*float64(slot)/marketDay)) }
	usual := paysAbout(0.03, 1)
	return []Market{
		{Name: "quiet", Seed: 1, Arrivals: func(uint32) float64 { return 4 }, Pays: usual},
		{Name: "above and below capacity", Seed: 2, Arrivals: busy, Pays: usual, Stays: 120},
		{Name: "bursts", Seed: 3, Pays: paysAbout(0.05, 0.8), Stays: 80, Arrivals: func(slot uint32) float64 {
			if slot%160 < 12 {
				return 36 // a mint, or an airdrop
			}
			return 5
		}},
		{Name: "rising prices", Seed: 4, Arrivals: busy, Pays: paysAbout(0.3, 0.6), Stays: 120},
		// Here whoever goes by the pool loses: every eight slots it fills with large offers
		// that end with the next one, most of them untaken, and a little later a place costs
		// what it costs on a quiet day.
		{Name: "spoofed bids", Seed: 5, Stays: 1, Arrivals: func(slot uint32) float64 {
			if slot%8 == 0 {
				return 60
			}
			return 3
		}, Pays: func(r *rand.Rand, slot uint32) float64 {
			if slot%8 == 0 {
				return 4e8 * (0.8 + 0.4*r.Float64())
			}
			return usual(r, slot)
		}},
	}
}

// paysAbout is MINA for each unit of weight, spread as prices are.
func paysAbout(median, spread float64) func(*rand.Rand, uint32) float64 {
	return func(r *rand.Rand, _ uint32) float64 { return median * 1e9 * math.Exp(spread*r.NormFloat64()) }
}

// Plans are the commands that come in a slot, of payers whom nobody else uses.
func (m *Market) Plans(slot uint32) []Plan {
	r := rand.New(rand.NewPCG(m.Seed, uint64(slot))) //nolint:gosec // the same each time
	count := 0
	for left := m.Arrivals(slot) - r.ExpFloat64(); left > 0; left -= r.ExpFloat64() {
		count++ // as many as come at this rate by chance
	}
	plans := make([]Plan, count)
	for i := range plans {
		updates := []int{1, 2, 2, 3, 5, 8, 12, 16}[r.IntN(8)]
		p := &plans[i]
		p.Payer = Key(1<<32 + m.Seed<<24 + uint64(slot)<<8 + uint64(i))
		p.Fee = max(uint64(m.Pays(r, slot)*float64(1+updates)), DefaultMinFee)
		if m.Stays > 0 {
			p.ValidUntil = slot + m.Stays
		}
		for range updates {
			p.Updates = append(p.Updates, Update{Account: p.Payer})
		}
	}
	return plans
}

// Trade puts the commands that come in the current slot of a market into the pools.
func (n *Network) Trade(m *Market) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all *commandInput // one is written and read, for all: they differ in nothing else than what is set here
	for _, p := range m.Plans(n.now()) {
		if all == nil {
			raw, err := Build(Plan{Payer: p.Payer, Updates: p.Updates[:1], ValidUntil: p.ValidUntil})
			if err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &all); err != nil {
				return fmt.Errorf("of a market: %w", err)
			}
		}
		in, update := new(*all), all.AccountUpdates[0]
		in.FeePayer.Body.PublicKey, update.Body.PublicKey = text(p.Payer), text(p.Payer)
		in.FeePayer.Body.Fee = text(strconv.FormatUint(p.Fee, 10))
		in.AccountUpdates = slices.Repeat([]updateInput{update}, len(p.Updates))
		c, err := newZkapp(in)
		if err != nil {
			return fmt.Errorf("of a market: %w", err)
		}
		// What the pool does not take at this price is not the market's concern.
		_ = n.nodes[0].admit(c)
	}
	return nil
}
