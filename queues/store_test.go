package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

func TestStore(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){
		"EnqueueTwice":         testEnqueueTwice,
		"EnqueueTraced":        testEnqueueTraced,
		"EnqueueAlso":          testEnqueueAlso,
		"EnqueueDry":           testEnqueueDry,
		"EnqueueRemoved":       testEnqueueRemoved,
		"EnqueueOrder":         testEnqueueOrder,
		"EnqueueTogether":      testEnqueueTogether,
		"EnqueueLimit":         testEnqueueLimit,
		"EnqueueTotal":         testEnqueueTotal,
		"EnqueueCancelled":     testEnqueueCancelled,
		"PayloadUnchanged":     testPayloadUnchanged,
		"StrictOrder":          testStrictOrder,
		"BindOldestHead":       testBindOldestHead,
		"OneRound":             testOneRound,
		"RoundOfTwo":           testRoundOfTwo("a", "b", 100),
		"RoundOfTwoBack":       testRoundOfTwo("b", "a", 100),
		"RoundOfTheNameless":   testRoundOfTwo("", "a", 100),
		"RoundForTheNameless":  testRoundOfTwo("a", "", 100),
		"RoundOfThree":         testRoundOfThree,
		"RoundOfTypes":         testRoundOfTypes,
		"RoundOfOthers":        testRoundOfOthers,
		"RoundHeadChanges":     testRoundHeadChanges,
		"RoundFormer":          testRoundFormer,
		"RoundDemand":          testRoundDemand,
		"RoundAhead":           testRoundAhead,
		"RoundOverview":        testRoundOverview,
		"BindTypesAndGroups":   testBindTypesAndGroups,
		"BindNothing":          testBindNothing,
		"BindMany":             testBindMany,
		"BindPlans":            testBindPlans,
		"AdvanceGuards":        testAdvanceGuards,
		"AdvanceFields":        testAdvanceFields,
		"AdvanceResult":        testAdvanceResult,
		"AttemptDropped":       testAttemptDropped,
		"LeftAlone":            testLeftAlone,
		"ToldAndLeftAlone":     testToldAndLeftAlone,
		"Grace":                testGrace,
		"OwnerIsToLook":        testOwnerIsToLook,
		"BindDamaged":          testBindDamaged,
		"Repeats":              testRepeats,
		"Facts":                testFacts,
		"Signed":               testSigned,
		"BackToWaiting":        testBackToWaiting,
		"CancelInLine":         testCancelInLine,
		"CancelAndRetryInLine": testCancelAndRetryInLine,
		"CancelAndRetryLate":   testCancelAndRetryLate,
		"CancelledInNumbers":   testCancelledInNumbers,
		"PlaceOfMany":          testPlaceOfMany,
		"Reopened":             testReopened,
		"ReopenedDamaged":      testReopenedBeforeDamaged,
		"Pause":                testPause,
		"PauseEmpty":           testPauseEmpty,
		"Stop":                 testStop,
		"StopOfAPart":          testStopOfAPart,
		"StopMany":             testStopMany,
		"PauseWokenEarly":      testPauseWokenEarly,
		"ListensAnew":          testListensAnew,
		"History":              testHistory,
		"StreakTells":          testStreakTells,
		"StreakOfWhom":         testStreakOfWhom,
		"Doubt":                testDoubt,
		"Unknown":              testUnknown,
		"Width":                testWidth,
		"Follows":              testFollows,
		"EventLog":             testEventLog,
		"EventsRead":           testEventsRead,
		"Wake":                 testWake,
		"Planned":              testPlanned,
		"UnawaitedCallback":    testUnawaitedCallback,
		"Rest":                 testRest,
		"GravestReason":        testGravestReason,
		"JoinsBehindWhom":      testJoinsBehindWhom,
		"JoinsAgain":           testJoinsAgain,
		"JoinsNot": func(f *fixture) {
			testJoinsNot(f, []string{vote, batch, "OTHER"}, []string{senders.Shared, "local"})
		},
		"JoinsNotOfTheLast": func(f *fixture) {
			testJoinsNot(f, []string{batch, "OTHER", vote}, []string{"local", senders.Shared})
		},
		"HoldAnew":            testHoldAnew,
		"JoinsDamaged":        testJoinsDamaged,
		"StoppedNonce":        testStoppedNonce,
		"DrainTells":          testDrainTells,
		"SpentOfMany":         testSpentOfMany,
		"OldestOfType":        testOldestOfType,
		"Followed":            testFollowed,
		"RestAbove":           testRestAbove,
		"Least":               testLeast,
		"PauseEnds":           testPauseEnds,
		"Soonest":             testSoonest,
		"RemovedByNoClock":    testRemovedByNoClock,
		"EnqueueLimitOfOne":   testEnqueueLimitOfOne,
		"EnqueueParts":        testEnqueueParts,
		"ExpiredAgain":        testExpiredAgain,
		"RegisteredAgain":     testRegisteredAgain,
		"HoldStays":           testHoldStays,
		"RestsAtOnce":         testRestsAtOnce,
		"RemovedAndExpired":   testRemovedAndExpired,
		"RestOfNobody":        testRestOfNobody,
		"NextOfAnotherType":   testNextOfAnotherType,
		"Hold":                testHold,
		"Overtaken":           testOvertaken,
		"HoldAnswered":        testHoldAnswered,
		"CallbackAgain":       testCallbackAgain,
		"Due":                 testDue,
		"TakeOverOfTrain":     testTakeOverOfTrain,
		"Turn":                testTurn,
		"TakeOverOfDamaged":   testTakeOverOfDamagedQueue,
		"TakeOver":            testTakeOver,
		"Leave":               testLeave,
		"Retention":           testRetention,
		"RemovedInLine":       testRemovedInLine,
		"LineIsHandedOn":      testLineIsHandedOn,
		"HandedOnOnce":        testHandedOnOnce,
		"LongestHead":         testLongestHead,
		"RemovedInLineAtTen":  atTen(testRemovedInLine),
		"RemoveGuards":        testRemoveGuards,
		"NothingLeft":         testNothingLeft,
		"ListPages":           testListPages,
		"ListQueue":           testListQueue,
		"ListDuringDeletions": testListDuringDeletions,
		"ListFilters":         testListFilters,
		"ListTimes":           testListTimes,
		"ListManyPassed":      testListManyPassed,
		"Queues":              testQueues,
		"Held":                testHeld,
		"ChosenQueues":        testChosenQueues,
		"Relist":              testRelist,
		"ErrorsByName":        testErrorsByName,
		"Fees":                testFees,
		"FeesOfWhom":          testFeesOfWhom,
		"FeeLimits":           testFeeLimits,
		"Budgets":             testBudgets,
		"Market":              testMarket,
		"Spent":               testSpent,
		"RestInWords":         testRestInWords,
		"Overview":            testOverview,
		"OverviewOfMany":      testOverviewOfMany,
		"NoncesAcrossDigits":  testNoncesAcrossDigits,
		"OvertakenAtTen":      atTen(testOvertaken),
		"ReopenedAtTen":       atTen(testReopened),
		"CancelInLineAtTen":   atTen(testCancelInLine),
		"RetryInLineAtTen":    atTen(testCancelAndRetryInLine),
		"RetryLateAtTen":      atTen(testCancelAndRetryLate),
	})
}

