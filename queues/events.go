package queues

import (
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/tx"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// EventKind is what an event is about.
type EventKind string

const (
	OfTransaction EventKind = "t"
	OfQueue       EventKind = "q"
	OfSender      EventKind = "s"
)

// An Event is one entry of the log, written by the script that made the change.
// Numbers count from 1 without gaps. In Redis it is one field, "<ms> <kind> <id>
// <sender> <from> <to> <attempt> <code>", with "-" for what is empty; of a
// transaction just accepted into a free queue, of which there are the most, only "<ms> <uid>"; of a
// person's word, with who said so behind it. From and to stand with "/<phase>" behind them where
// the queue shows another phase than the transaction has.
type Event struct {
	Number int64
	At     time.Time
	Kind   EventKind
	ID     string // uid, queue or account
	Sender string
	From   tx.Phase // "" for a transaction that was just accepted
	To     tx.Phase // "" for one that was removed
	// QueueFrom and QueueTo are what the queue showed before it and after it, equal where it did not
	// move; "" of a sender. From one event of a queue to the next one nothing is left out.
	QueueFrom, QueueTo tx.QueueState

	Attempt int // 0 if the change is about none
	Code    string
	Actor   string // whose word it was, the name of an API key; "" for nobody's in particular
}

type actorKey struct{}

// By returns a context for what a person does, by the name of the API key: the events of it
// name them. Pause, Resume, PauseUntil, SetWidth and Remove heed it, and what packages senders
// and sequencer do for a person.
func By(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor is who does something, "" for nobody in particular.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}

// Events returns at most limit events behind the one numbered after, in order.
// Error: ErrUnavailable.
func (s *Store) Events(ctx context.Context, after int64, limit int) ([]Event, error) {
	entries, err := s.client.XRangeN(ctx, s.key("events"), fmt.Sprintf("0-%d", after+1), "+", int64(limit)).Result()
	if err != nil {
		return nil, storeError("reading events", err)
	}
	out := make([]Event, len(entries))
	for i, entry := range entries {
		if out[i], err = parseEvent(entry); err != nil {
			return nil, err
		}
	}
	if len(out) > 0 {
		s.marks.show(out[len(out)-1])
	}
	return out, nil
}

func parseEvent(entry redis.XMessage) (Event, error) {
	line, _ := entry.Values["e"].(string)
	number, _ := strings.CutPrefix(entry.ID, "0-")
	var e numbers
	event := e.event(number, line)
	if e.err != nil {
		return Event{}, fmt.Errorf("event %s is damaged: %w", strconv.Quote(entry.ID), e.err)
	}
	return event, nil
}

// event reads one line of the log.
func (e *numbers) event(number, line string) Event {
	if at, uid, _ := strings.Cut(line, " "); uid != "" && !strings.Contains(uid, " ") {
		line = at + " t " + uid + " - - " + string(tx.PhaseWaiting) + " - -"
	}
	actor := ""
	if w := strings.Fields(line); len(w) == 9 {
		actor, line = w[8], strings.Join(w[:8], " ")
	}
	w := e.words(line, 8)
	for i := range w {
		if w[i] == "-" && i != 2 { // a queue or a transaction may be called so
			w[i] = ""
		}
	}
	event := Event{
		Number: e.int(number), At: fromMillis(e.int(w[0])), Kind: EventKind(w[1]), ID: w[2], Sender: w[3],
		Attempt: int(e.int(w[6])), Code: w[7], Actor: actor,
	}
	event.From, event.QueueFrom = beside(w[4])
	event.To, event.QueueTo = beside(w[5])
	if event.Kind == OfSender {
		event.QueueFrom, event.QueueTo = "", ""
	}
	return event
}

// beside reads a phase, and what stands with it of what the queue shows.
func beside(word string) (tx.Phase, tx.QueueState) {
	own, shown, apart := strings.Cut(word, "/")
	phase := tx.Phase(own)
	if own == "-" {
		phase = ""
	}
	switch {
	case apart:
		return phase, tx.Phase(shown).Queue()
	case phase == "":
		return phase, tx.QueueFree
	}
	return phase, phase.Queue()
}

// A LogPart is a part of the event log as it stood at one instant.
type LogPart struct {
	Epoch string // another one when events were lost
	// Doubted: Redis may have forgotten some since it had this epoch, and may have given
	// their numbers to others. When the namespace is settled, the epoch tells.
	Doubted bool
	// First and Last are the oldest and the newest number kept; Last is
	// First - 1 if there is none.
	First, Last int64
	Newest      Event // number Last; zero if there is none
	Before      Event // the one behind which was read; zero if it is not kept
	Entries     []Entry
}

// An Entry is an event with what it is about.
type Entry struct {
	Event
	// Type and Queue of the transaction; of one that was removed for as long as
	// its key is known. "" if the event is about no transaction.
	Type, Queue string
}

// ReadLog returns at most limit events (up to MaxBatch) behind the one numbered
// after, in order. Error: ErrUnavailable.
func (s *Store) ReadLog(ctx context.Context, after int64, limit int) (LogPart, error) {
	v, err := s.Run(ctx, logScript, after, min(limit, MaxBatch))
	if err != nil {
		return LogPart{}, err
	}
	r := reply{name: "log"}
	l := r.strings(v)
	const head, width = 6, 4
	if len(l) < head || (len(l)-head)%width != 0 {
		r.fail("events", v)
		return LogPart{}, r.err
	}
	var e numbers
	p := LogPart{Epoch: l[0], Doubted: l[1] != "", First: 1}
	if l[2] != "" {
		p.First, p.Last = e.int(l[2]), e.int(l[3])
		p.Newest = e.event(l[3], l[4])
	}
	if l[5] != "" {
		p.Before = e.event(strconv.FormatInt(after, 10), l[5])
	}
	p.Entries = make([]Entry, 0, (len(l)-head)/width)
	for i := head; i < len(l); i += width {
		typ, _ := splitKind(l[i+2])
		p.Entries = append(p.Entries, Entry{Event: e.event(l[i], l[i+1]), Type: typ, Queue: l[i+3]})
	}
	if n := len(p.Entries); n > 0 {
		s.marks.show(p.Entries[n-1].Event)
	} else {
		s.marks.show(p.Newest)
	}
	if e.err != nil {
		return LogPart{}, fmt.Errorf("events behind %d are damaged: %w", after, e.err)
	}
	return p, r.err
}

// AwaitEvent returns when there is an event behind the one numbered after, or
// when the patience, of whole milliseconds, is over. It takes a connection for as
// long; the end of ctx does not shorten it. Error: ErrUnavailable.
func (s *Store) AwaitEvent(ctx context.Context, after int64, patience time.Duration) error {
	err := s.client.XRead(ctx, &redis.XReadArgs{
		Streams: []string{s.key("events"), fmt.Sprintf("0-%d", after)}, Count: 1, Block: max(patience, time.Millisecond),
	}).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return storeError("waiting for events", err)
	}
	return nil
}
