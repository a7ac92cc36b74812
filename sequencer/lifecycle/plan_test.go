package lifecycle

import (
	"math"
	"reflect"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

const most = math.MaxUint32

// TestPlannedFee: what the next attempt pays, by what became of the last.
func TestPlannedFee(t *testing.T) {
	t.Parallel()
	refusedAs := func(code string) *tx.Transaction {
		return txn(tx.PhaseDispatching, try(tx.Refused, over, fee(150), failedBy(code)), retried(1), deferrals(1))
	}
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want uint64
	}{
		"refused for its sender":       {refusedAs("Insufficient_funds"), 150},
		"refused for its fee":          {refusedAs(fees.CodeTooLow), 225},
		"expired as the network stood": {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(150), stalled), retried(1)), 150},
		"the first":                    {txn(tx.PhaseDispatching), 100},
		"a retry":                      {txn(tx.PhaseDispatching, try(tx.Expired, over), retried(1)), 150},
		"a retry of a retry":           {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(150)), retried(2)), 225},
		"at the cap":                   {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(300)), retried(9)), 300},
		"something open":               {txn(tx.PhaseDispatching, try(tx.Unknown)), 150},
		"a person's retry":             {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(300))), 100},
		"no worker took the last on": {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150)), retried(1),
			deferrals(1)), 150},
		"the worker of the last failed":  {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150), failedBy("E")), retried(1)), 225},
		"the last was taken back":        {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150), failedBy(tx.CodeHeld)), retried(1)), 150},
		"none of them above a lower cap": {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(500), failedBy(tx.CodeHeld)), retried(1)), 300},
		"the last was dropped":           {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150)), retried(1)), 225},
		"deferred after what was in a block": {txn(tx.PhaseDispatching, try(tx.FailedIn, over, fee(150)), retried(1),
			deferrals(1)), 225},
		"of more than were kept, the last pays": {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(300)), try(tx.Expired, over),
			retried(2)), 150},
	} {
		if got, _ := view(c.in).fee(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	onPrice := func(v *View) { v.Policy.BumpOnPrice = true }
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want uint64
	}{
		"its worker failed":      {txn(tx.PhaseDispatching, try(tx.Planned, over, fee(150), failedBy("E")), retried(1)), 150},
		"it failed in its block": {txn(tx.PhaseDispatching, try(tx.FailedIn, over, fee(150)), retried(1)), 150},
		"its proof was refused":  {txn(tx.PhaseDispatching, try(tx.Refused, over, fee(150), failedBy("Invalid_proof")), retried(1)), 150},
		"its fee was":            {txn(tx.PhaseDispatching, try(tx.Refused, over, fee(150), failedBy(fees.CodeTooLow)), retried(1)), 225},
		"it expired":             {txn(tx.PhaseDispatching, try(tx.Expired, over, fee(150)), retried(1)), 225},
		"something open":         {txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, over), retried(1)), 150},
	} {
		if got, _ := view(c.in, onPrice).fee(); got != c.want {
			t.Errorf("by the price, %s: %d, want %d", name, got, c.want)
		}
	}
}

// TestPlannedTooDear: what was planned for more than is allowed by now is planned anew, and a raise
// of it is none.
func TestPlannedTooDear(t *testing.T) {
	t.Parallel()
	anew := knows(func(l *Local) { l.Own = 0 })
	for most, want := range map[uint64]string{
		250: "planning; DISPATCHING, BLOCKED; 1 dropped 7@250", 251: "proving; prove 1",
	} {
		lowered := func(v *View) { v.Policy.FeeMax = most - 1 }
		in := txn(tx.PhaseDispatching, try(tx.Planned, fee(250)))
		s := Decide(view(in, asked(good()), anew, lowered))
		if s.Txn == nil || s.Txn.Losses > 0 != (most == 251) {
			t.Errorf("%d: %+v, want %s", most, s, want)
		}
		const words = "planned for 0.00000025 MINA, and at most 0.000000249 are allowed by now"
		a := s.Txn.Attempts[0]
		if most == 250 && (a.Error == nil || a.Error.Message != words || a.Error.Code != tx.CodeExpired ||
			a.EndedAt.IsZero()) {
			t.Errorf("%d: ended with %+v", most, a.Error)
		}
	}
	raise := txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(250)))
	for most, want := range map[uint64]bool{249: false, 250: true} {
		s := Decide(view(raise, sees(tx.FatePooled, 0), func(v *View) { v.Policy.FeeMax = most }))
		if goesOn := s.Txn == nil; goesOn != want {
			t.Errorf("a raise to 250 where %d are allowed: %+v", most, s)
		}
	}
}

