package sequencer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// stopRest is how long a sender rests before its account is looked at again.
const stopRest = 10 * time.Minute

// A stop is why a sender cannot take a transaction now.
type stop struct {
	why  senders.Reason
	rest time.Duration // queues.Never until a person acts
	err  *lifecycle.Error
}

// fit makes sure of the worker, and of what is known of the chain, before an
// attempt is made.
func (s *Sequencer) fit(ctx context.Context, h *held) (mina.Chain, *stop, error) {
	if st, err := s.greet(ctx, h); st != nil || err != nil {
		return mina.Chain{}, st, err
	}
	// A bind makes sure of this, and not all come here from one.
	c := s.news(ctx)
	if !c.Quorum || s.outdated(c) {
		return c, &stop{senders.Rested, s.Policy.InclusionInterval, &lifecycle.Error{
			Code: "CHAIN_UNAVAILABLE", Message: "no quorum of synced Mina nodes has answered lately"}}, ctx.Err()
	}
	return c, nil, nil
}

// prepare plans the next attempt and stores the plan. Nothing of it has left
// the process yet.
func (s *Sequencer) prepare(ctx context.Context, h *held) (*stop, error) {
	t := h.t
	c, st, err := s.fit(ctx, h)
	if st != nil || err != nil {
		return st, err
	}
	fee := s.fee(t)
	a := lifecycle.Attempt{
		Number: len(t.Attempts) + 1, Sender: t.Sender, Fee: fee, Outcome: lifecycle.Prepared,
		ValidUntil: s.validUntil(c), Slot: c.TipSlot, StartedAt: s.now(),
	}
	if open := firstOpen(t); open != nil {
		a.Nonce = open.Nonce // exclusive: at most one of them can land
	} else {
		nonce, st, err := s.nonce(ctx, h, fee)
		if st != nil || err != nil {
			return st, err
		}
		a.Nonce = nonce
	}
	t.Attempts = append(t.Attempts, a)
	change := queues.NewChange(t, lifecycle.PhaseDispatching)
	change.SetAttempt(&t.Attempts[len(t.Attempts)-1])
	if h.next == nil || *h.next != a.Nonce {
		change.SetNextNonce(a.Nonce)
	}
	change.Limits = s.feeLimits()
	err = s.Store.Advance(ctx, change)
	if limit, ok := errors.AsType[*queues.FeeLimitError](err); ok {
		t.Attempts = t.Attempts[:len(t.Attempts)-1] // nothing is stored of it
		return s.tooCostly(limit, t, fee), nil
	}
	return nil, err
}

func firstOpen(t *lifecycle.Transaction) *lifecycle.Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].Open() {
			return &t.Attempts[i]
		}
	}
	return nil
}

// nonceSeen is how long the chain is not asked again for the nonce of a sender
// whose command it has just shown, at least.
const nonceSeen = 5 * time.Second

