package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/tx"
)

// Codes are what programs switch on; they never change.
const (
	codeUnknownType    = "UNKNOWN_TYPE"
	codeInvalidData    = "INVALID_DATA"
	codeKeyReused      = "KEY_REUSED"
	codeNotFound       = "NOT_FOUND"
	codeNotCancellable = "NOT_CANCELLABLE"
	codeNotRetryable   = "NOT_RETRYABLE"
	codeMightStillLand = "MIGHT_STILL_LAND"
	codeContradicted   = "CONTRADICTED"
	codeSenderBound    = "SENDER_BOUND"
	codeSenderExists   = "SENDER_EXISTS"
	codeProverExists   = "PROVER_EXISTS"
	codeTooLarge       = "TOO_LARGE"
	codeBadCursor      = "BAD_CURSOR"
	codeBadRequest     = "BAD_REQUEST"
	codeUnavailable    = "STORE_UNAVAILABLE"
	codeStoreFull      = "STORE_FULL"
	codeTooManyWaiting = "TOO_MANY_WAITING"
	codeRateLimited    = "RATE_LIMITED"
	codeTooSlow        = "TOO_SLOW"
	codeUnauthorized   = "UNAUTHORIZED"
	codeForbidden      = "FORBIDDEN"
	codeEventsGone     = "EVENTS_GONE"
	codeSimulatorsBusy = "SIMULATORS_BUSY"

	codeWebhookExists     = "WEBHOOK_EXISTS"
	codeWebhookConfigured = "WEBHOOK_CONFIGURED"
	codeTooManyWebhooks   = "TOO_MANY_WEBHOOKS"
)

// A problem is the one kind of error that leaves this package, in the form of
// RFC 9457. Its detail says what to do, and never holds what a client sent in
// confidence.
type problem struct {
	Status int
	Code   string
	Title  string
	Detail string
	Errors []dispatcher.FieldError
	// After is when asking again makes sense; 0 says nothing about it.
	After time.Duration
	cause error // for the log, not for the client
}

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

func (p *problem) Unwrap() error { return p.cause }

func badRequest(format string, args ...any) *problem {
	return &problem{
		Status: http.StatusBadRequest, Code: codeBadRequest, Title: "The request cannot be understood",
		Detail: fmt.Sprintf(format, args...),
	}
}

func invalid(errs ...dispatcher.FieldError) *problem {
	return &problem{
		Status: http.StatusUnprocessableEntity, Code: codeInvalidData, Title: "Some fields are not as they have to be",
		Detail: "Nothing was changed. Correct the fields under errors and send it again.", Errors: errs,
	}
}

func tooLarge(format string, args ...any) *problem {
	return &problem{
		Status: http.StatusRequestEntityTooLarge, Code: codeTooLarge, Title: "It is too large",
		Detail: fmt.Sprintf(format, args...),
	}
}

