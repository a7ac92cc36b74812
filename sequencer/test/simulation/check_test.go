package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A checker compares what clients were promised with the chain and the log. It
// reads what anybody can read, the HTTP API, the events and the simulated chain,
// and knows nothing of how the service works.
type checker struct {
	s *sim

	mu       sync.Mutex
	accepted map[string]post
	lost     map[string]bool      // uids that Redis forgot after it had answered
	late     map[string]bool      // uids that were posted after their deadline, and so refused
	owner    map[string]string    // uid by hash, of what legacy workers sent
	asked    map[string]time.Time // when they were asked for it
	memos    map[string]string    // uid by memo
	problems []string
	unmarked map[string]bool // hashes of what a legacy worker sent and Redis has forgotten

	forgot   bool      // Redis has forgotten: what the log told may not have been
	forgotAt time.Time // when it last did
	gaps     []gap

	// Of the event log, as far as it is read.
	last    int64
	phase   map[string]string
	strayed map[string]bool          // uids whose order is no longer promised: a person stepped in
	bound   map[string]string        // sender by uid, of what has one
	unknown map[string]bool          // uids whose outcome only a person could settle
	tried   map[string]bool          // uids of which an attempt was made
	ended   map[string]ending        // by queue, what ran in it last
	calm    map[string]calm          // by uid
	shown   map[string]tx.QueueState // by queue, as its events draw it
	polled  map[tx.QueueState]int    // how often a queue was found to be as they do
}

// A gap is a time that Redis has forgotten, as it did at its end.
type gap struct{ since, until time.Time }

type ending struct {
	uid, told string
	at        time.Time
}

func newChecker(s *sim) *checker {
	memos := map[string]string{}
	for _, p := range s.posts {
		memos[lifecycle.Memo("test", p.uid)] = p.uid
	}
	return &checker{
		s: s, memos: memos, lost: map[string]bool{}, late: map[string]bool{},
		accepted: map[string]post{}, owner: map[string]string{},
		asked: map[string]time.Time{}, phase: map[string]string{}, strayed: map[string]bool{},
		bound: map[string]string{}, unknown: map[string]bool{},
		tried: map[string]bool{}, ended: map[string]ending{}, unmarked: map[string]bool{},
		calm: map[string]calm{}, shown: map[string]tx.QueueState{}, polled: map[tx.QueueState]int{},
	}
}

// fail notes a broken promise, each kind of it once.
func (c *checker) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 20 && !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
		c.s.story.tell("BROKEN: %s", text)
	}
}

// promised notes the answer to the ith post, asked at a moment, and that the same
// post always gets the same answer. What was asked before Redis forgot promises
// nothing after: its answer may have come late.
func (c *checker) promised(i int, asked time.Time, status int, t *txnDoc) {
	p := c.s.posts[i]
	p.sequence = t.Sequence
	c.mu.Lock()
	before, known := c.accepted[p.uid]
	p.at = before.at
	if !known {
		p.at = time.Now()
	}
	forgot := c.forgot
	if late := forgot && asked.Before(c.forgotAt); !late {
		c.accepted[p.uid] = p
	}
	c.mu.Unlock()
	if t.UID != p.uid || t.Queue != p.queue || t.Sequence == 0 {
		c.fail("%v was answered with %+v", p, t)
	}
	if known && !forgot && (before != p || status == 202) {
		c.fail("%v was accepted with %d as %+v, and before as %v", p, status, t, before)
	}
}

// tooLate notes that a post was refused as its deadline was over: then it is not there, unless what
// was accepted of it before had been forgotten.
func (c *checker) tooLate(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.accepted[uid]; known && !c.forgot {
		c.fail("%s was accepted, and is refused as too late when it is posted again", uid)
	}
	if !c.lost[uid] {
		c.late[uid] = true
	}
}

// doubt notes that Redis is about to forget: an answer may come from before or after.
func (c *checker) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot = true
}

// forget notes that Redis has forgotten what it was told since a moment: no
// promise to a client is older than that, and the log begins anew.
func (c *checker) forget(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.story.tell("Redis has forgotten what it was told since %v", since.Sub(c.s.began))
	maps.DeleteFunc(c.accepted, func(_ string, p post) bool { return p.at.After(since) })
	c.forgot, c.forgotAt, c.last = true, time.Now(), 0
	c.gaps = append(c.gaps, gap{since, c.forgotAt})
	clear(c.phase)
	clear(c.bound)
	clear(c.ended)
	clear(c.shown)
}

