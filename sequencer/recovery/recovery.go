// Package recovery does all that is to be done when Redis may have forgotten its last
// writes: after a restart or a failover, and when a process begins. Until it is done
// nothing is bound, proved, signed or sent. The shell around the decisions tells it what is
// stored and what leaves, and asks it why nothing may be done, and what a record lacks;
// nothing else knows of it.
package recovery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// Options are what a Recovery works with. The functions are called without a lock.
type Options struct {
	Store     *queues.Store
	Senders   *senders.Pool
	Chain     *mina.Tracker
	Process   string // the incarnation of this process
	Namespace string
	Interval  time.Duration // between two looks at the chain
	Back      uint32        // how many slots back the chain may still change
	Log       *slog.Logger
	Now       func() time.Time // by the clock of Redis
	// Open lets work go on. Reread has every owner read its transaction anew. Driven
	// reports whether this process drives a transaction. Heartbeat sends one.
	Open, Reread func()
	Driven       func(uid string) bool
	Heartbeat    func(ctx context.Context)
	// Network says why it is not known that the nodes are of the namespace's network.
	Network func(ctx context.Context) error
}

// A Recovery is how far one process is with the Redis that it talks to. All methods may be
// called concurrently.
type Recovery struct {
	Options
	memory
	store   queues.Recovery
	writing chan struct{} // full while what this process knows is written back
	work    sync.WaitGroup

	mu sync.Mutex
	// shut says why nothing is bound, asked of a worker or sent; "" if nothing
	// speaks against it.
	shut string
	home string // the Redis with which this process is reconciled
	back string // of that to which it has written back what it knows
	// joined is the one that was not settled when it wrote back:
	// whoever settles it has waited for this process.
	joined  string
	heard   string // the one of the last heartbeat
	stage   queues.Stage
	busy    bool
	strange map[string]uint32 // nonces that nobody of ours used, seen once
}

// New returns the recovery of a process that has just begun.
func New(o Options) *Recovery {
	return &Recovery{
		Options: o, memory: memory{process: o.Process, txns: map[string]remembered{}},
		store: o.Store.Recovery(), shut: shutStarting,
		writing: make(chan struct{}, 1), strange: map[string]uint32{},
	}
}

const (
	shutStarting  = "this process has just started and compares its senders with the chain"
	shutForgotten = "Redis was restarted or failed over: what it may have forgotten is being looked for"
)

// Shut says why this process binds, asks and sends nothing; "" if it does.
func (r *Recovery) Shut() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shut
}

// WrittenBack names the Redis to which this process has written back what it knows.
func (r *Recovery) WrittenBack() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back
}

// Suspect shuts until the next heartbeat knows better.
func (r *Recovery) Suspect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = shutForgotten
}

// Lacks reports whether t, just read, lacks something that this process knows to be out.
// Then this is not the Redis that it knows: nothing leaves, and t is not gone on with,
// before what is known is written back.
func (r *Recovery) Lacks(t *tx.Transaction) bool {
	if !r.lacks(t) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere()
	r.shut = shutForgotten
	return true
}

// Wait waits until what Heard has begun has ended.
func (r *Recovery) Wait() { r.work.Wait() }

// Heard opens or shuts as a heartbeat says, and has what is to be done for it begun.
func (r *Recovery) Heard(ctx context.Context, s queues.Stage) {
	r.mu.Lock()
	r.stage = s
	was := r.shut
	r.shut = r.judge(s)
	begin := r.shut != "" && !r.busy && ctx.Err() == nil
	r.busy = r.busy || begin
	open := r.shut == ""
	r.mu.Unlock()
	if open {
		r.tidy() // this is the Redis that has it all
	}
	if open && was != "" {
		r.Open()
	}
	if begin {
		r.work.Go(func() { r.recoverAll(ctx, s) })
	}
}

