package sequencer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// step looks at a claimed transaction and does what its phase asks for, until
// there is nothing to do but wait. It is the one way on for a transaction just
// bound, for one whose delay is over, for one that the chain has moved, and for
// one that a dead process left in the middle.
func (s *Sequencer) step(ctx context.Context, h *held) {
	if s.stale(h) && !s.reread(ctx, h) {
		return
	}
	for ctx.Err() == nil {
		var on bool
		var err error
		switch h.t.Phase {
		case lifecycle.PhaseDispatching:
			on, err = s.dispatch(ctx, h)
		case lifecycle.PhaseSent:
			on, err = true, s.apply(ctx, h, WaitBegun, nil)
		case lifecycle.PhaseWatching, lifecycle.PhaseDone, lifecycle.PhaseFailed, lifecycle.PhaseUnresolved:
			if h.t.Claim == "" {
				s.drop(h)
				return
			}
			s.watch(h)
			on, err = s.settle(ctx, h)
		case lifecycle.PhaseFailing:
			on, err = true, s.apply(ctx, h, Weighed, nil)
		case lifecycle.PhaseDelayed:
			// With nothing open it watches nothing: a person may end it through another
			// process, and nobody would tell this one.
			s.watch(h)
			if h.t.Open() {
				if on, err = s.settle(ctx, h); on || err != nil {
					break
				}
			}
			if h.t.DueAt.After(s.now()) {
				return
			}
			on, err = true, s.apply(ctx, h, DelayOver, nil)
		case lifecycle.PhaseWaiting:
			s.drop(h)
			return
		}
		switch {
		case err == nil && !on:
			return
		case err == nil:
		case errors.Is(err, errNotLive), errors.Is(err, queues.ErrUnsettled):
			if errors.Is(err, queues.ErrUnsettled) {
				s.suspect()
			}
			// If nobody took the claim meanwhile, nobody but this process will.
			for try := 0; !s.live() && ctx.Err() == nil; try++ {
				pause(ctx, try)
			}
			if !s.reread(ctx, h) {
				return
			}
		default:
			// What is stored is the truth; what was planned on an older one is not. A
			// claim that was lost may have been taken over by this process itself.
			if !s.reread(ctx, h) {
				return
			}
		}
	}
}

// stale takes the mark off h that its stored state was changed by others.
func (s *Sequencer) stale(h *held) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := h.stale
	h.stale = false
	return was
}

// errNotLive: the claims may have passed to others.
var errNotLive = errors.New("the claims have not been renewed in time")

// reread gets the stored state of h, waiting as long as Redis is away. It
// reports false if h is not this process's any more.
func (s *Sequencer) reread(ctx context.Context, h *held) bool {
	for try := 0; ; try++ {
		s.stale(h) // what is read now is new enough
		t, err := s.Store.Get(ctx, h.t.UID)
		switch {
		case err == nil && s.owns(t):
			s.mu.Lock()
			h.t = t
			s.mu.Unlock()
			h.worker.URL = "" // its sender is read anew, too
			return true
		case err == nil, errors.Is(err, queues.ErrNotFound):
			if s.letGo(h) {
				return false
			}
			continue
		case ctx.Err() != nil:
			return false
		}
		s.Log.Warn("transaction not read", about(h.t, "err", err)...)
		pause(ctx, try)
	}
}

// about is what a line of the log says of a transaction, under the keys that all such
// lines have, and more.
func about(t *lifecycle.Transaction, more ...any) []any {
	return append([]any{
		"txn", t.UID, "queue", t.Queue, "sender", t.Sender, "type", t.Type, "attempt", len(t.Attempts), "hash", t.Hash(), "state", t.State(),
	}, more...)
}

