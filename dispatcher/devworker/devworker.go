// Package devworker simulates o1js workers in Go: the HTTP worker protocol in
// both of its forms, on transactions that only [devnet] takes, with faults on
// demand. It is for demos and tests.
//
// What it simulates: proofs that take time and differ from one to the next,
// signatures over exactly the attempt asked for, results that are kept for
// whoever asks again, a legacy worker that sends by itself, and zkApps whose
// proofs go stale, see [Options.State]. Nothing in it knows a key.
//
// A worker starts no goroutines and reads the clock through package time only,
// so it works inside a testing/synctest bubble.
package devworker

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mina-sequencer/mina/devnet"
)

// The kinds of calls, by their path.
const (
	Prove      = "prove"
	Build      = "build"
	Resign     = "resign"
	Dispatch   = "dispatch"
	OnSuccess  = "on-success"
	OnFailure  = "on-failure"
	MaxRetries = "max-retries"
	Health     = "health"
	Simulate   = "simulate"
)

// Options describe a worker. Only Account has to be given, and Send to a
// legacy worker.
type Options struct {
	Account string // the sender's public key; calls for another are refused
	// Prover makes it a prover without a key: it takes calls for any sender, and answers what is proved.
	// It needs Types.
	Prover bool
	// Legacy makes it a worker of the old kind: it knows /dispatch only, heeds
	// an attempt's nonce and fee but neither memo nor validUntil, proves afresh
	// at every call and sends by itself.
	Legacy bool
	// Send is how a legacy worker reaches the chain, as mina.Node.Send does: an
	// error that is a *mina.Error is a node's, any other a broken connection.
	Send func(ctx context.Context, command json.RawMessage) (hash string, err error)
	// State reads the app state of the zkApp that belongs to a queue (see
	// [ZkApp]). With it, every transaction demands that the account's first
	// field is what it was when the proof was made, and sets it to [NextState].
	// Such accounts must exist on the chain. Without it, transactions have one
	// update that changes nothing.
	State func(ctx context.Context, account string) ([]string, error)
	// ZkApp is the account that a transaction of a queue is on; nil: with State that of [ZkApp], and
	// without it the payer's.
	ZkApp func(queue string) string
	// Once has every transaction demand that it has not taken effect yet, of an account of its
	// own, whatever the chain showed when it was proved: a nullifier.
	Once bool
	// Payer reads what the chain shows of the payer, to be held against what is ahead of an
	// attempt: see [Chain]. Without it, what is ahead is taken as the caller says.
	Payer func(ctx context.Context, account string) (Chain, error)
	// Updates is how many account updates a transaction has, at least; nil: one.
	Updates func(uid string) int

	// Simulate says why a transaction would fail: Mina's name of it, of the first account update, or, with a
	// "-" before, a worker's code; "" where it would not. nil: the worker does not simulate.
	Simulate func(Call) string

	ProveTime, SignTime, SimulateTime time.Duration

	// Builds has it tell what it would prove before it does, in BuildTime.
	Builds    bool
	BuildTime time.Duration

	// Began is told of which transaction a proof is begun; nil tells nobody.
	Began func(uid string)

	Token      string     // the Bearer token that callers must have, if set
	Types      []string   // that it makes; nil: all
	MaxRetries *int       // its opinion on retries; nil: none
	NoResign   bool       // it cannot sign a proof again
	NoAhead    bool       // it builds on the chain alone, and heeds nothing that is ahead
	Capacity   int        // proofs at a time, others are told 503; 0: no limit
	Several    bool       // told by /health, with Capacity
	Network    string     // told by /health
	O1js       string     // told by /health; default "simulated"
	Era        devnet.Era // of what it makes; default devnet.Mesa
	Seed       uint64     // distinguishes the proofs of workers with one account
	// Exit is called by a fault of kind Die, after the worker is dead. nil: the
	// worker stays dead until [Worker.Restart].
	Exit func()
}

// A Call is what is known of a request.
type Call struct {
	Kind    string // Prove, Resign, …
	Type    string
	UID     string
	Queue   string
	Retries int
	Attempt int       // its number; 0 for callbacks
	Ahead   int       // commands in flight before it
	Hash    string    // of the result; callbacks only
	Code    string    // of the result's error; callbacks only
	At      time.Time // when it came
}

const (
	maxBody    = 16 << 20 // bytes of a request
	maxResults = 10_000   // results that are kept for repeated calls
	maxTold    = 100_000  // callbacks that are kept
)

