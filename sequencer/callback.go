package sequencer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// callbackLease is how long a process has to tell a callback before others
// tell it too: longer than one call may take.
const callbackLease = time.Minute

const callbackRetryMax = 5 * time.Minute

// tellSoon tells a callback in this process, unless it is ending: then another
// one does when the lease is over.
func (s *Sequencer) tellSoon(t *tx.Transaction, worker dispatcher.Worker) {
	s.work.Go(func(ctx context.Context) { s.tell(ctx, t, worker) })
}

// tellStored tells a callback that was left over.
func (s *Sequencer) tellStored(ctx context.Context, uid string) {
	t, err := s.Store.Get(ctx, uid)
	if err != nil || t.Callback == "" {
		return // told already, or told again when the lease is over
	}
	s.tell(ctx, t, dispatcher.Worker{})
}

// tellPassed tells a callback that another process has met, if its worker runs with this one. Where
// it runs with several, one of them tells.
func (s *Sequencer) tellPassed(uid string) {
	if s.draining.Load() {
		return // it may take longer than this process is there
	}
	s.work.Go(func(ctx context.Context) {
		t, err := s.Store.Get(ctx, uid)
		if err != nil || t.Callback == "" {
			return
		}
		worker, err := s.receiver(ctx, t, dispatcher.Worker{})
		if err != nil || worker.URL != senders.Local || !s.reaches(worker) {
			return
		}
		if mine, err := s.Store.Turn(ctx, "callback/"+uid, time.Second); err == nil && mine {
			s.tell(ctx, t, worker)
		}
	})
}

func (s *Sequencer) reaches(w dispatcher.Worker) bool { return s.Reaches == nil || s.Reaches(w) }

// tell tells a worker how a transaction ended, once; where it does not answer,
// the store has it told again later. The worker is that of the attempt which
// decided or, where it is gone, any other. One that runs with another process is told
// there: that counts as no try, and is due again when its lease is over.
func (s *Sequencer) tell(ctx context.Context, t *tx.Transaction, worker dispatcher.Worker) {
	if s.callbacksBefore(ctx, t) {
		return // it is told when those are answered, or when the lease is over
	}
	worker, err := s.receiver(ctx, t, worker)
	if err == nil && !s.reaches(worker) {
		err := s.Store.PassCallback(ctx, t.UID)
		s.Log.Info("callback is for a worker of another process", about(t, "callback", t.Callback, "err", err)...)
		return
	}
	said := tx.Told{Callback: t.Callback}
	if err == nil {
		said.Answer, err = s.report(ctx, t, worker)
	}
	switch {
	case err != nil:
		said.Error, said.Before = err.Error(), t.Told.Baton()
	case len(said.Answer) > tx.MostAnswer:
		said.Error = fmt.Sprintf("its answer has %d bytes, more than %d, and is not kept",
			len(said.Answer), tx.MostAnswer)
		said.Answer = nil
	case !json.Valid(said.Answer):
		said.Answer = nil
	}
	again := queues.Never
	if err != nil {
		again = min(time.Second<<min(t.CallbackTries, 20), callbackRetryMax)
		s.Log.Warn("callback not answered", about(t, "callback", t.Callback, "tries", t.CallbackTries+1, "err", err)...)
	}
	for try := 0; ctx.Err() == nil && try < 10; try++ {
		if _, err := s.Store.Called(ctx, t, said, again); err == nil {
			if again < 0 {
				s.tellNext(ctx, t.Queue)
			}
			return
		}
		pause(ctx, try)
	}
}

// receiver is the worker that a callback is for. One that is known already is not looked for.
func (s *Sequencer) receiver(ctx context.Context, t *tx.Transaction,
	known dispatcher.Worker) (dispatcher.Worker, error) {
	_, account := decisive(t)
	if known.URL != "" && known.AccountID == account {
		return known, nil
	}
	return s.anyWorker(ctx, account)
}

