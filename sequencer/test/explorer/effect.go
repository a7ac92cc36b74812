package explorer

import (
	"errors"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
	"slices"
)

// begin starts an effect. What the store or the nodes are asked is answered at once,
// and learnt later.
func (s *State) begin(p, t int, h *held) {
	proc, txn := &s.procs[p], h.drive.Txn()
	switch h.call.Kind {
	case lifecycle.AskSender:
		s.answer(h, lifecycle.SenderTold{Call: h.call, Sender: s.senderAsKnown(p, txn.Sender),
			Overtaken: s.store.Record(uid(t)).Overtaken})
	case lifecycle.AskHealth:
		return // answered by a move
	case lifecycle.AskRetries:
		s.answer(h, lifecycle.RetriesTold{})
	case lifecycle.AskChain:
		call := h.call
		s.poll(p)
		u := s.hold(p, t)
		u.call = call
		s.answer(u, lifecycle.ChainTold{})
	case lifecycle.AskAccount:
		told := s.accountAsKnown(txn.Sender)
		s.answer(h, told)
		if told.Exists && told.Balance >= s.policy.FeeMax {
			proc.seen = slices.Clone(proc.seen)
			proc.seen[senderOf(txn.Sender)] = int16(told.Nonce)
		}
	case lifecycle.AskLanded:
		nonce, any := s.store.HighestLanded(txn.Sender)
		s.answer(h, lifecycle.LandedTold{Nonce: nonce, Any: any})
	case lifecycle.AskBytes:
		r := lifecycle.BytesRead{}
		if b := s.store.Record(uid(t)).Bytes; b != nil {
			r = *b
		}
		s.answer(h, r)
	case lifecycle.AskRecord:
		h.drive.Stale()
		h.stale = true
		s.answer(h, nil)
	case lifecycle.Confirm:
		s.confirm(p, t, h)
	case lifecycle.Submit:
		s.mayPost(proc, t, h)
	default:
		s.mayLeave(proc, t, h)
		h.about = s.commandOfCall(t, h)
	}
}

// confirm has the replicas confirm what is stored, by a write that changes nothing.
func (s *State) confirm(p, t int, h *held) {
	txn := h.drive.Txn()
	moves := lifecycle.Moves{Keep: txn.Watched(), Confirm: true, Remove: lifecycle.Never}
	stored, _, err := s.store.Advance(&Change{Before: txn, After: txn, Moves: moves})
	number := h.call.Number
	if err == nil && s.confirmed(p) {
		h.drive.Read(stored, s.now)
		s.answer(h, lifecycle.ConfirmTold{Number: number})
		return
	}
	if errors.Is(err, ErrUnsettled) {
		s.unsettled(p, h)
	} else {
		h.drive.Stale()
		h.stale = true
	}
	s.answer(h, nil)
}

// answer ends the call under way.
func (s *State) answer(h *held, r lifecycle.Result) {
	h.drive.Add(h.call, r)
	h.call, h.gone = lifecycle.Effect{}, false
}

// senderAsKnown is what a process knows of a sender.
func (s *State) senderAsKnown(p int, name string) lifecycle.Sender {
	a := s.store.Sender(name)
	if a == nil || a.Gone {
		return lifecycle.Sender{Account: name, Gone: true}
	}
	k := lifecycle.Sender{Account: name, Greeted: s.world.Budget[WrongKey] == 0}
	for _, r := range a.Reasons {
		k.Unusable = k.Unusable || r.Why != tx.Rested
	}
	if a.Known {
		k.Next = new(a.Next)
	}
	if seen := s.procs[p].seen[senderOf(name)]; seen >= 0 {
		k.Seen = new(uint32(seen))
	}
	return k
}

