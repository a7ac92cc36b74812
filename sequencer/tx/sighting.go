package tx

// A Watch asks the tracker what has become of one (payer, nonce), by every
// command that was ever signed for it.
type Watch struct {
	Payer  string   // base58 public key
	Nonce  uint32   // the nonce all Hashes were signed with
	Hashes []string // every known transaction hash, the worker's and the node's
	// Memo is the plain text that our own commands carry. A command at
	// (Payer, Nonce) whose hash is not known is ours if its memo decodes to
	// this, another's if it decodes to something else, and unclear otherwise.
	Memo string
	// ValidUntil is the last slot since genesis in which one of the commands can
	// still be included; 0 means that nothing limits them.
	ValidUntil uint32
	// Since is the slot since genesis from which on the commands may have been
	// included. "Not on the chain" is only said when the tracker has seen
	// every block from here to the tip.
	Since uint32
	// Legacy marks a command whose bytes and hash nobody told us: any command
	// of Payer at Nonce or above is taken for it, whatever its memo.
	Legacy bool
	// Found goes with Legacy: the command has been in a block, its hash is among
	// Hashes, and no other command is taken for it.
	Found bool
}

// Fate is what became of a watched (payer, nonce).
type Fate string

const (
	FateUnknown   Fate = "unknown"   // not enough synced nodes, not enough history, or nodes contradict each other
	FateAbsent    Fate = "absent"    // in no block and in no pool; it may still come
	FatePooled    Fate = "pooled"    // in the pool of at least one node
	FateIncluded  Fate = "included"  // in a block of the best chain, and succeeded
	FateFailed    Fate = "failed"    // in a block of the best chain, failed: fee and nonce are spent
	FateDisplaced Fate = "displaced" // the nonce was spent, and not by one of ours
	FateExpired   Fate = "expired"   // a block of the best chain lies past ValidUntil, the nonce is unspent
)

// fates is the one table of what a fate means.
var fates = map[Fate]struct {
	shown   bool // a node has the command
	ends    bool // nothing that was watched lands any more, as the chain stands
	unspent bool // nothing has used the nonce
}{
	FateAbsent:    {unspent: true},
	FatePooled:    {shown: true, unspent: true},
	FateIncluded:  {shown: true},
	FateFailed:    {shown: true, ends: true},
	FateDisplaced: {ends: true},
	FateExpired:   {ends: true, unspent: true},
}

// Shown reports whether a node has one of the commands that were watched, in its pool or in a block.
func (f Fate) Shown() bool { return fates[f].shown }

// Unspent reports whether, as the chain stands, nothing has used the nonce.
func (f Fate) Unspent() bool { return fates[f].unspent }

// Ends reports whether, as the chain stands, nothing that was watched lands any more.
func (f Fate) Ends() bool { return fates[f].ends }

// A Sighting is what all nodes together say of a Watch.
//
// One node's word is enough to wait: Pooled, Included and Failed are reported
// with Agreed false as soon as one node says so. Whatever gives up a nonce or
// ends a transaction needs Agreed: every synced node says the same, and at
// least the quorum of nodes is synced.
type Sighting struct {
	Fate   Fate
	Agreed bool
	// Depth is the number of blocks from the deciding one to the tip, both
	// included, the least that any agreeing node sees. The deciding block has
	// the command (Included, Failed, Displaced) or is the first past ValidUntil
	// (Expired). 0 for the other fates and where Agreed is false.
	Depth     int
	Hash      string  // of the command that is pooled or included; for Displaced the stranger's, if known
	Nonce     uint32  // of that command; differs from the watch's only for Legacy
	Height    uint32  // of the deciding block
	StateHash string  // of the deciding block
	Failure   Failure // of the command in the block, for Failed
	TipSlot   uint32  // slotSinceGenesis of the lowest agreeing tip
	// Pruned goes with Unknown: every synced node, at least the quorum of them,
	// has the nonce spent, and by a block that it no longer has. Only an archive
	// can tell by what; Sought says that it was searched in vain.
	Pruned, Sought bool
	// Archived: it is the archive that tells Included or Failed, and all nodes
	// have the nonce spent. Nonce is the watch's.
	Archived bool
	// AccountNext is the payer's nonce by the ledger, the highest that any node
	// has, for Absent, Pooled and Expired with Agreed; else 0. Where Absent has it
	// above the watch's, something spent the nonce that no block read so far
	// shows as the payer's command.
	AccountNext uint32
}

// A Failure is why a command failed in a block, as Mina's own words were classed.
type Failure struct {
	Code      string // of the gravest reason
	Reasons   string // all of them
	Permanent bool   // no retry can mend it
}
