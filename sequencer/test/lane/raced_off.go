//go:build !race

package lane

// Raced says whether this is built with the race detector.
const Raced = false
