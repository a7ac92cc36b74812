package lifecycle

import (
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// atOnce is what a commuting transaction and a worker that makes several at a time see.
func atOnce(v *View) { v.Train.Commuting = true }

func madeAtOnce() row {
	fresh := txn(tx.PhaseDispatching)
	untaken := Member{Txn: txn(tx.PhaseSent, try(tx.Signed, at(20)))}
	ready := txn(tx.PhaseDispatching, early(11))
	waits := Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(30), unplaced))}
	hasProof := Member{Txn: txn(tx.PhaseDispatching, early(30))}
	hadNonce := Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(30), over, failedBy(tx.CodeProvedAhead)),
		deferrals(1))}
	lostAhead := Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(6)), losses(1))}
	asFirst := Member{Txn: txn(tx.PhaseDispatching, deferrals(1))}
	began := Member{Txn: txn(tx.PhaseDispatching, try(tx.FailedIn, over), deferrals(1), try(tx.Planned, at(8)))}
	barring := member(20, tx.FatePooled)
	barring.Txn.Attempts[0].Alone = true
	noneOut := func(m Member) []change {
		return []change{asked(&Sender{Account: payer, Next: new(uint32(8)), Greeted: true}), holds(8, 100), atOnce,
			behindIt(m)}
	}
	again := txn(tx.PhaseDispatching, try(tx.FailedIn, over))
	const planned = "planning; DISPATCHING, BLOCKED; 1 failed 7@100; 2 planned 8@100"
	return row{"commuting, and made beside others", []sample{
		{"while the first is: at its nonce, unplaced", fresh, decides(asked(good()), atOnce, ahead(unmade(11))),
			"planning; DISPATCHING, BLOCKED; 1 early 11@100"},
		{"of the first of several", fresh, decides(asked(good()), atOnce, ahead(unmade(11), unmade(15))),
			"planning; DISPATCHING, BLOCKED; 1 early 11@100"},
		{"at the one that follows what is out", fresh, decides(asked(good()), atOnce, ahead(member(11, tx.FatePooled), unmade(40))),
			"planning; DISPATCHING, BLOCKED; 1 early 12@100"},
		{"also where no node has that yet", fresh, decides(asked(good()), atOnce, ahead(untaken)),
			"planning; DISPATCHING, BLOCKED; 1 early 21@100"},
		{"behind one that waits for its turn", fresh, decides(asked(good()), atOnce, ahead(member(11, tx.FatePooled), hasProof)),
			"planning; DISPATCHING, BLOCKED; 1 early 12@100"},
		{"not behind what was sent, and nobody knows whether any node has it", fresh,
			decides(asked(good()), atOnce, ahead(Member{Txn: txn(tx.PhaseWatching, try(tx.Unknown, at(20)))})),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"not behind what failed in a block: another may have landed behind that", ready,
			decides(asked(good()), atOnce, ahead(Member{Txn: txn(tx.PhaseSent, try(tx.Signed, at(20))), Sighting: tx.Sighting{Fate: tx.FateFailed}})),
			"broken; WAITING, FREE; 1 proved 11@100; slips"},
		{"not behind one that has not begun", fresh,
			decides(asked(good()), atOnce, ahead(Member{Txn: txn(tx.PhaseDispatching)})), "broken; WAITING, FREE; deferred 1; slips"},
		{"nor one that failed at its worker", fresh,
			decides(asked(good()), atOnce, ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))})),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"nor what may have nothing beside it", fresh, decides(asked(good()), atOnce, ahead(barring)),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"nor anywhere behind it", fresh, decides(asked(good()), atOnce, ahead(barring, unmade(21))),
			"broken; WAITING, FREE; deferred 1; slips"},
		{"proved behind it: back, with its proof", ready, decides(asked(good()), atOnce, ahead(barring)),
			"broken; WAITING, FREE; 1 proved 11@100; slips"},
		{"what went back already waits to be the first", txn(tx.PhaseDispatching, deferrals(1)),
			decides(asked(good()), atOnce, ahead(unmade(11))), "behind"},
		{"proved: it waits for its turn", ready, decides(asked(good()), atOnce, ahead(unmade(11))), "behind"},
		{"which has come: at its own nonce, and its fee", ready, decides(asked(good()), atOnce, ahead(member(20, tx.FatePooled))),
			"planning; DISPATCHING, BLOCKED; 1 proved 11@100; 2 planned 21@100; unless 21 is used"},
		{"also where none is ahead any more", ready, decides(asked(good()), holds(7, 100), atOnce),
			"planning; DISPATCHING, BLOCKED; 1 proved 11@100; 2 planned 7@100"},
		{"with its proof", txn(tx.PhaseDispatching, early(11), try(tx.Planned, at(21))), decides(atOnce,
			knows(func(l *Local) { l.Asked.Bytes = &BytesRead{Number: 1, Command: []byte("bytes")} }), ahead(member(20, tx.FatePooled))),
			"proving; resign 2"},
		{"also where its nonce was taken back once", txn(tx.PhaseDispatching, early(11), try(tx.Planned, at(21), over, failedBy(tx.CodeHeld)),
			try(tx.Planned, at(30), over), try(tx.Planned, at(31))), decides(atOnce,
			knows(func(l *Local) {
				l.Own, l.Asked.Bytes = 4, &BytesRead{Number: 1, Command: []byte("bytes")}
			}), ahead(member(30, tx.FatePooled))),
			"proving; resign 4"},
		{"not where what goes together has changed", txn(tx.PhaseDispatching, early(7), try(tx.Planned)), decides(), "proving; prove 2"},
		{"its fee would pass a limit: as the first, with its proof", ready,
			learns(Denied{Why: Costly, Spent: 5, Left: time.Hour}, asked(good()), atOnce, ahead(member(20, tx.FatePooled))),
			"broken; WAITING, FREE; 1 proved 11@100; deferred 1; error FEE_LIMIT; slips"},
		{"its worker is busy: the same", txn(tx.PhaseDispatching, early(11), try(tx.Planned, at(21))), learns(func() Answer {
			a := fault(answer(Resign, 2), FaultBusy, "B")
			a.Nonce = 21
			return a
		}(), asked(good()), atOnce, ahead(member(20, tx.FatePooled))),
			"broken; WAITING, FREE; 1 proved 11@100; deferred 1; error B; slips"},
		{"not with that of another sender's", txn(tx.PhaseDispatching, try(tx.Planned, by("B62b"), over, unplaced,
			failedBy(tx.CodeProvedAhead)), try(tx.Planned)), decides(atOnce), "proving; prove 2"},
		{"one ahead is lost: back, with its proof", ready,
			decides(asked(good()), atOnce, ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))})),
			"broken; WAITING, FREE; 1 proved 11@100; slips"},
		{"while its worker has it, it goes on", txn(tx.PhaseDispatching, try(tx.Planned, unplaced)),
			decides(atOnce, ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))})), "proving; prove 1"},
		{"not what nobody has begun", txn(tx.PhaseDispatching, try(tx.Planned, unplaced)),
			decides(atOnce, knows(func(l *Local) { l.Own = 0 }), ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))})),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; slips"},
		{"nor what has its nonce", txn(tx.PhaseDispatching, try(tx.Planned)),
			decides(atOnce, ahead(Member{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))})),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; slips"},
		{"its nonce is not its own: it is not superseded", txn(tx.PhaseDispatching, try(tx.Planned, unplaced, at(3))),
			decides(asked(good()), atOnce), "proving; prove 1"},
		{"lost with others in its worker: by itself, when the one ahead has its answer", txn(tx.PhaseDispatching,
			try(tx.Planned, unplaced), losses(1)), decides(atOnce, ahead(lostAhead)), "behind"},
		{"the first of them first", txn(tx.PhaseDispatching, try(tx.Planned), losses(1)),
			decides(atOnce, behindIt(waits)), "proving; prove 1"},
		{"also what was not lost, behind what was", txn(tx.PhaseDispatching, try(tx.Planned, unplaced)),
			decides(atOnce, ahead(lostAhead)), "behind"},
		{"and what was, behind what was not", txn(tx.PhaseDispatching, try(tx.Planned, unplaced), losses(1)),
			decides(atOnce, ahead(unmade(6))), "behind"},
		{"bound just now: the same", txn(tx.PhaseDispatching, try(tx.Planned, unplaced)), decides(asked(good()), atOnce,
			ahead(lostAhead), knows(func(l *Local) { l.Own = ownByBind })), "behind"},
		{"not behind what has its proof", txn(tx.PhaseDispatching, try(tx.Planned, unplaced), losses(1)),
			decides(atOnce, ahead(hasProof)), "proving; prove 1"},
		{"begun beside what waits for its nonce", again, decides(noneOut(waits)...), planned},
		{"or has its proof", again, decides(noneOut(hasProof)...), planned},
		{"also one of a nonce that it had", again, decides(noneOut(hadNonce)...), planned},
		{"or waits to be the first", again, decides(noneOut(asFirst)...), planned},
		{"not beside what has a nonce of its own", again, decides(noneOut(began)...), "broken"},
		{"nor what has not begun", again, decides(noneOut(Member{Txn: txn(tx.PhaseDispatching)})...), "broken"},
		{"nor what is to be tried again", again,
			decides(noneOut(Member{Txn: txn(tx.PhaseDelayed, try(tx.FailedIn, over), deferrals(1))})...), "broken"},
		{"nor what may be out", again,
			decides(noneOut(Member{Txn: txn(tx.PhaseDispatching, try(tx.Unknown), deferrals(1))})...), "broken"},
		{"nor what is in a pool", again, decides(noneOut(member(9, tx.FatePooled))...), "broken"},
		{"nor where nothing commutes", again,
			decides(asked(good()), holds(8, 100), behindIt(waits)), "broken"},
	}}
}

