package sequencer

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

// A listed is a store in which a runs of q, with b behind it and c waiting, and a sequencer that
// owns what it bound and does nothing by itself.
type listed struct {
	*testing.T
	*Sequencer
	ctx context.Context
	// meanwhile is called once, when what runs was read and its answer is under way.
	meanwhile func()
}

func newListed(t *testing.T) *listed {
	t.Helper()
	l := &listed{T: t, ctx: t.Context()}
	client := redistest.Mini(t).Client
	client.AddHook(l)
	store, err := queues.Open(client,
		queues.Options{Namespace: "test", Retention: time.Hour, Log: slog.New(slog.DiscardHandler)})
	l.ok(err)
	l.Sequencer = &Sequencer{
		Options: Options{Store: store, Policy: lifecycle.Policy{Width: 3}},
		process: "p", trains: map[string]*train{}, owners: map[string]*owner{},
	}
	_, err = store.Heartbeat(l.ctx, l.process, time.Hour, "")
	l.ok(err)
	l.ok(senders.New(store, client).Register(l.ctx, devnet.Key(1), "http://127.0.0.1:1"))
	for _, uid := range []string{"a", "b", "c"} {
		l.ok(store.Enqueue(l.ctx, queues.Item{UID: uid, Queue: "q", Type: "MINT", Data: json.RawMessage(`{}`)}).Err)
	}
	bound, err := store.Bind(l.ctx, queues.BindRequest{
		Process: l.process, Types: []string{"MINT"}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Hour})
	l.ok(err)
	if len(bound) != 1 {
		t.Fatalf("%d bound", len(bound))
	}
	l.behind("a", "b")
	return l
}

func (l *listed) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// behind puts the next of q behind the last, in the store.
func (l *listed) behind(last, next string) {
	l.Helper()
	b, err := l.Store.Join(l.ctx, queues.JoinRequest{
		Process: l.process, Queue: "q", Behind: last, Out: 1, Width: 3, AtOnce: true, Types: []string{"MINT"},
	})
	l.ok(err)
	if b == nil || b.Transaction.UID != next {
		l.Fatalf("behind %s: %v", last, b)
	}
}

func (l *listed) reads(uid string) {
	l.Helper()
	t, err := l.Store.Get(l.ctx, uid)
	l.ok(err)
	l.ok(l.relist(l.ctx, t))
}

func (l *listed) runs(want ...string) {
	l.Helper()
	var got []string
	if t := l.trains["q"]; t != nil {
		got = t.uids
	}
	if !slices.Equal(got, want) {
		l.Errorf("runs: %q, want %q", got, want)
	}
}

func (l *listed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *listed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *listed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if f := l.meanwhile; f != nil && cmd.Name() == "get" {
			l.meanwhile = nil
			f()
		}
		return err
	}
}

// TestRelist: what a process knows of a train is what the store has, and what was done here
// while the store answered is not undone by that answer.
func TestRelist(t *testing.T) {
	t.Parallel()
	joins := func(l *listed) {
		l.behind("b", "c")
		l.addLast("q", l.trains["q"], "c")
	}
	for name, row := range map[string]struct {
		read      string
		meanwhile func(l *listed)
		want      []string
	}{
		"what was put back ahead": {"b", nil, []string{"a", "b"}},
		"one joins meanwhile":     {"b", joins, []string{"a", "b", "c"}},
		"a later reading is over before": {
			"b", func(l *listed) { l.behind("b", "c"); l.reads("b") }, []string{"a", "b", "c"},
		},
		"one that runs nowhere is read": {"c", nil, []string{"b"}},
		"it goes and comes back meanwhile": {"b", func(l *listed) {
			l.unlists("q", "b")
			l.lists("q", []string{"b"}, 0)
			l.behind("b", "c")
		}, []string{"a", "b", "c"}},
		"all of it has ended here meanwhile": {"b", func(l *listed) { l.unlists("q", "b") }, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newListed(t)
			l.lists("q", []string{"b"}, 0)
			if row.meanwhile != nil {
				l.meanwhile = func() { row.meanwhile(l) }
			}
			l.reads(row.read)
			l.runs(row.want...)
			if l.meanwhile != nil {
				t.Error("nothing was read")
			}
		})
	}
}

// TestRelistWidth: how wide a queue is, and that nothing joins it, is taken over by whatever of it
// is read, also by one that does not run.
func TestRelistWidth(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	l.lists("q", []string{"a", "b"}, 0)
	l.ok(l.Store.SetWidth(l.ctx, "q", 2))
	l.ok(l.Store.Pause(l.ctx, "q", "a person said so"))
	l.reads("c")
	if got := l.trains["q"]; got.width != 2 || !got.held {
		t.Errorf("%+v", got)
	}
	l.runs("a", "b")
}

// TestHeed: one of those that run of a queue reads what holds for it, whichever is here; where
// something may have been missed, of each queue.
func TestHeed(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string][]string{"q": {"b"}, "r": {"d"}, "": {"b", "d"}, "x": nil} {
		s := &Sequencer{trains: map[string]*train{"q": {uids: []string{"a", "b", "c"}}, "r": {uids: []string{"d"}}},
			owners: map[string]*owner{}}
		for _, uid := range []string{"b", "c", "d", "e"} {
			s.owners[uid] = &owner{s: s, uid: uid, running: true}
		}
		s.heed(queue)
		var got []string
		for uid, o := range s.owners {
			if slices.Equal(o.words, []word{{changed: true}}) {
				got = append(got, uid)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("of queue %q: %q reads", queue, got)
		}
	}
}

// TestDueUntilRead: what is due stays so until its owner is about to read it. One that was just
// leaving, and did not come to that, leaves it due: another binding of it may be what nobody
// here has been told of.
func TestDueUntilRead(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	due := func() []string {
		k, err := l.Store.Tick(l.ctx, queues.TickRequest{Process: l.process, Most: 10, Lease: time.Minute})
		l.ok(err)
		return k.Due
	}
	for !slices.Equal(due(), []string{"b"}) {
		<-time.After(time.Millisecond)
	}
	o := &owner{s: l.Sequencer, uid: "b", running: true}
	l.owners["b"] = o
	l.look(l.ctx, due())
	if !slices.Equal(o.words, []word{{changed: true, due: true}}) {
		t.Errorf("its owner has been told %+v", o.words)
	}
	if got := due(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("due before its owner has read it: %q", got)
	}
	o.putOff(l.ctx)
	if got := due(); len(got) > 0 {
		t.Errorf("due after that: %q", got)
	}
}

// TestBoundWhileLeaving: an owner that was just leaving what is bound again stays, for it is to
// read that, and takes it off no list.
func TestBoundWhileLeaving(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	l.lists("q", []string{"a", "b"}, 0)
	leaving := &owner{s: l.Sequencer, uid: "c", running: true}
	l.owners["c"] = leaving
	l.behind("b", "c")
	l.own(&owner{s: l.Sequencer, uid: "c"}, func() { l.addLast("q", l.trains["q"], "c") })
	if l.drop(leaving) {
		t.Error("it has left")
	}
	l.runs("a", "b", "c")
}
