package lifecycle

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// worldly is a process that has seen much already, so that what it forgets shows.
func worldly(v *View) {
	v.Local = Local{
		Own: 8, Marked: 8, Legacy: true, NoResign: true, Unsent: 8, Confirmed: 8,
		Said:   Said{Number: 1, State: tx.Unknown},
		SentAt: clock.Add(-time.Hour), Resent: 4, LostAt: clock.Add(-time.Second), Costly: clock.Add(-time.Second),
		FirstSent: clock.Add(-2 * time.Hour), FirstHeight: 150, ReadAt: clock,
		Asked: Asked{
			Sender: good(), Overtaken: true, Retries: new(3), Account: &AccountTold{Exists: true, Nonce: nonce, Balance: 1000},
			Landed: &LandedTold{}, Bytes: &BytesRead{Number: 1, Command: []byte("bytes")},
		},
	}
}

// learned is what a process knows that it did not know before, or knows no longer.
func learned(v *View, l *Local) string {
	var words []string
	was, is := reflect.ValueOf(v.Local), reflect.ValueOf(*l)
	for i := range is.NumField() {
		f := is.Type().Field(i).Name
		switch value := is.Field(i).Interface().(type) {
		case Asked:
			if !reflect.DeepEqual(value, v.Local.Asked) {
				words = append(words, "asked"+answers(&value))
			}
		case Said:
			if value == (Said{}) && v.Local.Said != value {
				words = append(words, "said nothing")
			} else if v.Local.Said != value {
				words = append(words, fmt.Sprintf("said %d %s %q %d %v",
					value.Number, value.State, value.NodeHash, value.Slot, value.Error))
			}
		case time.Time:
			switch before := was.Field(i).Interface().(time.Time); {
			case value.Equal(before):
			case value.IsZero():
				words = append(words, f+" never")
			default:
				words = append(words, fmt.Sprint(f, " ", value.Sub(v.Clock)))
			}
		default:
			if value != was.Field(i).Interface() {
				words = append(words, fmt.Sprint(f, " ", value))
			}
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// answers names those questions that have one.
func answers(a *Asked) string {
	v := reflect.ValueOf(*a)
	words := ""
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			words += " " + v.Type().Field(i).Name
		}
	}
	if words == "" {
		return " nothing"
	}
	return words
}

// forgotten is what a process knows no longer that has nothing to do with it any more.
var forgotten = learned(view(txn(tx.PhaseWaiting), worldly), &Local{})

// TestLocal: what the process knows after a step, stored or not.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, cases := range [][]sample{localOfPlans(), localOfAnswers(), localOfSendings(), localOfTheChain(),
		localOfEnds()} {
		for _, c := range cases {
			v, s := c.on(c.in)
			if got := string(s.Reason) + ": " + learned(v, &s.Local); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
			}
		}
	}
}

