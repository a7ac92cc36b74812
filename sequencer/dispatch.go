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

// dispatch brings a DISPATCHING transaction one step on: it plans an attempt,
// has it made, stores it, sends it. The order of writes is what keeps the
// promises: an attempt is stored before the worker is asked, its signed bytes
// before the first of them leaves.
func (s *Sequencer) dispatch(ctx context.Context, h *held) (on bool, err error) {
	t := h.t
	resumed, planned := !h.bound, h.bound && t.Last() != nil && pending(t.Last())
	h.bound = false
	if t.Open() {
		// An earlier attempt may land while this one is made.
		s.watch(h)
		if on, err := s.settle(ctx, h); on || err != nil {
			return on, err
		}
	}
	if err := s.findWorker(ctx, h); err != nil {
		return false, err
	}
	last := t.Last()
	switch {
	case last != nil && last.Open() && !last.Legacy && last.Outcome != lifecycle.Unknown:
		// Stored, and perhaps sent before this process took it on; or surely sent, and
		// found again after a failover.
		return true, s.send(ctx, h, nil, true)
	case last != nil && last.Legacy && last.EndedAt.IsZero():
		// A legacy worker was called, and who waited for it is gone.
		return true, s.lose(ctx, h, &lifecycle.Error{Code: CodeOutcomeUnknown, Message: "the process that waited for the worker is gone"})
	}
	if h.superseded(last) {
		last.EndedAt = s.now()
		c := queues.NewChange(t, t.Phase)
		c.SetAttempt(last)
		return true, s.Store.Advance(ctx, c)
	}
	d, known := s.Types.Lookup(t.Type)
	if !known {
		// Taken over from a process that knows the type: back to the queue, for
		// one that does.
		return true, s.unreached(ctx, h, &stop{senders.Rested, time.Second,
			&lifecycle.Error{Code: "UNKNOWN_TYPE", Message: "this process does not dispatch " + t.Type}})
	}
	switch {
	case planned: // as it was bound
		if s.draining.Load() {
			return false, nil
		}
		if !s.live() {
			h.bound = true // nobody was asked yet
			return false, errNotLive
		}
		if _, st, err := s.fit(ctx, h); st != nil || err != nil {
			if err != nil {
				return false, err
			}
			return true, s.unreached(ctx, h, st)
		}
	case last == nil, !last.EndedAt.IsZero(), last.Outcome == lifecycle.Unknown:
		if s.draining.Load() {
			return false, nil // the next process begins it
		}
		if !s.live() {
			return false, errNotLive
		}
		if st, err := s.prepare(ctx, h); st != nil || err != nil {
			if err != nil {
				return false, err
			}
			return true, s.unreached(ctx, h, st)
		}
	case resumed && !h.asking:
		return true, s.lose(ctx, h, &lifecycle.Error{Code: "LOST", Message: "the process that waited for the worker is gone"})
	}
	err = s.make(ctx, h, d)
	h.bound = planned && errors.Is(err, errNotLive)
	return true, err
}

// superseded reports whether a, planned and not made, is not to be made any more:
// in a recovery it went back to its queue, and then its sender's nonce to another.
func (h *held) superseded(a *lifecycle.Attempt) bool {
	if a == nil || !pending(a) || h.t.Open() {
		return false
	}
	return a.Sender != h.t.Sender || h.next != nil && *h.next > a.Nonce
}

// findWorker fills in what a resumed transaction does not carry along.
func (s *Sequencer) findWorker(ctx context.Context, h *held) error {
	if h.worker.URL != "" && h.worker.AccountID == h.t.Sender {
		return nil
	}
	sender, err := s.Senders.Get(ctx, h.t.Sender)
	if errors.Is(err, senders.ErrNotFound) {
		// Its worker cannot be reached any more; the call will say so.
		h.worker = dispatcher.Worker{AccountID: h.t.Sender}
		return nil
	}
	if err != nil {
		return err
	}
	h.worker = dispatcher.Worker{AccountID: sender.AccountID, URL: sender.WorkerURL}
	h.next = sender.Nonce
	return nil
}

