package lifecycle

import (
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A row is one line of the state table; its cases are what it says, and where it stops.
type row struct {
	name  string
	cases []sample
}

// A sample is a record, what happens, and what follows of it.
type sample struct {
	name string
	in   *tx.Transaction
	on   func(*tx.Transaction) (*View, Step)
	want string
}

// decides has the next step be decided on.
func decides(changes ...change) func(*tx.Transaction) (*View, Step) {
	return func(t *tx.Transaction) (*View, Step) {
		v := view(t, changes...)
		return v, Decide(v)
	}
}

// learns has a result come.
func learns(r Result, changes ...change) func(*tx.Transaction) (*View, Step) {
	return func(t *tx.Transaction) (*View, Step) {
		v := view(t, changes...)
		if s, is := r.(SendTold); is && s.Call.Fresh {
			v.Local.Unsent = s.Call.Number // else it is no first sending
		}
		return v, Learn(v, r)
	}
}

// orders has a person say something.
func orders(o tx.Order, changes ...change) func(*tx.Transaction) (*View, Step) {
	return func(t *tx.Transaction) (*View, Step) {
		v := view(t, changes...)
		s, err := Ask(v, o)
		if err != nil {
			s.Reason = Reason(err.Error())
		}
		return v, s
	}
}

// TestTable goes through the state table, row by row.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]row{
		queueRows(), workerRows(), errorRows(), awayRows(), chainRows(), settledRows(), retryRows(), personRows(), doneRows(),
		rareDispatchRows(), rareAnswerRows(), rareSentRows(), strayRows(), rareChainRows(), rareRetryRows(), rareDoneRows(),
		deadlineRows(), batchRows(), trainRows(), shallowRows(),
	} {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				for _, c := range r.cases {
					v, s := c.on(c.in)
					if got := told(v, s); got != c.want {
						t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
					}
				}
			})
		}
	}
}

// signed is a two-phase worker's answer for attempt n.
func signed(k Kind, n int) Answer {
	a := answer(k, n)
	a.Hash, a.Signed = "5Jnew", []byte("bytes")
	return a
}

// unseen: no node shows any of it, and its nonce is unspent.
func unseen(v *View) { sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.AccountNext = 7 })(v) }

func finished(n int) Answer {
	a := answer(Prove, n)
	a.Done = []byte(`{"voted":true}`)
	return a
}

func dispatched(n int) Answer {
	a := answer(Dispatch, n)
	a.Hash = "5Jlegacy"
	return a
}

// refusedBy is a legacy worker's answer that tells of a node's refusal.
func refusedBy(a Answer) Answer {
	a = fault(a, FaultError, "20203")
	a.Refused = true
	return a
}

