package explorer

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

func (e *encoder) process(p int) {
	proc := &e.s.procs[p]
	stored := e.s.store.proc(proc.id)
	e.bits(proc.alive, proc.live, proc.draining, proc.tip.Quorum, proc.tip.At.IsZero(), stored == nil,
		stored != nil && stored.Lapsed)
	if !proc.alive {
		return
	}
	e.recovery(&proc.recovery)
	if n := proc.tip.TipSlot; n == 0 {
		e.byte(127)
	} else { // what is planned on it may be past already
		e.int(max(int(n)-e.s.chain[0].tip(), -e.far()-3))
	}
	for _, n := range proc.seen {
		e.int(int(n))
	}
	if e.s.world.trains() {
		for q, known := range proc.runs {
			e.run(known, "q"+digit(q))
		}
	}
	e.tip = proc.tip
	for t, h := range proc.held {
		if h == nil {
			e.byte('-')
			continue
		}
		e.held(t, h)
		if e.s.world.trains() && len(proc.held) > 1 {
			e.after(proc, h)
		}
	}
}

// run writes what a process knows to run of a queue, where the store has it otherwise.
func (e *encoder) run(known []string, queue string) {
	at := slices.IndexFunc(e.s.store.Queues, func(q Queue) bool { return q.Name == queue })
	if at >= 0 && slices.Equal(known, e.s.store.Queues[at].Run) {
		e.byte('=')
		return
	}
	e.byte('!')
	for _, uid := range known {
		e.int(txnOf(uid))
	}
	e.byte('|')
}

// after writes which of the others had their bytes given to the nodes before h.
func (e *encoder) after(proc *process, h *held) {
	for _, o := range proc.held {
		if o != nil {
			e.bits(h.drive.Local().SentAt.After(o.drive.Local().SentAt))
		}
	}
}

func (e *encoder) held(t int, h *held) {
	stored := e.s.store.Record(uid(t))
	txn := h.drive.Txn()
	same := stored.Txn == txn
	newest := stored.Txn.Revision == txn.Revision
	e.bits(same, newest, stored.Txn.Claim == txn.Claim, h.gone, h.stale, h.watching, h.knowsAnother(), h.anew)
	switch {
	case same:
	case h.stale:
		e.text(string(txn.Phase)) // it is read anew
	default:
		e.transaction(txn)
	}
	e.effect(h.call)
	e.effect(h.stopped)
	e.bits(h.call.Claim == txn.Claim, h.stopped.Claim == txn.Claim, h.drive.Call() == h.call)
	if h.call.Leaves() {
		e.command(h.about)
	}
	if h.stopped.Leaves() {
		e.command(h.late)
	}
	l := h.drive.Local()
	e.local(&l)
	for _, n := range []int{l.Unsent, len(txn.Attempts), len(txn.Attempts) + 1} {
		e.bits(h.drive.Bytes(lifecycle.Effect{Kind: lifecycle.Send, Number: n, Fresh: true}) != nil)
	}
	for _, r := range h.drive.Results() {
		e.result(r)
	}
	e.byte('|')
	if txn.Ledger != "" {
		e.bits(h.seen.At.IsZero(), h.seen.At.After(l.SentAt), l.SubmitAt.After(e.s.now), txn.DoneAt.IsZero(),
			e.s.now.Sub(txn.DoneAt) < recent, e.s.now.Sub(h.seen.At) < recent,
			h.seen.Asked.After(h.seen.At), h.seen.Asked.After(l.SentAt), h.seen.Asked.Sub(h.seen.Since) >= recent)
		if a := txn.Last(); a != nil {
			// Its patience was over then, and it was after its end.
			e.bits(h.seen.At.Sub(a.StartedAt) >= recent, h.seen.Asked.Sub(a.StartedAt) >= recent, h.seen.At.After(a.EndedAt))
		}
		e.text(string(h.seen.State)[:min(1, len(h.seen.State))])
		e.int(l.Submits)
		e.int(l.Resent)
	}
	if g := &h.sighting; h.watching {
		e.text(string(g.Fate)[:2])
		e.bits(g.Agreed, g.Failure.Permanent)
		e.int(min(g.Depth, e.far()))
		e.hash(g.Hash)
		e.int(int(g.AccountNext))
	}
}

