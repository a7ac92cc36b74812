package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// scabbard is a Scabbard service of a Splinter node, 0.4 to 0.6:
// services/scabbard and rest_api of splinter.
type scabbard struct{}

// splinterVersion is the version of Splinter's REST API that this speaks.
const splinterVersion = "1"

// idempotent: nothing there looks for duplicates.
func (scabbard) idempotent() bool { return false }

func (scabbard) headers(h http.Header) { h.Set("SplinterProtocolVersion", splinterVersion) }

// A scabbardError is the body of an error; what it lacks is empty.
type scabbardError struct {
	Code, Message     string
	RequestedProtocol json.RawMessage `json:"requested_protocol"`
	SplinterProtocol  json.RawMessage `json:"splinter_protocol"`
}

func (scabbard) explain(body []byte) (code, text string) {
	var said scabbardError
	if json.Unmarshal(body, &said) != nil {
		return "", ""
	}
	return said.Code, said.Message
}

// judge leaves 500 open: the batch may be Pending by then.
func (scabbard) judge(r reply, _, id string) (Outcome, Why) {
	switch r.status {
	case http.StatusAccepted:
		var said struct{ Link string }
		if json.Unmarshal(r.body, &said) == nil && names(said.Link, "ids", id) {
			return Accepted, 0
		}
	case http.StatusBadRequest:
		var said scabbardError
		switch {
		case json.Unmarshal(r.body, &said) != nil:
		case said.RequestedProtocol != nil || said.SplinterProtocol != nil:
			return Held, WrongProtocol
		case said.Code == "400": // no list of batches, or one fails its check
			return Rejected, 0
		}
	}
	return MayBeProcessed, 0
}

// most keeps the request line below 8 KiB.
func (scabbard) most() int { return 60 }

// question has no wait: that holds a thread of the node, and loses what is known
// when the time is over.
func (scabbard) question(ids []string) request {
	return request{
		method: http.MethodGet, path: "batch_statuses?ids=" + strings.Join(ids, ","), limit: statusLimit,
	}
}

// states are the values of statusType.
var states = map[string]State{
	"Unknown": Unknown, "Pending": Pending, "Valid": Valid, "Committed": Committed, "Invalid": Invalid,
}

// statuses reads [{"id", "status": {"statusType", "message"}}].
func (scabbard) statuses(body []byte, most int) ([]entry, error) {
	if !json.Valid(body) {
		return nil, errors.New("the ledger's answer is no JSON")
	}
	var entries []entry
	for raw, err := range elements(body) {
		var said struct {
			ID     string
			Status struct {
				StatusType string
				Message    json.RawMessage
			}
		}
		if err == nil {
			err = json.Unmarshal(raw, &said)
		}
		if err != nil {
			return nil, fmt.Errorf("the ledger's answer does not have the form of statuses: %w", err)
		}
		state, known := states[said.Status.StatusType]
		e := entry{id: said.ID, status: Status{State: state}}
		if !known {
			e.err = fmt.Errorf("there is no status %.40q", said.Status.StatusType)
		}
		if state == Invalid {
			e.status.Invalid = scabbardRefused(said.Status.Message)
		}
		if entries = append(entries, e); len(entries) > most {
			break
		}
	}
	return entries, nil
}

// scabbardRefused reads [{"transaction_id", "error_message", "error_data"}], the
// data as numbers, as far as it can be read: that they were refused is known
// without.
func scabbardRefused(list []byte) (refused []InvalidTransaction) {
	for raw, err := range elements(list) {
		var said struct {
			ID           string `json:"transaction_id"`
			Message      string `json:"error_message"`
			ExtendedData []byte `json:"error_data"`
		}
		if err != nil || len(refused) == maxInvalid {
			break
		}
		if json.Unmarshal(raw, &said) == nil {
			refused = append(refused, InvalidTransaction(said).cut())
		}
	}
	return refused
}
