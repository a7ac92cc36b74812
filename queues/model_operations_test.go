package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explorer"
	"mina-sequencer/sequencer/lifecycle"
)

// The operations of the model test but changes, each on both stores.

// poolOf is short for the pool of senders.
type poolOf = senders.Pool

// post accepts some, known ones among them.
func (m *model) post() bool {
	var items []queues.Item
	for range one(m, 1, 1, 2, 4) {
		items = append(items, queues.Item{
			UID: fmt.Sprint("t", m.rand.IntN(30)), Queue: fmt.Sprint("q", m.rand.IntN(4)), Type: one(m, vote, batch),
			Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, m.rand.IntN(2))),
		})
	}
	skip := 0
	if m.draw(6) { // a repeat could not be told from another one
		items[0].UID, skip = "", -1
	}
	var made string
	m.do(skip, func(s *queues.Store, _ *poolOf) answer {
		all := s.EnqueueBatch(m.ctx, items)
		var out answer
		for i, a := range all {
			if errors.Is(a.Err, queues.ErrUnavailable) {
				return unavailable
			}
			text := map[error]string{
				nil: "ok", queues.ErrKeyReused: "reused", queues.ErrKeyGone: "gone", queues.ErrTooManyWaiting: "full",
				queues.ErrTooManyInAll: "full in all",
			}[a.Err]
			out.Text += fmt.Sprintf("%s %v; ", text, a.Existed)
			if a.Err == nil {
				out.Txns = append(out.Txns, a.Transaction)
				if items[i].UID == "" {
					made = a.Transaction.UID
				}
			}
		}
		return out
	}, func() answer {
		var out answer
		for _, item := range items {
			if item.UID == "" {
				item.UID = made
			}
			text, t := m.accept(item)
			out.Text += text + "; "
			if t != nil {
				out.Txns = append(out.Txns, m.whole(t))
			}
		}
		return out
	})
	return true
}

func (m *model) accept(item queues.Item) (string, *lifecycle.Transaction) {
	waiting, inAll := 0, 0
	for i := range m.want.Records {
		if t := m.want.Records[i].Txn; t.Phase == lifecycle.PhaseWaiting {
			inAll++
			if t.Queue == item.Queue {
				waiting++
			}
		}
	}
	t := m.want.Read(item.UID)
	_, gone := m.gone[item.UID]
	switch {
	case t != nil && (t.Queue != item.Queue || t.Type != item.Type || m.posted[item.UID] != string(item.Data)):
		return "reused false", nil
	case t != nil:
		return "ok true", t
	case inAll >= m.options.MaxWaitingInAll:
		return "full in all false", nil
	case waiting >= m.options.MaxWaiting:
		return "full false", nil
	case gone:
		return "gone false", nil
	}
	m.posted[item.UID] = string(item.Data)
	return "ok false", m.want.Enqueue(item.UID, item.Queue, item.Type)
}

// bindSome binds by turns, with what was never tried planned for some senders.
func (m *model) bindSome() bool {
	r := queues.BindRequest{
		Process: one(m, m.alive()...), Types: one(m, []string{vote}, []string{vote, batch}, []string{batch, vote}),
		Most:   1 + m.rand.IntN(3),
		Groups: []string{senders.Shared, senders.LocalGroup("S0")}[:1+(m.rand.IntN(3)+1)/2], Grace: 3 * hour,
		Plan:  lifecycle.Attempt{Fee: 2 * fee, ValidUntil: 30, Slot: 10, StartedAt: m.clock()},
		Known: map[string]uint32{},
	}
	var plans []explorer.Plan
	for i := range m.want.Senders {
		if a := &m.want.Senders[i]; m.draw(2) {
			next := a.Next + uint32(m.rand.IntN(4)/3)
			r.Known[a.Account] = next
			plans = append(plans, explorer.Plan{Sender: a.Account, Nonce: next, Fee: 2 * fee, ValidUntil: 30, Slot: 10})
		}
	}
	m.note("%s", r.Process)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		bound, err := s.Bind(m.ctx, r)
		if err != nil {
			return m.said(nil, err)
		}
		var out answer
		for _, b := range bound {
			out.Text += fmt.Sprintf("%s %s %s %d %v; ", b.Transaction.UID, b.Sender, b.URL, b.Next, b.HasNext)
			out.Txns = append(out.Txns, b.Transaction)
		}
		return out
	}, func() (out answer) {
		for range r.Most {
			t := m.want.Bind(r.Process, r.Types, r.Groups, plans)
			if t == nil {
				break
			}
			m.owe(r.Process, t.UID, m.now.Add(r.Grace))
			a := m.want.Sender(t.Sender)
			if t = t.Clone(); len(t.Attempts) > 0 && t.Revision == 1 {
				t.Attempts[0].StartedAt = r.Plan.StartedAt // which the process says
				m.want.Record(t.UID).Txn = t
			}
			out.Text += fmt.Sprintf("%s %s %s %d %v; ", t.UID, t.Sender, m.workers[a.Account].url, a.Next, a.Known)
			out.Txns = append(out.Txns, m.whole(m.want.Read(t.UID)))
		}
		return out
	})
	return true
}

