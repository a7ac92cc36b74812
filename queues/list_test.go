package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

func (f *fixture) fill(queue string, uids []string) {
	f.Helper()
	items := make([]queues.Item, len(uids))
	for i, uid := range uids {
		items[i] = queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(`{}`)}
	}
	for _, a := range f.store.EnqueueBatch(f.ctx, items) {
		f.ok(a.Err)
	}
}

func testListPages(f *fixture) {
	equal(f.T, "of nothing", f.list(queues.Filter{}, 10), nil)
	uids := numbered("u", 1, 1100) // sequences 1 to 511, 512 to 1023, 1024 to 1100 share a page each
	f.fill("q", uids)
	for _, limit := range []int{1, 2, 199, 200, 201, 511, 512, 513, 1100, 5000} {
		equal(f.T, fmt.Sprint("all, by ", limit), f.list(queues.Filter{}, limit), uids)
	}
	last := ""
	for _, cut := range []int{510, 511, 512, 513, 1023, 1024, 1100} {
		page, next, err := f.store.List(f.ctx, queues.Filter{}, cut, "")
		f.ok(err)
		rest, _, err := f.store.List(f.ctx, queues.Filter{}, 5, next)
		f.ok(err)
		if len(page) != cut || next == last {
			f.Errorf("a page of %d has %d and cursor %q", cut, len(page), next)
		}
		for i, t := range rest {
			equal(f.T, fmt.Sprint("behind ", cut), t.UID, uids[cut+i])
		}
		last = next
	}
}

func testListQueue(f *fixture) {
	f.register("S")
	// Two queues, their transactions mixed; of q some are past, back, cancelled.
	uids := numbered("u", 1, 900)
	var mine []string
	for i, uid := range uids {
		name := "p"
		if i%2 == 0 {
			name, mine = "q", append(mine, uid)
		}
		f.fill(name, []string{uid})
	}
	f.ok(f.store.Pause(f.ctx, "p", "x"))
	for _, uid := range mine[:250] {
		f.bound(uid + " S")
		f.to(uid, tx.PhaseDone)
	}
	f.to(mine[3], tx.PhaseWaiting)
	for _, uid := range mine[260:420] {
		f.to(uid, tx.PhaseFailed, person)
	}
	f.bound(mine[3] + " S")
	for _, limit := range []int{7, 200, 250, 1000} {
		equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, limit), mine)
		equal(f.T, "failed", f.list(queues.Filter{Queue: "q", State: tx.Failed}, limit), mine[260:420])
		equal(f.T, "waiting", f.list(queues.Filter{Queue: "q", State: tx.Waiting}, limit),
			slices.Concat(mine[250:260], mine[420:]))
	}
	equal(f.T, "of no queue", f.list(queues.Filter{Queue: "none"}, 10), nil)
}

func testListDuringDeletions(f *fixture) {
	uids := numbered("u", 1, 1100)
	f.fill("q", uids)
	remove := func(uids []string) {
		for _, uid := range uids {
			f.to(uid, tx.PhaseFailed, person)
			f.ok(f.store.Remove(f.ctx, uid))
		}
	}
	for _, filter := range []queues.Filter{{}, {Queue: "q"}} {
		page, next, err := f.store.List(f.ctx, filter, 50, "")
		f.ok(err)
		first := slices.Index(uids, page[0].UID)
		// What was shown, where the cursor stands, and what comes next goes.
		remove(uids[first+20 : first+70])
		rest, _, err := f.store.List(f.ctx, filter, 50, next)
		f.ok(err)
		if len(rest) != 50 || rest[0].UID != uids[first+70] || rest[49].UID != uids[first+119] {
			f.Errorf("%+v: after the deletions %d from %s", filter, len(rest), rest[0].UID)
		}
		uids = slices.Concat(uids[:first+20], uids[first+70:])
	}
	remove(uids[400:950]) // a whole page
	uids = slices.Concat(uids[:400], uids[950:])
	equal(f.T, "all", f.list(queues.Filter{}, 33), uids)
	equal(f.T, "queue", f.list(queues.Filter{Queue: "q"}, 33), uids)
}

