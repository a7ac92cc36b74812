// Package provers keeps the pool of provers: workers that have no payer's key. A transaction of a
// sender whose own worker only signs takes one of them for its proof.
//
// Which provers there are stands in Redis, so that a person's word outlives a restart and holds for
// all processes ([Pool.Register], [Pool.Configure]). All else is this process's own: it asks each
// prover for its health, gives it to one transaction after the other ([Pool.Take]), and leaves alone
// what does not answer, with growing pauses, as senders are left alone.
//
// Several processes share the pool without a word to each other, for only a prover knows what it is
// at work on: one that is taken by somebody else answers 503, and another is taken. A lease in Redis
// would be a second opinion of the same thing, which has to be renewed, and is wrong from when a
// process dies until it runs out; this way nothing is held by a process that is gone. What is noted
// there is which prover a transaction was last with, so that whoever takes it over asks that one first,
// which answers with the proof that it is at work on, or keeps.
//
// What a transaction costs does not grow with how many provers there are: the free ones of a type
// stand in a ring, and what waits for one is told by whoever gives it back.
//
// All methods may be called concurrently.
package provers

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// A Word is what a prover says of itself at /health.
type Word struct {
	AccountID string // whose key it has; a prover has none
	Types     []string
	Network   string
	O1js      string
	AtOnce    int    // how many it proves at a time, at least 1
	Ahead     bool   // it builds on what is in flight
	Builds    bool   // it tells what it would prove before it does
	Memory    uint64 // bytes that it takes up, 0 if it does not say
	Hour      int    // proofs that it made in the last hour, -1 if it does not say
}

// Hooks are what a pool needs of others.
type Hooks struct {
	// Ask asks a prover for its health.
	Ask func(ctx context.Context, url string) (Word, error)
	// Wrong says why a prover cannot serve the network, and in words; "" if nothing speaks against
	// it. nil knows nothing.
	Wrong func(w Word) (why tx.SenderReason, detail string)
}

// Source is who registered a prover.
type Source string

const (
	ByAPI           Source = "api"
	ByConfiguration Source = "config"
)

// An Entry is a prover as it is registered.
type Entry struct {
	ID, URL string
	Source  Source
	Since   time.Time // when it was registered
	// Drained is since when it is taken out of use, zero if it is not.
	Drained time.Time
}

// A Prover is one of the pool as this process sees it.
type Prover struct {
	Entry
	Word
	Load    int // proofs that this process has with it
	Reason  tx.SenderReason
	Detail  string    // why it is out of use, in words
	At      time.Time // when it went out of use
	Until   time.Time // when it is asked again; zero where a person has to see to it
	Greeted bool      // it has told its health
}

// Available reports whether p is given proofs.
func (p *Prover) Available() bool { return p.Reason == "" }

// State is FREE, or PROVING where this process has something with it.
func (p *Prover) State() string {
	if p.Load > 0 {
		return "PROVING"
	}
	return "FREE"
}

// A Pool is the provers of one namespace.
type Pool struct {
	Options
	mu    sync.Mutex
	all   map[string]*prover // by id
	lanes map[string]*lane   // by type
	holds map[string]*hold   // by uid
	turn  uint64
	// version is that of what is stored, as it was last read.
	version string
	hooks   Hooks
	ctx     context.Context // of Run
	looks   sync.WaitGroup
	toAsk   []*prover // for their health
	asking  int       // how many are asked
	changed chan struct{}
	self    string // this process, among those that share the provers
}

// Options are the parts of a Pool.
type Options struct {
	// Store keeps which provers there are.
	Store *queues.Store
	// Pause is how long one is left alone after it was not there n times in a row before.
	Pause func(n int) time.Duration
	Log   *slog.Logger
}

// New returns a pool; Run has it know its provers.
func New(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{Options: o, all: map[string]*prover{}, lanes: map[string]*lane{}, holds: map[string]*hold{},
		changed: make(chan struct{}, 1), self: rand.Text()}
}

func (p *Pool) pause(n int) time.Duration {
	if p.Pause == nil {
		return time.Second
	}
	return p.Pause(n)
}

// Together is what the provers in use can as one worker: how many proofs they make at a time, 0 where
// there is none, and what all of them can of building on what is in flight, and before they prove.
func (p *Pool) Together() (w Word) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Ahead, w.Builds = true, true
	for _, one := range p.all {
		if one.Reason == "" {
			w.AtOnce += one.AtOnce
			w.Ahead, w.Builds = w.Ahead && one.Ahead, w.Builds && one.Builds
		}
	}
	w.Ahead, w.Builds = w.Ahead && w.AtOnce > 0, w.Builds && w.AtOnce > 0
	return w
}

// Shown are all provers as this process sees them, by their ids.
func (p *Pool) Shown() []Prover {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Prover, 0, len(p.all))
	for _, one := range p.all {
		all = append(all, one.shown())
	}
	slices.SortFunc(all, func(a, b Prover) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// A prover is one of the pool; all of it under mu of the pool.
type prover struct {
	Prover
	place   uint64 // in the ring
	busy    bool   // with another process's, by its own word
	asking  bool
	again   bool // it is to be asked once more, for it went out of use meanwhile
	away    int  // times in a row that its health was not well
	wrong   int  // times in a row that an answer was, or that there was none
	hopeful int  // -: what it called hopeless in a row
	made    [60]minute
	rest    *time.Timer
}

type minute struct {
	at    int64
	count int
}

func (p *prover) free() bool { return p.Reason == "" && !p.busy && p.Load < p.AtOnce }

func (p *prover) shown() Prover {
	s := p.Prover
	s.Types = slices.Clone(s.Types)
	if s.Hour < 0 {
		s.Hour = 0
		for since, i := time.Now().Unix()/60-60, 0; i < len(p.made); i++ {
			if p.made[i].at > since {
				s.Hour += p.made[i].count
			}
		}
	}
	return s
}
