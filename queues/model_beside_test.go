package queues_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/explorer"
	"mina-sequencer/sequencer/lifecycle"
)

// beside is what the explorer's store does not have, for its worlds need none of it: when
// somebody is to look, what was posted, whom a sender is called by.
type beside struct {
	own        map[string]map[string]time.Time // by process and uid; zero for never
	due, procs map[string]time.Time
	gone       map[string]goneKey
	posted     map[string]string // payloads
	workers    map[string]worker
	used       map[string]int64 // microseconds up to which a rate is used up
	trimmed    int              // events that are kept no longer
	// Of the operation under way.
	looked  []string // whose owners are told to look
	leaving bool     // somebody is woken although nothing can be bound
}

type goneKey struct {
	typ, queue string
	until      time.Time
}

type worker struct{ url, source, by, balance string }

func newBeside() beside {
	return beside{
		own: map[string]map[string]time.Time{}, due: map[string]time.Time{}, procs: map[string]time.Time{},
		gone: map[string]goneKey{}, posted: map[string]string{}, workers: map[string]worker{}, used: map[string]int64{},
	}
}

func (b *beside) clone() beside {
	c := *b
	c.own = map[string]map[string]time.Time{}
	for p, uids := range b.own {
		c.own[p] = maps.Clone(uids)
	}
	c.due, c.procs, c.gone = maps.Clone(b.due), maps.Clone(b.procs), maps.Clone(b.gone)
	c.posted, c.workers = maps.Clone(b.posted), maps.Clone(b.workers)
	c.used = maps.Clone(b.used)
	return c
}

// owe has a process look at a transaction at a time.
func (b *beside) owe(process, uid string, at time.Time) {
	if b.own[process] == nil {
		b.own[process] = map[string]time.Time{}
	}
	b.own[process][uid] = at
}

// look has the owner look at once, and be told.
func (m *model) look(process, uid string) {
	if process != "" {
		m.owe(process, uid, m.now)
		m.looked = append(m.looked, uid)
	}
}

// soonest are those of some that are due by now, in their order, at most so many.
func (m *model) soonest(some map[string]time.Time, most int) []string {
	due := slices.DeleteFunc(slices.Collect(maps.Keys(some)), func(name string) bool {
		return some[name].IsZero() || some[name].After(m.now)
	})
	slices.SortFunc(due, func(x, y string) int { return cmp.Or(some[x].Compare(some[y]), strings.Compare(x, y)) })
	return due[:min(most, len(due))]
}

// rests is when the clock has a sender back in use, as it stands among what is due.
func (m *model) rests() {
	for name := range m.due {
		if strings.HasPrefix(name, "s:") {
			delete(m.due, name)
		}
	}
	for i := range m.want.Senders {
		a := &m.want.Senders[i]
		for _, r := range a.Reasons {
			if at := m.due["s:"+a.Account]; !r.Until.IsZero() && (at.IsZero() || r.Until.Before(at)) {
				m.due["s:"+a.Account] = r.Until
			}
		}
	}
}

// forget keeps what is left of a transaction that is removed.
func (m *model) forget(t *lifecycle.Transaction) {
	delete(m.due, "c:"+t.UID)
	delete(m.due, "x:"+t.UID)
	delete(m.posted, t.UID)
	if t.Claim != "" {
		delete(m.own[explorer.Owner(t.Claim)], t.UID)
	}
	m.gone[t.UID] = goneKey{t.Type, t.Queue, m.now.Add(retention)}
}

// held ends that the clock looks at a queue that waits no more, or is gone.
func (m *model) held(queue string, waited bool) {
	if q := m.queueOf(queue); q == nil || waited && q.Holder == "" {
		delete(m.due, "q:"+queue)
	}
}

func (m *model) queueOf(name string) *explorer.Queue {
	for i := range m.want.Queues {
		if m.want.Queues[i].Name == name {
			return &m.want.Queues[i]
		}
	}
	return nil
}

// lives reports whether the claims of a process hold.
func (m *model) lives(process string) bool { return m.procs[process].After(m.now) }

// tickOnce has a process do what is due.
func (m *model) tickOnce() bool {
	m.rests()
	p, most := one(m, me, other), one(m, 100, 100, 1, 2)
	grace := one(m, queues.Never, 0, hour)
	m.note("%s, %d", p, most)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		k, err := s.Tick(m.ctx, queues.TickRequest{Process: p, Most: most, Lease: lease, Grace: grace})
		if err != nil {
			return m.said(nil, err)
		}
		a := says("due %v, callbacks %v", k.Due, k.Callbacks)
		if k.Next != queues.Never {
			a.At = k.Now.Add(k.Next)
		}
		return a
	}, func() answer { return m.ticked(p, most, grace) })
	return true
}

func (m *model) ticked(p string, most int, grace time.Duration) answer {
	own := m.soonest(m.own[p], most)
	for _, uid := range own {
		r := m.want.Record(uid)
		switch {
		case r == nil || explorer.Owner(r.Txn.Claim) != p:
			delete(m.own[p], uid)
		case grace > 0:
			m.own[p][uid] = m.now.Add(grace)
		case grace < 0:
			m.own[p][uid] = time.Time{}
		}
	}
	callbacks := []string{}
	m.rests()
	for _, member := range m.soonest(m.due, most) {
		kind, name, _ := strings.Cut(member, ":")
		delete(m.due, member)
		switch r := m.want.Record(name); {
		case kind == "c" && r != nil && r.Txn.Callback != "":
			callbacks = append(callbacks, name)
			m.due[member] = m.now.Add(lease)
		case kind == "q" && m.queueOf(name) != nil:
			m.want.HoldOver(m.queueOf(name))
		case kind == "s":
			m.want.RestOver(m.want.Sender(name))
		case kind == "x" && r != nil && r.Txn.Phase.Final():
			m.remove1(r.Txn)
		}
	}
	m.rests()
	m.trim()
	var next time.Time
	for _, set := range []map[string]time.Time{m.own[p], m.due} {
		for _, at := range set {
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	a := says("due %v, callbacks %v", append([]string{}, own...), callbacks)
	if !next.IsZero() {
		a.At = latest(next, m.now)
	}
	return a
}

// trim drops what of the log was kept long enough; the last always stays.
func (m *model) trim() {
	oldest := m.now.Add(-eventsKeep)
	for m.trimmed < len(m.want.Log)-1 && m.want.Log[m.trimmed].At.Before(oldest) {
		m.trimmed++
	}
}

// remove1 removes one transaction from the explorer's store, and what belongs to it.
func (m *model) remove1(t *lifecycle.Transaction) {
	q := m.queueOf(t.Queue)
	waited := q.Holder == t.UID
	m.want.Forget(t)
	m.forget(t)
	m.held(t.Queue, waited)
}
