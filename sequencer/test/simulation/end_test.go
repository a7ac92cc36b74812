package simulation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

// settled reports whether nothing is under way any more.
func (c *checker) settled() (bool, []*txnDoc) {
	var ts []*txnDoc
	told := c.told()
	settled := true
	for _, uid := range slices.Sorted(maps.Keys(c.accepted)) {
		t := new(txnDoc)
		if _, ok := c.s.ask("GET", "/transactions/"+uid, nil, t); !ok {
			settled = false
			continue
		}
		ts = append(ts, t)
		settled = settled && t.final() && (t.State != "DONE" || t.FinalAt != "") &&
			(callback(t) == "" || !told[callback(t)].IsZero())
	}
	return settled, ts
}

// callback is what a worker must have been told of a final transaction.
func callback(t *txnDoc) string {
	switch {
	case t.State == "DONE":
		return "on-success " + t.UID
	case len(t.Attempts) > 0:
		return "on-failure " + t.UID
	}
	return ""
}

// told is when a worker was first told of each end.
func (c *checker) told() map[string]time.Time {
	told := map[string]time.Time{}
	for _, w := range c.s.staff {
		for _, call := range w.worker.Told() {
			what := call.Kind + " " + call.UID
			if at, known := told[what]; !known || call.At.Before(at) {
				told[what] = call.At
			}
		}
	}
	return told
}

// atTheEnd checks what holds once all faults are over.
func (c *checker) atTheEnd() {
	c.always()
	settled, ts := c.settled()
	if len(ts) != len(c.accepted) || len(ts)+len(c.lost)+len(c.late) != len(c.s.posts) {
		c.fail("%d transactions were posted and %d accepted, %d are there", len(c.s.posts), len(c.accepted), len(ts))
	}
	byUID, _ := c.effects()
	told := c.told()
	for _, t := range ts {
		c.end(t, c.known(t.UID, byUID[t.UID], t))
		if !settled &&
			(!t.final() || t.State == "DONE" && t.FinalAt == "" || callback(t) != "" && told[callback(t)].IsZero()) {
			a, _ := c.s.ask("GET", "/transactions/"+t.UID+"/explain", nil, nil)
			c.fail("%s is %s %v after all faults were over, told %v: %v", t.UID, t.State, c.s.healing(), told[callback(t)], a)
		}
	}
	var page struct{ Items []senderDoc }
	c.s.ask("GET", "/senders", nil, &page)
	if len(page.Items) != len(c.s.staff) {
		c.fail("%d senders are registered, %d are there", len(c.s.staff), len(page.Items))
	}
	for _, w := range page.Items {
		if w.Queue != "" || w.State != "FREE" {
			c.fail("sender %.8s is still %s, bound to %s", w.AccountID, w.State, w.Queue)
		}
		if w.Reason != "" && w.Until == "" { // a rest that ends by itself is none of a person's business
			c.fail("sender %.8s is out of use: %s: %s", w.AccountID, w.Reason, w.Detail)
		}
	}
	for _, queue := range c.s.queued {
		var q queueDoc
		if _, ok := c.s.ask("GET", "/queues/"+queue, nil, &q); ok &&
			(q.State != "FREE" || q.Sender != "" || q.Running != "") {
			c.fail("queue %s is still %s with %.8s and %s", queue, q.State, q.Sender, q.Running)
		}
	}
}

// end compares a transaction with its effects on the chain.
func (c *checker) end(t *txnDoc, es []devnet.Effect) {
	if a := c.accepted[t.UID]; t.Queue != a.queue || t.Sequence != a.sequence {
		c.fail("%s was accepted as %v and is stored as %s %d", t.UID, a, t.Queue, t.Sequence)
	}
	for i, a := range t.Attempts {
		if a.Number != i+1 {
			c.fail("%s: attempt %d is numbered %d", t.UID, i+1, a.Number)
		}
	}
	switch t.State {
	case "DONE":
		switch {
		case t.Hash == "" && strings.Contains(string(t.Done), "account"): // its worker needed no block
			if len(es) != 0 {
				c.fail("%s is DONE without a block, and took effect: %s", t.UID, describe(es))
			}
		case c.mistaken(t.Hash, t.UID):
			c.unmarked[t.Hash] = true
		case len(es) != 1 || es[0].Hash != t.Hash:
			c.fail("%s is DONE with %.8s, and its effects are: %s", t.UID, t.Hash, describe(es))
		}
	case "FAILED", "UNRESOLVED":
		if len(es) != 0 {
			c.fail("%s is %s (%v), and took effect: %s", t.UID, t.State, t.code(), describe(es))
		}
		// Some end at once: what may pay no more, and what a gateway alone turns away.
		atOnce := []string{tx.CodeCancelled, "Insufficient_fee", tx.CodeGateway}
		if t.State == "FAILED" && t.Retries < c.s.Policy.MaxRetries && !slices.Contains(atOnce, t.code()) &&
			!t.CancelRequested && (t.code() != tx.CodeExpired || t.ExpiresAt.IsZero()) {
			c.fail("%s is FAILED (%v) after %d retries", t.UID, t.code(), t.Retries)
		}
	}
	c.overdue(t)
	if c.unknown[t.UID] &&
		!slices.ContainsFunc(t.Attempts, func(a attemptDoc) bool { return c.s.legacy && a.Sender == c.s.staff[0].account }) {
		c.fail("the outcome of %s was unknown, and no worker that sends by itself had it", t.UID)
	}
}

// order: within a queue, effects follow acceptance, as far as the log has told them done. A
// transaction that ended badly and came back by a person's hand has lost its place; so has
// one that the log tells to be out of order, for what was before it in its train has failed.
func (c *checker) order(order []string) {
	before := map[string]post{}
	for _, uid := range order {
		c.mu.Lock()
		a, known := c.accepted[uid]
		c.mu.Unlock()
		if c.strayed[uid] || !known || c.phase[uid] != "done" {
			continue
		}
		if b := before[a.queue]; cmp.Less(a.sequence, b.sequence) {
			c.fail("in queue %s, %s took effect before %s", a.queue, b.uid, a.uid)
		}
		before[a.queue] = a
	}
}
