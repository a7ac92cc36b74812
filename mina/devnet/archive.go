package devnet

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/graph-gophers/graphql-go"
)

//go:embed archive.graphql
var archiveSchema string

// maxArchived is the widest range of heights in one question. Mina: the
// archive's BLOCK_RANGE_SIZE.
const maxArchived = 10_000

// ArchiveFaults are what is wrong with the archive. The zero value is a healthy one.
type ArchiveFaults struct {
	Status int  // answers every request with this HTTP status
	Bare   bool // ENABLE_BLOCK_TRANSACTION_DETAILS is not set
	Behind int  // how many of the last blocks it has not got yet
}

// SetArchive replaces the archive's faults.
func (n *Network) SetArchive(f ArchiveFaults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.archive = f
}

// archiveHandler serves an Archive-Node-API that has every block of the network,
// orphans included, however long ago it was made.
func (n *Network) archiveHandler() (http.Handler, error) {
	schema, err := graphql.ParseSchema(archiveSchema, &archiveRoot{n},
		graphql.UseFieldResolvers(), graphql.MaxDepth(maxSelection), graphql.Logger(silent{}), graphql.PanicHandler(silent{}))
	if err != nil {
		return nil, fmt.Errorf("devnet: parsing the archive's schema: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		status := n.archive.Status
		n.mu.Unlock()
		if status != 0 {
			http.Error(w, http.StatusText(status), status)
			return
		}
		var request struct {
			Query     string         `json:"query"`
			Variables map[string]any `json:"variables"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&request); err != nil || nesting(request.Query) > maxNesting {
			http.Error(w, "Must provide a query string", http.StatusBadRequest)
			return
		}
		writeAnswer(w, schema.Exec(r.Context(), request.Query, "", request.Variables))
	}), nil
}

type archiveRoot struct{ n *Network }

type archivedBlock struct {
	BlockHeight                     int32
	StateHash, ParentHash, DateTime string
	Transactions                    archivedTransactions
}

type archivedTransactions struct {
	Coinbase      string
	ZkappCommands []archivedZkapp
}

type archivedZkapp struct {
	Hash, FeePayer, Fee, Memo, Status string
	FailureReason                     *string
}

type blockQuery struct {
	BlockHeightGte, BlockHeightLt *int32
	Canonical, InBestChain        *bool
}

func (r *archiveRoot) Blocks(args struct {
	Query  *blockQuery
	Limit  *int32
	SortBy *string
}) ([]*archivedBlock, error) {
	q := blockQuery{}
	if args.Query != nil {
		q = *args.Query
	}
	if q.BlockHeightGte != nil && q.BlockHeightLt != nil && *q.BlockHeightLt-*q.BlockHeightGte > maxArchived {
		return nil, fmt.Errorf("The block range is too large. The maximum range is %d", maxArchived) //nolint:staticcheck // the archive's text
	}
	n := r.n
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []*block
	for _, b := range n.core.known {
		best := n.core.holds(b)
		canonical := best && int(n.core.tip().height)-int(b.height) >= n.config.K
		switch height := int32(b.height); {
		case int(b.height) > int(n.core.tip().height)-n.archive.Behind,
			q.BlockHeightGte != nil && height < *q.BlockHeightGte, q.BlockHeightLt != nil && height >= *q.BlockHeightLt,
			q.Canonical != nil && *q.Canonical != canonical, q.InBestChain != nil && *q.InBestChain != best:
		default:
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b *block) int {
		if args.SortBy != nil && *args.SortBy == "BLOCKHEIGHT_ASC" {
			a, b = b, a
		}
		return int(int64(b.height) - int64(a.height))
	})
	if args.Limit != nil {
		found = found[:min(len(found), max(0, int(*args.Limit)))]
	}
	out := make([]*archivedBlock, len(found))
	for i, b := range found {
		out[i] = n.archived(b)
	}
	return out, nil
}

func (n *Network) archived(b *block) *archivedBlock {
	a := &archivedBlock{
		BlockHeight: int32(b.height), StateHash: b.hash, DateTime: b.at.UTC().Format(time.RFC3339),
		Transactions: archivedTransactions{Coinbase: string(n.config.Era.coinbase()), ZkappCommands: []archivedZkapp{}},
	}
	if n.archive.Bare {
		return a
	}
	if b.parent != nil {
		a.ParentHash = b.parent.hash
	}
	for _, c := range b.commands {
		if c.Kind != KindZkapp {
			continue
		}
		z := archivedZkapp{Hash: c.Hash, FeePayer: c.Payer, Fee: string(decimal(c.Fee)), Memo: c.memo58, Status: "applied"}
		if c.failed() {
			z.Status = "failed"
			z.FailureReason = new(cause(c.failures))
		}
		a.Transactions.ZkappCommands = append(a.Transactions.ZkappCommands, z)
	}
	return a
}

// cause is the first reason that is one.
func cause(failures []Failure) string {
	for _, f := range failures {
		for _, reason := range f.Failures {
			if reason != "Cancelled" {
				return reason
			}
		}
	}
	return "Cancelled"
}

type archivedHeights struct{ CanonicalMaxBlockHeight, PendingMaxBlockHeight int32 }

func (r *archiveRoot) NetworkState() struct{ MaxBlockHeight *archivedHeights } {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	top := int32(r.n.core.tip().height) - int32(r.n.archive.Behind)
	return struct{ MaxBlockHeight *archivedHeights }{&archivedHeights{max(1, top-int32(r.n.config.K)), max(1, top)}}
}
