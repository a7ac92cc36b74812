package sequencer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/harness"
	"mina-sequencer/sequencer/lifecycle"
)

// TestDamagedQueue: what is due of a queue whose record cannot be read holds up nothing else that
// is due, is looked at now and then, and goes on when the record is mended.
func TestDamagedQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{})
		p := w.Start()
		w.Post("odd", "a")
		w.Post("even", "b")
		<-time.After(time.Minute)
		// Both are bound to it, and it has not heard the answer: it has no such workers itself.
		var groups []string
		for i := range uint64(2) {
			groups = append(groups, senders.LocalGroup(devnet.Key(i)))
		}
		w.OK(w.Pool.Configure(w.Ctx, map[string]string{devnet.Key(0): senders.Local, devnet.Key(1): senders.Local}))
		bound, err := w.Store.Bind(w.Ctx, queues.BindRequest{Process: p.Process(), Types: []string{"MINT"},
			Groups: groups, Most: 2, Grace: time.Second})
		w.OK(err)
		if len(bound) != 2 {
			t.Fatalf("%d bound", len(bound))
		}
		const key = "{test}:q:odd"
		whole, err := w.Redis.Client.Get(w.Ctx, key).Result()
		w.OK(err)
		w.OK(w.Redis.Client.Set(w.Ctx, key, strings.Replace(whole, " ", "", 1), 0).Err())

		back := func(t *lifecycle.Transaction) bool { return !t.Phase.Bound() }
		w.AwaitTxn("b", "back", 10*time.Minute, back)
		before := p.Store.Calls()
		<-time.After(10 * time.Minute)
		if n := p.Store.Calls() - before; n > 600 {
			t.Errorf("%d calls of the store in ten minutes", n)
		}
		if !w.Get("a").Phase.Bound() {
			t.Error("it is not the one that cannot be read")
		}
		w.OK(w.Redis.Client.Set(w.Ctx, key, whole, 0).Err())
		w.AwaitTxn("a", "back", 10*time.Minute, back)
	})
}
