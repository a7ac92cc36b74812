package sequencer_test

import (
	"context"
	"fmt"
	"net"
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
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// audited audits the world and returns "CHECK uid queue" for each finding; still
// says that nobody else changes what is stored.
func audited(w *harness.World, still bool) []string {
	w.Helper()
	a := audit.Audit{
		Store: w.Store, Senders: w.Pool, Nodes: []*mina.Node{w.Node(0)}, Namespace: "test", Policy: w.Policy,
		Commutes: func(typ string) bool { return w.Overlap[typ] == dispatcher.Commuting },
	}
	before := w.Redis.Server.Dump()
	r, err := a.Run(w.Ctx)
	w.OK(err)
	if after := w.Redis.Server.Dump(); still && before != after {
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
func auditWorld(t *testing.T) (*harness.World, *harness.Process) {
	t.Helper()
	w := harness.New(t, devnet.Config{FillRate: 1})
	_, one := w.Worker(1, devworker.Options{ProveTime: 20 * time.Second})
	w.Worker(2, devworker.Options{ProveTime: 30 * time.Second})
	one.Fail(devworker.Fault{UID: "b1", Kind: devworker.Error, Code: "20202", Message: "proof failed"})
	p := w.Start()
	w.Post("a", "a1")
	w.Post("a", "a2")
	w.Post("b", "b1")
	w.Post("c", "c1")
	w.Post("c", "c2")
	if _, _, err := p.Cancel(w.Ctx, "c2"); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"a1", "a2", "b1", "c1"} {
		w.Await(uid, tx.Done, 5*time.Hour)
	}
	return w, p
}

func TestAuditClean(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := auditWorld(t)
		w.Worker(3, devworker.Options{ProveTime: 30 * time.Second, Legacy: true})
		for _, uid := range []string{"d1", "d2", "d3", "e1", "e2", "f1", "g1"} {
			w.Post(uid[:1], uid)
		}
		// Again and again while all of it moves.
		for range 30 {
			if got := audited(w, false); len(got) > 0 {
				t.Fatalf("a live system: %q", got)
			}
			<-time.After(41 * time.Second)
		}
		for _, uid := range []string{"d3", "e2", "f1", "g1"} {
			w.Await(uid, tx.Done, 5*time.Hour)
		}
		w.AwaitTxn("d3", "final", 5*time.Hour, func(t *tx.Transaction) bool { return !t.FinalAt.IsZero() })
		p.Stop()
		if got := audited(w, true); len(got) > 0 {
			t.Errorf("at rest: %q", got)
		}
	})
}

// TestAuditMoves: a node lets go of its oldest blocks while they are read.
func TestAuditMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1, K: 20})
		for range 30 {
			w.Net.MakeBlock()
		}
		moves := 3
		node := w.NodeBy(0, func(ctx context.Context, network, addr string) (net.Conn, error) {
			if moves--; moves >= 0 {
				w.Net.MakeBlock() // before each of the first questions
			}
			return w.Web.Dial(ctx, network, addr)
		})
		status, err := w.Node(0).Status(w.Ctx)
		w.OK(err)
		tip := status.Height
		a := audit.Audit{Store: w.Store, Senders: w.Pool, Nodes: []*mina.Node{node}, Namespace: "test", Policy: w.Policy}
		r, err := a.Run(w.Ctx)
		w.OK(err)
		if r.From != tip+3-20 || r.To != tip+2 {
			t.Errorf("read from %d to %d, and the tip was %d", r.From, r.To, tip)
		}
	})
}

