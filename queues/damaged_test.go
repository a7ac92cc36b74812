package queues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// TestDamagedQueue: a queue whose record cannot be read holds up nothing of any other, in
// whatever state it is, and goes on when somebody has mended it.
func TestDamagedQueue(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fixture){}
	for name, c := range map[string]func(*fixture, func() func()){
		"Ready": testDamagedReady, "Due": testDamagedDue, "Ended": testDamagedEnded, "Enqueue": testDamagedEnqueue,
		"Shown": testDamagedShown, "Counted": testDamagedCounted,
	} {
		for text, damage := range map[string]func(f *fixture){
			"NoWords":   func(f *fixture) { f.ok(f.client.Set(f.ctx, f.key("q:odd"), "damaged", 0).Err()) },
			"NoNumber":  func(f *fixture) { f.word("q:odd", 0, "some") },
			"NoNumber5": func(f *fixture) { f.word("q:odd", 5, "some") },
			"NoTime":    func(f *fixture) { f.word("q:odd", 8, "soon") },
		} {
			cases[name+text] = func(f *fixture) {
				c(f, func() (mend func()) {
					record := f.client.Get(f.ctx, f.key("q:odd")).Val()
					damage(f)
					return func() { f.ok(f.client.Set(f.ctx, f.key("q:odd"), record, 0).Err()) }
				})
			}
		}
	}
	cases["BatchStops"] = testBatchStops
	backends(t, cases)
}

// minutePassed has what is due in a minute be due now.
func (f *fixture) minutePassed(members ...string) {
	f.Helper()
	now := f.now()
	for _, member := range members {
		at := int64(f.client.ZScore(f.ctx, f.key("due"), member).Val())
		if in := at - now.UnixMilli(); in < 50_000 || in > 60_000 {
			f.Errorf("%s is due in %d ms", member, in)
		}
		f.ok(f.client.ZAdd(f.ctx, f.key("due"), z(1, member)).Err())
	}
}

// testDamagedReady: what is ready behind it is bound. It is ready again a minute after it was
// mended, or when a person resumes it.
func testDamagedReady(f *fixture, damage func() func()) {
	f.register("S1", "S2", "S3")
	f.post("odd", "a", "b", "c")
	f.post("even", "d", "e")
	mend := damage()
	f.bound("d S1")
	f.to("d", tx.PhaseDone)
	f.bound("e S2")
	f.minutePassed("q:odd")
	f.tick()
	f.minutePassed("q:odd")
	f.bound()
	mend()
	f.bound() // nobody looks for it
	f.tick()
	f.bound("a S3")
	f.to("a", tx.PhaseDone)

	mend = damage()
	f.bound()
	mend()
	f.ok(f.store.Pause(f.ctx, "odd", "mended"))
	f.ok(f.store.Resume(f.ctx, "odd"))
	f.bound("b S1")
}

// testDamagedDue: what else is due is done, and the end of its pause and of its wait for a
// callback come when it is mended.
func testDamagedDue(f *fixture, damage func() func()) {
	f.register("S1", "S2", "S3")
	f.post("odd", "a", "b")
	f.post("even", "c", "d")
	f.post("third", "e")
	f.bound("a S1", "c S2", "e S3")
	for _, uid := range []string{"a", "c"} {
		f.to(uid, tx.PhaseDone, tell(tx.OnSuccess, short, short))
	}
	for _, queue := range []string{"odd", "even"} {
		f.ok(f.store.PauseUntil(f.ctx, queue, "for a moment", f.now().Add(short)))
	}
	f.ok(f.client.ZAdd(f.ctx, f.key("due"), z(1, "p:odd"), z(1, "q:odd")).Err()) // before all else
	f.to("e", tx.PhaseWatching, due(0))
	mend := damage()
	events := len(f.dump().events)
	told := map[string]bool{}
	f.eventually("all else is done", func() bool {
		k := f.tick()
		for _, uid := range slices.Concat(k.Due, k.Callbacks) {
			told[uid] = true
		}
		return told["a"] && told["c"] && told["e"] && f.queue("even").Paused == ""
	})
	equal(f.T, "since then", f.dump().events[events:], []event{
		{Number: f.dump().events[events].Number, Kind: "q", ID: "even", Code: "RESUMED"}})
	f.eventually("the other one goes on", func() bool { f.tick(); return len(f.bind(9)) == 1 })
	equal(f.T, "it", f.get("d").Phase, tx.PhaseDispatching)
	mend()
	f.minutePassed("q:odd", "p:odd")
	f.tick()
	f.bound("b S2")
}

