package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// A counter accepts batches as the service does, each uid once.
type counter struct {
	mu       sync.Mutex
	accepted map[string]int // how often, by uid
	order    []string
	fail     func(request, item int) bool // breaks the connection there
	away     func(request, item int) bool // the store cannot take it
	requests int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	body, _ := io.ReadAll(r.Body)
	lines := bufio.NewScanner(bytes.NewReader(body))
	for i := 0; lines.Scan(); i++ {
		if c.fail != nil && c.fail(c.requests, i) {
			panic(http.ErrAbortHandler)
		}
		var item struct {
			UID  string
			Data json.RawMessage
		}
		_ = json.Unmarshal(lines.Bytes(), &item)
		if c.away != nil && c.away(c.requests, i) {
			fmt.Fprintf(w, `{"index":%d,"status":503,"problem":{"code":"STORE_UNAVAILABLE","title":"x"}}`+"\n", i)
			continue
		}
		status := http.StatusOK
		if c.accepted[item.UID]++; c.accepted[item.UID] == 1 {
			status = http.StatusAccepted
			c.order = append(c.order, string(item.Data))
		}
		fmt.Fprintf(w, `{"index":%d,"status":%d,"transaction":{"uid":%q}}`+"\n", i, status, item.UID)
	}
}

func (c *counter) post(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	a := &command.App{Env: map[string]string{"SEQUENCER_URL": server.URL}, Stdin: stdin, Stdout: &stdout, Stderr: &stderr, Poll: time.Millisecond, Retries: 3}
	code := execute(t.Context(), a, append([]string{"post", "--batch"}, args...)...)
	return outcome{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

func lineFor(i int) string { return fmt.Sprintf(`{"queue":"q","type":"T","data":{"n":%d}}`, i) }

// TestPostResumes: the same command again repeats nothing, whatever has become of
// the file meanwhile, and each line is accepted once, in order.
func TestPostResumes(t *testing.T) {
	t.Parallel()
	const n = 1300
	file := filepath.Join(t.TempDir(), "batch.ndjson")
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for i := range n {
		lines = append(lines, lineFor(i))
	}
	write(lines...)
	// The second request breaks off, and in the end all do.
	c := &counter{accepted: map[string]int{}}
	c.fail = func(request, item int) bool { return request == 2 && item == 150 || request > 2 }
	got := c.post(t, nil, file)
	if got.Code != command.ExitUnavailable || !strings.Contains(got.Stderr, "the same command again repeats nothing") {
		t.Fatalf("%+v", got)
	}
	before := len(c.order)
	if before == 0 || before == n {
		t.Fatalf("%d accepted before the interruption", before)
	}
	c.fail = nil
	// A line is taken out, two are put in front, and one stands there twice.
	write(slices.Concat([]string{lineFor(-1), lineFor(-2)}, lines[1:], []string{lineFor(7)})...)
	if got = c.post(t, nil, file); got.Code != command.ExitOK {
		t.Fatalf("%+v", got)
	}
	if len(c.order) != n+3 || len(c.accepted) != n+3 {
		t.Errorf("%d accepted under %d uids, want %d", len(c.order), len(c.accepted), n+3)
	}
	want := "{\"n\":%d}"
	for i, data := range slices.DeleteFunc(slices.Clone(c.order), func(s string) bool { return strings.Contains(s, "-") })[:n] {
		if data != fmt.Sprintf(want, i) {
			t.Fatalf("%s is at place %d", data, i)
		}
	}
	got = c.post(t, nil, file)
	if got.Stdout != fmt.Sprintf("0 accepted  %d already there  0 refused\nposted before: to post the same work once more, name it with --run\n", n+2) {
		t.Errorf("once more: %+v", got)
	}
	if got = c.post(t, nil, file, "--run", "2"); got.Stdout != fmt.Sprintf("%d accepted  0 already there  0 refused\n", n+2) {
		t.Errorf("another run: %+v", got)
	}
}

// TestPostStopsAtAnOutage: where the store cannot take what a line holds for longer than it is
// tried, nothing behind it is posted, also if the store is back by then.
func TestPostStopsAtAnOutage(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 2500 {
		lines = append(lines, lineFor(i))
	}
	c := &counter{accepted: map[string]int{}}
	c.away = func(request, item int) bool { return request == 1 && item > 100 || 1 < request && request < 5 }
	text := strings.Join(lines, "\n")
	got := c.post(t, strings.NewReader(text), "-")
	if got.Code != command.ExitUnavailable || !strings.Contains(got.Stderr, "the same command again repeats nothing") || len(c.order) != 101 {
		t.Fatalf("%d taken: %+v", len(c.order), got)
	}
	if got = c.post(t, strings.NewReader(text), "-"); got.Code != command.ExitOK || len(c.order) != len(lines) {
		t.Fatalf("%d taken: %+v", len(c.order), got)
	}
	for i, data := range c.order {
		if data != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("%s is at place %d", data, i)
		}
	}
}

// TestPostSlowPipe: what has come through a pipe is posted although the pipe stays
// open.
func TestPostSlowPipe(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	c := &counter{accepted: map[string]int{}}
	posted := make(chan struct{}, 1)
	go func() {
		fmt.Fprintln(out, lineFor(1))
		<-posted
		fmt.Fprintln(out, lineFor(2))
		_ = out.Close()
	}()
	c.fail = func(request, _ int) bool {
		if request == 1 {
			posted <- struct{}{}
		}
		return false
	}
	if got := c.post(t, in, "-"); got.Stdout != "2 accepted  0 already there  0 refused\n" {
		t.Errorf("%+v", got)
	}
}

func TestPostBrokenInput(t *testing.T) {
	t.Parallel()
	c := &counter{accepted: map[string]int{}}
	in := io.MultiReader(strings.NewReader(lineFor(1)+"\n"), errReader{})
	if got := c.post(t, in, "-"); got.Code != command.ExitFailure || !strings.Contains(got.Stderr, "the disk is gone") || len(c.order) != 1 {
		t.Errorf("%+v, %d accepted", got, len(c.order))
	}
	if got := c.post(t, nil, "/nonexistent"); got.Code != command.ExitUsage {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{"post", "--batch", "-"}, nil, strings.NewReader(lineFor(1)), io.Discard, io.Discard); code != command.ExitInterrupted {
		t.Errorf("code %d when interrupted", code)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestPostKey(t *testing.T) {
	t.Parallel()
	answers := map[string][]fakeAnswer{"POST /transactions": {{202, txn("WAITING")}}}
	uids := map[string]bool{}
	for range 2 {
		got, _ := runClient(t, answers, "", "post", "--queue", "q", "--type", "T", "--data", "{}")
		_, rest, _ := strings.Cut(got.Asked[0], `"uid":"`)
		uid, _, _ := strings.Cut(rest, `"`)
		uids[uid] = len(uid) >= 20
	}
	for uid, long := range uids {
		if !long || len(uids) != 2 {
			t.Errorf("uid %q of %d", uid, len(uids))
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &batchRun{accepted: 3, present: 1, refused: 2}
	p := progress{screen: liveScreen(&out), read: 5 << 20, total: 10 << 20, note: "again"}
	p.draw(b, true)
	if got := out.String(); !strings.Contains(got, " 50%") || !strings.Contains(got, "4 posted  2 refused  again") {
		t.Errorf("%q", got)
	}
	out.Reset()
	p.draw(b, false)
	if out.Len() != 0 {
		t.Errorf("drawn again at once: %q", out.String())
	}
	quiet := progress{screen: terminal.NewScreen(&out, nil), total: 1}
	quiet.draw(b, true)
	quiet.close()
	if out.Len() != 0 {
		t.Errorf("drawn although it is no terminal: %q", out.String())
	}
}

// TestPostDryRun: what posting would come to is shown, and the command fails where the transaction would.
func TestPostDryRun(t *testing.T) {
	t.Parallel()
	const mina, token = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf", "xSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"
	trial := func(existed, simulation, why string) string {
		return fmt.Sprintf(`{"dryRun":true,"existed":%s,"simulation":%s,"notSimulated":%s,"uid":"u","queue":"q","state":"WAITING"}`,
			existed, simulation, why)
	}
	touched := `[{"publicKey":"B62a","tokenId":"` + mina + `","creates":false},{"publicKey":"B62b","tokenId":"` + token + `","creates":true}]`
	for _, tc := range []struct{ name, answer, stdout, stderr string }{
		{"it would do behind others", trial("false", `{"ahead":2,"ok":true,"failure":null,"weight":0,"touched":[],"seconds":0,"fee":"1"}`, "null"),
			"q  would be accepted; nothing was posted\n  by the accounts as what is in flight of its queue leaves them (2) it would do\n", ""},
		{"it would do", trial("false", `{"ahead":0,"ok":true,"failure":null,"weight":3,"touched":`+touched+`,"seconds":21.46,"fee":"100000000"}`, "null"),
			"q  would be accepted; nothing was posted\n  by the accounts as they are it would do\n  weight 3, fee 0.1 MINA\n" +
				"  a proof of its type takes about 21.5s there\n  touches B62a\n  creates B62b of token " + token + "\n", ""},
		{"it would fail", trial("false", `{"ok":false,"failure":{"index":1,"code":"Overflow","message":"account update 1 of 1: Overflow"},`+
			`"weight":2,"touched":[],"seconds":null,"fee":"100000000"}`, "null"),
			"q  would be accepted; nothing was posted\n  weight 2, fee 0.1 MINA\n",
			"it would fail: Overflow: account update 1 of 1: Overflow"},
		{"not simulated", trial("false", "null", `"no worker that is there simulates this type"`),
			"q  would be accepted; nothing was posted\n  not simulated: no worker that is there simulates this type\n", ""},
		{"it existed", trial("true", "null", `"it was accepted before: see what became of it"`),
			"q  was accepted before: u is WAITING\n  not simulated: it was accepted before: see what became of it\n", ""},
	} {
		got, _ := runClient(t, map[string][]fakeAnswer{"POST /transactions": ok(tc.answer)}, "",
			"post", "--queue", "q", "--type", "T", "--data", `{"n":1e400}`, "--uid", "u", "--dry-run")
		if got.Stdout != tc.stdout || !strings.Contains(got.Stderr, tc.stderr) || (got.Code == 0) != (tc.stderr == "") {
			t.Errorf("%s: %d\n%s%s\nwant\n%s", tc.name, got.Code, got.Stdout, got.Stderr, tc.stdout)
		}
		if want := `POST /transactions?dryRun=true {"queue":"q","type":"T","uid":"u","data":{"n":1e400}}`; got.Asked[0] != want {
			t.Errorf("asked %s", got.Asked[0])
		}
	}
	for _, args := range [][]string{{"--batch", "-"}, {"--queue", "q", "--type", "T", "--data", "{}", "--wait", "1s"}} {
		got, _ := runClient(t, nil, "", append([]string{"post", "--dry-run"}, args...)...)
		if got.Code != command.ExitUsage || len(got.Asked) > 0 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
