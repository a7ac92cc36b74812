package api

import (
	"net/http"
	"strconv"

	"mina-sequencer/sequencer/tx"
)

// getBatch says what a batch is in Grid's words.
func (a *api) getBatch(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	v := a.viewOf(w)
	t, err := v.find(r.Context(), uid)
	if err != nil {
		return err
	}
	if t.Ledger == "" || a.Batch == nil {
		return &problem{
			Status: http.StatusNotFound, Code: codeNotFound, Title: "It is no batch",
			Detail: "Transaction " + v.shown(t.UID) + " is for no ledger that takes batches. Ask for the transaction itself.",
		}
	}
	x, transactions := a.Batch(r.Context(), t)
	x.Error = v.hides.fault(x.Error)
	for i := range transactions {
		transactions[i].Message = v.hides.text(transactions[i].Message)
	}
	o := object{}
	o.open()
	o.text("uid", v.shown(t.UID))
	o.text("ledger", t.Ledger)
	o.text("batchId", t.BatchID)
	o.text("state", string(t.State()))
	o.submission(&x)
	o.optional("status", string(x.Status))
	o.time("triedAt", x.TriedAt)
	o.bool("settled", x.Settled)
	o.name("transactions")
	o.b = appendList(o.b, transactions, appendBatchTransaction)
	o.close()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(o.b, '\n')) // nobody is left to tell
	return nil
}

func appendBatchTransaction(b []byte, t tx.BatchTransaction) []byte {
	o := object{b}
	o.open()
	o.text("id", t.ID)
	o.text("familyName", t.Family)
	o.text("familyVersion", t.FamilyVersion)
	o.text("signerPublicKey", t.Signer)
	o.name("valid")
	if t.Valid == nil {
		o.null()
	} else {
		o.b = strconv.AppendBool(o.b, *t.Valid)
	}
	o.optional("errorMessage", t.Message)
	o.base64("errorData", t.Data)
	o.raw("receipt", t.Receipt)
	o.close()
	return o.b
}

// submission is what becomes of handing a batch over; null for what is none.
func (o *object) submission(x *tx.Submission) {
	if x == nil {
		for _, name := range []string{"submitted", "submissionError", "submissionErrorMessage"} {
			o.name(name)
			o.null()
		}
		return
	}
	o.bool("submitted", x.Submitted)
	code, message := "", ""
	if x.Error != nil {
		code, message = x.Error.Code, x.Error.Message
	}
	o.optional("submissionError", code)
	o.optional("submissionErrorMessage", message)
}

// submissionOf is that of a transaction as it is stored, nil for what is no batch.
func submissionOf(t *tx.Transaction) *tx.Submission {
	if t.Ledger == "" {
		return nil
	}
	x := t.Submission("")
	return &x
}
