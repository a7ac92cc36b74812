package explorer

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Report is what came of exploring a world.
type Report struct {
	World    *World
	States   int
	Depth    int  // of the longest shortest way; in batches, how many there were
	Complete bool // no state was left out
	Broken   string
	Story    string // how it came to be broken, from the first state on
	Took     time.Duration
	Met      *Coverage
}

func (r *Report) String() string {
	how := "complete"
	if !r.Complete {
		how = "cut off"
	}
	return fmt.Sprintf("%-28s %9d states, %3d deep, %7.1f s, %s", r.World.Name, r.States, r.Depth, r.Took.Seconds(),
		how)
}

// A place is how a state was reached first.
type place struct {
	from uint32
	move Move
}

const (
	walkers = 2
	shards  = 64
)

// A shard is a part of the keys that are known.
type shard struct {
	sync.Mutex
	keys map[Key]struct{}
}

func (s *shard) add(k Key) bool {
	s.Lock()
	defer s.Unlock()
	if _, known := s.keys[k]; known {
		return false
	}
	s.keys[k] = struct{}{}
	return true
}

// A walk explores one world.
type walk struct {
	world  *World
	known  [shards]shard // states that were reached
	ends   [shards]shard // states from which all ends
	places [walkers][]place
	met    [walkers]*Coverage
	mu     sync.Mutex
	broken string
	at     uint32
	fairly string // the end of the story, where it took a fair schedule
}

// A reached is a state to go on from.
type reached struct {
	state *State
	id    uint32
}

// Options are how to walk.
type Options struct {
	Bound int // the most states that are looked at; 0 for all
	// FairEvery is of how many states one is followed to its end; 0 for none, 1 for all.
	FairEvery int
	// Batch is how many states are gone on from before those that they lead to; 0 for all of a
	// depth, so that the first broken promise has a shortest story. Memory goes with it.
	Batch int
}

// Explore walks all states of a world until one breaks a promise, breadth first unless in
// batches.
func Explore(w *World, o Options) *Report {
	start := time.Now()
	x := &walk{world: w, at: ^uint32(0)}
	for i := range x.known {
		x.known[i].keys, x.ends[i].keys = map[Key]struct{}{}, map[Key]struct{}{}
	}
	for i := range x.met {
		x.met[i] = NewCoverage()
	}
	r := &Report{World: w, Complete: true}
	first := NewState(w)
	key, _ := first.Key(nil)
	x.known[key[0]%shards].add(key)
	x.places[0] = append(x.places[0], place{})
	frontier := []reached{{first, 0}}
	for len(frontier) > 0 && x.broken == "" {
		if o.Bound > 0 && x.states() >= o.Bound {
			r.Complete = false
			break
		}
		rest := 0
		if o.Batch > 0 {
			rest = max(0, len(frontier)-o.Batch)
		}
		frontier = append(frontier[:rest], x.level(frontier[rest:], o)...)
		r.Depth++
	}
	r.States, r.Took, r.Broken = x.states(), time.Since(start), x.broken
	r.Met = x.met[0]
	for _, m := range x.met[1:] {
		r.Met.Add(m)
	}
	if x.broken != "" {
		r.Complete = false
		r.Story = x.tell()
	}
	return r
}

func (x *walk) states() int { return len(x.places[0]) + len(x.places[1]) }

// level goes one move on from each state of a frontier.
func (x *walk) level(frontier []reached, o Options) []reached {
	var next [walkers][]reached
	var wg sync.WaitGroup
	for i := range walkers {
		wg.Go(func() {
			w := walker{walk: x, index: i, every: o.FairEvery}
			for at := i; at < len(frontier) && !x.stopped(); at += walkers {
				w.from(&frontier[at])
				frontier[at].state = nil
			}
			next[i] = w.next
		})
	}
	wg.Wait()
	return append(next[0], next[1]...)
}

func (x *walk) stopped() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.broken != ""
}

// A walker is one of those that share a level.
type walker struct {
	*walk
	index int
	every int
	next  []reached
	buf   []byte
	spare *State // what came to nothing, for the next
}

func (w *walker) from(r *reached) {
	r.state.Moves(func(m Move) {
		r.state.met = w.met[w.index]
		if w.spare == nil {
			w.spare = &State{}
		}
		c := r.state.Apply(m, w.spare)
		if c == nil {
			return
		}
		var key Key
		key, w.buf = c.Key(w.buf)
		if !w.known[key[0]%shards].add(key) && c.refuse == "" {
			return
		}
		w.spare = nil
		id := uint32(len(w.places[w.index]))<<1 | uint32(w.index)
		w.places[w.index] = append(w.places[w.index], place{r.id, m})
		if why := c.Check(); why != "" {
			w.fail(why, id, false)
			return
		}
		if w.every > 0 && int(key[1]%uint64(w.every)) == 0 {
			if why := w.fair(c); why != "" {
				w.fail(why, id, true)
				return
			}
		}
		w.next = append(w.next, reached{c, id})
	})
}

// fair follows a state to its end; on the way it meets what is known to end.
func (w *walker) fair(c *State) string {
	var keys []Key
	why := c.Fair(func(s *State) bool {
		var key Key
		key, w.buf = s.Key(w.buf)
		keys = append(keys, key)
		e := &w.ends[key[0]%shards]
		e.Lock()
		defer e.Unlock()
		_, known := e.keys[key]
		return known
	})
	if why == "" {
		for _, k := range keys {
			w.ends[k[0]%shards].add(k)
		}
	}
	return why
}

func (x *walk) fail(why string, at uint32, fairly bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken != "" {
		return
	}
	x.broken, x.at = why, at
	if fairly {
		x.fairly = why
	}
}

// tell writes the story of the state that broke a promise: each move that led to it.
func (x *walk) tell() string {
	var moves []Move
	for at := x.at; at != 0; {
		p := x.places[at&1][at>>1]
		moves = append(moves, p.move)
		at = p.from
	}
	var b strings.Builder
	fmt.Fprintf(&b, "world %s: %s\n", x.world.Name, x.broken)
	s := NewState(x.world)
	line := 0
	s.story = func(format string, args ...any) {
		line++
		fmt.Fprintf(&b, "%3d. %s\n", line, fmt.Sprintf(format, args...))
	}
	for i := len(moves) - 1; i >= 0; i-- {
		if !s.apply(moves[i]) {
			fmt.Fprintf(&b, "     (this move cannot be told again)\n")
		}
	}
	if x.fairly != "" {
		fmt.Fprintf(&b, "     from here on nothing goes wrong any more\n")
		s.Fair(nil)
	}
	b.WriteString(s.String())
	fmt.Fprintf(&b, "broken: %s\n", x.broken)
	return b.String()
}
