package devworker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// ZkApp is the public key of the zkApp account of a queue.
func ZkApp(queue string) string {
	sum := sha256.Sum256([]byte(queue))
	return devnet.Key(binary.BigEndian.Uint64(sum[:]))
}

// NextState is what a transaction makes of the first state field of its zkApp,
// a decimal field element: the field says which transactions took effect on the
// account, and in which order. An account starts with "0".
func NextState(previous, uid string) string {
	sum := sha256.Sum256([]byte(previous + "\x00" + uid))
	return new(big.Int).SetBytes(sum[:31]).String()
}

// attempt is an attempt on the wire.
type attempt struct {
	Number     int        `json:"number"`
	Nonce      uint32     `json:"nonce"`
	Fee        uint64     `json:"fee,string"`
	ValidUntil *uint32    `json:"validUntil"`
	Memo       string     `json:"memo"`
	Previous   []previous `json:"previous"`
	Base       string     `json:"base"`
}

type previous struct {
	Number int    `json:"number"`
	Hash   string `json:"hash"`
	Nonce  uint32 `json:"nonce"`
	Fee    uint64 `json:"fee,string"`
}

type resultKey struct {
	uid    string
	number int
}

// A result is what an attempt was answered with, or will be once it is ready.
type result struct {
	attempt string // all of it, in JSON
	ready   chan struct{}
	answer  answer
}

// make answers the calls that make a transaction.
func (w *Worker) make(rq *request) answer {
	switch {
	case w.o.Legacy != (rq.Kind == Dispatch), w.o.NoResign && rq.Kind == Resign:
		return answer{status: http.StatusNotFound}
	case rq.body.Sender.AccountID != w.o.Account && !w.o.Prover:
		return failed("502", "this worker serves another account", "")
	case w.o.Types != nil && !slices.Contains(w.o.Types, rq.Type):
		return failed("404", "this worker does not make "+rq.Type, "")
	case rq.Attempt < 1:
		return answer{status: http.StatusBadRequest}
	}
	if rq.Kind == Dispatch {
		return w.work(rq)
	}
	on := rq.on()
	if rq.body.Token != "" {
		if rq.built = w.built(rq); rq.built == nil {
			return answer{status: http.StatusGone, body: map[string]string{"code": "TOKEN_GONE"}}
		}
		w.mu.Lock()
		on = rq.built.on
		rq.life.proved[resultKey{rq.UID, rq.Attempt}] = rq.built
		w.mu.Unlock()
	}
	do := w.once
	if rq.Kind == Build {
		do = w.work
		if b := w.builtBefore(rq); b != nil {
			do = func(*request) answer { return b.answer }
		}
	}
	a := do(rq)
	// What is kept may have been made on predecessors that were signed again, or have landed.
	if r, ok := a.body.(txnResult); ok && !w.o.NoAhead {
		r.On = on
		if rq.fault.wrong() == WrongOn {
			r.On = "5Jelsewhere"
		}
		a.body = r
	}
	return a
}

// once makes each attempt once, however often it is asked for.
func (w *Worker) once(rq *request) answer {
	whole, err := json.Marshal(rq.body.Attempt)
	if err != nil {
		return failed("500", "reading the attempt", err.Error())
	}
	key := resultKey{rq.UID, rq.Attempt}
	w.mu.Lock()
	kept := rq.life.results[key]
	if kept == nil {
		kept = &result{attempt: string(whole), ready: make(chan struct{})}
		rq.life.keep(key, kept)
		w.mu.Unlock()
		kept.answer = w.work(rq)
		w.mu.Lock()
		if r, ok := kept.answer.body.(txnResult); !ok || r.Signed+r.Proved == "" {
			rq.life.forget(key)
		}
		close(kept.ready)
		w.mu.Unlock()
		return kept.answer
	}
	w.mu.Unlock()
	if kept.attempt != string(whole) {
		a := failed("ATTEMPT_CONFLICT", "this attempt is known with other values", "")
		a.status = http.StatusConflict
		return a
	}
	select {
	case <-kept.ready:
		return kept.answer
	case <-rq.life.ctx.Done():
		return answer{}
	}
}