// accountAsKnown is what all nodes that answer say of an account.
func (s *State) accountAsKnown(name string) lifecycle.AccountTold {
	nodes, quorum := s.voters()
	sender := uint8(senderOf(name))
	next := s.chain[nodes[0]].next(sender)
	if !quorum || s.chain[nodes[len(nodes)-1]].next(sender) != next {
		return lifecycle.AccountTold{Account: name, Lost: "the nodes do not agree, or too few answer"}
	}
	balance := uint64(100)
	if s.broke {
		balance = 0
	}
	return lifecycle.AccountTold{Account: name, Exists: true, Nonce: uint32(next), Balance: balance}
}

// A way is one of the ends that a call may take.
type way int

// All ways. Each call knows some.
const (
	answered way = iota
	sendsNow     // a legacy worker sends, and does not answer yet
	strays       // the same, with another nonce
	errs
	refusedByNode
	hopeless
	getsLost
	mayHaveSent
	busy
	unreached
	outOfOrder
	finished
	saysNothing
	noCall
	lostOnTheWay
	lostBehind
	half
	refusedMendable
	refusedForGood
	refusedCheap
	refusedBroke
	refusedAndTaken
	wrongKey
	tokenGone   // a worker has what it built no more
	otherwise   // what it builds does something else than before
	strangeCall // as if it did not know the call, which it has answered before
	ways
)

var faultOf = map[way]lifecycle.Fault{
	errs: lifecycle.FaultError, refusedByNode: lifecycle.FaultError, hopeless: lifecycle.FaultHopeless,
	getsLost: lifecycle.FaultLost, mayHaveSent: lifecycle.FaultSent, busy: lifecycle.FaultBusy,
	unreached: lifecycle.FaultUnreached, outOfOrder: lifecycle.FaultOutOfOrder, noCall: lifecycle.FaultNoCall,
	strangeCall: lifecycle.FaultNoCall, tokenGone: lifecycle.FaultGone,
}

var budgetOf = map[way]Fault{
	strays: Stray, wrongKey: WrongKey, errs: WorkerErr, refusedByNode: WorkerErr, saysNothing: WorkerErr,
	hopeless: Hopeless, getsLost: WorkerLost, mayHaveSent: WorkerLost, finished: Finished,
	tokenGone: Gone, otherwise: Differ, strangeCall: Busy, busy: Busy, unreached: Busy, outOfOrder: Busy,
	lostOnTheWay: LostSend, lostBehind: LostSend, half: LostSend,
	refusedMendable: Refuse, refusedForGood: Refuse, refusedCheap: Refuse, refusedBroke: Refuse, refusedAndTaken: Refuse,
}

var waysOf = map[lifecycle.Kind][]way{
	lifecycle.AskHealth: {answered, wrongKey},
	lifecycle.Build:     {answered, otherwise, errs, hopeless, getsLost, busy, unreached, finished},
	lifecycle.Prove: {answered, tokenGone, errs, hopeless, getsLost, busy, unreached, outOfOrder, finished, saysNothing,
		strangeCall},
	lifecycle.Resign: {answered, errs, getsLost, noCall, saysNothing},
	lifecycle.Dispatch: {answered, sendsNow, strays, errs, refusedByNode, hopeless, getsLost, mayHaveSent, busy,
		unreached, outOfOrder, finished},
	lifecycle.Send: {answered, lostOnTheWay, lostBehind, half, refusedMendable, refusedForGood, refusedCheap,
		refusedBroke, refusedAndTaken},
	lifecycle.Submit: {answered, lostOnTheWay, lostBehind, busy, unreached, hopeless},
}

