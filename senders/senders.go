// Package senders keeps the pool of senders: fee-payer accounts, each with the
// worker that proves and signs for it.
//
// A sender is free, or bound to one queue, or taken out of use for a reason. Who
// binds and releases is package queues, in the same script that changes the
// transaction; this package registers, rests, drains and shows them.
//
// All methods may be called concurrently.
package senders

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// Shared is the group of senders whose worker any process can reach.
const Shared = "shared"

// Local stands in the place of the URL of a worker that runs as a child of
// whichever process has its command.
const Local = "local"

// LocalGroup is the group of a sender with such a worker, of which it is the
// only one: a process binds it while a worker of its own takes calls for it.
func LocalGroup(account string) string { return Local + ":" + account }

// LedgerGroup is the group of a ledger's slots.
func LedgerGroup(ledger string) string { return "ledger:" + ledger }

// SlotName names a slot of a ledger: a sender that nothing has to sign for.
func SlotName(ledger string, n int) string { return ledger + "/" + strconv.Itoa(n) }

// LedgerOf is the ledger that an account is a slot of, "" of one of Mina.
func LedgerOf(account string) string {
	ledger, _, slot := strings.Cut(account, "/")
	if !slot {
		return ""
	}
	return ledger
}

func groupOf(account, url string) string {
	if ledger := LedgerOf(account); ledger != "" {
		return LedgerGroup(ledger)
	}
	if url == Local {
		return LocalGroup(account)
	}
	return Shared
}

// Source is who registered a sender.
type Source string

const (
	ByAPI           Source = "api"
	ByConfiguration Source = "config"
)

// A Sender is a fee payer with its worker.
type Sender struct {
	AccountID string // base58 public key
	WorkerURL string // or Local
	Source    Source
	Queue     string // bound to, "" if free
	Phase     tx.Phase
	Retries   int             // of the transaction it carries
	Claim     tx.Claim        // of the process that drives that; zero if it carries none
	Nonce     *uint32         // that its next attempt takes; nil before its first
	Balance   *uint64         // nanomina, as last read; nil if never
	Reason    tx.SenderReason // why it is not available, "" if it is
	Detail    string          // the same in words, where there are any
	Since     time.Time       // when it went out of use for Reason; zero if that is not stored
	Proves    bool            // its worker has shown that it makes proofs
	// Unresolved is how many that it carried ended UNRESOLVED in a row.
	Unresolved int
	Until      time.Time
}

// Available reports whether s takes work as soon as it is free.
func (s *Sender) Available() bool { return s.Reason == "" }

// Idle tells whether it is free and no process could bind it now: Detail says why.
func (s *Sender) Idle() bool { return s.Reason == tx.Idled }

// State is the state of the queue that s is bound to, FREE if none.
func (s *Sender) State() tx.QueueState { return s.Phase.Queue() }

var (
	// ErrExists: the account is registered, with another worker.
	ErrExists = errors.New("the sender exists with another worker")
	// ErrBound: the sender carries a transaction.
	ErrBound = errors.New("the sender is bound to a queue")
	// ErrNotFound: there is no such sender.
	ErrNotFound = queues.ErrNotFound
)

//go:embed senders.lua
var sources embed.FS

var senderScript = queues.NewScript("senders", source())

func source() string {
	b, err := sources.ReadFile("senders.lua")
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(b)
}

// A Pool is the senders of one namespace.
type Pool struct {
	store  *queues.Store
	client redis.UniversalClient
	host   Host
}

// A Host is a process that runs workers itself.
type Host struct {
	Process string // its incarnation
	// SlotsOnly: it dispatches nothing for Mina, and leaves the senders of Mina that
	// others have named alone.
	SlotsOnly bool
	// Down reports whether the worker that it runs for an account takes no calls
	// now, and when it is started again, zero if that is under way. It is false
	// for an account of which the process has no worker.
	Down func(account string) (until time.Time, down bool)
}

// New returns the pool of store's namespace on the same Redis.
func New(store *queues.Store, client redis.UniversalClient) *Pool {
	return &Pool{store: store, client: client}
}

// SetHost says which workers this process runs. It comes before all other calls.
func (p *Pool) SetHost(h Host) { p.host = h }

func (p *Pool) run(ctx context.Context, op, account string, args ...any) error {
	args = append([]any{op, account}, args...)
	if who := queues.Actor(ctx); who != "" {
		const before = 6
		for len(args) < before {
			args = append(args, "")
		}
		args = append(args, who)
	}
	v, err := p.store.Run(ctx, senderScript, args...)
	if err != nil {
		return err
	}
	switch verdict, _ := v.(string); verdict {
	case "ok":
		return nil
	case "wake":
		p.store.Signal()
		return nil
	case "none":
		return fmt.Errorf("sender %s: %w", account, ErrNotFound)
	case "exists":
		return fmt.Errorf("sender %s: %w", account, ErrExists)
	case "bound":
		return fmt.Errorf("sender %s: %w", account, ErrBound)
	}
	return fmt.Errorf("senders answered %v", v)
}

