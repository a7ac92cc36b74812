// Package queues keeps transactions, and the queues they wait in, in Redis. It
// is the only owner of the stored state: every key is named here, and every
// change is one Lua script that compares what it was decided on with what is
// there. Those of package senders, and of webhooks, stand beside them.
//
// A queue is a strict line: one of its transactions is bound to a sender, and the
// next one only after that one has ended or, with width, behind it to the same
// sender ([Store.Join]). Queues that can be bound stand in ready sets, senders that are
// free in free sets, and Bind takes whose turn it is and who has been free longest;
// nothing walks over queues that cannot run.
//
// The turn goes round those who post, then their queues. A queue stands in the turn of
// whoever posted its first, and moves to another's with that: the name is part of what was
// posted, so there is no list of who has what ready, which could contradict it. A name has a seat,
// a number made of it. For each type of such a first there is one sorted set of the queues of
// all names, by seat and then by since when they are ready, and one of the nameless, whose turn is
// the first of a round: they are one poster (no keys are used, or names were not kept yet), and
// their set is as it was before there were turns, so that builds of then and of now share it.
// The next turn is one look behind the seat that had the last one or, if nobody sits there, at
// the front: it costs by the logarithm of what is ready, and no more beside a thousand posters
// than beside ten. Who had the last turn is one word, written with what is bound, for each set
// of types that are bound together: with one for all, what is bound for a ledger could bring
// the turn back to the same poster each time. So whoever has something ready is bound once a
// round, and waits for as many others as there are, however much these have, or post later.
// [Store.Ahead] tells what is before a queue.
//
// State is fenced, facts are not. The state of a bound transaction is changed
// only by the process that holds its claim, or for a person, by its revision
// ([Store.Advance]); what is learnt of an attempt is added by whoever brings it
// ([Store.Record]) and never overwritten.
//
// All methods may be called concurrently.
package queues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/tx"
)

// Options describe a namespace on a Redis.
type Options struct {
	Namespace  string        // key prefix and hash tag
	Retention  time.Duration // how long the key of a removed transaction is known at least
	EventsKeep time.Duration // how long events are kept; 0 is a day
	// MaxWaiting limits the waiting transactions of one queue; 0 is no limit.
	MaxWaiting int
	// MaxWaitingInAll limits those of all queues together; 0 is no limit.
	MaxWaitingInAll int
	// UnresolvedLimit is how many transactions that end UNRESOLVED in a row pause
	// their queue; 0 is no limit.
	UnresolvedLimit int
	// Replicas must confirm what is written before an attempt leaves: so many, 0 for none, or
	// AllReplicas.
	Replicas int
	// Observe is told of each run of a script: its name, for how many calls it was,
	// and how long its round trip took, shared with others as it may be. nil tells
	// nobody. It is called concurrently.
	Observe func(script string, calls int, took time.Duration)
	// Changed is told by Listen the uid of a transaction that a process has claimed,
	// and that was changed for a person, or of which a fact was recorded, here or by
	// another process: its owner is to look at it. It must not block. nil tells nobody.
	Changed func(uid string)
	// Heed is told in the same way the name of a queue of which something runs, when it is
	// paused, resumed or made wider, or its sender is taken out of use or back; "", for every queue,
	// when something may have been missed.
	Heed func(queue string)
	// Passed is told in the same way a transaction whose callback is for a worker that runs with a
	// process, see PassCallback.
	Passed func(uid string)
	// Pooled is told in the same way that which provers there are has changed, or may have.
	Pooled func()
	// Says is asked at each heartbeat what all are to be told of this process; see Living.
	Says func() tx.Binder
	Log  *slog.Logger
}

// A Store is one namespace on one Redis.
type Store struct {
	client redis.UniversalClient
	prefix string
	keys   []string // of every script; see lib.lua
	Options
	wake      chan struct{}
	planned   chan time.Time
	posts     *group[post]
	answers   sync.Pool // channels for the next posts
	scripts   *group[scriptCall]
	confirmer confirmer
	calls     counter
	marks     marks
	crowded   atomic.Int64 // when the log was last told that too many wait, in seconds
}