// A Worker is an HTTP handler. All methods may be called concurrently.
type Worker struct {
	o   Options
	mux *http.ServeMux

	mu     sync.Mutex
	life   *life
	busy   int
	proofs uint64
	told   []Call
	calls  map[string]int
	faults []*Fault
	script func(Call) *Fault
	free   chan struct{} // closed by Release
}

// New returns a worker. It panics if a legacy one has no Send.
func New(o Options) *Worker {
	if o.Legacy && o.Send == nil {
		panic("devworker: a legacy worker without Send")
	}
	w := &Worker{o: o, mux: http.NewServeMux(), life: newLife(), calls: map[string]int{}, free: make(chan struct{})}
	for _, kind := range []string{Prove, Build, Resign, Dispatch} {
		w.mux.HandleFunc("POST /"+kind+"/{type}", w.handle(kind, w.make))
	}
	for _, kind := range []string{OnSuccess, OnFailure} {
		w.mux.HandleFunc("POST /"+kind+"/{type}", w.handle(kind, w.hear))
	}
	w.mux.HandleFunc("GET /"+MaxRetries+"/{type}", w.handle(MaxRetries, func(*request) answer {
		if w.o.MaxRetries == nil {
			return answer{status: http.StatusNotFound}
		}
		return answer{body: *w.o.MaxRetries}
	}))
	if o.Simulate != nil {
		w.mux.HandleFunc("POST /"+Simulate+"/{type}", w.handle(Simulate, w.simulate))
	}
	w.mux.HandleFunc("GET /"+Health, w.handle(Health, w.health))
	w.mux.HandleFunc("POST /control/fault", w.controlFault)
	w.mux.HandleFunc("POST /control/release", func(http.ResponseWriter, *http.Request) { w.Release() })
	return w
}

// ServeHTTP answers the worker protocol and, for whoever breaks it on purpose,
// POST /control/fault (see [Fault]) and POST /control/release.
func (w *Worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if w.o.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+w.o.Token)) == 0 {
		http.Error(rw, "wrong token", http.StatusUnauthorized)
		return
	}
	w.mux.ServeHTTP(rw, r)
}

// Calls counts the requests of each kind, refused and spoiled ones included.
func (w *Worker) Calls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.calls)
}

// Told lists the callbacks that the worker acted on, in their order.
func (w *Worker) Told() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Call(nil), w.told...)
}

// A life is what ends when the process of a real worker dies.
type life struct {
	ctx     context.Context
	end     context.CancelFunc
	results map[resultKey]*result
	order   []resultKey // oldest first
	builds  map[string]*built
	proved  map[resultKey]*built // or being proved
}

func newLife() *life {
	ctx, end := context.WithCancel(context.Background())
	return &life{ctx: ctx, end: end, results: map[resultKey]*result{}, builds: map[string]*built{},
		proved: map[resultKey]*built{}}
}

// Die kills the worker: running calls break off, every later one finds its
// connection closed, and kept results are gone.
func (w *Worker) Die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life.end()
}

// Restart brings a dead worker back, or kills and replaces a living one.
func (w *Worker) Restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life.end()
	w.life = newLife()
}

// A request is a decoded call.
type request struct {
	Call
	life  *life
	fault *Fault // nil unless one is to happen
	built *built // what its token stands for
	body  body
}

