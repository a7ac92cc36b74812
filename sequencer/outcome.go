package sequencer

import (
	"context"
	"fmt"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// landed stores that a command of h is in a block deep enough.
func (s *Sequencer) landed(ctx context.Context, h *held, g lifecycle.Sighting) error {
	t := h.t
	landed := s.attemptOf(t, g)
	if landed == nil {
		return nil
	}
	wasBound, reopened := t.Phase.Bound(), t.Reopened
	waited := awaited(t)
	now := s.now()
	for i := range t.Attempts {
		a := &t.Attempts[i]
		switch {
		case a == landed:
			a.EndedAt = now
		case a.Open():
			a.Outcome, a.EndedAt = lifecycle.Replaced, now
			continue
		default:
			if pending(a) {
				a.EndedAt = now
			}
			continue
		}
		a.Outcome, a.Height, a.StateHash, a.Confirmations = lifecycle.Included, g.Height, g.StateHash, g.Depth
		if a.Error = nil; a.Legacy && g.Nonce != a.Nonce && !g.Archived {
			a.Error = ignored(a, g)
		}
		if a.NodeHash == "" || a.NodeHash != g.Hash && a.Hash != g.Hash {
			a.NodeHash = g.Hash
		}
	}
	err := s.apply(ctx, h, Landed, func(c *queues.Change) {
		for i := range t.Attempts {
			if a := &t.Attempts[i]; a.EndedAt.Equal(now) {
				c.SetAttempt(a)
			}
		}
		c.SetLanded(landed.Number)
		c.SetStanding(landed.Sender, g.Nonce)
		c.SetReopened(false)
		c.SetDone(doneIn(g))
		c.Keep = true
		switch {
		case waited, wasBound && g.Archived: // much may have happened since
			c.ForgetNonce()
		case wasBound:
			c.RaiseNextNonce(g.Nonce + 1)
		}
	})
	if err != nil {
		return err
	}
	if !reopened && t.Phase == lifecycle.PhaseDone {
		s.settled(h, landed)
	}
	if wasBound && !g.Archived {
		s.sawNonce(landed.Sender, g.Nonce+1)
	}
	return nil
}

// awaited reports whether the sender of t waits for what becomes of it, and has to
// be told then where its nonces are.
func awaited(t *lifecycle.Transaction) bool {
	return t.Phase == lifecycle.PhaseUnresolved && t.Error != nil && t.Error.Code == CodeOutcomeUnknown
}

func doneIn(g lifecycle.Sighting) []byte {
	return fmt.Appendf(nil, `{"blockHeight":%d,"stateHash":%q}`, g.Height, g.StateHash)
}

// strayed reports whether what the nodes show of t carries another nonce than
// its worker was given, and nobody has noted that yet.
func strayed(t *lifecycle.Transaction, g lifecycle.Sighting) bool {
	a := t.Last()
	return t.Phase == lifecycle.PhaseWatching && a.Legacy && a.Open() && g.Hash != "" && !g.Archived &&
		(g.Fate == lifecycle.FatePooled || g.Fate == lifecycle.FateIncluded || g.Fate == lifecycle.FateFailed) &&
		g.Nonce != a.Nonce && (a.Error == nil || a.Error.Code != CodeNonceIgnored)
}

// ignored is an error of the operator's: that worker cannot be relied on. What
// counts is the nonce it used: the sender's next one follows that, as soon as
// it is spent; the given one stays unspent until then, and nothing else takes it.
func ignored(a *lifecycle.Attempt, g lifecycle.Sighting) *lifecycle.Error {
	return &lifecycle.Error{Code: CodeNonceIgnored, Message: fmt.Sprintf(
		"the worker of %s was given nonce %d and used %d, in %s; have it use attempt.nonce", a.Sender, a.Nonce, g.Nonce, g.Hash)}
}

func (s *Sequencer) astray(ctx context.Context, h *held, g lifecycle.Sighting) error {
	a := h.t.Last()
	a.Error = ignored(a, g)
	s.Log.Error("a worker ignored the nonce it was given", about(h.t, "given", a.Nonce, "used", g.Nonce, "found", g.Hash)...)
	return s.apply(ctx, h, Astray, func(c *queues.Change) {
		c.SetAttempt(a)
		c.SetError(a.Error)
	})
}

// attemptOf finds the attempt that a sighting is of: by its hash, or, where the
// hash is news, the latest one that could have it.
func (s *Sequencer) attemptOf(t *lifecycle.Transaction, g lifecycle.Sighting) *lifecycle.Attempt {
	var candidate *lifecycle.Attempt
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := &t.Attempts[i]
		if g.Hash != "" && (a.Hash == g.Hash || a.NodeHash == g.Hash) {
			return a
		}
		if candidate == nil && (a.Open() || a.Number == t.Landed) {
			candidate = a
		}
	}
	return candidate
}