func testBindOldestHead(f *fixture) {
	f.register("S1", "S2")
	f.post("a", "a1")
	f.post("b", "b1")
	f.post("c", "c1")
	f.post("a", "a2")
	got := f.bound("a1 S1", "b1 S2")
	if b := got[0]; b.URL != "http://S1" || b.HasNext || b.Transaction.State() != tx.Dispatching ||
		!strings.HasPrefix(b.Transaction.Claim, me+":") || b.Transaction.Claim == got[1].Transaction.Claim {
		f.Errorf("bound %+v and %+v", got[0], got[1])
	}
	f.to("b1", tx.PhaseDone, nextNonce(7))
	if b := f.bound("c1 S2")[0]; !b.HasNext || b.Next != 7 {
		f.Errorf("the sender's next nonce: %+v", b)
	}
	f.post("b", "b2")
	f.to("a1", tx.PhaseDone)
	f.bound("b2 S1")         // it waits since before a1 ended
	f.to("c1", tx.PhaseDone) // S2 is released first, so it has rested longest
	f.to("b2", tx.PhaseDone)
	f.bound("a2 S2")
	f.post("c", "c2")
	f.bound("c2 S1")
}

// testOneRound: however long a queue is, one that is ready all the time is never more
// than one transaction behind it.
func testOneRound(f *fixture) {
	f.register("S")
	f.post("long", numbered("l", 1, 6)...)
	f.post("late", numbered("m", 1, 3)...)
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "b1", Queue: "batch", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	var order []string
	for range 10 {
		uid := f.bind(1)[0].Transaction.UID
		order = append(order, uid)
		f.to(uid, tx.PhaseDone)
	}
	equal(f.T, "order", order,
		[]string{"l0001", "m0001", "b1", "l0002", "m0002", "l0003", "m0003", "l0004", "l0005", "l0006"})
}

