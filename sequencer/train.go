package sequencer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A train is what runs of one queue, as this process knows it: it drives all of it.
type train struct {
	uids    []string // in order
	width   int      // the most that may be in no block
	height  uint32   // of the block of what landed last of it
	held    bool     // its queue is paused, or its sender out of use
	changes int      // of uids by what was done here; see relist
	read    int      // the number of the latest reading that was taken over
	joining bool
	builds  bool // members are built before they are proved, see lifecycle.Train
}

// A shown is what an owner lets those around it see of its transaction.
type shown struct {
	member lifecycle.Member
	stale  bool // it is to be read anew
	built  *built
}

// lists notes what was bound of a queue, and how wide a person has made that, 0 for not. It is
// called under mu.
func (s *Sequencer) lists(queue string, uids []string, width int) {
	s.list(queue, uids, width)
	t := s.trains[queue]
	t.held = false
	t.changes++
}

// list notes what runs of a queue, under mu.
func (s *Sequencer) list(queue string, uids []string, width int) {
	if len(uids) == 0 {
		delete(s.trains, queue)
		return
	}
	t := s.trains[queue]
	if t == nil {
		t = &train{}
		s.trains[queue] = t
	}
	t.uids, t.width = uids, cmp.Or(width, s.Policy.Width)
	if width > 1 || len(uids) > 1 {
		s.widened.Store(true)
	}
}

// beside notes in which block the next of a train landed, and reports whether the one before it
// did.
func (s *Sequencer) beside(queue string, height uint32) (is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trains[queue]; t != nil {
		is, t.height = t.height == height, height
	}
	return is
}

// unlists takes out what does not run any more, or is driven by another process, and tells
// the others.
func (s *Sequencer) unlists(queue, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlist(queue, uid)
}

// unlist is unlists under mu.
func (s *Sequencer) unlist(queue, uid string) {
	s.noticed.landed(uid)
	t := s.trains[queue]
	if t == nil {
		return
	}
	t.uids = slices.DeleteFunc(slices.Clone(t.uids), func(o string) bool { return o == uid })
	t.changes++
	if len(t.uids) == 0 {
		delete(s.trains, queue)
		return
	}
	s.tellTrain(t, uid)
}

// tellTrain leaves word to all of a train but one. It holds mu.
func (s *Sequencer) tellTrain(t *train, but string) {
	for _, uid := range t.uids {
		if o := s.owners[uid]; o != nil && uid != but {
			o.leave(word{})
		}
	}
}

// relist reads how wide the queue of t is, whether anything may join what runs of it and, if t
// does, what that is: a store that has forgotten, or was put right since, may have it otherwise.
// Of several readings the one that began last counts. What was bound, joined or ended here
// meanwhile is not undone: then it is read once more.
func (s *Sequencer) relist(ctx context.Context, t *tx.Transaction) error {
	for {
		s.mu.Lock()
		s.asked++
		n, driven := s.asked, t.Phase.Bound() && s.owns(t)
		known, changes := s.trains[t.Queue], 0
		if known != nil {
			changes = known.changes
		}
		s.mu.Unlock()
		if !driven && known == nil {
			return nil
		}
		run, err := s.Store.InFlight(ctx, t.Queue)
		if err != nil {
			return err
		}
		s.mu.Lock()
		now := s.trains[t.Queue]
		latest := now == nil || now.read < n
		same := now == known && (now == nil || now.changes == changes)
		if latest && same {
			s.relisted(t.Queue, run, n, driven)
		}
		s.mu.Unlock()
		if !latest || same {
			return nil
		}
	}
}

// relisted takes over the n-th reading of what runs of a queue; driven, that of which transactions,
// too. It is called under mu.
func (s *Sequencer) relisted(queue string, run queues.InFlight, n int, driven bool) {
	if !driven {
		run.UIDs = s.trains[queue].uids
	}
	s.list(queue, run.UIDs, run.Width)
	t := s.trains[queue]
	if t == nil {
		return
	}
	if t.read = n; t.held != run.Held {
		t.held = run.Held
		s.tellTrain(t, "")
	}
}

// heed has what applies to all that runs of a queue read anew, by whichever of it is here; "" is
// every queue.
func (s *Sequencer) heed(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	those := s.trains
	if t := s.trains[queue]; queue != "" {
		those = map[string]*train{queue: cmp.Or(t, &train{})}
	}
	for _, t := range those {
		if i := slices.IndexFunc(t.uids, func(uid string) bool { return s.owners[uid] != nil }); i >= 0 {
			s.owners[t.uids[i]].leave(word{changed: true})
		}
	}
}

// show lets the others of the train see what is known of it now, and has them look if that
// is news.
func (o *owner) show() {
	t, l := o.drive.Txn(), o.drive.Local()
	now := shown{lifecycle.MemberOf(t, tx.Sighting{}, &l), o.drive.IsStale(), o.built}
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == o.shown {
		return
	}
	o.shown = now
	train := s.trains[t.Queue]
	if train == nil || !slices.Contains(train.uids, o.uid) {
		return
	}
	if len(train.uids) > 1 {
		s.tellTrain(train, o.uid)
	}
	s.joinSoon(t.Queue, train)
}