// make has the worker prove and sign the planned attempt, and sends it.
func (s *Sequencer) make(ctx context.Context, h *held, d dispatcher.Dispatcher) error {
	h.asking = false
	t := h.t
	a := t.Last()
	if h.worker.URL == "" {
		return s.unreached(ctx, h, &stop{senders.Rested, s.Policy.RetryDelay, &lifecycle.Error{
			Code: codeUnreached, Message: "the sender is no longer registered"}})
	}
	if !s.live() {
		return errNotLive
	}
	call, done := s.interruptible(ctx, h)
	began := time.Now()
	result, err := d.Prove(call, h.worker, s.call(t, a))
	overtaken := call.Err() != nil
	done()
	if overtaken && ctx.Err() == nil && t.Open() {
		if e, _ := s.judge(h, s.Chain.Chain()); e == Landed {
			return nil // the next look at it finds the landing
		}
	}
	if errors.Is(err, dispatcher.ErrLegacy) {
		return s.makeLegacy(ctx, h, d)
	}
	s.timed(t.Type, "prove", began, err)
	if err != nil {
		return s.workerFailed(ctx, h, err)
	}
	s.answered(h.worker.AccountID)
	if result.Signed == nil {
		return s.finished(ctx, h, result)
	}
	if err := s.checkSigned(result, t, a); err != nil {
		return s.fail(ctx, h, Erred, &lifecycle.Error{Code: dispatcher.CodeMismatch, Message: err.Error()})
	}
	switch err := s.storeSigned(ctx, h, a, result, lifecycle.PhaseDispatching); {
	case errors.Is(err, queues.ErrOvertaken):
		return s.overtaken(ctx, h)
	case err != nil:
		return err
	}
	return s.send(ctx, h, result.Signed, false)
}

// interruptible is the context of a worker call that ends as soon as an earlier
// attempt of h is seen in a block.
func (s *Sequencer) interruptible(ctx context.Context, h *held) (context.Context, func()) {
	call, cancel := context.WithTimeout(ctx, s.Policy.DispatchTimeout)
	s.mu.Lock()
	h.interrupt = cancel
	s.mu.Unlock()
	return call, func() {
		s.mu.Lock()
		h.interrupt = nil
		s.mu.Unlock()
		cancel()
	}
}

// makeLegacy calls a worker that sends by itself. From the moment the mark is
// stored the attempt is open.
func (s *Sequencer) makeLegacy(ctx context.Context, h *held, d dispatcher.Dispatcher) error {
	t := h.t
	a := t.Last()
	mark := queues.NewChange(t, lifecycle.PhaseDispatching)
	mark.Confirm, mark.InOrder = true, !t.Open()
	a.Legacy, a.ValidUntil = true, 0
	mark.SetAttempt(a)
	switch err := s.Store.Advance(ctx, mark); {
	case errors.Is(err, queues.ErrOvertaken):
		return s.overtaken(ctx, h)
	case errors.Is(err, queues.ErrUnconfirmed):
		// The mark is stored, and nothing has left: only this process knows that.
		if err := s.outwait(ctx, h); err != nil {
			return err
		}
		if t, a = h.t, h.t.Last(); a == nil || !a.Legacy {
			return nil // a failover has forgotten the mark: look again
		}
		if err := s.findWorker(ctx, h); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if !s.live() {
		return errNotLive
	}
	a.SentSlot = s.slot()
	call, cancel := context.WithTimeout(ctx, s.Policy.DispatchTimeout)
	began := time.Now()
	result, err := d.Dispatch(call, h.worker, s.call(t, a))
	cancel()
	s.timed(t.Type, "dispatch", began, err)
	if err != nil {
		return s.workerFailed(ctx, h, err)
	}
	s.answered(h.worker.AccountID)
	h.sentFirst, h.sentHeight = time.Now(), s.Chain.Chain().Height
	if result.Hash == "" {
		return s.finished(ctx, h, result)
	}
	a.Outcome, a.Data = lifecycle.Sent, result.Data
	if mina.ValidHash(result.Hash) {
		a.Hash = result.Hash
	} else {
		a.Outcome = lifecycle.Unknown
		a.Error = &lifecycle.Error{Code: dispatcher.CodeMismatch, Message: "the worker's hash is not one of Mina: " + result.Hash}
	}
	err = s.apply(ctx, h, Accepted, func(c *queues.Change) {
		c.SetAttempt(a)
		c.MarkSubmitted()
	})
	if err != nil {
		s.record(ctx, t, a)
	}
	return err
}

// finished: the worker says that there is nothing to send.
func (s *Sequencer) finished(ctx context.Context, h *held, r dispatcher.Result) error {
	if r.Done == nil {
		return s.fail(ctx, h, Erred, &lifecycle.Error{Code: dispatcher.CodeMismatch, Message: "the worker answered neither a transaction nor that it is done"})
	}
	a := h.t.Last()
	a.Data, a.EndedAt = r.Data, s.now()
	if a.Legacy {
		a.Outcome = lifecycle.Refused // nothing was sent
	}
	return s.apply(ctx, h, Finished, func(c *queues.Change) {
		c.SetAttempt(a)
		c.SetDone(r.Done)
	})
}

const codeUnreached = "WORKER_UNAVAILABLE"

// workerFailed sorts out what a failed call of a worker means.
func (s *Sequencer) workerFailed(ctx context.Context, h *held, err error) error {
	var busy *dispatcher.BusyError
	var unreached *dispatcher.UnreachedError
	var worker *dispatcher.WorkerError
	switch {
	case errors.As(err, &busy):
		return s.unreached(ctx, h, &stop{senders.Rested, max(busy.RetryAfter, time.Second),
			&lifecycle.Error{Code: codeUnreached, Message: err.Error()}})
	case errors.As(err, &unreached):
		return s.unreached(ctx, h, &stop{senders.Rested, s.workerRest(h.t.Sender),
			&lifecycle.Error{Code: codeUnreached, Message: err.Error()}})
	case errors.As(err, &worker):
		e := &lifecycle.Error{Code: worker.Code, Message: worker.Message, Exception: worker.Exception}
		switch {
		case h.t.Last().Legacy && (!worker.NothingSent || worker.ByRefusal && !s.unspent(ctx, h)):
			return s.lose(ctx, h, e)
		case worker.Kind == dispatcher.Unresolvable:
			return s.fail(ctx, h, Hopeless, e)
		case worker.Kind == dispatcher.Unavailable:
			return s.unreached(ctx, h, &stop{senders.Rested, s.workerRest(h.t.Sender), e})
		}
		return s.fail(ctx, h, Erred, e)
	case ctx.Err() != nil:
		return ctx.Err() // shutting down: the next process asks for the same attempt
	}
	return s.lose(ctx, h, &lifecycle.Error{Code: "LOST", Message: err.Error()})
}

// unspent asks the chain whether the nonce of the attempt under way is unspent
// and nothing pooled at it, by the word of every synced node.
func (s *Sequencer) unspent(ctx context.Context, h *held) bool {
	s.watch(h)
	s.Chain.Poll(ctx)
	g := s.Chain.Sighting(h.t.UID)
	return g.Agreed && g.Fate == lifecycle.FateAbsent && g.AccountNext <= h.t.Last().Nonce
}

// workerRest is how long a sender rests whose worker cannot be reached: the longer
// the more often it could not.
func (s *Sequencer) workerRest(sender string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.down[sender]
	s.down[sender]++
	return min(min(s.Policy.RetryDelay, 30*time.Second)<<min(n, 20), max(s.Policy.RetryDelay, s.Policy.RetryDelayMax))
}

// answered notes that a sender's worker is there.
func (s *Sequencer) answered(sender string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.down, sender)
}

