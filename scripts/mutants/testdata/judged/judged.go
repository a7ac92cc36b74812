// Package judged has a good test, which lets nothing pass but what changes nothing, and
// a weak one.
package judged

import "embed"

//go:embed lua/*.lua
var scripts embed.FS

// Script is the source of a script.
func Script(name string) string {
	b, err := scripts.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Greatest is the greater of two.
func Greatest(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Count counts down and answers how many steps that took.
func Count(n int) (steps int) {
	for n > 0 {
		n--
		steps++
	}
	return steps
}

// Phase is a name for a number.
func Phase(n int) string {
	switch n {
	case 1:
		return "one"
	case 2:
		return "two"
	}
	return Join("more", "less")
}

// Join puts a before b.
func Join(a, b string) string { return a + b }

// Unused is what no test comes to.
func Unused(a bool) bool { return !a }

var bonus = 3

type tally int

func (t *tally) add(n int) { *t += tally(n) }

// Total is n and the bonus.
func Total(n int) int {
	var t tally
	t.add(n)
	t.add(bonus)
	return int(t)
}