// keep forgets the oldest results where there are too many.
func (l *life) keep(key resultKey, r *result) {
	if len(l.order) >= maxResults {
		delete(l.results, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	l.results[key] = r
	l.order = append(l.order, key)
}

// forget lets a failed attempt be made anew.
func (l *life) forget(key resultKey) {
	delete(l.results, key)
	l.order = slices.DeleteFunc(l.order, func(k resultKey) bool { return k == key })
}

// work makes a transaction if there is capacity. It does not end with the
// caller's request, only with the worker's life.
func (w *Worker) work(rq *request) answer {
	if rq.Kind != Resign { // which takes no prover
		w.mu.Lock()
		if w.o.Capacity > 0 && w.busy >= w.o.Capacity && rq.Kind != Dispatch {
			w.mu.Unlock()
			return answer{status: http.StatusServiceUnavailable}
		}
		w.busy++
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			w.busy--
			w.mu.Unlock()
		}()
	}
	if a, joins := w.joins(rq); !joins {
		return a
	}
	if rq.Kind == Build {
		return w.build(rq)
	}
	updates, a := w.updates(rq)
	if updates == nil {
		return a
	}
	if !pause(rq.life.ctx, w.o.SignTime) {
		return answer{}
	}
	asked := rq.body.Attempt
	if w.o.Legacy {
		asked.Memo, asked.ValidUntil = "", nil
	}
	command, err := sign(w.payer(rq), asked, updates, rq.fault.wrong())
	if err != nil {
		return failed("500", "signing", err.Error())
	}
	if w.o.Prover {
		proved, err := bare(command)
		if err != nil {
			return failed("500", "leaving the signature out", err.Error())
		}
		return answer{body: txnResult{Proved: proved, Data: map[string]string{"zkApp": ZkApp(rq.Queue)}}}
	}
	hash, err := devnet.Hash(command)
	if err != nil {
		return failed("500", "hashing", err.Error())
	}
	if rq.fault.wrong() == WrongHash {
		hash = mina.EncodeCheck(mina.VersionTransaction, append([]byte{32}, make([]byte, 32)...))
	}
	out := txnResult{Hash: hash, Data: map[string]string{"zkApp": ZkApp(rq.Queue)}}
	if !w.o.Legacy {
		out.Signed = string(command)
		return answer{body: out}
	}
	out.Done = json.RawMessage(`{}`)
	if err := w.send(rq.life.ctx, command); err != nil {
		return failed("20203", "Could not send the transaction", exception(err))
	}
	return answer{body: out}
}

// updates makes the account updates with their proofs, or takes them from what
// was signed before; nil comes with the answer to give instead.
func (w *Worker) updates(rq *request) ([]json.RawMessage, answer) {
	if rq.Kind == Resign {
		var signed struct {
			AccountUpdates []json.RawMessage `json:"accountUpdates"`
		}
		if err := json.Unmarshal([]byte(rq.body.Signed), &signed); err != nil || len(signed.AccountUpdates) == 0 {
			return nil, failed("20201", "there is no command to sign again", "")
		}
		return signed.AccountUpdates, answer{}
	}
	plan, a := w.plan(rq)
	if plan == nil {
		return nil, a
	}
	if w.o.Began != nil {
		w.o.Began(rq.UID)
	}
	if !pause(rq.life.ctx, w.o.ProveTime) {
		return nil, answer{}
	}
	updates, err := prove(*plan, w.proof())
	if err != nil {
		return nil, failed("20202", "proving", err.Error())
	}
	return updates, answer{}
}

// plan is what a transaction does; nil comes with the answer to give instead.
func (w *Worker) plan(rq *request) (*devnet.Plan, answer) {
	if rq.built != nil {
		plan := rq.built.plan
		if rq.fault.wrong() == WrongEffects {
			plan.Updates = append(slices.Clone(plan.Updates), devnet.Update{Account: w.o.Account})
		}
		return &plan, answer{}
	}
	plan := devnet.Plan{Payer: w.payer(rq), Era: w.o.Era}
	if w.o.State != nil {
		account := w.zkApp(rq.Queue)
		state, err := w.o.State(rq.life.ctx, account)
		if err != nil {
			return nil, failed("502", "reading the state of "+account, err.Error())
		}
		first := "0"
		if len(state) > 0 && state[0] != "" {
			first = state[0]
		}
		if !w.o.NoAhead {
			if first, err = left(rq.body.Ahead, account, first); err != nil {
				return nil, failed("500", "reading what is ahead", err.Error())
			}
		}
		plan.Updates = []devnet.Update{{
			Account: account,
			Expect:  map[int]string{0: first},
			Set:     map[int]string{0: NextState(first, rq.UID)},
		}}
	}
	if w.o.Once {
		plan.Updates = append(plan.Updates, devnet.Update{
			Account: ZkApp(rq.UID), Expect: map[int]string{0: "0"}, Set: map[int]string{0: "1"},
		})
	}
	if w.o.Updates != nil {
		for len(plan.Updates) < w.o.Updates(rq.UID) {
			plan.Updates = append(plan.Updates, devnet.Update{Account: w.payer(rq)})
		}
	}
	if len(plan.Updates) == 0 {
		plan.Updates = []devnet.Update{{Account: cmp.Or(w.zkApp(rq.Queue), w.payer(rq))}}
	}
	// As that of o1js it says what the method was called with: no two transactions have one hash.
	plan.Updates[0].CallData = NextState("", rq.UID)
	return &plan, answer{}
}

// payer is whom a call is for: its own sender, or of a prover the caller's.
func (w *Worker) payer(rq *request) string { return cmp.Or(w.o.Account, rq.body.Sender.AccountID) }

// zkApp is the account that a transaction of a queue is on.
func (w *Worker) zkApp(queue string) string {
	switch {
	case w.o.ZkApp != nil:
		return w.o.ZkApp(queue)
	case w.o.State == nil:
		return w.o.Account
	}
	return ZkApp(queue)
}

// proof returns a text that is no other proof's.
func (w *Worker) proof() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proofs++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", w.o.Account, w.o.Seed, w.proofs))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A built is what a token stands for.
type built struct {
	uid, on, base string
	plan          devnet.Plan
	answer        answer
}

// built is what was built in this life for a request's transaction, nil if it was not.
func (w *Worker) built(rq *request) *built {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := rq.life.builds[rq.body.Token]; b != nil && b.uid == rq.UID {
		return b
	}
	return nil
}

// builtBefore is what is being proved of a request's attempt, or was, upon the same: whoever builds it
// again is to find that proof. nil if there is none.
func (w *Worker) builtBefore(rq *request) *built {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := rq.life.proved[resultKey{rq.UID, rq.Attempt}]; b != nil && b.base == rq.body.Attempt.Base {
		b.on = rq.on() // those that it was built upon may have landed
		return b
	}
	return nil
}

// build tells what a transaction does, without a proof, and keeps it to be proved.
func (w *Worker) build(rq *request) answer {
	if !w.o.Builds {
		return answer{status: http.StatusNotFound}
	}
	plan, a := w.plan(rq)
	if plan == nil {
		return a
	}
	if !pause(rq.life.ctx, w.o.BuildTime) {
		return answer{}
	}
	token := w.proof()
	plan.Updates[0].CallData = NextState(token, rq.UID) // as that of o1js it is another each time
	updates, err := prove(*plan, "")
	if err != nil {
		return failed("500", "building", err.Error())
	}
	command, err := sign(w.payer(rq), rq.body.Attempt, updates, "")
	if err != nil {
		return failed("500", "building", err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &built{uid: rq.UID, on: rq.on(), base: rq.body.Attempt.Base, plan: *plan,
		answer: answer{body: txnResult{Built: string(command), Token: token}}}
	rq.life.builds[token] = b
	return b.answer
}

// prove returns the plan's updates, each with the proof.
func prove(plan devnet.Plan, proof string) ([]json.RawMessage, error) {
	command, err := devnet.Build(plan)
	if err != nil {
		return nil, err
	}
	var c struct {
		AccountUpdates []struct {
			Body          map[string]json.RawMessage `json:"body"`
			Authorization map[string]any             `json:"authorization"`
		} `json:"accountUpdates"`
	}
	if err := json.Unmarshal(command, &c); err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(c.AccountUpdates))
	for i, u := range c.AccountUpdates {
		var kind map[string]any
		if err := json.Unmarshal(u.Body["authorizationKind"], &kind); err != nil {
			return nil, err
		}
		kind["isSigned"], kind["isProved"] = false, true
		if u.Body["authorizationKind"], err = json.Marshal(kind); err != nil {
			return nil, err
		}
		u.Authorization = map[string]any{"proof": proof, "signature": nil}
		if out[i], err = json.Marshal(u); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sign puts a fee payer before proved updates. wrong names what is to differ
// from what was asked for.
func sign(payer string, a attempt, updates []json.RawMessage, wrong string) (json.RawMessage, error) {
	plan := devnet.Plan{Payer: payer, Nonce: a.Nonce, Fee: a.Fee, Memo: a.Memo}
	if a.ValidUntil != nil {
		plan.ValidUntil = *a.ValidUntil
	}
	switch wrong {
	case WrongPayer:
		plan.Payer = ZkApp("nobody's")
	case WrongNonce:
		plan.Nonce++
	case WrongFee:
		plan.Fee++
	case WrongValidUntil:
		plan.ValidUntil++
	case WrongMemo:
		plan.Memo = "wrong"
	case NoUpdates:
		updates = []json.RawMessage{}
	case SecondNonce:
		plan.Updates = []devnet.Update{{Account: payer, IncrementNonce: true}}
	}
	built, err := devnet.Build(plan)
	if err != nil {
		return nil, err
	}
	var command struct {
		FeePayer       json.RawMessage   `json:"feePayer"`
		AccountUpdates []json.RawMessage `json:"accountUpdates"`
		Memo           json.RawMessage   `json:"memo"`
	}
	if err := json.Unmarshal(built, &command); err != nil {
		return nil, err
	}
	if wrong == SecondNonce {
		updates = append(slices.Clone(updates), command.AccountUpdates...)
	}
	command.AccountUpdates = updates
	return json.Marshal(command)
}

// pause waits, and says whether ctx is still on.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// send gives a command to the chain as o1js does: a broken connection is tried
// three times, whatever may have become of the first.
func (w *Worker) send(ctx context.Context, command json.RawMessage) error {
	var err error
	for try := range 3 {
		if !pause(ctx, time.Duration(try)*time.Second) {
			return ctx.Err()
		}
		if _, err = w.o.Send(ctx, command); err == nil || status(err) != 0 {
			return err
		}
	}
	return err
}

// status is the HTTP status of a node's answer; 0 if it gave none.
func status(err error) (n int) {
	e, ok := errors.AsType[*mina.Error](err)
	if !ok {
		return 0
	}
	if e.Class == mina.Transport {
		_, _ = fmt.Sscanf(e.Message, "HTTP status %d", &n) // no number, no status
	}
	if n == 0 && (e.Class != mina.Transport || e.Code == mina.CodeGateway) {
		return http.StatusOK
	}
	return n
}

// exception is what o1js throws when a command could not be sent.
func exception(err error) string {
	code, text := status(err), err.Error()
	if e, ok := errors.AsType[*mina.Error](err); ok {
		text = e.Message
	}
	switch code {
	case http.StatusOK:
	case 0:
		code, text = http.StatusInternalServerError, "Unknown error: "+text
	default:
		text = http.StatusText(code)
	}
	return "Transaction failed with errors:\n- " +
		`{"statusCode":` + strconv.Itoa(code) + `,"statusText":` + quote(text) + `}`
}

// quote writes a text as JavaScript's JSON.stringify does.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // no text fails
	return strings.TrimSuffix(b.String(), "\n")
}
