package explorer

import (
	"fmt"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// remember keeps how deep effects have stood.
func (s *State) remember() {
	c := s.chain[0]
	for i := range c.blocks {
		b := &c.blocks[i]
		if b.full && b.cmd.txn >= 0 && b.fate == succeeded {
			p := &s.past[b.cmd.txn]
			p.deep = max(p.deep, uint8(min(c.tip()-int(b.height)+1, 9)))
		}
	}
}

// mayStore checks what a process is about to store.
func (s *State) mayStore(p int, before, after *tx.Transaction, step *lifecycle.Step) {
	if before.Revision == after.Revision && before == after {
		s.refuse = "a change that changes nothing"
	}
	// The ranking: whatever is met between, a lost answer brings it nearer to its end until there is
	// an answer.
	back := after.Phase == tx.PhaseWaiting || after.Phase == tx.PhaseDelayed
	if before.Phase == tx.PhaseDispatching && back && after.Losses < before.Losses && after.Doubted == "" {
		s.refuse = "a lost answer is forgotten, and nothing was answered"
	}
	if s.lacks(p, txnOf(before.UID), before) {
		s.refuse = "a change of what the store has forgotten, by a process that knows better"
	}
	if step.Do.Kind != "" {
		s.refuse = "an effect beside a change"
	}
}

// mayLeave checks what is about to leave a process.
func (s *State) mayLeave(proc *process, t int, h *held) {
	if s.store.Unsettled {
		s.mayHaveLeft(t, h)
		return
	}
	r := s.store.Record(uid(t))
	a := r.Txn.Attempt(h.call.Number)
	switch {
	case s.past[t].unknown && Owner(r.Txn.Claim) != proc.id:
		// What nobody could know was found, and put back by another process.
	case !proc.live || Owner(r.Txn.Claim) != proc.id:
		s.refuse = fmt.Sprintf("%s leaves %s without a claim", h.call.Kind, proc.id)
	case a == nil:
		s.refuse = fmt.Sprintf("%s of an attempt that is not stored", h.call.Kind)
	case h.call.Kind == lifecycle.Send && !a.Open() && a.Number != r.Txn.Landed && !sharesLanded(r.Txn, a):
		s.refuse = "bytes are sent of an attempt that is not stored as open"
	case h.call.Kind == lifecycle.Send && s.world.Early == 0 && s.beside(t, a):
		s.refuse = "bytes are sent, and others of it may land at another nonce"
	case h.call.Kind == lifecycle.Send && r.Bytes == nil && s.world.Forgets > 0 && s.world.Budget[Lapse] > 0:
		// The attempt was put back by another process, which did not know the bytes.
	case h.call.Kind == lifecycle.Send && (r.Bytes == nil || !slices.Equal(r.Bytes.Command, h.drive.Bytes(h.call))):
		s.refuse = "bytes are sent that are not stored"
	case h.call.Kind == lifecycle.Send && s.due(proc, r.Txn):
		s.refuse = "bytes are sent after its deadline"
	case h.call.Kind == lifecycle.Prove && !r.Txn.Open() && a.State != tx.Unplaced && !s.stand(r.Txn):
		s.refuse = "a worker is asked to build on what is not in flight any more"
	case h.call.Kind == lifecycle.Send && h.call.Fresh && s.world.Builds && !s.leadsTo(t, a):
		s.refuse = "bytes are sent that were made on another state than the one ahead leaves"
	case h.call.Kind == lifecycle.Dispatch && s.world.Deadline > 0:
		s.refuse = "a worker that sends by itself is asked for what has a deadline"
	case h.call.Kind == lifecycle.Dispatch && s.past[t].asked&(1<<a.Number) != 0:
		s.refuse = "a legacy worker is asked twice for one attempt"
	case h.call.Kind == lifecycle.Dispatch && !s.world.Legacy:
		s.refuse = "a worker that makes proofs is asked to send"
	case h.call.Kind == lifecycle.Dispatch && !a.Open():
		s.refuse = "a legacy worker is asked before that is stored"
	}
	if h.call.Kind == lifecycle.Dispatch {
		s.past[t].asked |= 1 << h.call.Number
	}
}

// leadsTo reports whether what is in flight ahead of a transaction, or has landed, leaves the state that
// an attempt of it was made upon.
func (s *State) leadsTo(t int, a *tx.Attempt) bool {
	if t == 0 || s.store.Records[t-1].Txn.Queue != s.store.Records[t].Txn.Queue {
		return a.Base == ""
	}
	one := s.store.Records[t-1].Txn
	before := one.FirstOpen()
	if before == nil {
		before = one.Attempt(one.Landed)
	}
	switch {
	case before == nil:
		return a.Base == ""
	case !one.Open() && a.Base == "":
		return true
	}
	return a.Base == lifecycle.StateAfter(before.Base, before.Effects)
}

// beside reports whether another attempt of a transaction that is known has landed or may, at
// another nonce, while no node has seen a.
func (s *State) beside(t int, a *tx.Attempt) (found bool) {
	see := func(c command) {
		same := senderOf(a.Sender) == int(c.sender) && a.Nonce == uint32(c.nonce)
		found = found || int(c.txn) == t && !same && slices.ContainsFunc(s.store.Records[t].Txn.Attempts,
			func(o tx.Attempt) bool { return !o.State.Unmade() && o.State != tx.Called && c.isOf(&o) })
	}
	c := s.chain[0]
	for i := range s.net {
		w := &s.net[i]
		if int(w.cmd.txn) == t && w.cmd.isOf(a) {
			return false
		}
		if w.cmd.nonce >= c.next(w.cmd.sender) && !s.expired(w.cmd) {
			see(w.cmd)
		}
	}
	for i := range c.blocks {
		if b := &c.blocks[i]; b.full && b.fate == succeeded {
			see(b.cmd)
		}
	}
	return found
}

// due reports whether the deadline of a transaction has come, by the clock or by what a
// process has seen of the chain.
func (s *State) due(proc *process, t *tx.Transaction) bool {
	return !t.ExpiresAt.IsZero() && (!s.now.Before(t.ExpiresAt) || int(proc.tip.Slot) >= start+s.world.Deadline)
}

func (s *State) dueForSome(t *tx.Transaction) bool {
	return slices.ContainsFunc(s.procs, func(p process) bool { return s.due(&p, t) })
}

// mayHaveLeft checks what leaves a process that does not know yet that the store has
// forgotten something: where replicas are asked, they have it.
func (s *State) mayHaveLeft(t int, h *held) {
	leaves := h.call.Kind == lifecycle.Send || h.call.Kind == lifecycle.Dispatch
	if a := s.store.Record(uid(t)).Txn.Attempt(h.call.Number); leaves && s.world.vouched() && (a == nil || a.Pending()) {
		s.refuse = fmt.Sprintf("%s of what no replica has confirmed", h.call.Kind)
	}
	if h.call.Kind == lifecycle.Dispatch {
		s.past[t].asked |= 1 << h.call.Number
	}
}

// stand reports whether all that run before a transaction may land, as they were signed,
// at the nonces before its own.
func (s *State) stand(t *tx.Transaction) bool {
	run := s.store.queue(t.Queue).Run
	for _, uid := range run[:max(0, slices.Index(run, t.UID))] {
		o := s.store.Record(uid).Txn
		if a := o.FirstOpen(); a == nil || a.Nonce >= t.Last().Nonce || o.Phase == tx.PhaseDispatching {
			return false
		}
	}
	return true
}

func sharesLanded(t *tx.Transaction, a *tx.Attempt) bool {
	l := t.Attempt(t.Landed)
	return l != nil && l.Sender == a.Sender && l.Nonce == a.Nonce
}

// stored checks a change as it was stored.
func (s *State) stored(before, t *tx.Transaction, step *lifecycle.Step) {
	past := &s.past[txnOf(t.UID)]
	confirmations, _, _ := s.world.depths()
	if t.Phase != before.Phase {
		past.untold = t.Phase.Final() && t.Callback != ""
		switch t.Phase {
		case tx.PhaseFailed:
			past.ended = true
			if s.store.Unsettled && !past.unknown && t.Ledger == "" && s.took(t) {
				s.refuse = "FAILED, by a store that has forgotten what is out"
			}
			if t.Error != nil && t.Error.Code == tx.CodeExpired && s.dueForSome(t) {
				break
			}
			if !past.cancelled && t.Retries < s.policy.MaxRetries {
				s.refuse = "FAILED, and retries were left"
			}
		case tx.PhaseUnresolved:
			past.ended = true
		case tx.PhaseDone:
			if s.world.Ledger == noLedger && t.Landed > 0 && int(past.deep) < confirmations {
				s.refuse = "DONE, and its effect has never stood as deep as is claimed"
			}
		}
	}
	if a := s.store.Sender(t.Sender); t.Ledger == "" && before.Phase.Bound() && !t.Phase.Bound() && t.Open() &&
		a != nil && a.Free() {
		s.refuse = "its sender is released while an attempt is open"
	}
	if !before.Open() && t.Open() && t.FirstOpen().State != tx.Resurfaced && t.Phase.Bound() &&
		s.store.Record(t.UID).Overtaken {
		s.refuse = "it may leave, although an earlier one of its queue waits again"
	}
	if s.met != nil {
		s.met.change(s, before, t, step)
	}
}

// took reports whether t took effect, or may by what has left the processes.
func (s *State) took(t *tx.Transaction) bool {
	i := int8(txnOf(t.UID))
	return s.effectOf(i) != nil || s.mayLand(i, true)
}

// Check looks for a promise that is broken in a state; "" if all hold.
func (s *State) Check() string {
	if s.refuse != "" {
		return s.refuse
	}
	if why := s.checkBatches(); why != "" {
		return why
	}
	for t := range s.past {
		if why := s.checkTxn(t); why != "" {
			return uid(t) + ": " + why
		}
	}
	for i := range s.store.Senders {
		if why := checkSender(&s.store.Senders[i]); why != "" {
			return why
		}
	}
	for n := range max(1, s.world.Nodes) {
		if why := s.checkChain(s.chain[n]); why != "" {
			return why
		}
	}
	for p := range s.procs {
		for _, h := range s.procs[p].held {
			if h != nil && h.knowsAnother() {
				return s.procs[p].id + " takes what it knows of one sender for another"
			}
		}
	}
	return s.checkBonds()
}

// knowsAnother reports whether what was asked about a sender is kept with a record
// that has another.
func (h *held) knowsAnother() bool {
	local, sender := h.drive.Local(), h.drive.Txn().Sender
	asked := &local.Asked
	return asked.Sender != nil && asked.Sender.Account != sender || asked.Account != nil && asked.Account.Account != sender
}

// checkChain: at most one effect of each, in the order of their queue.
func (s *State) checkChain(c chain) string {
	var last [4]int8 // of each queue, the latest that took effect
	for i := range last {
		last[i] = -1
	}
	var seen [8]bool
	confirmations, _, _ := s.world.depths()
	ordered := !s.world.Commuting && (s.world.Budget[Reorg] == 0 || confirmations > 1)
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.full || b.cmd.txn < 0 || b.fate != succeeded {
			continue
		}
		if past := &s.past[b.cmd.txn]; past.unknown {
			if seen[b.cmd.txn] && !past.loses(b.cmd) {
				return uid(int(b.cmd.txn)) + " has taken effect twice, beside what nobody could know"
			}
			seen[b.cmd.txn] = seen[b.cmd.txn] || !past.loses(b.cmd)
			continue
		}
		if s.world.Deadline > 0 && int(b.height) > start+s.world.Deadline {
			return uid(int(b.cmd.txn)) + " took effect after its deadline"
		}
		if seen[b.cmd.txn] {
			return uid(int(b.cmd.txn)) + " has taken effect twice"
		}
		seen[b.cmd.txn] = true
		t := s.store.Records[b.cmd.txn].Txn
		q := t.Queue[1] - '0'
		if ordered && last[q] > b.cmd.txn && !s.past[b.cmd.txn].ended && !s.failedBefore(c, b.cmd.txn, last[q]) {
			return t.UID + " took effect after one that was accepted later"
		}
		last[q] = max(last[q], b.cmd.txn)
	}
	return ""
}

