package explorer

import (
	"errors"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// The ways in which a write to the store may go.
const (
	writeDone    = iota
	replyLost    // written, and the process does not know
	requestLost  // not written, and the process does not know
	notConfirmed // written, and the replicas have not confirmed it
	writeWays
)

// run has process p do what its drive of transaction t wants done next; way is how the
// write goes, if that is one. It reports false if there is nothing to be done, or
// nothing that can go that way.
func (s *State) run(p, t, way int) bool {
	if s.procs[p].held[t] == nil {
		return false
	}
	before := s.procs[p].held[t].drive.Local()
	s.hold(p, t)
	for range fairSteps {
		h := s.procs[p].held[t]
		a := h.drive.Next(s.view(p, t), s.procs[p].sure())
		s.meet(&a.Step)
		switch {
		case a.Do == lifecycle.ToSleep:
			return s.oversleeps(p, t, h, &a) || before != h.drive.Local()
		case a.Do == lifecycle.ToCall && asks(a.Call.Kind) && !s.world.Slow:
			h.call = a.Call
			s.begin(p, t, h)
			continue
		case a.Do != lifecycle.ToStore && way != writeDone,
			a.Do == lifecycle.ToRead && !s.procs[p].back && s.lacks(p, t, s.store.Read(uid(t))):
			return false
		}
		return s.do(p, t, way, &a)
	}
	s.refuse = "a process asks and asks, and does nothing"
	return true
}

// oversleeps reports whether time alone would give a drive something to do that sleeps
// until something happens. A sending ends soon, and then is looked at again.
func (s *State) oversleeps(p, t int, h *held, a *lifecycle.Action) bool {
	if !a.Look.IsZero() || !s.procs[p].sure() || h.call.Kind == lifecycle.Send {
		return false
	}
	v := s.view(p, t)
	v.Now, v.Clock = v.Now.Add(tick), v.Clock.Add(tick)
	if h.drive.Clone().Next(v, true).Do == lifecycle.ToSleep {
		return false
	}
	s.refuse = uid(t) + " sleeps until something happens, and would go on if it looked again later"
	return true
}

// asks reports whether an effect is a question to the store or to the nodes.
func asks(k lifecycle.Kind) bool {
	switch k {
	case lifecycle.AskSender, lifecycle.AskRetries, lifecycle.AskChain, lifecycle.AskAccount, lifecycle.AskLanded,
		lifecycle.AskBytes, lifecycle.Confirm:
		return true
	}
	return false
}

func (s *State) do(p, t, way int, a *lifecycle.Action) bool {
	proc, h := &s.procs[p], s.procs[p].held[t]
	switch a.Do {
	case lifecycle.ToRead:
		s.tell("%s reads %s", proc.id, uid(t))
		s.read(p, t, h)
	case lifecycle.ToStore:
		return s.write(p, t, h, a, way)
	case lifecycle.ToCall:
		s.tell("%s begins %s of %s, attempt %d (%s)", proc.id, a.Call.Kind, uid(t), a.Call.Number, a.Step.Reason)
		h.call, h.gone = a.Call, false
		s.begin(p, t, h)
	case lifecycle.ToStop:
		s.tell("%s stops %s of %s", proc.id, h.call.Kind, uid(t))
		s.stop(t, h)
	case lifecycle.ToLeave:
		s.drop(p, t, h)
	}
	return true
}

// stop ends the call under way; its answer may still come.
func (s *State) stop(t int, h *held) {
	if h.call.Kind != lifecycle.Submit { // which comes to its own end
		s.abandon(t, h)
	}
	h.stopped, h.late, h.call = h.call, h.about, lifecycle.Effect{}
}

// abandon lets what was asked for go on without anybody who waits: bytes may be on the
// wire, and a legacy worker may still send.
func (s *State) abandon(t int, h *held) {
	if h.stopped.Kind == lifecycle.Submit {
		s.onItsWay(t)
	}
	switch h.call.Kind {
	case lifecycle.Dispatch:
		if !h.gone {
			s.errand = append(s.errand, errand{h.about})
		}
	case lifecycle.Send:
		s.onWire(h.about, false)
	case lifecycle.Submit:
		s.onItsWay(t)
	}
}

// drop ends the drive of a transaction: what is not stored yet is recorded as facts.
func (s *State) drop(p, t int, h *held) {
	s.tell("%s leaves %s", s.procs[p].id, uid(t))
	s.abandon(t, h)
	txn := h.drive.Txn()
	for _, r := range h.drive.Results() {
		a, is := r.(lifecycle.Answer)
		if of := txn.Attempt(a.Call.Number); is && of != nil && a.Hash != "" {
			fact := Fact{Number: of.Number, Sender: of.Sender, Nonce: of.Nonce, Hash: a.Hash}
			if s.store.AddFact(uid(t), fact) != nil && s.writeBack(p) {
				_ = s.store.AddFact(uid(t), fact)
			}
		}
	}
	s.put(p, t, nil)
	s.unlist(p, txn)
}

func (s *State) read(p, t int, h *held) {
	now := s.store.Read(uid(t))
	s.relist(p, now)
	if Owner(now.Claim) != s.procs[p].id {
		s.drop(p, t, h)
		return
	}
	if s.lacks(p, t, now) {
		h.drive.Stale() // and not until that is written back: others may wait for its end
		s.elsewhere(p)
		return
	}
	h.drive.Read(now, s.now)
	h.stale, h.anew = false, false
	if !now.Phase.Bound() {
		s.unlist(p, now)
	}
	s.rewatch(h)
	s.remembers(p, t, now, nil)
}

// write stores what the drive wants stored.
func (s *State) write(p, t int, h *held, a *lifecycle.Action, way int) bool {
	proc := &s.procs[p]
	if way != writeDone && way != notConfirmed && !s.spend(LostReply) {
		return false
	}
	if way == notConfirmed && (!s.world.asks(p) || !a.Moves.Confirm || !s.spend(Unheard)) {
		return false
	}
	if way == requestLost {
		s.tell("%s cannot store %s: no answer, and nothing is written", proc.id, uid(t))
		h.drive.Stale()
		h.stale = true
		return true
	}
	before := h.drive.Txn()
	s.founded(p, before, a.Step.Txn)
	s.mayStore(p, before, a.Step.Txn, &a.Step)
	txn, denied, err := s.store.Advance(&Change{Before: before, After: a.Step.Txn, Aside: a.Step.Aside, Moves: a.Moves,
		Limit: s.policy.FeeLimit, Budgets: s.world.allowances(before.Queue)})
	switch {
	case errors.Is(err, ErrUnsettled):
		s.tell("%s is refused to store %s: %v", proc.id, uid(t), err)
		s.unsettled(p, h)
		return way == writeDone
	case err != nil:
		s.tell("%s is refused to store %s: %v", proc.id, uid(t), err)
		h.drive.Stale()
		h.stale = true
		return way == writeDone
	case denied != nil:
		s.tell("%s is refused to store %s: %s", proc.id, uid(t), denied.Why)
		h.drive.Denied(*denied)
		s.denied(denied.Why)
		return way == writeDone
	}
	s.stored(before, txn, &a.Step)
	s.tell("%s stores %s", proc.id, changeOf(before, txn, &a.Step))
	heard := way != notConfirmed && (!a.Moves.Confirm || s.confirmed(p))
	if way == replyLost {
		s.tell("  and does not learn that it is stored")
		h.drive.Stale()
		h.stale = true
		return true
	}
	if !heard {
		s.denied(lifecycle.Unconfirmed)
		s.tell("  and the replicas do not confirm it")
	}
	h.drive.Stored(txn, !heard)
	if before.Phase.Bound() && !txn.Phase.Bound() {
		s.unlist(p, txn)
	}
	s.rewatch(h)
	s.remembers(p, t, txn, a.Step.Aside.Bytes)
	return true
}

// founded has what is planned behind others say what it is made upon.
func (s *State) founded(p int, before, after *tx.Transaction) {
	of := after.Last()
	if !s.world.Builds || len(after.Attempts) <= len(before.Attempts) || of.Base != "" {
		return
	}
	if ahead := s.train(p, before).Ahead; len(ahead) > 0 {
		of.Base = ahead[len(ahead)-1].Leaves()
	}
}

// rewatch follows what the record asks the chain about.
func (s *State) rewatch(h *held) {
	t := h.drive.Txn()
	if t.Ledger != "" {
		if !lifecycle.FollowsBatch(t) {
			h.seen = lifecycle.BatchSeen{}
		}
		return
	}
	w, found := lifecycle.WatchOf(t, t.UID)
	if found == h.watching && sameWatch(&w, &h.watch) {
		return
	}
	h.watch, h.watching, h.sighting = w, found, tx.Sighting{Fate: tx.FateUnknown}
	if !found {
		h.watch = tx.Watch{}
	}
}

func sameWatch(a, b *tx.Watch) bool {
	return a.Payer == b.Payer && a.Nonce == b.Nonce && a.ValidUntil == b.ValidUntil && a.Since == b.Since &&
		a.Legacy == b.Legacy && a.Found == b.Found && slices.Equal(a.Hashes, b.Hashes)
}

// commandOfCall is what an effect that leaves is to send, or to make.
func (s *State) commandOfCall(t int, h *held) command {
	if h.call.Kind == lifecycle.Send {
		b := h.drive.Bytes(h.call)
		if b == nil {
			s.refuse = "bytes are to be sent that nobody has"
			return command{txn: int8(t)}
		}
		return commandOf(string(b))
	}
	a := h.drive.Txn().Attempt(h.call.Number)
	c := command{txn: int8(t), number: int8(a.Number), sender: uint8(senderOf(a.Sender)), nonce: uint8(a.Nonce),
		fee: uint8(a.Fee)}
	if h.call.Kind != lifecycle.Dispatch {
		c.until = uint16(a.ValidUntil)
	}
	return c
}

// onWire is that bytes have left: known at once, or under way.
func (s *State) onWire(c command, known bool) {
	at := slices.IndexFunc(s.net, func(w wire) bool { return w.cmd == c })
	if at < 0 {
		s.net = append(s.net, wire{cmd: c})
		slices.SortFunc(s.net, func(a, b wire) int { return compare(a.cmd, b.cmd) })
		at = slices.IndexFunc(s.net, func(w wire) bool { return w.cmd == c })
	}
	if !known {
		return
	}
	w := &s.net[at]
	if w.known = true; c.until > 0 && s.chain[0].tip() >= int(c.until) {
		return // expired: no node takes it, nor gives up another for it
	}
	w.pool = 3
	for i := range s.net {
		o := &s.net[i]
		if i == at || o.cmd.sender != c.sender || o.cmd.nonce != c.nonce {
			continue
		}
		if o.cmd.fee > c.fee && o.pool != 0 {
			w.pool = 0
		} else {
			o.pool = 0
		}
	}
}

func compare(a, b command) int {
	if a.hash() < b.hash() {
		return -1
	}
	return 1
}
