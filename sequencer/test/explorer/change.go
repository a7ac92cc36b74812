package explorer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A Change is what replaces a record, with all that moves with it.
type Change struct {
	Before, After *tx.Transaction
	Aside         lifecycle.Aside
	Moves         lifecycle.Moves
	Op            string // the same one again gets the first answer
	// The most that fees may come to in a day, 0 for no limit.
	LimitSender, Limit uint64
	Budgets            []Allowance
}

// An Allowance is a budget that is counted with besides; Most is 0 for no limit.
type Allowance struct {
	Name string
	Most uint64
}

const day = 24 * time.Hour

// Advance applies a change, if the claim and the revision are still those that it was
// decided on. It returns the record as stored. Errors: ErrGone, ErrFenced, ErrStale,
// ErrUnsettled, and a lifecycle.Denied beside a nil error where a rule forbids it.
func (s *Store) Advance(c *Change) (*tx.Transaction, *lifecycle.Denied, error) {
	r := s.Record(c.Before.UID)
	if r == nil {
		return nil, nil, ErrGone
	}
	was := r.Txn
	switch {
	case c.Op != "" && r.Op == c.Op:
		return merged(r), nil, nil
	case !c.Aside.Person && was.Claim != c.Before.Claim:
		return nil, nil, ErrFenced
	case was.Revision != c.Before.Revision:
		return nil, nil, ErrStale
	case c.Moves.Confirm && s.Unsettled:
		return nil, nil, ErrUnsettled
	case c.Moves.Trusts && s.Unsettled:
		return nil, nil, ErrUnsettled
	case c.Moves.Last && s.followed(was):
		return nil, nil, ErrFollowed
	case c.Moves.InOrder && r.Overtaken:
		return nil, &lifecycle.Denied{Why: lifecycle.Overtaken}, nil
	case c.Aside.Follows != nil && s.above(was.Sender, *c.Aside.Follows):
		return nil, &lifecycle.Denied{Why: lifecycle.Used}, nil
	}
	if cost := c.After.Cost(); cost != r.Cost {
		if d := s.charge(r, c.After, cost, c.LimitSender, c.Limit, c.Budgets); d != nil {
			return nil, d, nil
		}
	}
	t := c.After.Clone()
	t.Revision, t.Claim = was.Revision+1, was.Claim
	t.Callback, t.CallbackTries, t.Told = was.Callback, was.CallbackTries, was.Told // stand beside the record
	if !t.DueAt.IsZero() && t.DueAt.Before(s.Now) {
		t.DueAt = s.Now
	}
	t.ChangedAt = was.ChangedAt
	if t.Phase != was.Phase {
		t.ChangedAt = s.Now
	}
	switch {
	case !t.Phase.Bound() && !c.Moves.Keep:
		t.Claim = ""
	case t.Claim == "" && c.Aside.Process != "":
		t.Claim = s.token(c.Aside.Process)
	}
	r.Txn, r.Op = t, c.Op
	s.writes++
	s.bytes(r, &c.Aside)
	s.sender(was, t, &c.Aside)
	s.stands(was, &c.Moves)
	s.move(r, was, t)
	if c.Aside.Absolved != "" {
		s.absolve(s.Sender(t.Sender), s.Sender(c.Aside.Absolved))
	}
	if was.Phase != t.Phase || c.Aside.Code != "" {
		s.log(Event{Kind: "t", ID: t.UID, Sender: t.Sender, From: string(was.Phase), To: string(t.Phase),
			Attempt: c.Moves.Attempt, Code: c.Aside.Code})
	}
	s.hold(was, t, c)
	return merged(r), nil, nil
}

// above reports whether the next nonce of a sender is above n.
func (s *Store) above(account string, n uint32) bool {
	own := s.Sender(account)
	return own != nil && own.Known && own.Next > n
}

func (s *Store) bytes(r *Record, a *lifecycle.Aside) {
	switch {
	case a.Bytes != nil:
		r.Bytes = a.Bytes
	case a.DropBytes:
		r.Bytes = nil
	}
}