// calledBack stores what became of a callback.
func (m *model) calledBack() bool {
	v, any := m.latest(func(t *lifecycle.Transaction) bool { return t.Callback != "" || m.draw(20) })
	if !any {
		return false
	}
	again, t := one(m, queues.Never, queues.Never, hour), v.want
	c := one(m, t.Callback, t.Callback, lifecycle.OnSuccess)
	if c == "" {
		return false
	}
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		tries, err := s.Called(m.ctx, v.real, c, again)
		if err != nil {
			return m.said(nil, err)
		}
		return says("%d", tries)
	}, func() answer {
		r := m.want.Record(t.UID)
		if r.Txn.Callback != c {
			return says("0")
		}
		waited := m.queueOf(t.Queue).Holder == t.UID
		if m.want.Called(t.UID, c, again < 0); again >= 0 {
			m.due["c:"+t.UID] = m.now.Add(again)
			return says("%d", r.Txn.CallbackTries)
		}
		delete(m.due, "c:"+t.UID)
		m.held(t.Queue, waited)
		return says("0")
	})
	return true
}

func (m *model) postpone() bool {
	p := one(m, me, other)
	var uids []string
	for uid := range m.own[p] {
		if r := m.want.Record(uid); r != nil && explorer.Owner(r.Txn.Claim) == p {
			uids = append(uids, uid)
		}
	}
	if len(uids) == 0 {
		return false
	}
	slices.Sort(uids)
	uid, d := one(m, uids...), one(m, queues.Never, hour)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		return m.said(nil, s.Postpone(m.ctx, p, uid, d))
	}, func() answer {
		if at := m.own[p][uid]; !at.IsZero() && !at.After(m.now) {
			m.own[p][uid] = time.Time{}
			if d >= 0 {
				m.own[p][uid] = m.now.Add(d)
			}
		}
		return says("ok")
	})
	return true
}

// time passes.
func (m *model) time() bool {
	if !m.exact {
		return false
	}
	d := one(m, hour, hour, hour, 3*hour, 7*hour, 27*hour)
	m.note("%v", d)
	<-time.After(d)
	m.begin()
	for uid, g := range m.gone {
		if !g.until.After(m.now) {
			delete(m.gone, uid)
		}
	}
	for _, p := range []string{me, other} {
		if !m.draw(4) {
			m.beats(p, -1)
		}
	}
	return true
}

func (m *model) beatOnce() bool {
	m.beats(one(m, me, other), 0)
	return true
}

// beats renews the claims of a process.
func (m *model) beats(p string, skip int) {
	m.note("%s", p)
	m.do(skip, func(s *queues.Store, _ *poolOf) answer {
		pulse, err := s.Heartbeat(m.ctx, p, ttl, "")
		if err != nil {
			return m.said(nil, err)
		}
		if !pulse.Settled {
			pulse.Dead = nil // who lives may not have been heard yet; see settle
		}
		return says("known %v, settled %v, dead %v", pulse.Known, pulse.Settled, append([]string{}, pulse.Dead...))
	}, func() answer {
		_, known := m.procs[p]
		m.procs[p] = m.now.Add(ttl)
		m.want.Renew(p)
		dead := []string{}
		for q := range m.procs {
			if q != p && !m.lives(q) && !m.want.Unsettled {
				dead = append(dead, q)
			}
		}
		return says("known %v, settled %v, dead %v", known, !m.want.Unsettled, dead)
	})
}

