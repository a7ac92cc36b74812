package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// A Simulator is a [Dispatcher] whose workers may say what a transaction would do now, without a
// proof and without an attempt of it.
type Simulator interface {
	// Simulate asks one worker, which keeps nothing of it. An error is one of those of
	// [Dispatcher]: ErrLegacy where the worker does not simulate, a BusyError where it took
	// nothing on.
	Simulate(ctx context.Context, worker Worker, call Call) (Simulation, error)
}

var _ Simulator = (*Remote)(nil)

// Simulates says whether the worker simulates.
func (h Health) Simulates() bool { return slices.Contains(h.Capabilities, "simulate") }

// Makes says whether the worker makes a type, as far as it says which it makes.
func (h Health) Makes(typ string) bool { return len(h.Types) == 0 || slices.Contains(h.Types, typ) }

// A Simulation is what a transaction would do, by the accounts as they are, or as what is in flight before
// it leaves them.
type Simulation struct {
	Ahead int // of [Call.Ahead], how many that was
	OK    bool
	// Failure is why it would fail, nil where it would not.
	Failure *SimulatedFailure
	Weight  int // 1 + account updates; 0 where it came to none
	Touched []Touched
	Seconds float64 // that a proof of its type usually takes there; 0 where none was made yet
}

// A SimulatedFailure is why a transaction would fail.
type SimulatedFailure struct {
	// Index is the account update's, from 1 on, 0 the fee payer's; -1 where it did not come to
	// account updates.
	Index   int
	Code    string // Mina's name of it, or a worker's code
	Message string
}

// Refusal is f as its worker's refusal to prove it would be told. permanent: no later state mends what Mina
// says of an account update; what did not come to any is as the worker says.
func (f *SimulatedFailure) Refusal(permanent bool) *WorkerError {
	e := &WorkerError{Code: f.Code, Message: "simulated before it was proved, it fails: " + f.Message, NothingSent: true}
	switch {
	case f.Index < 0:
		e.Kind = kindOf(f.Code)
	case permanent:
		e.Kind = Unresolvable
	}
	return e.clipped()
}

// A Touched is an account that a transaction reads or changes.
type Touched struct {
	PublicKey, TokenID string // in base58
	Creates            bool   // it is not there before
}

// mostTouched is more than a command of Mina has account updates.
const mostTouched = 128

var base58 = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{40,64}$`)

// Simulate implements [Simulator]. It ends within 30 s.
func (r *Remote) Simulate(ctx context.Context, worker Worker, call Call) (Simulation, error) {
	s, err := r.simulate(ctx, worker, call)
	return s, wrap("simulating", err)
}

func (r *Remote) simulate(ctx context.Context, worker Worker, call Call) (Simulation, error) {
	if !FitsAhead(call.Ahead) {
		return Simulation{}, &BusyError{}
	}
	body, err := encode(callBody{
		TxData: txDataOf(call.Txn), Sender: senderOf(call.Txn, worker.AccountID), Attempt: attemptOf(call.Attempt),
		Ahead: aheadOf(call.Ahead),
	})
	if err != nil {
		return Simulation{}, &WorkerError{Code: CodeInvalid, Message: err.Error(), Kind: Unresolvable, NothingSent: true}
	}
	re, err := r.client.do(ctx, worker, body, "simulate", r.name)
	if err != nil {
		return Simulation{}, err
	}
	switch busy := re.busy(); {
	case busy != nil:
		return Simulation{}, busy
	case re.status == http.StatusNotFound || re.status == http.StatusNotImplemented:
		return Simulation{}, ErrLegacy
	case re.status != http.StatusOK:
		return Simulation{}, re.refused().clipped()
	}
	s, err := parseSimulation(re.body)
	s.Ahead = len(call.Ahead)
	return s, err
}

// parseSimulation believes nothing that no command can be.
func parseSimulation(body []byte) (s Simulation, err error) {
	var in struct {
		OK      *bool
		Failure *struct {
			Index   *int
			Code    string
			Message string
		}
		Weight  int
		Touched []struct {
			PublicKey, TokenID string
			Creates            bool
		}
		Seconds float64
		Error   json.RawMessage
	}
	lost := func(format string, args ...any) (Simulation, error) {
		return Simulation{}, &LostError{fmt.Errorf("the answer of a simulation "+format, args...)}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return lost("is none")
	}
	if !isEmpty(in.Error) {
		var e struct{ Code, Message, Exception json.RawMessage }
		if json.Unmarshal(in.Error, &e) != nil {
			return lost("holds an error that is none")
		}
		failed := workerError(e.Code, e.Message, e.Exception)
		failed.NothingSent = true
		return Simulation{}, failed.clipped()
	}
	switch {
	case in.OK == nil || *in.OK == (in.Failure != nil):
		return lost("says neither that it would do nor why it would fail")
	case in.Weight < 0 || in.Weight > mostTouched || len(in.Touched) > mostTouched:
		return lost("is of more account updates than a command has")
	case in.Seconds < 0 || in.Seconds > maxSeconds:
		return lost("tells a time that no proof takes")
	}
	s = Simulation{OK: *in.OK, Weight: in.Weight, Seconds: in.Seconds}
	if f := in.Failure; f != nil {
		s.Failure = &SimulatedFailure{Index: -1, Code: clip(f.Code, maxCode), Message: clip(f.Message, maxMessage)}
		if f.Index != nil {
			s.Failure.Index = *f.Index
		}
		if s.Failure.Code == "" || s.Failure.Index < -1 || s.Failure.Index > mostTouched {
			return lost("names a failure that is none")
		}
	}
	for _, t := range in.Touched {
		if !base58.MatchString(t.PublicKey) || !base58.MatchString(t.TokenID) {
			return lost("names an account that is none")
		}
		s.Touched = append(s.Touched, Touched(t))
	}
	return s, nil
}

// maxSeconds is longer than any worker may take for a proof.
const maxSeconds = 24 * 60 * 60

// ErrNoSimulator says that no worker is there that simulates a type.
var ErrNoSimulator = errors.New("no worker that is there simulates this type")
