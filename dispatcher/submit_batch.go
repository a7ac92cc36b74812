package dispatcher

import (
	"encoding/json"

	"mina-sequencer/ledger"
)

// SubmitBatchType is the name of the type SUBMIT_BATCH.
const SubmitBatchType = "SUBMIT_BATCH"

// A ForLedger is a [Dispatcher] whose transactions no worker makes: they are for a ledger
// that takes them as they were posted.
type ForLedger interface {
	// Batch returns the ledger and the id of a payload that Check has found nothing wrong
	// with.
	Batch(data json.RawMessage) (ledger, batchID string)
}

type submitBatch struct {
	Func
	ledgers []string
}

// SubmitBatch is the type SUBMIT_BATCH: a signed batch, for one of the ledgers named.
func SubmitBatch(ledgers []string) Dispatcher {
	if ledgers == nil {
		ledgers = []string{}
	}
	return submitBatch{Func: Func{Name: SubmitBatchType}, ledgers: ledgers}
}

// Check implements [Dispatcher].
func (s submitBatch) Check(data json.RawMessage) []FieldError {
	_, faults := ledger.Parse(data, s.ledgers)
	var out []FieldError
	for _, f := range faults {
		out = append(out, FieldError(f))
	}
	return out
}

// Batch implements [ForLedger].
func (submitBatch) Batch(data json.RawMessage) (name, batchID string) { return ledger.Names(data) }
