// Package mina speaks to the Mina network: a GraphQL client of one daemon
// (Node), a Tracker that follows the chain on several of them and says what has
// become of a transaction, Mina's error vocabulary, and its text formats.
//
// A Tracker tells waiting from certainty. A transaction that one node has seen
// is worth waiting for; that one is gone, or failed, or can no longer come, is
// only certain once every synced node says so (Sighting.Agreed), at the depth at
// which they say it (Sighting.Depth). What the chain cannot settle is Unknown,
// never an answer.
package mina

import (
	"cmp"
	"context"
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
	"slices"
	"sync"
	"time"
)

// A Chain is what the tracker knows of the network as a whole.
type Chain struct {
	Synced    int    // nodes that have a vote now
	Quorum    bool   // Synced reaches the quorum
	Height    uint32 // of the lowest voting tip
	TipSlot   uint32 // slotSinceGenesis of that tip
	Slot      uint32 // the current slot by the clock: the larger of TipSlot and what genesis time and slot length give
	SlotTime  time.Duration
	K         uint32 // the depth of the transition frontier
	NetworkID string // as networkID says: "mina:mainnet", "mina:testnet", …
	At        time.Time
	Err       error // why Quorum is false, in words for the operator
	// Lost is why each node without a vote has none, also where Quorum is true:
	// ErrNotSynced, ErrOtherNetwork, ErrOldTip, ErrBehind, or an *Error.
	Lost []error
	// Searching: the archive is being searched, over several polls. Archive is
	// why it could not be when it was last wanted; ErrNoArchive: there is none.
	Searching bool
	Archive   error
}

// TrackerOptions configure a Tracker.
type TrackerOptions struct {
	Nodes  []*Node
	Quorum int // how many nodes must be synced and agree; 0 means a majority
	// Depth is how many blocks below the tip a verdict may need (the larger of
	// the settle depth, the finality depth and the confirmations).
	Depth int
	// MaxTipAge is how long a node's tip may lie behind the clock before the
	// node loses its vote; 0 means 20 slots, but no less than ten seconds.
	MaxTipAge time.Duration
	// Archive is asked for what the nodes no longer hold; it may be nil.
	Archive *Archive
}

// maxLag is how many blocks a node may lie behind the highest tip. Mina: nodes
// in good health differ by one or two.
const maxLag = 3

// A Tracker follows the chain on every node for all watched transactions at
// once: a poll costs the same few calls per node however many are watched, and
// a block's commands are read once per node, by state hash.
//
// All methods may be called concurrently; Poll calls are serialised.
type Tracker struct {
	nodes     []*Node
	quorum    int
	maxTipAge time.Duration
	archive   *Archive

	polling    chan struct{} // holds one for the running Poll, the only user of these
	views      []*view
	voted      []*view // at the last poll
	network    string  // the first network id seen
	past       *past   // the search of the archive under way
	archiveErr error

	mu      sync.Mutex // guards what follows
	watches map[string]*watched
	seen    Chain
	nodesAt []NodeState
}

type watched struct {
	lifecycle.Watch
	hashes []string // those of Hashes that a node can be asked for
	sane   bool     // Payer can be asked for
	// noticed is each node's tip when its ledger was first seen past Nonce
	// without a block that says why. Used by Poll alone.
	noticed map[*view]Header
	// What the archive told, and when it was searched in vain. Used by Poll alone.
	archived *archived
	soughtAt time.Time
	// Guarded by the tracker's mu.
	sighting lifecycle.Sighting
	settled  bool // in a block on every node: stays as it is while no chain moves
}

func newWatched(w lifecycle.Watch) *watched {
	w.Hashes = slices.Clone(w.Hashes)
	n := &watched{Watch: w, sighting: lifecycle.Sighting{Fate: lifecycle.FateUnknown}}
	for _, hash := range w.Hashes {
		if ValidHash(hash) {
			n.hashes = append(n.hashes, hash)
		}
	}
	_, err := DecodeCheck(VersionPublicKey, 35, w.Payer)
	n.sane = err == nil
	return n
}

func (w *watched) same(o lifecycle.Watch) bool {
	return w.Payer == o.Payer && w.Nonce == o.Nonce && w.Memo == o.Memo && w.ValidUntil == o.ValidUntil &&
		w.Since == o.Since && w.Legacy == o.Legacy && w.Found == o.Found && slices.Equal(w.Hashes, o.Hashes)
}

// NewTracker returns a tracker that has asked nothing yet.
func NewTracker(o TrackerOptions) *Tracker {
	t := &Tracker{
		polling: make(chan struct{}, 1), nodes: o.Nodes, quorum: o.Quorum, maxTipAge: o.MaxTipAge, archive: o.Archive,
		watches: map[string]*watched{},
	}
	if t.quorum <= 0 {
		t.quorum = len(o.Nodes)/2 + 1
	}
	for _, n := range o.Nodes {
		t.views = append(t.views, newView(n, max(o.Depth, 0)))
	}
	t.seen.Err = ErrNoQuorum
	return t
}

// Watch starts to follow id, or replaces what is followed under it: its
// sighting is Unknown until the next poll. The same Watch again changes nothing.
func (t *Tracker) Watch(id string, w lifecycle.Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.watches[id]; old != nil && old.same(w) {
		return
	}
	t.watches[id] = newWatched(w)
}

// Forget ends it.
func (t *Tracker) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watches, id)
}

