package explorer

import (
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// place has a queue wait for its turn from now on, if it can be bound and did not wait
// before; one that cannot be bound loses its turn.
func (s *Store) place(q *Queue) {
	q.Begins = time.Time{}
	if !q.Hold.After(s.Now) {
		q.Hold, q.Alone, q.Holder = time.Time{}, time.Time{}, nil
	}
	can := len(q.Run) == 0 && q.Paused == "" && !q.Hold.After(s.Now)
	if head := s.Head(q.Name); can {
		can = head != nil
		if can && head.NotBefore.After(s.Now) {
			can, q.Begins = false, head.NotBefore
		}
	}
	switch {
	case !can:
		q.turn = 0
	case q.turn == 0:
		q.turn = s.turnNow()
	}
}

// Pause keeps a queue from being bound, until a time if that is not zero, or with "" lets
// it be bound again; false if there is no such queue.
func (s *Store) Pause(queue, why string, until time.Time) bool {
	i := slices.IndexFunc(s.Queues, func(q Queue) bool { return q.Name == queue })
	if i < 0 {
		return false
	}
	q := &s.Queues[i]
	was := q.Paused
	q.Paused, q.Till = why, until
	if why == "" {
		q.Till = time.Time{}
		q.atOnce()
	}
	if (was == "") != (why == "") {
		s.heed(q)
	}
	switch {
	case was != "" && why == "":
		q.Streak = 0
		s.log(Event{Kind: "q", ID: queue, Code: "RESUMED"})
	case was == "" && why != "":
		s.log(Event{Kind: "q", ID: queue, Code: "PAUSED"})
	}
	s.finish(q)
	return true
}

// heed has whoever drives what runs of a queue read what holds for all of it.
func (s *Store) heed(q *Queue) {
	if s.KeepLog {
		s.Told = append(s.Told, q.Name)
	}
}

// Widen says how many of a queue may be in flight, 0 for as many as is configured; false if
// there is no such queue.
func (s *Store) Widen(queue string, width int) bool {
	i := slices.IndexFunc(s.Queues, func(q Queue) bool { return q.Name == queue })
	if i < 0 {
		return false
	}
	s.Queues[i].Width = width
	s.log(Event{Kind: "q", ID: queue, Code: "WIDTH"})
	s.heed(&s.Queues[i])
	s.finish(&s.Queues[i])
	return true
}

// PauseOver ends a pause, if its time is over.
func (s *Store) PauseOver(q *Queue) {
	if !q.Till.IsZero() && !q.Till.After(s.Now) {
		s.Pause(q.Name, "", time.Time{})
	}
}

// Remove forgets what is final and can land no more. Errors: ErrGone, ErrBusy, ErrUnsettled.
func (s *Store) Remove(uid string) error {
	r := s.Record(uid)
	if r == nil {
		return ErrGone
	}
	t := r.Txn
	if !t.Phase.Final() || t.Phase == tx.PhaseDone && t.Claim != "" || t.Open() {
		return ErrBusy
	}
	if s.Unsettled {
		return ErrUnsettled
	}
	s.Forget(t)
	return nil
}

// Forget removes what the store has kept long enough.
func (s *Store) Forget(t *tx.Transaction) {
	s.Records = slices.DeleteFunc(s.Records, func(r Record) bool { return r.Txn.UID == t.UID })
	s.log(Event{Kind: "t", ID: t.UID, From: string(t.Phase), Code: "REMOVED"})
	q := s.queue(t.Queue)
	s.unhold(t.UID, q)
	s.finish(q)
}

// finish forgets a queue with its last transaction, unless a person has said something of it.
func (s *Store) finish(q *Queue) {
	of := func(r Record) bool { return r.Txn.Queue == q.Name }
	if q.Paused == "" && q.Width == 0 && !slices.ContainsFunc(s.Records, of) {
		s.Queues = slices.DeleteFunc(s.Queues, func(o Queue) bool { return o.Name == q.Name })
		return
	}
	s.place(q)
}

// Awaits reports whether a queue waits for the callback of a transaction.
func (s *Store) Awaits(q *Queue, uid string) bool {
	return q.Hold.After(s.Now) && slices.Contains(q.Holder, uid)
}

// answered ends that a queue waits for a callback.
func (s *Store) answered(q *Queue, uid string) {
	if q.Holder = without(q.Holder, uid); len(q.Holder) == 0 {
		q.Hold, q.Holder = q.Alone, nil
	}
}

// hold has a queue wait until a time, and not shorter than it does.
func (q *Queue) hold(now, till time.Time) {
	if !q.Hold.After(now) {
		q.Hold, q.Alone, q.Holder = time.Time{}, time.Time{}, nil
	}
	if till.After(q.Hold) {
		q.Hold = till
	}
}

// atOnce ends that a queue is left alone.
func (q *Queue) atOnce() {
	if q.Alone.IsZero() {
		return
	}
	q.Alone = time.Time{}
	if len(q.Holder) == 0 {
		q.Hold = time.Time{}
	}
}

// without is a list that lacks a uid.
func without(list []string, uid string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(o string) bool { return o == uid })
}
