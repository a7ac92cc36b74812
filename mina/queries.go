package mina

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A Status is what a node says of itself and its network.
type Status struct {
	Sync      string // "SYNCED", or why not: "BOOTSTRAP", "CATCHUP", "OFFLINE", …
	NetworkID string // "mina:mainnet", "mina:testnet", …
	StateHash string // of its tip; empty while it has none
	Height    uint32 // of its tip; 0 while it has none
	Highest   uint32 // the greatest height it has heard of
	TipSlot   uint32 // slotSinceGenesis of its tip

	K             uint32        // depth of the transition frontier
	SlotTime      time.Duration // length of a slot
	SlotsPerEpoch uint32
	Genesis       time.Time // of the running network, since the last hard fork; zero if not told
}

// Synced reports whether the node trusts its own tip.
func (s Status) Synced() bool { return s.Sync == "SYNCED" }

const statusFields = `syncStatus networkID daemonStatus {
	blockchainLength highestBlockLengthReceived stateHash globalSlotSinceGenesisBestTip
	consensusConfiguration { k slotDuration slotsPerEpoch genesisStateTimestamp } }`

type statusData struct {
	SyncStatus   string `json:"syncStatus"`
	NetworkID    string `json:"networkID"`
	DaemonStatus *struct {
		Height    text32 `json:"blockchainLength"`
		Highest   text32 `json:"highestBlockLengthReceived"`
		StateHash string `json:"stateHash"`
		TipSlot   text32 `json:"globalSlotSinceGenesisBestTip"`
		Consensus struct {
			K             text32 `json:"k"`
			SlotDuration  text32 `json:"slotDuration"` // milliseconds
			SlotsPerEpoch text32 `json:"slotsPerEpoch"`
			Genesis       string `json:"genesisStateTimestamp"`
		} `json:"consensusConfiguration"`
	} `json:"daemonStatus"`
}

func (n *Node) status(data statusData) (Status, error) {
	d := data.DaemonStatus
	if d == nil || data.SyncStatus == "" {
		return Status{}, n.silent("no status in the answer")
	}
	return Status{
		Sync: data.SyncStatus, NetworkID: data.NetworkID, StateHash: d.StateHash,
		Height: uint32(d.Height), Highest: uint32(d.Highest), TipSlot: uint32(d.TipSlot),
		K: uint32(d.Consensus.K), SlotTime: time.Duration(d.Consensus.SlotDuration) * time.Millisecond,
		SlotsPerEpoch: uint32(d.Consensus.SlotsPerEpoch), Genesis: parseTime(d.Consensus.Genesis),
	}, nil
}

// Status asks for the node's state.
func (n *Node) Status(ctx context.Context) (Status, error) {
	var data statusData
	err := n.query(ctx, "{ "+statusFields+" }", nil, &data)
	var status Status
	if err == nil {
		status, err = n.status(data)
	}
	if err != nil {
		return Status{}, fmt.Errorf("asking for the status: %w", err)
	}
	return status, nil
}

// StatusAndChain asks for what Status and BestChain do in one question. There is
// no chain if the node is not synced.
func (n *Node) StatusAndChain(ctx context.Context, max int) (Status, []Header, error) {
	var data struct {
		statusData
		BestChain []headerData `json:"bestChain"`
	}
	refused, err := n.ask(ctx, "query($max: Int) { "+statusFields+" "+chainFields+" }", map[string]any{"max": max}, &data)
	var status Status
	if err == nil {
		status, err = n.status(data.statusData)
	}
	// Mina: a daemon that is bootstrapping tells its status, and an error for its chain.
	if len(refused) > 0 && (err != nil || status.Synced()) {
		err = n.silent("query refused: " + strings.Join(refused, "; "))
	}
	if err != nil {
		return Status{}, nil, fmt.Errorf("asking for the status: %w", err)
	}
	if !status.Synced() {
		return status, nil, nil
	}
	chain, err := n.chain(data.BestChain, max)
	return status, chain, err
}

// A Header is a block's place in the chain.
type Header struct {
	StateHash         string
	PreviousStateHash string
	Height            uint32
	Slot              uint32 // since the first genesis, across hard forks
	// The slot since the last hard fork, as epoch and slot in the epoch; known
	// to BestChain only.
	Epoch, EpochSlot uint32
}

type headerData struct {
	StateHash     string `json:"stateHash"`
	ProtocolState struct {
		Previous  string `json:"previousStateHash"`
		Consensus struct {
			Height text32 `json:"blockHeight"`
			Slot   text32 `json:"slotSinceGenesis"`
			Epoch  text32 `json:"epoch"`
			InSlot text32 `json:"slot"`
		} `json:"consensusState"`
	} `json:"protocolState"`
}

