package queues_test

import (
	"fmt"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explorer"
	"mina-sequencer/sequencer/lifecycle"
)

// What comes from outside: a person's orders, facts, and another Redis.

// order is a person's, by the rules of the domain.
func (m *model) order() bool {
	what := one(m, lifecycle.OrderCancel, lifecycle.OrderCancel, lifecycle.OrderRetry, lifecycle.OrderDead)
	v, any := m.latest(func(t *lifecycle.Transaction) bool { return what == lifecycle.OrderCancel != t.Phase.Final() })
	if !any {
		return false
	}
	ask := func(t *lifecycle.Transaction) (lifecycle.Step, error) {
		v := lifecycle.View{Txn: t, Policy: policy, Now: m.clock(), Clock: m.clock()}
		return lifecycle.Ask(&v, lifecycle.Order{What: what})
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
	v, any := m.latest(func(t *lifecycle.Transaction) bool { return len(t.Attempts) > 0 })
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

func (m *model) brought(uid string, a *lifecycle.Attempt, f queues.Facts) answer {
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
	m.want.FailOver(&m.saved.want)
	m.beside, m.saved = m.saved.beside, nil
	for uid, g := range m.gone {
		if !g.until.After(m.now) {
			delete(m.gone, uid)
		}
	}
	clear(m.views)
	m.beats(me, -1)
	m.beats(other, -1)
	return true
}

// settle ends what a failover began.
func (m *model) settle() bool {
	if !m.want.Unsettled {
		return false
	}
	m.ok(m.client.HSet(m.ctx, m.key("recovery"), "since", 0).Err()) // long ago
	s := m.open(m.options)
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
	m.heard(false)
	m.leaving = false
	return true
}
