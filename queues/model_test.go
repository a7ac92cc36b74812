package queues_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

var (
	modelSeeds = flag.Int("model.seeds", 25, "how many seeds the model test runs on each backend")
	modelSeed  = flag.Int("model.seed", 0, "the only seed to run, 0 for all")
	modelSteps = flag.Int("model.steps", 60, "how many operations it makes for a seed")
)

// TestModel makes random operations on the store and on the one of the explorer, and
// compares every answer, and after each operation all that is stored.
func TestModel(t *testing.T) {
	lane.NoRace(t, "one goroutine, and scripts in Go")
	t.Parallel()
	seeds := make([]int, *modelSeeds)
	for i := range seeds {
		seeds[i] = i + 1
	}
	if *modelSeed != 0 {
		seeds = []int{*modelSeed}
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		for _, seed := range seeds {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					newModel(newFixture(t, redistest.Mini(t).Client, "seq"), seed, true).play()
				})
			})
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		for _, seed := range seeds {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				client := redis.NewClient(&redis.Options{Addr: server.Addr})
				t.Cleanup(func() { _ = client.Close() })
				newModel(newFixture(t, client, fmt.Sprint("model", seed)), seed, false).play()
			})
		}
	})
}

// A model is the store of the explorer beside the real one.
type model struct {
	*fixture
	rand *rand.Rand
	// exact: the clock is the test's, and times are compared to the millisecond. Else
	// they are of the right hour, and none passes.
	exact   bool
	options queues.Options
	reply   *reply
	told    <-chan *redis.Message
	marks   int
	now     time.Time
	want    explorer.Store
	beside
	saved  *saved
	claims map[string]string // real ones, by those of the explorer's store
	views  map[string][]view // of each transaction, as it was read: the latest last
	ops    int
	begun  bool // the operation has its moment
	surely bool // no answer gets lost now
	// restored: an attempt of it was given back, at any nonce and out of turn.
	restored map[string]bool
	done     []string
}

// saved is an older state of both.
type saved struct {
	snapshot redistest.Snapshot
	want     explorer.Store
	beside
}

const (
	hour         = time.Hour
	callbackWait = hour
	lease        = 2 * hour
	ttl          = 5 * hour
	retention    = 6 * hour
	eventsKeep   = 26 * hour
)

func newModel(f *fixture, seed int, exact bool) *model {
	m := &model{
		fixture: f, rand: rand.New(rand.NewPCG(uint64(seed), 1)), exact: exact, reply: &reply{},
		claims: map[string]string{"": ""}, views: map[string][]view{}, beside: newBeside(),
	}
	if left := 24*hour - time.Duration(time.Now().UnixMilli()%86400000)*time.Millisecond; !exact && left < time.Minute {
		f.Skip("the day is about to end, and the fees of two cannot be told apart")
	}
	m.options = queues.Options{
		Namespace: f.store.Namespace, Retention: retention, EventsKeep: eventsKeep, MaxWaiting: 4, MaxWaitingInAll: 9,
		UnresolvedLimit: 2 * m.rand.IntN(2),
	}
	m.want = explorer.Store{KeepLog: true, UnresolvedLimit: m.options.UnresolvedLimit, CallbackWait: callbackWait}
	m.want.Renew(me)
	m.want.Sequence = int64(500 + m.rand.IntN(15)) // some are of one page, some of the next
	m.scattered, m.restored = true, map[string]bool{}
	f.ok(f.client.Set(f.ctx, f.key("n:seq"), m.want.Sequence, 0).Err())
	sub := f.client.Subscribe(f.ctx, f.key("wake"))
	f.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(f.ctx); err != nil {
		f.Fatal(err)
	}
	m.told = sub.Channel(redis.WithChannelSize(1000), redis.WithChannelHealthCheckInterval(0))
	f.client.AddHook(m.reply)
	m.procs[me] = m.clock().Add(hour) // as the fixture has it
	if !m.draw(4) {
		f.heartbeat(other, ttl)
		m.want.Renew(other)
		m.procs[other] = m.clock().Add(ttl)
	}
	return m
}

// clock is the time as Redis has it, or nearly so.
func (m *model) clock() time.Time { return time.Now().Truncate(time.Millisecond).UTC() }