// end has the call under way, or one that was stopped, end in one of its ways.
func (s *State) end(p, t int, late bool, w way) bool {
	if s.procs[p].held[t] == nil {
		return false
	}
	h := s.hold(p, t)
	call := h.call
	if late {
		call = h.stopped
		h.stopped = lifecycle.Effect{}
	}
	if call.Kind == lifecycle.Prove && s.world.Legacy {
		w = noCall
	}
	if f, costs := budgetOf[w]; costs && !late && !s.spend(f) {
		return false
	}
	u := *h
	u.call = call
	if late {
		u.about, u.gone = h.late, true // an errand of its own, if it has not sent
	}
	r := s.endOf(p, t, &u, w)
	if s.refuse == "cannot be" {
		s.refuse = ""
		return false
	}
	if !late {
		h.gone = u.gone
	}
	if r == nil {
		return w == sendsNow || w == strays
	}
	s.tell("%s gets the answer to %s of %s: %s", s.procs[p].id, call.Kind, uid(t), wayName[w])
	if s.met != nil {
		s.met.result(r)
	}
	if late {
		if sent, is := r.(lifecycle.SendTold); is && sent.Refusal != nil {
			// A refusal counts with a look at the chain after it, which a stopped call does not take.
			sent.Refusal, sent.Lost = nil, true
			r = sent
		}
		h.drive.Add(call, r)
		return true
	}
	if sent, is := r.(lifecycle.SendTold); w == refusedByNode || is && sent.Refusal != nil && call.Fresh {
		s.poll(p) // which knows more than the node that refused
		h = s.hold(p, t)
	}
	s.answer(h, r)
	return true
}

func (s *State) endOf(p, t int, h *held, w way) lifecycle.Result {
	switch h.call.Kind {
	case lifecycle.AskHealth:
		if w == wrongKey {
			return lifecycle.HealthTold{Why: tx.WrongAccount, Detail: "another key"}
		}
		return lifecycle.HealthTold{}
	case lifecycle.Send:
		return s.endOfSend(h, w)
	case lifecycle.Dispatch:
		return s.endOfDispatch(t, h, w)
	case lifecycle.Submit:
		return s.endOfSubmit(t, h, w)
	}
	a := lifecycle.Answer{Call: h.call, Fault: faultOf[w], Sender: account(int(h.about.sender)),
		Nonce: uint32(h.about.nonce)}
	s.ill(&a)
	switch w {
	case answered, otherwise:
		a.Effects = s.effects(t, h, w)
		if h.call.Kind == lifecycle.Build {
			break
		}
		c := h.about
		a.Signed = []byte(c.hash())
		if s.world.Market {
			a.Weight = signedWeight
		}
		if !s.world.Hashless {
			a.Hash = c.hash()
		}
	case finished:
		a.Done = []byte(`{"by":"worker"}`)
	case strangeCall:
		a.Proves = true
	case saysNothing, tokenGone:
	default:
		a.Error = &tx.Error{Code: "W", Message: "a worker's error"}
	}
	return a
}

// effects are, by name, what is built, proved or signed again: those of a method that is run, of what was
// built, or of the proof that there is.
func (s *State) effects(t int, h *held, w way) string {
	if !s.world.Builds {
		return ""
	}
	built, txn := h.drive.Local().Built, h.drive.Txn()
	switch {
	case h.call.Kind == lifecycle.Prove && built.Number == h.call.Number:
		return built.Effects
	case h.call.Kind == lifecycle.Resign:
		for i := h.call.Number - 1; i >= 0; i-- {
			if a := &txn.Attempts[i]; a.Effects != "" {
				return a.Effects
			}
		}
	case w == otherwise, s.differs[t]:
		s.differs[t] = true
		return "other " + uid(t)
	}
	return uid(t)
}

// ill says of a worker that calls something hopeless what is counted against its sender.
func (s *State) ill(a *lifecycle.Answer) {
	if a.Fault != lifecycle.FaultHopeless {
		return
	}
	for i := range s.store.Senders {
		switch o := &s.store.Senders[i]; {
		case o.Account == a.Sender:
			a.Ill = o.Streak
		case !o.Gone && len(o.Reasons) == 0:
			a.Others = true
		}
	}
}

