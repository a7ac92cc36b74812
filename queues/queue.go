package queues

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/tx"
)

// Queue returns one queue. Errors: ErrNotFound, ErrDamaged, ErrUnavailable.
func (s *Store) Queue(ctx context.Context, name string) (*Queue, error) {
	qs, err := s.Named(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(qs) == 0 {
		return nil, fmt.Errorf("queue %s: %w", name, ErrNotFound)
	}
	if err := qs[0].Damaged; err != nil {
		return nil, err
	}
	return qs[0], nil
}

// Queues returns queues in order of their names, at most limit, and the cursor
// of the next page, "" if there is none. Errors: ErrBadCursor, ErrUnavailable.
func (s *Store) Queues(ctx context.Context, limit int, cursor string) ([]*Queue, string, error) {
	return s.QueuesNamed(ctx, "", nil, limit, cursor)
}

// Prefixes limit queues to those whose names begin with one of them; none limit nothing.
type Prefixes []string

// Admit reports whether a queue is one of those.
func (p Prefixes) Admit(queue string) bool {
	return len(p) == 0 || slices.ContainsFunc(p, func(begin string) bool { return strings.HasPrefix(queue, begin) })
}

// ranges are the beginnings of all names that p admits and that begin with prefix, in order
// and none within another.
func (p Prefixes) ranges(prefix string) []string {
	if len(p) == 0 {
		return []string{prefix}
	}
	var all []string
	for _, begin := range slices.Sorted(slices.Values(p)) {
		if strings.HasPrefix(prefix, begin) {
			begin = prefix
		}
		inside := len(all) > 0 && strings.HasPrefix(begin, all[len(all)-1])
		if strings.HasPrefix(begin, prefix) && !inside {
			all = append(all, begin)
		}
	}
	return all
}

// QueuesNamed is Queues for those whose names begin with prefix, and lie within some.
func (s *Store) QueuesNamed(ctx context.Context, prefix string, within Prefixes, limit int,
	cursor string) ([]*Queue, string, error) {
	names, next, err := s.queueNames(ctx, "queues", prefix, within, limit, cursor)
	if err != nil {
		return nil, "", err
	}
	qs, err := s.Named(ctx, names)
	if err != nil {
		return nil, "", err
	}
	if err := s.FindOldest(ctx, qs...); err != nil {
		return nil, "", err
	}
	return qs, next, nil
}

// queueNames are the names in an index of which all scores are one: no record is read for them.
func (s *Store) queueNames(ctx context.Context, index, prefix string, within Prefixes, limit int,
	cursor string) (names []string, next string, err error) {
	if cursor != "" && (!ValidName(cursor) || !strings.HasPrefix(cursor, prefix)) {
		return nil, "", ErrBadCursor
	}
	for _, begin := range within.ranges(prefix) {
		if len(names) == limit {
			break
		}
		from, to := "-", "+"
		if begin != "" {
			from, to = "["+begin, "("+begin+"\xff" // a name is ASCII
		}
		if cursor >= begin && cursor != "" {
			from = "(" + cursor
		}
		more, err := s.client.ZRangeByLex(ctx, s.key(index),
			&redis.ZRangeBy{Min: from, Max: to, Count: int64(limit - len(names))}).Result()
		if err != nil {
			return nil, "", storeError("listing queues", err)
		}
		names = append(names, more...)
	}
	if len(names) == limit {
		next = names[limit-1]
	}
	return names, next, nil
}

// Named returns those queues that there are among names. Of one whose record is damaged
// nothing is known: it is shown as paused for that. Error: ErrUnavailable.
func (s *Store) Named(ctx context.Context, names []string) ([]*Queue, error) {
	if len(names) == 0 {
		return nil, nil
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.key("q:" + name)
	}
	records, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, storeError("reading queues", err)
	}
	var out []*Queue
	var running []string
	for i, name := range names {
		text, there := records[i].(string)
		if !there {
			continue
		}
		var e numbers
		m := e.queue(text)
		q := &Queue{
			Name: name, Phase: tx.PhaseWaiting, Sender: m["sender"], InFlight: list(m["run"]), Paused: m["paused"],
			Width: int(e.int(m["width"])), Narrow: int(e.int(m["narrow"])),
			NextAt: fromMillis(e.int(m["hold"])), PausedUntil: fromMillis(e.int(m["till"])),
			ReadySince: fromMillis(e.int(m["since"]) / 1000),
			Counts: map[tx.State]int64{
				tx.Waiting: e.int(m["waiting"]), tx.Dispatching: 0, tx.Revision: 0, tx.Retry: 0,
				tx.Done: e.int(m["done"]), tx.Failed: e.int(m["failed"]),
				tx.Unresolved: e.int(m["unresolved"]),
			},
		}
		if e.err != nil { // it holds up no other
			err := damagedQueue(name, e.err)
			q = &Queue{Name: name, Phase: tx.PhaseWaiting, Paused: err.Error(), Damaged: err}
		}
		if len(q.InFlight) > 0 {
			q.Running = q.InFlight[0]
			running = append(running, q.InFlight...)
		}
		out = append(out, q)
	}
	ts, err := s.GetMany(ctx, running)
	if err != nil {
		return nil, err
	}
	for _, t := range ts {
		i := slices.IndexFunc(out, func(q *Queue) bool { return slices.Contains(q.InFlight, t.UID) })
		q := out[i]
		if !t.Phase.Bound() {
			continue
		}
		if q.Counts[t.State()]++; t.UID == q.Running {
			q.Phase, q.Retries, q.NextAt, q.Claim = t.Phase, t.Retries, t.DueAt, t.Claim
		}
	}
	return out, nil
}

