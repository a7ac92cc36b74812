package sequencer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestSlowLooks: where a look at the chain takes longer than the interval between
// two, what the last one showed is news all the same, and nothing waits for the next.
func TestSlowLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 20
		w := harness.New(t, devnet.Config{FillRate: 1})
		for n := range uint64(count) {
			w.Worker(n+1, devworker.Options{ProveTime: time.Second})
		}
		w.Launch(
			harness.Links{
				Redis: w.Redis.NewClient(),
				Ended: func(error) {},
				Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					if strings.HasPrefix(addr, "node") {
						select {
						case <-time.After(12 * time.Second): // each question, and a look has several
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
					return w.Web.Dial(ctx, network, addr)
				},
			},
		)
		w.Post("q", "first")
		w.AwaitTxn("first", "sent", time.Hour,
			func(t *tx.Transaction) bool { return t.Phase == tx.PhaseWatching })
		<-time.After(3 * time.Minute) // it takes a few looks to see how long they are
		for i := range count - 1 {
			uid := fmt.Sprint("t", i)
			w.Post("q"+uid, uid)
			<-time.After(w.Policy.CycleInterval + time.Second)
			if w.Get(uid).Phase == tx.PhaseWaiting {
				t.Errorf("%s waits although a sender is free", uid)
			}
		}
	})
}

// TestQuorumBack: the nodes are asked as long as something waits for a quorum of them, and it goes on when
// there is one again.
func TestQuorumBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Policy.CycleInterval = time.Hour
		w.Worker(1, devworker.Options{ProveTime: time.Second})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Status: 503}))
		w.Start()
		w.Post("q", "a")
		<-time.After(10*time.Minute + 7*time.Second) // senders are looked at at each full minute
		if w.Get("a").Phase != tx.PhaseWaiting {
			t.Error("it does not wait")
		}
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
		w.AwaitTxn("a", "bound", 2*w.Policy.InclusionInterval, func(t *tx.Transaction) bool { return t.Phase.Bound() })
	})
}

// TestBegunWithoutNodes: a process whose nodes hang when it begins is not taken for dead by the others,
// and binds when they answer.
func TestBegunWithoutNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Second})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Hang: true}))
		p, began, client := w.Start(), time.Now(), w.Redis.NewClient()
		defer func() { _ = client.Close() }()
		for time.Since(began) < 5*time.Minute {
			<-time.After(w.Policy.ClaimTTL)
			until := client.ZScore(w.Ctx, "{test}:procs", p.Process()).Val()
			if until <= float64(time.Now().UnixMilli()) {
				t.Fatalf("after %v it is dead", time.Since(began))
			}
		}
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
		w.Post("q", "a")
		w.Await("a", tx.Done, time.Hour)
	})
}

// TestOtherNetwork: a process whose nodes are of another network than its namespace ends, also if they
// do not answer when it begins; what their chain shows stops no sender.
func TestOtherNetwork(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]bool{"at once": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				account, _ := w.Worker(1, devworker.Options{})
				first, client := w.Start(), w.Redis.NewClient()
				defer func() { _ = client.Close() }()
				w.Post("q", "a")
				w.Await("a", tx.Done, time.Hour)
				first.Stop()
				w.Stranger(account, 1, 1_000_000_000)
				<-time.After(time.Hour)
				w.OK(client.Set(w.Ctx, "{test}:is:network", "mina:mainnet", 0).Err())
				w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Hang: hang}))
				ended := make(chan error, 1)
				w.Launch(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient(), Ended: func(err error) { ended <- err }})
				if hang {
					<-time.After(2 * time.Minute)
					w.OK(w.Net.Node(0).SetFaults(devnet.Faults{}))
				}
				select {
				case err := <-ended:
					if !errors.Is(err, sequencer.ErrOtherNetwork) {
						t.Errorf("it ends with %v", err)
					}
				case <-time.After(10 * time.Minute):
					t.Error("it does not end")
				}
				if p, err := w.Pool.Get(w.Ctx, account); err != nil || p.Reason != "" {
					t.Errorf("the sender: %+v, %v", p, err)
				}
			})
		})
	}
}