// testBindMany: more pairs than a script reads of its sets at once are bound in one run, each
// queue in its turn.
func testBindMany(f *fixture) {
	uids := numbered("t", 1, 70)
	var want []string
	for _, uid := range uids {
		sender := "S" + uid
		<-time.After(time.Microsecond) // senders become free one after the other
		f.register(sender)
		f.post("q"+uid, uid)
		want = append(want, uid+" "+sender)
	}
	equal(f.T, "bound, if so many are asked for", len(f.bind(3)), 3)
	f.bound(want[3:]...)
}

// testNextOfAnotherType: a queue stands in the ready set of the type that is next, and in no other.
func testNextOfAnotherType(f *fixture) {
	f.post("q", "a")
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "b", Queue: "q", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	f.to("a", tx.PhaseFailed, person)
	f.inspect()
	f.to("a", tx.PhaseWaiting, person)
	f.inspect()
}

// testRegisteredAgain: a sender that is told again what it is keeps its place among the free ones.
func testRegisteredAgain(f *fixture) {
	for _, account := range []string{"S1", "S2"} {
		<-time.After(time.Microsecond)
		f.register(account)
	}
	<-time.After(time.Microsecond)
	f.ok(f.pool.Configure(f.ctx, map[string]string{"S1": "http://S1"}))
	f.post("q", "a")
	f.bound("a S1")
}

func testBindTypesAndGroups(f *fixture) {
	f.register("S1", "S2")
	// A sender of a group that only its own process serves.
	f.ok(f.client.HSet(f.ctx, f.key("s:S2"), "group", "local").Err())
	f.ok(f.client.ZRem(f.ctx, f.key("free:shared"), "S2").Err())
	f.ok(f.client.ZAdd(f.ctx, f.key("free:local"), redis.Z{Score: 1, Member: "S2"}).Err())
	f.post("v1", "a")
	f.ok(f.store.Enqueue(f.ctx, queues.Item{UID: "b", Queue: "b1", Type: batch, Data: json.RawMessage(`{}`)}).Err)
	f.post("b1", "c") // behind another type
	for _, tc := range []struct {
		types, groups []string
		want          string
	}{
		{nil, []string{"shared", "local"}, ""},
		{[]string{batch}, nil, ""},
		{[]string{"OTHER"}, []string{"shared"}, ""},
		{[]string{batch}, []string{"local"}, "b S2"},
		{[]string{batch}, []string{"shared"}, ""},
		{[]string{batch, vote}, []string{"shared", "local"}, "a S1"},
	} {
		got, err := f.store.Bind(f.ctx,
			queues.BindRequest{Process: me, Types: tc.types, Groups: tc.groups, Most: 9, Grace: time.Minute})
		f.ok(err)
		var pairs []string
		for _, b := range got {
			pairs = append(pairs, b.Transaction.UID+" "+b.Sender)
		}
		equal(f.T, fmt.Sprint(tc.types, tc.groups), strings.Join(pairs, ","), tc.want)
	}
	f.to("b", tx.PhaseDone)
	f.bound() // the local sender is free, and not ours
}

