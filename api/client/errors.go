package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Code is the stable name of a problem. It is an error, so that
// errors.Is(err, client.NotFound) asks for it.
type Code string

func (c Code) Error() string { return string(c) }

// The codes of the service.
const (
	UnknownType      Code = "UNKNOWN_TYPE"
	InvalidData      Code = "INVALID_DATA"
	KeyReused        Code = "KEY_REUSED"
	NotFound         Code = "NOT_FOUND"
	NotCancellable   Code = "NOT_CANCELLABLE"
	NotRetryable     Code = "NOT_RETRYABLE"
	MightStillLand   Code = "MIGHT_STILL_LAND"
	Contradicted     Code = "CONTRADICTED"
	SenderBound      Code = "SENDER_BOUND"
	SenderExists     Code = "SENDER_EXISTS"
	ProverExists     Code = "PROVER_EXISTS"
	TooLarge         Code = "TOO_LARGE"
	BadCursor        Code = "BAD_CURSOR"
	BadRequest       Code = "BAD_REQUEST"
	StoreUnavailable Code = "STORE_UNAVAILABLE"
	StoreFull        Code = "STORE_FULL"
	TooManyWaiting   Code = "TOO_MANY_WAITING"
	RateLimited      Code = "RATE_LIMITED"
	TooSlow          Code = "TOO_SLOW"
	Unauthorized     Code = "UNAUTHORIZED"
	Forbidden        Code = "FORBIDDEN"
	EventsGone       Code = "EVENTS_GONE"
	SimulatorsBusy   Code = "SIMULATORS_BUSY"

	WebhookExists     Code = "WEBHOOK_EXISTS"
	WebhookConfigured Code = "WEBHOOK_CONFIGURED"
	TooManyWebhooks   Code = "TOO_MANY_WEBHOOKS"
)

// ErrName: what was given cannot be part of a path, so that nothing has this name.
var ErrName = errors.New("cannot be a name")

// An Error is a problem that the service answered with.
type Error struct {
	Status int // of HTTP
	// Code is "" where something between the client and the service answered.
	Code Code
	// Type is where the service explains Code, in HTML: to be put behind the service's address. "" where
	// it did not say.
	Type          string
	Title, Detail string
	Fields        []FieldError  // what is wrong with a body, field by field
	RetryAfter    time.Duration // when to ask again; 0 if the service did not say
	Raw           []byte        // the answer as it was written
}

// A FieldError says what one field of a body must be.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func newError(resp *http.Response, raw []byte) *Error {
	e := parseError(resp.StatusCode, raw)
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, 1<<30)) * time.Second
	}
	return e
}

func parseError(status int, raw []byte) *Error {
	var p struct {
		Code   Code         `json:"code"`
		Type   string       `json:"type"`
		Title  string       `json:"title"`
		Detail string       `json:"detail"`
		Errors []FieldError `json:"errors"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Code == "" && p.Title == "" {
		return &Error{Status: status, Title: http.StatusText(status), Raw: raw}
	}
	return &Error{Status: status, Code: p.Code, Type: p.Type, Title: p.Title, Detail: p.Detail, Fields: p.Errors, Raw: raw}
}

// Error is the detail, the code, and a line for each field.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.Detail, e.Title, "refused"))
	fmt.Fprintf(&b, " (%s)", strings.TrimSpace(string(e.Code)+" HTTP "+strconv.Itoa(e.Status)))
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	return b.String()
}

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// Temporary reports whether the same call may be answered later: the service, or
// what stands before it, is not able to now.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInsufficientStorage:
		return true
	}
	return false
}

// An UnreachableError means that nothing, or not all, was answered. What was
// asked for may have been done.
type UnreachableError struct {
	URL string // of the service
	Err error
}

func (e *UnreachableError) Error() string {
	reason := e.Err
	if u, ok := errors.AsType[*url.Error](e.Err); ok {
		reason = u.Err
	}
	if errors.Is(reason, context.DeadlineExceeded) {
		reason = errors.New("no answer in time")
	}
	return fmt.Sprintf("no answer from %s: %v", e.URL, reason)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }
