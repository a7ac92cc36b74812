package queues_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/tx"
)

// The operations of the model test but changes, each on both stores.

// poolOf is short for the pool of senders.
type poolOf = senders.Pool

// post accepts some, known ones among them.
func (m *model) post() bool {
	var items []queues.Item
	for range one(m, 1, 1, 2, 4) {
		items = append(items, m.item())
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

// item is one of not too many, with not too much that tells them apart.
func (m *model) item() queues.Item {
	return queues.Item{
		UID: fmt.Sprint("t", m.rand.IntN(30)), Queue: fmt.Sprint("q", m.rand.IntN(4)), Type: one(m, vote, batch),
		Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, m.rand.IntN(2))), Terms: m.terms(),
		By: one(m, "", "", "", "a-key", "b-key", "c-key"),
	}
}

// terms are mostly none.
func (m *model) terms() (t tx.Terms) {
	hours := func() time.Time { return m.clock().Add(time.Duration(m.rand.IntN(8)-1)*hour + hour/2) }
	if m.draw(6) {
		t.NotBefore = hours()
	}
	if m.draw(5) {
		t.ExpiresAt = hours()
	}
	if m.draw(8) {
		t.MaxFee = fee
	}
	return t
}

func (m *model) accept(item queues.Item) (string, *tx.Transaction) {
	waiting, inAll := 0, 0
	for i := range m.want.Records {
		if t := m.want.Records[i].Txn; t.Phase == tx.PhaseWaiting {
			inAll++
			if t.Queue == item.Queue {
				waiting++
			}
		}
	}
	t := m.want.Read(item.UID)
	_, gone := m.gone[item.UID]
	switch {
	case t != nil && (t.Queue != item.Queue || t.Type != item.Type || m.posted[item.UID] != string(item.Data) ||
		t.Terms != item.Terms):
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
	if !item.ExpiresAt.IsZero() {
		m.due["d:"+item.UID] = item.ExpiresAt
	}
	return "ok false", m.enqueue(item.UID, item.Queue, item.Type, item.Terms, item.By)
}

// enqueue accepts one; if its queue comes to be, that obeys what a person has said of such.
func (m *model) enqueue(uid, queue, typ string, terms tx.Terms, by string) *tx.Transaction {
	there := m.queueOf(queue) != nil
	t := m.want.Enqueue(uid, queue, typ, terms, by)
	for _, stop := range slices.Backward(m.stops) {
		if there || !strings.HasPrefix(queue, stop.Prefix) {
			continue
		}
		if stop.Reason != "" && (stop.Until.IsZero() || stop.Until.After(m.now)) {
			m.want.Pause(queue, stop.Reason, stop.Until)
			if !stop.Until.IsZero() {
				m.due["p:"+queue] = stop.Until
			}
		}
		break
	}
	return t
}

// stop says of all queues whose names begin so what holds of those that come to be.
func (m *model) stop() bool {
	within := one(m, queues.Prefixes{"q"}, queues.Prefixes{"q1"}, queues.Prefixes{"q2", "q1"},
		queues.Prefixes{"q1x", "q3"})
	why, until := one(m, "", "", "why it is", "for another reason"), time.Time{}
	if why != "" && m.draw(3) {
		until = m.clock().Add(time.Duration(m.rand.IntN(5))*hour - hour/2)
	}
	m.note("%v %q %v", within, why, until)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		return m.said(nil, s.Stop(m.ctx, within, why, until))
	}, func() answer {
		before := m.stops
		all := slices.DeleteFunc(slices.Clone(before), func(s queues.Stop) bool { return within.Admit(s.Prefix) })
		for _, begin := range within {
			stop := queues.Stop{Prefix: begin, Reason: why, Since: m.now, Until: until}
			for _, s := range before {
				if s.Prefix == begin && s.Reason == why && s.Until.Equal(until) {
					stop.Since = s.Since
				}
			}
			all = append(all, stop)
		}
		var kept []queues.Stop // that make a difference
		for _, s := range all {
			holds := s.Reason != "" && (s.Until.IsZero() || s.Until.After(m.now))
			if holds || slices.ContainsFunc(kept, func(o queues.Stop) bool { return strings.HasPrefix(s.Prefix, o.Prefix) }) {
				kept = append(kept, s)
			}
		}
		m.stops = kept
		return says("ok")
	})
	return true
}

