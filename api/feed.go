package api

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"sync"
	"time"

	"mina-sequencer/queues"
)

const (
	// tailBlock is how long one read waits for the next event. The tail ends so
	// long after the last client has gone.
	tailBlock = time.Second
	// tailPause gathers what happens in quick succession into one read, for up to so many clients
	// as a process writes to in that time with little work; for more it gathers for longer.
	tailPause   = 50 * time.Millisecond
	tailClients = 250
	tailTimeout = 10 * time.Second // of one look at the log
	tailBackoff = time.Second      // the longest pause while the store does not answer
	// chunkEvents bounds what a client that does not read keeps from being freed.
	chunkEvents = 128
	// Clients are woken group by group, so that what else this process does need not wait for all of
	// them to be written to: with up to wokenAtOnce of them at once, else with wakePause between.
	wakeGroups  = 32
	wokenAtOnce = 256
	wakePause   = 2 * time.Millisecond
	// pagesAtOnce is how many clients that are behind read the log at a time.
	pagesAtOnce = 4
)

// A feed passes the event log on to the clients of this process. One tail reads
// the log for all of them, and only while there is one. What it has read a moment
// ago it keeps in a ring; who is further behind reads the log itself, page by
// page. Nobody waits for a client.
type feed struct {
	store *queues.Store
	log   *slog.Logger
	seats *seats // of clients
	ring  int    // bytes
	pages *seats // of those who read a page
	told  func(change int)

	mu      sync.Mutex
	clients int
	tail    *tail // nil if nobody listens
}

func newFeed(o *Options) *feed {
	told := o.Meter.Following
	if told == nil {
		told = func(int) {}
	}
	return &feed{told: told, store: o.Store, log: o.Log, ring: o.EventMemory, seats: newSeats(o.EventClients, 0), pages: newSeats(pagesAtOnce, 0)}
}

// A tail is one unbroken story: when the store has lost events, it ends and
// another one begins. The feed's lock guards it.
type tail struct {
	epoch  string
	last   queues.Event              // read last; only the tail's goroutine writes it
	chunks []*chunk                  // of what was read last, the oldest first
	bytes  int                       // in chunks
	down   bool                      // the store does not answer
	ended  bool                      // nothing follows
	more   [wakeGroups]chan struct{} // of each group: closed when there is more, or the end
	cut    func()                    // ends the look at the log that is under way
}

func newTail(epoch string, last queues.Event) *tail {
	t := &tail{epoch: epoch, last: last}
	for group := range t.more {
		t.more[group] = make(chan struct{})
	}
	return t
}

// A chunk is some events in a row, as they are sent. It is never changed, but for sights.
type chunk struct {
	first, last int64 // numbers
	entries     []queues.Entry
	text        []byte
	ends        []int // of each event in text
	// names are the queues, uids, types and actors in it: most clients look for one that
	// is not.
	names map[string]struct{}

	mu     sync.Mutex
	sights map[string]sight // by whose they are
}

// A sight is what somebody sees of a chunk who sees some queues: all streams of a key share it.
type sight struct {
	text []byte
	last int64 // number of the last event in it, 0 for none
}

// sight is what who sees, whom name tells from all who see otherwise.
func (c *chunk) sight(epoch, name string, who caller) sight {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.sights[name]
	if known {
		return s
	}
	for i := range c.entries {
		if e := &c.entries[i]; who.within.Admit(eventQueue(e)) {
			s.text, s.last = appendEvent(s.text, epoch, who.event(e)), e.Number
		}
	}
	if c.sights == nil {
		c.sights = make(map[string]sight)
	}
	c.sights[name] = s
	return s
}

// size is about what a chunk takes, without sights: each event is in few of them.
func (c *chunk) size() int { return cap(c.text) + 400*len(c.entries) }

func newChunk(epoch string, entries []queues.Entry) *chunk {
	c := &chunk{first: entries[0].Number, last: entries[len(entries)-1].Number, entries: entries, names: map[string]struct{}{"": {}}}
	for i := range entries {
		e := &entries[i]
		c.text = appendEvent(c.text, epoch, e)
		c.ends = append(c.ends, len(c.text))
		for _, name := range []string{e.ID, e.Queue, e.Type, e.Actor} {
			c.names[name] = struct{}{}
		}
	}
	return c
}

