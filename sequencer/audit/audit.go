// Package audit checks the promises on a live system: compares what is stored with itself,
// the chain, and the ledgers. It only reads.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mina-sequencer/ledger"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Audit holds the promises against a live system: what is stored against itself
// and with the chain. It only reads, in small steps.
type Audit struct {
	Store     *queues.Store
	Senders   *senders.Pool
	Nodes     []*mina.Node // none where there are only ledgers
	Ledgers   map[string]ledger.Ledger
	Commutes  func(typ string) bool // of a type, which then promises no order; nil: none
	Namespace string
	Policy    lifecycle.Policy // Confirmations, SettleDepth and InclusionInterval count
	// Pause is the time after which what looked wrong is looked at again, for
	// things change while they are read; 0 is two InclusionIntervals.
	Pause time.Duration
}

// A Report is what an audit found.
type Report struct {
	Transactions, Senders int
	// From and To are the heights of the chain that was read, the oldest and the
	// newest; what landed before From was not looked for.
	From, To uint32
	Findings []queues.Finding
}

// Run audits. Errors: queues.ErrUnavailable; whatever keeps the chain from being
// read. A finding is no error.
func (a *Audit) Run(ctx context.Context) (Report, error) {
	known := map[string]mina.Block{}
	first, err := a.pass(ctx, known, nil)
	if err != nil || len(first.report.Findings) == 0 {
		return first.report, err
	}
	timer := time.NewTimer(cmp.Or(a.Pause, 2*a.Policy.InclusionInterval))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
	second, err := a.pass(ctx, known, &first)
	if err != nil {
		return Report{}, err
	}
	r := first.report
	r.Findings = slices.DeleteFunc(second.report.Findings, func(f queues.Finding) bool {
		return !slices.ContainsFunc(first.report.Findings, func(o queues.Finding) bool { return f.Same(&o) })
	})
	slices.SortFunc(r.Findings, func(x, y queues.Finding) int {
		return cmp.Or(cmp.Compare(x.Check, y.Check), cmp.Compare(x.Queue, y.Queue),
			cmp.Compare(x.UID, y.UID), cmp.Compare(x.Sender, y.Sender))
	})
	r.Findings = slices.CompactFunc(r.Findings, func(x, y queues.Finding) bool { return x.Same(&y) })
	return r, nil
}

// A pass is one reading of everything, or of what an earlier one found wrong.
type pass struct {
	*Audit
	ctx      context.Context
	w        *window
	report   Report
	uids     map[string]bool
	landed   map[string][]landing // by queue, of what is in the window
	reopened map[string]bool      // senders of transactions whose block is gone for now
	doubted  map[string][]string  // hashes of open attempts that only a pool can have, by uid
	queueOf  map[string]string    // of those
}

func (a *Audit) pass(ctx context.Context, known map[string]mina.Block, before *pass) (pass, error) {
	p := pass{
		Audit: a, ctx: ctx, uids: map[string]bool{}, landed: map[string][]landing{},
		doubted: map[string][]string{}, queueOf: map[string]string{}, reopened: map[string]bool{},
	}
	if before != nil {
		p.reopened = before.reopened
	}
	// What is stored is read between two looks at the chain: what it says of the
	// chain may be older or newer than one of them, but not than both.
	var err error
	if p.w = new(window); len(a.Nodes) > 0 {
		p.w, err = readWindow(ctx, a.Nodes, known)
	}
	if err != nil {
		return p, fmt.Errorf("reading the chain: %w", err)
	}
	p.report.From, p.report.To = p.w.first.Height, p.w.tip.Height
	var stored []queues.Finding
	if before == nil {
		stored, err = a.Store.Audit(ctx, p.look)
	} else {
		stored, err = a.Store.Reaudit(ctx, before.again(), p.look)
	}
	if err != nil {
		return p, fmt.Errorf("reading the store: %w", err)
	}
	p.report.Findings = append(p.report.Findings, stored...)
	p.report.Transactions = len(p.uids)
	p.order()
	if err := p.pools(); err != nil {
		return p, fmt.Errorf("reading the pool: %w", err)
	}
	return p, p.nonces()
}

// again are the findings to look at once more; where order is in doubt, that is
// everything of the queue that is in the window.
func (p *pass) again() []queues.Finding {
	all := slices.Clone(p.report.Findings)
	doubted := map[string]bool{}
	for _, f := range p.report.Findings {
		if f.Check != "ORDER" || doubted[f.Queue] {
			continue
		}
		doubted[f.Queue] = true
		for _, l := range p.landed[f.Queue] {
			all = append(all, queues.Finding{UID: l.uid})
		}
	}
	return all
}

func (p *pass) bad(check, uid, queue, sender, format string, args ...any) {
	p.report.Findings = append(p.report.Findings, queues.Finding{
		Check: check, UID: uid, Queue: queue, Sender: sender, Detail: fmt.Sprintf(format, args...)})
}

