// Package explorer walks all states of small worlds that run the real decisions of
// package lifecycle: processes, senders, queues, nodes and a chain, few of each, with a
// budget of everything that can go wrong. It looks breadth first, so that the first
// state that breaks a promise is reached by the shortest story.
//
//	Store    the abstract store: what Redis and its scripts promise, in plain Go
//	State    a whole world at one instant
//	Explore  the walk, with its invariants and its counts
//
// States are told apart by what can still matter: clocks, revisions, claim counters and
// heights are folded to what is compared with them, and processes that are alike are
// exchanged. What no world can show is named in docs/testing.md.
package explorer
