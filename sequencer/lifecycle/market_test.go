package lifecycle

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

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
	if len(l.Ranks) != MaxFeeTarget || l.Ranks[MaxFeeTarget-1] != 2881 {
		t.Errorf("of 3,000: %v", l.Ranks)
	}
}

// others is a market with looks of so many minutes ago, each with these ranks.
func others(ranks ...uint64) func(ago ...int) *Market {
	return func(ago ...int) *Market {
		m := &Market{}
		for _, n := range ago {
			m.Looks = append(m.Looks, Look{At: now.Add(-minutes(n)), Size: 40, Ranks: ranks})
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
	p := testPolicy()
	p.FeeAuto, p.FeeMin, p.FeeTarget = true, 50, 2
	for name, c := range map[string]struct {
		market *Market
		weight int
		most   uint64
		want   Quote
	}{
		"others pay":           {others(0, 29)(0), 3, 300, Quote{90, 30, 3, QuotePool}},
		"as much as the floor": {others(0, 24)(0), 2, 300, Quote{50, 25, 2, QuotePool}},
		"less":                 {others(0, 23)(0), 2, 300, Quote{50, 24, 2, QuoteFloor}},
		"nobody waits":         {others()(0), 9, 300, Quote{50, 0, 9, QuoteFloor}},
		"as much as the cap":   {others(0, 29)(0), 10, 300, Quote{300, 30, 10, QuotePool}},
		"more":                 {others(0, 29)(0), 11, 300, Quote{300, 30, 11, QuoteCap}},
		"more than it may":     {others(0, 29)(0), 3, 89, Quote{89, 30, 3, QuoteCap}},
		"above any cap":        {others(0, 29)(0), 11, math.MaxUint64, Quote{300, 30, 11, QuoteCap}},
		"below the floor":      {others()(0), 3, 40, Quote{40, 0, 3, QuoteFloor}},
		"nobody knows":         {&Market{}, 3, 300, Quote{100, 0, 3, QuoteUnknown}},
		"nor may it pay that":  {&Market{}, 3, 70, Quote{70, 0, 3, QuoteUnknown}},
		"weighs nothing":       {others(0, 59)(0), 0, 300, Quote{60, 60, 1, QuotePool}},
		"dear beyond numbers": {others(0, math.MaxUint64)(0), 1 << 40, math.MaxUint64, Quote{300, math.MaxUint64, 1 << 40,
			QuoteCap}},
	} {
		if got := c.market.Quote(p, now, time.Minute, c.weight, c.most); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for fee, want := range map[uint64]string{0: "misplaced", 89: "misplaced", 90: "pays", 112: "pays",
		113: "misplaced pays"} {
		q, got := Quote{Fee: 90, Why: QuotePool}, ""
		if misplaced(fee, q.Fee) {
			got = "misplaced"
		}
		if q.Pays(fee) {
			got = strings.TrimSpace(got + " pays")
		}
		if got != want {
			t.Errorf("%d where %d is asked for: %q, want %q", fee, q.Fee, got, want)
		}
	}
	if q := (Quote{Why: QuoteUnknown}); q.Pays(1000) || (&Quote{}).Pays(1000) {
		t.Error("pays what nobody knows")
	}
}

// auto has fees go by a market in which 30 are asked for each unit of weight, unless looks
// say otherwise.
func auto(weight int, looks ...Look) change {
	return func(v *View) {
		v.Policy.FeeAuto, v.Policy.FeeMin, v.Policy.FeeTarget = true, 50, 2
		v.Market = *others(0, 29)(1)
		if len(looks) > 0 {
			v.Market.Looks = looks
		}
		v.Market.Weight = weight
	}
}

func weighing(n int) func(*Attempt) { return func(a *Attempt) { a.Weight = n } }

func supposed(n int) func(*Attempt) {
	return func(a *Attempt) { a.Quote = Quote{Fee: a.Fee, PerWeight: 30, Weight: n, Why: QuotePool} }
}

// TestBid: every way to a fee by the market.
func TestBid(t *testing.T) {
	t.Parallel()
	ended := func(how AttemptState, code string) *Transaction {
		return txn(PhaseDispatching, try(how, over, failedBy(code)), retried(1))
	}
	unknown := auto(3, Look{At: now.Add(-time.Hour * 24)})
	for name, c := range map[string]struct {
		in   *Transaction
		by   change
		want uint64
		why  QuoteReason
	}{
		"the first":                {txn(PhaseDispatching), auto(3), 90, QuotePool},
		"of a type that is new":    {txn(PhaseDispatching), auto(0), 240, QuotePool},
		"of one that may pay less": {txn(PhaseDispatching, func(t *Transaction) { t.MaxFee = 80 }), auto(3), 80, QuoteCap},
		"nobody knows":             {txn(PhaseDispatching), unknown, 100, QuoteUnknown},
		"a retry, nobody knows":    {txn(PhaseDispatching, try(Expired, over), retried(1)), unknown, 150, QuoteUnknown},
		"failed in a block": {txn(PhaseDispatching, try(FailedIn, over, fee(200)), retried(1)), auto(3), 90,
			QuotePool},
		"expired": {txn(PhaseDispatching, try(Expired, over), retried(1)), auto(3), 150, QuotePool},
		"expired, and a person has it tried again": {txn(PhaseDispatching, try(Expired, over, fee(200))), auto(3), 90, QuotePool},
		"expired, and others pay": {txn(PhaseDispatching, try(Expired, over, fee(20)), retried(1)), auto(3), 90,
			QuotePool},
		"failed in a block, nobody knows": {txn(PhaseDispatching, try(FailedIn, over, fee(160)), retried(1)), unknown, 240,
			QuoteUnknown},
		"refused for its fee":             {ended(Refused, "Insufficient_fee"), auto(3), 150, QuotePool},
		"evicted":                         {ended(Refused, "Evicted"), auto(3), 150, QuotePool},
		"refused for its nonce":           {ended(Refused, "Invalid_nonce"), auto(3), 90, QuotePool},
		"failed, and the word is a fee's": {ended(FailedIn, "Evicted"), auto(3), 90, QuotePool},
		"expired, and planned since": {txn(PhaseDispatching, try(Expired, over), try(Planned, over, fee(150)), retried(1),
			losses(1)), auto(3), 150, QuotePool},
		"expired, and signed for nothing since": {txn(PhaseDispatching, try(Expired, over),
			try(Planned, over, fee(150), failedBy(CodeRepriced)), retried(1)), auto(3), 150, QuotePool},
		"something open": {txn(PhaseDispatching, try(Unknown)), auto(3), 102, QuotePool},
		"open, and one refused there for its fee": {txn(PhaseDispatching, try(Unknown), try(Refused, over, fee(180),
			failedBy("Insufficient_fee")), retried(1)), auto(3), 270, QuotePool},
		"open, and others pay": {txn(PhaseDispatching, try(Unknown, fee(60))), auto(3), 90, QuotePool},
		"open, nobody knows":   {txn(PhaseDispatching, try(Unknown)), unknown, 150, QuoteUnknown},
		"at the cap":           {txn(PhaseDispatching, try(Unknown, fee(299))), auto(3), 300, QuotePool},
		"by what was signed": {txn(PhaseDispatching, try(Refused, over, weighing(2)), retried(1)), auto(3), 60,
			QuotePool},
		"signed, and weighs least": {txn(PhaseDispatching, try(Refused, over, weighing(1)), retried(1)),
			auto(3), 50, QuoteFloor},
		"no worker took the last on": {txn(PhaseDispatching, try(Planned, over, fee(200)), retried(1), deferrals(1)),
			auto(3), 90, QuotePool},
		"of what was signed at first": {txn(PhaseDispatching, try(Refused, over, weighing(2)), try(Planned, over),
			retried(1)), auto(3), 60, QuotePool},
	} {
		got, quote := view(c.in, c.by).fee()
		if got != c.want || quote.Why != c.why {
			t.Errorf("%s: %d %s, want %d %s", name, got, quote.Why, c.want, c.why)
		}
	}
	if _, quote := view(txn(PhaseDispatching)).fee(); quote != (Quote{}) {
		t.Errorf("a fee by no market was estimated: %+v", quote)
	}
	v := view(txn(PhaseDispatching), auto(3), asked(&Sender{Next: new(uint32(7)), Seen: new(uint32(7)), Greeted: true}))
	if s := Decide(v); s.Txn == nil || s.Txn.Last().Quote != (Quote{90, 30, 3, QuotePool}) || s.Txn.Last().Fee != 90 {
		t.Errorf("planned: %s %+v", told(v, s), s.Txn)
	}
}

// TestNothingTried: where nothing is open nothing has been offered there.
func TestNothingTried(t *testing.T) {
	t.Parallel()
	if fee := txn(PhaseFailing, try(Refused, over, failedBy(CodeEvicted))).tried(); fee != 0 {
		t.Error(fee)
	}
}

// TestReprice: what weighs other than it was supposed to is signed again before it leaves,
// once, and only where its fee puts it at a wrong place.
func TestReprice(t *testing.T) {
	t.Parallel()
	made := answer(Prove, 1)
	made.Signed, made.Hash, made.Data = []byte("bytes"), "5J1", []byte(`{"a":1}`)
	// 90 were planned for a weight of 3.
	plan := func(parts ...part) *Transaction {
		return txn(PhaseDispatching, append([]part{try(Planned, fee(90), supposed(3)), losses(1), deferrals(1)},
			parts...)...)
	}
	const again = "repricing; DISPATCHING, BLOCKED; 1 proved 7@90; 2 planned 7@%d; keep bytes of 1"
	sent := "answered; REVISION, INCLUSION; 1 signed 7@90; keep bytes of 1; confirm"
	for name, c := range map[string]struct {
		in     *Transaction
		weight int
		by     []change
		want   string
	}{
		"as was supposed":         {plan(), 3, []change{auto(3)}, sent},
		"more":                    {plan(), 5, []change{auto(3)}, fmt.Sprintf(again, 150)},
		"less":                    {plan(), 2, []change{auto(3)}, fmt.Sprintf(again, 60)},
		"at the same place":       {plan(), 1, []change{auto(3, Look{At: now})}, fmt.Sprintf(again, 50)},
		"a little dearer":         {plan(), 4, []change{auto(3, Look{At: now, Ranks: []uint64{0, 17}})}, sent},
		"not signed, as it seems": {plan(), 0, []change{auto(3)}, sent},
		"planned by no market":    {txn(PhaseDispatching, try(Planned, fee(90))), 5, []change{auto(3)}, sent},
		"supposed to weigh least": {
			txn(PhaseDispatching, try(Planned, fee(90), supposed(1))), 5, []change{auto(3)}, fmt.Sprintf(again, 150),
		},
		"by no market":     {plan(), 5, nil, sent},
		"nobody knows":     {plan(), 5, []change{auto(3, Look{At: now.Add(-24 * time.Hour)})}, sent},
		"the process ends": {plan(), 5, []change{auto(3), func(v *View) { v.Draining = true }}, sent},
		"no node says when": {plan(func(t *Transaction) { t.ExpiresAt = now.Add(time.Hour) }), 5,
			[]change{auto(3)}, sent},
	} {
		r := made
		r.Weight = c.weight
		v := view(c.in, c.by...)
		s := Learn(v, r)
		if got := told(v, s); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	r := made
	r.Weight = 5
	behind := plan(func(t *Transaction) { t.Attempts[0].Base = "digest" })
	if is := Learn(view(behind, auto(3)), r).Txn.Last(); is.Number != 2 || is.Base != "digest" {
		t.Errorf("it is signed again upon other than what it was made upon: %+v", is)
	}
	expired := txn(PhaseDispatching, try(Expired, over, fee(180)), try(Planned, fee(270), supposed(3)), retried(1))
	second := r
	second.Call.Number = 2
	if s := Learn(view(expired, auto(3)), second); s.Reason == ReasonRepricing {
		t.Errorf("what expired is bid for less than half as much again: %s", told(view(expired), s))
	}
	v := view(plan(), auto(3), knows(func(l *Local) { l.NoResign = true })) // of an earlier attempt
	s := Learn(v, r)
	was, is := s.Txn.Attempts[0], s.Txn.Attempts[1]
	if was.Weight != 5 || string(was.Data) != `{"a":1}` || was.EndedAt != now || was.Error.Code != CodeRepriced ||
		was.Hash != "" ||
		is.Quote != (Quote{150, 30, 5, QuotePool}) || is.Slot != 300 || is.ValidUntil == 0 || is.StartedAt != now {
		t.Errorf("signed again: %+v\n%+v", was, is)
	}
	const words = "it weighs 5 and was supposed to weigh 3: 0.00000009 MINA would put it at a wrong place, " +
		"so it is signed again for 0.00000015"
	if was.Error.Message != words {
		t.Errorf("in words: %s", was.Error.Message)
	}
	if s.Local.NoResign || s.Local.Taken != 2 || s.Local.Asked.Bytes.Number != 1 || s.Txn.Losses+s.Txn.Deferred != 0 ||
		s.Txn.Cost() != 150 {
		t.Errorf("it knows %+v of %+v", s.Local, s.Txn)
	}
}

// TestRepriceTooCostly: what would pass a limit if it were signed again goes out at the fee
// that it has: its worker is asked once more for what it has made.
func TestRepriceTooCostly(t *testing.T) {
	t.Parallel()
	v := view(txn(PhaseDispatching, try(Planned, fee(90), supposed(3))), auto(3))
	s := Learn(v, Denied{Why: Costly, Spent: 100, Left: time.Hour})
	if s.Txn != nil || s.Local.Costly != clock.Add(accountRest) {
		t.Fatalf("refused: %s %+v", told(v, s), s.Local)
	}
	v.Local = s.Local
	if got := told(v, Decide(v)); got != "proving; prove 1" {
		t.Errorf("then: %s", got)
	}
	r := answer(Prove, 1)
	r.Signed, r.Weight = []byte("bytes"), 5
	const want = "answered; REVISION, INCLUSION; 1 signed 7@90; keep bytes of 1; confirm"
	if got := told(v, Learn(v, r)); got != want {
		t.Errorf("made again: %s, want %s", got, want)
	}
	v.Clock = s.Local.Costly
	if got := Learn(v, r); got.Reason != ReasonRepricing {
		t.Errorf("after that: %s", told(v, got))
	}
}

// TestResigned: the proof that there is is signed again, and proved afresh only where that
// cannot be.
func TestResigned(t *testing.T) {
	t.Parallel()
	again := func(parts ...part) *Transaction {
		parts = append([]part{try(Planned, over, fee(90), supposed(3), weighing(5), failedBy(CodeRepriced),
			answering(`{"a":1}`)),
			try(Planned, fee(150), supposed(5))}, parts...)
		return txn(PhaseDispatching, parts...)
	}
	bytesOf := func(n int) change {
		return knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: n, Command: []byte("bytes")} })
	}
	other := again()
	other.Attempts[1].Nonce++
	elsewhere, behind := again(), again()
	elsewhere.Attempts[0].Base = "base"
	behind.Attempts[0].Base, behind.Attempts[1].Base = "base", "base"
	for name, c := range map[string]struct {
		in   *Transaction
		by   []change
		want string
	}{
		"the bytes are not known": {again(), nil, "proving; ask-bytes"},
		"they are":                {again(), []change{bytesOf(1)}, "proving; resign 2"},
		"of another":              {again(), []change{bytesOf(2)}, "proving; prove 2"},
		"they are lost": {again(), []change{knows(func(l *Local) { l.Asked.Bytes = &BytesRead{} })},
			"proving; prove 2"},
		"its worker cannot": {again(), []change{bytesOf(1), knows(func(l *Local) { l.NoResign = true })},
			"proving; prove 2"},
		"another nonce":    {other, []change{bytesOf(1)}, "proving; prove 2"},
		"upon other state": {elsewhere, []change{bytesOf(1)}, "proving; prove 2"},
		"upon the same":    {behind, []change{bytesOf(1)}, "proving; resign 2"},
	} {
		v := view(c.in, append(c.by, auto(3))...)
		if got := told(v, Decide(v)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	signed := answer(Resign, 2)
	signed.Signed, signed.Weight = []byte("bytes"), 7 // as its worker says now
	v := view(again(), auto(3))
	s := Learn(v, signed)
	const want = "answered; REVISION, INCLUSION; 1 proved 7@90; 2 signed 7@150; keep bytes of 2; confirm"
	if got := told(v, s); got != want || string(s.Txn.Last().Data) != `{"a":1}` || s.Txn.Last().Weight != 7 {
		t.Errorf("signed again: %s %+v\nwant %s", got, s.Txn.Last(), want)
	}
	for _, f := range []Fault{FaultNoCall, FaultError, FaultHopeless} {
		if s := Learn(v, fault(answer(Resign, 2), f, "20202")); s.Txn != nil || !s.Local.NoResign || s.Local.Legacy {
			t.Errorf("%s: %s %+v", f, told(v, s), s.Local)
		}
	}
	if s := Learn(v, fault(answer(Resign, 2), FaultLost, "LOST")); s.Txn == nil || s.Txn.Losses != 1 {
		t.Errorf("lost: %s", told(v, s))
	}
}

// TestRaiseByMarket: what pays what others make it pay is left alone, and what does not is
// raised to that.
func TestRaiseByMarket(t *testing.T) {
	t.Parallel()
	waits := func(n uint64) *Transaction {
		return txn(PhaseWatching, try(Pooled, fee(n), weighing(3), func(a *Attempt) { a.Slot, a.SentSlot = 290, 290 }))
	}
	long := knows(func(l *Local) { l.SentAt = clock.Add(-minutes(20)) })
	const left = "pool; look in 3m0s"
	for name, c := range map[string]struct {
		paid uint64
		by   change
		want string
	}{
		"pays enough": {90, auto(8), left},
		"pays too little": {89, auto(8),
			"raising; REVISION, WAITING_INCLUSION; 1 pooled 7@89; 2 planned 7@90"},
		"as much as it may": {300, auto(8, Look{At: now, Ranks: []uint64{0, 1000}}), "pool; look in 10m0s"},
		"little by little": {298, auto(8, Look{At: now, Ranks: []uint64{0, 99}}),
			"raising; REVISION, WAITING_INCLUSION; 1 pooled 7@298; 2 planned 7@300"},
		"nobody knows": {100, auto(8, Look{At: now.Add(-24 * time.Hour)}),
			"raising; REVISION, WAITING_INCLUSION; 1 pooled 7@100; 2 planned 7@150"},
	} {
		v := view(waits(c.paid), sees(FatePooled, 0), long, c.by)
		if got := told(v, Decide(v)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// A raise by no market was estimated from none.
	if s := Decide(view(waits(100), sees(FatePooled, 0), long)); s.Txn == nil || s.Txn.Last().Quote != (Quote{}) {
		t.Errorf("raised by no market: %+v", s.Txn)
	}
	// A node that refuses the fee knows better than any look.
	v := view(waits(100), sees(FateAbsent, 0), auto(8))
	s := Learn(v, SendTold{Call: calling(Send, 1), Refusal: refused("Insufficient_replace_fee", Refusal{Cheap: true})})
	if s.Txn == nil || s.Txn.Last().Fee != 150 {
		t.Errorf("refused for its fee: %s", told(v, s))
	}
	e := Explain(&Scene{View: *view(waits(90), sees(FatePooled, 0), long, auto(8)), Dispatched: true, Asked: true,
		Living: alive})
	if !strings.Contains(e.Summary, "It pays what the market asks for.") || e.Next.Action != StepSendAgain {
		t.Errorf("explained: %+v", e)
	}
}

// TestQuoteInWords: an attempt says what its fee was estimated from.
func TestQuoteInWords(t *testing.T) {
	t.Parallel()
	for why, want := range map[QuoteReason]string{
		QuotePool:  "sent, and may land; the market asked for 0.00000003 MINA for each unit of weight, 3 of them",
		QuoteFloor: "sent, and may land; the market asked for less than the least fee",
		QuoteCap: "sent, and may land; the market asked for 0.00000003 MINA for each unit of weight, 3 of them, " +
			"which is more than it may pay",
		QuoteUnknown: "sent, and may land; no node had told lately what others pay", "": "sent, and may land",
	} {
		in := txn(PhaseWatching, try(Sent, func(a *Attempt) { a.Quote = Quote{90, 30, 3, why} }))
		if e := Explain(&Scene{View: *view(in), Asked: true}); e.Attempts[0].Detail != want {
			t.Errorf("%s: %s", why, e.Attempts[0].Detail)
		}
	}
}

// TestTypeFee: a type that no worker has signed is supposed to weigh something, and a fee by
// no market knows no weight.
func TestTypeFee(t *testing.T) {
	t.Parallel()
	p := testPolicy()
	if f := others(0, 29)(0).TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 0, Quote{Fee: 100}}) {
		t.Errorf("by no market: %+v", f)
	}
	p.FeeAuto, p.FeeMin, p.FeeTarget = true, 50, 2
	m := others(0, 29)(0)
	if f := m.TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 0, Quote{240, 30, supposedWeight, QuotePool}}) {
		t.Errorf("nobody has signed it: %+v", f)
	}
	m.Weight = 3
	if f := m.TypeFee("MINT", p, now, time.Minute); f != (TypeFee{"MINT", 3, Quote{90, 30, 3, QuotePool}}) {
		t.Errorf("it weighs 3: %+v", f)
	}
}
