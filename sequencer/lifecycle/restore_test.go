package lifecycle

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

var restoredAt = time.UnixMilli(7000).UTC()

// tried is a transaction with attempts, bound to S.
func tried(attempts ...Attempt) *Transaction {
	t := &Transaction{UID: "a", Queue: "q", Phase: PhaseDispatching, Sender: "S", Attempts: attempts}
	for i := range t.Attempts {
		t.Attempts[i].Number = i + 1
	}
	return t
}

func tryAt(sender string, nonce uint32, o Outcome) Attempt {
	return Attempt{Sender: sender, Nonce: nonce, Fee: 1, ValidUntil: 9, Outcome: o}
}

func ended(a Attempt) Attempt {
	a.EndedAt = time.UnixMilli(5000).UTC()
	return a
}

func hashed(a Attempt, hash string) Attempt {
	a.NodeHash = hash
	return a
}

func legacyOf(a Attempt) Attempt {
	a.Legacy, a.ValidUntil = true, 0
	return a
}

// TestRestored: what is stored gets the attempts back that it lacks, and nothing older
// than what it has.
func TestRestored(t *testing.T) {
	t.Parallel()
	found := KnownBy(Command{Payer: "S", Nonce: 3, Fee: 1, ValidUntil: 9, Hash: "5J"}, restoredAt)
	remembers := func(attempts ...Attempt) Known { return KnownOf(tried(attempts...), nil) }
	replaced := func(a Attempt) Attempt {
		a.Outcome, a.EndedAt = Replaced, restoredAt
		return a
	}
	for name, c := range map[string]struct {
		stored *Transaction
		known  Known
		want   []Attempt // nil: it lacks nothing
	}{
		"all of it":          {tried(), remembers(tryAt("S", 3, Sent)), []Attempt{tryAt("S", 3, Sent)}},
		"nothing":            {tried(tryAt("S", 3, Pooled)), remembers(tryAt("S", 3, Sent)), nil},
		"what a plan became": {tried(tryAt("S", 3, Prepared)), remembers(tryAt("S", 3, Signed)), []Attempt{tryAt("S", 3, Signed)}},
		"another plan has its number": {tried(tryAt("S", 4, Prepared)), remembers(tryAt("S", 3, Signed)),
			[]Attempt{func() Attempt { a := tryAt("S", 4, Prepared); a.EndedAt = restoredAt; return a }(), tryAt("S", 3, Signed)}},
		"what came after an end": {tried(tryAt("S", 3, Sent)), remembers(ended(tryAt("S", 3, FailedIn)), tryAt("R", 8, Signed)),
			[]Attempt{ended(tryAt("S", 3, FailedIn)), tryAt("R", 8, Signed)}},
		"two with one nonce": {tried(tryAt("S", 3, Sent)), remembers(tryAt("S", 3, Sent), tryAt("S", 3, Signed)),
			[]Attempt{tryAt("S", 3, Sent), tryAt("S", 3, Signed)}},
		"no plan of its own":           {tried(), remembers(tryAt("S", 3, Prepared)), nil},
		"its end is known":             {tried(ended(tryAt("S", 3, Expired))), remembers(tryAt("S", 3, Sent)), nil},
		"no plan that came to nothing": {tried(tryAt("S", 3, Signed)), remembers(ended(tryAt("S", 3, Prepared))), nil},
		"what was made after a plan that came to nothing": {tried(ended(tryAt("S", 3, Prepared)), hashed(tryAt("S", 3, Signed), "5J")),
			remembers(ended(tryAt("S", 3, Prepared)), hashed(tryAt("S", 3, Signed), "5J")), nil},
		"found":             {tried(), found, []Attempt{hashed(func() Attempt { a := tryAt("S", 3, Signed); a.StartedAt = restoredAt; return a }(), "5J")}},
		"found, and known":  {tried(hashed(tryAt("S", 3, Sent), "5J")), found, nil},
		"found, by no hash": {tried(tryAt("S", 3, Sent)), found, []Attempt{hashed(tryAt("S", 3, Sent), "5J")}},
		"found, and newer": {tried(tryAt("R", 8, Sent)), found,
			[]Attempt{replaced(tryAt("R", 8, Sent)), hashed(func() Attempt { a := tryAt("S", 3, Signed); a.StartedAt = restoredAt; return a }(), "5J")}},
		"a legacy call": {tried(tryAt("S", 3, Prepared)), remembers(legacyOf(tryAt("S", 3, Prepared))), []Attempt{legacyOf(tryAt("S", 3, Prepared))}},
		"a legacy answer": {tried(legacyOf(tryAt("S", 3, Prepared))), remembers(legacyOf(tryAt("S", 4, Sent))),
			[]Attempt{legacyOf(tryAt("S", 4, Sent))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := Restored(c.stored, c.known, restoredAt)
			if (got == nil) != (c.want == nil) {
				t.Fatalf("restored: %+v", got)
			}
			if got != nil && !slices.EqualFunc(got.Attempts, tried(c.want...).Attempts, func(a, b Attempt) bool { return reflect.DeepEqual(a, b) }) {
				t.Errorf("attempts %+v, want %+v", got.Attempts, tried(c.want...).Attempts)
			}
		})
	}
}