func (s *Sequencer) sawNonce(sender string, next uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonces[sender] = seenNonce{next, time.Now()}
	if s.feeLimits() == (queues.FeeLimits{}) { // else each plan is weighed by itself
		s.released[sender] = s.nonces[sender]
	}
}

// died stores that no open attempt of h can land any more.
func (s *Sequencer) died(ctx context.Context, h *held, e Event, g lifecycle.Sighting) error {
	t := h.t
	now := s.now()
	cause := deathCause(g)
	spent, waited := g.Fate != lifecycle.FateExpired, awaited(t)
	failed := s.attemptOf(t, g)
	var nonce uint32
	err := s.apply(ctx, h, e, func(c *queues.Change) {
		for i := range t.Attempts {
			a := &t.Attempts[i]
			if !a.Open() {
				continue
			}
			nonce = a.Nonce
			if g.Fate == lifecycle.FateFailed {
				nonce = g.Nonce // a legacy worker's may be another than planned
			}
			a.Outcome, a.EndedAt = settledOutcome(g, a == failed), now
			if a.Outcome == lifecycle.FailedIn {
				a.Height, a.StateHash, a.Confirmations = g.Height, g.StateHash, g.Depth
				if a.NodeHash == "" {
					a.NodeHash = g.Hash
				}
				if a.Error == nil || a.Error.Code != CodeNonceIgnored {
					a.Error = cause
				}
			}
			c.SetAttempt(a)
		}
		c.SetError(cause)
		c.DropSigned()
		switch {
		case !t.Phase.Bound() && !waited:
		case g.Archived, waited && g.Fate == lifecycle.FateFailed: // much may have happened since
			c.ForgetNonce()
		case g.Fate == lifecycle.FateDisplaced:
			// Somebody else signs for the account: no nonce of it can be trusted.
			c.Rest, c.Reason = queues.Never, string(senders.StoppedNonce)
			c.RaiseNextNonce(nonce + 1)
		case spent:
			c.RaiseNextNonce(nonce + 1)
		default:
			c.RaiseNextNonce(nonce)
		}
	})
	if err != nil {
		return err
	}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Outcome == lifecycle.FailedIn && a.EndedAt.Equal(now) {
			s.settled(h, a)
		}
	}
	h.sentFirst, h.sentHeight = time.Time{}, 0
	h.next, h.worker.URL = nil, "" // read the sender anew
	s.Chain.Forget(t.UID)
	return nil
}

func deathCause(g lifecycle.Sighting) *lifecycle.Error {
	switch g.Fate {
	case lifecycle.FateFailed:
		_, code := mina.ClassifyFailures(g.Failures)
		e := &lifecycle.Error{Code: code, Message: fmt.Sprintf("failed in block %d: %v", g.Height, g.Failures)}
		if g.Archived {
			e.Message += ", as the archive alone says: retry it if that is so"
		}
		return e
	case lifecycle.FateDisplaced:
		return &lifecycle.Error{Code: "NONCE_TAKEN", Message: fmt.Sprintf("its nonce was spent by %s, which is not ours", g.Hash)}
	}
	return &lifecycle.Error{Code: "EXPIRED", Message: fmt.Sprintf("not included up to slot %d, past its last", g.TipSlot)}
}

// settledOutcome is what became of an attempt that cannot land any more; failed
// says that it is the one in the block.
func settledOutcome(g lifecycle.Sighting, failed bool) lifecycle.Outcome {
	switch {
	case g.Fate == lifecycle.FateFailed && failed:
		return lifecycle.FailedIn
	case g.Fate == lifecycle.FateExpired:
		return lifecycle.Expired
	}
	return lifecycle.Replaced
}
