package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/cmd/sequencer/terminal"
)

const (
	keyA = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	keyB = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
)

func testBoard() Board {
	at := time.Date(2026, 11, 20, 10, 0, 1, 0, time.UTC)
	return Board{
		Title: "demo", Network: "mina:testnet", Height: 142, Slot: 188, Elapsed: 3725 * time.Second,
		Queues: []Queue{
			{Name: "plan-1", State: "FREE", Counts: map[string]int{"DONE": 2, "FAILED": 1, "UNRESOLVED": 1}},
			{Name: "claim-1", State: "WAITING_INCLUSION", Sender: keyA, Running: "u1", Counts: map[string]int{"DONE": 3, "REVISION": 1, "WAITING": 4}},
			{Name: "claim-2", State: "DELAY", Sender: keyB, Running: "u2", Retries: 2, Counts: map[string]int{"RETRY": 1, "WAITING": 199}},
			{Name: "a-very-long-name-of-a-queue", State: "BLOCKED", Paused: true, Reason: "by hand", Counts: map[string]int{"DISPATCHING": 1}},
		},
		Senders: []Sender{
			{AccountID: keyA, Queue: "claim-1", Nonce: "12", Balance: "99.8"},
			{AccountID: keyB, Reason: "LOW_BALANCE"},
			{AccountID: "B62qx"},
		},
		Events: []Event{
			{At: at, Queue: "claim-1", UID: "u1", From: "BLOCKED", To: "WAITING_INCLUSION", Detail: "unseen"},
			{At: at, Queue: "claim-2", UID: "u2", To: "DELAY", Extra: "502"},
		},
	}
}

func rendered(lines []terminal.Line, width int, colour bool) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Render(width, colour) + "\n")
	}
	return b.String()
}

func TestBoard(t *testing.T) {
	t.Parallel()
	b := testBoard()
	want := `demo  mina:testnet                                           block 142  slot 188  1:02:05
─────────────────────────────────────────────────────────────────────────────────────────
queues  3 of 4 busy
a-very-long-na…a-queue  ▶                    PAUSED             0/1       by hand
claim-1                 ■■■◆····             WAITING_INCLUSION  3/8     B62qiy32…Xgg
claim-2                 ↻··················  DELAY              0/200   B62qiVGZ…KLx  ↻2
plan-1                  ■■✗!                 FREE               2/4

senders  1 of 3 bound
B62qiy32…Xgg  ● claim-1                   nonce 12      99.8 MINA
B62qiVGZ…KLx  ▲ LOW_BALANCE
B62qx         ○ free

changes
10:00:01  claim-1                 BLOCKED → WAITING_INCLUSION  u1
10:00:01  claim-2                 DELAY  u2  502
─────────────────────────────────────────────────────────────────────────────────────────
─────────────────────────────  5 of 213 done  1 failed  1 unresolved  1 retry  1 revisio…
· waiting  ▶ dispatching  ◆ revision  ↻ retry  ! unresolved  ✗ failed  ■ done
`
	if diff := cmp.Diff(want, rendered(b.Lines(89, 0), 89, false)); diff != "" {
		t.Error(diff)
	}
}

func TestBoardFits(t *testing.T) {
	t.Parallel()
	b := testBoard()
	for i := range 40 {
		b.Queues = append(b.Queues, Queue{Name: fmt.Sprintf("q%02d", i), State: "FREE"})
		b.Senders = append(b.Senders, Sender{AccountID: fmt.Sprint(i)})
		b.Events = append(b.Events, Event{Queue: fmt.Sprint("event", i)})
	}
	b.Note = "no answer"
	for height := 18; height < 60; height += 7 {
		text := rendered(b.Lines(80, height), 80, false)
		if n := strings.Count(text, "\n"); n >= height {
			t.Errorf("%d lines for a terminal of %d", n, height)
		}
		// What is busy and what came last is never left out.
		for _, want := range []string{"claim-1 ", "event39", "more queues", "more senders", "! no answer"} {
			if !strings.Contains(text, want) {
				t.Errorf("height %d lacks %q:\n%s", height, want, text)
			}
		}
	}
	for width := 1; width < 200; width += 13 {
		for l := range strings.Lines(rendered(b.Lines(width, 0), width, false)) {
			if n := len([]rune(l)) - 1; n > width {
				t.Errorf("a line of %d at width %d: %s", n, width, l)
			}
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		counts map[string]int
		room   int
		want   string
	}{
		{nil, 10, ""},
		{map[string]int{"WAITING": 10}, 10, "··········"},
		{map[string]int{"DONE": 1000000, "WAITING": 1}, 10, "■■■■■■■■■·"},
		{map[string]int{"DONE": 50, "REVISION": 1, "WAITING": 49}, 10, "■■■■■◆····"},
		{map[string]int{"DONE": 99, "FAILED": 99, "UNRESOLVED": 99, "RETRY": 1, "WAITING": 99}, 5, "■✗!↻·"},
		{map[string]int{"SOMETHING_NEW": 3, "DONE": 1}, 10, "■"},
	} {
		if got := (Queue{Counts: tc.counts}).cells(tc.room).Render(0, false); got != tc.want {
			t.Errorf("%v in %d: got %q, want %q", tc.counts, tc.room, got, tc.want)
		}
	}
}
