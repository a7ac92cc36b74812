package queues_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explorer"
	"mina-sequencer/sequencer/lifecycle"
)

// read compares what the store shows.
func (m *model) read() bool {
	m.readLists()
	m.readPlaces()
	m.readOverview()
	m.readLog()
	m.readSenders()
	return true
}

// some are the transactions of the explorer's store that fit, in order of acceptance.
func (m *model) some(fits func(*lifecycle.Transaction) bool) (ts []*lifecycle.Transaction) {
	for i := range m.want.Records {
		if t := m.want.Records[i].Txn; fits(t) {
			ts = append(ts, t)
		}
	}
	return ts
}

func (m *model) readLists() {
	m.Helper()
	compare := func(f queues.Filter, fits func(*lifecycle.Transaction) bool) {
		want := []string{}
		for _, t := range m.some(fits) {
			want = append(want, t.UID)
		}
		equal(m.T, fmt.Sprintf("list %+v", f), m.list(f, 1+m.rand.IntN(4)), want)
	}
	compare(queues.Filter{}, func(*lifecycle.Transaction) bool { return true })
	for i := range m.want.Queues {
		name := m.want.Queues[i].Name
		compare(queues.Filter{Queue: name}, func(t *lifecycle.Transaction) bool { return t.Queue == name })
		compare(queues.Filter{Queue: name, State: lifecycle.Waiting}, func(t *lifecycle.Transaction) bool {
			return t.Queue == name && t.Phase == lifecycle.PhaseWaiting
		})
	}
	state := one(m, lifecycle.States...)
	compare(queues.Filter{State: state}, func(t *lifecycle.Transaction) bool { return t.State() == state })
}

func (m *model) readPlaces() {
	m.Helper()
	for i := range m.want.Queues {
		q := &m.want.Queues[i]
		want := &queues.Queue{
			Name: q.Name, Phase: lifecycle.PhaseWaiting, Running: q.Run, Paused: q.Paused, Counts: map[lifecycle.State]int64{},
		}
		for _, s := range lifecycle.States {
			of := m.some(func(t *lifecycle.Transaction) bool { return t.Queue == q.Name && t.State() == s })
			want.Counts[s] = int64(len(of))
		}
		if r := m.want.Record(q.Run); r != nil {
			want.Phase, want.Sender, want.Retries, want.NextAt = r.Txn.Phase, r.Txn.Sender, r.Txn.Retries, r.Txn.DueAt
		} else if q.Hold.After(m.now) {
			want.NextAt = q.Hold
		}
		got, err := m.store.Queue(m.ctx, q.Name)
		m.ok(err)
		if got.Running == "" && !got.NextAt.After(m.now) {
			got.NextAt = time.Time{} // it was held
		}
		m.ok(m.store.FindOldest(m.ctx, got))
		first := ""
		if head := m.want.Head(q.Name); head != nil {
			want.OldestWaiting, first = head.ReceivedAt, head.UID
		}
		m.same("queue "+q.Name, got, want)
		if q.Run != "" {
			first = q.Run
		}
		for _, t := range m.some(func(t *lifecycle.Transaction) bool { return t.Queue == q.Name }) {
			m.readPlace(t, q, first)
		}
	}
	_, err := m.store.Place(m.ctx, "nobody")
	_, there := m.store.Queue(m.ctx, "nowhere")
	if !errors.Is(err, queues.ErrNotFound) || !errors.Is(there, queues.ErrNotFound) {
		m.Fatal("there is nobody", err, there)
	}
}

func (m *model) readPlace(t *lifecycle.Transaction, q *explorer.Queue, first string) {
	m.Helper()
	before := len(m.some(func(o *lifecycle.Transaction) bool {
		return o.Queue == t.Queue && o.Phase == lifecycle.PhaseWaiting && o.Sequence < t.Sequence
	}))
	if t.Phase == lifecycle.PhaseWaiting {
		want := lifecycle.Place{Ahead: before, First: first}
		if q.Hold.After(m.now) {
			want.Holder, want.Hold = q.Holder, q.Hold
		}
		got, err := m.store.Place(m.ctx, t.UID)
		m.ok(err)
		m.same("the place of "+t.UID, got, want)
	}
	if t.Phase.Bound() {
		overtaken, err := m.store.Overtaken(m.ctx, t)
		m.ok(err)
		equal(m.T, t.UID+" is overtaken", overtaken, before > 0)
	}
}

