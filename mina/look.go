package mina

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A node is waited for three times as long again as enough others have taken, within
// these limits. One that takes longer is late: it is asked beside, and not waited for
// before it is quick again.
const (
	leastGrace = 250 * time.Millisecond
	mostGrace  = 2 * time.Second
)

// grace is how long others are waited for where enough have taken so long.
func (t *Tracker) grace(took time.Duration) time.Duration {
	return max(min(3*took, mostGrace), t.least)
}

// ErrLate: the node has not answered yet, and is not waited for.
var ErrLate = errors.New("the node has not answered in time")

// A said is what a node had told when its last look ended: all that may be known of a
// node whose next look is under way.
type said struct {
	failed     error // why the look was none; errUnasked before the first one
	status     Status
	asOf       time.Time // of the status
	tip, floor Header    // floor: below it not all is known
	slot       uint32    // the current one by the clock
	zero       time.Time // when slot 0 would have begun; zero if it does not tell
	reorgs     uint64
	orphaned   uint64
	zkapps     int // the most in a block that was read
}

var errUnasked = fmt.Errorf("it has told nothing yet: %w", ErrLate)

// look begins to ask a node for what the watches need, unless that is under way.
func (t *Tracker) look(ctx context.Context, v *view, watches []*watched) {
	if v.busy {
		return
	}
	v.busy, v.fresh, v.asked, v.began = true, false, watches, time.Now()
	// Whoever polls may go; the node is asked to the end.
	ctx = context.WithoutCancel(ctx)
	go func() {
		v.failed = v.poll(ctx, v.asked)
		v.took = time.Since(v.began)
		t.ended <- v
	}()
}

// collect takes in what a look has found, and what the node says of each watch by it.
func (t *Tracker) collect(v *view) {
	v.busy, v.fresh = false, true
	v.late.Store(v.took > t.patience)
	v.said = said{
		failed: v.failed, status: v.status, asOf: v.asOf, tip: v.tip(), reorgs: v.reorgs, orphaned: v.orphaned,
		zkapps: v.zkapps,
	}
	if len(v.links) > 0 {
		v.said.floor, v.said.slot, v.said.zero = v.floor().Header, v.slot(), v.status.Zero(v.tip())
	}
	if v.failed != nil {
		return // whatever was read stays
	}
	for _, w := range v.asked {
		if _, told := w.words[v]; told && w.settled && !v.moved {
			continue
		}
		if w.words == nil {
			w.words = make(map[*view]verdict, len(t.views))
		}
		w.words[v] = v.judge(w)
	}
	t.changed, v.moved = t.changed || v.moved, false
}

// lookAll has every node asked, and waits for as many as are enough: those that are
// prompt, a quorum of voters in any case or, where all is true, every node that has a
// vote. It returns the voters; those that are fresh have been asked since.
func (t *Tracker) lookAll(ctx context.Context, watches []*watched, all bool) (voters []*view) {
	for len(t.ended) > 0 {
		t.collect(<-t.ended)
	}
	stale := slices.DeleteFunc(slices.Clone(t.views), func(v *view) bool { return !v.busy })
	for _, v := range t.views {
		t.look(ctx, v, watches)
	}
	enough := time.NewTimer(0)
	defer enough.Stop()
	<-enough.C
	counting, began := false, time.Now()
	for over := false; ; {
		voters = t.elect()
		quorum, wanted := t.fresh(voters) >= t.quorum, t.wanted(voters, all)
		switch {
		case over, !wanted && (quorum || !t.asking()):
			return voters
		case counting:
		case !wanted: // without a quorum those that had no vote get a moment
			counting = true
			enough.Reset(t.least)
		case quorum && !all:
			counting = true
			took := time.Since(began)
			enough.Reset(t.grace(took))
			t.patience = took + t.grace(took)
		}
		select {
		case v := <-t.ended:
			t.collect(v)
			if i := slices.Index(stale, v); i >= 0 {
				// That look began before this poll did.
				stale, v.fresh = slices.Delete(stale, i, i+1), false
				if all || t.fresh(t.elect()) < t.quorum {
					t.look(ctx, v, watches)
				}
			}
		case <-enough.C:
			over = true
			for _, v := range t.views {
				if v.busy {
					v.late.Store(true)
				}
			}
		case <-ctx.Done():
			return voters
		}
	}
}

// wanted reports whether a look that is under way has to be waited for. A node that is
// late is only if it has a vote, and that is needed.
func (t *Tracker) wanted(voters []*view, all bool) bool {
	enough := t.fresh(voters) >= t.quorum
	return slices.ContainsFunc(t.views, func(v *view) bool {
		return v.busy && (!v.late.Load() || v.said.failed == nil && (all || !enough))
	})
}

// asking reports whether any look is under way.
func (t *Tracker) asking() bool {
	return slices.ContainsFunc(t.views, func(v *view) bool { return v.busy })
}

// fresh counts the voters whose word is not an old one.
func (t *Tracker) fresh(voters []*view) (n int) {
	for _, v := range voters {
		if v.fresh {
			n++
		}
	}
	return n
}

// voting is the network whose nodes have a vote: the one that they have to be of or, where
// that is not known yet, a quorum are of, or else the first node that has answered.
func (t *Tracker) voting() string {
	t.mu.Lock()
	known := t.network
	t.mu.Unlock()
	var ids []string
	for _, v := range t.views {
		if v.said.failed == nil {
			ids = append(ids, v.said.status.NetworkID)
		}
	}
	if known != "" || len(ids) == 0 {
		return known
	}
	return cmp.Or(t.common(ids), ids[0])
}

// elect returns the views that have a vote, and notes at the others why they have none.
// A node that is being asked keeps its vote until that has failed.
func (t *Tracker) elect() []*view {
	var voters []*view
	t.votesOf = t.voting()
	highest, newest, network := uint32(0), time.Time{}, t.votesOf
	for _, v := range t.views {
		s := &v.said
		if v.lost = s.failed; v.lost != nil {
			continue
		}
		oldest := t.maxTipAge
		if oldest <= 0 {
			oldest = max(20*s.status.SlotTime, 10*time.Second)
		}
		age := time.Duration(s.slot-s.tip.Slot) * s.status.SlotTime
		switch {
		case s.status.NetworkID != network:
			v.lost = &lostError{fmt.Sprintf("%s: is of network %.40q, not %.40q", v.node.name, s.status.NetworkID, network), ErrOtherNetwork}
		case age > oldest:
			v.lost = &lostError{fmt.Sprintf("%s: tip is %v old", v.node.name, age), ErrOldTip}
		default:
			voters = append(voters, v)
			highest = max(highest, s.tip.Height)
			if s.asOf.After(newest) {
				newest = s.asOf
			}
		}
	}
	return slices.DeleteFunc(voters, func(v *view) bool {
		lag := int64(highest) - int64(v.said.tip.Height)
		// Nodes are not asked in the same instant.
		if v.said.status.SlotTime > 0 {
			lag -= int64(newest.Sub(v.said.asOf) / v.said.status.SlotTime)
		}
		if lag > maxLag {
			v.lost = &lostError{fmt.Sprintf("%s: tip %d is behind %d", v.node.name, v.said.tip.Height, highest), ErrBehind}
		}
		return lag > maxLag
	})
}