func localOfPlans() []sample {
	unasked := knows(func(l *Local) { l.Asked = Asked{} })
	costly := Denied{Why: Costly, Left: time.Hour}
	waited := txn(tx.PhaseDelayed, try(tx.Planned, over))
	return []sample{
		{"an answer is kept", txn(tx.PhaseDispatching), learns(SenderTold{Sender: *good(), Overtaken: true}, worldly, unasked),
			"unchanged: asked Sender Overtaken"},
		{"and replaced by the next", txn(tx.PhaseDispatching), learns(SenderTold{Sender: *good()}, worldly),
			"unchanged: asked Sender Retries Account Landed Bytes"},
		{"planned: nothing is known of the attempt", txn(tx.PhaseDispatching, try(tx.Expired, over)),
			decides(worldly), "planning: Own 2, Marked 0, Legacy false, NoResign false, asked Sender"},
		{"planned with its bind, and asked for", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(worldly, knows(func(l *Local) { l.Own = ownByBind })), "proving: Own 1"},
		{"taken over, and its loss counted", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(worldly), "lost: Own 1"},
		{"planned up to a slot that has passed: asked anew", txn(tx.PhaseDispatching, try(tx.Planned, until(300))),
			decides(worldly), "planning: asked nothing"},
		{"marked for a legacy worker", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(worldly, knows(func(l *Local) { l.Own = 1 })), "proving: Marked 1, Confirmed 1"},
		{"superseded: asked anew", txn(tx.PhaseDispatching, try(tx.Planned, at(6))), decides(worldly), "planning: asked nothing"},
		{"the nonce that follows is used: asked anew", txn(tx.PhaseDispatching), learns(Denied{Why: Used}, worldly),
			"planning: asked nothing"},
		{"deferred, something open", txn(tx.PhaseDispatching, try(tx.Unknown)), learns(costly, worldly),
			"deferred: Own 0, Marked 0, asked nothing"},
		{"deferred, back in its queue: all is forgotten", txn(tx.PhaseDispatching), learns(costly, worldly),
			"deferred: " + forgotten},
		{"back in its queue: all is forgotten", txn(tx.PhaseFailing), decides(worldly),
			"back: " + forgotten},
		{"to be tried again: asked anew then", txn(tx.PhaseFailing),
			decides(worldly, knows(func(l *Local) { l.Asked.Overtaken = false })),
			"delay: asked nothing"},
		{"tried again: nothing is taken", waited, decides(worldly, knows(func(l *Local) { l.Asked.Overtaken = false })),
			"retry: Own 0, Marked 0"},
		{"not raised for a limit: asked again within the rest", txn(tx.PhaseWatching, try(tx.Sent)), learns(costly, worldly),
			"pool: Costly 10m0s"},
		{"or once the day is over", txn(tx.PhaseWatching, try(tx.Sent)), learns(Denied{Why: Costly, Left: time.Minute}, worldly),
			"pool: Costly 1m0s"},
		{"not confirmed", txn(tx.PhaseSent, try(tx.Signed)), learns(Denied{Why: Unconfirmed}, worldly), "confirming: Confirmed 0"},
		{"confirmed", txn(tx.PhaseSent, try(tx.Signed)), learns(ConfirmTold{1}, worldly), "unchanged: Confirmed 1"},
	}
}

func localOfAnswers() []sample {
	raised := func() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent), try(tx.Planned, fee(150))) }
	planned, called := txn(tx.PhaseDispatching, try(tx.Planned)), txn(tx.PhaseDispatching, try(tx.Planned, legacy))
	lost := fault(answer(Prove, 1), FaultLost, tx.CodeLost)
	noCall := func(k Kind, n int) Answer { return fault(answer(k, n), FaultNoCall, "404") }
	return []sample{
		{"signed: its bytes are nowhere, and confirmed with what was stored", planned, learns(signed(Prove, 1), worldly),
			"answered: Unsent 1, Confirmed 1, said nothing, SentAt never, Resent 0, asked nothing"},
		{"a legacy worker sent it now", called, learns(dispatched(1), worldly),
			"answered: SentAt 0s, FirstSent 0s, FirstHeight 200, asked nothing"},
		{"a legacy worker may have sent it now", called, learns(fault(answer(Dispatch, 1), FaultSent, "500"), worldly),
			"lost: SentAt 0s, asked nothing"},
		{"lost: asked for again", planned, learns(lost, worldly),
			"lost: Own 1"},
		{"lost for the last time", txn(tx.PhaseDispatching, try(tx.Planned), losses(2)), learns(lost, worldly),
			"lost: asked nothing"},
		{"an error", planned, learns(fault(answer(Prove, 1), FaultError, "400"), worldly),
			"answered: asked nothing"},
		{"no such call: a legacy worker", planned,
			learns(noCall(Prove, 1), worldly, knows(func(l *Local) { l.Legacy = false })),
			"proving: Legacy true"},
		{"no call to sign again", raised(), learns(noCall(Resign, 2), worldly, knows(func(l *Local) { l.NoResign = false })),
			"raising: NoResign true"},
		{"no call to prove: not raised", raised(), learns(noCall(Prove, 2), worldly),
			"raising: asked nothing"},
		{"signed again", raised(), learns(signed(Resign, 2), worldly),
			"answered: Unsent 2, Confirmed 2, said nothing"},
		{"the right worker", txn(tx.PhaseDispatching), learns(HealthTold{}, worldly),
			"planning: nothing"},
		{"finished: nothing is said of it", planned, learns(finished(1), worldly),
			"answered: said nothing"},
	}
}

