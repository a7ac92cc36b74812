package lifecycle

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A checker sees every step, and says what must hold of it. What it has seen makes the
// state diagram, and shows that every reason comes about.
type checker struct {
	*testing.T
	steps    int
	arrows   map[arrow]int
	reasons  map[Reason]int
	effects  map[Kind]int
	confirms map[opening]bool // what a write has confirmed, by attempt
	trail    []string         // of this walk
}

// An opening is one time that an attempt may leave.
type opening struct {
	sender string
	nonce  uint32
	number int
}

// An arrow is a stored step from one phase to another, or to the same.
type arrow struct {
	from, to tx.Phase
	why      Reason
}

func newChecker(t *testing.T) *checker {
	return &checker{
		T: t, arrows: map[arrow]int{}, reasons: map[Reason]int{}, effects: map[Kind]int{},
		confirms: map[opening]bool{},
	}
}

// wrong fails the test with the way that led there.
func (c *checker) wrong(v *View, s *Step, what string, args ...any) {
	c.Helper()
	trail := c.trail[max(0, len(c.trail)-12):]
	c.Fatalf("%s\nbefore: %s\nstep:   %s\nafter:\n  %s",
		fmt.Sprintf(what, args...), told(v, Step{Txn: v.Txn}), told(v, *s),
		strings.Join(trail, "\n  "))
}

