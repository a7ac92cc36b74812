package explorer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
)

// A Store is what Redis and its scripts promise, in plain Go: one operation each, all
// of them atomic. Records are never altered in place, so a Clone is shallow.
type Store struct {
	Now     time.Time
	Records []Record // in order of acceptance
	Queues  []Queue
	Senders []Sender
	Procs   []Proc
	Landed  []Standing
	Fees    []Spent
	Budgets map[BudgetOf]int64 // what was counted with them; never altered in place
	Log     []Event            // kept where KeepLog says so
	KeepLog bool
	// Unsettled: it has forgotten something, and nobody has put that right yet.
	Unsettled bool
	// UnresolvedLimit is how many UNRESOLVED in a row pause a queue; 0 for no limit.
	UnresolvedLimit int
	CallbackWait    time.Duration
	Sequence        int64 // of the last that was accepted

	claims, turns int64
	writes        int
}

// A Record is a transaction with what stands beside it.
type Record struct {
	Txn       *lifecycle.Transaction // facts merged
	Op        string                 // of the last change
	Bytes     *lifecycle.BytesRead   // what was signed, and is kept
	Facts     []Fact
	Overtaken bool   // an earlier one of its queue waits again
	Cost      uint64 // as last counted
	Counted   Spent  // what of it was counted on the day of the last count
}

// A Fact is what is known of an attempt whoever brings it: it is added, and never
// overwritten.
type Fact struct {
	Number         int
	Sender         string
	Nonce          uint32
	Hash, NodeHash string
}

// A Queue is the record of one queue.
type Queue struct {
	Name   string
	Run    []string  // uids that are bound, in order; never altered in place
	Hold   time.Time // until when it is not bound
	Alone  time.Time // until when nothing joins, either
	Holder []string  // uids whose callbacks it waits for, in order; never altered in place
	Paused string    // why, "" if it is not
	Till   time.Time // when the pause ends by itself; zero if it does not
	// Begins is when the next may be bound, where that is all that it waits for.
	Begins time.Time
	Width  int   // how many may be in flight as a person has set it, 0 if nobody has
	Streak int   // UNRESOLVED in a row
	turn   int64 // since when it waits for its turn, 0 while it cannot be bound
}

// A Sender is the record of one sender.
type Sender struct {
	Account string
	Group   string // of those by which it can be used
	Queue   string // bound to, "" if free
	Known   bool   // Next is known
	Next    uint32 // the next nonce
	Reasons []Reason
	Streak  int
	Gone    bool  // not registered: what is known of the account stays
	turn    int64 // since when it is free
}

// A Reason keeps a sender out of use.
type Reason struct {
	Why    lifecycle.SenderReason
	By     string
	Until  time.Time // zero: until somebody resumes it
	Detail string    // in words
}

// A Proc is the heartbeat of one process.
type Proc struct {
	ID     string
	Lapsed bool // its claims may be taken over
}

// Standing is a transaction that is DONE by a nonce and may be orphaned.
type Standing struct {
	Account, UID string
	Nonce        uint32
}

// Spent is what fees have cost on a day.
type Spent struct {
	Sender string
	Day    int64
	Cost   uint64
}

// BudgetOf is a budget on a day.
type BudgetOf struct {
	Name string
	Day  int64
}

// An Event is one entry of the log.
type Event struct {
	At                         time.Time
	Kind, ID, Sender, From, To string
	Attempt                    int
	Code                       string
}

// Why the store refuses, other than by a [lifecycle.Denied].
var (
	ErrStale     = errors.New("the record has changed")
	ErrFenced    = errors.New("the claim is another's")
	ErrUnsettled = errors.New("the store has forgotten something")
	ErrGone      = errors.New("there is no such record")
	ErrBusy      = errors.New("it may still land")
	ErrFollowed  = errors.New("others are in flight behind it")
)

// Clone is a copy that goes its own way.
func (s *Store) Clone() Store {
	c := *s
	s.cloneInto(&c, &Store{})
	return c
}

