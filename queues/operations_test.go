package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

// The operations of the model test, each on the store and on the picture.

func (m *model) post() bool {
	uid, typ := fmt.Sprint("t", m.rand.IntN(40)), []string{vote, batch}[m.rand.IntN(2)]
	queue := fmt.Sprint("q", m.rand.IntN(4))
	got := m.store.Enqueue(m.ctx, queues.Item{UID: uid, Queue: queue, Type: typ, Data: json.RawMessage(`{}`)})
	switch old := m.txns[uid]; {
	case m.gone[uid]:
		if !errors.Is(got.Err, queues.ErrKeyGone) {
			m.Fatalf("post of removed %s: %+v", uid, got)
		}
	case old != nil && (old.queue != queue || old.typ != typ):
		if !errors.Is(got.Err, queues.ErrKeyReused) {
			m.Fatalf("post of %s once more: %+v", uid, got)
		}
	case old != nil:
		if got.Err != nil || !got.Existed || got.Transaction.Phase != old.phase {
			m.Fatalf("the same post of %s: %+v", uid, got)
		}
	default:
		m.ok(got.Err)
		m.seq++
		m.events++
		m.txns[uid] = &modelTxn{uid: uid, queue: queue, typ: typ, seq: m.seq, phase: lifecycle.PhaseWaiting}
		if m.queues[queue] == nil {
			m.queues[queue] = &modelQueue{}
		}
	}
	return true
}

func (m *model) bindSome() bool {
	process := []string{me, other}[m.rand.IntN(2)]
	types := [][]string{{vote}, {batch}, {vote, batch}}[m.rand.IntN(3)]
	most := 1 + m.rand.IntN(3)
	var want []string
	for range most {
		var oldest *modelTxn
		m.becomeReady()
		for name, q := range m.queues {
			if h := m.head(name); h != nil && slices.Contains(types, h.typ) && (oldest == nil || q.since < m.queues[oldest.queue].since) {
				oldest = h
			}
		}
		free := m.free()
		if oldest == nil || len(free) == 0 {
			break
		}
		want = append(want, oldest.uid+" "+free[0])
		oldest.phase, oldest.sender, oldest.owner = lifecycle.PhaseDispatching, free[0], process
		m.queues[oldest.queue].run, m.queues[oldest.queue].since = oldest.uid, 0
		m.senders[free[0]].queue = oldest.queue
		m.events++
	}
	bound, err := m.store.Bind(m.ctx, queues.BindRequest{Process: process, Types: types, Groups: []string{senders.Shared}, Most: most, Grace: time.Hour})
	m.ok(err)
	var got []string
	for _, b := range bound {
		got = append(got, b.Transaction.UID+" "+b.Sender)
	}
	equal(m.T, "bound", got, want)
	return true
}

// settle brings the picture of a transaction into a phase.
func (m *model) settle(t *modelTxn, to lifecycle.Phase, keeps bool) {
	if t.phase != to {
		m.events++
	}
	q := m.queues[t.queue]
	if t.phase.Bound() && !to.Bound() {
		q.run = ""
		s := m.senders[t.sender]
		s.queue = ""
		if !s.out {
			m.release(t.sender)
		}
	}
	if !to.Bound() && !keeps {
		t.owner = ""
	}
	if t.phase == lifecycle.PhaseDone && to != lifecycle.PhaseDone {
		// It was not the end after all.
		t.callback = false
		if q.holder == t.uid {
			q.holder = ""
		}
	}
	t.phase = to
}

func (m *model) advanceOne() bool {
	t := m.pickTxn(func(t *modelTxn) bool { return t.phase.Bound() })
	if t == nil {
		return false
	}
	to := lifecycle.Phases[m.rand.IntN(len(lifecycle.Phases))]
	keeps := to == lifecycle.PhaseDone && m.rand.IntN(2) == 0
	calls := to.Final() && m.rand.IntN(3) == 0
	rests := !m.senders[t.sender].out && m.rand.IntN(5) == 0
	m.to(t.uid, to, func(c *queues.Change) {
		c.Keep = keeps
		if calls {
			tell(lifecycle.OnSuccess, time.Hour, time.Hour)(c)
		}
		if rests {
			rest(queues.Never, lifecycle.Rested)(c)
		}
		if to.Final() {
			final(c)
		}
	})
	if rests {
		m.senders[t.sender].out = true
		m.events++
	}
	m.settle(t, to, keeps)
	if calls {
		t.callback = true
		m.queues[t.queue].holder = t.uid
	}
	return true
}

// intrude changes what has changed since, and what is another's.
func (m *model) intrude() bool {
	t := m.pickTxn(func(t *modelTxn) bool { return t.phase.Bound() })
	if t == nil {
		return false
	}
	old := m.get(t.uid)
	old.Revision--
	if err := m.advance(old, lifecycle.PhaseDone); !errors.Is(err, queues.ErrStale) {
		m.Fatalf("a stale change: %v", err)
	}
	old = m.get(t.uid)
	old.Claim += "0"
	if err := m.advance(old, lifecycle.PhaseDone); !errors.Is(err, queues.ErrFenced) {
		m.Fatalf("a fenced change: %v", err)
	}
	return true
}