func localOfSendings() []sample {
	sent := txn(tx.PhaseSent, try(tx.Signed))
	took := SendTold{Call: freshly(Send, 1), Accepted: true, Hash: "5Jnode", Slot: 302}
	again := took
	again.Call.Fresh = false
	known := again
	known.Hash = ""
	lost := SendTold{Call: freshly(Send, 1), Lost: true, Error: oops("E"), Slot: 302}
	says := func(r Refusal) SendTold { return SendTold{Call: freshly(Send, 1), Refusal: refused("E", r)} }
	first := knows(func(l *Local) { l.FirstSent, l.FirstHeight = time.Time{}, 0 })
	return []sample{
		{"taken", sent, learns(took, worldly),
			"sent: Unsent 0, said nothing, SentAt 0s, asked Sender Overtaken Retries Account Landed"},
		{"taken, the first of the open ones", sent, learns(took, worldly, first),
			"sent: " +
				"Unsent 0, said nothing, SentAt 0s, FirstSent 0s, FirstHeight 200, asked Sender Overtaken Retries Account Landed"},
		{"nobody knows", sent, learns(lost, worldly),
			"sent: Unsent 0, said 1 unknown \"\" 302 E: because, SentAt 0s, asked Sender Overtaken Retries Account Landed"},
		{"seen before", sent, learns(says(Refusal{Seen: true}), worldly),
			"sent: Unsent 0, said 1 signed \"\" 0 <nil>, SentAt 0s, asked Sender Overtaken Retries Account Landed"},
		{"sent again: its hash is news, and stored with the rest", sent, learns(again, worldly),
			"sent: said nothing, SentAt 0s, Resent 5, asked Sender Overtaken Retries Account Landed"},
		{"sent again, no news", sent, learns(known, worldly),
			"sent: said 1 sent \"\" 302 <nil>, SentAt 0s, Resent 5, asked Sender Overtaken Retries Account Landed"},
		{"sent again while it waits, no news", txn(tx.PhaseWatching, try(tx.Sent)), learns(known, worldly),
			"sent: SentAt 0s, Resent 5, asked Sender Overtaken Retries Account Landed"},
		{"a raise, sent while another waits", txn(tx.PhaseWatching, try(tx.Sent)), learns(took, worldly),
			"sent: Unsent 0, said nothing, SentAt 0s, asked Sender Overtaken Retries Account Landed"},
		{"refused", sent, learns(says(Refusal{}), worldly),
			"answered: Unsent 0, said nothing, SentAt 0s, asked nothing"},
		{"refused, and too cheap: raised", txn(tx.PhaseWatching, try(tx.Sent)), learns(func() SendTold {
			r := says(Refusal{Cheap: true})
			r.Call.Fresh = false
			return r
		}(), worldly),
			"raising: SentAt 0s, Resent 5, asked nothing"},
		{"refused, sent again, and one more is to be sent", sent, learns(func() SendTold {
			r := says(Refusal{Permanent: true})
			r.Call.Fresh = false
			return r
		}(), worldly, knows(func(l *Local) { l.Unsent = 1 })),
			"answered: said nothing, SentAt 0s, Resent 5, asked nothing"},
		{"refused, and another process had it meanwhile", sent,
			func(t *tx.Transaction) (*View, Step) {
				v := view(t, worldly, knows(func(l *Local) { l.Unsent = 0 }))
				return v, Learn(v, says(Refusal{Permanent: true}))
			},
			"answered: said nothing, SentAt 0s, Resent 5, asked nothing"},
		{"of an attempt that is no more", txn(tx.PhaseWatching, try(tx.Expired, over), try(tx.Sent)), learns(took, worldly),
			"sent: Unsent 0, SentAt 0s, asked Sender Overtaken Retries Account Landed"},
		{"the first look", sent, decides(worldly, sees(tx.FatePooled, 0)),
			"sent: said nothing"},
	}
}

