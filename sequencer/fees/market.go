package fees

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Mina: a block takes so many zkApp commands, those that pay most for each unit of their
// weight, which is one and one more for each account update. With ours among them a fee
// of 0.1 MINA on sixteen updates stands where 0.018 stands on two.

// BlockTakes is how many zkApp commands a block takes, where SEQUENCER_BLOCK_ZKAPPS does not say.
// Mina: since 2026 a limit that block producers set themselves, lowered for a while; 128 is what
// the protocol allows.
const BlockTakes = 12

// MaxTarget is the most blocks that a fee by the market may be told to aim at.
const MaxTarget = 20

const (
	// Looks is how many looks at the pool are remembered. One alone shows too little:
	// what pays most is gone with each block.
	Looks = 12
	// SupposedWeight is what weighs what nobody has signed yet.
	SupposedWeight = 8
)

// LookEvery is how often the pool is looked at: once a slot, and at most once a minute.
func LookEvery(slot time.Duration) time.Duration { return max(slot, time.Minute) }

// An Offer is a command of somebody else that waits for a block.
type Offer struct {
	Fee    uint64 // nanomina
	Weight int    // 1 + account updates
}

// A Look is what a pool showed at one time.
type Look struct {
	At   time.Time // by the clock of Redis
	Size int       // of the pool: commands of any kind
	// Ranks is what others pay for each unit of weight, nanomina, at the end of half a
	// block, of one, and so on by halves; shorter where fewer wait.
	Ranks []uint64
}

// NewLook ranks what others offer for blocks that take so many. It keeps none of the offers.
func NewLook(at time.Time, size int, offers []Offer, takes int) Look {
	pays := make([]uint64, len(offers))
	for i, o := range offers {
		pays[i] = o.Fee / uint64(max(o.Weight, 1))
	}
	slices.SortFunc(pays, func(a, b uint64) int { return cmp.Compare(b, a) })
	l := Look{At: at, Size: size}
	half := max(takes/2, 1)
	for place := half; place <= len(pays) && len(l.Ranks) < MaxTarget; place += half {
		l.Ranks = append(l.Ranks, pays[place-1])
	}
	return l
}

// A Market is what is known of what others pay, and of what a transaction weighs.
type Market struct {
	Looks  []Look // the latest first
	Weight int    // of its type, as its workers signed last; 0 if none has
}

// known are the looks that still say something.
func (m *Market) known(now time.Time, slot time.Duration) []Look {
	oldest := now.Add(-(Looks + 1) * LookEvery(slot))
	n := slices.IndexFunc(m.Looks, func(l Look) bool { return l.At.Before(oldest) })
	if n < 0 {
		n = len(m.Looks)
	}
	return m.Looks[:min(n, Looks)]
}

// Price is what a command has to pay for each unit of its weight, in nanomina, to be in one
// of so many blocks: 0 where the pool asks for nothing, false where nobody has looked at
// it. It outbids whoever stood at half of what these blocks take in any of the looks: the
// other half is left to those who come later and pay more.
func (m *Market) Price(now time.Time, slot time.Duration, blocks int) (price uint64, known bool) {
	looks := m.known(now, slot)
	for _, l := range looks {
		if i := min(max(blocks, 1), MaxTarget) - 1; i < len(l.Ranks) {
			price = max(price, upTo64(l.Ranks[i], l.Ranks[i]/100+1))
		}
	}
	return price, len(looks) > 0
}

// A Quote is what a fee was estimated from.
type Quote struct {
	Fee       uint64 // nanomina, within floor and cap
	PerWeight uint64 // that the market asked for, before floor and cap
	Weight    int    // that was supposed
	Why       Reason
}

// Reason is why a Quote is what it is.
type Reason string

// All reasons of quotes; "" is that of a fee that goes by no market.
const (
	Pool    Reason = "POOL"    // what the pool asks for
	Floor   Reason = "FLOOR"   // the pool asks for less than the least fee
	Cap     Reason = "CAP"     // it asks for more than the highest
	Unknown Reason = "UNKNOWN" // no node has told lately what waits
)

// Quote is the fee of a command of a weight, most being the highest that it may pay.
func (m *Market) Quote(p *Policy, now time.Time, slot time.Duration, weight int, most uint64) Quote {
	price, known := m.Price(now, slot, p.Target)
	q := Quote{PerWeight: price, Weight: max(weight, 1), Why: Pool}
	switch most := min(most, p.Most); {
	case !known:
		q.Fee, q.Why = min(p.Usual, most), Unknown
	case price > most/uint64(q.Weight):
		q.Fee, q.Why = most, Cap
	case price*uint64(q.Weight) < p.Least:
		q.Fee, q.Why = min(p.Least, most), Floor
	default:
		q.Fee = price * uint64(q.Weight)
	}
	return q
}

// A TypeFee is what the first attempt of a type would pay now.
type TypeFee struct {
	Type   string
	Weight int // as its workers signed last; 0 if none has
	Quote  Quote
}

// TypeFee is that of a type, of which m knows the weight.
func (m *Market) TypeFee(typ string, p *Policy, now time.Time, slot time.Duration) TypeFee {
	q := Quote{Fee: p.Usual}
	if p.Auto {
		q = m.Quote(p, now, slot, cmp.Or(m.Weight, SupposedWeight), p.Most)
	}
	return TypeFee{Type: typ, Weight: m.Weight, Quote: q}
}

// Pays reports whether a fee pays what the market asks for: then a higher one would change
// nothing. False where nobody knows what that is.
func (q *Quote) Pays(fee uint64) bool {
	return q.Why != "" && q.Why != Unknown && fee >= q.Fee
}

// Said is what a quote tells of the fee that an attempt pays, "" of the zero one.
func (q *Quote) Said() string {
	price := FormatMina(q.PerWeight)
	switch q.Why {
	case Pool:
		return fmt.Sprintf("the market asked for %s MINA for each unit of weight, %d of them", price, q.Weight)
	case Floor:
		return "the market asked for less than the least fee"
	case Cap:
		return fmt.Sprintf("the market asked for %s MINA for each unit of weight, %d of them, which is more than it may pay",
			price, q.Weight)
	case Unknown:
		return "no node had told lately what others pay"
	}
	return ""
}
