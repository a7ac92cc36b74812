package sequencer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

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
// worker again, after those have landed too, asks the same question. So is what it is made beside.
func (o *owner) founded(ctx context.Context, train *lifecycle.Train, before, after *tx.Transaction) error {
	of := after.Last()
	if len(after.Attempts) <= len(before.Attempts) || len(train.Ahead) == 0 || of.Base != "" {
		return nil // nothing is planned anew, or it takes the proof of the one before
	}
	of.Beside = besideOf(train, of)
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
		if train.Commuting && beside(t, of) {
			break
		}
		if m.Failed() {
			a.list, a.base = nil, "" // it has no effect, and those before it have their blocks
			continue
		}
		next, err := o.train.made(ctx, m)
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
		if o.train.builds.Load() && next.Built == nil && (next.Hash == "" || slices.ContainsFunc(a.list, isBuilt)) {
			// A signer tells no hash: that one is known by what it does, and so are those behind it.
			next = dispatcher.Ahead{UID: t.UID, Built: next.Signed}
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
func (on *train) made(ctx context.Context, m *lifecycle.Member) (dispatcher.Ahead, error) {
	t := m.Txn
	made := dispatcher.Ahead{UID: t.UID}
	if !t.Open() {
		if o := on.owners[t.UID]; o != nil && o.built != nil && o.built.effects == m.Effects() {
			made.Built = o.built.command
			return made, nil
		}
	}
	n, signed, err := on.s.Store.Signed(ctx, t.UID)
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

// beside reports whether t, ahead of an attempt, is or was made at the same time.
func beside(t *tx.Transaction, of *tx.Attempt) bool {
	out := t.FirstOpen()
	return out == nil || out.Nonce >= of.Nonce
}

// besideOf are those ahead of an attempt that may land before it, and of which its proof knows nothing.
func besideOf(train *lifecycle.Train, of *tx.Attempt) (uids []string) {
	for i := range train.Ahead {
		if t := train.Ahead[i].Txn; train.Commuting && (len(uids) > 0 || beside(t, of)) {
			uids = append(uids, t.UID)
		}
	}
	return uids
}

// provedBeside are those beside which the proof was begun that the number-th attempt of t takes.
func provedBeside(t *tx.Transaction, number int) (uids []string) {
	for i := number - 2; i >= 0; i-- {
		if a := &t.Attempts[i]; a.State == tx.Proved || a.State == tx.Dropped {
			uids = append(uids, a.Beside...)
			continue
		}
		break
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// outdated says why the proof that an attempt is to be signed with is of no use, "" if it may be: it does
// not go behind what has landed of its queue since it was begun, or nobody knows what that was. What is in
// flight it is compared with when it is signed, see barrier.
func (o *owner) outdated(ctx context.Context, train *lifecycle.Train, e lifecycle.Effect,
	proved json.RawMessage) (why string, err error) {
	if e.Kind != lifecycle.Resign {
		return "", nil
	}
	t := o.drive.Txn()
	var since []json.RawMessage
	for _, uid := range provedBeside(t, e.Number) {
		command, known, err := o.landed(ctx, train, uid)
		switch {
		case errors.Is(err, queues.ErrUnavailable):
			return "", err
		case err != nil || !known:
			return "what landed of its queue since its proof was begun is not known: " + uid, nil
		case command != nil:
			since = append(since, command)
		}
	}
	if len(since) == 0 {
		return "", nil
	}
	why, err = dispatcher.Barrier(dispatcher.Commuting, t.Attempt(e.Number).Sender, since, proved, nil)
	if err != nil {
		return "cannot be read: " + err.Error(), nil
	}
	if why != "" {
		o.s.vain(t, why)
	}
	return why, nil
}

// landed is what a transaction of the queue has landed with, nil if it has not; known is false where that
// was stored no longer.
func (o *owner) landed(ctx context.Context, train *lifecycle.Train, uid string) (command json.RawMessage,
	known bool, err error) {
	var t *tx.Transaction
	if i := slices.IndexFunc(train.Ahead, func(m lifecycle.Member) bool { return m.Txn.UID == uid }); i >= 0 {
		if t = train.Ahead[i].Txn; train.Ahead[i].Sighting.Fate != tx.FateIncluded {
			return nil, true, nil
		}
	} else if t, err = o.s.Store.Get(ctx, uid); err != nil || t.Landed == 0 {
		return nil, err == nil, err
	}
	n, command, err := o.s.Store.Signed(ctx, uid)
	return command, t.Landed == 0 || t.Landed == n, err
}

// barrier says why a signed command of t may not be in flight beside others, "" if it may.
func (s *Sequencer) barrier(ctx context.Context, t *tx.Transaction, payer string, on *ahead,
	signed json.RawMessage) string {
	mode := s.Types.Overlap(t.Type)
	if mode == dispatcher.Alone {
		return ""
	}
	ahead := on.commands()
	var absent map[tx.Account]bool
	if len(ahead) > 0 { // else nothing is lost but what would be lost without a width
		absent = s.absent(ctx, payer, signed)
	}
	reason, err := dispatcher.Barrier(mode, payer, ahead, signed, absent)
	if err != nil {
		reason = "cannot be read: " + err.Error()
	}
	if reason != "" && len(ahead) > 0 {
		s.vain(t, reason)
	}
	return reason
}

// absentWait bounds how long nodes are asked which accounts there are.
const absentWait = 10 * time.Second

// absent asks the nodes, in one question to each, which accounts that a signed command touches are on none of
// them. They are asked once those in flight ahead are known: what those have made since is there, or theirs. nil
// where too few answer, or there are more accounts than are asked for.
func (s *Sequencer) absent(ctx context.Context, payer string, signed json.RawMessage) map[tx.Account]bool {
	touched := dispatcher.FootprintOf(payer, signed).Touched
	if len(touched) >= tx.MostTouched {
		return nil
	}
	all := map[tx.Account]bool{}
	if len(touched) == 0 {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, absentWait)
	defer cancel()
	lacking, err := s.Chain.Absent(ctx, touched)
	if err != nil {
		s.Log.Info("which accounts there are is read from commands alone", "err", err)
		return nil
	}
	for _, a := range lacking {
		all[a] = true
	}
	return all
}

// vain tells that t was made behind others in vain.
func (s *Sequencer) vain(t *tx.Transaction, why string) {
	n := s.misjudged(t, why)
	tell(s.Meter.Apart, t.Type)
	s.Log.Warn("made behind another of its queue in flight in vain; its type should go alone",
		about(t, "mode", s.Types.Overlap(t.Type).String(), "why", why, "times", n)...)
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
