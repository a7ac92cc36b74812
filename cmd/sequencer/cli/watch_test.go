package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/cmd/sequencer/test/inprocess"
)

// A newsroom tells queues, senders and scripted streams of events, one after the
// other; the last one stays open.
type newsroom struct {
	streams []string
	opened  atomic.Int32
	looks   atomic.Int32
	from    chan string // the Last-Event-ID of each stream
}

func newsEvent(n int, data string) string {
	return fmt.Sprintf("id: 1-%d\nevent: transaction\ndata: {\"id\":\"1-%d\",\"at\":\"2026-11-20T10:00:00Z\",%s}\n\n", n, n, data)
}

func (n *newsroom) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v1/queues":
		state := "FREE"
		if n.looks.Add(1) > 1 {
			state = "BLOCKED"
		}
		fmt.Fprintf(w, `{"items":[{"name":"claim-1","state":%q,"running":"u1","counts":{"WAITING":3,"DISPATCHING":1}}],"nextCursor":null}`, state)
	case "/api/v1/senders":
		fmt.Fprintf(w, `{"items":[{"accountId":%q,"state":"FREE","balance":"2500000000","nonce":3,"available":true}],"nextCursor":null}`, keyA)
	case "/api/v1/events":
		i := int(n.opened.Add(1)) - 1
		if n.from != nil {
			n.from <- r.Header.Get("Last-Event-ID") + "?" + r.URL.RawQuery
		}
		if i >= len(n.streams) {
			<-r.Context().Done()
			return
		}
		if n.streams[i] == "gone" {
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"code":"EVENTS_GONE","title":"gone"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 1\n\n"+n.streams[i])
		_ = http.NewResponseController(w).Flush()
		if i == len(n.streams)-1 {
			<-r.Context().Done()
		}
	}
}

func (n *newsroom) open(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWatchLines(t *testing.T) {
	t.Parallel()
	streams := []string{
		newsEvent(1, `"uid":"u1","queue":"q1","type":"T","sender":"B62","from":"WAITING","to":"DISPATCHING","attempt":1`) + ": heartbeat\nid: 1-5\n\n",
		newsEvent(6, `"uid":"u1","queue":"q1","type":"T","from":"REVISION","to":"REVISION"`) +
			strings.Replace(newsEvent(7, `"queue":"q1","code":"PAUSED"`), "event: transaction", "event: queue", 1) +
			strings.Replace(newsEvent(8, `"sender":"B62","code":"RESTED"`), "event: transaction", "event: sender", 1) +
			newsEvent(9, `"uid":"u1","queue":"q1","type":"T","from":"DONE","to":null`),
	}
	watch := func(code int, args ...string) (string, string, []string) {
		t.Helper()
		n := &newsroom{streams: streams, from: make(chan string, 10)}
		var stdout, stderr bytes.Buffer
		a := &command.App{Env: map[string]string{"SEQUENCER_URL": n.open(t)}, Stdout: &stdout, Stderr: &stderr, Poll: time.Millisecond, Retries: 2}
		if got := execute(t.Context(), a, append([]string{"watch", "--count", "5"}, args...)...); got != code {
			t.Errorf("code %d, %s", got, stderr.String())
		}
		close(n.from)
		var from []string
		for f := range n.from {
			from = append(from, f)
		}
		return stdout.String(), stderr.String(), from
	}
	out, errs, from := watch(command.ExitOK, "--queue", "q1", "--uid", "u1", "--type", "T")
	var lines []string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"10:00:00 q1 WAITING → DISPATCHING u1 T by B62", "10:00:00 q1 REVISION u1 T", "10:00:00 q1 PAUSED",
		"10:00:00 sender B62 RESTED", "10:00:00 q1 DONE → removed u1 T",
	}
	if diff := cmp.Diff(want, lines); diff != "" || !strings.Contains(errs, "trying again") {
		t.Errorf("%s%s", errs, diff)
	}
	if diff := cmp.Diff([]string{"?queue=q1&type=T&uid=u1", "1-5?queue=q1&type=T&uid=u1"}, from); diff != "" {
		t.Error(diff)
	}
	out, _, from = watch(command.ExitOK, "--json", "--from", "1-0")
	if strings.Count(out, "\n") != 5 || !strings.HasPrefix(out, `{"id":"1-1","at":"2026-11-20T10:00:00Z","uid":"u1"`) || from[0] != "1-0?" {
		t.Errorf("%v %s", from, out)
	}
	streams = []string{"gone"}
	if _, errs, _ = watch(command.ExitConflict, "--from", "1-0"); !strings.Contains(errs, "→ start again without --from") {
		t.Error(errs)
	}
}

