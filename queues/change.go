package queues

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
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
	// ErrFollowed: it would leave, and others of its queue are in flight behind it.
	ErrFollowed = errors.New("others of its queue are in flight behind it")
	// ErrOvertaken: an earlier transaction of the queue was reopened and waits
	// again: this one has to go back behind it.
	ErrOvertaken = errors.New("an earlier transaction of its queue waits again")
	// ErrUsed: the nonce that follows those ahead has been used.
	ErrUsed = errors.New("the next nonce of its sender is above the one that follows")
)

// Never is the due time of a phase that no clock ends.
const Never = lifecycle.Never

// A Change is one step of a transaction, from the record as it was read to the record
// as it is to be stored.
type Change struct {
	Before, After *tx.Transaction
	lifecycle.Aside
	lifecycle.Moves
	// Now is the time that After was made for: what it has due is so far from now.
	Now time.Time
	// Wait is how long the queue waits for the answer of a callback that became due,
	// Lease how long this process has before others tell it too.
	Wait, Lease time.Duration
	// Budgets are those that its cost is counted with besides, and the most that each may
	// come to; they refuse it as Limits do.
	Budgets []Budget
	// Width is how many of a queue may be in flight where nobody has set it.
	Width int
	// By is whose word it is, "" for nobody's in particular.
	By string
	// Limits refuses the change with a *FeeLimitError if it costs more than they
	// leave of the day.
	Limits FeeLimits
}

// Advance stores a change, and returns the record as it is stored. Errors: ErrStale,
// ErrFenced, ErrUnsettled, ErrOvertaken, ErrFollowed, ErrUsed, *FeeLimitError, ErrNotFound, ErrUnavailable,
// ErrFull. With ErrUnconfirmed it is stored, and returned.
func (s *Store) Advance(ctx context.Context, c *Change) (*tx.Transaction, error) {
	t := c.Before
	run := s.Run
	if c.Confirm {
		run = s.runConfirmed
	}
	v, err := run(ctx, advanceScript, s.arguments(c)...)
	if c.Process != "" && c.Before.Claim == "" && (c.Keep || c.After.Phase.Bound()) {
		s.Plan(0) // it is this process's now
	}
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
		return nil, fmt.Errorf("%s: %w", t.UID, ErrFenced)
	case "overtaken":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrOvertaken)
	case "followed":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrFollowed)
	case "used":
		return nil, fmt.Errorf("%s: %w", t.UID, ErrUsed)
	case "costly":
		spent, left := r.int(r.at(l, 2)), r.int(r.at(l, 3))
		return nil, cmp.Or[error](r.err, &FeeLimitError{
			All: r.string(r.at(l, 1)) == "all", Budget: budgetOf(r.string(r.at(l, 1))),
			Spent: uint64(spent), Left: time.Duration(left) * time.Millisecond,
		})
	case "gone":
		return nil, fmt.Errorf("transaction %s: %w", t.UID, ErrNotFound)
	case "error":
		return nil, fmt.Errorf("advance %s: %s", t.UID, r.string(r.at(l, 1)))
	default:
		r.fail("a verdict", verdict)
	}
	stored := c.stored(&r, r.string(r.at(l, 3)), r.fields(r.at(l, 4)))
	if r.err != nil {
		return nil, r.err
	}
	s.signal(r.int(r.at(l, 1)))
	return stored, err
}

// stored is the record as Redis has it now.
func (c *Change) stored(r *reply, text string, facts map[string]string) *tx.Transaction {
	t := *c.After
	for _, at := range []*time.Time{&t.SubmittedAt, &t.RetriedAt, &t.DoneAt, &t.FinalAt} {
		*at = inRecord(*at)
	}
	t.Error, t.Attempts = bounded(t.Error), slices.Clone(t.Attempts)
	for i := range t.Attempts {
		a := &t.Attempts[i]
		a.Error, a.StartedAt, a.EndedAt = bounded(a.Error), inRecord(a.StartedAt), inRecord(a.EndedAt)
	}
	addFacts(&t, facts)
	var e numbers
	words, _, _ := strings.Cut(text, "\n")
	e.state(&t, words)
	if e.err != nil && r.err == nil {
		r.err = e.err
	}
	return &t
}

// inRecord is a time as a record tells it.
func inRecord(t time.Time) time.Time { return fromMillis(millis(t)) }

// due is when the phase ends by the clock, from now on; Never otherwise.
func (c *Change) due() time.Duration {
	if c.After.DueAt.IsZero() {
		return Never
	}
	return max(0, c.After.DueAt.Sub(c.Now))
}