func (e *encoder) effect(x lifecycle.Effect) {
	if x.Kind == "" {
		e.byte(0)
		return
	}
	e.text(string(x.Kind))
	e.int(x.Number)
	e.bits(x.Fresh, x.Among)
}

func (e *encoder) local(l *lifecycle.Local) {
	e.int(l.Own)
	e.int(l.Marked)
	e.int(l.Unsent)
	e.int(l.Confirmed)
	e.int(min(l.Resent, 3))
	e.bits(l.Legacy, l.NoResign, e.tip.At.After(l.SentAt), l.Costly.After(e.s.now), e.s.now.Sub(l.ReadAt) < recent)
	e.age(l.SentAt)
	e.age(l.LostAt)
	if b := l.Built; e.s.world.Builds {
		e.bits(l.NoBuild, b.Alone)
		e.int(b.Number)
		e.int(b.Gone)
		e.text(b.Effects)
	}
	if l.Said != (lifecycle.Said{}) {
		e.int(l.Said.Number)
		e.int(slices.Index(tx.AttemptStates, l.Said.State))
		e.hash(l.Said.NodeHash)
		e.slot(l.Said.Slot)
	}
	a := &l.Asked
	e.bits(a.Sender != nil, a.Overtaken, a.Retries != nil, a.Account != nil, a.Landed != nil, a.Bytes != nil, a.Among)
	if a.Sender != nil {
		e.sender(a.Sender)
	}
	if a.Account != nil {
		e.result(*a.Account)
	}
	if a.Landed != nil {
		e.result(*a.Landed)
	}
	if a.Bytes != nil {
		e.result(*a.Bytes)
	}
}

func (e *encoder) sender(s *lifecycle.Sender) {
	e.bits(s.Gone, s.Unusable, s.Next != nil, s.Seen != nil, s.Greeted)
	if s.Next != nil {
		e.int(int(*s.Next))
	}
	if s.Seen != nil {
		e.int(int(*s.Seen))
	}
}

func (e *encoder) result(r lifecycle.Result) {
	switch r := r.(type) {
	case lifecycle.SenderTold:
		e.byte('s')
		e.sender(&r.Sender)
		e.bits(r.Overtaken, r.Call.Among)
	case lifecycle.HealthTold:
		e.byte('h')
		e.text(string(r.Why))
	case lifecycle.RetriesTold:
		e.byte('r')
	case lifecycle.AccountTold:
		e.byte('a')
		e.int(int(r.Nonce))
		e.bits(r.Lost != "", r.Balance == 0)
	case lifecycle.LandedTold:
		e.byte('l')
		e.int(int(r.Nonce))
		e.bits(r.Any)
	case lifecycle.BytesRead:
		e.byte('b')
		e.int(r.Number)
		e.hash(string(r.Command))
	case lifecycle.ChainTold:
		e.byte('c')
	case lifecycle.ConfirmTold:
		e.byte('f')
		e.int(r.Number)
	case lifecycle.Answer:
		e.byte('A')
		e.effect(r.Call)
		e.int(int(r.Nonce))
		e.text(string(r.Fault))
		e.hash(r.Hash)
		e.hash(string(r.Signed))
		e.bits(r.Done != nil, r.Refused, r.Others)
		e.text(r.Effects)
		e.int(r.Ill)
	case lifecycle.SendTold:
		e.byte('S')
		e.effect(r.Call)
		e.hash(r.Hash)
		e.slot(r.Slot)
		e.bits(r.Accepted, r.Lost, r.Refusal != nil, r.Error != nil)
		if f := r.Refusal; f != nil {
			e.bits(f.Permanent, f.Seen, f.Cheap, f.Payers, f.Broke)
		}
	case lifecycle.SubmitTold:
		e.byte('P')
		e.effect(r.Call)
		e.text(string(r.Outcome))
	case lifecycle.Denied:
		e.byte('D')
		e.text(string(r.Why))
	}
}
