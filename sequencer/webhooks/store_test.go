package webhooks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// TestScripts runs each case on an embedded Redis and on a real one.
func TestScripts(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fixture){
		"Lease": testLease, "Pass": testPass, "Lanes": testLanes, "Replay": testReplay, "Fence": testFence, "Put": testPut,
		"LogIsKept": testLogIsKept, "Rewind": testRewind, "Told": testTold, "Shown": testShown, "ManyLanes": testManyLanes,
		"ParkedPages": testParkedPages, "MadeAnew": testMadeAnew,
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { run(newFixture(t, redistest.Mini(t).Client, "seq")) })
			})
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(newFixture(t, server.Client, name))
			})
		}
	})
}

// put stores an endpoint, and leases it.
func (f *fixture) put() held {
	f.Helper()
	f.ok(f.store.put(f.ctx, &Endpoint{ID: "e", URL: "https://example.org", Secrets: []Secret{{Key: newSecret()}}}, 0))
	return f.lease(process)[0]
}

func (f *fixture) lease(who string) []held {
	f.Helper()
	all, err := f.store.lease(f.ctx, who, time.Minute)
	f.ok(err)
	return all
}

func (f *fixture) epoch() string {
	f.Helper()
	p, err := f.queues.ReadLog(f.ctx, 0, 0)
	f.ok(err)
	return p.Epoch
}

func entry(lane string, number int64, delay time.Duration) *parked {
	return &parked{lane: lane, number: number, fixed: 2, id: "1-" + itoa(number), at: time.UnixMilli(5000),
		body: []byte("ab\ncd"), delay: delay}
}

func testLease(f *fixture) {
	h := f.put()
	if !strings.HasPrefix(h.fence, process+":") || len(f.lease("other")) != 0 {
		f.Errorf("%+v is not held alone", h)
	}
	token := number(strings.Split(h.fence, ":")[1])
	fence := func(who string, more int64) string { return fmt.Sprintf("%s:%d:1", who, token+more) }
	if again := f.lease(process); len(again) != 1 || again[0] != h {
		f.Errorf("renewed: %+v, was %+v", again, h)
	}
	_, err := f.store.lease(f.ctx, process, 0)
	f.ok(err)
	if next := f.lease("other"); len(next) != 1 || next[0].fence != fence("other", 1) {
		f.Errorf("given up: %+v", next)
	}
	f.ok(f.client.HSet(f.ctx, "{"+f.queues.Namespace+"}:hook:e", "until", 1).Err())
	if next := f.lease(process); len(next) != 1 || next[0].fence != fence(process, 2) {
		f.Errorf("run out: %+v", next)
	}
	f.ok(f.client.Set(f.ctx, "{"+f.queues.Namespace+"}:is:server", "another", 0).Err())
	if all := f.lease(process); len(all) != 0 {
		f.Errorf("not settled: %+v", all)
	}
}

// testMadeAnew: who held an endpoint that was deleted holds none that has its id since.
func testMadeAnew(f *fixture) {
	h := f.put()
	f.ok(f.store.act(f.ctx, "e", "remove"))
	<-time.After(5 * time.Millisecond)
	anew := f.put()
	if anew.fence == h.fence {
		f.Errorf("%s is held by the fence of the one before", anew.fence)
	}
	if err := f.store.pass(f.ctx, h, &passage{epoch: f.epoch(), to: 1}); !errors.Is(err, errLost) {
		f.Errorf("passed by who held the one before: %v", err)
	}
}

// testPass: a passage is stored once, however often it is asked for.
func testPass(f *fixture) {
	h, epoch := f.put(), f.epoch()
	p := &passage{epoch: epoch, from: 0, to: 9, rest: time.Minute, dropped: 2, told: []string{"x", "y"},
		parked: []*parked{entry("t:a", 8, time.Hour), entry("t:a", 9, 0), entry("t:b", 9, 0)}}
	f.ok(f.store.pass(f.ctx, h, p))
	f.ok(f.store.pass(f.ctx, h, p))
	l, err := f.store.load(f.ctx, h)
	f.ok(err)
	want := int64(3 * len(p.parked[0].text()))
	if l.cursor != 9 || l.parked != 3 || l.bytes != want || l.lanes["t:a"] != 2 || l.lanes["t:b"] != 1 ||
		l.rest <= 50*time.Second {
		f.Errorf("%+v", l)
	}
	all, err := f.store.show(f.ctx, "e")
	f.ok(err)
	if x := all[0]; x.Dropped != 2 || x.Lanes != 2 || x.Parked != 3 {
		f.Errorf("%+v", x)
	}
	for _, wrong := range []*passage{{epoch: epoch, from: 8, to: 10}, {epoch: "another", from: 9, to: 10},
		{epoch: epoch, from: 0, to: 10}} {
		if err := f.store.pass(f.ctx, h, wrong); !errors.Is(err, errLost) {
			f.Errorf("%+v: %v", wrong, err)
		}
	}
	lanes, told, err := f.store.lanes(f.ctx, "e", "", 10, 10)
	f.ok(err)
	if len(lanes) != 2 || lanes[0].Name != "t:b" || lanes[1].Events != 2 || lanes[1].First != "1-8" ||
		strings.Join(told, " ") != "y x" {
		f.Errorf("%+v %q", lanes, told)
	}
}