// arguments are what advance.lua reads of a change.
func (s *Store) arguments(c *Change) []any {
	t, claim, open := c.Before, c.Before.Claim, 0
	if c.Person {
		claim = "*"
	}
	for i := range c.After.Attempts {
		if c.After.Attempts[i].Open() {
			open++
		}
	}
	args := []any{
		t.UID, t.Queue, kindOf(t.Type, t.Ledger), t.Sequence, t.Revision, claim, rand.Text()[:13],
		string(c.After.Phase), inMillis(c.due()),
		c.Code, c.Attempt, open, c.After.Cost(), encodeRecord(c.After),
	}
	if c.Attempt == 0 {
		args[10] = ""
	}
	say := func(word string, words ...any) { args = append(append(args, word), words...) }
	if c.Confirm {
		say("confirm")
	}
	if c.Trusts {
		say("trusts")
	}
	if c.InOrder {
		say("in-order")
	}
	if c.Last {
		say("last")
	}
	switch {
	case c.Broke && c.Code == tx.CodeOutOfOrder:
		say("single", c.Width)
	case c.Broke:
		say("broke", c.Width)
	case c.Clean:
		say("clean", c.Width)
	}
	if c.Limits != (FeeLimits{}) {
		say("limits", c.Limits.Sender, c.Limits.All)
	}
	for _, b := range c.Budgets {
		say("budget", b.Name, b.Most)
	}
	if c.Keep {
		say("keep")
	}
	if c.Process != "" {
		say("claim", c.Process)
	}
	if c.By != "" {
		say("by", c.By)
	}
	s.aside(c, say)
	return args
}

// aside says what moves beside the record.
func (s *Store) aside(c *Change, say func(word string, words ...any)) {
	switch {
	case c.Tell != "":
		say("tell", string(c.Tell), inMillis(c.Wait), inMillis(c.Lease))
	case c.Before.Callback != "" && c.After.Callback == "":
		say("told")
	}
	if c.Hold > 0 {
		say("hold", inMillis(c.Hold))
	}
	if r := c.Rest; r != nil {
		say("rest", inMillis(r.For), string(r.Why), r.By, shorten(r.Detail, mostDetail))
		if r.Above != nil {
			say("above", *r.Above)
		}
	}
	if c.Absolved != "" {
		say("absolve", c.Absolved)
	}
	switch {
	case c.ForgetNonce:
		say("next", "")
	case c.NextNonce != nil:
		say("next", *c.NextNonce)
	}
	if c.Follows != nil {
		say("follows", *c.Follows)
	}
	for account, n := range c.Least {
		say("least", account, n)
	}
	switch {
	case c.Bytes != nil:
		say("bytes", pack(c.Bytes.Number, c.Bytes.Command))
	case c.DropBytes:
		say("bytes", "")
	}
	if c.Falls != "" {
		say("falls", c.Falls)
	}
	if c.Stands != "" {
		say("stands", c.Stands, c.Nonce)
	}
	if c.After.Phase == tx.PhaseWaiting && !c.After.ExpiresAt.IsZero() {
		say("expires", millis(c.After.ExpiresAt))
	}
	if c.Remove >= 0 {
		say("remove", inMillis(c.Remove))
	}
	if c.After.Phase == tx.PhaseUnresolved && s.UnresolvedLimit > 0 {
		say("unresolved", s.UnresolvedLimit)
	}
}

func inMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// FeeLimits are the most that attempts may cost in one day, by UTC and the clock of
// Redis, in nanomina; 0 is no limit.
type FeeLimits struct {
	Sender uint64 // each sender
	All    uint64 // all senders of the namespace together
}

// A Budget is what the fees of a day are counted with, by UTC and the clock of Redis.
type Budget struct {
	Name string // of a queue or a key, see QueueBudget and KeyBudget
	Most uint64 // nanomina; 0 is no limit
}

// QueueBudget names that of a queue, KeyBudget that of whoever posted with the API key of
// that name.
func QueueBudget(queue string) string { return "q:" + queue }

// KeyBudget is as QueueBudget.
func KeyBudget(name string) string { return "k:" + name }

// budgetOf is a budget that refused a change, "" where another limit did.
func budgetOf(whose string) string {
	if whose == "all" || whose == "sender" {
		return ""
	}
	return whose
}

// A FeeLimitError refuses an attempt that would pass one of the FeeLimits. Nothing
// was stored.
type FeeLimitError struct {
	All    bool          // the limit of all senders together, not of this one
	Budget string        // the budget that it would pass, "" for none
	Spent  uint64        // what the day has cost so far, in nanomina
	Left   time.Duration // until the day is over
}

func (e *FeeLimitError) Error() string { return "the fees of the day have reached their limit" }
