package queues

import (
	"context"
	"fmt"
	"slices"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// After a restart or a failover Redis may have forgotten its last writes. Its history
// has another name then, and the scripts refuse to bind and to confirm what may leave a process
// until somebody settles the namespace on it. What is done until then is the business of
// package recovery, which alone uses what this file offers.

// Stage is how far the namespace is on the Redis that answers. Package recovery reads it;
// all others pass it on.
type Stage struct {
	// Server names the history of the Redis: another one after a restart or failover.
	Server string
	// Settled: the namespace was reconciled on this Redis. Until it is, nothing is
	// bound and [Store.Advance] confirms nothing.
	Settled bool
	// Turn: all others have written back, and this process is to reconcile and settle.
	Turn bool
}

// Recovery is the store as package recovery uses it.
type Recovery struct{ store *Store }

// Recovery is the store as package recovery uses it.
func (s *Store) Recovery() Recovery { return Recovery{s} }

// Settle ends a recovery on the Redis named. It reports false if the turn has
// passed on, or Redis changed once more. Error: ErrUnavailable.
func (r Recovery) Settle(ctx context.Context, process, server string) (bool, error) {
	v, err := r.store.Run(ctx, settleScript, process, server)
	if err != nil {
		return false, err
	}
	a := reply{name: "settle"}
	return a.int(v) == 1, a.err
}

// Yield passes the turn on: the process that has it cannot compare the senders with the chain
// now, and is given it again when another one that lives has had it. Error: ErrUnavailable.
func (r Recovery) Yield(ctx context.Context, process string) error {
	_, err := r.store.Run(ctx, yieldScript, process)
	return err
}

// Misses looks, on the Redis named, for what this process has accepted and shown since it was
// last sure of its Redis. What is written in one order is forgotten in the other: if all of
// that is there, so is all before. Error: ErrUnavailable.
func (r Recovery) Misses(ctx context.Context, server string) (bool, error) {
	s := r.store
	all, whole := s.marks.all()
	if !whole {
		return true, nil
	}
	for part := range slices.Chunk(all, MaxBatch) {
		if missing, err := s.misses(ctx, part); err != nil || missing {
			return missing, err
		}
	}
	s.marks.found(server)
	return false, nil
}

// Missed notes that the Redis named has forgotten something: the event log tells another
// story from here on, under another epoch. Error: ErrUnavailable.
func (r Recovery) Missed(ctx context.Context, server string) error {
	_, err := r.store.Run(ctx, missScript, server)
	if err == nil {
		r.store.marks.restart(server)
	}
	return err
}

// Repost gives back a transaction that Redis has forgotten to have accepted: t is it as it
// was. It waits, and the namespace is settled no longer. Errors: ErrNotFound (it was removed
// in order, and that is not forgotten), ErrUnavailable.
func (r Recovery) Repost(ctx context.Context, t *tx.Transaction) error {
	v, err := r.store.Run(ctx, repostScript, t.UID, kindOf(t.Type, t.Ledger), t.Queue, t.Sequence,
		millis(t.ReceivedAt), string(t.Data), postedWith(&t.Terms, t.BatchID, t.Trace, t.PostedBy))
	if err == nil && v == "gone" {
		return fmt.Errorf("transaction %s was removed: %w", t.UID, ErrNotFound)
	}
	return err
}

// TakenError: the sender, or the queue, of a transaction carries another one.
type TakenError struct {
	By string // uid of that one
}

func (e *TakenError) Error() string { return "its place is taken by transaction " + e.By }

// Adopt binds a transaction to the sender of its first open attempt, for process to go on
// with, and stores it as after has it; before is as it was read, final or not. Where its place is
// taken nothing is stored, and the namespace is settled no longer. Errors: *TakenError, ErrStale
// (it has changed, is bound to that sender, or is not there), ErrUnavailable.
func (r Recovery) Adopt(ctx context.Context, process string, before, after *tx.Transaction,
	bytes *lifecycle.BytesRead) error {
	open := 0
	for i := range after.Attempts {
		if after.Attempts[i].Open() {
			open++
		}
	}
	var signed []byte
	if bytes != nil {
		signed = pack(bytes.Number, bytes.Command)
	}
	first := after.FirstOpen()
	stood := "" // whose nonce it stood on
	if a := before.Standing(); a != nil {
		stood = a.Sender
	}
	args := []any{before.UID, first.Sender, process, open, signed, before.Revision, encodeRecord(after), first.Nonce,
		stood, string(lifecycle.AdoptedAs(after))}
	for account, least := range lifecycle.Least(before, after) {
		args = append(args, account, least)
	}
	v, err := r.store.Run(ctx, adoptScript, args...)
	r.store.Plan(0)
	if err != nil {
		return err
	}
	a := reply{name: "adopt"}
	l := a.list(v)
	switch verdict := a.string(a.at(l, 0)); {
	case a.err != nil:
	case verdict == "ok":
		r.store.signal(1) // whoever it was taken from may be free
	case verdict == "taken":
		return &TakenError{By: a.string(a.at(l, 1))}
	case verdict == "stale":
		return fmt.Errorf("%s: %w", before.UID, ErrStale)
	default:
		a.fail("a verdict", verdict)
	}
	return a.err
}

// Regain makes those of a process's claims due at once that it does not drive.
// Error: ErrUnavailable.
func (r Recovery) Regain(ctx context.Context, process string, drives func(uid string) bool) error {
	own := r.store.key("own:" + process)
	for cursor := uint64(0); ; {
		pairs, next, err := r.store.client.ZScan(ctx, own, cursor, "", 500).Result()
		if err != nil {
			return storeError("reading claims", err)
		}
		due := []any{process}
		for i := 0; i < len(pairs); i += 2 {
			if !drives(pairs[i]) {
				due = append(due, pairs[i])
			}
		}
		if len(due) > 1 {
			_, err := r.store.Run(ctx, regainScript, due...)
			r.store.Plan(0)
			if err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// candidateDepth is how far into a queue a forgotten dispatch is looked for. Each
// block time brings a queue one further.
const candidateDepth = 64

// Candidates hands over the uids of transactions of which attempts may have been
// forgotten: those that run, those that landed and may be orphaned, those that ended badly,
// and last, for there may be many, the first of each queue. What ran and lands meanwhile is among the
// second. It stops when see wants no more. Error: ErrUnavailable.
func (r Recovery) Candidates(ctx context.Context, see func(uids []string) (more bool)) error {
	s := r.store
	bound, err := s.client.ZRange(ctx, s.key("bound"), 0, -1).Result()
	if err != nil {
		return storeError("reading what runs", err)
	}
	if !see(bound) {
		return nil
	}
	senders, err := s.client.ZRange(ctx, s.key("senders"), 0, -1).Result()
	if err != nil {
		return storeError("reading the senders", err)
	}
	for _, sender := range senders {
		uids, err := s.client.ZRange(ctx, s.key("landed:"+sender), 0, -1).Result()
		if err != nil {
			return storeError("reading what may be orphaned", err)
		}
		if !see(uids) {
			return nil
		}
	}
	for _, state := range []tx.State{tx.Failed, tx.Unresolved} {
		uids, err := s.client.ZRevRange(ctx, s.key("st:"+string(state)), 0, 9999).Result()
		if err != nil {
			return storeError("reading what ended", err)
		}
		if !see(uids) {
			return nil
		}
	}
	for cursor := ""; ; {
		names, next, err := s.queueNames(ctx, "queues", "", nil, 100, cursor)
		if err != nil {
			return err
		}
		for _, name := range names {
			uids, err := s.heads(ctx, name)
			if err != nil {
				return err
			}
			if !see(uids) {
				return nil
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// heads returns the first of a queue that wait: those that came back to it, and those that
// never left its line, in which those that were cancelled or removed may stand before them.
func (s *Store) heads(ctx context.Context, queue string) ([]string, error) {
	uids, err := s.client.ZRange(ctx, s.key("back:"+queue), 0, candidateDepth-1).Result()
	if err != nil {
		return nil, storeError("reading a queue", err)
	}
	for after := int64(0); len(uids) < candidateDepth; {
		entries, last, looked, err := s.walkLine(ctx, "line:"+queue, after, MaxBatch, waiting, false)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			uids = append(uids, e.uid)
		}
		if after = last; looked == 0 {
			break
		}
	}
	return uids[:min(len(uids), candidateDepth)], nil
}
