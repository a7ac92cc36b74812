package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// A Mutant is one small mistake in one file: the bytes from Start to End become New.
type Mutant struct {
	N     int    // what the switch of the test binary knows it by, from 1; 0 while it is not chosen
	File  string // from the root of the module, with slashes
	Kind  string // what was done: one of the kinds below
	Start int
	End   int
	New   string
	Unit  *Unit
	Key   string // what equivalent.txt knows it by

	source *Source
}

const (
	negated   = "condition negated"
	moved     = "comparison moved"
	offByOne  = "constant moved"
	dropped   = "statement dropped"
	swapped   = "arguments swapped"
	connected = "and, or exchanged"
	extremes  = "min, max exchanged"
	ends      = "first, last exchanged"
)

// A Unit is a function, or what else stands at the top of a file: an edit within
// it takes the words of equivalent.txt about it back.
type Unit struct {
	Name       string
	Start, End int
}

// A Source is a file that is mutated.
type Source struct {
	File string // as in Mutant
	Path string // absolute
	Text string
}

// line is the number of the line that a byte stands in, from 1, and where that begins.
func (s *Source) line(offset int) (number, begins int) {
	before := s.Text[:offset]
	return strings.Count(before, "\n") + 1, strings.LastIndexByte(before, '\n') + 1
}

// Line is the first line of the mutation.
func (m *Mutant) Line() int {
	n, _ := m.source.line(m.Start)
	return n
}

func (m *Mutant) old() string { return m.source.Text[m.Start:m.End] }

// shown is what New is to a reader, for whom a dropped statement is gone.
func (m *Mutant) shown() string {
	if m.Kind == dropped {
		return ""
	}
	return m.New
}

// setKeys names every mutant by its file, the text of its function, its place in
// that and what it does. Twins, in functions of the same text, are counted.
func setKeys(mutants []*Mutant) {
	twins := map[string]int{}
	for _, m := range mutants {
		text := m.source.Text[m.Unit.Start:m.Unit.End]
		upTo := text[:m.Start-m.Unit.Start]
		line, column := strings.Count(upTo, "\n"), len(upTo)-strings.LastIndexByte(upTo, '\n')
		key := fmt.Sprintf("%s %s %.4x +%d:%d %s: %s", m.File, m.Unit.Name, sha256.Sum256([]byte(text)),
			line, column, m.Kind, flat(m.old()))
		if m.Kind != dropped {
			key += " => " + flat(m.New)
		}
		twins[key]++
		if n := twins[key]; n > 1 {
			key = fmt.Sprintf("%s (%d)", key, n)
		}
		m.Key = key
	}
}

// flat puts a text on one short line.
func flat(text string) string {
	const most = 80
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > most {
		return string(words[:most-1]) + "…"
	}
	return string(words)
}

// Diff shows the mutation, with the lines around it.
func (m *Mutant) Diff() string {
	text := m.source.Text
	_, from := m.source.line(m.Start)
	to := len(text)
	if i := strings.IndexByte(text[m.End:], '\n'); i >= 0 {
		to = m.End + i
	}
	var b strings.Builder
	if from > 0 {
		_, before := m.source.line(from - 1)
		fmt.Fprintf(&b, "      %s\n", text[before:from-1])
	}
	for l := range strings.Lines(text[from:to]) {
		fmt.Fprintf(&b, "    - %s\n", strings.TrimSuffix(l, "\n"))
	}
	if now := text[from:m.Start] + m.shown() + text[m.End:to]; strings.TrimSpace(now) != "" {
		for l := range strings.Lines(now) {
			fmt.Fprintf(&b, "    + %s\n", strings.TrimSuffix(l, "\n"))
		}
	}
	if to < len(text) {
		after, _, _ := strings.Cut(text[to+1:], "\n")
		fmt.Fprintf(&b, "      %s\n", after)
	}
	return b.String()
}

// sorted puts mutants in the order of their files and places, and drops those that
// make the same text as another.
func sorted(mutants []*Mutant) []*Mutant {
	slices.SortStableFunc(mutants, func(a, b *Mutant) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End),
			cmp.Compare(a.New, b.New))
	})
	return slices.CompactFunc(mutants, func(a, b *Mutant) bool {
		return a.File == b.File && a.Start == b.Start && a.End == b.End && a.New == b.New
	})
}
