package explain

import (
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/txtest"
	"mina-sequencer/sequencer/tx"
)

// What records are made of, by their short names.
type part = txtest.Part

var (
	now, clock                        = txtest.Now, txtest.Clock
	txn, batch                        = txtest.Txn, txtest.Batch
	try, post, early                  = txtest.Try, txtest.Post, txtest.Early
	at, fee, shallow, unplaced        = txtest.At, txtest.Fee, txtest.Shallow, txtest.Unplaced
	over, legacy, block, failedBy     = txtest.Over, txtest.Legacy, txtest.Block, txtest.FailedBy
	stalled, turnedAway, disagreed    = txtest.Stalled, txtest.TurnedAway, txtest.Disagreed
	retried, losses, deferrals, due   = txtest.Retried, txtest.Losses, txtest.Deferrals, txtest.Due
	expires, ending, landedBy, doubts = txtest.Expires, txtest.Ending, txtest.LandedBy, txtest.Doubts
	cancelling, orphan, final         = txtest.Cancelling, txtest.Orphan, txtest.Final
	wrong, minutes                    = txtest.Wrong, txtest.Minutes
)

const payer = txtest.Payer

// brief is an explanation on one line for each of its parts.
func brief(e Explanation) string {
	clock := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " " + t.Format("15:04")
	}
	lines := []string{e.Summary, string(e.Wait.Code) + clock(e.Wait.Until) + ", then " + e.Next.Action + clock(e.Next.At)}
	for _, a := range e.Attempts {
		lines = append(lines, string(a.State.Outcome())+", "+a.Place+": "+a.Detail)
	}
	return strings.Join(lines, "\n")
}

// scene is one in which everything is in order, and this process has been asked that
// dispatches the type.
func unstored(s *Scene) { s.Unstored, s.Refusal = now.Add(-minutes(2)), "MISCONF" }

func scene(t *tx.Transaction, changes ...func(*Scene)) *Scene {
	s := &Scene{
		View: lifecycle.View{
			Txn: t, Now: now, Clock: clock, Known: true, Policy: &lifecycle.Policy{
				CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Second, DispatchTimeout: 10 * time.Minute,
				Confirmations: 2, SettleDepth: 5, Finality: 8, FeeMax: 300, BumpAfter: 5, ValidSlots: 40,
				Retention: 168 * time.Hour, LedgerPatience: time.Hour,
			},
			Tip: lifecycle.Tip{
				At: clock, Quorum: true, Fresh: true, TipSlot: 300, Slot: 300, SlotTime: 3 * time.Minute, Synced: 2,
			},
			Sighting: tx.Sighting{Fate: tx.FateUnknown},
		},
		Dispatched: true, Living: []tx.Binder{{Process: "me", Types: []string{"MINT", "BURN"}}},
	}
	if t.Phase == tx.PhaseDispatching {
		t.ChangedAt = now
	}
	for _, c := range changes {
		c(s)
	}
	return s
}

// sees is what all nodes say, of the hash of the latest attempt.
func sees(f tx.Fate, depth int, more ...func(*tx.Sighting)) func(*Scene) {
	return func(s *Scene) {
		s.Sighting = txtest.Shown(s.Txn, f, depth)
		for _, m := range more {
			m(&s.Sighting)
		}
	}
}

// shown is that, asked just now.
func shown(f tx.Fate, depth int, more ...func(*tx.Sighting)) func(*Scene) {
	return func(s *Scene) {
		sees(f, depth, more...)(s)
		s.Asked = true
	}
}

func behind(ahead int, first *tx.Transaction) func(*Scene) {
	return func(s *Scene) {
		first.UID = "one"
		s.First, s.Place = first, tx.Place{Ahead: ahead, First: "one"}
	}
}

func head(s *Scene)     { s.Place = tx.Place{First: s.Txn.UID} }
func fewNodes(s *Scene) { s.Tip.Quorum, s.Tip.Synced = false, 1 }
func looked(s *Scene)   { s.Asked = true }
func passedBlock(s *Scene) {
	s.Asked, s.Sighting = true, tx.Sighting{Fate: tx.FateUnknown, Pruned: true}
}
func noArchive(s *Scene)               { s.Tip.NoArchive = true }
func limited(s *Scene)                 { s.Limited = true }
func pool(c ...Candidate) func(*Scene) { return func(s *Scene) { s.Pool = c } }

// tells has the nodes say when slots begin: slot 301 by now.
func tells(s *Scene) { s.Tip.Zero = now.Add(-301 * s.Tip.SlotTime) }

// sawtooth takes the same batch again, scabbard executes it once more.
func sawtooth(s *Scene) { s.Batch.Known, s.Batch.Idempotent = true, true }
func scabbard(s *Scene) { s.Batch.Known = true }

// stands is what the ledger says of a batch, asked a second ago; inVain is asked, and nothing was said.
func stands(state lifecycle.BatchState) func(*Scene) {
	return func(s *Scene) {
		at := clock.Add(-time.Second)
		s.Batch.Seen = lifecycle.BatchSeen{At: at, Since: at, Asked: at, State: state}
	}
}
func inVain(s *Scene) { s.Batch.Seen.Asked = clock }

// ahead puts members before the transaction, behindIt puts them after it, and atOnce has them commute.
func ahead(all ...lifecycle.Member) func(*Scene) {
	return func(s *Scene) { s.Train.Ahead = append(s.Train.Ahead, all...) }
}

func behindIt(all ...lifecycle.Member) func(*Scene) {
	return func(s *Scene) { s.Train.Behind = append(s.Train.Behind, all...) }
}

func atOnce(s *Scene) { s.Train.Commuting = true }

// member is one at a nonce, as all nodes show it; unmade is with its worker, and again failed in a block
// and is to be tried again in its place.
func member(n uint32, f tx.Fate) lifecycle.Member {
	return lifecycle.Member{Txn: txn(tx.PhaseWatching, try(tx.Sent, at(n))),
		Sighting: tx.Sighting{Fate: f, Agreed: true, Depth: 1}}
}

func unmade(n uint32) lifecycle.Member {
	return lifecycle.Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(n)))}
}

func again(p tx.Phase, n uint32) lifecycle.Member {
	return lifecycle.Member{Txn: txn(p, try(tx.FailedIn, at(n), shallow))}
}
