package lifecycle

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// anyRecord is a transaction with up to three attempts of any kind, in the order in which they were
// planned: of two senders, at two nonces, most of them alike.
func anyRecord(r *rand.Rand, ledger bool) *tx.Transaction {
	outcomes := []tx.AttemptState{tx.Planned, tx.Signed, tx.Sent, tx.Unknown, tx.Refused, tx.Expired, tx.Replaced,
		tx.FailedIn}
	phases := []tx.Phase{tx.PhaseDispatching, tx.PhaseWaiting, tx.PhaseFailed, tx.PhaseWatching, tx.PhaseDone}
	t, at := &tx.Transaction{UID: "a", Queue: "q", Phase: phases[r.IntN(len(phases))], Sender: "S"}, int64(1)
	if ledger {
		t.Ledger = "sc"
	}
	for range r.IntN(4) {
		at += int64(r.IntN(2)) + 1
		a := tx.Attempt{Number: len(t.Attempts) + 1, Sender: []string{"S", "R"}[r.IntN(2)],
			State:     outcomes[r.IntN(len(outcomes))],
			StartedAt: time.UnixMilli(at).UTC()}
		switch {
		case ledger:
			a.Hash = "b1"
			if a.State == tx.Planned {
				a.State = tx.Signed
			}
		default:
			a.Nonce, a.Fee, a.ValidUntil, a.NodeHash = uint32(3+r.IntN(2)), 1, 9, []string{"", "5J", "5K"}[r.IntN(3)]
			if r.IntN(4) == 0 {
				legacy(&a)
			}
		}
		if t.Phase == tx.PhaseDone && t.Landed == 0 && r.IntN(2) == 0 {
			a.State, t.Landed = tx.Included, a.Number
		}
		switch a.State {
		case tx.Refused, tx.Expired, tx.Replaced, tx.FailedIn, tx.Included:
			a.EndedAt = restoredAt
		case tx.Planned:
			if r.IntN(2) == 0 {
				a.Become(tx.Dropped, restoredAt)
			}
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

// atOneNonce reports whether all that is out or planned has one sender and one nonce.
func atOneNonce(t *tx.Transaction) bool {
	var first *tx.Attempt
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if !a.Open() && !a.Pending() {
			continue
		}
		if first != nil && (first.Sender != a.Sender || first.Nonce != a.Nonce) {
			return false
		}
		first = a
	}
	return true
}

// TestRestoredEnds: whatever is stored and known, what is put back is put back once, and then
// nothing is lacked: who lacks something waits until it is put back. Nothing is out at two nonces by it.
func TestRestoredEnds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		ledger := r.IntN(4) == 0
		stored, memory := anyRecord(r, ledger), anyRecord(r, ledger)
		known := KnownOf("p", memory, nil)
		if !ledger && r.IntN(4) == 0 {
			memory = nil
			known = KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J"}}, restoredAt)
		}
		got, times := stored, 0
		for after := stored; after != nil && times < 8; times++ {
			if after, _ = Restored(got, known, restoredAt); after != nil {
				if atOneNonce(got) && !atOneNonce(after) {
					t.Fatalf("what is out or planned has two nonces\nstored %+v\nknown  %+v\nnow    %+v",
						got.Attempts, known.Attempts, after.Attempts)
				}
				got = after
			}
		}
		if times == 8 || Lacks("p", got, memory) {
			t.Fatalf("after %d times it lacks %t\nstored %+v\nknown  %+v\nnow    %+v",
				times, Lacks("p", got, memory), stored.Attempts, known.Attempts, got.Attempts)
		}
	}
}

