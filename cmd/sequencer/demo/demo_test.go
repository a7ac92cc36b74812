package demo

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/test/inprocess"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// number finds a row of the summary and the number it begins with.
func number(t *testing.T, text, row string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^  ` + row + ` +([0-9.]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("no %s in\n%s", row, text)
		return -1
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestDemoOnce(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	out, _, ended := inprocess.Demo(t, Command, "--once", "--addr", "127.0.0.1:0", "--log", log)
	if code := <-ended; code != command.ExitOK {
		t.Fatalf("code %d\n%s", code, out)
	}
	text := out.String()
	for row, atLeast := range map[string]float64{"retries": 1, "failed in a block": 1, "blocks": 10, "attempts": 26} {
		if n := number(t, text, row); n < atLeast {
			t.Errorf("%s: %v", row, n)
		}
	}
	if n := number(t, text, "fees"); n < 25*0.2 || n > 10 {
		t.Errorf("fees %v: SEQUENCER_FEE is not heeded, or they are not counted", n)
	}
	want := []string{"8, over 4 senders and 4 slots of 2 ledgers", "30, 30 of them DONE", "took effect once, in the order of its queue", "worker busy", "20202", "precondition_unsatisfied"}
	for _, item := range votingRound() {
		want = append(want, "WAITING  "+item.uid+"  "+item.kind, "REVISION → DONE  "+item.uid+"  in block ")
	}
	for _, item := range ledgerBatches() {
		want = append(want, "REVISION → DONE  "+item.uid+"  committed by ")
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, "Try next") {
		t.Errorf("for a terminal, or for somebody who stays:\n%s", text)
	}
	if logged, err := os.ReadFile(log); err != nil || !bytes.Contains(logged, []byte(`"txn":"commit"`)) {
		t.Errorf("log (%v): %.300s", err, logged)
	}
}

// TestDemoFails: what ends otherwise than DONE is an error, and named.
func TestDemoFails(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := inprocess.Run(t.Context(), Command, map[string]string{"SEQUENCER_MAX_RETRIES": "0"}, &out, "demo", "--slot", "150ms", "--once", "--addr", "127.0.0.1:0")
	if code != command.ExitFailure {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{"did not end well", "is FAILED (20202: ", "is FAILED (Account_app_state_0_precondition_unsatisfied: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "took effect once") {
		t.Errorf("calls it a good end:\n%s", out.String())
	}
}

func TestDemoServes(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out, stop, ended := inprocess.Demo(t, Command, "--addr", taken.Addr().String())
	select {
	case <-out.Seen("Serving until"):
	case code := <-ended:
		t.Fatalf("ended with %d\n%s", code, out)
	}
	if !strings.Contains(out.String(), taken.Addr().String()+" cannot be had") {
		t.Errorf("does not say that the port is another one:\n%s", out)
	}
	curl := regexp.MustCompile(`curl -s (\S+/transactions) -H '([^:]+): ([^']+)' -d '(\S+)'`).FindStringSubmatch(out.String())
	if curl == nil {
		t.Fatalf("no way to post in\n%s", out)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, curl[1], strings.NewReader(curl[4]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(curl[2], curl[3])
	req.Header.Set("Idempotency-Key", "mine")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	select {
	case <-out.Seen("REVISION → DONE  mine"):
	case code := <-ended:
		t.Fatalf("ended with %d\n%s", code, out)
	}
	stop()
	if code := <-ended; code != command.ExitOK {
		t.Errorf("code %d after the interrupt\n%s", code, out)
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"--once": command.ExitInterrupted, "--addr=127.0.0.1:0": command.ExitOK} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			out, stop, ended := inprocess.Demo(t, Command, args, "--addr", "127.0.0.1:0")
			select {
			case <-out.Seen("DISPATCHING → REVISION"):
			case code := <-ended:
				t.Fatalf("ended with %d\n%s", code, out)
			}
			stop()
			if code := <-ended; code != want {
				t.Errorf("code %d, not %d\n%s", code, want, out)
			}
		})
	}
}

// TestDemoAlone: no secret that stands in a file of the caller's, and no endpoint of
// webhooks, comes into the demo.
func TestDemoAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SEQUENCER_SENDERS_FILE": file, "SEQUENCER_WEBHOOKS_FILE": file}
	for group := range reflect.TypeFor[settings.Config]().Fields() {
		for field := range group.Type.Fields() {
			if field.Tag.Get("secret") == "true" {
				name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
				env[name+settings.FileSuffix] = file
			}
		}
	}
	if len(env) < 6 {
		t.Fatalf("secrets that may stand in a file: %v", env)
	}
	for name, value := range (&world{token: "ours"}).environment(env, options{}) {
		if value == file && name != "SEQUENCER_REDIS_URL"+settings.FileSuffix {
			t.Errorf("%s is the caller's", name)
		}
	}
}

func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args string
		env  map[string]string
		want string
	}{
		{"--slot 1ms", nil, "--slot"},
		{"--addr 0.0.0.0:0", map[string]string{"SEQUENCER_INSECURE": "true"}, "SEQUENCER_ADDR"},
		{"--log /nonexistent/log", nil, "--log"},
		{"--once", map[string]string{"SEQUENCER_FEE": "much"}, "SEQUENCER_FEE"},
	} {
		var out bytes.Buffer
		code := inprocess.Run(t.Context(), Command, tc.env, &out, append([]string{"demo"}, strings.Fields(tc.args)...)...)
		if code != command.ExitUsage || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s %v: code %d\n%s", tc.args, tc.env, code, out.String())
		}
	}
}

