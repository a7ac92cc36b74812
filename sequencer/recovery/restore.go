package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// writeBack stores again what this process knows to be out and Redis has forgotten. What
// Redis knows is never overwritten by something older. Calling it again is harmless. It
// reports whether anything is missing, of what this process has stored, accepted or shown last.
func (r *Recovery) writeBack(ctx context.Context, server string) (missing bool, err error) {
	if missing, err = r.store.Misses(ctx, server); err != nil {
		return false, err
	}
	var waits error
	for _, m := range r.all() {
		t, err := r.Store.Get(ctx, m.last.UID)
		switch {
		case errors.Is(err, queues.ErrNotFound):
			missing = missing || m.out == nil && !m.last.Phase.Final() // else place tells, or it was removed in order
		case errors.Is(err, queues.ErrDamaged): // place passes over it
		case err != nil:
			return false, err
		default:
			missing = missing || t.Revision < m.last.Revision
		}
		if m.out == nil {
			continue
		}
		posted := m.out
		if !lifecycle.Reposts(posted) {
			posted = nil
		}
		lacked, err := r.place(ctx, m.out.UID, posted, lifecycle.KnownOf(r.Process, m.out, m.bytes))
		switch {
		case errors.Is(err, errTaken): // what is known of the other may end it
			waits = fmt.Errorf("writing back %s: %w", m.out.UID, err)
		case err != nil:
			return false, fmt.Errorf("writing back %s: %w", m.out.UID, err)
		}
		missing = missing || lacked
	}
	if waits != nil {
		return false, waits
	}
	if missing {
		return true, r.store.Missed(ctx, server)
	}
	return false, nil
}

// errTaken: the sender or the queue of what was forgotten is taken by another one, which
// has something out itself, and was there first. Its end is waited for.
var errTaken = errors.New("waits for its place, where another one is not over yet")

// place stores what is known of a transaction, and reports whether it lacked anything.
// posted is it as it was accepted, nil if nobody knows. What cannot be read stays as it is:
// nothing of it is made again. Errors: errTaken, ErrStale (it has changed again and again),
// ErrDamaged (another one is in its place, and cannot be read), ErrUnavailable.
func (r *Recovery) place(ctx context.Context, uid string, posted *tx.Transaction,
	known lifecycle.Known) (lacked bool, err error) {
	for range 7 { // that it was posted, its queue and its sender may each be in the way
		before, err := r.Store.Get(ctx, uid)
		switch {
		case errors.Is(err, queues.ErrNotFound) && posted != nil:
			err := r.store.Repost(ctx, posted)
			if errors.Is(err, queues.ErrNotFound) { // a person has removed it
				r.removed(uid)
				return lacked, nil
			}
			if err != nil {
				return lacked, err
			}
			lacked = true
			continue
		case errors.Is(err, queues.ErrNotFound), errors.Is(err, queues.ErrDamaged): // that one is set aside
			return lacked, nil
		case err != nil:
			return lacked, err
		}
		after, bytes := lifecycle.Restored(before, known, r.Now())
		if after == nil {
			return lacked, nil
		}
		if !lacked {
			lacked = true
			r.Log.Warn("Redis had forgotten what is out", "txn", uid, "queue", before.Queue, "sender", after.Sender,
				"type", before.Type, "attempt", len(before.Attempts), "hash", after.Hash(), "state", before.State())
		}
		if lifecycle.RestoresInPlace(before, after) {
			err = r.restore(ctx, before, after, bytes)
		} else {
			err = r.store.Adopt(ctx, r.Process, before, after, bytes)
			if taken, is := errors.AsType[*queues.TakenError](err); is {
				err = r.makeRoom(ctx, taken.By, before, after, known, bytes)
			}
		}
		if err != nil && !errors.Is(err, queues.ErrStale) && !errors.Is(err, queues.ErrNotFound) {
			return lacked, err
		}
	}
	return lacked, fmt.Errorf("%s: %w", uid, queues.ErrStale)
}

// makeRoom has what is in the place of another one go back to its queue; or that one does
// without a place.
func (r *Recovery) makeRoom(ctx context.Context, uid string, before, after *tx.Transaction,
	known lifecycle.Known, bytes *lifecycle.BytesRead) error {
	other, err := r.Store.Get(ctx, uid)
	if err != nil {
		return err
	}
	if back := lifecycle.MakesRoom(other, r.Now()); back != nil {
		return r.restore(ctx, other, back, nil)
	}
	if kept := lifecycle.Kept(before, after, r.Now()); kept != nil {
		return r.restore(ctx, before, kept, nil)
	}
	if done := lifecycle.DoneBefore(after, other, known, r.Now()); done != nil {
		return r.restore(ctx, before, done, bytes)
	}
	running, err := r.running(ctx, other.Queue)
	for _, t := range running { // the one that is waited for waits for none of these
		if back := lifecycle.MakesRoom(t, r.Now()); back != nil && err == nil {
			err = r.restore(ctx, t, back, nil)
		}
	}
	return cmp.Or(err, fmt.Errorf("%s: %w", uid, errTaken))
}

// restore stores a record without a claim to it.
func (r *Recovery) restore(ctx context.Context, before, after *tx.Transaction,
	bytes *lifecycle.BytesRead) error {
	c := &queues.Change{Before: before, After: after, Now: r.Now()}
	c.Person, c.Code, c.Bytes, c.Least = true, tx.CodeRestored, bytes, lifecycle.Least(before, after)
	c.Remove, c.Keep, c.Process = queues.Never, after.Watched(), r.Process
	if a := before.Standing(); a != nil && after.Landed != before.Landed {
		c.Falls = a.Sender
	}
	if a := after.Standing(); a != nil {
		c.Stands, c.Nonce = a.Sender, a.Nonce
	}
	_, err := r.Store.Advance(ctx, c)
	return err
}
