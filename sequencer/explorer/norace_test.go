//go:build !race

package explorer

const raced = false