func answeredAtOnce() row {
	proving := txn(tx.PhaseDispatching, try(tx.Planned, unplaced), losses(1))

	return row{"unplaced, and its worker answers", []sample{
		{"signed: kept until its turn", proving, learns(signed(Prove, 1), atOnce, ahead(unmade(6))),
			"answered; DISPATCHING, BLOCKED; 1 proved 7@100; keep bytes of 1"},
		{"also where one ahead is lost", proving, learns(signed(Prove, 1), atOnce, ahead(member(6, tx.FateExpired))),
			"answered; DISPATCHING, BLOCKED; 1 proved 7@100; keep bytes of 1"},
		{"or none is ahead any more", proving, learns(signed(Prove, 1), atOnce),
			"answered; DISPATCHING, BLOCKED; 1 proved 7@100; keep bytes of 1"},
		{"with a nonce that does not follow any more: kept, too", txn(tx.PhaseDispatching, try(tx.Planned)),
			learns(signed(Prove, 1), atOnce, ahead(member(7, tx.FatePooled))),
			"answered; DISPATCHING, BLOCKED; 1 proved 7@100; keep bytes of 1"},
		{"or nobody knows what is ahead: the same", txn(tx.PhaseDispatching, try(tx.Planned)),
			learns(signed(Prove, 1), atOnce, func(v *View) { v.Train.Unseen = true }),
			"answered; DISPATCHING, BLOCKED; 1 proved 7@100; keep bytes of 1"},
		{"where that cannot be told, and each needs the one before it", txn(tx.PhaseDispatching, try(tx.Planned)),
			learns(signed(Prove, 1), func(v *View) { v.Train.Unseen = true }),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"not where each needs the one before it", txn(tx.PhaseDispatching, try(tx.Planned)),
			learns(signed(Prove, 1), ahead(member(7, tx.FatePooled))),
			"answered; REVISION, INCLUSION; 1 signed 7@100; keep bytes of 1; confirm"},
		{"nor of what is raised", txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned)),
			learns(signed(Prove, 2), atOnce, ahead(member(7, tx.FatePooled))),
			"answered; REVISION, INCLUSION; 1 unknown 7@100; 2 signed 7@100; keep bytes of 2; confirm"},
		{"not fit to go along with others", proving, learns(lonely(signed(Prove, 1)), atOnce, ahead(unmade(6))),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error NOT_TOGETHER; slips"},
		{"cancelled meanwhile", txn(tx.PhaseDispatching, try(tx.Planned, unplaced), cancelling),
			learns(signed(Prove, 1), atOnce, ahead(unmade(6))),
			"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; event CANCELLED; " +
				"drop bytes; slips; trusts; tell on-failure"},
	}}
}

