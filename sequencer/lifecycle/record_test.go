package lifecycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestMemo: 22 characters, of namespace and transaction together, the same that other
// programs make.
func TestMemo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, uid, want string }{
		{"seq", "u", "CWXdAVLCgi8feZolzBRuRv"}, {"a", "bc", "QLtUfZNrvTExjuN6yHmefs"}, {"ab", "c", "bAMuYx05oU2Fr_fjGVRq9w"},
	} {
		if got := Memo(c.namespace, c.uid); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.uid, c.namespace, got, c.want)
		}
	}
	one := Memo("main", "u1")
	if len(one) != 22 || one != Memo("main", "u1") {
		t.Errorf("%q", one)
	}
	for _, other := range []string{Memo("main", "u2"), Memo("test", "u1"), Memo("mainu", "1"), Memo("mai", "nu1")} {
		if other == one {
			t.Errorf("two transactions have the memo %s", one)
		}
	}
}

// TestPhases: those that are known, and those with a sender.
func TestPhases(t *testing.T) {
	t.Parallel()
	for _, p := range tx.Phases {
		if !p.Valid() {
			t.Errorf("%s is no phase", p)
		}
	}
	if tx.Phase("other").Valid() || tx.Phase("").Valid() {
		t.Error("anything is a phase")
	}
}

// TestShown: hash and data that are shown are those of the attempt in the block, before
// that the latest hash, and what was posted.
func TestShown(t *testing.T) {
	t.Parallel()
	unhashed := func(a *tx.Attempt) { a.Hash = "" }
	data := func(text string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Data = []byte(text) } }
	node := func(a *tx.Attempt) { a.NodeHash = "5Jnode" }
	for name, c := range map[string]struct {
		in         *tx.Transaction
		hash, data string
	}{
		"nothing":                    {txn(tx.PhaseWaiting), "", "posted"},
		"planned":                    {txn(tx.PhaseDispatching, try(tx.Planned)), "", "posted"},
		"one":                        {txn(tx.PhaseSent, try(tx.Signed, data("x"))), "5J1", "posted"},
		"the node's":                 {txn(tx.PhaseSent, try(tx.Signed, node)), "5Jnode", "posted"},
		"the latest":                 {txn(tx.PhaseSent, try(tx.Sent), try(tx.Sent)), "5J2", "posted"},
		"the latest that has one":    {txn(tx.PhaseSent, try(tx.Sent), try(tx.Unknown, unhashed)), "5J1", "posted"},
		"of the one in the block":    {txn(tx.PhaseDone, try(tx.Included, data("x")), try(tx.Replaced), landedBy(1)), "5J1", "x"},
		"a block, and no word of it": {txn(tx.PhaseDone, try(tx.Included), landedBy(1)), "5J1", "posted"},
	} {
		c.in.Data = []byte("posted")
		if hash, data := c.in.Hash(), string(c.in.ShownData()); hash != c.hash || data != c.data {
			t.Errorf("%s: %q, %q", name, hash, data)
		}
	}
}

// TestSpent: a block uses a nonce up, and nothing else does.
func TestSpent(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes {
		if a := (tx.Attempt{State: o}); a.Spent() != (o.Outcome() == "included" || o.Outcome() == "failed" &&
			o != tx.Invalid) {
			t.Errorf("%s: spent %t", o, a.Spent())
		}
	}
}

// TestWatched: what is DONE, until FINALITY, and what may land after its end.
func TestWatched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want bool
	}{
		"bound":               {txn(tx.PhaseWatching, try(tx.Sent)), false},
		"in a block":          {txn(tx.PhaseDone, try(tx.Included, block), landedBy(1)), true},
		"deep enough":         {txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), final), false},
		"without a block":     {txn(tx.PhaseDone), false},
		"failed":              {txn(tx.PhaseFailed, try(tx.Expired, over)), false},
		"failed, may land":    {txn(tx.PhaseFailed, try(tx.Unknown)), true},
		"unknown what it did": {txn(tx.PhaseUnresolved, try(tx.Unknown, legacy)), true},
	} {
		if got := c.in.Watched(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWatchOf: what the chain is asked, by what is in question.
func TestWatchOf(t *testing.T) {
	t.Parallel()
	slot := func(n uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Slot, a.ValidUntil = n, n+40 } }
	named := func(h string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.NodeHash = h } }
	unhashed := func(a *tx.Attempt) { a.Hash = "" }
	other := func(a *tx.Attempt) { a.Sender = "B62b" }
	watch := func(since, until uint32, hashes ...string) *tx.Watch {
		return &tx.Watch{Payer: payer, Nonce: nonce, Memo: "m", Since: since, ValidUntil: until, Hashes: hashes}
	}
	sends := func(w *tx.Watch, found bool) *tx.Watch { w.Legacy, w.Found, w.ValidUntil = true, found, 0; return w }
	gone := func(a *tx.Attempt) { a.Become(tx.Unknown, now) }
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want *tx.Watch
	}{
		"nothing open": {txn(tx.PhaseFailing, try(tx.Expired, over), try(tx.Planned)), nil},
		"one":          {txn(tx.PhaseSent, try(tx.Signed)), watch(298, 344, "5J1")},
		"all that share the nonce": {txn(tx.PhaseWatching, try(tx.Sent, slot(310), named("5Jn")),
			try(tx.Unknown, slot(290), named("5J1"))),
			watch(290, 350, "5J1", "5Jn", "5J2")},
		"one of them may land whenever": {txn(tx.PhaseWatching, try(tx.Sent, func(a *tx.Attempt) { a.ValidUntil = 0 }), try(tx.Unknown)),
			watch(298, 0, "5J1", "5J2")},
		"not what was before": {txn(tx.PhaseWatching, try(tx.FailedIn, block, at(6)), try(tx.Sent)), watch(298, 344, "5J2")},
		"landed, with those that were replaced": {txn(tx.PhaseDone, try(tx.Replaced, over, slot(290)),
			try(tx.Included, block), landedBy(2)),
			watch(290, 344, "5J1", "5J2")},
		"not what was refused, or never left": {
			txn(tx.PhaseDone, try(tx.Refused, over, slot(280)), try(tx.Included, block), try(tx.Planned, over, slot(310)), landedBy(2)),
			watch(298, 344, "5J2")},
		"not at another nonce": {txn(tx.PhaseDone, try(tx.Replaced, over, at(6), slot(280)), try(tx.Included, block), landedBy(2)),
			watch(298, 344, "5J2")},
		"not of another sender": {txn(tx.PhaseDone, try(tx.Replaced, over, other, slot(280)), try(tx.Included, block), landedBy(2)),
			watch(298, 344, "5J2")},
		"failed in a shallow block": {txn(tx.PhaseDispatching, try(tx.FailedIn, shallow), try(tx.Planned)), watch(298, 344, "5J1")},
		"landed, and shallow elsewhere": {txn(tx.PhaseDone, try(tx.FailedIn, shallow, at(6), slot(280)), try(tx.Included, block),
			landedBy(2)), watch(298, 344, "5J2")},
		"open, and shallow elsewhere": {txn(tx.PhaseWatching, try(tx.FailedIn, shallow, at(6), slot(280)), try(tx.Sent)),
			watch(298, 344, "5J2")},
		"final":                          {txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), final), nil},
		"waits again, and was DONE once": {txn(tx.PhaseDispatching, try(tx.Unknown), final), watch(298, 344, "5J1")},
		"refused, and an open one has its nonce": {txn(tx.PhaseDelayed, try(tx.Unknown), try(tx.Refused, over, func(a *tx.Attempt) { a.ValidUntil = 350 })),
			watch(298, 350, "5J1", "5J2")},
		"refused, and none has": {txn(tx.PhaseDelayed, try(tx.Refused, over)), nil},
		"a legacy worker's":     {txn(tx.PhaseSent, try(tx.Unknown, legacy, unhashed)), sends(watch(298, 0), false)},
		"beside one of a legacy worker": {txn(tx.PhaseSent, try(tx.Unknown, legacy), try(tx.Sent, slot(300))),
			sends(watch(298, 0, "5J1", "5J2"), false)},
		"a legacy worker's, in a block": {txn(tx.PhaseDone, try(tx.Included, block, legacy), landedBy(1)),
			sends(watch(298, 0, "5J1"), true)},
		"a legacy worker's, as a person said": {txn(tx.PhaseDone, try(tx.Included, legacy, over), landedBy(1)),
			sends(watch(298, 0, "5J1"), true)},
		"a legacy worker's, in a block that is gone": {txn(tx.PhaseUnresolved, try(tx.Unknown, block, legacy, gone)),
			sends(watch(298, 0, "5J1"), true)},
		"two of a legacy worker, one of which was in a block": {
			txn(tx.PhaseUnresolved, try(tx.Unknown, legacy), try(tx.Unknown, block, legacy, gone)),
			sends(watch(298, 0, "5J1", "5J2"), false)},
		"of a block that is gone, and one that is signed": {
			txn(tx.PhaseUnresolved, try(tx.Unknown, block, legacy, gone), try(tx.Signed)), sends(watch(298, 0, "5J1", "5J2"), true)},
	} {
		got, some := WatchOf(c.in, "m")
		if some != (c.want != nil) || some && !reflect.DeepEqual(got, *c.want) {
			t.Errorf("%s: %t\n got %+v\nwant %+v", name, some, got, c.want)
		}
	}
}