// around is what this process knows of those that run of the queue of o.
func (s *Sequencer) around(o *owner) (t lifecycle.Train) {
	s.mu.Lock()
	defer s.mu.Unlock()
	train := s.trains[o.drive.Txn().Queue]
	if train == nil || len(train.uids) < 2 && !s.wide() {
		return t
	}
	t = lifecycle.TrainOf(train.uids, o.uid, s.member)
	txn := o.drive.Txn()
	if len(train.uids) == 1 && o.drive.Call().Kind == "" { // else it may be being proved already
		train.builds = train.width > 1 && s.greeted[txn.Sender].builds
	}
	t.Commuting, t.Held = s.all(dispatcher.Commuting, txn, &t), train.held || s.draining.Load()
	t.Width = train.width
	t.Builds = train.builds && s.all(dispatcher.Chained, txn, &t)
	return t
}

// all reports whether a transaction, and all around it, go together in one mode.
func (s *Sequencer) all(mode dispatcher.Mode, txn *tx.Transaction, t *lifecycle.Train) bool {
	other := func(m lifecycle.Member) bool { return s.Types.Overlap(m.Txn.Type) != mode }
	return !other(lifecycle.Member{Txn: txn}) && !slices.ContainsFunc(t.Ahead, other) &&
		!slices.ContainsFunc(t.Behind, other)
}

// member is what is known of one of a train; false if that is nothing, or not up to date.
// It is called under mu.
func (s *Sequencer) member(uid string) (lifecycle.Member, bool) {
	o := s.owners[uid]
	if o == nil || o.shown.stale || o.shown.member.Txn == nil {
		return lifecycle.Member{}, false
	}
	m := o.shown.member
	m.Sighting = s.Chain.Sighting(uid)
	return m, true
}

// joinSoon has the next of a queue put behind a train, if that may be. It is called under mu.
func (s *Sequencer) joinSoon(queue string, t *train) {
	if t.joining || t.width < 2 || t.held || len(s.together) == 0 || s.draining.Load() {
		return
	}
	if s.joins(t).types == nil {
		return
	}
	t.joining = s.work.Go(func(ctx context.Context) {
		for s.join(ctx, queue) {
			continue
		}
	})
}

// A room is how one more may be put behind a train.
type room struct {
	types  []string // of which it may be, nil if none may
	out    int      // how many of the train are in no block, but for those that may be made beside its width
	atOnce int      // how many of it may be with their worker at a time
}

// joins tells how one more may be put behind a train. It is called under mu.
func (s *Sequencer) joins(t *train) (j room) {
	members := make([]lifecycle.Member, 0, len(t.uids))
	for _, uid := range t.uids {
		m, seen := s.member(uid)
		if !seen {
			return room{}
		}
		if m.Sighting.Fate != tx.FateIncluded {
			j.out++
		}
		members = append(members, m)
	}
	worker := s.greeted[members[0].Txn.Sender]
	if s.Health != nil && !worker.ahead {
		return room{}
	}
	last := members[len(members)-1].Txn.Type
	j.atOnce = 1
	builds := t.builds && s.Types.Overlap(last) == dispatcher.Chained
	if builds || s.Types.Overlap(last) == dispatcher.Commuting {
		j.atOnce = max(1, worker.provers)
	}
	j.out = max(0, j.out-lifecycle.Spare(t.width, j.atOnce))
	if s.Policy.Joins(members, t.width, j.atOnce, builds, s.tip()) {
		j.types = s.alongWith(members[0].Txn.Queue, last)
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

// join puts the next of a queue behind what runs of it, and reports whether it did.
func (s *Sequencer) join(ctx context.Context, queue string) (joined bool) {
	s.mu.Lock()
	t := s.trains[queue]
	var j room
	if t != nil {
		if j = s.joins(t); j.types == nil {
			t.joining = false
		}
	}
	var behind string
	if j.types != nil {
		behind = t.uids[len(t.uids)-1]
	}
	s.mu.Unlock()
	if j.types == nil {
		s.joined(queue)
		return false
	}
	var b *queues.Bound
	var err error
	if s.live() {
		b, err = s.Store.Join(ctx, queues.JoinRequest{
			Process: s.process, Queue: queue, Behind: behind, Out: j.out, Width: s.Policy.Width,
			AtOnce: j.atOnce > 1, Types: j.types, All: s.proved, Groups: s.groups(),
		})
	}
	if err != nil {
		s.Log.Warn("joining failed", "queue", queue, "err", err)
	}
	if err != nil || b == nil {
		s.joined(queue)
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
	s.own(o, func() { s.addLast(queue, t, b.Transaction.UID) })
	return true
}

// addLast notes what was put behind t, which may have come to its end meanwhile, or have been
// read anew. It is called under mu.
func (s *Sequencer) addLast(queue string, t *train, uid string) {
	if now := s.trains[queue]; now != nil {
		t = now
	} else {
		s.trains[queue], t.uids = t, nil
	}
	t.changes++
	if !slices.Contains(t.uids, uid) {
		t.uids = append(slices.Clone(t.uids), uid)
	}
}

// joined ends that one is being put behind the train of a queue.
func (s *Sequencer) joined(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trains[queue]; t != nil {
		t.joining = false
	}
}

// wide reports whether several of a queue may be in flight, or may have been.
func (s *Sequencer) wide() bool { return s.Policy.Width > 1 || s.widened.Load() }

// sendGap is the least time between what is sent of one sender: peers take gossip in at the
// same time, and drop what comes before its predecessor.
const sendGap = 5 * time.Second
