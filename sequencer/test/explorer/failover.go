package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A recovery is how far a process is with the store that it talks to.
type recovery struct {
	shut   bool // it binds nothing, and nothing leaves it
	back   bool // what it knows is written back to this store
	joined bool // that was before the store was settled: whoever did has waited for it
	// By transaction: the record that is remembered, and its bytes.
	txns  []*tx.Transaction
	known []lifecycle.Known
}

// newRecovery is that of a process that has just started: it compares the senders with
// the chain before it does anything.
func (s *State) newRecovery() recovery {
	return recovery{shut: s.world.Forgets > 0, back: true, known: make([]lifecycle.Known, len(s.past)),
		txns: make([]*tx.Transaction, len(s.past))}
}

// sure reports whether the claims of a process are surely its own, and the store the one
// that it knows.
func (p *process) sure() bool { return p.live && !p.shut }

// remembers has a process remember what it has read or stored.
func (s *State) remembers(p, t int, txn *tx.Transaction, bytes *lifecycle.BytesRead) {
	if s.world.Forgets == 0 {
		return
	}
	r := &s.procs[p].recovery
	r.txns, r.known = slices.Clone(r.txns), slices.Clone(r.known)
	was := r.txns[t]
	r.txns[t] = lifecycle.Remember(s.procs[p].id, was, txn)
	r.known[t].Bytes = lifecycle.BytesOf(was, r.txns[t], r.known[t].Bytes)
	if r.txns[t] == txn && bytes != nil {
		r.known[t].Bytes = bytes
	}
}

// lacks reports whether a record lacks what a process knows to be out.
func (s *State) lacks(p, t int, txn *tx.Transaction) bool {
	return s.world.Forgets > 0 && lifecycle.Lacks(s.procs[p].id, txn, s.procs[p].txns[t])
}

// elsewhere: a process has met a store that it does not know, so it writes back what it knows once more.
func (s *State) elsewhere(p int) {
	proc := &s.procs[p]
	proc.shut, proc.back, proc.joined = true, false, false
}

// forgets has processes that work forget what they do not drive: time has passed since, with a
// store that lacks nothing.
func (s *State) forgets() {
	if s.store.Unsettled {
		return
	}
	for p := range s.procs {
		r := &s.procs[p].recovery
		if r.shut || !r.back {
			continue
		}
		r.txns, r.known = slices.Clone(r.txns), slices.Clone(r.known)
		for t, h := range s.procs[p].held {
			if h == nil {
				r.txns[t], r.known[t] = nil, lifecycle.Known{}
			}
		}
	}
}

// lag: a replica gets no further.
func (s *State) lag() bool {
	if w := s.world; w.Lags != "" && s.store.Records[0].Txn.Phase != w.Lags {
		return false
	}
	if s.replica != nil || s.fair || !s.spend(Forget) {
		return false
	}
	s.tell("a replica begins to lag")
	s.replica = new(s.store.Clone())
	return true
}

func (s *State) lagging() int { return s.store.writes - s.replica.writes }

// tooFar reports whether a replica lags by more than the world allows.
func (s *State) tooFar() bool { return s.replica != nil && !s.fair && s.lagging() > s.world.Forgets }

// confirmed has the replicas confirm what a process has stored, where it asks them; false if they
// cannot.
func (s *State) confirmed(p int) bool {
	switch {
	case s.replica == nil, !s.world.asks(p), s.world.Another:
	case s.world.CutOff:
		return false
	default:
		s.replica = new(s.store.Clone())
	}
	return true
}

// failOver has the replica take the place of the store: what it lacks is forgotten.
func (s *State) failOver() bool {
	if s.replica == nil || s.lagging() == 0 {
		return false
	}
	s.tell("the store fails over, and forgets the last %d writes", s.lagging())
	former, next := s.store.Clone(), s.replica
	s.replica = nil
	s.serve(next)
	if s.world.Back && s.spend(Forget) {
		former.writes, s.replica = s.store.writes, &former // what is written from here on it lacks
	}
	return true
}

// restart: the store forgets nothing, and has another history.
func (s *State) restart() bool {
	if s.replica != nil || !s.spend(Restart) {
		return false
	}
	s.tell("the store restarts, and has forgotten nothing")
	s.serve(&s.store)
	return true
}

