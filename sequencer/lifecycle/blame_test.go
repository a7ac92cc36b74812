package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestSignedAgain: the proof of what expired while nothing passed is good for the next attempt, if
// that has its sender and nonce, and was to be made upon the same.
func TestSignedAgain(t *testing.T) {
	t.Parallel()
	upon := func(what string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Base = what } }
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want int
	}{
		"the network took nothing":        {txn(tx.PhaseDispatching, try(tx.Expired, over, stalled), try(tx.Planned)), 1},
		"a gateway turned it away":        {txn(tx.PhaseDispatching, try(tx.Expired, over, turnedAway), try(tx.Planned)), 1},
		"it expired in the pool":          {txn(tx.PhaseDispatching, try(tx.Expired, over), try(tx.Planned)), 0},
		"it expired, and something else":  {txn(tx.PhaseDispatching, try(tx.Expired, over, failedBy("E")), try(tx.Planned)), 0},
		"it was refused":                  {txn(tx.PhaseDispatching, try(tx.Refused, over, stalled), try(tx.Planned)), 0},
		"at another nonce":                {txn(tx.PhaseDispatching, try(tx.Expired, over, stalled), try(tx.Planned, at(8))), 0},
		"by another sender":               {txn(tx.PhaseDispatching, try(tx.Expired, over, stalled), try(tx.Planned, by("B62b"))), 0},
		"made upon what is there no more": {txn(tx.PhaseDispatching, try(tx.Expired, over, stalled, upon("5J9")), try(tx.Planned)), 0},
	} {
		v, got := view(c.in), 0
		if was := v.unsent(c.in.Last()); was != nil {
			got = was.Number
		}
		if got != c.want {
			t.Errorf("%s: the proof of %d, want %d", name, got, c.want)
		}
	}
}

// TestDoubts: at which count another one is asked, and in which words the first is told to rest.
func TestDoubts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, before int
		asked         bool
	}{{0, 9, false}, {1, 0, false}, {1, 1, true}, {3, 2, false}, {3, 3, true}} {
		v := view(txn(tx.PhaseDispatching, try(tx.Planned)), func(v *View) { v.Policy.UnresolvedLimit = c.limit })
		s := Learn(v, ill(c.before, true))
		if asked := s.Txn.Doubted == payer; asked != c.asked {
			t.Errorf("after %d of %d: asked %v", c.before, c.limit, asked)
		}
		if !c.asked {
			continue
		}
		want := fmt.Sprintf("its worker calls %d transactions in a row hopeless; another sender is asked about u", c.before+1)
		if got := s.Aside.Rest.Detail; got != want {
			t.Errorf("it rests for %q, want %q", got, want)
		}
	}
}

// TestBarred: only what a gateway turned away, while others passed since this process sent it first,
// ends with its words.
func TestBarred(t *testing.T) {
	t.Parallel()
	sentAt := clock.Add(-time.Hour)
	for name, c := range map[string]struct {
		a           func(*tx.Attempt)
		sent, other time.Time
		want        string
	}{
		"others passed since": {turnedAway, sentAt, clock,
			"Gateway: no node was seen to take it, while they took others: because"},
		"others passed before":      {turnedAway, sentAt, sentAt.Add(-time.Second), ""},
		"none passed":               {turnedAway, sentAt, time.Time{}, ""},
		"another process sent it":   {turnedAway, time.Time{}, clock, ""},
		"no answer, others passed":  {func(a *tx.Attempt) { a.Error = oops(tx.CodeNoAnswer) }, sentAt, clock, ""},
		"the network takes nothing": {stalled, sentAt, clock, ""},
	} {
		v := view(txn(tx.PhaseWatching, try(tx.Unknown, c.a)), sees(tx.FateExpired, 5),
			func(v *View) { v.Local.FirstSent, v.LastAccepted = c.sent, c.other })
		s, got := Decide(v), ""
		if s.Txn.Phase == tx.PhaseFailed {
			got = s.Txn.Error.Code + ": " + s.Txn.Error.Message
		}
		if got != c.want {
			t.Errorf("%s: %s %q, want %q", name, s.Txn.Phase, got, c.want)
		}
	}
}

// TestNewlyShown: only of what may have come to no node it is news that one shows it.
func TestNewlyShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		want int
	}{
		"turned away":               {txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)), 1},
		"by its hash":               {txn(tx.PhaseWatching, try(tx.Sent), try(tx.Unknown, turnedAway)), 0},
		"a node took it":            {txn(tx.PhaseWatching, try(tx.Sent, turnedAway)), 0},
		"nothing was said":          {txn(tx.PhaseWatching, try(tx.Unknown)), 0},
		"a worker sends by itself":  {txn(tx.PhaseWatching, try(tx.Unknown, legacy, turnedAway)), 0},
		"another one of two":        {txn(tx.PhaseWatching, try(tx.Unknown, turnedAway), try(tx.Unknown, turnedAway)), 1},
		"it was sent, and has news": {txn(tx.PhaseWatching, try(tx.Sent, stalled)), 0},
	} {
		if got := c.in.Shown("5J1"); got != c.in.Attempt(c.want) {
			t.Errorf("%s: %+v, want number %d", name, got, c.want)
		}
	}
	s := Decide(view(txn(tx.PhaseWatching, try(tx.Unknown, turnedAway)), sees(tx.FatePooled, 0)))
	if a := s.Txn.Last(); a.State != tx.Pooled || a.Stalled() || a.Error != nil {
		t.Errorf("shown, and what was said before still counts: %+v", a)
	}
}

// TestHalted: while the network takes nothing, and something is offered to it, nothing else is begun, and
// what is offered goes on: it is signed again.
func TestHalted(t *testing.T) {
	t.Parallel()
	since := func(v *View) { v.Halted = v.Clock.Add(-time.Hour) }
	s := Decide(view(txn(tx.PhaseDispatching), asked(good()), holds(7, 100), since))
	const want = "the network accepts no transactions: a node said so at 09:00 UTC; one is sent again and again to " +
		"see when that ends, and nothing else is proved before"
	if s.Txn == nil || s.Txn.Phase != tx.PhaseWaiting || s.Txn.Retries != 0 || s.Txn.Error.Message != want {
		t.Errorf("a fresh one: %+v", s.Txn)
	}
	for name, of := range map[string]*tx.Transaction{
		"what is offered, and has run out": txn(tx.PhaseDispatching, try(tx.Expired, over, stalled)),
		"what may land":                    txn(tx.PhaseDispatching, try(tx.Unknown)),
		"what failed early in a block":     txn(tx.PhaseDispatching, try(tx.FailedIn, shallow)),
	} {
		s := Decide(view(of, asked(&Sender{Account: payer, Next: new(uint32(8)), Greeted: true}), holds(8, 100), since))
		if s.Txn == nil || s.Txn.Phase != tx.PhaseDispatching {
			t.Errorf("%s does not go on: %+v", name, s.Txn)
		}
	}
}
