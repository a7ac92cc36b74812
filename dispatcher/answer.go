package dispatcher

import (
	"errors"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// AnswerOf completes the answer to a call of Prove, Resign or Dispatch by what came of
// it: what a worker's error means is said here, once. validHash reports whether a text
// is a hash of Mina.
func AnswerOf(r Result, err error, a lifecycle.Answer, validHash func(string) bool) lifecycle.Answer {
	legacy := a.Call.Kind == lifecycle.Dispatch
	if validHash(r.Hash) {
		a.Hash = r.Hash
	}
	var busy *BusyError
	var unreached *UnreachedError
	var worker *WorkerError
	var working *WorkingError
	var spent *SpentError
	a.Pool = isA[*PoolError](err)
	switch {
	case err == nil && legacy && a.Hash == "" && r.Done == nil:
		a.Fault = lifecycle.FaultSent
		a.Error = &tx.Error{Code: CodeMismatch, Message: "the worker's hash is not one of Mina: " + excerpt(r.Hash)}
	case err == nil:
		a.Done, a.Data, a.Signed = r.Done, r.Data, r.Signed
	case errors.Is(err, ErrLegacy):
		a.Fault = lifecycle.FaultNoCall
	case errors.Is(err, ErrTokenGone):
		a.Fault = lifecycle.FaultGone
		if errors.As(err, &worker) {
			a.Error = &tx.Error{Code: worker.Code, Message: worker.Message}
		}
	case errors.As(err, &busy) && (!legacy || busy.RetryAfter > 0):
		a.Fault, a.RetryAfter = lifecycle.FaultBusy, busy.RetryAfter
		a.Error = &tx.Error{Code: tx.CodeUnavailable, Message: err.Error()}
	case errors.As(err, &spent):
		a.Fault, a.RetryAfter = lifecycle.FaultSpent, spent.RetryAfter
		a.Error = &tx.Error{Code: CodePolicy, Message: err.Error()}
	case errors.As(err, &working):
		a.Fault, a.Error = lifecycle.FaultWorking, &tx.Error{Code: tx.CodeLost, Message: err.Error()}
	case errors.As(err, &unreached):
		a.Fault, a.Error = lifecycle.FaultUnreached, &tx.Error{Code: tx.CodeUnavailable, Message: err.Error()}
	case errors.As(err, &worker):
		a.Fault, a.Refused = faultOf(worker, legacy), worker.ByRefusal
		a.Error = &tx.Error{Code: worker.Code, Message: worker.Message, Exception: worker.Exception}
	case errors.Is(err, ErrMismatch):
		a.Hash, a.Fault, a.Error = "", lifecycle.FaultError, &tx.Error{Code: CodeMismatch, Message: err.Error()}
	default: // a proxy says bare 503 also after it has passed the request on
		a.Fault, a.Error = lifecycle.FaultLost, &tx.Error{Code: tx.CodeLost, Message: err.Error()}
	}
	return a
}

func faultOf(e *WorkerError, legacy bool) lifecycle.Fault {
	switch {
	case legacy && !e.NothingSent:
		return lifecycle.FaultSent
	case e.Kind == Unresolvable:
		return lifecycle.FaultHopeless
	case e.Kind == Unavailable:
		return lifecycle.FaultOutOfOrder
	}
	return lifecycle.FaultError
}