// queueRows are of how it begins, and of how it ends well.
func queueRows() []row {
	next := func(n *uint32) *Sender { s := good(); s.Next = n; return s }
	seen := good()
	seen.Seen = seen.Next
	return []row{
		{"WAITING, first of its queue", []sample{
			{"nothing is decided here: a bind moves it on", txn(tx.PhaseWaiting), decides(), "waiting"},
			{"bound: its sender is looked at", txn(tx.PhaseDispatching), decides(), "planning; ask-sender"},
			{"its worker is greeted", txn(tx.PhaseDispatching), decides(asked(&Sender{})), "planning; ask-health"},
			{"the chain is looked at", txn(tx.PhaseDispatching),
				decides(asked(good()), func(v *View) { v.Tip.Fresh = false }),
				"planning; ask-chain"},
			{"the account is looked at", txn(tx.PhaseDispatching), decides(asked(good())), "planning; ask-account"},
			{"unless it was a moment ago", txn(tx.PhaseDispatching), decides(asked(seen)),
				"planning; DISPATCHING, BLOCKED; 1 planned 7@100"},
			{"at the next nonce, which the chain agrees with", txn(tx.PhaseDispatching),
				decides(asked(good()), holds(7, 100)),
				"planning; DISPATCHING, BLOCKED; 1 planned 7@100"},
			{"at the chain's nonce if none is known, and none of ours stands above", txn(tx.PhaseDispatching),
				decides(asked(next(nil)), holds(9, 100), landedAt(8)),
				"planning; DISPATCHING, BLOCKED; 1 planned 9@100; next nonce 9"},
			{"planned with its bind: no loss", txn(tx.PhaseDispatching, try(tx.Planned)),
				decides(asked(good()), knows(func(l *Local) { l.Own = ownByBind })), "proving; prove 1"},
			{"a process that ends begins nothing", txn(tx.PhaseDispatching), decides(func(v *View) { v.Draining = true }),
				"draining"},
		}},
		{"an attempt succeeded CONFIRMATIONS deep", []sample{
			{"while watching", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
			{"not deep enough", txn(tx.PhaseWatching, try(tx.Sent)), decides(sees(tx.FateIncluded, 1)), "block"},
			{"not agreed", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateIncluded, 9, func(g *tx.Sighting) { g.Agreed = false })),
				"block"},
			{"before the first look was stored", txn(tx.PhaseSent, try(tx.Signed)), decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
			{"an earlier one, while the next is planned",
				txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, fee(150)), retried(1), wrong("400")),
				decides(sees(tx.FateIncluded, 2, func(g *tx.Sighting) { g.Hash = "5J1" })),
				"landed; DONE, FREE; 1 included 7@100; 2 dropped 7@150; retries 1; landed 1; " +
					"B62a from nonce 8; tell on-success"},
			{"what shares its nonce is replaced", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Sent, fee(150)), cancelling),
				decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 replaced 7@100; 2 included 7@150; landed 2; cancel asked; " +
					"B62a from nonce 8; tell on-success"},
			{"by a hash that is news: the latest of what is open", txn(tx.PhaseWatching, try(tx.Sent), try(tx.Sent, fee(150))),
				decides(sees(tx.FateIncluded, 2, func(g *tx.Sighting) { g.Hash = "5Jnews" })),
				"landed; DONE, FREE; 1 replaced 7@100; 2 included 7@150; landed 2; B62a from nonce 8; " +
					"tell on-success"},
			{"while it waits for its next try", txn(tx.PhaseDelayed, try(tx.Unknown), due(minutes(1))),
				decides(sees(tx.FateIncluded, 2)),
				"landed; DONE, FREE; 1 included 7@100; landed 1; B62a from nonce 8; tell on-success"},
			{"told by the archive: the sender's nonce is asked for", txn(tx.PhaseWatching, try(tx.Sent)),
				decides(sees(tx.FateIncluded, 9, func(g *tx.Sighting) { g.Archived = true })),
				"landed; DONE, FREE; 1 included 7@100; landed 1; ask nonce; tell on-success"},
			{"not while its legacy worker has still to answer", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				decides(sees(tx.FateIncluded, 2), knows(func(l *Local) { l.Marked = 1 })), "proving; dispatch 1"},
		}},
	}
}

