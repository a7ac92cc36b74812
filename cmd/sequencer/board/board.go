// Package board draws a running service on a terminal: its queues, its senders and the last
// changes, each state with its colour. It reads them over HTTP; watch and the demo show it.
package board

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/cmd/sequencer/terminal"
)

// A Board is one moment of a running sequencer, for a live view.
type Board struct {
	Title   string
	Network string // "" where unknown
	Height  uint64 // of the chain's tip; 0 where unknown
	Slot    uint64
	Elapsed time.Duration
	Queues  []Queue
	Senders []Sender
	Events  []Event // oldest first; the last ones are shown
	Note    string  // shown as a warning, such as why nothing can be read
}

// A Queue is one queue and how many of its transactions are in each state.
type Queue struct {
	Name, State, Sender, Running string
	Retries                      int
	Paused                       bool
	Reason                       string
	Counts                       map[string]int
}

// A Sender is one fee payer.
type Sender struct {
	AccountID, State, Queue, Nonce, Balance string
	Available                               bool
	Reason                                  string
}

// An Event is one change of a transaction or queue.
type Event struct {
	At                   time.Time
	Queue, UID, From, To string
	Detail               string // more to know, where there is no board to show it
	Extra                string // what went wrong
}

// A Look is how a state of a transaction is drawn.
type Look struct {
	State, Glyph, Word string
	Style              terminal.Style
}

// Looks says how each state is drawn; the order is that of a cell's way from right to
// left: what waits comes last, what is done stands first.
func Looks() []Look {
	return []Look{
		{"DONE", "■", "done", terminal.Green},
		{"FAILED", "✗", "failed", terminal.Red},
		{"UNRESOLVED", "!", "unresolved", terminal.Alarm},
		{"RETRY", "↻", "retry", terminal.Magenta},
		{"REVISION", "◆", "revision", terminal.Blue},
		{"DISPATCHING", "▶", "dispatching", terminal.Yellow},
		{"WAITING", "·", "waiting", terminal.Dim},
	}
}

// StyleOf is the colour of a transaction's or queue's state.
func StyleOf(state string) terminal.Style {
	switch state {
	case "BLOCKED":
		return terminal.Yellow
	case "INCLUSION", "WAITING_INCLUSION":
		return terminal.Blue
	case "DELAY":
		return terminal.Magenta
	case "FREE", "":
		return terminal.Dim
	}
	for _, look := range Looks() {
		if look.State == state {
			return look.Style
		}
	}
	return terminal.Plain
}

// active reports whether something of the queue is under way.
func (q Queue) active() bool { return q.Running != "" || (q.State != "FREE" && q.State != "") }

func (q Queue) total() int {
	n := 0
	for _, count := range q.Counts {
		n += count
	}
	return n
}

// cells draws one cell per transaction. Where they do not fit, each state gets
// its share of the room, and at least one cell.
func (q Queue) cells(room int) terminal.Line {
	var cells terminal.Line
	total, left := q.total(), room
	shares := make([]int, len(Looks()))
	for i, look := range Looks() {
		shares[i] = q.Counts[look.State]
		if total > room && shares[i] > 0 {
			shares[i] = max(1, shares[i]*room/total)
		}
		left -= shares[i]
	}
	for ; left < 0; left++ {
		largest := slices.Index(shares, slices.Max(shares))
		shares[largest]--
	}
	for i, look := range Looks() {
		if shares[i] > 0 {
			cells = append(cells, look.Style.Of(strings.Repeat(look.Glyph, shares[i])))
		}
	}
	return cells
}

// Lines draws the board for a terminal of this size; height 0 has no limit.
func (b Board) Lines(width, height int) []terminal.Line {
	width = min(max(width, 40), 140)
	rule := terminal.Line{terminal.Dim.Of(strings.Repeat("─", width))}
	queues, senders := b.queueLines(width), b.senderLines()
	events := b.eventLines()
	if height > 0 {
		// Head, foot, titles and blank lines take 12 rows. Queues come first,
		// changes get what is left, at least one line.
		room := max(height-12, 6)
		senders = fit(senders, max(2, room/3), "senders")
		queues = fit(queues, max(3, room-len(senders)-1), "queues")
		events = events[len(events)-min(len(events), max(1, room-len(senders)-len(queues))):]
	}
	lines := []terminal.Line{b.headLine(width), rule}
	busy, bound := 0, 0
	for _, q := range b.Queues {
		if q.active() {
			busy++
		}
	}
	for _, s := range b.Senders {
		if s.Queue != "" {
			bound++
		}
	}
	lines = append(lines, title("queues", busy, len(b.Queues), "busy"))
	lines = append(lines, queues...)
	lines = append(lines, terminal.Line{}, title("senders", bound, len(b.Senders), "bound"))
	lines = append(lines, senders...)
	if len(events) > 0 {
		lines = append(lines, terminal.Line{}, terminal.Line{terminal.Bold.Of("changes")})
		lines = append(lines, events...)
	}
	lines = append(lines, rule, b.totalLine(width), legend())
	if b.Note != "" {
		lines = append(lines, terminal.Line{terminal.Alarm.Of("! " + b.Note)})
	}
	return lines
}

func title(name string, part, whole int, word string) terminal.Line {
	return terminal.Line{terminal.Bold.Of(name), terminal.Dim.Of(fmt.Sprintf("  %d of %d %s", part, whole, word))}
}

