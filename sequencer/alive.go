package sequencer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
)

// resendEvery is how often what waits in a pool is sent again: a Mina node stops
// telling its peers of a transaction 50 minutes after it was submitted.
const resendEvery = 30 * time.Minute

// lingers reports whether the last raise of the fee, or the first sending, is
// long enough ago to raise it. It counts the slots of the chain, which stand
// still when the chain does. What this process has sent just now has waited for
// nothing yet, however old its plan is.
func (s *Sequencer) lingers(h *held, c mina.Chain) bool {
	if time.Now().Before(h.costly) {
		return false
	}
	var since uint32
	for i := range h.t.Attempts {
		since = max(since, h.t.Attempts[i].SentSlot, h.t.Attempts[i].Slot)
	}
	return since > 0 && c.TipSlot >= since+s.Policy.BumpAfter && time.Since(h.sentAt) >= time.Duration(s.Policy.BumpAfter)*c.SlotTime
}

// keepAlive does what a transaction needs that waits for a block: the same bytes
// again, or a higher fee.
func (s *Sequencer) keepAlive(ctx context.Context, h *held, e Event) error {
	sit, err := s.situation(ctx, h, e)
	if err != nil {
		return err
	}
	d, ok := s.next(sit, e)
	if !ok {
		return nil
	}
	if e == Lingering && d.Do == SendAgain && time.Since(h.sentAt) < resendEvery {
		return nil
	}
	if e == Orphaned {
		if err := s.advance(ctx, h, e, d, func(c *queues.Change) {
			c.SetReopened(true)
			c.Keep = true
		}); err != nil {
			return err
		}
	}
	if d.Do == RaiseFee && s.lingers(h, s.Chain.Chain()) {
		return s.raiseFee(ctx, h)
	}
	return s.sendAgain(ctx, h)
}

