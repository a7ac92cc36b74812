package mina

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// window is how many blocks of the best chain a poll asks for, besides those
	// that are new. A deeper reorg costs one longer question.
	window = 10
	// chunk is the most hashes or accounts that one question names.
	chunk = 200
	// batch is the most blocks that one question names.
	batch = 10
	// ledgerLife is how long an account's nonce is carried on by the payer's own
	// commands. Mina: an account update of somebody else can raise it as well.
	ledgerLife = time.Minute
	// usualK is taken where a node does not tell its k. Mina: k is 290.
	usualK = 290
	// maxFrontier bounds what a node's k makes us ask for.
	maxFrontier = 2000
)

// A view is what one node has told. Only the running Poll touches it or, while busy,
// the look that is under way, which leaves these alone:
type view struct {
	node  *Node
	keep  int // blocks kept below the tip even if no watch needs them
	busy  bool
	fresh bool       // the last look ended in this poll
	began time.Time  // the last look
	asked []*watched // by that
	said  said       // by the last one that has ended
	lost  error      // why the node has no vote, nil if it has one
	late  atomic.Bool
	// When it first, and last, failed a survey; zero if it did not.
	failedFirst, failedLast time.Time

	failed error         // the look that has ended, nil if it did not
	took   time.Duration // that
	status Status
	asOf   time.Time // of the status

	links    []*link                  // the best chain, oldest first, without gaps
	whole    bool                     // the node has nothing older than links[0]
	read     map[string]*link         // links with commands by state hash, orphans included
	landed   map[string][]landed      // the commands of links by payer, in the order of their nonces
	cover    uint32                   // from this slot on every block of links is read
	pooled   map[string]Command       // the watched hashes that are in the pool
	pooledBy map[string][]Command     // the commands of legacy payers that are in the pool
	ledger   map[string]accountReport // of payers with an open watch, and that had one
	moved    bool                     // links or read have changed since a look was taken in
	reorgs   uint64                   // times that blocks were orphaned
	orphaned uint64                   // those blocks
	zkapps   int                      // the most zkApp commands of a block that was read
}

type link struct {
	Header
	known    bool // commands are read
	commands []Command
}

type landed struct {
	*Command
	in *link
}

// An accountReport is a payer's nonce by the ledger of the block named.
type accountReport struct {
	next uint32
	in   Header
	at   time.Time
}

func newView(n *Node, depth int) *view {
	return &view{
		node: n, keep: depth + window, read: map[string]*link{}, landed: map[string][]landed{}, said: said{failed: errUnasked},
	}
}

func (v *view) tip() Header {
	if len(v.links) == 0 {
		return Header{}
	}
	return v.links[len(v.links)-1].Header
}

// poll asks the node for what the watches need. On an error whatever was read
// stays, so that a node that is slow to catch up does so over several polls: each
// takes no longer than two calls may.
func (v *view) poll(ctx context.Context, watches []*watched) error {
	ctx, cancel := context.WithTimeout(ctx, 2*v.node.timeout)
	defer cancel()
	need := uint32(math.MaxUint32)
	for _, w := range watches {
		need = min(need, w.Since)
	}
	// The pool goes before the chain: what leaves it between the two questions
	// is then found in a block, and not missed in both.
	if err := v.askPool(ctx, watches); err != nil {
		return err
	}
	reorged, err := v.askChain(ctx, need)
	if err != nil {
		return err
	}
	if reorged {
		// What fell out of a block may have gone back to the pool.
		if err := v.askPool(ctx, watches); err != nil {
			return err
		}
	}
	if err := v.askBlocks(ctx, need); err != nil {
		return err
	}
	v.prune(need)
	v.cover = v.coverFrom()
	return v.askLedger(ctx, watches)
}

// open lists the watches whose command is in no block that was read.
func (v *view) open(watches []*watched) []*watched {
	var open []*watched
	for _, w := range watches {
		if _, found := v.find(&w.Watch); !found && w.sane {
			open = append(open, w)
		}
	}
	return open
}

func (v *view) askPool(ctx context.Context, watches []*watched) error {
	v.pooled, v.pooledBy = map[string]Command{}, map[string][]Command{}
	var hashes, payers []string
	for _, w := range v.open(watches) {
		if w.Legacy {
			payers = append(payers, w.Payer)
		} else {
			hashes = append(hashes, w.hashes...)
		}
	}
	for part := range slices.Chunk(hashes, chunk) {
		found, err := v.node.Pooled(ctx, part)
		if err != nil {
			return err
		}
		for hash, c := range found {
			v.pooled[hash] = c
		}
	}
	slices.Sort(payers)
	for part := range slices.Chunk(slices.Compact(payers), chunk) {
		found, err := v.node.PooledBy(ctx, part...)
		if err != nil {
			return err
		}
		for payer, commands := range found {
			v.pooledBy[payer] = commands
		}
	}
	return nil
}