func (m *model) person(from func(*modelTxn) bool, to lifecycle.Phase) bool {
	t := m.pickTxn(from)
	if t == nil {
		return false
	}
	m.to(t.uid, to, person, final)
	m.settle(t, to, false)
	return true
}

func (m *model) cancel() bool {
	return m.person(func(t *modelTxn) bool { return t.phase == lifecycle.PhaseWaiting }, lifecycle.PhaseFailed)
}

func (m *model) retry() bool {
	return m.person(func(t *modelTxn) bool {
		return t.phase == lifecycle.PhaseFailed || t.phase == lifecycle.PhaseUnresolved
	}, lifecycle.PhaseWaiting)
}

func (m *model) late() bool {
	return m.person(func(t *modelTxn) bool {
		return t.phase == lifecycle.PhaseFailed || t.phase == lifecycle.PhaseUnresolved
	}, lifecycle.PhaseDone)
}

func (m *model) reopen() bool {
	return m.person(func(t *modelTxn) bool { return t.phase == lifecycle.PhaseDone }, lifecycle.PhaseWaiting)
}

func (m *model) pause() bool {
	name, any := pick(m.rand, m.queues, func(*modelQueue) bool { return true })
	if !any {
		return false
	}
	q := m.queues[name]
	if q.paused {
		m.ok(m.store.Resume(m.ctx, name))
	} else {
		m.ok(m.store.Pause(m.ctx, name, "why"))
	}
	q.paused = !q.paused
	m.events++
	m.finish(name)
	return true
}

// finish forgets a queue with its last transaction.
func (m *model) finish(name string) {
	for _, t := range m.txns {
		if t.queue == name {
			return
		}
	}
	if !m.queues[name].paused {
		delete(m.queues, name)
	}
}

func (m *model) register() bool {
	account := fmt.Sprint("S", m.rand.IntN(3))
	m.fixture.register(account)
	if m.senders[account] == nil {
		m.senders[account] = &modelSender{}
		m.events++
		m.release(account)
	}
	return true
}

func (m *model) drain() bool {
	account, any := pick(m.rand, m.senders, func(s *modelSender) bool { return !s.out })
	if !any {
		return false
	}
	m.ok(m.pool.Drain(m.ctx, account))
	m.senders[account].out = true
	m.events++
	return true
}

func (m *model) resume() bool {
	account, any := pick(m.rand, m.senders, func(s *modelSender) bool { return s.out })
	if !any {
		return false
	}
	m.ok(m.pool.Resume(m.ctx, account))
	m.events++
	if s := m.senders[account]; true {
		s.out = false
		if s.queue == "" {
			m.release(account)
		}
	}
	return true
}

func (m *model) unregister() bool {
	account, any := pick(m.rand, m.senders, func(*modelSender) bool { return true })
	if !any {
		return false
	}
	err := m.pool.Remove(m.ctx, account)
	if m.senders[account].queue != "" {
		if !errors.Is(err, senders.ErrBound) {
			m.Fatalf("removing a bound sender: %v", err)
		}
		return true
	}
	m.ok(err)
	delete(m.senders, account)
	m.events++
	return true
}

func (m *model) remove() bool {
	t := m.pickTxn(func(*modelTxn) bool { return true })
	if t == nil {
		return false
	}
	err := m.store.Remove(m.ctx, t.uid)
	if !t.phase.Final() || t.phase == lifecycle.PhaseDone && t.owner != "" { // which is watched
		if !errors.Is(err, queues.ErrNotFinal) {
			m.Fatalf("removing %+v: %v", *t, err)
		}
		return true
	}
	m.ok(err)
	delete(m.txns, t.uid)
	m.gone[t.uid] = true
	m.events++
	if m.queues[t.queue].holder == t.uid { // nobody will answer for it any more
		m.queues[t.queue].holder = ""
	}
	m.finish(t.queue)
	return true
}

func (m *model) answer() bool {
	t := m.pickTxn(func(t *modelTxn) bool { return t.callback })
	if t == nil {
		return false
	}
	_, err := m.store.Called(m.ctx, &lifecycle.Transaction{UID: t.uid, Queue: t.queue}, lifecycle.OnSuccess, queues.Never)
	m.ok(err)
	t.callback = false
	if q := m.queues[t.queue]; q.holder == t.uid {
		q.holder = ""
	}
	return true
}

func (m *model) takeOver() bool {
	dead, heir := me, other
	if m.rand.IntN(2) == 0 {
		dead, heir = other, me
	}
	m.ok(m.store.Leave(m.ctx, dead))
	_, err := m.store.TakeOver(m.ctx, heir, dead, 50)
	m.ok(err)
	m.beat(dead, time.Hour)
	for _, t := range m.txns {
		if t.owner == dead {
			t.owner = heir
		}
	}
	return true
}
