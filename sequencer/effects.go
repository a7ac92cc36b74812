package sequencer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// call begins an effect. What only the store is asked for is done at once; for all else
// the owner goes on, and the result is left to it as word.
func (o *owner) call(ctx context.Context, v *lifecycle.View, e lifecycle.Effect) {
	t := o.drive.Txn()
	switch e.Kind {
	case lifecycle.AskSender:
		o.answered(ctx, e, func() (lifecycle.Result, error) { return o.askSender(ctx, t, e) })
	case lifecycle.AskLanded:
		o.answered(ctx, e, func() (lifecycle.Result, error) {
			nonce, any, err := o.s.Store.HighestLanded(ctx, t.Sender)
			return lifecycle.LandedTold{Nonce: nonce, Any: any}, err
		})
	case lifecycle.AskBytes:
		o.answered(ctx, e, func() (lifecycle.Result, error) {
			number, signed, err := o.s.Store.Signed(ctx, t.UID)
			if errors.Is(err, queues.ErrNotFound) {
				return lifecycle.BytesRead{}, nil
			}
			return lifecycle.BytesRead{Number: number, Command: signed}, err
		})
	case lifecycle.AskRecord:
		o.drive.Stale()
		o.drive.Add(e, nil)
	case lifecycle.Confirm:
		o.confirm(ctx, t, e)
	default:
		o.begin(ctx, v, e)
	}
}

// answered passes on what the store answered, or asks it again.
func (o *owner) answered(ctx context.Context, e lifecycle.Effect, ask func() (lifecycle.Result, error)) {
	r, err := ask()
	if err != nil {
		o.again(ctx, "the store was not read", err)
		o.drive.Add(e, nil)
		return
	}
	o.drive.Add(e, r)
}

// askSender reads the sender of t, and where its worker is.
func (o *owner) askSender(ctx context.Context, t *tx.Transaction, e lifecycle.Effect) (lifecycle.Result, error) {
	told := lifecycle.SenderTold{Call: e, Sender: lifecycle.Sender{Account: t.Sender}}
	p, err := o.s.Senders.Get(ctx, t.Sender)
	switch {
	case errors.Is(err, senders.ErrNotFound):
		told.Sender.Gone = true
		o.worker = dispatcher.Worker{AccountID: t.Sender}
	case err != nil:
		return nil, err
	default:
		o.worker = dispatcher.Worker{AccountID: p.AccountID, URL: p.WorkerURL}
		told.Sender = o.s.known(p.AccountID, p.Nonce)
		told.Sender.Unusable = p.Reason != "" && p.Reason != tx.Rested
	}
	told.Overtaken, err = o.s.Store.Overtaken(ctx, t)
	return told, err
}

// known is what this process knows of a sender whose next nonce is stored as next.
func (s *Sequencer) known(account string, next *uint32) lifecycle.Sender {
	p := lifecycle.Sender{Account: account, Next: next}
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen, ok := s.nonces[account]; ok && time.Since(seen.at) < max(nonceSeen, 2*s.Policy.InclusionInterval) {
		p.Seen = &seen.next
	}
	p.Greeted = s.Health == nil || s.greeted[account].fresh()
	p.Away = s.down[account]
	return p
}

// confirm has the replicas confirm what is stored, before bytes leave whose own write
// may have failed to be confirmed.
func (o *owner) confirm(ctx context.Context, t *tx.Transaction, e lifecycle.Effect) {
	c := &queues.Change{Before: t, After: t, Now: o.s.Now()}
	c.Keep, c.Confirm, c.Remove = t.Watched(), true, queues.Never
	stored, err := o.s.Store.Advance(ctx, c)
	switch {
	case err == nil:
		o.tries = 0
		o.drive.Read(stored, time.Now())
		o.drive.Add(e, lifecycle.ConfirmTold{Number: e.Number})
		return
	case errors.Is(err, queues.ErrUnsettled):
		o.s.recovery.Suspect()
		o.drive.Stale()
	default:
		o.again(ctx, "nothing is sent before enough replicas have confirmed it", err)
		o.drive.Stale()
	}
	o.drive.Add(e, nil)
}

