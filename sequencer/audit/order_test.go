package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/sequencer/tx"
)

// TestOrder holds what landed of a queue against its order, whoever stands between.
func TestOrder(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// one began its attempt so many minutes after the first.
	one := func(typ string, block, began int) landing {
		return landing{
			typ: typ,
			in: &effect{
				Command: mina.Command{Payer: "B62", Nonce: uint32(began)}, block: mina.Header{Height: uint32(block)},
			},
			attempts: []tx.Attempt{{StartedAt: begin.Add(time.Duration(began) * time.Minute)}},
		}
	}
	failed := func(l landing) landing { // in flight, before it landed by another attempt
		first := l.attempts[0]
		first.Sender, first.State, first.EndedAt = "B62", tx.FailedIn, first.StartedAt.Add(time.Hour)
		l.attempts = []tx.Attempt{first, {StartedAt: begin.Add(2 * time.Hour)}}
		return l
	}
	const chained, commuting = "CHAINED", "COMMUTING"
	for name, tc := range map[string]struct {
		line []landing // in the order of acceptance: a, b, c…
		want []string  // findings are of those
	}{
		"in order":             {[]landing{one(chained, 1, 1), one(chained, 2, 2), one(commuting, 3, 3)}, nil},
		"neighbours":           {[]landing{one(chained, 10, 2), one(chained, 9, 1)}, []string{"a"}},
		"commuting":            {[]landing{one(commuting, 12, 3), one(commuting, 10, 2), one(commuting, 9, 1)}, nil},
		"behind a commuting":   {[]landing{one(chained, 10, 2), one(commuting, 12, 3), one(commuting, 9, 1)}, []string{"a"}},
		"before two commuting": {[]landing{one(commuting, 12, 3), one(commuting, 9, 1), one(chained, 10, 2)}, []string{"a"}},
		"was first":            {[]landing{one(chained, 10, 1), one(chained, 9, 2)}, nil},
		"behind one in order":  {[]landing{one(chained, 10, 2), one(chained, 8, 3), one(chained, 9, 1)}, []string{"a"}},
		"behind who was first": {[]landing{one(chained, 10, 3), one(chained, 12, 1), one(chained, 9, 2)}, []string{"a"}},
		"who failed in flight": {[]landing{failed(one(chained, 10, 1)), one(chained, 9, 2)}, []string{"a"}},
		"failed, no neighbour": {
			[]landing{failed(one(chained, 12, 1)), one(chained, 8, 70), one(chained, 9, 2)}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range tc.line {
				tc.line[i].uid, tc.line[i].sequence = string(rune('a'+i)), int64(i)
			}
			slices.Reverse(tc.line) // as it is read, in no order
			p := pass{
				Audit:  &Audit{Commutes: func(typ string) bool { return typ == commuting }},
				landed: map[string][]landing{"q": tc.line},
			}
			p.order()
			found := map[string]string{}
			for _, f := range p.report.Findings {
				found[f.UID] = fmt.Sprint(f.Check, " ", f.Queue, ": ", f.Detail)
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, tc.want) {
				t.Errorf("found %v, want %v", found, tc.want)
			}
			for _, text := range found {
				if !strings.HasPrefix(text, "ORDER q: it was accepted before") {
					t.Error(text)
				}
			}
		})
	}
}
