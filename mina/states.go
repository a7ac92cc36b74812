package mina

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A NodeState is what the last poll found of one node. What a node that did not
// answer has told before stays.
type NodeState struct {
	Name   string // host and port; those of the same host are numbered
	Voting bool   // synced, near the tip, of the right network, and not late
	Height uint32 // of its tip
	// Lag is how many blocks its tip is below the highest that any node has heard
	// of, TipAge how far its slot was behind the clock.
	Lag    int
	TipAge time.Duration
	At     time.Time // when it last told; zero if it never has
	// Reorgs counts how often blocks left its best chain since this process began,
	// Orphaned those blocks.
	Reorgs, Orphaned uint64

	// Aside: it answers as if all were well, and has no vote: it is of another network than a
	// quorum, behind the others, or its tip is old.
	Aside bool
}

// Any reports whether there are nodes at all.
func (t *Tracker) Any() bool { return len(t.nodes) > 0 }

// Nodes returns the nodes as the last poll found them, in the order of the options.
// There are none before the first one.
func (t *Tracker) Nodes() []NodeState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.nodesAt)
}

// heeded are the views of all nodes but those that stood aside at the last poll.
func (t *Tracker) heeded() (all []*view) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, v := range t.views {
		if i >= len(t.nodesAt) || !t.nodesAt[i].Aside {
			all = append(all, v)
		}
	}
	return all
}

// states is for the running Poll.
func (t *Tracker) states(voters []*view) []NodeState {
	highest := uint32(0)
	for _, v := range t.views {
		highest = max(highest, v.said.tip.Height, v.said.status.Highest)
	}
	names := map[string]int{}
	states := make([]NodeState, len(t.views))
	for i, v := range t.views {
		s := NodeState{
			Name: v.node.name, Voting: slices.Contains(voters, v), Height: v.said.tip.Height, At: v.said.asOf,
			Reorgs: v.said.reorgs, Orphaned: v.said.orphaned, Aside: errors.Is(v.lost, ErrOtherNetwork) || errors.Is(v.lost, ErrOldTip) || errors.Is(v.lost, ErrBehind),
		}
		if names[s.Name]++; names[s.Name] > 1 {
			s.Name += fmt.Sprint("#", names[s.Name])
		}
		if s.Height > 0 {
			s.Lag = int(highest - s.Height)
			s.TipAge = time.Duration(v.said.slot-v.said.tip.Slot) * v.said.status.SlotTime
		}
		states[i] = s
	}
	return states
}

func (v *view) slot() uint32 { return max(v.tip().Slot, v.clockSlot()) }

// Zero is when slot 0 would have begun, by a node's status and tip alone; zero if they do
// not tell enough. Mina: the genesis time is that of the last hard fork, while slots are
// counted since the first genesis, and not all of them took as long.
func (s Status) Zero(tip Header) time.Time {
	before := int64(tip.Slot) - s.inFork(tip)
	if s.Genesis.IsZero() || s.SlotTime <= 0 || s.SlotsPerEpoch == 0 || before < 0 || before > int64(math.MaxInt64/s.SlotTime) {
		return time.Time{}
	}
	return s.Genesis.Add(-time.Duration(before) * s.SlotTime)
}

// clockSlot is the slot since genesis that the wall clock gives, 0 if the node
// does not tell enough. Mina: the genesis time is that of the last hard fork,
// while slots are counted since the first genesis.
func (v *view) clockSlot() uint32 {
	s, tip := v.status, v.tip()
	since := v.asOf.Sub(s.Genesis)
	if s.Genesis.IsZero() || s.SlotTime <= 0 || since < 0 {
		return 0
	}
	return uint32(min(uint64(s.first(tip))+uint64(since/s.SlotTime), math.MaxUint32))
}

// inFork is how many slots the tip is from the last hard fork.
func (s Status) inFork(tip Header) int64 {
	return int64(tip.Epoch)*int64(s.SlotsPerEpoch) + int64(tip.EpochSlot)
}

// first is the slot since genesis in which the running network began, if the node tells epochs.
func (s Status) first(tip Header) uint32 {
	return uint32(max(0, int64(tip.Slot)-s.inFork(tip)))
}
