package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// others is a market with looks of so many minutes ago, each with these ranks.
func others(ranks ...uint64) func(ago ...int) *fees.Market {
	return func(ago ...int) *fees.Market {
		m := &fees.Market{}
		for _, n := range ago {
			m.Looks = append(m.Looks, fees.Look{At: now.Add(-minutes(n)), Size: 40, Ranks: ranks})
		}
		return m
	}
}

// auto has fees go by a market in which 30 are asked for each unit of weight, unless looks
// say otherwise.
func auto(weight int, looks ...fees.Look) change {
	return func(v *View) {
		v.Policy.FeeAuto, v.Policy.FeeMin, v.Policy.FeeTarget = true, 50, 2
		v.Market = *others(0, 29)(1)
		if len(looks) > 0 {
			v.Market.Looks = looks
		}
		v.Market.Weight = weight
	}
}

func weighing(n int) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Weight = n } }

func supposed(n int) func(*tx.Attempt) {
	return func(a *tx.Attempt) { a.Quote = fees.Quote{Fee: a.Fee, PerWeight: 30, Weight: n, Why: fees.Pool} }
}

// TestBid: every way to a fee by the market.
func TestBid(t *testing.T) {
	t.Parallel()
	ended := func(how tx.AttemptState, code string) *tx.Transaction {
		return txn(tx.PhaseDispatching, try(how, over, failedBy(code)), retried(1))
	}
	unknown := auto(3, fees.Look{At: now.Add(-time.Hour * 24)})
	for name, c := range map[string]struct {
		in   *tx.Transaction
		by   change
		want uint64
		why  fees.Reason
	}{
		"the first":                {txn(tx.PhaseDispatching), auto(3), 90, fees.Pool},
		"of a type that is new":    {txn(tx.PhaseDispatching), auto(0), 240, fees.Pool},
		"of one that may pay less": {txn(tx.PhaseDispatching, func(t *tx.Transaction) { t.MaxFee = 80 }), auto(3), 80, fees.Cap},
		"nobody knows":             {txn(tx.PhaseDispatching), unknown, 100, fees.Unknown},
		"a retry, nobody knows":    {txn(tx.PhaseDispatching, try(tx.Expired, over), retried(1)), unknown, 150, fees.Unknown},
		"failed in a block": {txn(tx.PhaseDispatching, try(tx.FailedIn, over, fee(200)), retried(1)), auto(3), 90,
			fees.Pool},
		"expired": {txn(tx.PhaseDispatching, try(tx.Expired, over), retried(1)), auto(3), 150, fees.Pool},
		"expired, and a person has it tried again": {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(200))), auto(3), 90, fees.Pool},
		"expired, and others pay": {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(20)), retried(1)), auto(3), 90,
			fees.Pool},
		"failed in a block, nobody knows": {txn(tx.PhaseDispatching, try(tx.FailedIn, over, fee(160)), retried(1)), unknown, 240,
			fees.Unknown},
		"refused for its fee":             {ended(tx.Refused, "Insufficient_fee"), auto(3), 150, fees.Pool},
		"evicted":                         {ended(tx.Refused, "Evicted"), auto(3), 150, fees.Pool},
		"refused for its nonce":           {ended(tx.Refused, "Invalid_nonce"), auto(3), 90, fees.Pool},
		"failed, and the word is a fee's": {ended(tx.FailedIn, "Evicted"), auto(3), 90, fees.Pool},
		"expired, and planned since": {txn(tx.PhaseDispatching, try(tx.Expired, over), try(tx.Planned, over, fee(150)), retried(1),
			losses(1)), auto(3), 150, fees.Pool},
		"expired, and signed for nothing since": {txn(tx.PhaseDispatching, try(tx.Expired, over),
			try(tx.Planned, over, fee(150), failedBy(tx.CodeRepriced)), retried(1)), auto(3), 150, fees.Pool},
		"something open": {txn(tx.PhaseDispatching, try(tx.Unknown)), auto(3), 102, fees.Pool},
		"open, and one refused there for its fee": {txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Refused, over, fee(180),
			failedBy("Insufficient_fee")), retried(1)), auto(3), 270, fees.Pool},
		"open, and others pay": {txn(tx.PhaseDispatching, try(tx.Unknown, fee(60))), auto(3), 90, fees.Pool},
		"open, nobody knows":   {txn(tx.PhaseDispatching, try(tx.Unknown)), unknown, 150, fees.Unknown},
		"at the cap":           {txn(tx.PhaseDispatching, try(tx.Unknown, fee(299))), auto(3), 300, fees.Pool},
		"by what was signed": {txn(tx.PhaseDispatching, try(tx.Refused, over, weighing(2)), retried(1)), auto(3), 60,
			fees.Pool},
		"signed, and weighs least": {txn(tx.PhaseDispatching, try(tx.Refused, over, weighing(1)), retried(1)),
			auto(3), 50, fees.Floor},
		"no worker took the last on": {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(200)), retried(1), deferrals(1)),
			auto(3), 90, fees.Pool},
		"of what was signed at first": {txn(tx.PhaseDispatching, try(tx.Refused, over, weighing(2)), try(tx.Planned, over),
			retried(1)), auto(3), 60, fees.Pool},
	} {
		got, quote := view(c.in, c.by).fee()
		if got != c.want || quote.Why != c.why {
			t.Errorf("%s: %d %s, want %d %s", name, got, quote.Why, c.want, c.why)
		}
	}
	if _, quote := view(txn(tx.PhaseDispatching)).fee(); quote != (fees.Quote{}) {
		t.Errorf("a fee by no market was estimated: %+v", quote)
	}
	v := view(txn(tx.PhaseDispatching), auto(3), asked(&Sender{Next: new(uint32(7)), Seen: new(uint32(7)), Greeted: true}))
	want := fees.Quote{Fee: 90, PerWeight: 30, Weight: 3, Why: fees.Pool}
	if s := Decide(v); s.Txn == nil || s.Txn.Last().Quote != want || s.Txn.Last().Fee != 90 {
		t.Errorf("planned: %s %+v", told(v, s), s.Txn)
	}
}

