package sequencer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// The books of a ledger are what this process knows of it: which batches it is asked
// about, what it has said of them, and whether it is left alone.
type books struct {
	ledger.Ledger
	name string

	mu     sync.Mutex
	begin  chan struct{}                  // wakes who asks
	asks   map[string]string              // batch ids, by uid
	seen   map[string]lifecycle.BatchSeen // by uid
	said   map[string]ledger.State        // the same in the ledger's own word
	held   time.Time                      // until when it is left alone
	why    tx.Error                       // for what
	turned int                            // times in a row that it turned this process away
	since  time.Time                      // since when there is something in asks
	asked  time.Time                      // when it was last asked
	looked time.Time                      // when it last answered
	lost   error                          // why it did not since, nil if it did
	wanted bool                           // somebody wants to know whether it answers

	glance sync.Mutex // held by who asks about a batch that this process does not follow
}

func newBooks(ledgers map[string]ledger.Ledger) map[string]*books {
	all := make(map[string]*books, len(ledgers))
	for name, l := range ledgers {
		all[name] = &books{
			Ledger: l, name: name, begin: make(chan struct{}, 1), asks: map[string]string{},
			seen: map[string]lifecycle.BatchSeen{}, said: map[string]ledger.State{},
		}
	}
	return all
}

// batchOf is what this process knows of a batch beside its record.
func (s *Sequencer) batchOf(t *tx.Transaction) lifecycle.Batch {
	b := s.books[t.Ledger]
	if b == nil {
		return lifecycle.Batch{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return lifecycle.Batch{
		Known: true, Idempotent: b.Idempotent(), Held: b.held, Why: b.why, Seen: b.seen[t.UID],
	}
}

// watch has the ledger asked about a batch, and forget ends it.
func (b *books) watch(uid, batchID string) {
	b.mu.Lock()
	if len(b.asks) == 0 {
		b.since = time.Now()
	}
	b.asks[uid] = batchID
	b.mu.Unlock()
	notify(b.begin)
}

func (b *books) forget(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.asks, uid)
	delete(b.seen, uid)
	delete(b.said, uid)
}

// watchBatch has the ledger asked about the batch of an owner, as long as that has a say.
func (o *owner) watchBatch(t *tx.Transaction) {
	switch {
	case o.books == nil:
	case lifecycle.FollowsBatch(t):
		o.books.watch(t.UID, t.BatchID)
	default:
		o.books.forget(t.UID)
	}
}

// free reports whether the ledger is not left alone now.
func (b *books) free() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().After(b.held)
}

// answered notes whether the ledger turned this process away. All that were under way then
// are one time.
func (b *books) answered(o lifecycle.SubmitOutcome, e tx.Error, p *lifecycle.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case o != lifecycle.SubmitHeld:
		b.turned, b.held, b.why = 0, time.Time{}, tx.Error{}
	case time.Now().After(b.held):
		b.held, b.why = time.Now().Add(p.Pause(b.turned)), e
		b.turned++
	}
}

// followLoop asks a ledger once per interval about all its batches, and lets the owners see
// the answer, until ctx ends.
func (s *Sequencer) followLoop(ctx context.Context, b *books) {
	for ctx.Err() == nil {
		b.mu.Lock()
		asks, wanted := maps.Clone(b.asks), b.wanted
		b.wanted = false
		b.mu.Unlock()
		if len(asks) == 0 && !wanted {
			select {
			case <-ctx.Done():
			case <-b.begin:
			}
			continue
		}
		began := time.Now()
		found, err := b.ask(ctx, asks)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.Log.Warn("a ledger did not answer for its batches", "ledger", b.name, "err", err)
		}
		for _, uid := range b.learn(asks, found, began, err) {
			s.mu.Lock()
			o := s.owners[uid]
			s.mu.Unlock()
			if o != nil {
				o.lookAtBatch(b)
			}
		}
		if len(asks) == 0 {
			continue // what is posted now waits for no interval
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.Policy.InclusionInterval):
		}
	}
}

// learn notes what the ledger said, and returns the transactions that it said it of.
func (b *books) learn(asks map[string]string, found map[string]ledger.Status, began time.Time, err error) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = began
	if b.lost = err; err == nil {
		b.looked = began
	}
	var uids []string
	for uid, id := range asks {
		status, said := found[id]
		if _, wanted := b.asks[uid]; !wanted {
			continue
		}
		if !said {
			seen := b.seen[uid]
			if seen.Asked.Equal(seen.At) {
				seen.Since = began
			}
			seen.Asked = began
			b.seen[uid] = seen
			continue
		}
		seen := lifecycle.BatchSeen{At: began, Since: began, Asked: began, State: stateOf(status.State)}
		if seen.State == lifecycle.BatchInvalid {
			seen.Refused = refusedBy(status)
		}
		b.seen[uid], b.said[uid] = seen, status.State
		uids = append(uids, uid)
	}
	return uids
}

// stateOf: what is executed and not agreed upon is as good as pending.
func stateOf(s ledger.State) lifecycle.BatchState {
	if s == ledger.Valid {
		return lifecycle.BatchPending
	}
	return lifecycle.BatchState(s)
}

// mostRefused bounds what is kept of the transactions of a batch that was refused, so that
// the JSON stays whole where errors are stored.
const mostRefused = 4000