// workerRows are of what a worker answers, and the nodes to the first sending.
func workerRows() []row {
	return []row{
		{"DISPATCHING: the signed command is stored, or a legacy worker sent it", []sample{
			{"signed", txn(tx.PhaseDispatching, try(tx.Planned), deferrals(2)), learns(signed(Prove, 1)),
				"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
			{"and sent from then on", txn(tx.PhaseSent, try(tx.Signed)), decides(knows(func(l *Local) { l.Unsent = 1 })),
				"sending; send 1"},
			{"once replicas have it", txn(tx.PhaseSent, try(tx.Signed)),
				decides(knows(func(l *Local) { l.Unsent = 1 }), func(v *View) { v.Replicas = true }), "confirming; confirm 1"},
			{"no prove call: a legacy worker, and open from the mark on", txn(tx.PhaseDispatching, try(tx.Planned)),
				decides(knows(func(l *Local) { l.Legacy = true })),
				"proving; DISPATCHING, BLOCKED; 1 legacy called 7@100; confirm"},
			{"a legacy worker sent it", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), learns(dispatched(1)),
				"answered; REVISION, INCLUSION; 1 legacy sent 7@100"},
			{"its answer is unknown", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				learns(fault(answer(Dispatch, 1), FaultSent, "500")),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 500"},
		}},
		{"REVISION, INCLUSION: every node refused its first sending", []sample{
			{"mendable", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_proof", Refusal{})}, unseen),
				"answered; RETRY, RETRY; 1 refused 7@100; error Invalid_proof"},
			{"permanent", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Bad", Refusal{Permanent: true})}, unseen),
				"answered; UNRESOLVED, FREE; 1 refused 7@100; error Bad; drop bytes; trusts; tell on-failure"},
			{"permanent, and an earlier one open", txn(tx.PhaseSent, try(tx.Unknown), try(tx.Signed, fee(150))),
				learns(SendTold{Call: freshly(Send, 2), Refusal: refused("Bad", Refusal{Permanent: true})}),
				"answered; REVISION, WAITING_INCLUSION; 1 unknown 7@100; 2 refused 7@150; " +
					"to end UNRESOLVED; error Bad"},
			{"below what nodes take, and it may pay no more: used up", txn(tx.PhaseSent, try(tx.Signed, fee(300))),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Insufficient_fee", Refusal{Cheap: true})}, unseen),
				"used-up; FAILED, FREE; 1 refused 7@300; error Insufficient_fee; drop bytes; trusts; tell on-failure"},
			{"for something else, and it may pay no more", txn(tx.PhaseSent, try(tx.Signed, fee(300))),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_proof", Refusal{})}, unseen),
				"answered; RETRY, RETRY; 1 refused 7@300; error Invalid_proof"},
			{"below what nodes take, and it may pay more", txn(tx.PhaseSent, try(tx.Signed, fee(299))),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Insufficient_fee", Refusal{Cheap: true})}, unseen),
				"answered; RETRY, RETRY; 1 refused 7@299; error Insufficient_fee"},
			{"the account is broke: back, its sender rests", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1),
					Refusal: refused("Insufficient_funds", Refusal{Payers: true, Broke: true})}, unseen),
				"deferred; WAITING, FREE; 1 refused 7@100; deferred 1; error Insufficient_funds; rest LOW_BALANCE 10m0s"},
			{"for the payer's key: back, its sender rests", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1),
					Refusal: refused("Invalid_signature", Refusal{Payers: true})}, unseen),
				"deferred; WAITING, FREE; 1 refused 7@100; deferred 1; error Invalid_signature; rest RESTED 10m0s"},
			{"for the payer's key, at a later sending: it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: calling(Send, 1), Refusal: refused("Invalid_signature", Refusal{Payers: true})}),
				"answered; RETRY, RETRY; 1 unknown 7@100; error Invalid_signature; rest RESTED 10m0s"},
			{"another process has had the claim meanwhile: it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				func(t *tx.Transaction) (*View, Step) {
					v := view(t)
					return v, Learn(v, SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_proof", Refusal{})})
				}, "answered; RETRY, RETRY; 1 unknown 7@100; error Invalid_proof"},
			{"at a later sending it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: calling(Send, 1), Refusal: refused("Invalid_proof", Refusal{})}),
				"answered; RETRY, RETRY; 1 unknown 7@100; error Invalid_proof"},
			{"a node shows it all the same: it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Bad", Refusal{Permanent: true})}, sees(tx.FatePooled, 0)),
				"answered; REVISION, WAITING_INCLUSION; 1 unknown 7@100; to end UNRESOLVED; error Bad"},
			{"its nonce is spent: it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_proof", Refusal{})},
					sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.AccountNext = 8 })),
				"answered; RETRY, RETRY; 1 unknown 7@100; error Invalid_proof"},
			{"too few nodes can be asked: it stays open", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_proof", Refusal{})}),
				"answered; RETRY, RETRY; 1 unknown 7@100; error Invalid_proof"},
			{"what a node took, and told the hash of, stays so", txn(tx.PhaseSent, try(tx.Signed)),
				func(t *tx.Transaction) (*View, Step) {
					v := view(t, knows(func(l *Local) { l.Unsent = 1 }))
					for _, r := range []SendTold{
						{Call: freshly(Send, 1), Accepted: true, Hash: t.Last().Hash, Slot: 301},
						{Call: calling(Send, 1), Lost: true, Error: oops("No_answer"), Slot: 302},
					} {
						v.Local = Learn(v, r).Local
					}
					v.Tip.At = clock.Add(time.Second)
					s := Decide(v)
					if s.Txn != nil {
						s.Reason = Reason(s.Txn.Last().NodeHash)
					}
					return v, s
				}, "5J1; REVISION, WAITING_INCLUSION; 1 sent 7@100"},
			{"said also of what is in a block: no refusal", txn(tx.PhaseSent, try(tx.Signed)),
				learns(SendTold{Call: freshly(Send, 1), Refusal: refused("Invalid_nonce", Refusal{Seen: true})}), "sent"},
		}},
		{"DISPATCHING: the worker finished it without a block", []sample{
			{"nothing open", txn(tx.PhaseDispatching, try(tx.Planned)), learns(finished(1)),
				"answered; DONE, FREE; 1 dropped 7@100; drop bytes; trusts; tell on-success"},
			{"something open", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, fee(150)), retried(1)),
				learns(finished(2)),
				"answered; REVISION, WAITING_INCLUSION; 1 unknown 7@100; 2 dropped 7@150; retries 1; " +
					"to end DONE"},
		}},
	}
}