// testDamagedEnded: what has ended of it is removed when it is mended, not before, by no clock
// and by no person.
func testDamagedEnded(f *fixture, damage func() func()) {
	f.register("S1", "S2")
	f.post("odd", "a", "keeps")
	f.post("even", "b", "stays")
	f.bound("a S1", "b S2")
	f.to("a", tx.PhaseDone, final, removed(0))
	f.to("b", tx.PhaseDone, final, removed(short))
	mend := damage()
	events := f.dump().events
	if err := f.store.Remove(f.ctx, "a"); err == nil || !strings.Contains(err.Error(), "record of queue odd is damaged") {
		f.Errorf("removed by a person: %v", err)
	}
	f.eventually("the other one is removed", func() bool {
		f.tick()
		_, err := f.store.Get(f.ctx, "b")
		return errors.Is(err, queues.ErrNotFound)
	})
	equal(f.T, "events", len(f.dump().events)-len(events), 1)
	f.get("a")
	mend()
	f.minutePassed("x:a")
	f.tick()
	if _, err := f.store.Get(f.ctx, "a"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("it is mended, and a is there: %v", err)
	}
}

// testDamagedEnqueue: of what is posted together only its own is refused, and that stays so for
// the rest of a batch.
func testDamagedEnqueue(f *fixture, damage func() func()) {
	f.store = f.open(queues.Options{Namespace: f.store.Namespace, MaxWaiting: 3})
	f.register("S")
	f.post("odd", "a")
	f.post("empty", "e")
	f.bound("a S")
	enqueue := func(b *queues.Batch, want string, places ...string) {
		f.Helper()
		var items []queues.Item
		for _, place := range places {
			uid, queue, _ := strings.Cut(place, " ")
			items = append(items, vote1(uid, queue, `{"n":1}`))
		}
		events, got := len(f.dump().events), ""
		accepted := 0
		for i, a := range b.Enqueue(f.ctx, items) {
			switch {
			case errors.Is(a.Err, queues.ErrDamaged):
				if !strings.Contains(a.Err.Error(), "the record of queue odd is damaged") {
					f.Errorf("%s: %v", items[i].UID, a.Err)
				}
				got += "damaged "
			case a.Err != nil:
				got += a.Err.Error() + " "
			case a.Existed:
				got += "existed "
			default:
				accepted++
				got += "new "
			}
		}
		equal(f.T, "answers", strings.TrimSpace(got), want)
		equal(f.T, "events", len(f.dump().events)-events, accepted)
	}
	for _, waits := range []string{"nothing", "something"} {
		mend := damage()
		first := queues.NewBatch(f.store)
		enqueue(first, "new damaged existed new damaged new", waits+"1 even", waits+"2 odd", "a odd", waits+"3 new",
			waits+"4 odd", waits+"5 empty")
		if a := f.store.Enqueue(f.ctx, vote1("alone", "odd", `{}`)); !errors.Is(a.Err, queues.ErrDamaged) {
			f.Errorf("alone: %+v", a)
		}
		mend()
		enqueue(first, "damaged new", waits+"6 odd", waits+"7 third")
		enqueue(queues.NewBatch(f.store), "new", waits+"8 odd")
	}
	equal(f.T, "of it", f.list(queues.Filter{Queue: "odd"}, 9), []string{"a", "nothing8", "something8"})
}

