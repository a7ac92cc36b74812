package explorer

import (
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// What runs of a queue each process has to know by itself, as the service does: it lists what
// it binds, reads a list with a record that it drives and that is not listed, and takes out
// what ends here. A store that fails over, or another process, may have it otherwise.

// list notes what runs of a queue, nil for nothing.
func (s *State) list(p int, queue string, uids []string) {
	proc := &s.procs[p]
	proc.runs = slices.Clone(proc.runs)
	proc.runs[queueOf(queue)] = uids
}

// relist reads what runs of the queue of a record just read, if that does.
func (s *State) relist(p int, t *tx.Transaction) {
	if t.Phase.Bound() && Owner(t.Claim) == s.procs[p].id {
		s.list(p, t.Queue, s.store.queue(t.Queue).Run)
	}
}

// unlist takes out what does not run any more, or is not driven here.
func (s *State) unlist(p int, t *tx.Transaction) {
	if known := s.procs[p].runs[queueOf(t.Queue)]; slices.Contains(known, t.UID) {
		s.list(p, t.Queue, without(known, t.UID))
	}
}

func queueOf(name string) int { return int(name[1] - '0') }

// train is what process p knows of those around a transaction.
func (s *State) train(p int, txn *tx.Transaction) lifecycle.Train {
	t := lifecycle.TrainOf(s.procs[p].runs[queueOf(txn.Queue)], txn.UID, func(uid string) (lifecycle.Member, bool) {
		return s.member(p, uid)
	})
	t.Width, t.Builds = s.world.Width, s.world.Builds
	t.Commuting, t.Held = s.world.Commuting, s.procs[p].draining || s.store.held(txn)
	return t
}

// member is what process p knows of one of a train; false if that is out of date.
func (s *State) member(p int, uid string) (lifecycle.Member, bool) {
	h := s.procs[p].held[txnOf(uid)]
	if h == nil || h.stale {
		return lifecycle.Member{}, false
	}
	l, g := h.drive.Local(), tx.Sighting{Fate: tx.FateUnknown}
	if h.watching {
		g = h.sighting
	}
	return lifecycle.MemberOf(h.drive.Txn(), g, &l), true
}

// join binds the next of a queue behind those that run.
func (s *State) join(p int, queue string) bool {
	proc := &s.procs[p]
	run := proc.runs[queueOf(queue)]
	var members []lifecycle.Member
	for _, uid := range run {
		m, seen := s.member(p, uid)
		if !seen {
			return false
		}
		members = append(members, m)
	}
	if !proc.sure() || proc.draining || !s.policy.Joins(members, s.world.Width, max(s.world.AtOnce, 1), s.world.Builds,
		proc.tip) {
		return false
	}
	if now := s.store.queue(queue).Run; len(now) == 0 || now[len(now)-1] != run[len(run)-1] {
		return false // what it would stand behind is not the last
	}
	t := s.store.Join(proc.id, queue, s.world.AtOnce > 1, nil, nil)
	if t == nil {
		return false
	}
	s.list(p, queue, append(slices.Clone(run), t.UID))
	s.tell("%s puts %s behind %s", proc.id, t.UID, members[len(members)-1].Txn.UID)
	s.drives(p, t, lifecycle.JoinedHere)
	return true
}