// TestWatchLive: the board shows the state as it is, and anew when something has
// happened, also where changes were missed.
func TestWatchLive(t *testing.T) {
	t.Parallel()
	n := &newsroom{streams: []string{"", "gone", newsEvent(7, `"uid":"u7","queue":"claim-1","type":"T","from":"RETRY","to":"FAILED","code":"X"`)}}
	out := &inprocess.Output{}
	a := &command.App{Env: map[string]string{}, Stdout: out, Stderr: out, Poll: 5 * time.Millisecond}
	s, err := (&clientFlags{url: n.open(t), timeout: time.Minute, retries: 3}).open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- (&watchCommand{filter: client.EventFilter{Queue: "claim-1"}}).live(ctx, s, liveScreen(out))
	}()
	for _, text := range []string{"FREE", "2.5 MINA", "some changes are missing here", "RETRY → FAILED  u7", "BLOCKED"} {
		select {
		case <-out.Seen(text):
		case err := <-ended:
			t.Fatalf("ended with %v before %q:\n%s", err, text, out)
		case <-time.After(time.Minute):
			t.Fatalf("%q is not shown:\n%s", text, out)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchNeverThere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, args := range [][]string{{"watch"}, {"watch", "--json"}} {
		a := &command.App{Stdout: &out, Stderr: &out, Poll: time.Millisecond}
		if code := execute(t.Context(), a, append(args, "--url", "http://127.0.0.1:1")...); code != command.ExitUnavailable {
			t.Errorf("%v: code %d, %s", args, code, out.String())
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	url := (&newsroom{}).open(t)
	for _, tc := range []struct {
		args string
		want string
	}{
		{"txn list --state ", "DONE\nFAILED\nUNRESOLVED\nRETRY\nREVISION\nDISPATCHING\nWAITING\n"},
		{"queue pause ", "claim-1\n"},
		{"queue pause claim-1 ", ""},
		{"txn cancel --queue ", "claim-1\n"},
		{"sender drain ", keyA + "\n"},
		{"txn resolve u --outcome ", "landed\ndead\n"},
		{"sender drain --url http://127.0.0.1:1 ", ""},
	} {
		var out, errs bytes.Buffer
		args := strings.Split("__complete "+tc.args, " ")
		code := run(t.Context(), args, map[string]string{"SEQUENCER_URL": url}, nil, &out, &errs)
		got, _, _ := strings.Cut(out.String(), ":")
		if code != command.ExitOK || got != tc.want {
			t.Errorf("%q: code %d, %q", tc.args, code, out.String())
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"completion", "bash"}, nil, nil, &out, &out); code != command.ExitOK || !strings.Contains(out.String(), "__start_sequencer") {
		t.Errorf("code %d", code)
	}
}

// liveScreen draws as on a terminal.
func liveScreen(w io.Writer) *terminal.Screen {
	s := terminal.NewScreen(w, nil)
	s.Live = true
	return s
}

// TestEvents: events prints what the log holds, names who did it, and ends.
func TestEvents(t *testing.T) {
	t.Parallel()
	n := &newsroom{streams: []string{
		newsEvent(1, `"uid":"u1","queue":"q1","type":"T","from":null,"to":"WAITING","code":null,"actor":null`) +
			strings.Replace(newsEvent(2, `"queue":"q1","code":"PAUSED","actor":"ops"`), "event: transaction", "event: queue", 1), // it breaks off
		strings.Replace(newsEvent(3, `"sender":"B62","code":"DRAINING","actor":"ops"`), "event: transaction", "event: sender", 1) +
			newsEvent(4, `"uid":"u1","queue":"q1","type":"T","from":"DONE","to":null,"code":"REMOVED","actor":"ops"`) + ": level\n\n",
	}, from: make(chan string, 10)}
	var stdout, stderr bytes.Buffer
	a := &command.App{Env: map[string]string{"SEQUENCER_URL": n.open(t)}, Stdout: &stdout, Stderr: &stderr, Poll: time.Millisecond, Retries: 2}
	if code := execute(t.Context(), a, "events", "--actor", "ops", "--queue", "q1"); code != command.ExitOK {
		t.Fatalf("code %d, %s", code, stderr.String())
	}
	want := "2026-11-20T10:00:00Z  u1  of q1  new → WAITING\n2026-11-20T10:00:00Z  queue q1  PAUSED  by ops\n" +
		"2026-11-20T10:00:00Z  sender B62  DRAINING  by ops\n2026-11-20T10:00:00Z  u1  of q1  DONE → removed  REMOVED  by ops\n"
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Error(diff)
	}
	if first, second := <-n.from, <-n.from; first != "?actor=ops&from=oldest&queue=q1" || second != "1-2?actor=ops&from=oldest&queue=q1" {
		t.Errorf("it asks for %s, then %s", first, second)
	}
}