// testDamagedShown: all others are shown, and it is told of what it is.
func testDamagedShown(f *fixture, damage func() func()) {
	f.register("S1", "S2")
	f.post("odd", "a", "b")
	f.post("even", "c", "d")
	f.post("bound", "e", "f")
	f.bound("a S1", "c S2")
	f.to("a", tx.PhaseWaiting)
	mend := damage()
	if load := f.overview().Types[vote]; load.Waiting != 5 || load.Ready != 2 || load.Oldest.IsZero() {
		f.Errorf("the overview has %+v", load)
	}
	f.audited("RECORD  odd ", "STRAY  odd ")
	_, err := f.store.Queue(f.ctx, "odd")
	all, _, list := f.store.Queues(f.ctx, 9, "")
	f.ok(list)
	if len(all) != 3 || all[2].Name != "odd" {
		f.Fatalf("queues: %+v", all)
	}
	q := all[2]
	if words := f.client.Get(f.ctx, f.key("q:odd")).Val(); strings.HasPrefix(words, "2 0 0 0 1 some ") {
		equal(f.T, "only scripts ask for it", q.Damaged, nil)
	} else if !errors.Is(err, queues.ErrDamaged) || !strings.Contains(q.Paused, "queue odd is damaged") {
		f.Errorf("it is shown as %+v, %v", q, err)
	}
	_, running := f.store.InFlight(f.ctx, "odd")
	_, told := f.store.Callbacks(f.ctx, "odd", f.now())
	none := f.client.Get(f.ctx, f.key("q:odd")).Val() == "damaged"
	for what, err := range map[string]error{"what runs": running, "what is told": told} {
		if (none || err != nil) && !errors.Is(err, queues.ErrDamaged) { // else it may not ask for the word
			f.Errorf("%s: %v", what, err)
		}
	}
	equal(f.T, "another one", all[1].Running, "c")
	mend()
}

// testDamagedCounted: a change that fails for it counts nothing, however often it is tried.
func testDamagedCounted(f *fixture, damage func() func()) {
	f.register("S1")
	f.post("odd", "a")
	f.bound("a S1")
	f.ok(f.planFor("a", 100, queues.FeeLimits{}))
	mend := damage()
	back := func() error { return f.advance(f.get("a"), tx.PhaseWaiting, fated(1, tx.Refused)) }
	for range 2 {
		if err := back(); err == nil {
			f.Error("it is in its queue again")
		}
		equal(f.T, "fees", f.fees(), map[string]uint64{"S1": 100})
	}
	mend()
	f.ok(back())
	equal(f.T, "fees", f.fees(), map[string]uint64{"S1": 0})
}

// An answers hook answers the script that accepts, which has many arguments, with one thing.
type answers struct{ answer any }

func (answers) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if script, is := c.(*redis.Cmd); is && len(c.Args()) > 10 {
			script.SetVal(s.answer)
			return nil
		}
		return next(ctx, c)
	}
}
func (answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// testBatchStops: behind whatever the store could not take nothing of a batch is tried; what is
// refused for itself alone stops nothing.
func testBatchStops(f *fixture) {
	broken := func(answer any) *queues.Store {
		o := *f.client.Options()
		client := redis.NewClient(&o)
		f.Cleanup(func() { _ = client.Close() })
		client.AddHook(answers{answer})
		s, err := queues.Open(client, queues.Options{Namespace: f.store.Namespace})
		f.ok(err)
		return s
	}
	one := []queues.Item{vote1("a", "q", `{}`)}
	for _, answer := range []any{
		"no list", []any{int64(1)}, []any{int64(1), int64(0), []any{}},
		[]any{int64(1), int64(0), int64(-5)},
	} {
		s := broken(answer)
		a := s.Enqueue(f.ctx, one[0])
		if a.Err == nil || !strings.Contains(a.Err.Error(), "enqueue answered ") {
			f.Errorf("answered %v: %+v", answer, a)
		}
	}
	f.ok(f.client.Set(f.ctx, f.key("n:seq"), "no number", 0).Err())
	b := queues.NewBatch(f.store)
	first := b.Enqueue(f.ctx, one)[0].Err
	f.ok(f.client.Del(f.ctx, f.key("n:seq")).Err())
	later := b.Enqueue(f.ctx, []queues.Item{vote1("b", "q", `{}`), vote1("c", "p", `{}`)})
	if first == nil || fmt.Sprint(later[0].Err, later[1].Err) != fmt.Sprint(first, first) {
		f.Errorf("behind %v: %+v", first, later)
	}
	f.post("q", "known", "gone")
	f.to("gone", tx.PhaseFailed, person)
	f.ok(f.store.Remove(f.ctx, "gone"))
	b = queues.NewBatch(f.store)
	for uid, want := range map[string]error{"known": queues.ErrKeyReused, "gone": queues.ErrKeyGone} {
		if a := b.Enqueue(f.ctx, []queues.Item{vote1(uid, "p", `{}`)})[0]; !errors.Is(a.Err, want) {
			f.Errorf("%s: %v", uid, a.Err)
		}
	}
	f.ok(b.Enqueue(f.ctx, one)[0].Err)
}