// owns notes for whom a legacy worker sends, and when it was asked to.
func (c *checker) owns(hash, uid string, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner[hash], c.asked[hash] = uid, asked
}

// whose is the uid that a command on the chain was made for.
func (c *checker) whose(command devnet.Command) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.owner[command.Hash], c.memos[command.Memo])
}

// effects are what succeeded on the best chain, by uid, in the order of the chain.
func (c *checker) effects() (byUID map[string][]devnet.Effect, order []string) {
	byUID = map[string][]devnet.Effect{}
	for _, e := range c.s.Net.Effects() {
		uid := c.whose(e.Command)
		if uid != "" {
			c.ends(uid, &e.Command)
		}
		if e.OK && uid != "" {
			byUID[uid] = append(byUID[uid], e)
			order = append(order, uid)
		}
	}
	return byUID, order
}

// ends: what does not come from a legacy worker has a last slot.
func (c *checker) ends(uid string, x *devnet.Command) {
	if x.ValidUntil == math.MaxUint32 && (!c.s.legacy || x.Payer != c.s.staff[0].account) {
		c.fail("%s could land for ever, as %.8s", uid, x.Hash)
	}
}

// pooled is what nodes that others listen to hold of a transaction and can still land.
func (c *checker) pooled(uid string) (commands []devnet.Command) {
	slot := c.s.Net.Slot()
	for n := range c.s.nodes {
		if c.s.Net.Node(n).Faults().Isolated {
			continue
		}
		for _, x := range c.s.Net.Node(n).Waiting() {
			account, _ := c.s.Net.Account(x.Payer)
			if c.whose(x) == uid && x.Nonce >= account.Nonce && x.ValidUntil >= slot {
				commands = append(commands, x)
			}
		}
	}
	return commands
}

// always checks what holds at every instant.
func (c *checker) always() {
	byUID, order := c.effects()
	for uid, es := range byUID {
		c.inTime(uid, es)
		if len(es) > 1 {
			es = c.known(uid, es, nil)
		}
		if len(es) > 1 {
			c.fail("%s took effect %d times: %s", uid, len(es), describe(es))
		}
	}
	if c.s.ordered && !c.s.commuting && !c.forgot { // sequences are given anew where the last ones were forgotten
		c.order(order)
	}
	c.events()
	c.drawn()
	c.calms()
}

// known leaves out what nobody can know any more: what was sent of a transaction that
// Redis has forgotten as such, and that was posted again; and what a legacy worker,
// which leaves no mark, has sent in a call that Redis has forgotten, and whose process
// did not outlive it. t may be nil.
func (c *checker) known(uid string, es []devnet.Effect, t *txnDoc) []devnet.Effect {
	if !c.forgot {
		return es
	}
	if t == nil {
		t = new(txnDoc)
		if _, ok := c.s.ask("GET", "/transactions/"+uid, nil, t); !ok {
			return nil // it is looked at again
		}
	}
	return slices.DeleteFunc(slices.Clone(es), func(e devnet.Effect) bool {
		if !c.strange(e.Command, t) {
			return false
		}
		c.unmarked[e.Hash] = true
		return true
	})
}

// strange reports whether nobody can know any more that x was made for t, of which
// Redis knows other attempts. Of what bears a mark, that is where Redis forgot the
// transaction after x was planned, and took it in again later; of what bears none,
// where it forgot the time in which the worker was asked.
func (c *checker) strange(x devnet.Command, t *txnDoc) bool {
	if slices.ContainsFunc(t.Attempts, func(a attemptDoc) bool { return a.Hash == x.Hash }) {
		return false
	}
	if c.memos[x.Memo] == "" {
		return c.nameless(x)
	}
	lasts := uint32(c.s.Policy.ValidSlots) + uint32((c.s.Policy.DispatchTimeout+simSlot-1)/simSlot)
	planned := c.s.began.Add(time.Duration(int(x.ValidUntil)-int(lasts)) * simSlot) // at the earliest
	return slices.ContainsFunc(c.gaps,
		func(g gap) bool { return !planned.After(g.until) && !t.ReceivedAt.Before(g.until) })
}

