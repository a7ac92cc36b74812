package queues_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// backends runs each case on an embedded Redis in a bubble of its own, and on a
// real one in a namespace of its own.
func backends(t *testing.T, cases map[string]func(*fixture)) {
	t.Helper()
	onBackends(t, cases, true)
}

// onBackends holds what a case left against the rules only if it is to be whole.
func onBackends(t *testing.T, cases map[string]func(*fixture), whole bool) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		lane.NoRace(t, "its scripts run in Go, by one goroutine; the real one is beside it")
		t.Parallel()
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { newFixture(t, redistest.Mini(t).Client, "seq").run(run, whole) })
			})
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				newFixture(t, server.Client, name).run(run, whole)
			})
		}
	})
}

const (
	me    = "process-a"
	other = "process-b"
	vote  = "SEND_CLAIM_VOTE"
	batch = "RECEIVE_VOTES_BATCH"
)

// fixture is a store with a pool, and the steps that tests take on them.
type fixture struct {
	*testing.T
	ctx    context.Context
	client *redis.Client
	store  *queues.Store
	pool   *senders.Pool

	scattered bool // nonces are drawn, so that no train is in order
	veiled    bool // what ran could not be read for a while, so that nobody knew what its queue showed
}

func newFixture(t *testing.T, client *redis.Client, namespace string) *fixture {
	t.Helper()
	f := &fixture{T: t, ctx: t.Context(), client: client}
	f.store = f.open(queues.Options{Namespace: namespace, Retention: time.Hour})
	f.pool = senders.New(f.store, client)
	f.heartbeat(me, time.Hour)
	return f
}

// run runs a case and holds what it left against the rules of the layout.
func (f *fixture) run(body func(*fixture), whole bool) {
	body(f)
	if whole && !f.Failed() {
		f.inspect()
		f.audited()
	}
}

func (f *fixture) open(o queues.Options) *queues.Store {
	f.Helper()
	s, err := queues.Open(f.client, o)
	f.ok(err)
	return s
}

func (f *fixture) key(name string) string { return "{" + f.store.Namespace + "}:" + name }

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// eventually waits for what the clock brings: in a bubble at no cost, on a real
// Redis by asking again and again.
func (f *fixture) eventually(what string, happened func() bool) {
	f.Helper()
	for range 4000 {
		if happened() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	f.Fatalf("did not happen: %s", what)
}

func (f *fixture) heartbeat(process string, ttl time.Duration) []string {
	f.Helper()
	p, err := f.store.Heartbeat(f.ctx, process, ttl, "")
	f.ok(err)
	return p.Dead
}

func (f *fixture) register(accounts ...string) {
	f.Helper()
	for _, a := range accounts {
		f.ok(f.pool.Register(f.ctx, a, "http://"+a))
	}
}

func (f *fixture) sender(account string) *senders.Sender {
	f.Helper()
	s, err := f.pool.Get(f.ctx, account)
	f.ok(err)
	return s
}

// post accepts one transaction for each uid.
func (f *fixture) post(queue string, uids ...string) {
	f.Helper()
	for _, uid := range uids {
		<-time.After(time.Microsecond) // queues become ready one after the other
		a := f.store.Enqueue(f.ctx, queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(`{"n":1}`)})
		f.ok(a.Err)
	}
}

func (f *fixture) get(uid string) *tx.Transaction {
	f.Helper()
	t, err := f.store.Get(f.ctx, uid)
	f.ok(err)
	return t
}

func (f *fixture) queue(name string) *queues.Queue {
	f.Helper()
	q, err := f.store.Queue(f.ctx, name)
	f.ok(err)
	return q
}

func (f *fixture) bindAs(process string, most int) []queues.Bound {
	f.Helper()
	bound, err := f.store.Bind(f.ctx, queues.BindRequest{
		Process: process, Types: []string{vote, batch}, Groups: []string{senders.Shared}, Most: most, Grace: time.Minute,
	})
	f.ok(err)
	return bound
}

func (f *fixture) bind(most int) []queues.Bound {
	f.Helper()
	return f.bindAs(me, most)
}

// bound binds what can be bound and wants exactly these "uid sender" pairs.
func (f *fixture) bound(want ...string) []queues.Bound {
	f.Helper()
	got := f.bind(100)
	pairs := make([]string, len(got))
	for i, b := range got {
		pairs[i] = b.Transaction.UID + " " + b.Sender
	}
	equal(f.T, "bound", pairs, want)
	return got
}

// join has the next of a queue join behind another one, nil if it does not.
func (f *fixture) join(queue, behind string) *queues.Bound {
	f.Helper()
	b, err := f.store.Join(f.ctx, queues.JoinRequest{
		Process: me, Queue: queue, Behind: behind, Width: 2, Types: []string{vote},
	})
	f.ok(err)
	return b
}