func (d headerData) header() Header {
	p := d.ProtocolState
	return Header{
		StateHash: d.StateHash, PreviousStateHash: p.Previous,
		Height: uint32(p.Consensus.Height), Slot: uint32(p.Consensus.Slot),
	}
}

const chainFields = `bestChain(maxLength: $max) {
	stateHash protocolState { previousStateHash consensusState { blockHeight slotSinceGenesis epoch slot } } }`

// BestChain asks for at most max headers down from the tip, and returns them
// oldest first: the tip is the last. They are at least one, linked by
// PreviousStateHash, and no slot is below the one before.
func (n *Node) BestChain(ctx context.Context, max int) ([]Header, error) {
	var data struct {
		BestChain []headerData `json:"bestChain"`
	}
	err := n.query(ctx, "query($max: Int) { "+chainFields+" }", map[string]any{"max": max}, &data)
	if err != nil {
		return nil, fmt.Errorf("asking for the best chain: %w", err)
	}
	return n.chain(data.BestChain, max)
}

func (n *Node) chain(data []headerData, max int) ([]Header, error) {
	if len(data) == 0 || len(data) > max {
		return nil, fmt.Errorf("asking for the best chain: %w",
			n.silent(fmt.Sprintf("%d blocks instead of 1 to %d", len(data), max)))
	}
	chain := make([]Header, len(data))
	for i, d := range data {
		c := d.ProtocolState.Consensus
		chain[i] = d.header()
		chain[i].Epoch, chain[i].EpochSlot = uint32(c.Epoch), uint32(c.InSlot)
		if chain[i].StateHash == "" || i > 0 && !chain[i-1].leadsTo(chain[i]) {
			return nil, fmt.Errorf("asking for the best chain: %w", n.silent("its blocks are no chain"))
		}
	}
	return chain, nil
}

// leadsTo reports whether next can be the block after h.
func (h Header) leadsTo(next Header) bool {
	return next.PreviousStateHash == h.StateHash && next.Height == h.Height+1 && next.Slot >= h.Slot
}

// A Command is a transaction in a block or in a pool.
type Command struct {
	Hash       string
	Payer      string
	Nonce      uint32
	Fee        uint64    // nanomina
	ValidUntil uint32    // slot since genesis; 0 means that nothing limits it
	Memo       string    // base58; zkApp commands only
	Payment    bool      // a payment or delegation, not a zkApp command
	Failed     bool      // included without effect; fee and nonce are spent all the same
	Failures   []Failure // why, zkApp commands only
}

// A Block is a header with the commands of that block.
type Block struct {
	Header
	Commands []Command
}

// Zkapps is how many zkApp commands it holds.
func (b *Block) Zkapps() (n int) {
	for i := range b.Commands {
		if !b.Commands[i].Payment {
			n++
		}
	}
	return n
}

const zkappFields = `hash zkappCommand { memo feePayer { body { publicKey fee nonce validUntil } } }`

type zkappData struct {
	Hash          string `json:"hash"`
	FailureReason []struct {
		Index    text32   `json:"index"`
		Failures []string `json:"failures"`
	} `json:"failureReason"`
	Command struct {
		Memo     string `json:"memo"`
		FeePayer struct {
			Body struct {
				PublicKey  string `json:"publicKey"`
				Fee        text64 `json:"fee"`
				Nonce      text32 `json:"nonce"`
				ValidUntil text32 `json:"validUntil"`
			} `json:"body"`
		} `json:"feePayer"`
	} `json:"zkappCommand"`
}

func (d zkappData) command() Command {
	body := d.Command.FeePayer.Body
	c := Command{
		Hash: d.Hash, Payer: body.PublicKey, Nonce: uint32(body.Nonce), Fee: uint64(body.Fee),
		ValidUntil: uint32(body.ValidUntil), Memo: d.Command.Memo, Failed: len(d.FailureReason) > 0,
	}
	if c.ValidUntil == 1<<32-1 {
		c.ValidUntil = 0
	}
	for _, f := range d.FailureReason {
		c.Failures = append(c.Failures, Failure{Index: int(f.Index), Reasons: f.Failures})
	}
	return c
}

const blockFields = `{ stateHash protocolState { previousStateHash consensusState { blockHeight slotSinceGenesis } }
	transactions {
		zkappCommands { failureReason { index failures } ` + zkappFields + ` }
		userCommands { hash nonce fee feePayer { publicKey } failureReason } } } `

type blockData struct {
	headerData
	Transactions struct {
		Zkapps   []zkappData `json:"zkappCommands"`
		Payments []struct {
			Hash     string `json:"hash"`
			Nonce    text32 `json:"nonce"`
			Fee      text64 `json:"fee"`
			FeePayer struct {
				PublicKey string `json:"publicKey"`
			} `json:"feePayer"`
			FailureReason string `json:"failureReason"`
		} `json:"userCommands"`
	} `json:"transactions"`
}

