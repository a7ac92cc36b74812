package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A driven record, and the view around it.
type driven struct {
	*Drive
	*testing.T
	v View
}

func driving(t *testing.T, r *tx.Transaction, changes ...change) *driven {
	t.Helper()
	v := view(r, changes...)
	d := &driven{NewDrive(r, v.Local), t, *v}
	d.v.Txn, d.v.Local = nil, Local{}
	return d
}

// wants fails the test if the next action is another one.
func (d *driven) wants(todo Todo, live bool) Action {
	d.Helper()
	a := d.Next(d.v, live)
	if a.Do != todo {
		d.Fatalf("it wants %d, %s; not %d", a.Do, told(view(d.txn), a.Step), todo)
	}
	return a
}

// hears has a result come that nothing under way has brought.
func (d *driven) hears(r Result) { d.Add(Effect{Claim: d.txn.Claim}, r) }

// calls fails the test if it does not want to begin an effect.
func (d *driven) calls(k Kind) Effect {
	d.Helper()
	a := d.wants(ToCall, true)
	if a.Call.Kind != k {
		d.Fatalf("it begins %s, not %s", a.Call.Kind, k)
	}
	return a.Call
}

// stores takes the change that has to come next.
func (d *driven) stores(why Reason) Action {
	d.Helper()
	a := d.wants(ToStore, true)
	if a.Step.Reason != why {
		d.Fatalf("it stores %s, not %s", told(view(d.txn), a.Step), why)
	}
	d.Stored(a.Step.Txn, false)
	return a
}

// TestDriveLife: one effect at a time, each learnt from, and stored before what follows.
func TestDriveLife(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching), knows(func(l *Local) { *l = Local{} }))
	d.v.Policy.FeeMax = d.v.Policy.Fee
	d.Add(d.calls(AskSender), SenderTold{Sender: *good()})
	d.Add(d.calls(AskAccount), AccountTold{Exists: true, Nonce: nonce, Balance: 100})
	if plan := d.stores(ReasonPlanning); plan.Moves.Attempt != 1 || plan.Moves.Confirm {
		t.Errorf("what follows of a plan: %+v", plan.Moves)
	}
	prove := d.calls(Prove)
	if a := d.wants(ToSleep, true); a.Step.Reason != ReasonProving || d.Bytes(prove) != nil {
		t.Errorf("while the worker proves: %s, and bytes %q", a.Step.Reason, d.Bytes(prove))
	}
	d.Add(prove, signed(Prove, 1))
	if kept := d.stores(ReasonAnswered); !kept.Moves.Confirm || len(d.Results()) > 0 {
		t.Errorf("what was signed: %+v, and not learnt: %v", kept.Moves, d.Results())
	}
	send := d.calls(Send)
	if string(d.Bytes(send)) != "bytes" || d.Bytes(calling(Send, 1)) != nil || d.Bytes(freshly(Send, 2)) != nil {
		t.Errorf("the bytes to send are %q", d.Bytes(send))
	}
	d.Add(send, SendTold{Call: send, Accepted: true})
	if d.Bytes(send) != nil {
		t.Error("what was sent once is sent as new")
	}
	d.v.Sighting, d.v.Tip.At = tx.Sighting{Fate: tx.FatePooled}, d.v.Clock.Add(time.Second)
	if d.stores(ReasonSent); d.Txn().Phase != tx.PhaseWatching || d.Txn().Last().State != tx.Sent {
		t.Errorf("after the first look: %s", shape(d.Txn().Last()))
	}
	if a := d.wants(ToSleep, true); !a.Look.Equal(d.v.Clock.Add(ResendEvery)) {
		t.Errorf("looks again at %v", a.Look)
	}
}

// TestDriveBound: what was planned with its bind is asked for at once, as no loss.
func TestDriveBound(t *testing.T) {
	t.Parallel()
	d := &driven{NewDrive(txn(tx.PhaseDispatching, try(tx.Planned)), BoundHere(good())), t, *view(txn(tx.PhaseWaiting))}
	d.calls(Prove)
}

// TestDriveEnds: a record that nobody has a claim of is left, after what has come of it.
func TestDriveEnds(t *testing.T) {
	t.Parallel()
	r := txn(tx.PhaseWatching, try(tx.Unknown, legacy, func(a *tx.Attempt) { a.Hash = "" }))
	r.Claim = ""
	d := driving(t, r)
	d.hears(dispatched(1))
	d.stores(ReasonAnswered)
	d.wants(ToLeave, true)
}