// Register adds a sender. The same account with the same worker again changes
// nothing. Errors: ErrExists, queues.ErrUnavailable.
func (p *Pool) Register(ctx context.Context, account, url string) error {
	return p.run(ctx, "register", account, url, string(ByAPI), Shared)
}

// Configure brings the senders that a configuration names into the pool, with
// the worker it names, and drains those that an earlier one named and this one
// does not. A worker may be Local; a sender with one, or a slot of a ledger, that another
// living process has named stays in use. Error: queues.ErrUnavailable.
func (p *Pool) Configure(ctx context.Context, workers map[string]string) error {
	for account, url := range workers {
		by := ""
		if url == Local || LedgerOf(account) != "" {
			by = p.host.Process
		}
		if err := p.run(ctx, "configure", account, url, string(ByConfiguration), groupOf(account, url), by); err != nil {
			return err
		}
	}
	for cursor := ""; ; {
		page, next, err := p.List(ctx, 500, cursor)
		if err != nil {
			return err
		}
		for _, s := range page {
			if p.host.SlotsOnly && LedgerOf(s.AccountID) == "" {
				continue
			}
			if _, named := workers[s.AccountID]; s.Source == ByConfiguration && !named {
				if err := p.run(ctx, "rest", s.AccountID, -1, string(tx.Draining), "config"); err != nil {
					return err
				}
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// Remove takes a sender out for good. What is known of the account stays, for whoever
// registers it again: its next nonce, and [lifecycle.OutcomeUnknown]. Errors: ErrNotFound,
// ErrBound, queues.ErrUnavailable.
func (p *Pool) Remove(ctx context.Context, account string) error {
	return p.run(ctx, "remove", account)
}

// Drain takes a sender out of use; what it carries it finishes, retries
// included. Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Drain(ctx context.Context, account string) error {
	return p.run(ctx, "rest", account, -1, string(tx.Draining))
}

// Rest takes a sender out of use for a reason, until d has passed or, if d is
// negative, until Resume; detail is the reason in words, or "".
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Rest(ctx context.Context, account string, d time.Duration, why tx.SenderReason,
	detail string) error {
	ms := d.Milliseconds()
	if d < 0 {
		ms = -1
	}
	return p.run(ctx, "rest", account, ms, string(why), "", detail)
}

// Stop takes a sender out of use, with StoppedNonce, for a nonce that nobody of ours has used,
// and says so in words: until Resume, or until a transaction that has it is put back.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Stop(ctx context.Context, account string, nonce uint32, detail string) error {
	return p.run(ctx, "rest", account, -1, string(tx.StoppedNonce), nonce, detail)
}

// Resume takes a sender back into use, whatever it was taken out for. Only what
// OutcomeUnknown stands for has to be settled first, and ends that by itself.
// After StoppedNonce the chain is asked for its next nonce.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Resume(ctx context.Context, account string) error {
	return p.run(ctx, "resume", account)
}

// Proves stores that the worker at url, if that is still the sender's, makes proofs: one
// that answers otherwise later was not reached. Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Proves(ctx context.Context, account, url string) error {
	return p.run(ctx, "proves", account, url)
}

// SetBalance stores what an account holds, in nanomina.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) SetBalance(ctx context.Context, account string, balance uint64) error {
	return p.run(ctx, "balance", account, strconv.FormatUint(balance, 10))
}

// Watch stores what an account holds. Where that is too little the sender is out of
// use with LowBalance, and low says why in words; with low "" it is back in use.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Watch(ctx context.Context, account string, balance uint64, low string) error {
	return p.run(ctx, "balance", account, strconv.FormatUint(balance, 10), low)
}

// Get returns one sender. Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Get(ctx context.Context, account string) (*Sender, error) {
	ss, err := p.read(ctx, []string{account})
	if err != nil {
		return nil, err
	}
	if len(ss) == 0 {
		return nil, fmt.Errorf("sender %s: %w", account, ErrNotFound)
	}
	return ss[0], nil
}

// Worker returns the URL of a sender's worker, or Local.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (p *Pool) Worker(ctx context.Context, account string) (url string, err error) {
	url, err = p.client.HGet(ctx, p.store.SenderKey(account), "url").Result()
	if errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("sender %s: %w", account, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("reading a sender: %w: %w", queues.ErrUnavailable, err)
	}
	return url, nil
}

// List returns senders in order of their accounts, at most limit, and the
// cursor of the next page, "" if there is none. Error: queues.ErrUnavailable.
func (p *Pool) List(ctx context.Context, limit int, cursor string) ([]*Sender, string, error) {
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	accounts, err := p.client.ZRangeByLex(ctx, p.store.SendersKey(),
		&redis.ZRangeBy{Min: from, Max: "+", Count: int64(limit)}).Result()
	if err != nil {
		return nil, "", fmt.Errorf("listing senders: %w: %w", queues.ErrUnavailable, err)
	}
	ss, err := p.read(ctx, accounts)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(accounts) == limit {
		next = accounts[limit-1]
	}
	return ss, next, nil
}