// list reads a word that is a list of uids.
func list(word string) []string {
	if word == "" {
		return nil
	}
	return strings.Split(word, ",")
}

// queueWords are the words of a queue's record, as lib.lua names them.
var queueWords = strings.Fields(
	"waiting done failed unresolved back popped run sender hold holder ready first since streak till width narrow")

// queue reads the record of a queue.
func (e *numbers) queue(text string) map[string]string {
	m := make(map[string]string, len(queueWords)+1)
	head, paused, _ := strings.Cut(text, "\n")
	words := strings.Split(head, " ")
	if len(words) != len(queueWords) {
		e.keep(fmt.Errorf("%q are not the words of a queue", head))
		return m
	}
	for i, word := range words {
		m[queueWords[i]] = word
	}
	m["paused"] = paused
	return m
}

// FindOldest sets OldestWaiting of queues. Error: ErrUnavailable.
func (s *Store) FindOldest(ctx context.Context, qs ...*Queue) error {
	qs = slices.DeleteFunc(slices.Clone(qs), func(q *Queue) bool { return q.Counts[tx.Waiting] == 0 })
	for some := range slices.Chunk(qs, listStep) {
		names := make([]any, len(some))
		for i, q := range some {
			names[i] = q.Name
		}
		v, err := s.Run(ctx, oldestScript, names...)
		if err != nil {
			return err
		}
		r := reply{name: "oldest"}
		l := r.list(v)
		for i, q := range some {
			q.OldestWaiting = fromMillis(r.int(r.at(l, i)))
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// Pause keeps a queue from binding until it is resumed; what runs goes on to its end.
// Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Pause(ctx context.Context, name, reason string) error {
	return s.PauseUntil(ctx, name, reason, time.Time{})
}

// Resume lets a paused queue bind again. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Resume(ctx context.Context, name string) error { return s.Pause(ctx, name, "") }

// PauseUntil is Pause that ends by itself at a time.
func (s *Store) PauseUntil(ctx context.Context, name, reason string, until time.Time) error {
	till := ""
	if !until.IsZero() {
		till = strconv.FormatInt(millis(until), 10)
	}
	v, err := s.Run(ctx, pauseScript, name, reason, till, Actor(ctx))
	if err != nil {
		return err
	}
	return s.said("pause", name, v)
}

// said is what a script answers that a person has say something of a queue.
func (s *Store) said(script, queue string, v any) error {
	r := reply{name: script}
	l := r.list(v)
	if r.string(r.at(l, 0)) == "gone" {
		return fmt.Errorf("queue %s: %w", queue, ErrNotFound)
	}
	s.signal(r.int(r.at(l, 1)))
	return r.err
}

// SetWidth says how many of a queue may be in flight and in no block, 0 for as many as is
// configured; whoever drives it hears of it. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) SetWidth(ctx context.Context, name string, width int) error {
	word := ""
	if width > 0 {
		word = strconv.Itoa(width)
	}
	v, err := s.Run(ctx, widthScript, name, word, Actor(ctx))
	if err != nil {
		return err
	}
	return s.said("width", name, v)
}

// NoteRace tells in the log of events that a queue races with another one.
// Errors: ErrNotFound, ErrUnavailable.
func (s *Store) NoteRace(ctx context.Context, name string) error {
	v, err := s.Run(ctx, raceScript, name)
	if err != nil {
		return err
	}
	return s.said("race", name, v)
}

// ErrNotFinal: the transaction might still land, or its block still go.
var ErrNotFinal = fmt.Errorf("the transaction is not final")

// Remove forgets a transaction that is FAILED, UNRESOLVED, or DONE past
// finality, and has nothing open. Errors: ErrNotFound, ErrNotFinal, ErrUnsettled, ErrUnavailable.
func (s *Store) Remove(ctx context.Context, uid string) error {
	v, err := s.Run(ctx, removeScript, uid, inMillis(s.keyKept()), Actor(ctx))
	if err != nil {
		return err
	}
	r := reply{name: "remove"}
	switch verdict := r.string(v); verdict {
	case "ok":
		s.signal(1) // a queue may have waited for its callback
	case "gone":
		return fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	case "busy":
		return fmt.Errorf("transaction %s: %w", uid, ErrNotFinal)
	case "unsettled":
		return fmt.Errorf("transaction %s: %w", uid, ErrUnsettled)
	default:
		r.fail("a verdict", verdict)
	}
	return r.err
}

// A Queue is the line of transactions of one zkApp.
type Queue struct {
	Name    string
	Phase   tx.Phase // of the running transaction; PhaseWaiting if none runs
	Sender  string   // bound, "" if none
	Running string   // uid of the running transaction, the first of several; "" if none
	// InFlight are the uids of all that run, in order.
	InFlight []string
	// Width is what a person has set of how many of it may be in flight and in no block, 0
	// for the default; Narrow is what is allowed now that some have broken, 0 if none have.
	Width, Narrow int
	Retries       int    // of the running transaction
	Claim         string // the token of whoever drives it, "" if none runs
	Counts        map[tx.State]int64
	Paused        string // why it is paused, "" if it is not
	// PausedUntil is when it resumes by itself; zero if it does not.
	PausedUntil time.Time
	// NextAt is when something is due: the end of a delay or of the wait for a
	// callback; zero if nothing is.
	NextAt time.Time
	// ReadySince is since when it waits for nothing but a sender; zero if it does not.
	ReadySince time.Time
	// OldestWaiting is when the next of its waiting transactions was received;
	// zero if none waits, or if it was not looked for: see Store.FindOldest.
	OldestWaiting time.Time
	// Damaged is why its record cannot be read, which leaves all else unknown.
	Damaged error
}

// State is q's state.
func (q *Queue) State() tx.QueueState { return q.Phase.Queue() }

// Ahead is what is bound before a queue that is ready, as the round stands now.
type Ahead struct {
	Own int // queues of the same poster: they have been ready longer
	// Others is how many queues of others there are at most: each of them has a turn before each
	// of Own, and before this one if it sits between. It is exact for 64 others; of further ones
	// all that is ready is counted. Who comes to be ready later has one turn a round, too.
	Others  int
	Posters int // how many others have something ready, 65 at most
}

// Ahead returns what is bound before a queue by whoever binds some types, for a ledger, "" for
// Mina, as a BindRequest names them; nil if the queue is not ready, its next is of no such type,
// or its record cannot be read. It asks Redis once, and costs by the logarithm of
// what is ready, for each type and each of 64 others. Error: ErrUnavailable.
func (s *Store) Ahead(ctx context.Context, queue string, types []string, ledger string) (*Ahead, error) {
	v, err := s.Run(ctx, roundScript, append([]any{queue}, kindsOf(types, ledger)...)...)
	if err != nil {
		return nil, err
	}
	r := reply{name: "round"}
	l := r.list(v)
	if len(l) == 0 {
		return nil, r.err
	}
	return &Ahead{Own: int(r.int(r.at(l, 0))), Others: int(r.int(r.at(l, 1))), Posters: int(r.int(r.at(l, 2)))}, r.err
}

// Place returns where a transaction stands in its queue. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Place(ctx context.Context, uid string) (tx.Place, error) {
	v, err := s.Run(ctx, standingScript, uid)
	if err != nil {
		return tx.Place{}, err
	}
	r := reply{name: "standing"}
	l := r.list(v)
	if len(l) == 0 && r.err == nil {
		return tx.Place{}, fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	}
	return tx.Place{
		Ahead: int(r.int(r.at(l, 0))), First: r.string(r.at(l, 1)),
		Holder: r.string(r.at(l, 2)), Hold: fromMillis(r.int(r.at(l, 3))),
	}, r.err
}
