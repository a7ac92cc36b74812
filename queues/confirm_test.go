package queues_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// TestAllReplicas: who has to confirm is who is there, and where a replica ever was one of them:
// the one that is gone may be promoted.
func TestAllReplicas(t *testing.T) {
	t.Parallel()
	master, ctx := redistest.Start(t), t.Context()
	replica := master.Replica()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(s *redistest.Server) *queues.Store {
		store, err := queues.Open(s.Client, queues.Options{Namespace: "all", Replicas: queues.AllReplicas})
		ok(err)
		return store
	}
	look := func(store *queues.Store) string {
		found, err := store.Look(ctx)
		ok(err)
		if i := slices.IndexFunc(found, func(f queues.Fault) bool { return f.Code == "REDIS_REPLICAS" }); i >= 0 {
			return found[i].Found + "; " + found[i].Remedy
		}
		return ""
	}
	store := open(master)
	ok(senders.New(store, master.Client).Register(ctx, "S", "http://worker"))
	_, err := store.Heartbeat(ctx, "P", time.Minute, "")
	ok(err)
	ok(store.Enqueue(ctx, queues.Item{UID: "a", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err)
	bound, err := store.Bind(ctx,
		queues.BindRequest{Process: "P", Types: []string{"T"}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Second})
	ok(err)
	txn := bound[0].Transaction
	write := func(store *queues.Store) error {
		stored, err := store.Advance(ctx, change(txn, tx.PhaseSent, func(c *queues.Change) { c.Confirm = true }))
		if stored != nil {
			txn = stored
		}
		return err
	}
	waited := func(s *redistest.Server) bool {
		stats, err := s.Client.Info(ctx, "commandstats").Result()
		ok(err)
		return strings.Contains(stats, "cmdstat_wait:")
	}

	if fault := look(store); !store.Confirms() || fault != "" {
		t.Errorf("with a replica: confirms %t, %s", store.Confirms(), fault)
	}
	if ok(write(store)); !waited(master) || !store.Unconfirmed().IsZero() {
		t.Errorf("with a replica: waited %t, unconfirmed since %v", waited(master), store.Unconfirmed())
	}
	lone := redistest.Start(t)
	if store := open(lone); look(store) != "" || store.Confirms() {
		t.Error("a lone server waits for a replica")
	}

	// Another one has to confirm as well, also where the server tells of it only now.
	second := master.Replica()
	conn := master.Client.Conn()
	defer func() { ok(conn.Close()) }()
	ok(conn.Set(ctx, "both", 1, 0).Err())
	if n, err := conn.Wait(ctx, 2, time.Minute).Result(); n != 2 {
		t.Fatal(n, err)
	}
	ok(syscall.Kill(second.Pid(), syscall.SIGSTOP))
	if err := write(store); !errors.Is(err, queues.ErrUnconfirmed) {
		t.Errorf("one has confirmed, and there are two: %v", err)
	}
	ok(syscall.Kill(second.Pid(), syscall.SIGCONT))
	ok(write(store))
	second.Kill() // and no longer when it is gone
	ok(write(store))

	replica.Kill()
	if err := write(store); !errors.Is(err, queues.ErrUnconfirmed) || store.Unconfirmed().IsZero() {
		t.Errorf("without the replica: %v, since %v", err, store.Unconfirmed())
	}
	fault := look(store)
	if !strings.Contains(fault, "has no replica since 20") || !strings.Contains(fault, "SEQUENCER_REDIS_WAIT=0") {
		t.Errorf("without the replica: %q", fault)
	}
	// Whoever begins now knows that there was one.
	late := open(master)
	if look(late) == "" || !late.Confirms() {
		t.Error("a process that begins without the replica does without it")
	}

	// An hour later nobody waits for it any more.
	store.ReplicaSeen(-time.Hour)
	if store.Confirms() || !store.Unconfirmed().IsZero() {
		t.Errorf("an hour later it confirms %t, unconfirmed since %v", store.Confirms(), store.Unconfirmed())
	}
	const mark = "{all}:is:replicas"
	at, err := master.Client.Get(ctx, mark).Int64()
	ok(err)
	ok(master.Client.Set(ctx, mark, at-time.Hour.Milliseconds(), redis.KeepTTL).Err())
	later := open(master)
	if fault := look(later); fault != "" || later.Confirms() {
		t.Errorf("an hour later: %q, confirms %t", fault, later.Confirms())
	}
	ok(write(later))
}

// TestReplicaPromoted: what was a replica, and has none itself, waits for one: it is known by the
// mark that it was given.
func TestReplicaPromoted(t *testing.T) {
	t.Parallel()
	master, ctx := redistest.Start(t), t.Context()
	replica := master.Replica()
	look := func(s *redistest.Server) *queues.Store {
		store, err := queues.Open(s.Client, queues.Options{Namespace: "all", Replicas: queues.AllReplicas})
		if err == nil {
			_, err = store.Look(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	look(master)
	if n, err := master.Client.Wait(ctx, 1, 5*time.Second).Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	master.Kill()
	if err := replica.Client.ReplicaOf(ctx, "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	if store := look(replica); !store.Confirms() {
		t.Error("a replica that was promoted does without one")
	}
}

// TestFewerReplicas: the one that is promoted has fewer replicas than it had beside it: a write of then
// waits for one, and not in vain for all that there were.
func TestFewerReplicas(t *testing.T) {
	t.Parallel()
	e := redistest.Mini(t)
	store, err := queues.Open(e.Client, queues.Options{Namespace: "fewer", Replicas: queues.AllReplicas})
	if err != nil {
		t.Fatal(err)
	}
	wants := func(when string, n int) {
		t.Helper()
		if _, err := store.Heartbeat(t.Context(), "P", time.Minute, ""); err != nil {
			t.Fatal(err)
		}
		if got := store.Wanted(); got != n {
			t.Errorf("%s: %d have to confirm, not %d", when, got, n)
		}
	}
	wants("alone", 0)
	e.Restart()
	wants("alone, restarted", 0)
	store.ReplicasOnline(2)
	wants("with two", 2)
	e.Restart()
	wants("promoted", 1)
	store.ReplicasOnline(2)
	wants("as the promoted one says", 2)
}