// kept reports whether x is of an open attempt of a transaction that stands in its
// queue: Redis forgot that it ran, and its place is kept until what Redis knew
// there has ended. What it lands beside another attempt is found among the effects.
func (c *checker) kept(uid string, x devnet.Command) bool {
	var why struct{ Attempts []attemptDoc }
	c.s.ask("GET", "/transactions/"+uid+"/explain", nil, &why)
	return slices.ContainsFunc(why.Attempts,
		func(a attemptDoc) bool { return a.Open && a.Sender == x.Payer && a.Nonce == x.Nonce })
}

// nameless reports whether x bears no mark, and was asked of a worker at a time that
// Redis has forgotten.
func (c *checker) nameless(x devnet.Command) bool {
	const late = 5 * time.Minute // that a request may take
	c.mu.Lock()
	at, legacy := c.asked[x.Hash]
	c.mu.Unlock()
	return legacy && c.memos[x.Memo] == "" && slices.ContainsFunc(c.gaps, func(g gap) bool {
		return !at.Before(g.since) && at.Before(g.until.Add(late)) // what is stored at that very moment may be lacking
	})
}

// mistaken reports whether a hash is that of what a worker sent for another
// transaction than uid, and nobody can know which.
func (c *checker) mistaken(hash, uid string) bool {
	return slices.ContainsFunc(c.s.Net.Effects(), func(e devnet.Effect) bool {
		return e.Hash == hash && c.whose(e.Command) != uid && c.nameless(e.Command)
	})
}

// forgotten reports whether a command of an account is one that nobody can know.
func (c *checker) forgotten(account string) bool {
	for _, e := range c.s.Net.Effects() {
		uid := c.whose(e.Command)
		if e.Payer != account || uid == "" {
			continue
		}
		var t txnDoc
		if a, ok := c.s.ask("GET", "/transactions/"+uid, nil, &t); ok && c.strange(e.Command, &t) ||
			a.status == http.StatusNotFound {
			return true
		}
	}
	return false
}

func describe(es []devnet.Effect) string {
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%.8s nonce %d of %.8s in block %d", e.Hash, e.Nonce, e.Payer, e.Height))
	}
	return strings.Join(out, "; ")
}

// reconciled reports whether the Redis that answers now is the one that was last compared
// with the chain.
func (s *sim) reconciled() bool {
	keys, err := s.Redis.Client.Keys(s.Ctx, "*is:server").Result()
	if err != nil || len(keys) != 1 {
		return false
	}
	info, err := s.Redis.Client.InfoMap(s.Ctx, "replication").Result()
	return err == nil && s.Redis.Client.Get(s.Ctx, keys[0]).Val() == info["Replication"]["master_replid"]
}

// ways are the arrows of the state table: DONE can be reached from wherever an
// attempt was open.
func ways() map[string][]string {
	return map[string][]string{
		"":            {"waiting"},
		"waiting":     {"dispatching", "failed", "done"},
		"dispatching": {"sent", "done", "failing", "waiting", "delayed", "unresolved", "watching", "failed"},
		"sent":        {"watching", "done", "failing", "unresolved", "waiting", "failed", "delayed"},
		"watching":    {"done", "failing", "unresolved", "failed", "waiting", "delayed"},
		"failing":     {"failed", "delayed", "waiting", "watching", "done"},
		"delayed":     {"dispatching", "waiting", "failed", "watching", "done"},
		"done":        {"waiting", "unresolved"},
		"failed":      {"waiting", "done"},
		"unresolved":  {"waiting", "done"},
	}
}

// holding are the phases in which a sender is bound.
var holding = []string{"dispatching", "sent", "watching", "failing", "delayed"}

