package devworker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

func TestProve(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	signed := b.prove(t, call(1, 0, 100_000_000))
	if hash, err := b.node.Send(t.Context(), signed.Signed); err != nil || hash != signed.Hash {
		t.Errorf("sent with hash %q, %v; want %q", hash, err, signed.Hash)
	}
	effects := b.chain.Effects()
	if len(effects) != 1 || !effects[0].OK || effects[0].Hash != signed.Hash || effects[0].Memo != "memo of u1" {
		t.Errorf("effects %+v", effects)
	}
	unlimited := call(2, 1, 1)
	unlimited.Attempt.ValidUntil = 0
	b.prove(t, unlimited)
}

func TestRepeatedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	first := b.prove(t, call(1, 0, 5))
	if again := b.prove(t, call(1, 0, 5)); !cmp.Equal(first, again) {
		t.Error("an equal attempt got another result")
	}
	for name, change := range map[string]func(*dispatcher.Attempt){
		"nonce":      func(a *dispatcher.Attempt) { a.Nonce++ },
		"fee":        func(a *dispatcher.Attempt) { a.Fee++ },
		"validUntil": func(a *dispatcher.Attempt) { a.ValidUntil = 0 },
		"memo":       func(a *dispatcher.Attempt) { a.Memo = "m" },
		"previous":   func(a *dispatcher.Attempt) { a.Previous = nil },
		"base":       func(a *dispatcher.Attempt) { a.Base = "b" },
	} {
		c := call(1, 0, 5)
		change(&c.Attempt)
		if got := summary(b.remote.Prove(t.Context(), b.at, c)); got != "conflict ATTEMPT_CONFLICT, nothing sent" {
			t.Errorf("another %s: %s", name, got)
		}
	}
	other := call(1, 0, 5)
	other.UID = "u2"
	if r := b.prove(t, other); r.Hash == first.Hash {
		t.Error("two transactions have one proof")
	}
	b.Restart()
	r := b.prove(t, call(1, 0, 5))
	if bytes.Equal(r.Signed, first.Signed) {
		t.Error("the result outlived the worker")
	}
	if r.Hash != first.Hash {
		t.Error("proved again it has another hash, which covers no proofs")
	}
}

func TestResign(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	first := b.prove(t, call(1, 0, 5))
	c := call(2, 0, 8)
	second, err := b.remote.Resign(t.Context(), b.at, c, first.Signed)
	if err != nil {
		t.Fatal(err)
	}
	b.checkSigned(t, second, c)
	if updatesOf(t, first.Signed) != updatesOf(t, second.Signed) {
		t.Error("the proof is another one")
	}
	if fresh := b.prove(t, call(3, 0, 8)); updatesOf(t, fresh.Signed) == updatesOf(t, first.Signed) {
		t.Error("two proofs are equal")
	}
	if got := summary(b.remote.Resign(t.Context(), b.at, call(4, 0, 8), []byte(`{}`))); got != "retryable 20201, nothing sent" {
		t.Errorf("signing nothing again: %s", got)
	}
	b = setup(t, devworker.Options{NoResign: true})
	first = b.prove(t, call(1, 0, 5))
	if got := summary(b.remote.Resign(t.Context(), b.at, c, first.Signed)); got != "legacy" {
		t.Errorf("a worker that cannot: %s", got)
	}
}

func TestLegacy(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{Legacy: true})
	if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 100_000_000))); got != "legacy" {
		t.Errorf("prove: %s", got)
	}
	if got := summary(b.remote.Resign(t.Context(), b.at, call(1, 0, 100_000_000), []byte(`{}`))); got != "legacy" {
		t.Errorf("resign: %s", got)
	}
	r, err := b.remote.Dispatch(t.Context(), b.at, call(1, 0, 100_000_000))
	if err != nil || r.Done != nil || r.Signed != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	effects := b.chain.Effects()
	if len(effects) != 1 || effects[0].Hash != r.Hash || effects[0].Memo != "" || effects[0].ValidUntil != 1<<32-1 || effects[0].Fee != 100_000_000 {
		t.Errorf("effects %+v", effects)
	}
	_, err = b.remote.Dispatch(t.Context(), b.at, call(1, 0, 100_000_000))
	if got := summary(r, err); got != "retryable 20203, nothing sent" {
		t.Errorf("a spent nonce: %s", got)
	}
	const want = "Transaction failed with errors:\n- " + `{"statusCode":200,"statusText":"Couldn't send zkApp command: [\"Invalid_nonce\"]"}`
	if e, _ := errors.AsType[*dispatcher.WorkerError](err); e == nil || e.Exception != want {
		t.Errorf("%+v, want exception %s", e, want)
	}
	b.Fail(devworker.Fault{Kind: devworker.Busy})
	if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 1, 1))); got != "legacy" {
		t.Errorf("a fault that is not for prove: %s", got)
	}
	if got := summary(b.remote.Dispatch(t.Context(), b.at, call(2, 1, 1))); got != "worker busy" {
		t.Errorf("a fault for dispatch: %s", got)
	}
	two := setup(t, devworker.Options{})
	if got := summary(two.remote.Dispatch(t.Context(), two.at, call(1, 0, 1))); got != "retryable 404" {
		t.Errorf("dispatch of a two-phase worker: %s", got)
	}
}

