// Package recovery does all that is to be done when Redis may have forgotten its last
// writes: after a restart or a failover, when a process begins, and when it has taken
// over. Until it is done nothing is bound, asked of a worker, or sent. Nothing else knows
// of it but that: a reason why not.
package recovery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// Options are what a Recovery works with. The functions are called without a lock.
type Options struct {
	Store     *queues.Store
	Senders   *senders.Pool
	Chain     *mina.Tracker
	Process   string // the incarnation of this process
	Namespace string
	Interval  time.Duration // between two looks at the chain
	Log       *slog.Logger
	Now       func() time.Time // by the clock of Redis
	// Open lets work go on. Reread has every owner read its transaction anew. Driven
	// reports whether this process drives a transaction. Beat sends a heartbeat.
	Open, Reread func()
	Driven       func(uid string) bool
	Beat         func(ctx context.Context)
}

// A Recovery is how one process stands to the Redis that it talks to. All methods may be
// called concurrently.
type Recovery struct {
	Options
	writing chan struct{} // full while what this process knows is written back
	work    sync.WaitGroup

	mu sync.Mutex
	// shut says why nothing is bound, asked of a worker or sent; "" if nothing
	// speaks against it.
	shut string
	home string // run id of the Redis with which this process is reconciled
	told string // of that to which it has written back what it knows
	// joined is the run id of the one that was not settled when it wrote back:
	// whoever settles it has waited for this process.
	joined string
	pulse  queues.Pulse
	busy   bool
	// unchecked are senders of transactions that were taken over, which are looked
	// at before anything else leaves.
	unchecked map[string]bool
	strange   map[string]uint32 // nonces that nobody of ours used, seen once
}

// New returns the recovery of a process that has just begun.
func New(o Options) *Recovery {
	return &Recovery{
		Options: o, shut: shutStarting, writing: make(chan struct{}, 1),
		unchecked: map[string]bool{}, strange: map[string]uint32{},
	}
}

const (
	shutStarting  = "this process has just started and compares its senders with the chain"
	shutForgotten = "Redis was restarted or failed over: what it may have forgotten is being looked for"
	shutTakeOver  = "transactions of another process are being taken over, and their senders compared with the chain"
)

// Shut says why this process binds, asks and sends nothing; "" if it does.
func (r *Recovery) Shut() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shut
}

// Told is the run id of the Redis to which this process has written back what it knows.
func (r *Recovery) Told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told
}

// Suspect shuts until the next heartbeat knows better.
func (r *Recovery) Suspect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = shutForgotten
}

// Wait waits until what Heed has begun has ended.
func (r *Recovery) Wait() { r.work.Wait() }

// Heed opens or shuts as a pulse says, and has what is to be done for it begun.
func (r *Recovery) Heed(ctx context.Context, p queues.Pulse) {
	r.mu.Lock()
	r.pulse = p
	was := r.shut
	r.shut = r.judge(p)
	begin := (r.shut != "" || p.Astray > 0) && !r.busy && ctx.Err() == nil
	r.busy = r.busy || begin
	opened := was != "" && r.shut == ""
	r.mu.Unlock()
	if opened {
		r.Open()
	}
	if begin {
		r.work.Go(func() { r.recoverAll(ctx, p) })
	}
}

// judge says what a pulse means. The caller holds mu.
func (r *Recovery) judge(p queues.Pulse) string {
	switch {
	case !p.Settled:
		return shutForgotten
	case r.home != p.Server && r.joined == p.Server:
		r.home = p.Server
		clear(r.unchecked)
		return ""
	case r.home == p.Server && len(r.unchecked) == 0:
		return ""
	case r.home == p.Server:
		return shutTakeOver
	case r.home == "":
		return shutStarting
	}
	return shutForgotten
}

