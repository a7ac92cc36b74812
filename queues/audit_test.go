package queues_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// audited wants that the audit finds nothing: it may not be stricter than the
// inspection that every test ends with.
func (f *fixture) audited(want ...string) {
	f.Helper()
	found, err := f.store.Audit(f.ctx, nil)
	f.ok(err)
	var got []string
	if f.scattered {
		found = slices.DeleteFunc(found, func(x queues.Finding) bool { return x.Check == "TRAIN" })
	}
	for _, x := range found {
		got = append(got, x.Check+" "+x.UID+" "+x.Queue+" "+x.Sender)
	}
	seen := map[string]bool{}
	for _, g := range got {
		seen[g] = true
	}
	for _, w := range want {
		if !seen[w] {
			f.Errorf("the audit does not find %q, but %q", w, got)
		}
	}
	if len(want) == 0 && len(found) > 0 {
		f.Errorf("the audit finds %+v", found)
	}
	again, err := f.store.Reaudit(f.ctx, found, nil)
	f.ok(err)
	for _, a := range found {
		same := false
		for _, b := range again {
			same = same || a.Same(&b)
		}
		if !same {
			f.Errorf("looked at again, it is gone: %+v", a)
		}
	}
}

// word replaces one word of a record.
func (f *fixture) word(key string, at int, word string) {
	f.Helper()
	text := f.client.Get(f.ctx, f.key(key)).Val()
	words := strings.Split(text, " ")
	words[at] = word
	f.ok(f.client.Set(f.ctx, f.key(key), strings.Join(words, " "), 0).Err())
}

