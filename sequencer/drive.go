package sequencer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// An owner drives one transaction that this process holds the claim of. It is of one train,
// whose goroutine does all that it does; everybody else leaves word.
type owner struct {
	s     *Sequencer
	train *train
	uid   string
	books *books // of its ledger; nil of what is for Mina, or for one that is not known here

	// Under mu of the train.
	seen   tx.Sighting // that it was last told of
	first  bool        // the first look at the chain is waited for
	stands lifecycle.BatchState

	bound atomic.Bool // has a sender
	halts atomic.Bool // would be taken, but for a network that takes nothing
	stall atomic.Pointer[stall]

	// Of the goroutine of the train.
	drive *lifecycle.Drive
	awake bool // is one of those that the train has woken
	// delayed: it waits for its next try, and nothing needs its sender.
	delayed bool
	shown   shown // what the others of the train know of it
	worker  dispatcher.Worker
	ahead   *ahead             // what the latest attempt is built upon
	built   *built             // what its worker has built of it
	tried   time.Time          // when the attempt was planned that was tried out
	stop    context.CancelFunc // of the effect under way
	timer   *time.Timer
	// tries are those in a row in which the store did not do its part. What is read ends none
	// of them: a store that takes no writes, or has no replica, is read without an end.
	tries int
}

func (s *Sequencer) newOwner(t *tx.Transaction, local lifecycle.Local) *owner {
	local.ReadAt = time.Now()
	o := &owner{s: s, uid: t.UID, drive: lifecycle.NewDrive(t, local)}
	o.keeps(t)
	o.books = s.books[t.Ledger]
	if s.recovery.Lacks(t) {
		o.drive.Stale() // see read
	}
	return o
}

// keeps notes what others may know of the record.
func (o *owner) keeps(t *tx.Transaction) {
	o.bound.Store(t.Phase.Bound())
	o.halts.Store(t.Halts())
	o.stall.Store(stallOf(t))
	if delayed := t.Phase == tx.PhaseDelayed && t.Idle(); delayed != o.delayed {
		o.delayed = delayed
		o.s.mu.Lock()
		o.s.noteDelay(o)
		o.s.mu.Unlock()
	}
}

// noteDelay notes whether o keeps a sender idle. Where it does, the cycle looks whether others want that.
// The caller holds mu.
func (s *Sequencer) noteDelay(o *owner) {
	switch {
	case s.owners[o.uid] != o: // not yet
	case o.delayed:
		s.delayed[o.uid] = o
		s.Store.Signal()
	default:
		delete(s.delayed, o.uid)
	}
}

// leave leaves word for it.
func (o *owner) leave(w word) {
	w.uid = o.uid
	o.train.leave(w)
}

// hear takes in what it was told.
func (o *owner) hear(ctx context.Context, w word) {
	o.train.wake(o)
	if w.due {
		o.putOff(ctx)
	}
	switch {
	case w.anew:
		o.drive.Anew()
	case w.changed:
		o.drive.Stale()
	}
	if a, is := w.result.(lifecycle.Answer); is && a.Fault != lifecycle.NoFault {
		o.worker = dispatcher.Worker{} // it may be somewhere else by now
	}
	if w.built != nil {
		o.built = w.built
	}
	o.drive.Add(w.call, w.result)
}

// putOff has no clock of the store look at what has an owner. The owner does so, and reads the
// record then: what changes after that makes it due again, also should the owner be gone. If
// this fails, it is due once more, which is harmless.
func (o *owner) putOff(ctx context.Context) {
	if err := o.s.Store.Postpone(ctx, o.s.process, o.uid, queues.Never); err != nil {
		o.s.Log.Warn("a claim is still due", about(o.drive.Txn(), "err", err)...)
	}
}

// act does one thing, and reports whether there may be more to do at once.
func (o *owner) act(ctx context.Context, live bool) bool {
	if ctx.Err() != nil {
		return false
	}
	v := o.s.view(o.drive.Txn(), o.s.Chain.Sighting(o.uid))
	v.Train = o.train.around(o)
	o.train.mu.Lock()
	o.seen, o.stands = v.Sighting, v.Batch.Seen.State // whatever differs at the next look is news
	o.train.mu.Unlock()
	switch a := o.drive.Next(v, live); a.Do {
	case lifecycle.ToRead:
		return o.read(ctx)
	case lifecycle.ToStore:
		return o.store(ctx, &v, a)
	case lifecycle.ToCall:
		if o.s.Observe != nil {
			o.s.Observe(o.drive.Txn(), o.drive.Txn(), &a.Step)
		}
		o.call(ctx, &v, a.Call)
	case lifecycle.ToStop:
		o.stop()
	case lifecycle.ToLeave:
		return !o.end(ctx)
	default:
		o.sleep(a)
		return false
	}
	return true
}

