package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mina-sequencer/mina"
)

// A window is the part of the best chain that a node still has, with every
// command in it.
type window struct {
	node         *mina.Node
	status       mina.Status
	first, tip   mina.Header
	byHash       map[string]*effect
	byMemo       map[string][]*effect // of zkApp commands whose memo can be read
	byPayerNonce map[payerNonce]*effect
}

type payerNonce struct {
	payer string
	nonce uint32
}

// An effect is a command in a block; at is its place in it.
type effect struct {
	mina.Command
	block mina.Header
	at    int
}

func (e *effect) depth(tip mina.Header) int { return int(tip.Height-e.block.Height) + 1 }

func (e *effect) compare(o *effect) int {
	return cmp.Or(cmp.Compare(e.block.Height, o.block.Height), cmp.Compare(e.at, o.at))
}

// maxWindow bounds what a node's k makes us ask for. Mina: k is 290.
const maxWindow = 2000

// readWindow reads the window of the synced node with the highest tip, all of
// it or what joins known.
func readWindow(ctx context.Context, nodes []*mina.Node, known map[string]mina.Block) (*window, error) {
	var best *window
	var causes []error
	for _, n := range nodes {
		status, err := n.Status(ctx)
		switch {
		case err != nil:
			causes = append(causes, err)
		case !status.Synced():
			causes = append(causes, fmt.Errorf("%s: %w", n.Name(), mina.ErrNotSynced))
		case best == nil || status.Height > best.status.Height:
			best = &window{node: n, status: status}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no Mina node is synced: %w", errors.Join(causes...))
	}
	w := best
	w.byHash, w.byMemo, w.byPayerNonce = map[string]*effect{}, map[string][]*effect{}, map[payerNonce]*effect{}
	headers, err := w.node.BestChain(ctx, max(10, min(int(w.status.K), maxWindow)+1))
	if err != nil {
		return nil, err
	}
	w.first, w.tip = headers[0], headers[len(headers)-1]
	for i, h := range headers {
		block, ok := known[h.StateHash]
		if !ok {
			if block, err = w.node.Block(ctx, h.StateHash); err != nil {
				if i+1 < len(headers) && w.letGo(ctx, h) {
					w.first = headers[i+1]
					continue
				}
				return nil, err
			}
			known[h.StateHash] = block
		}
		for i, c := range block.Commands {
			e := &effect{c, h, i}
			w.byHash[c.Hash] = e
			w.byPayerNonce[payerNonce{c.Payer, c.Nonce}] = e
			if memo, err := mina.DecodeMemo(c.Memo); err == nil && !c.Payment {
				w.byMemo[memo] = append(w.byMemo[memo], e)
			}
		}
	}
	return w, nil
}

// letGo reports whether the node has dropped a block. Mina: it lets go of its oldest at
// each new one.
func (w *window) letGo(ctx context.Context, h mina.Header) bool {
	status, err := w.node.Status(ctx)
	return err == nil && status.Synced() && int64(status.Height)-int64(h.Height) > int64(status.K)
}

// holds reports whether a block of that height would be in the window.
func (w *window) holds(height uint32) bool { return height >= w.first.Height && height <= w.tip.Height }