// TestNothingTried: where nothing is open nothing has been offered there.
func TestNothingTried(t *testing.T) {
	t.Parallel()
	if fee := feeTried(txn(tx.PhaseFailing, try(tx.Refused, over, failedBy(fees.CodeEvicted)))); fee != 0 {
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
	plan := func(parts ...part) *tx.Transaction {
		return txn(tx.PhaseDispatching, append([]part{try(tx.Planned, fee(90), supposed(3)), losses(1), deferrals(1)},
			parts...)...)
	}
	const again = "repricing; DISPATCHING, BLOCKED; 1 proved 7@90; 2 planned 7@%d; keep bytes of 1"
	sent := "answered; REVISION, INCLUSION; 1 signed 7@90; keep bytes of 1; confirm"
	for name, c := range map[string]struct {
		in     *tx.Transaction
		weight int
		by     []change
		want   string
	}{
		"as was supposed":         {plan(), 3, []change{auto(3)}, sent},
		"more":                    {plan(), 5, []change{auto(3)}, fmt.Sprintf(again, 150)},
		"less":                    {plan(), 2, []change{auto(3)}, fmt.Sprintf(again, 60)},
		"at the same place":       {plan(), 1, []change{auto(3, fees.Look{At: now})}, fmt.Sprintf(again, 50)},
		"a little dearer":         {plan(), 4, []change{auto(3, fees.Look{At: now, Ranks: []uint64{0, 17}})}, sent},
		"not signed, as it seems": {plan(), 0, []change{auto(3)}, sent},
		"planned by no market":    {txn(tx.PhaseDispatching, try(tx.Planned, fee(90))), 5, []change{auto(3)}, sent},
		"supposed to weigh least": {
			txn(tx.PhaseDispatching, try(tx.Planned, fee(90), supposed(1))), 5, []change{auto(3)}, fmt.Sprintf(again, 150),
		},
		"by no market":     {plan(), 5, nil, sent},
		"nobody knows":     {plan(), 5, []change{auto(3, fees.Look{At: now.Add(-24 * time.Hour)})}, sent},
		"the process ends": {plan(), 5, []change{auto(3), func(v *View) { v.Draining = true }}, sent},
		"no node says when": {plan(func(t *tx.Transaction) { t.ExpiresAt = now.Add(time.Hour) }), 5,
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
	behind := plan(func(t *tx.Transaction) { t.Attempts[0].Base = "digest" })
	if is := Learn(view(behind, auto(3)), r).Txn.Last(); is.Number != 2 || is.Base != "digest" {
		t.Errorf("it is signed again upon other than what it was made upon: %+v", is)
	}
	expired := txn(tx.PhaseDispatching, try(tx.Expired, over, fee(180)), try(tx.Planned, fee(270), supposed(3)),
		retried(1))
	second := r
	second.Call.Number = 2
	if s := Learn(view(expired, auto(3)), second); s.Reason == ReasonRepricing {
		t.Errorf("what expired is bid for less than half as much again: %s", told(view(expired), s))
	}
	v := view(plan(), auto(3), knows(func(l *Local) { l.NoResign = true })) // of an earlier attempt
	s := Learn(v, r)
	was, is := s.Txn.Attempts[0], s.Txn.Attempts[1]
	if was.Weight != 5 || string(was.Data) != `{"a":1}` || was.EndedAt != now || was.Error.Code != tx.CodeRepriced ||
		was.Hash != "" ||
		is.Quote != (fees.Quote{Fee: 150, PerWeight: 30, Weight: 5, Why: fees.Pool}) || is.Slot != 300 ||
		is.ValidUntil == 0 || is.StartedAt != now {
		t.Errorf("signed again: %+v\n%+v", was, is)
	}
	const words = "it weighs 5 and was supposed to weigh 3: 0.00000009 MINA would put it at a wrong place, " +
		"so it is signed again for 0.00000015"
	if was.Error.Message != words {
		t.Errorf("in words: %s", was.Error.Message)
	}
	if s.Local.NoResign || s.Local.Own != 2 || s.Local.Asked.Bytes.Number != 1 || s.Txn.Losses+s.Txn.Deferred != 0 ||
		s.Txn.Cost() != 150 {
		t.Errorf("it knows %+v of %+v", s.Local, s.Txn)
	}
}

// TestRepriceTooCostly: what would pass a limit if it were signed again goes out at the fee
// that it has: its worker is asked once more for what it has made.
func TestRepriceTooCostly(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseDispatching, try(tx.Planned, fee(90), supposed(3))), auto(3))
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
	again := func(parts ...part) *tx.Transaction {
		parts = append([]part{try(tx.Planned, over, fee(90), supposed(3), weighing(5), failedBy(tx.CodeRepriced),
			answering(`{"a":1}`)),
			try(tx.Planned, fee(150), supposed(5))}, parts...)
		return txn(tx.PhaseDispatching, parts...)
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
		in   *tx.Transaction
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
	waits := func(n uint64) *tx.Transaction {
		return txn(tx.PhaseWatching, try(tx.Pooled, fee(n), weighing(3), func(a *tx.Attempt) {
			a.Slot, a.SentSlot = 290,
				290
		}))
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
		"as much as it may": {300, auto(8, fees.Look{At: now, Ranks: []uint64{0, 1000}}), "pool; look in 10m0s"},
		"little by little": {298, auto(8, fees.Look{At: now, Ranks: []uint64{0, 99}}),
			"raising; REVISION, WAITING_INCLUSION; 1 pooled 7@298; 2 planned 7@300"},
		"nobody knows": {100, auto(8, fees.Look{At: now.Add(-24 * time.Hour)}),
			"raising; REVISION, WAITING_INCLUSION; 1 pooled 7@100; 2 planned 7@150"},
	} {
		v := view(waits(c.paid), sees(tx.FatePooled, 0), long, c.by)
		if got := told(v, Decide(v)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// A raise by no market was estimated from none.
	if s := Decide(view(waits(100), sees(tx.FatePooled, 0), long)); s.Txn == nil || s.Txn.Last().Quote != (fees.Quote{}) {
		t.Errorf("raised by no market: %+v", s.Txn)
	}
	// A node that refuses the fee knows better than any look.
	v := view(waits(100), sees(tx.FateAbsent, 0), auto(8))
	s := Learn(v, SendTold{Call: calling(Send, 1), Refusal: refused("Insufficient_replace_fee", Refusal{Cheap: true})})
	if s.Txn == nil || s.Txn.Last().Fee != 150 {
		t.Errorf("refused for its fee: %s", told(v, s))
	}
}
