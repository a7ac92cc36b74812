package queues

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
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
const Never time.Duration = -1

// A Change is one step of a transaction, decided on the transaction as it was
// read. Build it with NewChange; nothing is stored before Advance.
type Change struct {
	txn *Transaction
	To  Phase
	// Via is a phase that the transaction passes on its way to To, "" for none: the
	// log tells of both steps.
	Via Phase
	// Due is when the new phase ends by the clock, from now on; Never otherwise.
	Due time.Duration
	// Keep holds on to the claim although the new phase is final, because the
	// chain is still watched.
	Keep bool
	// Person: the change is made for a person, who holds no claim.
	Person bool
	Code   string // of the event
	// Tell is the callback to be told, Hold how long the queue waits for its
	// answer, Lease how long this process has before others tell it too.
	Tell        Callback
	Hold, Lease time.Duration
	// Rest keeps the sender from new work for so long, Never until a person
	// resumes it; 0 does not rest it. Reason says why.
	Rest   time.Duration
	Reason string
	// Detail is the reason in words. A rest with a Giver does not end, and is not
	// ended by, one that another gives for the same reason.
	Detail, Giver string
	// Limits refuses the change with a *FeeLimitError if it costs more than they
	// leave of the day.
	Limits FeeLimits
	// Confirm: what is written allows something to leave the process. It is
	// refused while the namespace is not settled, and waits for the replicas that
	// Options asks for.
	Confirm bool
	// InOrder refuses the change with ErrOvertaken if an earlier transaction of the
	// queue has been reopened and waits again since this one was bound.
	InOrder bool
	// Remove is when the record is removed; Never keeps it.
	Remove time.Duration

	attempt int
	told    []told
	ended   bool   // the result is stored
	signed  []byte // packed; empty if they are dropped, nil if they stay
	words   []word
}

// told are the facts of an attempt that a change stores.
type told struct {
	number int
	facts
}

// NewChange begins a change of t to a phase, which may be the one it is in.
func NewChange(t *Transaction, to Phase) *Change {
	return &Change{txn: t, To: to, Due: Never, Remove: Never}
}

