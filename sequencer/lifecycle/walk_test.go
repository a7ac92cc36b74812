package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// A walk is one life of a transaction as a real flow may go: the store, the worker, the
// nodes and persons answer whatever they can answer, in any order, and processes come
// and go. What it does not keep to is one chain: every look may show another one.
type walk struct {
	r         *rand.Rand
	when      *rand.Rand // of deadlines
	market    *rand.Rand // of what others pay
	elsewhere *rand.Rand // of where workers run
	drive     *Drive
	stored    *tx.Transaction
	view      View // without the record; Local is the drive's
	bytes     *BytesRead
	claims    int
	late      []late
	check     *checker
}

// A late result comes when it is not waited for any more.
type late struct {
	call   Effect
	result Result
}

const walkMemo = "memo"

func newWalk(seed uint64, c *checker) *walk {
	r := rand.New(rand.NewPCG(seed, 1))
	p := testPolicy()
	w := &walk{r: r, when: rand.New(rand.NewPCG(seed, 2)), view: *view(txn(tx.PhaseWaiting)), check: c}
	w.view.Policy, w.view.Replicas, w.view.Local = p, w.one(2), Local{}
	w.market, w.elsewhere = rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
	if w.market.IntN(3) == 0 {
		p.FeeAuto, p.FeeMin, p.FeeTarget = true, 30, 2
	}
	if seed%2 == 1 {
		p.RetryDepth = 2
	}
	w.begin()
	return w
}

// begin has it posted.
func (w *walk) begin() {
	w.stored = txn(tx.PhaseWaiting)
	w.stored.Claim = ""
	w.bytes = nil
	if w.when.IntN(3) == 0 {
		w.stored.ExpiresAt = w.view.Now.Add(minutes([]int{4, 25, 90, 240}[w.when.IntN(4)]))
	}
	w.view.Tip.Zero = w.view.Now.Add(-time.Duration(w.view.Tip.Slot) * w.view.Tip.SlotTime)
	w.own(Local{})
	w.view.Sighting = tx.Sighting{Fate: tx.FateUnknown}
	w.check.begins()
}

// own begins to drive it anew. What earlier calls bring goes to who made them.
func (w *walk) own(l Local) { w.drive, w.late = NewDrive(w.stored, l), nil }

// one is true once in n times.
func (w *walk) one(n int) bool { return w.r.IntN(n) == 0 }

// step does what the drive wants done, and what else happens meanwhile.
func (w *walk) step() {
	for _, r := range w.drive.results {
		v := w.now()
		w.check.learns(&v, r)
	}
	v := w.now()
	w.check.decides(&v)
	switch a := w.drive.Next(w.view, !w.one(20)); a.Do {
	case ToStore:
		w.store(&v, a)
	case ToCall:
		w.call(a.Call)
	case ToRead:
		w.read()
	case ToLeave:
		w.bind()
	case ToStop:
	case ToSleep:
		w.happen()
	}
	if w.view.Policy.FeeAuto && w.market.IntN(4) == 0 {
		w.view.Market = marketAt(w.market, w.view.Now)
	}
	// What is rare is helped along: a crash between storing and sending, and a look at
	// the chain while the next try is prepared and an earlier one is open.
	switch p := w.stored.Phase; {
	case p == tx.PhaseSent && w.one(6):
		w.crash()
	case p.Bound() && p != tx.PhaseSent && p != tx.PhaseWatching && w.stored.Open() && w.one(3):
		w.look()
	case w.one(12):
		w.happen()
	}
}

// now is the view that the next decision is made in.
func (w *walk) now() View {
	v := w.view
	v.Txn, v.Local = w.drive.txn, w.drive.local
	return v
}

// store is the store: it takes the change, refuses it, or its answer gets lost.
func (w *walk) store(v *View, a Action) {
	planned := len(a.Step.Txn.Attempts) > len(v.Txn.Attempts) || a.Moves.Confirm
	switch {
	case w.stored.Revision != w.drive.txn.Revision, w.one(25):
		w.drive.Stale()
	case planned && w.one(15):
		w.drive.Denied(Denied{Why: Costly, Everybody: w.one(2), Spent: 1000, Left: time.Hour})
	case a.Moves.InOrder && w.one(15):
		w.drive.Denied(Denied{Why: Overtaken})
	default:
		w.check.stores(v, &a.Step)
		w.put(a.Step.Txn, a.Moves.Keep)
		w.kept(&a.Step.Aside)
		if w.one(25) {
			w.drive.Stale() // the answer is lost
			return
		}
		w.drive.Stored(w.stored, a.Moves.Confirm && w.view.Replicas && w.one(4))
	}
}