// takeOver has a process take over from another, which has left or not.
func (m *model) takeOver() bool {
	dead, heir := me, other
	if m.draw(2) {
		dead, heir = other, me
	}
	if !m.lives(heir) && !m.draw(4) {
		m.beats(heir, -1)
	}
	if !m.draw(4) {
		m.leaving = true
		m.do(0, func(s *queues.Store, _ *poolOf) answer {
			return m.said(nil, s.Leave(m.ctx, dead))
		}, func() answer {
			if len(m.own[dead]) == 0 {
				delete(m.procs, dead)
			} else {
				m.procs[dead] = time.UnixMilli(0)
			}
			return says("ok")
		})
		m.leaving = false
	}
	most := one(m, 50, 50, 1)
	m.note("%s from %s", heir, dead)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		taken, err := s.TakeOver(m.ctx, heir, dead, most)
		if err != nil {
			return m.said(nil, err)
		}
		return says("%v", append([]string{}, taken...))
	}, func() answer { return says("%v", m.taken(heir, dead, most)) })
	if m.draw(2) {
		m.beats(dead, -1)
	}
	return true
}

func (m *model) taken(heir, dead string, most int) []string {
	taken := []string{}
	if _, there := m.procs[dead]; !there || m.lives(dead) || !m.lives(heir) {
		return taken
	}
	all := make([]string, 0, len(m.own[dead]))
	for uid := range m.own[dead] {
		all = append(all, uid)
	}
	slices.SortFunc(all, func(x, y string) int {
		a, b := m.own[dead][x], m.own[dead][y]
		if a.IsZero() != b.IsZero() { // never is last
			return map[bool]int{true: 1, false: -1}[a.IsZero()]
		}
		if c := a.Compare(b); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
	for _, uid := range all[:min(most, len(all))] {
		delete(m.own[dead], uid)
		if r := m.want.Record(uid); r != nil && explorer.Owner(r.Txn.Claim) == dead {
			m.owe(heir, uid, m.now)
			taken = append(taken, uid)
		}
	}
	m.want.TakeOver(heir, dead, taken...)
	if len(m.own[dead]) == 0 {
		delete(m.procs, dead)
	}
	return taken
}

func (m *model) pause() bool {
	name, why := fmt.Sprint("q", m.rand.IntN(4)), one(m, "", "", "", "why it is", "for another reason")
	if i := slices.IndexFunc(m.want.Queues, func(q explorer.Queue) bool { return q.Paused != "" }); i >= 0 && m.draw(2) {
		name = m.want.Queues[i].Name
	}
	m.note("%s %q", name, why)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		if why == "" {
			return m.said(nil, s.Resume(m.ctx, name))
		}
		return m.said(nil, s.Pause(m.ctx, name, why))
	}, func() answer {
		if !m.want.Pause(name, why) {
			return says("gone")
		}
		m.held(name, false)
		return says("ok")
	})
	return true
}

func (m *model) remove() bool {
	uid := fmt.Sprint("t", m.rand.IntN(30))
	if v, any := m.latest(func(t *lifecycle.Transaction) bool { return t.Phase.Final() }); any && !m.draw(6) {
		uid = v.want.UID
	}
	m.note("%s", uid)
	m.leaving = true // for it always wakes
	defer func() { m.leaving = false }()
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		return m.said(nil, s.Remove(m.ctx, uid))
	}, func() answer {
		r := m.want.Record(uid)
		if r == nil {
			return says("gone")
		}
		t := r.Txn
		waited := m.queueOf(t.Queue).Holder == uid
		if err := m.want.Remove(uid); err != nil {
			return says("busy")
		}
		m.forget(t)
		m.held(t.Queue, waited)
		return says("ok")
	})
	return true
}

// alive are the processes whose claims hold; both if there is none.
func (m *model) alive() []string {
	all := slices.DeleteFunc([]string{me, other}, func(p string) bool { return !m.lives(p) })
	if len(all) == 0 || m.draw(10) {
		return []string{me, other}
	}
	return all
}