// problemOf is how every error becomes an answer.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if p := webhookProblem(err); p != nil {
		return p
	}
	conflict := func(code, title, detail string) *problem {
		return &problem{Status: http.StatusConflict, Code: code, Title: title, Detail: detail}
	}
	switch {
	case errors.Is(err, queues.ErrNotFound):
		return &problem{
			Status: http.StatusNotFound, Code: codeNotFound, Title: "There is nothing by this name",
			Detail: err.Error() + ". It never existed, or it has been removed.",
		}
	case errors.Is(err, queues.ErrKeyReused):
		return conflict(codeKeyReused, "The key belongs to another transaction",
			"This uid was accepted before with another queue, type, data, maxFee, notBefore or expiresAt. Take a new one for new work.")
	case errors.Is(err, queues.ErrKeyGone):
		return conflict(codeKeyReused, "The key belongs to a transaction that was removed",
			"This uid was accepted before, and its transaction has been removed since. Take a new one for new work.")
	case errors.Is(err, queues.ErrTooManyWaiting):
		return &problem{
			Status: http.StatusTooManyRequests, Code: codeTooManyWaiting, Title: "The queue is full",
			Detail: "The queue has as many waiting transactions as it may have. Send it again, with the same uid, when some are done.", After: 10 * time.Second,
		}
	case errors.Is(err, queues.ErrTooManyInAll):
		return &problem{
			Status: http.StatusServiceUnavailable, Code: codeTooManyWaiting, Title: "The service has too much to do",
			Detail: "As many transactions are waiting in all as may wait. Send it again, with the same uid, when some are done; if that lasts, tell the operator, whose 'sequencer doctor' says what to do.", After: 30 * time.Second,
		}
	case errors.Is(err, tx.ErrNotCancellable):
		return conflict(codeNotCancellable, "It cannot be cancelled", "The transaction is final: there is nothing left to cancel.")
	case errors.Is(err, tx.ErrNotRetryable):
		return conflict(codeNotRetryable, "It cannot be retried", "Only a FAILED or UNRESOLVED transaction can be retried.")
	case errors.Is(err, tx.ErrMightStillLand):
		return conflict(codeMightStillLand, "An attempt might still land",
			"An attempt of the transaction may still get into a block. Wait until it is settled, or resolve it.")
	case errors.Is(err, tx.ErrFollowed):
		return conflict(codeMightStillLand, "Others that were made on it might still land",
			"It would leave its queue while others, made on it, are in flight. Wait until they are settled, and send it again.")
	case errors.Is(err, queues.ErrNotFinal):
		return conflict(codeMightStillLand, "It is not over yet",
			"Only what is FAILED, UNRESOLVED, or DONE past finality, with no open attempt, can be removed. Cancel it, wait, or resolve an attempt of unknown outcome.")
	case errors.Is(err, senders.ErrExists):
		return conflict(codeSenderExists, "The account is registered with another worker", "Remove the sender first to give it another worker.")
	case errors.Is(err, senders.ErrBound):
		return conflict(codeSenderBound, "The sender carries a transaction", "Drain the sender, and remove it when its transaction is final.")
	case errors.Is(err, provers.ErrExists):
		return conflict(codeProverExists, "The id is that of another prover", "Take another id, or remove that prover first.")
	case errors.Is(err, queues.ErrBadCursor):
		return &problem{
			Status: http.StatusBadRequest, Code: codeBadCursor, Title: "The cursor is not of this list",
			Detail: "Use nextCursor as it was answered, with the same filters, or start without a cursor.",
		}
	case errors.Is(err, queues.ErrFull):
		return &problem{
			Status: http.StatusInsufficientStorage, Code: codeStoreFull, Title: "The store is full",
			Detail: "Redis has no memory left for new transactions; those accepted go on. Send it again, with the same uid, when some are removed.", After: time.Minute, cause: err,
		}
	case errors.Is(err, queues.ErrUnsettled):
		return &problem{
			Status: http.StatusServiceUnavailable, Code: codeUnavailable, Title: "The store is being reconciled",
			Detail: "Redis was restarted or failed over, and what it may have forgotten is being put back. Nothing was done. Send it again.", After: 2 * time.Second, cause: err,
		}
	case errors.Is(err, queues.ErrUnavailable), errors.Is(err, queues.ErrUnconfirmed):
		return &problem{
			Status: http.StatusServiceUnavailable, Code: codeUnavailable, Title: "The store does not answer",
			Detail: "It is not known whether it was done. Send it again: with the same uid that is harmless.", After: 2 * time.Second, cause: err,
		}
	case errors.Is(err, queues.ErrStale), errors.Is(err, queues.ErrFenced):
		return &problem{
			Status: http.StatusServiceUnavailable, Code: codeUnavailable, Title: "The transaction changed meanwhile",
			Detail: "Nothing was done. Send it again.", After: time.Second, cause: err,
		}
	}
	// A fault of ours: the client can only try again, and learns no more.
	return &problem{
		Status: http.StatusInternalServerError, Code: codeUnavailable, Title: "The service failed",
		Detail: "The fault is in the service, and is in its log. Send it again later, with the same uid.", cause: err,
	}
}

// unretryable is why a transaction that ended, or has not ended yet, is not retried.
func unretryable(t *tx.Transaction) *problem {
	p := &problem{
		Status: http.StatusConflict, Code: codeNotRetryable, Title: "It cannot be retried",
		Detail: "Only a FAILED or UNRESOLVED transaction can be retried; this one is " + string(t.State()) + ".",
	}
	if (t.State() == tx.Failed || t.State() == tx.Unresolved) && !t.ExpiresAt.IsZero() {
		p.Detail = "Its deadline, expiresAt, is over. Post it anew, under another uid and with a later deadline."
	}
	return p
}

// unresolvable is why an attempt is not settled as a person says, nil where err is of
// another kind.
func unresolvable(err error, landed bool) *problem {
	p := &problem{
		Status: http.StatusConflict, Code: codeNotRetryable, Title: "There is nothing to resolve",
		Detail: "It has no attempt of unknown outcome. Read the transaction again.", cause: err,
	}
	switch {
	case errors.Is(err, tx.ErrNotRetryable):
		return p
	case !errors.Is(err, tx.ErrContradicted):
		return nil
	}
	p.Code, p.Title = codeContradicted, "The chain contradicts it"
	if p.Detail = "The chain says otherwise: " + err.Error() + "."; landed {
		p.Errors = []dispatcher.FieldError{{Field: "hash", Message: "must be the hash of what landed with success, or the id of the batch"}}
	} else {
		p.Errors = []dispatcher.FieldError{{Field: "outcome", Message: "must not contradict the chain"}}
	}
	return p
}

// toReader says what is of use to somebody who only read.
func (p *problem) toReader() {
	switch {
	case p.Code != codeUnavailable:
	case p.Status == http.StatusInternalServerError:
		p.Detail = "The fault is in the service, and is in its log. Ask again later."
	default:
		p.Detail = "Nothing was read, and nothing changed. Ask again."
	}
}

// write answers p.
func (p *problem) write(w http.ResponseWriter) {
	if p.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.After/time.Second)))
	}
	if p.Code == codeTooLarge || p.Code == codeTooSlow {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if p.Code == codeUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(appendProblem(nil, p), '\n')) // nobody is left to tell
}