// put stores a record. Whoever has nothing to do with it any more loses the claim.
func (w *walk) put(t *tx.Transaction, keep bool) {
	s := t.Clone()
	s.Revision = w.stored.Revision + 1
	if !s.Phase.Bound() && !keep {
		s.Claim = ""
	}
	old, was := WatchOf(w.stored, walkMemo)
	now, is := WatchOf(s, walkMemo)
	if was != is || old.Payer != now.Payer || old.Nonce != now.Nonce {
		w.view.Sighting = tx.Sighting{Fate: tx.FateUnknown}
	}
	w.stored = s
}

func (w *walk) kept(a *Aside) {
	switch {
	case a.DropBytes:
		w.bytes = nil
	case a.Bytes != nil:
		w.bytes = a.Bytes
	}
}

func (w *walk) read() {
	if w.stored.Claim == "" {
		w.own(Local{})
		return
	}
	w.drive.Read(w.stored, w.view.Clock)
}

// bind has a process own it again: a waiting one with a sender, sometimes with a plan.
func (w *walk) bind() {
	w.claims++
	switch {
	case w.stored.Phase != tx.PhaseWaiting && w.one(3):
		w.happen()
		return
	case w.stored.Phase == tx.PhaseFailed || w.stored.Phase == tx.PhaseUnresolved:
		w.order(tx.OrderRetry)
		return
	case w.stored.Phase == tx.PhaseDone, len(w.stored.Attempts) > 6:
		w.begin() // another life
		return
	case w.one(30):
		w.order(tx.OrderCancel)
		return
	case w.when.IntN(4) == 0 && w.stored.ExpiresAt.Before(w.view.Now) && !w.stored.ExpiresAt.IsZero():
		w.order(tx.OrderExpire)
		return
	}
	t := w.stored.Clone()
	if len(t.Attempts) > 0 && w.one(6) {
		w.found(t)
		return
	}
	t.Phase, t.Claim, t.Sender = tx.PhaseDispatching, fmt.Sprint("me:", w.claims), payer
	if w.one(4) {
		t.Sender = "B62b"
	}
	w.check.binds(w.stored, t)
	w.put(t, true)
	w.own(BoundHere(&Sender{Account: t.Sender, Next: new(uint32(nonce)), Seen: new(uint32(nonce)), Greeted: true}))
}

// found binds it with a command that Redis had forgotten, and the chain had not.
func (w *walk) found(t *tx.Transaction) {
	c := Command{Payer: payer, Nonce: nonce + 9, Fee: 170, ValidUntil: 350, Hash: w.hash(), Slot: 299}
	u, _ := Restored(t, KnownBy(Use{Command: c}, w.view.Now), w.view.Now)
	if u == nil {
		w.happen() // it knows this one already
		return
	}
	t = u
	t.Phase, t.Claim, t.Sender = tx.PhaseDispatching, fmt.Sprint("me:", w.claims), payer
	w.check.confirms[opening{payer, nonce + 9, t.Last().Number}] = true // it left before
	w.put(t, true)
	w.own(Local{})
}

// hash is news.
func (w *walk) hash() string { return fmt.Sprint("5Jnews", w.r.IntN(1000)) }

// call is the world outside: it answers now, later, or never.
func (w *walk) call(e Effect) {
	if e.Kind == AskRecord {
		w.drive.Add(e, nil)
		w.drive.Stale()
		return
	}
	w.check.calls(w.stored, e)
	r := w.answer(e)
	switch {
	case w.one(15):
		w.late = append(w.late, late{e, r})
	default:
		w.drive.Add(e, r)
		if w.one(10) {
			w.late = append(w.late, late{e, r})
		}
	}
}

