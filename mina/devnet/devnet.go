// Package devnet simulates a Mina network in Go: nodes that answer the daemon's
// GraphQL as clients know it, with a pool, a ledger, blocks and forks, for
// tests, demos and benchmarks.
//
// What is true to Mina: the API's shapes, scalars and error texts; the pool's
// rules for nonces, fees, replacement, funds, expiry, eviction and reorgs; that
// a node tells its peers again, for fifty minutes, of what clients sent to it;
// which commands a block takes; fee and nonce of a command that fails; balance
// changes, account creation, app state and the preconditions on it, on nonce,
// balance, slot and length; the shape of failure reasons; forks and best tips.
//
// What is not: signatures and proofs are taken for valid unless the fee
// payer's is empty; hashes are digests of this package's own making in Mina's
// format, which like Mina's cover no authorizations; permissions, timing,
// delegation, events, actions, call forests and custom token rules are stored or
// ignored, never enforced; consensus is a dice roll per slot, and the longest
// chain wins. Formats are written here anew and not taken from the client, so
// that no mistake can hide in both.
//
// Nothing runs in the background unless Network.Run is called, and time is
// package time's, so a network works inside a testing/synctest bubble.
package devnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Defaults of a Config's zero values.
const (
	DefaultSlotTime    = 3 * time.Second
	DefaultFillRate    = 0.75
	DefaultK           = 290
	DefaultPoolSize    = 3000
	DefaultMinFee      = 1_000_000
	DefaultCreationFee = 1_000_000_000
	DefaultMaxZkapps   = 12 // of Mesa; see Era.Zkapps
	DefaultFunds       = 1_000_000_000_000_000
)

// An Account is the state of an account at genesis; State may be empty.
type Account struct {
	Balance uint64 // nanomina
	Locked  uint64 // nanomina of them that it may not spend: a vesting that does not begin
	Nonce   uint32
	State   []string // app state as decimal field elements
}

// A Config describes a network. The zero value of every field is usable.
type Config struct {
	Nodes    int                // default 1
	Accounts map[string]Account // by base58 public key
	// FundAll gives every public key that is not in Accounts an account with
	// DefaultFunds, from genesis on.
	FundAll  bool
	SlotTime time.Duration // at least 1ms
	// FillRate is the probability that a slot has a block; 1 fills every slot.
	FillRate    float64
	Seed        uint64 // of the dice that fill slots and salt blocks
	K           int    // depth of the transition frontier
	PoolSize    int
	MinFee      uint64 // nanomina for a whole command
	CreationFee uint64 // nanomina for a new account
	NetworkID   string // without "mina:"; default "testnet"
	// MaxZkapps limits the zkApp commands of one block: 0 for the default of the
	// era, negative for no limit.
	MaxZkapps int
	Era       Era       // what commands look like; default Mesa
	Genesis   time.Time // the start of slot 0; default: now
	// GossipSpread is how much later than another a command may come to a peer, for peers
	// verify several at a time: of what a node tells within this, any order may come, and one
	// that comes before its payer's command with the nonce before it is dropped there. 0: in order.
	// Commands of one payer that clients send five seconds apart come in order on mainnet.
	GossipSpread time.Duration
	// GossipMemory is how long a node that has heard of a command, or told of it, takes the
	// same bytes for a repetition: it neither looks at them nor tells them. libp2p's default
	// is two minutes. 0: not at all.
	GossipMemory time.Duration
	// BlockOnSend makes a block at once for every command accepted. Such blocks
	// share the slot of the clock, so many of them do not make commands expire.
	BlockOnSend bool
	// FailWhen, if set, is asked for each command that a block includes, in the
	// order of inclusion; reasons make the command fail with them. It is called
	// under the network's lock and must not call back.
	FailWhen func(Command) []string
	Log      *slog.Logger // blocks and reorgs; default: silent
}

