package simulation

import (
	"math"
	"math/rand/v2"

	"mina-sequencer/mina/devnet"
)

// trade has others come to the market, once in a slot: as many as blocks take or more, for
// a few slots. Nobody comes any more once all faults are over.
func (s *sim) trade() {
	slot := s.Net.Slot()
	if !s.auto || slot == s.traded {
		return
	}
	s.traded = slot
	s.OK(s.Net.Trade(&devnet.Market{
		Seed: uint64(s.dice), Stays: 4,
		Arrivals: func(slot uint32) float64 { return float64(6 + s.pick(14, "arrivals", uint64(slot))) },
		Pays:     func(r *rand.Rand, _ uint32) float64 { return 0.01e9 * math.Exp(r.NormFloat64()) },
	}))
}
