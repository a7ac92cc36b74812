package queues_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/tx"
)

// same compares, times as exactly as they can be known.
func (m *model) same(what string, got, want any) {
	m.Helper()
	if m.exact && reflect.DeepEqual(got, want) { // which is much faster
		return
	}
	alike := gocmp.Comparer(func(a, b time.Time) bool {
		return a.Equal(b) || !m.exact && !a.IsZero() && !b.IsZero() && a.Sub(b).Abs() < time.Minute
	})
	d := gocmp.Diff(want, got, alike, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(tx.Transaction{}),
		cmpopts.EquateComparable(worker{}))
	if d != "" {
		m.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// whole is a record of the explorer's store as the real one shows it.
func (m *model) whole(t *tx.Transaction) *tx.Transaction {
	c := t.Clone()
	c.Data, c.Counted = json.RawMessage(m.posted[t.UID]), m.want.Record(t.UID).Cost
	return c
}

// adopt puts the real tokens of claims in the place of those of the explorer's store. Each
// stands for one.
func (m *model) adopt(want, got []*tx.Transaction) {
	m.Helper()
	for i := range min(len(want), len(got)) {
		here, there := got[i].Claim, want[i].Claim
		if _, known := m.claims[there]; !known && explorer.Owner(here) == explorer.Owner(there) {
			for _, other := range m.claims {
				if other == here {
					m.Fatalf("the token %s is given twice", here)
				}
			}
			m.claims[there] = here
		}
		want[i].Claim = m.claims[there]
	}
}

// xWords are the words of what changes of a transaction, as lib.lua names them.
var xWords = strings.Fields("revision operation claim phase sender since due open callback tries overtaken fees facts")

// compare holds all that is stored against the explorer's store.
func (m *model) compare() {
	m.Helper()
	d := m.dump()
	m.compareTransactions(&d)
	m.compareQueues(&d)
	m.compareSenders(&d)
	m.compareTimes(&d)
	m.compareLog(&d)
}

func (m *model) compareTransactions(d *dump) {
	m.Helper()
	uids := make([]string, len(m.want.Records))
	want := make([]*tx.Transaction, len(uids))
	for i := range m.want.Records {
		uids[i] = m.want.Records[i].Txn.UID
		want[i] = m.whole(m.want.Read(uids[i]))
	}
	got, err := m.store.GetMany(m.ctx, uids)
	m.ok(err)
	m.adopt(want, got)
	m.same("transactions", got, want)
	equal(m.T, "how many there are", len(d.transactions()), len(want))
	for i, uid := range uids {
		m.compareBeside(d, &m.want.Records[i])
		of := m.views[uid]
		if last := len(of) - 1; last < 0 || of[last].want != m.want.Read(uid) {
			m.views[uid] = append(of, view{got[i], m.want.Read(uid)})
		}
	}
	for uid := range m.views {
		if m.want.Record(uid) == nil {
			delete(m.views, uid)
		}
	}
}

// compareBeside compares what scripts read or write of a transaction.
func (m *model) compareBeside(d *dump, r *explorer.Record) {
	m.Helper()
	uid := r.Txn.UID
	facts := map[string]string{}
	for _, f := range r.Facts {
		for name, value := range map[string]string{"hash": f.Hash, "nodeHash": f.NodeHash} {
			if value != "" {
				facts[fmt.Sprintf("%d %s %d %s", f.Number, f.Sender, f.Nonce, name)] = value
			}
		}
	}
	equal(m.T, "facts of "+uid, d.hashes["f:"+uid], facts)
	head, _, changed := strings.Cut(d.strings["x:"+uid], "\n")
	equal(m.T, uid+" has changed", changed, r.Txn.Revision > 0)
	words := map[string]string{}
	for i, w := range strings.Split(head, " ") {
		words[xWords[i]] = w
	}
	open := 0
	for i := range r.Txn.Attempts {
		if r.Txn.Attempts[i].Open() {
			open++
		}
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	equal(m.T, "open attempts of "+uid, number(words["open"]), open)
	equal(m.T, "facts of "+uid, number(words["facts"]), len(facts))
	equal(m.T, uid+" is overtaken", words["overtaken"] != "", r.Overtaken)
	if fees := strings.Split(words["fees"], ":"); len(fees) == 3 && fees[1] != "0" {
		equal(m.T, "day and fees of "+uid, fees[1:], []string{fmt.Sprint(r.Counted.Day), fmt.Sprint(r.Counted.Cost)})
	} else {
		equal(m.T, "fees of "+uid, r.Counted, explorer.Spent{})
	}
	if _, there := d.strings["b:"+uid]; !there || r.Bytes == nil {
		equal(m.T, "bytes of "+uid, there, r.Bytes != nil)
		return
	}
	number1, command, err := m.store.Signed(m.ctx, uid)
	m.ok(err)
	equal(m.T, "bytes of "+uid, fmt.Sprint(number1, string(command)), fmt.Sprint(r.Bytes.Number, string(r.Bytes.Command)))
}

type queueState struct {
	Run, Sender, Holder, Paused string
	Hold, Alone, Till           time.Time
	Streak, Width               string
}

func (m *model) compareQueues(d *dump) {
	m.Helper()
	got, want := map[string]queueState{}, map[string]queueState{}
	for name := range d.sets["queues"] {
		q := d.hashes["q:"+name]
		s := queueState{Run: q["run"], Sender: q["sender"], Paused: q["paused"], Streak: q["streak"], Width: q["width"],
			Till: fromScore(q["till"])}
		if hold := fromScore(q["hold"]); hold.After(m.now) {
			s.Hold, s.Holder = hold, q["holder"]
			if mark, alone := strings.CutPrefix(q["holder"], "!"); alone {
				mark, s.Holder, _ = strings.Cut(mark, ",")
				s.Alone = fromScore(mark)
			}
		}
		got[name] = s
	}
	for i := range m.want.Queues {
		q := &m.want.Queues[i]
		s := queueState{Run: strings.Join(q.Run, ","), Paused: q.Paused, Till: q.Till}
		if q.Streak > 0 {
			s.Streak = fmt.Sprint(q.Streak)
		}
		if q.Width > 0 {
			s.Width = fmt.Sprint(q.Width)
		}
		if q.Hold.After(m.now) {
			s.Hold, s.Alone, s.Holder = q.Hold, q.Alone, strings.Join(q.Holder, ",")
		}
		if len(q.Run) > 0 {
			s.Sender = m.want.Record(q.Run[0]).Txn.Sender
		}
		want[q.Name] = s
	}
	m.same("queues", got, want)
	since, free := map[string]float64{}, map[string]float64{}
	for name, set := range d.sets {
		switch kind, _, _ := strings.Cut(name, ":"); kind {
		case "ready":
			maps.Copy(since, set)
		case "round":
			for member := range set {
				at, queue, _ := strings.Cut(member, " ")
				since[queue], _ = strconv.ParseFloat(at, 64)
			}
		case "free":
			maps.Copy(free, set)
		}
	}
	ready, unbound := m.want.Turns()
	equal(m.T, "queues that can be bound", byScore(since), ready)
	equal(m.T, "free senders", byScore(free), unbound)
}

func byScore(set map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(set), func(a, b string) int { return cmp.Compare(set[a], set[b]) })
}

func fromScore(s string) time.Time {
	ms, _ := strconv.ParseInt(s, 10, 64)
	if s == "" {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

type senderState struct {
	Worker              worker
	Group, Queue, Next  string
	Streak              string
	Reasons             map[string]explorer.Reason
	Reason              string
	Until               time.Time
	ExplainedAsAnyOfThe bool // gravest
}

func (m *model) compareSenders(d *dump) {
	m.Helper()
	got, want := map[string]senderState{}, map[string]senderState{}
	for account := range d.sets["senders"] {
		h := d.hashes["s:"+account]
		s := senderState{
			Group: h["group"], Queue: h["queue"], Next: h["next"], Streak: h["streak"], Reason: h["reason"],
			Worker: worker{h["url"], h["source"], h["by"], h["balance"]}, Until: fromScore(h["until"]),
			Reasons: map[string]explorer.Reason{},
		}
		for field, value := range h {
			if name, is := strings.CutPrefix(field, "why:"); is {
				why, by, _ := strings.Cut(name, ":")
				ends, detail, _ := strings.Cut(value, " ")
				r := explorer.Reason{Why: tx.SenderReason(why), By: by, Detail: detail}
				if ends != "0" {
					r.Until = fromScore(ends)
				}
				s.Reasons[name] = r
				if why == s.Reason && r.Until.Equal(s.Until) && detail == h["detail"] {
					s.ExplainedAsAnyOfThe = true
				}
			}
		}
		got[account] = s
	}
	for i := range m.want.Senders {
		a := &m.want.Senders[i]
		if a.Gone {
			continue
		}
		s := senderState{Worker: m.workers[a.Account], Group: a.Group, Queue: a.Queue, Reasons: map[string]explorer.Reason{}}
		if a.Known {
			s.Next = fmt.Sprint(a.Next)
		}
		if a.Streak > 0 {
			s.Streak = fmt.Sprint(a.Streak)
		}
		for _, r := range a.Reasons {
			s.Reasons[strings.TrimSuffix(fmt.Sprint(r.Why, ":", r.By), ":")] = r
		}
		shown, any := a.Shown()
		s.Reason, s.Until, s.ExplainedAsAnyOfThe = string(shown.Why), shown.Until, any
		want[a.Account] = s
	}
	m.same("senders", got, want)
	landed, stands := map[string]float64{}, map[string]float64{}
	for name, set := range d.sets {
		if account, is := strings.CutPrefix(name, "landed:"); is {
			for uid, nonce := range set {
				landed[account+" "+uid] = nonce
			}
		}
	}
	for _, l := range m.want.Landed {
		stands[l.Account+" "+l.UID] = float64(l.Nonce)
	}
	equal(m.T, "what has landed", landed, stands)
	fees, spent := map[string]string{}, map[string]string{}
	for key, of := range d.hashes {
		if day, is := strings.CutPrefix(key, "fees:"); is {
			all := 0
			for account, cost := range of {
				if n, _ := strconv.Atoi(cost); account == "*" {
					all -= n
				} else if all += n; n != 0 {
					fees[day+" "+account] = cost
				}
			}
			equal(m.T, "fees beside their sum", all, 0)
			sum, _ := strconv.ParseFloat(of["*"], 64)
			for _, cost := range d.sets["spent:"+day] {
				sum -= cost
			}
			equal(m.T, "fees of queues beside their sum", sum, 0)
		}
	}
	for _, f := range m.want.Fees {
		if kept := time.Unix(0, 0).AddDate(0, 0, int(f.Day)+2); f.Cost != 0 && m.now.Before(kept) {
			spent[fmt.Sprint(f.Day, " ", f.Sender)] = fmt.Sprint(f.Cost)
		}
	}
	for key := range fees { // it is kept for two days from the last that is counted first
		if day, _, _ := strings.Cut(key, " "); fees[key] != "" && spent[key] == "" && m.old(day) {
			delete(fees, key)
		}
	}
	equal(m.T, "fees", fees, spent)
	budgets := map[explorer.BudgetOf]int64{}
	for key, of := range d.hashes {
		if day, is := strings.CutPrefix(key, "budgets:"); is {
			for name, cost := range of {
				n, _ := strconv.ParseInt(day, 10, 64)
				budgets[explorer.BudgetOf{Name: name, Day: n}], _ = strconv.ParseInt(cost, 10, 64)
			}
		}
	}
	for b, cost := range m.want.Budgets {
		if _, kept := budgets[b]; kept || !m.old(fmt.Sprint(b.Day)) {
			equal(m.T, fmt.Sprint("budget ", b), budgets[b], cost)
		}
	}
}

// old reports whether a day is longer ago than fees are surely kept.
func (m *model) old(day string) bool {
	n, _ := strconv.Atoi(day)
	return !m.now.Before(time.Unix(0, 0).AddDate(0, 0, n+2))
}

// compareTimes compares when somebody is to look.
func (m *model) compareTimes(d *dump) {
	m.Helper()
	times := func(set map[string]float64) map[string]time.Time {
		out := map[string]time.Time{}
		for name, score := range set {
			out[name] = time.Time{}
			if !math.IsInf(score, 1) {
				out[name] = time.UnixMilli(int64(score)).UTC()
			}
		}
		return out
	}
	own := map[string]map[string]time.Time{}
	for name, set := range d.sets {
		if process, is := strings.CutPrefix(name, "own:"); is {
			own[process] = times(set)
		}
	}
	for process, of := range m.own {
		if len(of) == 0 {
			delete(m.own, process)
		}
	}
	m.same("what processes are to look at", own, m.own)
	m.rests()
	m.same("what is due", times(d.sets["due"]), m.due)
	m.same("processes", times(d.sets["procs"]), m.procs)
	gone, kept := map[string]string{}, map[string]string{}
	for key, value := range d.strings {
		if uid, is := strings.CutPrefix(key, "gone:"); is {
			gone[uid] = value
		}
	}
	for uid, g := range m.gone {
		kept[uid] = g.typ + " " + g.queue
	}
	equal(m.T, "keys of what was removed", gone, kept)
}

func (m *model) compareLog(d *dump) {
	m.Helper()
	got, want := []explorer.Event{}, m.want.Log[m.trimmed:]
	for i, e := range d.events {
		if e.Number != m.trimmed+i+1 {
			m.Fatalf("event %d has number %d", m.trimmed+i+1, e.Number)
		}
		attempt, _ := strconv.Atoi(e.Attempt)
		got = append(got, explorer.Event{
			At: fromScore(d.told[i]), Kind: e.Kind, ID: e.ID, Sender: e.Sender, From: e.From, To: e.To,
			Attempt: attempt, Code: e.Code,
		})
	}
	m.same("the log", got, want)
}

// read compares what the store shows.
func (m *model) read() bool {
	m.readLists()
	m.readPlaces()
	m.readOverview()
	m.readLog()
	m.readSenders()
	m.readSpent()
	return true
}

// readSpent compares what senders have cost, and by the index what queues have.
func (m *model) readSpent() {
	m.Helper()
	got, want := map[string]uint64{}, map[string]uint64{}
	all, err := m.store.Spent(m.ctx)
	m.ok(err)
	today := int64(m.now.Sub(time.Unix(0, 0)) / (24 * hour))
	kept := func(day int64) bool { return day > today-7 && day <= today && !m.old(fmt.Sprint(day)) }
	for _, s := range all {
		if day := s.Day.Unix() / 86400; kept(day) {
			got[fmt.Sprint(day, " ", s.Sender, "/", s.Queue)] = s.Fee
		}
	}
	for _, f := range m.want.Fees {
		if f.Cost > 0 && kept(f.Day) {
			want[fmt.Sprint(f.Day, " ", f.Sender, "/")] = uint64(f.Cost)
		}
	}
	for name, set := range m.dump().sets {
		day, is := strings.CutPrefix(name, "spent:")
		n, _ := strconv.ParseInt(day, 10, 64)
		for queue, cost := range set {
			if is && cost > 0 && kept(n) {
				want[fmt.Sprint(n, " /", queue)] = uint64(cost)
			}
		}
	}
	equal(m.T, "what was spent", got, want)
}

// some are the transactions of the explorer's store that fit, in order of acceptance.
func (m *model) some(fits func(*tx.Transaction) bool) (ts []*tx.Transaction) {
	for i := range m.want.Records {
		if t := m.want.Records[i].Txn; fits(t) {
			ts = append(ts, t)
		}
	}
	return ts
}

func (m *model) readLists() {
	m.Helper()
	compare := func(f queues.Filter, fits func(*tx.Transaction) bool) {
		want := []string{}
		for _, t := range m.some(fits) {
			want = append(want, t.UID)
		}
		equal(m.T, fmt.Sprintf("list %+v", f), m.list(f, 1+m.rand.IntN(4)), want)
	}
	compare(queues.Filter{}, func(*tx.Transaction) bool { return true })
	for i := range m.want.Queues {
		name := m.want.Queues[i].Name
		compare(queues.Filter{Queue: name}, func(t *tx.Transaction) bool { return t.Queue == name })
		compare(queues.Filter{Queue: name, State: tx.Waiting}, func(t *tx.Transaction) bool {
			return t.Queue == name && t.Phase == tx.PhaseWaiting
		})
	}
	state := one(m, tx.States...)
	compare(queues.Filter{State: state}, func(t *tx.Transaction) bool { return t.State() == state })
}

func (m *model) readPlaces() {
	m.Helper()
	for i := range m.want.Queues {
		q := &m.want.Queues[i]
		want := &queues.Queue{
			Name: q.Name, Phase: tx.PhaseWaiting, InFlight: q.Run, Paused: q.Paused, PausedUntil: q.Till, Width: q.Width,
			Counts: map[tx.State]int64{},
		}
		for _, s := range tx.States {
			of := m.some(func(t *tx.Transaction) bool { return t.Queue == q.Name && t.State() == s })
			want.Counts[s] = int64(len(of))
		}
		if len(q.Run) > 0 {
			want.Running = q.Run[0]
		}
		if r := m.want.Record(want.Running); r != nil {
			want.Phase, want.Sender, want.Retries, want.NextAt = r.Txn.Phase, r.Txn.Sender, r.Txn.Retries, r.Txn.DueAt
			want.Claim = m.claims[r.Txn.Claim]
		} else if q.Hold.After(m.now) {
			want.NextAt = q.Hold
		}
		got, err := m.store.Queue(m.ctx, q.Name)
		m.ok(err)
		if got.Running == "" && !got.NextAt.After(m.now) {
			got.NextAt = time.Time{} // it was held
		}
		ready, _ := m.want.Turns()
		equal(m.T, q.Name+" waits for nothing but a sender", !got.ReadySince.IsZero(), slices.Contains(ready, q.Name))
		got.ReadySince = time.Time{}
		m.ok(m.store.FindOldest(m.ctx, got))
		first := ""
		if head := m.want.Head(q.Name); head != nil {
			want.OldestWaiting, first = head.ReceivedAt, head.UID
		}
		m.same("queue "+q.Name, got, want)
		if len(q.Run) > 0 {
			first = q.Run[0]
		}
		for _, t := range m.some(func(t *tx.Transaction) bool { return t.Queue == q.Name }) {
			m.readPlace(t, q, first)
		}
	}
	_, err := m.store.Place(m.ctx, "nobody")
	_, there := m.store.Queue(m.ctx, "nowhere")
	if !errors.Is(err, queues.ErrNotFound) || !errors.Is(there, queues.ErrNotFound) {
		m.Fatal("there is nobody", err, there)
	}
}

func (m *model) readPlace(t *tx.Transaction, q *explorer.Queue, first string) {
	m.Helper()
	before := len(m.some(func(o *tx.Transaction) bool {
		return o.Queue == t.Queue && o.Phase == tx.PhaseWaiting && o.Sequence < t.Sequence
	}))
	if t.Phase == tx.PhaseWaiting {
		want := tx.Place{Ahead: before, First: first}
		if q.Hold.After(m.now) {
			want.Holder, want.Hold = slices.Concat(q.Holder, []string{""})[0], q.Hold
		}
		got, err := m.store.Place(m.ctx, t.UID)
		m.ok(err)
		m.same("the place of "+t.UID, got, want)
	}
	if t.Phase.Bound() {
		overtaken, err := m.store.Overtaken(m.ctx, t)
		m.ok(err)
		if !m.restored[t.UID] { // else those before it may never have been bound
			equal(m.T, t.UID+" is overtaken", overtaken, before > 0)
		}
	}
}

func (m *model) readOverview() {
	m.Helper()
	got, err := m.store.Overview(m.ctx)
	m.ok(err)
	want := queues.Overview{
		At: m.now, States: map[tx.State]int64{}, Types: map[string]queues.Load{vote: {}, batch: {}},
		Queues: int64(len(m.want.Queues)), Events: int64(len(m.want.Log) - m.trimmed), Fees: map[string]uint64{},
		Stops: m.stops,
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
	for _, s := range tx.States {
		want.States[s] = 0
	}
	for i := range m.want.Records {
		t := m.want.Records[i].Txn
		want.States[t.State()]++
		switch {
		case t.Phase == tx.PhaseWaiting:
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
	want.Limited, want.LimitedInAll = got.Limited, got.LimitedInAll // inspectQueue holds these to the reasons of pauses
	m.same("the overview", got, want)
	waits, idle, err := m.store.Demand(m.ctx, []string{vote, batch}, []string{senders.Shared})
	m.ok(err)
	shared := slices.ContainsFunc(free, func(a string) bool { return m.want.Sender(a).Group == senders.Shared })
	equal(m.T, "a queue is ready, a sender is free", []bool{waits, idle}, []bool{len(ready) > 0, shared})
}

func (m *model) readLog() {
	m.Helper()
	kept := m.want.Log[m.trimmed:]
	after, limit := m.trimmed+m.rand.IntN(len(kept)+3)-1, 1+m.rand.IntN(5)
	got, err := m.store.ReadLog(m.ctx, int64(max(0, after)), limit)
	m.ok(err)
	d := m.dump()
	event := func(n int) (e queues.Event) {
		if n <= m.trimmed || n > len(m.want.Log) {
			return e
		}
		w := m.want.Log[n-1]
		e = queues.Event{
			Number: int64(n), At: w.At, Kind: queues.EventKind(w.Kind), ID: w.ID, Sender: w.Sender,
			From: tx.Phase(w.From),
			To:   tx.Phase(w.To), Attempt: w.Attempt, Code: w.Code,
		}
		if e.Kind != queues.OfSender {
			showed := d.showed[n-1-m.trimmed]
			e.QueueFrom, e.QueueTo = tx.Phase(showed[0]).Queue(), tx.Phase(showed[1]).Queue()
		}
		return e
	}
	want := queues.LogPart{Epoch: got.Epoch, Doubted: m.want.Unsettled}
	want.First, want.Last = int64(m.trimmed+1), int64(len(m.want.Log))
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
	m.surely = true // an answer that gets lost may be that it is full
	defer func() { m.surely = false }()
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