func TestAudit(t *testing.T) {
	t.Parallel()
	world := func(f *fixture) {
		f.register("S1", "S2", "S3", "S4", "S5")
		f.post("run", "run1", "run2")
		f.post("done", "done1")
		f.post("wait", "wait1")
		f.post("paused", "paused1")
		f.ok(f.store.Pause(f.ctx, "paused", "by a test"))
		f.post("train", "train1", "train2", "train3")
		f.bound("run1 S1", "done1 S2", "wait1 S3", "train1 S4")
		f.to("done1", tx.PhaseDone, final)
		f.to("wait1", tx.PhaseWaiting, rest(time.Hour, tx.Rested))
		f.ok(f.pool.Drain(f.ctx, "S2"))
		f.ok(f.pool.Drain(f.ctx, "S5"))
		for n, uid := range []string{"train1", "train2", "train3"} {
			sent := tx.Attempt{Number: 1, Sender: "S4", Nonce: uint32(n), State: tx.Sent}
			f.to(uid, tx.PhaseWatching, made(sent))
			_, err := f.store.Join(f.ctx, queues.JoinRequest{
				Process: me, Queue: "train", Behind: uid, Width: 9, Types: []string{vote}})
			f.ok(err)
		}
	}
	type damageOf struct {
		name   string
		damage func(f *fixture, key func(string) string)
		want   []string
	}
	damages := []damageOf{
		{"clean", func(*fixture, func(string) string) {}, nil},
		{"StateIndexLost", func(f *fixture, k func(string) string) { f.client.ZRem(f.ctx, k("st:DONE"), "done1") },
			[]string{"STATE_INDEX done1 done "}},
		{"StateIndexWrong", func(f *fixture, k func(string) string) { f.word("x:done1", 3, "failed") },
			[]string{"STATE_INDEX done1 done ", "STRAY done1  ", "COUNT  done "}},
		{"RunnerForgotten", func(f *fixture, k func(string) string) { f.word("q:run", 6, "") },
			[]string{"QUEUE_RUN run1 run "}},
		{"TwoBound", func(f *fixture, k func(string) string) {
			f.client.Set(f.ctx, k("x:paused1"), "1  "+me+":9 watching S1   0     \n", 0)
		}, []string{"QUEUE_RUN paused1 paused "}},
		{"TrainOfTwoSenders", func(f *fixture, k func(string) string) { f.word("x:train2", 4, "S5") },
			[]string{"TRAIN  train S5", "SENDER_BOUND train2 train "}},
		{"TrainOfTwoProcesses", func(f *fixture, k func(string) string) { f.word("x:train3", 2, other+":7") },
			[]string{"TRAIN  train S4"}},
		{"TrainWithAGap", func(f *fixture, k func(string) string) { f.word("q:train", 6, "train1,train3") },
			[]string{"TRAIN  train S4", "QUEUE_RUN train2 train "}},
		{"TrainOutOfOrder", func(f *fixture, k func(string) string) { f.word("q:train", 6, "train2,train1,train3") },
			[]string{"TRAIN  train S4"}},
		{"TrainWithWhatWaits", func(f *fixture, k func(string) string) { f.word("q:train", 6, "train1,train2,train3,wait1") },
			[]string{"TRAIN  train S3"}},
		{"SenderBoundTwice", func(f *fixture, k func(string) string) { f.word("q:wait", 7, "S1") },
			[]string{"SENDER_BOUND  wait S1"}},
		{"SenderKept", func(f *fixture, k func(string) string) { f.client.HSet(f.ctx, k("s:S2"), "queue", "done") },
			[]string{"SENDER_BOUND  done S2"}},
		{"SenderOfNothing", func(f *fixture, k func(string) string) { f.word("x:run1", 3, "done") },
			[]string{"SENDER_BOUND  run S1", "QUEUE_RUN  run S1"}},
		{"SenderLeaked", func(f *fixture, k func(string) string) { f.client.HSet(f.ctx, k("s:S5"), "reason", "") },
			[]string{"SENDER_FREE   S5"}},
		{"BoundAndFree", func(f *fixture, k func(string) string) {
			f.client.ZAdd(f.ctx, k("free:shared"), z(1, "S1"))
		}, []string{"SENDER_FREE  run S1", "STRAY   S1"}},
		{"RestWithoutEnd", func(f *fixture, k func(string) string) { f.client.ZRem(f.ctx, k("due"), "s:S3") },
			[]string{"SENDER_FREE   S3"}},
		{"NotReady", func(f *fixture, k func(string) string) { f.client.ZRem(f.ctx, k("ready:"+vote), "wait") },
			[]string{"READY  wait "}},
		{"ReadyWhilePaused", func(f *fixture, k func(string) string) {
			f.word("q:paused", 10, vote)
			f.client.ZAdd(f.ctx, k("ready:"+vote), z(1, "paused"))
		}, []string{"READY  paused "}},
		{"ReadyAndEmpty", func(f *fixture, k func(string) string) {
			f.word("q:done", 10, vote)
			f.client.ZAdd(f.ctx, k("ready:"+vote), z(1, "done"))
		}, []string{"READY  done "}},
		{"ReadyElsewhere", func(f *fixture, k func(string) string) {
			f.word("q:wait", 10, vote+"@7")
		}, []string{"READY  wait ", "STRAY  wait "}},
		{"ReadyTwice", func(f *fixture, k func(string) string) {
			f.client.ZAdd(f.ctx, k("round:"+vote), z(7, f.dump().hashes["q:wait"]["since"]+" wait"))
		}, []string{"STRAY  wait "}},
		{"ReadyOfNobody", func(f *fixture, k func(string) string) { f.client.ZAdd(f.ctx, k("ready:"+vote), z(9, "ghost")) },
			[]string{"LEFTOVER  ghost "}},
		{"ClaimOfTheDead", func(f *fixture, k func(string) string) { f.client.ZRem(f.ctx, k("procs"), me) },
			[]string{"CLAIM run1 run "}},
		{"ClaimLost", func(f *fixture, k func(string) string) { f.word("x:run1", 2, "") }, []string{"CLAIM run1 run "}},
		{"Count", func(f *fixture, k func(string) string) { f.word("q:run", 0, "4") }, []string{"COUNT  run S1"}},
		{"Line", func(f *fixture, k func(string) string) { f.client.ZRem(f.ctx, k("back:wait"), "wait1") },
			[]string{"LINE wait1 wait ", "COUNT  wait "}},
		{"LineOutOfOrder", func(f *fixture, k func(string) string) {
			f.post("long", "long1", "long2", "long3")
			f.client.LSet(f.ctx, k("line:long"), 1, "long3")
			f.client.LSet(f.ctx, k("line:long"), 2, "long2")
		}, []string{"LINE  long "}},
		{"OpenCount", func(f *fixture, k func(string) string) { f.word("x:done1", 7, "1") },
			[]string{"OPEN_COUNT done1 done "}},
		{"Callback", func(f *fixture, k func(string) string) { f.word("x:done1", 8, "on-success") },
			[]string{"CALLBACK done1 done "}},
		{"Record", func(f *fixture, k func(string) string) { f.word("x:done1", 3, "nonsense") }, []string{"RECORD done1  "}},
		{"Leftover", func(f *fixture, k func(string) string) { f.client.Del(f.ctx, k("t:done1")) },
			[]string{"LEFTOVER done1  "}},
		{"Unlisted", func(f *fixture, k func(string) string) {
			f.client.ZRem(f.ctx, k("queues"), "done")
			f.client.ZRem(f.ctx, k("senders"), "S2")
		}, []string{"LISTED  done ", "LISTED   S2"}},
	}
	for _, key := range []string{"st:DONE", "bound", "past:done", "back:done", "own:" + me, "free:shared", "queues",
		"senders", "ready:" + vote, "round:" + vote, "page:0", "line:ghost", "x:ghost", "b:ghost"} {
		kind, _, _ := strings.Cut(key, ":")
		want := map[string]string{
			"past": "LEFTOVER ghost done ", "back": "LEFTOVER ghost done ",
			"free": "LEFTOVER   ghost", "senders": "LEFTOVER   ghost",
			"queues": "LEFTOVER  ghost ", "ready": "LEFTOVER  ghost ", "round": "LEFTOVER  ghost ", "line": "LEFTOVER  ghost ",
		}[kind]
		name := "Ghost-" + strings.ReplaceAll(key, ":", "-")
		damages = append(damages, damageOf{name, func(f *fixture, k func(string) string) {
			switch kind {
			case "page", "line":
				f.client.RPush(f.ctx, k(key), "ghost")
			case "x", "b":
				f.client.Set(f.ctx, k(key), "1   failed         \n{}", 0)
			case "round":
				f.client.ZAdd(f.ctx, k(key), z(1, "0000000000000001 ghost"))
			default:
				f.client.ZAdd(f.ctx, k(key), z(1, "ghost"))
			}
		}, []string{cmp.Or(want, "LEFTOVER ghost  ")}})
	}
	cases := map[string]func(*fixture){}
	for _, d := range damages {
		cases[d.name] = func(f *fixture) {
			world(f)
			d.damage(f, f.key)
			f.audited(d.want...)
		}
	}
	cases["Mended"] = func(f *fixture) {
		world(f)
		ghosts := []string{f.key("x:ghost"), f.key("line:ghost"), f.key("bound")}
		f.client.Set(f.ctx, ghosts[0], "1   failed         \n{}", 0)
		f.client.RPush(f.ctx, ghosts[1], "ghost")
		f.client.ZAdd(f.ctx, ghosts[2], z(1, "ghost"))
		found, err := f.store.Audit(f.ctx, nil)
		f.ok(err)
		equal(f.T, "found", len(found), 3)
		f.client.Del(f.ctx, ghosts[:2]...)
		f.client.ZRem(f.ctx, ghosts[2], "ghost")
		again, err := f.store.Reaudit(f.ctx, found, nil)
		f.ok(err)
		equal(f.T, "found when it is gone", again, nil)
	}
	cases["TrainOrderSaid"] = func(f *fixture) {
		world(f)
		f.word("q:train", 6, "train2,train1,train3")
		found, err := f.store.Audit(f.ctx, nil)
		f.ok(err)
		if !slices.ContainsFunc(found, func(x queues.Finding) bool {
			return strings.HasPrefix(x.Detail, "train1 is in flight with S4, by \""+me+"\", behind train2, ")
		}) {
			f.Errorf("it is not said who is behind whom: %+v", found)
		}
	}
	onBackends(t, cases, false)
}