// endOfDispatch: a legacy worker has sent, or has not, or nobody knows.
func (s *State) endOfDispatch(t int, h *held, w way) lifecycle.Result {
	c := h.about
	a := lifecycle.Answer{Call: h.call, Fault: faultOf[w], Refused: w == refusedByNode, Sender: account(int(c.sender)),
		Nonce: uint32(c.nonce)}
	s.ill(&a)
	switch w {
	case answered, sendsNow, strays:
		if h.gone && w != answered {
			s.refuse = "cannot be"
			return nil
		}
		if w == strays {
			if c.nonce++; s.chain[0].next(c.sender) < c.nonce-1 {
				c.nonce = s.chain[0].next(c.sender)
			}
		}
		if !h.gone {
			s.tell("the worker of %s sends %s", uid(t), c)
			s.onWire(c, true)
			h.gone = true
		}
		if w != answered {
			return nil
		}
		a.Hash = c.hash()
		for i := range s.net { // what it has sent, whatever nonce that took
			if o := s.net[i].cmd; o.txn == c.txn && o.number == c.number {
				a.Hash = o.hash()
			}
		}
		return a
	case getsLost, mayHaveSent:
		if !h.gone {
			s.errand = append(s.errand, errand{c})
		}
	case refusedByNode:
	default:
		if h.gone {
			s.refuse = "cannot be"
			return nil
		}
	}
	if w == finished {
		a.Done = []byte(`{"by":"worker"}`)
		return a
	}
	a.Error = &tx.Error{Code: "W", Message: "a worker's error"}
	return a
}

// endOfSend: the nodes take the bytes, refuse them, or nobody knows. What is in a block
// already, or too late, they refuse by themselves.
func (s *State) endOfSend(h *held, w way) lifecycle.Result {
	c := h.about
	r := lifecycle.SendTold{Call: h.call, Slot: uint32(s.chain[0].tip())}
	spent := c.nonce < s.chain[0].next(c.sender)
	late := c.until > 0 && s.chain[0].tip() >= int(c.until)
	switch w {
	case answered:
		switch {
		case spent:
			r.Refusal = &lifecycle.Refusal{Error: tx.Error{Code: "Invalid_nonce"}, Seen: true}
		case late:
			r.Refusal = &lifecycle.Refusal{Error: tx.Error{Code: "Expired"}}
		case s.world.Width > 1 && !s.reaches(0, c):
			r.Refusal = &lifecycle.Refusal{Error: tx.Error{Code: "Invalid_nonce"}, Seen: true}
		default:
			s.onWire(c, true)
			r.Accepted, r.Hash = true, c.hash()
		}
	case lostOnTheWay:
		s.onWire(c, false)
		r.Lost, r.Error = true, &tx.Error{Code: tx.CodeNoAnswer, Message: "no node answered"}
	case lostBehind, half:
		if spent {
			s.refuse = "cannot be"
			return nil
		}
		s.onWire(c, true)
		r.Lost = w == lostBehind
		r.Error = &tx.Error{Code: tx.CodeNoAnswer, Message: "one node did not answer"}
	default:
		if w == refusedAndTaken {
			if spent || late {
				s.refuse = "cannot be"
				return nil
			}
			s.onWire(c, true)
		}
		r.Refusal = &lifecycle.Refusal{Error: tx.Error{Code: "R", Message: "refused"},
			Permanent: w == refusedForGood,
			Cheap:     w == refusedCheap, Payers: w == refusedBroke, Broke: w == refusedBroke}
	}
	return r
}

var wayName = [ways]string{"done", "", "", "an error", "an error, concluded from a node's refusal",
	"an error for good", "lost",
	"an error that may hide a sending", "busy", "not reached", "out of order", "nothing to send",
	"neither a transaction nor done",
	"no such call", "lost, perhaps on the way there", "lost, on the way back", "neither taken nor refused by all",
	"refused by every node",
	"refused by every node for good", "refused by every node as too cheap", "refused by every node for lack of funds",
	"refused by every node, and taken by them",
	"it signs for another account", "it has what was built no more", "done, and otherwise than before",
	"no such call, for once"}
