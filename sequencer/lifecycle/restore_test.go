package lifecycle

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// anyRecord is a transaction with up to three attempts of any kind, in the order in which they were
// planned: of two senders, at two nonces, most of them alike.
func anyRecord(r *rand.Rand, ledger bool) *Transaction {
	outcomes := []Outcome{Prepared, Signed, Sent, Unknown, Refused, Expired, Replaced, FailedIn}
	phases := []Phase{PhaseDispatching, PhaseWaiting, PhaseFailed, PhaseWatching, PhaseDone}
	t, at := &Transaction{UID: "a", Queue: "q", Phase: phases[r.IntN(len(phases))], Sender: "S"}, int64(1)
	if ledger {
		t.Ledger = "sc"
	}
	for range r.IntN(4) {
		at += int64(r.IntN(2)) + 1
		a := Attempt{Number: len(t.Attempts) + 1, Sender: []string{"S", "R"}[r.IntN(2)],
			Outcome:   outcomes[r.IntN(len(outcomes))],
			StartedAt: time.UnixMilli(at).UTC()}
		switch {
		case ledger:
			a.Hash = "b1"
			if a.Outcome == Prepared {
				a.Outcome = Signed
			}
		default:
			a.Nonce, a.Fee, a.ValidUntil, a.NodeHash = uint32(3+r.IntN(2)), 1, 9, []string{"", "5J", "5K"}[r.IntN(3)]
			if r.IntN(4) == 0 {
				a.Legacy, a.ValidUntil = true, 0
			}
		}
		switch a.Outcome {
		case Refused, Expired, Replaced, FailedIn:
			a.EndedAt = restoredAt
		case Prepared:
			if r.IntN(2) == 0 {
				a.EndedAt = restoredAt
			}
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

// TestRestoredEnds: whatever is stored and known, what is put back is put back once, and then
// nothing is lacked: who lacks something waits until it is put back.
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
				got = after
			}
		}
		if times == 8 || Lacks("p", got, memory) {
			t.Fatalf("after %d times it lacks %t\nstored %+v\nknown  %+v\nnow    %+v",
				times, Lacks("p", got, memory), stored.Attempts, known.Attempts, got.Attempts)
		}
	}
}

// TestUnended: what Redis has forgotten the end of waits again, as before any end, and the
// memory of it is as it was.
func TestUnended(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseFailed, PhaseUnresolved, PhaseDone} {
		stored := tried(ended(tryAt("S", 3, Included)))
		stored.Phase, stored.Landed, stored.Ending, stored.CancelRequested = phase, 1, PhaseFailed, true
		stored.Error, stored.Reopened, stored.Deferred = oops(CodeOutcomeUnknown), true, 2
		stored.DoneAt, stored.FinalAt, stored.Done = now, now, json.RawMessage("{}")
		before, want := stored.Clone(), tried(ended(tryAt("S", 3, Included)))
		want.Phase = PhaseWaiting
		if got := Unended(stored); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", phase, got)
		}
		if !reflect.DeepEqual(stored, before) {
			t.Errorf("%s is changed itself: %+v", phase, stored)
		}
	}
}

// TestAwaited: a sender waits for what nobody knows the outcome of, and for nothing else.
func TestAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *Transaction
		want bool
	}{
		"its outcome is unknown":       {txn(PhaseUnresolved, try(Unknown), wrong(CodeOutcomeUnknown)), true},
		"another error":                {txn(PhaseUnresolved, try(Unknown), wrong(CodeLost)), false},
		"no error":                     {txn(PhaseUnresolved, try(Unknown)), false},
		"unknown, and tried once more": {txn(PhaseWatching, try(Unknown), wrong(CodeOutcomeUnknown)), false},
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
		ending Phase
		known  Attempt
		want   Phase
	}{
		"something is out":          {PhaseFailing, from(1, tryAt("S", 3, Sent), "5J"), ""},
		"nothing is":                {PhaseFailing, from(1, ended(tryAt("S", 3, FailedIn)), "5J"), PhaseFailing},
		"something is, another end": {PhaseFailed, from(1, tryAt("S", 3, Sent), "5J"), PhaseFailed},
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
	v := view(txn(PhaseUnresolved, try(FailedIn, shallow), try(Unknown), wrong(CodeOutcomeUnknown)))
	if s := v.ordered("5J2"); s.Txn.Landed != 2 || s.Txn.shallow() != nil || s.Txn.Out() {
		t.Errorf("%+v", s.Txn)
	}
}

// TestComes: what was found may land as long as its time lasts, or for ever.
func TestComes(t *testing.T) {
	t.Parallel()
	for a, want := range map[[2]uint32]bool{{0, 5}: true, {1, 5}: false, {9, 9}: true, {9, 10}: false} {
		if got := (&Attempt{ValidUntil: a[0], Slot: a[1]}).comes(); got != want {
			t.Errorf("valid until %d, in slot %d: %t", a[0], a[1], got)
		}
	}
}

// TestClean: only what lands while it is bound ends a row of failures.
func TestClean(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]bool{
		PhaseWatching: true, PhaseSent: true, PhaseUnresolved: false, PhaseFailed: false,
	} {
		s := Decide(view(txn(phase, try(Sent)), sees(FateIncluded, 5)))
		if s.Txn.Phase != PhaseDone || s.Aside.Clean != want {
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
		v := view(txn(PhaseWatching, try(Sent)), knows(func(l *Local) { l.Asked.Bytes = c.bytes }))
		if s := v.resend(); s.Do.Kind != c.want {
			t.Errorf("%s: %+v", name, s.Do)
		}
	}
}

// TestInOrder: what is put back as dispatching stands for what was built on it, unless another
// attempt is to be made. What is bound no more is not known to those around it.
func TestInOrder(t *testing.T) {
	t.Parallel()
	for o, want := range map[Outcome]bool{Prepared: false, Unknown: false, Signed: true, Sent: true, Pooled: true} {
		m := Member{Txn: tried(tryAt("S", 3, o))}
		if m.inOrder() != want {
			t.Errorf("%s: in order %t", o, !want)
		}
	}
	anew := Member{Txn: tried(tryAt("S", 3, Sent), ended(tryAt("S", 3, Refused)))}
	if anew.inOrder() {
		t.Error("in order, and another attempt is to be made")
	}
	over := tried(ended(tryAt("S", 3, Included)))
	over.Phase = PhaseDone
	train := TrainOf([]string{"a", "b"}, "b", func(string) (Member, bool) { return Member{Txn: over}, true })
	if !train.Unseen || len(train.Ahead) > 0 {
		t.Errorf("one that is DONE runs: %+v", train)
	}
}

// TestWeighedWhenBound: what made room in a recovery before it was weighed is weighed before anything
// is planned. What is open is judged by the chain.
func TestWeighedWhenBound(t *testing.T) {
	t.Parallel()
	mark := func(t *Transaction) { t.Ending = PhaseFailing }
	s := Decide(view(txn(PhaseDispatching, try(FailedIn, over), try(Prepared), mark)))
	if s.Txn == nil || s.Txn.Phase != PhaseFailing || s.Txn.Ending != "" || s.Txn.Last().Pending() {
		t.Errorf("%+v", s)
	}
	if s := Decide(view(txn(PhaseDispatching, try(Sent), mark))); s.Txn != nil && s.Txn.Phase == PhaseFailing {
		t.Errorf("with something out %+v", s)
	}
}
