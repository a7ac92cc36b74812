package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/queues"
)

// TestEventsResume: each event comes once and in order, however often the service
// goes away meanwhile.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	for _, filter := range []client.EventFilter{{}, {Queue: "q1"}} {
		t.Run(fmt.Sprint(filter), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { followRestarts(t, filter) })
		})
	}
}

func followRestarts(t *testing.T, filter client.EventFilter) {
	const rounds, each = 6, 40
	s := newService(t)
	s.start()
	retried := 0
	c := s.client(func(o *client.Options) { o.OnRetry = func(error) { retried++ } })
	go func() {
		for round := range rounds {
			<-time.After(time.Minute) // the stream stands
			for i := range each {
				uid := fmt.Sprintf("u%d-%d", round, i)
				if err := s.store.Enqueue(t.Context(), queues.Item{UID: uid, Queue: fmt.Sprint("q", i%2), Type: "ANY", Data: []byte("{}")}).Err; err != nil {
					t.Error(err)
				}
				switch {
				case i == each/2 && round%2 == 0:
					s.stop()
				case i == each/2:
					_ = s.server.Close() // without a word
					<-s.served
				}
			}
			<-time.After(time.Duration(round) * 10 * time.Second)
			s.start()
		}
	}()
	var want []string
	for round := range rounds {
		for i := range each {
			if filter.Queue == "" || i%2 == 1 {
				want = append(want, fmt.Sprintf("u%d-%d", round, i))
			}
		}
	}
	var got []string
	for e, err := range c.Events(t.Context(), "", filter) {
		if err != nil {
			t.Fatal(err)
		}
		if e.To != client.Waiting || e.Of != "transaction" || e.At.IsZero() || e.ID == "" || !strings.Contains(string(e.Raw), e.ID) {
			t.Errorf("%+v", e)
		}
		if got = append(got, e.UID); len(got) == len(want) {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if retried < rounds-1 {
		t.Errorf("told of %d interruptions", retried)
	}
	synctest.Wait()
	s.stop()
}

func TestEventsFrom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.start()
		defer s.stop()
		c := s.client()
		for i := range 5 {
			s.store.Enqueue(t.Context(), queues.Item{UID: fmt.Sprint("u", i), Queue: "q", Type: "ANY", Data: []byte("{}")})
		}
		p, err := s.store.ReadLog(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := ""
		for e, err := range c.Events(t.Context(), fmt.Sprintf("%s-%d", p.Epoch, p.Last-2), client.EventFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen += e.UID; e.UID == "u4" {
				break
			}
		}
		if seen != "u3u4" {
			t.Errorf("saw %q", seen)
		}
		for from, want := range map[string]error{"1-1": client.EventsGone, "x": client.BadRequest} {
			n := 0
			for e, err := range c.Events(t.Context(), from, client.EventFilter{}) {
				if n++; e != nil || !errors.Is(err, want) {
					t.Errorf("from %s: %v, %v", from, e, err)
				}
			}
			if n != 1 {
				t.Errorf("from %s: %d answers", from, n)
			}
		}
		// A caller that ends the context is told so, and at once.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		for _, err := range c.Events(ctx, "", client.EventFilter{}) {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// TestEventsNeverThere: what never answered is given up like any call.
func TestEventsNeverThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		c := s.client(func(o *client.Options) { o.Retries = 2 })
		n := 0
		for _, err := range c.Events(t.Context(), "", client.EventFilter{}) {
			if _, ok := errors.AsType[*client.UnreachableError](err); !ok {
				t.Error(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%d answers", n)
		}
	})
}

// A stalled body says a little and then nothing for ever.
type stalled struct {
	io.Reader
	ctx context.Context
}

func (s stalled) Read(b []byte) (int, error) {
	if n, err := s.Reader.Read(b); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (stalled) Close() error { return nil }

// TestEventsSilence: a stream without a heartbeat is taken for dead.
func TestEventsSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := scripted(t, func(r *http.Request) *http.Response {
			asked = append(asked, r.Header.Get("Last-Event-ID"))
			body := fmt.Sprintf("retry: 100\nid: 7-%d\n\n: heartbeat\r\n\r\n", len(asked))
			if len(asked) == 3 {
				body = "id: 7-4\nevent: transaction\ndata: {\"id\":\"7-4\",\ndata: \"uid\":\"u\"}\n\n"
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: stalled{strings.NewReader(body), r.Context()}}
		})
		start := time.Now()
		for e, err := range c.Events(t.Context(), "7-0", client.EventFilter{}) {
			if err != nil || e.UID != "u" || e.ID != "7-4" {
				t.Errorf("%+v, %v", e, err)
			}
			break
		}
		if took := time.Since(start); fmt.Sprint(asked) != "[7-0 7-1 7-2]" || took < time.Minute || took > 3*time.Minute {
			t.Errorf("asked from %v in %v", asked, took)
		}
	})
}
