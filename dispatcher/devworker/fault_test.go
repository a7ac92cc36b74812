package devworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
)

// Every fault as the sequencer sees it, and what was sent all the same.
func TestFaults(t *testing.T) {
	t.Parallel()
	const refused = `{"statusCode":200,"statusText":"Couldn't send zkApp command: [\"Overloaded\"]"}`
	type f = devworker.Fault
	tests := []struct {
		name          string
		fault         f
		prove, legacy string
		sent          int32
	}{
		{"hang", f{Kind: "hang"}, "lost", "lost", 0},
		{"hang after", f{Kind: "hang", After: true}, "lost", "lost", 1},
		{"hang for a while", f{Kind: "hang", Wait: 59 * time.Second}, "ok", "ok", 1},
		{"hang too long", f{Kind: "hang", Wait: 61 * time.Second}, "lost", "lost", 0},
		{"cut", f{Kind: "cut"}, "lost", "lost", 0},
		{"cut after", f{Kind: "cut", After: true}, "lost", "lost", 1},
		{"die", f{Kind: "die"}, "lost", "lost", 0},
		{"die after", f{Kind: "die", After: true}, "lost", "lost", 1},
		{"busy", f{Kind: "busy"}, "worker busy", "worker busy", 0},
		{"busy for", f{Kind: "busy", Wait: 2500 * time.Millisecond}, "worker busy for 3s", "worker busy for 3s", 0},
		{"unresolvable", f{Kind: "error", Code: "500"}, "unresolvable 500, nothing sent", "unresolvable 500, nothing sent", 0},
		{"unresolvable after", f{Kind: "error", Code: "500", Status: 500, After: true}, "unresolvable 500, nothing sent", "unresolvable 500", 1},
		{"unavailable", f{Kind: "error", Code: "502"}, "unavailable 502, nothing sent", "unavailable 502, nothing sent", 0},
		{"not proved", f{Kind: "error", Code: "20202"}, "retryable 20202, nothing sent", "retryable 20202, nothing sent", 0},
		{"refused", f{Kind: "error", Code: "20203", Exception: refused}, "retryable 20203, nothing sent", "retryable 20203, nothing sent", 0},
		{"not sent", f{Kind: "error", Code: "20203", After: true}, "retryable 20203, nothing sent", "retryable 20203", 1},
		{"HTTP 500", f{Kind: "answer", Status: 500}, "lost", "lost", 0},
		{"HTTP 404", f{Kind: "answer", Status: 404}, "legacy", "retryable 404", 0},
		{"garbage", f{Kind: "answer", Body: "<html>", After: true}, "lost", "lost", 1},
		{"long", f{Kind: "long"}, "lost", "lost", 0},
		{"done", f{Kind: "answer", Body: `{"done":{"x":1}}`}, "ok", "ok", 0},
		{"wrong hash", f{Kind: "wrong", Field: devworker.WrongHash}, "ok", "ok", 1},
		{"other type", f{Kind: "cut", Type: "OTHER"}, "ok", "ok", 1},
		{"other transaction", f{Kind: "cut", UID: "u2"}, "ok", "ok", 1},
		{"other call", f{Kind: "cut", On: devworker.Health}, "ok", "ok", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, devworker.Options{})
				b.Fail(tt.fault)
				if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != tt.prove {
					t.Errorf("prove: %s, want %s", got, tt.prove)
				}
				var sent atomic.Int32
				b = setup(t, devworker.Options{Legacy: true, Send: func(context.Context, json.RawMessage) (string, error) {
					sent.Add(1)
					return "", nil
				}})
				b.Fail(tt.fault)
				if got := summary(b.remote.Dispatch(t.Context(), b.at, call(1, 0, 1))); got != tt.legacy {
					t.Errorf("dispatch: %s, want %s", got, tt.legacy)
				}
				if n := sent.Load(); n != tt.sent {
					t.Errorf("sent %d times, want %d", n, tt.sent)
				}
			})
		})
	}
}

