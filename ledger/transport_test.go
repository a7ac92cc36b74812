package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/ledger"
	"mina-sequencer/queues/redistest"
)

var accepted = `{"link":"http://h/batch_statuses?id=` + anID + `"}`

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

// readRequest reads one request to its end.
func readRequest(c net.Conn) error {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// acceptAll serves connections until the listener is closed, and counts them.
func acceptAll(l net.Listener, serve func(net.Conn)) (n int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return n
		}
		n++
		serve(c)
	}
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// TestSockets shows over real sockets that a post is NotWritten only if the
// ledger has seen nothing of it, and that none is made twice.
func TestSockets(t *testing.T) {
	t.Parallel()
	answer := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			if readRequest(c) == nil {
				_, _ = io.WriteString(c, text)
			}
			_ = c.Close()
		}
	}
	const ok = "HTTP/1.1 202 Accepted\r\nContent-Length: "
	sized := func(n int) string {
		return strconv.Itoa(n) + "\r\n\r\n" + accepted + strings.Repeat(" ", n-len(accepted))
	}
	long := sized(64<<10 + 1)
	const begin, end = "HTTP/1.1 202 Accepted\r\nX: ", "\r\n\r\n"
	headed := func(n int) string { return begin + strings.Repeat("x", n-len(begin+end)) + end + accepted }
	tests := []struct {
		name  string
		serve func(net.Conn) // nil: nobody listens
		want  ledger.Outcome
	}{
		{"nobody listens", nil, ledger.NotWritten},
		{"reset in the request", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); reset(c) }, ledger.MayBeProcessed},
		{"reset before the answer", func(c net.Conn) { _ = readRequest(c); reset(c) }, ledger.MayBeProcessed},
		{"closed before the answer", answer(""), ledger.MayBeProcessed},
		{"closed in the header", answer("HTTP/1.1 202 Accepted\r\nContent-Le"), ledger.MayBeProcessed},
		{"closed in the body", answer(ok + "300\r\n\r\n" + accepted), ledger.MayBeProcessed},
		{"not HTTP", answer("hello\r\n\r\n"), ledger.MayBeProcessed},
		{"another protocol", answer(switching), ledger.MayBeProcessed},
		{"header too long", answer("HTTP/1.1 202 Accepted\r\nX: " + strings.Repeat("x", 128<<10) + "\r\n\r\n" + accepted),
			ledger.MayBeProcessed},
		{"the longest header", answer(headed(64 << 10)), ledger.Accepted},
		{"header a byte too long", answer(headed(64<<10 + 1)), ledger.MayBeProcessed},
		{"body too long", answer(ok + long), ledger.MayBeProcessed},
		{"the longest body", answer(ok + sized(64<<10)), ledger.Accepted},
		{"the longest body, of a length not told", answer("HTTP/1.1 202 Accepted\r\n\r\n" +
			strings.TrimPrefix(sized(64<<10), "65536\r\n\r\n")), ledger.Accepted},
		{"body of a length not told, too long", answer("HTTP/1.1 202 Accepted\r\n\r\n" +
			strings.TrimPrefix(long, "65537\r\n\r\n")), ledger.MayBeProcessed},
		{"429, closed in the body", answer("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\n{"),
			ledger.NotProcessed},
		{"404, body too long", answer("HTTP/1.1 404 Not Found\r\nContent-Length: " + long), ledger.Held},
		{"whole", answer("HTTP/1.1 202 Accepted\r\n\r\n" + accepted), ledger.Accepted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", redistest.FreeAddr(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan int, 1)
			if tt.serve == nil {
				_ = listener.Close()
				served <- 1
			} else {
				go func() { served <- acceptAll(listener, tt.serve) }()
			}
			l := newLedger(t, ledger.Sawtooth, "http://"+listener.Addr().String(), ledger.Options{})
			if got := l.Submit(t.Context(), []byte("batch"), anID); got.Outcome != tt.want || got.Wait != 0 {
				t.Errorf("%+v, want %v", got, tt.want)
			}
			_ = listener.Close()
			if n := <-served; n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestMalformedEcho has a ledger repeat the secret in what is no HTTP.
func TestMalformedEcho(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{aSecret + "\r\n\r\n", "HTTP/1.1 202 Accepted\r\nX: \v" + aSecret + "\r\n\r\n"} {
		l := newLedger(t, ledger.Sawtooth, "http://ledger", ledger.Options{
			Authorization: func() ledger.Secret { return aSecret },
			Dial:          func(ctx context.Context, _, _ string) (net.Conn, error) { return pipe(answer)(ctx) },
		})
		got := l.Submit(t.Context(), nil, anID)
		if got.Outcome != ledger.MayBeProcessed || strings.Contains(got.Message, "SECRETS") ||
			!strings.Contains(got.Message, "[secret]") {
			t.Errorf("%+v", got)
		}
	}
}

// TestTLS shows that a ledger whose certificate is not trusted gets nothing.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the ledger got a request")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	l := newLedger(t, ledger.Splinter, server.URL, ledger.Options{})
	got := l.Submit(t.Context(), []byte("batch"), anID)
	if got.Outcome != ledger.NotWritten || !strings.Contains(got.Message, "x509") {
		t.Errorf("%+v", got)
	}
}

