package explorer

import (
	"errors"
	"slices"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
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
	// Told are queues whose drivers were told that something holds for all that runs, or no
	// longer. It is kept where KeepLog says so, until somebody empties it.
	Told []string
	// Unsettled: it has forgotten something, and nobody has put that right yet.
	Unsettled bool
	// Round is, for those that bind the same types, one more than the seat of whoever had the last
	// turn; never altered in place.
	Round map[string]int64
	// UnresolvedLimit is how many UNRESOLVED in a row pause a queue; 0 for no limit.
	UnresolvedLimit int
	CallbackWait    time.Duration
	Sequence        int64 // of the last that was accepted

	claims, turns int64
	writes        int
}

// A Record is a transaction with what stands beside it.
type Record struct {
	Txn       *tx.Transaction      // facts merged
	Op        string               // of the last change
	Bytes     *lifecycle.BytesRead // what was signed, and is kept
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
	Why    tx.SenderReason
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
	c.Landed, c.Log, c.Told = slices.Clip(s.Landed), slices.Clip(s.Log), slices.Clip(s.Told)
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
func (s *Store) Enqueue(uid, queue, typ string, terms tx.Terms, by string) *tx.Transaction {
	if r := s.Record(uid); r != nil {
		return r.Txn
	}
	first := s.Head(queue) == nil
	s.Sequence++
	t := &tx.Transaction{UID: uid, Queue: queue, Sequence: s.Sequence, Type: typ, Terms: terms, PostedBy: by,
		Phase: tx.PhaseWaiting, ReceivedAt: s.Now, ChangedAt: s.Now}
	s.Records = append(s.Records, Record{Txn: t})
	s.log(Event{Kind: "t", ID: uid, To: string(tx.PhaseWaiting)})
	if q := s.queue(queue); first {
		s.place(q)
	}
	return t
}

// Head is the transaction that is next in a queue, nil if none waits: the one accepted
// first, whether it has been bound before or not.
func (s *Store) Head(queue string) *tx.Transaction {
	var head *tx.Transaction
	for i := range s.Records {
		t := s.Records[i].Txn
		if t.Queue == queue && t.Phase == tx.PhaseWaiting && (head == nil || t.Sequence < head.Sequence) {
			head = t
		}
	}
	return head
}

// Called stores what became of a callback: whether it was answered, and with what.
func (s *Store) Called(uid string, said tx.Told) {
	r := s.Record(uid)
	if r == nil || r.Txn.Callback != said.Callback {
		return
	}
	t := r.Txn.Clone()
	r.Txn = t
	s.writes++
	if s.KeepLog { // nothing is decided by it
		t.Told = said
		t.Told.Tries, t.Told.At = t.CallbackTries+1, s.Now
		if said.Done && len(said.Answer) > 0 {
			s.log(Event{Kind: "t", ID: uid, Sender: t.Sender, From: string(t.Phase), To: string(t.Phase),
				Code: tx.CodeAnswered})
		}
	}
	if !said.Done {
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
