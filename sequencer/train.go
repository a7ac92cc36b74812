package sequencer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A train is what this process drives of one queue: what is in flight of it, in order, and what has
// landed and is watched until it is final. All that is known of it belongs to one goroutine at a time, which
// runs while there is something to do; everybody else leaves word.
type train struct {
	s     *Sequencer
	queue string

	mu      sync.Mutex
	words   []word
	running bool
	gone    bool // nothing of the queue is driven here any more

	size   atomic.Int32 // how many are in flight
	wide   atomic.Bool  // more than one may be
	builds atomic.Bool  // members are built before they are proved, see lifecycle.Train

	// Of the goroutine that runs.
	owners map[string]*owner // by uid
	uids   []string          // in flight, in order; another process may drive some of them
	width  int               // the most that may be in no block
	height uint32            // of the block of what landed last of it
	held   bool              // its queue is paused, or its sender out of use
	woken  []*owner          // that may have something to do
	room   bool              // one more may find room: it was not looked for it since something changed
}

// A word is what others leave to a train: that something happened, what came of an effect, that a
// record has changed, or that there is one more to drive.
type word struct {
	uid     string // whom it is for; "" for all
	begin   *owner // is driven from now on
	runs    bool   // uid was bound just now
	width   int    // and how wide a person has made its queue, 0 for not
	call    lifecycle.Effect
	result  lifecycle.Result
	txn     *tx.Transaction // that result tells of
	built   *built          // what it is of
	changed bool
	anew    bool // and what the store was asked is to be asked anew
	due     bool // by the clock of the store
	chain   bool // the chain shows something else of it
	heed    bool // what holds for the queue has changed
	look    bool // one more may find room
	// unhurried: nobody waits for what follows. It holds one of the places of s.unhurried.
	unhurried bool
}

// A shown is what the others of its train know of one in flight.
type shown struct {
	member lifecycle.Member
	stale  bool // it is to be read anew
	built  *built
}

// own has o drive its transaction from now on, told by w. If this process drives it already, that one
// reads it anew: the claim may be another one.
func (s *Sequencer) own(o *owner, w word) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.owners[o.uid]; known != nil {
		w.changed = true
		known.leave(w)
		return
	}
	queue := o.drive.Txn().Queue
	if o.train = s.trains[queue]; o.train == nil {
		o.train = &train{s: s, queue: queue, owners: map[string]*owner{}}
		s.trains[queue] = o.train
	}
	s.owners[o.uid] = o
	s.noteDelay(o)
	w.begin = o
	o.leave(w)
}

// leave leaves word, and has it heard if nobody does now.
func (t *train) leave(w word) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		t.s.work.Go(func(ctx context.Context) { t.unheard(ctx, w) })
		return
	}
	t.words = append(t.words, w)
	if !t.running {
		t.running = t.s.work.Go(t.run)
	}
}

// unheard handles a word for what is driven here no longer.
func (t *train) unheard(ctx context.Context, w word) {
	if w.unhurried {
		<-t.s.unhurried
	}
	t.s.late(ctx, w.txn, w.result)
}

// run acts as long as there is something to do. Whether the claims are surely still this
// process's is looked at first, and the words that were left are heard then: a claim that
// was lost and is believed again comes with the word that the record is to be read.
func (t *train) run(ctx context.Context) {
	for more := true; ; {
		live := t.s.live()
		words, running := t.take(more)
		if !running {
			return
		}
		for _, w := range words {
			t.hear(ctx, w)
		}
		more = t.act(ctx, live)
		for _, w := range words {
			if w.unhurried {
				<-t.s.unhurried
			}
		}
	}
}

