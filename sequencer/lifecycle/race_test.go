//go:build race

package lifecycle

// raced: nothing here runs beside something else, so the race detector has nothing to find
// and slows each walk tenfold; without it all of them are followed.
const raced = true