// bindSome binds by turns, with what was never tried planned for some senders.
func (m *model) bindSome() bool {
	r := queues.BindRequest{
		Process: one(m, m.alive()...), Types: one(m, []string{vote}, []string{vote, batch}, []string{batch, vote}),
		Most:   1 + m.rand.IntN(3),
		Groups: []string{senders.Shared, senders.LocalGroup("S0")}[:1+(m.rand.IntN(3)+1)/2], Grace: 3 * hour,
		Plan:  tx.Attempt{Fee: 2 * fee, ValidUntil: 30, Slot: 10, StartedAt: m.clock()},
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
	v, any := m.latest(func(t *tx.Transaction) bool { return t.Callback != "" || m.draw(20) })
	if !any {
		return false
	}
	again, t := one(m, queues.Never, queues.Never, hour), v.want
	c := one(m, t.Callback, t.Callback, tx.OnSuccess)
	if c == "" {
		return false
	}
	said := tx.Told{Callback: c, Done: again < 0, Before: v.real.Told.Baton()}
	if said.Done {
		said.Answer = one(m, nil, json.RawMessage(`{"n":1}`), json.RawMessage(`{"a":["\u00e4",1.10]}`))
	} else {
		said.Error = one(m, "", "why")
	}
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		tries, err := s.Called(m.ctx, v.real, said, again)
		if err != nil {
			return m.said(nil, err)
		}
		return says("%d", tries)
	}, func() answer {
		r := m.want.Record(t.UID)
		if r.Txn.Callback != c {
			return says("0")
		}
		waited := m.want.Awaits(m.queueOf(t.Queue), t.UID)
		if m.want.Called(t.UID, said); again >= 0 {
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
			m.heartbeats(p, -1)
		}
	}
	return true
}

func (m *model) heartbeatOnce() bool {
	m.heartbeats(one(m, me, other), 0)
	return true
}