// Open returns a store on client. The client stays the caller's to close.
func Open(client redis.UniversalClient, o Options) (*Store, error) {
	p, err := prefix(o.Namespace)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.EventsKeep == 0 {
		o.EventsKeep = 24 * time.Hour
	}
	s := &Store{client: client, prefix: p, keys: []string{p, p + "is:layout"}, Options: o,
		wake: make(chan struct{}, 1), planned: make(chan time.Time, 1),
		confirmer: confirmer{turn: make(chan struct{}, replicaWaits)}}
	s.answers.New = func() any { return make(chan Accepted, 1) }
	s.posts, s.scripts = newPosts(s), newScripts(s)
	return s, nil
}

// keyKept is how long the key of a removed transaction is kept: also for as long as the log has
// events of it, whose readers choose by its type and queue.
func (s *Store) keyKept() time.Duration { return max(s.Retention, s.EventsKeep) }

// Ping asks whether Redis takes writes. Errors: ErrUnavailable, ErrFull.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.client.Set(ctx, s.key("ping"), 1, time.Minute).Err(); err != nil {
		return storeError("ping", err)
	}
	return nil
}

// Wake is signalled when a bind may have become possible, by this process or
// another one. One signal may stand for many.
func (s *Store) Wake() <-chan struct{} { return s.wake }

