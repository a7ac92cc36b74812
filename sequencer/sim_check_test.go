package sequencer_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
)

// A checker compares what clients were promised with the chain and the log. It
// reads what anybody can read, and knows nothing of how the service works.
type checker struct {
	s *sim

	mu       sync.Mutex
	accepted map[string]posted
	owner    map[string]string // uid by hash, of what legacy workers sent
	problems []string

	// Of the event log, as far as it is read.
	last    int64
	phase   map[string]string
	strayed map[string]bool // uids whose order is no longer promised: a person stepped in
}

type posted struct {
	queue    string
	sequence int64
}

func newChecker(s *sim) *checker {
	return &checker{s: s, accepted: map[string]posted{}, owner: map[string]string{}, phase: map[string]string{}, strayed: map[string]bool{}}
}

// fail notes a broken promise, each kind of it once.
func (c *checker) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 20 && !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
		c.s.in.trace("BROKEN: %s", text)
	}
}

// promised notes a 202, and that the same post always gets the same answer.
func (c *checker) promised(uid, queue string, sequence int64) {
	c.mu.Lock()
	before, known := c.accepted[uid]
	if !known {
		c.accepted[uid] = posted{queue, sequence}
	}
	c.mu.Unlock()
	if known && before != (posted{queue, sequence}) {
		c.fail("%s was accepted as %v and again as %v", uid, before, posted{queue, sequence})
	}
}

func (c *checker) owns(hash, uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner[hash] = uid
}

// effects are what succeeded on the best chain, by uid, in the order of the chain.
func (c *checker) effects() (byUID map[string][]devnet.Effect, order []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	memos := map[string]string{}
	for uid := range c.accepted {
		memos[sequencer.Memo("test", uid)] = uid
	}
	byUID = map[string][]devnet.Effect{}
	for _, e := range c.s.net.Effects() {
		uid := cmp.Or(c.owner[e.Hash], memos[e.Memo])
		if e.OK && uid != "" {
			byUID[uid] = append(byUID[uid], e)
			order = append(order, uid)
		}
	}
	return byUID, order
}

// always checks what holds at every instant.
func (c *checker) always(ctx context.Context) {
	byUID, _ := c.effects()
	for uid, es := range byUID {
		if len(es) > 1 {
			c.fail("%s took effect %d times: %s", uid, len(es), describe(es))
		}
	}
	c.bindings(ctx, false)
	c.events(ctx)
}

func describe(es []devnet.Effect) string {
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%.8s nonce %d of %.8s in block %d", e.Hash, e.Nonce, e.Payer, e.Height))
	}
	return strings.Join(out, "; ")
}

// bindings: what a sender says of its queue, and a queue of its sender, agree.
func (c *checker) bindings(ctx context.Context, free bool) {
	var keys []string
	for _, w := range c.s.staff {
		keys = append(keys, c.s.store.SenderKey(w.account))
	}
	for _, q := range c.s.queued {
		keys = append(keys, "{test}:q:"+q)
	}
	// One script, for a look at one instant.
	found, err := c.s.redis.Client.Eval(ctx, `
		local out = {}
		for i, key in ipairs(KEYS) do
			local v = redis.call('HMGET', key, 'queue', 'sender', 'run')
			for k = 1, 3 do out[#out + 1] = v[k] or '' end
		end
		return out`, keys).StringSlice()
	if err != nil {
		return // Redis is one of the things that fail
	}
	queueOf, senderOf := map[string]string{}, map[string]string{}
	for i, w := range c.s.staff {
		queueOf[w.account] = found[3*i]
	}
	for i, q := range c.s.queued {
		v := found[3*(len(c.s.staff)+i):]
		senderOf[q] = v[1]
		if (v[1] == "") != (v[2] == "") {
			c.fail("queue %s runs %q and is bound to %.8q", q, v[2], v[1])
		}
	}
	for sender, queue := range queueOf {
		if queue != "" && senderOf[queue] != sender {
			c.fail("sender %.8s is bound to %s, which is not bound to it", sender, queue)
		}
		if queue != "" && free {
			c.fail("sender %.8s is still bound to %s", sender, queue)
		}
	}
	for queue, sender := range senderOf {
		if sender != "" && queueOf[sender] != queue {
			c.fail("queue %s is bound to %.8s, which is not bound to it", queue, sender)
		}
	}
}

// ways are the arrows of the state table: DONE can be reached from wherever an
// attempt was open.
func ways() map[string][]string {
	return map[string][]string{
		"":            {"waiting"},
		"waiting":     {"dispatching", "failed", "done"},
		"dispatching": {"sent", "done", "failing", "waiting", "delayed", "unresolved", "watching", "failed"},
		"sent":        {"watching", "done"},
		"watching":    {"done", "failing", "unresolved", "failed"},
		"failing":     {"failed", "delayed", "waiting", "watching", "done"},
		"delayed":     {"dispatching", "waiting", "failed", "watching", "done"},
		"done":        {"waiting", "unresolved"},
		"failed":      {"waiting", "done"},
		"unresolved":  {"waiting", "done"},
	}
}