// heartbeats renews the claims of a process.
func (m *model) heartbeats(p string, skip int) {
	m.note("%s", p)
	m.do(skip, func(s *queues.Store, _ *poolOf) answer {
		pulse, err := s.Heartbeat(m.ctx, p, ttl, "")
		if err != nil {
			return m.said(nil, err)
		}
		if !pulse.Settled {
			pulse.Dead = nil // who lives may not have been heard yet; see settle
		}
		return says("known %v, settled %v, dead %v", pulse.Renewed, pulse.Settled, append([]string{}, pulse.Dead...))
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

// joinOne puts the next of a queue behind what runs of it.
func (m *model) joinOne() bool {
	request := func(q explorer.Queue) queues.JoinRequest {
		last := m.want.Record(q.Run[len(q.Run)-1]).Txn
		return queues.JoinRequest{
			Process: explorer.Owner(last.Claim), Queue: q.Name, Behind: last.UID, Out: m.rand.IntN(3) / 2, Width: 2,
			AtOnce: last.Phase == tx.PhaseDispatching,
			Types:  one(m, []string{vote, batch}, []string{batch, vote}, []string{vote}), All: []string{vote, batch},
			Groups: []string{senders.Shared, senders.LocalGroup("S0")}[:1+m.rand.IntN(2)],
		}
	}
	var all, joins []queues.JoinRequest
	for _, q := range m.want.Queues {
		if len(q.Run) > 0 {
			j, other := request(q), m.want.Clone()
			if all = append(all, j); other.Join(j.Process, j.Queue, j.AtOnce, j.Types, j.Groups) != nil {
				joins = append(joins, j)
			}
		}
	}
	if len(joins) > 0 && !m.draw(4) {
		all = joins
	}
	if len(all) == 0 {
		return false
	}
	j := one(m, all...)
	switch m.rand.IntN(16) {
	case 0:
		j.Process = one(m, me, other)
	case 1:
		j.Behind = m.queueOf(j.Queue).Run[0]
	case 2:
		j.Out = m.rand.IntN(4)
	case 3:
		j.AtOnce = !j.AtOnce
	}
	m.note("%s behind %s, %d out, at once %v", j.Process, j.Behind, j.Out, j.AtOnce)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		b, err := s.Join(m.ctx, j)
		if err != nil || b == nil {
			return m.said(nil, err)
		}
		return answer{Text: b.Sender + " " + b.URL, Txns: []*tx.Transaction{b.Transaction}}
	}, func() answer {
		q := m.queueOf(j.Queue)
		if j.Out >= cmp.Or(q.Width, j.Width) || j.Behind != q.Run[len(q.Run)-1] {
			return says("ok")
		}
		t := m.want.Join(j.Process, q.Name, j.AtOnce, j.Types, j.Groups)
		if t == nil {
			return says("ok")
		}
		m.owe(j.Process, t.UID, m.now)
		return answer{Text: t.Sender + " " + m.workers[t.Sender].url,
			Txns: []*tx.Transaction{m.whole(m.want.Read(t.UID))}}
	})
	return true
}

// takeOver has a process take over from another, which has left or not.
func (m *model) takeOver() bool {
	dead, heir := me, other
	if m.draw(2) {
		dead, heir = other, me
	}
	if !m.lives(heir) && !m.draw(4) {
		m.heartbeats(heir, -1)
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
		m.heartbeats(dead, -1)
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
	var with []string // what runs of one queue is taken together
	for _, uid := range all {
		if len(with) >= most {
			break
		}
		together := []string{uid}
		if r := m.want.Record(uid); r != nil && slices.Contains(m.queueOf(r.Txn.Queue).Run, uid) {
			together = append(together, m.queueOf(r.Txn.Queue).Run...)
		}
		for _, uid := range together {
			if !slices.Contains(with, uid) {
				with = append(with, uid)
			}
		}
	}
	for _, uid := range with {
		delete(m.own[dead], uid)
		if r := m.want.Record(uid); r != nil && explorer.Owner(r.Txn.Claim) == dead {
			m.owe(heir, uid, m.now)
			taken = append(taken, uid)
		}
	}
	m.want.TakeOver(heir, dead, taken...)
	switch {
	case len(m.own[dead]) == 0:
		delete(m.procs, dead)
	case len(taken) == 0: // all others who are dead are named before it
		m.procs[dead] = m.now
	}
	return taken
}

func (m *model) pause() bool {
	name, why := fmt.Sprint("q", m.rand.IntN(4)), one(m, "", "", "", "why it is", "for another reason")
	if i := slices.IndexFunc(m.want.Queues, func(q explorer.Queue) bool { return q.Paused != "" }); i >= 0 && m.draw(2) {
		name = m.want.Queues[i].Name
	}
	var until time.Time
	if why != "" && m.draw(3) {
		until = m.clock().Add(time.Duration(m.rand.IntN(5))*hour - hour/2)
	}
	m.note("%s %q %v", name, why, until)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		if why == "" {
			return m.said(nil, s.Resume(m.ctx, name))
		}
		return m.said(nil, s.PauseUntil(m.ctx, name, why, until))
	}, func() answer {
		if !m.want.Pause(name, why, until) {
			return says("gone")
		}
		delete(m.due, "p:"+name)
		if !until.IsZero() {
			m.due["p:"+name] = until
		}
		m.held(name, false)
		return says("ok")
	})
	return true
}

// width says how many of a queue may be in flight.
func (m *model) width() bool {
	name, n := fmt.Sprint("q", m.rand.IntN(4)), m.rand.IntN(4)
	if i := slices.IndexFunc(m.want.Queues, func(q explorer.Queue) bool { return q.Width > 0 }); i >= 0 && m.draw(2) {
		name, n = m.want.Queues[i].Name, 0
	}
	m.note("%s %d", name, n)
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		return m.said(nil, s.SetWidth(m.ctx, name, n))
	}, func() answer {
		if !m.want.Widen(name, n) {
			return says("gone")
		}
		m.held(name, false)
		return says("ok")
	})
	return true
}