// sendAgain gives the stored bytes to the nodes once more, which is harmless.
// What they answer is no news: only the chain is believed.
func (s *Sequencer) sendAgain(ctx context.Context, h *held) error {
	if isLegacy(h.t) {
		return nil
	}
	number, signed, err := s.Store.Signed(ctx, h.t.UID)
	if errors.Is(err, queues.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	a := h.t.Attempt(number)
	if stands := inQuestion(h.t); a == nil || stands == nil || a.Sender != stands.Sender || a.Nonce != stands.Nonce {
		return nil // left over from another nonce
	}
	err = s.reopen(ctx, h, a)
	if err == nil {
		err = s.confirm(ctx, h)
	}
	if err != nil {
		return err
	}
	if !s.live() {
		return errNotLive
	}
	r := s.Chain.Send(ctx, signed)
	h.sentAt = time.Now()
	h.resent++
	s.Log.Info("sent again", about(h.t, "accepted", r.Accepted, "err", r.Err)...)
	if r.Refused && r.Err.Class == mina.RaiseFee {
		// It will not do at this fee: the next rung of the ladder.
		if sit, err := s.situation(ctx, h, Lingering); err != nil || sit.FeeAtCap || sit.Cancelled || sit.Ending != "" || h.t.Phase != lifecycle.PhaseWatching {
			return err
		}
		return s.raiseFee(ctx, h)
	}
	return nil
}

// inQuestion is an attempt whose sender and nonce are those that are settled next:
// the first open one or, of what is DONE, the one that landed.
func inQuestion(t *lifecycle.Transaction) *lifecycle.Attempt {
	if a := firstOpen(t); a != nil {
		return a
	}
	return t.Attempt(t.Landed)
}

// reopen stores that the attempt is open whose bytes are about to leave: the nodes
// refused them once, others at its nonce are not there any more, and they may land now.
func (s *Sequencer) reopen(ctx context.Context, h *held, a *lifecycle.Attempt) error {
	if a.Outcome != lifecycle.Refused {
		return nil
	}
	a.Outcome, a.EndedAt = lifecycle.Signed, time.Time{}
	c := queues.NewChange(h.t, h.t.Phase)
	c.SetAttempt(a)
	c.Confirm, c.Keep = true, !h.t.Phase.Bound()
	if err := s.Store.Advance(ctx, c); err != nil {
		return err
	}
	s.watch(h)
	return nil
}

// raiseFee makes another attempt at the same nonce that pays more. Only one of
// the two can land. If it cannot be made, the earlier one goes on waiting.
func (s *Sequencer) raiseFee(ctx context.Context, h *held) error {
	t := h.t
	d, known := s.Types.Lookup(t.Type)
	if !known {
		return nil
	}
	if err := s.findWorker(ctx, h); err != nil {
		return err
	}
	a := t.Last()
	if !pending(a) {
		c := s.Chain.Chain()
		best := firstOpen(t)
		if best == nil {
			return nil
		}
		highest := best.Fee
		for i := range t.Attempts {
			if o := &t.Attempts[i]; o.Open() {
				highest = max(highest, o.Fee)
			}
		}
		t.Attempts = append(t.Attempts, lifecycle.Attempt{
			Number: len(t.Attempts) + 1, Sender: best.Sender, Nonce: best.Nonce, Fee: s.raise(highest),
			ValidUntil: s.validUntil(c), Slot: c.TipSlot, Outcome: lifecycle.Prepared, StartedAt: s.now(),
		})
		a = t.Last()
		plan := queues.NewChange(t, t.Phase)
		plan.SetAttempt(a)
		plan.Limits = s.feeLimits()
		err := s.Store.Advance(ctx, plan)
		if limit, ok := errors.AsType[*queues.FeeLimitError](err); ok {
			// What is open goes on waiting at the fee that it has.
			t.Attempts = t.Attempts[:len(t.Attempts)-1]
			h.costly = time.Now().Add(min(limit.Left, stopRest))
			s.tooCostly(limit, t, a.Fee)
			return nil
		}
		if err != nil {
			return err
		}
	}
	before, signed, err := s.Store.Signed(ctx, t.UID)
	if err != nil && !errors.Is(err, queues.ErrNotFound) {
		return err
	}
	result, err := s.resign(ctx, h, d, a, signed)
	if err == nil && result.Signed == nil {
		err = fmt.Errorf("%w: nothing signed", dispatcher.ErrMismatch)
	}
	if err == nil {
		err = s.checkSigned(result, t, a)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.Log.Warn("fee not raised", about(t, "err", err)...)
		a.Error, a.EndedAt = &lifecycle.Error{Code: "NOT_RAISED", Message: err.Error()}, s.now()
		c := queues.NewChange(t, t.Phase)
		c.SetAttempt(a)
		return s.Store.Advance(ctx, c)
	}
	if err := s.storeSigned(ctx, h, a, result, t.Phase); err != nil {
		return err
	}
	tell(s.Meter.Raised, t.Type)
	if !s.live() {
		return errNotLive
	}
	r := s.Chain.Send(ctx, result.Signed)
	h.sentAt = time.Now()
	c := queues.NewChange(t, t.Phase)
	if r.Refused && r.Err.Class != mina.Renonce && r.Err.Class != mina.Resend {
		a.Outcome, a.EndedAt = lifecycle.Refused, s.now()
		a.Error = &lifecycle.Error{Code: r.Err.Code, Message: r.Err.Message}
		if signed != nil {
			c.SetSigned(before, signed) // what is open goes on being sent
		}
	} else {
		s.noteSend(a, r)
	}
	c.SetAttempt(a)
	if err := s.Store.Advance(ctx, c); err != nil {
		return err
	}
	s.watch(h)
	return nil
}

// resign has the signed bytes signed anew; a worker that cannot do that, or where
// there are none, proves afresh. The chain may overtake the call.
func (s *Sequencer) resign(ctx context.Context, h *held, d dispatcher.Dispatcher, a *lifecycle.Attempt, signed []byte) (dispatcher.Result, error) {
	call, done := s.interruptible(ctx, h)
	defer done()
	if !s.live() {
		return dispatcher.Result{}, errNotLive
	}
	if signed != nil {
		began := time.Now()
		result, err := d.Resign(call, h.worker, s.call(h.t, a), signed)
		if !errors.Is(err, dispatcher.ErrLegacy) {
			s.timed(h.t.Type, "resign", began, err)
			return result, err
		}
	}
	began := time.Now()
	result, err := d.Prove(call, h.worker, s.call(h.t, a))
	s.timed(h.t.Type, "prove", began, err)
	return result, err
}
