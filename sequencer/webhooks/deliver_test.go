package webhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// fails answers requests about a transaction with a status.
func fails(uid string, code int, headers ...string) func(*http.Request, string) (*reply, error) {
	return func(_ *http.Request, of string) (*reply, error) {
		if of != uid && uid != "" {
			return nil, nil
		}
		return status(code, headers...), nil
	}
}

func TestDelivers(t *testing.T) {
	bubble(t, func(f *fixture) {
		f.post("q", "before")
		s, r, _ := f.endpoint(nil, Definition{})
		f.post("q", "a", "b")
		f.to("a", tx.PhaseFailed)
		f.ok(f.queues.Pause(f.ctx, "q", "why"))
		passes(5 * time.Second)
		r.wants("2 a WAITING *", "3 b WAITING WAITING", "4 a FAILED FAILED", "5 q  null")
		if x := f.status(s); x.Behind != 0 || x.Parked != 0 || x.Holder != process {
			t.Errorf("%+v", x)
		}
		passes(time.Hour)
		r.wants()
	})
}

// TestOrder: what fails holds up later events of its transaction, and nothing else.
func TestOrder(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(fails("a", 500))
		f.post("q", "a", "b")
		f.to("a", tx.PhaseFailed)
		f.to("b", tx.PhaseFailed)
		passes(4 * time.Second)
		r.wants("2 b WAITING *", "4 b FAILED FAILED")
		f.to("a", tx.PhaseWaiting) // joins those that are parked
		passes(30 * time.Second)   // the second try fails, the third is in minutes
		if x := f.status(s); x.Parked != 3 || x.Lanes != 1 || x.Behind != 0 {
			t.Errorf("%+v", x)
		}
		r.answers(nil)
		passes(4 * time.Minute)
		r.wants()
		passes(2 * time.Minute)
		want := []string{"1 a WAITING WAITING", "3 a FAILED WAITING", "5 a WAITING WAITING"}
		if got := r.taken(); !slices.Equal(got, want) {
			t.Errorf("delivered %q", got)
		}
		if x := f.status(s); x.Parked != 0 || x.ParkedBytes != 0 || x.Lanes != 0 {
			t.Errorf("%+v", x)
		}
		tries, err := s.Deliveries(f.ctx, "e", 100)
		f.ok(err)
		var words []string
		for _, d := range tries {
			words = append(words, fmt.Sprint(d.Event[strings.LastIndex(d.Event, "-")+1:], " ", d.Status, " ", d.Delivered))
		}
		if got := fmt.Sprint(words[:4]); got != "[5 200 true 3 200 true 1 200 true 1 500 false]" || len(words) != 7 {
			t.Errorf("the log says %v", words)
		}
	})
}

// TestParkedInBacklog: a backlog keeps nothing waiting that is parked and due.
func TestParkedInBacklog(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(fails("", 500))
		f.post("q", "bad")
		passes(time.Second)
		r.answers(func(*http.Request, string) (*reply, error) { <-time.After(time.Second); return nil, nil })
		for i := range 200 {
			f.post("q", fmt.Sprint("t", i))
		}
		passes(8 * time.Second)
		if got := r.taken(); !slices.Contains(got, "1 bad WAITING WAITING") || len(got) > 150 {
			t.Errorf("delivered %q", got)
		}
		passes(time.Minute)
		if x := f.status(s); x.Parked != 0 || x.Behind != 0 {
			t.Errorf("%+v", x)
		}
	})
}

// TestBacklogOfParked: many that are parked and hang keep no first try waiting.
func TestBacklogOfParked(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		var hang chan struct{}
		r.answers(func(_ *http.Request, uid string) (*reply, error) {
			if !strings.HasPrefix(uid, "bad") {
				return nil, nil
			}
			if hang != nil {
				<-hang
			}
			return status(500), nil
		})
		for i := range 40 {
			f.post("q", fmt.Sprint("bad", i))
			passes(time.Second)
			f.post("q", fmt.Sprint("good", i)) // it is not down
			passes(time.Second)
		}
		r.taken()
		hang = make(chan struct{})
		release := sync.OnceFunc(func() { close(hang) })
		defer release()
		f.ok(s.Replay(f.ctx, "e"))
		passes(6 * time.Second)
		f.post("q", "fresh")
		passes(2 * time.Second)
		r.wants("81 fresh WAITING WAITING")
		release()
		passes(time.Second)
		lanes, _, err := s.Parked(f.ctx, "e", 100, "")
		f.ok(err)
		if len(lanes) != 40 || slices.ContainsFunc(lanes, func(l Lane) bool { return l.Tries == 0 }) {
			t.Errorf("%+v", lanes)
		}
	})
}

