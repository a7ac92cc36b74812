package sequencer

import (
	"context"
	"errors"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Tracer follows what is done for transactions whose Trace is set, and is told of no
// other. Its functions are called concurrently and must not wait; one that is nil is not
// called.
type Tracer struct {
	// Begin is told what is begun for an attempt: "prove", "resign", "dispatch", "send" or
	// "report". The context that it returns goes along; the function is told the end.
	Begin func(ctx context.Context, t *tx.Transaction, what string, attempt int) (context.Context, func(error))
	// Passed is told what is over, "included" or "settled", and when that began.
	Passed func(t *tx.Transaction, what string, attempt int, since time.Time, err error)
	// Retried is told that a retry begins.
	Retried func(t *tx.Transaction)
}

// traced begins what is done for an attempt of t.
func (s *Sequencer) traced(ctx context.Context, t *tx.Transaction, what string, attempt int) (
	context.Context, func(error),
) {
	if t.Trace == "" || s.Tracer.Begin == nil {
		return ctx, func(error) {}
	}
	return s.Tracer.Begin(ctx, t, what, attempt)
}

// passed tells of what is over.
func (s *Sequencer) passed(t *tx.Transaction, what string, attempt int, since time.Time, err error) {
	if t.Trace != "" && s.Tracer.Passed != nil {
		s.Tracer.Passed(t, what, attempt, since, err)
	}
}

// ways tells the tracer of a stored change: a retry that began, an end that was reached.
func (s *Sequencer) ways(before, t *tx.Transaction) {
	if t.Trace != "" && t.Retries > before.Retries && s.Tracer.Retried != nil {
		s.Tracer.Retried(t)
	}
	if !t.Phase.Final() || before.Phase == t.Phase {
		return
	}
	var err error
	if t.Phase != tx.PhaseDone {
		err = errors.New(string(t.State()))
		if t.Error != nil {
			err = errors.New(t.Error.Code + ": " + t.Error.Message)
		}
	}
	s.passed(t, "settled", len(t.Attempts), before.ChangedAt, err)
}
