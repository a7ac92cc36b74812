// Package tx has the nouns of the project: a transaction with its attempts, the phases of its life, what
// the chain shows of it, what a person may order, its place in a queue, which processes live, why a
// sender is out of use, and the codes of events and errors. All that is stored or told of a transaction is of these types.
//
// It decides nothing: what happens next is decided by package lifecycle. It has no context, no clock
// and no I/O. Values are not safe for concurrent change; a record that is stored is never altered
// but cloned.
package tx
