package grid

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"mina-sequencer/api/client"
)

const (
	// followed is how many rows are followed in one round, noted how many are written back at a time.
	followed = 100_000
	noted    = 50
)

// follow writes back what has become of what the sequencer has: service by service in order, up to the
// first that waits for its turn, for so do all behind it.
func (m *mover) follow(ctx context.Context) error {
	rows, err := m.table.query(ctx, fmt.Sprintf(`SELECT header_signature, service_id, submitted, dlt_status, submission_error
		FROM batches WHERE claim_expires >= '%s' ORDER BY coalesce(service_id, ''), created, header_signature %s LIMIT %d`,
		taken, m.table.bytes, followed))
	if err != nil {
		return err
	}
	waits := map[string]bool{}
	var notes []string
	n := 0
	for _, r := range rows {
		service, id := r.text("service_id"), r.text("header_signature")
		if waits[service] {
			continue
		}
		b, err := m.Client.LedgerBatch(ctx, id)
		problem, answered := errors.AsType[*client.Error](err)
		switch {
		case errors.Is(err, client.NotFound):
			if !m.lost[id] {
				m.lost[id] = true
				m.say("the sequencer does not know %.16s… of service %q any more: look for it in its ledger; "+
					"without claim_expires the row is handed over again", id, service)
			}
			continue
		case answered && !problem.Temporary():
			m.say("not followed: %.16s… of service %q: %v", id, service, err)
			continue
		case err != nil && ctx.Err() == nil:
			m.say("not followed: %v", err)
		}
		if err != nil {
			break
		}
		waits[service] = b.State == client.Waiting && b.Status == ""
		if news := m.writeBack(r, b); news != nil {
			notes = append(notes, news...)
			n++
		}
		if n >= noted {
			if err := m.table.exec(ctx, notes...); err != nil {
				return err
			}
			notes, n = nil, 0
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	return m.table.exec(ctx, notes...)
}

// writeBack is how what has become of a row is written down; nil if it is no news. Where another one has
// written down the end meanwhile, it stays.
func (m *mover) writeBack(r row, b *client.LedgerBatch) (statements []string) {
	code := short(b.SubmissionError)
	if !b.Settled && r.is("submitted") == b.Submitted && r.text("dlt_status") == b.Status && r.text("submission_error") == code {
		return nil
	}
	claim := "'" + taken + "'"
	if b.Settled {
		claim = "NULL"
	}
	statements = append(statements, fmt.Sprintf("UPDATE batches SET submitted = %s, dlt_status = %s, submission_error = %s, "+
		"submission_error_message = %s, claim_expires = %s WHERE header_signature = %s AND claim_expires >= '%s'",
		truth(b.Submitted), quote(b.Status), quote(code), quote(b.SubmissionErrorMessage), claim, literal(r.text("header_signature")), taken))
	for _, t := range b.Transactions {
		if m.has[transactions] {
			statements = append(statements, fmt.Sprintf("INSERT INTO transactions (header_signature, batch_id, family_name, "+
				"family_version, signer_public_key) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", literal(t.ID),
				literal(r.text("header_signature")), literal(t.FamilyName), literal(t.FamilyVersion), literal(t.SignerPublicKey)))
		}
		if m.has[receipts] && t.Valid != nil {
			statements = append(statements, m.receipt(t.ID, *t.Valid, t.ErrorMessage, t.ErrorData, string(t.Receipt)))
		}
	}
	return statements
}

// receipt keeps what came of a transaction. Grid wants of what is not valid a message and data, and of
// what is valid neither. A ledger without receipts leaves an empty one.
func (m *mover) receipt(id string, valid bool, message string, data []byte, receipt string) string {
	errors := "NULL, NULL"
	if !valid {
		errors = quote(message) + ", " + literal(hex.EncodeToString(data))
	}
	if receipt == "null" {
		receipt = ""
	}
	column, value := "", ""
	if m.table.id != "" {
		column, value = "id, ", m.table.id+", "
	}
	return fmt.Sprintf("INSERT INTO transaction_receipts (%stransaction_id, result_valid, error_message, error_data, serialized_receipt) "+
		"VALUES (%s%s, %s, %s, %s) ON CONFLICT (transaction_id) DO UPDATE SET result_valid = excluded.result_valid, "+
		"error_message = excluded.error_message, error_data = excluded.error_data, serialized_receipt = excluded.serialized_receipt",
		column, value, literal(id), truth(valid), errors, literal(receipt))
}
