//go:build unix

package processes

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

// drained: the first signal lets running work end and gives up the claims, so
// that the next process need not wait for them to run out; a second signal ends
// the process at once.
func drained(t *testing.T, bin binaries) {
	// Claims outlive the test: only what was given up is taken over.
	r := newRig(t, bin, "drained", map[string]string{"SEQUENCER_CLAIM_TTL": "5m", "SEQUENCER_DISPATCH_TIMEOUT": "1m"})
	for n := range uint64(3) {
		r.worker(n + 1)
	}
	busy := func(s *serving, name string) {
		t.Helper()
		for i := range 6 {
			r.post(s, fmt.Sprintf("q%d", i%3), fmt.Sprintf("%s-%d", name, i))
		}
		r.eventually(patience, "worker 1 is asked", func() bool {
			return slices.ContainsFunc(r.posted, func(p posting) bool {
				x := r.get(p.uid)
				a := x.Last()
				return x.Phase == tx.PhaseDispatching && x.Sender == devnet.Key(1) && a != nil && a.State == tx.Planned
			})
		})
	}
	for _, tc := range []struct{ name, fault, timeout string }{
		{"in time", `{"on":"prove","kind":"hang","wait":"1s"}`, "30s"},
		{"out of time", `{"on":"prove","kind":"hang"}`, "1s"},
	} {
		r.fault(1, tc.fault)
		s := r.serve(tc.name, map[string]string{"SEQUENCER_SHUTDOWN_TIMEOUT": tc.timeout})
		busy(s, strings.ReplaceAll(tc.name, " ", "-"))
		s.signal(syscall.SIGTERM)
		if code := r.exitCodeOf(s.program); code != command.ExitOK {
			t.Errorf("%s: drained with exit code %d", tc.name, code)
		}
		if waiting := slices.ContainsFunc(r.posted, func(p posting) bool { return r.get(p.uid).State() != tx.Done }); !waiting {
			t.Errorf("%s: nothing is left to be resumed", tc.name)
		}
		if r.call(http.MethodPost, r.urls[1]+"/control/release", "", nil) >= 300 {
			t.Error("the worker is not released")
		}
		next := r.serve("after "+tc.name, nil)
		r.allDone()
		next.signal(syscall.SIGTERM)
		if code := r.exitCodeOf(next.program); code != command.ExitOK {
			t.Errorf("after %s: drained with exit code %d", tc.name, code)
		}
	}

	r.fault(1, `{"on":"prove","kind":"hang"}`)
	s := r.serve("hurried", map[string]string{"SEQUENCER_SHUTDOWN_TIMEOUT": "5m"})
	busy(s, "hurried")
	s.signal(syscall.SIGTERM)
	r.eventually(patience, "the process drains", func() bool { return reach(r.Context(), s.api+"/senders") != nil })
	select {
	case <-s.ended:
		t.Error("the process did not wait for its worker")
	default:
	}
	s.signal(syscall.SIGTERM)
	if code := r.exitCodeOf(s.program); code != command.ExitInterrupted {
		t.Errorf("ended by a second signal with exit code %d", code)
	}
}

// reach asks for url and heeds no answer; it fails where nobody answers.
func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