// TestScheduleUsedUp: after the last try an event waits for a person.
func TestScheduleUsedUp(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		var tries atomic.Int64
		r.answers(func(_ *http.Request, uid string) (*reply, error) {
			if uid != "a" {
				return nil, nil
			}
			tries.Add(1)
			return status(307, "Location", "https://example.org/other"), nil
		})
		f.post("q", "a")
		passes(time.Minute)
		// As it is a day after the ninth try in vain; that day would take the test a while.
		lane := "{seq}:lane:e:t:a"
		entry := f.client.LIndex(f.ctx, lane, 0).Val()
		f.ok(f.client.LSet(f.ctx, lane, 0, strings.Replace(entry, "1 2 ", "1 9 ", 1)).Err())
		f.ok(f.client.ZAdd(f.ctx, "{seq}:park:e", redis.Z{Score: float64(time.Now().UnixMilli()), Member: "t:a"}).Err())
		passes(time.Hour)
		if x := f.status(s); tries.Load() != 3 || x.Waiting != 1 {
			t.Errorf("%d tries, %+v", tries.Load(), x)
		}
		lanes, _, err := s.Parked(f.ctx, "e", 10, "")
		f.ok(err)
		if len(lanes) != 1 || lanes[0].Name != "t:a" || lanes[0].Tries != 10 || !lanes[0].NextAt.IsZero() ||
			lanes[0].Events != 1 {
			t.Errorf("%+v", lanes)
		}
		f.ok(s.Replay(f.ctx, "e"))
		passes(20 * time.Second) // the schedule begins anew
		if tries.Load() != 5 {
			t.Errorf("asked for, it was tried %d times", tries.Load())
		}
		r.answers(nil)
		passes(6 * time.Minute)
		r.wants("1 a WAITING WAITING")
	})
}

// TestSlowedDown: 429 uses no try up, parks nothing and holds the whole endpoint, also
// where another process takes over.
func TestSlowedDown(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, stop := f.endpoint(nil, Definition{})
		r.answers(fails("", 429, "Retry-After", "600"))
		f.post("q", "a", "b")
		passes(time.Minute)
		if x := f.status(s); x.Parked != 0 || x.Behind != 2 || time.Until(x.RestsUntil) < 8*time.Minute ||
			x.BehindSince.IsZero() {
			t.Errorf("%+v", x)
		}
		r.answers(nil)
		stop()
		f.service(r, func(o *Options) { o.Process = "process-b" })
		passes(8 * time.Minute)
		r.wants()
		passes(2 * time.Minute)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
	})
}

// TestReplayEndsRest: who asks for a replay has everything sent, also to an endpoint that has
// asked for a day of rest.
func TestReplayEndsRest(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(fails("a", 500))
		f.post("q", "a")
		passes(time.Second)
		r.answers(fails("", 429, "Retry-After", "86400"))
		f.post("q", "b")
		passes(time.Minute)
		r.answers(nil)
		passes(time.Hour)
		r.wants()
		f.ok(s.Replay(f.ctx, "e"))
		passes(time.Second) // before the leases are looked at anyway
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
		if x := f.status(s); x.Parked != 0 || x.Behind != 0 || !x.RestsUntil.IsZero() {
			t.Errorf("%+v", x)
		}
	})
}

// TestGone: 410 disables the endpoint. What happened meanwhile it gets when it is enabled.
func TestGone(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(fails("", 410))
		f.post("q", "a")
		passes(time.Minute)
		if x := f.status(s); x.Disabled != Gone || x.DisabledAt.IsZero() || x.Behind != 1 {
			t.Errorf("%+v", x)
		}
		r.answers(nil)
		f.post("q", "b")
		passes(time.Hour)
		r.wants()
		f.ok(s.Enable(f.ctx, "e"))
		passes(5 * time.Second)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
	})
}

