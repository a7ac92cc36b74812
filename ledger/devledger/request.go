package devledger

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody is the largest body of a request, 10 MiB, as Sawtooth has it unless
// it is set up otherwise.
const maxBody = 10 << 20

// An answer is what a request is told.
type answer struct {
	status int
	body   any           // in JSON; a text is sent as it is
	hold   time.Duration // nobody tells anything for so long
}

func (a answer) write(w http.ResponseWriter) {
	switch body := a.body.(type) {
	case nil:
		w.WriteHeader(a.status)
	case string:
		kind := "text/plain; charset=utf-8"
		if strings.HasPrefix(body, "<") {
			kind = "text/html"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, body) // the client is gone
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(body) // the client is gone
	}
}

// readBody reads a body of at most maxBody bytes; tooLong says that it has more.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, tooLong bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, false
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, true
	}
	panic(http.ErrAbortHandler) // the client is gone before it said all
}

// A taker answers what the faults leave of a request.
type taker struct {
	*core
	// wrong makes the answer that a Fault names by status, code and body.
	wrong func(f Fault) answer
	// lost is told where the connection to the ledger is lost while waiting.
	lost answer
}

// post lets a post be processed and answered as its fault says. process is
// called under the lock, once or never.
func (t *taker) post(w http.ResponseWriter, r *http.Request, f Fault, process func() answer) {
	var got *answer
	var start, processed time.Time
	run := func() { a := process(); got, processed = &a, t.at }
	var life int
	t.do(func() {
		start, life = t.at, t.life
		switch {
		case f.Drop:
		case f.Delay > 0:
			t.in(f.Delay, run)
		default:
			run()
		}
	})
	if t.spoil(r.Context(), w, f, start) {
		return
	}
	a, held := t.lost, start
	t.await(r.Context(), time.Time{}, func() bool {
		if got != nil {
			a, held = *got, processed.Add(got.hold)
		}
		return got != nil || t.life != life
	})
	t.await(r.Context(), start.Add(f.Wait), never)
	if t.await(r.Context(), held, func() bool { return a.hold > 0 && t.life != life }) {
		a = t.lost
	}
	a.write(w)
}

// spoil gives the answer that a fault has in place of the true one, if any.
func (t *taker) spoil(ctx context.Context, w http.ResponseWriter, f Fault, start time.Time) bool {
	if f.Answer == "" && f.Status == 0 || f.Answer == Unknown {
		return false
	}
	t.await(ctx, start.Add(f.Wait), never)
	switch f.Answer {
	case Cut:
		panic(http.ErrAbortHandler)
	case Hang:
		freed := -1
		t.await(ctx, time.Time{}, func() bool {
			if freed < 0 {
				freed = t.freed
			}
			return t.freed != freed
		})
		panic(http.ErrAbortHandler)
	case Long:
		w.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat("x", 64<<10)
		_, err := io.WriteString(w, `{"link":"`)
		for n := 0; n < 64<<20 && err == nil; n += len(chunk) {
			_, err = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, `"}`) // the client is gone
	default:
		t.wrong(f).write(w)
	}
	return true
}

// before lets happen what a fault has for a call that only asks, and says
// whether that was all.
func (t *taker) before(w http.ResponseWriter, r *http.Request, f Fault) bool {
	var start time.Time
	t.do(func() { start = t.at })
	if t.spoil(r.Context(), w, f, start) {
		return true
	}
	t.await(r.Context(), start.Add(f.Wait), never)
	return false
}

func never() bool { return false }

// proxyPage is what stands in for a page of a proxy.
const proxyPage = "<html><body><h1>%d %s</h1><hr>proxy</body></html>\n"

// ids lists the ids of a list's batches, as far as it can be read.
func ids(batches []*Batch) []string {
	out := []string{}
	for _, b := range batches {
		out = append(out, b.ID)
	}
	return out
}