// leftAtOnce: what has not left needs none to follow it, and leaves from the middle.
func leftAtOnce() row {
	proving := txn(tx.PhaseDispatching, try(tx.Planned))
	first := ahead(member(6, tx.FatePooled))
	waits := behindIt(Member{Txn: txn(tx.PhaseDispatching, try(tx.Planned, at(8), unplaced))})
	e := fault(answer(Prove, 1), FaultHopeless, "E")
	refusal := SendTold{Call: freshly(Send, 1), Slot: 301, Refusal: refused("R", Refusal{Permanent: true})}
	return row{"commuting, and leaves while others are behind", []sample{
		{"an error behind others", proving, learns(e, atOnce, first, waits),
			"broken; WAITING, FREE; 1 dropped 7@100; deferred 1; error E; slips"},
		{"of the first", proving, learns(e, atOnce, waits),
			"answered; UNRESOLVED, FREE; 1 dropped 7@100; error E; drop bytes; slips; trusts; tell on-failure"},
		{"refused by every node", txn(tx.PhaseSent, try(tx.Signed)), learns(refusal, atOnce, waits, unseen),
			"answered; UNRESOLVED, FREE; 1 refused 7@100; error R; drop bytes; slips; trusts; tell on-failure"},
		{"cancelled", txn(tx.PhaseDispatching, try(tx.Planned), cancelling), decides(atOnce, waits),
			"cancelled; FAILED, FREE; 1 dropped 7@100; cancel asked; error CANCELLED; event CANCELLED; drop bytes; " +
				"slips; trusts; tell on-failure"},
		{"not where one behind is out", txn(tx.PhaseDispatching, try(tx.Planned), cancelling),
			decides(atOnce, behindIt(member(8, tx.FatePooled))), "broken"},
		{"nor where each needs the one before it", txn(tx.PhaseDispatching, try(tx.Planned), cancelling), decides(waits), "broken"},
		{"nor after a block", txn(tx.PhaseWatching, try(tx.Sent), cancelling),
			decides(atOnce, sees(tx.FateFailed, 5), waits), "broken"},
	}}
}

