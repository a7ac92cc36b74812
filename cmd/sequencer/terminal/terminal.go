// Package terminal writes for people: lines of text in styles, tables, and a block of lines
// that is redrawn in place. Where the output is no terminal, text is all that is left of it.
// Any package of the program may use it; it knows none of them.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// A Style is how a span looks on a terminal; elsewhere it is nothing.
type Style string

// The styles, as the numbers of their control sequences.
const (
	Plain   Style = ""
	Bold    Style = "1"
	Dim     Style = "2"
	Red     Style = "31"
	Green   Style = "32"
	Yellow  Style = "33"
	Blue    Style = "94"
	Magenta Style = "35"
	Cyan    Style = "36"
	Alarm   Style = "1;31"
)

// A Span is text in one style, one terminal column per rune.
type Span struct {
	Text  string
	Style Style
}

// Of is text in this style.
func (s Style) Of(text string) Span { return Span{text, s} }

// A Line is drawn from left to right and cut at the terminal's edge.
type Line []Span

// Width is the number of columns the line takes uncut.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.Text)
	}
	return n
}

// To fills with blanks up to a column.
func (l Line) To(column int) Line {
	if gap := column - l.Width(); gap > 0 {
		return append(l, Span{strings.Repeat(" ", gap), Plain})
	}
	return l
}

// Render makes the line at most width columns wide (0: any). Control
// characters, with which foreign text could steer the terminal, become "?".
func (l Line) Render(width int, colour bool) string {
	var b strings.Builder
	cut := width > 0 && l.Width() > width
	left := width
	if cut {
		left--
	}
	for _, s := range l {
		text := Clean(s.Text)
		if cut {
			text = firstRunes(text, left)
			left -= utf8.RuneCountInString(text)
		}
		if colour && s.Style != Plain && text != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", s.Style, text)
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

// Clean replaces what is not printable, rune by rune.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// CleanLines makes text safe for a terminal line by line.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = Clean(l)
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

// Shorten cuts text in the middle so that it takes at most n runes.
func Shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	tail := (n - 1) / 3
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour reports whether w should get colours: a terminal that can, and
// nobody said NO_COLOR.
func wantsColour(w io.Writer, env map[string]string) bool {
	return Is(w) && env["NO_COLOR"] == "" && env["TERM"] != "dumb"
}

// A Screen redraws a block of lines in place. Where the output is no terminal
// it is not Live, and Draw writes the lines one after the other.
// It is not safe for concurrent use.
type Screen struct {
	// Live says that the output is a terminal, on which a block can be redrawn.
	Live bool

	w      io.Writer
	colour bool
	drawn  int // lines of the last block
}

// NewScreen writes to w, in colours where w is a terminal and env does not forbid them.
func NewScreen(w io.Writer, env map[string]string) *Screen {
	return &Screen{w: w, Live: Is(w) && env["TERM"] != "dumb", colour: wantsColour(w, env)}
}

// Size is the room there is: the terminal's, or 100 by 0 (no limit).
func (s *Screen) Size() (width, height int) {
	if !s.Live {
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
func (s *Screen) Draw(lines []Line) error {
	width, height := s.Size()
	if s.Live && len(lines) > height-1 {
		lines = lines[:height-1]
	}
	var b strings.Builder
	if s.Live {
		b.WriteString("\x1b[?25l")
		if s.drawn > 0 {
			fmt.Fprintf(&b, "\x1b[%dA", min(s.drawn, height-1))
		}
	}
	for _, l := range lines {
		b.WriteString(l.Render(width, s.colour))
		if s.Live {
			b.WriteString("\x1b[K")
		}
		b.WriteByte('\n')
	}
	if s.Live {
		b.WriteString("\x1b[J")
	}
	s.drawn = len(lines)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Print writes lines that stay, above the block that the next Draw makes. They
// are not cut: what is longer than the terminal is wide wraps.
func (s *Screen) Print(lines ...Line) error {
	var b strings.Builder
	if _, height := s.Size(); s.Live && s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", min(s.drawn, height-1))
	}
	for _, l := range lines {
		b.WriteString(l.Render(0, s.colour))
		b.WriteByte('\n')
	}
	s.drawn = 0
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Close gives the cursor back and leaves the last block standing.
func (s *Screen) Close() error {
	s.drawn = 0
	if !s.Live {
		return nil
	}
	_, err := io.WriteString(s.w, "\x1b[?25h")
	return err
}

// Bar is a horizontal bar of width columns, part of whole filled.
func Bar(part, whole, width int, s Style) Line {
	filled := 0
	if whole > 0 {
		filled = min(max(part, 0)*width/whole, width)
	}
	return Line{{strings.Repeat("━", filled), s}, {strings.Repeat("─", width-filled), Dim}}
}

// Table aligns rows in columns, cell by cell; the first row is the head.
func Table(rows []Line) []Line {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	lines := make([]Line, len(rows))
	for r, row := range rows {
		column := 0
		for i, cell := range row {
			if r == 0 {
				cell.Style = Dim
			}
			lines[r] = append(lines[r].To(column), cell)
			column += widths[i] + 2
		}
	}
	return lines
}

// Prefixed is text behind a prefix, or nothing without text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