// events reads on in the log: without gaps, and each transaction on a way of the
// table. Since the log tells every change at its instant, it also tells whether
// a queue ever ran two, or a sender served two.
func (c *checker) events() {
	es, err := c.s.desk.Store.Events(c.s.Ctx, c.last, 10_000)
	if err != nil {
		return // Redis is one of the things that fail
	}
	table := ways()
	for _, e := range es {
		n := e.Number
		if n != c.last+1 {
			c.fail("event %d follows event %d", n, c.last)
		}
		c.last = n
		uid, from, to := e.ID, string(e.From), string(e.To)
		c.s.story.tell("    event %d at %v: %s %.12s %s→%s attempt %d %s, sender %.8s",
			n, e.At.Sub(c.s.began).Round(100*time.Millisecond), e.Kind, uid, from, to, e.Attempt, e.Code, e.Sender)
		if c.draw(&e); e.Kind != queues.OfTransaction {
			continue
		}
		if to == "failed" || to == "unresolved" {
			c.strayed[uid] = true
		}
		switch e.Code {
		case tx.CodeOutcomeUnknown:
			c.unknown[uid] = true
		case tx.CodeOutOfOrder:
			c.strayed[uid] = true
			if c.s.commuting {
				c.fail("event %d: %s is told to be out of order, where there is none", n, uid)
			}
		}
		if c.forgot {
			// What was forgotten is written back as it is now, not told step by step. Until
			// something is told anew, nobody knows whether it was bound meanwhile.
			if delete(c.phase, uid); e.At.After(c.forgotAt) {
				c.phase[uid] = to
			}
			continue
		}
		if from != c.phase[uid] {
			c.fail("event %d: %s goes from %s to %s, and was %s", n, uid, from, to, c.phase[uid])
		}
		if from != to && !slices.Contains(table[from], to) || from == to && e.Code == "" {
			c.fail("event %d: %s may not go from %s to %s", n, uid, from, to)
		}
		c.phase[uid] = to
		c.tried[uid] = c.tried[uid] || e.Attempt > 0
		c.inTurn(&e)
		c.binding(n, uid, to, e.Sender)
	}
	// What was released without having landed must be nowhere. While Redis is not reconciled
	// nothing is bound, and no sender serves another.
	if c.forgot && !c.s.reconciled() {
		return
	}
	for uid, phase := range c.phase {
		if phase == "waiting" || phase == "failed" || phase == "unresolved" && !c.unknown[uid] {
			for _, x := range c.pooled(uid) {
				var t txnDoc
				if c.forgot {
					if _, ok := c.s.ask("GET", "/transactions/"+uid, nil, &t); !ok || c.strange(x, &t) {
						continue
					}
					if c.kept(uid, x) {
						continue
					}
				}
				c.fail("%s is %s, its sender released, and %s may still land", uid, phase, x.Hash)
			}
		}
	}
}

// inTurn: the next of a queue is not bound before the callback of the one before
// was answered, or CALLBACK_WAIT is over.
func (c *checker) inTurn(e *queues.Event) {
	queue, _, _ := strings.Cut(e.ID, ".")
	to := string(e.To)
	switch {
	case slices.Contains(holding, string(e.From)) && to == "done":
		c.ended[queue] = ending{e.ID, "on-success " + e.ID, e.At}
	case slices.Contains(holding, string(e.From)) && (to == "failed" || to == "unresolved") && c.tried[e.ID]:
		c.ended[queue] = ending{e.ID, "on-failure " + e.ID, e.At}
	case e.From == tx.PhaseDone && to == "waiting" && c.ended[queue].uid == e.ID:
		delete(c.ended, queue) // it was not the end, and nobody is to be told so
	case e.From == tx.PhaseWaiting && to == "dispatching" && c.inFlight(queue, e.ID) > 0:
		// It is made while the callbacks of those ahead are told.
	case e.From == tx.PhaseWaiting && to == "dispatching":
		before := c.ended[queue]
		delete(c.ended, queue)
		if before.uid == "" || before.uid == e.ID || e.At.Sub(before.at) >= c.s.Policy.CallbackWait-time.Second {
			return
		}
		if at := c.told()[before.told]; at.IsZero() || at.After(e.At.Add(time.Second)) {
			c.fail("event %d: %s is bound %v after %s ended, of which no worker was told", e.Number, e.ID, e.At.Sub(before.at),
				before.uid)
		}
	}
}

// binding follows which sender is bound to which queue: one at a time.
func (c *checker) binding(n int64, uid, to, sender string) {
	if !slices.Contains(holding, to) {
		delete(c.bound, uid)
		return
	}
	queue, _, _ := strings.Cut(uid, ".")
	for other, by := range c.bound {
		of, _, _ := strings.Cut(other, ".")
		if other != uid && (of == queue) != (by == sender) {
			c.fail("event %d: %s runs with %.8s, and %s with %.8s", n, uid, sender, other, by)
		}
	}
	if c.bound[uid] = sender; sender == "" {
		c.fail("event %d: %s runs without a sender", n, uid)
	}
	if c.s.Policy.Width < 2 && c.inFlight(queue, uid) > 0 {
		c.fail("event %d: queue %s runs %s beside another", n, queue, uid)
	}
}

// inFlight counts those of a queue that have a sender, but one.
func (c *checker) inFlight(queue, but string) (n int) {
	for uid := range c.bound {
		if of, _, _ := strings.Cut(uid, "."); of == queue && uid != but {
			n++
		}
	}
	return n
}