// TestDriveWithoutClaim: questions may be asked, and nothing leaves.
func TestDriveWithoutClaim(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching))
	d.wants(ToCall, false)
	d = driving(t, txn(tx.PhaseSent, try(tx.Signed)), knows(func(l *Local) { l.Unsent = 1 }))
	if a := d.wants(ToSleep, false); a.Step.Reason != ReasonSending {
		t.Errorf("sleeps because of %s", a.Step.Reason)
	}
	d.calls(Send)
}

// TestDriveStops: what is not wanted any more is ended, and only then something else begun.
func TestDriveStops(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)), sees(tx.FatePooled, 0),
		knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} }))
	if e := d.calls(Resign); string(d.Bytes(e)) != "bytes" {
		t.Errorf("signed again is %q", d.Bytes(e))
	}
	d.v.Draining = true
	d.wants(ToStop, true)
	d.wants(ToSleep, true)
	d.v.Draining = false
	resign := d.calls(Resign)
	d.hears(ConfirmTold{1}) // something else: the call goes on
	d.wants(ToSleep, true)
	d.Add(resign, nil) // it ended without a word
	d.Add(Effect{Kind: Confirm, Claim: "another:1"}, ConfirmTold{1})
	if len(d.Results()) > 0 {
		t.Errorf("to be learnt are %v", d.Results())
	}
	d.calls(Resign)
}

// TestDriveStale: what was not stored is learnt again, from what is read.
func TestDriveStale(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)))
	d.hears(signed(Prove, 1))
	d.wants(ToStore, true)
	d.Stale()
	d.wants(ToRead, true)
	d.Read(txn(tx.PhaseDispatching, try(tx.Planned), cancelling), clock)
	d.stores(ReasonCancelled)
	if len(d.Results()) > 0 {
		t.Errorf("%v are still to be learnt", d.Results())
	}
}

// TestDriveUnsettled: while the store may have forgotten something, nothing is stored that
// is to leave, or that says that nothing has. What the chain makes of the rest is stored: others may wait for that.
func TestDriveUnsettled(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)))
	d.hears(signed(Prove, 1))
	d.wants(ToStore, true)
	d.Stale() // it is refused
	d.wants(ToRead, false)
	d.Read(d.Txn(), clock)
	d.wants(ToSleep, false)
	if len(d.Results()) != 1 {
		t.Errorf("to be learnt: %v", d.Results())
	}
	d.stores(ReasonAnswered)

	d = driving(t, txn(tx.PhaseDelayed, try(tx.Refused, over), cancelling))
	if a := d.wants(ToSleep, false); a.Step.Reason != ReasonCancelled {
		t.Errorf("sleeps because of %s", a.Step.Reason)
	}
	d.stores(ReasonCancelled)

	d = driving(t, batch(tx.PhaseDispatching), sawtooth, stands(BatchUnknown))
	if a := d.wants(ToSleep, false); a.Step.Local.Unsent != 1 || d.Local().Unsent != 0 {
		t.Errorf("what is not stored yet is to be posted: %+v", d.Local())
	}
	d.stores(ReasonPlanning)

	d = driving(t, txn(tx.PhaseWatching, try(tx.Sent), cancelling), sees(tx.FateExpired, 9))
	a := d.wants(ToStore, false)
	if t := a.Step.Txn; t.Phase != tx.PhaseWatching || t.Open() {
		d.Errorf("what the chain has ended is stored as %s, open %t", t.Phase, t.Open())
	}
	d.Stored(a.Step.Txn, false)
	d.wants(ToSleep, false)
	d.stores(ReasonCancelled)

	d = driving(t, txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))))
	d.hears(signed(Resign, 2))
	d.wants(ToStore, true)
	look := d.v
	look.Txn = d.Txn()
	sees(tx.FateIncluded, 5)(&look)
	d.v = look
	if a := d.wants(ToStore, false); a.Step.Reason != ReasonLanded {
		t.Errorf("stores %s", a.Step.Reason)
	}
}