// serve has another store answer from here on. Who lives is known by the heartbeats, which go on.
func (s *State) serve(next *Store) {
	procs, claims := slices.Clone(s.store.Procs), s.store.claims
	for _, o := range next.Procs {
		if s.store.proc(o.ID) == nil {
			procs = append(procs, Proc{ID: o.ID, Lapsed: true}) // that its claims were taken over is forgotten
		}
	}
	s.store = next.Clone()
	s.store.Now, s.store.Procs, s.store.Unsettled = s.now, procs, true
	s.store.claims = max(claims, s.store.claims) + 1000 // it may have forgotten tokens that are still held
	for p := range s.procs {
		s.procs[p].back = !s.procs[p].alive
		s.procs[p].joined = false
	}
	for t := range s.past {
		past, txn := &s.past[t], s.store.Records[t].Txn
		past.untold = past.untold && txn.Callback != ""
		var kept uint8 // what is forgotten is asked again; what came of that is seen
		for i := range txn.Attempts {
			if txn.Attempts[i].Legacy {
				kept |= 1 << txn.Attempts[i].Number
			}
		}
		past.asked &= kept
	}
}

// unsettled: a process is refused a write, for the store may have forgotten something.
func (s *State) unsettled(p int, h *held) {
	h.drive.Stale()
	h.stale = true
	s.procs[p].shut = true
}

// recover has a process do what is to be done before it may work: what it knows is written
// back; when all who live have done so, one of them compares the senders with the chain
// and settles the store. It reports whether it has done anything: what waits for another
// transaction's end is tried again.
func (s *State) recover(p int) bool {
	proc, writes := &s.procs[p], s.store.writes
	switch {
	case !proc.alive || !proc.live:
		return false
	case !proc.back:
		proc.shut = true
		if !s.writeBack(p) {
			return s.store.writes > writes
		}
		s.reread(p)
		return true
	case s.store.Unsettled:
		for i := range s.procs {
			if o := &s.procs[i]; o.alive && o.live && !o.back {
				return false
			}
		}
		proc.shut = true
		if !s.reconcile(p) {
			return s.store.writes > writes
		}
		s.tell("%s settles the store", proc.id)
		s.settle()
		return true
	case proc.shut:
		if !proc.joined && !s.reconcile(p) {
			return s.store.writes > writes
		}
		s.tell("%s goes on", proc.id)
		proc.shut = false
		s.reread(p)
		return true
	}
	return false
}

// reread has a process read all that it drives, and ask anew.
func (s *State) reread(p int) {
	for t, h := range s.procs[p].held {
		if h != nil {
			h = s.hold(p, t)
			h.drive.Anew()
			h.stale, h.anew = true, true
		}
	}
}

// settle: what the store knows is again what the processes and the chain know. What else
// is out nobody can know.
func (s *State) settle() {
	s.store.Unsettled = false
	for i := range s.net {
		if c := s.net[i].cmd; c.nonce >= s.chain[0].next(c.sender) {
			s.mayBeUnknown(c, s.pooled(0, i))
		}
	}
	for _, e := range s.errand {
		s.mayBeUnknown(e.cmd, false)
	}
	for p := range s.procs {
		for _, h := range s.procs[p].held {
			if h != nil && h.call.Leaves() && (h.call.Kind == lifecycle.Send || h.call.Kind == lifecycle.Dispatch) {
				s.mayBeUnknown(h.about, false)
			}
		}
	}
	for i := range s.chain[0].blocks {
		if b := &s.chain[0].blocks[i]; b.full && b.cmd.txn != stranger {
			s.mayBeUnknown(b.cmd, true)
		}
	}
}

// expired reports whether a command ran out as deep as settles that.
func (s *State) expired(c command) bool {
	_, settle, _ := s.world.depths()
	return c.until > 0 && s.chain[0].tip()-settle >= int(c.until)
}

// mayBeUnknown: what is out when the store is settled is stored, unless no replica was
// asked to confirm it, the process that knew it is gone or asleep, and no node shows it.
func (s *State) mayBeUnknown(c command, shown bool) {
	switch {
	case s.knows(c), s.expired(c):
	case shown, s.world.vouched(), s.world.Budget[Crash]+s.world.Budget[Lapse] == 0:
		s.refuse = c.String() + " is out, and the store is settled without it"
	default:
		s.past[c.txn].lose(c)
	}
}

