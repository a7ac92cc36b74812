//go:build !race

package sequencer_test

const raced = false