// sender moves nonces and gives reasons: rested first, so that a release does not offer
// it.
func (s *Store) sender(was, t *tx.Transaction, a *lifecycle.Aside) {
	ours := a.Rest != nil && a.Rest.Above != nil && s.above(t.Sender, *a.Rest.Above)
	if own := s.Sender(t.Sender); own != nil {
		switch {
		case a.ForgetNonce:
			own.Known, own.Next = false, 0
		case a.NextNonce != nil:
			own.Known, own.Next = true, *a.NextNonce
		}
	}
	s.raise(a.Least)
	if a.Rest != nil && !ours {
		rest := *a.Rest
		if rest.Why == tx.OutcomeUnknown {
			rest.By = t.UID
		}
		s.Rest(t.Sender, rest)
		if own := s.Sender(t.Sender); own != nil && a.Rest.By == lifecycle.ByDoubt {
			own.Streak++
		}
	}
	if own := s.Sender(t.Sender); own != nil && was.Phase == tx.PhaseUnresolved &&
		(t.Phase != was.Phase || !t.Open()) {
		s.lift(own, "RESUMED", func(r Reason) bool { return r.Why == tx.OutcomeUnknown && r.By == t.UID })
	}
}

// absolve takes back what two senders are doubted for.
func (s *Store) absolve(own, other *Sender) {
	for _, a := range []*Sender{own, other} {
		if a != nil && !a.Gone {
			a.Streak = 0
		}
	}
	if other != nil {
		s.lift(other, "RESUMED", func(r Reason) bool { return r.Why == tx.Rested && r.By == lifecycle.ByDoubt })
	}
}

// stands keeps the index of what is DONE and may be orphaned.
func (s *Store) stands(was *tx.Transaction, m *lifecycle.Moves) {
	if m.Falls == "" && m.Stands == "" {
		return
	}
	s.Landed = slices.DeleteFunc(slices.Clone(s.Landed), func(l Standing) bool {
		return l.UID == was.UID && (l.Account == m.Falls || l.Account == m.Stands)
	})
	if m.Stands != "" {
		s.Landed = append(s.Landed, Standing{Account: m.Stands, UID: was.UID, Nonce: m.Nonce})
	}
}

// move takes a transaction out of one place and puts it into another.
func (s *Store) move(r *Record, was, t *tx.Transaction) {
	if was.Phase == t.Phase {
		return
	}
	q := s.queue(t.Queue)
	if t.Phase == tx.PhaseWaiting {
		r.Overtaken = false
	}
	if was.Phase == tx.PhaseWaiting {
		q.atOnce()
	}
	if was.Phase == tx.PhaseDone {
		t.Callback, t.CallbackTries = "", 0
		if s.Awaits(q, t.UID) {
			s.answered(q, t.UID)
		}
		for _, uid := range q.Run {
			if run := s.Record(uid); t.Phase == tx.PhaseWaiting && run.Txn.Sequence > t.Sequence {
				run.Overtaken = true
			}
		}
	}
	if was.Phase.Bound() && !t.Phase.Bound() {
		s.release(q, t)
	}
}

// release ends the bond of queue and sender.
func (s *Store) release(q *Queue, t *tx.Transaction) {
	q.Run = without(q.Run, t.UID)
	own := s.Sender(t.Sender)
	switch t.Phase {
	case tx.PhaseUnresolved:
		if s.UnresolvedLimit > 0 {
			s.streak(q, own)
		}
	case tx.PhaseDone:
		q.Streak = 0
		if own != nil {
			own.Streak = 0
		}
	}
	if own != nil && len(q.Run) == 0 {
		own.Queue = ""
		if own.Free() {
			own.turn = s.turnNow()
		}
	}
}

// followed reports whether others of its queue are bound behind a transaction.
func (s *Store) followed(t *tx.Transaction) bool {
	run := s.queue(t.Queue).Run
	return slices.Contains(run, t.UID) && run[len(run)-1] != t.UID
}

// streak counts what ended UNRESOLVED in a row.
func (s *Store) streak(q *Queue, own *Sender) {
	q.Streak++
	if was := q.Paused; q.Streak >= s.UnresolvedLimit && (was == "" || !q.Till.IsZero()) {
		q.Till = time.Time{}
		q.Paused = fmt.Sprint(s.UnresolvedLimit, " transactions in a row ended UNRESOLVED")
		if was == "" {
			s.log(Event{Kind: "q", ID: q.Name, Sender: own.Account, Code: "PAUSED"})
			s.heed(q)
		}
	}
	own.Streak++
}

// hold keeps the queue for a callback, or for a while.
func (s *Store) hold(was, t *tx.Transaction, c *Change) {
	q := s.queue(t.Queue)
	switch {
	case c.Moves.Tell != "":
		t.Callback, t.CallbackTries = c.Moves.Tell, 0
		q.hold(s.Now, s.Now.Add(s.CallbackWait))
		q.Holder = append(without(q.Holder, t.UID), t.UID)
	case c.Before.Callback != "" && c.After.Callback == "":
		t.Callback, t.CallbackTries = "", 0 // nothing is to be told any more
	}
	if c.Aside.Hold > 0 {
		q.hold(s.Now, s.Now.Add(c.Aside.Hold))
		q.Alone = s.Now.Add(c.Aside.Hold)
	}
	if was.Phase != t.Phase || c.Moves.Tell != "" || c.Aside.Hold > 0 {
		s.place(q)
	}
}

