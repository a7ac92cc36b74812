package devledger

import (
	"container/heap"
	"context"
	"net/http"
	"sync"
	"time"
)

// core is what both ledgers are made of: a clock that lets happen what is due,
// and the faults. It has no goroutine: whoever looks at it first lets happen
// what was due before, each event at its own time, and whoever waits wakes for
// the next.
type core struct {
	kind   string
	script script

	mu      sync.Mutex
	at      time.Time // what was due until then has happened
	events  events
	number  uint64
	changed chan struct{} // closed and replaced whenever something happened
	ended   chan struct{}
	closed  bool
	life    int // grows when what waits has lost its connection to the ledger
	freed   int // grows with Release
	plan    Plan
	calls   map[string]int
}

// maxCounted is of how many batches the calls are counted.
const maxCounted = 1 << 17

func newCore(kind string, plan Plan) *core {
	return &core{
		kind: kind, plan: plan, at: time.Now(), calls: map[string]int{},
		changed: make(chan struct{}), ended: make(chan struct{}),
	}
}

// An event happens under the lock, when core.at is its time.
type event struct {
	at     time.Time
	number uint64 // tells apart what is due at the same time
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}

// in plans an event after a time, under the lock.
func (c *core) in(after time.Duration, do func()) {
	c.number++
	heap.Push(&c.events, event{c.at.Add(after), c.number, do})
}

// lock takes the lock and lets happen what is due.
func (c *core) lock() {
	c.mu.Lock()
	now := time.Now()
	happened := false
	for len(c.events) > 0 && !c.events[0].at.After(now) && !c.closed {
		e := heap.Pop(&c.events).(event)
		c.at = e.at
		e.do()
		happened = true
	}
	c.at = now
	if happened {
		c.tell()
	}
}

// tell wakes those who wait, under the lock.
func (c *core) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// do changes something, and tells those who wait.
func (c *core) do(change func()) {
	c.lock()
	defer c.mu.Unlock()
	change()
	c.tell()
}

// await waits until a condition, which is asked under the lock, is met, or
// until a time, if that is not zero, and says whether it was met. It breaks the
// request off when its client is gone or the ledger closed.
func (c *core) await(ctx context.Context, until time.Time, met func() bool) bool {
	for {
		c.lock()
		ok := met()
		next, changed := until, c.changed
		over := !until.IsZero() && !until.After(c.at)
		if len(c.events) > 0 && (next.IsZero() || c.events[0].at.Before(next)) {
			next = c.events[0].at
		}
		c.mu.Unlock()
		if ok || over {
			return ok
		}
		c.sleep(ctx, next, changed)
	}
}

// sleep ends at a time, if that is not zero, or when something has happened.
func (c *core) sleep(ctx context.Context, until time.Time, changed <-chan struct{}) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-changed:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	case <-c.ended:
		panic(http.ErrAbortHandler)
	}
}

// Close ends the ledger.
func (c *core) Close() {
	c.lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.ended)
	}
}

// open breaks a request off that comes after Close.
func (c *core) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		panic(http.ErrAbortHandler)
	}
}

// Fail adds faults.
func (c *core) Fail(faults ...Fault) { c.script.add(faults) }

// SetPlan replaces the plan; nil takes it away.
func (c *core) SetPlan(p Plan) { c.do(func() { c.plan = p }) }

// Heal takes all faults away, and breaks off what hangs.
func (c *core) Heal() {
	c.script.clear()
	c.do(func() { c.plan, c.freed = nil, c.freed+1 })
}

// Release breaks off all requests that hang now.
func (c *core) Release() { c.do(func() { c.freed++ }) }

// fault finds what is to go wrong with a call; no fault is an empty one.
func (c *core) fault(on string, batches []string) Fault {
	first := on + " "
	if len(batches) > 0 {
		first += batches[0]
	}
	c.lock()
	if len(c.calls) >= maxCounted {
		clear(c.calls)
	}
	c.calls[first]++
	call, plan := Call{c.kind, on, batches, c.calls[first]}, c.plan
	c.mu.Unlock()
	f := c.script.next(call)
	if f == nil && plan != nil {
		if f = plan(call); f != nil {
			own := *f
			own.On = on
			if err := own.check(); err != nil {
				panic("devledger: " + err.Error())
			}
			f = &own
		}
	}
	if f == nil {
		return Fault{}
	}
	return *f
}