// cloneInto gives a copy lists of its own, in what another store has left.
func (s *Store) cloneInto(c, left *Store) {
	c.Records, c.Queues = into(left.Records, s.Records), into(left.Queues, s.Queues)
	c.Senders, c.Procs = into(left.Senders, s.Senders), into(left.Procs, s.Procs)
	c.Fees = into(left.Fees, s.Fees)
	c.Landed, c.Log = slices.Clip(s.Landed), slices.Clip(s.Log)
}

// into copies a list into what another has left.
func into[E any](left, list []E) []E { return append(left[:0], list...) }

// Record finds what is stored under a uid, nil if nothing is.
func (s *Store) Record(uid string) *Record {
	for i := range s.Records {
		if s.Records[i].Txn.UID == uid {
			return &s.Records[i]
		}
	}
	return nil
}

func (s *Store) queue(name string) *Queue {
	for i := range s.Queues {
		if s.Queues[i].Name == name {
			return &s.Queues[i]
		}
	}
	s.Queues = append(s.Queues, Queue{Name: name})
	return &s.Queues[len(s.Queues)-1]
}

// Sender finds a registered sender, nil if there is none.
func (s *Store) Sender(account string) *Sender {
	for i := range s.Senders {
		if s.Senders[i].Account == account {
			return &s.Senders[i]
		}
	}
	return nil
}

func (s *Store) turnNow() int64 {
	s.turns++
	return s.turns
}

func (s *Store) log(e Event) {
	if s.KeepLog {
		e.At = s.Now
		s.Log = append(s.Log, e)
	}
}

// Enqueue accepts a transaction; the same uid again gets the first one.
func (s *Store) Enqueue(uid, queue, typ string, terms lifecycle.Terms, by string) *lifecycle.Transaction {
	if r := s.Record(uid); r != nil {
		return r.Txn
	}
	first := s.Head(queue) == nil
	s.Sequence++
	t := &lifecycle.Transaction{UID: uid, Queue: queue, Sequence: s.Sequence, Type: typ, Terms: terms, PostedBy: by,
		Phase: lifecycle.PhaseWaiting, ReceivedAt: s.Now, ChangedAt: s.Now}
	s.Records = append(s.Records, Record{Txn: t})
	s.log(Event{Kind: "t", ID: uid, To: string(lifecycle.PhaseWaiting)})
	if q := s.queue(queue); first {
		s.place(q)
	}
	return t
}

// Head is the transaction that is next in a queue, nil if none waits: the one accepted
// first, whether it has been bound before or not.
func (s *Store) Head(queue string) *lifecycle.Transaction {
	var head *lifecycle.Transaction
	for i := range s.Records {
		t := s.Records[i].Txn
		if t.Queue == queue && t.Phase == lifecycle.PhaseWaiting && (head == nil || t.Sequence < head.Sequence) {
			head = t
		}
	}
	return head
}

// A Plan is the first attempt of what was never changed, planned as it is bound if the
// next nonce of the sender is stored as Nonce says; not of what was posted with terms.
type Plan struct {
	Sender           string
	Nonce            uint32
	Fee              uint64
	ValidUntil, Slot uint32
}

