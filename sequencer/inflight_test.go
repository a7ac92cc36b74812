package sequencer

import (
	"slices"
	"testing"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// TestBeside: what a proof knows nothing of is what stood ahead of it with nothing out when it was planned, and all
// behind that. The proof that an attempt takes is that of those before it that were kept.
func TestBeside(t *testing.T) {
	t.Parallel()
	member := func(uid string, attempts ...tx.Attempt) lifecycle.Member {
		return lifecycle.Member{Txn: &tx.Transaction{UID: uid, Attempts: attempts}}
	}
	out := func(nonce uint32) tx.Attempt { return tx.Attempt{State: tx.Sent, Nonce: nonce} }
	early := tx.Attempt{State: tx.Unplaced, Nonce: 5}
	kept := tx.Attempt{State: tx.Proved, Nonce: 5}
	for name, c := range map[string]struct {
		ahead   []lifecycle.Member
		chained bool
		want    []string
	}{
		"all are out": {ahead: []lifecycle.Member{member("a", out(3)), member("b", out(4))}},
		"one is being proved": {ahead: []lifecycle.Member{member("a", out(4)), member("b", early)},
			want: []string{"b"}},
		"one waits with its proof": {ahead: []lifecycle.Member{member("a", kept), member("b", early)},
			want: []string{"a", "b"}},
		"one is out by now": {ahead: []lifecycle.Member{member("a", out(4)), member("b", out(5))},
			want: []string{"b"}},
		"one that is out is behind it": {ahead: []lifecycle.Member{member("a", early), member("b", out(4))},
			want: []string{"a", "b"}},
		"one that has not begun": {ahead: []lifecycle.Member{member("a")}, want: []string{"a"}},
		"chained":                {ahead: []lifecycle.Member{member("a", early)}, chained: true},
		"none is ahead":          {},
	} {
		train := &lifecycle.Train{Ahead: c.ahead, Commuting: !c.chained}
		if got := besideOf(train, &tx.Attempt{Nonce: 5}); !slices.Equal(got, c.want) {
			t.Errorf("%s: beside %v, want %v", name, got, c.want)
		}
	}
	of := func(s tx.AttemptState, uids ...string) tx.Attempt {
		return tx.Attempt{State: s, Beside: uids}
	}
	for name, c := range map[string]struct {
		before []tx.Attempt
		want   []string
	}{
		"the first":                    {},
		"its proof is kept":            {[]tx.Attempt{of(tx.Proved, "a", "b")}, []string{"a", "b"}},
		"it is kept twice":             {[]tx.Attempt{of(tx.Proved, "b"), of(tx.Proved, "a", "b")}, []string{"a", "b"}},
		"a plan is taken back":         {[]tx.Attempt{of(tx.Proved, "a"), of(tx.Dropped)}, []string{"a"}},
		"what was signed has been out": {[]tx.Attempt{of(tx.Proved, "a"), of(tx.Expired)}, nil},
	} {
		txn := &tx.Transaction{Attempts: append(c.before, of(tx.Planned))}
		if got := provedBeside(txn, len(txn.Attempts)); !slices.Equal(got, c.want) {
			t.Errorf("%s: beside %v, want %v", name, got, c.want)
		}
	}
}
