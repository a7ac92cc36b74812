package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// trace is what a step leaves in the record beside what the table shows: of each
// attempt its hashes, block, slots, error and data; and of the whole how it ended.
func trace(s *Step) string {
	if s.Txn == nil {
		return "nothing"
	}
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for i := range s.Txn.Attempts {
		a := &s.Txn.Attempts[i]
		say("%d %s/%s", a.Number, a.Hash, a.NodeHash)
		if a.Height != 0 || a.StateHash != "" || a.Confirmations != 0 {
			say("block %d %s %d", a.Height, a.StateHash, a.Confirmations)
		}
		if a.SentSlot != 0 {
			say("sent in %d", a.SentSlot)
		}
		if a.Error != nil {
			say("error %s", a.Error.Code)
		}
		if a.Data != nil {
			say("data %s", a.Data)
		}
	}
	t := s.Txn
	if t.Done != nil {
		say("done %s", t.Done)
	}
	if t.Callback != "" || t.CallbackTries != 0 {
		say("%s told %d times", t.Callback, t.CallbackTries)
	}
	if s.Aside.LandedWith != nil {
		say("landed with %d", *s.Aside.LandedWith)
	}
	if s.Aside.Person {
		say("for a person")
	}
	return strings.Join(words, "; ")
}

func node(hash string) func(*tx.Attempt)      { return func(a *tx.Attempt) { a.NodeHash = hash } }
func toldBefore(t *tx.Transaction)            { t.Callback, t.CallbackTries = tx.OnSuccess, 3 }
func answering(data string) func(*tx.Attempt) { return func(a *tx.Attempt) { a.Data = []byte(data) } }

// TestTrace: what is kept of attempts, and of the end.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, cases := range [][]sample{tracesOfLandings(), tracesOfSettlements(), tracesOfAnswers(), tracesOfSendings(),
		tracesOfPersons()} {
		for _, c := range cases {
			_, s := c.on(c.in)
			if got := trace(&s); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
			}
		}
	}
}

func tracesOfLandings() []sample {
	in := func(hash string, n uint32) change {
		return sees(tx.FateIncluded, 2, func(g *tx.Sighting) { g.Hash, g.Nonce = hash, n })
	}
	done := func(a ...func(*tx.Attempt)) *tx.Transaction {
		return txn(tx.PhaseDone, try(tx.Included, append([]func(*tx.Attempt){block}, a...)...), landedBy(1), toldBefore)
	}
	another := func(g *tx.Sighting) { g.StateHash = "3Nother" }
	return []sample{
		{"its hash and block", txn(tx.PhaseWatching, try(tx.Sent, failedBy("E")), toldBefore), decides(in("5J1", 7)),
			`1 5J1/5J1; block 199 3N199 2; done {"blockHeight":199,"stateHash":"3N199"}; ` +
				`on-success told 0 times; landed with 7`},
		{"the node's hash stays", txn(tx.PhaseWatching, try(tx.Sent, node("5Jn"))), decides(in("5J1", 7)),
			`1 5J1/5Jn; block 199 3N199 2; done {"blockHeight":199,"stateHash":"3N199"}; ` +
				`on-success told 0 times; landed with 7`},
		{"a hash that is news", txn(tx.PhaseWatching, try(tx.Sent, node("5Jn"))), decides(in("5Jnews", 7)),
			`1 5J1/5Jnews; block 199 3N199 2; done {"blockHeight":199,"stateHash":"3N199"}; ` +
				`on-success told 0 times; landed with 7`},
		{"with the nonce that its legacy worker used", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy(tx.CodeNonceIgnored))),
			decides(in("5J1", 9)),
			`1 5J1/5J1; block 199 3N199 2; error NONCE_IGNORED; ` +
				`done {"blockHeight":199,"stateHash":"3N199"}; on-success told 0 times; landed with 9`},
		{"with the nonce that its legacy worker was given", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy("E"))),
			decides(in("5J1", 7)),
			`1 5J1/5J1; block 199 3N199 2; done {"blockHeight":199,"stateHash":"3N199"}; ` +
				`on-success told 0 times; landed with 7`},
		{"who signs is not to blame", txn(tx.PhaseFailed, try(tx.Sent), try(tx.Sent, legacy)), decides(in("5J1", 9)),
			`1 5J1/5J1; block 199 3N199 2; 2 5J2/; done {"blockHeight":199,"stateHash":"3N199"}; ` +
				`on-success told 0 times; landed with 9`},
		{"landed once more: told once", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), orphan), decides(in("5J1", 7)),
			`1 5J1/5J1; block 199 3N199 2; done {"blockHeight":199,"stateHash":"3N199"}; landed with 7`},
		{"final, in the same block", done(), decides(sees(tx.FateIncluded, 8, func(g *tx.Sighting) { g.StateHash = "3N190" })),
			"1 5J1/; block 190 3N190 8; on-success told 3 times"},
		{"final, in another block", done(), decides(sees(tx.FateIncluded, 8, another)),
			`1 5J1/; block 199 3Nother 8; done {"blockHeight":199,"stateHash":"3Nother"}; on-success told 3 times`},
	}
}