// TestWatchOfAny: the chain is asked about all that may land, or has, at one place: from the
// first slot that any of it can be in to the last, by every hash, and about nothing that
// stands elsewhere.
func TestWatchOfAny(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		txn := placed(r)
		want, some := tx.Watch{Memo: walkMemo, Since: math.MaxUint32}, false
		landed := txn.Attempt(txn.Landed)
		for i := range txn.Attempts {
			a := &txn.Attempts[i]
			left := !a.State.Unmade() && a.State != tx.Refused
			beside := a.State == tx.Refused && slices.ContainsFunc(txn.Attempts, func(o tx.Attempt) bool {
				return o.Open() && o.Sender == a.Sender && o.Nonce == a.Nonce
			})
			if !a.Open() && !beside && (landed == nil || a.Sender != landed.Sender || a.Nonce != landed.Nonce || !left) {
				continue
			}
			some = true
			want.Payer, want.Nonce = a.Sender, a.Nonce
			want.Since, want.ValidUntil = min(want.Since, a.Slot), max(want.ValidUntil, a.ValidUntil)
			want.Hashes = append(want.Hashes, a.Hash, a.NodeHash)
		}
		got, found := WatchOf(txn, walkMemo)
		slices.Sort(want.Hashes)
		slices.Sort(got.Hashes)
		if want.Hashes = slices.Compact(want.Hashes); found != some {
			t.Fatalf("asked about %t, want %t: %+v", found, some, txn.Attempts)
		}
		if some && (got.Payer != want.Payer || got.Nonce != want.Nonce || got.Since != want.Since ||
			got.ValidUntil != want.ValidUntil || got.Memo != want.Memo || !slices.Equal(got.Hashes, want.Hashes)) {
			t.Fatalf("asked about %+v\nwant        %+v\nof %+v, landed %d", got, want, txn.Attempts, txn.Landed)
		}
	}
}

// placed is a record whose attempts stand at several places, by two senders; what is open
// shares one, or one of them has landed.
func placed(r *rand.Rand) *tx.Transaction {
	t := txn(tx.PhaseWatching)
	for n := range 1 + r.IntN(5) {
		try(pick(r, outcomes...), at(pick[uint32](r, 6, 7)))(t)
		a := t.Last()
		a.Sender, a.Slot, a.ValidUntil = pick(r, payer, "B62b"), 280+r.Uint32N(20), 320+r.Uint32N(20)
		a.Hash, a.NodeHash = pick(r, "5Jshared", "5Ja"+string(rune('0'+n))), "5Jn"+string(rune('0'+n))
		over(a)
	}
	if n := 1 + r.IntN(len(t.Attempts)); r.IntN(2) == 0 {
		t.Phase, t.Landed = tx.PhaseDone, n
		t.Attempt(n).State = tx.Included
	} else {
		open := t.Attempt(n)
		for i := range t.Attempts {
			a := &t.Attempts[i]
			if a.Sender == open.Sender && a.Nonce == open.Nonce && a.State == tx.Abandoned {
				a.Become(tx.Sent, now)
			}
		}
	}
	return t
}