// decisive is the attempt that a callback tells of, nil if there is none, and whose it was.
func decisive(t *tx.Transaction) (*tx.Attempt, string) {
	if a := cmp.Or(t.Attempt(t.Landed), t.Last()); a != nil {
		return a, a.Sender
	}
	return nil, t.Sender
}

func (s *Sequencer) report(
	ctx context.Context, t *tx.Transaction, worker dispatcher.Worker,
) (answer json.RawMessage, err error) {
	d, ok := s.Types.Lookup(t.Type)
	if !ok {
		return nil, errors.New("no dispatcher for type " + t.Type)
	}
	a, account := decisive(t)
	out := dispatcher.Outcome{
		Txn:       dispatcher.Txn{UID: t.UID, Type: t.Type, Data: t.ShownData(), Queue: t.Queue, Retries: t.Retries},
		AccountID: account,
		Result:    dispatcher.Result{Hash: t.Hash(), Done: t.Done},
		Answered:  t.Told.Baton(),
	}
	if a != nil {
		out.Result.Data = a.Data
	}
	if t.Callback == tx.OnFailure && t.Error != nil {
		out.Error = &dispatcher.WorkerError{Code: t.Error.Code, Message: t.Error.Message, Exception: t.Error.Exception}
	}
	began := time.Now()
	telling, told := s.traced(ctx, t, "report", len(t.Attempts))
	answer, err = d.Report(telling, worker, t.Callback == tx.OnSuccess, out)
	told(err)
	s.timed(t.Type, "report", began, err)
	return answer, err
}

// anyWorker is the account's worker, or another one if that is gone.
func (s *Sequencer) anyWorker(ctx context.Context, account string) (dispatcher.Worker, error) {
	url, err := s.Senders.Worker(ctx, account)
	if err == nil || !errors.Is(err, senders.ErrNotFound) {
		return dispatcher.Worker{AccountID: account, URL: url}, err
	}
	var other *senders.Sender
	for p, err := range s.Senders.All(ctx) {
		switch {
		case err != nil:
			return dispatcher.Worker{}, err
		case senders.LedgerOf(p.AccountID) != "": // a slot has no worker
		case p.WorkerURL != senders.Local: // which every process can reach
			return dispatcher.Worker{AccountID: p.AccountID, URL: p.WorkerURL}, nil
		case other == nil:
			other = p
		}
	}
	if other == nil {
		return dispatcher.Worker{}, errors.New("no sender is registered whose worker could be told")
	}
	return dispatcher.Worker{AccountID: other.AccountID, URL: other.WorkerURL}, nil
}

// callbacksBefore reports whether that of another of its queue is to be answered first.
func (s *Sequencer) callbacksBefore(ctx context.Context, t *tx.Transaction) bool {
	if !s.wide() {
		return false
	}
	order, err := s.Store.Callbacks(ctx, t.Queue, s.Now())
	return err == nil && slices.Contains(order, t.UID) && s.nextCallback(ctx, order, t.UID) != t.UID
}

// tellNext tells the callback that the queue waits for now.
func (s *Sequencer) tellNext(ctx context.Context, queue string) {
	if !s.wide() {
		return
	}
	if order, err := s.Store.Callbacks(ctx, queue, s.Now()); err == nil && len(order) > 0 {
		next := s.nextCallback(ctx, order, order[len(order)-1])
		s.work.Go(func(ctx context.Context) { s.tellStored(ctx, next) })
	}
}

// nextCallback is the first of order, up to uid, that is still waited for: each as long as it
// would be if it were the only one.
func (s *Sequencer) nextCallback(ctx context.Context, order []string, uid string) string {
	for _, other := range order[:slices.Index(order, uid)] {
		t, err := s.Store.Get(ctx, other)
		if err == nil && s.Now().Before(t.DoneAt.Add(s.Policy.CallbackWait)) {
			return other
		}
	}
	return uid
}