// TestDriveOverUnsettled: others may wait for what is open, and the store for them. That it is over is
// stored, whoever says so; what follows of it waits until the store is settled.
func TestDriveOverUnsettled(t *testing.T) {
	t.Parallel()
	early := func(a *tx.Attempt) { a.State = tx.Resurfaced }
	unsent := knows(func(l *Local) { l.Unsent, l.Confirmed = 1, 1 })
	for name, c := range map[string]struct {
		txn    *tx.Transaction
		around []change
		told   Result
		then   Reason
	}{
		"refused for good": {txn(tx.PhaseSent, try(tx.Signed)), []change{sees(tx.FateAbsent, 5), unsent},
			SendTold{Call: freshly(Send, 1), Refusal: refused("Overflow", Refusal{Permanent: true})}, ReasonSettled},
		"a batch that is rejected": {batch(tx.PhaseDispatching, post(tx.Signed)), []change{scabbard, unsent, stands(BatchUnknown)},
			submitTold(SubmitRejected, true), ReasonSettled},
		"something of it is shallow": {txn(tx.PhaseWatching, try(tx.FailedIn, block, at(6), early), try(tx.Sent), cancelling),
			[]change{sees(tx.FateFailed, 5)}, nil, ReasonCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			d := driving(t, c.txn, c.around...)
			if c.told != nil {
				d.hears(c.told)
			}
			a := d.wants(ToStore, false)
			if a.Step.Txn.Open() || a.Moves.sure() {
				t.Fatalf("stores %s, %+v", told(&d.v, a.Step), a.Moves)
			}
			if was := c.txn.Shallow(); was != nil && a.Step.Txn.Shallow() == nil {
				t.Error("what is shallow is forgotten")
			}
			d.Stored(a.Step.Txn, false)
			d.v.Sighting = tx.Sighting{} // nobody has looked since
			d.wants(ToSleep, false)
			d.stores(c.then)
		})
	}
}

// TestDriveDenied: a refusal is learnt before what came after the change was made.
func TestDriveDenied(t *testing.T) {
	t.Parallel()
	limit := Denied{Why: Costly, Left: time.Hour}
	later := ConfirmTold{7}
	planning := driving(t, txn(tx.PhaseDispatching), asked(good()), holds(nonce, 100))
	planning.wants(ToStore, true)
	planning.hears(later)
	planning.Denied(limit)
	if got := planning.Results(); !reflect.DeepEqual(got, []Result{limit, later}) {
		t.Errorf("after the refusal of a plan: %v", got)
	}
	planning.stores(ReasonDeferred)

	answered := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)))
	answered.hears(signed(Prove, 1))
	answered.wants(ToStore, true)
	answered.hears(later)
	answered.Denied(Denied{Why: Overtaken})
	if got := answered.Results(); !reflect.DeepEqual(got, []Result{Denied{Why: Overtaken}, later}) {
		t.Errorf("after the refusal of an answer: %v", got)
	}
	answered.stores(ReasonBack)
}

// TestDriveUnconfirmed: what the replicas have not confirmed is asked of them again
// before it leaves, whatever has come meanwhile.
func TestDriveUnconfirmed(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)), func(v *View) { v.Replicas = true })
	d.hears(signed(Prove, 1))
	a := d.wants(ToStore, true)
	d.hears(SubmitTold{})
	d.Stored(a.Step.Txn, true)
	if got := d.Results(); !reflect.DeepEqual(got, []Result{Denied{Why: Unconfirmed}, SubmitTold{}}) {
		t.Errorf("to be learnt: %v", got)
	}
	e := d.calls(Confirm)
	d.Add(e, ConfirmTold{e.Number})
	d.calls(Send)
}

// TestDriveOrder: results are learnt as they came.
func TestDriveOrder(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseWaiting))
	d.hears(ConfirmTold{1})
	d.hears(ConfirmTold{2})
	if d.wants(ToSleep, true); d.Local().Confirmed != 2 || len(d.Results()) > 0 {
		t.Errorf("confirmed is %d, and not learnt are %v", d.Local().Confirmed, d.Results())
	}
}

