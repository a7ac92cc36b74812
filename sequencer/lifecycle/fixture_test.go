package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

// now and clock are the two times of all views here: different, so that one is not
// taken for the other.
var (
	now   = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	clock = now.Add(7 * time.Second)
)

// payer is the sender of all records here, and nonce where its attempts stand.
const (
	payer = "B62a"
	nonce = 7
)

func testPolicy() *Policy {
	return &Policy{
		CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Second, DispatchTimeout: 10 * time.Minute,
		CallbackWait: 2 * time.Minute, MaxRetries: 3, RetryDelay: time.Minute, RetryDelayMax: 10 * time.Minute,
		Confirmations: 2, SettleDepth: 5, Finality: 8, Fee: 100, FeeMax: 300, FeeBump: 1.5,
		BumpAfter: 5, ValidSlots: 40, UnresolvedLimit: 3, ClaimTTL: 15 * time.Second, Retention: 168 * time.Hour,
	}
}

// A part is something of a record.
type part func(*tx.Transaction)

// txn is a record in a phase, made of its parts.
func txn(p tx.Phase, parts ...part) *tx.Transaction {
	t := &tx.Transaction{
		UID: "u", Queue: "q", Type: "MINT", Phase: p, Revision: 9, Claim: "me:1", Sender: payer,
		ReceivedAt: now.Add(-time.Hour), ChangedAt: now.Add(-time.Minute),
	}
	for _, p := range parts {
		p(t)
	}
	return t
}

// try is a further attempt at the common nonce, at the first fee.
func try(o tx.AttemptState, changes ...func(*tx.Attempt)) part {
	return func(t *tx.Transaction) {
		n := len(t.Attempts) + 1
		a := tx.Attempt{
			Number: n, Sender: payer, Nonce: nonce, Fee: 100, ValidUntil: 344, State: o, Slot: 298,
			StartedAt: now.Add(-6 * time.Minute),
		}
		if !o.Unmade() && o != tx.Called {
			a.Hash = fmt.Sprint("5J", n)
		}
		for _, c := range changes {
			c(&a)
		}
		t.Attempts = append(t.Attempts, a)
	}
}

// over: its fate is told. What was planned is dropped then, and what was out followed no longer.
func over(a *tx.Attempt) {
	at := now.Add(-time.Minute)
	switch {
	case a.Pending(), a.State == tx.Called:
		a.Become(tx.Dropped, at)
	case a.Open():
		a.Become(tx.Abandoned, at)
	}
	a.EndedAt = at
}

// legacy: its worker sends by itself, and was called.
func legacy(a *tx.Attempt) {
	if a.Legacy, a.ValidUntil = true, 0; a.State == tx.Planned {
		a.State = tx.Called
	}
}

// failedBy: that was said of it.
func failedBy(code string) func(*tx.Attempt) {
	return func(a *tx.Attempt) {
		a.Blame(tx.CauseOf(oops(code)), oops(code))
		switch {
		case code == tx.CodeNonceIgnored:
			a.Cause = tx.CauseNonce
		case a.Pending():
			a.Cause = tx.CauseLost
		case a.State != tx.Dropped:
		case code == tx.CodeProvedAhead:
			a.State, a.Cause = tx.Proved, tx.CauseEarly
		case code == tx.CodeRepriced:
			a.State, a.Cause = tx.Proved, tx.CauseRepriced
		case code == tx.CodeHeld:
			a.Cause = tx.CauseHeld
		case code == tx.CodeExpired:
			a.Cause = tx.CauseOutdated
		default:
			a.Cause = tx.CauseError
		}
	}
}

func block(a *tx.Attempt) { over(a); a.Height, a.StateHash, a.Confirmations = 190, "3N190", 2 }

// stalled: it was sent while the network took nothing.
func stalled(a *tx.Attempt) { failedBy("After_slot_tx_end")(a) }

// turnedAway: something in front of the nodes did not let it pass.
func turnedAway(a *tx.Attempt) { failedBy(tx.CodeGateway)(a) }

// othersPass: this process has sent it an hour ago, and another one since.
func othersPass(v *View) {
	v.Local.FirstSent, v.LastAccepted = clock.Add(-time.Hour), clock.Add(-time.Minute)
}

