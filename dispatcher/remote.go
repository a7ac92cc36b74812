package dispatcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A Remote is a type whose work is all in its workers, see [Client].
type Remote struct {
	client *Client
	name   string
	check  func(json.RawMessage) []FieldError
	settle int
	mode   Mode
	also   []string
}

var (
	_ Dispatcher = (*Remote)(nil)
	_ Settler    = (*Remote)(nil)
	_ Overlap    = (*Remote)(nil)
	_ Renamed    = (*Remote)(nil)
	_ Builder    = (*Remote)(nil)
)

// NewRemote returns the type called name. A nil check takes any JSON object.
func NewRemote(client *Client, name string, check func(data json.RawMessage) []FieldError) *Remote {
	if check == nil {
		check = CheckObject
	}
	return &Remote{client: client, name: name, check: check}
}

// SettledAt returns the type with another depth, see [Settler]: for one whose
// second landing could not take effect.
func (r *Remote) SettledAt(depth int) *Remote {
	other := *r
	other.settle = depth
	return &other
}

// SettleDepth implements [Settler].
func (r *Remote) SettleDepth() int { return r.settle }

// Together returns the type with another mode, see [Overlap].
func (r *Remote) Together(mode Mode) *Remote {
	other := *r
	other.mode = mode
	return &other
}

// Overlap implements [Overlap].
func (r *Remote) Overlap() Mode { return r.mode }

// AlsoPostedAs returns the type with other names, see [Renamed].
func (r *Remote) AlsoPostedAs(names ...string) *Remote {
	other := *r
	other.also = names
	return &other
}

// PostedAs implements [Renamed].
func (r *Remote) PostedAs() []string { return r.also }

// Type implements [Dispatcher].
func (r *Remote) Type() string { return r.name }

// Check implements [Dispatcher].
func (r *Remote) Check(data json.RawMessage) []FieldError { return r.check(data) }

// Prove implements [Dispatcher].
func (r *Remote) Prove(ctx context.Context, worker Worker, call Call) (Result, error) {
	return r.twoPhase(ctx, worker, "prove", call, nil)
}

// pathBuild is where a worker builds.
const pathBuild = "build"

// Build implements [Builder].
func (r *Remote) Build(ctx context.Context, worker Worker, call Call) (Result, error) {
	if r.client.onlySigns(worker) {
		result, err := r.prove(ctx, worker.AccountID, pathBuild, call, nil)
		return result, wrap("building", err)
	}
	result, err := r.make(ctx, worker, pathBuild, call, nil)
	if err == nil {
		err = hasBuilt(result)
	}
	if err == nil {
		err = builtOn(call, result)
	}
	return result, wrap("building", err)
}

// hasBuilt checks that an answer is one to a build.
func hasBuilt(result Result) error {
	if result.Done != nil {
		return nil
	}
	if _, err := EffectsOf(result.Built); err != nil || result.Token == "" {
		return mismatch("the answer holds neither built with its token nor done nor error")
	}
	return nil
}

// Resign implements [Dispatcher].
func (r *Remote) Resign(ctx context.Context, worker Worker, call Call, signed []byte) (Result, error) {
	return r.twoPhase(ctx, worker, "resign", call, signed)
}

// twoPhase has a worker make a transaction that is not sent or, where it only signs, a prover and it.
func (r *Remote) twoPhase(ctx context.Context, worker Worker, path string, call Call, signed []byte) (Result, error) {
	result, err := Result{}, error(ErrLegacy)
	apart := r.client.onlySigns(worker)
	if !apart {
		result, err = r.make(ctx, worker, path, call, signed)
		if errors.Is(err, ErrLegacy) {
			var unasked error
			if apart, unasked = r.client.asksSigner(ctx, worker); unasked != nil {
				err = unasked
			}
		}
	}
	if apart {
		result, err = r.apart(ctx, worker, path, call, signed)
	}
	if err == nil {
		err = made(path, call, result)
	}
	doing := "proving"
	if path == "resign" {
		doing = "signing again"
	}
	return result, wrap(doing, err)
}

// made checks what a worker has made by itself, or a prover and a signer.
func made(path string, call Call, result Result) error {
	switch {
	case result.Proved != nil:
		return mismatch("it proves, and has no key to sign with: register it as a prover, and a signer as the worker of the sender")
	case path == "prove" && result.Signed == nil && result.Done == nil:
		return mismatch("the answer holds neither signed nor done nor error")
	case path == "resign" && result.Signed == nil:
		return mismatch("the answer holds neither signed nor error")
	}
	return builtOn(call, result)
}

// Dispatch implements [Dispatcher].
func (r *Remote) Dispatch(ctx context.Context, worker Worker, call Call) (Result, error) {
	result, err := r.make(ctx, worker, "dispatch", call, nil)
	if err == nil && result.Hash == "" && result.Done == nil {
		err = &LostError{errors.New("the answer holds neither hash nor done nor error")}
	}
	return result, wrap("dispatching", err)
}

// make has a worker make a transaction. Prove and resign never send: their
// errors leave nothing open. Of a legacy dispatch that is only known if the
// worker itself says so with HTTP 200. What is too much ahead is not asked for:
// it waits, as for a worker that is busy.
func (r *Remote) make(ctx context.Context, worker Worker, path string, call Call, signed []byte) (Result, error) {
	at, err := r.client.find(worker)
	if err != nil {
		return Result{}, err
	}
	return r.makeAt(ctx, at, worker.AccountID, path, call, signed)
}