func tracesOfSettlements() []sample {
	failed := sees(tx.FateFailed, 5, func(g *tx.Sighting) { g.Failure.Code = "Precondition" })
	of := func(n int, nonce uint32) change {
		return sees(tx.FateFailed, 5,
			func(g *tx.Sighting) { g.Failure.Code, g.Hash, g.Nonce = "Precondition", fmt.Sprint("5J", n), nonce })
	}
	return []sample{
		{"failed in a block", txn(tx.PhaseWatching, try(tx.Sent, failedBy("E"))), decides(failed),
			"1 5J1/5J1; block 199 3N199 5; error Precondition"},
		{"the node's hash stays", txn(tx.PhaseWatching, try(tx.Sent, node("5Jn"))), decides(failed),
			"1 5J1/5Jn; block 199 3N199 5; error Precondition"},
		{"one of two failed", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Sent)), decides(of(1, 7)),
			"1 5J1/5J1; block 199 3N199 5; error Precondition; 2 5J2/"},
		{"its legacy worker is to blame first", txn(tx.PhaseWatching, try(tx.Sent, legacy, failedBy(tx.CodeNonceIgnored))),
			decides(of(1, 9)),
			"1 5J1/5J1; block 199 3N199 5; error NONCE_IGNORED"},
		{"expired: in no block", txn(tx.PhaseWatching, try(tx.Sent, failedBy("E"))), decides(sees(tx.FateExpired, 5)),
			"1 5J1/; error E"},
		{"not landed after all: it was not the end", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), orphan, toldBefore),
			decides(sees(tx.FateExpired, 5)),
			"1 5J1/; block 190 3N190 2"},
	}
}

func tracesOfAnswers() []sample {
	called := txn(tx.PhaseWatching, try(tx.Unknown, legacy, func(a *tx.Attempt) { a.Hash = "" }))
	late := dispatched(1)
	late.Data = []byte("x")
	data := func(a Answer, d string) Answer { a.Data = []byte(d); return a }
	raised := func() *tx.Transaction {
		return txn(tx.PhaseWatching, try(tx.Sent, answering("proof")), try(tx.Planned, fee(150)))
	}
	ended := finished(1)
	ended.Data = []byte("x")
	return []sample{
		{"signed", txn(tx.PhaseDispatching, try(tx.Planned)), learns(data(signed(Prove, 1), "x")),
			"1 5Jnew/; data x"},
		{"sent by a legacy worker", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), learns(data(dispatched(1), "x")),
			"1 5Jlegacy/; data x"},
		{"sent by a legacy worker, which says it late", called, learns(late),
			"1 5Jlegacy/; data x"},
		{"finished", txn(tx.PhaseDispatching, try(tx.Planned)), learns(ended),
			`1 /; data x; done {"voted":true}; on-success told 0 times`},
		{"signed again: the same proof", raised(), learns(signed(Resign, 2)),
			"1 5J1/; data proof; 2 5Jnew/; data proof"},
		{"signed again, with other data", raised(), learns(data(signed(Resign, 2), "new")),
			"1 5J1/; data proof; 2 5Jnew/; data new"},
		{"proved afresh: no data, if its worker gives none", raised(), learns(signed(Prove, 2)),
			"1 5J1/; data proof; 2 5Jnew/"},
		{"lost, with a hash", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), learns(func() Answer {
			a := fault(answer(Dispatch, 1), FaultLost, tx.CodeLost)
			a.Hash = "5Jlost"
			return a
		}()),
			"1 5Jlost/; error LOST"},
	}
}