// TestGatewayWords: what a gateway says of a sending is no refusal, whatever the words
// and the status, before the daemon has got it or after. Nothing takes another sender,
// nothing lands twice, and nobody has to help.
func TestGatewayWords(t *testing.T) {
	t.Parallel()
	const attempts = 6
	for i, words := range devnet.GatewayWords() {
		for name, f := range map[string]devnet.Faults{
			"before":                      {LoseRequests: attempts},
			"after":                       {LoseReplies: attempts},
			"after, of a legacy worker's": {LoseReplies: attempts},
		} {
			f.LoseStatus, f.LoseBody = []int{200, 408, 499, 502, 500}[i%5], words
			legacy := name == "after, of a legacy worker's"
			t.Run(fmt.Sprintf("%d %s %s", f.LoseStatus, words, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { gatewayAnswers(t, f, legacy) })
			})
		}
	}
}

func gatewayAnswers(t *testing.T, f devnet.Faults, legacy bool) {
	w := harness.New(t, devnet.Config{FillRate: 1})
	var accounts []string
	for n := range uint64(3) {
		account, _ := w.Worker(n+1, devworker.Options{ProveTime: time.Minute, Legacy: legacy})
		accounts = append(accounts, account)
	}
	w.OK(w.Net.Node(0).SetFaults(f))
	w.Start()
	for _, uid := range []string{"a", "b", "c"} {
		w.Post(uid, uid)
	}
	for _, uid := range []string{"a", "b", "c"} {
		got := w.Await(uid, tx.Done, 3*time.Hour)
		if len(got.Attempts) != 1 || got.Retries != 0 {
			t.Errorf("%s: %+v", uid, got.Attempts)
		}
	}
	if n := len(w.Net.Effects()); n != 3 {
		t.Errorf("%d effects of three", n)
	}
	for _, account := range accounts {
		if p, err := w.Pool.Get(w.Ctx, account); err != nil || p.Reason != "" {
			t.Errorf("sender: %+v, %v", p, err)
		}
	}
}

// TestLandedWhileStored: what the chain shows while it is being stored that a node has taken it
// is acted on, without another block, also where the node's hash is the first that is known.
func TestLandedWhileStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{BlockOnSend: true, SlotTime: 24 * time.Hour}, harness.Policy())
		worker := devworker.New(devworker.Options{Account: devnet.Key(1), ProveTime: time.Minute})
		hash := regexp.MustCompile(`"hash":"[^"]*"`)
		w.Web.Serve(w, "hashless", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			made := httptest.NewRecorder()
			worker.ServeHTTP(made, r)
			rw.Header().Set("Content-Type", made.Header().Get("Content-Type"))
			rw.WriteHeader(made.Code)
			_, _ = rw.Write(bytes.TrimSpace(hash.ReplaceAll(made.Body.Bytes(), []byte(`"hash":""`))))
		}))
		w.OK(w.Pool.Register(w.Ctx, devnet.Key(1), "http://hashless"))
		client := w.Redis.NewClient()
		slow := &slowOnce{word: "nodeHash", by: 3 * harness.Policy().InclusionInterval / 2}
		client.AddHook(slow)
		w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}})
		w.Post("q", "a")
		w.Await("a", tx.Done, time.Hour)
		if !slow.used.Load() || w.Get("a").Attempts[0].Hash != "" {
			t.Errorf("slow: %t, its worker told %q", slow.used.Load(), w.Get("a").Attempts[0].Hash)
		}
	})
}

// slowOnce answers late, once, to the first command with a word in its arguments, from when
// it is armed on if it is to be, and tells when it has.
type slowOnce struct {
	word  string
	by    time.Duration
	armed func() bool
	after func()
	used  atomic.Bool
}

func (s *slowOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.look(cmd)
		return err
	}
}

func (s *slowOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			s.look(cmd)
		}
		return err
	}
}

func (s *slowOnce) look(cmd redis.Cmder) {
	if s.armed != nil && !s.armed() || !strings.Contains(fmt.Sprint(cmd.Args()...), s.word) {
		return
	}
	if s.used.CompareAndSwap(false, true) {
		<-time.After(s.by)
		if s.after != nil {
			s.after()
		}
	}
}
