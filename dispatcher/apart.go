package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mina-sequencer/senders/provers"
)

// Where a sender's worker only signs, a transaction is made by two: a prover of the pool, which has no
// key, proves, and the worker signs what was proved. What one of them answers is believed only as far as
// it fits what was asked for, and nothing leaves that is not what was proved.

const (
	capabilityProve = "prove"
	capabilitySigns = "signs"

	// signerPatience is how long what is proved waits for a signer that is away, and briefly what is not: for as
	// long as one takes to be started again.
	signerPatience = 5 * time.Minute
	briefly        = 15 * time.Second
	// mostTried bounds how many provers that are not there are tried for one proof.
	mostTried = 3
	// mostBusy is how many busy ones are asked in a row before it is waited for a moment.
	mostBusy = 8
	// busyPause is what is asked for where all are at work for too long.
	busyPause = 10 * time.Second
	// longestDay is the longest that a signer's word is believed that it signs nothing.
	longestDay = 25 * time.Hour
)

// OnlySigns says whether the worker signs what others have proved, and does not prove itself.
func (h Health) OnlySigns() bool {
	return slices.Contains(h.Capabilities, capabilitySigns) && !slices.Contains(h.Capabilities, capabilityProve)
}

// paired notes whether a worker only signs. With the provers of the pool it can what they can.
func (c *Client) paired(worker Worker, h Health) Health {
	if !h.OnlySigns() {
		c.signers.Delete(worker)
		return h
	}
	c.signers.Store(worker, true)
	if c.provers == nil {
		return h
	}
	h.Capabilities = append(slices.Clone(h.Capabilities), capabilityProve, "resign")
	pool := c.provers.Together()
	if pool.Ahead {
		h.Capabilities = append(h.Capabilities, capabilityAhead)
	}
	if pool.Builds {
		h.Capabilities = append(h.Capabilities, capabilityBuilds)
	}
	if h.Provers = max(pool.AtOnce, 1); h.Provers > 1 {
		h.Capabilities = append(h.Capabilities, capabilitySeveral)
	}
	h.Types = nil // its policy's, and not those that are proved
	return h
}

// onlySigns reports whether a worker has said that it only signs.
func (c *Client) onlySigns(worker Worker) bool {
	_, is := c.signers.Load(worker)
	return is && c.provers != nil
}

// asksSigner is onlySigns of a worker that has no such call: where it has not said so it is asked. Its error
// is one of those of Health.
func (c *Client) asksSigner(ctx context.Context, worker Worker) (bool, error) {
	if c.provers == nil || c.onlySigns(worker) {
		return c.provers != nil, nil
	}
	h, err := c.health(ctx, worker)
	if err != nil && !errors.Is(err, ErrWrongAccount) {
		return false, err
	}
	return c.paired(worker, h).OnlySigns() || c.onlySigns(worker), nil
}

// Word asks a prover what it says of itself. Errors as of [Client.Health].
func (c *Client) Word(ctx context.Context, url string) (provers.Word, error) {
	h, err := c.health(ctx, Worker{URL: url})
	w := provers.Word{AccountID: h.AccountID, Types: h.Types, Network: h.Network, O1js: h.O1js,
		AtOnce: max(h.Provers, 1), Ahead: h.BuildsAhead(), Builds: h.Builds(), Memory: h.Memory, Hour: -1}
	if h.Hour != nil {
		w.Hour = *h.Hour
	}
	return w, err
}

// tell has the program of a type hear or say something beside proofs: that of the sender's worker or,
// where that only signs, of any prover.
func (r *Remote) tell(ctx context.Context, worker Worker, body []byte, path, uid string) (*reply, error) {
	c := r.client
	if !c.onlySigns(worker) {
		re, err := c.do(ctx, worker, body, path, r.name)
		if err != nil || re.status != http.StatusNotFound && re.status != http.StatusNotImplemented {
			return re, err
		}
		if apart, err := c.asksSigner(ctx, worker); err != nil || !apart {
			return re, err
		}
	}
	url, err := c.provers.Any(r.name, uid)
	if err != nil {
		return nil, &UnreachedError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	return c.ask(ctx, c.prover(url), body, quickLimit, path, r.name)
}

func (c *Client) prover(url string) place { return place{url: url, token: *c.token.Load()} }

// apart has a prover and a signer make a transaction.
func (r *Remote) apart(ctx context.Context, worker Worker, path string, call Call, signed []byte) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.timeout)
	defer cancel()
	if path == "resign" {
		proved, whole, err := unsigned(signed, worker.AccountID, call.Attempt)
		if err != nil {
			return Result{}, mismatch("what was signed before cannot be signed again: " + err.Error())
		}
		if !whole {
			return r.sign(ctx, worker, call, Result{Proved: proved, On: call.on()}, signerPatience)
		}
	}
	if !FitsAhead(call.Ahead) {
		return Result{}, &BusyError{}
	}
	key, err := encode(callBody{TxData: txDataOf(call.Txn), Attempt: attemptOf(call.Attempt)})
	if err != nil {
		return Result{}, &WorkerError{Code: CodeInvalid, Message: err.Error(), Kind: Unresolvable, NothingSent: true}
	}
	result, known := r.client.kept.find(call.UID, key)
	if !known {
		if err := r.maySign(ctx, worker, call); err != nil {
			return Result{}, err
		}
		if result, err = r.prove(ctx, worker.AccountID, path, call, signed); err != nil || result.Proved == nil {
			return result, err
		}
		r.client.kept.keep(call.UID, key, result)
	}
	result.On = call.on() // what is kept may be older, as with a worker
	result, err = r.sign(ctx, worker, call, result, signerPatience)
	if err == nil {
		r.client.kept.drop(call.UID)
	}
	return result, err
}