// lose notes what nobody can know: it takes effect beside all that is made since.
func (p *past) lose(c command) {
	switch {
	case p.loses(c):
	case !p.unknown:
		p.lost[0] = c
	default:
		p.lost[1] = c
	}
	p.unknown = true
}

// loses reports whether a command is that, or takes its place.
func (p *past) loses(c command) bool {
	return p.unknown && slices.ContainsFunc(p.lost[:], func(l command) bool {
		return c.sender == l.sender && c.nonce == l.nonce && l.number > 0
	})
}

// knows reports whether a command is one of the attempts that are stored, and of no plan.
func (s *State) knows(c command) bool {
	return slices.ContainsFunc(s.store.Records[c.txn].Txn.Attempts, func(a tx.Attempt) bool {
		return (!a.State.Unmade() || a.Legacy) && senderOf(a.Sender) == int(c.sender) &&
			(a.Nonce == uint32(c.nonce) || a.Legacy)
	})
}

// reconcile compares the senders with what the nodes show; false if that cannot be done
// yet.
func (s *State) reconcile(p int) bool {
	nodes, quorum := s.voters()
	if !quorum {
		return false
	}
	s.tell("%s compares the senders with the chain", s.procs[p].id)
	var found []lifecycle.Use
	var all []compared
	for i := range s.store.Senders {
		c := s.compared(nodes, account(i))
		all, found = append(all, c), append(found, c.used...)
	}
	lifecycle.InOrder(found)
	waits := map[string]bool{}
	for _, u := range found {
		running := all[senderOf(u.Payer)].running
		if !waits[u.UID] && u.Named(running) && !s.place(p, txnOf(u.UID), lifecycle.KnownBy(u, s.now)) {
			waits[u.UID] = true
		}
	}
	for _, c := range all {
		nonce, _, found := lifecycle.Stranger(c.Account, c.Next, c.ledger, c.running, c.used)
		if found && c.Known && !lifecycle.Legacy(c.running, c.Account) {
			s.tell("  a stranger has used nonce %d of %s", nonce, c.Account)
			s.store.Rest(c.Account, lifecycle.Rest{Why: tx.StoppedNonce, By: fmt.Sprint(nonce), For: lifecycle.Never})
		}
	}
	return len(waits) == 0
}

// A compared sender is one as it was before anything found was put back.
type compared struct {
	Sender
	used    []lifecycle.Use
	ledger  uint32
	running []*tx.Transaction
}

func (s *State) compared(nodes []int, name string) compared {
	c := compared{Sender: *s.store.Sender(name)}
	from := c.Next
	if s.store.Unsettled {
		from = 0 // the next nonce may have been raised since by what is restored
	}
	c.used, c.ledger = s.shown(nodes, uint8(senderOf(name)), from)
	if c.Queue != "" {
		for _, uid := range s.store.queue(c.Queue).Run {
			c.running = append(c.running, s.store.Read(uid))
		}
	}
	return c
}

// shown is what any node shows of a sender from a nonce on, and its next by the ledger.
func (s *State) shown(nodes []int, sender uint8, from uint32) (used []lifecycle.Use, ledger uint32) {
	add := func(c command, height int, failed bool) {
		u := lifecycle.Use{Command: lifecycle.Command{Payer: account(int(sender)), Nonce: uint32(c.nonce), Fee: uint64(c.fee),
			ValidUntil: uint32(c.until), Hash: c.hash()}, Height: uint32(height), Failed: failed}
		if c.txn != stranger {
			u.UID = uid(int(c.txn))
		}
		switch i := slices.IndexFunc(used, func(o lifecycle.Use) bool { return o.Hash == u.Hash }); {
		case i < 0 && c.sender == sender && u.Nonce >= from:
			used = append(used, u)
		case i >= 0 && used[i].Height == 0:
			used[i] = u
		case i >= 0 && height > 0 && !failed:
			used[i].Failed = false
		}
	}
	for _, n := range nodes {
		ledger = max(ledger, uint32(s.chain[n].next(sender)))
		for i := range s.chain[n].blocks {
			if b := &s.chain[n].blocks[i]; b.full {
				add(b.cmd, i+1, b.fate != succeeded)
			}
		}
		for i := range s.net {
			if s.pooled(n, i) {
				add(s.net[i].cmd, 0, false)
			}
		}
	}
	slices.SortStableFunc(used, func(a, b lifecycle.Use) int { return int(a.Nonce) - int(b.Nonce) })
	return used, ledger
}

