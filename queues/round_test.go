package queues_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/tx"
)

// postBy has somebody post one transaction each to queues, all named alike.
func (f *fixture) postBy(by, typ string, names ...string) {
	f.Helper()
	for some := range slices.Chunk(names, queues.MaxBatch) {
		<-time.After(time.Millisecond)
		var items []queues.Item
		for _, name := range some {
			item := vote1(name, name, `{}`)
			item.By, item.Type = by, typ
			items = append(items, item)
		}
		for _, a := range f.store.EnqueueBatch(f.ctx, items) {
			f.ok(a.Err)
		}
	}
}

// bindNext binds one of the types and has it end at once, so that its sender is free again. It
// returns the uid, "" if nothing was bound.
func (f *fixture) bindNext(types ...string) string {
	f.Helper()
	bound, err := f.store.Bind(f.ctx, queues.BindRequest{
		Process: me, Types: types, Groups: []string{senders.Shared}, Most: 1, Grace: time.Minute})
	f.ok(err)
	if len(bound) == 0 {
		return ""
	}
	f.to(bound[0].Transaction.UID, tx.PhaseDone, final)
	return bound[0].Transaction.UID
}

// seated are names in the order of their seats.
func seated(names ...string) []string {
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Compare(explorer.Seat(a), explorer.Seat(b))
	})
}

// testRoundOfTwo: whoever posts one queue is bound within two beside another's many.
func testRoundOfTwo(has, posts string, many int) func(*fixture) {
	return func(f *fixture) {
		f.register("S")
		f.postBy(has, vote, numbered("many", 1, many)...)
		f.bindNext(vote)
		f.postBy(posts, vote, "one")
		if got := []string{f.bindNext(vote), f.bindNext(vote)}; !slices.Contains(got, "one") {
			f.Errorf("%v are bound before", got)
		}
	}
}

// testRoundOfThree: one queue of each, round and round, in one bind as in several.
func testRoundOfThree(f *fixture) {
	f.register("S1", "S2", "S3", "S4", "S5")
	of := map[string][]string{}
	for by, n := range map[string]int{"ci": 40, "app": 3, "": 25} {
		of[by] = numbered("t-"+by, 1, n)
		f.postBy(by, vote, of[by]...)
	}
	var want, got []string
	for range 40 {
		for _, by := range seated("ci", "app", "") {
			if left := of[by]; len(left) > 0 {
				want, of[by] = append(want, left[0]), left[1:]
			}
		}
	}
	for n := 1; len(got) < len(want); n = n%5 + 1 {
		bound := f.bind(n)
		for _, b := range bound {
			got = append(got, b.Transaction.UID)
			f.to(b.Transaction.UID, tx.PhaseDone, final)
		}
		if len(bound) < min(n, len(want)-len(got)) {
			f.Fatalf("%d of %d are bound, and no more", len(got), len(want))
		}
	}
	equal(f.T, "order", got, want)
}

// testRoundDemand: what is asked of senders, and whether one is free, whoever posted.
func testRoundDemand(f *fixture) {
	demand := func(ready, free bool, types ...string) {
		f.Helper()
		waits, idle, err := f.store.Demand(f.ctx, types, []string{senders.Shared})
		f.ok(err)
		equal(f.T, fmt.Sprintf("a queue of %v is ready, a sender is free", types), []bool{waits, idle}, []bool{ready, free})
	}
	f.postBy("a", vote, "q1")
	demand(true, false, vote)
	f.register("S")
	demand(true, true, vote)
	demand(true, true, batch, vote)
	demand(false, true, batch)
	f.bindAs(me, 1)
	demand(false, false, vote)
	f.postBy("a", vote, "q2")
	f.postBy("", batch, "q3")
	demand(true, false, vote, batch) // whose sender is at work
	f.to("q1", tx.PhaseDone, final)
	demand(true, true, vote)
	demand(true, true, batch)
}

// testRoundOfTypes: who posts several types has no more turns for that, and of the queues of one
// the oldest comes first, whatever its type.
func testRoundOfTypes(f *fixture) {
	f.register("S")
	two := seated("a", "b")
	f.postBy(two[0], vote, "a1")
	f.postBy(two[0], batch, "a2", "a3")
	f.postBy(two[0], vote, "a4")
	f.postBy(two[1], vote, "b1", "b2")
	var got []string
	for uid := f.bindNext(vote, batch); uid != ""; uid = f.bindNext(vote, batch) {
		got = append(got, uid)
	}
	equal(f.T, "order", got, []string{"a1", "b1", "a2", "b2", "a3", "a4"})
}

// testRoundOfOthers: what is bound of other types does not bring the turn back to the same one
// each time.
func testRoundOfOthers(f *fixture) {
	f.register("S")
	two := seated("a", "b")
	f.postBy(two[0], batch, numbered("other", 1, 9)...)
	for _, by := range two {
		f.postBy(by, vote, numbered(by, 1, 9)...)
	}
	turns := map[byte]int{}
	for range 8 {
		turns[f.bindNext(vote)[0]]++
		f.bindNext(batch)
	}
	equal(f.T, "turns", turns, map[byte]int{'a': 4, 'b': 4})
}

