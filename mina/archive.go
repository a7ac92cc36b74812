package mina

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoDetails: the archive tells of blocks without what is in them. Its
// operator has to set ENABLE_BLOCK_TRANSACTION_DETAILS=true.
var ErrNoDetails = errors.New("the archive tells no transactions: it wants ENABLE_BLOCK_TRANSACTION_DETAILS=true")

// An Archive is a client of an Archive-Node-API, which knows the blocks that the
// nodes no longer hold. It knows the hashes and memos of zkApp commands, and no
// nonces. Each method asks exactly once; whatever is not a usable answer is an
// *Error of class Transport. Methods may be called concurrently.
type Archive struct{ node *Node }

// NewArchive returns a client of the GraphQL endpoint at address. It asks
// nothing; an address that cannot work shows at the first call.
func NewArchive(address string, o NodeOptions) *Archive { return &Archive{NewNode(address, o)} }

// Name is the host and port of the archive, fit for logs.
func (a *Archive) Name() string { return a.node.Name() }

// Blocks asks for the blocks of the best chain from one height up to and
// including another, with their zkApp commands. It returns them in that order,
// all of them, each linked to the one before; slots and nonces are unknown.
// ErrNoDetails: the archive has the blocks and does not tell what is in them.
func (a *Archive) Blocks(ctx context.Context, from, to uint32) ([]Block, error) {
	var data struct {
		Blocks []struct {
			Height       text32 `json:"blockHeight"`
			StateHash    string `json:"stateHash"`
			ParentHash   string `json:"parentHash"`
			Transactions struct {
				Zkapps []struct {
					Hash     string  `json:"hash"`
					FeePayer string  `json:"feePayer"`
					Fee      text64  `json:"fee"`
					Memo     string  `json:"memo"`
					Status   string  `json:"status"`
					Failure  *string `json:"failureReason"`
				} `json:"zkappCommands"`
			} `json:"transactions"`
		} `json:"blocks"`
	}
	count := int(to-from) + 1
	err := a.node.query(ctx, `query($query: BlockQueryInput, $limit: Int) {
		blocks(query: $query, limit: $limit, sortBy: BLOCKHEIGHT_ASC) {
			blockHeight stateHash parentHash
			transactions { zkappCommands { hash feePayer fee memo status failureReason } } } }`,
		map[string]any{
			"query": map[string]any{"blockHeight_gte": from, "blockHeight_lt": to + 1, "inBestChain": true},
			"limit": count,
		}, &data)
	if err != nil {
		return nil, fmt.Errorf("asking the archive: %w", err)
	}
	if len(data.Blocks) != count {
		return nil, fmt.Errorf("asking the archive: %w", a.node.silent(
			fmt.Sprintf("%d blocks of height %d to %d, want %d", len(data.Blocks), from, to, count)))
	}
	blocks := make([]Block, count)
	for i, b := range data.Blocks {
		switch height := from + uint32(i); {
		case b.ParentHash == "" && height > 1:
			return nil, fmt.Errorf("asking the archive: %s: %w", a.Name(), ErrNoDetails)
		case uint32(b.Height) != height || b.StateHash == "" || i > 0 && b.ParentHash != blocks[i-1].StateHash:
			return nil, fmt.Errorf("asking the archive: %w", a.node.silent("its blocks are no chain"))
		}
		blocks[i].Header = Header{StateHash: b.StateHash, PreviousStateHash: b.ParentHash, Height: uint32(b.Height)}
		for _, z := range b.Transactions.Zkapps {
			if z.Status != "applied" && z.Status != "failed" { // a guess could have it made twice
				return nil, fmt.Errorf("asking the archive: %w", a.node.silent(
					fmt.Sprintf("a command's status is %.32q, which is neither applied nor failed", z.Status)))
			}
			c := Command{Hash: z.Hash, Payer: z.FeePayer, Fee: uint64(z.Fee), Memo: z.Memo, Failed: z.Status == "failed"}
			if z.Failure != nil && c.Failed {
				c.Failures = []Failure{{Reasons: []string{*z.Failure}}}
			}
			blocks[i].Commands = append(blocks[i].Commands, c)
		}
	}
	return blocks, nil
}
