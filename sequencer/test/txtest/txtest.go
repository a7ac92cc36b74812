// Package txtest makes the records that the tests of decisions and of explanations are about.
package txtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// Now and Clock are the two times of all views: different, so that one is not taken for the other.
var (
	Now   = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	Clock = Now.Add(7 * time.Second)
)

// Payer is the sender of all records, and Nonce where its attempts stand.
const (
	Payer = "B62a"
	Nonce = 7
)

// A Part is something of a record.
type Part func(*tx.Transaction)

// Txn is a record in a phase, made of its parts.
func Txn(p tx.Phase, parts ...Part) *tx.Transaction {
	t := &tx.Transaction{
		UID: "u", Queue: "q", Type: "MINT", Phase: p, Revision: 9, Claim: "me:1", Sender: Payer,
		ReceivedAt: Now.Add(-time.Hour), ChangedAt: Now.Add(-time.Minute),
	}
	for _, p := range parts {
		p(t)
	}
	return t
}

// Try is a further attempt at the common nonce, at the first fee.
func Try(o tx.AttemptState, changes ...func(*tx.Attempt)) Part {
	return func(t *tx.Transaction) {
		n := len(t.Attempts) + 1
		a := tx.Attempt{
			Number: n, Sender: Payer, Nonce: Nonce, Fee: 100, ValidUntil: 344, State: o, Slot: 298,
			StartedAt: Now.Add(-6 * time.Minute),
		}
		if !o.Unmade() && o != tx.Called {
			a.Hash = fmt.Sprint("5J", n)
		}
		for _, c := range changes {
			c(&a)
		}
		t.Attempts = append(t.Attempts, a)
	}
}

// Over: its fate is told. What was planned is dropped then, and what was out followed no longer.
func Over(a *tx.Attempt) {
	at := Now.Add(-time.Minute)
	switch {
	case a.Pending(), a.State == tx.Called:
		a.Become(tx.Dropped, at)
	case a.Open():
		a.Become(tx.Abandoned, at)
	}
	a.EndedAt = at
}

// Legacy: its worker sends by itself, and was called.
func Legacy(a *tx.Attempt) {
	if a.Legacy, a.ValidUntil = true, 0; a.State == tx.Planned {
		a.State = tx.Called
	}
}

// FailedBy: that was said of it.
func FailedBy(code string) func(*tx.Attempt) {
	return func(a *tx.Attempt) {
		a.Blame(tx.CauseOf(Oops(code)), Oops(code))
		switch {
		case code == tx.CodeNonceIgnored:
			a.Cause = tx.CauseNonce
		case a.Pending():
			a.Cause = tx.CauseLost
		case a.State != tx.Dropped:
		case code == tx.CodeProvedAhead:
			a.State, a.Cause = tx.Proved, tx.CauseAhead
		case code == tx.CodeRepriced:
			a.State, a.Cause = tx.Proved, tx.CauseRepriced
		case code == tx.CodeHeld:
			a.Cause = tx.CauseHeld
		case code == tx.CodeExpired:
			a.Cause = tx.CauseOutdated
		default:
			a.Cause = tx.CauseError
		}
	}
}

// Block: it is over, and was in a block.
func Block(a *tx.Attempt) { Over(a); a.Height, a.StateHash, a.Confirmations = 190, "3N190", 2 }

// Stalled: it was sent while the network took nothing.
func Stalled(a *tx.Attempt) { FailedBy("After_slot_tx_end")(a) }

// TurnedAway: something in front of the nodes did not let it pass.
func TurnedAway(a *tx.Attempt) { FailedBy(tx.CodeGateway)(a) }

// At has an attempt stand at another nonce.
func At(n uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Nonce = n } }

// By has another sender make an attempt.
func By(who string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Sender = who } }

// Fee has an attempt pay otherwise.
func Fee(n uint64) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Fee = n } }

// Until has an attempt be valid until another slot.
func Until(slot uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.ValidUntil = slot } }

// BegunAgo has an attempt begin so long ago.
func BegunAgo(d time.Duration) func(*tx.Attempt) {
	return func(a *tx.Attempt) { a.StartedAt = Now.Add(-d) }
}

// Unplaced: its nonce is a supposed one.
func Unplaced(a *tx.Attempt) {
	if a.State == tx.Planned {
		a.State = tx.Unplaced
	}
}

