package explorer

import (
	"crypto/sha1" //nolint:gosec // as the scripts have it; it spreads names, and keeps no secret
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Plan is the first attempt of what was never changed, planned as it is bound if the
// next nonce of the sender is stored as Nonce says; not of what was posted with terms.
type Plan struct {
	Sender           string
	Nonce            uint32
	Fee              uint64
	ValidUntil, Slot uint32
}

// Seat is where somebody who posts stands in the round: a number made of the name, 0 for none.
func Seat(by string) int64 {
	if by == "" {
		return 0
	}
	sum := sha1.Sum([]byte(by)) //nolint:gosec // see there
	return int64(binary.BigEndian.Uint64(sum[:])>>16) + 1
}

// Bind gives the free sender that was used least recently, of some groups, to a queue whose
// next is of some types; nil takes any. The turn goes round those who posted these, and of the
// queues of one it is that of the one that has waited longest. It returns nil if there is no pair.
func (s *Store) Bind(process string, types, groups []string, plans []Plan) *tx.Transaction {
	if s.Unsettled || s.lapsed(process) {
		return nil
	}
	var q *Queue
	var first int64 // where in the round whoever posted to it sits, behind the last turn
	kinds := strings.Join(slices.Sorted(slices.Values(types)), " ")
	for i := range s.Queues {
		c := &s.Queues[i]
		if c.turn == 0 || types != nil && !slices.Contains(types, s.Head(c.Name).Type) {
			continue
		}
		seat := Seat(s.Head(c.Name).PostedBy)
		if seat < s.Round[kinds] {
			seat += 1 << 49
		}
		if q == nil || seat < first || seat == first && c.turn < q.turn {
			q, first = c, seat
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
	r.carry(t, sender.Account)
	t.Phase, t.Claim, t.ChangedAt, t.DueAt = tx.PhaseDispatching, s.token(process), s.Now, time.Time{}
	for _, p := range plans {
		if p.Sender == sender.Account && sender.Known && sender.Next == p.Nonce && r.Txn.Revision == 0 &&
			t.Terms == (tx.Terms{}) {
			t.Attempts = append(t.Attempts, tx.Attempt{Number: 1, Sender: p.Sender, Nonce: p.Nonce, Fee: p.Fee,
				ValidUntil: p.ValidUntil, Slot: p.Slot, State: tx.Planned, StartedAt: s.Now})
			s.charge(r, t, t.Cost(), 0, 0, nil)
		}
	}
	if turn := Seat(t.PostedBy) + 1; s.Round[kinds] != turn {
		round := map[string]int64{}
		maps.Copy(round, s.Round)
		round[kinds], s.Round = turn, round
	}
	r.Txn = t
	s.writes++
	q.Run, q.Hold, q.Alone, q.Holder, q.turn = []string{t.UID}, time.Time{}, time.Time{}, nil, 0
	sender.Queue = q.Name
	s.log(Event{Kind: "t", ID: t.UID, Sender: t.Sender, From: string(tx.PhaseWaiting), To: string(t.Phase)})
	return t
}

// Join binds the next of a queue behind those that run, to their sender, if the last of
// them has something out, or may be with its worker as of atOnce, and is the process's, and
// types names the next one's; nil takes any. While another queue waits for a sender nothing
// joins. It returns nil if nothing can.
func (s *Store) Join(process, queue string, atOnce bool, types, groups []string) *tx.Transaction {
	q, head := s.queue(queue), s.Head(queue)
	if s.Unsettled || s.lapsed(process) || len(q.Run) == 0 || head == nil || q.Paused != "" {
		return nil
	}
	last := s.Record(q.Run[len(q.Run)-1]).Txn
	out := last.Open() && (last.Phase == tx.PhaseSent || last.Phase == tx.PhaseWatching)
	made := atOnce && last.Phase == tx.PhaseDispatching
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
	r.carry(t, last.Sender)
	t.Phase, t.Claim, t.ChangedAt, t.DueAt = tx.PhaseDispatching, s.token(process), s.Now, time.Time{}
	r.Txn = t
	s.writes++
	q.Run = slices.Concat(q.Run, []string{t.UID})
	s.log(Event{Kind: "t", ID: t.UID, Sender: t.Sender, From: string(tx.PhaseWaiting), To: string(t.Phase)})
	return t
}

// held reports whether nothing may join what runs along with t.
func (s *Store) held(t *tx.Transaction) bool {
	sender := s.Sender(t.Sender)
	return s.queue(t.Queue).Paused != "" || sender != nil && sender.kept()
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
