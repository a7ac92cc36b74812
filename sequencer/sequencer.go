// Package sequencer drives transactions from their queue into a block, or to a ledger.
//
// What is to be done is decided in package lifecycle, purely. This package does it: it
// binds free senders to queues that have work, and gives each transaction that this
// process has a claim of to an owner, which stores, asks workers, sends and watches as
// the decisions say. Whatever a process was doing when it died is found again in the
// record: the next owner goes on, whoever began.
//
// The package knows neither Redis nor HTTP; it reaches them through packages queues,
// senders, dispatcher, mina and ledger.
package sequencer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/recovery"
	"mina-sequencer/sequencer/tx"
)

// Options are the parts of a Sequencer.
type Options struct {
	Store   *queues.Store
	Senders *senders.Pool
	Chain   *mina.Tracker
	Types   *dispatcher.Registry
	// Ledgers are those that this process hands batches to, by name.
	Ledgers map[string]ledger.Ledger
	// Dispatch are the types that this process dispatches; nil is all in Types.
	Dispatch []string
	// Local lists the accounts whose workers run with this process and take calls
	// now; nil is none. Their senders are bound by no other process.
	Local func() []string
	// Reaches reports whether a worker does not run with another process alone; nil: none does.
	Reaches func(w dispatcher.Worker) bool
	// Health asks a worker whom it signs for; nil asks nobody.
	Health func(ctx context.Context, w dispatcher.Worker) (dispatcher.Health, error)
	// Waits says since when a transaction waits for a prover of a pool, and of how many; nil: none does.
	Waits func(typ, uid string) (since time.Time, of int)
	// SimulateFirst are the types that are simulated before they are proved, where their worker simulates.
	SimulateFirst []string
	// Observe is told every change of a record once it is stored, and every effect before
	// it is begun, with the record as it stands; nil tells nobody. It is called
	// concurrently.
	Observe func(before, after *tx.Transaction, s *lifecycle.Step)
	// Meter is told what happens; the zero one is told nothing.
	Meter Meter
	// Tracer is told what is done for transactions that are traced; the zero one nothing.
	Tracer    Tracer
	Namespace string // goes into the memo
	Policy    lifecycle.Policy
	Log       *slog.Logger
}

// A Sequencer is one process's part in driving the transactions of a namespace.
// Any number of processes may share a namespace.
type Sequencer struct {
	Options
	process string // random: a restarted process is another one

	work     goroutines // trains, effects and callbacks
	quit     context.CancelCauseFunc
	recovery *recovery.Recovery

	proved []string // types of Dispatch that are for Mina
	// together are those of them of which several of a queue may be in flight, by their mode:
	// what goes in another way waits for all of them.
	together map[dispatcher.Mode][]string
	// apart are those that turned out to go alone in a queue, by queue and type, see inflight.go.
	apart map[[2]string]misjudgement
	books map[string]*books // of Ledgers, by name

	mu     sync.Mutex
	owners map[string]*owner // by uid: what this process holds the claim of
	// delayed are those that wait for their next try while nothing needs their sender, by uid.
	delayed map[string]*owner
	trains  map[string]*train // by queue: they drive those
	// renewed is when the last successful heartbeat began, by the monotonic clock.
	renewed time.Time
	// outage is how the heartbeats fail, nil if the last did not.
	outage *Outage
	// calm is when processes may be taken for dead again after an outage.
	calm      time.Time
	skew      atomic.Int64         // nanoseconds by which the clock of Redis is ahead of ours
	network   string               // of the Mina nodes, "" if not known yet
	nonces    map[string]seenNonce // by sender, as the chain last showed it
	released  map[string]seenNonce // of them, by senders that were released here just now
	greeted   map[string]greeting  // by sender
	provers   map[string]string    // URLs of workers that make proofs, by sender, as stored
	down      map[string]int       // how often in a row a sender's worker was not there
	unhurried chan struct{}        // full while as many owners run that nobody waits for
	draining  atomic.Bool
	took      atomic.Pointer[time.Time] // when a node last took what it was given
	halt      atomic.Pointer[halt]      // nil unless the network takes nothing
	said      atomic.Pointer[tx.Binder]
	widened   atomic.Bool   // a person has made a queue wider
	short     atomic.Bool   // queues are ready, no sender is free, and some of delayed have one
	wanted    atomic.Bool   // a bind or a plan waits for news of the chain
	looked    atomic.Int64  // nanoseconds that the last look at the chain took
	watching  chan struct{} // wakes the poll loop
	zkapps    int           // in a block, the most that the log has a warning of; the poll loop's
	market    market
	trying    simulators
	noticed   noticed
	polled    chan struct{} // closed by the next poll, and for good when the poll loop ends; under mu
	dead      chan []string // processes whose claims have run out
	// For explanations and persons, under mu: how many have asked the chain; the
	// poll that will answer those who wait, and when the last one began.
	asked   int
	asking  chan struct{}
	askedAt time.Time
}

