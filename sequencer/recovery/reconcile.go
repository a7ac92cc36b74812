package recovery

import (
	"context"
	"errors"
	"fmt"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
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
	shown, err := r.Chain.Survey(ctx, wanted)
	if err != nil {
		return err
	}
	owners, err := r.named(ctx, shown)
	if err != nil {
		return err
	}
	var doubts []error
	for _, w := range wanted {
		doubts = append(doubts, r.attribute(ctx, w.Payer, shown[w.Payer], owners))
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

// attribute gives the commands of a sender to the transactions they are of, and stops the
// sender if there is one that nobody of ours has made. Redis is read after the chain:
// what was there has been stored before.
func (r *Recovery) attribute(ctx context.Context, account string, shown mina.Used, owners map[string]string) error {
	sender, err := r.Senders.Get(ctx, account)
	if errors.Is(err, senders.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	running, err := r.running(ctx, sender.Queue)
	unread := errors.Is(err, queues.ErrDamaged) // what is its own is not known then
	if err != nil && !unread || lifecycle.Legacy(running, account) {
		return err
	}
	if unread {
		r.Log.Error("a sender is not compared with the chain", "sender", account, "err", err)
	}
	var used []lifecycle.Use
	for _, c := range shown.Commands {
		u := lifecycle.Use{UID: owners[memoOf(c)], Command: lifecycle.Command{
			Payer: account, Nonce: c.Nonce, Fee: c.Fee, ValidUntil: c.ValidUntil, Hash: c.Hash, Slot: r.slotOf(c),
		}}
		if u.UID != "" {
			if _, err := r.place(ctx, u.UID, nil, lifecycle.KnownBy(u.Command, r.Now())); err != nil {
				return err
			}
		}
		if sender.Nonce != nil && c.Nonce >= *sender.Nonce {
			used = append(used, u)
		}
	}
	if unread || sender.Nonce == nil ||
		sender.Reason == lifecycle.StoppedNonce || sender.Reason == lifecycle.OutcomeUnknown {
		return nil
	}
	nonce, hash, found := lifecycle.Stranger(account, *sender.Nonce, shown.Next, running, used)
	if !found {
		r.familiar(account)
		return nil
	}
	return r.stopStrange(ctx, account, nonce, hash)
}

// running is what runs of a queue.
func (r *Recovery) running(ctx context.Context, queue string) (all []*lifecycle.Transaction, err error) {
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