func testListFilters(f *fixture) {
	f.register("S1", "S2")
	f.post("q1", "a", "b")
	f.post("q2", "c")
	<-time.After(time.Microsecond)
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "d", Queue: "q3", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	f.bound("a S1", "c S2")
	const token = "xPi5ctD8Dcn5HpLpyKPYTkHHMdXRFKVWFTALrFPCZfw7GNc4Mt"
	mina := tx.Account{Key: "A", Token: tx.MinaToken}
	touched := func(number int, sender, hash string, all ...tx.Account) func(*queues.Change) {
		return made(tx.Attempt{Number: number, Sender: sender, State: tx.Signed, Hash: hash, Touched: all})
	}
	f.to("a", tx.PhaseDelayed, touched(1, "S1", "5J1", mina),
		touched(2, "S1", "", tx.Account{Key: "B", Token: token}, mina))
	f.to("c", tx.PhaseDispatching, touched(1, "S2", "", tx.Account{Key: "A", Token: token}))
	for _, tc := range []struct {
		filter queues.Filter
		want   []string
	}{
		{queues.Filter{}, []string{"a", "b", "c", "d"}},
		{queues.Filter{Type: batch}, []string{"d"}},
		{queues.Filter{Sender: "S2"}, []string{"c"}},
		{queues.Filter{State: tx.Waiting}, []string{"b", "d"}},
		{queues.Filter{State: tx.Retry}, []string{"a"}},
		{queues.Filter{State: tx.Dispatching, Queue: "q1"}, nil},
		{queues.Filter{State: tx.Dispatching, Sender: "S2"}, []string{"c"}},
		{queues.Filter{State: tx.Done}, nil},
		{queues.Filter{Queue: "q1", Type: vote}, []string{"a", "b"}},
		{queues.Filter{Hash: "5J1"}, []string{"a"}},
		{queues.Filter{ZkApp: tx.Account{Key: "A"}}, []string{"a", "c"}},
		{queues.Filter{ZkApp: mina}, []string{"a"}},
		{queues.Filter{ZkApp: tx.Account{Key: "A", Token: token}}, []string{"c"}},
		{queues.Filter{ZkApp: tx.Account{Key: "B"}}, []string{"a"}},
		{queues.Filter{ZkApp: tx.Account{Key: "B", Token: tx.MinaToken}}, nil},
		{queues.Filter{ZkApp: tx.Account{Key: "S1"}}, nil},
	} {
		equal(f.T, fmt.Sprintf("%+v", tc.filter), f.list(tc.filter, 1), tc.want)
		equal(f.T, fmt.Sprintf("%+v", tc.filter), f.list(tc.filter, 9), tc.want)
	}
	_, next, err := f.store.List(f.ctx, queues.Filter{}, 2, "")
	f.ok(err)
	for _, cursor := range []string{"x", "!", "MSAy", next + "A", "LTEgMA"} {
		if _, _, err := f.store.List(f.ctx, queues.Filter{}, 2, cursor); !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("cursor %q: %v", cursor, err)
		}
	}
	for _, another := range []queues.Filter{{Queue: "q1"}, {Newest: true}, {Since: time.Unix(1, 0)}, {ZkApp: mina}} {
		if _, _, err := f.store.List(f.ctx, another, 2, next); !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("the cursor of another list than %+v: %v", another, err)
		}
	}
}

// testListTimes lists what was received within a time.
func testListTimes(f *fixture) {
	var times []time.Time
	for _, uid := range []string{"a", "b", "c"} {
		f.post("q", uid)
		received := f.get(uid).ReceivedAt
		times = append(times, received)
		f.eventually("the clock moves on", func() bool { return f.now().Sub(received) > 2*time.Millisecond })
	}
	for _, tc := range []struct {
		since, until time.Time
		want         []string
	}{
		{times[1], time.Time{}, []string{"b", "c"}},
		{time.Time{}, times[1], []string{"a"}},
		{times[0], times[2], []string{"a", "b"}},
		{times[2].Add(time.Hour), time.Time{}, nil},
		{time.Time{}, times[0].Add(-time.Hour), nil},
	} {
		for _, queue := range []string{"", "q"} {
			equal(f.T, fmt.Sprint(tc.since, tc.until),
				f.list(queues.Filter{Queue: queue, Since: tc.since, Until: tc.until}, 2), tc.want)
		}
	}
}

// testListManyPassed wants short pages with a cursor where few of many match.
func testListManyPassed(f *fixture) {
	uids := numbered("u", 1, 12_000)
	f.fill("q", uids)
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "rare", Queue: "q", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	for _, filter := range []queues.Filter{{Type: batch}, {Type: batch, Queue: "q"}} {
		page, next, err := f.store.List(f.ctx, filter, 10, "")
		f.ok(err)
		if len(page) != 0 || next == "" {
			f.Errorf("%+v: the first look found %d, cursor %q", filter, len(page), next)
		}
		equal(f.T, "found", f.list(filter, 10), []string{"rare"})
	}
}

