package mina

import (
	"context"
	"fmt"

	"mina-sequencer/sequencer/fees"
)

// PoolSize asks how many commands of any kind lie in the node's pool.
func (n *Node) PoolSize(ctx context.Context) (int, error) {
	var data struct {
		DaemonStatus *struct {
			Metrics *struct {
				Size text32 `json:"transactionPoolSize"`
			} `json:"metrics"`
		} `json:"daemonStatus"`
	}
	err := n.query(ctx, "{ daemonStatus { metrics { transactionPoolSize } } }", nil, &data)
	if err == nil && (data.DaemonStatus == nil || data.DaemonStatus.Metrics == nil) {
		err = n.silent("it is not in the answer")
	}
	if err != nil {
		return 0, fmt.Errorf("asking for the size of the pool: %w", err)
	}
	return int(data.DaemonStatus.Metrics.Size), nil
}

// Offers asks what the zkApp commands in the node's pool pay and weigh, but for those
// whose payer is ours. Mina: payments have room of their own in a block.
func (n *Node) Offers(ctx context.Context, ours func(payer string) bool) ([]fees.Offer, error) {
	var data struct {
		Pooled []struct {
			Command struct {
				FeePayer struct {
					Body struct {
						PublicKey string `json:"publicKey"`
						Fee       text64 `json:"fee"`
					} `json:"body"`
				} `json:"feePayer"`
				Updates []struct{} `json:"accountUpdates"`
			} `json:"zkappCommand"`
		} `json:"pooledZkappCommands"`
	}
	// Nothing says how many updates there are; their depth is the shortest that each has.
	err := n.query(ctx, `{ pooledZkappCommands { zkappCommand {
		feePayer { body { publicKey fee } } accountUpdates { body { callDepth } } } } }`, nil, &data)
	if err == nil && data.Pooled == nil {
		err = n.silent("it is not in the answer")
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the pool: %w", err)
	}
	offers := make([]fees.Offer, 0, len(data.Pooled))
	for _, p := range data.Pooled {
		if c := &p.Command; !ours(c.FeePayer.Body.PublicKey) {
			offers = append(offers, fees.Offer{Fee: uint64(c.FeePayer.Body.Fee), Weight: 1 + len(c.Updates)})
		}
	}
	return offers, nil
}

// Offers asks one node after the other that had a vote at the last poll, until one
// answers: how many commands lie in its pool and, if they are more than a block takes,
// what others offer. ErrNoQuorum: none answers.
func (t *Tracker) Offers(
	ctx context.Context, takes int, ours func(payer string) bool,
) (size int, offers []fees.Offer, err error) {
	var failed []error
	for i, state := range t.Nodes() {
		if !state.Voting {
			continue
		}
		n := t.nodes[i]
		if size, err = n.PoolSize(ctx); err == nil && size > takes {
			offers, err = n.Offers(ctx, ours)
		}
		if err == nil {
			return size, offers, nil
		}
		failed = append(failed, err)
	}
	return 0, nil, because(fmt.Errorf("looking at the pool: %w", ErrNoQuorum), failed)
}
