package devledger

import (
	"encoding/json"
	"net/http"
	"strings"
)

// A receipt is what a validator keeps of a transaction in the chain, as its REST API writes it.
type receipt struct {
	ID           string        `json:"id"`
	StateChanges []stateChange `json:"state_changes"`
	Events       []any         `json:"events"`
	Data         []any         `json:"data"`
}

type stateChange struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	Value   []byte `json:"value"`
}

func (s *Sawtooth) getReceipts(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("id")
	if given == "" {
		sawtoothError(http.StatusBadRequest, 83, "there is no id").write(w)
		return
	}
	s.receipts(w, r, strings.Split(given, ","))
}

func (s *Sawtooth) postReceipts(w http.ResponseWriter, r *http.Request) {
	body, tooLong := readBody(w, r)
	var asked []string
	switch {
	case r.Header.Get("Content-Type") != "application/json":
		sawtoothError(http.StatusBadRequest, 81, "the content type is not application/json").write(w)
	case tooLong:
		answer{status: http.StatusRequestEntityTooLarge, body: "Maximum request body size 10485760 exceeded"}.write(w)
	case json.Unmarshal(body, &asked) != nil || len(asked) == 0:
		sawtoothError(http.StatusBadRequest, 82, "the body is not an array of ids").write(w)
	default:
		s.receipts(w, r, asked)
	}
}

// receipts answers for all transactions asked for, or for none.
func (s *Sawtooth) receipts(w http.ResponseWriter, r *http.Request, asked []string) {
	f := s.fault(Receipts, asked)
	if s.taker.before(w, r, f) {
		return
	}
	s.lock()
	v := s.validator
	down, data := v.down(), v.receipts(asked)
	s.mu.Unlock()
	switch {
	case down:
		v.unreachable().write(w)
	case data == nil:
		sawtoothError(http.StatusNotFound, 80, "there is no transaction receipt for a transaction id").write(w)
	default:
		answer{status: http.StatusOK, body: map[string]any{"data": data}}.write(w)
	}
}

// receipts are those of transactions in the chain; nil if one is not there.
func (v *validator) receipts(asked []string) (all []receipt) {
	payloads := map[string][]byte{}
	for _, b := range v.blocks {
		for _, batch := range b.batches {
			for i := range batch.Transactions {
				payloads[batch.Transactions[i].ID] = batch.Transactions[i].Payload
			}
		}
	}
	for _, id := range asked {
		payload, there := payloads[id]
		if !there {
			return nil
		}
		all = append(all, receipt{ID: id, Events: []any{}, Data: []any{},
			StateChanges: []stateChange{{"SET", id[:70], payload}}})
	}
	return all
}