// nonceSeen is how long the chain is not asked again for the nonce of a sender whose
// command it has just shown, at least.
const nonceSeen = 30 * time.Second

type seenNonce struct {
	next uint32
	at   time.Time
}

// sawNonce notes the next nonce of a sender, as the chain has just shown it.
func (s *Sequencer) sawNonce(sender string, next uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonces[sender] = seenNonce{next, time.Now()}
}

// noteRelease notes, before a change is stored that releases a sender, which nonce is next: the
// next bind may come before the answer, and is planned with it if the store has the same nonce.
func (s *Sequencer) noteRelease(c *queues.Change) {
	t := c.After
	if !c.Before.Phase.Bound() || t.Phase.Bound() {
		return
	}
	if a := t.Attempt(t.Landed); a != nil && t.Phase == tx.PhaseDone {
		if next, ok := c.Least[a.Sender]; ok {
			s.sawNonce(a.Sender, next)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.nonces[c.Before.Sender]
	// What has a limit, or goes by the market, is weighed by itself.
	if p := &s.Policy; ok && p.FeeLimit+p.FeeLimitSender+p.FeeLimitQueue+p.FeeLimitKey == 0 && !p.FeeAuto {
		s.released[c.Before.Sender] = seen
	}
}

// New returns a sequencer; Run starts it.
func New(o Options) *Sequencer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dispatch == nil {
		o.Dispatch = o.Types.Types()
	}
	s := &Sequencer{
		Options: o, process: rand.Text(), owners: make(map[string]*owner),
		delayed: make(map[string]*owner),
		trains:  make(map[string]*train), nonces: make(map[string]seenNonce),
		released: make(map[string]seenNonce), greeted: make(map[string]greeting),
		provers: make(map[string]string), down: make(map[string]int),
		watching: make(chan struct{}, 1), polled: make(chan struct{}), dead: make(chan []string, 1),
		unhurried: make(chan struct{}, unhurried), books: newBooks(o.Ledgers),
		together: map[dispatcher.Mode][]string{}, apart: map[[2]string]misjudgement{},
	}
	s.proved = slices.DeleteFunc(slices.Clone(o.Dispatch), func(typ string) bool {
		return typ == dispatcher.SubmitBatchType
	})
	for _, typ := range s.proved {
		if mode := o.Types.Overlap(typ); mode != dispatcher.Alone {
			s.together[mode] = append(s.together[mode], typ)
		}
	}
	s.Policy.Width, s.Policy.SendGap = max(s.Policy.Width, 1), cmp.Or(s.Policy.SendGap, sendGap)
	s.recovery = recovery.New(recovery.Options{
		Store: o.Store, Senders: o.Senders, Chain: o.Chain, Process: s.process, Namespace: o.Namespace,
		Interval: o.Policy.InclusionInterval, Back: reach(max(o.Policy.SettleDepth, o.Policy.Finality)),
		Log: o.Log, Now: s.Now,
		Open: s.resume, Reread: s.reread, Driven: s.drives, Heartbeat: s.heartbeat, Network: s.sameNetwork,
	})
	return s
}

// reach is how many slots so many blocks may take: Mina fills two of three or more.
func reach(blocks int) uint32 { return uint32(3*blocks + 10) }

// resume has all owners go on, from what is stored by now: others, and the chain, have put back
// what they know since this process did.
func (s *Sequencer) resume() {
	s.reread()
	s.Store.Signal()
}

// reread has all owners read their records anew, and ask anew what they have asked.
func (s *Sequencer) reread() {
	s.mu.Lock()
	s.tellAll(word{changed: true, anew: true})
	s.mu.Unlock()
	s.Store.Plan(0)
}

// drives reports whether this process drives a transaction.
func (s *Sequencer) drives(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[uid] != nil
}

// Recovering says why this process binds, asks and sends nothing; "" if it does.
func (s *Sequencer) Recovering() string { return s.recovery.Shut() }

// Process is the incarnation under which claims are held.
func (s *Sequencer) Process() string { return s.process }

// Run drives transactions until ctx ends. Then nothing new is begun, what is
// under way gets ShutdownTimeout, all claims are given up, and Run returns. It
// ends by itself only where the nodes, when they first say it, are of another network
// than the namespace was used with: ErrOtherNetwork.
func (s *Sequencer) Run(ctx context.Context) error {
	ctx, s.quit = context.WithCancelCause(ctx)
	defer s.quit(nil)
	// Nodes that hang are asked again later: without a heartbeat others take this process for dead.
	begin, begun := context.WithTimeout(ctx, s.Policy.ClaimTTL/3)
	err := s.sameNetwork(begin)
	begun()
	switch {
	case errors.Is(err, ErrOtherNetwork):
		return err
	case err != nil && ctx.Err() != nil:
		return nil // told to end while it began
	case err != nil:
		s.Log.Warn("nothing of Mina's is begun yet", "err", err)
	}
	// What is under way outlives ctx: it ends by itself, or after ShutdownTimeout.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.work.open(work)

	s.Store.Changed, s.Store.Heed, s.Store.Passed = s.changed, s.heed, s.tellPassed
	s.Store.Says = s.binder
	// The first heartbeat comes before the first bind, the last when all have ended.
	s.heartbeat(work)
	var heartbeats, loops sync.WaitGroup
	heartbeats.Go(func() { s.heartbeatLoop(work) })
	heartbeats.Go(func() { s.Store.Listen(work) })
	loops.Go(func() { s.pollLoop(ctx) })
	loops.Go(func() { s.accountsLoop(ctx) })
	for _, b := range s.books {
		loops.Go(func() { s.followLoop(ctx, b) })
	}
	s.cycleLoop(ctx)
	s.draining.Store(true)
	s.mu.Lock()
	s.tellAll(word{}) // what is not out yet goes back, and what is asked is asked by another process
	s.mu.Unlock()
	loops.Wait()

	ended := s.work.close()
	select {
	case <-ended:
	case <-time.After(s.Policy.ShutdownTimeout):
	}
	stop() // also what any heartbeat has begun, whoever asked for it
	<-ended
	heartbeats.Wait()
	s.recovery.Wait()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Store.Leave(leave, s.process); err != nil {
		s.Log.Warn("claims not given up; others take them over when they run out", "err", err)
	}
	if err := context.Cause(ctx); errors.Is(err, ErrOtherNetwork) {
		return err
	}
	return nil
}

// ErrOtherNetwork: the Mina nodes are of another network than those that this
// namespace was used with before.
var ErrOtherNetwork = errors.New("the Mina nodes are of another network than this namespace was used with")

// sameNetwork compares the network of the nodes with the one that the namespace is for.
// Where no quorum of them is of one, it is asked again before the first bind.
func (s *Sequencer) sameNetwork(ctx context.Context) error {
	if s.networkKnown() || len(s.proved) == 0 {
		return nil
	}
	network, err := s.Chain.Network(ctx)
	if err != nil {
		return fmt.Errorf("it is not known what network the Mina nodes are of: %w", err)
	}
	before, err := s.Store.Remember(ctx, "network", network)
	if err != nil {
		return err
	}
	if before != network {
		err := fmt.Errorf("%w: %s now, %s before; use another SEQUENCER_NAMESPACE or the right nodes",
			ErrOtherNetwork, network, before)
		s.quit(err)
		return err
	}
	s.Chain.Belong(network)
	s.mu.Lock()
	s.network = network
	s.mu.Unlock()
	return nil
}

func (s *Sequencer) networkKnown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network != ""
}