// never connects to nothing.
func never(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// pipe connects to a ledger that reads the request, answers and goes silent.
func pipe(answer string) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if readRequest(theirs) == nil {
				_, _ = io.WriteString(theirs, answer)
				_, _ = io.Copy(io.Discard, theirs)
			}
		}()
		return ours, nil
	}
}

// TestTime shows what posts do that take too long, over pipes in simulated time.
func TestTime(t *testing.T) {
	t.Parallel()
	const half = "HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\n{"
	tests := []struct {
		name    string
		dial    func(context.Context) (net.Conn, error)
		timeout time.Duration
		cancel  time.Duration // of the caller; 0: never
		want    ledger.Outcome
		after   time.Duration
	}{
		{"no connection", never, 0, 0, ledger.NotWritten, 7500 * time.Millisecond},
		{"no connection, caller stops", never, 0, time.Second, ledger.NotWritten, time.Second},
		{"no answer", pipe(""), 0, 0, ledger.MayBeProcessed, 15 * time.Second},
		{"no answer, patient", pipe(""), time.Minute, 0, ledger.MayBeProcessed, time.Minute},
		{"no answer, caller stops", pipe(""), 0, time.Second, ledger.MayBeProcessed, time.Second},
		{"half an answer", pipe(half), 0, 0, ledger.MayBeProcessed, 15 * time.Second},
		{"another protocol", pipe(switching), 0, 0, ledger.MayBeProcessed, 0},
		{"no time at all", never, 1, 0, ledger.NotWritten, 0},
		{"an answer, and no end of the connection", pipe("HTTP/1.1 202 Accepted\r\nContent-Length: " +
			strconv.Itoa(len(accepted)) + "\r\n\r\n" + accepted), 0, 0, ledger.Accepted, 0},
		{"an answer too long, and no end of it", pipe("HTTP/1.1 202 Accepted\r\n\r\n" +
			strings.Repeat(" ", 64<<10+1)), 0, 0, ledger.MayBeProcessed, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLedger(t, ledger.Sawtooth, "http://ledger", ledger.Options{
					Timeout: tt.timeout,
					Dial:    func(ctx context.Context, _, _ string) (net.Conn, error) { return tt.dial(ctx) },
				})
				ctx := t.Context()
				if tt.cancel > 0 {
					c, cancel := context.WithTimeout(ctx, tt.cancel)
					defer cancel()
					ctx = c
				}
				start := time.Now()
				if got := l.Submit(ctx, []byte("batch"), anID); got.Outcome != tt.want {
					t.Errorf("%+v, want %v", got, tt.want)
				}
				if d := time.Since(start); d != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
			})
		})
	}
}

