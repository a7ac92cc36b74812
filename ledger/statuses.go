package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// maxInvalid and maxExtended limit what is kept of a batch that was refused:
	// its transactions, and the bytes of each one's extended data.
	maxInvalid  = 16
	maxExtended = 8 << 10
	// maxSplits is how many further questions one call of Statuses may take to get
	// around answers that are too long. Halving 2,000 ids down to one takes 22.
	maxSplits = 64
	// maxLost is how many timeouts the questions of one call that fail may take
	// together.
	maxLost = 4
)

// Statuses implements Ledger.
func (c *client) Statuses(ctx context.Context, ids []string) (map[string]Status, error) {
	found := make(map[string]Status, len(ids))
	var wrong error
	asked := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool {
		if isID(id) {
			return false
		}
		wrong = also(wrong, fmt.Errorf("asking for statuses: %.140q is no batch id of 128 lower-case hex digits", id))
		return true
	})
	parts := slices.Collect(slices.Chunk(asked, c.dialect.most()))
	splits := 0
	var lost time.Duration
	for len(parts) > 0 && lost < maxLost*c.timeout {
		part := parts[0]
		parts = parts[1:]
		began := time.Now()
		body, err := c.ask(ctx, part)
		if errors.Is(err, errTooLong) && len(part) > 1 && splits < maxSplits {
			parts = append(parts, part[:len(part)/2], part[len(part)/2:])
			splits += 2
			continue
		}
		if err != nil {
			wrong = also(fmt.Errorf("asking for %d statuses: %w", len(part), err), wrong)
			if ctx.Err() != nil || ofAll(err) {
				break
			}
			lost += time.Since(began) // it may be for these ids only
			continue
		}
		if err := c.learn(found, part, body); err != nil {
			wrong = also(wrong, fmt.Errorf("reading %d statuses: %w", len(part), err))
		}
	}
	return found, wrong
}

// A busyError says that a ledger wants to be left alone.
type busyError string

func (e busyError) Error() string { return string(e) }

// ofAll reports whether other questions would fare no better than the one that failed.
func ofAll(err error) bool {
	_, held := errors.AsType[*HeldError](err)
	_, busy := errors.AsType[busyError](err)
	return held || busy || errors.Is(err, errNotWritten)
}

// ask returns the body of the answer to one question.
func (c *client) ask(ctx context.Context, ids []string) ([]byte, error) {
	r, err := c.do(ctx, c.dialect.question(ids))
	if r == nil {
		return nil, err
	}
	if r.status != http.StatusOK {
		switch a := c.verdict(*r, ""); a.Outcome {
		case Held:
			return nil, &HeldError{Why: a.Why, Message: a.Message}
		case NotProcessed:
			return nil, busyError(a.Message)
		default:
			return nil, errors.New(a.Message)
		}
	}
	return r.body, err
}

// learn adds to found what an answer says of the ids. An answer to another
// question is believed in nothing; an entry that makes no sense spoils no other.
func (c *client) learn(found map[string]Status, ids []string, body []byte) error {
	entries, err := c.dialect.statuses(body, len(ids))
	if err != nil {
		return err
	}
	given := make(map[string]entry, len(ids))
	for _, e := range entries {
		if _, twice := given[e.id]; twice {
			return fmt.Errorf("the ledger answered for %.140q twice", e.id)
		}
		if _, ours := slices.BinarySearch(ids, e.id); !ours {
			return fmt.Errorf("the ledger answered for %.140q, which was not asked", e.id)
		}
		given[e.id] = e
	}
	var wrong error
	for _, id := range ids {
		e, ok := given[id]
		switch {
		case !ok:
			wrong = also(wrong, fmt.Errorf("the ledger did not answer for %s", id))
		case e.err != nil:
			wrong = also(wrong, fmt.Errorf("batch %s: %w", id, e.err))
		default:
			found[id] = e.status
		}
	}
	return wrong
}

// also joins two errors in one line, and forgets the second of them where that
// would grow above 4 KiB.
func also(err, next error) error {
	switch {
	case err == nil:
		return next
	case next == nil || len(err.Error())+len(next.Error()) > 4*lineLimit:
		return err
	}
	return fmt.Errorf("%w; %w", err, next)
}

// cut bounds what is said of a transaction.
func (t InvalidTransaction) cut() InvalidTransaction {
	t.ID = clip(t.ID[:min(len(t.ID), 128)])
	t.Message = clip(t.Message)
	if len(t.ExtendedData) > maxExtended {
		t.ExtendedData = slices.Clone(t.ExtendedData[:maxExtended])
	}
	return t
}
