package api

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
)

// A batch is read as a whole before anything of it is accepted: so one that is
// too large or not well formed changes nothing, and a client that reads no
// answer before it has sent everything cannot block itself. Then it is accepted
// and answered in parts.
const (
	batchesAtOnce = 4 // how many bodies are held
	partItems     = queues.MaxBatch
	partBytes     = 4 << 20
	uploadTimeout = 2 * time.Minute
	lines         = "application/x-ndjson"
)

func (a *api) postBatch(w http.ResponseWriter, r *http.Request) error {
	if err := checkType(r, "application/json", lines, "application/ndjson"); err != nil {
		return err
	}
	if len(r.Header.Values("Idempotency-Key")) > 0 {
		return badRequest("One Idempotency-Key cannot stand for many transactions. Give each its uid.")
	}
	if err := a.beginBatch(r.Context()); err != nil {
		return err
	}
	defer func() { <-a.batches }()
	control := http.NewResponseController(w)
	// Not every connection has deadlines. The answer has one for each part.
	_ = control.SetReadDeadline(time.Now().Add(uploadTimeout))
	_ = control.SetWriteDeadline(time.Now().Add(uploadTimeout + graceToWrite))
	var body bytes.Buffer
	if err := readBody(w, r, &body, a.BatchLimit); err != nil {
		return err
	}
	docs, err := a.split(r, body.Bytes())
	if err != nil {
		return err
	}
	if err := a.charge(w, r, len(docs)-1); err != nil {
		return err
	}
	w.Header().Set("Content-Type", lines)
	w.WriteHeader(http.StatusOK)
	// While Redis has one part, the part before is answered and the next read.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	batch := queues.NewBatch(a.Store)
	var before *part
	for first := 0; first < len(docs) || before != nil; {
		var next *part
		if first < len(docs) {
			next = a.readPart(ctx, docs, first, callerOf(w))
			first = next.end
		}
		if before != nil {
			before.wait()
		}
		if next != nil {
			next.store(ctx, batch)
		}
		if before != nil {
			_ = control.SetWriteDeadline(time.Now().Add(callTimeout + graceToWrite))
			if _, err := w.Write(a.answerPart(ctx, before)); err != nil {
				cancel()
				if next != nil {
					next.wait()
				}
				return nil // nobody is left to tell
			}
			_ = control.Flush()
		}
		before = next
	}
	return nil
}

// beginBatch waits for its turn.
func (a *api) beginBatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case a.batches <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &problem{
			Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Too many batches at once",
			Detail: "Other batches are being taken in. Send it again.", After: 10 * time.Second,
		}
	}
}

// split cuts a body into its items: the elements of an array, or lines.
func (a *api) split(r *http.Request, body []byte) ([][]byte, error) {
	start := dispatcher.SkipSpace(body, 0)
	if start == len(body) {
		return nil, badRequest("Send a JSON array, or one JSON object per line.")
	}
	var docs [][]byte
	enough := func(doc []byte) bool {
		docs = append(docs, doc)
		return len(docs) <= a.BatchItems
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if body[start] == '[' && (media == "" || media == "application/json") {
		if !json.Valid(body) {
			return nil, badRequest("The body begins as a JSON array and is none. Nothing of it was accepted.")
		}
		dispatcher.Elements(body)(enough)
	} else {
		for line := range bytes.Lines(body) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !enough(line) {
				break
			}
		}
	}
	if len(docs) > a.BatchItems {
		return nil, tooLarge("A batch may have at most %d transactions. Nothing of it was accepted: send it in parts.", a.BatchItems)
	}
	return docs, nil
}

// A part is what one call of the store takes of a batch.
type part struct {
	first, end int // of the batch's items
	items      []queues.Item
	traced     []func(queues.Accepted) // for each item
	errs       []error                 // for each of the part's documents; nil where there is an item
	results    []queues.Accepted
	stored     chan struct{} // closed with results set
}

// readPart reads the items from first on, as many as one part takes.
func (a *api) readPart(ctx context.Context, docs [][]byte, first int, who caller) *part {
	p := &part{first: first, end: first, stored: make(chan struct{})}
	for size := 0; p.end < len(docs) && p.end-first < partItems && size < partBytes; p.end++ {
		size += len(docs[p.end])
		item, err := a.batchItem(ctx, docs[p.end])
		if err == nil {
			err = who.mayPost(item.Queue)
		}
		if err == nil {
			item.By = who.name
			p.traced = append(p.traced, a.accepting(ctx, &item))
			p.items = append(p.items, item)
		}
		p.errs = append(p.errs, err)
	}
	return p
}

// store begins to accept the part, when the part before it is stored.
func (p *part) store(ctx context.Context, batch *queues.Batch) {
	go func() {
		defer close(p.stored)
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		p.results = batch.Enqueue(ctx, p.items)
	}()
}

func (p *part) wait() { <-p.stored }

// answerPart returns the answers of a part that is stored.
func (a *api) answerPart(ctx context.Context, p *part) []byte {
	out := make([]byte, 0, 1024*len(p.errs))
	results := p.results
	for i, err := range p.errs {
		result := queues.Accepted{Err: err}
		if err == nil {
			p.traced[len(p.results)-len(results)](results[0])
			result, results = results[0], results[1:]
		}
		out = append(a.appendResult(ctx, out, p.first+i, result), '\n')
	}
	return out
}

func (a *api) batchItem(ctx context.Context, doc []byte) (queues.Item, error) {
	if int64(len(doc)) > a.BodyLimit {
		return queues.Item{}, tooLarge("A transaction may have at most %d bytes.", a.BodyLimit)
	}
	return a.parseItem(ctx, doc, nil)
}

func (a *api) appendResult(ctx context.Context, b []byte, index int, result queues.Accepted) []byte {
	o := object{b}
	o.open()
	o.number("index", int64(index))
	if result.Err != nil {
		p := a.problem(ctx, result.Err)
		o.number("status", int64(p.Status))
		o.name("problem")
		o.b = appendProblem(o.b, p)
	} else {
		o.number("status", int64(statusOf(result)))
		o.name("transaction")
		o.b = appendTransaction(o.b, result.Transaction)
	}
	o.close()
	return o.b
}
