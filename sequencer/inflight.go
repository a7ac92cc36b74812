package sequencer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// ahead is what an attempt is made upon: the commands in flight before it, and the digest of
// those that it was planned behind. Both stay what they were as long as the attempt is the
// same; of one that another process planned the list is shorter where some have landed since.
type ahead struct {
	number int
	at     int64 // when that was planned: one that nobody took on has its number given anew
	list   []dispatcher.Ahead
	base   string
}

// is reports whether a is of an attempt.
func (a *ahead) is(of *tx.Attempt) bool {
	return a != nil && a.number == of.Number && a.at == of.StartedAt.UnixMilli()
}

// commands are those in flight before it, in order, as far as they are made.
func (a *ahead) commands() (all []json.RawMessage) {
	if a != nil {
		for i := range a.list {
			all = append(all, a.list[i].Command())
		}
	}
	return all
}

// A built is what a worker has said that an attempt does. It is known here alone.
type built struct {
	number  int
	at      int64 // as of ahead
	command json.RawMessage
	effects string // the digest of what it does
	token   string // what it is to be asked to prove with
	on      string // what it was built on, as its worker tells
}

// of is b, if it is of an attempt.
func (b *built) of(a *tx.Attempt) *built {
	if b != nil && b.number == a.Number && b.at == a.StartedAt.UnixMilli() {
		return b
	}
	return nil
}

// errGone: what is in flight ahead has no bytes that could be built upon.
var errGone = errors.New("the bytes of what is in flight ahead are not stored")

// founded has what is planned behind others stored with what it is made upon: whoever asks its
// worker again, after those have landed too, asks the same question.
func (o *owner) founded(ctx context.Context, train *lifecycle.Train, before, after *tx.Transaction) error {
	of := after.Last()
	if len(after.Attempts) <= len(before.Attempts) || len(train.Ahead) == 0 || of.Base != "" {
		return nil // nothing is planned anew, or it takes the proof of the one before
	}
	a, err := o.inFlight(ctx, train, of)
	switch {
	case errors.Is(err, queues.ErrUnavailable):
		return err
	case err == nil && a != nil:
		o.ahead, of.Base = a, a.base
	}
	return nil // where it cannot be read, its worker is not asked
}

// aheadOf is what an effect has a worker make an attempt upon; nil where that is the chain.
func (o *owner) aheadOf(ctx context.Context, train *lifecycle.Train, e lifecycle.Effect) (*ahead, error) {
	if e.Kind != lifecycle.Build && e.Kind != lifecycle.Prove && e.Kind != lifecycle.Resign {
		return nil, nil
	}
	of := o.drive.Txn().Attempt(e.Number)
	if o.ahead.is(of) && (e.Kind != lifecycle.Build || !slices.ContainsFunc(o.ahead.list, isBuilt)) {
		return o.ahead, nil // else some of those may be signed by now
	}
	a, err := o.inFlight(ctx, train, of)
	switch {
	case err != nil:
		return nil, err
	case a == nil && of.Base == "":
		return nil, nil
	case a == nil:
		a = &ahead{number: of.Number, at: of.StartedAt.UnixMilli()}
	}
	if of.Base != "" {
		a.base = of.Base
	}
	o.ahead = a
	return a, nil
}

func isBuilt(a dispatcher.Ahead) bool { return a.Built != nil }

