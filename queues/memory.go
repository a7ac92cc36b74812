package queues

import (
	"cmp"
	"mina-sequencer/sequencer/lifecycle"
	"slices"
	"sync"
	"time"
)

// A memory is what this process has been told that Redis has. Redis may forget
// its last writes in a failover; then they are written back from here.
type memory struct {
	mu      sync.Mutex
	process string // that the claims are held by, as the last beat said
	server  string // run id of the Redis that has all of it, but for what it may yet forget
	txns    map[string]*remembered
	signed  int // bytes
	// The last transaction accepted and the last event shown. What is written in
	// one order is forgotten in the other: if these are there, so is all before.
	accepted accepted
	shown    Event
}

type accepted struct {
	uid      string
	sequence int64
}

// A remembered is a transaction as this process last stored it.
type remembered struct {
	*lifecycle.Transaction
	signed []byte    // packed
	stored time.Time // when
	left   time.Time // when its claim passed on; zero while it is held
}

const (
	// memoryLife is how long writes are remembered that nobody here goes on with.
	// A replica that lags for longer is not worth promoting.
	memoryLife = 2 * time.Minute
	// maxRemembered bounds the signed bytes. The chain knows of what is beyond.
	maxRemembered = 64 << 20
)

// keep remembers t as stored just now. signed are its packed bytes; nil leaves
// those that are known, empty drops them.
func (m *memory) keep(t *lifecycle.Transaction, signed []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.txns == nil {
		m.txns = make(map[string]*remembered)
	}
	r := m.txns[t.UID]
	switch {
	case r == nil:
		r = new(remembered)
		m.txns[t.UID] = r
	case r.Revision > t.Revision:
		return // Redis has forgotten that, and is still to be told
	}
	r.Transaction, r.stored, r.left = t, time.Now(), time.Time{}
	if m.process == "" || !owned(t.Claim, m.process) {
		r.left = r.stored
	}
	if signed != nil {
		m.forgetSigned(r)
		if m.signed+len(signed) <= maxRemembered {
			r.signed = signed
			m.signed += len(signed)
		}
	}
}

func (m *memory) forgetSigned(r *remembered) {
	m.signed -= len(r.signed)
	r.signed = nil
}

// leave notes that somebody else has the claim of a transaction.
func (m *memory) leave(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.txns[uid]; r != nil && r.left.IsZero() {
		r.left = time.Now()
	}
}

// tidy forgets what is old enough to be on every replica. known: Redis still knew
// the process, whose claims are renewed now. Where it is another Redis than the one
// that has it all, nothing is forgotten before that one has it too.
func (m *memory) tidy(process, server string, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = process
	if m.server == "" {
		m.server = server
	}
	now := time.Now()
	for uid, r := range m.txns {
		if !known && r.left.IsZero() {
			r.left = now
		}
		if server != m.server {
			continue
		}
		if now.Sub(r.stored) > memoryLife {
			m.forgetSigned(r)
		}
		if !r.left.IsZero() && now.Sub(r.left) > memoryLife {
			delete(m.txns, uid)
		}
	}
}

// writtenBack notes that a Redis has it all.
func (m *memory) writtenBack(server string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server = server
}

// newer is the revision that is remembered of t, 0 if that is no later one.
func (m *memory) newer(t *lifecycle.Transaction) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.txns[t.UID]; r != nil && r.Revision > t.Revision {
		return r.Revision
	}
	return 0
}

// told forgets what has been written back, unless it has changed meanwhile: from
// now on what Redis has of it counts.
func (m *memory) told(r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.txns[r.UID]; now != nil && now.Transaction == r.Transaction {
		m.forgetSigned(now)
		delete(m.txns, r.UID)
	}
}

// all is what is remembered, in order of acceptance.
func (m *memory) all() []*remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*remembered, 0, len(m.txns))
	for _, r := range m.txns {
		c := *r // keep replaces what it points to, and changes none of it
		out = append(out, &c)
	}
	slices.SortFunc(out, func(x, y *remembered) int { return cmp.Compare(x.Sequence, y.Sequence) })
	return out
}

func (m *memory) accept(uid string, sequence int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sequence > m.accepted.sequence {
		m.accepted = accepted{uid, sequence}
	}
}

func (m *memory) show(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Number > m.shown.Number {
		m.shown = e
	}
}

// restart begins to count anew, from what Redis knows now.
func (m *memory) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted, m.shown = accepted{}, Event{}
}

func (m *memory) marks() (last accepted, shown Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accepted, m.shown
}
