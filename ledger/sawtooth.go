package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// sawtooth is the REST API of a Sawtooth validator, 1.2: rest_api/openapi.yaml
// and rest_api/sawtooth_rest_api of sawtooth-core.
type sawtooth struct{}

// idempotent: a batch id and a transaction id can be in a chain once.
func (sawtooth) idempotent() bool { return true }

func (sawtooth) headers(http.Header) {}

// explain reads {"error": {"code", "title", "message"}}. The code is stable, the
// texts are not.
func (sawtooth) explain(body []byte) (code, text string) {
	var said struct {
		Error struct {
			Code           int
			Title, Message string
		}
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Code == 0 {
		return "", ""
	}
	return strconv.Itoa(said.Error.Code), strings.Trim(said.Error.Title+": "+said.Error.Message, ": ")
}

// judge knows the codes of sawtooth_rest_api/exceptions.py. 17 (no answer from
// the validator in time), 18 (its connection lost), 10 and 20 (internal errors)
// leave it open whether the validator has the batch.
func (sawtooth) judge(r reply, code, id string) (Outcome, Why) {
	switch r.status {
	case http.StatusAccepted:
		var said struct{ Link string }
		if json.Unmarshal(r.body, &said) == nil && names(said.Link, "id", id) {
			return Accepted, 0
		}
	case http.StatusBadRequest:
		switch code {
		case "30", "34", "35": // refused by the validator; empty; no protobuf
			return Rejected, 0
		case "42": // content type: no Sawtooth of ours
			return Held, WrongProtocol
		}
	case http.StatusRequestTimeout:
		if code == "19" { // could not be handed to the validator
			return NotProcessed, 0
		}
	case http.StatusServiceUnavailable:
		if code == "15" { // the validator has no genesis block yet
			return NotProcessed, 0
		}
	}
	return MayBeProcessed, 0
}

// most is far from the 10 MiB that a request may have: it bounds the answers.
func (sawtooth) most() int { return 2000 }

// question takes many ids in one POST, for a GET takes about 60. Without wait it
// is answered at once.
func (sawtooth) question(ids []string) request {
	return request{
		method: http.MethodPost, path: "batch_statuses", contentType: "application/json",
		body:  []byte(`["` + strings.Join(ids, `","`) + `"]`), // they are hex digits
		limit: statusLimit,
	}
}

// statuses reads {"data": [{"id", "status", "invalid_transactions": [{"id",
// "message", "extended_data"}]}]}; empty texts are left out there.
func (sawtooth) statuses(body []byte, most int) ([]entry, error) {
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("the ledger's answer is no JSON object")
	}
	var entries []entry
	for raw, err := range elements(answer.Data) {
		var said struct {
			ID, Status          string
			InvalidTransactions json.RawMessage `json:"invalid_transactions"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &said)
		}
		if err != nil {
			return nil, fmt.Errorf("the ledger's answer does not have the form of statuses: %w", err)
		}
		e := entry{id: said.ID, status: Status{State: State(said.Status)}}
		switch e.status.State {
		case Committed, Pending, Unknown:
		case Invalid:
			e.status.Invalid = sawtoothRefused(said.InvalidTransactions)
		default:
			e.err = fmt.Errorf("there is no status %.40q", said.Status)
		}
		if entries = append(entries, e); len(entries) > most {
			break
		}
	}
	return entries, nil
}

// sawtoothRefused reads what is said of refused transactions, as far as it can
// be read: that they were refused is known without.
func sawtoothRefused(list []byte) (refused []InvalidTransaction) {
	for raw, err := range elements(list) {
		var said struct {
			ID, Message  string
			ExtendedData []byte `json:"extended_data"`
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