func (m *model) remove() bool {
	uid := fmt.Sprint("t", m.rand.IntN(30))
	if v, any := m.latest(func(t *tx.Transaction) bool { return t.Phase.Final() }); any && !m.draw(6) {
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
		waited := m.want.Awaits(m.queueOf(t.Queue), uid)
		switch err := m.want.Remove(uid); {
		case errors.Is(err, explorer.ErrUnsettled):
			return says("unsettled")
		case err != nil:
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

// What comes from outside: a person's orders, facts, and another Redis.

// order is a person's, by the rules of the domain.
func (m *model) order() bool {
	what := one(m, tx.OrderCancel, tx.OrderCancel, tx.OrderRetry, tx.OrderDead)
	v, any := m.latest(func(t *tx.Transaction) bool { return what == tx.OrderCancel != t.Phase.Final() })
	if !any {
		return false
	}
	ask := func(t *tx.Transaction) (lifecycle.Step, error) {
		v := lifecycle.View{Txn: t, Policy: policy, Now: m.clock(), Clock: m.clock()}
		return lifecycle.Ask(&v, tx.Order{What: what})
	}
	here, err := ask(v.real)
	if err != nil {
		return false
	}
	there, err := ask(v.want)
	m.ok(err)
	m.ops++
	d := &drawn{
		&queues.Change{
			Before: v.real, After: here.Txn, Aside: here.Aside, Now: m.clock(), Wait: callbackWait, Lease: lease,
			Moves: lifecycle.Effects(v.real, here.Txn, &here.Aside, policy),
		},
		explorer.Change{
			Before: v.want, After: there.Txn, Aside: there.Aside, Op: fmt.Sprint("op", m.ops),
			Moves: lifecycle.Effects(v.want, there.Txn, &there.Aside, policy),
		},
	}
	m.note("%s %s", what, v.want.UID)
	m.do(0, func(s *queues.Store, _ *senders.Pool) answer {
		return m.said(s.Advance(m.ctx, d.real))
	}, func() answer { return m.advance(d) })
	return true
}

// facts are brought for an attempt, which may be forgotten.
func (m *model) facts() bool {
	v, any := m.latest(func(t *tx.Transaction) bool { return len(t.Attempts) > 0 })
	if !any {
		return false
	}
	a := *one(m, v.want.Last(), v.want.Attempt(1))
	if m.draw(8) {
		a.Nonce += 100
	}
	n := m.rand.IntN(9)
	f := queues.Facts{Hash: one(m, "", fmt.Sprint("fact", n)), NodeHash: one(m, "", fmt.Sprint("node", n))}
	m.note("%s", v.want.UID)
	m.do(1, func(s *queues.Store, _ *senders.Pool) answer {
		return m.said(nil, s.Record(m.ctx, v.want.UID, &a, f))
	}, func() answer { return m.brought(v.want.UID, &a, f) })
	return true
}

func (m *model) brought(uid string, a *tx.Attempt, f queues.Facts) answer {
	t := m.want.Read(uid)
	fact := explorer.Fact{Number: a.Number, Sender: a.Sender, Nonce: a.Nonce}
	if known := t.Attempt(a.Number); known != nil {
		if known.Hash == "" {
			fact.Hash = f.Hash
		}
		if known.NodeHash == "" {
			fact.NodeHash = f.NodeHash
		}
	}
	before := len(m.want.Record(uid).Facts)
	if err := m.want.AddFact(uid, fact); err != nil {
		return says("unsettled")
	}
	switch {
	case fact.Hash != "" || fact.NodeHash != "":
		m.look(explorer.Owner(t.Claim), uid)
	case len(m.want.Record(uid).Facts) > before: // which says nothing
		m.want.Record(uid).Facts = m.want.Record(uid).Facts[:before]
	}
	return answer{Text: "ok"}
}

// save keeps an older state, that may come back.
func (m *model) save() bool {
	m.saved = &saved{redistest.TakeSnapshot(m.T, m.client, m.key("*")), m.want.Clone(), m.clone()}
	return true
}

// failOver has Redis be another one, that knows the older state. Nothing is bound and
// nothing may leave until it is settled.
func (m *model) failOver() bool {
	if m.saved == nil {
		return false
	}
	m.saved.snapshot.Load(m.T, m.client)
	m.ok(m.client.Set(m.ctx, m.key("is:server"), "former", 0).Err())
	m.ok(m.client.Del(m.ctx, m.key("recovery")).Err()) // it was of the former one
	m.want.FailOver(&m.saved.want)
	m.beside, m.saved = m.saved.beside, nil
	for uid, g := range m.gone {
		if !g.until.After(m.now) {
			delete(m.gone, uid)
		}
	}
	clear(m.views)
	m.heartbeats(me, -1)
	m.heartbeats(other, -1)
	return true
}

// settle ends what a failover began.
func (m *model) settle() bool {
	if !m.want.Unsettled {
		return false
	}
	s := m.open(m.options)
	_, err := s.Heartbeat(m.ctx, me, ttl, "") // with which it begins, if it has not
	m.ok(err)
	m.ok(m.client.HSet(m.ctx, m.key("recovery"), "since", 0).Err()) // long ago
	var server, turn string
	for _, p := range []string{me, other, me} {
		pulse, err := s.Heartbeat(m.ctx, p, ttl, "")
		m.ok(err)
		pulse, err = s.Heartbeat(m.ctx, p, ttl, pulse.Server)
		m.ok(err)
		m.procs[p] = m.now.Add(ttl)
		m.want.Renew(p)
		if server = pulse.Server; pulse.Turn {
			turn = p
		}
	}
	settled, err := s.Recovery().Settle(m.ctx, turn, server)
	m.ok(err)
	if !settled {
		m.Fatalf("not settled; %q has the turn", turn)
	}
	m.want.Unsettled = false
	m.leaving = true
	m.heard(false, m.firstDue())
	m.leaving = false
	return true
}

// adoptOne gives a transaction back an attempt that is forgotten, by any sender, whether its place
// is free or not.
func (m *model) adoptOne() bool {
	v, any := m.latest(func(t *tx.Transaction) bool {
		r := m.want.Record(t.UID) // what another sender paid for would be paid back to this one
		loose := t.Phase == tx.PhaseWaiting || t.Phase.Final()
		return loose && !t.Open() && r.Cost == 0 || t.Phase.Final() && m.draw(3)
	})
	accounts := m.accounts()
	if !any || len(accounts) == 0 {
		return false
	}
	account, process := one(m, accounts...), one(m, m.alive()...)
	if q := m.queueOf(v.want.Queue); q != nil && len(q.Run) > 0 && !m.draw(4) {
		account = m.want.Record(q.Run[0]).Txn.Sender // the one with which it was in flight
	}
	if a := m.want.Sender(account); a == nil || a.Gone || !m.lives(process) {
		return false
	}
	number := len(v.want.Attempts) + 1
	a := tx.Attempt{
		Number: number, Sender: account, Nonce: uint32(m.rand.IntN(9)), Fee: fee, ValidUntil: 30, Slot: 10,
		State: one(m, tx.Signed, tx.Sent), StartedAt: m.clock(),
	}
	out := func(t *tx.Transaction) *tx.Transaction {
		t = t.Clone()
		for i := range t.Attempts {
			if o := &t.Attempts[i]; !o.Over() {
				o.State, o.EndedAt = tx.Replaced, a.StartedAt
			}
		}
		t.Attempts = append(t.Attempts, a)
		reopened(t)
		t.Reopened = false
		return t
	}
	var bytes *lifecycle.BytesRead
	if m.draw(2) {
		bytes = &lifecycle.BytesRead{Number: number, Command: []byte("adopted")}
	}
	m.note("%s by %s for %s", v.want.UID, account, process)
	m.leaving = true
	defer func() { m.leaving = false }()
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		err := s.Recovery().Adopt(m.ctx, process, v.real, out(v.real), bytes)
		if taken := new(queues.TakenError); errors.As(err, &taken) {
			return says("taken by %s", taken.By)
		}
		return m.said(nil, err)
	}, func() answer { return m.adopted(process, v.want, out(v.want), account, bytes) })
	return true
}

func (m *model) adopted(process string, before, after *tx.Transaction, account string,
	bytes *lifecycle.BytesRead) answer {
	t, q := m.want.Read(before.UID), m.queueOf(before.Queue)
	if t == nil || t.Revision != before.Revision || t.Phase.Bound() && t.Sender == account {
		return says("stale")
	}
	run := slices.Clone(q.Run)
	if by := m.want.Adopt(process, before, after, account, bytes); by != "" {
		return says("taken by %s", by)
	}
	if t.Phase.Final() {
		delete(m.due, "x:"+t.UID)
	}
	if t.Phase == tx.PhaseDone {
		delete(m.due, "c:"+t.UID)
	}
	if t.Claim != "" {
		m.look(explorer.Owner(t.Claim), t.UID)
		delete(m.own[explorer.Owner(t.Claim)], t.UID)
	}
	for _, uid := range run { // they are driven together
		for p := range m.own {
			delete(m.own[p], uid)
		}
		m.owe(process, uid, m.now)
	}
	m.owe(process, t.UID, m.now)
	m.restored[t.UID] = true
	return says("ok")
}

// repost gives back what is forgotten to have been accepted, or is there, or was removed.
func (m *model) repost() bool {
	item := m.item()
	t := &tx.Transaction{
		UID: item.UID, Queue: item.Queue, Type: item.Type, Data: item.Data, Terms: item.Terms, PostedBy: item.By,
		Sequence: max(1, m.want.Sequence+int64(m.rand.IntN(4))-1), ReceivedAt: m.clock().Add(-m.hours()),
	}
	head, q := m.want.Head(t.Queue), m.queueOf(t.Queue)
	if head != nil && (!head.NotBefore.IsZero() || !q.Hold.IsZero() || !q.Alone.IsZero()) {
		return false // the clock may be about to look at the queue, and the explorer's store leaves that to it
	}
	m.note("%s", t.UID)
	m.waits = true
	defer func() { m.waits = false }()
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		return m.said(nil, s.Recovery().Repost(m.ctx, t))
	}, func() answer {
		if m.want.Read(t.UID) != nil {
			return says("ok")
		}
		if _, gone := m.gone[t.UID]; gone {
			return says("gone")
		}
		m.posted[t.UID] = string(t.Data)
		if !t.ExpiresAt.IsZero() {
			m.due["d:"+t.UID] = t.ExpiresAt
		}
		m.want.Sequence = max(t.Sequence, m.want.Sequence+1) - 1
		restored := len(m.want.Log)
		m.enqueue(t.UID, t.Queue, t.Type, t.Terms, t.PostedBy)
		r := m.want.Record(t.UID)
		r.Txn.ReceivedAt, r.Txn.ChangedAt = t.ReceivedAt, t.ReceivedAt
		m.want.Log[restored].Code = "RESTORED"
		m.want.Unsettled = true
		return says("ok")
	})
	return true
}

