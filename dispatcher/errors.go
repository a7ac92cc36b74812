package dispatcher

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ErrLegacy says that a worker does not know the call, so that nothing has
// happened: its transactions are made with Dispatch, or proved afresh.
var ErrLegacy = errors.New("the worker has no such call")

// ErrWrongAccount says that a worker holds the key of another sender.
var ErrWrongAccount = errors.New("the worker serves another account")

// ErrElsewhere says that a worker without a URL runs with another process, if at all.
var ErrElsewhere = errors.New("the worker runs with another process")

// ErrTokenGone says that a worker does not have what it built any more, so that nothing was proved:
// it is to be built again.
var ErrTokenGone = errors.New("the worker does not have what it has built any more")

// ErrMismatch says that what a worker signed is not what it was asked for.
var ErrMismatch = errors.New("the signed transaction is not the one asked for")

// Codes that transactions get from this package; all others are a worker's own.
const (
	CodeMismatch = "WORKER_MISMATCH"  // the answer does not fit the call
	CodeConflict = "ATTEMPT_CONFLICT" // the worker knows this attempt with other values
	CodeUnnamed  = "WORKER_ERROR"     // the worker's error has no code of its own
	CodeInvalid  = "INVALID_DATA"     // the payload cannot be put into a request
	CodePolicy   = "POLICY"           // a signer's policy does not allow it
)

// The codes of workers that mean something here.
const (
	codeNotFound     = "404"
	codeUnresolvable = "500"
	codeUnavailable  = "502"
	codeProveFailed  = "20202"
	codeSendFailed   = "20203"
)

// An UnreachedError is a call of which not one byte has left this process.
type UnreachedError struct{ Err error }

func (e *UnreachedError) Error() string { return "worker not reached: " + e.Err.Error() }
func (e *UnreachedError) Unwrap() error { return e.Err }

// A PoolError is one that provers of the pool are the cause of, and not the sender's own worker.
type PoolError struct{ Err error }

func (e *PoolError) Error() string { return e.Err.Error() }
func (e *PoolError) Unwrap() error { return e.Err }

// A LostError is a call that the worker may have acted on, without an answer
// that says so: a time-out, a broken connection, an answer that is none.
type LostError struct{ Err error }

func (e *LostError) Error() string { return "worker's answer lost: " + e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }

// A BusyError is a call that the worker did not take on.
type BusyError struct {
	// RetryAfter is the wait the worker asks for, at most [MaxRetryAfter]; 0
	// if it names none.
	RetryAfter time.Duration
}

// MaxRetryAfter is the longest wait that a worker can ask for.
const MaxRetryAfter = 10 * time.Minute

func (e *BusyError) Error() string {
	if e.RetryAfter == 0 {
		return "worker busy"
	}
	return fmt.Sprintf("worker busy for %v", e.RetryAfter)
}

// A WorkingError is a repeated call for what the worker is at work on still.
type WorkingError struct{}

func (*WorkingError) Error() string { return "the worker is at work on it" }

// A SpentError is a signer that signs nothing more for a while, by its policy: what its day allows
// is spent.
type SpentError struct {
	RetryAfter time.Duration // until then
	Message    string        // in the signer's words
}

func (e *SpentError) Error() string { return "the sender's signer signs nothing for now: " + e.Message }

// Kind is what a worker's error asks for.
type Kind int

// The kinds of error.
const (
	Retryable    Kind = iota // a retry may mend it
	Unresolvable             // no retry can mend it (code 500)
	Unavailable              // the worker, or its network, is out of order (code 502)
	Conflict                 // the attempt's number is taken: use the next one (HTTP 409)
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Unresolvable:
		return "unresolvable"
	case Unavailable:
		return "unavailable"
	case Conflict:
		return "conflict"
	}
	return "retryable"
}

// A WorkerError is an error that a worker has answered with.
type WorkerError struct {
	Code      string // never empty; a worker's number as its digits
	Message   string
	Exception string // text, or JSON where the worker gave more than a text
	Kind      Kind
	// NothingSent is certain knowledge that the call has put nothing on its way
	// to the chain. It is always so with Prove and Resign. Where it is false,
	// Dispatch may have sent.
	NothingSent bool
	// ByRefusal: NothingSent is concluded from a node's refusal. A worker that
	// repeats a send whose answer was lost hears one of its own success, above
	// all for the nonce; the chain knows more.
	ByRefusal bool
}

func (e *WorkerError) Error() string {
	return fmt.Sprintf("worker error %s: %s", e.Code, e.Message)
}

func kindOf(code string) Kind {
	switch code {
	case codeUnresolvable:
		return Unresolvable
	case codeUnavailable:
		return Unavailable
	case CodeConflict:
		return Conflict
	}
	return Retryable
}

// refusal begins every answer of a Mina node that turns a zkApp command down.
const refusal = "Couldn't send zkApp command:"

// What o1js tells of each node that it asked, however often its JSON was quoted: a
// status, and what was said with it.
var (
	statusCode = regexp.MustCompile(`statusCode\\*"\s*:\s*(\d+)`)
	refusedBy  = regexp.MustCompile(`statusText\\*"\s*:\s*\\*"` + refusal)
)

// nothingSent judges an error that a legacy worker answered with HTTP 200.
// The worker asks several nodes and repeats by itself, so a refusal counts only
// if every node it mentions refused, and none of them for having the
// transaction already (Mina: "Duplicate").
func nothingSent(e *WorkerError) bool {
	switch e.Code {
	case codeNotFound, codeUnresolvable, codeUnavailable, codeProveFailed:
		return true
	case codeSendFailed:
		if !strings.Contains(e.Exception, refusal) || strings.Contains(e.Exception, "Duplicate") {
			return false
		}
		asked := statusCode.FindAllStringSubmatch(e.Exception, -1)
		for _, m := range asked {
			if m[1] != "200" {
				return false
			}
		}
		// A gateway answers 200 as well, in words of its own.
		return len(asked) <= len(refusedBy.FindAllString(e.Exception, -1))
	}
	return false
}