// Watching is the number of ids followed.
func (t *Tracker) Watching() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watches)
}

// Sighting returns what the last poll says of id; Unknown if id was not
// watched when it ran.
func (t *Tracker) Sighting(id string) lifecycle.Sighting {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.watches[id]; w != nil {
		return w.sighting
	}
	return lifecycle.Sighting{Fate: lifecycle.FateUnknown}
}

// Chain returns what the last poll saw.
func (t *Tracker) Chain() Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// Poll asks every node once: status, best chain, the commands of blocks not
// seen before, and which of the watched hashes lie in its pool. A node that
// fails, is not synced or lags loses its vote until it answers well again; a
// new sighting is computed from those that have one. Poll returns what the
// network looks like afterwards and never an error: an unreachable network is
// a Chain without Quorum. Where ctx ends before another Poll has, it returns what
// was known before.
func (t *Tracker) Poll(ctx context.Context) Chain {
	select {
	case t.polling <- struct{}{}:
	case <-ctx.Done():
		return t.Chain()
	}
	defer func() { <-t.polling }()
	return t.poll(ctx)
}

func (t *Tracker) poll(ctx context.Context) Chain {
	t.mu.Lock()
	watches := make([]*watched, 0, len(t.watches))
	for _, w := range t.watches {
		watches = append(watches, w)
	}
	t.mu.Unlock()

	start := time.Now()
	var wg sync.WaitGroup
	for _, v := range t.views {
		wg.Go(func() { v.lost = v.poll(ctx, watches) })
	}
	wg.Wait()

	voters := t.elect(time.Since(start))
	quorum := len(voters) >= t.quorum
	changed := !slices.Equal(voters, t.voted) || slices.ContainsFunc(voters, func(v *view) bool { return v.moved })
	t.voted = voters

	t.judge(watches, voters, quorum, changed)
	if t.askArchive(ctx, watches, voters) {
		t.judge(watches, voters, quorum, true)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = t.describe(voters)
	t.nodesAt = t.states(voters)
	return t.seen
}

// judge makes the new sightings.
func (t *Tracker) judge(watches []*watched, voters []*view, quorum, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := make([]verdict, len(voters))
	for _, w := range watches {
		if w.settled && !changed {
			continue
		}
		for i, v := range voters {
			words[i] = v.judge(w)
		}
		g := merge(words, quorum && w.sane)
		switch {
		case !g.Passed:
		case w.archived != nil:
			g = w.archived.tell(g, w.Nonce, voters)
		default:
			g.Sought = !w.soughtAt.IsZero()
		}
		w.sighting = g
		w.settled = g.Agreed && g.Depth > 0
	}
}

// elect returns the views that have a vote, and notes at the others why they
// have none.
func (t *Tracker) elect(took time.Duration) []*view {
	var voters []*view
	highest := uint32(0)
	for _, v := range t.views {
		if v.lost != nil {
			continue
		}
		if t.network == "" {
			t.network = v.status.NetworkID
		}
		oldest := t.maxTipAge
		if oldest <= 0 {
			oldest = max(20*v.status.SlotTime, 10*time.Second)
		}
		age := time.Duration(v.slot()-v.tip().Slot) * v.status.SlotTime
		switch {
		case v.status.NetworkID != t.network:
			v.lost = &lostError{fmt.Sprintf("%s: is of network %.40q, not %.40q", v.node.name, v.status.NetworkID, t.network), ErrOtherNetwork}
		case age > oldest:
			v.lost = &lostError{fmt.Sprintf("%s: tip is %v old", v.node.name, age), ErrOldTip}
		default:
			voters = append(voters, v)
			highest = max(highest, v.tip().Height)
		}
	}
	return slices.DeleteFunc(voters, func(v *view) bool {
		lag := int64(highest) - int64(v.tip().Height)
		// Nodes are not asked in the same instant.
		if v.status.SlotTime > 0 {
			lag -= int64(took / v.status.SlotTime)
		}
		if lag > maxLag {
			v.lost = &lostError{fmt.Sprintf("%s: tip %d is behind %d", v.node.name, v.tip().Height, highest), ErrBehind}
		}
		return lag > maxLag
	})
}

// describe makes the Chain of the views that have a vote. Without any, the
// network's figures stay those last seen.
func (t *Tracker) describe(voters []*view) Chain {
	c := t.seen
	c.Synced, c.Quorum, c.NetworkID, c.At, c.Err, c.Lost = len(voters), len(voters) >= t.quorum, t.network, time.Now(), nil, nil
	c.Searching, c.Archive = t.past != nil, t.archiveErr
	for _, v := range t.views {
		if v.lost != nil {
			c.Lost = append(c.Lost, v.lost)
		}
	}
	if !c.Quorum {
		c.Err = because(fmt.Errorf("%w: %d of %d, want %d", ErrNoQuorum, len(voters), len(t.views), t.quorum), c.Lost)
	}
	if len(voters) == 0 {
		return c
	}
	lowest := slices.MinFunc(voters, func(a, b *view) int { return cmp.Compare(a.tip().Height, b.tip().Height) })
	c.Height, c.TipSlot, c.Slot = lowest.tip().Height, lowest.tip().Slot, 0
	c.SlotTime, c.K = lowest.status.SlotTime, lowest.status.K
	for _, v := range voters {
		c.Slot = max(c.Slot, v.slot())
	}
	return c
}
