package sequencer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/audit"
	"mina-sequencer/sequencer/lifecycle"
)

// audit audits the world and returns "CHECK uid queue" for each finding; still
// says that nobody else changes what is stored.
func (w *world) audit(still bool) []string {
	w.Helper()
	a := audit.Audit{
		Store: w.store, Senders: w.pool, Nodes: []*mina.Node{w.node(0)}, Namespace: "test", Policy: w.policy,
		Commutes: func(typ string) bool { return w.overlap[typ] == dispatcher.Commuting },
	}
	before := w.redis.Server.Dump()
	r, err := a.Run(w.ctx)
	w.ok(err)
	if after := w.redis.Server.Dump(); still && before != after {
		w.Error("an audit changed what is stored")
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.TrimRight(f.Check+" "+f.UID+" "+f.Queue, " "))
		if audit.Meanings()[f.Check] == "" {
			w.Errorf("nobody knows what %s means", f.Check)
		}
		if f.Detail == "" {
			w.Errorf("%s says nothing", f.Check)
		}
	}
	return got
}

// auditWorld has been through all kinds of ends, and is in the middle of more.
func auditWorld(t *testing.T) (*world, *process) {
	t.Helper()
	w := newWorld(t, devnet.Config{FillRate: 1})
	_, one := w.worker(1, devworker.Options{ProveTime: 20 * time.Second})
	w.worker(2, devworker.Options{ProveTime: 30 * time.Second})
	one.Fail(devworker.Fault{UID: "b1", Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	p := w.start()
	w.post("a", "a1")
	w.post("a", "a2")
	w.post("b", "b1")
	w.post("c", "c1")
	w.post("c", "c2")
	if _, _, err := p.Cancel(w.ctx, "c2"); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"a1", "a2", "b1", "c1"} {
		w.await(uid, lifecycle.Done, 5*time.Hour)
	}
	return w, p
}

func TestAuditClean(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := auditWorld(t)
		w.worker(3, devworker.Options{ProveTime: 30 * time.Second, Legacy: true})
		for _, uid := range []string{"d1", "d2", "d3", "e1", "e2", "f1", "g1"} {
			w.post(uid[:1], uid)
		}
		// Again and again while all of it moves.
		for range 30 {
			if got := w.audit(false); len(got) > 0 {
				t.Fatalf("a live system: %q", got)
			}
			<-time.After(41 * time.Second)
		}
		for _, uid := range []string{"d3", "e2", "f1", "g1"} {
			w.await(uid, lifecycle.Done, 5*time.Hour)
		}
		w.awaitTxn("d3", "final", 5*time.Hour, func(t *lifecycle.Transaction) bool { return !t.FinalAt.IsZero() })
		p.stop()
		if got := w.audit(true); len(got) > 0 {
			t.Errorf("at rest: %q", got)
		}
	})
}