// Bind gives the free sender that was used least recently, of some groups, to the queue
// that has waited longest for its turn, of those whose next is of some types; nil takes
// any. It returns nil if there is no pair.
func (s *Store) Bind(process string, types, groups []string, plans []Plan) *lifecycle.Transaction {
	if s.Unsettled || s.lapsed(process) {
		return nil
	}
	var q *Queue
	for i := range s.Queues {
		c := &s.Queues[i]
		if c.turn > 0 && (q == nil || c.turn < q.turn) && (types == nil || slices.Contains(types, s.Head(c.Name).Type)) {
			q = c
		}
	}
	var sender *Sender
	for i := range s.Senders {
		c := &s.Senders[i]
		if c.Free() && (sender == nil || c.turn < sender.turn) && (groups == nil || slices.Contains(groups, c.Group)) {
			sender = c
		}
	}
	if q == nil || sender == nil {
		return nil
	}
	r := s.Record(s.Head(q.Name).UID)
	t := r.Txn.Clone()
	t.Revision++
	t.Phase, t.Sender, t.Claim, t.ChangedAt, t.DueAt = lifecycle.PhaseDispatching, sender.Account, s.token(process),
		s.Now, time.Time{}
	for _, p := range plans {
		if p.Sender == sender.Account && sender.Known && sender.Next == p.Nonce && r.Txn.Revision == 0 &&
			t.Terms == (lifecycle.Terms{}) && t.PostedBy == "" {
			t.Attempts = append(t.Attempts, lifecycle.Attempt{Number: 1, Sender: p.Sender, Nonce: p.Nonce, Fee: p.Fee,
				ValidUntil: p.ValidUntil, Slot: p.Slot, Outcome: lifecycle.Prepared, StartedAt: s.Now})
			s.charge(r, t, t.Cost(), 0, 0, nil)
		}
	}
	r.Txn = t
	s.writes++
	q.Run, q.Hold, q.Alone, q.Holder, q.turn = []string{t.UID}, time.Time{}, time.Time{}, nil, 0
	sender.Queue = q.Name
	s.log(Event{Kind: "t", ID: t.UID, Sender: t.Sender, From: string(lifecycle.PhaseWaiting), To: string(t.Phase)})
	return t
}

// Join binds the next of a queue behind those that run, to their sender, if the last of
// them has something out, or may be with its worker as of atOnce, and is the process's, and
// types names the next one's; nil takes any. While another queue waits for a sender nothing joins. It returns nil if nothing can.
func (s *Store) Join(process, queue string, atOnce bool, types, groups []string) *lifecycle.Transaction {
	q, head := s.queue(queue), s.Head(queue)
	if s.Unsettled || s.lapsed(process) || len(q.Run) == 0 || head == nil || q.Paused != "" {
		return nil
	}
	last := s.Record(q.Run[len(q.Run)-1]).Txn
	out := last.Open() && (last.Phase == lifecycle.PhaseSent || last.Phase == lifecycle.PhaseWatching)
	made := atOnce && last.Phase == lifecycle.PhaseDispatching
	left := q.Alone.After(s.Now)
	if !out && !made || Owner(last.Claim) != process || head.Sequence < last.Sequence || left ||
		head.NotBefore.After(s.Now) || types != nil && !slices.Contains(types, head.Type) {
		return nil
	}
	if sender := s.Sender(last.Sender); sender != nil && len(sender.Reasons) > 0 {
		return nil
	}
	waits := slices.ContainsFunc(s.Queues, func(o Queue) bool { return o.turn > 0 })
	free := slices.ContainsFunc(s.Senders, func(a Sender) bool {
		return a.Free() && (groups == nil || slices.Contains(groups, a.Group))
	})
	if waits && !free {
		return nil
	}
	r := s.Record(head.UID)
	t := head.Clone()
	t.Revision++
	t.Phase, t.Sender, t.Claim, t.ChangedAt, t.DueAt = lifecycle.PhaseDispatching, last.Sender, s.token(process),
		s.Now, time.Time{}
	r.Txn = t
	s.writes++
	q.Run = slices.Concat(q.Run, []string{t.UID})
	s.log(Event{Kind: "t", ID: t.UID, Sender: t.Sender, From: string(lifecycle.PhaseWaiting), To: string(t.Phase)})
	return t
}

// held reports whether nothing may join what runs along with t.
func (s *Store) held(t *lifecycle.Transaction) bool {
	sender := s.Sender(t.Sender)
	return s.queue(t.Queue).Paused != "" || sender != nil && slices.ContainsFunc(sender.Reasons,
		func(r Reason) bool { return r.Why != lifecycle.Rested })
}