func at(n uint32) func(*tx.Attempt)   { return func(a *tx.Attempt) { a.Nonce = n } }
func by(who string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Sender = who } }
func fee(n uint64) func(*tx.Attempt)  { return func(a *tx.Attempt) { a.Fee = n } }
func retried(n int) part              { return func(t *tx.Transaction) { t.Retries = n } }

func begunAgo(d time.Duration) func(*tx.Attempt) {
	return func(a *tx.Attempt) { a.StartedAt = now.Add(-d) }
}

// losses: so many since the last answer, of which the last was of the attempt that is planned.
func losses(n int) part {
	return func(t *tx.Transaction) {
		if t.Losses = n; n > 0 && t.Last() != nil && t.Last().Pending() {
			failedBy(tx.CodeLost)(t.Last())
		}
	}
}
func deferrals(n int) part      { return func(t *tx.Transaction) { t.Deferred = n } }
func ending(p tx.Phase) part    { return func(t *tx.Transaction) { t.Ending = p } }
func landedBy(n int) part       { return func(t *tx.Transaction) { t.Landed = n } }
func due(in time.Duration) part { return func(t *tx.Transaction) { t.DueAt = now.Add(in) } }
func wrong(code string) part {
	return func(t *tx.Transaction) { t.Error = &tx.Error{Code: code, Message: "because"} }
}
func cancelling(t *tx.Transaction)        { t.CancelRequested = true }
func orphan(t *tx.Transaction)            { t.Reopened = true }
func final(t *tx.Transaction)             { t.FinalAt = now.Add(-time.Minute) }
func oops(code string) *tx.Error          { return &tx.Error{Code: code, Message: "because"} }
func calling(k Kind, n int) Effect        { return Effect{Kind: k, Number: n} }
func good() *Sender                       { return &Sender{Account: payer, Next: new(uint32(nonce)), Greeted: true} }
func until(slot uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.ValidUntil = slot } }
func freshly(k Kind, n int) Effect        { return Effect{Kind: k, Number: n, Fresh: true} }
func minutes(n int) time.Duration         { return time.Duration(n) * time.Minute }
func answer(k Kind, n int) Answer         { return Answer{Call: calling(k, n), Sender: payer, Nonce: nonce} }
func fault(a Answer, f Fault, code string) Answer {
	a.Fault, a.Error = f, oops(code)
	return a
}

// ill is the word of a worker that it is hopeless, as it was of so many before.
func ill(before int, others bool) Answer {
	a := fault(answer(Prove, 1), FaultHopeless, "500")
	a.Ill, a.Others = before, others
	return a
}
func doubts(who string) part { return func(t *tx.Transaction) { t.Doubted = who } }

// A scene of a test is changed by these.
type change func(*View)

// view is what the process knows that drives t, with nothing asked yet: it has sent what
// is open a minute ago, and the nodes, which are in order, have been looked at since.
func view(t *tx.Transaction, changes ...change) *View {
	v := &View{
		Txn: t, Policy: testPolicy(), Now: now, Clock: clock, Jitter: 0.5, Known: true,
		Tip: Tip{
			At: clock.Add(-time.Second), Quorum: true, Fresh: true, Height: 200, TipSlot: 300, Slot: 301,
			SlotTime: 3 * time.Minute, Synced: 2,
		},
		Sighting: tx.Sighting{Fate: tx.FateUnknown},
		Local:    Local{SentAt: clock.Add(-time.Minute), ReadAt: clock},
	}
	if a := t.Last(); a != nil {
		v.Local.Own = a.Number
	}
	for _, c := range changes {
		c(v)
	}
	return v
}

// sees is what all nodes say, of the hash of the latest attempt.
func sees(f tx.Fate, depth int, more ...func(*tx.Sighting)) change {
	return func(v *View) {
		v.Sighting = tx.Sighting{
			Fate: f, Agreed: true, Depth: depth, Nonce: nonce, Height: 199, StateHash: "3N199", TipSlot: 300,
		}
		if a := v.Txn.Last(); a != nil && f != tx.FateDisplaced && f != tx.FateExpired && f != tx.FateAbsent {
			v.Sighting.Hash = a.KnownHash()
		}
		for _, m := range more {
			m(&v.Sighting)
		}
	}
}

func knows(f func(*Local)) change { return func(v *View) { f(&v.Local) } }

// asked is what the sender's record says.
func asked(s *Sender) change { return func(v *View) { v.Local.Asked.Sender = s } }

