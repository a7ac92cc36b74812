package sequencer

import (
	"context"
	"errors"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

func (s *Sequencer) checkSigned(r dispatcher.Result, t *lifecycle.Transaction, a *lifecycle.Attempt) error {
	return dispatcher.CheckSigned(r.Signed, a.Sender, s.call(t, a).Attempt, mina.DecodeMemo)
}

// storeSigned keeps the bytes before any of them leaves. From here on the
// attempt is open.
func (s *Sequencer) storeSigned(ctx context.Context, h *held, a *lifecycle.Attempt, r dispatcher.Result, phase lifecycle.Phase) error {
	first := !h.t.Open()
	a.Outcome, a.Data = lifecycle.Signed, r.Data
	if mina.ValidHash(r.Hash) {
		a.Hash = r.Hash
	}
	c := queues.NewChange(h.t, phase)
	c.SetAttempt(a)
	c.SetSigned(a.Number, r.Signed)
	c.Confirm, c.InOrder = true, first
	err := s.Store.Advance(ctx, c)
	if errors.Is(err, queues.ErrFenced) {
		s.record(ctx, h.t, a)
	}
	return err
}

// record keeps facts although the claim is lost: they may be what settles it. Where
// Redis has forgotten the attempt, all that this process knows is written back first:
// it may not live to see the next beat.
func (s *Sequencer) record(ctx context.Context, t *lifecycle.Transaction, a *lifecycle.Attempt) {
	for try := 0; ctx.Err() == nil && try < 20; try++ {
		err := s.Store.Record(ctx, t.UID, a, queues.Facts{Hash: a.Hash, NodeHash: a.NodeHash, Data: a.Data})
		if err == nil {
			return
		}
		if errors.Is(err, queues.ErrUnsettled) || errors.Is(err, queues.ErrNotFound) {
			s.beat(ctx) // which tells what Redis this is
			s.mu.Lock()
			p := s.recovery.pulse
			s.mu.Unlock()
			s.writtenBack(ctx, p)
		}
		pause(ctx, try)
	}
	s.Log.Error("what a worker answered could not be stored", about(t)...)
}

// overtaken takes h back to its queue: what it was built on is gone, and an
// earlier one of its queue goes first. Nothing of it has left.
func (s *Sequencer) overtaken(ctx context.Context, h *held) error {
	a := h.t.Last()
	a.Outcome, a.Legacy = lifecycle.Prepared, false
	return s.unreached(ctx, h, &stop{err: &lifecycle.Error{Code: "OVERTAKEN", Message: queues.ErrOvertaken.Error()}})
}

// confirm has the replicas that are asked for confirm what is stored, before
// bytes leave whose own write may have failed to be confirmed.
func (s *Sequencer) confirm(ctx context.Context, h *held) error {
	if s.Store.Replicas == 0 {
		return nil
	}
	c := queues.NewChange(h.t, h.t.Phase)
	c.Confirm, c.Keep = true, !h.t.Phase.Bound()
	return s.Store.Advance(ctx, c)
}

// outwait waits until the replicas have confirmed what is stored of h.
func (s *Sequencer) outwait(ctx context.Context, h *held) error {
	err := queues.ErrUnconfirmed
	for try := 0; errors.Is(err, queues.ErrUnconfirmed) || errors.Is(err, queues.ErrUnsettled); try++ {
		s.Log.Warn("nothing is sent before enough replicas have confirmed it", about(h.t)...)
		pause(ctx, try)
		if !s.reread(ctx, h) {
			return queues.ErrFenced
		}
		err = s.confirm(ctx, h)
	}
	return err
}

// send gives the signed bytes to the nodes and stores what they said. earlier
// says that the same bytes may have been sent before: then a refusal proves
// nothing, for a node also refuses what is in a block already.
func (s *Sequencer) send(ctx context.Context, h *held, signed []byte, earlier bool) error {
	t := h.t
	a := t.Last()
	if signed == nil {
		number, stored, err := s.Store.Signed(ctx, t.UID)
		switch {
		case errors.Is(err, queues.ErrNotFound) || err == nil && number != a.Number:
			// The chain alone can tell now.
			return s.apply(ctx, h, Accepted, func(c *queues.Change) { c.MarkSubmitted() })
		case err != nil:
			return err
		}
		signed = stored
	}
	if earlier {
		if err := s.confirm(ctx, h); err != nil {
			return err
		}
	}
	if !s.live() {
		return errNotLive
	}
	s.watch(h) // from now on it may be anywhere
	r := s.Chain.Send(ctx, signed)
	h.sentAt = time.Now()
	if h.sentHeight == 0 && !earlier {
		h.sentFirst, h.sentHeight = h.sentAt, s.Chain.Chain().Height
	}
	if r.Refused && r.Err.Class != mina.Renonce && r.Err.Class != mina.Resend {
		return s.refused(ctx, h, r.Err, earlier)
	}
	s.noteSend(a, r)
	return s.apply(ctx, h, Accepted, func(c *queues.Change) {
		c.SetAttempt(a)
		if t.SubmittedAt.IsZero() {
			c.MarkSubmitted()
		}
	})
}

func (s *Sequencer) noteSend(a *lifecycle.Attempt, r mina.SendResult) {
	if a.SentSlot == 0 {
		a.SentSlot = s.slot()
	}
	switch {
	case r.Accepted:
		a.Outcome = lifecycle.Sent
		if a.NodeHash == "" {
			a.NodeHash = r.Hash
		}
	case r.Err != nil:
		// It may be on its way: only the chain can tell.
		a.Error = &lifecycle.Error{Code: r.Err.Code, Message: r.Err.Message}
		if r.Err.Class == mina.Transport {
			a.Outcome = lifecycle.Unknown
		}
	}
}

// refused: every node turned the bytes down. Fresh ones are then nowhere, and the
// attempt is over. Of bytes that may have been sent earlier this is no proof: the
// attempt stays open, and whatever follows it takes the same nonce.
func (s *Sequencer) refused(ctx context.Context, h *held, e *mina.Error, earlier bool) error {
	a := h.t.Last()
	event, cause := Erred, &lifecycle.Error{Code: e.Code, Message: e.Message}
	if e.Class == mina.Permanent {
		event = Hopeless
	}
	if e.Class == mina.Operator {
		why := senders.Rested
		switch e.Code {
		case "Insufficient_funds", "Fee_payer_account_not_found":
			why = senders.LowBalance
		}
		if err := s.Senders.Rest(ctx, a.Sender, stopRest, why, e.Message); err != nil && !errors.Is(err, senders.ErrNotFound) {
			return err
		}
	}
	if !earlier {
		a.Outcome = lifecycle.Refused
		return s.fail(ctx, h, event, cause)
	}
	a.Outcome, a.Error = lifecycle.Unknown, cause
	return s.apply(ctx, h, event, func(c *queues.Change) {
		c.SetError(cause)
		c.SetAttempt(a)
	})
}
