package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// TestMain lets the test's own binary be the process that is tested.
func TestMain(m *testing.M) {
	if os.Getenv("DEVWORKER_TEST_PROCESS") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the process and returns its first URLs and a wait for its end.
func start(t *testing.T, urls int, args ...string) ([]string, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "DEVWORKER_TEST_PROCESS=1", "DEVWORKER_TOKEN=secret")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	var found []string
	for range urls {
		if !lines.Scan() {
			t.Fatal("the process printed no URL")
		}
		found = append(found, lines.Text())
	}
	return found, cmd
}

func client() *dispatcher.Client {
	return dispatcher.NewClient(dispatcher.ClientOptions{Token: "secret"})
}

func newCall() dispatcher.Call {
	return dispatcher.Call{
		Txn:     dispatcher.Txn{UID: "u1", Type: "MINT", Data: json.RawMessage(`{}`), Queue: "q"},
		Attempt: dispatcher.Attempt{Number: 1, Fee: 100_000_000, Memo: "m"},
	}
}

func TestServes(t *testing.T) {
	t.Parallel()
	keys := []string{devnet.Key(1), devnet.Key(2)}
	urls, cmd := start(t, 2, "--account", strings.Join(keys, ","))
	remote := dispatcher.NewRemote(client(), "MINT", nil)
	for i, url := range urls {
		worker := dispatcher.Worker{AccountID: keys[i], URL: url}
		if h, err := client().Health(t.Context(), worker); err != nil || h.AccountID != keys[i] {
			t.Errorf("health of %d: %+v, %v", i, h, err)
		}
		call := newCall()
		r, err := remote.Prove(t.Context(), worker, call)
		if err != nil {
			t.Fatal(err)
		}
		if err := dispatcher.CheckSigned(r.Signed, keys[i], call.Attempt, mina.DecodeMemo); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestExits(t *testing.T) {
	t.Parallel()
	for flag, sent := range map[string]int{"--exit-before-send": 0, "--exit-after-send": 1} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			chain, err := devnet.New(devnet.Config{FundAll: true, BlockOnSend: true})
			if err != nil {
				t.Fatal(err)
			}
			node := httptest.NewServer(chain)
			defer node.Close()
			urls, cmd := start(t, 1, "--legacy", flag, "--node", node.URL+"/graphql", "--account", devnet.Key(1))
			worker := dispatcher.Worker{AccountID: devnet.Key(1), URL: urls[0]}
			remote := dispatcher.NewRemote(client(), "MINT", nil)
			if _, err := remote.Prove(t.Context(), worker, newCall()); !errors.Is(err, dispatcher.ErrLegacy) {
				t.Errorf("prove: %v", err)
			}
			_, err = remote.Dispatch(t.Context(), worker, newCall())
			if _, lost := errors.AsType[*dispatcher.LostError](err); !lost {
				t.Errorf("dispatch: %v", err)
			}
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
			}
			if n := len(chain.Effects()); n != sent {
				t.Errorf("sent %d, want %d", n, sent)
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	key := devnet.Key(1)
	for name, args := range map[string][]string{
		"no account":      {},
		"bad account":     {"--account", key + ",B62x"},
		"other interface": {"--account", key, "--addr", "0.0.0.0:0"},
		"host name":       {"--account", key, "--addr", "localhost:0"},
		"legacy, no node": {"--account", key, "--legacy"},
		"state, no node":  {"--account", key, "--state"},
		"argument":        {"--account", key, "more"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := run(ctx, args, func(string) string { return "" }, io.Discard); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyWithATokenForOthers(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	account := devnet.Key(1)
	for token, refused := range map[string]bool{"": true, "secret": false} {
		env := func(name string) string { return map[string]string{"WORKER_TOKEN": token}[name] }
		err := run(ended, []string{"--account", account, "--addr", "0.0.0.0:0"}, env, io.Discard)
		if got := err != nil && strings.Contains(err.Error(), "--addr"); got != refused {
			t.Errorf("with the token %q: %v", token, err)
		}
	}
}