func (r *Remote) makeAt(ctx context.Context, at place, account, path string, call Call, signed []byte) (Result, error) {
	if !FitsAhead(call.Ahead) {
		return Result{}, &BusyError{}
	}
	body, err := encode(bodyOf(path, account, call, signed))
	if err != nil {
		return Result{}, &WorkerError{Code: CodeInvalid, Message: err.Error(), Kind: Unresolvable, NothingSent: true}
	}
	ctx, cancel := context.WithTimeout(ctx, r.client.timeout)
	defer cancel()
	began := time.Now()
	re, err := r.client.ask(ctx, at, body, r.client.limit, path, r.name)
	if err != nil {
		if at.local && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.client.local.Hung(account, at.url)
		}
		return Result{}, err
	}
	if busy := re.busy(); busy != nil {
		return Result{}, busy
	}
	if re.status == http.StatusGone && call.Token != "" {
		return Result{}, ErrTokenGone
	}
	legacy := path == "dispatch"
	if !legacy && re.status == http.StatusAccepted && isWorking(re.body) {
		return Result{}, pausing(ctx, began)
	}
	if !legacy && (re.status == http.StatusNotFound || re.status == http.StatusNotImplemented) {
		return Result{}, ErrLegacy
	}
	result, failed, err := parseResult(re.body)
	switch {
	case failed != nil && !legacy:
		failed.NothingSent = true
	case failed != nil:
		failed.NothingSent = re.status == http.StatusOK && result.Hash == "" && nothingSent(failed)
		failed.ByRefusal = failed.NothingSent && failed.Code == codeSendFailed
	case re.status/100 == 3 || re.status/100 == 4:
		failed = re.refused()
		failed.NothingSent = !legacy
	case re.status != http.StatusOK:
		return Result{}, &LostError{errors.New(clip(re.said(), maxMessage))}
	case err != nil:
		return Result{}, &LostError{err}
	}
	if failed == nil {
		return result, nil
	}
	if !legacy && re.status == http.StatusConflict {
		failed.Code, failed.Kind = CodeConflict, Conflict
	}
	return result, failed.clipped()
}

// workingPause is the least time between two questions for what a worker is at work on.
const workingPause = 5 * time.Second

// pausing is the [WorkingError] of a call that began at a time, when the pause is over.
func pausing(ctx context.Context, began time.Time) error {
	timer := time.NewTimer(workingPause - time.Since(began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return &LostError{ctx.Err()}
	case <-timer.C:
		return &WorkingError{}
	}
}

// Report implements [Dispatcher]: any 2xx but {"success": false} is an answer, and so are 404
// and 501. What it says is an object in which anything but success is not empty.
func (r *Remote) Report(ctx context.Context, worker Worker, success bool, outcome Outcome) (json.RawMessage, error) {
	path := "on-failure"
	if success {
		path = "on-success"
	}
	body, err := encode(outcomeBody{
		TxData: txDataOf(outcome.Txn),
		Result: resultOf(outcome.Result, outcome.Error),
		Sender: senderOf(outcome.Txn, outcome.AccountID), Answered: outcome.Answered,
	})
	if err != nil {
		return nil, fmt.Errorf("reporting %s: %w", path, err)
	}
	re, err := r.tell(ctx, worker, body, path, outcome.UID)
	if err != nil {
		return nil, fmt.Errorf("reporting %s: %w", path, err)
	}
	if busy := re.busy(); busy != nil {
		return nil, fmt.Errorf("reporting %s: %w", path, busy)
	}
	if re.status == http.StatusNotFound || re.status == http.StatusNotImplemented {
		return nil, nil // it has no such call for this type, and will have none later
	}
	if re.status/100 != 2 {
		return nil, fmt.Errorf("reporting %s: %w", path, re.refused())
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(re.body, &answer) != nil {
		return nil, nil
	}
	if string(answer["success"]) == "false" {
		return nil, fmt.Errorf("reporting %s: the worker answered success: false", path)
	}
	return worthKeeping(answer), nil
}

// worthKeeping is an answer without what is not to be shown, nil if the rest of it is empty.
func worthKeeping(answer map[string]json.RawMessage) json.RawMessage {
	delete(answer, "success")
	delete(answer, "signed") // whoever has signed bytes can send them
	for _, value := range answer {
		if !isEmpty(value) {
			kept, err := encode(answer)
			if err != nil {
				return nil
			}
			return bytes.TrimSpace(kept)
		}
	}
	return nil
}

// MaxRetries implements [Dispatcher]; only a whole number up to 1,000,000 is an
// opinion. A gateway that has no worker behind it (502, 504) has not answered for it.
func (r *Remote) MaxRetries(ctx context.Context, worker Worker) (n int, ok bool, err error) {
	re, err := r.tell(ctx, worker, nil, "max-retries", worker.AccountID)
	if err != nil {
		return 0, false, fmt.Errorf("asking for retries: %w", err)
	}
	if busy := re.busy(); busy != nil {
		return 0, false, fmt.Errorf("asking for retries: %w", busy)
	}
	if re.status == http.StatusBadGateway || re.status == http.StatusGatewayTimeout {
		return 0, false, fmt.Errorf("asking for retries: %w", re.refused())
	}
	n, err = strconv.Atoi(string(bytes.TrimSpace(re.body)))
	if re.status != http.StatusOK || err != nil || n < 0 || n > 1_000_000 {
		return 0, false, nil
	}
	return n, true, nil
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func mismatch(message string) *WorkerError {
	return &WorkerError{Code: CodeMismatch, Message: message, NothingSent: true}
}