// TestDown: an endpoint that is down takes few events, and the log keeps the others.
func TestDown(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(func(*http.Request, string) (*reply, error) { return nil, context.DeadlineExceeded })
		for i := range 600 {
			f.post("q", fmt.Sprint("t", i))
		}
		passes(10 * time.Minute)
		if x := f.status(s); x.Parked > 50 || x.Parked < 17 || x.Behind != 600-x.Parked {
			t.Errorf("%+v", x)
		}
		r.answers(nil)
		passes(2 * time.Minute)
		if x := f.status(s); x.Behind != 0 {
			t.Errorf("when it is back: %+v", x)
		}
		f.ok(s.Replay(f.ctx, "e"))
		passes(10 * time.Second)
		if n := len(r.taken()); n != 600 {
			t.Errorf("%d were delivered", n)
		}
	})
}

// TestOlderThanTheLog: what is undelivered when the log drops it is parked with its body;
// where there is no room it is dropped, and counted. The log keeps it until then.
func TestOlderThanTheLog(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(func(o *Options) { o.MostParked, o.Keep = 3, time.Hour }, Definition{})
		f.ok(s.Disable(f.ctx, "e"))
		passes(time.Second) // until its deliverer knows
		f.post("q", "a", "b", "c", "d")
		f.to("a", tx.PhaseFailed)
		passes(55 * time.Minute)
		if x := f.status(s); x.Parked != 0 || x.Behind != 5 {
			t.Errorf("before: %+v", x)
		}
		passes(10 * time.Minute)
		if x := f.status(s); x.Parked != 3 || x.Dropped != 2 || x.Behind != 0 {
			t.Errorf("after: %+v", x)
		}
		f.ok(f.queues.Remove(f.ctx, "a"))
		f.ok(s.Enable(f.ctx, "e"))
		passes(10 * time.Second)
		// a was removed meanwhile: it is told as it was when it was parked.
		r.wants("1 a WAITING FAILED", "2 b WAITING WAITING", "3 c WAITING WAITING", "6 a  null")
	})
}

// TestDamaged: what cannot be read of a transaction holds up nothing: its events are told
// without it, also where they are parked.
func TestDamaged(t *testing.T) {
	for name, keep := range map[string]time.Duration{"Sent": 24 * time.Hour, "Parked": time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				s, r, _ := f.endpoint(func(o *Options) { o.Keep = keep }, Definition{})
				f.ok(s.Disable(f.ctx, "e"))
				passes(time.Second) // until its deliverer knows
				f.post("q", "a", "b")
				f.ok(f.client.Set(f.ctx, "{seq}:t:a", "damaged", 0).Err())
				passes(5 * time.Minute)
				f.ok(s.Enable(f.ctx, "e"))
				passes(10 * time.Second)
				r.wants("1 a WAITING null", "2 b WAITING WAITING")
				if x := f.status(s); x.Parked != 0 || x.Behind != 0 {
					t.Errorf("%+v", x)
				}
			})
		})
	}
}

// TestRoom: what is parked and delivered leaves its room to others, for as long as the
// endpoint has one deliverer.
func TestRoom(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(func(o *Options) { o.MostBytes = 500 }, Definition{})
		failed := map[string]bool{}
		r.answers(func(_ *http.Request, uid string) (*reply, error) {
			if first := !failed[uid]; first {
				failed[uid] = true
				return status(500), nil
			}
			return nil, nil
		})
		var want []string
		for i := range 20 {
			f.post("q", fmt.Sprint("u", i))
			passes(time.Minute)
			want = append(want, fmt.Sprintf("%d u%d WAITING WAITING", i+1, i))
		}
		r.wants(want...)
		if x := f.status(s); x.Parked != 0 || x.ParkedBytes != 0 || x.Behind != 0 || x.Dropped != 0 {
			t.Errorf("%+v", x)
		}
	})
}