// lookAtMarket asks what is known of it, for the turn to look or not, and tells what was seen.
func (m *model) lookAtMarket() bool {
	news := queues.MarketNews{Turn: m.hours(), Weights: map[string]int{}}
	if m.draw(2) {
		news.Look = &fees.Look{Size: m.rand.IntN(9), Ranks: []uint64{fee, uint64(m.rand.IntN(9))}[:1+m.rand.IntN(2)]}
	}
	if m.draw(2) {
		news.Weights[one(m, vote, batch)] = 1 + m.rand.IntN(9)
	}
	told := func(mine bool, looks []fees.Look, weights map[string]int) answer {
		a := says("%v %v", mine, weights)
		for i := range looks {
			a.Text += fmt.Sprintf("; %d of %d", looks[i].Ranks, looks[i].Size)
			a.At = looks[0].At
		}
		return a
	}
	m.do(0, func(s *queues.Store, _ *poolOf) answer {
		got, mine, err := s.Market(m.ctx, news)
		if err != nil {
			return m.said(nil, err)
		}
		return told(mine, got.Looks, got.Weights)
	}, func() answer {
		k := &m.market
		mine := news.Turn > 0 && !k.turn.After(m.now)
		if mine {
			k.turn = m.now.Add(news.Turn)
		}
		if !k.until.After(m.now) {
			k.looks = nil
		}
		if news.Look != nil {
			seen := fees.Look{At: m.now, Size: news.Look.Size, Ranks: news.Look.Ranks}
			k.looks = slices.Concat([]fees.Look{seen}, k.looks)[:min(len(k.looks)+1, fees.Looks)]
			k.until = m.now.Add(24 * hour)
		}
		maps.Copy(k.weights, news.Weights)
		return told(mine, k.looks, k.weights)
	})
	return true
}

