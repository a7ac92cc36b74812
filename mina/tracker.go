// Package mina speaks to the Mina network: a GraphQL client of one daemon
// (Node), a Tracker that follows the chain on several of them and says what has
// become of a transaction, Mina's error vocabulary, and its text formats.
//
// A Tracker tells waiting from certainty. A transaction that one node has seen
// is worth waiting for; that one is gone, or failed, or can no longer come, is
// only certain once every synced node says so (Sighting.Agreed), at the depth at
// which they say it (Sighting.Depth). What the chain cannot settle is Unknown,
// never an answer.
//
// No node that hangs, or is slow, holds up what the others suffice for:
//
//   - One acceptance is enough for a sending to go on; the other nodes get the bytes
//     all the same. That a sending was refused takes every node.
//   - A quorum that has just answered is enough to go on: for the tip and the slot, for
//     an account, and for Included, where no node contradicts it by its last word. What
//     was in a pool, or nowhere, when a node was last asked is no contradiction.
//   - Failed, Displaced, Expired, Absent, Passed, which may lead to another attempt, and
//     Survey take every node that has a vote. Of one that is late its last word counts,
//     as old as a look may take, which is two calls. PollAll waits for its next. A node that
//     looks well and fails surveys for a minute is done without.
//   - A node keeps its vote while it is being asked. One that let a call time out has
//     none until a look at it has succeeded.
//
// So a late node delays certainty, and what it last said can prevent it; never does it
// make something certain that would not have been.
package mina

import (
	"cmp"
	"context"
	"fmt"
	"mina-sequencer/sequencer/tx"
	"slices"
	"sync"
	"time"
)

// A Chain is what the tracker knows of the network as a whole.
type Chain struct {
	Synced   int    // nodes that have a vote now, and have just answered
	Quorum   bool   // Synced reaches the quorum
	Height   uint32 // of the lowest voting tip
	TipSlot  uint32 // slotSinceGenesis of that tip
	Slot     uint32 // the current slot by the clock: the larger of TipSlot and what genesis time and slot length give
	SlotTime time.Duration
	// Zero is when slot 0 would have begun by genesis time, slot length and the place of the
	// tip in its epoch: the latest of all voting nodes, zero if one of them does not tell.
	Zero   time.Time
	K      uint32 // the depth of the transition frontier
	Era    Era    // of all voting nodes; EraUnknown if they are of several
	Zkapps int    // the most zkApp commands in a block that was read since this process began
	// First is the slot in which the running network began: 0, or that of the last hard fork by
	// the voting nodes; the latest if they differ, 0 if none tells.
	First     uint32
	NetworkID string // as networkID says: "mina:mainnet", "mina:testnet", …
	At        time.Time
	Err       error // why Quorum is false, in words for the operator
	// Lost is why each other node is none of them, also where Quorum is true: ErrLate,
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
	ended      chan *view    // those whose look has ended
	voted      []*view       // at the last poll, without those that are late
	changed    bool          // a look has found something new since
	least      time.Duration // the shortest grace
	patience   time.Duration // what a look may take that is not late
	votesOf    string        // the network whose nodes had a vote at the last poll
	past       *past         // the search of the archive under way
	archiveErr error

	mu      sync.Mutex // guards what follows
	watches map[string]*watched
	seen    Chain
	nodesAt []NodeState
	network string // see Belong; "" before
	round   *round // of PollAll, which has not begun; nil if nobody waits for one
}

type watched struct {
	tx.Watch
	hashes []string // those of Hashes that a node can be asked for
	sane   bool     // Payer can be asked for
	// noticed is each node's tip when its ledger was first seen past Nonce
	// without a block that says why. Used by Poll alone.
	noticed map[*view]Header
	words   map[*view]verdict // of each node by its last look. Used by Poll alone.
	// What the archive told, and when it was searched in vain. Used by Poll alone.
	archived *archived
	soughtAt time.Time
	// Guarded by the tracker's mu.
	sighting tx.Sighting
	settled  bool // in a block on every node: stays as it is while no chain moves
}

func newWatched(w tx.Watch) *watched {
	w.Hashes = slices.Clone(w.Hashes)
	n := &watched{Watch: w, sighting: tx.Sighting{Fate: tx.FateUnknown}}
	for _, hash := range w.Hashes {
		if ValidHash(hash) {
			n.hashes = append(n.hashes, hash)
		}
	}
	_, err := DecodeCheck(VersionPublicKey, 35, w.Payer)
	n.sane = err == nil
	return n
}

func (w *watched) same(o tx.Watch) bool {
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
	t.ended, t.least, t.patience = make(chan *view, len(t.views)), leastGrace, mostGrace
	t.seen.Err = ErrNoQuorum
	return t
}