func localOfTheChain() []sample {
	watching := func() *tx.Transaction { return txn(tx.PhaseWatching, try(tx.Sent)) }
	orphaned := func(c ...func(*tx.Attempt)) *tx.Transaction {
		return txn(tx.PhaseDone, try(tx.Included, append(c, block)...), landedBy(1), orphan)
	}
	recent := knows(func(l *Local) { l.SentAt = clock.Add(-time.Second) })
	none := knows(func(l *Local) { l.Asked.Bytes = &BytesRead{} })
	never := knows(func(l *Local) { l.LostAt = time.Time{} })
	return []sample{
		{"in a pool: sent often enough", watching(), decides(worldly, recent, sees(tx.FatePooled, 0)),
			"pool: Resent 0"},
		{"in a pool for long, cancelled", txn(tx.PhaseWatching, try(tx.Sent), cancelling), decides(worldly, sees(tx.FatePooled, 0)),
			"pool: Resent 0"},
		{"to be sent, and nobody has the bytes", watching(), decides(worldly, none, sees(tx.FateAbsent, 0)),
			"absent: SentAt 0s, Resent 5, asked Sender Overtaken Retries Account Landed"},
		{"lingers: raised", watching(), decides(worldly, sees(tx.FatePooled, 0), func(v *View) { v.Tip.TipSlot = 303 }),
			"raising: asked nothing"},
		{"found on the chain", txn(tx.PhaseDispatching, try(tx.Signed)), decides(worldly),
			"sent: SentAt never, Resent 0"},
		{"to be sent, and the nodes had refused it",
			txn(tx.PhaseDone, try(tx.Included, block), try(tx.Refused, over), landedBy(1), orphan),
			decides(worldly, sees(tx.FateAbsent, 0), knows(func(l *Local) { l.Asked.Bytes.Number = 2 })),
			"resending: Confirmed 2, LostAt never"},
		{"orphaned, not lost", orphaned(), decides(worldly, sees(tx.FateExpired, 4)),
			"orphaned: LostAt never"},
		{"orphaned, in a pool", orphaned(), decides(worldly, recent, sees(tx.FatePooled, 0)),
			"orphaned: Resent 0, LostAt never"},
		{"orphaned, legacy, in a pool", orphaned(legacy), decides(worldly, sees(tx.FatePooled, 0)),
			"orphaned: LostAt never"},
		{"orphaned, legacy, gone", orphaned(legacy), decides(worldly, sees(tx.FateAbsent, 0), never),
			"orphaned: LostAt 0s"},
		{"orphaned, legacy, gone by one node's word", orphaned(legacy), decides(worldly, sees(tx.FateAbsent, 0, disagreed)),
			"orphaned: LostAt 0s"},
		{"orphaned, legacy, gone for a while", orphaned(legacy), decides(worldly, sees(tx.FateAbsent, 0)),
			"orphaned: nothing"},
	}
}

func localOfEnds() []sample {
	return []sample{
		{"landed", txn(tx.PhaseWatching, try(tx.Sent)), decides(worldly, sees(tx.FateIncluded, 2)),
			"landed: said nothing, SentAt never, Resent 0, asked nothing"},
		{"expired", txn(tx.PhaseWatching, try(tx.Sent)), decides(worldly, sees(tx.FateExpired, 5)),
			"settled: SentAt never, Resent 0, FirstSent never, FirstHeight 0, asked nothing"},
		{"not landed after all", txn(tx.PhaseDone, try(tx.Included, block), landedBy(1), orphan),
			decides(worldly, sees(tx.FateExpired, 5)),
			"settled: " + forgotten},
		{"cancelled", txn(tx.PhaseDispatching, try(tx.Planned), cancelling), decides(worldly),
			"cancelled: said nothing"},
	}
}