func TestAuditFinds(t *testing.T) {
	t.Parallel()
	blocks := func(w *harness.World, n int) {
		for range n {
			w.Net.MakeBlock()
		}
	}
	key := func(name string) string { return "{test}:" + name }
	send := func(w *harness.World, account uint64, nonce uint32, memo string) {
		command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(account), Nonce: nonce, Fee: 1_000_000_000, Memo: memo})
		w.OK(err)
		_, err = w.Node(0).Send(w.Ctx, command)
		w.OK(err)
		blocks(w, 3)
	}
	for name, tc := range map[string]struct {
		plant func(w *harness.World, p *harness.Process)
		want  []string
	}{
		"Twice": {func(w *harness.World, p *harness.Process) { p.Stop(); send(w, 70, 0, lifecycle.Memo("test", "a1")) },
			[]string{"TWICE a1 a"}},
		"UntoldEffect": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			send(w, 70, 0, lifecycle.Memo("test", "c2"))
		},
			[]string{"UNTOLD_EFFECT c2 c"}},
		"NotOnChain": {func(w *harness.World, p *harness.Process) {
			hash := w.Get("a2").Hash()
			p.Stop()
			lost := w.Get("a2").Attempts[0].Height
			w.OK(w.Net.Reorg(devnet.Reorg{Depth: int(w.Net.Node(0).State().Height-lost) + 1, Exclude: []string{hash}}))
			w.Net.Drop(hash)
			blocks(w, 2)
		}, []string{"NOT_ON_CHAIN a2 a"}},
		"Order": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			a1, _ := w.Redis.Server.Get(key("t:a1"))
			a2, _ := w.Redis.Server.Get(key("t:a2"))
			one, rest1, _ := strings.Cut(a1, " ")
			two, rest2, _ := strings.Cut(a2, " ")
			w.OK(w.Redis.Server.Set(key("t:a1"), two+" "+rest1))
			w.OK(w.Redis.Server.Set(key("t:a2"), one+" "+rest2))
		}, []string{"ORDER a2 a", "PAST_INDEX a1 a", "PAST_INDEX a2 a"}},
		"AttemptLost": {func(w *harness.World, p *harness.Process) {
			w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
			w.Post("d", "d1")
			w.AwaitTxn("d1", "sent", time.Hour,
				func(t *tx.Transaction) bool { return t.Phase == tx.PhaseWatching })
			p.Stop()
			w.Redis.Server.Del(key("b:d1"))
		}, []string{"ATTEMPT_LOST d1 d"}},
		"Deadline": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			a1, _ := w.Redis.Server.Get(key("t:a1"))
			head, rest, _ := strings.Cut(a1, "\n")
			early := fmt.Sprint(time.Now().Add(-24 * time.Hour).UnixMilli())
			w.OK(w.Redis.Server.Set(key("t:a1"), head+"  "+early+"    \n"+rest))
		}, []string{"DEADLINE a1 a"}},
		"StrangersNonce": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			account := w.Get("a1").Attempts[0].Sender
			s, err := w.Pool.Get(w.Ctx, account)
			w.OK(err)
			n := uint64(1)
			if account != devnet.Key(1) {
				n = 2
			}
			send(w, n, *s.Nonce, "a stranger's")
		}, []string{"NONCE"}},
		"NonceTooHigh": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			w.Redis.Server.HSet(key("s:"+devnet.Key(1)), "next", "99")
		}, []string{"NONCE"}},
		"SenderLeaked": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			_, err := w.Redis.Server.ZRem(key("free:shared"), devnet.Key(1))
			w.OK(err)
		}, []string{"SENDER_FREE"}},
		"Passing": {func(w *harness.World, p *harness.Process) {
			p.Stop()
			_, err := w.Redis.Server.ZRem(key("free:shared"), devnet.Key(1))
			w.OK(err)
			time.AfterFunc(time.Second, func() { _, _ = w.Redis.Server.ZAdd(key("free:shared"), 1, devnet.Key(1)) })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, p := auditWorld(t)
				w.Await("c2", tx.Failed, time.Hour)
				tc.plant(w, p)
				got := audited(w, false)
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
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.OK(w.Redis.Server.Set("{test}:n:seq", "8"))
		w.Worker(1, devworker.Options{})
		p := w.Start()
		for _, uid := range []string{"nine", "ten", "eleven"} {
			w.Post("q", uid)
		}
		w.Await("eleven", tx.Done, 5*time.Hour)
		p.Stop()
		if got := audited(w, true); len(got) > 0 {
			t.Errorf("found %q", got)
		}
	})
}

// TestAuditAsksEveryPool: what may land is lost only if no node's pool has it.
func TestAuditAsksEveryPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{Nodes: 2, FillRate: 1})
		w.Worker(1, devworker.Options{})
		p := w.Start()
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: `["Overloaded"]`}))
		w.OK(w.Net.Node(1).SetFaults(devnet.Faults{Isolated: true}))
		w.Post("q", "a")
		w.AwaitTxn("a", "sent", time.Hour, func(t *tx.Transaction) bool { return t.Phase == tx.PhaseWatching })
		p.Stop()
		w.Redis.Server.Del("{test}:b:a")
		policy := w.Policy
		policy.InclusionInterval = time.Millisecond
		for _, c := range []struct {
			nodes []*mina.Node
			want  int
		}{{[]*mina.Node{w.Node(0), w.Node(1)}, 0}, {[]*mina.Node{w.Node(1), w.Node(0)}, 0}, {[]*mina.Node{w.Node(0)}, 1}} {
			a := audit.Audit{Store: w.Store, Senders: w.Pool, Nodes: c.nodes, Namespace: "test", Policy: policy}
			r, err := a.Run(w.Ctx)
			w.OK(err)
			lost := slices.DeleteFunc(r.Findings, func(f queues.Finding) bool { return f.Check != "ATTEMPT_LOST" })
			if len(lost) != c.want {
				t.Errorf("asking %s first of %d: %+v", c.nodes[0].Name(), len(c.nodes), lost)
			}
		}
	})
}