// take takes the words that were left. It reports false if there is nothing more to do; then, if
// nothing is driven any more, the train is gone.
func (t *train) take(more bool) (words []word, running bool) {
	if !more && len(t.owners) == 0 {
		t.s.mu.Lock() // nobody gives it one more meanwhile
		defer t.s.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	words, t.words = t.words, nil
	t.running = more || len(words) > 0
	if t.gone = !t.running && len(t.owners) == 0; t.gone {
		delete(t.s.trains, t.queue)
	}
	return words, t.running
}

// hear takes in what was told.
func (t *train) hear(ctx context.Context, w word) {
	if o := w.begin; o != nil {
		t.owners[o.uid] = o
		t.s.recovery.Stored(o.drive.Txn(), nil)
		o.watch()
		t.show(o)
	}
	if w.runs {
		t.list([]string{w.uid}, w.width, false)
	}
	switch o := t.owners[w.uid]; {
	case w.look:
		t.room = true
	case w.heed:
		if i := slices.IndexFunc(t.uids, func(uid string) bool { return t.owners[uid] != nil }); i >= 0 {
			t.owners[t.uids[i]].hear(ctx, word{changed: true})
		}
	case w.uid == "":
		for _, o := range t.owners {
			o.hear(ctx, w)
		}
	case o == nil:
		t.s.late(ctx, w.txn, w.result)
	default:
		if o.hear(ctx, w); w.chain {
			t.news(o) // what is made on it looks, too
		}
	}
}

// wake has o do something, if there is something to do.
func (t *train) wake(o *owner) {
	if !o.awake {
		o.awake, t.woken = true, append(t.woken, o)
	}
}

// act has each that is awake do one thing, what is in flight first and in its order, and reports whether
// there may be more to do at once.
func (t *train) act(ctx context.Context, live bool) (more bool) {
	woken := t.woken
	t.woken = nil
	if len(woken) > 1 {
		place := func(o *owner) uint { return uint(slices.Index(t.uids, o.uid)) } // what has landed comes last
		slices.SortStableFunc(woken, func(a, b *owner) int { return cmp.Compare(place(a), place(b)) })
	}
	for _, o := range woken {
		o.awake = false
		if o.act(ctx, live) {
			t.wake(o)
		}
		t.show(o)
	}
	return len(t.woken) > 0 || t.join(ctx, live)
}

// show lets the others see what is known of o now, and has them look if that is news.
func (t *train) show(o *owner) {
	l := o.drive.Local()
	now := shown{lifecycle.MemberOf(o.drive.Txn(), tx.Sighting{}, &l), o.drive.IsStale(), o.built}
	if now == o.shown {
		return
	}
	if o.shown = now; slices.Contains(t.uids, o.uid) {
		t.news(o)
	}
}

// news has all that is in flight look, but for of.
func (t *train) news(of *owner) {
	for _, uid := range t.uids {
		if o := t.owners[uid]; o != nil && o != of {
			t.wake(o)
		}
	}
	t.room = true
}

// list notes what is in flight of the queue, how wide a person has made that, 0 for not, and
// whether anything may join it.
func (t *train) list(uids []string, width int, held bool) {
	width = cmp.Or(width, t.s.Policy.Width)
	news := !slices.Equal(t.uids, uids) || t.held != held || t.width != width
	t.uids, t.width, t.held = uids, width, held
	t.size.Store(int32(len(uids)))
	t.wide.Store(width > 1)
	if width > 1 || len(uids) > 1 {
		t.s.widened.Store(true)
	}
	if news {
		t.news(nil)
	}
}

// unlist takes out what is not in flight any more, or is driven by another process.
func (t *train) unlist(uid string) {
	t.s.noticed.landed(uid)
	t.list(slices.DeleteFunc(slices.Clone(t.uids), func(o string) bool { return o == uid }), t.width, t.held)
}

// drop takes an owner out, unless it has been told meanwhile to read its transaction.
func (t *train) drop(o *owner) bool {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.words, func(w word) bool { return w.changed && (w.uid == "" || w.uid == o.uid) }) {
		return false
	}
	delete(s.owners, o.uid)
	delete(s.delayed, o.uid)
	delete(t.owners, o.uid)
	s.recovery.Left(o.uid)
	t.unlist(o.uid)
	s.Chain.Forget(o.uid)
	if o.books != nil {
		o.books.forget(o.uid)
	}
	return true
}

// relist reads how wide the queue is, whether anything may join what is in flight of it and, if txn
// is, what that is: a store that has forgotten, or was put right since, may have it otherwise.
func (t *train) relist(ctx context.Context, txn *tx.Transaction) error {
	driven := txn.Phase.Bound() && t.s.owns(txn)
	if !driven && len(t.uids) == 0 {
		return nil
	}
	run, err := t.s.Store.InFlight(ctx, t.queue)
	if err != nil {
		return err
	}
	if !driven {
		run.UIDs = t.uids
	}
	t.list(run.UIDs, run.Width, run.Held)
	return nil
}

// heed has what applies to all that is in flight of a queue read anew; "" is every queue.
func (s *Sequencer) heed(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.trains {
		if queue == "" || name == queue {
			t.leave(word{heed: true})
		}
	}
}

// around is what this process knows of those that are in flight of the queue of o.
func (t *train) around(o *owner) (v lifecycle.Train) {
	if len(t.uids) < 2 && !t.s.wide() {
		return v
	}
	v = lifecycle.TrainOf(t.uids, o.uid, t.member)
	txn := o.drive.Txn()
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if len(t.uids) == 1 && o.drive.Call().Kind == "" { // else it may be being proved already
		t.builds.Store(t.width > 1 && t.s.greeted[txn.Sender].builds)
	}
	v.Commuting, v.Held = t.s.all(dispatcher.Commuting, txn, &v), t.held || t.s.draining.Load()
	v.Width = t.width
	if v.Builds = t.s.all(dispatcher.Chained, txn, &v); v.Builds && !t.builds.Load() {
		// One that is taken over: chained ones are made before their turn only where they are built.
		v.Builds = slices.ContainsFunc(slices.Concat(v.Ahead, v.Behind, []lifecycle.Member{{Txn: txn}}),
			func(m lifecycle.Member) bool { return m.BeforeItsTurn() })
		t.builds.Store(v.Builds)
	}
	return v
}

