package queues

import (
	"context"
	"mina-sequencer/sequencer/lifecycle"
	"time"
)

// Flow is how many transactions passed a point of their way within a time.
type Flow struct {
	Over                            time.Duration
	Accepted, Done, Retried, Failed int64 // Failed: and UNRESOLVED
}

// flowEvents is the most events that Flow looks at.
const flowEvents = 2000

// Flow counts what happened within the last time up to over, or within less
// where more than 2,000 events happened in it, or where nothing happened before.
// Of what has just begun it is a minute. Error: ErrUnavailable.
func (s *Store) Flow(ctx context.Context, over time.Duration) (Flow, error) {
	p, err := s.ReadLog(ctx, 0, 0)
	if err != nil {
		return Flow{}, err
	}
	events, err := s.Events(ctx, max(p.First-1, p.Last-flowEvents), flowEvents)
	if err != nil {
		return Flow{}, err
	}
	clock, err := s.client.Time(ctx).Result()
	if err != nil {
		return Flow{}, storeError("reading the time", err)
	}
	begin := clock.Add(-over)
	switch {
	case len(events) == 0:
	case len(events) == flowEvents:
		begin = later(begin, events[0].At)
	case events[0].Number == 1:
		begin = later(begin, earlier(events[0].At, clock.Add(-time.Minute)))
	}
	f := Flow{Over: clock.Sub(begin)}
	for _, e := range events {
		if e.Kind != OfTransaction || e.At.Before(begin) || e.From == e.To {
			continue
		}
		switch {
		case e.From == "":
			f.Accepted++
		case e.From == lifecycle.PhaseDelayed && e.To == lifecycle.PhaseDispatching:
			f.Retried++
		case e.To == lifecycle.PhaseDone:
			f.Done++
		case e.To == lifecycle.PhaseFailed || e.To == lifecycle.PhaseUnresolved:
			f.Failed++
		}
	}
	return f, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
