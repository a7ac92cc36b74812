package sequencer

import (
	"cmp"
	"math/rand/v2"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// view is what this process knows around a transaction.
func (s *Sequencer) view(t *tx.Transaction, g tx.Sighting) lifecycle.View {
	_, known := s.Types.Lookup(t.Type)
	return lifecycle.View{
		Txn: t, Policy: s.policyOf(t.Type), Tip: s.tip(), Sighting: g, Now: s.Now(), Clock: time.Now(),
		Jitter: rand.Float64(), Known: known, Replicas: s.Store.Confirms(), Draining: s.draining.Load(),
		Wanted: s.short.Load(),
		Batch:  s.batchOf(t), Market: s.marketOf(t.Type), LastAccepted: s.lastAccepted(), Halted: s.haltedAt(),
	}
}

// A halt is when a node said that the network takes nothing, and when slot 0 of that chain began.
type halt struct{ at, zero time.Time }

// haltedAt is when a node last said so; zero if one has taken something since, if the chain has
// begun anew, as after a hard fork, or if nothing is here that could be offered again.
func (s *Sequencer) haltedAt() time.Time {
	h := s.halt.Load()
	if h == nil || !h.zero.Equal(s.tip().Zero) {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.owners {
		if o.halts.Load() {
			return h.at
		}
	}
	return time.Time{}
}

// lastAccepted is when a node last accepted something of ours, zero if none has.
func (s *Sequencer) lastAccepted() time.Time {
	if at := s.took.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// policyOf is the policy with the depth at which a type is tried again.
func (s *Sequencer) policyOf(typ string) *lifecycle.Policy {
	d, ok := s.Types.Lookup(typ)
	if !ok {
		return &s.Policy
	}
	settler, ok := d.(dispatcher.Settler)
	if !ok || settler.SettleDepth() <= 0 {
		return &s.Policy
	}
	p := s.Policy
	p.RetryDepth = settler.SettleDepth()
	return &p
}

// about is what a line of the log says of a transaction, under the keys that all such
// lines have, and more.
func about(t *tx.Transaction, more ...any) []any {
	if id := t.TraceID(); id != "" {
		more = append(more, "trace_id", id)
	}
	return append([]any{
		"txn", t.UID, "queue", t.Queue, "sender", t.Sender, "type", t.Type, "attempt", len(t.Attempts), "hash", t.Hash(),
		"state", t.State(),
	}, more...)
}

// writes has a line of the log for each change of phase. What a person may have to act on is a
// warning, with the code and the words of what went wrong: an end without an effect that nobody
// asked for, and what is put off, for the times-th time in a row.
func (s *Sequencer) writes(before, t *tx.Transaction, step *lifecycle.Step) {
	code, words, why := step.Aside.Code, "", string(step.Reason)
	ended := t.Phase == tx.PhaseFailed || t.Phase == tx.PhaseUnresolved
	if t.Error != nil && (ended || t.Phase == tx.PhaseFailing || step.Reason == lifecycle.ReasonDeferred) {
		code, words = cmp.Or(code, t.Error.Code), t.Error.Words()
	}
	switch {
	case before.Phase == t.Phase:
	case t.Phase == tx.PhaseUnresolved:
		s.Log.Warn("transaction unresolved", about(t, "code", code, "err", words, "reason", why)...)
	case t.Phase == tx.PhaseFailed && code != tx.CodeCancelled:
		s.Log.Warn("transaction failed", about(t, "code", code, "err", words, "reason", why)...)
	case step.Reason == lifecycle.ReasonDeferred:
		s.Log.Warn("transaction put off", about(t, "code", code, "err", words, "times", t.Deferred, "reason", why)...)
	default:
		s.Log.Info("transaction", about(t, "code", code, "err", words, "reason", why)...)
	}
}
