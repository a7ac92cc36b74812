package sequencer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// commands are those in flight before it, in order.
func (a *ahead) commands() (all []json.RawMessage) {
	if a != nil {
		for i := range a.list {
			all = append(all, a.list[i].Signed)
		}
	}
	return all
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
	if e.Kind != lifecycle.Prove && e.Kind != lifecycle.Resign {
		return nil, nil
	}
	of := o.drive.Txn().Attempt(e.Number)
	if o.ahead.is(of) {
		return o.ahead, nil
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

// inFlight reads what is in flight ahead of an attempt; nil if nothing is.
func (o *owner) inFlight(ctx context.Context, train *lifecycle.Train, of *tx.Attempt) (*ahead, error) {
	a := &ahead{number: of.Number, at: of.StartedAt.UnixMilli()}
	var commands []json.RawMessage
	for i := range train.Ahead {
		t := train.Ahead[i].Txn
		if out := t.FirstOpen(); train.Commuting && (out == nil || out.Nonce >= of.Nonce) {
			break // it is, or was, made at the same time
		}
		if train.Ahead[i].Failed() {
			a.list, commands = nil, nil // it has no effect, and those before it have their blocks
			continue
		}
		n, signed, err := o.s.Store.Signed(ctx, t.UID)
		if err != nil {
			return nil, err
		}
		attempt := t.Attempt(n)
		if attempt == nil || !attempt.Open() {
			return nil, errGone
		}
		a.list = append(a.list, dispatcher.Ahead{UID: t.UID, Nonce: attempt.Nonce, Hash: attempt.KnownHash(), Signed: signed})
		commands = append(commands, signed)
	}
	if len(a.list) == 0 {
		return nil, nil
	}
	base, err := dispatcher.Base(commands)
	a.base = base
	return a, err
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