type operation struct {
	weight int
	name   string
	run    func() bool // false if there was nothing to do it on
}

func (m *model) operations() []operation {
	return []operation{
		{12, "post", m.post}, {18, "bind", m.bindSome}, {16, "join", m.joinOne}, {34, "change", m.change},
		{12, "changes", m.changes}, {6, "order", m.order}, {8, "facts", m.facts}, {8, "called", m.calledBack},
		{7, "tick", m.tickOnce},
		{4, "postpone", m.postpone}, {4, "time", m.time}, {3, "heartbeat", m.heartbeatOnce}, {5, "take over", m.takeOver},
		{6, "pause", m.pause}, {6, "register", m.register}, {2, "configure", m.configure}, {2, "rest", m.rest},
		{8, "resume", m.resume}, {1, "unregister", m.unregister}, {3, "balance", m.balance}, {5, "remove", m.remove},
		{2, "save", m.save}, {1, "fail over", m.failOver}, {8, "adopt", m.adoptOne},
		{3, "repost", m.repost}, {2, "market", m.lookAtMarket},
		{4, "settle", m.settle}, {4, "read", m.read}, {2, "full", m.full},
		{1, "rate", m.rate}, {3, "width", m.width}, {4, "stop", m.stop},
	}
}

func (m *model) play() {
	operations := m.operations()
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	defer func() {
		if m.Failed() {
			m.Logf("after %d operations: %s", len(m.done), strings.Join(m.done, "; "))
		}
	}()
	m.done = []string{"begin"}
	for range 3 { // so that there is something to do
		m.register()
		m.post()
	}
	m.compare()
	for len(m.done) < *modelSteps {
		n := m.rand.IntN(total)
		i := 0
		for ; n >= operations[i].weight; i++ {
			n -= operations[i].weight
		}
		m.done = append(m.done, operations[i].name)
		m.begin()
		if !operations[i].run() {
			m.done = m.done[:len(m.done)-1]
			continue
		}
		m.inspect()
		m.compare()
		if m.Failed() {
			return
		}
	}
	for _, p := range []string{me, other} { // what a person has taken from them is seen
		_, err := m.store.Tick(m.ctx, queues.TickRequest{Process: p, Most: 100, Lease: lease})
		m.ok(err)
	}
	m.audited()
}

// note adds to the story of the last operation.
func (m *model) note(format string, args ...any) {
	m.done[len(m.done)-1] += " " + fmt.Sprintf(format, args...)
}

// A reply is what becomes of the answer to a script.
type reply struct {
	fate string
	skip int // scripts before it
}

const (
	asEver = ""
	twice  = "twice" // the first answer is lost, and the client repeats it, a moment later
	lost   = "lost"
	never  = "never" // it did not arrive
)

