package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// A sim is one seed's world, in which everything goes wrong for a while.
type sim struct {
	*harness.World
	dice
	shape
	in      *injector
	check   *checker
	desk    *harness.Process // where a person asks for things; it runs nothing
	front   http.Handler     // its API
	began   time.Time
	healed  time.Time // when all faults were over
	lasted  time.Duration
	slots   []*runner
	faces   []atomic.Pointer[host] // who stands in each slot, for clients
	staff   []*colleague
	clients sync.WaitGroup
	queued  []string // names of queues
	posts   []post
	story   *story
	going   []lasting
	loading bool   // Redis answers nothing but that it is loading
	traded  uint32 // slot in which others last came to the market
	fork    struct {
		node, blocks int
		on           bool
	}
}

// A story is what happened in one world, for who has to find out why.
type story struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (y *story) tell(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.lines = append(y.lines,
		fmt.Sprintf("%9s  %s", time.Since(y.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...)))
}

// A runner is a place for a process: one at a time, another after its death.
type runner struct {
	*host
	proc  *harness.Process
	lives int
	back  time.Time // when it stands up again, or goes on after a stop
}

// A colleague is a worker with the sender that it signs for.
type colleague struct {
	*host
	worker  *devworker.Worker
	account string
	legacy  bool
	back    time.Time
	turn    chan struct{} // held by the legacy call at work
	work    atomic.Value  // that call's
}

// work is what a legacy worker was asked to do, and when.
type work struct {
	uid   string
	asked time.Time
}

func newSim(t *testing.T, seed uint64, deep bool, sum *tally) *sim {
	// After all else is closed: go-redis looks for that once a second, and a worker may prove on.
	t.Cleanup(func() { harness.Until(context.Background(), 3*time.Minute) })
	d := dice(seed)
	s := &sim{dice: d, began: time.Now(), story: &story{began: time.Now()}}
	var policy lifecycle.Policy
	s.shape, policy = shapeOf(d)
	if deep {
		s.deepest, s.ordered, s.beyond, s.theme = 2*policy.Finality, true, true, "chain: "
	}
	s.in = &injector{
		dice: d, calls: map[string]uint64{}, total: map[boundary]uint64{}, slow: map[boundary]bool{},
		hits: map[boundary]map[string]int{}, trace: s.story.tell, send: 60,
		endless: func(why string) { sum.endless(seed, why) },
		rate: map[boundary]int{
			processToRedis: 4 << d.pick(4, "redis rate", 0), processToWorker: 40 << d.pick(4, "worker rate", 0),
			processToNode: 10 << d.pick(4, "node rate", 0), workerToNode: 40 << d.pick(4, "worker node rate", 0),
			clientToProcess: 200,
		},
	}
	fill := 0.4 + 0.15*float64(d.pick(5, "fill", 0))
	switch s.theme {
	case "sends":
		s.in.send, s.in.rate[processToWorker], fill = 500, 250, 0.3
	case "worker":
		s.in.rate[processToWorker] = 500
	case "pool: ":
		fill = 0.25
	}
	takes := 1 + d.pick(4, "zkapps", 0)
	if s.auto {
		takes = fees.BlockTakes
	}
	s.World = harness.NewWith(t, devnet.Config{
		GossipSpread: 5 * time.Second, GossipMemory: 2 * time.Minute,
		Nodes: s.nodes, SlotTime: simSlot, Seed: seed, FillRate: fill, MaxZkapps: takes, FailWhen: s.failure, K: s.frontier,
	}, policy)
	s.Archive = s.frontier > 0 // what nodes let go of, it tells
	s.Observe = func(before, after *tx.Transaction, step *lifecycle.Step) {
		s.in.step()
		sum.observe(before, after, step)
	}
	s.Overlap = map[string]dispatcher.Mode{"MINT": dispatcher.Chained}
	if s.commuting {
		s.Overlap["MINT"] = dispatcher.Commuting
	}
	s.Patience, s.Again = 3*time.Minute, s.early
	for i := range s.queues {
		s.queued = append(s.queued, fmt.Sprintf("q%d", i))
	}
	for i := range s.txns {
		queue := s.queued[s.pick(len(s.queued), "queue", uint64(i))]
		s.posts = append(s.posts, s.terms(post{uid: fmt.Sprintf("%s.%d", queue, i), queue: queue}, uint64(i)))
	}
	s.check = newChecker(s)
	for i := range s.senders {
		s.hire(i)
	}
	s.desk = s.Process(harness.Links{Dial: s.Web.Dial, Redis: s.Redis.Client})
	s.front = handler(s.desk)
	s.faces = make([]atomic.Pointer[host], s.processes)
	for i := range s.processes {
		s.slots = append(s.slots, &runner{})
		s.stand(i)
	}
	s.story.tell("%+v, CONFIRMATIONS %d, SETTLE_DEPTH %d, MAX_RETRIES %d, WIDTH %d", s.shape, policy.Confirmations,
		policy.SettleDepth, policy.MaxRetries, policy.Width)
	return s
}