func testBindNothing(f *fixture) {
	before := f.dump()
	f.bound()
	f.register("S")
	f.bound()
	f.post("q", "a")
	equal(f.T, "bound by a process that is not known", len(f.bindAs("stranger", 9)), 0)
	f.heartbeat("brief", time.Millisecond)
	f.eventually("its claims end", func() bool { return slices.Contains(f.heartbeat(me, time.Hour), "brief") })
	equal(f.T, "bound by a process whose claims have run out", len(f.bindAs("brief", 9)), 0)
	f.bound("a S")
	claimed := f.dump().strings["n:claim"]
	f.post("q", "b")
	f.post("p", "c")
	f.bound()
	calls, events := f.store.Calls(), len(f.dump().events)
	f.bound()
	if n := f.store.Calls() - calls; n != 1 || len(f.dump().events) != events {
		f.Errorf("to bind nothing took %d calls", n)
	}
	equal(f.T, "claims at first", before.strings["n:claim"], "")
	equal(f.T, "the last claim made", f.dump().strings["n:claim"], claimed)
}

func testEventLog(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	attempt := tx.Attempt{Number: 1, Sender: "S", State: tx.Planned}
	f.to("a", tx.PhaseSent, made(attempt))
	f.to("a", tx.PhaseSent)                     // no change of phase, nothing to tell
	f.to("a", tx.PhaseSent, withCode("BUMPED")) // but this is
	f.to("a", tx.PhaseWatching)
	f.to("a", tx.PhaseFailing, withCode("ERR"))
	f.to("a", tx.PhaseWaiting, rest(time.Millisecond, tx.Rested), withCode("BUSY"))
	f.eventually("the sender's rest is over", func() bool { f.tick(); return f.sender("S").Available() })
	f.to("a", tx.PhaseFailed, person, withCode("CANCELLED"))
	f.ok(f.store.Remove(f.ctx, "a"))
	f.ok(f.pool.Remove(f.ctx, "S"))
	equal(f.T, "events", f.dump().events, []event{
		{1, "s", "S", "S", "", "", "", "REGISTERED"},
		{2, "t", "a", "", "", "waiting", "", ""},
		{3, "t", "a", "S", "waiting", "dispatching", "", ""},
		{4, "t", "a", "S", "dispatching", "sent", "1", ""},
		{5, "t", "a", "S", "sent", "sent", "", "BUMPED"},
		{6, "t", "a", "S", "sent", "watching", "", ""},
		{7, "t", "a", "S", "watching", "failing", "", "ERR"},
		{8, "s", "S", "S", "", "", "", "RESTED"},
		{9, "t", "a", "S", "failing", "waiting", "", "BUSY"},
		{10, "s", "S", "S", "", "", "", "RESTED_OVER"},
		{11, "t", "a", "S", "waiting", "failed", "", "CANCELLED"},
		{12, "t", "a", "", "failed", "", "", "REMOVED"},
		{13, "s", "S", "S", "", "", "", "REMOVED"},
	})
}

// woken reports whether a store has been told that a bind may have become possible.
func woken(s *queues.Store) bool {
	select {
	case <-s.Wake():
		return true
	default:
		return false
	}
}

// testUnawaitedCallback: the answer to a callback that no queue waits for wakes nobody.
func testUnawaitedCallback(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	f.bound("a S")
	f.to("a", tx.PhaseDone, tell(tx.OnSuccess, 0, long))
	woken(f.store)
	_, err := f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	if woken(f.store) {
		f.Error("somebody is woken")
	}
}