// carry gives a record, which is t now, to a sender. What was counted with that of before
// stays with it: the fees of no sender fall below nothing.
func (r *Record) carry(t *tx.Transaction, sender string) {
	if t.Sender != sender {
		r.Counted = Spent{}
	}
	t.Sender = sender
}

// charge counts what the attempts of a record cost with the fees of the day; what was
// counted today with its sender and is not spent after all is taken back. Where a limit would be passed
// nothing is counted.
func (s *Store) charge(r *Record, t *tx.Transaction, cost, limitSender, limit uint64,
	budgets []Allowance) *lifecycle.Denied {
	today := s.Now.Unix() / int64(day/time.Second)
	counted := int64(0)
	if r.Counted.Day == today {
		counted = int64(r.Counted.Cost)
	}
	more := max(int64(cost)-int64(r.Cost), -counted)
	spent, all, at := int64(0), int64(0), -1
	for i, f := range s.Fees {
		if f.Day != today {
			continue
		}
		all += int64(f.Cost)
		if f.Sender == t.Sender {
			spent, at = int64(f.Cost), i
		}
	}
	left := day - time.Duration(s.Now.UnixMilli()%day.Milliseconds())*time.Millisecond
	switch {
	case more > 0 && limitSender > 0 && spent+more > int64(limitSender):
		return &lifecycle.Denied{Why: lifecycle.Costly, Spent: uint64(spent), Left: left}
	case more > 0 && limit > 0 && all+more > int64(limit):
		return &lifecycle.Denied{Why: lifecycle.Costly, Everybody: true, Spent: uint64(all), Left: left}
	}
	for _, b := range budgets {
		spent := s.Budgets[BudgetOf{b.Name, today}]
		if more > 0 && b.Most > 0 && spent+more > int64(b.Most) {
			return &lifecycle.Denied{Why: lifecycle.Costly, Budget: b.Name, Spent: uint64(spent), Left: left}
		}
	}
	if len(budgets) > 0 {
		s.Budgets = maps.Clone(s.Budgets)
		if s.Budgets == nil {
			s.Budgets = map[BudgetOf]int64{}
		}
	}
	for _, b := range budgets {
		s.Budgets[BudgetOf{b.Name, today}] += more
	}
	if at < 0 {
		s.Fees = append(s.Fees, Spent{Sender: t.Sender, Day: today})
		at = len(s.Fees) - 1
	}
	s.Fees[at].Cost = uint64(spent + more)
	r.Cost, r.Counted = cost, Spent{Sender: t.Sender, Day: today, Cost: uint64(counted + more)}
	return nil
}

// Read is a record as it is stored now, its facts merged; nil if there is none.
func (s *Store) Read(uid string) *tx.Transaction {
	r := s.Record(uid)
	if r == nil {
		return nil
	}
	return merged(r)
}

func merged(r *Record) *tx.Transaction {
	t := r.Txn
	for _, f := range r.Facts {
		a := t.Attempt(f.Number)
		if a == nil || a.Sender != f.Sender || a.Nonce != f.Nonce {
			continue
		}
		news := a.Hash == "" && f.Hash != "" || a.NodeHash == "" && f.NodeHash != ""
		if !news {
			continue
		}
		if t == r.Txn {
			t = t.Clone()
		}
		b := t.Attempt(f.Number)
		if b.Hash == "" {
			b.Hash = f.Hash
		}
		if b.NodeHash == "" {
			b.NodeHash = f.NodeHash
		}
	}
	return t
}

// AddFact records what is known of an attempt, under no claim. What is there stays. An
// attempt that is not stored was forgotten.
func (s *Store) AddFact(uid string, f Fact) error {
	r := s.Record(uid)
	if r == nil {
		return ErrGone
	}
	if a := r.Txn.Attempt(f.Number); a == nil || a.Sender != f.Sender || a.Nonce != f.Nonce {
		return ErrUnsettled
	}
	s.writes++
	facts := slices.Clone(r.Facts)
	for i := range facts {
		if o := &facts[i]; o.Number == f.Number && o.Sender == f.Sender && o.Nonce == f.Nonce {
			if o.Hash == "" {
				o.Hash = f.Hash
			}
			if o.NodeHash == "" {
				o.NodeHash = f.NodeHash
			}
			r.Facts = facts
			return nil
		}
	}
	r.Facts = slices.Concat(facts, []Fact{f})
	return nil
}