// pause waits a little longer for each try, from 50 ms to 5 s.
func pause(ctx context.Context, try int) {
	d := time.Duration(float64(50*time.Millisecond) * math.Pow(2, float64(min(try, 7))) * (0.5 + rand.Float64()))
	t := time.NewTimer(min(d, 5*time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// apply takes a transaction through an event: the machine decides, more adds
// what the event brings along, and the store takes both or neither. An event
// that means nothing is left alone.
func (s *Sequencer) apply(ctx context.Context, h *held, e Event, more func(*queues.Change)) error {
	sit, err := s.situation(ctx, h, e)
	if err != nil {
		return err
	}
	d, ok := s.next(sit, e)
	if !ok {
		return nil
	}
	if e == Accepted && !isLegacy(h.t) {
		// Its hash was watched for before the first byte left.
		return s.advance(ctx, h, e, s.waiting(sit, d), more)
	}
	return s.advance(ctx, h, e, d, more)
}

// waiting adds to the decision that a transaction is sent the one that its wait has
// begun, so that both are one write.
func (s *Sequencer) waiting(sit Situation, sent Decision) Decision {
	sit.Phase, sit.Ending = sent.To, sent.Ending
	d, ok := s.next(sit, WaitBegun)
	if !ok {
		return sent
	}
	d.Via = sent.To
	return d
}

// next asks the machine, and lets the observer see.
func (s *Sequencer) next(sit Situation, e Event) (Decision, bool) {
	d, ok := Next(sit, e)
	if s.Observe != nil {
		s.Observe(sit, e, d, ok)
	}
	return d, ok
}

// situation gathers what the machine wants to know. What costs a question is
// asked only for the events whose answer depends on it.
func (s *Sequencer) situation(ctx context.Context, h *held, e Event) (Situation, error) {
	t := h.t
	last := t.Last()
	sit := Situation{
		Phase: t.Phase, Open: t.Open(), Losses: t.Losses, Ending: t.Ending,
		Cancelled: t.CancelRequested, Reopened: t.Reopened,
		Legacy:  last != nil && last.Legacy,
		Pending: t.Uncounted,
	}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Open() && a.Fee >= s.Policy.FeeMax {
			sit.FeeAtCap = true
		}
	}
	if e != Weighed && e != DelayOver {
		return sit, nil
	}
	sender, err := s.Senders.Get(ctx, t.Sender)
	switch {
	case errors.Is(err, senders.ErrNotFound):
		sit.Unusable = true
	case err != nil:
		return sit, err
	default:
		sit.Unusable = sender.Reason != "" && sender.Reason != senders.Rested
		h.worker.AccountID, h.worker.URL, h.next = sender.AccountID, sender.WorkerURL, sender.Nonce
	}
	if sit.Overtaken, err = s.Store.Overtaken(ctx, t); err != nil {
		return sit, err
	}
	limit := s.Policy.MaxRetries
	if d, ok := s.Types.Lookup(t.Type); ok && e == Weighed && !sit.Unusable {
		if n, ok := d.MaxRetries(ctx, h.worker); ok {
			limit = n
		}
	}
	sit.RetriesLeft = t.Retries < limit
	return sit, nil
}

// pending: planned, and no answer has settled what became of it.
func pending(a *lifecycle.Attempt) bool {
	return a.Outcome == lifecycle.Prepared && a.EndedAt.IsZero() && !a.Legacy
}

// advance turns a decision into the stored change.
func (s *Sequencer) advance(ctx context.Context, h *held, e Event, d Decision, more func(*queues.Change)) error {
	t := h.t
	from, since := t.Phase, t.ChangedAt
	c := queues.NewChange(t, d.To)
	c.Code, c.Via = d.Code, d.Via
	if d.Ending != t.Ending {
		c.SetEnding(d.Ending)
	}
	switch d.Do {
	case CountRetry:
		c.SetRetries(t.Retries + 1)
		c.MarkRetried()
	case FlagCancel:
		c.SetCancelled(true)
	}
	switch {
	case e == Lost && from == lifecycle.PhaseDispatching:
		c.SetLosses(t.Losses + 1)
	case d.To != from && t.Losses != 0:
		c.SetLosses(0)
	}
	if uncounted := e == Unreached; uncounted != t.Uncounted && d.To != from {
		c.SetUncounted(uncounted)
	}
	switch {
	case d.To != lifecycle.PhaseDelayed:
	case from == lifecycle.PhaseDelayed:
		c.Due = max(0, t.DueAt.Sub(s.now()))
	default:
		c.Due = s.retryDelay(t.Retries)
	}
	if more != nil {
		more(c)
	}
	if d.Code == CodeCancelled {
		c.SetError(&lifecycle.Error{Code: CodeCancelled, Message: "cancelled before it took effect"})
	}
	if d.To.Final() && from != d.To {
		s.end(c, t, d)
	}
	if err := s.Store.Advance(ctx, c); err != nil {
		return err
	}
	s.moved(t, e, from, since, d.Do == CountRetry)
	if from != d.To {
		s.Log.Info("transaction", about(t, "code", d.Code)...)
	}
	if t.Callback != "" && d.To.Final() && from != d.To {
		told := *t // the step goes on with t
		told.Attempts = slices.Clone(t.Attempts)
		s.tellSoon(&told, h.worker)
	}
	return nil
}

// end completes the change that makes a transaction final.
func (s *Sequencer) end(c *queues.Change, t *lifecycle.Transaction, d Decision) {
	c.MarkEnded()
	c.SetEnding("")
	c.Hold, c.Lease = s.Policy.CallbackWait, callbackLease
	if d.To == lifecycle.PhaseDone {
		c.Tell = lifecycle.OnSuccess
		c.SetError(nil)
		if t.Landed == 0 || c.Person {
			// Finished without a block, or a person has the last word.
			c.MarkFinal()
			c.Remove = s.Policy.Retention
		} else {
			c.Keep = true
		}
		return
	}
	if len(t.Attempts) > 0 {
		c.Tell = lifecycle.OnFailure
	}
	// Something might still land: go on watching.
	c.Keep = t.Open()
	if !c.Keep {
		c.DropSigned()
	}
}

// retryDelay is exponential with jitter of a tenth, capped.
func (s *Sequencer) retryDelay(retries int) time.Duration {
	d := float64(s.Policy.RetryDelay) * math.Pow(2, float64(min(retries, 30)))
	return time.Duration(min(d, float64(s.Policy.RetryDelayMax)) * (0.9 + 0.2*rand.Float64()))
}
