// Package kinds has one of everything that can be mutated. What is wanted of a line
// stands behind it: kind, what goes and what comes, with quotes around each.
package kinds

import (
	"bytes"
	"math"
	"slices"
	"time"
)

const limit = 7

var level = limit // want "constant moved: limit => (limit + 1)"

var later = 2 * time.Second // want "constant moved: 2 => 3"

var table = map[string]bool{"a": true} // want "constant moved: true => false"

var step = func(n int) int { return n + 1 } // want "constant moved: 1 => 2"

func conditions(a, b int, c bool, d func() bool) bool {
	if a < b { // want "comparison moved: < => <=" "condition negated: a < b => !(a < b)"
		return c // want "statement dropped: return c" "condition negated: c => !(c)"
	}
	for a == b { // want "comparison moved: == => !="
		a++ // want "statement dropped: a++"
	}
	ok := !c       // want "condition negated: !c => c"
	ok = d()       // want "condition negated: d() => !(d())" "statement dropped: ok = d()"
	if ok && d() { // want "condition negated: ok && d() => !(ok && d())" "condition negated: ok => !(ok)" "condition negated: d() => !(d())" "and, or exchanged: ok && d() => (ok || d())"
		level = a // want "statement dropped: level = a"
	}
	return c || ok && d() // want "condition negated: c || ok && d() => !(c || ok && d())" "condition negated: c => !(c)" "and, or exchanged: c || ok && d() => (c && (ok && d()))" "condition negated: ok => !(ok)" "condition negated: d() => !(d())" "and, or exchanged: ok && d() => (ok || d())"
}

func constants(n uint8, d time.Duration) (uint8, float64, time.Duration) {
	if n > math.MaxUint8-1 { // want "comparison moved: > => >=" "condition negated: n > math.MaxUint8-1 => !(n > math.MaxUint8-1)" "constant moved: math.MaxUint8-1 => (math.MaxUint8-1 + 1)"
		n += 255 // want "constant moved: 255 => 254" "statement dropped: n += 255"
	}
	room := make([]int, 2, 5) // want "constant moved: 2 => 3"
	names := make(map[int]bool, 9)
	var four [4]int
	_, _, _ = room, names, four
	return math.MaxUint8, 1.5, d + time.Second // want "constant moved: 1.5 => (1.5 + 1)"
}

func statements(n int, done chan int) {
	switch n {
	case 1: // want "constant moved: 1 => 2"
		conditions(n, level, true, nil) // want "statement dropped: conditions(n, level, true, nil)" "arguments swapped: n, level => level, n" "constant moved: true => false"
	case limit: // want "constant moved: limit => (limit + 1)"
		m := n              // want "statement dropped: m := n statements(m, done)"
		statements(m, done) // want "statement dropped: statements(m, done)"
	}
	switch {
	case level > n: // want "comparison moved: > => >=" "condition negated: level > n => !(level > n)"
		done <- n // want "statement dropped: done <- n"
		fallthrough
	default:
		defer close(done) // want "statement dropped: defer close(done)"
	}
	for range n {
		break // want "statement dropped: break"
	}
}

func calls(a, b []byte, n ...int) int {
	if bytes.Equal(a, b) { // want "condition negated: bytes.Equal(a, b) => !(bytes.Equal(a, b))"
		copy(a, b) // want "statement dropped: copy(a, b)" "arguments swapped: a, b => b, a"
	}
	if len(n) == 0 { // want "comparison moved: == => !=" "constant moved: 0 => 1"
		panic("none") // want "statement dropped: panic("none")"
	}
	return min(n[0], max(n[len(n)-1], slices.Min(n))) // want "min, max exchanged: min => max" "min, max exchanged: max => min" "min, max exchanged: Min => Max" "first, last exchanged: 0 => len(n)-1" "constant moved: 0 => 1" "first, last exchanged: len(n)-1 => 0" "constant moved: 1 => 2"
}

func refused(n int) int {
	if n < 0 { // want "comparison moved: < => <=" "condition negated: n < 0 => !(n < 0)" "constant moved: 0 => 1"
		return -1 // want "constant moved: -1 => 0"
	} else {
		return 1 // want "constant moved: 1 => 2"
	}
}

func recovers() {
	if r := recover(); r != nil {
		level = 0
	}
}
