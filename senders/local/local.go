// Package local runs workers as processes of this machine: it starts one per
// sender on a free loopback port, watches it, passes its output on to the log,
// starts it again when it has died or hangs, and leaves none behind.
//
// A worker is started as the leader of a process group, which is ended as a
// whole. On Linux what it has started outside of that is known by a mark and
// ended, too, before the next start; and the kernel ends the worker with this
// process, however that ends. What outlives it all the same, such as a program
// that the worker started, is found by the next process that uses the same
// folder of records.
package local

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// A Command says how the worker of one sender is started.
type Command struct {
	Account string   // the sender's public key
	Args    []string // the program and its arguments; a relative path is relative to this process's folder
	// Env is added to what this process has in its environment, but for the
	// variables that begin with SEQUENCER_. The worker also gets PORT and HOST,
	// where it has to listen, and WORKER_TOKEN if there is one.
	Env map[string]string
}

// Options describe the workers of a process.
type Options struct {
	Commands []Command
	Token    string // Bearer token that callers show to the workers; may be empty
	// Patience is how long a worker may take until it answers for the first
	// time, and how long it may be silent later. 0 means 10 minutes.
	Patience time.Duration
	// Backoff is the longest wait before the first new start, doubled for each
	// further one up to BackoffMax, and half of it at least. 0 means 1 second
	// and 1 minute.
	Backoff, BackoffMax time.Duration
	// Grace is how long a worker has between SIGTERM and SIGKILL when Run ends.
	// 0 means 5 seconds.
	Grace time.Duration
	// Dir is the folder of the records by which left-overs are found.
	Dir string
	// Changed is told that a worker has begun to take calls; nil tells nobody.
	Changed func()
	Log     *slog.Logger // nil is none
}

// Workers are the local workers of one process. All methods may be called
// concurrently.
type Workers struct {
	o       Options
	records records
	starter *starter
	all     map[string]*worker
}

// New returns the workers that o describes. None runs before Run.
func New(o Options) *Workers {
	set := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	set(&o.Patience, 10*time.Minute)
	set(&o.Backoff, time.Second)
	set(&o.BackoffMax, time.Minute)
	set(&o.Grace, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Workers{o: o, records: records{o.Dir}, all: make(map[string]*worker)}
	for _, c := range o.Commands {
		w.all[c.Account] = &worker{of: w, Command: c, log: o.Log.With("sender", c.Account)}
	}
	return w
}

// Run ends what a process that was killed has left over, and keeps the workers
// running until ctx ends; when it returns, all have ended. Its error says that
// the records cannot be kept or a left-over cannot be ended; then no worker was
// started.
func (w *Workers) Run(ctx context.Context) error {
	err := w.records.endLeftOvers(ctx, w.o.Log)
	if len(w.all) == 0 {
		if err != nil {
			w.o.Log.Warn("looking for left-over workers", "err", err)
		}
		return nil
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return unusable(err)
	}
	if err := w.records.open(); err != nil {
		return unusable(err)
	}
	w.starter = newStarter()
	defer w.starter.stop()
	var all sync.WaitGroup
	for _, worker := range w.all {
		all.Go(func() { worker.run(ctx) })
	}
	all.Wait()
	return nil
}

// A State is how a worker is at the moment.
type State struct {
	URL string // where it takes calls; "" while it does not
	PID int    // 0 while no process runs
	// Next is when it is started, zero while its process runs.
	Next time.Time
}

// State returns how the worker of an account is; false if this process has no
// command for it.
func (w *Workers) State(account string) (State, bool) {
	one := w.all[account]
	if one == nil {
		return State{}, false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.state, true
}

// Find returns where the worker of an account takes calls, or "" and how long it
// is surely not worth asking again; false if this process has no command for it.
func (w *Workers) Find(account string) (url string, wait time.Duration, ok bool) {
	s, ok := w.State(account)
	if s.URL != "" || s.Next.IsZero() {
		return s.URL, 0, ok
	}
	return "", max(0, time.Until(s.Next)), ok
}

// Down reports whether the worker of an account takes no calls, and when it is
// started again if that is known. An account without a command is not down.
func (w *Workers) Down(account string) (until time.Time, down bool) {
	s, ok := w.State(account)
	return s.Next.UTC(), ok && s.URL == ""
}

// Ready lists the accounts whose workers take calls, in order.
func (w *Workers) Ready() []string {
	var ready []string
	for account := range w.all {
		if s, _ := w.State(account); s.URL != "" {
			ready = append(ready, account)
		}
	}
	slices.Sort(ready)
	return ready
}

// errHung ends a worker that does not answer any more.
var errHung = errors.New("it does not answer")

// Hung says that the worker of an account has not answered a call at url in
// time. If it is still the same process, it is killed and started again.
func (w *Workers) Hung(account, url string) {
	one := w.all[account]
	if one == nil {
		return
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if url != "" && one.state.URL == url {
		one.state.URL = ""
		one.end(errHung)
	}
}