func testWake(f *fixture) {
	f.register("S")
	woken(f.store)
	f.post("q", "a")
	if !woken(f.store) {
		f.Error("a new head wakes")
	}
	f.post("q", "b")
	if woken(f.store) {
		f.Error("one behind a head does not wake")
	}
	f.bound("a S")
	f.to("a", tx.PhaseWatching)
	if woken(f.store) {
		f.Error("a change of a bound one does not wake")
	}
	f.to("a", tx.PhaseDone)
	if !woken(f.store) {
		f.Error("a free sender wakes")
	}
	f.tick()
	if woken(f.store) {
		f.Error("a tick that finds nothing does not wake")
	}
	// Whoever does one of these hears of it.
	f.bound("b S")
	f.post("q", "c")
	f.to("b", tx.PhaseDone, tell(tx.OnSuccess, long, long))
	for _, does := range []func(){
		func() {
			_, err := f.store.Called(f.ctx, f.get("b"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
			f.ok(err)
		},
		func() { f.ok(f.store.Pause(f.ctx, "q", "x")); woken(f.store); f.ok(f.store.Resume(f.ctx, "q")) },
		func() {
			f.ok(f.store.PauseUntil(f.ctx, "q", "x", f.now().Add(time.Millisecond)))
			woken(f.store)
			<-time.After(5 * time.Millisecond)
			f.tick()
		},
	} {
		woken(f.store)
		if does(); !woken(f.store) {
			f.Error("a queue that goes on wakes")
		}
	}
	// Another process hears of it, once there is one; not of what is bound already.
	f.heartbeat(other, time.Hour)
	told := f.client.Subscribe(f.ctx, f.key("wake"))
	_, err := told.Receive(f.ctx)
	f.ok(err)
	f.bound("c S")
	f.ok(f.client.Publish(f.ctx, f.key("wake"), "mark").Err())
	m, err := told.ReceiveMessage(f.ctx)
	f.ok(err)
	equal(f.T, "told when something is bound", m.Payload, "mark")
	f.ok(told.Close())
	f.to("c", tx.PhaseDone)
	f.post("q", "d")
	listener := f.open(queues.Options{Namespace: f.store.Namespace})
	passed := make(chan string, 1)
	listener.Passed = func(uid string) { passed <- uid }
	listener.Changed = func(uid string) { f.Error("told to be changed:", uid) }
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() { listener.Listen(ctx); close(ended) }()
	f.eventually("the other one hears it", func() bool {
		f.ok(f.store.Pause(f.ctx, "q", "x"))
		f.ok(f.store.Resume(f.ctx, "q"))
		return woken(listener)
	})
	f.ok(f.store.PassCallback(f.ctx, "c"))
	equal(f.T, "passed on", <-passed, "c")
	cancel()
	<-ended
}

// testPlanned: whoever sleeps is told of what becomes due before all that was due by then, also by
// what others do, and of what may be its own by now.
func testPlanned(f *fixture) {
	f.register("S")
	f.heartbeat(me, time.Hour)
	store := f.open(queues.Options{Namespace: f.store.Namespace})
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() { store.Listen(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	f.eventually("it listens", func() bool { return plannedBy(store, time.Now().Add(time.Minute)) })

	sub := f.client.Subscribe(f.ctx, f.key("wake"))
	defer func() { _ = sub.Close() }()
	_, err := sub.Receive(f.ctx)
	f.ok(err)
	told := sub.Channel(redis.WithChannelSize(1000), redis.WithChannelHealthCheckInterval(0))
	marks := 0
	// plans compares what all are told to be due in so many hours, -1 for nothing.
	plans := func(what string, hours int, does func()) {
		f.Helper()
		does()
		marks++
		mark := fmt.Sprint("mark ", marks)
		f.ok(f.client.Publish(f.ctx, f.key("wake"), mark).Err())
		got := -1
		for m := range told {
			if m.Payload == mark {
				break
			}
			if in, is := strings.CutPrefix(m.Payload, "@"); is {
				ms, err := strconv.Atoi(in)
				f.ok(err)
				got = int((time.Duration(ms)*time.Millisecond + time.Minute).Hours())
			}
		}
		equal(f.T, what+": due in hours", got, hours)
		if got >= 0 {
			f.eventually("it is heard", func() bool {
				return plannedBy(store, time.Now().Add(time.Duration(hours)*time.Hour+time.Minute))
			})
		}
	}
	posts := func(uid, queue string, before, expires int) func() {
		return func() {
			x := queues.Item{UID: uid, Queue: queue, Type: vote, Data: json.RawMessage(`{"n":1}`)}
			if before != 0 {
				x.NotBefore = f.now().Add(time.Duration(before) * time.Hour)
			}
			if expires != 0 {
				x.ExpiresAt = f.now().Add(time.Duration(expires) * time.Hour)
			}
			f.ok(f.store.Enqueue(f.ctx, x).Err)
		}
	}
	to := func(uid string, phase tx.Phase, options ...func(*queues.Change)) func() {
		return func() { f.to(uid, phase, options...) }
	}
	const hour = time.Hour
	held := func(hours int) func(*queues.Change) {
		return func(c *queues.Change) { c.Hold = time.Duration(hours) * hour }
	}
	plans("posted", -1, posts("a", "a", 0, 0))
	plans("posted until a time", 50, posts("until", "until", 0, 50))
	f.ok(f.store.Pause(f.ctx, "until", "x"))
	plans("posted for later", 48, posts("later", "later", 48, 0))
	plans("posted for later still", -1, posts("later-still", "later-still", 49, 0))
	plans("bound", -1, func() { f.bound("a S") })
	plans("posted for later, behind what runs", -1, posts("behind", "a", 40, 0))
	plans("which ends, and it is the first", 40, to("a", tx.PhaseFailed))
	plans("a pause", 39, func() { f.ok(f.store.PauseUntil(f.ctx, "later", "x", f.now().Add(39*hour))) })
	plans("a longer pause", -1, func() { f.ok(f.store.PauseUntil(f.ctx, "a", "x", f.now().Add(45*hour))) })
	f.post("b", "b")
	f.bound("b S")
	plans("holds its queue", 30, to("b", tx.PhaseWaiting, held(30)))
	f.post("c", "c")
	f.bound("c S")
	plans("goes on", -1, to("c", tx.PhaseSent))
	plans("stops its sender", -1, to("c", tx.PhaseWatching, rest(-1, tx.StoppedNonce)))
	plans("rests its sender", 20, to("c", tx.PhaseWatching, rest(20*hour, tx.Rested)))
	plans("a callback", 10, to("c", tx.PhaseDone, tell(tx.OnSuccess, 10*hour, 12*hour)))
	called := func(again time.Duration) func() {
		return func() {
			_, err := f.store.Called(f.ctx, f.get("c"), tx.Told{Callback: tx.OnSuccess}, again)
			f.ok(err)
		}
	}
	plans("a callback again", 5, called(5*hour))
	plans("no callback again", -1, called(queues.Never))

	// own has whoever does it look at once, or in an hour.
	own := func(what string, in time.Duration, does func()) {
		f.Helper()
		plannedBy(f.store, time.Now())
		does()
		if !plannedBy(f.store, time.Now().Add(in+time.Minute)) {
			f.Errorf("%s: it is not planned", what)
		}
	}
	f.ok(f.pool.Resume(f.ctx, "S"))
	f.post("d", "d")
	f.bound("d S")
	own("what it does not drive", 0, func() {
		f.ok(f.store.Recovery().Regain(f.ctx, me, func(string) bool { return false }))
	})
	f.ok(f.store.Leave(f.ctx, me))
	f.heartbeat(other, hour)
	own("taken over", 0, func() {
		_, err := f.store.TakeOver(f.ctx, other, me, 9)
		f.ok(err)
	})
	f.to("d", tx.PhaseUnresolved)
	own("given to a process", 0, func() {
		f.to("d", tx.PhaseUnresolved, person, keep, func(c *queues.Change) { c.Process = other })
	})
	// What was not answered may have been done.
	lost, end := context.WithCancel(f.ctx)
	end()
	for what, call := range map[string]struct {
		in   time.Duration
		does func() error
	}{
		"bind":      {hour, func() error { _, err := f.store.Bind(lost, queues.BindRequest{Grace: hour}); return err }},
		"join":      {0, func() error { _, err := f.store.Join(lost, queues.JoinRequest{}); return err }},
		"take-over": {0, func() error { _, err := f.store.TakeOver(lost, other, me, 9); return err }},
	} {
		own(what, call.in, func() {
			if err := call.does(); err == nil {
				f.Errorf("%s is answered", what)
			}
		})
	}
	f.store.Plan(3 * hour)
	f.store.Plan(hour)
	f.store.Plan(2 * hour)
	if at := <-f.store.Planned(); time.Until(at) > hour+time.Minute {
		f.Error("of several it is not the soonest that is told")
	}
}

// plannedBy reports whether a store has been told of something that is due by a time.
func plannedBy(s *queues.Store, by time.Time) bool {
	select {
	case at := <-s.Planned():
		return at.Before(by)
	default:
		return false
	}
}

// testListensAnew: with each subscription what holds for all queues is to be read anew, for what
// was published before it is lost.
func testListensAnew(f *fixture) {
	for range 2 {
		heard := make(chan string, 9)
		s := f.open(queues.Options{Namespace: f.store.Namespace, Heed: func(queue string) { heard <- queue }})
		ctx, cancel := context.WithCancel(f.ctx)
		ended := make(chan struct{})
		go func() { s.Listen(ctx); close(ended) }()
		select {
		case queue := <-heard:
			equal(f.T, "heard", queue, "")
		case <-time.After(10 * time.Second):
			f.Error("nothing is read anew")
		}
		cancel()
		<-ended
	}
}

func testErrorsByName(f *fixture) {
	gone := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		return ours, theirs.Close()
	}
	dead := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, Dialer: gone})
	defer func() { _ = dead.Close() }()
	s, err := queues.Open(dead, queues.Options{Namespace: "x"})
	f.ok(err)
	_, _, listErr := s.List(f.ctx, queues.Filter{}, 9, "")
	_, getErr := s.Get(f.ctx, "a")
	_, bindErr := s.Bind(f.ctx, queues.BindRequest{Process: me})
	_, tickErr := s.Tick(f.ctx, queues.TickRequest{})
	_, advanceErr := s.Advance(f.ctx, change(&tx.Transaction{UID: "a"}, tx.PhaseDone))
	for what, err := range map[string]error{
		"enqueue": s.Enqueue(f.ctx, vote1("a", "q", `{}`)).Err, "list": listErr, "get": getErr, "bind": bindErr,
		"tick": tickErr,
		"ping": s.Ping(f.ctx), "check": s.Check(f.ctx), "pause": s.Pause(f.ctx, "q", "x"), "remove": s.Remove(f.ctx, "a"),
		"advance": advanceErr,
	} {
		if !errors.Is(err, queues.ErrUnavailable) {
			f.Errorf("%s without a Redis: %v", what, err)
		}
	}
	for _, namespace := range []string{"", "a b", "{x}", strings.Repeat("n", 65)} {
		if _, err := queues.Open(f.client, queues.Options{Namespace: namespace}); err == nil {
			f.Errorf("namespace %q was taken", namespace)
		}
	}
	f.ok(f.store.Ping(f.ctx))
	f.ok(f.client.Del(f.ctx, f.key("ping")).Err())
}

// testEventsRead: the log as it is read is the log as it is written.
func testEventsRead(f *fixture) {
	f.register("S")
	f.post("q", "a")
	f.bound("a S")
	f.to("a", tx.PhaseFailed, withCode("CANCELLED"))
	for after, want := range map[int64]int{0: 4, 2: 2, 4: 0} {
		events, err := f.store.Events(f.ctx, after, 10)
		f.ok(err)
		equal(f.T, "events", len(events), want)
	}
	events, err := f.store.Events(f.ctx, 3, 10)
	f.ok(err)
	if e := events[0]; e.At.IsZero() || e.Number != 4 {
		f.Errorf("event %+v", e)
	}
	events[0].At = time.Time{}
	equal(f.T, "event", events[0], queues.Event{
		Number: 4, Kind: queues.OfTransaction, ID: "a", Sender: "S",
		From: tx.PhaseDispatching, To: tx.PhaseFailed,
		QueueFrom: tx.QueueBlocked, QueueTo: tx.QueueFree, Code: "CANCELLED",
	})
}

// TestLayout: a namespace in which this build would not find the attempts that
// another has made is refused.
func TestLayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Start(t).Client, "seq")
	f.ok(f.store.Check(f.ctx)) // nothing is there yet
	_, err := f.store.Remember(f.ctx, "network", "testnet")
	f.ok(err)
	f.ok(f.store.Check(f.ctx))
	for _, layout := range []string{"", "2"} {
		f.ok(f.client.Del(f.ctx, f.key("is:layout")).Err())
		if layout != "" {
			f.ok(f.client.Set(f.ctx, f.key("is:layout"), layout, 0).Err())
		}
		if err := f.store.Check(f.ctx); err == nil || !strings.Contains(err.Error(), "layout") {
			f.Errorf("layout %q: %v", layout, err)
		}
	}
}