// begin has an effect done beside the owner, who may stop it.
func (o *owner) begin(ctx context.Context, v *lifecycle.View, e lifecycle.Effect) {
	t, worker := o.drive.Txn(), o.worker
	bytes := o.drive.Bytes(e)
	outdated, err := o.outdated(ctx, &v.Train, e, bytes)
	var a *ahead
	if err == nil {
		a, err = o.aheadOf(ctx, &v.Train, e)
	}
	if err != nil || outdated != "" {
		at := t.Attempt(e.Number)
		answer := lifecycle.Answer{Call: e, Sender: at.Sender, Nonce: at.Nonce, Fault: lifecycle.FaultNoCall}
		if err != nil {
			answer.Fault = lifecycle.FaultBusy
			answer.Error = &tx.Error{Code: tx.CodeUnavailable, Message: err.Error()}
		} else {
			o.s.Log.Info("it is proved anew, not signed with the proof that it has", about(t, "why", outdated)...)
		}
		o.drive.Add(e, answer)
		return
	}
	call, cancel := context.WithTimeout(ctx, o.s.Policy.DispatchTimeout)
	o.stop = cancel
	first := o.triesOut(e)
	var b *built
	if e.Kind == lifecycle.Prove && o.drive.Local().Built.Number == e.Number {
		b = o.built.of(t.Attempt(e.Number))
	}
	o.s.work.Go(func(context.Context) {
		defer cancel()
		if e.Kind == lifecycle.Build {
			b = &built{}
		}
		w := word{call: e, txn: t, result: o.s.perform(call, t, worker, e, bytes, a, b, first)}
		if e.Kind == lifecycle.Build && b.command != nil {
			w.built = b
		}
		o.leave(w)
	})
}

// triesOut reports whether what is to be proved is tried out before: once. Of what its worker may have begun
// with it is asked for the proof alone.
func (o *owner) triesOut(e lifecycle.Effect) bool {
	at := o.drive.Txn().Attempt(e.Number)
	if e.Kind != lifecycle.Build && e.Kind != lifecycle.Prove || o.tried.Equal(at.StartedAt) {
		return false
	}
	o.tried = at.StartedAt
	return true
}

// stopped reports whether this process has ended a call itself: that it was not answered then says
// nothing of whom it was for, nor of what it asked.
func stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

func unanswered(err error) bool {
	_, unreached := errors.AsType[*dispatcher.UnreachedError](err)
	_, lost := errors.AsType[*dispatcher.LostError](err)
	return unreached || lost
}

// perform does an effect that asks a worker or the nodes.
func (s *Sequencer) perform(ctx context.Context, t *tx.Transaction, worker dispatcher.Worker, e lifecycle.Effect,
	bytes []byte, on *ahead, b *built, first bool) lifecycle.Result {
	switch e.Kind {
	case lifecycle.AskHealth:
		return s.greet(ctx, t.Sender, worker)
	case lifecycle.AskRetries:
		return s.retries(ctx, t, worker)
	case lifecycle.AskChain:
		s.freshChain(ctx)
		return lifecycle.ChainTold{}
	case lifecycle.AskAccount:
		return s.account(ctx, t.Sender)
	case lifecycle.Send:
		return s.send(ctx, t, e, bytes)
	case lifecycle.Submit:
		return s.submit(ctx, t, e)
	}
	return s.ask(ctx, t, worker, e, bytes, on, b, first)
}

// retries asks how often a worker would have its transaction tried, for as long as any call of it
// may take: one that is away for a while, as when it is put up anew, has said nothing of that.
func (s *Sequencer) retries(ctx context.Context, t *tx.Transaction,
	worker dispatcher.Worker) lifecycle.Result {
	d, _ := s.Types.Lookup(t.Type)
	asked := false
	for try := 0; ; try++ {
		told := lifecycle.RetriesTold{}
		at, err := s.reachable(ctx, worker, t.Sender)
		if err == nil {
			asked = true
			told.Limit, told.Known, err = d.MaxRetries(ctx, at)
		}
		switch {
		case err == nil, errors.Is(err, senders.ErrNotFound):
			return told
		case errors.Is(err, dispatcher.ErrElsewhere):
			return lifecycle.RetriesTold{Elsewhere: true}
		case stopped(ctx), ctx.Err() != nil && !asked:
			return nil
		case ctx.Err() != nil:
			return told
		}
		s.Log.Warn("its worker does not say how often it is to be tried, and is asked again", about(t, "err", err)...)
		if busy, is := errors.AsType[*dispatcher.BusyError](err); is {
			sleep(ctx, busy.RetryAfter)
		}
		worker = dispatcher.Worker{} // it may be somewhere else by now
		pause(ctx, try)
	}
}