// errorRows are of what a worker does not do.
func errorRows() []row {
	cancelled := txn(tx.PhaseDispatching, try(tx.Planned), cancelling)
	lost := fault(answer(Prove, 1), FaultLost, tx.CodeLost)
	return []row{
		{"DISPATCHING: error that a retry may mend", []sample{
			{"nothing open", txn(tx.PhaseDispatching, try(tx.Planned), retried(1)),
				learns(fault(answer(Prove, 1), FaultError, "20202")),
				"answered; RETRY, RETRY; 1 dropped 7@100; retries 1; error 20202"},
			{"something open", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, fee(150))),
				learns(fault(answer(Prove, 2), FaultError, "20202")),
				"answered; RETRY, RETRY; 1 unknown 7@100; 2 dropped 7@150; error 20202"},
			{"neither signed nor done", txn(tx.PhaseDispatching, try(tx.Planned)), learns(answer(Prove, 1)),
				"answered; RETRY, RETRY; 1 dropped 7@100; error WORKER_MISMATCH"},
			{"of another attempt: nothing", txn(tx.PhaseDispatching, try(tx.Planned, at(8))),
				learns(fault(answer(Prove, 1), FaultError, "20202")),
				"unchanged"},
			{"a legacy worker's refusal, and its nonce is unspent", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				learns(refusedBy(answer(Dispatch, 1)), sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.AccountNext = 7 })),
				"answered; RETRY, RETRY; 1 legacy refused 7@100; error 20203"},
			{"a legacy worker's refusal, and its nonce is spent: unknown", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				learns(refusedBy(answer(Dispatch, 1)), sees(tx.FateAbsent, 0, func(g *tx.Sighting) { g.AccountNext = 8 })),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error 20203"},
		}},
		{"DISPATCHING, nothing open: cancelled", []sample{
			{"ends at once", cancelled, decides(),
				"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; " +
					"event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"what the worker signed is not sent", cancelled, learns(signed(Prove, 1)),
				"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; " +
					"event CANCELLED; drop bytes; trusts; tell on-failure"},
			{"asked while the worker has it", txn(tx.PhaseDispatching, try(tx.Planned)), orders(tx.Order{What: tx.OrderCancel}),
				"ordered; DISPATCHING, BLOCKED; 1 planned 7@100; cancel asked; event CANCEL_REQUESTED; trusts"},
			{"with something open the worker goes on", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned, fee(150)), cancelling),
				decides(),
				"proving; prove 2"},
		}},
		{"DISPATCHING: the answer got lost", []sample{
			{"first loss: asked again", txn(tx.PhaseDispatching, try(tx.Planned)), learns(lost),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 1; error LOST"},
			{"it is at work on it: the same is asked for again", txn(tx.PhaseDispatching, try(tx.Planned), losses(1)),
				learns(fault(answer(Prove, 1), FaultWorking, tx.CodeLost)), "proving"},
			{"it is at work on it for longer than a call may take: a loss", txn(tx.PhaseDispatching, try(tx.Planned, begunAgo(time.Hour))),
				learns(fault(answer(Prove, 1), FaultWorking, tx.CodeLost)), "lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 1; error LOST"},
			{"third loss: an error", txn(tx.PhaseDispatching, try(tx.Planned), losses(2)), learns(lost),
				"lost; RETRY, RETRY; 1 dropped 7@100; error LOST"},
			{"the process is gone: a loss", txn(tx.PhaseDispatching, try(tx.Planned), losses(1)),
				decides(asked(good()), knows(func(l *Local) { l.Own = 0 })),
				"lost; DISPATCHING, BLOCKED; 1 planned 7@100; losses 2; error LOST"},
			{"legacy: outcome unknown", txn(tx.PhaseDispatching, try(tx.Planned, legacy)),
				learns(fault(answer(Dispatch, 1), FaultLost, tx.CodeLost)),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error LOST"},
			{"legacy, the process is gone: outcome unknown", txn(tx.PhaseDispatching, try(tx.Planned, legacy)), decides(),
				"lost; REVISION, INCLUSION; 1 legacy unknown 7@100; error OUTCOME_UNKNOWN"},
			{"its hash comes late", txn(tx.PhaseWatching, try(tx.Unknown, legacy, func(a *tx.Attempt) { a.Hash = "" })),
				learns(dispatched(1)),
				"answered; REVISION, WAITING_INCLUSION; 1 legacy unknown 7@100"},
		}},
		{"DISPATCHING: unresolvable", []sample{
			{"nothing open", txn(tx.PhaseDispatching, try(tx.Planned)),
				learns(fault(answer(Prove, 1), FaultHopeless, "500")),
				"answered; UNRESOLVED, FREE; 1 dropped 7@100; error 500; drop bytes; trusts; tell on-failure"},
			{"as its sender's worker says of too many: another one is asked", txn(tx.PhaseDispatching, try(tx.Planned)),
				learns(ill(3, true)), "deferred; WAITING, FREE; 1 dropped 7@100; deferred 1; doubts B62a; error 500; " +
					"rest RESTED 30s doubt"},
			{"the longer the more often", txn(tx.PhaseDispatching, try(tx.Planned)),
				learns(ill(5, true)), "deferred; WAITING, FREE; 1 dropped 7@100; deferred 1; doubts B62a; error 500; " +
					"rest RESTED 2m0s doubt"},
			{"and asked again before another was free: the same", txn(tx.PhaseDispatching, try(tx.Planned, over), try(tx.Planned), doubts(payer)),
				learns(func() Answer { a := ill(4, true); a.Call.Number = 2; return a }()),
				"deferred; WAITING, FREE; 1 dropped 7@100; 2 dropped 7@100; deferred 1; doubts B62a; error 500; " +
					"rest RESTED 1m0s doubt"},
			{"no other one is in use: as it says", txn(tx.PhaseDispatching, try(tx.Planned)), learns(ill(3, false)),
				"answered; UNRESOLVED, FREE; 1 dropped 7@100; error 500; drop bytes; trusts; tell on-failure"},
			{"the other one says the same: neither is doubted", txn(tx.PhaseDispatching, try(tx.Planned), doubts("B62b")),
				learns(ill(3, true)), "answered; UNRESOLVED, FREE; 1 dropped 7@100; error 500; absolve B62b; " +
					"drop bytes; trusts; tell on-failure"},
			{"the other one makes it", txn(tx.PhaseDispatching, try(tx.Planned), doubts("B62b")), learns(signed(Prove, 1)),
				"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
			{"something open", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
				learns(fault(answer(Prove, 2), FaultHopeless, "500")),
				"answered; REVISION, WAITING_INCLUSION; 1 unknown 7@100; 2 dropped 7@100; " +
					"to end UNRESOLVED; error 500"},
			{"and UNRESOLVED once it is dead", txn(tx.PhaseWatching, try(tx.Unknown), try(tx.Planned, over), ending(tx.PhaseUnresolved)),
				decides(sees(tx.FateExpired, 5)),
				"settled; UNRESOLVED, FREE; 1 expired 7@100; 2 dropped 7@100; error EXPIRED; " +
					"drop bytes; B62a from nonce 7; trusts; tell on-failure"},
			{"FAILED, too: what ended it is said, and not that it has expired since",
				txn(tx.PhaseWatching, try(tx.Unknown), ending(tx.PhaseFailed), wrong("Insufficient_fee")), decides(sees(tx.FateExpired, 5)),
				"settled; FAILED, FREE; 1 expired 7@100; error Insufficient_fee; drop bytes; B62a from nonce 7; trusts; tell on-failure"},
		}},
	}
}
