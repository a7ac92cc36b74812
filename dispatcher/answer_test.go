package dispatcher_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// TestAnswerOf: what a call came to decides what may be on its way to the chain, so each
// kind of error is one fault, and only certain knowledge says that nothing was sent.
func TestAnswerOf(t *testing.T) {
	t.Parallel()
	const good = "5Jgood"
	failed := func(e WorkerError) error { return fmt.Errorf("proving: %w", &e) }
	for name, tc := range map[string]struct {
		call   lifecycle.Kind
		result Result
		err    error
		want   lifecycle.Fault
		hash   string
	}{
		"signed":                        {lifecycle.Prove, Result{Hash: good, Signed: []byte("{}")}, nil, lifecycle.NoFault, good},
		"a hash that is none":           {lifecycle.Prove, Result{Hash: "x", Signed: []byte("{}")}, nil, lifecycle.NoFault, ""},
		"legacy: sent":                  {lifecycle.Dispatch, Result{Hash: good}, nil, lifecycle.NoFault, good},
		"legacy: a hash that is none":   {lifecycle.Dispatch, Result{Hash: "x"}, nil, lifecycle.FaultSent, ""},
		"no such call":                  {lifecycle.Prove, Result{}, fmt.Errorf("proving: %w", ErrLegacy), lifecycle.FaultNoCall, ""},
		"not what was asked for":        {lifecycle.Prove, Result{Hash: good}, fmt.Errorf("proving: %w", ErrMismatch), lifecycle.FaultError, ""},
		"busy":                          {lifecycle.Prove, Result{}, &BusyError{}, lifecycle.FaultBusy, ""},
		"legacy: busy, and says when":   {lifecycle.Dispatch, Result{}, &BusyError{RetryAfter: time.Second}, lifecycle.FaultBusy, ""},
		"legacy: a bare 503":            {lifecycle.Dispatch, Result{}, &BusyError{}, lifecycle.FaultLost, ""},
		"not reached":                   {lifecycle.Dispatch, Result{}, &UnreachedError{errors.New("x")}, lifecycle.FaultUnreached, ""},
		"lost":                          {lifecycle.Prove, Result{}, &LostError{errors.New("x")}, lifecycle.FaultLost, ""},
		"an error":                      {lifecycle.Prove, Result{}, failed(WorkerError{NothingSent: true}), lifecycle.FaultError, ""},
		"hopeless":                      {lifecycle.Prove, Result{}, failed(WorkerError{Kind: Unresolvable}), lifecycle.FaultHopeless, ""},
		"out of order":                  {lifecycle.Prove, Result{}, failed(WorkerError{Kind: Unavailable}), lifecycle.FaultOutOfOrder, ""},
		"legacy: nothing sent":          {lifecycle.Dispatch, Result{}, failed(WorkerError{NothingSent: true}), lifecycle.FaultError, ""},
		"legacy: an error, it may have": {lifecycle.Dispatch, Result{Hash: good}, failed(WorkerError{Kind: Unresolvable}), lifecycle.FaultSent, good},
	} {
		call := lifecycle.Answer{Call: lifecycle.Effect{Kind: tc.call, Number: 3}, Sender: "B62", Nonce: 7}
		got := AnswerOf(tc.result, tc.err, call, func(hash string) bool { return hash == good })
		if got.Fault != tc.want || got.Hash != tc.hash || (got.Error == nil) != (tc.want == lifecycle.NoFault || tc.want == lifecycle.FaultNoCall) {
			t.Errorf("%s: fault %q, hash %q, error %v", name, got.Fault, got.Hash, got.Error)
		}
		if got.Call != call.Call || got.Sender != "B62" || got.Nonce != 7 {
			t.Errorf("%s: of another attempt: %+v", name, got)
		}
	}
}

// TestAnswerKeeps: what a worker has made is kept, and of its error all that decides later.
func TestAnswerKeeps(t *testing.T) {
	t.Parallel()
	call := lifecycle.Answer{Call: lifecycle.Effect{Kind: lifecycle.Dispatch}}
	valid := func(hash string) bool { return hash == "5J" }
	made := Result{Hash: "5J", Done: []byte(`{"d":1}`), Data: []byte(`[1]`), Signed: []byte(`{"s":1}`)}
	if got := AnswerOf(made, nil, call, valid); string(got.Done) != `{"d":1}` || string(got.Data) != `[1]` || string(got.Signed) != `{"s":1}` {
		t.Errorf("of what was made: %+v", got)
	}
	for _, refused := range []bool{true, false} {
		failed := &WorkerError{Code: "20203", Message: "m", Exception: "e", NothingSent: true, ByRefusal: refused}
		got := AnswerOf(Result{}, failed, call, valid)
		if got.Refused != refused || *got.Error != (tx.Error{Code: "20203", Message: "m", Exception: "e"}) {
			t.Errorf("of %+v: %+v, refused %t", failed, got.Error, got.Refused)
		}
	}
	long := strings.Repeat("x", 80)
	if got := AnswerOf(Result{Hash: long + "yz"}, nil, call, valid); got.Error.Message != "the worker's hash is not one of Mina: "+long {
		t.Errorf("of a long hash: %q", got.Error.Message)
	}
}