// enter admits a client of a name, which leaves later, or when it is told by closing crowded
// that another one needs the seat; nil if there are too many.
func (f *feed) enter(name string) (s *seat, crowded <-chan struct{}) {
	if s = f.seats.take(name, true); s == nil {
		return nil, nil
	}
	told := make(chan struct{})
	s.lend(func() { close(told) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients++
	f.told(1)
	return s, told
}

// leave ends what an unneeded tail waits for; it looks by itself who is there.
func (f *feed) leave(s *seat) {
	s.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told(-1)
	if f.clients--; f.clients == 0 && f.tail != nil && f.tail.cut != nil {
		f.tail.cut()
	}
}

// attach returns the tail that goes on behind p, for a client that has entered.
func (f *feed) attach(p queues.LogPart) *tail {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tail; t != nil {
		if t.epoch == p.Epoch {
			return t
		}
		f.end(t)
	}
	f.tail = newTail(p.Epoch, p.Newest)
	go f.follow(f.tail)
	return f.tail
}

func (f *feed) end(t *tail) {
	t.ended, t.chunks = true, nil
	for _, more := range t.more {
		close(more)
	}
	if t.cut != nil {
		t.cut()
	}
	if f.tail == t {
		f.tail = nil
	}
}

// look begins another look at the log; false if the tail has ended. It ends with
// its last client.
func (f *feed) look(t *tail) (context.Context, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.ended && f.clients == 0 {
		f.end(t)
	}
	if t.ended {
		return nil, false
	}
	var ctx context.Context
	ctx, t.cut = context.WithTimeout(context.Background(), tailTimeout)
	return ctx, true
}

// follow reads the log until its story breaks off or nobody listens. At any time
// there is one such reader, or a second one for a moment.
func (f *feed) follow(t *tail) {
	pause, behind := time.Duration(0), true
	for {
		ctx, wanted := f.look(t)
		if !wanted {
			return
		}
		p, err := f.read(ctx, t, behind)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			behind, pause = true, 0 // somebody may have come again
		case err != nil:
			f.fail(t, err)
			behind, pause = true, min(max(2*pause, tailPause), tailBackoff)
		case !t.continues(p):
			f.lose(t)
			return
		default:
			behind, pause = false, 0
			if len(p.Entries) > 0 {
				f.extend(t, p.Entries)
				f.wake(t)
				pause = f.gather()
			}
			if t.last.Number < p.Last {
				behind, pause = true, 0
			}
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		t.cut()
	}
}

// gather is how long what happens is gathered: the writes to all clients are bounded, however many
// of them there are and however much happens.
func (f *feed) gather() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return tailPause * time.Duration(max(tailClients, f.clients)) / tailClients
}

// read waits for more if the tail is not behind.
func (f *feed) read(ctx context.Context, t *tail, behind bool) (queues.LogPart, error) {
	if !behind {
		if err := f.store.AwaitEvent(ctx, t.last.Number, tailBlock); err != nil {
			return queues.LogPart{}, err
		}
	}
	return f.store.ReadLog(ctx, t.last.Number, queues.MaxBatch)
}

// lose ends a tail whose story has broken off.
func (f *feed) lose(t *tail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.ended {
		f.end(t)
	}
}

// continues reports whether p goes on where t stands. Numbers alone do not tell:
// a store that has lost some gives them to others.
func (t *tail) continues(p queues.LogPart) bool {
	if p.Epoch != t.epoch {
		return false
	}
	if p.Before.Number != 0 {
		return p.Before == t.last
	}
	// What t read last is so old that it has left the log, or there never was any.
	return p.First == t.last.Number+1
}

func (f *feed) fail(t *tail, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.down {
		f.log.Warn("events are not passed on until the store answers", "err", err)
	}
	t.down = true
}

// extend hands entries to all clients.
func (f *feed) extend(t *tail, entries []queues.Entry) {
	var chunks []*chunk
	for len(entries) > 0 {
		n := min(len(entries), chunkEvents)
		chunks = append(chunks, newChunk(t.epoch, entries[:n:n]))
		entries = entries[n:]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.down = false
	if t.ended || len(chunks) == 0 {
		return
	}
	for _, c := range chunks {
		t.bytes += c.size()
		t.last = c.entries[len(c.entries)-1].Event
	}
	t.chunks = append(t.chunks, chunks...)
	for t.bytes > f.ring {
		t.bytes -= t.chunks[0].size()
		t.chunks[0] = nil
		t.chunks = t.chunks[1:]
	}
}

// wake tells all clients that there is more, which know it already where they have asked since.
func (f *feed) wake(t *tail) {
	for group := range t.more {
		f.mu.Lock()
		if t.ended {
			f.mu.Unlock()
			return
		}
		close(t.more[group])
		t.more[group] = make(chan struct{})
		crowd := f.clients > wokenAtOnce
		f.mu.Unlock()
		if crowd {
			time.Sleep(wakePause)
		}
	}
}

// A place is where a client stands, compared with the tail.
type place int

const (
	level  place = iota // it has all that there is
	inRing              // a chunk is there for it
	behind              // it must read the log itself
	adrift              // the story that it follows has ended
)

// next returns where a client of a group stands that has got all events up to at, the chunk
// for it if there is one, and what is closed when there is more.
func (f *feed) next(t *tail, at int64, group int) (place, *chunk, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case t.ended:
		return adrift, nil, nil
	case at >= t.last.Number:
		return level, nil, t.more[group]
	case len(t.chunks) == 0 || at+1 < t.chunks[0].first:
		return behind, nil, nil
	}
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].last > at })
	return inRing, t.chunks[i], nil
}

// answers reports whether the store answered the tail last.
func (f *feed) answers(t *tail) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !t.down
}

// page reads on for a client that is behind.
func (f *feed) page(ctx context.Context, name string, at int64) (queues.LogPart, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	turn := f.pages.await(ctx, name, callTimeout)
	if turn == nil {
		return queues.LogPart{}, queues.ErrUnavailable
	}
	defer turn.release()
	return f.store.ReadLog(ctx, at, queues.MaxBatch)
}