// The operations on senders.

func (m *model) register() bool {
	account, url := m.account(), one(m, "http://a", "http://a", "http://b")
	m.note("%s", account)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		return m.said(nil, p.Register(m.ctx, account, url))
	}, func() answer {
		if a := m.want.Sender(account); a != nil && !a.Gone {
			if m.workers[account].url != url {
				return says("exists")
			}
			return says("ok")
		}
		m.want.Register(account, senders.Shared)
		m.workers[account] = worker{url: url, source: string(senders.ByAPI)}
		return says("ok")
	})
	return true
}

// configure has a configuration name one sender.
func (m *model) configure() bool {
	account, url, host := m.account(), one(m, "http://c", senders.Local), one(m, me, other)
	group := senders.Shared
	if url == senders.Local {
		group = senders.LocalGroup(account)
	}
	m.note("%s %s", account, url)
	m.do(-1, func(_ *queues.Store, p *poolOf) answer {
		p.SetHost(senders.Host{Process: host})
		return m.said(nil, p.Configure(m.ctx, map[string]string{account: url}))
	}, func() answer {
		w := m.workers[account]
		callers := slices.DeleteFunc(strings.Fields(w.by), func(p string) bool { return p == host || !m.lives(p) })
		callers = append(callers, host)
		if w.url, w.source, w.by = url, string(senders.ByConfiguration), ""; url == senders.Local {
			w.by = strings.Join(callers, " ")
		}
		m.workers[account] = w
		if a := m.want.Sender(account); a == nil || a.Gone {
			m.want.Register(account, group)
		} else {
			m.want.Configure(account, group)
		}
		for _, a := range m.accounts() {
			if w := m.workers[a]; w.source == string(senders.ByConfiguration) && a != account &&
				!slices.ContainsFunc(strings.Fields(w.by), m.lives) {
				m.want.Rest(a, lifecycle.Rest{For: queues.Never, Why: tx.Draining, By: "config"})
			}
		}
		return says("ok")
	})
	return true
}

