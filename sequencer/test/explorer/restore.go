package explorer

import (
	"mina-sequencer/sequencer/lifecycle"

	"mina-sequencer/sequencer/tx"
)

// writeBack stores again what a process knows to be out; false if something has to wait.
func (s *State) writeBack(p int) bool {
	proc := &s.procs[p]
	s.tell("%s writes back", proc.id)
	all := true
	for t, known := range proc.txns {
		if known != nil {
			all = s.place(p, t, lifecycle.KnownOf(proc.id, known, proc.known[t].Bytes)) && all
		}
	}
	if proc = &s.procs[p]; !all {
		return false
	}
	proc.back, proc.joined = true, s.store.Unsettled
	for t, h := range proc.held {
		if h != nil {
			h = s.hold(p, t)
			h.drive.Stale()
			h.stale = true
		}
	}
	return true
}

// place stores what is known of a transaction; false if another one has to end first.
func (s *State) place(p, t int, known lifecycle.Known) bool {
	for range 3 {
		before := s.store.Read(uid(t))
		after, bytes := lifecycle.Restored(before, known, s.now)
		if after == nil {
			s.restores("nothing lacked")
			return true
		}
		if lifecycle.RestoresInPlace(before, after) {
			s.restores("in its place")
			s.putBack(p, before, after, bytes)
			return true
		}
		sender := after.FirstOpen().Sender
		by := s.store.Adopt(s.procs[p].id, before, after, sender, bytes)
		if by == "" {
			s.tell("  %s is bound to %s again; %s", uid(t), sender, attemptsOf(after))
			how := "bound again"
			if before.Phase.Final() {
				how = "not the end"
			}
			s.restores(how)
			return true
		}
		other := s.store.Read(by)
		if back := lifecycle.MakesRoom(other, s.now); back != nil {
			s.restores("room made")
			s.putBack(p, other, back, nil)
			continue
		}
		if kept := lifecycle.Kept(before, after, s.now); kept != nil {
			s.restores("kept")
			s.putBack(p, before, kept, nil)
			continue
		}
		done := lifecycle.DoneBefore(after, other, known, s.now)
		if done == nil {
			s.restores("waited for")
			for _, uid := range s.store.queue(other.Queue).Run { // who waits for none of these
				if t := s.store.Read(uid); lifecycle.MakesRoom(t, s.now) != nil {
					s.putBack(p, t, lifecycle.MakesRoom(t, s.now), nil)
				}
			}
			return false
		}
		s.restores("passed")
		s.putBack(p, before, done, bytes)
	}
	return false
}

// putBack stores a record as it is restored.
func (s *State) putBack(p int, before, after *tx.Transaction, bytes *lifecycle.BytesRead) {
	aside := lifecycle.Aside{Person: true, Code: tx.CodeRestored, Bytes: bytes,
		Least: lifecycle.Least(before, after), Process: s.procs[p].id}
	moves := lifecycle.Moves{Keep: after.Watched(), Remove: lifecycle.Never}
	if a := before.Standing(); a != nil && after.Landed != before.Landed {
		moves.Falls = a.Sender
	}
	if a := after.Standing(); a != nil {
		moves.Stands, moves.Nonce = a.Sender, a.Nonce
	}
	txn, denied, err := s.store.Advance(&Change{Before: before, After: after, Aside: aside, Moves: moves})
	if err != nil || denied != nil {
		s.refuse = "what was restored is refused"
		return
	}
	s.tell("  %s is restored: %s → %s; %s", before.UID, before.Phase, txn.Phase, attemptsOf(txn))
}

// restores are the ways in which place may go.
var restores = []string{"nothing lacked", "in its place", "not the end", "bound again", "waited for", "room made",
	"passed", "kept"}

func (s *State) restores(how string) {
	if s.met != nil {
		s.met.Restores[how]++
	}
}
