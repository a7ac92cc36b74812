package queues

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// misses looks for some of the marks.
func (s *Store) misses(ctx context.Context, part []mark) (bool, error) {
	pipe := s.client.Pipeline()
	var looks []func() bool
	for _, m := range part {
		if m.uid == "" {
			got := pipe.XRangeN(ctx, s.key("events"), fmt.Sprint("0-", m.shown.Number), "+", 1)
			looks = append(looks, func() bool { return !shows(got.Val(), m.shown) })
			continue
		}
		posted, gone := pipe.GetRange(ctx, s.key("t:"+m.uid), 0, 31), pipe.Exists(ctx, s.key("gone:"+m.uid))
		looks = append(looks, func() bool {
			sequence, _, there := strings.Cut(posted.Val(), " ")
			if !there { // it may have been removed in order; then its key is kept, for so long
				return gone.Val() == 0 && time.Since(m.at) < s.keyKept()
			}
			return sequence != strconv.FormatInt(m.sequence, 10)
		})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, storeError("looking for what was accepted and shown", err)
	}
	return slices.ContainsFunc(looks, func(lost func() bool) bool { return lost() }), nil
}

// shows reports whether the log has an event, or has dropped it, by its first entry from there on.
func shows(entries []redis.XMessage, e Event) bool {
	if len(entries) == 0 {
		return false
	}
	first, err := parseEvent(entries[0])
	return err == nil && (first.Number != e.Number || first == e)
}

// mostMarks is how many marks are kept. A process that has more, and no heartbeat meanwhile,
// cannot say that nothing is missing.
const mostMarks = 10_000

// A mark is what this process has accepted, or else the last that it showed of the log.
type mark struct {
	place    int64 // among all marks
	uid      string
	sequence int64
	at       time.Time // when it was accepted
	shown    Event
}

// marks are those since the process was last sure of its Redis, and of each kind the last
// before. On another Redis some may be missing and later ones not.
type marks struct {
	mu     sync.Mutex
	list   []mark
	last   mark  // the highest sequence and the highest number
	places int64 // how many there were
	left   int64 // place of the last that was not kept
	server string
}

func (m *marks) accept(uid string, sequence int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sequence > m.last.sequence {
		m.last.sequence = sequence
		m.add(mark{uid: uid, sequence: sequence, at: time.Now()})
	}
}

func (m *marks) show(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Number > m.last.shown.Number {
		m.last.shown = e
		m.add(mark{shown: e})
	}
}

// add is for the holder of mu.
func (m *marks) add(one mark) {
	m.places++
	if len(m.list) >= mostMarks {
		m.left = m.places
		return
	}
	one.place = m.places
	m.list = append(m.list, one)
}

// place is where the next mark will stand behind.
func (m *marks) place() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.places
}

// sure notes that a Redis on which the namespace is settled has answered what was asked when
// there were so many marks. If it is the one that is known, what was marked before is there
// as long as the last of it is.
func (m *marks) sure(server string, places int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == "" {
		m.server = server
	}
	if m.server != server {
		return
	}
	if m.left <= places {
		m.left = 0
	}
	accepted, shown := false, false
	var kept []mark
	for _, one := range slices.Backward(m.list) {
		seen := &shown
		if one.uid != "" {
			seen = &accepted
		}
		if one.place > places || !*seen {
			kept = append(kept, one)
		}
		*seen = *seen || one.place <= places
	}
	slices.Reverse(kept)
	m.list = kept
}

// found notes that all of them are there.
func (m *marks) found(server string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server = server
}

// restart begins to mark anew, from what the Redis named knows now.
func (m *marks) restart(server string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list, m.last, m.left, m.server = nil, mark{}, 0, server
}

// all returns them, and whether none was left out.
func (m *marks) all() ([]mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list), m.left == 0
}
