// Package race tells tests whether the race detector looks on. It slows them tenfold, so
// that a test of many worlds looks at a part of them with it, and at all of them without.
package race
