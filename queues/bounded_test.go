package queues_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/lifecycle"
)

// TestBounded holds how much one script does against what there is.
func TestBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "save", "")
	for name, run := range map[string]func(*fixture){
		"Remove": boundedRemove, "Audit": boundedAudit, "Read": boundedRead, "Page": boundedPage, "Bind": boundedBind, "Fees": boundedFees,
	} {
		// One after the other: the server counts the commands of all.
		if !t.Run(name, func(t *testing.T) { newFixture(t, server.Client, name).run(run, true) }) {
			return
		}
	}
}

// commands counts the commands of which what is done consists, by name, and all but the
// scripts themselves as "".
func (f *fixture) commands(do func()) map[string]int {
	f.Helper()
	f.ok(f.client.ConfigResetStat(f.ctx).Err())
	do()
	stats, err := f.client.Info(f.ctx, "commandstats").Result()
	f.ok(err)
	counts := map[string]int{}
	for _, m := range regexp.MustCompile(`cmdstat_(\S+):calls=(\d+),`).FindAllStringSubmatch(stats, -1) {
		counts[m[1]], _ = strconv.Atoi(m[2])
		if m[1] != "evalsha" && m[1] != "eval" {
			counts[""] += counts[m[1]]
		}
	}
	return counts
}

// large posts n transactions with large bodies to as many queues.
func (f *fixture) large(n, size, over int) {
	f.Helper()
	data := []byte(fmt.Sprintf(`{"x":"%0*d"}`, size, 1))
	for i := range n {
		f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: fmt.Sprintf("u%03d", i), Queue: fmt.Sprint("q", i%over), Type: vote, Data: data}).Err)
	}
}

// boundedRemove wants a removal from the middle of a line not to walk it.
func boundedRemove(f *fixture) {
	lineOf(f, f.store, 3000)
	f.to("u1500", lifecycle.PhaseFailed, person)
	got := f.commands(func() { f.ok(f.store.Remove(f.ctx, "u1500")) })
	if got["lrem"] != 1 || got[""] > 60 { // of its page
		f.Errorf("a removal takes %v", got)
	}
}

// boundedAudit wants an audit to look at no more than about a thousand entries of
// queues in one script.
func boundedAudit(f *fixture) {
	const over, each = 40, 120
	for i := range over {
		f.fill(fmt.Sprint("q", i), numbered(fmt.Sprint("t", i, "-"), 1, each))
		f.word(fmt.Sprint("q:q", i), 0, "1")
	}
	found, err := f.store.Audit(f.ctx, nil)
	f.ok(err)
	got := f.commands(func() {
		again, err := f.store.Reaudit(f.ctx, found, nil)
		f.ok(err)
		equal(f.T, "found again", len(again), over)
	})
	if got["evalsha"] < over*each/1000 {
		f.Errorf("%d queues of %d are looked at with %v", over, each, got)
	}
	for i := range over {
		f.word(fmt.Sprint("q:q", i), 0, fmt.Sprint(each))
	}
}

// boundedRead wants an answer to hold about a MiB at most, and all to be read.
func boundedRead(f *fixture) {
	const n, size = 12, 300_000
	f.large(n, size, 1)
	uids := f.list(queues.Filter{}, n)
	got := f.commands(func() {
		ts, err := f.store.GetMany(f.ctx, uids)
		f.ok(err)
		equal(f.T, "read", len(ts), n)
	})
	if got["evalsha"] < n*size/(1<<20+size) {
		f.Errorf("%d of %d bytes are read in %d scripts", n, size, got["evalsha"])
	}
}

// boundedPage wants a page to end when it is large, and the next one to go on.
func boundedPage(f *fixture) {
	const n, size = 40, 300_000
	f.large(n, size, 1)
	page, next, err := f.store.List(f.ctx, queues.Filter{}, n, "")
	f.ok(err)
	if most := 8<<20/size + 1; len(page) > most || next == "" {
		f.Errorf("a page holds %d of %d bytes, the next is %q", len(page), size, next)
	}
	equal(f.T, "in all pages", len(f.list(queues.Filter{}, n)), n)
}

