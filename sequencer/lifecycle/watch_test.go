package lifecycle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestWatchOf: the chain is asked about all that may land, or has, at one place: from the
// first slot that any of it can be in to the last, by every hash, and about nothing that
// stands elsewhere.
func TestWatchOf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		txn := placed(r)
		want, some := Watch{Memo: walkMemo, Since: math.MaxUint32}, false
		landed := txn.Attempt(txn.Landed)
		for i := range txn.Attempts {
			a := &txn.Attempts[i]
			left := a.Outcome != Prepared && a.Outcome != Refused
			if !a.Open() && (landed == nil || a.Sender != landed.Sender || a.Nonce != landed.Nonce || !left) {
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
func placed(r *rand.Rand) *Transaction {
	t := txn(PhaseWatching)
	for n := range 1 + r.IntN(5) {
		try(pick(r, outcomes...), at(pick[uint32](r, 6, 7)))(t)
		a := t.Last()
		a.Sender, a.Slot, a.ValidUntil = pick(r, payer, "B62b"), 280+r.Uint32N(20), 320+r.Uint32N(20)
		a.Hash, a.NodeHash = pick(r, "5Jshared", "5Ja"+string(rune('0'+n))), "5Jn"+string(rune('0'+n))
		over(a)
	}
	if n := 1 + r.IntN(len(t.Attempts)); r.IntN(2) == 0 {
		t.Phase, t.Landed = PhaseDone, n
		t.Attempt(n).Outcome = Included
	} else {
		open := t.Attempt(n)
		for i := range t.Attempts {
			a := &t.Attempts[i]
			if a.Sender == open.Sender && a.Nonce == open.Nonce && !slices.Contains(settledOutcomes, a.Outcome) && a.Outcome != Prepared {
				a.EndedAt = time.Time{}
			}
		}
	}
	return t
}

// TestMemo: other programs make the same memo of a namespace and a uid, and no two pairs
// that read alike share one.
func TestMemo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, uid, want string }{
		{"seq", "u", "CWXdAVLCgi8feZolzBRuRv"}, {"a", "bc", "QLtUfZNrvTExjuN6yHmefs"}, {"ab", "c", "bAMuYx05oU2Fr_fjGVRq9w"},
	} {
		if got := Memo(c.namespace, c.uid); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.uid, c.namespace, got, c.want)
		}
	}
}
