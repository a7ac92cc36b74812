package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// login logs in from an address.
func (s *service) login(address, key string) reply {
	r := httptest.NewRequest("POST", base+"/session", strings.NewReader(fmt.Sprintf(`{"key":%q}`, key)))
	r.RemoteAddr = address
	return s.serve(r)
}

// TestGuesses: of keys that are guessed at the login only so many are looked at in a second, for
// each address and in sum; all are counted, and the log says so. Who has a right key is let in
// meanwhile, from there, too.
func TestGuesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var counted, looked atomic.Int32
		s := setup(t, func(o *Options) {
			o.Keys = NewKeyring([]Key{{"ops", Admin, "admin-secret", nil}})
			o.Meter.WrongKey = func(way string) {
				if way == byLogin {
					counted.Add(1)
				}
			}
		})
		guess := func(address string, until time.Time) {
			for i := 0; time.Now().Before(until); i++ {
				if s.login(address, fmt.Sprint("guess-", i)).wantProblem(401, codeUnauthorized); time.Now().Before(until) {
					looked.Add(1)
				}
			}
		}
		const seconds = 10
		until := time.Now().Add(seconds*time.Second + time.Millisecond)
		for range 50 {
			go guess("192.0.2.1:4000", until)
		}
		time.Sleep(2500 * time.Millisecond)
		began := time.Now()
		s.login("198.51.100.7:1", "admin-secret").want(200)
		if took := time.Since(began); took > 0 {
			t.Errorf("from elsewhere a right key waits %s", took)
		}
		s.login("192.0.2.1:9", "admin-secret").want(200)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("from there a right key waits %s", took)
		}
		time.Sleep(time.Until(until))
		synctest.Wait()
		if got := looked.Load(); got < seconds*guessesOfOne-guessesOfOne || got > seconds*guessesOfOne {
			t.Errorf("%d were looked at in %d seconds", got, seconds)
		}
		time.Sleep(time.Minute)
		if n := strings.Count(s.log.String(), "keys that are none were given"); n < 1 || n > 2 {
			t.Errorf("the log says it %d times: %s", n, s.log)
		}
		if strings.Contains(s.log.String(), "guess-") || !strings.Contains(s.log.String(), "address=192.0.2.1") {
			t.Errorf("the log tells keys, or not where they come from: %s", s.log)
		}

		// From many addresses, those of one line of IPv6 being one.
		looked.Store(0)
		before := counted.Load()
		until = time.Now().Add(seconds*time.Second + time.Millisecond)
		for i := range 200 {
			go guess(fmt.Sprintf("[2001:db8:%x:%x::%x]:1", i/100, i%10, i), until)
		}
		time.Sleep(time.Until(until))
		if got := looked.Load(); got < seconds*guessesAtOnce-guessesAtOnce || got > seconds*guessesAtOnce {
			t.Errorf("%d were looked at in %d seconds in sum", got, seconds)
		}
		began = time.Now()
		s.login("203.0.113.5:1", "admin-secret").want(200)
		if took := time.Since(began); took > guessHeld {
			t.Errorf("in the midst of it a right key from elsewhere waits %s", took)
		}
		time.Sleep(time.Minute)
		if counted.Load()-before < looked.Load() {
			t.Error("not all are counted")
		}
	})
}

// TestGuessesInTheLine: more than a line takes are told to come again, and a program with an old
// key behind the same address keeps nobody waiting.
func TestGuessesInTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bearers int
		s := setup(t, func(o *Options) {
			o.Keys = NewKeyring([]Key{{"ops", Admin, "admin-secret", nil}})
			o.Meter.WrongKey = func(way string) {
				if way == byProgram {
					bearers++
				}
			}
		})
		for range 100 {
			s.ask("GET", "/queues", "", "Authorization", "Bearer old").wantProblem(401, codeUnauthorized)
		}
		if bearers != 100 || strings.Count(s.log.String(), "keys that are none were given") != 1 {
			t.Errorf("%d are counted, and logged as %s", bearers, s.log)
		}
		var told atomic.Int32
		for range 1000 {
			go func() {
				if r := s.login("192.0.2.1:4000", "wrong"); r.Code == 429 {
					r.wantProblem(429, codeRateLimited)
					told.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		s.ask("GET", "/queues", "", "Authorization", "Bearer admin-secret").want(200)
		s.login("198.51.100.7:1", "admin-secret").want(200)
		if took := time.Since(began); took > 0 {
			t.Errorf("a right key waits %s", took)
		}
		time.Sleep(loginsInTheLine + time.Second)
		const seconds = int(loginsInTheLine / time.Second)
		if got := 1000 - int(told.Load()); got < seconds*guessesOfOne || got > (seconds+2)*guessesOfOne {
			t.Errorf("%d of a thousand were looked at", got)
		}
	})
}