// TestPlannedTooLate: what was planned for a time that is over is told so, for it has cost nothing.
func TestPlannedTooLate(t *testing.T) {
	t.Parallel()
	s := Decide(view(txn(tx.PhaseDispatching, try(tx.Planned, until(300))), asked(good()),
		knows(func(l *Local) { l.Own = 0 })))
	if s.Txn == nil {
		t.Fatalf("%+v", s)
	}
	if a := s.Txn.Last(); a.EndedAt.IsZero() || a.Error == nil || a.Error.Code != tx.CodeExpired ||
		a.Cause != tx.CauseOutdated {
		t.Errorf("%+v", a)
	}
}

// TestLapsed: only what has a last slot can be too late.
func TestLapsed(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseDispatching))
	for until, want := range map[uint32]bool{0: false, 1: true, 301: true, 302: false} {
		if got := v.lapsed(&tx.Attempt{ValidUntil: until}); got != want {
			t.Errorf("valid until %d: lapsed %t", until, got)
		}
	}
}

// TestYields: what comes back from a train says by its attempt why.
func TestYields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want string
	}{
		"planned":              {txn(tx.PhaseDispatching, try(tx.Planned)), "E"},
		"it has its error":     {txn(tx.PhaseDispatching, try(tx.Planned, over, failedBy("F"))), "F"},
		"a worker may send it": {txn(tx.PhaseDispatching, try(tx.Planned, legacy)), ""},
		"it was sent":          {txn(tx.PhaseDispatching, try(tx.Refused, over)), ""},
	} {
		s, got := view(c.in).yields(oops("E")), ""
		if e := s.Txn.Last().Error; e != nil {
			got = e.Code
		}
		if got != c.want || s.Txn.Error.Code != "E" {
			t.Errorf("%s: %q, %+v", name, got, s.Txn.Error)
		}
	}
}

// TestAmong: only what is asked about a sender depends on what else its queue has in flight.
func TestAmong(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseDispatching))
	for kind, want := range map[Kind]bool{AskSender: true, AskAccount: false} {
		v.Train = Train{Ahead: []Member{{Txn: txn(tx.PhaseWatching, try(tx.Sent))}}}
		if s := v.ask(kind, ReasonPlanning); s.Do.Among != want {
			t.Errorf("%s behind another: among %t", kind, s.Do.Among)
		}
		v.Train = Train{}
		if s := v.ask(kind, ReasonPlanning); s.Do.Among {
			t.Errorf("%s alone: among others", kind)
		}
	}
}

// TestUnsent: the proof that is signed again is of the latest attempt that was made, past plans
// that were dropped.
func TestUnsent(t *testing.T) {
	t.Parallel()
	ahead := func(a *tx.Attempt) { over(a); failedBy(tx.CodeProvedAhead)(a) }
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want int
	}{
		"directly":           {txn(tx.PhaseDispatching, try(tx.Planned, ahead), try(tx.Planned)), 1},
		"past a plan":        {txn(tx.PhaseDispatching, try(tx.Planned, ahead), try(tx.Planned, over), try(tx.Planned)), 1},
		"past two":           {txn(tx.PhaseDispatching, try(tx.Planned, ahead), try(tx.Planned, over), try(tx.Planned, over), try(tx.Planned)), 1},
		"not past a failure": {txn(tx.PhaseDispatching, try(tx.Planned, ahead), try(tx.Planned, over, failedBy("E")), try(tx.Planned)), 0},
	} {
		v, got := view(c.in), 0
		v.Train.Commuting = true
		if a := v.unsent(c.in.Last()); a != nil {
			got = a.Number
		}
		if got != c.want {
			t.Errorf("%s: attempt %d", name, got)
		}
	}
}

// TestOutlived: what goes on to be watched is asked about anew.
func TestOutlived(t *testing.T) {
	t.Parallel()
	s := view(txn(tx.PhaseDispatching, try(tx.Sent), try(tx.Planned)), worldly).outlived()
	if s.Txn.Phase != tx.PhaseWatching || s.Txn.Ending != tx.PhaseWaiting || s.Local.Asked != (Asked{}) ||
		s.Txn.Last().Pending() {
		t.Errorf("%+v, %+v", s.Txn, s.Local)
	}
}