// close ends the latest attempt if nothing of it can be out. It may be an earlier
// one than was to be made: what was sent of that stays open.
func (s *Sequencer) close(t *lifecycle.Transaction, e *lifecycle.Error) *lifecycle.Attempt {
	a := t.Last()
	if a == nil || !a.EndedAt.IsZero() || a.Outcome != lifecycle.Prepared && a.Outcome != lifecycle.Refused {
		return nil
	}
	if a.Legacy {
		a.Outcome = lifecycle.Refused
	}
	a.Error, a.EndedAt = e, s.now()
	return a
}

// fail ends the latest attempt, of which nothing is out, with an error.
func (s *Sequencer) fail(ctx context.Context, h *held, event Event, e *lifecycle.Error) error {
	a := s.close(h.t, e)
	return s.apply(ctx, h, event, func(c *queues.Change) {
		c.SetError(e)
		if a != nil {
			c.SetAttempt(a)
		}
	})
}

// unreached lets the transaction go back to its queue and the sender rest.
func (s *Sequencer) unreached(ctx context.Context, h *held, st *stop) error {
	a := s.close(h.t, st.err)
	s.ungreet(h.t.Sender)
	return s.apply(ctx, h, Unreached, func(c *queues.Change) {
		c.SetError(st.err)
		c.Rest, c.Reason, c.Detail = st.rest, string(st.why), short(st.err.Message)
		if st.err.Code == CodeFeeLimit {
			c.Giver = "fees" // it ends with the day, whatever else the sender rests for
		}
		if a != nil {
			c.SetAttempt(a)
		}
	})
}

// lose notes that nobody knows what became of a call. A two-phase worker is
// asked again; a legacy one may have sent.
func (s *Sequencer) lose(ctx context.Context, h *held, e *lifecycle.Error) error {
	a := h.t.Last()
	a.Error = e
	if a.Legacy {
		a.Outcome = lifecycle.Unknown
	} else if h.t.Losses+1 >= maxLosses {
		a.EndedAt = s.now()
	}
	h.asking = true
	return s.apply(ctx, h, Lost, func(c *queues.Change) {
		c.SetAttempt(a)
		c.SetError(e)
		if a.Legacy {
			c.MarkSubmitted()
		}
	})
}