// A Network is a set of nodes over one tree of blocks. All methods of it and
// of its nodes may be called concurrently.
type Network struct {
	config Config
	nodes  []*Node

	mux *http.ServeMux

	mu   sync.Mutex // over everything below, and all that nodes hold
	core branch     // the view of all block producers that are nobody's node
	// first is the block that the network began with, at config.Genesis and in the slot base. Of a
	// fork it stands on blocks of the network before.
	first *block
	base  uint32
	seen  map[string]*command // every command ever accepted, by hash
	rng   *rand.Rand
	slot  uint32 // the highest slot reached, by the clock or by hand

	order *rand.Rand      // of gossip
	keyed map[string]bool // accounts that some command gives a verification key
	fail  []failOrder

	archive ArchiveFaults
}

// New returns a network at genesis. It fails for a key that is none and for
// values out of range.
func New(c Config) (*Network, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	genesis := make(map[string]*account, len(c.Accounts))
	for key, a := range c.Accounts {
		if !wellFormedKey(key) || !onCurve(key) {
			return nil, fmt.Errorf("devnet: %.60q is no public key", key)
		}
		if len(a.State) > c.Era.Fields() {
			return nil, fmt.Errorf("devnet: account %s has more than %d state fields", key, c.Era.Fields())
		}
		genesis[key] = &account{nonce: a.Nonce, balance: a.Balance, locked: a.Locked}
		if len(a.State) > 0 {
			genesis[key].zkapp = &zkappState{fields: slices.Clone(a.State)}
		}
	}
	lookup := func(key string) *account {
		if a := genesis[key]; a != nil {
			return a
		}
		if c.FundAll && wellFormedKey(key) {
			return &account{balance: DefaultFunds}
		}
		return nil
	}
	return begin(c, newBranch(newBlock(nil, 0, c.Genesis, c.Seed), lookup))
}

// begin makes a network that goes on from the tip of a branch, which is its first block.
func begin(c Config, core branch) (*Network, error) {
	n := &Network{
		config: c, core: core, first: core.tip(), base: core.tip().slot, mux: http.NewServeMux(),
		seen: make(map[string]*command), rng: rand.New(rand.NewPCG(c.Seed, 0x6d696e61)),
		order: rand.New(rand.NewPCG(c.Seed, 0x676f73)), keyed: make(map[string]bool),
	}
	archive, err := n.archiveHandler()
	if err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		node, err := newNode(n, i, core.fork())
		if err != nil {
			return nil, err
		}
		node.mux.Handle("POST /archive", archive)
		n.nodes = append(n.nodes, node)
		prefix := "/nodes/" + strconv.Itoa(i)
		n.mux.Handle(prefix+"/", http.StripPrefix(prefix, node))
	}
	n.mux.Handle("/", n.nodes[0])
	return n, nil
}

// complete sets what was not given, and says what cannot be.
func (c *Config) complete() error {
	setDefault(&c.Nodes, 1)
	setDefault(&c.SlotTime, DefaultSlotTime)
	setDefault(&c.FillRate, DefaultFillRate)
	setDefault(&c.K, DefaultK)
	setDefault(&c.PoolSize, DefaultPoolSize)
	setDefault(&c.MinFee, DefaultMinFee)
	setDefault(&c.CreationFee, DefaultCreationFee)
	setDefault(&c.Era, Mesa)
	setDefault(&c.MaxZkapps, c.Era.Zkapps())
	setDefault(&c.NetworkID, "testnet")
	setDefault(&c.Log, slog.New(slog.DiscardHandler))
	if c.Genesis.IsZero() {
		c.Genesis = time.Now()
	}
	switch {
	case c.Nodes < 1 || c.Nodes > 100:
		return errors.New("devnet: between 1 and 100 nodes")
	case c.SlotTime < time.Millisecond:
		return errors.New("devnet: a slot takes at least 1ms")
	case c.FillRate < 0 || c.FillRate > 1:
		return errors.New("devnet: fill rate between 0 and 1")
	case c.K < 1 || c.PoolSize < 1:
		return errors.New("devnet: K and pool size of at least 1")
	case c.Era != Mesa && c.Era != Berkeley:
		return fmt.Errorf("devnet: the era is %s or %s", Mesa, Berkeley)
	}
	return nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// ServeHTTP serves node i under /nodes/i/, and node 0 also at the root.
func (n *Network) ServeHTTP(w http.ResponseWriter, r *http.Request) { n.mux.ServeHTTP(w, r) }

// Node returns the ith node, from 0. It panics if there is none.
func (n *Network) Node(i int) *Node { return n.nodes[i] }

// Nodes is their number.
func (n *Network) Nodes() int { return len(n.nodes) }

// Run advances the network by the clock until ctx ends, and returns nil then.
func (n *Network) Run(ctx context.Context) error {
	for {
		n.mu.Lock()
		next := n.begins(n.now() + 1)
		n.mu.Unlock()
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		n.mu.Lock()
		if slot := n.now(); slot > n.slot {
			n.enter(slot)
		}
		n.mu.Unlock()
	}
}

// Step advances one slot by hand, ahead of the clock if need be, and reports
// whether the slot got a block.
func (n *Network) Step() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.enter(n.now() + 1)
}

