package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// maxReceipts is of how many transactions one call of Receipts asks.
	maxReceipts = 1000
	// maxReceipt is the longest receipt that is passed on, in bytes.
	maxReceipt = 256 << 10
	// noReceipt is the code of Sawtooth's answer where one of those asked for has none.
	noReceipt = "80"
)

// Receipts implements Ledger.
func (c *client) Receipts(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !isID(id) })
	ids = ids[:min(len(ids), maxReceipts)]
	q, kept := c.dialect.receipts(ids)
	if !kept || len(ids) == 0 {
		return nil, nil
	}
	r, err := c.do(ctx, q)
	switch {
	case r == nil:
		return nil, err
	case r.status == http.StatusNotFound:
		if code, _ := c.explain(*r); code == noReceipt {
			return nil, nil
		}
		fallthrough
	case r.status != http.StatusOK:
		return nil, errors.New(c.verdict(*r, "").Message)
	case err != nil:
		return nil, err
	}
	var answer struct{ Data json.RawMessage }
	if json.Unmarshal(r.body, &answer) != nil {
		return nil, errors.New("the ledger's answer is no JSON object")
	}
	found := map[string]json.RawMessage{}
	for raw, err := range elements(answer.Data) {
		var said struct{ ID string }
		if err == nil {
			err = json.Unmarshal(raw, &said)
		}
		if err != nil {
			return found, fmt.Errorf("the ledger's answer does not have the form of receipts: %w", err)
		}
		var line bytes.Buffer
		if slices.Contains(ids, said.ID) && len(raw) <= maxReceipt && json.Compact(&line, raw) == nil {
			found[said.ID] = line.Bytes()
		}
	}
	return found, nil
}

// receipts takes many ids in one POST. A validator keeps receipts of what is committed alone, and answers
// 404 where one of those asked for has none.
func (sawtooth) receipts(ids []string) (request, bool) {
	return request{
		method: http.MethodPost, path: "receipts", contentType: "application/json",
		body:  []byte(`["` + strings.Join(ids, `","`) + `"]`), // they are hex digits
		limit: statusLimit,
	}, true
}

// receipts: no route of Scabbard gives any.
func (scabbard) receipts([]string) (request, bool) { return request{}, false }

// A Transaction is what a BatchList says of one of its transactions.
type Transaction struct{ ID, Family, FamilyVersion, Signer string }

// lengths are the contents of all fields of a message that have this number and a length.
func lengths(message []byte, number protowire.Number) (all [][]byte) {
	for f, err := range fields(message) {
		if err != nil {
			break // the last
		}
		if f.number == number && f.kind == protowire.BytesType {
			all = append(all, f.bytes)
		}
	}
	return all
}

// last is the last of them, as readers of protobuf take it.
func last(message []byte, number protowire.Number) (text string) {
	for _, value := range lengths(message, number) {
		text = string(value)
	}
	return text
}

// Transactions returns those of the batch in a list that Parse has found usable.
func Transactions(list []byte) (all []Transaction) {
	for _, batch := range lengths(list, 1) {
		for _, message := range lengths(batch, 3) {
			t := Transaction{ID: last(message, 2)}
			header := []byte(last(message, 1))
			t.Family, t.FamilyVersion, t.Signer = last(header, 3), last(header, 4), last(header, 10)
			all = append(all, t)
		}
	}
	return all
}
