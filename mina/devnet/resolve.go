package devnet

import (
	"math"
	"strconv"

	"github.com/graph-gophers/graphql-go"
)

// What follows resolves the schema's object types. Blocks and commands do not
// change, so their resolvers need no lock and copy nothing.

func decimal[T uint32 | uint64](n T) text { return text(strconv.FormatUint(uint64(n), 10)) }

type blockResolver struct {
	d *Node
	b *block
}

// creator is whom all blocks name as their producer.
const creator = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"

func (r blockResolver) StateHash() string                  { return r.b.hash }
func (r blockResolver) Creator() text                      { return creator }
func (r blockResolver) ProtocolState() protocolResolver    { return protocolResolver(r) }
func (r blockResolver) Transactions() transactionsResolver { return transactionsResolver(r) }
func (r blockResolver) CommandTransactionCount() int32     { return int32(len(r.b.commands)) }

type protocolResolver blockResolver

func (r protocolResolver) PreviousStateHash() string {
	if r.b.parent == nil {
		return digest58(versionStateHash, 1, []byte("before genesis"))
	}
	return r.b.parent.hash
}
func (r protocolResolver) BlockchainState() blockchainResolver { return blockchainResolver(r) }
func (r protocolResolver) ConsensusState() consensusResolver   { return consensusResolver(r) }

type blockchainResolver blockResolver

func (r blockchainResolver) Date() text    { return text(strconv.FormatInt(r.b.at.UnixMilli(), 10)) }
func (r blockchainResolver) UtcDate() text { return r.Date() }
func (r blockchainResolver) SnarkedLedgerHash() text {
	return text(digest58(versionLedgerHash, 1, []byte("snarked")))
}
func (r blockchainResolver) StagedLedgerHash() text {
	return text(digest58(versionLedgerHash, 1, []byte(r.b.hash)))
}
func (r blockchainResolver) StagedLedgerProofEmitted() *bool { return new(bool) }

const (
	slotsPerEpoch = 7140
	totalCurrency = text("1200000000000000000")
)

type consensusResolver blockResolver

func (r consensusResolver) BlockHeight() text                       { return decimal(r.b.height) }
func (r consensusResolver) SlotSinceGenesis() text                  { return decimal(r.b.slot) }
func (r consensusResolver) Slot() text                              { return decimal(r.since() % slotsPerEpoch) }
func (r consensusResolver) Epoch() text                             { return decimal(r.since() / slotsPerEpoch) }
func (r consensusResolver) EpochCount() text                        { return r.Epoch() }
func (r consensusResolver) MinWindowDensity() text                  { return "77" }
func (r consensusResolver) TotalCurrency() text                     { return totalCurrency }
func (r consensusResolver) HasAncestorInSameCheckpointWindow() bool { return true }
func (r consensusResolver) StakingEpochData() epochResolver         { return epochResolver{"staking"} }
func (r consensusResolver) NextEpochData() epochResolver            { return epochResolver{"next"} }

// since is the slot since the last hard fork.
func (r consensusResolver) since() uint32 { return r.b.slot - r.d.network.base }

type epochResolver struct{ name string }

func (r epochResolver) Ledger() epochLedgerResolver { return epochLedgerResolver(r) }
func (r epochResolver) Seed() text                  { return text(digest58(versionEpochSeed, 1, []byte(r.name))) }
func (r epochResolver) StartCheckpoint() text {
	return text(digest58(versionStateHash, 1, []byte("start "+r.name)))
}
func (r epochResolver) LockCheckpoint() text {
	return text(digest58(versionStateHash, 1, []byte("lock "+r.name)))
}
func (r epochResolver) EpochLength() text { return "1" }

type epochLedgerResolver epochResolver

func (r epochLedgerResolver) Hash() *text {
	return new(text(digest58(versionLedgerHash, 1, []byte(r.name))))
}
func (r epochLedgerResolver) TotalCurrency() text { return totalCurrency }

type transactionsResolver blockResolver

func (r transactionsResolver) Coinbase() text { return r.d.network.config.Era.coinbase() }

func (r transactionsResolver) UserCommands() []paymentResolver {
	out := []paymentResolver{}
	for _, c := range r.b.commands {
		if c.Kind == KindPayment {
			out = append(out, paymentResolver{r.d, c})
		}
	}
	return out
}

func (r transactionsResolver) ZkappCommands() []zkappResolver {
	out := make([]zkappResolver, 0, len(r.b.commands))
	for _, c := range r.b.commands {
		if c.Kind == KindZkapp {
			out = append(out, zkappResolver{c})
		}
	}
	return out
}

type zkappResolver struct{ c included }

func (r zkappResolver) ID() graphql.ID                { return graphql.ID(r.c.id()) }
func (r zkappResolver) Hash() text                    { return text(r.c.Hash) }
func (r zkappResolver) ZkappCommand() commandResolver { return commandResolver{r.c.command} }
func (r zkappResolver) FailureReason() *[]*failureResolver {
	if len(r.c.failures) == 0 {
		return nil
	}
	out := make([]*failureResolver, len(r.c.failures))
	for i, f := range r.c.failures {
		out[i] = &failureResolver{f}
	}
	return &out
}

