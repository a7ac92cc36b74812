package explorer

import (
	"slices"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A World is the bounds of what is explored.
type World struct {
	Name    string
	Procs   int // 1 or 2
	Senders int // or slots of the ledger
	Ledger  ledgerKind
	Queues  []int // transactions of each
	Nodes   int   // 1, or 2 of which both are needed
	Width   int   // the most of a queue in flight, 0 for one
	// Commuting: those in flight together require nothing of each other, and have no order.
	Commuting bool
	AtOnce    int  // how many of those a worker proves at a time, 0 for one
	Builds    bool // or of chained ones: it tells what each does before it proves them
	Legacy    bool // the workers send by themselves
	Hashless  bool // the workers tell no hash
	Replicas  bool // what is stored has to be confirmed
	// CutOff: the replica that lags is the only one, and has lost its primary: nobody confirms.
	// Another: it does not count any more, and another one confirms, which is not promoted.
	CutOff, Another bool
	// Back: the former primary may come back as such, with what it had, and without what the
	// promoted one has taken.
	Back bool
	// Apart: the second process may pay more for what is pooled, has it valid for one slot more,
	// and asks no replica.
	Apart bool
	// Alone: one node of two is enough.
	Alone bool
	// Retries, Confirmations, Settle and Finality are as configured; 0 for 0, 1, 2, 2.
	Retries, Confirmations, Settle, Finality int
	// Unresolved is how many in a row pause a queue, and have another sender asked; 0 for no limit.
	Unresolved int
	// Early is the depth at which what failed in a block is tried again, and goes with a type
	// of which a second landing has no effect; 0 for Settle and no such type.
	Early int
	Raise bool // a pooled attempt may pay more
	// Market: fees go by it, and workers sign what weighs more than was supposed.
	Market bool
	// Slow: anything may happen between a question to the store or the nodes and the
	// write that rests on its answer. Else they are one move.
	Slow bool
	// Prompt: a process does what it has to do before anything else happens. What it asks for
	// ends at any time. It is a part of a world that is too large without.
	Prompt   bool
	FeeLimit uint64
	// Allowance is the budget of fees of each queue, in a day; 0 for none.
	Allowance uint64
	Budget    Budget
	// Patient commands may be included one slot longer.
	Patient bool
	// Forgets is how many of the last writes a failover may forget, of those after the
	// first transaction was in the phase Lags, or any.
	Forgets int
	Lags    tx.Phase
	// Deadline is the last slot of each transaction, counted from the first tip, 0 for none;
	// by the clock it comes after one tick.
	Deadline int
	// PerBlock is how many commands of ours a block holds at most, 1 or 2; 0 for 1.
	PerBlock int
	// Height is how many blocks are made before the fair schedule, 0 for no bound.
	Height int
}

// A Fault is something that may go wrong, or that a person may do, a number of times.
type Fault int

// All faults that have a budget.
const (
	Crash      Fault = iota // a process dies
	Lapse                   // a process sleeps past its claims
	LostReply               // the store's answer is lost, the write done or not
	Reorg                   // of less than the settle depth
	WorkerErr               // a worker answers an error that a retry may mend
	Hopeless                // a worker answers an error that no retry can mend
	WorkerLost              // a worker's answer is lost
	Busy                    // a worker did not take it on
	Finished                // a worker says that there is nothing to send
	LostSend                // nobody knows whether the nodes took the bytes
	Refuse                  // every node refuses, in Mina's own words
	FailIn                  // a command fails in a block
	Outsider                // a stranger uses an account
	Vanish                  // pools drop what they had
	Cancel                  // a person takes one back
	Retry                   // a person has one tried again
	Resolve                 // a person settles what nobody knows
	Drain                   // a person takes a sender out of use
	Pause                   // a person pauses a queue
	Stop                    // a process is told to end
	Away                    // a node does not answer for a while
	Stray                   // a legacy worker uses another nonce
	WrongKey                // a worker signs for another account
	Broke                   // an account holds too little
	Unheard                 // the replicas do not confirm
	Forget                  // the store forgets the last writes
	Silence                 // a ledger says nothing of what it is asked
	Restart                 // the store has another history, and has forgotten nothing
	Gone                    // a worker has what it built no more
	Differ                  // what is built does otherwise than it would have before
	faults
)

var faultNames = [faults]string{"crash", "lapse", "lost-reply", "reorg", "worker-error", "hopeless", "worker-lost",
	"busy",
	"finished", "lost-send", "refuse", "fail-in", "outsider", "vanish", "cancel", "retry", "resolve", "drain",
	"pause", "stop",
	"away", "stray", "wrong-key", "broke", "unheard", "forget", "silence", "restart", "gone", "differ"}

func (f Fault) String() string { return faultNames[f] }

// A Budget is how often each fault may still happen.
type Budget map[Fault]int

const (
	tick   = 25 * time.Hour // after one all that waits for a clock is due, and another day has come
	recent = tick / 2
	start  = 10 // the height of the first tip: 0 stands for what is not known
	typ    = "T"
)

// trains reports whether several of a queue may be in flight: with width, or put back
// together by what was found after a failover.
func (w *World) trains() bool { return w.Width > 1 || w.Forgets > 0 }

func (w *World) depths() (confirmations, settle, finality int) {
	confirmations, settle, finality = max(w.Confirmations, 1), w.Settle, w.Finality
	if settle == 0 {
		settle = 2
	}
	if finality == 0 {
		finality = 2
	}
	return confirmations, settle, finality
}

// terms are those of each transaction.
func (w *World) terms() (t tx.Terms) {
	if w.Deadline > 0 {
		t.ExpiresAt = epoch.Add(tick)
	}
	return t
}

// zero is when slot 0 would have begun, by the deadline.
func (w *World) zero() time.Time {
	if w.Deadline == 0 {
		return time.Time{}
	}
	return w.terms().ExpiresAt.Add(-time.Duration(start+w.Deadline+1) * time.Second)
}

// asks reports whether a process has replicas confirm what it stores.
func (w *World) asks(p int) bool { return w.Replicas && (!w.Apart || p == 0) }

// vouched reports whether whatever left, and was to be confirmed, is on what may be promoted.
func (w *World) vouched() bool { return w.Replicas && !w.Another && !w.Apart || w.Budget[Forget] == 0 }

// another is the policy of the second process.
func (w *World) another() *lifecycle.Policy {
	other := *w
	other.Raise, other.Patient = w.Raise || w.Apart, w.Patient || w.Apart
	return other.policy()
}

// policyOf is that of one process.
func (s *State) policyOf(p int) *lifecycle.Policy {
	if p > 0 {
		return s.other
	}
	return s.policy
}

func (w *World) policy() *lifecycle.Policy {
	confirmations, settle, finality := w.depths()
	p := &lifecycle.Policy{
		CycleInterval: time.Second, InclusionInterval: time.Second, DispatchTimeout: time.Second,
		CallbackWait: time.Minute,
		MaxRetries:   w.Retries, RetryDelay: time.Minute, RetryDelayMax: time.Minute,
		Confirmations: confirmations, SettleDepth: settle, Finality: finality, RetryDepth: w.Early,
		Fee: 1, FeeMax: 2, FeeBump: 2, BumpAfter: 1, ValidSlots: 1, ClaimTTL: time.Minute, Retention: time.Hour,
		FeeLimit: w.FeeLimit, UnresolvedLimit: w.Unresolved, LedgerPatience: time.Hour,
		LedgerRetries: 3, LedgerDelay: 30 * time.Second, Width: max(w.Width, 1),
	}
	if !w.Raise {
		p.FeeMax = 1
	}
	if w.Patient {
		p.ValidSlots++
	}
	if w.Market {
		p.FeeAuto, p.FeeMin, p.FeeTarget, p.FeeMax = true, 1, 1, 2
	}
	return p
}

// What each unit of weight costs is 1, and what everything is supposed to weigh; signed, it
// weighs signedWeight.
const signedWeight = 2

func (w *World) market(now time.Time) (m fees.Market) {
	if w.Market {
		m = fees.Market{Looks: []fees.Look{{At: now, Ranks: []uint64{0}}}, Weight: 1}
	}
	return m
}

// allowances are what an attempt of a queue is counted with.
func (w *World) allowances(queue string) []Allowance {
	if w.Allowance == 0 {
		return nil
	}
	return []Allowance{{Name: queue, Most: w.Allowance}}
}

// A process that runs the decisions.
type process struct {
	id       string
	run      int  // counts its lives
	alive    bool // else it is to be started again
	live     bool // its claims are surely its own
	draining bool
	tip      lifecycle.Tip
	seen     []int16    // next nonce of a sender, as just shown by a landing; -1 if not
	held     []*held    // by transaction
	runs     [][]string // what runs of each queue, as it knows that
	recovery
}

// held is a transaction that a process drives.
type held struct {
	drive    *lifecycle.Drive
	call     lifecycle.Effect // under way
	stopped  lifecycle.Effect // ended, but its answer may still come
	about    command          // that is being sent, or made
	late     command          // the same of what was stopped
	gone     bool             // a legacy worker has sent
	stale    bool
	anew     bool // and what was asked is to be asked anew
	watching bool
	watch    tx.Watch
	sighting tx.Sighting
	seen     lifecycle.BatchSeen // of a batch
}

// An errand is a call of a legacy worker that nobody waits for any more, and that may
// still send.
type errand struct{ cmd command }

// A State is a whole world at one instant.
type State struct {
	world  *World
	policy *lifecycle.Policy // of the first process
	other  *lifecycle.Policy // of the second, which may differ
	now    time.Time
	store  Store
	chain  [2]chain
	// differs says of each transaction that what is made of it from now on does otherwise.
	differs [8]bool
	forks   uint8
	net     []wire
	procs   []process
	errand  []errand
	ledger  []entryOf // of each batch
	away    bool      // the second node does not answer
	broke   bool      // accounts hold nothing
	fair    bool      // nothing goes wrong any more
	budget  [faults]int8
	// replica is the store as a replica has it that lags, nil if none does.
	replica *Store
	// What has been, for the invariants.
	past   []past // by transaction
	refuse string // what went wrong inside of an operation
	// Of a replay: the story. Of an exploration: counts.
	story func(format string, args ...any)
	met   *Coverage
}

// past is what the invariants remember of a transaction.
type past struct {
	deep      uint8 // the deepest that its effect has stood
	cancelled bool
	ended     bool       // it was FAILED or UNRESOLVED
	asked     uint8      // attempts that a legacy worker was asked for, a bit each
	untold    bool       // its queue waits until its worker is told
	unknown   bool       // something of it was out when the store was settled without it
	lost      [2]command // that, as far as it is two
}

var epoch = time.Unix(1_800_000_000, 0).UTC()

// NewState is the first state of a world.
func NewState(w *World) *State {
	s := &State{world: w, policy: w.policy(), other: w.another(), now: epoch}
	s.store = Store{Now: epoch, CallbackWait: s.policy.CallbackWait, UnresolvedLimit: w.Unresolved}
	for i := range w.Senders {
		s.store.Register(account(i), "")
	}
	n := 0
	for q, txns := range w.Queues {
		for range txns {
			s.store.Enqueue(uid(n), "q"+digit(q), typ, w.terms(), "")
			n++
		}
	}
	s.past = make([]past, n)
	s.enqueueBatches()
	for i := range w.Procs {
		p := process{id: "p" + digit(i) + ".0", alive: true, live: true, seen: make([]int16, w.Senders),
			held: make([]*held, n), runs: make([][]string, len(w.Queues)),
			recovery: recovery{back: true, known: make([]lifecycle.Known, n), txns: make([]*tx.Transaction, n)}}
		for k := range p.seen {
			p.seen[k] = -1
		}
		s.procs = append(s.procs, p)
		s.store.Renew(p.id)
	}
	for range start {
		s.chain[0] = s.chain[0].with(block{})
	}
	s.chain[1] = s.chain[0]
	for f, n := range w.Budget {
		s.budget[f] = int8(n)
	}
	return s
}

func digit(i int) string       { return string(rune('0' + i)) }
func account(i int) string     { return accounts[i] }
func uid(i int) string         { return uids[i] }
func senderOf(name string) int { return slices.Index(accounts, name) }
func txnOf(uid string) int     { return slices.Index(uids, uid) }

var (
	accounts = []string{"s0", "s1", "s2"}
	uids     = []string{"t0", "t1", "t2", "t3"}
)

// clone is a copy that goes its own way. What is held is copied when it is touched.
// clone copies into what another state has left, or nil.
func (s *State) clone(left *State) *State {
	if left == nil {
		left = &State{}
	}
	c := *s
	s.store.cloneInto(&c.store, &left.store)
	c.net, c.errand = into(left.net, s.net), into(left.errand, s.errand)
	c.procs = into(left.procs, s.procs)
	c.past = into(left.past, s.past)
	*left = c
	return left
}

// hold is what a process holds of a transaction, for it to be altered.
func (s *State) hold(p, t int) *held {
	h := *s.procs[p].held[t]
	h.drive = h.drive.Clone()
	s.put(p, t, &h)
	return &h
}

func (s *State) put(p, t int, h *held) {
	s.procs[p].held = slices.Clone(s.procs[p].held)
	s.procs[p].held[t] = h
}

// spend uses up some of a budget; false if there is none.
func (s *State) spend(f Fault) bool {
	if s.budget[f] <= 0 {
		return false
	}
	s.budget[f]--
	if s.met != nil {
		s.met.Faults[f]++
	}
	return true
}

func (s *State) tell(format string, args ...any) {
	if s.story != nil {
		s.story(format, args...)
	}
}

// voters are the nodes that answer, and whether they are enough.
func (s *State) voters() (nodes []int, quorum bool) {
	if s.world.Nodes < 2 {
		return []int{0}, true
	}
	if s.away {
		return []int{1}, s.world.Alone
	}
	return []int{0, 1}, true
}

// view is what process p knows around transaction t.
func (s *State) view(p, t int) lifecycle.View {
	proc := &s.procs[p]
	v := lifecycle.View{Policy: s.policyOf(p), Tip: proc.tip, Now: s.now, Clock: s.now, Known: true,
		Replicas: s.world.asks(p), Draining: proc.draining, Batch: s.batchOf(p, t),
		Market: s.world.market(s.now)}
	queues, senders := s.store.Turns()
	v.Wanted = len(queues) > 0 && len(senders) == 0
	v.Sighting = tx.Sighting{Fate: tx.FateUnknown}
	h := proc.held[t]
	if h != nil && h.watching {
		v.Sighting = h.sighting
	}
	if h != nil && s.world.trains() {
		v.Train = s.train(p, h.drive.Txn())
	}
	return v
}

// polls reports whether a process looks at the chain by itself: something of what it drives is
// in question there, or something waits that could be bound. Whatever else waits for a look has
// to ask for one.
func (s *State) polls(p int) bool {
	watches := slices.ContainsFunc(s.procs[p].held, func(h *held) bool { return h != nil && h.watching })
	queues, senders := s.store.Turns()
	return s.world.Ledger != noLedger || watches || len(queues) > 0 && len(senders) > 0
}

// poll has a process look at the chain: all that it watches, by all nodes.
func (s *State) poll(p int) {
	nodes, quorum := s.voters()
	s.now = s.now.Add(time.Nanosecond)
	s.store.Now = s.now
	proc := &s.procs[p]
	lowest := s.chain[nodes[0]].tip()
	for _, n := range nodes {
		lowest = min(lowest, s.chain[n].tip())
	}
	proc.tip = lifecycle.Tip{At: s.now, Quorum: quorum, Fresh: true, Height: uint32(lowest), TipSlot: uint32(lowest),
		Slot: uint32(lowest), SlotTime: time.Second, Zero: s.world.zero(), Synced: len(nodes)}
	s.askLedger(p)
	proc.seen = slices.Clone(proc.seen)
	for t, h := range proc.held {
		if h == nil || !h.watching {
			continue
		}
		words := make([]verdict, 0, 2)
		for _, n := range nodes {
			words = append(words, s.judge(n, &h.watch))
		}
		g := merge(words, quorum)
		if g != h.sighting {
			u := *h
			u.sighting = g
			s.put(p, t, &u)
		}
		if a := senderOf(h.watch.Payer); g.Fate == tx.FateIncluded && g.Agreed && a >= 0 {
			proc.seen[a] = int16(g.Nonce) + 1
		}
		if s.met != nil {
			s.met.Fates[g.Fate]++
		}
	}
}
