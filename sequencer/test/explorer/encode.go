package explorer

import (
	"hash/maphash"
	"slices"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A Key tells states apart: 128 bits of what can still matter of a state.
type Key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// Key folds a state. Processes that are alike may be exchanged: the least of both ways
// to name them counts.
func (s *State) Key(buf []byte) (Key, []byte) {
	e := encoder{s: s, buf: buf[:0], order: []int{0, 1}}
	e.state()
	k := Key{maphash.Bytes(seeds[0], e.buf), maphash.Bytes(seeds[1], e.buf)}
	if len(s.procs) == 2 && !s.world.Apart {
		e.buf, e.order = e.buf[:0], []int{1, 0}
		e.state()
		l := Key{maphash.Bytes(seeds[0], e.buf), maphash.Bytes(seeds[1], e.buf)}
		if l[0] < k[0] || l[0] == k[0] && l[1] < k[1] {
			k = l
		}
	}
	return k, e.buf
}

// An encoder writes what can still matter: times as before or after now, heights as
// their distance from the tip, claims as whose they are.
type encoder struct {
	s     *State
	buf   []byte
	order []int // of the processes
	tip   lifecycle.Tip
}

func (e *encoder) byte(b byte)   { e.buf = append(e.buf, b) }
func (e *encoder) int(n int)     { e.buf = append(e.buf, byte(n)) }
func (e *encoder) text(t string) { e.buf = append(append(e.buf, byte(len(t))), t...) }
func (e *encoder) bits(bits ...bool) {
	var b byte
	for i, set := range bits {
		if set {
			b |= 1 << i
		}
	}
	e.byte(b)
}

// far is the distance beyond which heights do not matter.
func (e *encoder) far() int {
	c, s, f := e.s.world.depths()
	return max(c, s, f) + 2
}

// slot writes a height or slot as its distance from the tip.
func (e *encoder) slot(n uint32) {
	if n == 0 {
		e.byte(255)
		return
	}
	far := e.far()
	e.int(max(-far, min(far, int(n)-e.s.chain[0].tip())) + far)
}

// age writes whether a time is set, and whether all that counts from it is due.
func (e *encoder) age(t time.Time) {
	switch {
	case t.IsZero():
		e.byte(0)
	case e.s.now.Sub(t) < recent:
		e.byte(1)
	default:
		e.byte(2)
	}
}

func (e *encoder) state() {
	s := e.s
	e.stored(&s.store)
	if s.replica != nil {
		e.int(s.lagging())
		e.stored(s.replica)
	}
	e.chains()
	for _, p := range e.order[:len(s.procs)] {
		e.process(p)
	}
	for _, x := range s.errand {
		e.command(x.cmd)
	}
	e.byte('|')
	for _, p := range s.past {
		e.byte(p.deep)
		e.byte(p.asked)
		e.bits(p.cancelled, p.ended, p.untold, p.unknown)
		if p.unknown {
			e.command(p.lost[0])
			e.command(p.lost[1])
		}
	}
	e.ledger()
	e.bits(s.away, s.broke, s.store.Unsettled, s.world.Deadline > 0 && !s.now.Before(s.world.terms().ExpiresAt))
	e.bits(s.differs[:]...)
	for _, n := range s.budget {
		e.byte(byte(n))
	}
}

func (e *encoder) ledger() {
	for _, x := range e.s.ledger {
		e.text(string(x.stands)[:1])
		e.buf = append(e.buf, x.times, x.place, x.late)
	}
}

func (e *encoder) claim(c string) {
	if c == "" {
		e.byte(0)
		return
	}
	slot := int(c[1] - '0')
	if slot >= len(e.s.procs) || e.s.procs[slot].id != Owner(c) {
		former := e.s.store.proc(Owner(c))
		e.bits(true, true, true, former != nil && former.Lapsed)
		return
	}
	e.int(1 + e.order[slot])
}

func (e *encoder) record(r *Record) {
	e.transaction(r.Txn)
	e.claim(r.Txn.Claim)
	e.bits(r.Overtaken, r.Bytes != nil)
	if r.Bytes != nil {
		e.int(r.Bytes.Number)
		e.command(commandOf(string(r.Bytes.Command)))
	}
	for _, f := range r.Facts {
		e.int(f.Number)
		e.hash(f.Hash)
		e.hash(f.NodeHash)
	}
	e.byte('|')
	if e.s.world.FeeLimit+e.s.world.Allowance > 0 {
		e.int(int(r.Cost))
		e.int(int(r.Counted.Cost))
		e.bits(r.Counted.Day == e.s.now.Unix()/86400)
	}
}

func (e *encoder) transaction(t *tx.Transaction) {
	e.int(slices.Index(tx.Phases, t.Phase))
	e.int(slices.Index(tx.Phases, t.Ending))
	e.int(senderOf(t.Sender))
	e.int(t.Retries)
	e.int(t.Losses)
	e.int(senderOf(t.Doubted))
	e.int(t.Landed)
	e.bits(t.Deferred > 0, t.CancelRequested, t.Reopened, t.Callback != "", t.DueAt.After(e.s.now), t.FinalAt.IsZero(),
		t.Error != nil && t.Error.Code == tx.CodeOutcomeUnknown)
	e.int(len(t.Attempts))
	for i := range t.Attempts {
		e.attempt(t, &t.Attempts[i])
	}
}

func (e *encoder) attempt(t *tx.Transaction, a *tx.Attempt) {
	e.int(slices.Index(tx.AttemptStates, a.State))
	if a.State != tx.Dropped || e.s.world.trains() || e.s.world.Market { // else nobody asks why
		e.int(slices.Index(tx.Causes, a.Cause))
	}
	e.int(senderOf(a.Sender))
	e.int(int(a.Nonce))
	e.int(int(a.Fee))
	e.slot(a.ValidUntil)
	if t.Ledger != "" {
		e.age(a.StartedAt)
	} else {
		e.hash(a.Hash)
	}
	if a.NodeHash != a.Hash && t.Ledger == "" {
		e.hash(a.NodeHash)
	}
	e.bits(a.Legacy, a.NodeHash == a.Hash, a.StateHash == "", a.Legacy &&
		e.s.now.Sub(a.StartedAt) < recent, a.Alone)
	if p := e.s.other; p.FeeMax > p.Fee { // it may be raised some time after it was planned and sent
		e.slot(max(a.Slot, a.SentSlot))
	}
	if e.s.world.Builds {
		e.text(a.Base[:min(8, len(a.Base))])
		e.text(a.Effects)
	}
	if e.s.world.Market {
		e.int(a.Weight)
		e.int(a.Quote.Weight)
	}
}

func (e *encoder) hash(h string) {
	if h == "" {
		e.byte(0)
		return
	}
	e.byte(1)
	e.command(commandOf(h))
}

func (e *encoder) command(c command) {
	e.buf = append(e.buf, byte(c.txn), byte(c.number), c.sender, c.nonce, c.fee)
	e.slot(uint32(c.until))
}

func (e *encoder) stored(s *Store) {
	for i := range s.Records {
		e.record(&s.Records[i])
	}
	e.queues(s)
}

func (e *encoder) queues(s *Store) {
	for i := range s.Queues {
		q := &s.Queues[i]
		for _, list := range [][]string{q.Run, q.Holder} {
			for _, uid := range list {
				e.int(txnOf(uid))
			}
			e.byte('|')
		}
		e.bits(q.Hold.After(e.s.now), q.Alone.After(e.s.now), q.Paused != "")
		rank := 0
		for k := range s.Queues {
			if s.Queues[k].turn < q.turn {
				rank++
			}
		}
		e.int(rank)
	}
	for i := range s.Senders {
		a := &s.Senders[i]
		rank := 0
		for k := range s.Senders {
			if s.Senders[k].turn < a.turn {
				rank++
			}
		}
		e.bits(a.Queue != "", a.Known)
		e.int(int(a.Next))
		e.int(rank)
		if e.s.world.Unresolved > 0 {
			e.int(a.Streak)
		}
		for _, r := range a.Reasons {
			e.text(string(r.Why))
			e.text(r.By)
			e.bits(r.Until.IsZero(), r.Until.After(e.s.now))
		}
		e.byte('|')
	}
	for t := range e.s.past {
		for _, l := range s.Landed {
			if l.UID == uid(t) {
				e.int(t)
				e.int(senderOf(l.Account))
				e.int(int(l.Nonce))
			}
		}
	}
	if e.s.world.Allowance > 0 {
		for i := range s.Queues {
			e.int(int(s.Budgets[BudgetOf{s.Queues[i].Name, e.s.now.Unix() / 86400}]))
		}
	}
	if e.s.world.FeeLimit > 0 {
		for _, f := range s.Fees {
			if f.Day == e.s.now.Unix()/86400 {
				e.int(senderOf(f.Sender))
				e.int(int(f.Cost))
			}
		}
	}
	e.byte('|')
}

func (e *encoder) chains() {
	s := e.s
	tip, far := s.chain[0].tip(), e.far()
	if h := s.world.Height; h > 0 {
		e.int(start + h - tip) // blocks that are left
	}
	for n := range max(1, s.world.Nodes) {
		c := s.chain[n]
		for i := range c.blocks {
			if b := &c.blocks[i]; b.full {
				e.command(b.cmd)
				e.byte(b.fate)
				e.int(min(far, c.tip()-int(b.height)+1))
			}
		}
		e.byte('|')
	}
	if s.world.Nodes > 1 {
		other := s.chain[1]
		e.int(tip - other.tip())
		e.bits(other.tip() > 0 && other.stateHash(other.tip()) == s.chain[0].stateHash(other.tip()))
	}
	for i := range s.net {
		w := &s.net[i]
		if w.cmd.until > 0 && int(w.cmd.until)+far <= tip {
			continue // it can land nowhere
		}
		e.command(w.cmd)
		e.byte(w.pool)
		e.bits(w.known)
	}
	e.byte('|')
}
