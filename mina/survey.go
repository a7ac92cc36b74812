package mina

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Wanted names an account of which commands are wanted.
type Wanted struct {
	Payer string // base58 public key
	From  uint32 // the first nonce that is not accounted for
	// Whole: no nonce is known, so all blocks that the nodes hold are read; else
	// only as many as hold the nonces that the ledger has passed.
	Whole bool
}

// Used is what the nodes show of one payer.
type Used struct {
	Next     uint32 // the next nonce by the ledger, the highest that any node has
	Commands []Use  // from the wanted nonce on, in order of nonces, each hash once
}

// A Use is a command of a payer, in a block or in a pool.
type Use struct {
	Command
	Pooled bool
	Block  Header // it is in, if not Pooled
}

// Survey asks every synced node for the pool and the chain of the payers: one
// question of each kind per 200 payers and node, and blocks only where a nonce has
// been used that is not accounted for. The answer holds what any of them shows. A node
// that has failed these for a minute is done without, where the others are a quorum.
// Errors: ErrNoQuorum, ErrBase58Check, an *Error of class Transport if a node that is not
// done without fails to answer.
func (t *Tracker) Survey(ctx context.Context, wanted []Wanted) (map[string]Used, error) {
	select {
	case t.polling <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.polling }()
	if c := t.poll(ctx, true); !c.Quorum {
		return nil, fmt.Errorf("looking for commands: %w", c.Err)
	}
	found, began := make(map[string]Used, len(wanted)), time.Now()
	for part := range slices.Chunk(wanted, chunk) {
		if err := t.survey(ctx, part, found); err != nil {
			return nil, fmt.Errorf("looking for commands: %w", err)
		}
	}
	for _, v := range t.voted {
		if v.failedLast.Before(began) {
			v.failedFirst, v.failedLast = time.Time{}, time.Time{}
		}
	}
	return found, nil
}

// A node that fails surveys for as long as unheardFor is done without by those after that; until
// then none is, for what it alone shows may be ours. One that has answered all of a survey, or
// failed none for as long as forgiven, starts anew.
const (
	unheardFor = time.Minute
	forgiven   = 10 * time.Minute
)

// unheard notes that a node has failed a survey, and reports whether that has to be made again.
func (v *view) unheard() (waits bool) {
	now := time.Now()
	if now.Sub(v.failedLast) > forgiven {
		v.failedFirst = now
	}
	v.failedLast = now
	return now.Sub(v.failedFirst) < unheardFor
}

func (t *Tracker) survey(ctx context.Context, wanted []Wanted, found map[string]Used) error {
	payers := make([]string, len(wanted))
	for i, w := range wanted {
		payers[i] = w.Payer
	}
	pools := make([]map[string][]Command, len(t.voted))
	accounts := make([]map[string]Account, len(t.voted))
	errs := make([]error, len(t.voted))
	var wg sync.WaitGroup
	for i, v := range t.voted {
		wg.Go(func() {
			// The chain is read last: what leaves the pool before it is in a block of
			// it, and so is what the ledger counts.
			if pools[i], errs[i] = v.node.PooledBy(ctx, payers...); errs[i] == nil {
				accounts[i], errs[i] = v.node.Accounts(ctx, payers)
			}
		})
	}
	wg.Wait()
	var failed []error
	heard, waits := 0, false
	for i, v := range t.voted {
		used := map[string]uint32{}
		for _, w := range wanted {
			used[w.Payer] = accounts[i][w.Payer].Nonce
		}
		err := errs[i]
		if err == nil {
			err = t.readDown(ctx, v, wanted, used)
		}
		switch {
		case err == nil:
			heard++
		case ctx.Err() != nil, errors.Is(err, ErrBase58Check):
			return err
		default:
			waits = v.unheard() || waits
			failed = append(failed, err)
		}
		for _, w := range wanted {
			u := found[w.Payer]
			u.Next = max(u.Next, used[w.Payer])
			for _, l := range v.landed[w.Payer] {
				u.add(Use{Command: *l.Command, Block: l.in.Header}, w)
			}
			for _, c := range pools[i][w.Payer] {
				u.add(Use{Command: c, Pooled: true}, w)
			}
			found[w.Payer] = u
		}
	}
	if waits || heard < t.quorum {
		return errors.Join(failed...)
	}
	return nil
}

