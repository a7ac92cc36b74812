package recovery

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A memory is what this process has stored or read of the transactions that it drives, or
// drove a moment ago. Redis may forget it in a failover.
type memory struct {
	process string // whose it is

	mu   sync.Mutex
	txns map[string]remembered // by uid
	size int                   // of the bytes
	gone []departure           // of claims, in order
}

// A departure is a claim let go. It is of the past where the transaction has been claimed
// again since.
type departure struct {
	uid string
	at  time.Time
}

type remembered struct {
	last  *tx.Transaction      // as stored or read last
	out   *tx.Transaction      // see lifecycle.Remember
	bytes *lifecycle.BytesRead // of out, nil if they are not known
	left  time.Time            // when this process let the claim go; zero while it has it
}

const (
	// memoryLife is how long what others drive by now is remembered. A replica that lags
	// for longer is not worth promoting.
	memoryLife = 2 * time.Minute
	// maxRemembered bounds the signed bytes. The chain knows of what is beyond.
	maxRemembered = 64 << 20
)

// Stored has it remembered that t was stored or read just now, with the bytes that are
// stored with it, nil if there are none.
func (m *memory) Stored(t *tx.Transaction, bytes *lifecycle.BytesRead) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.txns[t.UID]
	now := remembered{last: t, out: lifecycle.Remember(m.process, was.out, t)}
	now.bytes = lifecycle.BytesOf(was.out, now.out, was.bytes)
	if now.out == t && bytes != nil && m.size+len(bytes.Command) <= maxRemembered {
		now.bytes = bytes
	}
	if was.last != nil && now.out != t && was.last.Revision > t.Revision {
		now.last = was.last // that it has changed is forgotten
	}
	m.size += now.len() - was.len()
	m.txns[t.UID] = now
}

// removed has what a person has removed remembered no more.
func (m *memory) removed(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.size -= m.txns[uid].len()
	delete(m.txns, uid)
}

func (m *memory) lacks(t *tx.Transaction) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return lifecycle.Lacks(m.process, t, m.txns[t.UID].out)
}

func (r remembered) len() int {
	if r.bytes == nil {
		return 0
	}
	return len(r.bytes.Command)
}

// Left has it remembered that this process does not drive a transaction any more.
func (m *memory) Left(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.txns[uid]; known && r.left.IsZero() {
		r.left = time.Now()
		m.txns[uid] = r
		m.gone = append(m.gone, departure{uid, r.left})
	}
}

// tidied is how many departures are looked at under one lock: every change waits for it.
const tidied = 256

// tidy forgets what others have driven for so long that it is on every replica.
func (m *memory) tidy() {
	for m.tidySome(tidied) {
	}
}

// tidySome looks at so many departures at most, and reports whether more are due.
func (m *memory) tidySome(most int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := 0
	for due < min(most, len(m.gone)) && time.Since(m.gone[due].at) > memoryLife {
		d := m.gone[due]
		if r := m.txns[d.uid]; r.left.Equal(d.at) {
			m.size -= r.len()
			delete(m.txns, d.uid)
		}
		due++
	}
	if m.gone = m.gone[due:]; len(m.gone) == 0 {
		m.gone = nil
	}
	return due == most
}

// all is what is remembered, in order of acceptance.
func (m *memory) all() []remembered {
	m.mu.Lock()
	out := slices.Collect(maps.Values(m.txns))
	m.mu.Unlock()
	slices.SortFunc(out, func(x, y remembered) int { return cmp.Compare(x.last.Sequence, y.last.Sequence) })
	return out
}
