package queues_test

import (
	"fmt"
	"slices"
	"strconv"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explorer"
	"mina-sequencer/sequencer/lifecycle"
)

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
	group, by := senders.Shared, ""
	if url == senders.Local {
		group, by = senders.LocalGroup(account), host
	}
	m.note("%s %s", account, url)
	m.do(-1, func(_ *queues.Store, p *poolOf) answer {
		p.SetHost(senders.Host{Process: host})
		return m.said(nil, p.Configure(m.ctx, map[string]string{account: url}))
	}, func() answer {
		w := m.workers[account]
		w.url, w.source, w.by = url, string(senders.ByConfiguration), by
		m.workers[account] = w
		if a := m.want.Sender(account); a == nil || a.Gone {
			m.want.Register(account, group)
		} else {
			m.want.Configure(account, group)
		}
		for _, a := range m.accounts() {
			if w := m.workers[a]; w.source == string(senders.ByConfiguration) && a != account && (w.by == "" || !m.lives(w.by)) {
				m.want.Rest(a, lifecycle.Rest{For: queues.Never, Why: lifecycle.Draining, By: "config"})
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
	drain := m.draw(2)
	if drain {
		rest = lifecycle.Rest{For: queues.Never, Why: lifecycle.Draining}
	}
	if rest.Why == lifecycle.OutcomeUnknown {
		return false // only by a transaction
	}
	m.note("%s %s", account, rest.Why)
	m.do(0, func(_ *queues.Store, p *poolOf) answer {
		if drain {
			return m.said(nil, p.Drain(m.ctx, account))
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
				m.want.Rest(account, lifecycle.Rest{For: queues.Never, Why: lifecycle.LowBalance, By: "watch", Detail: low})
			default:
				m.want.Lift(account, "RESTED_OVER", func(r explorer.Reason) bool {
					return r.Why == lifecycle.LowBalance && (r.By == "watch" || r.By == "" && funded)
				})
			}
		})
	})
	return true
}
