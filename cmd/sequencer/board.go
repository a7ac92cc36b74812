package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A board is one moment of a running sequencer, for a live view.
type board struct {
	Title   string
	Network string // "" where unknown
	Height  uint64 // of the chain's tip; 0 where unknown
	Slot    uint64
	Elapsed time.Duration
	Queues  []boardQueue
	Senders []boardSender
	Events  []boardEvent // oldest first; the last ones are shown
	Note    string       // shown as a warning, such as why nothing can be read
}

// A boardQueue is one queue and how many of its transactions are in each state.
type boardQueue struct {
	Name, State, Sender, Running string
	Retries                      int
	Paused                       bool
	Reason                       string
	Counts                       map[string]int
}

// A boardSender is one fee payer.
type boardSender struct {
	AccountID, State, Queue, Nonce, Balance string
	Available                               bool
	Reason                                  string
}

// A boardEvent is one change of a transaction or queue.
type boardEvent struct {
	At                   time.Time
	Queue, UID, From, To string
	Detail               string // more to know, where there is no board to show it
	Extra                string // what went wrong
}

// looks says how a transaction's state is drawn; the order is that of a cell's
// way from right to left: what waits comes last, what is done stands first.
func looks() []struct {
	state, glyph, word string
	style              style
} {
	return []struct {
		state, glyph, word string
		style              style
	}{
		{"DONE", "■", "done", green},
		{"FAILED", "✗", "failed", red},
		{"UNRESOLVED", "!", "unresolved", alarm},
		{"RETRY", "↻", "retry", magenta},
		{"REVISION", "◆", "revision", blue},
		{"DISPATCHING", "▶", "dispatching", yellow},
		{"WAITING", "·", "waiting", dim},
	}
}

// stateStyle is the colour of a transaction's or queue's state.
func stateStyle(state string) style {
	switch state {
	case "BLOCKED":
		return yellow
	case "INCLUSION", "WAITING_INCLUSION":
		return blue
	case "DELAY":
		return magenta
	case "FREE", "":
		return dim
	}
	for _, look := range looks() {
		if look.state == state {
			return look.style
		}
	}
	return plain
}

// active reports whether something of the queue is under way.
func (q boardQueue) active() bool { return q.Running != "" || (q.State != "FREE" && q.State != "") }

func (q boardQueue) total() int {
	n := 0
	for _, count := range q.Counts {
		n += count
	}
	return n
}

// cells draws one cell per transaction. Where they do not fit, each state gets
// its share of the room, and at least one cell.
func (q boardQueue) cells(room int) line {
	var cells line
	total, left := q.total(), room
	shares := make([]int, len(looks()))
	for i, look := range looks() {
		shares[i] = q.Counts[look.state]
		if total > room && shares[i] > 0 {
			shares[i] = max(1, shares[i]*room/total)
		}
		left -= shares[i]
	}
	for ; left < 0; left++ {
		largest := slices.Index(shares, slices.Max(shares))
		shares[largest]--
	}
	for i, look := range looks() {
		if shares[i] > 0 {
			cells = append(cells, span{strings.Repeat(look.glyph, shares[i]), look.style})
		}
	}
	return cells
}

// lines draws the board for a terminal of this size; height 0 has no limit.
func (b board) lines(width, height int) []line {
	width = min(max(width, 40), 140)
	rule := line{{strings.Repeat("─", width), dim}}
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
	lines := []line{b.headLine(width), rule}
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
	lines = append(lines, line{}, title("senders", bound, len(b.Senders), "bound"))
	lines = append(lines, senders...)
	if len(events) > 0 {
		lines = append(lines, line{}, line{{"changes", bold}})
		lines = append(lines, events...)
	}
	lines = append(lines, rule, b.totalLine(width), legend())
	if b.Note != "" {
		lines = append(lines, line{{"! " + b.Note, alarm}})
	}
	return lines
}

func title(name string, part, whole int, word string) line {
	return line{{name, bold}, {fmt.Sprintf("  %d of %d %s", part, whole, word), dim}}
}

func legend() line {
	var l line
	for _, look := range slices.Backward(looks()) {
		l = append(l, span{look.glyph, look.style}, span{" " + look.word + "  ", dim})
	}
	return l
}

func fit(lines []line, room int, what string) []line {
	if len(lines) <= room {
		return lines
	}
	rest := fmt.Sprintf("  … and %d more %s", len(lines)-room+1, what)
	return append(slices.Clone(lines[:room-1]), line{{rest, dim}})
}