// inFlight reads what is in flight ahead of an attempt; nil if nothing is.
func (o *owner) inFlight(ctx context.Context, train *lifecycle.Train, of *tx.Attempt) (*ahead, error) {
	a := &ahead{number: of.Number, at: of.StartedAt.UnixMilli()}
	for i := range train.Ahead {
		m := &train.Ahead[i]
		t := m.Txn
		if out := t.FirstOpen(); train.Commuting && (out == nil || out.Nonce >= of.Nonce) {
			break // it is, or was, made at the same time
		}
		if m.Failed() {
			a.list, a.base = nil, "" // it has no effect, and those before it have their blocks
			continue
		}
		next, err := o.s.made(ctx, m)
		if err != nil {
			return nil, err
		}
		if a.base = m.Leaves(); a.base == "" {
			effects, err := dispatcher.EffectsOf(next.Signed)
			if err != nil {
				return nil, err
			}
			a.base = lifecycle.StateAfter(t.FirstOpen().Base, effects)
		}
		a.list = append(a.list, next)
	}
	if len(a.list) == 0 {
		return nil, nil
	}
	return a, nil
}

// made is what is made of a member by now: what was signed or, where nothing may have left yet, what
// was proved before its turn or was built.
func (s *Sequencer) made(ctx context.Context, m *lifecycle.Member) (dispatcher.Ahead, error) {
	t := m.Txn
	made := dispatcher.Ahead{UID: t.UID}
	if !t.Open() {
		s.mu.Lock()
		if o := s.owners[t.UID]; o != nil && o.shown.built != nil && o.shown.built.effects == m.Effects() {
			made.Built = o.shown.built.command
		}
		s.mu.Unlock()
		if made.Built != nil {
			return made, nil
		}
	}
	n, signed, err := s.Store.Signed(ctx, t.UID)
	if err != nil {
		return made, err
	}
	switch a := t.Attempt(n); {
	case a != nil && a.Open():
		made.Nonce, made.Hash, made.Signed = a.Nonce, a.KnownHash(), signed
	case a != nil && a.State == tx.Proved && a.Effects != "" && a.Effects == m.Effects():
		made.Built = signed
	default:
		return made, errGone
	}
	return made, nil
}

// barrier says why a signed command of t may not be in flight beside others, "" if it may.
func (s *Sequencer) barrier(t *tx.Transaction, payer string, on *ahead, signed json.RawMessage) string {
	mode := s.Types.Overlap(t.Type)
	if mode == dispatcher.Alone {
		return ""
	}
	ahead := on.commands()
	reason, err := dispatcher.Barrier(mode, payer, ahead, signed)
	if err != nil {
		reason = "cannot be read: " + err.Error()
	}
	if reason != "" && len(ahead) > 0 {
		n := s.misjudged(t, reason)
		tell(s.Meter.Apart, t.Type)
		s.Log.Warn("made behind another of its queue in flight in vain; its type should go alone",
			about(t, "mode", mode.String(), "why", reason, "times", n)...)
	}
	return reason
}

const (
	// mostMisjudged is how often what is made of a type behind others of a queue may be in vain, by what
	// it requires or makes. Then it goes alone in that queue, for as long as this process lives: what
	// its type says comes from the configuration.
	mostMisjudged = 3
	// misjudgedQueues bounds of how many queues and types this is known.
	misjudgedQueues = 10_000
)

// A misjudgement is of the transactions of one type in one queue.
type misjudgement struct {
	times int
	why   string // of the last time
}

// misjudged counts that one was made behind others in vain.
func (s *Sequencer) misjudged(t *tx.Transaction, why string) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.apart) >= misjudgedQueues {
		clear(s.apart) // they are found again
	}
	m := misjudgement{times: s.apart[[2]string{t.Queue, t.Type}].times + 1, why: why}
	s.apart[[2]string{t.Queue, t.Type}] = m
	return m.times
}

// goesApart says why a type goes alone in a queue although it says otherwise, "" if it does not. It is
// called under mu.
func (s *Sequencer) goesApart(queue, typ string) string {
	m := s.apart[[2]string{queue, typ}]
	if m.times < mostMisjudged {
		return ""
	}
	return fmt.Sprintf("%s goes alone in this queue: %d made behind others of it were made in vain, "+
		"the last because it %s. Set SEQUENCER_OVERLAP=%s=alone, or the width of the queue to 1", typ, m.times, m.why, typ)
}