// askChain asks for the status, brings links up to the node's best chain, and down
// to the slot needed as far as the node goes. It reports whether a block was orphaned.
func (v *view) askChain(ctx context.Context, need uint32) (reorged bool, err error) {
	status, headers, err := v.node.StatusAndChain(ctx, window)
	if err != nil {
		return false, err
	}
	if was := v.status.Genesis; !was.IsZero() && !status.Genesis.Equal(was) {
		v.sever()
	}
	v.status, v.asOf = status, time.Now()
	if !status.Synced() {
		return false, fmt.Errorf("%s: %s: %w", v.node.name, shorten(status.Sync), ErrNotSynced)
	}
	v.bound(headers, window)
	if tip := v.tip(); tip.StateHash != headers[len(headers)-1].StateHash {
		if status.Height > tip.Height && !v.joins(headers) {
			headers, err = v.askHeaders(ctx, window+int(status.Height-tip.Height))
		}
		if err == nil && !v.joins(headers) {
			headers, err = v.askHeaders(ctx, math.MaxInt)
		}
		if err != nil {
			return false, err
		}
		reorged = v.adopt(headers)
	}
	// Mina: at most one block in a slot, so that the slots say how many to ask
	// for; a simulated network may put more into one.
	for _, count := range []int{int(v.tip().Slot) - int(need) + 2, math.MaxInt} {
		if v.links[0].Slot < need || v.whole {
			break
		}
		headers, err := v.askHeaders(ctx, count)
		if err != nil {
			return reorged, err
		}
		reorged = v.adopt(headers) || reorged
	}
	return reorged, nil
}

// sever lets go of what was not read, and of all below it: after a hard fork no node holds any block
// of the chain before. What was read stays; the new chain stands on it.
func (v *view) sever() {
	cut := 0
	for i, l := range v.links {
		if !l.known {
			cut = i + 1
		}
	}
	for _, l := range v.links[:cut] {
		v.unindex(l)
	}
	v.links, v.moved = slices.Clone(v.links[cut:]), true
	v.whole = len(v.links) > 0
}

// askHeaders asks for count blocks, or all that the node has if they are fewer.
func (v *view) askHeaders(ctx context.Context, count int) ([]Header, error) {
	count = max(min(count, v.frontier()), window)
	headers, err := v.node.BestChain(ctx, count)
	if err == nil {
		v.bound(headers, count)
	}
	return headers, err
}

// bound notes whether the node has nothing older than what it answered to a
// question for count blocks.
func (v *view) bound(headers []Header, count int) {
	v.whole = v.whole || count == v.frontier() || len(headers) < count
}

// frontier is the number of blocks that the node holds. Mina: the last k and the
// one they stand on.
func (v *view) frontier() int {
	return max(int(min(cmp.Or(v.status.K, usualK), maxFrontier))+1, window)
}

// at is the position in links of the block of that height; it may lie outside.
func (v *view) at(height uint32) int { return int(int64(height) - int64(v.links[0].Height)) }

// joins reports whether headers continue, overlap or contain the chain known.
func (v *view) joins(headers []Header) bool {
	if len(v.links) == 0 {
		return true
	}
	p := v.at(headers[0].Height)
	switch {
	case p > len(v.links):
		return false
	case p > 0:
		return v.links[p-1].leadsTo(headers[0])
	case len(headers) > -p: // from below: the first block known must be among them
		return headers[-p].StateHash == v.links[0].StateHash
	default:
		return false
	}
}

// adopt makes headers the upper end of the chain, or the whole chain where they
// do not join it, and reports whether a known block was orphaned.
func (v *view) adopt(headers []Header) (reorged bool) {
	kept := 0
	if len(v.links) > 0 && v.joins(headers) {
		kept = max(0, v.at(headers[0].Height))
	}
	onChain := make(map[string]*link, len(v.links)-kept)
	for _, l := range v.links[kept:] {
		onChain[l.StateHash] = l
	}
	links := slices.Clone(v.links[:kept])
	for _, h := range headers {
		l := onChain[h.StateHash]
		if l != nil {
			delete(onChain, h.StateHash)
		} else if l = v.read[h.StateHash]; l != nil {
			v.index(l)
		} else {
			l = &link{Header: h}
		}
		links = append(links, l)
	}
	orphaned := v.orphaned
	for _, l := range onChain {
		v.unindex(l)
		if l.Height >= headers[0].Height { // below that it is not orphaned, only out of sight
			v.orphaned++
		}
	}
	v.links, v.moved = links, true
	if v.orphaned == orphaned {
		return false
	}
	v.reorgs++
	return true
}