func TestWrongCommands(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	c := call(1, 0, 1)
	for _, field := range []string{
		devworker.WrongPayer, devworker.WrongNonce, devworker.WrongFee, devworker.WrongValidUntil,
		devworker.WrongMemo, devworker.NoUpdates, devworker.SecondNonce,
	} {
		b.Fail(devworker.Fault{Kind: devworker.Wrong, Field: field})
		r, err := b.remote.Prove(t.Context(), b.at, c)
		if err != nil {
			t.Errorf("%s: %v", field, err)
		}
		if err := dispatcher.CheckSigned(r.Signed, b.at.AccountID, c.Attempt, mina.DecodeMemo); !errors.Is(err, dispatcher.ErrMismatch) {
			t.Errorf("%s: %v", field, err)
		}
		c.Attempt.Number++
	}
	b.Fail(devworker.Fault{Kind: devworker.Wrong, Field: devworker.WrongHash})
	other, err := b.remote.Prove(t.Context(), b.at, c)
	c.Attempt.Number++
	if right := b.prove(t, c); err != nil || other.Hash == right.Hash || !mina.ValidHash(other.Hash) {
		t.Errorf("hash %q, %v", other.Hash, err)
	}
}

func TestKeptAfterLostAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	b.Fail(devworker.Fault{On: devworker.Prove, Kind: devworker.Cut, After: true, Times: 2})
	for range 2 {
		if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != "lost" {
			t.Errorf("spoiled: %s", got)
		}
	}
	b.prove(t, call(1, 0, 1))
	if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 2))); got != "conflict ATTEMPT_CONFLICT, nothing sent" {
		t.Errorf("another attempt: %s", got)
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	b.Script(func(c devworker.Call) *devworker.Fault {
		if c.Kind == devworker.Prove && c.UID == "u1" && c.Queue == "q" && c.Attempt == 2 {
			return &devworker.Fault{Kind: devworker.Error, Code: "500"}
		}
		return nil
	})
	b.prove(t, call(1, 0, 1))
	if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 0, 1))); got != "unresolvable 500, nothing sent" {
		t.Errorf("scripted: %s", got)
	}
	b.Fail(devworker.Fault{Kind: devworker.Busy})
	if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 0, 1))); got != "worker busy" {
		t.Errorf("fault before script: %s", got)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, devworker.Options{})
		b.Fail(devworker.Fault{Kind: devworker.Hang, Times: -1})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { b.prove(t, call(i+1, 0, 1)) })
		}
		synctest.Wait()
		if code := post(t, b, "/control/release", ""); code != http.StatusOK {
			t.Errorf("HTTP %d", code)
		}
		wg.Wait()
	})
}

func TestDeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exits := 0
		b := setup(t, devworker.Options{ProveTime: 10 * time.Second, Exit: func() { exits++ }})
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != "lost" {
				t.Errorf("a call at the time of death: %s", got)
			}
		})
		synctest.Wait()
		start := time.Now()
		b.Fail(devworker.Fault{Kind: devworker.Die})
		if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 0, 1))); got != "lost" {
			t.Errorf("deadly: %s", got)
		}
		wg.Wait()
		if time.Since(start) != 0 || exits != 1 {
			t.Errorf("died after %v, %d exits", time.Since(start), exits)
		}
		if _, err := b.client.Health(t.Context(), b.at); summary(dispatcher.Result{}, err) != "lost" {
			t.Errorf("the dead answer: %v", err)
		}
		b.Restart()
		b.prove(t, call(1, 0, 1))
	})
}

func TestControl(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	for _, body := range []string{
		``, `{}`, `{"kind":"none"}`, `{"kind":"cut","on":"none"}`, `{"kind":"wrong"}`, `{"kind":"cut","wait":"1"}`,
		`{"kind":"cut","wait":"-1s"}`, `{"kind":"answer","status":1000}`, `{"kind":"cut","more":1}`,
	} {
		if code := post(t, b, "/control/fault", body); code != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", body, code)
		}
	}
	b.prove(t, call(1, 0, 1))
	if code := post(t, b, "/control/fault", `{"on":"prove","kind":"busy","times":2,"type":"MINT","wait":"5s"}`); code != http.StatusNoContent {
		t.Errorf("HTTP %d", code)
	}
	for range 2 {
		if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 0, 1))); got != "worker busy for 5s" {
			t.Errorf("spoiled: %s", got)
		}
	}
	b.prove(t, call(2, 0, 1))
	defer func() {
		if recover() == nil {
			t.Error("Fail takes what is no fault")
		}
	}()
	b.Fail(devworker.Fault{Kind: "none"})
}