func (b board) headLine(width int) line {
	left := line{{cmp.Or(b.Title, "sequencer"), bold}}
	if b.Network != "" {
		left = append(left, span{"  " + b.Network, dim})
	}
	var right line
	if b.Height > 0 {
		right = line{{"block ", dim}, {strconv.FormatUint(b.Height, 10), cyan}, {"  slot ", dim}, {strconv.FormatUint(b.Slot, 10), cyan}, {"  ", plain}}
	}
	right = append(right, span{clockText(b.Elapsed), dim})
	return append(left.to(width-right.width()), right...)
}

func clockText(d time.Duration) string {
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

func (b board) queueLines(width int) []line {
	// A steady order is easier to watch than a sorted one; only where the list
	// is long do the busy ones come first.
	queues := slices.Clone(b.Queues)
	slices.SortStableFunc(queues, func(x, y boardQueue) int {
		if len(queues) > 12 && x.active() != y.active() {
			return map[bool]int{true: -1, false: 1}[x.active()]
		}
		return cmp.Compare(x.Name, y.Name)
	})
	name, room := 8, min(32, max(10, width-70))
	for _, q := range queues {
		name = max(name, min(22, len(q.Name)))
	}
	var lines []line
	for _, q := range queues {
		l := line{{shorten(q.Name, name), plain}}.to(name + 2)
		l = append(l, q.cells(room)...).to(name + 2 + room + 2)
		state := q.State
		if q.Paused {
			state = "PAUSED"
		}
		l = append(l, span{state, stateStyle(q.State)}).to(name + room + 4 + 19)
		l = append(l, span{fmt.Sprintf("%d/%d", q.Counts["DONE"], q.total()), plain}).to(name + room + 4 + 19 + 8)
		if q.Sender != "" {
			l = append(l, span{shorten(q.Sender, 12), cyan})
		}
		if q.Retries > 0 {
			l = append(l, span{fmt.Sprintf("  ↻%d", q.Retries), magenta})
		}
		if q.Reason != "" {
			l = append(l, span{"  " + q.Reason, red})
		}
		lines = append(lines, l)
	}
	return lines
}

func (b board) senderLines() []line {
	var lines []line
	for _, s := range b.Senders {
		l := line{{shorten(s.AccountID, 12), cyan}}.to(14)
		switch {
		case s.Reason != "":
			l = append(l, span{"▲ " + s.Reason, red})
		case s.Queue != "":
			l = append(l, span{"● " + shorten(s.Queue, 22), plain})
		default:
			l = append(l, span{"○ free", dim})
		}
		l = l.to(42)
		if s.Nonce != "" {
			l = append(l, span{"nonce " + s.Nonce, dim}).to(56)
		}
		if s.Balance != "" {
			l = append(l, span{s.Balance + " MINA", dim})
		}
		lines = append(lines, l)
	}
	return lines
}

func (b board) eventLines() []line {
	var lines []line
	for _, e := range b.Events {
		e.Detail = "" // the cells show it
		lines = append(lines, e.line())
	}
	return lines
}

// line draws the change as one line, the same for the board and for a log.
func (e boardEvent) line() line {
	l := line{{e.At.Format(time.TimeOnly) + "  ", dim}, {shorten(e.Queue, 22), plain}}.to(34)
	if e.From != "" {
		l = append(l, span{e.From, stateStyle(e.From)}, span{" → ", dim})
	}
	l = append(l, span{e.To, stateStyle(e.To)}, span{"  " + shorten(e.UID, 18), dim})
	if e.Detail != "" {
		l = append(l, span{"  " + e.Detail, plain})
	}
	if e.Extra != "" {
		l = append(l, span{"  " + e.Extra, red})
	}
	return l
}

func (b board) totalLine(width int) line {
	sum := map[string]int{}
	total := 0
	for _, q := range b.Queues {
		for state, n := range q.Counts {
			sum[state] += n
		}
		total += q.total()
	}
	l := bar(sum["DONE"], total, min(30, width/3), green)
	l = append(l, span{fmt.Sprintf("  %d of %d done", sum["DONE"], total), bold})
	for _, look := range looks()[1:] {
		if n := sum[look.state]; n > 0 {
			l = append(l, span{fmt.Sprintf("  %d %s", n, look.word), look.style})
		}
	}
	return l
}