// TestTimeOfStatuses: questions that are not answered take no longer all together than a
// few of them, and one that nobody can be asked is the last.
func TestTimeOfStatuses(t *testing.T) {
	t.Parallel()
	ids := idsOf(0, 60*20)
	for _, tt := range []struct {
		name   string
		silent int // so many of the first ids are in questions that get no answer; -1: nobody is there
		cancel time.Duration
		asked  int
		known  int
		after  time.Duration
	}{
		{"all answered", 0, 0, 20, 1200, 0},
		{"one silent", 60, 0, 20, 1140, 15 * time.Second},
		{"three silent", 180, 0, 20, 1020, 45 * time.Second},
		{"all silent", 1200, 0, 4, 0, time.Minute},
		{"all silent, caller stops", 1200, 20 * time.Second, 2, 0, 20 * time.Second},
		{"nobody there", -1, 0, 1, 0, 7500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				l := newLedger(t, ledger.Splinter, "http://ledger", ledger.Options{
					Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
						if asked++; tt.silent < 0 {
							return never(ctx)
						}
						ours, theirs := net.Pipe()
						go answerPending(theirs, ids[tt.silent:])
						return ours, nil
					},
				})
				ctx := t.Context()
				if tt.cancel > 0 {
					c, cancel := context.WithTimeout(ctx, tt.cancel)
					defer cancel()
					ctx = c
				}
				start := time.Now()
				got, err := l.Statuses(ctx, ids)
				if asked != tt.asked || len(got) != tt.known || (err == nil) != (tt.silent == 0) {
					t.Errorf("%d questions, %d statuses: %v", asked, len(got), err)
				}
				if d := time.Since(start); d != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
			})
		})
	}
}

// answerPending answers one question about ids that it knows, and is silent about others.
func answerPending(c net.Conn, known []string) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	if asked := strings.Split(r.URL.Query().Get("ids"), ","); slices.Contains(known, asked[0]) {
		text := pendingAll(asked)
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
	_, _ = io.Copy(io.Discard, c)
}

// A watched is a context that knows what hangs on it.
type watched struct {
	context.Context
	done    chan struct{}
	hanging atomic.Int32
}

func (w *watched) Done() <-chan struct{} { return w.done }

// AfterFunc is how package context hangs one context on a foreign one.
func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.hanging.Add(1)
	return func() bool { w.hanging.Add(-1); return true }
}

// TestLeaves shows that a call leaves nothing with the context of its caller, which
// may live as long as the process.
func TestLeaves(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"hello\r\n\r\n", switching, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
	} {
		ctx := &watched{Context: t.Context(), done: make(chan struct{})}
		var hung int32
		l := newLedger(t, ledger.Sawtooth, "http://ledger", ledger.Options{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				hung = ctx.hanging.Load()
				return pipe(answer)(ctx)
			},
		})
		_ = l.Submit(ctx, nil, anID)
		if left := ctx.hanging.Load(); hung == 0 || left != 0 {
			t.Errorf("%q: %d hung on the context, %d were left", answer, hung, left)
		}
	}
}

// TestGivenUp has the caller give up just when the connection is there, which is
// closed nevertheless. Whether the request was begun by then is a matter of luck.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for range 32 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ours, theirs := net.Pipe()
			l := newLedger(t, ledger.Sawtooth, "http://ledger", ledger.Options{
				Dial: func(context.Context, string, string) (net.Conn, error) {
					cancel()
					return ours, nil
				},
			})
			if got := l.Submit(ctx, []byte("batch"), anID); got.Outcome == ledger.Accepted || got.Code != "" {
				t.Errorf("%+v", got)
			}
			_, _ = io.Copy(io.Discard, theirs) // until it is closed
		})
	}
}
