package dev

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mina-sequencer/cmd/sequencer/command"
)

// readySignal hands over what was written once it holds the last line of the
// announcement.
type readySignal struct {
	text  bytes.Buffer
	ready chan string
}

func (r *readySignal) Write(p []byte) (int, error) {
	n, err := r.text.Write(p)
	if strings.Contains(r.text.String(), "sequencer serve\n") {
		r.ready <- r.text.String()
	}
	return n, err
}

const (
	keyA = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	keyB = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
)

// runDev runs one of the commands, and returns its exit code.
func runDev(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &command.App{Stdout: stdout, Stderr: stderr}
	return a.Execute(ctx, command.Group("sequencer", "", NodesCommand(a), LedgersCommand(a)), args)
}

func TestDevnet(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &readySignal{ready: make(chan string, 1)}
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- runDev(ctx, []string{"devnet", "--addr", "127.0.0.1:0", "--nodes", "2", "--accounts", keyA, "--fund", "2.5"}, out, &stderr)
	}()
	var text string
	select {
	case text = <-out.ready:
	case c := <-code:
		t.Fatalf("ended with %d: %s", c, stderr.String())
	}
	urls := regexp.MustCompile(`SEQUENCER_MINA_URL=(\S+),(\S+) sequencer serve`).FindStringSubmatch(text)
	if urls == nil {
		t.Fatalf("no addresses in %s", text)
	}
	for _, url := range urls[1:] {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"query":"{account(publicKey:\"`+keyA+`\"){balance{total}} other:account(publicKey:\"`+keyB+`\"){nonce}}"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := `{"data":{"account":{"balance":{"total":"2500000000"}},"other":null}}`; strings.TrimSpace(string(body)) != want {
			t.Errorf("%s answers %s", url, body)
		}
	}
	cancel()
	if c := <-code; c != command.ExitOK {
		t.Errorf("exit code %d: %s", c, stderr.String())
	}
}

func TestDevnetRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--addr 0.0.0.0:0", "--addr :3085", "--addr localhost", "--addr 127.0.0.1:99999", "--nodes -1 --addr 127.0.0.1:0", "--fill 0",
		"--fill 2", "--slot 1us", "--accounts B62qx", "--fund much", "--k -1",
		"--max-zkapps 0", "--max-zkapps -2", "--era vesta",
	} {
		var stdout, stderr bytes.Buffer
		if code := runDev(t.Context(), append([]string{"devnet"}, strings.Fields(args)...), &stdout, &stderr); code != command.ExitUsage {
			t.Errorf("%s: code %d, %s", args, code, stderr.String())
		}
	}
}