// together has a be on its way by S, of a queue q of two, and b join it.
func (f *fixture) together(a, b string) {
	f.Helper()
	f.register("S")
	f.post("q", a, b)
	f.bound(a + " S")
	f.to(a, tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S", State: tx.Sent}))
	equal(f.T, "joined", f.join("q", a).Transaction.UID, b)
}

func (f *fixture) advance(t *tx.Transaction, to tx.Phase, options ...func(*queues.Change)) error {
	f.Helper()
	stored, err := f.store.Advance(f.ctx, change(t, to, options...))
	if stored != nil {
		*t = *stored // for the next change of it
	}
	return err
}

// to advances the transaction as it is stored now.
func (f *fixture) to(uid string, to tx.Phase, options ...func(*queues.Change)) {
	f.Helper()
	<-time.After(time.Microsecond) // senders are released one after the other
	f.ok(f.advance(f.get(uid), to, options...))
}

func (f *fixture) tick() queues.Tick {
	f.Helper()
	k, err := f.store.Tick(f.ctx, queues.TickRequest{Process: me, Most: 100, Lease: time.Minute})
	f.ok(err)
	return k
}

// list walks a whole list in pages of a size, forth and back.
func (f *fixture) list(filter queues.Filter, limit int) []string {
	f.Helper()
	uids := f.walk(filter, limit)
	filter.Newest = true
	back := f.walk(filter, limit)
	slices.Reverse(back)
	equal(f.T, fmt.Sprintf("%+v, back", filter), back, uids)
	return uids
}

func (f *fixture) walk(filter queues.Filter, limit int) []string {
	f.Helper()
	var uids []string
	for cursor, pages := "", 0; ; pages++ {
		if pages > 10_000 {
			f.Fatal("the list does not end")
		}
		page, next, err := f.store.List(f.ctx, filter, limit, cursor)
		f.ok(err)
		if len(page) > limit {
			f.Fatalf("a page of %d, limit %d", len(page), limit)
		}
		for _, t := range page {
			uids = append(uids, t.UID)
		}
		if cursor = next; cursor == "" {
			return uids
		}
	}
}

func numbered(prefix string, from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("%s%04d", prefix, i))
	}
	return out
}

func z(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

// change makes one of t that takes it to a phase; options alter the record in After
// or what goes with it.
func change(t *tx.Transaction, to tx.Phase, options ...func(*queues.Change)) *queues.Change {
	c := &queues.Change{Before: t, After: t.Clone(), Now: time.Now()}
	c.After.Phase, c.After.DueAt, c.Remove = to, time.Time{}, queues.Never
	for _, o := range options {
		o(c)
	}
	return c
}

// record alters the record that a change stores.
func record(edit func(t *tx.Transaction)) func(*queues.Change) {
	return func(c *queues.Change) { edit(c.After) }
}

// made stores an attempt as it is known now, in the place that its number says.
func made(a tx.Attempt) func(*queues.Change) {
	return func(c *queues.Change) {
		c.Attempt = a.Number
		if known := c.After.Attempt(a.Number); known != nil {
			*known = a
			return
		}
		c.After.Attempts = append(c.After.Attempts, a)
	}
}

// last alters the last attempt.
func last(edit func(a *tx.Attempt)) func(*queues.Change) {
	return func(c *queues.Change) { c.Attempt = c.After.Last().Number; edit(c.After.Last()) }
}

// reopened takes back that t had ended.
func reopened(t *tx.Transaction) {
	t.Landed, t.Ending, t.CancelRequested, t.Error, t.Deferred = 0, "", false, nil, 0
	t.DoneAt, t.FinalAt, t.Done, t.Reopened = time.Time{}, time.Time{}, nil, true
}

// effects adds what follows of the change by the rules of the domain.
func effects(c *queues.Change) {
	c.Moves = lifecycle.Effects(c.Before, c.After, &c.Aside, &lifecycle.Policy{Retention: time.Hour})
}

func person(c *queues.Change)                   { c.Person = true }
func keep(c *queues.Change)                     { c.Keep = true }
func final(c *queues.Change)                    { c.After.DoneAt, c.After.FinalAt = c.Now, c.Now }
func inOrder(c *queues.Change)                  { c.InOrder = true }
func withCode(code string) func(*queues.Change) { return func(c *queues.Change) { c.Code = code } }
func nextNonce(n uint32) func(*queues.Change)   { return func(c *queues.Change) { c.NextNonce = &n } }
func signed(number int, command []byte) func(*queues.Change) {
	return func(c *queues.Change) { c.Bytes = &lifecycle.BytesRead{Number: number, Command: command} }
}
func due(d time.Duration) func(*queues.Change) {
	return func(c *queues.Change) {
		if d >= 0 {
			c.After.DueAt = c.Now.Add(d)
		}
	}
}
func removed(d time.Duration) func(*queues.Change) {
	return func(c *queues.Change) { c.Remove = d }
}
func rest(d time.Duration, why tx.SenderReason) func(*queues.Change) {
	return func(c *queues.Change) { c.Rest = &lifecycle.Rest{For: d, Why: why} }
}
func tell(cb tx.Callback, hold, lease time.Duration) func(*queues.Change) {
	return func(c *queues.Change) {
		c.After.Callback, c.After.CallbackTries = cb, 0
		c.Tell, c.Wait, c.Lease = cb, hold, lease
	}
}
