package lifecycle

import (
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Drive is the loop around the decisions of one transaction: store, do,
// learn, store. It is the same for a fresh transaction, one that is resumed
// after a crash, and one that was taken over. It does nothing itself: Next says what is
// to be done, and whoever does it tells what came of it. One goroutine at a time.
type Drive struct {
	txn     *tx.Transaction // as last read or stored; never altered
	local   Local
	results []Result   // not stored yet, oldest first
	call    Effect     // under way
	begun   int        // counts the effects
	step    Step       // that Next wanted stored last
	learned int        // it comes of this one of results, the first being 1
	stale   bool       // the record is to be read
	anew    bool       // and what was asked is to be asked anew
	bytes   *BytesRead // signed here, and not sent yet
}

// NewDrive begins to drive t, of which this process knows local.
func NewDrive(t *tx.Transaction, local Local) *Drive { return &Drive{txn: t, local: local} }

// Clone is a copy of d that goes its own way: for whoever tries all ways on.
func (d *Drive) Clone() *Drive {
	c := *d
	c.results = slices.Clip(c.results)
	return &c
}

// Txn is the record as last read or stored, Local what is known beside it.
func (d *Drive) Txn() *tx.Transaction { return d.txn }

// Local is what this process knows beside the record.
func (d *Drive) Local() Local { return d.local }

// Bytes are what is to be sent, or signed again, by an effect: what was signed here, or
// what the store had.
func (d *Drive) Bytes(e Effect) []byte {
	switch {
	case e.Fresh && d.bytes != nil && d.bytes.Number == e.Number:
		return d.bytes.Command
	case !e.Fresh && d.local.Asked.Bytes != nil:
		return d.local.Asked.Bytes.Command
	}
	return nil
}

// Call is the effect under way; of no kind if none is.
func (d *Drive) Call() Effect { return d.call }

// Results are those that are not stored yet.
func (d *Drive) Results() []Result { return d.results }

// An Action is what a Drive wants done.
type Action struct {
	Do    Todo
	Step  Step      // ToStore
	Call  Effect    // ToCall
	Look  time.Time // ToSleep: until then at the latest, by Clock; zero if no clock says
	Moves Moves     // ToStore
}

// Todo is a kind of Action.
type Todo int

// All kinds of actions.
const (
	ToSleep Todo = iota // until something happens
	ToRead              // the record; then Read
	ToStore             // a change; then Stored, Denied or Stale
	ToCall              // begin an effect; then, some time, Add
	ToStop              // end the effect that is under way: it is not wanted any more
	ToLeave             // nothing is left to do here
)

// Next says what is to be done now. v is what is known around the record; live, that
// the claim is surely still this process's, and the store the one that it knows: until
// then nothing leaves, and nothing is stored that is to leave or that says that nothing has.
func (d *Drive) Next(v View, live bool) Action {
	if d.stale {
		return Action{Do: ToRead}
	}
	v.Txn = d.txn
	if a, stores := d.learnt(v, live); stores {
		return a
	}
	if d.txn.Claim == "" {
		return Action{Do: ToLeave}
	}
	v.Local = d.local
	s := Decide(&v)
	if s.Txn != nil {
		if a := d.sure(&v, s, 0, live); live || !a.Moves.sure() {
			return a
		}
		return Action{Do: ToSleep, Step: s}
	}
	d.local = s.Local
	if s.Do.Kind != "" {
		s.Do.Claim, s.Do.Begun = d.txn.Claim, d.call.Begun
	}
	switch {
	case s.Do == d.call, s.Do == Effect{} && v.Train.Unseen:
		// While others of its train are not known nothing begins, and nothing ends that is under way.
		return Action{Do: ToSleep, Look: s.Look, Step: s}
	case d.call != Effect{}:
		d.call = Effect{}
		return Action{Do: ToStop}
	case (s.Do.Leaves() || s.Do.Kind == Confirm) && !live:
		return Action{Do: ToSleep, Step: s}
	}
	d.begun++
	s.Do.Begun = d.begun
	d.call = s.Do
	return Action{Do: ToCall, Call: s.Do, Step: s}
}

// learnt learns what has come, up to what is to be stored of it.
func (d *Drive) learnt(v View, live bool) (a Action, stores bool) {
	for next := 0; next < len(d.results); {
		v.Local = d.local
		s := Learn(&v, d.results[next])
		if s.Txn == nil {
			d.local = s.Local
			d.results = slices.Delete(slices.Clone(d.results), next, next+1)
			continue
		}
		next++
		if a := d.sure(&v, s, next, live); live || !a.Moves.sure() {
			return a, true
		}
		// This one waits; others may wait for what the chain makes of the rest.
	}
	return a, false
}

// sure is store, of what may be stored while the store is not surely the one that it knows: the
// namespace may wait for what is open, so that it is over is stored, and its end, or that what is
// shallow is watched again, later.
func (d *Drive) sure(v *View, s Step, learned int, live bool) Action {
	a := d.store(s, learned, v.Policy)
	switch {
	case live || !d.txn.Open():
	case a.Moves.Trusts:
		return d.store(v.detained(s), learned, v.Policy)
	case a.Moves.Confirm:
		return d.store(v.unopened(s), learned, v.Policy)
	}
	return a
}

func (d *Drive) store(s Step, learned int, p *Policy) Action {
	d.step, d.learned = s, learned
	return Action{Do: ToStore, Step: s, Moves: Effects(d.txn, s.Txn, &s.Aside, p)}
}

// Stored: the change is stored, as t; unconfirmed, that the replicas have not confirmed
// it.
func (d *Drive) Stored(t *tx.Transaction, unconfirmed bool) {
	d.txn, d.local = t, d.step.Local
	if b := d.step.Aside.Bytes; b != nil && d.local.Unsent == b.Number {
		d.bytes = b
	}
	d.learn()
	if unconfirmed {
		d.results = append([]Result{Denied{Why: Unconfirmed}}, d.results...)
	}
}

// learn drops the result that the last change came of.
func (d *Drive) learn() {
	if d.learned > 0 {
		d.results = slices.Delete(slices.Clone(d.results), d.learned-1, d.learned)
	}
}

// Denied: the store has refused the change.
func (d *Drive) Denied(why Denied) {
	d.learn()
	d.results = append([]Result{why}, d.results...)
}

// Stale: the record is, or may be, another by now. A result is learnt again from what
// is read.
func (d *Drive) Stale() { d.stale = true }

// Anew is Stale, and the store may have answered of a time that is over: it had forgotten
// something, or was put right since. What was asked is asked anew, too.
func (d *Drive) Anew() { d.stale, d.anew = true, true }

// IsStale reports whether the record is to be read before anything else.
func (d *Drive) IsStale() bool { return d.stale }

// Read: t is the record as it is stored now, under a claim of this process. Signed bytes stay
// true with it, and may be kept nowhere else.
func (d *Drive) Read(t *tx.Transaction, at time.Time) {
	switch {
	case t.Claim != d.txn.Claim, t.Revision < d.txn.Revision, t.Revision == d.txn.Revision && touched(d.txn, t) > 0:
		// Somebody else had it meanwhile, and may have done what was still to be done here;
		// or the store has forgotten what all this goes with.
		d.local, d.bytes = Local{}, nil
		d.results = slices.DeleteFunc(slices.Clone(d.results), func(r Result) bool { return !lasting(r) })
	case d.anew, t.Phase != d.txn.Phase, t.Revision != d.txn.Revision:
		bytes := d.local.Asked.Bytes
		if d.local.Asked = (Asked{}); bytes != nil && bytes.Command != nil {
			d.local.Asked.Bytes = bytes
		}
		d.results = slices.DeleteFunc(slices.Clone(d.results), asking)
	}
	d.txn, d.stale, d.anew = t, false, false
	d.local.ReadAt = at
}

// asking reports whether r answers a question, and so is of the record that asked.
func asking(r Result) bool {
	switch r.(type) {
	case SenderTold, HealthTold, RetriesTold, AccountTold, LandedTold, BytesRead, ChainTold:
		return true
	}
	return false
}

// lasting reports whether r tells of an attempt, which it names, and so is true under any
// claim. What was asked about a sender, the chain or the store is of one claim.
func lasting(r Result) bool {
	switch r.(type) {
	case Answer, SendTold:
		return true
	}
	return false
}

// Add tells what came of an effect, or something else that happened; e is zero then. A question
// that was stopped is answered by nothing that is true.
func (d *Drive) Add(e Effect, r Result) {
	current := e == d.call
	if current {
		d.call = Effect{}
	}
	if r != nil && (e.Claim == d.txn.Claim || lasting(r)) && (current || !asking(r)) {
		d.results = append(d.results, r)
	}
	if e.Kind == Send && d.bytes != nil && d.bytes.Number == e.Number {
		d.bytes = nil // the late answer of an earlier sending says nothing of these
	}
}
