package explorer

import (
	"cmp"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Free reports whether a sender can be bound.
func (a *Sender) Free() bool { return !a.Gone && a.Queue == "" && len(a.Reasons) == 0 }

// kept reports whether a sender is out of use for more than a rest.
func (a *Sender) kept() bool {
	return slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Why != tx.Rested })
}

// Register adds a sender, free and with no nonce known unless it was one before.
func (s *Store) Register(account, group string) {
	a := s.Sender(account)
	if a == nil {
		s.Senders = append(s.Senders, Sender{Account: account})
		a = s.Sender(account)
	}
	a.Gone, a.Group, a.turn = false, group, s.turnNow()
	s.log(Event{Kind: "s", ID: account, Sender: account, Code: "REGISTERED"})
}

// Configure has a configuration name a sender anew, of a group.
func (s *Store) Configure(account, group string) {
	a := s.Sender(account)
	moves := a.Group != group
	a.Group = group
	s.lift(a, "", func(r Reason) bool { return r.Why == tx.Draining && r.By == "config" })
	if moves && a.Free() {
		a.turn = s.turnNow()
	}
}

// Unregister takes a sender out for good, unless it is bound. Its next nonce stays known,
// and that nobody knows what became of an attempt.
func (s *Store) Unregister(account string) error {
	i := slices.IndexFunc(s.Senders, func(a Sender) bool { return a.Account == account })
	switch {
	case i < 0 || s.Senders[i].Gone:
		return ErrGone
	case s.Senders[i].Queue != "":
		return ErrBusy
	}
	a := &s.Senders[i]
	a.forgetNonce()
	a.Reasons = slices.DeleteFunc(slices.Clone(a.Reasons),
		func(r Reason) bool { return r.Why != tx.OutcomeUnknown })
	if a.Gone, a.Group, a.Streak = true, "", 0; !a.Known && len(a.Reasons) == 0 {
		s.Senders = slices.Delete(s.Senders, i, i+1)
	}
	s.log(Event{Kind: "s", ID: account, Sender: account, Code: "REMOVED"})
	return nil
}

// Rest takes a sender out of use. A reason that ends by itself does not end what only a
// person may end.
func (s *Store) Rest(account string, rest lifecycle.Rest) {
	a := s.Sender(account)
	if a == nil || a.Gone {
		return
	}
	r := Reason{Why: rest.Why, By: rest.By, Detail: rest.Detail}
	if rest.For >= 0 {
		r.Until = s.Now.Add(rest.For)
	}
	reasons := slices.Clone(a.Reasons)
	at := slices.IndexFunc(reasons, func(o Reason) bool { return o.Why == r.Why && o.By == r.By })
	switch {
	case at < 0:
		reasons = append(reasons, r)
		s.log(Event{Kind: "s", ID: account, Sender: account, Code: string(r.Why)})
	case rest.For < 0 || !reasons[at].Until.IsZero():
		reasons[at] = r
	}
	s.keep(a, reasons)
}

// keep stores what keeps a sender out of use. What runs on it is told where that makes a
// difference.
func (s *Store) keep(a *Sender, reasons []Reason) {
	was := a.kept()
	if a.Reasons = reasons; was != a.kept() && a.Queue != "" {
		s.heed(s.queue(a.Queue))
	}
}

// raise notes the least that the next nonces of accounts are.
func (s *Store) raise(all map[string]uint32) {
	for account, least := range all {
		if a := s.Sender(account); a != nil && (!a.Known || a.Next < least) {
			a.Known, a.Next = true, least
		}
	}
}

// Resume has a person put a sender back into use; what is unknown has to be settled
// first. One that was stopped for its nonce has the chain asked for the next.
func (s *Store) Resume(account string) {
	a := s.Sender(account)
	if a == nil || a.Gone {
		return
	}
	a.Streak = 0
	a.forgetNonce()
	s.lift(a, "RESUMED", func(r Reason) bool { return r.Why != tx.OutcomeUnknown })
}

// forgetNonce has the chain asked for the next nonce of one that was stopped for it.
func (a *Sender) forgetNonce() {
	if slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Why == tx.StoppedNonce }) {
		a.Known, a.Next = false, 0
	}
}

// Lift takes back the reasons of a sender for which gone is true; code is that of the
// event, "" for none.
func (s *Store) Lift(account, code string, gone func(Reason) bool) {
	if a := s.Sender(account); a != nil {
		s.lift(a, code, gone)
	}
}

func (s *Store) lift(a *Sender, code string, gone func(Reason) bool) {
	kept := slices.DeleteFunc(slices.Clone(a.Reasons), gone)
	lifted := len(kept) < len(a.Reasons)
	s.keep(a, kept)
	if !lifted {
		return
	}
	if code != "" {
		s.log(Event{Kind: "s", ID: a.Account, Sender: a.Account, Code: code})
	}
	if a.Free() {
		a.turn = s.turnNow()
	}
}

// Shown is the gravest of what keeps a sender out of use, and of several that are alike
// the one that ends last; false if nothing does.
func (a *Sender) Shown() (Reason, bool) {
	if len(a.Reasons) == 0 {
		return Reason{}, false
	}
	return slices.MinFunc(a.Reasons, func(x, y Reason) int {
		if x.Why == y.Why && x.Until.IsZero() != y.Until.IsZero() {
			return cmp.Compare(bit(y.Until.IsZero()), bit(x.Until.IsZero()))
		}
		return cmp.Or(cmp.Compare(rank[x.Why], rank[y.Why]), y.Until.Compare(x.Until))
	}), true
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rank puts the gravest first.
var rank = map[tx.SenderReason]int{
	tx.OutcomeUnknown: 1, tx.StoppedNonce: 2, tx.WrongNetwork: 3, tx.WrongAccount: 4,
	tx.LowBalance: 5, tx.Draining: 6, tx.Rested: 7,
}

// Turns are the queues that can be bound and the senders that are free, the first to be
// bound first.
func (s *Store) Turns() (queues, senders []string) {
	ready := slices.DeleteFunc(slices.Clone(s.Queues), func(q Queue) bool { return q.turn == 0 })
	slices.SortFunc(ready, func(x, y Queue) int { return cmp.Compare(x.turn, y.turn) })
	for i := range ready {
		queues = append(queues, ready[i].Name)
	}
	free := slices.DeleteFunc(slices.Clone(s.Senders), func(a Sender) bool { return !a.Free() })
	slices.SortFunc(free, func(x, y Sender) int { return cmp.Compare(x.turn, y.turn) })
	for i := range free {
		senders = append(senders, free[i].Account)
	}
	return queues, senders
}
