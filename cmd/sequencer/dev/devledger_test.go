package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/ledger/devledger"
)

// startDevledger runs the command until the test ends and returns what is after
// SEQUENCER_LEDGERS=.
func startDevledger(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := &readySignal{ready: make(chan string, 1)}
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		all := append([]string{"devledger", "--addr", "127.0.0.1:0", "--splinter-addr", "127.0.0.1:0"}, args...)
		code <- runDev(ctx, all, out, &stderr)
	}()
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != command.ExitOK {
			t.Errorf("exit code %d: %s", c, stderr.String())
		}
	})
	select {
	case text := <-out.ready:
		set := regexp.MustCompile(`SEQUENCER_LEDGERS=(\S+) sequencer serve`).FindStringSubmatch(text)
		if set == nil {
			t.Fatalf("no ledgers in %s", text)
		}
		return set[1]
	case c := <-code:
		code <- c
		t.Fatalf("ended with %d", c)
	}
	return ""
}

// askLedger makes a request and returns status and body.
func askLedger(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestDevledger(t *testing.T) {
	t.Parallel()
	set := startDevledger(t, "--block-time", "10ms", "--proposal-time", "10ms",
		"--service", "devnt-local::a000,vzrQS-rvwf4::a001")
	urls := regexp.MustCompile(`^sawtooth=sawtooth\+(http://[\d.:]+),` +
		`splinter=splinter\+(http://\S+/devnt-local/a000),` +
		`splinter2=splinter\+(http://\S+/vzrQS-rvwf4/a001)$`).FindStringSubmatch(set)
	if urls == nil {
		t.Fatalf("the ledgers are %s", set)
	}
	batch := devledger.NewSigner(1).Batch("n", "set a 1")
	for _, url := range urls[1:] {
		if status, body := askLedger(t, http.MethodPost, url+"/batches", string(batch.List)); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", url, status, body)
		}
		query, committed := "/batch_statuses?wait=60&ids=", `"statusType":"Committed"`
		if url == urls[1] {
			query, committed = "/batch_statuses?wait=60&id=", `"status":"COMMITTED"`
		}
		// UNKNOWN, which Sawtooth is at first, is not waited for.
		for end := time.Now().Add(time.Minute); ; {
			status, body := askLedger(t, http.MethodGet, url+query+batch.ID, "")
			if status == http.StatusOK && strings.Contains(body, committed) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d %s", url, status, body)
			}
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		_, body := askLedger(t, http.MethodGet, "http://"+host+"/control/effects", "")
		var got struct{ Effects []devledger.Effect }
		err := json.Unmarshal([]byte(body), &got)
		if err != nil || len(got.Effects) == 0 || got.Effects[0].Batch != batch.ID {
			t.Errorf("%s: effects %s, %v", url, body, err)
		}
	}
}

func TestDevledgerTrouble(t *testing.T) {
	t.Parallel()
	batch := devledger.NewSigner(1).Batch("n", "set a 1")
	call := devledger.Call{Ledger: devledger.KindSawtooth, On: devledger.Post, Batches: []string{batch.ID}, N: 1}
	seed := uint64(0)
	for full := false; !full; {
		seed++
		full = devledger.Dice{Seed: seed, Trouble: 1}.Plan(call).Status == http.StatusTooManyRequests
	}
	set := startDevledger(t, "--trouble", "1", "--seed", strconv.FormatUint(seed, 10))
	first, _, _ := strings.Cut(strings.TrimPrefix(set, "sawtooth=sawtooth+"), ",")
	status, body := askLedger(t, http.MethodPost, first+"/batches", string(batch.List))
	if status != http.StatusTooManyRequests || !strings.Contains(body, `"code":31`) {
		t.Errorf("seed %d: %d %s", seed, status, body)
	}
}

func TestDevledgerRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--addr 0.0.0.0:0", "--splinter-addr :8080", "--addr localhost", "--addr 127.0.0.1:99999", "--trouble 2", "--fates -1",
		"--service a", "--service devnt-local::a000,devnt-local::a000", "--block-time 0s", "--block-time 1us",
		"--proposal-time -1s",
	} {
		var stdout, stderr bytes.Buffer
		all := append([]string{"devledger", "--addr", "127.0.0.1:0", "--splinter-addr", "127.0.0.1:0"},
			strings.Fields(args)...)
		if code := runDev(t.Context(), all, &stdout, &stderr); code != command.ExitUsage {
			t.Errorf("%s: code %d, %s", args, code, stderr.String())
		}
	}
}