// Shallow: it failed in a block, or its nonce was spent in one, that has not settled yet.
func Shallow(a *tx.Attempt) {
	if a.State = a.State.Shallow(); !a.Shallow() {
		a.State = tx.ReplacedShallow
	}
	Over(a)
}

// Early is what was proved before its turn.
func Early(n uint32) Part {
	return Try(tx.Planned, At(n), Over, Unplaced, FailedBy(tx.CodeProvedAhead))
}

// Losses: so many since the last answer, of which the last was of the attempt that is planned.
func Losses(n int) Part {
	return func(t *tx.Transaction) {
		if t.Losses = n; n > 0 && t.Last() != nil && t.Last().Pending() {
			FailedBy(tx.CodeLost)(t.Last())
		}
	}
}

// Retried has a record have used so many retries.
func Retried(n int) Part { return func(t *tx.Transaction) { t.Retries = n } }

// Deferrals has a record be put off so often.
func Deferrals(n int) Part { return func(t *tx.Transaction) { t.Deferred = n } }

// Ending has a record be on its way to an end.
func Ending(p tx.Phase) Part { return func(t *tx.Transaction) { t.Ending = p } }

// LandedBy has an attempt be the one that took effect.
func LandedBy(n int) Part { return func(t *tx.Transaction) { t.Landed = n } }

// Due has a record be due so long from now.
func Due(in time.Duration) Part { return func(t *tx.Transaction) { t.DueAt = Now.Add(in) } }

// Expires has a record expire so long from now.
func Expires(in time.Duration) Part { return func(t *tx.Transaction) { t.ExpiresAt = Now.Add(in) } }

// Doubts has the worker of a sender call a record hopeless.
func Doubts(who string) Part { return func(t *tx.Transaction) { t.Doubted = who } }

// Wrong: that is the error of a record.
func Wrong(code string) Part { return func(t *tx.Transaction) { t.Error = Oops(code) } }

// Cancelling: a person took it back.
func Cancelling(t *tx.Transaction) { t.CancelRequested = true }

// Orphan: the block that it was DONE by is gone.
func Orphan(t *tx.Transaction) { t.Reopened = true }

// Final: it is watched no longer.
func Final(t *tx.Transaction) { t.FinalAt = Now.Add(-time.Minute) }

// Oops is an error with a code.
func Oops(code string) *tx.Error { return &tx.Error{Code: code, Message: "because"} }

// Minutes are so many.
func Minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// Shown is what all nodes say, of the hash of t's latest attempt.
func Shown(t *tx.Transaction, f tx.Fate, depth int) tx.Sighting {
	g := tx.Sighting{Fate: f, Agreed: true, Depth: depth, Nonce: Nonce, Height: 199, StateHash: "3N199", TipSlot: 300}
	if a := t.Last(); a != nil && f != tx.FateDisplaced && f != tx.FateExpired && f != tx.FateAbsent {
		g.Hash = a.KnownHash()
	}
	return g
}

// Batch is a record for a ledger.
func Batch(p tx.Phase, parts ...Part) *tx.Transaction {
	return Txn(p, append([]Part{func(t *tx.Transaction) {
		t.Type, t.Ledger, t.BatchID, t.Sender = "SUBMIT_BATCH", "saw", "b1", "saw/1"
	}}, parts...)...)
}

// Post is an attempt of a batch.
func Post(o tx.AttemptState, changes ...func(*tx.Attempt)) Part {
	return func(t *tx.Transaction) {
		a := tx.Attempt{Number: len(t.Attempts) + 1, Sender: "saw/1", Hash: "b1", State: o, StartedAt: Now.Add(-time.Minute)}
		for _, c := range changes {
			c(&a)
		}
		t.Attempts = append(t.Attempts, a)
	}
}

// Pick is one of several.
func Pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// Outcomes are what an attempt may come to.
var Outcomes = []tx.AttemptState{tx.Planned, tx.Signed, tx.Sent, tx.Pooled, tx.Included, tx.FailedIn, tx.Expired,
	tx.Replaced, tx.Refused, tx.Unknown}

