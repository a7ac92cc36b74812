package queues

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
)

var (
	// ErrStale: the transaction has changed since it was read. Read it again
	// and decide anew.
	ErrStale = errors.New("the transaction has changed meanwhile")
	// ErrFenced: the claim is no longer this process's. Drop the transaction.
	ErrFenced = errors.New("the claim has passed to another process")
	// ErrUnsettled: Redis is another one than before and may have forgotten the
	// last writes. Nothing was stored; nothing may leave before it is reconciled.
	ErrUnsettled = errors.New("the store is not reconciled after a restart or failover of Redis")
	// ErrOvertaken: an earlier transaction of the queue was reopened and waits
	// again: this one has to go back behind it.
	ErrOvertaken = errors.New("an earlier transaction of its queue waits again")
)

// Never is the due time of a phase that no clock ends.
const Never = lifecycle.Never

// A Change is one step of a transaction, from the record as it was read to the record
// as it is to be stored.
type Change struct {
	Before, After *lifecycle.Transaction
	lifecycle.Aside
	lifecycle.Moves
	// Now is the time that After was made for: what it has due is so far from now.
	Now time.Time
	// Wait is how long the queue waits for the answer of a callback that became due,
	// Lease how long this process has before others tell it too.
	Wait, Lease time.Duration
	// Limits refuses the change with a *FeeLimitError if it costs more than they
	// leave of the day.
	Limits FeeLimits

	revision int64  // the least that it gets
	packed   []byte // signed, instead of Aside.Bytes
}

// diff collects what a change writes.
type diff struct {
	*Change
	words []word
}

func (d *diff) put(p part, field, value string) { d.words = append(d.words, word{p, field, value}) }

// store notes a field of the transaction; an empty value removes it.
func (d *diff) store(field, value string) {
	if value == "" {
		d.put(removed, field, "")
		return
	}
	d.put(ofTransaction, field, value)
}

// set notes a field of the transaction whose text has changed.
func (d *diff) set(field, before, after string) {
	if before != after {
		d.store(field, after)
	}
}

// stamp has the time of Redis stored where there was none.
func (d *diff) stamp(field string, before, after time.Time) {
	switch {
	case before.IsZero() && !after.IsZero():
		d.put(stamped, field, "")
	case !before.IsZero() && after.IsZero():
		d.store(field, "")
	}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// record notes how the transaction has changed.
func (d *diff) record() {
	b, a := d.Before, d.After
	d.set("retries", count(b.Retries), count(a.Retries))
	d.set("losses", count(b.Losses), count(a.Losses))
	d.set("deferred", count(b.Deferred), count(a.Deferred))
	d.set("ending", string(b.Ending), string(a.Ending))
	d.set("landed", count(b.Landed), count(a.Landed))
	d.set("cancel", flag(b.CancelRequested), flag(a.CancelRequested))
	d.set("reopened", flag(b.Reopened), flag(a.Reopened))
	d.set("err", encodeError(b.Error), encodeError(a.Error))
	d.set("done", doneOf(b), doneOf(a))
	d.stamp("submitted", b.SubmittedAt, a.SubmittedAt)
	d.stamp("retried", b.RetriedAt, a.RetriedAt)
	d.stamp("ended", b.DoneAt, a.DoneAt)
	d.stamp("final", b.FinalAt, a.FinalAt)
	if a.RetriedAt.After(b.RetriedAt) && !b.RetriedAt.IsZero() {
		d.put(stamped, "retried", "")
	}
	open := 0
	for i := range a.Attempts {
		if a.Attempts[i].Open() {
			open++
		}
		if i < len(b.Attempts) {
			d.attempt(&b.Attempts[i], &a.Attempts[i])
		} else {
			d.attempt(nil, &a.Attempts[i])
		}
	}
	for i := len(a.Attempts); i < len(b.Attempts); i++ {
		for _, name := range []string{"by", "plan", "fate", "block", "err", "hash", "nhash", "data"} {
			d.store(field(i+1, name), "")
		}
	}
	d.store("open", strconv.Itoa(open))
	if d.Tell != "" {
		d.store("callback", string(d.Tell))
		d.store("tries", "0")
	}
}

// attempt notes how one has changed; b is nil for a new one. Its plan and the facts
// about it are written once and kept.
func (d *diff) attempt(b, a *lifecycle.Attempt) {
	if b == nil {
		b = new(lifecycle.Attempt)
		d.put(factOf, field(a.Number, "by"), a.Sender)
		d.put(factOf, field(a.Number, "plan"), planOf(a))
	}
	known := factsOf(b)
	for name, value := range factsOf(a).all() {
		if value != "" && value != known.all()[name] {
			d.put(factOf, field(a.Number, name), value)
		}
	}
	if fate := fateOf(a); b.Number == 0 || fate != fateOf(b) {
		d.put(ofTransaction, field(a.Number, "fate"), fate)
	}
	d.set(field(a.Number, "block"), blockWords(b), blockWords(a))
	d.set(field(a.Number, "err"), encodeError(b.Error), encodeError(a.Error))
}

func blockWords(a *lifecycle.Attempt) string {
	if a.StateHash == "" {
		return ""
	}
	return fmt.Sprintf("%d %s", a.Height, a.StateHash)
}

// beside notes what of senders and bytes goes along.
func (d *diff) beside() {
	switch {
	case d.ForgetNonce:
		d.put(ofSender, "next", "")
	case d.NextNonce != nil:
		d.put(ofSender, "next", strconv.FormatUint(uint64(*d.NextNonce), 10))
	}
	for account, n := range d.Least {
		d.put(leastNonce, account, strconv.FormatUint(uint64(n), 10))
	}
	if d.Falls != "" {
		d.put(standing, d.Falls, "")
	} else if d.Stands != "" {
		d.put(standing, d.Stands, strconv.FormatUint(uint64(d.Nonce), 10))
	}
	switch {
	case d.packed != nil:
	case d.Bytes != nil:
		d.packed = pack(d.Bytes.Number, d.Bytes.Command)
	case d.DropBytes:
		d.packed = []byte{}
	}
	if d.packed != nil {
		d.put(signedBytes, "", string(d.packed))
	}
	if d.revision > 0 {
		d.put(leastRevision, "", strconv.FormatInt(d.revision, 10))
	}
	if d.Confirm {
		d.put(onlySettled, "1", "")
	}
}

// encodeError bounds what a worker or a node can make us store; "" for none.
func encodeError(e *lifecycle.Error) string {
	if e == nil {
		return ""
	}
	b, _ := json.Marshal(bounded(e)) // three strings: cannot fail
	return string(b)
}

func bounded(e *lifecycle.Error) *lifecycle.Error {
	const most = 4096
	if e == nil || max(len(e.Code), len(e.Message), len(e.Exception)) <= most {
		return e
	}
	return &lifecycle.Error{Code: shorten(e.Code, most), Message: shorten(e.Message, most), Exception: shorten(e.Exception, most)}
}

// mostDetail bounds what a worker can make a sender say of itself, in bytes.
const mostDetail = 300

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Advance stores a change, and returns the record as it is stored. Errors: ErrStale,
// ErrFenced, ErrUnsettled, ErrOvertaken, *FeeLimitError, ErrNotFound, ErrUnavailable,
// ErrFull. With ErrUnconfirmed it is stored, and returned.
func (s *Store) Advance(ctx context.Context, c *Change) (*lifecycle.Transaction, error) {
	t := c.Before
	if !c.Person {
		if err := s.forgotten(ctx, t); err != nil {
			return nil, err
		}
	}
	args := s.arguments(c)
	run := s.Run
	if c.Confirm {
		run = s.runConfirmed
	}
	v, err := run(ctx, advanceScript, args...)
	if err != nil && !errors.Is(err, ErrUnconfirmed) {
		return nil, err
	}
	r := reply{name: "advance"}
	l := r.list(v)
	switch verdict := r.string(r.at(l, 0)); verdict {
	case "ok":
	case "stale":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrStale)
	case "unsettled":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrUnsettled)
	case "fenced":
		s.memory.leave(t.UID)
		return nil, fmt.Errorf("%s: %w", t.UID, ErrFenced)
	case "overtaken":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrOvertaken)
	case "costly":
		spent, left := r.int(r.at(l, 3)), r.int(r.at(l, 4))
		return nil, cmp.Or[error](r.err, &FeeLimitError{
			All: r.string(r.at(l, 2)) == "all", Spent: uint64(spent), Left: time.Duration(left) * time.Millisecond,
		})
	case "gone":
		return nil, fmt.Errorf("transaction %s: %w", t.UID, ErrNotFound)
	case "error":
		return nil, fmt.Errorf("advance %s: %s", t.UID, r.string(r.at(l, 1)))
	default:
		r.fail("a verdict", verdict)
	}
	if r.err != nil {
		return nil, r.err
	}
	stored := c.stored(r.int(r.at(l, 1)), fromMillis(r.int(r.at(l, 3))))
	s.memory.keep(stored, c.packed)
	s.signal(r.int(r.at(l, 2)))
	return stored, err
}