// set notes a field whose value changes; one that stays costs nothing. Where a
// field is set twice, the last value holds.
func set[T comparable](c *Change, name string, now *T, to T, text string) {
	if *now != to {
		*now = to
		c.store(name, text)
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

// Each setter names one field of the transaction.

func (c *Change) SetRetries(n int)      { set(c, "retries", &c.txn.Retries, n, count(n)) }
func (c *Change) SetLosses(n int)       { set(c, "losses", &c.txn.Losses, n, count(n)) }
func (c *Change) SetEnding(p Phase)     { set(c, "ending", &c.txn.Ending, p, string(p)) }
func (c *Change) SetLanded(n int)       { set(c, "landed", &c.txn.Landed, n, count(n)) }
func (c *Change) SetCancelled(on bool)  { set(c, "cancel", &c.txn.CancelRequested, on, flag(on)) }
func (c *Change) SetUncounted(on bool)  { set(c, "uncounted", &c.txn.Uncounted, on, flag(on)) }
func (c *Change) SetReopened(on bool)   { set(c, "reopened", &c.txn.Reopened, on, flag(on)) }
func (c *Change) MarkSubmitted()        { c.mark("submitted") }
func (c *Change) MarkRetried()          { c.mark("retried") }
func (c *Change) MarkEnded()            { c.mark("ended") }
func (c *Change) MarkFinal()            { c.mark("final") }
func (c *Change) SetNextNonce(n uint32) { c.put(ofSender, "next", strconv.FormatUint(uint64(n), 10)) }

// RaiseNextNonce notes that the sender's next nonce is n at least: a transaction
// found again after a failover may be settled after others with higher nonces.
func (c *Change) RaiseNextNonce(n uint32) { c.raise(c.txn.Sender, n) }

func (c *Change) raise(account string, n uint32) {
	c.put(leastNonce, account, strconv.FormatUint(uint64(n), 10))
}

// ClearEnd takes back that the transaction had ended.
func (c *Change) ClearEnd() {
	if a := c.txn.Attempt(c.txn.Landed); a != nil {
		c.ClearStanding(a.Sender)
	}
	c.SetLanded(0)
	c.SetEnding("")
	c.SetCancelled(false)
	c.SetError(nil)
	for _, f := range []string{"ended", "final", "done"} {
		c.store(f, "")
	}
}

// SetError stores what went wrong; nil clears it.
func (c *Change) SetError(e *Error) {
	if e == nil {
		if c.txn.Error != nil {
			c.txn.Error = nil
			c.store("err", "")
		}
		return
	}
	c.txn.Error = e
	c.store("err", encodeError(e))
}

// SetDone stores {"blockHeight", "stateHash"} or the worker's own word.
func (c *Change) SetDone(done json.RawMessage) { c.txn.Done, c.ended = done, true }

// DropSigned forgets the signed bytes.
func (c *Change) DropSigned() { c.setSigned([]byte{}) }

func (c *Change) setSigned(packed []byte) {
	c.signed = packed
	c.put(signedBytes, "", string(packed))
}

// SetSigned keeps the signed bytes of an attempt, instead of those of an
// earlier one.
func (c *Change) SetSigned(number int, command []byte) {
	c.setSigned(pack(number, command))
}

// SetAttempt stores what is known of an attempt now. Its plan and the facts
// about it are written once and kept, those that are stored not again; its fate
// follows a.
func (c *Change) SetAttempt(a *Attempt) {
	c.attempt = a.Number
	c.told = append(c.told, told{a.Number, factsOf(a)})
	kept, planned := facts{}, a.Number <= len(c.txn.kept)
	if planned {
		kept = c.txn.kept[a.Number-1]
	}
	fact := func(name, value, kept string) {
		if value != "" && value != kept {
			c.put(factOf, field(a.Number, name), value)
		}
	}
	if a.Outcome == Prepared && !a.Legacy && !planned {
		fact("by", a.Sender, "")
		fact("plan", planOf(a), "")
	}
	fact("hash", a.Hash, kept.hash)
	fact("nhash", a.NodeHash, kept.nodeHash)
	fact("data", string(a.Data), kept.data)
	c.put(ofTransaction, field(a.Number, "fate"), fateOf(a))
	if a.StateHash != "" {
		c.put(ofTransaction, field(a.Number, "block"), fmt.Sprintf("%d %s", a.Height, a.StateHash))
	}
	if a.Error != nil {
		c.put(ofTransaction, field(a.Number, "err"), encodeError(a.Error))
	}
}

// SetFound stores an attempt that was not planned here: what of it is known
// already is kept.
func (c *Change) SetFound(a *Attempt) {
	c.attempt = a.Number
	c.told = append(c.told, told{a.Number, factsOf(a)})
	for _, w := range attemptWords(a) {
		c.put(w.part, w.field, w.value)
	}
}

// encodeError bounds what a worker or a node can make us store.
func encodeError(e *Error) string {
	const most = 4096
	short := *e
	for _, s := range []*string{&short.Code, &short.Message, &short.Exception} {
		*s = shorten(*s, most)
	}
	b, _ := json.Marshal(short) // three strings: cannot fail
	return string(b)
}

// mostDetail bounds what a worker can make a sender say of itself, in bytes.
const mostDetail = 300

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Advance stores a change. On success t, the transaction that the change was
// built on, has the new phase and revision.
// Errors: ErrStale, ErrFenced, ErrUnsettled, ErrOvertaken, *FeeLimitError,
// ErrNotFound, ErrUnavailable, ErrFull, ErrUnconfirmed. After an error t must be read again.
func (s *Store) Advance(ctx context.Context, c *Change) error {
	t := c.txn
	if !c.Person {
		if err := s.forgotten(ctx, t); err != nil {
			return err
		}
	}
	args := s.arguments(c)
	run := s.Run
	if c.Confirm {
		run = s.runConfirmed
	}
	v, err := run(ctx, advanceScript, args...)
	if err != nil {
		return err
	}
	r := reply{name: "advance"}
	l := r.list(v)
	switch verdict := r.string(r.at(l, 0)); verdict {
	case "ok":
	case "stale":
		return fmt.Errorf("%s: %w", t.UID, ErrStale)
	case "unsettled":
		return fmt.Errorf("%s: %w", t.UID, ErrUnsettled)
	case "fenced":
		s.memory.leave(t.UID)
		return fmt.Errorf("%s: %w", t.UID, ErrFenced)
	case "overtaken":
		return fmt.Errorf("%s: %w", t.UID, ErrOvertaken)
	case "costly":
		spent, left := r.int(r.at(l, 3)), r.int(r.at(l, 4))
		return cmp.Or[error](r.err, &FeeLimitError{
			All: r.string(r.at(l, 2)) == "all", Spent: uint64(spent), Left: time.Duration(left) * time.Millisecond,
		})
	case "gone":
		return fmt.Errorf("transaction %s: %w", t.UID, ErrNotFound)
	case "error":
		return fmt.Errorf("advance %s: %s", t.UID, r.string(r.at(l, 1)))
	default:
		r.fail("a verdict", verdict)
	}
	now := fromMillis(r.int(r.at(l, 3)))
	t.Revision = r.int(r.at(l, 1))
	if t.Phase != c.To {
		t.ChangedAt = now
	}
	t.Phase, t.Counted = c.To, t.Cost()
	for _, of := range c.told {
		t.keep(of.number, of.facts)
	}
	t.DueAt = time.Time{}
	if c.Due >= 0 {
		t.DueAt = now.Add(c.Due)
	}
	if !c.To.Bound() && !c.Keep {
		t.Claim = ""
	}
	if c.Tell != "" {
		t.Callback, t.CallbackTries = c.Tell, 0
	}
	s.memory.keep(t, c.signed)
	s.signal(r.int(r.at(l, 2)))
	return r.err
}

// arguments are what advance.lua reads of a change.
func (s *Store) arguments(c *Change) []any {
	t := c.txn
	open := 0
	for i := range t.Attempts {
		if t.Attempts[i].Open() {
			open++
		}
	}
	c.store("open", strconv.Itoa(open))
	if c.ended {
		c.store("done", doneOf(t))
	}
	claim := t.Claim
	if c.Person {
		claim = "*"
	}
	attempt := ""
	if c.attempt > 0 {
		attempt = strconv.Itoa(c.attempt)
	}
	if c.Tell != "" {
		c.store("callback", string(c.Tell))
		c.store("tries", "0")
	}
	if c.Confirm {
		c.put(onlySettled, "1", "")
	}
	if c.Via != "" {
		c.put(passing, "", string(c.Via))
	}
	args := c.appendParts([]any{
		t.UID, t.Revision, claim, rand.Text()[:13], string(c.To), inMillis(c.Due), c.Code, attempt,
	})
	if c.To == PhaseUnresolved && s.UnresolvedLimit > 0 {
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

// SetStanding notes with which nonce of an account the transaction stands on the
// chain, as long as it can be orphaned.
func (c *Change) SetStanding(account string, nonce uint32) {
	c.put(standing, account, strconv.FormatUint(uint64(nonce), 10))
}

// ClearStanding takes that back.
func (c *Change) ClearStanding(account string) { c.put(standing, account, "") }

// ForgetNonce has the chain asked for the sender's next nonce.
func (c *Change) ForgetNonce() { c.put(ofSender, "next", "") }
