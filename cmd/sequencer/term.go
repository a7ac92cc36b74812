package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// A style is how a span looks on a terminal; elsewhere it is nothing.
type style string

const (
	plain   style = ""
	bold    style = "1"
	dim     style = "2"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	blue    style = "94"
	magenta style = "35"
	cyan    style = "36"
	alarm   style = "1;31"
)

// A span is text in one style, one terminal column per rune.
type span struct {
	text  string
	style style
}

// of is text in this style.
func (s style) of(text string) span { return span{text, s} }

// A line is drawn from left to right and cut at the terminal's edge.
type line []span

// width is the number of columns the line takes uncut.
func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// to fills with blanks up to a column.
func (l line) to(column int) line {
	if gap := column - l.width(); gap > 0 {
		return append(l, span{strings.Repeat(" ", gap), plain})
	}
	return l
}

// render makes the line at most width columns wide (0: any). Control
// characters, with which foreign text could steer the terminal, become "?".
func (l line) render(width int, colour bool) string {
	var b strings.Builder
	cut := width > 0 && l.width() > width
	left := width
	if cut {
		left--
	}
	for _, s := range l {
		text := clean(s.text)
		if cut {
			text = firstRunes(text, left)
			left -= utf8.RuneCountInString(text)
		}
		if colour && s.style != plain && text != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", s.style, text)
		} else {
			b.WriteString(text)
		}
	}
	if cut {
		b.WriteString("…")
		return b.String()
	}
	if colour {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

// clean replaces what is not printable, rune by rune.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// cleanLines makes text safe for a terminal line by line.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// shorten cuts text in the middle so that it takes at most n runes.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	tail := (n - 1) / 3
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour reports whether w should get colours: a terminal that can, and
// nobody said NO_COLOR.
func wantsColour(w io.Writer, env map[string]string) bool {
	return isTerminal(w) && env["NO_COLOR"] == "" && env["TERM"] != "dumb"
}

// A screen redraws a block of lines in place. Where the output is no terminal
// it is not Live, and Draw writes the lines one after the other.
// It is not safe for concurrent use.
type screen struct {
	w      io.Writer
	live   bool
	colour bool
	drawn  int // lines of the last block
}

func newScreen(w io.Writer, env map[string]string) *screen {
	return &screen{w: w, live: isTerminal(w) && env["TERM"] != "dumb", colour: wantsColour(w, env)}
}

// size is the room there is: the terminal's, or 100 by 0 (no limit).
func (s *screen) size() (width, height int) {
	if !s.live {
		return 100, 0
	}
	if f, ok := s.w.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 1 {
			return w, h
		}
	}
	return 80, 24
}

// Draw replaces the last block with these lines; what does not fit below the
// top of the terminal is left out.
func (s *screen) Draw(lines []line) error {
	width, height := s.size()
	if s.live && len(lines) > height-1 {
		lines = lines[:height-1]
	}
	var b strings.Builder
	if s.live {
		b.WriteString("\x1b[?25l")
		if s.drawn > 0 {
			fmt.Fprintf(&b, "\x1b[%dA", min(s.drawn, height-1))
		}
	}
	for _, l := range lines {
		b.WriteString(l.render(width, s.colour))
		if s.live {
			b.WriteString("\x1b[K")
		}
		b.WriteByte('\n')
	}
	if s.live {
		b.WriteString("\x1b[J")
	}
	s.drawn = len(lines)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Print writes lines that stay, above the block that the next Draw makes. They
// are not cut: what is longer than the terminal is wide wraps.
func (s *screen) Print(lines ...line) error {
	var b strings.Builder
	if _, height := s.size(); s.live && s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", min(s.drawn, height-1))
	}
	for _, l := range lines {
		b.WriteString(l.render(0, s.colour))
		b.WriteByte('\n')
	}
	s.drawn = 0
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Close gives the cursor back and leaves the last block standing.
func (s *screen) Close() error {
	s.drawn = 0
	if !s.live {
		return nil
	}
	_, err := io.WriteString(s.w, "\x1b[?25h")
	return err
}

// bar is a horizontal bar of width columns, part of whole filled.
func bar(part, whole, width int, s style) line {
	filled := 0
	if whole > 0 {
		filled = min(max(part, 0)*width/whole, width)
	}
	return line{{strings.Repeat("━", filled), s}, {strings.Repeat("─", width-filled), dim}}
}

// table aligns rows in columns; the first row is the head.
func table(rows []line) []line {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.text))
		}
	}
	lines := make([]line, len(rows))
	for r, row := range rows {
		column := 0
		for i, cell := range row {
			if r == 0 {
				cell.style = dim
			}
			lines[r] = append(lines[r].to(column), cell)
			column += widths[i] + 2
		}
	}
	return lines
}

// prefixed is text behind a prefix, or nothing without text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