// stored is the record as Redis has it now.
func (c *Change) stored(revision int64, now time.Time) *lifecycle.Transaction {
	t := *c.After
	t.Revision, t.Counted, t.DueAt = revision, t.Cost(), time.Time{}
	t.Error, t.Attempts = bounded(t.Error), slices.Clone(t.Attempts)
	for i := range t.Attempts {
		t.Attempts[i].Error = bounded(t.Attempts[i].Error)
	}
	b := c.Before
	t.ChangedAt = b.ChangedAt
	if t.Phase != b.Phase {
		t.ChangedAt = now
	}
	for _, stamp := range []struct {
		at     *time.Time
		before time.Time
	}{{&t.SubmittedAt, b.SubmittedAt}, {&t.RetriedAt, b.RetriedAt}, {&t.DoneAt, b.DoneAt}, {&t.FinalAt, b.FinalAt}} {
		switch {
		case stamp.at.IsZero():
		case stamp.before.IsZero(), stamp.at == &t.RetriedAt && stamp.at.After(stamp.before):
			*stamp.at = now
		default:
			*stamp.at = stamp.before
		}
	}
	if due := c.due(); due >= 0 {
		t.DueAt = now.Add(due)
	}
	if !t.Phase.Bound() && !c.Keep {
		t.Claim = ""
	}
	return &t
}

// due is when the phase ends by the clock, from now on; Never otherwise.
func (c *Change) due() time.Duration {
	if c.After.DueAt.IsZero() {
		return Never
	}
	return max(0, c.After.DueAt.Sub(c.Now))
}

// arguments are what advance.lua reads of a change.
func (s *Store) arguments(c *Change) []any {
	d := diff{Change: c}
	d.record()
	d.beside()
	claim := c.Before.Claim
	if c.Person {
		claim = "*"
	}
	args := d.appendParts([]any{
		c.Before.UID, c.Before.Revision, claim, rand.Text()[:13], string(c.After.Phase), inMillis(c.due()), c.Code, count(c.Attempt),
	})
	if c.After.Phase == lifecycle.PhaseUnresolved && s.UnresolvedLimit > 0 {
		args = append(args, string(unresolved), 1, s.UnresolvedLimit)
	}
	return args
}

func inMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}