// live reports whether the claims are surely still this process's, and Redis the
// one that it knows. A process that was stopped for long, or cut off from Redis,
// must have nothing proved or signed, and send nothing: others may have taken over.
func (s *Sequencer) live() bool {
	if s.recovery.Shut() != "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.renewed) < s.Policy.ClaimTTL*2/3
}

func (s *Sequencer) heartbeatLoop(ctx context.Context) {
	due := time.NewTicker(max(s.Policy.ClaimTTL/5, time.Millisecond))
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			s.heartbeat(ctx)
			if b := s.said.Load(); b != nil && b.Why != s.idle() {
				s.heartbeat(ctx) // by which it has learnt that what it says of itself is over
			}
		}
	}
}

// heartbeat renews the claims, and passes on who is dead.
func (s *Sequencer) heartbeat(ctx context.Context) {
	began := time.Now()
	call, cancel := context.WithTimeout(ctx, s.Policy.ClaimTTL/3)
	defer cancel()
	p, err := s.Store.Heartbeat(call, s.process, s.Policy.ClaimTTL, s.recovery.WrittenBack())
	if err == nil {
		s.recovery.Heard(ctx, p.Stage) // before the claims are believed in again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		// Nobody could renew: give everybody one life of a claim to come back.
		s.calm = began.Add(s.Policy.ClaimTTL)
		if ctx.Err() == nil && s.outage == nil {
			s.outage = &Outage{Since: began, Words: err.Error()}
			s.Log.Error("Redis takes no writes, so nothing moves", "err", err)
		}
		return
	}
	if s.outage != nil {
		s.Log.Info("Redis takes writes again", "after", began.Sub(s.outage.Since).Round(time.Second))
		s.outage = nil
	}
	lapsed := time.Since(s.renewed) >= s.Policy.ClaimTTL*2/3 // and who looked meanwhile has done nothing
	outage := !s.renewed.IsZero() && began.Sub(s.renewed) > s.Policy.ClaimTTL
	first := s.renewed.IsZero()
	if began.After(s.renewed) {
		s.renewed = began
	}
	if outage {
		s.calm = began.Add(s.Policy.ClaimTTL)
	}
	if outage || lapsed {
		s.Store.Signal() // nothing was bound meanwhile
	}
	if !p.Renewed && !first {
		s.Log.Warn("this process was taken for dead; its transactions have passed to others")
	}
	if lapsed || !p.Renewed {
		s.tellAll(word{changed: true})
	}
	if len(p.Dead) == 0 || began.Before(s.calm) || ctx.Err() != nil {
		return
	}
	s.gone(p.Dead)
}