// TestAttemptOf: a sighting is of the attempt with its hash; with a hash that is news,
// of the latest that may have it.
func TestAttemptOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		hash string
		want int
	}{
		"the first":                   {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Sent)), "5J1", 1},
		"of what is over":             {txn(tx.PhaseWatching, try(tx.Replaced, over), try(tx.Sent)), "5J1", 1},
		"news":                        {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Sent), try(tx.Planned)), "5Jnews", 2},
		"news of what has landed":     {txn(tx.PhaseDone, try(tx.Included, block), try(tx.Replaced, over), landedBy(1)), "5Jnews", 1},
		"news, and nothing can be it": {txn(tx.PhaseFailed, try(tx.Expired, over)), "5Jnews", 0},
	} {
		got := 0
		if a := attemptOf(c.in, &tx.Sighting{Hash: c.hash}); a != nil {
			got = a.Number
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestFailure: the class that is counted of a step.
func TestFailure(t *testing.T) {
	t.Parallel()
	step := func(why Reason, p tx.Phase, parts ...part) Step { return Step{Reason: why, Txn: txn(p, parts...)} }
	var seen []string
	for _, c := range []struct {
		before *tx.Transaction
		in     Step
		want   string
	}{
		{txn(tx.PhaseDispatching), step(ReasonAnswered, tx.PhaseFailing), "error"},
		{txn(tx.PhaseDispatching), step(ReasonAnswered, tx.PhaseUnresolved), "hopeless"},
		{txn(tx.PhaseDispatching), step(ReasonAnswered, tx.PhaseWatching, ending(tx.PhaseUnresolved)), "hopeless"},
		{txn(tx.PhaseWatching, ending(tx.PhaseUnresolved)), step(ReasonAnswered, tx.PhaseWatching, ending(tx.PhaseUnresolved)), ""},
		{txn(tx.PhaseDispatching), step(ReasonAnswered, tx.PhaseWatching, ending(tx.PhaseDone)), ""},
		{txn(tx.PhaseDispatching), step(ReasonAnswered, tx.PhaseSent), ""},
		{txn(tx.PhaseDispatching), step(ReasonLost, tx.PhaseDispatching), "lost"},
		{txn(tx.PhaseDispatching), step(ReasonDeferred, tx.PhaseWaiting), "deferred"},
		{txn(tx.PhaseWatching), step(ReasonSettled, tx.PhaseFailing), "settled"},
		{txn(tx.PhaseWatching), step(ReasonAmbiguous, tx.PhaseUnresolved), "unknown"},
		{txn(tx.PhaseWatching), step(ReasonNonceIgnored, tx.PhaseWatching), "nonce-ignored"},
		{txn(tx.PhaseWatching), step(ReasonLanded, tx.PhaseDone), ""},
		{txn(tx.PhaseFailing), step(ReasonDelay, tx.PhaseDelayed), ""},
	} {
		got := c.in.Failure(c.before)
		if got != c.want {
			t.Errorf("%s to %s is %q, want %q", c.in.Reason, c.in.Txn.Phase, got, c.want)
		}
		seen = append(seen, got)
	}
	for _, class := range Failures {
		if !slices.Contains(seen, class) {
			t.Errorf("nothing is %s", class)
		}
	}
}

// TestLeaves: questions and confirmations stay here.
func TestLeaves(t *testing.T) {
	t.Parallel()
	leaving := map[Kind]bool{Build: true, Prove: true, Resign: true, Dispatch: true, Send: true, Submit: true}
	for _, k := range declared(t, "step.go", "Kind") {
		if (Effect{Kind: Kind(k)}).Leaves() != leaving[Kind(k)] {
			t.Errorf("%q leaves: %t", k, !leaving[Kind(k)])
		}
	}
}

// TestEffects: what moves with a change, beside what the table has.
func TestEffects(t *testing.T) {
	t.Parallel()
	done := func(p ...part) *tx.Transaction {
		return txn(tx.PhaseDone, append([]part{try(tx.Included, block), landedBy(1)}, p...)...)
	}
	gone := func(p tx.Phase) *tx.Transaction { return txn(p, try(tx.Unknown, block, legacy, opened)) }
	watching := txn(tx.PhaseWatching, try(tx.Sent))
	with := &Aside{LandedWith: new(uint32(9))}
	kept := testPolicy().Retention
	for name, c := range map[string]struct {
		before, after *tx.Transaction
		aside         *Aside
		want          Moves
	}{
		"nothing": {watching, watching, nil, Moves{Remove: Never}},
		"landed: it stands": {watching, done(), with,
			Moves{Attempt: 1, Keep: true, Stands: payer, Nonce: 9, Remove: Never}},
		"watched on":                {done(), done(), nil, Moves{Keep: true, Remove: Never}},
		"orphaned: it stands still": {done(), done(orphan), nil, Moves{Keep: true, Remove: Never}},
		"final: it cannot fall":     {done(), done(final), nil, Moves{Falls: payer, Remove: kept}},
		"final before":              {done(final), done(final), nil, Moves{Remove: Never}},
		"without a block":           {txn(tx.PhaseDispatching), txn(tx.PhaseDone, final), nil, Moves{Last: true, Trusts: true, Remove: kept}},
		"what failed is kept":       {txn(tx.PhaseFailing), txn(tx.PhaseFailed), nil, Moves{Last: true, Trusts: true, Remove: Never}},
		"reopened": {done(orphan), txn(tx.PhaseWaiting, try(tx.Expired, block)), nil,
			Moves{Attempt: 1, Falls: payer, Remove: Never}},
		"its block is gone, and it may land again": {
			done(), gone(tx.PhaseUnresolved), nil, Moves{Attempt: 1, Confirm: false, Keep: true, Remove: Never}},
		"and does not": {gone(tx.PhaseUnresolved), txn(tx.PhaseUnresolved, try(tx.Expired, block, legacy)), nil,
			Moves{Attempt: 1, Falls: payer, Remove: Never}},
		"never in a block": {watching, txn(tx.PhaseUnresolved, try(tx.Sent)), nil, Moves{Keep: true, Last: true, Remove: Never}},
		"in another phase it stands for nothing": {
			gone(tx.PhaseWatching), gone(tx.PhaseWatching), with, Moves{Remove: Never}},
		"DONE without a block: nothing stands": {watching, txn(tx.PhaseDone, try(tx.Sent)), with,
			Moves{Last: true, Trusts: true, Remove: Never}},
		"the end is told once": {txn(tx.PhaseFailing), txn(tx.PhaseFailed, toTell), nil,
			Moves{Tell: tx.OnFailure, Last: true, Trusts: true, Remove: Never}},
		"and not again": {txn(tx.PhaseFailed, toTell), txn(tx.PhaseFailed, toTell), nil, Moves{Remove: Never}},
		"by the store alone": {txn(tx.PhaseFailing, try(tx.Refused, over)), txn(tx.PhaseFailed, try(tx.Refused, over)), nil,
			Moves{Last: true, Trusts: true, Remove: Never}},
		"told before": {txn(tx.PhaseFailed), txn(tx.PhaseFailed, toTell), nil, Moves{Tell: tx.OnFailure, Remove: Never}},
		"what was out ends": {watching, txn(tx.PhaseFailed, try(tx.Expired, block)), nil,
			Moves{Attempt: 1, Last: true, Trusts: true, Remove: Never}},
		"a person says so": {gone(tx.PhaseUnresolved), txn(tx.PhaseFailed, try(tx.Expired, block, legacy)), &Aside{Person: true},
			Moves{Attempt: 1, Trusts: true, Falls: payer, Remove: Never}},
		"a plan opens nothing": {txn(tx.PhaseDispatching), txn(tx.PhaseDispatching, try(tx.Planned)), nil,
			Moves{Attempt: 1, Remove: Never}},
		"a new one is open": {txn(tx.PhaseWatching), watching, nil,
			Moves{Attempt: 1, Confirm: true, InOrder: true, Remove: Never}},
		"one more is open": {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)), txn(tx.PhaseWatching, try(tx.Sent), try(tx.Signed)), nil,
			Moves{Attempt: 2, Confirm: true, Remove: Never}},
		"open again, while DONE": {done(orphan, try(tx.Refused, over)), done(orphan, try(tx.Signed)), nil,
			Moves{Attempt: 2, Keep: true, Confirm: true, Remove: Never}},
		"its sender is stopped": {txn(tx.PhaseDispatching), txn(tx.PhaseWaiting), &Aside{Rest: &Rest{Why: tx.StoppedNonce}},
			Moves{Confirm: true, Last: true, Remove: Never}},
		"and rests for a while": {txn(tx.PhaseDispatching), txn(tx.PhaseWaiting), &Aside{Rest: &Rest{Why: tx.LowBalance}},
			Moves{Last: true, Remove: Never}},
		"it is stopped by what is open": {watching, watching, &Aside{Rest: &Rest{Why: tx.StoppedNonce}}, Moves{Remove: Never}},
		"found while it waits":          {txn(tx.PhaseWaiting), txn(tx.PhaseWaiting, try(tx.Signed)), nil, Moves{Attempt: 1, Remove: Never}},
	} {
		if c.aside == nil {
			c.aside = &Aside{}
		}
		if got := Effects(c.before, c.after, c.aside, testPolicy()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// TestKeptInVain: what ended without effect is kept for a time of its own, which begins
// when nothing of it can land.
func TestKeptInVain(t *testing.T) {
	t.Parallel()
	p := *testPolicy()
	p.RetentionFailed = 5 * time.Hour
	lost := try(tx.Unknown, legacy, opened)
	for name, c := range map[string]struct {
		before, after *tx.Transaction
		want          time.Duration
	}{
		"failed":                {txn(tx.PhaseFailing), txn(tx.PhaseFailed), p.RetentionFailed},
		"cancelled":             {txn(tx.PhaseWaiting), txn(tx.PhaseFailed), p.RetentionFailed},
		"unresolved":            {txn(tx.PhaseDispatching), txn(tx.PhaseUnresolved), p.RetentionFailed},
		"unresolved, may land":  {txn(tx.PhaseWatching, lost), txn(tx.PhaseUnresolved, lost), Never},
		"may land no more":      {txn(tx.PhaseUnresolved, lost), txn(tx.PhaseUnresolved, try(tx.Expired, over)), p.RetentionFailed},
		"may land still":        {txn(tx.PhaseUnresolved, lost), txn(tx.PhaseUnresolved, lost), Never},
		"it was that before":    {txn(tx.PhaseFailed), txn(tx.PhaseFailed), Never},
		"not yet":               {txn(tx.PhaseDispatching), txn(tx.PhaseFailing), Never},
		"retried":               {txn(tx.PhaseFailed), txn(tx.PhaseWaiting), Never},
		"DONE has its own time": {txn(tx.PhaseDispatching), txn(tx.PhaseDone, final), p.Retention},
	} {
		if got := Effects(c.before, c.after, &Aside{}, &p).Remove; got != c.want {
			t.Errorf("%s: kept for %v, want %v", name, got, c.want)
		}
	}
	p.RetentionFailed = 1
	if got := Effects(txn(tx.PhaseFailing), txn(tx.PhaseFailed), &Aside{}, &p).Remove; got != 1 {
		t.Errorf("the shortest time: kept for %v", got)
	}
}

func opened(a *tx.Attempt)     { a.Become(tx.Sent, now) }
func toTell(t *tx.Transaction) { t.Callback = tx.OnFailure }

// TestTouched: an event names the latest attempt of which something has changed.
func TestTouched(t *testing.T) {
	t.Parallel()
	data := func(text string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Data = []byte(text) } }
	failed := failedBy
	for name, c := range map[string]struct {
		was, is []part
		want    int
	}{
		"nothing":         {[]part{try(tx.Sent, data("x"), failed("E"))}, []part{try(tx.Sent, data("x"), failed("E"))}, 0},
		"none":            {nil, nil, 0},
		"the first":       {[]part{try(tx.Sent), try(tx.Sent)}, []part{try(tx.Pooled), try(tx.Sent)}, 1},
		"both":            {[]part{try(tx.Sent), try(tx.Sent)}, []part{try(tx.Replaced), try(tx.Included)}, 2},
		"a new one":       {[]part{try(tx.Sent)}, []part{try(tx.Sent), try(tx.Planned)}, 2},
		"one less":        {[]part{try(tx.Sent), try(tx.Planned)}, []part{try(tx.Sent)}, 0},
		"its data":        {[]part{try(tx.Sent, data("x"))}, []part{try(tx.Sent, data("y"))}, 1},
		"its first error": {[]part{try(tx.Sent)}, []part{try(tx.Sent, failed("E"))}, 1},
		"no error, now":   {[]part{try(tx.Sent, failed("E"))}, []part{try(tx.Sent)}, 1},
		"another error":   {[]part{try(tx.Sent, failed("E"))}, []part{try(tx.Sent, failed("F"))}, 1},
		"anything of it": {[]part{try(tx.Sent, failed("E"), data("x"))},
			[]part{try(tx.Sent, failed("E"), data("x"), fee(101))}, 1},
		"its data is none": {[]part{try(tx.Sent, data("x"))}, []part{try(tx.Sent)}, 1},
	} {
		if got := touched(txn(tx.PhaseWatching, c.was...), txn(tx.PhaseWatching, c.is...)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

var restoredAt = time.UnixMilli(7000).UTC()

// tried is a transaction with attempts, bound to S.
func tried(attempts ...tx.Attempt) *tx.Transaction {
	t := &tx.Transaction{UID: "a", Queue: "q", Phase: tx.PhaseDispatching, Sender: "S", Attempts: attempts}
	for i := range t.Attempts {
		t.Attempts[i].Number = i + 1
	}
	return t
}

func tryAt(sender string, nonce uint32, o tx.AttemptState) tx.Attempt {
	return tx.Attempt{Sender: sender, Nonce: nonce, Fee: 1, ValidUntil: 9, State: o}
}

func ended(a tx.Attempt) tx.Attempt {
	at := time.UnixMilli(5000).UTC()
	switch {
	case a.Pending(), a.State == tx.Called:
		a.State = tx.Dropped
	case a.Open():
		a.State = tx.Abandoned
	}
	a.EndedAt = at
	return a
}

func drivenBy(process string, t *tx.Transaction) *tx.Transaction {
	t.Claim = process + ":1"
	return t
}

// drivenTo has ended so many milliseconds after the first attempt was planned, with none.
func drivenTo(p tx.Phase, ms int64) *tx.Transaction {
	t := tried()
	t.Phase, t.DoneAt = p, time.UnixMilli(ms).UTC()
	return t
}

func landedAs(a tx.Attempt) *tx.Transaction {
	t := tried(a)
	t.Phase, t.Landed = tx.PhaseDone, 1
	return t
}

func hashed(a tx.Attempt, hash string) tx.Attempt {
	a.NodeHash = hash
	return a
}

func legacyOf(a tx.Attempt) tx.Attempt {
	legacy(&a)
	return a
}

// from is an attempt that was planned so many milliseconds after the first.
func from(ms int64, a tx.Attempt, hash string) tx.Attempt {
	a.StartedAt, a.Hash = time.UnixMilli(ms).UTC(), hash
	return a
}

// TestRestored: what is stored gets the attempts back that it lacks, and nothing older
// than what it has.
func TestRestored(t *testing.T) {
	t.Parallel()
	found := KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J"}}, restoredAt)
	remembers := func(attempts ...tx.Attempt) Known {
		t := tried(attempts...)
		t.Revision = 7
		return KnownOf("p", t, nil)
	}
	replaced := func(a tx.Attempt) tx.Attempt {
		a.State, a.EndedAt = tx.Replaced, restoredAt
		return a
	}
	came := hashed(func() tx.Attempt {
		a := tryAt("S", 3, tx.Signed)
		a.StartedAt, a.Alone = restoredAt,
			true
		return a
	}(),
		"5J")
	refused, later := from(1, ended(tryAt("S", 3, tx.Refused)), "5K"), from(2, tryAt("S", 3, tx.Sent), "5L")
	foundAgain := from(1, ended(tryAt("S", 3, tx.Refused)), "5J")
	failedBefore := func(later ...string) Known { k := found; k.Failed, k.Later = true, later; return k }
	beforeThat := found
	beforeThat.Later = []string{"5L"}
	landed, busy := legacyOf(from(2, ended(tryAt("S", 4, tx.Included)), "5L")), ended(legacyOf(tryAt("S", 3, tx.Planned)))
	for name, c := range map[string]struct {
		stored *tx.Transaction
		known  Known
		want   []tx.Attempt // nil: it lacks nothing
	}{
		"one that is alike was refused": {tried(refused), remembers(refused, later), []tx.Attempt{refused, later}},
		"its refusal is known":          {tried(refused), remembers(from(1, tryAt("S", 3, tx.Sent), "5K")), nil},
		"its refusal is forgotten":      {drivenBy("p", tried(from(1, tryAt("S", 3, tx.Sent), "5K"))), remembers(refused), []tx.Attempt{refused}},
		"its refusal is forgotten, and another has had it since": {drivenBy("r", tried(from(1, tryAt("S", 3, tx.Sent), "5K"))),
			remembers(refused), nil},
		"it was open once more since": {func() *tx.Transaction {
			t := drivenBy("p", tried(from(1, tryAt("S", 3, tx.Sent), "5K")))
			t.Revision = 7
			return t
		}(), remembers(refused), nil},
		"one with its hash was refused before it": {tried(from(1, ended(tryAt("S", 3, tx.Refused)), "5K"), from(2, tryAt("S", 3, tx.Sent), "")),
			remembers(hashed(from(2, tryAt("S", 3, tx.Sent), ""), "5K")),
			[]tx.Attempt{from(1, ended(tryAt("S", 3, tx.Refused)), "5K"), hashed(from(2, tryAt("S", 3, tx.Sent), ""), "5K")}},
		"one alike was refused since":      {tried(later), remembers(refused), []tx.Attempt{later, refused}},
		"refused, and another one is out":  {tried(tryAt("R", 8, tx.Sent)), remembers(refused), []tx.Attempt{tryAt("R", 8, tx.Sent), refused}},
		"found, and one alike was refused": {tried(refused), found, []tx.Attempt{refused, came}},
		"one that is alike was declared dead": {tried(from(1, ended(tryAt("S", 3, tx.Expired)), "5K")),
			remembers(from(1, ended(tryAt("S", 3, tx.Expired)), "5K"), later), []tx.Attempt{from(1, ended(tryAt("S", 3, tx.Expired)), "5K"), later}},
		"found, and one alike was declared dead": {tried(from(1, ended(tryAt("S", 3, tx.Expired)), "5K")), found,
			[]tx.Attempt{from(1, ended(tryAt("S", 3, tx.Expired)), "5K"), came}},
		"found, though it was refused": {tried(foundAgain), found,
			[]tx.Attempt{hashed(from(1, tryAt("S", 3, tx.Signed), "5J"), "5J")}},
		"found in its last slot, though it was refused": {tried(foundAgain),
			KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J", Slot: 9}}, restoredAt),
			[]tx.Attempt{hashed(from(1, tryAt("S", 3, tx.Signed), "5J"), "5J")}},
		"found before, and known": {tried(came), remembers(from(1, tryAt("S", 3, tx.Sent), "5J")), nil},
		"found in a pool long after its last slot": {tried(from(1, ended(tryAt("S", 3, tx.Expired)), "5J")),
			KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J", Slot: 10}}, restoredAt), nil},
		"found, though it was refused, and another is out": {tried(foundAgain, tryAt("R", 8, tx.Sent)), found, nil},
		"it has gone on": {tried(from(2, tryAt("R", 8, tx.Sent), "")), remembers(from(1, tryAt("S", 3, tx.Sent), "")), nil},
		"it has landed since": {landedAs(from(2, ended(tryAt("R", 8, tx.Included)), "5L")), remembers(from(1, tryAt("S", 3, tx.Sent), "")),
			nil},
		"it has gone on at its nonce": {tried(from(2, hashed(tryAt("S", 3, tx.Sent), "5L"), "")),
			remembers(from(1, hashed(tryAt("S", 3, tx.Sent), "5K"), "")),
			[]tx.Attempt{from(2, hashed(tryAt("S", 3, tx.Sent), "5L"), ""), from(1, hashed(tryAt("S", 3, tx.Sent), "5K"), "")}},
		"what it went on with is over": {tried(from(2, ended(tryAt("R", 8, tx.Refused)), "5L")),
			remembers(from(1, tryAt("S", 3, tx.Sent), "5K")),
			[]tx.Attempt{from(2, ended(tryAt("R", 8, tx.Refused)), "5L"), from(1, tryAt("S", 3, tx.Sent), "5K")}},
		"it went on from there": {tried(from(1, tryAt("S", 3, tx.Sent), "5K")),
			remembers(from(1, ended(tryAt("S", 3, tx.Expired)), "5K"), from(2, tryAt("R", 8, tx.Sent), "5L")),
			[]tx.Attempt{replaced(from(1, tryAt("S", 3, tx.Sent), "5K")), from(2, tryAt("R", 8, tx.Sent), "5L")}},
		"it failed there": {tried(from(1, tryAt("S", 3, tx.Sent), "5K")),
			remembers(from(1, ended(tryAt("S", 3, tx.FailedIn)), "5K"), from(2, tryAt("R", 8, tx.Sent), "5L")),
			[]tx.Attempt{from(1, ended(tryAt("S", 3, tx.FailedIn)), "5K"), from(2, tryAt("R", 8, tx.Sent), "5L")}},
		"planned before it went on elsewhere": {tried(from(2, tryAt("R", 8, tx.Sent), "5L")),
			remembers(from(3, tryAt("S", 3, tx.Sent), "5K")), nil},
		"found, and it has gone on": {tried(from(restoredAt.UnixMilli()+1, tryAt("R", 8, tx.Sent), "")), found,
			[]tx.Attempt{replaced(from(restoredAt.UnixMilli()+1, tryAt("R", 8, tx.Sent), "")), came}},
		"all of it": {tried(), remembers(tryAt("S", 3, tx.Sent)), []tx.Attempt{tryAt("S", 3, tx.Sent)}},
		"nothing":   {tried(tryAt("S", 3, tx.Pooled)), remembers(tryAt("S", 3, tx.Sent)), nil},
		"what a plan became": {tried(tryAt("S", 3, tx.Planned)), remembers(tryAt("S", 3, tx.Signed)),
			[]tx.Attempt{tryAt("S", 3, tx.Signed)}},
		"another plan has its number": {tried(tryAt("S", 4, tx.Planned)), remembers(tryAt("S", 3, tx.Signed)),
			[]tx.Attempt{func() tx.Attempt { a := tryAt("S", 4, tx.Planned); a.Become(tx.Dropped, restoredAt); return a }(),
				tryAt("S", 3, tx.Signed)}},
		"what came after an end": {tried(tryAt("S", 3, tx.Sent)),
			remembers(ended(tryAt("S", 3, tx.FailedIn)), tryAt("R", 8, tx.Signed)),
			[]tx.Attempt{ended(tryAt("S", 3, tx.FailedIn)), tryAt("R", 8, tx.Signed)}},
		"two with one nonce": {tried(tryAt("S", 3, tx.Sent)), remembers(tryAt("S", 3, tx.Sent), tryAt("S", 3, tx.Signed)),
			[]tx.Attempt{tryAt("S", 3, tx.Sent), tryAt("S", 3, tx.Signed)}},
		"no plan of its own":           {tried(), remembers(tryAt("S", 3, tx.Planned)), nil},
		"its end is known":             {tried(ended(tryAt("S", 3, tx.Expired))), remembers(tryAt("S", 3, tx.Sent)), nil},
		"no plan that came to nothing": {tried(tryAt("S", 3, tx.Signed)), remembers(ended(tryAt("S", 3, tx.Planned))), nil},
		"what was made after a plan that came to nothing": {tried(ended(tryAt("S", 3, tx.Planned)),
			hashed(tryAt("S", 3, tx.Signed), "5J")),
			remembers(ended(tryAt("S", 3, tx.Planned)), hashed(tryAt("S", 3, tx.Signed), "5J")), nil},
		"found":             {tried(), found, []tx.Attempt{came}},
		"found, and known":  {tried(hashed(tryAt("S", 3, tx.Sent), "5J")), found, nil},
		"found, by no hash": {tried(tryAt("S", 3, tx.Sent)), found, []tx.Attempt{hashed(tryAt("S", 3, tx.Sent), "5J")}},
		"found, and newer": {tried(tryAt("R", 8, tx.Sent)), found,
			[]tx.Attempt{replaced(tryAt("R", 8, tx.Sent)), came}},
		"found, at another nonce": {tried(tryAt("S", 2, tx.Sent)), found,
			[]tx.Attempt{func() tx.Attempt { a := replaced(tryAt("S", 2, tx.Sent)); a.State = tx.ReplacedShallow; return a }(),
				came}},
		"a legacy call": {tried(tryAt("S", 3, tx.Planned)), remembers(legacyOf(tryAt("S", 3, tx.Planned))),
			[]tx.Attempt{legacyOf(tryAt("S", 3, tx.Planned))}},
		"a legacy answer": {tried(legacyOf(tryAt("S", 3, tx.Planned))), remembers(legacyOf(tryAt("S", 4, tx.Sent))),
			[]tx.Attempt{legacyOf(tryAt("S", 4, tx.Sent))}},
		"found, and it landed by what was made later":                        {landedAs(landed), failedBefore("5K", "5L"), nil},
		"found, and it landed by what was made later, and this did not fail": {landedAs(landed), beforeThat, []tx.Attempt{landed, came}},
		"found, failed before what is out":                                   {tried(from(2, tryAt("R", 8, tx.Sent), "5L")), failedBefore("5L"), nil},
		"found, failed before what is over": {tried(from(2, ended(tryAt("R", 8, tx.Expired)), "5L")), failedBefore("5L"),
			[]tx.Attempt{from(2, ended(tryAt("R", 8, tx.Expired)), "5L"), came}},
		"found, failed, and what is out is found nowhere": {tried(from(2, tryAt("R", 8, tx.Sent), "5L")), failedBefore(),
			[]tx.Attempt{replaced(from(2, tryAt("R", 8, tx.Sent), "5L")), came}},
		"found, failed, and another with its nonce is found": {tried(hashed(from(2, tryAt("S", 3, tx.Sent), "5L"), "5L")),
			failedBefore("5L"), []tx.Attempt{hashed(from(2, tryAt("S", 3, tx.Sent), "5L"), "5L"), came}},
		"found, and what it landed by is found no more": {landedAs(landed), failedBefore("5K"), []tx.Attempt{landed, came}},
		"found, and it landed by that, after a call like it came to nothing": {
			tried(busy, legacyOf(from(2, ended(tryAt("S", 3, tx.Included)), "5J"))), found, nil},
		"found, though a legacy call was declared dead": {
			tried(busy, legacyOf(from(2, ended(tryAt("S", 3, tx.Expired)), "5J"))), found,
			[]tx.Attempt{busy, legacyOf(hashed(from(2, tryAt("S", 3, tx.Signed), "5J"), "5J"))}},
		"found, and a legacy call like it was declared dead": {tried(legacyOf(ended(tryAt("S", 3, tx.Expired)))), found,
			[]tx.Attempt{legacyOf(hashed(tryAt("S", 3, tx.Signed), "5J"))}},
		"found, and a legacy call with another hash was declared dead": {
			tried(legacyOf(hashed(ended(tryAt("S", 3, tx.Expired)), "5K"))), found,
			[]tx.Attempt{legacyOf(hashed(ended(tryAt("S", 3, tx.Expired)), "5K")), came}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := Restored(c.stored, c.known, restoredAt)
			if (got == nil) != (c.want == nil) {
				t.Fatalf("restored: %+v", got)
			}
			if got != nil && !slices.EqualFunc(got.Attempts, tried(c.want...).Attempts,
				func(a, b tx.Attempt) bool { return reflect.DeepEqual(a, b) }) {
				t.Errorf("attempts %+v, want %+v", got.Attempts, tried(c.want...).Attempts)
			}
		})
	}
}

// TestRestoredBatch: attempts of a batch are all alike, and told apart by when they were made. One
// that has the number of another and was made later has taken its place.
func TestRestoredBatch(t *testing.T) {
	t.Parallel()
	batch := func(attempts ...tx.Attempt) *tx.Transaction {
		b := tried(attempts...)
		b.Ledger, b.BatchID = "saw", "b1"
		return b
	}
	first, second := from(1, tryAt("saw/1", 0, tx.FailedIn), "b1"), from(2, tryAt("saw/1", 0, tx.Sent), "b1")
	first.EndedAt = restoredAt
	for name, c := range map[string]struct {
		stored, known *tx.Transaction
		lacks         bool
	}{
		"another one has ended":       {batch(first), batch(first, second), true},
		"it is there":                 {batch(first, second), batch(first, second), false},
		"its end is there":            {batch(from(2, ended(tryAt("saw/1", 0, tx.Refused)), "b1")), batch(second), false},
		"its number is another's":     {batch(from(3, tryAt("saw/1", 0, tx.Signed), "b1")), batch(second), false},
		"an older one has its number": {batch(from(1, ended(tryAt("saw/1", 0, tx.Refused)), "b1")), batch(second), true},
	} {
		after, _ := Restored(c.stored, KnownOf("p", c.known, nil), restoredAt)
		if Lacks("p", c.stored, c.known) != c.lacks || (after != nil) != c.lacks {
			t.Errorf("%s: lacks %t, restored as %+v", name, Lacks("p", c.stored, c.known), after)
		}
		if after != nil && !after.Open() {
			t.Errorf("%s: restored, and nothing is open: %+v", name, after.Attempts)
		}
	}
}

// TestRestoredBatchEnd: that it has ended is put back as any other's end, if nobody else had it since.
func TestRestoredBatchEnd(t *testing.T) {
	t.Parallel()
	out := tried(from(2, tryAt("saw/1", 0, tx.Sent), "b1"))
	out.Ledger, out.BatchID = "saw", "b1"
	over := out.Clone()
	over.Attempts[0] = ended(from(2, tryAt("saw/1", 0, tx.Expired), "b1"))
	over.Attempts[0].Number = 1
	if after, _ := Restored(out, KnownOf("p", over, nil), restoredAt); after != nil {
		t.Errorf("another one may have posted it since, and it is restored as %+v", after)
	}
	out.Claim, over.Revision = "p:1", out.Revision+1
	if after, _ := Restored(out, KnownOf("p", over, nil), restoredAt); after == nil || after.Open() {
		t.Errorf("restored as %+v", after)
	}
}

// TestBytesOf: what is remembered keeps its bytes as long as their number is that of the same attempt.
func TestBytesOf(t *testing.T) {
	t.Parallel()
	known := tried(ended(tryAt("S", 2, tx.Refused)), tryAt("S", 3, tx.Signed))
	bytes := &BytesRead{Number: 2, Command: []byte("signed")}
	for name, c := range map[string]struct {
		now  *tx.Transaction
		kept bool
	}{
		"sent":                   {tried(ended(tryAt("S", 2, tx.Refused)), tryAt("S", 3, tx.Sent)), true},
		"made by another":        {tried(ended(tryAt("S", 2, tx.Refused)), tryAt("R", 8, tx.Signed)), false},
		"made under a lower one": {tried(tryAt("S", 3, tx.Signed)), false},
		"nothing is remembered":  {nil, false},
	} {
		if got := BytesOf(known, c.now, bytes); (got == bytes) != c.kept || !c.kept && got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := BytesOf(known, known, nil); got != nil {
		t.Errorf("of none: %+v", got)
	}
}

// TestRestoredBytes: they go with their attempt, whatever number that has by now.
func TestRestoredBytes(t *testing.T) {
	t.Parallel()
	known := KnownOf("p", tried(tryAt("S", 3, tx.Signed)), &BytesRead{Number: 1, Command: []byte("signed")})
	_, bytes := Restored(tried(tryAt("S", 4, tx.Planned)), known, restoredAt)
	if bytes == nil || bytes.Number != 2 {
		t.Errorf("bytes: %+v", bytes)
	}
	if _, bytes = Restored(tried(tryAt("S", 3, tx.Signed)), known, restoredAt); bytes != nil {
		t.Errorf("nothing lacks, and bytes are stored: %+v", bytes)
	}
}

// TestRestoredBytesOfNone: bytes of what is not put back are not taken for those of another one.
func TestRestoredBytesOfNone(t *testing.T) {
	t.Parallel()
	shallow, kept := from(1, ended(tryAt("S", 3, tx.FailedIn)), "5K"), from(2, ended(tryAt("S", 9, tx.Planned)), "")
	shallow.State, shallow.StateHash = tx.FailedShallow, "3N"
	failedBy(tx.CodeProvedAhead)(&kept)
	for name, c := range map[string]struct{ stored, known *tx.Transaction }{
		"it has gone on": {tried(from(3, tryAt("S", 3, tx.Sent), "5L")),
			tried(from(1, ended(tryAt("S", 3, tx.Refused)), "5K"), from(2, tryAt("R", 8, tx.Signed), "5M"))},
		"a plan with a proof": {tried(), tried(shallow, kept)},
	} {
		after, bytes := Restored(c.stored, KnownOf("p", c.known, &BytesRead{Number: 2, Command: []byte("bytes")}), restoredAt)
		if after == nil || bytes != nil {
			t.Errorf("%s: %+v, as %+v", name, bytes, after)
		}
	}
}

// TestRemember: the latest with something out, until the chain has shown the end of that.
func TestRemember(t *testing.T) {
	t.Parallel()
	out, plan, over := tried(tryAt("S", 3, tx.Sent)), tried(tryAt("S", 3, tx.Planned)), tried(ended(tryAt("S", 3,
		tx.Expired)))
	landed := tried(ended(tryAt("S", 3, tx.Included)))
	landed.Phase, landed.Landed = tx.PhaseDone, 1
	failed := tried(ended(tryAt("S", 3, tx.FailedIn)))
	committed := tried(ended(tryAt("saw/1", 0, tx.Included)))
	committed.Ledger, committed.Landed, committed.Phase, committed.FinalAt = "saw", 1, tx.PhaseDone, restoredAt
	final := landed.Clone()
	final.FinalAt = restoredAt
	asked, answered := tried(legacyOf(tryAt("S", 3, tx.Planned))), tried(ended(legacyOf(tryAt("S", 3, tx.Refused))))
	for name, c := range map[string]struct{ known, read, want *tx.Transaction }{
		"nothing out":             {nil, plan, nil},
		"out":                     {nil, out, out},
		"forgotten":               {out, plan, out},
		"forgotten, and back":     {out, tried(ended(tryAt("S", 3, tx.Planned))), out},
		"over":                    {out, failed, nil},
		"a ledger's answer":       {nil, committed, committed},
		"over, by nobody's block": {out, over, over},
		"landed":                  {out, landed, landed},
		"for good":                {landed, final, nil},
		"answered":                {asked, answered, answered},
		"answer forgotten":        {answered, asked, answered},
		"question forgotten":      {asked, plan, asked},
	} {
		if got := Remember("p", c.known, c.read); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, l := range []*tx.Transaction{landed, final} {
		if k := KnownOf("p", l, nil); !k.Attempts[0].Open() || l.Attempts[0].Open() {
			t.Errorf("what landed is not asked for again: %+v", k)
		}
	}
}

// TestStranger: the first nonce that none of ours has used.
func TestStranger(t *testing.T) {
	t.Parallel()
	use := func(nonce uint32, uid string) Use { return Use{UID: uid, Command: Command{Nonce: nonce, Hash: "5J"}} }
	running := []*tx.Transaction{tried(tryAt("S", 4, tx.Sent))}
	for name, c := range map[string]struct {
		ledger  uint32
		running []*tx.Transaction
		used    []Use
		nonce   uint32
		hash    string
		found   bool
	}{
		"nothing used":                         {3, nil, nil, 3, "", false},
		"ours":                                 {4, nil, []Use{use(3, "a")}, 4, "", false},
		"shown nowhere":                        {4, nil, nil, 3, "", true},
		"a stranger's":                         {4, nil, []Use{use(3, "")}, 3, "5J", true},
		"a stranger's in a pool":               {3, nil, []Use{use(3, "")}, 3, "5J", true},
		"far above":                            {3, nil, []Use{use(5, "")}, 3, "", false},
		"at a nonce of another account, twice": {4, []*tx.Transaction{tried(tryAt("R", 3, tx.Sent), tryAt("R", 3, tx.Sent))}, nil, 3, "", true},
		"at a nonce of another account":        {4, []*tx.Transaction{tried(tryAt("R", 3, tx.Sent))}, nil, 3, "", true},
		"of what runs":                         {5, running, []Use{use(3, "a"), use(4, "")}, 5, "", false},
		"beside ours with that nonce":          {4, nil, []Use{use(3, ""), use(3, "a")}, 4, "", false},
	} {
		nonce, hash, found := Stranger("S", 3, c.ledger, c.running, c.used)
		if nonce != c.nonce || hash != c.hash || found != c.found {
			t.Errorf("%s: %d %q %v", name, nonce, hash, found)
		}
	}
}

// TestMakesRoom: only what has nothing out goes back to its queue.
func TestMakesRoom(t *testing.T) {
	t.Parallel()
	back := MakesRoom(tried(tryAt("S", 3, tx.Planned)), restoredAt)
	if back == nil || back.Phase != tx.PhaseWaiting || back.Last().Pending() { // at a nonce that may be another's by then
		t.Errorf("it stays: %+v", back)
	}
	waits := tried()
	waits.Phase = tx.PhaseWaiting
	if MakesRoom(tried(tryAt("S", 3, tx.Sent)), restoredAt) != nil || MakesRoom(waits, restoredAt) != nil {
		t.Error("it goes back, and has something out, or is in nobody's place")
	}
}

// TestMakesRoomUnweighed: what made room before it was weighed whether it is tried again is not planned
// as if it were.
func TestMakesRoomUnweighed(t *testing.T) {
	t.Parallel()
	for phase, want := range map[tx.Phase]tx.Phase{tx.PhaseSent: tx.PhaseFailing, tx.PhaseWatching: tx.PhaseFailing,
		tx.PhaseFailing: tx.PhaseFailing,
		tx.PhaseDelayed: "", tx.PhaseDispatching: ""} {
		u := tried(ended(tryAt("S", 3, tx.FailedIn)))
		u.Phase = phase
		if back := MakesRoom(u, restoredAt); back.Ending != want {
			t.Errorf("%s: to end as %q", phase, back.Ending)
		}
	}
	for was, want := range map[tx.Phase]tx.Phase{tx.PhaseWaiting: "", tx.PhaseFailing: tx.PhaseFailing,
		tx.PhaseDone:   tx.PhaseDone,
		tx.PhaseFailed: tx.PhaseFailed, tx.PhaseUnresolved: tx.PhaseUnresolved} {
		u := tried(ended(tryAt("S", 3, tx.Expired)))
		u.Phase, u.Ending = tx.PhaseWatching, was
		if back := MakesRoom(u, restoredAt); back.Ending != want {
			t.Errorf("what was to end as %q is to end as %q", was, back.Ending)
		}
	}
	again := tried(ended(tryAt("S", 3, tx.FailedIn)))
	again.Ending = tx.PhaseFailing
	known := KnownOf("p", tried(ended(tryAt("S", 3, tx.FailedIn)), tryAt("S", 4, tx.Sent)), nil)
	if after, _ := Restored(again, known, restoredAt); after.Ending != "" {
		t.Errorf("with something out it is to end as %q", after.Ending)
	}
}

// TestReposts: what has ended in vain may be forgotten with its end.
func TestReposts(t *testing.T) {
	t.Parallel()
	legacy, batch := tried(ended(tryAt("S", 3, tx.Refused))), tried(ended(tryAt("saw/1", 0, tx.Included)))
	legacy.Attempts[0].Legacy = true
	batch.Ledger, batch.Landed = "saw", 1
	rejected := tried(ended(tryAt("saw/1", 0, tx.Refused)))
	rejected.Ledger = "saw"
	for name, c := range map[string]struct {
		known *tx.Transaction
		want  bool
	}{
		"out": {tried(tryAt("S", 3, tx.Sent)), true}, "refused": {tried(ended(tryAt("S", 3, tx.Refused))), false},
		"a worker's answer": {legacy, true}, "a ledger's answer": {batch, true}, "rejected": {rejected, false},
	} {
		if got := Reposts(c.known); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLeast: the next nonces that follow from what was restored.
func TestLeast(t *testing.T) {
	t.Parallel()
	before := tried(ended(tryAt("S", 1, tx.FailedIn)), tryAt("S", 2, tx.Sent))
	after := tried(ended(tryAt("S", 1, tx.FailedIn)), ended(tryAt("S", 2, tx.FailedIn)), tryAt("R", 7, tx.Signed),
		tryAt("T", 5, tx.Planned))
	if least := Least(before, after); len(least) != 2 || least["S"] != 3 || least["R"] != 7 {
		t.Errorf("least: %v", least)
	}
	if least := Least(tried(ended(tryAt("S", 1, tx.Replaced))), tried(ended(tryAt("S", 1,
		tx.FailedIn)))); len(least) != 0 {
		t.Errorf("of what was over: %v", least)
	}
	if least := Least(tried(tryAt("S", 1, tx.Sent)), tried(tryAt("S", 1, tx.Pooled))); len(least) != 0 {
		t.Errorf("of what was open: %v", least)
	}
}

// TestRestoredOnce: whatever is stored and whatever is known, what was restored once lacks
// nothing, has all that was there, and nothing that may land is closed by what is known.
func TestRestoredOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		stored, of := placed(r), placed(r)
		if r.IntN(3) == 0 { // a later state of the same
			of = stored.Clone()
			over(of.Last())
			try(pick(r, outcomes...))(of)
		}
		known := KnownOf("p", of, nil)
		after, _ := Restored(stored, known, restoredAt)
		if after == nil {
			continue
		}
		if again, _ := Restored(after, known, restoredAt); again != nil {
			t.Fatalf("of %+v\nknown %+v\nrestored %+v\nand again %+v",
				stored.Attempts, known.Attempts, after.Attempts, again.Attempts)
		}
		for i := range stored.Attempts {
			if a := &stored.Attempts[i]; a.Open() && !after.Attempts[i].Open() && after.Attempts[i].State == tx.Planned {
				t.Fatalf("attempt %d is a plan again: %+v, by %+v", i+1, stored.Attempts, known.Attempts)
			}
		}
	}
}

// TestPassed: what came before the one that has its place by now is DONE, and looked for
// on the chain; what came after it waits.
func TestPassed(t *testing.T) {
	t.Parallel()
	found := func(queue string, sequence int64, nonce uint32) *tx.Transaction {
		u := tried(hashed(tryAt("S", nonce-1, tx.Signed), "5Ja"), tryAt("R", 8, tx.Planned),
			hashed(tryAt("S", nonce, tx.Sent), "5Jb"))
		u.Queue, u.Sequence, u.Ending = queue, sequence, tx.PhaseFailed
		u.Attempts[0].State, u.Attempts[0].EndedAt = tx.Replaced, restoredAt
		u.Attempts[2].StateHash, u.Attempts[2].Height = "3N", 7
		u.Attempts = append(u.Attempts, hashed(tryAt("S", nonce, tx.Sent), "5Jc"))
		u.Attempts[3].Number = 4
		return u
	}
	other := tried(tryAt("S", 5, tx.Sent))
	other.UID, other.Sequence = "b", 10
	for name, c := range map[string]struct {
		queue    string
		sequence int64
		nonce    uint32
		passed   bool
	}{
		"its queue, before":   {"q", 9, 3, true},
		"its queue, after":    {"q", 11, 6, false},
		"its sender, before":  {"p", 11, 4, true},
		"its sender, after":   {"p", 9, 6, false},
		"its sender, a raise": {"p", 9, 5, false},
	} {
		after := found(c.queue, c.sequence, c.nonce)
		done := DoneBefore(after, other, Known{}, restoredAt)
		if (done != nil) != c.passed {
			t.Errorf("%s: %+v", name, done)
		}
		if done == nil {
			continue
		}
		in := done.Attempt(3)
		if done.Phase != tx.PhaseDone || !done.Reopened || done.Landed != 3 || done.Open() || in.State != tx.Included ||
			in.StateHash != "" || in.Height != 0 || in.Confirmations != 0 || done.Ending != "" ||
			done.Attempts[1].EndedAt.IsZero() || !done.Attempts[1].State.Unmade() ||
			done.Attempts[3].State != tx.Replaced || done.Callback != "" || !done.Watched() {
			t.Errorf("%s: %+v", name, done)
		}
		if w, asked := WatchOf(done, walkMemo); !asked || w.Nonce != c.nonce || !slices.Contains(w.Hashes, "5Jb") {
			t.Errorf("%s: watched as %+v", name, w)
		}
	}
	paid := other.Clone()
	paid.Attempts[0].Sender = "R"
	if DoneBefore(found("p", 9, 4), paid, Known{}, restoredAt) != nil {
		t.Error("a nonce of another account was compared")
	}
	remembered := KnownOf("p", found("p", 9, 4), nil)
	if DoneBefore(found("p", 9, 4), other, remembered, restoredAt) == nil {
		t.Error("what was in a block waits")
	}
	unseen := found("p", 9, 4)
	unseen.Attempts[2].StateHash = ""
	if DoneBefore(unseen, other, remembered, restoredAt) != nil {
		t.Error("what no chain has shown is DONE")
	}
}

// TestTraceParent: each try has a trace of its own, the same wherever it is made.
func TestTraceParent(t *testing.T) {
	t.Parallel()
	const posted = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	x := txn(tx.PhaseWaiting)
	if x.TraceParent() != "" || x.TraceID() != "" {
		t.Errorf("not traced: %q, %q", x.TraceParent(), x.TraceID())
	}
	x.Trace = posted
	if x.TraceParent() != posted || x.TraceID() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("the first try: %q, %q", x.TraceParent(), x.TraceID())
	}
	for retries, want := range map[int]string{
		1: "00-1ade03343355caa529ec341826ada8a6-265ee19ebb989c60-01",
		2: "00-f1b01650ea320696e5100e073a9708f3-0822287a5dcd47f0-01",
	} {
		x.Retries = retries
		if got := x.TraceParent(); got != want || len(got) != len(posted) || x.TraceID() != want[3:35] {
			t.Errorf("retry %d: %q, %q", retries, got, x.TraceID())
		}
	}
}

// TestTell: a callback is told when the phase becomes that of an end, or when an end that
// nobody was told of is seen at last; and once.
func TestTell(t *testing.T) {
	t.Parallel()
	with := func(p tx.Phase, c tx.Callback) *tx.Transaction {
		x := tried(ended(tryAt("S", 3, tx.Included)))
		x.Phase, x.Landed, x.Callback = p, 1, c
		return x
	}
	for name, c := range map[string]struct {
		before, after *tx.Transaction
		want          tx.Callback
	}{
		"it lands":                {with(tx.PhaseWatching, ""), with(tx.PhaseDone, tx.OnSuccess), tx.OnSuccess},
		"it fails after an end":   {with(tx.PhaseDone, tx.OnSuccess), with(tx.PhaseFailed, tx.OnFailure), tx.OnFailure},
		"found, and seen at last": {with(tx.PhaseDone, ""), with(tx.PhaseDone, tx.OnSuccess), tx.OnSuccess},
		"being told":              {with(tx.PhaseDone, tx.OnSuccess), with(tx.PhaseDone, tx.OnSuccess), ""},
		"told":                    {with(tx.PhaseDone, ""), with(tx.PhaseDone, ""), ""},
	} {
		if m := Effects(c.before, c.after, &Aside{}, &Policy{}); m.Tell != c.want {
			t.Errorf("%s: tells %q, want %q", name, m.Tell, c.want)
		}
	}
}

// TestIs: when a stored attempt is the one that is known.
func TestIs(t *testing.T) {
	t.Parallel()
	numbered := func(a tx.Attempt, n int) tx.Attempt { a.Number = n; return a }
	sent := hashed(numbered(tryAt("S", 3, tx.Sent), 1), "5Ja")
	local := sent
	local.Hash, local.NodeHash = "5Ja", ""
	dearer, later := sent, sent
	dearer.Fee, later.ValidUntil = 2, 10
	legacyOne := legacyOf(sent)
	for name, c := range map[string]struct {
		stored, known tx.Attempt
		want          bool
	}{
		"the same":                      {sent, sent, true},
		"of another number":             {sent, numbered(sent, 4), true},
		"of another sender":             {sent, func() tx.Attempt { a := sent; a.Sender = "R"; return a }(), false},
		"dearer":                        {sent, dearer, false},
		"valid for longer":              {sent, later, false},
		"at another nonce":              {sent, numbered(tryAt("S", 4, tx.Sent), 1), false},
		"another hash":                  {sent, hashed(sent, "5Jb"), false},
		"no hash stored":                {hashed(sent, ""), sent, true},
		"no hash known":                 {sent, hashed(sent, ""), true},
		"stored by our hash":            {local, sent, true},
		"known by our hash":             {sent, local, true},
		"a legacy one, and none":        {legacyOne, sent, false},
		"a legacy one that was found":   {legacyOne, numbered(sent, 0), true},
		"found, and dearer":             {legacyOne, numbered(dearer, 0), true},
		"another command was found":     {legacyOne, hashed(numbered(dearer, 0), "5Jb"), false},
		"found, and no hash is known":   {hashed(legacyOne, ""), hashed(numbered(dearer, 0), ""), false},
		"a legacy one at another nonce": {legacyOne, func() tx.Attempt { a := legacyOne; a.Nonce = 9; return a }(), true},
		"a plan, and legacy, other nonce": {numbered(tryAt("S", 3, tx.Planned), 1),
			numbered(legacyOf(tryAt("S", 9, tx.Sent)), 1), false},
		"legacy, of another number, nonce": {legacyOne,
			numbered(legacyOf(hashed(tryAt("S", 9, tx.Sent), "5Ja")), 2), false},
	} {
		if got := isCommand(&c.stored, &c.known); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFoundInOrder: what was found is put back as it was made, and not what a running legacy call may be.
func TestFoundInOrder(t *testing.T) {
	t.Parallel()
	use := func(uid string, height, nonce uint32) Use {
		return Use{Command: Command{Nonce: nonce}, UID: uid, Height: height}
	}
	all := []Use{use("pooled", 0, 1), use("later", 9, 1), use("second", 8, 7), use("first", 8, 6), use("", 1, 9)}
	InOrder(all)
	legacy := txn(tx.PhaseDispatching, try(tx.Planned, legacy))
	legacy.UID = "second"
	other := txn(tx.PhaseDispatching, try(tx.Sent))
	other.UID = "first"
	running := []*tx.Transaction{legacy, other}
	uids := func(of []Use) (uids string) {
		for _, u := range of {
			uids += u.UID + " "
		}
		return uids
	}
	if got := uids(all); got != " first second later pooled " {
		t.Errorf("in order: %q", got)
	}
	again := []Use{use("a", 9, 2), use("a", 0, 2), use("b", 9, 2), use("a", 8, 1)}
	for i := range again {
		again[i].Hash = fmt.Sprint("5J", i)
	}
	InOrder(again)
	for i, want := range []string{"5J3 [5J1 5J0]", "5J0 [5J1]", "5J2 []", "5J1 []"} {
		if got := fmt.Sprint(again[i].Hash, " ", again[i].Later); got != want {
			t.Errorf("%d in order: %s, want %s", i, got, want)
		}
	}
	named := func(account string) (some []Use) {
		for _, u := range all {
			if u.Payer = account; u.Named(running) {
				some = append(some, u)
			}
		}
		return some
	}
	if got := uids(named("B62a")); got != "first later pooled " {
		t.Errorf("named: %q", got)
	}
	if got := uids(named("B62b")); got != "first second later pooled " {
		t.Errorf("with another account: %q", got)
	}
}

// TestRestoredHashes: what both know of an attempt is put together; what is stored comes first.
func TestRestoredHashes(t *testing.T) {
	t.Parallel()
	plan := tryAt("S", 3, tx.Planned)
	plan.Hash = "5Jstored"
	known := hashed(tryAt("S", 3, tx.Sent), "5Jnode")
	known.Hash = "5Jknown"
	got, _ := Restored(tried(ended(tryAt("R", 1, tx.Expired)), plan), KnownOf("p", tried(known), nil), restoredAt)
	if a := got.Last(); a.Number != 2 || a.Hash != "5Jstored" || a.NodeHash != "5Jnode" || a.State != tx.Sent {
		t.Errorf("restored %+v", a)
	}
	known = hashed(ended(tryAt("S", 3, tx.Included)), "5Jknown")
	known.Hash = "5Jstored" // by which it is the one that is stored
	got, _ = Restored(tried(hashed(tryAt("S", 3, tx.Sent), "5Jstored")), KnownOf("p", tried(known), nil), restoredAt)
	if a := got.Last(); a.NodeHash != "5Jstored" || a.State != tx.Included {
		t.Errorf("restored %+v", a)
	}
}

// TestStays: a record is restored where it is unless it has something out elsewhere.
func TestStays(t *testing.T) {
	t.Parallel()
	plan, out := tried(tryAt("S", 3, tx.Planned)), tried(tryAt("S", 3, tx.Sent))
	elsewhere := tried(tryAt("S", 3, tx.Planned), tryAt("R", 8, tx.Sent))
	waits := tried()
	waits.Phase = tx.PhaseWaiting
	for name, c := range map[string]struct {
		before, after *tx.Transaction
		want          bool
	}{
		"its sender":        {plan, out, true},
		"another sender":    {plan, elsewhere, false},
		"bound to none":     {waits, out, false},
		"nothing is opened": {waits, tried(ended(tryAt("S", 3, tx.Expired))), true},
		"it was open":       {out, out, true},
	} {
		if got := RestoresInPlace(c.before, c.after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLegacyOut: only an open legacy attempt of that account makes whatever is shown its own.
func TestLegacyOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		t    *tx.Transaction
		want bool
	}{
		"nothing":     {new(tx.Transaction), false},
		"open":        {tried(legacyOf(tryAt("S", 3, tx.Sent))), true},
		"another's":   {tried(legacyOf(tryAt("R", 3, tx.Sent))), false},
		"over":        {tried(ended(legacyOf(tryAt("S", 3, tx.Expired)))), false},
		"two-phase":   {tried(tryAt("S", 3, tx.Sent)), false},
		"open behind": {tried(ended(tryAt("S", 2, tx.Expired)), legacyOf(tryAt("S", 3, tx.Sent))), true},
	} {
		if got := Legacy([]*tx.Transaction{new(tx.Transaction), c.t}, "S"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLacks: what is out can be lacked, what landed and may be orphaned, and what a worker
// that sends by itself has answered.
func TestLacks(t *testing.T) {
	t.Parallel()
	asked, answered := tried(legacyOf(tryAt("S", 3, tx.Planned))), tried(ended(legacyOf(tryAt("S", 3, tx.Refused))))
	committed := tried(ended(tryAt("saw/1", 0, tx.Included)))
	committed.Ledger, committed.Landed, committed.Phase, committed.FinalAt = "saw", 1, tx.PhaseDone, restoredAt
	unknown, failed := tried(legacyOf(tryAt("S", 3, tx.Unknown))), tried(ended(legacyOf(tryAt("S", 3, tx.Planned))))
	landed := tried(ended(tryAt("S", 3, tx.Included)))
	landed.Phase, landed.Landed = tx.PhaseDone, 1
	final := landed.Clone()
	final.FinalAt = restoredAt
	refused := tried(ended(tryAt("S", 3, tx.Refused)))
	refused.Revision = 7
	for name, c := range map[string]struct {
		stored, known *tx.Transaction
		want          bool
	}{
		"nothing is known":                             {tried(), nil, false},
		"what is out":                                  {tried(), tried(tryAt("S", 3, tx.Sent)), true},
		"what has landed":                              {tried(), landed, true},
		"a refusal":                                    {drivenBy("p", tried(tryAt("S", 3, tx.Sent))), refused, true},
		"a refusal, and another has had it":            {drivenBy("r", tried(tryAt("S", 3, tx.Sent))), refused, false},
		"a refusal is there":                           {drivenBy("p", tried(ended(tryAt("S", 3, tx.Refused)))), refused, false},
		"a refusal, and it was made once more":         {drivenBy("p", tried(tryAt("S", 3, tx.Planned))), refused, false},
		"it has gone on":                               {tried(from(2, tryAt("R", 8, tx.Sent), "")), tried(from(1, tryAt("S", 3, tx.Signed), "")), false},
		"it has gone on with the same sender":          {tried(from(2, tryAt("S", 8, tx.Sent), "")), tried(from(1, tryAt("S", 3, tx.Signed), "")), false},
		"it has gone on with the nonce of another one": {tried(from(2, tryAt("R", 3, tx.Sent), "")), tried(from(1, tryAt("S", 3, tx.Signed), "")), false},
		"it goes on with its nonce":                    {tried(from(2, hashed(tryAt("S", 3, tx.Sent), "5K"), "")), tried(from(1, hashed(tryAt("S", 3, tx.Signed), "5J"), "")), true},
		"what is final":                                {tried(), final, false},
		"an end was told since":                        {drivenTo(tx.PhaseFailed, 7), tried(from(1, tryAt("S", 3, tx.Signed), "")), false},
		"an end was told before":                       {drivenTo(tx.PhaseFailed, 1), tried(from(1, tryAt("S", 3, tx.Signed), "")), true},
		"a call of a legacy worker":                    {tried(from(2, tryAt("R", 8, tx.Signed), "")), tried(from(1, legacyOf(tryAt("S", 3, tx.Planned)), "")), true},
		"a call, and a node took another one":          {tried(from(2, tryAt("R", 8, tx.Sent), "")), tried(from(1, legacyOf(tryAt("S", 3, tx.Planned)), "")), false},
		"planned here, and a legacy worker sent it": {
			tried(ended(tryAt("S", 2, tx.Expired)), from(2, legacyOf(tryAt("S", 8, tx.Sent)), "")),
			tried(from(1, tryAt("S", 3, tx.Signed), ""), from(2, tryAt("S", 8, tx.Planned), "")), false},
		"a plan that ended": {drivenBy("p", tried(tryAt("S", 3, tx.Signed))), func() *tx.Transaction {
			t := tried(ended(tryAt("S", 3, tx.Planned)))
			t.Revision = 7
			return t
		}(), false},
		"it goes on with a plan": {tried(from(2, tryAt("R", 8, tx.Planned), "")), tried(from(1, tryAt("S", 3, tx.Signed), "")), true},
		"what is over":           {tried(tryAt("S", 3, tx.Sent)), tried(ended(tryAt("S", 2, tx.Expired)), tryAt("S", 3, tx.Sent)), false},
		"a plan in its place":    {tried(tryAt("S", 3, tx.Planned)), tried(tryAt("S", 3, tx.Sent)), true},
		"it is there":            {tried(tryAt("S", 3, tx.Pooled)), tried(tryAt("S", 3, tx.Sent)), false},
		"an answer":              {asked, answered, true},
		"an error":               {asked, failed, true},
		"an error is there":      {failed, failed, false},
		"a question":             {tried(tryAt("S", 3, tx.Planned)), asked, true},
		"an answer is there":     {answered, answered, false},
		"an answer is late":      {answered, asked, false},
		"it was given up":        {unknown, answered, false},
		"one alike was refused": {tried(from(1, ended(tryAt("S", 3, tx.Refused)), "")),
			tried(from(1, ended(tryAt("S", 3, tx.Refused)), ""), from(2, tryAt("S", 3, tx.Sent), "")), true},
		"a second question": {tried(from(1, failed.Attempts[0], "")),
			tried(from(1, failed.Attempts[0], ""), from(2, asked.Attempts[0], "")), true},
		"a ledger's answer": {tried(), committed, true},
	} {
		if got := Lacks("p", c.stored, c.known); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