func (r *Recovery) recoverAll(ctx context.Context, p queues.Pulse) {
	for r.recover(ctx, p) && ctx.Err() == nil {
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

// recover does what stands between this process and its work. It reports true if
// the chain could not be asked, or is to be asked once more; all else is tried
// again after a later beat.
func (r *Recovery) recover(ctx context.Context, p queues.Pulse) (again bool) {
	if !r.writtenBack(ctx, p) || !p.Settled && !p.Turn {
		return false
	}
	r.mu.Lock()
	if r.pulse.Server != p.Server {
		r.mu.Unlock()
		return false // yet another Redis
	}
	all, accounts := r.home != p.Server, slices.Collect(maps.Keys(r.unchecked))
	// Where Redis is the one it always was, it knows all that was ever sent.
	forgotten := p.Turn || r.home != "" && all
	r.mu.Unlock()
	if err := r.reconcile(ctx, all, accounts, forgotten); err != nil {
		if ctx.Err() == nil {
			r.Log.Warn("nothing is bound or sent before the senders are compared with the chain", "err", err)
		}
		return true
	}
	if p.Turn {
		if done, err := r.Store.Settle(ctx, r.Process, p.Server); err != nil || !done {
			return false // another process's turn, or yet another Redis
		}
		r.Log.Info("reconciled with the Redis that was restarted or took over", "server", p.Server)
	}
	left, opened := r.reconciled(p, accounts)
	if opened {
		r.Open()
	}
	return left // taken over meanwhile
}

// reconciled notes that the senders were compared with the chain. It reports whether
// there are more, and whether work may go on by that.
func (r *Recovery) reconciled(p queues.Pulse, accounts []string) (left, opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pulse.Server != p.Server {
		return false, false // yet another Redis
	}
	r.home = p.Server
	for _, a := range accounts {
		delete(r.unchecked, a)
	}
	if left = len(r.unchecked) > 0; !left {
		opened, r.shut = r.shut != "", ""
	}
	return left, opened
}

// writtenBack reports whether Redis has what this process knows; if it has not
// yet, it is written.
func (r *Recovery) writtenBack(ctx context.Context, p queues.Pulse) bool {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return false
	}
	r.mu.Lock()
	told := r.told == p.Server
	first := r.home == ""
	r.mu.Unlock()
	if told {
		return true
	}
	missing, err := r.Store.WriteBack(ctx, r.Process, p.Server)
	if err == nil {
		err = r.regain(ctx)
	}
	if err != nil {
		r.Log.Warn("what Redis may have forgotten is not written back yet", "err", err)
		return false
	}
	if !first {
		r.Log.Warn("Redis was restarted or failed over", "server", p.Server, "forgotten", missing)
	}
	r.mu.Lock()
	r.told = p.Server
	if !p.Settled {
		r.joined = p.Server
	}
	r.mu.Unlock()
	r.Reread()
	if !p.Settled {
		r.Beat(ctx) // the others wait for this
	}
	return true
}

// Rewrite writes back what this process knows, if Redis is another one.
func (r *Recovery) Rewrite(ctx context.Context) {
	r.Beat(ctx) // which tells what Redis this is
	r.mu.Lock()
	p := r.pulse
	r.mu.Unlock()
	r.writtenBack(ctx, p)
}

// regain has the transactions looked at that are this process's again, for Redis has
// forgotten that it was done with them.
func (r *Recovery) regain(ctx context.Context) error {
	return r.Store.Regain(ctx, r.Process, func(uids []string) []string {
		return slices.DeleteFunc(uids, r.Driven)
	})
}

// Taken has the senders of transactions that were taken over looked at before
// anything leaves.
func (r *Recovery) Taken(ctx context.Context, uids []string) {
	ts, err := r.Store.GetMany(ctx, uids)
	r.mu.Lock()
	if err != nil {
		r.home = "" // all of them, then
	}
	for _, t := range ts {
		r.unchecked[t.Sender] = true
	}
	p := r.pulse
	r.mu.Unlock()
	r.Heed(ctx, p)
}