// TestTakeOver: a process that is gone leaves what it has not passed to the next one, and
// what it still writes is refused.
func TestTakeOver(t *testing.T) {
	bubble(t, func(f *fixture) {
		r := f.receiver()
		hang := make(chan struct{})
		hung := &receiver{f: f, secret: r.secret}
		hung.answers(func(*http.Request, string) (*reply, error) { <-hang; return status(500), nil })
		dead := New(Options{Store: f.queues, Process: "dead", Render: render})
		dead.client.http.Transport = hung
		f.add(dead, r, Definition{})
		dead.renew(f.ctx) // once, and never again
		f.post("q", "a", "b")
		passes(5 * time.Second)
		s, _ := f.service(r, nil)
		passes(5 * time.Second)
		r.wants()
		passes(10 * time.Second)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
		close(hang)
		passes(10 * time.Second)
		dead.assign(nil)
		if x := f.status(s); x.Parked != 0 || x.Behind != 0 || x.Holder != process {
			t.Errorf("%+v", x)
		}
	})
}

func TestRewind(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		f.post("q", "a", "b", "c")
		passes(5 * time.Second)
		r.taken()
		p, err := f.queues.ReadLog(f.ctx, 0, 0)
		f.ok(err)
		f.ok(s.Rewind(f.ctx, "e", p.Epoch, 1))
		passes(5 * time.Second)
		r.wants("2 b WAITING WAITING", "3 c WAITING WAITING")
		for want, id := range map[error]struct {
			epoch  string
			number int64
		}{ErrGone: {"1", 1}, ErrAhead: {p.Epoch, 4}} {
			if err := s.Rewind(f.ctx, "e", id.epoch, id.number); err != want { //nolint:errorlint // it is returned as it is
				t.Errorf("%v: %v, want %v", id, err, want)
			}
		}
	})
}

func TestDiscard(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		r.answers(fails("", 500))
		f.post("q", "a", "b")
		passes(30 * time.Second)
		f.ok(s.Discard(f.ctx, "e", "t:a"))
		r.answers(nil)
		f.to("a", tx.PhaseFailed)
		passes(10 * time.Second)
		r.wants("3 a FAILED FAILED")
		if x := f.status(s); x.Parked != 1 || x.ParkedBytes == 0 {
			t.Errorf("%+v", x)
		}
		f.ok(s.Discard(f.ctx, "e", ""))
		if x := f.status(s); x.Parked != 0 || x.ParkedBytes != 0 {
			t.Errorf("%+v", x)
		}
		f.ok(s.Remove(f.ctx, "e"))
		passes(10 * time.Second)
		keys, err := f.client.Keys(f.ctx, "{seq}:*").Result()
		f.ok(err)
		for _, k := range keys {
			for _, kind := range []string{"hook", "park", "lane", "sent"} {
				if strings.HasPrefix(k, "{seq}:"+kind) {
					t.Errorf("%s is left", k)
				}
			}
		}
	})
}

// TestRotation: for a day both secrets sign; TestSignature checks how.
func TestRotation(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, stop := f.endpoint(nil, Definition{})
		fresh, err := s.Rotate(f.ctx, "e", "")
		f.ok(err)
		f.post("q", "a")
		passes(5 * time.Second)
		r.secret = fresh
		f.post("q", "b")
		passes(5 * time.Second)
		stop() // a day without events is soon over
		passes(25 * time.Hour)
		s, _ = f.service(r, nil)
		passes(5 * time.Second)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
		f.post("q", "c")
		r.answers(func(q *http.Request, _ string) (*reply, error) {
			if all := strings.Fields(q.Header.Get("Webhook-Signature")); len(all) != 1 {
				t.Errorf("after a day %d signatures", len(all))
			}
			return nil, nil
		})
		passes(5 * time.Second)
		r.wants("3 c WAITING WAITING")
		d, err := s.Ping(f.ctx, "e")
		if err != nil || !d.Delivered {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestFilters(t *testing.T) {
	bubble(t, func(f *fixture) {
		_, r, _ := f.endpoint(nil, Definition{Types: []string{"MINT"}, Queues: []string{"one", "tenant-*"},
			States: []tx.State{tx.Failed}})
		f.post("one", "a")
		f.post("other", "b")
		f.post("tenant-7", "c")
		for _, uid := range []string{"a", "b", "c"} {
			f.to(uid, tx.PhaseFailed)
		}
		f.ok(f.queues.Pause(f.ctx, "one", "why"))
		passes(5 * time.Second)
		r.wants("4 a FAILED FAILED", "6 c FAILED FAILED")
	})
}

// TestFiltersRemoved: type and queue of what was removed are known for as long as the log has its
// events, also where keys are to be known for less.
func TestFiltersRemoved(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{Types: []string{"MINT"}, Queues: []string{"one"}})
		f.ok(s.Disable(f.ctx, "e"))
		passes(time.Second) // until its deliverer knows
		f.post("one", "a")
		f.post("other", "b")
		f.to("a", tx.PhaseFailed)
		f.ok(f.queues.Remove(f.ctx, "a"))
		passes(5 * time.Hour)
		f.ok(s.Enable(f.ctx, "e"))
		passes(10 * time.Second)
		r.wants("1 a WAITING null", "3 a FAILED null", "4 a  null")
	})
}