// holds is what the nodes say of the sender's account, landedAt what the store says of
// what landed and may be orphaned.
func holds(nonce uint32, balance uint64) change {
	return knows(func(l *Local) { l.Asked.Account = &AccountTold{Exists: true, Nonce: nonce, Balance: balance} })
}

func landedAt(nonce uint32) change {
	return knows(func(l *Local) { l.Asked.Landed = &LandedTold{Nonce: nonce, Any: true} })
}

func refused(code string, r Refusal) *Refusal {
	r.Error = *oops(code)
	return &r
}

// told is a step on one line: why, where it leads, the attempts, and what goes with it.
func told(v *View, s Step) string {
	words := []string{string(s.Reason)}
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	t := s.Txn
	if t == nil {
		switch {
		case s.Do.Kind != Nothing && s.Do.Number > 0:
			say("%s %d", s.Do.Kind, s.Do.Number)
		case s.Do.Kind != Nothing:
			say("%s", s.Do.Kind)
		}
		if !s.Look.IsZero() {
			say("look in %v", s.Look.Sub(v.Clock))
		}
		return strings.Join(words, "; ")
	}
	say("%s, %s", t.State(), t.Phase.Queue())
	for i := range t.Attempts {
		say("%s", shape(&t.Attempts[i]))
	}
	flags(t, say)
	if !t.DueAt.IsZero() && t.DueAt != v.Txn.DueAt {
		say("due in %v", t.DueAt.Sub(v.Now))
	}
	aside(v, &s, say)
	return strings.Join(words, "; ")
}

// shape is an attempt in short: number, outcome, whether it is planned, open or over,
// nonce and fee.
func shape(a *tx.Attempt) string {
	by := ""
	if a.Legacy {
		by = "legacy "
	}
	return fmt.Sprintf("%d %s%s %d@%d", a.Number, by, a.State, a.Nonce, a.Fee)
}

func flags(t *tx.Transaction, say func(string, ...any)) {
	for _, f := range []struct {
		name string
		n    int
	}{{"retries", t.Retries}, {"losses", t.Losses}, {"deferred", t.Deferred}, {"landed", t.Landed}} {
		if f.n != 0 {
			say("%s %d", f.name, f.n)
		}
	}
	if t.Doubted != "" {
		say("doubts %s", t.Doubted)
	}
	if t.Ending != "" {
		say("to end %s", t.Ending.State())
	}
	if t.CancelRequested {
		say("cancel asked")
	}
	if t.Reopened {
		say("reopened")
	}
	if t.Error != nil {
		say("error %s", t.Error.Code)
	}
}

// aside is what goes with a change: for the event, the sender, its queue, the callback.
func aside(v *View, s *Step, say func(string, ...any)) {
	m, a := Effects(v.Txn, s.Txn, &s.Aside, v.Policy), &s.Aside
	if a.Code != "" {
		say("event %s", a.Code)
	}
	if a.Rest != nil && a.Rest.For == Never {
		say("stop sender %s", strings.TrimRight(string(a.Rest.Why)+" "+a.Rest.By, " "))
		if a.Rest.Above != nil {
			say("unless its next nonce is above %d", *a.Rest.Above)
		}
	} else if a.Rest != nil {
		say("%s", strings.TrimRight(fmt.Sprintf("rest %s %v %s", a.Rest.Why, a.Rest.For, a.Rest.By), " "))
	}
	if a.Absolved != "" {
		say("absolve %s", a.Absolved)
	}
	if a.Hold > 0 {
		say("hold queue %v", a.Hold)
	}
	if a.NextNonce != nil {
		say("next nonce %d", *a.NextNonce)
	}
	if a.DropBytes {
		say("drop bytes")
	}
	for account, least := range a.Least {
		say("%s from nonce %d", account, least)
	}
	if n := s.Aside.Follows; n != nil {
		say("unless %d is used", *n)
	}
	if a.ForgetNonce {
		say("ask nonce")
	}
	if a.Bytes != nil {
		say("keep bytes of %d", a.Bytes.Number)
	}
	if a.Broke {
		say("narrower")
	}
	if a.Slips {
		say("slips")
	}
	if m.Confirm {
		say("confirm")
	}
	if m.Trusts {
		say("trusts")
	}
	if m.Tell != "" {
		say("tell %s", m.Tell)
	}
}