// ListIn is List of those in a state, "" for all. It looks at no more than 10,000 senders, so a page may
// be short and still have a next one. Error: queues.ErrUnavailable.
func (p *Pool) ListIn(ctx context.Context, state tx.QueueState, limit int,
	cursor string) ([]*Sender, string, error) {
	if state == "" {
		return p.List(ctx, limit, cursor)
	}
	var page []*Sender
	const most = 10_000
	for looked := 0; looked < most; looked += queues.MaxBatch {
		some, next, err := p.List(ctx, queues.MaxBatch, cursor)
		if err != nil {
			return nil, "", err
		}
		for _, s := range some {
			if s.State() != state {
				continue
			}
			if page = append(page, s); len(page) == limit {
				return page, s.AccountID, nil
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return page, cursor, nil
}

// All yields every sender in order of their accounts, a page at a time. What is yielded with
// an error is nil, and the last. Error: queues.ErrUnavailable.
func (p *Pool) All(ctx context.Context) iter.Seq2[*Sender, error] {
	return func(yield func(*Sender, error) bool) {
		for cursor := ""; ; {
			page, next, err := p.List(ctx, queues.MaxBatch, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// readQueues adds what the queues tell of the senders that are bound to them.
func (p *Pool) readQueues(ctx context.Context, ss []*Sender) error {
	var names []string
	bound := map[string]*Sender{}
	for _, s := range ss {
		if s.Queue != "" {
			names = append(names, s.Queue)
			bound[s.Queue] = s
		}
	}
	qs, err := p.store.Named(ctx, names)
	if err != nil {
		return err
	}
	var carried []*tx.Transaction // as far as it matters
	for _, q := range qs {
		if s := bound[q.Name]; s.AccountID == q.Sender {
			s.Phase, s.Retries = q.Phase, q.Retries
			carried = append(carried, &tx.Transaction{Queue: q.Name, Claim: q.Claim})
		}
	}
	if err := p.store.FindClaims(ctx, carried...); err != nil {
		return err
	}
	for _, t := range carried {
		bound[t.Queue].Claim = t.Held()
	}
	return nil
}

func (p *Pool) read(ctx context.Context, accounts []string) ([]*Sender, error) {
	records := make([]*redis.MapStringStringCmd, len(accounts))
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, a := range accounts {
			records[i] = pipe.HGetAll(ctx, p.store.SenderKey(a))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading senders: %w: %w", queues.ErrUnavailable, err)
	}
	var out []*Sender
	for i, a := range accounts {
		m := records[i].Val()
		if m["group"] == "" { // not, or no longer, registered
			continue
		}
		s := &Sender{
			AccountID: a, WorkerURL: m["url"], Source: Source(m["source"]), Queue: m["queue"],
			Phase: tx.PhaseWaiting, Reason: tx.SenderReason(m["reason"]), Detail: m["detail"],
			Proves: m["proves"] != "",
		}
		s.Unresolved, _ = strconv.Atoi(m["streak"])
		if n, err := strconv.ParseUint(m["next"], 10, 32); err == nil {
			s.Nonce = new(uint32(n))
		}
		if b, err := strconv.ParseUint(m["balance"], 10, 64); err == nil {
			s.Balance = &b
		}
		if ms, err := strconv.ParseInt(m["until"], 10, 64); err == nil {
			s.Until = time.UnixMilli(ms).UTC()
		}
		if ms, err := strconv.ParseInt(m["since"], 10, 64); err == nil {
			s.Since = time.UnixMilli(ms).UTC()
		}
		if s.WorkerURL == Local && s.Reason == "" && p.host.Down != nil {
			if until, down := p.host.Down(a); down {
				s.Reason, s.Until = tx.Rested, until
			}
		}
		out = append(out, s)
	}
	if err := p.idle(ctx, out); err != nil {
		return nil, err
	}
	return out, p.readQueues(ctx, out)
}

// idle notes of those that are free that no process could bind them.
func (p *Pool) idle(ctx context.Context, ss []*Sender) error {
	free := func(s *Sender) bool { return s.Reason == "" && s.Queue == "" && LedgerOf(s.AccountID) == "" }
	if p.host.Process == "" || !slices.ContainsFunc(ss, free) {
		return nil
	}
	living, err := p.store.Living(ctx)
	if err != nil {
		return err
	}
	for _, s := range ss {
		if !free(s) {
			continue
		}
		if why := tx.Idle(living, s.AccountID, s.WorkerURL == Local); why != "" {
			s.Reason, s.Detail = tx.Idled, why
		}
	}
	return nil
}