// sleep waits for word, or for a time.
func (o *owner) sleep(a lifecycle.Action) {
	o.train.mu.Lock()
	o.first = a.Step.Reason == lifecycle.ReasonSent || a.Step.Reason == lifecycle.ReasonLooking
	o.train.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	if !a.Look.IsZero() {
		o.timer = time.AfterFunc(max(0, time.Until(a.Look)), func() { o.leave(word{}) })
	}
}

// end stops driving what is not, or no longer, this process's, unless that has come back
// meanwhile. It reports whether it did.
func (o *owner) end(ctx context.Context) bool {
	if !o.train.drop(o) {
		o.drive.Stale()
		return false
	}
	if o.stop != nil && o.drive.Call().Kind != lifecycle.Dispatch { // whose answer nobody else gets
		o.stop()
	}
	if o.timer != nil {
		o.timer.Stop()
	}
	for _, r := range o.drive.Results() {
		o.s.late(ctx, o.drive.Txn(), r)
	}
	return true
}

// read gets the record as it is stored, waiting as long as Redis is away.
func (o *owner) read(ctx context.Context) bool {
	t, err := o.s.Store.Get(ctx, o.uid)
	if err == nil {
		err = o.train.relist(ctx, t)
	}
	switch {
	case err == nil && o.s.owns(t):
		if o.s.recovery.Lacks(t) {
			o.drive.Stale() // and not until the store is settled: others may wait for its end
			o.again(ctx, "Redis has forgotten what is out", nil)
			return true
		}
		if t.Sender != o.drive.Txn().Sender {
			o.worker = dispatcher.Worker{}
		}
		o.drive.Read(t, time.Now())
		o.s.recovery.Stored(t, nil)
		o.keeps(t)
		if !t.Phase.Bound() {
			o.train.unlist(o.uid)
		}
		o.watch()
		return true
	case err == nil, errors.Is(err, queues.ErrNotFound):
		if err == nil {
			o.s.recovery.Stored(t, nil) // who ended it, or has it by now, may have said what came of it
		}
		return !o.end(ctx)
	}
	o.again(ctx, "transaction not read", err)
	return true
}

// again waits a little longer for each time in a row that the store did not do its part.
func (o *owner) again(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		o.s.Log.Warn("waiting for the store", about(o.drive.Txn(), "why", what, "err", err)...)
	}
	pause(ctx, o.tries)
	o.tries++
}

// store stores what was decided. What is stored already, or by now otherwise, is read
// again, and decided on anew.
func (o *owner) store(ctx context.Context, v *lifecycle.View, a lifecycle.Action) bool {
	before := o.drive.Txn()
	if err := o.founded(ctx, &v.Train, before, a.Step.Txn); err != nil {
		o.again(ctx, "what is in flight ahead not read", err)
		o.drive.Stale()
		return true
	}
	c := &queues.Change{
		Before: before, After: a.Step.Txn, Aside: a.Step.Aside, Moves: a.Moves, Now: v.Now,
		Wait: o.s.Policy.CallbackWait, Lease: callbackLease, Limits: o.s.feeLimits(before, a.Step.Txn),
		Budgets: o.s.budgets(before, a.Step.Txn), Width: o.s.Policy.Width,
	}
	o.s.noteRelease(c)
	t, err := o.s.Store.Advance(ctx, c)
	limit, costly := errors.AsType[*queues.FeeLimitError](err)
	switch {
	case err == nil, errors.Is(err, queues.ErrUnconfirmed):
		if err == nil {
			o.tries = 0
		}
		o.drive.Stored(t, err != nil)
		o.stored(before, t, &a.Step)
		if err != nil {
			o.again(ctx, "nothing is sent before enough replicas have confirmed it", err)
		}
	case costly:
		d := lifecycle.Denied{Why: lifecycle.Costly, Everybody: limit.All, Budget: inWords(limit.Budget),
			Spent: limit.Spent, Left: limit.Left}
		o.s.Log.Info("a fee would pass the limit of the day", about(before, "spent", limit.Spent)...)
		o.drive.Denied(d)
	case errors.Is(err, queues.ErrOvertaken):
		o.drive.Denied(lifecycle.Denied{Why: lifecycle.Overtaken})
	case errors.Is(err, queues.ErrUsed):
		o.drive.Denied(lifecycle.Denied{Why: lifecycle.Used})
	case errors.Is(err, queues.ErrUnsettled):
		o.s.recovery.Suspect()
		o.drive.Stale()
	case errors.Is(err, queues.ErrStale), errors.Is(err, queues.ErrFenced), errors.Is(err, queues.ErrNotFound):
		o.drive.Stale()
	case errors.Is(err, queues.ErrFollowed):
		o.drive.Stale()
		pause(ctx, 0) // what has joined it is not known here yet
	default:
		o.again(ctx, "change not stored", err)
		o.drive.Stale()
	}
	return true
}

