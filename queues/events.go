package queues

import (
	"context"
	"fmt"
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
// transaction just accepted, of which there are the most, only "<ms> <uid>".
type Event struct {
	Number  int64
	At      time.Time
	Kind    EventKind
	ID      string // uid, queue or account
	Sender  string
	From    Phase // "" for a transaction that was just accepted
	To      Phase // "" for one that was removed
	Attempt int   // 0 if the change is about none
	Code    string
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
		s.memory.show(out[len(out)-1])
	}
	return out, nil
}

func parseEvent(entry redis.XMessage) (Event, error) {
	var e numbers
	line, _ := entry.Values["e"].(string)
	if at, uid, _ := strings.Cut(line, " "); uid != "" && !strings.Contains(uid, " ") {
		line = at + " t " + uid + " - - " + string(PhaseWaiting) + " - -"
	}
	w := e.words(line, 8)
	for i := range w {
		if w[i] == "-" {
			w[i] = ""
		}
	}
	number, _ := strings.CutPrefix(entry.ID, "0-")
	event := Event{
		Number: e.int(number), At: fromMillis(e.int(w[0])), Kind: EventKind(w[1]), ID: w[2], Sender: w[3],
		From: Phase(w[4]), To: Phase(w[5]), Attempt: int(e.int(w[6])), Code: w[7],
	}
	if e.err != nil {
		return Event{}, fmt.Errorf("event %s is damaged: %w", strconv.Quote(entry.ID), e.err)
	}
	return event, nil
}
