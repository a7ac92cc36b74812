package sequencer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// watch asks the tracker to follow the attempts of h that share the nonce still
// in question: those that are open or, once one has landed, that one.
func (s *Sequencer) watch(h *held) {
	w, found := s.watchOf(h.t)
	if !found {
		s.Chain.Forget(h.t.UID)
		return
	}
	s.Chain.Watch(h.t.UID, w)
	notify(s.watching)
}

// watchOf is what there is to follow of t; it reports false if there is nothing.
func (s *Sequencer) watchOf(t *lifecycle.Transaction) (w lifecycle.Watch, found bool) {
	w.Memo = Memo(s.Namespace, t.UID)
	unseen := false
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if !a.Open() && a.Number != t.Landed && !sameNonce(a, t.Attempt(t.Landed)) {
			continue
		}
		if !found {
			w.Payer, w.Nonce, w.Since = a.Sender, a.Nonce, a.Slot
			found = true
		}
		w.Since = min(w.Since, a.Slot)
		w.ValidUntil = max(w.ValidUntil, a.ValidUntil)
		for _, hash := range []string{a.Hash, a.NodeHash} {
			if hash != "" && !slices.Contains(w.Hashes, hash) {
				w.Hashes = append(w.Hashes, hash)
			}
		}
		w.Legacy = w.Legacy || a.Legacy
		unseen = unseen || a.Legacy && a.StateHash == ""
	}
	if w.Legacy {
		w.ValidUntil = 0 // it may have ignored that
		// It has been in a block, if only in one that is gone.
		w.Found = t.Landed > 0 || !unseen
	}
	return w, found
}

func sameNonce(a, b *lifecycle.Attempt) bool {
	return a != nil && b != nil && a.Sender == b.Sender && a.Nonce == b.Nonce && a.Outcome != lifecycle.Refused && a.Outcome != lifecycle.Prepared
}

// judge says what the last poll means for h, "" if nothing. It asks nobody
// and changes no state, so it may look at every held transaction after every poll.
func (s *Sequencer) judge(h *held, c mina.Chain) (Event, lifecycle.Sighting) {
	t := h.t
	switch t.Phase {
	case lifecycle.PhaseWatching, lifecycle.PhaseDone:
	case lifecycle.PhaseFailed, lifecycle.PhaseUnresolved:
		if t.Claim == "" {
			return "", lifecycle.Sighting{}
		}
	case lifecycle.PhaseDispatching, lifecycle.PhaseDelayed:
		// An earlier attempt is open beside the one that waits or is made.
		if g := s.Chain.Sighting(t.UID); t.Open() && g.Fate == lifecycle.FateIncluded && g.Agreed && g.Depth >= s.Policy.Confirmations {
			return Landed, g
		}
		return "", lifecycle.Sighting{}
	default:
		return "", lifecycle.Sighting{}
	}
	g := s.Chain.Sighting(t.UID)
	if g.Fate != lifecycle.FateAbsent {
		h.lostAt = time.Time{}
	}
	settled := g.Agreed && g.Depth >= s.settleDepth(t)
	if strayed(t, g) {
		return Astray, g
	}
	switch g.Fate {
	case lifecycle.FateIncluded:
		switch {
		case !g.Agreed:
		case t.Phase == lifecycle.PhaseDone && !t.Reopened:
			if g.Depth >= s.Policy.Finality {
				return Finalised, g
			}
		case g.Depth >= s.Policy.Confirmations:
			return Landed, g
		}
	case lifecycle.FateFailed:
		if settled {
			switch class, _ := mina.ClassifyFailures(g.Failures); {
			case t.Phase == lifecycle.PhaseDone && g.Archived:
				return "", g
			case t.Phase == lifecycle.PhaseDone:
				return s.unlanded(t), g
			case class == mina.Permanent, g.Archived:
				// One archive's word allows no new attempt: a person's retry does.
				return Rejected, g
			}
			return FailedIn, g
		}
	case lifecycle.FateDisplaced, lifecycle.FateExpired:
		if settled {
			if t.Phase == lifecycle.PhaseDone {
				return s.unlanded(t), g
			}
			return Died, g
		}
		if t.Phase == lifecycle.PhaseDone && !t.Reopened && g.Agreed {
			return Orphaned, g
		}
	case lifecycle.FateAbsent:
		return s.absent(h, g), g
	case lifecycle.FatePooled:
		h.resent = 0
		switch {
		case t.Phase == lifecycle.PhaseDone:
			if !t.Reopened {
				return Orphaned, g
			}
			if !isLegacy(t) && time.Since(h.sentAt) >= resendEvery {
				return Lingering, g
			}
		case t.Phase == lifecycle.PhaseWatching && !isLegacy(t):
			if s.lingers(h, c) || time.Since(h.sentAt) >= resendEvery {
				return Lingering, g
			}
		}
	}
	return "", g
}

