package sequencer

import (
	"context"
	"encoding/json"
	"errors"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/lifecycle"
)

// ahead is what an attempt is built upon: the commands in flight before it, and their digest.
// They stay what they were as long as the attempt is the same.
type ahead struct {
	number int
	at     int64 // when that was planned: one that nobody took on has its number given anew
	list   []dispatcher.Ahead
	base   string
}

// errGone: what is in flight ahead has no bytes that could be built upon.
var errGone = errors.New("the bytes of what is in flight ahead are not stored")

// aheadOf reads what is in flight ahead of the attempt that an effect has a worker make; nil
// if nothing is.
func (o *owner) aheadOf(ctx context.Context, train *lifecycle.Train, e lifecycle.Effect) (*ahead, error) {
	if e.Kind != lifecycle.Prove && e.Kind != lifecycle.Resign {
		return nil, nil
	}
	of := o.drive.Txn().Attempt(e.Number)
	a := &ahead{number: e.Number, at: of.StartedAt.UnixMilli()}
	switch {
	case o.ahead != nil && o.ahead.number == a.number && o.ahead.at == a.at:
		return o.ahead, nil
	case len(train.Ahead) == 0:
		return nil, nil
	}
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
	if err != nil {
		return nil, err
	}
	a.base = base
	o.ahead = a
	return a, nil
}

// barrier says why a signed command of t may not be in flight beside others, "" if it may.
func (s *Sequencer) barrier(t *lifecycle.Transaction, payer string, on *ahead, signed json.RawMessage) string {
	mode := s.Types.Overlap(t.Type)
	if mode == dispatcher.Alone {
		return ""
	}
	var before json.RawMessage
	if on != nil {
		before = on.list[len(on.list)-1].Signed
	}
	reason, err := dispatcher.Barrier(mode, payer, before, signed)
	if err != nil {
		reason = "cannot be read: " + err.Error()
	}
	if reason != "" && on != nil {
		s.Log.Warn("made behind another of its queue in flight in vain; its type should go alone",
			about(t, "mode", mode.String(), "why", reason)...)
	}
	return reason
}