// testLanes: of a lane the first is tried, and the next when that is delivered.
func testLanes(f *fixture) {
	h := f.put()
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: f.epoch(), to: 11,
		parked: []*parked{entry("t:a", 9, 0), entry("t:a", 10, 0), entry("t:a", 11, 0), entry("t:b", 10, time.Hour)}}))
	first := func(want int64, tries int) *parked {
		f.Helper()
		all, next, err := f.store.due(f.ctx, h, 10)
		f.ok(err)
		if len(all) != 1 || all[0].number != want || all[0].tries != tries || string(all[0].body) != "ab\ncd" ||
			next < 59*time.Minute {
			f.Fatalf("due: %+v, next %v, want %d", all, next, want)
		}
		return &all[0]
	}
	one := int64(len(entry("t:b", 10, 0).text())) // as long as those of 10 and 11 in the other lane
	try := func(p *parked, again time.Duration, want int64) {
		f.Helper()
		for range 2 { // the answer may be lost
			if left, err := f.store.tried(f.ctx, h, p, again, 0, "told"); err != nil || left != want {
				f.Fatalf("%d bytes are left, %v, want %d", left, err, want)
			}
		}
	}
	try(first(9, 0), wasDelivered, 3*one)
	p := first(10, 0)
	p.tries = 10
	try(p, 0, 3*one+1) // one digit more
	try(first(10, 10), wasDelivered, 2*one)
	try(first(11, 0), wasDelivered, one)
	if all, _, err := f.store.due(f.ctx, h, 10); err != nil || len(all) != 0 {
		f.Errorf("%+v, %v", all, err)
	}
	l, err := f.store.load(f.ctx, h)
	f.ok(err)
	if l.parked != 1 || l.bytes != int64(len(entry("t:b", 10, 0).text())) || len(l.lanes) != 1 {
		f.Errorf("%+v", l)
	}
}

// testParkedPages: what is tried, delivered or discarded between two pages hides nothing else.
func testParkedPages(f *fixture) {
	h, pages := f.put(), &Service{store: f.store}
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: f.epoch(), to: 1, parked: []*parked{
		entry("t:a", 1, time.Hour), entry("t:b", 1, 2*time.Hour), entry("t:c", 1, 2*time.Hour),
		entry("t:d", 1, never), entry("t:e", 1, never), entry("t:f", 1, never),
	}}))
	page := func(cursor, want string) string {
		f.Helper()
		lanes, next, err := pages.Parked(f.ctx, "e", 2, cursor)
		f.ok(err)
		var names []string
		for _, l := range lanes {
			names = append(names, l.Name[2:])
		}
		if got := strings.Join(names, ""); got != want {
			f.Errorf("behind %q: %s, want %s", cursor, got, want)
		}
		return next
	}
	second := page("", "ab")
	_, err := f.store.tried(f.ctx, h, entry("t:a", 1, 0), wasDelivered, 0, "")
	f.ok(err)
	third := page(second, "cd")
	page(third, "ef")
	f.ok(f.store.act(f.ctx, "e", "discard", "t:d"))
	page(page(third, "ef"), "")
	_, err = f.store.tried(f.ctx, f.lease(process)[0], entry("t:b", 1, 0), 3*time.Hour, 0, "")
	f.ok(err)
	page(page(second, "cb"), "ef")
	for _, bad := range []string{"2", "x~t:a", "-1~t:a", "1~", "inf"} {
		if _, _, err := pages.Parked(f.ctx, "e", 2, bad); !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("behind %q: %v", bad, err)
		}
	}
}