// reachable is a worker with its address, which is read if it is not known.
//
// Errors: senders.ErrNotFound if its sender is no longer registered.
func (s *Sequencer) reachable(ctx context.Context, worker dispatcher.Worker,
	account string) (dispatcher.Worker, error) {
	if worker.URL != "" {
		return worker, nil
	}
	url, err := s.Senders.Worker(ctx, account)
	return dispatcher.Worker{AccountID: account, URL: url}, err
}

// account asks the nodes for nonce and balance of a sender, and notes both; the nonce only
// of one that can pay whatever is planned, for it is not asked for its balance again either.
func (s *Sequencer) account(ctx context.Context, sender string) lifecycle.Result {
	account, err := s.Chain.Account(ctx, sender)
	if err != nil {
		return lifecycle.AccountTold{Account: sender, Lost: err.Error()}
	}
	if account.Exists {
		if err := s.Senders.SetBalance(ctx, sender, account.Balance); err != nil && !errors.Is(err, senders.ErrNotFound) {
			s.Log.Warn("balance not stored", "sender", sender, "err", err)
		}
		if account.Balance >= s.Policy.FeeMax {
			s.sawNonce(sender, account.Nonce)
		}
	}
	return lifecycle.AccountTold{Account: sender, Exists: account.Exists, Nonce: account.Nonce, Balance: account.Balance}
}

// send gives signed bytes to every node.
func (s *Sequencer) send(ctx context.Context, t *tx.Transaction, e lifecycle.Effect,
	signed []byte) lifecycle.Result {
	sending, sent := s.traced(ctx, t, "send", e.Number)
	r := s.Chain.Send(sending, signed)
	if r.Accepted {
		s.took.Store(new(time.Now()))
		s.halt.Store(nil)
	} else if r.Err != nil && tx.Stopped(r.Err.Code) {
		s.halt.Store(&halt{at: time.Now(), zero: s.tip().Zero})
	}
	if r.Accepted || r.Err == nil {
		sent(nil)
	} else {
		sent(r.Err)
	}
	told := lifecycle.SendTold{Call: e, Accepted: r.Accepted, Hash: r.Hash, Slot: s.slot()}
	if !e.Fresh {
		s.Log.Info("sent again", about(t, "sent", e.Number, "accepted", r.Accepted, "err", r.Err)...)
	}
	if r.Accepted || r.Err == nil {
		return told
	}
	told.Error = &tx.Error{Code: r.Err.Code, Message: r.Err.Message}
	if r.Refused && e.Fresh {
		s.Chain.PollAll(ctx) // which shows what they have all the same
		r.Refused = ctx.Err() == nil
	}
	told.Lost = !r.Refused
	if r.Refused {
		of := whose(r.Err, signed)
		told.Refusal = &lifecycle.Refusal{
			Error: *told.Error, Permanent: r.Err.Class == mina.Permanent, Cheap: r.Err.Class == mina.RaiseFee,
			Seen:   r.Err.Class == mina.Renonce || r.Err.Class == mina.Resend || of == ofNetwork,
			Payers: of == ofSender,
			Broke:  r.Err.Code == "Insufficient_funds" || r.Err.Code == "Fee_payer_account_not_found",
		}
	}
	return told
}

// blame is whom a refusal concerns beside the transaction.
type blame string

const (
	ofNobody  blame = ""
	ofSender  blame = "sender"
	ofNetwork blame = "network"
)

// whose is whom a refusal concerns that is not the transaction's. Signatures that do not hold
// are the payer's only where its key is named and no account update of the command bears it:
// for a payload can bring one of its own.
func whose(e *mina.Error, signed []byte) blame {
	switch {
	case e.Class != mina.Operator:
		return ofNobody
	case tx.Stopped(e.Code):
		return ofNetwork
	case e.Code == "Invalid_signature":
		payer, others := dispatcher.Signers(signed)
		if payer == "" || !strings.Contains(e.Message, payer) || slices.Contains(others, payer) {
			return ofNobody
		}
	}
	return ofSender
}