// look compares transactions with the chain.
func (p *pass) look(records []queues.Record) error {
	batches := map[string][]*tx.Transaction{}
	for _, r := range records {
		if p.uids[r.UID] {
			continue
		}
		p.uids[r.UID] = true
		switch {
		case r.Ledger != "":
			batches[r.Ledger] = append(batches[r.Ledger], r.Transaction)
		case len(p.Nodes) > 0:
			p.transaction(r)
		}
	}
	for name, ts := range batches {
		if err := p.batches(name, ts); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) transaction(r queues.Record) {
	t := r.Transaction
	if a := t.Attempt(t.Landed); t.Reopened && a != nil {
		p.reopened[a.Sender] = true
	}
	commands := p.commands(t)
	effects := slices.SortedFunc(maps.Values(commands), (*effect).compare)
	effects = slices.DeleteFunc(effects, func(e *effect) bool { return e.Failed })
	if len(effects) > 1 {
		p.bad("TWICE", t.UID, t.Queue, t.Sender, "it took effect %d times: %s in block %d and %s in block %d",
			len(effects), effects[0].Hash, effects[0].block.Height, effects[1].Hash, effects[1].block.Height)
	}
	if len(effects) > 0 {
		l := landing{uid: t.UID, sequence: t.Sequence, typ: t.Type, in: effects[0], attempts: t.Attempts}
		p.landed[t.Queue] = append(p.landed[t.Queue], l)
	}
	p.end(t, effects)
	p.inTime(t, effects)
	legacy := slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return a.Legacy })
	if t.Open() && !r.Signed && !legacy && len(commands) == 0 {
		p.doubt(t)
	}
}

// commands are those in blocks that are of a transaction, by its memo or by the hash of
// one of its attempts.
func (p *pass) commands(t *tx.Transaction) map[string]*effect {
	all := map[string]*effect{}
	for _, e := range p.w.byMemo[lifecycle.Memo(p.Namespace, t.UID)] {
		all[e.Hash] = e
	}
	for _, a := range t.Attempts {
		for _, hash := range []string{a.Hash, a.NodeHash} {
			if e := p.w.byHash[hash]; e != nil && hash != "" {
				all[hash] = e
			}
		}
	}
	return all
}

// end compares how a transaction has ended with what took effect, the first first.
func (p *pass) end(t *tx.Transaction, effects []*effect) {
	settled := len(effects) > 0 && effects[0].depth(p.w.tip) > p.Policy.Confirmations
	switch landed := t.Attempt(t.Landed); {
	case t.State() == tx.Done && landed != nil:
		if len(effects) == 0 && !t.Reopened && p.w.holds(landed.Height) {
			p.bad("NOT_ON_CHAIN", t.UID, t.Queue, t.Sender, "it is DONE in block %d, and no block from %d on holds it",
				landed.Height, p.w.first.Height)
		}
	case t.State() == tx.Done && settled:
		p.bad("UNTOLD_EFFECT", t.UID, t.Queue, t.Sender,
			"its worker finished it without a block, and %s in block %d is of it",
			effects[0].Hash, effects[0].block.Height)
	case t.State() != tx.Done && settled:
		p.bad("UNTOLD_EFFECT", t.UID, t.Queue, t.Sender, "it is %s, and took effect in block %d by %s",
			t.State(), effects[0].block.Height, effects[0].Hash)
	}
}

// inTime compares what took effect with its deadline.
func (p *pass) inTime(t *tx.Transaction, effects []*effect) {
	if t.ExpiresAt.IsZero() {
		return
	}
	tip := lifecycle.Tip{Zero: p.w.status.Zero(p.w.tip), SlotTime: p.w.status.SlotTime}
	last, known := tip.LastBefore(t.ExpiresAt)
	for _, e := range effects {
		if known && e.block.Slot > last {
			p.bad("DEADLINE", t.UID, t.Queue, t.Sender, "it took effect in block %d, in slot %d, and its deadline was slot %d",
				e.block.Height, e.block.Slot, last)
		}
	}
}

// doubt keeps in mind a transaction with an attempt that may land, whose bytes
// are not stored. Its nonce may be spent; else a pool must have it.
func (p *pass) doubt(t *tx.Transaction) {
	p.queueOf[t.UID] = t.Queue
	p.doubted[t.UID] = []string{}
	for _, a := range t.Attempts {
		if p.w.byPayerNonce[payerNonce{a.Sender, a.Nonce}] != nil {
			delete(p.doubted, t.UID)
			return
		}
		if hash := a.KnownHash(); a.Open() && hash != "" {
			p.doubted[t.UID] = append(p.doubted[t.UID], hash)
		}
	}
}

// pools asks every node for what is neither stored nor in a block.
func (p *pass) pools() error {
	uids := slices.Sorted(maps.Keys(p.doubted))
	for some := range slices.Chunk(uids, 50) {
		var hashes []string
		for _, uid := range some {
			hashes = append(hashes, p.doubted[uid]...)
		}
		found := map[string]bool{}
		answered := len(hashes) == 0
		var causes []error
		for _, n := range p.Nodes {
			pooled, err := n.Pooled(p.ctx, hashes)
			if err != nil {
				causes = append(causes, err)
				continue
			}
			answered = true
			for hash := range pooled {
				found[hash] = true
			}
		}
		if !answered {
			return errors.Join(causes...)
		}
		for _, uid := range some {
			if !slices.ContainsFunc(p.doubted[uid], func(hash string) bool { return found[hash] }) {
				p.bad("ATTEMPT_LOST", uid, p.queueOf[uid], "",
					"an attempt may still land, and is in no pool, in no block, and not stored")
			}
		}
	}
	return nil
}

