// Package devledger simulates ledgers that take batches, for tests and demos:
// [Sawtooth], the REST API of Hyperledger Sawtooth with the validator behind
// it, and [Splinter], a node with Scabbard services. Both are HTTP handlers and
// speak as the real ones do: Sawtooth 1.2 and Splinter 0.4, 0.6 and main.
//
// What is true to them: routes, shapes, status codes and error codes; the check
// of every signature and of a batch's form; what is remembered, for how long,
// and what is forgotten when it restarts; queues that are full; batches that
// wait for a dependency, are committed in blocks or proposals after a time, are
// refused, get no verdict, or come back after a fork; what posting a batch again
// does, which is nothing on Sawtooth and a second execution on Scabbard. Bytes
// are read here anew and not by the client's code, so that no mistake can hide
// in both.
//
// What is not: consensus, gossip and the state of contracts. Whether a
// transaction is valid says a function, see [Refuse]; other validators are only
// there as what brings a batch into the chain when asked to.
//
// What goes wrong is planned by [Fault], [Plan] and [Dice], or over HTTP under
// /control/. What took effect is recorded as [Effect]. The record is never cut,
// so memory grows with it.
//
// There are no goroutines and time is package time's, so a ledger works inside
// a testing/synctest bubble. All exported methods may be called concurrently.
package devledger

import (
	"net/http"
	"time"
)

// The kinds of ledgers.
const (
	KindSawtooth = "sawtooth"
	KindScabbard = "scabbard"
)

// A Ledger is what [Sawtooth] and [Splinter] have in common.
type Ledger interface {
	// ServeHTTP serves the ledger's API, and /control/ for whoever breaks it on
	// purpose.
	http.Handler
	// Effects lists every batch that took effect, as often as it did, oldest
	// first; on Sawtooth those on the chain.
	Effects() []Effect
	// State returns a summary.
	State() State
	// Fail adds faults to those that the plan is asked after. Of several that
	// fit a call the first happens. It panics at a fault that Fault does not
	// describe.
	Fail(faults ...Fault)
	// SetPlan replaces the plan; nil takes it away.
	SetPlan(p Plan)
	// Heal takes all faults away, and breaks off what hangs.
	Heal()
	// Release breaks off all requests that hang now.
	Release()
	// Close ends the ledger: requests that wait are broken off, later ones find
	// their connection closed, and nothing happens any more. Effects and State
	// still answer.
	Close()

	control(name string, body []byte) error
}

var (
	_ Ledger = (*Sawtooth)(nil)
	_ Ledger = (*Splinter)(nil)
)

// A Refusal is why a transaction is invalid.
type Refusal struct {
	Message string
	Data    []byte // extended_data of Sawtooth, error_data of Scabbard
}

// Refuse says whether a transaction is invalid, nil if it is not. before is how
// often it has taken effect already; on Sawtooth that is never. It is called
// under the ledger's lock and must not call back.
type Refuse func(t Transaction, before int) *Refusal

// RefuseMarked is the Refuse of ledgers that are given none: whatever has a
// payload that begins with INVALID is refused.
func RefuseMarked(t Transaction, _ int) *Refusal {
	const mark = "INVALID"
	if len(t.Payload) < len(mark) || string(t.Payload[:len(mark)]) != mark {
		return nil
	}
	return &Refusal{Message: "the payload says that it is invalid", Data: t.Payload}
}

// RefuseRepeated is RefuseMarked of a contract that takes no transaction twice.
func RefuseRepeated(t Transaction, before int) *Refusal {
	if before > 0 {
		return &Refusal{Message: "it has taken effect before"}
	}
	return RefuseMarked(t, before)
}

// An Effect is a batch that took effect once.
type Effect struct {
	Batch        string    `json:"batch"`
	Transactions []string  `json:"transactions"`
	Service      string    `json:"service,omitempty"` // circuit::service it was posted to; Scabbard only
	Block        int       `json:"block,omitempty"`   // number of its block, from 1; Sawtooth only
	Times        int       `json:"times"`             // how often the batch has taken effect by then; 1 is as it should be
	At           time.Time `json:"at"`
}

// refusal is a transaction that was refused.
type refusal struct {
	id string
	Refusal
}

// judge finds the first transaction of a batch that is refused. A fate comes
// before all.
func judge(b *Batch, f Fault, refuse Refuse, before func(id string) int) *refusal {
	for _, t := range b.Transactions {
		if f.Fate == Invalid {
			return &refusal{t.ID, Refusal{f.Message, f.Data}}
		}
		if r := refuse(t, before(t.ID)); r != nil {
			return &refusal{t.ID, *r}
		}
	}
	return nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