// TestDriveRead: what a process knows holds under its claim, and what it has asked for
// for the record that asked.
func TestDriveRead(t *testing.T) {
	t.Parallel()
	knowing := Local{Own: 1, Unsent: 1, Asked: Asked{Sender: good()}}
	read := func(edit func(*tx.Transaction)) (Local, []byte) {
		d := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)))
		d.hears(signed(Prove, 1))
		d.stores(ReasonAnswered)
		d.local = knowing
		after := d.Txn().Clone()
		edit(after)
		d.Read(after, clock)
		return d.Local(), d.Bytes(freshly(Send, 1))
	}
	same := knowing
	same.ReadAt = clock
	if l, b := read(func(*tx.Transaction) {}); !reflect.DeepEqual(l, same) || b == nil {
		t.Errorf("the same: %+v, %q", l, b)
	}
	unasked := same
	unasked.Asked = Asked{}
	for name, edit := range map[string]func(*tx.Transaction){
		"in another phase":                 func(t *tx.Transaction) { t.Revision++; t.Phase = tx.PhaseWatching },
		"in the same one, changed by some": func(t *tx.Transaction) { t.Revision++ },
	} {
		if l, b := read(edit); !reflect.DeepEqual(l, unasked) || b == nil {
			t.Errorf("%s: %+v, %q", name, l, b)
		}
	}
	for name, edit := range map[string]func(*tx.Transaction){
		"under another claim":          func(t *tx.Transaction) { t.Claim = "other:2" },
		"as it was before":             func(t *tx.Transaction) { t.Revision-- },
		"with more, by the same count": func(t *tx.Transaction) { try(tx.Planned)(t) },
		"otherwise, by the same count": func(t *tx.Transaction) { t.Phase, t.Attempts[0].State = tx.PhaseDispatching, tx.Planned },
	} {
		if l, b := read(edit); !reflect.DeepEqual(l, Local{ReadAt: clock}) || b != nil {
			t.Errorf("%s: %+v, %q", name, l, b)
		}
	}
}

// TestDriveReadAsks: what a store was asked that may have forgotten answers for nothing after it
// was put right; what else is to be learnt stays.
func TestDriveReadAsks(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching, try(tx.Planned)))
	stays := []Result{Denied{Why: Unconfirmed}, SubmitTold{}, ConfirmTold{1}, dispatched(1),
		SendTold{Call: calling(Send, 1)}}
	d.results = append([]Result{
		SenderTold{Sender: *good()}, HealthTold{}, RetriesTold{}, AccountTold{Exists: true}, LandedTold{},
		BytesRead{}, ChainTold{},
	}, stays...)
	all := d.results
	d.local.Asked = Asked{Sender: good()}
	d.Stale()
	if d.Read(d.Txn(), clock); len(d.Results()) != len(all) || d.Local().Asked.Sender == nil {
		t.Errorf("read once more, it knows %+v, and to be learnt are %v", d.Local().Asked, d.Results())
	}
	if d.Anew(); !d.IsStale() {
		t.Error("nothing is to be read")
	}
	if d.Read(d.Txn(), clock); !reflect.DeepEqual(d.Results(), stays) || d.Local().Asked != (Asked{}) || d.IsStale() {
		t.Errorf("asked anew, it knows %+v, and to be learnt are %v", d.Local().Asked, d.Results())
	}
	d.local.Asked = Asked{Sender: good()}
	if d.Read(d.Txn(), clock); d.Local().Asked.Sender == nil {
		t.Error("asked anew each time")
	}
}

// TestDriveReadBytes: the bytes of the attempt before a raise, which are kept nowhere else,
// outlive a reading; that none are stored does not.
func TestDriveReadBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ known, want *BytesRead }{
		"some": {&BytesRead{Number: 1, Command: []byte("old")}, &BytesRead{Number: 1, Command: []byte("old")}},
		"none": {&BytesRead{}, nil}, "not asked": {nil, nil},
	} {
		d := driving(t, txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned)))
		d.local.Asked = Asked{Bytes: c.known}
		d.Anew()
		if d.Read(d.Txn(), clock); !reflect.DeepEqual(d.Local().Asked, Asked{Bytes: c.want}) {
			t.Errorf("%s: known is %+v", name, d.Local().Asked)
		}
	}
}

// TestDriveUnseen: a moment in which others of a train are not known ends nothing that is under
// way: a proof, or a raise.
func TestDriveUnseen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r    *tx.Transaction
		call Kind
	}{
		"a proof": {txn(tx.PhaseDispatching, try(tx.Planned)), Prove},
		"a raise": {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))), Resign},
	} {
		d := driving(t, c.r, asked(good()), sees(tx.FatePooled, 0),
			knows(func(l *Local) { l.Asked.Bytes = &BytesRead{1, []byte("b")} }))
		e := d.calls(c.call)
		d.v.Train.Unseen = true
		d.wants(ToSleep, true)
		if d.Call() != e {
			t.Errorf("%s: under way is %+v", name, d.Call())
		}
		d.v.Train.Unseen = false
		d.wants(ToSleep, true)
	}
}