// prove has a prover of the pool prove or build, and checks what it answers. One that has built keeps itself for
// the proof of that: it alone has what its token stands for.
func (r *Remote) prove(ctx context.Context, payer, path string, call Call, signed []byte) (result Result, err error) {
	defer func() {
		if err != nil {
			err = &PoolError{err}
		}
	}()
	pool := r.client.provers
	waiting, cancel := context.WithTimeout(ctx, r.client.timeout/2) // the rest is for the proof
	defer cancel()
	var last error
	var but []string
	doubted := ""
	again, err := pool.Again(waiting, r.name, call.UID)
	if err != nil {
		return Result{}, &UnreachedError{err}
	}
	for tried, busy := 0, 0; ; {
		lease := again
		if again = nil; lease == nil {
			if lease, err = pool.Take(waiting, r.name, call.UID, but...); err != nil {
				return Result{}, notTaken(ctx, r.name, err, last)
			}
		}
		result, err := r.makeAt(ctx, r.client.prover(lease.URL), payer, path, call, signed)
		if err == nil {
			err = r.fits(payer, path, call, result, lease.Note)
		}
		var wrong *WorkerError
		switch {
		case err == nil && result.Built != nil:
			effects, _ := EffectsOf(result.Built) // fits has read it
			lease.Keep(effects)
			return result, nil
		case err == nil:
			lease.Made()
			if doubted != "" {
				pool.Rest(doubted, "it called hopeless what another prover has made: "+last.Error())
			}
			return result, nil
		case errors.Is(err, ErrLegacy) && path != "prove":
			lease.Said()
			return Result{}, err
		case isA[*BusyError](err):
			wait, _ := errors.AsType[*BusyError](err)
			lease.Busy(wait.RetryAfter)
			if busy++; busy%mostBusy == 0 {
				rest(waiting, time.Second)
			}
			continue
		case isA[*WorkingError](err):
			lease.Keep(lease.Note)
			return Result{}, err
		case errors.Is(ctx.Err(), context.Canceled) && (isA[*LostError](err) || isA[*UnreachedError](err)):
			lease.Keep(lease.Note) // it is this process that hung up, and may ask again for what was begun
			return Result{}, err
		case isA[*LostError](err):
			lease.Doubt(err.Error())
			return Result{}, err
		case errors.Is(err, ErrLegacy):
			err = &WorkerError{Code: codeNotFound, Message: "the prover " + lease.ID + " names " + r.name +
				" in its /health, and has no /prove/" + r.name, Kind: Unavailable, NothingSent: true}
			lease.Rest(err.Error())
		case errors.As(err, &wrong) && wrong.Kind == Unresolvable:
			if lease.Hopeless() && doubted == "" {
				doubted, last = lease.ID, err
				but = append(but, lease.ID)
				continue
			}
			if doubted != "" {
				pool.Alike(doubted)
				pool.Alike(lease.ID)
			}
			return result, err
		case errors.As(err, &wrong) && wrong.Code == CodeMismatch:
			// One prover at most rests for one call, for a payload may be what makes them answer so.
			if lease.Rest(err.Error()); call.Token != "" {
				return Result{}, fmt.Errorf("%w: %w", ErrTokenGone, err) // another one builds it again
			}
			return result, err
		case isA[*UnreachedError](err), wrong != nil && wrong.Kind == Unavailable:
			lease.Rest(err.Error())
		default:
			lease.Said()
			return result, err
		}
		if last, tried = err, tried+1; tried == mostTried {
			return Result{}, err
		}
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// notTaken is the error where there is no prover to ask; last is that of the one before, if any.
func notTaken(ctx context.Context, typ string, err, last error) error {
	switch {
	case ctx.Err() != nil:
		return &UnreachedError{err}
	case errors.Is(err, provers.ErrNone) && last != nil:
		return last
	case errors.Is(err, provers.ErrNone):
		return &UnreachedError{err}
	}
	return fmt.Errorf("all provers that make %s have been at work: start more, or wait: %w", typ, &BusyError{RetryAfter: busyPause})
}

// fits checks what a prover answers: it is what the signer will be asked to sign, and does what was built.
func (r *Remote) fits(payer, path string, call Call, result Result, built string) error {
	switch {
	case path == pathBuild:
		if err := hasBuilt(result); err != nil {
			return err
		}
	case result.Signed != nil:
		return mismatch("the prover has signed, so it has a key of the payer: a prover has none")
	case result.Proved == nil && (result.Done == nil || path == "resign"):
		return mismatch("the answer holds neither proved nor done nor error")
	case result.Proved != nil:
		if err := CheckSigned(result.Proved, payer, call.Attempt, r.client.memo); err != nil {
			return mismatch(err.Error())
		}
		if effects, err := EffectsOf(result.Proved); call.Token != "" && built != "" && (err != nil || effects != built) {
			return mismatch("the prover has proved another transaction than the one that it had built")
		}
	}
	return builtOn(call, result)
}

// maySign asks a signer whether it would sign, before a proof is made in vain. Only what it says of its
// policy counts, and that it is not there: what else it answers may be that it is not to be asked so.
func (r *Remote) maySign(ctx context.Context, worker Worker, call Call) error {
	_, err := r.patiently(ctx, worker, call, nil, briefly)
	wrong, said := errors.AsType[*WorkerError](err)
	if isA[*SpentError](err) || isA[*UnreachedError](err) || isA[*BusyError](err) || said && wrong.Code == CodePolicy {
		return err
	}
	return nil
}

// sign has the signer sign what was proved.
func (r *Remote) sign(ctx context.Context, worker Worker, call Call, proved Result, patience time.Duration) (Result, error) {
	signed, err := r.patiently(ctx, worker, call, proved.Proved, patience)
	if err != nil {
		return Result{}, err
	}
	proved.Signed, proved.Hash, proved.Proved = signed.Signed, signed.Hash, nil
	return proved, nil
}

// patiently is askSigner of one that may be away for a while.
func (r *Remote) patiently(ctx context.Context, worker Worker, call Call, proved json.RawMessage,
	patience time.Duration) (Result, error) {
	until := time.Now().Add(patience)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		signed, err := r.askSigner(ctx, worker, call, proved)
		away := isA[*UnreachedError](err) || isA[*BusyError](err) || isA[*LostError](err)
		if !away || !time.Now().Before(until) || !rest(ctx, pause) {
			return signed, err
		}
	}
}

// rest waits, and reports whether ctx is still on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// askSigner asks a signer once to sign what was proved or, without it, whether it would. What it signs
// is what was proved: all of it but the payer's authorizations.
func (r *Remote) askSigner(ctx context.Context, worker Worker, call Call, proved json.RawMessage) (Result, error) {
	b := signBody{Sender: senderOf(call.Txn, worker.AccountID), Attempt: attemptOf(call.Attempt), Proved: string(proved)}
	b.TxData.UID, b.TxData.Type = call.UID, call.Type
	body, err := encode(b)
	if err != nil {
		return Result{}, &WorkerError{Code: CodeInvalid, Message: err.Error(), Kind: Unresolvable, NothingSent: true}
	}
	at, err := r.client.find(worker)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	re, err := r.client.ask(ctx, at, body, r.client.limit, "sign", r.name)
	if err != nil {
		return Result{}, err
	}
	if busy := re.busy(); busy != nil {
		return Result{}, busy
	}
	switch {
	case re.status == http.StatusNotFound, re.status == http.StatusNotImplemented:
		r.client.signers.Delete(worker) // it is asked anew what it is
		return Result{}, &UnreachedError{errors.New("the sender's worker has said that it signs, and has no /sign: is it a signer still?")}
	case re.status/100 == 3, re.status/100 == 4:
		failed := re.refused()
		failed.NothingSent = true
		return Result{}, failed.clipped()
	case re.status != http.StatusOK:
		return Result{}, &LostError{errors.New(clip(re.said(), maxMessage))}
	}
	if refusal := policyOf(re.body); refusal != nil {
		return Result{}, refusal
	}
	result, failed, err := parseResult(re.body)
	switch {
	case err != nil:
		return Result{}, &LostError{err}
	case failed != nil:
		failed.NothingSent = true
		return Result{}, failed.clipped()
	case proved == nil:
		return Result{}, nil
	case result.Signed == nil:
		return Result{}, mismatch("the signer's answer holds neither signed nor error")
	}
	if err := sameBut(proved, result.Signed, worker.AccountID); err != nil {
		return Result{}, mismatch("the signer has answered another command than it was asked to sign: " + err.Error())
	}
	return result, nil
}

// policyOf reads a policy's refusal; nil if the answer is none.
func policyOf(body []byte) error {
	var in struct {
		Error *struct {
			Code, Message, Scope string
			Until                *time.Time
		}
	}
	if json.Unmarshal(body, &in) != nil || in.Error == nil || in.Error.Code != CodePolicy {
		return nil
	}
	message := clip(in.Error.Message, maxMessage)
	if in.Error.Scope != "day" {
		return &WorkerError{Code: CodePolicy, Message: "the sender's signer does not sign this: " + message,
			Kind: Unresolvable, NothingSent: true}
	}
	spent := &SpentError{RetryAfter: MaxRetryAfter, Message: message}
	if in.Error.Until != nil {
		spent.RetryAfter = min(max(time.Until(*in.Error.Until), time.Second), longestDay)
	}
	return spent
}
