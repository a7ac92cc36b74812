package senders

import (
	"mina-sequencer/sequencer/tx"
)

// A remedy is what ends that a sender is out of use.
type remedy struct {
	is, do string // what is so, and what to do, for a person
	resume bool   // it is ended by its resume
}

var remedies = map[tx.SenderReason]remedy{
	tx.OutcomeUnknown: {"nobody knows what became of a transaction that its worker may have sent",
		"look for that transaction, and say what became of it by 'sequencer txn resolve'", false},
	tx.StoppedNonce: {"somebody else used its account", "see what has, for it must not go on, and resume the sender", true},
	tx.WrongNetwork: {"its worker signs for another network", "put the worker right, and resume the sender or wait until it is asked again", true},
	tx.WrongAccount: {"its worker signs for another account", "put the worker right, and resume the sender or wait until it is asked again", true},
	tx.LowBalance:   {"it has too little to pay its fees", "send MINA to its account: it goes on by itself", false},
	tx.Draining:     {"it was taken out of use", "resume it when it is to go on", true},
	tx.Idled:        {"no process that runs could bind it", "see to what keeps them from it: it goes on by itself", false},
	tx.Rested:       {"it rests", "see to its worker, if that is away; it goes on by itself, or at once if it is resumed", true},
}

// Held reports whether a person has to see to it that s is given work again: what it is out of use for
// does not end by itself, or comes again until somebody has mended it.
func (s *Sender) Held() bool {
	return s.Reason != "" && s.Reason != tx.Rested && s.Reason != tx.Idled
}

// Why says in words why s is out of use and since when, "" if it is not.
func (s *Sender) Why() string {
	if s.Reason == "" {
		return ""
	}
	words := "is out of use"
	if !s.Since.IsZero() {
		words += " since " + s.Since.Format("2006-01-02 15:04Z")
	}
	words += ": " + remedies[s.Reason].is
	if s.Detail != "" {
		words += ", " + s.Detail
	}
	return words
}

// Remedy says what ends that s is out of use, and the command that does so, "" where none does.
func (s *Sender) Remedy() (words, command string) {
	r := remedies[s.Reason]
	if r.resume {
		command = "sequencer sender resume " + s.AccountID
	}
	return r.do, command
}
