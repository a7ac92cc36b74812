package devworker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of faults.
const (
	Hang   = "hang"   // nothing happens for Wait or, if that is 0, until Release
	Cut    = "cut"    // the connection is closed without an answer
	Die    = "die"    // the worker dies, see [Worker.Die] and [Options.Exit]
	Busy   = "busy"   // HTTP 503, with Wait as Retry-After if it is not 0
	Error  = "error"  // an answer with the error of Code, Message and Exception
	Answer = "answer" // Body is the answer
	Long   = "long"   // an answer of 64 MiB
	Wrong  = "wrong"  // the command signed is not the one asked for, see Field
)

// What a Fault of kind Wrong may spoil.
const (
	WrongPayer      = "payer"
	WrongNonce      = "nonce"
	WrongFee        = "fee"
	WrongValidUntil = "validUntil"
	WrongMemo       = "memo"
	WrongHash       = "hash"           // in the answer only
	WrongOn         = "on"             // in the answer only
	NoUpdates       = "accountUpdates" // there are none
	WrongEffects    = "effects"        // of what was built: it is not what is proved
	SecondNonce     = "incrementNonce" // an update spends a second nonce of the payer
)

// A Fault is what goes wrong with a call. In POST /control/fault the names are
// those of the fields in lower camel case, and wait is written like "1m30s".
type Fault struct {
	// On, Type and UID say which calls it is for; empty: any. An empty On means
	// the calls with which this worker makes transactions.
	On, Type, UID string
	Times         int // how many calls; 0 means one, negative all
	Kind          string
	// After lets the worker do its work first. A legacy worker has sent by then,
	// and any other keeps the result for whoever asks again.
	After  bool
	Wait   time.Duration // Hang and Busy
	Status int           // HTTP status of Error and Answer; 0 means 200
	Body   string        // Answer
	Field  string        // Wrong
	// Error only.
	Code, Message, Exception string
}

func (f *Fault) before() bool { return f != nil && !f.After && f.Kind != Wrong }
func (f *Fault) after() bool  { return f != nil && f.After && f.Kind != Wrong }

// wrong returns the field to spoil.
func (f *Fault) wrong() string {
	if f == nil || f.Kind != Wrong {
		return ""
	}
	return f.Field
}

func (f *Fault) check() error {
	if !slices.Contains([]string{"", Prove, Build, Resign, Dispatch, Simulate, OnSuccess, OnFailure, MaxRetries, Health}, f.On) {
		return fmt.Errorf("no calls are called %q", f.On)
	}
	if !slices.Contains([]string{Hang, Cut, Die, Busy, Error, Answer, Long, Wrong}, f.Kind) {
		return fmt.Errorf("no fault is called %q", f.Kind)
	}
	if f.Kind == Wrong && !slices.Contains([]string{WrongPayer, WrongNonce, WrongFee, WrongValidUntil, WrongMemo, WrongHash, WrongOn, NoUpdates, WrongEffects, SecondNonce}, f.Field) {
		return fmt.Errorf("no field is called %q", f.Field)
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return fmt.Errorf("no answer has the status %d", f.Status)
	}
	if f.Wait < 0 {
		return fmt.Errorf("a wait of %v", f.Wait)
	}
	return nil
}

// Fail adds faults. Of several that fit a call the first happens. It panics at
// a kind or field that there is none of.
func (w *Worker) Fail(faults ...Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range faults {
		if err := f.check(); err != nil {
			panic("devworker: " + err.Error())
		}
		if f.Times == 0 {
			f.Times = 1
		}
		w.faults = append(w.faults, &f)
	}
}

// Script sets a function that is asked about every call for which Fail has
// nothing; nil from it lets the call pass. It may be called concurrently. Its
// faults are for that call alone, whatever On, Type, UID and Times say.
func (w *Worker) Script(f func(Call) *Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script = f
}

// Release lets all calls go on that hang now.
func (w *Worker) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.free)
	w.free = make(chan struct{})
}

// next uses up the first fault that fits. It is called under the lock.
func (w *Worker) next(c Call) *Fault {
	for i, f := range w.faults {
		makes := c.Kind == Dispatch
		if !w.o.Legacy {
			makes = c.Kind == Prove || c.Kind == Resign
		}
		if f.On != c.Kind && (f.On != "" || !makes) || f.Type != "" && f.Type != c.Type || f.UID != "" && f.UID != c.UID {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				w.faults = slices.Delete(w.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}

// spoil lets a fault happen, and says whether the call ends with it.
func (w *Worker) spoil(rw http.ResponseWriter, r *http.Request, rq *request) bool {
	f := rq.fault
	switch f.Kind {
	case Hang:
		w.mu.Lock()
		free := w.free
		w.mu.Unlock()
		var over <-chan time.Time
		if f.Wait > 0 {
			t := time.NewTimer(f.Wait)
			defer t.Stop()
			over, free = t.C, nil
		}
		select {
		case <-over:
			return false
		case <-free:
			return false
		case <-r.Context().Done():
		case <-rq.life.ctx.Done():
		}
		panic(http.ErrAbortHandler)
	case Die:
		w.Die()
		if w.o.Exit != nil {
			w.o.Exit()
		}
		panic(http.ErrAbortHandler)
	case Busy:
		if f.Wait > 0 {
			rw.Header().Set("Retry-After", strconv.Itoa(int((f.Wait+time.Second-1)/time.Second)))
		}
		answer{status: http.StatusServiceUnavailable}.write(rw)
	case Error:
		a := failed(f.Code, f.Message, f.Exception)
		a.status = f.Status
		a.write(rw)
	case Answer:
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(max(f.Status, http.StatusOK))
		_, _ = io.WriteString(rw, f.Body) // the caller is gone
	case Long:
		rw.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat("x", 64<<10)
		_, err := io.WriteString(rw, `{"hash":"`)
		for n := 0; n < 64<<20 && err == nil; n += len(chunk) {
			_, err = io.WriteString(rw, chunk)
		}
		_, _ = io.WriteString(rw, `"}`)
	default: // cut
		panic(http.ErrAbortHandler)
	}
	return true
}

func (w *Worker) controlFault(rw http.ResponseWriter, r *http.Request) {
	var in struct {
		Fault
		Wait string
	}
	d := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 64<<10))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	if err == nil && in.Wait != "" {
		in.Fault.Wait, err = time.ParseDuration(in.Wait)
	}
	if err == nil {
		err = in.check()
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.Fail(in.Fault)
	rw.WriteHeader(http.StatusNoContent)
}