// ask has a worker make an attempt; first: it is tried out before, see tryOut. b is what it is to prove,
// if it has built that, or where it is to be noted what it builds.
func (s *Sequencer) ask(ctx context.Context, t *tx.Transaction, worker dispatcher.Worker, e lifecycle.Effect,
	signed []byte, on *ahead, b *built, first bool) lifecycle.Result {
	a := t.Attempt(e.Number)
	d, _ := s.Types.Lookup(t.Type)
	answer := lifecycle.Answer{Call: e, Sender: a.Sender, Nonce: a.Nonce}
	worker, err := s.reachable(ctx, worker, a.Sender)
	if err != nil {
		answer.Fault = lifecycle.FaultBusy // asked again soon: nothing is known of it
		answer.Error = &tx.Error{Code: tx.CodeUnavailable, Message: err.Error()}
		if errors.Is(err, senders.ErrNotFound) {
			answer.Fault, answer.Error.Message = lifecycle.FaultUnreached, "the sender is no longer registered"
		}
		return answer
	}
	if e.Kind == lifecycle.Resign && s.outlived(t, e.Number) {
		answer.Fault = lifecycle.FaultNoCall // as if it could not be signed again: it is proved anew
		return answer
	}
	call, began := callOf(s.Namespace, t, a), time.Now()
	if on != nil {
		call.Ahead, call.Attempt.Base = on.list, on.base
	}
	if e.Kind == lifecycle.Prove && b != nil {
		call.Ahead, call.Token, call.Built = nil, b.token, b.on
	}
	var r dispatcher.Result
	refused := false // before it was proved
	calling, called := s.traced(ctx, t, string(e.Kind), a.Number)
	switch e.Kind {
	case lifecycle.Build, lifecycle.Prove:
		if first {
			err = s.tryOut(calling, t, worker, call)
		}
		refused = err != nil
		began = time.Now()
		switch builder, builds := d.(dispatcher.Builder); {
		case refused:
		case e.Kind == lifecycle.Prove:
			r, err = d.Prove(calling, worker, call)
		case builds:
			r, err = builder.Build(calling, worker, call)
		default:
			err = dispatcher.ErrLegacy
		}
	case lifecycle.Resign:
		r, err = d.Resign(calling, worker, call, signed)
	default:
		r, err = d.Dispatch(calling, worker, call)
	}
	called(err)
	if stopped(ctx) && unanswered(err) && e.Kind != lifecycle.Dispatch {
		return nil
	}
	if !refused && !errors.Is(err, dispatcher.ErrLegacy) {
		s.timed(t.Type, string(e.Kind), began, err)
	}
	if err == nil && r.Signed != nil && e.Kind != lifecycle.Dispatch {
		err = dispatcher.CheckSigned(r.Signed, a.Sender, call.Attempt, mina.DecodeMemo)
	}
	answer = dispatcher.AnswerOf(r, err, answer, mina.ValidHash)
	if r.Built != nil && answer.Fault == lifecycle.NoFault {
		s.builtNow(ctx, t, a, on, b, r, &answer)
	}
	if wrong := s.foreign(answer.Signed); wrong != "" {
		answer.Signed, answer.Hash, answer.Fault = nil, "", lifecycle.FaultOutOfOrder
		answer.Error = &tx.Error{Code: string(tx.WrongNetwork), Message: "the worker makes " + wrong}
	}
	if answer.Signed != nil {
		does := dispatcher.FootprintOf(a.Sender, answer.Signed)
		answer.Weight, answer.Touched = dispatcher.Weight(answer.Signed), does.Touched
		s.weighed(t.Type, answer.Weight)
		answer.Alone = s.barrier(ctx, t, a.Sender, on, answer.Signed)
		if s.wide() && s.Types.Overlap(t.Type) == dispatcher.Chained {
			answer.Effects, _ = dispatcher.EffectsOf(answer.Signed) // of what barrier has read
		}
		if e.Kind == lifecycle.Prove {
			s.notice(t, began, does)
		}
	}
	if e.Kind == lifecycle.Prove && b != nil && answer.Fault == lifecycle.NoFault && answer.Effects != b.effects {
		answer.Signed, answer.Hash, answer.Done, answer.Fault = nil, "", nil, lifecycle.FaultOutOfOrder
		answer.Error = &tx.Error{Code: tx.CodeMismatch,
			Message: "the worker has proved another transaction than the one that it had built"}
	}
	if e.Kind == lifecycle.Prove {
		s.shown(ctx, worker, &answer)
	}
	if answer.Fault == lifecycle.FaultHopeless && !answer.Pool { // provers are asked by each other, see dispatcher
		answer.Ill, answer.Others = s.ill(ctx, a.Sender)
	}
	if !answer.Pool {
		s.answered(a.Sender, answer.Fault)
	}
	if answer.Refused {
		s.Chain.PollAll(ctx) // which knows more than the node that refused
	}
	return answer
}