// testRoundHeadChanges: a queue stands in the turn of who posted its first.
func testRoundHeadChanges(f *fixture) {
	f.register("S")
	f.postBy("a", vote, "a1", "a2", "a3", "a4", "a5")
	item := vote1("b", "a5", `{}`)
	item.By = "b"
	f.ok(f.store.Enqueue(f.ctx, item).Err)
	f.to("a5", tx.PhaseFailed, person) // b is the first now
	f.inspect()
	if got := []string{f.bindNext(vote), f.bindNext(vote)}; !slices.Contains(got, "b") {
		f.Errorf("%v are bound before b", got)
	}
	f.to("a5", tx.PhaseWaiting, person)
	f.inspect()
	for _, want := range []string{"a2", "a3", "a4", "a5"} {
		equal(f.T, "bound", f.bindNext(vote), want)
	}
}

// testRoundFormer: what a build that knew no seats has left ready is bound in the turn of the
// nameless, whoever posted it, and such a build may go on beside this one.
func testRoundFormer(f *fixture) {
	f.register("S")
	f.postBy("a", vote, "a1", "a2")
	for member, seat := range f.dump().sets["round:"+vote] {
		since, queue, _ := strings.Cut(member, " ")
		f.word("q:"+queue, 10, vote)
		at, err := strconv.ParseFloat(since, 64)
		f.ok(err)
		f.ok(f.client.ZAdd(f.ctx, f.key("ready:"+vote), z(at, queue)).Err())
		equal(f.T, "seat", int64(seat), explorer.Seat("a"))
	}
	f.ok(f.client.Del(f.ctx, f.key("round:"+vote)).Err())
	f.postBy("a", vote, "a3", "a4")
	f.postBy("", vote, "n")
	for _, want := range []string{"a1", "a3", "a2", "a4", "n", ""} {
		equal(f.T, "bound", f.bindNext(vote), want)
	}
}

// testRoundAhead: what is told to be before a queue is bound before it, and nothing else.
func testRoundAhead(f *fixture) {
	f.register("S")
	r := rand.New(rand.NewPCG(1, 2))
	var all []string
	for range 40 {
		by, typ := []string{"", "a", "b", "c"}[r.IntN(4)], []string{vote, batch}[r.IntN(2)]
		all = append(all, fmt.Sprint("q", len(all)))
		f.postBy(by, typ, all[len(all)-1])
	}
	types := []string{vote, batch}
	before := map[string]int{}
	ask := func() {
		for _, q := range all {
			a, err := f.store.Ahead(f.ctx, q, types, "")
			f.ok(err)
			if a == nil {
				f.Fatalf("%s is not ready", q)
			}
			if a.Posters != 3 {
				f.Errorf("beside that of %s there are %d others", q, a.Posters)
			}
			before[q] = a.Own + a.Others
		}
	}
	ask()
	for range 5 {
		all = slices.DeleteFunc(all, func(q string) bool { return before[q] == 0 })
		f.bindNext(types...)
		ask()
	}
	for i := range len(all) {
		q := f.bindNext(types...)
		equal(f.T, "before "+q, before[q], i)
	}
	for _, q := range []string{"q0", "none"} {
		if a, err := f.store.Ahead(f.ctx, q, types, ""); a != nil || err != nil {
			f.Errorf("%s: %+v, %v", q, a, err)
		}
	}
	f.postBy("a", vote, "last")
	if a, err := f.store.Ahead(f.ctx, "last", []string{batch}, ""); a != nil || err != nil {
		f.Errorf("for others: %+v, %v", a, err)
	}
}

// testRoundOverview: the oldest is that of all who post, wherever they sit.
func testRoundOverview(f *fixture) {
	three := seated("", "a", "b")
	for i := range three { // the last in the round is the oldest
		by := three[len(three)-1-i]
		f.postBy(by, vote, "q"+by)
		<-time.After(time.Millisecond)
		got := f.overview().Types[vote]
		equal(f.T, "ready", got.Ready, int64(i+1))
		equal(f.T, "oldest", got.Oldest, f.get("q"+three[len(three)-1]).ReceivedAt)
	}
}

// boundedRound wants a bind of the nameless to take as many commands beside many ready queues as
// alone, one with a name no more than one beside that, and one beside a thousand who post those
// that it takes beside ten; and a place to be told with no more than 64 of them looked at.
func boundedRound(f *fixture) {
	f.register("S")
	f.postBy("", vote, "warm", "alone")
	f.bindNext(vote) // has the scripts loaded
	bind := func() int { return f.commands(func() { f.bindNext(vote) })[""] }
	alone := bind()
	f.postBy("", vote, numbered("many", 1, 40)...)
	for range 40 {
		if many := bind(); many > alone {
			f.Fatalf("a bind takes %d commands alone, and %d beside others that are ready", alone, many)
		}
	}
	f.postBy("a", vote, "named")
	if named := bind(); named > alone+1 {
		f.Errorf("a bind takes %d commands, and %d where somebody has a name", alone, named)
	}
	posters := numbered("by", 1, 1000)
	for _, by := range posters[:10] {
		f.postBy(by, vote, numbered(by+"-", 1, 20)...)
	}
	few := bind()
	for _, by := range posters[10:] {
		f.postBy(by, vote, by+"-1", by+"-2")
	}
	for range 30 {
		if many := bind(); many > few {
			f.Fatalf("a bind takes %d commands beside ten, %d beside a thousand", few, many)
		}
	}
	var a *queues.Ahead
	got := f.commands(func() {
		var err error
		a, err = f.store.Ahead(f.ctx, posters[999]+"-2", []string{vote}, "")
		f.ok(err)
	})
	if a == nil || a.Own > 1 || a.Posters > 65 || a.Others < 999 || a.Others > 2*1000+200 {
		f.Errorf("ahead: %+v", a)
	}
	if got[""] > 150 {
		f.Errorf("a place takes %v", got)
	}
}