type failureResolver struct{ f Failure }

func (r *failureResolver) Index() *text { return new(text(r.f.Index)) }
func (r *failureResolver) Failures() []text {
	out := make([]text, len(r.f.Failures))
	for i, s := range r.f.Failures {
		out[i] = text(s)
	}
	return out
}

type commandResolver struct{ c *command }

func (r commandResolver) Memo() text                 { return text(r.c.memo58) }
func (r commandResolver) FeePayer() feePayerResolver { return feePayerResolver(r) }
func (r commandResolver) AccountUpdates() []updateResolver {
	out := make([]updateResolver, len(r.c.input.AccountUpdates))
	for i := range out {
		out[i] = updateResolver{&r.c.input.AccountUpdates[i]}
	}
	return out
}

type feePayerResolver commandResolver

func (r feePayerResolver) Body() feePayerResolver { return r }
func (r feePayerResolver) Authorization() text    { return r.c.input.FeePayer.Authorization }
func (r feePayerResolver) PublicKey() text        { return text(r.c.Payer) }
func (r feePayerResolver) Fee() text              { return decimal(r.c.Fee) }
func (r feePayerResolver) Nonce() text            { return decimal(r.c.Nonce) }
func (r feePayerResolver) ValidUntil() *text {
	if r.c.ValidUntil == math.MaxUint32 {
		return nil
	}
	return new(decimal(r.c.ValidUntil))
}

type updateResolver struct{ in *updateInput }

func (r updateResolver) Body() updateResolver           { return r }
func (r updateResolver) Authorization() controlResolver { return controlResolver(r) }
func (r updateResolver) PublicKey() text                { return r.in.Body.PublicKey }
func (r updateResolver) CallDepth() int32               { return r.in.Body.CallDepth }
func (r updateResolver) CallData() text                 { return r.in.Body.CallData }
func (r updateResolver) IncrementNonce() bool           { return r.in.Body.IncrementNonce }
func (r updateResolver) UseFullCommitment() bool        { return r.in.Body.UseFullCommitment }
func (r updateResolver) ImplicitAccountCreationFee() bool {
	return r.in.Body.ImplicitAccountCreationFee
}
func (r updateResolver) TokenID() text {
	if t := r.in.Body.TokenID; t != nil {
		return *t
	}
	return defaultToken
}

type controlResolver updateResolver

func (r controlResolver) Proof() *text     { return r.in.Authorization.Proof }
func (r controlResolver) Signature() *text { return r.in.Authorization.Signature }

type paymentResolver struct {
	d *Node
	c included
}

func (r paymentResolver) ID() graphql.ID             { return graphql.ID(r.c.id()) }
func (r paymentResolver) Hash() text                 { return text(r.c.Hash) }
func (r paymentResolver) Kind() text                 { return "PAYMENT" }
func (r paymentResolver) Nonce() int32               { return int32(r.c.Nonce) }
func (r paymentResolver) Source() *accountResolver   { return r.d.lookup(r.c.Payer, defaultToken) }
func (r paymentResolver) FeePayer() *accountResolver { return r.Source() }
func (r paymentResolver) Receiver() *accountResolver {
	return r.d.lookup(r.c.Accounts[0], defaultToken)
}
func (r paymentResolver) ValidUntil() text { return decimal(r.c.ValidUntil) }
func (r paymentResolver) Token() text      { return defaultToken }
func (r paymentResolver) Amount() text     { return decimal(r.c.amount) }
func (r paymentResolver) FeeToken() text   { return defaultToken }
func (r paymentResolver) Fee() text        { return decimal(r.c.Fee) }
func (r paymentResolver) Memo() text       { return text(r.c.memo58) }
func (r paymentResolver) FailureReason() *string {
	if r.c.reason == "" {
		return nil
	}
	return &r.c.reason
}

// lookup resolves an account at the node's best tip, or one with a key only.
func (d *Node) lookup(key string, token text) *accountResolver {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if r := d.resolveAccount(key, token); r != nil {
		return r
	}
	return &accountResolver{key: text(key), token: token, a: &account{}, tip: d.tip()}
}

// resolveAccount needs the lock; nil if there is no such account.
func (d *Node) resolveAccount(key string, token text) *accountResolver {
	full := key
	if token != defaultToken {
		full += ":" + string(token)
	}
	a := d.account(full)
	if a == nil {
		return nil
	}
	return &accountResolver{text(key), token, a, d.inferredNonce(full, a), d.tip(), d.network.config.Era}
}

type accountResolver struct {
	key, token text
	a          *account
	inferred   uint32
	tip        *block
	era        Era
}

