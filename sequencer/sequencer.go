// Package sequencer drives transactions from their queue into a block.
//
// The state machine ([Next]) is a pure function: what happened, and where the
// transaction stands, decide where it goes. Around it a process runs one cycle:
// it binds free senders to queues that have work, dispatches, sends, watches the
// chain, and stores every step before the one that depends on it. Whatever a
// process was doing when it died is found again by its phase: [Sequencer.step]
// looks at a transaction and does what its phase asks for, whoever began it.
//
// The package knows neither Redis nor HTTP; it reaches them through packages
// queues, senders, dispatcher and mina.
package sequencer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// Policy is what an operator decides. Fees are in nanomina, depths in blocks.
type Policy struct {
	CycleInterval     time.Duration // the longest the cycle sleeps
	InclusionInterval time.Duration // between two looks at the chain
	DispatchTimeout   time.Duration // for one worker call
	CallbackWait      time.Duration // that a queue waits for a callback's answer
	MaxRetries        int           // after the first try, where the worker has no opinion
	RetryDelay        time.Duration // before the first retry; doubled for each further one
	RetryDelayMax     time.Duration
	Confirmations     int
	SettleDepth       int
	Finality          int
	Fee, FeeMax       uint64
	FeeBump           float64
	BumpAfter         uint32 // slots in the pool
	ValidSlots        uint32
	UnresolvedLimit   int
	ClaimTTL          time.Duration
	ClaimLimit        int // bound queues, 0 for no limit
	Retention         time.Duration
	BalanceInterval   time.Duration // between two looks at the senders' accounts; 0 looks at none
	MinBalance        uint64        // what a sender must hold to be used, nanomina; Fee at least
	// The most that attempts may cost in a day (UTC), by sender and for all
	// together, in nanomina; 0 for no limit.
	FeeLimitSender, FeeLimit uint64
	ShutdownTimeout          time.Duration
}

// Options are the parts of a Sequencer.
type Options struct {
	Store   *queues.Store
	Senders *senders.Pool
	Chain   *mina.Tracker
	Types   *dispatcher.Registry
	// Dispatch are the types that this process dispatches; nil is all in Types.
	Dispatch []string
	// Local lists the accounts whose workers run with this process and take calls
	// now; nil is none. Their senders are bound by no other process.
	Local func() []string
	// Health asks a worker whom it signs for; nil asks nobody.
	Health func(ctx context.Context, w dispatcher.Worker) (dispatcher.Health, error)
	// Observe is told every question to the state machine and its answer, before
	// the change is stored; nil tells nobody. It is called concurrently.
	Observe func(s Situation, e Event, d Decision, ok bool)
	// Meter is told what happens; the zero one is told nothing.
	Meter     Meter
	Namespace string // goes into the memo
	Policy    Policy
	Log       *slog.Logger
}

// A Sequencer is one process's part in driving the transactions of a namespace.
// Any number of processes may share a namespace.
type Sequencer struct {
	Options
	process string // random: a restarted process is another one

	mu   sync.Mutex
	work context.Context  // of the steps; nil before Run
	held map[string]*held // claimed by this process
	// renewed is when the last successful renewal of the claims began, by the
	// monotonic clock.
	renewed time.Time
	// calm is when processes may be taken for dead again after an outage.
	calm      time.Time
	recovery  recovery
	skew      atomic.Int64         // nanoseconds by which the clock of Redis is ahead of ours
	network   string               // of the Mina nodes, "" if not known yet
	nonces    map[string]seenNonce // by sender, as the chain last showed it
	released  map[string]seenNonce // of them, by senders that were released here just now
	greeted   map[string]greeting  // by sender
	down      map[string]int       // how often in a row a sender's worker was not there
	steps     sync.WaitGroup
	unhurried chan struct{} // full while as many steps are under way that nobody waits for
	draining  atomic.Bool
	wanted    atomic.Bool   // a bind or a plan waits for news of the chain
	looked    atomic.Int64  // nanoseconds that the last look at the chain took
	watching  chan struct{} // wakes the poll loop
	polled    chan struct{} // closed by the next poll, and for good when the poll loop ends; under mu
	dead      chan []string // processes whose claims have run out
	due       chan struct{} // something became due sooner than planned
	// For explanations and persons, under mu: how many have asked the chain; the
	// poll that will answer those who wait, and when the last one began.
	asked   int
	asking  chan struct{}
	askedAt time.Time
}

type seenNonce struct {
	next uint32
	at   time.Time
}

// held is a claimed transaction. While busy, t belongs to the goroutine of its
// step; else it is read under the lock.
type held struct {
	uid        string
	t          *lifecycle.Transaction
	worker     dispatcher.Worker
	next       *uint32 // sender's next nonce as stored, nil if unknown
	asking     bool    // the loss of the request under way is counted already
	bound      bool    // just bound: nobody can have worked on it before
	busy       bool
	stale      bool // changed by others since t was read
	again      bool // look once more when the step under way ends
	dropped    bool
	sentAt     time.Time          // when its bytes were last given to the nodes
	readAt     time.Time          // when it was last looked at whether others changed it
	lostAt     time.Time          // since when no node has what was DONE and has no block
	costly     time.Time          // until when its fee is not raised, for a limit is reached
	sentFirst  time.Time          // when this process first sent what is open; zero if it did not
	sentHeight uint32             // of the chain then
	resent     int                // times since they were last seen in a pool
	interrupt  context.CancelFunc // ends a worker call that the chain has overtaken
}

