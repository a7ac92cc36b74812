package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/tx"
)

// A Recorder counts what this process sees happen, for the pages that show how it went. A process that is
// killed takes the last minute along: these are figures, and no promise hangs on them. It may be used
// concurrently.
type Recorder struct {
	store *queues.Store
	log   *slog.Logger

	mu   sync.Mutex
	seen queues.Sample
}

// NewRecorder returns one that tells a store.
func NewRecorder(store *queues.Store, log *slog.Logger) *Recorder {
	return &Recorder{store: store, log: log}
}

func (r *Recorder) note(change func(*queues.Sample)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.seen)
}

// Sequencer has m told too.
func (r *Recorder) Sequencer(m sequencer.Meter) sequencer.Meter {
	moved, included := m.Moved, m.Included
	m.Moved = func(x sequencer.Move) {
		moved(x)
		from, to := x.From.State(), x.To.State()
		r.note(func(s *queues.Sample) {
			switch {
			case x.Retry:
				s.Retried++
			case from.Final() || !to.Final():
			case to == tx.Done:
				s.Took(max(x.Age, 0))
			default:
				s.Failed++
			}
		})
	}
	m.Included = func(x sequencer.Inclusion) {
		included(x)
		r.note(func(s *queues.Sample) { s.Fees += x.Fee })
	}
	return m
}

// API has m told too.
func (r *Recorder) API(m api.Meter) api.Meter {
	posted := m.Posted
	m.Posted = func(key, queue, outcome string) {
		posted(key, queue, outcome)
		if outcome == api.Outcomes[0] {
			r.note(func(s *queues.Sample) { s.Accepted++ })
		}
	}
	return m
}

// Run tells what was seen each time that it is due, and once more when ctx ends.
func (r *Recorder) Run(ctx context.Context, due <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			r.tell(ctx)
			return
		case <-due:
			r.tell(ctx)
		}
	}
}

func (r *Recorder) tell(ctx context.Context) {
	o, err := r.store.Overview(ctx)
	var seen queues.Sample
	if err == nil {
		r.note(func(s *queues.Sample) { seen, *s = *s, queues.Sample{} })
		for _, load := range o.Types {
			seen.Waiting, seen.Bound = seen.Waiting+max(0, load.Waiting), seen.Bound+load.Bound
		}
		err = r.store.Keep(ctx, &seen)
	}
	if err != nil {
		r.log.DebugContext(ctx, "what was seen is not kept", "err", err)
	}
}