func testReplay(f *fixture) {
	h := f.put()
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: f.epoch(), to: 2, rest: time.Hour,
		parked: []*parked{entry("t:a", 1, 0), entry("t:b", 2, time.Hour)}}))
	p := entry("t:a", 1, 0)
	p.tries = 10
	_, err := f.store.tried(f.ctx, h, p, never, 0, "told")
	f.ok(err)
	x, err := f.store.show(f.ctx, "e")
	f.ok(err)
	if x[0].Waiting != 1 || x[0].RestsUntil.IsZero() {
		f.Errorf("%+v", x[0])
	}
	f.ok(f.store.act(f.ctx, "e", "replay"))
	if _, err := f.store.load(f.ctx, h); !errors.Is(err, errLost) {
		f.Errorf("the holder goes by the rest that has ended: %v", err)
	}
	h = f.lease(process)[0]
	f.ok(f.store.act(f.ctx, "e", "replay")) // no rest: the holder goes on
	f.ok(f.client.HSet(f.ctx, "{seq}:hook:e", "rest", 1).Err())
	f.ok(f.store.act(f.ctx, "e", "replay")) // nor one that is over
	all, _, err := f.store.due(f.ctx, h, 10)
	f.ok(err)
	if x, err = f.store.show(f.ctx, "e"); err != nil || len(all) != 2 || all[0].tries != 0 || x[0].Waiting != 0 ||
		!x[0].RestsUntil.IsZero() {
		f.Errorf("%+v %+v %v", all, x[0], err)
	}
	if want := int64(2 * len(entry("t:a", 1, 0).text())); x[0].ParkedBytes != want {
		f.Errorf("%d bytes, want %d", x[0].ParkedBytes, want)
	}
}

// testFence: who has lost the lease, or has not seen a person's change, writes nothing.
func testFence(f *fixture) {
	h, epoch := f.put(), f.epoch()
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: epoch, to: 1, parked: []*parked{entry("t:a", 1, 0)}}))
	refused := func(why string) {
		f.Helper()
		if err := f.store.pass(f.ctx, h, &passage{epoch: epoch, from: 1, to: 2}); !errors.Is(err, errLost) {
			f.Errorf("%s: passed: %v", why, err)
		}
		if _, err := f.store.tried(f.ctx, h, entry("t:a", 1, 0), wasDelivered, 0, ""); !errors.Is(err, errLost) {
			f.Errorf("%s: tried: %v", why, err)
		}
		if _, err := f.store.load(f.ctx, h); !errors.Is(err, errLost) {
			f.Errorf("%s: loaded: %v", why, err)
		}
		if all, _, err := f.store.due(f.ctx, h, 1); err != nil || len(all) != 0 {
			f.Errorf("%s: due: %v, %v", why, all, err)
		}
	}
	x, err := f.store.show(f.ctx, "e")
	f.ok(err)
	f.ok(f.store.put(f.ctx, &x[0].Endpoint, x[0].rev))
	refused("changed")
	h = f.lease(process)[0]
	f.ok(f.client.HSet(f.ctx, "{"+f.queues.Namespace+"}:hook:e", "until", 1).Err())
	f.lease("other")
	refused("taken over")
	h = f.lease("other")[0]
	f.ok(f.client.Set(f.ctx, "{"+f.queues.Namespace+"}:is:server", "another", 0).Err())
	refused("not settled")
}

func testPut(f *fixture) {
	f.post("q", "a", "b")
	e := &Endpoint{ID: "e", URL: "https://example.org", Secrets: []Secret{{Key: newSecret()}}}
	f.ok(f.store.put(f.ctx, e, 0))
	for rev, want := range map[int64]error{0: ErrExists, 2: errStale} {
		if err := f.store.put(f.ctx, e, rev); !errors.Is(err, want) {
			f.Errorf("from %d: %v, want %v", rev, err, want)
		}
	}
	if err := f.store.put(f.ctx, &Endpoint{ID: "other"}, 1); !errors.Is(err, ErrNotFound) {
		f.Errorf("none: %v", err)
	}
	all, err := f.store.show(f.ctx, "")
	f.ok(err)
	if len(all) != 1 || all[0].Behind != 0 || all[0].rev != 1 {
		f.Errorf("%+v", all)
	}
	if _, err := f.store.show(f.ctx, "other"); !errors.Is(err, ErrNotFound) {
		f.Errorf("shown: %v", err)
	}
	for _, op := range []string{"remove", "replay", "discard", "rewind"} {
		if err := f.store.act(f.ctx, "other", op, "", ""); !errors.Is(err, ErrNotFound) {
			f.Errorf("%s: %v", op, err)
		}
	}
	f.ok(f.store.act(f.ctx, "e", "remove", ""))
	if all, err = f.store.show(f.ctx, ""); err != nil || len(all) != 0 {
		f.Errorf("removed: %v, %v", all, err)
	}
}