// TestProvedAhead: what was proved before its turn tells why it was not sent, and what is known
// of it goes with its proof.
func TestProvedAhead(t *testing.T) {
	t.Parallel()
	r := signed(Prove, 1)
	r.Weight, r.Data = 5, []byte(`{"a":1}`)
	v := view(txn(tx.PhaseDispatching, try(tx.Planned, unplaced), losses(2), deferrals(1)), atOnce, ahead(unmade(6)),
		asked(good()), knows(func(l *Local) { l.Asked.Among = true }))
	s := Learn(v, r)
	a := s.Txn.Last()
	if a.Error == nil || a.Error.Code != tx.CodeProvedAhead || a.Weight != 5 || string(a.Data) != `{"a":1}` ||
		a.EndedAt != now ||
		a.Hash != "" || s.Txn.Losses+s.Txn.Deferred != 0 || s.Txn.Error != nil || s.Txn.Open() {
		t.Errorf("kept: %+v of %+v", a, s.Txn)
	}
	if !s.Local.Asked.Among || s.Local.Asked.Sender == nil || s.Local.Asked.Bytes.Number != 1 {
		t.Errorf("it knows %+v", s.Local.Asked)
	}
	again := view(s.Txn, atOnce, knows(func(l *Local) { *l = s.Local }), ahead(member(6, tx.FatePooled)))
	p := Decide(again)
	if got := p.Txn.Last(); got.State == tx.Unplaced || got.Nonce != nonce || !p.Local.Asked.Among {
		t.Errorf("planned: %+v, knowing %+v", got, p.Local.Asked)
	}
	r = signed(Prove, 2)
	v = view(p.Txn, atOnce, ahead(member(6, tx.FatePooled)))
	if got := Learn(v, r).Txn.Last(); got.Data != nil || got.State != tx.Signed {
		t.Errorf("proved again: %+v", got)
	}
	r = signed(Resign, 2)
	if got := Learn(v, r).Txn.Last(); string(got.Data) != `{"a":1}` || got.State != tx.Signed {
		t.Errorf("signed again: %+v", got)
	}
}