// TestUnended: what has ended goes on where something of it is out that was forgotten, and comes to its end
// all the same if it was told since; what has landed stays so. No end is left of it meanwhile.
func TestUnended(t *testing.T) {
	t.Parallel()
	told, earlier := time.UnixMilli(500_000).UTC(), time.UnixMilli(400_000).UTC()
	at := func(a tx.Attempt, when time.Time) tx.Attempt { a.StartedAt = when; return a }
	call := func(nonce uint32, when time.Time) tx.Attempt {
		a := at(tryAt("S", nonce, tx.Planned), when)
		legacy(&a)
		return a
	}
	landed := func(a tx.Attempt) *tx.Transaction {
		t := tried(ended(a))
		t.Phase, t.Landed = tx.PhaseDone, 1
		return t
	}
	final := func(p tx.Phase, attempts ...tx.Attempt) *tx.Transaction {
		t := tried(attempts...)
		t.Phase = p
		return t
	}
	remembered := func(attempts ...tx.Attempt) Known { return KnownOf("p", tried(attempts...), nil) }
	found := func(nonce uint32) Known {
		return KnownBy(Use{Command: Command{Payer: "S", Nonce: nonce, Fee: 100, ValidUntil: 29, Hash: "5Jfound"}}, restoredAt)
	}
	dead, dearer := ended(at(tryAt("S", 3, tx.Refused), earlier)), at(tryAt("S", 3, tx.Sent), earlier)
	dearer.Fee++
	orphaned := at(tryAt("S", 3, tx.Sent), earlier)
	orphaned.StateHash = "3Ngone"
	for name, c := range map[string]struct {
		stored *tx.Transaction
		known  Known
		want   string // the outcomes of its attempts, and the end that it comes to; "" if nothing is lacked
	}{
		"FAILED, and something out before that": {final(tx.PhaseFailed), remembered(at(tryAt("S", 3, tx.Sent), earlier)), ""},
		"FAILED, and tried again since":         {final(tx.PhaseFailed), remembered(at(tryAt("S", 3, tx.Sent), told.Add(1))), "sent; "},
		"FAILED, and a call before that":        {final(tx.PhaseFailed), remembered(call(3, earlier)), "called; failed"},
		"FAILED, and called again since":        {final(tx.PhaseFailed), remembered(call(3, told.Add(1))), "called; "},
		"FAILED, and something is found":        {final(tx.PhaseFailed), found(3), "signed; failed"},
		"UNRESOLVED, and a call before that":    {final(tx.PhaseUnresolved), remembered(call(3, earlier)), "called; unresolved"},
		"DONE by no block, and a call before that": {
			final(tx.PhaseDone), remembered(call(3, earlier)), "called; done"},
		"DONE by another's, and something out at another nonce": {
			landed(at(tryAt("R", 3, tx.Included), told)), remembered(at(tryAt("S", 3, tx.Sent), earlier)), ""},
		"DONE by another's, and a call at another nonce": {
			landed(at(tryAt("R", 3, tx.Included), told)), remembered(call(3, earlier)), ""},
		"DONE by another's, and a later call": {
			landed(at(tryAt("R", 3, tx.Included), earlier)), remembered(call(3, told)), ""},
		"DONE by another's, and what has been in a block at another nonce": {
			landed(at(tryAt("R", 3, tx.Included), told)), remembered(orphaned), "included, sent; done"},
		"DONE by another's at its nonce": {
			landed(at(tryAt("S", 3, tx.Included), told)), remembered(dearer), "included, replaced; DONE"},
		"DONE by another's, and something is found at another nonce": {
			landed(at(tryAt("R", 3, tx.Included), told)), found(3), "included, signed; done"},
		"DONE by what came to nothing, and tried again since": {
			landed(at(tryAt("S", 3, tx.Included), earlier)),
			remembered(ended(at(tryAt("S", 3, tx.FailedIn), earlier)), at(tryAt("S", 4, tx.Sent), told)), "replaced, sent; "},
		"FAILED by what was refused, and tried again since": {
			final(tx.PhaseFailed, dead), remembered(dead, at(tryAt("S", 3, tx.Sent), told.Add(1))), "refused, sent; "},
	} {
		stored := c.stored
		stored.Error, stored.Done, stored.DoneAt = oops(tx.CodeLost), json.RawMessage("{}"), told
		stored.FinalAt, stored.CancelRequested, stored.Deferred = told, true, 2
		before := stored.Clone()
		got, _ := Restored(stored, c.known, restoredAt)
		said := ""
		if got != nil {
			for i := range got.Attempts {
				said += ", " + string(got.Attempts[i].State)
			}
			said = said[2:] + "; "
			if got.Landed > 0 {
				said += "DONE"
			}
			said += string(got.Ending)
			ends := got.Landed > 0 || got.Ending != ""
			if got.Landed == 0 && (!got.DoneAt.IsZero() || !got.FinalAt.IsZero() || got.CancelRequested || got.Reopened ||
				got.Deferred > 0) || (got.Error != nil) != ends || (got.Done != nil) != ends {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
		if !reflect.DeepEqual(stored, before) {
			t.Errorf("%s: what is stored is changed itself: %+v", name, stored)
		}
		if got != nil {
			if again, _ := Restored(got, c.known, restoredAt); again != nil {
				t.Errorf("%s: it lacks something still: %+v", name, again)
			}
		}
	}
}

// TestCallWatched: what a worker answers to a call that was put back while it went on, and is only watched,
// ends nothing: its hash is noted.
func TestCallWatched(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Answer{
		"sent": {Hash: "5J"}, "an error": {Fault: FaultError, Error: oops(tx.CodeLost)}, "no call": {Fault: FaultNoCall},
	} {
		called := txn(tx.PhaseWatching, try(tx.Planned, legacy), ending(tx.PhaseFailed))
		r.Call, r.Sender, r.Nonce = Effect{Kind: Dispatch, Number: 1}, called.Last().Sender, called.Last().Nonce
		s := Learn(view(called), r)
		if got := s.Txn; got != nil && (!got.Open() || got.Phase != tx.PhaseWatching) || (got != nil) != (r.Hash != "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestKept: what is DONE stays so where something else of it is found that has no place, and is not
// followed; what was found stays found.
func TestKept(t *testing.T) {
	t.Parallel()
	done := tried(ended(tryAt("R", 7, tx.Included)))
	done.Phase, done.Landed, done.DoneAt = tx.PhaseDone, 1, restoredAt
	known := KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J"}}, restoredAt)
	after, _ := Restored(done, known, restoredAt)
	kept := Kept(done, after, restoredAt)
	if kept == nil || kept.Phase != tx.PhaseDone || kept.Landed != 1 || kept.Open() || kept.Last().NodeHash != "5J" {
		t.Fatalf("%+v", kept)
	}
	if again, _ := Restored(kept, known, restoredAt); again != nil {
		t.Errorf("lacks it still: %+v", again)
	}
	for _, phase := range []tx.Phase{tx.PhaseFailed, tx.PhaseDone} { // by no block
		other := tried()
		other.Phase = phase
		after, _ = Restored(other, known, restoredAt)
		if kept := Kept(other, after, restoredAt); kept != nil {
			t.Errorf("%s: %+v", phase, kept)
		}
	}
	done.Reopened = true // it may not have landed
	after, _ = Restored(done, known, restoredAt)
	if kept := Kept(done, after, restoredAt); kept != nil {
		t.Errorf("reopened: %+v", kept)
	}
}

// TestAdoptedAs: what has an end to come to is watched, and anything else goes on.
func TestAdoptedAs(t *testing.T) {
	t.Parallel()
	for ending, want := range map[tx.Phase]tx.Phase{
		"": tx.PhaseDispatching, tx.PhaseFailing: tx.PhaseDispatching, tx.PhaseWaiting: tx.PhaseDispatching,
		tx.PhaseDone: tx.PhaseWatching, tx.PhaseFailed: tx.PhaseWatching, tx.PhaseUnresolved: tx.PhaseWatching,
	} {
		if got := AdoptedAs(txn(tx.PhaseFailed, try(tx.Sent), func(t *tx.Transaction) { t.Ending = ending })); got != want {
			t.Errorf("to end as %q: %s", ending, got)
		}
	}
}

// TestStoodAgain: what is DONE by a block again stands there with the nonce that it has.
func TestStoodAgain(t *testing.T) {
	t.Parallel()
	s := Decide(view(txn(tx.PhaseWatching, try(tx.Included, over, at(9)), try(tx.Sent), ending(tx.PhaseDone)),
		sees(tx.FateExpired, 9)))
	if s.Txn == nil || s.Txn.Landed != 1 || !s.Txn.Reopened || s.Aside.LandedWith == nil || *s.Aside.LandedWith != 9 {
		t.Errorf("%+v", s)
	}
}

// TestStoodBeside: what was DONE by a block is DONE by that again where nobody knows what became of a call
// beside it, and behind others too; and is by another one where that lands.
func TestStoodBeside(t *testing.T) {
	t.Parallel()
	stood := func(open part) *tx.Transaction {
		return txn(tx.PhaseWatching, try(tx.Included, over, at(9)), open, ending(tx.PhaseDone))
	}
	s := view(stood(try(tx.Unknown, legacy))).ambiguous()
	if s.Txn.Phase != tx.PhaseDone || s.Txn.Landed != 1 || s.Txn.Open() {
		t.Errorf("nobody knows of the other: %+v", s.Txn)
	}
	s = Decide(view(stood(try(tx.Sent)), sees(tx.FateExpired, 9), ahead(member(6, tx.FatePooled))))
	if s.Txn == nil || s.Txn.Ending != tx.PhaseDone && s.Txn.Landed != 1 {
		t.Errorf("behind another one: %+v", s.Txn)
	}
	s = Decide(view(stood(try(tx.Sent)), sees(tx.FateIncluded, 9)))
	if s.Txn == nil || s.Txn.Landed != 2 || s.Txn.Attempts[0].State != tx.Replaced {
		t.Errorf("the other landed: %+v", s.Txn)
	}
}

// TestRefusalBesideAPlan: that an attempt came to nothing is put back, and what is planned since stays.
func TestRefusalBesideAPlan(t *testing.T) {
	t.Parallel()
	refused := tried(ended(tryAt("S", 3, tx.Refused)))
	refused.Revision = 7
	stored := drivenBy("p", tried(tryAt("S", 3, tx.Sent), tryAt("S", 3, tx.Planned)))
	got, _ := Restored(stored, KnownOf("p", refused, nil), restoredAt)
	if got == nil || got.Attempts[0].State != tx.Refused || !got.Attempts[1].Pending() {
		t.Errorf("%+v", got)
	}
}

// TestHashOfWhatIsOver: what is found of an attempt that is over ends nothing that is out.
func TestHashOfWhatIsOver(t *testing.T) {
	t.Parallel()
	known := KnownBy(Use{Command: Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J"}}, restoredAt)
	got, _ := Restored(tried(ended(tryAt("S", 3, tx.Replaced)), tryAt("R", 8, tx.Sent)), known, restoredAt)
	if got == nil || got.Attempts[0].NodeHash != "5J" || !got.Attempts[1].Open() || len(got.Attempts) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestPassedTellsNobody: what is DONE by what was found is told when it is seen in a block.
func TestPassedTellsNobody(t *testing.T) {
	t.Parallel()
	after, other := tried(tryAt("S", 3, tx.Sent)), tried(tryAt("S", 4, tx.Sent))
	after.Callback, after.CallbackTries, after.Sequence, other.Sequence = tx.OnFailure, 2, 1, 2
	u := DoneBefore(after, other, Known{}, restoredAt)
	if u == nil || u.Callback != "" || u.CallbackTries != 0 {
		t.Errorf("%+v", u)
	}
}

// TestCalledBeside: a call that was forgotten is put back beside what nobody but us has, and not beside
// what a node took, which lands whatever is stored.
func TestCalledBeside(t *testing.T) {
	t.Parallel()
	call := tryAt("S", 3, tx.Planned)
	legacy(&call)
	for o, back := range map[tx.AttemptState]bool{tx.Signed: true, tx.Sent: false, tx.Pooled: false} {
		other := tryAt("R", 3, o)
		other.StartedAt = call.StartedAt.Add(time.Minute)
		got, _ := Restored(tried(other), KnownOf("p", tried(call), nil), restoredAt)
		if (got != nil) != back {
			t.Errorf("beside what is %s: %+v", o, got)
		}
	}
}

// TestAwaited: a sender waits for what nobody knows the outcome of, and for nothing else.
func TestAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want bool
	}{
		"its outcome is unknown":        {txn(tx.PhaseUnresolved, try(tx.Unknown, legacy)), true},
		"its bytes are here":            {txn(tx.PhaseUnresolved, try(tx.Unknown)), false},
		"its outcome is known":          {txn(tx.PhaseUnresolved, try(tx.FailedIn, legacy, over)), false},
		"unknown, and still to be seen": {txn(tx.PhaseWatching, try(tx.Unknown, legacy)), false},
	} {
		if awaited(c.in) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}

// TestRestoredEnding: what was to be weighed is to be weighed no more once something of it is out,
// and only then.
func TestRestoredEnding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ending tx.Phase
		known  tx.Attempt
		want   tx.Phase
	}{
		"something is out":          {tx.PhaseFailing, from(1, tryAt("S", 3, tx.Sent), "5J"), ""},
		"nothing is":                {tx.PhaseFailing, from(1, ended(tryAt("S", 3, tx.FailedIn)), "5J"), tx.PhaseFailing},
		"something is, another end": {tx.PhaseFailed, from(1, tryAt("S", 3, tx.Sent), "5J"), tx.PhaseFailed},
	} {
		stored, memory := tried(), tried(c.known)
		stored.Ending = c.ending
		got, _ := Restored(stored, KnownOf("p", memory, nil), restoredAt)
		if got == nil || got.Ending != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOrderedLanding: a person has the last word, on what is shallow too.
func TestOrderedLanding(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseUnresolved, try(tx.FailedIn, shallow), try(tx.Unknown), wrong(tx.CodeOutcomeUnknown)))
	if s := v.ordered("5J2"); s.Txn.Landed != 2 || s.Txn.Shallow() != nil || s.Txn.Out() {
		t.Errorf("%+v", s.Txn)
	}
}

// TestComes: what was found may land as long as its time lasts, or for ever.
func TestComes(t *testing.T) {
	t.Parallel()
	for a, want := range map[[2]uint32]bool{{0, 5}: true, {1, 5}: false, {9, 9}: true, {9, 10}: false} {
		if got := comes((&tx.Attempt{ValidUntil: a[0], Slot: a[1]})); got != want {
			t.Errorf("valid until %d, in slot %d: %t", a[0], a[1], got)
		}
	}
}

// TestClean: only what lands while it is bound ends a row of failures.
func TestClean(t *testing.T) {
	t.Parallel()
	for phase, want := range map[tx.Phase]bool{
		tx.PhaseWatching: true, tx.PhaseSent: true, tx.PhaseUnresolved: false, tx.PhaseFailed: false,
	} {
		s := Decide(view(txn(phase, try(tx.Sent)), sees(tx.FateIncluded, 5)))
		if s.Txn.Phase != tx.PhaseDone || s.Aside.Clean != want {
			t.Errorf("%s: %s, clean %t", phase, s.Txn.Phase, s.Aside.Clean)
		}
	}
}

// TestResends: only bytes that are kept, of an attempt that is still in question, are sent again.
func TestResends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bytes *BytesRead
		want  Kind
	}{
		"not asked for yet":             {nil, AskBytes},
		"kept":                          {&BytesRead{Number: 1, Command: []byte("b")}, Send},
		"none are kept":                 {&BytesRead{}, ""},
		"none are kept of it":           {&BytesRead{Number: 1}, ""},
		"of an attempt that is no more": {&BytesRead{Number: 2, Command: []byte("b")}, ""},
	} {
		v := view(txn(tx.PhaseWatching, try(tx.Sent)), knows(func(l *Local) { l.Asked.Bytes = c.bytes }))
		if s := v.resend(); s.Do.Kind != c.want {
			t.Errorf("%s: %+v", name, s.Do)
		}
	}
}

// TestInOrder: what is put back as dispatching stands for what was built on it, unless another
// attempt is to be made. What is bound no more is not known to those around it.
func TestInOrder(t *testing.T) {
	t.Parallel()
	for o, want := range map[tx.AttemptState]bool{tx.Planned: false, tx.Unknown: false, tx.Signed: true, tx.Sent: true,
		tx.Pooled: true} {
		m := Member{Txn: tried(tryAt("S", 3, o))}
		if m.InOrder() != want {
			t.Errorf("%s: in order %t", o, !want)
		}
	}
	anew := Member{Txn: tried(tryAt("S", 3, tx.Sent), ended(tryAt("S", 3, tx.Refused)))}
	if anew.InOrder() {
		t.Error("in order, and another attempt is to be made")
	}
	over := tried(ended(tryAt("S", 3, tx.Included)))
	over.Phase = tx.PhaseDone
	train := TrainOf([]string{"a", "b"}, "b", func(string) (Member, bool) { return Member{Txn: over}, true })
	if !train.Unseen || len(train.Ahead) > 0 {
		t.Errorf("one that is DONE runs: %+v", train)
	}
}

// TestWeighedWhenBound: what made room in a recovery before it was weighed is weighed before anything
// is planned. What is open is judged by the chain.
func TestWeighedWhenBound(t *testing.T) {
	t.Parallel()
	mark := func(t *tx.Transaction) { t.Ending = tx.PhaseFailing }
	s := Decide(view(txn(tx.PhaseDispatching, try(tx.FailedIn, over), try(tx.Planned), mark)))
	if s.Txn == nil || s.Txn.Phase != tx.PhaseFailing || s.Txn.Ending != "" || s.Txn.Last().Pending() {
		t.Errorf("%+v", s)
	}
	if s := Decide(view(txn(tx.PhaseDispatching, try(tx.Sent), mark))); s.Txn != nil && s.Txn.Phase == tx.PhaseFailing {
		t.Errorf("with something out %+v", s)
	}
}
