package devledger

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// Dice plan faults from a seed. What happens to a call follows from the seed,
// the ledger and the call alone, not from the order in which calls come.
type Dice struct {
	Seed uint64
	// Trouble is the share of calls whose request or answer goes wrong, Fates
	// that of batches that end badly however often they are posted: INVALID, or
	// without a verdict. Both from 0 to 1.
	Trouble, Fates float64
}

// longest is how late at most the dice deliver what they delay.
const longest = 2 * time.Minute

// Plan is the dice as a Plan.
func (d Dice) Plan(c Call) *Fault {
	first := ""
	if len(c.Batches) > 0 {
		first = c.Batches[0]
	}
	var fault *Fault
	if rng := d.roll(c.Ledger, c.On, first, strconv.Itoa(c.N)); rng.Float64() < d.Trouble {
		fault = trouble(rng, c)
	}
	if rng := d.roll(c.Ledger, "fate", first); c.On == Post && rng.Float64() < d.Fates {
		if fault == nil {
			fault = &Fault{}
		}
		fault.Fate = []string{Invalid, Stuck, Lost}[rng.IntN(3)]
		fault.Message = "the dice say no"
	}
	return fault
}

func (d Dice) roll(words ...string) *rand.Rand {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write(append([]byte(w), 0)) // a hash takes everything
	}
	return rand.New(rand.NewPCG(d.Seed, h.Sum64()))
}

// trouble is one of those that ledgers are known for.
func trouble(rng *rand.Rand, c Call) *Fault {
	some := time.Duration(rng.Int64N(int64(longest)))
	little := some / 20
	table := []Fault{
		{Answer: Cut, Wait: little},
		{Answer: Hang},
		{Wait: some},
		{Status: 504, Wait: little},
		{Status: 503},
		{Status: 500},
	}
	if c.On == Status {
		table = append(table, Fault{Answer: Unknown})
	} else {
		table = append(table,
			Fault{Answer: Cut, Drop: true},
			Fault{Answer: Hang, Drop: true},
			Fault{Status: 502, Drop: true},
			Fault{Answer: Cut, Delay: some},
			Fault{Status: 504, Delay: some, Wait: little},
			Fault{Delay: some},
		)
	}
	switch {
	case c.Ledger == KindSawtooth && c.On == Post:
		table = append(table,
			Fault{Status: 429, Code: 31, Drop: true},
			Fault{Status: 408, Code: 19, Drop: true, Wait: sending},
			Fault{Status: 503, Code: 17, Wait: little},
			Fault{Status: 503, Code: 17, Wait: little, Drop: true},
			Fault{Status: 503, Code: 18},
			Fault{Status: 503, Code: 18, Drop: true},
			Fault{Status: 503, Code: 18, Delay: some},
			Fault{Status: 500, Code: 20},
			Fault{Status: 500, Code: 10, Drop: true},
		)
	case c.Ledger == KindSawtooth:
		table = append(table, Fault{Status: 503, Code: 18}, Fault{Status: 500, Code: 27})
	case c.On == Post:
		table = append(table, Fault{Status: 429, Drop: true}, Fault{Status: 404, Drop: true})
	}
	return &table[rng.IntN(len(table))]
}