// TestNonce: every way to a nonce, and every way to none.
func TestNonce(t *testing.T) {
	t.Parallel()
	sender := func(next, seen *uint32) change {
		return asked(&Sender{Account: payer, Next: next, Seen: seen, Greeted: true})
	}
	n := func(v uint32) *uint32 { return &v }
	account := func(a AccountTold) change { return knows(func(l *Local) { l.Asked.Account = &a }) }
	none := knows(func(l *Local) { l.Asked.Landed = &LandedTold{} })
	for name, c := range map[string]struct {
		given   []change
		want    uint32
		instead string
	}{
		"seen a moment ago":           {[]change{sender(n(7), n(7))}, 7, ""},
		"seen, and ours is ahead":     {[]change{sender(n(8), n(7))}, 0, "planning; ask-account"},
		"seen, and ours is not known": {[]change{sender(nil, n(7))}, 0, "planning; ask-account"},
		"not asked":                   {[]change{sender(n(7), nil)}, 0, "planning; ask-account"},
		"cannot be asked":             {[]change{sender(n(7), nil), account(AccountTold{Lost: "x"})}, 0, "CHAIN_UNAVAILABLE"},
		"no account": {[]change{sender(n(7), nil), account(AccountTold{})}, 0,
			"Fee_payer_account_not_found"},
		"too little for the fee":               {[]change{sender(n(7), nil), holds(7, 99)}, 0, "Insufficient_funds"},
		"the chain agrees":                     {[]change{sender(n(7), nil), holds(7, 100)}, 7, ""},
		"the chain is ahead: a stranger":       {[]change{sender(n(7), nil), holds(8, 100)}, 0, "STOPPED_NONCE"},
		"the chain is behind: what landed?":    {[]change{sender(n(9), nil), holds(7, 100)}, 0, "planning; ask-landed"},
		"ours is not known: what landed?":      {[]change{sender(nil, nil), holds(7, 100)}, 0, "planning; ask-landed"},
		"behind what landed: sent again first": {[]change{sender(n(9), nil), holds(7, 100), landedAt(7)}, 0, "NONCE_BEHIND"},
		"far behind what landed":               {[]change{sender(n(9), nil), holds(7, 100), landedAt(8)}, 0, "NONCE_BEHIND"},
		"behind, and what landed stands below": {[]change{sender(n(9), nil), holds(7, 100), landedAt(6)}, 7, ""},
		"behind, and nothing landed after all": {[]change{sender(n(9), nil), holds(7, 100), none}, 7, ""},
		"not known, and nothing landed":        {[]change{sender(nil, nil), holds(7, 100), none}, 7, ""},
		"the highest there is":                 {[]change{sender(n(most), nil), holds(most, 100)}, most, ""},
		"the highest has landed": {[]change{sender(nil, nil), holds(most, 100), landedAt(most)}, 0,
			"NONCE_BEHIND"},
	} {
		v := view(txn(tx.PhaseDispatching), c.given...)
		fee, _ := v.fee()
		got, s, known := v.nonce(fee)
		said := told(v, s)
		if s.Txn != nil {
			said = s.Txn.Error.Code
		}
		if known != (c.instead == "") || got != c.want || !known && said != c.instead {
			t.Errorf("%s: %d %t, %s; want %d, %q", name, got, known, said, c.want, c.instead)
		}
	}
	for name, c := range map[string]struct{ next, want *uint32 }{
		"others were planned behind it": {n(9), nil},
		"as it should be":               {n(nonce), nil},
		"ours is behind":                {n(nonce - 1), n(nonce)},
		"ours is not known":             {nil, n(nonce)},
	} {
		open := view(txn(tx.PhaseDispatching, try(tx.Unknown)), sender(c.next, nil))
		s := Decide(open)
		if s.Txn == nil || s.Txn.Last().Nonce != nonce || !reflect.DeepEqual(s.Aside.NextNonce, c.want) {
			t.Errorf("while an attempt is open, %s: %s", name, told(open, s))
		}
	}
	down := view(txn(tx.PhaseDispatching), sender(n(9), nil), holds(7, 100), none)
	planned := Decide(down)
	down.Txn, down.Local = planned.Txn, planned.Local
	if s := Decide(down); s.Do.Kind != Prove || s.Do.Number != 1 {
		t.Errorf("planned where the nonce went down: %s", told(down, s))
	}
}

