package sequencer

import (
	"context"
	"encoding/json"
	"errors"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
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
func (a *ahead) is(of *lifecycle.Attempt) bool {
	return a != nil && a.number == of.Number && a.at == of.StartedAt.UnixMilli()
}

// last is the command directly ahead, nil if none is.
func (a *ahead) last() json.RawMessage {
	if a == nil || len(a.list) == 0 {
		return nil
	}
	return a.list[len(a.list)-1].Signed
}

// errGone: what is in flight ahead has no bytes that could be built upon.
var errGone = errors.New("the bytes of what is in flight ahead are not stored")

// founded has what is planned behind others stored with what it is made upon: whoever asks its
// worker again, after those have landed too, asks the same question.
func (o *owner) founded(ctx context.Context, train *lifecycle.Train, before, after *lifecycle.Transaction) error {
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
func (o *owner) inFlight(ctx context.Context, train *lifecycle.Train, of *lifecycle.Attempt) (*ahead, error) {
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
func (s *Sequencer) barrier(t *lifecycle.Transaction, payer string, on *ahead, signed json.RawMessage) string {
	mode := s.Types.Overlap(t.Type)
	if mode == dispatcher.Alone {
		return ""
	}
	reason, err := dispatcher.Barrier(mode, payer, on.last(), signed)
	if err != nil {
		reason = "cannot be read: " + err.Error()
	}
	if reason != "" && on.last() != nil {
		s.Log.Warn("made behind another of its queue in flight in vain; its type should go alone",
			about(t, "mode", mode.String(), "why", reason)...)
	}
	return reason
}
