package dispatcher

import (
	"context"
	"encoding/json"
)

// A Func is a type whose work is done by functions of this process. Every
// field but Name may be left out.
type Func struct {
	Name string
	// CheckData is Check; nil takes any JSON object.
	CheckData func(data json.RawMessage) []FieldError
	// ProveTx, SendTx and ResignTx are Prove, Dispatch and Resign. nil is
	// ErrLegacy, and for SendTx an error that nothing can mend.
	ProveTx, SendTx func(ctx context.Context, worker Worker, call Call) (Result, error)
	ResignTx        func(ctx context.Context, worker Worker, call Call, signed []byte) (Result, error)
	// Ended is Report; nil hears nothing.
	Ended func(ctx context.Context, worker Worker, success bool, outcome Outcome) (answer json.RawMessage, err error)
	// Retries is what MaxRetries answers; nil has no opinion.
	Retries *int
	// Settle is what SettleDepth answers.
	Settle int
	// Mode is what Overlap answers.
	Mode Mode
}

var (
	_ Dispatcher = Func{}
	_ Settler    = Func{}
	_ Overlap    = Func{}
)

// Type implements [Dispatcher].
func (f Func) Type() string { return f.Name }

// Check implements [Dispatcher].
func (f Func) Check(data json.RawMessage) []FieldError {
	if f.CheckData == nil {
		return CheckObject(data)
	}
	return f.CheckData(data)
}

// Prove implements [Dispatcher].
func (f Func) Prove(ctx context.Context, worker Worker, call Call) (Result, error) {
	if f.ProveTx == nil {
		return Result{}, ErrLegacy
	}
	return f.ProveTx(ctx, worker, call)
}

// Dispatch implements [Dispatcher].
func (f Func) Dispatch(ctx context.Context, worker Worker, call Call) (Result, error) {
	if f.SendTx == nil {
		return Result{}, &WorkerError{Code: codeNotFound, Message: "type " + f.Name + " cannot send", Kind: Unresolvable, NothingSent: true}
	}
	return f.SendTx(ctx, worker, call)
}

// Resign implements [Dispatcher].
func (f Func) Resign(ctx context.Context, worker Worker, call Call, signed []byte) (Result, error) {
	if f.ResignTx == nil {
		return Result{}, ErrLegacy
	}
	return f.ResignTx(ctx, worker, call, signed)
}

// Report implements [Dispatcher].
func (f Func) Report(ctx context.Context, worker Worker, success bool, outcome Outcome) (json.RawMessage, error) {
	if f.Ended == nil {
		return nil, nil
	}
	return f.Ended(ctx, worker, success, outcome)
}

// MaxRetries implements [Dispatcher].
func (f Func) MaxRetries(context.Context, Worker) (n int, ok bool, err error) {
	if f.Retries == nil {
		return 0, false, nil
	}
	return *f.Retries, true, nil
}

// SettleDepth implements [Settler].
func (f Func) SettleDepth() int { return f.Settle }

// Overlap implements [Overlap].
func (f Func) Overlap() Mode { return f.Mode }