func tracesOfSendings() []sample {
	said := func(s Said) change { return knows(func(l *Local) { l.Said = s }) }
	slot := func(n uint32) func(*tx.Attempt) { return func(a *tx.Attempt) { a.SentSlot = n } }
	first := Said{Number: 1, State: tx.Sent, NodeHash: "5Jn", Slot: 302, Error: oops("E")}
	news := SendTold{Call: calling(Send, 1), Accepted: true, Hash: "5Jn", Slot: 302}
	turned := SendTold{Call: freshly(Send, 1), Refusal: refused("Bad", Refusal{}), Slot: 302}
	return []sample{
		{"what was said is noted", txn(tx.PhaseSent, try(tx.Signed)), decides(said(first)),
			"1 5J1/5Jn; sent in 302; error E"},
		{"the first slot and hash stay", txn(tx.PhaseSent, try(tx.Signed, node("5Jold"), slot(299))), decides(said(first)),
			"1 5J1/5Jold; sent in 299; error E"},
		{"of what is over, hash and slot", txn(tx.PhaseSent, try(tx.Replaced, over), try(tx.Signed)), decides(said(first)),
			"1 5J1/5Jn; sent in 302; 2 5J2/"},
		{"a hash that is news is stored at once", txn(tx.PhaseWatching, try(tx.Sent)), learns(news),
			"1 5J1/5Jn; sent in 302"},
		{"refused", txn(tx.PhaseSent, try(tx.Signed)), learns(turned),
			"1 5J1/; sent in 302; error Bad"},
		{"refused after it was sent", txn(tx.PhaseSent, try(tx.Signed, slot(303))), learns(turned),
			"1 5J1/; sent in 303; error Bad"},
	}
}

func tracesOfPersons() []sample {
	landed := orders(tx.Order{What: tx.OrderLanded, Hash: "5J1"})
	return []sample{
		{"it landed", txn(tx.PhaseUnresolved, try(tx.Unknown), try(tx.Unknown)), landed,
			`1 5J1/; 2 5J2/; done {"blockHeight":null,"stateHash":null,"hash":"5J1"}; on-success told 0 times; for a person`},
		{"it landed, with a hash that nobody knew", txn(tx.PhaseUnresolved, try(tx.Unknown, legacy, node("5Jn"))),
			orders(tx.Order{What: tx.OrderLanded, Hash: "5Jperson"}),
			`1 5J1/5Jperson; done {"blockHeight":null,"stateHash":null,"hash":"5Jperson"}; ` +
				`on-success told 0 times; for a person`},
		{"a cancel", txn(tx.PhaseWatching, try(tx.Sent)), orders(tx.Order{What: tx.OrderCancel}),
			"1 5J1/; for a person"},
	}
}