func (r *accountResolver) PublicKey() text          { return r.key }
func (r *accountResolver) Token() text              { return r.token }
func (r *accountResolver) TokenID() text            { return r.token }
func (r *accountResolver) Nonce() *text             { return new(decimal(r.a.nonce)) }
func (r *accountResolver) InferredNonce() *text     { return new(decimal(r.inferred)) }
func (r *accountResolver) Balance() balanceResolver { return balanceResolver{r} }
func (r *accountResolver) TokenSymbol() *string     { return &r.a.tokenSymbol }
func (r *accountResolver) Timing() timingResolver   { return timingResolver{r.a.locked} }
func (r *accountResolver) Permissions() *permissionsResolver {
	return &permissionsResolver{r.a.permissions, r.era}
}
func (r *accountResolver) Delegate() *text                   { return &r.key }
func (r *accountResolver) DelegateAccount() *accountResolver { return r }
func (r *accountResolver) ReceiptChainHash() *text {
	return new(text(digest58(versionReceiptChain, 1, []byte(r.key))))
}
func (r *accountResolver) VotingFor() *text {
	return new(text(encode58(versionStateHash, append([]byte{1}, make([]byte, 32)...))))
}

func (r *accountResolver) ZkappState() *[]text {
	if r.a.zkapp == nil {
		return nil
	}
	out := make([]text, r.era.Fields())
	for i := range out {
		out[i] = text(r.a.field(i))
	}
	return &out
}

func (r *accountResolver) ActionState() *[]text {
	if r.a.zkapp == nil {
		return nil
	}
	return &[]text{emptyActions, emptyActions, emptyActions, emptyActions, emptyActions}
}

func (r *accountResolver) ProvedState() *bool {
	if r.a.zkapp == nil {
		return nil
	}
	return &r.a.zkapp.proved
}

func (r *accountResolver) ZkappURI() *string {
	if r.a.zkapp == nil {
		return nil
	}
	return &r.a.zkapp.uri
}

func (r *accountResolver) VerificationKey() *keyResolver {
	if r.a.zkapp == nil || r.a.zkapp.keyData == "" {
		return nil
	}
	return &keyResolver{r.a.zkapp}
}

type keyResolver struct{ z *zkappState }

func (r *keyResolver) VerificationKey() text { return text(r.z.keyData) }
func (r *keyResolver) Hash() text            { return text(r.z.keyHash) }

type balanceResolver struct{ r *accountResolver }

func (b balanceResolver) Total() text       { return decimal(b.r.a.balance) }
func (b balanceResolver) Unknown() text     { return b.Total() }
func (b balanceResolver) Liquid() *text     { return new(decimal(b.r.a.liquid())) }
func (b balanceResolver) Locked() *text     { return new(decimal(b.r.a.balance - b.r.a.liquid())) }
func (b balanceResolver) BlockHeight() text { return decimal(b.r.tip.height) }
func (b balanceResolver) StateHash() *text  { return new(text(b.r.tip.hash)) }

// timingResolver is that of an account without vesting, or of one whose vesting begins in the last
// slot there is.
type timingResolver struct{ locked uint64 }

func (t timingResolver) of(n uint64) *text {
	if t.locked == 0 {
		return nil
	}
	return new(decimal(n))
}

func (t timingResolver) InitialMinimumBalance() *text { return t.of(t.locked) }
func (t timingResolver) CliffTime() *text             { return t.of(math.MaxUint32) }
func (t timingResolver) CliffAmount() *text           { return t.of(t.locked) }
func (t timingResolver) VestingPeriod() *text         { return t.of(1) }
func (t timingResolver) VestingIncrement() *text      { return t.of(0) }

// permissionsResolver answers what an update has set, else a new account's.
type permissionsResolver struct {
	given map[string]any
	era   Era
}

func (r *permissionsResolver) of(name, otherwise string) text {
	if v, ok := r.given[name].(string); ok {
		return text(v)
	}
	return text(otherwise)
}

func (r *permissionsResolver) EditState() text       { return r.of("editState", "Signature") }
func (r *permissionsResolver) Access() text          { return r.of("access", "None") }
func (r *permissionsResolver) Send() text            { return r.of("send", "Signature") }
func (r *permissionsResolver) Receive() text         { return r.of("receive", "None") }
func (r *permissionsResolver) SetDelegate() text     { return r.of("setDelegate", "Signature") }
func (r *permissionsResolver) SetPermissions() text  { return r.of("setPermissions", "Signature") }
func (r *permissionsResolver) SetZkappURI() text     { return r.of("setZkappUri", "Signature") }
func (r *permissionsResolver) EditActionState() text { return r.of("editActionState", "Signature") }
func (r *permissionsResolver) SetTokenSymbol() text  { return r.of("setTokenSymbol", "Signature") }
func (r *permissionsResolver) IncrementNonce() text  { return r.of("incrementNonce", "Signature") }
func (r *permissionsResolver) SetVotingFor() text    { return r.of("setVotingFor", "Signature") }
func (r *permissionsResolver) SetTiming() text       { return r.of("setTiming", "Signature") }
func (r *permissionsResolver) SetVerificationKey() keyPermission {
	m, _ := r.given["setVerificationKey"].(map[string]any)
	return keyPermission{permissionsResolver{m, r.era}}
}

type keyPermission struct{ r permissionsResolver }

func (k keyPermission) Auth() text         { return k.r.of("auth", "Signature") }
func (k keyPermission) TxnVersion() string { return string(k.r.of("txnVersion", k.r.era.version())) }
