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
	batchesAtOnce = 4           // how many bodies are held
	batchPatience = time.Second // how long others keep more than their share of them
	partItems     = queues.MaxBatch
	partBytes     = 4 << 20
	uploadTimeout = 2 * time.Minute
	lines         = "application/x-ndjson"
)

func (a *api) postBatch(w http.ResponseWriter, r *http.Request) error {
	try, err := dry(r)
	if err != nil {
		return err
	}
	if err := checkType(r, "application/json", lines, "application/ndjson"); err != nil {
		return err
	}
	if len(r.Header.Values("Idempotency-Key")) > 0 {
		return badRequest("One Idempotency-Key cannot stand for many transactions. Give each its uid.")
	}
	seat, err := a.beginBatch(r.Context(), callerOf(w))
	if err != nil {
		return err
	}
	defer seat.release()
	control := http.NewResponseController(w)
	// Not every connection has deadlines. The answer has one for each part.
	_ = control.SetWriteDeadline(time.Now().Add(uploadTimeout + graceToWrite))
	var body bytes.Buffer
	if err := readUpload(w, r, &body, a.BatchLimit, uploadTimeout, seat); err != nil {
		return err
	}
	v := a.viewOf(w)
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
			next = v.readPart(ctx, docs, first, try)
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
			if _, err := w.Write(v.answerPart(ctx, before)); err != nil {
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
func (a *api) beginBatch(ctx context.Context, who caller) (*seat, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if seat := a.batches.await(ctx, who.name, batchPatience); seat != nil {
		return seat, nil
	}
	return nil, &problem{
		Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Too many batches at once",
		Detail: "Other batches are being taken in. Send it again.", After: 10 * time.Second,
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
	dry        bool
	items      []queues.Item
	traced     []func(queues.Accepted) // for each item
	errs       []error                 // for each of the part's documents; nil where there is an item
	results    []queues.Accepted
	stored     chan struct{} // closed with results set
}

// readPart reads the items from first on, as many as one part takes.
func (v view) readPart(ctx context.Context, docs [][]byte, first int, try bool) *part {
	p := &part{first: first, end: first, dry: try, stored: make(chan struct{})}
	for size := 0; p.end < len(docs) && p.end-first < partItems && size < partBytes; p.end++ {
		size += len(docs[p.end])
		item, err := v.batchItem(ctx, docs[p.end])
		if err == nil {
			err = v.take(&item)
		}
		if item.Dry = try; err == nil {
			traced := func(queues.Accepted) {}
			if !try {
				traced = v.accepting(ctx, &item)
			}
			p.traced = append(p.traced, traced)
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
func (v view) answerPart(ctx context.Context, p *part) []byte {
	out := make([]byte, 0, 1024*len(p.errs))
	results := p.results
	for i, err := range p.errs {
		result := queues.Accepted{Err: err}
		if err == nil {
			p.traced[len(p.results)-len(results)](results[0])
			result, results = results[0], results[1:]
		}
		if !p.dry {
			v.posted(v.caller, result)
		}
		out = append(v.appendResult(ctx, out, p.first+i, p.dry, result), '\n')
	}
	return out
}

func (v view) batchItem(ctx context.Context, doc []byte) (queues.Item, error) {
	if int64(len(doc)) > v.BodyLimit {
		return queues.Item{}, tooLarge("A transaction may have at most %d bytes.", v.BodyLimit)
	}
	return v.parseItem(ctx, doc, nil)
}

func (v view) appendResult(ctx context.Context, b []byte, index int, try bool, result queues.Accepted) []byte {
	o := object{b}
	o.open()
	o.number("index", int64(index))
	if try {
		o.bool("dryRun", true)
	}
	if result.Err != nil {
		p := v.problem(ctx, result.Err)
		o.number("status", int64(p.Status))
		o.name("problem")
		o.b = appendProblem(o.b, p)
	} else {
		o.number("status", int64(statusOf(result)))
		o.name("transaction")
		o.b = v.hides.transaction(o.b, v.transaction(result.Transaction))
	}
	o.close()
	return o.b
}
