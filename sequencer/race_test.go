//go:build race

package sequencer_test

// raced: the race detector slows each world tenfold, so that fewer are looked at;
// without it all of them are.
const raced = true