func legend() terminal.Line {
	var l terminal.Line
	for _, look := range slices.Backward(Looks()) {
		l = append(l, look.Style.Of(look.Glyph), terminal.Dim.Of(" "+look.Word+"  "))
	}
	return l
}

func fit(lines []terminal.Line, room int, what string) []terminal.Line {
	if len(lines) <= room {
		return lines
	}
	rest := fmt.Sprintf("  … and %d more %s", len(lines)-room+1, what)
	return append(slices.Clone(lines[:room-1]), terminal.Line{terminal.Dim.Of(rest)})
}

func (b Board) headLine(width int) terminal.Line {
	left := terminal.Line{terminal.Bold.Of(cmp.Or(b.Title, "sequencer"))}
	if b.Network != "" {
		left = append(left, terminal.Dim.Of("  "+b.Network))
	}
	var right terminal.Line
	if b.Height > 0 {
		right = terminal.Line{terminal.Dim.Of("block "), terminal.Cyan.Of(strconv.FormatUint(b.Height, 10)), terminal.Dim.Of("  slot "), terminal.Cyan.Of(strconv.FormatUint(b.Slot, 10)), terminal.Plain.Of("  ")}
	}
	right = append(right, terminal.Dim.Of(clockText(b.Elapsed)))
	return append(left.To(width-right.Width()), right...)
}

func clockText(d time.Duration) string {
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

func (b Board) queueLines(width int) []terminal.Line {
	// A steady order is easier to watch than a sorted one; only where the list
	// is long do the busy ones come first.
	queues := slices.Clone(b.Queues)
	slices.SortStableFunc(queues, func(x, y Queue) int {
		if len(queues) > 12 && x.active() != y.active() {
			return map[bool]int{true: -1, false: 1}[x.active()]
		}
		return cmp.Compare(x.Name, y.Name)
	})
	name, room := 8, min(32, max(10, width-70))
	for _, q := range queues {
		name = max(name, min(22, len(q.Name)))
	}
	var lines []terminal.Line
	for _, q := range queues {
		l := terminal.Line{terminal.Plain.Of(terminal.Shorten(q.Name, name))}.To(name + 2)
		l = append(l, q.cells(room)...).To(name + 2 + room + 2)
		state := q.State
		if q.Paused {
			state = "PAUSED"
		}
		l = append(l, StyleOf(q.State).Of(state)).To(name + room + 4 + 19)
		l = append(l, terminal.Plain.Of(fmt.Sprintf("%d/%d", q.Counts["DONE"], q.total()))).To(name + room + 4 + 19 + 8)
		if q.Sender != "" {
			l = append(l, terminal.Cyan.Of(terminal.Shorten(q.Sender, 12)))
		}
		if q.Retries > 0 {
			l = append(l, terminal.Magenta.Of(fmt.Sprintf("  ↻%d", q.Retries)))
		}
		if q.Reason != "" {
			l = append(l, terminal.Red.Of("  "+q.Reason))
		}
		lines = append(lines, l)
	}
	return lines
}

func (b Board) senderLines() []terminal.Line {
	var lines []terminal.Line
	for _, s := range b.Senders {
		l := terminal.Line{terminal.Cyan.Of(terminal.Shorten(s.AccountID, 12))}.To(14)
		switch {
		case s.Reason != "":
			l = append(l, terminal.Red.Of("▲ "+s.Reason))
		case s.Queue != "":
			l = append(l, terminal.Plain.Of("● "+terminal.Shorten(s.Queue, 22)))
		default:
			l = append(l, terminal.Dim.Of("○ free"))
		}
		l = l.To(42)
		if s.Nonce != "" {
			l = append(l, terminal.Dim.Of("nonce "+s.Nonce)).To(56)
		}
		if s.Balance != "" {
			l = append(l, terminal.Dim.Of(s.Balance+" MINA"))
		}
		lines = append(lines, l)
	}
	return lines
}

func (b Board) eventLines() []terminal.Line {
	var lines []terminal.Line
	for _, e := range b.Events {
		e.Detail = "" // the cells show it
		lines = append(lines, e.Line())
	}
	return lines
}

// Line draws the change as one line, the same for the board and for a log.
func (e Event) Line() terminal.Line {
	l := terminal.Line{terminal.Dim.Of(e.At.Format(time.TimeOnly) + "  "), terminal.Plain.Of(terminal.Shorten(e.Queue, 22))}.To(34)
	if e.From != "" {
		l = append(l, StyleOf(e.From).Of(e.From), terminal.Dim.Of(" → "))
	}
	l = append(l, StyleOf(e.To).Of(e.To), terminal.Dim.Of("  "+terminal.Shorten(e.UID, 18)))
	if e.Detail != "" {
		l = append(l, terminal.Plain.Of("  "+e.Detail))
	}
	if e.Extra != "" {
		l = append(l, terminal.Red.Of("  "+e.Extra))
	}
	return l
}

func (b Board) totalLine(width int) terminal.Line {
	sum := map[string]int{}
	total := 0
	for _, q := range b.Queues {
		for state, n := range q.Counts {
			sum[state] += n
		}
		total += q.total()
	}
	l := terminal.Bar(sum["DONE"], total, min(30, width/3), terminal.Green)
	l = append(l, terminal.Bold.Of(fmt.Sprintf("  %d of %d done", sum["DONE"], total)))
	for _, look := range Looks()[1:] {
		if n := sum[look.State]; n > 0 {
			l = append(l, look.Style.Of(fmt.Sprintf("  %d %s", n, look.Word)))
		}
	}
	return l
}
