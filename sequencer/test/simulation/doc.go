// Package simulation holds a test, and nothing of the program: it makes a small world from
// a seed, runs the whole service in it while calls are lost, processes die, nodes lag and
// Redis fails over, and holds the promises against what the store and the chain say then.
package simulation
