package dispatcher_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues/redistest"
)

// kind is the class of a call's error.
func kind(err error) string {
	if _, ok := errors.AsType[*dispatcher.UnreachedError](err); ok {
		return "unreached"
	}
	if _, ok := errors.AsType[*dispatcher.LostError](err); ok {
		return "lost"
	}
	if err != nil {
		return err.Error()
	}
	return "answered"
}

// readRequest reads one request to its end.
func readRequest(c net.Conn) error {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// TestSockets shows over real sockets that a call is unreached only if the
// worker has seen nothing of it, and that none is made twice.
func TestSockets(t *testing.T) {
	t.Parallel()
	reset := func(c net.Conn) {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	answer := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			if readRequest(c) == nil {
				_, _ = io.WriteString(c, text)
			}
			_ = c.Close()
		}
	}
	tests := []struct {
		name  string
		serve func(net.Conn) // nil: nobody listens
		want  string
	}{
		{"nobody listens", nil, "unreached"},
		{"reset before the answer", func(c net.Conn) { _ = readRequest(c); reset(c) }, "lost"},
		{"closed before the answer", answer(""), "lost"},
		{"closed in the header", answer("HTTP/1.1 200 OK\r\nContent-Le"), "lost"},
		{"closed in the body", answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"hash\":\"5J\"}"), "lost"},
		{"closed in a chunk", answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{\"hash\":\"5J\"}\r\n"), "lost"},
		{"not HTTP", answer("hello\r\n\r\n"), "lost"},
		{"whole", answer("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"hash\":\"5J\"}"), "answered"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", redistest.FreeAddr(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan int, 1)
			if tt.serve == nil {
				_ = l.Close()
				served <- 1
			} else {
				go func() {
					n := 0
					for {
						c, err := l.Accept()
						if err != nil {
							served <- n
							return
						}
						n++
						tt.serve(c)
					}
				}()
			}
			remote := dispatcher.NewRemote(dispatcher.NewClient(dispatcher.ClientOptions{}), "MINT", nil)
			_, err = remote.Dispatch(t.Context(), dispatcher.Worker{URL: "http://" + l.Addr().String()}, newCall())
			if got := kind(err); got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
			_ = l.Close()
			if n := <-served; n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestTime shows what calls do that take too long, over pipes in simulated time.
func TestTime(t *testing.T) {
	t.Parallel()
	never := func(ctx context.Context) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	// pipe connects to a worker that reads the request and then does serve.
	pipe := func(serve func(net.Conn)) func(context.Context) (net.Conn, error) {
		return func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				if readRequest(theirs) == nil {
					serve(theirs)
				}
			}()
			return ours, nil
		}
	}
	slow := func(wait time.Duration, dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
		return func(ctx context.Context) (net.Conn, error) {
			select {
			case <-time.After(wait):
				return dial(ctx)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	mute := func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
	silent := pipe(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	tests := []struct {
		name   string
		dial   func(context.Context) (net.Conn, error)
		cancel time.Duration // of the caller; 0: never
		call   func(context.Context, *dispatcher.Remote) error
		want   string
		after  time.Duration
	}{
		{"dispatch, no connection", never, 0, dispatch, "unreached", 10 * time.Second},
		{"dispatch, no answer", silent, 0, dispatch, "lost", 5 * time.Minute},
		{"dispatch, half an answer", pipe(func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
			_, _ = io.Copy(io.Discard, c)
		}), 0, dispatch, "lost", 5 * time.Minute},
		{"dispatch, no answer, caller stops", silent, time.Second, dispatch, "lost", time.Second},
		{"dispatch, no connection, caller stops", never, time.Second, dispatch, "unreached", time.Second},
		{"dispatch, late answer", pipe(func(c net.Conn) {
			<-time.After(4 * time.Minute) // the worker proves
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"hash\":\"5J\"}")
		}), 0, dispatch, "answered", 4 * time.Minute},
		{"prove, no connection", never, 0, func(ctx context.Context, r *dispatcher.Remote) error {
			_, err := r.Prove(ctx, dispatcher.Worker{URL: "http://w"}, newCall())
			return err
		}, "unreached", 10 * time.Second},
		{"dispatch, a slow connection that never speaks TLS", slow(6*time.Second, mute), 0, func(ctx context.Context, r *dispatcher.Remote) error {
			_, err := r.Dispatch(ctx, dispatcher.Worker{URL: "https://w"}, newCall())
			return err
		}, "unreached", 10 * time.Second},
		{"report, no answer", silent, 0, func(ctx context.Context, r *dispatcher.Remote) error {
			_, err := r.Report(ctx, dispatcher.Worker{URL: "http://w"}, true, dispatcher.Outcome{})
			return err
		}, "lost", 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := dispatcher.NewClient(dispatcher.ClientOptions{
					Timeout: 5 * time.Minute,
					Dial:    func(ctx context.Context, _, _ string) (net.Conn, error) { return tt.dial(ctx) },
				})
				ctx := t.Context()
				if tt.cancel > 0 {
					c, cancel := context.WithTimeout(ctx, tt.cancel)
					defer cancel()
					ctx = c
				}
				start := time.Now()
				err := tt.call(ctx, dispatcher.NewRemote(client, "MINT", nil))
				if got := kind(err); got != tt.want {
					t.Errorf("got %s (%v), want %s", got, err, tt.want)
				}
				if tt.want != "answered" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v does not say why", err)
				}
				if d := time.Since(start); d != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
			})
		})
	}
}

func dispatch(ctx context.Context, r *dispatcher.Remote) error {
	_, err := r.Dispatch(ctx, dispatcher.Worker{URL: "http://w"}, newCall())
	return err
}

// TestStandardTimeout: a call has ten minutes where nothing else is said.
func TestStandardTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		client := dispatcher.NewClient(dispatcher.ClientOptions{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.Copy(io.Discard, theirs)
				close(closed)
			}()
			return ours, nil
		}})
		start := time.Now()
		err := dispatch(t.Context(), dispatcher.NewRemote(client, "MINT", nil))
		if d := time.Since(start); kind(err) != "lost" || d != 10*time.Minute {
			t.Errorf("%v after %v", err, d)
		}
		<-closed // its connection does not stay
	})
}
