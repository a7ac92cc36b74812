//go:build race

package explorer

// raced: the race detector slows the walk tenfold, so that one world is enough; without
// it all of them are walked.
const raced = true
