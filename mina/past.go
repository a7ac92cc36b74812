package mina

import (
	"context"
	"mina-sequencer/sequencer/tx"
	"slices"
	"time"
)

const (
	// archiveChunk is how many blocks one question to the archive names, and
	// archiveChunks how many questions one poll asks it.
	archiveChunk  = 200
	archiveChunks = 5
	// archiveAgain is how long after a search in vain the archive is searched
	// again: it may have been behind.
	archiveAgain = 10 * time.Minute
)

// A past is a search of the archive, from the highest block of which some node has not told
// the commands, or no older one, downwards. It goes on from poll to poll, so that no poll takes long.
type past struct {
	wanted []*watched
	lowest uint32            // the height at which it ends
	next   uint32            // the next height to read
	hash   string            // of the block of that height, by the one above it
	known  map[uint32]string // what the nodes hold at some heights
}

// archived is what the archive told of a watch.
type archived struct {
	command Command
	in      Header
}

// askArchive looks for the watches whose nonce was spent in a block that no node
// holds any more, and reports whether a search has ended.
func (t *Tracker) askArchive(ctx context.Context, watches []*watched, voters []*view) (ended bool) {
	t.archiveErr = nil
	if t.past == nil {
		t.past = newPast(watches, voters)
	}
	if t.past != nil && t.archive == nil {
		t.archiveErr, t.past = ErrNoArchive, nil
	}
	for n := 0; n < archiveChunks && t.past != nil; n++ {
		done, err := t.past.read(ctx, t.archive)
		if err != nil || done {
			t.archiveErr, t.past, ended = err, nil, true
		}
	}
	return ended
}

func newPast(watches []*watched, voters []*view) *past {
	p := &past{known: map[uint32]string{}}
	for _, w := range watches {
		if w.sighting.Pruned && w.archived == nil && (w.soughtAt.IsZero() || time.Since(w.soughtAt) >= archiveAgain) {
			p.wanted = append(p.wanted, w)
		}
	}
	if len(p.wanted) == 0 || len(voters) == 0 {
		return nil
	}
	var top Header
	for _, v := range voters {
		floor := v.said.floor
		p.known[floor.Height] = floor.StateHash
		if floor.Height >= top.Height {
			top = floor
		}
	}
	p.next, p.hash = top.Height, top.StateHash
	p.lowest = p.next
	for _, w := range p.wanted {
		// Mina: at most one block in a slot.
		slots := uint32(1)
		if top.Slot > w.Since {
			slots += top.Slot - w.Since
		}
		p.lowest = min(p.lowest, max(p.next, slots+1)-slots)
	}
	return p
}

// read reads the next blocks; it reports whether the search is over.
func (p *past) read(ctx context.Context, a *Archive) (done bool, err error) {
	from := p.lowest
	if p.next-p.lowest >= archiveChunk {
		from = p.next - archiveChunk + 1
	}
	blocks, err := a.Blocks(ctx, from, p.next)
	if err != nil {
		return false, err
	}
	for _, b := range slices.Backward(blocks) {
		if known := p.known[b.Height]; b.StateHash != p.hash || known != "" && known != b.StateHash {
			return false, a.node.silent("its chain is not that of the nodes")
		}
		p.hash = b.PreviousStateHash
		for _, c := range b.Commands {
			for _, w := range p.wanted {
				if w.archived == nil && w.Payer == c.Payer && knows(&w.Watch, &c) {
					w.archived = &archived{c, b.Header}
				}
			}
		}
	}
	waits := slices.ContainsFunc(p.wanted, func(w *watched) bool { return w.archived == nil })
	if waits && from > p.lowest {
		p.next = from - 1
		return false, nil
	}
	for _, w := range p.wanted {
		w.soughtAt = time.Now()
	}
	return true, nil
}

// knows reports whether a command without a nonce is surely ours.
func knows(w *tx.Watch, c *Command) bool {
	if slices.Contains(w.Hashes, c.Hash) {
		return true
	}
	memo, err := DecodeMemo(c.Memo)
	return err == nil && w.Memo != "" && memo == w.Memo
}

// tell makes a sighting of what the archive told, where the nodes can say no
// more than that the nonce is spent.
func (a *archived) tell(s tx.Sighting, nonce uint32, voters []*view) tx.Sighting {
	s.Fate, s.Agreed, s.Archived, s.Pruned = tx.FateIncluded, true, true, false
	if a.command.Failed {
		s.Fate = tx.FateFailed
	}
	s.Hash, s.Nonce = a.command.Hash, nonce // the archive tells none
	s.Height, s.StateHash = a.in.Height, a.in.StateHash
	s.Failure = a.command.failure()
	for i, v := range voters {
		if depth := int(int64(v.said.tip.Height)-int64(a.in.Height)) + 1; i == 0 || depth < s.Depth {
			s.Depth = depth
		}
	}
	return s
}
