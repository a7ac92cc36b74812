package dispatcher_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/senders"
)

// TestLocalWorkers: a worker without a URL is asked where it runs now. Where that
// is not here, or it takes no calls, nothing has left. One that runs here and
// does not answer in time is said to hang.
func TestLocalWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const url = "http://127.0.0.1:7"
		var hung []string
		client := dispatcher.NewClient(dispatcher.ClientOptions{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go answerUnlessResign(there)
				return here, nil
			},
			Local: dispatcher.LocalWorkers{
				Find: func(account string) (string, time.Duration, bool) {
					switch account {
					case "runs":
						return url, 0, true
					case "starts":
						return "", 3 * time.Second, true
					case "died":
						return "", 0, true
					case "fails":
						return "", time.Hour, true
					}
					return "", 0, false
				},
				Hung: func(account, url string) { hung = append(hung, account+" "+url) },
			},
		})
		mint := dispatcher.NewRemote(client, "MINT", nil)
		dispatch := func(account string) error {
			_, err := mint.Dispatch(t.Context(), dispatcher.Worker{AccountID: account, URL: senders.Local}, dispatcher.Call{})
			return err
		}
		if err := dispatch("runs"); err != nil {
			t.Error(err)
		}
		if busy, ok := errors.AsType[*dispatcher.BusyError](dispatch("starts")); !ok || busy.RetryAfter != 3*time.Second {
			t.Errorf("while it starts: %v", busy)
		}
		// 0 would be that it has not said when, which a legacy worker's proxy says, too.
		if busy, ok := errors.AsType[*dispatcher.BusyError](dispatch("died")); !ok || busy.RetryAfter != time.Second {
			t.Errorf("where it has just died: %v", busy)
		}
		if busy, ok := errors.AsType[*dispatcher.BusyError](dispatch("fails")); !ok || busy.RetryAfter != dispatcher.MaxRetryAfter {
			t.Errorf("while it does not start: %v", busy)
		}
		if err := dispatch("elsewhere"); kind(err) != "unreached" || !strings.Contains(err.Error(), "another process") {
			t.Errorf("with another process: %v", err)
		}
		for at, reached := range map[dispatcher.Worker]bool{
			{AccountID: "starts", URL: senders.Local}: true, {AccountID: "elsewhere", URL: senders.Local}: false,
		} {
			n, ok, err := mint.MaxRetries(t.Context(), at)
			if n != 0 || ok || err == nil || errors.Is(err, dispatcher.ErrElsewhere) == reached {
				t.Errorf("the retries of %s: %d, %v, %v", at.AccountID, n, ok, err)
			}
			if client.Reaches(at) != reached || !client.Reaches(dispatcher.Worker{AccountID: at.AccountID, URL: url}) {
				t.Errorf("whether %s is reached", at.AccountID)
			}
		}
		_, err := client.Health(t.Context(), dispatcher.Worker{AccountID: "starts", URL: senders.Local})
		if busy, ok := errors.AsType[*dispatcher.BusyError](err); !ok || busy.RetryAfter != 3*time.Second {
			t.Errorf("the health of what starts: %v", err)
		}
		none := dispatcher.NewClient(dispatcher.ClientOptions{})
		if _, err := none.Health(t.Context(), dispatcher.Worker{AccountID: "runs", URL: senders.Local}); kind(err) != "unreached" {
			t.Errorf("without workers of its own: %v", err)
		}

		for _, tc := range []struct {
			what   string
			url    string
			broken time.Duration // off by the caller after this time
			want   []string
		}{
			{"a worker with a URL", url, time.Hour, nil},
			{"a call that was broken off", senders.Local, time.Minute, nil},
			{"a call that took too long", senders.Local, time.Hour, []string{"runs " + url}},
		} {
			ctx, stop := context.WithCancel(t.Context())
			timer := time.AfterFunc(tc.broken, stop)
			_, err := mint.Resign(ctx, dispatcher.Worker{AccountID: "runs", URL: tc.url}, dispatcher.Call{}, []byte("{}"))
			if kind(err) != "lost" || !slices.Equal(hung, tc.want) {
				t.Errorf("%s: %v, said to hang: %v", tc.what, err, hung)
			}
			timer.Stop()
			stop()
		}
	})
}

// answerUnlessResign serves one connection, and says nothing to a resign.
func answerUnlessResign(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path != "/resign/MINT" {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"hash\":\"5J\"}")
		}
	}
}

// TestTokens: a worker of this process is shown the token that it was started with by every
// call, whatever others are shown by then.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := &worker{status: 200, body: `{"hash":"5J","signed":"{}"}`}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	client := dispatcher.NewClient(dispatcher.ClientOptions{Token: "first", Local: dispatcher.LocalWorkers{
		Find:  func(string) (string, time.Duration, bool) { return server.URL, 0, true },
		Token: "first",
	}})
	client.SetToken(" next\n")
	mint := dispatcher.NewRemote(client, "MINT", nil)
	for url, want := range map[string]string{senders.Local: "Bearer first", server.URL: "Bearer next"} {
		at := dispatcher.Worker{AccountID: key, URL: url}
		for name, call := range map[string]func() error{
			"prove":    func() error { _, err := mint.Prove(t.Context(), at, newCall()); return err },
			"resign":   func() error { _, err := mint.Resign(t.Context(), at, newCall(), []byte("{}")); return err },
			"dispatch": func() error { _, err := mint.Dispatch(t.Context(), at, newCall()); return err },
			"report":   func() error { _, err := mint.Report(t.Context(), at, true, dispatcher.Outcome{}); return err },
			"health":   func() error { _, err := client.Health(t.Context(), at); return err },
			"retries":  func() error { _, _, err := mint.MaxRetries(t.Context(), at); return err },
		} {
			if err := call(); err != nil {
				t.Errorf("%s at %q: %v", name, url, err)
			}
			if got := w.requests[len(w.requests)-1].header.Get("Authorization"); got != want {
				t.Errorf("%s at %q is shown %q, want %q", name, url, got, want)
			}
		}
	}
	if len(w.requests) != 12 {
		t.Errorf("%d requests", len(w.requests))
	}
}