// TestFailover: on a Redis that may have forgotten something nothing is delivered before it
// is settled, and what the log then holds is told under its new epoch.
func TestFailover(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		f.post("q", "a")
		passes(5 * time.Second)
		old := f.server.Snapshot()
		f.post("q", "b")
		passes(5 * time.Second)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
		f.server.FailOver(old)
		f.post("q", "c") // by the number that b had
		passes(30 * time.Second)
		r.wants()
		p, err := f.queues.Heartbeat(f.ctx, process, 1000*time.Hour, "")
		f.ok(err)
		f.ok(f.client.MSet(f.ctx, "{seq}:is:server", p.Server, "{seq}:is:epoch", "77").Err()) // as settle does
		passes(10 * time.Second)
		r.wants("2 c WAITING WAITING")
		if x := f.status(s); x.Behind != 0 {
			t.Errorf("%+v", x)
		}
	})
}

// TestDefined: a file's endpoints are stored as soon as the store answers; one that it names
// no longer is disabled, and comes back where it was; a changed secret signs beside the old.
func TestDefined(t *testing.T) {
	bubble(t, func(f *fixture) {
		r := f.receiver()
		f.server.SetError("LOADING it is not there yet")
		s, _ := f.service(r, nil)
		d := Definition{ID: "e", URL: "https://example.org/hook", Secret: r.secret}
		s.Define([]Definition{d})
		passes(10 * time.Second)
		f.server.SetError("")
		passes(20 * time.Second)
		f.post("q", "a")
		passes(5 * time.Second)
		r.wants("1 a WAITING WAITING")
		if err := s.Remove(f.ctx, "e"); !errors.Is(err, ErrConfigured) {
			t.Errorf("removed: %v", err)
		}
		if _, err := s.Rotate(f.ctx, "e", ""); !errors.Is(err, ErrConfigured) {
			t.Errorf("rotated: %v", err)
		}
		s.Define(nil)
		passes(5 * time.Second)
		f.post("q", "b")
		passes(5 * time.Second)
		r.wants()
		if x := f.status(s); x.Disabled != Unconfigured {
			t.Errorf("%+v", x)
		}
		d.Secret = newSecret()
		s.Define([]Definition{d})
		passes(5 * time.Second)
		r.wants("2 b WAITING WAITING")
		if x := f.status(s); len(x.Secrets) != 2 || x.Secrets[0].Key != d.Secret || x.Source != ByFile {
			t.Errorf("%+v", x)
		}
		s.Define(nil)
		passes(5 * time.Second)
		f.ok(s.Remove(f.ctx, "e"))
	})
}

// TestDefinedInPart: a file of which something cannot be stored has the rest be as it says, above
// all that nothing more is sent where it names no endpoint any more; which can be removed then,
// also if it was disabled before.
func TestDefinedInPart(t *testing.T) {
	bubble(t, func(f *fixture) {
		r := f.receiver()
		s, _ := f.service(r, nil)
		_, err := s.Add(f.ctx, f.named(r, "taken")[0])
		f.ok(err)
		f.ok(s.Configure(f.ctx, f.named(r, "left", "off")))
		f.ok(s.Disable(f.ctx, "off"))
		if err := s.Configure(f.ctx, f.named(r, "taken", "next")); !errors.Is(err, ErrExists) {
			t.Errorf("configured: %v", err)
		}
		want := map[string]string{
			"taken": "api ", "next": "file ", "left": "file " + Unconfigured, "off": "file " + ByPerson,
		}
		if got := f.reasons(s); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		f.ok(s.Remove(f.ctx, "left"))
		f.ok(s.Remove(f.ctx, "off"))
	})
}