// TestRestoredBytes: they go with their attempt, whatever number that has by now.
func TestRestoredBytes(t *testing.T) {
	t.Parallel()
	known := KnownOf(tried(tryAt("S", 3, Signed)), &BytesRead{Number: 1, Command: []byte("signed")})
	_, bytes := Restored(tried(tryAt("S", 4, Prepared)), known, restoredAt)
	if bytes == nil || bytes.Number != 2 {
		t.Errorf("bytes: %+v", bytes)
	}
	if _, bytes = Restored(tried(tryAt("S", 3, Signed)), known, restoredAt); bytes != nil {
		t.Errorf("nothing lacks, and bytes are stored: %+v", bytes)
	}
}

// TestRemember: the latest with something out, until a record that has it, too, has
// nothing out any more.
func TestRemember(t *testing.T) {
	t.Parallel()
	out, plan, over := tried(tryAt("S", 3, Sent)), tried(tryAt("S", 3, Prepared)), tried(ended(tryAt("S", 3, Expired)))
	landed := tried(ended(tryAt("S", 3, Included)))
	landed.Phase, landed.Landed = PhaseDone, 1
	final := landed.Clone()
	final.FinalAt = restoredAt
	for name, c := range map[string]struct{ known, read, want *Transaction }{
		"nothing out":         {nil, plan, nil},
		"out":                 {nil, out, out},
		"forgotten":           {out, plan, out},
		"forgotten, and back": {out, tried(ended(tryAt("S", 3, Prepared))), out},
		"over":                {out, over, nil},
		"landed":              {out, landed, landed},
		"for good":            {landed, final, nil},
	} {
		if got := Remember(c.known, c.read); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if k := KnownOf(landed, nil); !k.Attempts[0].Open() || landed.Attempts[0].Open() {
		t.Errorf("what landed is not asked for again: %+v", k)
	}
}

// TestStranger: the first nonce that none of ours has used.
func TestStranger(t *testing.T) {
	t.Parallel()
	use := func(nonce uint32, uid string) Use { return Use{UID: uid, Command: Command{Nonce: nonce, Hash: "5J"}} }
	running := tried(tryAt("S", 4, Sent))
	for name, c := range map[string]struct {
		ledger  uint32
		running *Transaction
		used    []Use
		nonce   uint32
		hash    string
		found   bool
	}{
		"nothing used":                {3, nil, nil, 3, "", false},
		"ours":                        {4, nil, []Use{use(3, "a")}, 4, "", false},
		"shown nowhere":               {4, nil, nil, 3, "", true},
		"a stranger's":                {4, nil, []Use{use(3, "")}, 3, "5J", true},
		"a stranger's in a pool":      {3, nil, []Use{use(3, "")}, 3, "5J", true},
		"far above":                   {3, nil, []Use{use(5, "")}, 3, "", false},
		"of what runs":                {5, running, []Use{use(3, "a"), use(4, "")}, 5, "", false},
		"beside ours with that nonce": {4, nil, []Use{use(3, ""), use(3, "a")}, 4, "", false},
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
	if back := MakesRoom(tried(tryAt("S", 3, Prepared))); back == nil || back.Phase != PhaseWaiting {
		t.Errorf("it stays: %+v", back)
	}
	waits := tried()
	waits.Phase = PhaseWaiting
	if MakesRoom(tried(tryAt("S", 3, Sent))) != nil || MakesRoom(waits) != nil {
		t.Error("it goes back, and has something out, or is in nobody's place")
	}
}

// TestLeast: the next nonces that follow from what was restored.
func TestLeast(t *testing.T) {
	t.Parallel()
	before := tried(ended(tryAt("S", 1, FailedIn)), tryAt("S", 2, Sent))
	after := tried(ended(tryAt("S", 1, FailedIn)), ended(tryAt("S", 2, FailedIn)), tryAt("R", 7, Signed), tryAt("T", 5, Prepared))
	if least := Least(before, after); len(least) != 2 || least["S"] != 3 || least["R"] != 7 {
		t.Errorf("least: %v", least)
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
		known := KnownOf(of, nil)
		after, _ := Restored(stored, known, restoredAt)
		if after == nil {
			continue
		}
		if again, _ := Restored(after, known, restoredAt); again != nil {
			t.Fatalf("of %+v\nknown %+v\nrestored %+v\nand again %+v", stored.Attempts, known.Attempts, after.Attempts, again.Attempts)
		}
		for i := range stored.Attempts {
			if a := &stored.Attempts[i]; a.Open() && !after.Attempts[i].Open() && after.Attempts[i].Outcome == Prepared {
				t.Fatalf("attempt %d is a plan again: %+v, by %+v", i+1, stored.Attempts, known.Attempts)
			}
		}
	}
}
