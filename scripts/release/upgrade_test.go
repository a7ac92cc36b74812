package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var old = flag.String("old", "", "commit or tag that runs beside this one")

// upgradeKeys are two accounts of the simulated network.
const upgradeKeys = "B62qqGSmQpPaMqXyeBBKqWu4JNY9EWan1Zz1DRmTqkbiyWnNfi45yLr," +
	"B62qq1tpgpB4mQDYSxcZfRuZE1Xm4hvg3AzARPd21Vv9RaWBE3eWJec"

// A side is one version of the program and where it serves.
type side struct {
	name, program, url string
	env                []string
	process            *exec.Cmd
}

// TestUpgrade: an old version and this one share the work of one Redis while one is
// replaced by the other, and then the other way round. All that was posted to either
// becomes DONE, and audit, of both versions, finds nothing.
func TestUpgrade(t *testing.T) {
	if *old == "" {
		t.Skip("not tried: -old names no version to run beside this one")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	dir := t.TempDir()
	before, after := compileCommit(t, dir, *old), compileCommit(t, dir, "HEAD")
	env := startSurroundings(ctx, t, dir, after)
	a := &side{name: "old", program: filepath.Join(before, "sequencer"), env: env}
	b := &side{name: "new", program: filepath.Join(after, "sequencer"), env: env}
	var posted []string
	post := func(to ...*side) {
		for i := range 24 {
			uid := fmt.Sprintf("u-%d", len(posted))
			to[i%len(to)].post(ctx, t, uid, fmt.Sprintf("claim-%d", i%8))
			posted = append(posted, uid)
		}
	}
	a.start(ctx, t)
	post(a)
	for range 2 { // up, and down again
		b.start(ctx, t)
		post(a, b)
		a.stop(t)
		post(b)
		b.done(ctx, t, posted)
		a, b = b, a
	}
	b.start(ctx, t)
	for _, s := range []*side{a, b} {
		s.done(ctx, t, posted)
		if out, err := s.command(ctx, "audit").CombinedOutput(); err != nil {
			t.Errorf("audit of the %s version: %v\n%s", s.name, err, out)
		}
		s.stop(t)
	}
	t.Logf("%d transactions DONE, posted to and seen through both", len(posted))
}

// compileCommit builds the programs of a commit.
func compileCommit(t *testing.T, dir, commit string) string {
	t.Helper()
	out := filepath.Join(dir, strings.NewReplacer("/", "_").Replace(commit))
	sh(t, `mkdir -p "$1/src"; git -C ../.. archive "$2" | tar -x -C "$1/src"
		cd "$1/src"; CGO_ENABLED=0 go build -trimpath -o "$1" ./cmd/sequencer ./scripts/devworker`, out, commit)
	return out
}

// startSurroundings starts a Redis, three Mina nodes and a worker, and returns the
// settings that name them.
func startSurroundings(ctx context.Context, t *testing.T, dir, programs string) []string {
	t.Helper()
	redis := port(t)
	background(ctx, t, "redis-server", "--port", redis, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "yes")
	mina := port(t)
	background(ctx, t, filepath.Join(programs, "sequencer"), "devnet", "--addr", "127.0.0.1:"+mina, "--slot", "400ms")
	worker := port(t)
	background(ctx, t, filepath.Join(programs, "devworker"), "--addr", "127.0.0.1:"+worker, "--account", upgradeKeys,
		"--prove-time", "50ms")
	senders := ""
	for key := range strings.SplitSeq(upgradeKeys, ",") {
		senders += "," + key + "=http://127.0.0.1:" + worker + "/" + key
	}
	return append(os.Environ(), "SEQUENCER_REDIS_URL=redis://127.0.0.1:"+redis, "SEQUENCER_SENDERS="+senders[1:],
		"SEQUENCER_MINA_URL=http://127.0.0.1:"+mina+"/graphql", "SEQUENCER_CYCLE_INTERVAL=200ms",
		"SEQUENCER_INCLUSION_INTERVAL=200ms", "SEQUENCER_CLAIM_TTL=2s", "SEQUENCER_SETTLE_DEPTH=3", "SEQUENCER_FINALITY=3",
		"SEQUENCER_RETRY_DELAY=1s", "SEQUENCER_ADDR=127.0.0.1:0", "SEQUENCER_LOG_FORMAT=json")
}

func port(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func background(ctx context.Context, t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func (s *side) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = s.env
	return cmd
}

// start starts a process and waits until it takes transactions. One that does not
// read what the other has written says so and ends: they may not run side by side.
func (s *side) start(ctx context.Context, t *testing.T) {
	t.Helper()
	s.process = s.command(ctx, "serve")
	log, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	process := s.process
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	lines, said := bufio.NewScanner(log), ""
	lines.Buffer(nil, 1<<20)
	serving := regexp.MustCompile(`"msg":"serving".*?"addr":"([^"]+)"`)
	for lines.Scan() {
		said += lines.Text() + "\n"
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			s.url = "http://" + m[1]
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return
		}
	}
	t.Fatalf("the %s version does not start on what the other has left:\n%s", s.name, said)
}

func (s *side) stop(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.process.Wait()
	if code := s.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the %s version ended with %d", s.name, code)
	}
}

func (s *side) ask(ctx context.Context, t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1/transactions"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func (s *side) post(ctx context.Context, t *testing.T, uid, queue string) {
	t.Helper()
	const data = `{"claimUid": "0123456789abcdef0123456789abcdef",
		"strategy": {"requiredVotes": 1, "requiredPositives": 1}}`
	body := fmt.Sprintf(`{"uid": %q, "queue": %q, "type": "CREATE_CLAIM_VOTING_ACCOUNT", "data": %s}`, uid, queue, data)
	if status, answer := s.ask(ctx, t, http.MethodPost, "", body); status != http.StatusAccepted {
		t.Fatalf("posting to the %s version: %d %s", s.name, status, answer)
	}
}

// done waits until all are DONE.
func (s *side) done(ctx context.Context, t *testing.T, uids []string) {
	t.Helper()
	for _, uid := range uids {
		var is struct{ State string }
		for is.State != "DONE" {
			_, answer := s.ask(ctx, t, http.MethodGet, "/"+uid+"?wait=30s", "")
			if err := json.Unmarshal([]byte(answer), &is); err != nil || is.State == "FAILED" || is.State == "UNRESOLVED" {
				t.Fatalf("%s by the %s version: %s %v", uid, s.name, answer, err)
			}
		}
	}
}