// TestJoinsAtOnce: how many may be with their worker at a time.
func TestJoinsAtOnce(t *testing.T) {
	t.Parallel()
	p, tip := testPolicy(), view(txn(tx.PhaseWatching)).Tip
	proved := Member{Txn: txn(tx.PhaseDispatching, early(8))}
	for name, c := range map[string]struct {
		members []Member
		atOnce  int
		tip     func(*Tip)
		want    bool
	}{
		"one is made":                           {[]Member{unmade(7)}, 2, nil, true},
		"one at a time":                         {[]Member{unmade(7)}, 1, nil, false},
		"as many as it makes":                   {[]Member{unmade(7), unmade(7)}, 2, nil, false},
		"one more":                              {[]Member{unmade(7), unmade(7)}, 3, nil, true},
		"what has its proof is not made":        {[]Member{unmade(7), proved}, 2, nil, true},
		"behind what was not taken yet":         {[]Member{{Txn: txn(tx.PhaseSent, try(tx.Signed))}}, 2, nil, true},
		"nobody knows whether any node has it":  {[]Member{{Txn: txn(tx.PhaseWatching, try(tx.Unknown))}}, 2, nil, false},
		"one has not begun":                     {[]Member{{Txn: txn(tx.PhaseDispatching)}}, 2, nil, false},
		"one waits for its next try":            {[]Member{{Txn: txn(tx.PhaseDelayed, try(tx.Planned, over))}}, 2, nil, false},
		"one is to end":                         {[]Member{{Txn: txn(tx.PhaseDispatching, try(tx.Planned), ending(tx.PhaseFailed))}}, 2, nil, false},
		"one was begun anew, with one open":     {[]Member{{Txn: txn(tx.PhaseDispatching, try(tx.Unknown), try(tx.Planned))}}, 2, nil, false},
		"the last that is out, and one is made": {[]Member{member(7, tx.FatePooled), unmade(8)}, 2, nil, true},
		"that has less than half of its time": {[]Member{member(7, tx.FatePooled), unmade(8)}, 2,
			func(t *Tip) { t.Slot = 325 }, false},
		"none is out, and time means nothing": {[]Member{unmade(8)}, 2, func(t *Tip) { t.Slot = 325 }, true},
		"the chain was looked at long ago":    {[]Member{unmade(8)}, 2, func(t *Tip) { t.Fresh = false }, false},
		"as many as may have a nonce, and one is made beside them": {
			[]Member{member(7, tx.FatePooled), member(8, tx.FatePooled), member(9, tx.FatePooled), proved}, 2, nil, true},
		"as many as may be made beside those": {
			[]Member{member(7, tx.FatePooled), member(8, tx.FatePooled), member(9, tx.FatePooled), proved, proved}, 2, nil,
			false},
		"two that are out have one nonce": {[]Member{member(7, tx.FatePooled), unmade(7), member(7, tx.FatePooled)}, 9, nil, false},
	} {
		now := tip
		if c.tip != nil {
			c.tip(&now)
		}
		if got := p.Joins(c.members, 3, c.atOnce, false, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestYieldsSayWhy: an attempt that ended because its transaction went back says why, and one that
// has said so already says that.
func TestYieldsSayWhy(t *testing.T) {
	t.Parallel()
	e := fault(answer(Prove, 1), FaultError, "E")
	behind := view(txn(tx.PhaseDispatching, try(tx.Planned)), ahead(member(6, tx.FatePooled)))
	if a := Learn(behind, e).Txn.Last(); a.Error == nil || a.Error.Code != "E" {
		t.Errorf("made behind others: %+v", a)
	}
	busy := fault(answer(Prove, 1), FaultBusy, "B")
	behind = view(txn(tx.PhaseDispatching, try(tx.Planned), losses(1)), ahead(member(6, tx.FatePooled)))
	if a := Learn(behind, busy).Txn.Last(); a.Error == nil || a.Error.Code != "B" {
		t.Errorf("its worker is busy, and may have it: %+v", a)
	}
	back := Decide(view(txn(tx.PhaseDispatching, early(6)), asked(good()), atOnce, ahead(member(5, tx.FateExpired))))
	if a := back.Txn.Last(); back.Txn.Phase != tx.PhaseWaiting || a.Error.Code != tx.CodeProvedAhead {
		t.Errorf("proved before its turn: %+v of %+v", a, back.Txn)
	}
}

// TestMemberOf: a member was taken by a node if that was answered of what is open.
func TestMemberOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *tx.Transaction
		said Said
		want bool
	}{
		"a node took it":           {txn(tx.PhaseSent, try(tx.Signed)), Said{Number: 1, State: tx.Sent}, true},
		"no answer":                {txn(tx.PhaseSent, try(tx.Signed)), Said{}, false},
		"nobody knows":             {txn(tx.PhaseSent, try(tx.Signed)), Said{Number: 1, State: tx.Unknown}, false},
		"one that is over":         {txn(tx.PhaseSent, try(tx.Signed, over)), Said{Number: 1, State: tx.Sent}, false},
		"no attempt of the number": {txn(tx.PhaseSent, try(tx.Signed)), Said{Number: 2, State: tx.Sent}, false},
	} {
		m := MemberOf(c.in, tx.Sighting{Fate: tx.FateAbsent}, &Local{Said: c.said, SentAt: clock})
		if m.JustAccepted != c.want || m.Txn != c.in || m.Sighting.Fate != tx.FateAbsent || m.SentAt != clock {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestLeastMaxFee: the smallest fee that may be asked for is one.
func TestLeastMaxFee(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseDispatching, func(t *tx.Transaction) { t.MaxFee = 1 }))
	if got := v.feeMax(); got != 1 {
		t.Error(got)
	}
}

// TestSignedAlone: what may have nothing beside it is known by what was signed.
func TestSignedAlone(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		r := signed(Prove, 1)
		if alone {
			r = lonely(r)
		}
		if got := Learn(view(txn(tx.PhaseDispatching, try(tx.Planned))), r).Txn.Last(); got.Alone != alone ||
			got.State != tx.Signed {
			t.Errorf("alone %v: %+v", alone, got)
		}
	}
	if l := JoinedHere(good()); !l.Asked.Among || l.Own != ownByBind || l.Asked.Sender == nil {
		t.Errorf("joined: %+v", l)
	}
	if l := BoundHere(good()); l.Asked.Among {
		t.Errorf("bound: %+v", l)
	}
}

// TestBackAsRetry: what failed behind others goes back with a retry used, and the time of that.
func TestBackAsRetry(t *testing.T) {
	t.Parallel()
	v := view(txn(tx.PhaseFailing, try(tx.FailedIn, over)), asked(good()), atOnce, ahead(member(6, tx.FateFailed)))
	v.Local.Asked.Retries = new(3)
	if got := Decide(v).Txn; got.Retries != 1 || got.RetriedAt != now || got.Phase != tx.PhaseWaiting {
		t.Errorf("%+v", got)
	}
}

// TestNeverSent: the bytes of what was proved before its turn are not sent in place of others at
// its nonce.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	kept := knows(func(l *Local) {
		l.SentAt, l.Asked.Bytes = time.Time{}, &BytesRead{Number: 1, Command: []byte("bytes")}
	})
	v := view(txn(tx.PhaseSent, early(7), try(tx.Sent)), kept)
	if got := told(v, Decide(v)); got != "absent; look in 10s" {
		t.Error(got)
	}
	v = view(txn(tx.PhaseSent, try(tx.Sent)), kept)
	if got := told(v, Decide(v)); got != "resending; send 1" {
		t.Error(got)
	}
}

// TestBidPastEarly: what was proved before its turn does not hide that an attempt ran out.
func TestBidPastEarly(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]part{
		"planned at once":        {try(tx.Expired, over, fee(100))},
		"proved before its turn": {try(tx.Expired, over, fee(100)), try(tx.Planned, over, unplaced, fee(150), failedBy(tx.CodeProvedAhead))},
	} {
		v := view(txn(tx.PhaseDispatching, append(parts, retried(1))...), auto(3), atOnce)
		if got, _ := v.bid(); got != 150 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if a := lastOut(txn(tx.PhaseDispatching, early(7))); a != nil {
		t.Errorf("nothing else: %+v", a)
	}
}