// An Outage is since when Redis answers this process nothing, or takes no writes, and how that was told.
type Outage struct {
	Since time.Time
	Words string
}

// Outage is what lasts now; nil if Redis takes writes.
func (s *Sequencer) Outage() *Outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outage
}

// slice is how many claims are taken over at a time, so that several processes
// share the work of a dead one.
const slice = 50

// slicePause is until the next slice: the others come to theirs, and one that is alone has
// thousands in seconds.
const slicePause = 200 * time.Millisecond

func (s *Sequencer) takeOver(ctx context.Context, dead []string) {
	for i, process := range dead {
		taken, err := s.Store.TakeOver(ctx, s.process, process, slice, slices.Collect(maps.Keys(s.books))...)
		if err != nil {
			s.Log.Warn("taking over failed", "process", process, "err", err)
			return
		}
		if len(taken) > 0 {
			s.Log.Info("took over transactions of a process that is gone", "process", process, "count", len(taken))
			tell(s.Meter.TookOver, len(taken))
		}
		if len(taken) >= slice {
			time.AfterFunc(slicePause, func() { s.goOn(dead[i:]) })
			return // leave some to the others
		}
	}
}

// goOn passes on who is dead once more, unless that is in doubt by now: then the next heartbeat
// says whether they are.
func (s *Sequencer) goOn(dead []string) {
	live := s.live()
	s.mu.Lock()
	defer s.mu.Unlock()
	if live && !time.Now().Before(s.calm) {
		s.gone(dead)
	}
}

// gone passes on who is dead, under mu.
func (s *Sequencer) gone(dead []string) {
	select {
	case s.dead <- dead:
	default: // the last ones are still being taken over
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