// accounts are all senders in order of their accounts.
func (m *model) accounts() (all []string) {
	for i := range m.want.Senders {
		if !m.want.Senders[i].Gone {
			all = append(all, m.want.Senders[i].Account)
		}
	}
	slices.Sort(all)
	return all
}

// known says how an operation on a sender ends.
func (m *model) known(account string, does func()) answer {
	if a := m.want.Sender(account); a == nil || a.Gone {
		return says("gone")
	}
	does()
	return says("ok")
}

func (m *model) rest() bool {
	account := m.account()
	rest := lifecycle.Rest{For: one(m, queues.Never, m.hours()), Why: m.reason(), Detail: one(m, "", "in other words")}
	drain, nonce := m.draw(2), uint32(m.rand.IntN(4))
	for i := range m.want.Records { // which may turn out to be ours
		if a := m.want.Records[i].Txn.Last(); a != nil && m.draw(2) {
			account, nonce = a.Sender, a.Nonce
		}
	}
	stop := !drain && m.draw(3)
	switch {
	case drain:
		rest = lifecycle.Rest{For: queues.Never, Why: tx.Draining}
	case stop:
		rest = lifecycle.Rest{For: queues.Never, Why: tx.StoppedNonce, By: fmt.Sprint(nonce), Detail: rest.Detail}
	}
	if rest.Why == tx.OutcomeUnknown {
		return false // only by a transaction
	}
	m.note("%s %s", account, rest.Why)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		switch {
		case drain:
			return m.said(nil, p.Drain(m.ctx, account))
		case stop:
			return m.said(nil, p.Stop(m.ctx, account, nonce, rest.Detail))
		}
		return m.said(nil, p.Rest(m.ctx, account, rest.For, rest.Why, rest.Detail))
	}, func() answer { return m.known(account, func() { m.want.Rest(account, rest) }) })
	return true
}

func (m *model) resume() bool {
	account := m.account()
	m.note("%s", account)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		return m.said(nil, p.Resume(m.ctx, account))
	}, func() answer { return m.known(account, func() { m.want.Resume(account) }) })
	return true
}

func (m *model) unregister() bool {
	account := m.account()
	m.note("%s", account)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		return m.said(nil, p.Remove(m.ctx, account))
	}, func() answer {
		if a := m.want.Sender(account); a != nil && a.Queue != "" {
			return says("busy")
		}
		return m.known(account, func() {
			m.ok(m.want.Unregister(account))
			delete(m.workers, account)
		})
	})
	return true
}

// balance has the balance of an account watched, or only stored.
func (m *model) balance() bool {
	account, holds := m.account(), one[uint64](m, 9, 10, 11, 100)
	low, watch := one(m, "", "", "too little", "far too little"), !m.draw(4)
	m.note("%s %d", account, holds)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		if watch {
			return m.said(nil, p.Watch(m.ctx, account, holds, low))
		}
		return m.said(nil, p.SetBalance(m.ctx, account, holds))
	}, func() answer {
		return m.known(account, func() {
			w := m.workers[account]
			before, err := strconv.ParseUint(w.balance, 10, 64)
			funded := err != nil || before < holds
			w.balance = fmt.Sprint(holds)
			m.workers[account] = w
			switch {
			case !watch:
			case low != "":
				m.want.Rest(account, lifecycle.Rest{For: queues.Never, Why: tx.LowBalance, By: "watch", Detail: low})
			default:
				m.want.Lift(account, "RESTED_OVER", func(r explorer.Reason) bool {
					return r.Why == tx.LowBalance && (r.By == "watch" || r.By == "" && funded)
				})
			}
		})
	})
	return true
}
