package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Nodes show commands of our senders of which Redis may know nothing. A memo says which transaction of
// ours has made one.

// A Command is one that nodes show, and that a transaction has made by its memo.
type Command struct {
	Payer      string
	Nonce      uint32
	Fee        uint64
	ValidUntil uint32
	Hash       string
	Slot       uint32 // it can have been included in none before
}

// KnownBy is what a command that was found says of its transaction. No process knows what it does, so
// no other transaction joins those in flight behind it.
func KnownBy(u Use, now time.Time) Known {
	c := &u.Command
	return Known{Attempts: []tx.Attempt{{
		Sender: c.Payer, Nonce: c.Nonce, Fee: c.Fee, ValidUntil: c.ValidUntil, NodeHash: c.Hash, Slot: c.Slot,
		State: tx.Signed, StartedAt: now, Alone: true,
	}}, Failed: u.Failed, Later: u.Later}
}

// A Use is a command at a nonce of a sender, and whose it is by its memo: "" if it is of
// none that may have made it.
type Use struct {
	Command
	UID    string
	Height uint32   // of the block that it is in, 0 if it waits in a pool
	Failed bool     // there, by all that show it
	Later  []string // hashes of those of its transaction that were made after it, see InOrder
}

// comes reports whether what was found is in a block, or may get into one: pools keep for a while
// what has run out.
func comes(a *tx.Attempt) bool { return a.ValidUntil == 0 || a.Slot <= a.ValidUntil }

// InOrder sorts commands that were found as they were made: by blocks, those in a pool last. Of one
// transaction's, at several nonces, the last counts.
func InOrder(all []Use) {
	slices.SortStableFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Height-1, b.Height-1), cmp.Compare(a.Nonce, b.Nonce)) // 0 comes last by that
	})
	later := map[string][]string{}
	for i := range slices.Backward(all) {
		u := &all[i]
		u.Later = later[u.UID]
		later[u.UID] = append(u.Later, u.Hash)
	}
}

// Stranger looks for the first nonce of a sender, from next up to the ledger's, that none
// of ours has used; hash is that of a command there, "" if none is shown. running is what
// is bound to it.
func Stranger(account string, next, ledger uint32, running []*tx.Transaction,
	used []Use) (nonce uint32, hash string, found bool) {
	ours := map[uint32]bool{}
	for _, t := range running {
		for i := range t.Attempts {
			a := &t.Attempts[i]
			ours[a.Nonce] = ours[a.Nonce] || a.Sender == account
		}
	}
	for _, u := range used {
		ours[u.Nonce] = ours[u.Nonce] || u.UID != ""
	}
	nonce = ledger
	for n := next; n < ledger && nonce == ledger; n++ {
		if !ours[n] {
			nonce = n
		}
	}
	for _, u := range used {
		if !ours[u.Nonce] && u.Nonce <= nonce {
			return u.Nonce, u.Hash, true
		}
	}
	return nonce, "", nonce < ledger
}

// Named reports whether what was found may be put back: of a transaction that runs on its sender, and
// of which a legacy worker may have sent something with that, whatever is shown is taken for that.
func (u *Use) Named(running []*tx.Transaction) bool {
	its := slices.IndexFunc(running, func(t *tx.Transaction) bool { return t.UID == u.UID })
	return u.UID != "" && (its < 0 || !Legacy(running[its:its+1], u.Payer))
}

// Legacy reports whether a legacy worker of what runs may have sent something with an
// account: whatever the nodes show of that one is taken for it.
func Legacy(running []*tx.Transaction, account string) bool {
	return slices.ContainsFunc(running, func(t *tx.Transaction) bool {
		return t.Find(func(a *tx.Attempt) bool { return a.Sender == account && a.Legacy && a.Open() }) != nil
	})
}