// MakeBlock makes a block now, in the current slot or, if that has one, the next.
func (n *Network) MakeBlock() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gossip()
	n.produce(&n.core, max(n.now(), n.core.tip().slot+1), nil)
	n.announce()
}

// Slot is the current slot since genesis.
func (n *Network) Slot() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now()
}

// now is the current slot: the clock's, or further if it was advanced by hand.
func (n *Network) now() uint32 {
	return max(n.slot, n.base+uint32(max(0, time.Since(n.config.Genesis)/n.config.SlotTime)))
}

// begins is when a slot begins.
func (n *Network) begins(slot uint32) time.Time {
	return n.config.Genesis.Add((time.Duration(slot) - time.Duration(n.base)) * n.config.SlotTime)
}

// enter begins a slot: pools are exchanged, then it has a block or not.
func (n *Network) enter(slot uint32) bool {
	n.slot = slot
	n.gossip()
	filled := n.rng.Float64() < n.config.FillRate
	if filled {
		n.produce(&n.core, slot, nil)
	}
	n.announce()
	return filled
}

// produce makes a block on the tip of a branch.
func (n *Network) produce(b *branch, slot uint32, skip func(string) bool) {
	n.slot = max(n.slot, slot)
	next := newBlock(b.tip(), slot, n.begins(slot), n.rng.Uint64())
	b.fill(next, rules{n.config.CreationFee, n.config.MaxZkapps, skip, n.failures})
	b.move(next, n.now())
	n.config.Log.Info("block", "height", next.height, "slot", slot, "commands", len(next.commands), "hash", next.hash)
}

// announce tells all nodes of the producers' best tip.
func (n *Network) announce() {
	for _, node := range n.nodes {
		node.follow()
	}
}

// An Effect is one command on the best chain.
type Effect struct {
	Command
	Height    uint32    `json:"height"`
	Slot      uint32    `json:"slot"`
	StateHash string    `json:"stateHash"`
	OK        bool      `json:"ok"`
	Failures  []Failure `json:"failures"` // of a failed command
}

// Effects lists every command on the network's best chain, oldest first.
func (n *Network) Effects() []Effect {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.core.effects(1)
}

// effects lists from a height on.
func (b *branch) effects(from uint32) []Effect {
	out := []Effect{}
	for _, x := range b.chain[min(int(max(from, 1))-1, len(b.chain)):] {
		for _, c := range x.commands {
			e := Effect{Command: c.Command, Height: x.height, Slot: x.slot, StateHash: x.hash, OK: !c.failed(), Failures: c.failures}
			if c.reason != "" {
				e.Failures = []Failure{{Index: "0", Failures: []string{c.reason}}}
			}
			out = append(out, e)
		}
	}
	return out
}

// Slots are those of the blocks on the network's best chain, oldest first.
func (n *Network) Slots() (slots []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.core.chain {
		slots = append(slots, x.slot)
	}
	return slots
}

// Account returns an account on the network's best chain; not ok if there is none.
func (n *Network) Account(publicKey string) (Account, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.core.account(publicKey)
	if a == nil {
		return Account{}, false
	}
	out := Account{Balance: a.balance, Locked: a.locked, Nonce: a.nonce}
	for i := range n.config.Era.Fields() {
		out.State = append(out.State, a.field(i))
	}
	return out, true
}

// Seen lists the hashes of every command that any node ever accepted, sorted.
func (n *Network) Seen() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.seen))
}