func (s *Store) token(process string) string {
	s.claims++
	return fmt.Sprintf("%s:%d", process, s.claims)
}

// Owner is the process of a claim.
func Owner(claim string) string {
	owner, _, _ := strings.Cut(claim, ":")
	return owner
}

func (s *Store) proc(id string) *Proc {
	for i := range s.Procs {
		if s.Procs[i].ID == id {
			return &s.Procs[i]
		}
	}
	return nil
}

func (s *Store) lapsed(id string) bool {
	p := s.proc(id)
	return p == nil || p.Lapsed
}

// Renew is a heartbeat.
func (s *Store) Renew(id string) {
	if p := s.proc(id); p != nil {
		p.Lapsed = false
		return
	}
	s.Procs = append(s.Procs, Proc{ID: id})
}

// Lapse is that a process has not renewed for so long that others may take over.
func (s *Store) Lapse(id string) { s.proc(id).Lapsed = true }

// TakeOver moves the claims of a process that has lapsed to another, with new tokens: all,
// or those of some transactions.
func (s *Store) TakeOver(mine, dead string, only ...string) (uids []string) {
	if s.lapsed(mine) || !s.lapsed(dead) {
		return nil
	}
	left := false
	for i := range s.Records {
		t := s.Records[i].Txn
		if t.Claim != "" && Owner(t.Claim) == dead {
			if only != nil && !slices.Contains(only, t.UID) {
				left = true
				continue
			}
			u := t.Clone()
			u.Claim, u.Revision = s.token(mine), t.Revision+1
			s.Records[i].Txn = u
			s.writes++
			uids = append(uids, u.UID)
		}
	}
	if !left {
		s.Procs = slices.DeleteFunc(s.Procs, func(p Proc) bool { return p.ID == dead })
	}
	return uids
}

// Called stores what became of a callback: whether it was answered.
func (s *Store) Called(uid string, callback lifecycle.Callback, answered bool) {
	r := s.Record(uid)
	if r == nil || r.Txn.Callback != callback {
		return
	}
	t := r.Txn.Clone()
	r.Txn = t
	s.writes++
	if !answered {
		t.CallbackTries++
		return
	}
	t.Callback = ""
	s.unhold(uid, s.queue(t.Queue))
}

// unhold ends that a queue waits for the callback of a transaction.
func (s *Store) unhold(uid string, q *Queue) {
	if s.Awaits(q, uid) {
		s.answered(q, uid)
		s.place(q)
	}
}

// Tick does what is due: rests, holds and pauses that end.
func (s *Store) Tick() {
	for i := range s.Queues {
		q := &s.Queues[i]
		if !q.Hold.IsZero() && !q.Hold.After(s.Now) || !q.Begins.IsZero() && !q.Begins.After(s.Now) {
			s.HoldOver(q)
		}
	}
	for i := range s.Senders {
		s.RestOver(&s.Senders[i])
	}
}

// HoldOver ends that a queue is held, if its time is over.
func (s *Store) HoldOver(q *Queue) {
	s.place(q)
}

// RestOver takes back the reasons of a sender whose time is over.
func (s *Store) RestOver(a *Sender) {
	s.lift(a, "RESTED_OVER", func(r Reason) bool { return !r.Until.IsZero() && !r.Until.After(s.Now) })
}

// FailOver makes it what it was, an older one, which has forgotten what came since. No
// claim token is given twice.
func (s *Store) FailOver(older *Store) {
	now, claims := s.Now, s.claims
	*s = older.Clone()
	s.Now, s.claims, s.Unsettled = now, claims, true
}

// HighestLanded is the highest nonce with which one of an account stands on the chain
// and may be orphaned.
func (s *Store) HighestLanded(account string) (nonce uint32, any bool) {
	for _, l := range s.Landed {
		if l.Account == account {
			nonce, any = max(nonce, l.Nonce), true
		}
	}
	return nonce, any
}