// refusedBy is the error of a batch that its ledger has refused: the message of the first
// transaction, and of all, as far as there is room, what is said of them.
func refusedBy(s ledger.Status) tx.Error {
	e := tx.Error{Code: tx.CodeInvalid, Message: "the ledger executed it, and refuses it"}
	if len(s.Invalid) == 0 {
		return e
	}
	e.Message = cmp.Or(s.Invalid[0].Message, e.Message)
	for n := len(s.Invalid); n > 0; n-- {
		if doc, err := json.Marshal(s.Invalid[:n]); err == nil && len(doc) <= mostRefused {
			e.Exception = string(doc)
			return e
		}
	}
	short := s.Invalid[0]
	short.ExtendedData = short.ExtendedData[:min(len(short.ExtendedData), 1<<10)]
	short.Message = ""
	if doc, err := json.Marshal([]ledger.InvalidTransaction{short}); err == nil {
		e.Exception = string(doc)
	}
	return e
}

// lookAtBatch tells the owner what its ledger says, if that is news or is waited for.
func (o *owner) lookAtBatch(b *books) {
	b.mu.Lock()
	seen := b.seen[o.uid]
	b.mu.Unlock()
	o.train.mu.Lock()
	news := seen.State != o.stands || o.first
	o.stands = seen.State
	o.train.mu.Unlock()
	switch {
	case news && o.bound.Load():
		o.leave(word{chain: true})
	case news:
		o.leaveLater()
	}
}

// submit posts a batch to its ledger.
func (s *Sequencer) submit(ctx context.Context, t *tx.Transaction, e lifecycle.Effect) lifecycle.Result {
	told := lifecycle.SubmitTold{Call: e, Outcome: lifecycle.SubmitHeld}
	b := s.books[t.Ledger]
	if b == nil {
		told.Error = tx.Error{Code: tx.CodeUnknownType, Message: "this process has no ledger " + t.Ledger}
		return told
	}
	began := time.Now()
	a := b.Submit(ctx, ledger.Bytes(t.Data), t.BatchID)
	took := time.Since(began)
	told.Outcome, told.Wait = outcomes[a.Outcome], a.Wait
	accepted := told.Outcome == lifecycle.SubmitAccepted
	if !accepted {
		told.Error = tx.Error{Code: cmp.Or(a.Code, codeless[told.Outcome]), Message: a.Message}
	}
	if stopped(ctx) && (a.Outcome == ledger.NotWritten || a.Outcome == ledger.MayBeProcessed) {
		return told // it may have left all the same, and is not to be posted anew as if it had not
	}
	tell(s.Meter.Called, WorkerCall{Type: t.Type, Call: string(e.Kind), Took: took, Failed: !accepted})
	tell(s.Meter.Posted, Post{Ledger: t.Ledger, Answer: answerName(a), Took: took})
	if !accepted {
		s.Log.Info("a ledger did not accept a batch",
			about(t, "ledger", t.Ledger, "outcome", string(told.Outcome), "err", a.Message)...)
	}
	b.answered(told.Outcome, told.Error, &s.Policy)
	return told
}

var outcomes = map[ledger.Outcome]lifecycle.SubmitOutcome{
	ledger.MayBeProcessed: lifecycle.SubmitUnknown, ledger.Accepted: lifecycle.SubmitAccepted,
	ledger.NotProcessed: lifecycle.SubmitBusy, ledger.Rejected: lifecycle.SubmitRejected,
	ledger.Held: lifecycle.SubmitHeld, ledger.NotWritten: lifecycle.SubmitHeld,
}

// codeless are the codes of errors where the ledger gave none.
var codeless = map[lifecycle.SubmitOutcome]string{
	lifecycle.SubmitUnknown: tx.CodeLost, lifecycle.SubmitHeld: tx.CodeNoLedger,
}

// bindBatches gives free slots to queues of batches. A ledger that is left alone gets none.
func (s *Sequencer) bindBatches(ctx context.Context) {
	if !slices.Contains(s.Dispatch, dispatcher.SubmitBatchType) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.books)) {
		s.bindWhile(ctx, s.books[name].free, queues.BindRequest{
			Types: []string{dispatcher.SubmitBatchType}, Ledger: name, Groups: []string{senders.LedgerGroup(name)},
		})
	}
}

// ledgerContradicts asks the ledger about what a person says of a batch. What it does not
// know it may have forgotten.
func (s *Sequencer) ledgerContradicts(ctx context.Context, t *tx.Transaction, landed bool, hash string) error {
	if landed && hash != t.BatchID {
		return fmt.Errorf("%.140s is not the id of the batch: %w", hash, tx.ErrContradicted)
	}
	b := s.books[t.Ledger]
	if b == nil {
		return nil
	}
	found, err := b.Statuses(ctx, []string{t.BatchID})
	if err != nil {
		s.Log.Warn("a ledger did not answer for its batches", "ledger", b.name, "err", err)
	}
	switch state := found[t.BatchID].State; {
	case landed && state == ledger.Invalid,
		!landed && (state == ledger.Committed || state == ledger.Pending || state == ledger.Valid):
		return fmt.Errorf("ledger %s says %s: %w", t.Ledger, state, tx.ErrContradicted)
	}
	return nil
}
