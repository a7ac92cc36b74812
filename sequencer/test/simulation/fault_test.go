package simulation

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mina-sequencer/sequencer/test/harness"
)

// A boundary is a line between two parts of the service that calls cross.
type boundary string

const (
	processToRedis  boundary = "process→redis"
	processToWorker boundary = "process→worker"
	processToNode   boundary = "process→node"
	workerToNode    boundary = "worker→node"
	clientToProcess boundary = "client→process"
	elsewhere       boundary = "" // faults that no call crosses
)

// What can befall a call. Those of other parts carry names of their own.
const (
	noConnection = "no connection"
	loseRequest  = "request lost"
	lateRequest  = "request late"
	twice        = "request twice"
	loseReply    = "reply lost"
	lateReply    = "reply late"
	crashBefore  = "crash before"
	crashAfter   = "crash after"
)

// befalling is what can befall a call over each boundary; what stands twice is
// drawn as often.
func befalling(b boundary) []string {
	switch b {
	case processToRedis:
		return []string{
			loseRequest,
			lateRequest,
			loseReply,
			lateReply,
			crashBefore,
			crashAfter,
			loseReply,
			lateReply,
			loseRequest,
			lateRequest,
			loseReply,
			lateReply,
		}
	default:
		return []string{noConnection, loseRequest, lateRequest, loseReply, lateReply, twice, crashBefore, crashAfter,
			noConnection, loseRequest, lateRequest, loseReply, lateReply, twice, loseReply, lateReply, twice}
	}
}

// dice are the seed's throws. Each is named by what it decides, and not by when,
// so that the same seed decides the same in the next run although goroutines take
// other turns.
type dice uint64

func (d dice) roll(name string, n uint64) uint64 {
	var text [96]byte
	b := append(strconv.AppendUint(text[:0], uint64(d), 10), '/')
	b = append(append(b, name...), '/')
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendUint(b, n, 10))
	x := h.Sum64() // FNV stirs its last bytes little
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// chance is true once in a while, p in 1000.
func (d dice) chance(p int, name string, n uint64) bool { return d.roll(name, n)%1000 < uint64(p) }

// pick is a number from 0 to n-1.
func (d dice) pick(n int, name string, i uint64) int { return int(d.roll(name, i) % uint64(n)) }

// between is a duration from low to high.
func (d dice) between(low, high time.Duration, name string, i uint64) time.Duration {
	return low + time.Duration(d.roll(name, i)%uint64(high-low+1))
}

// An injector decides what befalls each call, and counts it.
type injector struct {
	dice
	rate    map[boundary]int // calls in 1000 that something befalls
	send    int              // the same for those that send a transaction, once more
	trace   func(format string, args ...any)
	instant time.Time // of the last call or step
	abrupt  int       // calls and steps at that instant
	// endless ends the whole run.
	endless func(why string)

	mu    sync.Mutex
	off   bool
	slow  map[boundary]bool
	calls map[string]uint64
	total map[boundary]uint64
	hits  map[boundary]map[string]int
}

// slowDown makes many calls over a boundary late, or none.
func (in *injector) slowDown(b boundary, slow bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.slow[b] = slow
}

// made is how many calls have gone over each boundary.
func (in *injector) made() map[boundary]uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.total)
}

// heal ends all faults for good.
func (in *injector) heal() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.off = true
}

func (in *injector) note(b boundary, what, who string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.count(b, what)
	in.trace("%s%s  %s", b, what, who)
}

func (in *injector) count(b boundary, what string) {
	if in.hits[b] == nil {
		in.hits[b] = map[string]int{}
	}
	in.hits[b][what]++
}

// endless is a number of calls over one boundary that no world needs, and abrupt one of calls
// and steps that no instant does.
const (
	endless = 200_000
	abrupt  = 5_000
)

// befalls draws for the next call of a lane: a caller, the one called, and whose
// turn it is.
func (in *injector) befalls(b boundary, lane string) (what string, n uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	lane = string(b) + lane
	in.calls[lane]++
	n = in.calls[lane]
	if in.total[b]++; in.total[b] == endless {
		in.endless(fmt.Sprintf("%d calls %s: a loop without an end", in.total[b], b))
	}
	in.atOnce()
	switch {
	case in.off:
		return "", n
	case in.slow[b] && in.chance(400, lane+" slow", n):
		what = lateReply
	case !in.chance(in.rate[b], lane, n):
		return "", n
	default:
		faults := befalling(b)
		what = faults[in.pick(len(faults), lane+" what", n)]
	}
	in.count(b, what)
	in.trace("%s  call %d: %s", lane, n, what)
	return what, n
}

// step notes that a process changes a record or begins an effect.
func (in *injector) step() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.atOnce()
}

func (in *injector) atOnce() {
	if now := time.Now(); now != in.instant {
		in.instant, in.abrupt = now, 0
	}
	if in.abrupt++; in.abrupt == abrupt {
		// Its clock stands still: there is no other way to end this world.
		in.endless(fmt.Sprintf("%d calls and steps at once: a loop without an end", in.abrupt))
	}
}

// sending draws once more for a call that sends a transaction: there are few of
// them, and most depends on them.
func (in *injector) sending(b boundary, lane string, n uint64) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.off || !in.chance(in.send, lane+" sending", n) {
		return ""
	}
	faults := []string{crashBefore, crashAfter, loseReply, loseRequest, lateRequest}
	what := faults[in.pick(len(faults), lane+" sending what", n)]
	in.count(b, what)
	in.trace("%s  call %d, which sends: %s", lane, n, what)
	return what
}

// A host is a process whose calls can go wrong. It can die, and it can stop for
// a while and go on as if nothing had been.
type host struct {
	name string
	in   *injector
	die  func()
	dead atomic.Bool

	dying sync.Mutex // held while it dies
	mu    sync.Mutex
	gate  chan struct{} // closed when a stop is over; nil while running
	conns map[*brittle]bool
}

func newHost(name string, in *injector, die func()) *host {
	return &host{name: name, in: in, die: die, conns: map[*brittle]bool{}}
}

// crash ends h in the middle of what it does. What cannot die loses a connection.
func (h *host) crash() {
	if h.die == nil || h.dead.Load() {
		return
	}
	h.dying.Lock()
	defer h.dying.Unlock()
	if h.dead.Swap(true) {
		return
	}
	h.hangUp()
	h.resume()
	h.die()
}

// hangUp breaks all connections of h, and lets it have no others.
func (h *host) hangUp() {
	h.mu.Lock()
	conns := h.conns
	h.conns = nil
	h.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// revive brings h back after a crash, which is over then.
func (h *host) revive() {
	h.dying.Lock()
	defer h.dying.Unlock()
	h.mu.Lock()
	h.conns = map[*brittle]bool{}
	h.mu.Unlock()
	h.dead.Store(false)
}

// stop keeps whatever h sends or receives from now on waiting.
func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate == nil {
		h.gate = make(chan struct{})
	}
}

func (h *host) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate != nil {
		close(h.gate)
		h.gate = nil
	}
}

func (h *host) stopped() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate != nil || h.dead.Load()
}

// running waits while h is stopped.
func (h *host) running(gone <-chan struct{}) error {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-gone:
			return net.ErrClosed
		}
	}
	if h.dead.Load() {
		return harness.ErrDead
	}
	return nil
}