// stored passes on what is stored now.
func (o *owner) stored(before, t *tx.Transaction, step *lifecycle.Step) {
	s := o.s
	s.recovery.Stored(t, step.Aside.Bytes)
	o.keeps(t)
	o.included(before, t) // before those behind it may be
	if before.Phase.Bound() && !t.Phase.Bound() {
		o.train.unlist(t.UID)
	}
	o.watch()
	s.moved(before, t, step)
	s.writes(before, t, step)
	if t.Callback != "" && t.Phase.Final() && before.Phase != t.Phase {
		s.tellSoon(t, o.worker)
	}
}

// watch has the chain asked about what is in question now.
func (o *owner) watch() {
	t := o.drive.Txn()
	if t.Ledger != "" {
		o.watchBatch(t)
		return
	}
	w, some := lifecycle.WatchOf(t, lifecycle.Memo(o.s.Namespace, t.UID))
	if !some {
		o.s.Chain.Forget(o.uid)
		return
	}
	o.s.Chain.Watch(o.uid, w)
	notify(o.s.watching)
}

// look tells of what the last look at the chain shows, if that is news.
func (o *owner) look(finality int) {
	if o.books != nil {
		return
	}
	g := o.s.Chain.Sighting(o.uid)
	o.train.mu.Lock()
	news := g != o.seen || o.first
	o.seen = g
	o.train.mu.Unlock()
	switch final := !o.bound.Load() && g.Fate == tx.FateIncluded && g.Depth >= finality; {
	case news && final:
		o.leaveLater()
	case news:
		o.leave(word{chain: true})
	}
}

// leaveLater leaves word that nobody waits for: as many trains have one at a time as s.unhurried says.
func (o *owner) leaveLater() {
	o.s.work.Go(func(ctx context.Context) {
		select {
		case o.s.unhurried <- struct{}{}:
			o.leave(word{chain: true, unhurried: true})
		case <-ctx.Done():
		}
	})
}

// late keeps what came of an effect of what is driven here no longer.
func (s *Sequencer) late(ctx context.Context, t *tx.Transaction, r lifecycle.Result) {
	if a, is := r.(lifecycle.Answer); is {
		s.record(ctx, t, a)
	}
}

// record keeps facts although the claim is lost: they may tell what became of it. Where
// Redis has forgotten the attempt, all that this process knows is written back first:
// it may not live to see the next heartbeat.
func (s *Sequencer) record(ctx context.Context, t *tx.Transaction, r lifecycle.Answer) {
	a := t.Attempt(r.Call.Number)
	if a == nil || a.Sender != r.Sender || a.Nonce != r.Nonce || r.Hash == "" && r.Data == nil {
		return
	}
	for try := 0; ctx.Err() == nil && try < 20; try++ {
		err := s.Store.Record(ctx, t.UID, a, queues.Facts{Hash: r.Hash, Data: r.Data})
		if err == nil {
			return
		}
		if errors.Is(err, queues.ErrUnsettled) || errors.Is(err, queues.ErrNotFound) {
			s.recovery.Rewrite(ctx)
		}
		pause(ctx, try)
	}
	s.Log.Error("what a worker answered could not be stored", about(t)...)
}

// pause waits a little longer for each try, from 50 ms to 5 s.
func pause(ctx context.Context, try int) {
	d := time.Duration(float64(50*time.Millisecond) * math.Pow(2, float64(min(try, 7))) * (0.5 + rand.Float64()))
	sleep(ctx, min(d, 5*time.Second))
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