func testQueues(f *fixture) {
	equal(f.T, "none", len(first(f.store.Queues(f.ctx, 9, ""))), 0)
	names := numbered("q", 1, 25)
	for _, name := range names {
		f.post(name, "t-"+name)
	}
	f.register("S")
	f.bound("t-q0001 S")
	var got []string
	for cursor, next := "", "."; next != ""; cursor = next {
		page, n, err := f.store.Queues(f.ctx, 10, cursor)
		f.ok(err)
		for _, q := range page {
			got = append(got, q.Name)
			if (q.Name == names[0]) != (q.State() == tx.QueueBlocked) {
				f.Errorf("%+v", q)
			}
		}
		next = n
	}
	equal(f.T, "names", got, names)
	f.post("r", "t-r")
	for prefix, want := range map[string]int{"q": 25, "q000": 9, "q0025": 1, "q00251": 0, "r": 1, "s": 0, "": 26} {
		page, _, err := f.store.QueuesNamed(f.ctx, prefix, nil, 100, "")
		f.ok(err)
		equal(f.T, "named "+prefix, len(page), want)
		count := 0
		for cursor, next := "", "."; next != ""; cursor = next {
			page, next, err = f.store.QueuesNamed(f.ctx, prefix, nil, 3, cursor)
			f.ok(err)
			count += len(page)
		}
		equal(f.T, "named "+prefix+", in pages", count, want)
	}
	if _, _, err := f.store.QueuesNamed(f.ctx, "r", nil, 9, "q0001"); !errors.Is(err, queues.ErrBadCursor) {
		f.Errorf("the cursor of another search: %v", err)
	}
	if _, _, err := f.store.Queues(f.ctx, 9, "a b"); !errors.Is(err, queues.ErrBadCursor) {
		f.Errorf("a cursor that is no name: %v", err)
	}
	if _, err := f.store.Queue(f.ctx, "none"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("no queue: %v", err)
	}
}

// chosen walks a list of queues in pages of a size.
func (f *fixture) chosen(filter queues.QueueFilter, limit int) (names []string) {
	f.Helper()
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := f.store.ListQueues(f.ctx, filter, limit, cursor)
		f.ok(err)
		for _, q := range page {
			names = append(names, q.Name)
		}
		if cursor = next; cursor == "" {
			return names
		}
		if len(page) > limit || pages > 1000 {
			f.Fatalf("%+v: page %d has %d", filter, pages, len(page))
		}
	}
}

