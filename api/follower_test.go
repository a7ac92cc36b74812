package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues/redistest"
)

// onStores runs a case on an embedded Redis in a bubble, with connections that
// buffer nothing, and on a real one over TCP.
func onStores(t *testing.T, run func(*testing.T, *redis.Client, listen)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { run(t, redistest.Mini(t).Client, overPipes) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		run(t, redistest.Start(t).Client, overTCP)
	})
}

// listen serves a handler until the test ends, or stop.
type listen func(testing.TB, http.Handler) *site

// A site is a server and how to reach it.
type site struct {
	tb     testing.TB
	server *Server
	dial   func(context.Context, string, string) (net.Conn, error)
	client *http.Client
	key    string // of those who follow
}

func overPipes(tb testing.TB, h http.Handler) *site {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	return newSite(tb, h, p, p.dial)
}

func overTCP(tb testing.TB, h http.Handler) *site {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return newSite(tb, h, l, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	})
}

func newSite(tb testing.TB, h http.Handler, l net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *site {
	s := &site{tb: tb, server: NewServer("127.0.0.1:0", h), dial: dial}
	transport := &http.Transport{DialContext: dial}
	s.client = &http.Client{Transport: transport}
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = s.server.Close()
		served.Wait()
	})
	return s
}

// A frame is what stands between two empty lines of a stream.
type frame struct{ ID, Event, Data, Comment, Retry string }

// told is the data of an event.
type told struct {
	ID, At                                string
	UID, Queue, Type, Sender, Code, Actor *string
	From, To, QueueFrom, QueueTo          *string
	Attempt                               *int
}

// A follower reads a stream.
type follower struct {
	tb   testing.TB
	resp *http.Response
	scan *bufio.Scanner
	last string // as the standard has a client remember it
}

// open asks for the events behind last, "" for those from now on.
func (s *site) open(query, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.tb.Context(), http.MethodGet, "http://127.0.0.1"+base+"/events"+query, nil)
	if err != nil {
		return nil, err
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	if s.key != "" {
		req.Header.Set(bearerOf(s.key))
	}
	return s.client.Do(req)
}

func newFollower(tb testing.TB, resp *http.Response, last string) *follower {
	return &follower{tb: tb, resp: resp, scan: bufio.NewScanner(resp.Body), last: last}
}

// follow opens a stream that must be granted.
func (s *site) follow(query, last string) *follower {
	s.tb.Helper()
	resp, err := s.open(query, last) //nolint:bodyclose // the follower closes it
	if err != nil {
		s.tb.Fatal(err)
	}
	f := newFollower(s.tb, resp, last)
	s.tb.Cleanup(f.close)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		s.tb.Fatalf("%s %s: %s", resp.Status, resp.Header.Get("Content-Type"), body)
	}
	if first, err := f.frame(); err != nil || first.Retry == "" || first.Event != "" {
		s.tb.Fatalf("it begins with %+v, %v", first, err)
	}
	return f
}

func (f *follower) close() { _ = f.resp.Body.Close() }

// frame reads the next one; io.EOF at the end of the answer.
func (f *follower) frame() (frame, error) {
	var out frame
	for f.scan.Scan() {
		line := f.scan.Text()
		if line == "" {
			if out.ID != "" {
				f.last = out.ID
			}
			return out, nil
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			out.ID = value
		case "event":
			out.Event = value
		case "data":
			out.Data = value
		case "retry":
			out.Retry = value
		case "":
			out.Comment = value
		default:
			return out, fmt.Errorf("line %q", line)
		}
	}
	if err := f.scan.Err(); err != nil {
		return out, err
	}
	return out, io.EOF
}

// patience is how many frames without an event a follower reads in a row.
const patience = 5

// event reads up to the next event. At the end of the answer it is io.EOF.
func (f *follower) event() (frame, error) {
	for range patience {
		if got, err := f.frame(); err != nil || got.Event != "" {
			return got, err
		}
	}
	return frame{}, errors.New("no event comes")
}

// events reads n events, which must come.
func (f *follower) events(n int) []frame {
	f.tb.Helper()
	out := make([]frame, n)
	for i := range out {
		var err error
		if out[i], err = f.event(); err != nil {
			f.tb.Fatalf("after %d of %d events: %v", i, n, err)
		}
	}
	return out
}

// end reads to the end of the answer and returns the last frame.
func (f *follower) end() frame {
	f.tb.Helper()
	var last frame
	for quiet := 0; quiet < patience; quiet++ {
		got, err := f.frame()
		if errors.Is(err, io.EOF) {
			return last
		}
		if err != nil {
			f.tb.Fatal(err)
		}
		if last = got; got.Event != "" {
			quiet = 0
		}
	}
	f.tb.Fatalf("it does not end: %+v", last)
	return last
}

func (f frame) told(tb testing.TB) told {
	tb.Helper()
	var v told
	if err := json.Unmarshal([]byte(f.Data), &v); err != nil {
		tb.Fatalf("%q: %v", f.Data, err)
	}
	return v
}

// number is that of an id.
func number(id string) (n int) {
	_, _ = fmt.Sscan(id[strings.LastIndex(id, "-")+1:], &n)
	return n
}

// begin is the id from which everything follows.
func (f *follower) begin() string { return f.last[:strings.LastIndex(f.last, "-")] + "-0" }
