package ledger

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxBatchList is the longest BatchList, in bytes: what Sawtooth's REST API
	// takes unless it is set up otherwise.
	MaxBatchList = 10 << 20
	// maxFaults is how many faults are named at most.
	maxFaults = 16
	// maxChangeID is the longest dataChangeId, in bytes.
	maxChangeID = 256
)

// A Payload is the data of a SUBMIT_BATCH transaction.
type Payload struct {
	Ledger       string // the name of the ledger it is for
	BatchID      string // the batch's header signature, 128 lower-case hex digits
	BatchList    []byte // protobuf of exactly one batch, as it goes out
	DataChangeID string // the client's own, "" if it gave none
}

// A Fault is what is wrong with a field, such as data.batchId; what lies within
// the batch is named by its path in the protobuf.
type Fault struct{ Field, Message string }

// Parse reads the data of a SUBMIT_BATCH transaction,
//
//	{"ledger", "batchId", "batchList", "trace"?, "dataChangeId"?}
//
// and checks it as deeply as a ledger would: form, structure, hashes of the
// transactions' payloads, and the signatures of the batch and of its first 256
// transactions (at 0.1 to 0.2 ms each; the ledger verifies them all). Fields that
// are not named here may be anything. ledgers are the names that are known; nil
// means any. It returns a usable payload or at least one fault, at most 16; it
// may be called concurrently and keeps nothing of data.
func Parse(data []byte, ledgers []string) (Payload, []Fault) {
	c := &checker{}
	var given map[string]json.RawMessage
	if json.Unmarshal(data, &given) != nil || given == nil {
		c.add("data", "must be a JSON object")
		return Payload{}, c.faults
	}
	p := Payload{
		Ledger:       c.required(given, "ledger"),
		BatchID:      c.required(given, "batchId"),
		DataChangeID: c.optional(given, "dataChangeId"),
	}
	switch {
	case p.Ledger == "": // is a fault already
	case ledgers == nil && !isName(p.Ledger):
		c.add("data.ledger", "must be 1 to 64 of A-Z a-z 0-9 . _ -")
	case ledgers != nil && !slices.Contains(ledgers, p.Ledger):
		c.add("data.ledger", "must be one of the configured ledgers: "+clip(strings.Join(ledgers, ", ")))
	}
	if p.BatchID != "" && !isID(p.BatchID) {
		c.add("data.batchId", "must be 128 lower-case hex digits, the header_signature of the batch")
	}
	if len(p.DataChangeID) > maxChangeID {
		c.add("data.dataChangeId", fmt.Sprintf("must not be longer than %d bytes", maxChangeID))
	}
	var trace *bool
	if json.Unmarshal(given["trace"], &trace) != nil && given["trace"] != nil {
		c.add("data.trace", "must be true or false, or absent")
	}
	if text := c.required(given, "batchList"); text != "" {
		p.BatchList = c.decode(text)
	}
	if p.BatchList != nil {
		c.batchList(p.BatchList, p.BatchID, trace)
	}
	if len(c.faults) > 0 {
		return Payload{}, c.faults
	}
	return p, nil
}

// Names returns the ledger and the id of a payload that Parse has found usable.
func Names(data []byte) (ledger, batchID string) {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(data, &given) // what is missing is empty
	_ = json.Unmarshal(given["ledger"], &ledger)
	_ = json.Unmarshal(given["batchId"], &batchID)
	return ledger, batchID
}

// Bytes returns the BatchList of a payload that Parse has found usable.
func Bytes(data []byte) []byte {
	var given map[string]json.RawMessage
	var list []byte
	if json.Unmarshal(data, &given) != nil || json.Unmarshal(given["batchList"], &list) != nil {
		return nil
	}
	return list
}

// A checker collects faults.
type checker struct{ faults []Fault }

// add names a fault, unless there are enough.
func (c *checker) add(field, message string) {
	if !c.full() {
		c.faults = append(c.faults, Fault{Field: field, Message: message})
	}
}

// full says that looking for more faults is of no use.
func (c *checker) full() bool { return len(c.faults) >= maxFaults }

// required returns a string that must be there and not be empty; "" is a fault.
func (c *checker) required(given map[string]json.RawMessage, field string) string {
	before := len(c.faults)
	text := c.optional(given, field)
	if text == "" && len(c.faults) == before {
		c.add("data."+field, "must be present, and not empty")
	}
	return text
}

// optional returns a string that may be absent or null.
func (c *checker) optional(given map[string]json.RawMessage, field string) string {
	var text *string
	if raw := given[field]; raw != nil && json.Unmarshal(raw, &text) != nil {
		c.add("data."+field, "must be a string")
	}
	if text == nil {
		return ""
	}
	return *text
}

// decode returns the bytes of a BatchList, nil if it has none.
func (c *checker) decode(text string) []byte {
	list, err := base64.StdEncoding.DecodeString(text)
	switch {
	case len(list) > MaxBatchList:
		c.add("data.batchList", fmt.Sprintf("must not be longer than %d bytes, in base64", MaxBatchList))
	case err != nil || strings.ContainsAny(text, "\r\n"):
		c.add("data.batchList", "must be base64 with padding and without line breaks (RFC 4648, section 4)")
	default:
		return list
	}
	return nil
}