// elsewhere notes that this process has met another Redis: what was known of the one before
// is not so any more, should it come back. What the other took meanwhile, it lacks. The caller
// holds mu.
func (r *Recovery) elsewhere() {
	r.back, r.joined = "", ""
	if r.home != "" {
		r.home = "elsewhere"
	}
}

// judge says what a stage means. The caller holds mu.
func (r *Recovery) judge(s queues.Stage) string {
	if r.heard != "" && r.heard != s.Server {
		r.elsewhere()
	}
	r.heard = s.Server
	switch {
	case !s.Settled:
		return shutForgotten
	case r.home == s.Server, r.joined == s.Server:
		r.home = s.Server
		return ""
	case r.home == "":
		return shutStarting
	}
	return shutForgotten
}

func (r *Recovery) recoverAll(ctx context.Context, s queues.Stage) {
	for r.recover(ctx, s) && ctx.Err() == nil {
		again := time.NewTimer(r.Interval)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}

// recover does what is to be done before this process may work. It reports true if the
// chain could not be asked, or is to be asked once more, where nobody else can do it; all
// else is tried again after a later heartbeat.
func (r *Recovery) recover(ctx context.Context, s queues.Stage) (again bool) {
	if !r.writtenBack(ctx, s) || !s.Settled && !s.Turn {
		return false
	}
	r.mu.Lock()
	// Where Redis is the one it always was, it knows all that was ever sent.
	forgotten := s.Turn || r.home != ""
	other := r.stage.Server != s.Server
	r.mu.Unlock()
	if other {
		return false
	}
	if err := r.reconcile(ctx, forgotten); err != nil {
		if ctx.Err() == nil {
			r.Log.Warn("nothing is bound or sent before the senders are compared with the chain", "err", err)
		}
		if s.Turn {
			_ = r.store.Yield(ctx, r.Process) // else it passes on when this process ends
		}
		return !s.Turn
	}
	if s.Turn {
		if done, err := r.store.Settle(ctx, r.Process, s.Server); err != nil || !done {
			return false // another process's turn, or yet another Redis
		}
		r.Log.Info("reconciled with the Redis that was restarted or took over", "server", s.Server)
	}
	if r.reconciled(s) {
		r.Open()
	}
	return false
}

// reconciled notes that the senders were compared with the chain. It reports whether work
// may go on by that.
func (r *Recovery) reconciled(s queues.Stage) (opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stage.Server != s.Server {
		return false // yet another Redis
	}
	r.home = s.Server
	opened, r.shut = r.shut != "", ""
	return opened
}

// writtenBack reports whether Redis has what this process knows; if it has not
// yet, it is written.
func (r *Recovery) writtenBack(ctx context.Context, s queues.Stage) bool {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return false
	}
	r.mu.Lock()
	back := r.back == s.Server
	first := r.home == ""
	r.mu.Unlock()
	if back {
		return true
	}
	missing, err := r.writeBack(ctx, s.Server)
	if err == nil || errors.Is(err, errTaken) {
		// What this process was done with, and Redis has forgotten that, is its own again: its
		// end may be what another one waits for.
		err = cmp.Or(r.store.Regain(ctx, r.Process, r.Driven), err)
	}
	if err != nil {
		if errors.Is(err, errTaken) {
			r.Reread()
		}
		r.Log.Warn("what Redis may have forgotten is not written back yet", "err", err)
		return false
	}
	if !first {
		r.Log.Warn("Redis was restarted or failed over", "server", s.Server, "forgotten", missing)
	}
	r.mu.Lock()
	r.back = s.Server
	if !s.Settled {
		r.joined = s.Server
	}
	r.mu.Unlock()
	r.Reread()
	if !s.Settled {
		r.Heartbeat(ctx) // the others wait for this
	}
	return true
}

// Rewrite writes back what this process knows, if Redis is another one.
func (r *Recovery) Rewrite(ctx context.Context) {
	r.Heartbeat(ctx) // which tells what Redis this is
	r.mu.Lock()
	s := r.stage
	r.mu.Unlock()
	r.writtenBack(ctx, s)
}