func (d *blockData) block() Block {
	block := Block{Header: d.header()}
	for _, z := range d.Transactions.Zkapps {
		block.Commands = append(block.Commands, z.command())
	}
	for _, p := range d.Transactions.Payments {
		block.Commands = append(block.Commands, Command{
			Hash: p.Hash, Payer: p.FeePayer.PublicKey, Nonce: uint32(p.Nonce), Fee: uint64(p.Fee),
			Payment: true, Failed: p.FailureReason != "",
		})
	}
	return block
}

// Block asks for a block and its commands; see Blocks.
func (n *Node) Block(ctx context.Context, stateHash string) (Block, error) {
	blocks, err := n.Blocks(ctx, stateHash)
	if err != nil {
		return Block{}, err
	}
	return blocks[0], nil
}

// Blocks asks for blocks and their commands in one question, and returns them in
// the order asked for, all or none. Mina: a block is found by state hash on every
// fork that the node still holds.
func (n *Node) Blocks(ctx context.Context, stateHashes ...string) ([]Block, error) {
	if len(stateHashes) == 0 {
		return nil, nil
	}
	var params, fields strings.Builder
	variables := make(map[string]any, len(stateHashes))
	for i, hash := range stateHashes {
		fmt.Fprintf(&params, "$%s: String ", alias(i))
		fmt.Fprintf(&fields, "%s: block(stateHash: $%[1]s) %s", alias(i), blockFields)
		variables[alias(i)] = hash
	}
	var data map[string]*blockData
	err := n.query(ctx, "query("+params.String()+") { "+fields.String()+"}", variables, &data)
	if err != nil {
		return nil, fmt.Errorf("asking for block %.60s: %w", strings.Join(stateHashes, ", "), err)
	}
	blocks := make([]Block, len(stateHashes))
	for i, hash := range stateHashes {
		d := data[alias(i)]
		if d == nil || d.StateHash != hash {
			return nil, fmt.Errorf("asking for block %.60s: %w", hash, n.silent("it is not in the answer"))
		}
		if d.Transactions.Zkapps == nil || d.Transactions.Payments == nil {
			return nil, fmt.Errorf("asking for block %.60s: %w", hash, n.silent("its commands are not in the answer"))
		}
		blocks[i] = d.block()
	}
	return blocks, nil
}

// Pooled asks which zkApp commands of these hashes lie in the node's pool, and
// returns those, by hash.
func (n *Node) Pooled(ctx context.Context, hashes []string) (map[string]Command, error) {
	found := map[string]Command{}
	if len(hashes) == 0 {
		return found, nil // Mina: no hashes would mean the whole pool
	}
	var data struct {
		Pooled []zkappData `json:"pooledZkappCommands"`
	}
	err := n.query(ctx, `query($hashes: [String!]) { pooledZkappCommands(hashes: $hashes) { `+zkappFields+` } }`,
		map[string]any{"hashes": hashes}, &data)
	if err != nil {
		return nil, fmt.Errorf("asking for the pool: %w", err)
	}
	if data.Pooled == nil {
		return nil, fmt.Errorf("asking for the pool: %w", n.silent("it is not in the answer"))
	}
	for _, z := range data.Pooled {
		found[z.Hash] = z.command()
	}
	return found, nil
}

// PooledBy asks which zkApp commands of these payers lie in the node's pool, in
// one call, and returns them by payer in the order of their nonces.
func (n *Node) PooledBy(ctx context.Context, payers ...string) (map[string][]Command, error) {
	fields, err := aliased("pooledZkappCommands", payers, zkappFields)
	if err != nil || len(payers) == 0 {
		return nil, err
	}
	var data map[string][]zkappData
	if err := n.query(ctx, "{ "+fields+"}", nil, &data); err != nil {
		return nil, fmt.Errorf("asking for the pool: %w", err)
	}
	found := map[string][]Command{}
	for i, payer := range payers {
		if data[alias(i)] == nil {
			return nil, fmt.Errorf("asking for the pool: %w", n.silent("no answer for "+payer))
		}
		for _, z := range data[alias(i)] {
			if c := z.command(); c.Payer == payer {
				found[payer] = append(found[payer], c)
			}
		}
	}
	return found, nil
}

// An Account is an account as the ledger of a node's tip has it.
type Account struct {
	PublicKey     string
	Exists        bool
	Nonce         uint32 // the next one that the ledger takes
	InferredNonce uint32 // the next one after those in the pool
	Balance       uint64 // nanomina that it may spend
	Locked        uint64 // nanomina that it holds beside them, and that its timing keeps
}

