package sequencer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A speaking ledger says of every batch what it is told to, and counts what it is asked.
type speaking struct {
	ledger.Ledger
	says  ledger.State
	err   error
	asked []string
	while func() // it answers
}

func (l *speaking) Statuses(_ context.Context, ids []string) (map[string]ledger.Status, error) {
	l.asked = append(l.asked, fmt.Sprint("statuses ", len(ids)))
	if l.while != nil {
		l.while()
	}
	if l.err != nil {
		return nil, l.err
	}
	return map[string]ledger.Status{ids[0]: {State: l.says}}, nil
}

func (l *speaking) Receipts(_ context.Context, ids []string) (map[string]json.RawMessage, error) {
	l.asked = append(l.asked, fmt.Sprint("receipts ", len(ids)))
	return map[string]json.RawMessage{ids[0]: json.RawMessage(`{}`)}, l.err
}

// TestBatchInWords: a process that follows a batch says what it has heard of it, any other one asks, for
// one at a time, and not while the ledger is left alone. Receipts are asked for of what is committed.
func TestBatchInWords(t *testing.T) {
	t.Parallel()
	made := devledger.NewSigner(1).Batch("n", "one", "two")
	data, err := json.Marshal(map[string]any{"ledger": "saw", "batchId": made.ID, "batchList": made.List})
	if err != nil {
		t.Fatal(err)
	}
	l := &speaking{says: ledger.Valid}
	policy := lifecycle.Policy{}
	s := New(Options{Types: new(dispatcher.Registry), Ledgers: map[string]ledger.Ledger{"saw": l}, Policy: policy})
	b := s.books["saw"]
	txn := func(phase tx.Phase, o tx.AttemptState) *tx.Transaction {
		a := tx.Attempt{Number: 1, State: o}
		if o == tx.Refused || o == tx.Included {
			a.EndedAt = s.Now()
		}
		return &tx.Transaction{
			UID: "u", Type: dispatcher.SubmitBatchType, Ledger: "saw", BatchID: made.ID, Phase: phase, Data: data,
			Attempts: []tx.Attempt{a},
		}
	}
	there := txn(tx.PhaseWatching, tx.Pooled)
	say := func(what string, x *tx.Transaction, want string, asked ...string) (all []tx.BatchTransaction) {
		t.Helper()
		sub, all := s.Batch(t.Context(), x)
		if got := fmt.Sprint(sub.Submitted, " ", sub.Status); got != want || !slices.Equal(l.asked, asked) {
			t.Errorf("%s: %s, asked %q; want %s, %q", what, got, l.asked, want, asked)
		}
		l.asked = nil
		return all
	}
	say("of another process", there, "true Valid", "statuses 1")
	say("to be posted", txn(tx.PhaseWaiting, tx.Refused), "false Delayed")
	l.while = func() {
		l.while = nil
		if sub, _ := s.Batch(t.Context(), there); sub.Status != tx.DLTPending {
			t.Errorf("while another is asked for: %+v", sub)
		}
	}
	say("two at once", there, "true Valid", "statuses 1")
	l.err = errors.New("it is away")
	say("the ledger is away", there, "true Pending", "statuses 1")
	l.err = nil
	b.answered(lifecycle.SubmitHeld, tx.Error{}, &policy)
	say("the ledger is left alone", there, "true Pending")
	b.answered(lifecycle.SubmitAccepted, tx.Error{}, &policy)
	b.watch("u", made.ID)
	say("followed, and nothing heard yet", there, "true Pending")
	b.learn(map[string]string{"u": made.ID}, map[string]ledger.Status{made.ID: {State: ledger.Unknown}}, s.Now(), nil)
	say("followed", there, "false Unknown")
	b.forget("u")
	say("not followed any more", there, "true Valid", "statuses 1")

	done := txn(tx.PhaseDone, tx.Included)
	all := say("committed", done, "true Committed", "receipts 2")
	if len(all) != 2 || all[0].ID != made.Transactions[0] || all[0].Family != "intkey" || !*all[0].Valid ||
		string(all[0].Receipt) != "{}" || all[1].Receipt != nil {
		t.Errorf("%+v", all)
	}
	l.err = errors.New("it is away")
	if all = say("committed, the ledger is away", done, "true Committed", "receipts 2"); len(all) != 2 || !*all[1].Valid {
		t.Errorf("%+v", all)
	}
	refused := txn(tx.PhaseUnresolved, tx.FailedIn)
	e := refusedBy(ledger.Status{Invalid: []ledger.InvalidTransaction{
		{ID: made.Transactions[1], Message: "no", ExtendedData: []byte("x")}}})
	refused.Error = &e
	all = say("refused", refused, "true Invalid")
	if len(all) != 2 || all[0].Valid != nil || *all[1].Valid || all[1].Message != "no" || string(all[1].Data) != "x" {
		t.Errorf("%+v", all)
	}
	refused.Error = &tx.Error{Code: tx.CodeInvalid, Message: "the ledger executed it, and refuses it"}
	all = say("refused without a word", refused, "true Invalid")
	if *all[0].Valid || all[0].Message == "" || all[1].Valid != nil {
		t.Errorf("%+v", all)
	}
	elsewhere := txn(tx.PhaseDone, tx.Included)
	elsewhere.Ledger = "another process's"
	all = say("of a ledger that this process has not", elsewhere, "true Committed")
	if len(all) != 2 || all[0].Receipt != nil {
		t.Errorf("%+v", all)
	}
}
