package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
)

// reconcile compares senders with what all synced nodes show: commands of ours
// that Redis knows nothing of are adopted, and a sender whose account somebody
// else has used is stopped. all: every sender; else those named, and only those.
// forgotten: Redis may have forgotten that a sender was ever used.
func (r *Recovery) reconcile(ctx context.Context, all bool, accounts []string, forgotten bool) error {
	const some = 200
	if err := r.settleAstray(ctx); err != nil {
		return err
	}
	if !all {
		for part := range slices.Chunk(accounts, some) {
			if err := r.compare(ctx, part, forgotten); err != nil {
				return err
			}
		}
		return nil
	}
	for cursor := ""; ; {
		page, next, err := r.Senders.List(ctx, some, cursor)
		if err != nil {
			return err
		}
		var names []string
		for _, p := range page {
			names = append(names, p.AccountID)
		}
		if err := r.compare(ctx, names, forgotten); err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// compare does this for a few senders: one question to the nodes for all of them.
func (r *Recovery) compare(ctx context.Context, accounts []string, forgotten bool) error {
	wanted := make([]mina.Wanted, 0, len(accounts))
	for _, a := range accounts {
		sender, err := r.Senders.Get(ctx, a)
		switch {
		case errors.Is(err, senders.ErrNotFound):
		case err != nil:
			return err
		case sender.Nonce != nil:
			wanted = append(wanted, mina.Wanted{Payer: a, From: *sender.Nonce})
		case forgotten:
			wanted = append(wanted, mina.Wanted{Payer: a, Whole: true})
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	shown, err := r.Chain.Survey(ctx, wanted)
	if err != nil {
		return err
	}
	// Redis is read after the chain: what was there has been stored before.
	var found []finding
	for _, w := range wanted {
		f, err := r.weighUp(ctx, w.Payer, shown[w.Payer])
		if err != nil {
			return err
		}
		if f != nil {
			found = append(found, *f)
		}
	}
	owners, err := r.named(ctx, found)
	if err != nil {
		return err
	}
	var doubts []error
	for _, f := range found {
		doubts = append(doubts, r.attribute(ctx, f, owners))
	}
	return errors.Join(doubts...)
}

// A finding is a sender with commands that Redis may not know of.
type finding struct {
	*senders.Sender
	running  *lifecycle.Transaction // nil if none
	used     mina.Used
	commands []mina.Use // of used, those that are not accounted for
}

// weighUp returns what is not accounted for of a sender, nil if there is nothing.
func (r *Recovery) weighUp(ctx context.Context, account string, used mina.Used) (*finding, error) {
	sender, err := r.Senders.Get(ctx, account)
	if errors.Is(err, senders.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &finding{Sender: sender, used: used}
	for _, c := range used.Commands {
		if sender.Nonce == nil || c.Nonce >= *sender.Nonce {
			f.commands = append(f.commands, c)
		}
	}
	if len(f.commands) == 0 && (sender.Nonce == nil || used.Next <= *sender.Nonce) {
		return nil, nil
	}
	if sender.Queue == "" {
		return f, nil
	}
	q, err := r.Store.Queue(ctx, sender.Queue)
	if err == nil && q.Running != "" {
		f.running, err = r.Store.Get(ctx, q.Running)
	}
	if err != nil && !errors.Is(err, queues.ErrNotFound) {
		return nil, err
	}
	return f, nil
}

// named finds the transactions that the commands name in their memos.
func (r *Recovery) named(ctx context.Context, found []finding) (map[string]string, error) {
	owners := map[string]string{} // uid by memo
	left := 0
	for _, f := range found {
		for _, c := range f.commands {
			if memo, ok := memoOf(c); ok {
				if _, twice := owners[memo]; !twice {
					owners[memo] = ""
					left++
				}
			}
		}
	}
	if left == 0 {
		return owners, nil
	}
	return owners, r.Store.Candidates(ctx, func(uids []string) bool {
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

func memoOf(c mina.Use) (string, bool) {
	if c.Payment {
		return "", false
	}
	memo, err := mina.DecodeMemo(c.Memo)
	return memo, err == nil && memo != ""
}

// attribute gives the commands of a sender to the transactions they are of, and
// stops the sender if there is one that nobody of ours has made.
func (r *Recovery) attribute(ctx context.Context, f finding, owners map[string]string) error {
	ours := map[uint32]bool{}
	if f.running != nil {
		for _, a := range f.running.Attempts {
			if a.Sender == f.AccountID && a.Legacy && a.Open() {
				return nil // whatever it is, it is taken for that one's
			}
			ours[a.Nonce] = ours[a.Nonce] || a.Sender == f.AccountID
		}
	}
	var strange *mina.Use
	for i, c := range f.commands {
		memo, _ := memoOf(c)
		if uid := owners[memo]; uid != "" {
			ours[c.Nonce] = true
			if err := r.adopt(ctx, uid, f.AccountID, c); err != nil {
				return err
			}
		} else if strange == nil && !ours[c.Nonce] {
			strange = &f.commands[i]
		}
	}
	if f.Nonce == nil || f.Reason == lifecycle.StoppedNonce || f.Reason == lifecycle.OutcomeUnknown {
		return nil
	}
	nonce, hash := f.used.Next, ""
	for n := *f.Nonce; n < nonce; n++ {
		if !ours[n] {
			nonce = n
		}
	}
	switch {
	case strange != nil && strange.Nonce <= nonce:
		nonce, hash = strange.Nonce, strange.Hash
	case nonce == f.used.Next:
		r.familiar(f.AccountID)
		return nil
	}
	return r.stopStrange(ctx, f.AccountID, nonce, hash)
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
	err := r.Senders.Stop(ctx, account, lifecycle.StoppedNonce, detail)
	if errors.Is(err, senders.ErrNotFound) {
		return nil
	}
	return err
}

// adopt makes a command that was found an attempt of its transaction.
func (r *Recovery) adopt(ctx context.Context, uid, account string, c mina.Use) error {
	t, err := r.Store.Get(ctx, uid)
	if errors.Is(err, queues.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Sender != account || a.Nonce != c.Nonce || a.Pending() {
			continue
		}
		if a.Hash == c.Hash || a.NodeHash == c.Hash {
			return nil // known
		}
		if a.Open() && a.Fee == c.Fee && a.NodeHash == "" {
			return r.again(r.Store.Record(ctx, uid, a, queues.Facts{NodeHash: c.Hash}))
		}
	}
	r.Log.Warn("found a command that Redis had forgotten",
		"txn", t.UID, "queue", t.Queue, "sender", t.Sender, "type", t.Type, "attempt", len(t.Attempts), "hash", t.Hash(),
		"state", t.State(), "payer", account, "nonce", c.Nonce, "found", c.Hash, "pooled", c.Pooled, "height", c.Block.Height)
	found := lifecycle.Found(t, lifecycle.Command{
		Payer: account, Nonce: c.Nonce, Fee: c.Fee, ValidUntil: c.ValidUntil, Hash: c.Hash, Slot: r.slotOf(c),
	}, r.Now())
	if t.Phase.Bound() && t.Sender == account {
		return r.again(r.restore(ctx, t, found))
	}
	return r.bindAgain(ctx, found) // also from another sender: that it let go is forgotten too
}

// slotOf is a slot before which the command cannot have been included.
func (r *Recovery) slotOf(c mina.Use) uint32 {
	if !c.Pooled {
		return c.Block.Slot
	}
	const before = 10 // slots; it may be in a block that the node asked has not seen
	slot := r.Chain.Chain().TipSlot
	return slot - min(slot, before)
}

// again leaves what has changed meanwhile to the next look.
func (r *Recovery) again(err error) error {
	if errors.Is(err, queues.ErrNotFound) {
		return nil
	}
	return err
}

// restore stores what was found of a transaction that stays where it is, or goes back
// to its queue.
func (r *Recovery) restore(ctx context.Context, t, found *lifecycle.Transaction) error {
	c := &queues.Change{Before: t, After: found, Now: r.Now()}
	c.Person, c.Code, c.Remove, c.Keep = true, lifecycle.CodeRestored, queues.Never, found.Watched()
	_, err := r.Store.Advance(ctx, c)
	return err
}

// bindAgain binds a transaction to the sender of its open attempt. Where that one,
// or the queue, carries another one of which nothing is out, that one goes back.
func (r *Recovery) bindAgain(ctx context.Context, t *lifecycle.Transaction) error {
	for range 3 { // the queue and the sender may each be in the way
		err := r.Store.Adopt(ctx, r.Process, t, nil)
		astray, ok := errors.AsType[*queues.AstrayError](err)
		if !ok {
			return err
		}
		other, err := r.Store.Get(ctx, astray.By)
		if errors.Is(err, queues.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !other.Phase.Bound() || other.Open() {
			return nil // it goes first; see settleAstray
		}
		back := other.Clone()
		back.Phase, back.DueAt = lifecycle.PhaseWaiting, time.Time{}
		if err := r.restore(ctx, other, back); err != nil {
			return r.again(err)
		}
	}
	return nil
}

// settleAstray binds those that waited for their sender or queue.
func (r *Recovery) settleAstray(ctx context.Context) error {
	uids, err := r.Store.Astray(ctx)
	if err != nil {
		return err
	}
	ts, err := r.Store.GetMany(ctx, uids)
	if err != nil {
		return err
	}
	for _, t := range ts {
		if err := r.bindAgain(ctx, t); err != nil && !errors.Is(err, queues.ErrStale) {
			return err
		}
	}
	return nil
}