// Watch starts to follow id, or replaces what is followed under it: its
// sighting is Unknown until the next poll. The same Watch again changes nothing.
func (t *Tracker) Watch(id string, w tx.Watch) {
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
func (t *Tracker) Sighting(id string) tx.Sighting {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.watches[id]; w != nil {
		return w.sighting
	}
	return tx.Sighting{Fate: tx.FateUnknown}
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
// new sighting is computed from those that have one. Once a quorum has answered,
// no node is waited for that is late; see the package comment. Poll returns what
// the network looks like afterwards and never an error: an unreachable network is
// a Chain without Quorum. Where ctx ends before another Poll has, it returns what
// was known before.
func (t *Tracker) Poll(ctx context.Context) Chain {
	select {
	case t.polling <- struct{}{}:
	case <-ctx.Done():
		return t.Chain()
	}
	defer func() { <-t.polling }()
	return t.poll(ctx, false)
}

// A round is one look at every node, for all who asked for one before it began.
type round struct {
	ended chan struct{}
	chain Chain
	whole bool // not cut short by whoever began it
}

// PollAll is Poll, and waits for every node that has a vote: what it shows, all of
// them have said since it was called. Calls that wait for the same Poll to end share
// the next.
func (t *Tracker) PollAll(ctx context.Context) Chain {
	for ctx.Err() == nil {
		t.mu.Lock()
		r, mine := t.round, t.round == nil
		if mine {
			r = &round{ended: make(chan struct{})}
			t.round = r
		}
		t.mu.Unlock()
		if mine {
			return t.pollRound(ctx, r)
		}
		select {
		case <-r.ended:
			if r.whole {
				return r.chain
			}
		case <-ctx.Done():
		}
	}
	return t.Chain()
}

func (t *Tracker) pollRound(ctx context.Context, r *round) Chain {
	defer close(r.ended)
	begun := false
	select {
	case t.polling <- struct{}{}:
		defer func() { <-t.polling }()
		begun = true
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.round = nil // whoever comes now waits for the next one
	t.mu.Unlock()
	if !begun {
		return t.Chain()
	}
	r.chain = t.poll(ctx, true)
	r.whole = ctx.Err() == nil
	return r.chain
}

func (t *Tracker) poll(ctx context.Context, all bool) Chain {
	t.mu.Lock()
	watches := make([]*watched, 0, len(t.watches))
	for _, w := range t.watches {
		watches = append(watches, w)
	}
	t.mu.Unlock()

	for _, v := range t.views {
		v.fresh = false
	}
	voters := t.lookAll(ctx, watches, all)
	if ctx.Err() != nil {
		return t.Chain() // that nobody waited for the nodes says nothing of them
	}
	prompt := slices.DeleteFunc(slices.Clone(voters), func(v *view) bool { return !v.fresh })
	quorum := len(prompt) >= t.quorum
	changed := t.changed || !slices.Equal(prompt, t.voted)
	t.voted, t.changed = prompt, false

	t.judge(watches, voters, quorum, changed)
	if t.askArchive(ctx, watches, voters) {
		t.judge(watches, voters, quorum, true)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = t.describe(prompt)
	t.nodesAt = t.states(prompt)
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
			word, told := w.words[v]
			if !told {
				word = verdict{fate: tx.FateUnknown, tip: v.said.tip}
			}
			words[i] = word
			words[i].late = !v.fresh
		}
		g := merge(words, quorum && w.sane)
		switch {
		case !g.Pruned:
		case w.archived != nil:
			g = w.archived.tell(g, w.Nonce, voters)
		default:
			g.Sought = !w.soughtAt.IsZero()
		}
		w.sighting = g
		w.settled = g.Agreed && g.Depth > 0
	}
}

// describe makes the Chain of the views that have a vote and are not late. Without
// any, the network's figures stay those last seen.
func (t *Tracker) describe(voters []*view) Chain {
	c := t.seen
	c.Synced, c.Quorum, c.NetworkID, c.At, c.Err, c.Lost = len(voters), len(voters) >= t.quorum, t.votesOf, time.Now(), nil, nil
	c.Searching, c.Archive = t.past != nil, t.archiveErr
	for _, v := range t.views {
		switch {
		case v.lost != nil:
			c.Lost = append(c.Lost, v.lost)
		case !v.fresh:
			c.Lost = append(c.Lost, &lostError{fmt.Sprintf("%s: has not answered for %v", v.node.name, time.Since(v.began)), ErrLate})
		}
	}
	if !c.Quorum {
		c.Err = because(fmt.Errorf("%w: %d of %d, want %d", ErrNoQuorum, len(voters), len(t.views), t.quorum), c.Lost)
	}
	if len(voters) == 0 {
		return c
	}
	lowest := slices.MinFunc(voters, func(a, b *view) int { return cmp.Compare(a.said.tip.Height, b.said.tip.Height) }).said
	c.Height, c.TipSlot, c.Slot = lowest.tip.Height, lowest.tip.Slot, 0
	c.SlotTime, c.K = lowest.status.SlotTime, lowest.status.K
	c.Zero, c.Era, c.First = voters[0].said.zero, voters[0].said.status.Era(), 0
	for _, v := range voters {
		c.Slot, c.Zkapps = max(c.Slot, v.said.slot), max(c.Zkapps, v.said.zkapps)
		if s := v.said.status; s.SlotsPerEpoch > 0 {
			c.First = max(c.First, s.first(v.said.tip))
		}
		if v.said.status.Era() != c.Era {
			c.Era = EraUnknown
		}
		switch zero := v.said.zero; {
		case zero.IsZero(), c.Zero.IsZero():
			c.Zero = time.Time{}
		case zero.After(c.Zero):
			c.Zero = zero
		}
	}
	return c
}
