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
			cells = append(cells, look.style.of(strings.Repeat(look.glyph, shares[i])))
		}
	}
	return cells
}

// lines draws the board for a terminal of this size; height 0 has no limit.
func (b board) lines(width, height int) []line {
	width = min(max(width, 40), 140)
	rule := line{dim.of(strings.Repeat("─", width))}
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
		lines = append(lines, line{}, line{bold.of("changes")})
		lines = append(lines, events...)
	}
	lines = append(lines, rule, b.totalLine(width), legend())
	if b.Note != "" {
		lines = append(lines, line{alarm.of("! " + b.Note)})
	}
	return lines
}

func title(name string, part, whole int, word string) line {
	return line{bold.of(name), dim.of(fmt.Sprintf("  %d of %d %s", part, whole, word))}
}

func legend() line {
	var l line
	for _, look := range slices.Backward(looks()) {
		l = append(l, look.style.of(look.glyph), dim.of(" "+look.word+"  "))
	}
	return l
}

func fit(lines []line, room int, what string) []line {
	if len(lines) <= room {
		return lines
	}
	rest := fmt.Sprintf("  … and %d more %s", len(lines)-room+1, what)
	return append(slices.Clone(lines[:room-1]), line{dim.of(rest)})
}

func (b board) headLine(width int) line {
	left := line{bold.of(cmp.Or(b.Title, "sequencer"))}
	if b.Network != "" {
		left = append(left, dim.of("  "+b.Network))
	}
	var right line
	if b.Height > 0 {
		right = line{dim.of("block "), cyan.of(strconv.FormatUint(b.Height, 10)), dim.of("  slot "), cyan.of(strconv.FormatUint(b.Slot, 10)), plain.of("  ")}
	}
	right = append(right, dim.of(clockText(b.Elapsed)))
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
		l := line{plain.of(shorten(q.Name, name))}.to(name + 2)
		l = append(l, q.cells(room)...).to(name + 2 + room + 2)
		state := q.State
		if q.Paused {
			state = "PAUSED"
		}
		l = append(l, stateStyle(q.State).of(state)).to(name + room + 4 + 19)
		l = append(l, plain.of(fmt.Sprintf("%d/%d", q.Counts["DONE"], q.total()))).to(name + room + 4 + 19 + 8)
		if q.Sender != "" {
			l = append(l, cyan.of(shorten(q.Sender, 12)))
		}
		if q.Retries > 0 {
			l = append(l, magenta.of(fmt.Sprintf("  ↻%d", q.Retries)))
		}
		if q.Reason != "" {
			l = append(l, red.of("  "+q.Reason))
		}
		lines = append(lines, l)
	}
	return lines
}

func (b board) senderLines() []line {
	var lines []line
	for _, s := range b.Senders {
		l := line{cyan.of(shorten(s.AccountID, 12))}.to(14)
		switch {
		case s.Reason != "":
			l = append(l, red.of("▲ "+s.Reason))
		case s.Queue != "":
			l = append(l, plain.of("● "+shorten(s.Queue, 22)))
		default:
			l = append(l, dim.of("○ free"))
		}
		l = l.to(42)
		if s.Nonce != "" {
			l = append(l, dim.of("nonce "+s.Nonce)).to(56)
		}
		if s.Balance != "" {
			l = append(l, dim.of(s.Balance+" MINA"))
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
	l := line{dim.of(e.At.Format(time.TimeOnly) + "  "), plain.of(shorten(e.Queue, 22))}.to(34)
	if e.From != "" {
		l = append(l, stateStyle(e.From).of(e.From), dim.of(" → "))
	}
	l = append(l, stateStyle(e.To).of(e.To), dim.of("  "+shorten(e.UID, 18)))
	if e.Detail != "" {
		l = append(l, plain.of("  "+e.Detail))
	}
	if e.Extra != "" {
		l = append(l, red.of("  "+e.Extra))
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
	l = append(l, bold.of(fmt.Sprintf("  %d of %d done", sum["DONE"], total)))
	for _, look := range looks()[1:] {
		if n := sum[look.state]; n > 0 {
			l = append(l, look.style.of(fmt.Sprintf("  %d %s", n, look.word)))
		}
	}
	return l
}
