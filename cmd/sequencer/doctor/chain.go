package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/mina"
)

// A chainLook is what the nodes showed.
type chainLook struct {
	tracker *mina.Tracker
	seen    mina.Chain
}

// chain looks at the nodes, one by one and beside each other.
func (d *doctor) chain(ctx context.Context) *chainLook {
	// As serve does, but no node keeps the others waiting.
	timeout := min(d.cfg.Mina.Timeout, doctorTime)
	var nodes []*mina.Node
	for _, u := range d.cfg.Mina.URLs {
		nodes = append(nodes, mina.NewNode(u, mina.NodeOptions{Timeout: timeout}))
	}
	fit := d.fit(ctx, nodes)
	look := &chainLook{tracker: mina.NewTracker(mina.TrackerOptions{Nodes: fit, Quorum: d.cfg.Mina.MustAgree()})}
	look.seen = look.tracker.PollAll(ctx)
	var lost []string
	for _, err := range look.seen.Lost {
		lost = append(lost, d.lost(err))
	}
	for _, n := range fit {
		if !slices.Contains(lost, n.Name()) {
			d.ok("NODE", n.Name(), "is synced, and its tip is young")
		}
	}
	quorum := fmt.Sprintf("%d of %d node(s) can be counted on, %d must agree", look.seen.Synced, len(nodes), d.cfg.Mina.MustAgree())
	switch {
	case !look.seen.Quorum:
		d.problem("NO_QUORUM", "SEQUENCER_MINA_URL", quorum+": nothing is bound, and nothing ends", "put the nodes right, or name more of them")
	case len(nodes) == 1:
		d.warn("ONE_NODE", nodes[0].Name(), "is the only node: what it says wrongly is believed", "name three in SEQUENCER_MINA_URL; of two, one that is away stops everything")
	default:
		d.ok("QUORUM", "SEQUENCER_MINA_URL", quorum)
	}
	d.agreement(ctx, nodes)
	d.blocks(ctx, fit)
	var all sync.WaitGroup
	for i, u := range d.cfg.Mina.URLs {
		all.Go(func() { d.nodeClock(ctx, u, nodes[i].Name()) })
	}
	all.Wait()
	return look
}

// fit returns the nodes whose schema has all that a verdict asks for, as far as
// they answer. Without a failureReason, what failed would pass for what succeeded.
func (d *doctor) fit(ctx context.Context, nodes []*mina.Node) (fit []*mina.Node) {
	bad := make([]bool, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			chain, err := n.BestChain(ctx, 1)
			if err == nil {
				_, err = n.Block(ctx, chain[len(chain)-1].StateHash)
			}
			e, _ := errors.AsType[*mina.Error](err)
			bad[i] = e != nil && d.schema(e)
		})
	}
	all.Wait()
	for i, n := range nodes {
		if !bad[i] {
			fit = append(fit, n)
		}
	}
	return fit
}

// schema reports whether a node has refused a question for a field that it does
// not have, and says so.
func (d *doctor) schema(e *mina.Error) bool {
	if !missingField.MatchString(e.Message) {
		return false
	}
	d.problem("NODE_SCHEMA", e.Node, "cannot tell how transactions end, and is not counted: "+e.Message,
		"name a Mina daemon of the network's release in its place")
	return true
}

// missingField is how the GraphQL servers of Mina's nodes say that they have no such field.
var missingField = regexp.MustCompile(`(?i)field\W+\w+\W+(is not defined |not found |on type )`)

// lost says why a node has no vote, and returns its name.
func (d *doctor) lost(why error) (name string) {
	name, text, _ := strings.Cut(why.Error(), ": ")
	if e, ok := errors.AsType[*mina.Error](why); ok {
		if d.schema(e) {
			return e.Node
		}
		d.problem("NODE_AWAY", e.Node, e.Message, "see that it runs, serves GraphQL at this address, and can be reached from here")
		return e.Node
	}
	switch {
	case errors.Is(why, mina.ErrNotSynced):
		d.problem("NODE_NOT_SYNCED", name, text, "wait until it is SYNCED; see its log and peers if it stays so")
	case errors.Is(why, mina.ErrOtherNetwork):
		d.problem("NODE_NETWORK", name, text, "name nodes of one network only")
	case errors.Is(why, mina.ErrOldTip):
		d.problem("NODE_OLD_TIP", name, text, "see its peers, and the clocks of both machines")
	case errors.Is(why, mina.ErrBehind):
		d.problem("NODE_BEHIND", name, text, "see its peers and load; it has no vote until it has caught up")
	default:
		d.problem("NODE", name, text, "see its log")
	}
	return name
}

// blocksRead is how many of the last blocks are read to see what they hold.
const blocksRead = 10

// blocks looks whether the last blocks of one node hold more than fees by the market reckon with.
func (d *doctor) blocks(ctx context.Context, nodes []*mina.Node) {
	policy := d.cfg.Policy()
	if !policy.FeeAuto {
		return
	}
	for _, n := range nodes {
		chain, err := n.BestChain(ctx, blocksRead)
		if err != nil {
			continue // why is said elsewhere
		}
		hashes := make([]string, len(chain))
		for i, h := range chain {
			hashes[i] = h.StateHash
		}
		blocks, err := n.Blocks(ctx, hashes...)
		if err != nil {
			continue
		}
		most := 0
		for i := range blocks {
			most = max(most, blocks[i].Zkapps())
		}
		if most > policy.BlockLimit() {
			d.warn("BLOCK_ZKAPPS", n.Name(), fmt.Sprintf("a block holds %d zkApp commands, and fees by the market reckon with %d: "+
				"they are higher than they need be", most, policy.BlockLimit()), fmt.Sprint("set SEQUENCER_BLOCK_ZKAPPS to ", most))
		}
		return
	}
}

// agreementDepth is how far below the lowest tip the nodes must have one block: a
// shallower fork is nothing special.
const agreementDepth = 5

// agreement compares a block that every node should have.
func (d *doctor) agreement(ctx context.Context, nodes []*mina.Node) {
	chains := make([][]mina.Header, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { chains[i], _ = n.BestChain(ctx, 100) }) // why not is said elsewhere
	}
	all.Wait()
	lowest := ^uint32(0)
	for _, c := range chains {
		if len(c) > 0 {
			lowest = min(lowest, c[len(c)-1].Height)
		}
	}
	seen, first := "", ""
	for i, c := range chains {
		at := slices.IndexFunc(c, func(h mina.Header) bool { return h.Height+agreementDepth == lowest })
		switch {
		case at < 0:
		case seen == "":
			seen, first = c[at].StateHash, nodes[i].Name()
		case c[at].StateHash != seen:
			d.problem("NODES_DISAGREE", nodes[i].Name(), fmt.Sprintf("has another block at height %d than %s", c[at].Height, first),
				"one of them is on a fork: compare both with a block explorer, and take the wrong one out")
		}
	}
}

// nodeClock reads the time from any answer over HTTP. It has no fractions.
func (d *doctor) nodeClock(ctx context.Context, address, name string) {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return // the node itself has been asked, and that was told
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	before := d.now()
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // its body ends with no context
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	}
	_ = resp.Body.Close()
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return // not every server tells its time
	}
	d.clock("CLOCK_NODE", name, at, before, d.now(), time.Second)
}
