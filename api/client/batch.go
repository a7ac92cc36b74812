package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// One request holds at most this much.
const (
	batchItems = 10_000
	batchBytes = 16 << 20
	batchWait  = 2 * time.Minute
	// rateWait is the longest that a batch waits for its rate.
	rateWait = 15 * time.Minute
)

// A Result is what came of one item of a batch.
type Result struct {
	Index       int // of the item
	UID         string
	Transaction *Transaction // nil if it was refused
	Existed     bool         // it had been accepted before
	Err         *Error       // why it was refused
	Raw         json.RawMessage
}

// PostBatch posts any number of items, in order, and yields what came of each, in
// order. Each stands alone. Where the service fails on the way, or says that it cannot take
// an item now, what has no answer yet is posted again; that repeats nothing, for each item
// has its uid. A last error, with a zero Result, says that the rest has no answer: nothing
// behind an item that may be taken later is posted before it.
func (c *Client) PostBatch(ctx context.Context, items []Item) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		items = slices.Clone(items)
		for i := range items {
			items[i].UID = cmp.Or(items[i].UID, rand.Text())
		}
		b := &batch{c: c, items: items, yield: yield}
		for tried := 0; b.next < len(items); {
			before := b.next
			err := b.post(ctx)
			if b.ended {
				return
			}
			if b.next > before {
				tried = 0
			}
			if err == nil {
				continue
			}
			if ctx.Err() != nil || tried >= c.Retries || !passing(err, false) && !limited(err) || !c.rest(ctx, err, tried) {
				yield(Result{}, err)
				return
			}
			tried++
		}
	}
}

// limited reports whether a batch has to wait for what the batches before it have
// used up: at a low rate that is long.
func limited(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == RateLimited && e.RetryAfter <= rateWait
}

type batch struct {
	c     *Client
	items []Item
	next  int // the first item without an answer
	yield func(Result, error) bool
	ended bool // yield wants no more
}

// post makes one request of the items from next on. It stops at an item that may be taken
// later: behind it no other of its queue may be posted.
func (b *batch) post(ctx context.Context) error {
	var body []byte
	end := b.next
	for ; end < len(b.items) && end-b.next < batchItems && len(body) < batchBytes; end++ {
		var err error
		if body, err = b.items[end].append(body); err != nil {
			return err
		}
		body = append(body, '\n')
	}
	ctx, cancel := context.WithTimeout(ctx, b.c.Timeout+batchWait)
	defer cancel()
	const lines = "application/x-ndjson"
	resp, err := b.c.open(ctx, request{
		method: http.MethodPost, path: base + "/transactions/batch", body: body,
		header: map[string]string{"Content-Type": lines, "Accept": lines + ", application/problem+json"},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	first := b.next
	answers := bufio.NewScanner(resp.Body)
	answers.Buffer(make([]byte, 64<<10), maxAnswer)
	for b.next < end && answers.Scan() {
		line := bytes.TrimSpace(answers.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			break // the connection broke within it
		}
		r, err := readResult(line, b.next-first)
		if err != nil {
			return err
		}
		if r.Err != nil && r.Err.Temporary() {
			return r.Err
		}
		r.Index, r.UID = b.next, b.items[b.next].UID
		if r.Transaction != nil {
			r.UID = r.Transaction.UID // that of who posted it first, where that was not by uid
		}
		b.next++
		if !b.yield(r, nil) {
			b.ended = true
			return nil
		}
	}
	if b.next < end {
		return &UnreachableError{b.c.URL, fmt.Errorf("the answer ended early: %w", cmp.Or(answers.Err(), errors.New("cut short")))}
	}
	return nil
}

func readResult(line []byte, want int) (Result, error) {
	var answer struct {
		Index       int             `json:"index"`
		Status      int             `json:"status"`
		Transaction *Transaction    `json:"transaction"`
		Problem     json.RawMessage `json:"problem"`
	}
	if err := decode(line, &answer); err != nil {
		return Result{}, err
	}
	if answer.Index != want {
		return Result{}, fmt.Errorf("the answer is not what a sequencer says: item %d where %d is due", answer.Index, want)
	}
	r := Result{Transaction: answer.Transaction, Existed: answer.Status == http.StatusOK, Raw: bytes.Clone(line)}
	if answer.Status/100 != 2 {
		r.Transaction, r.Err = nil, parseError(answer.Status, answer.Problem)
	}
	return r, nil
}