func TestDemoVerify(t *testing.T) {
	t.Parallel()
	const queue = "claim-1"
	zkApp, payer := devworker.ZkApp(queue), devnet.Key(1)
	one := devworker.NextState("0", "one")
	two := devworker.NextState(one, "two")
	type effect struct{ uid, from, to string }
	for _, tc := range []struct {
		name    string
		effects []effect
		known   []string
		want    string
	}{
		{"in order", []effect{{"one", "0", one}, {"two", one, two}}, []string{"one", "two"}, ""},
		{"a failed one between", []effect{{"one", "0", one}, {"", "0", "5"}, {"two", one, two}}, []string{"one", "two"}, ""},
		{"other order", []effect{{"two", "0", two}, {"one", two, one}}, []string{"one", "two"}, "two took effect in block 2, out of turn"},
		{"missing", []effect{{"one", "0", one}}, []string{"one", "two"}, "two took no effect"},
		{"unknown", []effect{{"one", "0", one}, {"", one, two}}, []string{"one"}, "which no transaction knows"},
		{"wrong state", []effect{{"one", "0", two}}, []string{"one"}, "is not what its transactions make of it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			network, err := devnet.New(devnet.Config{FundAll: true, BlockOnSend: true, SlotTime: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(network)
			defer server.Close()
			w := &world{network: network}
			hashes := map[string]string{"two": "not sent"}
			for i, e := range tc.effects {
				command, err := devnet.Build(devnet.Plan{Payer: payer, Nonce: uint32(i), Fee: 1e9, Memo: fmt.Sprint(i),
					Updates: []devnet.Update{{Account: zkApp, Expect: map[int]string{0: e.from}, Set: map[int]string{0: e.to}}}})
				if err != nil {
					t.Fatal(err)
				}
				if hashes[e.uid], err = mina.NewNode(server.URL+"/graphql", mina.NodeOptions{}).Send(t.Context(), command); err != nil {
					t.Fatal(err)
				}
			}
			var done []client.Transaction
			for _, uid := range tc.known {
				done = append(done, client.Transaction{UID: uid, Queue: queue, Hash: hashes[uid]})
			}
			got := ""
			if err := w.verify(done); err != nil {
				got = err.Error()
			}
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("verify: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDemoChanges(t *testing.T) {
	t.Parallel()
	tried := []client.Attempt{{Number: 1, Fee: 100000000, Outcome: "included", BlockHeight: 7}}
	failed := []client.Attempt{{Number: 1, Error: &client.Fault{Code: "502"}}}
	for _, tc := range []struct {
		name     string
		old, now client.Transaction
		want     []string
	}{
		{"posted", client.Transaction{}, client.Transaction{State: "WAITING", Type: "T"}, []string{"→WAITING T"}},
		{"posted and bound", client.Transaction{}, client.Transaction{State: "DISPATCHING", Sender: "B62"}, []string{"→WAITING ", "WAITING→DISPATCHING by B62"}},
		{"nothing", client.Transaction{State: "DONE"}, client.Transaction{State: "DONE"}, nil},
		{"all at once", client.Transaction{State: "RETRY"}, client.Transaction{State: "DONE", Attempts: tried},
			[]string{"RETRY→DISPATCHING by ", "DISPATCHING→REVISION attempt 1, nonce 0, fee 0.1", "REVISION→DONE in block 7"}},
		{"back where it was", client.Transaction{State: "WAITING"}, client.Transaction{State: "WAITING", Attempts: failed}, []string{"→ attempt 1: 502"}},
		{"known failure", client.Transaction{State: "RETRY", Attempts: failed}, client.Transaction{State: "DISPATCHING", Attempts: failed}, []string{"RETRY→DISPATCHING by "}},
		{"failed", client.Transaction{State: "RETRY"}, client.Transaction{State: "FAILED", Error: &client.Fault{Code: "X", Message: "why"}}, []string{"RETRY→FAILED X: why"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range changesOf(tc.old, tc.now) {
				got = append(got, e.From+"→"+e.To+" "+e.Detail+e.Extra)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