func TestLegacySends(t *testing.T) {
	t.Parallel()
	transport := func(text string) error { return &mina.Error{Class: mina.Transport, Message: text} }
	tests := []struct {
		name      string
		err       error
		sends     int
		want      string
		exception string
	}{
		{"broken connection", errors.New("reset"), 3, "retryable 20203", `{"statusCode":500,"statusText":"Unknown error: reset"}`},
		{"no answer", transport("EOF"), 3, "retryable 20203", `{"statusCode":500,"statusText":"Unknown error: EOF"}`},
		{"proxy", transport("HTTP status 502 Bad Gateway"), 1, "retryable 20203", `{"statusCode":502,"statusText":"Bad Gateway"}`},
		{"duplicate", mina.ClassifySend(`Couldn't send zkApp command: ["Duplicate"]`), 1, "retryable 20203", `{"statusCode":200,"statusText":"Couldn't send zkApp command: [\"Duplicate\"]"}`},
		{"fee", mina.ClassifySend(`Couldn't send zkApp command: <Insufficient fee>`), 1, "retryable 20203, nothing sent", `{"statusCode":200,"statusText":"Couldn't send zkApp command: <Insufficient fee>"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent []string
				b := setup(t, devworker.Options{Legacy: true, Send: func(_ context.Context, command json.RawMessage) (string, error) {
					sent = append(sent, string(command))
					return "", tt.err
				}})
				r, err := b.remote.Dispatch(t.Context(), b.at, call(1, 0, 1))
				if got := summary(r, err); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				e, _ := errors.AsType[*dispatcher.WorkerError](err)
				if e == nil || e.Exception != "Transaction failed with errors:\n- "+tt.exception {
					t.Errorf("%+v, want exception %s", e, tt.exception)
				}
				if len(sent) != tt.sends {
					t.Errorf("sent %d times, want %d", len(sent), tt.sends)
				}
				for _, s := range sent {
					if s != sent[0] {
						t.Error("sent other bytes")
					}
				}
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{Types: []string{"OTHER"}})
	if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != "retryable 404, nothing sent" {
		t.Errorf("a type it does not make: %s", got)
	}
	b.at.AccountID = devnet.Key(2)
	if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != "unavailable 502, nothing sent" {
		t.Errorf("another account: %s", got)
	}
	b = setup(t, devworker.Options{Token: "secret"})
	b.prove(t, call(1, 0, 1))
	b.remote = dispatcher.NewRemote(dispatcher.NewClient(dispatcher.ClientOptions{}), "MINT", nil)
	server := httptest.NewServer(b)
	defer server.Close()
	b.at.URL = server.URL
	if got := summary(b.remote.Prove(t.Context(), b.at, call(1, 0, 1))); got != "unavailable 401, nothing sent" {
		t.Errorf("without token: %s", got)
	}
	for _, body := range []string{``, `{}`, `{"txData":{"uid":"u","type":"OTHER"}}`, `{"txData":{"uid":"u","type":"MINT"},"attempt":{"fee":"-1"}}`} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/prove/MINT", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer secret")
		b.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", body, w.Code)
		}
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{Legacy: true, MaxRetries: new(7), Types: []string{"MINT"}, Network: "mina:testnet"})
	b.Fail(devworker.Fault{On: devworker.OnSuccess, Times: 2, Kind: devworker.Answer, Body: `{"success":false}`})
	outcome := dispatcher.Outcome{Txn: call(1, 0, 1).Txn, AccountID: b.at.AccountID, Result: dispatcher.Result{Hash: "5J", Data: json.RawMessage(`"any"`)}}
	for i := range 3 {
		if _, err := b.remote.Report(t.Context(), b.at, true, outcome); (err == nil) != (i == 2) {
			t.Errorf("report %d: %v", i+1, err)
		}
	}
	outcome.Error = &dispatcher.WorkerError{Code: "20206"}
	if _, err := b.remote.Report(t.Context(), b.at, false, outcome); err != nil {
		t.Error(err)
	}
	want := []devworker.Call{
		{Kind: "on-success", Type: "MINT", UID: "u1", Queue: "q", Hash: "5J"},
		{Kind: "on-failure", Type: "MINT", UID: "u1", Queue: "q", Hash: "5J", Code: "20206"},
	}
	if diff := cmp.Diff(want, b.Told(), cmpopts.IgnoreFields(devworker.Call{}, "At")); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if n, ok, err := b.remote.MaxRetries(t.Context(), b.at); n != 7 || !ok || err != nil {
		t.Errorf("max retries %d, %v, %v", n, ok, err)
	}
	health := dispatcher.Health{AccountID: b.at.AccountID, Types: []string{"MINT"}, Capabilities: []string{"dispatch"}, Network: "mina:testnet", O1js: "simulated"}
	if h, err := b.client.Health(t.Context(), b.at); err != nil || !cmp.Equal(h, health) {
		t.Errorf("health %+v, %v", h, err)
	}
	calls := map[string]int{"on-success": 3, "on-failure": 1, "max-retries": 1, "health": 1}
	if diff := cmp.Diff(calls, b.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	b = setup(t, devworker.Options{})
	if _, ok, err := b.remote.MaxRetries(t.Context(), b.at); ok || err != nil {
		t.Error("no opinion is one")
	}
	if h, err := b.client.Health(t.Context(), b.at); err != nil || !cmp.Equal(h.Capabilities, []string{"prove", "resign", "ahead"}) {
		t.Errorf("health %+v, %v", h, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	server := httptest.NewServer(b.chain)
	t.Cleanup(server.Close)
	o := devworker.Options{State: devworker.StateFrom(server.URL+"/graphql", server.Client())}
	made := setup(t, o)
	made.chain, made.node = b.chain, b.node

	send := func(r dispatcher.Result) bool {
		t.Helper()
		if _, err := b.node.Send(t.Context(), r.Signed); err != nil {
			t.Fatal(err)
		}
		e := b.chain.Effects()
		return e[len(e)-1].OK
	}
	one := made.prove(t, call(1, 0, 100_000_000))
	c := call(1, 1, 100_000_000)
	c.UID = "u2"
	stale := made.prove(t, c)
	if !send(one) {
		t.Error("the first transaction failed")
	}
	if send(stale) {
		t.Error("a stale proof took effect")
	}
	c.Attempt.Number, c.Attempt.Nonce = 2, 2
	if !send(made.prove(t, c)) {
		t.Error("the fresh proof failed")
	}
	a, _ := b.chain.Account(devworker.ZkApp("q"))
	if want := devworker.NextState(devworker.NextState("0", "u1"), "u2"); a.State[0] != want {
		t.Errorf("state %s, want %s", a.State[0], want)
	}
	server.Close()
	c.Attempt.Number++
	if got := summary(made.remote.Prove(t.Context(), made.at, c)); got != "unavailable 502, nothing sent" {
		t.Errorf("without a node: %s", got)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, devworker.Options{Capacity: 1, ProveTime: time.Second})
		var wg sync.WaitGroup
		wg.Go(func() { b.prove(t, call(1, 0, 1)) })
		synctest.Wait()
		if got := summary(b.remote.Prove(t.Context(), b.at, call(2, 0, 1))); got != "worker busy" {
			t.Errorf("a second proof: %s", got)
		}
		wg.Wait()
		b.prove(t, call(2, 0, 1))
	})
}

// The work goes on without its caller, and whoever asks again waits for it.
func TestImpatientCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, devworker.Options{ProveTime: 50 * time.Second, SignTime: 10 * time.Second})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if got := summary(b.remote.Prove(ctx, b.at, call(1, 0, 1))); got != "lost" {
			t.Errorf("first: %s", got)
		}
		var wg sync.WaitGroup
		hashes := make([]string, 5)
		for i := range hashes {
			wg.Go(func() { hashes[i] = b.prove(t, call(1, 0, 1)).Hash })
		}
		wg.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("after %v, want a minute", took)
		}
		for _, h := range hashes {
			if h != hashes[0] {
				t.Errorf("hashes %v", hashes)
			}
		}
	})
}

func TestRaces(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			c := call(1, 0, 1)
			c.UID = "u" + strconv.Itoa(i%10)
			b.prove(t, c)
			_ = b.Calls()
			_ = b.Told()
			b.Release()
		})
	}
	wg.Wait()
	if n := b.Calls()["prove"]; n != 40 {
		t.Errorf("%d calls", n)
	}
}
