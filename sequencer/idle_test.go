package sequencer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestFreeAndNobodyBinds: where no process could bind a free sender, the pool of senders and explain
// say so, with the cause and since when, and no longer when one could.
func TestFreeAndNobodyBinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy func(*lifecycle.Policy)
		before func(w *harness.World, account string) // before the process runs
		now    func(w *harness.World)                 // when it does
		words  string
		mends  func(w *harness.World, p *harness.Process, account string)
	}{
		"no room": {
			policy: func(p *lifecycle.Policy) { p.ClaimLimit = 1 },
			before: func(w *harness.World, _ string) {
				w.Post("first", "long") // takes all the room
			},
			words: "it drives as many queues as SEQUENCER_CLAIM_LIMIT allows it, 1: raise it, or start another process (process",
			mends: func(w *harness.World, _ *harness.Process, _ string) { w.Policy.ClaimLimit = 0; w.Start() },
		},
		"the nodes hang": {
			now: func(w *harness.World) {
				for _, node := range []string{"node0", "node1", "node2"} {
					w.Web.Unplug(node, true)
				}
			},
			words: "synced",
			mends: func(w *harness.World, _ *harness.Process, _ string) {
				for _, node := range []string{"node0", "node1", "node2"} {
					w.Web.Unplug(node, false)
				}
			},
		},
		"its worker's process is gone": {
			before: func(w *harness.World, account string) {
				other := senders.New(w.Store, w.Redis.NewClient())
				other.SetHost(senders.Host{Process: "gone"})
				w.OK(other.Configure(w.Ctx, map[string]string{account: senders.Local}))
			},
			words: "its worker belongs to a process that is gone",
			mends: func(w *harness.World, p *harness.Process, account string) {
				w.OK(w.Pool.Remove(w.Ctx, account))
				w.OK(w.Pool.Register(w.Ctx, account, "http://worker1"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := harness.PatientPolicy()
				if c.policy != nil {
					c.policy(&policy)
				}
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, policy)
				account, _ := w.Worker(1, devworker.Options{ProveTime: 20 * time.Minute})
				if c.policy != nil {
					w.Worker(2, devworker.Options{ProveTime: 20 * time.Minute})
				}
				if c.before != nil {
					c.before(w, account)
				}
				p := w.Start()
				harness.Until(w.Ctx, time.Minute)
				if c.now != nil {
					c.now(w)
					harness.Until(w.Ctx, 10*time.Minute)
				}
				w.Post("q", "u")
				harness.Until(w.Ctx, 10*time.Minute)
				e, err := p.Explain(w.Ctx, "u", false)
				w.OK(err)
				idle := ""
				for s, err := range p.Pool.All(w.Ctx) {
					w.OK(err)
					if s.Reason == tx.Idled {
						idle = s.Detail
					}
				}
				if !strings.Contains(e.Summary, c.words) || !strings.Contains(idle, c.words) ||
					e.Wait.Code == explain.WaitNothing {
					t.Errorf("it says %q (%s), and of the sender %q", e.Summary, e.Wait.Code, idle)
				}
				c.mends(w, p, account)
				harness.Until(w.Ctx, 3*time.Hour)
				for s, err := range p.Pool.All(w.Ctx) {
					if w.OK(err); s.Reason != "" {
						t.Errorf("when it is mended: %s is %s: %s", s.AccountID, s.Reason, s.Detail)
					}
				}
			})
		})
	}
}
