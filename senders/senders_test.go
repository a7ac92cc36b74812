package senders_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

type fixture struct {
	*testing.T
	store *queues.Store
	pool  *senders.Pool
}

func TestPool(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fixture){
		"Register": testRegister, "Configure": testConfigure, "ConfigureLeavesAPersonsWord": testPersonsWord,
		"Local": testLocal, "LocalOfOthers": testLocalOfOthers, "Bound": testBound, "Again": testAgain,
		"Proves": testProves, "Rest": testRest, "ReasonsApart": testReasonsApart, "Watch": testWatch,
		"Missing": testMissing, "UnknownOutcomes": testUnknownOutcomes, "List": testList,
	}
	start := func(t *testing.T, client *redis.Client, namespace string, run func(*fixture)) {
		t.Helper()
		store, err := queues.Open(client, queues.Options{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t, store, senders.New(store, client)}
		_, err = store.Heartbeat(t.Context(), "p", time.Hour, "")
		f.ok(err)
		run(f)
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { start(t, redistest.Mini(t).Client, "seq", run) })
			})
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				start(t, server.Client, name, run)
			})
		}
	})
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) refused(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: %v, want %v", what, err, want)
	}
}

// to takes t to a phase; options alter the record in After or what goes with it.
func (f *fixture) to(t *tx.Transaction, to tx.Phase, options ...func(*queues.Change)) {
	f.Helper()
	c := &queues.Change{Before: t, After: t.Clone(), Now: time.Now()}
	c.After.Phase, c.Remove = to, queues.Never
	for _, o := range options {
		o(c)
	}
	stored, err := f.store.Advance(f.Context(), c)
	f.ok(err)
	*t = *stored // for the next change of it
}

// unknown is an attempt of which nobody knows what became.
func unknown(c *queues.Change) {
	c.After.Attempts = []tx.Attempt{{Number: 1, Sender: "S", Legacy: true, State: tx.Unknown,
		StartedAt: time.UnixMilli(1)}}
}

// known settles that attempt.
func known(c *queues.Change) {
	c.After.Attempts[0].State, c.After.Attempts[0].EndedAt = tx.Replaced, time.UnixMilli(2)
}

func keep(c *queues.Change) { c.Keep = true }

func rest(d time.Duration, why tx.SenderReason) func(*queues.Change) {
	return func(c *queues.Change) { c.Rest = &lifecycle.Rest{For: d, Why: why} }
}

func (f *fixture) get(account string) *senders.Sender {
	f.Helper()
	s, err := f.pool.Get(f.Context(), account)
	f.ok(err)
	return s
}

// reasons are why senders are not available, by account.
func (f *fixture) reasons() map[string]tx.SenderReason {
	f.Helper()
	all, _, err := f.pool.List(f.Context(), 100, "")
	f.ok(err)
	m := map[string]tx.SenderReason{}
	for _, s := range all {
		m[s.AccountID] = s.Reason
	}
	return m
}