// TestLastSlot: it leaves time for the proof, and never wraps round.
func TestLastSlot(t *testing.T) {
	t.Parallel()
	for proof, want := range map[time.Duration]uint32{0: 0, 1: 1, minutes(6): 2, minutes(6) + 1: 3} {
		p := testPolicy()
		p.DispatchTimeout = proof
		if got := p.LastSlot(Tip{TipSlot: 300, SlotTime: minutes(3)}); got != 300+40+want {
			t.Errorf("a proof of %v: %d", proof, got)
		}
	}
	for name, c := range map[string]struct {
		tip  Tip
		want uint32
	}{
		"the tip's slot":                       {Tip{TipSlot: 300, Slot: 290, SlotTime: minutes(3)}, 300 + 40 + 4},
		"the current slot":                     {Tip{TipSlot: 300, Slot: 310, SlotTime: minutes(3)}, 310 + 40 + 4},
		"a whole number of slots":              {Tip{TipSlot: 300, SlotTime: minutes(5)}, 300 + 40 + 2},
		"slots of unknown length":              {Tip{TipSlot: 300}, 300 + 40},
		"the last slots there are":             {Tip{TipSlot: most - 20, SlotTime: minutes(3)}, most},
		"more slots in a proof than there are": {Tip{TipSlot: 300, SlotTime: 1}, most},
	} {
		if got := testPolicy().LastSlot(c.tip); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestPauses: delays and pauses grow, and end at the longest, however often.
func TestPauses(t *testing.T) {
	t.Parallel()
	p := testPolicy()
	for n, want := range []time.Duration{1: minutes(2), 2: minutes(4), 3: minutes(8), 4: minutes(10), 5: minutes(10)} {
		if got := p.retryDelay(n, 0.5); n > 0 && got != want {
			t.Errorf("delay before retry %d: %v, want %v", n, got, want)
		}
	}
	for n, want := range []time.Duration{30 * time.Second, minutes(1), minutes(2), minutes(4), minutes(8), minutes(10)} {
		if got := p.Pause(n); got != want {
			t.Errorf("pause %d: %v, want %v", n, got, want)
		}
	}
	if got := p.grown(minutes(20), 3); got != minutes(20) {
		t.Errorf("what is asked for beyond the longest: %v", got)
	}
	for _, n := range []int{-1, 0, 31, 64, math.MaxInt32, math.MaxInt} {
		for _, jitter := range []float64{0, 0.5, 1} {
			if d := p.retryDelay(n, jitter); d < 0 || d > p.RetryDelayMax*11/10 {
				t.Errorf("delay before retry %d with jitter %v: %v", n, jitter, d)
			}
		}
		if d := p.Pause(n); d < 30*time.Second || d > p.RetryDelayMax {
			t.Errorf("pause %d: %v", n, d)
		}
	}
	p.RetryDelay = 0
	for n, want := range []time.Duration{1: 2 * time.Second, 5: 32 * time.Second, 20: minutes(10)} {
		if got := p.Pause(n); want > 0 && got != want {
			t.Errorf("pause %d where a retry is made at once: %v, want %v", n, got, want)
		}
	}
	p.RetryDelay = minutes(1)
	if least, longest := p.retryDelay(0, 0), p.retryDelay(0, 1); least != 54*time.Second || longest != 66*time.Second {
		t.Errorf("jitter from %v to %v", least, longest)
	}
}

// TestSlots: so long is a number of slots, and none is too long.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n          int64
		each, want time.Duration
	}{
		{0, minutes(3), 0}, {5, minutes(3), minutes(15)}, {-5, minutes(3), -minutes(15)}, {5, 0, 0}, {5, 1, 5},
		{math.MaxInt64, 1, math.MaxInt64}, {-math.MaxInt64, 1, -math.MaxInt64},
	} {
		if got := slots(c.n, c.each); got != c.want {
			t.Errorf("%d of %v: %v", c.n, c.each, got)
		}
	}
	const century = 100 * 365 * 24 * time.Hour
	for _, n := range []int64{math.MaxUint32, math.MaxInt64} {
		if up, down := slots(n, century), slots(-n, century); up < 2*century || down > -2*century {
			t.Errorf("%d centuries: %v, %v", n, up, down)
		}
	}
}

