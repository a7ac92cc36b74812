package tx

import (
	"encoding/json"
	"time"
)

// A Submission is what a batch is to Hyperledger Grid, in its words. It is read off the record, and
// decides nothing.
type Submission struct {
	// Submitted: the submitter has the batch and is doing something with it, or is done with it. It is
	// false while the batch waits for its turn, or for being tried again.
	Submitted bool
	Status    DLTStatus
	// Error is why it ended without a verdict of its ledger on what it does; nil otherwise.
	Error *Error
	// TriedAt is when it was last begun to be posted; zero if it never was.
	TriedAt time.Time
	// Settled: it is over, and watched no more.
	Settled bool
}

// DLTStatus is the status of a batch.
type DLTStatus string

// All statuses. "" is that of what was never submitted.
const (
	DLTUnknown   DLTStatus = "Unknown"   // its ledger does not know it
	DLTDelayed   DLTStatus = "Delayed"   // submitting it went wrong, and is tried again
	DLTPending   DLTStatus = "Pending"   // its ledger has it
	DLTValid     DLTStatus = "Valid"     // executed, not yet agreed upon
	DLTInvalid   DLTStatus = "Invalid"   // executed, and refused
	DLTCommitted DLTStatus = "Committed" // in the ledger
)

// Submission returns what a batch is in Grid's words. says is what its ledger says of it, one of
// UNKNOWN, PENDING, VALID, COMMITTED and INVALID; "" where nobody has asked: then what is stored speaks.
// That it is committed, or refused, counts once it is stored.
func (t *Transaction) Submission(says string) Submission {
	s := Submission{Submitted: true, Settled: t.Phase.Final() && !t.Watched()}
	if a := t.Last(); a != nil {
		s.TriedAt = a.StartedAt
	}
	switch t.State() {
	case Waiting:
		s.Submitted, s.Status = false, t.before()
	case Dispatching:
		s.Status = t.before()
	case Retry:
		s.Submitted, s.Status = false, DLTDelayed
	case Revision:
		s.Status = t.standing(says)
		s.Submitted = s.Status != DLTUnknown
	case Done:
		s.Status = DLTCommitted
	case Failed, Unresolved:
		switch {
		case t.refusedThere():
			s.Status = DLTInvalid
		case t.Open():
			s.Error, s.Status = t.Error, t.standing(says)
		default:
			s.Error = t.Error
		}
	}
	return s
}

// refusedThere: its ledger has executed it, and refused it.
func (t *Transaction) refusedThere() bool {
	a := t.Last()
	return a != nil && (a.State == Invalid || a.Failed())
}

// AtLedger reports whether what its ledger says now tells what t is to Grid.
func (t *Transaction) AtLedger() bool {
	return t.Ledger != "" && t.Open() && t.State() != Dispatching && !t.refusedThere()
}

// before is the status of what is not at its ledger: Delayed if it was tried before.
func (t *Transaction) before() DLTStatus {
	tries := len(t.Attempts)
	if t.Open() && t.Deferred == 0 {
		tries--
	}
	if tries > 0 {
		return DLTDelayed
	}
	return ""
}

// standing is the status of what is at its ledger, or may be.
func (t *Transaction) standing(says string) DLTStatus {
	switch says {
	case "UNKNOWN":
		return DLTUnknown
	case "VALID":
		return DLTValid
	case "":
	default:
		return DLTPending
	}
	switch a := t.FirstOpen(); {
	case a == nil, t.Phase == PhaseSent && a.State == Unknown:
		return DLTDelayed
	case t.Phase == PhaseSent, a.State == Pooled:
		return DLTPending
	}
	return DLTUnknown
}

// A BatchTransaction is one transaction of a batch, with what its ledger made of it.
type BatchTransaction struct {
	ID, Family, FamilyVersion, Signer string
	// Valid is what came of executing it, nil where that is not known.
	Valid *bool
	// Message and Data are its processor's, of what is not valid; each may be empty.
	Message string
	Data    []byte
	// Receipt is the ledger's own, in JSON; nil where the ledger keeps or gave none.
	Receipt json.RawMessage
}