// testLogIsKept: the log drops nothing that an endpoint has not passed, however old.
func testLogIsKept(f *fixture) {
	h := f.put()
	f.post("q", "a", "b", "c")
	old, err := queues.Open(f.client, queues.Options{Namespace: f.queues.Namespace, EventsKeep: time.Millisecond})
	f.ok(err)
	kept := func() int64 {
		f.Helper()
		<-time.After(5 * time.Millisecond)
		_, err := old.Tick(f.ctx, queues.TickRequest{Process: process, Most: 10, Lease: time.Minute})
		f.ok(err)
		return f.client.XLen(f.ctx, "{"+f.queues.Namespace+"}:events").Val()
	}
	if n := kept(); n != 3 {
		f.Errorf("%d are kept of 3", n)
	}
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: f.epoch(), to: 1}))
	if n := kept(); n != 2 {
		f.Errorf("%d are kept of 2", n)
	}
	f.ok(f.store.act(f.ctx, "e", "remove", ""))
	if n := kept(); n != 1 { // the last one always stays
		f.Errorf("%d are kept of 1", n)
	}
}

// testRewind: as far back as the log goes, and no further than the endpoint has come.
func testRewind(f *fixture) {
	f.post("q", "a", "b", "c", "d")
	h, epoch := f.put(), f.epoch()
	f.ok(f.client.XTrimMinID(f.ctx, "{"+f.queues.Namespace+"}:events", "0-3").Err())
	rewind := func(epoch string, number int64) error { return f.store.act(f.ctx, "e", "rewind", number, epoch) }
	for _, tt := range []struct {
		epoch  string
		number int64
		want   error
	}{{epoch, 1, ErrGone}, {"0", 3, ErrGone}, {epoch, 5, ErrAhead}, {epoch, 4, nil}, {epoch, 2, nil}} {
		if err := rewind(tt.epoch, tt.number); !errors.Is(err, tt.want) {
			f.Errorf("%v: %v", tt, err)
		}
	}
	err := f.store.pass(f.ctx, h, &passage{epoch: epoch, from: 4, to: 4, told: []string{"x"}})
	if !errors.Is(err, errLost) {
		f.Errorf("passed by who has not seen it: %v", err)
	}
	l, err := f.store.load(f.ctx, f.lease(process)[0])
	f.ok(err)
	if l.cursor != 2 {
		f.Errorf("the cursor is at %d", l.cursor)
	}
}

// testTold: of the deliveries the last 200 are kept, those of a parked event among them.
func testTold(f *fixture) {
	h, epoch := f.put(), f.epoch()
	var told []string
	for i := range 150 {
		told = append(told, itoa(int64(i)))
	}
	p := &passage{epoch: epoch, to: 1, told: told, parked: []*parked{entry("t:a", 1, 0), entry("t:a", 2, 0)}}
	f.ok(f.store.pass(f.ctx, h, p))
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: epoch, from: 1, to: 2, told: told}))
	_, err := f.store.tried(f.ctx, h, entry("t:a", 1, 0), time.Hour, time.Minute, "tried")
	f.ok(err)
	lanes, lines, err := f.store.lanes(f.ctx, "e", "", 0, 1000)
	f.ok(err)
	if len(lanes) != 0 {
		f.Errorf("beside deliveries there is %+v", lanes)
	}
	if len(lines) != 200 || lines[0] != "tried" || lines[1] != "149" || lines[199] != "101" {
		f.Errorf("%d lines, %q … %q", len(lines), lines[:2], lines[len(lines)-1])
	}
	if all, next, err := f.store.due(f.ctx, h, 10); err != nil || len(all) != 0 || next < 59*time.Minute ||
		next > time.Hour {
		f.Errorf("due: %+v, %v, %v", all, next, err)
	}
	x, err := f.store.show(f.ctx, "e")
	f.ok(err)
	if rest := time.Until(x[0].RestsUntil); rest < 50*time.Second || rest > time.Minute+time.Second {
		f.Errorf("it rests for %v", rest)
	}
}