func (r *reply) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *reply) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		fate := r.next(cmd)
		if fate == never {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		err := next(ctx, cmd)
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			r.fate, r.skip = fate, 0
		case fate == twice:
			<-time.After(moment)
			return next(ctx, cmd)
		case fate == lost:
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

// ProcessPipelineHook leaves alone what goes together: one script never does.
func (r *reply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *reply) next(cmd redis.Cmder) (fate string) {
	if !strings.HasPrefix(cmd.Name(), "eval") {
		return asEver
	}
	if r.skip > 0 {
		r.skip--
		return asEver
	}
	fate, r.fate = r.fate, asEver
	return fate
}

// do makes an operation on both stores, with whatever fate its reply has, and compares the
// answers. skip is how many scripts run before the one that matters, -1 if none of them may
// have its reply lost.
func (m *model) do(skip int, real func(*queues.Store, *senders.Pool) answer, want func() answer) {
	m.Helper()
	if !m.begun {
		m.begin()
	}
	defer func() { m.begun = false }()
	fate := asEver
	switch n := m.rand.IntN(20); {
	case skip < 0, m.surely:
	case n < 2:
		fate = twice
	case n == 2:
		fate = lost
	case n == 3:
		fate = never
	}
	run := func() answer {
		a := want()
		m.begins()
		m.heeds()
		return a
	}
	queuesBefore, sendersBefore := m.want.Turns()
	soonestBefore := m.firstDue()
	s := m.open(m.options)
	m.reply.fate, m.reply.skip = fate, skip
	got := real(s, senders.New(s, m.client))
	came := m.reply.fate == asEver // it ran a script
	m.reply.fate, m.reply.skip = asEver, 0
	if !came {
		fate = asEver
	}
	m.note("%s", fate)
	expected := unavailable
	switch fate {
	case asEver:
		expected = run()
	case twice:
		run()
		m.now = m.clock()
		m.want.Now = m.now
		expected = run()
	case lost:
		run()
	}
	m.adopt(expected.Txns, got.Txns)
	m.same("the answer", got, expected)
	ready, free := m.want.Turns()
	possible := !m.waits && (slices.ContainsFunc(ready,
		func(q string) bool { return !slices.Contains(queuesBefore, q) }) ||
		slices.ContainsFunc(free, func(a string) bool { return !slices.Contains(sendersBefore, a) }))
	select {
	case <-s.Wake():
		if len(ready) == 0 && len(free) == 0 && fate == asEver && !m.leaving {
			m.Fatal("woken although nothing can be bound")
		}
	default:
		if possible && fate == asEver {
			m.Fatal("nobody was woken although a bind has become possible")
		}
	}
	m.heard(possible, soonestBefore)
}

// firstDue is when the first of all is due, zero if nothing is.
func (m *model) firstDue() (at time.Time) {
	m.rests()
	for _, due := range m.due {
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at
}

var unavailable = answer{Text: "unavailable"}

// moment is between two runs of scripts: often the same millisecond, and never the same
// microsecond.
const moment = 50 * time.Microsecond

// begin lets a moment pass.
func (m *model) begin() {
	step := moment
	if m.draw(3) {
		step = time.Millisecond
	}
	<-time.After(step)
	m.now = m.clock()
	m.want.Now = m.now
	m.looked, m.begun = nil, true
	for _, p := range slices.Clone(m.want.Procs) {
		if !m.procs[p.ID].After(m.now) {
			m.want.Lapse(p.ID)
		}
	}
}

// heard compares what the other processes were told.
func (m *model) heard(possible bool, before time.Time) {
	m.Helper()
	m.marks++
	mark := fmt.Sprint("mark ", m.marks)
	m.ok(m.client.Publish(m.ctx, m.key("wake"), mark).Err())
	got := map[string]bool{}
	for msg := range m.told {
		if msg.Payload == mark {
			break
		}
		got[msg.Payload] = true
	}
	woken := got[""]
	delete(got, "")
	planned := false
	for said := range got {
		if strings.HasPrefix(said, "@") {
			planned = true
			delete(got, said)
		}
	}
	if now := m.firstDue(); !now.IsZero() && (before.IsZero() || now.Before(before)) && !planned {
		m.Fatal("nobody was told that something is due before all else")
	}
	want := map[string]bool{}
	for _, uid := range m.looked {
		want[uid] = true
	}
	equal(m.T, "owners that were told to look", got, want)
	switch others := len(m.procs) > 1; {
	case possible && others && !woken:
		m.Fatal("the other process was not told that a bind has become possible")
	case woken && !others && !m.leaving:
		m.Fatal("nobody else is there, and was told that a bind has become possible")
	}
}

// draw is true once in n times.
func (m *model) draw(n int) bool { return m.rand.IntN(n) == 0 }

func one[T any](m *model, of ...T) T { return of[m.rand.IntN(len(of))] }

// hours is a time of whole hours, or 0.
func (m *model) hours() time.Duration { return time.Duration(m.rand.IntN(5)) * hour }

func (m *model) account() string { return fmt.Sprint("S", m.rand.IntN(3)) }

// latest is a transaction as it was last read; false if none fits.
func (m *model) latest(fits func(*tx.Transaction) bool) (v view, any bool) {
	var all []view
	for i := range m.want.Records {
		of := m.views[m.want.Records[i].Txn.UID]
		if last := of[len(of)-1]; fits(last.want) {
			all = append(all, last)
		}
	}
	if len(all) == 0 {
		return view{}, false
	}
	return one(m, all...), true
}

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
	market     market
	stops      []queues.Stop
	// Of the operation under way.
	looked  []string // whose owners are told to look
	leaving bool     // somebody is woken although nothing can be bound
	waits   bool     // nobody is, although something can, once a recovery is over
}

type goneKey struct {
	typ, queue string
	until      time.Time
}

// market is what is known of it: the looks, the latest first, until when, and who has the turn
// until when.
type market struct {
	looks       []fees.Look
	until, turn time.Time
	weights     map[string]int
}

type worker struct{ url, source, by, balance string }

func newBeside() beside {
	return beside{
		own: map[string]map[string]time.Time{}, due: map[string]time.Time{}, procs: map[string]time.Time{},
		gone: map[string]goneKey{}, posted: map[string]string{}, workers: map[string]worker{}, used: map[string]int64{},
		market: market{weights: map[string]int{}},
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
	c.market.weights = maps.Clone(b.market.weights)
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

// heeds has whoever drives what runs of the queues that were told look.
func (m *model) heeds() {
	told := m.want.Told
	m.want.Told = nil
	for _, name := range told {
		q := m.queueOf(name)
		if q == nil {
			continue
		}
		for _, uid := range slices.Backward(q.Run) {
			if process := explorer.Owner(m.want.Record(uid).Txn.Claim); process != "" {
				m.owe(process, uid, m.now)
				m.looked = append(m.looked, "!"+name)
				break
			}
		}
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
func (m *model) forget(t *tx.Transaction) {
	delete(m.due, "c:"+t.UID)
	delete(m.due, "x:"+t.UID)
	delete(m.due, "d:"+t.UID)
	delete(m.posted, t.UID)
	if t.Claim != "" {
		delete(m.own[explorer.Owner(t.Claim)], t.UID)
	}
	m.gone[t.UID] = goneKey{t.Type, t.Queue, m.now.Add(max(retention, eventsKeep))}
}

// held ends that the clock looks at a queue that waits no more, or is gone.
func (m *model) held(queue string, waited bool) {
	if q := m.queueOf(queue); q != nil && waited && len(q.Holder) == 0 && !q.Hold.IsZero() {
		m.due["q:"+queue] = q.Hold // it is left alone for a while
	} else if q == nil || waited && len(q.Holder) == 0 {
		delete(m.due, "q:"+queue)
		if q == nil {
			delete(m.due, "p:"+queue)
		}
	}
}

// begins is when the clock looks at a queue whose next is not to be bound yet.
func (m *model) begins() {
	for i := range m.want.Queues {
		if q := &m.want.Queues[i]; !q.Begins.IsZero() {
			m.due["q:"+q.Name] = q.Begins
		}
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
		a := says("due %v, callbacks %v, expired %v", k.Due, k.Callbacks, k.Expired)
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
	callbacks, expired := []string{}, []string{}
	m.rests()
	for _, member := range m.soonest(m.due, most) {
		kind, name, _ := strings.Cut(member, ":")
		delete(m.due, member)
		switch r := m.want.Record(name); {
		case kind == "c" && r != nil && r.Txn.Callback != "":
			callbacks = append(callbacks, name)
			m.due[member] = m.now.Add(lease)
		case kind == "d" && r != nil && r.Txn.Phase == tx.PhaseWaiting:
			expired = append(expired, name)
			m.due[member] = m.now.Add(lease)
		case kind == "p" && m.queueOf(name) != nil:
			m.want.PauseOver(m.queueOf(name))
			m.held(name, false)
		case kind == "q" && m.queueOf(name) != nil:
			m.want.HoldOver(m.queueOf(name))
		case kind == "s":
			m.want.RestOver(m.want.Sender(name))
		case kind == "x" && r != nil && m.want.Unsettled:
			m.due[member] = m.now.Add(lease)
		case kind == "x" && r != nil && r.Txn.Phase.Final():
			m.remove1(r.Txn)
		}
	}
	m.rests()
	m.begins()
	m.heeds()
	m.trim()
	var next time.Time
	for _, set := range []map[string]time.Time{m.own[p], m.due} {
		for _, at := range set {
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	a := says("due %v, callbacks %v, expired %v", append([]string{}, own...), callbacks, expired)
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
func (m *model) remove1(t *tx.Transaction) {
	q := m.queueOf(t.Queue)
	waited := m.want.Awaits(q, t.UID)
	m.want.Forget(t)
	m.forget(t)
	m.held(t.Queue, waited)
}
