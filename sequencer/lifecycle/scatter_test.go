package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestScatter puts records together from parts, whether a flow leads to them or not,
// and has everything decided on, learnt and ordered: nothing panics, nothing given is
// altered, what is open keeps its place, and there are words for all of it.
//
// The records are whole in what any store could have of them: attempts count up, what is
// open shares one sender and nonce, REVISION has something open, DONE names an attempt
// that is there. Results are whatever their types can hold, except that a fault comes
// with an error, as package dispatcher has it.
func TestScatter(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 * *walks {
		v := scattered(r)
		c.decides(v)
		for range 3 {
			s := c.untouched(v, func(v *View) Step { return Learn(v, anyResult(r, v)) })
			c.keepsPlace(v, &s)
		}
		for _, what := range []tx.OrderKind{tx.OrderCancel, tx.OrderRetry, tx.OrderLanded, tx.OrderDead, "nonsense"} {
			if s, err := Ask(v, tx.Order{What: what, Hash: "5Jperson"}); err == nil && s.Txn != nil {
				c.keepsPlace(v, &s)
			}
		}
	}
	if *walks >= manyWalks && c.steps < 100_000 {
		t.Errorf("only %d decisions", c.steps)
	}
}

// keepsPlace holds of any record: attempts count up, and one that is new while another
// is open has its sender and nonce.
func (c *checker) keepsPlace(v *View, s *Step) {
	c.Helper()
	if s.Txn != nil {
		c.numbers(v, s)
		c.places(v, s)
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// scattered is a view of a record of up to three attempts.
func scattered(r *rand.Rand) *View {
	v := &View{Txn: scatteredTxn(r), Policy: testPolicy(), Now: now, Clock: clock, Jitter: r.Float64()}
	v.Known, v.Replicas, v.Draining, v.Wanted = r.IntN(8) > 0, r.IntN(2) > 0, r.IntN(8) == 0, r.IntN(4) == 0
	v.Tip = Tip{
		At: clock.Add(pick(r, -time.Hour, -time.Second, 0)), Quorum: r.IntN(4) > 0, Fresh: r.IntN(4) > 0, Height: 200,
		TipSlot: pick[uint32](r, 0, 300, 1<<32-1), Slot: pick[uint32](r, 0, 301, 1<<32-1),
		SlotTime: pick(r, 0, 1, minutes(3)),
	}
	if w, some := WatchOf(v.Txn, walkMemo); some {
		v.Sighting = sightingOf(r, &w)
	}
	l := &v.Local
	n := r.IntN(len(v.Txn.Attempts) + 2)
	l.Own, l.Marked, l.Unsent, l.Confirmed = pick(r, n, -1, 0), pick(r, n, 0), pick(r, n, 0), pick(r, n, 0)
	l.Legacy, l.NoResign, l.Resent = r.IntN(3) == 0, r.IntN(3) == 0, pick(r, 0, 1, 1<<40)
	l.SentAt, l.ReadAt = pick(r, time.Time{}, clock, clock.Add(-time.Hour)), pick(r, time.Time{}, clock)
	l.LostAt, l.Costly = pick(r, time.Time{}, clock.Add(-time.Hour)), pick(r, time.Time{}, clock.Add(time.Hour))
	l.Said = pick(r, Said{}, Said{Number: n, State: tx.Unknown, NodeHash: "5Jsaid", Slot: 301, Error: oops("Said")})
	a := &l.Asked
	a.Sender = pick(r, nil, &Sender{}, good(), &Sender{Gone: true}, &Sender{Unusable: true, Greeted: true},
		&Sender{Greeted: true})
	a.Overtaken, a.Retries = r.IntN(4) == 0, pick(r, nil, new(0), new(3), new(-1))
	a.Account = pick(r, nil, &AccountTold{}, &AccountTold{Lost: "timeout"},
		&AccountTold{Exists: true, Nonce: 7, Balance: 1 << 60},
		&AccountTold{Exists: true, Nonce: 1<<32 - 1, Balance: 1 << 60})
	a.Landed = pick(r, nil, &LandedTold{}, &LandedTold{Nonce: 1<<32 - 1, Any: true})
	a.Bytes = pick(r, nil, &BytesRead{}, &BytesRead{Number: n, Command: []byte("bytes")})
	v.Policy.RetryDepth = pick(r, 0, 0, 2, 7)
	if r.IntN(3) == 0 {
		v.Policy.FeeAuto, v.Policy.FeeMin, v.Policy.FeeTarget = true, 30, pick(r, 0, 2, 1<<40)
		v.Market = marketAt(r, now)
	}
	return v
}

// anyResult is whatever a result can hold.
func anyResult(r *rand.Rand, v *View) Result {
	n := r.IntN(len(v.Txn.Attempts)+3) - 1
	e := Effect{Kind: pick(r, Prove, Resign, Dispatch, Send, Confirm), Number: n, Fresh: r.IntN(2) == 0}
	switch r.IntN(8) {
	case 0:
		return SenderTold{Sender: Sender{Gone: r.IntN(2) == 0, Away: r.IntN(100)}}
	case 1:
		return HealthTold{Why: pick(r, "", tx.WrongAccount), Wrong: pick(r, 0, 3, 1<<40)}
	case 2:
		return pick[Result](r, RetriesTold{Limit: -1, Known: true}, ConfirmTold{n}, LandedTold{}, AccountTold{},
			BytesRead{Number: n}, ChainTold{})
	case 3:
		return Denied{Why: pick(r, Overtaken, Costly, Unconfirmed, "nonsense"), Left: pick(r, time.Second, time.Hour),
			Spent: 1<<64 - 1}
	case 4, 5:
		s := SendTold{Call: e, Accepted: r.IntN(3) == 0, Hash: pick(r, "", "5J1", "5Jnews"), Slot: 1<<32 - 1,
			Lost: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			s.Error = oops(pick(r, "Said", "After_slot_tx_end"))
			s.Refusal = &Refusal{Error: *s.Error, Permanent: r.IntN(2) == 0, Seen: r.IntN(3) == 0, Cheap: r.IntN(2) == 0,
				Payers: r.IntN(3) == 0}
		}
		return s
	}
	a := Answer{Call: e, Sender: pick(r, payer, "B62b"), Nonce: pick[uint32](r, 6, 7, 8), Refused: r.IntN(2) == 0}
	a.Proves = r.IntN(2) == 0
	a.Ill, a.Others = r.IntN(5), r.IntN(2) == 0
	a.Fault = pick(r, NoFault, NoFault, FaultError, FaultHopeless, FaultLost, FaultSent, FaultNoCall, FaultBusy,
		FaultUnreached, FaultSpent, FaultOutOfOrder, FaultWorking, "nonsense")
	if a.Fault != NoFault {
		a.Error = oops("400")
	}
	a.Hash, a.Signed = pick(r, "", "5Jnews"), pick(r, nil, []byte("bytes"))
	a.Done, a.Data = pick(r, nil, []byte("{}")), pick(r, nil, []byte(fmt.Sprint(n)))
	a.RetryAfter, a.Weight = pick(r, 0, minutes(10), 1<<62), pick(r, 0, 9, 1<<40)
	return a
}