func TestAuditFinds(t *testing.T) {
	t.Parallel()
	blocks := func(w *world, n int) {
		for range n {
			w.net.MakeBlock()
		}
	}
	key := func(name string) string { return "{test}:" + name }
	send := func(w *world, account uint64, nonce uint32, memo string) {
		command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(account), Nonce: nonce, Fee: 1_000_000_000, Memo: memo})
		w.ok(err)
		_, err = w.node(0).Send(w.ctx, command)
		w.ok(err)
		blocks(w, 3)
	}
	for name, tc := range map[string]struct {
		plant func(w *world, p *process)
		want  []string
	}{
		"Twice": {func(w *world, p *process) { p.stop(); send(w, 70, 0, lifecycle.Memo("test", "a1")) },
			[]string{"TWICE a1 a"}},
		"UntoldEffect": {func(w *world, p *process) { p.stop(); send(w, 70, 0, lifecycle.Memo("test", "c2")) },
			[]string{"UNTOLD_EFFECT c2 c"}},
		"NotOnChain": {func(w *world, p *process) {
			hash := w.get("a2").Hash()
			p.stop()
			lost := w.get("a2").Attempts[0].Height
			w.ok(w.net.Reorg(devnet.Reorg{Depth: int(w.net.Node(0).State().Height-lost) + 1, Exclude: []string{hash}}))
			w.net.Drop(hash)
			blocks(w, 2)
		}, []string{"NOT_ON_CHAIN a2 a"}},
		"Order": {func(w *world, p *process) {
			p.stop()
			a1, _ := w.redis.Server.Get(key("t:a1"))
			a2, _ := w.redis.Server.Get(key("t:a2"))
			one, rest1, _ := strings.Cut(a1, " ")
			two, rest2, _ := strings.Cut(a2, " ")
			w.ok(w.redis.Server.Set(key("t:a1"), two+" "+rest1))
			w.ok(w.redis.Server.Set(key("t:a2"), one+" "+rest2))
		}, []string{"ORDER a2 a", "PAST_INDEX a1 a", "PAST_INDEX a2 a"}},
		"AttemptLost": {func(w *world, p *process) {
			w.ok(w.net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
			w.post("d", "d1")
			w.awaitTxn("d1", "sent", time.Hour,
				func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWatching })
			p.stop()
			w.redis.Server.Del(key("b:d1"))
		}, []string{"ATTEMPT_LOST d1 d"}},
		"Deadline": {func(w *world, p *process) {
			p.stop()
			a1, _ := w.redis.Server.Get(key("t:a1"))
			head, rest, _ := strings.Cut(a1, "\n")
			early := fmt.Sprint(time.Now().Add(-24 * time.Hour).UnixMilli())
			w.ok(w.redis.Server.Set(key("t:a1"), head+"  "+early+"    \n"+rest))
		}, []string{"DEADLINE a1 a"}},
		"StrangersNonce": {func(w *world, p *process) {
			p.stop()
			account := w.get("a1").Attempts[0].Sender
			s, err := w.pool.Get(w.ctx, account)
			w.ok(err)
			n := uint64(1)
			if account != devnet.Key(1) {
				n = 2
			}
			send(w, n, *s.Nonce, "a stranger's")
		}, []string{"NONCE"}},
		"NonceTooHigh": {func(w *world, p *process) {
			p.stop()
			w.redis.Server.HSet(key("s:"+devnet.Key(1)), "next", "99")
		}, []string{"NONCE"}},
		"SenderLeaked": {func(w *world, p *process) {
			p.stop()
			_, err := w.redis.Server.ZRem(key("free:shared"), devnet.Key(1))
			w.ok(err)
		}, []string{"SENDER_FREE"}},
		"Passing": {func(w *world, p *process) {
			p.stop()
			_, err := w.redis.Server.ZRem(key("free:shared"), devnet.Key(1))
			w.ok(err)
			time.AfterFunc(time.Second, func() { _, _ = w.redis.Server.ZAdd(key("free:shared"), 1, devnet.Key(1)) })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, p := auditWorld(t)
				w.await("c2", lifecycle.Failed, time.Hour)
				tc.plant(w, p)
				got := w.audit(false)
				for _, want := range tc.want {
					if !slices.Contains(got, want) {
						t.Errorf("found %q, not %q", got, want)
					}
				}
				if len(tc.want) == 0 && len(got) > 0 {
					t.Errorf("found %q", got)
				}
			})
		})
	}
}

// TestAuditAtTen: sequences are numbers; the tenth transaction stands behind the ninth.
func TestAuditAtTen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{FillRate: 1})
		w.ok(w.redis.Server.Set("{test}:n:seq", "8"))
		w.worker(1, devworker.Options{})
		p := w.start()
		for _, uid := range []string{"nine", "ten", "eleven"} {
			w.post("q", uid)
		}
		w.await("eleven", lifecycle.Done, 5*time.Hour)
		p.stop()
		if got := w.audit(true); len(got) > 0 {
			t.Errorf("found %q", got)
		}
	})
}

// TestAuditAsksEveryPool: what may land is lost only if no node's pool has it.
func TestAuditAsksEveryPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, devnet.Config{Nodes: 2, FillRate: 1})
		w.worker(1, devworker.Options{})
		p := w.start()
		w.ok(w.net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
		w.ok(w.net.Node(1).SetFaults(devnet.Faults{Isolated: true}))
		w.post("q", "a")
		w.awaitTxn("a", "sent", time.Hour, func(t *lifecycle.Transaction) bool { return t.Phase == lifecycle.PhaseWatching })
		p.stop()
		w.redis.Server.Del("{test}:b:a")
		policy := w.policy
		policy.InclusionInterval = time.Millisecond
		for _, c := range []struct {
			nodes []*mina.Node
			want  int
		}{{[]*mina.Node{w.node(0), w.node(1)}, 0}, {[]*mina.Node{w.node(1), w.node(0)}, 0}, {[]*mina.Node{w.node(0)}, 1}} {
			a := audit.Audit{Store: w.store, Senders: w.pool, Nodes: c.nodes, Namespace: "test", Policy: policy}
			r, err := a.Run(w.ctx)
			w.ok(err)
			lost := slices.DeleteFunc(r.Findings, func(f queues.Finding) bool { return f.Check != "ATTEMPT_LOST" })
			if len(lost) != c.want {
				t.Errorf("asking %s first of %d: %+v", c.nodes[0].Name(), len(c.nodes), lost)
			}
		}
	})
}
