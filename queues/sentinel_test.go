package queues_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
)

// TestSentinel: nothing that was taken is lost or there twice when the master that
// Sentinels watch is killed, hangs, or all servers are restarted one after the other.
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t)
	client := queues.NewClient(&redis.UniversalOptions{Addrs: w.Sentinels(), MasterName: redistest.MasterName})
	t.Cleanup(func() { _ = client.Close() })
	part := func(name string, run func(*testing.T, *load, *redistest.Server)) {
		t.Run(name, func(t *testing.T) {
			store, err := queues.Open(client, queues.Options{Namespace: name})
			if err == nil {
				err = store.Check(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			l := startLoad(t, store)
			run(t, l, w.Master())
			w.Replicated()
			l.takes(20)
			l.whole()
		})
	}
	changed := func(master *redistest.Server) func() bool {
		return func() bool { return w.Master() != master }
	}
	part("killed", func(_ *testing.T, l *load, master *redistest.Server) {
		l.fails(w.Replicated, master.Kill, changed(master))
		master.Restart()
	})
	part("paused", func(_ *testing.T, l *load, master *redistest.Server) {
		l.fails(w.Replicated, master.Pause, changed(master))
		master.Resume()
	})
	part("restarted", func(_ *testing.T, l *load, _ *redistest.Server) {
		for _, n := range w.Nodes {
			l.takes(20)
			n.Restart()
			w.Replicated()
		}
	})
}