// Scattered is a record of up to four attempts, put together from parts whether a life leads to it or not.
func Scattered(r *rand.Rand) *tx.Transaction {
	p := Pick(r, tx.Phases...)
	t := Txn(p, Losses(r.IntN(4)), Deferrals(r.IntN(3)), Retried(Pick(r, 0, 1, 3, 1<<40)))
	t.CancelRequested, t.Error = r.IntN(4) == 0, Pick(r, nil, Oops("400"), Oops(tx.CodeOutcomeUnknown))
	t.DueAt = Pick(r, time.Time{}, Now.Add(time.Hour))
	for range r.IntN(4) {
		Try(Pick(r, Outcomes...), Fee(Pick[uint64](r, 0, 100, 300, 1<<63)))(t)
		a := t.Last()
		a.Quote = Pick(r, fees.Quote{}, fees.Quote{Fee: 100, Weight: 5, Why: fees.Pool})
		if a.Legacy = r.IntN(4) == 0; a.Legacy {
			Legacy(a)
		}
		if a.State == tx.Planned && r.IntN(2) == 0 || a.Over() {
			Over(a)
		}
		if a.Over() {
			a.Nonce = Pick[uint32](r, 6, 7, 8)
			if a.State == tx.FailedIn && (p.Bound() || p == tx.PhaseDone) && r.IntN(2) == 0 {
				a.State = tx.FailedShallow
			}
		}
	}
	switch {
	case p == tx.PhaseSent || p == tx.PhaseWatching:
		if !t.Open() {
			Try(Pick(r, tx.Signed, tx.Sent, tx.Pooled, tx.Unknown))(t)
		}
		if p == tx.PhaseWatching {
			t.Ending = Pick(r, "", "", tx.PhaseFailed, tx.PhaseUnresolved, tx.PhaseDone)
		}
	case p == tx.PhaseDone && len(t.Attempts) > 0 && r.IntN(4) > 0:
		t.Landed = 1 + r.IntN(len(t.Attempts))
		a := t.Attempt(t.Landed)
		a.State = tx.Included
		Block(a)
		a.Nonce = Nonce
		t.Reopened, t.FinalAt = r.IntN(2) == 0, Pick(r, time.Time{}, time.Time{}, Now)
		if !t.FinalAt.IsZero() {
			t.Reopened = false
		}
	}
	return t
}

// Disagreed: not every node shows it.
func Disagreed(g *tx.Sighting) { g.Agreed = false }

// Sighted is any sighting that a tracker may give of a watch.
func Sighted(r *rand.Rand, w *tx.Watch) tx.Sighting {
	fates := []tx.Fate{tx.FateUnknown, tx.FateAbsent, tx.FatePooled, tx.FateIncluded, tx.FateFailed, tx.FateDisplaced,
		tx.FateExpired}
	g := tx.Sighting{Fate: fates[r.IntN(len(fates))], Nonce: w.Nonce, Agreed: r.IntN(4) > 0, Height: 190,
		StateHash: "3N190"}
	if g.Fate == tx.FateExpired && w.ValidUntil == 0 {
		g.Fate = tx.FateAbsent
	}
	if g.Agreed {
		g.Depth = r.IntN(11)
		g.AccountNext = w.Nonce + uint32(r.IntN(2))
	}
	switch g.Fate {
	case tx.FateUnknown:
		g.Pruned = r.IntN(2) == 0
		g.Sought = g.Pruned && r.IntN(2) == 0
		g.Agreed, g.Depth = false, 0
	case tx.FatePooled, tx.FateIncluded, tx.FateFailed:
		g.Hash = "5Jnews"
		if len(w.Hashes) > 0 && r.IntN(5) > 0 {
			g.Hash = w.Hashes[r.IntN(len(w.Hashes))]
		}
		if w.Legacy && !w.Found && r.IntN(4) == 0 {
			g.Nonce++
		}
		g.Archived = g.Agreed && g.Fate != tx.FatePooled && r.IntN(8) == 0
		g.Failure = tx.Failure{Code: "Precondition", Reasons: "of account 1", Permanent: r.IntN(3) == 0}
	}
	return g
}

// Declared are the values of all constants of a type in a file of the package under test: what is
// added there has to come about in it.
func Declared(t *testing.T, file, typ string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, is := n.(*ast.ValueSpec); is {
			if name, is := s.Type.(*ast.Ident); is && name.Name == typ && len(s.Values) == 1 {
				if value, is := s.Values[0].(*ast.BasicLit); is {
					text, err := strconv.Unquote(value.Value)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, text)
				}
			}
		}
		return true
	})
	if len(all) == 0 {
		t.Fatalf("no %s in %s", typ, file)
	}
	return all
}