// Adopt binds a transaction to the sender of its open attempt, as after has it, for a
// process to go on with; so are those of its queue that have something out by that sender,
// too. It returns the uid of what else has that sender or the queue, and stores nothing then.
func (s *Store) Adopt(process string, before, after *tx.Transaction, sender string,
	bytes *lifecycle.BytesRead) (by string) {
	q, own := s.queue(before.Queue), s.Sender(sender)
	others := without(q.Run, before.UID)
	run := slices.Concat(others, []string{before.UID})
	for _, uid := range others { // with which it may be in flight
		if o := s.Record(uid).Txn; o.Sender != sender || !o.Open() {
			s.Unsettled = true
			return uid
		}
	}
	if own.Queue != "" && own.Queue != q.Name {
		s.Unsettled = true
		return s.queue(own.Queue).Run[0]
	}
	r := s.Record(before.UID)
	t := after.Clone()
	if was := r.Txn; was.Phase != tx.PhaseWaiting { // that another one released it, or how it ended, is forgotten
		overtaken := r.Overtaken && was.Phase.Bound()
		t.Phase = tx.PhaseWaiting
		s.sender(was, t, &lifecycle.Aside{})
		if a := was.Standing(); a != nil {
			s.stands(was, &lifecycle.Moves{Falls: a.Sender})
		}
		s.move(r, was, t)
		r.Overtaken = overtaken
		s.log(Event{Kind: "t", ID: t.UID, Sender: was.Sender, From: string(was.Phase), To: string(t.Phase),
			Code: tx.CodeRestored})
	}
	r.carry(t, sender)
	t.Revision, t.Phase, t.Claim = before.Revision+1, lifecycle.AdoptedAs(t), s.token(process)
	t.ChangedAt, t.DueAt = s.Now, time.Time{}
	r.Txn = t
	if bytes != nil {
		r.Bytes = bytes
	}
	s.raise(lifecycle.Least(before, after))
	s.lift(own, "RESUMED", func(r Reason) bool { // the nonce is no stranger's
		return r.Why == tx.StoppedNonce && r.By == fmt.Sprint(after.FirstOpen().Nonce)
	})
	for _, uid := range others {
		o := s.Record(uid).Txn.Clone()
		o.Claim, o.Revision = s.token(process), o.Revision+1
		s.Record(uid).Txn = o
	}
	q.Run, q.Hold, q.Alone, q.Holder, q.turn, own.Queue = run, time.Time{}, time.Time{}, nil, 0, q.Name
	slices.SortFunc(run, func(x, y string) int {
		return cmp.Compare(s.Record(x).Txn.Sequence, s.Record(y).Txn.Sequence)
	})
	s.writes++
	s.log(Event{Kind: "t", ID: t.UID, Sender: sender, From: string(tx.PhaseWaiting), To: string(t.Phase),
		Code: "ADOPTED"})
	return ""
}

func (e *encoder) recovery(r *recovery) {
	if e.s.world.Forgets == 0 {
		return
	}
	e.bits(r.shut, r.back, r.joined)
	for t, txn := range r.txns {
		if txn == nil || e.s.budget[Forget]+e.s.budget[Restart] == 0 && e.s.replica == nil && r.back && !e.s.store.Unsettled {
			e.byte(0) // it is never asked for
			continue
		}
		if e.s.store.Records[t].Txn == txn && r.known[t].Bytes == e.s.store.Records[t].Bytes {
			e.byte(1)
			continue
		}
		e.byte(2)
		e.transaction(txn)
		if b := r.known[t].Bytes; b != nil {
			e.int(b.Number)
			e.command(commandOf(string(b.Command)))
		}
	}
}
