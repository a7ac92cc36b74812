//go:build race

package race

// Enabled says whether this is built with the race detector.
const Enabled = true
