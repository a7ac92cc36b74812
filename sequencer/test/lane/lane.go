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

func chosen() level {
	switch name := os.Getenv("TEST_LANE"); name {
	case "":
		return quick
	case "all":
		return all
	case "nightly":
		return nightly
	default:
		panic("TEST_LANE=" + name + ": wants all or nightly, or nothing")
	}
}

// All leaves a test to make test-all. why says what shows the same in make test.
func All(tb testing.TB, why string) { tb.Helper(); leave(tb, all, why) }

// Nightly leaves a test to make nightly. why says what shows the same in make test, or
// what it searches for.
func Nightly(tb testing.TB, why string) { tb.Helper(); leave(tb, nightly, why) }

func leave(tb testing.TB, to level, why string) {
	tb.Helper()
	if chosen() < to {
		tb.Skip("in a later lane: " + why)
	}
}

// Sampled says that a test of many cases looks at a part of them: in make test, and where
// the race detector slows it tenfold.
func Sampled() bool { return Raced || chosen() == quick }

// NoRace leaves out a test that the race detector would make minutes of, and in which it has
// nothing to see: hours of simulated time, or what one goroutine does by itself.
func NoRace(tb testing.TB, why string) {
	tb.Helper()
	if Raced {
		tb.Skip("not under the race detector: " + why)
	}
}
