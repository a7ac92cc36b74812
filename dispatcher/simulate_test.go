package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mina-sequencer/dispatcher"
)

// TestSimulate: an answer is believed as far as a command of Mina could be so, and what a worker
// does not take on, does not know or gets wrong is told apart.
func TestSimulate(t *testing.T) {
	t.Parallel()
	const token = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"
	touched := `{"publicKey":"` + key + `","tokenId":"` + token + `","creates":true}`
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"it would do", 200, `{"ok":true,"failure":null,"weight":2,"touched":[` + touched + `],"seconds":21.5}`,
			"ok, weight 2, 1 touched, 21.5 s"},
		{"it is done without a block", 200, `{"ok":true,"failure":null,"weight":0,"touched":[],"seconds":null}`,
			"ok, weight 0, 0 touched, 0 s"},
		{"it would fail", 200, `{"ok":false,"failure":{"index":2,"code":"Overflow","message":"m"},"weight":3}`,
			"Overflow of 2: m, weight 3, 0 touched, 0 s"},
		{"it comes to no account update", 200, `{"ok":false,"failure":{"index":null,"code":"500","message":"m"}}`,
			"500 of -1: m, weight 0, 0 touched, 0 s"},
		{"ok with a failure", 200, `{"ok":true,"failure":{"code":"a","message":"m"}}`, "lost"},
		{"neither", 200, `{"ok":false}`, "lost"},
		{"no word", 200, `{}`, "lost"},
		{"no object", 200, `[]`, "lost"},
		{"a failure without a name", 200, `{"ok":false,"failure":{"message":"m"}}`, "lost"},
		{"too heavy", 200, `{"ok":true,"weight":129}`, "lost"},
		{"weightless", 200, `{"ok":true,"weight":-1}`, "lost"},
		{"too long", 200, `{"ok":true,"seconds":1e9}`, "lost"},
		{"an account that is none", 200, `{"ok":true,"touched":[{"publicKey":"<b>","tokenId":"` + token + `"}]}`, "lost"},
		{"too many accounts", 200, `{"ok":true,"touched":[` + strings.Repeat(touched+",", 128) + touched + `]}`, "lost"},
		{"too large", 200, `{"ok":true,"x":"` + strings.Repeat("x", 64<<10) + `"}`, "lost"},
		{"its node is away", 200, `{"error":{"code":"502","message":"no node"}}`, "unavailable 502: no node"},
		{"busy", 503, ``, "busy"},
		{"no such call", 404, ``, "legacy"},
		{"refused", 400, `{"message":"no"}`, "retryable 400: the worker answered HTTP 400 Bad Request: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &worker{status: tt.status, body: tt.body}
			at, remote := w.start(t, dispatcher.ClientOptions{})
			got, err := remote.Simulate(t.Context(), at, newCall())
			if said := simulated(got, err); said != tt.want {
				t.Errorf("%s, want %s", said, tt.want)
			}
			if w.requests[0].path != "/base/simulate/MINT" || !strings.Contains(w.requests[0].body, `"attempt":{"number":2`) {
				t.Errorf("asked %+v", w.requests[0])
			}
		})
	}
}

func simulated(s dispatcher.Simulation, err error) string {
	if failed, ok := errors.AsType[*dispatcher.WorkerError](err); ok {
		return fmt.Sprintf("%s %s: %s", failed.Kind, failed.Code, failed.Message)
	}
	if _, ok := errors.AsType[*dispatcher.BusyError](err); ok {
		return "busy"
	}
	if errors.Is(err, dispatcher.ErrLegacy) {
		return "legacy"
	}
	if err != nil {
		return kind(err)
	}
	what := "ok"
	if f := s.Failure; f != nil {
		what = fmt.Sprintf("%s of %d: %s", f.Code, f.Index, f.Message)
	}
	return fmt.Sprintf("%s, weight %d, %d touched, %v s", what, s.Weight, len(s.Touched), s.Seconds)
}

// TestSimulateEnds: a worker that does not answer holds nobody up.
func TestSimulateEnds(t *testing.T) {
	t.Parallel()
	w := &worker{status: 200}
	at, remote := w.start(t, dispatcher.ClientOptions{Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := remote.Simulate(ctx, at, newCall()); kind(err) != "unreached" {
		t.Errorf("it ended with %v", err)
	}
}