// TestErrors: what a person reads of an error, each amount and nonce in its place.
func TestErrors(t *testing.T) {
	t.Parallel()
	mina := func(n uint64) uint64 { return n * fees.NanoPerMina }
	rich := func(v *View) {
		v.Policy.Fee, v.Policy.FeeMax, v.Policy.FeeLimitSender, v.Policy.FeeLimit = mina(2), mina(9), mina(5), mina(50)
	}
	plan := func(changes ...change) func(*tx.Transaction) (*View, Step) {
		return decides(append([]change{asked(good()), rich}, changes...)...)
	}
	planned, raised := txn(tx.PhaseDispatching, try(tx.Planned)), txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned))
	costs := Denied{Why: Costly, Spent: mina(4), Left: time.Hour}
	all := costs
	all.Everybody = true
	failed := func(g *tx.Sighting) { g.Failure = tx.Failure{Code: "Predicate", Reasons: "Predicate, of account 1"} }
	archived := func(g *tx.Sighting) { failed(g); g.Archived = true }
	unsigned := answer(Resign, 2)
	wordless := unsigned
	wordless.Fault = FaultLost
	for name, c := range map[string]sample{
		"too little": {"", txn(tx.PhaseDispatching), plan(holds(7, mina(1))),
			"Insufficient_funds: B62a has 1 MINA to spend, the fee is 2"},
		"a stranger": {"", txn(tx.PhaseDispatching), plan(holds(9, mina(3))),
			"STOPPED_NONCE: the account's nonce on the chain is 9, ours is 7: somebody else uses it"},
		"behind": {"", txn(tx.PhaseDispatching), plan(holds(5, mina(3)), landedAt(6)),
			"NONCE_BEHIND: the chain is at nonce 5, and one of ours landed with 6"},
		"its limit": {"", planned, learns(costs, rich),
			"FEE_LIMIT: the sender may spend 5 MINA on fees in a day (UTC), and has spent 4 of it"},
		"everybody's": {"", planned, learns(all, rich),
			"FEE_LIMIT: all senders together may spend 50 MINA on fees in a day (UTC), and has spent 4 of it"},
		"in a block": {"", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateFailed, 5, failed)),
			"Predicate: failed in block 199: Predicate, of account 1"},
		"by the archive": {"", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateFailed, 5, archived)),
			"Predicate: failed in block 199: Predicate, of account 1, as only the archive says: verify that, then retry it"},
		"used nonce 9": {"", txn(tx.PhaseWatching, try(tx.Sent, legacy)),
			decides(sees(tx.FatePooled, 0, func(g *tx.Sighting) { g.Nonce = 9 })),
			"NONCE_IGNORED: the worker of B62a was given nonce 7 and used 9, in 5J1; have it use attempt.nonce"},
		"not signed":  {"", raised, learns(unsigned), "NOT_RAISED: the worker signed nothing"},
		"not raised":  {"", raised, learns(fault(unsigned, FaultError, "400")), "NOT_RAISED: 400: because"},
		"without one": {"", raised, learns(wordless), "NOT_RAISED: lost"},
		"no further": {"", raised, decides(sees(tx.FatePooled, 0), func(v *View) { v.Known = false }),
			"NOT_RAISED: no further attempt is made"},
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
	s := Decide(view(txn(tx.PhaseDispatching, try(tx.Planned)), knows(func(l *Local) { l.Legacy = true })))
	if a := s.Txn.Last(); !a.Legacy || a.ValidUntil != 0 {
		t.Errorf("its last slot is %d", a.ValidUntil)
	}
}

// TestRetries: as many as the worker says, else as the operator does.
func TestRetries(t *testing.T) {
	t.Parallel()
	for told, want := range map[RetriesTold]int{{Limit: 5, Known: true}: 5, {Limit: 0, Known: true}: 0, {Limit: 5}: 3,
		{Elsewhere: true}: 3} {
		if s := Learn(view(txn(tx.PhaseFailing, try(tx.Unknown))), told); *s.Local.Asked.Retries != want {
			t.Errorf("%+v: %d", told, *s.Local.Asked.Retries)
		}
	}
}