// settleDepth is how deep what ended an attempt of t must stand.
func (s *Sequencer) settleDepth(t *lifecycle.Transaction) int {
	depth := s.Policy.SettleDepth
	if d, ok := s.Types.Lookup(t.Type); ok {
		if settler, ok := d.(dispatcher.Settler); ok && settler.SettleDepth() > 0 {
			depth = min(depth, settler.SettleDepth())
		}
	}
	return depth
}

// unlanded: a DONE transaction whose nonce has settled otherwise.
func (s *Sequencer) unlanded(t *lifecycle.Transaction) Event {
	if t.Reopened {
		return Unlandable
	}
	return Orphaned
}

func (s *Sequencer) absent(h *held, g lifecycle.Sighting) Event {
	t := h.t
	switch {
	case t.Phase == lifecycle.PhaseDone && !t.Reopened:
		return Orphaned
	case isLegacy(t):
		// Nobody but its worker has the bytes. What every synced node has not
		// seen for so long is for a person to settle.
		since := t.Last().StartedAt
		if t.Phase == lifecycle.PhaseDone {
			if !g.Agreed || h.lostAt.IsZero() {
				h.lostAt = s.now()
			}
			since = h.lostAt
		}
		if (t.Phase == lifecycle.PhaseWatching || t.Phase == lifecycle.PhaseDone) && g.Agreed && s.now().Sub(since) >= 2*s.Policy.DispatchTimeout {
			return Ambiguous
		}
	case t.Phase == lifecycle.PhaseDone, t.Phase == lifecycle.PhaseWatching:
		// The nodes get some time to show what they were given, the longer the
		// more often they did not.
		if time.Since(h.sentAt) >= s.Policy.InclusionInterval<<min(h.resent, 5) {
			return Vanished
		}
	}
	return ""
}

func isLegacy(t *lifecycle.Transaction) bool {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Legacy && (a.Open() || a.Number == t.Landed) {
			return true
		}
	}
	return false
}

// settle does what the last poll means for h. It reports true if there may be
// more to do at once.
func (s *Sequencer) settle(ctx context.Context, h *held) (on bool, err error) {
	e, g := s.judge(h, s.Chain.Chain())
	if e == "" {
		return false, nil
	}
	switch e {
	case Landed:
		return true, s.landed(ctx, h, g)
	case Finalised:
		err := s.apply(ctx, h, e, func(c *queues.Change) {
			a := h.t.Attempt(h.t.Landed)
			if a.StateHash != g.StateHash {
				a.Height, a.StateHash = g.Height, g.StateHash
				c.SetDone(doneIn(g))
			}
			a.Confirmations = g.Depth
			c.SetAttempt(a)
			c.ClearStanding(a.Sender)
			c.MarkFinal()
			c.DropSigned()
			c.Remove = s.Policy.Retention
		})
		if err == nil {
			s.drop(h)
		}
		return false, err
	case Vanished, Lingering, Orphaned:
		return false, s.keepAlive(ctx, h, e)
	case FailedIn, Rejected, Died:
		return true, s.died(ctx, h, e, g)
	case Astray:
		return true, s.astray(ctx, h, g)
	case Ambiguous:
		return true, s.apply(ctx, h, e, func(c *queues.Change) {
			if a := h.t.Attempt(h.t.Landed); a != nil {
				// Its block is gone: it may land once more, and nobody knows.
				a.Outcome, a.EndedAt = lifecycle.Unknown, time.Time{}
				c.SetAttempt(a)
				c.ClearStanding(a.Sender) // which is out of use until that is settled
				c.SetLanded(0)
				c.SetDone(nil)
				c.SetReopened(false)
			}
			c.SetError(&lifecycle.Error{Code: CodeOutcomeUnknown, Message: "the worker may have sent it, and no node has seen it: settle it by resolve"})
			c.Rest, c.Reason = queues.Never, string(senders.OutcomeUnknown)
		})
	case Unlandable:
		failed := s.attemptOf(h.t, g)
		return true, s.apply(ctx, h, e, func(c *queues.Change) {
			for i := range h.t.Attempts {
				if a := &h.t.Attempts[i]; a.EndedAt.IsZero() || a.Number == h.t.Landed {
					a.Outcome, a.EndedAt = settledOutcome(g, a == failed), s.now()
					c.SetAttempt(a)
				}
			}
			c.ClearEnd()
			c.SetReopened(false)
			c.SetRetries(h.t.Retries)
			c.DropSigned()
		})
	}
	return false, fmt.Errorf("no way to settle %s", e)
}
