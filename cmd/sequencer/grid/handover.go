package grid

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mina-sequencer/api/client"
)

// payloads is how much of serialized batches is read at a time, in bytes of text.
const payloads = 16 << 20

// handOver gives the sequencer what nobody has submitted, in order. Where one of a service is not taken,
// those after it wait, and no other service does.
func (m *mover) handOver(ctx context.Context) error {
	behind := []string{}
	if err := m.sayUnserved(ctx); err != nil {
		return err
	}
	for {
		rows, err := m.claim(ctx, behind)
		if err != nil || len(rows) == 0 {
			return err
		}
		for len(rows) > 0 {
			n, size := 0, 0
			for n < len(rows) && (n == 0 || size+rows[n].number("size") <= payloads) {
				size += rows[n].number("size")
				n++
			}
			if err := m.post(ctx, rows[:n], &behind); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
}

// claim lays claim to the next rows, but of services named in behind, and of those of which another one
// like this hands rows over just now: those of a service come in order because one at a time has them, or
// else because each hands over all, and what comes twice is one transaction. A service of which a batch is
// at its ledger, and the sequencer does not have it, waits for whoever does.
func (m *mover) claim(ctx context.Context, behind []string) ([]row, error) {
	services := slices.DeleteFunc(m.services(), func(s string) bool { return slices.Contains(behind, s) })
	if len(services) == 0 {
		return nil, nil
	}
	free := fmt.Sprintf(`NOT submitted AND submission_error IS NULL AND (claim_expires IS NULL OR claim_expires < CURRENT_TIMESTAMP)
		AND (dlt_status IS NULL OR dlt_status IN ('Unknown', 'Delayed')) AND coalesce(service_id, '') IN %s
		AND coalesce(service_id, '') NOT IN (SELECT coalesce(service_id, '') FROM batches
			WHERE NOT submitted AND claim_expires >= CURRENT_TIMESTAMP AND claim_expires < '%s'
			OR dlt_status = 'Pending' AND (claim_expires IS NULL OR claim_expires < '%s'))`, list(services), taken, taken)
	return m.table.query(ctx, `SELECT header_signature, service_id, data_change_id, length(serialized_batch) AS size
		FROM batches WHERE header_signature IN (SELECT header_signature FROM claimed) ORDER BY `+m.order(),
		fmt.Sprintf("CREATE TEMP TABLE claimed AS SELECT header_signature FROM batches WHERE %s ORDER BY %s LIMIT %d",
			free, m.order(), m.ClaimLimit),
		fmt.Sprintf("UPDATE batches SET claim_expires = %s WHERE header_signature IN (SELECT header_signature FROM claimed)",
			m.table.later(m.Claim)))
}

// post hands rows over one after the other, and notes what came of them.
func (m *mover) post(ctx context.Context, rows []row, behind *[]string) error {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.text("header_signature"))
	}
	found, err := m.table.query(ctx, "SELECT header_signature, serialized_batch FROM batches WHERE header_signature IN "+list(ids))
	if err != nil {
		return err
	}
	lists := map[string]string{}
	for _, r := range found {
		lists[r.text("header_signature")] = r.text("serialized_batch")
	}
	var accepted, given []string
	var notes []string
	for _, r := range rows {
		service, id := r.text("service_id"), r.text("header_signature")
		if slices.Contains(*behind, service) {
			given = append(given, id)
			continue
		}
		refused, err := m.postOne(ctx, r, lists[id])
		switch {
		case refused != nil:
			notes = append(notes, fmt.Sprintf("UPDATE batches SET submitted = TRUE, submission_error = %s, "+
				"submission_error_message = %s, claim_expires = NULL WHERE header_signature = %s",
				quote(short(refused.Code)), quote(refused.Message), literal(id)))
		case err != nil:
			m.say("not handed over: %.16s… of service %q: %v", id, service, err)
			*behind = append(*behind, service)
			given = append(given, id)
		default:
			accepted = append(accepted, id)
		}
	}
	if len(accepted) > 0 {
		notes = append(notes, fmt.Sprintf("UPDATE batches SET claim_expires = '%s' WHERE header_signature IN %s", taken, list(accepted)))
	}
	if len(given) > 0 {
		notes = append(notes, "UPDATE batches SET claim_expires = NULL WHERE header_signature IN "+list(given))
	}
	// What was handed over is noted also when this ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	return m.table.exec(ctx, notes...)
}

// noteTime is how long the end is put off so that something can be noted.
const noteTime = 10 * time.Second

// postOne posts a batch under its own id: posted again it is the same transaction.
func (m *mover) postOne(ctx context.Context, r row, serialized string) (refused *client.Fault, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	service, id := r.text("service_id"), r.text("header_signature")
	bytes, err := hex.DecodeString(serialized)
	if err != nil {
		return &client.Fault{Code: "NOT_HEX", Message: "serialized_batch is no hex: " + err.Error()}, nil
	}
	data := map[string]any{"ledger": m.Ledgers[service], "batchId": id, "batchList": bytes}
	if change := r.text("data_change_id"); change != "" {
		data["dataChangeId"] = change
	}
	doc, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	_, err = m.Client.Post(ctx, client.Item{Queue: cmp.Or(service, "grid"), Type: "SUBMIT_BATCH", Data: doc, UID: id})
	if problem, is := errors.AsType[*client.Error](err); is && problem.Code != "" && slices.Contains(verdicts, problem.Status) {
		return &client.Fault{Code: string(problem.Code), Message: problem.Error()}, nil
	}
	return nil, err
}

// verdicts are the statuses by which the sequencer refuses a batch for good. Whatever else is answered,
// by it or on the way to it, says nothing of the batch.
var verdicts = []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// sayAgain is how long it is taken that no other services wait.
const sayAgain = time.Minute

// sayUnserved names services whose rows stay where they are.
func (m *mover) sayUnserved(ctx context.Context) error {
	if time.Since(m.told) < sayAgain {
		return nil
	}
	m.told = time.Now()
	waits := "NOT submitted AND submission_error IS NULL AND dlt_status IS NULL AND "
	rows, err := m.table.query(ctx, fmt.Sprintf(`SELECT coalesce(service_id, '') AS service, count(*) AS n, 'unnamed' AS why FROM batches
		WHERE %s coalesce(service_id, '') NOT IN %s GROUP BY 1
		UNION ALL SELECT coalesce(service_id, ''), count(*), 'elsewhere' FROM batches b WHERE dlt_status = 'Pending'
		AND (claim_expires IS NULL OR claim_expires < '%s') GROUP BY 1`, waits, list(append(m.services(), "\x01")), taken))
	var lines []string
	for _, r := range rows {
		text := "%d rows of service %q wait: no ledger is named for it, see --ledger and --services"
		if r.text("why") != "unnamed" {
			text = "%d rows of service %q are Pending, and another submitter has them: the others wait until it is written " +
				"down what became of those"
		}
		lines = append(lines, fmt.Sprintf(text, r.number("n"), r.text("service")))
	}
	m.sayOnce(lines)
	return err
}