// all reports whether a transaction, and all around it, go together in one mode.
func (s *Sequencer) all(mode dispatcher.Mode, txn *tx.Transaction, t *lifecycle.Train) bool {
	other := func(m lifecycle.Member) bool { return s.Types.Overlap(m.Txn.Type) != mode }
	return !other(lifecycle.Member{Txn: txn}) && !slices.ContainsFunc(t.Ahead, other) &&
		!slices.ContainsFunc(t.Behind, other)
}

// member is what is known of one in flight; false if that is nothing, or not up to date.
func (t *train) member(uid string) (lifecycle.Member, bool) {
	o := t.owners[uid]
	if o == nil || o.shown.stale {
		return lifecycle.Member{}, false
	}
	m := o.shown.member
	m.Sighting = t.s.Chain.Sighting(uid)
	return m, true
}

// A room is how one more may be put behind a train.
type room struct {
	types  []string // of which it may be, nil if none may
	out    int      // how many of the train are in no block, but for those that may be made beside its width
	atOnce int      // how many of it may be with their worker at a time
}

// joins tells how one more may be put behind the train.
func (t *train) joins() (j room) {
	s := t.s
	members := make([]lifecycle.Member, 0, len(t.uids))
	for _, uid := range t.uids {
		m, seen := t.member(uid)
		if !seen {
			return room{}
		}
		if m.Sighting.Fate != tx.FateIncluded {
			j.out++
		}
		members = append(members, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	worker := s.greeted[members[0].Txn.Sender]
	if s.Health != nil && !worker.ahead {
		return room{}
	}
	last := members[len(members)-1].Txn.Type
	j.atOnce = 1
	builds := t.builds.Load() && s.Types.Overlap(last) == dispatcher.Chained
	if builds || s.Types.Overlap(last) == dispatcher.Commuting {
		j.atOnce = max(1, worker.provers)
	}
	j.out = max(0, j.out-lifecycle.Spare(t.width, j.atOnce))
	if s.Policy.Joins(members, t.width, j.atOnce, builds, s.tip()) {
		j.types = s.alongWith(t.queue, last)
	}
	return j
}

// alongWith are the types that may be in flight behind one of a queue, nil for none. It is called
// under mu.
func (s *Sequencer) alongWith(queue, typ string) []string {
	types := s.together[s.Types.Overlap(typ)]
	if !slices.Contains(types, typ) || s.goesApart(queue, typ) != "" { // nothing of this process's, or alone here
		return nil
	}
	apart := func(typ string) bool { return s.goesApart(queue, typ) != "" }
	if slices.ContainsFunc(types, apart) {
		types = slices.DeleteFunc(slices.Clone(types), apart)
	}
	return types
}

// join puts the next of the queue behind what is in flight of it, if that may be, and reports whether
// it did.
func (t *train) join(ctx context.Context, live bool) bool {
	s := t.s
	if !t.room || len(t.uids) == 0 || t.width < 2 || t.held || len(s.together) == 0 || s.draining.Load() {
		return false
	}
	t.room = false
	j := t.joins()
	if j.types == nil {
		return false
	}
	var b *queues.Bound
	var err error
	if live {
		b, err = s.Store.Join(ctx, queues.JoinRequest{
			Process: s.process, Queue: t.queue, Behind: t.uids[len(t.uids)-1], Out: j.out, Width: s.Policy.Width,
			AtOnce: j.atOnce > 1, Types: j.types, All: s.proved, Groups: s.groups(),
		})
	}
	if err != nil {
		s.Log.Warn("joining failed", "queue", t.queue, "err", err)
	}
	if err != nil || b == nil {
		if j.atOnce > 1 { // what is proved is not watched: the next look at the chain asks again
			s.wanted.Store(true)
			notify(s.watching)
		}
		return false
	}
	sender := s.known(b.Sender, nil)
	o := s.newOwner(b.Transaction, lifecycle.JoinedHere(&sender))
	o.worker = dispatcher.Worker{AccountID: b.Sender, URL: b.URL}
	s.boundHere(b.Transaction)
	s.own(o, word{})
	if !slices.Contains(t.uids, o.uid) {
		t.list(append(slices.Clone(t.uids), o.uid), t.width, t.held)
	}
	return true
}

// wide reports whether several of a queue may be in flight, or may have been.
func (s *Sequencer) wide() bool { return s.Policy.Width > 1 || s.widened.Load() }

// sendGap is the least time between what is sent of one sender: peers take gossip in at the
// same time, and drop what comes before its predecessor.
const sendGap = 5 * time.Second
