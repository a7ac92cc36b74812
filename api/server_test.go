package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mina-sequencer/sequencer/tx"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
	stop  func(context.Context) error // the server, when what is under way is over
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listen serves s as NewServer would, until the test ends.
func (s *service) listen(t *testing.T) (*pipes, *http.Client) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := NewServer("127.0.0.1:0", s)
	p.stop = server.Shutdown
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(p); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		served.Wait()
	})
	return p, &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestWaitOfOneThatStops: the end of a server waits for no wait.
func TestWaitOfOneThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		p, client := s.listen(t)
		s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
		began := time.Now()
		stopped := make(chan error, 1)
		time.AfterFunc(time.Second, func() { stopped <- p.stop(t.Context()) })
		status, body := get(t, client, "/transactions/u?wait=60s")
		if took := time.Since(began); status != 200 || !strings.Contains(body, "WAITING") || took > 2*time.Second {
			t.Errorf("%d after %v: %s", status, took, body)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		_, client := s.listen(t)
		if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
			t.Fatal(err)
		}
		s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
		state := func(path string) string {
			status, body := get(t, client, path)
			var v struct{ State string }
			if err := json.Unmarshal([]byte(body), &v); err != nil || status != 200 {
				t.Fatalf("%s: %d %s", path, status, body)
			}
			return v.State
		}
		start := time.Now()
		if got := state("/transactions/u"); got != "WAITING" || time.Since(start) > time.Second {
			t.Errorf("without a wait %s after %s", got, time.Since(start))
		}
		// Longer than the server's limits for requests that do not wait.
		start = time.Now()
		if got, took := state("/transactions/u?wait=60s"), time.Since(start); got != "WAITING" || took < time.Minute || took > 61*time.Second {
			t.Errorf("waited in vain: %s after %s", got, took)
		}
		start = time.Now()
		var finished sync.WaitGroup
		finished.Go(func() {
			<-time.After(40 * time.Second)
			s.finish(tx.PhaseFailed)
		})
		if got, took := state("/transactions/u?wait=60s"), time.Since(start); got != "FAILED" || took < 40*time.Second || took > 42*time.Second {
			t.Errorf("waited: %s after %s", got, took)
		}
		finished.Wait()
		for _, bad := range []string{"61s", "-1s", "1", "soon", "1s&wait=2s", "1s&wiat=1s"} {
			if status, body := get(t, client, "/transactions/u?wait="+bad); status != 400 {
				t.Errorf("wait=%s: %d %s", bad, status, body)
			}
		}
		start = time.Now()
		if status, _ := get(t, client, "/transactions/none?wait=60s"); status != 404 || time.Since(start) > time.Second {
			t.Errorf("what is not there: %d after %s", status, time.Since(start))
		}
		// Who goes away is not waited for.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"v"}`).want(202)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+base+"/transactions/v?wait=60s", nil)
		if err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 6*time.Second { //nolint:bodyclose // an answer fails the test
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// A client that sends slowly, or not at all, does not keep its connection.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	head := "POST " + base + "/transactions HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n"
	for name, test := range map[string]struct {
		sent   string
		most   time.Duration
		answer string
	}{
		"no header":   {head, 11 * time.Second, ""},
		"no body":     {head + "\r\n{", 11 * time.Second, "TOO_SLOW"},
		"batch":       {strings.Replace(head, "/transactions", "/transactions/batch", 1) + "\r\n{", 11 * time.Second, "TOO_SLOW"},
		"between two": {"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", 121 * time.Second, `"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := setup(t)
				p, _ := s.listen(t)
				conn, err := p.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				start := time.Now()
				if _, err := io.WriteString(conn, test.sent); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(conn)
				if err != nil || !strings.Contains(string(got), test.answer) {
					t.Errorf("answer %q, %v", got, err)
				}
				if took := time.Since(start); took > test.most {
					t.Errorf("kept for %s", took)
				}
			})
		})
	}
}

// A client that is slow, and reads nothing before it has sent everything, gets
// its whole answer.
func TestBatchOverNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		p, _ := s.listen(t)
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		rest := func(d time.Duration) { <-time.After(d) }
		half := strings.Repeat(`{"queue":"a","type":"ANY","data":{}}`+"\n", 600)
		head := fmt.Sprintf("POST %s/transactions/batch HTTP/1.0\r\nHost: h\r\nContent-Length: %d\r\n\r\n", base, 2*len(half))
		if _, err := io.WriteString(conn, head+half); err != nil {
			t.Fatal(err)
		}
		rest(rateGrace)
		if _, err := io.WriteString(conn, half); err != nil {
			t.Fatal(err)
		}
		accepted := 0
		answer := bufio.NewScanner(conn)
		for answer.Scan() {
			if !strings.Contains(answer.Text(), `"status":202`) {
				continue
			}
			if accepted%partItems == 0 {
				rest(45 * time.Second) // longer than other requests may take
			}
			accepted++
		}
		if err := answer.Err(); err != nil || accepted != 1200 {
			t.Errorf("%d accepted, %v", accepted, err)
		}
	})
}

// TestLeave: a server that others are to be asked instead of refuses at /readyz alone, and
// each of its answers closes its connection; it ends what stays open when it is shut down.
func TestLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		web := overPipes(t, s)
		ask := func(method, path, body string) (status int, closes bool) {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := web.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			return resp.StatusCode, resp.Close
		}
		if status, closes := ask("GET", "/readyz", ""); status != 200 || closes {
			t.Errorf("before: %d, closing %v", status, closes)
		}
		early := web.follow("", "")
		web.server.Leave()
		late := web.follow("", "")
		for i := range 2 {
			if status, closes := ask("GET", "/readyz", ""); status != 503 || !closes {
				t.Errorf("leaving: %d, closing %v", status, closes)
			}
			if status, closes := ask("GET", "/healthz", ""); status != 200 || !closes {
				t.Errorf("alive: %d, closing %v", status, closes)
			}
			body := fmt.Sprintf(`{"queue":"q","type":"ANY","data":{},"uid":"u%d"}`, i)
			if status, closes := ask("POST", base+"/transactions", body); status != 202 || !closes {
				t.Errorf("posting: %d, closing %v", status, closes)
			}
		}
		for _, f := range []*follower{early, late} {
			if got := f.events(2); !strings.Contains(got[1].Data, `"uid":"u1"`) {
				t.Errorf("followed: %+v", got)
			}
		}
		var stopped sync.WaitGroup
		stopped.Go(func() {
			if err := web.server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		defer stopped.Wait()
		for _, f := range []*follower{early, late} {
			if last := f.end(); last.Retry == "" {
				t.Errorf("sent away with %+v", last)
			}
		}
	})
}