// testChosenQueues chooses queues by what they do, in each of the orders, in pages of any size.
func testChosenQueues(f *fixture) {
	f.register("S1", "S2", "S3")
	f.post("z-run", "z1", "z2") // the first posted, and the last by name
	f.post("over", "o")
	f.post("m-run", "m1")
	f.bound("z1 S1", "o S2", "m1 S3")
	f.to("o", tx.PhaseDone, final)
	f.to("z1", tx.PhaseWatching, made(tx.Attempt{Number: 1, Sender: "S1", State: tx.Sent}))
	f.ok(f.pool.Drain(f.ctx, "S2"))
	equal(f.T, "joined", f.join("z-run", "z1").Transaction.UID, "z2") // two of it are bound
	f.post("back", "b1", "b2")
	f.post("halted", "h")
	f.post("again", "a")
	f.ok(f.store.Pause(f.ctx, "halted", "x"))
	f.ok(f.store.Pause(f.ctx, "over", "x"))
	f.post("back", "b3")
	f.to("b1", tx.PhaseFailed, person) // it is ready anew, and keeps its turn
	f.to("a", tx.PhaseFailed, person)
	f.post("again", "a2") // it has a new turn, and is the youngest
	for _, test := range []struct {
		name   string
		filter queues.QueueFilter
		want   []string
	}{
		{"all", queues.QueueFilter{}, []string{"again", "back", "halted", "m-run", "over", "z-run"}},
		{"free", queues.QueueFilter{State: tx.QueueFree}, []string{"again", "back", "halted", "over"}},
		{"blocked", queues.QueueFilter{State: tx.QueueBlocked}, []string{"m-run"}},
		{"waiting", queues.QueueFilter{State: tx.QueueWaitingInclusion, Active: true}, []string{"z-run"}},
		{"in no", queues.QueueFilter{State: tx.QueueDelay}, nil},
		{"oldest", queues.QueueFilter{Oldest: true}, []string{"z-run", "m-run", "back", "halted", "again"}},
		{"oldest free", queues.QueueFilter{Oldest: true, State: tx.QueueFree}, []string{"back", "halted", "again"}},
		{"active", queues.QueueFilter{Active: true}, []string{"z-run", "m-run", "back", "halted", "again"}},
		{"paused", queues.QueueFilter{Paused: true}, []string{"halted", "over"}},
		{"paused and active", queues.QueueFilter{Paused: true, Active: true}, []string{"halted"}},
		{"by name", queues.QueueFilter{Oldest: true, Prefix: "z"}, []string{"z-run"}},
		{"within", queues.QueueFilter{Active: true, Within: queues.Prefixes{"a", "m"}}, []string{"m-run", "again"}},
		{"paused within", queues.QueueFilter{Paused: true, Within: queues.Prefixes{"o"}}, []string{"over"}},
		{"blocked within", queues.QueueFilter{State: tx.QueueBlocked, Within: queues.Prefixes{"o"}}, nil},
	} {
		for _, limit := range []int{1, 2, 100} {
			equal(f.T, fmt.Sprint(test.name, " by ", limit), f.chosen(test.filter, limit), test.want)
		}
	}
	f.ok(f.store.Resume(f.ctx, "over"))
	f.ok(f.store.Resume(f.ctx, "halted"))
	equal(f.T, "paused", f.chosen(queues.QueueFilter{Paused: true}, 9), nil)
	page, next, err := f.store.ListQueues(f.ctx, queues.QueueFilter{Oldest: true}, 1, "")
	f.ok(err)
	if page[0].Running != "z1" || next == "" {
		f.Errorf("the first: %+v, cursor %q", page[0], next)
	}
	for _, cursor := range []string{next, "back", "oldest:x:back", "oldest:-1:back", "oldest:1:", "oldest:1:a b"} {
		_, _, err := f.store.ListQueues(f.ctx, queues.QueueFilter{Active: true}, 1, cursor)
		if !errors.Is(err, queues.ErrBadCursor) {
			f.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// testRelist brings into the lists what an earlier build has left out of them.
func testRelist(f *fixture) {
	f.register("S")
	for _, name := range numbered("q", 1, 205) {
		f.post(name, "t-"+name)
	}
	f.post("q0001", "behind")
	f.bound("t-q0001 S")
	f.ok(f.store.Pause(f.ctx, "q0002", "x"))
	f.to("t-q0003", tx.PhaseFailed, person)
	f.ok(f.store.Pause(f.ctx, "q0003", "x"))
	lists := []string{f.key("active"), f.key("paused")}
	f.ok(f.client.Del(f.ctx, lists...).Err())
	f.ok(f.store.Relist(f.ctx))
	equal(f.T, "paused", f.chosen(queues.QueueFilter{Paused: true}, 9), []string{"q0002", "q0003"})
	equal(f.T, "active", len(f.chosen(queues.QueueFilter{Active: true}, 100)), 204)
	equal(f.T, "oldest", f.chosen(queues.QueueFilter{Oldest: true}, 100)[:2], []string{"q0001", "q0002"})
	before := f.store.Calls()
	f.ok(f.store.Relist(f.ctx))
	equal(f.T, "scripts of another start", f.store.Calls(), before)
}

// boundedLists wants a page of what is chosen to cost the same beside any number of other queues.
func boundedLists(f *fixture) {
	f.register("S")
	f.post("a-run", "a")
	f.bound("a S")
	f.post("b-wait", "b")
	f.post("c-paused", "c")
	f.ok(f.store.Pause(f.ctx, "c-paused", "x"))
	cost := func() (all []int) {
		for _, filter := range []queues.QueueFilter{
			{Active: true}, {Oldest: true}, {Paused: true}, {State: tx.QueueBlocked},
			{Oldest: true, State: tx.QueueFree},
		} {
			all = append(all, f.commands(func() { f.chosen(filter, 100) })[""])
		}
		return all
	}
	f.chosen(queues.QueueFilter{State: tx.QueueBlocked}, 1) // loads the scripts
	f.chosen(queues.QueueFilter{Active: true}, 1)
	few := cost()
	for _, name := range numbered("idle", 1, 1500) {
		f.post(name, name)
		f.to(name, tx.PhaseFailed, person)
	}
	equal(f.T, "commands beside 1,500 queues", cost(), few)
}

func first[T any](v T, _ string, _ error) T { return v }

// TestBounded holds how much one script does against what there is.
func TestBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "save", "")
	for name, run := range map[string]func(*fixture){
		"Remove": boundedRemove, "Audit": boundedAudit, "Read": boundedRead, "Page": boundedPage, "Bind": boundedBind,
		"Fees": boundedFees, "Together": boundedTogether, "Place": boundedPlace,
		"Lists": boundedLists, "Round": boundedRound, "RoundOfTwo": testRoundOfTwo("a", "b", 10_000),
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
		item := queues.Item{UID: fmt.Sprintf("u%03d", i), Queue: fmt.Sprint("q", i%over), Type: vote, Data: data}
		f.ok(f.store.Enqueue(f.ctx, item).Err)
	}
}

// boundedRemove wants a removal from the middle of a line not to walk it.
func boundedRemove(f *fixture) {
	lineOf(f, f.store, 3000)
	f.to("u1500", tx.PhaseFailed, person)
	got := f.commands(func() { f.ok(f.store.Remove(f.ctx, "u1500")) })
	if got["lrem"] != 1 || got[""] > 60 { // of its page
		f.Errorf("a removal takes %v", got)
	}
}

// boundedAudit wants an audit to look at no more than 250 entries of queues in one script, and
// those of the queue that it is at: of what waits, what has ended, and what is in flight.
func boundedAudit(f *fixture) {
	const over, each, most = 40, 120, 250
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
	if got["evalsha"] < over*each/(most+each) {
		f.Errorf("%d queues of %d are looked at with %v", over, each, got)
	}
	for i := range over {
		f.word(fmt.Sprint("q:q", i), 0, fmt.Sprint(each))
	}
	const queues, ended = 6, 200
	for i := range queues {
		name := fmt.Sprint("ended", i)
		f.fill(name, numbered(name+"-", 1, ended))
		for _, uid := range numbered(name+"-", 1, ended) {
			f.to(uid, tx.PhaseFailed, person)
		}
		f.word("q:"+name, 2, "1")
	}
	found, err = f.store.Audit(f.ctx, nil)
	f.ok(err)
	got = f.commands(func() {
		again, err := f.store.Reaudit(f.ctx, found, nil)
		f.ok(err)
		equal(f.T, "found again", len(again), queues)
	})
	if got["evalsha"] < queues*ended*2/(most+2*ended) { // they stand in the line, too
		f.Errorf("%d queues of which %d have ended are looked at with %v", queues, ended, got)
	}
	for i := range queues {
		f.word(fmt.Sprint("q:ended", i), 2, fmt.Sprint(ended))
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
	if got["evalsha"] < n/(1<<20/size+1) {
		f.Errorf("%d of %d bytes are bound in %d scripts", n, size, got["evalsha"])
	}
}

// boundedTogether wants what a script needs of many to be read at once: of the queues that it
// binds, and of those to which something is posted.
func boundedTogether(f *fixture) {
	const n = 40
	var items []queues.Item
	for i, uid := range numbered("t", 1, n) {
		items = append(items, vote1(uid, fmt.Sprint("q", i), `{}`))
	}
	post := func() {
		for _, a := range f.store.EnqueueBatch(f.ctx, items) {
			f.ok(a.Err)
		}
	}
	if got := f.commands(post); got["get"] > 2 || got["mget"] > 2 {
		f.Errorf("%d are posted with %v", n, got)
	}
	f.register(numbered("S", 1, n)...)
	if got := f.commands(func() { equal(f.T, "bound", len(f.bind(n)), n) }); got["get"] > 5 || got["mget"] > n+n/10 {
		f.Errorf("%d are bound with %v", n, got)
	}
	for _, uid := range []string{"t0001", "t0002"} {
		t := f.get(uid)
		ends := func() { f.ok(f.advance(t, tx.PhaseDone, tell(tx.OnSuccess, long, long))) }
		if got := f.commands(ends); got["get"] > 0 {
			f.Errorf("an end takes %v", got)
		}
		if got := f.commands(func() {
			_, err := f.store.Called(f.ctx, t, tx.Told{Callback: tx.OnSuccess}, queues.Never)
			f.ok(err)
		}); got["get"] > 0 {
			f.Errorf("an answer to a callback takes %v", got)
		}
	}
}

// boundedPlace wants the place of the last in a line told without walking it.
func boundedPlace(f *fixture) {
	const n = 1500
	uids := numbered("t", 1, n)
	f.fill("q", uids)
	var place tx.Place
	got := f.commands(func() {
		var err error
		place, err = f.store.Place(f.ctx, uids[n-1])
		f.ok(err)
	})
	equal(f.T, "its place", place, tx.Place{Ahead: n - 1, First: uids[0]})
	if got[""] > 560 {
		f.Errorf("a place takes %v", got)
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
	forgetful := f.open(queues.Options{Namespace: f.store.Namespace, EventsKeep: -1}) // keys are free at once
	for _, uid := range []string{"b", "d"} {
		f.to(uid, tx.PhaseFailed, person)
		f.ok(forgetful.Remove(f.ctx, uid))
	}
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q"}, 1), []string{"a", "c", "e"})
	f.post("q", "b")
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q"}, 2), []string{"a", "c", "e", "b"})
	place := func(uid string, want int, next string) {
		f.Helper()
		got, err := f.store.Place(f.ctx, uid)
		f.ok(err)
		equal(f.T, "ahead of "+uid, got, tx.Place{Ahead: want, First: next})
	}
	place("c", 1, "a")
	place("b", 3, "a")
	f.bound("a S")
	place("b", 2, "a")
	qs, _, err := f.store.Queues(f.ctx, 1, "")
	f.ok(err)
	equal(f.T, "oldest", qs[0].OldestWaiting, f.get("c").ReceivedAt)
	for _, then := range [][2]string{{"a", "c"}, {"c", "e"}, {"e", "b"}} {
		f.to(then[0], tx.PhaseFailed)
		f.bound(then[1] + " S")
	}
	qs, _, err = f.store.Queues(f.ctx, 1, "")
	f.ok(err)
	equal(f.T, "oldest of none", qs[0].OldestWaiting, time.Time{})
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
	// Those at the end of what is handed on, and of the line.
	for _, n := range []int{63, 64, 127, 128, len(uids)} {
		stay[uids[n-1]] = true
	}
	for _, uid := range uids {
		if stay[uid] {
			continue
		}
		f.to(uid, tx.PhaseFailed, person)
		f.ok(f.store.Remove(f.ctx, uid))
	}
	want = append(want, slices.Sorted(maps.Keys(stay))...)
	if n := f.client.LLen(f.ctx, f.key("line:q")).Val(); n > int64(2*len(want)+512+1) {
		f.Errorf("%d wait, and the line holds %d", len(want), n)
	}
	equal(f.T, "the queue", f.list(queues.Filter{Queue: "q", State: tx.Waiting}, 7), want)
	f.inspect()
	for i, uid := range want[:len(want)-1] { // the last stands behind many places that are vacant
		p, err := f.store.Place(f.ctx, uid)
		f.ok(err)
		equal(f.T, "place of "+uid, p, tx.Place{Ahead: i, First: "first"})
	}
	f.ok(f.store.Resume(f.ctx, "q"))
	for _, uid := range want {
		f.bound(uid + " S")
		f.to(uid, tx.PhaseFailed, removed(time.Hour))
	}
}

// testHandedOnOnce: however many are removed in one run, and of however many queues, the front
// of one line is handed on, for the script has to write all that it gathers.
func testHandedOnOnce(f *fixture) {
	live := map[string][]string{}
	for _, queue := range []string{"q", "r"} {
		dead := numbered(queue+"d", 1, 690)
		live[queue] = numbered(queue+"l", 1, 100)
		f.fill(queue, live[queue])
		f.fill(queue, dead)
		f.ok(f.store.Pause(f.ctx, queue, "by a test"))
		for _, uid := range dead[:660] {
			f.to(uid, tx.PhaseFailed, person)
		}
		for _, uid := range dead[660:] {
			f.to(uid, tx.PhaseFailed, person, removed(time.Millisecond))
		}
	}
	<-time.After(5 * time.Millisecond)
	f.tick()
	entries := f.client.LLen(f.ctx, f.key("line:q")).Val() + f.client.LLen(f.ctx, f.key("line:r")).Val()
	equal(f.T, "entries of the lines", entries, 2*790-64)
	f.inspect()
	for queue, uids := range live {
		equal(f.T, queue, f.list(queues.Filter{Queue: queue, State: tx.Waiting}, 500), uids)
	}
}