// failure decides which inclusions of a command fail, and how.
func (s *sim) failure(c devnet.Command) []string {
	s.in.mu.Lock()
	off := s.in.off
	lane := fmt.Sprintf("included %s %d", c.Payer, c.Nonce)
	s.in.calls[lane]++
	n := s.in.calls[lane]
	s.in.mu.Unlock()
	if off {
		return nil
	}
	switch x := s.pick(1000, lane, n); {
	case x < 80:
		s.in.note(elsewhere, "fails in a block, mendable", c.Hash)
		return []string{"Account_app_state_0_precondition_unsatisfied"}
	case x < 110:
		s.in.note(elsewhere, "fails in a block, for good", c.Hash)
		return []string{"Update_not_permitted_balance"}
	}
	return nil
}

// stand starts a process in a place.
func (s *sim) stand(i int) {
	r := s.slots[i]
	r.lives++
	var p *harness.Process
	h := newHost(fmt.Sprintf("p%d.%d", i, r.lives), s.in, func() { p.Kill() })
	ready := make(chan struct{})
	h.die = func() { <-ready; p.Kill() }
	p = s.Launch(harness.Links{
		Dial:  func(ctx context.Context, _, addr string) (net.Conn, error) { return s.call(h, addr)(ctx) },
		Redis: s.redisFor(h),
		Ended: func(err error) {
			if err != nil {
				s.in.trace("%s did not start: %v", h.name, err)
			}
			h.dead.Store(true)
			h.resume() // whoever still waits on it goes on
		},
	})
	close(ready)
	r.host, r.proc = h, p
	s.faces[i].Store(h)
	s.Web.Serve(s, fmt.Sprintf("api%d", i), h.front(handler(p)))
	s.in.trace("%s starts, incarnation %.5s…", h.name, p.Process())
}

// call is how a host reaches a process, a worker or a node.
func (s *sim) call(h *host, addr string) func(context.Context) (net.Conn, error) {
	b, again, victim := processToWorker, true, h
	var n int
	switch {
	case strings.HasPrefix(addr, "api"):
		b = clientToProcess
		n = numberOf(addr, "api")
		victim = s.faces[n].Load()
		if victim.dead.Load() {
			return func(context.Context) (net.Conn, error) { return nil, harness.ErrDead }
		}
	case strings.HasPrefix(addr, "node"):
		b = processToNode
		if _, worker := strings.CutPrefix(h.name, "w"); worker {
			b = workerToNode
		}
		// A node that refuses what it would take a moment later has no word.
		n = numberOf(addr, "node")
		again = s.Net.Node(n).Faults().Refuse == ""
	default:
		n = numberOf(addr, "worker")
		again = !s.staff[n].legacy // it would send twice
	}
	name, _, _ := strings.Cut(addr, ":")
	return h.dial(b, name, again, victim,
		func(ctx context.Context) (net.Conn, error) { return s.Web.Dial(ctx, "tcp", addr) })
}

