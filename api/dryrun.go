package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
)

const (
	// simulationsAtOnce bounds the workers that dry runs keep at work, simulationsEach those of one
	// name of a key.
	simulationsAtOnce, simulationsEach = 8, 4
	// simulationTime is when a dry run gives up being simulated.
	simulationTime = 45 * time.Second
)

// dry reports whether a post is only to be tried.
func dry(r *http.Request) (bool, error) {
	if r.URL.RawQuery == "" {
		return false, nil
	}
	switch r.URL.Query().Get("dryRun") {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, badRequest("The parameter dryRun must be true or false. Nothing was done.")
}

// A trial is what a post would come to.
type trial struct {
	existed bool
	// simulated is nil where nothing was simulated, and why says why.
	simulated *dispatcher.Simulation
	fee       uint64
	why       string
}

// dryRun tells what posting an item would answer, and what the transaction would do if it were
// made now. Nothing is stored.
func (a *api) dryRun(w http.ResponseWriter, r *http.Request, v view, item queues.Item) error {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(callTimeout + simulationTime + graceToWrite))
	item.Dry = true
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	accepted := a.Store.Enqueue(ctx, item)
	if accepted.Err != nil {
		return accepted.Err
	}
	told := trial{existed: accepted.Existed}
	if err := a.simulate(r.Context(), v, accepted, &told); err != nil {
		return err
	}
	w.Header().Set("Location", base+"/transactions/"+v.shown(accepted.Transaction.UID))
	doc := v.hides.transaction(nil, v.transaction(accepted.Transaction))
	return send(w, http.StatusOK, v.trial(doc, &told))
}

// simulate has a worker simulate what is new, for whom no more than its share is simulated.
func (a *api) simulate(ctx context.Context, v view, accepted queues.Accepted, told *trial) error {
	switch {
	case accepted.Existed:
		told.why = "it was accepted before: see what became of it"
		return nil
	case a.Simulate == nil:
		told.why = dispatcher.ErrNoSimulator.Error()
		return nil
	}
	held := a.simulations.take(v.name, false)
	if held == nil {
		return simulatorsBusy("As many transactions are simulated as may be at a time, of this key or of all.", 2*time.Second)
	}
	defer held.release()
	ctx, cancel := context.WithTimeout(ctx, simulationTime)
	defer cancel()
	result, fee, err := a.Simulate(ctx, accepted.Transaction)
	busy, isBusy := errors.AsType[*dispatcher.BusyError](err)
	switch {
	case isBusy:
		return simulatorsBusy("All workers that simulate this type are at work.", max(busy.RetryAfter, 5*time.Second))
	case errors.Is(err, queues.ErrUnavailable):
		return err
	case err != nil:
		told.why = err.Error()
		return nil
	}
	told.simulated, told.fee = &result, fee
	return nil
}

func simulatorsBusy(why string, after time.Duration) *problem {
	return &problem{
		Status: http.StatusServiceUnavailable, Code: codeSimulatorsBusy, Title: "It is not simulated now",
		Detail: why + " All that accepting checks is well, and nothing was stored. Try it again, or post it.", After: after,
	}
}

// trial adds to a transaction, as JSON, what was tried.
func (v view) trial(doc []byte, t *trial) []byte {
	o := object{doc[:len(doc)-1]}
	o.bool("dryRun", true)
	o.bool("existed", t.existed)
	o.name("simulation")
	if t.simulated == nil {
		o.null()
	} else {
		o.simulation(t.simulated, t.fee, v.hides)
	}
	o.optional("notSimulated", v.hides.text(t.why))
	o.close()
	return o.b
}

func (o *object) simulation(s *dispatcher.Simulation, fee uint64, hides *veil) {
	o.open()
	o.number("ahead", int64(s.Ahead))
	o.bool("ok", s.OK)
	o.name("failure")
	if f := s.Failure; f == nil {
		o.null()
	} else {
		o.open()
		if o.name("index"); f.Index < 0 {
			o.null()
		} else {
			o.b = strconv.AppendInt(o.b, int64(f.Index), 10)
		}
		o.text("code", f.Code)
		o.text("message", hides.text(f.Message))
		o.close()
	}
	o.count("weight", uint32(s.Weight))
	o.name("touched")
	o.b = appendList(o.b, s.Touched, func(b []byte, t dispatcher.Touched) []byte {
		o := object{b}
		o.open()
		o.text("publicKey", t.PublicKey)
		o.text("tokenId", t.TokenID)
		o.bool("creates", t.Creates)
		o.close()
		return o.b
	})
	if o.name("seconds"); s.Seconds == 0 {
		o.null()
	} else {
		o.b = strconv.AppendFloat(o.b, s.Seconds, 'f', -1, 64)
	}
	o.nanomina("fee", fee)
	o.close()
}