// happen is what happens of itself.
func (w *walk) happen() {
	switch n := w.r.IntN(20); {
	case n < 6:
		w.look()
	case n < 12:
		d := []time.Duration{time.Second, 20 * time.Second, minutes(4), minutes(45)}[w.r.IntN(4)]
		w.view.Now, w.view.Clock = w.view.Now.Add(d), w.view.Clock.Add(d)
		w.view.Tip.Slot += uint32(d / minutes(3))
		w.view.Tip.TipSlot = w.view.Tip.Slot
	case n < 14:
		w.view.Tip.At = w.view.Clock
		w.view.Tip.Quorum, w.view.Tip.Fresh = !w.one(10), !w.one(10)
		w.view.Known, w.view.Draining, w.view.Wanted = !w.one(20), w.one(20), w.elsewhere.IntN(4) == 0
	case n == 14:
		w.order([]tx.OrderKind{tx.OrderCancel, tx.OrderRetry, tx.OrderLanded, tx.OrderDead}[w.r.IntN(4)])
	case n == 15:
		w.crash()
	case n < 18 && len(w.late) > 0:
		l := w.late[w.r.IntN(len(w.late))]
		w.drive.Add(l.call, l.result)
	}
}

// crash has another process take over, or the same one after a start.
func (w *walk) crash() {
	if w.stored.Claim == "" {
		return
	}
	w.claims++
	w.stored = w.stored.Clone()
	w.stored.Claim = fmt.Sprint("me:", w.claims)
	w.own(Local{ReadAt: w.view.Clock})
}

// marketAt is any that may be known: of types, too, that weigh otherwise by now.
func marketAt(r *rand.Rand, now time.Time) fees.Market {
	m := fees.Market{Weight: pick(r, 0, 2, 5)}
	for at := now; r.IntN(4) > 0 && len(m.Looks) < 3; at = at.Add(-minutes(20)) {
		price := pick[uint64](r, 0, 5, 40, 1<<60)
		m.Looks = append(m.Looks, fees.Look{At: at, Size: 30, Ranks: []uint64{2 * price, price}[:r.IntN(3)]})
	}
	return m
}

// look is a look at the chain, which may show anything.
func (w *walk) look() {
	w.view.Tip.At = w.view.Clock
	watch, some := WatchOf(w.stored, walkMemo)
	if !some {
		w.view.Sighting = tx.Sighting{Fate: tx.FateUnknown}
		return
	}
	w.view.Sighting = sightingOf(w.r, &watch)
	w.view.Sighting.TipSlot = w.view.Tip.TipSlot
}

// order is a person's, given to any process.
func (w *walk) order(what tx.OrderKind) {
	v := w.now()
	v.Txn = w.stored
	v.Local = Local{}
	s, err := Ask(&v, tx.Order{What: what, Hash: "5Jperson"})
	if err != nil {
		return
	}
	w.check.stores(&v, &s)
	w.put(s.Txn, Effects(w.stored, s.Txn, &s.Aside, v.Policy).Keep)
	w.kept(&s.Aside)
	w.drive.Stale()
}

// rests sees the drive come to rest when nothing more happens than that its calls are
// answered, by a world that gives the same answers each time.
func (w *walk) rests() error {
	d := w.drive.Clone()
	d.results = slices.Clone(d.results)
	u := &walk{r: rand.New(rand.NewPCG(1, 1)), drive: d, stored: w.stored, view: w.view, bytes: w.bytes}
	var last []string
	for range 50 {
		v := u.now()
		a := d.Next(u.view, true)
		last = append(last, fmt.Sprint(a.Do, " ", a.Call.Kind, " ", told(&v, a.Step)))
		switch a.Do {
		case ToSleep, ToLeave:
			return nil
		case ToStore:
			if u.stored.Revision != d.txn.Revision {
				d.Stale()
				continue
			}
			u.put(a.Step.Txn, a.Moves.Keep)
			u.kept(&a.Step.Aside)
			d.Stored(u.stored, false)
		case ToRead:
			if u.stored.Claim == "" {
				return nil
			}
			u.read()
		case ToCall:
			if a.Call.Kind == AskRecord {
				d.Add(a.Call, nil)
				d.Stale()
				continue
			}
			d.Add(a.Call, u.kindly(a.Call))
		}
	}
	return fmt.Errorf("no rest after %d steps, the last of which: %q", len(last), last[len(last)-8:])
}
