package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// reconcile compares senders with what all synced nodes show: commands of ours that Redis
// knows nothing of are put in their place, and a sender whose account somebody else has
// used is stopped. forgotten: Redis may have forgotten anything, so all blocks are read;
// else only those with nonces above the next ones that are known.
func (r *Recovery) reconcile(ctx context.Context, forgotten bool) error {
	wanted, err := r.wanted(ctx, forgotten)
	if err != nil || len(wanted) == 0 || !forgotten && !r.Chain.Any() { // or it can use none of them
		return err
	}
	if err := r.Network(ctx); err != nil {
		return err // another one's chain says nothing of these
	}
	shown, err := r.Chain.Survey(ctx, wanted)
	if err != nil {
		return err
	}
	owners, err := r.named(ctx, shown)
	if err != nil {
		return err
	}
	var all []standing
	var found []lifecycle.Use
	runs := map[string][]*tx.Transaction{} // on each
	for _, w := range wanted {
		st, err := r.standing(ctx, w.Payer, shown[w.Payer], owners)
		if err != nil {
			return err
		}
		all, found, runs[w.Payer] = append(all, st), append(found, st.used...), st.running
	}
	var doubts []error
	waits := map[string]bool{}
	lifecycle.InOrder(found)
	for _, u := range found {
		if waits[u.UID] || !u.Named(runs[u.Payer]) {
			continue
		}
		if _, err := r.place(ctx, u.UID, nil, lifecycle.KnownBy(u, r.Now())); err != nil {
			waits[u.UID] = true // what was made of it later waits, too
			doubts = append(doubts, err)
		}
	}
	for _, st := range all {
		doubts = append(doubts, r.strangers(ctx, st))
	}
	return errors.Join(doubts...)
}

// wanted is what the nodes are asked about all senders.
func (r *Recovery) wanted(ctx context.Context, forgotten bool) (all []mina.Wanted, err error) {
	for p, err := range r.Senders.All(ctx) {
		switch {
		case err != nil:
			return nil, err
		case senders.LedgerOf(p.AccountID) != "":
			// No chain shows what a slot has sent: its ledger is asked before it posts.
		case forgotten:
			all = append(all, mina.Wanted{Payer: p.AccountID, Whole: true})
		case p.Nonce != nil:
			all = append(all, mina.Wanted{Payer: p.AccountID, From: *p.Nonce})
		}
	}
	return all, nil
}

// named finds the transactions that commands name in their memos: a uid by memo.
func (r *Recovery) named(ctx context.Context, shown map[string]mina.Used) (map[string]string, error) {
	owners := map[string]string{}
	for _, used := range shown {
		for _, c := range used.Commands {
			if memo := memoOf(c); memo != "" {
				owners[memo] = ""
			}
		}
	}
	left := len(owners)
	if left == 0 {
		return owners, nil
	}
	return owners, r.store.Candidates(ctx, func(uids []string) bool {
		for _, uid := range uids {
			memo := lifecycle.Memo(r.Namespace, uid)
			if owner, wanted := owners[memo]; wanted && owner == "" {
				owners[memo] = uid
				left--
			}
		}
		return left > 0
	})
}

// memoOf is the memo of a command, "" if it has none, or is none of a zkApp.
func memoOf(c mina.Use) string {
	memo, err := mina.DecodeMemo(c.Memo)
	if c.Payment || err != nil {
		return ""
	}
	return memo
}

// A standing is a sender as it was before anything that was found was put back, which raises its
// next nonce, and what the nodes show of it.
type standing struct {
	sender  *senders.Sender // nil if it was removed meanwhile
	running []*tx.Transaction
	unread  bool // something of what runs: what is its own is not known then
	next    uint32
	used    []lifecycle.Use
}

// standing reads a sender. Redis is read after the chain: what was there has been stored before.
func (r *Recovery) standing(ctx context.Context, account string, shown mina.Used,
	owners map[string]string) (st standing, err error) {
	st.sender, err = r.Senders.Get(ctx, account)
	if errors.Is(err, senders.ErrNotFound) {
		return standing{}, nil
	}
	if err != nil {
		return st, err
	}
	st.running, err = r.running(ctx, st.sender.Queue)
	if st.unread = errors.Is(err, queues.ErrDamaged); st.unread {
		r.Log.Error("a sender is not compared with the chain", "sender", account, "err", err)
	} else if err != nil {
		return st, err
	}
	st.next = shown.Next
	for _, c := range shown.Commands {
		u := lifecycle.Use{UID: owners[memoOf(c)], Command: lifecycle.Command{
			Payer: account, Nonce: c.Nonce, Fee: c.Fee, ValidUntil: c.ValidUntil, Hash: c.Hash, Slot: r.slotOf(c),
		}}
		if !c.Pooled {
			u.Height, u.Failed = c.Block.Height, c.Failed
		}
		st.used = append(st.used, u)
	}
	return st, nil
}

// strangers stops a sender if the nodes show a command that nobody of ours has made.
func (r *Recovery) strangers(ctx context.Context, st standing) error {
	s := st.sender
	if s == nil || st.unread || s.Nonce == nil || s.Reason == tx.StoppedNonce ||
		s.Reason == tx.OutcomeUnknown || lifecycle.Legacy(st.running, s.AccountID) {
		return nil
	}
	used := slices.DeleteFunc(slices.Clone(st.used), func(u lifecycle.Use) bool { return u.Nonce < *s.Nonce })
	nonce, hash, found := lifecycle.Stranger(s.AccountID, *s.Nonce, st.next, st.running, used)
	if !found {
		r.familiar(s.AccountID)
		return nil
	}
	return r.stopStrange(ctx, s.AccountID, nonce, hash)
}

// running is what runs of a queue.
func (r *Recovery) running(ctx context.Context, queue string) (all []*tx.Transaction, err error) {
	if queue == "" {
		return nil, nil
	}
	run, err := r.Store.InFlight(ctx, queue)
	for _, uid := range run.UIDs {
		t, err := r.Store.Get(ctx, uid)
		switch {
		case err == nil:
			all = append(all, t)
		case !errors.Is(err, queues.ErrNotFound):
			return nil, err
		}
	}
	return all, err
}

// slotOf is a slot before which the command cannot have been included, in no block that may
// yet become one of the chain: it may be in another than the nodes have shown.
func (r *Recovery) slotOf(c mina.Use) uint32 {
	slot := r.Chain.Chain().TipSlot
	if !c.Pooled {
		slot = c.Block.Slot
	}
	return slot - min(slot, r.Back)
}

func (r *Recovery) familiar(account string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.strange, account)
}

// errStrange: a nonce has been used by nobody of ours, as far as one look tells.
var errStrange = errors.New("is looked at once more")

// stopStrange stops a sender of which somebody else has used a nonce. Blocks may
// change between two questions to a node, so it takes two looks.
func (r *Recovery) stopStrange(ctx context.Context, account string, nonce uint32, hash string) error {
	r.mu.Lock()
	before, twice := r.strange[account]
	r.strange[account] = nonce
	r.mu.Unlock()
	if !twice || before != nonce {
		return fmt.Errorf("nonce %d of %s, used by nobody here, %w", nonce, account, errStrange)
	}
	r.familiar(account)
	detail := fmt.Sprintf("nonce %d of the account was used, and by no transaction of ours", nonce)
	if hash != "" {
		detail += ": by " + hash
	}
	r.Log.Error("sender stopped: somebody else uses its account", "sender", account, "nonce", nonce, "hash", hash)
	err := r.Senders.Stop(ctx, account, nonce, detail)
	if errors.Is(err, senders.ErrNotFound) {
		return nil
	}
	return err
}