// deep copies all that a step could alter of what it was given.
func deep(t *tx.Transaction) *tx.Transaction {
	c := *t
	c.Error = copied(t.Error)
	c.Attempts = slices.Clone(t.Attempts)
	for i := range c.Attempts {
		c.Attempts[i].Error, c.Attempts[i].Data = copied(c.Attempts[i].Error), slices.Clone(c.Attempts[i].Data)
	}
	return &c
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// untouched runs a decision, and sees that it has altered nothing that it was given.
func (c *checker) untouched(v *View, f func(*View) Step) Step {
	c.Helper()
	record, sender, policy, given := deep(v.Txn), copied(v.Local.Asked.Sender), *v.Policy, *v
	s := f(v)
	if !reflect.DeepEqual(record, v.Txn) || !reflect.DeepEqual(sender, v.Local.Asked.Sender) || policy != *v.Policy ||
		!reflect.DeepEqual(given, *v) {
		c.wrong(v, &s, "the view was altered")
	}
	if s.Txn == v.Txn {
		c.wrong(v, &s, "the record that was read is to be stored")
	}
	c.steps++
	c.reasons[s.Reason]++
	c.effects[s.Do.Kind]++
	return s
}

// decides holds a decision against the properties, twice: it is a function.
func (c *checker) decides(v *View) {
	c.Helper()
	s := c.untouched(v, Decide)
	c.step(v, &s)
	if again := Decide(v); !reflect.DeepEqual(s, again) {
		c.wrong(v, &again, "decided otherwise: %s", told(v, s))
	}
	if s.Txn == nil && s.Look.IsZero() && !v.Txn.ExpiresAt.IsZero() && !v.Expired() {
		c.wrong(v, &s, "nobody looks at it when its deadline comes")
	}
	if s.Txn != nil && s.Do != (Effect{}) {
		c.wrong(v, &s, "stores, and does %s", s.Do.Kind)
	}
}

// learns holds what a result makes of a record against the properties. Learnt again from
// what is stored then, with or without what the process knows since, it changes nothing.
func (c *checker) learns(v *View, r Result) {
	c.Helper()
	s := c.untouched(v, func(v *View) Step { return Learn(v, r) })
	c.step(v, &s)
	u := *v
	if s.Txn != nil {
		u.Txn = s.Txn
	}
	if s.Reason == ReasonLost && u.Txn.Phase == tx.PhaseDispatching {
		return // nothing stored tells one loss from the next: it may be counted twice
	}
	for _, l := range []Local{v.Local, s.Local} {
		u.Local = l
		if again := Learn(&u, r); again.Txn != nil && !reflect.DeepEqual(again.Txn, u.Txn) {
			c.wrong(&u, &again, "%T learnt again changes what is stored", r)
		}
	}
}

// step holds of every step, whether it is stored or not.
func (c *checker) step(v *View, s *Step) {
	c.Helper()
	c.inTime(v, s)
	switch {
	case s.Reason == "":
		c.wrong(v, s, "no reason")
	case s.Aside.Rest != nil && s.Aside.Rest.For <= 0 && s.Aside.Rest.For != Never, s.Aside.Hold < 0:
		c.wrong(v, s, "a rest that is over before it begins")
	case s.Txn == nil && !reflect.DeepEqual(s.Aside, Aside{}):
		c.wrong(v, s, "something goes with a change that is none")
	case s.Txn != nil:
		c.change(v, s)
	}
}

// change holds of every change of a record.
func (c *checker) change(v *View, s *Step) {
	c.Helper()
	b, a := v.Txn, s.Txn
	c.numbers(v, s)
	c.places(v, s)
	c.stamps(v, s)
	c.keeps(v, s)
	c.depths(v, s)
	switch open := a.Open(); {
	case b.Phase.Bound() && !a.Phase.Bound() && open && s.Reason != ReasonAmbiguous,
		a.Phase.Final() && !b.Phase.Final() && open && a.Phase != tx.PhaseUnresolved,
		a.Phase == tx.PhaseWaiting && open && !b.Open():
		c.wrong(v, s, "the sender is released, and something is open")
	case a.Phase == tx.PhaseUnresolved && b.Phase != tx.PhaseUnresolved && open && s.Aside.Code != tx.CodeOutcomeUnknown:
		c.wrong(v, s, "UNRESOLVED, and something is open")
	case (a.Phase == tx.PhaseSent || a.Phase == tx.PhaseWatching) && !open && a.Ending == "" &&
		!v.with(func(t *tx.Transaction) { *t = *a }).Stops():
		c.wrong(v, s, "waits for a block, and nothing is open")
	case a.Landed != 0 && (a.Phase != tx.PhaseDone || a.Attempt(a.Landed) == nil ||
		a.Attempt(a.Landed).State != tx.Included):
		c.wrong(v, s, "landed by an attempt that is not in a block")
	case a.Ending != "" && a.Phase != tx.PhaseWatching && a.Phase != b.Phase &&
		(a.Phase != tx.PhaseWaiting || a.Ending != tx.PhaseFailing || b.Phase != tx.PhaseFailing):
		c.wrong(v, s, "remembers how to end, and goes on")
	case a.Reopened && a.Phase != tx.PhaseDone:
		c.wrong(v, s, "reopened, and not DONE")
	case a.CancelRequested && a.Phase == tx.PhaseWaiting && a.Phase != b.Phase && a.Error.Code != tx.CodeOvertaken:
		// What was overtaken just before its cancel ends as soon as it is bound again.
		c.wrong(v, s, "cancelled, and tried anew")
	case a.Phase.Final() && a.Phase != b.Phase && (a.DoneAt.IsZero() || a.Callback == "" && len(a.Attempts) > 0):
		c.wrong(v, s, "ends, and nobody is told")
	case a.Retries > b.Retries && (a.Retries != b.Retries+1 || s.Reason != ReasonRetry && s.Reason != ReasonYield || b.Deferred > 0):
		c.wrong(v, s, "a retry that is none")
	case a.Retries < b.Retries && s.Reason != ReasonOrdered:
		c.wrong(v, s, "a retry that was used is forgotten")
	}
	opens := false
	for i := range a.Attempts {
		opens = opens || a.Attempts[i].Open() && (i >= len(b.Attempts) || !b.Attempts[i].Open())
	}
	m := Effects(b, a, &s.Aside, v.Policy)
	leaves := opens && (a.Phase.Bound() || a.Phase == tx.PhaseDone)
	stops := s.Aside.Rest != nil && s.Aside.Rest.Why == tx.StoppedNonce && !b.Open()
	if m.Confirm != (leaves || stops) {
		c.wrong(v, s, "confirmed %t, may leave %t, stops its sender %t", m.Confirm, leaves, stops)
	}
	if m.InOrder != (leaves && a.Phase.Bound() && !b.Open() && a.FirstOpen().State != tx.Resurfaced) {
		c.wrong(v, s, "the order of the queue is looked at: %t", m.InOrder)
	}
	if m.Keep != a.Watched() {
		c.wrong(v, s, "claim kept: %t", m.Keep)
	}
}

// numbers: attempts count up, keep what they are known by, and only what no worker took
// on is taken back.
func (c *checker) numbers(v *View, s *Step) {
	c.Helper()
	b, a := v.Txn, s.Txn
	for i := range a.Attempts {
		switch n := &a.Attempts[i]; {
		case n.Number != i+1:
			c.wrong(v, s, "attempt %d has number %d", i+1, n.Number)
		case i >= len(b.Attempts) && (!n.Pending() || n.StartedAt != v.Now):
			c.wrong(v, s, "a new attempt that is not planned")
		case i >= len(b.Attempts):
			if o := b.FirstOpen(); o != nil && (o.Sender != n.Sender || o.Nonce != n.Nonce) {
				c.wrong(v, s, "another nonce while an attempt is open")
			}
		default:
			o := &b.Attempts[i]
			if o.Sender != n.Sender || o.Nonce != n.Nonce || o.Fee != n.Fee || o.Hash != "" && o.Hash != n.Hash {
				c.wrong(v, s, "attempt %d was altered", i+1)
			}
			again := s.Reason == ReasonAmbiguous && i+1 == b.Landed || s.Reason == ReasonResending && o.State == tx.Refused ||
				o.Shallow()
			if o.Over() && !n.Over() && !again {
				c.wrong(v, s, "attempt %d is open again", i+1)
			}
		}
	}
	if n := len(a.Attempts); n > len(b.Attempts)+1 ||
		n < len(b.Attempts) && (n < len(b.Attempts)-1 || !b.Last().Pending() || b.Last().Lost()) {
		c.wrong(v, s, "%d attempts become %d", len(b.Attempts), n)
	}
}

// places: what is open shares one place in the chain, that of the bound sender.
func (c *checker) places(v *View, s *Step) {
	c.Helper()
	first := s.Txn.FirstOpen()
	for i := range s.Txn.Attempts {
		if n := &s.Txn.Attempts[i]; n.Open() && (n.Sender != first.Sender || n.Nonce != first.Nonce) {
			c.wrong(v, s, "two nonces are open")
		}
	}
	if first != nil && s.Txn.Phase.Bound() && first.Sender != s.Txn.Sender {
		c.wrong(v, s, "another sender than that of what is open")
	}
}

// stamps: what happens in a change happens now, and what has happened stays.
func (c *checker) stamps(v *View, s *Step) {
	c.Helper()
	b, a := v.Txn, s.Txn
	first := func(name string, was, is time.Time, happens bool) {
		c.Helper()
		want := was
		if happens {
			want = v.Now
		}
		if is != want {
			c.wrong(v, s, "%s is %v, and was %v", name, is, was)
		}
	}
	for i := range min(len(a.Attempts), len(b.Attempts)) {
		was, is := b.Attempts[i].EndedAt, a.Attempts[i].EndedAt
		if is != was && !is.IsZero() && is != v.Now {
			c.wrong(v, s, "attempt %d ended at %v", i+1, is)
		}
	}
	moves := a.Phase != b.Phase
	first("ChangedAt", b.ChangedAt, a.ChangedAt, moves)
	first("RetriedAt", b.RetriedAt, a.RetriedAt, a.Retries > b.Retries)
	if a.Phase == tx.PhaseSent && b.Phase == tx.PhaseDispatching && s.Reason != ReasonSent {
		first("SubmittedAt", b.SubmittedAt, a.SubmittedAt, b.SubmittedAt.IsZero())
	}
	switch {
	case moves && (a.Losses != 0 && a.Phase != tx.PhaseWaiting && a.Phase != tx.PhaseDelayed &&
		a.Phase != tx.PhaseDispatching ||
		!a.DueAt.IsZero() && a.Phase != tx.PhaseDelayed):
		c.wrong(v, s, "another phase, with %d losses, due at %v", a.Losses, a.DueAt)
	case moves && a.Phase.Final():
		first("DoneAt", b.DoneAt, a.DoneAt, true)
		first("FinalAt", b.FinalAt, a.FinalAt, a.Phase == tx.PhaseDone && (a.Landed == 0 || s.Reason == ReasonOrdered))
	case s.Reason == ReasonFinal:
		first("FinalAt", b.FinalAt, a.FinalAt, true)
	case b.Phase.Final() && a.Phase == tx.PhaseWaiting &&
		(!a.DoneAt.IsZero() || !a.FinalAt.IsZero() || a.Done != nil || a.Deferred > 0):
		c.wrong(v, s, "waits again, and has ended at %v with %s", a.DoneAt, a.Done)
	}
}

// keeps: what a transaction is known by is never changed, nor what the store counts.
func (c *checker) keeps(v *View, s *Step) {
	c.Helper()
	known := func(t *tx.Transaction) []any {
		return []any{t.UID, t.Queue, t.Sequence, t.Type, string(t.Data), t.Revision, t.Claim, t.Sender,
			t.Counted, t.ReceivedAt}
	}
	if is, was := known(s.Txn), known(v.Txn); !slices.Equal(is, was) {
		c.wrong(v, s, "it was %v, and is %v", was, is)
	}
}

// depths: what can land no more, or has landed, does so as deep as is promised and by the
// word of all, whatever phase it is found in.
func (c *checker) depths(v *View, s *Step) {
	c.Helper()
	b, a, g := v.Txn, s.Txn, &v.Sighting
	gone := g.Fate == tx.FateFailed || g.Fate == tx.FateDisplaced || g.Fate == tx.FateExpired
	settled := gone && g.Agreed && g.Depth >= v.Policy.SettleDepth
	landed := g.Fate == tx.FateIncluded && g.Agreed && g.Depth >= v.Policy.Confirmations
	final := landed && g.Depth >= v.Policy.Finality
	if in := b.Attempt(b.Landed); g.Pruned && in != nil { // no node holds its block any more
		final = int(v.Tip.Height)-int(in.Height)+1 >= v.Policy.Finality
	}
	switch {
	case s.Aside.Person: // has the last word
	case b.Ending == tx.PhaseDone && a.Reopened && b.Landed == 0 && a.Landed > 0 &&
		b.Attempt(a.Landed).State == tx.Included:
		// It was DONE by that before, and is looked for again.
	case a.Landed != 0 && (b.Landed == 0 || b.Reopened && !a.Reopened) && !landed:
		c.wrong(v, s, "DONE, and not confirmed")
	case a.Landed != 0 && !a.FinalAt.IsZero() && b.FinalAt.IsZero() && !final:
		c.wrong(v, s, "final before FINALITY")
	}
	for i := range b.Attempts {
		o := &b.Attempts[i]
		may := o.Number == b.Landed && b.FinalAt.IsZero() || o.Open() && o.State != tx.Called
		if !may || s.Aside.Person || s.Reason == ReasonAmbiguous || landed && a.Landed != 0 {
			continue
		}
		if n := a.Attempt(o.Number); (n == nil || !n.Open() && n.Number != a.Landed && n.State != tx.Refused) && !settled &&
			(n == nil || !n.Shallow() || !v.ends()) {
			c.wrong(v, s, "attempt %d is given up before SETTLE_DEPTH", o.Number)
		}
	}
}

// pays: who is to be preferred to what is open pays more than all of it, up to the cap.
func (c *checker) pays(v *View, s *Step) {
	c.Helper()
	b, n := v.Txn, s.Txn.Last()
	if len(s.Txn.Attempts) <= len(b.Attempts) || b.Deferred > 0 {
		return
	}
	for i := range b.Attempts {
		if o := &b.Attempts[i]; o.Open() && n.Fee <= o.Fee && n.Fee < v.Policy.FeeMax {
			c.wrong(v, s, "attempt %d pays no more than attempt %d, which is open", n.Number, o.Number)
		}
	}
}

// stores notes a change that the store takes.
func (c *checker) stores(v *View, s *Step) {
	c.Helper()
	c.reasons[s.Reason]++
	c.trail = append(c.trail, told(v, *s))
	c.arrows[arrow{v.Txn.Phase, s.Txn.Phase, s.Reason}]++
	c.step(v, s)
	c.pays(v, s)
	if m := Effects(v.Txn, s.Txn, &s.Aside, v.Policy); m.Confirm {
		for i := range s.Txn.Attempts {
			if a := &s.Txn.Attempts[i]; a.Open() {
				c.confirms[opening{a.Sender, a.Nonce, a.Number}] = true
			}
		}
	}
}

// begins: another life, of which nothing is allowed yet.
func (c *checker) begins() { c.confirms, c.trail = map[opening]bool{}, nil }

func (c *checker) binds(before, after *tx.Transaction) {
	c.arrows[arrow{before.Phase, after.Phase, ReasonBound}]++
	c.reasons[ReasonBound]++
}

// calls: nothing leaves that was not confirmed by the write that allowed it.
func (c *checker) calls(t *tx.Transaction, e Effect) {
	c.Helper()
	c.trail = append(c.trail, fmt.Sprintf("%s %d", e.Kind, e.Number))
	a := t.Attempt(e.Number)
	if e.Kind != Send && e.Kind != Dispatch || a == nil {
		return
	}
	if !c.confirms[opening{a.Sender, a.Nonce, a.Number}] {
		c.Fatalf("%s of attempt %d, which no write has allowed: %s", e.Kind, e.Number, strings.Join(c.trail, "\n"))
	}
}

// walks is how many lives are followed, and length how long each of them. What all of
// them together have to show is looked for only if there are as many as that.
var walks = flag.Uint64("walks", manyWalks, "follow so many lives, and ten times as many scattered records")

const manyWalks, length = 6000, 80

func init() {
	switch {
	case lane.Raced: // nothing here runs beside something else
		*walks = 200
	case lane.Sampled():
		*walks = 1000
	}
}

// TestWalks follows many lives, and sees that every step keeps to the rules; then what
// all of them have shown.
func TestWalks(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	for seed := range *walks {
		w := newWalk(seed, c)
		for i := range length {
			w.step()
			if i%16 == 0 {
				if err := w.rests(); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(c.trail, "\n"))
				}
			}
		}
	}
	walkBatches(t, c)
	t.Logf("%d decisions, %d ways from phase to phase", c.steps, len(c.arrows))
	if *walks < manyWalks {
		return
	}
	if c.steps < 100_000 {
		t.Errorf("only %d decisions", c.steps)
	}
	t.Run("every reason", func(t *testing.T) { everyReason(t, c) })
	t.Run("every effect", func(t *testing.T) { everyEffect(t, c) })
	t.Run("diagram", func(t *testing.T) { diagramIsDrawn(t, c) })
}

func everyReason(t *testing.T, c *checker) {
	for _, r := range declared(t, "step.go", "Reason") {
		if c.reasons[Reason(r)] == 0 && !ofTrains[Reason(r)] {
			t.Errorf("no step has the reason %q", r)
		}
	}
}

func everyEffect(t *testing.T, c *checker) {
	for _, k := range declared(t, "step.go", "Kind") {
		if c.effects[Kind(k)] == 0 && Kind(k) != Build { // which is of trains, as some reasons
			t.Errorf("no step has the effect %q", k)
		}
	}
}