// events reads on in the log: without gaps, and each transaction on a way of the table.
func (c *checker) events(ctx context.Context) {
	es, err := c.s.store.Events(ctx, c.last, 10_000)
	if err != nil {
		return
	}
	table := ways()
	for _, e := range es {
		n := e.Number
		if n != c.last+1 {
			c.fail("event %d follows event %d", n, c.last)
		}
		c.last = n
		uid, from, to := e.ID, string(e.From), string(e.To)
		c.s.in.trace("    event %d: %s %s %s→%s attempt %d %s, sender %.8s", n, e.Kind, uid, from, to, e.Attempt, e.Code, e.Sender)
		if e.Kind != queues.OfTransaction {
			continue
		}
		if from != c.phase[uid] {
			c.fail("event %d: %s goes from %s to %s, and was %s", n, uid, from, to, c.phase[uid])
		}
		if from != to && !slices.Contains(table[from], to) || from == to && e.Code == "" {
			c.fail("event %d: %s may not go from %s to %s", n, uid, from, to)
		}
		c.phase[uid] = to
		if to == "failed" || to == "unresolved" {
			c.strayed[uid] = true
		}
	}
}

// settled reports whether nothing is under way any more.
func (c *checker) settled(ctx context.Context) (bool, []*queues.Transaction) {
	ts, err := c.s.store.GetMany(ctx, slices.Sorted(maps.Keys(c.accepted)))
	if err != nil {
		return false, nil
	}
	for _, t := range ts {
		if !t.Phase.Final() || t.Claim != "" || t.Callback != "" || t.Phase == queues.PhaseDone && t.FinalAt.IsZero() {
			return false, ts
		}
	}
	return len(ts) == len(c.accepted), ts
}

// atTheEnd checks what holds once all faults are over.
func (c *checker) atTheEnd(ctx context.Context) {
	c.always(ctx)
	c.bindings(ctx, true)
	settled, ts := c.settled(ctx)
	if len(ts) != len(c.accepted) {
		c.fail("%d transactions were accepted, %d are there", len(c.accepted), len(ts))
	}
	byUID, order := c.effects()
	told := map[string]bool{}
	for _, w := range c.s.staff {
		for _, call := range w.worker.Told() {
			told[call.Kind+" "+call.UID] = true
		}
	}
	for _, t := range ts {
		es := byUID[t.UID]
		if a := c.accepted[t.UID]; t.Queue != a.queue || t.Sequence != a.sequence {
			c.fail("%s was accepted as %v and is stored as %s %d", t.UID, a, t.Queue, t.Sequence)
		}
		switch t.State() {
		case queues.Done:
			if len(es) != 1 || es[0].Hash != t.Hash() {
				c.fail("%s is DONE with %.8s, and its effects are: %s", t.UID, t.Hash(), describe(es))
			}
			if !told["on-success "+t.UID] {
				c.fail("%s is DONE and no worker was told", t.UID)
			}
		case queues.Failed, queues.Unresolved:
			if len(es) != 0 {
				c.fail("%s is %s (%v), and took effect: %s", t.UID, t.State(), t.Error, describe(es))
			}
			if len(t.Attempts) > 0 && !told["on-failure "+t.UID] {
				c.fail("%s is %s and no worker was told", t.UID, t.State())
			}
			if t.State() == queues.Failed && t.Retries < c.s.policy.MaxRetries && !(t.Error != nil && t.Error.Code == sequencer.CodeCancelled) {
				c.fail("%s is FAILED (%v) after %d retries", t.UID, t.Error, t.Retries)
			}
			if t.Open() {
				c.fail("%s is %s with an open attempt", t.UID, t.State())
			}
		}
		if !settled && (!t.Phase.Final() || t.Claim != "" || t.Callback != "" || t.FinalAt.IsZero()) {
			x, err := c.s.desk.Explain(ctx, t.UID)
			c.s.in.trace("    %s: %+v %v; pools %v %v", t.UID, x, err, c.s.net.Node(0).Pooled(), c.s.net.Node(c.s.net.Nodes()-1).Pooled())
			c.fail("%s is %s %v after all faults were over: reopened %v, claim %.5q, callback %q, due %v, open %v, retries %d, error %v, attempts %+v",
				t.UID, t.Phase, healing, t.Reopened, t.Claim, t.Callback, t.DueAt.Sub(c.s.began).Round(time.Second), t.Open(), t.Retries, t.Error, t.Attempts)
		}
	}
	if c.s.ordered {
		c.order(order)
	}
	all, _, err := c.s.pool.List(ctx, 100, "")
	c.s.ok(err)
	for _, w := range all {
		if w.Reason != "" && w.Reason != senders.Rested {
			c.fail("sender %.8s is out of use: %s", w.AccountID, w.Reason)
		}
	}
}

// order: within a queue, effects follow acceptance. A transaction that ended
// badly and came back by a person's hand has lost its place.
func (c *checker) order(order []string) {
	before := map[string]string{}
	for _, uid := range order {
		if c.strayed[uid] {
			continue
		}
		a := c.accepted[uid]
		if b := before[a.queue]; b != "" && c.accepted[b].sequence > a.sequence {
			c.fail("in queue %s, %s took effect before %s", a.queue, b, uid)
		}
		before[a.queue] = uid
	}
}