func (s *Store) signal(possible int64) {
	if possible != 1 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Signal wakes whoever waits on Wake, as if a bind had become possible.
func (s *Store) Signal() { s.signal(1) }

// Planned tells when something becomes due, or may, of which a Tick made before knows nothing: the
// soonest, where it is more.
func (s *Store) Planned() <-chan time.Time { return s.planned }

// Plan has Planned tell that something becomes due in a while.
func (s *Store) Plan(in time.Duration) {
	at := time.Now().Add(in + time.Millisecond) // Redis counts whole ones
	for {
		select {
		case s.planned <- at:
			return
		case other := <-s.planned:
			if other.Before(at) {
				at = other
			}
		}
	}
}

// listenCheck is how often Listen looks whether its connection still stands. It
// is no hurry: a wake-up that was missed is found by the next cycle.
const listenCheck = 30 * time.Second

// listenAgain is how long it waits before it subscribes anew.
const listenAgain = time.Second

// Listen passes on what other processes signal, until ctx ends. A lost
// connection is made anew; what was signalled meanwhile is found by the next
// cycle.
func (s *Store) Listen(ctx context.Context) {
	for ctx.Err() == nil {
		s.listen(ctx)
		again := time.NewTimer(listenAgain)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
}

// listen is one subscription, which ends with ctx, with an error, or when nothing is
// heard on it. No other goroutine uses it: go-redis holds a lock of it while it connects.
func (s *Store) listen(ctx context.Context) {
	sub := s.client.Subscribe(ctx, s.key("wake"))
	end := func() { _ = sub.Close() }
	defer end()
	defer context.AfterFunc(ctx, end)()
	for silent := 0; silent < 2; {
		heard, err := sub.ReceiveTimeout(ctx, listenCheck)
		timeout, is := errors.AsType[interface {
			error
			Timeout() bool
		}](err)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			silent = 0
			switch m := heard.(type) {
			case *redis.Message:
				s.hear(m.Payload)
			case *redis.Subscription:
				s.hear("!") // what was published meanwhile is lost
				s.hear("@0")
				s.hear("+")
			}
		case is && timeout.Timeout():
			silent++
			_ = sub.Ping(ctx) // its answer is heard, or nothing once more
		default:
			return
		}
	}
}

// hear takes what was published: "" that a bind may have become possible, a queue behind a ! or
// no queue for all of them, behind an @ in how many milliseconds something is due, behind a ~ a
// transaction whose callback is passed on, a + that the provers have changed, else the uid of one
// that has changed.
func (s *Store) hear(what string) {
	queue, is := strings.CutPrefix(what, "!")
	in, planned := strings.CutPrefix(what, "@")
	uid, passed := strings.CutPrefix(what, "~")
	switch {
	case what == "":
		s.signal(1)
	case what == "+":
		if s.Pooled != nil {
			s.Pooled()
		}
	case planned:
		if ms, err := strconv.ParseInt(in, 10, 64); err == nil {
			s.Plan(time.Duration(ms) * time.Millisecond)
		}
	case is && s.Heed != nil:
		s.Heed(queue)
	case passed && s.Passed != nil:
		s.Passed(uid)
	case !is && !passed && s.Changed != nil:
		s.Changed(what)
	}
}

// Calls counts the scripts run so far.
func (s *Store) Calls() int64 { return s.calls.Load() }

// ErrNotFound: there is no such transaction, queue or sender.
var ErrNotFound = errors.New("not found")

// ErrDamaged: what is stored of a transaction, or of a queue, cannot be read.
var ErrDamaged = errors.New("what is stored cannot be read")

func damagedQueue(name string, cause error) error {
	return fmt.Errorf("record of queue %s is damaged: %w: %w", name, ErrDamaged, cause)
}

// Get returns a transaction. Errors: ErrNotFound, ErrDamaged, ErrUnavailable.
func (s *Store) Get(ctx context.Context, uid string) (*tx.Transaction, error) {
	ts, broken, err := s.read(ctx, []string{uid})
	switch {
	case err != nil:
		return nil, err
	case len(broken) > 0:
		return nil, fmt.Errorf("transaction %s: %w: %w", uid, ErrDamaged, broken[0].err)
	case len(ts) == 0:
		return nil, fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	}
	return ts[0], nil
}

// GetMany returns the transactions that exist among uids, many at one instant. What
// cannot be read is told to the log, and holds up no other. Error: ErrUnavailable.
func (s *Store) GetMany(ctx context.Context, uids []string) (out []*tx.Transaction, _ error) {
	for len(uids) > 0 {
		ts, n, err := s.getSome(ctx, uids)
		if err != nil {
			return nil, err
		}
		out, uids = append(out, ts...), uids[n:]
	}
	return out, nil
}

// getSome is GetMany for the first n of uids, as many as one answer holds.
func (s *Store) getSome(ctx context.Context, uids []string) (ts []*tx.Transaction, n int, err error) {
	ts, broken, n, err := s.readSome(ctx, uids)
	for _, d := range broken {
		s.Log.ErrorContext(ctx, "a transaction cannot be read", "err", d.err)
	}
	return ts, n, err
}

// Claimed is GetMany for what a process has claimed and is due: the queue of what cannot be
// read is paused, and it is due no more.
func (s *Store) Claimed(ctx context.Context, process string, uids []string) ([]*tx.Transaction, error) {
	ts, broken, err := s.read(ctx, uids)
	s.setAside(ctx, broken)
	for _, d := range broken {
		err = cmp.Or(err, s.Postpone(ctx, process, d.uid, Never))
	}
	return ts, err
}

func (s *Store) read(ctx context.Context, uids []string) ([]*tx.Transaction, []damaged, error) {
	var out []*tx.Transaction
	var broken []damaged
	for len(uids) > 0 {
		ts, wrong, n, err := s.readSome(ctx, uids)
		if err != nil {
			return nil, nil, err
		}
		out, broken, uids = append(out, ts...), append(broken, wrong...), uids[n:]
	}
	return out, broken, nil
}

// readSome reads the first n of uids, as many as one answer holds.
func (s *Store) readSome(
	ctx context.Context, uids []string,
) (ts []*tx.Transaction, _ []damaged, n int, err error) {
	args := make([]any, min(len(uids), MaxBatch))
	for i := range args {
		args[i] = uids[i]
	}
	v, err := s.Run(ctx, getScript, args...)
	if err != nil {
		return nil, nil, 0, err
	}
	r := reply{name: "get"}
	answers := r.list(v)
	if len(answers) == 0 {
		r.fail("something of each", v)
	}
	for _, e := range answers {
		if t := r.transaction(e); t != nil {
			ts = append(ts, t)
		}
	}
	return ts, r.damaged, len(answers), r.err
}
