// Package lifecycle decides what becomes of a transaction, and does nothing else: it
// has no context, no clock, no randomness, no I/O and no log, and imports nothing of
// this project but the nouns that it decides on, of package tx, and fees.
//
//	Decide(View) Step          what is to be done next, and why
//	Learn(View, Result) Step   what a result makes of what is stored and known
//	Effects(before, after)     what else moves with a change of a record
//	Drive                      the loop around the three, one action at a time
//
// Decisions depend on levels and not on edges: whoever looks at a record, be it the
// process that stored it, the same one after a crash, or one that has taken over,
// finds the next step in it. A record is never altered; a change is a new one.
//
// Three rules stand above all others. What has landed is DONE, whatever was planned.
// While an attempt is open, that is as long as it may land, the sender stays and no
// other nonce is used. What has an Ending takes it as soon as nothing is open.
package lifecycle
