package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger/devledger"
)

// The ledgers of the demo: a Sawtooth validator, and a Scabbard service.
const (
	sawtoothName = "sawtooth"
	scabbardName = "scabbard"
	slotCount    = 2 // of each
)

// startLedgers starts the ledgers, each as slow as the chain. One answer of each gets lost.
func (w *world) startLedgers(ctx context.Context, parts *sync.WaitGroup, slot time.Duration) error {
	lost := devledger.Fault{Answer: devledger.Cut}
	sawtooth, err := devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: 2 * slot, Plan: devledger.Script(lost)})
	if err != nil {
		return err
	}
	splinter, err := devledger.NewSplinter(devledger.SplinterConfig{ProposalTime: slot, Plan: devledger.Script(lost)})
	if err != nil {
		return err
	}
	parts.Go(func() {
		<-ctx.Done()
		sawtooth.Close()
		splinter.Close()
	})
	var at [2]string
	for i, handler := range []http.Handler{sawtooth, splinter} {
		if at[i], err = serveLocally(ctx, parts, handler); err != nil {
			return fmt.Errorf("starting the ledgers: %w", err)
		}
	}
	w.ledgers = map[string]devledger.Ledger{sawtoothName: sawtooth, scabbardName: splinter}
	w.ledgersAt = sawtoothName + "=sawtooth+" + at[0] + "," + scabbardName + "=splinter+" + at[1] + "/scabbard/" +
		strings.Replace(devledger.DefaultService, "::", "/", 1)
	return nil
}

// ledgerBatches are three batches for each ledger, each ledger's in a queue of its own.
func ledgerBatches() []item {
	signer := devledger.NewSigner(1)
	var items []item
	for n := range 3 {
		for _, ledger := range []string{sawtoothName, scabbardName} {
			uid := fmt.Sprintf("%s-%d", ledger, n+1)
			made := signer.Batch(uid, "set apples "+fmt.Sprint(n))
			items = append(items, item{uid: uid, queue: "orders-" + ledger, kind: dispatcher.SubmitBatchType,
				data: map[string]any{"ledger": ledger, "batchId": made.ID, "batchList": made.List}})
		}
	}
	return items
}

// verifyBatches compares what took effect on the ledgers with what was posted to them.
func (w *world) verifyBatches(done []client.Transaction) error {
	waiting := map[string][]client.Transaction{}
	for _, t := range done {
		if name := batchLedger(t); name != "" {
			waiting[name] = append(waiting[name], t)
		}
	}
	for name, l := range w.ledgers {
		for _, e := range l.Effects() {
			if len(waiting[name]) == 0 || waiting[name][0].Hash != e.Batch {
				return fmt.Errorf("%s: batch %s took effect out of turn", name, e.Batch[:12])
			}
			waiting[name] = waiting[name][1:]
		}
		if left := waiting[name]; len(left) > 0 {
			return fmt.Errorf("%s took no effect", left[0].UID)
		}
	}
	return nil
}

// batchLedger is the ledger of a batch, "" of what is for Mina.
func batchLedger(t client.Transaction) string {
	var data struct{ Ledger string }
	if t.Type != dispatcher.SubmitBatchType || json.Unmarshal(t.Data, &data) != nil {
		return ""
	}
	return data.Ledger
}