// TestLastNonces: what follows the highest nonce is not the first.
func TestLastNonces(t *testing.T) {
	t.Parallel()
	last := func(g *tx.Sighting) { g.Nonce = most }
	for _, f := range []tx.Fate{tx.FateIncluded, tx.FateFailed, tx.FateDisplaced} {
		v := view(txn(tx.PhaseWatching, try(tx.Sent, at(most))), sees(f, 9, last))
		if s := Decide(v); s.Aside.Least[payer] != most {
			t.Errorf("%s: %s", f, told(v, s))
		}
	}
}

// TestLastSlots: a fee is not raised too early because a sum of slots wraps round.
func TestLastSlots(t *testing.T) {
	t.Parallel()
	late := knows(func(l *Local) { l.SentAt = clock.Add(-20 * time.Minute) })
	young := txn(tx.PhaseWatching, try(tx.Sent, func(a *tx.Attempt) { a.Slot, a.SentSlot = most-2, most-2 }))
	v := view(young, sees(tx.FatePooled, 0), late, func(v *View) { v.Tip.TipSlot, v.Tip.Slot = most-1, most-1 })
	if s := Decide(v); s.Reason != ReasonPool {
		t.Errorf("at the last slots: %s", told(v, s))
	}
	never := txn(tx.PhaseWatching, try(tx.Sent))
	v = view(never, sees(tx.FatePooled, 0), late, func(v *View) { v.Policy.BumpAfter = most })
	if s := Decide(v); s.Reason != ReasonPool {
		t.Errorf("with the longest BUMP_AFTER: %s", told(v, s))
	}
	old := txn(tx.PhaseWatching, try(tx.Sent, func(a *tx.Attempt) { a.Slot, a.SentSlot = 1, 1 }))
	v = view(old, sees(tx.FatePooled, 0), knows(func(l *Local) { l.SentAt = clock.Add(-29 * time.Minute) }),
		func(v *View) { v.Policy.BumpAfter, v.Tip.TipSlot, v.Tip.Slot = most-1, most, most })
	if s := Decide(v); s.Reason != ReasonPool || !s.Look.After(v.Clock) {
		t.Errorf("with a BUMP_AFTER longer than any time: %s", told(v, s))
	}
}

// TestCost: of attempts with one nonce the dearest counts, and what died unspent does not.
func TestCost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want uint64
	}{
		"nothing":                  {txn(tx.PhaseWaiting), 0},
		"planned":                  {txn(tx.PhaseDispatching, try(tx.Planned)), 100},
		"never sent":               {txn(tx.PhaseFailing, try(tx.Planned, over)), 0},
		"one nonce":                {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Signed, fee(150))), 150},
		"one nonce, dearest first": {txn(tx.PhaseWatching, try(tx.Sent, fee(150)), try(tx.Signed)), 150},
		"failed, then again":       {txn(tx.PhaseWatching, try(tx.FailedIn, block), try(tx.Sent, at(8), fee(150))), 250},
		"expired":                  {txn(tx.PhaseFailed, try(tx.Expired, over)), 0},
		"replaced":                 {txn(tx.PhaseDone, try(tx.Replaced, over, fee(300)), try(tx.Included, block), landedBy(2)), 100},
		"one nonce of two senders": {txn(tx.PhaseFailing, try(tx.FailedIn, block), try(tx.FailedIn, block, by("B62b"), fee(90))), 190},
	} {
		if got := c.in.Cost(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestBlockLimit: what a network says that a block takes counts, else what Mina's nodes have as theirs.
func TestBlockLimit(t *testing.T) {
	t.Parallel()
	for said, want := range map[int]int{0: fees.BlockTakes, 6: 6} {
		if got := (&Policy{BlockZkapps: said}).BlockLimit(); got != want {
			t.Errorf("%d of a block that takes %d", got, said)
		}
	}
}

// TestNamedByNodes: an attempt that failed in a block keeps the hash that the nodes gave it first.
func TestNamedByNodes(t *testing.T) {
	t.Parallel()
	sent := txn(tx.PhaseWatching, try(tx.Sent))
	sent.Last().NodeHash = "5Jnodes"
	s := Decide(view(sent, sees(tx.FateFailed, 5, func(g *tx.Sighting) { g.Hash = sent.Last().Hash })))
	if a := s.Txn.Last(); a.State != tx.FailedIn || a.NodeHash != "5Jnodes" {
		t.Errorf("%s, named %q by the nodes", a.State, a.NodeHash)
	}
}