// Account asks for one account; see Accounts.
func (n *Node) Account(ctx context.Context, publicKey string) (Account, error) {
	found, err := n.Accounts(ctx, []string{publicKey})
	return found[publicKey], err
}

// Accounts asks for many accounts in one call; those that do not exist are
// returned with Exists false. ErrNotSynced: the node does not trust its own
// ledger, so that it can say nothing of any account. ErrBase58Check: a key that
// is none. Where a node gives no liquid balance, all that the account holds counts as that; a schema
// without the field is refused like any other question.
func (n *Node) Accounts(ctx context.Context, publicKeys []string) (map[string]Account, error) {
	found, _, err := n.ledger(ctx, publicKeys)
	return found, err
}

// ledger is Accounts, and tells which block was the tip when all had been looked up.
func (n *Node) ledger(ctx context.Context, publicKeys []string) (found map[string]Account, tip string, err error) {
	fields, err := aliased("account", publicKeys, "nonce inferredNonce balance { total liquid }")
	if err != nil {
		return nil, "", err
	}
	var data map[string]json.RawMessage
	if err := n.query(ctx, "{ syncStatus "+fields+"daemonStatus { stateHash } }", nil, &data); err != nil {
		return nil, "", fmt.Errorf("asking for accounts: %w", err)
	}
	if string(data["syncStatus"]) != `"SYNCED"` {
		return nil, "", fmt.Errorf("asking for accounts: %s: %w", n.name, ErrNotSynced)
	}
	var status struct {
		StateHash string `json:"stateHash"`
	}
	if err := json.Unmarshal(data["daemonStatus"], &status); err != nil {
		return nil, "", fmt.Errorf("asking for accounts: %w", n.silent("no status in the answer"))
	}
	found = make(map[string]Account, len(publicKeys))
	for i, key := range publicKeys {
		var a *struct {
			Nonce    text32 `json:"nonce"`
			Inferred text32 `json:"inferredNonce"`
			Balance  struct {
				Total  text64  `json:"total"`
				Liquid *text64 `json:"liquid"`
			} `json:"balance"`
		}
		if err := json.Unmarshal(data[alias(i)], &a); err != nil {
			return nil, "", fmt.Errorf("asking for accounts: %w", n.silent("no answer for "+key))
		}
		account := Account{PublicKey: key, Exists: a != nil}
		if a != nil {
			account.Nonce, account.InferredNonce, account.Balance = uint32(a.Nonce), uint32(a.Inferred), uint64(a.Balance.Total)
			if l := a.Balance.Liquid; l != nil && *l < a.Balance.Total {
				account.Balance, account.Locked = uint64(*l), uint64(a.Balance.Total-*l)
			}
		}
		found[key] = account
	}
	return found, status.StateHash, nil
}

// Lacks asks which of some accounts, each of one token, the ledger of the node's tip does not have, in one
// call. Errors as of Accounts; ErrBase58Check: also an id of a token that is none.
func (n *Node) Lacks(ctx context.Context, accounts []tx.Account) (absent []tx.Account, err error) {
	var text strings.Builder
	for i, a := range accounts {
		if _, err := DecodeCheck(VersionPublicKey, 35, a.Key); err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		if _, err := DecodeCheck(VersionToken, 32, a.Token); err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		fmt.Fprintf(&text, "%s: account(publicKey: %q, token: %q) { nonce } ", alias(i), a.Key, a.Token)
	}
	var data map[string]json.RawMessage
	if err := n.query(ctx, "{ syncStatus "+text.String()+"}", nil, &data); err != nil {
		return nil, fmt.Errorf("asking for accounts: %w", err)
	}
	if string(data["syncStatus"]) != `"SYNCED"` {
		return nil, fmt.Errorf("asking for accounts: %s: %w", n.name, ErrNotSynced)
	}
	for i, a := range accounts {
		switch said, is := data[alias(i)]; {
		case !is:
			return nil, fmt.Errorf("asking for accounts: %w", n.silent("no answer for "+a.Key))
		case string(said) == "null":
			absent = append(absent, a)
		}
	}
	return absent, nil
}

func alias(i int) string { return fmt.Sprintf("k%d", i) }

// aliased writes one field for each key. GraphQL has no variables for a list of
// fields, so only what decodes as a public key gets into the text.
func aliased(field string, keys []string, selection string) (string, error) {
	var text strings.Builder
	for i, key := range keys {
		if _, err := DecodeCheck(VersionPublicKey, 35, key); err != nil {
			return "", fmt.Errorf("public key: %w", err)
		}
		fmt.Fprintf(&text, "%s: %s(publicKey: %q) { %s } ", alias(i), field, key, selection)
	}
	return text.String(), nil
}
