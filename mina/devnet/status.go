package devnet

import (
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"golang.org/x/crypto/blake2b"
)

func (r *root) SyncStatus() text {
	d, unlock := r.lock()
	defer unlock()
	return d.syncStatus()
}

func (d *Node) syncStatus() text {
	if d.faults.Sync == "" {
		return "SYNCED"
	}
	return text(d.faults.Sync)
}

func (d *Node) networkID() string {
	if d.faults.NetworkID != "" {
		return d.faults.NetworkID
	}
	return d.network.config.NetworkID
}

func (r *root) NetworkID() string {
	d, unlock := r.lock()
	defer unlock()
	return "mina:" + d.networkID()
}

func (r *root) SignatureKind() string {
	d, unlock := r.lock()
	defer unlock()
	if id := d.networkID(); id != "mainnet" && id != "testnet" {
		return "other network: " + id
	}
	return d.networkID()
}

func (r *root) Version() *string { return new(commit) }

// commit stands for the git commit of a daemon's build.
const commit = "0000000000000000000000000000000000000000"

func (r *root) RuntimeConfig() tree {
	return tree{map[string]any{"genesis": map[string]any{"genesis_state_timestamp": r.d.genesisTime()}}}
}

// genesisTime is written as the daemon does, with microseconds and an offset of eight hours.
func (d *Node) genesisTime() string {
	zone := time.FixedZone("", -8*60*60)
	return d.network.config.Genesis.In(zone).Format("2006-01-02T15:04:05.000000-07:00")
}

type genesisConstants struct {
	AccountCreationFee, Coinbase text
	GenesisTimestamp             string
}

func (r *root) GenesisConstants() genesisConstants {
	return genesisConstants{decimal(r.d.network.config.CreationFee), r.d.network.config.Era.coinbase(), r.d.genesisTime()}
}

func (r *root) GenesisBlock() blockResolver {
	d, unlock := r.lock()
	defer unlock()
	return blockResolver{d, d.network.first}
}

type daemonStatus struct {
	SyncStatus                                                        text
	BlockchainLength, GlobalSlotSinceGenesisBestTip                   *int32
	HighestBlockLengthReceived, HighestUnvalidatedBlockLengthReceived int32
	StateHash                                                         *string
	ChainID, CommitID, ConsensusMechanism                             string
	UptimeSecs, UserCommandsSent                                      int32
	Peers                                                             []peer
	ConsensusTimeBestTip                                              *consensusTime
	ConsensusTimeNow                                                  consensusTime
	ConsensusConfiguration                                            consensusConfiguration
	Metrics                                                           metrics
}

type peer struct {
	Host       string
	Libp2pPort int32
	PeerID     string
}

type consensusTime struct {
	Epoch, Slot, GlobalSlot text
	StartTime, EndTime      string
}

type consensusConfiguration struct {
	Delta, K, SlotsPerEpoch, SlotDuration, EpochDuration int32
	GenesisStateTimestamp                                string
	AcceptableNetworkDelay                               int32
}

type metrics struct {
	TransactionPoolSize, TransactionsAddedToPool                int32
	TransactionPoolDiffReceived, TransactionPoolDiffBroadcasted int32
}

func (d *Node) consensusTime(slot uint32) consensusTime {
	start, since := d.network.begins(slot), slot-d.network.base
	ms := func(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
	return consensusTime{
		decimal(since / slotsPerEpoch), decimal(since % slotsPerEpoch), decimal(slot),
		ms(start), ms(start.Add(d.network.config.SlotTime)),
	}
}

func (r *root) DaemonStatus() daemonStatus {
	d, unlock := r.lock()
	defer unlock()
	c := &d.network.config
	chain := blake2b.Sum256([]byte(d.networkID() + d.genesisTime()))
	slotMS := c.SlotTime.Milliseconds()
	out := daemonStatus{
		SyncStatus: d.syncStatus(), HighestBlockLengthReceived: int32(d.highest),
		HighestUnvalidatedBlockLengthReceived: int32(d.highest),
		ChainID:                               hex.EncodeToString(chain[:]), CommitID: commit, ConsensusMechanism: "proof_of_stake",
		UptimeSecs: int32(min(max(0, time.Since(c.Genesis)/time.Second), math.MaxInt32)), UserCommandsSent: d.sent, Peers: []peer{},
		ConsensusTimeNow: d.consensusTime(d.network.now()),
		ConsensusConfiguration: consensusConfiguration{
			K: int32(c.K), SlotsPerEpoch: slotsPerEpoch, SlotDuration: int32(slotMS),
			EpochDuration: int32(min(slotMS*slotsPerEpoch, math.MaxInt32)), GenesisStateTimestamp: d.genesisTime(),
			AcceptableNetworkDelay: int32(slotMS),
		},
		Metrics: metrics{int32(len(d.pool.byHash)), d.added, d.added, d.sent},
	}
	for i, other := range d.network.nodes {
		if other != d && other.reachable() && d.reachable() {
			out.Peers = append(out.Peers, peer{"127.0.0.1", 8302, fmt.Sprintf("12D3KooWdevnet%d", i)})
		}
	}
	if d.frontier() {
		tip := d.tip()
		out.BlockchainLength, out.StateHash = new(int32(tip.height)), &tip.hash
		out.GlobalSlotSinceGenesisBestTip = new(int32(tip.slot))
		out.ConsensusTimeBestTip = new(d.consensusTime(tip.slot))
	}
	return out
}