// boundedBind wants what is bound in one script to be about a MiB at most, and yet all
// to be bound that can be.
func boundedBind(f *fixture) {
	const n, size = 12, 300_000
	f.large(n, size, n)
	f.register(numbered("S", 1, n+1)...)
	got := f.commands(func() { equal(f.T, "bound", len(f.bind(n+1)), n) })
	if got["evalsha"] < n*size/(1<<20+size) {
		f.Errorf("%d of %d bytes are bound in %d scripts", n, size, got["evalsha"])
	}
}

// boundedFees wants the limit of all senders held without adding up what each has cost.
func boundedFees(f *fixture) {
	f.register(numbered("S", 1, 60)...)
	uids := numbered("t", 1, 60)
	for _, uid := range uids {
		f.post("q-"+uid, uid)
	}
	f.bind(60)
	limits := queues.FeeLimits{All: 610}
	for _, uid := range uids[1:] {
		f.ok(f.planFor(uid, 10, limits))
	}
	got := f.commands(func() { f.ok(f.planFor(uids[0], 20, limits)) })
	if got["hvals"]+got["hgetall"] > 0 {
		f.Errorf("a plan takes %v", got)
	}
	if err := f.planFor(uids[1], 11, limits); err == nil {
		f.Error("the limit of all is passed")
	}
}

// testRemovedInLine follows a line of which some are removed while they stand in it.
func testRemovedInLine(f *fixture) {
	f.register("S")
	f.post("q", "a", "b", "c", "d", "e")
	for _, uid := range []string{"b", "d"} {
		f.to(uid, lifecycle.PhaseFailed, person)
		f.ok(f.open(queues.Options{Namespace: f.store.Namespace}).Remove(f.ctx, uid)) // its key is free at once
	}
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q"}, 1), []string{"a", "c", "e"})
	f.post("q", "b")
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q"}, 2), []string{"a", "c", "e", "b"})
	place := func(uid string, want int, next string) {
		f.Helper()
		got, err := f.store.Place(f.ctx, uid)
		f.ok(err)
		equal(f.T, "ahead of "+uid, got, lifecycle.Place{Ahead: want, First: next})
	}
	place("c", 1, "a")
	place("b", 3, "a")
	f.bound("a S")
	place("b", 2, "a")
	qs, _, err := f.store.Queues(f.ctx, 1, "")
	f.ok(err)
	equal(f.T, "oldest", qs[0].OldestWaiting, f.get("c").ReceivedAt)
	for _, then := range [][2]string{{"a", "c"}, {"c", "e"}, {"e", "b"}} {
		f.to(then[0], lifecycle.PhaseFailed)
		f.bound(then[1] + " S")
	}
}

// testLineIsHandedOn wants a line that nothing is taken from to stay as long as what waits
// in it, however many are posted, cancelled and removed, and in order.
func testLineIsHandedOn(f *fixture) {
	f.register("S")
	f.post("q", "first")
	f.ok(f.store.Pause(f.ctx, "q", "by a test"))
	want, stay := []string{"first"}, map[string]bool{}
	uids := numbered("t", 1, 1300)
	for i := 0; i < len(uids); i += 100 {
		stay[uids[i]], stay[uids[i+50]] = true, true
	}
	f.fill("q", uids)
	for _, uid := range uids {
		if stay[uid] {
			continue
		}
		f.to(uid, lifecycle.PhaseFailed, person)
		f.ok(f.store.Remove(f.ctx, uid))
	}
	want = append(want, slices.Sorted(maps.Keys(stay))...)
	if n := f.client.LLen(f.ctx, f.key("line:q")).Val(); n > int64(2*len(want)+512+1) {
		f.Errorf("%d wait, and the line holds %d", len(want), n)
	}
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q", State: lifecycle.Waiting}, 7), want)
	for i, uid := range want {
		p, err := f.store.Place(f.ctx, uid)
		f.ok(err)
		equal(f.T, "place of "+uid, p, lifecycle.Place{Ahead: i, First: "first"})
	}
	f.ok(f.store.Resume(f.ctx, "q"))
	for _, uid := range want {
		f.bound(uid + " S")
		f.to(uid, lifecycle.PhaseFailed, removed(time.Hour))
	}
}
