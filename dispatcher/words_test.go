package dispatcher_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
)

// TestOwnWords: what a worker or a gateway says is kept whatever shape it has, on one line and
// within bounds.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status     int
		body, want string
	}{
		"Express":  {500, "<!DOCTYPE html>\n<html><head><style>pre{}</style></head><body><pre>Error: no key &quot;x&quot;</pre></body></html>", `HTTP 500 Internal Server Error: Error: no key "x"`},
		"Nest":     {500, `{"statusCode":500,"message":"the indexer is away"}`, "Internal Server Error: the indexer is away"},
		"a text":   {400, `{"error":"plan not found"}`, "HTTP 400 Bad Request: plan not found"},
		"a list":   {422, `{"message":["a must be","b must be"]}`, `Unprocessable Entity: ["a must be","b must be"]`},
		"plain":    {504, "upstream\n  timed out", "HTTP 504 Gateway Timeout: upstream timed out"},
		"nothing":  {502, "", "HTTP 502 Bad Gateway"},
		"too long": {500, strings.Repeat("x", 10_000), strings.Repeat("x", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &worker{status: test.status, body: test.body}
			at, remote := w.start(t, dispatcher.ClientOptions{})
			_, err := remote.Prove(t.Context(), at, dispatcher.Call{})
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAtWork: a worker that is at work on an attempt is asked again, after a pause.
func TestAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := dispatcher.NewClient(dispatcher.ClientOptions{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
					_, _ = io.WriteString(theirs, "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 25\r\n\r\n"+`{"working":{"since":"x"}}`)
				}
				_ = theirs.Close()
			}()
			return ours, nil
		}})
		began := time.Now()
		_, err := dispatcher.NewRemote(client, "MINT", nil).Prove(t.Context(), dispatcher.Worker{URL: "http://w"}, newCall())
		if _, working := errors.AsType[*dispatcher.WorkingError](err); !working || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
