package sequencer

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

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
}

func newListed(t *testing.T) *listed {
	t.Helper()
	l := &listed{T: t, ctx: t.Context()}
	client := redistest.Mini(t).Client
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

// train is q as this process knows it.
func (l *listed) train(uids ...string) *train {
	l.trains["q"] = &train{s: l.Sequencer, queue: "q", owners: map[string]*owner{}, uids: uids}
	return l.trains["q"]
}

// TestRelist: what a process knows of what is in flight is what the store has, and how wide the queue is,
// and that nothing joins it, is taken over by whatever of it is read, also by one that is not in flight.
func TestRelist(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		read string
		want []string
	}{
		"what was put back ahead":           {"b", []string{"a", "b"}},
		"one that is not in flight is read": {"c", []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newListed(t)
			l.ok(l.Store.SetWidth(l.ctx, "q", 2))
			l.ok(l.Store.Pause(l.ctx, "q", "a person said so"))
			q := l.train("b")
			txn, err := l.Store.Get(l.ctx, row.read)
			l.ok(err)
			l.ok(q.relist(l.ctx, txn))
			if !slices.Equal(q.uids, row.want) || q.width != 2 || !q.held {
				t.Errorf("in flight: %q, width %d, held %v; want %q", q.uids, q.width, q.held, row.want)
			}
		})
	}
}

// TestHeed: one of those in flight of a queue reads what holds for it, whichever is here; where
// something may have been missed, of each queue.
func TestHeed(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string][]string{"q": {"b"}, "r": {"d"}, "": {"b", "d"}, "x": nil} {
		s := &Sequencer{trains: map[string]*train{}}
		for name, uids := range map[string][]string{"q": {"a", "b", "c"}, "r": {"d"}} {
			q := &train{s: s, owners: map[string]*owner{}, uids: uids}
			for _, uid := range append(uids, "e") {
				if uid != "a" {
					q.owners[uid] = &owner{s: s, train: q, uid: uid, drive: lifecycle.NewDrive(nil, lifecycle.Local{})}
				}
			}
			s.trains[name] = q
		}
		s.heed(queue)
		var got []string
		for _, q := range s.trains {
			for _, w := range q.words {
				q.hear(t.Context(), w)
			}
			for uid, o := range q.owners {
				if o.drive.IsStale() {
					got = append(got, uid)
				}
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
	q := l.train("a", "b")
	o := &owner{s: l.Sequencer, train: q, uid: "b", drive: lifecycle.NewDrive(nil, lifecycle.Local{})}
	l.owners["b"], q.owners["b"] = o, o
	l.look(l.ctx, due())
	if !slices.Equal(q.words, []word{{uid: "b", changed: true, due: true}}) {
		t.Errorf("its train has been told %+v", q.words)
	}
	if got := due(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("due before its owner has read it: %q", got)
	}
	q.hear(l.ctx, q.words[0])
	if got := due(); len(got) > 0 {
		t.Errorf("due after that: %q", got)
	}
}

// TestBoundWhileLeaving: an owner that was just leaving what is bound again stays, for it is to
// read that, and takes it off no list.
func TestBoundWhileLeaving(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	q := l.train("a", "b")
	leaving := &owner{s: l.Sequencer, train: q, uid: "c"}
	l.owners["c"], q.owners["c"] = leaving, leaving
	l.behind("b", "c")
	txn, err := l.Store.Get(l.ctx, "c")
	l.ok(err)
	l.own(&owner{s: l.Sequencer, uid: "c", drive: lifecycle.NewDrive(txn, lifecycle.Local{})}, word{})
	if q.drop(leaving) {
		t.Error("it has left")
	}
	if l.owners["c"] != leaving || q.owners["c"] != leaving {
		t.Error("it is not driven any more")
	}
}
