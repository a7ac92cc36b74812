package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Seats bound what is done at a time, for all together, so that no name keeps the others out.
// What is free anybody may have, in the order of who has the fewest. Where nothing is, a name
// that has at least two fewer than another may have one of that one's: so each of n names that
// want more than there is has an nth, and one that is alone has all. The names are those of
// keys; where nobody needs one all have the same, and seats are one pot. They may be used
// concurrently.
type seats struct {
	most int
	each int // the most of one name; 0 for no other bound

	mu    sync.Mutex
	held  map[string][]*seat // by name, the oldest first
	count int
	line  []*waiting // in the order of their coming
}

// A seat is held until it is released, or taken for another name.
type seat struct {
	of   *seats
	name string
	// yield asks who holds it to go, and must not wait; nil where it cannot be taken. The
	// lock of the seats guards it.
	yield func()
	taken bool
}

type waiting struct {
	name  string
	given chan *seat // of one
}

func newSeats(most, each int) *seats {
	return &seats{most: most, each: each, held: make(map[string][]*seat)}
}

// take returns a seat at once: a free one, or with push one of whoever has most. It is nil if
// there is none.
func (p *seats) take(name string, push bool) *seat {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(name, push)
}

func (p *seats) find(name string, push bool) *seat {
	mine := len(p.held[name])
	if p.each > 0 && mine >= p.each {
		return nil
	}
	if p.count >= p.most {
		if !push {
			return nil
		}
		from := p.largest()
		if from == nil || len(p.held[from.name]) < mine+2 {
			return nil
		}
		from.taken = true
		from.yield()
		p.remove(from)
	}
	h := &seat{of: p, name: name}
	p.held[name] = append(p.held[name], h)
	p.count++
	return h
}

// largest is the last seat of whoever has most, of those that can be taken.
func (p *seats) largest() (last *seat) {
	for _, held := range p.held {
		if last != nil && len(held) <= len(p.held[last.name]) {
			continue
		}
		for _, h := range slices.Backward(held) {
			if h.yield != nil {
				last = h
				break
			}
		}
	}
	return last
}

func (p *seats) remove(h *seat) {
	held := p.held[h.name]
	if i := slices.Index(held, h); i >= 0 {
		held = slices.Delete(held, i, i+1)
		p.count--
	}
	if p.held[h.name] = held; len(held) == 0 {
		delete(p.held, h.name)
	}
}

// await is take for somebody who waits for his turn, and after some patience pushes; nil when
// ctx is over.
func (p *seats) await(ctx context.Context, name string, patience time.Duration) *seat {
	p.mu.Lock()
	if h := p.find(name, false); h != nil {
		p.mu.Unlock()
		return h
	}
	w := &waiting{name: name, given: make(chan *seat, 1)}
	p.line = append(p.line, w)
	p.mu.Unlock()
	again := time.NewTicker(patience)
	defer again.Stop()
	for {
		select {
		case h := <-w.given:
			return h
		case <-again.C:
			p.push(w)
		case <-ctx.Done():
			p.mu.Lock()
			p.line = slices.DeleteFunc(p.line, func(other *waiting) bool { return other == w })
			p.mu.Unlock()
			select {
			case h := <-w.given: // just now
				h.release()
			default:
			}
			return nil
		}
	}
}

func (p *seats) push(w *waiting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, w); i >= 0 {
		if h := p.find(w.name, true); h != nil {
			p.line = slices.Delete(p.line, i, i+1)
			w.given <- h
		}
	}
}

// release gives the seat to whoever of those that wait has the fewest, the first of them.
func (h *seat) release() {
	p := h.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.taken {
		return
	}
	p.remove(h)
	next := -1
	for i, w := range p.line {
		few := len(p.held[w.name])
		if (p.each == 0 || few < p.each) && (next < 0 || few < len(p.held[p.line[next].name])) {
			next = i
		}
	}
	if next >= 0 {
		w := p.line[next]
		p.line = slices.Delete(p.line, next, next+1)
		w.given <- p.find(w.name, false)
	}
}

// lend says how the seat may be taken for another name from now on.
func (h *seat) lend(yield func()) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.yield = yield
}

// keep ends that; false if it was taken.
func (h *seat) keep() bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.yield = nil
	return !h.taken
}

// lost reports whether it was taken for another.
func (h *seat) lost() bool {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	return h.taken
}
