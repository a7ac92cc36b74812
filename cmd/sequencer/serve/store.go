package serve

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/queues"
)

// storeLook is how often a process looks whether its store is still set up as it was at the start.
const storeLook = time.Minute

// A storeWatch knows what did not fit about the store when it was last looked at: what stops a
// start, or is warned of there, may also come while the process runs. Its methods may be called
// concurrently.
type storeWatch struct {
	store *queues.Store // nil: one that is embedded, which cannot be asked
	log   *slog.Logger
	mu    sync.Mutex
	known []queues.Fault
}

// start notes what is known already.
func (w *storeWatch) start(ctx context.Context) error {
	found, err := w.store.Look(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = found
	return err
}

// run looks each time that it is due, until ctx ends.
func (w *storeWatch) run(ctx context.Context, due <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
			w.look(ctx)
		}
	}
}

// look looks once, and tells the log what has come and gone. While Redis does not answer what was
// known stays so.
func (w *storeWatch) look(ctx context.Context) {
	if w.store == nil {
		return
	}
	found, err := w.store.Look(ctx)
	if err != nil {
		return // others say that it is away
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range found {
		if !has(w.known, f.Code) {
			level := slog.LevelWarn
			if f.Fatal {
				level = slog.LevelError
			}
			w.log.Log(ctx, level, "the store is not set up as it should be", "fault", f.String())
		}
	}
	for _, f := range w.known {
		if !has(found, f.Code) {
			w.log.InfoContext(ctx, "the store is set up as it should be again", "fault", f.Code)
		}
	}
	w.known = found
}

func has(faults []queues.Fault, code string) bool {
	return slices.ContainsFunc(faults, func(f queues.Fault) bool { return f.Code == code })
}

// all is what is known.
func (w *storeWatch) all() []queues.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.known)
}

// faults are the codes of what is known.
func (w *storeWatch) faults() (codes []string) {
	for _, f := range w.all() {
		codes = append(codes, f.Code)
	}
	return codes
}

// said is all that is known, in words.
func (w *storeWatch) said() string {
	var words []string
	for _, f := range w.all() {
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}
