package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Whoever guesses at keys is slowed where a page asks for one: a wrong one holds its seat for a
// second, and seats are bounded, for each address and in sum. So many are looked at in a
// second, and no more; a right one waits for its turn at most, and gives its seat back at once.
// Where programs give keys nobody waits: a program with an old key behind the same address as
// others must not stop them. Both are counted and logged.
const (
	guessHeld       = time.Second // by a wrong key
	guessesAtOnce   = 64          // looked at in sum
	guessesOfOne    = 16          // of an address
	guessLogPause   = 10 * time.Second
	loginsInTheLine = callTimeout // how long one waits for its turn
)

// The ways in which a key is given.
const (
	byLogin   = "login"
	byProgram = "program"
)

// Ways are those in which a key is given, as a Meter is told.
var Ways = []string{byLogin, byProgram}

// A guessing counts wrong keys. It may be used concurrently.
type guessing struct {
	seats *seats
	told  func(way string) // of each
	log   *slog.Logger

	mu     sync.Mutex
	count  int // since the last line of the log
	logged time.Time
}

func newGuessing(o *Options) *guessing {
	told := o.Meter.WrongKey
	if told == nil {
		told = func(string) {}
	}
	return &guessing{seats: newSeats(guessesAtOnce, guessesOfOne), told: told, log: o.Log}
}

// wrong counts a key that is none, and logs the first of many.
func (g *guessing) wrong(r *http.Request, way string) {
	g.told(way)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
	if now := time.Now(); now.Sub(g.logged) >= guessLogPause {
		g.log.WarnContext(r.Context(), "keys that are none were given", "count", g.count, "way", way, "address", addressOf(r))
		g.count, g.logged = 0, now
	}
}

// look finds whose key it is that somebody logs in with. A wrong one is told when its time is
// over.
func (g *guessing) look(r *http.Request, ring *Keyring, key string) (caller, error) {
	ctx, cancel := context.WithTimeout(r.Context(), loginsInTheLine)
	defer cancel()
	seat := g.seats.await(ctx, addressOf(r), guessHeld)
	if seat == nil {
		return caller{}, &problem{
			Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Too many wrong keys",
			Detail: "So many wrong keys come from this address, or from all together, that this one was not looked at. " +
				"Send it again. Programs that send their key as Authorization: Bearer need not wait.",
			After: time.Second,
		}
	}
	who := ring.find(key)
	if who.scope > 0 {
		seat.release()
		return who, nil
	}
	g.wrong(r, byLogin)
	over := make(chan struct{})
	time.AfterFunc(guessHeld, func() { // also for somebody who does not stay
		seat.release()
		close(over)
	})
	select {
	case <-over:
	case <-r.Context().Done():
	}
	return caller{}, unknownKey()
}

// addressOf is where a request comes from, as far as one guesser may have it: of IPv6 the 64
// bits that are given to a line. Behind a proxy it is the proxy's.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	line, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return line.String()
}