// TestNamedAgain: that its file names an endpoint no longer hides no other reason why it is disabled,
// be that older or newer; only what had no other is told again when the file names it again. What
// may be removed goes by the file alone.
func TestNamedAgain(t *testing.T) {
	bubble(t, func(f *fixture) {
		r := f.receiver()
		s, _ := f.service(r, nil)
		all := f.named(r, "before", "gone", "meanwhile", "none")
		names := func(all []Definition, before, gone, meanwhile, none string) {
			f.Helper()
			f.ok(s.Configure(f.ctx, all))
			want := map[string]string{
				"before": "file " + before, "gone": "file " + gone, "meanwhile": "file " + meanwhile, "none": "file " + none,
			}
			if got := f.reasons(s); !maps.Equal(got, want) {
				f.Errorf("%v, want %v", got, want)
			}
		}
		names(all, "", "", "", "")
		f.ok(s.Disable(f.ctx, "before"))
		f.ok(s.disable(f.ctx, "gone", Gone))
		names(nil, ByPerson, Gone, Unconfigured, Unconfigured)
		f.ok(s.Disable(f.ctx, "meanwhile"))
		names(nil, ByPerson, Gone, ByPerson, Unconfigured)
		names(all, ByPerson, Gone, ByPerson, "")
		for _, d := range all {
			if err := s.Remove(f.ctx, d.ID); !errors.Is(err, ErrConfigured) {
				f.Errorf("%s is removed: %v", d.ID, err)
			}
		}
		names(nil, ByPerson, Gone, ByPerson, Unconfigured)
		for _, d := range all {
			f.ok(s.Remove(f.ctx, d.ID))
		}
	})
}

// TestOrderInOneRead: events of one transaction that were read together stay in order, too,
// when the first of them fails.
func TestOrderInOneRead(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		f.ok(s.Disable(f.ctx, "e"))
		passes(time.Second) // until its deliverer knows
		f.post("q", "a", "b")
		for range 3 {
			f.to("a", tx.PhaseFailed)
			f.to("a", tx.PhaseWaiting)
		}
		passes(10 * time.Second)
		var failed atomic.Int64
		r.answers(func(q *http.Request, _ string) (*reply, error) {
			if strings.HasSuffix(q.Header.Get("Webhook-Id"), "-3") && failed.Add(1) == 1 {
				return status(500), nil
			}
			return nil, nil
		})
		f.ok(s.Enable(f.ctx, "e"))
		passes(4 * time.Second)
		r.wants("1 a WAITING WAITING", "2 b WAITING WAITING")
		if x := f.status(s); x.Behind != 0 || x.Parked != 6 {
			t.Errorf("%+v", x)
		}
		passes(10 * time.Second)
		want := "3 a FAILED,4 a WAITING,5 a FAILED,6 a WAITING,7 a FAILED,8 a WAITING"
		got := strings.ReplaceAll(strings.Join(r.taken(), ","), " WAITING,", ",")
		if strings.TrimSuffix(got, " WAITING") != want {
			t.Errorf("delivered %s", got)
		}
	})
}

// TestRedirect: of none is the address asked that it leads to.
func TestRedirect(t *testing.T) {
	bubble(t, func(f *fixture) {
		s, r, _ := f.endpoint(nil, Definition{})
		for _, code := range []int{301, 302, 303, 307, 308} {
			var asked atomic.Int64
			r.answers(func(*http.Request, string) (*reply, error) {
				asked.Add(1)
				return status(code, "Location", "https://example.org/other"), nil
			})
			if d, err := s.Ping(f.ctx, "e"); err != nil || d.Delivered || d.Status != code || asked.Load() != 1 {
				t.Errorf("%+v, %v, asked %d times", d, err, asked.Load())
			}
		}
	})
}
