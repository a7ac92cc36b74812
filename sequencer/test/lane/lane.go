// Package lane says which tests run when. A test names its lane itself, with the reason, so
// that no list of names has to be kept beside it:
//
//	make test      what shows each promise once, in minutes: every test that says nothing
//	make test-all  also what calls All: what shows it again, on more worlds or servers
//	make nightly   also what calls Nightly: walks to the end, kills and seeds in numbers
//
// The environment variable TEST_LANE chooses: empty, "all" or "nightly".
package lane

import (
	"os"
	"testing"
)

// A level is how much is run.
type level int

const (
	quick level = iota
	all
	nightly
)

func chosen(tb testing.TB) level {
	switch name := os.Getenv("TEST_LANE"); name {
	case "":
		return quick
	case "all":
		return all
	case "nightly":
		return nightly
	default:
		tb.Fatalf("TEST_LANE=%q: wants all or nightly, or nothing", name)
		return quick
	}
}

// All leaves a test to make test-all. why says what shows the same in make test.
func All(tb testing.TB, why string) { tb.Helper(); leave(tb, all, why) }

// Nightly leaves a test to make nightly. why says what shows the same in make test, or
// what it searches for.
func Nightly(tb testing.TB, why string) { tb.Helper(); leave(tb, nightly, why) }

func leave(tb testing.TB, to level, why string) {
	tb.Helper()
	if chosen(tb) < to {
		tb.Skip("in a later lane: " + why)
	}
}

// Part is how many of some a test looks at: quickly of them in make test, or where the race
// detector slows it; else all of them.
func Part(tb testing.TB, quickly, of int) int {
	tb.Helper()
	if Raced || chosen(tb) == quick {
		return min(quickly, of)
	}
	return of
}

// NoRace leaves out a test that the race detector would make minutes of, and in which it has
// nothing to see: hours of simulated time, or what one goroutine does by itself.
func NoRace(tb testing.TB, why string) {
	tb.Helper()
	if Raced {
		tb.Skip("not under the race detector: " + why)
	}
}