// New returns a sequencer; Run starts it.
func New(o Options) *Sequencer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dispatch == nil {
		o.Dispatch = o.Types.Types()
	}
	return &Sequencer{
		Options: o, process: rand.Text(), held: make(map[string]*held), nonces: make(map[string]seenNonce), released: make(map[string]seenNonce),
		recovery: recovery{shut: shutStarting, writing: make(chan struct{}, 1), unchecked: map[string]bool{}, strange: map[string]uint32{}},
		greeted:  make(map[string]greeting), down: make(map[string]int), watching: make(chan struct{}, 1), polled: make(chan struct{}), dead: make(chan []string, 1), due: make(chan struct{}, 1),
		unhurried: make(chan struct{}, unhurried),
	}
}

// Process is the incarnation under which claims are held.
func (s *Sequencer) Process() string { return s.process }

// Run drives transactions until ctx ends. Then nothing new is begun, what is
// under way gets ShutdownTimeout, all claims are given up, and Run returns. It
// returns early only if it cannot start: the network is another one than the
// namespace was used with.
func (s *Sequencer) Run(ctx context.Context) error {
	if err := s.sameNetwork(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to end while it began
		}
		return err
	}
	// Steps outlive ctx: they end by themselves or after ShutdownTimeout.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.mu.Lock()
	s.work = work
	s.mu.Unlock()

	// The heart beats before the first bind, and until all steps have ended.
	alive, die := context.WithCancel(work)
	s.beat(alive)
	var beats, loops sync.WaitGroup
	beats.Go(func() { s.beatLoop(alive) })
	beats.Go(func() { s.Store.Listen(alive) })
	loops.Go(func() { s.pollLoop(ctx, work) })
	loops.Go(func() { s.careLoop(ctx) })
	s.cycleLoop(ctx, work)
	s.draining.Store(true)
	loops.Wait()

	ended := make(chan struct{})
	go func() { s.steps.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(s.Policy.ShutdownTimeout):
		stop()
		<-ended
	}
	die()
	beats.Wait()
	s.recovery.work.Wait()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Store.Leave(leave, s.process); err != nil {
		s.Log.Warn("claims not given up; others take them over when they run out", "err", err)
	}
	return nil
}

// ErrOtherNetwork: the Mina nodes are of another network than those that this
// namespace was used with before.
var ErrOtherNetwork = errors.New("the Mina nodes are of another network than this namespace was used with")

// sameNetwork compares the network of the nodes with the one that the namespace
// is for. Where no node answers it is asked again before the first bind.
func (s *Sequencer) sameNetwork(ctx context.Context) error {
	if s.network != "" {
		return nil
	}
	network, err := s.Chain.Network(ctx)
	if err != nil {
		s.Log.Warn("no Mina node says what network it is of; nothing is dispatched until one does", "err", err)
		return nil
	}
	before, err := s.Store.Remember(ctx, "network", network)
	if err != nil {
		return err
	}
	if before != network {
		return fmt.Errorf("%w: %s now, %s before; use another SEQUENCER_NAMESPACE or the right nodes", ErrOtherNetwork, network, before)
	}
	s.mu.Lock()
	s.network = network
	s.mu.Unlock()
	return nil
}

// live reports whether the claims are surely still this process's, and Redis the
// one that it knows. A process that was stopped for long, or cut off from Redis,
// must not call a worker or send anything: others may have taken over.
func (s *Sequencer) live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recovery.shut == "" && time.Since(s.renewed) < s.Policy.ClaimTTL*2/3
}

func (s *Sequencer) beatLoop(ctx context.Context) {
	beat := time.NewTicker(max(s.Policy.ClaimTTL/5, time.Millisecond))
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			s.beat(ctx)
		}
	}
}

// beat renews the claims, and passes on who is dead.
func (s *Sequencer) beat(ctx context.Context) {
	began := time.Now()
	call, cancel := context.WithTimeout(ctx, s.Policy.ClaimTTL/3)
	defer cancel()
	s.mu.Lock()
	told := s.recovery.told
	s.mu.Unlock()
	p, err := s.Store.Beat(call, s.process, s.Policy.ClaimTTL, told)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		// Nobody could renew: give everybody one life of a claim to come back.
		s.calm = began.Add(s.Policy.ClaimTTL)
		return
	}
	outage := !s.renewed.IsZero() && began.Sub(s.renewed) > s.Policy.ClaimTTL
	first := s.renewed.IsZero()
	if began.After(s.renewed) {
		s.renewed = began
	}
	if outage {
		s.calm = began.Add(s.Policy.ClaimTTL)
		s.Store.Signal()
	}
	if !p.Known && !first {
		s.Log.Warn("this process was taken for dead; its transactions have passed to others")
	}
	s.heed(ctx, p)
	if len(p.Dead) == 0 || !p.Settled || began.Before(s.calm) || ctx.Err() != nil {
		return
	}
	select {
	case s.dead <- p.Dead:
	default: // the last ones are still being taken over
	}
}

// slice is how many claims are taken over at a time, so that several processes
// share the work of a dead one.
const slice = 50

func (s *Sequencer) takeOver(ctx context.Context, dead []string) {
	for _, process := range dead {
		taken, err := s.Store.TakeOver(ctx, s.process, process, slice)
		if err != nil {
			s.Log.Warn("taking over failed", "process", process, "err", err)
			return
		}
		if len(taken) > 0 {
			s.Log.Info("took over transactions of a process that is gone", "process", process, "count", len(taken))
			tell(s.Meter.TookOver, len(taken))
			s.taken(ctx, taken)
			notify(s.due)
		}
		if len(taken) == slice {
			return // leave some to the others; the next beat goes on
		}
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
