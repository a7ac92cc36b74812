package sequencer

import (
	"cmp"
	"context"
	"encoding/json"

	"mina-sequencer/ledger"
	"mina-sequencer/sequencer/tx"
)

// Batch says what a batch is in Grid's words and, where its ledger has executed it, what came of its
// transactions. Any process can answer: what this one does not follow itself it asks the ledger for, one
// batch at a time, and answers from what is stored where the ledger is busy with that or says nothing. The
// receipts of a committed batch are asked for once in each call. It takes no longer than two askLimits.
func (s *Sequencer) Batch(
	ctx context.Context, t *tx.Transaction,
) (tx.Submission, []tx.BatchTransaction) {
	b := s.books[t.Ledger]
	x := t.Submission(string(b.says(ctx, t)))
	if x.Status != tx.DLTCommitted && x.Status != tx.DLTInvalid {
		return x, nil
	}
	var all []tx.BatchTransaction
	var ids []string
	for _, one := range ledger.Transactions(ledger.Bytes(t.Data)) {
		all = append(all, tx.BatchTransaction{
			ID: one.ID, Family: one.Family, FamilyVersion: one.FamilyVersion, Signer: one.Signer,
		})
		ids = append(ids, one.ID)
	}
	if x.Status == tx.DLTInvalid {
		refuse(all, t.Error)
		return x, all
	}
	receipts := s.receipts(ctx, b, t, ids)
	for i := range all {
		all[i].Valid, all[i].Receipt = new(true), receipts[all[i].ID]
	}
	return x, all
}

// says is what its ledger says of a batch that may be there: "" where nobody has heard.
func (b *books) says(ctx context.Context, t *tx.Transaction) ledger.State {
	if b == nil || !t.AtLedger() {
		return ""
	}
	b.mu.Lock()
	said := b.said[t.UID]
	_, followed := b.asks[t.UID]
	b.mu.Unlock()
	if followed || !b.free() || !b.glance.TryLock() {
		return said
	}
	defer b.glance.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	found, _ := b.Statuses(ctx, []string{t.BatchID}) // whoever follows it says in the log what is wrong
	return found[t.BatchID].State
}

// receipts are what a ledger keeps of transactions that it has committed.
func (s *Sequencer) receipts(
	ctx context.Context, b *books, t *tx.Transaction, ids []string,
) map[string]json.RawMessage {
	if b == nil || !b.free() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	found, err := b.Receipts(ctx, ids)
	if err != nil {
		s.Log.Warn("a ledger gave no receipts", about(t, "ledger", t.Ledger, "err", err)...)
	}
	return found
}

// refuse notes at the transactions of a batch that its ledger refused what it said of each: of those that
// it says nothing of nothing is known. What is not a list, or is cut, is noted at the first.
func refuse(all []tx.BatchTransaction, e *tx.Error) {
	var said []ledger.InvalidTransaction
	_ = json.Unmarshal([]byte(e.Exception), &said) // see refusedBy
	for i := range all {
		for _, one := range said {
			if one.ID == all[i].ID {
				all[i].Valid, all[i].Message, all[i].Data = new(false), cmp.Or(one.Message, e.Message), one.ExtendedData
			}
		}
	}
	if len(said) == 0 && len(all) > 0 {
		all[0].Valid, all[0].Message = new(false), e.Message
	}
}