// failedBefore reports whether a transaction failed in a block, or a stranger took its
// nonce, before another took effect: who follows it and lands all the same is out of order,
// which is told.
func (s *State) failedBefore(c chain, txn, other int8) bool {
	if s.world.Width < 2 {
		return false
	}
	for i := range c.blocks {
		switch b := &c.blocks[i]; {
		case b.full && b.cmd.txn == txn && b.fate != succeeded, b.full && b.cmd.txn == stranger:
			return true
		case b.full && b.cmd.txn == other && b.fate == succeeded:
			return false
		}
	}
	return false
}

// checkSender: no payload, and no worker's word, takes a sender out of use without an end.
func checkSender(a *Sender) string {
	for _, r := range a.Reasons {
		if r.Why == tx.Rested && r.Until.IsZero() {
			return a.Account + " rests without an end"
		}
	}
	return ""
}

// checkTxn: a transaction has its place, and its end is true.
func (s *State) checkTxn(i int) string {
	t := s.store.Records[i].Txn
	for n := range t.Attempts {
		if a := &t.Attempts[n]; a.ValidUntil == 0 && !a.Legacy && !a.State.Unmade() &&
			t.Ledger == "" && (!s.world.Legacy || !a.Alone) { // else as it was found
			return "an attempt that could land for ever"
		}
	}
	if !t.Phase.Bound() && t.Phase != tx.PhaseDone && !s.past[i].unknown && shallow(t) != nil {
		return "it has left its sender, and what failed of it may land yet"
	}
	switch {
	case t.Phase.Bound():
		q := s.store.queue(t.Queue)
		sender := s.store.Sender(t.Sender)
		if t.Claim == "" || !slices.Contains(q.Run, t.UID) || sender == nil || sender.Queue != t.Queue {
			return "bound, and nobody's, or not where its queue and its sender say"
		}
	case t.Phase == tx.PhaseWaiting:
		if t.Claim != "" || t.Open() {
			return "waits, and has a claim or an open attempt"
		}
	case s.store.Unsettled, s.past[i].unknown, t.Ledger != "":
	default:
		if t.Watched() != (t.Claim != "") {
			return "final, and watched without need, or not although there is need"
		}
		if t.Claim == "" && t.Phase != tx.PhaseDone {
			if s.effectOf(int8(i)) != nil {
				return string(t.State()) + ", and took effect"
			}
			if s.mayLand(int8(i), true) {
				return string(t.State()) + ", unwatched, and may still take effect"
			}
		}
		if b := s.effectOf(int8(i)); t.Phase == tx.PhaseDone && b != nil && t.Landed > 0 && !t.Reopened &&
			(s.world.Budget[Reorg] == 0 || !t.FinalAt.IsZero()) && !b.cmd.isOf(t.Attempt(t.Landed)) {
			return "DONE by another attempt than the one that took effect"
		}
		if t.Phase == tx.PhaseDone && t.Landed > 0 && !t.FinalAt.IsZero() && s.effectOf(int8(i)) == nil {
			return "DONE for good, and no effect"
		}
	}
	return checkAttempts(t)
}