// numberOf reads the number in the address of one of several of a kind.
func numberOf(addr, kind string) int {
	host, _, _ := strings.Cut(addr, ":")
	n, err := strconv.Atoi(strings.TrimPrefix(host, kind))
	if err != nil {
		panic(err)
	}
	return n
}

// redisFor is a host's own way to Redis.
func (s *sim) redisFor(h *host) *redis.Client {
	connect := s.Redis.Client.Options().Dialer
	dial := h.dial(processToRedis, "redis", false, h,
		func(ctx context.Context) (net.Conn, error) { return connect(ctx, "tcp", "redis") })
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", DisableIdentity: true, DialerRetries: 1, ReadBufferSize: 4096, WriteBufferSize: 4096,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	})
	s.Cleanup(func() {
		_ = client.Close()
		h.hangUp() // a client leaves what failed to begin to the garbage collector
	})
	return client
}

// hire adds a sender with its worker.
func (s *sim) hire(i int) {
	c := &colleague{account: devnet.Key(uint64(i)), legacy: s.legacy && i == 0, turn: make(chan struct{}, 1)}
	c.host = newHost(fmt.Sprintf("w%d", i), s.in, nil)
	c.die = func() { c.worker.Die() }
	s.staff = append(s.staff, c)
	nodes := make([]*mina.Node, s.nodes)
	for n := range nodes {
		nodes[n] = s.NodeBy(n,
			func(ctx context.Context, _, addr string) (net.Conn, error) { return s.call(c.host, addr)(ctx) })
	}
	var state func(context.Context, string) ([]string, error)
	if (s.Policy.Width > 1 || s.early > 0) && !s.commuting {
		state = s.State
	}
	c.worker = devworker.New(devworker.Options{
		State: state, Once: s.early > 0, Several: s.atOnce > 1, Capacity: s.atOnce,
		Builds: s.builds, BuildTime: s.between(time.Second, 10*time.Second, "build", uint64(i)),
		Account: c.account, Legacy: c.legacy, NoResign: s.chance(200, "no resign", uint64(i)), Seed: uint64(i),
		ProveTime: s.between(10*time.Second, 100*time.Second, "prove", uint64(i)), SignTime: time.Second,
		Updates: func(uid string) int { return 1 + s.pick(6, "updates "+uid, 0) },
		Send: func(ctx context.Context, command json.RawMessage) (string, error) {
			hash, err := devnet.Hash(command)
			if err != nil {
				return "", err
			}
			w := c.work.Load().(work)
			s.check.owns(hash, w.uid, w.asked)
			return nodes[i%len(nodes)].Send(ctx, command)
		},
	})
	c.worker.Script(func(call devworker.Call) *devworker.Fault { return s.spoil(c, call) })
	var handler http.Handler = c.worker
	if c.legacy {
		handler = c.oneByOne(handler)
	}
	host := fmt.Sprintf("worker%d", i)
	s.Web.Serve(s, host, handler)
	s.Workers[c.account] = c.worker
	s.OK(s.Pool.Register(s.Ctx, c.account, "http://"+host))
}

// oneByOne remembers for which transaction a legacy worker sends: nothing on the
// chain tells.
func (c *colleague) oneByOne(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/dispatch/") {
			next.ServeHTTP(w, r)
			return
		}
		raw, err := io.ReadAll(r.Body)
		var body struct{ TxData struct{ UID string } }
		if err != nil || json.Unmarshal(raw, &body) != nil {
			panic(http.ErrAbortHandler)
		}
		select {
		case c.turn <- struct{}{}:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
		defer func() { <-c.turn }()
		c.work.Store(work{body.TxData.UID, time.Now()})
		r.Body = io.NopCloser(bytes.NewReader(raw))
		next.ServeHTTP(w, r)
	})
}
