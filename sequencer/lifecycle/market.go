package lifecycle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Mina: a block takes so many zkApp commands, those that pay most for each unit of their
// weight, which is one and one more for each account update. With ours among them a fee
// of 0.1 MINA on sixteen updates stands where 0.018 stands on two.

// BlockTakes is how many zkApp commands a block takes, where Policy.BlockZkapps does not say.
// Mina: since 2026 a limit that block producers set themselves, lowered for a while; 128 is what
// the protocol allows.
const BlockTakes = 12

// MaxFeeTarget is the most blocks that a fee by the market may be told to aim at.
const MaxFeeTarget = 20

const (
	// MarketLooks is how many looks at the pool are remembered. One alone shows too little:
	// what pays most is gone with each block.
	MarketLooks = 12
	// supposedWeight is what weighs what nobody has signed yet.
	supposedWeight = 8
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
	for place := half; place <= len(pays) && len(l.Ranks) < MaxFeeTarget; place += half {
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
	oldest := now.Add(-(MarketLooks + 1) * LookEvery(slot))
	n := slices.IndexFunc(m.Looks, func(l Look) bool { return l.At.Before(oldest) })
	if n < 0 {
		n = len(m.Looks)
	}
	return m.Looks[:min(n, MarketLooks)]
}

// Price is what a command has to pay for each unit of its weight, in nanomina, to be in one
// of so many blocks: 0 where the pool asks for nothing, false where nobody has looked at
// it. It outbids whoever stood at half of what these blocks take in any of the looks: the
// other half is left to those who come later and pay more.
func (m *Market) Price(now time.Time, slot time.Duration, blocks int) (price uint64, known bool) {
	looks := m.known(now, slot)
	for _, l := range looks {
		if i := min(max(blocks, 1), MaxFeeTarget) - 1; i < len(l.Ranks) {
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
	Why       QuoteReason
}

// QuoteReason is why a Quote is what it is.
type QuoteReason string

// All reasons of quotes; "" is that of a fee that goes by no market.
const (
	QuotePool    QuoteReason = "POOL"    // what the pool asks for
	QuoteFloor   QuoteReason = "FLOOR"   // the pool asks for less than the least fee
	QuoteCap     QuoteReason = "CAP"     // it asks for more than the highest
	QuoteUnknown QuoteReason = "UNKNOWN" // no node has told lately what waits
)

// Quote is the fee of a command of a weight, most being the highest that it may pay.
func (m *Market) Quote(p *Policy, now time.Time, slot time.Duration, weight int, most uint64) Quote {
	price, known := m.Price(now, slot, p.FeeTarget)
	q := Quote{PerWeight: price, Weight: max(weight, 1), Why: QuotePool}
	switch most := min(most, p.FeeMax); {
	case !known:
		q.Fee, q.Why = min(p.Fee, most), QuoteUnknown
	case price > most/uint64(q.Weight):
		q.Fee, q.Why = most, QuoteCap
	case price*uint64(q.Weight) < p.FeeMin:
		q.Fee, q.Why = min(p.FeeMin, most), QuoteFloor
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
	q := Quote{Fee: p.Fee}
	if p.FeeAuto {
		q = m.Quote(p, now, slot, cmp.Or(m.Weight, supposedWeight), p.FeeMax)
	}
	return TypeFee{Type: typ, Weight: m.Weight, Quote: q}
}

// Pays reports whether a fee pays what the market asks for: then a higher one would change
// nothing. False where nobody knows what that is.
func (q *Quote) Pays(fee uint64) bool {
	return q.Why != "" && q.Why != QuoteUnknown && fee >= q.Fee
}

// Outbid is the fee that replaces one at the same nonce: what the market asks for, and a
// hundredth more than that one at least. Where nobody knows the market it is the next rung.
func (p *Policy) Outbid(q *Quote, fee, most uint64) uint64 {
	if q.Why == "" || q.Why == QuoteUnknown {
		return min(p.Raised(fee), most)
	}
	return min(max(q.Fee, replacing(fee)), most)
}

// replacing is the least that replaces a fee at its nonce: a hundredth more.
func replacing(fee uint64) uint64 { return upTo64(fee, fee/100+1) }

func upTo64(n, more uint64) uint64 { return n + min(more, math.MaxUint64-n) }

// misplaced reports whether a fee stands at another place than the one that is owed, or pays
// more by so much that it is worth signing again.
func misplaced(fee, owed uint64) bool { return fee < owed || fee-owed > owed/4 }

// weight is what the transaction weighs as it was signed last or, before that, its type.
func (v *View) weight() int {
	for i := len(v.Txn.Attempts) - 1; i >= 0; i-- {
		if w := v.Txn.Attempts[i].Weight; w > 0 {
			return w
		}
	}
	return cmp.Or(v.Market.Weight, supposedWeight)
}

// quote is what the market asks for the next attempt; the zero one where fees go by none.
func (v *View) quote(weight int) Quote {
	if !v.Policy.FeeAuto {
		return Quote{}
	}
	return v.Market.Quote(v.Policy, v.Now, v.Tip.SlotTime, weight, v.feeMax())
}

// CodeEvicted is the word for a command that a full pool let go at once, for its fee: the node
// has none.
const CodeEvicted = "Evicted"

// codeLeastFee: it pays less than a node takes of anybody.
const codeLeastFee = "Insufficient_fee"

// TooCheap reports whether a node refuses a command by this code for its fee.
func TooCheap(code string) bool {
	return code == CodeEvicted || code == codeLeastFee || code == "Insufficient_replace_fee"
}

// bid is the fee of an attempt by the market. What replaces another pays more than that, and
// so does what follows one that paid too little, whatever the market says.
func (v *View) bid() (uint64, Quote) {
	q := v.quote(v.weight())
	switch {
	case v.Txn.Open():
		return v.beyond(v.Policy.Outbid(&q, v.Txn.highest(), v.feeMax()), false), q
	case q.Why == QuoteUnknown:
		return v.ladder(), q
	}
	return v.owed(&q), q
}

// owed is the fee that the market asks for, and more where what left last paid too little; a
// person's retry begins anew.
func (v *View) owed(q *Quote) uint64 {
	if last := v.Txn.lastOut(); last != nil && last.paidTooLittle() && v.Txn.Retries > 0 {
		return min(max(q.Fee, v.Policy.Raised(last.Fee)), v.feeMax())
	}
	return q.Fee
}

// lastOut is the latest attempt that may have been out, nil if there is none.
func (t *Transaction) lastOut() *Attempt {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := &t.Attempts[i]; a.wasOut() {
			return a
		}
	}
	return nil
}

// said is what a quote tells of the fee that an attempt pays, "" of the zero one.
func (q *Quote) said() string {
	price := FormatMina(q.PerWeight)
	switch q.Why {
	case QuotePool:
		return fmt.Sprintf("the market asked for %s MINA for each unit of weight, %d of them", price, q.Weight)
	case QuoteFloor:
		return "the market asked for less than the least fee"
	case QuoteCap:
		return fmt.Sprintf("the market asked for %s MINA for each unit of weight, %d of them, which is more than it may pay",
			price, q.Weight)
	case QuoteUnknown:
		return "no node had told lately what others pay"
	}
	return ""
}

// reprice has what was signed just now signed again, for another fee, where it weighs
// other than it was supposed to and so would stand at a wrong place. Nothing of it has left
// this process, or may: it is over, and the next attempt takes its nonce and its proof.
func (v *View) reprice(r Answer) (Step, bool) {
	a := v.Txn.Last()
	q := v.quote(r.Weight)
	fee := v.owed(&q)
	last, told := v.lastSlot()
	switch {
	case v.Local.Costly.After(v.Clock):
		return Step{}, false // it was to be, and would pass a limit
	case r.Weight <= 0 || a.Quote.Weight <= 0 || r.Weight == a.Quote.Weight, q.Why == "" || q.Why == QuoteUnknown,
		v.Txn.Open() || v.Draining || !told || v.unsent(a) != nil || !misplaced(a.Fee, fee):
		return Step{}, false
	}
	s := v.kept(r, ReasonRepricing, CauseRepriced, &Error{Code: CodeRepriced, Message: fmt.Sprintf(
		"it weighs %d and was supposed to weigh %d: %s MINA would put it at a wrong place, so it is signed again for %s",
		r.Weight, a.Quote.Weight, FormatMina(a.Fee), FormatMina(fee))})
	was := s.Txn.Last()
	s.Txn.Attempts = append(s.Txn.Attempts, Attempt{
		Number: was.Number + 1, Sender: was.Sender, Nonce: was.Nonce, Fee: fee, Quote: q, ValidUntil: last,
		Slot: v.Tip.TipSlot, Base: was.Base, State: Planned, StartedAt: v.Now,
	})
	s.Local.Taken, s.Local.NoResign = was.Number+1, false
	return s, true
}

// kept ends the attempt that was signed just now and never leaves, and keeps its bytes: the
// next one takes its proof.
func (v *View) kept(r Answer, why Reason, c Cause, e *Error) Step {
	s := v.to(PhaseDispatching, why)
	s.Txn.Losses, s.Txn.Deferred = 0, 0
	was := s.Txn.Last()
	was.Weight, was.Data = r.Weight, r.Data
	was.become(Proved, v.Now)
	was.blame(c, e)
	s.Aside.Bytes = &BytesRead{Number: was.Number, Command: r.Signed}
	s.Local.Asked = Asked{Sender: v.Local.Asked.Sender, Among: v.Local.Asked.Among, Bytes: s.Aside.Bytes}
	return s
}

// mayReprice reports whether an attempt is planned that may come to be signed again.
func (v *View) mayReprice() bool {
	a := v.Txn.Last()
	return v.Policy.FeeAuto && a != nil && a.Pending()
}

// unsent is the attempt before a, where a is to be signed with the proof of that one.
func (v *View) unsent(a *Attempt) *Attempt {
	was := v.Txn.Attempt(a.Number - 1)
	for was != nil && was.State == Dropped && (was.Cause == NoCause || was.Cause == CauseHeld) {
		was = v.Txn.Attempt(was.Number - 1)
	}
	switch {
	case was == nil || was.Sender != a.Sender:
	case was.provedAhead() && v.Train.Commuting,
		was.Cause == CauseRepriced && was.Nonce == a.Nonce && was.Base == a.Base,
		was.stalled() && was.State == Expired && was.Nonce == a.Nonce && was.Base == a.Base:
		return was // a proof is good for what it was made upon
	}
	return nil
}

// make has a planned attempt made: signed again where there is a proof for it, else proved.
func (v *View) make(a *Attempt) Step {
	was, bytes := v.unsent(a), v.Local.Asked.Bytes
	switch {
	case was == nil || v.Local.NoResign:
	case bytes == nil:
		return v.ask(AskBytes, ReasonProving)
	case bytes.Command != nil && bytes.Number == was.Number:
		return v.do(Effect{Kind: Resign, Number: a.Number}, ReasonProving)
	}
	if v.apart() {
		return v.wait(ReasonBehind)
	}
	return v.do(Effect{Kind: Prove, Number: a.Number}, ReasonProving)
}