// shallow is an attempt that has failed less deep than settles it.
func shallow(t *tx.Transaction) *tx.Attempt {
	at := slices.IndexFunc(t.Attempts, func(a tx.Attempt) bool { return a.Shallow() })
	return t.Attempt(at + 1)
}

// checkAttempts: what is open, or is to be, has one sender and one nonce.
func checkAttempts(t *tx.Transaction) string {
	open := t.FirstOpen()
	if open == nil {
		return ""
	}
	if t.Phase.Bound() && t.Sender != open.Sender {
		return "bound to another sender than that of its open attempt"
	}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; (a.Open() || a.Pending()) && (a.Sender != open.Sender || a.Nonce != open.Nonce) {
			return "an attempt with another sender or nonce beside an open one"
		}
	}
	return ""
}

// checkBonds: one transaction for a queue, one queue for a sender, and a nonce for one
// transaction of those that may land.
func (s *State) checkBonds() string {
	for i := range s.store.Records {
		t := s.store.Records[i].Txn
		open := t.FirstOpen()
		for k := range s.store.Records {
			u := s.store.Records[k].Txn
			if k == i {
				continue
			}
			train := s.world.trains() && t.Queue == u.Queue && t.Sender == u.Sender && Owner(t.Claim) == Owner(u.Claim)
			if t.Phase.Bound() && u.Phase.Bound() && (t.Queue == u.Queue || t.Sender == u.Sender) && !train {
				return t.UID + " and " + u.UID + " are bound to one sender, or of one queue"
			}
			if open == nil || t.Ledger != "" { // a slot serves others while one is looked for
				continue
			}
			if u.Phase.Bound() && u.Sender == open.Sender && (!train || !t.Phase.Bound()) {
				return "the sender of the open attempt of " + t.UID + " is bound to " + u.UID
			}
			other := u.FirstOpen()
			if other == nil && u.Phase == tx.PhaseDone && u.Reopened {
				other = u.Attempt(u.Landed) // and may land again
			}
			if other == nil {
				other = shallow(u)
			}
			if other != nil && other.Sender == open.Sender && other.Nonce == open.Nonce {
				return t.UID + " and " + u.UID + " have open attempts with one nonce"
			}
		}
	}
	for i := range s.store.Senders {
		a := &s.store.Senders[i]
		if a.Queue != "" {
			run := s.store.queue(a.Queue).Run
			if len(run) == 0 || s.store.Record(run[0]).Txn.Sender != a.Account {
				return a.Account + " is bound to a queue that does not know it"
			}
		}
	}
	return s.checkStops()
}

// checkStops: no sender is stopped for what nobody else did.
func (s *State) checkStops() string {
	if s.anyUnknown() || s.world.Budget[Outsider] > 0 || s.world.Budget[Stray] > 0 {
		return ""
	}
	for i := range s.store.Senders {
		a := &s.store.Senders[i]
		if slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Why == tx.StoppedNonce }) {
			return a.Account + " is stopped for its nonce, and nobody else used it"
		}
	}
	return ""
}

func (s *State) anyUnknown() bool {
	return slices.ContainsFunc(s.past, func(p past) bool { return p.unknown })
}