// builtNow notes what a worker would prove of an attempt, and whether that may be in flight beside others.
func (s *Sequencer) builtNow(ctx context.Context, t *tx.Transaction, a *tx.Attempt, on *ahead, b *built,
	r dispatcher.Result, answer *lifecycle.Answer) {
	effects, err := dispatcher.EffectsOf(r.Built)
	if err != nil {
		answer.Fault, answer.Error = lifecycle.FaultError, &tx.Error{Code: tx.CodeMismatch,
			Message: "what the worker has built cannot be read: " + err.Error()}
		return
	}
	*b = built{number: a.Number, at: a.StartedAt.UnixMilli(), command: r.Built, effects: effects, token: r.Token, on: r.On}
	answer.Effects, answer.Alone = effects, s.barrier(ctx, t, a.Sender, on, r.Built)
}

// outlived reports whether the proof that an attempt is to be signed with was made before the chain
// began anew, as in a hard fork: it is none there.
func (s *Sequencer) outlived(t *tx.Transaction, number int) bool {
	first := s.Chain.Chain().First
	for i := number - 2; i >= 0; i-- {
		if a := &t.Attempts[i]; a.Weight > 0 { // it was signed
			return a.Slot < first
		}
	}
	return false
}

// shown learns from the answer to a call for a proof what a worker is, and has an answer
// without the call say what was shown before.
func (s *Sequencer) shown(ctx context.Context, worker dispatcher.Worker, answer *lifecycle.Answer) {
	switch {
	case answer.Signed != nil: // nothing on the way can make that up
		s.makesProofs(ctx, worker)
	case answer.Fault == lifecycle.FaultNoCall:
		p, err := s.Senders.Get(ctx, worker.AccountID)
		if err != nil { // not known: it is asked again
			answer.Fault = lifecycle.FaultBusy
			answer.Error = &tx.Error{Code: tx.CodeUnavailable,
				Message: "what its worker is was not read: " + err.Error()}
			return
		}
		answer.Proves = p.Proves
	}
}

// ill says how many that a sender carried ended UNRESOLVED in a row, and whether others are in
// use that may be bound here. Where that cannot be read nothing is held against it.
func (s *Sequencer) ill(ctx context.Context, account string) (n int, others bool) {
	own, err := s.Senders.Get(ctx, account)
	if err != nil || own.Unresolved < s.Policy.UnresolvedLimit {
		return 0, false
	}
	for other, err := range s.Senders.All(ctx) {
		if err != nil {
			break
		}
		at := dispatcher.Worker{AccountID: other.AccountID, URL: other.WorkerURL}
		if other.AccountID != account && other.Available() && senders.LedgerOf(other.AccountID) == "" && s.reaches(at) {
			return own.Unresolved, true
		}
	}
	return own.Unresolved, false
}

// answered notes whether a sender's worker is there.
func (s *Sequencer) answered(sender string, f lifecycle.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f {
	case lifecycle.FaultUnreached, lifecycle.FaultOutOfOrder:
		s.down[sender]++
		delete(s.greeted, sender)
	case lifecycle.FaultBusy:
		if g, known := s.greeted[sender]; known { // asked again, and what it can is known
			g.at = time.Time{}
			s.greeted[sender] = g
		}
	default:
		delete(s.down, sender)
	}
}

func callOf(namespace string, t *tx.Transaction, a *tx.Attempt) dispatcher.Call {
	c := dispatcher.Call{
		Txn: dispatcher.Txn{UID: t.UID, Type: t.Type, Data: t.Data, Queue: t.Queue, Retries: t.Retries,
			ExpiresAt: t.ExpiresAt},
		Attempt: dispatcher.Attempt{
			Number: a.Number, Nonce: a.Nonce, Fee: a.Fee, ValidUntil: a.ValidUntil, Memo: lifecycle.Memo(namespace, t.UID),
		},
	}
	for _, p := range t.Attempts[:a.Number-1] {
		c.Attempt.Previous = append(c.Attempt.Previous, dispatcher.Previous{
			Number: p.Number, Hash: p.KnownHash(), Nonce: p.Nonce, Fee: p.Fee})
	}
	return c
}