// TestAuditSteps: more than one step of everything.
func TestAuditSteps(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){"Steps": func(f *fixture) {
		uids := numbered("t", 1, 1200)
		for i, uid := range uids {
			f.post([]string{"a", "b", "c"}[i%3], uid)
		}
		seen := map[string]bool{}
		_, err := f.store.Audit(f.ctx, func(records []queues.Record) error {
			for _, r := range records {
				seen[r.UID] = true
			}
			return nil
		})
		f.ok(err)
		if len(seen) != len(uids) {
			f.Errorf("%d of %d transactions were handed over", len(seen), len(uids))
		}
	}})
}

func TestPlace(t *testing.T) {
	t.Parallel()
	backends(t, map[string]func(*fixture){"Place": func(f *fixture) {
		f.register("S")
		f.post("q", "a", "b", "c", "d", "e")
		want := func(uid string, want tx.Place) {
			f.Helper()
			got, err := f.store.Place(f.ctx, uid)
			f.ok(err)
			want.Hold = got.Hold
			equal(f.T, "standing of "+uid, got, want)
		}
		want("a", tx.Place{First: "a"})
		want("e", tx.Place{Ahead: 4, First: "a"})
		f.bound("a S")
		want("e", tx.Place{Ahead: 3, First: "a"})
		f.to("c", tx.PhaseFailed, person)
		want("e", tx.Place{Ahead: 2, First: "a"})
		f.to("a", tx.PhaseFailed, tell(tx.OnFailure, time.Minute, time.Minute))
		want("e", tx.Place{Ahead: 2, First: "b", Holder: "a"})
		f.to("a", tx.PhaseWaiting, person)
		want("a", tx.Place{First: "a", Holder: "a"})
		want("e", tx.Place{Ahead: 3, First: "a", Holder: "a"})
		if _, err := f.store.Place(f.ctx, "none"); err == nil {
			f.Error("a transaction that is not there has a place")
		}
	}})
}