// TestDriveStopped: what a question answers that was stopped is not believed, and does not
// end the same question asked anew; what a worker answers always counts.
func TestDriveStopped(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseFailing, try(tx.Refused, over)))
	d.Add(d.calls(AskSender), SenderTold{Sender: *good()})
	first := d.calls(AskRetries)
	d.Anew()
	d.Read(d.Txn(), clock)
	d.wants(ToStop, true)
	d.Add(d.calls(AskSender), SenderTold{Sender: *good()})
	again := d.calls(AskRetries)
	d.Add(first, RetriesTold{Known: true, Limit: 0})
	if d.Call() != again || len(d.Results()) > 0 {
		t.Errorf("under way is %+v, to be learnt are %v", d.Call(), d.Results())
	}
	d.Add(again, RetriesTold{Known: true, Limit: 7})
	if a := d.stores(ReasonDelay); a.Step.Txn.Phase != tx.PhaseDelayed {
		t.Errorf("it is %s", a.Step.Txn.Phase)
	}
	d.Add(first, answer(Prove, 1))
	if len(d.Results()) != 1 {
		t.Error("a worker's answer to what was stopped is lost")
	}
}

// TestDriveOtherClaim: what tells of an attempt holds under any claim, and what was asked
// about sender, chain or store under the one that asked.
func TestDriveOtherClaim(t *testing.T) {
	t.Parallel()
	about, of := AccountTold{Exists: true, Nonce: 9}, []Result{dispatched(1), SendTold{Call: calling(Send, 1)}}
	taken := txn(tx.PhaseDispatching)
	taken.Claim = "me:2"
	d := driving(t, txn(tx.PhaseDispatching))
	before := d.calls(AskSender)
	d.Add(before, about)
	d.Add(before, of[0])
	d.Read(taken, clock)
	d.Add(before, about)
	d.Add(before, of[1])
	if got := d.Results(); !reflect.DeepEqual(got, of) {
		t.Errorf("to be learnt are %v", got)
	}
	e := d.calls(AskSender)
	if e.Claim != taken.Claim || before.Claim == e.Claim {
		t.Errorf("asked under %q, and before under %q", e.Claim, before.Claim)
	}
	d.Add(e, about)
	d.calls(AskSender)
	if d.Local().Asked.Account == nil {
		t.Error("what was asked under this claim is not learnt")
	}
}

// TestDriveBytes: the late answer to another sending takes no bytes away.
func TestDriveBytes(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)))
	d.hears(signed(Prove, 2))
	d.stores(ReasonAnswered)
	send := freshly(Send, 2)
	d.Add(calling(Send, 1), nil)
	d.Add(freshly(Confirm, 2), nil)
	if string(d.Bytes(send)) != "bytes" {
		t.Errorf("left are %q", d.Bytes(send))
	}
	if d.Add(send, nil); d.Bytes(send) != nil {
		t.Errorf("after they were sent there are %q", d.Bytes(send))
	}
	// What is kept again after a raise was sent long ago.
	d = driving(t, txn(tx.PhaseWatching, try(tx.Sent), try(tx.Signed, fee(150))),
		knows(func(l *Local) { l.Unsent, l.Asked.Bytes = 2, &BytesRead{Number: 1, Command: []byte("old")} }))
	d.hears(SendTold{Call: send, Refusal: refused("Insufficient_replace_fee", Refusal{})})
	if a := d.stores(ReasonRaising); a.Step.Aside.Bytes == nil || d.Bytes(freshly(Send, 1)) != nil {
		t.Error("what was sent before a raise is taken for new")
	}
}

// TestDriveClone: it goes its own way.
func TestDriveClone(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseWaiting))
	for n := range 3 {
		d.hears(ConfirmTold{n})
	}
	c := d.Clone()
	c.Add(Effect{Claim: d.txn.Claim}, ConfirmTold{10})
	d.hears(ConfirmTold{20})
	if got := c.Results()[3]; got != (ConfirmTold{10}) || len(d.Results()) != 4 {
		t.Errorf("the copy has %v", got)
	}
}

// TestDriveKnows: what was seen counts at the next look.
func TestDriveKnows(t *testing.T) {
	t.Parallel()
	d := driving(t, txn(tx.PhaseDone, try(tx.Included, block, legacy), landedBy(1), orphan), sees(tx.FateAbsent, 0))
	a := d.wants(ToSleep, true)
	d.v.Clock = a.Look
	d.stores(ReasonAmbiguous)
}