// body has the fields of all POST bodies.
type body struct {
	TxData struct {
		UID  string          `json:"uid"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	} `json:"txData"`
	Sender struct {
		AccountID string `json:"accountId"`
		Queue     string `json:"queue"`
		Retries   int    `json:"retries"`
	} `json:"sender"`
	Attempt attempt   `json:"attempt"`
	Ahead   []ahead   `json:"ahead"`
	Signed  string    `json:"signed"`
	Proved  string    `json:"proved"`
	Token   string    `json:"token"`
	Result  txnResult `json:"result"`
}

// An answer is a status, 200 if it is 0, and a body in JSON. after is its Retry-After in
// seconds, none if it is 0.
type answer struct {
	status int
	body   any
	after  int
}

type txnResult struct {
	Hash   string          `json:"hash"`
	On     string          `json:"on,omitempty"`
	Done   json.RawMessage `json:"done"`
	Error  *txnError       `json:"error"`
	Data   any             `json:"data"`
	Signed string          `json:"signed,omitempty"`
	Proved string          `json:"proved,omitempty"`
	Built  string          `json:"built,omitempty"`
	Token  string          `json:"token,omitempty"`
}

type txnError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Exception any    `json:"exception"`
}

// failed is an error in HTTP 200, as workers give their own.
func failed(code, message, exception string) answer {
	e := &txnError{Code: code, Message: message}
	if exception != "" {
		e.Exception = exception
	}
	return answer{body: txnResult{Error: e}}
}

// handle decodes a call, lets happen what is scripted, and answers it.
func (w *Worker) handle(kind string, do func(*request) answer) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rq := &request{Call: Call{Kind: kind, Type: r.PathValue("type"), At: time.Now()}}
		if r.Method == http.MethodPost {
			raw, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
			if err == nil {
				err = json.Unmarshal(raw, &rq.body)
			}
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadRequest)
				return
			}
			b := &rq.body
			if b.TxData.Type != rq.Type || b.TxData.UID == "" {
				http.Error(rw, "txData does not fit the path", http.StatusBadRequest)
				return
			}
			rq.UID, rq.Queue, rq.Retries = b.TxData.UID, b.Sender.Queue, b.Sender.Retries
			rq.Attempt, rq.Ahead, rq.Hash = b.Attempt.Number, len(b.Ahead), b.Result.Hash
			if b.Result.Error != nil {
				rq.Code = b.Result.Error.Code
			}
		}
		w.begin(rq)
		if rq.fault.before() && w.spoil(rw, r, rq) {
			return
		}
		a := do(rq)
		if rq.life.ctx.Err() != nil {
			panic(http.ErrAbortHandler)
		}
		if rq.fault.after() && w.spoil(rw, r, rq) {
			return
		}
		a.write(rw)
	}
}

// begin counts a call and finds what is to go wrong with it.
func (w *Worker) begin(rq *request) {
	w.mu.Lock()
	rq.life = w.life
	if rq.life.ctx.Err() != nil {
		w.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	w.calls[rq.Kind]++
	script := w.script
	rq.fault = w.next(rq.Call)
	w.mu.Unlock()
	if script != nil && rq.fault == nil {
		if rq.fault = script(rq.Call); rq.fault != nil {
			if err := rq.fault.check(); err != nil {
				panic("devworker: " + err.Error())
			}
		}
	}
}

func (a answer) write(rw http.ResponseWriter) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	rw.Header().Set("Content-Type", "application/json")
	if a.after > 0 {
		rw.Header().Set("Retry-After", strconv.Itoa(a.after))
	}
	rw.WriteHeader(a.status)
	if a.body != nil {
		e := json.NewEncoder(rw)
		e.SetEscapeHTML(false)
		_ = e.Encode(a.body) // the caller is gone
	}
}

// simulate is busy where it proves something and has a capacity.
func (w *Worker) simulate(rq *request) answer {
	w.mu.Lock()
	busy := w.o.Capacity > 0 && w.busy >= w.o.Capacity
	w.mu.Unlock()
	if busy {
		return answer{status: http.StatusServiceUnavailable, after: 5}
	}
	if !pause(rq.life.ctx, w.o.SimulateTime) {
		return answer{}
	}
	out := map[string]any{"ok": true, "failure": nil, "weight": 2, "touched": []any{}, "seconds": w.o.ProveTime.Seconds()}
	if code := w.o.Simulate(rq.Call); code != "" {
		index := any(1)
		if own, is := strings.CutPrefix(code, "-"); is {
			code, index = own, nil
		}
		out["ok"] = false
		out["failure"] = map[string]any{"index": index, "code": code, "message": "account update 1 of 1: " + code}
	}
	return answer{body: out}
}

// hear takes a callback.
func (w *Worker) hear(rq *request) answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) >= maxTold {
		w.told = append(w.told[:0], w.told[maxTold/2:]...)
	}
	w.told = append(w.told, rq.Call)
	return answer{body: map[string]bool{"success": true}}
}

func (w *Worker) health(*request) answer {
	capabilities := []string{Prove, Resign}
	switch {
	case w.o.Legacy:
		capabilities = []string{Dispatch}
	case w.o.NoResign:
		capabilities = []string{Prove}
	}
	if w.o.Simulate != nil {
		capabilities = append(capabilities, Simulate)
	}
	if !w.o.Legacy && !w.o.NoAhead {
		capabilities = append(capabilities, "ahead")
	}
	if w.o.Several {
		capabilities = append(capabilities, "several")
	}
	if w.o.Builds {
		capabilities = append(capabilities, "builds")
	}
	types := w.o.Types
	if types == nil {
		types = []string{}
	}
	return answer{body: map[string]any{
		"accountId": w.o.Account, "types": types, "capabilities": capabilities,
		"provers": w.o.Capacity, "network": w.o.Network, "o1js": cmp.Or(w.o.O1js, "simulated"),
	}}
}

// Made is how many proofs were begun that no fault has kept from it.
func (w *Worker) Made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.proofs)
}