// add takes a use in, in its place; one in a block stands for the same in a pool, and has failed if
// it has in all blocks that have it.
func (u *Used) add(c Use, w Wanted) {
	if c.Nonce < w.From && !w.Whole {
		return
	}
	if i := slices.IndexFunc(u.Commands, func(o Use) bool { return o.Hash == c.Hash }); i >= 0 {
		switch has := &u.Commands[i]; {
		case has.Pooled:
			*has = c
		case !c.Pooled && !c.Failed:
			has.Failed = false
		}
		return
	}
	at := 0
	for at < len(u.Commands) && u.Commands[at].Nonce <= c.Nonce {
		at++
	}
	u.Commands = slices.Insert(u.Commands, at, c)
}

// readDown reads blocks of a node from the tip down until all used nonces have
// been seen, or to the last block that it holds.
func (t *Tracker) readDown(ctx context.Context, v *view, wanted []Wanted, used map[string]uint32) error {
	missing := func() bool {
		return slices.ContainsFunc(wanted, func(w Wanted) bool {
			if w.Whole || used[w.Payer] <= w.From {
				return w.Whole && used[w.Payer] > 0
			}
			from, _ := slices.BinarySearchFunc(v.landed[w.Payer], w.From, byNonce)
			return len(v.landed[w.Payer])-from < int(used[w.Payer]-w.From)
		})
	}
	if !missing() {
		return nil
	}
	whole := uint32(0)
	for _, need := range []uint32{v.tip().Slot, whole} {
		if err := v.askDown(ctx, need); err != nil {
			return err
		}
		for n := 1; missing(); n = min(2*n, batch) { // no more than twice as many as it takes
			unread := v.unread(whole)
			if len(unread) == 0 {
				break
			}
			unread = unread[:min(n, len(unread))]
			err := t.read(ctx, v, unread)
			if err == nil {
				continue
			}
			// Mina: a node lets go of its oldest block at each new one. What it has let go of
			// while the others were read is not asked for again.
			if moved := v.askDown(ctx, need); moved != nil || v.holds(unread[len(unread)-1]) {
				return cmp.Or(moved, err)
			}
		}
	}
	return nil
}

// askDown is askChain for who has asked for the pool before: what falls out of a block may
// go back there.
func (v *view) askDown(ctx context.Context, need uint32) error {
	reorged, err := v.askChain(ctx, need)
	if err == nil && reorged {
		return v.node.silent("its chain was reorganised while it was read")
	}
	return err
}

// read makes the commands of blocks known to a view, from other ones that have read them
// where there are any.
func (t *Tracker) read(ctx context.Context, v *view, links []*link) error {
	var rest []*link
	for _, l := range links {
		k := t.readBefore(v, l.StateHash)
		if k == nil {
			rest = append(rest, l)
			continue
		}
		if err := v.learn(l, Block{Header: k.Header, Commands: slices.Clone(k.commands)}); err != nil {
			return err
		}
	}
	return v.ask(ctx, rest)
}

func (t *Tracker) readBefore(v *view, hash string) *link {
	for _, o := range t.views {
		if o.busy || o == v {
			continue
		}
		if k := o.read[hash]; k != nil {
			return k
		}
	}
	return nil
}

// learn takes in the commands of a block of the best chain.
func (v *view) learn(l *link, block Block) error {
	if block.Height != l.Height || block.PreviousStateHash != l.PreviousStateHash || block.Slot != l.Slot {
		return v.node.silent("block " + l.StateHash + " is not the one of the best chain")
	}
	l.commands, l.known = block.Commands, true
	v.read[l.StateHash] = l
	v.index(l)
	v.moved, v.zkapps = true, max(v.zkapps, block.Zkapps())
	return nil
}