// askBlocks reads the commands of the blocks from slot need on that the node still holds.
func (v *view) askBlocks(ctx context.Context, need uint32) error {
	for part := range slices.Chunk(v.unread(need), batch) {
		if err := v.ask(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// unread are the links from slot need on whose commands are not known and can be asked
// for, from the tip down. What the node has let go of by its last status stays unread for
// good: the history ends above it, as that of a node which never had it.
func (v *view) unread(need uint32) (links []*link) {
	for _, l := range slices.Backward(v.links) {
		if l.Slot < need || !v.holds(l) {
			break
		}
		if !l.known {
			links = append(links, l)
		}
	}
	return links
}

// holds reports whether, by its last status, the node still has a block of its best chain;
// one that was begun anew may have fewer.
func (v *view) holds(l *link) bool { return int(v.tip().Height)-int(l.Height) < v.frontier() }

// ask reads the commands of blocks by one question.
func (v *view) ask(ctx context.Context, links []*link) error {
	hashes := make([]string, len(links))
	for i, l := range links {
		hashes[i] = l.StateHash
	}
	blocks, err := v.node.Blocks(ctx, hashes...)
	if err != nil {
		return err
	}
	for i, block := range blocks {
		if err := v.learn(links[i], block); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) index(l *link) {
	for i := range l.commands {
		c := &l.commands[i]
		list := v.landed[c.Payer]
		at, _ := slices.BinarySearchFunc(list, c.Nonce, byNonce)
		v.landed[c.Payer] = slices.Insert(list, at, landed{c, l})
	}
}

func (v *view) unindex(l *link) {
	for i := range l.commands {
		payer := l.commands[i].Payer
		rest := slices.DeleteFunc(v.landed[payer], func(x landed) bool { return x.in == l })
		if len(rest) == 0 {
			delete(v.landed, payer)
		} else {
			v.landed[payer] = rest
		}
	}
}

func byNonce(x landed, nonce uint32) int { return cmp.Compare(x.Nonce, nonce) }

// prune lets go of blocks that lie deeper than keep and that no watch needs,
// and of any that lie deeper than twice what a node itself remembers.
func (v *view) prune(need uint32) {
	// The last block before need stays: it proves that nothing is missing.
	first, _ := slices.BinarySearchFunc(v.links, need, func(l *link, slot uint32) int { return cmp.Compare(l.Slot, slot) })
	cut := min(first-1, len(v.links)-v.keep)
	cut = max(cut, len(v.links)-2*max(v.frontier(), v.keep))
	if cut <= 0 {
		return
	}
	for _, l := range v.links[:cut] {
		v.unindex(l)
	}
	v.links = slices.Clone(v.links[cut:])
	v.whole = false
	for hash, l := range v.read {
		if l.Height < v.links[0].Height {
			delete(v.read, hash)
		}
	}
}

// floor is the block that all that was read without a gap stands on: the highest one that
// was not, or the oldest known.
func (v *view) floor() *link {
	for _, l := range slices.Backward(v.links) {
		if !l.known {
			return l
		}
	}
	return v.links[0]
}

func (v *view) coverFrom() uint32 {
	if l := v.floor(); !l.known || l.Height > 1 {
		return l.Slot + 1
	}
	return 0 // nothing was before the genesis block
}

// askLedger asks for the nonces of the payers whose watches are open. A nonce
// already told is carried on by the blocks read since, also while its payer is not
// watched: it soon will be again. But where a verdict of Expired hangs on it, it is
// asked anew at each tip.
func (v *view) askLedger(ctx context.Context, watches []*watched) error {
	tip, now := v.tip(), time.Now()
	ledger := make(map[string]accountReport, len(v.ledger))
	for payer, r := range v.ledger {
		p := v.at(r.in.Height)
		standing := p >= 0 && p < len(v.links) && v.links[p].StateHash == r.in.StateHash
		if standing && now.Sub(r.at) < ledgerLife && v.cover <= r.in.Slot+1 {
			ledger[payer] = r
		}
	}
	missing := make(map[string]bool)
	for _, w := range v.open(watches) {
		r, told := ledger[w.Payer]
		expiring := w.ValidUntil > 0 && tip.Slot > w.ValidUntil && !w.Legacy
		if !told || expiring && r.in.StateHash != tip.StateHash {
			missing[w.Payer] = true
		}
	}
	payers := make([]string, 0, len(missing))
	for payer := range missing {
		payers = append(payers, payer)
	}
	for part := range slices.Chunk(payers, chunk) {
		accounts, at, err := v.node.ledger(ctx, part)
		if err != nil {
			return err
		}
		r := accountReport{in: tip, at: now}
		if at != tip.StateHash {
			r.at = time.Time{} // of a later block, which may yet be orphaned: good for this poll
		}
		for payer, a := range accounts {
			r.next = a.Nonce
			ledger[payer] = r
			v.moved = true
		}
	}
	v.ledger = ledger
	return nil
}

// next is the payer's nonce by the ledger of the tip.
func (v *view) next(payer string) uint32 {
	next := v.ledger[payer].next
	if list := v.landed[payer]; len(list) > 0 {
		next = max(next, list[len(list)-1].Nonce+1)
	}
	return next
}
