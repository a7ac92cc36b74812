package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// TestFees: what others pay, what ours would pay, and what was spent.
func TestFees(t *testing.T) {
	t.Parallel()
	var look *fees.Look
	var failure error
	types := []fees.TypeFee{
		{Type: "NEW", Quote: fees.Quote{Fee: 240, PerWeight: 30, Weight: 8, Why: fees.Pool}},
		{Type: "MINT", Weight: 3, Quote: fees.Quote{Fee: 100}},
	}
	s := setup(t, func(o *Options) {
		o.BlockZkapps = 24
		o.Fees = func(context.Context) (*fees.Look, []fees.TypeFee, error) { return look, types, failure }
	})
	wants := func(pool, spent string) {
		t.Helper()
		got := s.ask("GET", "/fees", "").want(200).read()
		want := fmt.Sprintf(`{"pool":%s,"types":[{"type":"NEW","weight":null,"fee":"240","why":"POOL","feePerWeight":"30"},`+
			`{"type":"MINT","weight":3,"fee":"100","why":null,"feePerWeight":null}],"spent":%s}`, pool, spent)
		if got, wanted := fmt.Sprint(got), fmt.Sprint(decodeNumbers(t, []byte(want))); got != wanted {
			t.Errorf("the fees are\n%s, want\n%s", got, wanted)
		}
	}
	wants("null", "[]")
	look = &fees.Look{At: time.UnixMilli(0), Size: 40, Ranks: []uint64{9, 8, 7, 6, 5}}
	post(s, "q", "u")
	if err := s.senders.Register(t.Context(), "B62a", "http://w"); err != nil {
		t.Fatal(err)
	}
	x := s.bind()
	after := x.Clone()
	after.Attempts = []tx.Attempt{{
		Number: 1, Sender: x.Sender, Fee: 240, Quote: types[0].Quote, State: tx.Planned, StartedAt: time.Now(),
	}}
	c := &queues.Change{Before: x, After: after, Now: time.Now()}
	c.Remove = queues.Never
	if _, err := s.store.Advance(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	day := time.Now().UTC().Format(time.DateOnly)
	wants(`{"at":"1970-01-01T00:00:00.000Z","size":40,"capacity":24,"ranks":[{"blocks":1,"feePerWeight":"8"},{"blocks":2,"feePerWeight":"6"}]}`,
		fmt.Sprintf(`[{"day":%q,"sender":"B62a","queue":null,"fee":"240"},{"day":%[1]q,"sender":null,"queue":"q","fee":"240"}]`, day))
	// The attempt says what its fee was estimated from.
	a := s.ask("GET", "/transactions/u", "").want(200).read()["attempts"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(a["estimate"], a["weight"]); got != "map[fee:240 feePerWeight:30 weight:8 why:POOL] <nil>" {
		t.Errorf("the attempt was estimated from %s", got)
	}
	s.ask("GET", "/fees?day=today", "").wantProblem(400, codeBadRequest)
	failure = fmt.Errorf("market: %w", queues.ErrUnavailable)
	s.ask("GET", "/fees", "").wantProblem(503, codeUnavailable)
	failure = errors.New("damaged")
	s.ask("GET", "/fees", "").wantProblem(500, codeUnavailable)
}