// nonces compares the next nonce of each sender with the chain's.
func (p *pass) nonces() error {
	for cursor := ""; ; {
		page, next, err := p.Senders.List(p.ctx, 100, cursor)
		if err != nil {
			return err
		}
		p.report.Senders += len(page)
		page = slices.DeleteFunc(page, func(s *senders.Sender) bool {
			return senders.LedgerOf(s.AccountID) != "" || len(p.Nodes) == 0
		})
		var accounts []string
		for _, s := range page {
			accounts = append(accounts, s.AccountID)
		}
		onChain := map[string]mina.Account{}
		if len(accounts) > 0 {
			if onChain, err = p.w.node.Accounts(p.ctx, accounts); err != nil {
				return fmt.Errorf("reading the senders' accounts: %w", err)
			}
		}
		for _, s := range page {
			if err := p.nonce(s, onChain[s.AccountID]); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

func (p *pass) nonce(s *senders.Sender, account mina.Account) error {
	// A sender that was stopped waits for a person, who knows.
	if s.Nonce == nil || s.Reason == tx.StoppedNonce || s.Reason == tx.OutcomeUnknown {
		return nil
	}
	most := *s.Nonce
	if s.Queue != "" {
		under, err := p.Store.InFlight(p.ctx, s.Queue)
		if errors.Is(err, queues.ErrDamaged) {
			return nil // the queue is told of, and what runs of it is not known
		}
		if err != nil {
			return err
		}
		most += uint32(max(1, len(under.UIDs))) // of the attempts under way
	}
	switch {
	case !account.Exists:
		p.bad("NONCE", "", s.Queue, s.AccountID, "its next nonce is %d, and the chain does not know the account", *s.Nonce)
	case account.Nonce > most:
		p.bad("NONCE", "", s.Queue, s.AccountID,
			"its next nonce is %d, on the chain it is %d: somebody else uses the account", *s.Nonce, account.Nonce)
	case account.Nonce < *s.Nonce && !p.reopened[s.AccountID]:
		p.bad("NONCE", "", s.Queue, s.AccountID,
			"its next nonce is %d, on the chain it is %d: what was sent before is gone", *s.Nonce, account.Nonce)
	}
	return nil
}

// Meanings say, for each check, which promise is at stake and what to do.
func Meanings() map[string]string {
	const layout = "the store contradicts itself: "
	return map[string]string{
		"TWICE": "at most one effect is broken: tell the owner of the zkApp, and look " +
			"at what reorganised or at who else signs",
		"NOT_ON_CHAIN": "what was told DONE has no effect: its block was orphaned deeper than " +
			"FINALITY, or the node follows another chain",
		"NOT_COMMITTED": "what was told DONE is not in its ledger: that has lost a block, or is another one",
		"UNTOLD_EFFECT": "it took effect and nobody was told: do not retry it",
		"ATTEMPT_LOST": "it can neither be sent again nor be found: wait until its validUntil " +
			"has passed, then resolve it as dead",
		"ORDER": "order is broken, unless the earlier one was cancelled before its " +
			"first attempt and retried by a person, or failed in flight and did not matter to what was behind it (OUT_OF_ORDER)",
		"DEADLINE": "it took effect after its deadline: tell the owner of the zkApp, and look at what " +
			"its worker signed",
		"NONCE": "the next attempt of this sender will not fit: stop whatever else uses the account; where " +
			"the chain is ahead, that attempt stops the sender, and resuming it has the chain asked",
		"RECORD":       layout + "a record cannot be read",
		"STATE_INDEX":  layout + "lists by state show it wrongly or not at all",
		"PAST_INDEX":   layout + "lists of its queue show it wrongly or not at all",
		"LINE":         layout + "it may never come to its turn, or come out of order",
		"CLAIM":        layout + "no process will go on with it",
		"QUEUE_RUN":    layout + "the queue stands still, or runs two at a time",
		"TRAIN":        layout + "what is in flight of a queue is not one train: one sender, one process, successive nonces",
		"SENDER_BOUND": layout + "a sender is kept for nothing, or serves two queues",
		"SENDER_FREE":  layout + "a sender is never bound again, or bound although it must not be; drain and resume it",
		"OPEN_COUNT":   layout + "it may be deleted too early or never",
		"CALLBACK":     layout + "its worker is never told how it ended",
		"LISTED":       layout + "it is missing in lists",
		"COUNT":        layout + "the counts of a queue are wrong",
		"READY":        layout + "the queue is passed over, or bound although it must not be; pause and resume it",
		"LEFTOVER":     layout + "something names what is gone",
		"STRAY":        layout + "an index names what says otherwise",
	}
}
