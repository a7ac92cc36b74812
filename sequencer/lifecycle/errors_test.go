package lifecycle

import (
	"testing"
	"time"
)

// TestErrors: what a person reads of an error, each amount and nonce in its place.
func TestErrors(t *testing.T) {
	t.Parallel()
	mina := func(n uint64) uint64 { return n * NanoPerMina }
	rich := func(v *View) {
		v.Policy.Fee, v.Policy.FeeMax, v.Policy.FeeLimitSender, v.Policy.FeeLimit = mina(2), mina(9), mina(5), mina(50)
	}
	plan := func(changes ...change) func(*Transaction) (*View, Step) {
		return decides(append([]change{asked(good()), rich}, changes...)...)
	}
	planned, raised := txn(PhaseDispatching, try(Prepared)), txn(PhaseWatching, try(Sent), try(Prepared))
	costs := Denied{Why: Costly, Spent: mina(4), Left: time.Hour}
	all := costs
	all.Everybody = true
	failed := func(g *Sighting) { g.Failure = Failure{Code: "Predicate", Reasons: "Predicate, of account 1"} }
	archived := func(g *Sighting) { failed(g); g.Archived = true }
	unsigned := answer(Resign, 2)
	wordless := unsigned
	wordless.Fault = FaultLost
	for name, c := range map[string]sample{
		"too little":     {"", txn(PhaseDispatching), plan(holds(7, mina(1))), "Insufficient_funds: B62a holds 1 MINA, the fee is 2"},
		"a stranger":     {"", txn(PhaseDispatching), plan(holds(9, mina(3))), "STOPPED_NONCE: the account's nonce on the chain is 9, ours is 7: somebody else uses it"},
		"behind":         {"", txn(PhaseDispatching), plan(holds(5, mina(3)), landedAt(6)), "NONCE_BEHIND: the chain is at nonce 5, and one of ours landed with 6"},
		"its limit":      {"", planned, learns(costs, rich), "FEE_LIMIT: the sender may spend 5 MINA on fees in a day (UTC), and has spent 4 of it"},
		"everybody's":    {"", planned, learns(all, rich), "FEE_LIMIT: all senders together may spend 50 MINA on fees in a day (UTC), and has spent 4 of it"},
		"in a block":     {"", txn(PhaseWatching, try(Sent)), decides(sees(FateFailed, 5, failed)), "Predicate: failed in block 199: Predicate, of account 1"},
		"by the archive": {"", txn(PhaseWatching, try(Sent)), decides(sees(FateFailed, 5, archived)), "Predicate: failed in block 199: Predicate, of account 1, as the archive alone says: retry it if that is so"},
		"used nonce 9": {"", txn(PhaseWatching, try(Sent, legacy)), decides(sees(FatePooled, 0, func(g *Sighting) { g.Nonce = 9 })),
			"NONCE_IGNORED: the worker of B62a was given nonce 7 and used 9, in 5J1; have it use attempt.nonce"},
		"not signed":  {"", raised, learns(unsigned), "NOT_RAISED: the worker signed nothing"},
		"not raised":  {"", raised, learns(fault(unsigned, FaultError, "400")), "NOT_RAISED: 400: because"},
		"without one": {"", raised, learns(wordless), "NOT_RAISED: lost"},
		"no further":  {"", raised, decides(sees(FatePooled, 0), func(v *View) { v.Known = false }), "NOT_RAISED: no further attempt is made"},
	} {
		got := ""
		switch _, s := c.on(c.in); {
		case s.Txn == nil:
		case s.Txn.Error != nil:
			got = s.Txn.Error.Error()
		case s.Txn.Last().Error != nil:
			got = s.Txn.Last().Error.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestMarked: what a legacy worker sends may land whenever it likes.
func TestMarked(t *testing.T) {
	t.Parallel()
	s := Decide(view(txn(PhaseDispatching, try(Prepared)), knows(func(l *Local) { l.Legacy = true })))
	if a := s.Txn.Last(); !a.Legacy || a.ValidUntil != 0 {
		t.Errorf("its last slot is %d", a.ValidUntil)
	}
}

// TestRetries: as many as the worker says, else as the operator does.
func TestRetries(t *testing.T) {
	t.Parallel()
	for told, want := range map[RetriesTold]int{{Limit: 5, Known: true}: 5, {Limit: 0, Known: true}: 0, {Limit: 5}: 3} {
		if s := Learn(view(txn(PhaseFailing)), told); *s.Local.Asked.Retries != want {
			t.Errorf("%+v: %d", told, *s.Local.Asked.Retries)
		}
	}
}