// testShown: how far behind an endpoint is, since when, and who has it.
func testShown(f *fixture) {
	h, epoch := f.put(), f.epoch()
	f.ok(f.store.put(f.ctx, &Endpoint{ID: "d", URL: "https://example.org", Secrets: []Secret{{Key: newSecret()}}}, 0))
	f.post("q", "a", "b", "c")
	p, err := f.queues.ReadLog(f.ctx, 0, 10)
	f.ok(err)
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: epoch, to: 1}))
	all, err := f.store.show(f.ctx, "")
	f.ok(err)
	if len(all) != 2 || all[0].ID != "d" || all[0].Behind != 3 || all[0].Holder != "" ||
		!all[0].BehindSince.Equal(p.Entries[0].At) {
		f.Errorf("%+v", all[0])
	}
	if x := all[1]; x.Behind != 2 || x.Holder != process || !x.BehindSince.Equal(p.Entries[1].At) ||
		!x.RestsUntil.IsZero() {
		f.Errorf("%+v", x)
	}
	f.ok(f.store.pass(f.ctx, h, &passage{epoch: epoch, from: 1, to: 3}))
	if all, err = f.store.show(f.ctx, "e"); err != nil || all[0].Behind != 0 || !all[0].BehindSince.IsZero() {
		f.Errorf("%+v, %v", all[0], err)
	}
}

// testManyLanes: more than one script handles.
func testManyLanes(f *fixture) {
	h, epoch := f.put(), f.epoch()
	for i := range int64(3) {
		p := &passage{epoch: epoch, from: i * 400, to: (i + 1) * 400}
		for j := range int64(400) {
			p.parked = append(p.parked, entry("t:"+itoa(i*400+j), p.to, time.Hour))
		}
		f.ok(f.store.pass(f.ctx, h, p))
	}
	l, err := f.store.load(f.ctx, h)
	f.ok(err)
	f.ok(f.store.act(f.ctx, "e", "replay"))
	all, next, err := f.store.due(f.ctx, h, 2000)
	f.ok(err)
	if len(l.lanes) != 1200 || len(all) != 1200 || next != never {
		f.Errorf("%d lanes, %d due, next %v", len(l.lanes), len(all), next)
	}
	f.ok(f.store.act(f.ctx, "e", "discard", ""))
	x, err := f.store.show(f.ctx, "e")
	f.ok(err)
	if x[0].Parked != 0 || x[0].ParkedBytes != 0 || x[0].Lanes != 0 {
		f.Errorf("%+v", x[0])
	}
}

// TestSignature: each secret that holds signs, and the standard's library agrees.
func TestSignature(t *testing.T) {
	t.Parallel()
	now := time.Now()
	fresh, old, over := newSecret(), newSecret(), newSecret()
	body := []byte(`{"id":"1-1"}`)
	all := strings.Fields(signature([]Secret{{Key: fresh}, {old, now.Add(time.Second)}, {over, now}}, "1-1", now, body))
	if len(all) != 2 {
		t.Fatalf("%d signatures", len(all))
	}
	for i, key := range []string{fresh, old} {
		wh, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := wh.Sign("1-1", now, body); err != nil || want != all[i] {
			t.Errorf("secret %d: %s, want %s, %v", i, all[i], want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := Definition{ID: "e", URL: "https://example.org/hook?x=1", Secret: newSecret(),
		Queues: []string{"a", "b*", "*"}, States: []tx.State{tx.Done}}
	if err := good.check(false); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*Definition){
		"id":     func(d *Definition) { d.ID = "a:b" },
		"secret": func(d *Definition) { d.Secret = "whsec_c2hvcnQ=" },
		"types":  func(d *Definition) { d.Types = []string{"mint"} },
		"queues": func(d *Definition) { d.Queues = []string{"a*b"} },
		"states": func(d *Definition) { d.States = []tx.State{"GONE"} },
		"url":    func(d *Definition) { d.URL = "http://example.org" },
	} {
		d := good
		change(&d)
		var bad InvalidError
		if err := d.check(false); !errors.As(err, &bad) || len(bad) != 1 || bad[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, url := range []string{"", "/x", "https://", "https://u:p@example.org", "https://example.org/#a",
		"ftp://example.org", "https://" + strings.Repeat("a", 2048)} {
		if checkURL(url, true) == "" {
			t.Errorf("%q can be an endpoint", url)
		}
	}
	if why := checkURL("http://example.org", true); why != "" {
		t.Error(why)
	}
	if err := CheckAll([]Definition{good, good}, false); err == nil {
		t.Error("one id twice")
	}
}
