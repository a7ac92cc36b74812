package sequencer_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
)

// TestSlowLooks: where a look at the chain takes longer than the interval between
// two, what the last one showed is news all the same, and nothing waits for the next.
func TestSlowLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 20
		w := newWorld(t, devnet.Config{FillRate: 1})
		for n := range uint64(count) {
			w.worker(n+1, devworker.Options{ProveTime: time.Second})
		}
		w.launch(
			links{
				redis: w.redis.NewClient(),
				ended: func(error) {},
				dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					if strings.HasPrefix(addr, "node") {
						select {
						case <-time.After(12 * time.Second): // each question, and a look has several
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
					return w.web.dial(ctx, network, addr)
				},
			},
		)
		w.post("q", "first")
		w.awaitTxn(
			"first",
			"sent",
			time.Hour,
			func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWatching },
		)
		<-time.After(3 * time.Minute) // it takes a few looks to see how long they are
		for i := range count - 1 {
			uid := fmt.Sprint("t", i)
			w.post("q"+uid, uid)
			<-time.After(w.policy.CycleInterval + time.Second)
			if w.get(uid).Phase == lifecycle.PhaseWaiting {
				t.Errorf("%s waits although a sender is free", uid)
			}
		}
	})
}
