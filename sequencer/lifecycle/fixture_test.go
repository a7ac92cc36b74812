package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"mina-sequencer/sequencer/test/txtest"
	"mina-sequencer/sequencer/tx"
)

// What records are made of, by their short names.
type part = txtest.Part

var (
	now, clock                               = txtest.Now, txtest.Clock
	txn, batch, scatteredTxn, outcomes       = txtest.Txn, txtest.Batch, txtest.Scattered, txtest.Outcomes
	try, post, early                         = txtest.Try, txtest.Post, txtest.Early
	at, by, fee, until, begunAgo             = txtest.At, txtest.By, txtest.Fee, txtest.Until, txtest.BegunAgo
	over, legacy, block, failedBy            = txtest.Over, txtest.Legacy, txtest.Block, txtest.FailedBy
	stalled, turnedAway, unplaced, shallow   = txtest.Stalled, txtest.TurnedAway, txtest.Unplaced, txtest.Shallow
	retried, losses, deferrals, due, expires = txtest.Retried, txtest.Losses, txtest.Deferrals, txtest.Due, txtest.Expires
	ending, landedBy, cancelling, orphan     = txtest.Ending, txtest.LandedBy, txtest.Cancelling, txtest.Orphan
	final, doubts, wrong, oops, minutes      = txtest.Final, txtest.Doubts, txtest.Wrong, txtest.Oops, txtest.Minutes
	sightingOf, disagreed, declared          = txtest.Sighted, txtest.Disagreed, txtest.Declared
)

const payer, nonce = txtest.Payer, txtest.Nonce

func testPolicy() *Policy {
	return &Policy{
		CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Second, DispatchTimeout: 10 * time.Minute,
		CallbackWait: 2 * time.Minute, MaxRetries: 3, RetryDelay: time.Minute, RetryDelayMax: 10 * time.Minute,
		Confirmations: 2, SettleDepth: 5, Finality: 8, Fee: 100, FeeMax: 300, FeeBump: 1.5,
		BumpAfter: 5, ValidSlots: 40, UnresolvedLimit: 3, ClaimTTL: 15 * time.Second, Retention: 168 * time.Hour,
	}
}

// othersPass: this process has sent it an hour ago, and another one since.
func othersPass(v *View) {
	v.Local.FirstSent, v.LastAccepted = clock.Add(-time.Hour), clock.Add(-time.Minute)
}

func calling(k Kind, n int) Effect { return Effect{Kind: k, Number: n} }
func good() *Sender                { return &Sender{Account: payer, Next: new(uint32(nonce)), Greeted: true} }
func freshly(k Kind, n int) Effect { return Effect{Kind: k, Number: n, Fresh: true} }
func answer(k Kind, n int) Answer  { return Answer{Call: calling(k, n), Sender: payer, Nonce: nonce} }
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
		v.Sighting = txtest.Shown(v.Txn, f, depth)
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