// nonce is the one that a fresh attempt takes: one more than the highest of the
// sender that is open or landed, which the chain has to agree with.
func (s *Sequencer) nonce(ctx context.Context, h *held, fee uint64) (uint32, *stop, error) {
	sender := h.t.Sender
	s.mu.Lock()
	seen, ok := s.nonces[sender]
	s.mu.Unlock()
	if ok && h.next != nil && seen.next == *h.next && time.Since(seen.at) < max(nonceSeen, 2*s.Policy.InclusionInterval) {
		return seen.next, nil, nil
	}
	account, err := s.Chain.Account(ctx, sender)
	if err != nil {
		return 0, &stop{senders.Rested, s.Policy.InclusionInterval, &lifecycle.Error{Code: "CHAIN_UNAVAILABLE", Message: err.Error()}}, ctx.Err()
	}
	if !account.Exists {
		return 0, &stop{senders.LowBalance, stopRest, &lifecycle.Error{
			Code: "Fee_payer_account_not_found", Message: "no node knows the account " + sender + "; fund it"}}, nil
	}
	if err := s.Senders.SetBalance(ctx, sender, account.Balance); err != nil && !errors.Is(err, senders.ErrNotFound) {
		return 0, nil, err
	}
	if account.Balance < fee {
		return 0, &stop{senders.LowBalance, stopRest, &lifecycle.Error{
			Code: "Insufficient_funds", Message: fmt.Sprintf("%s holds %s MINA, the fee is %s", sender,
				mina.FormatMina(account.Balance), mina.FormatMina(fee))}}, nil
	}
	switch next := h.next; {
	case next != nil && account.Nonce == *next:
		return account.Nonce, nil, nil
	case next != nil && account.Nonce > *next:
		return 0, &stop{senders.StoppedNonce, queues.Never, &lifecycle.Error{
			Code: string(senders.StoppedNonce), Message: fmt.Sprintf(
				"the account's nonce on the chain is %d, ours is %d: somebody else uses it", account.Nonce, *next)}}, nil
	}
	// Ours is not known, or the chain is behind it: the nodes lag, or a block with one
	// of ours is gone. What landed there is sent again first, and a nonce never goes
	// down over it. Where none of ours stands above it, what was planned so far did
	// not land.
	standing, any, err := s.Store.HighestLanded(ctx, sender)
	if err != nil {
		return 0, nil, err
	}
	if any && standing >= account.Nonce {
		return 0, &stop{senders.Rested, s.Policy.InclusionInterval, &lifecycle.Error{
			Code: "NONCE_BEHIND", Message: fmt.Sprintf("the chain is at nonce %d, and one of ours landed with %d", account.Nonce, standing)}}, nil
	}
	return account.Nonce, nil, nil
}

// fee raises the one of the last attempt by the factor, up to the cap. An
// attempt that never got to the worker does not count, and a person's retry
// with nothing open begins anew.
func (s *Sequencer) fee(t *lifecycle.Transaction) uint64 {
	last := t.Last()
	switch {
	case last == nil, t.Retries == 0 && !t.Open():
		return s.Policy.Fee
	case last.Outcome == lifecycle.Prepared && last.Error != nil && last.Error.Code == codeUnreached:
		return last.Fee
	}
	return s.raise(last.Fee)
}

func (s *Sequencer) raise(fee uint64) uint64 {
	raised := math.Ceil(float64(fee) * s.Policy.FeeBump)
	if raised >= float64(s.Policy.FeeMax) {
		return s.Policy.FeeMax
	}
	return max(uint64(raised), fee+1)
}

func (s *Sequencer) validUntil(c mina.Chain) uint32 {
	slot := max(c.TipSlot, c.Slot)
	proving := uint32(0)
	if c.SlotTime > 0 {
		proving = uint32((s.Policy.DispatchTimeout + c.SlotTime - 1) / c.SlotTime)
	}
	return slot + s.Policy.ValidSlots + proving
}

// Memo marks our commands on the chain: 22 characters that name a transaction
// of a namespace and tell nothing else.
func Memo(namespace, uid string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + uid))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:22]
}

func (s *Sequencer) call(t *lifecycle.Transaction, a *lifecycle.Attempt) dispatcher.Call {
	c := dispatcher.Call{
		Txn: dispatcher.Txn{UID: t.UID, Type: t.Type, Data: t.Data, Queue: t.Queue, Retries: t.Retries},
		Attempt: dispatcher.Attempt{
			Number: a.Number, Nonce: a.Nonce, Fee: a.Fee, ValidUntil: a.ValidUntil, Memo: Memo(s.Namespace, t.UID),
		},
	}
	for _, p := range t.Attempts[:a.Number-1] {
		c.Attempt.Previous = append(c.Attempt.Previous, dispatcher.Previous{
			Number: p.Number, Hash: p.KnownHash(), Nonce: p.Nonce, Fee: p.Fee})
	}
	return c
}

// slot is the current one by the clock: nobody may have asked the chain while
// a proof was made.
func (s *Sequencer) slot() uint32 {
	c := s.Chain.Chain()
	if c.SlotTime <= 0 {
		return c.Slot
	}
	return c.Slot + uint32(time.Since(c.At)/c.SlotTime)
}