func (m *model) readOverview() {
	m.Helper()
	got, err := m.store.Overview(m.ctx)
	m.ok(err)
	want := queues.Overview{
		At: m.now, States: map[lifecycle.State]int64{}, Types: map[string]queues.Load{vote: {}, batch: {}},
		Queues: int64(len(m.want.Queues)), Events: int64(len(m.want.Log) - m.trimmed), Fees: map[string]uint64{},
	}
	for p := range m.procs {
		if m.lives(p) {
			want.Processes++
		}
	}
	see := func(typ string, count func(*queues.Load), received time.Time) {
		l := want.Types[typ]
		if count(&l); !received.IsZero() && (l.Oldest.IsZero() || received.Before(l.Oldest)) {
			l.Oldest = received
		}
		want.Types[typ] = l
	}
	for _, s := range lifecycle.States {
		want.States[s] = 0
	}
	for i := range m.want.Records {
		t := m.want.Records[i].Txn
		want.States[t.State()]++
		switch {
		case t.Phase == lifecycle.PhaseWaiting:
			see(t.Type, func(l *queues.Load) { l.Waiting++ }, time.Time{})
		case t.Phase.Bound():
			see(t.Type, func(l *queues.Load) { l.Bound++ }, t.ReceivedAt)
		}
	}
	ready, free := m.want.Turns()
	for _, name := range ready {
		head := m.want.Head(name)
		see(head.Type, func(l *queues.Load) { l.Ready++ }, head.ReceivedAt)
	}
	for _, f := range m.want.Fees {
		if f.Cost != 0 && f.Day == m.now.Unix()/86400 {
			want.Fees[f.Sender] = f.Cost
		}
	}
	for account, cost := range got.Fees {
		if cost == 0 {
			delete(got.Fees, account)
		}
	}
	var none queues.Load
	for typ := range want.Types { // the first of it may be still to come
		if _, posted := got.Types[typ]; !posted && want.Types[typ] == none {
			delete(want.Types, typ)
		}
	}
	m.same("the overview", got, want)
	bindable, err := m.store.Bindable(m.ctx, []string{vote, batch}, []string{senders.Shared})
	m.ok(err)
	shared := slices.ContainsFunc(free, func(a string) bool { return m.want.Sender(a).Group == senders.Shared })
	equal(m.T, "a bind is possible", bindable, len(ready) > 0 && shared)
}

func (m *model) readLog() {
	m.Helper()
	kept := m.want.Log[m.trimmed:]
	after, limit := m.trimmed+m.rand.IntN(len(kept)+3)-1, 1+m.rand.IntN(5)
	got, err := m.store.ReadLog(m.ctx, int64(max(0, after)), limit)
	m.ok(err)
	event := func(n int) (e queues.Event) {
		if n <= m.trimmed || n > len(m.want.Log) {
			return e
		}
		w := m.want.Log[n-1]
		return queues.Event{
			Number: int64(n), At: w.At, Kind: queues.EventKind(w.Kind), ID: w.ID, Sender: w.Sender,
			From: lifecycle.Phase(w.From),
			To:   lifecycle.Phase(w.To), Attempt: w.Attempt, Code: w.Code,
		}
	}
	want := queues.LogPart{Epoch: got.Epoch, First: int64(m.trimmed + 1), Last: int64(len(m.want.Log))}
	want.Newest, want.Before = event(len(m.want.Log)), event(max(0, after))
	for n := max(m.trimmed, after) + 1; n <= len(m.want.Log) && len(want.Entries) < limit; n++ {
		e := queues.Entry{Event: event(n)}
		if e.Kind == queues.OfTransaction {
			if r := m.want.Record(e.ID); r != nil {
				e.Type, e.Queue = r.Txn.Type, r.Txn.Queue
			} else {
				e.Type, e.Queue = m.gone[e.ID].typ, m.gone[e.ID].queue
			}
		}
		want.Entries = append(want.Entries, e)
	}
	m.same("a part of the log", got, want)
}

func (m *model) readSenders() {
	m.Helper()
	for i := range m.want.Senders {
		a := &m.want.Senders[i]
		if a.Gone {
			continue
		}
		got, err := m.pool.Get(m.ctx, a.Account)
		m.ok(err)
		if a.Known != (got.Nonce != nil) || a.Known && *got.Nonce != a.Next || got.Queue != a.Queue {
			m.Fatalf("the sender is %+v, want %+v", *got, *a)
		}
		highest, any, err := m.store.HighestLanded(m.ctx, a.Account)
		m.ok(err)
		nonce, lands := m.want.HighestLanded(a.Account)
		equal(m.T, "what has landed of "+a.Account, fmt.Sprint(highest, any), fmt.Sprint(nonce, lands))
	}
}

// full has Redis have no memory left: what is new is refused, and the rest goes on.
func (m *model) full() bool {
	if m.exact {
		return false
	}
	m.ok(m.client.ConfigSet(m.ctx, "maxmemory", "1").Err())
	defer func() { m.ok(m.client.ConfigSet(m.ctx, "maxmemory", "0").Err()) }()
	a := m.store.Enqueue(m.ctx, queues.Item{UID: "too much", Queue: "q0", Type: vote, Data: []byte(`{}`)})
	if !errors.Is(a.Err, queues.ErrFull) {
		m.Fatalf("Redis is full: %+v", a)
	}
	return m.change()
}

// rate lets some requests through, as a bucket does that drips at an even pace.
func (m *model) rate() bool {
	if !m.exact {
		return false
	}
	between, ahead := int64(one(m, 1000, 999_999)), int64(one(m, 0, 2_500_000))
	args, want := []any{between, ahead}, []int64{}
	micros := time.Now().UnixMicro()
	for _, name := range []string{"a", "b"}[:1+m.rand.IntN(2)] {
		charged, wanted := int64(m.rand.IntN(3)), int64(m.rand.IntN(4))
		args = append(args, name, charged, wanted)
		used := max(m.used[name], micros) + between*charged
		through := int64(0)
		for through < wanted && used+between <= micros+ahead {
			through, used = through+1, used+between
		}
		if m.used[name] = used; used <= micros {
			delete(m.used, name)
		}
		want = append(want, through, max(0, used+between-micros-ahead))
	}
	got, err := m.store.Rate(m.ctx, args...)
	m.ok(err)
	equal(m.T, "the rate", got, want)
	return true
}
