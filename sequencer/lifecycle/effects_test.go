package lifecycle

import (
	"reflect"
	"testing"
	"time"
)

// TestEffects: what moves with a change, beside what the table has.
func TestEffects(t *testing.T) {
	t.Parallel()
	done := func(p ...part) *Transaction {
		return txn(PhaseDone, append([]part{try(Included, block), landedBy(1)}, p...)...)
	}
	gone := func(p Phase) *Transaction { return txn(p, try(Unknown, block, legacy, opened)) }
	watching := txn(PhaseWatching, try(Sent))
	with := &Aside{LandedWith: new(uint32(9))}
	kept := testPolicy().Retention
	for name, c := range map[string]struct {
		before, after *Transaction
		aside         *Aside
		want          Moves
	}{
		"nothing":                   {watching, watching, nil, Moves{Remove: Never}},
		"landed: it stands":         {watching, done(), with, Moves{Attempt: 1, Keep: true, Stands: payer, Nonce: 9, Remove: Never}},
		"watched on":                {done(), done(), nil, Moves{Keep: true, Remove: Never}},
		"orphaned: it stands still": {done(), done(orphan), nil, Moves{Keep: true, Remove: Never}},
		"final: it cannot fall":     {done(), done(final), nil, Moves{Falls: payer, Remove: kept}},
		"final before":              {done(final), done(final), nil, Moves{Remove: Never}},
		"without a block":           {txn(PhaseDispatching), txn(PhaseDone, final), nil, Moves{Remove: kept}},
		"what failed is kept":       {txn(PhaseFailing), txn(PhaseFailed), nil, Moves{Remove: Never}},
		"reopened":                  {done(orphan), txn(PhaseWaiting, try(Expired, block)), nil, Moves{Attempt: 1, Falls: payer, Remove: Never}},
		"its block is gone, and it may land again": {
			done(), gone(PhaseUnresolved), nil, Moves{Attempt: 1, Confirm: false, Keep: true, Remove: Never}},
		"and does not": {gone(PhaseUnresolved), txn(PhaseUnresolved, try(Expired, block, legacy)), nil,
			Moves{Attempt: 1, Falls: payer, Remove: Never}},
		"never in a block": {watching, txn(PhaseUnresolved, try(Sent)), nil, Moves{Keep: true, Remove: Never}},
		"in another phase it stands for nothing": {
			gone(PhaseWatching), gone(PhaseWatching), with, Moves{Remove: Never}},
		"DONE without a block: nothing stands": {watching, txn(PhaseDone, try(Sent)), with, Moves{Remove: Never}},
		"the end is told once":                 {txn(PhaseFailing), txn(PhaseFailed, toTell), nil, Moves{Tell: OnFailure, Remove: Never}},
		"and not again":                        {txn(PhaseFailed, toTell), txn(PhaseFailed, toTell), nil, Moves{Remove: Never}},
		"a plan opens nothing":                 {txn(PhaseDispatching), txn(PhaseDispatching, try(Prepared)), nil, Moves{Attempt: 1, Remove: Never}},
		"a new one is open":                    {txn(PhaseWatching), watching, nil, Moves{Attempt: 1, Confirm: true, InOrder: true, Remove: Never}},
		"one more is open": {txn(PhaseWatching, try(Sent), try(Prepared)), txn(PhaseWatching, try(Sent), try(Signed)), nil,
			Moves{Attempt: 2, Confirm: true, Remove: Never}},
		"open again, while DONE": {done(orphan, try(Refused, over)), done(orphan, try(Signed)), nil,
			Moves{Attempt: 2, Keep: true, Confirm: true, Remove: Never}},
		"found while it waits": {txn(PhaseWaiting), txn(PhaseWaiting, try(Signed)), nil, Moves{Attempt: 1, Remove: Never}},
	} {
		if c.aside == nil {
			c.aside = &Aside{}
		}
		if got := Effects(c.before, c.after, c.aside, testPolicy()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

func opened(a *Attempt)     { a.EndedAt = time.Time{} }
func toTell(t *Transaction) { t.Callback = OnFailure }

// TestTouched: an event names the latest attempt of which something has changed.
func TestTouched(t *testing.T) {
	t.Parallel()
	data := func(text string) func(*Attempt) { return func(a *Attempt) { a.Data = []byte(text) } }
	failed := func(code string) func(*Attempt) { return func(a *Attempt) { a.Error = oops(code) } }
	for name, c := range map[string]struct {
		was, is []part
		want    int
	}{
		"nothing":          {[]part{try(Sent, data("x"), failed("E"))}, []part{try(Sent, data("x"), failed("E"))}, 0},
		"none":             {nil, nil, 0},
		"the first":        {[]part{try(Sent), try(Sent)}, []part{try(Pooled), try(Sent)}, 1},
		"both":             {[]part{try(Sent), try(Sent)}, []part{try(Replaced), try(Included)}, 2},
		"a new one":        {[]part{try(Sent)}, []part{try(Sent), try(Prepared)}, 2},
		"one less":         {[]part{try(Sent), try(Prepared)}, []part{try(Sent)}, 0},
		"its data":         {[]part{try(Sent, data("x"))}, []part{try(Sent, data("y"))}, 1},
		"its first error":  {[]part{try(Sent)}, []part{try(Sent, failed("E"))}, 1},
		"no error, now":    {[]part{try(Sent, failed("E"))}, []part{try(Sent)}, 1},
		"another error":    {[]part{try(Sent, failed("E"))}, []part{try(Sent, failed("F"))}, 1},
		"anything of it":   {[]part{try(Sent, failed("E"), data("x"))}, []part{try(Sent, failed("E"), data("x"), fee(101))}, 1},
		"its data is none": {[]part{try(Sent, data("x"))}, []part{try(Sent)}, 1},
	} {
		if got := touched(txn(PhaseWatching, c.was...), txn(PhaseWatching, c.is...)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