func (f *fixture) want(what string, want map[string]tx.SenderReason) {
	f.Helper()
	if got := f.reasons(); !maps.Equal(got, want) {
		f.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

func (f *fixture) bind(most int) []queues.Bound {
	f.Helper()
	b, err := f.store.Bind(f.Context(), queues.BindRequest{Process: "p", Types: []string{"T"},
		Groups: []string{senders.Shared}, Most: most, Grace: time.Hour})
	f.ok(err)
	return b
}

func (f *fixture) post(uid, queue string) {
	f.Helper()
	f.ok(f.store.Enqueue(f.Context(), queues.Item{UID: uid, Queue: queue, Type: "T", Data: json.RawMessage(`{}`)}).Err)
}

func (f *fixture) woken() bool {
	select {
	case <-f.store.Wake():
		return true
	default:
		return false
	}
}

func testRegister(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://one"))
	if !f.woken() {
		f.Error("a new sender does not wake")
	}
	f.ok(f.pool.Register(f.Context(), "S", "http://one"))
	if f.woken() {
		f.Error("the same once more wakes")
	}
	f.refused("another worker", f.pool.Register(f.Context(), "S", "http://two"), senders.ErrExists)
	want := &senders.Sender{AccountID: "S", WorkerURL: "http://one", Source: senders.ByAPI, Phase: tx.PhaseWaiting}
	if d := cmp.Diff(want, f.get("S")); d != "" {
		f.Error(d)
	}
	f.ok(f.pool.SetBalance(f.Context(), "S", 1<<63))
	if s := f.get("S"); s.Balance == nil || *s.Balance != 1<<63 || s.Nonce != nil {
		f.Errorf("%+v", s)
	}
	f.ok(f.pool.Remove(f.Context(), "S"))
	f.ok(f.pool.Register(f.Context(), "S", "http://two"))
}

func testConfigure(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "api", "http://api"))
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a", "B": "http://b"}))
	f.want("configured", map[string]tx.SenderReason{"A": "", "B": "", "api": ""})
	f.ok(f.pool.Rest(f.Context(), "B", time.Hour, tx.Rested, ""))
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a2"}))
	f.want("one is no longer named", map[string]tx.SenderReason{"A": "", "B": tx.Draining, "api": ""})
	if s := f.get("A"); s.WorkerURL != "http://a2" || s.Source != senders.ByConfiguration {
		f.Errorf("the worker moved: %+v", s)
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a2"})) // again: still drained by it
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a2", "B": "http://b"}))
	f.want("named again, and still at rest", map[string]tx.SenderReason{"A": "", "B": tx.Rested, "api": ""})
	f.ok(f.pool.Resume(f.Context(), "B"))
	f.post("t1", "q1")
	f.post("t2", "q2")
	f.post("t3", "q3")
	if n := len(f.bind(9)); n != 3 {
		f.Errorf("%d of 3 senders are free", n)
	}
}

// testPersonsWord wants that no configuration undoes what a person drained.
func testPersonsWord(f *fixture) {
	both := map[string]string{"A": "http://a", "B": "http://b"}
	f.ok(f.pool.Configure(f.Context(), both))
	f.ok(f.pool.Drain(f.Context(), "A"))
	f.ok(f.pool.Configure(f.Context(), map[string]string{"B": "http://b"}))
	f.ok(f.pool.Configure(f.Context(), both))
	f.want("drained before it was not named", map[string]tx.SenderReason{"A": tx.Draining, "B": ""})
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a"}))
	f.ok(f.pool.Drain(f.Context(), "B"))
	f.ok(f.pool.Configure(f.Context(), both))
	f.want("drained while it was not named",
		map[string]tx.SenderReason{"A": tx.Draining, "B": tx.Draining})
	f.ok(f.pool.Resume(f.Context(), "A"))
	f.want("resumed", map[string]tx.SenderReason{"A": "", "B": tx.Draining})
}

func (f *fixture) bindFrom(groups ...string) int {
	f.Helper()
	b, err := f.store.Bind(f.Context(),
		queues.BindRequest{Process: "p", Types: []string{"T"}, Groups: groups, Most: 9, Grace: time.Hour})
	f.ok(err)
	return len(b)
}

// testLocal: a sender whose worker is a command is bound only by who asks for it,
// and moves between that and a URL with the configuration.
func testLocal(f *fixture) {
	down := map[string]time.Time{}
	f.pool.SetHost(senders.Host{Process: "p",
		Down: func(account string) (time.Time, bool) { until, ok := down[account]; return until, ok }})
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": senders.Local, "B": "http://b"}))
	f.refused("a URL for it", f.pool.Register(f.Context(), "A", "http://a"), senders.ErrExists)
	f.post("t1", "q1")
	f.post("t2", "q2")
	f.post("t3", "q3")
	if n := f.bindFrom(senders.Shared, senders.LocalGroup("C")); n != 1 {
		f.Errorf("%d bound by a process without the worker of A, want B alone", n)
	}
	soon := time.UnixMilli(1_900_000_000_000).UTC()
	down["A"], down["B"] = soon, soon
	if s := f.get("A"); s.WorkerURL != senders.Local || s.Reason != tx.Rested || !s.Until.Equal(soon) {
		f.Errorf("while its worker is down: %+v", s)
	}
	if s := f.get("B"); s.Reason != "" {
		f.Errorf("a sender with a URL: %+v", s)
	}
	f.ok(f.pool.Drain(f.Context(), "A"))
	if s := f.get("A"); s.Reason != tx.Draining || !s.Until.IsZero() {
		f.Errorf("drained while its worker is down: %+v", s)
	}
	f.ok(f.pool.Resume(f.Context(), "A"))
	clear(down)
	f.want("its worker is back", map[string]tx.SenderReason{"A": "", "B": ""})

	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": "http://a", "B": "http://b"}))
	if n := f.bindFrom(senders.LocalGroup("A")); n != 0 {
		f.Error("with a URL it is still bound as a local one")
	}
	f.ok(f.pool.Configure(f.Context(), map[string]string{"A": senders.Local, "B": "http://b"}))
	if n := f.bindFrom(senders.Shared); n != 0 {
		f.Error("with a command it is still bound by anybody")
	}
	if n := f.bindFrom(senders.LocalGroup("A")); n != 1 {
		f.Errorf("%d bound by the process with its worker", n)
	}
}

// testLocalOfOthers: what a living process runs is no other's to drain.
func testLocalOfOthers(f *fixture) {
	_, err := f.store.Heartbeat(f.Context(), "binds", time.Hour, "") // says nothing of itself
	f.ok(err)
	as := func(process string, workers map[string]string) {
		f.Helper()
		pool := f.pool
		pool.SetHost(senders.Host{Process: process})
		f.ok(pool.Configure(f.Context(), workers))
	}
	as("p", map[string]string{"A": senders.Local, "B": "http://b"})
	as("other", map[string]string{"C": senders.Local})
	f.want("named by a process that lives", map[string]tx.SenderReason{"A": "", "B": tx.Draining, "C": ""})
	f.ok(f.store.Leave(f.Context(), "p"))
	as("another", map[string]string{"C": senders.Local})
	f.want("named by one that is gone",
		map[string]tx.SenderReason{"A": tx.Draining, "B": tx.Draining, "C": ""})
	as("back", map[string]string{"A": senders.Local, "C": senders.Local})
	f.want("named again", map[string]tx.SenderReason{"A": "", "B": tx.Draining, "C": ""})

	for _, process := range []string{"first", "second"} {
		_, err := f.store.Heartbeat(f.Context(), process, time.Hour, "")
		f.ok(err)
		as(process, map[string]string{"saw/1": "", "C": senders.Local})
	}
	for _, step := range []struct {
		leaves string
		saw    tx.SenderReason
	}{{"second", ""}, {"first", tx.Draining}} {
		f.ok(f.store.Leave(f.Context(), step.leaves))
		as("third", map[string]string{"C": senders.Local})
		f.want("after "+step.leaves+" has left", map[string]tx.SenderReason{
			"A": tx.Draining, "B": tx.Draining, "C": "", "saw/1": step.saw})
	}
}

// testAgain: whoever is removed and registered again has the nonce that comes next, and
// is still out of use for what nobody knows.
func testAgain(f *fixture) {
	next := uint32(8)
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	f.post("t", "q")
	t := f.bind(1)[0].Transaction
	f.to(t, tx.PhaseUnresolved, func(c *queues.Change) {
		c.After.Attempts = []tx.Attempt{{Number: 1, Sender: "S", Nonce: 7, Legacy: true, State: tx.Unknown,
			StartedAt: c.Now}}
		c.NextNonce, c.Rest, c.Keep = &next, &lifecycle.Rest{For: queues.Never, Why: tx.OutcomeUnknown}, true
	})
	for range 2 {
		f.ok(f.pool.Remove(f.Context(), "S"))
		f.refused("removing it again", f.pool.Remove(f.Context(), "S"), senders.ErrNotFound)
		f.refused("draining it", f.pool.Drain(f.Context(), "S"), senders.ErrNotFound)
		if _, err := f.pool.Get(f.Context(), "S"); !errors.Is(err, senders.ErrNotFound) {
			f.Errorf("reading it: %v", err)
		}
		if _, err := f.pool.Worker(f.Context(), "S"); !errors.Is(err, senders.ErrNotFound) {
			f.Errorf("its worker: %v", err)
		}
		f.ok(f.pool.Register(f.Context(), "S", "http://other"))
		if s := f.get("S"); s.Reason != tx.OutcomeUnknown || s.Nonce == nil || *s.Nonce != 8 ||
			s.WorkerURL != "http://other" {
			f.Errorf("registered again: %+v", s)
		}
		f.post("t2", "q2")
		if b := f.bind(1); len(b) != 0 {
			f.Error("it was bound")
		}
	}
	f.ok(f.pool.Remove(f.Context(), "S"))
	f.to(t, tx.PhaseFailed, func(c *queues.Change) {
		c.After.Attempts[0].State, c.After.Attempts[0].EndedAt = tx.Replaced, c.Now
	})
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	if s := f.get("S"); s.Reason != "" || s.Nonce == nil || *s.Nonce != 8 {
		f.Errorf("settled while it was away: %+v", s)
	}
	if b := f.bind(1); len(b) != 1 {
		f.Error("it is not bound")
	}
}

// testProves: what a worker has shown is known of it alone.
func testProves(f *fixture) {
	f.refused("of nobody", f.pool.Proves(f.Context(), "S", "http://s"), senders.ErrNotFound)
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	f.ok(f.pool.Proves(f.Context(), "S", "http://before"))
	shows := func(when string, want bool) {
		f.Helper()
		if got := f.get("S").Proves; got != want {
			f.Errorf("%s: %t", when, got)
		}
	}
	shows("of another worker", false)
	f.ok(f.pool.Proves(f.Context(), "S", "http://s"))
	shows("it has shown it", true)
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://s"}))
	shows("named again", true)
	f.ok(f.pool.Configure(f.Context(), map[string]string{"S": "http://new"}))
	shows("another worker", false)
	f.ok(f.pool.Proves(f.Context(), "S", "http://new"))
	f.ok(f.pool.Remove(f.Context(), "S"))
	f.ok(f.pool.Register(f.Context(), "S", "http://new"))
	shows("removed, and registered again", false)
}

func testBound(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	f.post("t", "q")
	t := f.bind(1)[0].Transaction
	f.refused("removing a bound one", f.pool.Remove(f.Context(), "S"), senders.ErrBound)
	highest := uint32(4294967295)
	f.to(t, tx.PhaseDelayed, func(c *queues.Change) { c.After.Retries, c.NextNonce = 2, &highest })
	f.ok(f.pool.Drain(f.Context(), "S"))
	if s := f.get("S"); s.State() != tx.QueueDelay || s.Queue != "q" || s.Retries != 2 || s.Nonce == nil ||
		*s.Nonce != 4294967295 || s.Available() {
		f.Errorf("bound and drained: %+v", s)
	}
	f.woken()
	f.ok(f.pool.Resume(f.Context(), "S"))
	if f.woken() {
		f.Error("a bound sender was offered")
	}
	f.ok(f.pool.Drain(f.Context(), "S"))
	f.to(t, tx.PhaseDone)
	f.post("t2", "q")
	if b := f.bind(1); len(b) != 0 {
		f.Errorf("a drained sender was bound: %+v", b)
	}
	f.ok(f.pool.Remove(f.Context(), "S"))
}

func testRest(f *fixture) {
	f.ok(f.pool.Register(f.Context(), "S", "http://s"))
	f.post("t", "q")
	f.ok(f.pool.Rest(f.Context(), "S", 50*time.Millisecond, tx.Rested, ""))
	if s := f.get("S"); s.Until.IsZero() || s.Reason != tx.Rested {
		f.Errorf("%+v", s)
	}
	if len(f.bind(1)) != 0 {
		f.Error("a rested sender was bound")
	}
	f.ok(f.pool.Rest(f.Context(), "S", queues.Never, tx.LowBalance, ""))
	f.ok(f.pool.Rest(f.Context(), "S", time.Millisecond, tx.Rested, ""))
	f.want("what a person ends", map[string]tx.SenderReason{"S": tx.LowBalance})
	f.woken()
	f.ok(f.pool.Resume(f.Context(), "S"))
	if !f.woken() || len(f.bind(1)) != 1 {
		f.Error("a resumed sender is not free")
	}
}

func testList(f *fixture) {
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint("S", i))
		f.ok(f.pool.Register(f.Context(), want[i], "http://s"))
	}
	var got []string
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := f.pool.List(f.Context(), 3, cursor)
		f.ok(err)
		for _, s := range page {
			got = append(got, s.AccountID)
		}
		cursor = next
	}
	if d := cmp.Diff(want, got); d != "" {
		f.Error(d)
	}
}

func testMissing(f *fixture) {
	ctx := f.Context()
	_, err := f.pool.Get(ctx, "none")
	f.refused("get", err, senders.ErrNotFound)
	f.refused("remove", f.pool.Remove(ctx, "none"), senders.ErrNotFound)
	f.refused("drain", f.pool.Drain(ctx, "none"), senders.ErrNotFound)
	f.refused("rest", f.pool.Rest(ctx, "none", time.Second, tx.Rested, ""), senders.ErrNotFound)
	f.refused("resume", f.pool.Resume(ctx, "none"), senders.ErrNotFound)
	f.refused("balance", f.pool.SetBalance(ctx, "none", 1), senders.ErrNotFound)
	f.refused("watch", f.pool.Watch(ctx, "none", 1, ""), senders.ErrNotFound)
}
